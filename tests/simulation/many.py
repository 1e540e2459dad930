"""Runs many seeds in processes of their own, adds up what happened, and shrinks what fails.

`make simulate` runs this. It needs no simulated surroundings itself.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.simulation import page

ROOT = Path(__file__).parent.parent.parent
SEEDS_PER_PROCESS = 5
SEED_TIMEOUT_S = 1_200
# Enough seeds for every fault and every state to have been reached.
COVERED_AFTER = 50
# How long the virtual time of a seed is in hours, and how much longer everybody waits in between.
PROFILES: Mapping[str, tuple[float, float]] = {
    "brief": (0.01, 0.2),
    "dense": (0.05, 1.0),
    "long": (2.0, 30.0),
}


MIXED = "mixed"  # some of each


def choose_profile(seed: int, profile: str) -> str:
    return ("dense", "long")[seed // SEEDS_PER_PROCESS % 2] if profile == MIXED else profile


@dataclass(slots=True)
class Totals:
    """What many runs have done."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def counted(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for each in self.runs:
            total.update(each["counted"])
        return total

    @property
    def violations(self) -> list[dict[str, Any]]:
        return [each for each in self.runs if each["violation"]]

    def sum(self, name: str) -> float:
        return sum(each[name] for each in self.runs)


def build_command(seed: int, seeds: int, profile: str, *more: str) -> list[str]:
    hours, pace = PROFILES[choose_profile(seed, profile)]
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed)]
    command += ["--seeds", str(seeds), "--hours", str(hours), "--pace", str(pace)]
    return [*command, *more]


def run_seeds(seed: int, seeds: int, profile: str, *more: str, hash_seed: int = 0) -> list[Any]:
    """The outcome of each; a process that fails has found a fault, of the simulation at least."""
    command = build_command(seed, seeds, profile, "--json", *more)
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SEED_TIMEOUT_S,
        check=False,
    )
    outcomes = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode not in (0, 1) or not outcomes or "Traceback" in done.stderr:
        raise RuntimeError(f"seeds from {seed}: {done.stderr[-3_000:]}")
    return outcomes


def list_missing(totals: Totals) -> list[str]:
    """What has never happened, although there was time enough."""
    if len(totals.runs) < COVERED_AFTER:
        return []
    counted = totals.counted
    return [name for name in page.MUST_HAPPEN if not counted[name]]


# --- a run that fails becomes a smaller one ---


def shrink(seed: int, profile: str, counted: Mapping[str, int]) -> list[str]:
    """The options of the smallest run that still fails, found by leaving out what it can."""
    faults = [name.removeprefix("fault: ") for name in counted if name.startswith("fault: ")]
    operations = [
        name.removeprefix("operation ") for name in counted if name.startswith("operation ")
    ]
    limits: dict[str, Any] = {"faults": faults, "operations": operations}
    for name in ("operations", "faults"):
        for each in list(limits[name]):
            fewer = [other for other in limits[name] if other != each]
            if fewer or name == "faults":
                smaller = {**limits, name: fewer}
                if _fails(seed, profile, smaller):
                    limits = smaller
    for name in ("faults_max", "actions_max"):
        for most in (1, 2, 5, 10, 20, 50, 100, 200):
            smaller = {**limits, name: most}
            if _fails(seed, profile, smaller):
                limits = smaller
                break
    return _list_options(limits)


def _fails(seed: int, profile: str, limits: Mapping[str, Any]) -> bool:
    return any(each["violation"] for each in run_seeds(seed, 1, profile, *_list_options(limits)))


def _list_options(limits: Mapping[str, Any]) -> list[str]:
    options = []
    for name, value in limits.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        options += [f"--{name.replace('_', '-')}", text]
    return options


# --- the command ---


def run_until(first: int, profile: str, wall_hours: float, processes: int) -> Totals:
    """Run seeds until the time is over, or one fails."""
    totals, began = Totals(), time.monotonic()
    ends_at = began + wall_hours * 3_600

    def list_starts() -> Iterator[int]:
        number = first
        while time.monotonic() < ends_at and not totals.violations:
            yield number
            number += SEEDS_PER_PROCESS

    with ThreadPoolExecutor(processes) as pool:
        starts = list_starts()
        running = [
            pool.submit(_run_one_after_the_other, starts, profile, totals) for _ in range(processes)
        ]
        for each in running:
            each.result()
    totals.took_s = time.monotonic() - began
    return totals


def _run_one_after_the_other(starts: Iterator[int], profile: str, totals: Totals) -> None:
    while True:
        try:
            start = next(starts)
        except (StopIteration, ValueError):  # the latter while another thread asks
            return
        totals.runs += run_seeds(start, SEEDS_PER_PROCESS, profile)
        _show_progress(totals)


def _show_progress(totals: Totals) -> None:
    print(
        f"{len(totals.runs)} seeds, {totals.sum('hours'):.1f} virtual hours, "
        f"{totals.sum('operations'):.0f} operations, {totals.sum('faults'):.0f} faults",
        flush=True,
    )


def explain(violation: Mapping[str, Any], profile: str) -> None:
    seed = violation["seed"]
    print(f"seed {seed}: {violation['violation']}", flush=True)
    options = shrink(seed, profile, violation["counted"])
    command = build_command(seed, 1, profile, *options, "--trace")
    print("The smallest run that still fails:\n  PYTHONHASHSEED=0", *map(repr, command))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--seed", type=int, help="repeat one run, with its story")
    parser.add_argument("--wall-hours", type=float, default=0.05, help="try new seeds for so long")
    parser.add_argument("--profile", choices=[*PROFILES, MIXED], default=MIXED)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, help="the first of the seeds")
    parser.add_argument("--page", action="store_true", help="write the page of the documents")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        command = build_command(options.seed, 1, options.profile, "--trace")
        return subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False
        ).returncode
    first = random.randrange(1, 10**6) if options.first is None else options.first
    first -= first % SEEDS_PER_PROCESS  # what a seed is like depends on its number
    print(f"seeds from {first}", flush=True)
    totals = run_until(first, options.profile, options.wall_hours, options.processes)
    for line in page.list_lines(totals):
        print(line)
    missing = list_missing(totals)
    if missing:
        print("never happened:", ", ".join(missing))
    for violation in totals.violations[:1]:
        explain(violation, options.profile)
    if options.page and not totals.violations:
        page.write(totals, first, options.profile)
    return 1 if totals.violations or missing else 0


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the simulation."""

import argparse
import gc
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.simulation import log
from tests.simulation.disk import SimulatedVfs
from tests.simulation.planted import PLANTED
from tests.simulation.service import prepare_template
from tests.simulation.simulation import Outcome, Plan, Simulation
from tests.simulation.surroundings import REAL_MONOTONIC, SURROUNDINGS

MEMORY = Path("/dev/shm")


def main() -> None:
    options = parse_options()
    log.capture(options.verbose)
    folder = Path(tempfile.mkdtemp(prefix="longwire-sim-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        sys.exit(run(options, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from the first one on")
    parser.add_argument("--hours", type=float, default=0.05, help="virtual hours of each seed")
    parser.add_argument("--pace", type=float, default=1.0)
    parser.add_argument("--faults", help="only these, separated by commas")
    parser.add_argument("--operations", help="only these, separated by commas")
    parser.add_argument("--faults-max", type=int)
    parser.add_argument("--actions-max", type=int)
    parser.add_argument("--plant", help="a fault that is planted in the service on purpose")
    parser.add_argument("--until-found", action="store_true", help="stop at the first violation")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of what is logged")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each seed")
    return parser.parse_args()


def run(options: argparse.Namespace, folder: Path) -> int:
    vfs = SimulatedVfs(SURROUNDINGS)
    vfs.register()
    SURROUNDINGS.reset(0)
    template = prepare_template(folder / "template")
    # Only at certain points: when a collection comes by itself depends on what was allocated.
    gc.collect()
    gc.freeze()
    gc.disable()
    if options.plant:
        PLANTED[options.plant]()
    failures = 0
    for seed in range(options.seed, options.seed + options.seeds):
        began = REAL_MONOTONIC()
        outcome = Simulation(make_plan(seed, options), vfs, template, folder / f"seed {seed}").run()
        took_s = REAL_MONOTONIC() - began
        failures += outcome.violation is not None
        report(outcome, took_s, options)
        if failures and options.until_found:
            break
    return 1 if failures else 0


def make_plan(seed: int, options: argparse.Namespace) -> Plan:
    def split(text: str | None) -> frozenset[str] | None:
        return None if text is None else frozenset(filter(None, text.split(",")))

    return Plan(
        seed,
        options.hours,
        options.pace,
        faults=split(options.faults),
        operations=split(options.operations),
        actions_max=options.actions_max,
        faults_max=options.faults_max,
    )


def report(outcome: Outcome, took_s: float, options: argparse.Namespace) -> None:
    if options.trace:
        print("\n".join(outcome.trace))
    if options.json:
        print(
            json.dumps(
                {
                    "seed": outcome.plan.seed,
                    "digest": outcome.digest,
                    "violation": outcome.violation,
                    "hours": outcome.hours,
                    "operations": outcome.operations,
                    "faults": outcome.faults,
                    "took_s": round(took_s, 2),
                    "counted": dict(sorted(outcome.counted.items())),
                }
            ),
            flush=True,
        )
        return
    print(
        f"seed {outcome.plan.seed}: {outcome.hours:.1f} h, {outcome.operations} operations, "
        f"{outcome.faults} faults, {took_s:.1f} s, {outcome.digest}"
        f"{' VIOLATION: ' + outcome.violation if outcome.violation else ''}",
        flush=True,
    )

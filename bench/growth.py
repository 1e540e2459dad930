"""Single POSTs as the file grows: to an empty one, and to one with a million records.

Both are measured in turns, as the machine changes more than the file does, and by the processor
time of a record. The empty file is a new one in every turn: it grows while it is measured. At the
end, the full one is measured again, each time after the page cache has dropped it.
BENCH_RECORDS is another number of records, BENCH_FOLDER keeps the filled file for the next run.
"""

import json
import os
import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bench.ingest import CONNECTIONS, Records, fleet
from bench.large import cool, fill, make_folder
from bench.load import Result, run
from bench.service import Service, running
from bench.table import Findings, Row, cpu_s

RECORDS = int(os.environ.get("BENCH_RECORDS", "1_000_000"))
DEVICES = 500
TURNS = 5
COLD_TURNS = 3
WARM_UP_S = 1.0
P99_MS_MAX = 25.0
COLD_RATIO_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Turn:
    result: Result
    cpu_us: float  # of a record


def measure(findings: Findings, seconds: float) -> None:
    with make_folder("growth") as name:
        empty, filled = _prepare(Path(name))
        with running(data=filled) as full:
            turns = [_measure_both(empty, full, seconds) for _ in range(TURNS)]
        _add_rows(findings, turns)
        cold = [_measure_cold(filled, seconds) for _ in range(COLD_TURNS)]
        rate = statistics.median(before.result.rate for before, _ in turns)
        findings.add(_compare_cold(cold, rate))


def _measure_cold(filled: Path, seconds: float) -> Turn:
    cool(filled)
    with running(data=filled) as full:
        return _measure_turn(full, seconds, warm_up_s=0.0)


def _prepare(folder: Path) -> tuple[Path, Path]:
    """The folders of an empty and of a filled database, of the same devices."""
    empty, filled = folder / "growth-empty", folder / f"growth-{RECORDS}"
    if not (filled / "filled").exists():
        for each in (empty, filled):
            shutil.rmtree(each, ignore_errors=True)
        with running(data=empty) as service:
            devices = fleet(service, DEVICES)
        (empty / "devices.json").write_text(json.dumps(devices))
        shutil.copytree(empty, filled)
        fill(filled, devices, RECORDS)
        (filled / "filled").touch()
    return empty, filled


def _measure_both(empty: Path, full: Service, seconds: float) -> tuple[Turn, Turn]:
    """A turn with a new copy of the empty database, and one with the filled one."""
    copy = Path(shutil.copytree(empty, empty.with_name("copy")))
    with running(data=copy) as service:
        turns = _measure_turn(service, seconds), _measure_turn(full, seconds)
    shutil.rmtree(copy)
    return turns


def _measure_turn(service: Service, seconds: float, warm_up_s: float = WARM_UP_S) -> Turn:
    devices = json.loads((service.data / "devices.json").read_text())
    # New records also if the same file is measured again.
    first = 10_000_000 + int(time.time() * 10) % 8_000 * 10_000
    place = service.host, service.port
    if warm_up_s:
        warm_up = Records(service, devices, first)
        run(*place, warm_up, connections=CONNECTIONS, seconds=warm_up_s, warmup_s=0.0)
    before = cpu_s(service.pid)
    records = Records(service, devices, first + 100_000)
    result = run(*place, records, connections=CONNECTIONS, seconds=seconds, warmup_s=0.0)
    return Turn(result, (cpu_s(service.pid) - before) / result.requests * 1e6)


def _add_rows(findings: Findings, turns: list[tuple[Turn, Turn]]) -> None:
    empty = [before for before, _ in turns]
    full = [after for _, after in turns]
    findings.add(_describe("POST /device/data, empty file", empty))
    ratio = statistics.median(before.cpu_us / after.cpu_us for before, after in turns)
    ratio_min = 0.95 if RECORDS <= 1_000_000 else 0.9
    row = _describe(f"POST /device/data, {RECORDS:,} records", full, ratio)
    p99_ms = row.p99_ms or 0.0
    findings.add(
        Row(
            row.name,
            rate=row.rate,
            ratio=ratio,
            p50_ms=row.p50_ms,
            p99_ms=p99_ms,
            note=f"{row.note}; ratio by processor time",
            aim=f"ratio ≥ {ratio_min:.2f}, p99 ≤ {P99_MS_MAX:g} ms",
            met=ratio >= ratio_min and p99_ms <= P99_MS_MAX,
        )
    )


def _compare_cold(cold: list[Turn], rate: float) -> Row:
    row = _describe("the same, nothing of it in memory at first", cold)
    ratio = statistics.median(turn.result.rate for turn in cold) / rate
    return Row(
        row.name,
        rate=row.rate,
        ratio=ratio,
        p50_ms=row.p50_ms,
        p99_ms=row.p99_ms,
        note=f"{row.note}; ratio by rate",
        aim=f"ratio ≥ {COLD_RATIO_MIN:.2f}",
        met=ratio >= COLD_RATIO_MIN,
    )


def _describe(name: str, turns: list[Turn], ratio: float | None = None) -> Row:
    """The medians of all turns."""
    cpu_us = sorted(turn.cpu_us for turn in turns)
    return Row(
        name,
        rate=statistics.median(turn.result.rate for turn in turns),
        ratio=ratio,
        p50_ms=statistics.median(turn.result.p50_ms for turn in turns),
        p99_ms=statistics.median(turn.result.p99_ms for turn in turns),
        note=f"{statistics.median(cpu_us):.0f} µs a record ({cpu_us[0]:.0f} to {cpu_us[-1]:.0f})",
    )

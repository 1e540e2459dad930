"""How long a start takes, on an empty database and on an existing one, and what idle costs.

From the command to the first 200 of `/health/ready`. Processor time is that of the process until
then, which depends less on what else the machine does.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from bench.delivery import post_records
from bench.ingest import fleet
from bench.install_size import measure_core
from bench.service import postgres, running
from bench.table import Findings, Row, cpu_s, rss_mb

STARTS = 5
READY_S_MAX = 0.7
IDLE_S = 5.0
RSS_MIB_MAX = 70.0
MB_PER_MIB = 1.048576
RECORDS = 1_000
INSTALLED_MB_MAX = 120.0

OpenDatabase = Callable[[], AbstractContextManager[str]]  # its URL; empty for SQLite


def measure(findings: Findings, seconds: float) -> None:
    engines: dict[str, OpenDatabase] = {"SQLite": _no_server, "PostgreSQL": postgres}
    for engine, open_database in engines.items():
        empty = [_start_in_new_folder(open_database) for _ in range(STARTS)]
        findings.add(_start_row(f"{engine}: ready after a start, empty database", empty, None))
        aim_s = READY_S_MAX if engine == "SQLite" else None
        with _new_folder() as data, open_database() as url:
            _start(data, url)
            existing = [_start(data, url) for _ in range(STARTS)]
            name = f"{engine}: ready after a start, existing database"
            findings.add(_start_row(name, existing, aim_s))
            _measure_memory(findings, engine, data, url)
    _measure_size(findings)


@contextmanager
def _no_server() -> Iterator[str]:
    yield ""


@contextmanager
def _new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        yield Path(folder) / "data"


def _start_in_new_folder(open_database: OpenDatabase) -> tuple[float, float]:
    with _new_folder() as data, open_database() as url:
        return _start(data, url)


def _start(data: Path, url: str) -> tuple[float, float]:
    """Seconds by the clock, and of processor time."""
    began = time.perf_counter()
    with running("--database", url, data=data) as service:
        return service.ready_at - began, service.ready_cpu_s


def _start_row(name: str, starts: list[tuple[float, float]], aim_s: float | None) -> Row:
    wall_s = statistics.median(wall for wall, _ in starts)
    used_s = statistics.median(used for _, used in starts)
    return Row(
        name,
        p50_ms=1_000 * wall_s,
        aim="" if aim_s is None else f"processor time ≤ {aim_s:g} s",
        met=None if aim_s is None else used_s <= aim_s,
        note=f"{used_s:.2f} s of processor time, medians of {len(starts)}",
    )


def _measure_memory(findings: Findings, engine: str, data: Path, url: str) -> None:
    with running("--database", url, data=data) as service:
        used_s = cpu_s(service.pid)
        time.sleep(IDLE_S)
        idle = (cpu_s(service.pid) - used_s) / IDLE_S
        idle_mib = rss_mb(service.pid) / MB_PER_MIB
        findings.add(
            Row(
                f"{engine}: resident memory, idle",
                aim=f"≤ {RSS_MIB_MAX:g} MiB",
                met=idle_mib <= RSS_MIB_MAX,
                note=f"{idle_mib:.0f} MiB, {idle:.1%} of a core",
            )
        )
        post_records(service, fleet(service), RECORDS)
        loaded_mib = rss_mb(service.pid) / MB_PER_MIB
        name = f"{engine}: the same after {RECORDS:,} records"
        findings.add(Row(name, note=f"{loaded_mib:.0f} MiB"))


def _measure_size(findings: Findings) -> None:
    files, compiled = measure_core()
    findings.add(
        Row(
            "base installation",
            aim=f"files ≤ {INSTALLED_MB_MAX:g} MB",
            met=files <= INSTALLED_MB_MAX * 1e6,
            note=f"{files / 1e6:.0f} MB of files, {(files + compiled) / 1e6:.0f} MB with bytecode",
        )
    )

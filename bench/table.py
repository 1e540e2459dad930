"""Results of a benchmark, row by row: on screen, as Markdown and as JSON."""

import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psutil  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table

from bench.load import Result

RESULTS = Path(__file__).parent / "results"

COLUMNS = ("name", "rate/s", "ratio", "p50 ms", "p99 ms", "aim", "met", "note")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement. `ratio` is its rate as a share of the ceiling; `met` says whether `aim` is
    met."""

    name: str
    rate: float | None = None
    ratio: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    note: str = ""
    aim: str = ""
    met: bool | None = None


def measured(
    name: str,
    result: Result,
    *,
    ceiling: Result | None = None,
    ratio_min: float | None = None,
    p99_ms_max: float | None = None,
    note: str = "",
) -> Row:
    """The row of one load run, compared with its ceiling and its aims."""
    ratio = None if ceiling is None else result.rate / ceiling.rate
    aims: list[tuple[str, bool]] = []
    if ratio_min is not None:
        aims.append((f"ratio ≥ {ratio_min:.2f}", ratio is not None and ratio >= ratio_min))
    if p99_ms_max is not None:
        aims.append((f"p99 ≤ {p99_ms_max:g} ms", result.p99_ms <= p99_ms_max))
    return Row(
        name=name,
        rate=result.rate,
        ratio=ratio,
        p50_ms=result.p50_ms,
        p99_ms=result.p99_ms,
        note=note,
        aim=", ".join(text for text, _ in aims),
        met=all(is_met for _, is_met in aims) if aims else None,
    )


@dataclass(slots=True)
class Findings:
    """The rows of one run, in the order they were measured."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> Row:
        self.rows.append(row)
        return row

    def all_met(self) -> bool:
        return all(row.met is not False for row in self.rows)

    def show(self, console: Console | None = None) -> None:
        table = Table(title=self.title)
        for number, column in enumerate(COLUMNS):
            table.add_column(column, justify="right" if 1 <= number <= 4 else "left")
        for row in self.rows:
            table.add_row(*_cells(row), style="red" if row.met is False else None)
        (console or Console()).print(table)

    def markdown(self) -> str:
        rules = ["---:" if 1 <= number <= 4 else "---" for number in range(len(COLUMNS))]
        lines = [COLUMNS, rules, *map(_cells, self.rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def save(self, folder: Path = RESULTS, *, at: datetime | None = None) -> Path:
        """Write the rows and a description of the machine to a file named by the time."""
        at = at or datetime.now(UTC)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{at:%Y%m%dT%H%M%SZ}.json"
        found = {
            "title": self.title,
            "at": at,
            "machine": {
                "cores": os.cpu_count(),
                "processor": platform.machine(),
                "python": platform.python_version(),
            },
            "rows": [asdict(row) for row in self.rows],
        }
        path.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
        return path


def rss_mb(pid: int) -> float:
    """Resident memory of a process and its children, in units of 1,000,000 bytes."""
    process = psutil.Process(pid)
    return sum(map(_rss_bytes, [process, *process.children(recursive=True)])) / 1e6


def cpu_s(pid: int) -> float:
    """Processor time of a process and its children, with those that have ended."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    total = float(own.children_user + own.children_system)
    for each in [process, *process.children(recursive=True)]:
        times = each.cpu_times()
        total += times.user + times.system
    return total


def _rss_bytes(process: psutil.Process) -> int:
    try:
        rss: int = process.memory_info().rss
    except psutil.NoSuchProcess:
        # It ended after it was listed.
        return 0
    return rss


def _cells(row: Row) -> tuple[str, ...]:
    met = {None: "", True: "yes", False: "NO"}[row.met]
    return (
        row.name,
        _number(row.rate, ",.0f"),
        _number(row.ratio, ".2f"),
        _number(row.p50_ms, ".2f"),
        _number(row.p99_ms, ".2f"),
        row.aim,
        met,
        row.note,
    )


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)

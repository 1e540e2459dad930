"""The page of the documents about the simulation: its table is written from runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent.parent / "docs/explanation/simulation.md"
BEGIN, END = "<!-- written by `make simulate` -->", "<!-- until here -->"

FAULTS = {
    "kill": "the process is killed",
    "power loss": "the machine loses its power",
    "kill amid a write": "the process is killed amid a write or a flush",
    "power loss amid a write": "the power is lost amid a write or a flush",
    "stop": "the service is stopped and started again",
    "flush fails": "flushes fail",
    "disk full": "the disk is full for a while",
    "slow disk": "flushes are slow",
    "bad network": "connections are slow, split, stalled and reset",
    "mood of a receiver": "a receiver changes how it behaves",
    "clock steps": "the clock of the machine is set forward or back",
}
MUST_HAPPEN = (
    *(f"fault: {name}" for name in FAULTS),
    "reset of a connection",
    "stall of a connection",
    "data in pieces",
    "order of tasks exchanged",
    "crash amid a write",
    "crash amid a flush",
    "write on a full disk",
    "flush that failed",
    "reached: delivery succeeded",
    "reached: delivery failed",
    "reached: alarm raised",
    "reached: alarm resolved",
    "reached: token revoked",
    "reached: job started",
    "reached: job undone",
    "reached: connector disabled",
    *(f"receiver {mood}" for mood in ("well", "failing", "busy", "slow", "silent", "gone")),
    *(f"receiver {mood}" for mood in ("reset", "reset after", "refusing", "garbage")),
)


def list_lines(totals: Any) -> list[str]:
    """What happened in many runs, as tables."""
    counted = totals.counted
    lines = [
        "| | |",
        "|---|---|",
        f"| seeds | {len(totals.runs):,} |",
        f"| virtual hours | {totals.sum('hours'):,.1f} |",
        f"| operations of clients | {totals.sum('operations'):,.0f} |",
        f"| faults | {totals.sum('faults'):,.0f} |",
        f"| violations | {len(totals.violations):,} |",
        f"| real minutes | {totals.took_s / 60:,.1f} |",
        "",
        "| Fault | Times |",
        "|---|---|",
        *(f"| {text} | {counted[f'fault: {name}']:,} |" for name, text in FAULTS.items()),
        "",
        "| What else was counted | Times |",
        "|---|---|",
    ]
    others = [name for name in MUST_HAPPEN if not name.startswith("fault: ")]
    return [
        *lines,
        *(f"| {name.removeprefix('reached: ')} | {counted[name]:,} |" for name in others),
    ]


def write(totals: Any, first: int, profile: str) -> None:
    """Replace the tables of the page."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    today = f"{datetime.now(UTC):%-d %B %Y}"
    head = f"Seeds from {first}, profile `{profile}`, on {today}:"
    PAGE.write_text(
        "\n".join([f"{before}{BEGIN}\n", head, "", *list_lines(totals), "", END]) + after
    )

"""COUNTERS: counted in the transaction of what they count, reported in spans of a period.

Whole seconds are summed from the counters. Where a span begins or ends inside a second, the ledger
of arrivals is asked, so that a report is exact for any period.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longwire.clock import HOUR, SECOND, Moment
from longwire.errors import wrong
from longwire.identity import access
from longwire.model import Actor
from longwire.store import counters as store
from longwire.store import groups as store_groups
from longwire.store import records as store_records
from longwire.store.database import Tx

ITEMS_MAX = 10_000
SPAN_DEFAULT_S = 3_600
ACTIVE_LISTED_MAX = 10_000

RECORD_NAMES = tuple(f"device_{kind}" for kind in store_records.KINDS)
# The order is what is stored: only ever add at the end.
NAMES = (*RECORD_NAMES,)


@dataclass(frozen=True, slots=True)
class Item:
    """One span of a report."""

    group_id: str
    at: Moment
    totals: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    group_id: str
    begin: Moment
    end: Moment
    totals: Mapping[str, int]
    items: list[Item]
    active_devices: list[str]  # at most ACTIVE_LISTED_MAX of them
    active_device_count: int


def count_arrivals(tx: Tx, writer: int, fresh: Iterable[store_records.Row]) -> None:
    """Count records that were stored just now."""
    found: Counter[tuple[int, int, int]] = Counter()
    active: set[tuple[int, int, int]] = set()
    for row in fresh:
        at = store_records.arrival_moment(row.seq)
        found[(row.group_number, at // SECOND, row.kind)] += 1
        active.add((row.group_number, at // HOUR, row.device_number))
    store.add(tx, writer, found)
    store.note_activity(tx, active)


def report(
    tx: Tx,
    actor: Actor,
    group_id: str,
    begin: Moment,
    end: Moment,
    span_s: int,
    *,
    subgroups: bool = False,
) -> Report:
    """What happened in a group in a period, as a whole and span by span."""
    access.enter(tx, actor, "metrics.read", group_id)
    # Whoever may read them here may read them in every group below.
    groups = store_groups.subtree(tx, group_id) if subgroups else [group_id]
    span = span_s * SECOND
    number = max(0, -(-(end - begin) // span))
    if number > ITEMS_MAX:
        raise wrong("time_span", f"gives {number} items; at most {ITEMS_MAX} are reported")
    spans = [Counter[str]() for _ in range(number)]
    for index, name, value in store.sums(tx, groups, begin, end, span_s):
        spans[index][NAMES[name]] += value
    for at, kind in store.arrivals(tx, groups, begin, end, span_s):
        spans[(at - begin) // span][NAMES[kind]] += 1
    totals: Counter[str] = Counter()
    for each in spans:
        totals.update(each)
    items = [Item(group_id, begin + index * span, each) for index, each in enumerate(spans)]
    active = store.active_devices(tx, groups, begin, end, ACTIVE_LISTED_MAX)
    return Report(group_id, begin, end, totals, items, active.ids, active.number)

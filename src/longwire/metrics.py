"""COUNTERS: counted in the transaction of what they count, reported in spans of a period.

Whole seconds are summed from the counters. Where a span begins or ends inside a second, the ledger
of arrivals is asked, so that a report of records is exact for any period; what became of deliveries
is counted by the second, and a second that a period only touches counts as part of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longwire.clock import DAY, HOUR, SECOND, Moment
from longwire.errors import wrong
from longwire.identity import access
from longwire.model import Actor
from longwire.store import connectors as store_connectors
from longwire.store import counters as store
from longwire.store import deliveries as store_deliveries
from longwire.store import groups as store_groups
from longwire.store import records as store_records
from longwire.store.database import Tx

HOUR_S = HOUR // SECOND
ITEMS_MAX = 10_000
SPAN_DEFAULT_S = 3_600
ACTIVE_LISTED_MAX = 10_000

RECORD_NAMES = tuple(f"device_{kind}" for kind in store_records.KINDS)
# The order is what is stored: only ever add at the end.
DELIVERY_NAMES = tuple(
    f"connector_{noun}_{end}"
    for noun in ("message", "retry_message")
    for end in ("started", "processed", "error")
)
NETWORK_NAMES = (
    "device_vendor_uplink",
    "device_vendor_downlink",
    "vendor_data_message",
    "vendor_data_advanced_message",
)
NAMES = (*RECORD_NAMES, *DELIVERY_NAMES, *NETWORK_NAMES)
_NUMBERS = {name: number for number, name in enumerate(NAMES)}
PROCESSING = "connector_message_processing"


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
    active_connectors: list[str]


def count_arrivals(
    tx: Tx,
    writer: int,
    fresh: Iterable[store_records.Row],
    beside: Mapping[tuple[int, str], int],
) -> None:
    """Count records that were stored just now, and what happened with them, as `count` does."""
    found: Counter[tuple[int, int, int]] = Counter()
    active: set[tuple[int, int, int]] = set()
    until = second = hour = -1
    for row in fresh:
        seq, group = row.seq, row.group_number
        if seq >= until:  # they come in order, and most of them in the same second
            second = store_records.arrival_moment(seq) // SECOND
            hour = second // HOUR_S
            until = store_records.first_seq((second + 1) * SECOND)
        found[(group, second, row.kind)] += 1
        active.add((group, hour, row.device_number))
    found.update(_of_now(tx, beside))
    store.add(tx, writer, found)
    store.note_activity(tx, active)


def count(tx: Tx, writer: int, found: Mapping[tuple[int, str], int]) -> None:
    """Count what happened just now: (group, name)."""
    if found:
        store.add(tx, writer, _of_now(tx, found))


def _of_now(tx: Tx, found: Mapping[tuple[int, str], int]) -> dict[tuple[int, int, int], int]:
    second = tx.now // SECOND
    return {(group, second, _NUMBERS[name]): value for (group, name), value in found.items()}


def report(
    tx: Tx,
    actor: Actor,
    group_id: str,
    begin: Moment,
    end: Moment,
    span_s: int,
    *,
    subgroups: bool = False,
    keeps_days: int = 0,
) -> Report:
    """What happened in a group in a period, as a whole and span by span.

    What lies further back than it is kept for counts as nothing, whether it is gone or not.
    """
    access.enter(tx, actor, "metrics.read", group_id)
    # Whoever may read them here may read them in every group below.
    groups = store_groups.subtree(tx, group_id) if subgroups else [group_id]
    span = span_s * SECOND
    number = max(0, -(-(end - begin) // span))
    if number > ITEMS_MAX:
        raise wrong("time_span", f"gives {number} items; at most {ITEMS_MAX} are reported")
    spans = [Counter[str]() for _ in range(number)]
    oldest = oldest_counted(keeps_days, tx.now)
    since = begin if oldest is None else max(begin, oldest)
    for index, name, value in store.sums(tx, groups, begin, end, span_s, since):
        spans[index][NAMES[name]] += value
    for at, kind in store.arrivals(tx, groups, begin, end, span_s, since):
        spans[(at - begin) // span][NAMES[kind]] += 1
    for at, name, value in store.cut_seconds(tx, groups, begin, end, span_s, since):
        if name >= len(RECORD_NAMES):
            spans[max(0, at * SECOND - begin) // span][NAMES[name]] += value
    connectors = store_connectors.numbers_in(tx, groups)
    for index, value in store_deliveries.unfinished(tx, connectors, begin, end, span):
        spans[index][PROCESSING] += value
    totals: Counter[str] = Counter()
    for each in spans:
        totals.update(each)
    items = [Item(group_id, begin + index * span, each) for index, each in enumerate(spans)]
    active = store.active_devices(tx, groups, since, end, ACTIVE_LISTED_MAX)
    forwarding = store_deliveries.active(tx, connectors, begin, end)
    return Report(
        group_id,
        begin,
        end,
        totals,
        items,
        active.ids,
        active.number,
        [connectors[number] for number in forwarding],
    )


# --- forgetting ---


def oldest_counted(keeps_days: int, now: Moment) -> Moment | None:
    """Nothing before this moment, a whole hour, is reported; None when all of it is."""
    return (now - keeps_days * DAY) // HOUR * HOUR if keeps_days else None


def oldest_entered(keeps_days: Mapping[str, int], now: Moment) -> Moment | None:
    """What arrived before this moment, about a time before it, needs no entry in the ledger.

    The ledger is there for reports, and to find stored records in order of arrival: as long as one
    of the kinds is kept for ever, so is the ledger, and this is None.
    """
    return oldest_counted(max(keeps_days.values()), now) if all(keeps_days.values()) else None

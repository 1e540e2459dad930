"""Group metrics: counted in the transaction of what they count, reported in spans of a period.

Whole seconds are summed from the counters. Where a span begins or ends inside a second, the index
of arrivals is queried, so that a report of records is exact for any period. Deliveries are counted
by the second; a second that overlaps a period counts as part of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from longwire.clock import DAY, HOUR, SECOND, Moment
from longwire.dataclass import dataclass
from longwire.errors import invalid_field
from longwire.identity import access
from longwire.model import Actor
from longwire.records import KIND_NAMES
from longwire.store.database import Tx
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery import delivery_history
from longwire.store.identity import group_storage
from longwire.store.identity import groups as store_groups
from longwire.store.records import arrival_numbers
from longwire.store.records import counters as store
from longwire.store.records import records as store_records

HOUR_S = HOUR // SECOND
# A report of so many takes some 50 ms, for which a reader is busy.
ITEMS_MAX = 2_000
SPAN_DEFAULT_S = 3_600
ACTIVE_LISTED_MAX = 10_000

RECORD_NAMES = tuple(f"device_{kind}" for kind in KIND_NAMES)
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
class MetricsReport:
    group_id: str
    begin: Moment
    end: Moment
    totals: Mapping[str, int]
    span: Moment
    item_count: int
    items: Mapping[int, Mapping[str, int]]  # the totals of a span by its index; no empty ones
    active_devices: list[str]  # at most ACTIVE_LISTED_MAX of them
    active_device_count: int
    active_connectors: list[str]


def count_arrivals(
    tx: Tx,
    writer: int,
    fresh: Iterable[store_records.RecordRow],
    events: Mapping[tuple[int, str], int],
) -> None:
    """Count new records by their arrival and in what is stored, other events as `count` does."""
    counts: dict[tuple[int, int, int], int] = {}
    active: set[tuple[int, int, int]] = set()
    records: Counter[int] = Counter()
    characters: dict[int, int] = {}
    next_second_seq = second = hour = -1
    for row in fresh:
        seq, group = row.seq, row.group_number
        if seq >= next_second_seq:  # rows are in order, and most arrive in the same second
            second = arrival_numbers.arrival_moment(seq) // SECOND
            hour = second // HOUR_S
            next_second_seq = arrival_numbers.first_seq((second + 1) * SECOND)
        key = group, second, row.kind
        counts[key] = counts.get(key, 0) + 1
        active.add((group, hour, row.device_number))
        characters[group] = characters.get(group, 0) + len(row.encoded.body)
    for (group, _, _), count in counts.items():
        records[group] += count
    for key, value in _in_this_second(tx, events).items():
        counts[key] = counts.get(key, 0) + value
    # The row of a group's storage before its counters: two commits of one process that have records
    # of the same group take turns here, and do not deadlock when events follow.
    group_storage.add(
        tx, writer, {group: (records[group], size) for group, size in characters.items()}
    )
    store.increment(tx, writer, counts)
    store.insert_activity(tx, active)


def count(tx: Tx, writer: int, events: Mapping[tuple[int, str], int]) -> None:
    """Count events of this second by (group, name)."""
    if events:
        store.increment(tx, writer, _in_this_second(tx, events))


def _in_this_second(
    tx: Tx, events: Mapping[tuple[int, str], int]
) -> dict[tuple[int, int, int], int]:
    second = tx.now // SECOND
    return {(group, second, _NUMBERS[name]): value for (group, name), value in events.items()}


def build_report(
    tx: Tx,
    actor: Actor,
    group_id: str,
    begin: Moment,
    end: Moment,
    span_s: int,
    *,
    subgroups: bool = False,
    retention_days: int = 0,
) -> MetricsReport:
    """The metrics of a group in a period, in total and by span.

    What is older than the retention counts as zero, whether it is deleted yet or not.
    """
    access.authorize(tx, actor, "metrics.read", group_id)
    # The permission holds in all subgroups.
    groups = store_groups.list_subtree(tx, group_id) if subgroups else [group_id]
    span = span_s * SECOND
    number = max(0, -(-(end - begin) // span))
    if number > ITEMS_MAX:
        reason = f"gives {number} items; at most {ITEMS_MAX} are reported: send longer spans"
        raise invalid_field("time_span", reason)
    spans: defaultdict[int, Counter[str]] = defaultdict(Counter)
    oldest = oldest_counted(retention_days, tx.now)
    since = begin if oldest is None else max(begin, oldest)
    for index, name, value in store.list_sums(tx, groups, begin, end, span_s, since):
        spans[index][NAMES[name]] += value
    for at, kind in store.list_arrivals(tx, groups, begin, end, span_s, since):
        spans[(at - begin) // span][NAMES[kind]] += 1
    for at, name, value in store.cut_seconds(tx, groups, begin, end, span_s, since):
        if name >= len(RECORD_NAMES):
            spans[max(0, at * SECOND - begin) // span][NAMES[name]] += value
    connectors = store_connectors.list_numbers(tx, groups)
    for index, value in delivery_history.count_unfinished(tx, connectors, begin, end, span):
        spans[index][PROCESSING] += value
    totals: Counter[str] = Counter()
    for each in spans.values():
        for counted, total in each.items():  # `Counter.update` takes four times as long
            totals[counted] += total
    active = store.get_active_devices(tx, groups, since, end, ACTIVE_LISTED_MAX)
    forwarding = delivery_history.list_active_channels(tx, connectors, begin, end)
    return MetricsReport(
        group_id,
        begin,
        end,
        totals,
        span,
        number,
        spans,
        active.ids,
        active.number,
        [connectors[number] for number in forwarding],
    )


# --- retention ---


def oldest_counted(retention_days: int, now: Moment) -> Moment | None:
    """The start of the first hour that is reported; None when all are."""
    return (now - retention_days * DAY) // HOUR * HOUR if retention_days else None


def oldest_indexed(retention_days: Mapping[str, int], now: Moment) -> Moment | None:
    """Records that arrived before this moment need no entry in the index of arrivals.

    Reports and replays read the index: while one kind of records is kept for ever, so is the whole
    index, and this is None.
    """
    days = [retention_days.get(name, 0) for name in (*KIND_NAMES, "metrics")]
    return oldest_counted(max(days), now) if all(days) else None

"""What became of deliveries: their states, their attempts, and how many there were."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.model import Page, PageRequest
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import IS_OPEN, LEASED, DeliveryState
from longwire.store.statement import Statement

COUNT_BY_STATE = Statement("""
select state, count(*)
from delivery
where channel_number = :channel
    and changed_at >= :begin
    and changed_at < :until
group by state
""")

COUNT_UNFINISHED = Statement(f"""
select (created_at - :begin) / :span, count(*)
from delivery {{index:ix_delivery_open}}
where channel_number = :channel
    and {IS_OPEN}
    and first_end is null
    and created_at >= :begin
    and created_at < :until
group by 1
""")

# In the order of an index: without one, PostgreSQL reads all deliveries until it finds some.
IS_ACTIVE = Statement("""
select 1
from delivery
where channel_number = :channel
    and changed_at >= :begin
    and created_at >= :begin
    and created_at < :until
order by changed_at
limit 1
""")

LIST_PRESENT = Statement(
    """
select seq
from delivery
where channel_number = :channel
    and seq {in:seqs}
""",
    into=int,
)

LIST_LEASED = Statement(
    f"""
select seq
from delivery
where channel_number = :channel
    and seq {{in:seqs}}
    and {LEASED}
""",
    into=int,
)

LIST_DEVICE_IDS = Statement("""
select seq, device_id
from delivery
where channel_number = :channel
    and seq {in:seqs}
""")


@dataclass(frozen=True, slots=True)
class DeliveryEvent:
    """The state of one delivery, and when it last changed."""

    channel_number: int
    seq: int
    device_id: str
    kind: int
    state: DeliveryState
    generation: int
    attempts: int
    created_at: Moment
    changed_at: Moment
    due_at: Moment
    error: str | None


EVENT_COLUMNS = tuple(each.name for each in fields(DeliveryEvent))
_EVENT = ", ".join(EVENT_COLUMNS)


def _list_events(direction: str, sign: str) -> Statement[tuple[Any, ...]]:
    return Statement(f"""
select {_EVENT}
from delivery
where channel_number = :channel
    and changed_at >= :begin
    and changed_at < :until
    and (changed_at, seq) {sign} (:after_at, :after_seq)
order by changed_at {direction}, seq {direction}
limit :most
""")


LIST_EVENTS = _list_events("asc", ">")
LIST_NEWEST_EVENTS = _list_events("desc", "<")

LIST_LATEST = Statement(f"""
select {_EVENT}
from delivery
where channel_number = :channel
    and state {{in:states}}
order by changed_at desc, seq desc
limit :most
""")

LIST_CHANNELS = Statement("select number from channel", into=int)

GET_DETAIL = Statement(f"""
select {_EVENT}, ts, body, attempt_log, cause
from delivery
where channel_number = :channel
    and seq = :seq
""")

LIST_OF_ARRIVAL = Statement(f"""
select {_EVENT}, ts, body, attempt_log, cause
from delivery
where channel_number {{in:numbers}}
    and seq = :seq
""")

LIST_CAUSED = Statement(f"""
select {_EVENT}, ts, body, attempt_log, cause
from delivery
where cause = :seq
    and cause is not null
order by channel_number, seq
limit :most
""")


def to_event(row: Sequence[Any]) -> DeliveryEvent:
    """Of a row that begins with the columns of an event."""
    event = DeliveryEvent(*row[: len(EVENT_COLUMNS)])
    return replace(event, state=DeliveryState(event.state))


def list_events(
    tx: Tx, number: int, begin: Moment, end: Moment, request: PageRequest, *, ascending: bool
) -> Page[DeliveryEvent]:
    statement = LIST_EVENTS if ascending else LIST_NEWEST_EVENTS
    # Before the first one there is none, and behind the last one neither.
    after_at, after_seq = request.after or (begin if ascending else end, -1)
    period = {"channel": number, "begin": begin, "until": end}
    place = {"after_at": after_at, "after_seq": after_seq, "most": request.limit + 1}
    found = [to_event(row) for row in tx.fetch(statement, **period, **place)]
    items = found[: request.limit]
    last = items[-1] if len(found) > len(items) else None
    return Page(items, None if last is None else (last.changed_at, last.seq))


def count_by_state(tx: Tx, number: int, begin: Moment, end: Moment) -> dict[DeliveryState, int]:
    """How many deliveries last changed in a period, by state."""
    rows = tx.fetch(COUNT_BY_STATE, channel=number, begin=begin, until=end)
    return {DeliveryState(row[0]): row[1] for row in rows}


def count_unfinished(
    tx: Tx, numbers: Collection[int], begin: Moment, end: Moment, span: Moment
) -> list[tuple[int, int]]:
    """(span, how many) deliveries created in a period that were never final."""
    found: Counter[int] = Counter()
    for number in numbers:
        values = {"channel": number, "begin": begin, "until": end, "span": span}
        for index, count in tx.fetch(COUNT_UNFINISHED, **values):
            found[int(index)] += count
    return list(found.items())


def list_active_channels(tx: Tx, numbers: Iterable[int], begin: Moment, end: Moment) -> list[int]:
    """Those of the channels with a delivery created in a period."""
    period = {"begin": begin, "until": end}
    return [each for each in numbers if tx.fetch(IS_ACTIVE, channel=each, **period)]


def list_latest(
    tx: Tx, states: Collection[DeliveryState], limit: int, number: int | None = None
) -> list[DeliveryEvent]:
    """The newest changes first; of one channel, or of all."""
    numbers = tx.fetch(LIST_CHANNELS) if number is None else [number]
    wanted = {"states": [each.value for each in states], "most": limit}
    events: list[DeliveryEvent] = []
    for each in numbers:  # one by one, since only the changes of a channel have an index
        events += map(to_event, tx.fetch(LIST_LATEST, channel=each, **wanted))
    return sorted(events, key=lambda event: (-event.changed_at, -event.seq))[:limit]


@dataclass(frozen=True, slots=True)
class DeliveryDetail:
    """A delivery with its attempts, and with its record while that is kept."""

    event: DeliveryEvent
    ts: Moment
    body: str | None
    attempt_log: str | None
    cause: int | None


def get_detail(tx: Tx, number: int, seq: int) -> DeliveryDetail | None:
    row = tx.first(GET_DETAIL, channel=number, seq=seq)
    return _to_detail(row) if row else None


def list_of_arrival(tx: Tx, numbers: Collection[int], seq: int) -> dict[int, DeliveryDetail]:
    """The deliveries of a record through some channels, by channel."""
    rows = tx.fetch(LIST_OF_ARRIVAL, numbers=numbers, seq=seq)
    return {row[0]: _to_detail(row) for row in rows}


def _to_detail(row: tuple[Any, ...]) -> DeliveryDetail:
    return DeliveryDetail(to_event(row), *row[len(EVENT_COLUMNS) :])


def list_present(tx: Tx, number: int, seqs: Collection[int]) -> set[int]:
    """Those of the deliveries that exist."""
    return set(tx.fetch(LIST_PRESENT, channel=number, seqs=seqs))


def list_leased(tx: Tx, number: int, seqs: Collection[int]) -> set[int]:
    """Those of the deliveries that are in flight."""
    return set(tx.fetch(LIST_LEASED, channel=number, seqs=seqs))


def list_device_ids(tx: Tx, number: int, seqs: Collection[int]) -> dict[int, str]:
    """The ids of the devices of deliveries, as far as these exist."""
    return dict(tx.fetch(LIST_DEVICE_IDS, channel=number, seqs=seqs))


def list_caused(tx: Tx, seq: int, limit: int) -> list[DeliveryDetail]:
    """The deliveries of notifications that an arrival caused."""
    return [_to_detail(row) for row in tx.fetch(LIST_CAUSED, seq=seq, most=limit)]


def get(tx: Tx, number: int, seq: int) -> DeliveryEvent | None:
    row = tx.first(GET_DETAIL, channel=number, seq=seq)
    return to_event(row) if row else None

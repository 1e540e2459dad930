"""What connectors did in each minute and hour: messages made, attempts settled, and what waited.

A month has 43,200 minutes, so longer reports read the hours, which are counted with them. Each
process counts in rows of its own, and apart what ingest makes from what the engine settles, so that
neither waits for the other's commit; reading adds them up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longwire.clock import MINUTE, Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.statement import Statement, build_limited_delete

# Upper bounds of the buckets of durations, in milliseconds; the last one has none.
BUCKET_BOUNDS_MS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000)
BUCKETS = tuple(f"bucket_{index}" for index in range(len(BUCKET_BOUNDS_MS) + 1))

_MADE, _SETTLED, _WAITING = range(3)  # parts of a minute
_OF_HOUR = 3  # added to the part of a minute for that of an hour
MINUTES_PER_HOUR = 60
_SAMPLER = 0  # the writer of what waits, which any process may sample
_COUNTS = ("succeeded", "failed", "retried", *BUCKETS)
_KEY = ("channel_number", "minute", "part", "writer")
_ADDED = ",\n    ".join(f"{name} = connector_minute.{name} + excluded.{name}" for name in _COUNTS)
_LARGER = "case when excluded.max_ms > connector_minute.max_ms then excluded.max_ms"

_ADD_MADE = OnConflict("made = connector_minute.made + excluded.made")
_ADD_SETTLED = OnConflict(f"""
    {_ADDED},
    max_ms = {_LARGER} else connector_minute.max_ms end
""")
_SET_WAITING = OnConflict("waiting = excluded.waiting")

_SUMMED = ("made", *_COUNTS)
_SUMS = ",\n    ".join(f"cast(sum({name}) as bigint)" for name in _SUMMED)

LIST_SUMS = Statement(f"""
select
    (minute - :first) / :span,
    {_SUMS},
    max(max_ms)
from connector_minute
where channel_number = :channel
    and minute >= :first
    and minute < :until
    and part >= :part
    and part < :part + {_WAITING}
group by 1
""")

# What waited when a span was last sampled.
LIST_WAITING = Statement("""
select (minute - :first) / :span, minute, waiting
from connector_minute
where channel_number = :channel
    and minute >= :first
    and minute < :until
    and part = :part
order by minute
""")

GET_NEXT_CHANNEL = Statement("""
select channel_number
from connector_minute
where channel_number > :after
order by channel_number
limit 1
""")

DELETE_OLDER = build_limited_delete(
    "connector_minute",
    "minute, part, writer",
    within="channel_number = :channel",
    where="minute < :before",
)


@dataclass(slots=True)
class SettledAttempts:
    """How attempts of a connector ended, and how long they took."""

    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    max_ms: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))


@dataclass(slots=True)
class ConnectorSpan:
    """The sums of some minutes."""

    made: int = 0
    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    max_ms: int = 0
    waiting: int = 0


def count_made(tx: Tx, writer: int, made: Mapping[int, int]) -> None:
    """Count new messages, by channel."""
    counts = [(number, _MADE, writer, count) for number, count in sorted(made.items())]
    insert_many(tx, schema.connector_minute, (*_KEY, "made"), _rows(tx, counts), _ADD_MADE)


def _rows(tx: Tx, counts: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """(channel, part, writer, …) as rows of this minute and of this hour."""
    minute = tx.now // MINUTE
    hour = minute // MINUTES_PER_HOUR * MINUTES_PER_HOUR
    rows: list[tuple[int, ...]] = []
    for number, part, *rest in counts:
        rows += [(number, minute, part, *rest), (number, hour, part + _OF_HOUR, *rest)]
    return rows


def count_settled(tx: Tx, writer: int, settled: Mapping[int, SettledAttempts]) -> None:
    """Count ended attempts, by channel."""
    counts: list[tuple[int, ...]] = []
    for number, each in sorted(settled.items()):
        ended = (each.succeeded, each.failed, each.retried)
        counts.append((number, _SETTLED, writer, *ended, *each.buckets, each.max_ms))
    columns = (*_KEY, *_COUNTS, "max_ms")
    insert_many(tx, schema.connector_minute, columns, _rows(tx, counts), _ADD_SETTLED)


def set_waiting(tx: Tx, waiting: Mapping[int, int]) -> None:
    """Store how many messages wait now, by channel."""
    counts = [(number, _WAITING, _SAMPLER, n) for number, n in sorted(waiting.items())]
    insert_many(tx, schema.connector_minute, (*_KEY, "waiting"), _rows(tx, counts), _SET_WAITING)


def list_spans(
    tx: Tx, numbers: Sequence[int], first: int, until: int, span: int, *, by_hours: bool
) -> dict[int, ConnectorSpan]:
    """The sums of some channels in spans of so many minutes, by the index of the span.

    By hours, the first minute and the span have to be those of whole hours.
    """
    spans: dict[int, ConnectorSpan] = {}
    unit = _OF_HOUR if by_hours else 0
    for number in numbers:
        values = {"channel": number, "first": first, "until": until, "span": span}
        for row in tx.fetch(LIST_SUMS, **values, part=unit):
            _add(spans.setdefault(row[0], ConnectorSpan()), row)
        found = tx.fetch(LIST_WAITING, **values, part=unit + _WAITING)
        for index, waiting in {row[0]: row[2] for row in found}.items():
            spans.setdefault(index, ConnectorSpan()).waiting += waiting
    return spans


def _add(span: ConnectorSpan, row: tuple[Any, ...]) -> None:
    _, made, succeeded, failed, retried, *buckets, max_ms = row
    span.made += made
    span.succeeded += succeeded
    span.failed += failed
    span.retried += retried
    span.buckets = [a + b for a, b in zip(span.buckets, buckets, strict=True)]
    span.max_ms = max(span.max_ms, max_ms)


# --- retention ---


def prune(tx: Tx, after_channel: int, before: Moment, most: int) -> int | None:
    """Delete some old minutes; the channel to continue after, None at the end."""
    following = tx.fetch(GET_NEXT_CHANNEL, after=after_channel)
    if not following:
        return None
    number: int = following[0][0]
    deleted = delete_some(tx, number, before // MINUTE, most)
    return after_channel if deleted == most else number


def delete_some(tx: Tx, number: int, before_minute: int, most: int) -> int:
    values = {"channel": number, "before": before_minute, "most": most}
    return tx.run(DELETE_OLDER, **values)

"""Connectors over time: what they made, delivered and retried, and how long attempts took."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from longwire.clock import MINUTE, Moment
from longwire.dataclass import dataclass
from longwire.delivery.connectors import connectors
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.identity import access
from longwire.model import Actor
from longwire.store.database import Database, Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import connector_minutes as store
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery.connector_minutes import (
    BUCKET_BOUNDS_MS,
    MINUTES_PER_HOUR,
    ConnectorSpan,
    SettledAttempts,
)

SPANS_MAX = 2_000
SPAN_DEFAULT_S = 3_600
# Minutes or hours of all connectors of a report together, so that none takes long.
UNITS_MAX = 20_000
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class ConnectorReport:
    """The spans of a period; those in which nothing happened are left out."""

    begin: Moment
    end: Moment
    span: Moment
    span_count: int
    spans: Mapping[int, ConnectorSpan]


def add_durations(settled: SettledAttempts, duration_ms: int, number: int) -> None:
    """So many attempts took so long each."""
    settled.buckets[bisect_left(BUCKET_BOUNDS_MS, duration_ms)] += number
    settled.max_ms = max(settled.max_ms, duration_ms)


def percentile(buckets: Sequence[int], max_ms: int, share: float) -> int:
    """A duration that this share of the attempts did not exceed, within its bucket estimated."""
    rank = share * sum(buckets)
    below = 0
    for index, count in enumerate(buckets):
        if count and below + count >= rank:
            low = BUCKET_BOUNDS_MS[index - 1] if index else 0
            high = BUCKET_BOUNDS_MS[index] if index < len(BUCKET_BOUNDS_MS) else max_ms
            return min(max_ms, round(low + (high - low) * (rank - below) / count))
        below += count
    return max_ms


def build_report(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str | None,
    begin: Moment,
    end: Moment,
    span_s: int,
) -> ConnectorReport:
    """What the connectors of a group did in a period, or one of them.

    In whole minutes, or in whole hours if the spans are hours.
    """
    access.authorize(tx, actor, "metrics.read", group_id)
    numbers = _select(tx, group_id, connector_id)
    if span_s % _MINUTE_S:
        raise invalid_field("time_span", "must be a multiple of 60")
    span = span_s // _MINUTE_S
    by_hours = span % MINUTES_PER_HOUR == 0
    unit = MINUTES_PER_HOUR if by_hours else 1
    first = begin // (unit * MINUTE) * unit
    until = -(-end // (unit * MINUTE)) * unit
    span_count = max(0, -(-(until - first) // span))
    if span_count > SPANS_MAX:
        reason = f"gives {span_count} items; at most {SPANS_MAX} are reported"
        raise invalid_field("time_span", reason)
    if len(numbers) * (until - first) // unit > UNITS_MAX:
        noun = "hours" if by_hours else "minutes"
        reason = (
            f"is too long ago: {UNITS_MAX // len(numbers)} {noun} of so many connectors are"
            " reported; name a connector, a shorter period, or spans of hours"
        )
        raise BadInput(field_errors=[FieldError("begin_date", reason)])
    spans: Mapping[int, ConnectorSpan] = {}
    if span_count:
        spans = store.list_spans(tx, numbers, first, until, span, by_hours=by_hours)
    return ConnectorReport(first * MINUTE, until * MINUTE, span * MINUTE, span_count, spans)


def _select(tx: Tx, group_id: str, connector_id: str | None) -> list[int]:
    found = store_connectors.list_numbers(tx, [group_id])
    if connector_id is None:
        return list(found)
    numbers = [number for number, each in found.items() if each == connector_id]
    if not numbers:
        raise connectors.KIND.missing()
    return numbers


async def sample_backlogs(database: Database) -> None:
    """Store how many messages wait for each connector, if any do."""

    def count(tx: Tx) -> dict[int, int]:
        found = store_backlogs.count_by_channel(tx)
        waiting = {number: each.queued + each.leased for number, each in found.items()}
        healths = store_channels.list_connector_health(tx, list(waiting))
        return {each.number: waiting[each.number] for each in healths if waiting[each.number]}

    waiting = await database.read(count)
    if waiting:
        await database.write(lambda tx: store.set_waiting(tx, waiting))

"""What fails at a connector, by error: how often, since when, for how many devices."""

from collections.abc import Sequence
from dataclasses import dataclass

from longwire.clock import Moment
from longwire.delivery.attempts import DELIVERED, Attempt, parse_attempts
from longwire.delivery.connectors import connectors
from longwire.ids import format_delivery_id
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.store.delivery import delivery_failures
from longwire.store.delivery.delivery_failures import FailureRow


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Messages whose last attempt failed in the same way."""

    error: str
    code: str | None  # None if its attempts are not kept
    status: int | None  # of the HTTP response
    count: int
    dead_letters: int
    waiting: int
    lost: int  # no longer kept for a resend
    devices: int
    first_at: Moment
    last_at: Moment
    kept_until: Moment | None  # of the dead letter that expires first
    message_id: str  # the newest, of those whose exchange was kept if there are any


@dataclass(frozen=True, slots=True)
class FailureReport:
    failures: list[ErrorGroup]
    is_more: bool  # not all messages of the period have been looked at


def list_failures(
    tx: Tx, actor: Actor, group_id: str, connector_id: str, begin: Moment, end: Moment
) -> FailureReport:
    """Of messages that last changed in a period."""
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    rows, is_more = delivery_failures.list_by_error(tx, connector.number, begin, end)
    logs = delivery_failures.list_logs(tx, connector.number, [_choose(each) for each in rows])
    failures = [
        _build_group(connector.number, each, parse_attempts(logs.get(_choose(each))))
        for each in rows
    ]
    return FailureReport(failures, is_more)


def _choose(row: FailureRow) -> int:
    return row.newest_seq if row.newest_with_exchange is None else row.newest_with_exchange


def _build_group(number: int, row: FailureRow, attempts: Sequence[Attempt]) -> ErrorGroup:
    last = next((each for each in reversed(attempts) if each.outcome != DELIVERED), None)
    return ErrorGroup(
        error=row.error,
        code=None if last is None else last.outcome,
        status=None if last is None else last.status,
        count=row.total,
        dead_letters=row.dead_letters,
        waiting=row.waiting,
        lost=row.total - row.dead_letters - row.waiting,
        devices=row.devices,
        first_at=row.first_at,
        last_at=row.last_at,
        kept_until=row.kept_until,
        message_id=format_delivery_id(number, _choose(row)),
    )

"""Channels: everything that leaves the service does so through one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import SYSTEM, Channel, ChannelPurpose
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.locks import acquire_lock
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement

_table = schema.channel
CHANNELS = GroupRows(Channel, _table, "number")
IS_THERE = _table.c.deleted_at.is_(None)
# What ingest caches; channels of other purposes concern only the engine.
CACHED_PURPOSES = (ChannelPurpose.CONNECTOR, ChannelPurpose.NOTIFICATION)

GET_VERSIONS = Statement("""
select number, version
from channel
where number {in:numbers}
    and is_enabled
    and deleted_at is null
""")

GET_NUMBERS = Statement("""
select id, number
from channel
where id {in:ids}
    and purpose = :purpose
    and deleted_at is null
""")

LIST_CONNECTOR_HEALTH = Statement(f"""
select number, id, type, failures
from channel
where number {{in:numbers}}
    and purpose = '{ChannelPurpose.CONNECTOR}'
    and deleted_at is null
""")

LIST_FAILING = Statement("""
select number
from channel
where number {in:numbers}
    and failures > 0
""")

RESET_FAILURES = Statement("""
update channel
set failures = 0,
    failing_since = null
where number = :number
    and failures > 0
""")

# Of about the last hundred evaluations: where there are more, both are halved.
FILTER_EVALUATIONS_MAX = 200
COUNT_FILTER_OUTCOMES = Statement(f"""
update channel
set filter_evaluated = (filter_evaluated + :evaluated)
        / case when filter_evaluated + :evaluated > {FILTER_EVALUATIONS_MAX} then 2 else 1 end,
    filter_failed = (filter_failed + :failed)
        / case when filter_evaluated + :evaluated > {FILTER_EVALUATIONS_MAX} then 2 else 1 end,
    filter_failing_since =
        case when (filter_failed + :failed) * 2 > filter_evaluated + :evaluated
            then coalesce(filter_failing_since, :now)
        end,
    error_at = case when :failed > 0 then :now else error_at end,
    error_message = case when :failed > 0 then :error else error_message end
where number = :number
returning filter_failed
""")

RECORD_ERROR = Statement("""
update channel
set error_at = :now,
    error_message = :error
where number = :number
""")

# Hides a channel and frees its id.
_MARK_DELETED = """
update channel
set id = 'deleted:' || number,
    deleted_at = :now,
    version = version + 1,
    is_enabled = false,
    resend_before = null
where deleted_at is null"""
MARK_DELETED = Statement(f"""{_MARK_DELETED}
    and number = :number
""")
MARK_GROUP_DELETED = Statement(f"""{_MARK_DELETED}
    and group_id = :home
""")

LIST_RESENDS = Statement("""
select number, resend_before
from channel
where resend_before is not null
    and deleted_at is null
order by number
""")

LOCK_RESENDS = Statement("""
select number, resend_before
from channel
where number {in:numbers}
    and resend_before is not null
    and deleted_at is null
order by number {skip_locked}
""")

END_RESEND = Statement("""
update channel
set resend_before = null
where number = :number
""")


# --- create, update, delete ---


def get_by_purpose(tx: Tx, purpose: ChannelPurpose, channel_id: str) -> Channel | None:
    is_meant = sa.and_(_table.c.id == channel_id, _table.c.purpose == purpose, IS_THERE)
    row = tx.row(CHANNELS.select.where(is_meant))
    return CHANNELS.parse(row) if row else None


def get_numbers(tx: Tx, purpose: ChannelPurpose, ids: Collection[str]) -> dict[str, int]:
    """The numbers of channels, by their ids."""
    if not ids:
        return {}
    values = {"ids": ids, "purpose": purpose.value}
    return dict(tx.fetch(GET_NUMBERS, **values))


def id_exists(tx: Tx, channel_id: str) -> bool:
    """Whether a channel has this id, in any group."""
    return tx.row(sa.select(_table.c.number).where(_table.c.id == channel_id)) is not None


def insert(tx: Tx, channel: Channel) -> Channel:
    """Insert a channel; returns it with its number."""
    row = CHANNELS.to_row(channel)
    del row["number"]  # the database counts it up
    tx.execute(sa.insert(_table), row)
    return CHANNELS.parse(tx.rows(CHANNELS.select.where(_table.c.id == channel.id))[0])


def save(tx: Tx, before: Channel, after: Channel) -> None:
    """Update a channel, which is locked, under a new version."""
    CHANNELS.save(tx, before, replace(after, version=before.version + 1))


def mark_deleted(tx: Tx, channel: Channel) -> None:
    """Hide it and free its id; its deliveries are deleted in small steps."""
    tx.run(MARK_DELETED, number=channel.number, now=tx.now)


def mark_group_deleted(tx: Tx, group_id: str) -> int:
    """The same for every channel of a group; how many there were."""
    values = {"home": schema.group_number(group_id), "now": tx.now}
    return tx.run(MARK_GROUP_DELETED, **values)


def list_deleted(tx: Tx) -> list[int]:
    """Numbers of deleted channels, whose deliveries are deleted first."""
    return [
        row[0]
        for row in tx.rows(sa.select(_table.c.number).where(_table.c.deleted_at.is_not(None)))
    ]


def delete(tx: Tx, number: int) -> None:
    """Delete the row of a deleted channel, with all that points to it."""
    for table in (schema.replay, schema.connector, schema.notification):
        tx.execute(sa.delete(table).where(table.c.channel_number == number))
    tx.execute(sa.delete(_table).where(_table.c.number == number))


def _update(tx: Tx, number: int, values: dict[str, Any]) -> None:
    tx.execute(sa.update(_table).where(_table.c.number == number).values(values))


# --- for the engine ---


def get_by_numbers(tx: Tx, numbers: Collection[int]) -> dict[int, Channel]:
    if not numbers:
        return {}
    statement = CHANNELS.select.where(_table.c.number.in_(numbers), IS_THERE)
    return {row.number: CHANNELS.parse(row) for row in tx.rows(statement)}


def get_versions(tx: Tx, numbers: Collection[int]) -> dict[int, int]:
    """The versions of those that are enabled."""
    return dict(tx.fetch(GET_VERSIONS, numbers=numbers))


def record_failure(tx: Tx, number: int, message: str, failures: int) -> None:
    """Count failed attempts, and keep the last error and when the first one failed."""
    # The release before counts without this moment.
    began_at = sa.func.coalesce(_table.c.failing_since, _table.c.error_at, tx.now)
    values = {
        "error_at": tx.now,
        "error_message": message,
        "failures": _table.c.failures + failures,
        "failing_since": sa.case((_table.c.failures == 0, tx.now), else_=began_at),
    }
    _update(tx, number, values)


class FilterCounts(NamedTuple):
    """How often a filter was evaluated, how often it had no value, and why the last time."""

    evaluated: int
    failed: int
    reason: str


def count_filter_outcomes(tx: Tx, number: int, counts: FilterCounts) -> bool:
    """Count them; whether the filter had no value for some of the last records."""
    values = {
        "number": number,
        "now": tx.now,
        "evaluated": counts.evaluated,
        "failed": counts.failed,
        "error": describe_filter_error(counts.reason),
    }
    rows = tx.fetch(COUNT_FILTER_OUTCOMES, **values)
    return any(row[0] for row in rows)


def reset_filter_outcomes(tx: Tx, number: int) -> None:
    """The filter is another one."""
    _update(tx, number, {"filter_evaluated": 0, "filter_failed": 0, "filter_failing_since": None})


def record_filter_errors(tx: Tx, errors: Mapping[int, str]) -> None:
    """Keep why filters could not be evaluated, by channel; the message did not match."""
    texts = {number: describe_filter_error(reason) for number, reason in errors.items()}
    record_errors(tx, texts)


def describe_filter_error(reason: str) -> str:
    return f"the filter could not be evaluated: {reason}"


def record_errors(tx: Tx, errors: Mapping[int, str]) -> None:
    for number in sorted(errors):
        values = {"number": number, "now": tx.now, "error": errors[number]}
        tx.run(RECORD_ERROR, **values)


def list_failing(tx: Tx, numbers: Collection[int]) -> set[int]:
    """Those of these channels whose last attempts have failed."""
    if not numbers:
        return set()
    rows = tx.fetch(LIST_FAILING, numbers=numbers)
    return {row[0] for row in rows}


def reset_failures(tx: Tx, number: int) -> None:
    """The last attempt succeeded."""
    tx.run(RESET_FAILURES, number=number)


def lock_to_disable(tx: Tx, channels: Sequence[Channel]) -> None:
    """Wait for updates in progress, which would enable them again.

    For all at once, in order of number, and before any row of a channel is locked: an update takes
    the lock, the epoch and the row in this order too.
    """
    for channel in channels:
        acquire_lock(tx, "channel", channel.id)
    for channel in channels:
        if channel.purpose in CACHED_PURPOSES:
            bump_config_epoch(tx, channel.group_id)


def disable(tx: Tx, channel: Channel) -> bool:
    """Disable a locked channel because its destination is gone; False if it was changed before."""
    return bool(
        tx.execute(
            sa.update(_table)
            .where(
                _table.c.number == channel.number,
                _table.c.version == channel.version,
                _table.c.is_enabled,
            )
            .values(
                is_enabled=False,
                version=_table.c.version + 1,
                updated_at=tx.now,
                updated_by=SYSTEM.id,
            )
        )
    )


# --- resends ---


@dataclass(frozen=True, slots=True)
class Resend:
    """A running resend of the dead letters that failed before a moment."""

    number: int
    before: Moment


def begin_resend(tx: Tx, number: int) -> bool:
    """Start a resend; False if one is running."""
    return bool(
        tx.execute(
            sa.update(_table)
            .where(_table.c.number == number, _table.c.resend_before.is_(None))
            .values(resend_before=tx.now)
        )
    )


def list_resends(tx: Tx) -> list[Resend]:
    """All that are running."""
    return [Resend(*row) for row in tx.fetch(LIST_RESENDS)]


def lock_resends(tx: Tx, numbers: Collection[int]) -> set[Resend]:
    """Those of these channels that are running, and that no other process has locked."""
    rows = tx.fetch(LOCK_RESENDS, numbers=numbers)
    return {Resend(*row) for row in rows}


def end_resend(tx: Tx, number: int) -> None:
    tx.run(END_RESEND, number=number)


# --- for the operator ---


def list_all(tx: Tx) -> list[Channel]:
    statement = CHANNELS.select.where(IS_THERE).order_by(_table.c.number)
    return [CHANNELS.parse(row) for row in tx.rows(statement)]


@dataclass(frozen=True, slots=True)
class ConnectorFailures:
    number: int
    id: str
    type: str
    failures: int


def list_connector_health(tx: Tx, numbers: Collection[int]) -> list[ConnectorFailures]:
    """How those of these channels are that are connectors."""
    rows = tx.fetch(LIST_CONNECTOR_HEALTH, numbers=numbers)
    return [ConnectorFailures(*row) for row in rows]


def list_names(tx: Tx) -> dict[int, str | None]:
    """The names of connectors and notifications, by the numbers of their channels."""
    return {
        row.channel_number: row.name
        for table in (schema.connector, schema.notification)
        for row in tx.rows(sa.select(table.c.channel_number, table.c.name))
    }

"""Channels: everything that leaves the service does so through one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from longwire.clock import Moment
from longwire.model import SYSTEM, Channel, ChannelPurpose
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.locks import acquire_lock
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement

CHANNELS = GroupRows(Channel, schema.channel, "number")
# What ingest caches; channels of other purposes concern only the engine.
CACHED_PURPOSES = (ChannelPurpose.CONNECTOR, ChannelPurpose.NOTIFICATION)

GET_BY_PURPOSE = Statement(f"""
select {CHANNELS.sql()}
from channel
where id = :id
    and purpose = :purpose
    and deleted_at is null
""")

GET_BY_NUMBERS = Statement(f"""
select {CHANNELS.sql()}
from channel
where number {{in:numbers}}
    and deleted_at is null
""")

LIST_ALL = Statement(f"""
select {CHANNELS.sql()}
from channel
where deleted_at is null
order by number
""")

FIND_ID = Statement("""
select number
from channel
where id = :id
""")

# The database counts the number up.
_INSERTED = [column.name for column in CHANNELS.columns if column.name != "number"]
INSERT = Statement(f"""
insert into channel ({", ".join(_INSERTED)})
values ({", ".join(f":{name}" for name in _INSERTED)})
returning {CHANNELS.sql()}
""")

GET_VERSIONS = Statement("""
select number, version
from channel
where number {in:numbers}
    and is_enabled
    and deleted_at is null
""")

GET_PAUSES = Statement("""
select number, paused_until
from channel
where number {in:numbers}
    and paused_until > :now
""")

END_PAUSE = Statement("""
update channel
set paused_until = null
where number = :number
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

# While the receiver wants to get nothing, responses are to what was sent before.
RESET_FAILURES = Statement("""
update channel
set failures = 0,
    failing_since = null,
    paused_until = null
where number = :number
    and failures > 0
    and coalesce(paused_until, 0) <= :now
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

RESET_FILTER_OUTCOMES = Statement("""
update channel
set filter_evaluated = 0,
    filter_failed = 0,
    filter_failing_since = null
where number = :number
""")

# The release before counts without the moment of the first failure. The receiver that asks for time
# may be one of an earlier version.
RECORD_FAILURE = Statement("""
update channel
set failing_since = case when failures = 0 then :now
        else coalesce(failing_since, error_at, :now) end,
    failures = failures + :failures,
    error_at = :now,
    error_message = :error,
    paused_until = case when version = :version then coalesce(:paused_until, paused_until)
        else paused_until end
where number = :number
""")

RECORD_GIVEN_UP = Statement("""
update channel
set given_up = given_up + :given_up,
    given_up_at = :now,
    given_up_error = coalesce(given_up_error, :error)
where number = :number
""")

RESET_GIVEN_UP = Statement("""
update channel
set given_up = 0,
    given_up_error = null
where number = :number
    and given_up > 0
""")

# Unless another one was given up meanwhile.
RESET_KNOWN_GIVEN_UP = Statement("""
update channel
set given_up = 0,
    given_up_error = null
where number = :number
    and given_up = :known
""")

RESET_GIVEN_UP_OF_ALL = Statement("""
update channel
set given_up = 0,
    given_up_error = null
where number = :number
    and not exists (
        select 1
        from alarm a
        where a.subject = -channel.number
            and a.reason = 'messagesFailed'
            and a.resolved_at is null
    )
""")

# Whoever has it locked takes requests of this rate just now.
LOCK_RATE = Statement("""
select coalesce(rate_taken_until, 0)
from channel
where number = :number
{skip_locked}
""")

GET_TAKEN_UNTIL = Statement("""
select coalesce(rate_taken_until, 0)
from channel
where number = :number
""")

TAKE_REQUESTS = Statement("""
update channel
set rate_taken_until = :until
where number = :number
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

LIST_DELETED = Statement("""
select number
from channel
where deleted_at is not null
""")

# With all that points to it.
DELETE = tuple(
    Statement(f"""
delete from {table}
where {key} = :number
""")
    for table, key in (
        ("replay", "channel_number"),
        ("delivery_exchange", "channel_number"),
        ("connector", "channel_number"),
        ("notification", "channel_number"),
        ("contact_point", "channel_number"),
        ("contact_point_use", "channel_number"),
        ("report", "channel_number"),
        ("channel", "number"),
    )
)

DISABLE = Statement("""
update channel
set is_enabled = false,
    version = version + 1,
    updated_at = :now,
    updated_by = :by
where number = :number
    and version = :version
    and is_enabled
""")

BEGIN_RESEND = Statement("""
update channel
set resend_before = :now
where number = :number
    and resend_before is null
""")

EXPIRE_REPORT_RUNS = Statement("""
update report_run
set expires_at = :now
where channel_number = :number
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

LIST_NAMES = Statement("""
select channel_number, name
from connector
union all
select channel_number, name
from notification
union all
select channel_number, name
from contact_point
""")


# --- create, update, delete ---


def get_by_purpose(tx: Tx, purpose: ChannelPurpose, channel_id: str) -> Channel | None:
    row = tx.first(GET_BY_PURPOSE, id=channel_id, purpose=purpose.value)
    return CHANNELS.parse(row) if row else None


def get_numbers(tx: Tx, purpose: ChannelPurpose, ids: Collection[str]) -> dict[str, int]:
    """The numbers of channels, by their ids."""
    if not ids:
        return {}
    values = {"ids": ids, "purpose": purpose.value}
    return dict(tx.fetch(GET_NUMBERS, **values))


def id_exists(tx: Tx, channel_id: str) -> bool:
    """Whether a channel has this id, in any group."""
    return tx.first(FIND_ID, id=channel_id) is not None


def insert(tx: Tx, channel: Channel) -> Channel:
    """Insert a channel; returns it with its number."""
    home = schema.group_number(channel.group_id)
    values = CHANNELS.to_row(channel) | {"group_id": home}
    return CHANNELS.parse(tx.fetch(INSERT, **values)[0])


def save(tx: Tx, before: Channel, after: Channel) -> None:
    """Update a channel, which is locked, under a new version; it may be sent to at once."""
    CHANNELS.save(tx, before, replace(after, version=before.version + 1))
    # After that, as the row is locked now, and its receiver may have asked for time meanwhile.
    tx.run(END_PAUSE, number=before.number)


def mark_deleted(tx: Tx, channel: Channel) -> None:
    """Hide it and free its id; its deliveries are deleted in small steps."""
    tx.run(MARK_DELETED, number=channel.number, now=tx.now)


def mark_group_deleted(tx: Tx, group_id: str) -> int:
    """The same for every channel of a group; how many there were."""
    values = {"home": schema.group_number(group_id), "now": tx.now}
    return tx.run(MARK_GROUP_DELETED, **values)


def list_deleted(tx: Tx) -> list[int]:
    """Numbers of deleted channels, whose deliveries are deleted first."""
    return [number for (number,) in tx.fetch(LIST_DELETED)]


def delete(tx: Tx, number: int) -> None:
    """Delete the row of a deleted channel, with all that points to it."""
    for statement in DELETE:
        tx.run(statement, number=number)
    # Its files are deleted in small steps.
    tx.run(EXPIRE_REPORT_RUNS, number=number, now=tx.now)


# --- for the engine ---


def get_by_numbers(tx: Tx, numbers: Collection[int]) -> dict[int, Channel]:
    if not numbers:
        return {}
    found = [CHANNELS.parse(row) for row in tx.fetch(GET_BY_NUMBERS, numbers=numbers)]
    return {each.number: each for each in found}


def get_versions(tx: Tx, numbers: Collection[int]) -> dict[int, int]:
    """The versions of those that are enabled."""
    return dict(tx.fetch(GET_VERSIONS, numbers=numbers))


def get_pauses(tx: Tx, numbers: Collection[int]) -> dict[int, Moment]:
    """Until when receivers want to get nothing, of those that do."""
    return dict(tx.fetch(GET_PAUSES, numbers=numbers, now=tx.now))


class RequestedPause(NamedTuple):
    """The receiver of this version of a channel wants to get nothing until then."""

    version: int
    until: Moment


def record_failure(
    tx: Tx, number: int, message: str, failures: int, pause: RequestedPause | None = None
) -> None:
    """Count failed attempts, and keep the last error and when the first one failed."""
    version, paused_until = pause or (None, None)
    values = {"number": number, "now": tx.now, "error": message, "failures": failures}
    tx.run(RECORD_FAILURE, **values, version=version, paused_until=paused_until)


def record_given_up(tx: Tx, number: int, given_up: int, first_error: str) -> None:
    """Count messages that were given up, and keep why the first one of them was."""
    values = {"number": number, "now": tx.now, "given_up": given_up, "error": first_error}
    tx.run(RECORD_GIVEN_UP, **values)


def reset_given_up(tx: Tx, number: int) -> None:
    """Somebody has taken care of them; what is given up from now on is counted from zero."""
    tx.run(RESET_GIVEN_UP, number=number)


def reset_known_given_up(tx: Tx, number: int, known: int) -> None:
    """The same if there are no more than so many."""
    tx.run(RESET_KNOWN_GIVEN_UP, number=number, known=known)


def reset_given_up_of_all(tx: Tx, number: int) -> None:
    """The same if no notification has an alarm about it any more."""
    tx.run(RESET_GIVEN_UP_OF_ALL, number=number)


def lock_rate(tx: Tx, number: int) -> Moment | None:
    """Until when the requests of a channel are taken; None while somebody else takes some."""
    rows = tx.fetch(LOCK_RATE, number=number)
    return int(rows[0][0]) if rows else None


def get_taken_until(tx: Tx, number: int) -> Moment:
    """Until when the requests of a channel are taken."""
    return int(tx.fetch(GET_TAKEN_UNTIL, number=number)[0][0])


def take_requests(tx: Tx, number: int, until: Moment) -> None:
    """Take the requests of a locked channel up to a moment."""
    tx.run(TAKE_REQUESTS, number=number, until=until)


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
    tx.run(RESET_FILTER_OUTCOMES, number=number)


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
    tx.run(RESET_FAILURES, number=number, now=tx.now)


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
    values = {"number": channel.number, "version": channel.version}
    return tx.run(DISABLE, **values, now=tx.now, by=SYSTEM.id) > 0


# --- resends ---


@dataclass(frozen=True, slots=True)
class Resend:
    """A running resend of the dead letters that failed before a moment."""

    number: int
    before: Moment


def begin_resend(tx: Tx, number: int) -> bool:
    """Start a resend; False if one is running."""
    return tx.run(BEGIN_RESEND, number=number, now=tx.now) > 0


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
    return [CHANNELS.parse(row) for row in tx.fetch(LIST_ALL)]


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
    """The names of what users configure, by the numbers of their channels."""
    return dict(tx.fetch(LIST_NAMES))

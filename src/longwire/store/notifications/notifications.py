"""Notifications, and their state for each device or connector."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import SYSTEM, Notification
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.channel_owners import OwnerTable
from longwire.store.engines.bulk import IGNORE, OnConflict, insert_many
from longwire.store.fleet.reporting_devices import count_next
from longwire.store.statement import Statement

ALL = 2**62  # a limit that is none

_state = schema.notification_state

NOTIFICATIONS = OwnerTable(
    Notification,
    "notification",
    fields_read=("device_types", "device_id", "reason", "schedule"),
    channel_fields_read=("is_enabled", "type", "sealed_params"),
)

_COLUMNS = (
    "notification_number",
    "subject",
    "raised_at",
    "is_notified",
    "as_of",
    "fired_at",
    "held_back",
)
_STATE_COLUMNS = ", ".join(f"s.{name}" for name in _COLUMNS)
_UPDATE_STATE = OnConflict(", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[2:]))

LIST_ENABLED = NOTIFICATIONS.where("c.group_id {in:homes} and c.is_enabled")
FIND_ID = NOTIFICATIONS.where("c.id = :id and c.group_id = :home")

DELETE_OF_SUBJECTS = Statement("""
delete from notification_state
where subject {in:subjects}
""")

DELETE_SOME = Statement("""
delete from notification_state
where notification_number = :number
    and subject {in:subjects}
""")

LIST_GROUPS_WITH_REASONS = Statement("""
select distinct c.group_id
from notification n
join channel c on c.number = n.channel_number
where n.reason {in:reasons}
    and c.is_enabled
    and c.deleted_at is null
""")

SUM_PARAMS = Statement("""
select coalesce(sum(length(c.sealed_params)), 0)
from channel c
join notification n on n.channel_number = c.number
where c.group_id = :home
    and c.deleted_at is null
""")

SET_FIRED = Statement("""
update notification
set fired_at = :now
where channel_number = :number
    and (fired_at is null or fired_at < :now)
""")

SET_SENT = Statement("""
update notification
set sent_at = :now
where channel_number = :number
    and (sent_at is null or sent_at < :now)
""")

LOCK_STATES = Statement(f"""
select {_STATE_COLUMNS}
from notification_state s
where s.notification_number {{in:numbers}}
    and s.subject {{in:subjects}}
{{postgres:order by s.notification_number, s.subject for update}}
""")

END_STATE = Statement("""
update notification_state
set raised_at = null,
    is_notified = false,
    as_of = :now
where notification_number = :number
    and subject = :subject
""")

DELETE_STATES = Statement("""
delete from notification_state
where notification_number = :number
    and subject in (
        select subject
        from notification_state
        where notification_number = :number
        limit :most
    )
returning subject
""")

_SEEN_AT = "case when t.seen_at > d.created_at then t.seen_at else d.created_at end"
_SELECT_LAST_SEEN = f"""
select d.number, d.id, d.name, d.type, d.tags, {_SEEN_AT}, {_STATE_COLUMNS}
from device d
join device_state t
    on t.group_id = d.group_id
    and t.device_number = d.number
left join notification_state s
    on s.subject = d.number
    and s.notification_number = :notification
where d.group_id = :home"""

LIST_LAST_SEEN = Statement(f"""{_SELECT_LAST_SEEN}
    and d.number {{in:numbers}}
order by d.number
""")

LIST_SILENCE_CHANGES = Statement(f"""{_SELECT_LAST_SEEN}
    and d.number > :after
    and d.number <= :last
    and case when {_SEEN_AT} <= :before
        then s.raised_at is null or not s.is_notified
        else s.raised_at is not null
    end
""")

_SELECT_DRIFT = f"""
select d.number, d.id, d.name, d.type, d.tags, d.drifted_at, {_STATE_COLUMNS}
from device d"""
_STATE_OF_DEVICE = """
left join notification_state s
    on s.subject = d.number
    and s.notification_number = :notification"""

LIST_DRIFT = Statement(f"""{_SELECT_DRIFT}{_STATE_OF_DEVICE}
where d.group_id = :home
    and d.number {{in:numbers}}
order by d.number
""")

LIST_DRIFTING = Statement(f"""{_SELECT_DRIFT}{_STATE_OF_DEVICE}
where d.group_id = :home
    and d.drifted_at is not null
    and d.number > :after
order by d.number
limit :most
""")

LIST_DRIFT_ENDS = Statement(f"""{_SELECT_DRIFT}
join notification_state s on s.subject = d.number
where s.notification_number = :notification
    and s.raised_at is not null
    and d.group_id = :home
    and d.drifted_at is null
limit :most
""")

_SELECT_HEALTH = f"""
select
    c.number, c.id, connector.name, c.type, c.failures, c.error_message, c.is_enabled,
    c.storing_s, c.given_up, c.given_up_at, c.given_up_error,
    {_STATE_COLUMNS}
from channel c
join connector on connector.channel_number = c.number
left join notification_state s
    on s.subject = -c.number
    and s.notification_number = :notification
where c.group_id = :home
    and (c.is_enabled or c.updated_by = :system)
    and c.deleted_at is null"""

LIST_CONNECTOR_HEALTH = Statement(f"""{_SELECT_HEALTH}
order by c.number
""")

LIST_SOME_CONNECTOR_HEALTH = Statement(f"""{_SELECT_HEALTH}
    and c.number {{in:numbers}}
order by c.number
""")


# --- for triggers ---


def sum_params(tx: Tx, group_id: str) -> int:
    """How large the parameters of all notifications of a group are, disabled ones as well."""
    return int(tx.fetch(SUM_PARAMS, home=schema.group_number(group_id))[0][0])


def list_enabled(tx: Tx, group_ids: Collection[str]) -> list[Notification]:
    """The enabled notifications of some groups."""
    homes = [schema.group_number(each) for each in group_ids]
    return NOTIFICATIONS.fetch(tx, LIST_ENABLED, homes=homes)


def find_number(tx: Tx, group_id: str, notification_id: str) -> int | None:
    """The number of a notification of a group."""
    home = schema.group_number(group_id)
    found = NOTIFICATIONS.fetch(tx, FIND_ID, id=notification_id, home=home)
    return found[0].number if found else None


def list_groups_with_reasons(tx: Tx, reasons: Collection[str]) -> list[str]:
    """The groups that have an enabled notification with one of these reasons."""
    rows = tx.fetch(LIST_GROUPS_WITH_REASONS, reasons=reasons)
    return [str(row[0]) for row in rows]


def set_fired(tx: Tx, numbers: Collection[int]) -> None:
    """Set the time of firing; in order, so that processes do not deadlock."""
    for number in sorted(numbers):
        tx.run(SET_FIRED, now=tx.now, number=number)


def set_sent(tx: Tx, number: int) -> None:
    """Set the time of the last successful delivery."""
    tx.run(SET_SENT, now=tx.now, number=number)


# --- state ---

Key = tuple[int, int]  # the number of a notification, and its subject


class NotificationState(msgspec.Struct, frozen=True):
    """The state of a notification for one subject."""

    raised_at: Moment | None = None  # since when it holds; None while it does not
    is_notified: bool = False  # whether a notification of that was sent
    as_of: Moment | None = None  # of the newest input; None if there was none
    fired_at: Moment | None = None
    held_back: int = 0  # since then


def connector_subject(number: int) -> int:
    """A connector as a subject; a device is one by its number."""
    return -number


def lock_states(tx: Tx, keys: Collection[Key]) -> dict[Key, NotificationState]:
    """Lock the states of these and return them; SQLite has one writer, which needs no lock."""
    if tx.is_postgres:
        # What is not there cannot be locked.
        blank = [(*key, False, 0) for key in sorted(keys)]
        columns = ("notification_number", "subject", "is_notified", "held_back")
        insert_many(tx, _state, columns, blank, IGNORE)
    values = {
        "numbers": {key[0] for key in keys},
        "subjects": {key[1] for key in keys},
    }
    found = {(row[0], row[1]): _state_of(row) for row in tx.fetch(LOCK_STATES, **values)}
    return {key: found.get(key, NotificationState()) for key in keys}


def save_states(tx: Tx, changed: Mapping[Key, NotificationState]) -> None:
    """Write states that were locked."""
    insert_many(
        tx,
        _state,
        _COLUMNS,
        [
            (*key, state.raised_at, state.is_notified, state.as_of, state.fired_at, state.held_back)
            for key, state in sorted(changed.items(), key=lambda item: item[0])
        ],
        _UPDATE_STATE,
        is_repeatable=True,
    )


def end_state(tx: Tx, number: int, subject: int) -> None:
    """What a notification is about does not hold any more; what was observed before is known."""
    tx.run(END_STATE, number=number, subject=subject, now=tx.now)


def delete_states(tx: Tx, number: int, most: int | None = None) -> int:
    """Delete the states of a notification, all or at most so many; how many."""
    limit = ALL if most is None else most
    return len(tx.fetch(DELETE_STATES, number=number, most=limit))


def delete_some_states(tx: Tx, number: int, subjects: Collection[int]) -> None:
    """Delete what a notification holds of some subjects."""
    tx.run(DELETE_SOME, number=number, subjects=subjects)


def delete_subject_states(tx: Tx, subjects: Sequence[int]) -> None:
    """Delete what all notifications hold of these subjects."""
    tx.run(DELETE_OF_SUBJECTS, subjects=subjects)


def _state_of(row: Sequence[Any]) -> NotificationState:
    """The state of a row; a blank one where there was none to join."""
    return NotificationState(row[2], bool(row[3]), row[4], row[5], row[6] or 0)


# --- for monitoring ---


class LastSeen(msgspec.Struct, frozen=True):
    """When a device was last seen, and the state of a notification for it."""

    number: int
    id: str
    name: str
    type: str
    tags: str  # JSON
    at: Moment  # its creation, if it was never seen
    state: NotificationState


def list_last_seen(tx: Tx, number: int, group_id: str, only: Collection[int]) -> list[LastSeen]:
    """Devices of a group by their numbers."""
    values = {
        "notification": number,
        "home": schema.group_number(group_id),
        "numbers": only,
    }
    return [_last_seen(row) for row in tx.fetch(LIST_LAST_SEEN, **values)]


def list_silence_changes(
    tx: Tx, number: int, group_id: str, before: Moment, after: int, most: int
) -> tuple[list[LastSeen], int | None, int]:
    """Of the next devices of a group those whose silence may have changed.

    They were not seen since `before`, or were seen again. Also where to continue, and how many
    devices were checked.
    """
    home = schema.group_number(group_id)
    last, checked = count_next(tx, home, after, most)
    if not checked:
        return [], None, 0
    values = {
        "notification": number,
        "home": home,
        "after": after,
        "last": last,
        "before": before,
    }
    found = [_last_seen(row) for row in tx.fetch(LIST_SILENCE_CHANGES, **values)]
    return found, last if checked == most else None, checked


class DriftState(msgspec.Struct, frozen=True):
    """Since when a device drifts, and the state of a notification for it."""

    number: int
    id: str
    name: str
    type: str
    tags: str  # JSON
    drifted_at: Moment | None
    state: NotificationState


def list_drift(tx: Tx, number: int, group_id: str, only: Collection[int]) -> list[DriftState]:
    """Devices of a group by their numbers."""
    values = {
        "notification": number,
        "home": schema.group_number(group_id),
        "numbers": only,
    }
    return [_drift_state(row) for row in tx.fetch(LIST_DRIFT, **values)]


def list_drift_changes(
    tx: Tx, number: int, group_id: str, after: int, most: int
) -> tuple[list[DriftState], int | None, int]:
    """The next devices of a group that drift, and at first those that do not any more.

    Also where to continue, and how many devices were checked.
    """
    values = {
        "notification": number,
        "home": schema.group_number(group_id),
        "after": after,
        "most": most,
    }
    rows = tx.fetch(LIST_DRIFTING, **values)
    ended = tx.fetch(LIST_DRIFT_ENDS, **values) if after == 0 else []
    found = [_drift_state(row) for row in (*ended, *rows)]
    return found, rows[-1][0] if len(rows) == most else None, len(found)


def _drift_state(row: Sequence[Any]) -> DriftState:
    number, device_id, name, type_name, tags, drifted_at, *state = row
    return DriftState(number, device_id, name, type_name, tags, drifted_at, _state_of(state))


def _last_seen(row: Sequence[Any]) -> LastSeen:
    number, device_id, name, type_name, tags, at, *state = row
    return LastSeen(number, device_id, name, type_name, tags, at, _state_of(state))


class MonitoredConnector(msgspec.Struct, frozen=True):
    """The health of a connector, and the state of a notification for it."""

    number: int
    id: str
    name: str | None
    type: str
    failures: int
    error: str | None
    is_enabled: bool
    storing_s: int
    given_up: int  # messages, until somebody takes care of them
    given_up_at: Moment | None  # the last of them
    given_up_error: str | None  # why the first of them
    state: NotificationState


def list_connector_health(
    tx: Tx, number: int, group_id: str, only: Collection[int] | None = None
) -> list[MonitoredConnector]:
    """The connectors of a group, or of them only those with these numbers.

    Without those that somebody has disabled, but with those that the service has disabled because
    their destination is gone.
    """
    values: dict[str, Any] = {
        "notification": number,
        "home": schema.group_number(group_id),
        "system": SYSTEM.id,
    }
    if only is None:
        rows = tx.fetch(LIST_CONNECTOR_HEALTH, **values)
    else:
        values["numbers"] = only
        rows = tx.fetch(LIST_SOME_CONNECTOR_HEALTH, **values)
    return [_connector_health(row) for row in rows]


def _connector_health(row: Sequence[Any]) -> MonitoredConnector:
    *own, storing_s, given_up, given_up_at, given_up_error = row[:11]
    number, connector_id, name, type_name, failures, error, is_enabled = own
    return MonitoredConnector(
        number,
        connector_id,
        name,
        type_name,
        failures,
        error,
        bool(is_enabled),
        storing_s,
        given_up,
        given_up_at,
        given_up_error,
        _state_of(row[11:]),
    )

"""Notifications, and their state for each device or connector."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import SYSTEM, Notification, Page, PageRequest, Scope
from longwire.store import connectors as store_connectors
from longwire.store import schema
from longwire.store.bulk import insert_many
from longwire.store.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.paging import page
from longwire.store.scopes import within

PURPOSE = "notification"

_table = schema.notification
_channel = schema.connector
_state = schema.notification_state
_SELECT = (
    sa.select(_channel, _table.c.reason, _table.c.schedule, _table.c.fired_at, _table.c.sent_at)
    .join(_channel, _channel.c.number == _table.c.number)
    .where(_channel.c.deleted_at.is_(None))
)


# --- for users ---


def get(tx: Tx, scope: Scope, notification_id: str) -> Notification | None:
    row = tx.row(
        _SELECT.where(_channel.c.id == notification_id, within(_channel.c.group_id, scope))
    )
    return _notification(row) if row else None


def list_page(
    tx: Tx, scope: Scope, request: PageRequest, group_id: str | None = None
) -> Page[Notification]:
    """All that a scope reaches, or those of one group."""
    statement = _SELECT.where(within(_channel.c.group_id, scope))
    if group_id is not None:
        statement = statement.where(_channel.c.group_id == group_id)
    return page(tx, statement, [_channel.c.number], request, _notification)


def count(tx: Tx, group_id: str) -> int:
    """How many a group has, disabled ones as well."""
    group = schema.group
    row = tx.row(sa.select(group.c.notification_count).where(group.c.id == group_id))
    return row.notification_count if row else 0


def insert(tx: Tx, notification: Notification) -> Notification:
    """Insert a notification; returns it with its number."""
    channel = store_connectors.insert(tx, notification.channel)
    tx.execute(
        sa.insert(_table),
        {
            "number": channel.number,
            "reason": notification.reason,
            "schedule": notification.schedule,
        },
    )
    _count(tx, channel.group_id, 1)
    return Notification(channel, notification.reason, notification.schedule)


def save(tx: Tx, notification: Notification) -> None:
    """Update a notification, under a new version."""
    stored = tx.rows(sa.select(_table).where(_table.c.number == notification.number))[0]
    if (stored.reason, stored.schedule) != (notification.reason, notification.schedule):
        bump_config_epoch(tx, notification.group_id)
    store_connectors.save(tx, notification.channel)
    tx.execute(
        sa.update(_table)
        .where(_table.c.number == notification.number)
        .values(reason=notification.reason, schedule=notification.schedule)
    )


def mark_deleted(tx: Tx, notification: Notification) -> None:
    """Hide it; its deliveries and state are deleted in small steps."""
    store_connectors.mark_deleted(tx, notification.channel)
    _count(tx, notification.group_id, -1)


def _count(tx: Tx, group_id: str, difference: int) -> None:
    group = schema.group
    tx.execute(
        sa.update(group)
        .where(group.c.id == group_id)
        .values(notification_count=group.c.notification_count + difference)
    )


# --- for triggers ---


def list_enabled(tx: Tx, group_id: str) -> list[Notification]:
    """The enabled notifications of a group."""
    statement = _SELECT.where(_channel.c.group_id == group_id, _channel.c.is_enabled)
    return [_notification(row) for row in tx.rows(statement.order_by(_channel.c.number))]


def list_groups_with_reasons(tx: Tx, reasons: Collection[str]) -> list[str]:
    """The groups that have an enabled notification with one of these reasons."""
    among = "= any(:reasons)" if tx.is_postgres else "in (select value from json_each(:reasons))"
    rows = tx.fetch_raw(
        "select distinct c.group_id from notification n join connector c on c.number = n.number"
        f" where n.reason {among} and c.is_enabled and c.deleted_at is null",
        {"reasons": list(reasons) if tx.is_postgres else json.dumps(list(reasons))},
    )
    return [str(row[0]) for row in rows]


def set_fired(tx: Tx, numbers: Collection[int]) -> None:
    """Set the time of firing; in order, so that processes do not deadlock."""
    for number in sorted(numbers):
        _set_now(tx, "fired_at", number)


def set_sent(tx: Tx, number: int) -> None:
    """Set the time of the last successful delivery."""
    _set_now(tx, "sent_at", number)


def _set_now(tx: Tx, column: str, number: int) -> None:
    tx.driver.execute(
        tx.to_driver_sql(
            f"update notification set {column} = :now where number = :number"
            f" and ({column} is null or {column} < :now)"
        ),
        {"now": tx.now, "number": number},
    )


# --- state ---

Key = tuple[int, int]  # the number of a notification, and its subject


class NotificationState(msgspec.Struct, frozen=True):
    """The state of a notification for one subject."""

    raised_at: Moment | None = None  # since when it holds; None while it does not
    is_notified: bool = False  # whether a notification of that was sent
    as_of: Moment | None = None  # how new the newest news were; None if there were none
    fired_at: Moment | None = None
    held_back: int = 0  # since then


_COLUMNS = (
    "notification_number",
    "subject",
    "raised_at",
    "is_notified",
    "as_of",
    "fired_at",
    "held_back",
)
_SELECT_STATE = f"select {', '.join(_COLUMNS)} from notification_state"
_RAISED = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[2:])


def connector_subject(number: int) -> int:
    """A connector as a subject; a device is one by its number."""
    return -number


def lock_states(tx: Tx, keys: Collection[Key]) -> dict[Key, NotificationState]:
    """Lock the states of these and return them; SQLite has one writer, which needs no lock."""
    if tx.is_postgres:
        # What is not there cannot be locked.
        blank = [(*key, False, 0) for key in sorted(keys)]
        columns = ("notification_number", "subject", "is_notified", "held_back")
        insert_many(tx, _state, columns, blank, "on conflict do nothing")
    lock = " order by notification_number, subject for update" if tx.is_postgres else ""
    rows = tx.fetch_raw(
        f"{_SELECT_STATE} where notification_number {_among(tx, 'numbers')}"
        f" and subject {_among(tx, 'subjects')}{lock}",
        {
            "numbers": _list(tx, {key[0] for key in keys}),
            "subjects": _list(tx, {key[1] for key in keys}),
        },
    )
    found = {(row[0], row[1]): _state_of(row) for row in rows}
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
        f"on conflict (notification_number, subject) do update set {_RAISED}",
        is_repeatable=True,
    )


def delete_states(tx: Tx, number: int, most: int | None = None) -> int:
    """Delete the states of a notification, all or at most so many; how many."""
    limit = "" if most is None else " limit :most"
    rows = tx.fetch_raw(
        "delete from notification_state where notification_number = :number and subject in"
        " (select subject from notification_state where notification_number = :number"
        f"{limit}) returning subject",
        {"number": number, "most": most},
    )
    return len(rows)


def delete_subject_states(tx: Tx, subjects: Sequence[int]) -> None:
    """Delete what all notifications hold of these subjects."""
    tx.execute(sa.delete(_state).where(_state.c.subject.in_(subjects)))


def delete(tx: Tx, number: int) -> None:
    """Delete the row of a deleted notification, and states about a deleted connector."""
    tx.execute(sa.delete(_table).where(_table.c.number == number))
    delete_subject_states(tx, [connector_subject(number)])


def _among(tx: Tx, name: str) -> str:
    return f"= any(:{name})" if tx.is_postgres else f"in (select value from json_each(:{name}))"


def _list(tx: Tx, numbers: Collection[int]) -> Any:
    return sorted(numbers) if tx.is_postgres else json.dumps(sorted(numbers))


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


_SEEN_AT = "case when t.seen_at > d.created_at then t.seen_at else d.created_at end"
_LAST_SEEN = (
    f"select d.number, d.id, d.name, d.type, d.tags, {_SEEN_AT},"
    f" {', '.join(f's.{name}' for name in _COLUMNS)} from device d"
    " left join device_state t on t.device_number = d.number"
    " left join notification_state s on s.subject = d.number"
    " and s.notification_number = :notification where d.group_id = :home"
)


def list_last_seen(tx: Tx, number: int, group_id: str, only: Collection[int]) -> list[LastSeen]:
    """Devices of a group by their numbers."""
    values = {"notification": number, "home": schema.group_number(group_id)}
    rows = tx.fetch_raw(
        f"{_LAST_SEEN} and d.number {_among(tx, 'numbers')} order by d.number",
        {**values, "numbers": _list(tx, only)},
    )
    return [LastSeen(*row[:6], _state_of(row[6:])) for row in rows]  # type: ignore[call-arg]


def list_silence_changes(
    tx: Tx, number: int, group_id: str, before: Moment, after: int, most: int
) -> tuple[list[LastSeen], int | None, int]:
    """Of the next devices of a group those whose silence may have changed.

    They were not seen since `before`, or were seen again. Also where to continue, and how many
    devices were checked.
    """
    values = {"notification": number, "home": schema.group_number(group_id)}
    last, checked = tx.fetch_raw(
        "select max(number), count(*) from (select number from device where group_id = :home"
        " and number > :after order by number limit :most) piece",
        {**values, "after": after, "most": most},
    )[0]
    if last is None:
        return [], None, 0
    rows = tx.fetch_raw(
        f"{_LAST_SEEN} and d.number > :after and d.number <= :last"
        f" and case when {_SEEN_AT} <= :before"
        " then s.raised_at is null or not s.is_notified else s.raised_at is not null end",
        {**values, "after": after, "last": last, "before": before},
    )
    found = [LastSeen(*row[:6], _state_of(row[6:])) for row in rows]  # type: ignore[call-arg]
    return found, last if checked == most else None, checked


class ConnectorHealth(msgspec.Struct, frozen=True):
    """The health of a connector, and the state of a notification for it."""

    number: int
    id: str
    name: str | None
    type: str
    failures: int
    error: str | None
    is_enabled: bool
    state: NotificationState


def list_connector_health(
    tx: Tx, number: int, group_id: str, only: Collection[int] | None = None
) -> list[ConnectorHealth]:
    """The connectors of a group, or of them only those with these numbers.

    Without those that somebody has disabled, but with those that the service has disabled because
    their destination is gone.
    """
    which = "" if only is None else f" and c.number {_among(tx, 'numbers')}"
    states = ", ".join(f"s.{name}" for name in _COLUMNS)
    rows = tx.fetch_raw(
        "select c.number, c.id, c.name, c.type, c.failures, c.error_message, c.is_enabled,"
        f" {states} from connector c"
        " left join notification_state s on s.subject = -c.number"
        " and s.notification_number = :notification"
        " where c.group_id = :home and c.purpose = 'connector'"
        " and (c.is_enabled or c.updated_by = :system)"
        f" and c.deleted_at is null{which} order by c.number",
        {
            "notification": number,
            "home": schema.group_number(group_id),
            "numbers": _list(tx, only or ()),
            "system": SYSTEM.id,
        },
    )
    return [
        ConnectorHealth(*row[:6], bool(row[6]), _state_of(row[7:]))  # type: ignore[call-arg]
        for row in rows
    ]


# --- rows to values ---


def _notification(row: sa.Row[Any]) -> Notification:
    return Notification(
        store_connectors.to_connector(row), row.reason, row.schedule, row.fired_at, row.sent_at
    )

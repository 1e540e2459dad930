"""The state of conditions on values: a row where more is known than the value in force."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.statement import Statement

# Of a device and a notification.
ConditionKey = tuple[int, int]

_FIELDS = (
    "group_id",
    "met_since",
    "met_messages",
    "clear_since",
    "raised_at",
    "value",
    "worst",
    "has_no_data",
    "is_stale",
    "due_at",
)
_COLUMNS = ("device_number", "notification_number", *_FIELDS)
_UPSERT = OnConflict(", ".join(f"{name} = excluded.{name}" for name in _FIELDS))


class StoredCondition(msgspec.Struct, frozen=True, gc=False):
    """A row: the state of a condition, and when it has to be looked at."""

    group_number: int
    met_since: Moment | None
    met_messages: int
    clear_since: Moment | None
    raised_at: Moment | None
    value: float | None
    worst: float | None
    has_no_data: bool
    is_stale: bool
    due_at: Moment | None


class DueCondition(NamedTuple):
    """A condition that is due, and the id of its device."""

    device_number: int
    notification_number: int
    device_id: str


_SELECT = f"""
select {", ".join(_COLUMNS)}
from condition_state"""

LIST_OF_DEVICES = Statement(f"""{_SELECT}
where device_number {{in:devices}}
""")

LIST_DUE = Statement(
    """
select s.device_number, s.notification_number, d.id
from condition_state s
join device d on d.number = s.device_number
where s.group_id = :home
    and s.due_at <= :now
order by s.due_at
limit :most
""",
    into=DueCondition,
)

LIST_GROUPS_DUE = Statement(
    """
select distinct group_id
from (
    select group_id
    from condition_state
    where due_at <= :now
        and group_id > :after
    union all
    select group_id
    from alarm
    where due_at <= :now
        and group_id > :after
    union all
    select group_id
    from contact_window
    where due_at <= :now
        and group_id > :after
) due
order by group_id
limit :most
""",
    into=int,
)

DELETE_OF_DEVICES = Statement("""
delete from condition_state
where device_number {in:devices}
""")

DELETE_SOME = Statement("""
delete from condition_state
where notification_number = :notification
    and device_number {in:devices}
""")

DELETE_OF_NOTIFICATION = Statement("""
delete from condition_state
where notification_number = :notification
""")

# What was met or clear is not known for the time in which nobody looked.
RESTART = Statement("""
update condition_state
set met_since = null,
    met_messages = 0,
    clear_since = null,
    due_at = null
where notification_number = :notification
""")

CLEAR_DUE = Statement("""
update condition_state
set due_at = null
where device_number = :device
    and notification_number = :notification
""")

LIST_SEEN = Statement("""
select device_number, seen_at
from device_state
where device_number {in:devices}
    and seen_at > :never
""")

GET_CONFIGURATIONS = Statement("""
select number, configuration
from device
where number {in:devices}
""")


def list_of_devices(tx: Tx, devices: Collection[int]) -> dict[ConditionKey, StoredCondition]:
    """The states of all conditions for some devices, which are locked."""
    rows = tx.fetch(LIST_OF_DEVICES, devices=devices)
    return {(row[0], row[1]): _to_stored(row) for row in rows}


def save(tx: Tx, states: Mapping[ConditionKey, StoredCondition | None]) -> None:
    """Store states; None for those of which nothing is known."""
    rows = [
        (*key, *(getattr(state, name) for name in StoredCondition.__struct_fields__))
        for key, state in sorted(states.items(), key=lambda item: item[0])
        if state is not None
    ]
    insert_many(tx, schema.condition_state, _COLUMNS, rows, _UPSERT, is_repeatable=True)
    ended: defaultdict[int, list[int]] = defaultdict(list)
    for (device, notification), state in sorted(states.items(), key=lambda item: item[0]):
        if state is None:
            ended[notification].append(device)
    for notification, devices in sorted(ended.items()):
        delete_some(tx, notification, devices)


def list_due(tx: Tx, group_number: int, most: int) -> list[DueCondition]:
    return tx.fetch(LIST_DUE, home=group_number, now=tx.now, most=most)


def list_groups_due(tx: Tx, after: int, most: int) -> list[int]:
    """Groups in which a condition, an alarm or a grouped message is due."""
    return tx.fetch(LIST_GROUPS_DUE, now=tx.now, after=after, most=most)


def clear_due(tx: Tx, key: ConditionKey) -> None:
    tx.run(CLEAR_DUE, device=key[0], notification=key[1])


def restart(tx: Tx, notification: int) -> None:
    """Forget what was pending; open alarms stay open."""
    tx.run(RESTART, notification=notification)


def delete_of_notification(tx: Tx, notification: int) -> None:
    tx.run(DELETE_OF_NOTIFICATION, notification=notification)


def delete_some(tx: Tx, notification: int, devices: Collection[int]) -> None:
    tx.run(DELETE_SOME, notification=notification, devices=devices)


def delete_of_devices(tx: Tx, devices: Collection[int]) -> None:
    tx.run(DELETE_OF_DEVICES, devices=devices)


def list_seen(tx: Tx, devices: Collection[int]) -> dict[int, Moment]:
    """When devices were last seen, as far as they ever were."""
    return dict(tx.fetch(LIST_SEEN, devices=devices, never=schema.NEVER_SEEN))


def list_configurations(tx: Tx, devices: Collection[int]) -> dict[int, str]:
    return dict(tx.fetch(GET_CONFIGURATIONS, devices=devices))


def _to_stored(row: Sequence[Any]) -> StoredCondition:
    # A device may have fifty, which are read for each of its records.
    (_, _, group, met_since, met_messages, clear_since, raised_at, value, worst) = row[:9]
    has_no_data, is_stale, due_at = row[9:]
    return StoredCondition(
        int(group),
        met_since,
        met_messages,
        clear_since,
        raised_at,
        value,
        worst,
        bool(has_no_data),
        bool(is_stale),
        due_at,
    )

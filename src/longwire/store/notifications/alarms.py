"""Alarms: what is or was wrong, a row each."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from longwire.changes import AlarmChangeType
from longwire.clock import Moment
from longwire.model import Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, OnConflict, insert_many
from longwire.store.statement import Sql, Statement, build_limited_delete


# A storm changes hundreds in a commit, each several times: a copy of a dataclass takes as long as
# twenty of these.
class Alarm(msgspec.Struct, frozen=True, gc=False):
    """What is or was wrong with a device or a connector, as a notification says it."""

    id: str
    group_id: str  # of the device or the connector
    notification_number: int
    notification_id: str
    reason: str
    subject: int  # the number of the device, or that of the connector with a minus
    device_id: str | None
    connector_id: str | None
    severity: str
    raised_at: Moment
    value: float | None = None  # that was in force then
    worst: float | None = None  # since then
    acknowledged_at: Moment | None = None
    acknowledged_by: str | None = None
    comment: str | None = None
    resolved_at: Moment | None = None
    resolution: str | None = None  # why, if no value or observation has resolved it
    notified_at: Moment | None = None  # when messages were last queued
    first_notified_at: Moment | None = None
    silence_id: str | None = None  # the last one that has held messages back
    changed_at: Moment | None = None  # when its state changed
    due_at: Moment | None = None  # when something is to be sent


class AlarmedDevice(NamedTuple):
    """A device with an open alarm."""

    number: int
    id: str
    type: str
    group_id: str


def get_state(alarm: Alarm) -> str:
    if alarm.resolved_at is not None:
        return "resolved"
    return "raised" if alarm.acknowledged_at is None else "acknowledged"


@dataclass(frozen=True, slots=True)
class AlarmNote:
    """An alarm that was raised, acknowledged or resolved in this transaction."""

    type: AlarmChangeType
    alarm: Alarm  # as it is now
    cause: int | None = None  # the arrival of the record


@dataclass(frozen=True, slots=True)
class ListedAlarm:
    """An alarm with the names of what it is about, as far as they are there."""

    alarm: Alarm
    notification_name: str | None
    is_notification_enabled: bool
    device_name: str | None
    connector_name: str | None
    # The limit on a measurement, as its notification has it now.
    measurement: str | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, slots=True)
class AlarmFilter:
    """Which alarms to list; an empty text is no condition."""

    state: str = "open"  # or resolved, or all
    device_id: str = ""
    severity: str = ""
    reason: str = ""
    silence_id: str = ""
    begin: Moment = -(2**62)
    end: Moment = 2**62


# Of a notification and a device or connector, as in the states of notifications.
AlarmKey = tuple[int, int]

_COLUMNS = Alarm.__struct_fields__
_CHANGING = (
    *("severity", "worst", "resolved_at", "resolution", "notified_at", "first_notified_at"),
    *("silence_id", "changed_at", "due_at"),
)
_UPDATE = OnConflict(", ".join(f"{name} = excluded.{name}" for name in _CHANGING))
_RETURNING = f"""
returning {", ".join(_COLUMNS)}
"""
_SELECT = f"""
select {", ".join(f"a.{name}" for name in _COLUMNS)}
from alarm a"""

# While an alarm is open, its state knows the worst value.
_WITH_WORST = ", ".join(
    "case when a.resolved_at is null and s.raised_at is not null then s.worst else a.worst end"
    if name == "worst"
    else f"a.{name}"
    for name in _COLUMNS
)

LOCK_OPEN = Statement(f"""{_SELECT}
where a.notification_number {{in:notifications}}
    and a.subject {{in:subjects}}
    and a.resolved_at is null
{{postgres:order by a.id}}
{{lock:a}}
""")

LIST_STORED = Statement(
    """
select id
from alarm
where id {in:ids}
""",
    into=str,
)

LIST_DUE = Statement(f"""{_SELECT}
where a.group_id = :home
    and a.due_at <= :now
order by a.due_at
limit :most
""")

LOCK_DUE = Statement(f"""
select {_WITH_WORST}
from alarm a
left join condition_state s
    on s.notification_number = a.notification_number
    and s.device_number = a.subject
where a.id {{in:ids}}
    and a.due_at <= :now
{{postgres:order by a.id}}
{{lock:a}}
""")

_SELECT_LISTED = f"""
select {_WITH_WORST}, n.name, c.is_enabled, d.name, k.name
from alarm a
left join condition_state s
    on s.notification_number = a.notification_number
    and s.device_number = a.subject
left join channel c on c.number = a.notification_number
left join notification n on n.channel_number = a.notification_number
left join device d
    on d.number = a.subject
    and d.group_id = a.group_id
left join connector k on k.channel_number = -a.subject"""

LIST_PAGE = Statement(f"""{_SELECT_LISTED}
where a.group_id {{in:homes}}
    and (:state = 'all' or (a.resolved_at is null) = (:state = 'open'))
    and (:device = '' or a.device_id = :device)
    and (:severity = '' or a.severity = :severity)
    and (:reason = '' or a.reason = :reason)
    and (:silence = '' or a.silence_id = :silence)
    and a.raised_at >= :begin
    and a.raised_at < :end
    and (a.raised_at, a.id) < (:after_at, :after_id)
order by a.raised_at desc, a.id desc
limit :most
""")

GET_LISTED = Statement(f"""{_SELECT_LISTED}
where a.id = :id
    and a.group_id {{in:homes}}
""")

ACKNOWLEDGE = Statement(f"""
update alarm
set acknowledged_at = :now,
    changed_at = :now,
    acknowledged_by = :by,
    comment = :comment,
    due_at = null
where id = :id
    and group_id {{in:homes}}
    and resolved_at is null
    and acknowledged_at is null{_RETURNING}""")

COUNT_OPEN = Statement("""
select severity, count(*), sum(case when acknowledged_at is null then 0 else 1 end)
from alarm
where group_id {in:homes}
    and resolved_at is null
group by severity
""")

COUNT_ALL_OPEN = Statement("""
select severity, count(*)
from alarm
where resolved_at is null
group by severity
""")

DELETE_OLD = build_limited_delete("alarm", "id", where="resolved_at < :before", order="resolved_at")

LIST_CHANGED = Statement(f"""{_SELECT}
where a.group_id {{in:homes}}
    and a.changed_at >= :since
    and (a.changed_at, a.id) > (:since, :after)
order by a.changed_at, a.id
limit :most
""")

LIST_LOST = Statement(
    """
select a.id
from alarm a
left join channel c
    on c.number = a.notification_number
    and c.deleted_at is null
left join device d
    on d.number = a.subject
    and d.group_id = a.group_id
left join channel k
    on k.number = -a.subject
    and k.deleted_at is null
where a.resolved_at is null
    and (
        c.number is null
        or d.number is null and k.number is null
    )
limit :most
""",
    into=str,
)

CLOSE = Statement(f"""
update alarm
set resolved_at = :now,
    changed_at = :now,
    resolution = :resolution,
    due_at = null
where id {{in:ids}}
    and resolved_at is null{_RETURNING}""")

LIST_LAST_NOTIFIED = Statement("""
select notification_number, subject, max(notified_at)
from alarm
where notification_number {in:notifications}
    and subject {in:subjects}
    and notified_at is not null
group by notification_number, subject
""")

# Of one that is resolved, a silence may still hold the message about its end.
_CLOSE_WITH_HELD = """
update alarm
set resolved_at = coalesce(resolved_at, :now),
    changed_at = case when resolved_at is null then :now else changed_at end,
    resolution = case when resolved_at is null then :resolution else resolution end,
    due_at = null
where subject {in:subjects}
    and (resolved_at is null or due_at is not null)"""
CLOSE_OF_SUBJECTS = Statement(f"{_CLOSE_WITH_HELD}{_RETURNING}")

LIST_OPEN_OF_NOTIFICATION = Statement(
    """
select d.number, d.id, d.type, cast(d.group_id as text)
from alarm a
join device d on d.number = a.subject
where a.notification_number = :notification
    and a.resolved_at is null
""",
    into=AlarmedDevice,
)

CLOSE_SOME = Statement(f"""{_CLOSE_WITH_HELD}
    and notification_number = :notification{_RETURNING}""")

# After a group was moved: notifications of the groups that were above it do not reach it any more.
_OUT_OF_REACH = """
    and group_id in (
        select group_id
        from group_path
        where ancestor_id = :moved
    )
    and not exists (
        select 1
        from channel c
        join group_path p on p.ancestor_id = c.group_id
        where c.number = {table}.notification_number
            and p.group_id = {table}.group_id
    )
"""
CLOSE_OUT_OF_REACH = Statement(
    """
update alarm
set resolved_at = :now,
    changed_at = :now,
    resolution = :resolution,
    due_at = null
where resolved_at is null{out_of_reach}{returning}""",
    returning=_RETURNING,
    out_of_reach=Sql(_OUT_OF_REACH, table="alarm"),
)
DELETE_OUT_OF_REACH = Statement(
    """
delete from condition_state
where true{out_of_reach}""",
    out_of_reach=Sql(_OUT_OF_REACH, table="condition_state"),
)

CLOSE_OF_NOTIFICATION = Statement(f"""
update alarm
set resolved_at = :now,
    changed_at = :now,
    resolution = :resolution,
    due_at = null
where notification_number = :notification
    and resolved_at is null{_RETURNING}""")


def lock_open(tx: Tx, keys: Collection[AlarmKey]) -> dict[AlarmKey, Alarm]:
    """The open alarms of these; nobody else changes them until the commit."""
    if not keys:
        return {}
    values = {
        "notifications": {key[0] for key in keys},
        "subjects": {key[1] for key in keys},
    }
    found = map(_to_alarm, tx.fetch(LOCK_OPEN, **values))
    by_key = {(each.notification_number, each.subject): each for each in found}
    return {key: each for key, each in by_key.items() if key in keys}


def save(tx: Tx, changed: Iterable[Alarm], new: Iterable[Alarm]) -> None:
    """Store what alarms have become, and new ones; of which one may be open."""
    insert_many(tx, schema.alarm, _COLUMNS, _rows(changed), _UPDATE, is_repeatable=True)
    insert_many(tx, schema.alarm, _COLUMNS, _rows(new), IGNORE, is_repeatable=True)


def list_stored(tx: Tx, ids: Collection[str]) -> set[str]:
    """Those of some alarms that there are."""
    return set(tx.fetch(LIST_STORED, ids=ids))


def list_last_notified(tx: Tx, keys: Collection[AlarmKey]) -> dict[AlarmKey, Moment]:
    """When messages of the alarms of each were last queued, if they ever were."""
    if not keys:
        return {}
    values = {
        "notifications": {key[0] for key in keys},
        "subjects": {key[1] for key in keys},
    }
    return {(number, subject): at for number, subject, at in tx.fetch(LIST_LAST_NOTIFIED, **values)}


def close_of_subjects(tx: Tx, subjects: Collection[int], resolution: str) -> None:
    """Resolve the open alarms of devices or connectors, and tell nobody of these or of others."""
    _note_closed(tx, CLOSE_OF_SUBJECTS, resolution, subjects=subjects)


def close_of_notification(tx: Tx, number: int, resolution: str) -> None:
    """The same for those of a notification."""
    _note_closed(tx, CLOSE_OF_NOTIFICATION, resolution, notification=number)


def list_alarmed_devices(tx: Tx, number: int) -> list[AlarmedDevice]:
    """The devices with an open alarm of a notification."""
    return tx.fetch(LIST_OPEN_OF_NOTIFICATION, notification=number)


def close_some(tx: Tx, number: int, subjects: Collection[int], resolution: str) -> None:
    """Resolve the open alarms that a notification has of some subjects, the same way."""
    _note_closed(tx, CLOSE_SOME, resolution, notification=number, subjects=subjects)


def close_out_of_reach(tx: Tx, moved: int) -> None:
    """After a group was moved, close what notifications of other groups say about its devices."""
    _note_closed(tx, CLOSE_OUT_OF_REACH, "the group was moved", moved=moved)
    tx.run(DELETE_OUT_OF_REACH, moved=moved)


def _rows(alarms: Iterable[Alarm]) -> list[tuple[Any, ...]]:
    return [
        (each.id, schema.group_number(each.group_id), *astuple(each)[2:])
        for each in sorted(alarms, key=lambda each: each.id)
    ]


def _to_alarm(row: Sequence[Any]) -> Alarm:
    return Alarm(row[0], str(row[1]), *row[2:])


def list_due(tx: Tx, group_number: int, most: int) -> list[Alarm]:
    """Alarms of which something is to be sent."""
    rows = tx.fetch(LIST_DUE, home=group_number, now=tx.now, most=most)
    return [_to_alarm(row) for row in rows]


def lock_due(tx: Tx, ids: Collection[str]) -> list[Alarm]:
    """Those of them that still are, for whoever sends them."""
    return [_to_alarm(row) for row in tx.fetch(LOCK_DUE, ids=ids, now=tx.now)]


# --- lists ---


def list_page(tx: Tx, scope: Scope, wanted: AlarmFilter, request: PageRequest) -> Page[ListedAlarm]:
    """Alarms of some groups, those that were raised last first."""
    after_at, after_id = request.after or (2**62, "")
    rows = tx.fetch(
        LIST_PAGE,
        homes=_homes(scope),
        state=wanted.state,
        device=wanted.device_id,
        severity=wanted.severity,
        reason=wanted.reason,
        silence=wanted.silence_id,
        begin=wanted.begin,
        end=wanted.end,
        after_at=after_at,
        after_id=after_id,
        most=request.limit + 1,
    )
    items = [_to_listed(row) for row in rows[: request.limit]]
    if len(rows) <= request.limit:
        return Page(items)
    last = items[-1].alarm
    return Page(items, (last.raised_at, last.id))


def get_listed(tx: Tx, scope: Scope, alarm_id: str) -> ListedAlarm | None:
    row = tx.first(GET_LISTED, id=alarm_id, homes=_homes(scope))
    return None if row is None else _to_listed(row)


def acknowledge(tx: Tx, scope: Scope, alarm_id: str, by: str, comment: str | None) -> bool:
    """Whether it was open and not acknowledged before."""
    values = {"now": tx.now, "by": by, "comment": comment, "id": alarm_id}
    changed = map(_to_alarm, tx.fetch(ACKNOWLEDGE, **values, homes=_homes(scope)))
    # Its state knows the worst value.
    notes = [AlarmNote(AlarmChangeType.ACKNOWLEDGED, replace(each, worst=None)) for each in changed]
    tx.note(notes)
    return bool(notes)


def count_open(tx: Tx, scope: Scope) -> dict[str, tuple[int, int]]:
    """How many are open by severity, and how many of them are acknowledged."""
    rows = tx.fetch(COUNT_OPEN, homes=_homes(scope))
    return {severity: (count, int(acknowledged)) for severity, count, acknowledged in rows}


def count_all_open(tx: Tx) -> dict[str, int]:
    """How many are open in all groups, by severity."""
    return dict(tx.fetch(COUNT_ALL_OPEN))


def list_changed(
    tx: Tx, homes: Collection[int], since: Moment, after: str, most: int
) -> list[Alarm]:
    """Those of some groups whose state changed since, in order: at that moment, behind an id."""
    values = {"homes": homes, "since": since, "after": after, "most": most}
    return [_to_alarm(row) for row in tx.fetch(LIST_CHANGED, **values)]


def list_lost(tx: Tx, most: int) -> list[str]:
    """Open alarms whose notification is gone, or whose device or connector.

    They were raised by a transaction that had read those before they were deleted or moved, such as
    a deferred one, and that was committed after.
    """
    return tx.fetch(LIST_LOST, most=most)


def close(tx: Tx, ids: Collection[str], resolution: str) -> int:
    """Resolve open alarms, without telling anybody; how many."""
    return _note_closed(tx, CLOSE, resolution, ids=ids)


def _note_closed(tx: Tx, statement: Statement[Any], resolution: str, **values: Any) -> int:
    """Close some, and note those that were open; how many were changed."""
    rows = tx.fetch(statement, now=tx.now, resolution=resolution, **values)
    # The others were resolved before, by a value or an observation. Of these, the worst value
    # was in the state, which may be gone.
    closed = [each for each in map(_to_alarm, rows) if each.resolution == resolution]
    tx.note([AlarmNote(AlarmChangeType.RESOLVED, replace(each, worst=None)) for each in closed])
    return len(rows)


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some that were resolved before; how many."""
    return tx.run(DELETE_OLD, before=before, most=most)


def _homes(scope: Scope) -> list[int]:
    return [schema.group_number(each) for each in scope.group_ids]


def _to_listed(row: Sequence[Any]) -> ListedAlarm:
    *own, notification_name, is_enabled, device_name, connector_name = row
    return ListedAlarm(
        _to_alarm(own), notification_name, bool(is_enabled), device_name, connector_name
    )

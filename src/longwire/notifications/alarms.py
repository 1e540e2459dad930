"""Alarms: rows of what is or was wrong, and the messages about them.

An alarm and its messages are stored in the transaction of their cause. What may not be sent at once
is due later, and is sent then if the alarm is still open.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import msgspec
from msgspec.structs import replace

from longwire.changes import AlarmChangeType
from longwire.clock import MINUTE, SECOND, Moment
from longwire.dates import format_date
from longwire.ids import new_id
from longwire.measurements.definitions import Measurement
from longwire.model import Device
from longwire.notifications.alarm_conditions import AlarmTransition
from longwire.notifications.firing import (
    CommitQuota,
    Firing,
    TakeSequenceNumbers,
    fire,
)
from longwire.notifications.recipients import RecipientCache, is_contact_point_id
from longwire.notifications.rules import Rule, get_rules
from longwire.notifications.silences import find_silence
from longwire.notifications.trigger_states import AlertStatus
from longwire.store.database import Tx
from longwire.store.delivery import connectors as store_connectors
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.notifications import alarms as store
from longwire.store.notifications import condition_states
from longwire.store.notifications import notifications as store_notifications
from longwire.store.notifications.alarms import Alarm, AlarmKey, AlarmNote

NO_DATA = "no value for too long"
# What a schedule or a silence holds back is looked at again after so long.
RETRY_INTERVAL: Moment = MINUTE


# The measurements of a device by name, with their numbers.
NamedMeasurements = Mapping[str, tuple[int, Measurement]]
GetNamed = Callable[[ReportingDevice], NamedMeasurements]


class AlarmChange(msgspec.Struct, frozen=True):
    """An alarm about a measurement that is raised or resolved."""

    rule: Rule
    device: ReportingDevice
    transition: AlarmTransition
    measurement: Measurement | None
    cause: int | None = None  # the arrival of the record

    @property
    def key(self) -> AlarmKey:
        return self.rule.number, self.device.number


class AlarmNotice(msgspec.Struct, frozen=True):
    """A message about an alarm that may be sent now."""

    alarm: Alarm
    rule: Rule
    about: Mapping[str, Any]  # the device or connector, and the measurement
    cause: int | None = None


def apply_changes(
    tx: Tx, recipients: RecipientCache, changes: Sequence[AlarmChange]
) -> list[Firing]:
    """Store alarms, in order; the messages to send."""
    if not changes:
        return []
    alarms = _MeasuredAlarms(tx, changes, recipients)
    for change in changes:
        if change.transition.is_resolved:
            alarms.resolve(change)
        else:
            alarms.open(change)
    return alarms.save()


class AlarmSubject(msgspec.Struct, frozen=True):
    """The device or connector that an alarm is about."""

    number: int  # of the device, or that of the connector with a minus
    group_id: str
    device_id: str | None = None
    connector_id: str | None = None


class AlarmBook:
    """The alarms of some notifications and subjects in one transaction."""

    def __init__(self, tx: Tx, keys: Set[AlarmKey]) -> None:
        self._tx = tx
        self._open = store.lock_open(tx, keys)
        self._stored = {each.id for each in self._open.values()}
        self._alarms: dict[str, Alarm] = {}  # that are new or have changed
        self._notes: list[AlarmNote] = []

    def get_open(self, key: AlarmKey) -> Alarm | None:
        return self._open.get(key)

    def open(
        self,
        rule: Rule,
        subject: AlarmSubject,
        raised_at: Moment,
        value: float | None = None,
        worst: float | None = None,
        cause: int | None = None,
    ) -> Alarm:
        """A new alarm; of this key none is open."""
        alarm = Alarm(
            id=new_id("alm"),
            group_id=subject.group_id,
            notification_number=rule.number,
            notification_id=rule.id,
            reason=rule.reason or "",
            subject=subject.number,
            device_id=subject.device_id,
            connector_id=subject.connector_id,
            severity=rule.params.severity,
            raised_at=raised_at,
            value=value,
            worst=worst,
            changed_at=self._tx.now,
        )
        self._notes.append(AlarmNote(AlarmChangeType.RAISED, alarm, cause))
        return self.change(alarm)

    def change(self, alarm: Alarm, cause: int | None = None, **changes: Any) -> Alarm:
        changed = replace(alarm, **changes)
        self._alarms[changed.id] = changed
        key = changed.notification_number, changed.subject
        if changed.resolved_at is None:
            self._open[key] = changed
        elif self._open.pop(key, None) is not None:
            self._notes.append(AlarmNote(AlarmChangeType.RESOLVED, changed, cause))
        return changed

    def save(self) -> None:
        if not self._alarms:
            return
        changed = [each for each in self._alarms.values() if each.id in self._stored]
        new = [each for each in self._alarms.values() if each.id not in self._stored]
        store.save(self._tx, changed, new)
        # Another transaction may have raised one at the same time, and that is the one.
        stored = self._stored | store.list_stored(self._tx, [each.id for each in new])
        self._tx.note([each for each in self._notes if each.alarm.id in stored])


class _MeasuredAlarms:
    """Alarms about measurements in one transaction, and the messages about them."""

    def __init__(self, tx: Tx, changes: Sequence[AlarmChange], recipients: RecipientCache) -> None:
        keys = {each.key for each in changes}
        self._tx = tx
        self._book = AlarmBook(tx, keys)
        raised = [(each.rule, each.key) for each in changes if not each.transition.is_resolved]
        self._last_notified = _list_last_notified(tx, raised)
        self._notices: list[AlarmNotice] = []
        self._quota = CommitQuota(recipients, len({number for number, _ in keys}))
        self._fired: Counter[int] = Counter()

    def open(self, change: AlarmChange) -> None:
        if self._book.get_open(change.key) is not None:
            return  # whatever happened, there is one
        rule, device, transition = change.rule, change.device, change.transition
        subject = AlarmSubject(device.number, device.group_id, device.id)
        alarm = self._book.open(
            rule, subject, transition.at, transition.value, transition.worst, change.cause
        )
        about = describe_device(device, change.measurement)
        hold = self._find_hold(alarm, rule, about)
        if hold is None:
            sent = mark_sent(alarm, rule, self._tx.now)
            self._add_notice(self._book.change(sent), change, about)
        else:
            self._book.change(hold.apply(alarm))

    def resolve(self, change: AlarmChange) -> None:
        alarm = self._book.get_open(change.key)
        if alarm is None:
            return  # it was closed when its notification was changed
        transition = change.transition
        resolved = replace(
            alarm,
            worst=transition.worst,
            resolved_at=transition.at,
            resolution=NO_DATA if transition.is_by_absence else None,
            due_at=None,
            changed_at=self._tx.now,
        )
        about = describe_device(change.device, change.measurement)
        # Of the end of what nobody knows of, nobody is notified.
        is_sent = alarm.notified_at is not None
        hold = self._find_hold(resolved, change.rule, about) if is_sent else None
        if hold is not None:
            resolved = hold.apply(resolved)
        self._book.change(resolved, change.cause)
        if is_sent and hold is None:
            self._add_notice(resolved, change, about)

    def _add_notice(self, alarm: Alarm, change: AlarmChange, about: Mapping[str, Any]) -> None:
        for rule in list_notified(self._tx, alarm, change.rule, alarm.notified_at):
            self._fired[rule.number] += 1
            self._notices.append(AlarmNotice(alarm, rule, about, change.cause))

    def _find_hold(self, alarm: Alarm, rule: Rule, about: Mapping[str, Any]) -> "Hold | None":
        hold = find_hold(self._tx, alarm, rule, about, self._last_notified)
        if hold is None and self._quota.is_used_up(rule, self._fired):
            return Hold(self._tx.now)
        return hold

    def save(self) -> list[Firing]:
        self._book.save()
        return [_build_firing(each) for each in self._notices]


class Hold(msgspec.Struct, frozen=True):
    """Why an alarm may not be sent now: when to look again, and the silence, if it is one."""

    until: Moment
    silence_id: str | None = None

    def apply(self, alarm: Alarm) -> Alarm:
        return replace(alarm, due_at=self.until, silence_id=self.silence_id or alarm.silence_id)


def _list_last_notified(
    tx: Tx, alarmed: Iterable[tuple[Rule, AlarmKey]]
) -> Mapping[AlarmKey, Moment]:
    """When those whose notifications keep a distance between messages had the last ones."""
    return store.list_last_notified(tx, {key for rule, key in alarmed if rule.throttle})


def find_hold(
    tx: Tx,
    alarm: Alarm,
    rule: Rule,
    about: Mapping[str, Any],
    last_notified: Mapping[AlarmKey, Moment],
) -> Hold | None:
    """What keeps an alarm from being sent; once it is resolved, a silence only."""
    silenced = find_silenced(tx, rule, alarm.severity, about)
    if silenced is not None or alarm.resolved_at is not None:
        return silenced
    if not rule.is_open(tx.now):
        return Hold(tx.now + RETRY_INTERVAL)
    if rule.throttle:
        notified_at = last_notified.get((alarm.notification_number, alarm.subject))
        if notified_at is not None and tx.now < notified_at + rule.throttle:
            return Hold(notified_at + rule.throttle)
    return None


def find_silenced(tx: Tx, rule: Rule, severity: str, about: Mapping[str, Any]) -> Hold | None:
    """Until when a silence keeps an alarm from being sent; it may be deleted earlier."""
    silence = find_silence(tx, rule.group_id, severity, about)
    if silence is None:
        return None
    return Hold(min(silence.end_at, tx.now + RETRY_INTERVAL), silence.id)


def _build_firing(notice: AlarmNotice) -> Firing:
    alarm = notice.alarm
    is_resolved = alarm.resolved_at is not None
    at = alarm.raised_at if alarm.resolved_at is None else alarm.resolved_at
    message = {
        **notice.about,
        "timestamp": format_date(at),
        "value": alarm.value,
        "worstValue": alarm.worst,
        **describe_alarm(alarm),
    }
    return Firing(
        notice.rule,
        message,
        AlertStatus(since=alarm.raised_at, is_resolved=is_resolved),
        at,
        alarm.device_id or "",
        reason=alarm.reason,
        cause=notice.cause,
    )


def describe_device(device: ReportingDevice, measurement: Measurement | None) -> dict[str, Any]:
    """What a message about an alarm says of its device."""
    about = {} if measurement is None else describe_measurement(measurement)
    return {
        "kind": "device",
        "deviceId": device.id,
        "deviceName": device.name,
        "deviceType": device.type,
        "groupId": device.group_id,
        "tags": msgspec.json.decode(device.tags),
        **about,
    }


def describe_alarm(alarm: Alarm) -> dict[str, Any]:
    """What every message about an alarm says of it."""
    return {
        "state": "raised" if alarm.resolved_at is None else "resolved",
        "since": format_date(alarm.raised_at),
        "severity": alarm.severity,
        "alarmId": alarm.id,
    }


def describe_measurement(measurement: Measurement) -> Mapping[str, Any]:
    unit = {} if measurement.unit is None else {"unit": measurement.unit}
    return {"measurement": measurement.name, **unit}


# --- later ---


# While an alarm is open and nobody has acknowledged it, messages about it are repeated, and after
# some time it is escalated: sent by another notification as well. All that follows from when
# messages were queued last, so that a restart repeats nothing.


def mark_sent(alarm: Alarm, rule: Rule, now: Moment) -> Alarm:
    """The open alarm when messages about it are queued, and when the next ones are due."""
    # Those that were sent before this was stored have none.
    first = now if alarm.notified_at is None else alarm.first_notified_at
    sent = replace(alarm, notified_at=now, first_notified_at=first)
    return replace(sent, due_at=_find_next(sent, rule, now))


def _find_next(alarm: Alarm, rule: Rule, now: Moment) -> Moment | None:
    repeat_every, escalated_at = rule.params.repeat_every, find_escalation(alarm, rule)
    times = [] if repeat_every is None else [now + repeat_every * SECOND]
    if escalated_at is not None and escalated_at > now:
        times.append(escalated_at)
    return min(times, default=None)


def find_escalation(alarm: Alarm, rule: Rule) -> Moment | None:
    """When an alarm is escalated unless somebody acknowledges it before."""
    after = rule.params.escalate_after
    first = alarm.raised_at if alarm.first_notified_at is None else alarm.first_notified_at
    return None if after is None else first + after * SECOND


def list_notified(tx: Tx, alarm: Alarm, rule: Rule, notified_at: Moment | None) -> Sequence[Rule]:
    """The notification of an alarm, and what it was escalated to by then."""
    escalated_at = find_escalation(alarm, rule)
    if escalated_at is None or notified_at is None or notified_at < escalated_at:
        return [rule]
    if alarm.acknowledged_at is not None and alarm.acknowledged_at < escalated_at:
        return [rule]
    escalate_to = rule.params.escalate_to or ""
    if is_contact_point_id(escalate_to):
        return [rule, msgspec.structs.replace(rule, only_contact=escalate_to)]
    rules = get_rules(tx, rule.group_id)
    known = rules.by_number.values() if rules is not None else ()
    return [rule, *(each for each in known if each.id == escalate_to)]


def send_due(
    tx: Tx, take_seqs: TakeSequenceNumbers, group_number: int, most: int, get_named: GetNamed
) -> tuple[set[int], int]:
    """Send what is due of alarms; the channels to wake, and how many alarms were due."""
    due = store.list_due(tx, group_number, most)
    if not due:
        return set(), 0
    ids = {each.device_id for each in due if each.device_id}
    devices = reporting_devices.get_reporting(tx, ids) if ids else {}
    changed: list[Alarm] = []
    notices: list[AlarmNotice] = []
    locked = store.lock_due(tx, [each.id for each in due])
    for alarm in sorted(locked, key=lambda each: each.resolved_at or each.raised_at):
        rules = get_rules(tx, alarm.group_id)
        rule = None if rules is None else rules.by_number.get(alarm.notification_number)
        about = _describe_subject(tx, alarm, rule, devices, get_named)
        after, is_sent = _advance_due(tx, alarm, rule, about)
        changed.append(after)
        if rule is not None and about is not None and is_sent:
            rules_notified = list_notified(tx, after, rule, after.notified_at)
            notices += [AlarmNotice(after, each, about) for each in rules_notified]
    store.save(tx, changed, [])
    firings = [_build_firing(each) for each in notices]
    return fire(tx, take_seqs, firings, RecipientCache(tx)), len(due)


def _describe_subject(
    tx: Tx,
    alarm: Alarm,
    rule: Rule | None,
    devices: Mapping[str, ReportingDevice],
    get_named: GetNamed,
) -> dict[str, Any] | None:
    """What an alarm is about; None if that is no longer there, or in another group by now."""
    device = devices.get(alarm.device_id or "")
    if device is not None:
        if (device.group_id, device.number) != (alarm.group_id, alarm.subject):
            return None
        name = "" if rule is None else rule.params.measurement or ""
        named = get_named(device).get(name) if name else None
        return describe_device(device, None if named is None else named[1])
    connector = store_connectors.CONNECTORS.get_by_numbers(tx, [-alarm.subject])
    for each in connector.values():
        return {
            "kind": "connector",
            "connectorId": each.id,
            "connectorName": each.name,
            "connectorType": each.type,
            "groupId": each.group_id,
        }
    return None


def _advance_due(
    tx: Tx, alarm: Alarm, rule: Rule | None, about: Mapping[str, Any] | None
) -> tuple[Alarm, bool]:
    """The alarm as it is after what was due, and whether messages about it are sent now."""
    if rule is None or about is None:
        # Its notification is disabled, and may be enabled again, or its device is no longer there.
        later = None if alarm.resolved_at is not None else tx.now + RETRY_INTERVAL
        return replace(alarm, due_at=later), False
    if alarm.resolved_at is None and alarm.acknowledged_at is not None:
        return replace(alarm, due_at=None), False
    last_notified = _list_last_notified(tx, [(rule, (rule.number, alarm.subject))])
    hold = find_hold(tx, alarm, rule, about, last_notified)
    if hold is not None:
        return hold.apply(alarm), False
    if alarm.resolved_at is not None:
        # Its end does not count as a message that the next alarm has to keep its distance from.
        return replace(alarm, due_at=None), True
    return mark_sent(alarm, rule, tx.now), True


# --- what they are about changes ---


def close_of_retyped(tx: Tx, changes: Sequence[tuple[Device, Device]]) -> None:
    """Close what notifications for some types say of devices, given before and after, of others.

    A disabled notification follows once it is enabled.
    """
    gone: defaultdict[int, list[int]] = defaultdict(list)
    for was, now in changes:
        rules = get_rules(tx, now.group_id)
        for rule in rules.by_number.values() if rules is not None else ():
            if rule.matches_device(was.id, was.type) and not rule.matches_device(now.id, now.type):
                gone[rule.number].append(now.number)
    for number, devices in sorted(gone.items()):
        store_notifications.delete_some_states(tx, number, devices)
        condition_states.delete_some(tx, number, devices)
        store.close_some(tx, number, devices, "the type of the device was changed")

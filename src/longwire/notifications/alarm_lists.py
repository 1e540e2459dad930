"""Alarms as users see them: listed, and acknowledged."""

from collections.abc import Callable
from dataclasses import replace

from longwire.errors import Conflict, not_found
from longwire.identity import access
from longwire.model import Actor, Page, PageRequest
from longwire.notifications.rules import get_rules
from longwire.store.database import Tx
from longwire.store.fleet import reporting_devices
from longwire.store.identity import audit
from longwire.store.notifications import alarms as store
from longwire.store.notifications.alarms import AlarmFilter, ListedAlarm
from longwire.store.notifications.silences import SILENCES

CompleteAlarm = Callable[[ListedAlarm], ListedAlarm]


def list_alarms(
    tx: Tx,
    actor: Actor,
    group_id: str,
    wanted: AlarmFilter,
    request: PageRequest,
    *,
    subgroups: bool,
) -> Page[ListedAlarm]:
    """Alarms of a group's devices and connectors, those that were raised last first."""
    scope = access.authorize_tree(tx, actor, "notification.read", group_id, subgroups=subgroups)
    page = store.list_page(tx, scope, wanted, request)
    if wanted.device_id and not page.items:
        # One that was moved away or deleted is known by its alarms only.
        device = reporting_devices.get_reporting(tx, [wanted.device_id]).get(wanted.device_id)
        if device is None or device.group_id not in scope.group_ids:
            raise not_found("device_id", "device")
    if wanted.silence_id and not page.items and SILENCES.get(tx, scope, wanted.silence_id) is None:
        raise not_found("silence_id", "silence")
    complete = _complete(tx, actor, group_id)
    return Page([complete(each) for each in page.items], page.last_key)


def acknowledge(
    tx: Tx, actor: Actor, group_id: str, alarm_id: str, comment: str | None
) -> ListedAlarm:
    """Acknowledge an open alarm; one that is acknowledged stays as it is."""
    scope = access.authorize(tx, actor, "notification.write", group_id)
    if store.acknowledge(tx, scope, alarm_id, actor.id, comment):
        audit.log(tx, actor, "alarm.acknowledge", alarm_id, group_id=group_id, detail=comment or "")
    found = store.get_listed(tx, scope, alarm_id)
    if found is None:
        raise not_found("alarm_id", "alarm")
    if found.alarm.resolved_at is not None:
        raise Conflict("The alarm is resolved.")
    return _complete(tx, actor, group_id)(found)


def _complete(tx: Tx, actor: Actor, group_id: str) -> CompleteAlarm:
    """Adds the limits of notifications, and hides values from whoever may not read records."""
    may_read_values = "record.read" in access.get_permissions(tx, actor, group_id)

    def complete(listed: ListedAlarm) -> ListedAlarm:
        alarm = listed.alarm
        if not may_read_values:
            listed = replace(listed, alarm=replace(alarm, value=None, worst=None))
        rules = get_rules(tx, alarm.group_id)
        rule = None if rules is None else rules.by_number.get(alarm.notification_number)
        if rule is None or rule.condition is None:
            return listed
        params = rule.params
        return replace(
            listed, measurement=params.measurement, above=params.above, below=params.below
        )

    return complete

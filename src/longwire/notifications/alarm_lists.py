"""Alarms as users see them: listed, and acknowledged."""

from collections.abc import Callable
from dataclasses import replace

import msgspec

from longwire.errors import Conflict, not_found
from longwire.identity import access
from longwire.model import Actor, Page, PageRequest
from longwire.notifications.rules import get_rules
from longwire.notifications.trigger_states import MESSAGES_FAILED
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.fleet import reporting_devices
from longwire.store.identity import audit
from longwire.store.notifications import alarms as store
from longwire.store.notifications import notifications as store_notifications
from longwire.store.notifications.alarms import AlarmFilter, ListedAlarm
from longwire.store.notifications.silences import SILENCES

ACKNOWLEDGED = "somebody has acknowledged it"

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
    """Acknowledge an open alarm; one that is acknowledged stays as it is.

    One about messages that were given up is over with that.
    """
    scope = access.authorize(tx, actor, "notification.write", group_id)
    before = store.get_listed(tx, scope, alarm_id)
    if before is None:
        raise not_found("alarm_id", "alarm")
    if before.alarm.resolved_at is not None:
        raise Conflict("The alarm is resolved.")
    is_over = before.alarm.reason == MESSAGES_FAILED
    if is_over:
        # Nothing else can end it if the messages are not kept. Those that fail later are new ones.
        store_notifications.end_state(tx, before.alarm.notification_number, before.alarm.subject)
    if store.acknowledge(tx, scope, alarm_id, actor.id, comment):
        audit.log(tx, actor, "alarm.acknowledge", alarm_id, group_id=group_id, detail=comment or "")
    if is_over:
        store.close(tx, [alarm_id], ACKNOWLEDGED)
        store_channels.reset_given_up_of_all(tx, -before.alarm.subject)
    found = store.get_listed(tx, scope, alarm_id)
    assert found is not None
    return _complete(tx, actor, group_id)(found)


def _complete(tx: Tx, actor: Actor, group_id: str) -> CompleteAlarm:
    """Adds the limits of notifications, and hides values from whoever may not read records."""
    may_read_values = "record.read" in access.get_permissions(tx, actor, group_id)

    def complete(listed: ListedAlarm) -> ListedAlarm:
        alarm = listed.alarm
        if not may_read_values:
            listed = replace(listed, alarm=msgspec.structs.replace(alarm, value=None, worst=None))
        rules = get_rules(tx, alarm.group_id)
        rule = None if rules is None else rules.by_number.get(alarm.notification_number)
        if rule is None or rule.condition is None:
            return listed
        params = rule.params
        return replace(
            listed, measurement=params.measurement, above=params.above, below=params.below
        )

    return complete

"""Notifications: create, get, list, update, delete, test."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from longwire.dates import format_date
from longwire.delivery.channel_owners import (
    ChannelDraft,
    DraftRules,
    OwnerView,
    check_device_types,
    check_devices,
    updated_text,
)
from longwire.delivery.http.egress import Egress
from longwire.errors import Conflict, FieldError
from longwire.identity import access, languages
from longwire.model import Actor, Notification, Page, PageRequest
from longwire.notifications import contact_points
from longwire.notifications.firing import (
    Firing,
    TakeSequenceNumbers,
    enqueue_firings,
)
from longwire.notifications.recipients import RecipientCache, is_contact_point_id
from longwire.notifications.rules import FENCED, KIND, compile_rule
from longwire.notifications.trigger_states import MEASUREMENT, AlertStatus
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import Params, SendingConfig
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.fleet import reporting_devices
from longwire.store.identity import groups as store_groups
from longwire.store.notifications import alarms as store_alarms
from longwire.store.notifications import condition_states
from longwire.store.notifications import notifications as store
from longwire.translations.catalogue import translate

TEST = "test"
CHANGED = "the notification was changed"

ParseNotificationParams = Callable[[type[Params], str], Params]


@dataclass(frozen=True, slots=True)
class NotificationDraft(ChannelDraft):
    """A notification as requested."""

    device_id: str | None = None
    reason: str | None = None
    schedule: str | None = None


NotificationView = OwnerView[Notification]

# --- get and list ---


def get_notification(
    tx: Tx, actor: Actor, notification_id: str, group_id: str | None
) -> NotificationView:
    return KIND.view(tx, actor, KIND.require(tx, actor, "read", group_id, notification_id))


def list_notifications(
    tx: Tx,
    actor: Actor,
    group_id: str | None,
    request: PageRequest,
    *,
    subgroups: bool = False,
) -> Page[NotificationView]:
    """Those of a group, or all that the actor may see."""
    page = KIND.list_page(tx, actor, group_id, request, subgroups=subgroups)
    return Page([KIND.view(tx, actor, each) for each in page.items], page.last_key)


# --- create, update, delete ---


def create_notification(
    tx: Tx,
    actor: Actor,
    group_id: str,
    draft: NotificationDraft,
    parse: ParseNotificationParams,
    egress: Egress,
    config: SendingConfig,
    *,
    quotas: Quotas,
) -> NotificationView:
    access.authorize(tx, actor, "notification.write", group_id)
    locks.acquire_lock(tx, "notifications of group", group_id)  # for the limit below
    rules = _draft_rules(parse, egress, config)
    notification = KIND.build(tx, actor, group_id, draft, rules)
    quotas.require_room(
        "notifications_per_group_max", store.NOTIFICATIONS.count_in_group(tx, group_id)
    )
    created = KIND.insert(tx, actor, notification)
    _save_contact_points(tx, created)
    _require_room_for_params(tx, group_id, quotas)
    return KIND.view(tx, actor, created)


def build_draft(
    tx: Tx,
    actor: Actor,
    group_id: str,
    draft: NotificationDraft,
    parse: ParseNotificationParams,
    egress: Egress,
    config: SendingConfig,
) -> Notification:
    """A notification that is not stored, for those who may read the ones of a group."""
    access.authorize(tx, actor, "notification.read", group_id)
    return KIND.build(tx, actor, group_id, draft, _draft_rules(parse, egress, config))


def update_notification(
    tx: Tx,
    actor: Actor,
    group_id: str,
    notification_id: str,
    draft: NotificationDraft,
    parse: ParseNotificationParams,
    egress: Egress,
    config: SendingConfig,
    *,
    quotas: Quotas,
) -> NotificationView:
    """Update a notification; its trigger states are kept unless its condition has changed."""
    access.authorize(tx, actor, "notification.write", group_id)
    if draft.params is not None:
        locks.acquire_lock(tx, "notifications of group", group_id)  # for the limit below
    rules = _draft_rules(parse, egress, config)
    before, after = KIND.update(tx, actor, group_id, notification_id, draft, rules)
    if _params_size(after) > _params_size(before):
        _require_room_for_params(tx, group_id, quotas)
    _follow_update(tx, before, after)
    if draft.params is not None:
        _save_contact_points(tx, after)
    if draft.params is not None and _when(tx, after) != _when(tx, before):
        store_channels.reset_filter_outcomes(tx, after.number)
        after = store.NOTIFICATIONS.get_by_numbers(tx, [after.number])[after.number]
    return KIND.view(tx, actor, after)


def delete_notification(
    tx: Tx, actor: Actor, group_id: str, notification_id: str
) -> NotificationView:
    """Delete a notification, with its unsent messages."""
    deleted = KIND.delete(tx, actor, group_id, notification_id)
    contact_points.save_uses(tx, deleted.number, [])
    _reset(tx, deleted.number, "the notification was deleted")
    return KIND.view(tx, actor, deleted)


def _follow_update(tx: Tx, before: Notification, after: Notification) -> None:
    """Reset the states of another condition; once enabled, what was pending begins again."""
    if _condition(tx, after) != _condition(tx, before):
        store.delete_states(tx, after.number)
        _reset(tx, after.number, CHANGED)
        return
    if after.is_enabled and not before.is_enabled:
        condition_states.restart(tx, after.number)
    _close_out_of_reach(tx, after)


def _close_out_of_reach(tx: Tx, notification: Notification) -> None:
    """Close the alarms of devices that a notification is not about any more."""
    alarmed = store_alarms.list_alarmed_devices(tx, notification.number)
    if not alarmed:
        return
    rule = compile_rule(tx, notification)
    groups = {rule.group_id}
    if rule.params.subgroups:
        groups.update(store_groups.list_subtree(tx, rule.group_id))
    gone = [
        each.number
        for each in alarmed
        if each.group_id not in groups or not rule.matches_device(each.id, each.type)
    ]
    if gone:
        store.delete_some_states(tx, rule.number, gone)
        condition_states.delete_some(tx, rule.number, gone)
        store_alarms.close_some(tx, rule.number, gone, CHANGED)


def _reset(tx: Tx, number: int, resolution: str) -> None:
    condition_states.delete_of_notification(tx, number)
    store_alarms.close_of_notification(tx, number, resolution)


def _params_size(notification: Notification) -> int:
    return len(notification.channel.sealed_params or "")


def _require_room_for_params(tx: Tx, group_id: str, quotas: Quotas) -> None:
    """Of what is stored in this transaction; a process keeps all of it in memory."""
    stored = store.sum_params(tx, group_id)
    quotas.require_room("notification_bytes_per_group_max", stored, wanted=0)


def _condition(tx: Tx, notification: Notification) -> tuple[object, ...]:
    """What the trigger states are about."""
    params = KIND.open_params(tx, notification.channel)
    if notification.reason == MEASUREMENT:
        is_expressed, is_lower = params.condition is not None, params.above is None
        return notification.reason, params.measurement, is_lower, is_expressed
    return notification.reason, params.geofence if notification.reason in FENCED else None


def _when(tx: Tx, notification: Notification) -> str | None:
    return KIND.open_params(tx, notification.channel).when


# --- drafts ---


def _draft_rules(
    parse: ParseNotificationParams, egress: Egress, config: SendingConfig
) -> DraftRules[Notification, NotificationDraft, Params]:
    check_params, check = partial(_check_allowed, config), partial(_check_draft, config)
    return DraftRules(parse, egress, check_params, check, _merge)


def _check_allowed(config: SendingConfig, type_name: str, params: Params) -> list[FieldError]:
    disallowed = catalogue.TYPES[type_name].list_disallowed(params, config)
    return [FieldError(f"params.{place}", why) for place, why in disallowed]


def _check_draft(
    config: SendingConfig,
    tx: Tx,
    notification: Notification,
    draft: NotificationDraft,
    params: Params | None,
) -> list[FieldError]:
    devices = {"device_id": draft.device_id} if draft.device_id else {}
    groups = [notification.group_id]
    if devices and params is not None and params.subgroups:
        groups = store_groups.list_subtree(tx, notification.group_id)
    return [
        *_check_availability(draft, draft.type or notification.channel.type, config),
        *_check_geofence(updated_text(draft.reason, notification.reason), params),
        *_check_condition(updated_text(draft.reason, notification.reason), params),
        *_check_escalation(tx, notification, params if draft.params is not None else None),
        *_check_contact_points(tx, notification, params if draft.params is not None else None),
        *check_device_types(tx, draft.device_types, notification.group_id),
        *check_devices(tx, devices, groups),
    ]


def _merge(notification: Notification, draft: NotificationDraft, params: Params) -> Notification:
    return replace(
        notification,
        device_id=updated_text(draft.device_id, notification.device_id),
        reason=updated_text(draft.reason, notification.reason),
        schedule=updated_text(draft.schedule, notification.schedule),
    )


def _check_availability(
    draft: NotificationDraft, type_name: str, config: SendingConfig
) -> list[FieldError]:
    """Only with new parameters: what exists may be renamed or disabled in any case."""
    sender_type = catalogue.TYPES.get(type_name)
    if draft.params is None or sender_type is None or sender_type.is_available(config):
        return []
    return [FieldError("type", sender_type.setup_hint)]


def _check_geofence(reason: str | None, params: Params | None) -> list[FieldError]:
    if reason not in FENCED or params is None or params.geofence is not None:
        return []
    return [FieldError("params.geofence", f"is required for the reason {reason}")]


def _check_escalation(
    tx: Tx, notification: Notification, params: Params | None
) -> list[FieldError]:
    if params is None or params.escalate_to is None or is_contact_point_id(params.escalate_to):
        return []
    number = store.find_number(tx, notification.group_id, params.escalate_to)
    if number is None or number == notification.number:
        return [FieldError("params.escalateTo", "is not another notification of this group")]
    return []


def _check_contact_points(
    tx: Tx, notification: Notification, params: Params | None
) -> list[FieldError]:
    if params is None:
        return []
    group_id, named = notification.group_id, _list_contact_points(params)
    return contact_points.check_named(tx, group_id, named, may_be_rota=True)


def _list_contact_points(params: Params) -> list[tuple[str, str]]:
    """The contact points that a notification names: (field on the wire, id)."""
    named = [(f"contactPoints[{index}]", each) for index, each in enumerate(params.contact_points)]
    if params.escalate_to is not None and is_contact_point_id(params.escalate_to):
        named.append(("escalateTo", params.escalate_to))
    return named


def _save_contact_points(tx: Tx, notification: Notification) -> None:
    params = KIND.open_params(tx, notification.channel)
    contact_points.save_uses(
        tx, notification.number, [each for _, each in _list_contact_points(params)]
    )


def _check_condition(reason: str | None, params: Params | None) -> list[FieldError]:
    if params is None:
        return []
    given = params.list_condition_fields()
    if reason != MEASUREMENT:
        only = f"is for the reason {MEASUREMENT} only"
        return [FieldError(f"params.{each}", only) for each in given]
    if params.measurement is None and params.condition is None:
        return [FieldError("params.measurement", f"is required for the reason {MEASUREMENT}")]
    return []


# --- test ---


def test_notification(
    tx: Tx, actor: Actor, group_id: str, notification_id: str, take_seqs: TakeSequenceNumbers
) -> int:
    """Fire once, regardless of schedule and throttle; returns how many messages were queued."""
    notification = KIND.require(tx, actor, "write", group_id, notification_id)
    if not notification.channel.is_enabled:
        raise Conflict("The notification is disabled; nothing is sent until it is enabled.")
    rule = compile_rule(tx, notification)
    device_id = notification.device_id or TEST
    device = reporting_devices.get_reporting(tx, [device_id]).get(device_id)
    if device is not None and group_id not in access.get_group_path(tx, device.group_id):
        device = None  # transferred: its name is no longer for members of this group
    language = languages.choose(languages.get_of_actor(tx, actor))  # of what templates may show
    message = {
        "kind": TEST,
        "deviceId": device_id,
        "deviceName": device.name if device else TEST,
        "deviceType": device.type if device else TEST,
        "groupId": group_id,
        "tags": [],
        "timestamp": format_date(tx.now),
        "message": translate(language, "test.notification"),
    }
    firing = Firing(
        rule,
        message,
        AlertStatus(),
        tx.now,
        device_id if device else "",
        reason=notification.reason or TEST,
    )
    KIND.log(tx, actor, "test", notification)
    queued = enqueue_firings(tx, take_seqs, [firing], RecipientCache(tx))
    return queued.messages.total()

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
from longwire.identity import access
from longwire.model import Actor, Notification, Page, PageRequest
from longwire.notifications.firing import (
    Firing,
    RecipientCache,
    TakeSequenceNumbers,
    enqueue_firings,
)
from longwire.notifications.rules import FENCED, KIND, compile_rule
from longwire.notifications.trigger_states import AlertStatus
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import Params, SendingConfig
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.fleet import reporting_devices
from longwire.store.notifications import notifications as store

TEST = "test"

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
    tx: Tx, actor: Actor, group_id: str | None, request: PageRequest
) -> Page[NotificationView]:
    """Those of a group, or all that the actor may see."""
    page = KIND.list_page(tx, actor, group_id, request)
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
    _require_room_for_params(tx, group_id, quotas)
    return KIND.view(tx, actor, created)


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
    if _condition(tx, after) != _condition(tx, before):
        store.delete_states(tx, after.number)
    if draft.params is not None and _when(tx, after) != _when(tx, before):
        store_channels.reset_filter_outcomes(tx, after.number)
        after = store.NOTIFICATIONS.get_by_numbers(tx, [after.number])[after.number]
    return KIND.view(tx, actor, after)


def delete_notification(
    tx: Tx, actor: Actor, group_id: str, notification_id: str
) -> NotificationView:
    """Delete a notification, with its unsent messages."""
    return KIND.view(tx, actor, KIND.delete(tx, actor, group_id, notification_id))


def _params_size(notification: Notification) -> int:
    return len(notification.channel.sealed_params or "")


def _require_room_for_params(tx: Tx, group_id: str, quotas: Quotas) -> None:
    """Of what is stored in this transaction; a process keeps all of it in memory."""
    stored = store.sum_params(tx, group_id)
    quotas.require_room("notification_bytes_per_group_max", stored, wanted=0)


def _condition(tx: Tx, notification: Notification) -> tuple[object, ...]:
    """What the trigger states are about."""
    if notification.reason not in FENCED:
        return notification.reason, None
    return notification.reason, KIND.open_params(tx, notification.channel).geofence


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
    return [
        *_check_availability(draft, draft.type or notification.channel.type, config),
        *_check_geofence(updated_text(draft.reason, notification.reason), params),
        *check_device_types(tx, draft.device_types),
        *check_devices(tx, devices, [notification.group_id]),
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
    if device is not None and device.group_id != group_id:
        device = None  # transferred: its name is no longer for members of this group
    message = {
        "kind": TEST,
        "deviceId": device_id,
        "deviceName": device.name if device else TEST,
        "deviceType": device.type if device else TEST,
        "groupId": group_id,
        "tags": [],
        "timestamp": format_date(tx.now),
        "message": "This is a test of the notification.",
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
    return enqueue_firings(tx, take_seqs, [firing], RecipientCache(tx)).total()

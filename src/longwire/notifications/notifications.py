"""Notifications: create, get, list, update, delete, test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from longwire.dates import format_date
from longwire.delivery import channels, retry_policy
from longwire.delivery.channel_drafts import (
    ChannelDraft,
    ParamsRules,
    check_device_types,
    check_params,
    updated,
    updated_unique,
)
from longwire.delivery.channels import ChannelPolicy
from longwire.delivery.destinations import parameters
from longwire.delivery.egress import Egress
from longwire.errors import BadInput, Conflict, FieldError, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Connector, Notification, Page, PageRequest
from longwire.notifications.firing import (
    Firing,
    RecipientCache,
    TakeSequenceNumbers,
    enqueue_firings,
)
from longwire.notifications.rules import (
    FENCED,
    compile_rule,
    open_params,
    params_seal_purpose,
    unseal_params,
)
from longwire.notifications.trigger_states import AlertStatus
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import Params, SendingConfig
from longwire.store import audit, locks
from longwire.store import devices as store_devices
from longwire.store import notifications as store
from longwire.store.database import Tx

TEST = "test"

ParseNotificationParams = Callable[[type[Params], str], Params]


@dataclass(frozen=True, slots=True)
class NotificationDraft(ChannelDraft):
    """A notification as requested; None leaves a field as it is, an empty text clears it."""

    device_id: str | None = None
    reason: str | None = None
    schedule: str | None = None


@dataclass(frozen=True, slots=True)
class NotificationView:
    """A notification as an actor may see it."""

    notification: Notification
    params: str


# --- get and list ---


def get_notification(
    tx: Tx, actor: Actor, notification_id: str, group_id: str | None
) -> NotificationView:
    notification = _require_notification(tx, actor, "notification.read", notification_id, group_id)
    return _view(tx, actor, notification)


def list_notifications(
    tx: Tx, actor: Actor, group_id: str | None, request: PageRequest
) -> Page[NotificationView]:
    """Those of a group, or all that the actor may see."""
    scope = access.authorize_optional_group(tx, actor, "notification.read", group_id)
    page = store.list_page(tx, scope, request, group_id)
    return Page([_view(tx, actor, each) for each in page.items], page.last_key)


def _view(tx: Tx, actor: Actor, notification: Notification) -> NotificationView:
    """With its secrets for actors that may update it, masked for all others."""
    text = unseal_params(tx, notification)
    if "notification.write" not in access.get_permissions(tx, actor, notification.group_id):
        text = catalogue.mask_secrets(notification.channel.type, text)
    return NotificationView(notification, text)


def _require_notification(
    tx: Tx, actor: Actor, permission: str, notification_id: str, group_id: str | None
) -> Notification:
    scope = access.authorize_optional_group(tx, actor, permission, group_id)
    found = store.get(tx, scope, notification_id)
    if found is None:
        raise not_found("notification_id", "notification")
    return found


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
    per_group_max: int,
) -> NotificationView:
    access.authorize(tx, actor, "notification.write", group_id)
    locks.acquire_lock(tx, "notifications of group", group_id)  # for the limit below
    channel = channels.build_channel(
        tx,
        actor,
        store.PURPOSE,
        new_id("ntf"),
        group_id,
        draft.type or "",
        ChannelPolicy(storing_s=retry_policy.STORING_DEFAULT_S),
        format_name="json",
    )
    notification = _apply_draft(tx, Notification(channel), draft, None, parse, egress, config)
    if store.count(tx, group_id) >= per_group_max:
        raise Conflict(
            f"The group has {per_group_max} notifications already, and may have no more."
        )
    created = store.insert(tx, notification)
    audit.log(
        tx,
        actor,
        "notification.create",
        created.id,
        group_id=group_id,
        detail=created.channel.type,
    )
    return _view(tx, actor, created)


def update_notification(
    tx: Tx,
    actor: Actor,
    group_id: str,
    notification_id: str,
    draft: NotificationDraft,
    parse: ParseNotificationParams,
    egress: Egress,
    config: SendingConfig,
) -> NotificationView:
    """Update a notification; its trigger states are kept unless its condition has changed."""
    before = _lock_notification(tx, actor, group_id, notification_id)
    stored = unseal_params(tx, before)
    changed = _apply_draft(tx, before, draft, stored, parse, egress, config)
    channel = replace(changed.channel, updated_at=tx.now, updated_by=actor.id)
    changed = replace(changed, channel=channel)
    store.save(tx, changed)
    if _condition(tx, changed) != _condition(tx, before):
        store.delete_states(tx, changed.number)
    audit.log(tx, actor, "notification.update", changed.id, group_id=group_id)
    return get_notification(tx, actor, notification_id, group_id)


def delete_notification(
    tx: Tx, actor: Actor, group_id: str, notification_id: str
) -> NotificationView:
    """Delete a notification, with its unsent messages."""
    notification = _lock_notification(tx, actor, group_id, notification_id)
    view = _view(tx, actor, notification)
    store.mark_deleted(tx, notification)
    audit.log(tx, actor, "notification.delete", notification.id, group_id=group_id)
    return view


def _lock_notification(tx: Tx, actor: Actor, group_id: str, notification_id: str) -> Notification:
    """The notification, after concurrent updates of it have been committed."""
    access.authorize(tx, actor, "notification.write", group_id)
    locks.acquire_lock(tx, "channel", notification_id)
    return _require_notification(tx, actor, "notification.write", notification_id, group_id)


def _condition(tx: Tx, notification: Notification) -> tuple[object, ...]:
    """What the trigger states are about."""
    is_fenced = notification.reason in FENCED
    return notification.reason, open_params(tx, notification).geofence if is_fenced else None


# --- drafts ---


def _apply_draft(
    tx: Tx,
    notification: Notification,
    draft: NotificationDraft,
    stored: str | None,
    parse: ParseNotificationParams,
    egress: Egress,
    config: SendingConfig,
) -> Notification:
    """The notification with the draft applied, or an error that names every invalid field."""
    channel = notification.channel
    checked = check_params(draft, channel, stored, _params_rules(parse, egress, config))
    reason = _updated_text(draft.reason, notification.reason)
    field_errors = [
        *checked.field_errors,
        *_check_availability(draft, channel, config),
        *_check_geofence(reason, checked.value),
        *check_device_types(tx, draft.device_types),
        *_check_device(tx, draft.device_id, notification.group_id),
    ]
    if field_errors or checked.value is None:
        raise BadInput(field_errors=field_errors)
    if checked.text != stored:
        sealed = tx.keyring.seal(checked.text, params_seal_purpose(channel.id))
        channel = replace(channel, sealed_params=sealed)
    return replace(
        notification,
        reason=reason,
        schedule=_updated_text(draft.schedule, notification.schedule),
        channel=_merge(channel, draft),
    )


def _merge(channel: Connector, draft: NotificationDraft) -> Connector:
    device_ids = channel.device_ids
    if draft.device_id is not None:
        device_ids = (draft.device_id,) if draft.device_id else ()
    return replace(
        channel,
        type=draft.type or channel.type,
        name=updated(draft.name, channel.name),
        description=updated(draft.description, channel.description),
        device_types=updated_unique(draft.device_types, channel.device_types),
        device_ids=device_ids,
        is_enabled=updated(draft.is_enabled, channel.is_enabled),
        tags=channel.tags if draft.tags is None else tuple(draft.tags),
    )


def _updated_text(new: str | None, current: str | None) -> str | None:
    return current if new is None else new or None


def _params_rules(
    parse: ParseNotificationParams, egress: Egress, config: SendingConfig
) -> ParamsRules[Params]:
    def validate(
        type_name: str, text: str, stored: str | None
    ) -> tuple[str, Params, list[FieldError]]:
        sender_type = catalogue.TYPES[type_name]
        text, params, field_errors = parameters.validate_params(
            sender_type.params_type, text, stored, parse, egress
        )
        disallowed = sender_type.list_disallowed(params, config)
        field_errors += [FieldError(f"params.{place}", why) for place, why in disallowed]
        return text, params, field_errors

    return ParamsRules("notification", catalogue.TYPES, catalogue.parse_params, validate)


def _check_availability(
    draft: NotificationDraft, channel: Connector, config: SendingConfig
) -> list[FieldError]:
    """Only with new parameters: what exists may be renamed or disabled in any case."""
    sender_type = catalogue.TYPES.get(draft.type or channel.type)
    if draft.params is None or sender_type is None or sender_type.is_available(config):
        return []
    return [FieldError("type", sender_type.setup_hint)]


def _check_geofence(reason: str | None, params: Params | None) -> list[FieldError]:
    if reason not in FENCED or params is None or params.geofence is not None:
        return []
    return [FieldError("params.geofence", f"is required for the reason {reason}")]


def _check_device(tx: Tx, device_id: str | None, group_id: str) -> Sequence[FieldError]:
    if not device_id:
        return []
    found = store_devices.get_reporting(tx, [device_id]).get(device_id)
    if found is not None and found.group_id == group_id:
        return []
    return [FieldError("device_id", "is not a device of this group")]


# --- test ---


def test_notification(
    tx: Tx, actor: Actor, group_id: str, notification_id: str, take_seqs: TakeSequenceNumbers
) -> int:
    """Fire once, regardless of schedule and throttle; returns how many messages were queued."""
    notification = _require_notification(tx, actor, "notification.write", notification_id, group_id)
    if not notification.channel.is_enabled:
        raise Conflict("The notification is disabled; nothing is sent until it is enabled.")
    rule = compile_rule(tx, notification)
    device_id = notification.device_id or TEST
    device = store_devices.get_reporting(tx, [device_id]).get(device_id)
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
    audit.log(tx, actor, "notification.test", notification.id, group_id=group_id)
    return enqueue_firings(tx, take_seqs, [firing], RecipientCache(tx)).total()

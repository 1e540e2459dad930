"""Notifications: making and changing them, and trying them out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from longwire.dates import date_text
from longwire.delivery import retry_policy
from longwire.delivery.destinations import parameters
from longwire.delivery.egress import Egress
from longwire.errors import BadInput, Conflict, Fault, missing, wrong
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Connector, Notification, Page, PageRequest
from longwire.notifications.firing import Firing, Numbers, Recipients, queue
from longwire.notifications.rules import FENCED, open_params, rule_of, sealing, unsealed
from longwire.notifications.trigger_states import Telling
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import Office, Params
from longwire.store import audit, auth_epoch
from longwire.store import device_types as store_device_types
from longwire.store import devices as store_devices
from longwire.store import notifications as store
from longwire.store.database import Tx

TEST = "test"

ReadParams = Callable[[type[Params], str], Params]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a notification is to be; None leaves it as it is, an empty text takes it away."""

    params: str | None = None
    type: str | None = None
    name: str | None = None
    description: str | None = None
    device_id: str | None = None
    device_types: Sequence[str] | None = None
    reason: str | None = None
    schedule: str | None = None
    is_enabled: bool | None = None
    tags: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A notification as somebody may see it."""

    notification: Notification
    params: str


# --- seeing ---


def show(tx: Tx, actor: Actor, notification_id: str, group_id: str | None) -> View:
    return view(tx, actor, _find(tx, actor, "notification.read", notification_id, group_id))


def every(tx: Tx, actor: Actor, group_id: str | None, request: PageRequest) -> Page[View]:
    """Those of a group, or all that somebody may see."""
    scope = access.within(tx, actor, "notification.read", group_id)
    page = store.within_scope(tx, scope, request, group_id)
    return Page([view(tx, actor, each) for each in page.items], page.last_key)


def view(tx: Tx, actor: Actor, notification: Notification) -> View:
    """With its secrets for whoever could change them, masked for everybody else."""
    text = unsealed(tx, notification)
    if "notification.write" not in access.permissions_in(tx, actor, notification.group_id):
        text = catalogue.masked(notification.outlet.type, text)
    return View(notification, text)


def _find(
    tx: Tx, actor: Actor, permission: str, notification_id: str, group_id: str | None
) -> Notification:
    scope = access.within(tx, actor, permission, group_id)
    found = store.get(tx, scope, notification_id)
    if found is None:
        raise missing("notification_id", "notification")
    return found


# --- making and changing ---


def create(
    tx: Tx,
    actor: Actor,
    group_id: str,
    wish: Wish,
    read_params: ReadParams,
    egress: Egress,
    office: Office,
    *,
    per_group_max: int,
) -> View:
    access.enter(tx, actor, "notification.write", group_id)
    auth_epoch.change(tx)  # everybody is to ask it from now on
    outlet = Connector(
        number=0,
        id=new_id("ntf"),
        group_id=group_id,
        version=1,
        name=None,
        description=None,
        type=wish.type or "",
        sealed_params="",
        subgroups=False,
        device_types=(),
        device_ids=(),
        message_filter=None,
        format="json",
        storing_s=retry_policy.STORING_DEFAULT_S,
        retry_delay_s=None,
        retries_max=None,
        tags=(),
        is_enabled=True,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        updated_by=actor.id,
        purpose=store.PURPOSE,
    )
    wanted = _changed(tx, Notification(outlet), wish, None, read_params, egress, office)
    if store.count_in(tx, group_id) >= per_group_max:
        raise Conflict(
            f"The group has {per_group_max} notifications already, and may have no more."
        )
    made = store.insert(tx, wanted)
    audit.note(
        tx, actor, "notification.create", made.id, group_id=group_id, detail=made.outlet.type
    )
    return view(tx, actor, made)


def change(
    tx: Tx,
    actor: Actor,
    group_id: str,
    notification_id: str,
    wish: Wish,
    read_params: ReadParams,
    egress: Egress,
    office: Office,
) -> View:
    """Change a notification. It goes on remembering, unless it is about something else now."""
    before = _find_to_change(tx, actor, group_id, notification_id)
    kept = unsealed(tx, before)
    changed = _changed(tx, before, wish, kept, read_params, egress, office)
    outlet = replace(changed.outlet, updated_at=tx.now, updated_by=actor.id)
    changed = replace(changed, outlet=outlet)
    store.save(tx, changed)
    if _what_about(tx, changed) != _what_about(tx, before):
        store.forget_states(tx, changed.number)
    audit.note(tx, actor, "notification.update", changed.id, group_id=group_id)
    return show(tx, actor, notification_id, group_id)


def delete(tx: Tx, actor: Actor, group_id: str, notification_id: str) -> View:
    """Delete a notification; what it had not sent is not sent any more."""
    notification = _find_to_change(tx, actor, group_id, notification_id)
    seen = view(tx, actor, notification)
    store.remove(tx, notification)
    audit.note(tx, actor, "notification.delete", notification.id, group_id=group_id)
    return seen


def _find_to_change(tx: Tx, actor: Actor, group_id: str, notification_id: str) -> Notification:
    """As it is once everybody who is changing it now has done so."""
    access.enter(tx, actor, "notification.write", group_id)
    auth_epoch.change(tx)
    return _find(tx, actor, "notification.write", notification_id, group_id)


def _what_about(tx: Tx, notification: Notification) -> tuple[object, ...]:
    """What a notification remembers things about."""
    is_fenced = notification.reason in FENCED
    return notification.reason, open_params(tx, notification).geofence if is_fenced else None


def _changed(
    tx: Tx,
    notification: Notification,
    wish: Wish,
    kept: str | None,
    read_params: ReadParams,
    egress: Egress,
    office: Office,
) -> Notification:
    """With the wish fulfilled, or a refusal that names everything wrong with it."""
    outlet = notification.outlet
    type_name = wish.type or outlet.type
    faults: list[Fault] = []
    params: Params | None = None
    text = kept
    if type_name not in catalogue.TYPES:
        faults.append(Fault("type", f"is unknown; known are {', '.join(catalogue.TYPES)}"))
    elif wish.params is None and type_name != outlet.type:
        faults.append(Fault("params", f"are needed for a notification of type {type_name}"))
    else:
        try:
            text, params = _params(
                type_name, outlet.type, wish.params, kept, read_params, egress, office
            )
        except BadInput as error:
            faults += error.faults
    if wish.params is not None and type_name in catalogue.TYPES:
        # What there is already may be renamed or disabled, whatever the operator has taken away.
        unavailable = catalogue.TYPES[type_name].unavailable(office)
        faults += [Fault("type", unavailable)] if unavailable else []
    reason = _wished(wish.reason, notification.reason)
    if reason in FENCED and params is not None and params.geofence is None:
        faults.append(Fault("params.geofence", f"is needed for the reason {reason}"))
    if wish.device_types is not None:
        faults += _type_faults(tx, wish.device_types)
    device_id = _wished(wish.device_id, notification.device_id)
    if wish.device_id:
        faults += _device_faults(tx, wish.device_id, notification.group_id)
    if faults:
        raise BadInput(faults=faults)
    assert params is not None and text is not None
    device_types = outlet.device_types
    if wish.device_types is not None:
        device_types = tuple(dict.fromkeys(wish.device_types))
    return replace(
        notification,
        reason=reason,
        schedule=_wished(wish.schedule, notification.schedule),
        outlet=replace(
            outlet,
            type=type_name,
            sealed_params=tx.keyring.seal(text, sealing(outlet.id)),
            name=outlet.name if wish.name is None else wish.name,
            description=outlet.description if wish.description is None else wish.description,
            device_types=device_types,
            device_ids=() if device_id is None else (device_id,),
            is_enabled=outlet.is_enabled if wish.is_enabled is None else wish.is_enabled,
            tags=outlet.tags if wish.tags is None else tuple(wish.tags),
        ),
    )


def _wished(wish: str | None, so_far: str | None) -> str | None:
    return so_far if wish is None else wish or None


def _params(
    type_name: str,
    type_so_far: str,
    wished: str | None,
    kept: str | None,
    read_params: ReadParams,
    egress: Egress,
    office: Office,
) -> tuple[str, Params]:
    """The parameters as text and as a value; whatever is wrong with them is raised."""
    if wished is None:
        if kept is None:
            raise wrong("params", "is required")
        # Judged when they were saved; by today's rules one could not even disable it.
        return kept, catalogue.params_of(type_name, kept)
    way = catalogue.TYPES[type_name]
    of_same_type = kept if type_name == type_so_far else None
    text, params, faults = parameters.judged(
        way.params_type, wished, of_same_type, read_params, egress
    )
    faults += [Fault(f"params.{place}", why) for place, why in way.unwanted(params, office)]
    if faults:
        raise BadInput(faults=faults)
    return text, params


def _type_faults(tx: Tx, names: Sequence[str]) -> list[Fault]:
    known = {each.name for each in store_device_types.every(tx)}
    return [
        Fault(f"device_types[{index}]", "is no device type that is known here")
        for index, name in enumerate(names)
        if name not in known
    ]


def _device_faults(tx: Tx, device_id: str, group_id: str) -> list[Fault]:
    found = store_devices.reporting(tx, [device_id]).get(device_id)
    if found is not None and found.group_id == group_id:
        return []
    return [Fault("device_id", "names no device of this group")]


# --- trying out ---


def test(tx: Tx, actor: Actor, group_id: str, notification_id: str, numbers: Numbers) -> int:
    """Send one now, whatever the schedule and the throttle say; how many letters that are."""
    notification = _find(tx, actor, "notification.write", notification_id, group_id)
    if not notification.outlet.is_enabled:
        raise Conflict("The notification is disabled; nothing is sent until it is enabled.")
    rule = rule_of(tx, notification)
    about = notification.device_id or TEST
    known = store_devices.reporting(tx, [about]).get(about)
    if known is not None and known.group_id != group_id:
        known = None  # it has moved on, and what it is called now is not for those it left
    message = {
        "kind": TEST,
        "deviceId": about,
        "deviceName": known.name if known else TEST,
        "deviceType": known.type if known else TEST,
        "groupId": group_id,
        "tags": [],
        "timestamp": date_text(tx.now),
        "message": "This is a test of the notification.",
    }
    reason = notification.reason or TEST
    firing = Firing(rule, message, Telling(), tx.now, about if known else "", reason=reason)
    audit.note(tx, actor, "notification.test", notification.id, group_id=group_id)
    return queue(tx, numbers, [firing], Recipients(tx)).total()

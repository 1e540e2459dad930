"""Devices: create, update, transfer and delete them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longwire.changes import DeviceNote, RegistryChangeType
from longwire.clock import Moment
from longwire.delivery.channels import DispatchContext
from longwire.errors import BadInput, Conflict, FieldError, NotFound, invalid_field, not_found
from longwire.fleet import device_types, device_values, hardware, monitoring, registrations
from longwire.fleet.bulk_changes import BulkChange, require_some_change
from longwire.fleet.device_values import NO_VALUES, SourceFinder, ValueSelection
from longwire.fleet.measurement_plans import take_over
from longwire.fleet.registrations import VendorRegistration
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import (
    Actor,
    Device,
    DeviceFilter,
    DeviceOrder,
    DeviceType,
    Page,
    PageRequest,
    Scope,
)
from longwire.networks.base import MQTT, VENDOR
from longwire.networks.identities import (
    InvalidOriginalId,
    normalize_identity,
    normalize_network,
    original_key,
)
from longwire.notifications.alarms import close_of_retyped
from longwire.object_versions import next_version, require_version
from longwire.store.database import Tx
from longwire.store.fleet import device_bin, device_search, reporting_devices, value_search
from longwire.store.fleet import devices as store
from longwire.store.fleet.device_bin import BinnedDevice
from longwire.store.fleet.device_search import FoundDevices
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.store.fleet.value_search import ValueOrder
from longwire.store.identity import audit
from longwire.store.identity.audit import AuditedObject

# By the actions of the audit log.
_UPDATE_TYPES = {
    "device.update": RegistryChangeType.UPDATED,
    "device.replaceHardware": RegistryChangeType.HARDWARE_REPLACED,
}


@dataclass(frozen=True, slots=True)
class DeviceDraft:
    """A device to create."""

    name: str  # "" for its original id
    type: str
    original_id: str
    network: str
    tags: Sequence[str] = ()
    configuration: str | None = None  # None for that of its type


def normalize_draft(draft: DeviceDraft) -> DeviceDraft:
    """With network and original id as the network writes them, or `InvalidOriginalId`."""
    network, original_id = normalize_identity(draft.network, draft.original_id)
    name = draft.name or original_id
    return replace(draft, name=name, network=network, original_id=original_id)


# --- read ---


def get_device(tx: Tx, actor: Actor, device_id: str, group_id: str | None) -> Device:
    scope = access.authorize_optional_group(tx, actor, "device.read", group_id)
    device = store.get(tx, scope, device_id)
    if device is None:
        raise not_found("device_id", "device")
    return device


def list_devices(tx: Tx, actor: Actor, group_id: str, request: PageRequest) -> Page[Device]:
    scope = access.authorize(tx, actor, "device.read", group_id)
    return store.list_page(tx, scope, group_id, request)


def search_devices(
    tx: Tx,
    actor: Actor,
    group_id: str,
    wanted: DeviceFilter,
    order: DeviceOrder,
    request: PageRequest,
    selected: ValueSelection = NO_VALUES,
    *,
    subgroups: bool,
) -> FoundDevices:
    """A page of the devices of a group, or of its subtree, that fit a filter."""
    scope = access.authorize_tree(tx, actor, "device.read", group_id, subgroups=subgroups)
    device_values.authorize(tx, actor, group_id, selected)
    finder = SourceFinder(tx, group_id, scope.group_ids)
    compared = finder.build_filters(selected.compared)
    try:
        if selected.order is None:
            return device_search.search(tx, scope, wanted, order, request, compared)
        by_value = ValueOrder(finder.find(selected.order), ascending=not selected.descending)
        return value_search.search_by_value(tx, scope, wanted, compared, by_value, request)
    except device_search.TooManyDevices:
        raise invalid_field(
            "group_id",
            f"has more than {device_search.EXAMINED_MAX:,} devices: filter those of a subgroup",
        ) from None


def list_matching(
    tx: Tx,
    actor: Actor,
    group_id: str,
    wanted: DeviceFilter,
    after: tuple[str, int] | None,
    most: int,
    selected: ValueSelection = NO_VALUES,
    *,
    subgroups: bool,
) -> tuple[list[Device], tuple[str, int] | None]:
    """Those of the next devices that fit a filter, by group and creation.

    And where to continue; None at the end.
    """
    scope = access.authorize_tree(tx, actor, "device.read", group_id, subgroups=subgroups)
    device_values.authorize(tx, actor, group_id, selected)
    compared = SourceFinder(tx, group_id, scope.group_ids).build_filters(selected.compared)
    return device_search.list_matching(tx, scope, wanted, after, most, compared)


def find_place(
    tx: Tx, actor: Actor, group_id: str, device_id: str, *, subgroups: bool
) -> tuple[str, int] | None:
    """Where a device is in that order; None if it is no longer in these groups."""
    scope = access.authorize_tree(tx, actor, "device.read", group_id, subgroups=subgroups)
    device = store.get(tx, scope, device_id)
    return None if device is None else (device.group_id, device.number)


def find_reporting_device(tx: Tx, actor: Actor, network: str, original_id: str) -> NetworkDevice:
    """The device of an uplink, by the network's id.

    Devices that publish by MQTT may use our device id, whatever their network is.
    """
    assert actor.group_id is not None
    device = reporting_devices.get_by_original_id(
        tx, actor.group_id, network, original_key(network, original_id)
    )
    if device is None and network == MQTT:
        device = reporting_devices.get_in_subtree(tx, actor.group_id, original_id)
    if device is None:
        raise not_found("device", f"device of the network {network}")
    return device


# --- create ---


def create_device(tx: Tx, actor: Actor, group_id: str, draft: DeviceDraft) -> Device:
    """Create a device with the default configuration of its type."""
    access.authorize(tx, actor, "device.create", group_id)
    return _create(tx, actor, group_id, [draft], lambda index: "original_id")[0]


def create_devices(
    tx: Tx,
    actor: Actor,
    group_id: str,
    original_ids: Sequence[str],
    type_name: str,
    network: str,
    tags: Sequence[str],
) -> list[Device]:
    """Create many devices, each named after its original id; all or none."""
    access.authorize(tx, actor, "device.create", group_id)
    drafts = [DeviceDraft("", type_name, each, network, tags) for each in original_ids]
    return _create(tx, actor, group_id, drafts, lambda index: f"original_devices_ids[{index}]")


def create_vendor_device(
    tx: Tx,
    actor: Actor,
    dispatch: DispatchContext,
    group_id: str,
    draft: DeviceDraft,
    vendor: VendorRegistration,
) -> Device:
    """Create a device and register it at the vendor's network; pending until that is done."""
    access.authorize(tx, actor, "device.create", group_id, field="input.group_id")
    field_errors = []
    if normalize_network(draft.network) != VENDOR:
        field_errors.append(FieldError("input.network", f"must be {VENDOR}"))
    if original_key(VENDOR, draft.original_id) != original_key(VENDOR, vendor.id):
        field_errors.append(FieldError("input.original_id", "must be the id under vendor"))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    information = registrations.initial_information(dispatch)
    created = _create(
        tx, actor, group_id, [draft], lambda index: "input.original_id", "input.", information
    )
    registrations.request_registrations(tx, dispatch, group_id, created, [vendor])
    return created[0]


def create_vendor_devices(
    tx: Tx,
    actor: Actor,
    dispatch: DispatchContext,
    group_id: str,
    type_name: str,
    tags: Sequence[str],
    vendors: Sequence[VendorRegistration],
) -> list[Device]:
    """Create and register many devices; all or none."""
    access.authorize(tx, actor, "device.create", group_id)
    drafts = [DeviceDraft(each.device_name, type_name, each.id, VENDOR, tags) for each in vendors]
    information = registrations.initial_information(dispatch)
    created = _create(
        tx, actor, group_id, drafts, lambda index: f"vendor[{index}].id", information=information
    )
    registrations.request_registrations(tx, dispatch, group_id, created, vendors)
    return created


def _create(
    tx: Tx,
    actor: Actor,
    group_id: str,
    drafts: Sequence[DeviceDraft],
    field_of: Callable[[int], str],
    prefix: str = "",
    information: str = "{}",
) -> list[Device]:
    device_type = device_types.require_usable(tx, drafts[0].type, group_id, prefix + "type")
    drafts = _normalize_drafts(drafts, field_of)
    network = drafts[0].network
    keys = [original_key(network, draft.original_id) for draft in drafts]
    _require_unique(keys, field_of)
    taken = store.list_taken_keys(tx, network, keys)
    if taken:
        raise Conflict(
            field_errors=[
                FieldError(field_of(index), "is taken in this network")
                for index, key in enumerate(keys)
                if key in taken
            ]
        )
    return insert_drafts(tx, actor, group_id, drafts, {device_type.name: device_type}, information)


def insert_drafts(
    tx: Tx,
    actor: Actor,
    group_id: str,
    drafts: Sequence[DeviceDraft],
    types: Mapping[str, DeviceType],
    information: str = "{}",
) -> list[Device]:
    """Insert devices whose original ids are free, and of which these are the types."""
    devices = [
        Device(
            number=0,
            id=new_id("dev"),
            group_id=group_id,
            stay=0,
            name=draft.name,
            type=draft.type,
            network=draft.network,
            original_id=draft.original_id,
            information=information,
            configuration=types[draft.type].default_configuration
            if draft.configuration is None
            else draft.configuration,
            tags=tuple(draft.tags),
            created_at=tx.now,
            updated_at=tx.now,
            created_by=actor.id,
            updated_by=actor.id,
        )
        for draft in drafts
    ]
    keys = [original_key(draft.network, draft.original_id) for draft in drafts]
    created = store.insert(tx, devices, keys)
    monitoring.schedule_silence_checks(tx, created)
    audited = [AuditedObject(each.id, each.name, after=_audited(each)) for each in created]
    audit.log_many(tx, actor, "device.create", audited, group_id=group_id)
    tx.note([DeviceNote(RegistryChangeType.CREATED, each) for each in created])
    return created


# --- update ---


def update_device(
    tx: Tx,
    actor: Actor,
    dispatch: DispatchContext,
    device_id: str,
    group_id: str,
    *,
    name: str | None,
    configuration: str | None,
    tags: Sequence[str] | None,
    network: str | None = None,
    original_id: str | None = None,
    if_updated_at: Moment | None = None,
) -> Device:
    """Update a device. With another original id or network, its hardware is replaced."""
    device = _get_locked(tx, actor, "device.update", device_id, group_id)
    require_version(device.updated_at, if_updated_at)
    identified = hardware.identify(tx, device, network, original_id)
    is_replaced = hardware.unique_key(identified) != hardware.unique_key(device)
    information = device.information
    if is_replaced:
        information = hardware.end_old_hardware(tx, dispatch, device)
    changed = replace(
        identified,
        information=information,
        name=device.name if name is None else name,
        configuration=device.configuration if configuration is None else configuration,
        tags=device.tags if tags is None else tuple(tags),
        updated_at=next_version(tx.now, device.updated_at),
        updated_by=actor.id,
    )
    store.save(tx, changed)
    if identified != device:
        store.set_identity(tx, changed, hardware.unique_key(changed)[1])
    if changed.configuration != device.configuration:
        monitoring.schedule_silence_checks(tx, [changed])
    action = "device.replaceHardware" if is_replaced else "device.update"
    _log_updates(tx, actor, [(device, changed)], action=action)
    return replace(changed, battery=None) if is_replaced else changed


def update_devices(
    tx: Tx,
    actor: Actor,
    device_ids: Sequence[str],
    group_id: str,
    change: BulkChange,
    tags_max: int,
) -> list[Device]:
    """Update many devices of a group, all or none; those that are so already stay as they are."""
    scope = access.authorize(tx, actor, "device.update", group_id)
    require_some_change(change)
    devices = _get_all_locked(tx, scope, device_ids, "device_ids[{}]")
    device_type = None
    if change.type is not None:
        device_type = device_types.require_usable(tx, change.type, group_id, "type")
    updated = [apply_change(tx, actor, each, change, device_type) for each in devices]
    excess = [index for index, each in enumerate(updated) if len(each.tags) > tags_max]
    if excess:
        message = f"would have more than {tags_max} tags"
        raise BadInput(
            field_errors=[FieldError(f"device_ids[{index}]", message) for index in excess]
        )
    pairs = list(zip(devices, updated, strict=True))
    changes = [(was, now) for was, now in pairs if now != was]
    store_updates(tx, actor, changes)
    return updated


def apply_change(
    tx: Tx, actor: Actor, device: Device, change: BulkChange, device_type: DeviceType | None
) -> Device:
    """The device with the change, or as it is where that changes nothing."""
    kept = [tag for tag in device.tags if tag not in change.remove_tags]
    changed = replace(device, tags=tuple(dict.fromkeys([*kept, *change.add_tags])))
    if device_type is not None and device_type.name != device.type:
        configuration = device_type.default_configuration
        changed = replace(changed, type=device_type.name, configuration=configuration)
    if change.configuration is not None:
        changed = replace(changed, configuration=change.configuration)
    if changed == device:
        return device
    updated_at = next_version(tx.now, device.updated_at)
    return replace(changed, updated_at=updated_at, updated_by=actor.id)


def set_device_type(
    tx: Tx,
    actor: Actor,
    device_id: str,
    group_id: str,
    type_name: str,
    *,
    if_updated_at: Moment | None = None,
) -> Device:
    """Change the type of a device, and reset its configuration to the type's default."""
    device = _get_locked(tx, actor, "device.update", device_id, group_id)
    require_version(device.updated_at, if_updated_at)
    device_type = device_types.require_usable(tx, type_name, group_id, "type")
    changed = replace(
        device,
        type=type_name,
        configuration=device_type.default_configuration,
        updated_at=next_version(tx.now, device.updated_at),
        updated_by=actor.id,
    )
    store_updates(tx, actor, [(device, changed)], detail=type_name)
    return changed


def transfer_devices(
    tx: Tx, actor: Actor, device_ids: Sequence[str], group_id: str, to_group_id: str, field: str
) -> list[Device]:
    """Transfer devices to another group; their records so far stay with the old one."""
    scope = access.authorize(tx, actor, "device.transfer", group_id)
    access.authorize(tx, actor, "device.create", to_group_id, field="to_group_id")
    if to_group_id == group_id:
        raise invalid_field("to_group_id", "is the group the devices are in already")
    devices = _get_all_locked(tx, scope, device_ids, field)
    device_types.require_usable_there(tx, devices, to_group_id)
    return apply_transfer(tx, actor, devices, to_group_id)


def delete_devices(
    tx: Tx, actor: Actor, device_ids: Sequence[str], group_id: str, field: str
) -> list[Device]:
    """Delete devices with all of their records, whatever group these belong to."""
    scope = access.authorize(tx, actor, "device.delete", group_id)
    devices = _get_all_locked(tx, scope, device_ids, field)
    store.delete(tx, devices)
    audited = [AuditedObject(each.id, each.name, before=_audited(each)) for each in devices]
    audit.log_many(tx, actor, "device.delete", audited, group_id=group_id)
    tx.note([DeviceNote(RegistryChangeType.DELETED, each) for each in devices])
    return devices


# --- what is done with devices of one group, which are locked ---


def apply_transfer(
    tx: Tx, actor: Actor, devices: Sequence[Device], to_group_id: str
) -> list[Device]:
    """Transfer devices, if the actor may create devices in the other group."""
    access.authorize(tx, actor, "device.create", to_group_id, field="to_group_id")
    store.transfer(tx, devices, to_group_id, actor.id)
    group_id = devices[0].group_id
    before, after = {"group_id": group_id}, {"group_id": to_group_id}
    audited = [AuditedObject(each.id, each.name, before, after) for each in devices]
    for group in (group_id, to_group_id):
        audit.log_many(tx, actor, "device.transfer", audited, group_id=group, detail=to_group_id)
    moved = [
        replace(
            device,
            group_id=to_group_id,
            stay=device.stay + 1,
            updated_at=tx.now,
            updated_by=actor.id,
        )
        for device in devices
    ]
    pairs = zip(devices, moved, strict=True)
    tx.note([DeviceNote(RegistryChangeType.MOVED, now, was) for was, now in pairs])
    return moved


def store_updates(
    tx: Tx, actor: Actor, changes: Sequence[tuple[Device, Device]], *, detail: str = ""
) -> None:
    """Store changed devices, given with what they were before."""
    store.save_many(tx, [now for _, now in changes])
    if reconfigured := [now for was, now in changes if now.configuration != was.configuration]:
        monitoring.schedule_silence_checks(tx, reconfigured)
    if retyped := [(was, now) for was, now in changes if now.type != was.type]:
        for _, now in retyped:
            take_over(tx, now)
        close_of_retyped(tx, retyped)
    if changes:
        _log_updates(tx, actor, changes, detail=detail)


def set_values(tx: Tx, actor: Actor, device: Device, values: Mapping[str, Any]) -> Device:
    """The device with other values of some fields."""
    updated_at = next_version(tx.now, device.updated_at)
    return replace(device, **values, updated_at=updated_at, updated_by=actor.id)


def move_to_bin(tx: Tx, actor: Actor, devices: Sequence[Device], job_id: str) -> None:
    """Delete devices so that they can be restored."""
    device_bin.insert(tx, devices, job_id)
    audited = [AuditedObject(each.id, each.name, before=_audited(each)) for each in devices]
    group_id = devices[0].group_id
    audit.log_many(tx, actor, "device.delete", audited, group_id=group_id, detail=job_id)
    tx.note([DeviceNote(RegistryChangeType.DELETED, each) for each in devices])


def restore_from_bin(tx: Tx, actor: Actor, group_id: str, binned: Sequence[BinnedDevice]) -> None:
    """Restore deleted devices of a group whose original ids are free."""
    scope = access.authorize(tx, actor, "device.delete", group_id)
    ids = device_bin.restore(tx, binned)
    restored = list(store.lock_many(tx, scope, ids).values())
    monitoring.schedule_silence_checks(tx, restored)
    audited = [AuditedObject(each.id, each.name, after=_audited(each)) for each in restored]
    audit.log_many(tx, actor, "device.restore", audited, group_id=group_id)
    tx.note([DeviceNote(RegistryChangeType.RESTORED, each) for each in restored])


def _log_updates(
    tx: Tx,
    actor: Actor,
    changes: Sequence[tuple[Device, Device]],
    *,
    action: str = "device.update",
    detail: str = "",
) -> None:
    """Log changes of devices in one group: each as it was, and as it is."""
    audited = [
        AuditedObject(now.id, now.name, _audited(was), _audited(now)) for was, now in changes
    ]
    group_id = changes[0][0].group_id
    audit.log_many(tx, actor, action, audited, group_id=group_id, detail=detail)
    type = _UPDATE_TYPES[action]
    tx.note([DeviceNote(type, now, was) for was, now in changes])


def _audited(device: Device) -> audit.Fields:
    return {
        "name": device.name,
        "type": device.type,
        "network": device.network,
        "original_id": device.original_id,
        "configuration": device.configuration,
        "tags": device.tags,
    }


# --- checks ---


def _get_locked(tx: Tx, actor: Actor, permission: str, device_id: str, group_id: str) -> Device:
    scope = access.authorize(tx, actor, permission, group_id)
    device = store.lock_many(tx, scope, [device_id]).get(device_id)
    if device is None:
        raise not_found("device_id", "device in this group")
    return device


def _get_all_locked(tx: Tx, scope: Scope, device_ids: Sequence[str], field: str) -> list[Device]:
    """All of the devices, or an error for each one that is missing.

    `field` is the name of the request field; `{}` in it stands for the index.
    """

    def name(index: int) -> str:
        return field.format(index)

    _require_unique(device_ids, name)
    found = store.lock_many(tx, scope, device_ids)
    absent = [index for index, device_id in enumerate(device_ids) if device_id not in found]
    if absent:
        raise NotFound(
            field_errors=[
                FieldError(name(index), "names no device in this group") for index in absent
            ]
        )
    return [found[device_id] for device_id in device_ids]


def _normalize_drafts(
    drafts: Sequence[DeviceDraft], field_of: Callable[[int], str]
) -> list[DeviceDraft]:
    normalized: list[DeviceDraft] = []
    field_errors: list[FieldError] = []
    for index, draft in enumerate(drafts):
        try:
            normalized.append(normalize_draft(draft))
        except InvalidOriginalId as error:
            field_errors.append(FieldError(field_of(index), str(error)))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return normalized


def _require_unique(names: Sequence[str], field_of: Callable[[int], str]) -> None:
    first: dict[str, int] = {}
    field_errors = []
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            field_errors.append(FieldError(field_of(index), f"is the same as number {first[name]}"))
    if field_errors:
        raise BadInput(field_errors=field_errors)

"""Operations on devices and device types."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import asdict

from longwire.api.fleet.device_shapes import (
    BulkChange,
    BulkDelete,
    BulkTransfer,
    Device,
    DeviceAtVendor,
    DeviceChange,
    DeviceConnection,
    DeviceInput,
    DevicePage,
    DeviceQuery,
    Devices,
    DevicesAtVendor,
    DeviceSearch,
    DevicesInput,
    DeviceType,
    DeviceTypeChange,
    DeviceTypeConnection,
    FoundDevices,
    OwnedDeviceQuery,
    Transfer,
    TypeInGroupQuery,
    TypePage,
    VendorInput,
    build_device_filter,
    build_value_selection,
    show_device,
)
from longwire.api.fleet.measurement_shapes import measurement_wire
from longwire.api.services import Context
from longwire.api.types import CHANGED_MEANWHILE, parse_version
from longwire.dates import format_date
from longwire.fleet import (
    bulk_changes,
    device_types,
    device_values,
    devices,
    measurement_declarations,
)
from longwire.fleet.device_values import ValueSelection
from longwire.fleet.registrations import VendorRegistration
from longwire.model import Device as DeviceValue
from longwire.model import DeviceFilter, DeviceOrder
from longwire.model import DeviceType as DeviceTypeValue
from longwire.model import Page as PageValue
from longwire.web.routing import ANY_TOKEN, Route


def _bulk_result(what: str, items: Sequence[DeviceValue]) -> Devices:
    return Devices(message=f"{len(items)} {what}.", items=[show_device(each) for each in items])


def _draft(body: DeviceInput) -> devices.DeviceDraft:
    return devices.DeviceDraft(
        body.name, body.type, body.original_id, body.network, body.tags or ()
    )


def get_device(context: Context, query: DeviceQuery) -> Device:
    """Get a device."""
    return show_device(
        devices.get_device(context.tx, context.actor, query.device_id, query.group_id)
    )


def create_device(context: Context, body: DeviceInput) -> Device:
    """Create a device.

    It gets the default configuration of its type. The original id is unique within its network.
    """
    return show_device(
        devices.create_device(context.tx, context.actor, body.group_id, _draft(body))
    )


def create_device_at_vendor(context: Context, body: DeviceAtVendor) -> Device:
    """Create a device and register it at the vendor's network.

    `input.originalId` is `vendor.id`, `input.network` is `vendor`. The status of the registration
    is in `information`: `pending`, `registered`, or `failed` with the reason.
    """
    return show_device(
        devices.create_vendor_device(
            context.tx,
            context.actor,
            context.services.dispatch,
            body.input.group_id,
            _draft(body.input),
            _vendor_draft(body.vendor),
        )
    )


def create_devices_at_vendor(context: Context, body: DevicesAtVendor) -> Devices:
    """Create many devices and register them at the vendor's network.

    Each gets the `deviceName` of its registration. All are created, or none; they are registered
    one by one, and the status of each is in its `information`.
    """
    created = devices.create_vendor_devices(
        context.tx,
        context.actor,
        context.services.dispatch,
        body.group_id,
        body.type,
        body.tags or (),
        [_vendor_draft(each) for each in body.vendor],
    )
    return _bulk_result("created", created)


def _vendor_draft(vendor: VendorInput) -> VendorRegistration:
    return VendorRegistration(**asdict(vendor))


def create_devices(context: Context, body: DevicesInput) -> Devices:
    """Create many devices.

    Each is named after its original id. All are created, or none.
    """
    created = devices.create_devices(
        context.tx,
        context.actor,
        body.group_id,
        body.original_devices_ids,
        body.type,
        body.network,
        body.tags or (),
    )
    return _bulk_result("created", created)


def update_device(context: Context, body: DeviceChange) -> Device:
    """Update a device.

    Another `originalId` or `network` is how hardware is replaced: the device keeps its id, records
    and rules, and the old original id is free. Queued downlinks are cancelled.
    """
    return show_device(
        devices.update_device(
            context.tx,
            context.actor,
            context.services.dispatch,
            body.device_id,
            body.group_id,
            name=body.name,
            configuration=body.configuration,
            tags=body.tags,
            network=body.network,
            original_id=body.original_id,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def update_devices(context: Context, body: BulkChange) -> Devices:
    """Update many devices of a group.

    All or none; the error names every device that is not in the group. `type` resets the
    configuration to the default of that type, unless there is a `configuration`, too.
    """
    change = bulk_changes.BulkChange(
        body.add_tags or (), body.remove_tags or (), body.type, body.configuration
    )
    updated = devices.update_devices(
        context.tx, context.actor, body.device_ids, body.group_id, change, context.limits.tags_max
    )
    return _bulk_result("updated", updated)


def update_device_type(context: Context, body: DeviceTypeChange) -> Device:
    """Change the type of a device.

    Its configuration is reset to the default of that type.
    """
    return show_device(
        devices.set_device_type(
            context.tx,
            context.actor,
            body.device_id,
            body.group_id,
            body.type,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def transfer_device(context: Context, body: Transfer) -> Device:
    """Transfer a device to another group.

    Its existing records stay with the old group; new ones belong to the new group.
    """
    return show_device(
        devices.transfer_devices(
            context.tx,
            context.actor,
            [body.device_id],
            body.group_id,
            body.to_group_id,
            "device_id",
        )[0]
    )


def transfer_devices(context: Context, body: BulkTransfer) -> Devices:
    """Transfer many devices to another group.

    All or none; the error names every device that is not in the group.
    """
    moved = devices.transfer_devices(
        context.tx,
        context.actor,
        body.device_ids,
        body.group_id,
        body.to_group_id,
        "device_ids[{}]",
    )
    return _bulk_result("transferred", moved)


def delete_device(context: Context, query: OwnedDeviceQuery) -> Device:
    """Delete a device with all its records."""
    return show_device(
        devices.delete_devices(
            context.tx, context.actor, [query.device_id], query.group_id, "device_id"
        )[0]
    )


def delete_devices(context: Context, body: BulkDelete) -> Devices:
    """Delete many devices with all their records.

    All or none; the error names every device that is not in the group.
    """
    deleted = devices.delete_devices(
        context.tx, context.actor, body.device_ids, body.group_id, "device_ids[{}]"
    )
    return _bulk_result("deleted", deleted)


def list_devices(context: Context, query: DevicePage) -> DeviceConnection:
    """List the devices of a group.

    Of the group itself, in the order of their creation, or of a current value.
    """
    selected = build_value_selection(query)
    request = context.page_tokens.page_request(query)
    if selected.is_empty:
        page = devices.list_devices(context.tx, context.actor, query.group_id, request)
    else:
        found = devices.search_devices(
            context.tx,
            context.actor,
            query.group_id,
            DeviceFilter(),
            DeviceOrder(),
            request,
            selected,
            subgroups=False,
        )
        page = PageValue(found.items, found.last_key)
    show = _columns_shown(context, page.items, selected)
    return DeviceConnection.show(context, query, page, show)


def search_devices(context: Context, query: DeviceSearch) -> FoundDevices:
    """Find devices of a group.

    By a text and filters, all of which must fit; sorted by creation, name, last seen or battery.
    A page can have fewer items than `limit` although there are more. `total` is counted for the
    first page. Or sorted by a current value, with `order`.
    """
    selected = build_value_selection(query)
    found = devices.search_devices(
        context.tx,
        context.actor,
        query.group_id,
        build_device_filter(query),
        DeviceOrder("seen_at" if query.sort == "seenAt" else query.sort, query.ascending),
        context.page_tokens.page_request(query),
        selected,
        subgroups=query.subgroups,
    )
    return FoundDevices(
        items=list(map(_columns_shown(context, found.items, selected), found.items)),
        total=found.total,
        total_is_more=found.total_is_more,
        next_token=context.page_tokens.next_token(query, found),
    )


def _columns_shown(
    context: Context, found: Sequence[DeviceValue], selected: ValueSelection
) -> Callable[[DeviceValue], Device]:
    """Shows devices with their columns, which are read at once."""
    columns = device_values.list_columns(context.tx, found, selected.columns)
    return lambda device: show_device(device, columns.get(device.id))


def list_types(context: Context, query: TypePage) -> DeviceTypeConnection:
    """List the device types.

    Those for all, and those of groups that you belong to, and of groups above and below these. Or
    those that the devices of a group may have.
    """
    request = context.page_tokens.page_request(query)
    page = device_types.list_device_types(context.tx, context.actor, query.group_id, request)
    return DeviceTypeConnection.show(context, query, page, _show_listed_type)


def _show_listed_type(found: DeviceTypeValue) -> DeviceType:
    return DeviceType.show(found, measurements=None, measurements_updated_at=None)


def get_type(context: Context, query: TypeInGroupQuery) -> DeviceType:
    """Get a device type, with the measurements that are declared of it."""
    found = device_types.get_device_type(context.tx, context.actor, query.type)
    declared = measurement_declarations.get_declaration(
        context.tx, context.actor, query.type, query.group_id
    )
    measurements = [measurement_wire(each) for each in declared.measurements]
    updated_at = format_date(declared.updated_at) if declared.updated_at else None
    return DeviceType.show(found, measurements=measurements, measurements_updated_at=updated_at)


# Names that networks and labels have for what is `originalId` here.
_ORIGINAL_IDS = ("devEui", "devEUI", "deviceEui", "deviceEUI", "eui", "imei")
_MISPLACED_AT_CREATION = {
    **dict.fromkeys(_ORIGINAL_IDS, "send it as originalId"),
    "deviceType": "send it as type",
}
_MISPLACED_IN_BULK = {
    **dict.fromkeys(_ORIGINAL_IDS, "send a list, originalDevicesIds"),
    "deviceType": "send it as type",
}
_MISPLACED_IN_CHANGE = {
    **dict.fromkeys(_ORIGINAL_IDS, "send it as originalId"),
    "deviceType": "PUT /device/type changes the type",
    "toGroupId": "PUT /device/transfer moves a device",
}
_MISPLACED_IN_CHANGES = {
    "deviceType": "send it as type",
    "toGroupId": "PUT /devices/transfer moves devices",
}

_route = partial(Route, tag="Devices", object_rule="in the group of the device")
_create_route = partial(
    _route, object_rule="in groupId", conflicts="The original id is taken in its network."
)
_type_route = partial(
    Route, tag="Device types", object_rule="those for all, and those of one's own groups"
)

ROUTES = [
    _route("GET", "/device", get_device, "device.read"),
    _create_route(
        "POST", "/device", create_device, "device.create", misplaced=_MISPLACED_AT_CREATION
    ),
    _route(
        "PUT",
        "/device",
        update_device,
        "device.update",
        conflicts=f"{CHANGED_MEANWHILE} Or the original id is taken in its network.",
        misplaced=_MISPLACED_IN_CHANGE,
    ),
    _route(
        "PUT",
        "/devices",
        update_devices,
        "device.update",
        object_rule="in groupId",
        is_addition=True,
        misplaced=_MISPLACED_IN_CHANGES,
    ),
    _route("DELETE", "/device", delete_device, "device.delete"),
    _create_route(
        "POST",
        "/device/vendor",
        create_device_at_vendor,
        "device.create",
        object_rule="in input.groupId",
    ),
    _route(
        "PUT",
        "/device/transfer",
        transfer_device,
        "device.transfer",
        object_rule="in groupId; device.create in toGroupId",
    ),
    _route("PUT", "/device/type", update_device_type, "device.update", conflicts=CHANGED_MEANWHILE),
    _type_route("GET", "/device/type", get_type, ANY_TOKEN),
    _type_route("GET", "/device/types", list_types, ANY_TOKEN),
    _route(
        "GET",
        "/devices",
        search_devices,
        "device.read",
        object_rule="in groupId",
        is_addition=True,
    ),
    _create_route(
        "POST",
        "/devices",
        create_devices,
        "device.create",
        is_bulk=True,
        misplaced=_MISPLACED_IN_BULK,
    ),
    _create_route(
        "POST",
        "/devices/vendor",
        create_devices_at_vendor,
        "device.create",
        is_bulk=True,
        is_addition=True,
    ),
    _route(
        "POST",
        "/devices/delete",
        delete_devices,
        "device.delete",
        object_rule="in groupId, for each device",
        is_bulk=True,
    ),
    _route(
        "PUT",
        "/devices/transfer",
        transfer_devices,
        "device.transfer",
        object_rule="in groupId, for each device; device.create in toGroupId",
        is_bulk=True,
    ),
    _route("GET", "/group/devices", list_devices, "device.read", object_rule="in the group"),
]

"""Devices and device types on the wire."""

from typing import Annotated

from msgspec import Meta

from longwire.api.groups import GroupPage
from longwire.api.records import DeviceId
from longwire.clock import MILLISECOND
from longwire.dates import date_text
from longwire.fleet import device_types, devices
from longwire.model import Device as DeviceValue
from longwire.model import DeviceType as DeviceTypeValue
from longwire.web.routing import ANY_TOKEN, Call, Route
from longwire.web.validation import (
    Body,
    DateText,
    GroupId,
    Name,
    Paged,
    Query,
    Reply,
    Tags,
    up_to,
)

Network = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="A free word; `vendor`, `chirpstack`, `ttn` and `mqtt` are spoken here.",
        examples=["vendor"],
    ),
]
OriginalId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="The network's own id; upper and lower case are the same.",
        examples=["1FD48BE"],
    ),
]
TypeName = Annotated[str, Meta(min_length=1, max_length=128, examples=["tracker"])]
Configuration = Annotated[
    str, Meta(max_length=262_144, description="Any text.", examples=['{"reportEverySeconds":600}'])
]
DeviceIds = Annotated[list[DeviceId], Meta(min_length=1), up_to("bulk_ids_max", unit="ids")]
OriginalIds = Annotated[list[OriginalId], Meta(min_length=1), up_to("bulk_ids_max", unit="ids")]


class Device(Reply, kw_only=True):
    """A device; `seenAt` is in milliseconds since 1970."""

    device_id: str
    group_id: str
    name: str
    type: str
    network: str
    original_id: str
    battery: str | None = None
    seen_at: int | None = None
    created_at: DateText
    updated_at: DateText
    created_by: str
    updated_by: str
    information: str | None = None
    configuration: str | None = None
    tags: list[str] | None = None


class DeviceConnection(Reply):
    """A page of devices."""

    items: list[Device]
    next_token: str | None = None


class Devices(Reply):
    """What a bulk call did, and to which devices."""

    message: str
    items: list[Device]


class DeviceType(Reply):
    """A kind of device, and how it is configured unless told otherwise."""

    name: str | None = None
    display_name: str | None = None
    default_configuration: str | None = None
    battery: str | None = None
    firmware_version: str | None = None


class DeviceTypeConnection(Reply):
    """A page of device types."""

    items: list[DeviceType]
    next_token: str | None = None


class DeviceInput(Body):
    """A device to create."""

    group_id: GroupId
    name: Name
    type: TypeName
    original_id: OriginalId
    network: Network
    tags: Tags | None = None


class VendorInput(Body):
    """What the vendor's network is told about a device."""

    id: OriginalId
    device_type_id: Annotated[str, Meta(min_length=1, max_length=64)]
    device_name: Annotated[str, Meta(min_length=1, max_length=100)]
    pac: Annotated[str, Meta(min_length=1, max_length=64, description="Kept secret.")]
    activable: bool | None = None
    automatic_renewal: bool | None = None
    lat: Annotated[float, Meta(ge=-90, le=90)] | None = None
    lng: Annotated[float, Meta(ge=-180, le=180)] | None = None


class DeviceAtVendor(Body):
    """A device to create here and to register at the vendor's network."""

    input: DeviceInput
    vendor: VendorInput


class DevicesAtVendor(Body, kw_only=True):
    """Devices to create here and to register at the vendor's network, all of one type."""

    group_id: GroupId
    type: TypeName
    tags: Tags | None = None
    vendor: Annotated[list[VendorInput], Meta(min_length=1), up_to("bulk_ids_max", unit="devices")]


class DevicesInput(Body):
    """Devices to create, all alike."""

    original_devices_ids: OriginalIds
    group_id: GroupId
    type: TypeName
    network: Network
    tags: Tags | None = None


class DeviceQuery(Query):
    """Which device; the group, if given, must be its group."""

    device_id: DeviceId
    group_id: GroupId | None = None


class OwnedDeviceQuery(Query):
    """Which device of which group."""

    device_id: DeviceId
    group_id: GroupId


class DeviceChange(Body):
    """What is to be different about a device."""

    device_id: DeviceId
    group_id: GroupId
    name: Name | None = None
    configuration: Configuration | None = None
    tags: Tags | None = None


class DeviceTypeChange(Body):
    """Which type a device becomes."""

    device_id: DeviceId
    group_id: GroupId
    type: TypeName


class Transfer(Body):
    """Which device goes where."""

    device_id: DeviceId
    group_id: GroupId
    to_group_id: GroupId


class BulkTransfer(Body):
    """Which devices go where."""

    device_ids: DeviceIds
    group_id: GroupId
    to_group_id: GroupId


class BulkDelete(Body):
    """Which devices to delete."""

    device_ids: DeviceIds
    group_id: GroupId


class TypeQuery(Query):
    """Which device type."""

    type: TypeName


def device_wire(device: DeviceValue) -> Device:
    return Device(
        device_id=device.id,
        group_id=device.group_id,
        name=device.name,
        type=device.type,
        network=device.network,
        original_id=device.original_id,
        battery=device.battery,
        seen_at=None if device.seen_at is None else device.seen_at // MILLISECOND,
        created_at=date_text(device.created_at),
        updated_at=date_text(device.updated_at),
        created_by=device.created_by,
        updated_by=device.updated_by,
        information=device.information,
        configuration=device.configuration,
        tags=list(device.tags),
    )


def type_wire(device_type: DeviceTypeValue) -> DeviceType:
    return DeviceType(
        name=device_type.name,
        display_name=device_type.display_name,
        default_configuration=device_type.default_configuration,
        battery=device_type.battery,
        firmware_version=device_type.firmware_version,
    )


def _wish(body: DeviceInput) -> devices.Wish:
    return devices.Wish(body.name, body.type, body.original_id, body.network, body.tags or ())


def show_device(call: Call, query: DeviceQuery) -> Device:
    """Show a device."""
    return device_wire(devices.show(call.tx, call.actor, query.device_id, query.group_id))


def create_device(call: Call, body: DeviceInput) -> Device:
    """Create a device.

    Its configuration is the default of its type. The original id is unique within its network.
    """
    return device_wire(devices.create(call.tx, call.actor, body.group_id, _wish(body)))


def create_device_at_vendor(call: Call, body: DeviceAtVendor) -> Device:
    """Create a device and register it at the vendor's network.

    `input.originalId` is `vendor.id`, `input.network` is `vendor`. How far the registration is
    stands in `information`: `pending`, `registered`, or `failed` and why.
    """
    return device_wire(
        devices.create_at_vendor(
            call.tx,
            call.actor,
            call.dispatch,
            body.input.group_id,
            _wish(body.input),
            _vendor_wish(body.vendor),
        )
    )


def create_devices_at_vendor(call: Call, body: DevicesAtVendor) -> Devices:
    """Create many devices and register them at the vendor's network.

    Each is named as the network is told to name it. All are created, or none; they are registered
    one by one, and how far each is stands in its `information`.
    """
    made = devices.create_many_at_vendor(
        call.tx,
        call.actor,
        call.dispatch,
        body.group_id,
        body.type,
        body.tags or (),
        [_vendor_wish(each) for each in body.vendor],
    )
    return Devices(message=f"{len(made)} created.", items=[device_wire(each) for each in made])


def _vendor_wish(told: VendorInput) -> devices.VendorWish:
    return devices.VendorWish(
        id=told.id,
        device_type_id=told.device_type_id,
        device_name=told.device_name,
        pac=told.pac,
        activable=told.activable,
        automatic_renewal=told.automatic_renewal,
        lat=told.lat,
        lng=told.lng,
    )


def create_devices(call: Call, body: DevicesInput) -> Devices:
    """Create many devices.

    Each is named after its original id. All are created, or none.
    """
    made = devices.create_many(
        call.tx,
        call.actor,
        body.group_id,
        body.original_devices_ids,
        body.type,
        body.network,
        body.tags or (),
    )
    return Devices(message=f"{len(made)} created.", items=[device_wire(each) for each in made])


def change_device(call: Call, body: DeviceChange) -> Device:
    """Change a device."""
    return device_wire(
        devices.change(
            call.tx,
            call.actor,
            body.device_id,
            body.group_id,
            name=body.name,
            configuration=body.configuration,
            tags=body.tags,
        )
    )


def change_device_type(call: Call, body: DeviceTypeChange) -> Device:
    """Make a device one of another type.

    Its configuration becomes the default of that type.
    """
    return device_wire(
        devices.set_type(call.tx, call.actor, body.device_id, body.group_id, body.type)
    )


def transfer_device(call: Call, body: Transfer) -> Device:
    """Transfer a device to another group.

    What it said so far stays with the first group; what it says from now on belongs to the new one.
    """
    return device_wire(
        devices.transfer(
            call.tx, call.actor, [body.device_id], body.group_id, body.to_group_id, "device_id"
        )[0]
    )


def transfer_devices(call: Call, body: BulkTransfer) -> Devices:
    """Transfer many devices to another group.

    All or none; every device that is not in the group is named.
    """
    moved = devices.transfer(
        call.tx, call.actor, body.device_ids, body.group_id, body.to_group_id, "device_ids"
    )
    return Devices(
        message=f"{len(moved)} transferred.", items=[device_wire(each) for each in moved]
    )


def delete_device(call: Call, query: OwnedDeviceQuery) -> Device:
    """Delete a device with all its records."""
    return device_wire(
        devices.delete(call.tx, call.actor, [query.device_id], query.group_id, "device_id")[0]
    )


def delete_devices(call: Call, body: BulkDelete) -> Devices:
    """Delete many devices with all their records.

    All or none; every device that is not in the group is named.
    """
    gone = devices.delete(call.tx, call.actor, body.device_ids, body.group_id, "device_ids")
    return Devices(message=f"{len(gone)} deleted.", items=[device_wire(each) for each in gone])


def list_devices(call: Call, query: GroupPage) -> DeviceConnection:
    """List the devices of a group.

    Of the group itself, in the order they came.
    """
    page = devices.in_group(call.tx, call.actor, query.group_id, call.pages.open(query))
    return DeviceConnection(
        items=[device_wire(each) for each in page.items], next_token=call.pages.close(query, page)
    )


def list_types(call: Call, query: Paged) -> DeviceTypeConnection:
    """List the device types."""
    page = device_types.list_page(call.tx, call.pages.open(query))
    return DeviceTypeConnection(
        items=[type_wire(each) for each in page.items], next_token=call.pages.close(query, page)
    )


def show_type(call: Call, query: TypeQuery) -> DeviceType:
    """Show a device type."""
    return type_wire(device_types.show(call.tx, query.type))


_IN_GROUP = "in the group of the device"
_TAKEN = "The original id is taken in its network."

ROUTES = [
    Route(
        method="GET",
        path="/device",
        handler=show_device,
        needs="device.read",
        rule=_IN_GROUP,
        tag="Devices",
    ),
    Route(
        method="POST",
        path="/device",
        handler=create_device,
        needs="device.create",
        rule="in groupId",
        tag="Devices",
        conflicts=_TAKEN,
    ),
    Route(
        method="PUT",
        path="/device",
        handler=change_device,
        needs="device.update",
        rule=_IN_GROUP,
        tag="Devices",
    ),
    Route(
        method="DELETE",
        path="/device",
        handler=delete_device,
        needs="device.delete",
        rule=_IN_GROUP,
        tag="Devices",
    ),
    Route(
        method="POST",
        path="/device/vendor",
        handler=create_device_at_vendor,
        needs="device.create",
        rule="in input.groupId",
        tag="Devices",
        conflicts=_TAKEN,
    ),
    Route(
        method="PUT",
        path="/device/transfer",
        handler=transfer_device,
        needs="device.transfer",
        rule="in groupId; device.create in toGroupId",
        tag="Devices",
    ),
    Route(
        method="PUT",
        path="/device/type",
        handler=change_device_type,
        needs="device.update",
        rule=_IN_GROUP,
        tag="Devices",
    ),
    Route(
        method="GET",
        path="/device/type",
        handler=show_type,
        needs=ANY_TOKEN,
        rule="the catalogue is the same for everyone",
        tag="Device types",
    ),
    Route(
        method="GET",
        path="/device/types",
        handler=list_types,
        needs=ANY_TOKEN,
        rule="the catalogue is the same for everyone",
        tag="Device types",
    ),
    Route(
        method="POST",
        path="/devices",
        handler=create_devices,
        needs="device.create",
        rule="in groupId",
        tag="Devices",
        conflicts=_TAKEN,
        is_bulk=True,
    ),
    Route(
        method="POST",
        path="/devices/vendor",
        handler=create_devices_at_vendor,
        needs="device.create",
        rule="in groupId",
        tag="Devices",
        conflicts=_TAKEN,
        is_bulk=True,
        is_addition=True,
    ),
    Route(
        method="POST",
        path="/devices/delete",
        handler=delete_devices,
        needs="device.delete",
        rule="in groupId, for each device",
        tag="Devices",
        is_bulk=True,
    ),
    Route(
        method="PUT",
        path="/devices/transfer",
        handler=transfer_devices,
        needs="device.transfer",
        rule="in groupId, for each device; device.create in toGroupId",
        tag="Devices",
        is_bulk=True,
    ),
    Route(
        method="GET",
        path="/group/devices",
        handler=list_devices,
        needs="device.read",
        rule="in the group",
        tag="Devices",
    ),
]

"""Operations on devices and device types."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, Protocol

from msgspec import Meta
from msgspec.structs import asdict

from longwire.api.types import (
    CHANGED_MEANWHILE,
    DeviceId,
    DeviceIds,
    GroupId,
    GroupPage,
    IfUpdatedAt,
    Tag,
    Tags,
    parse_version,
)
from longwire.clock import MILLISECOND
from longwire.dates import format_date
from longwire.fleet import device_types, devices
from longwire.model import Device as DeviceValue
from longwire.model import DeviceFilter, DeviceOrder
from longwire.model import DeviceType as DeviceTypeValue
from longwire.web.fields import Body, Count, DateText, Name, Paged, Query, Reply, limited_by
from longwire.web.routing import ANY_TOKEN, RequestContext, Route

Network = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are "
        "supported networks.",
        examples=["vendor"],
    ),
]
OriginalId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="The network's own id; case-insensitive.",
        examples=["1FD48BE"],
    ),
]
DeviceTypeName = Annotated[str, Meta(min_length=1, max_length=128, examples=["tracker"])]
Configuration = Annotated[
    str, Meta(max_length=262_144, description="Any text.", examples=['{"reportEverySeconds":600}'])
]
SearchText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="A part of the name, of the original id or of a tag, or the begin of "
        "the id; case-insensitive. First come devices with this id or original id, then "
        "those whose name or original id begins with it.",
        examples=["cold room"],
    ),
]
SeenWithin = Annotated[
    Literal["hour", "day", "week", "longer", "never", "silent"],
    Meta(
        title="SeenWithin",
        description="Last seen within the last hour, day or week, longer ago, never; or "
        "silent by what its configuration expects.",
        examples=["day"],
    ),
]
BatteryBelow = Annotated[
    float, Meta(ge=0, le=100, description="Less charge, in percent.", examples=[20])
]
SomeDeviceIds = Annotated[DeviceIds, Meta(min_length=1)]
OriginalIds = Annotated[
    list[OriginalId], Meta(min_length=1), limited_by("bulk_ids_max", unit="ids")
]


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


class FoundDevices(Reply):
    """A page of the devices that were found."""

    items: list[Device]
    total: Annotated[
        Count, Meta(description="How many fit, counted up to 100,000.", examples=[204])
    ]
    total_is_more: Annotated[
        bool, Meta(description="Whether there may be more than `total`.", examples=[True])
    ] = False
    next_token: str | None = None


class Devices(Reply):
    """The outcome of a bulk operation, and its devices."""

    message: str
    items: list[Device]


class DeviceType(Reply):
    """A type of device and its default configuration."""

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
    type: DeviceTypeName
    original_id: OriginalId
    network: Network
    tags: Tags | None = None


class VendorInput(Body):
    """The registration of a device at the vendor's network."""

    id: OriginalId
    device_type_id: Annotated[str, Meta(min_length=1, max_length=64)]
    device_name: Annotated[str, Meta(min_length=1, max_length=100)]
    pac: Annotated[
        str, Meta(min_length=1, max_length=64, description="Not returned by any operation.")
    ]
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
    type: DeviceTypeName
    tags: Tags | None = None
    vendor: Annotated[
        list[VendorInput], Meta(min_length=1), limited_by("bulk_ids_max", unit="devices")
    ]


class DevicesInput(Body):
    """Devices to create, of one type and network."""

    original_devices_ids: OriginalIds
    group_id: GroupId
    type: DeviceTypeName
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


class DeviceSearch(GroupPage, kw_only=True):
    """Which devices of a group, and in which order."""

    subgroups: Annotated[bool, Meta(description="Those of all groups below it, too.")] = False
    q: SearchText | None = None
    type: DeviceTypeName | None = None
    network: Network | None = None
    tag: Annotated[Tag, Meta(description="A tag they have.", examples=["roof"])] | None = None
    seen: SeenWithin | None = None
    battery_below: BatteryBelow | None = None
    sort: Annotated[
        Literal["created", "name", "seenAt", "battery"],
        Meta(
            title="DeviceOrder",
            description="What to sort by. Devices never seen count as seen first, an unknown "
            "charge is above all others.",
            examples=["seenAt"],
        ),
    ] = "created"
    ascending: bool = True


class DeviceChange(Body):
    """Changes to a device."""

    device_id: DeviceId
    group_id: GroupId
    name: Name | None = None
    configuration: Configuration | None = None
    tags: Tags | None = None
    if_updated_at: IfUpdatedAt | None = None


class DeviceTypeChange(Body):
    """The new type of a device."""

    device_id: DeviceId
    group_id: GroupId
    type: DeviceTypeName
    if_updated_at: IfUpdatedAt | None = None


class BulkChange(Body):
    """Changes to many devices."""

    group_id: GroupId
    device_ids: SomeDeviceIds
    add_tags: Tags | None = None
    remove_tags: Tags | None = None
    type: DeviceTypeName | None = None
    configuration: (
        Annotated[str, Meta(max_length=16_384, description="Any text; of each of the devices.")]
        | None
    ) = None


class Transfer(Body):
    """Which device to transfer, and to which group."""

    device_id: DeviceId
    group_id: GroupId
    to_group_id: GroupId


class BulkTransfer(Body):
    """Which devices to transfer, and to which group."""

    device_ids: SomeDeviceIds
    group_id: GroupId
    to_group_id: GroupId


class BulkDelete(Body):
    """Which devices to delete."""

    device_ids: SomeDeviceIds
    group_id: GroupId


class TypeQuery(Query):
    """Which device type."""

    type: DeviceTypeName


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
        created_at=format_date(device.created_at),
        updated_at=format_date(device.updated_at),
        created_by=device.created_by,
        updated_by=device.updated_by,
        information=device.information,
        configuration=device.configuration,
        tags=list(device.tags),
    )


class FilterFields(Protocol):
    """What lists, exports and jobs have in common: the fields of a `DeviceFilter`."""

    q: str | None
    type: str | None
    network: str | None
    tag: str | None
    seen: Literal["hour", "day", "week", "longer", "never", "silent"] | None
    battery_below: float | None


def build_device_filter(fields: FilterFields) -> DeviceFilter:
    return DeviceFilter(
        q=fields.q,
        type=fields.type,
        network=fields.network,
        tag=fields.tag,
        seen=fields.seen,
        battery_below=fields.battery_below,
    )


def _bulk_result(what: str, items: Sequence[DeviceValue]) -> Devices:
    return Devices(message=f"{len(items)} {what}.", items=[device_wire(each) for each in items])


def type_wire(device_type: DeviceTypeValue) -> DeviceType:
    return DeviceType(
        name=device_type.name,
        display_name=device_type.display_name,
        default_configuration=device_type.default_configuration,
        battery=device_type.battery,
        firmware_version=device_type.firmware_version,
    )


def _draft(body: DeviceInput) -> devices.DeviceDraft:
    return devices.DeviceDraft(
        body.name, body.type, body.original_id, body.network, body.tags or ()
    )


def get_device(context: RequestContext, query: DeviceQuery) -> Device:
    """Get a device."""
    return device_wire(
        devices.get_device(context.tx, context.actor, query.device_id, query.group_id)
    )


def create_device(context: RequestContext, body: DeviceInput) -> Device:
    """Create a device.

    It gets the default configuration of its type. The original id is unique within its network.
    """
    return device_wire(
        devices.create_device(context.tx, context.actor, body.group_id, _draft(body))
    )


def create_device_at_vendor(context: RequestContext, body: DeviceAtVendor) -> Device:
    """Create a device and register it at the vendor's network.

    `input.originalId` is `vendor.id`, `input.network` is `vendor`. The status of the registration
    is in `information`: `pending`, `registered`, or `failed` with the reason.
    """
    return device_wire(
        devices.create_vendor_device(
            context.tx,
            context.actor,
            context.dispatch,
            body.input.group_id,
            _draft(body.input),
            _vendor_draft(body.vendor),
        )
    )


def create_devices_at_vendor(context: RequestContext, body: DevicesAtVendor) -> Devices:
    """Create many devices and register them at the vendor's network.

    Each gets the `deviceName` of its registration. All are created, or none; they are registered
    one by one, and the status of each is in its `information`.
    """
    created = devices.create_vendor_devices(
        context.tx,
        context.actor,
        context.dispatch,
        body.group_id,
        body.type,
        body.tags or (),
        [_vendor_draft(each) for each in body.vendor],
    )
    return _bulk_result("created", created)


def _vendor_draft(vendor: VendorInput) -> devices.VendorRegistration:
    return devices.VendorRegistration(**asdict(vendor))


def create_devices(context: RequestContext, body: DevicesInput) -> Devices:
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


def update_device(context: RequestContext, body: DeviceChange) -> Device:
    """Update a device."""
    return device_wire(
        devices.update_device(
            context.tx,
            context.actor,
            body.device_id,
            body.group_id,
            name=body.name,
            configuration=body.configuration,
            tags=body.tags,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def update_devices(context: RequestContext, body: BulkChange) -> Devices:
    """Update many devices of a group.

    All or none; the error names every device that is not in the group. `type` resets the
    configuration to the default of that type, unless there is a `configuration`, too.
    """
    change = devices.BulkChange(
        body.add_tags or (), body.remove_tags or (), body.type, body.configuration
    )
    updated = devices.update_devices(
        context.tx, context.actor, body.device_ids, body.group_id, change, context.limits.tags_max
    )
    return _bulk_result("updated", updated)


def update_device_type(context: RequestContext, body: DeviceTypeChange) -> Device:
    """Change the type of a device.

    Its configuration is reset to the default of that type.
    """
    return device_wire(
        devices.set_device_type(
            context.tx,
            context.actor,
            body.device_id,
            body.group_id,
            body.type,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def transfer_device(context: RequestContext, body: Transfer) -> Device:
    """Transfer a device to another group.

    Its existing records stay with the old group; new ones belong to the new group.
    """
    return device_wire(
        devices.transfer_devices(
            context.tx,
            context.actor,
            [body.device_id],
            body.group_id,
            body.to_group_id,
            "device_id",
        )[0]
    )


def transfer_devices(context: RequestContext, body: BulkTransfer) -> Devices:
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


def delete_device(context: RequestContext, query: OwnedDeviceQuery) -> Device:
    """Delete a device with all its records."""
    return device_wire(
        devices.delete_devices(
            context.tx, context.actor, [query.device_id], query.group_id, "device_id"
        )[0]
    )


def delete_devices(context: RequestContext, body: BulkDelete) -> Devices:
    """Delete many devices with all their records.

    All or none; the error names every device that is not in the group.
    """
    deleted = devices.delete_devices(
        context.tx, context.actor, body.device_ids, body.group_id, "device_ids[{}]"
    )
    return _bulk_result("deleted", deleted)


def list_devices(context: RequestContext, query: GroupPage) -> DeviceConnection:
    """List the devices of a group.

    Of the group itself, in the order of their creation.
    """
    page = devices.list_devices(
        context.tx, context.actor, query.group_id, context.page_tokens.page_request(query)
    )
    return DeviceConnection(
        items=[device_wire(each) for each in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def search_devices(context: RequestContext, query: DeviceSearch) -> FoundDevices:
    """Find devices of a group.

    By a text and filters, all of which must fit; sorted by creation, name, last seen or battery.
    A page can have fewer items than `limit` although there are more. `total` is counted for the
    first page.
    """
    found = devices.search_devices(
        context.tx,
        context.actor,
        query.group_id,
        build_device_filter(query),
        DeviceOrder("seen_at" if query.sort == "seenAt" else query.sort, query.ascending),
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return FoundDevices(
        items=[device_wire(each) for each in found.items],
        total=found.total,
        total_is_more=found.total_is_more,
        next_token=context.page_tokens.next_token(query, found),
    )


def list_types(context: RequestContext, query: Paged) -> DeviceTypeConnection:
    """List the device types."""
    page = device_types.list_device_types(context.tx, context.page_tokens.page_request(query))
    return DeviceTypeConnection(
        items=[type_wire(each) for each in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def get_type(context: RequestContext, query: TypeQuery) -> DeviceType:
    """Get a device type."""
    return type_wire(device_types.get_device_type(context.tx, query.type))


_route = partial(Route, tag="Devices", object_rule="in the group of the device")
_create_route = partial(
    _route, object_rule="in groupId", conflicts="The original id is taken in its network."
)
_type_route = partial(
    Route, tag="Device types", object_rule="the catalogue is the same for everyone"
)

ROUTES = [
    _route("GET", "/device", get_device, "device.read"),
    _create_route("POST", "/device", create_device, "device.create"),
    _route("PUT", "/device", update_device, "device.update", conflicts=CHANGED_MEANWHILE),
    _route(
        "PUT",
        "/devices",
        update_devices,
        "device.update",
        object_rule="in groupId",
        is_addition=True,
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
    _create_route("POST", "/devices", create_devices, "device.create", is_bulk=True),
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

"""Devices and device types on the wire: what is sent, what is answered, and the fields of both."""

import dataclasses
from typing import Annotated, Literal, Protocol

from msgspec import Meta, Struct, field

from longwire.api.fleet.measurement_shapes import Measurement, TimedValue, build_value
from longwire.api.replies import Page, Shown
from longwire.api.types import DeviceId, DeviceIds, GroupId, GroupPage, IfUpdatedAt, Tag, Tags
from longwire.clock import MILLISECOND
from longwire.dates import format_date
from longwire.fleet.device_values import (
    COLUMNS_MAX,
    COMPARISONS_MAX,
    Columns,
    ValueSelection,
    parse_selection,
)
from longwire.model import Device as DeviceValue
from longwire.model import DeviceFilter
from longwire.model import DeviceType as DeviceTypeValue
from longwire.networks.identities import find_eui, normalize_network
from longwire.store.fleet.current_values import ShownColumn
from longwire.web.fields import (
    CONVERTER,
    Body,
    Count,
    DateText,
    Name,
    Paged,
    PageLimit,
    PageToken,
    Query,
    Reply,
    limited_by,
)

Network = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are "
        "supported networks, in any case.",
        examples=["vendor"],
    ),
]
OriginalId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 "
        "hex digits; separators and `0x` are left out.",
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
ValueNames = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2_048,
        description="Current values to show, by the names of their measurements, with commas"
        f" between them; {COLUMNS_MAX} at most. Needs `record.read`.",
        examples=["moisture,battery"],
    ),
]
RecordValueNames = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2_048,
        description="What each record says of these measurements, by their names, with commas"
        f" between them; {COLUMNS_MAX} at most. In CSV and Parquet each has a column.",
        examples=["moisture,battery"],
    ),
]
ValueComparisons = Annotated[
    list[Annotated[str, Meta(max_length=512)]],
    Meta(
        max_length=COMPARISONS_MAX,
        description="Only devices with such a current value: a measurement, one of `<`, `<=`, `>`,"
        " `>=`, `==`, `!=`, and a number, a word or `null`; or `@` and a date, for its time. All"
        " must hold. Needs `record.read`.",
        examples=[["moisture<15", "battery!=null"]],
    ),
]
ValueOrder = Annotated[
    str,
    Meta(
        max_length=128,
        description="Sort by a current value, whatever `sort` is: `value:` and a measurement."
        " Devices without it are last. Needs `record.read`.",
        examples=["value:moisture"],
    ),
]
ValueDescending = Annotated[bool, Meta(description="With `order`: the largest value first.")]
SomeDeviceIds = Annotated[DeviceIds, Meta(min_length=1)]
OriginalIds = Annotated[
    list[OriginalId], Meta(min_length=1), limited_by("bulk_ids_max", unit="ids")
]


EpochMilliseconds = Annotated[int, Meta(extra={CONVERTER: lambda at: at // MILLISECOND})]


class Device(Shown[DeviceValue], kw_only=True):
    """A device; `seenAt` is in milliseconds since 1970."""

    id: str = field(name="deviceId")
    group_id: str
    name: str
    type: str
    network: str
    original_id: str
    battery: str | None = None
    seen_at: EpochMilliseconds | None = None
    created_at: DateText
    updated_at: DateText
    created_by: str
    updated_by: str
    information: str | None = None
    configuration: str | None = None
    tags: list[str] | None = None
    values: (
        Annotated[
            dict[str, TimedValue],
            Meta(
                description="The current values that were asked for, by name.",
                examples=[{"moisture": {"value": 17.5, "timestamp": "2026-11-15T08:30:00.000Z"}}],
            ),
        ]
        | None
    ) = None


class DeviceConnection(Page[Device]):
    """A page of devices."""


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


class DeviceType(Shown[DeviceTypeValue]):
    """A type of device and its default configuration."""

    name: str | None = None
    display_name: str | None = None
    default_configuration: str | None = None
    battery: str | None = None
    firmware_version: str | None = None
    group_id: (
        Annotated[GroupId, Meta(description="Whose it is, with the groups below; none for all.")]
        | None
    ) = None
    measurements: (
        Annotated[
            list[Measurement],
            Meta(description="Those declared for all, or for `groupId`; not in lists."),
        ]
        | None
    ) = None
    measurements_updated_at: (
        Annotated[
            DateText,
            Meta(
                description="When these were declared, for `ifUpdatedAt` of the next declaration;"
                " left out if nothing is. Not in lists."
            ),
        ]
        | None
    ) = None


class DeviceTypeConnection(Page[DeviceType]):
    """A page of device types."""


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


class DevicePage(GroupPage, kw_only=True):
    """The devices of which group, and which values of them."""

    values: ValueNames | None = None
    where: ValueComparisons | None = None
    order: ValueOrder | None = None
    descending: ValueDescending = False


class DeviceFilterFields(Struct, kw_only=True, rename="camel"):
    """The fields of a `DeviceFilter`, by its names, wherever devices are filtered."""

    q: SearchText | None = None
    type: DeviceTypeName | None = None
    network: Network | None = None
    tag: Annotated[Tag, Meta(description="A tag they have.", examples=["roof"])] | None = None
    seen: SeenWithin | None = None
    battery_below: BatteryBelow | None = None


class DeviceSelectionFields(DeviceFilterFields):
    """Which devices of a group, and which values of them."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="Those of all groups below it, too.")] = False
    values: ValueNames | None = None
    where: ValueComparisons | None = None
    order: ValueOrder | None = None
    descending: ValueDescending = False


class DeviceSearch(Query, DeviceSelectionFields):
    """Which devices of a group, and in which order."""

    limit: PageLimit | None = None
    next_token: PageToken | None = None
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
    original_id: OriginalId | None = None
    network: Network | None = None
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


class TypePage(Paged, kw_only=True):
    """Which device types."""

    group_id: (
        Annotated[GroupId, Meta(description="Only those that the devices of this group may have.")]
        | None
    ) = None


class TypeInGroupQuery(Query):
    """Which device type, and whose measurements of it."""

    type: DeviceTypeName
    group_id: (
        Annotated[
            GroupId,
            Meta(description="Whose measurements; without it those declared for all."),
        ]
        | None
    ) = None


def show_device(device: DeviceValue, columns: Columns | None = None) -> Device:
    values = None if columns is None else {name: _value(each) for name, each in columns.items()}
    return Device.show(device, values=values)


def _value(value: ShownColumn) -> TimedValue:
    return TimedValue(value=build_value(value.number, value.text), timestamp=format_date(value.ts))


class ValueFields(Protocol):
    """What lists and exports of devices have in common: what they say of values."""

    values: str | None
    where: list[str] | None
    order: str | None
    descending: bool


def build_value_selection(fields: ValueFields) -> ValueSelection:
    return parse_selection(
        fields.values, fields.where or (), fields.order, descending=fields.descending
    )


def build_device_filter(fields: DeviceFilterFields) -> DeviceFilter:
    given = {each.name: getattr(fields, each.name) for each in dataclasses.fields(DeviceFilter)}
    if fields.q is not None:
        given["q"] = find_eui(fields.q) or fields.q
    if fields.network is not None:
        given["network"] = normalize_network(fields.network)
    return DeviceFilter(**given)

"""Operations on whole device types: read, create, update and delete them."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta

from longwire.api.fleet.decoders import Kind, Location, Source, check_draft
from longwire.api.fleet.device_shapes import Configuration, DeviceTypeName, TypeQuery
from longwire.api.fleet.measurement_shapes import Measurement, measurement_wire
from longwire.api.fleet.measurements import MeasurementInput, build_measurement
from longwire.api.replies import Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    GenericReturnBoolean,
    GroupId,
    IfUpdatedAt,
    parse_version,
)
from longwire.fleet import device_types, type_definitions
from longwire.fleet.type_definitions import TypeDefinition
from longwire.measurements.definitions import DECLARED_MAX
from longwire.model import DeviceType as DeviceTypeValue
from longwire.web.fields import Body, Clearable, DateText, Name
from longwire.web.routing import ANY_TOKEN, Route

DisplayName = Annotated[Name, Meta(description="For people.", examples=["Depth sounder"])]
Note = Annotated[str, Meta(max_length=256, description="Any text.", examples=["2 x AA"])]
EncoderSource = Annotated[
    Source,
    Meta(
        description="A codec for downlinks, if that of the decoder has none.",
        examples=["function encodeDownlink(input) { return {fPort: 1, bytes: [input.data.on]}; }"],
    ),
]
TypeGroupId = Annotated[
    GroupId, Meta(description="Whose it is, with the groups below; without it, for all.")
]
Declared = Annotated[
    list[MeasurementInput],
    Meta(max_length=DECLARED_MAX, description="What is declared of its values; all of it."),
]


class DeviceTypeDefinition(Shown[DeviceTypeValue], kw_only=True):
    """A device type with its codecs and measurements."""

    name: DeviceTypeName
    group_id: TypeGroupId | None = None
    display_name: DisplayName
    default_configuration: Configuration
    battery: Note | None = None
    firmware_version: Note | None = None
    decoder: Kind | None = None
    decoder_source: Source | None = None
    decoded_location: Location | None = None
    encoder_source: EncoderSource | None = None
    measurements: Annotated[list[Measurement], Meta(description="Those that are declared.")]
    is_built_in: Annotated[bool, Meta(description="Whether it cannot be deleted.")] = False
    may_change: Annotated[bool, Meta(description="Whether you may change it.")] = False
    updated_at: DateText
    warnings: (
        Annotated[list[str], Meta(description="What the codecs use and does not exist here.")]
        | None
    ) = None


class DeviceTypeInput(Body, kw_only=True):
    """A device type to create."""

    name: Annotated[
        DeviceTypeName,
        Meta(
            description="Its id: unique in the service, whatever its case, and never changed.",
            examples=["acme-probe"],
        ),
    ]
    group_id: TypeGroupId | None = None
    display_name: DisplayName | None = None
    default_configuration: (
        Annotated[Configuration, Meta(description="Of new devices; any text, often JSON.")] | None
    ) = None
    battery: Note | None = None
    firmware_version: Note | None = None
    decoder: Kind | None = None
    decoder_source: Source | None = None
    decoded_location: Location | None = None
    encoder_source: EncoderSource | None = None
    measurements: Declared | None = None


class DeviceTypeUpdate(Body, kw_only=True):
    """Changes to a device type; what is left out stays, null removes."""

    type: DeviceTypeName
    display_name: DisplayName | None = None
    default_configuration: Configuration | None = None
    battery: Clearable[Note] = UNSET
    firmware_version: Clearable[Note] = UNSET
    decoder: Clearable[Kind] = UNSET
    decoder_source: Clearable[Source] = UNSET
    decoded_location: Clearable[Location] = UNSET
    encoder_source: Clearable[EncoderSource] = UNSET
    measurements: Declared | None = None
    if_updated_at: IfUpdatedAt | None = None


_REQUIRED = ("display_name", "default_configuration")
_OPTIONAL = (
    *("battery", "firmware_version", "decoder", "decoder_source"),
    *("decoded_location", "encoder_source"),
)


def get_definition(context: Context, query: TypeQuery) -> DeviceTypeDefinition:
    """Get a device type with its codecs and measurements."""
    tx, actor = context.tx, context.actor
    found = type_definitions.get_definition(tx, actor, query.type)
    may_change = device_types.may_change(tx, actor, found.device_type)
    return show_definition(found, may_change=may_change)


async def create_type(context: AsyncContext, body: DeviceTypeInput) -> DeviceTypeDefinition:
    """Create a device type.

    For all, by an operator; or for a group and those below it, by somebody with `device.update`
    there: elsewhere nobody sees it or gives it to a device. Codecs are loaded once; one with an
    error is refused, with its line.
    """
    actor, quotas = context.actor, context.services.quotas
    draft, measurements = build_draft(body), build_measurements(body.measurements)
    await context.read(lambda tx: device_types.authorize(tx, actor, draft.group_id))
    warnings = await check_draft(context, draft, measurements)
    created = await context.write(
        lambda tx: type_definitions.create_definition(tx, actor, draft, measurements, quotas)
    )
    return show_definition(created, warnings, may_change=True)


async def update_type(context: AsyncContext, body: DeviceTypeUpdate) -> DeviceTypeDefinition:
    """Update a device type.

    Its decoder counts from the next payload on, its default configuration for new devices; what is
    declared counts for stored records as well. What is left out stays as it is.
    """
    actor, quotas, fields = context.actor, context.services.quotas, _list_fields(body)
    measurements = None if body.measurements is None else build_measurements(body.measurements)
    present = await context.read(lambda tx: device_types.get_changeable(tx, actor, body.type))
    warnings = await check_draft(
        context, device_types.merge_fields(present, fields), measurements or ()
    )
    changed = await context.write(
        lambda tx: type_definitions.update_definition(
            tx,
            actor,
            body.type,
            fields,
            measurements,
            quotas,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )
    return show_definition(changed, warnings, may_change=True)


def delete_type(context: Context, query: TypeQuery) -> GenericReturnBoolean:
    """Delete a device type.

    With its configuration policy and what is declared of it. Not while devices have it.
    """
    device_types.delete_device_type(context.tx, context.actor, query.type)
    return GenericReturnBoolean(message="The device type was deleted.", value=True)


def build_draft(body: DeviceTypeInput) -> DeviceTypeValue:
    draft = DeviceTypeValue(
        name=body.name,
        display_name=body.display_name or body.name,
        default_configuration=body.default_configuration or "{}",
        group_id=body.group_id,
    )
    return device_types.merge_fields(draft, {name: getattr(body, name) for name in _OPTIONAL})


def build_measurements(given: Sequence[MeasurementInput] | None) -> list[Any]:
    return [build_measurement(each) for each in given or ()]


def _list_fields(body: DeviceTypeUpdate) -> dict[str, Any]:
    given = {name: getattr(body, name) for name in (*_REQUIRED, *_OPTIONAL)}
    return {
        name: value or None
        for name, value in given.items()
        if value is not UNSET and not (value is None and name in _REQUIRED)
    }


def show_definition(
    definition: TypeDefinition, warnings: Sequence[str] = (), *, may_change: bool
) -> DeviceTypeDefinition:
    device_type = definition.device_type
    return DeviceTypeDefinition.show(
        device_type,
        measurements=[measurement_wire(each) for each in definition.measurements],
        may_change=may_change,
        warnings=list(warnings) or None,
    )


_MISPLACED = {"deviceTypeId": "send it as name", "source": "send it as decoderSource"}

_route = partial(
    Route,
    tag="Device types",
    object_rule="in the group of the type; operators only for one of all",
    is_addition=True,
)

ROUTES = [
    _route(
        "GET",
        "/device/type/definition",
        get_definition,
        ANY_TOKEN,
        object_rule="those for all, and those of one's own groups",
    ),
    _route(
        "POST",
        "/device/type",
        create_type,
        "device.update",
        object_rule="in groupId; operators only without it",
        conflicts="The name is taken, or the types of the group are as many or as large as they may"
        " be.",
        misplaced=_MISPLACED,
        in_turns=True,
    ),
    _route(
        "PUT",
        "/device/type/definition",
        update_type,
        "device.update",
        conflicts=f"{CHANGED_MEANWHILE} Or the types of the group would be too large.",
        in_turns=True,
    ),
    _route(
        "DELETE",
        "/device/type",
        delete_type,
        "device.update",
        conflicts="Devices have the type, which says how many; or it is built in.",
    ),
]

"""Operations on the decoders of device types: read, try a draft, change."""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from longwire.api.fleet.device_shapes import DeviceTypeName, TypeQuery
from longwire.api.fleet.measurement_shapes import Measurement, fields_of
from longwire.api.services import AsyncContext, Context
from longwire.api.types import CHANGED_MEANWHILE, DeviceId, GroupId, IfUpdatedAt, parse_version
from longwire.dates import format_date
from longwire.decoders.catalogue import KINDS
from longwire.decoders.javascript import PORT_MAX, SOURCE_BYTES_MAX
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import decoder_previews, device_types, type_definitions
from longwire.fleet.decoder_previews import (
    PAYLOADS_MAX,
    DecoderDraft,
    PreviewedPayload,
    PreviewPayload,
)
from longwire.measurements.decoder_outputs import OutputMeasurement
from longwire.measurements.definitions import Measurement as MeasurementValue
from longwire.model import DeviceType as DeviceTypeValue
from longwire.networks.values import parse_hex
from longwire.web.fields import Body, Count, DateText, Reply, words
from longwire.web.routing import ANY_TOKEN, Route

PREVIEW_DEFAULT = 20

Kind = Annotated[
    str,
    words("DecoderKind", KINDS),
    Meta(
        max_length=64,
        description="`bits`, `cayenneLpp` or `javascript`.",
        examples=["javascript"],
    ),
]
Source = Annotated[
    str,
    Meta(
        max_length=SOURCE_BYTES_MAX,
        description="The bit format or the codec; Cayenne LPP has none.",
        examples=["function decodeUplink(input) { return {data: {celsius: input.bytes[0]}}; }"],
    ),
]
Location = Annotated[
    str,
    Meta(
        max_length=device_types.LOCATION_CHARACTERS_MAX,
        description="Names of the decoded latitude and longitude that become a geolocation.",
        examples=["gps.lat,gps.lng"],
    ),
]
Values = Annotated[
    dict[str, Any], Meta(description="Decoded values by name.", examples=[{"celsius": 4.5}])
]


class TypeDecoder(Reply, kw_only=True):
    """The decoder of a device type."""

    type: str
    decoder: Kind | None = None
    decoder_source: Source | None = None
    decoded_location: Location | None = None
    updated_at: Annotated[DateText, Meta(description="When the type was changed last.")]
    warnings: (
        Annotated[list[str], Meta(description="What the codec uses and does not exist here.")]
        | None
    ) = None


class TypeDecoderChange(Body, kw_only=True):
    """The new decoder of a device type; without `decoder` it has none."""

    type: DeviceTypeName
    decoder: Kind | None = None
    decoder_source: Source | None = None
    decoded_location: Location | None = None
    if_updated_at: IfUpdatedAt | None = None


class GivenPayload(Body):
    """A payload to decode."""

    payload: Annotated[
        str,
        Meta(
            min_length=2, max_length=8_192, description="Two hex digits a byte.", examples=["01c2"]
        ),
    ]
    f_port: Annotated[int, Meta(ge=0, le=PORT_MAX, examples=[2])] | None = None


class DecoderPreviewInput(Body, kw_only=True):
    """A draft, and the payloads to try it on."""

    type: DeviceTypeName
    group_id: GroupId
    decoder: (
        Annotated[Kind, Meta(description="Without it, the decoder of the type is tried.")] | None
    ) = None
    decoder_source: Source | None = None
    device_id: (
        Annotated[DeviceId, Meta(description="Only stored payloads of this device.")] | None
    ) = None
    limit: (
        Annotated[int, Meta(ge=1, le=PAYLOADS_MAX, description="How many stored payloads.")] | None
    ) = None
    payloads: (
        Annotated[
            list[GivenPayload],
            Meta(min_length=1, max_length=PAYLOADS_MAX, description="Instead of stored ones."),
        ]
        | None
    ) = None


class DecoderPreviewItem(Reply, kw_only=True):
    """What the draft makes of one payload."""

    payload: Annotated[str, Meta(description="Two hex digits a byte.", examples=["01c2"])]
    f_port: Annotated[int, Meta(examples=[2])] | None = None
    timestamp: DateText
    device_id: str | None = None
    device_name: str | None = None
    stored: Annotated[Values, Meta(description="The values that are stored.")] | None = None
    values: Annotated[Values, Meta(description="The values of the draft.")] | None = None
    error: (
        Annotated[
            str,
            Meta(
                description="Why there are none.",
                examples=["TypeError: cannot read property 'x' of undefined (line 3)"],
            ),
        ]
        | None
    ) = None
    milliseconds: Annotated[float, Meta(description="CPU time of the draft.", examples=[0.8])]


class DecoderPreviewMeasurement(Measurement, kw_only=True):
    """A measurement, and how many payloads give a value of it."""

    is_declared: Annotated[
        bool, Meta(description="Whether it is declared, or would be found in records.")
    ]
    payloads: Annotated[
        Count,
        Meta(
            description="How many give a value of it; of a declared one maybe none.", examples=[20]
        ),
    ]
    invalid: (
        Annotated[
            Count,
            Meta(description="How many give what is none: a word, or out of bounds.", examples=[1]),
        ]
        | None
    ) = None


class DecoderPreview(Reply):
    """What a draft makes of each payload, newest first."""

    items: list[DecoderPreviewItem]
    measurements: Annotated[
        list[DecoderPreviewMeasurement],
        Meta(
            description="Those that are declared of the type's decoded values, and those that would"
            " be found in them."
        ),
    ]


# --- operations ---


def get_decoder(context: Context, query: TypeQuery) -> TypeDecoder:
    """Get the decoder of a device type."""
    return _decoder_wire(device_types.get_device_type(context.tx, context.actor, query.type))


async def check_draft(
    context: AsyncContext, draft: DeviceTypeValue, measurements: Sequence[MeasurementValue]
) -> Sequence[str]:
    """With no transaction open: codecs are loaded in a sandbox."""
    computing = context.services.computing
    group_id = draft.group_id or ""
    check = type_definitions.check_draft
    return await computing.threads.run(group_id, check, draft, measurements, computing.drafts)


async def set_decoder(context: AsyncContext, body: TypeDecoderChange) -> TypeDecoder:
    """Set the decoder of a device type.

    For all devices of the type, from the next payload on; stored values change when they are
    redecoded. By an operator, or by somebody with `device.update` in the group that the type
    belongs to. A decoder with an error is refused, with its line.
    """
    actor, source = context.actor, body.decoder_source or ""
    present = await context.read(lambda tx: device_types.get_changeable(tx, actor, body.type))
    fields = {
        "decoder": body.decoder,
        "decoder_source": source,
        "decoded_location": body.decoded_location,
    }
    draft = device_types.merge_fields(present, fields)
    warnings = await check_draft(context, draft, ())
    quotas, version = context.services.quotas, parse_version(body.if_updated_at)
    changed = await context.write(
        lambda tx: device_types.update_device_type(
            tx, actor, body.type, fields, quotas, if_updated_at=version
        )
    )
    return _decoder_wire(changed, warnings)


async def preview_decoder(context: AsyncContext, body: DecoderPreviewInput) -> DecoderPreview:
    """Try a decoder on stored payloads.

    On the latest payloads of the type's devices in the group, looked for among the last 5,000
    arrivals, or on given ones; and which measurements its values give. Nothing is stored. A preview
    takes two seconds of decoding at most, and has CPU time of its own for each group; payloads
    beyond that are not tried.
    """
    given = _given_payloads(body, context.now)
    draft = None if body.decoder is None else DecoderDraft(body.decoder, body.decoder_source or "")
    if draft is None and body.decoder_source is not None:
        raise invalid_field("decoder", "is required with decoderSource")
    limit = PREVIEW_DEFAULT if body.limit is None else body.limit
    inputs = await context.read(
        lambda tx: decoder_previews.load_preview(
            tx, context.actor, body.group_id, body.type, draft, body.device_id, given, limit
        )
    )
    # With no transaction open.
    computing = context.services.computing
    found = await computing.threads.run(
        body.group_id, decoder_previews.build_preview, inputs, computing.drafts
    )
    return DecoderPreview(
        items=[_item_wire(each) for each in found.payloads],
        measurements=[_measurement_wire(each) for each in found.measurements],
    )


def _given_payloads(body: DecoderPreviewInput, now: int) -> list[PreviewPayload] | None:
    if body.payloads is None:
        return None
    contents: list[PreviewPayload] = []
    field_errors: list[FieldError] = []
    for index, each in enumerate(body.payloads):
        try:
            contents.append(PreviewPayload(parse_hex(each.payload), each.f_port, now))
        except ValueError:
            message = "must be hex digits, two for each byte"
            field_errors.append(FieldError(f"payloads[{index}].payload", message))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return contents


def _decoder_wire(device_type: DeviceTypeValue, warnings: Sequence[str] = ()) -> TypeDecoder:
    return TypeDecoder(
        type=device_type.name,
        decoder=device_type.decoder,
        decoder_source=device_type.decoder_source,
        decoded_location=device_type.decoded_location,
        updated_at=format_date(device_type.updated_at),
        warnings=list(warnings) or None,
    )


def _item_wire(item: PreviewedPayload) -> DecoderPreviewItem:
    payload = item.payload
    return DecoderPreviewItem(
        payload=payload.content.hex(),
        f_port=payload.port,
        timestamp=format_date(payload.at),
        device_id=payload.device_id,
        device_name=payload.device_name,
        stored=payload.decoded_values,
        values=item.values,
        error=item.error,
        milliseconds=round(item.cpu_s * 1e3, 3),
    )


def _measurement_wire(given: OutputMeasurement) -> DecoderPreviewMeasurement:
    return DecoderPreviewMeasurement(
        **fields_of(given.measurement),
        is_declared=given.is_declared,
        payloads=given.valid,
        invalid=given.invalid or None,
    )


_CATALOGUE = "those for all, and those of one's own groups"

ROUTES = [
    Route(
        "GET",
        "/device/type/decoder",
        get_decoder,
        ANY_TOKEN,
        tag="Device types",
        object_rule=_CATALOGUE,
        is_addition=True,
    ),
    Route(
        "PUT",
        "/device/type/decoder",
        set_decoder,
        "device.update",
        tag="Device types",
        object_rule="in the group of the type; operators only for one of all",
        conflicts=CHANGED_MEANWHILE,
        is_addition=True,
        in_turns=True,
    ),
    Route(
        "POST",
        "/device/type/preview",
        preview_decoder,
        "record.read",
        tag="Device types",
        object_rule="in groupId",
        conflicts="The device type has no decoder, and none is given.",
        only_reads=True,
        is_addition=True,
        in_turns=True,
    ),
]

"""Try a decoder that is not saved on stored payloads, or on given ones. Nothing is stored.

A draft may loop, so it has a budget of its own for each group, beside that of the group's uplinks,
and is not cached: neither the decoders of others nor the group's own uplinks wait for it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.decoders.base import DecodeError, Decoder, InvalidDecoder
from longwire.decoders.catalogue import KINDS
from longwire.decoders.sandbox_pool import get_processor_s
from longwire.errors import Conflict, invalid_field, not_found
from longwire.fleet import decoding, device_types
from longwire.fleet.codec_guard import CodecCaller, CodecGuard, require_budget
from longwire.fleet.measurement_plans import get_declared
from longwire.identity import access
from longwire.measurements.decoder_outputs import OutputMeasurement, find_output_measurements
from longwire.measurements.definitions import Measurement, ValuePlace
from longwire.measurements.values import PORT, RADIO, facts_of
from longwire.model import Actor
from longwire.networks.lorawan import PORT_MAX
from longwire.networks.values import parse_hex, parse_integer
from longwire.records import DataRecord
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import measurements, reporting_devices
from longwire.store.records import arrived_records

PERMISSION = "record.read"
PAYLOADS_MAX = 100
DEVICES_MAX = 1_000
CHARACTERS_MAX = 4 * 1024 * 1024
# A device reports more than data: so many arrivals are read for each payload that is wanted.
ARRIVALS_FOR_EACH = 3
TOTAL_S_MAX = 2.0
NOT_TRIED = "not tried: the payloads before it took too long"
NOT_TRIED_BUDGET = "not tried: the group has used up its CPU time for drafts"


@dataclass(frozen=True, slots=True)
class DecoderDraft:
    """A kind of decoder and its source."""

    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class PreviewPayload:
    """A payload to decode; of a stored record also its values, and those that were decoded."""

    content: bytes
    port: int | None
    at: Moment
    device_id: str | None = None
    device_name: str | None = None
    own_values: dict[str, Any] | None = None
    decoded_values: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DecoderPreviewInputs:
    """The decoder, on whose behalf it runs, the payloads, and the measurements of the type."""

    group_id: str
    draft: DecoderDraft
    payloads: list[PreviewPayload]
    declared: Sequence[Measurement] = ()
    found: Mapping[ValuePlace, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreviewedPayload:
    """A payload with the values of the draft, or why there are none."""

    payload: PreviewPayload
    values: dict[str, Any] | None
    error: str | None
    cpu_s: float
    output: Mapping[str, Any] | None = None  # the data of a new record


@dataclass(frozen=True, slots=True)
class DecoderPreviewResult:
    """The payloads with their values, and the measurements that these give."""

    payloads: list[PreviewedPayload]
    measurements: list[OutputMeasurement]


# --- find ---


def load_preview(
    tx: Tx,
    actor: Actor,
    group_id: str,
    type_name: str,
    draft: DecoderDraft | None,
    device_id: str | None,
    given: Sequence[PreviewPayload] | None,
    limit: int,
) -> DecoderPreviewInputs:
    """The draft, or else the type's decoder, and the payloads: given ones, or the latest stored."""
    access.authorize(tx, actor, PERMISSION, group_id)
    device_types.get_usable(tx, type_name, group_id)
    if draft is None:
        codec = decoding.get_codec(tx, type_name)
        if not codec.exists:
            raise Conflict(f"The device type {type_name} has no decoder; send one.")
        draft = DecoderDraft(codec.kind, codec.source)
    payloads = (
        _list_stored(tx, group_id, type_name, device_id, limit) if given is None else list(given)
    )
    keys = measurements.list_found(tx, schema.group_number(group_id), type_name)
    found = {each.place: each.name for each in measurements.list_places(tx, keys).values()}
    declared = get_declared(tx, group_id).get(type_name, ())
    return DecoderPreviewInputs(group_id, draft, payloads, declared, found)


def _list_stored(
    tx: Tx, group_id: str, type_name: str, device_id: str | None, limit: int
) -> list[PreviewPayload]:
    """The latest payloads of devices of the type that arrived in the group, newest first."""
    devices = {
        each.id for each in reporting_devices.list_in_group(tx, group_id, type_name, 0, DEVICES_MAX)
    }
    if device_id is not None:
        if device_id not in devices:
            raise not_found("device_id", "device of this type in this group")
        devices = {device_id}
    arrived = arrived_records.list_latest(
        tx,
        [int(group_id)],
        limit * ARRIVALS_FOR_EACH,
        CHARACTERS_MAX,
        is_wanted=lambda each, _: each in devices,
    )
    found = [_stored_payload(each) for each in arrived]
    return [each for each in found if each is not None][:limit]


def _stored_payload(arrived: arrived_records.ArrivedRecord) -> PreviewPayload | None:
    record = arrived.row.encoded.record
    if not isinstance(record, DataRecord):
        return None
    try:
        payload, data = parse_hex(record.raw), msgspec.json.decode(record.data)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    if not payload or not isinstance(data, dict):
        return None
    names = set(record.decoded_names or ())
    own = {name: value for name, value in data.items() if name not in names}
    return PreviewPayload(
        payload,
        parse_integer(facts_of(own).get(PORT), 0, PORT_MAX),
        arrived.row.ts,
        arrived.device.id,
        arrived.device.name,
        own,
        {name: value for name, value in data.items() if name in names},
    )


# --- decode ---


def build_preview(inputs: DecoderPreviewInputs, guard: CodecGuard) -> DecoderPreviewResult:
    """Decode the payloads, as far as time and the budget allow. Blocks."""
    caller = CodecCaller(inputs.group_id, "")
    require_budget(guard, inputs.group_id)
    decoder = _build_decoder(inputs, caller, guard)
    ends_at = time.monotonic() + TOTAL_S_MAX
    previewed: list[PreviewedPayload] = []
    for payload in inputs.payloads:
        reason = None
        if time.monotonic() > ends_at:
            reason = NOT_TRIED
        elif guard.is_budget_used_up(inputs.group_id):
            reason = NOT_TRIED_BUDGET
        if reason is not None:
            previewed.append(PreviewedPayload(payload, None, reason, 0.0))
            continue
        outcome = _decode(decoder, payload)
        guard.charge(caller, outcome.cpu_s)
        previewed.append(outcome)
    outputs = [each.output for each in previewed if each.output is not None]
    given = find_output_measurements(inputs.declared, inputs.found, outputs)
    return DecoderPreviewResult(previewed, given)


def _build_decoder(inputs: DecoderPreviewInputs, caller: CodecCaller, guard: CodecGuard) -> Decoder:
    """The decoder of a draft; loading a source that loops costs the group, too."""
    if inputs.draft.kind not in KINDS:
        raise invalid_field("decoder", f"is none of {', '.join(KINDS)}")
    started_s = get_processor_s()
    try:
        decoder = guard.decoders.build(inputs.draft.kind, inputs.draft.source)
    except InvalidDecoder as error:
        guard.charge(caller, error.cpu_s)
        raise invalid_field("decoder_source", str(error)) from None
    # A call loads the source again, and charges for that; without calls, this was all.
    if not inputs.payloads:
        guard.charge(caller, get_processor_s() - started_s)
    return decoder


def _decode(decoder: Decoder, payload: PreviewPayload) -> PreviewedPayload:
    try:
        decoded = decoder.decode(payload.content, payload.port, payload.at)
    except DecodeError as error:
        return PreviewedPayload(payload, None, error.reason, error.cpu_s)
    merged = decoding.merge_decoded(payload.own_values or {}, decoded)
    values = {name: merged.data[name] for name in merged.names}
    output = decoding.merge_decoded({RADIO: {}}, decoded).data
    return PreviewedPayload(payload, values, None, decoded.cpu_s, output)

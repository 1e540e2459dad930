"""Decode payloads by the decoder of the device's type, and merge the result into a record's data.

Decoded values replace those that a network has decoded, and nothing else. Their names are stored
with the record, so that redecoding can remove them again.
"""

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from longwire.clock import Moment
from longwire.decoders.base import (
    CodecFailure,
    Decoded,
    DecodeError,
    Encoded,
    EncodeError,
    InvalidDecoder,
)
from longwire.decoders.catalogue import JAVASCRIPT, Decoders, is_blocking
from longwire.decoders.javascript import JavaScriptDecoder, JavaScriptEncoder
from longwire.decoders.sandbox_pool import LoopSandboxPool
from longwire.errors import Unavailable
from longwire.fleet.codec_guard import CodecCaller, CodecGuard, CodecRefused
from longwire.fleet.device_types import LocationPaths, parse_location
from longwire.measurements.values import (
    DECODE_ERROR,
    DECODE_WARNINGS,
    DECODED,
    NOT_VALUES,
    RADIO,
    is_of_network,
)
from longwire.networks.readings import truncate_json
from longwire.store.database import Tx
from longwire.store.fleet import device_types as store

_RESERVED = NOT_VALUES | {DECODED}
LATITUDE_MAX, LONGITUDE_MAX = 90, 180


class Codec(Struct, frozen=True):
    """The decoder and the encoder of a device type, as far as it has them."""

    kind: str = ""
    source: str = ""
    is_blocking: bool = False  # must not be called on the event loop
    encoder_source: str = ""
    location: LocationPaths | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a decoder."""
        return bool(self.kind)

    @property
    def downlink_sources(self) -> list[str]:
        """Sources that may know about downlinks, in order of preference."""
        own = [self.source] if self.kind == JAVASCRIPT else []
        return [self.encoder_source, *own] if self.encoder_source else own


CODEC_CACHE = "codecs"


def get_codec(tx: Tx, type_name: str) -> Codec:
    return tx.cache.get_config(
        CODEC_CACHE,
        type_name,
        lambda: _load(tx, type_name),
        lambda: store.list_cache_groups(tx, type_name),
    )


def _load(tx: Tx, type_name: str) -> Codec:
    found = store.get(tx, type_name)
    if found is None:
        return Codec()
    return Codec(
        found.decoder or "",
        found.decoder_source or "",
        is_blocking(found.decoder or ""),
        found.encoder_source or "",
        parse_location(found.decoded_location),
    )


class DecodedData(Struct, frozen=True):
    """The data of a record, and which names in it were decoded."""

    data: dict[str, Any]
    names: list[str]
    failure: str | None = None
    location: tuple[float, float] | None = None  # latitude and longitude


class UplinkPayload(Struct, frozen=True):
    """A payload, and the data of its record without decoded values."""

    values: Mapping[str, Any]
    content: bytes
    port: int | None
    at: Moment


def decode_payload(codec: Codec, payload: UplinkPayload, decoders: Decoders) -> DecodedData:
    """Decode a new uplink, with a decoder that does not block.

    Our decoder replaces what the network itself has decoded, unless it fails.
    """
    try:
        decoder = decoders.get(codec.kind, codec.source)
        decoded = decoder.decode(payload.content, payload.port, payload.at)
    except (DecodeError, InvalidDecoder) as error:
        return _failed_data(payload.values, str(error))
    return _decoded_data(codec, payload.values, decoded)


async def decode_payload_on_loop(
    codec: Codec,
    payload: UplinkPayload,
    pool: LoopSandboxPool,
    caller: CodecCaller,
    guard: CodecGuard,
) -> DecodedData:
    """Decode a new uplink with a codec that would block the event loop otherwise."""
    try:
        guard.check(codec.source, caller)
        decoder = guard.decoders.find_cached(codec.kind, codec.source)
        if decoder is None:
            decoder = await asyncio.to_thread(guard.decoders.get, codec.kind, codec.source)
        assert isinstance(decoder, JavaScriptDecoder)
        decoded = await decoder.decode_on_loop(
            payload.content, payload.port, payload.at, pool, caller.group_id
        )
    except DecodeError as error:
        guard.note_failure(codec.source, caller, error)
        return _failed_data(payload.values, error.reason)
    except (CodecRefused, InvalidDecoder, Unavailable) as error:
        # The decoder was valid when it was saved: a problem of the service, so store the message.
        return _failed_data(payload.values, str(error))
    guard.charge(caller, decoded.cpu_s)
    return _decoded_data(codec, payload.values, decoded)


def decode_payload_in_thread(
    codec: Codec, payload: UplinkPayload, caller: CodecCaller, guard: CodecGuard
) -> DecodedData:
    """Decode one uplink with a codec that blocks."""
    try:
        guard.check(codec.source, caller)
        decoder = guard.decoders.get(codec.kind, codec.source)
        decoded = decoder.decode(payload.content, payload.port, payload.at)
    except DecodeError as error:
        guard.note_failure(codec.source, caller, error)
        return _failed_data(payload.values, error.reason)
    except (CodecRefused, InvalidDecoder, Unavailable) as error:
        return _failed_data(payload.values, str(error))
    guard.charge(caller, decoded.cpu_s)
    return _decoded_data(codec, payload.values, decoded)


def _failed_data(values: Mapping[str, Any], reason: str) -> DecodedData:
    return DecodedData(truncate_json({**values, DECODE_ERROR: reason}), [DECODE_ERROR], reason)


def _decoded_data(codec: Codec, values: Mapping[str, Any], decoded: Decoded) -> DecodedData:
    # A message that was kept for its device may be spelled as older records are.
    is_own = NOT_VALUES.__contains__ if is_of_network(values) else DECODED.__ne__
    own = {name: value for name, value in values.items() if is_own(name)}
    location = None if codec.location is None else find_location(codec.location, decoded.values)
    return merge_decoded(own, decoded, location)


def find_location(paths: LocationPaths, values: Mapping[str, Any]) -> tuple[float, float] | None:
    """Latitude and longitude, if they are a place; devices without a fix often send zeros."""
    latitude, longitude = (_get_number(values, path) for path in paths)
    if latitude is None or longitude is None or (latitude == 0 and longitude == 0):
        return None
    if abs(latitude) > LATITUDE_MAX or abs(longitude) > LONGITUDE_MAX:
        return None
    return latitude, longitude


def _get_number(values: Any, path: tuple[str, ...]) -> float | None:
    for name in path:
        if isinstance(values, dict):
            values = values.get(name)
        elif isinstance(values, list) and name.isdecimal() and int(name) < len(values):
            values = values[int(name)]
        else:
            return None
    if not isinstance(values, int | float) or isinstance(values, bool):
        return None
    return float(values) if math.isfinite(values) else None


def redecode(
    codec: Codec, payload: UplinkPayload, caller: CodecCaller, guard: CodecGuard
) -> DecodedData:
    """Decode a stored payload again; `DecodeError` if that fails. May block."""
    try:
        decoder = guard.decoders.get(codec.kind, codec.source)
        decoded = decoder.decode(payload.content, payload.port, payload.at)
    except DecodeError as error:
        guard.charge(caller, error.cpu_s)
        raise
    except (InvalidDecoder, Unavailable) as error:
        raise DecodeError(str(error)) from None
    guard.charge(caller, decoded.cpu_s)
    return merge_decoded(payload.values, decoded)


def encode_downlink(
    codec: Codec,
    values: Mapping[str, Any],
    port: int | None,
    caller: CodecCaller,
    guard: CodecGuard,
) -> Encoded:
    """The payload of a downlink, or `EncodeError`, or `InvalidDecoder`. Blocks."""
    if not codec.downlink_sources:
        raise EncodeError("the decoder of the device type only decodes")
    try:
        encoded = _downlink_codec(codec, codec.downlink_sources[0], guard).encode(values, port)
    except EncodeError as error:
        guard.charge(caller, error.cpu_s)
        raise
    guard.charge(caller, encoded.cpu_s)
    return encoded


def describe_downlink(
    codec: Codec,
    payload: bytes,
    port: int | None,
    at: Moment,
    caller: CodecCaller,
    guard: CodecGuard,
) -> dict[str, Any] | None:
    """What a downlink means, if a codec can say so. Blocks."""
    for source in codec.downlink_sources:
        try:
            decoder = _downlink_codec(codec, source, guard)
            if not decoder.decodes_downlinks:
                continue
            decoded = decoder.decode_downlink(payload, port, at)
        except CodecFailure as error:
            guard.charge(caller, error.cpu_s)
            return None
        except (InvalidDecoder, Unavailable):
            return None
        guard.charge(caller, decoded.cpu_s)
        return decoded.values
    return None


def _downlink_codec(
    codec: Codec, source: str, guard: CodecGuard
) -> JavaScriptDecoder | JavaScriptEncoder:
    if source is codec.encoder_source:
        return guard.decoders.get_encoder(source)
    decoder = guard.decoders.get(codec.kind, source)
    assert isinstance(decoder, JavaScriptDecoder)
    return decoder


def merge_decoded(
    values: Mapping[str, Any], decoded: Decoded, location: tuple[float, float] | None = None
) -> DecodedData:
    """Add decoded values to the data.

    They replace those that a network has decoded; else a name that is taken gets a `_` appended.
    """
    taken = _RESERVED if is_of_network(values) else _RESERVED.union(values)
    added: dict[str, Any] = {}
    for name, value in decoded.values.items():
        unused = name
        while unused in taken or unused in added or (unused != name and unused in decoded.values):
            unused += "_"
        added[unused] = value
    if decoded.warnings:
        added[DECODE_WARNINGS] = list(decoded.warnings)
    data = {**values, **added}
    if RADIO in values:
        data[RADIO] = data.pop(RADIO)  # behind the values
    truncated = truncate_json(data)
    kept = [name for name in added if name in truncated]
    return DecodedData(truncated, kept, location=location)

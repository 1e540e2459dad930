"""Decode payloads by the decoder of the device's type, and merge the result into a record's data.

Decoded values never replace those of the network. Their names are stored with the record, so that
redecoding can remove them again.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from longwire.clock import Moment
from longwire.decoders.base import Decoded, DecodeError, InvalidDecoder
from longwire.decoders.catalogue import cached_decoder, get_decoder, is_blocking
from longwire.decoders.javascript import JavaScriptDecoder
from longwire.decoders.sandbox_pool import LoopSandboxPool
from longwire.errors import Unavailable
from longwire.networks.base import DECODE_ERROR, DECODE_WARNINGS, DECODED
from longwire.networks.readings import truncate_json
from longwire.store import device_types as store
from longwire.store.cache_epochs import PLATFORM
from longwire.store.database import Tx

_RESERVED = {DECODED, DECODE_ERROR, DECODE_WARNINGS}


class Codec(Struct, frozen=True):
    """The decoder of a device type, if it has one."""

    kind: str = ""
    source: str = ""
    is_blocking: bool = False  # must not be called on the event loop

    @property
    def exists(self) -> bool:
        return bool(self.kind)


CODEC_CACHE = "codecs"


def get_codec(tx: Tx, type_name: str) -> Codec:
    return tx.cached_config(
        CODEC_CACHE, type_name, lambda: _load(tx, type_name), lambda: (PLATFORM,)
    )


def _load(tx: Tx, type_name: str) -> Codec:
    found = store.get(tx, type_name)
    if found is None or found.decoder is None:
        return Codec()
    return Codec(found.decoder, found.decoder_source or "", is_blocking(found.decoder))


class DecodedData(Struct, frozen=True):
    """The data of a record, and which names in it were decoded."""

    data: dict[str, Any]
    names: list[str]
    failure: str | None = None


class UplinkPayload(Struct, frozen=True):
    """A payload, and the data of its record without decoded values."""

    values: Mapping[str, Any]
    content: bytes
    port: int | None
    at: Moment


def decode_payload(codec: Codec, payload: UplinkPayload) -> DecodedData:
    """Decode a new uplink.

    Our decoder replaces what the network itself has decoded, unless it fails.
    """
    try:
        return _to_record_data(payload.values, _decode(codec, payload))
    except DecodeError as error:
        return _to_record_data(payload.values, error)


async def decode_payload_on_loop(
    codec: Codec, payload: UplinkPayload, pool: LoopSandboxPool
) -> DecodedData:
    """Decode a new uplink with a codec that would block the event loop otherwise."""
    try:
        decoder = cached_decoder(codec.kind, codec.source)
        if decoder is None:
            decoder = await asyncio.to_thread(get_decoder, codec.kind, codec.source)
        assert isinstance(decoder, JavaScriptDecoder)
        decoded = await decoder.decode_on_loop(payload.content, payload.port, payload.at, pool)
    except (DecodeError, InvalidDecoder, Unavailable) as error:
        return _to_record_data(payload.values, DecodeError(str(error)))
    return _to_record_data(payload.values, decoded)


def _to_record_data(values: Mapping[str, Any], decoded: Decoded | DecodeError) -> DecodedData:
    if isinstance(decoded, DecodeError):
        data = truncate_json({**values, DECODE_ERROR: decoded.reason})
        return DecodedData(data, [DECODE_ERROR], decoded.reason)
    return merge_decoded(
        {name: value for name, value in values.items() if name != DECODED}, decoded
    )


def redecode(codec: Codec, payload: UplinkPayload) -> DecodedData:
    """Decode a stored payload again; `DecodeError` if that fails."""
    return merge_decoded(payload.values, _decode(codec, payload))


def _decode(codec: Codec, payload: UplinkPayload) -> Decoded:
    try:
        decoder = get_decoder(codec.kind, codec.source)
        return decoder.decode(payload.content, payload.port, payload.at)
    except (InvalidDecoder, Unavailable) as error:
        # The decoder was valid when it was saved: a problem of the service, so store the message.
        raise DecodeError(str(error)) from None


def merge_decoded(values: Mapping[str, Any], decoded: Decoded) -> DecodedData:
    """Add decoded values to the data; a name that is taken gets a `_` appended."""
    data = dict(values)
    names = []
    for name, value in decoded.values.items():
        unused = name
        while (
            unused in data or unused in _RESERVED or (unused != name and unused in decoded.values)
        ):
            unused += "_"
        data[unused] = value
        names.append(unused)
    if decoded.warnings:
        data[DECODE_WARNINGS] = list(decoded.warnings)
        names.append(DECODE_WARNINGS)
    truncated = truncate_json(data)
    return DecodedData(truncated, [name for name in names if name in truncated])

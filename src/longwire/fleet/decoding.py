"""What a payload says, by the decoder of the device's type, and how that is kept.

Decoded values stand in the data of a record beside what the network told, which they never replace.
Which names they took is kept with the record, so that another decoder can take them back.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from longwire.clock import Moment
from longwire.decoders.base import Decoded, DecodeError, InvalidDecoder
from longwire.decoders.catalogue import decoder_of, known_decoder, waits
from longwire.decoders.javascript import JavaScriptDecoder
from longwire.decoders.sandbox_pool import AsyncSandboxPool
from longwire.errors import Unavailable
from longwire.networks.base import DECODE_ERROR, DECODE_WARNINGS, DECODED
from longwire.networks.readings import truncate_json
from longwire.store import device_types as store
from longwire.store.database import Tx

_TAKEN = {DECODED, DECODE_ERROR, DECODE_WARNINGS}


class Codec(Struct, frozen=True):
    """The decoder of a device type, if it has one."""

    kind: str = ""
    source: str = ""

    waits: bool = False  # asking it takes time, so it must not be done on the event loop

    @property
    def exists(self) -> bool:
        return bool(self.kind)


CODEC_CACHE = "codecs"


def get_codec(tx: Tx, type_name: str) -> Codec:
    return tx.cached(CODEC_CACHE, type_name, lambda: _load(tx, type_name))


def _load(tx: Tx, type_name: str) -> Codec:
    found = store.get(tx, type_name)
    if found is None or found.decoder is None:
        return Codec()
    return Codec(found.decoder, found.decoder_source or "", waits(found.decoder))


class DecodedData(Struct, frozen=True):
    """The data of a record, and which names in it come of decoding."""

    data: dict[str, Any]
    names: list[str]
    failure: str | None = None


class UplinkPayload(Struct, frozen=True):
    """Bytes that a device sent, and what the network said of them."""

    said: Mapping[str, Any]
    content: bytes
    port: int | None
    at: Moment


def decode_payload(codec: Codec, payload: UplinkPayload) -> DecodedData:
    """What a message says that has just come in.

    What the network itself has made of the payload gives way to our decoder, unless that fails.
    """
    try:
        return _understood(payload.said, _decode(codec, payload))
    except DecodeError as error:
        return _understood(payload.said, error)


def decode_async(
    codec: Codec,
    payload: UplinkPayload,
    sandboxes: AsyncSandboxPool,
    tell: Callable[[DecodedData | None], None],
) -> bool:
    """The same with a codec that waits, for an event loop, which is told later.

    Where it is told None, or this is False, only `decode_payload` can find out.
    """
    decoder = known_decoder(codec.kind, codec.source)
    if not isinstance(decoder, JavaScriptDecoder):
        return False

    def told(decoded: Decoded | DecodeError | None) -> None:
        tell(None if decoded is None else _understood(payload.said, decoded))

    return decoder.decode_soon(payload.content, payload.port, payload.at, sandboxes, told)


def _understood(said: Mapping[str, Any], decoded: Decoded | DecodeError) -> DecodedData:
    if isinstance(decoded, DecodeError):
        data = truncate_json({**said, DECODE_ERROR: decoded.reason})
        return DecodedData(data, [DECODE_ERROR], decoded.reason)
    return merge_decoded({name: value for name, value in said.items() if name != DECODED}, decoded)


def redecode(codec: Codec, payload: UplinkPayload) -> DecodedData:
    """What a stored message says; or `DecodeError`, and then it stays as it is."""
    return merge_decoded(payload.said, _decode(codec, payload))


def _decode(codec: Codec, payload: UplinkPayload) -> Decoded:
    try:
        decoder = decoder_of(codec.kind, codec.source)
        return decoder.decode(payload.content, payload.port, payload.at)
    except (InvalidDecoder, Unavailable) as error:
        # It was tried when it was saved, so this is our trouble; the message is not to suffer.
        raise DecodeError(str(error)) from None


def merge_decoded(said: Mapping[str, Any], decoded: Decoded) -> DecodedData:
    """Decoded values next to what was said. A value whose name is taken gets one with a `_`."""
    data = dict(said)
    names = []
    for name, value in decoded.values.items():
        free = name
        while free in data or free in _TAKEN or (free != name and free in decoded.values):
            free += "_"
        data[free] = value
        names.append(free)
    if decoded.warnings:
        data[DECODE_WARNINGS] = list(decoded.warnings)
        names.append(DECODE_WARNINGS)
    fit = truncate_json(data)
    return DecodedData(fit, [name for name in names if name in fit])

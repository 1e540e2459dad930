"""A customer's own codec in JavaScript, as the large LoRaWAN servers run it.

What a codec defines, the first of each line that is there:

    decodeUplink({bytes, fPort, recvTime, variables})   Decode(fPort, bytes)   Decoder(bytes, port)
    encodeDownlink({data, fPort, variables})            Encode(fPort, data)    Encoder(data, port)

The long forms return `{data, warnings, errors}` and `{bytes, fPort, errors}`, the short ones the
data or the bytes alone. `recvTime` is a Date, `variables` is empty, `fPort` is null on a network
without ports; `console` discards its output. There is nothing but the language: no modules, timers,
files or network.

Every call runs the codec from its first line in a fresh engine in a sandbox process, so no state
survives a call. What is not JSON becomes JSON as `JSON.stringify` does it (NaN is null, undefined
is left out) or is an error.

A codec that exceeds its time limit is suspended in proportion: the caller may be the only writer of
a database.
"""

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from longwire.clock import MILLISECOND, Moment
from longwire.decoders.base import (
    PAYLOAD_BYTES_MAX,
    Decoded,
    DecodeError,
    Encoded,
    EncodeError,
    InvalidDecoder,
    check_payload_size,
)
from longwire.decoders.sandbox_pool import (
    SANDBOX_POOL,
    LoopSandboxPool,
    SandboxCrashed,
    SandboxPool,
    SandboxUnavailable,
)
from longwire.errors import Unavailable

SOURCE_BYTES_MAX = 128 * 1024
VALUES_BYTES_MAX = 64 * 1024
VALUES_LEVELS_MAX = 32
WARNINGS_MAX = 16
# Warnings and errors of a codec are truncated to this.
TEXT_CHARACTERS_MAX = 200
PORT_MAX = 255
# A codec that timed out is suspended for so many times as long, so that it takes at most one
# twentieth of the time of the sandboxes.
SUSPENSION_FACTOR = 20

INTEGERS = range(-(2**63), 2**63)
LOCATION = re.compile(r"<input>:([0-9]{1,9}):([0-9]{1,9})")


class _SandboxResponse(msgspec.Struct):
    value: Any = None
    thrown: str | None = None
    stack: str = ""
    stopped: str | None = None


_RESPONSE_DECODER = msgspec.json.Decoder(_SandboxResponse)


class _CodecError(Exception):
    """A call of the codec failed: why, and where if that is known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason if line is None else f"{reason} (line {line})")
        self.reason = reason
        self.line = line or 1
        self.column = column or 1


class JavaScriptDecoder:
    """A codec that was loaded once without errors. Thread-safe."""

    def __init__(self, source: str, pool: SandboxPool = SANDBOX_POOL) -> None:
        self._source = _source_bytes(source)
        self._pool = pool
        self._suspended_until_s = 0.0
        try:
            functions = self._call({"verb": "check"})
        except SandboxUnavailable as error:
            raise Unavailable(f"The codec cannot be checked now: {error}.") from error
        except _CodecError as error:
            raise InvalidDecoder(error.reason, error.line, error.column) from None
        if not isinstance(functions, dict) or not functions.get("decodes"):
            raise InvalidDecoder("the codec defines no function decodeUplink, Decode or Decoder")
        self.encodes = bool(functions.get("encodes"))

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        """Blocks until a sandbox responds: never call it on the event loop."""
        try:
            return _parse_decoded(self._call(_decode_call(payload, port, at)))
        except (_CodecError, SandboxUnavailable) as error:
            raise DecodeError(str(error)) from None

    async def decode_on_loop(
        self, payload: bytes, port: int | None, at: Moment, pool: LoopSandboxPool
    ) -> Decoded:
        """Like `decode`, for an event loop."""
        try:
            self._check_suspension()
            call = _encode_call(_decode_call(payload, port, at))
            with self._suspending_on_crash():
                content = await pool.run(self._source, call)
            return _parse_decoded(self._parse_value(content))
        except (_CodecError, SandboxUnavailable) as error:
            raise DecodeError(str(error)) from None

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        """Blocks like `decode`."""
        if not self.encodes:
            raise EncodeError("the codec defines no function encodeDownlink, Encode or Encoder")
        try:
            return _parse_encoded(
                self._call({"verb": "encode", "data": values, "port": port}), port
            )
        except (_CodecError, SandboxUnavailable) as error:
            raise EncodeError(str(error)) from None

    def _call(self, call: Mapping[str, Any]) -> Any:
        self._check_suspension()
        with self._suspending_on_crash():
            content = self._pool.run(self._source, _encode_call(call))
        return self._parse_value(content)

    def _check_suspension(self) -> None:
        left_s = self._suspended_until_s - time.monotonic()
        if left_s > 0:
            raise _CodecError(f"the codec ran out of time; it is suspended for {left_s:.1f} s more")

    @contextlib.contextmanager
    def _suspending_on_crash(self) -> Iterator[None]:
        try:
            yield
        except SandboxCrashed as died:
            self._suspend(died.spent_s)
            raise _CodecError("the codec ran out of time or memory and was killed") from None

    def _parse_value(self, content: bytes) -> Any:
        """What the codec returned, or why it did not."""
        response = _parse_response(content)
        if response.stopped == "time":
            self._suspend(self._pool.limits.processor_s_max)
            raise _CodecError("the codec ran out of time")
        if response.stopped is not None:
            raise _CodecError("the codec returned too much")
        if response.thrown is not None:
            raise _error_from_exception(response.thrown, response.stack)
        return response.value

    def _suspend(self, spent_s: float) -> None:
        self._suspended_until_s = time.monotonic() + SUSPENSION_FACTOR * spent_s


def _decode_call(payload: bytes, port: int | None, at: Moment) -> dict[str, Any]:
    return {
        "verb": "decode",
        "bytes": list(check_payload_size(payload)),
        "port": port,
        "at": at // MILLISECOND,
    }


def _source_bytes(source: str) -> bytes:
    # The engine takes a NUL for the end of the text.
    before_zero, zero, _ = source.partition("\0")
    if zero:
        line, column = before_zero.count("\n") + 1, len(before_zero.rpartition("\n")[2]) + 1
        raise InvalidDecoder("the codec has a NUL character", line, column)
    try:
        content = source.encode()
    except UnicodeEncodeError:
        raise InvalidDecoder("the codec is not Unicode text") from None
    if len(content) > SOURCE_BYTES_MAX:
        raise InvalidDecoder(f"the codec has more than {SOURCE_BYTES_MAX} bytes")
    return content


def _encode_call(call: Mapping[str, Any]) -> bytes:
    try:
        content = msgspec.json.encode(call)
    except (TypeError, ValueError, RecursionError):
        raise _CodecError("the values are not JSON") from None
    if len(content) > VALUES_BYTES_MAX:
        raise _CodecError(f"the values have more than {VALUES_BYTES_MAX} bytes")
    return content


def _parse_response(response: bytes) -> _SandboxResponse:
    try:
        parsed = _RESPONSE_DECODER.decode(response)
        parsed.value = _bound_integers(parsed.value)
        return parsed
    except RecursionError:
        raise _CodecError(f"the codec returned more than {VALUES_LEVELS_MAX} levels") from None
    except msgspec.DecodeError:
        # JSON.stringify writes lone surrogates, which no database stores.
        raise _CodecError("the codec returned text that is not Unicode") from None


def _bound_integers(value: Any, levels: int = VALUES_LEVELS_MAX + 2) -> Any:
    """The same value, without integers that not every JSON parser takes."""
    if isinstance(value, dict):
        if not levels:
            raise RecursionError
        return {name: _bound_integers(each, levels - 1) for name, each in value.items()}
    if isinstance(value, list):
        if not levels:
            raise RecursionError
        return [_bound_integers(each, levels - 1) for each in value]
    if isinstance(value, int) and value not in INTEGERS:
        return float(value)
    return value


def _error_from_exception(text: str, stack: str) -> _CodecError:
    if text == "null":
        # When there is no memory left for an error, the engine throws null.
        return _CodecError("the codec threw null, or ran out of memory")
    location = LOCATION.search(stack)
    line, column = (int(location[1]), int(location[2])) if location else (None, None)
    return _CodecError(f"the codec failed: {_truncate(text)}", line, column)


def _parse_decoded(returned: Any) -> Decoded:
    if not isinstance(returned, dict):
        raise _CodecError("the codec returned no object")
    _raise_errors(returned.get("errors"))
    values = returned.get("data")
    if not isinstance(values, dict):
        raise _CodecError("the codec returned no data, which must be an object")
    return Decoded(values, _texts(returned.get("warnings")))


def _parse_encoded(returned: Any, port: int | None) -> Encoded:
    if not isinstance(returned, dict):
        raise _CodecError("the codec returned no object")
    _raise_errors(returned.get("errors"))
    content = returned.get("bytes")
    if not isinstance(content, list) or not all(_is_integer_up_to(each, 255) for each in content):
        raise _CodecError("the codec returned no bytes, which must be numbers from 0 to 255")
    if len(content) > PAYLOAD_BYTES_MAX:
        raise _CodecError(f"the codec returned more than {PAYLOAD_BYTES_MAX} bytes")
    chosen = returned.get("port")
    if chosen is None:
        return Encoded(bytes(content), port)
    if not _is_integer_up_to(chosen, PORT_MAX):
        raise _CodecError(f"the codec returned a port that is not a number from 0 to {PORT_MAX}")
    return Encoded(bytes(content), chosen)


def _is_integer_up_to(value: Any, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high


def _raise_errors(errors: Any) -> None:
    texts = _texts(errors)
    if texts:
        raise _CodecError(f"the codec says: {_truncate('; '.join(texts))}")


def _texts(value: Any) -> tuple[str, ...]:
    """Warnings or errors. They should be a list of strings, and are often something else."""
    if not value:
        return ()
    values = value if isinstance(value, list) else [value]
    return tuple(_truncate(_text(each)) for each in values[:WARNINGS_MAX])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _truncate(text: str) -> str:
    one_line = " ".join(text[: TEXT_CHARACTERS_MAX * 4].split())
    if len(one_line) <= TEXT_CHARACTERS_MAX:
        return one_line
    return f"{one_line[: TEXT_CHARACTERS_MAX - 1]}…"

"""A customer's own codec in JavaScript, as the large LoRaWAN servers run it.

What a codec defines or exports, the first of each line that is there:

    decodeUplink({bytes, fPort, recvTime, variables})   Decode(fPort, bytes)   Decoder(bytes, port)
    encodeDownlink({data, fPort, variables})            Encode(fPort, data)    Encoder(data, port)
    decodeDownlink({bytes, fPort, recvTime, variables})
    normalizeUplink({data})

The long forms return `{data, warnings, errors}` and `{bytes, fPort, errors}`, the short ones the
data or the bytes alone. `recvTime` is a Date, `variables` is empty, `fPort` is null on a network
without ports; `console` discards its output, and the time zone is UTC. A codec that names them has
a `Buffer`, or `module` and `exports`. There is nothing but the language otherwise: no modules,
timers, files or network.

Every call runs the codec in an engine that has run nothing but its source, in a sandbox process, so
no state survives a call. What is not JSON becomes JSON as `JSON.stringify` does it (NaN is null,
undefined is left out) or is an error; half a surrogate pair becomes U+FFFD.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeVar

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
from longwire.decoders.engine_scripts import (
    DECODERS,
    ENCODERS,
    FUNCTIONS,
    find_foreign_globals,
)
from longwire.decoders.sandbox_pool import (
    LoopSandboxPool,
    SandboxCrashed,
    SandboxPool,
    SandboxResult,
    SandboxUnavailable,
)
from longwire.errors import Unavailable

SOURCE_BYTES_MAX = 512 * 1024
VALUES_BYTES_MAX = 64 * 1024
VALUES_LEVELS_MAX = 32
WARNINGS_MAX = 16
# Warnings and errors of a codec are truncated to this.
TEXT_CHARACTERS_MAX = 200
PORT_MAX = 255
# The name of what `normalizeUplink` returned, among the values.
NORMALIZED = "normalized"

INTEGERS = range(-(2**63), 2**63)
LOCATION = re.compile(r"<input>:([0-9]{1,9}):([0-9]{1,9})")
LARGE_INTEGER = re.compile(rb"[0-9]{19}")

T = TypeVar("T")


class _SandboxResponse(msgspec.Struct):
    value: Any = None
    thrown: str | None = None
    stack: str = ""
    stopped: str | None = None


_RESPONSE_DECODER = msgspec.json.Decoder(_SandboxResponse)
_STOPPED = {
    "time": "the codec ran out of time",
    "load": "the codec ran out of time while it was loaded",
    "size": "the codec returned too much",
}
KILLED = "the codec ran out of time or memory and was killed"


class _CodecError(Exception):
    """A call of the codec failed: why, and where if that is known."""

    def __init__(
        self,
        reason: str,
        line: int | None = None,
        column: int | None = None,
        *,
        cpu_s: float = 0.0,
        is_timeout: bool = False,
    ) -> None:
        super().__init__(reason if line is None else f"{reason} (line {line})")
        self.reason = reason
        self.line = line or 1
        self.column = column or 1
        self.cpu_s = cpu_s
        self.is_timeout = is_timeout


class _NoSandbox(_CodecError):
    """The codec was not called."""


class _JavaScriptCodec:
    """A source that was loaded once without errors. Thread-safe.

    What blocks until a sandbox responds must not be called on an event loop.
    """

    REQUIRED: ClassVar[tuple[str, str, str]]

    def __init__(self, source: str, pool: SandboxPool) -> None:
        self._source = _source_bytes(source)
        self._pool = pool
        call = {"verb": "check", "functions": FUNCTIONS, "names": find_foreign_globals(source)}
        try:
            found = _parse(_parse_check, self._run(call))
        except _NoSandbox as error:
            raise Unavailable(f"The codec cannot be checked now: {error}.") from error
        except _CodecError as error:
            raise InvalidDecoder(error.reason, error.line, error.column, error.cpu_s) from None
        self._functions = {name for name in FUNCTIONS if found.get(name) is True}
        if self._functions.isdisjoint(self.REQUIRED):
            raise InvalidDecoder(_no_function(self.REQUIRED))
        self._decode_verb = "normalize" if "normalizeUplink" in self._functions else "decode"
        self.decodes_downlinks = "decodeDownlink" in self._functions
        self.warnings = tuple(
            f"the codec uses {name}, which does not exist here" for name in found["missing"]
        )

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        """Blocks."""
        return self._decode(self._decode_verb, payload, port, at)

    async def decode_on_loop(
        self, payload: bytes, port: int | None, at: Moment, pool: LoopSandboxPool, group: str = ""
    ) -> Decoded:
        """Like `decode`, for an event loop; groups that wait get equal shares of its sandboxes."""
        try:
            call = _encode_call(_decode_call(self._decode_verb, payload, port, at))
            return _parse(_parse_decoded, await pool.run(self._source, call, group))
        except SandboxCrashed as error:
            raise DecodeError(KILLED, error.spent_s, is_timeout=True) from None
        except SandboxUnavailable as error:
            raise DecodeError(str(error)) from None
        except _CodecError as error:
            raise DecodeError(str(error), error.cpu_s, error.is_timeout) from None

    def decode_downlink(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        """What a downlink means, if `decodes_downlinks`. Blocks."""
        return self._decode("decodeDownlink", payload, port, at)

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        """Blocks."""
        if self._functions.isdisjoint(ENCODERS):
            raise EncodeError(_no_function(ENCODERS))
        try:
            result = self._run({"verb": "encode", "data": values, "port": port})
            return _parse(partial(_parse_encoded, port), result)
        except _CodecError as error:
            raise EncodeError(str(error), error.cpu_s, error.is_timeout) from None

    def _decode(self, verb: str, payload: bytes, port: int | None, at: Moment) -> Decoded:
        try:
            return _parse(_parse_decoded, self._run(_decode_call(verb, payload, port, at)))
        except _CodecError as error:
            raise DecodeError(str(error), error.cpu_s, error.is_timeout) from None

    def _run(self, call: Mapping[str, Any]) -> SandboxResult:
        try:
            return self._pool.run(self._source, _encode_call(call))
        except SandboxCrashed as error:
            raise _CodecError(KILLED, cpu_s=error.spent_s, is_timeout=True) from None
        except SandboxUnavailable as error:
            raise _NoSandbox(str(error)) from error


class JavaScriptDecoder(_JavaScriptCodec):
    """A codec that decodes uplinks; it may encode downlinks, too."""

    REQUIRED = DECODERS


class JavaScriptEncoder(_JavaScriptCodec):
    """A codec in a source of its own that encodes downlinks."""

    REQUIRED = ENCODERS


def _no_function(names: tuple[str, str, str]) -> str:
    return "the codec defines no function {}, {} or {}".format(*names)


def _decode_call(verb: str, payload: bytes, port: int | None, at: Moment) -> dict[str, Any]:
    content = list(check_payload_size(payload))
    return {"verb": verb, "bytes": content, "port": port, "at": at // MILLISECOND}


# The engine takes a NUL for the end of the text. In strings, templates and regular expressions the
# escape is the same; a backslash before it belongs to it, but not one that is escaped itself.
_NUL = re.compile(r"(?<!\\)(\\*)\0")


def _escape_nul(found: re.Match[str]) -> str:
    return found[1][: len(found[1]) // 2 * 2] + r"\x00"


def _source_bytes(source: str) -> bytes:
    try:
        content = source.encode()
        if "\0" in source and len(content) <= SOURCE_BYTES_MAX:
            content = _NUL.sub(_escape_nul, source).encode()
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


def _parse(parse: Callable[[Any, float], T], result: SandboxResult) -> T:
    """What the codec returned, or why it did not."""
    try:
        response = _parse_response(result.content)
        if response.stopped is not None:
            raise _CodecError(_STOPPED[response.stopped], is_timeout=response.stopped != "size")
        if response.thrown is not None:
            raise _error_from_exception(response.thrown, response.stack)
        return parse(response.value, result.cpu_s)
    except _CodecError as error:
        error.cpu_s = result.cpu_s
        raise


def _parse_response(response: bytes) -> _SandboxResponse:
    try:
        try:
            parsed = _RESPONSE_DECODER.decode(response)
        except msgspec.DecodeError:
            parsed = _RESPONSE_DECODER.decode(_replace_surrogates(response))
        if _may_exceed(response):
            parsed.value = _bound_integers(parsed.value)
        return parsed
    except RecursionError:
        raise _CodecError(f"the codec returned more than {VALUES_LEVELS_MAX} levels") from None
    except (msgspec.DecodeError, ValueError):
        raise _CodecError("the codec returned something that is not JSON") from None


def _replace_surrogates(response: bytes) -> bytes:
    """The same JSON with U+FFFD for half a surrogate pair, which is no Unicode."""
    text = json.dumps(json.loads(response), ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _may_exceed(response: bytes) -> bool:
    """Whether a response may have a large integer or too many levels; most cannot."""
    opened = response.count(b"{") + response.count(b"[")
    return opened > VALUES_LEVELS_MAX or LARGE_INTEGER.search(response) is not None


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


def _parse_check(returned: Any, _: float) -> dict[str, Any]:
    if not isinstance(returned, dict) or not isinstance(returned.get("missing"), list):
        raise _CodecError("the codec cannot be checked")
    return returned


def _parse_decoded(returned: Any, cpu_s: float) -> Decoded:
    if not isinstance(returned, dict):
        raise _CodecError("the codec returned no object")
    _raise_errors(returned.get("errors"))
    values = returned.get("data")
    if not isinstance(values, dict):
        raise _CodecError("the codec returned no data, which must be an object")
    warnings = _texts(returned.get("warnings"))
    normalized = returned.get("normalized")
    if normalized:
        values[_unused(NORMALIZED, values)] = normalized
    problems = _texts(returned.get("problems"))
    warnings += tuple(f"normalizeUplink: {each}" for each in problems)
    return Decoded(values, warnings[:WARNINGS_MAX], cpu_s)


def _unused(name: str, values: Mapping[str, Any]) -> str:
    while name in values:
        name += "_"
    return name


def _parse_encoded(port: int | None, returned: Any, cpu_s: float) -> Encoded:
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
        return Encoded(bytes(content), port, cpu_s)
    if not _is_integer_up_to(chosen, PORT_MAX):
        raise _CodecError(f"the codec returned a port that is not a number from 0 to {PORT_MAX}")
    return Encoded(bytes(content), chosen, cpu_s)


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

"""A customer's own codec in JavaScript, as the large LoRaWAN servers run it.

What a codec defines, the first of each line that is there:

    decodeUplink({bytes, fPort, recvTime, variables})   Decode(fPort, bytes)   Decoder(bytes, port)
    encodeDownlink({data, fPort, variables})            Encode(fPort, data)    Encoder(data, port)

The long forms return `{data, warnings, errors}` and `{bytes, fPort, errors}`, the short ones the
data or the bytes alone. `recvTime` is a Date, `variables` is empty, `fPort` is null on a network
without ports; `console` swallows what it is told. There is nothing else than the language: no
modules, no timers, no files, no network.

A codec is run for every call from its first line on, in an engine of its own, in a process of its
own: what one call does to its variables or to the language, the next one does not see. What is not
JSON becomes JSON as `JSON.stringify` has it (NaN is null, undefined is left out) or is refused.

A codec that uses up its time is left alone for a while, in proportion. Whoever waits for it may be
the one writer of a database.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from longwire.clock import MILLISECOND, Moment
from longwire.decoders.base import (
    PAYLOAD_BYTES_MAX,
    BadDecoder,
    CannotDecode,
    CannotEncode,
    Decoded,
    Encoded,
    bounded,
)
from longwire.decoders.sandbox_pool import (
    SANDBOXES,
    LoopSandboxes,
    NoSandbox,
    SandboxDied,
    Sandboxes,
)
from longwire.errors import Unavailable

SOURCE_BYTES_MAX = 128 * 1024
VALUES_BYTES_MAX = 64 * 1024
VALUES_LEVELS_MAX = 32
WARNINGS_MAX = 16
# Of what a codec says, how much is repeated.
TEXT_CHARACTERS_MAX = 200
PORT_MAX = 255
# A codec that took all of its time rests for so many times as long: it can hold up no more than one
# twentieth of the calls around it.
REST_FACTOR = 20

INTEGERS = range(-(2**63), 2**63)
PLACE = re.compile(r"<input>:([0-9]{1,9}):([0-9]{1,9})")


class _Answer(msgspec.Struct):
    value: Any = None
    thrown: str | None = None
    stack: str = ""
    stopped: str | None = None


_ANSWER = msgspec.json.Decoder(_Answer)


class _Failure(Exception):
    """The codec has not done what it was asked; why, and where if that is known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason if line is None else f"{reason} (line {line})")
        self.reason = reason
        self.line = line or 1
        self.column = column or 1


class JavaScriptDecoder:
    """A codec that could be loaded and can be called as often as needed, in any thread."""

    def __init__(self, source: str, sandboxes: Sandboxes = SANDBOXES) -> None:
        self._source = _source_bytes(source)
        self._sandboxes = sandboxes
        self._rests_until_s = 0.0
        try:
            found = self._call({"verb": "check"})
        except NoSandbox as error:
            raise Unavailable(f"The codec cannot be tried now: {error}.") from error
        except _Failure as failure:
            raise BadDecoder(failure.reason, failure.line, failure.column) from None
        if not isinstance(found, dict) or not found.get("decodes"):
            raise BadDecoder("the codec defines no function decodeUplink, Decode or Decoder")
        self.encodes = bool(found.get("encodes"))

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        """Waits for a sandbox: call it where waiting is allowed, and never on the event loop."""
        try:
            return _decoded(self._call(_to_decode(payload, port, at)))
        except (_Failure, NoSandbox) as failure:
            raise CannotDecode(str(failure)) from None

    def decode_soon(
        self,
        payload: bytes,
        port: int | None,
        at: Moment,
        sandboxes: LoopSandboxes,
        tell: Callable[[Decoded | CannotDecode | None], None],
    ) -> bool:
        """The same for an event loop, which is told later; None if only `decode` can find out.

        False if there is no sandbox to ask at once, or nothing to ask it.
        """
        if len(payload) > PAYLOAD_BYTES_MAX or self._rests_until_s > time.monotonic():
            return False

        def told(content: bytes | None) -> None:
            decoded: Decoded | CannotDecode | None = None
            if content is not None:
                try:
                    decoded = _decoded(self._value(content))
                except _Failure as failure:
                    decoded = CannotDecode(str(failure))
            tell(decoded)

        return sandboxes.ask(self._source, _written(_to_decode(payload, port, at)), told)

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        """Waits for a sandbox, like `decode`."""
        if not self.encodes:
            raise CannotEncode("the codec defines no function encodeDownlink, Encode or Encoder")
        try:
            return _encoded(self._call({"verb": "encode", "data": values, "port": port}), port)
        except (_Failure, NoSandbox) as failure:
            raise CannotEncode(str(failure)) from None

    def _call(self, call: Mapping[str, Any]) -> Any:
        rest_s = self._rests_until_s - time.monotonic()
        if rest_s > 0:
            raise _Failure(f"the codec ran out of time lately, and rests for {rest_s:.1f} s more")
        try:
            content = self._sandboxes.ask(self._source, _written(call))
        except SandboxDied as died:
            self._rest(died.spent_s)
            raise _Failure("the codec ran out of time or memory, and was ended") from None
        return self._value(content)

    def _value(self, content: bytes) -> Any:
        """What the codec returned, if it did."""
        answer = _read(content)
        if answer.stopped == "time":
            self._rest(self._sandboxes.limits.processor_s_max)
            raise _Failure("the codec ran out of time")
        if answer.stopped is not None:
            raise _Failure("the codec returned too much")
        if answer.thrown is not None:
            raise _thrown(answer.thrown, answer.stack)
        return answer.value

    def _rest(self, spent_s: float) -> None:
        self._rests_until_s = time.monotonic() + REST_FACTOR * spent_s


def _to_decode(payload: bytes, port: int | None, at: Moment) -> dict[str, Any]:
    return {
        "verb": "decode",
        "bytes": list(bounded(payload)),
        "port": port,
        "at": at // MILLISECOND,
    }


def _source_bytes(source: str) -> bytes:
    # The engine takes a zero for the end of the text.
    before_zero, zero, _ = source.partition("\0")
    if zero:
        line, column = before_zero.count("\n") + 1, len(before_zero.rpartition("\n")[2]) + 1
        raise BadDecoder("the codec has a zero character", line, column)
    try:
        content = source.encode()
    except UnicodeEncodeError:
        raise BadDecoder("the codec is not Unicode text") from None
    if len(content) > SOURCE_BYTES_MAX:
        raise BadDecoder(f"the codec has more than {SOURCE_BYTES_MAX} bytes")
    return content


def _written(call: Mapping[str, Any]) -> bytes:
    try:
        content = msgspec.json.encode(call)
    except (TypeError, ValueError, RecursionError):
        raise _Failure("the values are not JSON") from None
    if len(content) > VALUES_BYTES_MAX:
        raise _Failure(f"the values have more than {VALUES_BYTES_MAX} bytes")
    return content


def _read(answer: bytes) -> _Answer:
    try:
        read = _ANSWER.decode(answer)
        read.value = _storable(read.value)
        return read
    except RecursionError:
        raise _Failure(f"the codec returned more than {VALUES_LEVELS_MAX} levels") from None
    except msgspec.DecodeError:
        # JSON.stringify writes halves of characters, which no database keeps.
        raise _Failure("the codec returned text that is not Unicode") from None


def _storable(value: Any, levels: int = VALUES_LEVELS_MAX + 2) -> Any:
    """The same value, without numbers that not every reader of JSON takes."""
    if isinstance(value, dict):
        if not levels:
            raise RecursionError
        return {name: _storable(each, levels - 1) for name, each in value.items()}
    if isinstance(value, list):
        if not levels:
            raise RecursionError
        return [_storable(each, levels - 1) for each in value]
    if isinstance(value, int) and value not in INTEGERS:
        return float(value)
    return value


def _thrown(text: str, stack: str) -> _Failure:
    if text == "null":
        # When there is no memory left for an error, the engine throws null.
        return _Failure("the codec threw null, or ran out of memory")
    place = PLACE.search(stack)
    line, column = (int(place[1]), int(place[2])) if place else (None, None)
    return _Failure(f"the codec failed: {_cut(text)}", line, column)


def _decoded(returned: Any) -> Decoded:
    if not isinstance(returned, dict):
        raise _Failure("the codec returned no object")
    _refuse_errors(returned.get("errors"))
    values = returned.get("data")
    if not isinstance(values, dict):
        raise _Failure("the codec returned no data, which must be an object")
    return Decoded(values, _texts(returned.get("warnings")))


def _encoded(returned: Any, port: int | None) -> Encoded:
    if not isinstance(returned, dict):
        raise _Failure("the codec returned no object")
    _refuse_errors(returned.get("errors"))
    content = returned.get("bytes")
    if not isinstance(content, list) or not all(_is_whole(each, 255) for each in content):
        raise _Failure("the codec returned no bytes, which must be numbers from 0 to 255")
    if len(content) > PAYLOAD_BYTES_MAX:
        raise _Failure(f"the codec returned more than {PAYLOAD_BYTES_MAX} bytes")
    chosen = returned.get("port")
    if chosen is None:
        return Encoded(bytes(content), port)
    if not _is_whole(chosen, PORT_MAX):
        raise _Failure(f"the codec returned a port that is not a number from 0 to {PORT_MAX}")
    return Encoded(bytes(content), chosen)


def _is_whole(value: Any, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high


def _refuse_errors(errors: Any) -> None:
    texts = _texts(errors)
    if texts:
        raise _Failure(f"the codec says: {_cut('; '.join(texts))}")


def _texts(said: Any) -> tuple[str, ...]:
    """Warnings or errors. They ought to be a list of texts, and are often something else."""
    if not said:
        return ()
    several = said if isinstance(said, list) else [said]
    return tuple(_cut(_text(each)) for each in several[:WARNINGS_MAX])


def _text(said: Any) -> str:
    return said if isinstance(said, str) else msgspec.json.encode(said).decode()


def _cut(text: str) -> str:
    one_line = " ".join(text[: TEXT_CHARACTERS_MAX * 4].split())
    if len(one_line) <= TEXT_CHARACTERS_MAX:
        return one_line
    return f"{one_line[: TEXT_CHARACTERS_MAX - 1]}…"

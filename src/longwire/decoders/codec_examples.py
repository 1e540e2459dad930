"""Examples of codecs: what a codec should make of an input, and what it does make of it."""

from collections.abc import Mapping
from typing import Any, Literal

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.dates import parse_date
from longwire.decoders.base import CodecFailure, Decoded
from longwire.decoders.javascript import NORMALIZED, PORT_MAX, JavaScriptDecoder, JavaScriptEncoder

# What a codec says itself is an error that an example may expect.
CODEC_SAYS = "the codec says: "

Json = dict[str, Any]
Verb = Literal["decode", "encode", "decodeDownlink"]


@dataclass(frozen=True, slots=True)
class CodecExample:
    """What a codec should make of an input."""

    name: str
    verb: Verb
    given: Json
    expected: Json
    normalized: Any = None  # what `normalizeUplink` should make of it, if that is known


def run_example(
    codec: JavaScriptDecoder | JavaScriptEncoder, example: CodecExample, now: Moment
) -> Json:
    """What the codec returns, in the shape of an example. Blocks."""
    given = example.given
    try:
        port = _parse_port(given.get("fPort"))
        if example.verb == "encode":
            encoded = codec.encode(given.get("data") or {}, port)
            return {"bytes": list(encoded.payload), "fPort": encoded.port}
        content, at = _parse_content(given.get("bytes")), _get_moment(given, now)
        if example.verb == "decode":
            return _show_decoded(codec.decode(content, port, at))
        return _show_decoded(codec.decode_downlink(content, port, at))
    except CodecFailure as error:
        return {"errors": [error.reason]}
    except (ValueError, TypeError):
        return {"errors": ["the input of the example cannot be read"]}


def _parse_port(given: Any) -> int | None:
    if given is None or (isinstance(given, int) and 0 <= given <= PORT_MAX):
        return given
    raise ValueError


def _parse_content(given: Any) -> bytes:
    if isinstance(given, list | None):
        return bytes(given or ())
    raise ValueError


def _get_moment(given: Mapping[str, Any], now: Moment) -> Moment:
    text = given.get("recvTime")
    return parse_date(text) if isinstance(text, str) else now


def _show_decoded(decoded: Decoded) -> dict[str, Any]:
    values = dict(decoded.values)
    shown: dict[str, Any] = {"data": values}
    if NORMALIZED in values:
        shown[NORMALIZED] = values.pop(NORMALIZED)
    if decoded.warnings:
        shown["warnings"] = list(decoded.warnings)
    return shown


def fits(example: CodecExample, actual: Mapping[str, Any]) -> bool:
    """Whether the codec does what the example says, as far as it says something."""
    expected = example.expected
    if expected.get("errors"):
        return str(actual.get("errors", [""])[0]).startswith(CODEC_SAYS)
    if "errors" in actual:
        return False
    if example.verb == "encode":
        is_port = expected.get("fPort") in (None, actual["fPort"])
        return is_port and is_same(expected.get("bytes") or [], actual["bytes"])
    if not is_same(expected.get("data") or {}, actual["data"]):
        return False
    if expected.get("warnings") and not is_same(expected["warnings"], actual.get("warnings")):
        return False
    normalized = actual.get(NORMALIZED)
    return example.normalized is None or any(
        is_same(example.normalized, each) for each in (normalized, [normalized])
    )


def is_same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not; a member that is null may be missing."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(is_same(one.get(name), other.get(name)) for name in {*one, *other})
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)

"""Cayenne LPP: a self-describing payload, value after value.

Each value is a channel, a type and its bytes, big-endian. It is named after type and channel:
`temperature_1`. Names and units are those of the large LoRaWAN servers, so that a customer who
migrates finds the same fields. The types are the twelve of the original and those of the common
extension without the polyline.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from longwire.clock import Moment
from longwire.decoders.base import (
    Decoded,
    DecodeError,
    Encoded,
    EncodeError,
    InvalidDecoder,
    check_payload_size,
)


class LppPart(NamedTuple):
    """One number of a value; it has a name where a value has several."""

    size: int
    divisor: int = 1
    is_signed: bool = False
    name: str = ""


class LppType(NamedTuple):
    name: str
    parts: tuple[LppPart, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def _scalar(name: str, size: int, divisor: int = 1, *, is_signed: bool = False) -> LppType:
    return LppType(name, (LppPart(size, divisor, is_signed),))


def _axes(name: str, divisor: int) -> LppType:
    return LppType(name, tuple(LppPart(2, divisor, True, axis) for axis in "xyz"))


TYPES = {
    0: _scalar("digital_in", 1),
    1: _scalar("digital_out", 1),
    2: _scalar("analog_in", 2, 100, is_signed=True),
    3: _scalar("analog_out", 2, 100, is_signed=True),
    100: _scalar("generic", 4),
    101: _scalar("luminosity", 2),  # lux
    102: _scalar("presence", 1),
    103: _scalar("temperature", 2, 10, is_signed=True),  # degrees Celsius
    104: _scalar("relative_humidity", 1, 2),  # percent
    113: _axes("accelerometer", 1_000),  # standard gravity
    115: _scalar("barometric_pressure", 2, 10),  # hectopascal
    116: _scalar("voltage", 2, 100),  # volt
    117: _scalar("current", 2, 1_000),  # ampere
    118: _scalar("frequency", 4),  # hertz
    120: _scalar("percentage", 1),
    121: _scalar("altitude", 2, is_signed=True),  # metres
    125: _scalar("concentration", 2),  # parts per million
    128: _scalar("power", 2),  # watt
    130: _scalar("distance", 4, 1_000),  # metres
    131: _scalar("energy", 4, 1_000),  # kilowatt hours
    132: _scalar("direction", 2),  # degrees
    133: _scalar("unix_time", 4),  # seconds
    134: _axes("gyrometer", 100),  # degrees a second
    135: LppType("colour", tuple(LppPart(1, name=name) for name in ("red", "green", "blue"))),
    136: LppType(
        "gps",
        (
            LppPart(3, 10_000, True, "latitude"),
            LppPart(3, 10_000, True, "longitude"),
            LppPart(3, 100, True, "altitude"),
        ),
    ),
    142: _scalar("switch", 1),
}


class LppDecoder:
    """Has no source: the payload is self-describing."""

    def __init__(self, source: str = "") -> None:
        if source.strip():
            raise InvalidDecoder("Cayenne LPP takes no source; leave it empty")

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        values: dict[str, Any] = {}
        warnings: list[str] = []
        remaining = check_payload_size(payload)
        if not remaining:
            raise DecodeError("the payload is empty")
        while remaining:
            at_byte = len(payload) - len(remaining)
            name, value, remaining = _decode_first(remaining, at_byte)
            if name in values:
                warnings.append(f"{name} occurs twice; the last one counts")
            values[name] = value
        return Decoded(values, tuple(warnings))

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        raise EncodeError("Cayenne LPP only decodes")


def _decode_first(remaining: bytes, at_byte: int) -> tuple[str, Any, bytes]:
    """The name and value at the start, and the remaining bytes."""
    if len(remaining) < 2:
        raise DecodeError(f"byte {at_byte}: a channel without a type")
    channel, number = remaining[0], remaining[1]
    lpp_type = TYPES.get(number)
    if lpp_type is None:
        raise DecodeError(f"byte {at_byte + 1}: there is no type {number}")
    name = f"{lpp_type.name}_{channel}"
    content, left = remaining[2 : 2 + lpp_type.size], remaining[2 + lpp_type.size :]
    if len(content) < lpp_type.size:
        raise DecodeError(
            f"byte {at_byte + 2}: {name} takes {lpp_type.size} bytes, there are {len(content)}"
        )
    return name, _decode_value(lpp_type, content), left


def _decode_value(lpp_type: LppType, content: bytes) -> Any:
    named: dict[str, Any] = {}
    for part in lpp_type.parts:
        number = int.from_bytes(content[: part.size], "big", signed=part.is_signed)
        content = content[part.size :]
        named[part.name] = number if part.divisor == 1 else number / part.divisor
    return named.get("", named)

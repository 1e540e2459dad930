"""Cayenne LPP: a payload that says itself what is in it, value after value.

Each value is a channel, a type and its bytes, high byte first. It is named after both:
`temperature_1` is what channel 1 says about temperature. The names and units are those that the
large LoRaWAN servers use, so a customer who moves over finds the fields again. Besides the twelve
types of the original there are those of the common extension; the polyline is left out.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from longwire.clock import Moment
from longwire.decoders.base import (
    BadDecoder,
    CannotDecode,
    CannotEncode,
    Decoded,
    Encoded,
    bounded,
)


class Part(NamedTuple):
    """One number: how many bytes it has, what it is divided by, and what it is called if one of
    several."""

    size: int
    divisor: int = 1
    is_signed: bool = False
    name: str = ""


class Type(NamedTuple):
    name: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def _number(name: str, size: int, divisor: int = 1, *, is_signed: bool = False) -> Type:
    return Type(name, (Part(size, divisor, is_signed),))


def _axes(name: str, divisor: int) -> Type:
    return Type(name, tuple(Part(2, divisor, True, axis) for axis in "xyz"))


TYPES = {
    0: _number("digital_in", 1),
    1: _number("digital_out", 1),
    2: _number("analog_in", 2, 100, is_signed=True),
    3: _number("analog_out", 2, 100, is_signed=True),
    100: _number("generic", 4),
    101: _number("luminosity", 2),  # lux
    102: _number("presence", 1),
    103: _number("temperature", 2, 10, is_signed=True),  # degrees Celsius
    104: _number("relative_humidity", 1, 2),  # percent
    113: _axes("accelerometer", 1_000),  # standard gravity
    115: _number("barometric_pressure", 2, 10),  # hectopascal
    116: _number("voltage", 2, 100),  # volt
    117: _number("current", 2, 1_000),  # ampere
    118: _number("frequency", 4),  # hertz
    120: _number("percentage", 1),
    121: _number("altitude", 2, is_signed=True),  # metres
    125: _number("concentration", 2),  # parts per million
    128: _number("power", 2),  # watt
    130: _number("distance", 4, 1_000),  # metres
    131: _number("energy", 4, 1_000),  # kilowatt hours
    132: _number("direction", 2),  # degrees
    133: _number("unix_time", 4),  # seconds
    134: _axes("gyrometer", 100),  # degrees a second
    135: Type("colour", tuple(Part(1, name=name) for name in ("red", "green", "blue"))),
    136: Type(
        "gps",
        (
            Part(3, 10_000, True, "latitude"),
            Part(3, 10_000, True, "longitude"),
            Part(3, 100, True, "altitude"),
        ),
    ),
    142: _number("switch", 1),
}


class LppDecoder:
    """Has no source: the payload carries all there is to know."""

    def __init__(self, source: str = "") -> None:
        if source.strip():
            raise BadDecoder("Cayenne LPP takes no source; leave it empty")

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        values: dict[str, Any] = {}
        warnings: list[str] = []
        rest = bounded(payload)
        if not rest:
            raise CannotDecode("the payload is empty")
        while rest:
            at_byte = len(payload) - len(rest)
            name, value, rest = _first(rest, at_byte)
            if name in values:
                warnings.append(f"{name} is there twice; the last one counts")
            values[name] = value
        return Decoded(values, tuple(warnings))

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        raise CannotEncode("Cayenne LPP only decodes")


def _first(rest: bytes, at_byte: int) -> tuple[str, Any, bytes]:
    """The name and the value that come first, and what follows them."""
    if len(rest) < 2:
        raise CannotDecode(f"byte {at_byte}: a channel without a type")
    channel, number = rest[0], rest[1]
    found = TYPES.get(number)
    if found is None:
        raise CannotDecode(f"byte {at_byte + 1}: there is no type {number}")
    name = f"{found.name}_{channel}"
    content, left = rest[2 : 2 + found.size], rest[2 + found.size :]
    if len(content) < found.size:
        raise CannotDecode(
            f"byte {at_byte + 2}: {name} takes {found.size} bytes, there are {len(content)}"
        )
    return name, _value(found, content), left


def _value(found: Type, content: bytes) -> Any:
    named: dict[str, Any] = {}
    for part in found.parts:
        number = int.from_bytes(content[: part.size], "big", signed=part.is_signed)
        content = content[part.size :]
        named[part.name] = number if part.divisor == 1 else number / part.divisor
    return named.get("", named)

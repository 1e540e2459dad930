"""The vendor's grammar for payloads: a line that names the fields and where their bits are.

    format     = field { whitespace field }
    field      = name ":" [ byte index ] ":" type
    name       = letters, digits, "_", "-", "#"
    type       = "bool:" bit
               | "char:" bytes            [ ":" bit offset ]
               | "float:" ( 32 | 64 )     [ ":" order ] [ ":" bit offset ]
               | ( "uint:" | "int:" ) bits, 1 to 64  [ ":" order ] [ ":" bit offset ]
    order      = "big-endian" | "little-endian"; big-endian when left out, or left empty
    bit offset = 0 to 7, where reading begins in the first byte; 7, its highest bit, when left out

Bits are numbered from 7, the highest of a byte, down to 0. A field without a byte index stands
where the field before it leads:

- the first field at byte 0;
- a `bool` in the last byte that the field before it touched, so that flags share a byte;
- any other in the byte after that one, or in that very byte if the field before it gave a bit
  offset. `speed::uint:8 heading::uint:4 state:1:uint:4::3` has two fields in byte 1.

Little-endian turns the order of the eight-bit pieces, counted from where reading begins; if the
last piece is shorter, it is the highest. `char` is text in UTF-8 without the zeros behind it.

A field that lies beyond the end of a payload has no value, and is left out with a warning: devices
of one type send long and short messages. If that is true of all fields, nothing was decoded.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from longwire.clock import Moment
from longwire.decoders.base import (
    PAYLOAD_BYTES_MAX,
    BadDecoder,
    CannotDecode,
    CannotEncode,
    Decoded,
    Encoded,
    bounded,
)

SOURCE_CHARACTERS_MAX = 4_096
FIELDS_MAX = 128
INTEGER_BITS_MAX = 64
FLOAT_FORMATS = {32: ">f", 64: ">d"}
HIGHEST_BIT = 7

NAME = re.compile(r"[A-Za-z0-9_#-]{1,64}")
NUMBER = re.compile(r"[0-9]{1,5}")
BYTE_ORDERS = ("big-endian", "little-endian")


@dataclass(frozen=True, slots=True)
class Field:
    """A run of bits with a name. `start` counts bits from the beginning of the payload."""

    name: str
    type: str
    start: int
    length: int
    is_little_endian: bool = False
    has_bit_offset: bool = False

    @property
    def last_byte(self) -> int:
        return (self.start + self.length - 1) // 8


class BitsDecoder:
    """A format that was read and can be applied to any payload."""

    def __init__(self, source: str) -> None:
        self.fields = tuple(_fields(source))

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        bits = len(bounded(payload)) * 8
        content = int.from_bytes(payload, "big")
        values: dict[str, Any] = {}
        warnings: list[str] = []
        for field in self.fields:
            behind = bits - field.start - field.length
            if behind < 0:
                warnings.append(f"{field.name} is beyond the end of the payload")
                continue
            value = _value(field, content >> behind & (1 << field.length) - 1)
            if isinstance(value, float) and not isfinite(value):
                value = None
                warnings.append(f"{field.name} is not a finite number")
            values[field.name] = value
        if not values:
            raise CannotDecode(f"the payload of {len(payload)} bytes is too short for any field")
        return Decoded(values, tuple(warnings))

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        raise CannotEncode("a bit format only decodes")


def _value(field: Field, bits: int) -> Any:
    if field.type == "bool":
        return bits == 1
    if field.is_little_endian:
        bits = _turned(bits, field.length)
    match field.type:
        case "uint":
            return bits
        case "int":
            is_negative = bits >> (field.length - 1) == 1
            return bits - (1 << field.length) if is_negative else bits
        case "float":
            return struct.unpack(FLOAT_FORMATS[field.length], bits.to_bytes(field.length // 8))[0]
        case _:
            return bits.to_bytes(field.length // 8).rstrip(b"\x00").decode(errors="replace")


def _turned(bits: int, length: int) -> int:
    turned = 0
    for piece in range(0, length, 8):
        size = min(8, length - piece)
        turned |= (bits >> (length - piece - size) & (1 << size) - 1) << piece
    return turned


# Reading a format. A fault is raised at the column of the field it is in.


class _Fault(Exception):
    pass


def _fields(source: str) -> Iterator[Field]:
    if len(source) > SOURCE_CHARACTERS_MAX:
        raise BadDecoder(f"the format has more than {SOURCE_CHARACTERS_MAX} characters")
    names: set[str] = set()
    before: Field | None = None
    for line, text in enumerate(source.splitlines(), 1):
        for found in re.finditer(r"\S+", text):
            column = found.start() + 1
            try:
                before = _field(found.group(), before)
            except _Fault as fault:
                raise BadDecoder(str(fault), line, column) from None
            if before.name in names:
                raise BadDecoder(f"{before.name} is there twice", line, column)
            names.add(before.name)
            if len(names) > FIELDS_MAX:
                raise BadDecoder(f"there are more than {FIELDS_MAX} fields", line, column)
            yield before
    if before is None:
        raise BadDecoder("the format has no fields; write for example temperature::int:16")


def _field(text: str, before: Field | None) -> Field:
    parts = text.split(":")
    if len(parts) < 4:
        raise _Fault("a field is name:byte:type:size, and the byte may be left empty")
    name, index, kind, size, *options = parts
    if not NAME.fullmatch(name):
        raise _Fault("a name has 1 to 64 letters, digits, _, - or #")
    byte = _number(index, "the byte index", 0, PAYLOAD_BYTES_MAX - 1) if index else None
    match kind:
        case "bool":
            if options:
                raise _Fault("bool takes the number of a bit, and nothing else")
            bit = _number(size, "the bit", 0, HIGHEST_BIT)
            start = _byte_of_flag(byte, before) * 8 + HIGHEST_BIT - bit
            return Field(name, kind, start, 1)
        case "char":
            length = _number(size, "the number of bytes", 1, PAYLOAD_BYTES_MAX) * 8
            orders = False
        case "float":
            length = _number(size, "the number of bits", 1, INTEGER_BITS_MAX)
            if length not in FLOAT_FORMATS:
                raise _Fault("a float has 32 or 64 bits")
            orders = True
        case "uint" | "int":
            length = _number(size, "the number of bits", 1, INTEGER_BITS_MAX)
            orders = True
        case _:
            raise _Fault("the type must be uint, int, float, bool or char")
    order, offset = _options(options, orders)
    bit = HIGHEST_BIT if offset is None else offset
    start = _byte_of_value(byte, before) * 8 + HIGHEST_BIT - bit
    return Field(name, kind, start, length, order == "little-endian", offset is not None)


def _byte_of_flag(byte: int | None, before: Field | None) -> int:
    if byte is not None:
        return byte
    return before.last_byte if before else 0


def _byte_of_value(byte: int | None, before: Field | None) -> int:
    if byte is not None:
        return byte
    if before is None:
        return 0
    return before.last_byte if before.has_bit_offset else before.last_byte + 1


def _options(options: list[str], orders: bool) -> tuple[str, int | None]:
    """Byte order and bit offset; the vendor's own examples leave either of them out."""
    order = ""
    rest = options
    if orders and rest and (not rest[0] or rest[0] in BYTE_ORDERS):
        order, *rest = rest
    if not rest:
        return order, None
    if len(rest) > 1 or not NUMBER.fullmatch(rest[0]):
        expected = "big-endian or little-endian, then a bit offset" if orders else "a bit offset"
        raise _Fault(f"behind the size may stand {expected}")
    return order, _number(rest[0], "the bit offset", 0, HIGHEST_BIT)


def _number(text: str, what: str, low: int, high: int) -> int:
    if not NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise _Fault(f"{what} must be a number from {low} to {high}")
    return int(text)

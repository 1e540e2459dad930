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

Bits are numbered from 7, the highest of a byte, down to 0. The position of a
field without a byte index follows from the field before it:

- the first field at byte 0;
- a `bool` in the last byte that the field before it touched, so that flags share a byte;
- any other in the byte after that one, or in that very byte if the field before it gave a bit
  offset. `speed::uint:8 heading::uint:4 state:1:uint:4::3` has two fields in byte 1.

Little-endian reverses the order of the bytes, counted from where reading begins; if the last one
is shorter, it is the most significant. `char` is text in UTF-8 without the zeros behind it.

A field beyond the end of a payload is left out with a warning: devices of one type send long and
short messages. If that is true of all fields, decoding fails.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.decoders.base import (
    PAYLOAD_BYTES_MAX,
    Decoded,
    DecodeError,
    Encoded,
    EncodeError,
    InvalidDecoder,
    check_payload_size,
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
class BitField:
    """A named run of bits. `start` counts bits from the beginning of the payload."""

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
    """A parsed format."""

    def __init__(self, source: str) -> None:
        self.fields = tuple(_parse_format(source))

    def decode(self, payload: bytes, port: int | None, at: Moment) -> Decoded:
        bits = len(check_payload_size(payload)) * 8
        content = int.from_bytes(payload, "big")
        values: dict[str, Any] = {}
        warnings: list[str] = []
        for field in self.fields:
            bits_after = bits - field.start - field.length
            if bits_after < 0:
                warnings.append(f"{field.name} is beyond the end of the payload")
                continue
            value = _decode_field(field, content >> bits_after & (1 << field.length) - 1)
            if isinstance(value, float) and not isfinite(value):
                value = None
                warnings.append(f"{field.name} is not a finite number")
            values[field.name] = value
        if not values:
            raise DecodeError(f"the payload of {len(payload)} bytes is too short for any field")
        return Decoded(values, tuple(warnings))

    def encode(self, values: Mapping[str, Any], port: int | None) -> Encoded:
        raise EncodeError("a bit format only decodes")


def _decode_field(field: BitField, bits: int) -> Any:
    if field.type == "bool":
        return bits == 1
    if field.is_little_endian:
        bits = _reverse_bytes(bits, field.length)
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


def _reverse_bytes(bits: int, length: int) -> int:
    reversed_bits = 0
    for piece in range(0, length, 8):
        size = min(8, length - piece)
        reversed_bits |= (bits >> (length - piece - size) & (1 << size) - 1) << piece
    return reversed_bits


# Parsing a format. A syntax error is raised at the column of the field it is in.


class _FormatError(Exception):
    pass


def _parse_format(source: str) -> Iterator[BitField]:
    if len(source) > SOURCE_CHARACTERS_MAX:
        raise InvalidDecoder(f"the format has more than {SOURCE_CHARACTERS_MAX} characters")
    names: set[str] = set()
    previous: BitField | None = None
    for line, text in enumerate(source.splitlines(), 1):
        for found in re.finditer(r"\S+", text):
            column = found.start() + 1
            try:
                previous = _parse_field(found.group(), previous)
            except _FormatError as error:
                raise InvalidDecoder(str(error), line, column) from None
            if previous.name in names:
                raise InvalidDecoder(f"{previous.name} is defined twice", line, column)
            names.add(previous.name)
            if len(names) > FIELDS_MAX:
                raise InvalidDecoder(f"there are more than {FIELDS_MAX} fields", line, column)
            yield previous
    if previous is None:
        raise InvalidDecoder("the format has no fields; write for example temperature::int:16")


def _parse_field(text: str, previous: BitField | None) -> BitField:
    parts = text.split(":")
    if len(parts) < 4:
        raise _FormatError("a field is name:byte:type:size, and the byte may be left empty")
    name, index, kind, size, *options = parts
    if not NAME.fullmatch(name):
        raise _FormatError("a name has 1 to 64 letters, digits, _, - or #")
    byte = _parse_number(index, "the byte index", 0, PAYLOAD_BYTES_MAX - 1) if index else None
    match kind:
        case "bool":
            if options:
                raise _FormatError("bool takes the number of a bit, and nothing else")
            bit = _parse_number(size, "the bit", 0, HIGHEST_BIT)
            start = _flag_byte(byte, previous) * 8 + HIGHEST_BIT - bit
            return BitField(name, kind, start, 1)
        case "char":
            length = _parse_number(size, "the number of bytes", 1, PAYLOAD_BYTES_MAX) * 8
            orders = False
        case "float":
            length = _parse_number(size, "the number of bits", 1, INTEGER_BITS_MAX)
            if length not in FLOAT_FORMATS:
                raise _FormatError("a float has 32 or 64 bits")
            orders = True
        case "uint" | "int":
            length = _parse_number(size, "the number of bits", 1, INTEGER_BITS_MAX)
            orders = True
        case _:
            raise _FormatError("the type must be uint, int, float, bool or char")
    order, offset = _parse_options(options, orders)
    bit = HIGHEST_BIT if offset is None else offset
    start = _value_byte(byte, previous) * 8 + HIGHEST_BIT - bit
    return BitField(name, kind, start, length, order == "little-endian", offset is not None)


def _flag_byte(byte: int | None, previous: BitField | None) -> int:
    if byte is not None:
        return byte
    return previous.last_byte if previous else 0


def _value_byte(byte: int | None, previous: BitField | None) -> int:
    if byte is not None:
        return byte
    if previous is None:
        return 0
    return previous.last_byte if previous.has_bit_offset else previous.last_byte + 1


def _parse_options(options: list[str], orders: bool) -> tuple[str, int | None]:
    """Byte order and bit offset; the vendor's own examples leave either of them out."""
    order = ""
    rest = options
    if orders and rest and (not rest[0] or rest[0] in BYTE_ORDERS):
        order, *rest = rest
    if not rest:
        return order, None
    if len(rest) > 1 or not NUMBER.fullmatch(rest[0]):
        expected = "big-endian or little-endian, then a bit offset" if orders else "a bit offset"
        raise _FormatError(f"behind the size may stand {expected}")
    return order, _parse_number(rest[0], "the bit offset", 0, HIGHEST_BIT)


def _parse_number(text: str, what: str, low: int, high: int) -> int:
    if not NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise _FormatError(f"{what} must be a number from {low} to {high}")
    return int(text)

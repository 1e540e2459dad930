"""Columns of plain values as arrays in PostgreSQL's binary format.

The driver encodes a list element by element, in Python: for the rows of a large commit that takes
longer than everything else on this side. Here a column of numbers is encoded as a whole.
"""

import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# One dimension, whether there are nulls, the type, the number of elements, the index of the first.
_HEADER = struct.Struct(">5i")
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)


class BinaryArray(bytes):
    """An encoded array, to be sent as it is."""

    __slots__ = ()


class BigintArray(BinaryArray):
    """The same, of a type that the driver knows: a value for statements with names."""

    __slots__ = ()


class _ElementType(NamedTuple):
    oid: int
    encode: Callable[[Any], bytes]
    typecode: str = ""  # of an `array` of such numbers


_TYPES = {
    "BIGINT": _ElementType(20, struct.Struct(">q").pack, "q"),
    "INTEGER": _ElementType(23, struct.Struct(">i").pack, "i"),
    "SMALLINT": _ElementType(21, struct.Struct(">h").pack, "h"),
    "DOUBLE PRECISION": _ElementType(701, struct.Struct(">d").pack, "d"),
    "BOOLEAN": _ElementType(16, struct.Struct(">?").pack),
    "BYTEA": _ElementType(17, bytes),
    "TEXT": _ElementType(25, str.encode),
}


def encode_array(type_name: str, values: Sequence[Any]) -> BinaryArray:
    """Values of a type by its name in SQL."""
    oid, encode, typecode = _TYPES[type_name]
    has_null = None in values
    if typecode and not has_null:
        elements = _encode_numbers(typecode, values)
    else:
        pack = _LENGTH.pack
        encoded = [_NULL if value is None else encode(value) for value in values]
        elements = b"".join([each if each is _NULL else pack(len(each)) + each for each in encoded])
    return BinaryArray(_HEADER.pack(1, has_null, oid, len(values), 1) + elements)


def encode_bigints(values: Sequence[int]) -> BigintArray | None:
    """Integers; None if some are too large for their type."""
    try:
        return BigintArray(encode_array("BIGINT", values))
    except OverflowError:
        return None


def _encode_numbers(typecode: str, values: Sequence[float]) -> bytes | bytearray:
    numbers = array(typecode, values)
    if sys.byteorder == "little":
        numbers.byteswap()
    size, plain = numbers.itemsize, numbers.tobytes()
    # Each is preceded by its length. The first byte of all of them, then the second and so on.
    encoded = bytearray((_LENGTH.pack(size) + bytes(size)) * len(values))
    step = _LENGTH.size + size
    for index in range(size):
        encoded[_LENGTH.size + index :: step] = plain[index::size]
    return encoded

"""Columns of plain values as arrays in PostgreSQL's binary format.

The driver encodes a list element by element, in Python: for the rows of a large commit that takes
longer than everything else on this side. Here a column of numbers is encoded as a whole.
"""

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# One dimension, whether there are nulls, the type, the number of elements, the index of the first.
_HEADER = struct.Struct(">5i")
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
# So many numbers at once: there is a packer for each count up to this one.
_PACKED_MAX = 128


class BinaryArray(bytes):
    """An encoded array, to be sent as it is."""

    __slots__ = ()


class BigintArray(BinaryArray):
    """The same, of a type that the driver knows: a value for statements with names."""

    __slots__ = ()


class _ElementType(NamedTuple):
    oid: int
    encode: Callable[[Any], bytes]
    typecode: str = ""  # of such numbers in `struct`


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
    if typecode:
        try:
            return _complete(oid, values, _encode_numbers(typecode, values))
        except struct.error:
            if None not in values:
                raise
    pack = _LENGTH.pack
    encoded = [_NULL if value is None else encode(value) for value in values]
    elements = b"".join([each if each is _NULL else pack(len(each)) + each for each in encoded])
    return _complete(oid, values, elements, has_null=None in values)


def _complete(
    oid: int, values: Sequence[Any], elements: bytes, *, has_null: bool = False
) -> BinaryArray:
    return BinaryArray(_HEADER.pack(1, has_null, oid, len(values), 1) + elements)


def encode_bigints(values: Sequence[int]) -> BigintArray | None:
    """Integers; None if some are too large for their type."""
    try:
        return BigintArray(encode_array("BIGINT", values))
    except struct.error:
        return None


def _encode_numbers(typecode: str, values: Sequence[float]) -> bytes:
    if len(values) <= _PACKED_MAX:
        return _pack_numbers(typecode, values)
    starts = range(0, len(values), _PACKED_MAX)
    return b"".join([_pack_numbers(typecode, values[at : at + _PACKED_MAX]) for at in starts])


def _pack_numbers(typecode: str, values: Sequence[float]) -> bytes:
    """Each is preceded by its length, of which only the last byte is not 0."""
    if not values:
        return b""
    packed = bytearray(_get_packer(typecode, len(values)).pack(*values))
    step = len(packed) // len(values)
    packed[_LENGTH.size - 1 :: step] = bytes((step - _LENGTH.size,)) * len(values)
    return bytes(packed)


@functools.cache
def _get_packer(typecode: str, count: int) -> struct.Struct:
    return struct.Struct(">" + f"{_LENGTH.size}x{typecode}" * count)

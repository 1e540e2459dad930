"""The vendor's bit format: positions and types of fields, and invalid formats."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.decoders.base import DecodeError, EncodeError, InvalidDecoder
from longwire.decoders.bits import BitsDecoder


def decoded(source, payload):
    return BitsDecoder(source).decode(bytes.fromhex(payload), None, 0)


@pytest.mark.parametrize(
    "source, payload, values",
    [
        ("int1::uint:8 int2::uint:8", "1234", {"int1": 0x12, "int2": 0x34}),
        ("b1::bool:7 b2::bool:6 i1:1:uint:16", "c01234", {"b1": True, "b2": True, "i1": 0x1234}),
        ("b1::bool:7 b2::bool:6 i1::uint:16", "801234", {"b1": True, "b2": False, "i1": 0x1234}),
        ("i1:1:uint:16:little-endian i2::uint:8", "80123456", {"i1": 0x3412, "i2": 0x56}),
        (
            "str::char:6 i1::uint:16 i2::uint:32",
            "41424344454601234567890a",
            {"str": "ABCDEF", "i1": 0x123, "i2": 0x4567890A},
        ),
        # A flag stays in the byte that was read last.
        ("state::uint:16 low::bool:0 high::bool:7", "0081", {"state": 129, "low": 1, "high": 1}),
        # Two fields in one byte: by name of the byte, or by a bit offset before.
        ("v::uint:8 way::uint:4 state:1:uint:4::3", "507c", {"v": 80, "way": 7, "state": 12}),
        ("way::uint:4::7 state::uint:4::3", "7c", {"way": 7, "state": 12}),
        # Without a bit offset, the next field is in the next byte.
        ("way::uint:4 state::uint:4", "7c50", {"way": 7, "state": 5}),
        ("across::uint:12:big-endian:3", "a123", {"across": 0x123}),
        ("low::uint:27:2", "4567890a", {"low": 0x567890A}),
        ("t::int:16", "ff38", {"t": -200}),
        ("t::int:16:little-endian", "38ff", {"t": -200}),
        ("t::int:12:little-endian", "38f0", {"t": -200}),
        ("t::int:4", "80", {"t": -8}),
        ("t::int:1", "80", {"t": -1}),
        ("n::uint:64", "ff" * 8, {"n": 2**64 - 1}),
        ("f::float:32", "41ac0000", {"f": 21.5}),
        ("f::float:32:little-endian", "0000ac41", {"f": 21.5}),
        ("f::float:64", "4035800000000000", {"f": 21.5}),
        ("text::char:4", "61620000", {"text": "ab"}),
        ("text::char:2:3", "06162f", {"text": "ab"}),
        ("text::char:2", "ff41", {"text": "\N{REPLACEMENT CHARACTER}A"}),
        (" a::uint:8\n\tb-1#x_::uint:8 ", "0102", {"a": 1, "b-1#x_": 2}),
    ],
)
def test_a_payload_is_decoded_by_its_format(source, payload, values):
    found = decoded(source, payload)
    assert found.values == values
    assert found.warnings == ()


def test_a_field_beyond_the_end_is_left_out_with_a_warning():
    found = decoded("a::uint:8 b::uint:16", "0102")
    assert found.values == {"a": 1}
    assert found.warnings == ("b is beyond the end of the payload",)


def test_nan_and_infinity_become_null():
    found = decoded("f::float:32", "7fc00000")
    assert found.values == {"f": None}
    assert found.warnings == ("f is not a finite number",)


@pytest.mark.parametrize("payload", ["", "01"])
def test_a_payload_too_short_for_every_field_is_refused(payload):
    with pytest.raises(DecodeError, match="too short"):
        decoded("a::uint:16", payload)


@pytest.mark.parametrize(
    "source, reason, line, column",
    [
        ("", "no fields", 1, 1),
        (" \n ", "no fields", 1, 1),
        ("a::uint:8 b", "a field is", 1, 11),
        ("a::uint:8\n  b::byte:8", "the type must be", 2, 3),
        ("a::uint:0", "from 1 to 64", 1, 1),
        ("a::uint:65", "from 1 to 64", 1, 1),
        ("a::uint:8:middle-endian", "behind the size", 1, 1),
        ("a::uint:8:little-endian:8", "from 0 to 7", 1, 1),
        ("a::uint:8:little-endian:1:1", "behind the size", 1, 1),
        ("a::char:2:little-endian", "a bit offset", 1, 1),
        ("a::bool:8", "from 0 to 7", 1, 1),
        ("a::bool:7:1", "nothing else", 1, 1),
        ("a::float:16", "32 or 64", 1, 1),
        ("a:x:uint:8", "the byte index", 1, 1),
        ("a:-1:uint:8", "the byte index", 1, 1),
        ("a:99999999999:uint:8", "the byte index", 1, 1),
        ("a::uint:٣", "the number of bits", 1, 1),
        ("::uint:8", "a name", 1, 1),
        ("a.b::uint:8", "a name", 1, 1),
        ("a::uint:8 a::uint:8", "twice", 1, 11),
        (" ".join(f"a{n}::uint:8" for n in range(129)), "more than 128 fields", 1, 1555),
        ("a" * 5_000, "characters", 1, 1),
    ],
)
def test_an_invalid_format_is_refused_with_its_position(source, reason, line, column):
    with pytest.raises(InvalidDecoder, match=reason) as caught:
        BitsDecoder(source)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_bit_format_cannot_encode():
    with pytest.raises(EncodeError):
        BitsDecoder("a::uint:8").encode({"a": 1}, None)


def field(kind, size):
    index = st.one_of(st.just(""), st.integers(0, 20))
    return st.builds(lambda index, size: f"{index}:{kind}:{size}", index, size)


FIELDS = st.one_of(
    field("bool", st.integers(0, 7)),
    field("uint", st.integers(1, 64)),
    field("int", st.integers(1, 64)),
    field("float", st.sampled_from([32, 64])),
    field("char", st.integers(1, 12)),
)


@pytest.mark.slow
@given(st.lists(FIELDS, min_size=1, max_size=8), st.binary(max_size=24))
def test_any_payload_has_values_that_are_json_or_none(fields, payload):
    source = " ".join(f"f{number}:{text}" for number, text in enumerate(fields))
    decoder = BitsDecoder(source)
    try:
        found = decoder.decode(payload, None, 0)
    except DecodeError:
        return
    json.dumps(found.values, allow_nan=False).encode()


@given(st.text(alphabet="ab:018 -uintcharlefo\n", max_size=40), st.binary(max_size=12))
def test_any_string_is_a_format_or_refused(source, payload):
    try:
        BitsDecoder(source).decode(payload, None, 0)
    except (InvalidDecoder, DecodeError):
        return

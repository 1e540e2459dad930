"""Input validation: every invalid field is reported once, with its path."""

import json
import math
import time
from typing import Annotated, Any
from urllib.parse import quote_plus

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta

from longwire.api.types import GroupId, Tags
from longwire.errors import BadInput, TooLarge
from longwire.web.fields import Body, InputLimits, Int64, Name, Paged
from longwire.web.validation import FIELD_ERRORS_MAX, check_size, decode_body, decode_query

LIMITS = InputLimits()


class Place(Body):
    """An object inside the body."""

    group_id: GroupId
    tags: Tags | None = None


class Sample(Body):
    """A body with one field of every kind."""

    name: Name
    count: Int64 | None = None
    share: float | None = None
    is_on: bool | None = None
    tags: Tags | None = None
    input: Place | None = None
    places: Annotated[list[Place], Meta(max_length=3)] | None = None
    words: str | Annotated[list[Name], Meta(max_length=4)] | None = None


class Search(Paged, kw_only=True):
    """A query with one parameter of every kind."""

    group_id: GroupId
    is_on: bool | None = None
    word: str | None = None


def decode_sample(raw: bytes | str, limits: InputLimits = LIMITS) -> Sample:
    return decode_body(raw.encode() if isinstance(raw, str) else raw, Sample, limits)


def field_errors(decode: Any, *args: Any) -> dict[str, str]:
    """Every named field with its message; each field only once."""
    with pytest.raises(BadInput) as caught:
        decode(*args)
    named = {fault.field: fault.message for fault in caught.value.field_errors}
    assert len(named) == len(caught.value.field_errors)
    return named


def error_message(decode: Any, *args: Any) -> str:
    """The error about a body that is invalid as a whole."""
    with pytest.raises(BadInput) as caught:
        decode(*args)
    assert not caught.value.field_errors
    return caught.value.message


# --- bodies ---


def test_a_valid_body_is_decoded() -> None:
    decoded = decode_sample(
        '{"name": "Kai \\ud83d\\ude00", "count": -9223372036854775808, "share": 1, "isOn": false,'
        ' "tags": ["nörd"], "input": {"groupId": "7"}, "places": [{"groupId": "8"}],'
        ' "words": ["a"], "unknown": {"tags": [[]]}, "count ": "ignored"}'
    )
    assert decoded == Sample(
        name="Kai 😀",
        count=-(2**63),
        share=1.0,
        is_on=False,
        tags=["nörd"],
        input=Place(group_id="7"),
        places=[Place(group_id="8")],
        words=["a"],
    )


def test_all_invalid_fields_are_reported_at_once_with_their_paths() -> None:
    body = {
        "count": "7",
        "share": [],
        "isOn": 1,
        "tags": ["a", 1, "", "x" * 65],
        "input": {"groupId": 7, "tags": ["b", None]},
        "places": [{"groupId": "8"}, {"tags": {}}, "elsewhere"],
        "words": 3.5,
    }
    assert field_errors(decode_sample, json.dumps(body)) == {
        "name": "is required",
        "count": "must be an integer, not a string",
        "share": "must be a number, not a list",
        "isOn": "must be true or false, not an integer",
        "tags[1]": "must be a string, not an integer",
        "tags[2]": "must not be empty",
        "tags[3]": "must have at most 64 characters",
        "input.groupId": "must be a string, not an integer",
        "input.tags[1]": "must be a string, not null",
        "places[1].groupId": "is required",
        "places[1].tags": "must be a list, not an object",
        "places[2]": "must be an object, not a string",
        "words": "must be a string or a list, not a number",
    }


@pytest.mark.parametrize(
    "member, field, message",
    [
        ('"name": null', "name", "must be a string, not null"),
        ('"name": ""', "name", "must not be empty"),
        (f'"name": "{"x" * 257}"', "name", "must have at most 256 characters"),
        ('"name": "a\\u0000"', "name", "must not contain NUL"),
        ('"name": "\\ud83d"', "name", "contains a lone surrogate"),
        ('"name": "\\uDE00\\uD83D"', "name", "contains a lone surrogate"),
        ('"tags": ["a", "\\u0000"]', "tags[1]", "must not contain NUL"),
        ('"words": ["\\udfff"]', "words[0]", "contains a lone surrogate"),
        ('"input": {"groupId": "\\udabc"}', "input.groupId", "contains a lone surrogate"),
        ('"count": 9223372036854775808', "count", "must be at most 9223372036854775807"),
        ('"count": -9223372036854775809', "count", "must be at least -9223372036854775808"),
        (f'"count": {"9" * 5_000}', "count", "is out of range"),
        (f'"count": -{"9" * 5_000}', "count", "is out of range"),
        ('"count": 1.5', "count", "must be an integer, not a number"),
        ('"count": true', "count", "must be an integer, not true or false"),
        ('"share": 1e999', "share", "is out of range"),
        (f'"share": -{"9" * 5_000}', "share", "is out of range"),
        ('"places": [{}, {}, {}, {}]', "places", "must have at most 3 items"),
        ('"words": ["a", "b", "c", "d", 5]', "words", "must have at most 4 items"),
    ],
)
def test_an_invalid_field_is_reported_with_a_message(member: str, field: str, message: str) -> None:
    named = field_errors(decode_sample, f"{{{member}}}")
    named.pop("name") if field != "name" else None
    assert named == {field: message}


def test_the_content_of_unknown_members_is_ignored() -> None:
    body = f'{{"name": "a", "x": "\\u0000\\ud83d", "y": 1e999, "z": {"9" * 5_000}}}'
    assert decode_sample(body) == Sample(name="a")


@pytest.mark.parametrize(
    "raw, expected",
    [
        (b"", "not valid JSON"),
        (b" ", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"name": "a"} {}', "not valid JSON"),
        (b"{'name': 'a'}", "not valid JSON"),
        (b'{"name": "a\x00"}', "not valid JSON"),
        (b'{"name": "a", "share": NaN}', "NaN is not JSON"),
        (b'{"name": "a", "share": Infinity}', "Infinity is not JSON"),
        (b'{"name": "a", "share": -Infinity}', "-Infinity is not JSON"),
        (b'{"name": "a", "unknown": NaN}', "NaN is not JSON"),
        (b'\xef\xbb\xbf{"name": "a"}', "not valid JSON"),
        ('{"name": "a"}'.encode("utf-16-le"), "not valid JSON"),
        (b'{"name": "\xff"}', "not valid UTF-8 at byte 10"),
        (b'{"name": "\xed\xa0\x80"}', "not valid UTF-8 at byte 10"),
        (b'{"name": "\xc0\x80"}', "not valid UTF-8 at byte 10"),
    ],
)
def test_a_body_that_is_not_json_in_utf_8_is_refused_as_a_whole(raw: bytes, expected: str) -> None:
    assert expected in error_message(decode_sample, raw)


@pytest.mark.parametrize("raw", ["[]", '"name"', "null", "7", "true"])
def test_a_body_that_is_not_an_object_is_reported(raw: str) -> None:
    named = field_errors(decode_sample, raw)
    assert named.keys() == {"body"}
    assert named["body"].startswith("must be an object, not ")


def nested(levels: int, closed: bool = True) -> str:
    """An object of this depth, itself included."""
    return '{"name": "a", "x": ' + "[" * (levels - 1) + "]" * (levels - 1) * closed + "}" * closed


def test_depth_is_limited() -> None:
    assert decode_sample(nested(32)) == Sample(name="a")
    for body in (nested(33), nested(100_000), nested(100_000, closed=False)):
        assert error_message(decode_sample, body) == "The body is nested deeper than 32 levels."
    shallow = InputLimits(json_depth_max=3)
    assert decode_sample(nested(3), shallow) == Sample(name="a")
    assert "deeper than 3 levels" in error_message(decode_sample, nested(4), shallow)


def test_brackets_in_strings_and_siblings_do_not_count_as_depth() -> None:
    assert decode_sample(json.dumps({"name": '\\"[{' * 50})).name == '\\"[{' * 50
    assert decode_sample(json.dumps({"name": "a", "x": [[]] * 5_000})) == Sample(name="a")


@pytest.mark.parametrize(
    "raw",
    [
        b"[]" * 40
        + b'"'
        + b'\\"' * 500_000,  # an unclosed string, in which a search could restart anywhere
        b"[]" * 500_000,
        b'{"tags": [' + b"1," * 500_000 + b"1]}",
        b'{"words": ["' + b'a","' * 250_000 + b'"]}',
    ],
)
def test_the_largest_invalid_bodies_are_refused_in_linear_time(raw: bytes) -> None:
    started = time.thread_time()
    with pytest.raises(BadInput) as caught:
        decode_sample(raw)
    assert time.thread_time() - started < 30, "hours if it were quadratic"
    assert len(caught.value.message) < 1_000


def test_the_number_of_reported_errors_is_limited() -> None:
    class Many(Body):
        places: list[Place]

    with pytest.raises(BadInput) as caught:
        decode_body(json.dumps({"places": [{}] * (FIELD_ERRORS_MAX + 1)}).encode(), Many, LIMITS)
    assert len(caught.value.field_errors) == FIELD_ERRORS_MAX


def test_limits_are_those_of_the_settings() -> None:
    strict = InputLimits(tags_max=2, tag_characters_max=3)
    assert decode_sample('{"name": "a", "tags": ["abc", "b"]}', strict).tags == ["abc", "b"]
    assert field_errors(
        decode_sample,
        '{"tags": ["abcd"], "input": {"groupId": "1", "tags": ["a", "b", "c"]},'
        ' "places": [{"groupId": "1", "tags": ["a", "abcd"]}]}',
        strict,
    ) == {
        "name": "is required",
        "tags[0]": "must have at most 3 characters",
        "input.tags": "must have at most 2 items",
        "places[0].tags[1]": "must have at most 3 characters",
    }


@pytest.mark.parametrize("size, is_taken", [(99, True), (100, True), (101, False)])
def test_size_is_limited(size: int, is_taken: bool) -> None:
    if is_taken:
        check_size(size, 100)
        return
    with pytest.raises(TooLarge):
        check_size(size, 100)


# --- queries ---


@pytest.mark.parametrize(
    "raw, decoded",
    [
        (b"groupId=7", Search(group_id="7")),
        (b"groupId=7&limit=1000&isOn=true", Search(group_id="7", limit=1000, is_on=True)),
        (b"groupId=7&isOn=0", Search(group_id="7", is_on=False)),
        (b"group%49d=%37", Search(group_id="7")),
        (b"groupId=7&word=a+b%20c%2B%26%3d", Search(group_id="7", word="a b c+&=")),
        (b"groupId=7&word=%C3%B6%F0%9F%98%80", Search(group_id="7", word="ö😀")),
        ("groupId=7&word=ö".encode(), Search(group_id="7", word="ö")),
        (b"groupId=7&word=a=b=c", Search(group_id="7", word="a=b=c")),
        (b"groupId=7&word=100%25&x=%ff&x=1&x=2", Search(group_id="7", word="100%")),
        (b"groupId=7&word=50%&%ff=1", Search(group_id="7", word="50%")),
        (b"&&groupId=7&=&word=", Search(group_id="7", word="")),
        (b"groupId=7&GROUPID=8", Search(group_id="7")),
        (b"groupId=null&word=null", Search(group_id="null", word="null")),
    ],
)
def test_a_valid_query_is_decoded(raw: bytes, decoded: Search) -> None:
    assert decode_query(raw, Search, LIMITS) == decoded


@pytest.mark.parametrize(
    "raw, named",
    [
        (b"", {"groupId": "is required"}),
        (b"groupid=7", {"groupId": "is required"}),
        (b"groupId=", {"groupId": "must not be empty"}),
        (b"groupId=7&groupId=7", {"groupId": "is given more than once"}),
        (b"groupId=7&groupId=7&group%49d=8", {"groupId": "is given more than once"}),
        (b"groupId=%ff", {"groupId": "is not valid UTF-8"}),
        (b"groupId=\xff", {"groupId": "is not valid UTF-8"}),
        (b"groupId=%ED%A0%80", {"groupId": "is not valid UTF-8"}),
        (b"groupId=%00", {"groupId": "must not contain NUL"}),
        (b"groupId=7&limit=0", {"limit": "must be at least 1"}),
        (b"groupId=7&limit=-1", {"limit": "must be at least 1"}),
        (b"groupId=7&limit=1001", {"limit": "must be at most 1000"}),
        (b"groupId=7&limit=x", {"limit": "must be an integer, not a string"}),
        (b"groupId=7&limit=", {"limit": "must be an integer, not a string"}),
        (b"groupId=7&limit=1.5", {"limit": "must be an integer, not a string"}),
        (b"groupId=7&limit=%D9%A3", {"limit": "must be an integer, not a string"}),
        (b"groupId=7&limit=null", {"limit": "must not be null"}),
        (
            b"groupId=7&isOn=NULL&limit=0",
            {"isOn": "must not be null", "limit": "must be at least 1"},
        ),
        (b"groupId=7&isOn=yes", {"isOn": "must be true or false, not a string"}),
        (
            b"limit=5000&limit=5001&isOn=2&word=%ff",
            {
                "groupId": "is required",
                "limit": "is given more than once",
                "isOn": "must be true or false, not a string",
                "word": "is not valid UTF-8",
            },
        ),
        (b"limit=5000", {"groupId": "is required", "limit": "must be at most 1000"}),
    ],
)
def test_every_invalid_query_parameter_is_reported(raw: bytes, named: dict[str, str]) -> None:
    assert field_errors(decode_query, raw, Search, LIMITS) == named


def test_a_limit_of_five_thousand_digits_is_too_large() -> None:
    assert field_errors(
        decode_query, b"groupId=7&limit=" + b"9" * 5_000, Search, LIMITS
    ).keys() == {"limit"}


def test_the_maximum_page_size_is_configurable() -> None:
    assert decode_query(b"groupId=7&limit=5", Search, InputLimits(page_items_max=5)).limit == 5
    assert field_errors(
        decode_query, b"groupId=7&limit=6", Search, InputLimits(page_items_max=5)
    ) == {"limit": "must be at most 5"}


# --- arbitrary input ---

without_deadline = settings(deadline=None)  # no deadline, as the machine may be busy

ENDLESS = "endless"  # a number that Python itself neither parses nor formats
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=6)
NUMBERS = (
    st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from([10**400, 2**63, -(2**63) - 1, ENDLESS])
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = ["name", "count", "share", "isOn", "tags", "input", "places", "words", "groupId", "other"]
TAGS = st.lists(st.sampled_from(["", "a", "x" * 64, "x" * 65, "\x00", "\ud800"]) | ANYTHING)
LIKELY = (
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "\ud83d\ude00", "\x00"]) | ANYTHING},
        optional={
            "count": st.integers() | ANYTHING,
            "share": st.floats() | ANYTHING,
            "isOn": st.booleans() | ANYTHING,
            "tags": TAGS | st.just(["a"] * 51),
            "input": st.fixed_dictionaries({"groupId": TEXTS}, optional={"tags": TAGS}) | ANYTHING,
            "places": st.lists(st.dictionaries(st.sampled_from(NAMES), ANYTHING)),
            "words": TEXTS | st.lists(TEXTS) | ANYTHING,
        },
    )
    | st.dictionaries(st.sampled_from(NAMES), ANYTHING)
    | ANYTHING
)


def as_json(value: Any, *, escaped: bool = True) -> bytes:
    """JSON as a careless client writes it: with NaN, lone surrogates and endless numbers."""
    text = json.dumps(value, ensure_ascii=escaped).replace(f'"{ENDLESS}"', "-1" + "0" * 5_000)
    return text.encode("utf-8", "surrogatepass")


def outcome(raw: bytes) -> Sample | set[tuple[str, str]]:
    try:
        return decode_sample(raw)
    except BadInput as error:
        return {(fault.field, fault.message) for fault in error.field_errors}


def leaves(value: Any) -> list[Any]:
    if isinstance(value, msgspec.Struct):
        return [leaf for each in msgspec.structs.astuple(value) for leaf in leaves(each)]
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list) else [value]


@without_deadline
@given(st.binary(max_size=200))
def test_any_bytes_are_accepted_or_refused(raw: bytes) -> None:
    outcome(raw)


@pytest.mark.slow
@without_deadline
@given(LIKELY, st.booleans(), st.data())
def test_json_with_a_few_wrong_bytes_is_accepted_or_refused(
    value: Any, escaped: bool, data: st.DataObject
) -> None:
    raw = as_json(value, escaped=escaped)
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 3)))
    outcome(raw[:start] + data.draw(st.binary(max_size=3)) + raw[end:])


@pytest.mark.slow
@without_deadline
@given(LIKELY)
def test_accepted_values_can_be_stored(value: Any) -> None:
    decoded = outcome(as_json(value))
    for leaf in leaves(decoded) if isinstance(decoded, Sample) else ():
        if isinstance(leaf, str):
            assert "\x00" not in leaf.encode().decode()
        elif isinstance(leaf, int):
            assert -(2**63) <= leaf < 2**63
        elif isinstance(leaf, float):
            assert math.isfinite(leaf)


@pytest.mark.slow
@without_deadline
@given(LIKELY.filter(lambda value: isinstance(value, dict)))
def test_the_fast_and_the_slow_parser_agree(value: dict[str, Any]) -> None:
    """An escaped surrogate pair in an unknown member only selects the slow parser."""
    raw = as_json(value)
    slow_raw = raw[:-1] + (b", " if value else b"") + b'"unknown": "\\ud83d\\ude00"}'
    assert outcome(slow_raw) == outcome(raw)


@without_deadline
@given(st.binary(max_size=60))
def test_any_query_is_accepted_or_refused(raw: bytes) -> None:
    for query in (raw, b"groupId=" + raw, b"groupId=7&limit=" + raw, b"groupId=7&word=" + raw):
        try:
            decode_query(query, Search, LIMITS)
        except BadInput as error:
            assert error.field_errors


@without_deadline
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_a_percent_encoded_string_is_decoded(text: str) -> None:
    query = f"groupId=7&word={quote_plus(text)}".encode()
    assert decode_query(query, Search, LIMITS).word == text

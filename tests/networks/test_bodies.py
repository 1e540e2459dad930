"""Bytes to values: every way in which networks write them, and none that breaks the service."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import MILLISECOND, SECOND
from longwire.networks import bodies
from longwire.networks.base import InvalidMessage
from longwire.networks.bodies import RequiredFields, parse_body

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain"

A_TIME = 1_653_666_733 * SECOND  # 2022-05-27T15:52:13Z


@pytest.mark.parametrize(
    "media_type, raw, query, values",
    [
        (JSON, b'{"device":"1FD48BE","time":1}', b"", {"device": "1FD48BE", "time": 1}),
        ("Application/JSON; charset=utf-8", b'{"a":1}', b"", {"a": 1}),
        (JSON, b'\xef\xbb\xbf {"a":"\xc3\xa4"}\r\n', b"", {"a": "\u00e4"}),
        # JSON under another name
        (FORM, b'{"a":1}', b"", {"a": 1}),
        (TEXT, b'{"a":1}', b"", {"a": 1}),
        (None, b'{"a":1}', b"", {"a": 1}),
        # forms
        (
            FORM,
            b"device=1FD48BE&time=1&data=",
            b"",
            {"device": "1FD48BE", "time": "1", "data": None},
        ),
        (TEXT, b"device=1FD48BE&time=1", b"", {"device": "1FD48BE", "time": "1"}),
        (None, b"a=1", b"", {"a": "1"}),
        (FORM, b'device="1FD48BE"&a=%22x%22', b"", {"device": "1FD48BE", "a": "x"}),
        (
            FORM,
            b"info=No+message%20since&x=%C3%A4",
            b"",
            {"info": "No message since", "x": "\u00e4"},
        ),
        (FORM, b"a=%FF&b=%00", b"", {"a": "\ufffd", "b": "\ufffd"}),
        (FORM, b"&a=1&&alone&", b"", {"a": "1"}),
        (FORM, b"a=b=c", b"", {"a": "b=c"}),
        # queries, of which the token is not part of what was said
        (None, b"", b"device=1FD48BE&token=secret&data=00", {"device": "1FD48BE", "data": "00"}),
        (JSON, b" \n", b"a=1", {"a": "1"}),
        (JSON, b'{"a":1}', b"token=secret&event=up", {"a": 1}),
        (JSON, b'{"token":"custom"}', b"", {"token": "custom"}),
        (None, b"", b"", {}),
        # templates whose values are not in quotes
        (
            JSON,
            b'{"device":1FD48BE,"time":1,"data":00,"more":0aFF,"snr":N/A,"lat":,"lng": \n}',
            b"",
            {"device": "1FD48BE", "time": 1, "data": "00", "more": "0aFF"}
            | dict.fromkeys(("snr", "lat", "lng")),
        ),
        (JSON, b'{"a":n/a,"b":"c:N/A,","d":{"e":007,"f":-1.5}}', b"", None),
        (FORM, b'{"a":0F}', b"", {"a": "0F"}),
        # words for nothing, at the top and nowhere else
        (JSON, b'{"a":null,"b":"null","c":"N/A","d":"","e":" "}', b"", dict.fromkeys("abcde")),
        (FORM, b"a=null&b=N/A&c=n%2Fa&d=", b"", dict.fromkeys("abcd")),
        (JSON, b'{"a":{"b":"","c":["null"]}}', b"", {"a": {"b": "", "c": ["null"]}}),
        (JSON, b'{"a":0,"b":false,"c":"0"}', b"", {"a": 0, "b": False, "c": "0"}),
        # what cannot be kept
        (
            JSON,
            b'{"a":"x\\u0000","\\ud800":["\\udc00"]}',
            b"",
            {"a": "x\ufffd", "\ufffd": ["\ufffd"]},
        ),
        (JSON, b'{"a":"\\ud83d\\ude00"}', b"", {"a": "\U0001f600"}),
        (JSON, b'{"a":1e999,"b":-1e999}', b"", {"a": None, "b": None}),
        (JSON, b'{"a":' + b"9" * 5_000 + b"}", b"", {"a": None}),
        (JSON, b'{"a":9223372036854775807}', b"", {"a": 2**63 - 1}),
        (JSON, b'{"a":9223372036854775808}', b"", {"a": 2.0**63}),
        (JSON, b'{"a":' + b"[" * 31 + b"]" * 31 + b',"b":"[[[["}', b"", None),
    ],
)
def test_a_request_says(media_type, raw, query, values):
    found = parse_body(media_type, raw, query)
    if values is not None:
        assert found == values


@pytest.mark.parametrize(
    "media_type, raw, words",
    [
        (JSON, b"[1]", "not a JSON object"),
        (JSON, b"device=1", "not a JSON object"),
        ("application/problem+json", b"x", "not a JSON object"),
        (JSON, b'{"a":1', "not valid JSON"),
        (JSON, b'{"a":1}{', "not valid JSON"),
        (JSON, b'{"a":NaN}', "NaN is no number"),
        (JSON, b'{"a":0F,"b":x}', "column 7"),
        (JSON, b'{"a":' + b'"\\' * 400_000, "not valid JSON"),
        (JSON, b'{"a":' + b": " * 400_000, "not valid JSON"),
        (JSON, b'{"a":F' + b"F" * 800_000, "not valid JSON"),
        (JSON, b'{"a":"\xff"}', "not valid UTF-8 at byte 6"),
        (JSON, b'{"a":' + b"[" * 32 + b"]" * 32 + b"}", "deeper than 32"),
        (JSON, b'{"a":' * 100_000, "deeper than 32"),
        (JSON, b'{"a":1,"a":2,"b":3,"b":3}', "a: is given more than once; b: is given"),
        (JSON, b'{"x":{"a":1,"a":2}}', "a: is given more than once"),
        (FORM, b"a=1&a=1", "a: is given more than once"),
        (FORM, b"&".join(b"%d=" % number for number in range(1_001)), "at most 1000 fields"),
        (FORM, b"1FD48BE", "neither"),
        (TEXT, b"hello", "neither"),
        ("application/octet-stream", b"\x0a\x03a=b", "neither"),
        ("application/xml", b'<a b="c"/>', "neither"),
        (JSON, b" " * (1024 * 1024 + 1), "at most 1048576 bytes"),
    ],
)
def test_what_is_no_message_is_nonsense(media_type, raw, words):
    with pytest.raises(InvalidMessage, match=words):
        parse_body(media_type, raw, b"")


@given(
    st.sampled_from([JSON, FORM, TEXT, None, "", ";", "application/octet-stream"]),
    st.one_of(st.binary(), st.binary().map(lambda raw: b"{" + raw), st.text().map(str.encode)),
    st.binary(),
)
def test_no_bytes_break_it(media_type, raw, query):
    try:
        values = parse_body(media_type, raw, query)
    except InvalidMessage as error:
        assert error.message
    else:
        assert all(isinstance(name, str) for name in values)


UNREADABLE = ["abc", "1,5", "0x10", "1 2", "--1", "1e9999", "", " ", "null", "N/A", None, [1], {}]


@pytest.mark.parametrize(
    "read, value, found",
    [
        (bodies.parse_number, 5, 5),
        (bodies.parse_number, " -5 ", -5),
        (bodies.parse_number, "+5", 5),
        (bodies.parse_number, "0.0", 0.0),
        (bodies.parse_number, "-113.00", -113.0),
        (bodies.parse_number, ".5", 0.5),
        (bodies.parse_number, "1e3", 1000.0),
        (bodies.parse_number, "9" * 30, 1e30),
        (bodies.parse_number, float("nan"), None),
        (bodies.parse_number, True, None),
        *((bodies.parse_number, value, None) for value in UNREADABLE),
        (bodies.parse_integer, "16", 16),
        (bodies.parse_integer, "16.0", 16),
        (bodies.parse_integer, 16.5, None),
        (bodies.parse_integer, 1e300, None),
        (bodies.parse_integer, 2**63, None),
        *((bodies.parse_integer, value, None) for value in UNREADABLE),
        (bodies.parse_rounded, "12.6", 13),
        (bodies.parse_rounded, 1e300, None),
        *((bodies.parse_rounded, value, None) for value in UNREADABLE),
        (bodies.parse_boolean, True, True),
        (bodies.parse_boolean, "True", True),
        (bodies.parse_boolean, "1", True),
        (bodies.parse_boolean, 0, False),
        (bodies.parse_boolean, " false ", False),
        (bodies.parse_boolean, 2, None),
        (bodies.parse_boolean, 1.0, None),
        *((bodies.parse_boolean, value, None) for value in UNREADABLE),
        (bodies.parse_mapping, {"a": 1}, {"a": 1}),
        (bodies.parse_mapping, ' {"a":1}', {"a": 1}),
        (bodies.parse_mapping, '{"a":', None),
        (bodies.parse_mapping, "[]", None),
        (bodies.parse_mapping, "N/A", None),
        (bodies.parse_list, "[1]", [1]),
        (bodies.parse_list, {}, None),
        (bodies.list_mappings, [{}, 1, None, {"a": 1}], [{}, {"a": 1}]),
        (bodies.list_mappings, "x", []),
    ],
)
def test_a_value_is_read_or_is_none(read: Callable[[Any], Any], value: Any, found: Any):
    assert read(value) == found
    assert type(read(value)) is type(found)


@pytest.mark.parametrize(
    "value, text",
    [("a", "a"), (" abcdef ", "abcd"), (528, "528"), (1.5, "1.5"), (True, None), ([], None)],
)
def test_a_text_is_cut_to_what_fits(value, text):
    assert bodies.parse_text(value, 4) == text


@pytest.mark.parametrize(
    "read, value, found",
    [
        (bodies.parse_hex, "", b""),
        (bodies.parse_hex, "00fF", b"\x00\xff"),
        (bodies.parse_hex, 1234, b"\x12\x34"),
        (bodies.parse_hex, "0", None),
        (bodies.parse_hex, "0g", None),
        (bodies.parse_hex, "00 11", None),
        (bodies.parse_hex, 1.5, None),
        (bodies.parse_hex, True, None),
        (bodies.parse_hex, -12, None),
        (bodies.parse_hex, {}, None),
        (bodies.parse_base64, "vu8=", b"\xbe\xef"),
        (bodies.parse_base64, "vu8", b"\xbe\xef"),
        (bodies.parse_base64, "-_8=", b"\xfb\xff"),
        (bodies.parse_base64, "+/8=", b"\xfb\xff"),
        (bodies.parse_base64, "", b""),
        (bodies.parse_base64, "v", None),
        (bodies.parse_base64, "v u8", None),
        (bodies.parse_base64, "\u00e4\u00e4\u00e4\u00e4", None),
        (bodies.parse_base64, 12, None),
    ],
)
def test_bytes_are_read_or_refused(read, value, found):
    if found is None:
        with pytest.raises(ValueError, match="must be"):
            read(value)
    else:
        assert read(value) == found


@pytest.mark.parametrize(
    "value, moment",
    [
        (1653666733, A_TIME),
        ("1653666733", A_TIME),
        (1653666733.5, A_TIME + SECOND // 2),
        (1653666733123, A_TIME + 123 * MILLISECOND),
        ("1653666733123", A_TIME + 123 * MILLISECOND),
        (0, 0),
        ("2022-05-27T15:52:13Z", A_TIME),
        ("2022-05-27T15:52:13.123456789+00:00", A_TIME + 123_456),
        ("2022-05-27t17:52:13.5+02:00", A_TIME + SECOND // 2),
        ("2022-05-27 15:52:13", A_TIME),
        ("9999-12-31T23:59:59Z", 253_402_300_799 * SECOND),
        # none of them is a time
        (-1, None),
        (1e308, None),
        (-1e308, None),
        (10**15, None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59-23:59", None),
        ("2022-02-30T00:00:00Z", None),
        ("2022-05-27", None),
        ("yesterday", None),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_a_moment_is_read_or_refused(value, moment):
    assert bodies.first_moment(value) == moment
    if moment is None:
        with pytest.raises(ValueError, match="is no date"):
            bodies.parse_moment(value)
    else:
        assert bodies.parse_moment(value) == moment


def test_everything_that_is_missing_is_named_at_once():
    required = RequiredFields()
    required.device("device", None)
    required.device("other", {})
    required.device("third", "x" * 129)
    required.device("fourth", 1e5)
    required.moment("time", "null")
    required.moment_if_given("at", "soon")
    required.payload("data", "0", bodies.parse_hex, 10)
    required.payload("more", "00" * 11, bodies.parse_hex, 10)
    required.require(False, "location")
    with pytest.raises(InvalidMessage) as caught:
        required.raise_faults()
    assert [(fault.field, fault.message.split(";")[0]) for fault in caught.value.field_errors] == [
        ("device", "is required"),
        ("other", "must be a string"),
        ("third", "must have at most 128 characters"),
        ("fourth", "must be a string"),
        ("time", "is required"),
        ("at", "is no date"),
        ("data", "must be hex digits, two for each byte"),
        ("more", "must have at most 10 bytes"),
        ("location", "is required"),
    ]


def test_a_message_that_has_all_is_let_through():
    required = RequiredFields()
    assert required.device("device", 123456) == "123456"
    assert required.device("device", "00fF") == "00fF"
    assert required.moment("time", "1653666733") == A_TIME
    assert required.moment_if_given("time", None) is None
    assert required.payload("data", None, bodies.parse_hex, 10) == b""
    required.require(True, "location")
    required.raise_faults()

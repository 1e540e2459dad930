"""Parsing request bodies: every encoding that networks use, and arbitrary bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.networks.base import InvalidMessage
from longwire.networks.bodies import parse_body

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
        # JSON with another media type
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
        # queries; the token is not part of the message
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
        # words for null, at the top level only
        (JSON, b'{"a":null,"b":"null","c":"N/A","d":"","e":" "}', b"", dict.fromkeys("abcde")),
        (FORM, b"a=null&b=N/A&c=n%2Fa&d=", b"", dict.fromkeys("abcd")),
        (JSON, b'{"a":{"b":"","c":["null"]}}', b"", {"a": {"b": "", "c": ["null"]}}),
        (JSON, b'{"a":0,"b":false,"c":"0"}', b"", {"a": 0, "b": False, "c": "0"}),
        # characters that cannot be stored
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
def test_a_body_is_parsed(media_type, raw, query, values):
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
        (JSON, b'{"a":' + b": " * 400_000, "at most 20000 values"),
        (JSON, b'{"a":' + b": " * 19_000, "not valid JSON"),
        (JSON, b'{"a":F' + b"F" * 800_000, "not valid JSON"),
        (JSON, b'{"a":"\xff"}', "not valid UTF-8 at byte 6"),
        (JSON, b'{"a":' + b"[" * 32 + b"]" * 32 + b"}", "deeper than 32"),
        (JSON, b'{"a":' * 9_000, "deeper than 32"),
        (JSON, b'{"a":' * 100_000, "at most 20000 values"),
        (JSON, b'{"a":[' + b",".join([b"1"] * 20_000) + b"]}", "at most 20000 values"),
        (JSON, b"{" + b",".join(b'"%d":1' % each for each in range(10_001)) + b"}", "20000 values"),
        (JSON, b'{"a":1,"a":2,"b":3,"b":3}', "a: is given more than once; b: is given"),
        (JSON, b'{"x":{"a":1,"a":2}}', "a: is given more than once"),
        (FORM, b"a=1&a=1", "a: is given more than once"),
        (FORM, b"&".join(b"%d=" % number for number in range(1_001)), "at most 1000 fields"),
        (FORM, b"1FD48BE", "neither"),
        (TEXT, b"hello", "neither"),
        ("application/octet-stream", b"\x0a\x03a=b", "Protobuf"),
        ("application/x-protobuf", b"\x0a\x03a=b", "to JSON"),
        ("application/xml", b'<a b="c"/>', "neither"),
        (JSON, b" " * (1024 * 1024 + 1), "at most 1048576 bytes"),
    ],
)
def test_a_body_that_is_not_a_message_is_invalid(media_type, raw, words):
    with pytest.raises(InvalidMessage, match=words):
        parse_body(media_type, raw, b"")


@pytest.mark.slow
@given(
    st.sampled_from([JSON, FORM, TEXT, None, "", ";", "application/octet-stream"]),
    st.one_of(st.binary(), st.binary().map(lambda raw: b"{" + raw), st.text().map(str.encode)),
    st.binary(),
)
def test_any_bytes_are_parsed_or_invalid(media_type, raw, query):
    try:
        values = parse_body(media_type, raw, query)
    except InvalidMessage as error:
        assert error.message
    else:
        assert all(isinstance(name, str) for name in values)

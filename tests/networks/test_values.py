"""Values of messages: every encoding that networks use, and arbitrary ones."""

from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import MILLISECOND, SECOND
from longwire.networks import values
from longwire.networks.base import InvalidMessage
from longwire.networks.values import RequiredFields

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain"

A_TIME = 1_653_666_733 * SECOND  # 2022-05-27T15:52:13Z


UNREADABLE = ["abc", "1,5", "0x10", "1 2", "--1", "1e9999", "", " ", "null", "N/A", None, [1], {}]


@pytest.mark.parametrize(
    "read, value, found",
    [
        (values.parse_number, 5, 5),
        (values.parse_number, " -5 ", -5),
        (values.parse_number, "+5", 5),
        (values.parse_number, "0.0", 0.0),
        (values.parse_number, "-113.00", -113.0),
        (values.parse_number, ".5", 0.5),
        (values.parse_number, "1e3", 1000.0),
        (values.parse_number, "9" * 30, 1e30),
        (values.parse_number, float("nan"), None),
        (values.parse_number, True, None),
        *((values.parse_number, value, None) for value in UNREADABLE),
        (values.parse_integer, "16", 16),
        (values.parse_integer, "16.0", 16),
        (values.parse_integer, 16.5, None),
        (values.parse_integer, 1e300, None),
        (values.parse_integer, 2**63, None),
        *((values.parse_integer, value, None) for value in UNREADABLE),
        (values.parse_rounded, "12.6", 13),
        (values.parse_rounded, 1e300, None),
        *((values.parse_rounded, value, None) for value in UNREADABLE),
        (values.parse_boolean, True, True),
        (values.parse_boolean, "True", True),
        (values.parse_boolean, "1", True),
        (values.parse_boolean, 0, False),
        (values.parse_boolean, " false ", False),
        (values.parse_boolean, 2, None),
        (values.parse_boolean, 1.0, None),
        *((values.parse_boolean, value, None) for value in UNREADABLE),
        (values.parse_mapping, {"a": 1}, {"a": 1}),
        (values.parse_mapping, ' {"a":1}', {"a": 1}),
        (values.parse_mapping, '{"a":', None),
        (values.parse_mapping, "[]", None),
        (values.parse_mapping, "N/A", None),
        (values.parse_list, "[1]", [1]),
        (values.parse_list, {}, None),
        (values.list_mappings, [{}, 1, None, {"a": 1}], [{}, {"a": 1}]),
        (values.list_mappings, "x", []),
    ],
)
def test_a_value_is_parsed_or_none(read: Callable[[Any], Any], value: Any, found: Any):
    assert read(value) == found
    assert type(read(value)) is type(found)


@pytest.mark.parametrize(
    "value, text",
    [("a", "a"), (" abcdef ", "abcd"), (528, "528"), (1.5, "1.5"), (True, None), ([], None)],
)
def test_a_string_is_truncated_to_its_limit(value, text):
    assert values.parse_text(value, 4) == text


@pytest.mark.parametrize(
    "read, value, found",
    [
        (values.parse_hex, "", b""),
        (values.parse_hex, "00fF", b"\x00\xff"),
        (values.parse_hex, 1234, b"\x12\x34"),
        (values.parse_hex, "0", None),
        (values.parse_hex, "0g", None),
        (values.parse_hex, "00 11", None),
        (values.parse_hex, 1.5, None),
        (values.parse_hex, True, None),
        (values.parse_hex, -12, None),
        (values.parse_hex, {}, None),
        (values.parse_base64, "vu8=", b"\xbe\xef"),
        (values.parse_base64, "vu8", b"\xbe\xef"),
        (values.parse_base64, "-_8=", b"\xfb\xff"),
        (values.parse_base64, "+/8=", b"\xfb\xff"),
        (values.parse_base64, "", b""),
        (values.parse_base64, "v", None),
        (values.parse_base64, "v u8", None),
        (values.parse_base64, "\u00e4\u00e4\u00e4\u00e4", None),
        (values.parse_base64, 12, None),
    ],
)
def test_bytes_are_decoded_or_refused(read, value, found):
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
        # none of them is a timestamp
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
def test_a_timestamp_is_parsed_or_refused(value, moment):
    assert values.first_moment(value) == moment
    if moment is None:
        with pytest.raises(ValueError, match="is not a valid date"):
            values.parse_moment(value)
    else:
        assert values.parse_moment(value) == moment


def test_all_missing_fields_are_reported_at_once():
    required = RequiredFields()
    required.device("device", None)
    required.device("other", {})
    required.device("third", "x" * 129)
    required.device("fourth", 1e5)
    required.moment("time", "null")
    required.moment_if_given("at", "soon")
    required.payload("data", "0", values.parse_hex, 10)
    required.payload("more", "00" * 11, values.parse_hex, 10)
    required.check(False, "location")
    with pytest.raises(InvalidMessage) as caught:
        required.raise_errors()
    assert [(fault.field, fault.message.split(";")[0]) for fault in caught.value.field_errors] == [
        ("device", "is required"),
        ("other", "must be a string"),
        ("third", "must have at most 128 characters"),
        ("fourth", "must be a string"),
        ("time", "is required"),
        ("at", "is not a valid date"),
        ("data", "must be hex digits, two for each byte"),
        ("more", "must have at most 10 bytes"),
        ("location", "is required"),
    ]


def test_a_complete_message_is_accepted():
    required = RequiredFields()
    assert required.device("device", 123456) == "123456"
    assert required.device("device", "00fF") == "00fF"
    assert required.moment("time", "1653666733") == A_TIME
    assert required.moment_if_given("time", None) is None
    assert required.payload("data", None, values.parse_hex, 10) == b""
    required.check(True, "location")
    required.raise_errors()

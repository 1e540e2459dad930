"""Expressions: what they may contain, what they see, and that their cost is bounded."""

import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import cel
import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from longwire.delivery.cel.expressions import (
    CONVERT,
    TOO_LARGE,
    EvaluationError,
    Expression,
    build_cel_message,
)
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.delivery.matching.filter_index import FilterIndex
from longwire.records import DataRecord, EventRecord

# Far above the limit, so that a busy machine does not fail the test; what it guards against is a
# hundred times slower.
EVALUATION_S_MAX = 5.0
RECORD_CHARACTERS = 262_144

CONTEXT = {"deviceName": "Cold room 7", "deviceType": "temperature", "tags": ["cellar", "north"]}
RECORD = DataRecord(
    device_id="dev_1",
    timestamp="2026-03-01T06:30:00.000Z",
    group_id="42",
    data='{"temp":21.5,"exact":21.0,"whole":21,"door":{"open":true},"last":[3,4.5,"x"]}',
    configuration="{}",
    raw="0a1b",
    device_type="temperature",
    reason="periodic",
)
MESSAGE = build_cel_message(RECORD, CONTEXT)


def evaluation_error(source: str, message: dict[str, Any]) -> str:
    with pytest.raises(EvaluationError) as caught:
        Expression(source).matches(message)
    return str(caught.value)


# The message.


def test_a_message_has_the_record_its_kind_and_its_device() -> None:
    assert MESSAGE == {
        "deviceId": "dev_1",
        "timestamp": "2026-03-01T06:30:00.000Z",
        "groupId": "42",
        "configuration": "{}",
        "__raw": "0a1b",
        "reason": "periodic",
        "kind": "data",
        "deviceName": "Cold room 7",
        "deviceType": "temperature",
        "tags": ["cellar", "north"],
        "data": {
            "temp": 21.5,
            "exact": 21.0,
            "whole": 21,
            "door": {"open": True},
            "last": [3, 4.5, "x"],
        },
    }


CRANE = '{"seqNumber":9,"port":2,"deviceInfo":{"tags":{"row":"7"}},"adr":true'
OLDER = (
    replace(RECORD, data=CRANE + ',"decoded":{"celsius":4,"port":7}}'),
    replace(RECORD, data=CRANE + ',"celsius":4,"port_":7}', decoded_names=["celsius", "port_"]),
)
RADIO = '"radio":{"seqNumber":9,"port":2,"adr":true,"tags":{"row":"7"}}'
NEWER = (
    replace(RECORD, data=f'{{"celsius":4,"port":7,{RADIO}}}'),
    replace(RECORD, data=f'{{"celsius":4,"port":7,{RADIO}}}', decoded_names=["celsius", "port"]),
)


@pytest.mark.parametrize("record", OLDER + NEWER)
@pytest.mark.parametrize(
    "source",
    [
        "message.values.celsius == 4.0",
        "message.values.port == 7",
        "has(message.values.celsius) && !has(message.values.fahrenheit)",
        "!has(message.values.seqNumber) && !has(message.values.radio)",
        "message.values == {'celsius': 4, 'port': 7}",
        "has(message.data.seqNumber) && message.data.seqNumber == 9",
        'message.data.deviceInfo.tags.row == "7" && message.data.adr',
    ],
)
def test_one_word_finds_a_value_whoever_decoded_it(record: DataRecord, source: str) -> None:
    message = build_cel_message(record, CONTEXT)
    assert Expression(source).matches(message)
    assert Expression(source, is_filter=True).matches(message)
    assert "values" not in json.loads(json.dumps(message))


@pytest.mark.parametrize("older, newer", list(zip(OLDER, NEWER, strict=True)))
@pytest.mark.parametrize(
    "source",
    [
        "has(message.data.decoded)",
        "message.data.decoded.celsius == 4.0",
        "message.data.decoded.port > 2",
        "message.data.port_ == 7",
        "message.data.celsius > 3",
        "has(message.data.rssi) || message.data.rssi < 0",
    ],
)
def test_filters_for_older_records_find_the_same_in_newer_ones(
    older: DataRecord, newer: DataRecord, source: str
) -> None:
    messages = [build_cel_message(each, CONTEXT) for each in (older, newer)]
    expression = Expression(source, is_filter=True)
    if source == "message.data.celsius > 3" and older.decoded_names is None:
        assert [expression.matches(each) for each in messages] == [False, True]
    else:
        assert expression.matches(messages[0]) == expression.matches(messages[1])
    index = FilterIndex([("found", expression)])
    for message in messages:
        assert bool(index.select(message)) >= expression.matches(message)


def test_the_data_as_a_whole_are_what_is_stored() -> None:
    message = build_cel_message(NEWER[0], CONTEXT)
    assert Expression("message.data").evaluate(message) == json.loads(NEWER[0].data)
    assert Expression("size(message.data)").evaluate(message) == 3


def test_fields_of_the_record_override_those_of_its_device() -> None:
    message = build_cel_message(
        replace(RECORD, device_type="probe", device_name="As sent"), CONTEXT
    )
    assert (message["deviceType"], message["deviceName"]) == ("probe", "As sent")


@pytest.mark.parametrize(
    "data, seen",
    [
        ("21.5", 21.5),
        ('"text"', "text"),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ("", ""),
        ("21,5", "21,5"),
        ("{broken", "{broken"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_data_is_parsed_when_it_is_json_and_text_otherwise(data: str, seen: Any) -> None:
    assert build_cel_message(replace(RECORD, data=data), CONTEXT)["data"] == seen


def test_a_record_without_data_has_no_data_field() -> None:
    message = build_cel_message(
        EventRecord(device_id="dev_1", timestamp="", type="doorOpened"), CONTEXT
    )
    assert Expression('message.type == "doorOpened"').matches(message)
    assert evaluation_error("message.data == 1", message) == "there is no message.data"


@pytest.mark.parametrize(
    "source",
    [
        "true",
        "message.data.temp > 20",
        "message.data.temp > 20 && message.data.temp < 21.6",
        "message.data.exact == 21",
        "message.data.whole == 21.0",
        "message.data.whole in [1.0, 21.0]",
        "message.data.whole <= 21.5 && message.data.exact >= 21",
        "double(message.data.whole) * 1.8 + 32.0 > 69.7",
        'message.kind == "data"',
        'message["kind"] == "data"',
        "message . kind // whose kind\n == 'data'",
        'message.deviceType in ["temperature", "humidity"]',
        '"north" in message.tags',
        "message.tags[1] == r'north'",
        "message.tags[message.tags.size() - 1] == 'north'",
        "message.data.last[0] + 1 == 4",
        "message.data[message.reason == 'periodic' ? 'temp' : 'nothing'] == 21.5",
        "has(message.data.door.open) && message.data.door.open",
        "has(message.data.window) || message.data.temp > 20",
        "!has(message.data.window)",
        "message.data.window == 1 || true",
        "has(message.data[message.kind == 'data' ? 'door' : 'x'].open)",
        'message.deviceName.startsWith("Cold") && message.deviceName.endsWith("7")',
        'message.__raw.contains("1b")',
        r'message.deviceName.matches("^Cold\\s\\w+ [0-9]$")',
        r"message.deviceName.matches(r'\broom\b')",
        "timestamp(message.timestamp).getHours() < 7",
        "timestamp(message.timestamp) - timestamp('2026-03-01T06:00:00Z') == duration('30m')",
        "type(message.data) == map && type(message.data.temp) == double",
        "size(message.data) == 5",
        "message.data.door == {'open': true}",
    ],
)
def test_the_message_matches(source: str) -> None:
    assert Expression(source).matches(MESSAGE) is True


@pytest.mark.parametrize(
    "source",
    [
        "message.data.temp > 22",
        "has(message.data.window)",
        r"'é'.matches(r'\w')",  # as in RE2, letters are those of ASCII
    ],
)
def test_the_message_does_not_match(source: str) -> None:
    assert Expression(source).matches(MESSAGE) is False


@pytest.mark.parametrize(
    "source, reason",
    [
        ("message.data.window > 1", "there is no message.data.window"),
        ("has(message.door.open)", "there is no message.door"),
        ("message.data['a b'].c", "there is no message.data['a b']"),
        ("message.tags[2] == 'x'", "there is no message.tags[2]"),
        ("message.kind.x", "there is no message.kind.x: message.kind is a string"),
        ("message.data[0]", "there is no message.data[0]: message.data is an object"),
        ("message.kind[0] == 'd'", "there is no message.kind[0]: message.kind is a string"),
        ("has(message.kind.x)", "there is no message.kind.x: message.kind is a string"),
        ("message.data[message.kind]", "there is no such key"),
        ("[1][message.data.whole] == 1", "there is no such element"),
        ("message.data.temp", "the filter returns a number, not true or false"),
        ("message.tags", "the filter returns a list, not true or false"),
        ("message.data", "the filter returns an object, not true or false"),
        ("null", "the filter returns null, not true or false"),
        ("b'x'", "the filter returns bytes, not true or false"),
        ("timestamp(message.timestamp)", "the filter returns a timestamp, not true or false"),
        ("message.data.temp + 1 > 2", "double + int is not defined; " + CONVERT),
        ("message.kind + 1 == ''", "string + int is not defined; " + CONVERT),
        ("message.kind > 1", "the types of these values do not match; " + CONVERT),
        ("!message.kind", "the types of these values do not match; " + CONVERT),
        ("1 / 0 == 1", "division by zero"),
        ("9223372036854775807 + message.data.whole > 1", "a number is out of range"),
        ("int(message.kind) == 1", "int() does not accept this value"),
        ("timestamp(message.kind) == timestamp('')", "timestamp() does not accept this value"),
    ],
)
def test_an_evaluation_error_says_why(source: str, reason: str) -> None:
    assert evaluation_error(source, MESSAGE) == reason


def test_a_reason_never_repeats_a_value_of_the_record() -> None:
    message = build_cel_message(replace(RECORD, data='"canary"'), CONTEXT)
    reasons = [
        evaluation_error(source, message)
        for source in (
            "int(message.data) > 1",
            "duration(message.data) > duration('1s')",
            "message.data + 1",
            "message[message.data]",
            "{'a': 1}[message.data] == 1",
            "message.data",
        )
    ]
    assert all(reasons)
    assert not any("canary" in reason for reason in reasons)


# A field that is missing, in a filter.


@pytest.mark.parametrize(
    "source, is_true",
    [
        ("message.data.window < 5", False),
        ("message.data.window > 5", False),
        ("message.data.window == 1", False),
        ("message.data.window != 1", False),
        ("5 >= message.data.window", False),
        ("message.data.window in [1, 2]", False),
        ("'x' in message.data.window", False),
        ("!(message.data.window < 5)", True),
        ("!(message.data.window != 1)", True),
        ("message.data.window == null", True),
        ("null == message.data['window'].left", True),
        ("message.data.window != null", False),
        ("message.data.temp == null", False),
        ("message.data.temp != null", True),
        ("size(message.data.window) == null", False),
        ("message.data.window < 5 && message.data.temp > 20", False),
        ("message.data.window < 5 || message.data.temp > 20", True),
        ("message.data.temp > 20 && !(message.data.window < 5)", True),
        ("message.data.window", False),
        ("!message.data.window.open", True),
        ("message.data.window.open || message.data.door.open", True),
        ("message.data.window.startsWith('o')", False),
        ("'open'.contains(message.data.window)", False),
        ("!message.window.matches('^o')", True),
        ("message.window.endsWith('n') == false", True),
        ("message.data.window + 1.0 > message.data.temp", False),
        ("-message.data.window < 5", False),
        ("size(message.data.window) > 1", False),
        ("double(message.data.window) * 1.8 + 32.0 > 46.4", False),
        ("[message.data.window, 21.5] == [1, 21.5]", False),
        ("(message.data.window < 5) == (message.data.temp < 5)", True),
        ("message.kind.x == 1", False),
        ("message.data[0] == 1", False),
        ("message.tags[2] == 'x'", False),
        ("message.tags[message.window] == 'x'", False),
        ("has(message.window.open)", False),
        ("!has(message.kind.x)", True),
        ("message.data.window > 1 ? message.data.temp > 30 : message.data.temp > 20", True),
        ("(message.data.temp > 20 ? message.data.temp : message.data.window) > 21", True),
        ("(message.kind == 'data' || message.data.window) && message.data.temp > 21", True),
    ],
)
def test_a_condition_on_a_missing_field_is_false(source: str, is_true: bool) -> None:
    assert Expression(source, is_filter=True).matches(MESSAGE) is is_true
    with suppress(EvaluationError):
        assert Expression(source).matches(MESSAGE) is is_true


@pytest.mark.parametrize(
    "source, reason",
    [
        ("message.data.temp + 1 > 2 && message.data.window > 1", None),
        ("message.kind > 1", "the types of these values do not match; " + CONVERT),
        ("message.kind > 1 || message.data.window > 1", "the types of these values do not match"),
        ("message.data.temp + 1 > message.kind.size()", "double + int is not defined; " + CONVERT),
        ("message.data.temp", "the filter returns a number, not true or false"),
        ("message.data[message.kind] == 1", "there is no such key"),
        ("(message.kind == 'data' ? message.window : 1) == 1", "there is no message.window"),
    ],
)
def test_other_errors_of_a_filter_remain(source: str, reason: str | None) -> None:
    expression = Expression(source, is_filter=True)
    if reason is None:
        assert not expression.matches(MESSAGE)
        return
    with pytest.raises(EvaluationError, match=re.escape(reason)):
        expression.matches(MESSAGE)


def test_a_filter_that_is_false_names_the_field_that_is_missing() -> None:
    def missing(source: str) -> str | None:
        return Expression(source, is_filter=True).prepare(MESSAGE).find_missing_field()

    found = missing("message.kind == 'data' && message.data.celsius > 8 && message.x == 1")
    assert found == "message.data.celsius"
    assert missing("message.kind == 'data' && message.data.temp > 8") is None
    assert missing("has(message.data.celsius) && message.data.temp > 8") is None


@pytest.mark.parametrize(
    "source", ["message.a == 1", "message.a", "!(message.a == 1)", "message.a ? message.b : true"]
)
def test_a_filter_may_be_nested_as_deeply_as_any_expression(source: str) -> None:
    nested = "(" * 31 + source + ")" * 31
    assert Expression(nested, is_filter=True).matches({"a": True, "b": True}) in (True, False)


def test_comparisons_of_comparisons_have_a_limit_of_their_own() -> None:
    source = "(" * 30 + "message.a" + " == message.b)" * 30
    Expression(source)
    with pytest.raises(InvalidExpression, match="line 1, column 1: nested too deeply"):
        Expression(source, is_filter=True)


# What is rejected when it is saved.


@pytest.mark.parametrize(
    "source, line, column, reason",
    [
        ("", 1, 1, "an expression is required"),
        ("  // nothing", 1, 1, "an expression is required"),
        ("message.data.temp >", 1, 20, "unexpected end of the expression"),
        ("message.kind ==\n  ) 1", 2, 3, "unexpected )"),
        ("(message.kind", 1, 14, "')' is missing"),
        ("message.kind 'x'", 1, 14, "unexpected 'x'"),
        ("message.kind = 'x'", 1, 14, "unexpected character"),
        ("'é😀' @", 1, 6, "unexpected character"),
        ("message.kind == 'x", 1, 17, "unterminated string"),
        ("'ERROR: <input>:9:9: x' +", 1, 26, "unexpected end of the expression"),
        ("9223372036854775808 > 1", 1, 1, "invalid int"),
        ("1e999 > 1", 1, 1, "invalid double"),
        ("'\\ud800'", 1, 1, "invalid string"),
        ("'\ud800'", 1, 1, "invalid expression"),
        ("data.temp > 1", 1, 1, "unknown name 'data'"),
        ("message.kind == data", 1, 17, "unknown name 'data'"),
        ("message.kind == 'x' and true", 1, 21, "unknown name 'and'"),
        (".message.kind", 1, 1, "unexpected '.'"),
        ("1 + .message.kind", 1, 5, "unexpected '.'"),
        ("message{kind: 1}", 1, 8, "unexpected '{'"),
        ("message.kind.lower() == 'x'", 1, 14, "unknown method lower()"),
        ("lower(message.kind) == 'x'", 1, 1, "unknown function lower()"),
        ("matches('a', 'b')", 1, 1, "unknown function matches()"),
        ("message.int()", 1, 9, "unknown method int()"),
        ("optional.of(1)", 1, 1, "unknown name 'optional'"),
        ("size()", 1, 1, "size() takes 1 argument, not 0"),
        ("size(1, 2)", 1, 1, "size() takes 1 argument, not 2"),
        ("message.kind.size(')')", 1, 14, "size() takes no argument, not 1"),
        ("timestamp('').getHours('UTC')", 1, 15, "getHours() takes no argument, not 1"),
        ("has(message)", 1, 5, "has() takes a field"),
        ("has(message['kind'])", 1, 12, "has() takes a field"),
        ("has((message.kind))", 1, 1, "has() takes a field"),
        ("message.kind.matches('(')", 1, 22, "invalid pattern: unclosed group"),
        ("message.kind.matches(')')", 1, 22, "invalid pattern: unopened group"),
        ("message.kind.matches('*a')", 1, 22, "invalid pattern: repetition operator missing"),
        ("message.kind.matches('[a')", 1, 22, "invalid pattern"),
        ("message.kind.matches('a{2')", 1, 22, "invalid pattern"),
        ("message.kind.matches('(?x)a')", 1, 22, "invalid pattern"),
        ("message.kind.matches('(?=a)')", 1, 22, "invalid pattern"),
        (r"message.kind.matches(r'(a)\1')", 1, 22, "invalid pattern"),
        ("message.kind.matches(message.data)", 1, 22, "a pattern must be a string literal"),
        ("message.kind.matches('a' + 'b')", 1, 22, "a pattern must be a string literal"),
        ("message.kind.matches('((a{30}){30}){30}')", 1, 14, "the patterns of this expression"),
    ],
)
def test_an_invalid_expression_is_rejected_with_its_position(
    source: str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(InvalidExpression) as refused:
        Expression(source)
    assert (refused.value.line, refused.value.column) == (line, column)
    assert str(refused.value).startswith(f"line {line}, column {column}: {reason}")


@pytest.mark.parametrize("name", ["all", "exists", "exists_one", "existsOne", "map", "filter"])
def test_expressions_cannot_loop(name: str) -> None:
    with pytest.raises(InvalidExpression, match=rf"column 14: {name}\(\) is not available"):
        Expression(f"message.tags.{name}(x, true)")


def test_a_field_may_be_called_like_a_loop() -> None:
    assert Expression("message.map.all == 1").matches({"map": {"all": 1}})


def test_an_expression_has_4096_characters_and_no_more() -> None:
    longest = "'" + "x" * 4_087 + "' == ''"
    assert len(longest) == 4_095
    assert not Expression(longest + " ").matches({})
    with pytest.raises(InvalidExpression, match="at most 4,096 characters"):
        Expression(longest + "  ")


@pytest.mark.slow
def test_no_expression_ends_the_process_even_on_a_small_stack() -> None:
    sources = [
        "(" * 10_000 + "1" + ")" * 10_000,
        "(" * 2_000 + "1" + ")" * 2_000,
        "(" * 32 + "1" + ")" * 32,
        "[" * 4_096,
        "{" * 4_096,
        "!" * 4_096,
        "!" * 900 + "true",
        "-" * 4_096,
        "-" * 900 + "1",
        "-(" * 300 + "1" + ")" * 300,
        "message" + ".a" * 499,
        "message" + "[0]" * 333,
        "message" + ".size()" * 240,
        "1" + "+1" * 499,
        "1" + "==1" * 499,
        "true?1:" * 90 + "1",
        "true?1:" * 200 + "1",
        "[" + "1," * 498 + "1]",
        "true" + "&&true" * 499,
        "message == message",
        "message.deep == message.deep",
    ]
    code = """
import json, sys, threading
from longwire.delivery.cel.expressions import EvaluationError, Expression
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.delivery.matching.filter_index import FilterIndex
from longwire.records import DataRecord, EventRecord

def run():
    deep = 1
    for _ in range(900):
        deep = [deep]
    for source in json.load(sys.stdin):
        try:
            Expression(source).matches({"a": 1, "deep": deep})
        except (InvalidExpression, EvaluationError):
            pass
        print("survived", source[:20])

threading.stack_size(1 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout.splitlines() == [f"survived {source[:20]}" for source in sources]
    assert ended.returncode == 0


FRAGMENTS = st.sampled_from(
    [
        *("message", ".data", ".temp", "1", "2.5", "1u", "0xf", "true", "null", "int", " in "),
        *("'x'", "r'\\'", "b''", '"""', "'('", "'[^a]{3}'", "//", "==", "!=", ">=", "&&", "||"),
        *("has(", "size(", ".size()", ".matches(", ".all(x,"),
        *"()[]{}+-*/%!<?:,.@`\\é\n",
    ]
)


@pytest.mark.slow
@hypothesis_settings(max_examples=200, deadline=None)
@given(st.lists(FRAGMENTS, max_size=20) | st.lists(st.text(max_size=3), max_size=20))
def test_any_text_is_an_expression_or_an_invalid_one(fragments: list[str]) -> None:
    source = "".join(fragments)
    try:
        expression = Expression(source)
    except InvalidExpression as refused:
        assert 1 <= refused.line <= source.count("\n") + 1
        assert 1 <= refused.column <= len(source) + 1
    else:
        try:
            assert expression.matches(MESSAGE) in (True, False)
        except EvaluationError as error:
            assert str(error)


# The rewritten expression must be equivalent to the source.

PATHS = st.sampled_from(
    [
        "message.data",
        "message.data.temp",
        "message.data.whole",
        "message.data.door.open",
        "message.kind",
        "message.tags",
        "message.tags[0]",
        "message.tags[7]",
        "message.data.last",
        "message['kind']",
        "message.nope",
        "message.data.nope",
        "message.kind.nope",
        "has(message.kind)",
        "has(message.nope)",
        "has(message.nope.x)",
        "has(message.data.door.open)",
        "message.data['temp']",
        "message.data.last[1]",
    ]
)
LITERALS = st.sampled_from(
    ["1", "2.5", "21", "21.0", "'data'", "'x'", "true", "false", "null", "[1,2.0]", "{'open':true}"]
)
OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"]
)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map(" ".join),
        st.tuples(inner, OPERATORS, inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda part: f"!({part})"),
        inner.map(lambda part: f"-({part})"),
        inner.map(lambda part: f"size({part})"),
        inner.map(lambda part: f"({part}).size()"),
        inner.map(lambda part: f"string({part})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        st.tuples(inner, inner).map(lambda parts: f"[{parts[0]}, {parts[1]}]"),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
    )


def outcome(evaluate: Any, *arguments: Any) -> bytes | None:
    """As JSON, in which objects have an order and what is not a number equals itself."""
    try:
        return msgspec.json.encode(evaluate(*arguments), order="deterministic")
    except Exception:
        return None


@pytest.mark.slow
@hypothesis_settings(max_examples=200, deadline=None)
@given(st.recursive(PATHS | LITERALS, combined, max_leaves=8))
def test_an_expression_means_what_it_means_in_plain_cel(source: str) -> None:
    plain = outcome(cel.evaluate, source, {"message": MESSAGE})
    # The library turns a map into a list in no particular order, not even twice in the same one.
    assume(all(outcome(cel.evaluate, source, {"message": MESSAGE}) == plain for _ in range(5)))
    assert outcome(Expression(source).evaluate, MESSAGE) == plain


@pytest.mark.slow
@hypothesis_settings(max_examples=300, deadline=None)
@given(st.recursive(PATHS | LITERALS, combined, max_leaves=8))
def test_a_filter_means_what_the_expression_means_where_that_has_a_value(source: str) -> None:
    plain = outcome(Expression(source).evaluate, MESSAGE)
    assume(all(outcome(Expression(source).evaluate, MESSAGE) == plain for _ in range(5)))
    if plain is not None or all(missing not in source for missing in ("nope", "[7]")):
        assert outcome(Expression(source, is_filter=True).evaluate, MESSAGE) == plain


PATTERN_PARTS = st.sampled_from(
    [
        *"abé.^$|-",
        *(r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\.", r"\\", r"\x61"),
        *("[a-c]", "[^a]", r"[\d_]", r"[^\s]", r"[\Wa]", "[]]", "[[:alpha:]]"),
        *("(?:a|b)", "(a*)", "(?i)A", "a+", "b?", "a{2}", ".{1,3}?", r"\w{2,}"),
    ]
)


@pytest.mark.slow
@hypothesis_settings(max_examples=200, deadline=None)
@given(
    st.lists(PATTERN_PARTS, max_size=6).filter(lambda parts: "(?i)A" not in parts[1:]),
    st.text("abcABé1_ -.\\]", max_size=8),
)
def test_a_pattern_finds_what_others_find(parts: list[str], text: str) -> None:
    pattern = "".join(parts)
    expected = re.search(pattern.replace("[[:alpha:]]", "[A-Za-z]"), text, re.ASCII) is not None
    try:
        expression = Expression(f"message.text.matches(r'''{pattern}''')")
    except InvalidExpression as error:
        assume("too large" not in str(error))
        raise
    assert expression.evaluate({"text": text}) is expected


# Cost.


def texts_of_a_and_b(characters: int) -> str:
    """Without a period that an automaton could settle on."""
    state, out = 1, []
    for _ in range(characters):
        state = state * 48_271 % 2_147_483_647
        out.append("ab"[state >> 16 & 1])
    return "".join(out)


LARGEST: dict[str, Any] = {
    "text": "x" * RECORD_CHARACTERS,
    "random": texts_of_a_and_b(RECORD_CHARACTERS),
    "page": texts_of_a_and_b(9 * 1_024),
    "spans": "1h" * (RECORD_CHARACTERS // 2),
    "digits": "9" * RECORD_CHARACTERS,
    "numbers": [1] * (RECORD_CHARACTERS // 2),
    "decimals": [0.5] * (RECORD_CHARACTERS // 4),
    "words": ["a"] * (RECORD_CHARACTERS // 4),
    "lists": [[] for _ in range(RECORD_CHARACTERS // 3)],
    "object": {str(number): number for number in range(RECORD_CHARACTERS // 10)},
    "fitting": [1] * 30_000,
}


@pytest.mark.parametrize(
    "source",
    [
        " + ".join(["message.text"] * 240) + " == ''",
        "(" + " + ".join(["message.fitting"] * 200) + ").size() > 1",
        "[" + ", ".join(["message.text"] * 240) + "] == []",
        " && ".join(["message.numbers == message.numbers"] * 100),
        " || ".join(["0.5 in message.numbers"] * 150),
        " || ".join(["message.object[message.kind] == 2"] * 90),
        " || ".join(["double(message.digits) == 1.0"] * 99),
        " || ".join(["duration(message.spans) == duration('1s')"] * 70),
        "message.decimals.size() > 1",
        "message.words.size() > 1",
        "message.lists.size() > 1",
        "message.object.size() > 1",
        "message",
        "message.random.matches('(a|b)*a(a|b){20}c')",
        "message.random.matches('(?:[ab]{0,9}a){9}c')",
        "message.page.matches('(?:[ab]{0,9}a){9}c')",
        "(message.random + '').matches('[ab]*a[ab]{60}c')",
        "message.text.matches('x{900}')",
        "message.text.matches('(x+x+)+y')",
        r"message.page.matches(r'\pL\pL')",
        "message.page.matches('.{90}')",
        " || ".join(f"message.page.matches('[ab]*a[ab]{{9}}c{number}')" for number in range(50)),
        "'" + "ab" * 1_900 + "'.matches('[ab]*a[ab]{900}c')",
    ],
)
def test_no_expression_takes_long_whatever_the_record(source: str) -> None:
    expression = Expression(source)
    begun = time.thread_time()
    with suppress(EvaluationError):
        expression.matches(LARGEST)
    assert time.thread_time() - begun < EVALUATION_S_MAX


@pytest.mark.parametrize(
    "source",
    [
        "message.text.contains('y')",
        "message.text == message.text",
        "message.text.size() > 1000 && message.text.startsWith('x')",
        "message.text.matches('^x')",
        "message.fitting.size() == 30000",
        "message.object['7'] == 7",
        "message.numbers[100000] == 1",
    ],
)
def test_the_largest_record_can_be_evaluated(source: str) -> None:
    assert Expression(source).matches(LARGEST) in (True, False)


def test_a_record_that_is_too_large_for_an_expression_does_not_match_and_says_so() -> None:
    assert evaluation_error("1 in message.numbers", LARGEST) == TOO_LARGE
    deep = msgspec.json.decode("[" * 65 + "]" * 65)
    assert evaluation_error("message.deep == 1", {"deep": deep}) == TOO_LARGE
    assert not Expression("message.deep == 1").matches({"deep": deep[0]})
    with pytest.raises(EvaluationError, match=TOO_LARGE):
        Expression("message.random.matches('(a|b)*a(a|b){20}c')").evaluate(LARGEST)


def test_one_expression_serves_many_threads() -> None:
    expression = Expression("message.n % 2 == 0 && message.name.matches('^n[0-9]+$')")
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(
                lambda n: expression.matches({"n": n, "name": f"n{n}"}),
                range(2_000),
            )
        )
    assert found == [n % 2 == 0 for n in range(2_000)]

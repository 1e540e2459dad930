"""Formats of messages, alone and in a batch."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.api.records.records import KINDS, build_item
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.connectors.formats import (
    FORMATS,
    FormatError,
    FormattedMessage,
    format_record,
)
from longwire.records import (
    DataRecord,
    EncodedRecord,
    EventRecord,
    complete_record,
    encode_record,
)

CONTEXT = {"deviceName": 'The "big" gate', "deviceType": "button", "tags": ["north", "ü"]}
# More than any version of Python decodes: the newest go as deep as their stack allows.
TOO_DEEP = "[" * 400_000 + "]" * 400_000
EVENT_IN_CONTEXT = (
    '"kind":"event","deviceId":"dev_1","timestamp":"2026-03-01T06:30:00.000Z","groupId":"42",'
    '"type":"opened","message":"says \\"deviceName\\": none","data":"{\\"by\\": \\"key\\"}",'
    '"deviceName":"The \\"big\\" gate","deviceType":"button","tags":["north","ü"]'
)


def event(**fields: Any) -> EncodedRecord:
    return encode_record(EventRecord(**(KNOWN | {"type": "opened"} | fields)))


KNOWN = {"device_id": "dev_1", "timestamp": "2026-03-01T06:30:00.000Z", "group_id": "42"}
EVENT = event(message='says "deviceName": none', data='{"by": "key"}')


def data_record(**fields: Any) -> EncodedRecord:
    filled = {"data": "{}", "configuration": "{}", "raw": "", "device_type": "probe"}
    return encode_record(DataRecord(**(KNOWN | filled | fields)))


def formatted(
    format: str, record: EncodedRecord = EVENT, template: str | None = None
) -> FormattedMessage:
    expression = None if template is None else StoredExpression(template)
    return format_record(format, expression, "msg_1", record, CONTEXT)


def test_json_is_the_record_in_its_context_with_the_id_first() -> None:
    message = formatted("json")
    assert message.body.decode() == '{"id":"msg_1",' + EVENT_IN_CONTEXT + "}"
    assert message.content_type == "application/json"
    assert message.element == message.body


def test_json_keeps_the_fields_of_the_record_about_its_device() -> None:
    message = json.loads(formatted("json", data_record(device_name="As sent")).body)
    assert (message["deviceName"], message["deviceType"]) == ("As sent", "probe")
    assert message["tags"] == ["north", "ü"]


def test_no_member_is_repeated() -> None:
    record = event(data='{"deviceType":1}', message='"deviceType":')
    pairs = json.loads(formatted("json", record).body, object_pairs_hook=list)
    names = [name for name, _ in pairs]
    assert sorted(names) == sorted(set(names))
    assert ("deviceType", "button") in [tuple(pair) for pair in pairs if pair[0] != "tags"]


def test_cloudevents_wraps_the_record_and_its_context() -> None:
    message = formatted("cloudevents")
    assert message.body.decode() == (
        '{"specversion":"1.0","id":"msg_1","source":"/longwire/groups/42/devices/dev_1",'
        '"type":"longwire.device.event","subject":"dev_1","time":"2026-03-01T06:30:00.000Z",'
        '"datacontenttype":"application/json","data":{' + EVENT_IN_CONTEXT + "}}"
    )
    assert message.content_type == "application/cloudevents+json"
    assert message.element == message.body


def test_the_source_of_a_cloudevent_is_a_uri_whatever_the_device_is_called() -> None:
    message = json.loads(formatted("cloudevents", event(device_id='a/b ?#"é')).body)
    assert message["source"] == "/longwire/groups/42/devices/a%2Fb%20%3F%23%22%C3%A9"
    assert message["subject"] == 'a/b ?#"é'


TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@pytest.mark.parametrize(
    "data, content_type, member",
    [
        ('{"temp": 21.50}', JSON, '{"temp": 21.50}'),
        (" [1, 2]\n", JSON, " [1, 2]\n"),
        ("21", JSON, "21"),
        ("null", JSON, "null"),
        ('"quoted"', JSON, '"quoted"'),
        ("1e999", JSON, "1e999"),
        ("", TEXT, '""'),
        ("21,5", TEXT, '"21,5"'),
        ("NaN", TEXT, '"NaN"'),
        ("{'temp': 1}", TEXT, "\"{'temp': 1}\""),
        ('say "é"\n', TEXT, '"say \\"é\\"\\n"'),
        ('{"a":1} {"b":2}', TEXT, '"{\\"a\\":1} {\\"b\\":2}"'),
        (TOO_DEEP, TEXT, f'"{TOO_DEEP}"'),
    ],
)
def test_raw_is_the_data_to_the_letter(data: str, content_type: str, member: str) -> None:
    message = formatted("raw", event(data=data))
    assert message.body.decode() == data
    assert message.content_type == content_type
    assert message.element.decode() == '{"id":"msg_1","data":' + member + "}"


def test_raw_of_a_record_without_data_is_empty() -> None:
    message = formatted("raw", event())
    assert message == FormattedMessage(b"", TEXT, b'{"id":"msg_1","data":null}')


@pytest.mark.parametrize(
    "template, body, content_type, member",
    [
        ("'gate ' + message.deviceId", "gate dev_1", TEXT, '"gate dev_1"'),
        ("'{\"a\": 1}'", '{"a": 1}', JSON, '{"a": 1}'),
        ("''", "", TEXT, '""'),
        ("message.data.by", "key", TEXT, '"key"'),
        ("{'z': message.data.by, 'a': [1, 2.5, null]}", '{"a":[1,2.5,null],"z":"key"}', JSON, ...),
        ("message.data", '{"by":"key"}', JSON, ...),
        ("size(message.tags)", "2", JSON, ...),
        ("message.kind == 'event'", "true", JSON, ...),
        ("null", "null", JSON, ...),
        ("1.0 / 0.0", "null", JSON, ...),  # JSON has no infinity
        ("{7: 'a', true: 'b'}", '{"7":"a","true":"b"}', JSON, ...),
        ("b'hi'", f'"{base64.b64encode(b"hi").decode()}"', JSON, ...),
        ("timestamp(message.timestamp)", '"2026-03-01T06:30:00Z"', JSON, ...),
        ("[duration('90s'), duration('1500ms')]", '["90s","1.5s"]', JSON, ...),
    ],
)
def test_custom_is_the_value_of_the_template(
    template: str, body: str, content_type: str, member: Any
) -> None:
    message = formatted("custom", template=template)
    assert message.body.decode() == body
    assert message.content_type == content_type
    expected = body if member is ... else member
    assert message.element.decode() == '{"id":"msg_1","data":' + expected + "}"


def test_custom_gives_the_same_bytes_on_every_attempt() -> None:
    entries = ", ".join(f"'k{number}': {number}" for number in range(30))
    template = StoredExpression(f"{{{entries}}}")
    bodies = {format_record("custom", template, "msg_1", EVENT, CONTEXT).body for _ in range(20)}
    assert len(bodies) == 1


@pytest.mark.parametrize(
    "template, reason",
    [
        (None, "there is no template"),
        ("message.data.nope", "there is no message.data.nope"),
        ("message.kind + 1", "string \\+ int is not defined"),
        ("message.message + message.message", "larger than 256 KiB"),
        ("[message.message, message.message]", "larger than 256 KiB"),
    ],
)
def test_a_template_without_a_result_says_why(template: str | None, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        formatted("custom", event(data="{}", message="x" * 200_000), template)


def test_a_custom_body_can_be_as_large_as_a_record() -> None:
    message = formatted("custom", event(message="x" * 262_144), "message.message")
    assert len(message.body) == 262_144


def test_there_are_four_formats_and_no_other() -> None:
    assert FORMATS == ("json", "cloudevents", "raw", "custom")
    with pytest.raises(ValueError, match="unknown format"):
        formatted("xml")


# Every valid record.

CHARACTERS = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")
TEXTS = st.text(CHARACTERS, max_size=20) | st.sampled_from(
    ['"deviceName":', '","deviceType":"', "\\", '{"a":[1,null]}', "21.5", "\u2028", "9" * 5_000]
)
NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "data": dict.fromkeys(["mode", "reason", "deviceName"], TEXTS),
    "event": dict.fromkeys(["deviceType", "message", "data", "severity"], TEXTS),
    "geoloc": {
        **dict.fromkeys(["location", "data", "__raw"], TEXTS),
        **dict.fromkeys(["status", "source", "radius"], NUMBERS),
        "lat": st.floats(-90, 90),
        "lng": st.floats(-180, 180),
    },
    "telemetry": {
        "data": TEXTS,
        "duplicates": st.lists(TEXTS, max_size=3),
        **dict.fromkeys(["score", "nbBs", "rc"], NUMBERS),
    },
}
REQUIRED = {
    "data": dict.fromkeys(["data", "configuration", "__raw", "deviceType"], TEXTS),
    "event": {"type": TEXTS.map(lambda text: text[:200] + "!")},
    "geoloc": {},
    "telemetry": {"deviceType": TEXTS},
}
SHORT = ("deviceType", "mode", "reason", "deviceName", "severity")


@st.composite
def stored_records(draw: st.DrawFn) -> EncodedRecord:
    kind = draw(st.sampled_from(KINDS))
    sent = draw(st.fixed_dictionaries(REQUIRED[kind.name], optional=FIELDS[kind.name]))
    for name in SHORT:
        if name in sent:
            sent[name] = sent[name][:64]
    if "deviceName" in sent:
        sent["deviceName"] = sent["deviceName"] or "?"  # a name is not empty
    sent |= {"deviceId": "dev_" + draw(TEXTS)[:100], "timestamp": "2026-03-01T06:30:00Z"}
    item = build_item(msgspec.json.decode(msgspec.json.encode(sent), type=kind.input))
    return complete_record(item.record, "42", "Named when it was stored")


TEMPLATES = [
    StoredExpression("message"),
    StoredExpression("message.data"),
    StoredExpression("message.deviceName + ' ' + string(message.data)"),
]


@pytest.mark.slow
@hypothesis_settings(max_examples=200, deadline=None)
@given(
    stored_records(),
    st.fixed_dictionaries(
        {"deviceName": TEXTS, "deviceType": TEXTS, "tags": st.lists(TEXTS, max_size=3)}
    ),
    TEXTS,
)
def test_every_valid_record_can_be_formatted(
    stored: EncodedRecord, context: dict[str, Any], id: str
) -> None:
    kind = stored.record.kind.label
    answered = json.loads(stored.body)

    flat = json.loads(format_record("json", None, id, stored, context).body)
    assert flat == {**context, **answered, "id": id, "kind": kind}

    event = json.loads(format_record("cloudevents", None, id, stored, context).body)
    assert event["id"] == id
    assert event["data"] == {**context, **answered, "kind": kind}
    assert event["source"].isascii()

    raw = format_record("raw", None, id, stored, context)
    assert raw.body.decode() == answered.get("data", "")
    member = json.loads(raw.element, parse_int=str)
    assert member["id"] == id
    if raw.content_type == JSON:
        assert member["data"] == json.loads(raw.body, parse_int=str)
    else:
        assert member["data"] == answered.get("data")

    for template in TEMPLATES:
        try:
            custom = format_record("custom", template, id, stored, context)
        except FormatError as error:
            assert str(error)
        else:
            assert json.loads(custom.element, parse_int=str)["id"] == id

"""The formats of outbound messages.

A record is stored as the JSON of the API, so most of a body is concatenated, not parsed.

`json` is one flat object: `id`, `kind`, the record's fields in the order of the API, then
`deviceName` and `deviceType` where the record itself has none, and `tags`. `data` stays the string
that was stored. `cloudevents` is an envelope of CloudEvents 1.0 with the same object, without `id`,
as its `data`. `raw` is the record's `data` and nothing else; a change has no data, and is sent as
it is stored. `custom` is the value of a CEL
template: a string is the body as it is, anything else is encoded as JSON with sorted keys.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec

from longwire.changes import EncodedChange, get_subject_id
from longwire.delivery.cel.expressions import EvaluationError, build_cel_message
from longwire.delivery.cel.stored import NoLongerValid, StoredExpression
from longwire.records import EncodedRecord, get_device_name, get_device_type

Encoded = EncodedRecord | EncodedChange

FORMATS = ("json", "cloudevents", "raw", "custom")
# Those whose messages have members of ours; the others are what users make of them.
MARKABLE_FORMATS = ("json", "cloudevents")

BODY_BYTES_MAX = 262_144

JSON = "application/json"
CLOUDEVENTS = "application/cloudevents+json"
TEXT = "text/plain; charset=utf-8"


class FormatError(Exception):
    """The record cannot be put into this format; the text says why."""


class UnusableTemplate(FormatError):
    """No record can, until somebody saves the template again."""


class FormattedMessage(msgspec.Struct, frozen=True):
    """The body of a message, alone and as an element of a batch."""

    body: bytes
    content_type: str
    element: bytes  # JSON with the id in it


def format_record(
    format: str,
    template: StoredExpression | None,
    id: str,
    encoded: Encoded,
    context: Mapping[str, Any],
) -> FormattedMessage:
    """Encode a record or a change in a format.

    `context` has deviceName, deviceType and tags of the device when that was stored; it is empty if
    there is none. Only `custom` can fail, with `FormatError`.
    """
    match format:
        case "json":
            whole = f'{{"id":{_json_string(id)},{_fields(encoded, context)}}}'.encode()
            return FormattedMessage(whole, JSON, whole)
        case "cloudevents":
            whole = _cloudevent(id, encoded, context)
            return FormattedMessage(whole, CLOUDEVENTS, whole)
        case "raw":
            return _raw(id, encoded)
        case "custom":
            return _custom(template, id, build_cel_message(encoded.record, context))
    raise ValueError(f"unknown format: {format}")


def mark_as_test(message: bytes) -> bytes:
    """A message in such a format, with `test` as its first member."""
    return b'{"test":true,' + message[1:]


_encoder = msgspec.json.Encoder()
_json_decoder = msgspec.json.Decoder(msgspec.Raw)


def _json_string(text: str) -> str:
    return _encoder.encode(text).decode()


def _fields(encoded: Encoded, context: Mapping[str, Any]) -> str:
    """The members of the flat object, after its id."""
    if isinstance(encoded, EncodedChange):
        known = _encoder.encode(context).decode()[1:-1]  # nothing if there is no device
        kind = f'"kind":"{encoded.record.kind.label}"'
        return ",".join(filter(None, (kind, encoded.members, known)))
    record = encoded.record
    fields = [f'"kind":"{record.kind.label}",{encoded.members}']
    if get_device_name(record) is None:
        fields.append(f'"deviceName":{_json_string(context["deviceName"])}')
    if get_device_type(record) is None:
        fields.append(f'"deviceType":{_json_string(context["deviceType"])}')
    fields.append(f'"tags":{_encoder.encode(context["tags"]).decode()}')
    return ",".join(fields)


def _cloudevent(id: str, encoded: Encoded, context: Mapping[str, Any]) -> bytes:
    record = encoded.record
    group, subject = record.group_id or "", get_subject_id(record)
    folder = "devices" if record.device_id else "connectors"
    source = f"/longwire/groups/{_segment(group)}/{folder}/{_segment(subject)}"
    name = (
        encoded.record.type if isinstance(encoded, EncodedChange) else f"device.{record.kind.label}"
    )
    return (
        f'{{"specversion":"1.0","id":{_json_string(id)},"source":{_json_string(source)},'
        f'"type":"longwire.{name}","subject":{_json_string(subject)},'
        f'"time":{_json_string(record.timestamp)},"datacontenttype":"{JSON}",'
        f'"data":{{{_fields(encoded, context)}}}}}'
    ).encode()


def _segment(text: str) -> str:
    return quote(text, safe="")


def _raw(id: str, encoded: Encoded) -> FormattedMessage:
    if isinstance(encoded, EncodedChange):
        return _from_text(id, encoded.body)
    record = encoded.record
    if record.data is None:
        return FormattedMessage(b"", TEXT, _element(id, "null"))
    return _from_text(id, record.data)


def _from_text(id: str, text: str) -> FormattedMessage:
    try:
        _json_decoder.decode(text)
    except (ValueError, RecursionError):
        return FormattedMessage(text.encode(), TEXT, _element(id, _json_string(text)))
    return FormattedMessage(text.encode(), JSON, _element(id, text))


def _element(id: str, data: str) -> bytes:
    return f'{{"id":{_json_string(id)},"data":{data}}}'.encode()


def _custom(
    template: StoredExpression | None, id: str, message: Mapping[str, Any]
) -> FormattedMessage:
    if template is None:
        raise FormatError("there is no template")
    try:
        value = template.evaluate(message)
        formatted = _from_text(id, value) if isinstance(value, str) else _from_value(id, value)
    except NoLongerValid as error:
        raise UnusableTemplate(f"the template is not valid any more: {error}") from None
    except EvaluationError as error:
        raise FormatError(str(error)) from None
    except (ValueError, TypeError, RecursionError):
        raise FormatError("the value of the template cannot be encoded as JSON") from None
    if len(formatted.body) > BODY_BYTES_MAX:
        raise FormatError(f"the value of the template is larger than {BODY_BYTES_MAX // 1_024} KiB")
    return formatted


def _from_value(id: str, value: Any) -> FormattedMessage:
    # CEL does not order the keys of objects, and every attempt should send the same bytes.
    text = msgspec.json.encode(to_json_value(value), order="deterministic").decode()
    return FormattedMessage(text.encode(), JSON, _element(id, text))


def to_json_value(value: Any) -> Any:
    """As CEL maps to JSON: timestamps, durations and keys become strings."""
    match value:
        case dict():
            return {_key(key): to_json_value(item) for key, item in value.items()}
        case list():
            return [to_json_value(item) for item in value]
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"
    return value


def _key(key: Any) -> str:
    return key if isinstance(key, str) else msgspec.json.encode(key).decode()

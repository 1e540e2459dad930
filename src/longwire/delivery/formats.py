"""How a record looks on its way out.

A record is stored as the JSON that it is answered with, so most of a body is pasted, not parsed.

`json` is one flat object: `id`, `kind`, the record's fields in the order they are answered in, then
`deviceName` and `deviceType` where the record itself has none, and `tags`. `data` stays the string
that was stored. `cloudevents` is an envelope of CloudEvents 1.0 with the same object, without `id`,
as its `data`. `raw` is the record's `data` and nothing else. `custom` is what a CEL template gives:
a text is the body as it is, anything else becomes JSON with sorted keys.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import msgspec

from longwire.delivery.filters import EvaluationError, Expression, message_of

FORMATS = ("json", "cloudevents", "raw", "custom")

BODY_BYTES_MAX = 262_144

JSON = "application/json"
CLOUDEVENTS = "application/cloudevents+json"
TEXT = "text/plain; charset=utf-8"


class CannotShape(Exception):
    """There is no body in this format for this record; the text says why."""


class Shaped(msgspec.Struct, frozen=True):
    """A message in its format, alone and as a member of a batch."""

    body: bytes
    content_type: str
    element: bytes  # JSON with the id in it


def shape(
    format: str,
    template: Expression | None,
    id: str,
    kind: str,
    body: str,
    context: Mapping[str, Any],
) -> Shaped:
    """Put a record into a format.

    `body` is the record as it is answered; `context` has deviceName, deviceType and tags of the
    device when it was stored. Only `custom` can fail, with `CannotShape`.
    """
    match format:
        case "json":
            whole = f'{{"id":{_text(id)},{_fields(kind, body, context)}}}'.encode()
            return Shaped(whole, JSON, whole)
        case "cloudevents":
            whole = _cloudevent(id, kind, body, context)
            return Shaped(whole, CLOUDEVENTS, whole)
        case "raw":
            return _raw(id, body)
        case "custom":
            return _custom(template, id, message_of(kind, body, context))
    raise ValueError(f"no such format: {format}")


class _Head(msgspec.Struct, rename="camel"):
    """What an envelope says about a record."""

    device_id: str
    timestamp: str
    group_id: str


class _Data(msgspec.Struct):
    data: str | None = None


_encoder = msgspec.json.Encoder()
_head = msgspec.json.Decoder(_Head)
_data = msgspec.json.Decoder(_Data)
_any_json = msgspec.json.Decoder(msgspec.Raw)


def _text(text: str) -> str:
    return _encoder.encode(text).decode()


def _fields(kind: str, body: str, context: Mapping[str, Any]) -> str:
    """The members of the flat object, after its id."""
    fields = [f'"kind":{_text(kind)},{body[1:-1]}']
    for name in ("deviceName", "deviceType"):
        # A quote within a text is escaped, so this can be a key and nothing else.
        if f'"{name}":' not in body:
            fields.append(f'"{name}":{_text(context[name])}')
    fields.append(f'"tags":{_encoder.encode(context["tags"]).decode()}')
    return ",".join(fields)


def _cloudevent(id: str, kind: str, body: str, context: Mapping[str, Any]) -> bytes:
    head = _head.decode(body)
    source = f"/longwire/groups/{_segment(head.group_id)}/devices/{_segment(head.device_id)}"
    return (
        f'{{"specversion":"1.0","id":{_text(id)},"source":{_text(source)},'
        f'"type":{_text(f"longwire.device.{kind}")},"subject":{_text(head.device_id)},'
        f'"time":{_text(head.timestamp)},"datacontenttype":"{JSON}",'
        f'"data":{{{_fields(kind, body, context)}}}}}'
    ).encode()


def _segment(text: str) -> str:
    return quote(text, safe="")


def _raw(id: str, body: str) -> Shaped:
    data = _data.decode(body).data
    if data is None:
        return Shaped(b"", TEXT, _element(id, "null"))
    return _as_it_is(id, data)


def _as_it_is(id: str, text: str) -> Shaped:
    try:
        _any_json.decode(text)
    except (ValueError, RecursionError):
        return Shaped(text.encode(), TEXT, _element(id, _text(text)))
    return Shaped(text.encode(), JSON, _element(id, text))


def _element(id: str, data: str) -> bytes:
    return f'{{"id":{_text(id)},"data":{data}}}'.encode()


def _custom(template: Expression | None, id: str, message: Mapping[str, Any]) -> Shaped:
    if template is None:
        raise CannotShape("there is no template")
    try:
        value = template.evaluate(message)
        shaped = _as_it_is(id, value) if isinstance(value, str) else _as_json(id, value)
    except EvaluationError as error:
        raise CannotShape(str(error)) from None
    except (ValueError, TypeError, RecursionError):
        raise CannotShape("what the template gives cannot be written as JSON") from None
    if len(shaped.body) > BODY_BYTES_MAX:
        raise CannotShape(f"what the template gives is larger than {BODY_BYTES_MAX // 1_024} KiB")
    return shaped


def _as_json(id: str, value: Any) -> Shaped:
    # Objects come out of CEL in no particular order, and every try should send the same.
    text = msgspec.json.encode(plain(value), order="deterministic").decode()
    return Shaped(text.encode(), JSON, _element(id, text))


def plain(value: Any) -> Any:
    """As CEL has it in JSON: moments and spans as text, and keys too."""
    match value:
        case dict():
            return {_key(key): plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"
    return value


def _key(key: Any) -> str:
    return key if isinstance(key, str) else msgspec.json.encode(key).decode()

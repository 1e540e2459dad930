"""ChirpStack's own API, gRPC-Web over HTTP/1.1, in place of the REST proxy in front of it.

Its web interface speaks gRPC-Web at the same port, so neither HTTP/2 nor a library is needed.
Requests and responses of the REST proxy are transcoded, as the proxy does it: its queue has four
small messages. The numbers are those of `api/device.proto`.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from longwire.clock import SECOND
from longwire.dates import format_date
from longwire.networks.base import ApiRequest
from longwire.networks.values import parse_moment

CONTENT_TYPE = "application/grpc-web+proto"
_METHODS = {"GET": "GetQueue", "POST": "Enqueue", "DELETE": "FlushQueue"}
# The HTTP status of a gRPC status, as the REST proxy answers with it; any other one is 500.
_HTTP_STATUSES = {0: 200, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 11: 400}
_HTTP_STATUSES |= {12: 501, 14: 503, 16: 401}
_TRAILERS = 0x80
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

Field = tuple[int, int | bytes]  # its number and value


# --- messages ---


def transcode_request(method: str, request: ApiRequest) -> ApiRequest:
    """The request of gRPC-Web for one of the REST proxy, of the queue of a device."""
    eui = unquote(request.path.split("/")[3])
    if method == "POST":
        item = (request.body or {})["queueItem"]
        message = _encode((1, _encode_item(eui, item)))
    else:
        message = _encode((1, eui.encode()))
    return ApiRequest(
        path=f"/api.DeviceService/{_METHODS[method]}",
        headers={
            "Authorization": request.headers["Grpc-Metadata-Authorization"],
            "Content-Type": CONTENT_TYPE,
        },
        raw_body=b"\0" + len(message).to_bytes(4, "big") + message,
    )


def _encode_item(eui: str, item: Mapping[str, Any]) -> bytes:
    expires_at = parse_moment(item["expiresAt"])
    timestamp = _encode((1, expires_at // SECOND), (2, expires_at % SECOND * 1_000))
    return _encode(
        (2, eui.encode()),
        (3, int(item["confirmed"])),
        (4, item["fPort"]),
        (5, b64decode(item["data"])),
        (10, timestamp),
    )


def transcode_response(
    method: str, status: int, headers: Mapping[str, str], body: bytes
) -> tuple[int, bytes] | None:
    """Status and JSON as the REST proxy answers; None if the response is not one of gRPC."""
    if not headers.get("Content-Type", "").startswith("application/grpc"):
        return None
    try:
        message, trailers = _split_frames(body)
        # Without a message the status is in the headers.
        code = int(trailers.get("grpc-status", headers.get("Grpc-Status", "")))
        content = _decode_reply(method, message) if code == 0 else {}
    except (ValueError, IndexError):
        return None
    return _HTTP_STATUSES.get(code, 500) if status == 200 else status, msgspec.json.encode(content)


def _decode_reply(method: str, message: bytes) -> Mapping[str, Any]:
    fields = list(_decode(message))
    if method == "DELETE":
        return {}
    if method == "POST":
        return {"id": _text(dict(fields).get(1))}
    return {"result": [_decode_item(item) for number, item in fields if number == 2]}


def _decode_item(item: int | bytes) -> Mapping[str, Any]:
    fields = dict(_decode(_require_bytes(item)))
    found = {
        "id": _text(fields.get(1)),
        "fPort": fields.get(4, 0),
        "isPending": bool(fields.get(7, 0)),
        "data": b64encode(_require_bytes(fields.get(5, b""))).decode(),
    }
    if 10 in fields:
        time = dict(_decode(_require_bytes(fields[10])))
        moment = int(time.get(1, 0)) * SECOND + int(time.get(2, 0)) // 1_000
        found["expiresAt"] = format_date(moment)
    return found


def _text(value: int | bytes | None) -> str | None:
    return None if value is None else _require_bytes(value).decode()


def _require_bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("is no message")
    return value


# --- frames and fields ---


def _split_frames(body: bytes) -> tuple[bytes, Mapping[str, str]]:
    """The message, and the trailers, which are the last frame."""
    message, trailers, at = b"", {}, 0
    while at < len(body):
        end = at + 5 + int.from_bytes(body[at + 1 : at + 5], "big")
        if end > len(body):
            raise ValueError("ends within a frame")
        content = body[at + 5 : end]
        if body[at] & _TRAILERS:
            lines = (line.partition(":") for line in content.decode("latin-1").split("\r\n"))
            trailers = {name.strip().lower(): value.strip() for name, _, value in lines}
        else:
            message = content
        at = end
    return message, trailers


def _encode(*fields: Field) -> bytes:
    """Fields without those that are zero or empty, as Protobuf has it."""
    encoded = b""
    for number, value in fields:
        if isinstance(value, int):
            encoded += _varint(number << 3 | _VARINT) + _varint(value) if value else b""
        elif value:
            encoded += _varint(number << 3 | _BYTES) + _varint(len(value)) + value
    return encoded


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))


def _decode(message: bytes) -> Iterator[Field]:
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        wire_type = key & 7
        if wire_type == _VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        if wire_type == _BYTES:
            size, at = _read_varint(message, at)
        elif wire_type in (_FIXED32, _FIXED64):
            size = 4 if wire_type == _FIXED32 else 8
        else:
            raise ValueError("has an unknown type")
        if at + size > len(message):
            raise ValueError("ends within a field")
        yield key >> 3, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """The number, and where the next field begins; IndexError at the end."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at

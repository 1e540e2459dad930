"""What the service sends: the webhooks of connectors and notifications, for the OpenAPI document.

The bodies are built in `delivery.formats` and `notifications.firing`; here they are described.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.records.record_shapes import (
    DeviceData,
    DeviceEvent,
    DeviceGeoloc,
    DeviceTelemetry,
)
from longwire.api.types import RecordKindName
from longwire.notifications.types.base import NotificationMessage
from longwire.web.fields import Reply, words
from longwire.web.openapi import Json, schema_ref

MessageId = Annotated[
    str,
    Meta(
        description="The id of the message, the same for every attempt: deduplicate by it.",
        examples=["msg_2a_19805e2c41a0003"],
    ),
]
DeviceName = Annotated[
    str,
    Meta(
        description="The name of the device when the record arrived, or that in the record.",
        examples=["Cold room"],
    ),
]
DeviceTypeOfMessage = Annotated[
    str,
    Meta(
        description="The type of the device when the record arrived, or that in the record.",
        examples=["temperature"],
    ),
]
TagsOfMessage = Annotated[
    list[str],
    Meta(description="The tags of the device when the record arrived.", examples=[["dairy"]]),
]


class DataMessage(DeviceData, kw_only=True):
    """A data record, as a connector sends it in the format `json`."""

    id: MessageId
    kind: RecordKindName
    device_name: DeviceName
    device_type: DeviceTypeOfMessage
    tags: TagsOfMessage


class EventMessage(DeviceEvent, kw_only=True):
    """An event, as a connector sends it in the format `json`."""

    id: MessageId
    kind: RecordKindName
    device_name: DeviceName
    device_type: DeviceTypeOfMessage
    tags: TagsOfMessage


class GeolocMessage(DeviceGeoloc, kw_only=True):
    """A geolocation, as a connector sends it in the format `json`."""

    id: MessageId
    kind: RecordKindName
    device_name: DeviceName
    device_type: DeviceTypeOfMessage
    tags: TagsOfMessage


class TelemetryMessage(DeviceTelemetry, kw_only=True):
    """A telemetry record, as a connector sends it in the format `json`."""

    id: MessageId
    kind: RecordKindName
    device_name: DeviceName
    device_type: DeviceTypeOfMessage
    tags: TagsOfMessage


class CloudEventMessage(Reply, kw_only=True):
    """A record, as a connector sends it in the format `cloudevents` (CloudEvents 1.0)."""

    specversion: Annotated[
        str, words("CloudEventsVersion", ["1.0"]), Meta(description="Of CloudEvents.")
    ]
    id: MessageId
    source: Annotated[
        str,
        Meta(
            description="The group and the device.",
            examples=["/longwire/groups/880148294221312/devices/dev_vzpeqxr5mxjrq2uy6ct3mlgw"],
        ),
    ]
    type: Annotated[
        str,
        Meta(
            description="`longwire.device.` and the kind of the record.",
            examples=["longwire.device.data"],
        ),
    ]
    subject: Annotated[
        str, Meta(description="The id of the device.", examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"])
    ]
    time: Annotated[
        str,
        Meta(
            description="The timestamp of the record.",
            examples=["2026-11-15T08:30:00.000Z"],
            extra_json_schema={"format": "date-time"},
        ),
    ]
    datacontenttype: Annotated[str, Meta(description="Of `data`.", examples=["application/json"])]
    data: Annotated[
        dict[str, Any],
        Meta(
            description="The message of the format `json`, without its `id`.",
            examples=[{"kind": "data", "deviceId": "dev_vzpeqxr5mxjrq2uy6ct3mlgw"}],
        ),
    ]


SCHEMAS: tuple[type[msgspec.Struct], ...] = (
    *(DataMessage, EventMessage, GeolocMessage, TelemetryMessage),
    *(CloudEventMessage, NotificationMessage),
)


def _header(name: str, description: str, example: str, *, is_required: bool = True) -> Json:
    return {
        "name": name,
        "in": "header",
        "required": is_required,
        "description": description,
        "schema": {"type": "string"},
        "example": example,
    }


_HEADERS = [
    _header(
        "webhook-id",
        "The id of the message, the same for every attempt; of a batch, the id of the request.",
        "msg_2a_19805e2c41a0003",
    ),
    _header(
        "webhook-timestamp",
        "When this attempt was made, in seconds since 1970. Refuse those of five minutes ago.",
        "1794731400",
    ),
    _header(
        "webhook-signature",
        "If the destination has a `secret`: `v1,` and the HMAC-SHA256 in base64 over `webhook-id`,"
        " a dot, `webhook-timestamp`, a dot and the body; several are separated by spaces.",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
        is_required=False,
    ),
    _header("Idempotency-Key", "The same as `webhook-id`.", "msg_2a_19805e2c41a0003"),
]


def _responses(gone: str) -> Json:
    return {
        "2XX": {"description": "Delivered. It is not sent again."},
        "410": {"description": gone},
        "default": {
            "description": "Not delivered; it is retried. With 429 and 503, `Retry-After` counts."
        },
    }


_MESSAGES = [
    schema_ref(each) for each in (DataMessage, EventMessage, GeolocMessage, TelemetryMessage)
]


def _webhook(operation_id: str, summary: str, description: str, content: Json, gone: str) -> Json:
    return {
        "post": {
            "operationId": operation_id,
            # A tag of their own: generators write one file for each tag, of paths or of webhooks.
            "tags": ["Webhooks"],
            "summary": summary,
            "description": description,
            "security": [],
            "parameters": _HEADERS,
            "requestBody": {"required": True, "content": content},
            "responses": _responses(gone),
        }
    }


_DISABLED = "The connector is disabled."

WEBHOOKS: Json = {
    "connectorMessage": _webhook(
        "receiveConnectorMessage",
        "A connector of the type `http` forwards a record",
        "Signed by Standard Webhooks 1.0, at least once, in no particular order. The formats `raw`"
        " and `custom` have bodies of their own.",
        {
            "application/json": {"schema": {"anyOf": _MESSAGES}},
            "application/cloudevents+json": {"schema": schema_ref(CloudEventMessage)},
        },
        _DISABLED,
    ),
    "connectorBatch": _webhook(
        "receiveConnectorBatch",
        "A connector with `batch` in its `params` forwards several records",
        "Delivered as a whole, or not at all. Deduplicate by the `id` of each message.",
        {"application/json": {"schema": {"type": "array", "items": {"anyOf": _MESSAGES}}}},
        _DISABLED,
    ),
    "notification": _webhook(
        "receiveNotification",
        "A notification of the type `webhook` fires",
        "Signed and retried like the messages of a connector.",
        {"application/json": {"schema": schema_ref(NotificationMessage)}},
        "The end of this message; the notification stays enabled.",
    ),
}

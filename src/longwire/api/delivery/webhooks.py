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
from longwire.api.types import MessageKindName, RecordKindName
from longwire.changes import AlarmChangeType, RegistryChangeType
from longwire.notifications.types.base import NotificationMessage
from longwire.web.fields import DateText, Reply, words
from longwire.web.routing import Webhook

_DEVICE = "dev_vzpeqxr5mxjrq2uy6ct3mlgw"

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


AlarmNumber = Annotated[float, Meta(examples=[-12.5])]


class AlarmMessage(Reply, kw_only=True):
    """An alarm that was raised, acknowledged or resolved, for connectors that ask for `alarm`."""

    id: MessageId
    kind: MessageKindName
    type: Annotated[
        str,
        words("AlarmChangeType", tuple(AlarmChangeType)),
        Meta(description="What became of it.", examples=["alarm.raised"]),
    ]
    device_id: (
        Annotated[str, Meta(description="Absent if it is about a connector.", examples=[_DEVICE])]
        | None
    ) = None
    timestamp: Annotated[DateText, Meta(description="When that was.")]
    group_id: Annotated[
        str, Meta(description="Of the device or the connector.", examples=["880148294221312"])
    ]
    alarm_id: Annotated[str, Meta(examples=["alm_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    notification_id: Annotated[str, Meta(examples=["ntf_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    connector_id: (
        Annotated[
            str,
            Meta(description="Instead of a device.", examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"]),
        ]
        | None
    ) = None
    reason: Annotated[str, Meta(description="Of the notification.", examples=["measurement"])]
    severity: Annotated[str, Meta(examples=["critical"])]
    measurement: (
        Annotated[str, Meta(description="That has a limit.", examples=["temperature"])] | None
    ) = None
    above: Annotated[AlarmNumber, Meta(description="The limit.")] | None = None
    below: Annotated[AlarmNumber, Meta(description="The limit.")] | None = None
    raised_at: Annotated[DateText, Meta(description="When it was raised.")]
    value: Annotated[AlarmNumber, Meta(description="When it was raised.")] | None = None
    worst_value: Annotated[AlarmNumber, Meta(description="Until then.")] | None = None
    acknowledged_at: Annotated[DateText, Meta(description="When it was acknowledged.")] | None = (
        None
    )
    acknowledged_by: (
        Annotated[
            str, Meta(description="The id of a user.", examples=["usr_vzpeqxr5mxjrq2uy6ct3mlgw"])
        ]
        | None
    ) = None
    comment: (
        Annotated[str, Meta(description="Of who has acknowledged it.", examples=["On my way"])]
        | None
    ) = None
    resolved_at: Annotated[DateText, Meta(description="When it was resolved.")] | None = None
    resolution: (
        Annotated[
            str,
            Meta(
                description="Why, if no value has resolved it.", examples=["the device was deleted"]
            ),
        ]
        | None
    ) = None
    device_name: DeviceName | None = None
    device_type: DeviceTypeOfMessage | None = None
    tags: TagsOfMessage | None = None


class RegistryMessage(Reply, kw_only=True):
    """A device that was created, changed, moved or deleted, for connectors that ask for `registry`.

    It has what the device is after the change, or was when it was deleted.
    """

    id: MessageId
    kind: MessageKindName
    type: Annotated[
        str,
        words("RegistryChangeType", tuple(RegistryChangeType)),
        Meta(
            description="What was done. A connector that sees only one of the two groups of a"
            " device that moves gets `device.movedOut` or `device.movedIn`.",
            examples=["device.updated"],
        ),
    ]
    device_id: Annotated[str, Meta(examples=[_DEVICE])]
    timestamp: Annotated[DateText, Meta(description="When that was.")]
    group_id: Annotated[
        str,
        Meta(
            description="The group of the device; with `device.movedOut`, the one that it left.",
            examples=["880148294221312"],
        ),
    ]
    from_group_id: (
        Annotated[
            str,
            Meta(description="Where it was, with `device.moved`.", examples=["880148294221313"]),
        ]
        | None
    ) = None
    network: Annotated[str, Meta(examples=["chirpstack"])]
    original_id: Annotated[str, Meta(examples=["0102030405060708"])]
    configuration: Annotated[str, Meta(description="As JSON.", examples=['{"interval":600}'])]
    before: (
        Annotated[
            dict[str, Any],
            Meta(
                description="The members that were changed, as they were before.",
                examples=[{"deviceName": "Store"}],
            ),
        ]
        | None
    ) = None
    device_name: DeviceName
    device_type: DeviceTypeOfMessage
    tags: TagsOfMessage


class CloudEventMessage(Reply, kw_only=True):
    """A record or a change, as a connector sends it in the format `cloudevents` (version 1.0)."""

    specversion: Annotated[
        str, words("CloudEventsVersion", ["1.0"]), Meta(description="Of CloudEvents.")
    ]
    id: MessageId
    source: Annotated[
        str,
        Meta(
            description="The group and the device, or the connector that an alarm is about.",
            examples=["/longwire/groups/880148294221312/devices/dev_vzpeqxr5mxjrq2uy6ct3mlgw"],
        ),
    ]
    type: Annotated[
        str,
        Meta(
            description="`longwire.device.` and the kind of the record; of a change, `longwire.`"
            " and its `type`.",
            examples=["longwire.device.data"],
        ),
    ]
    subject: Annotated[
        str,
        Meta(
            description="The id of the device or the connector.",
            examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"],
        ),
    ]
    time: Annotated[
        str,
        Meta(
            description="The timestamp of the record or the change.",
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


class WebhookHeaders(Reply, kw_only=True):
    """What every message is sent with."""

    webhook_id: Annotated[
        str,
        Meta(
            description="The id of the message, the same for every attempt; of a batch, the id of"
            " the request.",
            examples=["msg_2a_19805e2c41a0003"],
        ),
    ] = msgspec.field(name="webhook-id")
    webhook_timestamp: Annotated[
        str,
        Meta(
            description="When this attempt was made, in seconds since 1970. Refuse those of five"
            " minutes ago.",
            examples=["1794731400"],
        ),
    ] = msgspec.field(name="webhook-timestamp")
    webhook_signature: (
        Annotated[
            str,
            Meta(
                description="If the destination has a `secret`: `v1,` and the HMAC-SHA256 in base64"
                " over `webhook-id`, a dot, `webhook-timestamp`, a dot and the body; several are"
                " separated by spaces.",
                examples=["v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="],
            ),
        ]
        | None
    ) = msgspec.field(name="webhook-signature", default=None)
    idempotency_key: Annotated[
        str, Meta(description="The same as `webhook-id`.", examples=["msg_2a_19805e2c41a0003"])
    ] = msgspec.field(name="Idempotency-Key")


def _meanings(gone: str) -> dict[str, str]:
    return {
        "2XX": "Delivered. It is not sent again.",
        "410": gone,
        "default": "Not delivered; it is retried. With 429 and 503, `Retry-After` counts.",
    }


_DISABLED = _meanings("The connector is disabled.")
_Message = (
    DataMessage | EventMessage | GeolocMessage | TelemetryMessage | AlarmMessage | RegistryMessage
)

WEBHOOKS = {
    "connectorMessage": Webhook(
        "receiveConnectorMessage",
        "A connector of the type `http` forwards a record or a change",
        "Signed by Standard Webhooks 1.0, at least once, in no particular order. The formats `raw`"
        " and `custom` have bodies of their own.",
        {"application/json": _Message, "application/cloudevents+json": CloudEventMessage},
        WebhookHeaders,
        _DISABLED,
    ),
    "connectorBatch": Webhook(
        "receiveConnectorBatch",
        "A connector with `batch` in its `params` forwards several of them",
        "Delivered as a whole, or not at all. Deduplicate by the `id` of each message.",
        {"application/json": list[_Message]},
        WebhookHeaders,
        _DISABLED,
    ),
    "notification": Webhook(
        "receiveNotification",
        "A notification of the type `webhook` fires",
        "Signed and retried like the messages of a connector.",
        {"application/json": NotificationMessage},
        WebhookHeaders,
        _meanings("The end of this message; the notification stays enabled."),
    ),
}

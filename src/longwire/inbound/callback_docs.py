"""The OpenAPI entries of the network callbacks."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

from longwire.networks.chirpstack import EVENTS
from longwire.web.openapi import Json, json_response, problem_responses, schema_ref

_DEVICE_AND_TIME: Mapping[str, Any] = {"device": "1FD48BE", "time": 1_794_731_400}
VENDOR_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "data": {**_DEVICE_AND_TIME, "data": "0a1b2c3d", "seqNumber": 16, "ack": False},
    "dataAdvanced": {
        **_DEVICE_AND_TIME,
        "seqNumber": 16,
        "linkQuality": 2,
        "computedLocation": {"lat": 51.95, "lng": 4.14, "radius": 7_800, "source": 2, "status": 1},
    },
    "status": {**_DEVICE_AND_TIME, "seqNumber": 17, "batt": 3.1, "temp": 21.5},
    "acknowledge": {**_DEVICE_AND_TIME, "infoCode": 0, "infoMessage": "Acked", "downlinkAck": True},
    "error": {
        **_DEVICE_AND_TIME,
        "severity": "WARN",
        "info": "No message received since yesterday",
    },
}
CHIRPSTACK_EXAMPLE: Mapping[str, Any] = {
    "deviceInfo": {"devEui": "0101010101010101"},
    "time": "2026-11-15T08:30:00.123456789+00:00",
    "fCnt": 16,
    "fPort": 2,
    "data": "ChssPQ==",
    "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -57, "snr": 10.5}],
}
TTN_EXAMPLE: Mapping[str, Any] = {
    "end_device_ids": {"device_id": "crane", "dev_eui": "0202020202020202"},
    "received_at": "2026-11-15T08:30:00.123456789Z",
    "uplink_message": {"f_port": 2, "f_cnt": 16, "frm_payload": "ChssPQ=="},
}
LORIOT_EXAMPLE: Mapping[str, Any] = {
    "cmd": "gw",
    "EUI": "0303030303030303",
    "ts": 1_794_731_400_123,
    "fcnt": 16,
    "port": 2,
    "freq": 868_500_000,
    "dr": "SF7 BW125 4/5",
    "ack": False,
    "bat": 254,
    "data": "0a1b2c3d",
    "gws": [{"gweui": "7076FFFFFF010B88", "rssi": -91, "snr": 8}],
}
THINGPARK_EXAMPLE: Mapping[str, Any] = {
    "DevEUI_uplink": {
        "Time": "2026-11-15T09:30:00.123+01:00",
        "DevEUI": "0404040404040404",
        "FPort": "2",
        "FCntUp": "16",
        "payload_hex": "0a1b2c3d",
        "SpFact": "7",
        "Lrrs": {"Lrr": [{"Lrrid": "08040059", "LrrRSSI": "-60.0", "LrrSNR": "9.75"}]},
    }
}
CHIRPSTACK_PARAMETERS: Sequence[Json] = [
    {
        "name": "event",
        "in": "query",
        "required": True,
        "description": "The type of the event; ChirpStack adds it.",
        "schema": {"title": "ChirpstackEvent", "type": "string", "enum": list(EVENTS)},
        "example": "up",
    }
]


_MEANINGS = {
    "device": "The id of the device in the network, in hex.",
    "time": "When the message was received; seconds or milliseconds since 1970, or RFC 3339.",
    "data": "The payload: in hex, or of ChirpStack in base64.",
    "seqNumber": "The frame counter.",
    "ack": "Of the vendor: the device asks for a downlink. Of LORIOT: it acknowledges one.",
    "linkQuality": "From 0 to 3; the `score` of the telemetry.",
    "computedLocation": "The position that the network has computed; the radius is in metres.",
    "batt": "The voltage of the battery.",
    "temp": "The temperature of the device in degrees Celsius.",
    "infoCode": "The code of what became of a downlink.",
    "infoMessage": "The same in words.",
    "downlinkAck": "Whether the device has received the downlink.",
    "severity": "`WARN` or `ERROR`.",
    "info": "What is wrong.",
    "deviceInfo": "The device: its `devEui`, name and tags.",
    "fCnt": "The frame counter.",
    "fPort": "The LoRaWAN port.",
    "rxInfo": "The gateways that received the message.",
    "end_device_ids": "The device: its `dev_eui` or `device_id`.",
    "received_at": "When the message was received.",
    "uplink_message": "The uplink; other messages have a member of another name.",
    "cmd": "The type of the message.",
    "EUI": "The device EUI.",
    "ts": "When the message was received, in milliseconds since 1970.",
    "fcnt": "The frame counter.",
    "port": "The LoRaWAN port.",
    "freq": "The frequency in hertz.",
    "dr": "The data rate.",
    "bat": "The battery level of a device status: 0 is external power, 1 to 254 the charge.",
    "gws": "The gateways that received the message.",
    "DevEUI_uplink": "The uplink; other reports have a member of another name.",
}


def callback_message(name: str, doc: str, example: Mapping[str, Any]) -> type[msgspec.Struct]:
    """The message of a callback; templates are free, so any member may be absent."""
    return msgspec.defstruct(
        name,
        [
            (
                f"field_{number}",
                Annotated[Any, Meta(description=_MEANINGS[member], examples=[value])] | UnsetType,
                msgspec.field(default=UNSET, name=member),
            )
            for number, (member, value) in enumerate(example.items())
        ],
        namespace={"__doc__": doc},
    )


def callback_openapi(
    summary: str,
    message: type[msgspec.Struct],
    example: Mapping[str, Any],
    parameters: Sequence[Json] = (),
    method: str = "POST",
) -> Json:
    """The entry of a callback: any message that the network sends, with the token of a group."""
    if method == "GET":
        parameters = [*parameters, *(_query_parameter(*each) for each in example.items())]
    return {
        "summary": summary,
        "description": "The device is looked up by the network's own id, in the group of the token"
        " or below it. The response is sent once the records are committed; the same message sent"
        " again is stored once. Without a body, the message is read from the query.",
        "security": [{"groupToken": []}, {"groupTokenInQuery": []}],
        **({"parameters": list(parameters)} if parameters else {}),
        **({} if method == "GET" else {"requestBody": _request_body(message, example)}),
        "responses": {
            "200": json_response(
                "Stored: `message` says so. Or the downlink for the device, by its id.",
                {"type": "object", "additionalProperties": True},
            ),
            **problem_responses(400, 401, 404, 408, 413, 429, 431, 503),
        },
    }


def _query_parameter(name: str, value: Any) -> Json:
    """A value of the message in the query, as the template writes it."""
    text = value if isinstance(value, str) else json.encode(value).decode()
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": _MEANINGS[name],
        "schema": {"type": "string"},
        "example": text,
    }


def _request_body(message: type[msgspec.Struct], example: Mapping[str, Any]) -> Json:
    any_object: Json = {"schema": schema_ref(message), "example": example}
    return {
        "required": False,
        "content": {
            "application/json": any_object,
            "application/x-www-form-urlencoded": any_object,
        },
    }

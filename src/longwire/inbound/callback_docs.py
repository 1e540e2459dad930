"""What the OpenAPI document says of the network callbacks."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, json

from longwire.dataclass import dataclass
from longwire.networks.chirpstack import EVENTS
from longwire.networks.loriot import ENCODINGS
from longwire.web.fields import Query, words
from longwire.web.routing import DeclaredResponse, RawBody

_DEVICE_AND_TIME: Mapping[str, Any] = {"device": "1FD48BE", "time": 1_794_731_400}
_VENDOR_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
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
_CHIRPSTACK_EXAMPLE: Mapping[str, Any] = {
    "deviceInfo": {"devEui": "0101010101010101"},
    "time": "2026-11-15T08:30:00.123456789+00:00",
    "fCnt": 16,
    "fPort": 2,
    "data": "ChssPQ==",
    "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -57, "snr": 10.5}],
}
_TTN_EXAMPLE: Mapping[str, Any] = {
    "end_device_ids": {"device_id": "crane", "dev_eui": "0202020202020202"},
    "received_at": "2026-11-15T08:30:00.123456789Z",
    "uplink_message": {"f_port": 2, "f_cnt": 16, "frm_payload": "ChssPQ=="},
}
_LORIOT_EXAMPLE: Mapping[str, Any] = {
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
_THINGPARK_EXAMPLE: Mapping[str, Any] = {
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


_TEXT = """The device is looked up by the network's own id, in the group of the token or below it.
The response is sent once the records are committed; the same message sent again is stored once.
Without a body, the message is read from the query."""

STORED_OR_DOWNLINK: Mapping[int, DeclaredResponse] = {
    200: DeclaredResponse(
        "Stored: `message` says so. Or the downlink for the device, by its id.",
        Annotated[dict[str, Any], Meta(extra_json_schema={"additionalProperties": True})],
    )
}


@dataclass(frozen=True)
class CallbackDoc:
    """A callback: any message that the network sends, with the token of a group."""

    name: str  # of its messages
    summary: str
    example: Mapping[str, Any]
    query: type[Query] | None = None
    message_text: str = ""  # else the summary

    @property
    def text(self) -> str:
        return f"{self.summary}.\n\n{_TEXT}"

    @cached_property
    def body(self) -> RawBody:
        """Templates are free, so any member may be absent."""
        fields = [
            (
                f"field_{number}",
                Annotated[Any, Meta(description=_MEANINGS[member], examples=[value])] | UnsetType,
                msgspec.field(default=UNSET, name=member),
            )
            for number, (member, value) in enumerate(self.example.items())
        ]
        doc = {"__doc__": self.message_text or f"{self.summary}."}
        return RawBody(
            ("application/json", "application/x-www-form-urlencoded"),
            self.example,
            msgspec.defstruct(f"{self.name}Callback", fields, namespace=doc),
            is_required=False,
        )

    def build_query(self) -> type[Query]:
        """The members of the message as parameters, as a template writes them."""
        fields = [
            (
                f"field_{number}",
                Annotated[str, Meta(description=_MEANINGS[name], examples=[_to_text(value)])]
                | UnsetType,
                msgspec.field(default=UNSET, name=name),
            )
            for number, (name, value) in enumerate(self.example.items())
        ]
        query = msgspec.defstruct(f"{self.name}Query", fields, bases=(Query,))
        return cast(type[Query], query)


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


class ChirpstackQuery(Query):
    """What ChirpStack adds to the URL."""

    event: Annotated[
        str,
        words("ChirpstackEvent", EVENTS),
        Meta(description="The type of the event; ChirpStack adds it.", examples=["up"]),
    ]


class LoriotQuery(Query):
    """What the URL of the output says of payloads."""

    encoding: (
        Annotated[
            str,
            words("PayloadEncoding", ENCODINGS),
            Meta(
                description="How payloads are written. Without it they must be hex in lower case.",
                examples=["base64"],
            ),
        ]
        | None
    ) = None


VENDOR_DOCS: Mapping[str, CallbackDoc] = {
    kind: CallbackDoc(
        f"Vendor{kind[0].upper()}{kind[1:]}",
        f"Take a message of the vendor's network: {kind}",
        example,
        message_text=f"A message of the vendor's network: {kind}.",
    )
    for kind, example in _VENDOR_EXAMPLES.items()
}
CHIRPSTACK_DOC = CallbackDoc(
    "Chirpstack",
    "Take an event of ChirpStack's HTTP integration",
    _CHIRPSTACK_EXAMPLE,
    ChirpstackQuery,
)
TTN_DOC = CallbackDoc("Ttn", "Take a message of a webhook of The Things Stack", _TTN_EXAMPLE)
LORIOT_DOC = CallbackDoc(
    "Loriot", "Take a message of an HTTP output of LORIOT", _LORIOT_EXAMPLE, LoriotQuery
)
THINGPARK_DOC = CallbackDoc(
    "Thingpark", "Take a report of ThingPark's network server", _THINGPARK_EXAMPLE
)

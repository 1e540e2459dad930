"""What networks call: their messages become records, by the same way as every other record.

Whoever calls shows the token of a group, and speaks for the devices of that group and below. What
a message means is the business of `networks`; here it becomes a unit for `ingest`.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from longwire.api.instruments import Instruments
from longwire.api.openapi import network_document
from longwire.api.records import KINDS, Kind
from longwire.api.routes import PlainRoute, Request, Response, bearer_of
from longwire.clock import Moment
from longwire.dates import date_text
from longwire.errors import NotAuthenticated
from longwire.fleet import devices
from longwire.fleet.records import DIGEST_BYTES
from longwire.identity import groups
from longwire.ingest import Aside, Ingest, Item, Unit
from longwire.model import Actor
from longwire.networks import chirpstack, ttn, vendor
from longwire.networks.base import Heard, Nonsense, Reading
from longwire.networks.bodies import values_of
from longwire.store.database import Database
from longwire.store.devices import Found

GROUP_TOKEN = "the token of a group"
STORED = b'{"message":"stored"}'

_RULE = "for devices of the group and below"
_HEARD: Mapping[str, Any] = {"device": "1FD48BE", "time": 1_794_731_400}
_VENDOR: Mapping[str, Mapping[str, Any]] = {
    "data": {**_HEARD, "data": "0a1b2c3d", "seqNumber": 16, "ack": False},
    "dataAdvanced": {
        **_HEARD,
        "seqNumber": 16,
        "linkQuality": 2,
        "computedLocation": {"lat": 51.95, "lng": 4.14, "radius": 7_800, "source": 2, "status": 1},
    },
    "status": {**_HEARD, "seqNumber": 17, "batt": 3.1, "temp": 21.5},
    "acknowledge": {**_HEARD, "infoCode": 0, "infoMessage": "Acked", "downlinkAck": True},
    "error": {**_HEARD, "severity": "WARN", "info": "No message received since yesterday"},
}
_CHIRPSTACK: Mapping[str, Any] = {
    "deviceInfo": {"devEui": "0101010101010101"},
    "time": "2026-11-15T08:30:00.123456789+00:00",
    "fCnt": 16,
    "fPort": 2,
    "data": "ChssPQ==",
    "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -57, "snr": 10.5}],
}
_TTN: Mapping[str, Any] = {
    "end_device_ids": {"device_id": "crane", "dev_eui": "0202020202020202"},
    "received_at": "2026-11-15T08:30:00.123456789Z",
    "uplink_message": {"f_port": 2, "f_cnt": 16, "frm_payload": "ChssPQ=="},
}
_BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
_COUNTERS = {
    "vendor_uplink": "device_vendor_uplink",
    "vendor_downlink": "device_vendor_downlink",
    "vendor_data": "vendor_data_message",
    "vendor_data_advanced": "vendor_data_advanced_message",
}

Read = Callable[[Request, Mapping[str, Any]], Heard]


class NetworkEndpoints:
    """Takes the messages of networks."""

    def __init__(self, database: Database, ingest: Ingest, instruments: Instruments) -> None:
        self._database = database
        self._ingest = ingest
        self._instruments = instruments

    async def take(self, network: str, read: Read, request: Request, body: bytes) -> Response:
        actor = await self._actor(request)
        try:
            media_type = request.headers.get(b"content-type", b"").decode("latin-1")
            heard = read(request, values_of(media_type, body, request.query_string))
        except Nonsense:
            self._instruments.nonsense(network)
            raise
        found = await self._database.read(
            lambda tx: devices.heard(tx, actor, network, heard.original_id)
        )
        unit = _unit(actor, heard, found, self._database.tools.clock.now())
        if unit.items:
            await self._ingest.put(unit)
        if heard.wants_downlink:
            return Response(200, msgspec.json.encode(vendor.answer(heard.original_id, None)))
        return Response(200, STORED)

    async def _actor(self, request: Request) -> Actor:
        """The network that speaks for a group, by the token of the group alone."""
        token = _token(request)
        tools = self._database.tools
        known: Actor | None = tools.memory.known("networks", token)
        if known is None:
            generation = tools.memory.generation
            digest = tools.keyring.digest(token)
            known = await self._database.read(lambda tx: groups.network_of(tx, digest))
            tools.memory.keep("networks", token, known, since=generation)
        return known

    def routes(self) -> list[PlainRoute]:
        def route(
            path: str,
            network: str,
            read: Read,
            summary: str,
            example: Mapping[str, Any],
            parameters: Sequence[dict[str, Any]] = (),
        ) -> PlainRoute:
            handler: Callable[[Request, bytes], Awaitable[Response]] = partial(
                self.take, network, read
            )
            return PlainRoute(
                method="POST",
                path=path,
                handler=handler,
                needs=GROUP_TOKEN,
                rule=_RULE,
                tag="Networks",
                document=network_document(summary, example, parameters),
            )

        return [
            *(
                route(
                    f"/network/vendor/{kind}",
                    "vendor",
                    partial(_read_vendor, kind),
                    f"Take a message of the vendor's network: {kind}",
                    example,
                )
                for kind, example in _VENDOR.items()
            ),
            route(
                "/network/chirpstack",
                "chirpstack",
                _read_chirpstack,
                "Take an event of ChirpStack's HTTP integration",
                _CHIRPSTACK,
                [
                    {
                        "name": "event",
                        "in": "query",
                        "required": True,
                        "description": "What the message is; ChirpStack adds it.",
                        "schema": {"type": "string", "enum": list(chirpstack.EVENTS)},
                        "example": "up",
                    }
                ],
            ),
            route(
                "/network/ttn",
                "ttn",
                _read_ttn,
                "Take a message of a webhook of The Things Stack",
                _TTN,
            ),
        ]


def _read_vendor(kind: str, request: Request, values: Mapping[str, Any]) -> Heard:
    return vendor.read(kind, values)


def _read_chirpstack(request: Request, values: Mapping[str, Any]) -> Heard:
    event = dict(parse_qsl(request.query_string.decode("latin-1"))).get("event", "")
    return chirpstack.read(event, values)


def _read_ttn(request: Request, values: Mapping[str, Any]) -> Heard:
    return ttn.read(values)


def _token(request: Request) -> str:
    """From the header, as everywhere; or from the query, where a network can send no header."""
    value = bearer_of(request)
    if not value:
        asked = parse_qsl(request.query_string.decode("latin-1"))
        given = [text for name, text in asked if name == "token"]
        value = given[0].encode("latin-1", "replace") if len(given) == 1 else b""
    if not value or b" " in value or not value.isascii():
        raise NotAuthenticated("Send the token of the group as bearer, or as ?token=.")
    return value.decode()


def _unit(actor: Actor, heard: Heard, found: Found, now: Moment) -> Unit:
    items = [_item(reading, found, now) for reading in heard.readings]
    aside = Aside(
        found.id,
        tuple(_COUNTERS[name] for name in heard.counts),
        heard.battery,
        max((reading.ts for reading in heard.readings if reading.ts is not None), default=None),
    )
    return Unit(actor, items, is_batch=False, aside=aside)


def _item(reading: Reading, found: Found, now: Moment) -> Item:
    """A record of the kind, recognised again by what the network said and by nothing else."""
    kind = _BY_NAME[reading.kind]
    fields = dict(reading.fields)
    data = fields.pop("data", None)
    if data is not None or reading.kind == "data":
        fields["data"] = msgspec.json.encode(data or {}).decode()
    names = kind.input.__struct_fields__
    if "configuration" in names:
        fields["configuration"] = found.configuration
    if "device_type" in names:
        fields["device_type"] = found.type
    ts = now if reading.ts is None else reading.ts
    draft = kind.input(device_id=found.id, timestamp=date_text(ts), **fields)
    said = msgspec.json.encode([reading.kind, reading.fields], order="deterministic")
    digest = hashlib.blake2b(said, digest_size=DIGEST_BYTES).digest()
    return Item(kind.number, ts, digest, draft)

"""What devices publish themselves: a topic and some bytes become a record, as a POST would be.

Whoever publishes names the token of a group in the topic, and speaks for the devices of that group
and below. The connection to the broker is the business of `listen`.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from longwire.api.records import KINDS, Kind
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import BadInput, NotFound, invalid_field
from longwire.fleet.devices import MQTT
from longwire.fleet.records import DIGEST_BYTES
from longwire.inbound.callbacks import NetworkCallbacks
from longwire.ingest import Ingest, IngestItem, IngestRequest, MessageMetadata, StaleDevice
from longwire.model import Actor
from longwire.networks.base import ParsedUplink, Reading
from longwire.networks.readings import PAYLOAD_BYTES_MAX
from longwire.store.devices import NetworkDevice
from longwire.web.validation import InputLimits, check_depth, check_size, check_text, decode_body

RAW = "raw"

_BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
_LEVELS = f"must end in a token, a device, and one of {', '.join([*_BY_NAME, RAW])}"
# Where a message came from, and what is filled in: no part of what makes two messages the same.
_NOT_CONTENT = {"timestamp", "deviceId", "groupId", "deviceName"}


class MqttMessage(msgspec.Struct, frozen=True):
    """A message of a broker."""

    topic: str  # below the prefix
    payload: bytes  # or its beginning, if it is too large anyway
    size: int
    arrived: Moment


class MqttMessages:
    """Takes the messages of a broker."""

    def __init__(self, ingest: Ingest, networks: NetworkCallbacks, limits: InputLimits) -> None:
        self._ingest = ingest
        self._networks = networks
        self._limits = limits

    async def take(self, published: MqttMessage) -> None:
        """Store what was said; returns after the commit, and raises as a request would."""
        token, name, kind = _levels(published.topic)
        check_size(published.size, self._limits.body_bytes_max)
        actor = await self._networks.speaker(token)
        found = await self._networks.find(actor, MQTT, name)
        try:
            await self._store(actor, kind, published, found)
        except (NotFound, StaleDevice):
            # What was remembered of the device is over: it was changed, moved, or made anew.
            found = await self._networks.find(actor, MQTT, name, anew=True)
            await self._store(actor, kind, published, found)

    async def _store(
        self, actor: Actor, kind: str, published: MqttMessage, found: NetworkDevice
    ) -> None:
        if kind == RAW:
            heard = _bytes_of(published, found.id)
            await self._networks.store(actor, heard, found, published.arrived)
        else:
            item = self._item(_BY_NAME[kind], published, found)
            metadata = MessageMetadata(found.id, as_of=found.updated_at)
            await self._ingest.store(
                IngestRequest(actor, [item], is_batch=False, metadata=metadata)
            )

    def _item(self, kind: Kind, published: MqttMessage, found: NetworkDevice) -> IngestItem:
        """A record of the kind, recognised again by what was published and by nothing else."""
        said = self._members(published.payload)
        record = {**_known(kind, published, found), **said}
        body = decode_body(msgspec.json.encode(record), kind.input, self._limits)
        if body.device_id != found.id:
            raise invalid_field("device_id", "is not the device of the topic; leave it out")
        content = [(name, said[name]) for name in sorted(said.keys() - _NOT_CONTENT)]
        told = msgspec.json.encode([kind.name, content])
        digest = hashlib.blake2b(told, digest_size=DIGEST_BYTES).digest()
        return msgspec.structs.replace(body.item(kind.number), digest=digest)

    def _members(self, payload: bytes) -> dict[str, msgspec.Raw]:
        check_text(payload)
        check_depth(payload, self._limits.json_depth_max)
        try:
            return _OBJECT.decode(payload)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise BadInput(f"The body is not a JSON object: {error}.") from error


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _levels(topic: str) -> list[str]:
    levels = topic.split("/")
    is_known = len(levels) == 3 and (levels[2] in _BY_NAME or levels[2] == RAW)
    if not is_known or not all(levels) or "\0" in topic:
        raise invalid_field("topic", _LEVELS)
    return levels


def _known(kind: Kind, published: MqttMessage, found: NetworkDevice) -> dict[str, Any]:
    """What a message need not say, because it is known."""
    known = {
        "device_id": ("deviceId", found.id),
        "timestamp": ("timestamp", format_date(published.arrived)),
        "configuration": ("configuration", found.configuration),
        "device_type": ("deviceType", found.type),
    }
    if kind.name == "data":
        known["raw"] = ("__raw", "")
    fields = kind.input.__struct_fields__
    return dict(said for field, said in known.items() if field in fields)


def _bytes_of(published: MqttMessage, device_id: str) -> ParsedUplink:
    check_size(published.size, PAYLOAD_BYTES_MAX)
    reading = Reading("data", None, {"raw": published.payload.hex(), "data": {}})
    return ParsedUplink(original_id=device_id, readings=(reading,), payload=published.payload)

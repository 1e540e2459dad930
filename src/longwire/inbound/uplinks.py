"""Store uplinks of networks: look up the device, decode the payload, hand the records to ingest.

The sender presents the token of a group, and may send for the devices of that group and below.
"""

from collections.abc import Awaitable, Callable

import msgspec

from longwire.clock import Moment
from longwire.decoders.sandbox_pool import LoopSandboxPool
from longwire.errors import NotFound
from longwire.fleet import decoding, devices
from longwire.fleet.codec_guard import CodecCaller, CodecGuard
from longwire.fleet.decoding import Codec, DecodedData, UplinkPayload
from longwire.identity import groups
from longwire.inbound.ingest_requests import ReceivedUplink, build_payload, build_request
from longwire.inbound.unknown_devices import UnknownDeviceBuffer
from longwire.ingest.requests import IngestRequest, StaleDevice
from longwire.ingest.service import Ingest
from longwire.model import Actor
from longwire.networks.base import ParsedUplink
from longwire.prometheus import PrometheusMetrics
from longwire.store.database import Database
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.store.fleet.unknown_devices import UnknownReason
from longwire.store.records.receptions import Reception

# There may be very many devices: one with a longer configuration is not cached.
CACHED_CONFIGURATION_CHARACTERS_MAX = 1_024

_ACTOR_CACHE = "networks"
_DEVICE_CACHE = "network_devices"


class UplinkStore:
    """Stores uplinks, however they were received."""

    def __init__(
        self,
        database: Database,
        ingest: Ingest,
        metrics: PrometheusMetrics,
        unknown_devices: UnknownDeviceBuffer,
        guard: CodecGuard,
    ) -> None:
        self.unknown_devices = unknown_devices
        self._database = database
        self._cache = database.context.caches.auth
        self._codecs = database.context.caches.config
        self._ingest = ingest
        self._metrics = metrics
        self._guard = guard
        self._sandboxes = LoopSandboxPool()

    def close(self) -> None:
        self._sandboxes.stop()

    # --- senders and devices ---

    def cached_actor(self, token: str) -> Actor | None:
        actor: Actor | None = self._cache.get(_ACTOR_CACHE, token)
        return actor

    async def authenticate(self, token: str) -> Actor:
        """The network that sends for a group, by the group's token."""
        actor = self.cached_actor(token)
        if actor is None:
            generation = self._cache.generation
            digest = self._database.context.keyring.digest(token)
            actor = await self._database.read(lambda tx: groups.authenticate_network(tx, digest))
            self._cache.put(_ACTOR_CACHE, token, actor, since=generation)
        return actor

    async def find_device(self, actor: Actor, network: str, original_id: str) -> NetworkDevice:
        """A device by its network's id. It may be stale: ingest compares its version."""
        key = (actor.group_id, network, original_id)
        cached: NetworkDevice | None = self._cache.get(_DEVICE_CACHE, key)
        return cached or await self._load_device(actor, network, original_id)

    async def _load_device(self, actor: Actor, network: str, original_id: str) -> NetworkDevice:
        generation = self._cache.generation
        device = await self._database.read(
            lambda tx: devices.find_reporting_device(tx, actor, network, original_id)
        )
        if len(device.configuration) <= CACHED_CONFIGURATION_CHARACTERS_MAX:
            key = (actor.group_id, network, original_id)
            self._cache.put(_DEVICE_CACHE, key, device, since=generation)
        return device

    async def with_current_device(
        self,
        actor: Actor,
        network: str,
        original_id: str,
        store: Callable[[NetworkDevice], Awaitable[None]],
    ) -> NetworkDevice:
        """Store for a device; once more with the reloaded one if the cached one was stale.

        The device may be changed faster than a message is stored, by somebody who wants to hold up
        the messages of others behind it. It was read a moment ago, and so the third time it counts
        as what it was when the message arrived.
        """
        device = await self.find_device(actor, network, original_id)
        try:
            await store(device)
        except (NotFound, StaleDevice):
            device = await self._load_device(actor, network, original_id)
            try:
                await store(device)
            except StaleDevice:
                device = await self._load_device(actor, network, original_id)
                await store(msgspec.structs.replace(device, updated_at=None))
        return device

    # --- storing ---

    def build_cached(
        self,
        actor: Actor,
        network: str,
        uplink: ParsedUplink,
        received_at: Moment,
        reception: Reception | None,
    ) -> IngestRequest | None:
        """The records of an uplink, if its device and its decoder are cached and do not block."""
        key = (actor.group_id, network, uplink.original_id)
        device: NetworkDevice | None = self._cache.get(_DEVICE_CACHE, key)
        if device is None or not uplink.readings:
            return None
        received = ReceivedUplink(actor, device, uplink, received_at, reception)
        if not uplink.payload:
            return build_request(received)
        codec: Codec | None = self._codecs.get(decoding.CODEC_CACHE, device.type)
        if codec is None or codec.is_blocking:
            return None
        payload = _payload(codec, received)
        if payload is None:
            return build_request(received)
        decoded = decoding.decode_payload(codec, payload, self._guard.decoders)
        self._note_failure(received, decoded)
        return build_request(received, decoded)

    async def store(self, received: ReceivedUplink) -> None:
        """Store all records of an uplink; returns after the commit."""
        decoded = await self._decode(received)
        await self.store_request(build_request(received, decoded))

    async def store_request(self, request: IngestRequest) -> None:
        if request.items:
            await self._ingest.store(request)

    # --- decoding ---

    async def _decode(self, received: ReceivedUplink) -> DecodedData | None:
        if not received.uplink.payload:
            return None
        type_name = received.device.type
        codec: Codec | None = self._codecs.get(decoding.CODEC_CACHE, type_name)
        if codec is None:
            codec = await self._database.read(lambda tx: decoding.get_codec(tx, type_name))
        payload = _payload(codec, received)
        if payload is None:
            return None
        if codec.is_blocking:
            device = received.device
            caller = CodecCaller(str(device.group_number), device.id)
            decoded = await decoding.decode_payload_on_loop(
                codec, payload, self._sandboxes, caller, self._guard
            )
        else:
            decoded = decoding.decode_payload(codec, payload, self._guard.decoders)
        self._note_failure(received, decoded)
        return decoded

    def _note_failure(self, received: ReceivedUplink, decoded: DecodedData) -> None:
        """The record is stored, but its values are missing, and people should see why."""
        if decoded.failure is None:
            return
        device, uplink = received.device, received.uplink
        self._metrics.count_decode_failure(device.type)
        self.unknown_devices.note(
            received.actor,
            device.network,
            uplink.original_id,
            UnknownReason.REJECTED,
            detail=f"the decoder failed: {decoded.failure}",
            payload=(uplink.payload or b"").hex(),
        )


def _payload(codec: Codec, received: ReceivedUplink) -> UplinkPayload | None:
    """The decoder's input, if there are both a payload and a decoder."""
    return build_payload(received.uplink, received.received_at) if codec.exists else None

"""Live traffic: devices report through their networks, or through the API, at a steady rate."""

import asyncio
import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace

from longwire_cli.demo import messages, physics
from longwire_cli.demo.client import Api, send
from longwire_cli.demo.clock import MILLISECOND, Clock, SystemClock
from longwire_cli.demo.errors import DemoError
from longwire_cli.demo.fleet import Fleet, FleetDevice
from longwire_cli.demo.messages import Callback
from longwire_cli.demo.plan import BUTTON, COLD_ROOM, METER, TIDE_GAUGE, VESSEL, WAGON

_MESSAGES_PER_SENDER = 20  # a second
_SENDERS_MAX = 64
_DOWNLINK_EVERY_S = 45
_RETRY_S = 0.5


class Traffic:
    """Sends what devices and networks would send."""

    def __init__(
        self, api: Api, fleet: Fleet, seed: int, downlink_url: str, clock: Clock | None = None
    ) -> None:
        self._api = api
        self._fleet = fleet
        self._rng = random.Random(seed + 1)
        self._clock = clock or SystemClock()
        self._downlink_url = downlink_url

    def now_ms(self) -> int:
        return self._clock.now() // MILLISECOND

    async def report(self, device: FleetDevice) -> None:
        """One message of a device, by the way that its network takes."""
        network = device.plan.network
        if network == "chirpstack":
            await self._report_by_chirpstack(device)
        elif network == "ttn":
            uplink = device.next_uplink(self.now_ms())
            await self.call(messages.build_ttn_uplink(uplink, self._rng, self._downlink_url))
        elif network == "vendor":
            await self._report_by_vendor(device)
        else:
            await self._report_by_api(device)

    async def report_battery(self, device: FleetDevice) -> None:
        """What a network reports about the device itself."""
        plan, now = device.plan, self.now_ms()
        if plan.network == "chirpstack":
            percent = device.battery_percent
            await self.call(messages.build_chirpstack_status(plan, now, percent))
        elif plan.network == "vendor":
            device.sequence += 1
            volts = device.battery_volts
            await self.call(messages.build_vendor_status(plan, now, device.sequence, volts))

    async def _report_by_chirpstack(self, device: FleetDevice) -> None:
        if self._rng.random() < 0.03:
            device.battery_percent = max(2.0, round(device.battery_percent - 0.1, 1))
            await self.report_battery(device)
            return
        device.sequence += self._rng.random() < 0.01  # one that no gateway has received
        now = self.now_ms()
        uplink = device.next_uplink(now)
        if self._rng.random() < 0.01:  # its codec rejects it
            uplink = replace(uplink, payload=uplink.payload[:2])
        await self.call(messages.build_chirpstack_uplink(uplink, self._rng))
        measured = physics.measure(device.plan, now / 1_000)
        if device.plan.type == COLD_ROOM and measured["door"] == "open":
            event = {
                "deviceId": device.id,
                "timestamp": now,
                "type": "doorOpen",
                "severity": "high" if self._rng.random() < 0.3 else "low",
                "message": f"The door is open at {measured['celsius']} degrees",
            }
            await self._api.post("/device/event", event)

    async def _report_by_vendor(self, device: FleetDevice) -> None:
        uplink = device.next_uplink(self.now_ms())
        asks = device.plan.type == TIDE_GAUGE and self._rng.random() < 0.5
        response = await self.call(messages.build_vendor_uplink(uplink, self._rng, asks=asks))
        if any("downlinkData" in each for each in response.values() if isinstance(each, dict)):
            acknowledge = messages.build_vendor_acknowledge(device.plan, self.now_ms() + 1)
            await self.call(acknowledge)
        if device.plan.type == WAGON:
            position = physics.locate(device.plan, uplink.at_ms / 1_000)
            await self.call(messages.build_vendor_advanced(uplink, *position, self._rng))

    async def _report_by_api(self, device: FleetDevice) -> None:
        now = self.now_ms()
        if device.plan.type == VESSEL:
            await self._api.post("/device/geoloc", device.build_position(now))
        elif device.plan.type == METER:
            await self._api.post("/device/data", device.build_data(now))
        elif device.plan.type == BUTTON:
            kind = self._rng.choice(("pressed", "pressed", "longPressed"))
            event = {"deviceId": device.id, "timestamp": now, "type": kind, "severity": "info"}
            await self._api.post("/device/event", event)

    async def queue_downlink(self, device: FleetDevice) -> None:
        body = {"deviceId": device.id, "payload": self._rng.randbytes(8).hex(), "expiresIn": 3_600}
        await self._api.post("/device/downlink", body)

    async def call(self, callback: Callback) -> dict[str, object]:
        """A request of a network, with the token of the group."""
        headers = {"Authorization": f"Bearer {self._fleet.token}", **dict(callback.headers)}
        status, response = await send(
            self._api.http,
            "POST",
            self._api.url + callback.path,
            json=callback.body,
            headers=headers,
        )
        if status != 200:
            raise DemoError(f"{callback.path}: {status} {response}")
        return dict(response)


async def send_traffic(traffic: Traffic, fleet: Fleet, *, rate: float, seed: int) -> None:
    """Send messages at this rate until cancelled; an unreachable service is retried."""
    rng = random.Random(seed + 2)
    active = [each for each in fleet.devices if each.is_active]
    due = _due_moments(rate)
    senders = min(_SENDERS_MAX, max(1, math.ceil(rate / _MESSAGES_PER_SENDER)))
    await asyncio.gather(
        _send_downlinks(traffic, fleet, rng),
        *(_send_reports(traffic, active, due, rng) for _ in range(senders)),
    )


def _due_moments(rate: float) -> Iterator[float]:
    """When each message is due; shared by all senders. What was missed is not caught up with."""
    due = time.monotonic()
    while True:
        due = max(due + 1 / rate, time.monotonic() - 1)
        yield due


async def _send_reports(
    traffic: Traffic, active: list[FleetDevice], due: Iterator[float], rng: random.Random
) -> None:
    for moment in due:
        await asyncio.sleep(max(0.0, moment - time.monotonic()))
        try:
            await traffic.report(rng.choice(active))
        except DemoError:
            await asyncio.sleep(_RETRY_S)


async def _send_downlinks(traffic: Traffic, fleet: Fleet, rng: random.Random) -> None:
    gauges = [each for each in fleet.of_type(TIDE_GAUGE) if each.is_active]
    while True:
        await asyncio.sleep(_DOWNLINK_EVERY_S)
        try:
            await traffic.queue_downlink(rng.choice(gauges))
        except DemoError:
            continue  # its queue is full, or the service is unreachable

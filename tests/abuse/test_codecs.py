"""Payloads and values that make a codec loop, while somebody honest uses the same codec."""

import itertools
import json
import threading
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from longwire.cli.base import run_write
from longwire.fleet import device_types
from longwire.model import SYSTEM
from longwire.settings import Settings
from tests.abuse.victim import Latencies, Scene, SharedService, Victim
from tests.delivery.receiver import Receiver
from tests.waiting import PATIENCE_S, eventually
from tests.world import Person, ok, record_of

TYPE = "meter"
# 1 loops where the engine looks at the clock, 2 where it does not, 3 takes long but ends.
CODEC = """
function work(n) { let i = 0; while (i < n) i++; return i; }
function decodeUplink({bytes}) {
  if (bytes[0] === 1) for (;;);
  if (bytes[0] === 2) [].indexOf.call({length: 2 ** 53 - 1}, 1);
  return {data: {ok: bytes[0] === 3 ? work(5e5) : 1}};
}
function encodeDownlink({data}) { return {bytes: [work(data.n)]}; }
"""
TIME = 1_700_000_000


@pytest.fixture(scope="module", autouse=True)
def codec(shared_service: SharedService, attacked_settings: Settings) -> None:
    """The operator gives a type a codec that has a bug."""
    run_write(
        attacked_settings,
        lambda tx: device_types.set_decoder(tx, SYSTEM, TYPE, "javascript", CODEC),
    )


class Network:
    """A network with devices of the type in a group of its own."""

    def __init__(self, person: Person, prefix: str, devices: int) -> None:
        self.person = person
        self.group = person.group(prefix)
        token = ok(person.get("/group", groupId=self.group))[0]["token"]
        self._headers = {"Authorization": f"Bearer {token}"}
        self.ids = [f"{prefix}{number:04X}" for number in range(devices)]
        made = {"groupId": self.group, "type": TYPE, "network": "vendor"}
        created = ok(person.post("/devices", {**made, "originalDevicesIds": self.ids}))["items"]
        self.devices = [each["deviceId"] for each in created]
        self._numbers = itertools.count(1)

    def says(self, device: int, payload: str) -> Any:
        number = next(self._numbers)
        body = {"device": self.ids[device], "time": TIME + number, "data": payload}
        return self.person.world.http.post("/network/vendor/data", json=body, headers=self._headers)


class DecodingVictim(Victim):
    """An honest tenant whose uplinks are decoded by the same codec."""

    def __init__(self, person: Person, receiver: Receiver, *, prefix: str) -> None:
        self.person = person
        self.receiver = receiver
        self.network = Network(person, prefix, 1)
        self.device = self.network.devices[0]
        self.person.connector(self.network.group, self.receiver.url)

        def is_decoded() -> bool:
            ok(self.network.says(0, "00"))
            return bool(self.last_values())

        eventually(is_decoded, PATIENCE_S)

    def last_values(self) -> dict[str, Any]:
        listed = self.person.get("/device/data", deviceId=self.device, limit=1_000)
        return dict(json.loads(ok(listed)["items"][-1]["data"]))

    def _run_round(self, latencies: Latencies) -> None:
        delivered = len(self.receiver.requests)
        began = time.monotonic()
        ok(self.network.says(0, "00"))
        written = time.monotonic()
        assert self.last_values() == {"ok": 1, "radio": {}}, "an honest payload was not decoded"
        read = time.monotonic()
        self.receiver.wait_for(delivered + 1, timeout_s=PATIENCE_S)
        latencies.write.append(written - began)
        latencies.read.append(read - written)
        latencies.delivery.append(max(time.monotonic() - written, 0.0))


def set_scene(scene: Scene, number: int) -> Scene:
    return replace(scene, create_victim=partial(DecodingVictim, prefix=f"B{number}"))


@pytest.mark.engine_free
def test_payloads_that_loop_slow_nobody_and_cost_nobody_else_their_values(scene: Scene) -> None:
    number = next(scene.service.numbers)
    scene = set_scene(scene, number)
    hostile = [Network(scene.mallory, f"C{number}{each:X}", 50) for each in range(3)]
    turns = itertools.count()

    def attack(stop: threading.Event) -> None:
        turn = next(turns)
        hostile[turn % 3].says(turn % 50, f"0{turn % 4}")

    scene.assert_victim_unharmed(*[attack] * 6)


@pytest.mark.soak  # tests/fleet/test_decoding.py has the time that codecs of a group get
def test_redecoding_and_encoding_without_end_slow_nobody(scene: Scene) -> None:
    number = next(scene.service.numbers)
    scene = set_scene(scene, number)
    mallory = scene.mallory
    hostile = Network(mallory, f"D{number}", 2)
    looping = [
        record_of(hostile.devices[0], timestamp=TIME + each, **{"__raw": "03"})
        for each in range(200)
    ]
    ok(mallory.post("/device/data/batch", {"items": looping}))

    def redecode(stop: threading.Event) -> None:
        mallory.post("/device/redecode", {"groupId": hostile.group, "limit": 200})

    def encode(stop: threading.Event) -> None:
        mallory.post("/device/downlink", {"deviceId": hostile.devices[1], "data": {"n": 1e12}})

    scene.assert_victim_unharmed(*[redecode] * 8, *[encode] * 4)

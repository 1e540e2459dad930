"""Networks that send too much: huge, deep and repeated messages, wrong tokens."""

import itertools
import json
import secrets
import threading
from typing import Any

import pytest

from tests.abuse.victim import Scene
from tests.waiting import eventually
from tests.world import Person, ok

MIB = 1024 * 1024
EUI = "0102030405060708"
DEVICE = "1FD48BE"
PATHS = (
    *("/network/vendor/dataAdvanced", "/network/chirpstack?event=up", "/network/ttn"),
    *("/network/loriot", "/network/thingpark"),
)


class Network:
    """A network with the token of a group, and a device in that group."""

    def __init__(self, scene: Scene, person: Person) -> None:
        self.http = scene.service.http
        self.group = person.group("network")
        self.number = next(scene.service.numbers)
        self.device = f"{DEVICE}{self.number}"
        person.device(self.group, network="vendor", originalId=self.device)
        person.device(self.group, network="mqtt", originalId=self.device)
        self.token = str(ok(person.get("/group", groupId=self.group))[0]["token"])

    def calls(self, path: str, content: bytes, token: str | None = None) -> int:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return self.http.post(path, content=content, headers=headers).status_code


def fill(unit: bytes, template: bytes) -> bytes:
    """A body of almost a mebibyte: the template with a list of units in it."""
    count = (MIB - len(template)) // len(unit)
    return template.replace(b"@", (unit * count).rstrip(b","))


def hostile_bodies(device: str) -> list[bytes]:
    """Bodies that cost their parser a lot for each byte."""
    ids: dict[str, Any] = {
        **{"device": device, "time": 1_653_666_733, "cmd": "gw", "EUI": EUI},
        **{"deviceInfo": {"devEui": EUI}, "end_device_ids": {"dev_eui": EUI}},
    }
    head = json.dumps(ids).encode().removesuffix(b"}")
    wide = head + b',"duplicates":[@],"uplink_message":{},"rxInfo":[@],"gws":[@]}'
    return [
        fill(b'{"a":1},', head + b',"rxInfo":[@],"uplink_message":{}}'),
        fill(b'{"a":1},', head + b',"uplink_message":{"rx_metadata":[@]}}'),
        fill(b'{"a":1},', b'{"DevEUI_uplink":{"Lrrs":{"Lrr":[@]}}}'),
        fill(b"0.1,", head + b',"gws":[@]}'),
        fill(b'{\\"a\\":1},', head + b',"duplicates":"[@]"}'),
        fill(b'"a":007,', head + b",@}"),
        fill(b'"\\u0000[{",', head + b',"duplicates":[@]}'),
        head + b',"duplicates":' + b"[" * (MIB - 500),
        wide.replace(b"@", b",".join([b'{"rssi":-1}'] * 25_000)),
    ]


@pytest.mark.engine_free
def test_huge_and_deep_messages_slow_nobody(scene: Scene) -> None:
    network = Network(scene, scene.mallory)
    bodies = hostile_bodies(network.device)
    requests = itertools.cycle(itertools.product(bodies, PATHS))
    lock = threading.Lock()

    def attack(stop: threading.Event) -> None:
        with lock:
            body, path = next(requests)
        status = network.calls(path, body)
        assert status in (200, 400, 404), status

    scene.assert_victim_unharmed(*[attack] * 4)


@pytest.mark.engine_free
def test_wrong_tokens_slow_nobody(scene: Scene) -> None:
    network = Network(scene, scene.mallory)
    body = json.dumps({"device": network.device, "data": "00", "x": "y" * 50_000}).encode()

    def attack(stop: threading.Event) -> None:
        assert network.calls("/network/vendor/data", body, secrets.token_hex(20)) == 401
        guess = f"/network/vendor/data?token=lwg_{secrets.token_hex(20)}&device={network.device}"
        assert network.http.get(guess).status_code == 401

    scene.assert_victim_unharmed(*[attack] * 6)


@pytest.mark.engine_free
def test_a_flood_of_random_ids_slows_nobody_and_fills_a_bounded_list(scene: Scene) -> None:
    """Each is another unknown device; one real one among them stays in the list."""
    network = Network(scene, scene.mallory)

    def attack(stop: threading.Event) -> None:
        message = {"device": secrets.token_hex(4), "time": 1_794_731_400, "data": "00" * 500}
        assert network.calls("/network/vendor/data", json.dumps(message).encode()) == 404
        assert (
            network.calls("/network/chirpstack?event=up", b'{"deviceInfo":{"devEui":"x"}}') == 404
        )

    def real() -> None:
        message = {"device": "ABCDEF", "time": 1_794_731_400, "data": "00"}
        assert network.calls("/network/vendor/data", json.dumps(message).encode()) == 404

    def listed() -> dict[str, int]:
        path, query = "/group/unknownDevices", {"groupId": network.group, "limit": "1000"}
        items = ok(scene.mallory.get(path, **query))["items"]
        return {each["originalId"]: each["count"] for each in items}

    for _ in range(2):
        real()
    eventually(lambda: listed() == {"ABCDEF": 2})
    scene.assert_victim_unharmed(*[attack] * 6)

    def is_long() -> bool:
        """Sends more: a busy machine takes few in a short attack, and few are kept of a moment."""
        for _ in range(20):
            attack(threading.Event())
        return len(listed()) > 100

    eventually(is_long)
    found = listed()
    assert len(found) <= 201
    assert found["ABCDEF"] == 2


def test_repeated_messages_and_batches_slow_nobody(scene: Scene) -> None:
    """Messages without a time are recognised by their number: also while others flood."""
    network = Network(scene, scene.mallory)
    person = scene.service.person(scene.honest)
    honest = Network(scene, person)
    once = json.dumps({"device": honest.device, "data": "00", "seqNumber": 7}).encode()
    numbers = itertools.count()
    lines = "\n".join(f"{network.device};{1_653_666_733 + n};00;{n};true" for n in range(1_000))
    batch = json.dumps({"batch": lines}).encode()

    def number(stop: threading.Event) -> None:
        said = {"device": network.device, "data": "00" * 500, "seqNumber": next(numbers)}
        network.calls("/network/vendor/data", json.dumps(said).encode())

    def repeat(stop: threading.Event) -> None:
        network.calls("/network/vendor/data", batch)

    assert honest.calls("/network/vendor/data", once) == 200
    scene.assert_victim_unharmed(*[number] * 4, repeat)
    assert honest.calls("/network/vendor/data", once) == 200
    devices = ok(person.get("/group/devices", groupId=honest.group))["items"]
    (device,) = (each["deviceId"] for each in devices if each["network"] == "vendor")
    assert len(person.records(device)) == 1

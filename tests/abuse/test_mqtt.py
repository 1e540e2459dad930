"""One tenant at the broker that devices publish to: the messages of all come in one line."""

import itertools
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from tests.abuse.victim import Latencies, Scene, Victim
from tests.delivery.brokers import Nats, running
from tests.delivery.receiver import Receiver
from tests.waiting import PATIENCE_S
from tests.world import Person, ok

IN_FLIGHT = 100  # of the listener, as it is shipped


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nats]:
    with running(Nats(tmp_path_factory.mktemp("nats"))) as nats:
        yield nats


@pytest.fixture(scope="module")
def service_flags(broker: Nats) -> tuple[str, ...]:
    return ("--mqtt-url", f"mqtt://127.0.0.1:{broker.mqtt_port}", "--mqtt-version", "3.1.1")


@contextmanager
def connected(port: int) -> Iterator[paho.Client]:
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv311)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


class Publisher:
    """A device that publishes, and its owner."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.group = person.group("publishers")
        self.id = person.device(self.group)
        self.token = str(ok(person.get("/group", groupId=self.group))[0]["token"])

    def topic(self, kind: str = "event") -> str:
        return f"longwire/{self.token}/{self.id}/{kind}"


class MqttVictim(Victim):
    """Writes by MQTT: until the record can be read, since there is no response."""

    def __init__(self, port: int, person: Person, receiver: Receiver) -> None:
        super().__init__(person, receiver)
        self._port = port
        self._publisher = Publisher(person)

    def _run_round(self, latencies: Latencies) -> None:
        name = f"round {next(self._numbers)}"
        device = self._publisher.id
        with connected(self._port) as client:
            began = time.monotonic()
            message = json.dumps({"type": name})
            client.publish(self._publisher.topic(), message, qos=1).wait_for_publish(PATIENCE_S)
            while True:
                asked = time.monotonic()
                page = ok(self.person.get("/device/event", deviceId=device, limit=1_000))
                if any(event["type"] == name for event in page["items"]):
                    break
                assert asked - began < PATIENCE_S, "a message of the victim did not arrive"
                time.sleep(0.005)
        latencies.write.append(asked - began)
        latencies.read.append(time.monotonic() - asked)
        latencies.delivery.append(0.0)


@pytest.mark.engine_free
def test_floods_at_the_broker_slow_nobody(scene: Scene, broker: Nats) -> None:
    """Nobody who uses HTTP: what the broker has queued, it hands over in one line."""
    own = Publisher(scene.mallory)
    messages = [
        (f"longwire/{secrets.token_hex(20)}/x/raw", b"x"),
        (f"longwire/{own.token}/nobody/raw", b"x"),
        (own.topic("data"), b"[" * 100_000),
        (own.topic("raw"), b"x" * 100_000),
        (own.topic(), b'{"type":"opened"}'),
        (own.topic("nothing"), b"x" * 1_000),
    ]
    with connected(broker.mqtt_port) as client:

        def attack(stop: threading.Event) -> None:
            for topic, payload in messages:
                client.publish(topic, payload, qos=1).wait_for_publish(1)

        scene.assert_victim_unharmed(*[attack] * 4)


@pytest.mark.engine_free
def test_a_device_that_is_changed_in_a_loop_holds_up_nobodys_messages(
    scene: Scene, broker: Nats
) -> None:
    own = Publisher(scene.mallory)
    numbers = itertools.count()
    with connected(broker.mqtt_port) as client:

        def change(stop: threading.Event) -> None:
            change = {"deviceId": own.id, "groupId": own.group, "name": f"{next(numbers)}"}
            scene.mallory.put("/device", change)

        def publish(stop: threading.Event) -> None:
            for _ in range(IN_FLIGHT):
                message = json.dumps({"type": "opened", "message": str(next(numbers))})
                client.publish(own.topic(), message, qos=1).wait_for_publish(1)
            stop.wait(0.5)

        victim = partial(MqttVictim, broker.mqtt_port)
        replace(scene, create_victim=victim).assert_victim_unharmed(*[change] * 6, publish)

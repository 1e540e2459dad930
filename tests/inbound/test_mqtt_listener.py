"""What devices publish themselves: from a real broker to records, each once, and none lost.

NATS speaks MQTT 3.1.1 and comes with the project's development tools. MQTT 5 needs Mosquitto, which
has to be installed on the machine; without it those tests are skipped.
"""

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from structlog.testing import capture_logs

from longwire.delivery.destinations.connections import ConnectionFailed
from longwire.delivery.http.egress import Egress
from longwire.errors import Unavailable
from longwire.fleet import device_types
from longwire.inbound import mqtt_listener, mqtt_session
from longwire.inbound.mqtt_listener import default_client_id
from longwire.inbound.mqtt_messages import MqttMessage
from longwire.inbound.mqtt_session import (
    InFlightMessage,
    MqttArrivalTimes,
    MqttSession,
    parse_broker_url,
)
from longwire.inbound.uplinks import UplinkStore
from longwire.model import SYSTEM
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.store.leases import NAMED_LEASES
from tests.api.test_health import counters
from tests.certificates import write_certificate
from tests.delivery import brokers
from tests.delivery.brokers import (
    Impostor,
    Mosquitto,
    Nats,
    run_story,
    running,
    trusted,
)
from tests.delivery.hostile_brokers import HostileBroker
from tests.ports import free_port
from tests.process import Service
from tests.waiting import PATIENCE_S, eventually
from tests.world import (
    KINDS,
    NOON,
    AdjustableClock,
    World,
    change_settings,
    copy_data_folder,
    ok,
    record_of,
)

MakeWorld = Callable[..., World]

NUMBERS = itertools.count(1)
OPTIONS = mqtt_session.SubscriberOptions(in_flight_max=10, packet_bytes_max=1_000)

needs_mosquitto = pytest.mark.skipif(
    brokers.MOSQUITTO is None, reason="mosquitto is not installed here; it is the broker for MQTT 5"
)
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


class Place:
    """A broker's port and its protocol version."""

    def __init__(self, broker: Mosquitto | Nats, version: str) -> None:
        self.broker = broker
        self.port = broker.mqtt_port if isinstance(broker, Nats) else broker.port
        self.version = version
        # The brokers are shared by the tests, so everybody has topics of their own.
        self.prefix = f"test{next(NUMBERS)}/in"

    def settings(self, **changes: Any) -> dict[str, Any]:
        return {
            "mqtt_url": f"mqtt://127.0.0.1:{self.port}",
            "mqtt_version": self.version,
            "mqtt_prefix": self.prefix,
            "mqtt_client_id": self.prefix.replace("/", ""),
            **changes,
        }

    @contextmanager
    def publisher(self) -> Iterator["Publisher"]:
        publisher = Publisher(self)
        try:
            yield publisher
        finally:
            publisher.client.disconnect()
            # Its thread lets go of itself when it ends, also while somebody waits for it.
            with suppress(AttributeError):
                publisher.client.loop_stop()


class Publisher:
    """Devices that publish to the broker."""

    def __init__(self, place: Place) -> None:
        self._prefix = place.prefix
        is_5 = place.version == "5"
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
        )
        connected = threading.Event()
        self.client.on_connect = lambda *_: connected.set()
        self.client.connect("127.0.0.1", place.port)
        self.client.loop_start()
        assert connected.wait(60)

    def says(self, token: str, device: str, kind: str, body: Any, **how: Any) -> None:
        """Publish, and wait for the broker's acknowledgement."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        topic = f"{self._prefix}/{token}/{device}/{kind}"
        self.client.publish(topic, payload, **{"qos": 1, **how}).wait_for_publish(10)


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nats]:
    # By itself, it waits for half a minute before it sends a message again.
    extra = 'ack_wait: "1s"'
    with running(Nats(tmp_path_factory.mktemp("nats"), mqtt_extra=extra)) as broker:
        yield broker


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with running(Mosquitto(tmp_path_factory.mktemp("mosquitto"))) as broker:
        yield broker


@pytest.fixture(params=["nats 3.1.1", pytest.param("mosquitto 5", marks=needs_mosquitto)])
def place(request: pytest.FixtureRequest) -> Place:
    name, version = request.param.split()
    return Place(request.getfixturevalue(name), version)


on_nats = pytest.mark.parametrize("place", ["nats 3.1.1"], indirect=True)
on_mosquitto = pytest.mark.parametrize(
    "place", [pytest.param("mosquitto 5", marks=needs_mosquitto)], indirect=True
)


class Site:
    """A user with a group and two devices: one publishes under its original id, one under ours."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.pump = self.ada.device(self.home, name="pump", originalId="Pump-7")
        self.crane = self.ada.device(self.home, name="crane", network="plant")
        self.token = str(ok(self.ada.get("/group", groupId=self.home))[0]["token"])

    def records(self, kind: str = "data", device: str | None = None) -> list[dict[str, Any]]:
        return self.ada.records(device or self.pump, kind)

    def number(self, kind: str = "data") -> int:
        return len(self.records(kind))


def state(world: World) -> str:
    response = world.nobody.get("/health/ready")
    return str(response.json()["mqtt"])


def listens(world: World) -> bool:
    return state(world) == "listening"


def outcomes(world: World) -> dict[str, int]:
    """Message counters, by outcome."""
    name = "longwire_mqtt_messages_total"
    return {
        key[1].removeprefix("outcome="): int(value)
        for key, value in counters(world).items()
        if key[0] == name and value
    }


# --- what a message becomes ---


def test_published_messages_become_records_and_the_broker_keeps_them_while_we_are_down(
    make_world: MakeWorld, place: Place
) -> None:
    world = make_world(**place.settings())
    eventually(lambda: listens(world))
    site = Site(world)
    with place.publisher() as devices:
        # A record of each kind, as it would be posted, but for the device; twice.
        for kind in KINDS:
            message = record_of("", kind, groupId=site.home)
            del message["deviceId"]
            for _ in range(2):
                devices.says(site.token, "pump-7", kind, message)
        # The broker sends again what is not acknowledged within a second.
        eventually(lambda: sum(outcomes(world).values()) >= 8)
        assert outcomes(world).keys() == {"stored"}
        for kind in KINDS:
            (record,) = site.records(kind)
            posted = record_of(site.pump, kind, groupId=site.home)
            assert record.items() >= posted.items()
        # What is known need not be said: the device's own, and the moment of arrival.
        began = world.clock.now() // 1_000
        devices.says(site.token, site.crane, "data", {"data": '{"t":1}'})
        devices.says(site.token, site.crane, "event", {"type": "opened"})
        devices.says(site.token, site.crane, "raw", b"\x0a\xff")
        eventually(lambda: len(site.records("data", site.crane)) == 2)
        eventually(lambda: len(site.records("event", site.crane)) == 1)
        message, raw = site.records("data", site.crane)
        assert (message["data"], message["__raw"], message["deviceType"]) == (
            '{"t":1}',
            "",
            "generic",
        )
        assert (raw["data"], raw["__raw"], raw["deviceName"]) == ("{}", "0aff", "crane")
        assert (message["configuration"], raw["configuration"]) == ("{}", "{}")
        seen = ok(site.ada.get("/device", deviceId=site.crane))["seenAt"]
        assert began <= seen <= world.clock.now() // 1_000
        assert [event["type"] for event in site.records("event", site.crane)] == ["opened"]
        # Bytes go through the decoder of the device's type.
        bits = "t::uint:8 h::uint:8"
        world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, "generic", "bits", bits))
        devices.says(site.token, site.crane, "raw", b"\x0b\xff")
        eventually(lambda: len(site.records("data", site.crane)) == 3)
        decoded = site.records("data", site.crane)[-1]
        assert json.loads(decoded["data"]) == {"t": 11, "h": 255}
        # What is remembered of a device does not outlive a change of it.
        change = {"deviceId": site.crane, "groupId": site.home, "configuration": '{"a":1}'}
        ok(site.ada.put("/device", change))
        devices.says(site.token, site.crane, "data", {"data": '{"t":2}'})
        devices.says(site.token, site.crane, "raw", b"\x0c\xff")
        eventually(lambda: len(site.records("data", site.crane)) == 5)
        changed = site.records("data", site.crane)[-2:]
        assert [each["configuration"] for each in changed] == ['{"a":1}'] * 2
        # They are counted, and go on from here like all others.
        now = world.clock.now() // 1_000
        period = {"beginDate": str(now - 3_600_000), "endDate": str(now + 3_600_000)}
        totals = ok(site.ada.get("/group/metrics", groupId=site.home, **period))
        assert totals["totalDeviceMessage"] == 4 + 6
        # Nobody listens; the broker keeps it.
        world.stop()
        for number in range(50):
            devices.says(site.token, "Pump-7", "event", {"type": f"away {number}"})
        world.start()
        eventually(lambda: site.number("event") >= 51)

    def types() -> list[str]:
        found = (event["type"] for event in site.records("event"))
        return sorted(each for each in found if each != "opened")

    eventually(lambda: types() == sorted(f"away {number}" for number in range(50)))
    eventually(lambda: listens(world))
    assert counters(world)["longwire_mqtt_connected",] == 1


EUI = "0101010101010101"


@needs_mosquitto
@on_sqlite
@pytest.mark.parametrize("place", ["mosquitto 5"], indirect=True)
def test_events_that_chirpstack_publishes_are_kept_by_the_broker_while_we_are_down(
    make_world: MakeWorld, place: Place, tmp_path: Path
) -> None:
    """Two brokers, as in the guide: that of ChirpStack hands over the events of one application."""
    world = make_world(**place.settings())
    eventually(lambda: listens(world))
    site = Site(world)
    field = site.ada.device(site.home, name="field", network="chirpstack", originalId=EUI)
    bridge = (
        "allow_anonymous true\nconnection longwire\n"
        f"address 127.0.0.1:{place.port}\ncleansession false\nclientid {place.prefix[:4]}bridge\n"
        f"topic # out 1 application/7/device/ {place.prefix}/{site.token}/\n"
    )
    with (
        running(Mosquitto(tmp_path / "chirpstack", bridge)) as theirs,
        Place(theirs, "5").publisher() as network,
    ):

        def publish(event: str, members: dict[str, Any], application: int = 7) -> None:
            body = {"deviceInfo": {"devEui": EUI}, **members}
            topic = f"application/{application}/device/{EUI}/event/{event}"
            sent = network.client.publish(topic, json.dumps(body), qos=1)
            sent.wait_for_publish(10)

        up = {"time": "2026-11-15T08:30:00Z", "fCnt": 16, "fPort": 2, "data": "AQUy"}
        publish("up", up | {"object": {"celsius": 26.1}})
        publish("up", up | {"object": {"celsius": 26.1}})
        eventually(lambda: outcomes(world) == {"stored": 2})
        publish("up", up, application=8)
        world.stop()
        for number in range(17, 30):
            time = f"2026-11-15T08:30:{number}Z"
            publish("up", up | {"time": time, "fCnt": number, "rxInfo": [{"rssi": -80}]})
        publish("status", {"time": "2026-11-15T08:31:00Z", "batteryLevel": 87.5})
        publish("down", {})
        publish("join", {"deviceInfo": {"devEui": "02" * 8}})
        world.start()
        eventually(lambda: len(site.records("data", field)) == 14)
        eventually(lambda: outcomes(world).keys() == {"stored", "invalid", "unknown_device"})
    first, *others = site.records("data", field)
    assert json.loads(first["data"])["celsius"] == 26.1
    assert [json.loads(each["data"])["radio"]["seqNumber"] for each in others] == [*range(17, 30)]
    assert len(site.records("telemetry", field)) == 13
    assert ok(site.ada.get("/device", deviceId=field))["battery"] == "87.5"

    def unknown() -> list[tuple[str, str]]:
        found = ok(site.ada.get("/group/unknownDevices", groupId=site.home))["items"]
        return [(each["network"], each["originalId"]) for each in found]

    eventually(lambda: ("chirpstack", "02" * 8) in unknown())


@on_sqlite
@on_mosquitto
def test_invalid_messages_are_counted_and_dropped_and_block_no_others(
    make_world: MakeWorld, place: Place
) -> None:
    with place.publisher() as devices:
        # Said before anybody listened, and kept by the broker for whoever comes.
        devices.says("lwg_none", "pump-7", "event", {"type": "old"}, retain=True)
        with capture_logs() as lines:
            world = make_world(**place.settings(body_bytes_max=300_000))
            eventually(lambda: listens(world))
            site = Site(world)
            bob = world.person("bob")
            other = bob.group("other")
            foreign = bob.device(other, originalId="theirs")
            event = {"type": "opened", "timestamp": NOON}
            dropped: list[tuple[str, str, str, Any]] = [
                ("unknown_token", "lwg_wrong", "pump-7", event),
                ("unknown_token", bob.token or "", "pump-7", event),
                ("unknown_device", site.token, "nobody", event),
                ("unknown_device", site.token, foreign, event),
                ("unknown_device", site.token, "theirs", event),
                ("invalid", site.token, "pump-7", b"{"),
                ("invalid", site.token, "pump-7", b"\xff\x00"),
                ("invalid", site.token, "pump-7", b"[1]"),
                ("invalid", site.token, "pump-7", b""),
                ("invalid", site.token, "pump-7", b'{"a":' * 10_000),
                ("invalid", site.token, "pump-7", {"type": "\0"}),
                ("invalid", site.token, "pump-7", {"timestamp": NOON}),
                ("invalid", site.token, "pump-7", {**event, "timestamp": "soon"}),
                ("invalid", site.token, "pump-7", {**event, "groupId": other}),
                ("invalid", site.token, "pump-7", {**event, "deviceId": site.crane}),
                ("too_large", site.token, "pump-7", {**event, "message": "x" * 400_000}),
            ]
            expected: dict[str, int] = {}
            for outcome, token, device, body in dropped:
                devices.says(token, device, "event", body)
                expected[outcome] = expected.get(outcome, 0) + 1
            devices.says(site.token, "pump-7", "raw", bytes(200_000))
            devices.says(site.token, "pump-7", "anything", event)
            devices.says(site.token, "", "event", event)
            expected |= {"too_large": 2, "invalid": expected["invalid"] + 2}
            devices.says(site.token, "Pump-7", "event", {**event, "deviceId": site.pump})
            eventually(lambda: site.number("event") == 1)
            eventually(lambda: sum(outcomes(world).values()) == sum(expected.values()) + 1)
            assert outcomes(world) == {**expected, "stored": 1}
            assert all(site.number(kind) == 0 for kind in KINDS if kind != "event")
            assert bob.records(foreign, "event") == []
            eventually(lambda: listens(world))
    # One line for each reason, however many there were, and no token in any.
    dropped = [line for line in lines if line["event"] == "mqtt message dropped"]
    assert sorted(line["outcome"] for line in dropped) == sorted(expected)
    [nobody] = [line for line in dropped if line["outcome"] == "unknown_device"]
    assert "is not a known device" in nobody["reason"]
    assert nobody["device"] in ("nobody", foreign, "theirs")
    assert site.token not in str(lines)
    assert "lwg_" not in str(lines)


@on_sqlite
@pytest.mark.parametrize(
    "place", [pytest.param("mosquitto 3.1.1", marks=needs_mosquitto)], indirect=True
)
def test_in_mqtt_3_retained_messages_are_ignored_and_oversized_ones_dropped(
    place: Place, world: World
) -> None:
    site = Site(world)
    world.stop()
    with place.publisher() as devices:
        devices.says(site.token, "pump-7", "event", {"type": "old"}, retain=True)
        world.settings = change_settings(world.settings, **place.settings())
        world.start()
        eventually(lambda: outcomes(world) == {"retained": 1})
        devices.says(site.token, "pump-7", "event", {"type": "new"}, retain=True)
        eventually(lambda: site.number("event") == 1)
        # Far more than it holds: read to its end, and not kept.
        devices.says(site.token, "pump-7", "event", {"type": "new", "message": "x" * 2_500_000})
        eventually(lambda: outcomes(world) == {"retained": 1, "stored": 1, "too_large": 1})
    assert [event["type"] for event in site.records("event")] == ["new"]


# --- when something is unreachable ---


@on_sqlite
def test_a_message_that_cannot_be_stored_is_not_acknowledged_and_stored_later(
    make_world: MakeWorld, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_listener, "STORE_RETRY_MAX_S", 0.3)
    world = make_world(**place.settings(mqtt_in_flight_max=4))
    eventually(lambda: listens(world))
    site = Site(world)
    tries: list[MqttMessage] = []

    async def fail(published: MqttMessage) -> None:
        tries.append(published)
        raise Unavailable

    assert world.app.listener is not None
    take = world.app.listener.handle
    monkeypatch.setattr(world.app.listener, "handle", fail)
    with place.publisher() as devices:
        for number in range(20):
            devices.says(site.token, "pump-7", "event", {"type": str(number)})
        eventually(lambda: len(tries) > 12)
    # It holds as much as it may, and leaves the rest at the broker.
    assert {json.loads(each.payload)["type"] for each in tries} == {"0", "1", "2", "3"}
    assert outcomes(world) == {}
    monkeypatch.setattr(world.app.listener, "handle", take)
    eventually(lambda: site.number("event") == 20)
    # Counted once it is acknowledged; a connection that broke meanwhile brings one of them again.
    eventually(lambda: outcomes(world).get("stored", 0) >= 20)
    assert set(outcomes(world)) == {"stored"}


@on_nats
def test_a_device_that_is_changed_all_the_time_holds_up_no_messages(
    make_world: MakeWorld, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(**place.settings())
    eventually(lambda: listens(world))
    site = Site(world)
    load, changes = UplinkStore._load_device, itertools.count()

    async def load_and_change(self: UplinkStore, *arguments: Any) -> NetworkDevice:
        """Between any look at the device and the commit, it is changed."""
        device = await load(self, *arguments)
        change = {"deviceId": site.pump, "groupId": site.home, "name": f"name {next(changes)}"}
        ok(await asyncio.to_thread(site.ada.put, "/device", change))
        return device

    monkeypatch.setattr(UplinkStore, "_load_device", load_and_change)
    with place.publisher() as devices:
        devices.says(site.token, "pump-7", "event", {"type": "opened"})
        devices.says(site.token, "pump-7", "raw", b"\x0a\xff")
        eventually(lambda: outcomes(world) == {"stored": 2})
    assert (site.number("event"), site.number("data")) == (1, 1)


@on_sqlite
@on_nats
def test_what_an_unknown_device_publishes_is_listed_in_the_group_of_its_token(
    make_world: MakeWorld, place: Place
) -> None:
    world = make_world(**place.settings())
    eventually(lambda: listens(world))
    site = Site(world)
    with place.publisher() as devices:
        devices.says(site.token, "nobody", "raw", b"\x0a\x1b")
        eventually(lambda: outcomes(world).keys() == {"unknown_device"})
    path = "/group/unknownDevices"
    eventually(lambda: len(ok(site.ada.get(path, groupId=site.home))["items"]) == 1)
    (found,) = ok(site.ada.get(path, groupId=site.home))["items"]
    assert (found["network"], found["originalId"], found["payload"]) == ("mqtt", "nobody", "0a1b")


@pytest.mark.engine_free
@on_nats
def test_what_a_storage_quota_refuses_is_dropped_and_counted_as_that(
    make_world: MakeWorld, place: Place
) -> None:
    world = make_world(**place.settings(stored_records_per_group_max=1))
    eventually(lambda: listens(world))
    site = Site(world)
    with place.publisher() as devices:
        devices.says(site.token, "pump-7", "event", {"type": "opened"})
        eventually(lambda: site.number("event") == 1)
        world.clock.let_pass(seconds=11)
        devices.says(site.token, "pump-7", "event", {"type": "closed"})
        eventually(lambda: outcomes(world) == {"stored": 1, "limit_reached": 1})


@on_sqlite
@on_mosquitto
def test_a_message_with_an_unexpected_error_does_not_block_the_next_ones(
    make_world: MakeWorld, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(**place.settings())
    eventually(lambda: listens(world))
    site = Site(world)
    assert world.app.listener is not None
    take = world.app.listener.handle

    async def trips(published: MqttMessage) -> None:
        if b"stone" in published.payload:
            raise ZeroDivisionError
        await take(published)

    monkeypatch.setattr(world.app.listener, "handle", trips)
    with place.publisher() as devices:
        devices.says(site.token, "pump-7", "event", {"type": "stone"})
        devices.says(site.token, "pump-7", "event", {"type": "path"})
        eventually(lambda: outcomes(world) == {"failed": 1, "stored": 1})
    assert [event["type"] for event in site.records("event")] == ["path"]


@on_sqlite
def test_a_lost_broker_is_reported_and_reconnected(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_listener, "RECONNECT_MAX_S", 0.3)
    with running(Nats(tmp_path / "nats")) as broker:
        place = Place(broker, "3.1.1")
        world = make_world(**place.settings())
        eventually(lambda: listens(world))
        site = Site(world)
        broker.stop()
        eventually(lambda: state(world) == "not connected: connection refused")
        # The service does its work meanwhile.
        assert world.nobody.get("/health/ready").status_code == 200
        assert ok(world.nobody.get("/health/live")) == {"status": "ok"}
        assert counters(world)["longwire_mqtt_connected",] == 0
        broker.start()
        eventually(lambda: listens(world))
        with place.publisher() as devices:
            devices.says(site.token, "pump-7", "event", {"type": "again"})
            eventually(lambda: site.number("event") == 1)


@on_sqlite
@needs_mosquitto
def test_a_login_is_used_and_a_rejected_one_is_reported_without_the_password(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    passwords = folder / "passwords"
    passwords.write_text("longwire:p@ss/word\n")
    tool = Path(str(brokers.MOSQUITTO)).with_name("mosquitto_passwd")
    tool = tool if tool.exists() else Path("/usr/bin/mosquitto_passwd")
    brokers.subprocess.run([str(tool), "-U", str(passwords)], check=True)
    passwords.chmod(0o700)
    extra = f"allow_anonymous false\npassword_file {passwords}"
    with running(Mosquitto(folder, extra)) as broker, capture_logs() as lines:
        place = Place(broker, "5")
        login = f"mqtt://longwire:p%40ss%2Fword@127.0.0.1:{broker.port}"
        world = make_world(**place.settings(mqtt_url=login))
        eventually(lambda: listens(world))
        world.settings = replace(world.settings, mqtt_url=login.replace("word", "wort"))
        world.restart()
        eventually(lambda: state(world) == "not connected: the broker rejected the login")
    assert "p@ss" not in str(lines)
    assert "p%40" not in str(lines)


@pytest.mark.parametrize(
    "answers, reason",
    [
        ((b"\x20\x02\x00\x00", b"\x90\x03\x00\x01\x80"), "does not let this login subscribe"),
        ((b"\x20\x02\x00\x00", b"\x90\x03\x00\x01\x00"), "does not let this login subscribe"),
        ((b"\x20\x02\x00\x05",), "rejected the login"),
    ],
)
def test_a_denied_subscription_is_reported(answers: tuple[bytes, ...], reason: str) -> None:
    async def story() -> None:
        async with Impostor(b"", *answers) as broker:
            there = parse_broker_url(
                f"mqtt://127.0.0.1:{broker.port}", "3.1.1", "us", "in", OPTIONS
            )
            await MqttSession.open(
                there, Egress.build_unrestricted(), there.topics, anything, MqttArrivalTimes(1)
            )

    async def anything(message: InFlightMessage) -> None:
        raise AssertionError

    with pytest.raises(ConnectionFailed, match=reason):
        run_story(story())


@on_sqlite
def test_a_broker_that_hangs_up_at_a_denied_topic_is_subscribed_to_without_it(
    make_world: MakeWorld,
) -> None:
    def deny(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"\x20\x02\x00\x00")
        while (packet := connection.recv(65_536)) and b"/event/+" not in packet:
            if packet[0] == 0x82:  # SUBSCRIBE
                connection.sendall(b"\x90\x03" + packet[2:4] + b"\x01")

    with HostileBroker(deny) as broker, capture_logs() as lines:
        url = f"mqtt://127.0.0.1:{broker.port}"
        world = make_world(mqtt_url=url, mqtt_version="3.1.1", mqtt_prefix="us/in")
        eventually(lambda: listens(world))
        assert broker.connections == 2
        world.stop()
    warnings = [each for each in lines if "subscription" in each["event"]]
    assert [each["topics"] for each in warnings] == [("us/in/+/+/event/+",)]


@on_sqlite
@needs_mosquitto
def test_a_graceful_stop_over_tls_duplicates_no_message(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_listener, "STOP_TIMEOUT_S", PATIENCE_S)
    certificate, key = write_certificate(tmp_path / "tls")
    for file in (certificate, key):
        file.chmod(0o644)
    port = free_port()
    extra = (
        "allow_anonymous true\nmax_queued_messages 0\n"
        f"listener {port} 127.0.0.1\ncertfile {certificate}\nkeyfile {key}"
    )
    with running(Mosquitto(tmp_path / "mosquitto", extra)) as broker, trusted(certificate):
        place = Place(broker, "5")
        # Few at once, so that it stops to read again and again.
        chosen = place.settings(mqtt_url=f"mqtts://localhost:{port}", mqtt_in_flight_max=3)
        world = make_world(**chosen)
        eventually(lambda: listens(world))
        site = Site(world)
        with place.publisher() as devices:
            for number in range(150):  # without a moment: a repetition would be another record
                message = {"type": str(number), "message": "x" * 5_000}
                topic = f"{place.prefix}/{site.token}/pump-7/event"
                devices.client.publish(topic, json.dumps(message), qos=1)
            eventually(lambda: site.number("event") > 10)
            world.restart()
            eventually(lambda: site.number("event") >= 150)
        assert sorted(int(event["type"]) for event in site.records("event")) == [*range(150)]


# --- each once ---


def held(number: int, *, again: bool = False, payload: bytes = b"1") -> InFlightMessage:
    message = paho.MQTTMessage(number, b"in/token/pump/event")
    message.qos, message.dup, message.payload = 1, again, payload
    return InFlightMessage(message, 100, 1_000)


def test_a_repeated_message_keeps_its_first_arrival_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(mqtt_session.time, "monotonic", lambda: now)
    arrivals = MqttArrivalTimes(capacity=3)
    assert arrivals.first_arrival(held(1), 10) == 10
    assert arrivals.first_arrival(held(1, again=True), 20) == 10
    # Not repeated, or something else: it is new, and has taken the number.
    assert arrivals.first_arrival(held(1), 30) == 30
    assert arrivals.first_arrival(held(1, again=True, payload=b"2"), 40) == 40
    assert arrivals.first_arrival(held(2, again=True), 50) == 50
    # The broker may not know of it, if the connection ended shortly after.
    arrivals.acknowledged(held(2))
    arrivals.connection_ended()
    assert arrivals.first_arrival(held(2, again=True), 60) == 50
    # It has, if the connection went on for long: the number is somebody else's now.
    arrivals.acknowledged(held(2))
    now += mqtt_session.UNCONFIRMED_ACK_S + 1
    arrivals.connection_ended()
    assert arrivals.first_arrival(held(2, again=True), 70) == 70
    # What was never acknowledged stays, as far as there is room.
    for number in (3, 4, 5):
        arrivals.first_arrival(held(number), 80)
    assert arrivals.first_arrival(held(2, again=True), 90) == 90
    assert arrivals.first_arrival(held(5, again=True), 90) == 80


@on_sqlite
def test_a_message_stored_but_not_acknowledged_before_a_disconnect_is_stored_once(
    make_world: MakeWorld, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_listener, "RECONNECT_MAX_S", 0.2)
    world = make_world(**place.settings())
    eventually(lambda: listens(world))
    site = Site(world)
    listener = world.app.listener
    assert listener is not None
    take, taken = listener.handle, []

    async def cut(published: MqttMessage) -> None:
        """Commit, then drop the connection before the message is acknowledged."""
        await take(published)
        taken.append(published)
        if len(taken) == 1:
            assert listener.session is not None
            listener.session.abort()

    monkeypatch.setattr(listener, "handle", cut)
    with place.publisher() as devices:
        devices.says(site.token, "pump-7", "event", {"type": "without a moment"})
        eventually(lambda: len(taken) >= 2)
    assert len({each.arrived for each in taken}) == 1
    assert site.number("event") == 1


def test_no_message_is_lost_or_duplicated_when_the_service_is_killed(
    sqlite_template: Path, tmp_path: Path, nats: Nats
) -> None:
    place = Place(nats, "3.1.1")
    data = copy_data_folder(sqlite_template, tmp_path / "data")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in place.settings().items()]
    services = [Service(data, *flags).started()]
    try:
        service = services[0]
        device, token = pump_of(service)
        with place.publisher() as devices:
            for number in range(150):
                devices.says(token, "pump", "event", {"type": str(number), "timestamp": NOON})
                if number in (50, 100):
                    service.kill()
                    services.append(service := Service(data, *flags).started())

        def types() -> list[str]:
            asked = {"deviceId": device, "limit": "1000"}
            page = ok(service.http.get("/device/event", params=asked, headers=service.bearer))
            return [event["type"] for event in page["items"]]

        eventually(lambda: len(types()) >= 150)
        assert sorted(types()) == sorted(map(str, range(150)))
        assert service.stop() == 0
        assert token not in service.err
    finally:
        for each in services:
            each.clean_up()


def pump_of(service: Service) -> tuple[str, str]:
    """A device that publishes as `pump`, and the token of its group."""
    group = ok(service.post_group("fleet"))
    body = {"groupId": group["id"], "name": "pump", "type": "generic"}
    body |= {"originalId": "pump", "network": "mqtt"}
    made = ok(service.http.post("/device", json=body, headers=service.bearer))
    return made["deviceId"], group["token"]


# --- one process among others ---


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
@on_nats
def test_one_of_several_processes_listens_and_another_takes_over(
    settings: Settings, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_listener, "LEASE_RENEWAL_S", 0.2)
    chosen = change_settings(settings, **place.settings())
    first = World(chosen, AdjustableClock())
    eventually(lambda: listens(first))
    second = World(chosen, AdjustableClock())
    try:
        site = Site(second)
        eventually(lambda: state(second) == "standing by: another process listens")
        with place.publisher() as devices:
            devices.says(site.token, "pump-7", "event", {"type": "a", "timestamp": NOON})
            eventually(lambda: site.number("event") == 1)
            eventually(lambda: outcomes(first).keys() == {"stored"})
            assert outcomes(second) == {}
            first.stop()
            devices.says(site.token, "pump-7", "event", {"type": "b", "timestamp": NOON})
            eventually(lambda: site.number("event") == 2)
        assert listens(second)
        # Had it been stopped for a while, another one would have its place by now.

        def take_away(tx: Tx) -> bool:
            name, tokens = mqtt_listener.LEASE, second.app.listener._leases.tokens
            assert NAMED_LEASES.renew(tx, name, token=tokens[name], until=0)
            return NAMED_LEASES.claim(tx, name, token=1, until=tx.now + 60_000_000)

        assert second.write(take_away)
        eventually(lambda: "standing by" in state(second))
    finally:
        second.stop()


# --- the address ---


@pytest.mark.parametrize(
    "url, address, username, password",
    [
        ("mqtt://broker", "mqtt://broker:1883", None, None),
        ("mqtts://broker", "mqtts://broker:8883", None, None),
        ("mqtt://ada@10.0.0.1:1884/", "mqtt://10.0.0.1:1884", "ada", None),
        ("mqtts://ada:p%40s%3As@[::1]:99", "mqtts://[::1]:99", "ada", "p@s:s"),
    ],
)
def test_the_login_is_parsed_from_the_broker_url(
    url: str, address: str, username: str | None, password: str | None
) -> None:
    broker = parse_broker_url(url, "5", "us", "a/b", OPTIONS)
    assert str(broker.address) == address
    assert (broker.login.username, broker.login.password) == (username, password)
    assert broker.topics == ("a/b/+/+/+", "a/b/+/+/event/+")


@on_sqlite
def test_the_mqtt_client_id_of_a_database_never_changes(world: World) -> None:
    before = default_client_id(world.database)
    world.restart()
    assert default_client_id(world.database) == before
    assert before.startswith("longwire") and before.isalnum() and len(before) <= 23

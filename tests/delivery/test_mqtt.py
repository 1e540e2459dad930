"""Messages to real MQTT brokers, and what becomes of them when something is wrong there.

NATS speaks MQTT 3.1.1 and comes with the project's development tools. MQTT 5 needs Mosquitto, which
has to be installed on the machine; without it those tests are skipped.
"""

import asyncio
import queue
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from longwire.delivery.destinations import connections
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.mqtt import Mqtt, MqttParams, sanitize_topic_level
from longwire.delivery.http.egress import Egress
from tests.certificates import write_certificate
from tests.delivery import brokers
from tests.delivery.brokers import (
    Impostor,
    Mosquitto,
    Relay,
    give_up,
    make_batch,
    run_story,
    running,
    trusted,
)
from tests.ports import free_port
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("patient_connections")

LOCAL = Egress(["127.0.0.0/8", "::1/128"])
LOST = Unreachable("the connection was lost before the message was confirmed")

needs_mosquitto = pytest.mark.skipif(
    brokers.MOSQUITTO is None, reason="mosquitto is not installed here; it is the broker for MQTT 5"
)


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Nats]:
    with running(brokers.Nats(tmp_path_factory.mktemp("nats"))) as server:
        yield server


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with running(Mosquitto(tmp_path_factory.mktemp("mosquitto"))) as broker:
        yield broker


@pytest.fixture(
    params=[
        "nats 3.1.1",
        pytest.param("mosquitto 3.1.1", marks=needs_mosquitto),
        pytest.param("mosquitto 5", marks=needs_mosquitto),
    ]
)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A broker's port and a version that it speaks."""
    name, version = request.param.split()
    broker = request.getfixturevalue(name)
    return {"port": broker.mqtt_port if name == "nats" else broker.port, "version": version}


def destination(port: int, egress: Egress = LOCAL, **params: Any) -> Mqtt:
    params = {"url": f"mqtt://127.0.0.1:{port}", "topic": "t/{deviceId}"} | params
    return Mqtt(MqttParams(**params), egress)


def sent(port: int, *messages: dict[str, Any], **params: Any) -> list[Outcome]:
    """What becomes of messages that are sent all at once; of one, if none is given."""

    async def story() -> list[Outcome]:
        there = destination(port, **params)
        try:
            batches = [make_batch(**message) for message in messages or ({},)]
            return await asyncio.gather(*map(there.send, batches))
        finally:
            await there.close()

    outcomes: list[Outcome] = run_story(story())
    return outcomes


@contextmanager
def subscribed(
    port: int, topic: str, version: str = "3.1.1"
) -> Iterator[Callable[[], paho.MQTTMessage]]:
    """Somebody else's client that listens; each call gives the next message it gets."""
    inbox: queue.Queue[paho.MQTTMessage] = queue.Queue()
    ready: queue.Queue[None] = queue.Queue()
    is_5 = version == "5"
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
    )
    client.on_connect = lambda *_: client.subscribe(topic, qos=1)
    client.on_subscribe = lambda *_: ready.put(None)
    client.on_message = lambda _, __, message: inbox.put(message)
    client.connect("127.0.0.1", port)
    client.loop_start()
    try:
        ready.get(timeout=PATIENCE_S)
        yield lambda: inbox.get(timeout=PATIENCE_S)
    finally:
        client.disconnect()
        client.loop_stop()


# --- what arrives ---


def test_a_message_arrives_under_its_topic(way: dict[str, Any]) -> None:
    with subscribed(way["port"], "arrives/#") as next_message:
        outcomes = sent(**way, topic="arrives/{groupId}/{deviceId}/{kind}")
        message = next_message()

    assert outcomes == [Delivered()]
    assert message.topic == "arrives/group_1/device_1/data"
    assert message.payload == b'{"data":"21.5"}'
    assert message.qos == 1


@needs_mosquitto
def test_in_mqtt_5_the_id_and_the_content_type_come_along(mosquitto: Mosquitto) -> None:
    with subscribed(mosquitto.port, "properties", version="5") as next_message:
        sent(mosquitto.port, topic="properties")
        message = next_message()

    assert message.properties.UserProperty == [("id", "msg_1")]
    assert message.properties.ContentType == "application/json"


def test_many_messages_at_once_share_one_connection(way: dict[str, Any]) -> None:
    async def story() -> tuple[list[Outcome], int]:
        async with Relay(way["port"]) as relay:
            there = destination(relay.port, topic="many/{id}", version=way["version"])
            outcomes = await asyncio.gather(
                *(there.send(make_batch(id=f"msg_{number}")) for number in range(200))
            )
            await there.close()
            return outcomes, relay.connections

    with subscribed(way["port"], "many/#") as next_message:
        outcomes, connections_made = run_story(story())
        topics = {next_message().topic for _ in range(200)}

    assert outcomes == [Delivered()] * 200
    assert connections_made == 1
    assert topics == {f"many/msg_{number}" for number in range(200)}


def test_large_messages_arrive_whole(way: dict[str, Any]) -> None:
    body = bytes(range(256)) * 3_000
    with subscribed(way["port"], "large") as next_message:
        messages = [{"id": str(number), "body": body} for number in range(3)]
        outcomes = sent(way["port"], *messages, version=way["version"], topic="large")
        bodies = [next_message().payload for _ in range(3)]

    assert outcomes == [Delivered()] * 3
    assert bodies == [body] * 3


def test_a_retained_message_waits_for_who_comes_later(way: dict[str, Any]) -> None:
    sent(**way, topic="kept", retain=True)
    sent(**way, topic="not-kept")

    with subscribed(way["port"], "+") as next_message:
        message = next_message()

    assert (message.topic, message.retain) == ("kept", True)


def test_the_name_of_a_device_cannot_leave_its_place_in_the_topic(way: dict[str, Any]) -> None:
    with subscribed(way["port"], "inside/+/end") as next_message:
        device = {"device_id": "$a/b+#\x00\n\u200b\ud800\uffff"}
        outcomes = sent(way["port"], device, topic="inside/{deviceId}/end", version=way["version"])
        message = next_message()

    assert outcomes == [Delivered()]
    assert message.topic == "inside/_a_b_______/end"


# --- what does not ---


@needs_mosquitto
@pytest.mark.parametrize(
    ("limit", "outcomes"),
    [
        (
            "max_packet_size 2000",
            [
                Delivered(),
                Refused("the message is larger than the broker accepts", is_final=True),
                Delivered(),
            ],
        ),
        (
            "retain_available false",
            [Refused("the broker does not support retained messages")] * 3,
        ),
        ("max_qos 0", [Refused("the broker does not acknowledge messages")] * 3),
        ("max_inflight_messages 1", [Delivered()] * 3),
    ],
)
def test_the_limits_of_a_broker_are_kept_without_a_quarrel(
    tmp_path: Path, limit: str, outcomes: list[Outcome]
) -> None:
    messages = ({"id": "1"}, {"id": "2", "body": b"x" * 1_990}, {"id": "3"})
    with running(Mosquitto(tmp_path, f"allow_anonymous true\n{limit}")) as broker:
        assert sent(broker.port, *messages, retain=True) == outcomes


def test_a_broker_that_wants_one_message_at_a_time_gets_one_at_a_time() -> None:
    async def story() -> bytes:
        receive_maximum = b"\x21\x00\x01"
        async with Impostor(b"", b"\x20\x06\x00\x00\x03" + receive_maximum) as impostor:
            there = destination(impostor.port)
            sending = asyncio.gather(*(there.send(make_batch(id=each)) for each in "abc"))
            while b"21.5" not in impostor.received:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)  # so that a second one could follow
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            await there.close()
            await impostor.all_gone()
            return impostor.received

    assert run_story(story()).count(b"21.5") == 1


def test_a_broker_without_mqtt_5_says_so(nats: brokers.Nats) -> None:
    outcomes = sent(nats.mqtt_port, version="5")
    assert outcomes == [Refused("the broker does not support this MQTT version")]


def test_an_endless_topic_is_refused_for_good(way: dict[str, Any]) -> None:
    messages = ({"device_id": "x" * 70_000}, {"id": "2"})
    outcomes = sent(way["port"], *messages, version=way["version"])
    assert outcomes == [
        Refused("the topic is too long", is_final=True, code=FailureCode.INVALID_MESSAGE),
        Delivered(),
    ]


# --- logins ---

WRONG = Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED)
LOGINS = [
    ({"username": "right", "password": "secret"}, Delivered()),
    ({"username": "right", "password": "wrong"}, WRONG),
    ({}, WRONG),
]


@pytest.mark.parametrize(("login", "outcome"), LOGINS)
def test_the_login_decides_in_3_1_1(
    tmp_path: Path, login: dict[str, str], outcome: Outcome
) -> None:
    users = 'authorization { timeout: 300, user: "right", password: "secret" }'
    with running(brokers.Nats(tmp_path, users)) as server:
        assert sent(server.mqtt_port, version="3.1.1", **login) == [outcome]


@needs_mosquitto
@pytest.mark.parametrize(("login", "outcome"), LOGINS)
def test_the_login_decides_in_5(tmp_path: Path, login: dict[str, str], outcome: Outcome) -> None:
    passwords = tmp_path / "passwords"
    add = ["mosquitto_passwd", "-b", "-c", str(passwords), "right", "secret"]
    subprocess.run(add, check=True, capture_output=True)
    passwords.chmod(0o644)
    config = f"allow_anonymous false\npassword_file {passwords}"
    with running(Mosquitto(tmp_path, config)) as broker:
        assert sent(broker.port, **login) == [outcome]


@needs_mosquitto
def test_a_forbidden_topic_leaves_the_others_alone(tmp_path: Path) -> None:
    rights = tmp_path / "rights"
    rights.write_text("topic write t/open\n")
    with running(Mosquitto(tmp_path, f"allow_anonymous true\nacl_file {rights}")) as broker:
        outcomes = sent(
            broker.port, *({"id": each, "device_id": each} for each in ("open", "closed", "open"))
        )

    assert outcomes == [
        Delivered(),
        Refused("not authorized to publish to this topic"),
        Delivered(),
    ]


# --- encryption ---


def encrypted_server(folder: Path, certificate: Path, key: Path) -> brokers.Nats:
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key}", timeout: 300 }}'
    return brokers.Nats(folder, mqtt_extra=tls)


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path: Path) -> None:
    with running(encrypted_server(tmp_path, *write_certificate(tmp_path))) as server:
        outcomes = sent(0, url=f"mqtts://localhost:{server.mqtt_port}", version="3.1.1")
    assert outcomes == [Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED)]


@pytest.mark.parametrize(
    ("named", "outcome"),
    [
        ("localhost", Delivered()),
        (
            "elsewhere.example",
            Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED),
        ),
    ],
)
def test_a_certificate_must_be_trusted_and_be_the_host_s(
    tmp_path: Path, named: str, outcome: Outcome
) -> None:
    certificate, key = write_certificate(tmp_path, named)
    messages = [{"id": str(number), "body": b"x" * 10_000} for number in range(100)]
    with trusted(certificate), running(encrypted_server(tmp_path, certificate, key)) as server:
        url = f"mqtts://localhost:{server.mqtt_port}"
        assert sent(0, *messages, url=url, version="3.1.1") == [outcome] * 100


def test_a_confirmation_that_was_decrypted_together_with_something_else_is_seen(
    tmp_path: Path,
) -> None:
    certificate, key = write_certificate(tmp_path)
    encryption = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    encryption.load_cert_chain(certificate, key)
    welcome, still_here, taken = b"\x20\x02\x00\x00", b"\xd0\x00", b"\x40\x02\x00\x01"

    async def story() -> Outcome:
        async with Impostor(b"", welcome, still_here + taken, encryption=encryption) as impostor:
            there = destination(0, url=f"mqtts://localhost:{impostor.port}", version="3.1.1")
            outcome = await there.send(make_batch())
            await there.close()
            return outcome

    with trusted(certificate):
        assert run_story(story()) == Delivered()


def test_a_broker_without_encryption_gets_no_password() -> None:
    async def story() -> tuple[Outcome, bytes]:
        async with Impostor(b"", b"\x20\x06\x00\x00\x03\x22\x00\x0a") as impostor:
            url = f"mqtts://localhost:{impostor.port}"
            there = destination(0, url=url, username="u", password="secret")
            outcome = await there.send(make_batch())
            await there.close()
            return outcome, impostor.received

    outcome, received = run_story(story())

    assert outcome == Unreachable("TLS handshake failed", code=FailureCode.TLS_FAILED)
    assert b"secret" not in received and b"MQTT" not in received


# --- trouble on the way ---


def test_after_a_restart_of_the_broker_the_next_message_arrives(tmp_path: Path) -> None:
    async def story(server: brokers.Nats) -> list[Outcome]:
        there = destination(server.mqtt_port, version="3.1.1")
        outcomes = [await there.send(make_batch(id="msg_1"))]
        server.stop()
        outcomes.append(await there.send(make_batch(id="msg_2")))
        server.start()
        outcomes.append(await there.send(make_batch(id="msg_2")))
        await there.close()
        return outcomes

    with running(brokers.Nats(tmp_path)) as server:
        before, between, after = run_story(story(server))

    assert (before, after) == (Delivered(), Delivered())
    assert isinstance(between, Unreachable) and not between.is_final


def test_a_broker_that_is_not_there_refuses_the_connection() -> None:
    assert sent(free_port()) == [Unreachable("connection refused")]


def test_a_connection_lost_under_way_leaves_the_outcome_open(way: dict[str, Any]) -> None:
    async def story() -> list[Outcome]:
        async with Relay(way["port"]) as relay:
            there = destination(relay.port, version=way["version"])
            outcomes = [await there.send(make_batch(id="msg_1"))]
            relay.fall_silent()
            sending = [asyncio.create_task(there.send(make_batch(id=str(n)))) for n in range(50)]
            await asyncio.sleep(0)
            relay.cut()
            outcomes += await asyncio.gather(*sending)
            relay.speak()
            outcomes.append(await there.send(make_batch(id="msg_2")))
            await there.close()
            return outcomes

    assert run_story(story()) == [Delivered(), *[LOST] * 50, Delivered()]


def test_a_silent_broker_has_had_its_time_and_may_speak_the_next_time(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 0.2)

    async def story() -> list[Outcome]:
        async with Relay(way["port"]) as relay:
            there = destination(relay.port, version=way["version"])
            relay.fall_silent()
            outcomes = [await there.send(make_batch())]
            relay.speak()
            monkeypatch.undo()
            outcomes.append(await there.send(make_batch()))
            await there.close()
            return outcomes

    assert run_story(story()) == [Unreachable("timed out", code=FailureCode.TIMED_OUT), Delivered()]


def test_who_gives_up_while_connecting_leaves_nothing_behind(way: dict[str, Any]) -> None:
    async def story() -> tuple[Outcome, int]:
        async with Relay(way["port"]) as relay:
            there = destination(relay.port, version=way["version"])
            relay.fall_silent()
            giving_up = asyncio.create_task(there.send(make_batch()))
            while not relay.connections:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            giving_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await giving_up
            relay.speak()
            outcome = await there.send(make_batch())
            await there.close()
            await relay.all_gone()
            return outcome, relay.connections

    assert run_story(story()) == (Delivered(), 2)


def test_who_gives_up_takes_the_connection_from_nobody(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SILENCE_MAX_S", PATIENCE_S)

    async def story() -> tuple[list[Outcome], int]:
        async with Relay(way["port"]) as relay:
            there = destination(relay.port, version=way["version"])
            outcomes = [await there.send(make_batch())]
            relay.fall_silent()
            impatient, patient = (
                asyncio.create_task(there.send(make_batch(id=each))) for each in ("msg_1", "msg_2")
            )
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(impatient, 0.1)
            relay.speak()
            outcomes.append(await patient)
            await there.close()
            return outcomes, relay.connections

    assert run_story(story()) == ([Delivered(), Delivered()], 1)


@pytest.mark.parametrize(("silence_s", "connections_made"), [(0.1, 2), (60, 1)])
def test_a_connection_without_any_confirmation_for_long_is_given_up(
    nats: brokers.Nats,
    monkeypatch: pytest.MonkeyPatch,
    silence_s: float,
    connections_made: int,
) -> None:
    monkeypatch.setattr(connections, "SILENCE_MAX_S", silence_s)

    async def story() -> tuple[list[Outcome], int]:
        async with Relay(nats.mqtt_port) as relay:
            there = destination(relay.port, version="3.1.1")
            outcomes = [await there.send(make_batch(id="msg_1"))]
            relay.fall_silent()
            await give_up(there.send(make_batch(id="msg_2")), after_s=0.2)
            relay.speak()
            outcomes.append(await there.send(make_batch(id="msg_3")))
            await there.close()
            return outcomes, relay.connections

    assert run_story(story()) == ([Delivered(), Delivered()], connections_made)


def test_nothing_runs_on_after_closing(way: dict[str, Any]) -> None:
    async def story() -> tuple[Outcome, set[Any]]:
        async with Relay(way["port"]) as relay:
            there = destination(relay.port, version=way["version"])
            await there.send(make_batch(id="msg_1"))
            relay.fall_silent()
            sending = asyncio.create_task(there.send(make_batch(id="msg_2")))
            await asyncio.sleep(0)
            await there.close()
            outcome = await sending
        return outcome, asyncio.all_tasks() - {asyncio.current_task()}

    assert run_story(story()) == (LOST, set())


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\x00",  # a kind of packet that does not exist
        b"\x20\x03\x00\xee\x00",  # welcomes with a code that does not exist
        b"\x20\x05\x00\x00\x02\x27\x00",  # a property that ends too early
        b"\x20\xff\xff\xff\xff\x7f",  # a length without end
        b"\x20\x03\x00\x00\x00" + b"\x30\xff\xff\xff\x7f" + b"x" * 100_000,  # 256 MB to come
        b"\x20\x03\x00\x00\x00" + b"\x40\x03\x00\x01\x55",  # confirms with such a code
        b"\x20\x03\x00\x00\x00" + b"\xe0\x00",  # welcomes and hangs up
    ],
)
def test_a_broker_that_sends_garbage_is_left(garbage: bytes) -> None:
    async def story() -> tuple[list[Outcome], int]:
        async with Impostor(b"", garbage) as impostor:
            there = destination(impostor.port)
            outcomes = [await there.send(make_batch()) for _ in range(2)]
            await there.close()
            return outcomes, impostor.connections

    outcomes, connections_made = run_story(story())

    assert set(outcomes) <= {LOST, Unreachable("the connection was lost")}
    assert connections_made == 2


# --- where it must not go ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_that_is_not_allowed_is_never_reached(host: str) -> None:
    async def story() -> tuple[Outcome, int]:
        async with Impostor() as impostor:
            there = destination(0, Egress(), url=f"mqtt://{host}:{impostor.port}")
            outcome = await there.send(make_batch())
            await there.close()
            return outcome, impostor.connections

    outcome, connections_made = run_story(story())

    # A name may lead elsewhere later, and an internal one looks like an unknown one.
    assert isinstance(outcome, Unreachable) and outcome.is_final == (host != "localhost")
    assert ("may not be reached" in outcome.reason) == outcome.is_final
    assert connections_made == 0


def test_a_broker_cannot_send_us_to_another_one() -> None:
    async def story() -> tuple[Outcome, int]:
        async with Impostor() as elsewhere:
            there_instead = f"127.0.0.1:{elsewhere.port}".encode()
            reference = b"\x1c\x00" + bytes([len(there_instead)]) + there_instead
            moved = b"\x00\x9d" + bytes([len(reference)]) + reference
            async with Impostor(b"", b"\x20" + bytes([len(moved)]) + moved) as impostor:
                there = destination(impostor.port)
                outcome = await there.send(make_batch())
                await there.close()
                return outcome, elsewhere.connections

    refused = Refused("the broker redirects to another one, which is not followed")
    assert run_story(story()) == (refused, 0)


# --- rules ---


@pytest.mark.parametrize(
    ("value", "fit"),
    [
        ("device-1", "device-1"),
        ("Gerät 1.2", "Gerät 1.2"),
        ("a/b", "a_b"),
        ("+", "_"),
        ("#", "_"),
        ("$SYS", "_SYS"),
        ("a\x00\x7f\r\n", "a____"),
        ("\ud800", "_"),
        ("", "_"),
    ],
)
def test_a_value_is_made_fit_for_a_topic(value: str, fit: str) -> None:
    assert sanitize_topic_level(value) == fit


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, []),
        ({"url": "mqtts://broker.example:443", "topic": "$aws/{deviceType}/{id}"}, []),
        ({"username": "u"}, []),
        ({"username": "u", "password": "p", "client_id": "c"}, []),
        ({"url": "ws://broker.example"}, ["url"]),
        ({"url": "mqtt://user:password@broker.example"}, ["url"]),
        ({"url": "mqtt://broker.example:99999"}, ["url"]),
        ({"url": "mqtt://broker.example?x=1"}, ["url"]),
        ({"url": "mqtt://2130706433"}, ["url"]),
        ({"url": "mqtt://[::ffff:10.0.0.1]"}, ["url"]),
        ({"topic": "a/+"}, ["topic"]),
        ({"topic": "a/#"}, ["topic"]),
        ({"topic": "a\x00b"}, ["topic"]),
        ({"topic": "a/{device}"}, ["topic"]),
        ({"topic": "a/}{"}, ["topic"]),
        ({"client_id": "a\nb"}, ["clientId"]),
        ({"password": "p"}, ["password"]),
    ],
)
def test_what_cannot_work_is_said_when_it_is_saved(
    changes: dict[str, str], fields: list[str]
) -> None:
    params = MqttParams(**{"url": "mqtt://broker.example", "topic": "a/{deviceId}"} | changes)
    assert [field for field, _ in params.validate(Egress())] == fields


@pytest.mark.parametrize(
    ("version", "headers"),
    [
        (
            "5",
            {"qos": "1", "retain": "true", "id": "msg_1", "contentType": "application/json"},
        ),
        ("3.1.1", {"qos": "1", "retain": "true"}),
    ],
)
def test_a_preview_shows_what_would_be_published_and_no_secret(
    version: str, headers: dict[str, str]
) -> None:
    params = {"username": "u", "password": "secret", "retain": True, "version": version}
    there = destination(0, url="mqtts://broker.example", topic="a/{deviceId}", **params)

    request = there.describe(make_batch(device_id="a/b", body=b"\xff21.5"))

    assert request.method == "PUBLISH"
    assert request.url == "mqtts://broker.example:8883/a/a_b"
    assert request.headers == headers
    assert request.body == "\ufffd21.5"

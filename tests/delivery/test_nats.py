"""Messages to a real NATS server, and what becomes of them when something is wrong with it."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from longwire.delivery.destinations import connections
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.nats import Nats, NatsParams, sanitize_subject_token
from longwire.delivery.http.egress import NOT_RESOLVED, Egress
from tests.certificates import write_certificate
from tests.delivery import brokers
from tests.delivery.brokers import Impostor, Relay, give_up, make_batch, run_story, running, trusted
from tests.ports import free_port
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("patient_connections")

LOCAL = Egress(["127.0.0.0/8", "::1/128"])
LOST = Unreachable("the connection was lost before the message was confirmed")
GREETING = {"server_id": "x", "version": "2.10.0", "headers": True, "max_payload": 1_048_576}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Nats]:
    with running(brokers.Nats(tmp_path_factory.mktemp("nats"))) as server:
        yield server


@pytest.fixture
def subject(server: brokers.Nats, request: pytest.FixtureRequest) -> str:
    """The beginning of subjects that a stream of this test alone takes."""
    name = re.sub(r"\W", "_", request.node.name)
    ask(server.port, lambda stream: stream.add_stream(name=name, subjects=[f"{name}.>"]))
    return name


def ask(port: int, question: Any, **login: str) -> Any:
    """What the server's own client says."""

    async def asked() -> Any:
        client = await nats.connect(
            f"nats://127.0.0.1:{port}", connect_timeout=int(PATIENCE_S), **login
        )
        try:
            return await question(client.jetstream(timeout=PATIENCE_S))
        finally:
            await client.close()

    return asyncio.run(asked())


def stored(server: brokers.Nats, stream: str) -> int:
    return ask(server.port, lambda streams: streams.stream_info(stream)).state.messages


def destination(port: int, subject: str, egress: Egress = LOCAL, **params: Any) -> Nats:
    params = {"url": f"nats://127.0.0.1:{port}", "subject": subject} | params
    return Nats(NatsParams(**params), egress)


def sent(port: int, subject: str, **params: Any) -> Outcome:
    async def story() -> Outcome:
        there = destination(port, subject, **params)
        try:
            return await there.send(make_batch())
        finally:
            await there.close()

    outcome: Outcome = run_story(story())
    return outcome


# --- what arrives ---


def test_a_message_arrives_under_its_subject_with_its_id(
    server: brokers.Nats, subject: str
) -> None:
    outcome = sent(server.port, f"{subject}.{{groupId}}.{{deviceId}}.{{kind}}")

    assert outcome == Delivered()
    message = ask(server.port, lambda streams: streams.get_msg(subject, 1))
    assert message.subject == f"{subject}.group_1.device_1.data"
    assert message.data == b'{"data":"21.5"}'
    assert message.headers == {"Nats-Msg-Id": "msg_1", "Content-Type": "application/json"}


def test_many_messages_at_once_share_one_connection(server: brokers.Nats, subject: str) -> None:
    async def story() -> tuple[list[Outcome], int]:
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.{{deviceId}}")
            outcomes = await asyncio.gather(
                *(there.send(make_batch(id=f"msg_{number}")) for number in range(200))
            )
            await there.close()
            return outcomes, relay.connections

    outcomes, connections_made = run_story(story())

    assert outcomes == [Delivered()] * 200
    assert connections_made == 1
    assert stored(server, subject) == 200


def test_a_message_whose_confirmation_was_lost_is_stored_once(
    server: brokers.Nats, subject: str
) -> None:
    async def story() -> list[Outcome]:
        client = await nats.connect(f"nats://127.0.0.1:{server.port}")
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.x")
            first = await there.send(make_batch(id="msg_1"))
            relay.fall_silent()
            sending = asyncio.create_task(there.send(make_batch(id="msg_2")))
            streams = client.jetstream(timeout=PATIENCE_S)
            while (await streams.stream_info(subject)).state.messages < 2:
                pass
            relay.cut()
            lost = await sending
            relay.speak()
            again = await there.send(make_batch(id="msg_2"))
            await there.close()
        await client.close()
        return [first, lost, again]

    outcomes = run_story(story())

    assert outcomes == [
        Delivered(),
        LOST,
        Delivered(),
    ]
    assert stored(server, subject) == 2


def test_the_name_of_a_device_cannot_leave_its_place_in_the_subject(
    server: brokers.Nats, subject: str
) -> None:
    async def story() -> Outcome:
        there = destination(server.port, f"{subject}.{{deviceId}}")
        outcome = await there.send(make_batch(device_id="a.b c\r\nPUB x 1\r\n>"))
        await there.close()
        return outcome

    assert run_story(story()) == Delivered()
    message = ask(server.port, lambda streams: streams.get_msg(subject, 1))
    assert message.subject == f"{subject}.a_b_c__PUB_x_1___"


# --- what does not ---


def test_without_a_stream_behind_the_subject_nothing_is_delivered(server: brokers.Nats) -> None:
    assert sent(server.port, "nobody.cares") == Refused("no stream stores this subject")


def test_a_listener_that_is_no_stream_confirms_nothing(server: brokers.Nats) -> None:
    async def story() -> Outcome:
        async def answer(message: Any) -> None:
            await message.respond(b"got it")

        client = await nats.connect(f"nats://127.0.0.1:{server.port}")
        await client.subscribe("plain.listener", cb=answer)
        await client.flush()
        there = destination(server.port, "plain.listener")
        outcome = await there.send(make_batch())
        await there.close()
        await client.close()
        return outcome

    assert run_story(story()) == Refused("no stream stores this subject")


def test_another_stream_than_the_expected_one_is_refused(
    server: brokers.Nats, subject: str
) -> None:
    outcome = sent(server.port, f"{subject}.x", stream="mine")

    assert outcome == Refused("another stream stores this subject")
    assert stored(server, subject) == 0


def test_a_message_larger_than_the_server_takes_spares_the_others(
    server: brokers.Nats, subject: str
) -> None:
    async def story() -> list[Outcome]:
        there = destination(server.port, f"{subject}.x")
        outcomes = await asyncio.gather(
            there.send(make_batch(id="msg_1")),
            there.send(make_batch(id="msg_2", body=b"x" * 1_048_560)),  # fits without its headers
            there.send(make_batch(id="msg_3")),
        )
        await there.close()
        return outcomes

    assert run_story(story()) == [
        Delivered(),
        Refused("the message is larger than the server accepts", is_final=True),
        Delivered(),
    ]


def test_a_message_larger_than_the_stream_takes_is_refused_for_good(server: brokers.Nats) -> None:
    small = {"name": "small", "subjects": ["small"], "max_msg_size": 10}
    ask(server.port, lambda streams: streams.add_stream(**small))

    outcome = sent(server.port, "small")

    assert outcome == Refused("the message is larger than the stream accepts", is_final=True)


def test_a_full_stream_says_so(server: brokers.Nats) -> None:
    full = {"name": "full", "subjects": ["full"], "max_msgs": 1, "discard": "new"}
    ask(server.port, lambda streams: streams.add_stream(**full))
    ask(server.port, lambda streams: streams.publish("full", b"the only one"))

    assert sent(server.port, "full") == Refused("the stream is full")


# --- logins ---

USERS = """
authorization { timeout: 300, users: [
    { user: "right", password: "secret" }
    { user: "reader", password: "secret", permissions: { publish: { deny: "s.Closed" } } }
    { user: "deaf", password: "secret", permissions: { subscribe: { deny: ">" } } }
] }
"""


@pytest.fixture(scope="module")
def closed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Nats]:
    with running(brokers.Nats(tmp_path_factory.mktemp("closed"), USERS)) as server:
        right = {"user": "right", "password": "secret"}
        ask(server.port, lambda s: s.add_stream(name="s", subjects=["s.>"]), **right)
        yield server


@pytest.mark.parametrize(
    ("login", "outcome"),
    [
        ({"username": "right", "password": "secret"}, Delivered()),
        (
            {"username": "right", "password": "wrong"},
            Refused("the server rejected the login", code=FailureCode.LOGIN_REJECTED),
        ),
        (
            {"token": "wrong"},
            Refused("the server rejected the login", code=FailureCode.LOGIN_REJECTED),
        ),
        ({}, Refused("the server rejected the login", code=FailureCode.LOGIN_REJECTED)),
        (
            {"username": "reader", "password": "secret"},
            Refused("not authorized to publish to this subject"),
        ),
        (
            {"username": "deaf", "password": "secret"},
            Refused("not authorized to receive acknowledgements"),
        ),
    ],
)
def test_the_login_decides(
    closed_server: brokers.Nats, login: dict[str, str], outcome: Outcome
) -> None:
    assert sent(closed_server.port, "s.Closed", **login) == outcome


def test_a_forbidden_subject_leaves_the_others_alone(closed_server: brokers.Nats) -> None:
    async def story() -> list[Outcome]:
        reader = {"username": "reader", "password": "secret"}
        there = destination(closed_server.port, "s.{deviceId}", **reader)
        outcomes = await asyncio.gather(
            *(there.send(make_batch(id=each, device_id=each)) for each in ("Open", "Closed", "o"))
        )
        await there.close()
        return outcomes

    assert run_story(story()) == [
        Delivered(),
        Refused("not authorized to publish to this subject"),
        Delivered(),
    ]


def test_a_token_is_a_login(tmp_path: Path) -> None:
    with running(
        brokers.Nats(tmp_path, 'authorization { timeout: 300, token: "secret" }')
    ) as server:
        assert sent(server.port, "x", token="secret") == Refused("no stream stores this subject")


# --- encryption ---


def tls(certificate: Path, key: Path) -> str:
    return f'tls {{ cert_file: "{certificate}", key_file: "{key}", timeout: 300 }}'


@pytest.mark.parametrize("scheme", ["nats", "tls"])
def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path: Path, scheme: str) -> None:
    with running(brokers.Nats(tmp_path, tls(*write_certificate(tmp_path)))) as server:
        outcome = sent(server.port, "x", url=f"{scheme}://localhost:{server.port}")
    assert outcome == Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED)


@pytest.mark.parametrize(
    ("named", "outcome"),
    [
        ("localhost", Refused("no stream stores this subject")),
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
    with trusted(certificate), running(brokers.Nats(tmp_path, tls(certificate, key))) as server:
        assert sent(server.port, "x", url=f"tls://localhost:{server.port}") == outcome


def test_a_password_does_not_leave_unencrypted_when_encryption_was_asked_for() -> None:
    async def story() -> tuple[Outcome, bytes]:
        greeting = b"INFO " + json.dumps(GREETING).encode() + b"\r\n"
        async with Impostor(greeting, b"PONG\r\n") as impostor:
            there = destination(
                0, "x", url=f"tls://localhost:{impostor.port}", username="u", password="secret"
            )
            outcome = await there.send(make_batch())
            await there.close()
            return outcome, impostor.received

    outcome, received = run_story(story())

    assert outcome == Unreachable("TLS handshake failed", code=FailureCode.TLS_FAILED)
    assert b"secret" not in received and b"CONNECT" not in received


# --- trouble on the way ---


def test_after_a_restart_of_the_server_the_next_message_arrives(tmp_path: Path) -> None:
    async def story(server: brokers.Nats) -> list[Outcome]:
        there = destination(server.port, "kept")
        outcomes = [await there.send(make_batch(id="msg_1"))]
        server.stop()
        outcomes.append(await there.send(make_batch(id="msg_2")))
        server.start()
        outcomes.append(await there.send(make_batch(id="msg_2")))
        await there.close()
        return outcomes

    with running(brokers.Nats(tmp_path)) as server:
        ask(server.port, lambda streams: streams.add_stream(name="kept", subjects=["kept"]))
        before, between, after = run_story(story(server))
        assert stored(server, "kept") == 2

    assert (before, after) == (Delivered(), Delivered())
    assert isinstance(between, Unreachable) and not between.is_final


def test_a_server_that_is_not_there_refuses_the_connection() -> None:
    assert sent(free_port(), "x") == Unreachable("connection refused")


def test_a_name_that_does_not_exist_is_not_reached() -> None:
    outcome = sent(0, "x", url="nats://no-such-host.invalid")
    assert outcome == Unreachable(NOT_RESOLVED)


def test_something_that_is_no_nats_server_is_not_understood() -> None:
    async def story() -> Outcome:
        async with Impostor(b"HTTP/1.1 400 Bad Request\r\n\r\n") as impostor:
            there = destination(impostor.port, "x")
            outcome = await there.send(make_batch())
            await there.close()
            return outcome

    assert run_story(story()) == Unreachable("invalid response")


@pytest.mark.parametrize(
    "garbage",
    [
        b"",  # hangs up
        b"SURPRISE\r\n",
        b"-ERR\r\n",
        b"INFO {\r\n",
        b"INFO " + b"[" * 60_000 + b"\r\n",
        b"MSG x 1 1000000000\r\n" + b"x" * 200_000,
        b"HMSG x 1 9 5\r\nNATS/1.0\r\n\r\n",
        b"x" * 200_000,  # a line without end
    ],
)
def test_a_server_that_sends_garbage_is_left(garbage: bytes) -> None:
    async def story() -> tuple[list[Outcome], int]:
        greeting = b"INFO " + json.dumps(GREETING).encode() + b"\r\n"
        async with Impostor(greeting, b"PONG\r\n", garbage, hangs_up=not garbage) as impostor:
            there = destination(impostor.port, "x")
            outcomes = [await there.send(make_batch()) for _ in range(2)]
            await there.close()
            return outcomes, impostor.connections

    outcomes, connections_made = run_story(story())

    assert set(outcomes) <= {LOST, Unreachable("the connection was lost")}
    assert connections_made == 2


def test_a_silent_server_has_had_its_time_and_may_speak_the_next_time(
    server: brokers.Nats, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 0.2)

    async def story() -> list[Outcome]:
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.x")
            relay.fall_silent()
            outcomes = [await there.send(make_batch())]
            relay.speak()
            monkeypatch.undo()
            outcomes.append(await there.send(make_batch()))
            await there.close()
            return outcomes

    assert run_story(story()) == [Unreachable("timed out", code=FailureCode.TIMED_OUT), Delivered()]


def test_who_gives_up_while_connecting_leaves_nothing_behind(
    server: brokers.Nats, subject: str
) -> None:
    async def story() -> tuple[Outcome, int]:
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.x")
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


def test_who_gives_up_takes_the_connection_from_nobody(server: brokers.Nats, subject: str) -> None:
    async def story() -> tuple[Outcome, int]:
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.x")
            relay.fall_silent()
            impatient, patient = (
                asyncio.create_task(there.send(make_batch(id=each))) for each in ("msg_1", "msg_2")
            )
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(impatient, 0.1)
            relay.speak()
            outcome = await patient
            await there.close()
            return outcome, relay.connections

    assert run_story(story()) == (Delivered(), 1)


@pytest.mark.parametrize(("silence_s", "connections_made"), [(0.1, 2), (60, 1)])
def test_a_connection_without_any_confirmation_for_long_is_given_up(
    server: brokers.Nats,
    subject: str,
    monkeypatch: pytest.MonkeyPatch,
    silence_s: float,
    connections_made: int,
) -> None:
    monkeypatch.setattr(connections, "SILENCE_MAX_S", silence_s)

    async def story() -> tuple[list[Outcome], int]:
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.x")
            outcomes = [await there.send(make_batch(id="msg_1"))]
            relay.fall_silent()
            await give_up(there.send(make_batch(id="msg_2")), after_s=0.2)
            relay.speak()
            outcomes.append(await there.send(make_batch(id="msg_3")))
            await there.close()
            return outcomes, relay.connections

    assert run_story(story()) == ([Delivered(), Delivered()], connections_made)


def test_nothing_runs_on_after_closing(server: brokers.Nats, subject: str) -> None:
    async def story() -> tuple[Outcome, set[Any]]:
        async with Relay(server.port) as relay:
            there = destination(relay.port, f"{subject}.x")
            await there.send(make_batch(id="msg_1"))
            relay.fall_silent()
            sending = asyncio.create_task(there.send(make_batch(id="msg_2")))
            await asyncio.sleep(0)
            await there.close()
            outcome = await sending
        return outcome, asyncio.all_tasks() - {asyncio.current_task()}

    outcome, left = run_story(story())

    assert outcome == LOST
    assert not left


def test_closing_while_connecting_is_no_reason_to_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longwire.delivery.destinations.nats.CONNECT_TIMEOUT_S", 5.0)
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 5.0)

    async def story() -> Outcome:
        async with Impostor() as impostor:
            there = destination(impostor.port, "x")
            sending = asyncio.create_task(there.send(make_batch()))
            await impostor.has_taken_one.wait()
            await there.close()
            await impostor.all_gone()
            return await sending

    assert run_story(story()) == LOST


# --- where it must not go ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_that_is_not_allowed_is_never_reached(host: str) -> None:
    async def story() -> tuple[Outcome, int]:
        async with Impostor() as impostor:
            there = destination(0, "x", Egress(), url=f"nats://{host}:{impostor.port}")
            outcome = await there.send(make_batch())
            await there.close()
            return outcome, impostor.connections

    outcome, connections_made = run_story(story())

    # A name may lead elsewhere later, and an internal one looks like an unknown one.
    assert isinstance(outcome, Unreachable) and outcome.is_final == (host != "localhost")
    assert ("may not be reached" in outcome.reason) == outcome.is_final
    assert connections_made == 0


def test_a_server_cannot_send_us_to_another_one() -> None:
    async def story() -> tuple[list[Outcome], int, int]:
        async with Impostor() as elsewhere:
            gossip = GREETING | {"connect_urls": [f"127.0.0.1:{elsewhere.port}"]}
            line = b"INFO " + json.dumps(gossip).encode() + b"\r\n"
            async with Impostor(line, b"PONG\r\n" + line + b"-ERR 'no'\r\n") as impostor:
                there = destination(impostor.port, "x")
                outcomes = [await there.send(make_batch()) for _ in range(3)]
                await there.close()
                return outcomes, impostor.connections, elsewhere.connections

    outcomes, here, elsewhere = run_story(story())

    assert all(isinstance(outcome, Unreachable) for outcome in outcomes)
    assert (here, elsewhere) == (3, 0)


# --- rules ---


@pytest.mark.parametrize(
    ("value", "fit"),
    [
        ("device-1", "device-1"),
        ("Gerät:1", "Gerät:1"),
        ("a.b", "a_b"),
        ("*", "_"),
        (">", "_"),
        ("$JS", "_JS"),
        ("a b\t\r\n\x00", "a_b____"),
        ("\ud800", "_"),
        ("", "_"),
    ],
)
def test_a_value_is_made_fit_for_a_subject(value: str, fit: str) -> None:
    assert sanitize_subject_token(value) == fit


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({}, []),
        ({"url": "tls://broker.example", "subject": "$KV.bucket.{deviceId}-{kind}"}, []),
        ({"url": "nats://8.8.8.8:4222"}, []),
        ({"username": "u", "password": "p"}, []),
        ({"url": "http://broker.example"}, ["url"]),
        ({"url": "nats://user:password@broker.example"}, ["url"]),
        ({"url": "nats://broker.example/path"}, ["url"]),
        ({"url": "nats://broker.example:0"}, ["url"]),
        ({"url": "nats://127.1"}, ["url"]),
        ({"url": "nats://[::1]:4222"}, ["url"]),
        ({"url": "nats://a.example,nats://b.example"}, ["url"]),
        ({"subject": "a.*"}, ["subject"]),
        ({"subject": "a.>"}, ["subject"]),
        ({"subject": "a b"}, ["subject"]),
        ({"subject": "a..b"}, ["subject"]),
        ({"subject": "a\r\nPUB b 0"}, ["subject"]),
        ({"subject": "{password}"}, ["subject"]),
        ({"subject": "{deviceId"}, ["subject"]),
        ({"username": "u"}, ["username"]),
        ({"password": "p"}, ["password"]),
        ({"username": "u", "password": "p", "token": "t"}, ["token"]),
    ],
)
def test_what_cannot_work_is_said_when_it_is_saved(
    changes: dict[str, str], fields: list[str]
) -> None:
    params = NatsParams(**{"url": "nats://broker.example", "subject": "a.{deviceId}"} | changes)
    assert [field for field, _ in params.validate(Egress())] == fields


def test_a_preview_shows_what_would_be_published_and_no_secret() -> None:
    there = destination(0, "a.{deviceId}", url="nats://broker.example", token="secret", stream="S")

    request = there.describe(make_batch(device_id="a.b"))

    assert request.method == "PUBLISH"
    assert request.url == "nats://broker.example:4222/a.a_b"
    assert request.headers == {
        "Nats-Msg-Id": "msg_1",
        "Content-Type": "application/json",
        "Nats-Expected-Stream": "S",
    }
    assert request.body == '{"data":"21.5"}'

"""Kafka: what a cluster gets, when it counts as delivered, and what is said when it is not.

The stand-in shows faults that a real broker cannot be made to show; see test_kafka_broker.py.
"""

import asyncio
import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import errors

from longwire.delivery.destinations import kafka, kafka_producer
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.broker import FLOODING
from longwire.delivery.destinations.connections import default_tls_context
from longwire.delivery.destinations.kafka import Kafka, KafkaParams, sanitize_topic
from longwire.delivery.destinations.kafka_producer import BATCH_BYTES_MAX
from longwire.delivery.http.egress import Egress
from tests.certificates import write_certificate
from tests.delivery.brokers import Relay, a_message, make_batch
from tests.delivery.kafka_standin import KafkaStandin
from tests.delivery.stories import story
from tests.ports import free_port
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.usefixtures("patient_connections")

HERE = ("127.0.0.1/32", "::1/128")
LOST = Unreachable("the connection was lost")
DENIED = "127.0.0.2 is not a public address and may not be reached"


@pytest.fixture(autouse=True)
def patience_s(monkeypatch: pytest.MonkeyPatch) -> float:
    """Less of it than in service, where a new leader may take a moment."""
    monkeypatch.setattr(kafka_producer, "RETRY_TIMEOUT_S", 0.3)
    return 0.3


def a_destination(port: int, allowed: Sequence[str] = HERE, **params: Any) -> Kafka:
    fields = {"brokers": f"127.0.0.1:{port}", "topic": "readings"} | params
    return Kafka(msgspec.convert(fields, KafkaParams), Egress(allowed))


async def sent_once(destination: Kafka, **changes: Any) -> Outcome:
    try:
        return await destination.send(make_batch(**changes))
    finally:
        await destination.close()


# --- what arrives ---


def test_a_message_arrives_once_with_its_device_as_the_key_and_its_id() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            assert await sent_once(a_destination(broker.port)) == Delivered()
        (record,) = broker.stored
        assert (record.topic, record.key, record.value) == (
            "readings",
            b"device_1",
            b'{"data":"21.5"}',
        )
        assert record.headers == {"id": b"msg_1", "content-type": b"application/json"}

    story(run)


def test_an_empty_body_arrives_as_an_empty_body() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            assert await sent_once(a_destination(broker.port), body=b"") == Delivered()
        assert [record.value for record in broker.stored] == [b""]

    story(run)


def test_a_hundred_messages_at_once_share_a_producer_and_all_arrive_once() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            batches = [make_batch(id=f"msg_{n}", device_id=f"device_{n % 7}") for n in range(100)]
            outcomes = await asyncio.gather(*map(destination.send, batches))
            await destination.close()
        assert outcomes == [Delivered()] * 100
        assert sorted(record.headers["id"] for record in broker.stored) == sorted(
            f"msg_{n}".encode() for n in range(100)
        )
        assert broker.producers == 1
        # What one device says stays in one partition, where it has an order.
        assert len({(record.key, record.partition) for record in broker.stored}) == 7

    story(run)


def test_the_topic_is_made_of_what_the_message_says() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.topics = {"data.thermo_meter_2"}
            destination = a_destination(broker.port, topic="{kind}.{deviceType}")
            assert await sent_once(destination, device_type="thermo/meter 2") == Delivered()

    story(run)


def test_a_login_in_clear_and_one_by_proof_are_both_made() -> None:
    async def run() -> None:
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            async with KafkaStandin() as broker:
                broker.login = (mechanism, "alice", "s3cret")
                destination = a_destination(
                    broker.port, mechanism=mechanism, username="alice", password="s3cret"
                )
                assert await sent_once(destination) == Delivered(), mechanism

    story(run)


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, outcome: Outcome
) -> None:
    certificate, key = write_certificate(tmp_path, named)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    default_tls_context.cache_clear()

    async def run() -> None:
        async with KafkaStandin(tls=server_side(certificate, key)) as broker:
            broker.advertised = ("localhost", broker.port)
            destination = a_destination(0, brokers=f"localhost:{broker.port}", tls=True)
            assert await sent_once(destination) == outcome

    try:
        story(run)
    finally:
        default_tls_context.cache_clear()


def server_side(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


# --- what does not arrive, and why ---


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(tmp_path: Path) -> None:
    async def run() -> None:
        async with KafkaStandin(tls=server_side(*write_certificate(tmp_path))) as broker:
            outcome = await sent_once(a_destination(broker.port, tls=True))
        assert outcome == Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED)

    story(run)


@pytest.mark.parametrize(
    ("refusal", "outcome"),
    [
        (
            errors.TopicAuthorizationFailedError,
            Refused("not authorized to write to the topic"),
        ),
        (errors.PolicyViolationError, Refused("the broker rejected the message")),
        (errors.InvalidRequiredAcksError, Refused("the broker rejected the message")),
        # Small as it is, it may have shared a batch with others.
        (
            errors.MessageSizeTooLargeError,
            Refused("the message is larger than the broker accepts"),
        ),
    ],
)
def test_what_the_broker_refuses_is_said_in_our_words(
    refusal: type[Exception], outcome: Outcome
) -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.refuses = refusal
            assert await sent_once(a_destination(broker.port)) == outcome

    story(run)


def test_a_large_message_that_the_broker_does_not_take_is_not_tried_again() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.refuses = errors.MessageSizeTooLargeError
            destination = a_destination(broker.port)
            outcome = await sent_once(destination, body=b"x" * (BATCH_BYTES_MAX + 1))
        assert outcome == Refused("the message is larger than the broker accepts", is_final=True)

    story(run)


def test_a_message_beyond_what_any_broker_takes_does_not_even_leave() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            outcome = await sent_once(a_destination(broker.port), body=b"x" * 2_000_000)
        assert outcome == Refused("the message is larger than the broker accepts", is_final=True)
        assert broker.stored == []

    story(run)


def test_what_passes_by_itself_is_waited_out_for_a_while_and_then_said(patience_s: float) -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.refuses = errors.NotEnoughReplicasError
            destination = a_destination(broker.port)
            began = time.monotonic()
            outcome = await destination.send(make_batch())
            assert outcome == Refused("too few in-sync replicas")
            assert patience_s <= time.monotonic() - began

            broker.refuses = None
            assert await sent_once(destination, id="msg_2") == Delivered()
        assert [record.headers["id"] for record in broker.stored] == [b"msg_2"]

    story(run)


def test_a_refused_message_does_not_spoil_the_count_for_the_next() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            broker.refuses = errors.PolicyViolationError
            await destination.send(make_batch())
            broker.refuses = None
            assert await sent_once(destination, id="msg_2") == Delivered()

    story(run)


def test_a_broker_that_has_lost_count_gets_a_new_producer_at_once() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            await destination.send(make_batch())
            broker._counts.clear()
            assert await sent_once(destination, id="msg_2") == Delivered()
        assert [record.headers["id"] for record in broker.stored] == [b"msg_1", b"msg_2"]
        assert broker.producers == 2

    story(run)


def test_a_topic_that_does_not_exist_is_named_as_the_reason() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.topics = set()
            destination = a_destination(broker.port)
            assert await sent_once(destination) == Refused("unknown topic")

    story(run)


def test_a_topic_that_is_hidden_from_the_login_is_named_as_the_reason() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.refuses_topics = errors.TopicAuthorizationFailedError
            outcome = await sent_once(a_destination(broker.port))
        assert outcome == Refused("not authorized to write to the topic")

    story(run)


@pytest.mark.parametrize(
    ("login", "outcome"),
    [
        (
            ("PLAIN", "alice", "other"),
            Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED),
        ),
        (
            ("SCRAM-SHA-256", "alice", "other"),
            Refused("the broker does not support this SASL mechanism"),
        ),
    ],
)
def test_a_login_that_is_not_accepted_is_said_without_the_brokers_words(
    login: tuple[str, str, str], outcome: Outcome
) -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.login = login
            destination = a_destination(broker.port, username="alice", password="s3cret")
            assert await sent_once(destination) == outcome

    story(run)


def test_a_broker_that_wants_to_keep_us_busy_with_a_login_is_left() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.login = ("SCRAM-SHA-256", "alice", "s3cret")
            broker.iterations = 2_000_000_000
            destination = a_destination(
                broker.port, mechanism="SCRAM-SHA-256", username="alice", password="s3cret"
            )
            outcome = await asyncio.wait_for(sent_once(destination), 60)
        assert outcome == Unreachable("invalid response")

    story(run)


def test_what_answers_and_is_no_kafka_is_not_believed() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            assert await sent_once(a_destination(port)) == FLOODING

    story(run)


def test_a_cluster_of_many_nodes_gets_a_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_producer, "NODE_CONNECTIONS_MAX", 2)

    async def tell() -> None:
        async with KafkaStandin() as broker:
            broker.nodes = 50
            destination = a_destination(broker.port)
            for number in range(20):
                batch = make_batch(id=f"msg_{number}", device_id=f"device_{number}")
                assert await destination.send(batch) == Delivered()
                producer = await destination._shared._current.opening  # type: ignore[union-attr]
                assert len(producer.client._conns) <= 2
            await destination.close()
        assert broker.connections > 3

    story(tell)


# --- the guard ---


def test_a_broker_may_not_lead_to_an_address_that_we_may_not_reach() -> None:
    async def run() -> None:
        async with KafkaStandin() as inside, KafkaStandin() as broker:
            broker.advertised = ("127.0.0.2", inside.port)
            outcome = await sent_once(a_destination(broker.port))
        assert outcome == Unreachable(DENIED, is_final=True, code=FailureCode.EGRESS_DENIED)
        assert inside.connections == 0

    story(run)


def test_a_broker_may_lead_to_an_address_that_is_allowed() -> None:
    async def run() -> None:
        async with KafkaStandin() as other, KafkaStandin() as broker:
            broker.advertised = ("127.0.0.1", other.port)
            assert await sent_once(a_destination(broker.port)) == Delivered()
        assert len(other.stored) == 1

    story(run)


def test_a_broker_that_moves_later_is_still_followed_only_where_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_producer, "RETRY_TIMEOUT_S", PATIENCE_S)

    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            assert await destination.send(make_batch()) == Delivered()
            broker.advertised = ("127.0.0.2", broker.port)
            broker.forgotten_answers = 2  # the first makes the producer look where it is now
            outcome = await sent_once(destination, id="msg_2")
        assert outcome == Unreachable(DENIED, is_final=True, code=FailureCode.EGRESS_DENIED)

    story(run)


def test_an_address_that_may_not_be_reached_is_not_even_tried() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            outcome = await sent_once(a_destination(broker.port, allowed=["10.0.0.0/8"]))
        assert outcome == Unreachable(
            "127.0.0.1 is not a public address and may not be reached",
            is_final=True,
            code=FailureCode.EGRESS_DENIED,
        )
        assert broker.connections == 0

    story(run)


def test_one_broker_that_may_be_reached_is_enough() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            brokers = ["127.0.0.2:9", f"127.0.0.1:{free_port()}", f"127.0.0.1:{broker.port}"]
            assert await sent_once(a_destination(broker.port, brokers=brokers)) == Delivered()

    story(run)


# --- trouble on the way ---


def test_a_broker_that_is_away_is_said_to_be_and_gets_the_message_when_it_is_back() -> None:
    async def run() -> None:
        port = free_port()
        destination = a_destination(port)
        assert await destination.send(make_batch()) == Unreachable("connection refused")
        async with KafkaStandin(port) as broker:
            assert await destination.send(make_batch()) == Delivered()
        assert isinstance(await destination.send(make_batch(id="msg_2")), Unreachable)
        async with KafkaStandin(port) as again:
            assert await sent_once(destination, id="msg_2") == Delivered()
        assert [len(broker.stored), len(again.stored)] == [1, 1]

    story(run)


def test_a_message_whose_confirmation_got_lost_is_stored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_producer, "RETRY_TIMEOUT_S", PATIENCE_S)

    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.forgotten_answers = 1
            assert await sent_once(a_destination(broker.port)) == Delivered()
        assert len(broker.stored) == 1

    story(run)


def test_a_broker_that_leads_to_where_nobody_is_is_said_to_be_away() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.advertised = ("127.0.0.1", free_port())
            outcome = await sent_once(a_destination(broker.port))
        assert outcome == Unreachable("connection refused")

    story(run)


def test_no_answer_for_too_long_is_said_and_does_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            await destination.send(make_batch())
            broker.is_silent = True
            monkeypatch.setattr(kafka, "SEND_TIMEOUT_S", 2.0)
            batches = [make_batch(id=f"msg_{number}") for number in range(8)]
            outcomes = await asyncio.gather(*map(destination.send, batches))
            assert outcomes == [Unreachable("timed out", code=FailureCode.TIMED_OUT)] * 8
            broker.is_silent = False
            monkeypatch.setattr(kafka, "SEND_TIMEOUT_S", PATIENCE_S)
            assert await sent_once(destination, id="last") == Delivered()

    story(run)


def test_a_broker_that_falls_silent_costs_nothing_after_it_speaks_again() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            await destination.send(make_batch())
            broker.is_silent = True
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(destination.send(make_batch(id="msg_2")), 0.2)
            broker.is_silent = False
            assert await destination.send(make_batch(id="msg_2")) == Delivered()
            assert await sent_once(destination, id="msg_3") == Delivered()
        # The second may be there twice: both times under the same id.
        assert {record.headers["id"] for record in broker.stored} == {b"msg_1", b"msg_2", b"msg_3"}

    story(run)


def test_giving_up_on_a_broker_that_never_answered_leaves_nothing_behind() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.is_silent = True
            destination = a_destination(broker.port)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(destination.send(make_batch()), 0.2)
            broker.is_silent = False
            assert await sent_once(destination) == Delivered()

    story(run)


def test_one_who_gives_up_takes_the_producer_from_nobody_else() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker, Relay(broker.port) as relay:
            broker.advertised = ("127.0.0.1", relay.port)
            destination = a_destination(relay.port)
            relay.fall_silent()
            patient = asyncio.create_task(destination.send(make_batch(id="patient")))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(destination.send(make_batch(id="hasty")), 0.1)
            relay.speak()
            assert await patient == Delivered()
            await destination.close()

    story(run)


def test_closing_in_the_middle_of_a_send_ends_it() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            destination = a_destination(broker.port)
            await destination.send(make_batch())
            broker.is_silent = True
            under_way = asyncio.create_task(destination.send(make_batch(id="msg_2")))
            await asyncio.sleep(0.3)
            waiting_behind = asyncio.create_task(destination.send(make_batch(id="msg_3")))
            await asyncio.sleep(0.3)
            await destination.close()
            assert await asyncio.gather(under_way, waiting_behind) == [LOST, LOST]

    story(run)


def test_closing_while_the_connection_is_being_made_ends_it() -> None:
    async def run() -> None:
        async with KafkaStandin() as broker:
            broker.is_silent = True
            destination = a_destination(broker.port)
            sending = asyncio.create_task(destination.send(make_batch()))
            await asyncio.sleep(0.3)
            await destination.close()
            assert await sending == LOST

    story(run)


# --- what the owner sees ---


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({}, []),
        ({"brokers": "kafka.example.com"}, []),
        ({"brokers": ["a.example.com:9092", "[2606:4700::1]:9093"]}, []),
        ({"brokers": "a.example.com:9092, b.example.com:9092"}, []),
        ({"topic": "{groupId}.{kind}-x_1"}, []),
        ({"username": "alice", "password": "s3cret", "mechanism": "SCRAM-SHA-512"}, []),
        ({"brokers": "a.example.com:9092,"}, ["brokers"]),
        ({"brokers": "a.example.com:0"}, ["brokers"]),
        ({"brokers": "user:secret@a.example.com:9092"}, ["brokers"]),
        ({"brokers": "a.example.com:9092/x"}, ["brokers"]),
        ({"brokers": "a.example.com\r\n:9092"}, ["brokers"]),
        ({"brokers": ",".join(["a.example.com"] * 21)}, ["brokers"]),
        ({"brokers": "a.example.com:9092,10.0.0.1:9092"}, ["brokers"]),
        ({"brokers": "2130706433:9092"}, ["brokers"]),
        ({"brokers": ["[::1]:9092"]}, ["brokers"]),
        ({"topic": "{deviceName}"}, ["topic"]),
        ({"topic": "a{kind"}, ["topic"]),
        ({"topic": "a/b"}, ["topic"]),
        ({"topic": "a\0b"}, ["topic"]),
        ({"topic": ".."}, ["topic"]),
        ({"username": "alice"}, ["username"]),
        ({"password": "s3cret"}, ["password"]),
        ({"username": "alice", "password": "a\0b"}, ["username"]),
    ],
)
def test_what_is_wrong_with_parameters(params: dict[str, Any], wrong: list[str]) -> None:
    fields = {"brokers": "a.example.com:9092", "topic": "readings"} | params
    problems = msgspec.convert(fields, KafkaParams).validate(Egress())
    assert [name for name, _ in problems] == wrong
    assert "secret" not in str(problems)


@pytest.mark.parametrize(
    "params",
    [
        {"brokers": []},
        {"brokers": ""},
        {"topic": ""},
        {"mechanism": "GSSAPI"},
        {"acks": "0"},
    ],
)
def test_what_is_no_parameter_at_all(params: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(
            {"brokers": "a.example.com:9092", "topic": "readings"} | params, KafkaParams
        )


@pytest.mark.parametrize(
    ("value", "fit"), [("abc-1.2_3", "abc-1.2_3"), ("a/b c", "a_b_c"), ("é\n", "__"), ("", "_")]
)
def test_fit_for_topic(value: str, fit: str) -> None:
    assert sanitize_topic(value) == fit


def test_a_topic_that_gets_too_long_is_refused_for_good() -> None:
    async def run() -> None:
        destination = a_destination(9, topic="{deviceId}.{deviceId}")
        outcome = await sent_once(destination, device_id="x" * 200)
        assert outcome == Refused(
            "the topic name is too long", is_final=True, code=FailureCode.INVALID_MESSAGE
        )

    story(run)


def test_what_would_be_sent_can_be_looked_at_without_the_password() -> None:
    destination = a_destination(9092, topic="{kind}", username="alice", password="s3cret")
    request = destination.describe(make_batch())
    assert msgspec.to_builtins(request) == {
        "method": "PRODUCE",
        "url": "kafka://127.0.0.1:9092/data",
        "headers": {"key": "device_1", "id": "msg_1", "content-type": "application/json"},
        "body": a_message().body.decode(),
    }

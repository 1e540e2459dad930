"""Kafka against a real broker, fetched by `make brokers`: what it stores, and when it is down."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.kafka import Kafka, KafkaParams
from longwire.delivery.http.egress import Egress
from tests.delivery.brokers import KAFKA_JARS, KafkaBroker, make_batch, running

HERE = ("127.0.0.1/32",)
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    if not KAFKA_JARS.exists() or not shutil.which("java"):
        pytest.skip("Kafka is not installed; `make brokers` fetches it where Java and Maven are")
    with running(KafkaBroker(tmp_path_factory.mktemp("kafka"))) as broker:
        yield broker


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, TIMEOUT_S))


@asynccontextmanager
async def destination(port: int, topic: str, **params: Any) -> AsyncIterator[Kafka]:
    values = {"brokers": f"127.0.0.1:{port}", "topic": topic} | params
    kafka = Kafka(msgspec.convert(values, KafkaParams), Egress(HERE))
    try:
        yield kafka
    finally:
        await kafka.close()


async def create_topic(broker: KafkaBroker, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=f"127.0.0.1:{broker.port}")
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 1, 1)])
    finally:
        await admin.close()


async def read_all(broker: KafkaBroker, topic: str) -> list[Any]:
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=f"127.0.0.1:{broker.port}",
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        (partition,) = consumer.assignment()
        end = (await consumer.end_offsets([partition]))[partition]
        records: list[Any] = []
        while len(records) < end:
            records += (await consumer.getmany(timeout_ms=1_000)).get(partition, [])
        return records
    finally:
        await consumer.stop()


async def send_until_delivered(kafka: Kafka, body: bytes) -> list[Outcome]:
    """As the engine does, without its pauses."""
    outcomes = [await kafka.send(make_batch(body=body))]
    while outcomes[-1] != Delivered():
        await asyncio.sleep(0.2)
        outcomes.append(await kafka.send(make_batch(body=body)))
    return outcomes


def test_a_message_is_stored_with_its_key_and_headers(broker: KafkaBroker) -> None:
    async def story() -> None:
        await create_topic(broker, "stored")
        async with destination(broker.port, "stored") as kafka:
            batch = make_batch(body=b"21.5")
            assert await kafka.send(batch) == Delivered()
        (record,) = await read_all(broker, "stored")
        assert (record.key, record.value) == (batch.single.device_id.encode(), b"21.5")
        assert dict(record.headers)["id"] == batch.single.id.encode()

    run(story())


def test_concurrent_messages_are_each_stored_once(broker: KafkaBroker) -> None:
    async def story() -> None:
        await create_topic(broker, "once")
        async with destination(broker.port, "once") as kafka:
            sends = [kafka.send(make_batch(body=str(number).encode())) for number in range(200)]
            assert await asyncio.gather(*sends) == [Delivered()] * 200
        stored = [int(record.value) for record in await read_all(broker, "once")]
        assert sorted(stored) == list(range(200))

    run(story())


def test_an_unknown_topic_is_refused(broker: KafkaBroker) -> None:
    async def story() -> None:
        async with destination(broker.port, "unknown") as kafka:
            assert await kafka.send(make_batch()) == Refused("unknown topic")

    run(story())


def test_a_message_that_is_too_large_is_refused_for_good(broker: KafkaBroker) -> None:
    async def story() -> None:
        await create_topic(broker, "large")
        async with destination(broker.port, "large") as kafka:
            outcome = await kafka.send(make_batch(body=b"x" * 200_000))
            assert isinstance(outcome, Refused)
            assert outcome.is_final
            assert await kafka.send(make_batch()) == Delivered()

    run(story())


@pytest.mark.parametrize(
    "password, outcome",
    [
        ("secret", Delivered()),
        ("wrong", Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED)),
    ],
)
def test_a_login_is_checked(broker: KafkaBroker, password: str, outcome: Outcome) -> None:
    async def story() -> None:
        await create_topic(broker, f"login-{password}")
        login = {"username": "ada", "password": password}
        async with destination(broker.sasl_port, f"login-{password}", **login) as kafka:
            assert await kafka.send(make_batch()) == outcome

    run(story())


def test_a_broker_that_was_killed_gets_the_rest_when_it_is_back(broker: KafkaBroker) -> None:
    async def story() -> None:
        await create_topic(broker, "killed")
        async with destination(broker.port, "killed") as kafka:
            assert await kafka.send(make_batch(body=b"1")) == Delivered()
            await asyncio.to_thread(broker.stop)
            assert isinstance(await kafka.send(make_batch(body=b"2")), Unreachable)
            await asyncio.to_thread(broker.start)
            await send_until_delivered(kafka, b"2")
            assert await kafka.send(make_batch(body=b"3")) == Delivered()
        stored = [record.value for record in await read_all(broker, "killed")]
        assert list(dict.fromkeys(stored)) == [b"1", b"2", b"3"]

    run(story())

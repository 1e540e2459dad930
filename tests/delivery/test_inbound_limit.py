"""Brokers that send more than a broker has to are dropped, and the owner sees why."""

from collections.abc import Callable
from typing import Any

import pytest

from longwire.delivery.destinations import inbound_limit
from longwire.delivery.destinations.amqp import Amqp, AmqpParams
from longwire.delivery.destinations.broker import FLOODING, BrokerDestination
from longwire.delivery.destinations.inbound_limit import InboundLimit, InboundLimitExceeded
from longwire.delivery.destinations.kafka import Kafka, KafkaParams
from longwire.delivery.destinations.mqtt import Mqtt, MqttParams
from longwire.delivery.destinations.nats import Nats, NatsParams
from longwire.delivery.http.egress import Egress
from tests.delivery import hostile_brokers
from tests.delivery.brokers import make_batch, run_story
from tests.delivery.hostile_brokers import Behaviour, HostileBroker

pytestmark = pytest.mark.usefixtures("patient_connections")

LOCAL = Egress(["127.0.0.0/8"])


def amqp(port: int) -> BrokerDestination[Any]:
    return Amqp(AmqpParams(url=f"amqp://127.0.0.1:{port}", routing_key="readings"), LOCAL)


def nats(port: int) -> BrokerDestination[Any]:
    return Nats(NatsParams(url=f"nats://127.0.0.1:{port}", subject="readings"), LOCAL)


def mqtt(port: int) -> BrokerDestination[Any]:
    return Mqtt(MqttParams(url=f"mqtt://127.0.0.1:{port}", topic="readings"), LOCAL)


def kafka(port: int) -> BrokerDestination[Any]:
    return Kafka(KafkaParams(brokers=f"127.0.0.1:{port}", topic="readings"), LOCAL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make_destination, behaves",
    [
        (amqp, hostile_brokers.send_heartbeats),
        (nats, hostile_brokers.send_lines(b"+OK\r\n")),
        (nats, hostile_brokers.send_lines(b"PING\r\n")),
        (nats, hostile_brokers.send_lines(b'INFO {"connect_urls":["a:1"]}\r\n')),
        (mqtt, hostile_brokers.send_packets(hostile_brokers.PINGRESP)),
        (mqtt, hostile_brokers.send_packets(hostile_brokers.UNRELEASED)),
        (kafka, hostile_brokers.announce(2**31 - 1)),
        (kafka, hostile_brokers.describe_many_partitions),
    ],
    ids=["heartbeats", "+OK", "PING", "INFO", "PINGRESP", "PUBLISH", "2 GiB", "metadata"],
)
def test_a_broker_that_floods_is_dropped(
    make_destination: Callable[[int], BrokerDestination[Any]],
    behaves: Behaviour,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = 0
    take = InboundLimit.take

    def count(self: InboundLimit, reads: int, size: int) -> None:
        nonlocal taken
        take(self, reads, size)
        taken += reads

    async def story() -> None:
        destination = make_destination(broker.port)
        assert await destination.send(make_batch()) == FLOODING
        await destination.close()

    monkeypatch.setattr(InboundLimit, "take", count)
    monkeypatch.setattr(inbound_limit, "READS_PER_S", 0.0)
    with HostileBroker(behaves) as broker:
        run_story(story())
    assert taken <= inbound_limit.READS_BURST + 2 * inbound_limit.READS_PER_MESSAGE


def test_every_message_may_be_confirmed_however_many_are_in_flight() -> None:
    limit = InboundLimit()
    sending = [limit.sending(1_000) for _ in range(10_000)]
    for each in sending:
        each.__enter__()
    for each in sending:
        limit.take(inbound_limit.READS_PER_MESSAGE, 2_000)
        each.__exit__(None, None, None)
    # What was not used for it is not saved up.
    with pytest.raises(InboundLimitExceeded):
        limit.take(inbound_limit.READS_BURST + 1, 0)


def test_time_refills_what_a_broker_may_send(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(inbound_limit.time, "monotonic", lambda: now)
    limit = InboundLimit()
    limit.take(inbound_limit.READS_BURST, 0)
    with pytest.raises(InboundLimitExceeded):
        limit.take(1, 0)
    now += 1.0
    limit.take(int(inbound_limit.READS_PER_S), 0)
    with pytest.raises(InboundLimitExceeded):
        limit.take(1, 0)

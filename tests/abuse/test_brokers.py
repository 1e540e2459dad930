"""Brokers that accept a login and then flood, each in the protocol of its connector."""

from typing import Any

import pytest

from longwire.delivery.destinations.broker import FLOODING
from longwire.delivery.destinations.connections import TIMED_OUT
from tests.abuse.forwarding import (
    create_connectors,
    delete_connectors,
    get_errors,
    post_records,
)
from tests.abuse.victim import Scene
from tests.delivery import hostile_brokers
from tests.delivery.hostile_brokers import Behaviour, HostileBroker
from tests.waiting import eventually

AMQP = ("amqp", {"routingKey": "readings"}, hostile_brokers.send_heartbeats)
NATS = ("nats", {"subject": "readings"}, hostile_brokers.send_lines(b"+OK\r\n"))
MQTT = ("mqtt", {"topic": "readings"}, hostile_brokers.send_packets(hostile_brokers.PINGRESP))
KAFKA = ("kafka", {"topic": "readings"}, hostile_brokers.describe_many_partitions)


@pytest.mark.engine_free
@pytest.mark.parametrize(
    ("type", "params", "behaves"),
    [
        pytest.param(*AMQP, id="amqp"),
        pytest.param(*MQTT, id="mqtt"),
        # tests/delivery/test_inbound_limit.py has the limit of all of them.
        pytest.param(*NATS, id="nats", marks=pytest.mark.soak),
        pytest.param(*KAFKA, id="kafka", marks=pytest.mark.soak),
    ],
)
def test_a_broker_that_floods_slows_nobody(
    scene: Scene, type: str, params: dict[str, Any], behaves: Behaviour
) -> None:
    mallory = scene.mallory
    group = mallory.group()
    device = mallory.device(group)
    with HostileBroker(behaves) as broker:
        address = f"127.0.0.1:{broker.port}"
        params |= {"brokers": address} if type == "kafka" else {"url": f"{type}://{address}"}
        # Soon again, should an attempt end for another reason before there was too much.
        policy = {"retryDelay": 1, "maxRetry": 100}
        create_connectors(mallory, group, 10, type, params, retryPolicy=policy)
        scene.assert_victim_unharmed(post_records(scene, device, 16))
        # Ten share a core; one alone is dropped sooner.
        left = delete_connectors(mallory, group, keep=1)
        before = broker.connections

        def is_dropped() -> bool:
            # On a slow machine attempts time out, and what may be sent is refilled before the next.
            has_retried = broker.connections >= before + 5
            errors = get_errors(mallory, group, left)
            return FLOODING.reason in errors or (has_retried and TIMED_OUT.reason in errors)

        eventually(is_dropped)
        delete_connectors(mallory, group)

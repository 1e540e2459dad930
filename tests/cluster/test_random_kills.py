"""Several nodes, killed at random under load: nothing is lost, and little is sent twice."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from longwire.settings import Settings
from tests.cluster.steady import OPEN
from tests.cluster.test_nodes import count, serve
from tests.delivery.receiver import Receiver
from tests.faults.ledger import Ledger, operator_of, wait_for_more
from tests.faults.test_delivery_crashes import connect
from tests.process import Service
from tests.waiting import eventually

__all__ = ["serve"]  # a fixture

IN_FLIGHT_MAX = 4
DRAINED_WITHIN_S = 300.0


def run_with_kills(
    start: Callable[..., Service], settings: Settings, *, nodes: int, kills: int
) -> None:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)

    def start_node() -> Service:
        return start("--delivery-in-flight-max", str(IN_FLIGHT_MAX))

    with Receiver() as receiver:
        running = [start_node() for _ in range(nodes)]
        ledger = Ledger.of(running[0])
        with operator_of(running[0], ledger.token) as operator:
            policy = {"retryDelay": 1, "maxRetry": 60}
            connect(operator, ledger.group, receiver.url, retryPolicy=policy)
        for _ in range(kills):
            victim = chance.randrange(nodes)
            with ExitStack() as senders:
                for node in running:
                    senders.enter_context(ledger.senders(node, 2))
                wait_for_more(ledger, chance.randrange(10, 100))
                running[victim].kill()
                wait_for_more(ledger, 10)  # by the others
            running[victim] = start_node()
        ledger.assert_stored_by(running[0])
        ledger.resend_unacknowledged(running[-1])
        ledger.assert_stored_by(running[-1])
        eventually(lambda: count(settings, OPEN) == 0, DRAINED_WITHIN_S)
        for node in running:
            assert node.stop() == 0
        arrived = {each.json["data"] for each in receiver.requests}
        lost = ledger.lines.keys() - arrived
        repeats = sum(Counter(receiver.ids).values()) - len(set(receiver.ids))
        print(f"{len(ledger.lines)} records, {kills} kills, {len(lost)} lost, {repeats} repeats")
        assert not lost
        assert len(set(receiver.ids)) == len(ledger.lines), "a repeat has the id of the first one"
        assert repeats <= kills * IN_FLIGHT_MAX


@pytest.mark.soak
def test_nothing_is_lost_when_one_of_three_nodes_is_killed_again_and_again(
    serve: Callable[..., Service],
    settings: Settings,
) -> None:
    run_with_kills(serve, settings, nodes=3, kills=10)

"""Senders who go on whatever happens to the nodes, and what must be true afterwards."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import httpx

from tests.cluster.pair import Server
from tests.delivery.receiver import Receiver
from tests.faults.ledger import Ledger, Operator
from tests.process import Service
from tests.reports import KINDS
from tests.waiting import eventually

# Together some fifty records a second, so that the machine is not what is tested.
SENDERS = 4
PAUSE_S = 0.15
BATCH_MAX = 5
ATTEMPTS = 5
DRAINED_WITHIN_S = 600.0
OPEN = "select count(*) from delivery where state in (0, 1)"

Nodes = Callable[[], Sequence[Service]]


class SteadyLedger(Ledger):
    """Senders with a pause, who repeat at another node what was not acknowledged."""

    @contextmanager
    def sending(self, nodes: Nodes) -> Iterator[list[float]]:
        """Send to the nodes that there are; yields the monotonic times of acknowledgements."""
        done = threading.Event()
        times: list[float] = []
        threads = [
            threading.Thread(target=self._send_steadily, args=(nodes, f"{each}", done, times))
            for each in range(SENDERS)
        ]
        for thread in threads:
            thread.start()
        try:
            yield times
        finally:
            done.set()
            for thread in threads:
                thread.join(300)
                assert not thread.is_alive()

    def _send_steadily(
        self, nodes: Nodes, name: str, done: threading.Event, times: list[float]
    ) -> None:
        chance = random.Random(name)
        operators: dict[str, Operator] = {}
        number = 0
        while not done.wait(PAUSE_S):
            size = chance.choice((1, 1, 1, BATCH_MAX))
            kind = chance.choice(KINDS)
            lines = [
                self._new_line(kind, chance.choice(self.fleet), f"{name}/{number + each}")
                for each in range(size)
            ]
            number += size
            for attempt in range(ATTEMPTS):
                url = chance.choice(nodes()).url
                if url not in operators:
                    operators[url] = Operator(url, self.token)
                try:
                    if self._post(operators[url], kind, lines) == 200:
                        times.append(time.monotonic())
                        break
                except httpx.HTTPError:
                    """Whether it is stored is unknown."""
                done.wait(2.0**attempt / 4)
        for operator in operators.values():
            operator.close()


def wait_for_acknowledgements(times: list[float], number: int, within_s: float) -> None:
    """Until so many more requests have been acknowledged."""
    enough = len(times) + number
    eventually(lambda: len(times) >= enough, within_s)


def assert_balanced(
    ledger: Ledger, nodes: Sequence[Service], primary: Server, receiver: Receiver, repeats_max: int
) -> None:
    """Nothing acknowledged is lost, and hardly anything was sent twice."""
    unknown = len(ledger.lines) - ledger.acknowledged
    ledger.assert_stored_by(nodes[0])
    ledger.resend_unacknowledged(nodes[-1])
    ledger.assert_stored_by(nodes[-1])
    eventually(lambda: primary.run(OPEN) == [(0,)], DRAINED_WITHIN_S)
    for node in nodes:
        assert node.stop() == 0
    arrived = {each.json["data"] for each in receiver.requests}
    lost = ledger.lines.keys() - arrived
    times = Counter(receiver.ids)
    repeats = times.total() - len(times)
    print(
        f"{len(ledger.lines)} records, of which {unknown} were acknowledged only when sent again "
        f"at the end; {len(lost)} lost; {repeats} messages sent twice, of {repeats_max} that "
        "may have been in flight"
    )
    assert not lost
    assert len(times) == len(ledger.lines), "a repeat has the id of the first one"
    assert repeats <= repeats_max

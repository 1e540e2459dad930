"""Nodes and servers fail at random under a light load, for minutes: the ledger balances.

LONGWIRE_SOAK_MINUTES is how long, LONGWIRE_SOAK_SEED repeats the faults of a run in their order. To
see the report: `make soak PYTEST_ARGS="-n 0 -s tests/cluster/test_random_faults.py"`.
"""

import itertools
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.cluster.pair import DATABASE, Pair
from tests.cluster.pooler import PGBOUNCER, Pooler
from tests.cluster.steady import SteadyLedger, assert_balanced, wait_for_acknowledgements
from tests.delivery.receiver import Receiver, StubResponse
from tests.faults.ledger import Ledger, operator_of
from tests.faults.test_delivery_crashes import LOOPBACK, connect
from tests.process import Service
from tests.waiting import eventually
from tests.world import copy_data_folder

MINUTES = float(os.environ.get("LONGWIRE_SOAK_MINUTES", "3"))
NODES = 3
IN_FLIGHT_MAX = 8
RESPONSE_S = 0.03  # so that messages are in flight when something happens
LEASE_LOST_S = 13.0
RECOVERED_WITHIN_S = 180.0
END_SESSIONS = """
select pg_terminate_backend(pid)
from pg_stat_activity
where application_name = 'longwire'
"""


class Nodes:
    """Nodes on a pair; the last one is behind a pooler, where there is one."""

    def __init__(self, pair: Pair, template: Path, folder: Path) -> None:
        self._pair = pair
        self._data = copy_data_folder(template, folder / "data")
        self.pooler = Pooler(folder / "pooler", DATABASE, sessions=8) if PGBOUNCER else None
        if self.pooler is not None:
            self.pooler.start(pair.primary.conninfo)
        self._started: list[Service] = []
        self.running = [self._start(number) for number in range(NODES)]
        self.balanced = list(self.running)  # to which a balancer sends requests

    def _start(self, number: int) -> Service:
        place = ["--database", self._pair.url]
        if self.pooler is not None and number == NODES - 1:
            place = ["--database", self.pooler.url, "--database-pooled", "true"]
        limits = ("--delivery-in-flight-max", str(IN_FLIGHT_MAX), "--token-lifetime-s", "86400")
        self._started.append(Service(self._data, *place, *LOOPBACK, *limits).started())
        return self._started[-1]

    def start_again(self, number: int) -> None:
        self.running[number].clean_up()
        self.running[number] = self._start(number)
        self.balanced = list(self.running)

    def restart_pooler(self) -> None:
        """Start the pooler again, in front of what is the primary now."""
        if self.pooler is not None:
            self.pooler.kill()
            self.pooler.start(self._pair.primary.conninfo)

    def are_ready(self) -> bool:
        try:
            found = [each.http.get("/health/ready").status_code for each in self.running]
        except httpx.HTTPError:
            return False
        return set(found) == {200}

    def list_errors(self) -> list[str]:
        """What nodes have logged with a traceback."""
        lines = [line for each in self._started for line in each.err.splitlines()]
        return [line for line in lines if '"exception"' in line]

    def end(self) -> None:
        for each in self.running:
            each.clean_up()
        if self.pooler is not None:
            self.pooler.kill()


class Faults:
    """What happens to nodes and servers, by name; each leaves them as they were."""

    def __init__(self, pair: Pair, nodes: Nodes, chance: random.Random) -> None:
        self._pair = pair
        self._nodes = nodes
        self._chance = chance
        self.kinds: dict[str, Callable[[], None]] = {
            "`kill -9` of a node": self._kill_node,
            "restart of a node": self._restart_node,
            "`SIGSTOP` of a node until its lease is lost": self._hang_node,
            "`kill -9` of the primary, promotion, rewind": self._kill_primary,
            "`SIGSTOP` of the primary, promotion, rewind": self._leave_hung_primary,
            "`SIGSTOP` of the primary for seconds": self._hang_primary,
            "stalled standby": self._stall_standby,
            "`kill -9` of the standby": self._kill_standby,
            "end of all sessions": self._end_sessions,
        }
        if nodes.pooler is not None:
            self.kinds["restart of the pooler"] = nodes.restart_pooler

    def _choose_node(self) -> int:
        return self._chance.randrange(NODES)

    def _last(self, least_s: float, most_s: float) -> None:
        time.sleep(self._chance.uniform(least_s, most_s))

    def _kill_node(self) -> None:
        number = self._choose_node()
        self._nodes.running[number].kill()
        self._nodes.start_again(number)

    def _restart_node(self) -> None:
        number = self._choose_node()
        assert self._nodes.running[number].stop() == 0
        self._nodes.start_again(number)

    def _hang_node(self) -> None:
        node = self._nodes.running[self._choose_node()]
        node.signal(signal.SIGSTOP)
        self._nodes.balanced = [each for each in self._nodes.running if each is not node]
        self._last(LEASE_LOST_S, LEASE_LOST_S + 3)
        node.signal(signal.SIGCONT)
        self._nodes.balanced = list(self._nodes.running)

    def _kill_primary(self) -> None:
        self._pair.primary.kill()
        self._fail_over()

    def _leave_hung_primary(self) -> None:
        self._pair.primary.hang()
        self._fail_over()

    def _fail_over(self) -> None:
        self._last(0, 3)
        self._pair.promote()
        self._nodes.restart_pooler()
        self._last(3, 12)
        self._pair.standby.kill()  # a hung one must not go on
        self._pair.rejoin()

    def _hang_primary(self) -> None:
        self._pair.primary.hang()
        self._last(1, 12)
        self._pair.primary.go_on()

    def _stall_standby(self) -> None:
        with self._pair.stalled_standby():
            self._last(1, 12)

    def _kill_standby(self) -> None:
        self._pair.standby.kill()
        self._last(0, 5)
        self._pair.standby.start()
        self._pair.wait_for_standby()

    def _end_sessions(self) -> None:
        self._pair.primary.run(END_SESSIONS)


def run_faults(
    faults: Faults, nodes: Nodes, ledger: Ledger, chance: random.Random, times: list[float]
) -> dict[str, list[float]]:
    """Let things happen until the time is over; how long nothing was acknowledged, by kind."""
    pauses: dict[str, list[float]] = defaultdict(list)
    end = time.monotonic() + MINUTES * 60
    order: list[str] = []
    while time.monotonic() < end:
        if not order:  # every kind, before any comes again
            order = chance.sample(sorted(faults.kinds), len(faults.kinds))
        kind = order.pop()
        began = time.monotonic()
        first = max(0, len(times) - 1)
        faults.kinds[kind]()
        wait_for_acknowledgements(times, 20, RECOVERED_WITHIN_S)
        eventually(nodes.are_ready, RECOVERED_WITHIN_S)
        seen = times[first:]
        pause_s = max(later - earlier for earlier, later in itertools.pairwise(seen))
        pauses[kind].append(pause_s)
        lasted_s = time.monotonic() - began
        print(f"{kind}: {lasted_s:.1f} s, of which {pause_s:.1f} s without acknowledgement")
        assert not ledger.wrong, (ledger.wrong[:3], nodes.list_errors()[-3:])
        time.sleep(chance.uniform(0, 3))
    return pauses


def print_report(pauses: dict[str, list[float]]) -> None:
    print("| What happened | Times | Longest time without an acknowledgement |\n|---|---|---|")
    for kind, found in sorted(pauses.items()):
        print(f"| {kind} | {len(found)} | {max(found):.1f} s |")


@pytest.mark.soak
def test_the_ledger_balances_after_faults_at_random(
    pair: Pair, cluster_template: tuple[Path, Path], fast_folder: Path
) -> None:
    seed = int(os.environ.get("LONGWIRE_SOAK_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}, {MINUTES:g} minutes")
    chance = random.Random(seed)
    nodes = Nodes(pair, cluster_template[1], fast_folder)
    try:
        with Receiver(StubResponse(delay_s=RESPONSE_S)) as receiver:
            ledger = SteadyLedger.of(nodes.running[0])
            assert isinstance(ledger, SteadyLedger)
            with operator_of(nodes.running[0]) as operator:
                policy = {"retryDelay": 1, "maxRetry": 60}
                connect(operator, ledger.group, receiver.url, retryPolicy=policy)
            with ledger.sending(lambda: nodes.balanced) as times:
                faults = Faults(pair, nodes, chance)
                pauses = run_faults(faults, nodes, ledger, chance, times)
            print_report(pauses)
            repeats_max = sum(map(len, pauses.values())) * IN_FLIGHT_MAX
            assert_balanced(ledger, nodes.running, pair.primary, receiver, repeats_max)
    finally:
        nodes.end()

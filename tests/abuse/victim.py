"""A tenant that is measured while another one does its worst.

The service runs in its own process, so that an attack cannot slow the test that measures. The
victim's latencies under attack are compared with those it had a moment before, in the same run on
the same machine. `make test` attacks briefly and allows for how busy the machine was before: it
finds stalls of seconds, not percentages. `make soak` attacks for a minute, alone on the machine,
and holds the service to its promise; there the victim has a process of its own, because attacks
that run in its process would slow it, whatever the service does.
"""

import itertools
import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import httpx
import psutil

from longwire.clock import Clock
from tests.delivery.receiver import Receiver
from tests.process import Service
from tests.waiting import PATIENCE_S
from tests.world import Person, ok, record_of

MEMORY_MB_MAX = 400.0

# What a victim may have to wait in the middle and at worst, on a machine that has nothing else to
# do; as many times longer as other processes make everything take.
MEDIAN_S = 1.0
WORST_S = 8.0
# The promise: alone on two cores, no more than so many times the quiet latency, or hardly anything.
SLOWER_MAX = 3.0
HARDLY_S = 0.05
P99_S = 1.0

# Gets an event that is set when it has to end; called again until then.
Attack = Callable[[threading.Event], None]


@dataclass(frozen=True)
class AttackLength:
    """How long an attack lasts, and how strictly the victim is compared."""

    rounds_min: int
    seconds: float
    is_strict: bool


QUIET = AttackLength(rounds_min=10, seconds=0.2, is_strict=False)
BRIEF = AttackLength(rounds_min=10, seconds=0.5, is_strict=False)
MINUTE = AttackLength(rounds_min=50, seconds=60.0, is_strict=True)


@dataclass
class Latencies:
    """What the victim waited for, in seconds."""

    write: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    delivery: list[float] = field(default_factory=list)


# Of a person: id, client id and secret.
Account = tuple[str, str, str]


class ServiceClient:
    """A client of the service; in the place of a world for `Person`."""

    def __init__(self, http: httpx.Client, accounts: dict[str, Account]) -> None:
        self.http = http
        self.clock = Clock()
        self.numbers = itertools.count(1)
        self.accounts = accounts

    def person(self, name: str) -> Person:
        """Somebody with credentials, who is no member of any group yet."""
        user_id, client_id, secret = self.accounts[name]
        world: Any = self
        return Person(world, self.token(client_id, secret), user_id, (client_id, secret))

    def token(self, client_id: str, secret: str) -> str:
        granted = self.http.post(
            "/oauth2/token?grant_type=client_credentials",
            auth=(client_id, secret),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        return str(ok(granted)["access_token"])


class SharedService(ServiceClient):
    """The service that victim and attacker share."""

    def __init__(self, process: Service, accounts: dict[str, Account]) -> None:
        super().__init__(process.http, accounts)
        self.process = process
        self.attackers = itertools.count()  # each with an account of its own

    @property
    def memory_mb(self) -> float:
        process = psutil.Process(self.process.pid)
        total = 0
        for each in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):  # a sandbox that has ended meanwhile
                total += each.memory_info().rss
        return total / 1e6


class Victim:
    """An honest tenant: writes a record, reads it, and gets it delivered, over and over."""

    def __init__(self, person: Person, receiver: Receiver) -> None:
        self.person = person
        self.receiver = receiver
        self.group = person.group("honest")
        self.device = person.device(self.group)
        person.connector(self.group, receiver.url)
        self._numbers = itertools.count(1)

    def measure(self, length: AttackLength) -> Latencies:
        latencies = Latencies()
        end = time.monotonic() + length.seconds
        while len(latencies.write) < length.rounds_min or time.monotonic() < end:
            self._run_round(latencies)
        return latencies

    def _run_round(self, latencies: Latencies) -> None:
        number = next(self._numbers)
        at = 1_700_000_000_000 + number
        delivered = len(self.receiver.requests)
        began = time.monotonic()
        ok(self.person.post("/device/data", record_of(self.device, timestamp=at)))
        written = time.monotonic()
        ok(self.person.get("/device/data", deviceId=self.device, limit=100))
        read = time.monotonic()
        self.receiver.wait_for(delivered + 1, timeout_s=PATIENCE_S)
        latencies.write.append(written - began)
        latencies.read.append(read - written)
        latencies.delivery.append(max(time.monotonic() - written, 0.0))


# Makes a victim of a person and a receiver; the class of one, or a part of it.
VictimFactory = Callable[[Person, Receiver], Victim]
Measure = Callable[[AttackLength], Latencies]


@contextmanager
def victim_beside(client: ServiceClient, name: str, create: VictimFactory) -> Iterator[Measure]:
    """A victim in this process."""
    with Receiver() as receiver:
        yield create(client.person(name), receiver).measure


@contextmanager
def victim_apart(client: ServiceClient, name: str, create: VictimFactory) -> Iterator[Measure]:
    """A victim in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    arguments = (its, str(client.http.base_url), client.accounts[name], create)
    process = context.Process(target=_run_victim, args=arguments, daemon=True)
    process.start()
    its.close()  # so that its end is noticed

    def measure(length: AttackLength) -> Latencies:
        ours.send(length)
        result = ours.recv()
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, Latencies)
        return result

    try:
        yield measure
    finally:
        process.terminate()
        process.join(PATIENCE_S)


def _run_victim(pipe: Connection, url: str, account: Account, create: VictimFactory) -> None:
    client = ServiceClient(httpx.Client(base_url=url, timeout=120), {"victim": account})
    client.numbers = itertools.count(os.getpid() * 1_000_000)  # not those of the attacker
    try:
        with victim_beside(client, "victim", create) as measure:
            while True:
                pipe.send(measure(pipe.recv()))
    except Exception as error:
        pipe.send(AssertionError(f"the victim failed: {error!r}"))


@contextmanager
def attacking(*attacks: Attack) -> Iterator[None]:
    """Run attacks, each in a thread of its own, while the block runs."""
    stop = threading.Event()

    def run(attack: Attack) -> None:
        while not stop.is_set():
            try:
                attack(stop)
            except (httpx.HTTPError, OSError):
                stop.wait(0.01)  # rejected or disconnected: that is the point, so go on

    threads = [threading.Thread(target=run, args=(attack,), daemon=True) for attack in attacks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)


def measure_slowdown() -> float:
    """How many processes share a core: so many times longer may anything take."""
    return max(1.0, psutil.getloadavg()[0] / (psutil.cpu_count() or 1))


def assert_unharmed(
    quiet: Latencies, attacked: Latencies, length: AttackLength, slowdown: float = 1.0
) -> None:
    """The victim hardly noticed."""
    for what in ("write", "read", "delivery"):
        before, after = getattr(quiet, what), getattr(attacked, what)
        usual, median, worst = statistics.median(before), statistics.median(after), max(after)
        figures = (
            f"{what}: {usual:.3f} s quiet, {median:.3f} s under attack, {worst:.3f} s at worst"
        )
        if length.is_strict:
            assert median <= max(SLOWER_MAX * usual, HARDLY_S), figures
            assert statistics.quantiles(after, n=100)[98] <= P99_S, figures
        else:
            figures += f", everything {slowdown:.1f} times slower"
            assert median <= max(SLOWER_MAX * usual, MEDIAN_S * slowdown), figures
            assert worst <= max(SLOWER_MAX * max(before), WORST_S * slowdown), figures


@dataclass(frozen=True)
class Scene:
    """Victim and attacker on one service."""

    service: SharedService
    honest: str  # the account of the victim
    mallory: Person
    length: AttackLength
    create_victim: VictimFactory = Victim

    def assert_victim_unharmed(self, *attacks: Attack) -> None:
        """Measure the victim, then again under these attacks; the service stays small."""
        slowdown = measure_slowdown()
        place = victim_apart if self.length.is_strict else victim_beside
        with place(self.service, self.honest, self.create_victim) as measure:
            quiet = measure(QUIET)
            with attacking(*attacks):
                attacked = measure(self.length)
                memory_mb = self.service.memory_mb
        assert not self.service.process.has_exited
        assert_unharmed(quiet, attacked, self.length, slowdown)
        assert memory_mb <= MEMORY_MB_MAX

"""Several processes on one database, of which some die or stand still."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest

from longwire.process import maintenance
from longwire.settings import Settings
from longwire.store.database import Database
from longwire.store.engines import node_lease
from longwire.store.engines.node_lease import LEASE_S
from tests.delivery.receiver import HANG, Receiver, StubResponse
from tests.faults.test_delivery_crashes import LOOPBACK, Line
from tests.process import Service
from tests.waiting import PATIENCE_S, eventually
from tests.world import ONE_SLOT, Person, World

LEASED = "select count(*) from delivery where state = 1"


@pytest.fixture
def serve(settings: Settings) -> Iterator[Callable[..., Service]]:
    services: list[Service] = []

    def start(*flags: str) -> Service:
        place = ("--database", settings.database, *LOOPBACK)
        services.append(Service(settings.data, *place, *flags))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()


def count(settings: Settings, query: str) -> int:
    with psycopg.connect(settings.database, autocommit=True) as connection:
        return int(connection.execute(query).fetchall()[0][0])  # type: ignore[call-overload]


def claim_with_receiver_that_hangs(
    service: Service, settings: Settings, receiver: Receiver, messages: int
) -> Line:
    """A line whose messages are all claimed by this process, and some of them in flight."""
    receiver.respond_with(HANG)
    line = Line(service, receiver.url)
    line.reports(service, messages)
    eventually(lambda: count(settings, LEASED) == messages)
    receiver.wait_for(1)
    return line


def test_messages_of_a_killed_process_are_taken_over_before_their_leases_expire(
    serve: Callable[..., Service], settings: Settings, make_world: Callable[..., World]
) -> None:
    with Receiver() as receiver:
        service = serve("--delivery-in-flight-max", "2")
        claim_with_receiver_that_hangs(service, settings, receiver, 5)
        survivor = make_world()
        survivor.clock.freeze()  # so that no lease of a message expires
        service.kill()
        eventually(lambda: not receiver._open)  # all that it has sent is read
        sent_before = set(receiver.ids)
        receiver.respond_with(StubResponse())
        with psycopg.connect(settings.database) as connection:  # instead of waiting for it
            own = survivor.app._sequencer.writer
            connection.execute("update node set until_at = 1 where number <> %s", [own])
        eventually(lambda: count(settings, LEASED) == 0)
        survivor.clock.let_pass(days=1)  # to the retries
        eventually(lambda: count(settings, "select count(*) from delivery where state = 2") == 5)
        times = Counter(receiver.ids)
        assert len(times) == 5
        assert {each for each, number in times.items() if number > 1} <= sent_before


def test_one_process_does_the_chores_and_when_it_stops_another_one(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.1)
    monkeypatch.setattr(maintenance, "DEVICES_POLL_INTERVAL_S", 0.05)
    rounds: list[str] = []

    def count_round(database: Database, *_: Any) -> Awaitable[None]:
        rounds.append(f"{database.cluster.number}")
        return asyncio.sleep(0)

    monkeypatch.setattr(maintenance, "_check_devices", count_round)
    first, second = make_world(), make_world()
    begun = str(first.database.cluster.number), str(second.database.cluster.number)
    eventually(lambda: rounds[-10:] == [begun[0]] * 10)
    first.restart()
    rounds.clear()
    eventually(lambda: rounds[-10:] == [begun[1]] * 10)


def make_two_nodes(make_world: Callable[..., World], **changes: Any) -> tuple[World, World]:
    """Two processes that know of each other."""
    nodes = make_world(**changes), make_world(**changes)
    for node in nodes:
        eventually(lambda: len(node.database.cluster.delivering) == 2)  # noqa: B023 (it is called right here)
    return nodes


def settle_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They find each other soon, and neither loses its lease because it is slow."""
    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.1)
    monkeypatch.setattr(node_lease, "LEASE_S", PATIENCE_S)


def report_until(person: Person, device: str, condition: Callable[[], bool]) -> int:
    """Report until both processes send; how often. One may claim what the other one could send."""
    sent = 0

    def report() -> bool:
        nonlocal sent
        person.reports(device, timestamp=f"2026-03-01T12:{sent // 60:02}:{sent % 60:02}Z")
        sent += 1
        return condition()

    eventually(report)
    return sent


def wait_for_scans(*nodes: World) -> None:
    """Until each has looked for due messages since now."""
    for engine in [node.app.engine for node in nodes]:
        for _ in range(3):
            last = engine._last_scan
            eventually(lambda: engine._last_scan > last)  # noqa: B023 (it is called right here)


@ONE_SLOT
@pytest.mark.usefixtures("patient_sender")
def test_a_receiver_sees_the_limit_of_all_processes_together(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_nodes(monkeypatch)
    with Receiver() as receiver:
        receiver.respond_with(StubResponse(held=True))
        nodes = make_two_nodes(make_world, delivery_in_flight_max=3)
        ada = nodes[0].person()
        group = ada.group()
        device = ada.device(group)
        ada.connector(group, receiver.url)
        sent = report_until(ada, device, lambda: len(receiver.ids) == 3)
        wait_for_scans(*nodes)
        assert len(receiver.ids) == 3
        receiver.respond_with(StubResponse())
        receiver.release()
        receiver.wait_for(sent)
        assert len(set(receiver.ids)) == sent


@ONE_SLOT
@pytest.mark.usefixtures("patient_sender")
def test_nothing_is_sent_that_could_not_be_settled(
    make_world: Callable[..., World], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process would send it again."""
    settle_nodes(monkeypatch)
    with Receiver() as receiver:
        receiver.respond_with(StubResponse(held=True))
        nodes = make_two_nodes(make_world, delivery_in_flight_max=2)
        ada = nodes[0].person()
        group = ada.group()
        device = ada.device(group)
        ada.connector(group, receiver.url)
        sent = report_until(
            ada, device, lambda: len(receiver.ids) == 2 and count(settings, LEASED) > 2
        )
        with psycopg.connect(settings.database) as connection:
            connection.execute("lock table delivery in access exclusive mode")
            for node in nodes:
                eventually(lambda: not node.app.engine._sender.can_settle)  # noqa: B023 (called right here)
            receiver.respond_with(StubResponse())
            receiver.release()
            for node in nodes:
                eventually(lambda: not node.app.engine._sender._sending)  # noqa: B023 (called right here)
            assert len(receiver.ids) == 2
        receiver.wait_for(sent)
        eventually(lambda: count(settings, LEASED) == 0)
        assert len(receiver.ids) == len(set(receiver.ids)) == sent


def test_one_process_finds_out_whether_a_receiver_responds_again(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_nodes(monkeypatch)
    with Receiver() as receiver:
        nodes = make_two_nodes(make_world)
        ada = nodes[0].person()
        group = ada.group()
        device = ada.device(group)
        policy = {"retryDelay": 30, "maxRetry": 20}
        ada.connector(group, receiver.url, retryPolicy=policy)
        receiver.down()
        for number in range(20):
            ada.world = nodes[number % 2]
            ada.reports(device, timestamp=f"2026-03-01T12:00:{number:02}Z")

        def count_probing() -> int:
            for node in nodes:
                node.clock.let_pass(seconds=600)  # to the next retries
            wait_for_scans(*nodes)
            return sum(bool(node.app.engine._workers) for node in nodes)

        eventually(lambda: count_probing() == 1)
        receiver.up()
        eventually(lambda: count_probing() >= 0 and len(set(receiver.ids)) == 20)


def test_the_rate_limits_are_divided_among_the_processes(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    settle_nodes(monkeypatch)
    nodes = make_two_nodes(make_world, token_failures_per_client_max=4)
    for node in nodes:
        node.clock.freeze()
        statuses = [node.ask_token("somebody", "wrong").status_code for _ in range(4)]
        assert statuses == [401, 401, 429, 429]


@pytest.mark.soak
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_messages_of_a_dead_process_are_taken_over_within_fifteen_seconds(
    end: signal.Signals,
    serve: Callable[..., Service],
    settings: Settings,
    make_world: Callable[..., World],
) -> None:
    """One that stands still for so long sends nothing of it when it goes on."""
    with Receiver() as receiver:
        service = serve("--delivery-in-flight-max", "2")
        claim_with_receiver_that_hangs(service, settings, receiver, 5)
        survivor = make_world()
        survivor.clock.freeze()
        in_flight = set(receiver.ids)
        service.signal(end)
        ended = time.monotonic()
        receiver.respond_with(StubResponse())
        eventually(lambda: count(settings, LEASED) == 0)
        taken_over_s = time.monotonic() - ended
        print(f"taken over after {taken_over_s:.1f} s")
        assert LEASE_S / 2 < taken_over_s < 15
        survivor.clock.let_pass(days=1)
        eventually(lambda: count(settings, "select count(*) from delivery where state = 2") == 5)
        if end == signal.SIGSTOP:
            service.signal(signal.SIGCONT)
            assert service.stop() == 0
        times = Counter(receiver.ids)
        assert len(times) == 5
        assert {each for each, number in times.items() if number > 1} <= in_flight

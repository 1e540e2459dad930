"""Crashes and stops during delivery: every acknowledged record still arrives.

The service runs in processes of its own here, so real time passes. Instead of waiting for a lease
to expire, the tests expire it in the database.
"""

import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longwire.clock import Clock
from longwire.delivery.engine.claiming import ORPHANED
from longwire.metrics import NAMES
from longwire.settings import Settings
from tests.delivery.receiver import Received, Receiver, StubResponse
from tests.faults.ledger import Ledger, Operator, Start, operator_of, wait_for_more
from tests.process import START_S, STOP_S, Service, longwire, start_command
from tests.reports import device, metrics, report
from tests.waiting import eventually
from tests.world import ONE_SLOT, ok

LOOPBACK = ("--egress-allow", "127.0.0.0/8")
NOT_DELIVERING = (*LOOPBACK, "--delivery", "false")
DAYS = 2 * 86_400
IN_FLIGHT_MAX = 16
DATA, STARTED, PROCESSED = map(
    NAMES.index, ("device_data", "connector_message_started", "connector_message_processed")
)


@pytest.fixture
def rows(settings: Settings) -> Callable[[str], list[tuple[Any, ...]]]:
    """Reads or changes the database directly."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        if settings.database:
            with psycopg.connect(settings.database) as connection:
                cursor = connection.execute(sql)  # type: ignore[call-overload]
                return list(cursor.fetchall()) if cursor.description else []
        with contextlib.closing(sqlite3.connect(settings.data / "longwire.db")) as embedded:
            found = embedded.execute(sql).fetchall()
            embedded.commit()
            return found

    return run


Rows = Callable[[str], list[tuple[Any, ...]]]


def expire_leases(rows: Rows) -> None:
    """Expire every lease."""
    rows("update delivery set lease_until = 1 where state = 1")


def states(rows: Rows) -> dict[int, int]:
    return dict(rows("select state, count(*) from delivery group by state"))


class Line:
    """A group with a device and a connector at a service, which outlives its processes."""

    def __init__(self, service: Service, url: str, **fields: Any) -> None:
        self.token = service.token
        with operator_of(service) as operator:
            self.group = str(ok(operator.post("/group", {"name": "line"}))["id"])
            self.device = device(operator, self.group)
            self.connector = connect(operator, self.group, url, **fields)

    def reports(self, service: Service, number: int = 1) -> None:
        with operator_of(service, self.token) as operator:
            now = Clock().now()
            items = [report("data", self.device, now + each, f"{each}") for each in range(number)]
            for start in range(0, number, 500):
                batch = {"items": items[start : start + 500]}
                ok(operator.post("/device/data/batch", batch))

    def events(self, service: Service) -> list[dict[str, Any]]:
        with operator_of(service, self.token) as operator:
            return list(events_of(operator, self.group, self.connector)["items"])

    def statuses(self, service: Service) -> dict[str, int]:
        return dict(Counter(event["status"] for event in self.events(service)))


def connect(operator: Operator, group: str, url: str, **fields: Any) -> str:
    body = {"groupId": group, "type": "http", "params": json.dumps({"url": url}), **fields}
    return str(ok(operator.post("/connector", body))["id"])


def events_of(operator: Operator, group: str, connector: str) -> dict[str, Any]:
    now_s = Clock().now() // 1_000_000
    period = {"beginDate": str(now_s - DAYS), "endDate": str(now_s + DAYS), "limit": "1000"}
    named = {"groupId": group, "connectorId": connector}
    return dict(ok(operator.get("/connector/connectorEvent", **named, **period)))


class Delivering:
    """`longwire deliver` in a process of its own."""

    def __init__(self, settings: Settings, *flags: str) -> None:
        self._out = settings.data.parent / f"deliver.{time.monotonic_ns()}.out"
        place = ["--database", settings.database] if settings.database else []
        with self._out.open("wb") as out:
            arguments = ["deliver", "--data", str(settings.data), *place, *LOOPBACK, *flags]
            self.process = start_command(arguments, settings.data.parent, out, out)
        eventually(lambda: " delivers, " in self._out.read_text() or self.has_exited, START_S)
        assert not self.has_exited, self._out.read_text()

    @property
    def has_exited(self) -> bool:
        return self.process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.process.wait(timeout=STOP_S)

    def clean_up(self) -> None:
        if not self.has_exited:
            self.process.kill()
            self.process.wait(timeout=STOP_S)


StartDelivering = Callable[..., Delivering]


@pytest.fixture
def deliver(settings: Settings) -> Iterator[StartDelivering]:
    """Starts `longwire deliver` processes, and kills them afterwards."""
    started: list[Delivering] = []

    def start(*flags: str) -> Delivering:
        started.append(Delivering(settings, *flags))
        return started[-1]

    yield start
    for each in started:
        each.clean_up()


# --- killed at a certain point ---


@pytest.mark.ordinary_variant("sqlite")
def test_a_crash_before_the_send_costs_an_attempt_and_no_message(serve: Start, rows: Rows) -> None:
    service = serve(*LOOPBACK)
    with socket.create_server(("127.0.0.1", 0)) as trap:
        port = trap.getsockname()[1]
        line = Line(service, f"http://127.0.0.1:{port}/hook")
        line.reports(service)
        trap.accept()[0].close()  # connected, but no request was read
        service.kill()
    expire_leases(rows)
    with contextlib.ExitStack() as stack:
        receiver = Receiver()
        receiver.port = port
        stack.enter_context(receiver)
        service = serve(*LOOPBACK)
        receiver.wait_for(1)
        eventually(lambda: line.statuses(service) == {"succeed": 1})
        assert len(receiver.requests) == 1
        assert line.events(service)[0]["attempts"] == 2


@pytest.mark.ordinary_variant("postgresql")
def test_a_crash_after_the_send_resends_it_under_the_same_id(serve: Start, rows: Rows) -> None:
    service = serve(*LOOPBACK)

    def kill(request: Received) -> int:
        os.kill(service.pid, signal.SIGKILL)
        return 200  # the sender is dead by now

    with Receiver(kill, 200) as receiver:
        line = Line(service, receiver.url)
        line.reports(service)
        service.ended()
        expire_leases(rows)
        service = serve(*LOOPBACK)
        first, second = receiver.wait_for(2)
        assert (first.id, first.body) == (second.id, second.body)
        eventually(lambda: line.statuses(service) == {"succeed": 1})
        [event] = line.events(service)
        assert (event["id"], event["attempts"]) == (first.id, 2)


@pytest.mark.ordinary_variant("sqlite")
def test_a_crash_after_settling_resends_nothing(serve: Start, rows: Rows) -> None:
    service = serve(*LOOPBACK)
    with Receiver() as receiver:
        line = Line(service, receiver.url)
        line.reports(service, 5)
        eventually(lambda: line.statuses(service) == {"succeed": 5})
        service.kill()
        service = serve(*LOOPBACK)
        line.reports(service, 1)
        eventually(lambda: line.statuses(service) == {"succeed": 6})
        assert len(receiver.requests) == len(set(receiver.ids)) == 6


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_message_that_crashes_the_process_fails_and_the_others_are_sent(
    serve: Start, rows: Rows
) -> None:
    service = serve(*LOOPBACK)
    crashes: list[str] = []

    def poisoned(request: Received) -> int:
        if "poison" in request.json["data"]:
            # One that has just started sends before the test knows of it.
            eventually(lambda: not service.has_exited)
            crashes.append(request.id)
            os.kill(service.pid, signal.SIGKILL)
        return 200

    with Receiver(poisoned) as receiver:
        line = Line(service, receiver.url, retryPolicy={"retryDelay": 1, "maxRetry": 2})
        with operator_of(service) as operator:
            now = Clock().now()
            ok(operator.post("/device/data", report("data", line.device, now, "poison")))
        for number in range(1, 4):
            service.ended()
            assert len(crashes) == number
            service = serve(*LOOPBACK)
        eventually(lambda: line.statuses(service) == {"failed": 1})
        line.reports(service, 3)
        eventually(lambda: line.statuses(service) == {"failed": 1, "succeed": 3})
        [poison] = [event for event in line.events(service) if event["status"] == "failed"]
        assert (poison["attempts"], poison["message"]) == (3, ORPHANED.reason)
        assert crashes == [poison["id"]] * 3


# --- killed at a random point ---


def run_through_crashes(
    serve: Start, rows: Rows, crashes: int, end: Callable[[Service], None]
) -> Counter[str]:
    """End the service repeatedly under load; count how often each message arrived."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    service = serve(*LOOPBACK)
    ledger = Ledger.of(service)
    with Receiver(StubResponse(delay_s=0.01)) as receiver:
        with operator_of(service) as operator:
            connector = connect(operator, ledger.group, receiver.url)
        for _ in range(crashes):
            with ledger.senders(service):
                wait_for_more(ledger, 1)
                time.sleep(chance.uniform(0.1, 0.6))
                end(service)
            expire_leases(rows)
            service = serve(*LOOPBACK)
        ledger.resend_unacknowledged(service)
        eventually(lambda: set(states(rows)) == {2})
        ledger.assert_stored_by(service)
        received = assert_all_arrived(ledger, receiver)
        with operator_of(service, ledger.token) as operator:
            assert_counted(operator, ledger.group, connector, len(ledger.lines))
    assert service.stop() == 0
    return received


def assert_all_arrived(ledger: Ledger, receiver: Receiver) -> Counter[str]:
    """Every acknowledged record arrived, none that was not sent, each under one id."""
    bodies: defaultdict[str, set[bytes]] = defaultdict(set)
    ids_by_data: defaultdict[str, set[str]] = defaultdict(set)
    for request in receiver.requests:
        bodies[request.id].add(request.body)
        ids_by_data[request.json["data"]].add(request.id)
    lost = [
        each
        for each, line in ledger.lines.items()
        if line.is_acknowledged and each not in ids_by_data
    ]
    assert not lost, f"{len(lost)} of {ledger.acknowledged} never arrived: {lost[:3]}"
    assert set(ids_by_data) <= set(ledger.lines)
    assert all(len(ids) == 1 for ids in ids_by_data.values()), (
        "a record has one id, however often it arrives"
    )
    assert all(len(each) == 1 for each in bodies.values()), "and it is always the same"
    received = Counter(request.id for request in receiver.requests)
    print(
        f"{ledger.acknowledged} acknowledged, {sum(received.values()) - len(received)} duplicates"
    )
    return received


def assert_counted(operator: Operator, group: str, connector: str, number: int) -> None:
    """The counters and the totals of events equal a recount."""
    now_s = Clock().now() // 1_000_000
    found = metrics(operator, group, str(now_s - DAYS), str(now_s + DAYS), timeSpan=10**9)
    assert found["totalConnectorMessageStarted"] == number
    assert found["totalConnectorMessageProcessed"] == number
    assert found["totalConnectorMessageError"] == found["totalConnectorMessageProcessing"] == 0
    assert events_of(operator, group, connector)["stats"] == {
        "totalStillProcessing": 0,
        "totalSucceed": number,
        "totalFailed": 0,
    }


@pytest.mark.soak  # test_kill.py does this in every run, and other tests here crash between steps
def test_every_acknowledged_record_arrives_although_the_service_is_killed_repeatedly(
    serve: Start, rows: Rows
) -> None:
    run_through_crashes(serve, rows, 3, Service.kill)


@pytest.mark.soak
def test_every_acknowledged_record_arrives_after_forty_crashes(serve: Start, rows: Rows) -> None:
    run_through_crashes(serve, rows, 40, Service.kill)


@pytest.mark.soak
def test_a_crash_repeats_no_more_than_twice_what_was_in_flight(serve: Start, rows: Rows) -> None:
    """Outcomes are stored as soon as there are 16, or after 20 ms."""
    repeated: list[int] = []
    service = serve(*LOOPBACK)
    with Receiver(StubResponse(delay_s=0.02)) as receiver:
        line = Line(service, receiver.url)
        for kill in range(1, 6):
            for _ in range(20):  # about 400 a second
                line.reports(service, 20)
                time.sleep(0.03)
            service.kill()
            before = len(receiver.requests)
            seen = set(receiver.ids)
            expire_leases(rows)
            service = serve(*LOOPBACK)
            eventually(lambda: states(rows) == {2: 400 * kill})  # noqa: B023
            repeated.append(sum(request.id in seen for request in receiver.requests[before:]))
        assert len(set(receiver.ids)) == 2_000
    print(f"sent twice: {repeated}")
    assert max(repeated) <= 2 * IN_FLIGHT_MAX


# --- stopped ---


@pytest.mark.ordinary_variant("postgresql")
def test_a_service_that_is_stopped_under_load_releases_its_leases_and_sends_nothing_twice(
    serve: Start, rows: Rows
) -> None:
    left: list[dict[int, int]] = []

    def stop(service: Service) -> None:
        assert service.stop() == 0
        left.append(states(rows))

    received = run_through_crashes(serve, rows, 3, stop)
    assert all(1 not in each for each in left), f"orphaned leases: {left}"
    assert set(received.values()) == {1}


@pytest.mark.ordinary_variant("sqlite")
def test_a_service_stops_while_a_receiver_hangs_and_sends_the_messages_after_a_restart(
    serve: Start, rows: Rows
) -> None:
    service = serve(*LOOPBACK)
    with Receiver(StubResponse(delay_s=600)) as receiver:
        line = Line(service, receiver.url)
        line.reports(service, 100)
        receiver.wait_for(16)
        assert service.stop() == 0
        assert states(rows) == {0: 100}
        attempts = dict(rows("select attempts, count(*) from delivery group by attempts"))
        assert attempts == {0: 84, 1: 16}
        receiver.respond_with(200)
        service = serve(*LOOPBACK)
        eventually(lambda: line.statuses(service) == {"succeed": 100})


# --- several ---


@ONE_SLOT
@pytest.mark.ordinary_variant("2-postgresql")
@pytest.mark.parametrize("engine", ["postgresql"])
@pytest.mark.parametrize("number", [2, 4])
def test_several_engines_on_one_database_send_each_message_once(
    serve: Start, deliver: StartDelivering, rows: Rows, number: int
) -> None:
    service = serve(*NOT_DELIVERING)
    with Receiver(StubResponse(delay_s=0.02)) as receiver:
        line = Line(service, receiver.url)
        processes = [deliver("--database-connections", "2") for _ in range(number)]
        sent = 0
        while sent == 0 or len(processed_by_writer(rows)) < number:  # one may be late to start
            line.reports(service, 1_000)
            sent += 1_000
            eventually(lambda: states(rows) == {2: sent})  # noqa: B023
        assert len(receiver.requests) == len(set(receiver.ids)) == sent
        assert [each.stop() for each in processes] == [0] * number
        assert sum(processed_by_writer(rows).values()) == sent


def processed_by_writer(rows: Rows) -> dict[int, int]:
    return dict(rows(f"select writer, sum(value) from counter where name = {PROCESSED} group by 1"))


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_process_that_was_suspended_past_its_lease_changes_nothing_when_it_resumes(
    serve: Start, deliver: StartDelivering, rows: Rows
) -> None:
    resume_after(serve, deliver, rows, lambda: expire_leases(rows))


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_process_that_was_suspended_for_a_while_changes_nothing_when_it_resumes(
    serve: Start, deliver: StartDelivering, rows: Rows
) -> None:
    resume_after(serve, deliver, rows, lambda: time.sleep(40))


def resume_after(
    serve: Start, deliver: StartDelivering, rows: Rows, leases_end: Callable[[], None]
) -> None:
    service = serve(*NOT_DELIVERING)
    with Receiver(StubResponse(held=True)) as receiver:
        line = Line(service, receiver.url)
        frozen = deliver()
        line.reports(service, 40)
        receiver.wait_for(16)
        frozen.signal(signal.SIGSTOP)
        leases_end()
        receiver.respond_with(200)
        receiver.release()
        other = deliver()
        eventually(lambda: states(rows) == {2: 40})
        assert other.stop() == 0
        settled = rows("select seq, state, attempts, changed_at from delivery order by seq")
        channel = rows("select failures, error_at, is_enabled, version from channel")
        counters = dict(rows("select name, sum(value) from counter group by name"))
        frozen.signal(signal.SIGCONT)
        # What it had leased is settled before its next messages, or together with them.
        before = len(receiver.requests)
        line.reports(service, 1)
        eventually(lambda: states(rows) == {2: 41})
        assert len(receiver.requests) == before + 1
        last = max(row[0] for row in rows("select seq from delivery"))
        assert settled == rows(
            f"select seq, state, attempts, changed_at from delivery where seq < {last} order by seq"
        )
        assert channel == rows("select failures, error_at, is_enabled, version from channel")
        # One record, one message, and nothing else.
        one_more = {name: counters[name] + 1 for name in (DATA, STARTED, PROCESSED)}
        counted = dict(rows("select name, sum(value) from counter group by name"))
        assert counted == {**counters, **one_more}
        assert frozen.stop() == 0
        assert len(set(receiver.ids)) == 41
        assert max(Counter(receiver.ids).values()) <= 2


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_second_process_cannot_deliver_from_an_embedded_database(
    serve: Start, deliver: StartDelivering, settings: Settings, tmp_path: Path
) -> None:
    service = serve(*NOT_DELIVERING)
    with Receiver() as receiver:
        line = Line(service, receiver.url)
        line.reports(service, 50)
        result = longwire("deliver", "--data", str(settings.data), cwd=tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith("longwire: Another longwire process already serves ")
        assert receiver.requests == []
        assert service.stop() == 0
        # As the only process it can.
        alone = deliver()
        receiver.wait_for(50)
        assert alone.stop() == 0
        service = serve(*NOT_DELIVERING)
        assert line.statuses(service) == {"succeed": 50}
        assert len(receiver.requests) == 50

"""The engine from outside: what arrives at receivers that work and at those that fail."""

import asyncio
import email.utils
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest

from longwire.clock import MILLISECOND, SECOND
from longwire.dates import format_date, parse_date
from longwire.delivery import retry_policy
from longwire.delivery.connectors import messages
from longwire.delivery.destinations.base import (
    Delivered,
    Outcome,
    Refused,
    Unreachable,
    get_requested_pause_s,
    is_receiver_failing,
)
from longwire.delivery.engine import claiming, engine, sending, worker
from longwire.delivery.engine.worker import PAUSE_STEP_S, PROBE_AFTER
from longwire.delivery.http import http_limits
from longwire.delivery.http.egress import NOT_RESOLVED
from longwire.errors import Unavailable
from longwire.ids import parse_delivery_id
from longwire.model import Channel
from longwire.records import EncodedRecord
from longwire.store.database import Cluster, NodeRole, Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import dead_letters, delivery_history
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.locks import acquire_lock
from longwire.store.statement import Statement
from tests.delivery.receiver import HANG, HANG_UP, Receiver, StubResponse, redirect
from tests.waiting import PATIENCE_S, eventually
from tests.world import KINDS, Person, World, ok, record_of

CANARY = "the receiver's own words"
ONCE = {"retryDelay": 1, "maxRetry": 0}
RESENT_LATER = {"retryDelay": 86_400, "maxRetry": 1}
YEARS = 10 * 365 * 86_400
IN_FLIGHT_MAX = 16  # per connector, by default


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


class Line:
    """A group with a device and a connector, and their state."""

    def __init__(self, person: Person, url: str, **fields: Any) -> None:
        self.person = person
        self.group = person.group()
        self.device = person.device(self.group)
        self.connector = person.connector(self.group, url, **fields)

    @property
    def name(self) -> dict[str, str]:
        return {"connectorId": self.connector, "groupId": self.group}

    def reports(self, number: int = 1, **fields: Any) -> None:
        """Send so many records, each with its own timestamp."""
        for start in range(0, number, 500):
            self._report([fields] * min(500, number - start))

    def says(self, *texts: str) -> None:
        """Send records with these data in one request, in this order."""
        self._report([{"data": text} for text in texts])

    def _report(self, contents: list[dict[str, Any]]) -> None:
        items = [record_of(self.device, timestamp=self._moment(), **each) for each in contents]
        ok(self.person.post("/device/data/batch", {"items": items}))

    def _moment(self) -> str:
        return format_date((1_700_000_000_000 + next(self.person.world.numbers)) * MILLISECOND)

    def change(self, **fields: Any) -> None:
        ok(self.person.put("/connector", {**self.name, **fields}))

    def send_to(self, url: str) -> None:
        self.change(params=json.dumps({"url": url}))

    def resend(self) -> dict[str, Any]:
        return dict(ok(self.person.post("/connector/resendData", self.name)))

    def shown(self) -> dict[str, Any]:
        return dict(ok(self.person.get("/connector", **self.name)))

    @property
    def health(self) -> dict[str, Any]:
        return dict(ok(self.person.get("/connector/health", **self.name)))

    @property
    def error(self) -> str | None:
        error: dict[str, str] = self.shown().get("error", {})
        return error.get("message")

    @property
    def kept(self) -> dict[str, Any]:
        return dict(self.shown()["dataFailurePolicy"])

    def events(self) -> list[dict[str, Any]]:
        return list(self._events()["items"])

    def stats(self) -> tuple[int, int, int]:
        """The number of deliveries that are processing, succeeded and failed."""
        found = self._events(limit="1")["stats"]
        return found["totalStillProcessing"], found["totalSucceed"], found["totalFailed"]

    def _events(self, **params: str) -> dict[str, Any]:
        begin = str(self.person.world.clock.now() // 1_000 - 30 * 86_400_000)
        return self.person.events(self.group, self.connector, beginDate=begin, **params)

    def settles(self, *, processing: int = 0, succeed: int = 0, failed: int = 0) -> None:
        wanted = (processing, succeed, failed)
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.stats()) != wanted:
            assert time.monotonic() < deadline, f"{found} instead of {wanted}; {self.error}"
            time.sleep(0.05)

    def wait_for_attempts(self, attempts: int) -> None:
        """Wait until each delivery has had so many attempts, and is queued for a retry or final."""

        def is_so() -> bool:
            return {
                (each.state != DeliveryState.LEASED, each.attempts) for each in self.rows()
            } == {(True, attempts)}

        eventually(is_so)

    def fails(self, failures: int) -> None:
        eventually(lambda: self.health["failures"] == failures)

    def rows(self) -> list[delivery_history.DeliveryEvent]:
        """The delivery rows, in order."""
        world = self.person.world
        keys = [parse_delivery_id(event["id"]) for event in self.events()]
        found = world.read(lambda tx: [delivery_history.get(tx, *key) for key in keys if key])
        return sorted((each for each in found if each), key=lambda each: each.seq)

    def totals(self) -> dict[str, int]:
        """The group's counters of messages, without those that are 0."""
        now = self.person.world.clock.now() // 1_000
        period = {"beginDate": str(now - 30 * 86_400_000), "endDate": str(now + 60_000)}
        found = ok(self.person.get("/group/metrics", groupId=self.group, timeSpan=10**9, **period))
        return {
            name.removeprefix("totalConnector"): value
            for name, value in found.items()
            if name.startswith("totalConnector") and value
        }


@contextmanager
def many(number: int, *answers: Any) -> Iterator[list[Receiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Receiver(*answers)) for _ in range(number)]


# --- no failures ---


def test_every_record_arrives_once_and_its_event_has_the_same_id(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        for kind in KINDS:
            ada.reports(line.device, kind)
        line.settles(succeed=4)
        events = line.events()
        assert sorted(receiver.ids) == sorted(event["id"] for event in events)
        assert {event["attempts"] for event in events} == {1}
        assert {request.json["kind"] for request in receiver.requests} == set(KINDS)
        assert line.totals() == {"MessageStarted": 4, "MessageProcessed": 4}
        assert line.error is None
        ada.reports(line.device)  # a duplicate causes no second message
        ada.reports(line.device, timestamp="2026-03-01T12:00:01.000Z")
        line.settles(succeed=5)
        assert len(receiver.requests) == len(set(receiver.ids)) == 5


def test_deliveries_that_are_queued_when_the_service_stops_are_sent_after_its_restart(
    world: World,
) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(ada, receiver.url, retryPolicy={"retryDelay": 30, "maxRetry": 3})
        receiver.down()
        line.reports(20)
        line.wait_for_attempts(1)
        world.restart()
        line.settles(processing=20)
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=20)
        assert len(set(receiver.ids)) == len(receiver.ids) == 20
        assert {event["attempts"] for event in line.events()} == {2}


def test_a_stop_during_a_transaction_leaves_no_lease(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    plain = claiming.Claimer.settle_and_claim

    def slowly(self: claiming.Claimer, *about: Any) -> claiming.ClaimResult:
        result = plain(self, *about)
        time.sleep(0.3)
        return result

    monkeypatch.setattr(claiming.Claimer, "settle_and_claim", slowly)
    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        line.reports(300)
        receiver.wait_for(20)
        world.stop()
        monkeypatch.undo()
        world.start()
        line.settles(succeed=300)
        assert len(receiver.requests) == len(set(receiver.ids)) == 300
        assert {event["attempts"] for event in line.events()} == {1}


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("patient_sender")
def test_a_channel_that_another_process_probes_costs_the_others_no_claims(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    plain, is_due = claiming.Claimer.settle_and_claim, threading.Event()
    is_claimed, may_commit = threading.Event(), threading.Event()

    def hold(self: claiming.Claimer, *about: Any) -> claiming.ClaimResult:
        result = plain(self, *about)
        if is_due.is_set() and sum(map(bool, result.claimed.values())) == 2:
            is_claimed.set()
            may_commit.wait(60)
        return result

    monkeypatch.setattr(claiming.Claimer, "settle_and_claim", hold)
    closes = StubResponse(held=True, close_socket=True)
    with Receiver(closes) as failing, Receiver() as receiver:
        line = Line(ada, failing.url)
        other = ada.connector(line.group, receiver.url)
        line.reports(PROBE_AFTER)
        failing.wait_for(PROBE_AFTER)
        receiver.wait_for(PROBE_AFTER)
        # Of two processes, the other one probes this channel.
        number, this = number_of(line), world.database.cluster.number
        nodes = (this, this + 1) if number % 2 else (this - 1, this)
        roles = dict.fromkeys(nodes, NodeRole.SERVE)
        monkeypatch.setattr(world.database, "cluster", Cluster(this, roles))
        worker = world.app.engine._workers[number]
        is_due.set()
        line.reports()
        assert is_claimed.wait(60)
        failing.release()
        eventually(lambda: worker.is_probing and not worker.in_flight)
        may_commit.set()
        receiver.wait_for(PROBE_AFTER + 1)
        eventually(lambda: ada.events(line.group, other)["stats"]["totalStillProcessing"] == 0)
        events = ada.events(line.group, other)["items"]
        assert [event["attempts"] for event in events] == [1] * (PROBE_AFTER + 1)


def test_an_engine_that_is_restarted_settles_what_its_last_transaction_could_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    settle, stop = claiming.settle, engine.Engine._stop
    needs_transaction = engine.Engine._needs_transaction

    def fail_to_settle(tx: Tx, writer: int, attempts: Any, *rest: Any) -> None:
        if attempts:
            raise Unavailable("The database is not available; nothing was changed.")

    def die_with_an_attempt(self: engine.Engine) -> bool:
        if self._work.attempts:
            raise ZeroDivisionError("a mistake")
        return needs_transaction(self)

    async def stop_and_recover_from_the_faults(self: engine.Engine) -> None:
        await stop(self)
        monkeypatch.setattr(claiming, "settle", settle)
        monkeypatch.setattr(engine.Engine, "_needs_transaction", needs_transaction)

    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        monkeypatch.setattr(claiming, "settle", fail_to_settle)
        monkeypatch.setattr(engine.Engine, "_needs_transaction", die_with_an_attempt)
        monkeypatch.setattr(engine.Engine, "_stop", stop_and_recover_from_the_faults)
        line.reports()
        line.settles(succeed=1)
        assert [event["attempts"] for event in line.events()] == [1]
        assert len(receiver.requests) == 1


def test_a_message_is_sent_although_its_device_was_deleted(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        receiver.down()
        line = Line(ada, receiver.url)
        line.reports(data="last message")
        line.wait_for_attempts(1)
        ok(ada.delete("/device", deviceId=line.device, groupId=line.group))
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=1)
        assert receiver.requests[0].json["data"] == "last message"
        assert receiver.requests[0].json["deviceName"]


@pytest.mark.engine_free
@pytest.mark.slow
def test_large_messages_and_a_long_backlog_all_arrive(world: World) -> None:
    world.clock.freeze()
    ada = world.person("ada")
    with Receiver() as receiver, Receiver() as other:
        receiver.down()
        line = Line(ada, receiver.url)
        large = Line(ada, other.url)
        line.reports(5_000)
        line.settles(processing=5_000)
        for _ in range(30):
            large.reports(data="x" * 200_000)
        large.settles(succeed=30)
        assert {len(request.json["data"]) for request in other.requests} == {200_000}
        # Each has failed: the clock stands still, so what fails after the jump is never due again.
        line.fails(5_000)
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=5_000)
        # Only messages in flight while the clock jumped past their lease may be repeated.
        assert 5_000 == len(set(receiver.ids)) <= len(receiver.ids) <= 5_000 + IN_FLIGHT_MAX
        totals = line.totals()
        assert totals["MessageStarted"] == totals["MessageProcessed"] == 5_000
        assert totals["RetryMessageProcessed"] == totals["RetryMessageStarted"]


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_clock_that_jumps_repeats_only_messages_in_flight(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "RECOVERY_INTERVAL_S", 0.0)
    ada = world.person("ada")
    with Receiver(StubResponse(delay_s=0.05)) as receiver:
        line = Line(ada, receiver.url)
        line.reports(1_000)
        receiver.wait_for(300)
        _, settled, _ = line.stats()
        world.clock.let_pass(seconds=worker.LEASE_S + 10)
        # Those that were received and not settled yet, and those that were on their way.
        in_flight_max = len(receiver.ids) - settled + IN_FLIGHT_MAX
        line.settles(succeed=1_000)
        assert 1_000 == len(set(receiver.ids)) <= len(receiver.ids) <= 1_000 + in_flight_max


def test_batches_are_settled_together_and_each_message_keeps_its_id(world: World) -> None:
    world.clock.freeze()
    ada = world.person("ada")
    with Receiver(500) as receiver:
        line = Line(
            ada,
            receiver.url,
            params={"batch": 50},
            retryPolicy={"retryDelay": 10, "maxRetry": 1},
        )
        line.reports(40)
        line.wait_for_attempts(1)
        assert line.error == "answered with status 500"
        failed = [element["id"] for request in receiver.requests for element in request.json]
        assert sorted(failed) == sorted(event["id"] for event in line.events())
        receiver.clear()
        receiver.respond_with(200)
        world.clock.let_pass(seconds=13)
        line.settles(succeed=40)
        arrived = [element["id"] for request in receiver.requests for element in request.json]
        assert sorted(arrived) == sorted(failed)
        assert len(receiver.requests) < 40


# --- retry policy ---


@pytest.mark.engine_free
def test_a_receiver_that_was_down_gets_everything_under_the_same_ids_once_it_is_back(
    world: World,
) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        receiver.down()
        line = Line(ada, receiver.url)
        line.reports(3)
        line.wait_for_attempts(1)
        assert line.stats() == (3, 0, 0)
        assert line.error == "connection refused"
        assert line.kept["hasData"] is False
        assert line.totals() == {"MessageStarted": 3, "MessageProcessing": 3}
        ids = [event["id"] for event in line.events()]
        assert {event["message"] for event in line.events()} == {"connection refused"}
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=3)
        assert sorted(receiver.ids) == sorted(ids)
        assert line.totals() == {
            "MessageStarted": 3,
            "MessageProcessed": 3,
            "RetryMessageStarted": 3,
            "RetryMessageProcessed": 3,
        }
        assert all("message" not in event for event in line.events())


@pytest.mark.engine_free
def test_without_a_policy_there_are_five_attempts_with_growing_delays(world: World) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        line = Line(ada, receiver.url)
        line.reports()
        for number, wait_s in enumerate(retry_policy.DEFAULT_DELAYS_S, 1):
            line.wait_for_attempts(number)
            [row] = line.rows()
            assert row.state == DeliveryState.QUEUED
            assert wait_s * SECOND <= row.due_at - row.changed_at <= 1.2 * wait_s * SECOND + 1
            assert len(receiver.requests) == number
            world.clock.let_pass(seconds=wait_s * 1.2 + 1)
        line.settles(failed=1)
        assert receiver.ids == [line.events()[0]["id"]] * 5
        assert line.events()[0]["attempts"] == 5
        assert line.kept["hasData"] is True
        assert line.kept["startTime"] == ada.records(line.device)[0]["timestamp"]
        assert line.totals() == {
            "MessageStarted": 1,
            "MessageError": 1,
            "RetryMessageStarted": 4,
            "RetryMessageError": 4,
        }
        world.clock.let_pass(days=8)
        assert line.kept["hasData"] is False


@pytest.mark.engine_free
@pytest.mark.parametrize("retries", [0, 1, 3])
def test_there_is_one_attempt_and_the_retries_of_the_policy(world: World, retries: int) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver, Receiver(HANG_UP) as worse:
        policy = {"retryDelay": 100, "maxRetry": retries}
        lines = [Line(ada, each.url, retryPolicy=policy) for each in (receiver, worse)]
        for line in lines:
            line.reports(7)
        for number in range(1, retries + 1):
            for line in lines:
                line.wait_for_attempts(number)
                waits = [row.due_at - row.changed_at for row in line.rows()]
                assert all(100 * SECOND <= wait <= 120 * SECOND + 1 for wait in waits)
            world.clock.let_pass(seconds=121)
        for line in lines:
            line.settles(failed=7)
            assert {event["attempts"] for event in line.events()} == {1 + retries}
        assert set(Counter(receiver.ids).values()) == {1 + retries}


@pytest.mark.engine_free
def test_retry_after_is_honoured_up_to_a_limit(world: World) -> None:
    world.clock.freeze()
    ada = world.person("ada")
    now_s = world.clock.now() // SECOND
    asked = {
        "7": (10, 12),  # shorter than the policy's delay
        "120": (120, 120),
        email.utils.formatdate(now_s + 600, usegmt=True): (500, 600),
        email.utils.formatdate(now_s - 600, usegmt=True): (10, 12),
        email.utils.formatdate(now_s + YEARS, usegmt=True): (3_600, 3_600),
        "-5": (10, 12),
        str(YEARS): (3_600, 3_600),
        "9" * 60: (3_600, 3_600),
        "soon": (10, 12),
    }
    with ExitStack() as stack:
        lines = []
        for text in asked:
            answer = StubResponse(status=429, headers={"Retry-After": text}, body=CANARY.encode())
            receiver = stack.enter_context(Receiver(answer))
            lines.append(Line(ada, receiver.url, retryPolicy={"retryDelay": 10, "maxRetry": 5}))
            lines[-1].reports()
        for line, (text, (least, most)) in zip(lines, asked.items(), strict=True):
            line.wait_for_attempts(1)
            [row] = line.rows()
            wait = row.due_at - row.changed_at
            assert least * SECOND <= wait <= most * SECOND + 1, text
            assert line.error == "answered with status 429"


# --- failing receivers ---


@pytest.mark.engine_free
def test_a_reason_never_repeats_what_the_receiver_sent(world: World) -> None:
    ada = world.person("ada")
    cut = "the connection was closed before the response was complete"
    body = CANARY.encode()
    badly: list[tuple[Any, str]] = [
        (StubResponse(status=500, body=body), "answered with status 500"),
        (StubResponse(status=404, body=body), "answered with status 404"),
        (StubResponse(status=503, headers={"X-Why": CANARY}), "answered with status 503"),
        (redirect("http://127.0.0.1:1/"), "answered with a redirect (302), which is not followed"),
        (redirect("/hook", 307), "answered with a redirect (307), which is not followed"),
        (HANG_UP, cut),
        (StubResponse(body=body, reset_at=0), cut),
        (StubResponse(body=body, reset_at=20), cut),
        (StubResponse(body=body, reset_at=60), cut),
        (StubResponse(raw=b"SSH-2.0-" + body + b"\r\n\r\n"), "the response is not valid HTTP"),
    ]
    with ExitStack() as stack:
        receivers = [stack.enter_context(Receiver(answer)) for answer, _ in badly]
        lines = [Line(ada, each.url, retryPolicy=ONCE) for each in receivers]
        secure = stack.enter_context(Receiver(tls=True))
        lines.append(Line(ada, secure.url, retryPolicy=ONCE))
        badly.append((None, "the certificate is not trusted"))
        lines.append(Line(ada, "http://nobody.invalid/", retryPolicy=ONCE))
        badly.append((None, NOT_RESOLVED))
        for line in lines:
            line.reports()
        for line, (answer, reason) in zip(lines, badly, strict=True):
            assert_fails(line, reason, answer)
        assert [len(each.requests) for each in receivers] == [1] * len(receivers)
        assert secure.requests == []


def assert_fails(line: Line, reason: str, answer: Any) -> None:
    line.settles(failed=1)
    [event] = line.events()
    assert (event["message"], line.error) == (reason, reason), answer
    assert CANARY not in json.dumps([event, line.shown()])
    assert line.kept["hasData"] is True


@pytest.mark.engine_free
def test_neither_does_the_reason_of_an_attempt_that_timed_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SEND_TIMEOUT_S", 1.0)
    ada = world.person("ada")
    body = CANARY.encode()
    badly: list[Any] = [
        HANG,
        StubResponse(body=body, drip_s=0.2),
        StubResponse(body=body, delay_s=PATIENCE_S),
    ]
    with ExitStack() as stack:
        lines = []
        for answer in badly:
            receiver = stack.enter_context(Receiver(answer))
            lines.append(Line(ada, receiver.url, retryPolicy=ONCE))
            lines[-1].reports()
        for line, answer in zip(lines, badly, strict=True):
            assert_fails(line, sending.TIMED_OUT.reason, answer)


@pytest.mark.engine_free
@pytest.mark.usefixtures("patient_sender")
def test_a_success_with_a_huge_or_endless_body_is_a_success(world: World) -> None:
    ada = world.person("ada")
    with Receiver(StubResponse(body=b"x" * 8_000_000), StubResponse(endless=True)) as receiver:
        line = Line(ada, receiver.url, retryPolicy=ONCE)
        for number in range(1, 3):
            line.reports()
            line.settles(succeed=number)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_an_attempt_times_out_after_fifteen_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sending.SEND_TIMEOUT_S == 15
    monkeypatch.setattr(sending, "SEND_TIMEOUT_S", 1.0)
    ada = world.person("ada")
    with Receiver(HANG) as receiver:
        line = Line(ada, receiver.url, retryPolicy=ONCE)
        line.reports()
        line.settles(failed=1)
        assert line.error == "did not answer within 15 s"


@pytest.mark.engine_free
def test_gone_disables_the_connector_and_its_deliveries_stay_queued(world: World) -> None:
    ada = world.person("ada")
    with Receiver(500, 410) as receiver:
        line = Line(ada, receiver.url, retryPolicy=RESENT_LATER)
        line.reports()
        line.wait_for_attempts(1)
        line.reports()
        line.settles(processing=1, failed=1)
        assert line.shown()["enabled"] is False
        assert line.error == "answered with status 410, gone"
        assert ("system", "connector.disable", line.connector) in world.audit()
        line.reports(3)  # the connector is disabled
        world.clock.let_pass(days=2)
        assert ok(ada.get("/health/ready")) == {"status": "ok"}
        assert line.stats() == (1, 0, 1)
        receiver.respond_with(200)
        line.change(enabled=True)
        line.settles(succeed=1, failed=1)
        line.resend()
        line.settles(succeed=2)
        assert len(receiver.requests) == 4


@pytest.mark.usefixtures("patient_sender")
def test_gone_from_an_address_that_was_changed_meanwhile_disables_nothing(world: World) -> None:
    ada = world.person("ada")
    with Receiver(StubResponse(status=410, held=True)) as old, Receiver() as new:
        line = Line(ada, old.url)
        line.reports()
        old.wait_for(1)
        line.send_to(new.url)
        old.release()
        line.settles(failed=1)
        assert line.shown()["enabled"] is True
        line.reports()
        line.settles(succeed=1, failed=1)
        assert len(new.requests) == 1


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_gone_waits_for_an_update_in_progress_which_does_not_enable_the_connector_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    has_read, may_write = threading.Event(), threading.Event()
    save = store_channels.save

    def save_slowly(tx: Tx, before: Channel, after: Channel) -> None:
        has_read.set()
        assert may_write.wait(60)
        save(tx, before, after)

    with Receiver(410) as receiver, ThreadPoolExecutor() as pool:
        line = Line(ada, receiver.url)
        monkeypatch.setattr(store_channels, "save", save_slowly)
        renaming = pool.submit(line.change, name="renamed")
        assert has_read.wait(60)
        line.reports()
        receiver.wait_for(1)
        eventually(lambda: is_waiting_for_a_lock(world))
        may_write.set()
        renaming.result(60)
        line.settles(failed=1)
        # The address may have been changed as well: the next message shows whether it is gone.
        assert line.shown()["enabled"] is True
        line.reports()
        line.settles(failed=2)
        assert line.shown()["enabled"] is False


def is_waiting_for_a_lock(world: World) -> bool:
    with psycopg.connect(world.settings.database) as connection:
        waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
        return connection.execute(waiting).fetchone() is not None


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
@pytest.mark.usefixtures("patient_sender")
def test_channels_are_locked_in_the_same_order_whichever_is_gone_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    settle, disable = claiming.settle, store_channels.disable
    locked: list[str] = []

    def settle_both_last_channel_first(tx: Tx, writer: int, attempts: Any, *rest: Any) -> None:
        numbers = {each.leased.channel.number for each in attempts}
        if len(numbers) == 1:
            raise Unavailable("Not before both have failed.")
        newest_first = sorted(attempts, key=lambda each: -each.leased.channel.number)
        settle(tx, writer, newest_first, *rest)

    def record_lock(tx: Tx, kind: str, name: str) -> None:
        locked.append(name)
        acquire_lock(tx, kind, name)

    def record_disabling(tx: Tx, channel: Channel) -> bool:
        locked.append(f"row of {channel.id}")
        return disable(tx, channel)

    with Receiver(StubResponse(status=410, held=True), release_after=2) as receiver:
        first, second = Line(ada, receiver.url), Line(ada, receiver.url)
        monkeypatch.setattr(claiming, "settle", settle_both_last_channel_first)
        monkeypatch.setattr(store_channels, "acquire_lock", record_lock)
        monkeypatch.setattr(store_channels, "disable", record_disabling)
        second.reports()
        first.reports()
        first.settles(failed=1)
        second.settles(failed=1)
        rows = [f"row of {first.connector}", f"row of {second.connector}"]
        assert locked == [first.connector, second.connector, *rows]


# --- messages that cannot be sent ---


@pytest.mark.engine_free
def test_a_message_that_cannot_be_formatted_fails_and_the_others_are_sent(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(
            ada,
            receiver.url,
            params={"template": "message.data.value * 2"},
            format="custom",
        )
        for number in range(10):
            line.reports(data=json.dumps({"value": number} if number % 5 else {"other": 1}))
        line.settles(succeed=8, failed=2)
        assert sorted(int(body) for body in receiver.bodies) == [2, 4, 6, 8, 12, 14, 16, 18]
        failed = [event for event in line.events() if event["status"] == "failed"]
        assert {event["attempts"] for event in failed} == {1}
        assert all(
            event["message"].startswith("the message could not be formatted: ") for event in failed
        )


@pytest.mark.engine_free
def test_an_internal_error_while_formatting_fails_one_message_and_not_the_connector(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(delivery_in_flight_max=2)
    build = messages.MessageBuilder.build

    def failing(
        self: messages.MessageBuilder, seq: int, encoded: EncodedRecord, context: str
    ) -> Any:
        if encoded.record.data == "fail":
            raise ZeroDivisionError("a mistake")
        return build(self, seq, encoded, context)

    monkeypatch.setattr(messages.MessageBuilder, "build", failing)
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        line.reports(3, data="fail")
        line.reports(40)
        line.settles(succeed=40, failed=3)
        assert len(receiver.requests) == 40
        assert line.error == "the message could not be formatted because of an internal error"


@pytest.mark.engine_free
def test_messages_that_cannot_be_formatted_cost_the_next_ones_no_attempts(world: World) -> None:
    """A dead destination is probed with one message, which must be one that can be sent."""
    ada = world.person("ada")
    with Receiver(HANG_UP) as receiver:
        line = Line(
            ada,
            receiver.url,
            params={"template": "message.data.value"},
            format="custom",
            retryPolicy={"retryDelay": 60, "maxRetry": 2},
        )
        line.says(*['{"value": 1}'] * 20)
        line.wait_for_attempts(1)
        for _ in range(5):
            line.says("{}", *['{"value": 2}'] * 9)
        line.wait_for_attempts(1)
        receiver.respond_with(200)
        world.clock.let_pass(seconds=80)
        line.settles(succeed=65, failed=5)


# --- receivers that are slowed down ---


@pytest.mark.parametrize(
    ("outcome", "is_failing", "requested_s"),
    [
        (Delivered(status=200), False, 0),
        *((Refused("x", status=status), False, 0) for status in (300, 400, 401, 404, 409, 422)),
        *((Refused("x", status=status), True, 0) for status in (408, 429, 500, 502, 503, 504, 599)),
        *((Refused("x", status=status, retry_after_s=7), True, 7) for status in (429, 503)),
        (Refused("x", status=500, retry_after_s=7), True, 0),  # no status that asks for time
        (Refused("x", status=404, retry_after_s=7), False, 0),
        (Refused("x", status=410, is_final=True, disables=True), False, 0),
        (Refused("x", status=500, is_final=True), False, 0),
        (Refused("not HTTP"), False, 0),
        (Unreachable("x"), True, 0),
        (Unreachable("denied", is_final=True), False, 0),  # nobody was asked
    ],
)
def test_which_outcomes_are_about_the_receiver(
    outcome: Outcome, is_failing: bool, requested_s: int
) -> None:
    assert is_receiver_failing(outcome) is is_failing
    assert get_requested_pause_s(outcome) == requested_s


def test_a_receiver_that_fails_is_slowed_down_and_gets_everything_once_it_is_back(
    world: World,
) -> None:
    """It got 39,000 requests in 30 seconds."""
    ada = world.person("ada")
    with Receiver(500) as receiver, Receiver() as healthy:
        line = Line(ada, receiver.url, retryPolicy={"retryDelay": 1, "maxRetry": 100})
        other = ada.connector(line.group, healthy.url)
        began = time.monotonic()
        line.reports(1_000)
        healthy.wait_for(1_000)  # which nothing holds up
        receiver.wait_for(2 * IN_FLIGHT_MAX)
        # One after the other, with a pause that grows to a second.
        most = IN_FLIGHT_MAX + PROBE_AFTER
        most += (2 * (time.monotonic() - began) / PAUSE_STEP_S) ** 0.5
        assert len(receiver.requests) <= most + 1
        health = line.health
        assert health["failingSince"] == line.shown()["error"]["since"]
        assert health["nextAttemptAt"] >= health["failingSince"]
        receiver.clear()
        receiver.respond_with(200)
        line.settles(succeed=1_000)
        assert len(set(receiver.ids)) == 1_000
        assert "nextAttemptAt" not in line.health
        eventually(lambda: ada.events(line.group, other)["stats"]["totalSucceed"] == 1_000)


def test_retries_are_brought_forward_a_few_at_a_time_until_one_fails(world: World) -> None:
    ada = world.person("ada")
    with Receiver(503) as receiver:
        line = Line(ada, receiver.url, retryPolicy=RESENT_LATER)
        line.reports(40)
        line.wait_for_attempts(1)
        # It is back for one message, and refuses the first that are brought forward.
        receiver.respond_with(200, 404)
        line.reports()
        recovered = world.app.engine._work.recovered
        failed = engine.FORWARDED_MIN
        processing = 40 - failed
        line.settles(processing=processing, succeed=1, failed=failed)
        eventually(lambda: not recovered)
        # It is back for good; nothing waits for its day.
        receiver.respond_with(200)
        line.reports(PROBE_AFTER)
        line.settles(succeed=1 + PROBE_AFTER, processing=processing, failed=failed)
        receiver.respond_with(503)
        line.reports(PROBE_AFTER + 1)
        eventually(lambda: line.health["failures"] > PROBE_AFTER)
        receiver.respond_with(200)
        line.reports()
        line.settles(succeed=42 - failed + 2 * PROBE_AFTER + 1, failed=failed)


def test_a_receiver_that_asks_for_time_gets_nothing_until_it_is_over(world: World) -> None:
    ada = world.person("ada")
    asks = StubResponse(429, headers={"Retry-After": "600"})
    with Receiver(asks, StubResponse(held=True)) as receiver, Receiver() as elsewhere:
        line = Line(ada, receiver.url, retryPolicy={"retryDelay": 1, "maxRetry": 5})
        line.reports(2)
        line.fails(1)
        receiver.release()  # which was sent before, and ends nothing
        line.settles(succeed=1, processing=1)
        receiver.respond_with(200)
        line.reports(50)  # which were never refused
        due = parse_date(line.health["nextAttemptAt"])
        left = due - world.clock.now()
        assert 500 * SECOND < left <= 600 * SECOND
        world.clock.let_pass(seconds=400)
        world.restart(keep_port=True)  # nobody forgets it
        world.clock.let_pass(seconds=100)
        assert line.stats() == (51, 1, 0)
        assert len(receiver.requests) == 2
        world.clock.let_pass(seconds=110)
        line.settles(succeed=52)
        # Another address is not waited for.
        receiver.respond_with(asks)
        line.reports()
        line.fails(1)
        line.send_to(elsewhere.url)
        line.reports()
        elsewhere.wait_for(1)


def test_a_receiver_does_not_ask_for_time_in_the_name_of_the_next_one(world: World) -> None:
    ada = world.person("ada")
    asks = StubResponse(429, headers={"Retry-After": "600"}, held=True)
    with Receiver(asks) as old, Receiver() as new:
        line = Line(ada, old.url)
        line.reports()
        old.wait_for(1)
        line.send_to(new.url)
        line.reports()
        new.wait_for(1)
        old.release()
        line.fails(1)
        assert channel_of(line).paused_until is None


def test_time_that_a_receiver_asks_another_process_for_is_respected(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        line.reports()
        line.settles(succeed=1)
        channel = channel_of(line)
        pause = store_channels.RequestedPause(channel.version, world.clock.now() + 600 * SECOND)
        world.write(lambda tx: store_channels.record_failure(tx, channel.number, "slow", 1, pause))
        workers = world.app.engine._workers
        eventually(lambda: workers[channel.number].is_paused)
        line.reports(20)
        world.clock.let_pass(seconds=500)
        assert len(receiver.requests) == 1
        world.clock.let_pass(seconds=110)
        line.settles(succeed=21)


@pytest.mark.engine_free
def test_no_message_is_given_up_for_what_another_one_was_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "REFUSALS_FOR_ALL", PROBE_AFTER)
    ada = world.person("ada")
    with Receiver(500) as receiver:
        line = Line(ada, receiver.url, retryPolicy=ONCE)
        line.reports(IN_FLIGHT_MAX + 4)
        line.settles(failed=IN_FLIGHT_MAX + 4)
        assert len(set(receiver.ids)) == IN_FLIGHT_MAX + 4
        assert {event["attempts"] for event in line.events()} == {1}


# --- isolation between connectors ---


@pytest.mark.engine_free
def test_a_receiver_that_hangs_does_not_delay_the_others(world: World) -> None:
    ada = world.person("ada")
    with Receiver(HANG) as hanging, many(9) as healthy:
        stuck = Line(ada, hanging.url)
        lines = [Line(ada, each.url) for each in healthy]
        stuck.reports(100)
        hanging.wait_for(16)
        for line in lines:
            line.reports(50)
        for line in lines:
            line.settles(succeed=50)
        assert stuck.stats() == (100, 0, 0)
        # Its own limit holds, too; on a busy machine attempts may have timed out meanwhile.
        sent = len(hanging.requests)
        timed_out = sum(row.attempts - (row.state == DeliveryState.LEASED) for row in stuck.rows())
        assert 16 <= sent <= 16 + timed_out


@pytest.mark.engine_free
def test_retries_are_made_also_while_another_connector_is_busy_all_the_time(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver, Receiver() as other:
        receiver.down()
        line = Line(ada, receiver.url)
        line.reports()
        line.wait_for_attempts(1)
        busy = Line(ada, other.url)
        with busily(busy):
            other.wait_for(10)
            receiver.up()
            world.clock.let_pass(seconds=40)
            receiver.wait_for(1)
        line.settles(succeed=1)


@contextmanager
def busily(line: Line) -> Iterator[None]:
    """Send records continuously, so that the engine is never idle."""
    over = threading.Event()

    def report() -> None:
        while not over.is_set():
            line.reports()
            time.sleep(0.02)

    thread = threading.Thread(target=report)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.engine_free
def test_a_dead_destination_costs_few_connections_and_its_messages_their_attempts(
    world: World,
) -> None:
    ada = world.person("ada")
    with Receiver(HANG_UP) as receiver:
        line = Line(ada, receiver.url, retryPolicy={"retryDelay": 60, "maxRetry": 2})
        line.reports(200)
        line.wait_for_attempts(1)
        assert receiver.connections < 50
        for number in (2, 3):
            world.clock.let_pass(seconds=75)
            line.wait_for_attempts(number)
        line.settles(failed=200)
        assert receiver.connections < 90
        assert line.totals() == {
            "MessageStarted": 200,
            "MessageError": 200,
            "RetryMessageStarted": 400,
            "RetryMessageError": 400,
        }
        # The receiver is back: new messages and resent ones arrive at once.
        receiver.respond_with(200)
        line.reports(5)
        line.settles(succeed=5, failed=200)
        line.resend()
        line.settles(succeed=205)


@pytest.mark.engine_free
def test_a_receiver_that_floods_once_gets_one_request_at_a_time(world: World) -> None:
    ada = world.person("ada")
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    with Receiver(StubResponse(raw=interim * 20)) as receiver:
        line = Line(ada, receiver.url, retryPolicy=RESENT_LATER)
        line.reports()
        line.wait_for_attempts(1)
        line.reports(100)
        line.wait_for_attempts(1)
        assert receiver.connections < IN_FLIGHT_MAX
        assert line.error == http_limits.TOO_MANY_INTERIM


# --- changes while deliveries are queued ---


@pytest.mark.usefixtures("patient_sender")
def test_messages_that_are_not_in_flight_go_to_the_new_address(world: World) -> None:
    ada = world.person("ada")
    with Receiver(StubResponse(held=True)) as old, Receiver() as new:
        line = Line(ada, old.url)
        line.reports(100)
        old.wait_for(16)
        line.send_to(new.url)
        eventually(lambda: len(new.requests) >= 84)  # the engine has seen the change
        old.release()
        line.settles(succeed=100)
        assert len(old.requests) == 16
        assert len(new.requests) == 84
        assert len({*old.ids, *new.ids}) == 100
        assert {event["attempts"] for event in line.events()} == {1}


@pytest.mark.usefixtures("patient_sender")
def test_a_connector_that_is_disabled_under_way_sends_nothing_more_until_it_is_enabled(
    world: World,
) -> None:
    ada = world.person("ada")
    with Receiver(StubResponse(held=True)) as receiver:
        line = Line(ada, receiver.url)
        line.reports(100)
        receiver.wait_for(16)
        line.change(enabled=False)
        eventually(lambda: not world.app.engine._workers)  # the engine has seen the change
        receiver.release()
        line.settles(processing=84, succeed=16)
        eventually(
            lambda: (
                {row.attempts for row in line.rows() if row.state == DeliveryState.QUEUED} == {0}
            )
        )
        assert len(receiver.requests) == 16
        receiver.respond_with(200)
        line.change(enabled=True)
        line.settles(succeed=100)
        assert len(receiver.requests) == len(set(receiver.ids)) == 100


@pytest.mark.usefixtures("patient_sender")
def test_a_connector_that_is_deleted_under_way_sends_nothing_more(world: World) -> None:
    ada = world.person("ada")
    with Receiver(StubResponse(held=True)) as receiver, Receiver() as other:
        line = Line(ada, receiver.url)
        line.reports(100)
        receiver.wait_for(16)
        ok(ada.delete("/connector", **line.name))
        eventually(lambda: not world.app.engine._workers)  # the engine has seen the change
        receiver.release()
        second = Line(ada, other.url)
        second.reports(5)
        second.settles(succeed=5)
        eventually(lambda: world.read(store_backlogs.get_total_backlog).leased == 0)
        assert len(receiver.requests) == 16
        # Nothing counts as failed, and nothing more is sent.
        assert line.totals() == {"MessageStarted": 100, "MessageProcessed": 16}


@pytest.mark.engine_free
def test_connections_of_a_connector_that_is_gone_are_closed(world: World) -> None:
    ada = world.person("ada")
    with many(3) as receivers:
        kept, disabled, deleted = lines = [Line(ada, each.url) for each in receivers]
        for line in lines:
            line.reports()
            line.settles(succeed=1)
        disabled.change(enabled=False)
        ok(ada.delete("/connector", **deleted.name))
        eventually(lambda: set(world.app.engine._workers) == {number_of(kept)})


def channel_of(line: Line) -> Channel:
    number = number_of(line)
    found = line.person.world.read(lambda tx: store_channels.get_by_numbers(tx, [number]))
    return dict(found)[number]


def number_of(line: Line) -> int:
    return line.rows()[0].channel_number


# --- resend ---


@pytest.mark.engine_free
@pytest.mark.slow
@pytest.mark.usefixtures("patient_sender")
def test_twenty_people_who_resend_at_once_send_everything_again_once(world: World) -> None:
    ada = world.person("ada")
    with Receiver(400) as receiver:
        line = Line(ada, receiver.url, retryPolicy=ONCE)
        line.reports(120)
        line.settles(failed=120)
        receiver.clear()
        receiver.respond_with(StubResponse(400, held=True))  # it runs until all have asked
        shown: list[dict[str, Any]] = []
        threads = [threading.Thread(target=lambda: shown.append(line.resend())) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(shown) == 20
        receiver.release()
        eventually(lambda: line.kept["resending"] is False)
        assert sorted(receiver.ids) == sorted(event["id"] for event in line.events())
        assert line.stats() == (0, 0, 120)
        assert {event["attempts"] for event in line.events()} == {1}
        assert [action for _, action, _ in world.audit()].count("connector.resend") == 1
        assert line.totals() == {
            "MessageStarted": 120,
            "MessageError": 120,
            "RetryMessageStarted": 120,
            "RetryMessageError": 120,
        }
        receiver.respond_with(200)
        assert line.resend()["dataFailurePolicy"]["resending"] is True
        line.settles(succeed=120)
        eventually(lambda: line.kept == {**line.kept, "resending": False, "hasData": False})
        assert "startTime" not in line.kept
        assert line.resend()["dataFailurePolicy"]["resending"] is False


@pytest.mark.engine_free
def test_a_resend_goes_on_as_fast_as_the_operator_says(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    resent: list[int] = []
    resend = dead_letters.resend

    def count_resent(tx: Tx, *arguments: Any) -> int:
        resent.append(resend(tx, *arguments))
        return resent[-1]

    monkeypatch.setattr(dead_letters, "resend", count_resent)
    ada = make_world(resend_per_s=2).person("ada")
    with Receiver(500) as receiver:
        line = Line(ada, receiver.url, retryPolicy=ONCE)
        line.reports(5)
        line.settles(failed=5)
        receiver.respond_with(200)
        line.resend()
        line.settles(succeed=5)
        eventually(lambda: line.kept["resending"] is False)
    assert [count for count in resent if count] == [2, 2, 1]


@pytest.mark.engine_free
def test_expired_dead_letters_are_not_resent(world: World) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        keep = {"storingDuration": 3_600}
        line = Line(ada, receiver.url, retryPolicy=ONCE, dataFailurePolicy=keep)
        line.reports()
        line.settles(failed=1)
        world.clock.let_pass(seconds=3_000)
        line.reports()
        line.settles(failed=2)
        world.clock.let_pass(seconds=1_000)
        assert line.kept["hasData"] is True
        assert line.kept["startTime"] == ada.records(line.device)[-1]["timestamp"]
        receiver.clear()
        receiver.respond_with(200)
        line.resend()
        line.settles(succeed=1, failed=1)
        eventually(lambda: line.kept["resending"] is False)
        assert len(receiver.requests) == 1
        assert line.kept["hasData"] is False


def test_without_a_storing_duration_no_dead_letter_is_kept(world: World) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        keep = {"storingDuration": 0}
        line = Line(ada, receiver.url, retryPolicy=ONCE, dataFailurePolicy=keep)
        line.reports(3)
        line.settles(failed=3)
        assert line.kept["hasData"] is False
        assert line.resend()["dataFailurePolicy"]["resending"] is False
        bodies = [
            row[0]
            for row in world.read(lambda tx: tx.fetch(Statement("select body from delivery")))
        ]
        assert bodies == [None] * 3
        assert ok(ada.get("/connector/health", **line.name))["deadLetters"] == 0
        overview = ok(ada.get("/group/overview", groupId=line.group))
        assert overview["connectors"]["deadLetters"] == 0


# --- health and metrics ---


@pytest.mark.engine_free
@pytest.mark.slow
def test_an_engine_without_progress_makes_the_service_unready(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    plain = claiming.settle

    def failing(*about: Any) -> None:
        raise ZeroDivisionError("a mistake")

    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        assert ok(ada.get("/health/ready")) == {"status": "ok"}
        monkeypatch.setattr(engine, "STALLED_S", 4)
        monkeypatch.setattr(claiming, "settle", failing)
        line.reports(3)
        stuck = "the delivery engine makes no progress"
        eventually(lambda: ada.get("/health/ready").json().get("reason") == stuck)
        assert ada.get("/health/ready").status_code == 503
        assert ok(ada.get("/health/live")) == {"status": "ok"}
        monkeypatch.setattr(claiming, "settle", plain)
        eventually(lambda: ada.get("/health/ready").status_code == 200)
        line.settles(succeed=3)
        assert len(receiver.requests) == 3


@pytest.mark.engine_free
def test_an_engine_that_hangs_makes_the_service_unready(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    hangs = True

    async def hanging(*about: Any) -> None:
        while hangs:  # noqa: ASYNC110 (set by another thread)
            await asyncio.sleep(0.05)

    with Receiver() as receiver, monkeypatch.context() as during:
        line = Line(ada, receiver.url)
        during.setattr(engine, "STALLED_S", 1.5)
        during.setattr(engine.Engine, "_run_transaction", hanging)
        line.reports()
        eventually(lambda: ada.get("/health/ready").status_code == 503)
        assert line.stats() == (1, 0, 0)
        during.undo()
        hangs = False
        line.settles(succeed=1)
        assert ok(ada.get("/health/ready")) == {"status": "ok"}


@pytest.mark.usefixtures("patient_sender")
def test_metrics_count_queued_and_failed_deliveries_and_attempts_by_outcome(world: World) -> None:
    world.clock.freeze()
    ada = world.person("ada")
    with Receiver() as receiver, Receiver(500) as failing, Receiver(HANG) as hanging:
        good, bad = Line(ada, receiver.url), Line(ada, failing.url, retryPolicy=ONCE)
        later = Line(ada, failing.url)
        stuck = Line(ada, hanging.url)
        for line in (good, bad, later):
            line.reports(4)
        stuck.reports(2)
        good.settles(succeed=4)
        bad.settles(failed=4)
        later.wait_for_attempts(1)
        hanging.wait_for(2)
        world.clock.let_pass(seconds=20)
        found = numbers_of(world)
        assert found['longwire_deliveries{state="queued"}'] == 4
        assert found['longwire_deliveries{state="sending"}'] == 2
        assert found['longwire_deliveries{state="failed"}'] == 4
        assert found["longwire_delivery_oldest_seconds"] >= 20
        attempts = 'longwire_delivery_attempt_seconds_count{outcome="%s",type="http"}'
        assert found[attempts % "delivered"] == 4
        assert found[attempts % "refused"] == 8


def test_a_metric_that_cannot_be_counted_repeats_no_delivery(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*attempt: Any) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(world.app.engine._sender, "_on_attempt", fail)
    with Receiver() as receiver:
        line = Line(world.person("ada"), receiver.url)
        line.reports(3)
        line.settles(succeed=3)
        assert {event["attempts"] for event in line.events()} == {1}
        assert len(receiver.requests) == 3


def numbers_of(world: World) -> dict[str, float]:
    """The samples of /metrics by name and labels."""
    lines = world.nobody.get("/metrics").text.splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}

"""The engine, seen from outside: what arrives at receivers that behave and at those that do not."""

import email.utils
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from longwire.clock import SECOND
from longwire.delivery import engine, policy
from longwire.ids import delivery_key
from longwire.store import deliveries as store
from tests.delivery.receiver import HANG, HANG_UP, Answer, Receiver, redirect
from tests.process import wait_for
from tests.world import Person, World, ok, record_of

CANARY = "the receiver's own words"
ONCE = {"retryDelay": 1, "maxRetry": 0}
RESENT_LATER = {"retryDelay": 86_400, "maxRetry": 1}
YEARS = 10 * 365 * 86_400


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


class Line:
    """A group with a device and a connector, and what can be asked of it."""

    def __init__(self, person: Person, url: str, **fields: Any) -> None:
        self.person = person
        self.group = person.group()
        self.device = person.device(self.group)
        self.connector = person.connector(self.group, url, **fields)

    @property
    def name(self) -> dict[str, str]:
        return {"connectorId": self.connector, "groupId": self.group}

    def reports(self, number: int = 1, **fields: Any) -> None:
        """So many records, each with a moment of its own."""
        numbers = self.person.world.numbers
        items = [
            record_of(self.device, timestamp=str(1_700_000_000_000 + next(numbers)), **fields)
            for _ in range(number)
        ]
        for start in range(0, number, 500):
            batch = {"items": items[start : start + 500]}
            ok(self.person.post("/device/data/batch", batch))

    def change(self, **fields: Any) -> None:
        ok(self.person.put("/connector", {**self.name, **fields}))

    def send_to(self, url: str) -> None:
        self.change(params=json.dumps({"url": url}))

    def resend(self) -> dict[str, Any]:
        return dict(ok(self.person.post("/connector/resendData", self.name)))

    def shown(self) -> dict[str, Any]:
        return dict(ok(self.person.get("/connector", **self.name)))

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
        """How many are still processing, have succeeded, have failed."""
        found = self._events(limit="1")["stats"]
        return found["totalStillProcessing"], found["totalSucceed"], found["totalFailed"]

    def _events(self, **params: str) -> dict[str, Any]:
        begin = str(self.person.world.clock.now() // 1_000 - 30 * 86_400_000)
        return self.person.events(self.group, self.connector, beginDate=begin, **params)

    def settles(
        self, *, processing: int = 0, succeed: int = 0, failed: int = 0, seconds: float = 20
    ) -> None:
        wanted = (processing, succeed, failed)
        deadline = time.monotonic() + seconds
        while (found := self.stats()) != wanted:
            assert time.monotonic() < deadline, f"{found} instead of {wanted}; {self.error}"
            time.sleep(0.05)

    def tried(self, attempts: int) -> None:
        """Wait until everything has been tried so often, and waits for the next time or is over."""

        def is_so() -> bool:
            return {(each.state != store.LEASED, each.attempts) for each in self.rows()} == {
                (True, attempts)
            }

        wait_for(is_so)

    def rows(self) -> list[store.Event]:
        """The deliveries as the engine knows them, in order."""
        world = self.person.world
        keys = [delivery_key(event["id"]) for event in self.events()]
        found = world.read(lambda tx: [store.get(tx, *key) for key in keys if key])
        return sorted((each for each in found if each), key=lambda each: each.seq)

    def totals(self) -> dict[str, int]:
        """The group's counters of messages, without those that are 0."""
        now = self.person.world.clock.now() // 1_000
        period = {"beginDate": str(now - 30 * 86_400_000), "endDate": str(now + 60_000)}
        found = ok(
            self.person.get("/group/metrics", groupId=self.group, timeSpan=10**9, **period)
        )
        return {
            name.removeprefix("totalConnector"): value
            for name, value in found.items()
            if name.startswith("totalConnector") and value
        }


@contextmanager
def many(number: int, *answers: Any) -> Iterator[list[Receiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Receiver(*answers)) for _ in range(number)]


# --- the ordinary ---


def test_every_record_arrives_once_and_is_told_of_under_the_id_it_had(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(ada, receiver.url)
        for kind in ("data", "event", "geoloc", "telemetry"):
            ada.reports(line.device, kind)
        line.settles(succeed=4)
        events = line.events()
        assert [event["kind"] for event in events] != []
        assert sorted(receiver.ids) == sorted(event["id"] for event in events)
        assert {event["attempts"] for event in events} == {1}
        assert {request.json["kind"] for request in receiver.requests} == set(
            ("data", "event", "geoloc", "telemetry")
        )
        assert line.totals() == {"MessageStarted": 4, "MessageProcessed": 4}
        assert line.error is None
        ada.reports(line.device)  # the same record again is no second message
        ada.reports(line.device, timestamp="2026-03-01T12:00:01.000Z")
        line.settles(succeed=5)
        assert len(receiver.requests) == len(set(receiver.ids)) == 5


def test_what_waits_when_the_service_stops_goes_out_after_it_started_again(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        line = Line(ada, receiver.url, retryPolicy={"retryDelay": 30, "maxRetry": 3})
        receiver.down()
        line.reports(20)
        line.tried(1)
        world.restart()
        line.settles(processing=20)
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=20)
        assert len(set(receiver.ids)) == len(receiver.ids) == 20
        assert {event["attempts"] for event in line.events()} == {2}


def test_a_message_goes_out_also_when_its_device_is_gone_by_then(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        receiver.down()
        line = Line(ada, receiver.url)
        line.reports(data="last words")
        line.tried(1)
        ok(ada.delete("/device", deviceId=line.device, groupId=line.group))
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=1)
        assert receiver.requests[0].json["data"] == "last words"
        assert receiver.requests[0].json["deviceName"]


def test_large_messages_and_a_long_backlog_all_arrive(world: World) -> None:
    ada = world.person("ada")
    with Receiver() as receiver, Receiver() as other:
        receiver.down()
        line = Line(ada, receiver.url)
        large = Line(ada, other.url)
        line.reports(5_000)
        line.settles(processing=5_000)
        for number in range(30):
            ada.reports(large.device, data="x" * 200_000, timestamp=str(1_700_000_000_000 + number))
        large.settles(succeed=30)
        assert {len(request.json["data"]) for request in other.requests} == {200_000}
        receiver.up()
        world.clock.let_pass(seconds=40)
        line.settles(succeed=5_000, seconds=90)
        assert len(set(receiver.ids)) == len(receiver.ids) == 5_000
        totals = line.totals()
        assert totals["MessageStarted"] == totals["MessageProcessed"] == 5_000
        assert totals["RetryMessageProcessed"] == totals["RetryMessageStarted"]


def test_batches_are_settled_together_and_each_message_keeps_its_id(world: World) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        line = Line(
            ada,
            receiver.url,
            params={"batch": 50},
            retryPolicy={"retryDelay": 10, "maxRetry": 1},
        )
        line.reports(40)
        line.tried(1)
        assert line.error == "answered with status 500"
        failed = [element["id"] for request in receiver.requests for element in request.json]
        assert sorted(failed) == sorted(event["id"] for event in line.events())
        receiver.forget()
        receiver.answer(200)
        world.clock.let_pass(seconds=13)
        line.settles(succeed=40)
        arrived = [element["id"] for request in receiver.requests for element in request.json]
        assert sorted(arrived) == sorted(failed)
        assert len(receiver.requests) < 40


# --- the policy ---


def test_a_receiver_that_was_down_gets_everything_under_the_same_ids_once_it_is_back(
    world: World,
) -> None:
    ada = world.person("ada")
    with Receiver() as receiver:
        receiver.down()
        line = Line(ada, receiver.url)
        line.reports(3)
        line.tried(1)
        assert line.stats() == (3, 0, 0)
        assert line.error == "the connection was refused"
        assert line.kept["hasData"] is False
        assert line.totals() == {"MessageStarted": 3, "MessageProcessing": 3}
        ids = [event["id"] for event in line.events()]
        assert {event["message"] for event in line.events()} == {"the connection was refused"}
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


def test_without_a_policy_there_are_five_tries_that_wait_longer_and_longer(world: World) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        line = Line(ada, receiver.url)
        line.reports()
        for number, wait_s in enumerate(policy.DEFAULT_WAITS_S, 1):
            line.tried(number)
            [row] = line.rows()
            assert row.state == store.QUEUED
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


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_message_is_tried_once_and_as_often_again_as_the_policy_says(
    world: World, retries: int
) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver, Receiver(HANG_UP) as worse:
        told = {"retryDelay": 100, "maxRetry": retries}
        lines = [Line(ada, each.url, retryPolicy=told) for each in (receiver, worse)]
        for line in lines:
            line.reports(7)
        for number in range(1, retries + 1):
            for line in lines:
                line.tried(number)
                waits = [row.due_at - row.changed_at for row in line.rows()]
                assert all(100 * SECOND <= wait <= 120 * SECOND + 1 for wait in waits)
            world.clock.let_pass(seconds=121)
        for line in lines:
            line.settles(failed=7)
            assert {event["attempts"] for event in line.events()} == {1 + retries}
        assert set(Counter(receiver.ids).values()) == {1 + retries}


def test_a_try_again_later_is_honoured_within_bounds(world: World) -> None:
    ada = world.person("ada")
    now_s = world.clock.now() // SECOND
    asked = {
        "7": (10, 12),  # less than the policy waits anyway
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
            answer = Answer(status=429, headers={"Retry-After": text}, body=CANARY.encode())
            receiver = stack.enter_context(Receiver(answer))
            lines.append(
                Line(ada, receiver.url, retryPolicy={"retryDelay": 10, "maxRetry": 5})
            )
            lines[-1].reports()
        for line, (text, (least, most)) in zip(lines, asked.items(), strict=True):
            line.tried(1)
            [row] = line.rows()
            wait = row.due_at - row.changed_at
            assert least * SECOND <= wait <= most * SECOND + 1, text
            assert line.error == "answered with status 429"


# --- receivers that behave badly ---


def test_every_kind_of_failure_is_told_in_our_own_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SEND_TIMEOUT_S", 1.0)
    cut = "the connection was closed before the answer was complete"
    words = CANARY.encode()
    badly: list[tuple[Any, str]] = [
        (Answer(status=500, body=words), "answered with status 500"),
        (Answer(status=404, body=words), "answered with status 404"),
        (Answer(status=503, headers={"X-Why": CANARY}), "answered with status 503"),
        (redirect("http://127.0.0.1:1/"), "answered with a redirect (302), which is not followed"),
        (redirect("/hook", 307), "answered with a redirect (307), which is not followed"),
        (HANG, engine.TOO_SLOW),
        (Answer(body=words, drip_s=0.2), engine.TOO_SLOW),
        (Answer(body=words, delay_s=3), engine.TOO_SLOW),
        (HANG_UP, cut),
        (Answer(body=words, reset_at=0), cut),
        (Answer(body=words, reset_at=20), cut),
        (Answer(body=words, reset_at=60), cut),
        (Answer(raw=b"SSH-2.0-" + words + b"\r\n\r\n"), "answered with something that is not HTTP"),
    ]
    with ExitStack() as stack:
        receivers = [stack.enter_context(Receiver(answer)) for answer, _ in badly]
        lines = [Line(ada, each.url, retryPolicy=ONCE) for each in receivers for ada in _persons(world, 1)]
        secure = stack.enter_context(Receiver(tls=True))
        lines.append(Line(lines[0].person, secure.url, retryPolicy=ONCE))
        badly.append((None, "the certificate was not accepted"))
        lines.append(Line(lines[0].person, "http://nobody.invalid/", retryPolicy=ONCE))
        badly.append((None, "the name of the host does not resolve"))
        for line in lines:
            line.reports()
        for line, (answer, reason) in zip(lines, badly, strict=True):
            line.settles(failed=1)
            [event] = line.events()
            assert (event["message"], line.error) == (reason, reason), answer
            assert CANARY not in json.dumps([event, line.shown()])
            assert line.kept["hasData"] is True
        assert [len(each.requests) for each in receivers] == [1] * len(receivers)
        assert secure.requests == []


def _persons(world: World, number: int) -> list[Person]:
    return [world.person(f"person{next(world.numbers)}") for _ in range(number)]

"""Ingest: concurrent requests share a commit, get their responses after it, and are stored once."""

import asyncio
import itertools
import json
import random
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import httpx
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.errors import Unavailable
from longwire.ingest.committer import UNPAUSED_RECORDS
from longwire.ingest.requests import IngestItem, IngestRequest, MessageMetadata
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.service import LARGE_RECORDS, Ingest
from longwire.ingest.storing import store_requests, store_service_events
from longwire.model import Actor, ServiceEvent
from longwire.records import EventRecord, digest_record
from longwire.store.database import Tx
from longwire.store.engines import postgres
from longwire.store.engines.sqlite import SQLite
from longwire.store.fleet import reporting_devices
from longwire.store.records import record_deletion
from longwire.store.records.arrival_numbers import WRITER_BITS, arrival_moment, first_seq
from longwire.store.statement import Statement
from longwire.work.turns import SERVICE, current_caller
from tests.reports import (
    KINDS,
    counted,
    device,
    devices,
    list_data,
    list_records,
    post_record,
    post_records,
    report,
)
from tests.waiting import eventually
from tests.world import ONE_SLOT, Person, World, not_on_citus, ok, record_of, refused

T = TypeVar("T")

WRITERS = 1 << WRITER_BITS
NONE = {"data": 0, "event": 0, "geoloc": 0, "telemetry": 0}


class Gate:
    """Blocks every thread that reaches it until it is opened."""

    def __init__(self) -> None:
        self._reached, self._open = threading.Event(), threading.Event()

    def hold(self, what: T) -> T:
        self._reached.set()
        assert self._open.wait(60), "nobody opened the gate"
        return what

    @property
    def is_reached(self) -> bool:
        return self._reached.is_set()

    def open(self) -> None:
        self._open.set()


class Commits:
    """Counts the records of each commit, and can block one before it ends."""

    def __init__(self, world: World) -> None:
        self.sizes: list[int] = []
        self.ingest: Ingest = world.app._ingest
        self._gate: Gate | None = None
        submit = world.database.submit

        def watched(work: Callable[[Tx], Any]) -> Any:
            if getattr(work, "func", None) not in [
                each._store_batch for each in self.ingest.committers
            ]:
                return submit(work)
            (batch,) = work.args  # type: ignore[attr-defined]

            def seen(tx: Tx) -> Any:
                result = work(tx)
                if not batch:
                    return result
                self.sizes.append(sum(len(request.items) for _, (request, _) in batch))
                gate, self._gate = self._gate, None
                return result if gate is None else gate.hold(result)

            return submit(seen)

        world.database.submit = watched  # type: ignore[method-assign]

    @contextmanager
    def held(self, crowd: "Crowd", first: Callable[[], httpx.Response]) -> Iterator[Future[Any]]:
        """One commit is in progress inside the block, so further requests have to wait."""
        gate = self._gate = Gate()
        answer = crowd.calls(first)
        eventually(lambda: gate.is_reached)
        try:
            yield answer
        finally:
            gate.open()

    def wait_for_waiting(self, records: int) -> None:
        eventually(lambda: self.ingest.waiting == records)


class Crowd:
    """Many concurrent clients."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(64)
        self.answers: list[Future[httpx.Response]] = []

    def calls(self, call: Callable[[], httpx.Response]) -> Future[httpx.Response]:
        self.answers.append(self._pool.submit(call))
        return self.answers[-1]

    def post_record(self, caller: Person, kind: str, *record: Any) -> Future[httpx.Response]:
        return self.calls(lambda: post_record(caller, kind, *record))

    def responses(self) -> list[httpx.Response]:
        return [answer.result(120) for answer in self.answers]

    def close(self) -> None:
        self._pool.shutdown()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    made = Crowd()
    yield made
    made.close()


def rows(world: World, kind: str) -> int:
    """The number of stored records of a kind."""
    found = world.read(lambda tx: tx.fetch(Statement(f"select count(*) from record_{kind}")))
    return int(found[0][0])


# --- one commit for many ---


@pytest.mark.slow
def test_requests_that_arrive_during_a_commit_share_the_next_one(
    world: World, crowd: Crowd
) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")):
        for number in range(49):
            crowd.post_record(ada, "data", sensor, now, f"{number}")
        commits.wait_for_waiting(50)
    answers = [ok(answer) for answer in crowd.responses()]
    assert commits.sizes == [1, 49]
    assert commits.ingest.waiting == 0
    assert sorted(answer["data"] for answer in answers) == sorted(list_data(ada, "data", sensor))
    # A quiet service does not wait for company.
    for number in range(3):
        ok(post_record(ada, "data", sensor, now, f"alone {number}"))
    assert commits.sizes == [1, 49, 1, 1, 1]


@pytest.mark.parametrize("engine", ["postgresql"])
@pytest.mark.parametrize(("records_each", "enough"), [(1, 20), (5, UNPAUSED_RECORDS)])
def test_between_small_commits_under_load_there_is_a_pause_until_there_is_enough(
    world: World,
    crowd: Crowd,
    monkeypatch: pytest.MonkeyPatch,
    records_each: int,
    enough: int,
) -> None:
    """As many records as before: whoever got a response sends the next. Or enough for a commit."""
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    commits = Commits(world)
    for committer in commits.ingest.committers:
        monkeypatch.setattr(committer, "_pause_s", 3_600.0)

    def post_some(number: int) -> httpx.Response:
        names = [f"{number} {each}" for each in range(records_each)]
        return post_records(ada, "data", [report("data", sensor, now, name) for name in names])

    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")):
        for number in range(20):
            crowd.calls(partial(post_some, number))
        commits.wait_for_waiting(1 + 20 * records_each)
    crowd.responses()
    # Few requests at a time are no load: after the first commit there was no pause.
    assert commits.sizes == [1, 20 * records_each]
    for number in range(enough - 1):
        crowd.post_record(ada, "data", sensor, now, f"paused {number}")
    commits.wait_for_waiting(enough - 1)
    assert commits.sizes == [1, 20 * records_each]
    ok(post_record(ada, "data", sensor, now, "enough"))
    crowd.responses()
    assert commits.sizes == [1, 20 * records_each, enough]


def test_the_size_of_a_commit_is_limited(make_world: Callable[..., World], crowd: Crowd) -> None:
    world = make_world(ingest_commit_records_max=10)
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")):
        for number in range(25):
            crowd.post_record(ada, "data", sensor, now, f"{number}")
        commits.wait_for_waiting(26)
        large = [report("data", sensor, now, f"large {number}") for number in range(30)]
        crowd.calls(lambda: post_records(ada, "data", large))
        commits.wait_for_waiting(56)
    crowd.responses()
    # What one request brought is never torn apart, so it may be larger, but then it goes alone; and
    # the records of its sender do not keep it waiting.
    assert commits.sizes == [1, 30, 10, 10, 5]
    assert len(list_data(ada, "data", sensor)) == 56


@ONE_SLOT
@pytest.mark.parametrize("engine", ["postgresql"])
def test_nobody_waits_for_the_commit_of_a_large_request(world: World, crowd: Crowd) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    mine, yours, now = device(ada, ada.group()), device(bob, bob.group()), world.clock.now()
    commits = Commits(world)
    large = [report("data", mine, now, f"{number}") for number in range(LARGE_RECORDS + 1)]
    with commits.held(crowd, lambda: post_records(ada, "data", large)) as answer:
        # What would wait for the same device is in nobody's way either.
        crowd.post_record(ada, "data", mine, now, "after it")
        commits.wait_for_waiting(LARGE_RECORDS + 2)
        ok(post_record(bob, "data", yours, now, "meanwhile"))
        assert list_data(bob, "data", yours) == ["meanwhile"]
        assert not answer.done()
    for response in crowd.responses():
        ok(response)
    assert commits.sizes == [LARGE_RECORDS + 1, 1, 1]
    # Later all share a commit again.
    with commits.held(crowd, lambda: post_record(bob, "data", yours, now, "first")):
        crowd.post_record(ada, "data", mine, now, "second")
        crowd.post_record(bob, "data", yours, now, "third")
        commits.wait_for_waiting(3)
    crowd.responses()
    assert commits.sizes[3:] == [1, 2]


@ONE_SLOT
@pytest.mark.parametrize("engine", ["postgresql"])
def test_after_a_large_request_that_was_refused_at_once_all_share_a_commit(
    world: World, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    mine, yours, now = device(ada, ada.group()), device(bob, bob.group()), world.clock.now()

    def refuse(work: Callable[[Tx], Any]) -> Any:
        raise Unavailable("Too much work is waiting; nothing was changed.")

    large = [report("data", mine, now, f"{number}") for number in range(LARGE_RECORDS + 1)]
    with monkeypatch.context() as refusing:
        refusing.setattr(world.database, "submit", refuse)
        refused(post_records(ada, "data", large), 503)
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(bob, "data", yours, now, "first")):
        crowd.post_record(ada, "data", mine, now, "second")
        crowd.post_record(bob, "data", yours, now, "third")
        commits.wait_for_waiting(3)
    for response in crowd.responses():
        ok(response)
    assert commits.sizes == [1, 2]


@pytest.mark.parametrize("engine", ["postgresql"])
def test_nobody_waits_for_a_device_that_somebody_else_is_changing(
    world: World, crowd: Crowd
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    mine, yours, now = device(ada, ada.group()), device(bob, bob.group()), world.clock.now()
    with psycopg.connect(world.settings.database) as changing:
        changing.execute("update device set tags = tags where id = %s", [mine])
        for number in range(3):
            crowd.post_record(ada, "data", mine, now, f"locked {number}")
            eventually(lambda: is_waiting_for_another(world))
            ok(post_record(bob, "data", yours, now, f"meanwhile {number}"))
        assert list_data(ada, "data", mine) == []
        # An id that nobody has is one, whoever has locked what.
        refused(post_record(bob, "data", "none", now, "unknown"), 404)
    for response in crowd.responses():
        ok(response)
    assert len(list_data(ada, "data", mine)) == len(list_data(bob, "data", yours)) == 3


@pytest.mark.parametrize("engine", ["postgresql"])
def test_records_of_a_device_that_was_transferred_are_looked_up_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    here, there = ada.group(), ada.group()
    sensor, now = device(ada, here), world.clock.now()
    known = [report("data", sensor, now, f"known {number}") for number in range(20)]
    ok(post_records(ada, "data", known))
    ok(ada.put("/device/transfer", {"deviceId": sensor, "groupId": here, "toGroupId": there}))
    new = [report("data", sensor, now, f"new {number}") for number in range(20)]
    lookups: list[str] = []
    fetch = Tx.fetch

    def counted_fetch(tx: Tx, statement: Any, /, **values: Any) -> Any:
        if tx.is_write and "record_data" in str(statement):
            lookups.append(str(statement))
        return fetch(tx, statement, **values)

    monkeypatch.setattr(Tx, "fetch", counted_fetch)
    ok(post_records(ada, "data", [*known, *new]))
    assert len(lookups) == 1
    assert len(list_data(ada, "data", sensor)) == len(known) + len(new)


@ONE_SLOT
def test_one_commit_stores_records_of_all_kinds_devices_and_clients(
    world: World, crowd: Crowd
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    north, south = ada.group("north"), bob.group("south")
    mine, yours, now = devices(ada, north, 3), devices(bob, south, 2), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "event", mine[0], now, "first")):
        for kind in KINDS:
            for sensor in mine:
                crowd.post_record(ada, kind, sensor, now, "one")
            several = [report(kind, sensor, now, text) for sensor in yours for text in "ab"]
            crowd.calls(lambda k=kind, s=several: post_records(bob, k, s))
        commits.wait_for_waiting(1 + 4 * (3 + 4))
    for answer in crowd.responses():
        ok(answer)
    assert commits.sizes == [1, 28]
    for kind in KINDS:
        for sensor in mine:
            texts = ["first", "one"] if (kind, sensor) == ("event", mine[0]) else ["one"]
            assert sorted(list_data(ada, kind, sensor)) == texts
        for sensor in yours:
            assert list_data(bob, kind, sensor) == ["a", "b"], "in the order they were sent"
            assert {record["groupId"] for record in list_records(bob, kind, sensor)} == {south}
    assert counted(ada, north, now) == {**dict.fromkeys(KINDS, 3), "event": 4}
    assert counted(bob, south, now) == dict.fromkeys(KINDS, 4)


@ONE_SLOT
def test_an_invalid_request_does_not_affect_others_in_the_same_commit(
    world: World, crowd: Crowd
) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    group, elsewhere = ada.group(), bob.group()
    ada.invite(eve, group, "viewer")
    sensor, foreign, now = device(ada, group), device(bob, elsewhere), world.clock.now()
    good = report("data", sensor, now, "good")
    refusals: list[tuple[Person, str, Any, int, tuple[str, ...]]] = [
        (ada, "", {**good, "deviceId": "dev_nowhere"}, 404, ("deviceId",)),
        (ada, "", {**good, "deviceId": foreign}, 404, ("deviceId",)),
        (ada, "", {**good, "groupId": elsewhere}, 400, ("groupId",)),
        (eve, "", {**good, "data": "a viewer's"}, 403, ()),
        (bob, "", {**good, "data": "a stranger's"}, 404, ("deviceId",)),
        (
            ada,
            "/batch",
            {
                "items": [
                    {**good, "data": "in bad company"},
                    {**good, "groupId": elsewhere},
                    {**good, "deviceId": "dev_nowhere"},
                    {**good, "deviceId": foreign},
                ]
            },
            404,
            ("items[1].groupId", "items[2].deviceId", "items[3].deviceId"),
        ),
    ]
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")):
        before = crowd.post_record(ada, "data", sensor, now, "before")
        commits.wait_for_waiting(2)
        answers = [
            crowd.calls(lambda c=caller, p=path, b=body: c.post(f"/device/data{p}", b))
            for caller, path, body, _, _ in refusals
        ]
        commits.wait_for_waiting(2 + 5 + 4)
        after = crowd.post_record(ada, "data", sensor, now, "after")
        commits.wait_for_waiting(2 + 5 + 4 + 1)
    for answer, (_, path, body, status, fields) in zip(answers, refusals, strict=True):
        problem = refused(answer.result(120), status, *fields)
        assert problem["errors"] or status == 403, (path, body)
    assert ok(before.result(120))["data"] == "before"
    assert ok(after.result(120))["data"] == "after"
    assert commits.sizes == [1, 11], "they did share a commit"
    assert list_data(ada, "data", sensor) == ["first", "before", "after"]
    assert list_data(bob, "data", foreign) == []
    assert counted(ada, group, now) == {**NONE, "data": 3}
    assert counted(bob, elsewhere, now) == NONE


# --- an answer means it is stored ---


@contextmanager
def commit_itself_held(world: World) -> Iterator[Gate]:
    """The first ingest has executed everything, but its commit does not return yet."""
    gate = Gate()
    if isinstance(world.database, SQLite):
        commit = world.database._commit

        def held(driver: sqlite3.Connection) -> None:
            if driver.execute("select count(*) from arrival").fetchone()[0]:
                gate.hold(None)
            commit(driver)

        world.database._commit = held  # type: ignore[method-assign]
        try:
            yield gate
        finally:
            gate.open()
        return
    with psycopg.connect(world.settings.database, autocommit=True) as connection:
        # A deferred trigger runs when PostgreSQL is already committing; this one wants our lock.
        connection.execute(
            """
            create function wait_at_commit() returns trigger language plpgsql as
            'begin perform pg_advisory_xact_lock(4711); return null; end';
            create constraint trigger held after insert or update on counter
            deferrable initially deferred for each row execute function wait_at_commit();
            select pg_advisory_lock(4711)
            """
        )

        def watch() -> None:
            waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
            eventually(lambda: connection.execute(waiting).fetchone() is not None)
            gate._reached.set()

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            yield gate
        finally:
            watching.join()
            connection.execute("select pg_advisory_unlock(4711)")


@not_on_citus("distributed tables have no triggers")
def test_no_response_is_sent_and_no_record_is_visible_before_its_commit(
    world: World, crowd: Crowd
) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    with commit_itself_held(world) as gate:
        for number in range(20):
            crowd.post_record(ada, "data", sensor, now, f"{number}")
        eventually(lambda: gate.is_reached)
        for _ in range(3):
            assert list_data(ada, "data", sensor) == []
            assert counted(ada, group, now) == NONE
            assert "seenAt" not in ok(ada.get("/device", deviceId=sensor))
        assert not any(answer.done() for answer in crowd.answers)
    for answer in crowd.responses():
        ok(answer)
    assert len(list_data(ada, "data", sensor)) == 20
    assert counted(ada, group, now) == {**NONE, "data": 20}
    assert ok(ada.get("/device", deviceId=sensor))["seenAt"] == now // 1_000


def fail_every_commit(world: World) -> None:
    """From now on every commit of records fails with an unknown outcome."""
    if isinstance(world.database, SQLite):

        def failing(driver: sqlite3.Connection) -> None:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
            raise error

        driver_commit = world.database._commit

        def commit(driver: sqlite3.Connection) -> None:
            if not driver.execute("select count(*) from arrival").fetchone()[0]:
                driver_commit(driver)
                return
            world.database._break(RuntimeError("the disk"))  # type: ignore[attr-defined]
            failing(driver)

        world.database._commit = commit  # type: ignore[method-assign]
        return
    with psycopg.connect(world.settings.database, autocommit=True) as connection:
        connection.execute(
            """
            create function fail_at_commit() returns trigger language plpgsql as
            'begin raise disk_full; end';
            create constraint trigger failing after insert or update on counter
            deferrable initially deferred for each row execute function fail_at_commit()
            """
        )


@not_on_citus("distributed tables have no triggers")
def test_records_of_a_failed_commit_are_never_acknowledged(world: World, crowd: Crowd) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    fail_every_commit(world)
    for number in range(10):
        crowd.post_record(ada, "data", sensor, now, f"{number}")
    for answer in crowd.responses():
        assert refused(answer, 503)["code"] == "outcome_unknown"
        assert int(answer.headers["retry-after"]) >= 1
    assert list_data(ada, "data", sensor) == []
    assert counted(ada, group, now) == NONE


def test_a_client_that_disconnects_does_not_affect_the_others(world: World, crowd: Crowd) -> None:
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")):
        body = json.dumps(report("data", sensor, now, "hung up")).encode()
        with socket.create_connection(("127.0.0.1", world.port)) as impatient:
            impatient.sendall(
                b"POST /device/data HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s"
                % (str(ada.token).encode(), len(body), body)
            )
            commits.wait_for_waiting(2)
        patient = crowd.post_record(ada, "data", sensor, now, "patient")
        commits.wait_for_waiting(3)
    ok(patient.result(120))
    assert list_data(ada, "data", sensor) == ["first", "hung up", "patient"]
    assert commits.ingest.waiting == 0


# --- more than there is room for ---


def test_a_full_queue_refuses_requests_at_once_and_stores_none_of_them(
    make_world: Callable[..., World], crowd: Crowd
) -> None:
    world = make_world(ingest_waiting_records_max=20)  # half of it for each sender
    ada, bob = world.person("ada"), world.person("bob")
    group, beside = ada.group(), bob.group()
    other = device(bob, beside)
    sensor, now = device(ada, group), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")):
        for number in range(7):
            crowd.post_record(ada, "event", sensor, now, f"{number}")
        commits.wait_for_waiting(8)
        three = [report("geoloc", sensor, now, f"{number}") for number in range(3)]
        too_many = post_records(ada, "geoloc", three)
        two = crowd.calls(lambda: post_records(ada, "geoloc", three[:2]))
        commits.wait_for_waiting(10)
        one_too_many = post_record(ada, "telemetry", sensor, now, "late")
        for answer in (too_many, one_too_many):
            problem = refused(answer, 503)
            assert problem["code"] == "unavailable", "it is known that nothing was changed"
            assert int(answer.headers["retry-after"]) >= 1
        honest = crowd.calls(lambda: post_record(bob, "data", other, now, "honest"))
        commits.wait_for_waiting(11)
    assert ok(honest.result(120))["deviceId"] == other
    assert ok(two.result(120))["stored"] == 2
    for answer in crowd.responses():
        ok(answer)
    assert counted(ada, group, now) == {"data": 1, "event": 7, "geoloc": 2, "telemetry": 0}
    assert list_data(ada, "geoloc", sensor) == ["0", "1"]
    assert list_data(ada, "telemetry", sensor) == []
    ok(post_record(ada, "telemetry", sensor, now, "there is room again"))
    assert commits.ingest.waiting == 0


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_when_a_commit_cannot_be_submitted_every_queued_request_gets_a_response(
    make_world: Callable[..., World], crowd: Crowd
) -> None:
    world = make_world(ingest_commit_records_max=1)
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    commits = Commits(world)

    def refuse(work: Callable[[Tx], Any]) -> Any:
        raise Unavailable("The service is stopping; nothing was changed.")

    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")) as first:
        crowd.post_record(ada, "data", sensor, now, "second")  # its commit is queued already
        commits.wait_for_waiting(2)
        late = [
            crowd.post_record(ada, "data", sensor, now, f"late {number}") for number in range(5)
        ]
        commits.wait_for_waiting(7)
        world.database.submit = refuse  # type: ignore[method-assign]
    ok(first.result(120))
    statuses = Counter(answer.result(120).status_code for answer in late)
    assert statuses[503] >= 4, "one of them may have gone out with the queued commit"
    crowd.responses()
    eventually(lambda: commits.ingest.waiting == 0)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("is_mended", "status"), [(True, 200), (False, 503)])
def test_a_request_whose_commit_is_refused_gets_its_response_from_the_commit_in_flight(
    world: World, crowd: Crowd, is_mended: bool, status: int
) -> None:
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    commits = Commits(world)
    submit = world.database.submit
    is_refused = threading.Event()

    def refuse(work: Callable[[Tx], Any]) -> Any:
        is_refused.set()
        raise Unavailable("Too much work is waiting; nothing was changed.")

    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "first")) as first:
        world.database.submit = refuse  # type: ignore[method-assign]
        second = crowd.post_record(ada, "data", sensor, now, "second")
        assert is_refused.wait(60)
        if is_mended:
            world.database.submit = submit  # type: ignore[method-assign]
    ok(first.result(120))
    assert second.result(120).status_code == status
    assert commits.ingest.waiting == 0


# --- the same again ---


@pytest.mark.slow
def test_the_same_record_sent_fifty_times_at_once_is_stored_and_counted_once(
    world: World, crowd: Crowd
) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "again")):
        for _ in range(49):  # they meet in one commit, after one that had it already
            crowd.post_record(ada, "data", sensor, now, "again")
        commits.wait_for_waiting(50)
    for _ in range(50):  # and in whichever commits they happen to meet
        crowd.post_record(ada, "data", sensor, now, "again")
        crowd.post_record(ada, "event", sensor, now, "another kind")
    answers = [answer.text for answer in crowd.responses()]
    assert len(answers) == 150
    assert len(set(answers)) == 2, "every answer to one record is the same"
    assert rows(world, "data") == rows(world, "event") == 1
    assert list_data(ada, "data", sensor) == ["again"]
    assert counted(ada, group, now) == {**NONE, "data": 1, "event": 1}

    twins = [report("data", sensor, now, text) for text in ("again", "new", "new", "newer")]
    assert ok(post_records(ada, "data", twins)) == {
        "message": "2 stored, 2 duplicates.",
        "stored": 2,
        "duplicates": 2,
    }
    assert list_data(ada, "data", sensor) == ["again", "new", "newer"]
    assert counted(ada, group, now) == {**NONE, "data": 3, "event": 1}


# --- devices that move meanwhile ---


@dataclass(frozen=True, slots=True)
class Sent:
    """A record, its response, and the time between which the request was in flight."""

    kind: str
    answer: dict[str, Any]
    since: float
    until: float


@dataclass(frozen=True, slots=True)
class Stay:
    """The group a device was certainly in between two points in time."""

    group: str
    perhaps_since: float
    perhaps_until: float


class Fleeting:
    """A device that is transferred between two groups while clients post records for it."""

    def __init__(self, world: World) -> None:
        self.owner = world.person("owner")
        self.groups = [self.owner.group("north"), self.owner.group("south")]
        self.sensor = device(self.owner, self.groups[0])
        self.now = world.clock.now()
        self.sent: list[Sent] = []
        self.stays: list[Stay] = []
        self._is_over = threading.Event()
        self._names = itertools.count()

    def live(self, callers: list[Person], transfers: int) -> None:
        with ThreadPoolExecutor(len(callers) + 1) as pool:
            reporting = [pool.submit(self._report, caller) for caller in callers]
            try:
                self._move(transfers)
            finally:
                self._is_over.set()
            for each in reporting:
                each.result(120)

    def _move(self, transfers: int) -> None:
        since = 0.0  # the device has been there since before anybody reported
        for number in range(transfers):
            # However slow the machine is, there are more records than transfers.
            eventually(lambda sent=number + 1: len(self.sent) > sent)
            here, there = self.groups[number % 2], self.groups[(number + 1) % 2]
            body = {"deviceId": self.sensor, "groupId": here, "toGroupId": there}
            began = time.monotonic()
            assert ok(self.owner.put("/device/transfer", body))["groupId"] == there
            self.stays.append(Stay(here, since, time.monotonic()))
            since = began
        self.stays.append(Stay(self.groups[transfers % 2], since, float("inf")))

    def _report(self, caller: Person) -> None:
        while not self._is_over.is_set():
            number = next(self._names)
            kind = KINDS[number % 4]
            since = time.monotonic()
            answer = ok(post_record(caller, kind, self.sensor, self.now, f"{number}"))
            self.sent.append(Sent(kind, answer, since, time.monotonic()))


def assert_every_record_is_where_it_was_said(world: World, fleeting: Fleeting) -> None:
    for sent in fleeting.sent:
        possible = {
            stay.group
            for stay in fleeting.stays
            if stay.perhaps_since <= sent.until and sent.since <= stay.perhaps_until
        }
        assert sent.answer["groupId"] in possible, sent
    owner, sensor = fleeting.owner, fleeting.sensor
    for number, group in enumerate(fleeting.groups):
        local = world.person(f"local{number}")
        owner.invite(local, group, "viewer")
        mine = [sent for sent in fleeting.sent if sent.answer["groupId"] == group]
        for kind in KINDS:
            returned = [sent.answer for sent in mine if sent.kind == kind]
            seen = list_records(local, kind, sensor)
            assert sorted(seen, key=repr) == sorted(returned, key=repr), "as it was answered, once"
        assert counted(owner, group, fleeting.now) == {
            **NONE,
            **Counter(sent.kind for sent in mine),
        }


@pytest.mark.slow
def test_a_record_belongs_to_the_group_its_device_was_in_when_it_was_stored(
    world: World,
) -> None:
    fleeting = Fleeting(world)
    fleeting.live([fleeting.owner] * 4, transfers=40)
    assert len(fleeting.sent) > 40
    assert len({sent.answer["groupId"] for sent in fleeting.sent}) == 2
    assert_every_record_is_where_it_was_said(world, fleeting)


# --- what is known of devices ---


def test_what_is_known_of_a_device_that_reports_is_never_older_than_its_last_change(
    world: World,
) -> None:
    ada = world.person("ada")
    group, other = ada.group(), ada.group()
    tracker = ada.device(group, name="one")
    assert [ada.reports(tracker)["deviceName"] for _ in range(2)] == ["one", "one"]
    ok(ada.put("/device", {"deviceId": tracker, "groupId": group, "name": "two"}))
    assert ada.reports(tracker)["deviceName"] == "two"
    ok(ada.put("/device/transfer", {"deviceId": tracker, "groupId": group, "toGroupId": other}))
    moved = ada.reports(tracker)
    assert (moved["groupId"], moved["deviceName"]) == (other, "two")
    ok(ada.delete("/device", deviceId=tracker, groupId=other))
    refused(ada.post("/device/data", record_of(tracker)), 404)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_device_that_another_process_changes_in_the_file_is_read_again(
    world: World,
) -> None:
    tracker = world.operator.device(world.operator.group(), name="one")
    world.operator.reports(tracker)
    with sqlite3.connect(world.settings.data / "longwire.db") as beside:
        beside.execute("update device set name = 'two' where id = ?", [tracker])
    beside.close()
    assert world.operator.reports(tracker)["deviceName"] == "two"


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_change_that_is_rolled_back_leaves_what_is_known_of_a_device_as_it_was(
    world: World,
) -> None:
    ada = world.person("ada")
    tracker = ada.device(ada.group(), name="one")

    def rename_and_fail(tx: Tx) -> None:
        tx.run(Statement("update device set name = 'two' where id = :id"), id=tracker)
        assert reporting_devices.get_reporting(tx, [tracker])[tracker].name == "two"
        raise Unavailable

    assert ada.reports(tracker)["deviceName"] == "one"
    with pytest.raises(Unavailable):
        world.write(rename_and_fail)
    assert ada.reports(tracker)["deviceName"] == "one"


# --- several processes on one database ---


@pytest.fixture
def two_worlds(make_world: Callable[..., World], engine: str) -> tuple[World, World]:
    assert engine == "postgresql"
    return make_world(), make_world()


@pytest.mark.parametrize("engine", ["postgresql"])
def test_two_processes_store_the_same_and_other_records_exactly_once(
    two_worlds: tuple[World, World],
) -> None:
    world, other = two_worlds
    ada = world.person("ada")
    ada_there = ada.at(other)
    group = ada.group()
    sensors, now = devices(ada, group, 8), world.clock.now()
    shared = [
        (kind, report(kind, sensor, now + number, "both"))
        for kind in KINDS
        for sensor in sensors
        for number in range(10)
    ]

    def send(caller: Person, name: str, seed: int) -> Counter[str]:
        """Send all records shuffled, in batches and one by one, and a few of the sender's own."""
        chance = random.Random(seed)
        stored: Counter[str] = Counter()
        mine = list(shared)
        mine += [
            (kind, report(kind, sensor, now, name)) for kind in KINDS for sensor in sensors[:2]
        ]
        chance.shuffle(mine)
        while mine:
            size = chance.choice((1, 1, 5, 40))
            batch, mine = mine[:size], mine[size:]
            for kind in KINDS:
                bodies = [body for each, body in batch if each == kind]
                if len(bodies) > 1:
                    stored[kind] += ok(post_records(caller, kind, bodies))["stored"]
                elif bodies:
                    ok(caller.post(f"/device/{kind}", bodies[0]))
        return stored

    with ThreadPoolExecutor(6) as pool:
        callers = [ada, ada_there] * 3
        sending = [
            pool.submit(send, caller, f"sender {number}", number)
            for number, caller in enumerate(callers)
        ]
        for each in sending:
            each.result(60)
    each_kind = 8 * 10 + 6 * 2
    assert counted(ada, group, now) == dict.fromkeys(KINDS, each_kind)
    assert counted(ada_there, group, now) == dict.fromkeys(KINDS, each_kind)
    for kind in KINDS:
        assert rows(world, kind) == each_kind
        found = [list_records(ada_there, kind, sensor) for sensor in sensors]
        assert [len(each) for each in found] == [16, 16, 10, 10, 10, 10, 10, 10]
    # Each of them numbers its arrivals for itself, and the numbers never meet.
    writers = world.read(lambda tx: tx.fetch(Statement("select distinct seq & 1023 from arrival")))
    assert len(writers) == 2
    with psycopg.connect(world.settings.database) as connection:
        deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
        assert connection.execute(deadlocks).fetchone() == (0,)


def is_waiting_for_another(world: World) -> bool:
    """Whether a transaction waits for the lock of another one."""
    with psycopg.connect(world.settings.database) as connection:
        waiting = "select 1 from pg_locks where not granted"
        return connection.execute(waiting).fetchone() is not None


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_record_sent_to_two_processes_around_a_transfer_is_stored_once(
    two_worlds: tuple[World, World], crowd: Crowd
) -> None:
    world, other = two_worlds
    ada = world.person("ada")
    ada_there = ada.at(other)
    north, south = ada.group("north"), ada.group("south")
    sensor, now = device(ada, north), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "once")):
        body = {"deviceId": sensor, "groupId": north, "toGroupId": south}
        moving = crowd.calls(lambda: ada_there.put("/device/transfer", body))
        eventually(lambda: moving.done() or is_waiting_for_another(world))
        again = crowd.post_record(ada_there, "data", sensor, now, "once")
        eventually(lambda: again.done() or is_waiting_for_another(world))
    for answer in crowd.responses():
        ok(answer)
    assert list_data(ada, "data", sensor) == ["once"]
    assert counted(ada, north, now) == {**NONE, "data": 1}
    assert counted(ada, south, now) == NONE


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_record_stored_while_its_device_is_deleted_leaves_nothing_behind(
    two_worlds: tuple[World, World], crowd: Crowd
) -> None:
    world, other = two_worlds
    ada = world.person("ada")
    ada_there = ada.at(other)
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    commits = Commits(world)
    with commits.held(crowd, lambda: post_record(ada, "data", sensor, now, "last words")):
        ending = crowd.calls(lambda: ada_there.delete("/device", deviceId=sensor, groupId=group))
        eventually(lambda: ending.done() or is_waiting_for_another(world))
        while other.write(record_deletion.delete_erased):
            pass
    for answer in crowd.responses():
        ok(answer)
    while other.write(record_deletion.delete_erased):
        pass
    left = world.everything()
    assert left["device"] == left["record_data"] == left["device_state"] == []


@contextmanager
def held_before_its_commit(
    world: World, crowd: Crowd, call: Callable[[], httpx.Response]
) -> Iterator[Future[httpx.Response]]:
    """Inside the block the request has executed everything but its commit."""
    gate, write = Gate(), world.database.write

    def held(work: Callable[[Tx], Any]) -> Any:
        if current_caller.get() == SERVICE:
            return write(work)
        world.database.write = write  # type: ignore[method-assign]
        return write(lambda tx: gate.hold(work(tx)))

    world.database.write = held  # type: ignore[method-assign]
    answer = crowd.calls(call)
    eventually(lambda: gate.is_reached)
    try:
        yield answer
    finally:
        gate.open()


@pytest.mark.parametrize("engine", ["postgresql"])
def test_when_two_processes_move_or_delete_a_device_only_one_succeeds(
    two_worlds: tuple[World, World], crowd: Crowd
) -> None:
    world, other = two_worlds
    ada = world.person("ada")
    ada_there = ada.at(other)
    north, south = ada.group("north"), ada.group("south")
    sensors = devices(ada, north, 3)
    transfer = {"deviceIds": sensors[:2], "groupId": north, "toGroupId": south}
    removal = {"deviceIds": sensors[1:], "groupId": north}

    def move(caller: Person) -> httpx.Response:
        return caller.put("/devices/transfer", transfer)

    def remove(caller: Person) -> httpx.Response:
        return caller.post("/devices/delete", removal)

    def counts() -> list[int]:
        shown = [ok(ada.get("/group", groupId=group))[0] for group in (north, south)]
        return [group["numberOfDevices"] for group in shown]

    with held_before_its_commit(world, crowd, lambda: move(ada)) as first:
        late = [crowd.calls(lambda c=call: c(ada_there)) for call in (move, remove)]
        eventually(lambda: is_waiting_for_another(world) or any(each.done() for each in late))
    assert {moved["groupId"] for moved in ok(first.result(120))["items"]} == {south}
    refused(late[0].result(120), 404, "deviceIds[0]", "deviceIds[1]")
    refused(late[1].result(120), 404, "deviceIds[0]")
    assert counts() == [1, 2]

    transfer |= {"deviceIds": sensors[:2], "groupId": south, "toGroupId": north}
    removal |= {"deviceIds": sensors[:2], "groupId": south}
    with held_before_its_commit(world, crowd, lambda: remove(ada)) as first:
        late = [crowd.calls(lambda c=call: c(ada_there)) for call in (move, remove)]
        eventually(lambda: is_waiting_for_another(world) or any(each.done() for each in late))
    ok(first.result(120))
    for answer in late:
        refused(answer.result(120), 404, "deviceIds[0]", "deviceIds[1]")
    assert counts() == [1, 0]
    assert len(world.list_rows("device")) == len(world.list_rows("device_stay")) == 1


@pytest.mark.parametrize("engine", ["postgresql"])
def test_two_processes_agree_on_the_group_of_a_device_that_moves(
    two_worlds: tuple[World, World],
) -> None:
    world, other = two_worlds
    fleeting = Fleeting(world)
    there = fleeting.owner.at(other)
    fleeting.live([fleeting.owner, there] * 2, transfers=40)
    assert len(fleeting.sent) > 40
    assert_every_record_is_where_it_was_said(world, fleeting)


def test_a_sequence_number_that_is_in_use_drops_no_row(world: World) -> None:
    """Two processes that both believe to have a number, in the same microsecond."""
    ada = world.person("ada")
    group = ada.group()
    sensor = ada.device(group)
    ada.connector(group, "http://127.0.0.1:9/nobody-listens")
    world.clock.freeze()
    world.clock.let_pass(seconds=1)
    ada.reports(sensor, "event")
    twin = Sequencer(world.app._sequencer.writer)
    event = ServiceEvent(sensor, "silent", world.clock.now())

    def store(tx: Tx) -> None:
        store_service_events(tx, twin, [event])

    if world.database.engine_name == "sqlite":
        with pytest.raises(Unavailable):  # the sender retries; PostgreSQL does so by itself
            world.write(store)
    world.write(store)
    assert len(ada.records(sensor, "event")) == 2
    assert count_rows(world, "arrival") == count_rows(world, "delivery") == 2


def count_rows(world: World, table: str) -> int:
    return int(world.read(lambda tx: tx.fetch(Statement(f"select count(*) from {table}")))[0][0])


# --- the order of arrival ---


takes = st.lists(st.tuples(st.integers(0, 2**52), st.integers(1, 1_000)), min_size=1, max_size=30)


@pytest.mark.slow
@given(takes, st.integers(0, WRITERS - 1))
def test_arrival_numbers_increase_and_never_repeat_whatever_the_clock_does(
    takes: list[tuple[int, int]], writer: int
) -> None:
    sequencer = Sequencer(writer)
    last = -1
    for now, count in takes:
        taken = sequencer.take(now, count)
        assert len(taken) == count
        assert taken[0] > last
        assert all(later > earlier for earlier, later in itertools.pairwise(taken))
        assert {seq % WRITERS for seq in taken} == {writer}
        # Never before it happened; and exactly then, unless the numbers of that moment are used up.
        expected = max(now, arrival_moment(last) + 1) if last >= 0 else max(now, 1)
        assert [arrival_moment(seq) for seq in taken] == list(range(expected, expected + count))
        last = taken[-1]


@pytest.mark.parametrize(
    "now, count, expected",
    [
        (1_000, 1, [1_000]),
        (1_000, 3, [1_001, 1_002, 1_003]),  # the same moment again
        (1_002, 1, [1_004]),  # a moment that is used up
        (500, 2, [1_005, 1_006]),  # the clock was set back
        (9_000, 2, [9_000, 9_001]),  # the clock has caught up
    ],
)
def test_the_timestamp_of_an_arrival_number(now: int, count: int, expected: list[int]) -> None:
    sequencer = Sequencer(5)
    for earlier_now, earlier_count in [(1_000, 1), (1_000, 3), (1_002, 1), (500, 2), (9_000, 2)]:
        taken = sequencer.take(earlier_now, earlier_count)
        if (earlier_now, earlier_count) == (now, count):
            assert [arrival_moment(seq) for seq in taken] == expected
            assert all(
                first_seq(at) <= seq < first_seq(at + 1)
                for at, seq in zip(expected, taken, strict=True)
            )
            return
    raise AssertionError("the case is not part of the story")


def test_two_writers_never_use_the_same_number() -> None:
    taken = [seq for writer in (0, 1, WRITERS - 1) for seq in Sequencer(writer).take(SECOND, 500)]
    assert len(set(taken)) == 1_500


def test_after_a_restart_with_the_clock_set_back_every_record_is_stored_and_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of the last hour are in use; the service must not reuse its own."""
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    monkeypatch.setattr(world.clock, "now", lambda: now)
    first = [report("data", sensor, now, f"before {number}") for number in range(20)]
    assert ok(post_records(ada, "data", first))["stored"] == 20
    world.restart()
    second = [report("data", sensor, now, f"after {number}") for number in range(20)]
    assert ok(post_records(ada, "data", second))["stored"] == 20
    assert ok(post_records(ada, "data", first))["duplicates"] == 20
    assert counted(ada, group, now) == {**NONE, "data": 40}


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_overlapping_commits_of_two_processes_never_deadlock(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same records, from a network with frame counters and from the devices themselves."""
    ada = world.person("ada")
    group = ada.group()
    ids = [device(ada, group) for _ in range(2)]
    retried: list[str] = []
    is_retryable = postgres.is_retryable

    def watched(error: Any) -> bool:
        retried.append(type(getattr(error, "orig", None) or error).__name__)
        return is_retryable(error)

    monkeypatch.setattr(postgres, "is_retryable", watched)
    now = world.clock.now()
    actor = Actor("user", ada.id)

    def requests(number: int, order: list[str], *, numbered: bool) -> list[IngestRequest]:
        found = []
        for each in order:
            record = EventRecord(device_id=each, timestamp="", type=f"opened {number}")
            item = IngestItem(record, now + number, digest_record(record))
            metadata = MessageMetadata(each, sequence=number, modulus=1 << 16) if numbered else None
            found.append(IngestRequest(actor, [item], is_batch=False, metadata=metadata))
        return found

    def store(sequencer: Sequencer, *wanted: IngestRequest) -> Callable[[Tx], Any]:
        return lambda tx: store_requests(tx, wanted, sequencer)

    async def race() -> None:
        one, other = Sequencer(1001), Sequencer(1002)
        for number in range(40):
            await asyncio.gather(
                world.database.write(store(one, *requests(number, ids, numbered=True))),
                world.database.write(store(other, *requests(number, ids[::-1], numbered=False))),
            )

    world._run(race())
    assert retried == []
    stored = [record["type"] for each in ids for record in ada.records(each, "event")]
    assert sum(each.startswith("opened") for each in stored) == 80

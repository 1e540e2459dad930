"""The embedded engine alone: flushing, full disks, failing disks, sudden deaths, visitors."""

import asyncio
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from longwire.clock import Clock
from longwire.errors import Conflict, OutcomeUnknown
from longwire.process import startup
from longwire.settings import Settings
from longwire.store import instance, schema
from longwire.store.database import Tx
from longwire.store.engines import sqlite, workers
from longwire.store.engines.bulk import insert_many
from longwire.store.engines.sqlite import SQLite
from longwire.store.engines.workers import IDLE_S
from tests.faults.full_disk import fill_disk, free_disk, pragma
from tests.faults.ledger import small_files_only, traced
from tests.process import Service, longwire
from tests.waiting import PATIENCE_S, eventually
from tests.world import World, ok, prepare_data_folder, refused

MIB = 1024 * 1024


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def data(settings: Settings) -> Path:
    """The folder of a prepared database."""
    return settings.data


@pytest.fixture
def database(settings: Settings) -> Iterator[SQLite]:
    """The engine at work, without a service in front of it."""
    made, _ = startup.build_database(settings, Clock())
    made.start()
    assert isinstance(made, SQLite)
    yield made
    made.close()


@pytest.fixture
def serve(data: Path) -> Iterator[Callable[..., Service]]:
    """Starts `longwire serve` on the prepared folder; whatever still runs is killed afterwards."""
    services: list[Service] = []

    def start(*flags: str, **how: Any) -> Service:
        services.append(Service(data, *flags, **how))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()


def put(name: str, size: int) -> Callable[[Tx], None]:
    return lambda tx: instance.insert_fact(tx, name, "x" * size)


def names(tx: Tx) -> set[str]:
    return {row[0] for row in tx.rows(sa.text("select name from instance"))}


# --- how it is opened ---


def test_every_connection_is_durable_strict_and_leaves_checkpoints_to_the_writer(
    database: SQLite,
) -> None:
    wanted = {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL: the log is flushed before a commit is confirmed
        "wal_autocheckpoint": 0,
        "foreign_keys": 1,
        "busy_timeout": 5_000,
        "trusted_schema": 0,
    }

    async def settings_of(verb: Callable[..., Any]) -> dict[str, Any]:
        return {name: await verb(pragma(name)) for name in wanted}

    assert asyncio.run(settings_of(database.write)) == wanted
    assert asyncio.run(settings_of(database.read)) == wanted
    assert asyncio.run(database.read(pragma("query_only"))) == 1
    assert asyncio.run(database.write(pragma("query_only"))) == 0


def test_a_read_cannot_write(database: SQLite) -> None:
    for number in range(2 * sqlite.READERS):
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            asyncio.run(database.read(put(f"by a reader {number}", 1)))
    assert not any(name.startswith("by a reader") for name in asyncio.run(database.read(names)))


class Gate:
    """A work that holds up the writer until it is let through."""

    def __init__(self) -> None:
        self._entered, self._open = threading.Event(), threading.Event()

    def work(self, tx: Tx) -> None:
        names(tx)
        self._entered.set()
        assert self._open.wait(60), "nobody opened the gate"

    async def is_reached(self) -> None:
        assert await asyncio.to_thread(self._entered.wait, 30)

    def open(self) -> None:
        self._open.set()


def test_works_that_waited_together_are_stored_together(
    database: SQLite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first gate makes them wait, the second one, as the last of them, delays the commit."""
    monkeypatch.setattr(workers, "COMMIT_AFTER_S", PATIENCE_S)
    before, last = Gate(), Gate()
    facts = {f"fact {number}" for number in range(20)}

    async def story() -> None:
        tasks = [asyncio.create_task(database.write(before.work))]
        await before.is_reached()
        for work in (*(put(fact, 1) for fact in facts), last.work):
            tasks.append(asyncio.create_task(database.write(work)))
        while database.waiting["write"] < len(facts) + 1:  # noqa: ASYNC110 (a number is all it has)
            await asyncio.sleep(0)
        before.open()
        await last.is_reached()
        assert not facts & await database.read(names), "none of them, while one is under way"
        assert not any(task.done() for task in tasks[1:])
        last.open()
        await asyncio.gather(*tasks)
        assert facts <= await database.read(names)

    asyncio.run(story())


def test_a_bulk_insert_that_fails_leaves_nothing_and_takes_nobody_with_it(
    database: SQLite,
) -> None:
    """SQLite would keep the rows before the one that failed: the whole work is rolled back."""
    before = Gate()

    def insert(tx: Tx) -> None:
        insert_many(tx, schema.instance, ("name", "value"), [("bulk", "x"), ("null", None)])

    async def story() -> list[Any]:
        tasks = [asyncio.create_task(database.write(before.work))]
        await before.is_reached()
        for work in (put("one", 1), insert, put("two", 1)):
            tasks.append(asyncio.create_task(database.write(work)))
        while database.waiting["write"] < 3:  # noqa: ASYNC110 (a number is all it has)
            await asyncio.sleep(0)
        before.open()
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(story())
    assert isinstance(answers[2], Conflict)
    with pytest.raises(Conflict):
        asyncio.run(database.write(insert))
    stored = asyncio.run(database.read(names))
    assert {"one", "two"} <= stored
    assert "bulk" not in stored


# --- full and failing disks ---


def test_a_full_disk_refuses_writes_keeps_reads_and_heals_without_a_restart(world: World) -> None:
    ada = world.person("ada")
    stored = {ada.group(): "the first"}
    fill_disk(world, free_pages=4)

    for number in range(1_000):
        answer = ada.post("/group", {"name": f"group {number}", "description": "x" * 500})
        if answer.status_code != 200:
            break
        stored[ok(answer)["id"]] = f"group {number}"
    problem = refused(answer, 503)
    assert "disk is full" in problem["detail"]
    assert problem["code"] == "unavailable", "it is known that nothing was changed"
    assert int(answer.headers["retry-after"]) >= 1
    assert {group["id"] for group in ok(ada.get("/user/groups", limit=1000))["items"]} == set(
        stored
    )
    assert world.http.get("/health/ready").status_code == 503
    assert world.database.broken is None

    free_disk(world)
    stored[ada.group("room again")] = "room again"
    eventually(lambda: world.http.get("/health/ready").status_code == 200)
    assert {group["id"] for group in ok(ada.get("/user/groups", limit=1000))["items"]} == set(
        stored
    )


def test_a_full_disk_fails_only_the_works_of_its_moment(database: SQLite) -> None:
    """Works that share a commit with the one for which there was no room are not half stored."""
    pages = asyncio.run(database.write(pragma("page_count")))
    asyncio.run(database.write(pragma(f"max_page_count = {pages + 10}")))

    async def story() -> list[Any]:
        works = [put(f"small {n}", 10) for n in range(5)]
        works.insert(3, put("huge", MIB))
        tasks = [database.write(work) for work in works]
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(story())
    assert "disk is full" in str(answers[3])
    order = ["small 0", "small 1", "small 2", "huge", "small 3", "small 4"]
    confirmed = {
        name
        for name, answer in zip(order, answers, strict=True)
        if not isinstance(answer, Exception)
    }
    stored = asyncio.run(database.read(names))
    assert {name for name in order if name in stored} == confirmed


def post_until_refused(service: Service) -> tuple[set[str], httpx.Response]:
    """Create groups; the names of those confirmed, and the answer to the first that was not."""
    confirmed: set[str] = set()
    for number in range(2_000):
        body = {"name": f"group {number}", "description": "x" * 4_000}
        answer = service.http.post("/group", json=body, headers=service.bearer)
        if answer.status_code != 200:
            return confirmed, answer
        confirmed.add(body["name"])
    raise AssertionError("the disk never failed")


def assert_fails_safely(service: Service, serve: Callable[..., Service]) -> None:
    """The disk fails: 503, not ready, the end with code 70; and later all that was confirmed."""
    confirmed, answer = post_until_refused(service)
    assert len(confirmed) > 3, "it worked before it failed"
    assert refused(answer, 503)["code"] == "outcome_unknown"
    ready = service.http.get("/health/ready")
    assert ready.status_code == 503
    assert ready.json()["status"] == "unavailable"
    assert service.http.get("/health/live").status_code == 200
    refused(service.post_group("after the failure"), 503)
    assert service.ended() == 70
    assert any(line["event"] == "database broken" for line in service.log)

    again = serve()
    found = again.group_names()
    assert confirmed <= found
    assert "after the failure" not in found
    ok(again.post_group("life goes on"))
    assert again.stop() == 0


@pytest.mark.soak  # tests/faults does this in every run
def test_a_disk_that_fails_to_write_ends_the_service_and_loses_nothing_confirmed(
    serve: Callable[..., Service],
) -> None:
    assert_fails_safely(serve(under=small_files_only(MIB)), serve)


@pytest.mark.soak  # tests/faults does this in every run
def test_a_disk_that_fails_to_flush_ends_the_service_and_loses_nothing_confirmed(
    serve: Callable[..., Service], data: Path
) -> None:
    if shutil.which("strace") is None:
        print("strace is not installed; only failing writes were tried, see the test above")
        return
    assert_fails_safely(serve(under=traced(data, "fdatasync", "error=EIO", "20+")), serve)


@pytest.mark.soak  # tests/faults does this in every run
def test_a_disk_that_fails_to_flush_once_is_not_trusted_again(
    serve: Callable[..., Service], data: Path
) -> None:
    """After a failed flush the kernel forgets what was not written; a second try would lie."""
    if shutil.which("strace") is None:
        print("strace is not installed; only failing writes were tried, see the test above")
        return
    assert_fails_safely(serve(under=traced(data, "fdatasync", "error=EIO", "20")), serve)


@pytest.mark.soak  # tests/faults does this in every run
def test_a_disk_without_room_for_the_log_refuses_and_heals_without_a_restart(
    serve: Callable[..., Service], data: Path
) -> None:
    if shutil.which("strace") is None:
        print("strace is not installed; a full disk was tried by a limit on pages, see above")
        return
    service = serve(under=traced(data, "pwrite64", "error=ENOSPC", "200..210"))
    confirmed, answer = post_until_refused(service)
    assert confirmed, "it worked before the disk was full"
    assert refused(answer, 503)["code"] == "unavailable"
    eventually(lambda: service.post_group("room again").status_code == 200)
    assert service.group_names() == confirmed | {"room again"}
    assert service.stop() == 0


@pytest.mark.parametrize("error", ["EIO", pytest.param("ESTALE", marks=pytest.mark.soak)])
def test_a_disk_that_cannot_be_read_ends_the_service(
    serve: Callable[..., Service], data: Path, error: str
) -> None:
    if shutil.which("strace") is None:
        print("strace is not installed; only failing writes were tried, see the test above")
        return
    service = serve(under=traced(data, "pread64", f"error={error}", "150+"))
    statuses: list[int] = []
    with suppress(httpx.TransportError):  # it may have ended by now
        while max(statuses, default=0) < 500:
            statuses.append(service.post_group("one more").status_code)
            answer = service.http.get("/user/groups", headers=service.bearer)
            statuses.append(answer.status_code)
    assert {200} <= set(statuses) <= {200, 503}, "what the disk does is never an internal error"
    assert service.ended() == 70


# --- sudden death ---


class Ledger:
    """Clients that create groups as fast as they can, and write down what was confirmed."""

    def __init__(self) -> None:
        self.confirmed: set[str] = set()
        self.sent: set[str] = set()
        self._round = 0

    def work_against(self, service: Service, clients: int = 3) -> list[threading.Thread]:
        self._round += 1
        threads = [
            threading.Thread(target=self._create, args=(service, f"{self._round}/{client}"))
            for client in range(clients)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _create(self, service: Service, client: str) -> None:
        headers = service.bearer
        with httpx.Client(base_url=service.url, timeout=120) as http, suppress(httpx.HTTPError):
            for number in range(100_000):
                name = f"{client}/{number}"
                self.sent.add(name)
                answer = http.post("/group", json={"name": name}, headers=headers)
                if answer.status_code == 200:
                    self.confirmed.add(name)


@pytest.mark.soak  # tests/faults does this in every run
def test_no_confirmed_group_is_lost_when_the_service_is_killed_again_and_again(
    serve: Callable[..., Service], data: Path
) -> None:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    ledger = Ledger()
    for _ in range(3):
        service = serve()
        assert service.token
        before = len(ledger.confirmed)
        clients = ledger.work_against(service)
        eventually(lambda: len(ledger.confirmed) > before)  # noqa: B023 (it is called right here)
        time.sleep(chance.uniform(0, 0.2))
        service.kill()
        for client in clients:
            client.join(120)
    found = serve().group_names()
    assert ledger.confirmed <= found
    assert found <= ledger.sent
    check = sqlite3.connect(data / "longwire.db")
    assert check.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert check.execute("pragma foreign_key_check").fetchall() == []
    check.close()


# --- the log ---


def test_the_log_stays_bounded_under_load_and_is_moved_when_there_is_time(
    database: SQLite, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_AFTER_BYTES", 8 * MIB)
    log = data / "longwire.db-wal"

    async def story() -> int:
        largest = 0
        for number in range(60):
            await database.write(put(f"large {number}", MIB))
            largest = max(largest, log.stat().st_size)
        return largest

    largest = asyncio.run(story())
    assert 2 * MIB < largest < 60 * MIB
    eventually(lambda: is_moved(data))
    # Its file stays as it is, and serves again.
    assert log.stat().st_size == largest
    asyncio.run(database.write(put("small", 10)))
    assert log.stat().st_size == largest


def is_moved(data: Path) -> bool:
    """Whether all that is in the log is in the file as well."""
    alone = data.with_name("alone")
    shutil.rmtree(alone, ignore_errors=True)
    alone.mkdir()
    shutil.copy(data / "longwire.db", alone)
    with closing(sqlite3.connect(alone / "longwire.db")) as copy:
        try:
            rows = copy.execute("select count(*) from instance where name like 'large %'")
            return bool(rows.fetchone() == (60,))
        except sqlite3.DatabaseError:
            return False  # copied while it was moved


def test_the_log_is_not_moved_at_every_commit_once_it_was_large(
    database: SQLite, data: Path
) -> None:
    async def story() -> int:
        for number in range(20):
            await database.write(put(f"large {number}", MIB))
        moved = set()
        for number in range(50):
            await database.write(put(f"small {number}", 10))
            moved.add((data / "longwire.db").stat().st_mtime_ns)
        return len(moved)

    assert asyncio.run(story()) <= 5


@pytest.fixture
def patient_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a lock waits longer than any test does."""
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 600_000)


def test_a_long_read_holds_up_no_writer(patient_engine: None, database: SQLite) -> None:
    """Emptying the log has to wait for readers; writers must not wait along."""
    gate = Gate()

    async def story() -> None:
        long_read = asyncio.create_task(database.read(gate.work))
        await gate.is_reached()
        async with asyncio.timeout(PATIENCE_S):
            for number in range(3):
                await database.write(put(f"meanwhile {number}", 10))
                await asyncio.sleep(IDLE_S + 0.1)  # by then the writer sees to the log
        gate.open()
        await long_read

    asyncio.run(story())


# --- visitors ---


def test_a_visitor_writes_beside_the_service_and_leaves_the_log_to_it(data: Path) -> None:
    """The service's connection is only held open here, so that nobody else tidies up."""
    serving = sqlite3.connect(data / "longwire.db")
    serving.execute("select count(*) from instance").fetchone()
    visitor, _ = startup.build_database(Settings(data=data), Clock(), is_secondary=True)
    assert isinstance(visitor, SQLite)
    before = (data / "longwire.db").stat().st_size
    visitor.start()
    for number in range(20):
        asyncio.run(visitor.write(put(f"large {number}", MIB)))
    time.sleep(2 * IDLE_S)  # it would tidy up when it has nothing to do
    visitor.close()
    assert (data / "longwire.db").stat().st_size == before
    assert (data / "longwire.db-wal").stat().st_size > 20 * MIB
    found = serving.execute("select count(*) from instance where name like 'large %'").fetchone()
    assert found == (20,)
    serving.close()


def test_an_operators_command_works_while_the_service_is_busy(
    serve: Callable[..., Service], data: Path, tmp_path: Path
) -> None:
    service = serve()
    ledger = Ledger()
    assert service.token
    clients = ledger.work_against(service, clients=2)
    issued = longwire(
        *("credentials", "issue", "--email", "eve@example.com", "--json", "--data", str(data)),
        cwd=tmp_path,
    )
    assert issued.returncode == 0, issued.stderr
    assert service.stop() == 0
    for client in clients:
        client.join(120)
    listed = longwire("credentials", "list", "--json", "--data", str(data), cwd=tmp_path)
    assert "eve@example.com" in listed.stdout
    assert ledger.confirmed <= serve().group_names()


def test_a_second_service_on_one_folder_is_refused(
    serve: Callable[..., Service], data: Path, tmp_path: Path
) -> None:
    first = serve()
    second = longwire("serve", "--data", str(data), "--port", "0", cwd=tmp_path)
    assert second.returncode == 2
    assert second.stdout == ""
    assert second.stderr.startswith("longwire: Another longwire process already serves ")
    assert second.stderr.count("\n") == 1
    ok(first.post_group("undisturbed"))
    first.kill()
    ok(serve().post_group("a killed service leaves no lock behind"))


def test_a_file_that_is_no_database_is_a_sentence(tmp_path: Path) -> None:
    prepare_data_folder(tmp_path / "data")
    (tmp_path / "data" / "longwire.db").write_bytes(b"this was a shopping list" * 1_000)
    result = longwire("serve", "--data", "data", "--port", "0", cwd=tmp_path)
    assert result.returncode == 2
    assert "cannot be used" in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_was_queued_before_the_database_broke_does_not_seem_to_succeed(
    database: SQLite,
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def break_it(tx: Tx) -> None:
        begun.set()
        assert may_end.wait(60)
        database.broken = "the disk does not flush"

    async def story() -> None:
        first = asyncio.ensure_future(database.write(break_it))
        await asyncio.to_thread(begun.wait, 60)
        second = asyncio.ensure_future(database.write(lambda tx: "stored"))
        await asyncio.sleep(0)  # it is queued
        may_end.set()
        await first
        with pytest.raises(OutcomeUnknown):
            await second

    asyncio.run(story())

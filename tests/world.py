"""A running service and its users, for tests.

Each test gets its own database (a copy of a template), its own service on a free port, and a clock
that can be advanced. Nothing is mocked: requests go over HTTP.
"""

import asyncio
import itertools
import json
import os
import shutil
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import pytest
import sqlalchemy as sa
import uvloop

from longwire.clock import Clock, Moment
from longwire.identity import groups, tokens
from longwire.inbound.ingest_requests import KeptContent, encode_kept
from longwire.model import SYSTEM, Actor
from longwire.networks.base import ParsedUplink, Reading
from longwire.notifications import monitoring
from longwire.process.app import SIGN_IN, App
from longwire.process.app_config import build_wire_limits
from longwire.process.startup import build_database, prepare
from longwire.settings import Settings
from longwire.settings.fixed_limits import FixedLimits
from longwire.store import schema
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.engines import citus
from longwire.store.statement import Statement
from longwire.web.errors import encode_problem
from longwire.web.routing import NO_TOKEN, Route
from longwire.web.server import build_server
from tests.socket_client import SocketClient
from tests.waiting import PATIENCE_S, eventually

T = TypeVar("T")

KINDS = ("data", "event", "geoloc", "telemetry")
NOON = "2026-03-01T12:00:00.000Z"
PAGES_MAX = 1_000  # of a list that a test walks

# What each kind of record requires in addition to device and timestamp.
_REQUIRED: dict[str, dict[str, str]] = {
    "data": {"data": "{}", "configuration": "{}", "__raw": "00", "deviceType": "generic"},
    "event": {"type": "opened"},
    "geoloc": {},
    "telemetry": {"deviceType": "generic"},
}


def change_settings(settings: Settings, **changes: Any) -> Settings:
    """Other values, also of what is no setting but fixed."""
    names = {each.name for each in fields(FixedLimits)}
    fixed = {name: value for name, value in changes.items() if name in names}
    others = {name: value for name, value in changes.items() if name not in names}
    return replace(settings, fixed=replace(settings.fixed, **fixed), **others)


class AdjustableClock(Clock):
    """The real time plus what the test has added."""

    def __init__(self) -> None:
        super().__init__()
        self._turned: Moment = 0
        self._frozen_at: Moment | None = None

    def now(self) -> Moment:
        base = super().now() if self._frozen_at is None else self._frozen_at
        return base + self._turned

    def freeze(self) -> None:
        """From now on only `let_pass` moves the clock, so that no rate limit refills meanwhile."""
        self._frozen_at = super().now()

    def let_pass(self, *, seconds: float = 0, days: float = 0) -> None:
        self._turned += round((seconds + days * 86_400) * 1_000_000)

    def synchronize(self, reference: Moment) -> None:
        """The test decides what time it is, not the database."""


def _select_all(table: sa.Table) -> str:
    columns = ", ".join(f'"{column.name}"' for column in table.c)
    condition = "expires_at is null or expires_at > :now" if "expires_at" in table.c else "true"
    return f"select {columns} from {table.name} where {condition}"


_EVERYTHING = {
    table.name: _select_all(table)
    for table in schema.metadata.sorted_tables
    # Messages of unknown devices are stored some seconds later, whatever else a test does then, and
    # so are the sums of values; minutes of contacts that are over are deleted.
    if table.name
    not in {
        *("access_token", "audit", "cache_epoch", "config_change", "contact_window", "node"),
        "unknown_device",
    }
    and not table.name.startswith("summary_")
}


class Person:
    """A user or an app client with an access token, or an anonymous caller."""

    def __init__(self, world: "World", token: str | None, user_id: str, client: tuple[str, str]):
        self.world = world
        self.token = token
        self.id = user_id
        self.client_id, self.client_secret = client

    def at(self, world: "World") -> "Person":
        """The same caller, as a client of another process."""
        return Person(world, self.token, self.id, (self.client_id, self.client_secret))

    def request(self, method: str, path: str, **kwargs: Any) -> httpx.Response:
        headers = dict(kwargs.pop("headers", {}))
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        return self.world.http.request(method, path, headers=headers, **kwargs)

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.request("GET", path, params=params)

    def post(self, path: str, body: Any = None, **params: Any) -> httpx.Response:
        return self.request("POST", path, json=body, params=params)

    def put(self, path: str, body: Any = None, **params: Any) -> httpx.Response:
        return self.request("PUT", path, json=body, params=params)

    def delete(self, path: str, **params: Any) -> httpx.Response:
        return self.request("DELETE", path, params=params)

    def group(self, name: str = "group", parent: str | None = None, **fields: Any) -> str:
        """Create a group; its id."""
        params = {"parentId": parent} if parent else {}
        return str(ok(self.post("/group", {"name": name, **fields}, **params))["id"])

    def invite(self, person: "Person", group: str, role: str) -> None:
        """Invite somebody, who accepts."""
        body = {"email": self.world.email_of(person), "groupId": group, "roleId": role}
        ok(self.put("/group/invite", body))
        invited = Actor("user", person.id)
        self.world.write(lambda tx: groups.accept_invitations(tx, invited, [group]))

    def role(self, *permissions: str, name: str = "custom") -> str:
        body = {"name": name, "description": "", "permissions": ",".join(permissions)}
        return str(ok(self.post("/role", body))["id"])

    def app_client(self, group: str, name: str = "app") -> "Person":
        created = ok(self.post("/appClient", {"groupId": group, "name": name}))
        client = (created["appClientId"], created["secret"])
        return Person(self.world, self.world.token(*client), created["appClientId"], client)

    def device(self, group: str, **fields: Any) -> str:
        """Create a device; its id."""
        return str(ok(self.post("/device", device_in(self.world, group, **fields)))["deviceId"])

    def connector(
        self, group: str, url: str, *, params: dict[str, Any] | None = None, **fields: Any
    ) -> str:
        """Create a connector to an HTTP receiver; its id."""
        text = json.dumps({"url": url, **(params or {})})
        body = {"groupId": group, "type": "http", "params": text, **fields}
        return str(ok(self.post("/connector", body))["id"])

    def events(self, group: str, connector: str, **params: Any) -> dict[str, Any]:
        """The delivery events of a connector, of the last day."""
        now = self.world.clock.now() // 1_000
        period = {"beginDate": str(now - 86_400_000), "endDate": str(now + 60_000)} | params
        named = {"connectorId": connector, "groupId": group}
        return dict(ok(self.get("/connector/connectorEvent", **named, **period)))

    def notification(
        self, group: str, url: str, *, params: dict[str, Any] | None = None, **fields: Any
    ) -> str:
        """Create a notification to an HTTP receiver; its id."""
        text = json.dumps({"url": url, **(params or {})})
        body = {"groupId": group, "type": "webhook", "name": "alarm", "params": text, **fields}
        return str(ok(self.post("/notification", body))["id"])

    def reports(self, device: str, kind: str = "data", **fields: Any) -> dict[str, Any]:
        """Store a record; the record as it is returned."""
        return dict(ok(self.post(f"/device/{kind}", record_of(device, kind, **fields))))

    def records(self, device: str, kind: str = "data", **params: Any) -> list[dict[str, Any]]:
        """All records of a device that this person may read."""
        return walk(partial(self.get, f"/device/{kind}"), deviceId=device, **params)


class World:
    """One running service."""

    def __init__(
        self,
        settings: Settings,
        clock: AdjustableClock,
        *,
        has_fast_path: bool = True,
        is_prepared: bool = False,
    ) -> None:
        """`is_prepared` for a database that is a copy of one that was prepared by this code."""
        self.settings = settings
        self.has_fast_path = has_fast_path
        self.clock = clock
        self._emails: dict[str, str] = {}
        self.numbers = itertools.count(1)  # for unique names
        self._is_prepared = is_prepared
        self.start()
        self.operator = self._operator()
        self.nobody = Person(self, None, "", ("", ""))

    # --- the service ---

    def start(self, port: int = 0) -> None:
        self.database, save_key = build_database(self.settings, self.clock)
        share_compiled_statements(self.database)
        if not self._is_prepared:
            prepare(self.database, self.settings, save_key)
        self._is_prepared = False  # a restart is one as a user makes it
        self.database.start()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self.app = App(self.settings, self.database)
        self._server = build_server(
            self.app,
            host="127.0.0.1",
            port=self.port,
            limits=build_wire_limits(self.settings),
            encode_error=encode_problem,
            fast_path=self.app.fast_path if self.has_fast_path else None,
            on_too_many=self.app.count_rejected_connection,
            on_stopping=self.app.stop_streams,
            tls_cert=self.settings.tls_cert or None,
            tls_key=self.settings.tls_key or None,
        )
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        self._loop = ready.result(timeout=PATIENCE_S)
        scheme = "https" if self.settings.tls_cert else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.http = SocketClient(self.url)

    def _serve(self, ready: "Future[asyncio.AbstractEventLoop]") -> None:
        async def run() -> None:
            serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
            while not self._server.started and not serving.done():  # noqa: ASYNC110 (a flag is all it has)
                await asyncio.sleep(0.005)
            ready.set_result(asyncio.get_running_loop())
            await serving

        uvloop.run(run())  # as in production: plain asyncio would wait for Nagle

    def stop(self) -> None:
        self.http.close()
        self._server.should_exit = True
        self._thread.join(120)
        assert not self._thread.is_alive(), "the service did not stop"
        self.database.close()
        self._listener.close()

    def restart(self, *, keep_port: bool = False) -> None:
        self.stop()
        self.start(self.port if keep_port else 0)

    @property
    def operations(self) -> list[Route]:
        """All but the stream without an end; also those that need a part of the process."""
        routes = [each for each in self.app.routes if not each.takes_request]
        routes = [each for each in routes if each.permission != NO_TOKEN]
        return [each for each in routes if each not in SIGN_IN and each.path != "/live"]

    # --- people ---

    def person(self, name: str = "ada", *, operator: bool = False) -> Person:
        """A new user with credentials and a token, who is no member of any group yet."""
        email = f"{name}@example.com"
        created = self.write(
            lambda tx: tokens.issue_credential(tx, SYSTEM, email, is_operator=operator)
        )
        client = (created.credential.client_id, created.secret)
        person = Person(self, self.token(*client), created.credential.user_id, client)
        self._emails[person.id] = email
        return person

    def email_of(self, person: Person) -> str:
        return self._emails[person.id]

    def token(self, client_id: str, secret: str) -> str:
        return str(ok(self.ask_token(client_id, secret))["access_token"])

    def ask_token(self, client_id: str, secret: str) -> httpx.Response:
        return self.http.post(
            "/oauth2/token",
            params={"grant_type": "client_credentials"},
            headers={
                "Authorization": basic(client_id, secret),
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )

    def _operator(self) -> Person:
        created = self.write(
            lambda tx: tokens.issue_credential(tx, SYSTEM, "chief@example.com", is_operator=True)
        )
        client = (created.credential.client_id, created.secret)
        self._emails[created.credential.user_id] = "chief@example.com"
        return Person(self, self.token(*client), created.credential.user_id, client)

    # --- internals ---

    def read(self, work: Callable[[Tx], T]) -> T:
        return self._run(self.database.read(work))

    def write(self, work: Callable[[Tx], T]) -> T:
        return self._run(self.database.write(work))

    def observe_own_changes(self) -> None:
        """The watcher of epochs sees this process's own changes again, and evicts what it cached.

        From here on there is nothing to see.
        """
        caches = self.database.context.caches
        self.read(lambda tx: caches.observe(cache_epochs.read_epochs(tx)))

    def run_monitors_once(
        self, places: Mapping[monitoring.Place, int] = MappingProxyType({})
    ) -> monitoring.MonitoringRound:
        """Run one round of the notification monitor, instead of waiting for it."""
        take_seqs, wake = self.app._dispatch.take_sequence_numbers, self.app.engine.wake
        done = self._run(monitoring.check_all(self.database, take_seqs, wake, places))
        assert isinstance(done, monitoring.MonitoringRound)
        return done

    def run_alarms_once(self) -> None:
        """Do what is due for alarms, instead of waiting for it."""
        self._run(self.app.alarm_work.run_rounds())

    def _run(self, waiting: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(waiting, self._loop).result(timeout=PATIENCE_S)

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table but tokens and the audit log, to see that nothing changed.

        The rows are as the driver reads them: a test that takes every request of the API reads
        all tables hundreds of times. What has expired is left out: it is deleted some time later.
        """

        def work(tx: Tx) -> dict[str, list[tuple[Any, ...]]]:
            return {
                name: sorted(tx.fetch(Statement(sql), now=tx.now), key=repr)
                for name, sql in _EVERYTHING.items()
            }

        return self.read(work)

    def receive_unknown(
        self, group_id: str, network: str, original_id: str, *, payload: str = ""
    ) -> None:
        """A message of a device that does not exist, with the token of the group."""
        reading = Reading("data", None, {"raw": "00", "data": {}})
        content = KeptContent(ParsedUplink(original_id=original_id, readings=(reading,)))
        self.app._unknown_devices.note(
            Actor("network", group_id, group_id=group_id),
            network,
            original_id,
            payload=payload,
            content=encode_kept(content),
        )
        self._run(self.app._unknown_devices.flush())

    def list_rows(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of one table that have not expired."""
        table = schema.metadata.tables[name]

        def work(tx: Tx) -> list[tuple[Any, ...]]:
            statement = table.select()
            if "expires_at" in table.c:
                expires_at = table.c.expires_at
                statement = statement.where(expires_at.is_(None) | (expires_at > tx.now))
            return sorted((tuple(row) for row in tx.rows(statement)), key=repr)

        return self.read(work)

    def audit(self) -> list[tuple[str, str, str]]:
        """(actor, action, object) in order."""

        def work(tx: Tx) -> list[tuple[str, str, str]]:
            table = schema.metadata.tables["audit"]
            rows = tx.rows(table.select().order_by(table.c.id))
            return [(row.actor_id, row.action, row.object_id) for row in rows]

        return self.read(work)


def basic(client_id: str, secret: str) -> str:
    """The header field of a client that authenticates itself."""
    return "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


def ok(response: httpx.Response) -> Any:
    """The body of a success."""
    assert response.status_code == 200, f"{response.status_code} {response.text}"
    return response.json()


def refused(response: httpx.Response, status: int, *fields: str) -> dict[str, Any]:
    """The body of an error response, which must name exactly these fields."""
    assert response.status_code == status, f"{response.status_code} {response.text}"
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status
    assert problem["message"] == problem["detail"] != ""
    assert problem["requestId"] == response.headers["x-request-id"]
    named = {error["field"] for error in problem["errors"]}
    if fields:
        assert named == set(fields), problem
    return dict(problem)


@contextmanager
def nothing_happens(world: World) -> Iterator[None]:
    """Nothing in this block may change a row or write to the audit log."""
    # What an earlier request left to do in the background may still change a row.
    rows = world.everything()

    def is_settled() -> bool:
        nonlocal rows
        before, rows = rows, world.everything()
        return rows == before and rows["configuration_check"] == []  # those that wait

    eventually(is_settled)
    trail = world.audit()
    yield
    now = world.everything()
    changed = {name: (rows[name], now[name]) for name in rows if now[name] != rows[name]}
    assert not changed, changed
    assert world.audit() == trail


def device_in(world: World, group: str, **fields: Any) -> dict[str, Any]:
    """The body of a device to create; no two have the same original id."""
    number = next(world.numbers)
    return {
        "groupId": group,
        "name": f"device {number}",
        "type": "generic",
        "originalId": f"{number:06X}",
        "network": "mqtt",
        **fields,
    }


def record_of(device: str, kind: str = "data", **fields: Any) -> dict[str, Any]:
    """The body of a record to store: what its kind needs, and what is given."""
    return {"deviceId": device, "timestamp": NOON, **_REQUIRED[kind], **fields}


def walk(list_page: Callable[..., httpx.Response], **params: Any) -> list[Any]:
    """All items of a paged list, page by page."""
    return [item for page in walk_pages(list_page, **params) for item in page["items"]]


def walk_pages(list_page: Callable[..., httpx.Response], **params: Any) -> Iterator[dict[str, Any]]:
    """The pages of a list, which must have an end."""
    for _ in range(PAGES_MAX):
        page = ok(list_page(**params))
        yield page
        if "nextToken" not in page:
            return
        assert page["nextToken"] != params.get("nextToken"), "a page leads to itself"
        params["nextToken"] = page["nextToken"]
    raise AssertionError(f"the list has no end after {PAGES_MAX} pages")


# --- compiled statements ---


class CompiledStatements(dict[Any, Any]):
    """Compiled statements of every world, by dialect: compiling one takes longer than running it.

    SQLAlchemy looks them up by the dialect of one engine, and each world has its own.
    """

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        super().__setitem__((key[0].name, *key[1:]), compiled)


_COMPILED_STATEMENTS = CompiledStatements()


def share_compiled_statements(database: Database) -> None:
    for engine in {database._engine, getattr(database, "_reading", database._engine)}:
        engine.update_execution_options(compiled_cache=_COMPILED_STATEMENTS)


# --- template databases ---


# The URL of a server with the extension Citus, on which the tests of PostgreSQL are then run.
CITUS_URL = os.environ.get("LONGWIRE_TEST_CITUS", "")
# Into how many slots a PostgreSQL of the tests is divided; one if it is not said.
SLOTS = int(os.environ.get("LONGWIRE_TEST_SLOTS", "4" if CITUS_URL else "0"))
ONE_SLOT = pytest.mark.skipif(SLOTS > 1, reason="a commit, or a process, holds one of the slots")


def not_on_citus(reason: str) -> pytest.MarkDecorator:
    """A test of what a distributed database does not have, or of an ordinary server."""
    return pytest.mark.skipif(bool(CITUS_URL), reason=reason)


def prepare_data_folder(folder: Path, database: str = "", slots: int = SLOTS) -> Settings:
    """A migrated database with the built-in rows, to be copied for each test."""
    is_distributed = bool(CITUS_URL) and urlsplit(database).netloc == urlsplit(CITUS_URL).netloc
    settings = Settings(data=folder, database=database, database_slots=slots if database else 0)
    created, save_key = build_database(settings, Clock())
    prepare(created, settings, save_key)
    # It would expire in the middle of some test of a run that takes a quarter of an hour.
    created.upgrade(lambda tx: tx.execute(sa.delete(schema.sign_in_code)))
    if is_distributed:
        created.upgrade(citus.distribute)
    created.close()
    return settings


def copy_data_folder(template: Path, folder: Path) -> Path:
    """Without what belongs to a connection: somebody may look into the template meanwhile."""
    beside = shutil.ignore_patterns("*-wal", "*-shm")
    shutil.copytree(template, folder, dirs_exist_ok=True, ignore=beside)
    return folder


__all__ = [
    "KINDS",
    "NOON",
    "ONE_SLOT",
    "AdjustableClock",
    "Database",
    "Person",
    "World",
    "device_in",
    "not_on_citus",
    "nothing_happens",
    "ok",
    "record_of",
    "refused",
    "walk",
]

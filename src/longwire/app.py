"""Puts the building together: the lowest floor first, and takes it down in reverse.

The only file that knows everything. Settings stop here; what is below receives plain values.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from longwire import __version__
from longwire.api import clients, groups, openapi, roles, tokens, users
from longwire.api.door import Door, DoorSettings, Receive, Scope, Send
from longwire.api.instruments import Instruments
from longwire.api.routes import PlainRoute, Route
from longwire.api.server import WireLimits
from longwire.api.service import ServicePages
from longwire.api.tokens import TokenEndpoint
from longwire.api.wire import InputLimits
from longwire.clock import Clock
from longwire.errors import LongwireError
from longwire.fleet import catalogue
from longwire.identity import founding
from longwire.identity import tokens as identity_tokens
from longwire.identity.throttle import Throttle
from longwire.model import SYSTEM
from longwire.seal import KEY_BYTES, Keyring, new_key
from longwire.settings import Settings
from longwire.store import credentials, instance, rights, upgrade
from longwire.store.database import Database, Tools, Tx
from longwire.store.memory import Memory
from longwire.store.postgres import Postgres
from longwire.store.sqlite import SQLite

OPERATIONS: tuple[Route, ...] = (
    *groups.ROUTES,
    *roles.ROUTES,
    *users.ROUTES,
    *clients.ROUTES,
)

RIGHTS_WATCH_S = 1.0
RIGHTS_TRUST_S = 5.0
PRUNE_EVERY_S = 60.0
PRUNE_AGAIN_S = 0.1
PRUNE_ROWS_MAX = 1_000

HOW_TO_FILL = "Start `longwire serve` once, or run `longwire migrate`."

log = structlog.get_logger()


class CannotStart(Exception):
    """The service cannot start; the message tells the operator why and what to do."""


@dataclass(frozen=True, slots=True)
class Founded:
    """What a first start made: the operator's credentials, shown once."""

    client_id: str
    client_secret: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """What preparing a database did."""

    steps: list[str]
    founded: Founded | None


# --- the database ---


def open_database(
    settings: Settings, clock: Clock, *, is_guest: bool = False
) -> tuple[Database, Callable[[], None]]:
    """The database of the settings, not started yet, and what puts its key in place."""
    key, keep_key = _key(settings)
    tools = Tools(clock, Keyring(key), Memory())
    if settings.database:
        return (
            Postgres(settings.database, tools, connections=settings.database_connections),
            keep_key,
        )
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SQLite(settings.data / "longwire.db", tools, is_guest=is_guest), keep_key


def prepare(
    database: Database,
    settings: Settings,
    keep_key: Callable[[], None],
    *,
    may_found: bool = True,
) -> Prepared:
    """Bring the database up to date, and fill it when it is empty; all or nothing."""

    def work(tx: Tx) -> Prepared:
        if not may_found and upgrade.current(tx.connection) is None:
            raise CannotStart(f"This database is empty. {HOW_TO_FILL}")
        steps = upgrade.upgrade(tx)
        if founding.is_founded(tx):
            _require_same_key(tx)
            founding.complete_catalogue(tx)
            catalogue.complete(tx)
            return Prepared(steps, None)
        operator = founding.found(tx)
        catalogue.complete(tx)
        issued = identity_tokens.credential_for(tx, SYSTEM, operator.id)
        founded = Founded(issued.credential.client_id, issued.secret, operator.id)
        # Written before the commit: were it the other way round, a crash in between would leave a
        # database whose only credentials nobody has ever seen.
        keep_key()
        _keep_operator(settings, founded)
        return Prepared(steps, founded)

    return database.upgrade(work)


def _key(settings: Settings) -> tuple[bytes, Callable[[], None]]:
    """The secret key, and a function that keeps a new one once it is needed."""
    path = settings.data / "secret.key"
    if settings.secret_key or path.exists():
        try:
            key = bytes.fromhex((settings.secret_key or path.read_text()).strip())
        except (ValueError, OSError) as error:
            raise CannotStart(f"The secret key cannot be read: {error}") from error
        if len(key) != KEY_BYTES:
            raise CannotStart(f"The secret key must have {KEY_BYTES} bytes, in hex.")
        return key, lambda: None
    key = new_key()
    return key, lambda: _write_private(path, key.hex() + "\n")


def _require_same_key(tx: Tx) -> None:
    if instance.fact(tx, "key_fingerprint") != tx.keyring.fingerprint:
        raise CannotStart(
            "This database was made with another secret key. Copy secret.key from the data folder "
            "of its first start into this one, or set LONGWIRE_SECRET_KEY."
        )


def _keep_operator(settings: Settings, founded: Founded) -> None:
    content = {
        "baseUrl": base_url(settings),
        "authUrl": settings.auth_url or base_url(settings),
        "clientId": founded.client_id,
        "clientSecret": founded.client_secret,
        "userId": founded.user_id,
    }
    _write_private(settings.data / "operator.json", json.dumps(content, indent=2) + "\n")


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def base_url(settings: Settings) -> str:
    if settings.public_url:
        return settings.public_url.rstrip("/")
    scheme = "https" if settings.tls_cert else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"


# --- the service ---


class App:
    """The ASGI application: the door, and what runs beside it while it is open."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self.database = database
        self.stop: Callable[[], None] = lambda: None  # set by whoever runs the server
        instruments = Instruments(shares_counters="PROMETHEUS_MULTIPROC_DIR" in os.environ)
        pages = ServicePages(database, instruments)
        limits = _input_limits(settings)
        self.routes: list[Route | PlainRoute] = [
            *_token_routes(settings, database),
            *OPERATIONS,
            *pages.routes(),
        ]
        pages.describe(openapi.document(self.routes, limits, __version__))
        self._door = Door(
            database,
            self.routes,
            DoorSettings(
                limits,
                settings.trusted_proxies,
                bool(settings.tls_cert),
                _caller_throttle(settings, database),
            ),
            instruments,
        )
        self._beside: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._door(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(watch_rights(self.database, self._failed)),
            asyncio.create_task(prune(self.database)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _failed(self) -> None:
        log.critical("stopping: the database cannot be trusted", reason=self.database.broken)
        self.stop()


async def watch_rights(database: Database, failed: Callable[[], None]) -> None:
    """Follow the epoch and the clock of the database; say so when the database is broken."""
    memory, clock = database.tools.memory, database.tools.clock
    last_seen = time.monotonic()
    while True:
        if database.broken:
            failed()
            return
        try:
            async with asyncio.timeout(RIGHTS_TRUST_S):
                epoch, now = await database.read(rights.epoch_and_time)
        except Exception as error:
            # Whatever it was: a watch that ends would leave stale rights standing for ever.
            if not isinstance(error, LongwireError | TimeoutError):
                log.exception("the epoch of rights cannot be read")
            if time.monotonic() - last_seen > RIGHTS_TRUST_S:
                memory.distrust()
        else:
            last_seen = time.monotonic()
            memory.saw_epoch(epoch)
            if database.engine_name == "postgresql":
                clock.follow(now)
        await asyncio.sleep(RIGHTS_WATCH_S)


async def prune(database: Database) -> None:
    """Remove tokens that are over, a few at a time."""
    while True:
        pruned = 0
        try:
            pruned = await database.write(lambda tx: credentials.prune_tokens(tx, PRUNE_ROWS_MAX))
        except LongwireError:
            pass  # the database is away for now; the next round tries again
        except Exception:
            log.exception("tokens that are over could not be removed")
        await asyncio.sleep(PRUNE_AGAIN_S if pruned == PRUNE_ROWS_MAX else PRUNE_EVERY_S)


def _token_routes(settings: Settings, database: Database) -> list[PlainRoute]:
    if settings.auth_url:
        return []
    clock = database.tools.clock
    per_address, per_client = (
        Throttle(clock, burst=most, per_minute=most)
        for most in (
            settings.token_failures_per_address_max,
            settings.token_failures_per_client_max,
        )
    )
    return tokens.routes(
        TokenEndpoint(
            database,
            lifetime_s=settings.token_lifetime_s,
            per_address=per_address,
            per_client=per_client,
        ),
        openapi.token_document(),
    )


def _caller_throttle(settings: Settings, database: Database) -> Throttle | None:
    if not settings.requests_per_caller_per_s:
        return None
    return Throttle(
        database.tools.clock,
        burst=settings.requests_per_caller_burst,
        per_minute=settings.requests_per_caller_per_s * 60,
    )


def _input_limits(settings: Settings) -> InputLimits:
    return InputLimits(
        body_bytes_max=settings.body_bytes_max,
        bulk_body_bytes_max=settings.bulk_body_bytes_max,
        json_depth_max=settings.json_depth_max,
        page_items_max=settings.page_items_max,
        page_items_default=settings.page_items_default,
        bulk_ids_max=settings.bulk_ids_max,
        tags_max=settings.tags_max,
        tag_characters_max=settings.tag_characters_max,
    )


def wire_limits(settings: Settings) -> WireLimits:
    return WireLimits(
        head_bytes_max=settings.head_bytes_max,
        head_timeout_s=settings.head_timeout_s,
        request_timeout_s=settings.request_timeout_s,
        write_timeout_s=settings.write_timeout_s,
        keep_alive_s=settings.keep_alive_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
    )

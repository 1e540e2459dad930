"""Opens the database of the settings: finds its key, brings it up to date, fills it when empty.

Commands beside a running service need this, too, and wait until it is loaded. So nothing here knows
the interface or the delivery of messages.
"""

import importlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwire.clock import Clock
from longwire.fleet import device_types
from longwire.identity import bootstrap, tokens
from longwire.model import SYSTEM
from longwire.seal import KEY_BYTES, Keyring, new_key
from longwire.settings import Settings
from longwire.store import instance, partitions, upgrade
from longwire.store.cache import Memory
from longwire.store.database import Database, Tools, Tx
from longwire.store.sqlite import SQLite

HOW_TO_FILL = "Start `longwire serve` once, or run `longwire migrate`."


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


def opened(
    settings: Settings, clock: Clock, *, is_guest: bool = False, is_visit: bool = False
) -> tuple[Database, Prepared]:
    """The database of the settings, prepared but not started yet, and what preparing it did.

    Of several processes that start at once in an empty folder, one makes the key. The others had
    thought of one as well, which nobody has seen: they go on with the one that was kept.
    """
    while True:
        is_keyless = not _has_key(settings)
        database, keep_key = open_database(settings, clock, is_guest=is_guest)
        try:
            return database, prepare(database, settings, keep_key, is_visit=is_visit)
        except CannotStart:
            database.close()
            if not is_keyless or not _has_key(settings):
                raise
        except BaseException:
            database.close()
            raise


def open_database(
    settings: Settings, clock: Clock, *, is_guest: bool = False
) -> tuple[Database, Callable[[], None]]:
    """The database of the settings, not started yet, and what puts its key in place."""
    key, keep_key = _key(settings)
    tools = Tools(clock, Keyring(key), Memory())
    if settings.database:
        # Its driver takes long to load, and only those wait for it who need it.
        engine: Any = importlib.import_module("longwire.store.postgres")
        database: Database = engine.Postgres(
            settings.database, tools, connections=settings.database_connections
        )
        return database, keep_key
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SQLite(settings.data / "longwire.db", tools, is_guest=is_guest), keep_key


def prepare(
    database: Database,
    settings: Settings,
    keep_key: Callable[[], None],
    *,
    is_visit: bool = False,
) -> Prepared:
    """Bring the database up to date, and fill it when it is empty; all or nothing.

    A visit, as of a command beside the service, does neither: a newer command must not change the
    schema under an older service.
    """

    def work(tx: Tx) -> Prepared:
        if is_visit:
            _require_ready(tx)
        steps = upgrade.upgrade(tx)
        partitions.make_ahead(tx)
        if bootstrap.is_founded(tx):
            _require_same_key(tx)
            bootstrap.complete_catalogue(tx)
            device_types.complete(tx)
            return Prepared(steps, None)
        operator = bootstrap.found(tx)
        device_types.complete(tx)
        issued = tokens.credential_for(tx, SYSTEM, operator.id)
        founded = Founded(issued.credential.client_id, issued.secret, operator.id)
        # Written before the commit: were it the other way round, a crash in between would leave a
        # database whose only credentials nobody has ever seen.
        keep_key()
        _keep_operator(settings, founded)
        return Prepared(steps, founded)

    return database.upgrade(work)


def _key(settings: Settings) -> tuple[bytes, Callable[[], None]]:
    """The secret key, and a function that keeps a new one once it is needed."""
    path = _key_path(settings)
    if _has_key(settings):
        try:
            key = bytes.fromhex((settings.secret_key or path.read_text()).strip())
        except (ValueError, OSError) as error:
            raise CannotStart(f"The secret key cannot be read: {error}") from error
        if len(key) != KEY_BYTES:
            raise CannotStart(f"The secret key must have {KEY_BYTES} bytes, in hex.")
        return key, lambda: None
    key = new_key()
    return key, lambda: _keep_new_key(path, key)


def _has_key(settings: Settings) -> bool:
    return bool(settings.secret_key) or _key_path(settings).exists()


def _key_path(settings: Settings) -> Path:
    return settings.data / "secret.key"


def _keep_new_key(path: Path, key: bytes) -> None:
    """Keep it unless there is one by now: what that one has sealed would be lost with it."""
    with _written_aside(path, key.hex() + "\n") as part:
        try:
            path.hardlink_to(part)
        except OSError as error:
            if path.exists():
                raise CannotStart(f"Another process has just made {path}. Try again.") from error
            part.replace(path)  # a file system without links
    _settle_folder(path)


def _require_ready(tx: Tx) -> None:
    if upgrade.current(tx.connection) is None:
        raise CannotStart(f"This database is empty. {HOW_TO_FILL}")
    if upgrade.missing_steps(tx):
        raise CannotStart(
            "This database was made by an older version. Restart the service with this one, or "
            "run `longwire migrate`."
        )


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
    with _written_aside(path, text) as part:
        part.replace(path)
    _settle_folder(path)


@contextmanager
def _written_aside(path: Path, text: str) -> Iterator[Path]:
    """A file with this text that no other process knows, in the folder of the one it is to be."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(".part", f"{path.name}.", path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        part.unlink(missing_ok=True)


def _settle_folder(path: Path) -> None:
    """The new name must be on the disk before the database relies on what it names."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def base_url(settings: Settings) -> str:
    if settings.public_url:
        return settings.public_url.rstrip("/")
    scheme = "https" if settings.tls_cert else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"

"""Opens the configured database: loads its key, migrates its schema, bootstraps it when empty.

Commands that run next to a service load this too, so it imports neither the API nor delivery.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from longwire import extras
from longwire.clock import Clock
from longwire.dataclass import dataclass
from longwire.errors import OperatorError
from longwire.fleet import device_types
from longwire.identity import bootstrap, sign_in_links, tokens
from longwire.identity.sign_in_links import LinkPurpose
from longwire.model import SYSTEM, LinkSource
from longwire.seal import KEY_BYTES, Keyring, new_key
from longwire.settings import STANDBY, Settings
from longwire.store import instance
from longwire.store.archive import archive_files
from longwire.store.database import Database, DatabaseContext, Tx
from longwire.store.engines import partitions, slot_count, upgrade
from longwire.store.engines.sqlite import SQLite

MOVING_FACT = "moving"  # in a database that a move has not filled yet: how far it is
HOW_TO_INITIALIZE = "Start `longwire serve` once, or run `longwire migrate`."


class StartupError(OperatorError):
    """The service or a command cannot start; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class OperatorCredentials:
    """The credentials that the first start creates, shown once."""

    client_id: str
    client_secret: str
    user_id: str
    link: str  # signs the operator in, once


@dataclass(frozen=True, slots=True)
class PreparationResult:
    """The migrations that ran, and the operator's credentials if the database was empty."""

    steps: list[str]
    operator: OperatorCredentials | None


def open_prepared_database(
    settings: Settings,
    clock: Clock,
    *,
    is_secondary: bool = False,
    requires_current_schema: bool = False,
) -> tuple[Database, PreparationResult]:
    """Open and prepare the configured database; it is not started yet.

    If several processes start at once in an empty folder, one saves its new key. The others
    generated one as well, which was never used: they retry with the saved one.
    """
    while True:
        is_keyless = not has_key(settings)
        database, save_key = build_database(settings, clock, is_secondary=is_secondary)
        try:
            return database, prepare(
                database, settings, save_key, requires_current_schema=requires_current_schema
            )
        except StartupError:
            database.close()
            if not is_keyless or not has_key(settings):
                raise
        except BaseException:
            database.close()
            raise


def build_database(
    settings: Settings, clock: Clock, *, is_secondary: bool = False
) -> tuple[Database, Callable[[], None]]:
    """The configured database, not started yet, and a function that saves its key if new."""
    keys, save_key = load_keys(settings)
    context = DatabaseContext(clock, Keyring(*keys))
    if settings.database:
        # Imported on demand: the driver is slow to load.
        engine: Any = extras.load("postgres", "longwire.store.engines.postgres")
        # A command beside the service reads little.
        standbys = "" if is_secondary else settings.database_read_standbys
        database: Database = engine.Postgres(
            settings.database,
            context,
            connections=settings.database_connections,
            timeout_s=settings.database_timeout_s,
            is_pooled=settings.database_pooled,
            standbys_url=settings.database if standbys == STANDBY else standbys,
            standbys_lag_s=settings.database_read_lag_s,
        )
        return database, save_key
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return SQLite(settings.data / "longwire.db", context, is_secondary=is_secondary), save_key


def prepare(
    database: Database,
    settings: Settings,
    save_key: Callable[[], None],
    *,
    requires_current_schema: bool = False,
) -> PreparationResult:
    """Migrate the schema and bootstrap an empty database, in one transaction.

    With `requires_current_schema`, as for commands next to a running service, do neither: a newer
    command must not change the schema under an older service.
    """

    def work(tx: Tx) -> PreparationResult:
        if requires_current_schema:
            _require_current_schema(tx)
        steps = upgrade.upgrade(tx)
        if steps:
            upgrade.note_compatibility(tx)
        if instance.get_fact(tx, MOVING_FACT) is not None:
            raise StartupError(
                "A move into this database has not ended; run `longwire move` again."
            )
        slot_count.require(tx, settings.database_slots)
        partitions.create_ahead(tx)
        if bootstrap.is_bootstrapped(tx):
            _require_same_key(tx)
            if not requires_current_schema:
                _require_archive(tx, settings)
            bootstrap.add_missing_catalogue_entries(tx)
            device_types.add_built_in_types(tx)
            return PreparationResult(steps, None)
        operator = bootstrap.bootstrap(tx)
        device_types.add_built_in_types(tx)
        issued = tokens.create_credential(tx, SYSTEM, operator.id)
        link = sign_in_links.create(tx, SYSTEM, operator.id, LinkSource.TERMINAL)
        created = OperatorCredentials(
            issued.credential.client_id,
            issued.secret,
            operator.id,
            sign_in_links.build_url(get_base_url(settings), link, LinkPurpose.SIGN_IN),
        )
        # Before the commit: a crash after it would leave a database without usable credentials.
        save_key()
        _save_operator_credentials(settings, created)
        return PreparationResult(steps, created)

    return database.upgrade(work)


@contextmanager
def lock_data_folder(settings: Settings) -> Iterator[None]:
    """Allow one serving process per embedded database."""
    if settings.database:
        yield
        return
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (settings.data / "serve.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StartupError(
                f"Another longwire process already serves {settings.data}; stop it, or use another "
                "--data."
            ) from error
        yield


def load_keys(settings: Settings) -> tuple[list[bytes], Callable[[], None]]:
    """The secret keys, the newest first, and a function that saves one if it is new."""
    path = key_path(settings)
    if has_key(settings):
        try:
            text = settings.secret_key or path.read_text()
            keys = [bytes.fromhex(each) for each in text.replace(",", " ").split()]
        except (ValueError, OSError) as error:
            raise StartupError(f"The secret key cannot be read: {error}") from error
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise StartupError(f"The secret key must have {KEY_BYTES} bytes, in hex.")
        return keys, lambda: None
    key = new_key()
    return [key], lambda: save_new_key(path, key)


def has_key(settings: Settings) -> bool:
    """Whether there is a secret key already."""
    return bool(settings.secret_key) or key_path(settings).exists()


def key_path(settings: Settings) -> Path:
    return settings.data / "secret.key"


def save_new_key(path: Path, key: bytes) -> None:
    """Save the key without overwriting one: data sealed with that would be lost."""
    with _write_temporary_file(path, key.hex() + "\n") as part:
        try:
            path.hardlink_to(part)
        except OSError as error:
            if path.exists():
                raise StartupError(f"Another process has just created {path}. Retry.") from error
            part.replace(path)  # a file system without hard links
    _fsync_parent_folder(path)


def format_keys(keys: Iterable[bytes]) -> str:
    """Keys as they are in a file: the newest first, one in each line."""
    return "".join(f"{key.hex()}\n" for key in keys)


@contextmanager
def lock_keys(settings: Settings) -> Iterator[None]:
    """Only one process at a time changes the file of the secret key; the others wait."""
    path = key_path(settings)
    with path.with_name(f"{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def save_keys(settings: Settings, keys: Iterable[bytes]) -> None:
    """Replace the file of the secret key."""
    _write_private(key_path(settings), format_keys(keys))


def _require_current_schema(tx: Tx) -> None:
    if upgrade.get_current_revision(tx.connection) is None:
        raise StartupError(f"This database is empty. {HOW_TO_INITIALIZE}")
    if upgrade.missing_steps(tx):
        raise StartupError(
            "This database has the schema of an older version. Restart the service with this "
            "version, or run `longwire migrate`."
        )


def _require_archive(tx: Tx, settings: Settings) -> None:
    """Lists without the records that were moved away would look as if these were lost."""
    if not settings.archive and archive_files.exists_any(tx):
        raise StartupError("Records of this database are in an archive; set `archive` to it.")


def _require_same_key(tx: Tx) -> None:
    """Require the key of the database, and make digests with the key that its digests have."""
    fingerprint = instance.get_fact(tx, "key_fingerprint")
    digest_key = instance.get_fact(tx, "digest_key")
    if fingerprint in tx.keyring.fingerprints:
        if digest_key is None:
            tx.keyring.use_digest_key_of(fingerprint)
        else:
            tx.keyring.use_digest_key(digest_key)
    else:
        raise StartupError(
            "This database was created with another secret key. Copy secret.key from the data "
            "folder of its first start into this one, or set LONGWIRE_SECRET_KEY."
        )


def _save_operator_credentials(settings: Settings, operator: OperatorCredentials) -> None:
    content = {
        "baseUrl": get_base_url(settings),
        "authUrl": settings.auth_url or get_base_url(settings),
        "clientId": operator.client_id,
        "clientSecret": operator.client_secret,
        "userId": operator.user_id,
    }
    _write_private(settings.data / "operator.json", json.dumps(content, indent=2) + "\n")


def _write_private(path: Path, text: str) -> None:
    with _write_temporary_file(path, text) as part:
        part.replace(path)
    _fsync_parent_folder(path)


@contextmanager
def _write_temporary_file(path: Path, text: str) -> Iterator[Path]:
    """A synced temporary file with this text, in the same folder, to be renamed or linked."""
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


def _fsync_parent_folder(path: Path) -> None:
    """Make a rename durable before the database relies on it."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def describe_plain_http(settings: Settings) -> str | None:
    """Why no other machine will get a token, if the settings listen in a way that none does."""
    if settings.tls_cert or settings.trusted_proxies or settings.auth_url:
        return None
    if settings.host == "localhost" or _is_loopback(settings.host):
        return None
    return (
        f"{settings.host} is served over plain HTTP, so other machines get no tokens: set tls_cert"
        " and tls_key, or trusted_proxies if a proxy in front speaks HTTPS"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def get_base_path(settings: Settings) -> str:
    """The path of the public URL, below which a proxy serves everything; empty for none."""
    return urlsplit(get_base_url(settings)).path.rstrip("/")


def get_base_url(settings: Settings) -> str:
    if settings.public_url:
        return settings.public_url.rstrip("/")
    scheme = "https" if settings.tls_cert else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"

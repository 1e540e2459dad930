"""Making and restoring backups of either engine."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longwire import __version__, extras
from longwire.backup.repository import (
    BackupError,
    Manifest,
    Repository,
    StoredFile,
    TransferredBytes,
)
from longwire.clock import Clock, Moment
from longwire.dataclass import dataclass
from longwire.dates import format_date
from longwire.process import startup
from longwire.seal import Keyring
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.engines import partitions, slot_count, sqlite_backup, upgrade

DATABASE_FILE = "longwire.db"
KEY_FILE = "secret.key"
SQLITE, POSTGRES = "sqlite", "postgresql"
CHUNK_BYTES = 256 * 1024
KEY_FILE_BYTES_MAX = 64 * 1024
# Nobody else names a folder like this: what was left behind is deleted.
_TEMPORARY = ".longwire-backup-"
_TEMPORARY_NAME = re.compile(r"\.longwire-backup-([0-9]+)-[a-z0-9_]{8}")


@dataclass(frozen=True, slots=True)
class BackupResult:
    manifest: Manifest
    transfer: TransferredBytes


def make_backup(
    settings: Settings, repository: Repository, *, includes_key: bool, temporary: Path | None = None
) -> BackupResult:
    """Back up what is committed now; what is acknowledged meanwhile may be in it or not."""
    now = Clock().now()
    transfer = TransferredBytes()
    if settings.database:
        facts, files = _back_up_postgres(settings, repository, transfer)
    else:
        facts, files = _back_up_sqlite(settings, repository, transfer, temporary)
    if includes_key:
        keys, _ = startup.load_keys(settings)
        if facts["key_fingerprint"] not in Keyring(*keys).fingerprints:
            raise BackupError("The secret key at hand is not that of this database.")
        text = startup.format_keys(keys)
        files.append(repository.add_file(KEY_FILE, [text.encode()], transfer))
    manifest = Manifest(
        id=_make_id(now),
        created_at=format_date(now),
        version=__version__,
        has_key=includes_key,
        files=tuple(files),
        **facts,
    )
    repository.publish(manifest, transfer)
    return BackupResult(manifest, transfer)


def _make_id(now: Moment) -> str:
    """The time with microseconds, so that ids are in order."""
    return format_date(now)[:19].replace("-", "").replace(":", "") + f"{now % 1_000_000:06d}Z"


def _back_up_sqlite(
    settings: Settings, repository: Repository, transfer: TransferredBytes, temporary: Path | None
) -> tuple[dict[str, Any], list[StoredFile]]:
    source = settings.data / DATABASE_FILE
    if not source.exists():
        raise BackupError(f"There is no database in {settings.data}.")
    with _lock(settings.data / "backup.lock"), _temporary_folder(temporary or settings.data) as at:
        copy = at / DATABASE_FILE
        sqlite_backup.copy_snapshot(source, copy)
        revision, key = sqlite_backup.check_copy(copy)
        file = repository.add_file(DATABASE_FILE, _read_chunks(copy), transfer)
    return {"engine": SQLITE, "revision": revision, "key_fingerprint": key}, [file]


def _back_up_postgres(
    settings: Settings, repository: Repository, transfer: TransferredBytes
) -> tuple[dict[str, Any], list[StoredFile]]:
    driver = _import_postgres()
    with driver.open_snapshot(settings.database) as snapshot:
        found = snapshot.read_facts()
        files = [
            repository.add_file(name, snapshot.read_table(name), transfer)
            for name in driver.list_tables()
        ]
    facts = {
        "engine": POSTGRES,
        "revision": found.revision,
        "key_fingerprint": found.key_fingerprint,
        "counters": found.sequences,
        "months": found.months,
    }
    return facts, files


def _read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


# --- restoring ---


def restore(settings: Settings, repository: Repository, manifest: Manifest) -> None:
    """Restore a backup into a place where nothing is yet; all of it or nothing."""
    engine = POSTGRES if settings.database else SQLITE
    if manifest.engine != engine:
        hint = "give --database" if manifest.engine == POSTGRES else "give no --database"
        raise BackupError(f"This is a backup of a {manifest.engine} database: {hint}.")
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    if startup.has_key(settings):
        keys, _ = startup.load_keys(settings)
        if manifest.key_fingerprint not in Keyring(*keys).fingerprints:
            raise BackupError("The secret key that is here is not the one of this backup.")
    keys = _read_keys(repository, manifest) if manifest.has_key else []
    if settings.database:
        _restore_postgres(settings, repository, manifest)
    else:
        _restore_sqlite(settings.data / DATABASE_FILE, repository, manifest)
    if keys and not startup.has_key(settings):
        startup.save_keys(settings, keys)


def _read_keys(repository: Repository, manifest: Manifest) -> list[bytes]:
    """The secret keys in a backup, which are those of its database."""
    file = _find_file(manifest, KEY_FILE)
    if file.size > KEY_FILE_BYTES_MAX:
        raise BackupError("What the backup has as the secret key is none.")
    content = b"".join(repository.read_file(file))
    try:
        keys = [bytes.fromhex(each) for each in content.decode().split()]
        fingerprints = Keyring(*keys).fingerprints
    except (ValueError, TypeError) as error:
        raise BackupError("What the backup has as the secret key is none.") from error
    if manifest.key_fingerprint not in fingerprints:
        raise BackupError("The secret key in the backup is not that of its database.")
    return keys


def check(repository: Repository, manifest: Manifest, temporary: Path | None = None) -> None:
    """Read all of a backup, and open the database in it, without restoring it."""
    if manifest.engine != SQLITE:
        for file in manifest.files:
            for _ in repository.read_file(file):
                pass
        return
    with _temporary_folder(temporary or Path(tempfile.gettempdir())) as at:
        _assemble(at / DATABASE_FILE, repository, manifest)


def _restore_sqlite(target: Path, repository: Repository, manifest: Manifest) -> None:
    files = (target, *(target.with_name(target.name + suffix) for suffix in ("-wal", "-shm")))
    if any(each.exists() for each in files):
        raise BackupError(f"There is a database in {target.parent}; restore into an empty folder.")
    with _temporary_folder(target.parent) as at:
        part = at / DATABASE_FILE
        _assemble(part, repository, manifest)
        # Not a rename, which would replace what appeared meanwhile.
        target.hardlink_to(part)
    _fsync_folder(target.parent)


def _assemble(path: Path, repository: Repository, manifest: Manifest) -> None:
    """Write the file of a backup and open it."""
    file = _find_file(manifest, DATABASE_FILE)
    with path.open("wb") as out:
        for chunk in repository.read_file(file):
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    sqlite_backup.check_copy(path)


def _restore_postgres(settings: Settings, repository: Repository, manifest: Manifest) -> None:
    driver = _import_postgres()
    unknown = {each.name for each in manifest.files} - {*driver.list_tables(), KEY_FILE}
    if unknown:
        raise BackupError(f"This version does not know {', '.join(sorted(unknown))}.")

    def work(tx: Tx) -> None:
        # Nobody else creates tables meanwhile: an upgrade holds a lock until its end.
        driver.require_empty(tx)
        upgrade.upgrade_to(tx, manifest.revision)
        partitions.create_months(tx, manifest.months)
        with driver.open_restoration(tx) as restoration:
            for file in manifest.files:
                if file.name != KEY_FILE:
                    restoration.write_table(file.name, repository.read_file(file))
            for name, value in manifest.counters.items():
                restoration.set_sequence(name, value)
        # The rows of a backup are without their slots, so that it suits any number of them.
        before = slot_count.get(tx) or 1
        count = settings.database_slots or before
        if max(before, count) > 1:
            slot_count.rewrite(tx, count)

    database, _ = startup.build_database(settings, Clock(), is_secondary=True)
    try:
        database.upgrade(work)
    finally:
        database.close()


def _find_file(manifest: Manifest, name: str) -> StoredFile:
    found = next((each for each in manifest.files if each.name == name), None)
    if found is None:
        raise BackupError(f"The backup has no file {name}.")
    return found


def _import_postgres() -> Any:
    # Imported on demand: the driver is slow to load, and not everybody has it.
    return extras.load("postgres", "longwire.store.engines.postgres_backup")


# --- files ---


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BackupError("Another backup of this folder is being made.") from error
        yield


@contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    """A private folder; what a killed process left there is deleted."""
    for left in parent.glob(f"{_TEMPORARY}*"):
        if left.is_dir() and _is_abandoned(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_TEMPORARY}{os.getpid()}-", dir=parent) as folder:
        yield Path(folder)


def _is_abandoned(folder: Path) -> bool:
    made_by = _TEMPORARY_NAME.fullmatch(folder.name)
    if made_by is None or not Path("/proc").exists():
        return False
    return not Path(f"/proc/{made_by[1]}").exists()


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

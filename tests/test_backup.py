"""Backups: made while the service works, stored in pieces, restored into an empty place."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from longwire.backup import operations
from longwire.backup.repository import CHUNK_BYTES_MAX as CHUNK_BYTES_STORED_MAX
from longwire.backup.repository import BackupError, Manifest, Repository, TransferredBytes
from longwire.blobs import BlobError, FolderStore, open_store
from longwire.errors import OperatorError
from longwire.settings import Settings
from longwire.store.engines.postgres import UPGRADE_LOCK
from longwire.store.engines.postgres_backup import CHUNK_BYTES_MAX, split_rows
from tests.conftest import PostgresServer
from tests.delivery.receiver import Receiver
from tests.process import longwire
from tests.waiting import eventually
from tests.world import AdjustableClock, Person, World

Elsewhere = Callable[[str], Settings]


@pytest.fixture
def elsewhere(
    settings: Settings, fast_folder: Path, request: pytest.FixtureRequest
) -> Iterator[Elsewhere]:
    """Settings of empty places for the same engine; each has the secret key."""
    made: list[str] = []

    def make(name: str) -> Settings:
        data = fast_folder / name
        data.mkdir()
        shutil.copy(settings.data / "secret.key", data)
        if not settings.database:
            return replace(settings, data=data)
        server: PostgresServer = request.getfixturevalue("postgres")
        made.append(server.create())
        return replace(settings, data=data, database=server.url(made[-1]))

    yield make
    for name in made:
        request.getfixturevalue("postgres").drop(name)


def back_up(world: World, place: Path | str, **how: Any) -> operations.BackupResult:
    store = open_store(str(place))
    how = {"includes_key": False, **how}
    with store.lock():
        return operations.make_backup(world.settings, Repository(store), **how)


def restore(settings: Settings, place: Path | str, backup_id: str | None = None) -> Manifest:
    repository = Repository(open_store(str(place)))
    manifest = repository.get_manifest(backup_id)
    operations.check(repository, manifest)
    operations.restore(settings, repository, manifest)
    return manifest


def same_person(world: World, person: Person) -> Person:
    """Somebody in the restored world, who gets a token with the same credentials."""
    client = (person.client_id, person.client_secret)
    return Person(world, world.token(*client), person.id, client)


class Load:
    """Reports records all the time, and knows which were acknowledged."""

    def __init__(self, ada: Person, device: str) -> None:
        self.acknowledged: list[str] = []
        self._ada, self._device = ada, device
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._report)

    def __enter__(self) -> "Load":
        self._thread.start()
        eventually(lambda: len(self.acknowledged) > 20)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(120)

    def _report(self) -> None:
        while not self._stopping.is_set():
            number = len(self.acknowledged)
            self._ada.reports(
                self._device, timestamp=1_700_000_000_000 + number * 1_000, data=f"{number:05d}"
            )
            self.acknowledged.append(f"{number:05d}")


@pytest.mark.slow
def test_nothing_acknowledged_before_a_backup_is_missing_in_what_it_restores(
    world: World, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver, Load(ada, device) as load:
        ada.connector(group, receiver.url)
        before = list(load.acknowledged)
        made = back_up(world, tmp_path / "backups")
        during = len(load.acknowledged)
        eventually(lambda: len(load.acknowledged) > during + 5)
    assert made.manifest.size == made.transfer.bytes > 0

    place = elsewhere("restored")
    restore(place, tmp_path / "backups")
    with Receiver() as again:
        restored = World(place, AdjustableClock())
        try:
            bob = same_person(restored, ada)
            found = {each["data"] for each in bob.records(device)}
            assert set(before) <= found
            assert found <= set(load.acknowledged)
            bob.connector(group, again.url)
            bob.reports(device, timestamp=1_800_000_000_000, data="after")
            eventually(lambda: any(b"after" in each.body for each in again.requests))
        finally:
            restored.stop()


@pytest.mark.slow
def test_the_second_backup_stores_what_changed_and_old_ones_are_deleted_with_their_chunks(
    world: World, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    place = tmp_path / "backups"
    first = back_up(world, place)
    again = back_up(world, place)
    assert again.transfer.new_bytes <= first.transfer.new_bytes / 2
    ada.reports(device, data="the third")
    third = back_up(world, place)
    repository = Repository(FolderStore(place))
    assert [each.id for each in repository.list_manifests()] == [
        each.manifest.id for each in (third, again, first)
    ]
    chunks = len(list((place / "chunks").rglob("*")))
    (place / "chunks" / "ab").mkdir(exist_ok=True)
    (place / "chunks" / "ab" / ("ab" * 32)).write_bytes(b"of a backup that was killed")
    assert repository.keep(1) == [again.manifest.id, first.manifest.id]
    assert len(list((place / "chunks").rglob("*"))) <= chunks
    assert not (place / "chunks" / "ab" / ("ab" * 32)).exists()
    target = elsewhere("restored")
    restore(target, place)
    restored = World(target, AdjustableClock())
    try:
        assert [each["data"] for each in same_person(restored, ada).records(device)] == [
            "the third"
        ]
    finally:
        restored.stop()


def test_nothing_is_overwritten_and_nothing_is_restored_with_another_key_or_damage(
    world: World, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    place = tmp_path / "backups"
    made = back_up(world, place)
    with pytest.raises(OperatorError, match=r"empty"):
        restore(world.settings, place)
    other_key = elsewhere("other-key")
    (other_key.data / "secret.key").write_text("ab" * 32)
    with pytest.raises(BackupError, match="secret key"):
        restore(other_key, place)
    with pytest.raises(BackupError, match="not the id"):
        restore(elsewhere("no-id"), place, "../../etc/passwd")
    name = max(made.manifest.files, key=lambda file: file.size).chunks[0]
    chunk = place / "chunks" / name[:2] / name
    chunk.write_bytes(chunk.read_bytes()[:-5] + b"wrong")
    target = elsewhere("damaged")
    repository = Repository(FolderStore(place))
    with pytest.raises(BackupError, match="damaged"):
        operations.restore(target, repository, made.manifest)
    assert not (target.data / "longwire.db").exists()
    # Another attempt, with a sound backup, finds the place as empty as before.
    sound = tmp_path / "sound"
    back_up(world, sound)
    restore(target, sound)


@pytest.mark.slow
def test_a_backup_that_is_killed_leaves_the_older_one_valid(tmp_path: Path) -> None:
    data, place = tmp_path / "data", tmp_path / "backups"
    assert longwire("migrate", "--data", str(data), cwd=tmp_path).returncode == 0
    first = longwire("backup", str(place), "--data", str(data), "--json", cwd=tmp_path)
    assert first.returncode == 0 and "NOT in this backup" in first.stderr, first
    key = (data / "secret.key").read_text().strip()
    assert key not in first.stdout + first.stderr

    code = """
import os, signal, sys
from longwire.blobs import FolderStore
from longwire import cli
put = FolderStore.put
def die(self, name, content):
    if name.startswith("backups"):
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, name, content)
FolderStore.put = die
sys.argv = ["longwire", *sys.argv[1:]]
cli.main()
"""
    issued = longwire("credentials", "issue", "--email", "a@b.c", "--data", str(data), cwd=tmp_path)
    assert issued.returncode == 0
    killed = subprocess.run(
        [sys.executable, "-c", code, "backup", str(place), "--data", str(data)], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    flags = ("--data", str(tmp_path / "again"), "--json")
    listed = longwire("restore", str(place), "--list", *flags, cwd=tmp_path)
    assert [each["id"] for each in json.loads(listed.stdout)] == [json.loads(first.stdout)["id"]]
    assert longwire("restore", str(place), "--check", *flags, cwd=tmp_path).returncode == 0

    with_key = longwire(
        *("backup", str(place), "--data", str(data), "--keep", "1", "--include-key", "--json"),
        cwd=tmp_path,
    )
    assert "whoever reads it opens every secret" in with_key.stderr
    assert json.loads(with_key.stdout)["deleted"] == [json.loads(first.stdout)["id"]]
    restored = longwire("restore", str(place), *flags, cwd=tmp_path)
    assert restored.returncode == 0, restored
    assert (tmp_path / "again" / "secret.key").read_text().strip() == key
    assert (tmp_path / "again" / "longwire.db").stat().st_mode & 0o077 == 0
    users = longwire("credentials", "list", "--json", *flags[:2], cwd=tmp_path)
    assert "a@b.c" in users.stdout
    left = (each for folder in (data, tmp_path / "again") for each in folder.glob(".longwire-*"))
    assert not list(left)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # the other needs no such folder
def test_a_backup_deletes_only_what_backups_have_made(world: World, tmp_path: Path) -> None:
    place, temporary = tmp_path / "backups", tmp_path / "temporary"
    foreign = (
        temporary / "backup-20261116" / "precious.txt",
        temporary / "backup-99999999-of-mine" / "precious.txt",
        place / "chunks" / "precious.txt",
        place / "backups" / "zzz" / "precious.json",
    )
    for each in foreign:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("precious")
    left = temporary / ".longwire-backup-99999999-abcdefgh"
    left.mkdir()
    made = back_up(world, place, temporary=temporary)
    repository = Repository(FolderStore(place))
    operations.check(repository, repository.get_manifest(None), temporary)
    assert repository.keep(1) == []
    assert [each.id for each in repository.list_manifests()] == [made.manifest.id]
    assert all(each.exists() for each in foreign)
    assert not left.exists()


@pytest.mark.engine_free
@pytest.mark.parametrize(
    "change",
    [
        {"id": "../../precious"},
        {"id": "20200101T000000000000Z"},
        {"months": ["2026-1"]},
        {"files": [{"name": "longwire.db", "size": 1, "chunks": ["../../precious.json"]}]},
    ],
)
def test_a_manifest_leads_nowhere_else(
    world: World, tmp_path: Path, change: dict[str, Any]
) -> None:
    place, precious = tmp_path / "backups", tmp_path / "precious.json"
    precious.write_text("{}")
    back_up(world, place)
    [manifest] = (place / "backups").iterdir()
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **change}))
    back_up(world, place)
    with pytest.raises(BackupError, match="not a backup of longwire"):
        Repository(FolderStore(place)).keep(1)
    assert precious.exists()


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_service_that_starts_in_the_same_database_keeps_what_it_creates(
    world: World, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    place, target = tmp_path / "backups", elsewhere("restored")
    back_up(world, place)
    queue = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(target.database, autocommit=True) as starting,
    ):
        starting.execute("select pg_advisory_lock(%s)", [UPGRADE_LOCK])
        restoring = pool.submit(restore, target, place)
        eventually(lambda: restoring.done() or starting.execute(queue).fetchone() == (1,))
        starting.execute("create table device (kept text)")
        starting.execute("select pg_advisory_unlock(%s)", [UPGRADE_LOCK])
        with pytest.raises(OperatorError, match="empty"):
            restoring.result()
        assert starting.execute("select kept from device").fetchall() == []


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # whose backup is one file
def test_a_backup_of_a_stranger_is_not_unpacked_beyond_what_it_says(
    world: World, fast_folder: Path, tmp_path: Path
) -> None:
    """A chunk that unpacks to far more, one that is no file, and some that are named repeatedly."""
    place, target = tmp_path / "backups", replace(world.settings, data=fast_folder / "target")
    made = back_up(world, place)
    repository = Repository(FolderStore(place))
    content = bytes(2 * CHUNK_BYTES_STORED_MAX)
    bomb, endless = hashlib.sha256(content).hexdigest(), "e" * 64
    for name in (bomb, endless):
        (place / "chunks" / name[:2]).mkdir(exist_ok=True)
    (place / "chunks" / bomb[:2] / bomb).write_bytes(zlib.compress(content))
    (place / "chunks" / endless[:2] / endless).symlink_to("/dev/zero")
    [file] = made.manifest.files

    def refuse(match: str, **changed: Any) -> None:
        files = (msgspec.structs.replace(file, **changed),)
        with pytest.raises(OperatorError, match=match):
            operations.restore(
                target, repository, msgspec.structs.replace(made.manifest, files=files)
            )

    refuse("damaged", size=len(content), chunks=(bomb,))
    refuse("damaged", chunks=(endless,))
    refuse("not the size", chunks=file.chunks * 9)
    refuse("not the size", chunks=file.chunks[:-1])
    assert list(target.data.iterdir()) == []


@pytest.mark.engine_free
def test_a_row_that_is_too_large_for_a_chunk_is_in_several(tmp_path: Path) -> None:
    repository = Repository(FolderStore(tmp_path))
    row = bytes(CHUNK_BYTES_STORED_MAX) + b"the end"
    stored = repository.add_file("rows", [b"a", row], TransferredBytes())
    assert len(stored.chunks) == 3
    assert b"".join(repository.read_file(stored)) == b"a" + row


@pytest.mark.engine_free
def test_nothing_is_restored_with_a_key_that_is_none(
    world: World, fast_folder: Path, tmp_path: Path
) -> None:
    place, target = tmp_path / "backups", replace(world.settings, data=fast_folder / "target")
    made = back_up(world, place, includes_key=True)
    repository = Repository(FolderStore(place))
    for content in (b"", b"\xff", b"no key", b"ab" * 31, b"ab" * 32):
        files = [each for each in made.manifest.files if each.name != operations.KEY_FILE]
        files.append(repository.add_file(operations.KEY_FILE, [content], TransferredBytes()))
        with pytest.raises(BackupError, match="secret key"):
            operations.restore(
                target, repository, msgspec.structs.replace(made.manifest, files=tuple(files))
            )
    assert list(target.data.iterdir()) == []


@pytest.mark.engine_free
@pytest.mark.parametrize("url", ["postgresql://127.0.0.1:1/x", "postgresql://a:hunter2%zz@h/x"])
def test_an_unreachable_server_is_reported_in_a_line(url: str, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, database=url)
    with pytest.raises(OperatorError) as refused:
        operations.make_backup(
            settings, Repository(FolderStore(tmp_path / "backups")), includes_key=False
        )
    assert "hunter2" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.ordinary_variant("sqlite")
def test_a_bucket_takes_backups(
    world: World, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the server of moto, which speaks the protocol of S3 over HTTP."""
    pytest.importorskip("obstore", reason="backups to S3 need the extra s3")
    moto = pytest.importorskip("moto.server", reason="the stand-in for S3 is not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    bucket = f"backups-{world.port}"  # what the stand-in has is kept by the process
    place = f"s3://{bucket}/longwire"
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ada")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        with pytest.raises(BlobError) as missing:
            back_up(world, place)
        assert "hunter2" not in str(missing.value)
        import boto3  # noqa: PLC0415 (only where moto is)

        boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket=bucket)
        world.person("ada").group("kept")
        first = back_up(world, place)
        second = back_up(world, place)
        assert second.transfer.new_bytes <= first.transfer.new_bytes / 2
        repository = Repository(open_store(place))
        assert repository.keep(1) == [first.manifest.id]
        restore(elsewhere("restored"), place)
    finally:
        server.stop()


def test_rows_that_are_inserted_change_the_chunks_around_them_only() -> None:
    rows = [b"%08d\tsome text of a row\n" % number for number in range(60_000)]
    chunks = list(split_rows(rows))
    assert b"".join(chunks) == b"".join(rows)
    assert all(len(each) <= CHUNK_BYTES_MAX + 100 for each in chunks)
    changed = set(split_rows([*rows[:100], b"another row\n", *rows[100:]]))
    assert len(set(chunks) - changed) <= 2 < len(chunks)

"""Power loss on the embedded engine, simulated at every relevant point.

The kernel completes the writes of a killed process, but not those of a machine without power. So
ingest is recorded at a real service, statement by statement, and replayed on a disk that tracks
what was flushed. Then the power is cut after each flush and each acknowledgement, and the content
of the disk is opened as after a reboot.

The disk is a VFS of apsw, which has its own SQLite; the statements and the settings are the
engine's. It has no shared memory, so its one connection locks the file exclusively.
"""

import json
import random
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest

from longwire.settings import Settings
from longwire.store.engines import sqlite as engine_module
from tests.reports import KINDS, devices, post_record, post_records, report
from tests.world import AdjustableClock, World, copy_data_folder, ok

NAME = "longwire.db"
SECTOR = 512
BATCH = 40


@pytest.fixture
def engine() -> str:
    return "sqlite"


# --- recording ---


@dataclass(slots=True)
class Session:
    """The statements of a service's writer, and after which commit each record was acknowledged."""

    base: Path  # the file before the session
    statements: list[str] = field(default_factory=list)
    acknowledged: dict[str, int] = field(default_factory=dict)  # data -> commits

    @property
    def commits(self) -> int:
        return self.statements.count("commit")


def record(
    settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch, waves: int
) -> Session:
    """Record the ingest of single records and batches from several concurrent clients."""
    session = Session(copy_data_folder(settings.data, folder / "base") / NAME)
    connect = sqlite3.connect

    def traced_connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        if threading.current_thread().name == "write-0":
            connection.set_trace_callback(session.statements.append)
        return connection

    # Small enough for many checkpoints of the WAL.
    monkeypatch.setattr(engine_module, "CHECKPOINT_AFTER_CHANGES", 1_000)
    monkeypatch.setattr(engine_module, "TRUNCATE_AT_BYTES", 900_000)
    monkeypatch.setattr(sqlite3, "connect", traced_connect)
    world = World(settings, AdjustableClock())
    try:
        _let_report(world, session, waves)
    finally:
        world.stop()
        monkeypatch.setattr(sqlite3, "connect", connect)
    assert session.commits > waves
    assert "pragma synchronous = FULL" in session.statements
    assert any("wal_checkpoint" in statement for statement in session.statements)
    return session


def _let_report(world: World, session: Session, waves: int) -> None:
    ada = world.person("ada")
    sensors, now = devices(ada, ada.group(), 4), world.clock.now()

    def post_single(kind: str, words: str) -> list[str]:
        ok(post_record(ada, kind, sensors[len(words) % 4], now, words))
        return [words]

    def post_batch(kind: str, words: str) -> list[str]:
        names = [f"{words}.{number}" for number in range(BATCH)]
        bodies = [report(kind, sensors[0], now, name) for name in names]
        assert ok(post_records(ada, kind, bodies))["stored"] == BATCH
        return names

    with ThreadPoolExecutor(8) as pool:
        for wave in range(waves):
            sending = [
                pool.submit(post_single, kind, f"{wave} {kind} {number}")
                for kind in KINDS
                for number in range(2)
            ]
            sending.append(pool.submit(post_batch, KINDS[wave % 4], f"{wave} batch"))
            words = [name for each in sending for name in each.result(120)]
            session.acknowledged |= dict.fromkeys(words, session.commits)


# --- a disk that loses unflushed writes ---


@dataclass(slots=True)
class File:
    """The flushed content of a file, and its unflushed writes."""

    flushed: bytes | None  # None: the file does not exist after a reboot
    content: bytearray
    since: list[tuple[int, bytes]] = field(default_factory=list)  # not flushed yet

    def write(self, data: bytes, offset: int) -> None:
        if len(self.content) < offset:
            self.content.extend(bytes(offset - len(self.content)))
        self.content[offset : offset + len(data)] = data
        self.since.append((offset, data))

    def truncate(self, size: int) -> None:
        del self.content[size:]

    def flush(self) -> None:
        self.flushed = bytes(self.content)
        self.since.clear()


class Disk:
    """All files of a database; calls `changed` after each write and flush."""

    def __init__(self, changed: Callable[["Disk", str], None]) -> None:
        self._files: dict[str, File] = {}
        self._changed = changed

    def file(self, path: str) -> File:
        name = Path(path).name
        if name not in self._files:
            there = Path(path).exists()
            content = Path(path).read_bytes() if there else b""
            self._files[name] = File(content if there else None, bytearray(content))
        return self._files[name]

    def write(self, path: str, data: bytes, offset: int) -> None:
        self.file(path).write(data, offset)
        self._changed(self, "write")

    def truncate(self, path: str, size: int) -> None:
        self.file(path).truncate(size)
        self._changed(self, "truncate")

    def flush(self, path: str) -> None:
        self.file(path).flush()
        self._changed(self, "flush")

    def after_reboot(self, folder: Path, chance: random.Random | None = None) -> Path:
        """The files after a reboot: what was flushed, and, at random, parts of what was not."""
        folder.mkdir(parents=True)
        for name, file in self._files.items():
            content = bytearray(file.flushed or b"")
            if chance is not None:
                _let_some_survive(content, file.since, chance)
            if content or file.flushed is not None:
                (folder / name).write_bytes(content)
        return folder / NAME


def _let_some_survive(
    content: bytearray, writes: list[tuple[int, bytes]], chance: random.Random
) -> None:
    """A disk writes sectors, in any order, until the power is cut."""
    share = chance.random()
    for offset, data in writes:
        for start in range(0, len(data), SECTOR):
            if chance.random() < share:
                end = offset + min(start + SECTOR, len(data))
                if len(content) < end:
                    content.extend(bytes(end - len(content)))
                content[offset + start : end] = data[start : start + SECTOR]


class LossyFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if self._path:
            disk.file(self._path)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.write(self._path, bytes(data), offset)

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._disk.truncate(self._path, size)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._disk.flush(self._path)


class LossyVFS(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.name = f"lossy-{id(disk)}"
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> LossyFile:
        return LossyFile(self._disk, name, flags)


# --- replaying it ---


class Replay:
    """Replays a session on a disk whose power can be cut at any point."""

    def __init__(self, session: Session, folder: Path, synchronous: str = "FULL") -> None:
        self.session = session
        self.commits = 0
        self._folder = folder
        self._synchronous = synchronous
        self._reboots = 0

    def run(self, moment: Callable[["Replay", Disk, str], None]) -> None:
        """Call `moment` after each write, flush and commit."""
        work = self._folder / "work"
        work.mkdir(parents=True)
        (work / NAME).write_bytes(self.session.base.read_bytes())
        disk = Disk(lambda disk, what: moment(self, disk, what))
        vfs = LossyVFS(disk)
        connection = apsw.Connection(str(work / NAME), vfs=vfs.name)
        connection.execute("pragma locking_mode = exclusive")
        for statement in self.session.statements:
            if statement.startswith("--"):
                continue  # a nested statement of a trigger
            if statement == "pragma synchronous = FULL":
                statement = f"pragma synchronous = {self._synchronous}"
            connection.execute(statement).fetchall()
            if statement == "commit":
                self.commits += 1
                moment(self, disk, "commit")
        connection.close()

    def lost(self, disk: Disk, chance: random.Random | None = None) -> list[str]:
        """The acknowledged records that a power loss now would lose."""
        self._reboots += 1
        folder = self._folder / f"reboot {self._reboots}"
        found = words_in(disk.after_reboot(folder, chance))
        shutil.rmtree(folder)
        return [
            words
            for words, commits in self.session.acknowledged.items()
            if commits <= self.commits and words not in found
        ]


def words_in(database: Path) -> set[str]:
    """The records of a database after a reboot, which must be intact with correct counters."""
    connection = sqlite3.connect(database)
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    found: Counter[str] = Counter()
    for number, kind in enumerate(KINDS):
        bodies = connection.execute(f"select body from record_{kind}").fetchall()
        found.update(json.loads(body)["data"] for (body,) in bodies)
        counters = "select coalesce(sum(value), 0) from counter where name = ?"
        arrivals = "select count(*) from arrival where kind = ?"
        for query in (counters, arrivals):
            assert connection.execute(query, [number]).fetchone() == (len(bodies),)
    connection.close()
    assert set(found.values()) <= {1}
    return set(found)


@pytest.fixture
def session(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return record(settings, tmp_path / "session", monkeypatch, waves=12)


def test_no_acknowledged_record_is_lost_by_a_power_loss(session: Session, tmp_path: Path) -> None:
    looked: Counter[str] = Counter()

    def moment(replay: Replay, disk: Disk, what: str) -> None:
        if what in ("flush", "commit"):
            looked[what] += 1
            assert replay.lost(disk) == [], f"after commit {replay.commits}"

    replay = Replay(session, tmp_path / "replay")
    replay.run(moment)
    assert replay.commits == looked["commit"] == session.commits
    assert looked["flush"] > looked["commit"], "each commit is flushed, and so is the file itself"


def test_nothing_is_lost_if_parts_of_unflushed_writes_survive(
    session: Session, tmp_path: Path
) -> None:
    assert cut_at_random(session, tmp_path / "replay", share=0.05) > 10


def test_without_a_flush_per_commit_acknowledged_records_are_lost(
    session: Session, tmp_path: Path
) -> None:
    """The counter-proof: with a setting that flushes less, the same session loses records."""
    losses: list[int] = []

    def moment(replay: Replay, disk: Disk, what: str) -> None:
        if what == "commit":
            losses.append(len(replay.lost(disk)))

    Replay(session, tmp_path / "replay", synchronous="NORMAL").run(moment)
    assert max(losses) > 0


def cut_at_random(session: Session, folder: Path, share: float) -> int:
    """Cut the power at some of all points, with different parts of unflushed writes each time."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    cuts = 0

    def moment(replay: Replay, disk: Disk, what: str) -> None:
        nonlocal cuts
        if chance.random() < share:
            cuts += 1
            assert replay.lost(disk, chance) == [], f"seed {seed}, {what} {replay.commits}"

    Replay(session, folder).run(moment)
    return cuts


@pytest.mark.soak
def test_no_acknowledged_record_is_lost_in_thousands_of_power_losses(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_session = record(settings, tmp_path / "session", monkeypatch, waves=60)
    cuts = 0
    for number in range(10):
        cuts += cut_at_random(long_session, tmp_path / f"replay {number}", share=0.05)
    assert cuts > 1_000

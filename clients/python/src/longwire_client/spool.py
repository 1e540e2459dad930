"""Where records wait until the service has them: in memory, or in a file that survives.

Both keep records in the order in which they were written. The file also keeps those that the
service has rejected, with the reason.
"""

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longwire_client.errors import ApiError, LongwireError


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that waits: encoded, with its place in the order."""

    seq: int
    kind: str  # data, event, geoloc or telemetry
    body: bytes


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that the service refused, and why."""

    seq: int
    kind: str
    body: bytes
    code: str
    detail: str
    rejected_at: float  # seconds since 1970


class SpoolError(LongwireError):
    """The file of a spool cannot be used."""


class MemoryQueue:
    """Records that are lost with the process."""

    is_durable = False

    def __init__(self, records_max: int) -> None:
        self.records_max = records_max
        self.bytes_max = 1 << 62
        self._lock = threading.Lock()
        self._waiting: dict[int, Entry] = {}
        self._last_seq = 0
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def size_bytes(self) -> int:
        return self._bytes

    @property
    def last_seq(self) -> int:
        return self._last_seq

    def append(self, entries: Sequence[Entry]) -> None:
        with self._lock:
            self._waiting.update((each.seq, each) for each in entries)
            self._last_seq = entries[-1].seq
            self._bytes += sum(len(each.body) for each in entries)

    def head(self, records: int) -> list[Entry]:
        """The oldest entries."""
        with self._lock:
            waiting = iter(self._waiting.values())
            return [each for each, _ in zip(waiting, range(records), strict=False)]

    def remove(self, entries: Iterable[Entry]) -> None:
        with self._lock:
            for each in entries:
                if self._waiting.pop(each.seq, None) is not None:
                    self._bytes -= len(each.body)

    def reject(self, entry: Entry, error: ApiError) -> None:
        """Remove an entry; only its receipt and the callback of the writer have the reason."""
        self.remove([entry])

    def close(self) -> None:
        pass


_SCHEMA = """
CREATE TABLE IF NOT EXISTS waiting (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS rejected (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    rejected_at REAL NOT NULL
);
"""
_COUNT = """
SELECT count(*), coalesce(sum(length(body)), 0), coalesce(max(seq), 0)
FROM {table}
"""
_APPEND = "INSERT INTO waiting (seq, kind, body) VALUES (?, ?, ?)"
# Whatever another program has put there, a body is bytes.
_HEAD = """
SELECT seq, kind, CAST(body AS BLOB)
FROM waiting
ORDER BY seq
LIMIT ?
"""
_REMOVE = "DELETE FROM waiting WHERE seq = ?"
_REJECT = """
INSERT OR REPLACE INTO rejected (seq, kind, body, code, detail, rejected_at)
VALUES (?, ?, ?, ?, ?, ?)
"""
_DELETE_REJECTED = "DELETE FROM rejected WHERE seq = ?"
_TABLES = ("waiting", "rejected")
_REJECTED = """
SELECT seq, kind, CAST(body AS BLOB), code, detail, rejected_at
FROM rejected
ORDER BY seq
"""


class Spool:
    """Records in a SQLite file: what was appended survives the process, and a power cut.

    One process at a time can have it open. `records_max` and `bytes_max` bound what waits together
    with what was rejected; a writer waits while it is full. With `fsync=False` a power cut can lose
    the last records, a crash of the process still loses none.
    """

    is_durable = True

    def __init__(
        self,
        path: str | Path,
        *,
        records_max: int = 1_000_000,
        bytes_max: int = 1024**3,
        fsync: bool = True,
    ) -> None:
        self.records_max = records_max
        self.bytes_max = bytes_max
        self._lock = threading.Lock()
        self._path = Path(path)
        try:
            self._db = self._open(fsync)
            counts = [self._db.execute(_COUNT.format(table=name)).fetchone() for name in _TABLES]
        except (sqlite3.Error, OSError) as error:
            raise SpoolError(f"{path}: {error}") from error
        self._waiting = counts[0][0]
        self._rejected = counts[1][0]
        self._bytes = counts[0][1] + counts[1][1]
        self._last_seq = max(counts[0][2], counts[1][2])

    def _open(self, fsync: bool) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch(mode=0o600, exist_ok=True)
        db = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        # Exclusive: a second process is refused rather than sending the same records.
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
        db.executescript(_SCHEMA)
        return db

    def __len__(self) -> int:
        """Records in the file: those that wait, and those that were rejected."""
        return int(self._waiting + self._rejected)

    @property
    def waiting(self) -> int:
        return int(self._waiting)

    @property
    def size_bytes(self) -> int:
        return int(self._bytes)

    @property
    def last_seq(self) -> int:
        return int(self._last_seq)

    def append(self, entries: Sequence[Entry]) -> None:
        """Store entries; they are on the disk when this returns."""
        rows = [(each.seq, each.kind, each.body) for each in entries]
        with self._transaction() as change:
            self._db.executemany(_APPEND, rows)
            change.waiting = len(rows)
            change.size = sum(len(each.body) for each in entries)
            self._last_seq = entries[-1].seq

    def head(self, records: int) -> list[Entry]:
        with self._lock:
            return [Entry(*row) for row in self._db.execute(_HEAD, (records,))]

    def remove(self, entries: Iterable[Entry]) -> None:
        removed = list(entries)
        with self._transaction() as change:
            self._db.executemany(_REMOVE, [(each.seq,) for each in removed])
            change.waiting = -len(removed)
            change.size = -sum(len(each.body) for each in removed)

    def reject(self, entry: Entry, error: ApiError) -> None:
        """Keep an entry as rejected."""
        faults = "; ".join(str(each) for each in error.faults)
        row = (entry.seq, entry.kind, entry.body, error.code, faults or error.detail, time.time())
        with self._transaction() as change:
            self._db.execute(_REJECT, row)
            self._db.execute(_REMOVE, (entry.seq,))
            change.waiting, change.rejected = -1, 1

    # --- rejected records ---

    def rejected(self) -> list[RejectedRecord]:
        """What the service refused, oldest first."""
        with self._lock:
            return [RejectedRecord(*row) for row in self._db.execute(_REJECTED)]

    def delete_rejected(self, *seqs: int) -> int:
        """Delete rejected records, all of them if none is named; how many there were."""
        with self._transaction() as change:
            chosen = self._choose_rejected(seqs)
            self._db.executemany(_DELETE_REJECTED, [(row[0],) for row in chosen])
            change.rejected = -len(chosen)
            change.size = -sum(len(row[2]) for row in chosen)
        return len(chosen)

    def retry_rejected(self, *seqs: int) -> int:
        """Let rejected records wait again, all of them if none is named; how many there were.

        For a file that no writer has open: with one, they are sent when it is opened the next time.
        """
        with self._transaction() as change:
            chosen = self._choose_rejected(seqs)
            self._db.executemany(_APPEND, [row[:3] for row in chosen])
            self._db.executemany(_DELETE_REJECTED, [(row[0],) for row in chosen])
            change.waiting, change.rejected = len(chosen), -len(chosen)
        return len(chosen)

    def _choose_rejected(self, seqs: Sequence[int]) -> list[tuple[int, str, bytes]]:
        rows = self._db.execute("SELECT seq, kind, CAST(body AS BLOB) FROM rejected ORDER BY seq")
        return [row for row in rows if not seqs or row[0] in seqs]

    def close(self) -> None:
        """Close the file; another process may have it then."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator["_Change"]:
        """All of a block, or nothing; a full disk is a SpoolError."""
        change = _Change()
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield change
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise SpoolError(f"{self._path}: {error}") from error
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            self._waiting += change.waiting
            self._rejected += change.rejected
            self._bytes += change.size


@dataclass(slots=True)
class _Change:
    """What a transaction changes in the counts, once it is committed."""

    waiting: int = 0
    rejected: int = 0
    size: int = 0


Queue = MemoryQueue | Spool

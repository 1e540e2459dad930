"""How much a group may store, and all groups together that count for one owner.

What is stored is read from the database now and then, and what this process has stored since is
added. So a process alone never exceeds a limit by more than one commit, and several by what the
others store until it is read again.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from longwire.clock import SECOND, Moment
from longwire.errors import LimitReached
from longwire.store.database import Database, Tx
from longwire.store.identity import group_storage
from longwire.store.records.records import RecordRow

READ_AGAIN_AFTER: Moment = 10 * SECOND
# Who has more than this part of a limit is read more often.
NEAR = 7 / 8
READ_AGAIN_NEAR_AFTER: Moment = SECOND
# Of all groups of an owner it is read in the background, which takes a while if there are many:
# the next time after so many times as long.
OWNER_PAUSE_RATIO = 20
OWNER_POLL_INTERVAL_S = 1.0
CACHED_MAX = 100_000  # groups, and owners; some hundred bytes each

Size = tuple[int, int]  # records, and characters of their JSON
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Limits:
    """0 for none. A limit is the setting `stored_…_per_…_max`."""

    holder: str  # in the names of the settings
    records_max: int = 0
    bytes_max: int = 0

    @property
    def are_set(self) -> bool:
        return bool(self.records_max or self.bytes_max)

    def find_excess(self, size: Size) -> LimitReached | None:
        records, characters = size
        if self.records_max and records > self.records_max:
            return LimitReached(f"stored_records_per_{self.holder}_max", self.records_max)
        if self.bytes_max and characters > self.bytes_max:
            return LimitReached(f"stored_bytes_per_{self.holder}_max", self.bytes_max)
        return None

    def is_near(self, size: Size) -> bool:
        pairs = zip(size, (self.records_max, self.bytes_max), strict=True)
        return any(most and value > most * NEAR for value, most in pairs)


@dataclass(slots=True)
class _Usage:
    """What a group or an owner had when it was read, and what was stored here since."""

    read: Size = (0, 0)
    read_at: Moment | None = None
    since: Size = (0, 0)
    is_wanted: bool = True  # somebody stored, or wanted to, since it was read

    @property
    def size(self) -> Size:
        return _add(self.read, self.since)


class StorageQuota:
    """The operator's limits. Used by the threads that store records."""

    def __init__(self, per_group: Limits, per_owner: Limits) -> None:
        self.per_group = per_group
        self.per_owner = per_owner
        self.is_set = per_group.are_set or per_owner.are_set
        self._lock = threading.Lock()
        self._groups: dict[int, _Usage] = {}
        self._owners: dict[str, _Usage] = {}
        self._owner_of: dict[int, str] = {}  # which never changes

    def open_commit(self, tx: Tx) -> "QuotaOfCommit":
        return QuotaOfCommit(self, tx)

    def count(self, stored: Iterable[RecordRow]) -> None:
        """Add what is new; also if the commit fails, until it is read again."""
        with self._lock:
            for group, size in _sum_by_group(stored).items():
                found = (self._groups.get(group), self._owners.get(self._owner(group)))
                for usage in filter(None, found):
                    usage.since = _add(usage.since, size)

    def get_group(self, tx: Tx, group: int) -> _Usage:
        """What a group has, as read lately."""
        usage = self._groups.get(group)
        if usage is None or usage.read_at is None:
            return self.read_group(tx, group)
        is_near = self.per_group.is_near(usage.size)
        after = READ_AGAIN_NEAR_AFTER if is_near else READ_AGAIN_AFTER
        return usage if 0 <= tx.now - usage.read_at < after else self.read_group(tx, group)

    def read_group(self, tx: Tx, group: int) -> _Usage:
        usage = _Usage(group_storage.get(tx, group), tx.now)
        with self._lock:
            _put(self._groups, group, usage)
        return usage

    def get_owner(self, tx: Tx, group: int) -> _Usage:
        """What the owner of a group has; nothing until it is read, right after the first commit."""
        if group not in self._owner_of:
            owner = group_storage.get_owner(tx, group)
            with self._lock:
                _put(self._owner_of, group, owner)
        with self._lock:
            usage = self._owners.get(self._owner(group))
            if usage is None:
                usage = _Usage()
                _put(self._owners, self._owner(group), usage)
            usage.is_wanted = True
        return usage

    def _owner(self, group: int) -> str:
        return self._owner_of.get(group, "")

    async def watch_owners(self, database: Database) -> None:
        """Read again what owners have, those near their limit more often."""
        due: dict[str, Moment] = {}
        while True:
            now = database.context.clock.now()
            for owner in self._list_due_owners(now, due):
                began = time.monotonic()
                await self._read_owner(database, owner)
                took_us = int((time.monotonic() - began) * SECOND)
                due[owner] = now + max(READ_AGAIN_NEAR_AFTER, OWNER_PAUSE_RATIO * took_us)
            due = {owner: at for owner, at in due.items() if at > now}
            await asyncio.sleep(OWNER_POLL_INTERVAL_S)

    def _list_due_owners(self, now: Moment, not_before: Mapping[str, Moment]) -> Sequence[str]:
        with self._lock:
            return [
                owner
                for owner, usage in self._owners.items()
                if usage.is_wanted
                and not_before.get(owner, 0) <= now
                and (
                    usage.read_at is None
                    or self.per_owner.is_near(usage.size)
                    or now - usage.read_at >= READ_AGAIN_AFTER
                )
            ]

    async def _read_owner(self, database: Database, owner: str) -> None:
        usage = self._owners.get(owner)
        if usage is None:
            return
        now = database.context.clock.now()
        size = await database.read(lambda tx: group_storage.get_of_owner(tx, owner))
        with self._lock:
            usage.read, usage.read_at, usage.is_wanted = size, now, False
            # What was stored while it was read may not be in it, and does not count until the next
            # time. Counted twice, it would refuse what there is room for.
            usage.since = (0, 0)


class QuotaOfCommit:
    """The limits, with what the requests of one commit store that are accepted."""

    def __init__(self, quota: StorageQuota, tx: Tx) -> None:
        self._quota = quota
        self._tx = tx
        self._accepted: dict[int, Size] = {}
        self._accepted_of_owner: dict[int, Size] = {}
        self._read: set[int] = set()

    def find_excess(self, rows: Sequence[RecordRow]) -> LimitReached | None:
        """The limit that these records would exceed; else they count from now on."""
        wanted = _sum_by_group(rows)
        for group, size in wanted.items():
            excess = self._find_excess_of_group(group, size)
            if excess is None:
                excess = self._find_excess_of_owner(group, size)
            if excess is not None:
                return excess
        for group, size in wanted.items():
            self._accepted[group] = _add(self._accepted.get(group, (0, 0)), size)
            if self._quota.per_owner.are_set:
                owner = id(self._quota.get_owner(self._tx, group))
                accepted = self._accepted_of_owner.get(owner, (0, 0))
                self._accepted_of_owner[owner] = _add(accepted, size)
        return None

    def _find_excess_of_group(self, group: int, size: Size) -> LimitReached | None:
        limits = self._quota.per_group
        if not limits.are_set:
            return None
        more = _add(self._accepted.get(group, (0, 0)), size)
        usage = self._quota.get_group(self._tx, group)
        excess = limits.find_excess(_add(usage.size, more))
        if excess is None or group in self._read:
            return excess
        # Nothing is refused by what was read before, and may have been deleted since.
        self._read.add(group)
        return limits.find_excess(_add(self._quota.read_group(self._tx, group).size, more))

    def _find_excess_of_owner(self, group: int, size: Size) -> LimitReached | None:
        if not self._quota.per_owner.are_set:
            return None
        usage = self._quota.get_owner(self._tx, group)
        accepted = self._accepted_of_owner.get(id(usage), (0, 0))
        return self._quota.per_owner.find_excess(_add(usage.size, _add(accepted, size)))


def _sum_by_group(rows: Iterable[RecordRow]) -> dict[int, Size]:
    sums: dict[int, Size] = {}
    for row in rows:
        records, characters = sums.get(row.group_number, (0, 0))
        sums[row.group_number] = records + 1, characters + len(row.encoded.body)
    return sums


def _add(one: Size, other: Size) -> Size:
    return one[0] + other[0], one[1] + other[1]


def _put(cache: dict[K, V], key: K, value: V) -> None:
    if len(cache) >= CACHED_MAX and key not in cache:
        cache.clear()
    cache[key] = value


NO_STORAGE_QUOTA = StorageQuota(Limits("group"), Limits("owner"))

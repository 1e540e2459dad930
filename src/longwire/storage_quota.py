"""How much a group may store, with those below it, and all groups that count for one owner.

Where the operator has limited a group itself, that holds for it with all groups below it, together
with the limits further up, and in place of what each group may store by the settings.

What is stored is read from the database now and then, and what this process has stored since is
added. So a process alone never exceeds a limit by more than one commit, and several by what the
others store until it is read again.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from longwire.clock import MILLISECOND, SECOND, Moment
from longwire.dataclass import dataclass
from longwire.errors import LimitReached
from longwire.store.database import Database, Tx
from longwire.store.identity import group_limits, group_storage
from longwire.store.records.records import RecordRow

READ_AGAIN_AFTER: Moment = 10 * SECOND
# Who has more than this part of a limit is read more often.
NEAR = 7 / 8
READ_AGAIN_NEAR_AFTER: Moment = SECOND
# Of all groups of an owner it is read in the background, which takes a while if there are many:
# the next time after so many times as long.
OWNER_PAUSE_RATIO = 20
OWNER_POLL_INTERVAL_S = 1.0
# Of one group, or of few, it is read whenever somebody would be refused.
CHEAP: Moment = MILLISECOND
CACHED_MAX = 100_000  # groups, and owners; some hundred bytes each

Size = group_storage.StoredSize
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Limits:
    """0 for none. A limit is the setting `stored_…_per_…_max`, or of a group and those below."""

    holder: str  # in the names of the settings; empty for a group and those below
    records_max: int = 0
    bytes_max: int = 0

    @property
    def are_set(self) -> bool:
        return bool(self.records_max or self.bytes_max)

    def find_excess(self, size: Size) -> LimitReached | None:
        records, characters = size
        if self.records_max and records > self.records_max:
            return LimitReached(self._name("records"), self.records_max)
        if self.bytes_max and characters > self.bytes_max:
            return LimitReached(self._name("bytes"), self.bytes_max)
        return None

    def _name(self, what: str) -> str:
        if self.holder:
            return f"stored_{what}_per_{self.holder}_max"
        return f"stored{what.capitalize()}Max of the group"

    def is_near(self, size: Size) -> bool:
        pairs = zip(size, (self.records_max, self.bytes_max), strict=True)
        return any(most and value > most * NEAR for value, most in pairs)


class Holder(NamedTuple):
    """A group, alone or with those below it."""

    group_number: int
    is_tree: bool = False

    def read(self, tx: Tx) -> Size:
        read = group_storage.get_of_tree if self.is_tree else group_storage.get
        return read(tx, self.group_number)


@dataclass(slots=True)
class _Usage:
    """What a group or an owner had when it was read, and what was stored here since."""

    read: Size = (0, 0)
    read_at: Moment | None = None
    since: Size = (0, 0)
    is_wanted: bool = True  # somebody stored, or wanted to, since it was read
    took_us: Moment = 0  # reading it, which takes a while if there are many groups below

    @property
    def size(self) -> Size:
        return _add(self.read, self.since)


class StorageQuota:
    """The operator's limits. Used by the threads that store records."""

    def __init__(self, per_group: Limits, per_owner: Limits) -> None:
        self.per_group = per_group
        self.per_owner = per_owner
        self._lock = threading.Lock()
        self._groups: dict[Holder, _Usage] = {}
        self._holders_of: dict[int, Sequence[Holder]] = {}  # as they were seen last
        self._owners: dict[str, _Usage] = {}
        self._owner_of: dict[int, str] = {}  # which never changes

    def open_commit(self, tx: Tx) -> "QuotaOfCommit":
        return QuotaOfCommit(self, tx)

    def count(self, stored: Iterable[RecordRow]) -> None:
        """Add what is new; also if the commit fails, until it is read again."""
        if not self._groups and not self._owners:
            return
        with self._lock:
            for group, size in _sum_by_group(stored).items():
                found = [self._groups.get(each) for each in self._holders_of.get(group, ())]
                found.append(self._owners.get(self._owner(group)))
                for usage in filter(None, found):
                    usage.since = _add(usage.since, size)

    def list_limits(self, tx: Tx, group: int) -> Sequence[tuple[Holder, Limits]]:
        """The limits that hold for what a group stores, but for that of its owner."""
        path = group_limits.get_effective(tx, str(group)).path
        if not path and not self.per_group.are_set:
            return ()
        alone, limits = self.per_group, []
        for each in path:
            records_max, bytes_max = each.limits.stored_records_max, each.limits.stored_bytes_max
            if records_max is not None:
                alone = replace(alone, records_max=0)
            if bytes_max is not None:
                alone = replace(alone, bytes_max=0)
            tree = Limits("", records_max or 0, bytes_max or 0)
            limits.append((Holder(int(each.group_id), is_tree=True), tree))
        limits.append((Holder(group), alone))
        found = [(holder, each) for holder, each in limits if each.are_set]
        with self._lock:
            _put(self._holders_of, group, [holder for holder, _ in found])
        return found

    def get_usage(self, tx: Tx, holder: Holder, limits: Limits) -> _Usage:
        """What a group has, as read lately."""
        usage = self._groups.get(holder)
        if usage is None or usage.read_at is None:
            return self.read_usage(tx, holder)
        is_near = limits.is_near(usage.size)
        after = READ_AGAIN_NEAR_AFTER if is_near else READ_AGAIN_AFTER
        after = max(after, OWNER_PAUSE_RATIO * usage.took_us)
        return usage if 0 <= tx.now - usage.read_at < after else self.read_usage(tx, holder)

    def read_usage(self, tx: Tx, holder: Holder) -> _Usage:
        began = time.monotonic()
        usage = _Usage(holder.read(tx), tx.now)
        took_us = int((time.monotonic() - began) * SECOND)
        usage.took_us = took_us if took_us > CHEAP else 0
        with self._lock:
            _put(self._groups, holder, usage)
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
        self._limits: dict[int, Sequence[tuple[Holder, Limits]]] = {}
        self._accepted: dict[Holder, Size] = {}
        self._accepted_of_owner: dict[int, Size] = {}
        self._read: set[Holder] = set()

    def find_excess(self, rows: Sequence[RecordRow]) -> LimitReached | None:
        """The limit that these records would exceed; else they count from now on."""
        has_limits = [self._list_limits(each) for each in {row.group_number for row in rows}]
        if not any(has_limits) and not self._quota.per_owner.are_set:
            return None
        wanted = _sum_by_group(rows)
        by_holder: dict[Holder, tuple[Limits, Size]] = {}
        for group, size in wanted.items():
            for holder, limits in self._list_limits(group):
                _, others = by_holder.get(holder, (limits, (0, 0)))
                by_holder[holder] = limits, _add(others, size)
        for holder, (limits, size) in by_holder.items():
            if (excess := self._find_excess_of(holder, limits, size)) is not None:
                return excess
        for group, size in wanted.items():
            if (excess := self._find_excess_of_owner(group, size)) is not None:
                return excess
        for holder, (_, size) in by_holder.items():
            self._accepted[holder] = _add(self._accepted.get(holder, (0, 0)), size)
        for group, size in wanted.items():
            if self._quota.per_owner.are_set:
                owner = id(self._quota.get_owner(self._tx, group))
                accepted = self._accepted_of_owner.get(owner, (0, 0))
                self._accepted_of_owner[owner] = _add(accepted, size)
        return None

    def _list_limits(self, group: int) -> Sequence[tuple[Holder, Limits]]:
        found = self._limits.get(group)
        if found is None:
            found = self._limits[group] = self._quota.list_limits(self._tx, group)
        return found

    def _find_excess_of(self, holder: Holder, limits: Limits, size: Size) -> LimitReached | None:
        more = _add(self._accepted.get(holder, (0, 0)), size)
        usage = self._quota.get_usage(self._tx, holder, limits)
        excess = limits.find_excess(_add(usage.size, more))
        age = self._tx.now - (usage.read_at or 0)
        if excess is None or holder in self._read or age < OWNER_PAUSE_RATIO * usage.took_us:
            return excess
        # Nothing is refused by what was read before, and may have been deleted since.
        self._read.add(holder)
        return limits.find_excess(_add(self._quota.read_usage(self._tx, holder).size, more))

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

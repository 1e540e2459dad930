"""What a process caches of the database, and when each cache is invalid.

Authorization and configuration have caches and epochs of their own. A change moves the epoch in its
own transaction; the process that commits it invalidates before it responds, and the others when
they next read the epoch (see `cache_epochs`).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from longwire.clock import Moment
from longwire.model import SequenceCounter
from longwire.store.cache.compiled_bound import (
    POLYGON_TEXT_BYTES_MAX,
    TOKENS_MAX,
    CompiledBound,
)

T = TypeVar("T")

ENTRIES_PER_NAMESPACE_MAX = 50_000
COMPILED_MAX = 10_000
# Of values that may be large, and say how large they are.
CONFIG_BYTES_MAX = 128 * 1024 * 1024
COMPILED_BYTES_MAX = 64 * 1024 * 1024
DEVICES_MAX = 20_000
TRACKED_MAX = 50_000  # groups or devices of which the last change is known one by one

MISSING: Any = object()
_EMPTY: Mapping[Hashable, Any] = MappingProxyType({})


def _get_kept_bytes(value: object) -> int:
    """How much memory a value takes, if it may be much."""
    return int(getattr(value, "kept_bytes", 0))


class CacheEpochs(NamedTuple):
    """The epochs as read from the database, and those observed last when the reading began."""

    auth: int
    config: int
    records: int
    auth_since: int
    config_since: int
    changed_groups: frozenset[str] | None  # after `config_since`; None when they are not known


def _is_late(epoch: int, since: int, observed: int) -> bool:
    """Whether another reading overtook this one, which has nothing new then.

    Else an epoch that is lower than the observed one has gone back, as with a restored backup.
    """
    return since <= epoch < observed


class _NamespaceCache:
    """Values by namespace and key, as long as the epoch that was observed last can be trusted."""

    def __init__(self) -> None:
        self.epoch = -1
        self.is_trusted = True
        self._namespaces: dict[str, dict[Hashable, Any]] = {}
        # Epochs are observed by several threads: one that returns finds the cache up to date. The
        # epoch is set before the generation: who has the new generation knows the new epoch.
        self._lock = threading.RLock()

    def get(self, namespace: str, key: Hashable) -> Any | None:
        """The cached value; None when there is none."""
        found = self.lookup(namespace, key)
        return None if found is MISSING else found

    def distrust(self) -> None:
        """Use nothing until an epoch is observed, which clears: it may be one read before this."""
        with self._lock:
            self.is_trusted = False
            self.epoch = -1

    def lookup(self, namespace: str, key: Hashable) -> Any:
        """The cached value, which may be None, or MISSING."""
        if not self.is_trusted:
            return MISSING
        return self._namespaces.get(namespace, _EMPTY).get(key, MISSING)


class AuthCache(_NamespaceCache):
    """Tokens, memberships, paths and roles: read by every request, changed rarely.

    Any change empties all of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.generation = 0

    def put(self, namespace: str, key: Hashable, value: object, *, since: int) -> None:
        """Cache a value unless the cache was cleared after generation `since`.

        That is the generation at the begin of the transaction that read the value: its snapshot may
        be as old as that, however late it reads.
        """
        with self._lock:
            if since != self.generation:
                return
            entries = self._namespaces.setdefault(namespace, {})
            if len(entries) >= ENTRIES_PER_NAMESPACE_MAX:
                entries.clear()
            entries[key] = value

    def clear(self) -> None:
        with self._lock:
            self.generation += 1
            self._namespaces = {}

    def observe_epoch(self, epoch: int, since: int) -> None:
        with self._lock:
            if epoch != self.epoch and not _is_late(epoch, since, self.epoch):
                self.epoch = epoch
                self.clear()
            self.is_trusted = True


class ChangeTracker:
    """When something was last changed, counted in changes; bounded.

    What is not tracked one by one any more counts as changed when tracking started over.
    """

    __slots__ = ("_last", "count", "floor")

    def __init__(self) -> None:
        self.count = 0
        self.floor = 0
        self._last: dict[Hashable, int] = {}

    def add(self, changed: Iterable[Hashable]) -> None:
        """Record one change of several things; the caller holds a lock."""
        self.count += 1
        self._last.update(dict.fromkeys(changed, self.count))
        if len(self._last) > TRACKED_MAX:
            self.add_all()

    def add_all(self) -> None:
        """Record a change of everything."""
        self.count += 1
        self.floor = self.count
        self._last = {}

    def is_changed(self, key: Hashable, since: int) -> bool:
        # In this order: another thread may be about to start over, and sets `floor` first.
        last = self._last.get(key)
        return since < (self.floor if last is None else last)


class ConfigCache(_NamespaceCache):
    """What ingest, delivery and notifications read: matchers, notification rules, codecs.

    An entry depends on some groups. A change of a group evicts what depends on it and nothing else.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changes = ChangeTracker()
        self._dependents: dict[str, set[tuple[str, Hashable]]] = {}
        self._sizes: dict[tuple[str, Hashable], int] = {}  # of the large ones, the oldest first
        self._bytes = 0

    @property
    def generation(self) -> int:
        return self._changes.count

    def put(
        self, namespace: str, key: Hashable, value: object, groups: Iterable[str], *, since: int
    ) -> None:
        """Cache a value unless one of its groups was changed after generation `since`."""
        depends_on = tuple(groups)
        with self._lock:
            if any(self._changes.is_changed(group, since) for group in depends_on):
                return
            if len(self._namespaces.get(namespace, _EMPTY)) >= ENTRIES_PER_NAMESPACE_MAX:
                self._empty()
            self._evict((namespace, key))
            self._namespaces.setdefault(namespace, {})[key] = value
            for group in depends_on:
                self._dependents.setdefault(group, set()).add((namespace, key))
            self._add_size((namespace, key), _get_kept_bytes(value))

    def invalidate(self, groups: Iterable[str]) -> None:
        """Evict what depends on these groups."""
        changed = tuple(groups)
        with self._lock:
            self._changes.add(changed)
            for group in changed:
                for entry in self._dependents.pop(group, ()):
                    self._evict(entry)

    def clear(self) -> None:
        with self._lock:
            self._changes.add_all()
            self._empty()

    def _empty(self) -> None:
        self._namespaces, self._dependents = {}, {}
        self._sizes, self._bytes = {}, 0

    def _evict(self, entry: tuple[str, Hashable]) -> None:
        namespace, key = entry
        self._namespaces.get(namespace, {}).pop(key, None)
        self._bytes -= self._sizes.pop(entry, 0)

    def _add_size(self, entry: tuple[str, Hashable], size: int) -> None:
        """Count what a value keeps; while all keep too much, evict the oldest."""
        if size:
            self._sizes[entry] = size
            self._bytes += size
        while self._bytes > CONFIG_BYTES_MAX and len(self._sizes) > 1:
            self._evict(next(iter(self._sizes)))

    def observe_epoch(self, epochs: CacheEpochs) -> None:
        """Evict what other processes have changed.

        An epoch that went back, or a gap before the changes that are known, clears everything.
        """
        with self._lock:
            observed = self.epoch
            is_late = _is_late(epochs.config, epochs.config_since, observed)
            if epochs.config != observed and not is_late:
                self.epoch = epochs.config
                is_gap = epochs.config_since > observed or epochs.config < observed
                if epochs.changed_groups is None or is_gap:
                    self.clear()
                else:
                    self.invalidate(epochs.changed_groups)
            self.is_trusted = True


class DeviceChanges:
    """Which devices' records or stays were changed by commits of this process.

    A cache of what was read of a device compares with `commits` at the begin of the transaction
    that read it.
    """

    def __init__(self) -> None:
        self._changes = ChangeTracker()
        self._epoch = -1
        self._lock = threading.Lock()

    @property
    def commits(self) -> int:
        return self._changes.count

    def add(self, device_numbers: Iterable[int]) -> None:
        """Record a commit; called before its result is published."""
        with self._lock:
            self._changes.add(device_numbers)

    def is_changed(self, device_number: int, since: int) -> bool:
        return self._changes.is_changed(device_number, since)

    def observe_epoch(self, epoch: int) -> None:
        """Another process has changed stored records: those of any device."""
        with self._lock:
            if epoch != self._epoch:
                self._changes.add_all()
                self._epoch = epoch


class WrittenRows:
    """Rows that are in the database for good, so that they need not be inserted again."""

    def __init__(self) -> None:
        self._rows: set[Any] = set()

    def list_missing(self, rows: Set[T]) -> Set[T]:
        """Those of the rows that may have to be inserted."""
        return rows - self._rows

    def add(self, rows: Iterable[Hashable]) -> None:
        if len(self._rows) >= ENTRIES_PER_NAMESPACE_MAX:
            self._rows = set()
        self._rows.update(rows)

    def remove(self, rows: Iterable[Hashable]) -> None:
        """These are deleted after all, by this process."""
        self._rows.difference_update(rows)


class MeasurementKeys(dict[Hashable, Any]):
    """The keys of the places of measurements, which never change."""

    def put(self, keys: Mapping[Any, Any]) -> None:
        """Cache what was committed."""
        if len(self) >= ENTRIES_PER_NAMESPACE_MAX:
            self.clear()
        self.update(keys)


class DeviceCache:
    """Devices by their ids as ingest needs them; for the one writer of the embedded database.

    Triggers of its connection evict a device with the statement that changes it. What a work has
    read is put here after its commit, unless anything was changed since it was read.

    Sequence counters change with every message. They are evicted when one is written, and put here
    after its commit.
    """

    def __init__(self) -> None:
        self.is_watched = False  # whether there are such triggers
        self.changes = 0
        self._version = 0  # that of the file, as far as others have changed it
        self._devices: dict[str, Any] = {}
        self._counters: dict[int, SequenceCounter] = {}  # by the numbers of devices

    def find(self, ids: Iterable[str], version: int) -> dict[str, Any]:
        """Those of the devices that are cached; none if somebody else has written the file."""
        if version != self._version:
            self._version = version
            self.changes += 1
            self._devices = {}
            self._counters = {}
        cached = self._devices
        return {each: cached[each] for each in ids if each in cached}

    def put(self, devices: Mapping[str, object], *, since: int) -> None:
        if since != self.changes:
            return
        if len(self._devices) + len(devices) > DEVICES_MAX:
            self._devices = {}
        self._devices.update(devices)

    def evict(self, device_id: str) -> None:
        self.changes += 1
        self._devices.pop(device_id, None)

    def find_counters(self, device_numbers: Iterable[int]) -> dict[int, SequenceCounter]:
        """Those of the sequence counters that are cached; `find` comes first."""
        cached = self._counters
        return {each: cached[each] for each in device_numbers if each in cached}

    def put_counters(self, counters: Mapping[int, SequenceCounter]) -> None:
        """Cache what was committed."""
        if len(self._counters) + len(counters) > DEVICES_MAX:
            self._counters = {}
        self._counters.update(counters)

    def evict_counters(self, device_numbers: Iterable[int]) -> None:
        """These are written, and not committed yet."""
        for each in device_numbers:
            self._counters.pop(each, None)


class CompiledCache:
    """What was compiled of one version of a row; it never becomes invalid, only unused.

    When the configuration of a group changes, only what has changed is compiled again.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable, compile_row: Callable[[], T]) -> T:
        with self._lock:
            found = self._entries.get(key, MISSING)
            if found is not MISSING:
                self._entries.move_to_end(key)
                value: T = found
                return value
        value = compile_row()
        with self._lock:
            self._bytes -= _get_kept_bytes(self._entries.pop(key, None))  # by another thread
            self._entries[key] = value
            self._bytes += _get_kept_bytes(value)
            while len(self._entries) > 1 and (
                len(self._entries) > COMPILED_MAX or self._bytes > COMPILED_BYTES_MAX
            ):
                _, unused = self._entries.popitem(last=False)
                self._bytes -= _get_kept_bytes(unused)
        return value

    def find(self, keys: Iterable[Hashable]) -> dict[Hashable, Any]:
        """Those that are cached."""
        found = {}
        with self._lock:
            for key in keys:
                value = self._entries.get(key, MISSING)
                if value is not MISSING:
                    self._entries.move_to_end(key)
                    found[key] = value
        return found


class ExpiringCache:
    """Values that may be a little old, each until its time."""

    def __init__(self, entries_max: int = 1_000) -> None:
        self._entries_max = entries_max
        self._entries: dict[Hashable, tuple[Moment, Any]] = {}

    def get(self, key: Hashable, now: Moment) -> Any | None:
        expires_at, value = self._entries.get(key, (now, None))
        return value if now < expires_at else None

    def put(self, key: Hashable, value: object, expires_at: Moment) -> None:
        if len(self._entries) >= self._entries_max:
            self._entries = {}
        self._entries[key] = expires_at, value


class Caches:
    """All that a process caches of one database."""

    def __init__(self) -> None:
        self.auth = AuthCache()
        self.config = ConfigCache()
        self.compiled = CompiledCache()
        self.expressions = CompiledBound(TOKENS_MAX)
        self.polygons = CompiledBound(POLYGON_TEXT_BYTES_MAX)
        self.device_changes = DeviceChanges()
        self.activity = WrittenRows()
        self.marked_hours = WrittenRows()  # whose summaries are to be made again
        self.devices = DeviceCache()
        self.measurement_keys = MeasurementKeys()
        self.overviews = ExpiringCache()
        self._adopted: dict[type, Any] = {}

    def adopt(self, value: object) -> None:
        """Have transactions find what a layer above caches, by its type."""
        self._adopted[type(value)] = value

    def find(self, kind: type[T]) -> T:
        """The value that was adopted; a new one if none was."""
        found: T | None = self._adopted.get(kind)
        return self._adopted.setdefault(kind, kind()) if found is None else found

    @property
    def observed_epochs(self) -> tuple[int, int]:
        """Those of authorization and configuration; taken before the database is read again."""
        return self.auth.epoch, self.config.epoch

    def observe(self, epochs: CacheEpochs) -> None:
        self.auth.observe_epoch(epochs.auth, epochs.auth_since)
        self.config.observe_epoch(epochs)
        self.device_changes.observe_epoch(epochs.records)

    def distrust(self) -> None:
        """The epochs could not be read for too long: use nothing until they are."""
        self.auth.distrust()
        self.config.distrust()


class TransactionCache:
    """What one transaction reads through the caches, and what it changes that they have."""

    __slots__ = (
        "_caches",
        "_is_write",
        "_loaded",
        "_loaded_config",
        "auth_generation",
        "changed_config_groups",
        "changes_auth",
        "commits",
        "config_generation",
        "touched_devices",
    )

    def __init__(self, caches: Caches, *, is_write: bool) -> None:
        self._caches = caches
        self._is_write = is_write
        # Before the first statement: what is read may be as old as these.
        self.auth_generation = caches.auth.generation
        self.config_generation = caches.config.generation
        self.commits = caches.device_changes.commits
        self.changes_auth = False
        self.changed_config_groups: set[str] = set()
        self.touched_devices: set[int] = set()  # whose records or stays change
        self._loaded: dict[tuple[str, str | bytes], Any] = {}
        self._loaded_config: dict[tuple[str, str], tuple[Any, Sequence[str]]] = {}

    def get_auth(self, namespace: str, key: str | bytes, load: Callable[[], T]) -> T:
        """A value that authorization depends on, from the cache where it has one.

        A transaction that changes such values reads its own rows. What a write reads is cached
        once it is committed: until then it may be rolled back.
        """
        if self.changes_auth:
            return load()
        cache = self._caches.auth
        value: T = cache.lookup(namespace, key)
        if value is MISSING:
            value = self._loaded.get((namespace, key), MISSING)
        if value is not MISSING:
            return value
        value = load()
        if self._is_write:
            self._loaded[(namespace, key)] = value
        else:
            cache.put(namespace, key, value, since=self.auth_generation)
        return value

    def load_missing(
        self, namespace: str, keys: Iterable[str], load: Callable[[list[str]], Mapping[str, T]]
    ) -> None:
        """Load several such values with one statement; `get_auth` has them then."""
        if self.changes_auth:
            return
        lookup, loaded = self._caches.auth.lookup, self._loaded
        missing = [
            key
            for key in keys
            if lookup(namespace, key) is MISSING and (namespace, key) not in loaded
        ]
        if len(missing) > 1:
            loaded.update({(namespace, key): value for key, value in load(missing).items()})

    def get_config(
        self, namespace: str, key: str, load: Callable[[], T], groups: Callable[[], Sequence[str]]
    ) -> T:
        """The same for configuration, which depends on these groups only."""
        if self.changed_config_groups:
            return load()
        cache = self._caches.config
        value: T = cache.lookup(namespace, key)
        if value is MISSING:
            value = self._loaded_config.get((namespace, key), (MISSING,))[0]
        if value is not MISSING:
            return value
        value = load()
        if self._is_write:
            self._loaded_config[(namespace, key)] = value, groups()
        else:
            cache.put(namespace, key, value, groups(), since=self.config_generation)
        return value

    def publish(self) -> None:
        """After the commit: invalidate what it has changed, and cache what it has read."""
        caches = self._caches
        if self.touched_devices:
            caches.device_changes.add(self.touched_devices)
        if self.changes_auth:
            caches.auth.clear()
        if self.changed_config_groups:
            caches.config.invalidate(self.changed_config_groups)
        for (namespace, key), value in self._loaded.items():
            caches.auth.put(namespace, key, value, since=self.auth_generation)
        for (namespace, name), (value, groups) in self._loaded_config.items():
            caches.config.put(namespace, name, value, groups, since=self.config_generation)

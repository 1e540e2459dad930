"""Bounds what a process keeps compiled of the expressions and polygons that groups have saved."""

import threading
from collections import OrderedDict, defaultdict
from typing import NamedTuple, Protocol

# Of all compiled expressions of a process; a token takes up to 230 bytes.
TOKENS_MAX = 500_000
BYTES_PER_TOKEN = 230
# Of the texts of all polygons that are built, which take three times as much.
POLYGON_TEXT_BYTES_MAX = 32 * 1024 * 1024
BYTES_PER_POLYGON_TEXT_BYTE = 3
BYTES_MAX = TOKENS_MAX * BYTES_PER_TOKEN + POLYGON_TEXT_BYTES_MAX * BYTES_PER_POLYGON_TEXT_BYTE
# Of what a process keeps compiled, one group has no more: it evicts its own, not those of others.
SHARE_MAX = 0.5


class Evictable(Protocol):
    """Something that can be compiled again."""

    def evict(self) -> None: ...


class CompiledBound:
    """Bounds what is compiled by its weight; what was compiled first is evicted first."""

    def __init__(self, weight_max: int) -> None:
        self.weight_max = weight_max
        self._entries: OrderedDict[Evictable, tuple[str, int]] = OrderedDict()
        self._by_owner: defaultdict[str, OrderedDict[Evictable, None]] = defaultdict(OrderedDict)
        self._totals: defaultdict[str, int] = defaultdict(int)
        self._total = 0
        self._lock = threading.Lock()

    def share(self, owner: str) -> "CompiledShare":
        return CompiledShare(self, owner)

    def add(self, compiled: Evictable, weight: int, owner: str) -> None:
        with self._lock:
            self._remove(compiled)
            self._entries[compiled] = owner, weight
            own = self._by_owner[owner]
            own[compiled] = None
            self._totals[owner] += weight
            self._total += weight
            while self._totals[owner] > self.weight_max * SHARE_MAX and len(own) > 1:
                self._evict(next(iter(own)))
            while self._total > self.weight_max and len(self._entries) > 1:
                self._evict(next(iter(self._entries)))

    def _evict(self, compiled: Evictable) -> None:
        self._remove(compiled)
        compiled.evict()

    def _remove(self, compiled: Evictable) -> None:
        found = self._entries.pop(compiled, None)
        if found is None:
            return
        owner, weight = found
        self._total -= weight
        self._totals[owner] -= weight
        del self._by_owner[owner][compiled]
        if not self._by_owner[owner]:
            del self._by_owner[owner], self._totals[owner]


class CompiledShare(NamedTuple):
    """What is compiled for one group."""

    bound: CompiledBound
    owner: str

    def add(self, compiled: Evictable, weight: int) -> None:
        self.bound.add(compiled, weight, self.owner)

"""Turns on two levels: owners take turns, and the callers of an owner take turns in theirs.

The owner is the account that the groups count for (`model.Actor`), so whoever has a thousand app
clients gets as many turns as somebody with a single one.
"""

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class CallerKey(NamedTuple):
    """On whose account something is done, and by whom."""

    owner: str
    caller: str

    @classmethod
    def alone(cls, caller: str) -> "CallerKey":
        """Somebody who belongs to nobody, such as an address."""
        return cls(caller, caller)


# The service itself.
SERVICE = CallerKey("", "")

# Who causes what is done now: set for each request, inherited by its tasks.
current_caller: ContextVar[CallerKey] = ContextVar("current_caller", default=SERVICE)


class Turns(Generic[T]):
    """What waits, in the order of turns. Not thread-safe."""

    def __init__(self) -> None:
        # By owner and by caller, each in the order of their turns; none is empty.
        self._owners: OrderedDict[str, OrderedDict[str, deque[T]]] = OrderedDict()
        self._by_owner: Counter[str] = Counter()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def owner_count(self) -> int:
        return len(self._owners)

    def count(self, key: CallerKey) -> int:
        callers = self._owners.get(key.owner)
        items = callers.get(key.caller) if callers is not None else None
        return 0 if items is None else len(items)

    def count_of_owner(self, owner: str) -> int:
        return self._by_owner.get(owner, 0)

    def put(self, key: CallerKey, item: T) -> None:
        callers = self._owners.get(key.owner)
        if callers is None:
            callers = self._owners[key.owner] = OrderedDict()
        items = callers.get(key.caller)
        if items is None:
            items = callers[key.caller] = deque()
        items.append(item)
        self._by_owner[key.owner] += 1
        self._size += 1

    def find(
        self,
        may_take: Callable[[CallerKey, T], bool] | None = None,
        may_serve: Callable[[str], bool] | None = None,
    ) -> CallerKey | None:
        """Whose turn it is, of the owners that may be served and have an item that may be taken.

        The others keep their turns.
        """
        for owner, callers in self._owners.items():
            if may_serve is not None and not may_serve(owner):
                continue
            for caller, items in callers.items():
                key = CallerKey(owner, caller)
                if may_take is None or may_take(key, items[0]):
                    return key
        return None

    def take(
        self,
        may_take: Callable[[CallerKey, T], bool] | None = None,
        may_serve: Callable[[str], bool] | None = None,
    ) -> tuple[CallerKey, T] | None:
        """The item whose turn it is, as `find` says; None if there is none."""
        key = self.find(may_take, may_serve)
        if key is None:
            return None
        callers = self._owners[key.owner]
        items = callers[key.caller]
        item = items.popleft()
        if items:
            callers.move_to_end(key.caller)
        else:
            del callers[key.caller]
        if callers:
            self._owners.move_to_end(key.owner)
        else:
            del self._owners[key.owner]
        self._by_owner[key.owner] -= 1
        if not self._by_owner[key.owner]:
            del self._by_owner[key.owner]
        self._size -= 1
        return key, item

    def take_all(self) -> list[tuple[CallerKey, T]]:
        taken = []
        while (found := self.take()) is not None:
            taken.append(found)
        return taken


class OwnerPresence:
    """Whether one owner has been there alone lately, as is usual where there is only one."""

    def __init__(
        self, alone_after_s: float, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._alone_after_s = alone_after_s
        self._monotonic_s = monotonic_s
        self._last: str | None = None
        self._since_s = monotonic_s() - alone_after_s

    def note(self, owner: str) -> None:
        """Somebody has come, on whose account is said; the service itself does not count."""
        if owner in (self._last, SERVICE.owner):
            return
        if self._last is not None:
            self._since_s = self._monotonic_s()
        self._last = owner

    @property
    def is_single(self) -> bool:
        """Whether all who came lately are of one owner."""
        return self._monotonic_s() - self._since_s >= self._alone_after_s

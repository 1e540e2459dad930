"""Budgets: of what everybody shares at the same time, and of what each may use in some time.

Of what is shared, the last quarter is for those who have little, or nothing: whoever fills what
they may have leaves something to somebody who comes later. What is used up, time refills.
"""

import enum
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from longwire.clock import SECOND, Clock

RESERVED_PART = 4

K = TypeVar("K", bound=Hashable)


def has_room(limit: int, used: int, mine: int, wanted: int = 1, *, little: int = 1) -> bool:
    """Whether somebody who has `mine` of what is used gets so much more.

    The reserve is for those who have at most `little` then.
    """
    room = limit if mine + wanted <= little else limit - limit // RESERVED_PART
    return used + wanted <= room


class BudgetRefusal(enum.Enum):
    OWNER = "owner"  # has a full share
    ALL = "all"  # nothing is left


class SharedBudget:
    """An amount that owners share, with a limit for each. Not thread-safe."""

    def __init__(self, limit: int, owner_limit: int, *, little: int = 1) -> None:
        self.used = 0
        self._limit = limit
        self._owner_limit = owner_limit
        self._little = little
        self._by_owner: Counter[str] = Counter()

    def take(self, owner: str, wanted: int = 1) -> BudgetRefusal | None:
        """Take so much, unless it is refused. One that is alone may have anything that fits."""
        mine = self._by_owner.get(owner, 0)
        if mine and mine + wanted > self._owner_limit:
            return BudgetRefusal.OWNER
        is_within = has_room(self._limit, self.used, mine, wanted, little=self._little)
        if not is_within and (self.used or wanted > self._limit):
            return BudgetRefusal.ALL
        self.used += wanted
        self._by_owner[owner] = mine + wanted
        return None

    def release(self, owner: str, amount: int = 1) -> None:
        self.used -= amount
        self._by_owner[owner] -= amount
        if not self._by_owner[owner]:
            del self._by_owner[owner]


class TokenBucket:
    """So much at once, the burst, and a rate on average. Not thread-safe.

    A clock that is set back neither fills nor empties it, and nobody waits until it has caught up.
    """

    __slots__ = ("_at", "_left")

    def __init__(self, left: float, at: float) -> None:
        self._left = left
        self._at = at

    def get_left(self, at: float, burst: float, rate: float) -> float:
        """What may still be used, below zero for a debt. The rate is for a unit of `at`."""
        self._at = min(self._at, at)
        return min(burst, self._left + (at - self._at) * rate)

    def set_left(self, left: float, at: float) -> None:
        self._left, self._at = left, at


class RefillingBudgets(Generic[K]):
    """A token bucket for each key. Any thread may use it.

    The least recently used keys are evicted; by then their bucket is nearly always full again.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        burst: float,
        per_s: float,
        keys_max: int,
        nodes: Callable[[], int] = lambda: 1,
    ) -> None:
        """`nodes` is how many processes share the budgets; each has its part of them."""
        self._clock = clock
        self._burst = burst
        self._per_s = per_s
        self._keys_max = keys_max
        self._nodes = nodes
        self._lock = threading.Lock()
        self._buckets: OrderedDict[K, TokenBucket] = OrderedDict()

    def get_left(self, key: K) -> float:
        """What a key may still use; below zero if it is in debt."""
        if not self._buckets:
            return self._get_burst()
        with self._lock:
            bucket = self._buckets.get(key)
            return self._get_burst() if bucket is None else self._get_left_in(bucket)

    def get_wait_s(self, key: K, amount: float) -> float:
        """How long it takes until so much is left, as exactly as the clock goes."""
        lacking = max(0.0, amount - self.get_left(key))
        return round(lacking / self._per_s * max(1, self._nodes()), 6)

    def use(self, key: K, amount: float, debt_max: float = float("inf")) -> None:
        """Use so much; what was not left is a debt, which is bounded by what is given."""
        with self._lock:
            now = self._clock.now()
            bucket = self._buckets.pop(key, None) or TokenBucket(self._get_burst(), now)
            bucket.set_left(max(-debt_max, self._get_left_in(bucket) - amount), now)
            self._buckets[key] = bucket
            if len(self._buckets) > self._keys_max:
                self._buckets.popitem(last=False)

    def refill(self, key: K) -> None:
        """Forget what was used."""
        with self._lock:
            self._buckets.pop(key, None)

    def _get_burst(self) -> float:
        return max(1.0, self._burst / max(1, self._nodes()))

    def _get_left_in(self, bucket: TokenBucket) -> float:
        rate = self._per_s / max(1, self._nodes()) / SECOND
        return bucket.get_left(self._clock.now(), self._get_burst(), rate)

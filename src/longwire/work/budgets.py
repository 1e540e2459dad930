"""Limits of what everybody shares: the last quarter is for those who have little, or nothing.

So whoever fills what they may have leaves something to somebody who comes later.
"""

import enum
from collections import Counter

RESERVED_PART = 4


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

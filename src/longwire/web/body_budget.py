"""Bounds the memory of request bodies that are being received or handled.

Without it, the memory of a process would be as large as its clients want: each connection may send
a body of the maximum size, as slowly as the timeouts allow.
"""

from longwire.errors import TooManyRequests, Unavailable
from longwire.work.budgets import BudgetRefusal, SharedBudget

OWNER_SHARE = 4
# The reserve is for owners that have at most one ordinary body.
LITTLE_BYTES = 1024 * 1024


class BodyBudget:
    """Bytes of bodies in memory; one owner may have a quarter of them."""

    def __init__(self, bytes_max: int) -> None:
        self._budget = SharedBudget(bytes_max, bytes_max // OWNER_SHARE, little=LITTLE_BYTES)

    def charge(self, owner: str, count: int) -> None:
        refusal = self._budget.take(owner, count)
        if refusal is BudgetRefusal.OWNER:
            raise TooManyRequests("Too many large requests of yours at once; nothing was changed.")
        if refusal is BudgetRefusal.ALL:
            raise Unavailable("Too many large requests at the moment; nothing was changed.")

    def release(self, owner: str, count: int) -> None:
        self._budget.release(owner, count)

"""Bounds the memory of request bodies that are being received or handled.

Without it, the memory of a process would be as large as its clients want: each connection may send
a body of the maximum size, as slowly as the timeouts allow.
"""

from collections import Counter

from longwire.errors import TooManyRequests, Unavailable

CALLER_SHARE = 4


class BodyBudget:
    """Bytes of bodies in memory; one caller may have a quarter of them."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._by_caller: Counter[str] = Counter()

    def charge(self, caller: str, count: int) -> None:
        if self._by_caller[caller] + count > self._bytes_max // CALLER_SHARE:
            raise TooManyRequests("Too many large requests of yours at once; nothing was changed.")
        if self._bytes + count > self._bytes_max:
            raise Unavailable("Too many large requests at the moment; nothing was changed.")
        self._bytes += count
        self._by_caller[caller] += count

    def release(self, caller: str, count: int) -> None:
        self._bytes -= count
        self._by_caller[caller] -= count
        if not self._by_caller[caller]:
            del self._by_caller[caller]

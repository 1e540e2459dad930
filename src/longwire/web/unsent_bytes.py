"""Bounds the memory of responses that clients do not read.

A response is handed to its connection whole, and a client may take minutes to read it. A thousand
such clients with a large page each would exhaust the memory of the process.
"""

from collections import Counter
from collections.abc import Callable
from typing import Protocol


class Reader(Protocol):
    """A connection whose client has to read before more can be sent."""

    @property
    def address(self) -> str: ...

    def count_unsent_bytes(self) -> int: ...

    def give_up_sending(self) -> None: ...


class UnsentBytes:
    """The bytes that wait for clients. Above the maximum, the heaviest address loses some.

    Its connection that has waited longest is closed: clients that read are not among those.
    """

    def __init__(self, bytes_max: int, on_closed: Callable[[], None] = lambda: None) -> None:
        self._bytes_max = bytes_max
        self._on_closed = on_closed
        self._bytes = 0
        self._by_reader: dict[Reader, int] = {}  # in the order in which they began to wait

    def add(self, reader: Reader) -> None:
        """Count a connection that waits for its client, or count it again."""
        count = reader.count_unsent_bytes()
        self._bytes += count - self._by_reader.get(reader, 0)
        self._by_reader[reader] = count
        if self._bytes > self._bytes_max:
            self._shed()

    def discard(self, reader: Reader) -> None:
        self._bytes -= self._by_reader.pop(reader, 0)

    def _shed(self) -> None:
        self._by_reader = {each: each.count_unsent_bytes() for each in self._by_reader}
        self._bytes = sum(self._by_reader.values())
        while self._bytes > self._bytes_max and len(self._by_reader) > 1:
            by_address: Counter[str] = Counter()
            for each, count in self._by_reader.items():
                by_address[each.address] += count
            heaviest = max(by_address, key=by_address.__getitem__)
            slowest = next(each for each in self._by_reader if each.address == heaviest)
            self.discard(slowest)
            slowest.give_up_sending()
            self._on_closed()

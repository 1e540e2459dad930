"""Pages of records that were answered lately, for whoever looks again.

Devices speak rarely and people look often: a dashboard asks for the same page every few seconds.
An answer is remembered with what it rests on: the rights it was given by, its device, the moment
from which some of it is past its time, and how many commits the process knew of when its
transaction began. It is used while all of that stands, so it is never older than an answer somebody
already got. Only the process that alone writes its database can know that, so this is for the
embedded one.
"""

import threading
from collections.abc import Hashable, Iterable

import msgspec

from longwire.clock import Moment

BYTES_MAX = 32 * 1024 * 1024
BYTES_BESIDE = 500  # what an answer takes beside its own bytes and those of its question
DEVICES_MAX = 50_000


class Page(msgspec.Struct, frozen=True, gc=False):
    """An answer, and what it rests on."""

    answer: bytes
    device_number: int
    until: Moment  # the last moment at which nothing of it is past its time
    generation: int  # of what was remembered of rights, when its transaction began
    as_of: int  # how many commits there were at that time


class Pages:
    def __init__(self) -> None:
        self.commits = 0
        self._touched: dict[int, int] = {}  # device -> the last commit that changed its records
        self._forgotten = 0  # what was touched up to this commit is not known one by one
        self._kept: dict[Hashable, tuple[Page, int]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, question: Hashable, *, generation: int, now: Moment) -> bytes | None:
        """The answer to the same question, if it would be the same again."""
        found = self._kept.get(question)
        if found is None:
            return None
        page = found[0]
        # In this order, because another thread may be about to begin a new table.
        touched = self._touched.get(page.device_number)
        if touched is None:
            touched = self._forgotten
        if page.as_of < touched or page.generation != generation or page.until < now:
            return None
        return page.answer

    def keep(self, question: Hashable, page: Page, question_bytes: int) -> None:
        size = len(page.answer) + question_bytes + BYTES_BESIDE
        with self._lock:
            self._drop(question)
            self._kept[question] = (page, size)
            self._bytes += size
            while self._bytes > BYTES_MAX:
                self._drop(next(iter(self._kept)))

    def touched(self, device_numbers: Iterable[int]) -> None:
        """Tell that a commit changed what these devices said, or where; before anyone hears."""
        with self._lock:
            self.commits += 1
            self._touched.update(dict.fromkeys(device_numbers, self.commits))
            if len(self._touched) > DEVICES_MAX:
                self._forgotten = self.commits
                self._touched = {}

    def _drop(self, question: Hashable) -> None:
        dropped = self._kept.pop(question, None)
        if dropped is not None:
            self._bytes -= dropped[1]

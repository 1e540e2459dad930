"""Where a listener has come to: the id of its last event, by which it goes on anywhere.

Everything up to a base was sent or is not wanted. Behind the base commits may still end out of the
order of their numbers, so a cursor names what was sent there: `rec_5f0-400.1f0*3.a01` is the base,
an origin, and runs of arrivals relative to it, with their lengths.
"""

import re
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from longwire.dataclass import dataclass
from longwire.ids import format_record_id
from longwire.store.records.arrival_numbers import WRITER_BITS

RUNS_MAX = 400
SENT_MAX = 10_000
# The distance from the origin, so that its text stays short; some minutes.
_ORIGIN_DISTANCE = 1 << 36
_ORIGIN_DISTANCE_MAX = 1 << 44

_STEP = 1 << WRITER_BITS
_RUN = r"\.[0-9a-f]{1,16}(?:\*[0-9a-f]{1,6})?"
_CURSOR = re.compile(rf"rec_([0-9a-f]{{1,16}})(?:-([0-9a-f]{{1,16}})((?:{_RUN})+))?")


class SeqRun(NamedTuple):
    """Arrivals that were numbered in a row, as those of one commit are."""

    first: int
    length: int

    @property
    def last(self) -> int:
        return self.first + (self.length - 1) * _STEP


@dataclass(frozen=True, slots=True)
class LiveCursor:
    """A cursor that was read."""

    base: int
    runs: tuple[SeqRun, ...] = ()

    @property
    def sent(self) -> set[int]:
        return {seq for run in self.runs for seq in range(run.first, run.last + 1, _STEP)}


class SentArrivals:
    """What was sent behind a base. Each run is encoded once: there is a cursor in every event.

    Of very many runs the last ones are kept: rather some records twice than any not at all.
    """

    def __init__(self, base: int, runs: Iterable[SeqRun] = ()) -> None:
        self.base = base
        # By what comes first. Every listener has them for every commit, so they are plain tuples.
        self._runs: deque[tuple[int, int]] = deque()
        self._texts: deque[str] = deque()
        self._length = 0  # of these runs
        self._open = (0, 0)  # the one that may still grow
        self._origin = max(0, base - _ORIGIN_DISTANCE)
        for run in runs:
            self._close(run.first, run.length)

    def add(self, seqs: Iterable[int]) -> None:
        base = self.base
        first, length = self._open
        end = first + length * _STEP
        for seq in seqs:
            if seq <= base:
                continue
            if seq == end and length:
                length += 1
            else:
                self._close(first, length)
                first, length, end = seq, 1, seq
            end += _STEP
        self._open = (first, length)

    def move(self, base: int) -> None:
        """Up to this base there is no more to come."""
        if base <= self.base:
            return
        self.base = base
        runs = self._runs
        while runs and runs[0][0] + (runs[0][1] - 1) * _STEP <= base:
            self._drop_first()
        if base - self._origin > _ORIGIN_DISTANCE_MAX:
            self._origin = base - _ORIGIN_DISTANCE
            self._runs, self._texts, self._length = deque(), deque(), 0
            for first, length in runs:
                self._close(first, length)

    def _close(self, first: int, length: int) -> None:
        if not length or first < self._origin:
            return
        self._runs.append((first, length))
        self._texts.append(self._encode(first, length))
        self._length += length
        while len(self._runs) > RUNS_MAX or self._length > SENT_MAX:
            self._drop_first()

    def _drop_first(self) -> None:
        self._length -= self._runs.popleft()[1]
        self._texts.popleft()

    def _encode(self, first: int, length: int) -> str:
        distance = first - self._origin
        return f"{distance:x}" if length == 1 else f"{distance:x}*{length:x}"

    def format(self) -> str:
        """The cursor."""
        texts = ".".join(self._texts)
        first, length = self._open
        if length and first + (length - 1) * _STEP > self.base:
            last = self._encode(first, length)
            texts = f"{texts}.{last}" if texts else last
        if not texts:
            return format_record_id(self.base)
        return f"{format_record_id(self.base)}-{self._origin:x}.{texts}"


def parse_cursor(text: str) -> LiveCursor | None:
    """None if it is none."""
    found = _CURSOR.fullmatch(text)
    if found is None or int(found[1], 16) >= 2**62:
        return None
    base = int(found[1], 16)
    if found[2] is None:
        return LiveCursor(base)
    origin = int(found[2], 16)
    runs: list[SeqRun] = []
    for run in found[3][1:].split("."):
        delta, _, length = run.partition("*")
        runs.append(SeqRun(origin + int(delta, 16), int(length or "1", 16)))
    is_small = sum(run.length for run in runs) <= 2 * SENT_MAX
    return LiveCursor(base, tuple(runs)) if is_small else None

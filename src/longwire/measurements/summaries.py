"""What is known of the numbers in a span of time, and how such spans are stored.

Summaries of spans that follow each other add up: what a counter rose from the last number of one to
the first of the next belongs to the next. So a late record changes the summary of its own quarter
and of none behind it.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from operator import le, sub
from typing import NamedTuple

from longwire.clock import DAY, Moment
from longwire.measurements.calendar_spans import QUARTER

QUARTERS = DAY // QUARTER  # of a day of UTC
DAYS_PER_PAGE = 32


class Summary(NamedTuple):
    """Some numbers, at least one, in the order of their time."""

    numbers: int
    minimum: float
    maximum: float
    total: float
    first: float
    last: float
    increase: float  # of a counter, from the first to the last


def increase_between(earlier: float, later: float) -> float:
    """What a counter rose; a smaller number is another counter, which began at zero."""
    return later - earlier if later >= earlier else later


def summarize(numbers: Sequence[float]) -> Summary:
    """The summary of numbers in the order of their time; there is at least one."""
    first, last = numbers[0], numbers[-1]
    minimum, maximum = min(numbers), max(numbers)
    increase = last - first
    if any(later < earlier for earlier, later in pairwise(numbers)):
        pairs = pairwise(numbers)
        increase = math.fsum(increase_between(earlier, later) for earlier, later in pairs)
    return Summary(len(numbers), minimum, maximum, math.fsum(numbers), first, last, increase)


# --- as they are stored ---

# The quarters of an hour of a day are stored as one, and so are the days of a page. A quarter
# mostly has one number or two, so the bytes are: how many spans have numbers; which of the day or
# page; how many numbers each has, if any has more than one; then the first numbers, the last ones,
# and what does not follow from these.
_ONE, _TWO, _MANY = range(3)


def quarter_of(ts: Moment) -> int:
    """The index of a moment's quarter in its day."""
    return ts % DAY // QUARTER


def pack(spans: Mapping[int, Summary]) -> bytes:
    """Spans by their index; there is at least one, and fewer than 256."""
    indexes = sorted(spans)
    summaries = [spans[index] for index in indexes]
    counts, minima, maxima, totals, firsts, lasts, increases = zip(*summaries, strict=True)
    most = max(counts)
    form = _ONE if most == 1 else _TWO if most == 2 else _MANY
    head = bytes((form, len(indexes), *indexes))
    if form == _ONE:
        return head + _pack("d", firsts)
    head += _pack("I", counts) + _pack("d", firsts) + _pack("d", lasts)
    if form == _TWO:
        return head
    return head + b"".join(_pack("d", each) for each in (minima, maxima, totals, increases))


def _pack(code: str, column: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(column)}{code}", *column)


class Row(NamedTuple):
    """The begins of some spans of time that follow each other, and what is known of each.

    Column by column, because a year has 35,000 quarters of an hour.
    """

    begins: Sequence[Moment]
    counts: Sequence[int]
    minima: Sequence[float]
    maxima: Sequence[float]
    totals: Sequence[float]
    firsts: Sequence[float]
    lasts: Sequence[float]
    increases: Sequence[float]

    def summarize(self, begin: int, end: int) -> Summary:
        """Of a part of the spans, at least one."""
        lasts, firsts = self.lasts[begin:end], self.firsts[begin:end]
        steps = map(increase_between, lasts, firsts[1:])
        return Summary(
            sum(self.counts[begin:end]),
            min(self.minima[begin:end]),
            max(self.maxima[begin:end]),
            math.fsum(self.totals[begin:end]),
            firsts[0],
            lasts[-1],
            math.fsum((*self.increases[begin:end], *steps)),
        )


def unpack(begin: Moment, length: Moment, packed: bytes) -> Row:
    """Spans of one length; the first of the day or page begins then."""
    form, size = packed[0], packed[1]
    begins = [begin + index * length for index in packed[2 : 2 + size]]
    if form == _ONE:
        firsts = struct.unpack_from(f"<{size}d", packed, 2 + size)
        zeros = (0.0,) * size
        return Row(begins, (1,) * size, firsts, firsts, firsts, firsts, firsts, zeros)
    columns = 2 if form == _TWO else 6
    values = struct.unpack_from(f"<{size}I{columns * size}d", packed, 2 + size)
    counts, firsts, lasts, *others = (
        values[start : start + size] for start in range(0, len(values), size)
    )
    if others:
        least, most, sums, increases = others
        return Row(begins, counts, least, most, sums, firsts, lasts, increases)
    totals = [
        first if count == 1 else first + last
        for count, first, last in zip(counts, firsts, lasts, strict=True)
    ]
    # Of a single number, which is the first and the last, this is right as well.
    if all(map(le, firsts, lasts)):  # as of most counters; it spares half of the time
        rises = list(map(sub, lasts, firsts))
        return Row(begins, counts, firsts, lasts, totals, firsts, lasts, rises)
    rises = [
        last - first if last >= first else last for first, last in zip(firsts, lasts, strict=True)
    ]
    minima, maxima = list(map(min, firsts, lasts)), list(map(max, firsts, lasts))
    return Row(begins, counts, minima, maxima, totals, firsts, lasts, rises)


def unpack_spans(packed: bytes) -> dict[int, Summary]:
    """Spans by their index."""
    row = unpack(0, 1, packed)
    return {index: Summary(*columns) for index, *columns in zip(*row, strict=True)}


class DaySummary(NamedTuple):
    """The numbers of a day, and between which of its quarters they lie."""

    summary: Summary
    first_quarter: int
    last_quarter: int


def sum_up_day(quarters: Mapping[int, Summary]) -> DaySummary:
    """Of the quarters of a day, at least one."""
    indexes = sorted(quarters)
    row = Row(indexes, *zip(*(quarters[index] for index in indexes), strict=True))
    return DaySummary(row.summarize(0, len(indexes)), indexes[0], indexes[-1])


def pack_days(days: Mapping[int, DaySummary]) -> bytes:
    """The days of a page by their index; there is at least one."""
    packed = pack({index: day.summary for index, day in days.items()})
    ordered = [days[index] for index in sorted(days)]
    reach = [each.first_quarter for each in ordered] + [each.last_quarter for each in ordered]
    return packed + bytes(reach)


def unpack_days(page: int, packed: bytes) -> tuple[Row, Sequence[Moment]]:
    """The days of a page from the first quarter with numbers on, and where the last one ends."""
    row = unpack(page * DAYS_PER_PAGE * DAY, DAY, packed)
    size = len(row.begins)
    firsts, lasts = packed[-2 * size : -size], packed[-size:]
    begins = [begin + quarter * QUARTER for begin, quarter in zip(row.begins, firsts, strict=True)]
    ends = [begin + (each + 1) * QUARTER for begin, each in zip(row.begins, lasts, strict=True)]
    return row._replace(begins=begins), ends


def list_days(packed: bytes) -> dict[int, DaySummary]:
    """The days of a page by their index."""
    row, ends = unpack_days(0, packed)
    return {
        begin // DAY: DaySummary(Summary(*numbers), quarter_of(begin), quarter_of(end - 1))
        for (begin, *numbers), end in zip(zip(*row, strict=True), ends, strict=True)
    }


def chain_rows(rows: Sequence[Row]) -> Row:
    """Rows that follow each other as one."""
    return Row(*(list(chain.from_iterable(column)) for column in zip(*rows, strict=True)))


def regroup(row: Row, places: Sequence[int], *, is_counter: bool = True) -> Row:
    """One of those that have the same place; places do not fall. What rose is of counters only."""
    if len(set(places)) == len(places):
        return row
    lasts, firsts = row.lasts, row.firsts[1:]
    steps = [two - one if two >= one else two for one, two in zip(lasts, firsts, strict=False)]
    cuts = [index for index, (one, two) in enumerate(pairwise(places), 1) if one != two]
    runs = list(pairwise((0, *cuts, len(places))))
    fsum = math.fsum
    return Row(
        [row.begins[begin] for begin, _ in runs],
        [sum(row.counts[begin:end]) for begin, end in runs],
        [min(row.minima[begin:end]) for begin, end in runs],
        [max(row.maxima[begin:end]) for begin, end in runs],
        [fsum(row.totals[begin:end]) for begin, end in runs],
        [row.firsts[begin] for begin, _ in runs],
        [row.lasts[end - 1] for _, end in runs],
        [fsum((*row.increases[begin:end], *steps[begin : end - 1])) for begin, end in runs]
        if is_counter
        else [0.0] * len(runs),
    )

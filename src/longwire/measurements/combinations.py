"""One number of each device becomes one number of all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from operator import truediv

from longwire.measurements.summaries import Row


class Aggregate(StrEnum):
    """What of the numbers of a span counts."""

    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    SUM = "sum"
    COUNT = "count"
    INCREASE = "increase"  # since the last number before the span


class Combination(StrEnum):
    """How the numbers of several devices become one."""

    SUM = "sum"
    MEAN = "mean"  # over devices, however many messages each has sent
    MIN = "min"
    MAX = "max"
    COUNT = "count"  # of devices
    PERCENTILE = "percentile"
    NONE = "none"  # they do not


_OF: Mapping[Aggregate, Callable[[Row], Sequence[float]]] = {
    Aggregate.MEAN: lambda row: list(map(truediv, row.totals, row.counts)),
    Aggregate.MIN: lambda row: row.minima,
    Aggregate.MAX: lambda row: row.maxima,
    Aggregate.FIRST: lambda row: row.firsts,
    Aggregate.LAST: lambda row: row.lasts,
    Aggregate.SUM: lambda row: row.totals,
    Aggregate.COUNT: lambda row: row.counts,
}


def take(aggregate: Aggregate, row: Row, rises: Sequence[float]) -> Sequence[float]:
    """Of each span; `rises` is what a counter rose since the last number before each."""
    return rises if aggregate is Aggregate.INCREASE else _OF[aggregate](row)


def combine(combination: Combination, numbers: Sequence[float], percentile: float) -> float:
    """One number of several, of which there is at least one."""
    if combination is Combination.SUM:
        return math.fsum(numbers)
    if combination is Combination.MEAN:
        return math.fsum(numbers) / len(numbers)
    if combination is Combination.MIN:
        return min(numbers)
    if combination is Combination.MAX:
        return max(numbers)
    if combination is Combination.PERCENTILE:
        return _find_percentile(sorted(numbers), percentile)
    return float(len(numbers))


def _find_percentile(ordered: Sequence[float], percentile: float) -> float:
    """Between the two nearest numbers, as most spreadsheets have it."""
    place = percentile / 100 * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

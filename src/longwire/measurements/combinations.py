"""One number of each device becomes one number of all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from longwire.measurements.summaries import Summary


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


_OF: Mapping[Aggregate, Callable[[Summary, float], float]] = {
    Aggregate.MEAN: lambda summary, increase: summary.total / summary.numbers,
    Aggregate.MIN: lambda summary, increase: summary.minimum,
    Aggregate.MAX: lambda summary, increase: summary.maximum,
    Aggregate.FIRST: lambda summary, increase: summary.first,
    Aggregate.LAST: lambda summary, increase: summary.last,
    Aggregate.SUM: lambda summary, increase: summary.total,
    Aggregate.COUNT: lambda summary, increase: float(summary.numbers),
    Aggregate.INCREASE: lambda summary, increase: increase,
}


def take(aggregate: Aggregate, summary: Summary, increase: float) -> float:
    return _OF[aggregate](summary, increase)


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

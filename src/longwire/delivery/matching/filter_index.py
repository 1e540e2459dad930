"""An index over filters: the few of many that may be true for a message.

A filter goes by one of its guards, a comparison that has to hold: those with an equal constant are
found in a dictionary, those with a limit by bisection. A filter without a guard is always found.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from longwire.delivery.cel.expressions import Expression
from longwire.delivery.cel.guards import Guard, Literal, kind_of
from longwire.delivery.cel.paths import Path, resolve_path
from longwire.delivery.cel.stored import StoredExpression

T = TypeVar("T")

US_PER_PATH = 0.5
US_PER_FILTER = 1.0  # to put it into the index
# Most messages agree in these, so another guard tells more.
COMMON_PATHS = (("kind",), ("deviceType",))


Filter = Expression | StoredExpression
_Filtered = tuple[T, Filter]


class FilterIndex(Generic[T]):
    """Things with a filter each, or with none. The filters are compiled when they are needed."""

    def __init__(self, items: Iterable[tuple[T, Filter | None]]) -> None:
        self.unfiltered: list[T] = []
        self._filtered: list[_Filtered[T]] = []
        for item, expression in items:
            if expression is None:
                self.unfiltered.append(item)
            else:
                self._filtered.append((item, expression))
        self.has_filters = bool(self._filtered)
        self._guarded: _GuardedFilters[T] | None = None

    @property
    def cost_us(self) -> float:
        """Estimated CPU time of `select`, in microseconds."""
        if self._guarded is not None:
            return self._guarded.cost_us
        return sum(US_PER_FILTER + each.guards_us for _, each in self._filtered)

    def compile(self) -> Iterator[None]:
        """Compile what `select` needs; yields after each filter."""
        if self._guarded is not None:
            return
        for expression in [each for _, each in self._filtered if each.guards_us]:
            _choose_guard(expression.guards)  # compiles it
            yield

    def select(self, message: Mapping[str, Any]) -> list[tuple[T, Filter]]:
        """Those whose filter may be true, or may have no value at all."""
        guarded = self._guarded
        if guarded is None:
            guarded = self._guarded = _GuardedFilters(self._filtered)
        return guarded.select(message)


class _GuardedFilters(Generic[T]):
    """Filters by their guards."""

    def __init__(self, filtered: Iterable[_Filtered[T]]) -> None:
        self._unguarded: list[_Filtered[T]] = []
        equal: dict[Path, _EqualityIndex[T]] = defaultdict(_EqualityIndex)
        limits: dict[tuple[Path, str], list[tuple[float, _Filtered[T]]]] = defaultdict(list)
        for item, expression in filtered:
            guard = _choose_guard(expression.guards)
            if guard is None:
                self._unguarded.append((item, expression))
            elif guard.operator == "==":
                equal[guard.path].add(guard.literals, (item, expression))
            else:
                limit = float(guard.literals[0])
                limits[guard.path, guard.operator].append((limit, (item, expression)))
        self._equal = tuple(equal.items())
        self._limits = tuple(
            (path, _LimitIndex(operator, limited)) for (path, operator), limited in limits.items()
        )
        self.cost_us = US_PER_PATH * (len(self._equal) + len(self._limits))

    def select(self, message: Mapping[str, Any]) -> list[_Filtered[T]]:
        found = list(self._unguarded)
        # A comparison with a field that is missing is false.
        for path, equality in self._equal:
            with suppress(LookupError):
                equality.select(resolve_path(message, path), found)
        for path, limit in self._limits:
            with suppress(LookupError):
                limit.select(resolve_path(message, path), found)
        return found


def _choose_guard(guards: Sequence[Guard]) -> Guard | None:
    return min(
        guards, key=lambda guard: (guard.path in COMMON_PATHS, guard.operator != "=="), default=None
    )


class _EqualityIndex(Generic[T]):
    """Items by the constants that a field has to equal."""

    def __init__(self) -> None:
        self._by_kind: dict[type | None, dict[Literal, list[_Filtered[T]]]] = defaultdict(dict)
        self._items: dict[type | None, list[_Filtered[T]]] = defaultdict(list)

    def add(self, literals: Sequence[Literal], item: _Filtered[T]) -> None:
        kind = kind_of(literals[0])
        self._items[kind].append(item)
        for literal in set(literals):
            self._by_kind[kind].setdefault(literal, []).append(item)

    def select(self, value: Any, found: list[_Filtered[T]]) -> None:
        kind = kind_of(value)
        for each, by_literal in self._by_kind.items():
            # Whether a number equals a string is for CEL to say.
            found += by_literal.get(value, ()) if each is kind else self._items[each]


class _LimitIndex(Generic[T]):
    """Items by the limit that a number has to be above or below."""

    def __init__(self, operator: str, limited: Sequence[tuple[float, _Filtered[T]]]) -> None:
        self._operator = operator
        in_order = sorted(limited, key=lambda each: each[0])
        self._limits = [limit for limit, _ in in_order]
        self._items = [item for _, item in in_order]

    def select(self, value: Any, found: list[_Filtered[T]]) -> None:
        if kind_of(value) is not float:
            found += self._items
        elif self._operator == ">":
            found += self._items[: bisect_left(self._limits, value)]
        elif self._operator == ">=":
            found += self._items[: bisect_right(self._limits, value)]
        elif self._operator == "<":
            found += self._items[bisect_right(self._limits, value) :]
        else:
            found += self._items[bisect_left(self._limits, value) :]

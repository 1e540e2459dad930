"""An index over filters: the few of many that may be true for a message.

A filter goes by one of its guards, a comparison that has to hold: those with an equal constant are
found in a dictionary, those with a limit by bisection. A filter without a guard is always found.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from longwire.delivery.cel.expressions import Expression
from longwire.delivery.cel.guards import Guard, Literal, kind_of
from longwire.delivery.cel.paths import Path, resolve_path

T = TypeVar("T")

US_PER_PATH = 0.5
# Most messages agree in these, so another guard tells more.
COMMON_PATHS = (("kind",), ("deviceType",))


_Filtered = tuple[T, Expression]


class FilterIndex(Generic[T]):
    """Things with a filter each, or with none."""

    def __init__(self, items: Iterable[tuple[T, Expression | None]]) -> None:
        self.unfiltered: list[T] = []
        self._unguarded: list[_Filtered[T]] = []
        equal: dict[Path, _EqualityIndex[T]] = defaultdict(_EqualityIndex)
        limits: dict[tuple[Path, str], list[tuple[float, _Filtered[T]]]] = defaultdict(list)
        for item, expression in items:
            if expression is None:
                self.unfiltered.append(item)
                continue
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

        self.has_filters = bool(self._unguarded or self._equal or self._limits)
        # Estimated CPU time of `select`, in microseconds.
        self.cost_us = US_PER_PATH * (len(self._equal) + len(self._limits))

    def select(self, message: Mapping[str, Any]) -> list[tuple[T, Expression]]:
        """Those whose filter may be true, or may have no value at all."""
        found = list(self._unguarded)
        for path, equality in self._equal:
            equality.select(_get(message, path), found)
        for path, limit in self._limits:
            limit.select(_get(message, path), found)
        return found


def _choose_guard(guards: Sequence[Guard]) -> Guard | None:
    return min(
        guards, key=lambda guard: (guard.path in COMMON_PATHS, guard.operator != "=="), default=None
    )


def _get(message: Mapping[str, Any], path: Path) -> Any:
    try:
        return resolve_path(message, path)
    except LookupError:
        return None


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
            # Whether a number equals a string, or a missing field anything, is for CEL to say.
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

"""Devices found by a filter, in a chosen order, a page at a time.

Without a filter a page is read from an index. What begins with a text is found by an index, too.
For any other filter every device of the groups may have to be looked at, which takes less than a
tenth of a second for a hundred thousand; there may be `EXAMINED_MAX` of them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest, nsmallest
from typing import Any, TypeVar

from longwire.model import Device, DeviceFilter, DeviceOrder, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.number_ranges import NumberRange, find_range, list_homes
from longwire.store.fleet import device_filters
from longwire.store.fleet.device_filters import (
    LIST_NEXT,
    Conditions,
    DeviceQuery,
    DeviceRow,
    Part,
    ReadPath,
    build_conditions,
)
from longwire.store.fleet.devices import list_by_numbers
from longwire.store.fleet.value_queries import ValueFilter
from longwire.store.identity.scopes import reaches
from longwire.store.statement import Statement

T = TypeVar("T")

COUNTED_MAX = 100_000
EXAMINED_MAX = 1_000_000
# Of all states, how many are read to know what cannot be among the first ones: a hundredth of them,
# and then a tenth where each that is left costs a look at its device.
SAMPLED_SHARES = (100, 10)
# If no more devices fit, they are sorted by themselves.
FEW = 5_000
# Groups with no more pages are sorted together, others each by an index.
FEW_PAGES = 2
# Where each group takes a statement, more of them are sorted together as well.
STATEMENTS_MAX = 32


@dataclass(frozen=True, slots=True)
class FoundDevices:
    """A page; `total` counts all that fit, or at least so many if `total_is_more`."""

    items: Sequence[Device]
    total: int
    total_is_more: bool = False
    last_key: tuple[int | str, ...] | None = None


class TooManyDevices(Exception):
    """The groups have more devices than a filter may look at."""


def search(
    tx: Tx,
    scope: Scope,
    wanted: DeviceFilter,
    order: DeviceOrder,
    request: PageRequest,
    compared: Sequence[ValueFilter] = (),
) -> FoundDevices:
    """A page of the devices in the scope's groups that fit a filter."""
    homes = list_homes(tx, scope)
    if not homes:
        return FoundDevices([], 0)
    limit = min(request.limit, max(1, EXAMINED_MAX // len(homes)))
    # Where most devices fit, those of a page are soon found in the order of an index.
    is_in_order = order.sort == "created" and len(homes) == 1
    of_page, _ = build_conditions(wanted, tx.now, compared, is_of_few=is_in_order)
    conditions, values = build_conditions(wanted, tx.now, compared)
    listing = Listing(tx, homes, conditions, values, order, limit, of_page)
    if request.after is None:
        start, rows = listing.fetch_first()
    else:
        start = _Position(*request.after)  # type: ignore[arg-type]
        rows = listing.fetch(start)
    found = list_by_numbers(tx, scope, [row.number for row in rows[:limit]])
    last_key = start.behind(rows[limit - 1]) if len(rows) > limit else start.following
    return FoundDevices(found, start.total, bool(start.total_is_more), last_key)


def list_matching(
    tx: Tx,
    scope: Scope,
    wanted: DeviceFilter,
    after: tuple[str, int] | None,
    most: int,
    compared: Sequence[ValueFilter] = (),
) -> tuple[list[Device], tuple[str, int] | None]:
    """Those of the next `most` devices that fit a filter, by group and number.

    And where to continue, None at the end: for work in steps on all devices of a filter. They are
    all of one group. A device that is transferred meanwhile to a group that was read is left out.
    """
    conditions, values = build_conditions(wanted, tx.now, compared, is_of_few=True)
    first, after_number = (0, 0) if after is None else (schema.group_number(after[0]), after[1])
    for home in sorted(each for each in list_homes(tx, scope) if each >= first):
        behind = after_number if home == first else 0
        numbers = tx.fetch(LIST_NEXT, home=home, after_number=behind, most=most)
        if numbers:
            fitting = tx.fetch(
                device_filters.make_list_matching(conditions), **values, numbers=numbers
            )
            found = list_by_numbers(tx, scope, fitting)
            in_home = [device for device in found if device.group_id == str(home)]
            return in_home, (str(home), numbers[-1])
    return [], None


def list_matching_ids(
    tx: Tx, scope: Scope, wanted: DeviceFilter, device_ids: Collection[str]
) -> set[str]:
    """Those of some devices that are in the scope's groups and fit a filter."""
    conditions, values = build_conditions(wanted, tx.now)
    found = tx.fetch(device_filters.make_list_matching_ids(conditions), **values, ids=device_ids)
    return {each.device_id for each in found if reaches(scope, str(each.group_number))}


# --- pages ---

# The parts of a list: all of it, or first what an index finds by the text, then the others.
_ALL, _BY_INDEX, _OTHERS = range(3)


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a page starts: in which part of the list, and behind which row."""

    total: int
    total_is_more: int
    part: int = _ALL
    rank: int | None = None
    key: int | str = 0
    number: int = 0

    def behind(self, row: DeviceRow) -> tuple[int | str, ...]:
        part = _BY_INDEX if self.part == _OTHERS and row.rank < 2 else self.part
        return (self.total, self.total_is_more, part, row.rank, row.key, row.number)

    @property
    def following(self) -> tuple[int | str, ...] | None:
        """The start of the next part, if there is one."""
        return (self.total, self.total_is_more, _OTHERS) if self.part == _BY_INDEX else None


def _count_of(total: int) -> _Position:
    return _Position(min(total, COUNTED_MAX), int(total > COUNTED_MAX))


class Listing:
    """The devices of one filter and order."""

    def __init__(
        self,
        tx: Tx,
        homes: Mapping[int, int],
        wanted: Conditions,
        values: Mapping[str, Any],
        order: DeviceOrder | None,
        limit: int,
        of_page: Conditions | None = None,
    ) -> None:
        self._tx = tx
        self._homes = homes
        self._count = sum(homes.values())
        self._filter = wanted
        self._filter_values = values
        self._order = order
        self._limit = limit
        # An index has the order of one group; the rows of several are sorted.
        self._counting = DeviceQuery(wanted, is_one_group=len(homes) == 1)
        self._listing = replace(self._counting, order=order, wanted=of_page or wanted)
        self._values = {**values, "home": next(iter(homes)), "homes": list(homes)}

    @property
    def wanted(self) -> Conditions:
        return self._filter

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the conditions, and the groups."""
        return self._values

    def list_few(self) -> list[int] | None:
        """The numbers of the devices that fit a filter, if they are few."""
        if not self._filter.conditions:
            return None
        numbers = self._list_numbers()
        return numbers if len(numbers) <= FEW else None

    def count(self, few: Sequence[int] | None) -> tuple[int, int]:
        """How many devices fit, and whether there may be more."""
        total = self._count
        if few is not None:
            total = len(few)
        elif self._filter.conditions:
            total = self._count_matches(self._counting)
        return min(total, COUNTED_MAX), int(total > COUNTED_MAX)

    def fetch_first(self) -> tuple[_Position, list[DeviceRow]]:
        """The first rows, and how many there are of all."""
        if not self._filter.conditions:
            start = _count_of(self._count)
            return start, self.fetch(start)
        if self._filter.exact and self._count > COUNTED_MAX and self._is_index_selective():
            # Looking at all devices takes long: what an index finds makes pages of its own.
            found = self._count_matches(replace(self._counting, part=Part.BY_INDEX))
            start = _Position(found, 1, _BY_INDEX)
            if rows := self.fetch(start):
                return start, rows
        few = self._list_numbers()
        if len(few) <= FEW:
            start = _count_of(len(few))
            return start, self._fetch_few(start, few)
        start = _count_of(self._count_matches(self._counting))
        if not self._filter.exact:
            return start, self.fetch(start)
        start = replace(start, part=_BY_INDEX)
        rows = self.fetch(start)
        if len(rows) <= self._limit:
            start = replace(start, part=_OTHERS)
            rows += self.fetch(start)[: self._limit + 1 - len(rows)]
        return start, rows

    def fetch(self, start: _Position) -> list[DeviceRow]:
        """The next rows of a part, one more than the limit."""
        if not self._filter.conditions:
            return self._fetch_unfiltered(start)
        if start.part == _BY_INDEX:
            query = replace(self._listing, part=Part.BY_INDEX, is_ranked=True)
            return self._fetch_page(start, query)
        self._require_examinable()
        if start.part == _ALL and self._filter.exact:
            return self._fetch_page(start, replace(self._listing, is_ranked=True))
        part = Part.OTHERS if start.part == _OTHERS else Part.ALL
        query = replace(self._listing, part=part)
        if self._sorts_by("seen_at") and self._range is not None:
            return self._fetch_bounded(start, query, self._range)
        return self._fetch_page(start, query)

    def _fetch_few(self, start: _Position, numbers: Sequence[int]) -> list[DeviceRow]:
        self._values["numbers"] = numbers
        is_ranked = bool(self._filter.exact)
        query = replace(self._listing, part=Part.NUMBERED, is_ranked=is_ranked)
        return self._fetch_page(start, query)

    def _fetch_unfiltered(self, start: _Position) -> list[DeviceRow]:
        query = self._listing
        if self._sorts_by("seen_at") and self._range is not None:
            return self._fetch_bounded(start, query, self._range)
        if len(self._homes) == 1:
            return self._fetch_page(start, query)
        if self._sorts_by("created") and self._range is not None:
            return self._fetch_page(start, replace(query, path=ReadPath.IN_RANGE))
        few = FEW_PAGES * self._limit
        if max(self._homes.values()) <= few:
            return self._fetch_page(start, query)
        # The next rows of a group are side by side in an index.
        large = {home: count for home, count in self._homes.items() if count > few}
        if self._tx.is_postgres and self._tx.slots == 1:
            rows = self._fetch_page(start, replace(query, path=ReadPath.OF_EACH_GROUP))
        elif self._tx.is_postgres and len(large) > STATEMENTS_MAX:
            return self._fetch_page(start, query)
        else:  # rows of a group that are on several servers cannot be joined with it
            parts = [{home: count} for home, count in large.items()]
            parts.append({home: count for home, count in self._homes.items() if count <= few})
            rows = []
            for homes in filter(None, parts):
                rows += self._only(homes)._fetch_unfiltered(start)
        select = nsmallest if self._order is not None and self._order.ascending else nlargest
        return select(self._limit + 1, rows, key=lambda row: (row.key, row.number))

    def _sorts_by(self, column: str) -> bool:
        return self._order is not None and self._order.sort == column

    def _only(self, homes: Mapping[int, int]) -> "Listing":
        """The same of some of the groups."""
        return Listing(self._tx, homes, self._filter, self._filter_values, self._order, self._limit)

    def _fetch_bounded(
        self, start: _Position, query: DeviceQuery, numbers: NumberRange
    ) -> list[DeviceRow]:
        """Read some states first: no row of the page lies beyond the last one of a page of those.

        What lies beyond is skipped, which costs less than sorting it.
        """
        query = replace(query, path=ReadPath.IN_RANGE)
        for share in SAMPLED_SHARES if "d" in self._filter.tables else SAMPLED_SHARES[:1]:
            self._values["last"] = numbers.first + (numbers.last - numbers.first) // share
            rows = self._fetch_page(start, query)
            if len(rows) > self._limit:
                self._values["bound"] = rows[-1].key
                query = replace(query, path=ReadPath.IN_RANGE_TO_BOUND)
        self._values["last"] = numbers.last
        return self._fetch_page(start, query)

    @cached_property
    def _range(self) -> NumberRange | None:
        found = find_range(self._tx, self._homes)
        if found is not None:
            self._values |= found._asdict()
        return found

    def _is_index_selective(self) -> bool:
        """Whether the index finds few enough to sort them."""
        return (
            self._fetch(device_filters.make_count_by_index(self._counting), COUNTED_MAX + 1)[0]
            <= COUNTED_MAX
        )

    def _list_numbers(self) -> list[int]:
        self._require_examinable()
        return self._fetch(
            device_filters.make_list_numbers(self._choose_path(self._counting)), FEW + 1
        )

    def _count_matches(self, query: DeviceQuery) -> int:
        return self._fetch(device_filters.make_count(self._choose_path(query)), COUNTED_MAX + 1)[0]

    def _require_examinable(self) -> None:
        if self._count > EXAMINED_MAX:
            raise TooManyDevices

    def _fetch_page(self, start: _Position, query: DeviceQuery) -> list[DeviceRow]:
        if start.rank is not None:
            key = {"after_key": start.key, "after_number": start.number, "after_rank": start.rank}
            self._values |= key
            query = replace(query, is_continued=True)
        return self._fetch(device_filters.make_list(self._choose_path(query)), self._limit + 1)

    def _choose_path(self, query: DeviceQuery) -> DeviceQuery:
        """States in one run rather than each by an index, where they are filtered."""
        is_chosen = query.path != ReadPath.BY_GROUP or query.part != Part.ALL
        if is_chosen or query.is_by_battery or self._filter.tables != {"s"} or not self._range:
            return query
        return replace(query, path=ReadPath.IN_RANGE)

    def _fetch(self, statement: Statement[T], most: int) -> list[T]:
        return self._tx.fetch(statement, **self._values, most=most)

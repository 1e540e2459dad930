"""Devices found by a filter in the order of a current value, a page at a time.

First come those whose value is a number, then those with a word, then those without a value. The
values of a group's devices lie side by side. On SQLite all of them are read for a page, which takes
some hundredths of a second for a hundred thousand; PostgreSQL has an index by a coarse rank of the
number, and sorts those of one rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from longwire.model import DeviceFilter, PageRequest, Scope
from longwire.store.database import Tx
from longwire.store.engines.number_ranges import list_homes
from longwire.store.fleet.device_filters import (
    Conditions,
    ValuePart,
    ValueQuery,
    ValueRow,
    build_conditions,
    make_list_by_value,
)
from longwire.store.fleet.device_search import EXAMINED_MAX, FoundDevices, Listing
from longwire.store.fleet.devices import list_by_numbers
from longwire.store.fleet.value_queries import VALUES, ValueFilter, ValueSource, shape_sources


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """Sorted by the value of a measurement; devices without one are last."""

    sources: Sequence[ValueSource]
    ascending: bool


@dataclass(frozen=True, slots=True)
class _ValuePosition:
    """Where a page starts: in which part of the list, and behind which row."""

    total: int
    total_is_more: int
    part: int = ValuePart.NUMBERS.value
    key: str = ""
    number: int = 0  # 0 at the begin of a part

    def behind(self, part: ValuePart, row: ValueRow) -> tuple[int | str, ...]:
        # A float is the same again when its text is read.
        return (self.total, self.total_is_more, part.value, str(row.key), row.number)


def search_by_value(
    tx: Tx,
    scope: Scope,
    wanted: DeviceFilter,
    compared: Sequence[ValueFilter],
    order: ValueOrder,
    request: PageRequest,
) -> FoundDevices:
    """A page of the devices in the scope's groups that fit a filter."""
    homes = list_homes(tx, scope)
    if not homes:
        return FoundDevices([], 0)
    limit = min(request.limit, max(1, EXAMINED_MAX // len(homes)))
    listing = Listing(tx, homes, *build_conditions(wanted, tx.now, compared), None, limit)
    few = listing.list_few()
    if request.after is None:
        start = _ValuePosition(*listing.count(few))
    else:
        start = _ValuePosition(*request.after)  # type: ignore[arg-type]
    conditions = listing.wanted if few is None else Conditions()
    # Without looking at devices, if nothing but values matters.
    is_of_values = few is None and wanted == DeviceFilter() and not any(map(_is_typed, compared))
    of_values, _ = build_conditions(wanted, tx.now, compared, device=VALUES)
    shapes, values = shape_sources("order", order.sources)
    values |= {**listing.values, "after_number": start.number}
    if few is not None:
        values["numbers"] = few
    rows: list[tuple[ValuePart, ValueRow]] = []
    for part in ValuePart:
        if part.value < start.part or len(rows) > limit or not (shapes or part is ValuePart.NONE):
            continue
        query = ValueQuery(
            wanted=of_values if is_of_values and part is not ValuePart.NONE else conditions,
            sources=shapes,
            is_one_group=len(homes) == 1,
            ascending=order.ascending,
            part=part,
            is_of_numbers=few is not None,
            is_continued=part.value == start.part and start.number > 0,
        )
        values["after_key"] = float(start.key or 0) if part is ValuePart.NUMBERS else start.key
        values["most"] = limit + 1 - len(rows)
        rows += [(part, row) for row in tx.fetch(make_list_by_value(query), **values)]
    found = list_by_numbers(tx, scope, [row.number for _, row in rows[:limit]])
    last_key = start.behind(*rows[limit - 1]) if len(rows) > limit else None
    return FoundDevices(found, start.total, bool(start.total_is_more), last_key)


def _is_typed(compared: ValueFilter) -> bool:
    return any(each.types is not None for each in compared.sources)

"""Devices found by a filter, in a chosen order, a page at a time.

Without a filter a page is read from an index. What begins with a text is found by an index, too.
For any other filter every device of the groups may have to be looked at, which takes less than a
tenth of a second for a hundred thousand; there may be `EXAMINED_MAX` of them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nlargest, nsmallest
from typing import Any

from longwire.clock import DAY, HOUR, Moment
from longwire.model import Device, DeviceFilter, DeviceOrder, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import DialectSql, Tx
from longwire.store.engines.dialects import array_param, dialect_sql, in_array, using_index
from longwire.store.engines.number_ranges import NumberRange, find_range, is_in_range, list_homes
from longwire.store.fleet.device_states import battery_level
from longwire.store.fleet.devices import encode_tags, list_by_numbers
from longwire.store.identity.scopes import reaches
from longwire.store.search_text import search_text

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

_LIST_NUMBERS = """
select {number}
from {tables}
where {home}
    {conditions}
limit :most
"""

_COUNT = """
select count(*)
from (
    select 1
    from {tables}
    where {home}
        {conditions}
    limit :most
) c
"""

# Where most devices fit, a page is read from the index of its order.
_LIST = """
select {number}, {key}, {rank}
from {tables}
where {home}
    {conditions}
    {after}
order by {order}
limit :most
"""

# The first rows of each of several groups.
_LIST_BY_GROUP = """
select x.number, x.sort_key, 0
from unnest(:homes) as g (home)
cross join lateral (
    select {number} as number, {key} as sort_key
    from {tables}
    where {home}
        {after}
    order by {order}
    limit :most
) x
"""

# The next devices of a group by number; then which of them fit, which Citus does not tell in the
# same statement.
_LIST_NEXT = """
select number
from device
where group_id = :home
    and number > :after_number
order by number
limit :most
"""
_LIST_MATCHING = """
select d.number
from {tables}
where {listed}
    {conditions}
order by d.number
"""

_LIST_MATCHING_IDS = """
select d.id, d.group_id
from {tables}
where {listed}
    {conditions}
"""

_JOIN_STATES = """
    join device_state s
        on s.group_id = d.group_id
        and s.device_number = d.number"""
# Some devices with their states. By number: SQLite would take any index that a condition fits, and
# read all devices of a type or network for a few of them.
_SOME_DEVICES = DialectSql(f"device d not indexed{_JOIN_STATES}", f"device d{_JOIN_STATES}")
_HAS_ONE_OF_NUMBERS = dialect_sql("d.number {listed}", listed=in_array("numbers"))
_HAS_ONE_OF_IDS = DialectSql(
    f"d.number in (select number from device where id {in_array('ids').sqlite})",
    f"d.id {in_array('ids').postgres}",
)
# In the order of the rows, from an index that has all that a filter looks at: SQLite would take any
# that begins with the group.
_DEVICES_IN_ORDER = using_index("ix_device_filter")
_DEVICES_BY_TYPE = using_index("ix_device_type_group_id")  # which is a tenth as large
_STATES_IN_ORDER = using_index("ix_device_state_group_id_device_number")
_STATES_FIRST = "device_state s cross join device d on d.number = s.device_number"

_CONTAINS = "{find}(d.search_key, :q) > 0"
_HAS_ID = "d.id = :q"
_HAS_ORIGINAL_ID = "d.original_key = :q"
# The vendor's ids are the same with and without leading zeros.
_HAS_VENDOR_ID = "d.original_key = :q_bare and d.network = 'vendor'"
_BEGINS_WITH = """d.name_key >= :q and d.name_key < :q_end
        or d.original_key >= :q and d.original_key < :q_end"""
# What is exact or begins with the text.
_LIST_BY_INDEX = """
            select number
            from device
            where {home}
                and name_key >= :q
                and name_key < :q_end
            union
            select number
            from device
            where {home}
                and original_key >= :q
                and original_key < :q_end
            union
            select number
            from device
            where {home}
                and original_key = :q_bare
            union
            select number
            from device
            where id = :q"""
_COUNT_BY_INDEX = """
select count(*)
from (
    select number
    from ({by_index}) b
    limit :most
) c
"""

# The elements of a list in JSON; a quote within one of them has a backslash before it.
_HAS_TAG = "and ({find}(d.tags, :tag_first) = 1 or {find}(d.tags, :tag_next) > 0)"
_SEEN_WITHIN: Mapping[str, Moment] = {"hour": HOUR, "day": DAY, "week": 7 * DAY}

_FIND = DialectSql("instr", "strpos")

# By the sort: the table that has its key. The number of a device is in both.
_SEEN_AT = "s.seen_at"
_AFTER_HOUR = f"cast(:after_key as bigint) >> {schema.SEEN_HOUR_BITS}"
_SORT_KEYS = {
    "created": ("", ""),
    "name": ("d", "d.name_key"),
    "seen_at": ("s", _SEEN_AT),
    "battery": ("s", "s.battery_level"),
}


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
    tx: Tx, scope: Scope, wanted: DeviceFilter, order: DeviceOrder, request: PageRequest
) -> FoundDevices:
    """A page of the devices in the scope's groups that fit a filter."""
    homes = list_homes(tx, scope)
    if not homes:
        return FoundDevices([], 0)
    limit = min(request.limit, max(1, EXAMINED_MAX // len(homes)))
    listing = _Listing(tx, homes, _build_conditions(wanted, tx.now), order, limit)
    if request.after is None:
        start, rows = listing.fetch_first()
    else:
        start = _Position(*request.after)  # type: ignore[arg-type]
        rows = listing.fetch(start)
    found = list_by_numbers(tx, scope, [number for number, _, _ in rows[:limit]])
    last_key = start.behind(rows[limit - 1]) if len(rows) > limit else start.following
    return FoundDevices(found, start.total, bool(start.total_is_more), last_key)


def list_matching(
    tx: Tx, scope: Scope, wanted: DeviceFilter, after: tuple[str, int] | None, most: int
) -> tuple[list[Device], tuple[str, int] | None]:
    """Those of the next `most` devices that fit a filter, by group and number.

    And where to continue, None at the end: for work in steps on all devices of a filter. They are
    all of one group. A device that is transferred meanwhile to a group that was read is left out.
    """
    conditions = _build_conditions(wanted, tx.now)
    sql = _LIST_MATCHING.format(
        tables=_choose(tx, _SOME_DEVICES),
        listed=_choose(tx, _HAS_ONE_OF_NUMBERS),
        conditions=conditions.text,
    ).replace("{find}", _choose(tx, _FIND))
    first, after_number = (0, 0) if after is None else (schema.group_number(after[0]), after[1])
    for home in sorted(each for each in list_homes(tx, scope) if each >= first):
        values = {"home": home, "after_number": after_number if home == first else 0, "most": most}
        numbers = [number for (number,) in tx.fetch_raw(_LIST_NEXT, values)]
        if numbers:
            rows = tx.fetch_raw(sql, conditions.values | {"numbers": array_param(tx, numbers)})
            found = list_by_numbers(tx, scope, [number for (number,) in rows])
            in_home = [device for device in found if device.group_id == str(home)]
            return in_home, (str(home), numbers[-1])
    return [], None


def list_matching_ids(
    tx: Tx, scope: Scope, wanted: DeviceFilter, device_ids: Collection[str]
) -> set[str]:
    """Those of some devices that are in the scope's groups and fit a filter."""
    conditions = _build_conditions(wanted, tx.now)
    sql = _LIST_MATCHING_IDS.format(
        tables=_choose(tx, _SOME_DEVICES),
        listed=_choose(tx, _HAS_ONE_OF_IDS),
        conditions=conditions.text,
    ).replace("{find}", _choose(tx, _FIND))
    rows = tx.fetch_raw(sql, conditions.values | {"ids": array_param(tx, device_ids)})
    return {device_id for device_id, group in rows if reaches(scope, str(group))}


def _choose(tx: Tx, sql: DialectSql) -> str:
    return sql.postgres if tx.is_postgres else sql.sqlite


# --- the filter ---


@dataclass(frozen=True, slots=True)
class _Conditions:
    """A filter in SQL: on devices, on their states, or on both."""

    texts: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)
    exact: list[str] = field(default_factory=list)  # what makes the match of a text exact

    def add(self, table: str, text: str, **values: Any) -> None:
        self.texts.append(text)
        self.values.update(values)
        self.tables.add(table)

    @property
    def text(self) -> str:
        return "\n        ".join(self.texts)

    @property
    def rank(self) -> str:
        """How good the match of a text is: 0 exact, 1 beginning with it, 2 containing it."""
        exact = " or ".join(self.exact)
        return f"case when {exact} then 0\n        when {_BEGINS_WITH} then 1\n        else 2 end"

    @property
    def is_not_by_index(self) -> str:
        return f"and not ({' or '.join(self.exact)}\n        or {_BEGINS_WITH})"


def _build_conditions(wanted: DeviceFilter, now: Moment) -> _Conditions:
    found = _Conditions()
    if wanted.q is not None:
        _add_text(found, search_text(wanted.q))
    if wanted.type is not None:
        found.add("d", "and d.type = :type", type=wanted.type)
    if wanted.network is not None:
        found.add("d", "and d.network = :network", network=wanted.network)
    if wanted.tag is not None:
        tag = encode_tags([wanted.tag])[1:-1]
        found.add("d", _HAS_TAG, tag_first=f"[{tag}", tag_next=f", {tag}")
    if wanted.battery_below is not None:
        level = battery_level(wanted.battery_below)
        found.add("s", "and s.battery_level < :battery_below", battery_below=level)
    if wanted.seen is not None:
        _add_seen(found, wanted.seen, now)
    return found


def _add_text(found: _Conditions, q: str) -> None:
    bare = q.lstrip("0") or "0"
    by_id = [_HAS_ID] if q.startswith("dev_") else []
    by_id += [_HAS_VENDOR_ID] if bare != q else []
    matches = " or ".join([_CONTAINS, *by_id])
    found.add("d", f"and ({matches})", q=q, q_end=q + "\U0010ffff", q_bare=bare)
    found.exact.extend([_HAS_ORIGINAL_ID, *by_id])


def _add_seen(found: _Conditions, seen: str, now: Moment) -> None:
    if seen == "silent":
        found.add("s", "and s.silent_at is not null")
    elif seen == "never":
        found.add("s", "and s.seen_at = :never", never=schema.NEVER_SEEN)
    elif seen == "longer":
        found.add("s", "and s.seen_at > :never", never=schema.NEVER_SEEN)
        found.add("s", "and s.seen_at < :seen_to", seen_to=now - _SEEN_WITHIN["week"])
    else:
        found.add("s", "and s.seen_at >= :seen_from", seen_from=now - _SEEN_WITHIN[seen])


# --- pages ---

# The parts of a list: all of it, or first what an index finds by the text, then the others.
_ALL, _BY_INDEX, _OTHERS = range(3)
_Row = tuple[int, int | str, int]  # number, sort key, rank


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a page starts: in which part of the list, and behind which row."""

    total: int
    total_is_more: int
    part: int = _ALL
    rank: int | None = None
    key: int | str = 0
    number: int = 0

    def behind(self, row: _Row) -> tuple[int | str, ...]:
        number, key, rank = row
        part = _BY_INDEX if self.part == _OTHERS and rank < 2 else self.part
        return (self.total, self.total_is_more, part, rank, key, number)

    @property
    def following(self) -> tuple[int | str, ...] | None:
        """The start of the next part, if there is one."""
        return (self.total, self.total_is_more, _OTHERS) if self.part == _BY_INDEX else None


def _count_of(total: int) -> _Position:
    return _Position(min(total, COUNTED_MAX), int(total > COUNTED_MAX))


class _Listing:
    """The statements of one filter and order."""

    def __init__(
        self,
        tx: Tx,
        homes: Mapping[int, int],
        conditions: _Conditions,
        order: DeviceOrder,
        limit: int,
    ) -> None:
        self._tx = tx
        self._homes = homes
        self._count = sum(homes.values())
        self._filter = conditions
        self._sort_table, self._sort_key = _SORT_KEYS[order.sort]
        self._order = order
        self._limit = limit
        # An index has the order of one group; the rows of several are sorted.
        among = _choose(tx, in_array("homes"))
        self._home = "group_id = :home" if len(homes) == 1 else f"group_id {among}"
        self._values = {
            **conditions.values,
            "home": next(iter(homes)),
            "homes": array_param(tx, list(homes)),
        }

    def fetch_first(self) -> tuple[_Position, list[_Row]]:
        """The first rows, and how many there are of all."""
        if not self._filter.texts:
            start = _count_of(self._count)
            return start, self.fetch(start)
        if self._filter.exact and self._count > COUNTED_MAX and self._is_index_selective():
            # Looking at all devices takes long: what an index finds makes pages of its own.
            start = _Position(self._count_matches(self._by_index), 1, _BY_INDEX)
            if rows := self.fetch(start):
                return start, rows
        few = self._list_numbers()
        if len(few) <= FEW:
            start = _count_of(len(few))
            return start, self._fetch_few(start, few)
        start = _count_of(self._count_matches())
        if not self._filter.exact:
            return start, self.fetch(start)
        start = replace(start, part=_BY_INDEX)
        rows = self.fetch(start)
        if len(rows) <= self._limit:
            start = replace(start, part=_OTHERS)
            rows += self.fetch(start)[: self._limit + 1 - len(rows)]
        return start, rows

    def fetch(self, start: _Position) -> list[_Row]:
        """The next rows of a part, one more than the limit."""
        if not self._filter.texts:
            return self._fetch_unfiltered(start)
        if start.part == _BY_INDEX:
            return self._fetch_page(start, self._by_index, is_ranked=True)
        self._require_examinable()
        if start.part == _ALL and self._filter.exact:
            return self._fetch_page(start, is_ranked=True)
        others = self._filter.is_not_by_index if start.part == _OTHERS else ""
        if self._sort_key == _SEEN_AT and self._range is not None:
            return self._fetch_bounded(start, self._range, others)
        return self._fetch_page(start, others)

    def _fetch_few(self, start: _Position, numbers: Sequence[int]) -> list[_Row]:
        self._values["numbers"] = array_param(self._tx, numbers)
        only = f"and {{number}} {_choose(self._tx, in_array('numbers'))}"
        return self._fetch_page(start, only, is_ranked=bool(self._filter.exact))

    def _fetch_unfiltered(self, start: _Position) -> list[_Row]:
        if self._sort_key == _SEEN_AT and self._range is not None:
            return self._fetch_bounded(start, self._range)
        if len(self._homes) == 1:
            return self._fetch_page(start)
        if not self._sort_key and self._range is not None:
            return self._fetch_page(start, home=self._is_in_range("d.group_id", "d.number"))
        few = FEW_PAGES * self._limit
        if max(self._homes.values()) <= few:
            return self._fetch_page(start)
        # The next rows of a group are side by side in an index.
        large = {home: count for home, count in self._homes.items() if count > few}
        if self._tx.is_postgres and self._tx.slots == 1:
            rows = self._fetch_page(
                start, template=_LIST_BY_GROUP, home="{table}.group_id = g.home"
            )
        elif self._tx.is_postgres and len(large) > STATEMENTS_MAX:
            return self._fetch_page(start)
        else:  # rows of a group that are on several servers cannot be joined with it
            parts = [{home: count} for home, count in large.items()]
            parts.append({home: count for home, count in self._homes.items() if count <= few})
            rows = []
            for homes in filter(None, parts):
                part = _Listing(self._tx, homes, self._filter, self._order, self._limit)
                rows += part._fetch_unfiltered(start)
        select = nsmallest if self._order.ascending else nlargest
        return select(self._limit + 1, rows, key=lambda row: (row[1], row[0]))

    def _fetch_bounded(self, start: _Position, numbers: NumberRange, only: str = "") -> list[_Row]:
        """Read some states first: no row of the page lies beyond the last one of a page of those.

        What lies beyond is skipped, which costs less than sorting it.
        """
        home = self._is_in_range("s.group_id", "s.device_number")
        bounded = f"{_SEEN_AT} {'<=' if self._order.ascending else '>='} :bound and {home}"
        for share in SAMPLED_SHARES if "d" in self._filter.tables else SAMPLED_SHARES[:1]:
            self._values["last"] = numbers.first + (numbers.last - numbers.first) // share
            rows = self._fetch_page(start, only, home=home)
            if len(rows) > self._limit:
                self._values["bound"] = rows[-1][1]
                home = bounded
        self._values["last"] = numbers.last
        return self._fetch_page(start, only, home=home)

    @cached_property
    def _range(self) -> NumberRange | None:
        found = find_range(self._tx, self._homes)
        if found is not None:
            self._values |= found._asdict()
        return found

    def _is_in_range(self, column: str, number: str) -> str:
        return is_in_range(column, number, is_one_group=len(self._homes) == 1)

    # --- statements ---

    @property
    def _by_index(self) -> str:
        return f"and {{number}} in ({_LIST_BY_INDEX.replace('{home}', self._home)})"

    def _is_index_selective(self) -> bool:
        """Whether the index finds few enough to sort them."""
        sql = _COUNT_BY_INDEX.format(by_index=_LIST_BY_INDEX.replace("{home}", self._home))
        return bool(self._run(sql, COUNTED_MAX + 1)[0][0] <= COUNTED_MAX)

    def _list_numbers(self) -> list[int]:
        self._require_examinable()
        return [row[0] for row in self._run(self._format(_LIST_NUMBERS), FEW + 1)]

    def _count_matches(self, only: str = "") -> int:
        return int(self._run(self._format(_COUNT, only), COUNTED_MAX + 1)[0][0])

    def _require_examinable(self) -> None:
        if self._count > EXAMINED_MAX:
            raise TooManyDevices

    def _fetch_page(
        self,
        start: _Position,
        only: str = "",
        *,
        is_ranked: bool = False,
        template: str = _LIST,
        home: str | None = None,
    ) -> list[_Row]:
        direction, sign = ("asc", ">") if self._order.ascending else ("desc", "<")
        rank = self._filter.rank if is_ranked else "2"
        order = f"{{key}} {direction}, {{number}} {direction}"
        after = f"({{key}}, {{number}}) {sign} (:after_key, :after_number)"
        if self._tx.is_postgres and self._sort_key == _SEEN_AT:
            # By this it is indexed; what is seen in the same hour is sorted.
            order = f"s.seen_hour {direction}, {order}"
            after = f"{after} and s.seen_hour {sign}= {_AFTER_HOUR}"
        if is_ranked:
            order = f"3, {order}"
            after = f"({rank} > :after_rank or {rank} = :after_rank and {after})"
        if start.rank is not None:
            key = {"after_key": start.key, "after_number": start.number, "after_rank": start.rank}
            self._values |= key
        sql = (
            template.replace("{rank}", rank)
            .replace("{order}", order)
            .replace("{after}", f"and {after}" if start.rank is not None else "")
        )
        sort_tables = {self._sort_table, "d"} if is_ranked else {self._sort_table}
        return self._run(self._format(sql, only, sort_tables, home), self._limit + 1)

    def _format(
        self,
        sql: str,
        only: str = "",
        sort_tables: Collection[str] = (),
        home: str | None = None,
    ) -> str:
        tables = self._filter.tables.union(sort_tables) - {""} or {"d"}
        is_by_battery = "battery_below" in self._values or (
            "s" in sort_tables and "battery" in self._sort_key
        )
        if not (home or only or is_by_battery) and self._filter.tables == {"s"} and self._range:
            home = self._is_in_range("s.group_id", "s.device_number")
        is_by_range = "between" in (home or "")
        # The order is that of an index only with the number of the same table.
        has_number = "d" in tables and "s" not in sort_tables
        number = "d.number" if has_number else "s.device_number"
        main = "d" if "d" in tables else "s"
        is_in_order = not (only or is_by_range or (is_by_battery and main == "s"))
        for name, text in {
            "tables": self._choose_tables(
                tables,
                has_order=bool(sort_tables),
                is_in_order=is_in_order,
                is_by_range=is_by_range,
            ),
            "home": home or f"{main}.{self._home}",
            "conditions": f"{self._filter.text}\n    {only}",
            "table": main,
            "key": self._sort_key or number,
            "number": number,
            "find": _choose(self._tx, _FIND),
        }.items():
            sql = sql.replace(f"{{{name}}}", text)
        return sql

    def _choose_tables(
        self, tables: set[str], *, has_order: bool, is_in_order: bool, is_by_range: bool
    ) -> str:
        if tables == {"s"}:
            return f"device_state s {_choose(self._tx, _STATES_IN_ORDER) if is_in_order else ''}"
        if len(tables) == 2 and is_by_range:
            return _STATES_FIRST
        # Without a filter the index of the order is better.
        is_in_order = is_in_order and bool(self._filter.texts)
        is_by_type = not has_order and self._filter.values.keys() == {"type"}
        index = _choose(self._tx, _DEVICES_BY_TYPE if is_by_type else _DEVICES_IN_ORDER)
        devices = f"device d {index if is_in_order else ''}"
        return f"{devices}{_JOIN_STATES}" if len(tables) == 2 else devices

    def _run(self, sql: str, most: int) -> list[tuple[Any, ...]]:
        values = self._values | {"most": most}
        return self._tx.fetch_raw(sql, values, is_planned_by_values=True)

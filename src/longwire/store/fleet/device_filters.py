"""The statements that find devices by a filter, in an order: one for each way to read them."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from longwire.clock import DAY, HOUR, Moment
from longwire.model import DeviceFilter, DeviceOrder
from longwire.store import schema
from longwire.store.engines.number_ranges import is_in_range
from longwire.store.fleet.device_states import battery_level
from longwire.store.fleet.devices import encode_tags
from longwire.store.fleet.value_queries import (
    DEVICES,
    RANK_AFTER,
    DeviceAlias,
    SourceShape,
    ValueFilter,
    build_value_condition,
    make_match,
)
from longwire.store.search_text import search_text
from longwire.store.statement import ByEngine, Sql, Statement, join

# Statements that are kept: one for each combination of conditions, order and way to read them.
CACHED_MAX = 1_024


class DeviceRow(NamedTuple):
    """A device of a page."""

    number: int
    key: int | str  # by which it is sorted
    rank: int


class DeviceInGroup(NamedTuple):
    device_id: str
    group_number: int


# --- the filter ---


class _Condition(NamedTuple):
    """On devices (`d`) or on their states (`s`)."""

    table: str
    text: Sql | str


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a filter looks at, without its values."""

    conditions: tuple[_Condition, ...] = ()
    exact: tuple[str, ...] = ()  # what makes the match of a text exact

    @property
    def tables(self) -> frozenset[str]:
        return frozenset(each.table for each in self.conditions)

    @property
    def sql(self) -> Sql:
        return join("\n        ", [each.text for each in self.conditions])

    @property
    def rank(self) -> str:
        """How good the match of a text is: 0 exact, 1 beginning with it, 2 containing it."""
        exact = " or ".join(self.exact)
        return f"case when {exact} then 0\n        when {_BEGINS_WITH} then 1\n        else 2 end"


_CONTAINS = "{sqlite:instr}{postgres:strpos}(d.search_key, :q) > 0"
_HAS_ID = "d.id = :q"
_HAS_ORIGINAL_ID = "d.original_key = :q"
# The vendor's ids are the same with and without leading zeros.
_HAS_VENDOR_ID = "d.original_key = :q_bare and d.network = 'vendor'"
_BEGINS_WITH = """d.name_key >= :q and d.name_key < :q_end
        or d.original_key >= :q and d.original_key < :q_end"""
_OF_TYPE = _Condition("d", "and d.type = :type")
_OF_NETWORK = _Condition("d", "and d.network = :network")
# The elements of a list in JSON; a quote within one of them has a backslash before it.
_HAS_TAG = _Condition(
    "d",
    """and (
            {sqlite:instr}{postgres:strpos}(d.tags, :tag_first) = 1
            or {sqlite:instr}{postgres:strpos}(d.tags, :tag_next) > 0
        )""",
)
_BATTERY_BELOW = _Condition("s", "and s.battery_level < :battery_below")
_SILENT = _Condition("s", "and s.silent_at is not null")
_NEVER_SEEN = _Condition("s", "and s.seen_at = :never")
_SEEN = _Condition("s", "and s.seen_at > :never")
_SEEN_BEFORE = _Condition("s", "and s.seen_at < :seen_to")
_SEEN_SINCE = _Condition("s", "and s.seen_at >= :seen_from")
_SEEN_WITHIN: Mapping[str, Moment] = {"hour": HOUR, "day": DAY, "week": 7 * DAY}


def build_conditions(
    wanted: DeviceFilter,
    now: Moment,
    compared: Sequence[ValueFilter] = (),
    *,
    device: DeviceAlias = DEVICES,
    is_of_few: bool = False,
) -> tuple[Conditions, dict[str, Any]]:
    """The conditions, and their values; `is_of_few` if few devices are looked at."""
    conditions: list[_Condition] = []
    values: dict[str, Any] = {}
    exact: list[str] = []
    if wanted.q is not None:
        q = search_text(wanted.q)
        bare = q.lstrip("0") or "0"
        by_id = [_HAS_ID] if q.startswith("dev_") else []
        by_id += [_HAS_VENDOR_ID] if bare != q else []
        conditions.append(_Condition("d", f"and ({' or '.join([_CONTAINS, *by_id])})"))
        values |= {"q": q, "q_end": q + "\U0010ffff", "q_bare": bare}
        exact = [_HAS_ORIGINAL_ID, *by_id]
    if wanted.type is not None:
        conditions.append(_OF_TYPE)
        values["type"] = wanted.type
    if wanted.network is not None:
        conditions.append(_OF_NETWORK)
        values["network"] = wanted.network
    if wanted.tag is not None:
        tag = encode_tags([wanted.tag])[1:-1]
        conditions.append(_HAS_TAG)
        values |= {"tag_first": f"[{tag}", "tag_next": f", {tag}"}
    if wanted.battery_below is not None:
        conditions.append(_BATTERY_BELOW)
        values["battery_below"] = battery_level(wanted.battery_below)
    if wanted.seen is not None:
        conditions += _list_seen_conditions(wanted.seen)
        values["never"] = schema.NEVER_SEEN
        values["seen_to"] = now - _SEEN_WITHIN["week"]
        values["seen_from"] = now - _SEEN_WITHIN.get(wanted.seen, 0)
    for index, each in enumerate(compared):
        text, own = build_value_condition(index, each, device, is_of_few=is_of_few)
        conditions.append(_Condition(device.table, text))
        values |= own
    return Conditions(tuple(conditions), tuple(exact)), values


def _list_seen_conditions(seen: str) -> list[_Condition]:
    if seen == "silent":
        return [_SILENT]
    if seen == "never":
        return [_NEVER_SEEN]
    if seen == "longer":
        return [_SEEN, _SEEN_BEFORE]
    return [_SEEN_SINCE]


# --- statements ---

_JOIN_STATES = """
    join device_state s
        on s.group_id = d.group_id
        and s.device_number = d.number"""

# The next devices of a group by number; then which of them fit, which Citus does not tell in the
# same statement.
LIST_NEXT = Statement(
    """
select number
from device
where group_id = :home
    and number > :after_number
order by number
limit :most
""",
    into=int,
)


# Some devices with their states. By number: SQLite would take any index that a condition fits, and
# read all devices of a type or network for a few of them.
@functools.lru_cache(CACHED_MAX)
def make_list_matching(wanted: Conditions) -> Statement[int]:
    return Statement(
        f"""
select d.number
from device d {{sqlite:not indexed}}{_JOIN_STATES}
where d.number {{in:numbers}}
    {{conditions}}
order by d.number
""",
        into=int,
        conditions=wanted.sql,
    )


@functools.lru_cache(CACHED_MAX)
def make_list_matching_ids(wanted: Conditions) -> Statement[DeviceInGroup]:
    return Statement(
        f"""
select d.id, d.group_id
from device d {{sqlite:not indexed}}{_JOIN_STATES}
where {{listed}}
    {{conditions}}
""",
        into=DeviceInGroup,
        listed=ByEngine(
            sqlite="d.number in (select number from device where id {in:ids})",
            postgres="d.id {in:ids}",
        ),
        conditions=wanted.sql,
    )


class ReadPath(Enum):
    """How the rows of some groups are found."""

    BY_GROUP = auto()
    IN_RANGE = auto()  # of numbers, on SQLite
    IN_RANGE_TO_BOUND = auto()  # and not beyond what is known to be the last one of the page
    OF_EACH_GROUP = auto()  # the first ones of each, on PostgreSQL


class Part(Enum):
    """Which rows of those that fit."""

    ALL = auto()
    BY_INDEX = auto()  # what an index finds by the text
    OTHERS = auto()
    NUMBERED = auto()  # some, by their numbers


class _SortKey(NamedTuple):
    """The table that has the key, in which the number of a device is as well; and the column."""

    table: str | None
    column: str | None


_SORT_KEYS = {
    "created": _SortKey(None, None),  # by the number
    "name": _SortKey("d", "d.name_key"),
    "seen_at": _SortKey("s", "s.seen_at"),
    "battery": _SortKey("s", "s.battery_level"),
}


@dataclass(frozen=True, slots=True)
class DeviceQuery:
    """What a statement is made of."""

    wanted: Conditions
    is_one_group: bool
    order: DeviceOrder | None = None  # None where rows are counted
    path: ReadPath = ReadPath.BY_GROUP
    part: Part = Part.ALL
    is_ranked: bool = False
    is_continued: bool = False  # behind a row

    @property
    def sort_tables(self) -> frozenset[str]:
        if self.order is None:
            return frozenset()
        table = _SORT_KEYS[self.order.sort].table
        return frozenset(filter(None, (table, "d" if self.is_ranked else None)))

    @property
    def tables(self) -> frozenset[str]:
        return self.wanted.tables | self.sort_tables or frozenset("d")

    @property
    def main(self) -> str:
        return "d" if "d" in self.tables else "s"

    @property
    def is_by_battery(self) -> bool:
        is_sorted = self.order is not None and self.order.sort == "battery"
        return is_sorted or _BATTERY_BELOW in self.wanted.conditions

    @property
    def is_by_range(self) -> bool:
        return self.path in (ReadPath.IN_RANGE, ReadPath.IN_RANGE_TO_BOUND)

    @property
    def number(self) -> str:
        """The order is that of an index only with the number of the same table."""
        has_number = "d" in self.tables and "s" not in self.sort_tables
        return "d.number" if has_number else "s.device_number"

    @property
    def key(self) -> str:
        column = _SORT_KEYS[self.order.sort].column if self.order is not None else None
        return column or self.number

    @property
    def home(self) -> str:
        return "= :home" if self.is_one_group else "{in:homes}"

    @property
    def pieces(self) -> dict[str, Sql | str]:
        return {
            "number": self.number,
            "key": self.key,
            "tables": self._choose_tables(),
            "home": self._choose_home(),
            "conditions": self.wanted.sql,
            "part": self._choose_part(),
            "by_index": self._by_index,
        }

    def _choose_tables(self) -> str:
        """From an index that has all that a filter looks at, in the order of the rows: SQLite would
        take any that begins with the group.
        """
        is_in_order = self.part == Part.ALL and not self.is_by_range
        if self.tables == {"s"}:
            is_in_order = is_in_order and not self.is_by_battery
            index = " {index:ix_device_state_group_id_device_number}" if is_in_order else ""
            return f"device_state s{index}"
        if len(self.tables) == 2 and self.is_by_range:
            return "device_state s cross join device d on d.number = s.device_number"
        devices = "device d"
        if is_in_order and self.wanted.conditions:  # else the index of the order is better
            is_by_type = self.order is None and self.wanted.conditions == (_OF_TYPE,)
            # The index by type is a tenth as large.
            index = "ix_device_type_group_id" if is_by_type else "ix_device_filter"
            devices = f"device d {{index:{index}}}"
        return devices + _JOIN_STATES if len(self.tables) == 2 else devices

    def _choose_home(self) -> str:
        if self.path == ReadPath.OF_EACH_GROUP:
            return f"{self.main}.group_id = g.home"
        if self.path == ReadPath.BY_GROUP:
            return f"{self.main}.group_id {self.home}"
        columns = ("s.group_id", "s.device_number")
        if "s" not in self.tables:
            columns = ("d.group_id", "d.number")
        in_range = is_in_range(*columns, is_one_group=self.is_one_group)
        if self.path == ReadPath.IN_RANGE:
            return in_range
        sign = "<=" if self.order is not None and self.order.ascending else ">="
        return f"{self.key} {sign} :bound and {in_range}"

    @property
    def _by_index(self) -> Sql:
        return Sql(_FIND_BY_INDEX, home=self.home)

    def _choose_part(self) -> Sql | str:
        if self.part == Part.BY_INDEX:
            return Sql(f"and {self.number} in ({{by_index}})", by_index=self._by_index)
        if self.part == Part.OTHERS:
            return f"and not ({' or '.join(self.wanted.exact)}\n        or {_BEGINS_WITH})"
        if self.part == Part.NUMBERED:
            return f"and {self.number} {{in:numbers}}"
        return ""


# What is exact or begins with the text.
_FIND_BY_INDEX = """
            select number
            from device
            where group_id {home}
                and name_key >= :q
                and name_key < :q_end
            union
            select number
            from device
            where group_id {home}
                and original_key >= :q
                and original_key < :q_end
            union
            select number
            from device
            where group_id {home}
                and original_key = :q_bare
            union
            select number
            from device
            where id = :q"""


@functools.lru_cache(CACHED_MAX)
def make_count_by_index(query: DeviceQuery) -> Statement[int]:
    sql = Sql(
        """
select count(*)
from (
    select number
    from ({by_index}) b
    limit :most
) c
""",
        **query.pieces,
    )
    return Statement(sql, into=int, is_planned_by_values=True)


@functools.lru_cache(CACHED_MAX)
def make_count(query: DeviceQuery) -> Statement[int]:
    sql = Sql(
        """
select count(*)
from (
    select 1
    from {tables}
    where {home}
        {conditions}
        {part}
    limit :most
) c
""",
        **query.pieces,
    )
    return Statement(sql, into=int, is_planned_by_values=True)


@functools.lru_cache(CACHED_MAX)
def make_list_numbers(query: DeviceQuery) -> Statement[int]:
    sql = Sql(
        """
select {number}
from {tables}
where {home}
    {conditions}
    {part}
limit :most
""",
        **query.pieces,
    )
    return Statement(sql, into=int, is_planned_by_values=True)


# Where most devices fit, a page is read from the index of its order.
_LIST = """
select {number}, {key}, {rank}
from {tables}
where {home}
    {conditions}
    {part}
    {after}
order by {order}
limit :most
"""

# The first rows of each of several groups.
_LIST_OF_EACH_GROUP = """
select x.number, x.sort_key, 0
from unnest({array:homes}) as g (home)
cross join lateral (
    select {number} as number, {key} as sort_key
    from {tables}
    where {home}
        {after}
    order by {order}
    limit :most
) x
"""


@functools.lru_cache(CACHED_MAX)
def make_list(query: DeviceQuery) -> Statement[DeviceRow]:
    order = query.order
    assert order is not None
    direction, sign = ("asc", ">") if order.ascending else ("desc", "<")
    rank = query.wanted.rank if query.is_ranked else "2"
    seen_hour, after_hour = "", ""
    if order.sort == "seen_at":
        # By this it is indexed on PostgreSQL; what is seen in the same hour is sorted.
        seen_hour = f"{{postgres:s.seen_hour {direction},}} "
        bits = schema.SEEN_HOUR_BITS
        after_hour = f"{{postgres: and s.seen_hour {sign}= cast(:after_key as bigint) >> {bits}}}"
    after = f"({query.key}, {query.number}) {sign} (:after_key, :after_number){after_hour}"
    if query.is_ranked:
        after = f"({rank} > :after_rank or {rank} = :after_rank and {after})"
    sql = Sql(
        _LIST_OF_EACH_GROUP if query.path == ReadPath.OF_EACH_GROUP else _LIST,
        rank=rank,
        order=f"{'3, ' if query.is_ranked else ''}{seen_hour}"
        f"{query.key} {direction}, {query.number} {direction}",
        after=f"and {after}" if query.is_continued else "",
        **query.pieces,
    )
    return Statement(sql, into=DeviceRow, is_planned_by_values=True)


# --- by value ---


class ValuePart(Enum):
    """The parts of a list that is sorted by a value, in their order."""

    NUMBERS = 0
    WORDS = 1
    NONE = 2  # devices without a value


class ValueRow(NamedTuple):
    """A device of a page that is sorted by a value."""

    number: int
    key: float | str


@dataclass(frozen=True, slots=True)
class ValueQuery:
    """What a statement that sorts by a value is made of."""

    wanted: Conditions
    sources: tuple[SourceShape, ...]
    is_one_group: bool
    ascending: bool
    part: ValuePart
    is_of_numbers: bool  # only of devices whose numbers are given
    is_continued: bool  # behind a row


_LIST_VALUES = """
    select c.device_number as number, {key} as sort_key{rank}
    from current_value c{devices}{states}
    where {match}
        and {key} is not null
        {types}
        {conditions}
        {numbers}
        {after}"""

_LIST_BY_VALUE = """
select v.number, v.sort_key
from ({values}
) v
order by {by_rank}v.sort_key {direction}, v.number {direction}
limit :most
"""

# From an index in the order of the numbers.
_LIST_WITHOUT_VALUE = """
select d.number, 0
from device d{states}
where d.group_id {home}
    {conditions}
    {numbers}
    {values}
    {after}
order by d.number {direction}
limit :most
"""


@functools.lru_cache(CACHED_MAX)
def make_list_by_value(query: ValueQuery) -> Statement[ValueRow]:
    direction, sign = ("asc", ">") if query.ascending else ("desc", "<")
    tables = query.wanted.tables
    if query.part == ValuePart.NONE:
        without = [
            Sql("and not ({match})", match=make_match(each, DEVICES)) for each in query.sources
        ]
        sql = Sql(
            _LIST_WITHOUT_VALUE,
            states=_JOIN_STATES if "s" in tables else "",
            home="= :home" if query.is_one_group else "{in:homes}",
            conditions=query.wanted.sql,
            numbers="and d.number {in:numbers}" if query.is_of_numbers else "",
            values=join("\n    ", without),
            after=f"and d.number {sign} :after_number" if query.is_continued else "",
            direction=direction,
        )
        return Statement(sql, into=ValueRow, is_planned_by_values=True)
    key, rank, by_rank, rank_after = "c.number", "", "", ""
    if query.part == ValuePart.WORDS:
        key = 'case when c.number is null then c.text end{postgres: collate "C"}'
    else:
        rank = "{postgres:, c.number_rank as sort_rank}"
        by_rank = f"{{postgres:v.sort_rank {direction},}} "
        rank_after = f"{{postgres: and c.number_rank {sign}= {RANK_AFTER}}}"
    states = "\n    {sqlite:cross }join device_state s on s.device_number = c.device_number"
    devices = "\n    {sqlite:cross }join device d on d.number = c.device_number"
    after = f"and ({key}, c.device_number) {sign} (:after_key, :after_number){rank_after}"
    lists = [
        Sql(
            _LIST_VALUES,
            key=key,
            rank=rank,
            devices=devices + " {slot:d=c}" if "d" in tables or each.is_typed else "",
            states=states + " {slot:s=c}" if "s" in tables else "",
            match=each.match("c"),
            types=each.of_types,
            conditions=query.wanted.sql,
            numbers="and c.device_number {in:numbers}" if query.is_of_numbers else "",
            after=after if query.is_continued else "",
        )
        for each in query.sources
    ]
    sql = Sql(
        _LIST_BY_VALUE,
        values=join("\n    union all", lists),
        direction=direction,
        by_rank=by_rank,
    )
    return Statement(sql, into=ValueRow, is_planned_by_values=True)

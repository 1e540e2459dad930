"""Counters by group and second, the ledger of arrivals, and the devices active in each hour."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from longwire.clock import HOUR, SECOND, Moment
from longwire.store import schema
from longwire.store.database import DialectSql, Tx
from longwire.store.engines.bulk import KEY, insert_many
from longwire.store.engines.dialects import array_param, dialect_sql, in_array
from longwire.store.records.arrival_numbers import BEFORE_ANY_ARRIVAL, arrival_moment, first_seq

PRUNE_ROWS_MAX = 1_000

Activity = tuple[int, int, int]  # a group, an hour, and a device
ArrivalPosition = tuple[int, int]  # in the ledger: a group, and an arrival in it
BEFORE_ANY: ArrivalPosition = (0, BEFORE_ANY_ARRIVAL)

_NEVER = -1  # no second, and no remainder

# --- statements ---

_BY_GROUP = in_array("groups")
_MODULO = DialectSql("%", "%%")

LIST_SUMS = dialect_sql(
    """
select (second - :first) / :span, name, cast(sum(value) as bigint)
from counter
where group_id {groups}
    and second >= :since
    and second < :until
    and (second - :first) {modulo} :span <> :phase
group by 1, 2
""",
    groups=_BY_GROUP,
    modulo=_MODULO,
)

LIST_CUT_SECONDS = dialect_sql(
    """
select second, name, cast(sum(value) as bigint)
from counter
where group_id {groups}
    and second >= :since
    and second <= :until
    and ((second - :first) {modulo} :span = :phase or second = :last)
group by second, name
""",
    groups=_BY_GROUP,
    modulo=_MODULO,
)

# There can be thousands of cut seconds; the counters know those in which anything arrived.
LIST_CUT_ARRIVALS = dialect_sql(
    """
select a.seq, a.kind
from (
    select distinct group_id, second
    from counter
    where group_id {groups}
        and second >= :since
        and second <= :until
        and ((second - :first) {modulo} :span = :phase or second = :last)
) busy
cross join arrival a
where a.group_id = busy.group_id
    and a.seq >= busy.second * :per_second
    and a.seq < (busy.second + 1) * :per_second
""",
    groups=_BY_GROUP,
    modulo=_MODULO,
)

_ACTIVE_DEVICES = """
from (
    select device_number
    from activity
    where group_id {groups}
        and hour >= :first
        and hour < :last
    union
    select device_number
    from arrival
    where group_id {groups}
        and seq >= :begin
        and seq < :until
    union
    select device_number
    from arrival
    where group_id {groups}
        and seq >= :since
        and seq < :end
) active
cross join device d
where d.number = active.device_number"""

LIST_ACTIVE_DEVICES = dialect_sql(
    f"""
select d.id{_ACTIVE_DEVICES}
order by d.number
limit :most
""",
    groups=_BY_GROUP,
)
COUNT_ACTIVE_DEVICES = dialect_sql(f"\nselect count(*){_ACTIVE_DEVICES}\n", groups=_BY_GROUP)

DELETE_COUNTERS = """
delete from counter
where group_id = :home
    and (second, name, writer) in (
        select second, name, writer
        from counter
        where group_id = :home
            and second < :before
        limit :most
    )
"""

DELETE_ACTIVITY = """
delete from activity
where group_id = :home
    and (hour, device_number) in (
        select hour, device_number
        from activity
        where group_id = :home
            and hour < :before
        limit :most
    )
"""

GET_ARRIVALS_END = """
select count(*), max(seq)
from (
    select seq
    from arrival
    where group_id = :home
        and seq > :after
        and seq < :until
    order by seq
    limit :most
) oldest
"""

DELETE_ARRIVALS = """
delete from arrival
where group_id = :home
    and seq > :after
    and seq <= :last
    and ts < :oldest
"""

GET_NEXT_GROUP = """
select id
from device_group
where id > :after
order by id
limit 1
"""


@dataclass(frozen=True, slots=True)
class ActiveDevices:
    """Devices with records: how many, and some of their ids."""

    number: int
    ids: list[str]


def increment(tx: Tx, writer: int, found: Mapping[tuple[int, int, int], int]) -> None:
    """Add to the counters of (group, second, name)."""
    insert_many(
        tx,
        schema.counter,
        ("group_id", "second", "name", "writer", "value"),
        [(*key, writer, value) for key, value in sorted(found.items())],
        f"on conflict {KEY} do update set value = counter.value + excluded.value",
    )


def insert_activity(tx: Tx, active: Set[Activity]) -> None:
    """Insert (group, hour, device) of active devices.

    A busy device has the same row all hour, so a process caches what it has committed. Such rows
    are deleted only long after their hour.
    """
    fresh = sorted(tx.caches.activity.list_missing(active))
    if not fresh:
        return
    insert_many(
        tx,
        schema.activity,
        ("group_id", "hour", "device_number"),
        fresh,
        "on conflict do nothing",
        is_repeatable=True,
    )
    tx.on_commit(lambda: tx.caches.activity.add(fresh))


# --- reports ---


def list_sums(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[int, int, int]]:
    """(span, name, total) over the whole seconds of a period; nothing before `since`.

    A second in which a span ends before the second does is left out: it belongs to two spans.
    """
    values = _cut(tx, groups, begin, end, span_s)
    values |= {"since": -(-since // SECOND), "until": end // SECOND}
    found: list[Any] = tx.fetch_raw(LIST_SUMS, values)
    return found


def cut_seconds(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[int, int, int]]:
    """(second, name, total) of the seconds which `list_sums` leaves out."""
    values = _cut(tx, groups, begin, end, span_s)
    if values["phase"] == values["last"] == _NEVER:
        return []
    values |= {"since": since // SECOND, "until": end // SECOND}
    found: list[Any] = tx.fetch_raw(LIST_CUT_SECONDS, values)
    return found


def list_arrivals(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[Moment, int]]:
    """(moment, kind) of every record that arrived in the seconds which `list_sums` leaves out."""
    values = _cut(tx, groups, begin, end, span_s)
    if values["phase"] == values["last"] == _NEVER:
        return []
    values |= {"since": since // SECOND, "until": end // SECOND, "per_second": first_seq(SECOND)}
    found = ((arrival_moment(seq), kind) for seq, kind in tx.fetch_raw(LIST_CUT_ARRIVALS, values))
    return [(at, kind) for at, kind in found if since <= at < end]


def _cut(tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int) -> dict[str, Any]:
    """Which seconds are cut: one in every span if it begins within a second, and the last one."""
    return {
        "groups": _group_numbers(tx, groups),
        "first": begin // SECOND,
        "span": span_s,
        "phase": 0 if begin % SECOND else _NEVER,
        "last": end // SECOND if end % SECOND else _NEVER,
    }


def _group_numbers(tx: Tx, groups: Sequence[str]) -> Any:
    return array_param(tx, [schema.group_number(each) for each in groups])


def get_active_devices(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, listed_max: int
) -> ActiveDevices:
    """The devices with a record that arrived in a period: whole hours, and what is left of two."""
    first, last = -(-begin // HOUR), end // HOUR
    if first >= last:
        first = last = 0
    values = {
        "groups": _group_numbers(tx, groups),
        "first": first,
        "last": last,
        "begin": first_seq(begin),
        "until": first_seq(first * HOUR if first else end),
        "since": first_seq(last * HOUR if first else end),
        "end": first_seq(end),
    }
    found = tx.fetch_raw(LIST_ACTIVE_DEVICES, {**values, "most": listed_max + 1})
    ids = [device_id for (device_id,) in found]
    if len(ids) <= listed_max:
        return ActiveDevices(len(ids), ids)
    return ActiveDevices(tx.fetch_raw(COUNT_ACTIVE_DEVICES, values)[0][0], ids[:listed_max])


# --- retention ---


def delete_older(tx: Tx, after_group: int, oldest: Moment) -> tuple[int, int | None]:
    """Delete some counters older than a moment, of the next group.

    Returns how many rows were deleted and the group to continue after; None at the end.
    """
    group = _next_group(tx, after_group)
    if group is None:
        return 0, None
    values = {"home": group, "most": PRUNE_ROWS_MAX}
    counted = tx.execute_raw(DELETE_COUNTERS, {**values, "before": oldest // SECOND})
    active = tx.execute_raw(DELETE_ACTIVITY, {**values, "before": oldest // HOUR})
    is_done = max(counted, active) < PRUNE_ROWS_MAX
    return counted + active, group if is_done else after_group


def delete_arrivals(
    tx: Tx, after: ArrivalPosition, oldest: Moment
) -> tuple[int, ArrivalPosition | None]:
    """Delete some arrivals before a moment whose timestamps are before it, too.

    Returns how many, and the position to continue after; None at the end.
    """
    group, seq = after
    values = {"home": group, "after": seq, "until": first_seq(oldest), "most": PRUNE_ROWS_MAX}
    number, last = tx.fetch_raw(GET_ARRIVALS_END, values)[0]
    removed = 0
    if number:
        values = {"home": group, "after": seq, "last": last, "oldest": oldest}
        removed = tx.execute_raw(DELETE_ARRIVALS, values)
    if number == PRUNE_ROWS_MAX:
        return removed, (group, last)
    following = _next_group(tx, group)
    return removed, None if following is None else (following, BEFORE_ANY_ARRIVAL)


def _next_group(tx: Tx, after: int) -> int | None:
    found = tx.fetch_raw(GET_NEXT_GROUP, {"after": after})
    return found[0][0] if found else None

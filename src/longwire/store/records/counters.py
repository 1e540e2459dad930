"""Counters by group and second, the ledger of arrivals, and the devices active in each hour."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from longwire.clock import HOUR, SECOND, Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, OnConflict, insert_many
from longwire.store.records.arrival_numbers import BEFORE_ANY_ARRIVAL, arrival_moment, first_seq
from longwire.store.statement import Statement, build_limited_delete

PRUNE_ROWS_MAX = 1_000

Activity = tuple[int, int, int]  # a group, an hour, and a device
ArrivalPosition = tuple[int, int]  # in the ledger: a group, and an arrival in it
BEFORE_ANY: ArrivalPosition = (0, BEFORE_ANY_ARRIVAL)

_NEVER = -1  # no second, and no remainder

# --- statements ---

LIST_SUMS = Statement("""
select (second - :first) / :span, name, cast(sum(value) as bigint)
from counter
where group_id {in:groups}
    and second >= :since
    and second < :until
    and (second - :first) % :span <> :phase
group by 1, 2
""")

LIST_CUT_SECONDS = Statement("""
select second, name, cast(sum(value) as bigint)
from counter
where group_id {in:groups}
    and second >= :since
    and second <= :until
    and ((second - :first) % :span = :phase or second = :last)
group by second, name
""")

# There can be thousands of cut seconds; the counters know those in which anything arrived.
LIST_CUT_ARRIVALS = Statement("""
select a.seq, a.kind
from (
    select distinct group_id, second
    from counter
    where group_id {in:groups}
        and second >= :since
        and second <= :until
        and ((second - :first) % :span = :phase or second = :last)
) busy
cross join arrival a
where a.group_id = busy.group_id
    and a.seq >= busy.second * :per_second
    and a.seq < (busy.second + 1) * :per_second
""")

_ACTIVE_DEVICES = """from (
    select device_number
    from activity
    where group_id {in:groups}
        and hour >= :first
        and hour < :last
    union
    select device_number
    from arrival
    where group_id {in:groups}
        and seq >= :begin
        and seq < :until
    union
    select device_number
    from arrival
    where group_id {in:groups}
        and seq >= :since
        and seq < :end
) active
cross join device d
where d.number = active.device_number"""

LIST_ACTIVE_DEVICES = Statement(
    """
select d.id
{active}
order by d.number
limit :most
""",
    into=str,
    active=_ACTIVE_DEVICES,
)
COUNT_ACTIVE_DEVICES = Statement(
    """
select count(*)
{active}
""",
    into=int,
    active=_ACTIVE_DEVICES,
)

DELETE_COUNTERS = build_limited_delete(
    "counter", "second, name, writer", within="group_id = :home", where="second < :before"
)

DELETE_ACTIVITY = build_limited_delete(
    "activity", "hour, device_number", within="group_id = :home", where="hour < :before"
)

GET_ARRIVALS_END = Statement("""
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
""")

DELETE_ARRIVALS = Statement("""
delete from arrival
where group_id = :home
    and seq > :after
    and seq <= :last
    and ts < :oldest
""")

GET_NEXT_GROUP = Statement(
    """
select id
from device_group
where id > :after
order by id
limit 1
""",
    into=int,
)


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
        OnConflict("value = counter.value + excluded.value"),
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
        IGNORE,
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
    cut = _cut(groups, begin, end, span_s)
    found: list[Any] = tx.fetch(LIST_SUMS, **cut, since=-(-since // SECOND), until=end // SECOND)
    return found


def cut_seconds(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[int, int, int]]:
    """(second, name, total) of the seconds which `list_sums` leaves out."""
    cut = _cut(groups, begin, end, span_s)
    if cut["phase"] == cut["last"] == _NEVER:
        return []
    found: list[Any] = tx.fetch(LIST_CUT_SECONDS, **cut, since=since // SECOND, until=end // SECOND)
    return found


def list_arrivals(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[Moment, int]]:
    """(moment, kind) of every record that arrived in the seconds which `list_sums` leaves out."""
    cut = _cut(groups, begin, end, span_s)
    if cut["phase"] == cut["last"] == _NEVER:
        return []
    cut |= {"since": since // SECOND, "until": end // SECOND, "per_second": first_seq(SECOND)}
    found = ((arrival_moment(seq), kind) for seq, kind in tx.fetch(LIST_CUT_ARRIVALS, **cut))
    return [(at, kind) for at, kind in found if since <= at < end]


def _cut(groups: Sequence[str], begin: Moment, end: Moment, span_s: int) -> dict[str, Any]:
    """Which seconds are cut: one in every span if it begins within a second, and the last one."""
    return {
        "groups": [schema.group_number(each) for each in groups],
        "first": begin // SECOND,
        "span": span_s,
        "phase": 0 if begin % SECOND else _NEVER,
        "last": end // SECOND if end % SECOND else _NEVER,
    }


def get_active_devices(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, listed_max: int
) -> ActiveDevices:
    """The devices with a record that arrived in a period: whole hours, and what is left of two."""
    first, last = -(-begin // HOUR), end // HOUR
    if first >= last:
        first = last = 0
    values = {
        "groups": [schema.group_number(each) for each in groups],
        "first": first,
        "last": last,
        "begin": first_seq(begin),
        "until": first_seq(first * HOUR if first else end),
        "since": first_seq(last * HOUR if first else end),
        "end": first_seq(end),
    }
    ids = tx.fetch(LIST_ACTIVE_DEVICES, **values, most=listed_max + 1)
    if len(ids) <= listed_max:
        return ActiveDevices(len(ids), ids)
    return ActiveDevices(tx.fetch(COUNT_ACTIVE_DEVICES, **values)[0], ids[:listed_max])


# --- retention ---


def delete_older(tx: Tx, after_group: int, oldest: Moment) -> tuple[int, int | None]:
    """Delete some counters older than a moment, of the next group.

    Returns how many rows were deleted and the group to continue after; None at the end.
    """
    group = _next_group(tx, after_group)
    if group is None:
        return 0, None
    some = {"home": group, "most": PRUNE_ROWS_MAX}
    counted = tx.run(DELETE_COUNTERS, **some, before=oldest // SECOND)
    active = tx.run(DELETE_ACTIVITY, **some, before=oldest // HOUR)
    is_done = max(counted, active) < PRUNE_ROWS_MAX
    return counted + active, group if is_done else after_group


def delete_arrivals(
    tx: Tx, after: ArrivalPosition, oldest: Moment
) -> tuple[int, ArrivalPosition | None]:
    """Delete some arrivals before a moment whose timestamps are before it, too.

    Returns how many, and the position to continue after; None at the end.
    """
    group, seq = after
    some = {"home": group, "after": seq}
    end = {"until": first_seq(oldest), "most": PRUNE_ROWS_MAX}
    number, last = tx.fetch(GET_ARRIVALS_END, **some, **end)[0]
    removed = 0
    if number:
        removed = tx.run(DELETE_ARRIVALS, **some, last=last, oldest=oldest)
    if number == PRUNE_ROWS_MAX:
        return removed, (group, last)
    following = _next_group(tx, group)
    return removed, None if following is None else (following, BEFORE_ANY_ARRIVAL)


def _next_group(tx: Tx, after: int) -> int | None:
    return tx.first(GET_NEXT_GROUP, after=after)

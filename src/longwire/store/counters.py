"""Counters by group and second, the ledger of arrivals, and the devices active in each hour."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from longwire.clock import HOUR, SECOND, Moment
from longwire.store import schema
from longwire.store.bulk import insert_many
from longwire.store.database import Tx
from longwire.store.records import arrival_moment, first_seq

PRUNE_ROWS_MAX = 1_000

Activity = tuple[int, int, int]  # a group, an hour, and a device
ArrivalPosition = tuple[int, int]  # in the ledger: a group, and an arrival in it
BEFORE_ANY: ArrivalPosition = (0, -(2**63))

_counter = schema.counter
_arrival = schema.arrival
_activity = schema.activity
_device = schema.device


@dataclass(frozen=True, slots=True)
class ActiveDevices:
    """Devices with records: how many, and some of their ids."""

    number: int
    ids: list[str]


def increment(tx: Tx, writer: int, found: Mapping[tuple[int, int, int], int]) -> None:
    """Add to the counters of (group, second, name)."""
    insert_many(
        tx,
        _counter,
        ("group_id", "second", "name", "writer", "value"),
        [(*key, writer, value) for key, value in sorted(found.items())],
        "on conflict (group_id, second, name, writer)"
        " do update set value = counter.value + excluded.value",
    )


def insert_activity(tx: Tx, active: Collection[Activity]) -> None:
    """Insert (group, hour, device) of active devices.

    A busy device has the same row all hour, so a process caches what it has committed. Such rows
    are deleted only long after their hour.
    """
    written = tx.caches.activity
    fresh = sorted(each for each in active if each not in written)
    if not fresh:
        return
    insert_many(
        tx,
        _activity,
        ("group_id", "hour", "device_number"),
        fresh,
        "on conflict do nothing",
        is_repeatable=True,
    )
    tx.on_commit(lambda: tx.caches.activity.add(fresh))


def list_sums(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[int, int, int]]:
    """(span, name, total) over the whole seconds of a period; nothing before `since`.

    A second in which a span ends before the second does is left out: it belongs to two spans.
    """
    second = _counter.c.second
    since_s, until_s = -(-since // SECOND), end // SECOND
    # `//` divides whole numbers on both engines; nothing before `begin` is looked at.
    span = (second - begin // SECOND) // span_s
    statement = (
        sa.select(span.label("span"), _counter.c.name, sa.func.sum(_counter.c.value).label("total"))
        .where(_counter.c.group_id.in_(groups), second >= since_s, second < until_s)
        .group_by("span", _counter.c.name)
    )
    if begin % SECOND:
        statement = statement.where((second - begin // SECOND) % span_s != 0)
    return [(int(row.span), int(row.name), int(row.total)) for row in tx.rows(statement)]


def cut_seconds(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[int, int, int]]:
    """(second, name, total) of the seconds which `sums` leaves out."""
    cut = _cut(begin, end, span_s)
    if not cut:
        return []
    total = sa.func.sum(_counter.c.value).label("total")
    statement = (
        sa.select(_counter.c.second, _counter.c.name, total)
        .where(*_busy(groups, since, end, cut))
        .group_by(_counter.c.second, _counter.c.name)
    )
    return [(row.second, row.name, int(row.total)) for row in tx.rows(statement)]


def _cut(begin: Moment, end: Moment, span_s: int) -> list[sa.ColumnElement[bool]]:
    """The seconds in which a span begins or ends before the second does."""
    second = _counter.c.second
    cut: list[sa.ColumnElement[bool]] = []
    if begin % SECOND:
        cut.append((second - begin // SECOND) % span_s == 0)
    if end % SECOND:
        cut.append(second == end // SECOND)
    return cut


def _busy(
    groups: Sequence[str], since: Moment, end: Moment, cut: Sequence[sa.ColumnElement[bool]]
) -> tuple[sa.ColumnElement[bool], ...]:
    second = _counter.c.second
    return (
        _counter.c.group_id.in_(groups),
        second >= since // SECOND,
        second <= end // SECOND,
        sa.or_(*cut),
    )


def list_arrivals(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, span_s: int, since: Moment
) -> list[tuple[Moment, int]]:
    """(moment, kind) of every record that arrived in the seconds which `sums` leaves out."""
    second = _counter.c.second
    cut = _cut(begin, end, span_s)
    if not cut:
        return []
    # There can be thousands of them; the counters know those in which anything arrived.
    busy = (
        sa.select(_counter.c.group_id, second)
        .where(*_busy(groups, since, end, cut))
        .distinct()
        .subquery()
    )
    statement = sa.select(_arrival.c.seq, _arrival.c.kind).join(
        busy,
        sa.and_(
            _arrival.c.group_id == busy.c.group_id,
            _arrival.c.seq >= busy.c.second * first_seq(SECOND),
            _arrival.c.seq < (busy.c.second + 1) * first_seq(SECOND),
        ),
    )
    found = ((arrival_moment(row.seq), row.kind) for row in tx.rows(statement))
    return [(at, kind) for at, kind in found if since <= at < end]


def get_active_devices(
    tx: Tx, groups: Sequence[str], begin: Moment, end: Moment, listed_max: int
) -> ActiveDevices:
    """The devices with a record that arrived in a period: whole hours, and what is left of two."""
    first, last = -(-begin // HOUR), end // HOUR
    if first >= last:
        found = _reporting(groups, begin, end).subquery()
    else:
        found = sa.union(
            sa.select(_activity.c.device_number).where(
                _activity.c.group_id.in_(groups),
                _activity.c.hour >= first,
                _activity.c.hour < last,
            ),
            _reporting(groups, begin, first * HOUR),
            _reporting(groups, last * HOUR, end),
        ).subquery()
    known = sa.select(_device.c.id).join(found, found.c.device_number == _device.c.number)
    ids = list(tx.connection.scalars(known.order_by(_device.c.number).limit(listed_max + 1)))
    if len(ids) <= listed_max:
        return ActiveDevices(len(ids), ids)
    number = tx.rows(sa.select(sa.func.count()).select_from(known.subquery()))[0][0]
    return ActiveDevices(number, ids[:listed_max])


def _reporting(groups: Sequence[str], begin: Moment, end: Moment) -> sa.Select[Any]:
    return sa.select(_arrival.c.device_number).where(*_arrived(groups, begin, end)).distinct()


def _arrived(
    groups: Sequence[str], begin: Moment, end: Moment
) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _arrival.c.group_id.in_(groups),
        _arrival.c.seq >= first_seq(begin),
        _arrival.c.seq < first_seq(end),
    )


# --- retention ---


def delete_older(tx: Tx, after_group: int, oldest: Moment) -> tuple[int, int | None]:
    """Delete some counters older than a moment, of the next group.

    Returns how many rows were deleted and the group to continue after; None at the end.
    """
    group = _next_group(tx, after_group)
    if group is None:
        return 0, None
    counted = _remove(tx, "counter", "second, name, writer", "second", group, oldest // SECOND)
    active = _remove(tx, "activity", "hour, device_number", "hour", group, oldest // HOUR)
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
    number, last = tx.fetch_raw(
        "select count(*), max(seq) from (select seq from arrival where group_id = :home"
        " and seq > :after and seq < :until order by seq limit :most) as piece",
        values,
    )[0]
    removed = 0
    if number:
        removed = tx.driver.execute(
            tx.to_driver_sql(
                "delete from arrival where group_id = :home and seq > :after and seq <= :last"
                " and ts < :oldest"
            ),
            {"home": group, "after": seq, "last": last, "oldest": oldest},
        ).rowcount
    if number == PRUNE_ROWS_MAX:
        return removed, (group, last)
    following = _next_group(tx, group)
    return removed, None if following is None else (following, BEFORE_ANY[1])


def _next_group(tx: Tx, after: int) -> int | None:
    found = tx.fetch_raw(
        "select id from device_group where id > :after order by id limit 1", {"after": after}
    )
    return found[0][0] if found else None


def _remove(tx: Tx, table: str, rest: str, time: str, group: int, before: int) -> int:
    """Delete some rows of a group; `rest` are the other columns of the key."""
    return int(
        tx.driver.execute(
            tx.to_driver_sql(
                f"delete from {table} where group_id = :home and ({rest}) in"
                f" (select {rest} from {table} where group_id = :home and {time} < :before"
                " limit :most)"
            ),
            {"home": group, "before": before, "most": PRUNE_ROWS_MAX},
        ).rowcount
    )

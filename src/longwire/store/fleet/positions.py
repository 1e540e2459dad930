"""The last position of each device, in the row of its state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from longwire.clock import SECOND, Moment
from longwire.model import PageRequest, PositionFilter, Scope
from longwire.records import GeolocRecord, RecordKind, parse_record
from longwire.store.database import DialectSql, Tx
from longwire.store.engines.dialects import array_param, dialect_sql, in_array, using_index
from longwire.store.engines.number_ranges import find_ends, find_range, is_in_range, list_homes

# Newer records of a device than its last position are looked at, should they have none.
RECORDS_EXAMINED_MAX = 100

_LIST = """
select {group}, s.device_number, d.id, s.lat, s.lng, s.radius, s.position_at
from device_state s {index}
cross join device d
where {home}
    and d.number = s.device_number
    and s.position_at >= :since
    {box}
    {after}
order by {order}
limit :most
"""

_COUNT = """
select count(*)
from device_state s {index}
where {home}
    and s.position_at >= :since
    {box}
"""


@dataclass(frozen=True, slots=True)
class _ReadPlan:
    """How the states of groups are read, and in which order."""

    group: str
    index: DialectSql
    home: DialectSql
    after: str
    order: str


_OF_ONE = DialectSql("= :home", "= :home")
_BY_GROUP = {
    is_one_group: _ReadPlan(
        group="s.group_id",
        index=using_index("ix_device_state_group_id_device_number"),
        home=DialectSql(*(f"s.group_id {each}" for each in among)),
        after=f"and {after}",
        order=order,
    )
    for is_one_group, among, order, after in (
        (True, _OF_ONE, "s.device_number", "s.device_number > :after_number"),
        (
            False,
            in_array("homes"),
            "s.group_id, s.device_number",
            "(s.group_id, s.device_number) > (:after_group, :after_number)",
        ),
    )
}
# On SQLite, where the devices of the groups lie side by side: as they lie there.
_BY_NUMBER = {
    is_one_group: _ReadPlan(
        group="0",
        index=DialectSql("", ""),
        home=DialectSql(
            is_in_range("s.group_id", "s.device_number", is_one_group=is_one_group), ""
        ),
        after="",
        order="s.device_number",
    )
    for is_one_group in (True, False)
}
_IN_BOX = "and s.lat >= :south and s.lat <= :north and s.lng >= :west and s.lng <= :east"
# The box contains the 180th meridian.
_IN_BOX_ACROSS = """and s.lat >= :south and s.lat <= :north
    and (s.lng >= :west or s.lng <= :east)"""

LIST_NEWEST = """
select ts, body
from record_geoloc
where device_number = :device
    and stay = :stay
order by ts desc
limit :most
"""

SET = """
update device_state
set lat = :lat,
    lng = :lng,
    radius = :radius,
    position_at = :at
where device_number = :device
    and (position_at is null or position_at <= :deleted_at)
"""


class Position(msgspec.Struct, frozen=True, gc=False):
    """Where a device was."""

    at: Moment
    lat: float
    lng: float
    radius: int | None


class DevicePosition(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The last position of a device, as it is sent: ten thousand of them are not made twice."""

    device_id: str
    lat: float
    lng: float
    radius: int | None
    at_s: int


class PositionPage(msgspec.Struct, frozen=True):
    """A page; `total` is counted for the first one."""

    items: list[DevicePosition]
    total: int
    last_key: tuple[int | str, ...] | None


def get_position(record: GeolocRecord, at: Moment) -> Position | None:
    """The position of a record; None if it has none that is on the earth."""
    lat, lng = record.lat, record.lng
    if lat is None or lng is None or not (-90 <= lat <= 90 and -180 <= lng <= 180):
        return None
    return Position(at, float(lat), float(lng), record.radius)


def parse_position(body: str, at: Moment) -> Position | None:
    """The same, of a record as it is stored."""
    record = parse_record(RecordKind.GEOLOC, body).record
    assert isinstance(record, GeolocRecord)
    return get_position(record, at)


def list_page(tx: Tx, scope: Scope, wanted: PositionFilter, request: PageRequest) -> PositionPage:
    """The devices of the scope's groups with their last positions, in an order of their own."""
    homes = list_homes(tx, scope)
    if not homes:
        return PositionPage([], 0, None)
    total, after_group, after_number = (int(each) for each in request.after or (-1, 0, 0))
    is_first = total < 0
    numbers = None
    if is_first or not after_group:
        numbers = find_range(tx, homes) if is_first else find_ends(tx, homes)
    values = {
        "home": next(iter(homes)),
        "homes": array_param(tx, list(homes)),
        "since": wanted.since,
        "after_group": after_group,
        "after_number": after_number,
        **_box_values(wanted),
    }
    if numbers is not None:
        values |= {"first": max(numbers.first, after_number + 1), "last": numbers.last}
    plan = (_BY_GROUP if numbers is None else _BY_NUMBER)[len(homes) == 1]
    listed = values | {"most": request.limit + 1}
    rows = tx.fetch_raw(
        _format(_LIST, plan, wanted), listed, is_binary=True, is_planned_by_values=True
    )
    shown = rows[: request.limit]
    items = [
        DevicePosition(device_id, lat, lng, radius, at // SECOND)
        for _, _, device_id, lat, lng, radius, at in shown
    ]
    if len(rows) <= request.limit:
        return PositionPage(items, len(items) if is_first else total, None)
    if is_first:
        counted = tx.fetch_raw(_format(_COUNT, plan, wanted), values, is_planned_by_values=True)
        total = int(counted[0][0])
    return PositionPage(items, total, (total, *shown[-1][:2]))


def refresh(tx: Tx, device_number: int, stays: Sequence[int], deleted_at: Moment) -> None:
    """Set the position of a device to that of its newest record in some stays that has one.

    Unless it is newer than what was deleted: then it is still that of a record, which may have been
    moved out of the tables.
    """
    values: Mapping[str, Any] = {"lat": None, "lng": None, "radius": None, "at": None}
    newest = None
    for stay in stays:
        found = _find_newest(tx, device_number, stay)
        if found is not None and (newest is None or found.at > newest.at):
            newest = found
    if newest is not None:
        values = msgspec.structs.asdict(newest)
    tx.execute_raw(SET, {"device": device_number, "deleted_at": deleted_at, **values})


def _find_newest(tx: Tx, device_number: int, stay: int) -> Position | None:
    values = {"device": device_number, "stay": stay, "most": RECORDS_EXAMINED_MAX}
    for ts, body in tx.fetch_raw(LIST_NEWEST, values):
        if position := parse_position(body, min(ts, tx.now)):
            return position
    return None


def _format(template: str, plan: _ReadPlan, wanted: PositionFilter) -> DialectSql:
    box = ""
    if wanted.box is not None:
        box = _IN_BOX_ACROSS if wanted.box.west > wanted.box.east else _IN_BOX
    return dialect_sql(
        template,
        group=_both(plan.group),
        index=plan.index,
        home=plan.home,
        after=_both(plan.after),
        order=_both(plan.order),
        box=_both(box),
    )


def _both(text: str) -> DialectSql:
    return DialectSql(text, text)


def _box_values(wanted: PositionFilter) -> dict[str, float]:
    if wanted.box is None:
        return {}
    box = wanted.box
    return {"west": box.west, "south": box.south, "east": box.east, "north": box.north}

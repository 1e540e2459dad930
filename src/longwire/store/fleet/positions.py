"""The last position of each device, in the row of its state."""

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

import msgspec

from longwire.clock import SECOND, Moment
from longwire.model import Device, PageRequest, PositionFilter, Scope
from longwire.records import GeolocRecord, RecordKind, parse_record
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.number_ranges import find_ends, find_range, is_in_range, list_homes
from longwire.store.statement import ByEngine, Sql, Statement

# Newer records of a device than its last position are looked at, should they have none.
RECORDS_EXAMINED_MAX = 100

_LIST = """
select {group}, s.device_number, d.id, s.lat, s.lng, s.radius, s.position_at
from device_state s {index}
cross join device d
where {home}
    and d.number = s.device_number
    and s.position_at >= :since
    {expired}
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
    {expired}
    {box}
"""

_NOT_EXPIRED = ByEngine(
    sqlite="""and not exists (
        select 1
        from json_each({array:groups}) g
        join json_each({array:moments}) m
            on m.key = g.key
        where g.value = s.group_id
            and s.position_at < m.value
    )""",
    postgres="""and not exists (
        select 1
        from unnest(cast({array:groups} as bigint[]), cast({array:moments} as bigint[]))
            m (group_id, since)
        where m.group_id = s.group_id
            and s.position_at < m.since
    )""",
)

GET_OF_DEVICE = Statement("""
select position_at, lat, lng, radius
from device_state
where group_id = :home
    and device_number = :number
    and position_at >= :since
""")

LIST_NAMES = Statement("""
select id, name
from device
where id {in:ids}
""")


class _Box(Enum):
    """In which part of the earth."""

    NONE = ""
    ONE = "and s.lat >= :south and s.lat <= :north and s.lng >= :west and s.lng <= :east"
    # The box contains the 180th meridian.
    ACROSS = """and s.lat >= :south and s.lat <= :north
    and (s.lng >= :west or s.lng <= :east)"""


class _PlacedDevice(NamedTuple):
    """The state of a device that has one."""

    group_number: int
    device_number: int
    device_id: str
    lat: float
    lng: float
    radius: int | None
    at: Moment


@cache
def _make_list(
    is_one_group: bool, is_by_number: bool, box: _Box, is_mixed: bool
) -> Statement[_PlacedDevice]:
    path = _choose_path(is_one_group, is_by_number)
    sql = Sql(_LIST, **path, box=box.value, expired=_NOT_EXPIRED if is_mixed else "")
    return Statement(sql, into=_PlacedDevice, is_binary=True, is_planned_by_values=True)


@cache
def _make_count(
    is_one_group: bool, is_by_number: bool, box: _Box, is_mixed: bool
) -> Statement[int]:
    path = _choose_path(is_one_group, is_by_number)
    sql = Sql(_COUNT, **path, box=box.value, expired=_NOT_EXPIRED if is_mixed else "")
    return Statement(sql, into=int, is_planned_by_values=True)


def _choose_path(is_one_group: bool, is_by_number: bool) -> dict[str, str]:
    """How the states of groups are read, and in which order.

    On SQLite, where the devices of the groups lie side by side: as they lie there.
    """
    if is_by_number:
        return {
            "group": "0",
            "index": "",
            "home": is_in_range("s.group_id", "s.device_number", is_one_group=is_one_group),
            "after": "",
            "order": "s.device_number",
        }
    after, order = "(s.group_id, s.device_number) > (:after_group, :after_number)", "s.group_id, "
    if is_one_group:
        after, order = "s.device_number > :after_number", ""
    return {
        "group": "s.group_id",
        "index": "{index:ix_device_state_group_id_device_number}",
        "home": f"s.group_id {'= :home' if is_one_group else '{in:homes}'}",
        "after": f"and {after}",
        "order": f"{order}s.device_number",
    }


LIST_NEWEST = Statement("""
select ts, body
from record_geoloc
where device_number = :device
    and stay = :stay
order by ts desc
limit :most
""")

SET = Statement("""
update device_state
set lat = :lat,
    lng = :lng,
    radius = :radius,
    position_at = :at
where device_number = :device
    and (position_at is null or position_at <= :deleted_at)
""")


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
        "homes": list(homes),
        "since": wanted.since,
        "after_group": after_group,
        "after_number": after_number,
        **_box_values(wanted),
    }
    if numbers is not None:
        values |= {"first": max(numbers.first, after_number + 1), "last": numbers.last}
    is_mixed = bool(wanted.since_of_group)
    if is_mixed:
        groups = list(wanted.since_of_group)
        values |= {"groups": groups, "moments": [wanted.since_of_group[each] for each in groups]}
    chosen = len(homes) == 1, numbers is not None, _choose_box(wanted), is_mixed
    rows = tx.fetch(_make_list(*chosen), **values, most=request.limit + 1)
    shown = rows[: request.limit]
    items = [
        DevicePosition(each.device_id, each.lat, each.lng, each.radius, each.at // SECOND)
        for each in shown
    ]
    if len(rows) <= request.limit:
        return PositionPage(items, len(items) if is_first else total, None)
    if is_first:
        total = tx.fetch(_make_count(*chosen), **values)[0]
    return PositionPage(items, total, (total, shown[-1].group_number, shown[-1].device_number))


def get_of_device(tx: Tx, device: Device, since: Moment) -> Position | None:
    """The last position of a device; None if it has none, or an earlier one."""
    home = schema.group_number(device.group_id)
    rows = tx.fetch(GET_OF_DEVICE, home=home, number=device.number, since=since)
    return Position(*rows[0]) if rows else None


def list_names(tx: Tx, positions: Sequence[DevicePosition]) -> dict[str, str]:
    """What the devices of some positions are called, by id."""
    return dict(tx.fetch(LIST_NAMES, ids=[each.device_id for each in positions]))


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
    tx.run(SET, device=device_number, deleted_at=deleted_at, **values)


def _find_newest(tx: Tx, device_number: int, stay: int) -> Position | None:
    values = {"device": device_number, "stay": stay, "most": RECORDS_EXAMINED_MAX}
    for ts, body in tx.fetch(LIST_NEWEST, **values):
        if position := parse_position(body, min(ts, tx.now)):
            return position
    return None


def _choose_box(wanted: PositionFilter) -> _Box:
    if wanted.box is None:
        return _Box.NONE
    return _Box.ACROSS if wanted.box.west > wanted.box.east else _Box.ONE


def _box_values(wanted: PositionFilter) -> dict[str, float]:
    if wanted.box is None:
        return {}
    box = wanted.box
    return {"west": box.west, "south": box.south, "east": box.east, "north": box.north}

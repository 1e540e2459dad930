"""The last position of each device, in the row of its state."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import PageRequest, PositionFilter, Scope
from longwire.records import GeolocRecord, RecordKind, parse_record
from longwire.store import schema
from longwire.store.database import DialectSql, Tx
from longwire.store.dialects import array_param, dialect_sql, in_array, using_index

# Newer records of a device than its last position are looked at, should they have none.
RECORDS_EXAMINED_MAX = 100

_BY_GROUP = using_index("ix_device_state_group_id_device_number")

_MATCHING = """
from device_state s {by_group}
join device d on d.number = s.device_number
where s.group_id {listed}
    and s.position_at >= :since
    {box}"""

_LIST = f"""
select s.group_id, s.device_number, d.id, s.lat, s.lng, s.radius, s.position_at{_MATCHING}
    and (s.group_id, s.device_number) > (:after_group, :after_number)
order by s.group_id, s.device_number
limit :most
"""

_COUNT = """
select count(*)
from device_state s {by_group}
where s.group_id {listed}
    and s.position_at >= :since
    {box}
"""

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
"""


class Position(msgspec.Struct, frozen=True, gc=False):
    """Where a device was."""

    at: Moment
    lat: float
    lng: float
    radius: int | None


class DevicePosition(msgspec.Struct, frozen=True, gc=False):
    device_id: str
    lat: float
    lng: float
    radius: int | None
    at: Moment


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


def list_page(tx: Tx, scope: Scope, wanted: PositionFilter, request: PageRequest) -> PositionPage:
    """The devices of the scope's groups with their last positions, by group and number."""
    homes = sorted(schema.group_number(group_id) for group_id in scope.group_ids)
    values = {"homes": array_param(tx, homes), "since": wanted.since, **_box_values(wanted)}
    box = ""
    if wanted.box is not None:
        box = _IN_BOX_ACROSS if wanted.box.west > wanted.box.east else _IN_BOX
    if request.after is None:
        total = int(tx.fetch_raw(_sql(tx, _COUNT, box), values)[0][0])
        after_group, after_number = 0, 0
    else:
        total, after_group, after_number = (int(each) for each in request.after)
    place = {"after_group": after_group, "after_number": after_number, "most": request.limit + 1}
    rows = tx.fetch_raw(_sql(tx, _LIST, box), values | place)
    shown = rows[: request.limit]
    return PositionPage(
        [DevicePosition(*row[2:]) for row in shown],
        total,
        (total, *shown[-1][:2]) if len(rows) > request.limit else None,
    )


def refresh(tx: Tx, device_number: int, stays: Sequence[int]) -> None:
    """Set the position of a device to that of its newest record in some stays that has one."""
    values: Mapping[str, Any] = {"lat": None, "lng": None, "radius": None, "at": None}
    newest = None
    for stay in stays:
        found = _find_newest(tx, device_number, stay)
        if found is not None and (newest is None or found.at > newest.at):
            newest = found
    if newest is not None:
        values = msgspec.structs.asdict(newest)
    tx.execute_raw(SET, {"device": device_number, **values})


def _find_newest(tx: Tx, device_number: int, stay: int) -> Position | None:
    values = {"device": device_number, "stay": stay, "most": RECORDS_EXAMINED_MAX}
    for ts, body in tx.fetch_raw(LIST_NEWEST, values):
        record = parse_record(RecordKind.GEOLOC, body).record
        assert isinstance(record, GeolocRecord)
        if position := get_position(record, min(ts, tx.now)):
            return position
    return None


def _sql(tx: Tx, template: str, box: str) -> str:
    fragments = {"listed": in_array("homes"), "by_group": _BY_GROUP, "box": DialectSql(box, box)}
    sql = dialect_sql(template, **fragments)
    return sql.postgres if tx.is_postgres else sql.sqlite


def _box_values(wanted: PositionFilter) -> dict[str, float]:
    if wanted.box is None:
        return {}
    box = wanted.box
    return {"west": box.west, "south": box.south, "east": box.east, "north": box.north}

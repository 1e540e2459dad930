"""The configurations that devices report, and which of them are not what they should be.

A report is compared in the background, since that may cost more than storing it. Its version grows
with everything that may change the result; the result counts for the version that was compared.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.fleet.reporting_devices import count_next
from longwire.store.identity.scopes import reaches
from longwire.store.statement import Statement

_device = schema.device
_report = schema.device_report
_check = schema.configuration_check

GROUPS_PER_STEP_MAX = 100
DEVICES_PER_STEP_MAX = 1_000
DEPTH_MAX = 1_000  # more than any tree has

_UPSERT = OnConflict(
    "configuration = excluded.configuration, digest = excluded.digest,"
    " reported_at = excluded.reported_at, version = device_report.version + 1"
    " where device_report.reported_at <= excluded.reported_at"
)

SET_DIGESTS = Statement("""
update device
set reported_digest = r.digest
from device_report r
where r.device_number = device.number
    and device.number {in:numbers}
""")

_SELECT_REPORT = """
select
    d.number, d.id, d.name, d.type, d.group_id, d.configuration, d.drifted_at,
    r.configuration, r.reported_at, r.version
from device d
join device_report r on r.device_number = d.number"""

GET_REPORT = Statement(f"""{_SELECT_REPORT}
where d.number = :number
""")

LIST_PENDING = Statement(f"""{_SELECT_REPORT}
where r.version > r.checked_version
    and r.device_number > :after
order by r.device_number
limit :most
""")

LIST_DRIFTING = Statement("""
select
    d.number, d.id, d.name, d.type, d.group_id, d.configuration, d.drifted_at,
    r.configuration, r.reported_at, r.version, p.group_id
from group_path p
join device d
    on d.group_id = p.group_id
    and d.drifted_at is not null
join device_report r on r.device_number = d.number
where p.ancestor_id = :home
    and p.depth <= :depth
    and p.group_id >= :at_group
    and (p.group_id, d.number) > (:at_group, :at_device)
order by p.group_id, d.number
limit :most
""")

# Unless there is another version by now, or another report after a transfer.
SET_DRIFTED = Statement("""
update device
set drifted_at = :at
where number = :number
    and exists (
        select 1
        from device_report r
        where r.device_number = :number
            and r.version = :version
    )
""")

SET_CHECKED = Statement("""
update device_report
set checked_version = :version
where device_number = :number
    and version >= :version
    and checked_version < :version
""")

INVALIDATE_OF_GROUP = Statement("""
update device_report
set version = version + 1
where device_number in (
    select number
    from device
    where group_id = :home
        and number > :after
        and number <= :last
)
""")

INVALIDATE_OF_TYPE = Statement("""
update device_report
set version = version + 1
where device_number > :after
    and device_number <= :last
    and exists (
        select 1
        from device
        where number = device_report.device_number
            and type = :type
    )
""")

COUNT_NEXT_OF_ALL = Statement("""
select max(device_number), count(*)
from (
    select device_number
    from device_report
    where device_number > :after
    order by device_number
    limit :most
) next_devices
""")

LIST_NEXT_GROUPS = Statement("""
select group_id
from group_path
where ancestor_id = :home
    and group_id >= :at_group
order by group_id
limit :most
""")


class NewReport(msgspec.Struct, frozen=True):
    """A configuration that a device has just reported."""

    device_number: int
    configuration: str
    digest: int
    at: Moment


class Report(msgspec.Struct, frozen=True):
    """What a device reported last, and what it is compared with."""

    number: int
    device_id: str
    name: str
    type: str
    group_id: str
    configuration: str  # its own
    drifted_at: Moment | None
    reported: str
    reported_at: Moment
    version: int


def insert(tx: Tx, reports: Sequence[NewReport]) -> None:
    """Store reports, one of each device, unless newer ones are stored; the devices are locked."""
    rows = [
        (each.device_number, each.configuration, each.digest, each.at, tx.now, 0)
        for each in sorted(reports, key=lambda each: each.device_number)
    ]
    columns = ("device_number", "configuration", "digest", "reported_at")
    insert_many(tx, _report, (*columns, "version", "checked_version"), rows, _UPSERT)
    numbers = [row[0] for row in rows]
    tx.run(SET_DIGESTS, numbers=numbers)


def get(tx: Tx, number: int) -> Report | None:
    rows = tx.fetch(GET_REPORT, number=number)
    return _to_report(*rows[0]) if rows else None


def invalidate(tx: Tx, numbers: Sequence[int]) -> None:
    """Have the reports of devices compared again, because something about them has changed."""
    tx.execute(
        sa.update(_report)
        .where(_report.c.device_number.in_(numbers))
        .values(version=_report.c.version + 1)
    )


def delete(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete what devices reported: it belongs to the records of a stay that has ended."""
    tx.execute(sa.delete(_report).where(_report.c.device_number.in_(numbers)))
    tx.execute(
        sa.update(_device)
        .where(_device.c.number.in_(numbers), _device.c.reported_digest.is_not(None))
        .values(reported_digest=None, drifted_at=None)
    )


# --- compare ---


def list_pending(tx: Tx, after: int, most: int) -> list[Report]:
    """The next reports that are to be compared, by the numbers of their devices."""
    rows = tx.fetch(LIST_PENDING, after=after, most=most)
    return [_to_report(*row) for row in rows]


def save_result(tx: Tx, report: Report, *, is_drifting: bool) -> None:
    """Store the result of a comparison of this version."""
    values = {"number": report.number, "version": report.version}
    if is_drifting != (report.drifted_at is not None):
        tx.run(SET_DRIFTED, **values, at=tx.now if is_drifting else None)
    tx.run(SET_CHECKED, **values)


# --- list ---


def list_drifting(
    tx: Tx, scope: Scope, group_id: str, request: PageRequest, *, subgroups: bool
) -> Page[Report]:
    """The devices of a group, perhaps with those below, whose report is not what it should be."""
    if not reaches(scope, group_id):
        return Page([])
    at_group, at_device = request.after or (0, 0)
    values = {
        "home": schema.group_number(group_id),
        "depth": DEPTH_MAX if subgroups else 0,
        "at_group": at_group,
        "at_device": at_device,
        "most": request.limit + 1,
    }
    rows = tx.fetch(LIST_DRIFTING, **values)
    items = [_to_report(*row[:-1]) for row in rows[: request.limit]]
    if len(rows) <= request.limit:
        return Page(items)
    last = rows[request.limit - 1]
    return Page(items, (last[-1], last[0]))


# --- after a change of policies ---


def schedule_check_of_group(tx: Tx, group_id: str) -> None:
    """Have all devices in a group and below compared again."""
    _schedule(tx, _check.c.group_id == group_id, {"group_id": group_id})


def schedule_check_of_type(tx: Tx, type_name: str) -> None:
    """Have all devices of a type compared again."""
    _schedule(tx, _check.c.type == type_name, {"type": type_name})


def _schedule(tx: Tx, is_same: sa.ColumnElement[bool], holder: dict[str, str]) -> None:
    tx.execute(sa.delete(_check).where(is_same))
    tx.execute(sa.insert(_check), {**holder, "at_group": 0, "at_device": 0})


def has_check(tx: Tx) -> bool:
    return tx.row(sa.select(_check.c.id).limit(1)) is not None


def do_next_check(tx: Tx) -> int:
    """Invalidate the reports of the next devices; 0 if there is nothing to check any more."""
    statement = sa.select(_check).order_by(_check.c.id).limit(1)
    row = tx.row(statement.with_for_update(skip_locked=True))
    if row is None:
        return 0
    position = _check_type(tx, row) if row.group_id is None else _check_group(tx, row)
    if position is None:
        tx.execute(sa.delete(_check).where(_check.c.id == row.id))
    else:
        at_group, at_device = position
        changed = {"at_group": at_group, "at_device": at_device}
        tx.execute(sa.update(_check).where(_check.c.id == row.id).values(changed))
    return 1


def _check_type(tx: Tx, row: sa.Row[Any]) -> tuple[int, int] | None:
    after = row.at_device
    window = {"after": after, "most": DEVICES_PER_STEP_MAX}
    last, found = tx.fetch(COUNT_NEXT_OF_ALL, **window)[0]
    if found:
        tx.run(INVALIDATE_OF_TYPE, type=row.type, after=after, last=last)
    return (0, last) if found == DEVICES_PER_STEP_MAX else None


def _check_group(tx: Tx, row: sa.Row[Any]) -> tuple[int, int] | None:
    """Some groups of the tree, and some of their devices; where to continue."""
    tree = {"home": schema.group_number(row.group_id), "at_group": row.at_group}
    groups = tx.fetch(LIST_NEXT_GROUPS, **tree, most=GROUPS_PER_STEP_MAX)
    room = DEVICES_PER_STEP_MAX
    for (group,) in groups:
        after = row.at_device if group == row.at_group else 0
        last, found = count_next(tx, group, after, room)
        if found:
            tx.run(INVALIDATE_OF_GROUP, home=group, after=after, last=last)
        room -= found
        if room == 0:
            return group, last
    return (groups[-1][0] + 1, 0) if len(groups) == GROUPS_PER_STEP_MAX else None


def _to_report(
    number: int,
    device_id: str,
    name: str,
    type_name: str,
    group_number: int,
    configuration: str,
    drifted_at: Moment | None,
    reported: str,
    reported_at: Moment,
    version: int,
) -> Report:
    return Report(
        number,
        device_id,
        name,
        type_name,
        str(group_number),
        configuration,
        drifted_at,
        reported,
        reported_at,
        version,
    )

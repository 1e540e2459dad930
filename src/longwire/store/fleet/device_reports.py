"""The configurations that devices report, and which of them are not what they should be.

A report is compared in the background, since that may cost more than storing it. Its version grows
with everything that may change the result; the result counts for the version that was compared.
"""

from collections.abc import Sequence

import msgspec

from longwire.clock import Moment
from longwire.model import Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.fleet.reporting_devices import count_next
from longwire.store.identity.scopes import reaches
from longwire.store.statement import Statement

_report = schema.device_report

GROUPS_PER_STEP_MAX = 100
DEVICES_PER_STEP_MAX = 1_000
DEPTH_MAX = 1_000  # more than any tree has

_UPSERT = OnConflict(
    "configuration = excluded.configuration, digest = excluded.digest,"
    " reported_at = excluded.reported_at, version = device_report.version + 1"
    " where device_report.reported_at <= excluded.reported_at"
)

INVALIDATE = Statement("""
update device_report
set version = version + 1
where device_number {in:numbers}
""")

DELETE = Statement("""
delete from device_report
where device_number {in:numbers}
""")

CLEAR_DIGESTS = Statement("""
update device
set reported_digest = null,
    drifted_at = null
where number {in:numbers}
    and reported_digest is not null
""")


class PolicyCheck(msgspec.Struct, frozen=True):
    """A changed policy, and how far its devices are to be compared again."""

    id: int
    home: int | None  # the number of its group
    type: str | None
    at_group: int
    at_device: int


INSERT_CHECK = Statement("""
insert into configuration_check (group_id, type, at_group, at_device)
values (:home, :type, 0, 0)
""")

DELETE_CHECK_OF_GROUP = Statement("""
delete from configuration_check
where group_id = :home
""")

DELETE_CHECK_OF_TYPE = Statement("""
delete from configuration_check
where type = :type
""")

HAS_CHECK = Statement("""
select 1
from configuration_check
limit 1
""")

LOCK_NEXT_CHECK = Statement(
    """
select id, group_id, type, at_group, at_device
from configuration_check
order by id
limit 1
{skip_locked}
""",
    into=PolicyCheck,
)

DELETE_CHECK = Statement("""
delete from configuration_check
where id = :id
""")

MOVE_CHECK = Statement("""
update configuration_check
set at_group = :at_group,
    at_device = :at_device
where id = :id
""")

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
    tx.run(INVALIDATE, numbers=numbers)


def delete(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete what devices reported: it belongs to the records of a stay that has ended."""
    tx.run(DELETE, numbers=numbers)
    tx.run(CLEAR_DIGESTS, numbers=numbers)


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
    home = schema.group_number(group_id)
    tx.run(DELETE_CHECK_OF_GROUP, home=home)
    tx.run(INSERT_CHECK, home=home, type=None)


def schedule_check_of_type(tx: Tx, type_name: str) -> None:
    """Have all devices of a type compared again."""
    tx.run(DELETE_CHECK_OF_TYPE, type=type_name)
    tx.run(INSERT_CHECK, home=None, type=type_name)


def has_check(tx: Tx) -> bool:
    return bool(tx.fetch(HAS_CHECK))


def do_next_check(tx: Tx) -> int:
    """Invalidate the reports of the next devices; 0 if there is nothing to check any more."""
    check = tx.first(LOCK_NEXT_CHECK)
    if check is None:
        return 0
    position = _check_type(tx, check) if check.home is None else _check_group(tx, check)
    if position is None:
        tx.run(DELETE_CHECK, id=check.id)
    else:
        at_group, at_device = position
        tx.run(MOVE_CHECK, id=check.id, at_group=at_group, at_device=at_device)
    return 1


def _check_type(tx: Tx, check: PolicyCheck) -> tuple[int, int] | None:
    after = check.at_device
    window = {"after": after, "most": DEVICES_PER_STEP_MAX}
    last, found = tx.fetch(COUNT_NEXT_OF_ALL, **window)[0]
    if found:
        tx.run(INVALIDATE_OF_TYPE, type=check.type, after=after, last=last)
    return (0, last) if found == DEVICES_PER_STEP_MAX else None


def _check_group(tx: Tx, check: PolicyCheck) -> tuple[int, int] | None:
    """Some groups of the tree, and some of their devices; where to continue."""
    tree = {"home": check.home, "at_group": check.at_group}
    groups = tx.fetch(LIST_NEXT_GROUPS, **tree, most=GROUPS_PER_STEP_MAX)
    room = DEVICES_PER_STEP_MAX
    for (group,) in groups:
        after = check.at_device if group == check.at_group else 0
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

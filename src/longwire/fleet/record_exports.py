"""Reads records of one kind for an export, step by step: of a group by arrival, or of a device.

A record belongs to the group of its device when it was stored; so both give what the lists give,
and each step checks again that the actor may read it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.errors import invalid_field, not_found
from longwire.fleet import arrivals, records
from longwire.identity import access
from longwire.model import Actor
from longwire.records import KIND_NAMES
from longwire.store import schema
from longwire.store.archive.archive_reads import ArchivedRange, NeedsArchive, convert_result
from longwire.store.database import Tx
from longwire.store.fleet import device_stays
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records import arrival_horizon
from longwire.store.records import arrivals as store_arrivals
from longwire.store.records import record_scans as store
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.records.arrivals import Arrival
from longwire.store.records.record_scans import ArrivalScan, StayCursor, StayScan
from longwire.store.records.records import ALL_TIME

STEP_RECORDS_MAX = 1_000
STEP_RECORDS_MIN = 16  # after a large record
STEP_CHARACTERS_MAX = 4 * 1024 * 1024  # of several groups
# Processes commit out of the order of arrival; an export ends where none can be missing.
SETTLED_BEHIND: Moment = 5 * SECOND


@dataclass(frozen=True, slots=True)
class RecordSelection:
    """Which records: of a group or of a device, that arrived or have timestamps in a period."""

    kind: str
    group_id: str | None
    device_id: str | None
    begin: Moment | None
    end: Moment | None
    after_seq: int | None  # of the last record that the caller has
    subgroups: bool = False  # of the groups below as well
    by_arrival: bool = False  # the period is about this, not about timestamps

    def get_timestamps(self, tx: Tx, group_id: str) -> tuple[Moment, Moment]:
        """The first one of a group's records, and the one behind the last one."""
        if self.by_arrival:
            return records.get_begin(tx, self.kind, group_id), ALL_TIME[1]
        end = ALL_TIME[1] if self.end is None else self.end
        return records.get_begin(tx, self.kind, group_id, self.begin), end


@dataclass(frozen=True, slots=True)
class ExportPosition:
    """How far an export has come: to an arrival, or to a record of a stay."""

    seq: int = 0
    stay: int = 0
    cursor: StayCursor | None = None
    most: int = STEP_RECORDS_MAX // 4

    def following(self, *, has_large: bool, **changes: Any) -> "ExportPosition":
        """The next one: its step is small where records are large."""
        most = STEP_RECORDS_MIN if has_large else min(2 * self.most, STEP_RECORDS_MAX)
        return replace(self, most=most, **changes)


@dataclass(frozen=True, slots=True)
class ExportedRecords:
    """(seq, body) of some records, and where to continue; None at the end."""

    rows: list[tuple[int, str]]
    position: ExportPosition | None


def read_step(
    tx: Tx, actor: Actor, selection: RecordSelection, position: ExportPosition | None
) -> ExportedRecords | NeedsArchive[ExportedRecords]:
    """The next records; at the first step, those after the one that the caller names."""
    if selection.group_id is not None:
        access.authorize(tx, actor, "record.read", selection.group_id)
    if selection.device_id is not None:
        return _read_device(tx, actor, selection, selection.device_id, position)
    assert selection.group_id is not None
    return _read_groups(tx, selection, selection.group_id, position)


def _read_groups(
    tx: Tx, selection: RecordSelection, group_id: str, position: ExportPosition | None
) -> ExportedRecords | NeedsArchive[ExportedRecords]:
    groups = arrivals.list_group_numbers(tx, [group_id], subgroups=selection.subgroups)
    begin, end = (selection.begin, selection.end) if selection.by_arrival else (None, None)
    until = ALL_TIME[1] if end is None else first_seq(end)
    if tx.is_postgres:
        until = min(until, arrival_horizon.get_settled_seq(tx, SETTLED_BEHIND) + 1)
    if position is None:
        first = 0 if begin is None else first_seq(begin)
        position = ExportPosition(max(first - 1, selection.after_seq or 0))
    if len(groups) > 1:
        return _read_merged(tx, selection, groups, position, until)
    scan = store.scan_arrivals(
        tx,
        groups[0],
        selection.kind,
        position.seq,
        until,
        selection.get_timestamps(tx, str(groups[0])),
        position.most,
    )
    return convert_result(scan, partial(_follow_arrivals, position))


def _follow_arrivals(position: ExportPosition, scan: ArrivalScan) -> ExportedRecords:
    if scan.last_seq is None:
        return ExportedRecords(scan.rows, None)
    following = position.following(has_large=scan.has_large, seq=scan.last_seq)
    return ExportedRecords(scan.rows, following)


def _read_merged(
    tx: Tx, selection: RecordSelection, groups: Sequence[int], position: ExportPosition, until: int
) -> ExportedRecords | NeedsArchive[ExportedRecords]:
    """The arrivals of several groups, as if they were one."""
    step = store_arrivals.list_step(tx, groups, position.seq, until, position.most, ascending=True)
    kind = KIND_NAMES.index(selection.kind)
    of_kind = [each for each in step.arrivals if each.kind == kind]
    homes = {each.group_number for each in of_kind}
    periods = {each: selection.get_timestamps(tx, str(each)) for each in homes}
    wanted = [each for each in of_kind if _is_in(each.ts, periods[each.group_number])]
    rows: list[tuple[int, str]] = []
    missing: list[Arrival] = []
    characters = 0
    last, has_large = step.covered_to, False
    for arrival, record in store_arrivals.iterate_records(tx, wanted):
        if record is None:
            missing.append(arrival)
        else:
            rows.append((arrival.seq, record.body))
            characters += len(record.body)
        if characters > STEP_CHARACTERS_MAX:
            last, has_large = arrival.seq, True
            break
    archived = store_arrivals.find_archived(tx, missing)
    if archived is None:
        return _follow_arrivals(position, ArrivalScan(rows, has_large, last))
    if archived.plan.cut_at is not None:
        last, has_large = archived.plan.cut_at, True
        rows = [row for row in rows if row[0] <= last]

    def finish(tx: Tx, files: ArchivedRange) -> ExportedRecords:
        found = ((each.arrival.seq, each.body) for each in archived.build(files))
        return _follow_arrivals(position, ArrivalScan(sorted([*rows, *found]), has_large, last))

    return NeedsArchive(archived.plan.query, finish)


def _is_in(ts: Moment, period: tuple[Moment, Moment]) -> bool:
    begin, end = period
    return begin <= ts < end


def _read_device(
    tx: Tx,
    actor: Actor,
    selection: RecordSelection,
    device_id: str,
    position: ExportPosition | None,
) -> ExportedRecords | NeedsArchive[ExportedRecords]:
    device = records.get_reporting_device(tx, device_id)
    stays = _list_stays(tx, actor, device, selection)
    if position is None and selection.after_seq is not None:
        return _find_start(tx, selection, selection.after_seq, device, stays)
    position = position or ExportPosition(stay=min(stays))
    if position.stay not in stays:  # its records were deleted meanwhile
        return ExportedRecords([], _begin_next_stay(stays, position))
    begin, end = selection.get_timestamps(tx, stays[position.stay])
    scan = store.scan_stay(
        tx,
        selection.kind,
        device.number,
        position.stay,
        position.cursor or StayCursor(begin),
        end,
        position.most,
    )
    return convert_result(scan, partial(_follow_stay, stays, position))


def _follow_stay(
    stays: Mapping[int, str], position: ExportPosition, scan: StayScan
) -> ExportedRecords:
    rows = [(seq, body) for _, _, seq, body in scan.items if body]
    if scan.cursor is not None:
        following = position.following(has_large=scan.has_large, cursor=scan.cursor)
        return ExportedRecords(rows, following)
    return ExportedRecords(rows, _begin_next_stay(stays, position))


def _begin_next_stay(stays: Mapping[int, str], position: ExportPosition) -> ExportPosition | None:
    later = [stay for stay in stays if stay > position.stay]
    return ExportPosition(stay=min(later)) if later else None


def _list_stays(
    tx: Tx, actor: Actor, device: ReportingDevice, selection: RecordSelection
) -> dict[int, str]:
    """The groups of the stays that the actor may read, or of those in the selected groups."""
    permitted = records.permitted_stays(tx, actor, "record.read", device)
    stays = {
        stay.number: stay.group_id
        for stay in device_stays.list_stays(tx, device)
        if stay.number in permitted
    }
    if selection.group_id is not None:
        groups = arrivals.list_group_numbers(
            tx, [selection.group_id], subgroups=selection.subgroups
        )
        stays = {stay: each for stay, each in stays.items() if int(each) in groups}
    if not stays:
        raise not_found("device_id", "device of this group")
    return stays


def _find_start(
    tx: Tx,
    selection: RecordSelection,
    after_seq: int,
    device: ReportingDevice,
    stays: Mapping[int, str],
) -> ExportedRecords | NeedsArchive[ExportedRecords]:
    """A step without records, to the place of the one that the caller has."""
    groups = {schema.group_number(group_id) for group_id in stays.values()}
    found = store.find_stay_cursor(tx, selection.kind, device.number, groups, after_seq)

    def begin(found: tuple[int, StayCursor] | None) -> ExportedRecords:
        if found is None or found[0] not in stays:
            raise invalid_field("after", "is no record of this list; start without it")
        return ExportedRecords([], ExportPosition(stay=found[0], cursor=found[1]))

    return convert_result(found, begin)

"""Which devices a job takes: those with some ids, or those that a filter matches.

A filter is evaluated when a step reaches a device, group by group and in the order in which the
devices were created. So each is reached once, whatever the job does to it. What came into the
groups after the job was created is not: whoever looked at a dry run has not seen it.
"""

from collections.abc import Sequence
from dataclasses import field

import msgspec

from longwire.dataclass import dataclass
from longwire.model import Device, DeviceFilter, DeviceOrder, Job, PageRequest, Scope
from longwire.store.database import Tx
from longwire.store.fleet import device_search
from longwire.store.fleet import devices as store
from longwire.store.identity import groups

# Devices that a step looks at to find some that match.
EXAMINED_MAX = 1_000
SAMPLE_MAX = 20


class DeviceSelection(msgspec.Struct, frozen=True):
    """Devices of a group by their ids, or those that match, perhaps with the groups below."""

    group_id: str
    device_ids: tuple[str, ...] | None = None
    filter: DeviceFilter = DeviceFilter()
    subgroups: bool = False
    # The newest device when the job was created; None for jobs of the release before.
    until: int | None = None


class SelectionPosition(msgspec.Struct, frozen=True):
    """How far a selection was walked: to a device of a group, or to one of the ids."""

    after: tuple[str, int] | None = None
    index: int = 0


BEGIN = SelectionPosition()


@dataclass(slots=True)
class TakenDevices:
    """Some devices by their groups, and where to go on; None at the end."""

    position: SelectionPosition | None
    by_group: dict[str, list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.by_group.values()))


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many devices a job would take now, and some of them."""

    total: int
    is_more: bool = False  # there are more than were counted
    sample: Sequence[Device] = ()


_decoder = msgspec.json.Decoder(DeviceSelection)
_positions = msgspec.json.Decoder(SelectionPosition | None)


def encode_selection(tx: Tx, selection: DeviceSelection) -> str:
    """For a job that is created."""
    bounded = msgspec.structs.replace(selection, until=store.get_last_number(tx))
    return msgspec.json.encode(bounded).decode()


def decode_selection(job: Job) -> DeviceSelection:
    return _decoder.decode(job.selection)


def encode_position(position: SelectionPosition | None) -> str:
    return msgspec.json.encode(position).decode()


def decode_position(job: Job) -> SelectionPosition:
    return _positions.decode(job.cursor) or BEGIN


def take(tx: Tx, scope: Scope, job: Job, position: SelectionPosition, most: int) -> TakenDevices:
    """Some devices that follow a position; `scope` has the groups of the selection."""
    selection = decode_selection(job)
    if selection.device_ids is not None:
        return _take_ids(selection.group_id, selection.device_ids, position, most)
    after = position.after
    taken = TakenDevices(None)
    # Larger windows the fewer match.
    window, examined = most, 0
    while taken.count < most and examined < EXAMINED_MAX:
        matching, following = device_search.list_matching(
            tx, scope, selection.filter, after, window
        )
        if following is None:
            return taken
        matching = _select_present(tx, job, selection, matching)
        some = matching[: most - taken.count]
        for device in some:
            taken.by_group.setdefault(device.group_id, []).append(device.id)
        is_whole = len(some) == len(matching)
        after = following if is_whole else (some[-1].group_id, some[-1].number)
        examined += window
        window *= 2
    taken.position = SelectionPosition(after)
    return taken


def _select_present(
    tx: Tx, job: Job, selection: DeviceSelection, matching: Sequence[Device]
) -> list[Device]:
    """Those of some devices of a group that were there when the job was created."""
    present = [
        device
        for device in matching
        if (device.joined_at or 0) <= job.created_at
        and (
            device.created_at <= job.created_at
            if selection.until is None
            else device.number <= selection.until  # the clocks of two processes may differ
        )
    ]
    if present and selection.subgroups:
        home = present[0].group_id
        if groups.was_moved_below(tx, selection.group_id, home, job.created_at):
            return []
    return present


def _take_ids(
    group_id: str, device_ids: tuple[str, ...], position: SelectionPosition, most: int
) -> TakenDevices:
    index = position.index + most
    taken = TakenDevices(SelectionPosition(index=index) if index < len(device_ids) else None)
    taken.by_group[group_id] = list(device_ids[position.index : index])
    return taken


def estimate(tx: Tx, scope: Scope, selection: DeviceSelection) -> Estimate:
    """Count the devices, as far as that is little work, with a sample."""
    if selection.device_ids is not None:
        found = store.list_by_ids(tx, scope, selection.device_ids[:SAMPLE_MAX])
        return Estimate(len(selection.device_ids), sample=found)
    try:
        page = device_search.search(
            tx, scope, selection.filter, DeviceOrder(), PageRequest(SAMPLE_MAX)
        )
    except device_search.TooManyDevices:
        return Estimate(0, is_more=True)
    return Estimate(page.total, page.total_is_more, page.items)

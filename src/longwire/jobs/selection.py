"""Which devices a job takes: those with some ids, or those that a filter matches.

A filter is evaluated when a step reaches a device, in the order in which the devices were created.
So each is reached once, whatever the job does to it, and those created after the job are not.
"""

import json
from dataclasses import dataclass, field

import msgspec

from longwire.model import Job
from longwire.store import device_selections as store
from longwire.store.database import Tx
from longwire.store.device_selections import SelectableDevice

# Devices that a step reads to find some that match, and groups that it looks into.
WINDOW_MAX = 1_000
GROUPS_PER_STEP_MAX = 20
COUNTED_MAX = 10_000
SAMPLE_MAX = 20
_BEFORE_ANY_GROUP = 0


class DeviceSelection(msgspec.Struct, frozen=True):
    """Devices of a group by their ids, or those that match, perhaps with the groups below."""

    group_id: str
    device_ids: tuple[str, ...] | None = None
    type: str | None = None
    network: str | None = None
    tag: str | None = None
    subgroups: bool = False

    def matches(self, device: SelectableDevice) -> bool:
        return (
            self.type in (None, device.type)
            and self.network in (None, device.network)
            and (self.tag is None or self.tag in json.loads(device.tags))
        )


class Position(msgspec.Struct, frozen=True):
    """How far a selection was walked: to a device of a group, or to one of the ids."""

    group: int = _BEFORE_ANY_GROUP
    number: int = 0
    until: int | None = None  # the newest device when the walk began
    index: int = 0


BEGIN = Position()


@dataclass(slots=True)
class TakenDevices:
    """Some devices by their groups, and where to go on; None at the end."""

    position: Position | None
    by_group: dict[str, list[str]] = field(default_factory=dict)
    sample: list[tuple[str, SelectableDevice]] = field(default_factory=list)
    examined: int = 0

    @property
    def count(self) -> int:
        return sum(map(len, self.by_group.values()))


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many devices a job would take now, and some of them."""

    total: int
    is_more: bool = False  # there are more than were counted
    sample: tuple[tuple[str, SelectableDevice], ...] = ()  # with the ids of their groups


_decoder = msgspec.json.Decoder(DeviceSelection)
_positions = msgspec.json.Decoder(Position | None)


def encode_selection(selection: DeviceSelection) -> str:
    return msgspec.json.encode(selection).decode()


def decode_selection(job: Job) -> DeviceSelection:
    return _decoder.decode(job.selection)


def encode_position(position: Position | None) -> str:
    return msgspec.json.encode(position).decode()


def decode_position(job: Job) -> Position:
    return _positions.decode(job.cursor) or BEGIN


def take(tx: Tx, selection: DeviceSelection, position: Position, most: int) -> TakenDevices:
    """Some devices that follow a position."""
    if selection.device_ids is not None:
        return _take_ids(selection.group_id, selection.device_ids, position, most)
    until = store.get_last_number(tx) if position.until is None else position.until
    group, number = position.group, position.number
    taken = TakenDevices(None)
    for _ in range(GROUPS_PER_STEP_MAX):
        if group == _BEFORE_ANY_GROUP or number >= until:
            following = _next_group(tx, selection, group)
            if following is None:
                return taken
            group, number = following, 0
        number = _take_window(tx, selection, group, number, until, most, taken)
        if taken.count >= most or number < until:
            break
    taken.position = Position(group, number, until)
    return taken


def _take_ids(
    group_id: str, device_ids: tuple[str, ...], position: Position, most: int
) -> TakenDevices:
    index = position.index + most
    taken = TakenDevices(Position(index=index) if index < len(device_ids) else None)
    taken.by_group[group_id] = list(device_ids[position.index : index])
    return taken


def _take_window(
    tx: Tx,
    selection: DeviceSelection,
    group: int,
    number: int,
    until: int,
    most: int,
    taken: TakenDevices,
) -> int:
    """Take devices of a group; returns up to which number, which is `until` at its end."""
    window = store.list_window(tx, group, number, until, WINDOW_MAX)
    for device in window:
        taken.examined += 1
        if selection.matches(device):
            taken.by_group.setdefault(str(group), []).append(device.id)
            taken.sample.append((str(group), device))
            if taken.count >= most:
                return device.number
    return until if len(window) < WINDOW_MAX else window[-1].number


def _next_group(tx: Tx, selection: DeviceSelection, after: int) -> int | None:
    if selection.subgroups:
        return store.get_next_group(tx, selection.group_id, after)
    group = int(selection.group_id)
    return group if after < group else None


def estimate(tx: Tx, selection: DeviceSelection) -> Estimate:
    """Count the devices, as far as that is little work, with a sample."""
    if selection.device_ids is not None:
        return Estimate(len(selection.device_ids))
    position: Position | None = BEGIN
    total = examined = 0
    sample: list[tuple[str, SelectableDevice]] = []
    while position is not None and examined < COUNTED_MAX:
        taken = take(tx, selection, position, WINDOW_MAX)
        position = taken.position
        total += taken.count
        # Groups without devices are work as well.
        examined += taken.examined + GROUPS_PER_STEP_MAX
        sample = (sample + taken.sample)[:SAMPLE_MAX]
    return Estimate(total, position is not None, tuple(sample))

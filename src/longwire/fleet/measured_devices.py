"""Devices with a measurement, in those of their stays that somebody may read."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from longwire.clock import DAY, Moment
from longwire.dataclass import dataclass
from longwire.errors import NotFound, invalid_field, not_found
from longwire.fleet import records
from longwire.fleet.measurement_plans import get_plan, refresh_found
from longwire.group_limits import SUMMARY
from longwire.measurements.definitions import Measurement
from longwire.model import Actor
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import device_stays
from longwire.store.fleet import summaries as store
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import group_limits
from longwire.store.records.records import ALL_TIME

STAYS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class ResolvedMeasurement:
    """A measurement of a group, and the number by which its values are stored."""

    key: int
    measurement: Measurement
    first: Moment  # what was summarized of earlier days has expired

    @property
    def kind(self) -> int:
        return self.measurement.place.kind


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """Which devices of some groups; all that are given must hold."""

    type: str | None = None
    tags: Sequence[str] = ()
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """A device whose numbers are read, in its stays that may be read."""

    id: str
    name: str  # empty if it has left
    number: int
    stays: Sequence[tuple[int, ResolvedMeasurement]]


def find_device(
    tx: Tx, actor: Actor, device: ReportingDevice, name: str
) -> tuple[MeasuredDevice, Measurement | None]:
    """A device in the stays that the actor may read, and its measurement, if it has such a one."""
    permitted = records.permitted_stays(tx, actor, "record.read", device)
    groups = {0: device.group_id}
    if device.stay:
        groups = {each.number: each.group_id for each in device_stays.list_stays(tx, device)}
    stays = []
    found: ResolvedMeasurement | None = None
    refresh_found(tx, {groups[stay] for stay in permitted}, [name])
    for stay in permitted:
        resolved = resolve(tx, groups[stay], device.type, name)
        if resolved is not None:
            stays.append((stay, resolved))
            found = resolved
    measured = MeasuredDevice(device.id, device.name, device.number, stays)
    return measured, None if found is None else found.measurement


class GroupMembers(NamedTuple):
    """Devices with a measurement; whether there were others."""

    devices: Sequence[MeasuredDevice]
    measurement: Measurement | None
    has_any: bool


def find_in_groups(
    tx: Tx, group_ids: Sequence[str], wanted: WantedDevices, name: str
) -> GroupMembers:
    """The devices that are or were in some groups and have a measurement."""
    numbers = [schema.group_number(each) for each in group_ids]
    stays: dict[int, list[tuple[int, ResolvedMeasurement]]] = {}
    shown: dict[int, tuple[str, str]] = {}
    resolved: dict[tuple[str, str], ResolvedMeasurement | None] = {}
    only_type = None if wanted.ids else wanted.type
    listed = store.list_stays(tx, numbers, only_type, wanted.ids, STAYS_MAX + 1)
    _require_found(wanted.ids, {each.id for each in listed})
    refresh_found(tx, group_ids, [name])
    if len(listed) > STAYS_MAX:
        raise invalid_field("group_id", f"has more than {STAYS_MAX} devices; ask for some of them")
    for each in listed:
        if wanted.type not in (None, each.type):
            continue
        key = each.group_id, each.type
        if key not in resolved:
            resolved[key] = resolve(tx, *key, name)
        found = resolved[key]
        if found is not None and set(wanted.tags).issubset(msgspec.json.decode(each.tags)):
            stays.setdefault(each.device, []).append((each.stay, found))
            shown[each.device] = each.id, each.name
    devices = [MeasuredDevice(*shown[number], number, some) for number, some in stays.items()]
    known = [each.measurement for each in resolved.values() if each is not None]
    if len({(each.value_class, each.unit) for each in known}) > 1:
        raise invalid_field(
            "type", "is needed: types here have a measurement of this name in several units"
        )
    return GroupMembers(devices, known[0] if known else None, bool(resolved))


def _require_found(wanted: Sequence[str], found: Collection[str]) -> None:
    missing = [index for index, each in enumerate(wanted) if each not in found]
    names = [f"device_id[{index}]" if len(wanted) > 1 else "device_id" for index in missing]
    errors = [error for each in names for error in not_found(each, "device").field_errors]
    if errors:
        raise NotFound(field_errors=errors)


def resolve(tx: Tx, group_id: str, type_name: str, name: str) -> ResolvedMeasurement | None:
    """The measurement of this name of a type's devices in a group."""
    found = get_plan(tx, group_id, type_name).named.get(name)
    if found is None:
        return None
    oldest = group_limits.get_oldest(tx, SUMMARY, group_id)
    first = ALL_TIME[0] if oldest is None else oldest - oldest % DAY
    return ResolvedMeasurement(*found, first)

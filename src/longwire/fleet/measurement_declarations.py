"""What is declared of the values of device types: for all, or for a group and those below it.

A declaration works on what is stored as well: where it changes which values are taken out of
records, the summaries and current values of the devices concerned are made again from these.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from longwire.clock import Moment
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import device_types
from longwire.fleet.measurement_plans import get_declared
from longwire.identity import access
from longwire.measurements.definitions import (
    DECLARED_MAX,
    Measurement,
    ValuePlace,
    find_problems,
    merge_found,
    merge_layers,
    normalize_path,
)
from longwire.model import Actor
from longwire.object_versions import next_version, require_version
from longwire.store import schema
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.fleet import current_values, summaries
from longwire.store.fleet import measurements as store
from longwire.store.fleet.measurements import DeclaredList
from longwire.store.identity import audit
from longwire.store.identity import groups as store_groups

NEVER_DECLARED: Moment = 0
# Of a group with more, the measurements are those of the first types by name.
LISTED_MAX = 1_000
# Values that are looked at to count devices, and the least that are counted of a measurement.
EXAMINED_MAX = 200_000
COUNTED_MIN = 100


@dataclass(frozen=True, slots=True)
class GroupMeasurement:
    """A measurement of a type's devices in some groups, and how many have a value of it."""

    type: str
    measurement: Measurement
    is_declared: bool
    devices: int
    devices_are_more: bool


# --- declare ---


def get_declaration(tx: Tx, actor: Actor, type_name: str, group_id: str | None) -> DeclaredList:
    """What is declared for a group; without one for all, or for the group of the type."""
    found = device_types.get_device_type(tx, actor, type_name)
    if group_id is None:
        return _get_present(tx, type_name, found.group_id)
    access.authorize(tx, actor, "device.read", group_id)
    device_types.get_usable(tx, type_name, group_id)
    return _get_present(tx, type_name, group_id)


def declare(
    tx: Tx,
    actor: Actor,
    type_name: str,
    group_id: str | None,
    measurements: Sequence[Measurement],
    *,
    if_updated_at: Moment | None = None,
) -> DeclaredList:
    """Replace what is declared of a type: for the tree of a group, or as far as the type reaches.

    That is for all by an operator, or for the tree of the group that it belongs to.
    """
    if group_id is None:
        group_id = device_types.get_changeable(tx, actor, type_name).group_id
    else:
        access.authorize(tx, actor, device_types.PERMISSION, group_id)
        device_types.get_usable(tx, type_name, group_id)
    cleaned = validate(measurements)
    # Locked until the commit, so that two declarations do not overlap.
    cache_epochs.bump_config_epoch(tx, cache_epochs.PLATFORM if group_id is None else group_id)
    present = _get_present(tx, type_name, group_id)
    require_version(present.updated_at, if_updated_at)
    home = schema.ALL_GROUPS if group_id is None else group_id
    at = next_version(tx.now, present.updated_at)
    store.save_declared(tx, home, type_name, cleaned, at, actor.id)
    # Who only reads can look up their numbers then.
    store.get_keys(tx, [each.place for each in cleaned])
    if _list_extracted(cleaned) != _list_extracted(present.measurements):
        concerned = None if group_id is None else store_groups.list_subtree(tx, group_id)
        summaries.mark_all_of_type(tx, type_name, concerned)
    before, after = _audited(present.measurements), _audited(cleaned)
    action = "deviceType.updateMeasurements"
    audit.log(tx, actor, action, type_name, group_id=group_id, before=before, after=after)
    updated_at = at if cleaned else NEVER_DECLARED
    return DeclaredList(home, type_name, cleaned, updated_at)


def _get_present(tx: Tx, type_name: str, group_id: str | None) -> DeclaredList:
    home = schema.ALL_GROUPS if group_id is None else group_id
    for each in store.list_declared(tx, [home]):
        if each.type == type_name:
            return each
    return DeclaredList(home, type_name, (), NEVER_DECLARED)


def validate(measurements: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """As they are stored; the error names everything that is wrong."""
    if len(measurements) > DECLARED_MAX:
        raise invalid_field("measurements", f"has more than {DECLARED_MAX} items")
    cleaned: list[Measurement] = []
    problems: list[FieldError] = []
    names: dict[str, int] = {}
    places: dict[tuple[str, str], int] = {}
    for index, each in enumerate(measurements):
        path = normalize_path(each.path) if each.kind == "data" else each.path
        measurement = replace(each, path=path)
        found = find_problems(measurement)
        first = names.setdefault(each.name, index)
        if first != index:
            found.append(("name", f"is that of measurements[{first}] as well"))
        first = places.setdefault((each.kind, path), index)
        if first != index:
            found.append(("path", f"is that of measurements[{first}] as well"))
        problems += [FieldError(f"measurements[{index}].{name}", text) for name, text in found]
        cleaned.append(measurement)
    if problems:
        raise BadInput(field_errors=problems)
    return tuple(cleaned)


def _list_extracted(measurements: Sequence[Measurement]) -> Mapping[ValuePlace, object]:
    """What decides which values are taken out of records."""
    return {
        each.place: (each.value_class == "state", each.minimum, each.maximum)
        for each in measurements
    }


def _audited(measurements: Sequence[Measurement]) -> audit.Fields:
    return {"measurements": [store.to_plain(each) for each in measurements]}


# --- of groups ---


def list_of_group(
    tx: Tx, actor: Actor, group_id: str, *, subgroups: bool
) -> Sequence[GroupMeasurement]:
    """The measurements of the devices of a group, or of its subtree: declared and found ones."""
    scope = access.authorize_tree(tx, actor, "record.read", group_id, subgroups=subgroups)
    below = sorted(scope.group_ids - {group_id})
    declared = dict(get_declared(tx, group_id))
    for each in store.list_declared(tx, below):
        layers = [each.measurements, declared.get(each.type, ())]
        declared[each.type] = merge_layers(layers)
    found: dict[str, list[int]] = {}
    for type_name, key in store.list_found_in(tx, scope.group_ids, LISTED_MAX):
        found.setdefault(type_name, []).append(key)
    places = store.list_places(tx, [key for keys in found.values() for key in keys])
    listed: list[tuple[str, Measurement, bool]] = []
    for type_name in sorted({*declared, *found}):
        names = {places[key].place: places[key].name for key in found.get(type_name, ())}
        merged = merge_found(declared.get(type_name, ()), names)
        listed += [(type_name, measurement, is_declared) for measurement, is_declared in merged]
    most = max(COUNTED_MIN, EXAMINED_MAX // max(1, len(listed)))
    types = Counter(measurement.place for _, measurement, _ in listed)
    homes = [schema.group_number(each) for each in scope.group_ids]
    numbers = store.find_keys(tx, [measurement.place for _, measurement, _ in listed])
    items = []
    for type_name, measurement, is_declared in listed:
        number = numbers.get(measurement.place)
        count = 0
        if number is not None:
            of_type = type_name if types[measurement.place] > 1 else None
            count = current_values.count_devices(tx, homes, of_type, number, most + 1)
        shown = min(count, most)
        items.append(GroupMeasurement(type_name, measurement, is_declared, shown, count > most))
    return items

"""What is taken out of the records of a type's devices: declared measurements, and found ones."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial

from longwire.dataclass import dataclass
from longwire.identity import access
from longwire.measurements.batteries import find_battery
from longwire.measurements.definitions import (
    FOUND_MAX,
    Measurement,
    is_allowed,
    list_own_names,
    merge_found,
    merge_layers,
)
from longwire.measurements.extraction import KindPlan, build_plans
from longwire.model import Device
from longwire.store import schema
from longwire.store.cache.cache_epochs import PLATFORM
from longwire.store.database import Tx
from longwire.store.fleet import current_values, device_stays, summaries
from longwire.store.fleet import measurements as store
from longwire.store.fleet.measurements import MeasurementKey

_PLANS = "measurement plans"


@dataclass(slots=True)
class TypePlan:
    """What is taken out of the records of a group's devices of a type. Cached.

    It changes when something is found: what was read of it before is as good.
    """

    declared: Sequence[tuple[int, Measurement]]
    found: Mapping[int, MeasurementKey]
    kinds: Mapping[int, KindPlan] = field(init=False)
    # By name: the number of a measurement, and itself.
    named: Mapping[str, tuple[int, Measurement]] = field(init=False)
    # The number of the measurement that is the battery of a device, and its unit.
    battery: tuple[int, str | None] | None = field(init=False)

    def __post_init__(self) -> None:
        self._build()

    def _build(self) -> None:
        places = {number: key.place for number, key in self.found.items()}
        self.kinds = build_plans(self.declared, places, finds=True)
        keys = {each.place: key for key, each in self.declared}
        keys |= {place: number for number, place in places.items()}
        found = {key.place: key.name for key in self.found.values()}
        merged = merge_found([each for _, each in self.declared], found)
        self.named = {each.name: (keys[each.place], each) for each, _ in merged}
        self.battery = find_battery(self.named)

    @property
    def room(self) -> int:
        """How many more may be found."""
        return FOUND_MAX - len(self.found)

    def allows(self, key: int, number: float | None, text: str | None) -> bool:
        """Whether a stored value is one by what is declared now."""
        for declared_key, measurement in self.declared:
            if declared_key == key:
                return is_allowed(measurement, number, text)
        return key in self.found and text is None

    def add_found(self, keys: Iterable[MeasurementKey]) -> None:
        self.found = {**self.found, **{each.number: each for each in keys}}
        self._build()


def get_plan(tx: Tx, group_id: str, type_name: str) -> TypePlan:
    return tx.cache.get_config(
        _PLANS,
        f"{group_id}/{type_name}",
        lambda: _load_plan(tx, group_id, type_name),
        lambda: (PLATFORM, *access.get_group_path(tx, group_id)),
    )


def get_named(tx: Tx, group_id: str, type_name: str) -> Mapping[str, tuple[int, Measurement]]:
    """The measurements of a type's devices by name, with their numbers."""
    return get_plan(tx, group_id, type_name).named


def refresh_found(tx: Tx, group_ids: Collection[str], names: Sequence[str]) -> None:
    """Have measurements of these names in the plans of some groups, whichever process found them.

    What a process finds is in its own plans at once; another one reads it when it is asked for.
    """
    if not tx.is_postgres or not group_ids:  # else there is one process
        return
    own_names = [own for name in names for own in list_own_names(name)]
    keys = {each.number: each for each in store.list_keys_of_names(tx, own_names)}
    listed = store.list_found_by_key(tx, group_ids, keys) if keys else ()
    for group_id, type_name, number in listed:
        plan = get_plan(tx, group_id, type_name)
        if number not in plan.found:
            plan.add_found([keys[number]])


def take_over(tx: Tx, device: Device) -> None:
    """What a device has sent keeps its names when it becomes one of another type.

    Its history is made again, since other declarations hold for it now.
    """
    home = schema.group_number(device.group_id)
    present = current_values.list_of_device(tx, home, device.number)
    places = store.list_places(tx, [each.key for each in present])
    stays = device_stays.list_stays(tx, device)
    for group_id in {each.group_id for each in stays} | {device.group_id}:
        plan = get_plan(tx, group_id, device.type)
        known = {each.place for each in plan.found.values()}
        known |= {each.place for _, each in plan.declared}
        new = sorted(
            (each for each in places.values() if each.place not in known),
            key=lambda each: each.place,
        )[: plan.room]
        store.insert_found(tx, schema.group_number(group_id), device.type, new)
        tx.on_commit(partial(plan.add_found, new))
    summaries.mark_all_of_device(tx, device.number, {each.number for each in stays} | {device.stay})


def _load_plan(tx: Tx, group_id: str, type_name: str) -> TypePlan:
    declared = get_declared(tx, group_id).get(type_name, ())
    keys = store.get_keys(tx, [each.place for each in declared])
    found = store.list_found(tx, schema.group_number(group_id), type_name)
    return TypePlan(
        [(keys[each.place].number, each) for each in declared], store.list_places(tx, found)
    )


def get_declared(tx: Tx, group_id: str) -> Mapping[str, tuple[Measurement, ...]]:
    """What is declared for the devices of a group, by type."""
    path = access.get_group_path(tx, group_id)
    return tx.cache.get_config(
        "declared measurements",
        group_id,
        lambda: _load_declared(tx, path),
        lambda: (PLATFORM, *path),
    )


def _load_declared(tx: Tx, path: Sequence[str]) -> Mapping[str, tuple[Measurement, ...]]:
    """Those for all, then those of the groups from the root down."""
    layers: dict[str, list[Sequence[Measurement]]] = {}
    for each in store.list_declared(tx, [schema.ALL_GROUPS, *reversed(path)]):
        layers.setdefault(each.type, []).append(each.measurements)
    return {type_name: merge_layers(each) for type_name, each in layers.items()}

"""Current values in lists of devices: as columns, in filters, and as an order."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from longwire.dataclass import dataclass
from longwire.errors import BadInput, FieldError
from longwire.fleet.measurement_plans import get_declared, get_plan, refresh_found
from longwire.identity import access
from longwire.measurements.comparisons import Comparison, is_measurement_name, parse_comparison
from longwire.measurements.definitions import (
    VALUE_MAX,
    Measurement,
    is_allowed,
    list_own_names,
    name_beside,
)
from longwire.model import Actor, Device
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import current_values
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import measurements as store
from longwire.store.fleet.current_values import ShownColumn
from longwire.store.fleet.value_queries import ValueFilter, ValueSource
from longwire.store.identity import groups as store_groups

COLUMNS_MAX = 20
COMPARISONS_MAX = 10
PERMISSION = "record.read"

_BY_VALUE = "value:"

Columns = Mapping[str, ShownColumn]


@dataclass(frozen=True, slots=True)
class ValueSelection:
    """What a list of devices has to do with current values."""

    columns: Sequence[str] = ()
    compared: Sequence[Comparison] = ()
    order: str | None = None  # the name of a measurement
    descending: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.columns or self.compared or self.order)


NO_VALUES = ValueSelection()


def parse_selection(
    values: str | None, where: Sequence[str], order: str | None, *, descending: bool
) -> ValueSelection:
    """As it is given; the error names everything that is wrong."""
    problems: list[FieldError] = []
    columns = [each.strip() for each in values.split(",")] if values is not None else []
    for each in columns:
        if not is_measurement_name(each):
            problems.append(FieldError("values", f"{each or 'nothing'} is no name of a value"))
    if len(columns) > COLUMNS_MAX:
        problems.append(FieldError("values", f"has more than {COLUMNS_MAX} names"))
    compared = []
    for index, text in enumerate(where):
        try:
            compared.append(parse_comparison(text))
        except ValueError as error:
            problems.append(FieldError(f"where[{index}]", str(error)))
    if len(where) > COMPARISONS_MAX:
        problems.append(FieldError("where", f"is given more than {COMPARISONS_MAX} times"))
    name = None
    if order is not None:
        name = order.removeprefix(_BY_VALUE)
        if name == order or not is_measurement_name(name):
            problems.append(FieldError("order", "must be value: and the name of a measurement"))
    elif descending:
        problems.append(FieldError("descending", "needs order"))
    if problems:
        raise BadInput(field_errors=problems)
    return ValueSelection(list(dict.fromkeys(columns)), compared, name, descending)


def authorize(tx: Tx, actor: Actor, group_id: str, selected: ValueSelection) -> None:
    """Whoever may not read records learns nothing of values, by their order neither."""
    if not selected.is_empty:
        access.authorize(tx, actor, PERMISSION, group_id)


# --- columns ---


def list_columns(tx: Tx, devices: Sequence[Device], names: Sequence[str]) -> dict[str, Columns]:
    """The values of some measurements by name, by the ids of devices."""
    if not names:
        return {}
    refresh_found(tx, {each.group_id for each in devices}, names)
    resolved = {each.id: _resolve(tx, each, names) for each in devices}
    keys = {key for some in resolved.values() for key, _ in some.values()}
    found: dict[tuple[int, int], ShownColumn] = {}
    if keys:
        listed = current_values.list_columns(tx, [each.number for each in devices], keys)
        found = {(each.device, each.key): each for each in listed}
    columns: dict[str, Columns] = {}
    for device in devices:
        own = columns[device.id] = {}
        for name, (key, measurement) in resolved[device.id].items():
            value = found.get((device.number, key))
            if value is not None and is_allowed(measurement, value.number, value.text):
                own[name] = value
    return columns


def _resolve(tx: Tx, device: Device, names: Sequence[str]) -> Mapping[str, tuple[int, Measurement]]:
    named = get_plan(tx, device.group_id, device.type).named
    return {name: named[name] for name in names if name in named}


# --- filters and orders ---


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a name means: where its values are, and which of them are valid."""

    key: int
    is_state: bool = False
    minimum: float = -VALUE_MAX
    maximum: float = VALUE_MAX


@dataclass()
class SourceFinder:
    """Finds where the values of measurements are, for the devices of some groups."""

    tx: Tx
    group_id: str  # the topmost of them
    group_ids: Collection[str]

    def build_filters(self, compared: Sequence[Comparison]) -> list[ValueFilter]:
        return [ValueFilter(each, self.find(each.name)) for each in compared]

    def find(self, name: str) -> list[ValueSource]:
        """The sources of a measurement; none if these devices have no such value."""
        found_keys = store.list_keys_of_names(self.tx, list_own_names(name))
        default = {each.number: each for each in found_keys}
        sources: list[ValueSource] = []
        for homes, declared in self._layers:
            types: dict[str, set[int]] = {each: set() for each in declared}
            for type_name, key in store.list_types_of(self.tx, homes, default):
                types.setdefault(type_name, set()).add(key)
            meanings: dict[_Meaning | None, list[str]] = {}
            for type_name, keys in types.items():
                known = {each.name: each for each in declared.get(type_name, ())}
                places = {each.place for each in known.values()}
                meant = [
                    key
                    for key, each in default.items()
                    if each.place not in places and name_beside(each.name, known) == name
                ]
                if name in known:
                    meanings.setdefault(self._mean(known[name]), []).append(type_name)
                elif found := keys.intersection(meant):
                    meanings.setdefault(_Meaning(min(found)), []).append(type_name)
                elif default and not meant:  # its values are there, by another name
                    meanings.setdefault(None, []).append(type_name)
            if len(meanings) > 1:
                meanings = self._leave_out_unused(homes, meanings)
            sources += [
                ValueSource(
                    meaning.key,
                    homes,
                    None if len(meanings) == 1 else tuple(of_types),
                    meaning.is_state,
                    meaning.minimum,
                    meaning.maximum,
                )
                for meaning, of_types in meanings.items()
                if meaning is not None
            ]
        return sources

    def _leave_out_unused(
        self, homes: Sequence[int], meanings: Mapping[_Meaning | None, Sequence[str]]
    ) -> dict[_Meaning | None, list[str]]:
        """Without types of which there are no devices: one meaning is found faster than several."""
        names = [each for of_types in meanings.values() for each in of_types]
        used = store_devices.list_used_types(self.tx, homes, names)
        present = {
            meaning: [each for each in of_types if each in used]
            for meaning, of_types in meanings.items()
        }
        return {meaning: of_types for meaning, of_types in present.items() if of_types}

    def _mean(self, measurement: Measurement) -> _Meaning:
        key = store.get_keys(self.tx, [measurement.place])[measurement.place].number
        low, high = measurement.minimum, measurement.maximum
        return _Meaning(
            key,
            measurement.value_class == "state",
            -VALUE_MAX if low is None else low,
            VALUE_MAX if high is None else high,
        )

    @cached_property
    def _layers(self) -> list[tuple[tuple[int, ...], Mapping[str, Sequence[Measurement]]]]:
        """Groups in which the same is declared, and what that is, by type."""
        below = [each for each in self.group_ids if each != self.group_id]
        declaring = store.list_declaring(self.tx, below)
        # By those of the declaring groups that are above them, or themselves.
        by_path: dict[tuple[str, ...], list[str]] = {}
        if declaring:
            for home, path in store_groups.list_paths(self.tx, self.group_ids).items():
                by_path.setdefault(tuple(filter(declaring.__contains__, path)), []).append(home)
        else:
            by_path[()] = [*self.group_ids]
        return [
            (
                tuple(schema.group_number(each) for each in homes),
                get_declared(self.tx, self.group_id if not path else homes[0]),
            )
            for path, homes in by_path.items()
        ]

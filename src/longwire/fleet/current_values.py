"""The current values of devices: the newest value of each measurement.

They are stored in the commit of their records. Where a record is deleted or decoded again, the
values that it had given are looked for in the records that are left.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from longwire.clock import Moment
from longwire.fleet.measurement_plans import TypePlan, get_plan
from longwire.measurements.batteries import FOUND_PATHS, format_battery, parse_battery_percent
from longwire.measurements.definitions import ValuePlace
from longwire.measurements.extraction import ExtractedValues, KindPlan, MeasuredValue, extract
from longwire.notifications.alarms import NamedMeasurements
from longwire.notifications.measured_conditions import MeasuredRecord
from longwire.records import KIND_NAMES, Record, RecordKind, parse_record
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import current_values as store
from longwire.store.fleet import device_states, reporting_devices, summaries
from longwire.store.fleet import measurements as store_measurements
from longwire.store.fleet.current_values import CurrentValue, NewValue, ValueKey
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.store.records.records import RecordRow

# A value that is not in so many of the newest records is not looked for any further.
RECORDS_EXAMINED_MAX = 5_000

# --- while records are stored ---


class MeasuredBattery(NamedTuple):
    """The battery of a device as one of its records says."""

    at: Moment
    seq: int
    text: str


class ValueCollector:
    """The newest of the values of some records, and what is found in them."""

    def __init__(self, tx: Tx, watched_groups: Collection[str] = ()) -> None:
        """All values of devices in watched groups are kept, for conditions on them."""
        self._tx = tx
        self._watched_groups = watched_groups
        self._watched: list[_WatchedValues] = []
        self._plans: dict[tuple[int, str], TypePlan] = {}
        self.values: dict[ValueKey, NewValue] = {}
        self.invalid: Counter[ValueKey] = Counter()
        # Records with numbers: (device, stay, timestamp, number of the arrival).
        self.summarized: list[tuple[int, int, Moment, int]] = []
        self.batteries: dict[str, MeasuredBattery] = {}  # by the ids of devices
        # By group and type: values at places that were not known before.
        self._found: dict[tuple[int, str], dict[ValuePlace, dict[int, NewValue]]] = {}

    def add(
        self, device: ReportingDevice, stay: int, kind: int, ts: Moment, seq: int, record: Record
    ) -> None:
        plan = self._get_plan(device)
        wanted = plan.kinds.get(kind)
        if wanted is None:
            return
        extracted = extract(wanted, record)
        if extracted.is_empty:
            return
        # A clock that runs ahead must not keep later values away.
        at = min(ts, arrival_moment(seq))
        group, number = device.group_number, device.number
        if device.group_id in self._watched_groups:
            self._watched.append(_WatchedValues(device, kind, at, seq, extracted))
        if extracted.has_numbers:
            self.summarized.append((number, stay, ts, seq))
        for key, value in extracted.values.items():
            self._add_value((group, key, number), NewValue(at, seq, value))
        for key in extracted.invalid:
            self.invalid[group, key, number] += 1
        if extracted.unknown:
            self._add_unknown(plan, device, kind, at, seq, extracted)
        if extracted.has_numbers:
            self._add_battery(plan, device, kind, at, seq, extracted)
        if extracted.left_out:
            left_out = MeasuredValue(float(extracted.left_out))
            self._add_value((group, schema.LEFT_OUT, number), NewValue(at, seq, left_out))

    def _get_plan(self, device: ReportingDevice) -> TypePlan:
        key = (device.group_number, device.type)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = get_plan(self._tx, device.group_id, device.type)
        return plan

    def _add_value(self, key: ValueKey, new: NewValue) -> None:
        present = self.values.get(key)
        if present is None or (present.ts, present.seq) < (new.ts, new.seq):
            self.values[key] = new

    def _add_unknown(
        self,
        plan: TypePlan,
        device: ReportingDevice,
        kind: int,
        at: Moment,
        seq: int,
        extracted: ExtractedValues,
    ) -> None:
        """As many as there may be; the others are counted as left out."""
        found = self._found.setdefault((device.group_number, device.type), {})
        for path, number in extracted.unknown.items():
            place = ValuePlace(kind, path)
            if place not in found and len(found) >= plan.room:
                extracted.left_out += 1
                continue
            newest = found.setdefault(place, {})
            present = newest.get(device.number)
            if present is None or (present.ts, present.seq) < (at, seq):
                newest[device.number] = NewValue(at, seq, MeasuredValue(number))

    def _add_battery(
        self,
        plan: TypePlan,
        device: ReportingDevice,
        kind: int,
        at: Moment,
        seq: int,
        extracted: ExtractedValues,
    ) -> None:
        text = None
        if plan.battery is not None:
            key, unit = plan.battery
            value = extracted.values.get(key)
            if value is not None and value.number is not None:
                text = format_battery(value.number, unit)
        elif kind == RecordKind.DATA:  # the first one that is found
            for path in FOUND_PATHS & extracted.unknown.keys():
                text = format_battery(extracted.unknown[path], None)
        present = self.batteries.get(device.id)
        if text is not None and (present is None or (present.at, present.seq) < (at, seq)):
            self.batteries[device.id] = MeasuredBattery(at, seq, text)

    def store_found(self) -> None:
        """Give numbers to what was found; its values are among the others then."""
        places = {place for found in self._found.values() for place in found}
        if not places:
            return
        keys = store_measurements.get_keys(self._tx, places)
        for (group, type_name), found in sorted(self._found.items(), key=lambda item: item[0]):
            new = [keys[place] for place in found]
            store_measurements.insert_found(self._tx, group, type_name, new)
            plan = self._plans[group, type_name]
            self._tx.on_commit(partial(plan.add_found, new))
            self._plans[group, type_name] = TypePlan(
                plan.declared, {**plan.found, **{each.number: each for each in new}}
            )
            for place, newest in found.items():
                for device, value in newest.items():
                    self._add_value((group, keys[place].number, device), value)

    def get_named(self, device: ReportingDevice) -> NamedMeasurements:
        """The measurements of a device, also those that were just found."""
        return self._get_plan(device).named

    def list_watched(self) -> list[MeasuredRecord]:
        """The values of records of watched groups, in order; after `store_found`."""
        return [
            MeasuredRecord(each.device, each.at, each.seq, self._add_found(each))
            for each in self._watched
        ]

    def _add_found(self, watched: "_WatchedValues") -> Mapping[int, MeasuredValue]:
        extracted = watched.extracted
        if not extracted.unknown:
            return extracted.values
        known = self._get_plan(watched.device).found.items()
        found = {key.place: number for number, key in known}
        values = {**extracted.values}
        for path, number in extracted.unknown.items():
            key = found.get(ValuePlace(watched.kind, path))
            if key is not None:
                values[key] = MeasuredValue(number)
        return values


class _WatchedValues(NamedTuple):
    """What a record of a watched group says."""

    device: ReportingDevice
    kind: int
    at: Moment
    seq: int
    extracted: ExtractedValues


def collect_values(
    tx: Tx,
    fresh: Sequence[RecordRow],
    devices: Mapping[str, ReportingDevice],
    watched_groups: Collection[str] = (),
) -> ValueCollector:
    """The values of new records; each current value is stored once."""
    collector = ValueCollector(tx, watched_groups)
    for row in fresh:
        record = row.encoded.record
        device = devices[record.device_id]
        collector.add(device, row.stay, row.kind, row.ts, row.seq, record)
    collector.store_found()
    return collector


def store_values(tx: Tx, collected: ValueCollector) -> None:
    if collected.summarized:
        summaries.mark_records(tx, collected.summarized)
    if collected.values:
        store.save(tx, collected.values)
    if collected.invalid:
        store.count_invalid(tx, collected.invalid)


# --- when records are deleted or decoded again ---


def delete(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete the values of devices whose records are deleted."""
    store.delete(tx, numbers)


def refresh_deleted(tx: Tx, device: ReportingDevice, kind: str, deleted_at: Moment) -> None:
    """Find values again that were of the records of a kind at an instant."""
    present = store.list_of_device(tx, device.group_number, device.number)
    places = store_measurements.list_places(tx, [each.key for each in present])
    number = KIND_NAMES.index(kind)
    _refresh(
        tx,
        device,
        [
            each.key
            for each in present
            if each.key in places
            and places[each.key].place.kind == number
            and _may_be_of(each, deleted_at)
        ],
    )


def _may_be_of(value: CurrentValue, ts: Moment) -> bool:
    """Whether a value is of a record with this timestamp, which may have been in the future."""
    if value.ts is None or value.seq is None:
        return False
    return value.ts == ts or (value.ts < ts and value.ts == arrival_moment(value.seq))


def refresh_redecoded(
    tx: Tx, device: ReportingDevice, changed: Iterable[tuple[Moment, int, Record]]
) -> None:
    """Take values from records of the device's present stay that were decoded again."""
    changed = list(changed)
    if not changed:
        return
    collector = ValueCollector(tx)
    seqs = set()
    for ts, seq, record in changed:
        seqs.add(seq)
        collector.add(device, device.stay, RecordKind.DATA, ts, seq, record)
    collector.store_found()
    present = store.list_of_device(tx, device.group_number, device.number)
    lost = [each.key for each in present if each.seq in seqs]
    _refresh(tx, device, lost)
    store.save_again(tx, collector.values)
    for battery in collector.batteries.values():
        percent = parse_battery_percent(battery.text)
        device_states.set_batteries(tx, [(device, battery.text, percent, battery.at)])


def refresh_recounted(
    tx: Tx, device_id: str, stay: int, newest: Mapping[int, Moment], *, is_all: bool
) -> None:
    """Take values from records that were counted again, after something was declared.

    `newest` says when the newest values in these records were; at last (`is_all`) those are
    dropped that are values no more.
    """
    device = reporting_devices.get_reporting(tx, [device_id]).get(device_id)
    if device is None or device.stay != stay:
        return
    listed = store.list_of_device(tx, device.group_number, device.number)
    present = {each.key: each for each in listed if each.key != schema.LEFT_OUT}
    plan = get_plan(tx, device.group_id, device.type)
    wanted = set()
    for key in {*newest, *(present if is_all else ())}:
        value = present.get(key)
        if value is None or value.ts is None:
            is_right = key not in newest
        else:
            is_allowed = plan.allows(key, value.number, value.text)
            is_right = is_allowed and newest.get(key, value.ts) <= value.ts
        if not is_right:
            wanted.add(key)
    _refresh(tx, device, sorted(wanted))


def _refresh(tx: Tx, device: ReportingDevice, keys: Sequence[int]) -> None:
    """Look for the newest values of some measurements in the records of the present stay."""
    if not keys:
        return
    newest = find_newest(tx, device, keys)
    store.clear(tx, device.number, keys)
    group, number = device.group_number, device.number
    values = {(group, key, number): new for key, new in newest.items()}
    store.save_again(tx, values)


def find_newest(tx: Tx, device: ReportingDevice, keys: Sequence[int]) -> dict[int, NewValue]:
    """The newest values of some measurements in the records of the present stay."""
    plan = get_plan(tx, device.group_id, device.type)
    newest: dict[int, NewValue] = {}
    for kind, wanted in plan.kinds.items():
        own = {*_list_keys(wanted)}.intersection(keys)
        if own:
            newest |= _find_newest_of_kind(tx, device, kind, wanted, own)
    return newest


def _find_newest_of_kind(
    tx: Tx, device: ReportingDevice, kind: int, wanted: KindPlan, keys: Set[int]
) -> dict[int, NewValue]:
    newest: dict[int, NewValue] = {}
    for ts, seq, body in store.list_newest(
        tx, kind, device.number, device.stay, RECORDS_EXAMINED_MAX
    ):
        # One with a timestamp in the future counts as of its arrival, so that it may be older.
        if len(newest) == len(keys) and all(each.ts > ts for each in newest.values()):
            break
        at = min(ts, arrival_moment(seq))
        values = extract(wanted, parse_record(kind, body).record).values
        for key in keys & values.keys():
            present = newest.get(key)
            if present is None or (present.ts, present.seq) < (at, seq):
                newest[key] = NewValue(at, seq, values[key])
    return newest


def _list_keys(plan: KindPlan) -> Iterable[int]:
    for target in plan.targets.values():
        yield target.key
    for _, target in (*plan.deep, *plan.configured, *plan.members):
        yield target.key

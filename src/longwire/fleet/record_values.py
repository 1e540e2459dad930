"""What each of some records says of measurements, by their names, for exports."""

from collections.abc import Mapping, Sequence

from longwire.fleet.measurement_plans import TypePlan, get_declared, get_plan, refresh_found
from longwire.measurements.definitions import BUILT_IN, Measurement
from longwire.measurements.extraction import MeasuredValue, extract
from longwire.records import Record
from longwire.store.database import Tx
from longwire.store.fleet import reporting_devices

RecordValues = Mapping[str, MeasuredValue]


def list_record_values(
    tx: Tx, kind: int, records: Sequence[Record], names: Sequence[str]
) -> list[RecordValues]:
    """The values of each record.

    A name means what it means in the group to which the record belongs, for the device's type.
    """
    devices = reporting_devices.get_reporting(tx, {each.device_id for each in records})
    refresh_found(tx, {each.group_id for each in records if each.group_id}, names)
    plans: dict[tuple[str, str], TypePlan] = {}
    listed: list[RecordValues] = []
    for record in records:
        device = devices.get(record.device_id)
        group_id = record.group_id
        if device is None or not group_id:
            listed.append({})
            continue
        plan = plans.get((group_id, device.type))
        if plan is None:
            plan = plans[group_id, device.type] = get_plan(tx, group_id, device.type)
        wanted = plan.kinds.get(kind)
        found = {} if wanted is None else extract(wanted, record).values
        keys = {name: plan.named[name][0] for name in names if name in plan.named}
        listed.append({name: found[key] for name, key in keys.items() if key in found})
    return listed


def describe_names(
    tx: Tx, group_id: str | None, names: Sequence[str]
) -> dict[str, Measurement | None]:
    """What measurements of these names are in a group; None of what differs by device type."""
    layers = {} if group_id is None else get_declared(tx, group_id)
    described: dict[str, Measurement | None] = {}
    for name in names:
        known = [each for some in layers.values() for each in some if each.name == name]
        known = known or [each for each in BUILT_IN.values() if each.name == name]
        alike = {(each.unit, each.value_class == "state") for each in known}
        described[name] = known[0] if len(alike) == 1 else None
    return described

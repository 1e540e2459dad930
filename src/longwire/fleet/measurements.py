"""The measurements of devices: what they are called, and their current values."""

from collections.abc import Sequence

import msgspec

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.fleet import configurations, records
from longwire.fleet.configuration_layers import to_plain
from longwire.fleet.measurement_plans import get_declared
from longwire.identity import access
from longwire.measurements.definitions import Measurement, is_allowed, merge_found
from longwire.model import Actor
from longwire.networks.monitoring import silent_after
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.fleet import current_values
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import measurements as store
from longwire.store.fleet.current_values import CurrentValue
from longwire.store.fleet.reporting_devices import ReportingDevice

NEVER: Moment = -(2**63)


# --- current values ---


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A current value, and what it is the value of."""

    measurement: Measurement
    is_declared: bool
    current: CurrentValue
    is_stale: bool

    @property
    def has_value(self) -> bool:
        """Not if what is declared now does not allow the one that is stored."""
        return self.current.ts is not None and is_allowed(
            self.measurement, self.current.number, self.current.text
        )


@dataclass(frozen=True, slots=True)
class DeviceValues:
    """The current values of a device; how many numbers its last record had beyond those kept."""

    items: Sequence[ShownValue]
    left_out: int


def list_values(tx: Tx, actor: Actor, device_id: str) -> DeviceValues:
    """The current values of a device, if the actor may read the records of its present group."""
    device = records.get_reporting_device(tx, device_id)
    stays = records.permitted_stays(tx, actor, "record.read", device)
    if device.stay not in stays:
        return DeviceValues([], 0)
    present = current_values.list_of_device(tx, device.group_number, device.number)
    by_key = {each.key: each for each in present}
    left_out = by_key.pop(schema.LEFT_OUT, None)
    keys = {key.place: key for key in store.list_places(tx, by_key).values()}
    declared = get_declared(tx, device.group_id).get(device.type, ())
    found = {place: key.name for place, key in keys.items()}
    stale_before = _find_stale_before(tx, actor, device)
    items = []
    for measurement, is_declared in merge_found(declared, found):
        if measurement.place in keys:
            current = by_key[keys[measurement.place].number]
            is_stale = current.ts is None or current.ts < stale_before
            shown = ShownValue(measurement, is_declared, current, is_stale)
            if shown.has_value or current.invalid:
                items.append(shown)
    return DeviceValues(items, int(left_out.number or 0) if left_out is not None else 0)


def _find_stale_before(tx: Tx, actor: Actor, device: ReportingDevice) -> Moment:
    """Older values are stale: as much as may pass between messages by the configuration."""
    scope = access.authorize(tx, actor, "record.read", device.group_id)
    found = store_devices.get(tx, scope, device.id)
    own = "{}" if found is None else found.configuration
    merged = configurations.merge_configuration(tx, device.type, device.group_id, own, device.id)
    interval = silent_after(msgspec.json.encode(to_plain(merged)).decode())
    return NEVER if interval is None else tx.now - interval

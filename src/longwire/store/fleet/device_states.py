"""What changes with every message of a device: last seen, frame counters, position, battery."""

from collections.abc import Iterable, Mapping

import msgspec

from longwire.clock import Moment
from longwire.model import Device, SequenceCounter
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.fleet.positions import Position
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.statement import Statement

_state = schema.device_state

StateKey = tuple[int, int]  # of a device's state: the numbers of its group and of itself

_SET_BATTERY = OnConflict("""
    battery = excluded.battery,
    battery_at = excluded.battery_at,
    battery_level = excluded.battery_level
where device_state.battery_at is null
    or device_state.battery_at <= excluded.battery_at
""")


_LATER_SEEN = (
    "case when device_state.seen_at > excluded.seen_at"
    " then device_state.seen_at else excluded.seen_at end"
)
_LATER_POSITION = ", ".join(
    f"{name} = case when device_state.position_at > excluded.position_at"
    f" then device_state.{name} else excluded.{name} end"
    for name in ("lat", "lng", "radius", "position_at")
)
_SET_SEEN = OnConflict("seen_at = excluded.seen_at where device_state.seen_at < excluded.seen_at")
_SET_COUNTER = OnConflict(
    f"seen_at = {_LATER_SEEN}, sequence = excluded.sequence,"
    " sequence_at = excluded.sequence_at, missing = excluded.missing"
)
_SET_POSITION = OnConflict(f"seen_at = {_LATER_SEEN}, {_LATER_POSITION}")

RESET_HARDWARE = Statement("""
update device_state
set sequence = null,
    sequence_at = null,
    missing = null,
    battery = null,
    battery_at = null,
    battery_level = :unknown
where group_id = :home
    and device_number = :device
""")


def update_last_seen(
    tx: Tx,
    seen: Mapping[StateKey, Moment],
    counts: Mapping[int, SequenceCounter],
    positions: Mapping[StateKey, Position],
) -> None:
    """Advance `seen_at` of devices, and store the sequence counters and positions of some.

    Sorted, so that processes do not deadlock.
    """
    cache = tx.caches.devices
    if counts and cache.is_watched:
        cache.evict_counters(counts)
        tx.on_commit(lambda: cache.put_counters(counts))
    states = [(*key, at) for key, at in sorted(seen.items())]
    insert_many(
        tx,
        _state,
        ("group_id", "device_number", "seen_at"),
        [each for each in states if each[1] not in counts and each[:2] not in positions]
        if counts or positions
        else states,
        _SET_SEEN,
        is_repeatable=True,
    )
    insert_many(
        tx,
        _state,
        ("group_id", "device_number", "seen_at", "sequence", "sequence_at", "missing"),
        [
            (*state, counted.number, counted.at, _missing(counted))
            for state in states
            if (counted := counts.get(state[1])) is not None
        ],
        _SET_COUNTER,
        is_repeatable=True,
    )
    if positions:
        insert_many(
            tx,
            _state,
            ("group_id", "device_number", "seen_at", "lat", "lng", "radius", "position_at"),
            [
                (*state, position.lat, position.lng, position.radius, position.at)
                for state in states
                if (position := positions.get(state[:2])) is not None
            ],
            _SET_POSITION,
            is_repeatable=True,
        )


def _missing(counted: SequenceCounter) -> str | None:
    return msgspec.json.encode(counted.missing).decode() if counted.missing else None


def set_batteries(
    tx: Tx, batteries: Iterable[tuple[ReportingDevice, str, float | None, Moment]]
) -> None:
    """Set the batteries of devices, unless newer ones were stored; of each device one.

    (device, text, percent, when)
    """
    columns = ("group_id", "device_number", "battery", "battery_at", "battery_level")
    rows = sorted(
        (device.group_number, device.number, text, at, battery_level(percent))
        for device, text, percent, at in batteries
    )
    insert_many(tx, _state, columns, rows, _SET_BATTERY)


def reset_hardware(tx: Tx, device: Device) -> None:
    """Forget the frame counter and the battery of hardware that is replaced."""
    cache = tx.caches.devices
    if cache.is_watched:
        cache.evict_counters([device.number])
    home = schema.group_number(device.group_id)
    tx.run(RESET_HARDWARE, home=home, device=device.number, unknown=schema.BATTERY_UNKNOWN)


def battery_level(percent: float | None) -> int:
    """A charge as it is sorted; unknown ones come after all others."""
    if percent is None or not 0 <= percent <= 100:
        return schema.BATTERY_UNKNOWN
    return round(percent * 100)

"""The battery of a device, among the values of its records.

A value of this name is the battery: percent, or volts if its unit says so. Without a unit, what can
only be a voltage is one.
"""

from collections.abc import Mapping

from longwire.measurements.definitions import Measurement

# What codecs call it; the first one that there is counts.
NAMES = tuple(f"battery{end}" for end in ("", "Level", "_level", "Percent", "_percent"))
FOUND_PATHS = frozenset(f"/data/{name}" for name in NAMES)

_VOLTS = {"v": 1.0, "volt": 1.0, "volts": 1.0, "mv": 1e-3, "millivolt": 1e-3, "millivolts": 1e-3}
_PERCENT_MAX = 100
# A lithium cell, or two others, while it is of use.
_CELL_V_MIN, _CELL_V_MAX = 1.5, 5.0
_MILLIVOLTS_MIN, _MILLIVOLTS_MAX = 1_500, 60_000


def find_battery(named: Mapping[str, tuple[int, Measurement]]) -> tuple[int, str | None] | None:
    """The number of the measurement that is the battery, and its unit; None if there is none."""
    for name in NAMES:
        found = named.get(name)
        if found is not None and found[1].value_class != "state":
            key, measurement = found
            return key, measurement.unit
    return None


def format_battery(value: float, unit: str | None) -> str | None:
    """Percent, or volts with their unit, as networks report it; None if it is neither."""
    if unit is not None and unit.strip().lower() in _VOLTS:
        volts = value * _VOLTS[unit.strip().lower()]
        return f"{volts:.4g} V" if volts >= 0 else None
    if unit is None:
        if _MILLIVOLTS_MIN <= value <= _MILLIVOLTS_MAX:
            return f"{value / 1_000:.4g} V"
        if _CELL_V_MIN <= value <= _CELL_V_MAX and not value.is_integer():
            return f"{value:.4g} V"
    return f"{value:.4g}" if 0 <= value <= _PERCENT_MAX else None


def parse_battery_percent(text: str) -> float | None:
    """The charge; None if something else is reported, such as a voltage."""
    try:
        percent = float(text)
    except ValueError:
        return None
    return int(percent) if percent.is_integer() else percent

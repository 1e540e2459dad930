"""What devices measure and where they are: pure functions of a device's plan and the time.

History and live traffic therefore fit together, and the same seed draws the same curves.
"""

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from longwire_cli.demo.plan import (
    BUTTON,
    COLD_ROOM,
    METER,
    ROOT,
    TIDE_GAUGE,
    TRACKER,
    VESSEL,
    WAGON,
    WEATHER,
    DevicePlan,
)

DAY_S = 86_400
_TIDE_S = 44_714  # from one high water to the next
_METRES_PER_DEGREE = 111_320


class Position(NamedTuple):
    lat: float
    lng: float


_CENTRES = {
    ROOT: Position(51.9490, 4.1390),
    "Quay 3": Position(51.9560, 4.0460),
    "Depot": Position(51.8850, 4.4290),
    "Cold store A": Position(51.9070, 4.3860),
    "Reefer yard": Position(51.9480, 4.0620),
    "Rail": Position(51.8830, 4.4640),
}
# The fairway from the sea to the city, and the railway to the hinterland.
_FAIRWAY = (
    *(Position(51.9930, 3.9600), Position(51.9790, 4.0850), Position(51.9560, 4.1850)),
    *(Position(51.9160, 4.2480), Position(51.9000, 4.3300), Position(51.9020, 4.4060)),
    Position(51.9065, 4.4790),
)
_RAILWAY = (
    *(Position(51.8830, 4.4640), Position(51.8680, 4.5300), Position(51.8400, 4.5850)),
    *(Position(51.8330, 4.6900), Position(51.8480, 4.8300), Position(51.8590, 4.9900)),
    Position(51.8750, 5.2500),
)


def locate(plan: DevicePlan, at_s: float) -> Position:
    if plan.type == VESSEL:
        return _along(_FAIRWAY, _travelled(plan, at_s, round_trip_s=14_400))
    if plan.type == WAGON:
        return _along(_RAILWAY, _travelled(plan, at_s, round_trip_s=12_600))
    centre = _CENTRES[plan.group]
    fixed = _fixed_random(plan)
    spread = 0.0015 if plan.group.startswith("Cold") else 0.004
    lat, lng = centre.lat + fixed.gauss(0, spread / 2), centre.lng + fixed.gauss(0, spread)
    if plan.type == TRACKER:
        angle, size = at_s / (120 + 12 * (plan.number % 7)) + plan.number, 0.003
        lat += size * math.sin(angle) * 0.6
        lng += size * math.sin(angle * 1.7) * 1.6
    return Position(round(lat, 6), round(lng, 6))


def _travelled(plan: DevicePlan, at_s: float, *, round_trip_s: int) -> float:
    """The share of a route that is behind it, on its way there and back."""
    phase = (at_s / round_trip_s + _fixed_random(plan).random()) % 1.0
    return 1 - abs(2 * phase - 1)


def _along(route: tuple[Position, ...], share: float) -> Position:
    place = share * (len(route) - 1)
    index = min(int(place), len(route) - 2)
    begin, end, part = route[index], route[index + 1], place - index
    return Position(
        round(begin.lat + (end.lat - begin.lat) * part, 6),
        round(begin.lng + (end.lng - begin.lng) * part, 6),
    )


def speed_kmh(plan: DevicePlan, at_s: float) -> float:
    before, now = locate(plan, at_s - 30), locate(plan, at_s)
    north = (now.lat - before.lat) * _METRES_PER_DEGREE
    east = (now.lng - before.lng) * _METRES_PER_DEGREE * math.cos(math.radians(now.lat))
    return round(math.hypot(north, east) / 30 * 3.6, 1)


# --- measurements ---


def measure(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    return _MEASUREMENTS[plan.type](plan, at_s)


def _outdoor_celsius(at_s: float) -> float:
    """Warmest in the afternoon, and somewhat different from day to day."""
    day = math.sin(2 * math.pi * (at_s % DAY_S / DAY_S - 0.375))
    return 8 + 4.5 * day + 2 * math.sin(at_s / (3.7 * DAY_S))


def _measure_cold_room(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    base = -18.5 if plan.group == "Reefer yard" else 3.6
    noise = _noise(plan, at_s)
    day = math.sin(2 * math.pi * (at_s % DAY_S / DAY_S - 0.4))
    compressor = 0.5 * math.sin(2 * math.pi * at_s / 5_400 + plan.number)
    # The door stands open now and then, mostly while people work.
    is_open = noise.random() < (0.12 if 6 <= at_s % DAY_S / 3_600 < 18 else 0.01)
    celsius = base + 0.5 * day + compressor + noise.gauss(0, 0.12)
    celsius += noise.uniform(1.5, 5) if is_open else 0
    humidity = 78 + 4 * day + noise.gauss(0, 1) + (6 if is_open else 0)
    return {
        "celsius": round(celsius, 2),
        "humidity": round(min(100, humidity) * 2) / 2,
        "door": "open" if is_open else "closed",
    }


def _measure_tracker(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    position = locate(plan, at_s)
    speed = min(255, round(speed_kmh(plan, at_s)))
    return {"latitude": position.lat, "longitude": position.lng, "speed": speed}


def _measure_tide(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    # Spring and neap tides: two waves of almost the same length.
    wave = 0.85 * math.cos(2 * math.pi * at_s / _TIDE_S)
    wave += 0.2 * math.cos(2 * math.pi * at_s / (DAY_S / 2))
    level = 150 + 900 * wave + _noise(plan, at_s).gauss(0, 15)
    return {"levelMillimetres": round(level), "waterCelsius": round(9 + _outdoor_celsius(at_s) / 8)}


def _measure_weather(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    noise = _noise(plan, at_s)
    celsius = _outdoor_celsius(at_s) + noise.gauss(0, 0.2)
    pressure = 1_013 + 9 * math.sin(at_s / (2.3 * DAY_S)) + noise.gauss(0, 0.2)
    humidity = max(35.0, min(100.0, 92 - 2.2 * (celsius - 4)))
    return {
        "temperature_1": round(celsius, 1),
        "relative_humidity_2": round(humidity * 2) / 2,
        "barometric_pressure_3": round(pressure, 1),
    }


def _measure_wagon(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    noise = _noise(plan, at_s)
    shock = int(min(255, noise.expovariate(1 / 12)))
    axle = round(_outdoor_celsius(at_s) + speed_kmh(plan, at_s) / 4 + noise.gauss(0, 1))
    return {"shock": shock, "axleCelsius": axle, "loaded": int(at_s // 14_400) % 2 == 0}


def _measure_vessel(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    knots = round(speed_kmh(plan, at_s) / 1.852, 1)
    draught = round(6 + 4 * _fixed_random(plan).random(), 1)
    return {"knots": knots, "draughtMetres": draught, "destination": "NLRTM"}


def _measure_meter(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    base = 6 + 5 * plan.number % 20
    hours = at_s % DAY_S / 3_600
    work = _WORK_KW[_weekday(at_s)] * math.exp(-((hours - _NOON) ** 2) / _WORK_WIDTH)
    kilowatts = base + work + _noise(plan, at_s).gauss(0, 0.8)
    energy = base * (at_s - _METERS_SINCE_S) / 3_600 + _work_kwh(at_s)
    return {"kilowatts": round(max(0.0, kilowatts), 1), "kilowattHours": round(energy, 1)}


# Most is used early in the afternoon of a working day; meters count from a Monday on.
_METERS_SINCE_S = 1_704_067_200
_WORK_KW = (40, 42, 41, 43, 36, 9, 4)
_NOON, _WORK_WIDTH = 13, 22.0


def _weekday(at_s: float) -> int:
    return int((at_s - _METERS_SINCE_S) // DAY_S) % 7


def _work_kwh(at_s: float) -> float:
    """What work has used since then: the area below the curve of each day."""
    days, hours = (at_s - _METERS_SINCE_S) // DAY_S, at_s % DAY_S / 3_600
    weeks, weekday = divmod(int(days), 7)
    whole = weeks * sum(_WORK_KW) + sum(_WORK_KW[:weekday])
    return whole * _area_until(24) + _WORK_KW[weekday] * _area_until(hours)


def _area_until(hours: float) -> float:
    width = math.sqrt(_WORK_WIDTH)
    both = math.erf((hours - _NOON) / width) + math.erf(_NOON / width)
    return width * math.sqrt(math.pi) / 2 * both


def _measure_button(plan: DevicePlan, at_s: float) -> dict[str, Any]:
    return {"presses": int(at_s // 3_600) % 1_000}


_MEASUREMENTS: dict[str, Callable[[DevicePlan, float], dict[str, Any]]] = {
    COLD_ROOM: _measure_cold_room,
    TRACKER: _measure_tracker,
    TIDE_GAUGE: _measure_tide,
    WEATHER: _measure_weather,
    WAGON: _measure_wagon,
    VESSEL: _measure_vessel,
    METER: _measure_meter,
    BUTTON: _measure_button,
}


def _fixed_random(plan: DevicePlan) -> random.Random:
    return random.Random(plan.original_id)


def _noise(plan: DevicePlan, at_s: float) -> random.Random:
    return random.Random(f"{plan.original_id} {int(at_s)}")


# --- payloads ---


def encode(plan: DevicePlan, values: dict[str, Any]) -> bytes:
    """The payload that the decoder of the device's type understands; empty without a decoder."""
    return _ENCODERS[plan.type](values) if plan.type in _ENCODERS else b""


def _signed(value: float, size: int) -> bytes:
    return round(value).to_bytes(size, signed=True)


def _encode_cold_room(values: dict[str, Any]) -> bytes:
    door = bytes([values["door"] == "open"])
    return _signed(values["celsius"] * 100, 2) + bytes([round(values["humidity"] * 2)]) + door


def _encode_tracker(values: dict[str, Any]) -> bytes:
    position = _signed(values["latitude"] * 1e6, 4) + _signed(values["longitude"] * 1e6, 4)
    return position + bytes([values["speed"]])


def _encode_tide(values: dict[str, Any]) -> bytes:
    return _signed(values["levelMillimetres"], 2) + _signed(values["waterCelsius"], 1)


def _encode_weather(values: dict[str, Any]) -> bytes:
    humidity = bytes([round(values["relative_humidity_2"] * 2)])
    return b"".join(
        (
            *(b"\x01\x67", _signed(values["temperature_1"] * 10, 2)),
            *(b"\x02\x68", humidity),
            *(b"\x03\x73", _signed(values["barometric_pressure_3"] * 10, 2)),
        )
    )


def _encode_wagon(values: dict[str, Any]) -> bytes:
    return bytes([values["shock"]]) + _signed(values["axleCelsius"], 1) + bytes([values["loaded"]])


_ENCODERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    COLD_ROOM: _encode_cold_room,
    TRACKER: _encode_tracker,
    TIDE_GAUGE: _encode_tide,
    WEATHER: _encode_weather,
    WAGON: _encode_wagon,
}

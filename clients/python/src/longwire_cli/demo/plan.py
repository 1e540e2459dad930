"""The company: its groups, device types, people and devices, the same for the same seed."""

import enum
import json
import random
from dataclasses import dataclass
from typing import Any

from longwire_cli.demo.clock import DAY

# How far back records go, those of meters, and the company itself.
HISTORY_DAYS = 3
METER_DAYS = 30
PAST = 5 * DAY

ROOT = "Harbour"
DEMO_TAG = "demo"

# Each group with its parent; parents come first.
GROUPS: dict[str, str] = {
    "Quay 3": ROOT,
    "Berths": "Quay 3",
    "Depot": ROOT,
    "Cold chain": ROOT,
    "Cold store A": "Cold chain",
    "Reefer yard": "Cold chain",
    "Rail": ROOT,
}
DESCRIPTIONS = {
    ROOT: "A harbour company in Rotterdam; everything in it is simulated.",
    "Quay 3": "Straddle carriers, tide gauges and call buttons on the quay.",
    "Berths": "Vessels that berth at Quay 3, as their transponders report them.",
    "Depot": "Trucks and energy meters.",
    "Cold chain": "What has to stay cold.",
    "Cold store A": "Cold rooms, 2 to 6 degrees.",
    "Reefer yard": "Frozen containers, below -15 degrees.",
    "Rail": "Wagons between the terminal and the hinterland.",
}

_SILENT_AFTER_S = 21_600

_COLD_ROOM_CODEC = """\
// Two bytes of temperature, one of humidity, one of flags.
function decodeUplink(input) {
  var bytes = input.bytes;
  if (bytes.length < 4) return { errors: ["expected 4 bytes, got " + bytes.length] };
  return {
    data: {
      celsius: (((bytes[0] << 8) | bytes[1]) << 16 >> 16) / 100,
      humidity: bytes[2] / 2,
      door: bytes[3] & 1 ? "open" : "closed"
    }
  };
}
"""

_TRACKER_CODEC = """\
function number(bytes, at) {
  return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
}
function decodeUplink(input) {
  var bytes = input.bytes;
  if (bytes.length < 9) return { errors: ["expected 9 bytes, got " + bytes.length] };
  return {
    data: {
      latitude: number(bytes, 0) / 1e6,
      longitude: number(bytes, 4) / 1e6,
      speed: bytes[8]
    }
  };
}
function encodeDownlink(input) {
  var seconds = input.data.reportEverySeconds;
  return { bytes: [1, seconds >> 8, seconds & 255], fPort: 10 };
}
function decodeDownlink(input) {
  return { data: { reportEverySeconds: (input.bytes[1] << 8) | input.bytes[2] } };
}
"""


def _type(name: str, display_name: str, **fields: Any) -> dict[str, Any]:
    """As `longwire device-type add --file` reads it."""
    configuration = {"silentAfterSeconds": _SILENT_AFTER_S, **fields.pop("configuration", {})}
    return {
        "name": name,
        "displayName": display_name,
        "defaultConfiguration": json.dumps(configuration),
        **fields,
    }


COLD_ROOM, TRACKER, TIDE_GAUGE, WEATHER, WAGON, VESSEL, METER, BUTTON = (
    "cold-room",
    "vehicle-tracker",
    "tide-gauge",
    "weather-mast",
    "wagon",
    "vessel",
    "energy-meter",
    "call-button",
)
DEVICE_TYPES: tuple[dict[str, Any], ...] = (
    _type(
        COLD_ROOM,
        "Cold room sensor",
        battery="1 x ER14505",
        firmwareVersion="2.4.1",
        decoder="javascript",
        decoderSource=_COLD_ROOM_CODEC,
    ),
    _type(
        TRACKER,
        "Vehicle tracker",
        battery="3 x AA",
        firmwareVersion="1.9.0",
        decoder="javascript",
        decoderSource=_TRACKER_CODEC,
        decodedLocation="latitude,longitude",
    ),
    _type(
        TIDE_GAUGE,
        "Tide gauge",
        battery="1 x D",
        firmwareVersion="3.0",
        decoder="bits",
        decoderSource="levelMillimetres::int:16 waterCelsius::int:8",
    ),
    _type(WEATHER, "Weather mast", firmwareVersion="5.2", decoder="cayenneLpp"),
    _type(
        WAGON,
        "Wagon sensor",
        battery="2 x C",
        firmwareVersion="1.1",
        decoder="bits",
        decoderSource="shock::uint:8 axleCelsius::int:8 loaded:2:bool:0",
    ),
    _type(VESSEL, "Vessel transponder"),
    _type(
        METER,
        "Energy meter",
        configuration={"reportEverySeconds": 900, "tariff": "day", "pulsesPerUnit": 1_000},
    ),
    _type(BUTTON, "Call button", battery="1 x CR2032", configuration={"longPressSeconds": 3}),
)
DECODED_TYPES = tuple(each["name"] for each in DEVICE_TYPES if "decoder" in each)


def _measurement(name: str, label: str, unit: str = "", **fields: Any) -> dict[str, Any]:
    """As `PUT /device/type/measurements` reads it."""
    known = {"name": name, "label": label, "path": f"/data/{name}", **fields}
    return {**known, "unit": unit} if unit else known


# What the types measure, where a label, a unit or a class says more than the numbers.
MEASUREMENTS: dict[str, list[dict[str, Any]]] = {
    COLD_ROOM: [
        _measurement("celsius", "Temperature", "°C", decimals=1, minimum=-40, maximum=60),
        _measurement("humidity", "Humidity", "%", decimals=1, minimum=0, maximum=100),
        _measurement("door", "Door", **{"class": "state"}),
    ],
    METER: [
        _measurement("kilowattHours", "Energy", "kWh", decimals=1, **{"class": "counter"}),
        _measurement("kilowatts", "Power", "kW", decimals=1, minimum=0),
    ],
    TIDE_GAUGE: [
        _measurement("levelMillimetres", "Water level", "mm"),
        _measurement("waterCelsius", "Water temperature", "°C"),
    ],
    WAGON: [
        _measurement("axleCelsius", "Axle temperature", "°C"),
        _measurement("loaded", "Loaded", **{"class": "state"}),
    ],
    TRACKER: [_measurement("speed", "Speed", "km/h", minimum=0)],
}


# --- people ---


@dataclass(frozen=True, slots=True)
class DemoPerson:
    first_name: str
    last_name: str
    role: str  # its id; for a custom role its name
    group: str

    @property
    def email(self) -> str:
        return f"{self.first_name.lower()}@harbour.example"


DISPATCHER = "Dispatcher"
DISPATCHER_PERMISSIONS = (
    *("group.read", "device.read", "record.read", "metrics.read", "connector.read"),
    *("device.update", "device.downlink", "connector.resend", "notification.read"),
)
ADMINISTRATOR = DemoPerson("Anna", "Visser", "administrator", ROOT)
MANAGER = DemoPerson("Joris", "Bakker", "manager", ROOT)
VIEWER = DemoPerson("Mina", "Haddad", "viewer", ROOT)
PEOPLE = (
    ADMINISTRATOR,
    MANAGER,
    VIEWER,
    DemoPerson("Tom", "Okafor", DISPATCHER, "Rail"),
    DemoPerson("Eva", "Lindqvist", "member", "Cold chain"),
)
INVITED = DemoPerson("Lena", "Brandt", "viewer", "Depot")  # has not accepted yet
VIEWER_EMAIL = VIEWER.email


# --- devices ---


class Condition(enum.Enum):
    """What the operator of a fleet has to find."""

    FINE = enum.auto()
    SILENT = enum.auto()
    BATTERY_LOW = enum.auto()
    DRIFTING = enum.auto()
    NEW = enum.auto()  # has never reported


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """A device as it is going to be created; all it ever reports follows from this and the time."""

    number: int  # in its group
    name: str
    type: str
    network: str
    original_id: str
    group: str
    tags: tuple[str, ...]
    condition: Condition


@dataclass(frozen=True, slots=True)
class _Share:
    """Devices of a type in a group, and how many there are of sixty."""

    type: str
    group: str
    network: str
    weight: int
    names: tuple[str, ...]
    tags: tuple[str, ...] = ()


_SHARES = (
    _Share(COLD_ROOM, "Cold store A", "chirpstack", 12, ("Cold room",), ("food", "indoor")),
    _Share(COLD_ROOM, "Reefer yard", "chirpstack", 6, ("Reefer",), ("food", "frozen")),
    _Share(TRACKER, "Quay 3", "ttn", 6, ("Straddle carrier", "Reach stacker"), ("vehicle",)),
    _Share(TRACKER, "Depot", "ttn", 5, ("Truck",), ("vehicle", "road")),
    _Share(WAGON, "Rail", "vendor", 10, ("Wagon",), ("rail",)),
    _Share(VESSEL, "Berths", "ais", 6, ()),
    _Share(METER, "Depot", "api", 5, ("Energy meter",), ("energy",)),
    _Share(TIDE_GAUGE, "Quay 3", "vendor", 3, ("Tide gauge",), ("water",)),
    _Share(BUTTON, "Quay 3", "api", 3, ("Call button",)),
    _Share(WEATHER, ROOT, "ttn", 2, ("Weather mast",), ("outdoor",)),
    _Share(WEATHER, "Rail", "ttn", 2, ("Track weather",), ("outdoor",)),
)
DEVICES_MIN = len(_SHARES)
DEVICES_DEFAULT = sum(share.weight for share in _SHARES)
_VESSELS = (
    *("Noordzee Trader", "Zeldenrust", "Baltic Heron", "Maasvogel", "Aurora Lines VII"),
    *("Gentle Tide", "Brielle Pioneer", "Sont Express", "Kaap Verde", "Lek Navigator"),
)


def plan_devices(number: int, seed: int) -> list[DevicePlan]:
    """The devices of a fleet of this size, group by group."""
    rng = random.Random(seed)
    return [
        _plan_device(share, each, count, rng)
        for share, count in zip(_SHARES, _divide(number), strict=True)
        for each in range(count)
    ]


def _divide(number: int) -> list[int]:
    """One device for every share, and the others by weight."""
    total = sum(share.weight for share in _SHARES)
    spare = max(0, number - DEVICES_MIN)
    ideal = [max(0.0, number * share.weight / total - 1) for share in _SHARES]
    scale = spare / (sum(ideal) or 1)
    counts = [1 + int(each * scale) for each in ideal]
    for index in range(max(0, number - sum(counts))):
        counts[index % len(counts)] += 1
    return counts


def _plan_device(share: _Share, number: int, count: int, rng: random.Random) -> DevicePlan:
    if share.type == VESSEL:
        name = _VESSELS[number % len(_VESSELS)]
        name += "" if number < len(_VESSELS) else f" {number // len(_VESSELS) + 1}"
    else:
        name = f"{share.names[number % len(share.names)]} {number + 1:02d}"
    return DevicePlan(
        number=number,
        name=name,
        type=share.type,
        network=share.network,
        original_id=_original_id(share, number, rng),
        group=share.group,
        tags=(*share.tags, DEMO_TAG),
        condition=_condition_of(share, number, count),
    )


def _original_id(share: _Share, number: int, rng: random.Random) -> str:
    """Unique for each network: a random part that tells companies apart, and the number."""
    if share.network in ("chirpstack", "ttn"):
        kind = _SHARES.index(share)
        return f"70B3D5{rng.getrandbits(16):04X}{kind:02X}{number:04X}"
    if share.network == "vendor":
        return f"{_SHARES.index(share) + 1:X}{rng.getrandbits(12):03X}{number:04X}"
    return f"{share.type}-{rng.getrandbits(16):04x}-{number + 1:03d}"


def _condition_of(share: _Share, number: int, count: int) -> Condition:
    if share.type == METER:
        return Condition.DRIFTING if number % 2 == 0 else Condition.FINE
    if share.type == WAGON and number % 5 == 0:
        return Condition.SILENT
    if share.type == TRACKER and number % 4 == 0:
        return Condition.BATTERY_LOW
    if share.type == COLD_ROOM and count > 5 and number == count - 1:
        return Condition.NEW
    if share.type == COLD_ROOM and number % 11 == 8:
        return Condition.BATTERY_LOW
    return Condition.FINE

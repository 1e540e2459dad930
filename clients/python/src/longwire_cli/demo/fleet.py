"""The devices of the company as the service knows them, and what each of them reports next."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from longwire_cli.demo import physics
from longwire_cli.demo.client import Api, Json
from longwire_cli.demo.messages import Uplink
from longwire_cli.demo.plan import METER, Condition, DevicePlan

PAGE_ITEMS = 1_000
# What the policy of the depot asks for; meters that drift still have the default of their type.
DEPOT_POLICY = {"reportEverySeconds": 1_800, "tariff": "night"}
_DRIFTED = {"reportEverySeconds": 900, "tariff": "day"}


@dataclass(slots=True)
class FleetDevice:
    """A device, and how far it has counted its messages."""

    plan: DevicePlan
    id: str
    sequence: int = 0
    battery_percent: float = field(init=False)

    def __post_init__(self) -> None:
        rng = random.Random(f"{self.plan.original_id} battery")
        is_low = self.plan.condition is Condition.BATTERY_LOW
        self.battery_percent = round(rng.uniform(6, 17) if is_low else rng.uniform(42, 100), 1)

    @property
    def is_active(self) -> bool:
        return self.plan.condition not in (Condition.SILENT, Condition.NEW)

    @property
    def has_radio(self) -> bool:
        return self.plan.network in ("chirpstack", "ttn", "vendor")

    @property
    def battery_volts(self) -> float:
        return round(2.4 + self.battery_percent / 100, 2)

    def next_uplink(self, at_ms: int) -> Uplink:
        self.sequence += 1
        payload = physics.encode(self.plan, physics.measure(self.plan, at_ms / 1_000))
        return Uplink(self.plan, payload, self.sequence, at_ms, self.battery_percent)

    def build_data(self, at_ms: int) -> Json:
        """A data record; the values of a payload are left to the decoder."""
        values = physics.measure(self.plan, at_ms / 1_000)
        payload = physics.encode(self.plan, values)
        return {
            "deviceId": self.id,
            "timestamp": at_ms,
            "data": json.dumps({} if payload else values),
            "configuration": json.dumps(self._reported_configuration()),
            "__raw": payload.hex(),
            "deviceType": self.plan.type,
        }

    def build_values(self, at_ms: int) -> Json:
        """The same without a payload, as a device sends it that needs no decoder."""
        values = physics.measure(self.plan, at_ms / 1_000)
        return {**self.build_data(at_ms), "data": json.dumps(values), "__raw": ""}

    def _reported_configuration(self) -> Json:
        if self.plan.type != METER:
            return {}
        return _DRIFTED if self.plan.condition is Condition.DRIFTING else DEPOT_POLICY

    def build_position(self, at_ms: int) -> Json:
        position = physics.locate(self.plan, at_ms / 1_000)
        return {
            "deviceId": self.id,
            "timestamp": at_ms,
            "lat": position.lat,
            "lng": position.lng,
            "radius": 10,
            "source": 1,
            "status": 1,
        }


@dataclass(frozen=True, slots=True)
class Fleet:
    group_id: str
    token: str  # with which networks report
    groups: dict[str, str]  # ids by name
    devices: list[FleetDevice]

    def of_type(self, *types: str) -> list[FleetDevice]:
        return [each for each in self.devices if each.plan.type in types]


async def load_fleet(api: Api, group_id: str, plans: list[DevicePlan]) -> Fleet:
    """What the service has of the planned devices."""
    groups = await list_all(api, "/user/groups", groupId=group_id)
    found = await list_all(api, "/devices", groupId=group_id, subgroups=True)
    ids = {(each["network"], each["originalId"].upper()): each["deviceId"] for each in found}
    keys = [(plan.network, plan.original_id.upper()) for plan in plans]
    return Fleet(
        group_id=group_id,
        token=next(each["token"] for each in groups if each["id"] == group_id),
        groups={each["name"]: each["id"] for each in groups},
        devices=[
            FleetDevice(plan, ids[key]) for plan, key in zip(plans, keys, strict=True) if key in ids
        ],
    )


async def list_all(api: Api, path: str, **params: Any) -> list[Json]:
    """All items of a paged list."""
    items: list[Json] = []
    while True:
        page = await api.get(path, limit=PAGE_ITEMS, **params)
        items += page["items"]
        if "nextToken" not in page:
            return items
        params["nextToken"] = page["nextToken"]

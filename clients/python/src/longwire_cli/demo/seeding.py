"""Fills an empty service with the company, as its people and programs would: by the HTTP API."""

import asyncio
import csv
import io
import itertools
import json
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from longwire_cli.demo import messages, receiver
from longwire_cli.demo.client import Api, ClientCredentials, Json
from longwire_cli.demo.clock import MILLISECOND, Clock, SystemClock, now
from longwire_cli.demo.errors import DemoError
from longwire_cli.demo.fleet import DEPOT_POLICY, Fleet, FleetDevice, load_fleet
from longwire_cli.demo.history import HOUR_MS, History, batched
from longwire_cli.demo.plan import (
    ADMINISTRATOR,
    COLD_ROOM,
    DECODED_TYPES,
    DEMO_TAG,
    DESCRIPTIONS,
    DEVICES_DEFAULT,
    DISPATCHER,
    DISPATCHER_PERMISSIONS,
    GROUPS,
    HISTORY_DAYS,
    INVITED,
    MANAGER,
    MEASUREMENTS,
    METER,
    PEOPLE,
    ROOT,
    TIDE_GAUGE,
    TRACKER,
    WAGON,
    WEATHER,
    Condition,
    DevicePlan,
    plan_devices,
)
from longwire_cli.demo.traffic import Traffic

SEED_DEFAULT = 1
_DAY_MS = 86_400_000
_DEVICES_PER_IMPORT = 1_000
_FIRST_MESSAGES_MAX = 500
_AT_ONCE = 16
_JOB_POLL_S = 0.1
_IMPATIENT = json.dumps({"silentAfterSeconds": 3_600})
_JOB_S_MAX = 120

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DemoAccess:
    """How the demo reaches the service: as its operator, and as people of the company.

    What somebody without credentials would do is done by the operator.
    """

    operator: Api
    people: Mapping[str, ClientCredentials] = field(default_factory=dict)

    def as_person(self, email: str) -> Api:
        credentials = self.people.get(email)
        return self.operator if credentials is None else self.operator.sign_in_as(credentials)


@dataclass(frozen=True, slots=True)
class SeedOptions:
    receiver_url: str  # where connectors and notifications deliver to
    downlink_url: str = ""  # where the networks accept downlinks
    devices: int = DEVICES_DEFAULT
    seed: int = SEED_DEFAULT
    history_days: float = HISTORY_DAYS
    clock: Clock | None = None  # of the service, which is turned to let the past pass


async def seed(
    access: DemoAccess, options: SeedOptions, report: Report = lambda step: None
) -> Fleet:
    """Create the company. The device types of the plan must exist: only an operator adds them."""
    plans = plan_devices(options.devices, options.seed)
    seeder = _Seeder(access, options)
    report("groups and people")
    groups = await seeder.create_groups()
    await seeder.create_people(groups)
    report(f"{len(plans)} devices")
    await seeder.create_devices(groups, plans)
    fleet = await load_fleet(access.operator, groups[ROOT], plans)
    report("the last days")
    await seeder.history.store(fleet)
    await seeder.decode(fleet)
    report("connectors, and the last hours")
    await seeder.create_connectors(fleet)
    traffic = Traffic(access.operator, fleet, options.seed, options.downlink_url, options.clock)
    await seeder.history.live_until(fleet, traffic, HOUR_MS)
    await seeder.run_jobs(fleet)
    await seeder.history.live_until(fleet, traffic, 0)
    seeder.history.end()
    report("notifications and first messages")
    await seeder.create_waiting_connector(fleet)
    await seeder.create_notifications(fleet)
    await seeder.create_reports(fleet)
    await seeder.send_first_messages(traffic, fleet)
    await seeder.change_things(fleet)
    return fleet


class _Seeder:
    def __init__(self, access: DemoAccess, options: SeedOptions) -> None:
        self._operator = access.operator
        self._administrator = access.as_person(ADMINISTRATOR.email)
        self._manager = access.as_person(MANAGER.email)
        self._access = access
        self._options = options
        self._rng = random.Random(options.seed)
        self._clock = options.clock or SystemClock()
        self.history = History(
            access.operator,
            self._rng,
            options.history_days,
            now() // MILLISECOND,
            options.clock,
        )

    def _now_ms(self) -> int:
        return self._clock.now() // MILLISECOND

    # --- groups and people ---

    async def create_groups(self) -> dict[str, str]:
        body = {"name": ROOT, "description": DESCRIPTIONS[ROOT], "tags": [DEMO_TAG]}
        ids = {ROOT: (await self._operator.post("/group", body))["id"]}
        for name, parent in GROUPS.items():
            body = {"name": name, "description": DESCRIPTIONS[name], "tags": [DEMO_TAG]}
            ids[name] = (await self._operator.post("/group", body, parentId=ids[parent]))["id"]
        return ids

    async def create_people(self, groups: Mapping[str, str]) -> None:
        role = {
            "name": DISPATCHER,
            "description": "Keeps wagons moving: reads everything, sends downlinks, resends",
            "permissions": ",".join(DISPATCHER_PERMISSIONS),
        }
        custom = {DISPATCHER: (await self._operator.post("/role", role))["id"]}
        for person in (*PEOPLE, INVITED):
            group = groups[person.group]
            invited = {
                "email": person.email,
                "groupId": group,
                "roleId": custom.get(person.role, person.role),
            }
            await self._operator.put("/group/invite", invited)
            if person.email in self._access.people:  # a request that names the group accepts
                await self._access.as_person(person.email).get("/group", groupId=group)
        expires_at_s = (self._now_ms() + 90 * _DAY_MS) // 1_000
        for group_name, client, about in (
            (ROOT, "terminal-operating-system", "Plans moves of containers"),
            ("Berths", "ais-gateway", "Stores positions of vessels"),
            ("Cold chain", "temperature-dashboard", "The screen in the cold store"),
        ):
            body: Json = {"groupId": groups[group_name], "name": client, "description": about}
            if client == "temperature-dashboard":
                body["expiration"] = expires_at_s
            await self._administrator.post("/appClient", body)

    # --- devices ---

    async def create_devices(self, groups: Mapping[str, str], plans: list[DevicePlan]) -> None:
        for name, of_group in itertools.groupby(
            sorted(plans, key=lambda plan: plan.group), key=lambda plan: plan.group
        ):
            for some in batched(of_group, _DEVICES_PER_IMPORT):
                await self._operator.request(
                    "POST",
                    "/devices/import",
                    {"groupId": groups[name]},
                    data=_to_csv(some).encode(),
                    headers={"Content-Type": "text/csv"},
                )
        for name, measurements in MEASUREMENTS.items():
            declared = {"type": name, "groupId": groups[ROOT], "measurements": measurements}
            await self._administrator.put("/device/type/measurements", declared)
        policy = {"groupId": groups["Depot"], "policy": DEPOT_POLICY}
        await self._administrator.put("/group/configuration", policy)

    # --- records ---

    async def decode(self, fleet: Fleet) -> None:
        """Jobs decode the stored payloads."""
        jobs = [
            await self._start_job(
                self._operator,
                fleet.group_id,
                kind="redecode",
                filter={"type": name, "subgroups": True},
                reason="history of the new sensors",
            )
            for name in DECODED_TYPES
        ]
        for job_id in jobs:
            await self.finish_job(fleet.group_id, job_id)

    async def send_first_messages(self, traffic: Traffic, fleet: Fleet) -> None:
        """A message of every device that is alive, or of some in a large fleet, and its battery."""

        async def report(device: FleetDevice) -> None:
            await traffic.report_battery(device)
            await traffic.report(device)

        active = [each for each in fleet.devices if each.is_active]
        await _for_each(report, active[:: 1 + len(active) // _FIRST_MESSAGES_MAX])
        await self._send_downlinks(traffic, fleet)

    async def _send_downlinks(self, traffic: Traffic, fleet: Fleet) -> None:
        """One that is fetched and acknowledged, one that waits, one cancelled, one pushed."""
        gauge = fleet.of_type(TIDE_GAUGE)[0]
        await traffic.queue_downlink(gauge)
        uplink = gauge.next_uplink(self._now_ms())
        await traffic.call(messages.build_vendor_uplink(uplink, self._rng, asks=True))
        acknowledged = messages.build_vendor_acknowledge(gauge.plan, uplink.at_ms + 1)
        await traffic.call(acknowledged)
        silent = self._silent_devices(fleet)[0]
        for payload in ("0100000000000001", "0200000000000002"):
            body: Json = {"deviceId": silent.id, "payload": payload}
            queued = await self._manager.post("/device/downlink", body)
        named = {"deviceId": silent.id, "downlinkId": queued["id"]}
        await self._manager.delete("/device/downlink", **named)
        if self._options.downlink_url:
            tracker = fleet.of_type(TRACKER)[0]
            await traffic.report(tracker)  # says where its downlinks go
            body = {"deviceId": tracker.id, "data": {"reportEverySeconds": 300}, "port": 10}
            await self._manager.post("/device/downlink", body)

    def _silent_devices(self, fleet: Fleet) -> list[FleetDevice]:
        return [each for each in fleet.devices if each.plan.condition is Condition.SILENT]

    # --- channels ---

    async def _create_connector(
        self, key: str, name: str, group: str, params: Json, **fields: object
    ) -> None:
        body = {"id": key, "groupId": group, "type": "http", "name": name, **fields}
        body["params"] = json.dumps({"subgroups": True, **params})
        await self._manager.post("/connector", {"tags": [DEMO_TAG], **body})

    async def create_connectors(self, fleet: Fleet) -> None:
        url, groups, root = self._options.receiver_url, fleet.groups, fleet.group_id
        create = self._create_connector

        async def deliver(key: str, name: str, **fields: object) -> None:
            await create(key, name, root, {"url": f"{url}/{key}"}, **fields)

        await deliver(
            receiver.WORKING,
            "Terminal operating system",
            description="Every record of the harbour, as it arrives",
        )
        await deliver(
            receiver.FAILING,
            "Port authority",
            description="Vessels and events; its server is down for some minutes now and then",
            messageFilter="message.kind == 'event' || message.deviceType == 'vessel'",
            retryPolicy={"retryDelay": 3, "maxRetry": 1},
        )
        await deliver(
            receiver.SLOW,
            "Energy billing",
            description="Takes its time",
            deviceTypes=[METER],
            format="cloudevents",
        )
        await create(
            receiver.LAKE,
            "Data lake",
            groups["Cold chain"],
            {"url": f"{url}/{receiver.LAKE}", "batch": 100},
            description="Temperatures, a hundred in a request",
            deviceTypes=[COLD_ROOM],
        )
        await deliver(
            "warm-goods",
            "Warm goods",
            description="Its filter adds a whole number to decimal ones, which CEL does not",
            deviceTypes=[COLD_ROOM],
            messageFilter="message.data.celsius + 1 > 7",
        )
        await create(
            "old-broker",
            "Old broker",
            root,
            {"url": "mqtt://127.0.0.1:1883", "topic": "harbour/{deviceType}/{deviceId}"},
            type="mqtt",
            description="Replaced by the terminal operating system",
            enabled=False,
        )

    async def create_waiting_connector(self, fleet: Fleet) -> None:
        """One whose messages wait, which they would not for as long as the past takes."""
        await self._create_connector(
            "weather-service",
            "Weather service",
            fleet.group_id,
            {"url": "nats://127.0.0.1:9", "subject": "harbour.weather.{deviceId}"},
            type="nats",
            description="Nobody listens there: messages wait for their next attempt",
            messageFilter="message.kind == 'data'",
            deviceIds=[fleet.of_type(WEATHER)[0].id],
        )

    async def _create_contact_points(self, group_id: str, hook: str) -> str:
        """Those of people, and a rota of them; its id."""

        async def create(name: str, type_name: str, params: Json) -> str:
            body = {"groupId": group_id, "name": name, "type": type_name}
            body["params"] = json.dumps({**params, "subgroups": True})
            created = await self._manager.post("/contactPoint", body)
            return str(created["id"])

        technicians = await create("Technicians", "webhook", {"url": hook})
        night = await create("Night shift", "webhook", {"url": hook})
        shifts = [
            {"contactPoint": technicians, "days": [1, 2, 3, 4, 5], "from": "07:00", "to": "19:00"},
            {"contactPoint": night, "days": [1, 2, 3, 4, 5], "from": "19:00", "to": "07:00"},
        ]
        rota = {"timezone": "Europe/Amsterdam", "shifts": shifts, "fallback": night}
        return await create("On call", "rota", rota)

    async def create_notifications(self, fleet: Fleet) -> None:
        hook, groups = f"{self._options.receiver_url}/{receiver.ALARMS}", fleet.groups

        async def create(name: str, group: str, params: Json, **fields: object) -> str:
            body = {"groupId": groups[group], "type": "webhook", "name": name, **fields}
            body["params"] = json.dumps({"url": hook, **params})
            created = await self._manager.post("/notification", {"tags": [DEMO_TAG], **body})
            return str(created["id"])

        on_call = await self._create_contact_points(groups[ROOT], hook)
        failing = {"contactPoints": [on_call]}
        await create("A connector fails", ROOT, failing, reason="connectorFailing")
        # A device that reports at random is quiet for longer in a large fleet.
        silent_after_s = max(120, 2 * len(fleet.devices))
        await create("Wagon silent", "Rail", {"silentAfter": silent_after_s}, reason="deviceSilent")
        await create("Battery of a vehicle", "Quay 3", {"batteryBelow": 20}, reason="batteryLow")
        await create("Meter drifts", "Depot", {}, reason="configurationDrift")
        await create(
            "Vessel leaves",
            "Berths",
            {"geofence": {"lat": 51.956, "lng": 4.1, "radius": 9_000}, "throttle": 600},
            reason="geofenceExit",
        )
        door = {
            "when": "message.severity == 'high'",
            "subject": "{{ message.deviceName }}: door open",
            "throttle": 60,
        }
        tested = await create("Door of a cold room", "Cold store A", door, reason="doorOpen")
        await create(
            "Night watch",
            "Quay 3",
            {"timezone": "Europe/Amsterdam"},
            reason="longPressed",
            schedule={
                "Day": 6,
                "From": {"Hours": 22, "Minutes": 0},
                "To": {"Hours": 6, "Minutes": 0},
            },
        )
        await create("Old alarm", ROOT, {}, reason="alarm", enabled=False)
        test = {"notificationId": tested, "groupId": groups["Cold store A"]}
        await self._manager.post("/notification/test", test)

    async def create_reports(self, fleet: Fleet) -> None:
        """A sheet for each morning, which somebody has asked for at once, and others for later."""
        hook = f"{self._options.receiver_url}/{receiver.REPORTS}"

        async def create(
            name: str, every: str, content: str, parameters: Json, **fields: object
        ) -> str:
            body: Json = {"groupId": fleet.group_id, "name": name, "every": every}
            body["content"] = content
            body |= {"at": "06:00", "timezone": "Europe/Amsterdam", "format": "xlsx", **fields}
            body |= {"parameters": {"subgroups": True, **parameters}}
            to = {"type": "webhook", "params": {"url": hook}}
            created = await self._manager.post("/report", {**body, "to": to})
            return str(created["id"])

        by_room = {"measurement": "celsius", "combine": "none", "type": COLD_ROOM}
        asked = await create("Cold rooms by the hour", "day", "series", by_room)
        await create("Alarms of the month", "month", "alarms", {}, at="07:30")
        await create("Fleet list", "week", "devices", {}, format="csv", enabled=False)
        await self._manager.post("/report/send", {"groupId": fleet.group_id, "reportId": asked})

    # --- changes ---

    async def change_things(self, fleet: Fleet) -> None:
        """What people change in the course of a day; the audit log has it before and after."""
        groups, administrator, manager = fleet.groups, self._administrator, self._manager
        cold, truck = fleet.of_type(COLD_ROOM)[0], fleet.of_type(TRACKER)[0]
        renamed = {"deviceId": cold.id, "groupId": groups[cold.plan.group]}
        await manager.put("/device", {**renamed, "name": "Cold room 01 (fish)"})
        await manager.put("/device", {**renamed, "tags": [*cold.plan.tags, "fish"]})
        moved = {"deviceId": truck.id, "groupId": groups[truck.plan.group]}
        await manager.put("/device", {**moved, "tags": [*truck.plan.tags, "workshop"]})
        # Sooner than their type asks for, so that those of the past are noticed now.
        for some in batched(self._silent_devices(fleet), _DEVICES_PER_IMPORT):
            body = {"groupId": groups["Rail"], "deviceIds": [each.id for each in some]}
            await manager.put("/devices", {**body, "configuration": _IMPATIENT})
        lake = {"connectorId": receiver.LAKE, "groupId": groups["Cold chain"]}
        patient = {"retryDelay": 30, "maxRetry": 20}
        await manager.put("/connector", {**lake, "retryPolicy": patient})
        await manager.put(
            "/connector", {**lake, "description": "Temperatures of the cold chain, in batches"}
        )
        text = "Trucks, energy meters, and the workshop."
        await administrator.put("/group", {"groupId": groups["Depot"], "description": text})
        renaming = {"name": "temperature-dashboard", "newName": "cold-store-screen"}
        await administrator.put("/appClient", {**renaming, "groupId": groups["Cold chain"]})
        hour = 3_600_000
        span = {"beginDate": self._now_ms() - 6 * hour, "endDate": self._now_ms()}
        await manager.post("/connector/replay", {**lake, **{k: str(v) for k, v in span.items()}})

    # --- jobs ---

    async def run_jobs(self, fleet: Fleet) -> None:
        """A job that stays, and one that somebody regrets."""
        rail, cold = fleet.groups["Rail"], fleet.groups["Cold chain"]
        kept = await self._start_job(
            self._manager,
            rail,
            kind="tag",
            filter={"type": WAGON, "q": "Wagon 0"},
            parameters={"addTags": ["winter-check"]},
            reason="inspection before winter",
        )
        regretted = await self._start_job(
            self._manager,
            cold,
            kind="tag",
            filter={"subgroups": True, "q": "Reefer 0"},
            parameters={"addTags": ["recall"]},
            reason="recall of a batch of sensors",
        )
        await self.finish_job(rail, kept)
        await self.finish_job(cold, regretted)
        body = {"groupId": cold, "jobId": regretted, "reason": "it was another batch"}
        undo = await self._manager.post("/job/undo", body)
        await self.finish_job(cold, undo["jobId"])

    async def _start_job(self, api: Api, group_id: str, **body: object) -> str:
        started = await api.post("/job", {"groupId": group_id, **body})
        return str(started["job"]["jobId"])

    async def finish_job(self, group_id: str, job_id: str) -> None:
        for _ in range(int(_JOB_S_MAX / _JOB_POLL_S)):
            job = await self._operator.get("/job", groupId=group_id, jobId=job_id)
            if job["state"] not in ("waiting", "running"):
                return
            await asyncio.sleep(_JOB_POLL_S)
        raise DemoError(f"job {job_id} does not end")


def _to_csv(plans: Iterable[DevicePlan]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("name", "originalId", "type", "network", "tags"))
    for plan in plans:
        tags = "|".join(plan.tags)
        writer.writerow((plan.name, plan.original_id, plan.type, plan.network, tags))
    return text.getvalue()


async def _for_each(
    work: Callable[[FleetDevice], Awaitable[None]], devices: Iterable[FleetDevice]
) -> None:
    """A bounded number at once."""
    remaining = iter(devices)

    async def take() -> None:
        for device in remaining:
            await work(device)

    await asyncio.gather(*(take() for _ in range(_AT_ONCE)))

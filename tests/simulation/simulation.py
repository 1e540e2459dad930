"""One run: a service, its clients, its receivers and its faults, all of them under one seed."""

import asyncio
import gc
import hashlib
import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longwire.dates import format_date
from longwire.settings import Settings
from tests.simulation import log
from tests.simulation import model as model_module
from tests.simulation.disk import SimulatedVfs
from tests.simulation.loop import SimLoop
from tests.simulation.model import KINDS, Model, Sent, Violation
from tests.simulation.network import Network, Weather
from tests.simulation.outside import MOODS, Client, Internet, Lost, Receiver, Response
from tests.simulation.service import NAME, Host, connect_egress
from tests.simulation.surroundings import SURROUNDINGS
from tests.world import basic

CLIENTS = 3
CONNECTORS = 2
DEVICES = 3
DEVICES_OF_JOBS = 40
JOBS_MAX = 15  # fewer than a device may have tags, and a group jobs that wait
CALM_WEATHER = Weather()
# Within so many virtual hours after the last fault nothing is on its way any more.
SETTLED_WITHIN_S = 2 * 3_600.0
STEPS_MAX = 50_000_000
# A caller with a connection that works gets an answer within this, whatever the others do.
WAIT_MAX_S = 120.0
LINES_MAX = 20_000

_REQUIRED: dict[str, dict[str, Any]] = {
    "data": {"configuration": "{}", "__raw": "0a1b", "deviceType": "generic"},
    "event": {"type": "doorOpened"},
    "geoloc": {"lat": 48.85, "lng": 2.35},
    "telemetry": {"deviceType": "generic", "nbBs": 3},
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to be like; equal plans make equal runs."""

    seed: int
    hours: float = 0.05
    pace: float = 1.0  # how much longer everybody waits in between
    faults: frozenset[str] | None = None  # None: all of them
    operations: frozenset[str] | None = None
    actions_max: int | None = None  # of clients, and of faults; for shrinking
    faults_max: int | None = None


@dataclass(slots=True)
class Outcome:
    """What became of a run."""

    plan: Plan
    digest: str
    violation: str | None
    trace: list[str]
    counted: Counter[str]
    hours: float
    operations: int
    faults: int


@dataclass(slots=True)
class Trace:
    """A run as a story, and the digest by which two runs are compared."""

    lines: list[str] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.blake2b)

    def write(self, text: str) -> None:
        line = f"{SURROUNDINGS.elapsed_s:14.6f} {text}"
        self.digest.update(line.encode() + b"\n")
        self.lines.append(line)
        if len(self.lines) > LINES_MAX:
            del self.lines[LINES_MAX // 4 : LINES_MAX // 2]


class Simulation:
    def __init__(self, plan: Plan, vfs: SimulatedVfs, template: Settings, folder: Path) -> None:
        SURROUNDINGS.reset(plan.seed)
        vfs.reset_randomness()
        random.seed(plan.seed)
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.trace = Trace()
        self.counted: Counter[str] = Counter()
        self.model = Model()
        self.loop = SimLoop(SURROUNDINGS, self._branch(), self.chance.choice((0.0, 0.05, 0.3)))
        self.network = Network(self.loop, self._branch())
        self.host = Host(
            self.loop, self.network, vfs, folder, template, self._branch(), self.trace.write
        )
        self.internet = Internet(self.network)
        self.receivers: dict[int, Receiver] = {}  # by the number of the channel
        self.operations = 0
        self.faults = 0
        self._credentials = json.loads((template.data / "operator.json").read_text())
        self._token = ""
        self._group = ""
        self._devices: list[str] = []
        self._unexpected: list[str] = []  # that no fault explains
        self._names = 0
        self._jobs = 0
        self._workshop = ""
        self._switched = 0  # the channel of a connector that is disabled and enabled
        self._switched_id: str | None = None
        self._is_switching = False
        self._alerts = Receiver(0, self.loop, self._branch())
        outside = copy_context()
        self.loop.connect = lambda sock, protocol: self.internet.wire(sock, protocol, outside)
        self.loop.set_exception_handler(self._note_loop_error)
        connect_egress(self.internet.dial)
        log.set_sink(self._note_log)

    def _branch(self) -> random.Random:
        return random.Random(self.chance.getrandbits(64))

    def _note_loop_error(self, loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self._unexpected.append(f"{context['message']}: {type(error).__name__}")
        self.trace.write(f"error in the loop: {self._unexpected[-1]}")

    def _note_log(self, level: str, text: str) -> None:
        self.trace.write(f"{level}: {text}")
        if "exception=" in text and "DatabaseFailedError" not in text:
            self._unexpected.append(text)
        self.counted[f"logged: {level}"] += 1

    # --- the run ---

    def run(self) -> Outcome:
        violation = None
        self.host.start()
        work = self.loop.create_task(self._run())
        try:
            self.loop.run_until_complete(work)
        except Violation as found:
            violation = str(found)
            self.trace.write(f"VIOLATION: {found}")
        finally:
            self._clean_up()
        self.counted.update(self.loop.counted)
        self.counted.update(self.network.counted)
        self.counted.update(self.host.counted)
        self.counted.update(self.host.disk.counted)
        for receiver in self.internet.receivers.values():
            self.counted.update(receiver.counted)
        self.counted.update({f"reached: {name}": n for name, n in self.model.reached.items()})
        return Outcome(
            self.plan,
            self.trace.digest.hexdigest()[:32],
            violation,
            self.trace.lines,
            self.counted,
            SURROUNDINGS.elapsed_s / 3_600,
            self.operations,
            self.faults,
        )

    def _clean_up(self) -> None:
        asyncio.set_event_loop(None)
        self.host.process.die()
        for task in list(asyncio.all_tasks(self.loop)):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.host.process.bury()
        shutil.rmtree(self.host.disk.folder, ignore_errors=True)
        gc.collect()

    async def _run(self) -> None:
        await self._set_up()
        ends_at = self.loop.time() + self.plan.hours * 3_600
        clients = [asyncio.create_task(self._act(number, ends_at)) for number in range(CLIENTS)]
        faults = asyncio.create_task(self._inject(ends_at))
        await asyncio.gather(*clients, faults)
        await self._settle()
        self.trace.write(
            f"over: {len(self.model.sent)} sent, {self.model.acknowledged} acknowledged, "
            f"{self.loop.steps} steps"
        )

    async def _set_up(self) -> None:
        client = await self._retry(self._sign_in)
        group = await self._ask(client, "POST", "/group", {"name": "simulated"})
        self._group = str(group["id"])
        for number in range(DEVICES):
            body = {
                "groupId": self._group,
                "name": f"device {number}",
                "type": "generic",
                "originalId": f"{number:06X}",
                "network": "mqtt",
            }
            device = await self._ask(client, "POST", "/device", body)
            self._devices.append(str(device["deviceId"]))
        for number in range(1, CONNECTORS + 2):
            receiver = self._add_receiver(number)
            body = {
                "groupId": self._group,
                "type": "http",
                "params": json.dumps({"url": receiver.url}),
                "retryPolicy": {"retryDelay": 10, "maxRetry": 5},
            }
            created = await self._ask(client, "POST", "/connector", body)
            channel = self._find_channel(created["id"])
            self.receivers[channel] = receiver
            if number <= CONNECTORS:
                self.model.connectors[created["id"]] = channel
            else:
                self._switched, self._switched_id = channel, created["id"]
        await self._set_up_workshop(client)
        self._alerts = self._add_receiver(number + 1)
        condition = {"measurement": "temperature", "above": -15, "hysteresis": 2}
        body = {
            "groupId": self._group,
            "type": "webhook",
            "name": "too warm",
            "reason": "measurement",
            "params": json.dumps({"url": self._alerts.url, **condition}),
        }
        await self._ask(client, "POST", "/notification", body)
        self.trace.write("set up")

    async def _set_up_workshop(self, client: Client) -> None:
        """A group whose devices are changed by jobs, and by nobody else."""
        group = await self._ask(client, "POST", "/group", {"name": "workshop"})
        self._workshop = str(group["id"])
        body = {
            "groupId": self._workshop,
            "type": "generic",
            "network": "mqtt",
            "originalDevicesIds": [f"{number:08X}" for number in range(DEVICES_OF_JOBS)],
        }
        await self._ask(client, "POST", "/devices", body)

    def _add_receiver(self, number: int) -> Receiver:
        receiver = Receiver(number, self.loop, self._branch())
        self.internet.receivers[receiver.address] = receiver
        return receiver

    def _find_channel(self, connector: str) -> int:
        return self._query("select number from channel where id = ?", connector)[0][0]

    def _query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.host.disk.folder / NAME)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    async def _sign_in(self) -> Client:
        client = Client(self.host)
        found = await self._ask_token(
            client, self._credentials["clientId"], self._credentials["clientSecret"]
        )
        if found.status != 200:
            self.trace.write(f"signing in: {found.status} {found.body!r}")
            raise Lost
        client.token = self._token = found.json()["access_token"]
        return client

    async def _ask_token(self, client: Client, name: str, secret: str) -> Response:
        return await client.exchange(
            "POST",
            "/oauth2/token",
            b"grant_type=client_credentials",
            "application/x-www-form-urlencoded",
            basic(name, secret),
        )

    async def _ask(self, client: Client, method: str, path: str, body: Any = None) -> Any:
        response = await client.request(method, path, body)
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {response.body!r}")
        return response.json()

    async def _retry(self, work: Callable[[], Awaitable[Any]]) -> Any:
        for _ in range(600):
            try:
                return await work()
            except Lost:
                await asyncio.sleep(0.5)
        raise Violation("the service is not there")

    # --- what clients do ---

    async def _act(self, number: int, ends_at: float) -> None:
        chance = self._branch()
        client = Client(self.host, self._token)
        names = sorted(self.plan.operations or OPERATIONS)
        weights = [chance.choice((0, 1, 1, 3, 10)) for _ in names]
        weights = weights if any(weights) else [1] * len(names)
        while self.loop.time() < ends_at:
            thinks_s = chance.choice((0.01, 0.1, 1.0, 10.0)) * self.plan.pace
            for _ in range(chance.randrange(1, 30)):
                if self.plan.actions_max is not None and self.operations >= self.plan.actions_max:
                    return
                (name,) = chance.choices(names, weights)
                self.operations += 1
                self.counted[f"operation {name}"] += 1
                try:
                    await OPERATIONS[name](self, client, chance)
                except Lost:
                    self.counted["no response"] += 1
                    await asyncio.sleep(chance.uniform(0.1, 2.0))
                if self.loop.time() >= ends_at:
                    return
                await asyncio.sleep(chance.expovariate(1 / thinks_s))

    def _new_record(self, chance: random.Random, kind: str) -> Sent:
        word = f"w{len(self.model.sent):06d}"
        device = chance.choice(self._devices)
        at_us = SURROUNDINGS.look_at_wall() // 1_000 - chance.randrange(10) * 1_000_000
        body = {
            "deviceId": device,
            "timestamp": format_date(at_us),
            "data": word,
            **_REQUIRED[kind],
        }
        sent = self.model.sent[word] = Sent(word, kind, device, body)
        return sent

    async def _post(self, client: Client, kind: str, records: list[Sent]) -> None:
        for each in records:
            each.requests += 1
        if len(records) == 1:
            response = await client.request("POST", f"/device/{kind}", records[0].body)
        else:
            items = {"items": [each.body for each in records]}
            response = await client.request("POST", f"/device/{kind}/batch", items)
        words = f"{records[0].word} and {len(records) - 1} more" if records[1:] else records[0].word
        self._note_response(response, f"store {kind} {words}")
        for each in records:
            each.answers += 1
            each.is_acknowledged |= response.status == 200

    def _note_response(self, response: Response, what: str) -> None:
        self.trace.write(f"{what}: {response.status}")
        self.counted[f"response {response.status}"] += 1
        self.model.longest_wait_s = max(self.model.longest_wait_s, response.took_s)
        if response.status not in (200, 408, 429, 503):
            raise Violation(f"{what}: {response.status} {response.body[:300]!r}")

    async def store_one(self, client: Client, chance: random.Random) -> None:
        kind = chance.choice(KINDS)
        await self._post(client, kind, [self._new_record(chance, kind)])

    async def store_batch(self, client: Client, chance: random.Random) -> None:
        kind = chance.choice(KINDS)
        count = chance.choice((2, 5, 40))
        await self._post(client, kind, [self._new_record(chance, kind) for _ in range(count)])

    async def repeat(self, client: Client, chance: random.Random) -> None:
        """As a client that got no response does."""
        if self.model.sent:
            words = list(self.model.sent)[-50:]
            sent = self.model.sent[chance.choice(words)]
            if not sent.is_deleted:
                await self._post(client, sent.kind, [sent])

    async def list_records(self, client: Client, chance: random.Random) -> None:
        """7. A list has all that was there before it began, and nothing twice."""
        kind, device = chance.choice(KINDS), chance.choice(self._devices)
        wanted = {
            each.word
            for each in self.model.sent.values()
            if each.is_acknowledged and (each.kind, each.device) == (kind, device)
        }
        params: dict[str, Any] = {"deviceId": device, "limit": chance.choice((1, 7, 100, 1_000))}
        found: list[str] = []
        for _ in range(500):
            response = await client.request("GET", f"/device/{kind}", **params)
            self._note_response(response, f"list {kind} of {device[-4:]}")
            if response.status != 200:
                return
            page = response.json()
            for each in page["items"]:
                found += model_module.find_words(each["data"])
            if "nextToken" not in page:
                break
            params["nextToken"] = page["nextToken"]
        else:
            return
        if len(found) != len(set(found)):
            raise Violation("a list has a record twice")
        missing = [
            word for word in sorted(wanted - set(found)) if not self.model.sent[word].is_deleted
        ]
        if missing:
            raise Violation(f"a list does not have {missing[:3]}")

    async def store_value(self, client: Client, chance: random.Random) -> None:
        """A temperature, for which alarms are raised and resolved."""
        sent = self._new_record(chance, "data")
        value = {"temperature": chance.choice((-10, -16, -20)), "word": sent.word}
        sent.body["data"] = json.dumps(value)
        await self._post(client, "data", [sent])

    async def delete_records(self, client: Client, chance: random.Random) -> None:
        """10. Of one moment; of records that no request is still on its way with."""
        known = [each for each in self.model.sent.values() if not each.is_deleted]
        if not known:
            return
        meant = chance.choice(known[-100:])
        alike = [
            each
            for each in known
            if (each.kind, each.device) == (meant.kind, meant.device)
            and each.body["timestamp"] == meant.body["timestamp"]
        ]
        if not all(each.is_acknowledged and each.requests == each.answers for each in alike):
            return
        for each in alike:
            each.is_deleted = True
        response = await client.request(
            "PUT" if meant.kind == "data" else "DELETE",
            f"/device/{meant.kind}",
            deviceId=meant.device,
            timestamp=meant.body["timestamp"],
        )
        self._note_response(response, f"delete {meant.kind} {meant.word}")
        if response.status == 200:
            for each in alike:
                each.is_gone = True

    async def switch_connector(self, client: Client, chance: random.Random) -> None:
        """5. What is disabled sends nothing, from soon after the response on."""
        if self._is_switching or self._switched_id is None:
            return
        self._is_switching = True
        is_enabled = chance.random() < 0.5
        receiver = self.receivers[self._switched]
        receiver.disabled_at = None  # not known
        body = {
            "connectorId": self._switched_id,
            "groupId": self._group,
            "enabled": is_enabled,
        }
        try:
            response = await client.request("PUT", "/connector", body)
            self._note_response(response, f"enabled = {is_enabled}")
            if response.status == 200 and not is_enabled:
                receiver.disabled_at = self.loop.time()
                self.model.reached["connector disabled"] += 1
        finally:
            self._is_switching = False

    async def revoke_token(self, client: Client, chance: random.Random) -> None:
        """9. What a deleted app client had opens nothing any more."""
        self._names += 1
        body = {"groupId": self._group, "name": f"app {self._names}"}
        response = await client.request("POST", "/appClient", body)
        self._note_response(response, "create an app client")
        if response.status != 200:
            return
        app = response.json()
        other = Client(self.host)
        found = await self._ask_token(other, app["appClientId"], app["secret"])
        if found.status != 200:
            return
        other.token = found.json()["access_token"]
        named = {"name": self._group, "appClientId": app["appClientId"]}
        used = await other.request("GET", "/group", groupId=self._group)
        self.counted[f"response {used.status}"] += 1
        response = await client.request("DELETE", "/appClient", **named)
        self._note_response(response, "delete an app client")
        if response.status == 200:
            used = await other.request("GET", "/group", groupId=self._group)
            if used.status not in (401, 408, 429, 503):
                raise Violation(f"a revoked token was accepted: {used.status}")
            self.model.reached["token revoked"] += 1

    async def tag_by_job(self, client: Client, chance: random.Random) -> None:
        """8. A job does its work once, and another one takes it back."""
        if self._jobs >= JOBS_MAX:
            return
        self._jobs += 1
        body = {
            "kind": "tag",
            "groupId": self._workshop,
            "filter": {},
            "parameters": {"addTags": [f"tag-{self._jobs}"]},
        }
        response = await client.request("POST", "/job", body)
        self._note_response(response, f"job {self._jobs}")
        if response.status != 200:
            return
        self.model.reached["job started"] += 1
        if chance.random() < 0.5:
            named = {"groupId": self._workshop, "jobId": response.json()["job"]["jobId"]}
            await self._undo(client, named)

    async def _undo(self, client: Client, named: dict[str, Any]) -> None:
        for _ in range(20):
            response = await client.request("GET", "/job", **named)
            self._note_response(response, "look at a job")
            if response.status == 200 and "endedAt" in response.json():
                break
            await asyncio.sleep(1.0)
        else:
            return
        response = await client.request("POST", "/job/undo", named)
        self._note_response(response, "undo a job")
        if response.status == 200:
            self.model.reached["job undone"] += 1

    async def resend(self, client: Client, chance: random.Random) -> None:
        connector = chance.choice(list(self.model.connectors))
        named = {"connectorId": connector, "groupId": self._group}
        response = await client.request("POST", "/connector/resendData", named)
        self._note_response(response, "resend")

    async def read_counters(self, client: Client, chance: random.Random) -> None:
        now_s = SURROUNDINGS.look_at_wall() // 1_000_000_000
        params = {"groupId": self._group, "beginDate": now_s - 7_200, "endDate": now_s + 60}
        response = await client.request("GET", "/group/metrics", **params, timeSpan=600)
        self._note_response(response, "counters")

    # --- faults ---

    async def _inject(self, ends_at: float) -> None:
        chance = self._branch()
        names = sorted(self.plan.faults if self.plan.faults is not None else FAULTS)
        mean_s = chance.choice((2.0, 20.0, 120.0)) * self.plan.pace
        while names and self.loop.time() < ends_at:
            await asyncio.sleep(chance.expovariate(1 / mean_s))
            if self.plan.faults_max is not None and self.faults >= self.plan.faults_max:
                break
            name = chance.choice(names)
            self.faults += 1
            self.counted[f"fault: {name}"] += 1
            self.trace.write(f"fault: {name}")
            await FAULTS[name](self, chance)
        await asyncio.sleep(max(0.0, ends_at - self.loop.time()))
        self._calm()

    def _calm(self) -> None:
        self.network.weather = CALM_WEATHER
        for receiver in self.internet.receivers.values():
            receiver.mood = "well"

    async def kill(self, chance: random.Random) -> None:
        self.host.crash(is_power_loss=False)

    async def cut_power(self, chance: random.Random) -> None:
        self.host.crash(is_power_loss=True)

    async def kill_in_write(self, chance: random.Random) -> None:
        self._crash_at_access(chance, is_power_loss=False)

    async def cut_power_in_write(self, chance: random.Random) -> None:
        self._crash_at_access(chance, is_power_loss=True)

    def _crash_at_access(self, chance: random.Random, *, is_power_loss: bool) -> None:
        """At one of the next writes or flushes of the disk."""
        left = chance.randrange(1, 60)

        def on_access(what: str) -> bool:
            nonlocal left
            left -= 1
            if left:
                return False
            self.counted[f"crash amid a {what}"] += 1
            self.host.crash(is_power_loss=is_power_loss)
            return True

        self.host.disk.on_access = on_access

    async def stop(self, chance: random.Random) -> None:
        self.host.process.stop()

    async def fail_flush(self, chance: random.Random) -> None:
        self.host.disk.flush_fails = True
        await asyncio.sleep(chance.uniform(0.1, 5))
        self.host.disk.flush_fails = False

    async def fill_disk(self, chance: random.Random) -> None:
        self.host.disk.is_full = True
        await asyncio.sleep(chance.uniform(0.1, 30))
        self.host.disk.is_full = False

    async def slow_disk(self, chance: random.Random) -> None:
        self.host.disk.flush_s = chance.choice((0.01, 0.1, 1.0))
        await asyncio.sleep(chance.uniform(1, 30))
        self.host.disk.flush_s = 0.000_3

    async def bad_weather(self, chance: random.Random) -> None:
        self.network.weather = Weather(
            latency_s=chance.choice((0.001, 0.05, 0.5)),
            split=chance.choice((0.0, 0.5, 1.0)),
            stall=chance.choice((0.0, 0.01, 0.1)),
            reset=chance.choice((0.0, 0.01, 0.1)),
        )
        await asyncio.sleep(chance.uniform(1, 60))
        self.network.weather = CALM_WEATHER

    async def change_mood(self, chance: random.Random) -> None:
        receiver = chance.choice([*self.receivers.values(), self._alerts])
        receiver.mood = chance.choice(MOODS)
        if receiver is self.receivers[self._switched] and chance.random() < 0.3:
            receiver.mood = "gone"
        self.trace.write(f"receiver {receiver.address} is {receiver.mood}")

    async def step_clock(self, chance: random.Random) -> None:
        SURROUNDINGS.step_wall_clock(chance.choice((-300, -60, -1, 1, 60, 300)))

    # --- the end ---

    async def _settle(self) -> None:
        """11. When faults have stopped, everything ends; then everything is compared."""
        self.trace.write("faults have stopped")
        self._calm()
        self.host.disk.is_full = self.host.disk.flush_fails = False
        self.host.disk.on_access = lambda what: False
        began = self.loop.time()
        client = await self._retry(self._sign_in)
        while self.loop.time() - began < SETTLED_WITHIN_S:
            await asyncio.sleep(5.0)
            if self.host.process.is_ready and not self._count_open():
                break
        else:
            raise Violation(f"{self._count_open()} deliveries or jobs never ended")
        await self._retry(lambda: self._check_lists(client))
        file = self.host.disk.folder / NAME
        states = model_module.check_database(self.model, file)
        model_module.check_arrived(self.model, file, self.receivers)
        model_module.check_alerts(self._alerts)
        model_module.check_file(file)
        if self._unexpected:
            raise Violation(f"an unexpected error: {self._unexpected[0]}")
        for receiver in self.receivers.values():
            if receiver.got_too_much:
                raise Violation("sent to a receiver that was disabled or gone")
        self.trace.write(f"deliveries: {states}")

    def _count_open(self) -> int:
        """Of channels that are enabled."""
        sql = (
            "select count(*) from delivery d join channel c on c.number = d.channel_number"
            " where d.state < 2 and c.is_enabled"
        )
        jobs = "select count(*) from job where state in ('waiting', 'running')"
        return int(self._query(sql)[0][0]) + int(self._query(jobs)[0][0])

    async def _check_lists(self, client: Client) -> None:
        chance = self._branch()
        for _ in range(4):
            await self.list_records(client, chance)


Operation = Callable[[Simulation, Client, random.Random], Awaitable[None]]
OPERATIONS: dict[str, Operation] = {
    "store one": Simulation.store_one,
    "store a batch": Simulation.store_batch,
    "repeat": Simulation.repeat,
    "store a value": Simulation.store_value,
    "delete": Simulation.delete_records,
    "switch a connector": Simulation.switch_connector,
    "revoke a token": Simulation.revoke_token,
    "resend": Simulation.resend,
    "tag by job": Simulation.tag_by_job,
    "list": Simulation.list_records,
    "counters": Simulation.read_counters,
}
FAULTS: dict[str, Callable[[Simulation, random.Random], Awaitable[None]]] = {
    "kill": Simulation.kill,
    "power loss": Simulation.cut_power,
    "kill amid a write": Simulation.kill_in_write,
    "power loss amid a write": Simulation.cut_power_in_write,
    "stop": Simulation.stop,
    "flush fails": Simulation.fail_flush,
    "disk full": Simulation.fill_disk,
    "slow disk": Simulation.slow_disk,
    "bad network": Simulation.bad_weather,
    "mood of a receiver": Simulation.change_mood,
    "clock steps": Simulation.step_clock,
}

"""Freezers that report to services which die: what they sent, and which alarms must follow.

A value is repeated until it is acknowledged, and is older than the next one of its freezer. So how
often a limit without a time is exceeded follows from the values alone. Of all alarms it must be
true that they follow one another, and that each beginning and end is in one message: one of its
own, or a grouped one that counts it.
"""

import itertools
import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx

from longwire.clock import Clock
from longwire.ids import parse_delivery_id
from tests.delivery.receiver import Receiver
from tests.faults.ledger import Operator, operator_of
from tests.process import Service
from tests.reports import Body, devices, report
from tests.waiting import eventually
from tests.world import ok, walk

LIMIT = {"above": -15, "hysteresis": 2}
WARM, BETWEEN, COLD = -10, -16, -20

Rows = Callable[[str], list[tuple[Any, ...]]]


@dataclass(slots=True)
class FreezerLedger:
    """A group with freezers and notifications to a receiver; it outlives its services."""

    receiver: Receiver
    token: str  # valid beyond the lifetime of one process
    group: str
    fleet: list[str]
    # What was not acknowledged yet, and every temperature of each freezer in order.
    unknown: list[list[Body]] = field(default_factory=list)
    temperatures: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, service: Service, receiver: Receiver, number: int) -> "FreezerLedger":
        with operator_of(service) as operator:
            group = str(ok(operator.post("/group", {"name": "Cold store"}))["id"])
            return cls(receiver, service.token, group, devices(operator, group, number))

    def add_notification(self, service: Service, measurement: str, **params: Any) -> str:
        text = json.dumps({"url": self.receiver.url, "measurement": measurement, **LIMIT, **params})
        body = {"groupId": self.group, "type": "webhook", "name": measurement, "params": text}
        with operator_of(service, self.token) as operator:
            created = ok(operator.post("/notification", {**body, "reason": "measurement"}))
        return str(created["id"])

    def post(self, service: Service, path: str, body: Body) -> Body:
        with operator_of(service, self.token) as operator:
            return dict(ok(operator.post(path, body)))

    # --- values ---

    def read(self, service: Service, number: int, measurement: str, value: int) -> None:
        """A freezer reports a value; whether the service has survived that is seen later."""
        self.read_many(service, [number], measurement, value)

    def read_many(
        self, service: Service, numbers: Sequence[int], measurement: str, value: int
    ) -> None:
        now = Clock().now()
        text = json.dumps({measurement: value})
        self.unknown.append([report("data", self.fleet[each], now, text) for each in numbers])
        if measurement == "temperature":
            for each in numbers:
                self.temperatures[self.fleet[each]].append(value)
        self.repeat(service)

    def repeat(self, service: Service) -> None:
        """Send what was not acknowledged, in order, until the service is gone."""
        with operator_of(service, self.token) as operator:
            while self.unknown and _post(operator, self.unknown[0]):
                self.unknown.pop(0)

    @contextmanager
    def senders(self, services: Sequence[Service]) -> Iterator[None]:
        """Each freezer reports at random, to whichever of the services lives."""
        done = threading.Event()
        threads = [
            threading.Thread(target=self._send, args=(services, device, done))
            for device in self.fleet
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            done.set()
            for thread in threads:
                thread.join(120)
                assert not thread.is_alive()

    def _send(self, services: Sequence[Service], device: str, done: threading.Event) -> None:
        values = self.temperatures[device]
        chance = random.Random(f"{device} {len(values)}")
        with ExitStack() as stack:

            @cache
            def connect(service: Service) -> Operator:
                return stack.enter_context(operator_of(service, self.token))

            while not done.is_set():
                value = chance.choice((WARM, BETWEEN, COLD))
                body = report("data", device, Clock().now(), json.dumps({"temperature": value}))
                values.append(value)
                while not _post(connect(chance.choice(services)), [body]):
                    time.sleep(0.02)
                # Long enough for some to be pending until the clock says so.
                time.sleep(chance.choice((0.01, 0.02, 0.7)))

    # --- what must have followed ---

    def settle(self, service: Service, rows: Rows) -> None:
        """Wait until everything is sent, also what waits for the end of its minute."""

        def is_sent() -> bool:
            rows("update contact_window set due_at = 1 where due_at is not null")
            waiting = rows("select 1 from contact_window where due_at is not null limit 1")
            return not waiting and not rows("select 1 from delivery where state <> 2 limit 1")

        eventually(is_sent)

    def list_alarms(self, service: Service) -> list[Body]:
        """All of them, oldest first."""
        params = {"groupId": self.group, "state": "all", "limit": "1000"}
        with operator_of(service, self.token) as operator:
            found = walk(lambda **page: operator.get("/group/alarms", **page), **params)
        return sorted(found, key=lambda each: (each["raisedAt"], each.get("resolvedAt", "z")))

    def assert_sound(self, service: Service) -> None:
        """Alarms follow one another, and there is one message for each change."""
        alarms = self.list_alarms(service)
        by_place: defaultdict[tuple[str, str], list[Body]] = defaultdict(list)
        for each in alarms:
            by_place[each["notificationId"], each["deviceId"]].append(each)
        for some in by_place.values():
            for before, after in itertools.pairwise(some):
                assert before["resolvedAt"] <= after["raisedAt"], (before, after)
        sent, grouped = self.list_messages()
        twice = [key for key, ids in sent.items() if len(ids) > 1]
        assert not twice, f"sent more than once: {twice[:3]}"
        for (alarm_id, state), ids in sent.items():
            if state == "resolved" and (alarm_id, "raised") in sent:
                assert sent[alarm_id, "raised"][0] < ids[0], alarm_id
        resolved = sum("resolvedAt" in each for each in alarms)
        single = Counter(state for _, state in sent)
        assert single["raised"] + grouped["raised"] == len(alarms)
        assert single["resolved"] + grouped["resolved"] == resolved
        print(f"{len(alarms)} alarms, {resolved} resolved, {sum(grouped.values())} in groups")

    def list_messages(self) -> tuple[dict[tuple[str, str], list[tuple[int, int]]], Counter[str]]:
        """By alarm and state: its deliveries; and how many others were counted.

        What has arrived twice under one id is one delivery.
        """
        sent: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        grouped: Counter[str] = Counter()
        for request in {each.id: each for each in list(self.receiver.requests)}.values():
            message = request.json["message"]
            if message["kind"] == "alarms":
                grouped.update({name: message[name] for name in ("raised", "resolved")})
            else:
                delivery = parse_delivery_id(request.id)
                assert delivery is not None
                sent[message["alarmId"], message["state"]].append(delivery)
        return sent, grouped

    def assert_as_modelled(self, service: Service, notification: str) -> None:
        """Of the notification without times there are as many alarms as the values say."""
        alarms = [
            each for each in self.list_alarms(service) if each["notificationId"] == notification
        ]
        found = {
            device: (
                sum(each["deviceId"] == device for each in alarms),
                any(each["deviceId"] == device and "resolvedAt" not in each for each in alarms),
            )
            for device in self.fleet
        }
        assert found == {each: count_alarms(self.temperatures[each]) for each in self.fleet}


def count_alarms(values: Sequence[int]) -> tuple[int, bool]:
    """How many alarms values raise, and whether the last one is open."""
    count, is_open = 0, False
    for value in values:
        if not is_open and value > LIMIT["above"]:
            count, is_open = count + 1, True
        elif is_open and value <= LIMIT["above"] - LIMIT["hysteresis"]:
            is_open = False
    return count, is_open


def _post(operator: Operator, bodies: Sequence[Body]) -> bool:
    """Whether the records are acknowledged."""
    try:
        if len(bodies) == 1:
            response = operator.post("/device/data", bodies[0])
        else:
            response = operator.post("/device/data/batch", {"items": list(bodies)})
    except httpx.HTTPError:
        return False  # the service is gone, and the outcome unknown
    assert response.status_code in (200, 503), response.text
    return response.status_code == 200

"""Shared by tests of notifications: a group, a device, and a receiver of alerts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longwire.dates import format_date
from longwire.ids import parse_delivery_id
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.schema import delivery
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok

Json = dict[str, Any]


def _list_states(tx: Tx) -> set[int]:
    return {row.state for row in tx.rows(delivery.select())}


class Alarm:
    """A group with a device, and a notification to a receiver."""

    def __init__(
        self,
        person: Person,
        receiver: Receiver,
        *,
        group: str | None = None,
        params: Json | None = None,
        device: Json | None = None,
        **fields: Any,
    ) -> None:
        self.person = person
        self.world = person.world
        self.receiver = receiver
        self.group = group or person.group()
        self.device = person.device(self.group, **(device or {}))
        self.id = person.notification(self.group, receiver.url, params=params, **fields)

    @property
    def name(self) -> dict[str, str]:
        return {"notificationId": self.id, "groupId": self.group}

    @property
    def shown(self) -> Json:
        return dict(ok(self.person.get("/notification", **self.name)))

    def change(self, **fields: Any) -> Json:
        return dict(ok(self.person.put("/notification", {**self.name, **fields})))

    def event(self, type_name: str = "opened", **fields: Any) -> None:
        self.person.reports(
            fields.pop("device", self.device), "event", **{"type": type_name, **self._when(fields)}
        )

    def fix(self, lat: float, lng: float, **fields: Any) -> None:
        self.person.reports(self.device, "geoloc", lat=lat, lng=lng, **self._when(fields))

    def _when(self, fields: Json) -> Json:
        """Each at a moment of its own, unless given."""
        now = self.world.clock.now() // 1_000
        return {"timestamp": now + next(self.world.numbers) % 1_000 - 1_000, **fields}

    @property
    def queued(self) -> int:
        """How many alerts have been enqueued, sent or not."""
        return count_alerts(self.world, self.id)

    def alerts(self, count: int) -> list[Json]:
        """The alerts in the order they were queued, once all have arrived; there are no more."""
        assert self.queued == count
        arrived = self.receiver.wait_for(count)[:count]
        # Settled as well: a clock that is turned ends the leases of what is under way.
        eventually(lambda: DeliveryState.LEASED not in self.world.read(_list_states))
        arrived.sort(key=lambda request: parse_delivery_id(request.headers["webhook-id"]))
        return [each.json for each in arrived]

    def wait_for(self, count: int) -> list[Json]:
        """The same for alerts of the monitor."""
        eventually(lambda: self.queued >= count)
        return self.alerts(count)


def count_alerts(world: World, notification_id: str) -> int:
    def work(tx: Tx) -> int:
        numbers = [
            each.number for each in store_channels.list_all(tx) if each.id == notification_id
        ]
        return sum(row.channel_number in numbers for row in tx.rows(delivery.select()))

    return world.read(work)


@contextmanager
def alarmed(world: World, **fields: Any) -> Iterator[Alarm]:
    with Receiver() as receiver:
        yield Alarm(world.person(f"ada{next(world.numbers)}"), receiver, **fields)


def chirpstack_status(world: World, alarm: Alarm, level: float, *, ago_s: float = 0) -> None:
    """What ChirpStack says of a battery."""
    group = ok(alarm.person.get("/group", groupId=alarm.group))[0]
    device = ok(alarm.person.get("/device", deviceId=alarm.device))
    body = {
        "deduplicationId": f"d{next(world.numbers)}",
        "time": format_date(world.clock.now() - int(ago_s * 1_000_000)),
        "deviceInfo": {"devEui": device["originalId"]},
        "batteryLevel": level,
    }
    answer = world.http.post(
        "/network/chirpstack?event=status",
        content=json.dumps(body),
        headers={"Authorization": f"Bearer {group['token']}", "Content-Type": "application/json"},
    )
    ok(answer)

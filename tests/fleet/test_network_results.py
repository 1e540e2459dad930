"""What becomes of many downlinks and registrations at once is stored together."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import pytest

from longwire.delivery.channel_handlers import ChannelHandlers
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.engine import claiming, engine
from longwire.delivery.engine.claiming import ORPHANED, recover_orphans, settle
from longwire.delivery.engine.engine import LeaseRecovery
from longwire.delivery.engine.worker import AttemptRecord, LeasedDelivery
from longwire.fleet import downlink_grants, downlink_states, registrations
from longwire.fleet.network_channels import network_handlers
from longwire.model import SYSTEM
from longwire.process import maintenance
from longwire.store import pacing
from longwire.store.database import Database, Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_leases
from longwire.store.engines.sqlite import SQLite
from longwire.store.slots import run_in_slot
from longwire.work.leases import Lease
from tests.world import World, device_in, ok

Json = dict[str, Any]

MANY = 32
DOWN = Unreachable("connecting failed")
APIS = {
    "chirpstack_api_url": "http://127.0.0.1:1",
    "chirpstack_api_key": "key",
    "vendor_api_url": "http://127.0.0.1:1",
    "vendor_api_login": "user",
    "vendor_api_password": "password",
}


class Site:
    """A group with devices on a network; the test sends and settles what is queued for them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.devices: list[str] = []
        self.statements: list[str] = []  # of the last write, as far as SQLite tells

    def writes(self, work: Callable[[Tx], Any]) -> Any:
        """Trace a write that finds nothing cached, whatever background tasks have evicted."""
        statements: list[str] = []
        self.world.observe_own_changes()

        def traced(tx: Tx) -> Any:
            caches = self.world.database.context.caches
            caches.auth.clear()
            caches.config.clear()
            for device in self.devices:
                caches.devices.evict(device)
            if not isinstance(self.world.database, SQLite):
                return work(tx)
            tx.driver.set_trace_callback(statements.append)
            try:
                return work(tx)
            finally:
                tx.driver.set_trace_callback(None)

        result = self.world.write(traced)
        # A statement is reported once more for every row that a trigger sees.
        self.statements = [each.strip().lower() for each, _ in groupby(statements)]
        return result

    def writes_nothing_to(self, table: str) -> bool:
        return not any(each.startswith(f"update {table}") for each in self.statements)

    @property
    def handlers(self) -> ChannelHandlers:
        return network_handlers(self.world.database, self.world.app._dispatch, {})

    def claims(self, most: int) -> list[LeasedDelivery]:
        (channel,) = self.world.read(store_channels.list_all)

        def claim(tx: Tx) -> list[LeasedDelivery]:
            until = tx.now + 30_000_000
            lease = Lease(7, until, 0.0, 0.0)
            found: list[LeasedDelivery] = []
            for slot in range(tx.slots):
                left = most - len(found)
                tx.slot = slot
                claimed = delivery_leases.claim(tx, channel.number, left, 7, until)
                found += [LeasedDelivery(channel, each, lease, slot) for each in claimed]
            return found

        claimed = self.world.write(claim)
        assert len(claimed) == most
        return sorted(claimed, key=lambda leased: leased.claimed.seq)

    def settles(self, outcomes: Sequence[Outcome]) -> int:
        """Attempt what is due; returns how many statements it takes to store the outcomes."""
        attempts = list(map(AttemptRecord, self.claims(len(outcomes)), outcomes))
        self.writes(lambda tx: settle(tx, 1, attempts, self.handlers))
        return len(self.statements)

    def recovers(self, most: int) -> int:
        """Have a process die with so many; returns the statements to take these over."""
        self.claims(most)

        def recover(tx: Tx) -> int:
            recover_all = partial(
                recover_orphans, writer=1, expired_before=2**62, handlers=self.handlers
            )
            return sum(run_in_slot(slot, recover_all, tx) for slot in range(tx.slots))

        assert self.writes(recover) == most
        return len(self.statements)


class DownlinkSite(Site):
    def __init__(self, world: World, devices: int, network: str = "chirpstack") -> None:
        super().__init__(world)
        self.devices = [
            self.ada.device(self.home, network=network, originalId=f"{number:016x}")
            for number in range(devices)
        ]
        world.write(lambda tx: downlink_grants.allow(tx, SYSTEM, self.home, network))

    def queues(self, most: int, **fields: Any) -> list[str]:
        """Queue downlinks for the devices in turn."""
        return [
            self.queues_one(self.devices[each % len(self.devices)], **fields)
            for each in range(most)
        ]

    def queues_one(self, device: str, **fields: Any) -> str:
        body = {"deviceId": device, "payload": "0102030405060708", "port": 1, **fields}
        return str(ok(self.ada.post("/device/downlink", body))["id"])

    def shown(self) -> dict[str, Json]:
        """What the downlinks are shown as, by id."""
        pages = [
            ok(self.ada.get("/device/downlinks", deviceId=device, limit=100))["items"]
            for device in self.devices
        ]
        return {each["id"]: each for page in pages for each in page}

    def show(self, field: str) -> set[Any]:
        return {each.get(field) for each in self.shown().values()}

    def events(self, device: str) -> list[tuple[str, Json]]:
        """Type and data of the events of a device, in the order they came, but for the queued."""
        return [
            (each["type"].removeprefix("downlink"), json.loads(each["data"]))
            for each in self.ada.records(device, "event")
            if each["type"].startswith("downlink") and each["type"] != "downlinkQueued"
        ]


@pytest.mark.engine_free
def test_downlinks_that_fail_together_take_no_more_statements_than_two(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**APIS, delivery=False)
    site = DownlinkSite(world, devices=4)
    site.queues(6 + MANY)
    site.settles([DOWN] * 4)  # which reads all devices
    of_two = site.settles([DOWN, DOWN])
    assert site.settles([DOWN] * MANY) == of_two
    assert (site.show("state"), site.show("detail")) == ({"queued"}, {"connecting failed"})

    # Nothing is written for the same reason again.
    before = site.shown()
    world.clock.let_pass(seconds=60)
    site.settles([DOWN] * MANY)
    assert site.writes_nothing_to("downlink")
    assert site.shown() == before

    world.clock.let_pass(seconds=60)
    site.settles([Unreachable("timed out")] * (6 + MANY))
    assert site.show("detail") == {"timed out"}
    assert not {each["updatedAt"] for each in before.values()} & site.show("updatedAt")


@pytest.mark.engine_free
def test_downlinks_of_a_process_that_died_take_no_more_statements_than_two(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**APIS, delivery=False)
    site = DownlinkSite(world, devices=4)
    site.queues(4 + MANY)
    site.recovers(2)
    of_two = site.recovers(2)
    assert site.recovers(MANY) == of_two
    site.recovers(4 + MANY)
    assert (site.show("state"), site.show("detail")) == ({"queued"}, {ORPHANED.reason})


def test_deliveries_of_a_process_that_died_are_taken_over_in_steps_with_pauses(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(**APIS, delivery=False)
    site = DownlinkSite(world, devices=1)
    site.queues(5)
    site.claims(5)
    steps: list[int] = []

    async def count_step(database: Database, step: Callable[[Tx], int]) -> int:
        steps.append(await pacing.write_and_pause(database, step))
        return steps[-1]

    for module in (claiming, engine):
        monkeypatch.setattr(module, "ORPHANS_PER_STEP_MAX", 2)
    monkeypatch.setattr(engine, "write_and_pause", count_step)
    world._run(LeaseRecovery(world.database, 1, site.handlers, 16).recover(engine.FAR_FUTURE))
    assert sum(steps) == 5
    assert max(steps) == 2
    assert site.show("detail") == {ORPHANED.reason}


def test_outcomes_of_one_moment_are_stored_each_with_its_event_in_order(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DOWNLINKS_POLL_INTERVAL_S", 3_600)  # the test looks by itself
    world = make_world(**APIS, delivery=False)
    site = DownlinkSite(world, devices=3)
    device, moved, deleted = site.devices
    taken, refused, late, again, known = (
        site.queues_one(device),
        site.queues_one(device),
        site.queues_one(device, expiresIn=10),
        site.queues_one(device),
        site.queues_one(device),
    )
    left, lost = site.queues_one(moved), site.queues_one(deleted)
    other = site.ada.group("other")
    transfer = {"deviceId": moved, "groupId": site.home, "toGroupId": other}
    site.settles([DOWN] * 7)
    ok(site.ada.put("/device/transfer", transfer))
    ok(site.ada.delete("/device", deviceId=deleted, groupId=site.home))
    world.clock.let_pass(seconds=60)
    site.settles(
        [
            Delivered("network-1"),
            Refused("rejected", is_final=True),
            Refused("it is late", is_final=True),
            Unreachable("timed out"),
            Delivered("network-2", is_duplicate=True),
            Refused("the device is in another group now", is_final=True),
            Refused("the device was deleted", is_final=True),
        ]
    )
    assert site.events(device) == [
        ("Sent", {"id": taken, "tries": 2}),
        ("Failed", {"id": refused}),
        ("Expired", {"id": late}),
        ("Sent", {"id": known}),
    ]
    site.devices = [device]
    assert {key: (each["state"], each["detail"]) for key, each in site.shown().items()} == {
        taken: ("sent", "the network has taken it"),
        refused: ("failed", "rejected"),
        late: ("expired", "it has expired"),
        again: ("queued", "timed out"),
        known: ("sent", "the network has taken it"),
    }
    assert site.events(moved) == []
    stored = {row[0]: row for row in world.list_rows("downlink")}
    assert "failed" in stored[left]
    assert "network-1" in stored[taken]
    assert "network-2" in stored[known]
    assert lost not in stored


@pytest.mark.engine_free
def test_downlinks_that_expire_together_take_no_more_statements_than_two(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DOWNLINKS_POLL_INTERVAL_S", 3_600)  # the test looks by itself
    world = make_world(**APIS, delivery=False)
    site = DownlinkSite(world, devices=4)
    flying, *others = site.queues(3, expiresIn=60)
    site.claims(1)
    others += site.queues(1 + MANY, expiresIn=120)

    def expires(most: int) -> int:
        return int(
            site.writes(lambda tx: downlink_states.expire_downlinks(tx, world.app._dispatch, most))
        )

    assert expires(100) == 0
    world.clock.let_pass(seconds=61)
    assert expires(3) == 2, "the other is in flight"
    of_two = len(site.statements)
    world.clock.let_pass(seconds=60)
    assert expires(100) == 1 + MANY
    assert len(site.statements) == of_two
    assert expires(100) == 0
    shown = site.shown()
    assert shown[flying]["state"] == "queued"
    assert {(shown[each]["state"], shown[each]["detail"]) for each in others} == {
        ("expired", "it has expired")
    }
    stored = [event for device in site.devices for event in site.events(device)]
    assert sorted(data["id"] for _, data in stored) == sorted(others)


@pytest.mark.engine_free
def test_downlinks_that_the_network_did_not_fetch_expire_together(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DOWNLINKS_POLL_INTERVAL_S", 3_600)
    world = make_world(delivery=False)
    site = DownlinkSite(world, devices=2, network="vendor")
    asked = site.queues(6, expiresIn=60)
    world.clock.let_pass(seconds=61)
    expired = world.write(lambda tx: downlink_states.expire_downlinks(tx, world.app._dispatch, 100))
    assert expired == 6
    assert [data["id"] for _, data in site.events(site.devices[0])] == asked[::2]
    assert [data["id"] for _, data in site.events(site.devices[1])] == asked[1::2]


@pytest.mark.engine_free
def test_outcomes_for_devices_that_are_gone_change_nothing(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**APIS, delivery=False)
    site = DownlinkSite(world, devices=1)
    site.queues(2)
    ok(site.ada.delete("/device", deviceId=site.devices[0], groupId=site.home))
    site.settles([DOWN, Refused("the device was deleted", is_final=True)])
    assert world.list_rows("downlink") == []


@pytest.mark.engine_free
def test_outcomes_for_registrations_of_devices_that_are_gone_change_nothing(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**APIS, delivery=False)
    site = RegistrationSite(world)
    (device,) = site.creates(1, 1)
    ok(site.ada.delete("/device", deviceId=device, groupId=site.home))
    site.settles([Refused("the device was deleted", is_final=True)])
    assert world.list_rows("registration") == []


class RegistrationSite(Site):
    def creates(self, first: int, count: int) -> list[str]:
        return [self._creates_one(f"{number:X}") for number in range(first, first + count)]

    def _creates_one(self, number: str) -> str:
        asked = {
            "input": device_in(self.world, self.home, originalId=number, network="vendor"),
            "vendor": {"id": number, "deviceTypeId": "5d8cdc", "deviceName": "Buoy", "pac": "AA"},
        }
        return str(ok(self.ada.post("/device/vendor", asked))["deviceId"])

    def shown(self, devices: Sequence[str]) -> list[Json]:
        return [ok(self.ada.get("/device", deviceId=device)) for device in devices]

    def states(self, devices: Sequence[str]) -> list[Json]:
        return [json.loads(each["information"])["registration"] for each in self.shown(devices)]


@pytest.mark.engine_free
def test_registrations_that_fail_together_take_no_more_statements_than_two(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**APIS, delivery=False)
    site = RegistrationSite(world)
    devices = site.creates(1, 2 + MANY)
    of_two = site.settles([DOWN, DOWN])
    assert site.settles([DOWN] * MANY) == of_two
    down = {"state": "pending", "reason": "connecting failed"}
    assert site.states(devices) == [down] * (2 + MANY)

    # Nothing is written for the same reason again.
    before = site.shown(devices)
    world.clock.let_pass(seconds=60)
    site.settles([DOWN] * MANY)
    assert site.writes_nothing_to("device")
    assert site.writes_nothing_to("registration")
    assert site.shown(devices) == before


def test_outcomes_of_registrations_of_one_moment_are_each_shown(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**APIS, delivery=False)
    site = RegistrationSite(world)
    devices = site.creates(1, 5)
    site.settles(
        [
            Delivered("the network has taken it"),
            Refused("bad code", is_final=True),
            Unreachable("timed out"),
            Refused("none", is_final=True, code=FailureCode.NOT_CONFIGURED),
            Delivered(),
        ]
    )
    taken = {"state": "registered", "answer": "the network has taken it"}
    assert site.states(devices) == [
        taken,
        {"state": "failed", "reason": "bad code"},
        {"state": "pending", "reason": "timed out"},
        {"state": "pending", "reason": registrations.NOT_CONFIGURED},
        taken,
    ]
    stored = [row[1:6] for row in sorted(world.list_rows("registration"))]
    assert [(bool(pac), state, answer) for pac, _, state, answer, _ in stored] == [
        (False, "registered", "the network has taken it"),
        (True, "failed", "bad code"),
        (True, "pending", "timed out"),
        (True, "pending", None),
        (False, "registered", "the network has taken it"),
    ]
    assert [seq is None for *_, seq in stored] == [False, False, False, True, False]

    # A service with an API sends the one that has waited for it; others stay as they are.
    sent = world.write(lambda tx: registrations.send_waiting(tx, world.app._dispatch, 10))
    assert sent <= 1  # or it has done so when it started
    assert site.states(devices)[3] == {"state": "pending", "reason": registrations.QUEUED}
    world.clock.let_pass(seconds=60)
    site.settles([Delivered(), Delivered()])
    assert site.states(devices) == [taken, {"state": "failed", "reason": "bad code"}] + [taken] * 3


@pytest.mark.engine_free
def test_registrations_that_waited_for_an_api_take_no_more_statements_than_two(
    make_world: Callable[..., World],
) -> None:
    world = make_world(delivery=False)
    site = RegistrationSite(world)
    devices = site.creates(1, 4 + MANY)
    dispatch = replace(world.app._dispatch, networks=frozenset(["vendor"]))

    def sends(most: int) -> int:
        return int(site.writes(lambda tx: registrations.send_waiting(tx, dispatch, most)))

    assert sends(2) == 2  # which creates the channel
    assert sends(2) == 2
    of_two = len(site.statements)
    assert sends(100) == MANY
    assert len(site.statements) == of_two
    assert sends(100) == 0
    queued = {"state": "pending", "reason": registrations.QUEUED}
    assert site.states(devices) == [queued] * (4 + MANY)
    claimed = site.claims(4 + MANY)
    assert [each.claimed.device_id for each in claimed] == devices
    rows = sorted(world.list_rows("registration"))
    assert [row[5] for row in rows] == [each.claimed.seq for each in claimed]

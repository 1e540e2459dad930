"""Devices are made known to the vendor's network, and say how far that is."""

import json
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from longwire.fleet import registrations
from longwire.fleet.network_apis import sanitize_reply
from longwire.fleet.registration_channel import REGISTERED_ELSEWHERE
from longwire.store.schema import metadata
from tests import test_cli
from tests.delivery.receiver import HANG_UP, Received, Receiver, StubResponse
from tests.test_cli import Command, where
from tests.waiting import eventually
from tests.world import Person, World, device_in, nothing_happens, ok, refused

command = test_cli.command
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

Json = dict[str, Any]

PAC = "FEDCBA9876543210"
LOGIN = {"vendor_api_login": "api-user", "vendor_api_password": "canary-password"}
BASIC = "Basic " + b64encode(b"api-user:canary-password").decode()
CREATED = StubResponse(status=201, body=b'{"id":"56E3AD"}')


def api(receiver: Receiver) -> dict[str, str]:
    return {"vendor_api_url": receiver.url, **LOGIN}


def asked(world: World, group: str, number: str, **fields: Any) -> Json:
    vendor = {"id": number, "deviceTypeId": "5d8cdc", "deviceName": "Buoy", "pac": PAC, **fields}
    return {
        "input": device_in(world, group, originalId=number, network="vendor"),
        "vendor": vendor,
    }


class Fleet:
    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")

    def creates(self, number: str, **fields: Any) -> str:
        body = asked(self.world, self.home, number, **fields)
        return str(ok(self.ada.post("/device/vendor", body))["deviceId"])

    def stands(self, device: str) -> Json:
        shown = ok(self.ada.get("/device", deviceId=device))
        return dict(json.loads(shown["information"])["registration"])

    def becomes(self, device: str, state: str) -> Json:
        eventually(lambda: self.stands(device)["state"] == state)
        return self.stands(device)


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_device_is_registered_with_all_its_fields(
    make_world: Callable[..., World],
) -> None:
    with Receiver(503, HANG_UP, CREATED) as receiver, capture_logs() as logs:
        world = make_world(**api(receiver))
        fleet = Fleet(world)
        device = fleet.creates("56E3AD", lat=48.1, lng=-4.5, activable=True, automaticRenewal=False)
        for reason in ("answered with status 503", "the connection was closed before the response"):
            eventually(lambda reason=reason: fleet.stands(device)["reason"].startswith(reason))
            assert fleet.stands(device)["state"] == "pending"
            assert PAC not in repr(world.everything())
            world.clock.let_pass(seconds=400)
        assert fleet.becomes(device, "registered") == {
            "state": "registered",
            "answer": "the network has taken it",
        }
        requests = receiver.wait_for(3)
        assert {(each.method, each.path) for each in requests} == {("POST", "/hook/devices/")}
        assert {each.headers["authorization"] for each in requests} == {BASIC}
        assert requests[-1].json == {
            "id": "56E3AD",
            "name": "Buoy",
            "deviceTypeId": "5d8cdc",
            "pac": PAC,
            "lat": 48.1,
            "lng": -4.5,
            "activable": True,
            "automaticRenewal": False,
        }
        for secret in (PAC, "canary-password"):
            assert secret not in repr(world.everything())
            assert secret not in repr(logs)
        (row,) = world.list_rows("registration")
        assert "" in row, "what was sealed is not kept any longer"


@pytest.mark.slow
def test_a_refusal_is_final_and_an_operator_can_have_it_tried_again(
    make_world: Callable[..., World], command: Command
) -> None:
    reply = {"message": "Validation error:\n  bad PAC", "errors": [{"field": "pac"}]}
    tells_pac = {"message": f"pac {PAC.lower()} is unknown"}
    with Receiver(
        StubResponse(status=400, body=json.dumps(reply).encode()),
        StubResponse(status=400, body=json.dumps(tells_pac).encode()),
        StubResponse(status=403, body=b"<html>"),
    ) as receiver:
        world = make_world(**api(receiver))
        fleet = Fleet(world)
        device = fleet.creates("1")
        assert fleet.becomes(device, "failed")["reason"] == (
            "answered with status 400: Validation error: bad PAC"
        )
        assert fleet.becomes(fleet.creates("2"), "failed")["reason"] == "answered with status 400"
        assert fleet.becomes(fleet.creates("3"), "failed")["reason"] == "answered with status 403"
        assert len(receiver.requests) == 3

        rows = command("deliveries", "list", "--json", *where(world.settings)).json
        assert {(row["purpose"], row["state"]) for row in rows} == {("registration", "failed")}
        assert {row["connector"] for row in rows} == {f"registration:{fleet.home}"}
        ways = command("connectors", "--json", *where(world.settings)).json
        assert [(row["purpose"], row["failed"]) for row in ways] == [("registration", 3)]
        assert PAC not in repr((rows, ways)).upper()
        failed = next(row["id"] for row in rows if row["device"] == device)
        receiver.respond_with(CREATED)
        assert command("deliveries", "retry", failed, *where(world.settings)).code == 0
        fleet.becomes(device, "registered")


@on_sqlite
def test_a_device_that_the_network_knows_is_ours_or_somebody_elses(
    make_world: Callable[..., World],
) -> None:
    def answers(request: Received) -> int | StubResponse:
        if request.method == "POST":
            return StubResponse(status=409, body=b'{"message":"exists"}')
        return 200 if request.path == "/hook/devices/A1" else 404

    with Receiver(answers) as receiver:
        world = make_world(**api(receiver))
        fleet = Fleet(world)
        ours, theirs = fleet.creates("A1"), fleet.creates("A2")
        assert fleet.becomes(ours, "registered")["answer"] == "the network knew the device already"
        assert fleet.becomes(theirs, "failed")["reason"] == REGISTERED_ELSEWHERE
        assert len(receiver.requests) == 4
        # An id that is none would leave the path.
        body = asked(world, fleet.home, "..")
        refused(fleet.ada.post("/device/vendor", body), 400, "input.originalId")


@pytest.mark.slow
def test_registrations_wait_for_an_api_and_are_sent_once_there_is_one(
    make_world: Callable[..., World],
) -> None:
    with Receiver(CREATED) as receiver:
        world = make_world()
        fleet = Fleet(world)
        waiting = [fleet.creates(f"{number:X}") for number in range(1, 4)]
        gone = fleet.creates("77")
        for device in waiting:
            assert fleet.stands(device) == {
                "state": "pending",
                "reason": "the service has no vendor API configured yet",
            }
        ok(fleet.ada.delete("/device", deviceId=gone, groupId=fleet.home))
        world.settings = replace(world.settings, **api(receiver))
        world.restart()
        for device in waiting:
            fleet.becomes(device, "registered")
        world.restart()
        fleet.becomes(fleet.creates("88"), "registered")
        assert sorted(each.json["id"] for each in receiver.requests) == ["1", "2", "3", "88"]


@pytest.mark.slow
@on_sqlite
def test_a_registration_outlasts_an_api_that_is_away_for_a_while_and_a_wrong_password(
    make_world: Callable[..., World],
) -> None:
    with Receiver(401, CREATED) as receiver:
        world = make_world(**api(receiver), token_lifetime_s=7 * 86_400)
        fleet = Fleet(world)
        device = fleet.creates("1")
        eventually(lambda: "401" in fleet.stands(device)["reason"])
        named = world.settings
        world.settings = replace(named, vendor_api_url="", vendor_api_login="")
        world.restart()
        while open_deliveries(world):
            world.clock.let_pass(seconds=7_200)
            eventually(lambda: not has_something_due(world))
        assert fleet.stands(device) == {"state": "pending", "reason": registrations.NOT_CONFIGURED}
        world.settings = named
        world.restart()
        fleet.becomes(device, "registered")
        assert len(receiver.requests) == 2


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_several_processes_that_start_at_once_send_each_registration_once(
    make_world: Callable[..., World],
) -> None:
    world = make_world()
    fleet = Fleet(world)
    for number in range(1, 31):
        fleet.creates(f"{number:X}")
    named = replace(world.app._dispatch, networks=frozenset(["vendor"]))

    def start(_: int) -> int:
        return world.write(lambda tx: registrations.send_waiting(tx, named, 7))

    with ThreadPoolExecutor(4) as processes:
        began = list(processes.map(start, range(12)))
    assert sum(began) == 30
    table = metadata.tables["delivery"]
    queued = world.read(lambda tx: [row.device_id for row in tx.rows(table.select())])
    assert len(queued) == len(set(queued)) == 30


@on_sqlite
def test_nothing_is_sent_for_a_device_that_is_gone(make_world: Callable[..., World]) -> None:
    with Receiver(503, CREATED) as receiver:
        world = make_world(**api(receiver))
        fleet = Fleet(world)
        device = fleet.creates("1")
        receiver.wait_for(1)
        eventually(lambda: "503" in fleet.stands(device)["reason"])
        ok(fleet.ada.delete("/device", deviceId=device, groupId=fleet.home))
        world.clock.let_pass(seconds=60)
        eventually(lambda: open_deliveries(world) == 0)
        assert len(receiver.requests) == 1


def open_deliveries(world: World) -> int:
    table = metadata.tables["delivery"]
    return world.read(lambda tx: len(tx.rows(table.select().where(table.c.state < 2))))


def has_something_due(world: World) -> bool:
    table = metadata.tables["delivery"]
    is_open = table.c.state < 2
    return world.read(
        lambda tx: bool(tx.rows(table.select().where(is_open, table.c.due_at <= tx.now)))
    )


@pytest.mark.engine_free
def test_many_devices_are_created_together_and_registered_one_by_one(
    make_world: Callable[..., World],
) -> None:
    with Receiver(CREATED) as receiver:
        world = make_world(**api(receiver))
        fleet = Fleet(world)
        ada: Person = fleet.ada
        fields = [
            {
                "id": f"{number:X}",
                "deviceTypeId": "5d8cdc",
                "deviceName": f"Buoy {number}",
                "pac": f"{PAC}{number:X}",
            }
            for number in range(1, 4)
        ]
        body = {"groupId": fleet.home, "type": "tracker", "tags": ["sea"], "vendor": fields}
        with nothing_happens(world):
            twice = {**body, "vendor": [*fields, {**fields[0], "id": "01"}]}
            refused(ada.post("/devices/vendor", twice), 400, "vendor[3].id")
            wrong = {**body, "vendor": [fields[0], {**fields[1], "lat": 91, "pac": ""}]}
            refused(ada.post("/devices/vendor", wrong), 400, "vendor[1].lat", "vendor[1].pac")
            refused(ada.post("/devices/vendor", {**body, "vendor": []}), 400, "vendor")
            refused(ada.post("/devices/vendor", {**body, "vendor": fields * 400}), 400, "vendor")
            refused(ada.post("/devices/vendor", {**body, "type": "x"}), 400, "type")
        made = ok(ada.post("/devices/vendor", body))
        assert [(each["originalId"], each["name"]) for each in made["items"]] == [
            ("1", "Buoy 1"),
            ("2", "Buoy 2"),
            ("3", "Buoy 3"),
        ]
        for each in made["items"]:
            fleet.becomes(each["deviceId"], "registered")
        assert {each.json["pac"] for each in receiver.requests} == {each["pac"] for each in fields}
        with nothing_happens(world):
            refused(ada.post("/devices/vendor", body), 409, *(f"vendor[{n}].id" for n in range(3)))


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (None, ""),
        ("  not \n known ", "not known"),
        (f"the pac {PAC.lower()} is wrong", ""),
        ("x" * 300 + PAC, ""),
        ("bell \x07", ""),
        ("x" * 300, "x" * 200),
    ],
)
def test_words_of_the_network_are_shown_when_they_give_nothing_away(
    reply: str | None, shown: str
) -> None:
    assert sanitize_reply(reply, (PAC, "")) == shown

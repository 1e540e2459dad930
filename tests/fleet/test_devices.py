"""Devices: coming into being, being changed, handed over and deleted, one by one and in bulk."""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from longwire.fleet.devices import delete_devices, original_key
from longwire.model import Actor
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.records.record_deletion import delete_erased
from tests.tracing import traced
from tests.world import (
    KINDS,
    Person,
    World,
    device_in,
    nothing_happens,
    ok,
    record_of,
    refused,
    walk,
)

BULK_MAX = 1_000


def shown(person: Person, device: str) -> dict[str, Any]:
    return dict(ok(person.get("/device", deviceId=device)))


def in_group(person: Person, group: str, **params: Any) -> list[str]:
    found = walk(partial(person.get, "/group/devices"), groupId=group, **params)
    return [device["deviceId"] for device in found]


def counted(person: Person, group: str) -> int:
    """How many devices a group has; what it says of itself must be what is there."""
    number = len(in_group(person, group, limit=1_000))
    assert ok(person.get("/group", groupId=group))[0]["numberOfDevices"] == number
    return number


def many(person: Person, group: str, number: int, **fields: Any) -> list[str]:
    """Create devices in bulk; their ids."""
    wanted = [f"many-{next(person.world.numbers)}" for _ in range(number)]
    body = {"originalDevicesIds": wanted, "groupId": group, "type": "generic", "network": "mqtt"}
    return ids(ok(person.post("/devices", {**body, **fields}))["items"])


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["deviceId"] for item in items]


def at_once(*calls: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """Ask all of it at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


# --- coming into being ---


@pytest.mark.engine_free
def test_a_new_device_has_every_field_and_only_the_service_fills_its_own(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    body = {
        "groupId": group,
        "name": "Buoy 7",
        "type": "tracker",
        "originalId": "1fD48bE",
        "network": "vendor",
        "tags": ["north", "Ä"],
        "deviceId": "dev_mine",
        "battery": "3.3",
        "seenAt": 1,
        "createdAt": "2001-01-01",
        "updatedBy": "usr_else",
        "information": "mine",
        "configuration": "mine",
        "color": "red",
    }
    trail = world.audit()
    device = ok(ada.post("/device", body))
    assert world.audit() == [*trail, (ada.id, "device.create", device["deviceId"])]
    assert shown(ada, device["deviceId"]) == device
    assert ok(ada.get("/group/devices", groupId=group)) == {"items": [device]}
    tracker = ok(ada.get("/device/type", type="tracker"))
    assert json.loads(tracker["defaultConfiguration"])["reportEverySeconds"] == 600
    assert device.pop("deviceId").startswith("dev_")
    assert device.pop("createdAt") == device.pop("updatedAt")
    assert device == {
        "groupId": group,
        "name": "Buoy 7",
        "type": "tracker",
        "network": "vendor",
        "originalId": "1FD48BE",  # as the network writes it
        "createdBy": ada.id,
        "updatedBy": ada.id,
        "information": "{}",
        "configuration": tracker["defaultConfiguration"],
        "tags": ["north", "Ä"],
    }
    assert shown(ada, ada.device(group))["tags"] == []
    assert counted(ada, group) == 2


@pytest.mark.engine_free
def test_a_wrong_new_device_is_refused_with_every_wrong_field_named(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    required = ("groupId", "name", "type", "originalId", "network")
    with nothing_happens(world):
        refused(ada.post("/device", {}), 400, *required)
        for field, wrong in {
            "name": ["", "n" * 257, 7, None, "a\x00"],
            "originalId": ["", "o" * 129, 7, None, "a\x00"],
            "network": ["", "n" * 65, ["mqtt"], None],
            "type": ["", "t" * 129, True, None, "Tracker", "sensor"],
            "tags": ["north", ["t"] * 51],
        }.items():
            for value in wrong:
                body = device_in(world, group, **{field: value})
                assert ada.post("/device", body).status_code == 400, f"{field}={value!r}"
                refused(ada.post("/device", body), 400, field)
        tags = device_in(world, group, tags=["fine", "", "t" * 65, 4])
        refused(ada.post("/device", tags), 400, "tags[1]", "tags[2]", "tags[3]")
        lone = json.dumps(device_in(world, group)).replace("device ", r"\ud83d").encode()
        refused(ada.request("POST", "/device", content=lone), 400, "name")
        for nowhere in ("1", "007", "nowhere", str(2**53)):
            refused(ada.post("/device", device_in(world, nowhere)), 404, "groupId")
        unknown = refused(ada.post("/device", device_in(world, group, type="sonar")), 400, "type")
    known = {each["name"] for each in ok(ada.get("/device/types"))["items"]}
    assert {"generic", "tracker"} < known
    assert all(name in unknown["detail"] for name in known), "the known ones are listed"


@pytest.mark.engine_free
def test_who_may_create_a_device(world: World) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    root = ada.group("root")
    group = ada.group("below", parent=root)
    client = ada.app_client(group)
    for role in ("viewer", "member"):
        person = world.person(role)
        ada.invite(person, group, role)
        refused(person.post("/device", device_in(world, group)), 403)
    ada.invite(bob, root, "manager")
    with nothing_happens(world):
        stranger = refused(eve.post("/device", device_in(world, group)), 404, "groupId")
        nowhere = refused(eve.post("/device", device_in(world, "4711")), 404, "groupId")
        assert stranger["detail"] == nowhere["detail"]
        refused(client.post("/device", device_in(world, group)), 403)
        refused(world.nobody.post("/device", device_in(world, group)), 401)
    assert shown(ada, bob.device(group))["createdBy"] == bob.id
    assert shown(ada, world.operator.device(group))["groupId"] == group
    ok(ada.put("/group", {"groupId": group, "roleId": "manager"}))
    assert shown(ada, client.device(group))["createdBy"] == client.id
    assert counted(ada, group) == 3


@pytest.mark.parametrize(
    ("network", "one", "other", "are_the_same"),
    [
        ("mqtt", "AbC", "aBc", True),
        ("mqtt", "Straße", "STRASSE", True),
        ("mqtt", "0AB", "AB", False),
        ("ttn", "00", "0", False),
        ("vendor", "000Ab1", "aB1", True),
        ("vendor", "0", "0000", True),
        ("vendor", "0A0", "A", False),
        ("vendor", "10", "1", False),
    ],
)
def test_when_two_original_ids_are_the_same(
    network: str, one: str, other: str, are_the_same: bool
) -> None:
    assert (original_key(network, one) == original_key(network, other)) == are_the_same


@pytest.mark.engine_free
def test_an_original_id_is_taken_once_in_its_network_whosever_it_is(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    mine, theirs = ada.group(), bob.group()
    vendor = ada.device(mine, originalId="00AbC1", network="vendor")
    ada.device(mine, originalId="00AbC1", network="mqtt")
    with nothing_happens(world):
        answers = [
            person.post("/device", device_in(world, group, originalId=taken, network=network))
            for person, group in ((ada, mine), (bob, theirs))
            for taken, network in (("00AbC1", "vendor"), ("ab:c1", "Vendor"), ("00aBc1", "mqtt"))
        ]
        problems = [refused(answer, 409, "originalId") for answer in answers]
    # The one who owns it and the one who does not get the same response.
    assert len({problem["detail"] for problem in problems}) == 1
    for secret in (vendor, mine, ada.id, "ada@example.com"):
        assert secret not in answers[-1].text
    bob.device(theirs, originalId="abc1", network="mqtt")  # zeros count elsewhere
    bob.device(theirs, originalId="abc1", network="Vendored")  # any other word is a network, too
    ok(ada.delete("/device", deviceId=vendor, groupId=mine))
    bob.device(theirs, originalId="ABC1", network="vendor")
    assert (counted(ada, mine), counted(bob, theirs)) == (1, 3)


def test_of_many_who_want_one_original_id_at_once_one_gets_it(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    for round_ in range(5):
        calls = [
            partial(ada.post, "/device", device_in(world, group, originalId=f"wanted {round_}"))
            for _ in range(6)
        ]
        answers = at_once(*calls)
        assert sorted(each.status_code for each in answers) == [200, *[409] * 5]
        for answer in answers:
            if answer.status_code == 409:
                refused(answer, 409)
    assert counted(ada, group) == 5


# --- at the vendor's network ---

PAC = "5EC2E7F00DCAFE77"


def vendor_body(world: World, group: str, **changes: Any) -> dict[str, Any]:
    number = f"00AB{next(world.numbers)}"
    device = device_in(world, group, originalId=number, network="vendor")
    vendor = {"id": number, "deviceTypeId": "5d8cdc", "deviceName": "Buoy", "pac": PAC}
    body = {"input": device, "vendor": vendor}
    for place, value in changes.items():
        part, _, name = place.partition("_")
        body[part][name] = value
    return body


def test_a_device_at_the_vendors_is_pending_and_its_pac_is_nowhere_to_be_seen(
    make_world: Callable[..., World],
) -> None:
    world = make_world(log_level="debug")
    ada = world.person("ada")
    group = ada.group()
    answers: list[httpx.Response] = []
    with capture_logs() as logs:
        body = vendor_body(world, group, vendor_lat=48.1, vendor_lng=-4.5, vendor_activable=True)
        answers.append(ada.post("/device/vendor", body))
        device = ok(answers[0])
        answers.append(ada.post("/device/vendor", body))
        refused(answers[1], 409, "input.originalId")
        for changes in (
            {"vendor_lat": "north"},
            {"vendor_pac": [PAC]},
            {"vendor_pac": PAC * 5},
            {"vendor_id": PAC},
            {"input_type": "sonar"},
            {"input_groupId": "1"},
        ):
            answers.append(ada.post("/device/vendor", vendor_body(world, group, **changes)))
            assert answers[-1].status_code in (400, 404), changes
        broken = json.dumps(body).encode()[:-1]
        answers.append(ada.request("POST", "/device/vendor", content=broken))
        answers.append(ada.get("/device", deviceId=device["deviceId"]))
        answers.append(ada.get("/group/devices", groupId=group))
        change = {"deviceId": device["deviceId"], "groupId": group, "name": "x"}
        answers.append(ada.put("/device", change))
        answers.append(ada.delete("/device", deviceId=device["deviceId"], groupId=group))
        kept = ok(ada.post("/device/vendor", vendor_body(world, group)))["deviceId"]
    assert device["network"] == "vendor"
    assert json.loads(device["information"])["registration"]["state"] == "pending"
    assert device == ok(answers[-4])
    assert any(entry.get("path") == "/device/vendor" for entry in logs), "requests are logged"
    for place, text in {
        "answers": "".join(answer.text for answer in answers),
        "logs": repr(logs),
        "tables": repr(world.everything()),
        "audit": repr(world.read(lambda tx: list(tx.rows(schema.audit.select())))),
        "information": shown(ada, kept)["information"],
    }.items():
        assert PAC not in text, place
    files = [each for each in world.settings.data.iterdir() if each.is_file()]
    assert files
    assert all(PAC.encode() not in each.read_bytes() for each in files)
    # It is there, for whoever has the key and registers the device.
    row = world.read(lambda tx: tx.rows(schema.registration.select()))[0]
    unsealed = world.database.context.keyring.unseal(row.sealed_pac, f"registration|{kept}|pac")
    assert unsealed == PAC


@pytest.mark.engine_free
def test_what_is_sent_to_the_vendor_must_match_the_device(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    right = vendor_body(world, group)
    with nothing_happens(world):
        for changes, fields in (
            ({"input_network": "mqtt"}, ("input.network",)),
            ({"vendor_id": "77"}, ("input.originalId",)),
            ({"input_originalId": "0"}, ("input.originalId",)),
            (
                {"input_network": "Vendored", "vendor_id": "77"},
                ("input.network", "input.originalId"),
            ),
            ({"input_type": "sonar"}, ("input.type",)),
            ({"input_name": "", "vendor_pac": ""}, ("input.name", "vendor.pac")),
            ({"vendor_lat": 90.1, "vendor_lng": -180.1}, ("vendor.lat", "vendor.lng")),
            ({"vendor_activable": "yes"}, ("vendor.activable",)),
            ({"vendor_automaticRenewal": 1}, ("vendor.automaticRenewal",)),
            ({"vendor_deviceTypeId": "", "vendor_deviceName": None}, None),
            ({"input_tags": ["", "fine"]}, ("input.tags[0]",)),
        ):
            body = vendor_body(world, group, **changes)
            names = fields or ("vendor.deviceTypeId", "vendor.deviceName")
            assert ada.post("/device/vendor", body).status_code == 400, changes
            refused(ada.post("/device/vendor", body), 400, *names)
        refused(ada.post("/device/vendor", {}), 400, "input", "vendor")
        refused(ada.post("/device/vendor", right["input"]), 400, "input", "vendor")
        needed = ("id", "deviceTypeId", "deviceName", "pac")
        without = {**right, "vendor": {}}
        refused(ada.post("/device/vendor", without), 400, *(f"vendor.{name}" for name in needed))
        elsewhere = vendor_body(world, "4711")
        refused(ada.post("/device/vendor", elsewhere), 404, "input.groupId")
        refused(bob.post("/device/vendor", right), 403)
    # Zeros in front and capitals make no other id.
    spelled = vendor_body(world, group, input_originalId="0aBc", vendor_id="00ABC")
    assert ok(ada.post("/device/vendor", spelled))["originalId"] == "0ABC"
    assert counted(ada, group) == 1


# --- seeing ---


@pytest.mark.slow
def test_a_device_is_seen_where_it_is_and_nowhere_else(world: World) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    root = ada.group("root")
    group, beside = ada.group("group", parent=root), ada.group("beside", parent=root)
    ada.invite(bob, group, "viewer")
    ada.invite(eve, beside, "administrator")
    device = ada.device(group)
    for person in (ada, bob, world.operator, ada.app_client(group), ada.app_client(root, "above")):
        shown = ok(person.get("/device", deviceId=device, groupId=group))
        assert shown == ok(person.get("/device", deviceId=device))
        assert shown["deviceId"] == device
    assert ok(ada.get("/device", deviceId=device, groupId=int(group)))["deviceId"] == device
    for other in (root, beside):  # one's own group, but not the device's
        refused(ada.get("/device", deviceId=device, groupId=other), 404, "deviceId")
    refused(bob.get("/device", deviceId=device, groupId=root), 404, "groupId")
    refused(ada.get("/device", deviceId=device, groupId="1"), 404, "groupId")
    hidden = refused(eve.get("/device", deviceId=device), 404, "deviceId")
    absent = refused(eve.get("/device", deviceId="dev_none"), 404, "deviceId")
    assert hidden["detail"] == absent["detail"]
    refused(eve.get("/device", deviceId=device, groupId=beside), 404, "deviceId")
    refused(eve.get("/device", deviceId=device, groupId=group), 404, "groupId")
    refused(ada.get("/device"), 400, "deviceId")
    refused(ada.get("/device", deviceId="", groupId=""), 400, "deviceId", "groupId")
    # Whoever may be in the group but not look at devices learns which permission is missing.
    ada.invite(world.person("cleaner"), group, ada.role("group.read"))
    cleaner = world.person("cleaner")
    refused(cleaner.get("/device", deviceId=device, groupId=group), 403)
    refused(cleaner.get("/group/devices", groupId=group), 403)
    refused(cleaner.get("/device", deviceId=device), 404, "deviceId")


def test_a_group_lists_its_own_devices_in_the_order_they_came(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    made = [ada.device(root) for _ in range(3)]
    made += many(ada, root, 4)
    elsewhere = [ada.device(below)]
    for limit in (1, 2, 3, 7, 1_000):
        assert in_group(ada, root, limit=limit) == made, f"{limit} a page"
    assert in_group(ada, below) == elsewhere
    page = ok(ada.get("/group/devices", groupId=root, limit=7))
    assert ids(page["items"]) == made
    assert "nextToken" not in page
    refused(eve.get("/group/devices", groupId=root), 404, "groupId")
    refused(ada.get("/group/devices", groupId="1"), 404, "groupId")
    refused(ada.get("/group/devices"), 400, "groupId")
    assert ok(ada.get("/group/devices", groupId=ada.group()))["items"] == []


# --- changing ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_only_what_is_named_changes(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group, other = ada.group(), ada.group()
    ada.invite(bob, group, "manager")
    device = ada.device(group, tags=["old"])
    key = {"deviceId": device, "groupId": group}
    known = shown(ada, device)
    odd = ' {"a" : 1.0,\n\t"a":"ü\\u00fc\U0001f6f0"}\x01'  # any text, to the letter
    for change in (
        {"name": "Buoy"},
        {"configuration": odd},
        {"configuration": ""},
        {"tags": ["x", "y"]},
        {"tags": []},
        {"name": "n" * 256, "configuration": "c" * 262_144, "tags": ["t" * 64] * 50},
        {"name": None, "configuration": None, "tags": None},  # nothing is nothing to change
        {},
    ):
        world.clock.let_pass(seconds=1)
        trail = world.audit()
        changed = ok(bob.put("/device", {**key, **change, "type": "meter", "groupIds": "x"}))
        assert world.audit() == [*trail, (bob.id, "device.update", device)]
        assert changed == shown(ada, device)
        assert changed["updatedAt"] > known["updatedAt"]
        known |= {name: value for name, value in change.items() if value is not None}
        known |= {"updatedAt": changed["updatedAt"], "updatedBy": bob.id}
        assert changed == known, change
    with nothing_happens(world):
        for wrong in (
            {"name": ""},
            {"name": "n" * 257},
            {"configuration": 7},
            {"configuration": "c" * 262_145},
            {"configuration": "\x00"},
            {"tags": "x"},
        ):
            refused(bob.put("/device", {**key, **wrong}), 400, *wrong)
        refused(bob.put("/device", {"name": "x"}), 400, "deviceId", "groupId")
        refused(ada.put("/device", {**key, "groupId": other, "name": "x"}), 404, "deviceId")
        refused(bob.put("/device", {**key, "groupId": other, "name": "x"}), 404, "groupId")
        refused(ada.put("/device", {**key, "deviceId": "dev_none", "name": "x"}), 404, "deviceId")


@pytest.mark.engine_free
def test_another_type_brings_its_own_configuration(world: World) -> None:
    ada = world.person("ada")
    group, other = ada.group(), ada.group()
    device = ada.device(group, type="tracker", tags=["kept"])
    key = {"deviceId": device, "groupId": group}
    before = ok(ada.put("/device", {**key, "configuration": "mine"}))
    meter = ok(ada.get("/device/type", type="meter"))
    trail = world.audit()
    world.clock.let_pass(seconds=1)
    changed = ok(ada.put("/device/type", {**key, "type": "meter"}))
    assert world.audit() == [*trail, (ada.id, "device.update", device)]
    assert changed == shown(ada, device)
    assert changed.pop("updatedAt") > before.pop("updatedAt")
    assert changed == {
        **before,
        "type": "meter",
        "configuration": meter["defaultConfiguration"],
    }
    # The same type again is a way back to where it began.
    ok(ada.put("/device", {**key, "configuration": "mine"}))
    reset = ok(ada.put("/device/type", {**key, "type": "meter"}))
    assert reset["configuration"] == meter["defaultConfiguration"]
    with nothing_happens(world):
        unknown = refused(ada.put("/device/type", {**key, "type": "sonar"}), 400, "type")
        assert "tracker" in unknown["detail"]
        refused(ada.put("/device/type", key), 400, "type")
        absent = {**key, "deviceId": "dev_none", "type": "meter"}
        refused(ada.put("/device/type", absent), 404, "deviceId")
        elsewhere = {**key, "groupId": other, "type": "meter"}
        refused(ada.put("/device/type", elsewhere), 404, "deviceId")


@pytest.mark.engine_free
def test_what_each_role_may_do_with_a_device(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, target = ada.group("group"), ada.group("target")
    device = ada.device(group)
    key = {"deviceId": device, "groupId": group}
    bulk = {"deviceIds": [device], "groupId": group}
    calls: dict[str, Callable[[Person], httpx.Response]] = {
        "PUT /device": lambda who: who.put("/device", {**key, "name": "x"}),
        "PUT /device/type": lambda who: who.put("/device/type", {**key, "type": "meter"}),
        "DELETE /device": lambda who: who.delete("/device", **key),
        "PUT /device/transfer": lambda who: who.put(
            "/device/transfer", {**key, "toGroupId": target}
        ),
        "POST /devices": lambda who: who.post(
            "/devices",
            {
                "originalDevicesIds": ["1"],
                "groupId": group,
                "type": "generic",
                "network": "mqtt",
            },
        ),
        "POST /devices/delete": lambda who: who.post("/devices/delete", bulk),
        "PUT /devices/transfer": lambda who: who.put(
            "/devices/transfer", {**bulk, "toGroupId": target}
        ),
    }
    viewer, member = world.person("viewer"), world.person("member")
    ada.invite(viewer, group, "viewer")
    ada.invite(member, group, "member")
    client = ada.app_client(group)
    with nothing_happens(world):
        for name, call in calls.items():
            for who in (viewer, member, client):
                assert call(who).status_code == 403, name
                refused(call(who), 403)
            refused(call(eve), 404, "groupId")
            refused(call(world.nobody), 401)


# --- many at once ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_many_devices_are_created_alike_each_named_after_its_original_id(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    wanted = [f"Bulk-{number}" for number in range(BULK_MAX)]
    body = {"groupId": group, "type": "button", "network": "mqtt", "tags": ["lot 7"]}
    made = ok(ada.post("/devices", {**body, "originalDevicesIds": wanted}))
    assert made.keys() == {"message", "items"}
    assert "1000" in made["message"]
    assert [each["originalId"] for each in made["items"]] == wanted
    assert [each["name"] for each in made["items"]] == wanted
    button = ok(ada.get("/device/type", type="button"))["defaultConfiguration"]
    alike = {"groupId": group, "type": "button", "network": "mqtt", "tags": ["lot 7"]}
    alike |= {"configuration": button, "createdBy": ada.id}
    assert all(alike.items() <= each.items() for each in made["items"])
    assert shown(ada, made["items"][500]["deviceId"]) == made["items"][500]
    assert in_group(ada, group, limit=300) == ids(made["items"])
    assert counted(ada, group) == BULK_MAX
    some = made["items"][::333]
    # All or none, and each that is in the way is named.
    with nothing_happens(world):
        for lists, status, fields in (
            ([], 400, ("originalDevicesIds",)),
            ([f"more {number}" for number in range(BULK_MAX + 1)], 400, ("originalDevicesIds",)),
            (["a", "b", "A", "c", "B", "a"], 400, places("originalDevicesIds", 2, 4, 5)),
            (
                ["a", some[0]["originalId"].upper(), "b", some[1]["originalId"]],
                409,
                places("originalDevicesIds", 1, 3),
            ),
            (["a", "", "b", "o" * 129, 7], 400, places("originalDevicesIds", 1, 3, 4)),
            ("a", 400, ("originalDevicesIds",)),
        ):
            answer = ada.post("/devices", {**body, "originalDevicesIds": lists})
            assert answer.status_code == status, answer.text[:200]
            refused(answer, status, *fields)
        fresh = {"originalDevicesIds": ["fresh"]}
        refused(ada.post("/devices", {**body, **fresh, "type": "sonar"}), 400, "type")
        refused(ada.post("/devices", {**body, **fresh, "groupId": "1"}), 404, "groupId")
        refused(ada.post("/devices", {**body, **fresh, "network": ""}), 400, "network")
        required = ("originalDevicesIds", "groupId", "type", "network")
        refused(ada.post("/devices", {}), 400, *required)
    # Elsewhere the same ids are free; at the vendor's, zeros in front make no difference.
    vendor = {**body, "network": "vendor"}
    doubled = {**vendor, "originalDevicesIds": ["0A", "a", "B"]}
    refused(ada.post("/devices", doubled), 400, "originalDevicesIds[1]")
    ok(ada.post("/devices", {**vendor, "originalDevicesIds": ["0A", "B"]}))
    assert counted(ada, group) == BULK_MAX + 2


def places(name: str, *indexes: int) -> tuple[str, ...]:
    return tuple(f"{name}[{index}]" for index in indexes)


@pytest.mark.slow
def test_many_devices_are_transferred_and_deleted_all_or_none(world: World) -> None:
    ada = world.person("ada")
    source, target, other = (ada.group(name) for name in ("source", "target", "other"))
    made = many(ada, source, BULK_MAX)
    strange = ada.device(other)
    extra = [ada.device(source) for _ in range(3)]
    to_target = {"groupId": source, "toGroupId": target}
    with nothing_happens(world):
        for method, path, more in (
            ("PUT", "/devices/transfer", to_target),
            ("POST", "/devices/delete", {"groupId": source}),
        ):
            for wanted, status, fields in (
                ([], 400, ("deviceIds",)),
                ([*made, extra[0]], 400, ("deviceIds",)),
                ("dev", 400, ("deviceIds",)),
                ([made[0], "", 7], 400, places("deviceIds", 1, 2)),
                ([*made[:3], made[1], made[0]], 400, places("deviceIds", 3, 4)),
                (
                    [*made[:3], strange, *made[3:6], "dev_none"],
                    404,
                    places("deviceIds", 3, 7),
                ),
            ):
                answer = ada.request(method, path, json={**more, "deviceIds": wanted})
                assert answer.status_code == status, f"{path} {answer.text[:200]}"
                refused(answer, status, *fields)
            refused(ada.request(method, path, json={}), 400, "deviceIds", *more)
            elsewhere = {**more, "groupId": "1", "deviceIds": made[:1]}
            refused(ada.request(method, path, json=elsewhere), 404, "groupId")
        hidden = {**to_target, "toGroupId": "1", "deviceIds": made[:1]}
        refused(ada.put("/devices/transfer", hidden), 404, "toGroupId")
        same = {**to_target, "toGroupId": source, "deviceIds": made[:1]}
        refused(ada.put("/devices/transfer", same), 400, "toGroupId")
    moved = ok(ada.put("/devices/transfer", {**to_target, "deviceIds": made}))
    assert ids(moved["items"]) == made
    assert {each["groupId"] for each in moved["items"]} == {target}
    assert "1000" in moved["message"]
    assert moved["items"][7] == shown(ada, made[7])
    assert (counted(ada, source), counted(ada, target)) == (3, BULK_MAX)
    gone = ok(ada.post("/devices/delete", {"groupId": target, "deviceIds": made}))
    assert gone["items"] == moved["items"], "a delete answers what was deleted"
    assert "1000" in gone["message"]
    assert (counted(ada, source), counted(ada, target), counted(ada, other)) == (3, 0, 1)
    refused(ada.get("/device", deviceId=made[0]), 404, "deviceId")


# --- being handed over ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_transfer_needs_rights_at_both_ends(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    source, target = ada.group("source"), ada.group("target")
    device = ada.device(source)
    body = {"deviceId": device, "groupId": source, "toGroupId": target}
    bulk = {"deviceIds": [device], "groupId": source, "toGroupId": target}
    sender = ada.role("device.read", "device.transfer", name="sender")
    receiver = ada.role("device.read", "device.create", name="receiver")
    both = ada.role("device.read", "device.transfer", "device.create", name="both")

    def tried(at_source: str | None, at_target: str | None) -> tuple[int, str]:
        """The status, and the field or permission that is in the way."""
        for group, role in ((source, at_source), (target, at_target)):
            bob.world.operator.delete("/group/user", groupId=group, userId=bob.id)
            if role is not None:
                ada.invite(bob, group, role)
        one = bob.put("/device/transfer", body)
        all_ = bob.put("/devices/transfer", bulk)
        if one.status_code == 200:
            refused(all_, 404, "deviceIds[0]")  # it is gone already
            return 200, ""
        assert one.json()["detail"] == all_.json()["detail"]
        problem = refused(one, one.status_code)
        named = [error["field"] for error in problem["errors"]]
        return one.status_code, named[0] if named else problem["detail"]

    assert tried(None, None) == (404, "groupId")
    assert tried(None, both) == (404, "groupId")
    assert tried(sender, None) == (404, "toGroupId")
    assert tried(receiver, receiver)[0] == 403
    assert "device.transfer" in tried(receiver, receiver)[1]
    assert tried(sender, sender)[0] == 403
    assert "device.create" in tried(sender, sender)[1]
    assert target in tried(sender, "viewer")[1]
    assert in_group(ada, source) == [device]
    assert tried(sender, receiver) == (200, "")
    assert in_group(ada, target) == [device]
    assert (counted(ada, source), counted(ada, target)) == (0, 1)


@pytest.mark.engine_free
def test_a_transfer_answers_the_device_in_its_new_group_and_can_be_undone(world: World) -> None:
    ada = world.person("ada")
    source, target = ada.group("source"), ada.group("target")
    device = ada.device(source, tags=["kept"])
    ok(ada.put("/device", {"deviceId": device, "groupId": source, "configuration": "kept"}))
    ada.reports(device)
    before = shown(ada, device)
    there = {"deviceId": device, "groupId": source, "toGroupId": target}
    back = {"deviceId": device, "groupId": target, "toGroupId": source}
    trail = world.audit()
    world.clock.let_pass(seconds=1)
    moved = ok(ada.put("/device/transfer", there))
    assert set(world.audit()[len(trail) :]) == {(ada.id, "device.transfer", device)}
    assert moved == shown(ada, device)
    assert moved["updatedAt"] > before["updatedAt"]
    assert moved == {**before, "groupId": target, "updatedAt": moved["updatedAt"]}
    with nothing_happens(world):
        refused(ada.put("/device/transfer", there), 404, "deviceId")
        refused(ada.put("/device/transfer", {**back, "toGroupId": target}), 400, "toGroupId")
        absent = {**back, "deviceId": "dev_none"}
        refused(ada.put("/device/transfer", absent), 404, "deviceId")
        refused(ada.put("/device/transfer", {}), 400, "deviceId", "groupId", "toGroupId")
        refused(ada.get("/device", deviceId=device, groupId=source), 404, "deviceId")
        refused(ada.delete("/device", deviceId=device, groupId=source), 404, "deviceId")
    returned = ok(ada.put("/device/transfer", back))
    assert returned == {**before, "updatedAt": returned["updatedAt"]}
    assert (counted(ada, source), counted(ada, target)) == (1, 0)


# --- going ---


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_deleted_device_takes_everything_it_ever_said_along(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    source, target = ada.group("source"), ada.group("target")
    ada.invite(bob, source, "viewer")
    gone, stays = ada.device(source), ada.device(source)
    for device in (gone, stays):
        for kind in KINDS:
            ada.reports(device, kind)
    body = {"groupId": source, "toGroupId": target, "deviceIds": [gone, stays]}
    ok(ada.put("/devices/transfer", body))
    for kind in KINDS:
        ada.reports(gone, kind, timestamp="2026-03-02")
    assert len(bob.records(gone)) == 1, "what it said here is still read here"
    before = shown(ada, gone)
    with nothing_happens(world):
        refused(ada.delete("/device", deviceId=gone, groupId=source), 404, "deviceId")
        refused(ada.delete("/device", deviceId="dev_none", groupId=target), 404, "deviceId")
        refused(ada.delete("/device", deviceId=gone), 400, "groupId")
        refused(bob.delete("/device", deviceId=gone, groupId=target), 404, "groupId")
    trail = world.audit()
    assert ok(ada.delete("/device", deviceId=gone, groupId=target)) == before
    assert world.audit() == [*trail, (ada.id, "device.delete", gone)]
    refused(ada.delete("/device", deviceId=gone, groupId=target), 404, "deviceId")
    refused(ada.get("/device", deviceId=gone), 404, "deviceId")
    for kind in KINDS:
        for person in (ada, bob, world.operator):
            refused(person.get(f"/device/{kind}", deviceId=gone), 404, "deviceId")
        refused(ada.post(f"/device/{kind}", record_of(gone, kind)), 404, "deviceId")
        assert len(ada.records(stays, kind)) == 1
    assert (counted(ada, source), counted(ada, target)) == (0, 1)
    # Not only out of sight: after the cleanup nothing is left.
    while world.write(delete_erased):
        pass
    left = {name: len(rows) for name, rows in world.everything().items()}
    assert [left[f"record_{kind}"] for kind in KINDS] == [1] * len(KINDS)
    assert (left["device"], left["device_state"], left["erasure"]) == (1, 1, 0)
    assert left["device_stay"] == 2, "the one that stays was in two groups"


@pytest.mark.engine_free
def test_deleting_many_devices_of_many_groups_takes_no_more_statements_than_one(
    world: World,
) -> None:
    ada = world.person("ada")
    source, target = ada.group("source"), ada.group("target")
    fleet = [ada.device(source) for _ in range(7)]
    for here, there in [(source, target), (target, source)] * 2:
        ok(ada.put("/devices/transfer", {"groupId": here, "toGroupId": there, "deviceIds": fleet}))
    for device in fleet:
        ada.reports(device)
    kept, loading, *gone = fleet

    def delete(tx: Tx, ids: list[str]) -> int:
        with traced(tx) as statements:
            delete_devices(tx, Actor("user", ada.id), ids, source, "device_ids")
        return len(set(statements))  # triggers repeat the one that they belong to

    def list_stays(tx: Tx, table: sa.Table) -> set[Any]:
        columns = (table.c.device_number, table.c.stay, table.c.group_id)
        return {tuple(row) for row in tx.rows(sa.select(*columns))}

    def delete_all(tx: Tx) -> tuple[set[Any], set[Any]]:
        stays = list_stays(tx, schema.device_stay)
        of_one = delete(tx, gone[:1])
        assert delete(tx, gone[1:]) == of_one
        return stays - list_stays(tx, schema.device_stay), list_stays(tx, schema.erasure)

    world.observe_own_changes()  # so that no poll empties the cache of permissions meanwhile
    world.write(lambda tx: delete(tx, [loading]))
    while world.write(delete_erased):
        pass
    taken, erased = world.write(delete_all)
    assert (len(taken), taken) == (5 * len(gone), erased)
    while world.write(delete_erased):
        pass
    assert len(world.list_rows("record_data")) == len(ada.records(kept)) == 1


def test_the_same_original_id_again_is_another_device(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    first = ada.device(group, originalId="again")
    ada.reports(first)
    ok(ada.delete("/device", deviceId=first, groupId=group))
    second = ada.device(group, originalId="again")
    assert second != first
    assert ada.records(second) == []
    assert "seenAt" not in shown(ada, second)
    refused(ada.get("/device/data", deviceId=first), 404, "deviceId")


# --- at the same time ---


@pytest.mark.slow
def test_changes_at_once_do_not_undo_each_other(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    key = {"deviceId": ada.device(group), "groupId": group}
    for round_ in range(10):
        changes = {"name": f"n{round_}", "configuration": f"c{round_}", "tags": [f"t{round_}"]}
        calls = [
            partial(ada.put, "/device", {**key, name: value}) for name, value in changes.items()
        ]
        assert [each.status_code for each in at_once(*calls)] == [200, 200, 200]
        left = shown(ada, key["deviceId"])
        assert {name: left[name] for name in changes} == changes


@pytest.mark.slow
def test_whoever_comes_second_finds_the_device_gone_and_counts_stay_right(world: World) -> None:
    ada = world.person("ada")
    home, *targets = (ada.group(name) for name in ("home", "one", "two", "three"))
    for round_ in range(8):
        device = ada.device(home)
        key = {"deviceId": device, "groupId": home}
        calls = [partial(ada.delete, "/device", **key) for _ in range(2)]
        calls += [
            partial(ada.put, "/device/transfer", {**key, "toGroupId": target}) for target in targets
        ]
        answers = at_once(*calls)
        statuses = sorted(each.status_code for each in answers)
        assert statuses == [200, *[404] * 4], f"{round_}: {[each.text for each in answers]}"
    total = [counted(ada, group) for group in (home, *targets)]
    assert total[0] == 0
    moved = [device for target in targets for device in in_group(ada, target)]
    for device in moved:
        assert ada.records(device) == []


@pytest.mark.slow
def test_the_number_of_devices_is_right_after_everything_that_can_happen(world: World) -> None:
    ada = world.person("ada")
    groups = [ada.group(f"group {number}") for number in range(3)]
    where: dict[str, str] = {}
    chance = random.Random(7)

    def pick(number: int) -> tuple[str, list[str]]:
        group = chance.choice(groups)
        present = [device for device, at in where.items() if at == group]
        return group, chance.sample(present, min(number, len(present)))

    def create() -> None:
        group = chance.choice(groups)
        where[ada.device(group)] = group

    def create_many() -> None:
        group = chance.choice(groups)
        where.update(dict.fromkeys(many(ada, group, 5), group))

    def transfer() -> None:
        group, devices = pick(4)
        to = chance.choice([each for each in groups if each != group])
        if devices:
            body = {"deviceIds": devices, "groupId": group, "toGroupId": to}
            ok(ada.put("/devices/transfer", body))
            where.update(dict.fromkeys(devices, to))

    def delete() -> None:
        group, devices = pick(1)
        for device in devices:
            ok(ada.delete("/device", deviceId=device, groupId=group))
            del where[device]

    def delete_many() -> None:
        group, devices = pick(3)
        if devices:
            ok(ada.post("/devices/delete", {"deviceIds": devices, "groupId": group}))
            for device in devices:
                del where[device]

    def fail() -> None:
        group, devices = pick(3)
        to = chance.choice(groups)
        body = {"deviceIds": [*devices, "dev_none"], "groupId": group, "toGroupId": to}
        assert ada.put("/devices/transfer", body).status_code in (400, 404)
        refused(ada.post("/devices/delete", body), 404)

    steps = [create, create_many, transfer, delete, delete_many, fail]
    for _ in range(60):
        chance.choice(steps)()
    assert where, "some are left"
    for group in groups:
        expected = {device for device, at in where.items() if at == group}
        assert set(in_group(ada, group, limit=1_000)) == expected
        assert counted(ada, group) == len(expected)

"""Device types over HTTP: by operators for all, and for a group and those below it."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from longwire.fleet import devices
from longwire.model import Actor
from longwire.store.database import Tx
from tests.identity.test_group_deletions import clean_up
from tests.identity.test_groups import is_write_waiting
from tests.jobs.test_jobs import ended, start, undo
from tests.waiting import eventually
from tests.world import Person, World, device_in, nothing_happens, ok, refused, walk

CODEC = """function decodeUplink(input) { return {data: {depth: input.bytes[0] / 10}}; }
function encodeDownlink(input) { return {bytes: [input.data.pings], fPort: 3}; }"""
SONAR = {
    "name": "sonar",
    "displayName": "Depth sounder",
    "defaultConfiguration": '{"reportEverySeconds":600}',
    "battery": "1 x D",
    "decoder": "javascript",
    "decoderSource": CODEC,
    "measurements": [{"name": "depth", "path": "/data/depth", "unit": "m"}],
}


def names(person: Person, **params: Any) -> set[str]:
    return {each["name"] for each in walk(partial(person.get, "/device/types"), limit=3, **params)}


def test_a_type_of_a_group_is_there_for_it_and_below_and_nowhere_else(world: World) -> None:
    ada, dora, carol, eve, bob = (world.person(name) for name in ("ada", "dora", "c", "eve", "bob"))
    root = ada.group("root")
    harbour = ada.group("harbour", root)
    quay = ada.group("quay", harbour)
    other = bob.group("other")
    ada.invite(dora, harbour, "manager")
    ada.invite(carol, quay, "viewer")
    ada.invite(eve, harbour, "viewer")
    with nothing_happens(world):
        refused(dora.post("/device/type", SONAR), 403)  # for all
        refused(dora.post("/device/type", {**SONAR, "groupId": root}), 404, "groupId")
        refused(eve.post("/device/type", {**SONAR, "groupId": harbour}), 403)
        refused(bob.post("/device/type", {**SONAR, "groupId": harbour}), 404, "groupId")
    created = ok(dora.post("/device/type", {**SONAR, "groupId": harbour}))
    assert created["mayChange"]
    assert (created["groupId"], created["decoderSource"]) == (harbour, CODEC)
    app = ada.app_client(quay)
    for person in (ada, dora, carol, eve, app, world.operator):
        assert "sonar" in names(person)
        shown = ok(person.get("/device/type", type="sonar"))
        assert (shown["groupId"], shown["measurements"][0]["name"]) == (harbour, "depth")
        definition = ok(person.get("/device/type/definition", type="sonar"))
        may_change = person not in (carol, eve, app)
        assert (
            definition == {**created, "mayChange": True}
            if may_change
            else {name: value for name, value in created.items() if name != "mayChange"}
        )
        refused_ = person.put("/device/type/definition", {"type": "sonar", "battery": "none"})
        assert refused_.status_code == (200 if may_change else 403)
        ok(dora.put("/device/type/definition", {"type": "sonar", "battery": "1 x D"}))
        created["updatedAt"] = ok(dora.get("/device/type/definition", type="sonar"))["updatedAt"]
    assert "sonar" not in names(bob)
    assert "sonar" in names(dora, groupId=harbour)
    assert "sonar" in names(ada, groupId=quay)
    assert "sonar" not in names(ada, groupId=root)
    with nothing_happens(world):
        for path in ("", "/definition", "/decoder", "/configuration"):
            refused(bob.get(f"/device/type{path}", type="sonar"), 404, "type")
        refused(bob.delete("/device/type", type="sonar"), 404, "type")
        for path, change in (
            ("definition", {}),
            ("decoder", {"decoder": "cayenneLpp"}),
            ("configuration", {"policy": {}}),
            ("measurements", {"measurements": []}),
            ("measurements", {"measurements": [], "groupId": other}),
        ):
            refused(bob.put(f"/device/type/{path}", {"type": "sonar", **change}), 404, "type")
        for person, group in ((bob, other), (ada, root)):
            absent = refused(
                person.post("/device", device_in(world, group, type="sonar")), 400, "type"
            )
            assert "sonar" not in absent["detail"].partition("there are")[2]
            body = {"type": "sonar", "groupId": group, "payloads": [{"payload": "11"}]}
            refused(person.post("/device/type/preview", body), 404, "type")
        where = {"groupId": other, "type": "http", "params": '{"url":"http://127.0.0.1:9/"}'}
        for path in ("/connector", "/notification"):
            body = {**where, "name": "x", "type": "webhook" if "not" in path else "http"}
            refused(bob.post(path, {**body, "deviceTypes": ["sonar"]}), 400, "deviceTypes[0]")
        text = "name,originalId,type,network\nnew,new 9,sonar,mqtt\n"
        headers = {"Content-Type": "text/csv"}
        query = {"params": {"groupId": other}, "content": text, "headers": headers}
        refused(bob.request("POST", "/devices/import", **query), 400, "lines[2].type")
        # Nobody else can have the name, and the answer does not say who has it.
        for name in ("sonar", "SONAR", "Tracker"):
            refused(bob.post("/device/type", {"name": name, "groupId": other}), 409, "name")
    device = ada.device(quay, type="sonar")
    assert ok(ada.get("/device", deviceId=device))["configuration"] == '{"reportEverySeconds":600}'
    assert ok(dora.get("/device/type/configuration", type="sonar"))["policy"] == {}
    policy = {"type": "sonar", "policy": {"pings": 3}}
    ok(dora.put("/device/type/configuration", policy))
    values = ok(ada.get("/device/configuration", deviceId=device))["configuration"]
    assert values == {"reportEverySeconds": 600, "pings": 3}
    ada.connector(root, "http://127.0.0.1:9/", params={"subgroups": True}, deviceTypes=["sonar"])
    ok(dora.put("/device/type/decoder", {"type": "sonar", "decoder": "cayenneLpp"}))
    entries = ok(ada.get("/group/audit", groupId=harbour, objectId="sonar"))["items"]
    assert {each["action"] for each in entries} == {
        *("deviceType.create", "deviceType.update"),
        *("deviceType.updateMeasurements", "deviceType.updateConfiguration"),
    }


def test_devices_keep_their_type_wherever_they_are_moved(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    harbour = ada.group("harbour", root)
    quay = ada.group("quay", harbour)
    ok(ada.post("/device/type", {"name": "sonar", "groupId": harbour}))
    device, plain = ada.device(quay, type="sonar"), ada.device(quay)
    with nothing_happens(world):
        moved = {"deviceIds": [device, plain], "groupId": quay, "toGroupId": root}
        assert "1 device has a type" in refused(ada.put("/devices/transfer", moved), 409)["detail"]
        away = refused(ada.put("/group", {"groupId": quay, "parent": root}), 409)
        assert away["detail"].startswith("1 devices in the group")
        assert "1 device has" in refused(ada.delete("/device/type", type="sonar"), 409)["detail"]
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": quay, "toGroupId": harbour}))
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": harbour, "toGroupId": quay}))
    # A job moves what it can.
    job = ended(ada, start(ada, quay, "transfer", parameters={"toGroupId": root}))
    items = ok(ada.get("/job/items", groupId=quay, jobId=job["jobId"]))["items"]
    assert {(each["deviceId"], each["outcome"], each.get("code")) for each in items} == {
        (device, "skipped", "type_gone"),
        (plain, "changed", None),
    }
    # With another type they are free; to give it back is not possible from outside.
    typed = ended(ada, start(ada, quay, "type", parameters={"type": "generic"}))
    ok(ada.delete("/device/type", type="sonar"))
    refused(ada.get("/device/type", type="sonar"), 404, "type")
    undone = undo(ada, typed)
    assert undone["skipped"] == 1
    ok(ada.put("/group", {"groupId": quay, "parent": root}))


def test_all_that_is_wrong_with_a_type_is_named_at_once(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    ok(ada.post("/device/type", {"name": "sonar", "groupId": group}))
    wrong = {
        "groupId": group,
        "decoder": "javascript",
        "decoderSource": "\nfunction decodeUplink(",
        "encoderSource": "function decodeUplink() {}",
        "decodedLocation": "lat",
        "measurements": [{"name": "", "path": "data"}],
    }
    named = ("decoder", "encoderSource", "decodedLocation")
    with nothing_happens(world):
        fields = (*named, "name", "measurements[0].name", "measurements[0].path")
        answer = refused(ada.post("/device/type", {**wrong, "name": " x"}), 400, *fields)
        assert "line 3" in answer["detail"]
        change = {name: value for name, value in wrong.items() if name != "measurements"}
        refused(ada.put("/device/type/definition", {"type": "sonar", **change}), 400, *named)
        refused(ada.put("/device/type/definition", {"type": "sonar", "decoder": "x"}), 400)
        for name in ("", "x" * 129, "a\tb", "a\u202eb"):
            refused(ada.post("/device/type", {"name": name, "groupId": group}), 400, "name")
        refused(ada.delete("/device/type", type="radar"), 404, "type")
        refused(world.operator.delete("/device/type", type="tracker"), 409)
    present = ok(ada.get("/device/type/definition", type="sonar"))
    body = {"type": "sonar", "ifUpdatedAt": present["updatedAt"], "decoder": "cayenneLpp"}
    changed = ok(ada.put("/device/type/definition", body))
    refused(ada.put("/device/type/definition", body), 409, "ifUpdatedAt")
    assert changed["decoder"] == "cayenneLpp"
    assert "decoder" not in ok(
        ada.put("/device/type/definition", {"type": "sonar", "decoder": None})
    )


def test_a_type_is_not_deleted_while_a_device_gets_it(world: World) -> None:
    ada = world.person()
    group = ada.group()
    ok(ada.post("/device/type", {**SONAR, "groupId": group}))
    device = ada.device(group)
    typed, go_on = threading.Event(), threading.Event()

    def set_type(tx: Tx) -> None:
        devices.set_device_type(tx, Actor("user", ada.id), device, group, "sonar")
        typed.set()
        assert go_on.wait(60)

    with ThreadPoolExecutor() as pool:
        changing = pool.submit(world.write, set_type)
        assert typed.wait(60)
        deleting = pool.submit(ada.delete, "/device/type", type="sonar")
        eventually(lambda: is_write_waiting(world))
        go_on.set()
        changing.result(120)
        assert "1 device has the type sonar" in refused(deleting.result(120), 409)["detail"]
    assert ok(ada.get("/device", deviceId=device))["type"] == "sonar"
    ok(ada.put("/device/type", {"deviceId": device, "groupId": group, "type": "generic"}))
    ok(ada.delete("/device/type", type="sonar"))


@pytest.mark.engine_free
def test_an_operator_makes_types_for_all_and_a_group_takes_its_own_along(world: World) -> None:
    ada, operator = world.person("ada"), world.operator
    group = ada.group()
    ok(operator.post("/device/type", SONAR))
    assert "groupId" not in ok(ada.get("/device/type", type="sonar"))
    refused(ada.put("/device/type/definition", {"type": "sonar", "battery": "none"}), 403)
    refused(ada.delete("/device/type", type="sonar"), 403)
    device = ada.device(group, type="sonar")
    assert ok(ada.get("/device", deviceId=device))["type"] == "sonar"
    preview = {"type": "sonar", "groupId": group, "payloads": [{"payload": "11"}]}
    (item,) = ok(ada.post("/device/type/preview", preview))["items"]
    assert item["values"] == {"depth": 1.7}
    own = ada.group("own", group)
    ok(ada.post("/device/type", {"name": "own", "groupId": own}))
    ada.device(own, type="own")
    refused(ada.delete("/group", groupId=own), 409)
    ok(ada.delete("/group", groupId=group, recursive="true"))
    world.clock.let_pass(days=30)
    operator.token = world.token(operator.client_id, operator.client_secret)
    clean_up(world)
    clean_up(world)
    assert {"sonar", "tracker"} <= names(operator)
    assert "own" not in names(operator)
    assert json.loads(ok(operator.get("/device/type", type="sonar"))["defaultConfiguration"])

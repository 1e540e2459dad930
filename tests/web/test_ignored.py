"""What a request says and nothing reads is named in the response."""

from typing import Any

import httpx
import pytest

from tests.world import World, device_in, ok, record_of, refused


def ignored(response: httpx.Response) -> list[str]:
    header = response.headers.get("longwire-ignored")
    return header.split(", ") if header else []


def test_members_and_parameters_that_nothing_reads_are_named(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    body = device_in(world, group)
    created = ada.post("/device", {**body, "serialNumber": "7", "colour": None}, groupid="x")
    ok(created)
    assert ignored(created) == ["groupid", "serialNumber", "colour"]
    device = created.json()["deviceId"]
    change = {"deviceId": device, "groupId": group, "name": "x"}
    assert ignored(ada.put("/device", change)) == []
    assert ignored(ada.put("/device", {**change, "type": "meter"})) == ["type"]
    # Of objects in objects, and of lists of them.
    vendor = {"id": "1F", "deviceTypeId": "5d", "deviceName": "x", "pac": "A1", "colour": 1}
    made = {"groupId": group, "type": "generic", "vendor": [vendor, {**vendor, "id": "2F", "x": 1}]}
    response = ada.post("/devices/vendor", made)
    ok(response)
    assert ignored(response) == ["vendor.colour", "vendor.x"]
    one = {"input": {**device_in(world, group, network="vendor", originalId="3F"), "y": 1}}
    response = ada.post("/device/vendor", {**one, "vendor": {**vendor, "id": "3F"}})
    assert ignored(response) == ["input.y", "vendor.colour"]
    # A refusal names them, too: one may be the reason.
    del body["originalId"]
    wrong = ada.post("/device", {**body, "originalID": "7"})
    refused(wrong, 400, "originalId")
    assert ignored(wrong) == ["originalID"]
    # A misspelled parameter of a list.
    assert ignored(ada.get("/group/devices", groupId=group, limits=3)) == ["limits"]


@pytest.mark.parametrize("kind", ["data", "event", "geoloc", "telemetry"])
def test_records_say_it_as_well_by_both_ways(world: World, kind: str) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    for number in range(3):  # the first one is authenticated, the others take the fast path
        record = record_of(device, kind, timestamp=1_790_000_000_000 + number)
        response = ada.post(f"/device/{kind}", record)
        ok(response)
        assert ignored(response) == []
        response = ada.post(f"/device/{kind}", {**record, "temprature": 3, "ü": "ü"})
        ok(response)
        assert ignored(response) == ["temprature", "?"]
    items = [record_of(device, kind, timestamp=1_790_000_001_000 + each) for each in range(9)]
    items[7]["humidty"] = 4
    response = ada.post(f"/device/{kind}/batch", {"items": items, "all": True})
    ok(response)
    assert ignored(response) == ["all", "items.humidty"]


def test_the_header_is_bounded_and_safe(world: World) -> None:
    ada = world.person("ada")
    many: dict[str, Any] = {f"member{number}" + "x" * 500: 1 for number in range(500)}
    response = ada.post("/group", {"name": "a", **many})
    ok(response)
    assert len(ignored(response)) == 20
    assert len(response.headers["longwire-ignored"]) <= 1_024
    odd = {'a"\r\nSet-Cookie: x=1': 1, "a, b": 1, "": 1, "\u202e<b>": 1, "💧": 1}
    response = ada.post("/group", {"name": "a", **odd})
    ok(response)
    assert "set-cookie" not in response.headers
    assert ignored(response) == ["a???Set-Cookie??x?1", "a??b", "?", "??b?"]

    # What is no object has no members.
    for wrong in ([], "x", 7, None):
        response = ada.post("/group", wrong)
        refused(response, 400)
        assert ignored(response) == []


def test_pages_of_other_origins_may_read_it(make_world: Any) -> None:
    world = make_world(cors_origins="https://app.example")
    ada = world.person("ada")
    headers = {"Origin": "https://app.example"}
    response = ada.request("POST", "/group", json={"name": "a", "b": 1}, headers=headers)
    assert ignored(response) == ["b"]
    assert "longwire-ignored" in response.headers["access-control-expose-headers"]

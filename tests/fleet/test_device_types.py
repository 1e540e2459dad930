"""The catalogue of device types: what everybody sees of it, and what the operator does to it."""

import json
from functools import partial
from typing import Any

import pytest

from longwire.errors import BadInput, Conflict, LongwireError, NotFound
from longwire.fleet import device_types
from longwire.model import SYSTEM, DeviceType
from tests.world import Person, World, device_in, nothing_happens, ok, refused, walk

SONAR = DeviceType("sonar", "Depth sounder", '{"pings": 3}', "1 x D", "2.1")

NOTHING_DECLARED: dict[str, Any] = {"measurements": []}


def put(world: World, device_type: DeviceType) -> None:
    world.write(lambda tx: device_types.put_device_type(tx, SYSTEM, device_type))


def remove(world: World, name: str) -> None:
    world.write(lambda tx: device_types.delete_device_type(tx, SYSTEM, name))


def refusal(world: World, name: str, why: type[LongwireError]) -> str:
    with pytest.raises(why) as refused_:
        remove(world, name)
    return str(refused_.value)


def names(person: Person, **params: Any) -> list[str]:
    return [each["name"] for each in walk(partial(person.get, "/device/types"), **params)]


@pytest.mark.engine_free
def test_everybody_with_a_token_sees_the_same_catalogue(world: World) -> None:
    ada = world.person("ada")
    client = ada.app_client(ada.group())
    listed = ok(ada.get("/device/types"))
    assert listed.keys() == {"items"}
    for person in (client, world.person("stranger"), world.operator):
        assert ok(person.get("/device/types")) == listed
    known = [each["name"] for each in listed["items"]]
    assert known == sorted(known)
    assert {"generic", "tracker", "temperature", "button", "meter"} <= set(known)
    for device_type in listed["items"]:
        assert ok(client.get("/device/type", type=device_type["name"])) == {
            **device_type,
            **NOTHING_DECLARED,
        }
        assert isinstance(json.loads(device_type["defaultConfiguration"]), dict)
        assert device_type["displayName"]
        expected = {"name", "displayName", "defaultConfiguration"}
        if device_type["name"] != "generic":
            assert json.loads(device_type["defaultConfiguration"]), "a useful one"
            expected |= {"battery", "firmwareVersion"}
        assert device_type.keys() == expected
    for limit in (1, 2, 5, 1_000):
        assert names(ada, limit=limit) == known, f"{limit} a page"


@pytest.mark.engine_free
def test_a_type_that_is_not_there_is_not_found(world: World) -> None:
    ada = world.person("ada")
    for name in ("sonar", "Tracker", "tracker ", "%", "*", "ü", "t" * 128):
        refused(ada.get("/device/type", type=name), 404, "type")
    for name in ("", "t" * 129):
        refused(ada.get("/device/type", type=name), 400, "type")
    refused(ada.get("/device/type"), 400, "type")
    for path in ("/device/type", "/device/types"):
        refused(world.nobody.get(path, type="tracker"), 401)


@pytest.mark.slow
def test_what_the_operator_adds_is_there_at_once_and_goes_when_nobody_needs_it(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    refused(ada.post("/device", device_in(world, group, type="sonar")), 400, "type")
    put(world, SONAR)
    assert ok(ada.get("/device/type", type="sonar")) == {
        "name": "sonar",
        "displayName": "Depth sounder",
        "defaultConfiguration": '{"pings": 3}',
        "battery": "1 x D",
        "firmwareVersion": "2.1",
        **NOTHING_DECLARED,
    }
    depth = {"type": "sonar", "measurements": [{"name": "depth", "path": "/data/d"}]}
    ok(world.operator.put("/device/type/measurements", depth))
    assert "sonar" in names(ada)
    device = ada.device(group, type="sonar")
    key = {"deviceId": device, "groupId": group}
    assert ok(ada.get("/device", **key))["configuration"] == '{"pings": 3}'
    # Another default is for those that come later.
    put(world, DeviceType("sonar", "Sonar", "any text"))
    assert ok(ada.get("/device", **key))["configuration"] == '{"pings": 3}'
    found = ok(ada.get("/device/type", type="sonar"))
    assert found.pop("measurementsUpdatedAt") > "2020"
    assert found == {
        "name": "sonar",
        "displayName": "Sonar",
        "defaultConfiguration": "any text",
        "measurements": [{"name": "depth", "kind": "data", "path": "/data/d", "class": "gauge"}],
    }
    again = ok(ada.put("/device/type", {**key, "type": "sonar"}))
    assert again["configuration"] == "any text"
    with nothing_happens(world):
        assert "sonar" in refusal(world, "sonar", Conflict)
        assert "built in" in refusal(world, "tracker", Conflict)
        refusal(world, "radar", NotFound)
    ok(ada.put("/device/type", {**key, "type": "generic"}))
    remove(world, "sonar")
    refused(ada.get("/device/type", type="sonar"), 404, "type")
    refused(ada.put("/device/type", {**key, "type": "sonar"}), 400, "type")
    assert world.audit()[-1] == ("system", "deviceType.delete", "sonar")


@pytest.mark.engine_free
def test_a_built_in_type_stays_as_the_operator_made_it(world: World) -> None:
    put(world, DeviceType("tracker", "Our tracker", "{}", "none"))
    world.restart()
    shown = ok(world.operator.get("/device/type", type="tracker"))
    assert shown == {
        "name": "tracker",
        "displayName": "Our tracker",
        "defaultConfiguration": "{}",
        "battery": "none",
        **NOTHING_DECLARED,
    }
    assert "built in" in refusal(world, "tracker", Conflict)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_type_needs_a_name_that_can_be_asked_for(world: World) -> None:
    with nothing_happens(world):
        for name in ("", "t" * 129, "a\x00b"):
            with pytest.raises(BadInput):
                put(world, DeviceType(name, "x", "{}"))

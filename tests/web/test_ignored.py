"""What a request says and nothing reads is named in the response."""

from typing import Any

import httpx
import msgspec
import pytest

from longwire.process.app import OPERATIONS
from longwire.web.type_info import item_type, struct_type
from tests.world import Person, World, device_in, nothing_happens, ok, record_of, refused


def ignored(response: httpx.Response) -> list[str]:
    header = response.headers.get("longwire-ignored")
    return header.split(", ") if header else []


@pytest.mark.engine_free
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


@pytest.mark.engine_free
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


@pytest.mark.engine_free
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


@pytest.mark.engine_free
def test_pages_of_other_origins_may_read_it(make_world: Any) -> None:
    world = make_world(cors_origins="https://app.example")
    ada = world.person("ada")
    headers = {"Origin": "https://app.example"}
    response = ada.request("POST", "/group", json={"name": "a", "b": 1}, headers=headers)
    assert ignored(response) == ["b"]
    assert "longwire-ignored" in response.headers["access-control-expose-headers"]


# --- what belongs elsewhere ---


def valid_bodies(ada: Person, group: str) -> dict[tuple[str, str], dict[str, Any]]:
    """By operation that declares misplaced members: a request that it accepts."""
    hook = {"groupId": group, "params": '{"url": "http://127.0.0.1:9/"}'}
    connector = ok(ada.post("/connector", {**hook, "type": "http"}))["id"]
    notification = ok(ada.post("/notification", {**hook, "type": "webhook", "name": "a"}))["id"]
    device = ada.device(group)
    ok(ada.post("/appClient", {"groupId": group, "name": "pump"}))
    new = {"groupId": group, "type": "generic", "network": "other"}
    return {
        ("POST", "/appClient"): {"groupId": group, "name": "valve"},
        ("PUT", "/appClient"): {"groupId": group, "name": "pump", "newName": "pump"},
        ("POST", "/group"): {"name": "b"},
        ("PUT", "/group"): {"groupId": group, "name": "c"},
        ("POST", "/device"): {**new, "name": "d", "originalId": "d 1"},
        ("POST", "/device/type"): {"groupId": group, "name": "probe"},
        ("POST", "/devices"): {**new, "originalDevicesIds": ["d 2"]},
        ("PUT", "/device"): {"deviceId": device, "groupId": group, "name": "e"},
        ("PUT", "/devices"): {"deviceIds": [device], "groupId": group, "addTags": ["f"]},
        ("POST", "/connector"): {**hook, "type": "http"},
        ("PUT", "/connector"): {"connectorId": connector, "groupId": group, "name": "g"},
        ("POST", "/notification"): {**hook, "type": "webhook", "name": "h"},
        ("PUT", "/notification"): {
            "notificationId": notification,
            "groupId": group,
            "name": "i",
        },
    }


@pytest.mark.engine_free
def test_a_known_member_at_the_wrong_place_is_refused_with_where_it_belongs(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    bodies = valid_bodies(ada, group)
    routes = {(route.method, route.path): route for route in OPERATIONS if route.misplaced}
    assert routes.keys() == bodies.keys()
    for (method, path), route in routes.items():
        body = bodies[method, path]
        with nothing_happens(world):
            for name, place in route.misplaced.items():
                response = ada.request(method, path, json={**body, name: "x"})
                problem = refused(response, 400, name)
                assert problem["detail"] == f"{name} is not read here: {place}.", path
                assert ignored(response) == [name]
            # All that is wrong is said at once, also behind many other members.
            others = {f"other{number}": 1 for number in range(50)}
            everything = {name: {"id": "viewer"} for name in route.misplaced}
            wrong = ada.request(method, path, json={**body, "groupId": [], **others, **everything})
            fields = {each["field"] for each in refused(wrong, 400)["errors"]}
            assert fields == {*route.misplaced} | ({"groupId"} if "groupId" in body else set())
        # What says nothing is left out, as clients write members without a value.
        response = ada.request(method, path, json={**body, **dict.fromkeys(route.misplaced)})
        ok(response)
        assert set(ignored(response)) == {*list(route.misplaced)[:20]}


@pytest.mark.engine_free
def test_no_misplaced_role_makes_a_client_that_may_write(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    for role in ({"role": "viewer"}, {"permissions": ["device.read"]}, {"role": {"id": "viewer"}}):
        refused(ada.post("/appClient", {"groupId": group, "name": "a", **role}), 400, *role)
    assert ok(ada.get("/group/appClients", groupId=group))["items"] == []
    below = {"name": "b", "parentId": group}
    problem = refused(ada.post("/group", below), 400, "parentId")
    assert "POST /group?parentId=" in problem["detail"]
    ok(ada.post("/group", {"name": "b"}, parentId=group))


def test_no_object_has_a_misplaced_member_in_its_own_responses() -> None:
    """So whatever is read can be changed and sent back."""
    replies: dict[str, set[str]] = {}
    for route in OPERATIONS:
        names = replies.setdefault(route.path, set())
        for struct in (struct_type(route.reply), struct_type(item_type(route.reply))):
            for member in msgspec.structs.fields(struct) if struct else ():
                names.add(member.encode_name)
                if inner := struct_type(item_type(member.type)):  # of a page
                    names.update(each.encode_name for each in msgspec.structs.fields(inner))
    lists = {"/appClient": "/group/appClients", "/connector": "/connector/connectors"}
    lists |= {"/notification": "/notification/notifications", "/group": "/user/groups"}
    lists |= {"/device": "/group/devices"}
    for route in OPERATIONS:
        if not route.misplaced:
            continue
        inputs = {
            member.encode_name
            for struct in (route.query, route.body)
            if struct is not None
            for member in msgspec.structs.fields(struct)
        }
        if route.query is not None:  # it may belong into the query, and is refused in the body
            inputs -= {each.encode_name for each in msgspec.structs.fields(route.query)}
        returned = replies[route.path] | replies.get(lists.get(route.path, ""), set())
        assert returned, route.path
        assert not route.misplaced.keys() & (returned | inputs), route.path

"""Pagination: nothing is skipped or repeated, and a nextToken is valid only for its own list."""

import base64
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from longwire.fleet import device_types
from longwire.ids import parse_delivery_id
from longwire.model import SYSTEM, DeviceType
from longwire.process.app import OPERATIONS
from longwire.store.statement import Statement
from tests.inbound.test_unknown_devices import flush as flush_unknown_devices
from tests.waiting import eventually
from tests.world import (
    KINDS,
    PAGES_MAX,
    Person,
    World,
    ok,
    record_of,
    refused,
    walk,
    walk_pages,
)

pytestmark = pytest.mark.engine_free

NOWHERE = "http://127.0.0.1:9/"  # a closed port


@dataclass
class PagedList:
    """A list of the service: how to request it, how to add and remove an item."""

    path: str
    params: dict[str, str]
    add: Callable[[str], str]  # creates an item of this name; its id
    remove: Callable[[str], Any]
    key: str = "id"
    items: str = "items"  # the member with the items

    def ids(self, page: dict[str, Any]) -> list[str]:
        return [item[self.key] for item in page[self.items]]

    def everything(self, person: Person) -> list[str]:
        """The ids of the whole list, page by page."""
        pages = walk_pages(partial(person.get, self.path), **self.params, limit=3)
        return [id_ for page in pages for id_ in self.ids(page)]


@pytest.mark.parametrize(
    "tokens, complaint",
    [
        (itertools.repeat("same"), "leads to itself"),
        (itertools.count(), f"after {PAGES_MAX} pages"),
    ],
)
def test_a_list_without_an_end_fails_its_test(tokens: Iterator[Any], complaint: str) -> None:
    def list_page(**params: Any) -> httpx.Response:
        return httpx.Response(200, json={"items": [], "nextToken": str(next(tokens))})

    with pytest.raises(AssertionError, match=complaint):
        walk(list_page)


def contact_point_of(operator: Person, group: str, name: str) -> str:
    params = json.dumps({"url": NOWHERE})
    body = {"groupId": group, "name": name, "type": "webhook", "params": params}
    return str(ok(operator.post("/contactPoint", body))["id"])


def report_of(operator: Person, group: str, name: str) -> str:
    when = {"every": "day", "at": "06:00", "timezone": "UTC"}
    to = {"type": "webhook", "params": {"url": NOWHERE}}
    body = {"groupId": group, "name": name, "content": "devices", **when, "to": to}
    return str(ok(operator.post("/report", body))["id"])


def paged_lists(world: World, ada: Person) -> list[PagedList]:
    """Every paged list, as the operator sees it."""
    operator, home = world.operator, world.operator.group("home")

    def member(name: str) -> str:
        body = {"email": f"{name}@example.com", "groupId": home, "roleId": "viewer"}
        return str(ok(operator.put("/group/invite", body))["userId"])

    def client(name: str) -> str:
        return str(ok(operator.post("/appClient", {"groupId": home, "name": name}))["appClientId"])

    def permission(name: str) -> str:
        body = {"permissionId": f"{name}.paging", "name": name, "description": ""}
        return str(ok(operator.post("/permission", body))["id"])

    def role(name: str) -> str:
        return operator.role("group.read", name=name)

    def group(name: str) -> str:
        created = operator.group(name)
        operator.invite(ada, created, "administrator")
        return created

    return [
        PagedList(
            "/group/users",
            {"groupId": home},
            member,
            lambda id_: ok(operator.delete("/group/user", groupId=home, userId=id_)),
        ),
        PagedList(
            "/group/appClients",
            {"groupId": home},
            client,
            lambda id_: ok(operator.delete("/appClient", name=home, appClientId=id_)),
            key="appClientId",
        ),
        PagedList(
            "/permission",
            {},
            permission,
            lambda id_: ok(operator.delete("/permission", permissionId=id_)),
        ),
        PagedList(
            "/group/roles",
            {},
            role,
            lambda id_: ok(operator.delete("/role", groupId=home, roleId=id_, userId=operator.id)),
        ),
        # One leaves a group; groups themselves are never deleted.
        PagedList(
            "/user/groups", {}, group, lambda id_: ok(operator.delete("/group/user", groupId=id_))
        ),
        PagedList(
            "/group/devices",
            {"groupId": home},
            lambda name: operator.device(home, name=name),
            lambda id_: ok(operator.delete("/device", deviceId=id_, groupId=home)),
            key="deviceId",
        ),
        PagedList(
            "/device/types",
            {},
            lambda name: world.write(
                lambda tx: (
                    device_types.put_device_type(tx, SYSTEM, DeviceType(name, name, "{}")).name
                )
            ),
            lambda name: world.write(lambda tx: device_types.delete_device_type(tx, SYSTEM, name)),
            key="name",
        ),
        *(records_of(operator, home, kind) for kind in KINDS),
        PagedList(
            "/connector/connectors",
            {"groupId": home},
            lambda name: operator.connector(home, NOWHERE, name=name),
            lambda id_: ok(operator.delete("/connector", connectorId=id_, groupId=home)),
            items="test",
        ),
        PagedList(
            "/notification/notifications",
            {},
            lambda name: operator.notification(home, NOWHERE, name=name),
            lambda id_: ok(operator.delete("/notification", notificationId=id_, name=home)),
        ),
        PagedList(
            "/group/silences",
            {"groupId": home},
            # those that end last come first
            lambda name: silence(operator, home, 30_000 - int(name, 16)),
            lambda id_: ok(operator.delete("/alarm/silence", groupId=home, silenceId=id_)),
        ),
        PagedList(
            "/group/reports",
            {"groupId": home},
            lambda name: report_of(operator, home, name),
            lambda id_: ok(operator.delete("/report", reportId=id_, groupId=home)),
        ),
        PagedList(
            "/group/contactPoints",
            {"groupId": home},
            lambda name: contact_point_of(operator, home, name),
            lambda id_: ok(operator.delete("/contactPoint", contactPointId=id_, groupId=home)),
        ),
        events_of(world, operator, operator.group("forwarding", parent=home)),
        downlinks_of(world, operator, home),
        unknown_devices_of(operator, home),
    ]


def records_of(person: Person, group: str, kind: str) -> PagedList:
    """The records of a device in their own group, each identified by its timestamp."""
    device = person.device(person.group("records", parent=group))

    def remove(at: str) -> None:
        method = "PUT" if kind == "data" else "DELETE"
        params = {"deviceId": device, "timestamp": at}
        ok(person.request(method, f"/device/{kind}", params=params))

    return PagedList(
        f"/device/{kind}",
        {"deviceId": device},
        # a before b before c, in whatever order they arrive
        lambda name: str(
            person.reports(device, kind, timestamp=int(name, 16), data=name)["timestamp"]
        ),
        remove,
        key="timestamp",
    )


def silence(person: Person, group: str, days: int) -> str:
    body = {"groupId": group, "until": days * 86_400, "reason": "maintenance"}
    return str(ok(person.post("/alarm/silence", body))["id"])


def downlinks_of(world: World, person: Person, group: str) -> PagedList:
    """Downlinks queued for a device of the vendor's network."""
    device = person.device(group, network="vendor", originalId="A7")

    def add(name: str) -> str:
        message = {"deviceId": device, "payload": f"{int(name, 16):016x}"}
        return str(ok(person.post("/device/downlink", message))["id"])

    def remove(id_: str) -> None:
        statement = "delete from downlink where id = :id returning id"
        world.write(lambda tx: tx.fetch(Statement(statement), id=id_))

    return PagedList("/device/downlinks", {"deviceId": device}, add, remove)


def unknown_devices_of(person: Person, group: str) -> PagedList:
    """Ids that an app client has posted records of, and that no device has."""
    client, where = person.app_client(group), {"groupId": group}

    def add(name: str) -> str:
        refused(client.post("/device/data", record_of(name)), 404, "deviceId")
        flush_unknown_devices(person.world)
        return name

    return PagedList(
        "/group/unknownDevices",
        where,
        add,
        lambda id_: ok(person.delete("/group/unknownDevices", **where, originalId=id_)),
        key="originalId",
    )


def events_of(world: World, person: Person, group: str) -> PagedList:
    """Delivery events of an unreachable receiver: each fails at once, without a retry."""
    device = person.device(group)
    policy = {"retryDelay": 1, "maxRetry": 0}
    connector = person.connector(group, NOWHERE, retryPolicy=policy)
    begin, end = str(world.clock.now() // 1_000), str(world.clock.now() // 1_000 + 600_000)
    params = {"connectorId": connector, "groupId": group, "beginDate": begin, "endDate": end}
    seen_ids: set[str] = set()

    def failed() -> set[str]:
        events = ok(person.get("/connector/connectorEvent", **params))["items"]
        return {event["id"] for event in events if event["status"] == "failed"} - seen_ids

    def add(name: str) -> str:
        person.reports(device, data=name)
        eventually(lambda: len(failed()) == 1)
        created = failed().pop()
        seen_ids.add(created)
        return created

    def remove(id_: str) -> None:
        key = parse_delivery_id(id_)
        assert key is not None
        world.write(
            lambda tx: tx.fetch(
                Statement(
                    "delete from delivery where channel_number = :channel and seq = :seq"
                    " returning seq"
                ),
                channel=key[0],
                seq=key[1],
            )
        )

    return PagedList("/connector/connectorEvent", params, add, remove)


# These never change.
FIXED = [
    PagedList(path, {}, str, str, key="type")
    for path in (
        "/connector/connectorTypes",
        "/notification/notificationTypes",
        "/contactPoint/contactPointTypes",
    )
]


def test_the_table_contains_every_paged_list(world: World) -> None:
    # Redecoding and backtests also continue after a nextToken, but are no lists. The others are
    # searches, or lists from which nothing is ever removed; their own tests walk through their
    # pages.
    others = {
        "/notification/backtest",
        *("/device/redecode", "/users", "/group/audit", "/devices", "/groups", "/group/records"),
        *("/group/positions", "/group/drift", "/connector/messages", "/jobs", "/job/items"),
        *("/group/alarms", "/connector/exchanges"),
        *("/group/shares", "/share/devices", "/share/positions"),
    }
    paged = {
        route.path
        for route in OPERATIONS
        if "nextToken" in route.field_locations and route.path not in others
    }
    lists = [*paged_lists(world, world.person("ada")), *FIXED]
    assert {each.path for each in lists} == paged


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_fixed_list_is_the_same_in_pages_of_any_size(world: World) -> None:
    for each in FIXED:
        whole = each.ids(ok(world.operator.get(each.path, **each.params)))
        assert len(whole) == len(set(whole)) > 3
        assert each.everything(world.operator) == whole


@pytest.mark.slow
def test_pages_neither_skip_nor_repeat_while_others_write(world: World) -> None:
    operator, ada = world.operator, world.person("ada")
    for each in paged_lists(world, ada):
        stays, removable = [], []
        for number in range(4):
            removable.append(each.add(f"b{number}"))
            stays.append(each.add(f"c{number}"))
        there = set(each.everything(operator))
        seen: list[str] = []
        gone: list[str] = []
        params: dict[str, Any] = {**each.params, "limit": 1}
        turn = 0
        while True:
            page = ok(operator.get(each.path, **params))
            assert len(each.ids(page)) <= params["limit"], each.path
            seen += each.ids(page)
            if "nextToken" not in page:
                break
            # Between two pages one item is added, before or after the seen ones, one is removed,
            # preferably a seen one, and the limit changes.
            if turn < 6:
                each.add(f"a{turn}")
            if left := [id_ for id_ in removable if id_ not in gone]:
                gone.append(next((id_ for id_ in left if id_ in seen), left[-1]))
                each.remove(gone[-1])
            params.update(nextToken=page["nextToken"], limit=1 + turn % 3)
            turn += 1
        assert gone and set(gone) & set(seen), each.path
        assert len(seen) == len(set(seen)), f"{each.path} repeats"
        assert there - set(removable) <= set(seen), f"{each.path} skips"
        assert set(stays) <= there


@pytest.mark.slow
def test_the_last_row_of_a_page_may_be_deleted(world: World) -> None:
    operator = world.operator
    for each in paged_lists(world, world.person("ada")):
        created = {each.add(f"d{number}") for number in range(5)}
        everything = each.ids(ok(operator.get(each.path, **each.params)))
        last = next(index for index, id_ in enumerate(everything) if id_ in created)
        page = ok(operator.get(each.path, **each.params, limit=last + 1))
        assert each.ids(page) == everything[: last + 1]
        each.remove(everything[last])
        rest = ok(operator.get(each.path, **each.params, nextToken=page["nextToken"]))
        assert each.ids(rest) == everything[last + 1 :], each.path


def test_the_last_page_has_no_token_even_when_it_is_full(world: World) -> None:
    ada = world.person("ada")
    created = [ada.group(f"g{number}") for number in range(4)]
    assert [each["id"] for each in walk(partial(ada.get, "/user/groups"), limit=2)] == created
    first = ok(ada.get("/user/groups", limit=2))
    second = ok(ada.get("/user/groups", limit=2, nextToken=first["nextToken"]))
    assert [each["id"] for each in second["items"]] == created[2:]
    assert "nextToken" not in second
    assert "nextToken" not in ok(ada.get("/user/groups", limit=4))
    bob = world.person("bob")
    assert ok(bob.get("/user/groups")) == {"items": []}


def test_a_token_is_valid_only_for_its_own_list(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    first, second = ada.group("first"), ada.group("second")
    for name in ("one", "two"):
        ada.role("group.read", name=name)
    for group in (first, second):
        ada.invite(bob, group, "administrator")
    client = ada.app_client(first)
    mine = ok(ada.get("/group/users", groupId=first, limit=1))["nextToken"]
    assert len(ok(ada.get("/group/users", groupId=first, nextToken=mine))["items"]) == 1
    for why, caller, path, params in (
        ("another caller's", bob, "/group/users", {"groupId": first}),
        ("an app client's", client, "/group/users", {"groupId": first}),
        ("the operator's", world.operator, "/group/users", {"groupId": first}),
        ("another group's", ada, "/group/users", {"groupId": second}),
        ("another list's", ada, "/user/groups", {}),
        ("another list's with the same parameter", ada, "/user/groups", {"groupId": first}),
        ("the devices'", ada, "/group/devices", {"groupId": first}),
        ("the device types'", ada, "/device/types", {}),
        ("the roles'", ada, "/group/roles", {}),
        ("the permissions'", ada, "/permission", {}),
        ("the connectors'", ada, "/connector/connectors", {"groupId": first}),
        ("the connector types'", ada, "/connector/connectorTypes", {}),
        ("the notifications'", ada, "/notification/notifications", {"groupId": first}),
        ("all notifications'", ada, "/notification/notifications", {}),
        ("the notification types'", ada, "/notification/notificationTypes", {}),
    ):
        response = caller.get(path, **params, nextToken=mine)
        assert response.status_code == 400, why
        assert refused(response, 400, "nextToken")["errors"][0]["in"] == "query", why
    narrowed = ok(ada.get("/user/groups", limit=1))["nextToken"]
    for params in ({"userId": ada.id}, {"groupId": first}, {"userId": bob.id}):
        refused(ada.get("/user/groups", **params, nextToken=narrowed), 400, "nextToken")
    assert ok(ada.get("/user/groups", nextToken=narrowed, ignored="x"))["items"]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_modified_token_is_refused(world: World) -> None:
    token = ok(world.operator.get("/permission", limit=1))["nextToken"]
    spoiled = {
        "",
        " ",
        "null",
        "0",
        token[:-1],
        token[1:],
        token[: len(token) // 2],
        token + "A",
        token + "=",
        token + "\n",
        token * 2,
        token.swapcase(),
        f" {token}",
        f"{token[:5]}!{token[5:]}",
        "ä" + token,
        "%00",
        "x" * 4_000,
        base64.urlsafe_b64encode(b"[1]").decode(),
        '["connector.read"]',
    }
    for index in range(len(token)):
        other = "B" if token[index] == "A" else "A"
        spoiled.add(token[:index] + other + token[index + 1 :])
    for each in spoiled:
        response = world.operator.get("/permission", nextToken=each)
        assert response.status_code == 400, f"{each!r} is taken for {token!r}"
        refused(response, 400, "nextToken")
    assert ok(world.operator.get("/permission", nextToken=token))["items"]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_token_reveals_nothing_about_the_list(world: World) -> None:
    tokens = [ok(world.operator.get("/permission", limit=1))["nextToken"] for _ in range(2)]
    assert tokens[0] != tokens[1], "each has its own nonce"
    for token in tokens:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        assert b"appClient" not in raw
        assert b"/permission" not in raw


def test_a_token_survives_a_restart(world: World) -> None:
    page = ok(world.operator.get("/permission", limit=20))
    world.restart()
    rest = ok(world.operator.get("/permission", nextToken=page["nextToken"]))
    ids = [each["id"] for each in page["items"] + rest["items"]]
    assert len(ids) == len(set(ids)) == 28
    assert "nextToken" not in rest


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_limit_has_bounds_and_a_default(make_world: Callable[..., World]) -> None:
    world = make_world(page_items_default=3, page_items_max=7)
    assert len(ok(world.operator.get("/permission"))["items"]) == 3
    for limit in (1, 7):
        assert len(ok(world.operator.get("/permission", limit=limit))["items"]) == limit
    for limit in ("0", "-1", "8", "1001", "x", "", "1.5", "1e1", "0x1", "٣", "null", "9" * 5_000):
        response = world.operator.get("/permission", limit=limit)
        assert response.status_code == 400, f"limit={limit[:9]}"
        refused(response, 400, "limit")
    wrong_twice = world.operator.get("/permission", limit="0", nextToken="x")
    refused(wrong_twice, 400, "limit")

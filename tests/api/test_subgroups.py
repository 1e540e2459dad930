"""Lists of a group with what is in the groups below, as far as somebody may see it."""

import json
from typing import Any

import pytest

from longwire.delivery.connectors import deliveries
from tests.world import Person, World, ok, refused

NOWHERE = "http://127.0.0.1:9/hook"  # nobody listens there
REPORT = {"content": "devices", "every": "week", "at": "06:00"}
WEBHOOK = {"type": "webhook", "params": {"url": NOWHERE}}
LISTS = (
    *("/connector/connectors", "/notification/notifications", "/group/contactPoints"),
    *("/group/reports", "/group/appClients", "/jobs"),
)


def fill(person: Person, group: str) -> str:
    """One of each list in a group; the id of its device."""
    device = person.device(group)
    person.connector(
        group, NOWHERE, params={"secret": "whsec_bm9ib2R5IGtub3dzIHdoYXQgdGhpcyBpcyBmb3I="}
    )
    person.notification(group, NOWHERE, reason="batteryLow")
    params = json.dumps({"url": NOWHERE})
    ok(
        person.post(
            "/contactPoint", {"groupId": group, "name": "x", "type": "webhook", "params": params}
        )
    )
    ok(person.post("/report", {"groupId": group, "name": "Devices", **REPORT, "to": WEBHOOK}))
    ok(person.post("/appClient", {"groupId": group, "name": "dashboard"}))
    tags = {"groupId": group, "kind": "tag", "parameters": {"addTags": ["port"]}}
    ok(person.post("/job", {**tags, "deviceIds": [device]}))
    return device


def list_groups(person: Person, path: str, group: str, **params: Any) -> list[str]:
    """The groups of what is listed, page by page."""
    found: list[str] = []
    token: str | None = None
    while True:
        more = {} if token is None else {"nextToken": token}
        page = ok(person.get(path, groupId=group, limit=1, **params, **more))
        found += [each["groupId"] for each in page.get("items", page.get("test"))]
        token = page.get("nextToken")
        if not token:
            return sorted(found)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_has_what_is_in_the_groups_below_if_that_is_asked_for(
    world: World, path: str
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    berth = ada.group("Berth", parent=quay)
    depot = ada.group("Depot")
    for group in (harbour, quay, berth, depot):
        fill(ada, group)
    assert list_groups(ada, path, harbour) == [harbour]
    assert list_groups(ada, path, harbour, subgroups="true") == sorted([harbour, quay, berth])
    # Who is a member further down sees that, and nothing above or beside it.
    ada.invite(grace, quay, "administrator")
    assert list_groups(grace, path, quay, subgroups="true") == sorted([quay, berth])
    for group in (harbour, depot):
        status = 400 if path == "/connector/connectors" else 404
        refused(grace.get(path, groupId=group, subgroups="true"), status, "groupId")


def test_secrets_of_groups_below_are_masked_for_whoever_may_not_change_them(world: World) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    fill(ada, quay)
    ada.invite(grace, harbour, "viewer")
    listed = {"groupId": harbour, "subgroups": "true"}
    (shown,) = ok(ada.get("/connector/connectors", **listed))["test"]
    assert "whsec_bm9ib2R5IGtub3dzIHdoYXQgdGhpcyBpcyBmb3I=" in shown["params"]
    (masked,) = ok(grace.get("/connector/connectors", **listed))["test"]
    assert masked["id"] == shown["id"]
    assert "whsec_bm9ib2R5IGtub3dzIHdoYXQgdGhpcyBpcyBmb3I=" not in masked["params"]
    refused(grace.get("/group/appClients", **listed), 403)
    refused(ada.get("/group/contactPoints", **listed, usable="true"), 400, "subgroups")


def test_messages_of_connectors_of_groups_below_are_searched_and_exported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    depot = ada.group("Depot")
    connectors = {group: ada.connector(group, NOWHERE) for group in (harbour, quay, depot)}
    ada.connector(quay, NOWHERE, enabled=False)  # which has none
    for group in connectors:
        ada.reports(ada.device(group))

    def search(**params: Any) -> list[str]:
        page = ok(ada.get("/connector/messages", groupId=harbour, **params))
        return sorted(each["connectorId"] for each in page["items"])

    def export(**params: Any) -> list[str]:
        text = ada.get("/connector/messages/export", groupId=harbour, **params).text
        return sorted(json.loads(line)["connectorId"] for line in text.splitlines())

    for found in (search, export):
        assert found() == [connectors[harbour]]
        both = sorted([connectors[harbour], connectors[quay]])
        assert found(subgroups="true") == both
        assert found(subgroups="true", connectorId=connectors[quay]) == [connectors[quay]]
    # Of very many connectors, an export reads some at a time, and a search asks for fewer.
    monkeypatch.setattr(deliveries, "CONNECTORS_SEARCHED_MAX", 1)
    assert export(subgroups="true") == both
    refused(ada.get("/connector/messages", groupId=harbour, subgroups="true"), 400, "subgroups")
    assert search(subgroups="true", connectorId=connectors[quay]) == [connectors[quay]]
    unknown = {"groupId": harbour, "connectorId": connectors[depot], "subgroups": "true"}
    refused(ada.get("/connector/messages", **unknown), 400, "connectorId")
    ada.invite(grace, quay, "viewer")
    refused(grace.get("/connector/messages", groupId=harbour, subgroups="true"), 400)

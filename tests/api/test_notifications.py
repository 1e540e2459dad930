"""Notifications over the API: create, get, update, delete; permissions and validation."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.world import Person, World, nothing_happens, ok, refused, walk

pytestmark = pytest.mark.engine_free

URL = "https://example.com/alarm"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MASK = "********"


@pytest.fixture
def ada(world: World) -> Person:
    return world.person("ada")


def body(group: str, **fields: Any) -> dict[str, Any]:
    params = json.dumps({"url": URL})
    return {"groupId": group, "type": "webhook", "name": "alarm", "params": params, **fields}


def count_of(person: Person, group: str) -> int:
    return int(ok(person.get("/group", groupId=group))[0]["numberOfNotifications"])


def test_a_notification_is_created_returned_updated_and_deleted(
    make_world: Callable[..., World],
) -> None:
    world = make_world(smtp_host="127.0.0.1", smtp_from="longwire@example.com")
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, type="tracker")
    schedule = {"Day": 0, "From": {"Hours": 8, "Minutes": 30, "Secondes": 15}}
    params = '{"url": "https://example.com/alarm",  "throttle": 60}'  # kept as it was sent
    made = ok(
        ada.post(
            "/notification",
            body(
                group,
                params=params,
                description="about doors",
                deviceId=device,
                reason="opened",
                schedule=schedule,
                deviceTypes=["tracker", "tracker"],
                tags=["doors"],
            ),
        )
    )
    assert made["id"].startswith("ntf_")
    assert made == {
        "groupId": group,
        "id": made["id"],
        "name": "alarm",
        "description": "about doors",
        "params": params,
        "type": "webhook",
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
        "createdBy": ada.id,
        "updatedBy": ada.id,
        "deviceId": device,
        "deviceTypes": ["tracker"],
        "reason": "opened",
        "schedule": made["schedule"],
        "enabled": True,
        "tags": ["doors"],
    }
    assert json.loads(made["schedule"]) == schedule
    named = {"notificationId": made["id"], "groupId": group}
    assert ok(ada.get("/notification", **named)) == made
    assert ok(ada.get("/notification", notificationId=made["id"])) == made
    assert count_of(ada, group) == 1
    world.clock.let_pass(seconds=1)
    changed = ok(
        ada.put(
            "/notification",
            {**named, "name": "bell", "reason": "", "deviceId": "", "schedule": "", "tags": []},
        )
    )
    gone = {"reason", "deviceId", "schedule"}
    assert changed.keys() == made.keys() - gone
    assert (changed["name"], changed["tags"]) == ("bell", [])
    assert changed["updatedAt"] > made["updatedAt"] == changed["createdAt"]
    assert (changed["params"], changed["deviceTypes"]) == (params, ["tracker"])
    assert ok(ada.put("/notification", {**named, "enabled": False}))["enabled"] is False
    mail = {"type": "email", "params": '{"to": ["ada@example.com"]}'}
    assert ok(ada.put("/notification", {**named, **mail}))["type"] == "email"
    refused(ada.put("/notification", {**named, "type": "webhook"}), 400, "params")
    deleted = ok(ada.delete("/notification", name=group, notificationId=made["id"]))
    assert deleted["id"] == made["id"]
    assert count_of(ada, group) == 0
    for again in (
        ada.get("/notification", **named),
        ada.put("/notification", {**named, "name": "x"}),
        ada.delete("/notification", name=group, notificationId=made["id"]),
        ada.post("/notification/test", named),
    ):
        refused(again, 404, "notificationId")
    done = [action for _, action, which in world.audit() if which == made["id"]]
    assert done == [
        "notification.create",
        *["notification.update"] * 3,
        "notification.delete",
    ]


def test_the_number_per_group_is_limited(make_world: Callable[..., World]) -> None:
    world = make_world(notifications_per_group_max=2)
    ada = world.person("ada")
    group = ada.group()
    first, _ = ada.notification(group, URL), ada.notification(group, URL, enabled=False)
    with nothing_happens(world):
        problem = refused(ada.post("/notification", body(group)), 409)
        assert problem["code"] == "limit_reached"
        assert "notifications_per_group_max to 2" in problem["detail"]
        refused(ada.post("/notification", body(group, type="pigeon")), 400, "type")
    ok(ada.put("/notification", {"notificationId": first, "groupId": group, "name": "bell"}))
    ada.notification(ada.group(parent=group), URL)
    ok(ada.delete("/notification", name=group, notificationId=first))
    ada.notification(group, URL)
    assert count_of(ada, group) == 2


def test_the_size_of_all_of_a_group_is_limited(make_world: Callable[..., World]) -> None:
    world = make_world(notification_bytes_per_group_max=5_000)
    ada = world.person("ada")
    group = ada.group()
    long, longer = {"url": URL, "body": "x" * 2_000}, {"url": URL, "body": "x" * 4_000}
    first = ada.notification(group, URL, params=long)
    with nothing_happens(world):
        problem = refused(ada.post("/notification", body(group, params=json.dumps(long))), 409)
        assert problem["code"] == "limit_reached"
        assert "notification_bytes_per_group_max to 5000" in problem["detail"]
    second = ada.notification(group, URL)
    named = {"notificationId": first, "groupId": group}
    with nothing_happens(world):
        refused(ada.put("/notification", {**named, "params": json.dumps(longer)}), 409)
    ok(ada.put("/notification", {**named, "params": json.dumps({"url": URL})}))
    ok(ada.put("/notification", {**named, "notificationId": second, "params": json.dumps(long)}))
    ada.notification(ada.group(parent=group), URL, params=long)


def test_reading_and_writing_need_their_permissions(world: World, ada: Person) -> None:
    home = ada.group()
    below, beside = ada.group(parent=home), ada.group()
    ids = [ada.notification(group, URL) for group in (home, below, beside)]
    viewer, blind, eve = (world.person(name) for name in ("vic", "bob", "eve"))
    ada.invite(viewer, home, "viewer")
    ada.invite(blind, home, ada.role("group.read"))

    def listed(person: Person, **params: Any) -> list[str]:
        items = walk(lambda **each: person.get("/notification/notifications", **each), **params)
        return [each["id"] for each in items]

    assert listed(ada) == ids
    assert listed(viewer) == ids[:2]
    assert listed(viewer, limit=1) == ids[:2]
    assert listed(ada, groupId=below) == ids[1:2]
    assert listed(blind) == listed(eve) == []
    assert set(ids) <= set(listed(world.operator))
    named = {"notificationId": ids[0], "groupId": home}
    ok(viewer.get("/notification", **named))
    with nothing_happens(world):
        refused(blind.get("/notification", **named), 403)
        refused(blind.get("/notification", notificationId=ids[0]), 404, "notificationId")
        refused(eve.get("/notification", **named), 404, "groupId")
        refused(eve.get("/notification", notificationId=ids[0]), 404, "notificationId")
        refused(eve.get("/notification/notifications", groupId=home), 404, "groupId")
        refused(viewer.post("/notification", body(home)), 403)
        refused(viewer.put("/notification", {**named, "name": "x"}), 403)
        refused(viewer.delete("/notification", name=home, notificationId=ids[0]), 403)
        # A right id beside another of one's own groups names nothing.
        refused(ada.get("/notification", notificationId=ids[0], groupId=below), 404)
        refused(ada.delete("/notification", name=below, notificationId=ids[0]), 404)
        # Nor is it a connector, nor a connector one of these.
        connector = {"connectorId": ids[0], "groupId": home}
        refused(ada.get("/connector", **connector), 400, "connectorId")
    assert ok(ada.get("/connector/connectors", groupId=home))["test"] == []


def test_secrets_are_encrypted_and_masked_for_readers_without_write_permission(
    world: World, ada: Person
) -> None:
    group = ada.group()
    viewer = world.person("vic")
    ada.invite(viewer, group, "viewer")
    params = {"url": URL, "secret": SECRET, "headers": {"X-Key": "bXkta2V5"}}
    made = ok(ada.post("/notification", body(group, params=json.dumps(params))))
    named = {"notificationId": made["id"], "groupId": group}
    assert json.loads(made["params"]) == params
    masked = json.loads(ok(viewer.get("/notification", **named))["params"])
    hidden_url = f"https://example.com/{MASK}"
    assert masked == {"url": hidden_url, "secret": MASK, "headers": {"X-Key": MASK}}
    assert SECRET not in repr(world.everything())
    back = {**masked, "throttle": 5}
    kept = ok(ada.put("/notification", {**named, "params": json.dumps(back)}))
    assert json.loads(kept["params"]) == {**params, "throttle": 5}
    refused(ada.post("/notification", body(group, params=json.dumps(masked))), 400)
    listed = ok(viewer.get("/notification/notifications", groupId=group))["items"]
    assert SECRET not in repr(listed) and URL not in repr(listed)
    audit = ada.get("/group/audit", groupId=group)
    assert hidden_url in audit.text and SECRET not in audit.text and URL not in audit.text


WRONGS: list[tuple[dict[str, Any], set[str]]] = [
    ({"type": "pigeon"}, {"type"}),
    ({"params": "[]"}, {"params"}),
    ({"params": "{"}, {"params"}),
    ({"params": "{}"}, {"params.url"}),
    ({"params": '{"url": "nowhere", "when": "1 +", "x": 1}'}, {"params.x"}),
    (
        {"params": '{"url": "nowhere", "when": "1 +", "timezone": "Mars/Base", "body": "{{"}'},
        {"params.url", "params.when", "params.timezone", "params.body"},
    ),
    ({"params": f'{{"url": "{URL}", "throttle": -1}}'}, {"params.throttle"}),
    (
        {"params": f'{{"url": "{URL}", "geofence": {{"lat": 1}}}}'},
        {"params.geofence.lng", "params.geofence.radius"},
    ),
    ({"params": '{"url": "http://10.1.2.3/"}'}, {"params.url"}),
    ({"reason": "geofenceExit"}, {"params.geofence"}),
    ({"deviceId": "dev_unknown"}, {"deviceId"}),
    ({"deviceTypes": ["generic", "gizmo"]}, {"deviceTypes[1]"}),
    ({"schedule": {}}, {"schedule.Day"}),
    ({"schedule": {"Day": 8}}, {"schedule.Day"}),
    (
        {"schedule": {"Day": 1, "From": {"Hours": 24, "Minutes": 60}, "To": {"Hours": 1}}},
        {"schedule.From.Hours", "schedule.From.Minutes", "schedule.To.Minutes"},
    ),
    ({"schedule": "tomorrow"}, {"schedule"}),
    ({"schedule": '{"Day": 9}'}, {"schedule.Day"}),
    ({"name": "", "reason": "x" * 300}, {"name", "reason"}),
    ({"type": "pigeon", "deviceId": "dev_unknown"}, {"type", "deviceId"}),
]


def test_all_invalid_fields_are_reported_and_nothing_changes(world: World, ada: Person) -> None:
    group = ada.group()
    named = {"notificationId": ada.notification(group, URL), "groupId": group}
    with nothing_happens(world):
        for fields, wrong in WRONGS:
            refused(ada.post("/notification", body(group, **fields)), 400, *wrong)
            refused(ada.put("/notification", {**named, **fields}), 400, *wrong)


def test_the_catalogue_describes_the_parameters_of_each_type(world: World, ada: Person) -> None:
    types = walk(lambda **each: ada.get("/notification/notificationTypes", **each), limit=3)
    assert [each["type"] for each in types] == ["chat", "contactPoints", "email", "push", "webhook"]
    for each in types:
        assert ok(ada.get("/notification/notificationType", type=each["type"])) == each
        schema = json.loads(each["expectedParameters"])
        Draft202012Validator.check_schema(schema)
        always = {"when", "subject", "body", "timezone", "throttle", "geofence", "silentAfter"}
        assert always <= schema["properties"].keys()
    refused(ada.get("/notification/notificationType", type="pigeon"), 404, "type")
    # What is not configured says so before anybody fills in its form.
    unavailable = {each["type"]: each.get("unavailable") for each in types}
    assert unavailable["webhook"] is None
    assert "smtp_host" in unavailable["email"] and "vapid_key" in unavailable["push"]
    mail = body(ada.group(), type="email", params='{"to": ["a@example.com"]}')
    answer = refused(ada.post("/notification", mail), 400, "type")
    assert unavailable["email"] in answer["errors"][0]["message"]
    refused(ada.get("/notification/notificationTypes", limit=0), 400, "limit")
    refused(world.nobody.get("/notification/notificationTypes"), 401)

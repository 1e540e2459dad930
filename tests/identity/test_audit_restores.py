"""What the audit log says of a change is a change: sent back, it restores what was there."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import longwire
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.store.identity import audit
from tests.world import Person, World, ok

SOURCES = Path(longwire.__file__).parent
# Who passes on what others give them.
LOGGERS = {
    "store/identity/audit.py:log",
    "delivery/channel_owners.py:log",
}
Json = dict[str, Any]

MASK = "********"


# --- each place that logs how something was before and after ---


def list_places() -> set[str]:
    return {
        f"{path.relative_to(SOURCES)}:{name}"
        for path in SOURCES.rglob("*.py")
        for name in _functions_with_changes(ast.parse(path.read_text()))
    } - LOGGERS


def _functions_with_changes(module: ast.Module) -> Iterator[str]:
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef):
            calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
            if any(_has_both_sides(each) for each in calls):
                yield function.name


def _has_both_sides(call: ast.Call) -> bool:
    names = {each.arg for each in call.keywords}
    called = ast.unparse(call.func)
    is_logged = called.endswith("log") and {"before", "after"} <= names
    return is_logged or (called == "AuditedObject" and len(call.args) == 4)


# --- for each of them, changes of all that it logs, and what is there then ---


class Case:
    """An object, how it is changed and seen, and how `before` is sent back."""

    def __init__(
        self,
        see: Callable[[], Json],
        send: Callable[[Json], Any],
        changes: list[Json],
        group: str,
        restore: Callable[[Json, Json], Any] | None = None,
    ) -> None:
        self.see = see
        self.send = send
        self.changes = changes
        self.group = group
        self.restore = restore or (lambda before, after: send(before))


def of_connector(ada: Person) -> Case:
    group = ada.group()
    device = ada.device(group)
    params = {"url": "http://127.0.0.1:9/hook?key=1", "secret": "whsec_" + "c2VjcmV0" * 4}
    body = {"groupId": group, "type": "http", "params": json.dumps(params)}
    connector = ok(ada.post("/connector", body))["id"]
    which = {"connectorId": connector, "groupId": group}
    masked = {"url": f"http://127.0.0.1:9/{MASK}", "secret": MASK, "batch": 5, "subgroups": True}
    changes: list[Json] = [
        {"name": "out"},
        {"name": "in", "description": "to the cellar"},
        {"name": None, "description": None},
        {"messageFilter": "message.kind == 'data'"},
        {"messageFilter": "true"},
        {"messageFilter": None},
        {"params": json.dumps(masked)},
        {"params": json.dumps({**masked, "template": "message"}), "format": "custom"},
        {"retryPolicy": {"retryDelay": 60, "maxRetry": 3}},
        {"retryPolicy": {"retryDelay": 60, "maxRetry": 4}},
        {"retryPolicy": None},
        {"dataFailurePolicy": {"storingDuration": 60}},
        {"enabled": False, "tags": ["a"], "deviceTypes": ["generic"], "deviceIds": [device]},
        {"enabled": True, "tags": [], "deviceTypes": [], "deviceIds": []},
    ]
    return Case(
        lambda: ok(ada.get("/connector", **which)),
        lambda fields: ok(ada.put("/connector", {**which, **fields})),
        changes,
        group,
    )


def of_notification(ada: Person) -> Case:
    group = ada.group()
    device = ada.device(group)
    params = json.dumps({"url": "http://127.0.0.1:9/hook", "secret": "whsec_" + "c2VjcmV0" * 4})
    body = {"groupId": group, "type": "webhook", "name": "alarm", "params": params}
    notification = ok(ada.post("/notification", body))["id"]
    which = {"notificationId": notification, "groupId": group}
    masked = {"url": f"http://127.0.0.1:9/{MASK}", "secret": MASK, "throttle": 60}
    more = {"subject": "{{ message.reason }}"}
    changes: list[Json] = [
        {"name": "alert", "description": "wakes somebody"},
        {"description": None},
        {"deviceId": device, "reason": "opened"},
        {"deviceId": None, "reason": None},
        {"schedule": {"Day": 1, "From": {"Hours": 8, "Minutes": 0}}},
        {"schedule": {"Day": 2}},
        {"schedule": None},
        {"params": json.dumps(masked)},
        {"params": json.dumps({**masked, **more})},
        {"enabled": False, "tags": ["a"], "deviceTypes": ["generic"]},
    ]
    return Case(
        lambda: ok(ada.get("/notification", **which)),
        lambda fields: ok(ada.put("/notification", {**which, **fields})),
        changes,
        group,
    )


def of_contact_point(ada: Person) -> Case:
    group = ada.group()
    params = {"url": "http://127.0.0.1:9/hook", "secret": "whsec_" + "c2VjcmV0" * 4}
    body = {"groupId": group, "type": "webhook", "name": "night", "params": json.dumps(params)}
    contact = ok(ada.post("/contactPoint", body))["id"]
    which = {"contactPointId": contact, "groupId": group}
    masked = {"url": f"http://127.0.0.1:9/{MASK}", "secret": MASK}
    changes: list[Json] = [
        {"name": "day", "description": "wakes nobody"},
        {"name": None, "description": None},
        {"params": json.dumps({**masked, "subgroups": True})},
        {"params": json.dumps({**masked, "method": "PUT"})},
    ]
    return Case(
        lambda: ok(ada.get("/contactPoint", **which)),
        lambda fields: ok(ada.put("/contactPoint", {**which, **fields})),
        changes,
        group,
    )


def of_group(ada: Person) -> Case:
    group, parent = ada.group("group", description="here"), ada.group("parent")
    bob = ada.world.person("bob")
    ada.invite(bob, group, "administrator")
    changes: list[Json] = [
        {"name": "other", "description": "there", "tags": ["a"]},
        {"name": None, "description": None, "tags": []},
        {"parent": parent},
        {"parent": None},
        {"roleId": "viewer"},
        {"ownerId": bob.id},
    ]

    def send(fields: Json) -> Any:
        return ok(ada.world.operator.put("/group", {"groupId": group, **fields}))

    return Case(lambda: ok(ada.get("/group", groupId=group))[0], send, changes, group)


def of_policy(ada: Person) -> Case:
    group = ada.group()
    changes: list[Json] = [
        {"policy": {"reportEverySeconds": 60}},
        {"policy": {"reportEverySeconds": 90, "gps": {"retry_delay": None}}},
        {"policy": {}},
    ]
    return Case(
        lambda: ok(ada.get("/group/configuration", groupId=group)),
        lambda fields: ok(ada.put("/group/configuration", {"groupId": group, **fields})),
        changes,
        group,
    )


def of_measurements(ada: Person) -> Case:
    group = ada.group()
    which = {"type": "generic", "groupId": group}
    litres = {"name": "litres", "path": "/data/litres", "class": "counter", "unit": "l"}
    changes: list[Json] = [
        {"measurements": [litres]},
        {
            "measurements": [
                {**litres, "unit": "m³", "minimum": 0},
                {**litres, "name": "other", "path": "/data/o"},
            ]
        },
        {"measurements": []},
    ]
    return Case(
        lambda: {"measurements": ok(ada.get("/device/type", **which)).get("measurements")},
        lambda fields: ok(ada.put("/device/type/measurements", {**which, **fields})),
        changes,
        group,
    )


def of_type(ada: Person) -> Case:
    group = ada.group()
    ok(ada.post("/device/type", {"name": "sonar", "groupId": group}))
    changes: list[Json] = [
        {"displayName": "Depth sounder", "battery": "1 x D", "firmwareVersion": "2.1"},
        {"decoder": "bits", "decoderSource": "depth::uint:8"},
        {"decoder": "cayenneLpp", "decoderSource": "", "decodedLocation": "gps.lat,gps.lng"},
        {"decoder": None, "encoderSource": "function Encode(p, d) { return [1]; }"},
        {"defaultConfiguration": '{"reportEverySeconds":60}', "battery": None},
    ]
    return Case(
        lambda: ok(ada.get("/device/type/definition", type="sonar")),
        lambda fields: ok(ada.put("/device/type/definition", {"type": "sonar", **fields})),
        changes,
        group,
    )


def of_device(ada: Person) -> Case:
    group = ada.group()
    device = ada.device(group, configuration='{"a":1}')
    which = {"deviceId": device, "groupId": group}

    def send(fields: Json) -> Any:
        if "type" in fields:  # which has an operation of its own, and comes with a configuration
            ok(ada.put("/device/type", {**which, "type": fields["type"]}))
        others = {name: value for name, value in fields.items() if name != "type"}
        return ok(ada.put("/device", {**which, **others})) if others else None

    changes: list[Json] = [
        {"name": "other", "tags": ["a", "b"]},
        {"configuration": '{"a":2}', "tags": []},
        {"type": "tracker"},
        {"type": "button"},
        {"originalId": "REPLACED", "network": "other"},
    ]
    return Case(
        lambda: ok(ada.get("/device", deviceId=device)),
        send,
        changes,
        group,
    )


def of_device_group(ada: Person) -> Case:
    group, other = ada.group(), ada.group("other")
    device = ada.device(group)

    def transfer(source: str, target: str) -> Any:
        body = {"deviceId": device, "groupId": source, "toGroupId": target}
        return ok(ada.put("/device/transfer", body))

    return Case(
        lambda: ok(ada.get("/device", deviceId=device)),
        lambda fields: transfer(group, other),
        [{}],
        group,
        lambda before, after: transfer(after["groupId"], before["groupId"]),
    )


def of_role(ada: Person) -> Case:
    group, role = ada.group(), ada.role("device.read")
    which = {"roleId": role, "groupId": group}
    changes: list[Json] = [
        {"name": "few", "description": "reads"},
        {"description": "", "permissions": ["device.read", "record.read"]},
    ]

    def see() -> Json:
        (found,) = [each for each in ok(ada.get("/group/roles"))["items"] if each["id"] == role]
        return dict(found)

    return Case(see, lambda fields: ok(ada.put("/role", {**which, **fields})), changes, group)


def of_member(ada: Person) -> Case:
    group, bob = ada.group(), ada.world.person("bob")
    ada.invite(bob, group, "viewer")
    return Case(
        lambda: see_member(ada, group, bob),
        lambda fields: ok(ada.put("/group/user", {"userId": bob.id, "groupId": group, **fields})),
        [{"roleId": "manager"}, {"roleId": "member"}],
        group,
    )


def see_member(ada: Person, group: str, person: Person) -> Json:
    members = ok(ada.get("/group/users", groupId=group))["items"]
    (found,) = [each for each in members if each["id"] == person.id]
    return dict(found)


def of_app_client(ada: Person) -> Case:
    group = ada.group()
    client = ada.app_client(group, "robot")

    def see() -> Json:
        found = ok(ada.get("/group/appClients", groupId=group))["items"]
        return dict(next(each for each in found if each["appClientId"] == client.id))

    def send(fields: Json) -> Any:
        name = see()["name"]
        changes = {"newName": fields.get("name", name)}
        changes |= {"roleId": fields["roleId"]} if "roleId" in fields else {}
        return ok(ada.put("/appClient", {"groupId": group, "name": name, **changes}))

    return Case(see, send, [{"name": "android"}, {"roleId": "viewer"}, {"roleId": None}], group)


def of_retention(ada: Person) -> Case:
    group = ada.group()
    return Case(
        lambda: ok(ada.get("/group/limits", groupId=group)),
        lambda fields: ok(ada.put("/group/retention", {"groupId": group, **fields})),
        [{"retentionDays": {"data": 30}}, {"retentionDays": {"data": 7, "summary": 90}}],
        group,
    )


def of_limits(ada: Person) -> Case:
    group = ada.group()
    return Case(
        lambda: ok(ada.get("/group/limits", groupId=group)),
        lambda fields: ok(ada.world.operator.put("/group/limits", {"groupId": group, **fields})),
        [{"limits": {"storedRecordsMax": 10}}, {"limits": {"requestsPerSecond": 2}}],
        group,
    )


CASES: dict[str, list[Callable[[Person], Case]]] = {
    "delivery/channel_owners.py:update": [of_connector, of_notification, of_contact_point],
    "fleet/configurations.py:set_group_policy": [of_policy],
    "fleet/measurement_declarations.py:declare": [of_measurements],
    "fleet/device_types.py:update_device_type": [of_type],
    "fleet/devices.py:_log_updates": [of_device],
    "fleet/devices.py:apply_transfer": [of_device_group],
    "api/identity/clients.py:update_client": [of_app_client],
    "api/identity/roles.py:update_role": [of_role],
    "identity/group_limits.py:_log_change": [of_retention, of_limits],
    "identity/groups.py:update": [of_group],
    "identity/groups.py:set_role": [of_member],
}
NOT_RESTORED = {
    "fleet/configurations.py:set_type_policy": "of no group, so nobody is shown it",
    "api/identity/roles.py:_assign_default_role": "the role that the member had is deleted",
}
VOLATILE = ("updatedAt", "updatedBy", "membershipUpdatedAt", "seenAt")


def test_there_is_a_case_for_every_change_that_is_logged() -> None:
    assert list_places() == {*CASES, *NOT_RESTORED}


@pytest.mark.parametrize("build", [build for builds in CASES.values() for build in builds])
def test_before_is_a_change_that_restores_what_was_there(
    world: World, build: Callable[[Person], Case]
) -> None:
    ada = world.person("ada")
    case = build(ada)
    for change in case.changes:
        was = seen(case)
        case.send(change)
        changed = seen(case)
        assert changed != was, change
        entry = newest_change(ada, case.group)
        before, after = entry["before"], entry["after"]
        assert before.keys() == after.keys()
        case.restore(before, after)
        assert seen(case) == was, (change, before)
        case.send(change)
        assert seen(case) == changed


@pytest.mark.engine_free
def test_connectors_of_older_entries_have_the_fields_of_requests(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    whole = {"retry_delay": 30, "max_retry": 3, "storing_duration": 60, "subgroups": False}
    nothing = {"retry_delay": None, "max_retry": None, "storing_duration": 90, "subgroups": True}

    def log(tx: Tx) -> None:
        actor = Actor("user", ada.id)
        audit.log(tx, actor, "connector.update", "x", group_id=group, before=whole, after=nothing)

    world.write(log)
    entry = newest_change(ada, group)
    assert entry["before"] == {
        "retryPolicy": {"retryDelay": 30, "maxRetry": 3},
        "dataFailurePolicy": {"storingDuration": 60},
    }
    assert entry["after"] == {"retryPolicy": None, "dataFailurePolicy": {"storingDuration": 90}}


def seen(case: Case) -> Json:
    return {name: value for name, value in case.see().items() if name not in VOLATILE}


def newest_change(ada: Person, group: str) -> Json:
    entries = ok(ada.world.operator.get("/group/audit", groupId=group, limit=10))["items"]
    return next(each for each in entries if "before" in each and "after" in each)

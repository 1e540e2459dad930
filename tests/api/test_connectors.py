"""Connectors over the API: create, get, update, delete; validation and masked secrets."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from structlog.testing import capture_logs

from longwire.delivery import retry_policy
from longwire.delivery.destinations.base import MASK
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.statement import Statement
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, refused

NOWHERE = "http://127.0.0.1:9/hook"  # nobody listens there
PARAMS = json.dumps({"url": NOWHERE})
LONG_AGO = {"beginDate": "2020-01-01", "endDate": "2020-01-02"}

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def body(group: str, **fields: Any) -> dict[str, Any]:
    return {"groupId": group, "type": "http", "params": PARAMS, **fields}


def named(group: str, connector: str) -> dict[str, str]:
    return {"connectorId": connector, "groupId": group}


def shown(person: Person, group: str, connector: str) -> dict[str, Any]:
    return dict(ok(person.get("/connector", **named(group, connector))))


def listed(person: Person, group: str, **params: Any) -> list[dict[str, Any]]:
    return list(ok(person.get("/connector/connectors", groupId=group, **params))["test"])


# --- making and showing ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_connector_is_returned_as_created_and_listed_under_the_key_test(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device, other = ada.device(group), ada.device(group, type="tracker")
    whole = {
        "id": "to-the.harbour_~1",
        "name": "To the harbour",
        "description": "Everything that moves",
        "deviceTypes": ["generic", "tracker"],
        "deviceIds": [device, other],
        "messageFilter": "message.kind == 'data'",
        "format": "cloudevents",
        "dataFailurePolicy": {"storingDuration": 3_600},
        "retryPolicy": {"retryDelay": 5, "maxRetry": 7},
        "enabled": False,
        "tags": ["north", "boats"],
    }
    made = ok(ada.post("/connector", body(group, **whole)))
    policy_shown = {"storingDuration": 3_600, "hasData": False, "resending": False}
    moment = made["createdAt"]
    assert made == {
        **body(group, **whole),
        "dataFailurePolicy": policy_shown,
        "createdAt": moment,
        "updatedAt": moment,
        "createdBy": ada.id,
        "updatedBy": ada.id,
    }
    plain = ok(ada.post("/connector", body(group)))
    assert plain["id"].startswith("con_")
    assert plain == {
        **body(group),
        "id": plain["id"],
        "deviceTypes": [],
        "deviceIds": [],
        "enabled": True,
        "format": "json",
        "dataFailurePolicy": {**policy_shown, "storingDuration": 7 * 86_400},
        "tags": [],
        "createdAt": plain["createdAt"],
        "updatedAt": plain["createdAt"],
        "createdBy": ada.id,
        "updatedBy": ada.id,
    }
    # The group as a number or as a text, as the interface has it here and there.
    for each in (group, int(group)):
        asked = ada.get("/connector", connectorId=made["id"], groupId=each)
        assert ok(asked) == made
    assert ok(ada.get("/connector/connectors", groupId=group)) == {"test": [made, plain]}
    assert ok(ada.get("/group", groupId=group))[0]["numberOfConnectors"] == 2
    # What is deleted is answered once more, and then it is gone.
    assert ok(ada.delete("/connector", **named(group, made["id"]))) == made
    refused(ada.get("/connector", **named(group, made["id"])), 400, "connectorId")
    refused(ada.delete("/connector", **named(group, made["id"])), 400, "connectorId")
    assert listed(ada, group) == [plain]
    assert ok(ada.get("/group", groupId=group))[0]["numberOfConnectors"] == 1
    trail = [entry for entry in world.audit() if entry[1].startswith("connector.")]
    assert trail == [
        (ada.id, "connector.create", made["id"]),
        (ada.id, "connector.create", plain["id"]),
        (ada.id, "connector.delete", made["id"]),
    ]


@pytest.mark.engine_free
@pytest.mark.slow
def test_an_id_can_be_chosen_unless_it_is_in_use(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, lair = ada.group(), eve.group()
    free = ("a", "~._-", "msg_1", "x" * 128, "deleted", "0")
    for wished in free:
        assert ok(ada.post("/connector", body(group, id=wished)))["id"] == wished
    for wished in ("", "x" * 129, "a b", "a/b", "deleted:1", "a\n", "ä", "%41", "a?b", "a\x00", 7):
        with nothing_happens(world):
            refused(ada.post("/connector", body(group, id=wished)), 400, "id")
    own = refused(ada.post("/connector", body(group, id="a")), 400, "id")
    foreign = refused(eve.post("/connector", body(lair, id="a")), 400, "id")
    assert own["errors"] == foreign["errors"]
    # Whoever deletes a connector sets its id free, for anybody.
    ok(ada.delete("/connector", **named(group, "a")))
    assert ok(eve.post("/connector", body(lair, id="a")))["id"] == "a"
    refused(ada.get("/connector", **named(group, "a")), 400, "connectorId")
    # Of many who want the same one at once, one gets it, and the others are refused.
    with ThreadPoolExecutor(8) as people:
        bodies = [body(group, id="wanted")] * 8
        answers = list(people.map(lambda wanted: ada.post("/connector", wanted), bodies))
    won = [each for each in answers if each.status_code == 200]
    assert len(won) == 1
    for each in answers:
        if each not in won:
            assert refused(each, 400, "id")["errors"] == own["errors"]
    assert ok(ada.get("/group", groupId=group))[0]["numberOfConnectors"] == len(free)


@on_sqlite
def test_parameters_are_stored_exactly_as_sent(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    for text in (
        '{"url":"http://127.0.0.1:9/"}',
        '  {"batch" : 1, "url" :\t"http:\\/\\/127.0.0.1:9/\\u00e4"}\n',
        '{"url":"http://127.0.0.1:9/?q=ä","headers":{"X-Ü":"1"}}'.replace("Ü", "U"),
        '{"method":"PUT","subgroups":false,"url":"http://127.0.0.1:9/","template":"message.kind"}',
    ):
        made = ok(ada.post("/connector", body(group, params=text)))
        assert made["params"] == text
        assert shown(ada, group, made["id"])["params"] == text
        ok(ada.put("/connector", {**named(group, made["id"]), "name": "changed"}))
        assert shown(ada, group, made["id"])["params"] == text


# --- changing ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_an_update_keeps_omitted_fields_and_clears_empty_ones(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "manager")
    device = ada.device(group)
    before = ok(
        ada.post(
            "/connector",
            body(
                group,
                name="first",
                description="about",
                deviceTypes=["generic"],
                deviceIds=[device],
                messageFilter="true",
                format="raw",
                dataFailurePolicy={"storingDuration": 60},
                retryPolicy={"retryDelay": 2, "maxRetry": 3},
                tags=["one"],
            ),
        )
    )
    which = named(group, before["id"])

    def after(person: Person, **fields: Any) -> dict[str, Any]:
        changed = ok(person.put("/connector", {**which, **fields}))
        assert changed == shown(ada, group, before["id"])
        return {
            name: value
            for name, value in changed.items()
            if value != before.get(name) and name not in ("updatedAt", "updatedBy")
        }

    assert after(ada) == {}
    world.clock.let_pass(seconds=1)
    may_change = {*before} - {"id", "groupId", "createdAt", "createdBy", "updatedAt", "updatedBy"}
    unsaid = dict.fromkeys(may_change)
    assert after(bob, **unsaid) == {}, "null says nothing"
    changed = shown(ada, group, before["id"])
    assert changed["updatedBy"] == bob.id
    assert changed["updatedAt"] > before["updatedAt"] == changed["createdAt"]
    for fields, seen in (
        ({"enabled": False}, {"enabled": False}),
        ({"enabled": True, "name": "second"}, {"name": "second"}),
        ({"name": "first", "format": "json"}, {"format": "json"}),
        (
            {"format": "raw", "deviceIds": [], "deviceTypes": []},
            {"deviceIds": [], "deviceTypes": []},
        ),
        ({"deviceIds": [device, device], "deviceTypes": ["generic", "generic"]}, {}),
        ({"tags": [], "description": ""}, {"tags": [], "description": ""}),
        ({"tags": ["one"], "description": "about", "dataFailurePolicy": {}}, {}),
        (
            {"retryPolicy": {"retryDelay": 1, "maxRetry": 0}},
            {"retryPolicy": {"retryDelay": 1, "maxRetry": 0}},
        ),
        ({"retryPolicy": {"retryDelay": 2, "maxRetry": 3}}, {}),
        ({"retryPolicy": {"delays": [30, 300]}}, {"retryPolicy": {"delays": [30, 300]}}),
        ({"retryPolicy": {"delays": []}}, {"retryPolicy": {"delays": []}}),
    ):
        assert after(ada, **fields) == seen, fields
    assert "messageFilter" not in ok(ada.put("/connector", {**which, "messageFilter": ""}))
    assert "messageFilter" not in ok(ada.put("/connector", {**which, "messageFilter": " \n"}))
    # By default a message is tried five times; that can be had back, but a name cannot be had off.
    assert "retryPolicy" not in ok(ada.put("/connector", {**which, "retryPolicy": ""}))
    assert "retryPolicy" not in shown(ada, group, before["id"])
    for wrong in (" ", "default", {}, [], 0, False):
        answer = ada.put("/connector", {**which, "retryPolicy": wrong, "name": ""})
        assert {"retryPolicy", "name"} <= {
            each["field"].partition(".")[0] for each in refused(answer, 400)["errors"]
        }
    for policy, names in (
        ({"retryDelay": 1}, ["maxRetry"]),
        ({"delays": [1], "maxRetry": 1}, ["maxRetry", "delays"]),
        ({"delays": [1], "retryDelay": 1, "maxRetry": 1}, ["retryDelay", "maxRetry", "delays"]),
        ({"delays": [0, 1, 86_401]}, ["delays[0]", "delays[2]"]),
        ({"delays": [1] * 101}, ["delays"]),
    ):
        fields = [f"retryPolicy.{name}" for name in names]
        refused(ada.put("/connector", {**which, "retryPolicy": policy}), 400, *fields)
    # Another type wants other parameters.
    refused(ada.put("/connector", {**which, "type": "mqtt"}), 400, "params")
    mqtt = json.dumps({"url": "mqtt://127.0.0.1:9", "topic": "longwire"})
    moved = ok(ada.put("/connector", {**which, "type": "mqtt", "params": mqtt}))
    assert (moved["type"], moved["params"]) == ("mqtt", mqtt)
    refused(ada.put("/connector", {**which, "params": PARAMS}), 400)
    # The group and the id are not for changing.
    other = ada.group()
    refused(ada.put("/connector", {**which, "groupId": other}), 400, "connectorId")
    assert ok(ada.put("/connector", {**which, "id": "mine"}))["id"] == before["id"]


def test_concurrent_updates_are_all_applied_and_only_one_deletion_succeeds(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    connector = ada.connector(group, NOWHERE)
    changes: list[dict[str, Any]] = [
        {"name": "first"},
        {"description": "about"},
        {"tags": ["one"]},
        {"enabled": False},
        {"messageFilter": "true"},
        {"deviceTypes": ["generic"]},
        {"format": "raw"},
        {"retryPolicy": {"retryDelay": 1, "maxRetry": 1}},
    ]
    which = named(group, connector)
    with ThreadPoolExecutor(len(changes)) as people:
        for answer in people.map(lambda each: ada.put("/connector", {**which, **each}), changes):
            ok(answer)
        after = shown(ada, group, connector)
        for change in changes:
            assert change.items() <= after.items()
        ada.connector(group, NOWHERE)
        answers = people.map(lambda _: ada.delete("/connector", **which), changes)
        assert sorted(each.status_code for each in answers) == [200] + [400] * 7
    assert ok(ada.get("/group", groupId=group))[0]["numberOfConnectors"] == 1


# --- what is refused ---


def wrong_bodies(group: str, foreign_device: str) -> list[tuple[dict[str, Any], set[str]]]:
    """Invalid bodies to create a connector, and the fields that must be reported."""

    def http(**params: Any) -> dict[str, str]:
        return {"params": json.dumps({"url": NOWHERE, **params})}

    return [
        ({"type": "pigeon"}, {"type"}),
        ({"type": "HTTP"}, {"type"}),
        ({"type": "toString"}, {"type"}),
        ({"params": ""}, {"params"}),
        ({"params": "{"}, {"params"}),
        ({"params": "[]"}, {"params"}),
        ({"params": "null"}, {"params"}),
        ({"params": "{}"}, {"params.url"}),
        ({"params": '{"url":7}'}, {"params.url"}),
        ({"params": '{"url":"http://127.0.0.1\\u0000/"}'}, {"params.url"}),
        ({"params": "[" * 5_000}, {"params"}),
        ({"params": {"url": NOWHERE}}, {"params"}),
        ({"params": json.dumps({"url": "ftp://example.com/"})}, {"params.url"}),
        ({"params": json.dumps({"url": "http://u:p@example.com/#x"})}, {"params.url"}),
        (http(unknown=1), {"params.unknown"}),
        (http(method="GET"), {"params.method"}),
        (http(batch=0), {"params.batch"}),
        (http(batch=1_001, method="get"), {"params.batch", "params.method"}),
        (http(bearer=""), {"params.bearer"}),
        (http(bearer="a", basic={"username": "b", "password": "c"}), {"params.basic"}),
        (http(basic={"username": "b"}), {"params.basic.password"}),
        (http(headers={"Host": "x"}), {"params.headers"}),
        (http(headers={"X": "a\r\nb"}), {"params.headers"}),
        (http(secret="whsec_%"), {"params.secret"}),
        (http(subgroups="yes"), {"params.subgroups"}),
        (http(template="message.("), {"params.template"}),
        ({"format": "custom"}, {"params.template"}),
        ({"format": "xml"}, {"format"}),
        ({"messageFilter": "message.kind =="}, {"messageFilter"}),
        ({"messageFilter": "nothing.here"}, {"messageFilter"}),
        ({"messageFilter": "[1].all(x, true)"}, {"messageFilter"}),
        ({"messageFilter": "x" * 4_097}, {"messageFilter"}),
        ({"deviceTypes": ["generic", "pigeon", ""]}, {"deviceTypes[2]"}),
        ({"deviceTypes": ["generic", "pigeon"]}, {"deviceTypes[1]"}),
        ({"deviceIds": ["nothing", foreign_device]}, {"deviceIds[0]", "deviceIds[1]"}),
        ({"deviceIds": "nothing"}, {"deviceIds"}),
        ({"name": ""}, {"name"}),
        ({"retryPolicy": {}}, {"retryPolicy.retryDelay", "retryPolicy.maxRetry"}),
        ({"retryPolicy": {"retryDelay": 5}}, {"retryPolicy.maxRetry"}),
        (
            {"retryPolicy": {"retryDelay": 0, "maxRetry": -1}},
            {"retryPolicy.retryDelay", "retryPolicy.maxRetry"},
        ),
        (
            {"retryPolicy": {"retryDelay": 86_401, "maxRetry": 101}},
            {"retryPolicy.retryDelay", "retryPolicy.maxRetry"},
        ),
        (
            {"retryPolicy": {"retryDelay": 1.5, "maxRetry": "1"}},
            {"retryPolicy.retryDelay", "retryPolicy.maxRetry"},
        ),
        ({"dataFailurePolicy": {"storingDuration": -1}}, {"dataFailurePolicy.storingDuration"}),
        (
            {"dataFailurePolicy": {"storingDuration": retry_policy.STORING_MAX_S + 1}},
            {"dataFailurePolicy.storingDuration"},
        ),
        ({"dataFailurePolicy": 7}, {"dataFailurePolicy"}),
        # Everything at once.
        (
            {
                **http(url="http://", bearer="ä", template="message."),
                "id": "a",
                "messageFilter": "&&",
                "format": "xml",
                "deviceTypes": ["pigeon"],
                "deviceIds": [foreign_device],
            },
            {
                *("params.url", "params.bearer", "params.template", "id", "messageFilter"),
                *("format", "deviceTypes[0]", "deviceIds[0]"),
            },
        ),
    ]


@pytest.mark.engine_free
def test_all_invalid_fields_are_reported_at_once_and_nothing_changes(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, lair = ada.group(), eve.group()
    foreign_device = eve.device(lair)
    connector = ada.connector(group, NOWHERE, id="a")
    with nothing_happens(world):
        for wrong, fields in wrong_bodies(group, foreign_device):
            refused(ada.post("/connector", body(group, **wrong)), 400, *fields)
            change = {**named(group, connector), **wrong}
            if "id" in change:
                fields = fields - {"id"}
            if change.get("type", "http") == "http":
                refused(ada.put("/connector", change), 400, *fields)
        refused(ada.post("/connector", {}), 400, "groupId", "params", "type")
        refused(ada.put("/connector", {}), 400, "groupId", "connectorId")
        for missing in ("1", "x", lair):
            refused(ada.post("/connector", body(missing)), 400, "groupId")


@on_sqlite
def test_an_invalid_filter_or_template_is_refused_with_its_position(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    for field, sent in (
        ("messageFilter", {"messageFilter": "message.kind == 'data' &&\n  ! )"}),
        (
            "params.template",
            {"params": json.dumps({"url": NOWHERE, "template": "{'a':\n  )"}), "format": "custom"},
        ),
    ):
        problem = refused(ada.post("/connector", body(group, **sent)), 400, field)
        assert "line 2, column " in problem["errors"][0]["message"]


@on_sqlite
def test_policies_are_validated_and_read_only_fields_are_ignored(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    for delay, retries, storing in (
        (1, 0, 0),
        (retry_policy.RETRY_DELAY_MAX_S, retry_policy.RETRIES_MAX, retry_policy.STORING_MAX_S),
    ):
        chosen = {
            "retryPolicy": {"retryDelay": delay, "maxRetry": retries},
            "dataFailurePolicy": {
                "storingDuration": storing,
                "hasData": True,
                "startTime": "2020-01-01T00:00:00.000Z",
                "resending": "no",
            },
        }
        made = ok(ada.post("/connector", body(group, **chosen)))
        kept = {"storingDuration": storing, "hasData": False, "resending": False}
        assert made["retryPolicy"] == chosen["retryPolicy"]
        assert made["dataFailurePolicy"] == kept
        changed = ok(ada.put("/connector", {**named(group, made["id"]), **chosen}))
        assert changed["dataFailurePolicy"] == kept


@on_sqlite
def test_a_private_network_address_is_refused_when_a_connector_is_saved(
    make_world: Callable[..., World],
) -> None:
    world = make_world(egress_allow=())
    ada = world.person("ada")
    group = ada.group()
    literal = [
        *("127.0.0.1", "10.0.0.1", "192.168.1.1:8080", "169.254.169.254", "0.0.0.0", "2130706433"),
        *("0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[64:ff9b::7f00:1]"),
    ]
    with nothing_happens(world):
        for host in literal:
            params = json.dumps({"url": f"http://{host}/"})
            refused(ada.post("/connector", body(group, params=params)), 400, "params.url")
        for kind, url in (("mqtt", "mqtt://127.0.0.1"), ("nats", "nats://[::1]:4222")):
            params = json.dumps({"url": url, "topic" if kind == "mqtt" else "subject": "a"})
            refused(ada.post("/connector", body(group, type=kind, params=params)), 400)
    connector = ada.connector(group, "https://example.com/hook")
    params = json.dumps({"url": "http://127.0.0.1/"})
    change = {**named(group, connector), "params": params, "name": "new"}
    refused(ada.put("/connector", change), 400, "params.url")
    assert "name" not in shown(ada, group, connector)


@on_sqlite
def test_a_connector_that_became_invalid_can_still_be_disabled_and_deleted(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    which = named(group, ada.connector(group, NOWHERE))
    world.settings = replace(world.settings, egress_allow=())
    world.restart()
    disabled = ok(ada.put("/connector", {**which, "enabled": False, "name": "old"}))
    assert (disabled["enabled"], disabled["name"]) == (False, "old")
    refused(ada.put("/connector", {**which, "params": PARAMS}), 400, "params.url")
    ok(ada.delete("/connector", **which))


# --- missing, invisible, forbidden ---


def requests_about(connector: str, group: str, replay: str) -> dict[str, tuple[str, str, Any, Any]]:
    """Every operation on a connector: method, path, query, body."""
    which = named(group, connector)
    return {
        "connector.read": ("GET", "/connector", which, None),
        "connector.read, events": ("GET", "/connector/connectorEvent", {**which, **LONG_AGO}, None),
        "connector.read, preview": ("POST", "/connector/preview", {}, which),
        "connector.read, replay": ("GET", "/connector/replay", {**which, "replayId": replay}, None),
        "connector.read, health": ("GET", "/connector/health", which, None),
        "connector.read, replays": ("GET", "/connector/replays", which, None),
        "connector.write": ("PUT", "/connector", {}, {**which, "name": "changed"}),
        "connector.resend": ("POST", "/connector/resendData", {}, which),
        "connector.resend, replay": ("POST", "/connector/replay", {}, {**which, **LONG_AGO}),
        "connector.resend, estimate": (
            "POST",
            "/connector/replay/preview",
            {},
            {**which, **LONG_AGO},
        ),
        "connector.resend, cancel": (
            "DELETE",
            "/connector/replay",
            {**which, "replayId": replay},
            None,
        ),
        "connector.write, delete": ("DELETE", "/connector", which, None),
    }


def ask(person: Person, request: tuple[str, str, Any, Any]) -> httpx.Response:
    method, path, query, sent = request
    return person.request(method, path, params=query, json=sent)


def begun(person: Person, group: str, connector: str) -> str:
    return str(
        ok(person.post("/connector/replay", {**named(group, connector), **LONG_AGO}))["replayId"]
    )


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_missing_or_foreign_connector_is_an_invalid_parameter(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    home = ada.group()
    below, beside, lair = ada.group(parent=home), ada.group(), eve.group()
    connector, other = ada.connector(home, NOWHERE), ada.connector(below, NOWHERE)
    hidden = eve.connector(lair, NOWHERE)
    replay, foreign_replay = begun(ada, home, connector), begun(eve, lair, hidden)
    with nothing_happens(world):
        for group, which, field in (
            (home, "nothing", "connectorId"),
            (home, hidden, "connectorId"),
            (home, other, "connectorId"),
            (below, connector, "connectorId"),
            (beside, connector, "connectorId"),
            (lair, hidden, "groupId"),
            (lair, connector, "groupId"),
            ("1", connector, "groupId"),
            ("nothing", connector, "groupId"),
        ):
            messages = set()
            for request in requests_about(which, group, replay).values():
                messages.add(refused(ask(ada, request), 400, field)["detail"])
            assert len(messages) == 1
        for which in ("nothing", foreign_replay):
            for method in ("GET", "DELETE"):
                query = {**named(home, connector), "replayId": which}
                refused(ask(ada, (method, "/connector/replay", query, None)), 400, "replayId")
        for group in (lair, "1", "nothing"):
            refused(ada.get("/connector/connectors", groupId=group), 400, "groupId")
        for name in ("pigeon", "HTTP", "toString"):
            refused(ada.get("/connector/connectorType", type=name), 400, "type")


@pytest.mark.engine_free
def test_each_operation_requires_its_own_permission(world: World) -> None:
    ada, chief = world.person("ada"), world.operator
    group = ada.group()
    every = {each["id"] for each in ok(ada.get("/permission"))["items"]}
    every -= {"user.create", "deviceType.write", "permission.write", "group.limit"}
    connectors = {"connector.read", "connector.write", "connector.resend"}
    for number, permission in enumerate(sorted(connectors)):
        connector = ada.connector(group, NOWHERE)
        replay = begun(ada, group, connector)
        beside = {"record.read"} if permission == "connector.read" else set()
        able, unable = world.person(f"able{number}"), world.person(f"unable{number}")
        ada.invite(able, group, ada.role(permission, *beside, name="only"))
        ada.invite(unable, group, ada.role(*every - {permission}, name="without"))
        requests = requests_about(connector, group, replay)
        requests |= {
            "connector.read, list": ("GET", "/connector/connectors", {"groupId": group}, None),
            "connector.write, create": ("POST", "/connector", {}, body(group)),
        }
        requests["connector.write, delete"] = requests.pop("connector.write, delete")
        for name, request in requests.items():
            if name.partition(",")[0] == permission:
                assert refused(ask(unable, request), 403)["errors"] == [], name
                ok(ask(able, request))
            else:
                refused(ask(able, request), 403)
    # What a preview shows are records, too.
    reader = world.person("reader")
    ada.invite(reader, group, ada.role("connector.read", name="no records"))
    connector = ada.connector(group, NOWHERE)
    refused(reader.post("/connector/preview", named(group, connector)), 403)
    # The catalogue is for everybody with a token.
    for path, query in (
        ("/connector/connectorTypes", {}),
        ("/connector/connectorType", {"type": "http"}),
    ):
        ok(world.person(f"nobody{len(path)}").get(path, **query))
        refused(world.nobody.get(path, **query), 401)
    ok(chief.delete("/connector", **named(group, connector)))


# --- secrets ---

SECRETS = {
    "bearer": "canary-bearer",
    "key": "canary-header",
    "password": "canary-password",
    "secret": "canarysigning" + "A" * 23,
}


@dataclass
class Safe:
    """A connector of each kind with secrets in it, as many as go together."""

    type: str
    params: dict[str, Any]


SAFES = [
    Safe(
        "http",
        {
            "url": f"{NOWHERE}/canary?key=canary",
            "bearer": SECRETS["bearer"],
            "headers": {"X-Key": SECRETS["key"]},
            "secret": SECRETS["secret"],
        },
    ),
    Safe("http", {"url": NOWHERE, "basic": {"username": "u", "password": SECRETS["password"]}}),
]
_LOGIN = {"username": "u", "password": SECRETS["password"]}
BROKERS = [
    Safe("mqtt", {"url": "mqtts://127.0.0.1:9", "topic": "a", **_LOGIN}),
    Safe("nats", {"url": "tls://127.0.0.1:9", "subject": "a", "token": SECRETS["key"]}),
    Safe("amqp", {"url": "amqps://127.0.0.1:9", "exchange": "a", **_LOGIN}),
    Safe(
        "kafka",
        {
            "brokers": "127.0.0.1:9",
            "topic": "a",
            "tls": True,
            "mechanism": "SCRAM-SHA-256",
            **_LOGIN,
        },
    ),
]


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: masked(each) for name, each in value.items()}
    if isinstance(value, str) and value.startswith("http://"):
        return f"http://127.0.0.1:9/{MASK}"
    return MASK if isinstance(value, str) and "canary" in value else value


@pytest.mark.engine_free
def test_secrets_are_masked_for_readers_and_a_mask_written_back_keeps_them(world: World) -> None:
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    for safe in (*SAFES, *BROKERS):
        text = json.dumps(safe.params)
        connector = ok(ada.post("/connector", body(group, type=safe.type, params=text)))["id"]
        which = named(group, connector)
        assert shown(ada, group, connector)["params"] == text
        seen = shown(viewer, group, connector)["params"]
        assert json.loads(seen) == masked(safe.params)
        assert "canary" not in repr(listed(viewer, group))
        assert json.loads(listed(ada, group)[-1]["params"]) == safe.params
        # What a reader copies from the screen changes nothing.
        ok(ada.put("/connector", {**which, "params": seen}))
        assert json.loads(shown(ada, group, connector)["params"]) == safe.params
        hidden = json.dumps(masked(safe.params))
        problem = refused(ada.post("/connector", body(group, type=safe.type, params=hidden)), 400)
        assert len(problem["errors"]) == hidden.count(MASK)
        # One secret is new, the others as they were; and what is left out is gone.
        if "headers" in safe.params:
            news = {**masked(safe.params), "bearer": "canary-new"}
            del news["secret"]
            ok(ada.put("/connector", {**which, "params": json.dumps(news)}))
            expected = {**safe.params, "bearer": "canary-new"}
            del expected["secret"]
            assert json.loads(shown(ada, group, connector)["params"]) == expected
            # A mask for something that was never there is no secret.
            for new in ({"secret": MASK}, {"headers": {"X-Key": MASK, "X-New": MASK}}):
                params = json.dumps({"url": NOWHERE, **new})
                place = "params.secret" if "secret" in new else "params.headers.X-New"
                refused(ada.put("/connector", {**which, "params": params}), 400, place)
            # Another type, other secrets: nothing is carried over.
            moved = json.dumps({"url": "nats://127.0.0.1:9", "subject": "a", "token": MASK})
            refused(
                ada.put("/connector", {**which, "type": "nats", "params": moved}),
                400,
                "params.token",
            )


URLS = {
    "http://127.0.0.1:9/canary": "http://127.0.0.1:9/********",
    "http://127.0.0.1:9?canary": "http://127.0.0.1:9/********",
    "http://127.0.0.1:9/a/canary/b?c=d": "http://127.0.0.1:9/********",
    "HTTP://127.0.0.1/canary": "HTTP://127.0.0.1/********",
    "http://127.0.0.1:9": "http://127.0.0.1:9",
    "http://127.0.0.1:9/": "http://127.0.0.1:9/",
}


@pytest.mark.engine_free
def test_of_a_url_readers_and_the_audit_log_see_the_host(world: World) -> None:
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    device = ada.device(group)
    ada.reports(device)
    for url, seen in URLS.items():
        params = json.dumps({"url": url})
        connector = ok(ada.post("/connector", body(group, params=params)))["id"]
        which = named(group, connector)
        (preview,) = ok(ada.post("/connector/preview", which))["items"]
        assert preview["request"]["url"] == url
        ok(ada.put("/connector", {**which, "params": json.dumps({"url": url, "batch": 2})}))
        # What was seen and is sent back keeps the URL: with another parameter, or as it is.
        ok(ada.put("/connector", {**which, "params": json.dumps({"url": seen, "batch": 3})}))
        expected = {"url": url, "batch": 3}
        assert json.loads(shown(ada, group, connector)["params"]) == expected
        found = [
            viewer.get("/connector", **which),
            viewer.get("/connector/connectors", groupId=group),
            viewer.post("/connector/preview", which),
            viewer.get("/connector/connectorEvent", **which, beginDate=0, endDate=2**40),
            viewer.get("/group/overview", groupId=group),
            ada.get("/group/audit", groupId=group),
            ada.get("/group/audit/export", groupId=group),
        ]
        for each in found:
            assert each.status_code == 200 and "canary" not in each.text, each.text
        assert json.loads(shown(viewer, group, connector)["params"])["url"] == seen
        (preview,) = ok(viewer.post("/connector/preview", which))["items"]
        assert preview["request"]["url"] == seen
        # A mask stands for what is stored behind this host, and for nothing else.
        if seen != url:
            for wrong in (seen.replace("127.0.0.1", "127.0.0.2"), MASK):
                changed = {**which, "params": json.dumps({"url": wrong})}
                problem = refused(ada.put("/connector", changed), 400, "params.url")
                assert "mask" in problem["errors"][0]["message"]
            refused(ada.post("/connector", body(group, params=json.dumps({"url": seen}))), 400)
        assert json.loads(shown(ada, group, connector)["params"]) == expected
        ok(ada.delete("/connector", **which))


@pytest.mark.engine_free
def test_urls_that_were_logged_before_they_were_masked_are_masked_when_read(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    before, after = ({"params": json.dumps({"url": f"https://a.b/canary{n}"})} for n in (1, 2))

    def log(tx: Tx) -> None:
        for noun in ("connector", "notification"):
            actor, action = Actor("user", ada.id), f"{noun}.update"
            audit.log(tx, actor, action, "x", group_id=group, before=before, after=after)

    world.write(log)
    entries = ok(ada.get("/group/audit", groupId=group, objectId="x"))["items"]
    for entry in entries:
        assert json.loads(entry["before"]["params"]) == {"url": f"https://a.b/{MASK}"}
    assert len(entries) == 2 and "canary" not in ada.get("/group/audit/export", groupId=group).text


@on_sqlite
def test_a_duplicate_key_does_not_reveal_a_secret_to_a_reader(world: World) -> None:
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    for text in (
        '{"url":"http://127.0.0.1/","bearer":"canary-a","bearer":null}',
        '{"url":"http://127.0.0.1/","headers":{"X":"canary-b"},"headers":{}}',
        '{"url":"http://127.0.0.1/","headers":{"X":"canary-c","X":"canary-d"}}',
    ):
        answer = ada.post("/connector", body(group, params=text))
        assert answer.status_code in (200, 400)
        if answer.status_code == 200:
            assert "canary" not in shown(viewer, group, answer.json()["id"])["params"]


def test_secrets_are_encrypted_and_never_returned(world: World) -> None:
    ada, viewer = world.person("ada"), world.person("viewer")
    group = ada.group()
    ada.invite(viewer, group, "viewer")
    device = ada.device(group)
    once = {"retryDelay": 1, "maxRetry": 0}
    responses: list[httpx.Response] = []
    with capture_logs() as logs, Receiver(500) as receiver:
        chosen = []
        for safe in SAFES:
            for url in (receiver.url, NOWHERE):
                params = json.dumps({**safe.params, "url": url})
                fields = {"params": params, "type": safe.type, "retryPolicy": once}
                chosen.append(ok(ada.post("/connector", body(group, **fields)))["id"])
        ada.reports(device)
        for connector in chosen:
            which = named(group, connector)
            eventually(lambda: ada.events(group, connector)["stats"]["totalFailed"] == 1)  # noqa: B023
            for request in requests_about(connector, group, begun(ada, group, connector)).values():
                if request[0] != "DELETE":
                    responses.append(ask(viewer, request))
            responses.append(ada.post("/connector/preview", which))
            wrong = {**SAFES[0].params, "unknown": SECRETS["key"], "url": "http://"}
            responses.append(ada.put("/connector", {**which, "params": json.dumps(wrong)}))
            broken = json.dumps(SAFES[0].params)[:-1]
            responses.append(ada.put("/connector", {**which, "params": broken}))
        sent = repr([request.headers for request in receiver.requests])
    assert all(SECRETS[name] in sent for name in ("bearer", "key")), "the receiver gets them"
    assert len(responses) > 20
    for answer in responses:
        assert "canary" not in answer.text
    assert "canary" not in repr(logs)
    assert "canary" not in repr(world.everything())
    trail = world.read(lambda tx: tx.fetch(Statement("select * from audit")))
    assert "connector.create" in repr(trail)
    assert "canary" not in repr(trail)
    for file in world.settings.data.rglob("*"):
        if file.is_file():
            assert b"canary" not in file.read_bytes(), file


# --- types ---


@pytest.mark.engine_free
def test_the_catalogue_describes_parameters_and_formats_of_each_type(world: World) -> None:
    ada = world.person("ada")
    page = ok(ada.get("/connector/connectorTypes"))
    assert page.keys() == {"items"}
    assert [each["type"] for each in page["items"]] == ["amqp", "http", "kafka", "mqtt", "nats"]
    for each in page["items"]:
        assert each.keys() == {"expectedParameters", "type", "formatAvailable", "name"}
        assert each["formatAvailable"] == ["json", "cloudevents", "raw", "custom"]
        assert ok(ada.get("/connector/connectorType", type=each["type"])) == each
        schema = json.loads(each["expectedParameters"])
        Draft202012Validator.check_schema(schema)
        assert {"subgroups", "template"} <= schema["properties"].keys()
        assert schema["additionalProperties"] is False
    first = ok(ada.get("/connector/connectorTypes", limit=2))
    rest = ok(ada.get("/connector/connectorTypes", limit=3, nextToken=first["nextToken"]))
    assert first["items"] + rest["items"] == page["items"]
    assert "nextToken" not in rest


HTTP = {"url": "https://example.com/"}
MQTT = {"url": "mqtts://example.com", "topic": "a"}
NATS = {"url": "nats://example.com", "subject": "a"}
# Parameters that both the service and the schema take, and some that neither does.
TAKEN: list[tuple[str, dict[str, Any]]] = [
    ("http", HTTP),
    ("http", {**HTTP, "method": "PUT", "batch": 1_000, "subgroups": True}),
    ("http", {**HTTP, "headers": {"X-A": "b"}, "basic": {"username": "a", "password": "b"}}),
    ("http", {**HTTP, "bearer": None, "basic": None, "secret": None, "template": None}),
    ("http", {**HTTP, "secret": "A" * 32, "template": "message.kind"}),
    ("mqtt", MQTT),
    ("nats", NATS),
]
NOT_TAKEN: list[tuple[str, Any]] = [
    ("http", {}),
    ("http", []),
    ("http", None),
    ("http", {**HTTP, "Url": "x"}),
    ("http", {**HTTP, "url": ""}),
    ("http", {**HTTP, "url": "https://example.com/" + "a" * 2_048}),
    ("http", {**HTTP, "method": "PATCH"}),
    ("http", {**HTTP, "method": None}),
    ("http", {**HTTP, "batch": 1.5}),
    ("http", {**HTTP, "batch": 1_001}),
    ("http", {**HTTP, "headers": {"X": 1}}),
    ("http", {**HTTP, "headers": {f"X-{number}": "a" for number in range(51)}}),
    ("http", {**HTTP, "bearer": ""}),
    ("http", {**HTTP, "basic": {"username": "a", "password": "b", "realm": "c"}}),
    ("http", {**HTTP, "template": ""}),
    ("http", {**HTTP, "template": "x" * 4_097}),
    ("http", {**HTTP, "subgroups": 1}),
    ("mqtt", {**MQTT, "topic": ""}),
    ("mqtt", {"topic": "a"}),
    ("mqtt", HTTP),
    ("nats", {"url": "nats://example.com"}),
    ("nats", {**NATS, "stream": "a\n"}),
    ("kafka", {}),
    ("amqp", {}),
]


@on_sqlite
def test_the_schema_of_a_type_accepts_and_refuses_what_the_service_does(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    schemas = {
        each["type"]: Draft202012Validator(json.loads(each["expectedParameters"]))
        for each in ok(ada.get("/connector/connectorTypes"))["items"]
    }
    for name, params in TAKEN:
        ok(ada.post("/connector", body(group, type=name, params=json.dumps(params))))
        assert schemas[name].is_valid(params), (name, params)
    with nothing_happens(world):
        for name, params in NOT_TAKEN:
            answer = ada.post("/connector", body(group, type=name, params=json.dumps(params)))
            assert answer.status_code == 400, (name, params)
            assert not schemas[name].is_valid(params), (name, params)


@on_sqlite
def test_the_number_of_connectors_of_a_group_is_limited(make_world: Callable[..., World]) -> None:
    world = make_world(connectors_per_group_max=2)
    ada = world.person("ada")
    group = ada.group()
    first = ok(ada.post("/connector", body(group)))["id"]
    ok(ada.post("/connector", body(group, enabled=False)))
    with nothing_happens(world):
        problem = refused(ada.post("/connector", body(group)), 409)
        assert problem["code"] == "limit_reached"
        assert "connectors_per_group_max to 2" in problem["detail"]
    ok(ada.post("/connector", body(ada.group(parent=group))))
    ok(ada.delete("/connector", **named(group, first)))
    ok(ada.post("/connector", body(group)))


@pytest.mark.engine_free
def test_the_size_of_all_connectors_of_a_group_is_limited(
    make_world: Callable[..., World],
) -> None:
    world = make_world(connector_bytes_per_group_max=3_500)
    ada = world.person("ada")
    group = ada.group()
    devices = [ada.device(group) for _ in range(60)]
    first = ok(ada.post("/connector", body(group, deviceIds=devices)))["id"]
    with nothing_happens(world):
        problem = refused(ada.post("/connector", body(group, deviceIds=devices)), 409)
        assert problem["code"] == "limit_reached"
        assert "connector_bytes_per_group_max to 3500" in problem["detail"]
    second = ok(ada.post("/connector", body(group)))["id"]
    long_filter = f"message.deviceName == '{'x' * 3_000}'"
    with nothing_happens(world):
        grown = {**named(group, second), "deviceIds": devices}
        refused(ada.put("/connector", grown), 409)
        refused(ada.put("/connector", {**named(group, second), "messageFilter": long_filter}), 409)
    ok(ada.put("/connector", {**named(group, second), "name": "cellar"}))
    ok(ada.put("/connector", {**named(group, first), "deviceIds": []}))
    ok(ada.put("/connector", {**named(group, second), "deviceIds": devices}))
    ok(ada.post("/connector", body(ada.group(parent=group), messageFilter=long_filter)))

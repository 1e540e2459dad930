"""Requests generated from the OpenAPI document, valid and invalid, at every operation.

Every response must be one that the document describes, in status, type and schema; and what
violates the document is refused.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from longwire.inbound.callbacks import GROUP_TOKEN
from longwire.model import Passkey
from longwire.store.database import Tx
from longwire.store.identity import passkeys
from tests.browser import OWN_PAGE, Browser
from tests.waiting import PATIENCE_S, eventually
from tests.world import KINDS, NOON, Person, World, ok, record_of

pytestmark = pytest.mark.engine_free

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
PARTS = 2  # so that they run at the same time
EXAMPLES = {"sqlite": 2, "postgresql": 2}
EXAMPLES_AT_LENGTH = {"sqlite": 100, "postgresql": 25}
VALID = (GenerationMode.POSITIVE,)  # test_refusals.py has invalid requests at every operation
ALL_MODES = tuple(GenerationMode)
ROUNDS_MAX = 32  # until a generated request has succeeded
REFUSED_BEFORE_PARSING = {413, 431}  # generated strings can be too long for a body or a head
DEVICES = 60  # enough for all that are moved and deleted meanwhile
CONNECTORS = 30
DOWNLINKS = 30
EXPORTS = 4
NOTIFICATIONS = 30
REPORTS = 10
PASSKEYS = 30
UNKNOWN_DEVICES = 30
# A generated nextToken is always invalid, and hardly any generated body has none; hardly any list
# of measurements has paths that lead to a value.
HARDLY_VALID = {
    *("POST /device/redecode", "PUT /device/type/measurements"),
    *("POST /alarm/acknowledge", "DELETE /device/type", "POST /notification/backtest"),
    # Nobody guesses the id of a silence or of a contact point.
    "DELETE /alarm/silence",
    *(f"{method} /contactPoint" for method in ("GET", "POST", "PUT", "DELETE")),
    "POST /contactPoint/test",
    "POST /device/type/import",  # nobody guesses a file of a maker, now that it has a name, too
    "POST /report/send",  # five times a minute
    *("POST /share", "DELETE /share"),  # exactly one of four contents; a secret id
    # One with a secret that is not being rotated; and twenty tests a minute, refused ones as well.
    *("POST /connector/rotateSecret", "POST /connector/endSecretRotation", "POST /connector/test"),
}
NEED_SESSION = {"PUT /user/passkey", "DELETE /user/passkey"}  # one that has just begun
NOWHERE = "http://127.0.0.1:9/"  # a closed port
EUI = "0102030405060708"
# The required members of a message, of every network.
NETWORK_MESSAGE = {
    **{"device": "A7", "time": 1_772_366_400, "data": "00"},
    "deviceInfo": {"devEui": EUI},
    **{"end_device_ids": {"dev_eui": EUI}, "uplink_message": {}, "received_at": NOON},
    **{"cmd": "rx", "EUI": EUI, "DevEUI_uplink": {"DevEUI": EUI}},
}
NETWORK_QUERY = {"device": "A7", "time": "1772366400", "data": "00"}


@dataclass
class KnownValues:
    """Values that exist in a world, by the names of parameters and fields."""

    values: dict[str, list[Any]]
    together: dict[str, list[dict[str, Any]]]  # sets of values that belong together
    network_token: str

    def put_into(self, sent: Any, draw: Callable[..., Any]) -> Any:
        if not isinstance(sent, dict):
            return sent
        names = [name for name in sent if name in self.values]
        known = {name: draw(st.sampled_from(self.values[name])) for name in names}
        for name, sets in self.together.items():
            if name in sent:
                known |= draw(st.sampled_from(sets))
        return {name: known.get(name, value) for name, value in sent.items()}


def fill_world(world: World) -> KnownValues:
    """Create objects of every kind; their values."""
    operator = world.operator
    ada, bob = world.person("ada"), world.person("bob")
    home = operator.group("home")
    below = operator.group("below", parent=home)
    for person in (ada, bob):
        operator.invite(person, home, "administrator")
    clients = [operator.app_client(home, f"client {number}") for number in range(6)]
    tokens = [f"push {number}" for number in range(6)]
    for token in tokens:
        ok(operator.put("/user/vendorToken", {"token": token}))
    new = [f"made.up{number}" for number in range(9)]
    for each in new[:3]:
        body = {"permissionId": each, "name": each, "description": ""}
        ok(operator.post("/permission", body))
    original_ids = [f"device {number}" for number in range(DEVICES)]
    alike = {"groupId": home, "type": "generic", "network": "mqtt"}
    created = ok(operator.post("/devices", {**alike, "originalDevicesIds": original_ids}))["items"]
    devices = [device["deviceId"] for device in created]
    for kind in KINDS:
        records = [record_of(device, kind) for device in devices]
        ok(operator.post(f"/device/{kind}/batch", {"items": records}))
    vendor = {"id": "7", "deviceTypeId": "5d8c", "deviceName": "buoy", "pac": "77"}
    network_devices = [
        operator.device(home, network=network, originalId="A7" if network == "vendor" else EUI)
        for network in ("vendor", "chirpstack", "ttn", "loriot", "thingpark")
    ]
    sent_to = {"deviceId": network_devices[0], "groupId": home}
    message = {**sent_to, "payload": "00" * 8}
    downlinks = [
        {**sent_to, "downlinkId": ok(operator.post("/device/downlink", message))["id"]}
        for _ in range(DOWNLINKS)
    ]
    connectors = [
        {"connectorId": operator.connector(home, NOWHERE, enabled=False), "groupId": home}
        for _ in range(CONNECTORS)
    ]
    replays = [{**each, "replayId": replay_of(operator, each)} for each in connectors]
    sent = ok(operator.get("/connector/messages", groupId=home))["items"]
    messages = [each["id"] for each in sent]
    record = ok(operator.get("/connector/message", id=messages[0]))["recordId"]
    not_by_filter = dict.fromkeys(
        ("connectorId", "deviceId", "kind", "beginDate", "endDate", "status")
    )
    params = json.dumps({"url": NOWHERE, "template": "message.kind"})
    notifications = [
        {
            "notificationId": operator.notification(home, NOWHERE, reason="never"),
            "groupId": home,
            "name": home,  # also the group, where one is deleted
        }
        for _ in range(NOTIFICATIONS)
    ]
    report = {
        **{"groupId": home, "name": home, "content": "devices", "parameters": {}, "every": "day"},
        **{"at": "06:00", "timezone": "UTC", "format": "csv"},
        "to": {"type": "webhook", "params": {"url": NOWHERE}},
    }
    reports = [
        {**report, "reportId": ok(operator.post("/report", report))["id"]} for _ in range(REPORTS)
    ]
    ok(operator.delete("/group", groupId=home, recursive=True))  # for a request to cancel it
    tagging = {
        "kind": "tag",
        "groupId": home,
        "filter": {"type": "generic"},
        "parameters": {"addTags": ["new"]},
    }
    job = ok(operator.post("/job", {**tagging, "filter": None, "deviceIds": devices[:1]}))["job"]
    # Several files: a request that deletes one is among those that are generated.
    exporting = {"kind": "export", "groupId": home, "parameters": {"content": "devices"}}
    exports = [ok(operator.post("/job", exporting))["job"] for _ in range(EXPORTS)]
    jobs = [{"jobId": each["jobId"], "groupId": home} for each in (job, *exports)]
    eventually(lambda: all("endedAt" in ok(operator.get("/job", **each)) for each in jobs))
    notification = {"params": json.dumps({"url": NOWHERE}), "type": "webhook", "groupId": home}
    unknown = [f"unknown {number}" for number in range(UNKNOWN_DEVICES)]
    for each in unknown:
        world.receive_unknown(home, "mqtt", each)
    values = {
        "deviceId": devices,
        "deviceIds": [devices[number : number + 2] for number in range(0, DEVICES, 2)],
        "toGroupId": [below],
        # of a device, of a connector, or of a notification
        "type": ["generic", "tracker", "http", "webhook"],
        "network": ["mqtt"],
        "originalDevicesIds": [[f"new {number}"] for number in range(99)],
        "input": [{**alike, "name": "buoy", "network": "vendor", "originalId": "7"}],
        # One, or a list of them where many are registered at once.
        "vendor": [*[vendor] * 4, *([{**vendor, "id": f"{number}"}] for number in range(50, 56))],
        # Valid for every kind: unknown members are ignored.
        "items": [[{**record_of(device), "type": "opened"}] for device in devices],
        "timestamp": [NOON],
        "beginDate": ["2026-03-01"],
        "endDate": ["2026-03-02"],
        "timeSpan": [3_600],
        "path": ["/data/temperature"],
        "kind": ["data"],
        "groupId": [home, below],
        "parentId": [home],
        "parent": [below, ""],
        "userId": [ada.id, bob.id, operator.id],
        "ownerId": [ada.id],
        "roleId": [operator.role("group.read", name=f"role {n}") for n in range(30)],
        "permissionId": new,
        "permissions": [["group.read"], ["device.read", "record.read"]],
        "email": ["ada@example.com", *(f"new{number}@example.com" for number in range(99))],
        "appClientId": [client.id for client in clients],
        "name": [*[home] * 6, *(f"client {number}" for number in range(6))],
        "token": tokens,
        "passkeyId": add_passkeys(world, operator),
        "messageFilter": ["message.kind == 'data'", ""],
        "format": ["json", "custom"],
        "deviceTypes": [["generic"], []],
        "id": messages,
    }
    return KnownValues(
        values,
        {
            "originalId": [
                {"originalId": each, "network": "mqtt", "groupId": home} for each in unknown
            ],
            "payload": [{**message, "data": None}],
            "downlinkId": downlinks,
            "connectorId": connectors,
            "replayId": replays,
            "params": [
                {"params": params, "type": "http", "groupId": home, "deviceIds": [], "id": None}
            ],
            "ids": [{**not_by_filter, "ids": messages, "groupId": home}],
            "recordId": [{"recordId": record, "messageId": None, "groupId": home}],
            "schedule": [{**notification, "deviceId": "", "schedule": {"Day": 1}}],
            "notificationId": notifications,
            # None excludes what is generated for the other way to choose devices.
            "parameters": [{**tagging, "deviceIds": None}],
            # After the parameters, which are of a job: the last one counts.
            "to": [report],
            "reportId": reports,
            "jobId": jobs,
        },
        ok(operator.get("/group", groupId=home))[0]["token"],
    )


def add_passkeys(world: World, owner: Person) -> list[str]:
    ids = [f"psk_{number}" for number in range(PASSKEYS)]

    def work(tx: Tx) -> None:
        for each in ids:
            passkey = Passkey(each, each.encode(), owner.id, each, b"", "localhost", 0, False, 0)
            passkeys.PASSKEYS.insert(tx, passkey)

    world.write(work)
    return ids


def replay_of(person: Person, connector: dict[str, Any]) -> str:
    body = {**connector, "beginDate": "2026-03-01", "endDate": "2026-03-01"}
    return str(ok(person.post("/connector/replay", body))["replayId"])


def begin_session(world: World) -> dict[str, str]:
    """The headers of the operator's browser."""
    with Browser(world) as browser:
        browser.sign_in_as(world.operator)
        cookies = "; ".join(f"{name}={value}" for name, value in browser.http.cookies.items())
        return {**OWN_PAGE, "Origin": world.url, "Cookie": cookies}


def send_generated(
    world: World,
    operation: APIOperation,
    mode: GenerationMode,
    known: KnownValues,
    examples: dict[str, int],
    number: int = 0,
) -> set[int]:
    """Send generated requests to an operation; the statuses of the responses."""
    statuses = set()
    is_of_network = operation.path.startswith("/network/")
    session = begin_session(world) if operation.label in NEED_SESSION else None

    @seed(number)
    @settings(
        max_examples=examples[world.database.engine_name],
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode), st.data())
    def call(case: Case, data: st.DataObject) -> None:
        if mode.is_positive and data.draw(st.integers(0, 3)):
            case.query = known.put_into(case.query, data.draw)
            case.body = known.put_into(case.body, data.draw)
            if is_of_network and isinstance(case.body, dict):
                case.body |= NETWORK_MESSAGE
            if is_of_network and operation.method.upper() == "GET":
                case.query = {**(case.query or {}), **NETWORK_QUERY}
        if operation.path == "/notification/test":
            world.clock.let_pass(seconds=12)  # it is limited to five requests a minute
        if session:
            case.headers, case.cookies = {}, {}  # a generated token would come first
        token = known.network_token if is_of_network else world.operator.token
        response = case.call(
            base_url=world.url,
            headers=session or {"Authorization": f"Bearer {token}"},
            timeout=10 if operation.path == "/live" else PATIENCE_S,  # a stream does not end
        )
        statuses.add(response.status_code)
        is_too_long = response.status_code in REFUSED_BEFORE_PARSING
        case.validate_response(response, checks=CHECKS[:-1] if is_too_long else CHECKS)

    try:
        call()
    except Unsatisfiable:
        # There is always a valid request, but there may be no invalid one.
        assert mode.is_negative
    return statuses


def as_lenient_as_the_service(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what it says in words only, for the sake of generated clients.

    A member that may be left out of a body may be null, a date may be a number, and the
    permissions of a new role may be a list.
    """
    schemas = document["components"]["schemas"]
    bodies = [
        media["schema"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for media in operation.get("requestBody", {}).get("content", {}).values()
    ]
    schemas["RoleInput"]["properties"]["permissions"]["type"] = ["string", "array"]
    seen: set[str] = set()
    while bodies:
        part = bodies.pop()
        bodies += [*part.get("anyOf", ()), *([part["items"]] if "items" in part else [])]
        name = part.get("$ref", "").rpartition("/")[2]
        if not name or name in seen:
            continue
        seen.add(name)
        properties = schemas[name].get("properties", {})
        bodies += properties.values()
        for field, each in properties.items():
            if "x-date" in each:
                each["type"] = ["string", "number"]
            if field not in schemas[name].get("required", ()):
                properties[field] = {"anyOf": [each, {"type": "null"}]}
    return document


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    "modes, examples",
    [
        pytest.param(VALID, EXAMPLES, id="few"),
        pytest.param(ALL_MODES, EXAMPLES_AT_LENGTH, marks=pytest.mark.soak, id="many"),
    ],
)
def test_every_operation_conforms_to_the_document(
    world: World, part: int, modes: tuple[GenerationMode, ...], examples: dict[str, int]
) -> None:
    document = ok(world.nobody.get("/openapi.json"))
    schema = schemathesis.openapi.from_dict(as_lenient_as_the_service(document))
    operations = {result.ok().label: result.ok() for result in schema.get_all_operations()}
    described = {f"{route.method} {route.path}" for route in world.operations}
    described |= {
        f"{route.method} {route.path}"
        for route in world.app.routes
        if route.permission == GROUP_TOKEN
    }
    assert described <= operations.keys()
    known = fill_world(world)
    # What deletes comes last: the others need what is there.
    labels = sorted(operations, key=lambda label: (label.startswith("DELETE "), label))
    for label in labels[part::PARTS]:
        statuses = {
            status
            for mode in modes
            for status in send_generated(world, operations[label], mode, known, examples)
        }
        if label not in described - HARDLY_VALID:
            continue
        # The few examples on PostgreSQL need not all succeed.
        if world.database.engine_name == "sqlite":
            rounds = itertools.count(1)
            while 200 not in statuses and (number := next(rounds)) < ROUNDS_MAX:
                mode = GenerationMode.POSITIVE
                statuses |= send_generated(world, operations[label], mode, known, examples, number)
            assert 200 in statuses, f"{label}: no generated request succeeded"

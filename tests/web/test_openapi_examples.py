"""Whoever copies an example of the OpenAPI document, with ids of their own, gets a 200."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.test_isolation import (
    Right,
    Sent,
    Tenant,
    filled,
    in_order,
    is_open,
    send_rightly,
    tenants,
)
from tests.browser import Browser
from tests.world import World, basic, ok

__all__ = ["tenants"]  # a fixture

pytestmark = pytest.mark.engine_free

Json = dict[str, Any]

# What an earlier answer has said.
FROM_ANSWERS = {"nextToken", "before", "after", "ifUpdatedAt"}
# What can be there only once, and a form of it.
UNIQUE = {"1FD48B": "{:06X}", "ada@": "ada.{}@"}
# Of each network, the device of its examples.
NETWORKS = {
    "vendor": "1FD48BE",
    "chirpstack": "01" * 8,
    "ttn": "02" * 8,
    "loriot": "03" * 8,
    "thingpark": "04" * 8,
}
OF_UNKNOWN_DEVICES = {("POST", "/device/unknown"), ("DELETE", "/group/unknownDevices")}
SIGNED = {"url": "https://example.com/hook", "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}
# Of parameters that exclude others.
ALTERNATIVES = {
    ("GET", "/device/series"): {"measurement", "timeSpan", "fresh"},
    ("GET", "/group/series"): {"timeSpan"},
    ("GET", "/group/contactPoints"): {"subgroups"},
}
# They need a secret that no document can have, and refuse that of the example, nothing else of it.
NEED_SECRETS = {
    *("POST /session", "DELETE /session", "POST /session/link", "POST /session/passkey"),
    "POST /invitation",
    *("GET /report/link", "GET /report/file"),
    *("GET /share/link", "GET /share/series", "GET /share/devices", "GET /share/positions"),
    *("PUT /user/totp", "DELETE /user/totp", "POST /user/passkey"),
    *("GET /session/oidc", "GET /session/oidc/callback"),  # without a provider here
}
SECRETS = {"code", "credential"}


@pytest.fixture
def document(world: World) -> Json:
    return dict(ok(world.nobody.get("/openapi.json")))


def ids_of(value: Any) -> Any:
    """The ids of a request, where they are."""
    if isinstance(value, dict):
        return {name: ids_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [ids_of(each) for each in value]
    return value if is_open(value) else None


def with_ids(example: Any, ids: Any) -> Any:
    if isinstance(example, dict):
        known = ids if isinstance(ids, dict) else {}
        kept = {name: each for name, each in example.items() if name not in FROM_ANSWERS}
        return {name: with_ids(each, known.get(name)) for name, each in kept.items()}
    if isinstance(example, list) and isinstance(ids, list):
        return [with_ids(each, known) for each, known in zip(example, ids, strict=False)]
    return example if ids is None or isinstance(ids, dict | list) else ids


def build(operation: Json, right: Right, own: Tenant, number: int) -> Sent:
    """The request of an example, with ids of a tenant; `number` is another one each time."""
    real = filled(Right(ids_of(right.query), ids_of(right.body or {})), own, own, frozenset())
    parameters = operation.get("parameters", ())
    query = {each["name"]: each["example"] for each in parameters if "example" in each}
    content = operation.get("requestBody", {}).get("content", {})
    text = json.dumps(content.get("application/json", {}).get("example"))
    for found, form in UNIQUE.items():
        text = text.replace(found, form.format(number))
    body = json.loads(text)
    return Sent(
        {
            name: str(each).lower() if isinstance(each, bool) else each
            for name, each in with_ids(query, real.query).items()
        },
        body and with_ids(body, real.body),
        content.get("text/csv", {}).get("example", ""),
    )


def test_every_operation_accepts_its_example(
    world: World, document: Json, tenants: tuple[Tenant, Tenant]
) -> None:
    own, _ = tenants
    callers = {**own.people, "operator": world.operator}
    for number, (route, right) in enumerate(in_order(world)):
        operation = document["paths"][route.path][route.method.lower()]
        sent = build(operation, right, own, number)
        for name in ALTERNATIVES.get((route.method, route.path), ()):
            sent.query.pop(name, None)
        if (route.method, route.path) in OF_UNKNOWN_DEVICES:
            named = sent.body or sent.query
            world.receive_unknown(named["groupId"], named["network"], named["originalId"])
        if (route.method, route.path) == ("POST", "/connector/rotateSecret"):
            ids = {name: sent.body[name] for name in ("groupId", "connectorId")}
            ok(callers[right.by].put("/connector", {**ids, "params": json.dumps(SIGNED)}))
        response = send_rightly(callers[right.by], route, right, sent)
        case = f"{route.method} {route.path}"
        assert response.status_code == 200, f"{case}: {response.text}"


def others(world: World, document: Json) -> Iterator[tuple[str, str, Json]]:
    """The operations that have no permission of their own."""
    known = {(route.method, route.path) for route, _ in in_order(world)}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if (method.upper(), path) not in known:
                yield method.upper(), path, operation


def requests_of(operation: Json) -> Iterator[dict[str, Any]]:
    """Its examples, one for each kind of body."""
    values = [each for each in operation.get("parameters", ()) if "example" in each]
    parameters = {each["name"]: each["example"] for each in values if each["in"] == "query"}
    bodies = operation.get("requestBody", {}).get("content", {})
    for kind in bodies or [""]:
        example = bodies[kind]["example"] if kind else None
        if kind == "application/json":
            yield {"params": parameters, "json": example}
        elif kind:
            flat = {
                name: json.dumps(each) if isinstance(each, dict | list) else each
                for name, each in example.items()
            }
            yield {"params": parameters, "data": flat}
        else:
            yield {"params": parameters}


def test_networks_tokens_and_sessions_accept_theirs(world: World, document: Json) -> None:
    ada = world.person("ada")
    home = ada.group("home")
    for network, original_id in NETWORKS.items():
        ada.device(home, network=network, originalId=original_id)
    (group,) = ok(ada.get("/group", groupId=home))
    client = {"Authorization": basic(ada.client_id, ada.client_secret)}
    network_token = {"Authorization": f"Bearer {group['token']}"}
    refused = set()
    with Browser(world) as browser:
        browser.sign_in_as(ada)
        for method, path, operation in others(world, document):
            headers = {"network": network_token, "oauth2": client}.get(path.split("/")[1], {})
            for request in requests_of(operation):
                if path == "/live":
                    request["params"] = {"groupId": home}
                with browser.http.stream(method, path, headers=headers, **request) as response:
                    status = response.status_code
                    text = "" if path == "/live" else response.read().decode()
                case = f"{method} {path}"
                if case in NEED_SECRETS and status != 200:
                    refused.add(case)
                    named = {each["field"] for each in json.loads(text)["errors"]}
                    assert str(status) in operation["responses"], f"{case}: {status} {text}"
                    assert status != 400 or named <= SECRETS, f"{case}: {text}"
                else:
                    assert status == 200, f"{case}: {status} {text}"
    assert len(refused) > 5

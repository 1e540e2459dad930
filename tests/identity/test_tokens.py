"""Tokens: issuing, use and protection."""

import asyncio
import base64
import re
import ssl
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.clock import SECOND, Clock
from longwire.identity import groups, tokens
from longwire.model import SYSTEM
from longwire.process.app import OPERATIONS, App
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.schema import metadata
from tests.certificates import write_certificate
from tests.waiting import PATIENCE_S, eventually
from tests.world import Person, World, basic, ok, refused

FORM = "application/x-www-form-urlencoded"
GRANT = "grant_type=client_credentials"
REVOKE, INTROSPECT = "/oauth2/revoke", "/oauth2/introspect"

MakeWorld = Callable[..., World]


def ask(
    world: World, authorization: str | None, *, query: str = GRANT, body: str = "", **headers: str
) -> httpx.Response:
    """A request to the token endpoint, with any headers, query and body."""
    sent = {"Content-Type": FORM}
    if authorization is not None:
        sent["Authorization"] = authorization
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {name: value for name, value in sent.items() if value}
    return world.http.post(f"/oauth2/token?{query}", headers=sent, content=body)


def send_token(
    world: World, path: str, client: Person | str | None, token: str | None = None, **rest: Any
) -> httpx.Response:
    """A request to revoke or introspect a token, by default with the form that is right."""
    headers = {"Content-Type": FORM}
    if client is not None:
        right = isinstance(client, Person) and basic(client.client_id, client.client_secret)
        headers["Authorization"] = right or str(client)
    content = {} if token is None else {"data": {"token": token}}
    return world.http.request(
        **{"method": "POST", "url": path, "headers": headers, **content, **rest}
    )


def is_active(world: World, client: Person, token: str | None) -> bool:
    assert token is not None
    response = send_token(world, INTROSPECT, client, token)
    active: bool = ok(response)["active"]
    assert active or response.content == b'{"active":false}'
    return active


def denied(response: httpx.Response, status: int, error: str, case: object = "") -> None:
    """An error response as in RFC 6749, and nothing else."""
    shown = f"{case}: {response.status_code} {response.text}"
    assert response.status_code == status, shown
    assert response.headers["content-type"] == "application/json", shown
    assert set(response.json()) == {"error", "error_description"}, shown
    assert response.json()["error"] == error, shown
    assert response.json()["error_description"], shown
    assert response.headers["cache-control"] == "no-store", shown
    assert response.headers.get("www-authenticate", "").startswith("Basic") == (status == 401), (
        shown
    )


def outcome(response: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """All that a client sees of a response, without the two headers that always differ."""
    seen = {
        name: value
        for name, value in response.headers.items()
        if name not in ("date", "x-request-id")
    }
    return response.status_code, response.content, seen


def every_row(world: World) -> str:
    """All rows of the database as text."""
    return world.read(
        lambda tx: "\n".join(
            repr(tuple(row)) for table in metadata.sorted_tables for row in tx.rows(table.select())
        )
    )


# --- issuing ---


@pytest.mark.engine_free
def test_a_token_is_a_uuid_that_is_valid_for_an_hour(world: World) -> None:
    ada = world.person("ada")
    response = ask(world, basic(ada.client_id, ada.client_secret))
    granted = ok(response)
    assert granted == {
        "access_token": granted["access_token"],
        "token_type": "Bearer",
        "expires_in": 3_600,
    }
    assert str(uuid.UUID(granted["access_token"])) == granted["access_token"]
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"

    held = Person(world, granted["access_token"], ada.id, ("", ""))
    world.clock.freeze()
    second = Person(world, world.token(ada.client_id, ada.client_secret), ada.id, ("", ""))
    assert held.token != second.token
    for person in (held, second):
        assert ok(person.get("/user/me"))["id"] == ada.id
    world.restart()
    world.clock.let_pass(seconds=3_590)
    ok(held.get("/user/me"))
    world.clock.let_pass(seconds=10)
    expired = held.get("/user/me")
    refused(expired, 401)
    assert expired.headers["www-authenticate"] == "Bearer"
    fresh = Person(world, world.token(ada.client_id, ada.client_secret), ada.id, ("", ""))
    ok(fresh.get("/user/me"))


@pytest.mark.engine_free
def test_the_lifetime_of_a_token_is_configurable(make_world: MakeWorld) -> None:
    world = make_world(token_lifetime_s=60)
    ada = world.person("ada")
    granted = ok(world.ask_token(ada.client_id, ada.client_secret))
    assert granted["expires_in"] == 60
    world.clock.let_pass(seconds=61)
    refused(ada.get("/user/me"), 401)


@pytest.mark.engine_free
def test_the_token_endpoint_accepts_what_rfc_6749_allows(world: World) -> None:
    ada = world.person("ada")
    right = basic(ada.client_id, ada.client_secret)
    escaped = "".join(f"%{ord(each):02X}" for each in ada.client_secret)
    form = f"client_id={ada.client_id}&client_secret={escaped}"
    accepted: dict[str, httpx.Response] = {
        "grant in the query": ask(world, right),
        "grant in the body": ask(world, right, query="", body=GRANT),
        "grant in both": ask(world, right, body=GRANT),
        "more parameters": ask(world, right, query=GRANT + "&scope=all", body="resource=x"),
        "empty parameters": ask(world, right, body="grant_type=&scope="),
        "a charset": ask(world, right, Content_Type=FORM + "; charset=UTF-8"),
        "capitals": ask(world, right, Content_Type=FORM.upper()),
        "scheme in lower case": ask(world, right.replace("Basic", "basic")),
        "scheme in capitals": ask(world, right.replace("Basic", "BASIC")),
        "spaces": ask(world, right.replace("Basic ", "Basic   ")),
        "percent-encoded": ask(world, basic(ada.client_id, escaped)),
        "credentials in the body": ask(world, None, query="", body=f"{GRANT}&{form}"),
        "the same in the header and the body": ask(world, right, body=form),
        "the client in both": ask(world, right, body=f"client_id={ada.client_id}"),
    }
    for case, response in accepted.items():
        assert response.status_code == 200, f"{case}: {response.text}"


@pytest.mark.engine_free
def test_an_invalid_token_request_gets_the_reason(world: World) -> None:
    ada = world.person("ada")
    client, secret = ada.client_id, ada.client_secret
    right = basic(client, secret)

    def raw(text: bytes) -> str:
        return "Basic " + base64.b64encode(text).decode()

    not_a_client: dict[str, str | None] = {
        "no header": None,
        "empty scheme": "Basic",
        "a bearer": f"Bearer {ada.token}",
        "a bare token": ada.token,
        "not base64": "Basic !!!!",
        "base64 without its end": "Basic YTpi" + "Y",
        "base64 with a stray sign": right[:10] + "*" + right[10:],
        "not UTF-8": raw(b"\xff\xfe:\xff"),
        "no colon": raw(client.encode()),
        "only a colon": raw(b":"),
        "no secret": raw(f"{client}:".encode()),
        "no client": raw(f":{secret}".encode()),
        "NUL in the client": raw(f"{client}\0:{secret}".encode()),
        "NUL in the secret": raw(f"{client}:{secret}\0".encode()),
        "escaped NUL": raw(f"{client}%00:{secret}".encode()),
        "broken escape": raw(f"{client}:%ff%fe".encode()),
        "a user id": basic(ada.id, secret),
        "a secret with a space": basic(client, secret + " "),
        "a secret in other letters": basic(client, secret.swapcase()),
        "swapped": basic(secret, client),
    }
    for case, header in not_a_client.items():
        denied(ask(world, header), 401, "invalid_client", case)
        world.clock.let_pass(seconds=60)  # rate limits have their own tests
    for case, form in {
        "a wrong secret in the body": f"client_id={client}&client_secret=guess",
        "only a secret in the body": f"client_secret={secret}",
        "only a client in the body": f"client_id={client}",
        "NUL in the body": f"client_id={client}&client_secret={secret}%00",
    }.items():
        denied(ask(world, None, body=form), 401, "invalid_client", case)
        world.clock.let_pass(seconds=60)

    not_a_request: dict[str, httpx.Response] = {
        "no type": ask(world, right, Content_Type=""),
        "JSON": ask(world, right, Content_Type="application/json", body="{}"),
        "multipart": ask(world, right, Content_Type="multipart/form-data; boundary=x"),
        "nearly the type": ask(world, right, Content_Type=FORM + "x"),
        "no grant": ask(world, right, query=""),
        "an empty grant": ask(world, right, query="grant_type="),
        "grant of another name": ask(world, right, query="Grant_Type=client_credentials"),
        "twice in the query": ask(world, right, query=f"{GRANT}&{GRANT}"),
        "twice in the body": ask(world, right, query="", body=f"{GRANT}&{GRANT}"),
        "another one in the body": ask(world, right, body="grant_type=password"),
        "another parameter twice": ask(world, right, query=GRANT + "&scope=a&scope=a"),
        "client in the query": ask(world, right, query=f"{GRANT}&client_id={client}"),
        "secret in the query": ask(world, right, query=f"{GRANT}&client_secret={secret}"),
        "secret only in the query": ask(world, None, query=f"{GRANT}&client_secret={secret}"),
        "not UTF-8": ask(world, right, query=GRANT + "&scope=%ff"),
        "another client in the body": ask(world, right, body="client_id=cli_x"),
        "another secret in the body": ask(world, right, body="client_secret=guess"),
        "two secrets in the body": ask(
            world, None, body=f"client_id={client}&client_secret={secret}&client_secret={secret}"
        ),
        "two headers": world.http.post(
            f"/oauth2/token?{GRANT}",
            headers=[("Authorization", right), ("Authorization", right), ("Content-Type", FORM)],
        ),
    }
    for case, response in not_a_request.items():
        denied(response, 400, "invalid_request", case)
    for grant in ("password", "authorization_code", "Client_Credentials", "client_credentials+"):
        response = ask(world, right, query=f"grant_type={grant}")
        denied(response, 400, "unsupported_grant_type", grant)


@pytest.mark.engine_free
def test_only_post_issues_tokens(world: World) -> None:
    ada = world.person("ada")
    headers = {"Authorization": basic(ada.client_id, ada.client_secret), "Content-Type": FORM}
    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS"):
        response = world.http.request(method, f"/oauth2/token?{GRANT}", headers=headers)
        refused(response, 405)
        assert response.headers["cache-control"] == "no-store", method
        assert response.headers["allow"] == "POST", method
    assert world.http.head(f"/oauth2/token?{GRANT}", headers=headers).status_code == 405


@pytest.mark.engine_free
def test_unknown_clients_and_wrong_secrets_get_the_same_response(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    app, gone = ada.app_client(group, "app"), ada.app_client(group, "gone")
    ok(ada.delete("/appClient", name=group, appClientId=gone.id))
    expired = world.write(
        lambda tx: tokens.issue_credential(
            tx, SYSTEM, "old@example.com", expires_at=tx.now + 60 * SECOND
        )
    )
    world.clock.let_pass(seconds=61)
    wrong = "lws_" + "A" * 43
    refusals = {
        "unknown": world.ask_token("cli_unknown", wrong),
        "a wrong secret": world.ask_token(ada.client_id, wrong),
        "somebody else's secret": world.ask_token(ada.client_id, bob.client_secret),
        "no secret": world.ask_token(ada.client_id, ""),
        "an app client": world.ask_token(app.client_id, wrong),
        "a deleted app client": world.ask_token(gone.client_id, gone.client_secret),
        "over": world.ask_token(expired.credential.client_id, expired.secret),
    }
    assert refusals["unknown"].status_code == 401
    for case, response in refusals.items():
        assert outcome(response) == outcome(refusals["unknown"]), case


# --- use ---


@pytest.mark.engine_free
def test_the_header_has_the_token_with_or_without_its_scheme(world: World) -> None:
    ada = world.person("ada")
    token = ada.token
    for accepted in (
        f"Bearer {token}",
        f"bearer {token}",
        f"BEARER {token}",
        f"Bearer    {token}",
        f"{token}",
    ):
        response = world.http.get("/user/me", headers={"Authorization": accepted})
        assert response.status_code == 200, f"{accepted!r}: {response.text}"
    unknown = str(uuid.uuid4())
    for rejected in (
        None,
        "",
        "Bearer",
        f"Bearer{token}",
        f"Bearer Bearer {token}",
        f"Bearer {token} {token}",
        f"Bearer {token},",
        f"Token {token}",
        f"Bearer {unknown}",
        unknown,
        f"{token}0",
        f"{token}"[:-1],
        f"{token}".replace("-", ""),
        "{" + f"{token}" + "}",
        basic(ada.client_id, ada.client_secret),
        ada.client_secret,
        "Bearer ä".encode(),
        b"Bearer \xff\xfe",
    ):
        headers = {} if rejected is None else {"Authorization": rejected}
        response = world.http.get("/user/me", headers=headers)  # type: ignore[arg-type]
        assert response.status_code == 401, f"{rejected!r}: {response.text}"
        refused(response, 401)
        assert response.headers["www-authenticate"] == "Bearer", rejected
        assert response.headers["cache-control"] == "no-store", rejected
    for pair in ((token, token), (token, unknown), (unknown, token), ("x", token)):
        twice = [("Authorization", f"Bearer {each}") for each in pair]
        refused(world.http.get("/user/me", headers=twice), 400)
    # A token in the URL would end up in logs, so it is ignored.
    refused(world.http.get(f"/user/me?access_token={token}"), 401)


@pytest.mark.engine_free
def test_every_operation_requires_a_token(world: World) -> None:
    assert len(OPERATIONS) >= 25
    for route in OPERATIONS:
        response = world.nobody.request(route.method, route.path, content=b"not even JSON")
        assert response.status_code == 401, f"{route.method} {route.path}: {response.text}"
        assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.engine_free
def test_nothing_about_tokens_is_served_with_an_external_token_service(settings: Settings) -> None:
    def paths(chosen: Settings) -> set[str]:
        database, _ = build_database(chosen, Clock())
        with closing(database):
            return {route.path for route in App(chosen, database).routes}

    here = paths(settings)
    elsewhere = paths(replace(settings, auth_url="https://login.example"))
    assert here - elsewhere == {
        "/oauth2/token",
        "/oauth2/revoke",
        "/oauth2/introspect",
        "/.well-known/oauth-authorization-server",
    }


# --- storage and expiry ---


@pytest.mark.engine_free
def test_tokens_and_secrets_are_stored_only_as_digests(world: World) -> None:
    ada = world.person("ada")
    assert ada.token is not None
    ok(ada.get("/user/me"))
    rows = every_row(world)
    assert ada.client_id in rows
    for secret in (ada.client_secret, ada.token):
        assert secret not in rows
        assert secret.removeprefix("lws_").replace("-", "") not in rows
        # Nor a plain digest: it is keyed, and the key is not in the database.
        assert repr(world.database.context.keyring.digest(secret)) in rows
    assert repr(uuid.UUID(ada.token).bytes) not in rows
    key = (world.settings.data / "secret.key").read_text().strip()
    assert key not in rows and repr(bytes.fromhex(key)) not in rows


@pytest.mark.engine_free
def test_a_revoked_credential_is_invalid_with_all_its_tokens(world: World) -> None:
    ada = world.person("ada")
    spare = world.person("ada")  # the same user, with another credential
    second = Person(world, world.token(ada.client_id, ada.client_secret), ada.id, ("", ""))
    assert ada.id == spare.id
    for person in (ada, second, spare):
        ok(person.get("/user/me"))
    world.write(lambda tx: tokens.revoke_credential(tx, SYSTEM, ada.client_id))
    for person in (ada, second):
        refused(person.get("/user/me"), 401)
    denied(world.ask_token(ada.client_id, ada.client_secret), 401, "invalid_client")
    ok(spare.get("/user/me"))
    rows = world.read(lambda tx: tx.rows(metadata.tables["access_token"].select()))
    assert ada.client_id not in {row.client_id for row in rows}


@pytest.mark.engine_free
def test_a_credential_expires(world: World) -> None:
    world.clock.freeze()
    issued = world.write(
        lambda tx: tokens.issue_credential(
            tx, SYSTEM, "guest@example.com", expires_at=tx.now + 600 * SECOND
        )
    )
    client = (issued.credential.client_id, issued.secret)
    granted = ok(world.ask_token(*client))
    assert 590 <= granted["expires_in"] <= 600
    guest = Person(world, granted["access_token"], issued.credential.user_id, client)
    ok(guest.get("/user/me"))
    world.clock.let_pass(seconds=601)
    refused(guest.get("/user/me"), 401)
    denied(world.ask_token(*client), 401, "invalid_client")


# --- revocation, introspection and metadata ---


@pytest.mark.engine_free
def test_a_client_revokes_one_of_its_tokens(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    app = ada.app_client(group)
    for holder, hint in ((ada, "access_token"), (app, "refresh_token")):  # hints are ignored
        fresh = world.token(holder.client_id, holder.client_secret)
        kept = Person(world, fresh, holder.id, ("", ""))
        ok(holder.get("/group", groupId=group))
        form = {"token": holder.token, "token_type_hint": hint}
        epoch = auth_epoch(world)
        for _ in range(2):  # the second time it is unknown, which is no error
            response = send_token(world, REVOKE, holder, data=form)
            assert ok(response) == {}
            assert response.headers["cache-control"] == "no-store"
            refused(holder.get("/group", groupId=group), 401)
            assert not is_active(world, holder, holder.token)
        ok(kept.get("/group", groupId=group))
        assert is_active(world, holder, kept.token)
        assert auth_epoch(world) == epoch + 1
    revocations = [entry for entry in world.audit() if entry[1] == "token.revoke"]
    assert revocations == [
        (ada.id, "token.revoke", ada.client_id),
        (app.id, "token.revoke", app.client_id),
    ]


def auth_epoch(world: World) -> int:
    return world.read(lambda tx: cache_epochs.read_epochs(tx).auth)


@pytest.mark.engine_free
def test_another_clients_token_is_neither_revealed_nor_revoked(world: World) -> None:
    ada, spare, bob = world.person("ada"), world.person("ada"), world.person("bob")
    operator = world.operator
    app = ada.app_client(ada.group())
    holders = {"ada": ada, "bob": bob, "an operator": operator, "an app client": app}
    epoch = auth_epoch(world)
    unknown = str(uuid.uuid4())
    # Not even another credential of the same user, or whoever created the app client.
    for caller in (spare, bob, app, ada, operator):
        foreign = {case: each for case, each in holders.items() if each is not caller}
        for path in (REVOKE, INTROSPECT):
            expected = outcome(send_token(world, path, caller, unknown))
            for case, holder in foreign.items():
                response = send_token(world, path, caller, holder.token)
                assert outcome(response) == expected, (path, case)
            for no_token in (caller.client_secret, "ä\0", "x" * 5_000):
                assert outcome(send_token(world, path, caller, no_token)) == expected
    for case, holder in holders.items():
        assert is_active(world, holder, holder.token), case
    # Nobody's caches were invalidated for it.
    assert auth_epoch(world) == epoch
    assert "token.revoke" not in {action for _, action, _ in world.audit()}


@pytest.mark.engine_free
def test_introspection_tells_a_client_about_its_token(make_world: MakeWorld) -> None:
    world = make_world(public_url="https://longwire.example/", token_lifetime_s=60)
    ada = world.person("ada")
    app = ada.app_client(ada.group())
    world.clock.freeze()
    for holder in (ada, app):
        now_s = world.clock.now() // SECOND
        token = world.token(holder.client_id, holder.client_secret)
        response = send_token(world, INTROSPECT, holder, token)
        assert ok(response) == {
            "active": True,
            "client_id": holder.client_id,
            "sub": holder.id,
            "iss": "https://longwire.example",
            "iat": now_s,
            "exp": now_s + 60,
            "token_type": "Bearer",
        }
        assert response.headers["cache-control"] == "no-store"
        world.clock.let_pass(seconds=60)
        assert not is_active(world, holder, token)
        epoch = auth_epoch(world)
        ok(send_token(world, REVOKE, holder, token))  # expired, so there is nothing to revoke
        assert auth_epoch(world) == epoch


@pytest.mark.engine_free
@pytest.mark.parametrize("path", [REVOKE, INTROSPECT])
def test_an_invalid_request_about_a_token_gets_the_reason(make_world: MakeWorld, path: str) -> None:
    world = make_world(token_failures_per_client_max=2)
    ada = world.person("ada")
    token = ada.token
    right = {"Authorization": basic(ada.client_id, ada.client_secret), "Content-Type": FORM}
    world.clock.freeze()
    cases: dict[str, dict[str, Any]] = {
        "no token": {"content": "token_type_hint=access_token"},
        "an empty token": {"content": "token="},
        "no body": {},
        "twice": {"content": f"token={token}&token={token}"},
        "hint twice": {"content": f"token={token}&token_type_hint=a&token_type_hint=b"},
        "in the URL": {"url": f"{path}?token={token}"},
        "in the URL as well": {"url": f"{path}?token={token}", "content": f"token={token}"},
        "secret in the URL": {"url": f"{path}?client_secret=x", "content": f"token={token}"},
        "not UTF-8": {"content": "token=%ff"},
        "JSON": {
            "headers": right | {"Content-Type": "application/json"},
            "json": {"token": token},
        },
        "no type": {
            "headers": {"Authorization": right["Authorization"]},
            "content": f"token={token}",
        },
        "two headers": {
            "headers": [*right.items(), ("Authorization", right["Authorization"])],
            "content": f"token={token}",
        },
    }
    for case, changes in cases.items():
        denied(send_token(world, path, ada, **changes), 400, "invalid_request", case)
    for header in (None, f"Bearer {token}", "Basic !"):
        denied(send_token(world, path, header, token), 401, "invalid_client", header)
    for method in ("GET", "PUT", "DELETE"):
        response = send_token(world, path, ada, token, method=method)
        refused(response, 405)
        assert response.headers["allow"] == "POST"
    # Guesses count together with those at the token endpoint.
    denied(send_token(world, path, basic(ada.client_id, "guess"), token), 401, "invalid_client")
    denied(world.ask_token(ada.client_id, "guess"), 401, "invalid_client")
    limited = send_token(world, path, ada, token)
    denied(limited, 429, "invalid_request")
    assert int(limited.headers["retry-after"]) == 30
    world.clock.let_pass(seconds=60)
    assert is_active(world, ada, token)


@pytest.mark.engine_free
def test_secrets_are_not_accepted_without_tls_to_revoke_or_introspect(
    make_world: MakeWorld,
) -> None:
    world = make_world(trusted_proxies=(ip_network("127.0.0.0/8"),))
    ada = world.person("ada")
    headers = {
        "Authorization": basic(ada.client_id, ada.client_secret),
        "Content-Type": FORM,
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Proto": "http",
    }
    for path in (REVOKE, INTROSPECT):
        response = send_token(world, path, ada, ada.token, headers=headers)
        denied(response, 400, "invalid_request", path)
        assert "HTTPS" in response.json()["error_description"]
    assert is_active(world, ada, ada.token)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_the_metadata_lead_to_the_endpoints(make_world: MakeWorld) -> None:
    world = make_world(public_url="https://longwire.example/")
    path = "/.well-known/oauth-authorization-server"
    response = world.http.get(path)
    assert response.headers["content-type"] == "application/json"
    methods = ["client_secret_basic", "client_secret_post"]
    assert ok(response) == {
        "issuer": "https://longwire.example",
        "token_endpoint": "https://longwire.example/oauth2/token",
        "revocation_endpoint": "https://longwire.example/oauth2/revoke",
        "introspection_endpoint": "https://longwire.example/oauth2/introspect",
        "service_documentation": "https://longwire.example/docs",
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": [],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_methods_supported": methods,
    }
    # Whatever a client claims as the host does not get into it.
    assert world.http.get(path, headers={"Host": "evil.example"}).content == response.content
    refused(world.http.post(path), 405)


# --- rate limits ---


@pytest.mark.engine_free
def test_failed_attempts_for_a_client_are_rate_limited(make_world: MakeWorld) -> None:
    world = make_world(token_failures_per_client_max=3, token_failures_per_address_max=10)
    ada, bob = world.person("ada"), world.person("bob")
    world.clock.freeze()
    for _ in range(3):
        denied(world.ask_token(ada.client_id, "guess"), 401, "invalid_client")
    for secret in ("guess", ada.client_secret):  # else the response would reveal a right guess
        form = f"client_id={ada.client_id}&client_secret={secret}"
        for response in (world.ask_token(ada.client_id, secret), ask(world, None, body=form)):
            denied(response, 429, "invalid_request")
            assert int(response.headers["retry-after"]) == 20
    # Further attempts neither prolong the wait nor affect other clients at the same address.
    for _ in range(30):
        denied(world.ask_token(ada.client_id, "guess"), 429, "invalid_request")
    ok(world.ask_token(bob.client_id, bob.client_secret))
    ok(ada.get("/user/me"))  # tokens in use are not touched

    world.clock.let_pass(seconds=20)
    for _ in range(5):  # success costs nothing
        ok(world.ask_token(ada.client_id, ada.client_secret))
    denied(world.ask_token(ada.client_id, "guess"), 401, "invalid_client")
    denied(world.ask_token(ada.client_id, ada.client_secret), 429, "invalid_request")
    world.clock.let_pass(seconds=60)
    for _ in range(3):
        denied(world.ask_token(ada.client_id, "guess"), 401, "invalid_client")
    denied(world.ask_token(ada.client_id, "guess"), 429, "invalid_request")


@pytest.mark.engine_free
def test_one_bad_client_does_not_lock_out_others_behind_its_address(make_world: MakeWorld) -> None:
    world = make_world()
    ada = world.write(lambda tx: tokens.issue_credential(tx, SYSTEM, "ada@example.com"))
    world.clock.freeze()
    statuses = [world.ask_token("cli_bad", "guess").status_code for _ in range(100)]
    assert statuses == [401] * 5 + [429] * 95
    ok(world.ask_token(ada.credential.client_id, ada.secret))


@pytest.mark.engine_free
def test_failed_attempts_from_an_address_are_rate_limited(make_world: MakeWorld) -> None:
    world = make_world(token_failures_per_client_max=3, token_failures_per_address_max=6)
    bob = world.person("bob")
    carl = world.write(lambda tx: tokens.issue_credential(tx, SYSTEM, "carl@example.com"))
    world.clock.freeze()
    for _ in range(10):
        ok(world.ask_token(bob.client_id, bob.client_secret))
    for number in range(6):
        denied(world.ask_token(f"cli_{number}", "guess"), 401, "invalid_client")
    response = world.ask_token("cli_6", "guess")
    denied(response, 429, "invalid_request")
    wait_s = int(response.headers["retry-after"])
    assert wait_s == 10
    # Whoever got a token from there lately is not locked out, all others are.
    ok(world.ask_token(bob.client_id, bob.client_secret))
    carls = (carl.credential.client_id, carl.secret)
    denied(world.ask_token(*carls), 429, "invalid_request")
    world.clock.let_pass(seconds=wait_s)
    ok(world.ask_token(*carls))


@pytest.mark.engine_free
def test_requests_without_a_secret_are_not_counted(make_world: MakeWorld) -> None:
    world = make_world(token_failures_per_client_max=1, token_failures_per_address_max=1)
    ada = world.person("ada")
    right = basic(ada.client_id, ada.client_secret)
    for _ in range(5):
        denied(ask(world, None), 401, "invalid_client")
        denied(ask(world, "Basic !"), 401, "invalid_client")
        denied(ask(world, right, query=""), 400, "invalid_request")
        denied(ask(world, right, query="grant_type=x"), 400, "unsupported_grant_type")
    ok(ask(world, right))


@pytest.mark.engine_free
def test_clients_behind_a_proxy_are_distinguished_by_the_address_it_reports(
    make_world: MakeWorld,
) -> None:
    world = make_world(
        trusted_proxies=(ip_network("127.0.0.0/8"),),
        token_failures_per_client_max=5,
        token_failures_per_address_max=2,
    )
    ada = world.person("ada")
    world.clock.freeze()

    def request_from(address: str, secret: str) -> httpx.Response:
        header = basic(ada.client_id, secret)
        return ask(world, header, X_Forwarded_For=address, X_Forwarded_Proto="https")

    for _ in range(2):
        denied(request_from("203.0.113.7", "guess"), 401, "invalid_client")
    denied(request_from("203.0.113.7", ada.client_secret), 429, "invalid_request")
    # A client cannot change its address by a forged X-Forwarded-For.
    for forged_address in ("198.51.100.1", "127.0.0.1", "anything"):
        forged = request_from(f"{forged_address}, 203.0.113.7", "guess")
        denied(forged, 429, "invalid_request", forged_address)
    ok(request_from("203.0.113.8", ada.client_secret))


@pytest.mark.engine_free
def test_forwarded_headers_of_an_untrusted_client_are_ignored(make_world: MakeWorld) -> None:
    world = make_world(
        trusted_proxies=(ip_network("10.0.0.0/8"),), token_failures_per_address_max=2
    )
    world.clock.freeze()
    statuses = [
        ask(world, basic("cli_x", "guess"), X_Forwarded_For=f"203.0.113.{number}").status_code
        for number in range(4)
    ]
    assert statuses == [401, 401, 429, 429]


# --- HTTPS only ---


def addresses_of_tokens(world: World) -> list[str]:
    """The addresses to which tokens have been issued so far."""
    audit = metadata.tables["audit"]
    statement = audit.select().where(audit.c.action == "token.issue").order_by(audit.c.id)
    return world.read(lambda tx: [row.address for row in tx.rows(statement)])


@pytest.mark.engine_free
def test_tokens_are_not_issued_without_tls(make_world: MakeWorld) -> None:
    world = make_world(trusted_proxies=(ip_network("127.0.0.0/8"),))
    ada = world.person("ada")
    right = basic(ada.client_id, ada.client_secret)
    issued_before = len(addresses_of_tokens(world))
    refusals = [
        ("203.0.113.7", "http"),
        ("203.0.113.7", ""),
        ("203.0.113.7", "https, http"),
        ("203.0.113.7", "wss"),
        ("127.0.0.1, 203.0.113.7", "http"),  # the first one is forged by the client
        ("203.0.113.7, 127.0.0.1", "http"),  # the last one is another proxy of ours
        ("2001:db8::1", "http"),
        ("not an address", "http"),
        ("203.0.113.7:443", "http"),
    ]
    for forwarded_for, proto in refusals:
        for header in (right, basic(ada.client_id, "guess"), None):
            response = ask(world, header, X_Forwarded_For=forwarded_for, X_Forwarded_Proto=proto)
            denied(response, 400, "invalid_request", (forwarded_for, proto))
            assert "HTTPS" in response.json()["error_description"]
    assert len(addresses_of_tokens(world)) == issued_before

    accepted = [
        ("203.0.113.7", "https", "203.0.113.7"),
        ("203.0.113.7", "HTTPS", "203.0.113.7"),
        ("203.0.113.7, 127.0.0.1", "https", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7", "https", "203.0.113.7"),
        ("2001:db8::1", "https", "2001:db8::1"),
        ("127.0.0.1", "http", "127.0.0.1"),
        ("", "", "127.0.0.1"),
    ]
    for forwarded_for, proto, _ in accepted:
        response = ask(world, right, X_Forwarded_For=forwarded_for, X_Forwarded_Proto=proto)
        assert response.status_code == 200, f"{forwarded_for} {proto}: {response.text}"
    assert addresses_of_tokens(world)[issued_before:] == [address for *_, address in accepted]
    # The rule protects the secret; other requests are accepted without TLS.
    plain = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http"}
    ok(ada.request("GET", "/user/me", headers=plain))


@pytest.mark.engine_free
def test_only_configured_proxies_are_trusted(make_world: MakeWorld) -> None:
    world = make_world(trusted_proxies=(ip_network("10.0.0.0/8"), ip_network("2001:db8::/64")))
    ada = world.person("ada")
    forwarded_https, forwarded_http = {"X-Forwarded-Proto": "https"}, {"X-Forwarded-Proto": "http"}
    forwarded_for = {"X-Forwarded-For": "203.0.113.7"}
    cases: list[tuple[str, dict[str, str], str | None]] = [
        # origin, headers, the address that gets a token (or None)
        ("http://203.0.113.5", {}, None),
        ("http://203.0.113.5", forwarded_https, None),
        ("http://203.0.113.5", forwarded_https | {"X-Forwarded-For": "127.0.0.1"}, None),
        ("https://203.0.113.5", {}, "203.0.113.5"),
        ("https://203.0.113.5", forwarded_http | forwarded_for, "203.0.113.5"),
        ("http://127.0.0.1", {}, "127.0.0.1"),
        ("http://127.0.0.1", forwarded_http | forwarded_for, "127.0.0.1"),
        ("http://127.9.9.9", {}, "127.9.9.9"),
        ("http://[::1]", {}, "::1"),
        ("http://[::ffff:127.0.0.1]", {}, "127.0.0.1"),  # as reported by a dual-stack socket
        ("http://[::ffff:203.0.113.5]", {}, None),
        ("http://10.0.0.1", {}, None),
        ("http://10.0.0.1", forwarded_http | forwarded_for, None),
        ("http://10.0.0.1", forwarded_for, None),
        ("http://10.0.0.1", forwarded_https | forwarded_for, "203.0.113.7"),
        ("http://[::ffff:10.0.0.1]", forwarded_https | forwarded_for, "203.0.113.7"),
        ("http://[2001:db8::1]", forwarded_https | forwarded_for, "203.0.113.7"),
        ("http://[2001:db8:0:1::1]", forwarded_https | forwarded_for, None),
        ("https://10.0.0.1", {}, "10.0.0.1"),  # a client itself, not a proxy
        ("https://10.0.0.1", forwarded_http | forwarded_for, None),
        ("https://10.0.0.1", forwarded_for, None),  # forwarded, but the scheme is unknown
    ]
    for origin, forwarded, address in cases:
        issued_before = addresses_of_tokens(world)
        response = request_token_from(
            world, origin, basic(ada.client_id, ada.client_secret), forwarded
        )
        case = f"{origin} {forwarded}"
        if address is None:
            denied(response, 400, "invalid_request", case)
            assert addresses_of_tokens(world) == issued_before, case
        else:
            assert response.status_code == 200, f"{case}: {response.text}"
            assert addresses_of_tokens(world) == [*issued_before, address], case


def request_token_from(
    world: World, origin: str, authorization: str, forwarded: dict[str, str]
) -> httpx.Response:
    """A token request as if from another machine, without a socket."""
    url = httpx.URL(origin)

    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app=world.app, client=(url.host, 50_000))
        async with httpx.AsyncClient(transport=transport, timeout=PATIENCE_S) as client:
            headers = {"Authorization": authorization, "Content-Type": FORM, **forwarded}
            return await client.post(
                f"{url.scheme}://longwire/oauth2/token?{GRANT}", headers=headers
            )

    return asyncio.run(request())


@pytest.mark.engine_free
def test_the_service_speaks_tls_with_a_certificate_of_its_own(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    cert, key = map(str, write_certificate(tmp_path, "127.0.0.1"))
    world = make_world(tls_cert=cert, tls_key=key)
    ada = world.person("ada")
    trust = ssl.create_default_context(cafile=cert)
    with httpx.Client(
        base_url=f"https://127.0.0.1:{world.port}", verify=trust, timeout=PATIENCE_S
    ) as client:
        response = client.post(
            f"/oauth2/token?{GRANT}",
            auth=(ada.client_id, ada.client_secret),
            headers={"Content-Type": FORM},
        )
        token = ok(response)["access_token"]
        assert re.fullmatch(r"max-age=\d+", response.headers["strict-transport-security"])
        me = client.get("/user/me", headers={"Authorization": f"Bearer {token}"})
        assert ok(me)["id"] == ada.id
    with (
        httpx.Client(base_url=f"https://127.0.0.1:{world.port}", timeout=PATIENCE_S) as suspicious,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        suspicious.get("/health/live")
    with (
        httpx.Client(base_url=f"http://127.0.0.1:{world.port}", timeout=PATIENCE_S) as plain,
        pytest.raises(httpx.TransportError),
    ):
        plain.get("/health/live")


# --- several processes ---


def wait_until_all_refused(requests: dict[str, tuple[Callable[[], httpx.Response], int]]) -> None:
    """Each request must eventually get its status."""
    for send, status in requests.values():
        eventually(lambda a=send, s=status: a().status_code == s)


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_permissions_revoked_by_one_process_are_soon_refused_by_all_others(
    make_world: MakeWorld,
) -> None:
    here, there = make_world(), make_world()
    ada, bob, carol, dora, eve, frank = (
        here.person(name) for name in ("ada", "bob", "carol", "dora", "eve", "frank")
    )
    group = ada.group()
    custom = ada.role("group.read", "member.read", name="custom")
    ada.invite(bob, group, "viewer")
    ada.invite(carol, group, "viewer")
    ada.invite(dora, group, custom)
    nothing_much = ada.role("group.read", name="nothing much")
    app = ada.app_client(group)

    def members(world: World, person: Person) -> Callable[[], httpx.Response]:
        seen = person.at(world)
        return lambda: seen.get("/group/users", groupId=group)

    def me(world: World, person: Person) -> Callable[[], httpx.Response]:
        return lambda: person.at(world).get("/user/me")

    def cases(world: World) -> dict[str, tuple[Callable[[], httpx.Response], int]]:
        return {
            "a removed member": (members(world, bob), 404),
            "a member with a smaller role": (members(world, carol), 403),
            "a member whose role became smaller": (members(world, dora), 403),
            "a deleted app client": (members(world, app), 401),
            "a revoked credential": (me(world, eve), 401),
            "a revoked token": (me(world, frank), 401),
        }

    for world in (here, there):
        for send, _ in cases(world).values():
            ok(send())  # both processes have them in their caches now

    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    ok(ada.put("/group/user", {"userId": carol.id, "groupId": group, "roleId": nothing_much}))
    ok(ada.put("/role", {"roleId": custom, "groupId": group, "permissions": ["group.read"]}))
    ok(ada.delete("/appClient", name=group, appClientId=app.id))
    here.write(lambda tx: tokens.revoke_credential(tx, SYSTEM, eve.client_id))
    ok(send_token(here, REVOKE, frank, frank.token))
    for case, (send, status) in cases(here).items():
        assert send().status_code == status, f"{case}, where it was done"
    wait_until_all_refused(cases(there))

    # A token issued by the other process is valid here at once.
    fresh = Person(here, there.token(ada.client_id, ada.client_secret), ada.id, ("", ""))
    ok(fresh.get("/user/me"))


@pytest.mark.engine_free
def test_permissions_revoked_by_a_command_are_soon_refused_by_the_service(world: World) -> None:
    ada, bob, carol = world.person("ada"), world.person("bob"), world.person("carol")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    ok(bob.get("/group", groupId=group))
    ok(carol.get("/user/me"))

    def command(work: Callable[[Tx], Any]) -> Any:
        database, _ = build_database(world.settings, Clock(), is_secondary=True)
        database.start()
        with closing(database):
            return asyncio.run(database.write(work))

    command(lambda tx: groups.remove_member(tx, SYSTEM, group, bob.id))
    command(lambda tx: tokens.revoke_credential(tx, SYSTEM, carol.client_id))
    wait_until_all_refused(
        {
            "a removed member": (lambda: bob.get("/group", groupId=group), 400),
            "a revoked credential": (lambda: carol.get("/user/me"), 401),
        }
    )
    issued = command(lambda tx: tokens.issue_credential(tx, SYSTEM, "dora@example.com"))
    world.token(issued.credential.client_id, issued.secret)  # valid at once

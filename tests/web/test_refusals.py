"""Requests that are refused before they are handled, at every operation.

The inputs of each operation are read from the route table, so that an operation added later is
tested without a line here.
"""

import json
import socket
import types
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import quote
from urllib.parse import urlencode as encode_pairs

import httpx
import msgspec
import pytest

from longwire.errors import BadInput, FieldError
from longwire.inbound.callbacks import GROUP_TOKEN, VENDOR_METHODS
from longwire.process import maintenance
from longwire.process.app import OPERATIONS
from longwire.web.errors import build_error_response
from longwire.web.fields import InputLimits
from longwire.web.routing import Route
from tests.world import Person, World, ok, refused

pytestmark = pytest.mark.engine_free

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")
JSON = {"Content-Type": "application/json"}
DATES = ("beginDate", "endDate", "timestamp")
NO_DATES = ("", "soon", "2026-02-30", "2026-03-01T25:00:00Z", "1e9", "9" * 40)
# Valid values, where few are.
CATALOGUED = {"kind": "data", "path": "/data/temperature", "status": "failed"}
# Of each query, what cannot be given with the others.
NOT_TOGETHER = {
    "RetryPolicyInput": {"delays"},
    "SharedChart": {"lastSeconds"},
    "RecordExportQuery": {"dates"},
    "ContactPointsQuery": {"subgroups"},
    "SeriesQuery": {"measurement", "fresh", "timezone", "calendarSpan"},
    "GroupSeriesQuery": {"timezone", "calendarSpan", "percentile", "of", "combine"},
}
DEPTH_MAX = InputLimits().json_depth_max
BODY_BYTES_MAX = 20_000  # for these tests, so that a body need not be large to be too large


@pytest.fixture
def small_world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    # What expires while a test compares everything that is stored stays.
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 10**6)
    return make_world(body_bytes_max=BODY_BYTES_MAX, bulk_body_bytes_max=BODY_BYTES_MAX)


# --- inputs of an operation, generated from its types ---


def plain_types(annotated: Any) -> list[Any]:
    """The types a value may have, without annotations."""
    if typing.get_origin(annotated) is Annotated:
        return plain_types(typing.get_args(annotated)[0])
    if typing.get_origin(annotated) in (typing.Union, types.UnionType):
        return [kind for each in typing.get_args(annotated) for kind in plain_types(each)]
    return [annotated]


def some_value(annotated: Any) -> Any:
    kind = plain_types(annotated)[0]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return some_values(kind)
    if typing.get_origin(kind) is list:
        return [some_value(typing.get_args(kind)[0])]
    if typing.get_origin(kind) is dict and Any not in typing.get_args(kind):
        key, value = map(some_value, typing.get_args(kind))
        return {key: value}
    if kind is dict or typing.get_origin(kind) is dict:
        return {}
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)[0]
    return {str: "111", int: 7, float: 1.5, bool: True}[kind]


def some_values(struct: type[msgspec.Struct] | None) -> dict[str, Any]:
    fields = msgspec.structs.fields(struct) if struct else ()
    return {
        each.encode_name: CATALOGUED[each.encode_name]
        if each.encode_name in CATALOGUED and plain_types(each.type)[0] is str
        else some_value(each.type)
        for each in fields
        if struct is None or each.encode_name not in NOT_TOGETHER.get(struct.__name__, ())
    }


def urlencode(values: dict[str, Any]) -> str:
    return encode_pairs(values, doseq=True)


def required(struct: type[msgspec.Struct] | None) -> list[str]:
    fields = msgspec.structs.fields(struct) if struct else ()
    return [each.encode_name for each in fields if each.required]


def takes_text(struct: type[msgspec.Struct], name: str) -> bool:
    kinds = {each.encode_name: plain_types(each.type) for each in msgspec.structs.fields(struct)}
    return str in kinds[name]


# --- invalid requests ---


@dataclass
class Wrong:
    """A request that must be refused, the status, and the fields that the error must name."""

    why: str
    status: int
    fields: tuple[str, ...] = ()
    place: str = ""
    query: str | None = None  # None: a valid one
    content: Any = None  # None: a valid body, or none where none is accepted
    headers: dict[str, str] = field(default_factory=dict)
    path: str | None = None
    method: str | None = None


def wrong_callers(route: Route) -> Iterator[Wrong]:
    for why, value in {
        "no token": "",
        "an unknown token": "Bearer 00000000-0000-0000-0000-000000000000",
        "a bare unknown token": "no-token",
        "no token after the scheme": "Bearer",
        "another scheme": "Basic dXNlcjpwYXNz",
        "two words": "Bearer a b",
        "an endless token": "Bearer " + "a" * 4_000,
    }.items():
        yield Wrong(why, 401, headers={"Authorization": value})


def wrong_paths(route: Route) -> Iterator[Wrong]:
    yield Wrong("a slash at the end", 404, path=route.path + "/")
    yield Wrong("capitals", 404, path=route.path.upper())
    yield Wrong("NUL at the end", 404, path=route.path + "%00")


def wrong_methods(route: Route) -> Iterator[Wrong]:
    for method in set(METHODS) - taken_at(route):
        yield Wrong(f"the method {method}", 405, method=method)


def taken_at(route: Route) -> set[str]:
    """The methods of the path of a route; the vendor lets its customers choose theirs.

    A callback with GET stores something, so there is no HEAD.
    """
    taken = {each.method for each in OPERATIONS if each.path == route.path}
    if route.path == "/user/passkey":
        taken |= {"POST", "DELETE"}  # need a part of the process
    if not taken:
        is_of_vendor = route.path.startswith("/network/vendor/")
        return set(VENDOR_METHODS) if is_of_vendor else {"POST"}
    return taken | ({"HEAD"} if "GET" in taken else set())


def wrong_queries(route: Route) -> Iterator[Wrong]:
    if route.query is None:
        return
    right = some_values(route.query)
    if needed := required(route.query):
        yield Wrong("no query", 400, tuple(needed), "query", query="")
    for name in right:
        rest = urlencode({other: right[other] for other in right if other != name})
        pair = urlencode({name: right[name]})
        named = {"fields": (name,), "place": "query"}
        if not isinstance(right[name], list):
            yield Wrong(f"{name} twice", 400, query=f"{rest}&{pair}&{pair}", **named)
        yield Wrong(f"NUL in {name}", 400, query=f"{rest}&{name}=%00", **named)
        yield Wrong(f"half a character in {name}", 400, query=f"{rest}&{name}=%C3", **named)
        for value in NO_DATES if name in DATES else ():
            yield Wrong(f"{name}={value[:9]}", 400, query=f"{rest}&{name}={value}", **named)
    for value in ("0", "-1", "20001", "1.5", "x", "", "9" * 5_000, "%20"):
        if "limit" in right:
            yield Wrong(
                f"limit={value[:9]}", 400, ("limit",), "query", query=f"{rest_of(right)}{value}"
            )


def rest_of(right: dict[str, Any]) -> str:
    return urlencode({name: right[name] for name in right if name != "limit"}) + "&limit="


def wrong_media_types(route: Route) -> Iterator[Wrong]:
    for media_type in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/json; charset=latin-1",
        "application/jsonp",
        "json",
        "",
    ):
        yield Wrong(f"the type {media_type!r}", 415, headers={"Content-Type": media_type})


def wrong_bodies(route: Route) -> Iterator[Wrong]:
    if route.body is None:
        return
    yield from wrong_media_types(route)
    for why, content in {
        "nothing": b"",
        "half an object": b'{"name": ',
        "two objects": b"{}{}",
        "NaN": b'{"x": NaN}',
        "no UTF-8": b'{"x": "\xff"}',
        "UTF-16": "{}".encode("utf-16"),
        "a form": b"name=a&groupId=7",
        "depth": b'{"x": ' + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX + b"}",
        "endless depth": b"[" * (BODY_BYTES_MAX // 2),
    }.items():
        yield Wrong(why, 400, content=content)
    for value in ([], "text", None, 7, True):
        yield Wrong(f"{value!r} as body", 400, ("body",), "body", content=json.dumps(value))
    yield from wrong_fields(route.body)
    too_much = json.dumps({"x": "x" * BODY_BYTES_MAX}).encode()
    yield Wrong("too many bytes", 413, content=too_much)
    yield Wrong("too many bytes in pieces", 413, content=lambda: iter([too_much[:9], too_much[9:]]))


def wrong_fields(body: type[msgspec.Struct]) -> Iterator[Wrong]:
    right = some_values(body)
    right |= {"at": "06:00"} if "at" in right else {}
    if needed := required(body):
        yield Wrong("nothing that is required", 400, tuple(needed), "body", content="{}")
    for name in right:
        content = json.dumps({**right, name: ["a list"] if takes_text(body, name) else "x"})
        yield Wrong(f"{name} of a wrong type", 400, (name,), "body", content=content)
        if takes_text(body, name):
            for text in ("a\x00", "\ud83d"):
                content = json.dumps({**right, name: text})
                yield Wrong(f"{text!r} in {name}", 400, (name,), "body", content=content)
        for value in NO_DATES if name in DATES else ():
            content = json.dumps({**right, name: value})
            yield Wrong(f"{value[:9]!r} as {name}", 400, (name,), "body", content=content)


def all_wrong(route: Route) -> Iterator[Wrong]:
    for kind in (wrong_callers, wrong_paths, wrong_methods, wrong_queries, wrong_bodies):
        yield from kind(route)


def send(person: Person, route: Route, wrong: Wrong) -> httpx.Response:
    query = urlencode(some_values(route.query)) if wrong.query is None else wrong.query
    content = wrong.content() if callable(wrong.content) else wrong.content
    if content is None and route.body is not None:
        content = json.dumps(some_values(route.body))
    ask = partial(
        person.request,
        wrong.method or route.method,
        f"{wrong.path or route.path}?{query}",
        headers={**(JSON if route.body else {}), **wrong.headers},
    )
    try:
        return ask(content=content)
    except httpx.ReadError:  # httpx has closed a connection that it had given to this thread
        return ask(content=wrong.content() if callable(wrong.content) else content)


@pytest.mark.slow
def test_an_invalid_request_is_refused_and_changes_nothing(small_world: World) -> None:
    world = small_world
    before = world.everything()
    with ThreadPoolExecutor(4) as callers:
        for route in world.operations:
            wrongs = list(all_wrong(route))
            responses = callers.map(partial(send, world.operator, route), wrongs)
            for wrong, response in zip(wrongs, responses, strict=True):
                assert_refused(route, wrong, response)
            assert world.everything() == before, f"{route.method} {route.path} changed something"


def assert_refused(route: Route, wrong: Wrong, response: httpx.Response) -> None:
    case = f"{route.method} {route.path} with {wrong.why}"
    assert response.status_code == wrong.status, f"{case}: {response.text[:300]}"
    if wrong.status == 401:
        assert response.headers["www-authenticate"] == "Bearer", case
    if wrong.status == 405:
        assert_allows(response, route)
    if wrong.method != "HEAD":  # an error response to HEAD has no body
        problem = refused(response, wrong.status, *wrong.fields)
        assert {each["in"] for each in problem["errors"]} <= {wrong.place}, case


def assert_allows(response: httpx.Response, route: Route) -> None:
    assert response.headers["allow"] == ", ".join(sorted(taken_at(route)))


def test_the_table_of_invalid_requests_is_complete() -> None:
    """If the types were no longer recognised, the table would shrink and every test would pass."""
    by_route = {(route.method, route.path): list(all_wrong(route)) for route in OPERATIONS}
    assert all(len(wrongs) > 12 for wrongs in by_route.values())
    named = {field for wrong in by_route["PUT", "/group"] for field in wrong.fields}
    assert named == {
        *("groupId", "ownerId", "name", "roleId", "description", "parent", "tags", "body"),
        "ifUpdatedAt",
    }
    whys = {wrong.why for wrong in by_route["POST", "/device/event"]}
    assert {"'2026-02-3' as timestamp", "timestamp of a wrong type"} <= whys
    whys = {wrong.why for wrong in by_route["GET", "/device/event"]}
    assert {"beginDate=soon", "endDate=soon", "limit=20001", "deviceId twice"} <= whys


# --- network callbacks ---


def wrong_messages() -> Iterator[Wrong]:
    """Bodies that are no message of any network, under any media type."""
    too_much = json.dumps({"x": "x" * BODY_BYTES_MAX}).encode()
    for why, content in {
        "nothing": b"",
        "half an object": b'{"device": ',
        "no object": b"[{}]",
        "two objects": b"{}{}",
        "no UTF-8": b'{"x": "\xff"}',
        "no form": b"device",
        "depth": b'{"x": ' + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX + b"}",
        "endless depth": b'{"x":' + b"[" * (BODY_BYTES_MAX // 2),
    }.items():
        for media_type in ("application/json", "application/x-www-form-urlencoded", "", "x"):
            headers = {"Content-Type": media_type}
            yield Wrong(f"{why} as {media_type}", 400, content=content, headers=headers)
    yield Wrong("too many bytes", 413, content=too_much)
    yield Wrong("too many bytes in pieces", 413, content=lambda: iter([too_much[:9], too_much[9:]]))


@pytest.mark.slow
def test_network_callbacks_get_the_same_error_responses(small_world: World) -> None:
    world = small_world
    group = world.operator.group()
    token = ok(world.operator.get("/group", groupId=group))[0]["token"]
    network = Person(world, token, "", ("", ""))
    routes = [route for route in world.app.routes if route.permission == GROUP_TOKEN]
    assert len(routes) == 5 * len(VENDOR_METHODS) + 4
    before = world.everything()
    for route in routes:
        assert route.takes_request
        for wrong in (
            *wrong_callers(route),
            *wrong_paths(route),
            *wrong_methods(route),
            *(wrong_messages() if route.method != "GET" else ()),  # whose body is not read
        ):
            content = wrong.content() if callable(wrong.content) else wrong.content
            response = network.request(
                wrong.method or route.method,
                wrong.path or route.path,
                content=b"{}" if content is None else content,
                headers=dict(wrong.headers),
            )
            case = f"{route.path} with {wrong.why}"
            if wrong.status == 400:  # the error may have further fields
                refused(response, 400)
            else:
                assert_refused(route, wrong, response)
            assert token not in response.text, case
        assert world.everything() == before, f"{route.path} changed something"


# --- the header Authorization, and the id of a request ---


def raw_headers(world: World, *headers: tuple[str, str]) -> httpx.Response:
    return world.http.get("/user/me", headers=list(headers))


@on_sqlite
def test_a_token_is_accepted_with_any_case_of_the_scheme_or_without_it(world: World) -> None:
    token = world.operator.token
    assert token is not None
    for value in (f"Bearer {token}", f"bEARER   {token}", token):
        assert ok(raw_headers(world, ("Authorization", value)))["id"] == world.operator.id
    twice = raw_headers(world, ("Authorization", token), ("Authorization", token))
    assert "more than once" in refused(twice, 400)["detail"]
    for value in (f"Token {token}", f"Bearer {token}, {token}", f"{token}x", token.upper()):
        refused(raw_headers(world, ("Authorization", value)), 401)
    for byte in (b"\xff", b"\xc3\xb6"):
        response = world.http.get("/user/me", headers=[(b"Authorization", token.encode() + byte)])
        refused(response, 401)


@on_sqlite
def test_a_request_keeps_its_own_id_if_it_is_safe(world: World) -> None:
    for wished in ("a", "7f3c:span/1.2+x=-", "x" * 64):
        response = raw_headers(world, ("X-Request-Id", wished))
        assert refused(response, 401)["requestId"] == wished
        right = world.operator.request("GET", "/user/me", headers={"X-Request-Id": wished})
        assert right.headers["x-request-id"] == wished
    nasty = ["", "x" * 65, "a b", 'a"b', "<script>", "{{7*7}}", "a\tb", "a;b", "a%0d%0ab", "ä"]
    ids = set()
    for wished in nasty:
        response = world.http.get("/user/me", headers=[(b"X-Request-Id", wished.encode())])
        ids.add(refused(response, 401)["requestId"])
    assert not ids & set(nasty)
    assert len(ids) == len(nasty), "each gets an id of its own"


@on_sqlite
def test_input_is_returned_as_plain_text_only(world: World) -> None:
    markup = "<script>alert(1)</script>"
    response = world.operator.get("/" + markup)
    assert markup in refused(response, 404)["detail"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"
    refused(world.operator.get("/group%0d%0aSet-Cookie:%20a=b"), 404)
    wrong_type = world.operator.request(
        "POST", "/group", content="{}", headers={"Content-Type": f"text/{quote(markup)}"}
    )
    refused(wrong_type, 415)


# --- what is ignored or accepted ---


@on_sqlite
def test_a_body_is_ignored_where_none_is_accepted(small_world: World) -> None:
    operator = small_world.operator
    for content in (b"{", b"\xff" * 10, b"x" * (2 * BODY_BYTES_MAX)):
        for headers in ({}, {"Content-Type": "text/plain"}):
            response = operator.request("GET", "/user/me", content=content, headers=headers)
            assert ok(response)["id"] == operator.id


@on_sqlite
def test_json_is_recognised_by_every_form_of_its_media_type(world: World) -> None:
    for media_type in (
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF8"',
        "application/merge-patch+json",
    ):
        headers = {"Content-Type": media_type}
        response = world.operator.request("POST", "/group", content=b"{}", headers=headers)
        assert response.status_code == 200, media_type


@pytest.mark.slow
@on_sqlite
def test_head_returns_the_response_to_get_without_the_body(world: World) -> None:
    for route in OPERATIONS:
        if route.method == "GET":
            shown, head_response = (
                world.operator.request(method, route.path, params=some_values(route.query))
                for method in ("GET", "HEAD")
            )
            case = f"{route.method} {route.path}"
            assert head_response.status_code == shown.status_code, case
            assert head_response.content == b"", case
            assert head_response.headers["content-type"] == shown.headers["content-type"], case


# --- over a raw socket, for requests that no library sends ---


def exchange(world: World, *parts: bytes, close_socket: bool = False) -> list[tuple[int, bytes]]:
    """Every (status, body) that the service returns until it closes."""
    with socket.create_connection(("127.0.0.1", world.port), timeout=60) as sock:
        for part in parts:
            sock.sendall(part)
        if close_socket:
            return []
        received = b"".join(iter(lambda: sock.recv(65_536), b""))
    responses = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines[1:])
        length = int(headers[b"content-length"])
        responses.append((int(lines[0].split()[1]), received[:length]))
        received = received[length:]
    return responses


def head_of(world: World, line: str, *headers: str) -> bytes:
    lines = [line, "Host: longwire", f"Authorization: {world.operator.token}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


@on_sqlite
def test_no_invalid_framing_stores_anything_or_causes_a_server_error(small_world: World) -> None:
    world = small_world
    before = world.everything()
    body = b'{"name": "smuggled"}'
    for why, statuses, request in (
        ("a length too large to be true", [413], ["Connection: close", "Content-Length: 99999999"]),
        ("a length of 5,000 digits", [400], ["Content-Length: " + "9" * 5_000]),
        ("a negative length", [400], ["Content-Length: -1"]),
        ("a length with a sign", [400], ["Content-Length: +20"]),
        ("no number as length", [400], ["Content-Length: twenty"]),
        ("two lengths", [400], ["Content-Length: 20", "Content-Length: 2"]),
        ("a length and chunks", [400], ["Content-Length: 20", "Transfer-Encoding: chunked"]),
        ("chunks of no size", [400], ["Transfer-Encoding: chunked"]),
        ("another encoding", [400], ["Transfer-Encoding: gzip"]),
        ("a length too small", [400, 400], ["Content-Length: 5"]),
        ("a folded header", [400], ["X: a\r\n b", "Content-Length: 20"]),
        ("a header without a name", [400], [": a", "Content-Length: 20"]),
        ("a control character", [400], ["X: a\x01b", "Content-Length: 20"]),
        ("too many headers", [431], ["X: " + "a" * 999] * 17),
    ):
        responses = exchange(world, head_of(world, "POST /group HTTP/1.1", *request), body)
        assert [status for status, _ in responses] == statuses, f"{why}: {responses}"
        for status, problem_json in responses:
            problem = json.loads(problem_json)
            assert problem["status"] == status, why
            assert problem["message"] == problem["detail"] != "", why
    assert world.everything() == before


@on_sqlite
def test_a_truncated_request_is_not_executed(small_world: World) -> None:
    before = small_world.everything()
    exchange(
        small_world,
        head_of(small_world, "POST /group HTTP/1.1", "Content-Length: 30"),
        b'{"name": "half"}',
        close_socket=True,
    )
    exchange(
        small_world,
        head_of(small_world, "POST /group HTTP/1.1", "Transfer-Encoding: chunked"),
        b"2\r\n{}\r\n",
        close_socket=True,
    )
    assert ok(small_world.operator.get("/user/me"))
    assert small_world.everything() == before


@on_sqlite
def test_a_body_that_never_ends_is_cut_off_at_the_limit(small_world: World) -> None:
    before = small_world.everything()
    chunk = b"%x\r\n%s\r\n" % (1_000, b" " * 1_000)
    request = head_of(
        small_world, "POST /group HTTP/1.1", "Transfer-Encoding: chunked", "Connection: close"
    )
    (status, body), *rest = exchange(small_world, request, *[chunk] * (BODY_BYTES_MAX // 1_000 + 1))
    assert status == 413
    assert json.loads(body)["code"] == "too_large"
    assert not rest
    assert small_world.everything() == before


@on_sqlite
def test_a_body_shorter_than_its_length_times_out(
    make_world: Callable[..., World],
) -> None:
    world = make_world(request_timeout_s=5.0, head_timeout_s=5.0)
    before = world.everything()
    head = head_of(world, "POST /group HTTP/1.1", "Content-Length: 100")
    with socket.create_connection(("127.0.0.1", world.port), timeout=60) as sock:
        sock.sendall(head + b"{}")
        assert sock.recv(65_536).startswith(b"HTTP/1.1 408 ")
    assert world.everything() == before


@on_sqlite
def test_unusual_request_lines_reach_no_other_route(world: World) -> None:
    for line, status in (
        ("GET http://elsewhere/user/me HTTP/1.1", 200),  # as a proxy writes it
        ("GET /us%65r/me HTTP/1.1", 200),
        ("GET /user/me HTTP/1.0", 200),
        ("GET /user/me?" + "x=1&" * 3_000 + " HTTP/1.1", 200),
        ("GET /user/me?" + "x=1&" * 5_000 + " HTTP/1.1", 431),
        ("GET /" + "x" * 20_000 + " HTTP/1.1", 431),
        ("GET /user/me/../../user/me HTTP/1.1", 404),
        ("GET /./user/me HTTP/1.1", 404),
        ("GET //user/me HTTP/1.1", 404),
        ("GET /user//me HTTP/1.1", 404),
        ("GET /user/me;a=b HTTP/1.1", 404),
        ("GET /user/me%3Fx HTTP/1.1", 404),
        ("GET /group%FF HTTP/1.1", 404),
        ("GET /group%ED%A0%80 HTTP/1.1", 404),
        ("OPTIONS * HTTP/1.1", 404),
        ("GET user/me HTTP/1.1", 400),
        ("GET /gröup HTTP/1.1", 400),
        ("CONNECT longwire:80 HTTP/1.1", 400),
        ("BREW /user/me HTTP/1.1", 400),
        ("get /user/me HTTP/1.1", 400),
        ("GET /user/me HTTP/3.0", 400),
        ("", 400),
    ):
        responses = exchange(world, head_of(world, line, "Connection: close"))
        assert [found for found, _ in responses] == [status], f"{line[:60]}: {responses}"


@pytest.mark.parametrize(
    "message, detail",
    [
        (None, "deviceName is taken."),
        ("Choose another name.", "Choose another name."),
        # Of its own, whatever it says.
        ("device_name: is taken", "device_name: is taken"),
    ],
)
def test_the_detail_names_the_fields_unless_the_error_has_a_message_of_its_own(
    message: str | None, detail: str
) -> None:
    error = BadInput(message, field_errors=[FieldError("device_name", "is taken")])
    response = build_error_response(error, "r", {"device_name": ("body", "deviceName")})
    shown = json.loads(response.body)
    assert (shown["detail"], shown["message"]) == (detail, detail)
    assert shown["errors"][0]["field"] == "deviceName"

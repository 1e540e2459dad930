"""The fast path for records: its responses are the same as those of the ordinary path."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.settings import Settings
from tests.world import (
    AdjustableClock,
    Person,
    World,
    change_settings,
    copy_data_folder,
    ok,
    record_of,
)

DIFFERS = {"date", "x-request-id"}


@pytest.fixture
def both(sqlite_template: Path, tmp_path: Path) -> Iterator[list[World]]:
    """Two services that differ only in the fast path."""
    worlds = [
        World(
            change_settings(
                Settings(data=copy_data_folder(sqlite_template, tmp_path / str(has_fast_path))),
                body_bytes_max=4_096,
                batch_records_max=3,
                ingest_waiting_records_max=3,
            ),
            AdjustableClock(),
            has_fast_path=has_fast_path,
        )
        for has_fast_path in (True, False)
    ]
    yield worlds
    for world in worlds:
        world.stop()


class FastPathDecisions:
    """Which requests a service took on the fast path."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[bool] = []
        self.methods: list[str] = []  # of those
        fast_path = world.app._request_handler.fast_path

        def recorded(*request: Any) -> bool:
            self.taken.append(fast_path(*request))
            self.methods += [request[0]["method"]] if self.taken[-1] else []
            return self.taken[-1]

        monkeypatch.setattr(world.app._request_handler, "fast_path", recorded)


@pytest.mark.slow
def test_the_fast_path_gives_the_same_responses(
    both: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = FastPathDecisions(both[0], monkeypatch)
    responses = [[visible(each) for each in record_requests(world)] for world in both]
    fast, ordinary = responses
    for number, (left, right) in enumerate(zip(fast, ordinary, strict=True)):
        assert left == right, f"request {number}"
    statuses = [status for status, _, _ in fast]
    assert set(statuses) == {200, 400, 401, 403, 404, 413, 415, 503}
    assert decisions.taken.count(True) >= statuses.count(200) > 10


def test_messages_of_networks_get_the_same_responses_and_become_the_same_records(
    both: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = FastPathDecisions(both[0], monkeypatch)
    responses, records = [], []
    for world in both:
        ada = world.person("ada")
        group = ada.group()
        device = ada.device(group, network="vendor", originalId="1FD48BE")
        responses.append([visible(each) for each in network_messages(ada, group, device)])
        stored = [masked(each) for each in ada.records(device, "data")]
        records.append([each | {"deviceId": "", "groupId": ""} for each in stored])
    assert responses[0] == responses[1]
    assert {status for status, _, _ in responses[0]} == {200, 400, 401, 404, 413}
    assert records[0] == records[1]
    assert {each["deviceType"] for each in records[0]} == {"generic", "tracker"}
    # The third finds that the device has changed; on a slow machine, caches are emptied in between.
    assert 1 <= decisions.taken.count(True) <= 5


def network_messages(ada: Person, group: str, device: str) -> Iterator[httpx.Response]:
    token = ok(ada.get("/group", groupId=group))[0]["token"]

    def send(body: Any, *, token: str = token, path: str = "vendor/data") -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return ada.world.http.post(f"/network/{path}", json=body, headers=headers)

    message = {"device": "1FD48BE", "time": 1_653_666_733, "data": "0aff"}
    yield send(message)  # the sender and the device are cached from here on
    yield send({**message, "seqNumber": 1})
    yield send({**message, "seqNumber": 1})  # repeated
    ok(ada.put("/device/type", {"deviceId": device, "groupId": group, "type": "tracker"}))
    yield send({**message, "seqNumber": 2})
    yield send({**message, "seqNumber": 3})
    yield send({**message, "seqNumber": 4, "station": "14E9"})
    yield send({**message, "ack": True})  # asks for a downlink
    yield send({**message, "device": "2FD48BE"})
    yield send({**message, "time": "yesterday"})
    yield send({**message, "station": "x" * 5_000})
    yield send(message, token="nobody")
    yield send({"batch": "1;2"})


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_invitation_slows_nobody_down(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, mallory = world.person("ada"), world.person("mallory")
    group = ada.group()
    device = ada.device(group)
    invitation = {"email": "ada@example.com", "groupId": mallory.group(), "roleId": "member"}
    ok(mallory.put("/group/invite", invitation))
    world.observe_own_changes()  # so that no poll empties the cache meanwhile
    ok(ada.get("/group", groupId=group))  # the token is cached
    decisions = FastPathDecisions(world, monkeypatch)
    ok(ada.post("/device/data", record_of(device, "data")))
    ok(ada.post("/device/data", {**record_of(device, "data"), "groupId": group}))
    assert decisions.taken == [True, False]  # one that names a group might accept it


def record_requests(world: World) -> Iterator[httpx.Response]:
    """Valid records, and invalid ones of every kind."""
    ada, eve, viewer = (world.person(name) for name in ("ada", "eve", "viewer"))
    group = ada.group()
    device = ada.device(group)
    reader = ada.role("record.read", "device.read", name="reader")
    ada.invite(viewer, group, reader)
    ok(ada.get("/group", groupId=group))  # the tokens are cached from here on
    good = {kind: record_of(device, kind) for kind in ("data", "event", "geoloc", "telemetry")}
    for kind, body in good.items():
        path = f"/device/{kind}"
        yield ada.post(path, body)
        yield ada.post(path, body)  # repeated
        yield ada.post(path, {**body, "groupId": group})
        yield ada.post(path, {**body, "groupId": "1"})
        yield ada.post(path, {**body, "timestamp": "yesterday"})
        yield ada.post(path, {})
        yield ada.post(path, {**body, "deviceId": "dev_nobody"})
        yield eve.post(path, body)
        yield viewer.post(path, body)
        yield ada.post(f"{path}/batch", {"items": [body, {**body, "timestamp": 1}]})
        yield ada.post(f"{path}/batch", {"items": [body, {**body, "timestamp": None}]})
        yield ada.post(f"{path}/batch", {"items": []})
        yield ada.post(f"{path}/batch", {"items": [body] * 4})
    yield ada.post("/device/telemetry", {**good["telemetry"], "nbBs": 3, "timestamp": 2})
    yield ada.post("/device/telemetry", {**good["telemetry"], "nbBs": 3, "nbBS": 4})
    yield from unusual_requests(ada, good["data"])
    yield full(world, ada, good["data"])


def unusual_requests(ada: Person, body: dict[str, Any]) -> Iterator[httpx.Response]:
    path, raw = "/device/data", json.dumps(body)

    def send(content: str | bytes, **headers: str) -> httpx.Response:
        named = {name.title().replace("_", "-"): value for name, value in headers.items()}
        return ada.request("POST", path, content=content, headers=named)

    yield send(raw)
    yield send(raw, content_type="application/json; charset=utf-8")
    yield send(raw, content_type="text/plain")
    yield send(raw, authorization="Bearer nobody")
    yield send(raw, authorization="")
    yield send(raw, authorization=str(ada.token))
    yield send(raw[:-1], content_type="application/json")
    yield send(b"\xff" + raw.encode(), content_type="application/json")
    yield send(b"", content_type="application/json")
    yield send("[" * 100, content_type="application/json")
    yield send(json.dumps({**body, "data": "x" * 5_000}), content_type="application/json")
    yield send(json.dumps({**body, "data": "\x00"}), content_type="application/json")


def full(world: World, ada: Person, body: dict[str, Any]) -> httpx.Response:
    """The ingest queue is full; the batch would fit into an empty one."""
    ingest = world.app._ingest
    ingest._budget._budget.used += 2
    try:
        items = [{**body, "timestamp": number} for number in (11, 12)]
        return ada.post("/device/data/batch", {"items": items})
    finally:
        ingest._budget._budget.used -= 2


def visible(response: httpx.Response) -> tuple[int, dict[str, str], Any]:
    """What a caller sees, without what differs in every response."""
    headers = {name: value for name, value in response.headers.items() if name not in DIFFERS}
    assert response.headers["x-request-id"]
    headers.pop("content-length")  # ids have one length, group numbers do not
    return response.status_code, headers, masked(response.json())


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: masked(each) for name, each in value.items() if name != "requestId"}
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        words = value.split()
        return " ".join("…" if _is_an_id(word) else word for word in words)
    return value


def _is_an_id(word: str) -> bool:
    bare = word.strip(".,;:")
    return bare.startswith("dev_") or (bare.isdigit() and len(bare) > 10)


# --- several requests on a connection ---


class Connection:
    """A connection that sends exactly the given bytes."""

    def __init__(self, world: World, token: str, **headers: str) -> None:
        url = httpx.URL(world.url)
        self._socket = socket.create_connection((url.host, url.port or 80), timeout=60)
        self._lines = {"Host": "x", "Authorization": f"Bearer {token}", **headers}

    def encode_request(self, body: dict[str, Any]) -> bytes:
        raw = json.dumps(body).encode()
        lines = self._lines | {"Content-Length": str(len(raw))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"POST /device/data HTTP/1.1\r\n{head}\r\n".encode() + raw

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read_response(self) -> tuple[int, str, Any]:
        """Status, request id and body of the next response."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._socket.recv(1) or b"\r\n\r\n"
        fields = dict(
            line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if line
        )
        body = b""
        while len(body) < int(fields["content-length"]):
            body += self._socket.recv(int(fields["content-length"]) - len(body))
        return int(head.split()[1]), fields["x-request-id"], json.loads(body)

    def exchange(self, body: dict[str, Any]) -> tuple[int, str, Any]:
        self.send(self.encode_request(body))
        return self.read_response()

    def close(self) -> None:
        self._socket.close()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_requests_on_one_connection_are_handled_one_by_one(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ok(ada.get("/group", groupId=group))  # the token is cached
    record = record_of(device, "data")
    connection = Connection(world, str(ada.token))
    responses = [
        connection.exchange({**record, "timestamp": 1_000 + number}) for number in range(5)
    ]
    assert [status for status, _, _ in responses] == [200] * 5
    assert len({request_id for _, request_id, _ in responses}) == 5
    assert [body["timestamp"][17:19] for _, _, body in responses] == ["40", "41", "42", "43", "44"]

    # An invalid record, then a valid one.
    status, _, problem = connection.exchange({**record, "timestamp": "x" * 2})
    assert (status, [error["field"] for error in problem["errors"]]) == (400, ["timestamp"])
    assert connection.exchange({**record, "timestamp": 1_005})[0] == 200

    # Two at once, and one in two parts.
    connection.send(
        connection.encode_request({**record, "timestamp": 1_006})
        + connection.encode_request({**record, "timestamp": 1_007})
    )
    assert [connection.read_response()[0] for _ in range(2)] == [200, 200]
    torn = connection.encode_request({**record, "timestamp": 1_008})
    for part in (torn[:-20], torn[-20:]):
        connection.send(part)
        time.sleep(0.05)
    assert connection.read_response()[0] == 200
    assert len(ada.records(device, "data")) == 9

    # Authentication is per request, not per connection.
    assert connection.exchange({**record, "timestamp": 1_009})[0] == 200
    world.clock.let_pass(days=400)
    assert connection.exchange({**record, "timestamp": 1_010})[0] == 401
    connection.close()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_given_request_id_is_returned_each_time(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ok(ada.get("/group", groupId=group))
    record = record_of(device, "data")
    connection = Connection(world, str(ada.token), **{"X-Request-Id": "mine"})
    names = [connection.exchange({**record, "timestamp": 1_000 + number})[1] for number in range(3)]
    assert names == ["mine"] * 3
    connection.close()


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("header", [{"Connection": "close"}, {"Expect": "100-continue"}])
def test_the_fast_path_honours_connection_headers(world: World, header: dict[str, str]) -> None:
    ada = world.person("ada")
    group = ada.group()
    record = record_of(ada.device(group), "data")
    ok(ada.get("/group", groupId=group))
    for number in range(2):
        connection = Connection(world, str(ada.token), **header)
        connection.send(connection.encode_request({**record, "timestamp": 1_000 + number}))
        connection.send(connection.encode_request({**record, "timestamp": 1_000 + number}))
        assert connection.read_response()[0] == 200
        connection.close()


# --- cached pages ---


def test_cached_pages_are_the_same_on_both_paths(
    both: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = FastPathDecisions(both[0], monkeypatch)
    responses = [list(page_requests(world)) for world in both]
    for number, (fast, ordinary) in enumerate(zip(*responses, strict=True)):
        assert visible(fast) == visible(ordinary), f"request {number}"
    statuses = [each.status_code for each in responses[0]]
    encodings = [each.headers.get("content-encoding") for each in responses[0]]
    assert set(statuses) == {200, 401, 404}
    assert encodings.count("gzip") == 5
    # Those that were read before in this form: plain, compressed, and after a change; fewer where
    # a slow machine empties the caches in between.
    assert 1 <= decisions.methods.count("GET") <= 2 + 2 + 1


def page_requests(world: World) -> Iterator[httpx.Response]:
    ada, eve = world.person("ada"), world.person("eve")
    device = ada.device(ada.group())
    items = [record_of(device, "data", timestamp=number) for number in range(3)]
    data = json.dumps({"text": "x" * 500})
    ok(ada.post("/device/data/batch", {"items": [{**each, "data": data} for each in items]}))

    def get(person: Person, encoding: str = "identity", method: str = "GET") -> httpx.Response:
        params = {"deviceId": device, "beginDate": "1970-01-01"}
        headers = {"Accept-Encoding": encoding}
        return person.request(method, "/device/data", params=params, headers=headers)

    for _ in range(3):
        yield get(ada)
    for _ in range(3):
        yield get(ada, "gzip, br")
    yield get(eve)
    ok(ada.post("/device/data", {**items[0], "timestamp": 10}))
    for _ in range(2):
        yield get(ada, "gzip")
    world.clock.let_pass(days=400)
    yield get(ada)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_pipeline_of_cached_pages_is_served_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)
    path = f"/device/data?deviceId={device}&beginDate=2020-01-01"
    ok(ada.get("/device/data", deviceId=device, beginDate="2020-01-01"))
    decisions = FastPathDecisions(world, monkeypatch)
    connection = Connection(world, str(ada.token))
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ada.token}\r\n"
    count = 60
    connection.send(
        b"".join(f"{request}X-Request-Id: {each}\r\n\r\n".encode() for each in range(count))
    )
    answers = [connection.read_response() for _ in range(count)]
    assert [(status, name) for status, name, _ in answers] == [
        (200, str(number)) for number in range(count)
    ]
    assert {len(body["items"]) for _, _, body in answers} == {1}
    assert "GET" in decisions.methods
    connection.close()

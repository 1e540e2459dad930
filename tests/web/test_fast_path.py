"""A record that is as it should be takes a short way in; nobody can tell from the answer."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.fleet import device_types
from longwire.model import SYSTEM
from longwire.settings import Settings
from longwire.web import server
from tests.world import AdjustableClock, Person, World, copy_data_folder, ok, record_of

DIFFERS = {"date", "x-request-id"}


@pytest.fixture
def both(sqlite_template: Path, tmp_path: Path) -> Iterator[list[World]]:
    """Two services that differ in nothing but the short way; the engine has no part in it."""
    worlds = [
        World(
            Settings(
                data=copy_data_folder(sqlite_template, tmp_path / str(has_fast_path)),
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


class Told:
    """How often a service said yes or no to the short way."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.verdicts: list[bool] = []
        fast_path = world.app._request_handler.fast_path

        def watched(*request: Any) -> bool:
            self.verdicts.append(fast_path(*request))
            return self.verdicts[-1]

        monkeypatch.setattr(world.app._request_handler, "lane", watched)


def test_the_same_requests_get_the_same_answers_on_both_ways(
    both: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(both[0], monkeypatch)
    answers = [[seen(answer) for answer in everything(world)] for world in both]
    short, long = answers
    for number, (left, right) in enumerate(zip(short, long, strict=True)):
        assert left == right, f"request {number}"
    statuses = [status for status, _, _ in short]
    assert set(statuses) == {200, 400, 401, 403, 404, 413, 415, 503}
    assert told.verdicts.count(True) >= statuses.count(200) > 10


def everything(world: World) -> Iterator[httpx.Response]:
    """Records as they should be, and in every way that they should not."""
    ada, eve, viewer = (world.person(name) for name in ("ada", "eve", "viewer"))
    group = ada.group()
    device = ada.device(group)
    reader = ada.role("record.read", "device.read", name="reader")
    ada.invite(viewer, group, reader)
    ok(ada.get("/group", groupId=group))  # from here on the tokens are known
    good = {kind: record_of(device, kind) for kind in ("data", "event", "geoloc", "telemetry")}
    for kind, body in good.items():
        path = f"/device/{kind}"
        yield ada.post(path, body)
        yield ada.post(path, body)  # the same again
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
    yield from oddly_said(ada, good["data"])
    yield full(world, ada, good["data"])


def oddly_said(ada: Person, body: dict[str, Any]) -> Iterator[httpx.Response]:
    path, raw = "/device/data", json.dumps(body)

    def say(content: str | bytes, **headers: str) -> httpx.Response:
        named = {name.title().replace("_", "-"): value for name, value in headers.items()}
        return ada.request("POST", path, content=content, headers=named)

    yield say(raw)
    yield say(raw, content_type="application/json; charset=utf-8")
    yield say(raw, content_type="text/plain")
    yield say(raw, authorization="Bearer nobody")
    yield say(raw, authorization="")
    yield say(raw, authorization=str(ada.token))
    yield say(raw[:-1], content_type="application/json")
    yield say(b"\xff" + raw.encode(), content_type="application/json")
    yield say(b"", content_type="application/json")
    yield say("[" * 100, content_type="application/json")
    yield say(json.dumps({**body, "data": "x" * 5_000}), content_type="application/json")
    yield say(json.dumps({**body, "data": "\x00"}), content_type="application/json")


def full(world: World, ada: Person, body: dict[str, Any]) -> httpx.Response:
    """More records wait than may; the batch would fit if none did."""
    ingest = world.app._request_handler._ingest
    ingest._waiting += 2
    try:
        items = [{**body, "timestamp": number} for number in (11, 12)]
        return ada.post("/device/data/batch", {"items": items})
    finally:
        ingest._waiting -= 2


def seen(answer: httpx.Response) -> tuple[int, dict[str, str], Any]:
    """What a caller sees, but for what is different in every answer."""
    headers = {name: value for name, value in answer.headers.items() if name not in DIFFERS}
    assert answer.headers["x-request-id"]
    headers.pop("content-length")  # ids are of one length, numbers of groups are not
    return answer.status_code, headers, blurred(answer.json())


def blurred(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: blurred(each) for name, each in value.items() if name != "requestId"}
    if isinstance(value, list):
        return [blurred(each) for each in value]
    if isinstance(value, str):
        words = value.split()
        return " ".join("…" if _is_an_id(word) else word for word in words)
    return value


def _is_an_id(word: str) -> bool:
    bare = word.strip(".,;:")
    return bare.startswith("dev_") or (bare.isdigit() and len(bare) > 10)


# --- the same head again ---


class Wire:
    """A connection on which every byte is ours."""

    def __init__(self, world: World, token: str, **headers: str) -> None:
        url = httpx.URL(world.url)
        self._socket = socket.create_connection((url.host, url.port or 80), timeout=60)
        self._lines = {"Host": "x", "Authorization": f"Bearer {token}", **headers}

    def whole(self, body: dict[str, Any]) -> bytes:
        raw = json.dumps(body).encode()
        lines = self._lines | {"Content-Length": str(len(raw))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"POST /device/data HTTP/1.1\r\n{head}\r\n".encode() + raw

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hear(self) -> tuple[int, str, Any]:
        """Status, request id and body of the next answer."""
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

    def ask(self, body: dict[str, Any]) -> tuple[int, str, Any]:
        self.send(self.whole(body))
        return self.hear()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def recognised(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a head was taken for one that is known, and whether that was enough."""
    verdicts: list[bool] = []
    answer = server._GuardedProtocol._answer_again

    def watched(self: Any, head: Any, data: bytes) -> bool:
        verdicts.append(answer(self, head, data))
        return verdicts[-1]

    monkeypatch.setattr(server._GuardedProtocol, "_answer_again", watched)
    return verdicts


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_sender_that_repeats_its_head_is_answered_as_anybody(
    world: World, recognised: list[bool]
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ok(ada.get("/group", groupId=group))  # the token is known
    record = record_of(device, "data")
    wire = Wire(world, str(ada.token))
    answers = [wire.ask({**record, "timestamp": 1_000 + number}) for number in range(5)]
    assert [status for status, _, _ in answers] == [200] * 5
    assert recognised == [True] * 4
    assert len({request_id for _, request_id, _ in answers}) == 5
    assert [body["timestamp"][17:19] for _, _, body in answers] == ["40", "41", "42", "43", "44"]

    # A record that is wrong, and then a right one again.
    status, _, refusal = wire.ask({**record, "timestamp": "x" * 2})
    assert (status, [error["field"] for error in refusal["errors"]]) == (400, ["timestamp"])
    assert recognised[4:] == [False]
    assert wire.ask({**record, "timestamp": 1_005})[0] == 200

    # Two at once, and one that comes in two pieces.
    wire.send(
        wire.whole({**record, "timestamp": 1_006}) + wire.whole({**record, "timestamp": 1_007})
    )
    assert [wire.hear()[0] for _ in range(2)] == [200, 200]
    torn = wire.whole({**record, "timestamp": 1_008})
    for piece in (torn[:-20], torn[-20:]):
        wire.send(piece)
        time.sleep(0.05)
    assert wire.hear()[0] == 200
    assert len(ada.records(device, "data")) == 9

    # The head says who is calling; whether they may is looked up each time.
    assert wire.ask({**record, "timestamp": 1_009})[0] == 200
    world.clock.let_pass(days=400)
    assert wire.ask({**record, "timestamp": 1_010})[0] == 401
    wire.close()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_head_that_names_its_request_is_answered_with_that_name_each_time(
    world: World, recognised: list[bool]
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ok(ada.get("/group", groupId=group))
    record = record_of(device, "data")
    wire = Wire(world, str(ada.token), **{"X-Request-Id": "mine"})
    names = [wire.ask({**record, "timestamp": 1_000 + number})[1] for number in range(3)]
    assert names == ["mine"] * 3
    assert recognised == [True, True]
    wire.close()


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("header", [{"Connection": "close"}, {"Expect": "100-continue"}])
def test_a_head_that_asks_for_something_else_is_not_known_again(
    world: World, recognised: list[bool], header: dict[str, str]
) -> None:
    ada = world.person("ada")
    group = ada.group()
    record = record_of(ada.device(group), "data")
    ok(ada.get("/group", groupId=group))
    for number in range(2):
        wire = Wire(world, str(ada.token), **header)
        wire.send(wire.whole({**record, "timestamp": 1_000 + number}))
        wire.send(wire.whole({**record, "timestamp": 1_000 + number}))
        assert wire.hear()[0] == 200
        wire.close()
    assert recognised == []


# --- messages of networks ---


def messages(world: World) -> Iterator[httpx.Response]:
    """Messages as they should be, of known devices and others, and what changes in between."""
    ada = world.person("ada")
    group, other = ada.group("home"), ada.group("other")
    device = ada.device(group, network="vendor", originalId="1F")
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    numbers = iter(range(100))

    def says(path: str = "vendor/data", bearer: str = token, **said: Any) -> httpx.Response:
        body = {"device": "1F", "time": 1_700_000_000 + next(numbers), "data": "01ff", **said}
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return world.http.post(f"/network/{path}", json=body, headers=headers)

    yield says()
    yield says(seqNumber=7)
    yield says(seqNumber=9, time=1_750_000_000)
    yield says(seqNumber=9, time=1_750_000_000)  # again
    yield says("vendor/status", batt=3.1)
    yield says(ack=True)
    yield says(device="BAD")
    yield says(data="odd")
    yield says(bearer="")
    yield says(bearer="lwg_wrong")
    yield says(batch=f"1F;{1_750_000_001};02;11;")
    yield world.http.post("/network/vendor/data?token=" + token, content=b"x" * 5_000)
    world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, "generic", "bits", "a::uint:8"))
    yield says()
    yield says()
    codec = "function decodeUplink(input) { return {data: {half: 6 / input.bytes.length}}; }"
    world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, "generic", "javascript", codec))
    yield says(seqNumber=10)
    yield says(seqNumber=11)
    yield says(seqNumber=12)
    yield says(seqNumber=13, data="0a0b")
    ok(ada.put("/device", {"deviceId": device, "groupId": group, "configuration": "new"}))
    yield says()
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": group, "toGroupId": other}))
    yield says()
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": other, "toGroupId": group}))
    yield says()
    for kind in ("data", "event"):
        for record in ada.records(device, kind):
            known = {**record, "deviceId": "", "groupId": ""}
            yield httpx.Response(200, json=known, headers={"x-request-id": "-"})


def test_messages_of_networks_fare_alike_on_both_ways(
    both: list[World], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(both[0], monkeypatch)
    short, long = ([seen(answer) for answer in messages(world)] for world in both)
    for number, (left, right) in enumerate(zip(short, long, strict=True)):
        assert left == right, f"message {number}"
    assert {status for status, _, _ in short} == {200, 400, 401, 404, 413}
    assert told.verdicts.count(True) >= 10

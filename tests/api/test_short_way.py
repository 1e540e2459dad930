"""A record that is as it should be takes a short way in; nobody can tell from the answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.settings import Settings
from tests.world import Person, TurnableClock, World, copied_folder, ok, record_of

DIFFERS = {"date", "x-request-id"}


@pytest.fixture
def both(sqlite_template: Path, tmp_path: Path) -> Iterator[list[World]]:
    """Two services that differ in nothing but the short way; the engine has no part in it."""
    worlds = [
        World(
            Settings(
                data=copied_folder(sqlite_template, tmp_path / str(has_short_way)),
                body_bytes_max=4_096,
                batch_records_max=3,
                ingest_waiting_records_max=3,
            ),
            TurnableClock(),
            has_short_way=has_short_way,
        )
        for has_short_way in (True, False)
    ]
    yield worlds
    for world in worlds:
        world.stop()


class Told:
    """How often a service said yes or no to the short way."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.verdicts: list[bool] = []
        lane = world.app._door.lane

        def watched(*request: Any) -> bool:
            self.verdicts.append(lane(*request))
            return self.verdicts[-1]

        monkeypatch.setattr(world.app._door, "lane", watched)


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
    ingest = world.app._door._ingest
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

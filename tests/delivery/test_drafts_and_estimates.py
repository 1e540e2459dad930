"""Looking before leaping: previews of drafts, estimates of replays, and the list of replays."""

import json
from typing import Any

import pytest

from longwire.delivery.connectors import replay_estimates
from tests.delivery.receiver import Receiver
from tests.world import KINDS, Person, World, nothing_happens, ok, record_of, refused

DAY = {"beginDate": "2026-03-01", "endDate": "2026-03-01"}
NOWHERE = "http://127.0.0.1:9/"  # a closed port
WARM = "message.data.celsius > 30"


def at(second: int) -> str:
    return f"2026-03-01T12:00:{second:02d}.000Z"


def preview(person: Person, group: str, **body: Any) -> list[dict[str, Any]]:
    return list(ok(person.post("/connector/preview", {"groupId": group, **body}))["items"])


@pytest.mark.engine_free
def test_a_draft_is_compared_with_the_saved_connector_and_changes_nothing(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device, other = ada.device(group), ada.device(group)
    for second, celsius in enumerate((10, 20, 31, 40)):
        ada.reports(device, timestamp=at(second), data=json.dumps({"celsius": celsius}))
    ada.reports(other, timestamp=at(9), data='{"celsius": 35}')
    connector = ada.connector(group, NOWHERE, messageFilter=WARM, deviceIds=[device], enabled=False)
    draft = {"messageFilter": "message.data.celsius < 35", "deviceIds": []}
    with nothing_happens(world):
        items = preview(ada, group, connectorId=connector, draft=draft)
        compared = [(each["matches"], each["matchedBefore"]) for each in items]
        # The newest first: that of the other device, then 40, 31, 20 and 10 degrees.
        assert compared == [
            (False, False),
            (False, True),
            (True, True),
            (True, False),
            (True, False),
        ]
        assert "matchedBefore" not in preview(ada, group, connectorId=connector)[0]

        # One that is not saved at all shows the request that it would send.
        new = {"type": "http", "params": json.dumps({"url": NOWHERE}), "messageFilter": WARM}
        items = preview(ada, group, draft=new, deviceId=device)
        assert [each["matches"] for each in items] == [True, True, False, False]
        assert items[0]["request"]["url"] == NOWHERE
        assert "matchedBefore" not in items[0]
        period = {"beginDate": at(1), "endDate": at(3)}
        items = preview(ada, group, draft=new, deviceId=device, **period)
        assert [each["timestamp"] for each in items] == [at(2), at(1)]
        body = {"groupId": group, "connectorId": connector, "deviceId": "dev_nobody"}
        refused(ada.post("/connector/preview", body), 400, "deviceId")


@pytest.mark.engine_free
def test_an_invalid_draft_is_refused_with_every_invalid_field(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    foreign = world.person("eve")
    elsewhere = foreign.device(foreign.group())
    draft = {
        **{"type": "http", "params": "{}", "messageFilter": "message.", "format": "morse"},
        "deviceIds": [elsewhere],
    }
    faults = refused(ada.post("/connector/preview", {"groupId": group, "draft": draft}), 400)
    fields = {each["field"] for each in faults["errors"]}
    assert fields == {"params.url", "messageFilter", "format", "deviceIds[0]"}
    refused(ada.post("/connector/preview", {"groupId": group}), 400, "connectorId")
    refused(ada.post("/connector/preview", {"groupId": group, "draft": {}}), 400, "type")
    wrong = {"beginDate": at(2), "endDate": at(1)}
    connector = ada.connector(group, NOWHERE)
    named = {"groupId": group, "connectorId": connector}
    refused(ada.post("/connector/preview", {**named, **wrong}), 400, "beginDate")


@pytest.mark.engine_free
def test_a_draft_needs_the_permission_to_save_it(world: World) -> None:
    ada, reader, blind = (world.person(name) for name in ("ada", "reader", "blind"))
    group = ada.group()
    named = {"groupId": group, "connectorId": ada.connector(group, NOWHERE)}
    ada.invite(reader, group, ada.role("connector.read", "record.read", name="reader"))
    ada.invite(blind, group, ada.role("connector.read", "connector.write", name="blind"))
    ok(reader.post("/connector/preview", named))
    refused(reader.post("/connector/preview", {**named, "draft": {"messageFilter": WARM}}), 403)
    refused(blind.post("/connector/preview", {**named, "draft": {"messageFilter": WARM}}), 403)


def test_an_estimate_counts_what_a_replay_then_sends(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    device, deep = ada.device(root), ada.device(below)
    for kind in KINDS:
        ada.reports(device, kind)
    ada.reports(deep)
    ada.reports(device, timestamp="2026-03-02T00:00:00Z")
    with Receiver() as receiver:
        connector = ada.connector(
            root, receiver.url, params={"subgroups": True}, messageFilter="message.kind != 'event'"
        )
        named = {"groupId": root, "connectorId": connector}
        with nothing_happens(world):
            estimate = ok(ada.post("/connector/replay/preview", {**named, **DAY}))
        found = {"lookedAt": 6, "matches": 4, "isAll": True, "estimatedMatches": 4}
        assert estimate == {**found, "sentBefore": 0}
        assert ok(ada.get("/connector/replays", **named)) == {"items": []}
        begun = ok(ada.post("/connector/replay", {**named, **DAY}))
        assert begun["queued"] == 4
        estimate = ok(ada.post("/connector/replay/preview", {**named, **DAY}))
        assert estimate == {**found, "sentBefore": 4}
        (listed,) = ok(ada.get("/connector/replays", **named))["items"]
        asked = {**named, "replayId": begun["replayId"]}
        assert listed == ok(ada.get("/connector/replay", **asked))


@pytest.mark.engine_free
def test_an_estimate_of_a_long_range_extrapolates(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_estimates, "ARRIVALS_PER_STEP_MAX", 10)
    monkeypatch.setattr(replay_estimates, "ARRIVALS_MAX", 20)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    now_s = world.clock.now() // 1_000_000
    items = [record_of(device, timestamp=now_s + number) for number in range(100)]
    kinds = ("data", "event")
    for number in range(0, 100, 10):
        for kind in kinds:
            some = items[number : number + 5]
            of_kind = [record_of(device, kind, timestamp=each["timestamp"]) for each in some]
            ok(ada.post(f"/device/{kind}/batch", {"items": of_kind}))
    connector = ada.connector(group, NOWHERE, messageFilter="message.kind == 'data'", enabled=False)
    named = {"groupId": group, "connectorId": connector}
    period = {"beginDate": now_s - 60, "endDate": now_s + 200}
    estimate = ok(ada.post("/connector/replay/preview", {**named, **period}))
    assert estimate == {
        **{"lookedAt": 20, "matches": 10, "sentBefore": 0, "isAll": False},
        "estimatedMatches": 50,
    }


@pytest.mark.engine_free
def test_replays_are_listed_for_those_who_may_see_the_connector(world: World) -> None:
    ada, eve, viewer = (world.person(name) for name in ("ada", "eve", "viewer"))
    group = ada.group()
    ada.device(group)
    named = {"groupId": group, "connectorId": ada.connector(group, NOWHERE, enabled=False)}
    ada.invite(viewer, group, ada.role("connector.read", name="viewer"))
    begun = [ok(ada.post("/connector/replay", {**named, **DAY}))["replayId"] for _ in range(21)]
    listed = [each["replayId"] for each in ok(viewer.get("/connector/replays", **named))["items"]]
    assert len(listed) == 20
    assert set(listed) < set(begun)
    refused(eve.get("/connector/replays", **named), 400, "groupId")
    refused(viewer.post("/connector/replay/preview", {**named, **DAY}), 403)

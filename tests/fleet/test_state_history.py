"""States over time, and several measurements in one request."""

import csv
import io
import json
from typing import Any

import pytest

from tests.world import Person, World, ok, record_of, refused

DAY = {"beginDate": "2026-02-01", "endDate": "2026-02-01"}
DOOR = {"name": "door", "path": "/data/door", "class": "state"}
VOLUME = {"name": "volume", "path": "/data/litres", "class": "counter", "unit": "l"}


def report(person: Person, device: str, values: dict[str, Any]) -> None:
    items = [
        record_of(device, timestamp=f"2026-{at}Z", data=json.dumps(data))
        for at, data in values.items()
    ]
    ok(person.post("/device/data/batch", {"items": items}))


def ask(person: Person, devices: list[str], names: list[str], **params: Any) -> Any:
    asked = {"deviceId": devices, "measurement": names, **params}
    return ok(person.request("GET", "/device/series", params=asked))


@pytest.mark.engine_free
def test_states_are_where_they_change_and_numbers_stand_beside_them(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    one, two = (ada.device(group, name=name) for name in ("Cold room", "Reefer"))
    body = {"type": "generic", "groupId": group, "measurements": [DOOR, VOLUME]}
    ok(ada.put("/device/type/measurements", body))
    report(ada, one, {"01-31T20:00:00": {"door": "open"}, "01-31T23:00:00": {"door": "closed"}})
    # What arrives late has its place; the same state again is no change, a list is no state.
    report(ada, one, {"02-01T12:00:00": {"door": False, "litres": 9}})
    report(ada, one, {"02-01T08:00:00": {"door": "open", "litres": 5}})
    report(ada, one, {"02-01T09:00:00": {"door": "open"}, "02-01T10:00:00": {"door": [1]}})
    report(ada, two, {"02-02T08:00:00": {"door": True, "litres": 5}})

    body = ask(ada, [one, two], ["door"], **DAY)
    assert (body["measurement"], body["class"]) == ("door", "state")
    first, second = body["items"]
    assert first["states"] == [
        {"timestamp": "2026-02-01T00:00:00.000Z", "value": "closed"},
        {"timestamp": "2026-02-01T08:00:00.000Z", "value": "open"},
        {"timestamp": "2026-02-01T12:00:00.000Z", "value": False},
    ]
    assert (first["points"], second["states"]) == ([], [])

    asked = {"deviceId": [one], "measurement": ["door"], "format": "csv", **DAY}
    text = ada.request("GET", "/device/series", params=asked).text
    rows = [(row["deviceId"], row["value"]) for row in csv.DictReader(io.StringIO(text))]
    assert rows == [(one, "closed"), (one, "open"), (one, "false")]

    body = ask(ada, [one, two], ["volume", "door"], timeSpan=86_400, **DAY)
    assert "measurement" not in body
    shown = [(each["deviceId"], each["measurement"]) for each in body["items"]]
    assert shown == [(one, "volume"), (two, "volume"), (one, "door"), (two, "door")]
    assert [each["increase"] for each in body["items"][0]["points"]] == [4]
    assert len(body["items"][2]["states"]) == 3

    several = {"deviceId": [one, two], "beginDate": "2026-02-01", "timeSpan": 86_400}
    table = ada.request(
        "GET",
        "/device/series",
        params={**several, "measurement": ["volume", "litres"], "format": "table"},
    )
    refused(table, 400, "measurement[1]")
    mixed = {**several, "measurement": ["door", "volume"], "format": "csv"}
    refused(ada.request("GET", "/device/series", params=mixed), 400, "format")
    twice = {**several, "measurement": ["door", "door"]}
    refused(ada.request("GET", "/device/series", params=twice), 400, "measurement")


@pytest.mark.engine_free
def test_a_long_history_ends_where_the_work_was_too_much(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    body = {"type": "generic", "groupId": group, "measurements": [DOOR]}
    declared = ok(ada.put("/device/type/measurements", body))
    asked = ok(ada.get("/device/type", type="generic", groupId=group))
    assert asked["measurementsUpdatedAt"] == declared["updatedAt"]
    hours = {f"02-01T{hour:02}:00:00": {"door": hour % 2 == 0} for hour in range(20)}
    report(ada, device, hours)
    monkeypatch.setattr("longwire.fleet.state_history.CHANGES_MAX", 5)
    (found,) = ask(ada, [device], ["door"], **DAY)["items"]
    assert len(found["states"]) == 5
    assert found["examinedUntil"] == "2026-02-01T05:00:00.000Z"
    monkeypatch.setattr("longwire.fleet.state_history.RECORDS_MAX", 8)
    monkeypatch.setattr("longwire.fleet.state_history.STEP_RECORDS_MAX", 4)
    monkeypatch.setattr("longwire.fleet.state_history.CHANGES_MAX", 100)
    (found,) = ask(ada, [device], ["door"], **DAY)["items"]
    assert len(found["states"]) == 8
    assert found["examinedUntil"] == "2026-02-01T07:00:00.000Z"

"""Series: numbers of devices over time, down-sampled, for a bounded amount of work."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from longwire.clock import DAY, HOUR, SECOND
from longwire.errors import BadInput
from longwire.fleet import series
from tests.world import Person, World, ok, record_of, refused

DAY_OF_RECORDS = {"beginDate": "2026-03-01", "endDate": "2026-03-01"}
TEMPERATURE = {"path": "/data/temperature", **DAY_OF_RECORDS}


def report(person: Person, device: str, values: dict[str, Any], kind: str = "data") -> None:
    """Store a record for each time of the first of March; what is no object is the temperature."""
    items = []
    for time, value in values.items():
        fields = value if isinstance(value, dict) else {"data": json.dumps({"temperature": value})}
        items.append(record_of(device, kind, timestamp=f"2026-03-01T{time}Z", **fields))
    ok(person.post(f"/device/{kind}/batch", {"items": items}))


def ask(person: Person, device_id: str | list[str], **params: Any) -> httpx.Response:
    return person.request("GET", "/device/series", params={"deviceId": device_id, **params})


def read(person: Person, *devices: str, **params: Any) -> list[dict[str, Any]]:
    items = ok(ask(person, list(devices), **params))["items"]
    assert [each["deviceId"] for each in items] == list(devices)
    return list(items)


def test_the_numbers_of_several_devices_are_summed_up_by_time(world: World) -> None:
    ada = world.person()
    group = ada.group()
    first, second, silent = (ada.device(group) for _ in range(3))
    values = {"01:00:00": 5, "01:30:00": 2.5, "01:59:59": 3, "03:00:00": -1}
    report(ada, first, values)
    report(ada, second, {"01:00:00": 7, "01:10:00": "no number", "01:20:00": {"data": "no JSON"}})
    body = ok(ask(ada, [first, second, silent], **TEMPERATURE, timeSpan=3600))
    assert body["timeSpan"] == 3600
    assert (body["beginDate"], body["endDate"]) == (
        "2026-03-01T00:00:00.000Z",
        "2026-03-02T00:00:00.000Z",
    )
    one, two, three = body["items"]
    at_one = {"timestamp": "2026-03-01T01:00:00.000Z", "min": 2.5, "max": 5, "mean": 3.5}
    at_one |= {"first": 5, "last": 3, "count": 3, "sum": 10.5}
    at_three = {"timestamp": "2026-03-01T03:00:00.000Z", "min": -1, "max": -1, "mean": -1}
    at_three |= {"first": -1, "last": -1, "count": 1, "sum": -1, "hasGap": True}
    assert one["points"] == [at_one, at_three]
    assert (one["lookedAt"], one["isSampled"]) == (4, False)
    assert [(each["count"], each["last"]) for each in two["points"]] == [(1, 7)]
    assert two["lookedAt"] == 3
    assert three["points"] == []

    telemetry = {"02:00:00": {"score": 4, "nbBs": 3}, "02:00:01": {"score": 2}}
    report(ada, first, telemetry, "telemetry")
    report(ada, first, {"02:00:00": {"lat": 51.5, "lng": 4, "radius": 80}}, "geoloc")
    report(ada, first, {"02:00:00": {"data": '{"battery": {"percent": [80, 79]}}'}}, "event")
    for kind, path, last in (
        ("telemetry", "/score", 2),
        ("telemetry", "/nbBS", 3),
        ("geoloc", "/lat", 51.5),
        ("geoloc", "/radius", 80),
        ("event", "/data/battery/percent/1", 79),
    ):
        (found,) = read(ada, first, path=path, kind=kind, **DAY_OF_RECORDS)
        assert [each["last"] for each in found["points"]] == [last], path


@pytest.mark.engine_free
def test_too_many_records_are_sampled_over_the_whole_range(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "RECORDS_MAX", 48)
    monkeypatch.setattr(series, "SLOTS_MAX", 24)
    monkeypatch.setattr(series, "STEP_RECORDS_MAX", 40)
    ada = world.person()
    device = ada.device(ada.group())
    minutes = [f"{hour:02d}:{minute:02d}:00" for hour in range(24) for minute in range(0, 60, 6)]
    report(ada, device, {time: index for index, time in enumerate(minutes)})
    (found,) = read(ada, device, **TEMPERATURE, timeSpan=7200)
    assert found["isSampled"] and found["lookedAt"] == 48
    assert [each["count"] for each in found["points"]] == [4] * 12, "two of each hour"
    assert [each["max"] for each in found["points"]] == [20 * hour + 11 for hour in range(12)]

    # Where even a sample is too much, it ends early, says where, and can be continued.
    monkeypatch.setattr(series, "WORK_MAX", 60)
    begin, seen = "2026-03-01", 0
    for _ in range(50):
        (found,) = read(ada, device, **{**TEMPERATURE, "beginDate": begin}, timeSpan=7200)
        seen += found["lookedAt"]
        assert found["lookedAt"] <= 60
        if "examinedUntil" not in found:
            break
        begin = found["examinedUntil"]
    assert found["points"][-1]["max"] >= 230
    assert seen >= 48


def test_a_large_record_counts_like_a_small_one(world: World) -> None:
    ada = world.person()
    device = ada.device(ada.group())
    padding = "x" * 20_000
    large = {"data": json.dumps({"padding": padding, "temperature": 9})}
    report(ada, device, {"01:00:00": 1, "02:00:00": large, "03:00:00": large, "04:00:00": 2})
    (found,) = read(ada, device, **TEMPERATURE, timeSpan=86400)
    (point,) = found["points"]
    assert (point["count"], point["max"], point["last"]) == (4, 9, 2)


@pytest.mark.engine_free
def test_everybody_sees_the_numbers_of_their_own_groups_only(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    old, new = ada.group("old"), ada.group("new")
    ada.invite(bob, new, "viewer")
    device, other = ada.device(old), ada.device(old)
    report(ada, device, {"01:00:00": 1})
    moved = {"deviceId": device, "groupId": old, "toGroupId": new}
    ok(ada.put("/device/transfer", moved))
    report(ada, device, {"02:00:00": 2})
    sums = {}
    for person in (ada, bob):
        (found,) = read(person, device, **TEMPERATURE, timeSpan=86400)
        sums[person.id] = [each["mean"] for each in found["points"]]
    assert sums == {ada.id: [1.5], bob.id: [2.0]}

    unknown = ask(eve, "dev_unknown", **TEMPERATURE)
    hidden = ask(eve, device, **TEMPERATURE)
    assert refused(hidden, 404, "deviceId")["detail"] == refused(unknown, 404)["detail"]
    mixed = [device, other, "dev_unknown"]
    refused(ask(bob, mixed, **TEMPERATURE), 404, "deviceId[1]", "deviceId[2]")
    ada.invite(eve, new, ada.role("device.read"))
    refused(ask(eve, device, **TEMPERATURE), 403)


def test_expired_records_are_left_out_before_they_are_deleted(
    make_world: Callable[..., World],
) -> None:
    world = make_world(retention_data_days=10)
    ada = world.person()
    device = ada.device(ada.group())
    now = world.clock.now()
    for age, value in ((11 * DAY, 1), (9 * DAY, 2)):
        at = str((now - age) // 1_000)
        ada.reports(device, timestamp=at, data=json.dumps({"temperature": value}))
    begin = str((now - 20 * DAY) // 1_000)
    (found,) = read(ada, device, path="/data/temperature", beginDate=begin)
    assert [each["last"] for each in found["points"]] == [2]


@pytest.mark.engine_free
def test_invalid_requests_are_refused(world: World) -> None:
    ada = world.person()
    device = ada.device(ada.group())
    for params, fields in (
        ({"path": "/data/t", "kind": "downlink"}, ["kind"]),
        ({"path": "/data/t", "device_id": [f"d{n}" for n in range(21)]}, ["deviceId"]),
        ({"path": "/data/t", "device_id": ["d", "d"]}, ["deviceId"]),
        ({"path": "temperature"}, ["path"]),
        ({"path": "/score"}, ["path"]),
        ({"path": "/score/1", "kind": "telemetry"}, ["path"]),
        ({**TEMPERATURE, "timeSpan": 43}, ["timeSpan"]),
        ({**TEMPERATURE, "timeSpan": 0}, ["timeSpan"]),
        ({"path": "/data/t", "beginDate": "2026-03-03", "endDate": "2026-03-01"}, ["beginDate"]),
        ({}, ["measurement"]),
        ({"path": "/data/t", "measurement": "t", "fresh": "true"}, ["path", "fresh"]),
        ({"measurement": "t", "kind": "data", "timezone": "UTC"}, ["kind", "timezone"]),
        ({"measurement": "t", "calendarSpan": "hour", "timezone": "Mars"}, ["timezone"]),
        ({"measurement": "t", "calendarSpan": "hour", "timezone": "../tz"}, ["timezone"]),
        ({"measurement": "t", "calendarSpan": "century", "timeSpan": 5}, ["calendarSpan"]),
        ({"measurement": "t", "format": "xml"}, ["format"]),
        ({"measurement": "none"}, ["measurement"]),
    ):
        refused(ask(ada, **{"device_id": device, **params}), 400, *fields)


@pytest.mark.parametrize(
    "data, path, number",
    [
        ('{"a": 1}', "/data/a", 1.0),
        ('{"a": true}', "/data/a", 1.0),
        ('{"a": "1"}', "/data/a", None),
        ('{"a": null}', "/data/a", None),
        ('{"a": {"b": [0, {"c": -2e3}]}}', "/data/a/b/1/c", -2000.0),
        ('{"a": [1]}', "/data/a/1", None),
        ('{"a": [1]}', "/data/a/-1", None),
        ('{"x/y": {"~z": 4}}', "/data/x~1y/~0z", 4.0),
        ('{"": 3}', "/data/", 3.0),
        ("21.5", "/data", 21.5),
        ("no JSON", "/data/a", None),
        ("", "/data/a", None),
        ("[" * 5_000, "/data/0", None),
        ('{"a": ' + "9" * 400 + "}", "/data/a", None),
    ],
)
def test_the_number_at_a_path(data: str, path: str, number: float | None) -> None:
    body = json.dumps({"deviceId": "d", "timestamp": "t", "data": data})
    assert series.compile_path("data", path)(body) == number


OLDER = {"seqNumber": 9, "port": 2, "decoded": {"celsius": 4, "port": 7}}
NEWER = {"celsius": 4, "port": 7, "radio": {"seqNumber": 9, "port": 2}}


@pytest.mark.parametrize(
    "path, older, newer",
    [
        ("/data/celsius", 4, 4),
        ("/data/decoded/celsius", 4, 4),
        ("/data/decoded/port", 7, 7),
        ("/data/port", 2, 7),
        ("/data/seqNumber", 9, 9),
        ("/data/radio/port", 2, 2),
        ("/data/fahrenheit", None, None),
    ],
)
def test_a_path_leads_to_the_same_value_in_older_records(
    path: str, older: float | None, newer: float | None
) -> None:
    read_value = series.compile_path("data", path)
    for data, number in ((OLDER, older), (NEWER, newer)):
        assert read_value(json.dumps({"data": json.dumps(data)})) == number


def test_a_path_that_leads_nowhere_is_invalid() -> None:
    for kind, path in (("data", "/score"), ("geoloc", "/lat/0"), ("event", ""), ("data", "data")):
        with pytest.raises(BadInput):
            series.compile_path(kind, path)


def test_the_span_is_the_smallest_usual_one_that_gives_few_points() -> None:
    for length, devices, span in (
        (60 * SECOND, 1, SECOND),
        (DAY, 1, 30 * 60 * SECOND),
        (DAY, 20, 30 * 60 * SECOND),
        (30 * DAY, 1, 6 * HOUR),
        (40_000 * DAY, 1, 200 * DAY),
    ):
        assert series.choose_span(0, length, devices) == span
    assert series.choose_span(7, 7, 1) == SECOND, "also of an empty range"

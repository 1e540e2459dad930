"""Series of measurements at the interface: consumption, groups, time zones, formats."""

import csv
import importlib
import io
import json
import threading
from typing import Any

import pytest

from longwire import extras
from longwire.api.records import group_series, series_spans
from longwire.fleet.summaries import SummaryWork
from tests.world import Person, World, ok, record_of, refused

PARIS = {"calendarSpan": "day", "timezone": "Europe/Paris"}


def summarize(world: World) -> None:
    world.clock.let_pass(seconds=120)  # until what was declared is known everywhere
    world._run(SummaryWork(world.app.database).run_round())


def report(person: Person, device: str, values: dict[str, Any], kind: str = "data") -> None:
    items = [
        record_of(device, kind, timestamp=f"{at}Z", data=json.dumps(data))
        for at, data in values.items()
    ]
    ok(person.post(f"/device/{kind}/batch", {"items": items}))


def declare(world: World, *measurements: dict[str, Any]) -> None:
    admin = world.operator
    body = {"type": "generic", "measurements": list(measurements)}
    ok(admin.put("/device/type/measurements", body))


def ask(person: Person, devices: str | list[str], name: str, **params: Any) -> Any:
    asked = {"deviceId": devices, "measurement": name, **params}
    return ok(person.request("GET", "/device/series", params=asked))


def ask_group(person: Person, group: str, name: str, **params: Any) -> Any:
    return ok(person.get("/group/series", groupId=group, measurement=name, **params))


def test_the_consumption_of_a_meter_is_right_across_resets_and_gaps(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    declare(world, METER)
    values = {
        "2026-01-31T22:30:00": {"litres": 90},  # 23:30 in Paris
        "2026-01-31T23:30:00": {"litres": 100},  # the first of February there
        "2026-02-01T12:00:00": {"litres": 130},
        "2026-02-02T12:00:00": {"litres": 4},  # another meter, which began at zero
        "2026-02-05T12:00:00": {"litres": 10},
        "2026-02-05T12:30:00": {"litres": 11.5},
    }
    report(ada, device, values)
    period = {"beginDate": "2026-01-31T23:00:00Z", "endDate": "2026-02-06T23:00:00Z"}
    for _ in range(2):
        body = ask(ada, device, "litres", **PARIS, **period)
        (found,) = body["items"]
        assert [
            (each["timestamp"], each["increase"], each.get("hasGap", False))
            for each in found["points"]
        ] == [
            ("2026-01-31T23:00:00.000Z", 40, False),
            ("2026-02-01T23:00:00.000Z", 4, False),
            ("2026-02-04T23:00:00.000Z", 7.5, True),
        ]
        summarize(world)
    assert (body["class"], body["unit"], body["calendarSpan"]) == ("counter", "l", "day")
    assert body["timezone"] == "Europe/Paris"
    # Late, and on top of what is summarized already.
    report(ada, device, {"2026-02-04T12:00:00": {"litres": 9}})
    (found,) = ask(ada, device, "litres", **PARIS, **period)["items"]
    assert [each["increase"] for each in found["points"]] == [40, 4, 5, 2.5]
    ok(ada.put("/device/data", deviceId=device, timestamp="2026-02-04T12:00:00Z"))
    (found,) = ask(ada, device, "litres", **PARIS, **period)["items"]
    assert [each["increase"] for each in found["points"]] == [40, 4, 7.5]


@pytest.mark.engine_free
def test_consumption_counts_from_the_last_number_however_long_ago_it_was(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    declare(world, METER)
    report(
        ada, device, {"2025-11-20T12:00:00": {"litres": 5}, "2026-02-01T12:00:00": {"litres": 9}}
    )
    period = {"timeSpan": 86_400, "beginDate": "2026-02-01", "endDate": "2026-02-01"}
    for _ in range(2):
        (found,) = ask(ada, device, "litres", **period)["items"]
        assert [(each["increase"], each.get("hasGap")) for each in found["points"]] == [(4, True)]
        summarize(world)
    # In the same page of days as another one, and not summarized.
    report(ada, device, {"2025-11-25T12:00:00": {"litres": 6}})
    for _ in range(2):
        (found,) = ask(ada, device, "litres", **period)["items"]
        assert [each["increase"] for each in found["points"]] == [3]
        summarize(world)


METER = {
    **{"name": "litres", "kind": "data", "path": "/data/litres"},
    **{"class": "counter", "unit": "l", "minimum": 0, "maximum": 10_000},
}


@pytest.mark.engine_free
def test_a_day_of_a_time_zone_has_its_own_hours(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    hours = [f"2026-03-{day:02}T{hour:02}:20:00" for day in (28, 29, 30) for hour in range(24)]
    report(ada, device, {at: {"n": 1} for at in hours})
    period = {"beginDate": "2026-03-27T23:00:00Z", "endDate": "2026-03-30T22:00:00Z"}
    for _ in range(2):
        (found,) = ask(ada, device, "n", **PARIS, **period)["items"]
        # Summer time begins on the 29th, which has 23 hours.
        assert [each["count"] for each in found["points"]] == [23, 23, 24]
        half = {"calendarSpan": "hour", "timezone": "Asia/Kolkata"}
        some = {"beginDate": "2026-03-28T00:00:00Z", "endDate": "2026-03-28T02:00:00Z"}
        (found,) = ask(ada, device, "n", **half, **some)["items"]
        assert [each["timestamp"][11:16] for each in found["points"]] == ["23:30", "00:30"]
        summarize(world)


@pytest.mark.engine_free
def test_spans_of_any_length_are_read_from_records(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    report(ada, device, {f"2026-03-01T10:{n:02}:00": {"n": n} for n in range(60)})
    summarize(world)
    period = {"beginDate": "2026-03-01T10:03:00Z", "endDate": "2026-03-01T10:24:00Z"}
    (found,) = ask(ada, device, "n", timeSpan=7 * 60, **period)["items"]
    assert [(each["first"], each["last"], each["count"]) for each in found["points"]] == [
        (3, 9, 7),
        (10, 16, 7),
        (17, 23, 7),
    ]
    (found,) = ask(ada, device, "n", timeSpan=86_400, **period)["items"]
    assert [(each["first"], each["last"], each["sum"]) for each in found["points"]] == [
        (3, 23, sum(range(3, 24)))
    ]
    body = ask(ada, device, "n", beginDate="2026-03-01T10:03:00Z", endDate="2026-03-02")
    assert body["timeSpan"] == 1_800 and body["beginDate"] == "2026-03-01T10:00:00.000Z"
    assert body["items"][0]["points"][0]["first"] == 3


def test_numbers_of_a_group_become_one(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    top = ada.group("top")
    below = ada.group("below", parent=top)
    ada.invite(bob, below, "viewer")
    declare(world, METER)
    one, two, three = ada.device(top, name="one"), ada.device(below, name="two"), ada.device(below)
    for device, rise in ((one, 1), (two, 10), (three, 100)):
        report(
            ada,
            device,
            {f"2026-02-{day:02}T09:00:00": {"litres": day * rise} for day in range(1, 5)},
        )
    period = {"calendarSpan": "day", "beginDate": "2026-02-02", "endDate": "2026-02-04"}
    for _ in range(2):
        body = ask_group(ada, top, "litres", subgroups="true", **period)
        assert (body["of"], body["combine"], body["unit"]) == ("increase", "sum", "l")
        assert [(each["value"], each["devices"]) for each in body["points"]] == [(111, 3)] * 3
        assert [each["value"] for each in ask_group(ada, top, "litres", **period)["points"]] == [
            1
        ] * 3
        for params, values in (
            ({"of": "mean", "combine": "max"}, [200, 300, 400]),
            ({"of": "last"}, [110, 165, 220]),
            ({"combine": "count"}, [2, 2, 2]),
            ({"combine": "percentile", "percentile": "50"}, [55, 55, 55]),
            ({"type": "generic", "of": "count"}, [2, 2, 2]),
            ({"type": "beacon", "of": "count"}, []),
            ({"deviceId": two}, [10, 10, 10]),
        ):
            body = ask_group(bob, below, "litres", **period, **params)
            assert [each["value"] for each in body["points"]] == values, params
        summarize(world)
    body = ask_group(ada, below, "litres", combine="none", **period)
    assert "points" not in body
    assert [
        (each["deviceId"], [point["value"] for point in each["points"]]) for each in body["items"]
    ] == [(two, [10] * 3), (three, [100] * 3)]
    refused(bob.get("/group/series", groupId=top, measurement="litres"), 404, "groupId")


@pytest.mark.engine_free
def test_after_a_transfer_everybody_sees_the_numbers_of_their_group(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    old, new = ada.group("old"), ada.group("new")
    ada.invite(bob, new, "viewer")
    device = ada.device(old)
    report(ada, device, {"2026-02-01T09:00:00": {"n": 1}})
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": old, "toGroupId": new}))
    report(ada, device, {"2026-02-01T10:00:00": {"n": 5}})
    period = {"timeSpan": 86_400, "beginDate": "2026-02-01", "endDate": "2026-02-01"}
    for _ in range(2):
        assert [
            [each["sum"] for each in ask(person, device, "n", **period)["items"][0]["points"]]
            for person in (ada, bob)
        ] == [[6], [5]]
        assert [
            [each["value"] for each in ask_group(ada, group, "n", of="sum", **period)["points"]]
            for group in (old, new)
        ] == [[1], [5]]
        summarize(world)


def test_what_arrives_after_a_transfer_of_before_it_is_counted_in_the_order_of_time(
    world: World,
) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    old, new = ada.group("old"), ada.group("new")
    ada.invite(bob, new, "viewer")
    ada.invite(eve, old, "viewer")
    device = ada.device(old)
    declare(world, METER)
    at = "2026-02-01T09:{}:00".format
    before = {
        at("01"): {"litres": 10},
        at("05"): {"litres": 30},
        "2026-02-01T11:00:00": {"litres": 70},
    }
    report(ada, device, before)
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": old, "toGroupId": new}))
    # In the same quarter of an hour, and in the same day.
    after = {
        at("03"): {"litres": 20},
        at("07"): {"litres": 40},
        "2026-02-01T10:00:00": {"litres": 60},
    }
    report(ada, device, after)
    report(ada, device, {"2026-02-02T09:00:00": {"litres": 75}})
    period = {"beginDate": "2026-02-01", "endDate": "2026-02-02"}
    for _ in range(2):
        for span, seen in (
            ({"calendarSpan": "day"}, {ada: [60, 5], eve: [60], bob: [40, 15]}),
            ({"timeSpan": 240}, {ada: [10, 20, 20, 10, 5], eve: [0, 20, 40], bob: [0, 20, 20, 15]}),
        ):
            for person, rises in seen.items():
                (found,) = ask(person, device, "litres", **span, **period)["items"]
                assert [each["increase"] for each in found["points"]] == rises, (span, person)
        summarize(world)


@pytest.mark.engine_free
def test_series_are_written_for_spreadsheets_and_charts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, name="=cmd()")
    report(ada, device, {"2026-02-01T09:00:00": {"n": 1}, "2026-02-01T11:00:00": {"n": -2}})
    period = {"timeSpan": 3_600, "beginDate": "2026-02-01", "endDate": "2026-02-01"}
    by_device = {"deviceId": device, "measurement": "n", **period}
    by_group = {"groupId": group, "measurement": "n", **period}
    response = ada.get("/device/series", **by_device, format="csv")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [(row["timestamp"], row["deviceId"], row["min"], row["hasGap"]) for row in rows] == [
        ("2026-02-01T09:00:00.000Z", device, "1.0", ""),
        ("2026-02-01T11:00:00.000Z", device, "-2.0", "true"),
    ]
    response = ada.get("/device/series", **by_device, format="ndjson")
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert lines == ok(ada.get("/device/series", **by_device, format="table"))
    assert [(each["deviceId"], each["last"]) for each in lines] == [(device, 1), (device, -2)]
    table = ok(ada.get("/group/series", **by_group, format="table"))
    assert table == [
        {"timestamp": "2026-02-01T09:00:00.000Z", "value": 1, "devices": 1},
        {"timestamp": "2026-02-01T11:00:00.000Z", "value": -2, "devices": 1},
    ]
    response = ada.get("/group/series", **by_group, format="csv", combine="none")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [(row["deviceName"], row["value"]) for row in rows] == [
        ("'=cmd()", "1.0"),
        ("'=cmd()", "-2.0"),
    ]
    empty = ada.get("/group/series", groupId=ada.group(), measurement="n", format="csv")
    assert empty.text.splitlines() == ["timestamp,value,devices"]
    # As a Parquet file, if the operator has installed it.
    pytest.importorskip("pyarrow", reason="Parquet files need the extra longwire[parquet]")
    tables = importlib.import_module("pyarrow.parquet")
    response = ada.get("/device/series", **by_device, format="parquet")
    assert response.headers["content-type"] == "application/vnd.apache.parquet"
    rows = tables.read_table(io.BytesIO(response.content)).to_pylist()
    assert [(row["timestamp"].hour, row["deviceId"], row["min"], row["count"]) for row in rows] == [
        (9, device, 1.0, 1),
        (11, device, -2.0, 1),
    ]
    assert [row["hasGap"] for row in rows] == [None, True]
    response = ada.get("/group/series", **by_group, format="parquet", combine="none")
    rows = tables.read_table(io.BytesIO(response.content)).to_pylist()
    assert [(row["deviceName"], row["value"]) for row in rows] == [("=cmd()", 1), ("=cmd()", -2)]
    declare(world, {"name": "door", "path": "/data/door", "class": "state"})
    report(
        ada, device, {"2026-02-01T09:00:01": {"door": "open"}, "2026-02-01T10:00:00": {"door": 1}}
    )
    response = ada.get("/device/series", **{**by_device, "measurement": "door"}, format="parquet")
    rows = tables.read_table(io.BytesIO(response.content)).to_pylist()
    assert [row["value"] for row in rows] == ["open", "1"]
    monkeypatch.setattr(extras, "is_installed", lambda extra: False)
    refused(ada.get("/device/series", **by_device, format="parquet"), 400, "format")
    refused(ada.get("/group/series", **by_group, format="parquet"), 400, "format")


@pytest.mark.engine_free
def test_answers_are_made_beside_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    report(ada, ada.device(group), {"2026-02-01T09:00:00": {"n": 1}})
    threads: set[int] = set()

    def note(module: Any, name: str) -> None:
        function = getattr(module, name)

        def run(*args: Any) -> Any:
            threads.add(threading.get_ident())
            return function(*args)

        monkeypatch.setattr(module, name, run)

    note(group_series, "combine")
    note(series_spans, "encode_csv")
    period = {"timeSpan": 3_600, "beginDate": "2026-02-01", "endDate": "2026-02-01"}
    ask_group(ada, group, "n", **period)
    assert ada.get("/group/series", groupId=group, measurement="n", format="csv", **period).text

    async def get_thread() -> int:
        return threading.get_ident()

    assert threads and world._run(get_thread()) not in threads


@pytest.mark.engine_free
def test_what_is_wrong_with_a_request_of_a_group_is_named(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    report(ada, ada.device(group), {"2026-02-01T09:00:00": {"n": 1}})
    for params, fields in (
        ({"measurement": "m"}, ["measurement"]),
        ({"measurement": "n", "of": "increase"}, ["of"]),
        (
            {"measurement": "n", "of": "x", "combine": "y", "percentile": 5},
            ["of", "combine", "percentile"],
        ),
        ({"measurement": "n", "combine": "percentile"}, ["percentile"]),
        ({"measurement": "n", "timeSpan": 1, "beginDate": "2020-01-01"}, ["timeSpan"]),
        (
            {"measurement": "n", "calendarSpan": "hour", "beginDate": "2020-01-01"},
            ["calendarSpan"],
        ),
    ):
        refused(ada.get("/group/series", groupId=group, **params), 400, *fields)


@pytest.mark.engine_free
def test_a_request_says_up_to_when_its_numbers_are_complete(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    report(ada, device, {f"2026-02-{day:02}T09:00:00": {"n": day} for day in range(1, 9)})
    period = {"timeSpan": 86_400, "beginDate": "2026-02-01", "endDate": "2026-02-08"}
    monkeypatch.setattr("longwire.fleet.value_series.RECORDS_MAX", 0)
    body = ask(ada, device, "n", **period)
    assert body["completeUntil"] == "2026-02-01T09:00:00.000Z"
    assert body["items"][0]["points"] == []
    assert len(ask(ada, device, "n", fresh="true", **period)["items"][0]["points"]) == 8
    summarize(world)
    body = ask(ada, device, "n", **period)
    assert len(body["items"][0]["points"]) == 8
    assert body["completeUntil"] > "2026-02-08"


@pytest.mark.engine_free
def test_a_counter_whose_last_number_is_not_read_is_incomplete_from_there_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    declare(world, METER)
    report(ada, device, {"2026-02-01T12:00:00": {"litres": 9}})
    summarize(world)
    report(ada, device, {"2025-11-25T12:00:00": {"litres": 6}})
    period = {"timeSpan": 86_400, "beginDate": "2026-02-01", "endDate": "2026-02-01"}
    monkeypatch.setattr("longwire.fleet.value_series.RECORDS_MAX", 0)
    body = ask(ada, device, "litres", **period)
    assert body["completeUntil"] == "2025-11-25T12:00:00.000Z"
    body = ask(ada, device, "litres", fresh="true", **period)
    assert body["items"][0]["points"][0]["increase"] == 3
    assert body["completeUntil"] > "2026-02-01"

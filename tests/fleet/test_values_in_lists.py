"""Lists of devices that show current values, are filtered by them and sorted by them."""

import csv
import io
import json
import re
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from longwire.fleet.measurement_plans import get_plan
from longwire.store.database import Tx
from longwire.store.fleet import device_search
from tests import plans
from tests.fleet.test_current_values import NOON_S, says, values
from tests.fleet.test_measurements import declare, measurement
from tests.world import Person, World, ok, refused, walk


def find(person: Person, group: str, *where: str, **params: Any) -> list[str]:
    """The names of the devices that are found, walking all pages; `total` must be right."""
    query = {"groupId": group, "where": list(where), **params}
    items = walk(partial(person.get, "/devices"), limit=2, **query)
    assert ok(person.get("/devices", **query))["total"] == len(items)
    assert len({each["deviceId"] for each in items}) == len(items)
    return [each["name"] for each in items]


def fleet(ada: Person, group: str) -> dict[str, str]:
    """Five devices: of three the moisture is known, of two of these the level."""
    devices = {name: ada.device(group, name=name) for name in ("a", "b", "c", "d", "e")}
    says(ada, devices["a"], NOON_S, moisture=30, level=1)
    says(ada, devices["c"], NOON_S + 60, moisture=10.5, level=2)
    says(ada, devices["d"], NOON_S + 120, moisture=20)
    return devices


@pytest.mark.engine_free
def test_chosen_values_are_columns(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    fleet(ada, group)
    for path in ("/devices", "/group/devices"):
        items = ok(ada.get(path, groupId=group, values="moisture, level,nothing"))["items"]
        shown = {each["name"]: each["values"] for each in items}
        at = "2026-03-01T12:0{}:00.000Z".format
        assert shown == {
            "a": {
                "moisture": {"value": 30, "timestamp": at(0)},
                "level": {"value": 1, "timestamp": at(0)},
            },
            "b": {},
            "c": {
                "moisture": {"value": 10.5, "timestamp": at(1)},
                "level": {"value": 2, "timestamp": at(1)},
            },
            "d": {"moisture": {"value": 20, "timestamp": at(2)}},
            "e": {},
        }
        assert all("values" not in each for each in ok(ada.get(path, groupId=group))["items"])


def test_values_are_compared(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    fleet(ada, group)
    for where, names in {
        "moisture<20": "c",
        "moisture <= 20": "cd",
        "moisture>20": "a",
        "moisture>=20.0": "ad",
        "moisture==2e1": "d",
        "moisture!=20": "ac",
        "moisture==null": "be",
        "moisture!=null": "acd",
        "moisture@<2026-03-01T12:01:00Z": "a",
        "moisture@>=2026-03-01T12:01:00Z": "cd",
        "moisture@==null": "be",
        "nothing<1": "",
        "nothing!=1": "",
        "nothing==null": "abcde",
        "moisture==wet": "",
        "moisture!=wet": "acd",
    }.items():
        assert find(ada, group, where) == list(names), where
        assert find(ada, group, where, sort="name", ascending="false") == list(names)[::-1]
    assert find(ada, group, "moisture>5", "moisture<25", "level!=null") == ["c"]
    assert find(ada, group, "moisture>5", q="d") == ["d"]
    found = ok(ada.get("/group/devices", groupId=group, where=["moisture<25", "level==null"]))
    assert [each["name"] for each in found["items"]] == ["d"]


def test_devices_are_sorted_by_a_value_and_those_without_come_last(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    fleet(ada, root)
    below = ada.device(branch, name="f", type="meter")
    says(ada, below, NOON_S, moisture=20)
    ada.device(branch, name="g")
    assert find(ada, root, order="value:moisture") == ["c", "d", "a", "b", "e"]
    assert find(ada, root, order="value:moisture", descending="true") == ["a", "d", "c", "e", "b"]
    tree = partial(find, ada, root, subgroups="true")
    assert tree(order="value:moisture") == ["c", "d", "f", "a", "b", "e", "g"]
    assert tree(order="value:moisture", descending="true") == ["a", "f", "d", "c", "g", "e", "b"]
    assert tree("moisture>10.5", order="value:moisture") == ["d", "f", "a"]
    assert tree("moisture==null", order="value:moisture") == ["b", "e", "g"]
    assert tree(order="value:nothing") == ["a", "b", "c", "d", "e", "f", "g"]
    assert tree(order="value:moisture", type="meter") == ["f"]
    assert tree(order="value:level", seen="never") == ["b", "e", "g"]
    walked = walk(partial(ada.get, "/group/devices"), groupId=root, limit=2, order="value:level")
    assert [each["name"] for each in walked] == ["a", "c", "b", "d", "e"]


@pytest.mark.engine_free
def test_numbers_of_every_size_and_sign_are_in_one_order(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    numbers = [-1e5, -3.5, -3, -1e-9, 0, 1e-300, 0.5, 2.9, 3, 3.0000001, 3.5, 1e299]
    names = "abcdefghijkl"
    for name, number in sorted(zip(names, numbers, strict=True), key=lambda each: str(each[1])):
        says(ada, ada.device(group, name=name), NOON_S, n=number)
    assert find(ada, group, order="value:n") == list(names)
    assert find(ada, group, order="value:n", descending="true") == list(names)[::-1]


def test_words_are_compared_and_sorted_behind_numbers(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    declare(ada, group, measurement("door", **{"class": "state"}))
    for name, state in {"a": "shut", "b": True, "c": "open", "d": 5, "e": False}.items():
        says(ada, ada.device(group, name=name), NOON_S, door=state)
    ada.device(group, name="f")
    assert find(ada, group, "door==open") == find(ada, group, 'door=="open"') == ["c"]
    assert find(ada, group, "door==true") == ["b"]
    assert find(ada, group, "door!=true") == ["a", "c", "d", "e"]
    assert find(ada, group, "door==5") == ["d"]
    # True is stored as 1, and is no number.
    assert find(ada, group, "door==1") == find(ada, group, "door<2") == []
    assert find(ada, group, "door!=1") == ["a", "b", "c", "d", "e"]
    assert find(ada, group, "door>=0") == ["d"]
    assert find(ada, group, order="value:door") == ["e", "b", "d", "c", "a", "f"]
    assert find(ada, group, order="value:door", descending="true") == ["d", "b", "e", "a", "c", "f"]
    items = ok(ada.get("/devices", groupId=group, values="door"))["items"]
    shown = [each["values"].get("door", {}).get("value") for each in items]
    assert shown == ["shut", True, "open", 5, False, None]


def test_a_name_means_what_is_declared_for_each_device(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    in_root, in_branch = partial(ada.device, root), partial(ada.device, branch)
    declare(ada, root, measurement("heat", "/data/t", maximum=50))
    declare(ada, root, measurement("t", "/data/other"), type_name="tracker")
    declare(ada, branch, measurement("heat", "/data/x"))
    for device, data in {
        in_root(name="a"): {"t": 20, "x": 90},
        in_root(name="b"): {"t": 60, "x": 90},  # out of bounds
        in_root(name="c", type="meter"): {"heat": 15, "t": 1},
        in_root(name="d", type="tracker"): {"t": 2, "other": 3, "heat": 70},
        in_branch(name="e"): {"t": 1, "x": 40},
    }.items():
        says(ada, device, NOON_S, **data)
    tree = partial(find, ada, root, subgroups="true")
    assert tree("heat!=null") == ["a", "c", "d", "e"]
    assert tree("heat==null") == ["b"]
    assert tree("heat<45") == ["a", "c", "e"]
    assert tree(order="value:heat") == ["c", "a", "e", "d", "b"]
    assert tree(order="value:t") == ["c", "e", "d", "a", "b"]
    items = ok(ada.get("/devices", groupId=root, subgroups="true", values="heat,t"))["items"]
    shown = {
        each["name"]: {name: value["value"] for name, value in each["values"].items()}
        for each in items
    }
    assert shown == {
        "a": {"heat": 20},
        "b": {},
        "c": {"heat": 15, "t": 1},
        "d": {"heat": 70, "t": 3},
        "e": {"heat": 40, "t": 1},
    }


@pytest.mark.engine_free
def test_every_value_is_found_by_its_one_name(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    declare(ada, group, measurement("level", "/data/other"))
    says(ada, ada.device(group, name="a"), NOON_S, **{"soil.temp": 2, "soil": {"temp": 1}})
    # Each has one of two that are spelled alike, and the group has found both.
    says(
        ada, ada.device(group, name="b"), NOON_S, **{"soil.temp": 3, "CO2 [ppm]": 400, "CO2 ppm": 4}
    )
    says(ada, ada.device(group, name="c"), NOON_S, level=7, telemetry={"rssi": 5})
    shown = {
        "a": {"soil.temp": 1, "soil__temp": 2},
        "b": {"soil__temp": 3, "CO2__ppm": 400, "CO2__ppm__2": 4},
        "c": {"level.found": 7, "telemetry__rssi": 5},
    }
    devices = {
        each["name"]: each["deviceId"] for each in ok(ada.get("/devices", groupId=group))["items"]
    }
    listed = ok(ada.get("/group/measurements", groupId=group))["items"]
    names = {name for some in shown.values() for name in some}
    assert {each["name"] for each in listed if not each["isDeclared"]} == names
    for device, own in shown.items():
        assert values(ada, devices[device]) == own
        columns = ok(ada.get("/devices", groupId=group, values=",".join(sorted(names))))["items"]
        (item,) = [each for each in columns if each["name"] == device]
        assert {name: each["value"] for name, each in item["values"].items()} == own
        for name, number in own.items():
            assert find(ada, group, f"{name}=={number}") == [device]
            period = {"beginDate": "2026-03-01", "endDate": "2026-03-01", "timeSpan": 86_400}
            series = ok(
                ada.get("/device/series", deviceId=devices[device], measurement=name, **period)
            )
            assert [each["sum"] for each in series["items"][0]["points"]] == [number]
    assert find(ada, group, "level==7") == []


@pytest.mark.parametrize("engine", ["postgresql"])
def test_what_another_process_has_found_is_known_by_its_name(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, name="a")
    says(ada, device, NOON_S, n=1)

    def forget(tx: Tx) -> None:
        """As in a process that has cached the plan before another one found something."""
        plan = get_plan(tx, group, "generic")
        plan.found = {}
        plan.add_found([])

    def shown() -> list[Any]:
        items = ok(ada.get("/devices", groupId=group, values="n"))["items"]
        return [each["values"]["n"]["value"] for each in items]

    def summed(path: str, **query: Any) -> list[Any]:
        period = {"beginDate": "2026-03-01", "endDate": "2026-03-01", "timeSpan": 86_400}
        found = ok(ada.get(path, measurement="n", **query, **period))
        points = found.get("points") or found["items"][0]["points"]
        return [each.get("sum", each.get("value")) for each in points]

    for read in (
        shown,
        partial(summed, "/device/series", deviceId=device),
        partial(summed, "/group/series", groupId=group),
    ):
        world.read(forget)
        assert read() == [1]


def test_an_export_has_a_column_for_each_value(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    devices = fleet(ada, group)
    query = {"groupId": group, "values": "moisture,level", "where": ["moisture!=null"]}
    text = ada.get("/devices/export", **query, format="csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = [(each["name"], each["values.moisture"], each["values.level"]) for each in rows]
    assert shown == [("a", "30", "1"), ("c", "10.5", "2"), ("d", "20", "")]
    lines = ada.get("/devices/export", **query, order="value:moisture").text.splitlines()
    items = [json.loads(line) for line in lines]
    assert [each["name"] for each in items] == ["c", "d", "a"]
    assert items[1]["values"] == {
        "moisture": {"value": 20, "timestamp": "2026-03-01T12:02:00.000Z"}
    }
    after = ada.get("/devices/export", **query, after=devices["a"]).text
    assert [json.loads(line)["name"] for line in after.splitlines()] == ["c", "d"]
    wrong = ada.get("/devices/export", **query, after=devices["a"], order="value:moisture")
    refused(wrong, 400, "after")
    header = ada.get("/devices/export", groupId=group, format="csv").text.splitlines()[0]
    assert "values" not in header


@pytest.mark.engine_free
def test_every_wrong_part_is_named_and_values_need_their_permission(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    fleet(ada, group)
    where = ["moisture", "moisture<wet", "moisture<null", "a@<soon", "=5", 'a=="b', "a<1e400"]
    for path in ("/devices", "/group/devices", "/devices/export"):
        refused(
            ada.get(path, groupId=group, where=where, values="a,,b c", order="moisture"),
            400,
            *(f"where[{index}]" for index in range(len(where))),
            *("values", "order"),
        )
        refused(ada.get(path, groupId=group, where=["a<1"] * 11), 400, "where")
        many = ",".join(f"v{index}" for index in range(21))
        refused(ada.get(path, groupId=group, values=many), 400, "values")
        refused(ada.get(path, groupId=group, descending="true"), 400, "descending")
    token = ok(ada.get("/devices", groupId=group, limit=1, order="value:level"))["nextToken"]
    refused(ada.get("/devices", groupId=group, nextToken=token), 400, "nextToken")
    ada.invite(bob, group, ada.role("device.read"))
    for path in ("/devices", "/group/devices", "/devices/export"):
        ok(bob.get("/devices", groupId=group))
        asked: list[dict[str, Any]] = [{"values": "moisture"}, {"where": ["moisture<5"]}]
        for query in [*asked, {"order": "value:moisture"}]:
            refused(bob.get(path, groupId=group, **query), 403)


DOOR = measurement("door", **{"class": "state"})


def test_pages_of_many_devices_are_those_of_few(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What few devices fit is listed by their numbers, what many fit by the conditions."""
    ada = world.person("ada")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    for each in ("generic", "meter"):
        declare(ada, root, DOOR, type_name=each)
    for index in range(12):
        type_name = "meter" if index % 4 == 0 else "generic"
        group = branch if index % 5 == 4 else root
        device = ada.device(group, name=f"n{index:02}", type=type_name)
        if index % 3:
            says(ada, device, NOON_S, level=index % 7, heat=index, door=index % 2 == 0)
    declare(ada, root, measurement("warmth", "/data/heat", maximum=8), DOOR)
    declare(ada, root, measurement("warmth", "/data/level"), DOOR, type_name="meter")
    queries: list[dict[str, Any]] = [
        {"where": ["level>2"]},
        {"where": ["level>2", "door==true"], "order": "value:level"},
        {"where": ["level==null"], "order": "value:level", "descending": "true"},
        {"where": ["level!=null"], "order": "value:nothing"},
        {"where": ["warmth>1"], "order": "value:warmth"},
        {"where": ["warmth>1"], "sort": "name", "ascending": "false"},
        {"type": "generic", "order": "value:warmth", "descending": "true"},
        {"seen": "longer", "order": "value:warmth"},
        {"seen": "longer", "where": ["heat!=5"], "order": "value:level"},
        {"q": "n0", "where": ["heat!=5"], "order": "value:level"},
        {"where": ["door!=null"], "order": "value:door"},
    ]
    everything = [
        {"subgroups": subgroups, **query} for query in queries for subgroups in ("false", "true")
    ]
    few = [find(ada, root, *query.pop("where", ()), **query) for query in map(dict, everything)]
    assert all(few), [query for query, found in zip(everything, few, strict=True) if not found]
    monkeypatch.setattr(device_search, "FEW", 0)
    many = [find(ada, root, *query.pop("where", ()), **query) for query in map(dict, everything)]
    assert many == few


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_list_by_value_reads_the_values_of_its_group_and_no_others(
    world: World, sqlite_template: Path
) -> None:
    ada = world.person("ada")
    group = ada.group()
    fleet(ada, group)
    plans.sqlite_statements.clear()
    find(ada, group, "level<5", order="value:moisture", values="level")
    statements = [each for each in list(plans.sqlite_statements) if "current_value" in each]
    read = [each for each in statements if each.lstrip().startswith("select")]
    assert read
    with closing(sqlite3.connect(sqlite_template / "longwire.db")) as connection:
        for sql in read:
            values = dict.fromkeys(re.findall(r":(\w+)", sql), "[1]")
            steps = connection.execute(f"explain query plan {sql}", values).fetchall()
            of_values = [step for *_, step in steps if re.match(r"(SCAN|SEARCH) (c|w|cur)", step)]
            assert of_values, sql
            by_key = "group_id=? AND key_number=?", "(device_number=?"
            assert all(any(each in step for each in by_key) for step in of_values), of_values

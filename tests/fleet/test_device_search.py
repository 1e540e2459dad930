"""Finding devices: by text and filters, in any order, page by page, in a tree of groups."""

import random
import re
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from longwire.model import Device, DeviceFilter, Scope
from longwire.store.engines import number_ranges
from longwire.store.fleet import device_search
from tests import plans
from tests.world import AdjustableClock, Person, World, ok, refused, walk

HOUR_MS = 3_600_000


def find(person: Person, group: str, **params: Any) -> list[str]:
    """The names of the devices that are found, walking all pages; `total` must be right."""
    first = ok(person.get("/devices", groupId=group, **params))
    items = walk(partial(person.get, "/devices"), groupId=group, limit=2, **params)
    assert first["total"] == len(items), params
    assert first["items"] == items[: len(first["items"])]
    return [item["name"] for item in items]


def now_ms(clock: AdjustableClock) -> int:
    return clock.now() // 1_000


def report_battery(person: Person, group: str, eui: str, percent: float) -> None:
    """A status message of the network."""
    token = ok(person.get("/group", groupId=group))[0]["token"]
    body = {"deviceInfo": {"devEui": eui}, "margin": 10, "batteryLevel": percent}
    headers = {"Authorization": f"Bearer {token}"}
    ok(
        person.request(
            "POST", "/network/chirpstack", json=body, headers=headers, params={"event": "status"}
        )
    )


def test_a_text_finds_name_original_id_tag_and_id_the_best_first(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = partial(ada.device, group, network="vendor")
    device(name="Meter on ab1", originalId="C0FFEE")
    device(name="x", originalId="00AB1")
    device(name="AB1 meter", originalId="D00D", tags=["Roof", "Straße 7"])
    ident = device(name="last", originalId="FFAB12")
    assert find(ada, group, q="ab1") == ["x", "AB1 meter", "Meter on ab1", "last"]
    assert find(ada, group, q="AB1", sort="name", ascending="false")[:2] == ["x", "AB1 meter"]
    for spelled in ("AB1", "0ab1", "0000AB1"):  # leading zeros do not count there
        assert find(ada, group, q=spelled)[0] == "x"
    assert find(ada, group, q="STRASSE") == find(ada, group, q="roof") == ["AB1 meter"]
    assert find(ada, group, q=ident) == find(ada, group, q="b12") == ["last"]
    assert find(ada, group, q="%") == find(ada, group, q="x\ny") == []
    ok(ada.put("/device", {"deviceId": ident, "groupId": group, "name": "Ängel", "tags": ["ab1"]}))
    assert find(ada, group, q="äng") == ["Ängel"]
    assert find(ada, group, q="last") == []


def test_filters_are_all_applied_and_changed_devices_are_found_as_they_are_now(
    world: World,
) -> None:
    ada = world.person("ada")
    group, other = ada.group("home"), ada.group("other")
    one = ada.device(group, name="one", type="tracker", network="press", tags=['a, "b', "c"])
    ada.device(group, name="two", type="tracker", tags=["b", 'a\\"'])
    ada.device(group, name="three", tags=["bc", "B"])
    assert find(ada, group, type="tracker") == ["one", "two"]
    assert find(ada, group, type="tracker", network="press") == ["one"]
    assert find(ada, group, type="tracker", network="press", q="tw") == []
    for tag, names in {"b": ["two"], 'a, "b': ["one"], 'a\\"': ["two"], "a": []}.items():
        assert find(ada, group, tag=tag) == names
    ok(ada.put("/device/type", {"deviceId": one, "groupId": group, "type": "generic"}))
    assert find(ada, group, type="tracker") == ["two"]
    move = {"deviceId": one, "groupId": group, "toGroupId": other}
    ok(ada.put("/device/transfer", move))
    assert find(ada, group, q="one") == [] and find(ada, other, q="one") == ["one"]
    ok(ada.delete("/device", deviceId=one, groupId=other))
    assert find(ada, other) == []


@pytest.mark.slow
def test_devices_are_found_and_sorted_by_when_they_were_seen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    now = now_ms(world.clock)
    hours = {"now": 0.1, "today": 5, "week": 50, "old": 400, "ancient": 9_000_000}
    for name, ago in hours.items():
        ident = ada.device(group, name=name)
        ada.reports(ident, timestamp=now - int(ago * HOUR_MS))
    ada.device(group, name="never")
    quiet = ada.device(group, name="quiet")
    silent = '{"silentAfterSeconds":600}'
    ok(ada.put("/device", {"deviceId": quiet, "groupId": group, "configuration": silent}))
    newest_first = {"sort": "seenAt", "ascending": "false"}
    names = ["now", "today", "week", "old", "ancient"]
    assert find(ada, group, **newest_first) == [*names, "quiet", "never"]
    assert find(ada, group, sort="seenAt") == ["never", "quiet", *reversed(names)]
    monkeypatch.setattr(device_search, "SAMPLED_SHARES", (4, 2))
    monkeypatch.setattr(device_search, "FEW", 1)
    for wanted in ({}, {"type": "generic"}, {"q": "e", "type": "generic"}):
        for limit in (1, 2, 100):
            found = walk(
                partial(ada.get, "/devices"), groupId=group, limit=limit, **wanted, **newest_first
            )
            expected = [name for name in [*names, "quiet", "never"] if wanted.get("q", "") in name]
            assert [item["name"] for item in found] == expected
    assert find(ada, group, sort="seenAt") == ["never", "quiet", *reversed(names)]
    for seen, count in {"hour": 1, "day": 2, "week": 3}.items():
        assert find(ada, group, seen=seen, **newest_first) == names[:count]
    assert find(ada, group, seen="longer", sort="name") == ["ancient", "old"]
    assert find(ada, group, seen="never") == ["never", "quiet"]
    assert find(ada, group, seen="silent") == []
    # The records of a device are one's own: another one's last is not changed by them.
    ada.reports(quiet, timestamp=now)
    assert find(ada, group, seen="hour", q="QUI") == ["quiet"]


def test_devices_are_found_and_sorted_by_the_charge_of_their_battery(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    ada.device(group, name="unknown")
    for index, percent in enumerate((50, 7.5, 100)):
        eui = f"{index:016x}"
        ada.device(group, name=f"{percent}", network="chirpstack", originalId=eui)
        report_battery(ada, group, eui, percent)
    assert find(ada, group, sort="battery") == ["7.5", "50", "100", "unknown"]
    assert find(ada, group, batteryBelow=50, sort="battery") == ["7.5"]
    assert find(ada, group, batteryBelow=100) == ["50", "7.5"]


@pytest.mark.slow
def test_a_tree_is_searched_like_one_group(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every way of reading: of few and of many devices, in parts, and group by group."""
    ada = world.person("ada")
    root = ada.group("root")
    groups = [root, ada.group("a", root), ada.group("b", root), ada.group("empty", root)]
    chance = random.Random(7)
    names = [f"{chance.choice('xyz')} {number:02d}" for number in range(30)]
    for number, name in enumerate(names):
        ident = ada.device(groups[number % 3], name=name)
        if number % 4:
            ada.reports(ident, timestamp=now_ms(world.clock) - number * HOUR_MS)
    stranger = ada.group("stranger")
    ada.device(stranger, name="x 99")

    def check() -> None:
        tree = {"subgroups": "true"}
        assert find(ada, root, **tree, sort="name") == sorted(names)
        assert find(ada, root, **tree, sort="name", ascending="false") == sorted(names)[::-1]
        assert find(ada, root, **tree) == names
        seen = find(ada, root, **tree, sort="seenAt", ascending="false")
        reported = [name for number, name in enumerate(names) if number % 4]
        assert seen[: len(reported)] == reported
        newest_first = {"sort": "seenAt", "ascending": "false"}
        assert find(ada, root, **tree, type="generic", **newest_first) == seen
        assert find(ada, root, **tree, seen="never", sort="name") == sorted(names[::4])
        xs = [name for name in names if name.startswith("x")]
        assert find(ada, root, **tree, type="generic", sort="name") == sorted(names)
        assert find(ada, root, q="x") == [name for name in names[::3] if name in xs]
        for pages in range(1, 4):
            found = walk(partial(ada.get, "/devices"), groupId=root, q="1", limit=pages, **tree)
            begin = [name for name in names if " 1" in name or name.endswith("1")]
            assert sorted(item["name"] for item in found if "1" in item["name"]) == sorted(begin)
            assert len({item["deviceId"] for item in found}) == len(found)

    check()
    monkeypatch.setattr(device_search, "FEW", 1)
    check()
    monkeypatch.setattr(device_search, "FEW_PAGES", 1)
    monkeypatch.setattr(number_ranges, "ROWS_PER_DEVICE_MAX", 0)
    check()
    monkeypatch.setattr(device_search, "STATEMENTS_MAX", 1)
    check()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_filter_is_applied_without_reading_the_rows_of_devices(
    world: World, engine: str, sqlite_template: Path
) -> None:
    """SQLite reads them only for what fits, and states in one run rather than each by an index."""
    ada = world.person("ada")
    group = ada.group()
    ada.device(group)
    plans.sqlite_statements.clear()
    for asked in ({"q": "00ab"}, {"q": "x", "tag": "roof", "type": "generic", "network": "ttn"}):
        ok(ada.get("/devices", groupId=group, **asked))
    by_index = [each for each in list(plans.sqlite_statements) if "ix_device_filter" in each]
    plans.sqlite_statements.clear()
    ok(ada.get("/devices", groupId=group, seen="never"))
    ok(ada.get("/devices", groupId=group, type="generic", sort="seenAt"))
    in_range = [each for each in list(plans.sqlite_statements) if "between :first" in each]
    by_type = [each for each in list(plans.sqlite_statements) if "ix_device_type_group_id" in each]
    assert by_index and in_range and by_type
    with closing(sqlite3.connect(sqlite_template / "longwire.db")) as connection:
        for sql in (*by_index, *in_range, *by_type):
            values = dict.fromkeys(re.findall(r":([a-z_]+)", sql))
            first = connection.execute(f"explain query plan {sql}", values).fetchone()[3]
            if sql in by_index:
                assert "COVERING INDEX ix_device_filter" in first, sql
            elif sql in by_type:
                assert "COVERING INDEX ix_device_type_group_id (type=? AND group_id=?)" in first
            else:
                assert "INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in first, sql


def test_a_text_is_found_by_an_index_first_where_there_are_many_devices(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    for name in ("a pump", "pump 1", "pumps", "door", "the pump", "pump 2"):
        ada.device(group, name=name)
    monkeypatch.setattr(device_search, "COUNTED_MAX", 4)
    page = ok(ada.get("/devices", groupId=group, q="pump"))
    assert [item["name"] for item in page["items"]] == ["pump 1", "pumps", "pump 2"]
    assert (page["total"], page["totalIsMore"]) == (3, True)
    found = walk(partial(ada.get, "/devices"), groupId=group, q="pump", limit=2, sort="name")
    assert [item["name"] for item in found] == ["pump 1", "pump 2", "pumps", "a pump", "the pump"]
    page = ok(ada.get("/devices", groupId=group, q="ump"))
    assert (len(page["items"]), page["total"], page["totalIsMore"]) == (5, 4, True)
    assert ok(ada.get("/devices", groupId=group))["totalIsMore"]

    monkeypatch.setattr(device_search, "EXAMINED_MAX", 5)
    assert ok(ada.get("/devices", groupId=group, sort="name"))["items"]
    refused(ada.get("/devices", groupId=group, q="ump"), 400, "groupId")
    refused(ada.get("/devices", groupId=group, type="generic"), 400, "groupId")


@pytest.mark.engine_free
def test_matching_devices_are_listed_in_steps_of_bounded_work(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", root)
    names = {root: ["a1", "b1", "a2", "b2", "b3"], below: ["b4", "a3"]}
    for group, each in names.items():
        for name in each:
            ada.device(group, name=name)
    scope = Scope("device.read", frozenset(names))
    steps = []
    after = None
    while True:
        step, after = world.read(
            lambda tx, after=after: device_search.list_matching(
                tx, scope, DeviceFilter(q="a"), after, 2
            )
        )
        if after is None:
            break
        steps.append([device.name for device in step])
    assert steps == [["a1"], ["a2"], [], ["a3"]]


@pytest.mark.parametrize("wanted", [DeviceFilter(type="generic"), DeviceFilter(network="vendor")])
@pytest.mark.parametrize("engine", ["sqlite"])
def test_which_of_some_devices_match_is_not_looked_for_among_all_others(
    world: World, sqlite_template: Path, wanted: DeviceFilter
) -> None:
    """SQLite would read all devices of a type or of a network for each step."""
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    scope = Scope("device.read", frozenset([group]))
    plans.sqlite_statements.clear()
    world.read(lambda tx: device_search.list_matching(tx, scope, wanted, None, 2))
    world.read(lambda tx: device_search.list_matching_ids(tx, scope, wanted, [device]))
    statements = [each for each in list(plans.sqlite_statements) if "d.number in" in each]
    assert len(statements) == 3  # two that look for them, and one that reads what they found
    with closing(sqlite3.connect(sqlite_template / "longwire.db")) as connection:
        for sql in statements:
            values = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
            steps = connection.execute(f"explain query plan {sql}", values).fetchall()
            of_devices = [step for *_, step in steps if re.match(r"\w+ d\b", step)]
            assert of_devices == ["SEARCH d USING INTEGER PRIMARY KEY (rowid=?)"]


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_device_that_is_transferred_while_it_is_read_is_left_to_its_new_group(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step would else go on behind it, in that group, and leave out what is between the two."""
    ada = world.person("ada")
    old, new = sorted((ada.group("one"), ada.group("two")), key=int)
    moved = ada.device(old, name="moved")
    ada.device(old, name="stays")
    scope = Scope("device.read", frozenset([old, new]))
    list_by_numbers = device_search.list_by_numbers

    def transfer_and_list(*arguments: Any) -> list[Device]:
        monkeypatch.undo()
        ok(ada.put("/device/transfer", {"deviceId": moved, "groupId": old, "toGroupId": new}))
        return list_by_numbers(*arguments)

    def step(after: tuple[str, int] | None) -> tuple[list[Device], tuple[str, int] | None]:
        wanted = DeviceFilter(type="generic")
        return world.read(lambda tx: device_search.list_matching(tx, scope, wanted, after, 2))

    monkeypatch.setattr(device_search, "list_by_numbers", transfer_and_list)
    found, after = step(None)
    assert [device.name for device in found] == ["stays"]
    found, after = step(after)
    assert [device.name for device in found] == ["moved"]
    assert step(after) == ([], None)


@pytest.mark.engine_free
def test_a_wrong_search_names_every_field(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    wrong = {"q": "", "seen": "soon", "batteryBelow": "101", "sort": "color", "ascending": "up"}
    refused(
        ada.get("/devices", groupId=group, **wrong, limit=0, tag=""), 400, *wrong, "limit", "tag"
    )
    refused(ada.get("/devices"), 400, "groupId")
    page = ok(ada.get("/devices", groupId=group))
    assert page == {"items": [], "total": 0}
    for _ in range(3):
        ada.device(group)
    token = ok(ada.get("/devices", groupId=group, limit=1))["nextToken"]
    refused(ada.get("/devices", groupId=group, nextToken=token, sort="name"), 400, "nextToken")

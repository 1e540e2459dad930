"""The last position of every device, for maps."""

from functools import partial
from typing import Any

import pytest

from longwire.store.engines import number_ranges
from tests.world import Person, World, ok, refused, walk_pages

NOON_S = 1_772_366_400  # 2026-03-01T12:00:00Z
HALF_DAY_S = 43_200


def positions(person: Person, group: str, **params: Any) -> dict[str, list[Any]]:
    """By device id, walking all pages; `total` must be right."""
    list_page = partial(person.get, "/group/positions", groupId=group, limit=2)
    pages = list(walk_pages(list_page, **params))
    items = [item for page in pages for item in page["items"]]
    assert pages[-1]["total"] == len(items) == len({item[0] for item in items})
    return {item[0]: item[1:] for item in items}


def test_the_newest_position_counts_whatever_comes_late_or_without_one(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    van, *others = (ada.device(group) for _ in range(5))
    at = partial(ada.reports, van, "geoloc")
    at(timestamp=NOON_S, lat=51.95, lng=4, radius=80)
    at(timestamp=NOON_S - 60, lat=1, lng=1)
    at(timestamp=NOON_S + 60, radius=5)  # without coordinates
    ada.reports(van, timestamp=NOON_S + 90)
    assert positions(ada, group) == {van: [51.95, 4.0, 80, NOON_S]}
    items = [
        {"deviceId": device, "timestamp": NOON_S + step, "lat": step, "lng": index}
        for index, device in enumerate(others)
        for step in (2, 1)
    ]
    ok(ada.post("/device/geoloc/batch", {"items": items}))
    found = positions(ada, group)
    assert found.pop(van)
    assert found == {device: [2.0, index, None, NOON_S + 2] for index, device in enumerate(others)}
    # One from the future is of now, so that later ones follow it.
    now_s = world.clock.now() // 1_000_000
    at(timestamp="2099-01-01", lat=9, lng=9)
    assert now_s <= positions(ada, group)[van][3] <= now_s + 600
    world.clock.let_pass(seconds=900)
    at(timestamp=now_s + 900, lat=10, lng=10)
    assert positions(ada, group)[van][:2] == [10, 10]
    assert set(positions(ada, group, since=NOON_S + 10)) == {van}


@pytest.mark.parametrize("rows_per_device", [2, 0])
def test_a_box_may_contain_the_180th_meridian(
    world: World, monkeypatch: pytest.MonkeyPatch, rows_per_device: int
) -> None:
    """In the order of the devices, and in that of groups if theirs lie scattered."""
    monkeypatch.setattr(number_ranges, "ROWS_PER_DEVICE_MAX", rows_per_device)
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", root)
    places = {"fiji": (-17, 178), "tonga": (-21, -175), "delft": (52, 4), "date line": (0, 180)}
    named = {}
    for index, (name, (lat, lng)) in enumerate(places.items()):
        device = ada.device((root, below)[index % 2])
        ada.reports(device, "geoloc", lat=lat, lng=lng)
        named[device] = name

    def within(box: str) -> set[str]:
        return {named[each] for each in positions(ada, root, subgroups="true", box=box)}

    assert within("170,-50,-170,-10") == {"fiji", "tonga"}
    assert within("170,-50,180,0") == {"fiji", "date line"}
    assert within("-180,-90,180,90") == set(places)
    assert within("4,52,4,52") == {"delft"}
    assert within("5,0,6,90") == set()
    assert set(positions(ada, root)) == {
        each for each, name in named.items() if name in ("fiji", "delft")
    }
    for wrong in ("1,2,3", "a,b,c,d", "0,1,0,0", "0,0,181,1", "nan,0,1,1", "0,-91,0,0"):
        refused(ada.get("/group/positions", groupId=root, box=wrong), 400, "box")
    wrong_all = {"limit": 20_001, "since": "soon"}
    refused(ada.get("/group/positions", groupId=root, **wrong_all), 400, *wrong_all)


@pytest.mark.engine_free
def test_nobody_sees_a_position_of_before_a_transfer_or_of_deleted_records(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    home, away = ada.group("home"), ada.group("away")
    van = ada.device(home)
    for step in (0, 30, 60):
        ada.reports(van, "geoloc", timestamp=NOON_S + step, lat=step, lng=1)
    ok(ada.delete("/device/geoloc", deviceId=van, timestamp=str(NOON_S + 60)))
    assert positions(ada, home)[van] == [30.0, 1.0, None, NOON_S + 30]
    ok(ada.put("/device/transfer", {"deviceId": van, "groupId": home, "toGroupId": away}))
    assert positions(ada, home) == positions(ada, away) == {}
    ada.reports(van, "geoloc", timestamp=NOON_S + 20, lat=20, lng=1)
    assert positions(ada, away)[van] == [20.0, 1.0, None, NOON_S + 20]
    ok(ada.request("DELETE", "/device/data", json={"deviceId": van}))
    assert positions(ada, away) == {}
    # Both permissions are needed: positions are of records, and they name devices.
    refused(bob.get("/group/positions", groupId=home), 404, "groupId")
    ada.invite(bob, home, ada.role("record.read"))
    refused(bob.get("/group/positions", groupId=home), 403)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_expired_position_is_not_shown(make_world: Any, engine: str) -> None:
    world = make_world(retention_geoloc_days=1)
    ada = world.person("ada")
    group = ada.group()
    now_s = world.clock.now() // 1_000_000
    ada.reports(ada.device(group), "geoloc", timestamp=now_s - HALF_DAY_S, lat=1, lng=1)
    assert len(positions(ada, group)) == 1
    world.clock.let_pass(seconds=HALF_DAY_S + 1)
    ada.token = world.token(ada.client_id, ada.client_secret)
    assert positions(ada, group) == {}

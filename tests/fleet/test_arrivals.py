"""Arrivals of a group: one list of all devices and kinds, bounded by work."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from longwire.fleet import arrivals
from longwire.store.records import arrivals as store_arrivals
from longwire.store.records.arrival_numbers import AFTER_ANY_ARRIVAL, BEFORE_ANY_ARRIVAL
from longwire.store.records.arrivals import ArrivalStep, list_step
from tests.world import World, ok, record_of, refused, walk

Json = dict[str, Any]


def ids_of(items: list[Json]) -> list[str]:
    return [each["id"] for each in items]


def minutes_of(items: list[Json]) -> list[str]:
    return [each["record"]["timestamp"][14:16] for each in items]


def report(world: World, device: str, minute: int, kind: str = "data", **fields: Any) -> None:
    world.operator.reports(device, kind, timestamp=f"2026-03-01T12:{minute:02}:00Z", **fields)


@pytest.mark.engine_free
@pytest.mark.slow
def test_arrivals_are_one_list_of_all_devices_kinds_and_groups(world: World) -> None:
    ada = world.person()
    top = ada.group("top")
    under = [ada.group("under", top) for _ in range(3)]
    devices = [ada.device(group, name=f"of {group}") for group in (top, *under)]
    for minute in range(24):
        kind = ("data", "event", "geoloc", "telemetry")[minute // 6]
        ada.reports(devices[minute % 4], kind, timestamp=f"2026-03-01T12:{59 - minute}:00Z")
    everything = walk(partial(ada.get, "/group/records"), groupId=top, subgroups=True, limit=5)
    assert minutes_of(everything) == [f"{59 - minute}" for minute in reversed(range(24))]
    assert len(set(ids_of(everything))) == 24
    oldest_first = walk(
        partial(ada.get, "/group/records"), groupId=top, subgroups=True, ascending=True, limit=7
    )
    assert oldest_first == everything[::-1]
    assert everything[-1]["deviceName"] == f"of {top}"
    assert everything[-1]["record"] == ada.records(devices[0])[-1]
    assert [each["arrivedAt"] for each in oldest_first] == sorted(
        each["arrivedAt"] for each in oldest_first
    )
    page = ok(ada.get("/group/records", groupId=top))
    assert len(page["items"]) == 6, "of the group itself"
    assert "nextToken" not in page
    # Between two of them, by id and by date.
    ids = ids_of(oldest_first)
    named = {"groupId": top, "subgroups": True, "ascending": True}
    between = ok(ada.get("/group/records", **named, after=ids[3], before=ids[9]))
    assert ids_of(between["items"]) == ids[4:9]
    later = ok(ada.get("/group/records", **named, after=oldest_first[20]["arrivedAt"]))
    assert set(ids[21:]) <= set(ids_of(later["items"])) <= set(ids[18:])
    kinds = ok(ada.get("/group/records", **named, kinds=["event", "geoloc"]))
    assert {each["kind"] for each in kinds["items"]} == {"event", "geoloc"}
    assert ids_of(kinds["items"]) == ids[6:18]
    of_device = ok(ada.get("/group/records", **named, deviceId=devices[1]))
    assert ids_of(of_device["items"]) == ids[1::4]
    assert of_device["lookedAt"] == 24


@pytest.mark.engine_free
def test_a_page_is_bounded_by_what_it_looks_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "LOOKED_AT_MAX", 20)
    monkeypatch.setattr(arrivals, "STEP_ENTRIES_MAX", 7)
    ada = world.person()
    group = ada.group()
    device = ada.device(group, tags=["cold"])
    items = [
        record_of(device, timestamp=1_772_366_400 + n, data=json.dumps({"n": n})) for n in range(50)
    ]
    ok(ada.post("/device/data/batch", {"items": items}))
    page = ok(ada.get("/group/records", groupId=group, filter="message.data.n == 3"))
    assert (page["items"], page["lookedAt"]) == ([], 20)
    found = walk(
        partial(ada.get, "/group/records"),
        groupId=group,
        limit=3,
        filter="message.data.n % 7 == 3 && 'cold' in message.tags",
    )
    assert [json.loads(each["record"]["data"])["n"] for each in found] == list(range(45, 0, -7))
    assert {each["source"] for each in found} == {"batch"}
    looked = ok(ada.get("/group/records", groupId=group, limit=3))
    assert (len(looked["items"]), looked["lookedAt"]) == (3, 3)


@pytest.mark.engine_free
def test_what_is_wrong_is_named_and_what_is_gone_is_not_listed(world: World) -> None:
    ada, eve = world.person(), world.person("eve")
    group, elsewhere = ada.group(), ada.group("elsewhere")
    device, doomed = ada.device(group, name="kept"), ada.device(group)
    report(world, doomed, 1)
    report(world, device, 2)
    report(world, device, 3, "event")
    ok(ada.delete("/device", deviceId=doomed, groupId=group))
    ok(ada.delete("/device/event", deviceId=device, timestamp="2026-03-01T12:03:00Z"))
    named = {"deviceId": device, "groupId": group, "toGroupId": elsewhere}
    ok(ada.put("/device/transfer", named))
    report(world, device, 4)
    (left,) = ok(ada.get("/group/records", groupId=group))["items"]
    assert (minutes_of([left]), left.get("deviceName", "")) == (["02"], "")
    (there,) = ok(ada.get("/group/records", groupId=elsewhere, deviceId=device))["items"]
    assert (minutes_of([there]), there["deviceName"]) == (["04"], "kept")
    # The same for a group or device of somebody else as for one that does not exist.
    for stranger in (eve, ada):
        other = "1" if stranger is ada else group
        refused(stranger.get("/group/records", groupId=other), 404, "groupId")
    home = eve.group("home")
    for unknown in (device, "dev_unknown"):
        refused(eve.get("/group/records", groupId=home, deviceId=unknown), 404, "deviceId")
    wrong: Json = {"groupId": group, "kinds": ["data", "noise"], "limit": 0, "ascending": "up"}
    refused(ada.get("/group/records", **wrong), 400, "kinds[1]", "limit", "ascending")
    refused(ada.get("/group/records", groupId=group, filter="message.("), 400, "filter")
    refused(ada.get("/group/records", groupId=group, before="yesterday"), 400, "before")
    refused(ada.get("/group/records", groupId=group, nextToken="x"), 400, "nextToken")


@pytest.mark.engine_free
def test_a_costly_filter_is_stopped_by_its_budget(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    for minute in range(3):
        report(world, device, minute)
    monkeypatch.setattr(arrivals, "CHARGED_AT_ONCE", 1)
    monkeypatch.setattr(world.app.computing.scans, "_burst_us", 1.0)
    monkeypatch.setattr(world.app.computing.scans, "_us_per_moment", 0.0)
    named = {"groupId": group, "filter": "message.data.n == 3"}
    first = ada.get("/group/records", **named)
    assert ok(first)["lookedAt"] == 1, "what was evaluated before the budget was used up"
    assert refused(ada.get("/group/records", **named), 429)["code"]
    ok(ada.get("/group/records", groupId=group))


@pytest.mark.parametrize("most, share", [(1, 8), (5, 8), (6, 1)])
def test_steps_of_any_size_cover_every_arrival_once(
    world: World, monkeypatch: pytest.MonkeyPatch, most: int, share: int
) -> None:
    monkeypatch.setattr(store_arrivals, "EXTENDED_SHARE", share)
    ada = world.person()
    groups = [ada.group(f"group {n}") for n in range(4)]
    devices = [ada.device(group) for group in groups[:3]]  # the last has nothing
    for minute in range(20):
        report(world, devices[(minute * minute) % 3], minute)
    numbers = [int(each) for each in groups]

    def step_between(after: int, before: int, ascending: bool) -> ArrivalStep:
        return world.read(
            lambda tx: list_step(tx, numbers, after, before, most, ascending=ascending)
        )

    def walk_steps(ascending: bool) -> list[int]:
        after, before = BEFORE_ANY_ARRIVAL, AFTER_ANY_ARRIVAL
        seqs: list[int] = []
        while True:
            step = step_between(after, before, ascending)
            seqs += [each.seq for each in step.arrivals]
            if step.covered_to is None:
                return seqs
            assert len(step.arrivals) <= most
            after, before = (step.covered_to, before) if ascending else (after, step.covered_to)

    seqs = walk_steps(ascending=True)
    assert len(seqs) == 20
    assert seqs == sorted(set(seqs))
    assert walk_steps(ascending=False) == seqs[::-1]


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_group_with_most_of_the_arrivals_is_read_further_than_the_others(world: World) -> None:
    ada = world.person()
    groups = [ada.group(f"group {n}") for n in range(20)]
    for index, group in enumerate(groups):
        device = ada.device(group)
        count = 100 if index == 10 else 3
        items = [record_of(device, timestamp=1_772_366_400 + n) for n in range(count)]
        ok(ada.post("/device/data/batch", {"items": items}))
    numbers = [int(each) for each in groups]
    step = world.read(
        lambda tx: list_step(
            tx, numbers[10:], BEFORE_ANY_ARRIVAL, AFTER_ANY_ARRIVAL, 40, ascending=True
        )
    )
    assert len(step.arrivals) == 40 and {each.row[0] for each in step.arrivals} == {numbers[10]}


@pytest.mark.engine_free
def test_every_way_in_names_itself(make_world: Callable[..., World]) -> None:
    world = make_world()
    ada = world.person()
    group = ada.group()
    device = ada.device(group, network="chirpstack", originalId="0011223344556677")
    ada.reports(device)
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    uplink = {"deviceInfo": {"devEui": "0011223344556677"}, "time": "2026-03-01T12:00:01Z"}
    for counter in (1, 9):  # a gap, about which the service stores an event of its own
        body = {
            **uplink,
            "fCnt": counter,
            "fPort": 2,
            "data": "AQI=",
            "deduplicationId": str(counter),
        }
        headers = {"Authorization": f"Bearer {token}"}
        ok(
            world.nobody.request(
                "POST", "/network/chirpstack", params={"event": "up"}, json=body, headers=headers
            )
        )
    found = ok(ada.get("/group/records", groupId=group, ascending=True))["items"]
    sources = {each["source"] for each in found}
    assert found[0]["source"] == "api"
    assert {"chirpstack", "system"} <= sources

"""Pages are remembered exactly as long as they are true."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from longwire.store import pages as module
from longwire.store.pages import Pages
from longwire.store.records import Bodies
from tests.world import World, ok


def test_a_page_is_used_until_its_device_is_touched() -> None:
    pages = Pages()
    pages.keep(1, "key", "page", 4, as_of=pages.commits)
    pages.touched([2])
    assert pages.find(1, "key") == "page"
    assert pages.find(1, "other key") is None
    pages.touched([1])
    assert pages.find(1, "key") is None


def test_a_page_seen_before_a_commit_and_kept_after_it_is_not_used() -> None:
    pages = Pages()
    began = pages.commits
    pages.touched([1])
    pages.keep(1, "key", "old", 3, as_of=began)
    assert pages.find(1, "key") is None


def test_what_is_kept_and_what_is_known_of_devices_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CHARACTERS_MAX", 10)
    monkeypatch.setattr(module, "DEVICES_MAX", 3)
    pages = Pages()
    for device in range(4):
        pages.keep(device, "key", device, 4, as_of=pages.commits)
    assert [pages.find(device, "key") for device in range(4)] == [None, None, 2, 3]
    pages.touched(range(100, 104))
    assert pages.find(3, "key") is None, "which devices were touched is not known any more"


def test_whoever_looks_after_an_answer_sees_what_was_answered(world: World) -> None:
    """Many write to one device and read it back at once; nobody ever misses their own record."""
    ada = world.person("ada")
    device = ada.device(ada.group())

    def write_and_look(number: int) -> bool:
        written = ada.reports(device, timestamp=1_700_000_000 + number)
        found = ok(ada.get("/device/data", deviceId=device, limit=100))["items"]
        return written in found

    numbers = random.Random(7).sample(range(100), 60)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write_and_look, numbers))
    before = ok(ada.get("/device/data", deviceId=device, limit=100))["items"]
    ok(ada.put("/device/data", deviceId=device, timestamp=before[0]["timestamp"]))
    assert ok(ada.get("/device/data", deviceId=device, limit=100))["items"] == before[1:]


def test_a_second_look_is_answered_from_memory_on_the_embedded_database_alone(
    world: World,
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)
    first = ok(ada.get("/device/data", deviceId=device))
    pages = world.database.tools.memory.pages
    if world.database.engine_name != "sqlite":
        assert not pages._kept, "other processes may write there, so nothing is remembered"
        return
    [(place, (as_of, characters, _))] = pages._kept.items()
    pages._kept[place] = (as_of, characters, Bodies("1,2,3"))  # only memory can say this
    assert ok(ada.get("/device/data", deviceId=device)) == {"items": [1, 2, 3]}
    ada.reports(device, timestamp=1_700_000_000)
    assert len(ok(ada.get("/device/data", deviceId=device))["items"]) == len(first["items"]) + 1

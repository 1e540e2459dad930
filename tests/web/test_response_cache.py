"""Responses are served from the cache exactly as long as they are valid."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.clock import DAY, MINUTE
from longwire.dates import format_date
from longwire.model import SYSTEM
from longwire.store import schema
from longwire.store.cache import cache as cache_module
from longwire.store.cache.cache import Caches, TransactionCache
from longwire.store.database import Tx, Work
from longwire.web import request_handler
from longwire.web import response_cache as module
from longwire.web.response_cache import CacheKey
from tests.waiting import eventually
from tests.world import KINDS, NOON, Person, World, ok, refused

FOREVER = 2**63 - 1


QUERY = b"deviceId=1"
KEY: CacheKey = (SYSTEM, "/device/data", QUERY)


class Response:
    """A cache with one response, and a transaction that has only begun."""

    def __init__(self) -> None:
        self.caches = Caches()
        self.cache = module.ResponseCache(self.caches)

    def begin(self) -> Any:
        return SimpleNamespace(
            is_postgres=False,
            is_write=False,
            cache=TransactionCache(self.caches, is_write=False),
        )

    def put(
        self, body: bytes = b"page", *, device: int = 1, tx: Any = None, until: int = FOREVER
    ) -> None:
        self.cache.put(tx or self.begin(), KEY, body, device_number=device, valid_until=until)

    def get(self, now: int = 0) -> bytes | None:
        found = self.cache.get(KEY, now)
        return None if found is None else found.body


# --- the cache by itself ---


def test_a_response_is_served_until_its_device_changes() -> None:
    response = Response()
    response.put()
    response.caches.device_changes.add([2])
    assert response.get() == b"page"
    assert response.cache.get((SYSTEM, "/device/data", b"deviceId=2"), 0) is None
    response.caches.device_changes.add([1])
    assert response.get() is None
    response.put(b"new page")
    assert response.get() == b"new page"


def test_a_response_read_before_a_commit_and_put_after_it_is_not_served() -> None:
    response = Response()
    before = response.begin()
    response.caches.device_changes.add([1])
    response.put(b"old", tx=before)
    assert response.get() is None


def test_a_response_is_served_until_one_of_its_records_expires() -> None:
    response = Response()
    response.put(until=1_000)
    assert response.get(now=1_000) == b"page"
    assert response.get(now=1_001) is None


def test_a_response_is_served_while_the_auth_cache_is_unchanged_and_trusted() -> None:
    response = Response()
    response.caches.auth.observe_epoch(7, -1)
    before = response.begin()
    response.put(tx=before)
    response.caches.auth.observe_epoch(7, 7)
    assert response.get() == b"page"
    response.caches.distrust()
    assert response.get() is None
    response.caches.auth.observe_epoch(7, 7)
    assert response.get() is None, "nobody knows what changed meanwhile"
    response.put()
    assert response.get() == b"page"
    response.caches.auth.clear()
    assert response.get() is None
    response.put(tx=before)
    assert response.get() is None, "a transaction that began before must not bring it back"


def test_a_changed_configuration_evicts_no_response() -> None:
    response = Response()
    response.put()
    response.caches.config.invalidate(["7"])
    response.caches.config.clear()
    assert response.get() == b"page"


def test_records_changed_by_another_process_evict_every_response() -> None:
    response = Response()
    response.caches.device_changes.observe_epoch(3)
    response.put()
    response.caches.device_changes.observe_epoch(3)
    assert response.get() == b"page"
    response.caches.device_changes.observe_epoch(4)
    assert response.get() is None


def test_responses_and_tracked_devices_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    size = module.ENTRY_OVERHEAD_BYTES + 4 + 1 + 3  # a body, room for it compressed, a query
    monkeypatch.setattr(module, "BYTES_MAX", 2 * size)
    monkeypatch.setattr(cache_module, "TRACKED_MAX", 3)
    response = Response()

    def put(query: bytes, device: int, body: bytes) -> None:
        key = (SYSTEM, "/", query)
        response.cache.put(response.begin(), key, body, device_number=device, valid_until=FOREVER)

    def get(query: bytes) -> bytes | None:
        found = response.cache.get((SYSTEM, "/", query), 0)
        return None if found is None else found.body

    for device in range(4):
        put(b"%03d" % device, device, b"%04d" % device)
    assert [get(b"%03d" % device) for device in range(4)] == [None, None, b"0002", b"0003"]
    put(b"003", 3, b"once")
    assert get(b"002") == b"0002", "put twice it counts once"
    put(b"l" * (3 + size), 4, b"page")
    assert get(b"002") is get(b"003") is None, "a key needs space as well"
    response.caches.device_changes.add(range(100, 104))
    assert get(b"l" * (3 + size)) is None, "single changes are not tracked any more"


# --- in a service ---


@contextmanager
def recorded_reads(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Work[Any]]]:
    """The reads of the request handler inside the block, without those of other tasks."""
    works: list[Work[Any]] = []
    read = world.database.read

    async def recording_read(work: Work[Any]) -> Any:
        if work.__module__ == request_handler.__name__:
            works.append(work)
        return await read(work)

    with monkeypatch.context() as patch:
        patch.setattr(world.database, "read", recording_read)
        yield works


def caches_responses(world: World) -> bool:
    """Other processes may write to PostgreSQL, so nothing is cached there."""
    return world.database.engine_name == "sqlite"


def listed_data(person: Person, device: str, kind: str = "data", **params: Any) -> list[str]:
    """The data of a page at its second request, so from the cache where there is one."""
    path = f"/device/{kind}"
    first = ok(person.get(path, deviceId=device, **params))
    second = ok(person.get(path, deviceId=device, **params))
    assert second["items"] == first["items"]
    return [record["data"] for record in second["items"]]


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_repeated_request_does_not_read_the_database_of_a_single_process(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    device, other = ada.device(group), ada.device(group)
    for kind in KINDS:
        for number in range(3):
            ada.reports(device, kind, timestamp=1_700_000_000 + number, data=f"{kind} {number}")
    query = {"deviceId": device, "limit": 2, "beginDate": "2020-01-01"}
    world.observe_own_changes()
    first = {kind: ada.get(f"/device/{kind}", **query) for kind in KINDS}
    with recorded_reads(world, monkeypatch) as reads:
        for kind in KINDS:
            second = ada.get(f"/device/{kind}", **query)
            if caches_responses(world):
                assert second.content == first[kind].content
            assert ok(second)["items"] == ok(first[kind])["items"]
            assert [each["data"] for each in ok(second)["items"]] == [f"{kind} 0", f"{kind} 1"]
        assert len(reads) == (0 if caches_responses(world) else len(KINDS))

        # Every difference in the request makes another key.
        reads.clear()
        for person, path, params in (
            (bob, "/device/data", query),
            (ada, "/device/data", {**query, "limit": 1}),
            (ada, "/device/data", {**query, "ascending": "false"}),
            (ada, "/device/data", {**query, "endDate": "2030-01-01"}),
            (ada, "/device/data", {**query, "nextToken": ok(first["data"])["nextToken"]}),
            (ada, "/device/data", {**query, "deviceId": other}),
        ):
            before = len(reads)
            ok(person.get(path, **params))
            assert len(reads) > before, params
    # Each user gets their own nextToken.
    for person in (ada, bob, ada):
        token = ok(person.get("/device/data", **query))["nextToken"]
        rest = ok(person.get("/device/data", **query, nextToken=token))
        assert [each["data"] for each in rest["items"]] == ["data 2"]
    mine = ok(ada.get("/device/data", **query))["nextToken"]
    refused(bob.get("/device/data", **query, nextToken=mine), 400, "nextToken")


def test_a_cached_response_is_served_only_to_those_who_may_see_it(world: World) -> None:
    ada, stranger = world.person("ada"), world.person("stranger")
    device = ada.device(ada.group())
    ada.reports(device, data="secret")
    assert listed_data(ada, device) == ["secret"]
    refused(world.nobody.get("/device/data", deviceId=device), 401)
    refused(stranger.get("/device/data", deviceId=device), 404, "deviceId")
    world.clock.let_pass(days=365)
    refused(ada.get("/device/data", deviceId=device), 401)


@pytest.mark.slow
def test_a_page_is_read_again_after_its_device_changed(world: World) -> None:
    ada, old, new = world.person("ada"), world.person("old"), world.person("new")
    source, target = ada.group("source"), ada.group("target")
    ada.invite(old, source, "manager")
    ada.invite(new, target, "manager")
    device, neighbour = ada.device(source), ada.device(source)

    def move(group: str, to: str) -> None:
        ok(ada.put("/device/transfer", {"deviceId": device, "groupId": group, "toGroupId": to}))

    for kind in KINDS:
        assert listed_data(ada, device, kind) == []
        ada.reports(device, kind, data="one")
        assert listed_data(ada, device, kind) == listed_data(old, device, kind) == ["one"]
        assert listed_data(ada, neighbour, kind) == []
        item = {**ada.reports(neighbour, kind, data="neighbour"), "deviceId": device}
        ok(ada.post(f"/device/{kind}/batch", {"items": [{**item, "data": "two"}]}))
        assert listed_data(ada, device, kind) == listed_data(old, device, kind) == ["one", "two"]
        assert listed_data(ada, neighbour, kind) == ["neighbour"]
        refused(new.get(f"/device/{kind}", deviceId=device), 404, "deviceId")

    move(source, target)
    for kind in KINDS:
        assert listed_data(ada, device, kind) == listed_data(old, device, kind) == ["one", "two"]
        assert listed_data(new, device, kind) == []
        new.reports(device, kind, timestamp="2026-03-02", data="three")
        assert listed_data(ada, device, kind) == ["one", "two", "three"]
        assert listed_data(new, device, kind) == ["three"]
        assert listed_data(old, device, kind) == ["one", "two"]

    assert listed_data(ada, device) == ["one", "two", "three"]
    assert listed_data(old, device) == ["one", "two"]
    ok(old.put("/device/data", deviceId=device, timestamp=NOON))
    assert listed_data(ada, device) == ["three"]
    assert listed_data(old, device) == []
    ok(old.request("DELETE", "/device/data", json={"deviceId": device}))
    for kind in KINDS:
        assert listed_data(ada, device, kind) == listed_data(new, device, kind) == ["three"]
        refused(old.get(f"/device/{kind}", deviceId=device), 404, "deviceId")
    ok(new.request("DELETE", "/device/data", json={"deviceId": device}))
    for kind in KINDS:
        assert listed_data(ada, device, kind) == listed_data(new, device, kind) == []

    new.reports(device, data="four")
    assert listed_data(ada, device) == ["four"]
    ok(ada.delete("/device", deviceId=device, groupId=target))
    for person in (ada, new):
        refused(person.get("/device/data", deviceId=device), 404, "deviceId")
    assert listed_data(ada, neighbour) == ["neighbour"]


def test_a_cached_page_is_refused_as_soon_as_permission_is_revoked(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    group = ada.group("below", parent=root)
    device = ada.device(group)
    ada.reports(device, data="stored")
    query = {"deviceId": device}

    def assert_revoked(revoke: Callable[[], Any], status: int) -> None:
        assert listed_data(bob, device) == ["stored"]
        ok(revoke())
        assert bob.get("/device/data", **query).status_code == status
        assert listed_data(ada, device) == ["stored"], "her permission is unchanged"

    ada.invite(bob, root, "viewer")
    assert_revoked(lambda: ada.delete("/group/user", groupId=root, userId=bob.id), 404)

    ada.invite(bob, group, "viewer")
    role = ada.role("device.read", name="no records")
    change = {"userId": bob.id, "groupId": group, "roleId": role}
    assert_revoked(lambda: ada.put("/group/user", change), 403)

    ada.invite(bob, root, "viewer")
    away = {"groupId": group, "parent": ""}
    assert_revoked(lambda: ada.put("/group", away), 403)


def test_a_page_is_cached_until_one_of_its_records_expires(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(retention_data_days=1)
    ada = world.person("ada")
    device, now = ada.device(ada.group()), world.clock.now()
    for minutes, text in ((10, "ten minutes left"), (30, "half an hour left")):
        ada.reports(device, timestamp=format_date(now - DAY + minutes * MINUTE), data=text)

    newest = {"deviceId": device, "ascending": "false", "limit": 1}

    def fetch() -> tuple[list[str], list[str], bool]:
        page = ok(ada.get("/device/data", **newest))
        return (
            listed_data(ada, device),
            [record["data"] for record in page["items"]],
            "nextToken" in page,
        )

    both = (["ten minutes left", "half an hour left"], ["half an hour left"], True)
    world.observe_own_changes()
    assert fetch() == both
    world.clock.let_pass(seconds=5 * 60)
    with recorded_reads(world, monkeypatch) as reads:
        assert fetch() == both
        assert bool(reads) != caches_responses(world), "nothing has expired yet"
    world.clock.let_pass(seconds=10 * 60)
    assert fetch() == (["half an hour left"], ["half an hour left"], False)
    world.clock.let_pass(seconds=20 * 60)
    assert fetch() == ([], [], False)

    def is_cached() -> bool:
        with recorded_reads(world, monkeypatch) as reads:
            assert fetch() == ([], [], False)
            return not reads

    # Nothing is left to expire; the expired records are deleted meanwhile, which clears the cache.
    if caches_responses(world):
        eventually(is_cached)
    else:
        assert not is_cached()


@pytest.mark.slow
def test_a_read_after_a_write_sees_the_written_record(world: World) -> None:
    """Concurrent clients write to one device and read it back; each sees its own record."""
    ada = world.person("ada")
    device = ada.device(ada.group())

    def write_and_read(number: int) -> bool:
        written = ada.reports(device, timestamp=1_700_000_000 + number)
        found = ok(ada.get("/device/data", deviceId=device, limit=100))["items"]
        return written in found

    numbers = random.Random(7).sample(range(100), 60)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write_and_read, numbers))
    before = ok(ada.get("/device/data", deviceId=device, limit=100))["items"]
    ok(ada.put("/device/data", deviceId=device, timestamp=before[0]["timestamp"]))
    assert ok(ada.get("/device/data", deviceId=device, limit=100))["items"] == before[1:]


def test_a_reader_that_began_before_a_commit_caches_nothing_stale(world: World) -> None:
    """The reader's snapshot is older than the commit, so its page is stale."""
    ada = world.person("ada")
    device = ada.device(ada.group())
    began, stored = threading.Event(), threading.Event()
    cache = world.app._request_handler._response_cache

    def put(tx: Tx, body: bytes) -> None:
        number = tx.rows(sa.select(schema.device.c.number).where(schema.device.c.id == device))
        cache.put(tx, KEY, body, device_number=number[0][0], valid_until=FOREVER)

    def slow_reader(tx: Tx) -> None:
        tx.rows(sa.select(schema.instance))
        began.set()
        assert stored.wait(60)
        put(tx, b"nothing stored")

    reading = threading.Thread(target=world.read, args=(slow_reader,))
    reading.start()
    assert began.wait(60)
    ada.reports(device)
    stored.set()
    reading.join(120)
    assert cache.get(KEY, 0) is None
    world.observe_own_changes()
    world.read(lambda tx: put(tx, b"one record stored"))
    found = cache.get(KEY, 0)
    assert (found is not None) == caches_responses(world)
    assert found is None or found.body == b"one record stored"
    world.write(lambda tx: put(tx, b"not yet committed"))
    assert cache.get(KEY, 0) is found

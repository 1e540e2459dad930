"""Pages that were answered are answered again, exactly as long as they are true."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.clock import DAY, MINUTE
from longwire.dates import date_text
from longwire.model import SYSTEM
from longwire.store import response_cache as module
from longwire.store import schema
from longwire.store.cache import Memory
from longwire.store.database import Question, Tx, Work
from longwire.store.response_cache import Page, Pages
from longwire.web import request_handler
from tests.world import KINDS, NOON, Person, World, ok, refused

FOREVER = 2**63 - 1


def page_of(device: int, answer: bytes = b"page", **fields: Any) -> Page:
    resting: dict[str, Any] = {"until": FOREVER, "generation": 0, "as_of": 0, **fields}
    return Page(answer, device, **resting)


def find(pages: Pages, question: str, *, generation: int = 0, now: int = 0) -> bytes | None:
    return pages.find(question, generation=generation, now=now)


# --- the pages alone ---


def test_a_page_is_used_until_its_device_is_touched() -> None:
    pages = Pages()
    pages.keep("question", page_of(1, as_of=pages.commits), 8)
    pages.touched([2])
    assert find(pages, "question") == b"page"
    assert find(pages, "another question") is None
    pages.touched([1])
    assert find(pages, "question") is None
    pages.keep("question", page_of(1, b"new page", as_of=pages.commits), 8)
    assert find(pages, "question") == b"new page"


def test_a_page_seen_before_a_commit_and_kept_after_it_is_not_used() -> None:
    pages = Pages()
    began = pages.commits
    pages.touched([1])
    pages.keep("question", page_of(1, b"old", as_of=began), 8)
    assert find(pages, "question") is None


def test_a_page_is_used_until_some_of_it_is_past_its_time() -> None:
    pages = Pages()
    pages.keep("question", page_of(1, until=1_000), 8)
    assert find(pages, "question", now=1_000) == b"page"
    assert find(pages, "question", now=1_001) is None


def test_a_page_is_used_while_the_rights_it_was_given_by_are_remembered_and_trusted() -> None:
    memory = Memory()
    began = memory.generation
    memory.pages.keep("question", page_of(1, generation=began), 8)
    assert memory.answer("question", 0) == b"page"
    memory.distrust()
    assert memory.answer("question", 0) is None
    memory.saw_epoch(memory.epoch)
    assert memory.answer("question", 0) == b"page"
    memory.forget()
    assert memory.answer("question", 0) is None
    memory.pages.keep("question", page_of(1, generation=began), 8)
    assert memory.answer("question", 0) is None, "whoever began before must not bring it back"


def test_what_is_kept_and_what_is_known_of_devices_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = module.BYTES_BESIDE + 4 + 3
    monkeypatch.setattr(module, "BYTES_MAX", 2 * size)
    monkeypatch.setattr(module, "DEVICES_MAX", 3)
    pages = Pages()
    for device in range(4):
        pages.keep(str(device), page_of(device, b"%04d" % device), 3)
    assert [find(pages, str(device)) for device in range(4)] == [None, None, b"0002", b"0003"]
    pages.keep("3", page_of(3, b"once"), 3)
    assert find(pages, "2") == b"0002", "kept twice it counts once"
    pages.keep("long", page_of(4), 3 + size)
    assert find(pages, "2") is find(pages, "3") is None, "a question takes room as well"
    pages.touched(range(100, 104))
    assert find(pages, "long") is None, "which devices were touched is not known any more"


# --- with a service around them ---


@contextmanager
def watched(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Work[Any]]]:
    """What the door asks the database for meanwhile; the service watches a few things besides."""
    asked: list[Work[Any]] = []
    read = world.database.read

    async def watching(work: Work[Any]) -> Any:
        if work.__module__ == request_handler.__name__:
            asked.append(work)
        return await read(work)

    with monkeypatch.context() as patch:
        patch.setattr(world.database, "read", watching)
        yield asked


def remembers(world: World) -> bool:
    """Other processes may write to PostgreSQL, so nothing is remembered there."""
    return world.database.engine_name == "sqlite"


def words(person: Person, device: str, kind: str = "data", **params: Any) -> list[str]:
    """What is said on a page that was looked at before, if only an instant ago."""
    path = f"/device/{kind}"
    first = ok(person.get(path, deviceId=device, **params))
    again = ok(person.get(path, deviceId=device, **params))
    assert again["items"] == first["items"]
    return [record["data"] for record in again["items"]]


def test_a_second_look_is_answered_without_the_database_where_nobody_else_writes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    device, other = ada.device(group), ada.device(group)
    for kind in KINDS:
        for number in range(3):
            ada.reports(device, kind, timestamp=1_700_000_000 + number, data=f"{kind} {number}")
    asked = {"deviceId": device, "limit": 2, "beginDate": "2020-01-01"}
    first = {kind: ada.get(f"/device/{kind}", **asked) for kind in KINDS}
    with watched(world, monkeypatch) as looks:
        for kind in KINDS:
            again = ada.get(f"/device/{kind}", **asked)
            if remembers(world):
                assert again.content == first[kind].content
            assert ok(again)["items"] == ok(first[kind])["items"]
            assert [each["data"] for each in ok(again)["items"]] == [f"{kind} 0", f"{kind} 1"]
        assert len(looks) == (0 if remembers(world) else len(KINDS))

        # Whatever is different about the question is another question.
        looks.clear()
        for person, path, params in (
            (bob, "/device/data", asked),
            (ada, "/device/data", {**asked, "limit": 1}),
            (ada, "/device/data", {**asked, "ascending": "false"}),
            (ada, "/device/data", {**asked, "endDate": "2030-01-01"}),
            (ada, "/device/data", {**asked, "nextToken": ok(first["data"])["nextToken"]}),
            (ada, "/device/data", {**asked, "deviceId": other}),
        ):
            before = len(looks)
            ok(person.get(path, **params))
            assert len(looks) > before, params
    # Each gets a nextToken of their own.
    for person in (ada, bob, ada):
        token = ok(person.get("/device/data", **asked))["nextToken"]
        rest = ok(person.get("/device/data", **asked, nextToken=token))
        assert [each["data"] for each in rest["items"]] == ["data 2"]
    mine = ok(ada.get("/device/data", **asked))["nextToken"]
    refused(bob.get("/device/data", **asked, nextToken=mine), 400, "nextToken")


def test_what_is_remembered_is_for_those_who_may_see_it_and_for_nobody_else(world: World) -> None:
    ada, stranger = world.person("ada"), world.person("stranger")
    device = ada.device(ada.group())
    ada.reports(device, data="secret")
    assert words(ada, device) == ["secret"]
    refused(world.nobody.get("/device/data", deviceId=device), 401)
    refused(stranger.get("/device/data", deviceId=device), 404, "deviceId")
    world.clock.let_pass(days=365)
    refused(ada.get("/device/data", deviceId=device), 401)


def test_a_page_is_answered_anew_after_its_device_spoke_moved_or_went(world: World) -> None:
    ada, old, new = world.person("ada"), world.person("old"), world.person("new")
    source, target = ada.group("source"), ada.group("target")
    ada.invite(old, source, "manager")
    ada.invite(new, target, "manager")
    device, neighbour = ada.device(source), ada.device(source)

    def move(group: str, to: str) -> None:
        ok(ada.put("/device/transfer", {"deviceId": device, "groupId": group, "toGroupId": to}))

    for kind in KINDS:
        assert words(ada, device, kind) == []
        ada.reports(device, kind, data="one")
        assert words(ada, device, kind) == words(old, device, kind) == ["one"]
        assert words(ada, neighbour, kind) == []
        item = {**ada.reports(neighbour, kind, data="next door"), "deviceId": device}
        ok(ada.post(f"/device/{kind}/batch", {"items": [{**item, "data": "two"}]}))
        assert words(ada, device, kind) == words(old, device, kind) == ["one", "two"]
        assert words(ada, neighbour, kind) == ["next door"]
        refused(new.get(f"/device/{kind}", deviceId=device), 404, "deviceId")

    move(source, target)
    for kind in KINDS:
        assert words(ada, device, kind) == words(old, device, kind) == ["one", "two"]
        assert words(new, device, kind) == []
        new.reports(device, kind, timestamp="2026-03-02", data="three")
        assert words(ada, device, kind) == ["one", "two", "three"]
        assert words(new, device, kind) == ["three"]
        assert words(old, device, kind) == ["one", "two"]

    assert words(ada, device) == ["one", "two", "three"]
    assert words(old, device) == ["one", "two"]
    ok(old.put("/device/data", deviceId=device, timestamp=NOON))
    assert words(ada, device) == ["three"]
    assert words(old, device) == []
    ok(old.request("DELETE", "/device/data", json={"deviceId": device}))
    for kind in KINDS:
        assert words(ada, device, kind) == words(new, device, kind) == ["three"]
        refused(old.get(f"/device/{kind}", deviceId=device), 404, "deviceId")
    ok(new.request("DELETE", "/device/data", json={"deviceId": device}))
    for kind in KINDS:
        assert words(ada, device, kind) == words(new, device, kind) == []

    new.reports(device, data="four")
    assert words(ada, device) == ["four"]
    ok(ada.delete("/device", deviceId=device, groupId=target))
    for person in (ada, new):
        refused(person.get("/device/data", deviceId=device), 404, "deviceId")
    assert words(ada, neighbour) == ["next door"]


def test_a_page_is_refused_as_soon_as_the_right_to_it_is_taken_away(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    group = ada.group("below", parent=root)
    device = ada.device(group)
    ada.reports(device, data="said")
    look = {"deviceId": device}

    def is_taken_away(take: Callable[[], Any], status: int) -> None:
        assert words(bob, device) == ["said"]
        ok(take())
        assert bob.get("/device/data", **look).status_code == status
        assert words(ada, device) == ["said"], "it is still hers"

    ada.invite(bob, root, "viewer")
    is_taken_away(lambda: ada.delete("/group/user", groupId=root, userId=bob.id), 404)

    ada.invite(bob, group, "viewer")
    role = ada.role("device.read", name="no records")
    change = {"userId": bob.id, "groupId": group, "roleId": role}
    is_taken_away(lambda: ada.put("/group/user", change), 403)

    ada.invite(bob, root, "viewer")
    away = {"groupId": group, "parent": ""}
    is_taken_away(lambda: ada.put("/group", away), 403)


def test_a_page_is_remembered_until_one_of_its_records_is_past_its_time(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(retention_data_days=1)
    ada = world.person("ada")
    device, now = ada.device(ada.group()), world.clock.now()
    for minutes, said in ((10, "ten minutes left"), (30, "half an hour left")):
        ada.reports(device, timestamp=date_text(now - DAY + minutes * MINUTE), data=said)

    newest = {"deviceId": device, "ascending": "false", "limit": 1}

    def look() -> tuple[list[str], list[str], bool]:
        page = ok(ada.get("/device/data", **newest))
        return (
            words(ada, device),
            [record["data"] for record in page["items"]],
            "nextToken" in page,
        )

    both = (["ten minutes left", "half an hour left"], ["half an hour left"], True)
    assert look() == both
    world.clock.let_pass(seconds=5 * 60)
    with watched(world, monkeypatch) as looks:
        assert look() == both
        assert bool(looks) != remembers(world), "nothing has gone yet"
    world.clock.let_pass(seconds=10 * 60)
    assert look() == (["half an hour left"], ["half an hour left"], False)
    world.clock.let_pass(seconds=20 * 60)
    assert look() == ([], [], False)
    with watched(world, monkeypatch) as looks:
        assert look() == ([], [], False)
        assert bool(looks) != remembers(world), "and nothing more comes of waiting"


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


def test_a_reader_that_began_before_a_record_came_leaves_nothing_old_behind(world: World) -> None:
    """The reader has looked at the database, so it sees it as it was, also after the commit."""
    ada = world.person("ada")
    device = ada.device(ada.group())
    began, spoken = threading.Event(), threading.Event()
    question: Question = (SYSTEM, "/device/data", b"")

    def remember(tx: Tx, answer: bytes) -> None:
        number = tx.rows(sa.select(schema.device.c.number).where(schema.device.c.id == device))
        tx.remember(question, answer, device_number=number[0][0], until=FOREVER)

    def slow_reader(tx: Tx) -> None:
        tx.rows(sa.select(schema.instance))
        began.set()
        assert spoken.wait(10)
        remember(tx, b"nothing was said")

    memory = world.database.context.memory
    reading = threading.Thread(target=world.read, args=(slow_reader,))
    reading.start()
    assert began.wait(10)
    ada.reports(device)
    spoken.set()
    reading.join(10)
    assert memory.answer(question, 0) is None
    world.read(lambda tx: remember(tx, b"something was said"))
    assert memory.answer(question, 0) == (b"something was said" if remembers(world) else None)
    world.write(lambda tx: remember(tx, b"not yet committed"))
    assert memory.answer(question, 0) != b"not yet committed"

"""Records: what devices said, stored once, read in order, seen by the group it was said in."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.clock import DAY, HOUR, MILLISECOND, SECOND, Moment
from longwire.dates import format_date
from longwire.settings import Settings
from longwire.store.records.record_deletion import delete_erased
from tests.world import (
    KINDS,
    NOON,
    AdjustableClock,
    Person,
    World,
    copy_data_folder,
    nothing_happens,
    ok,
    record_of,
    refused,
)

BATCH_MAX = 5_000


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lasting_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """One service for every test that needs no more of it than people and devices of its own."""
    folder = tmp_path_factory.mktemp("lasting") / "data"
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        world = World(Settings(data=copy_data_folder(template, folder)), AdjustableClock())
        yield world
        world.stop()
        return
    server = request.getfixturevalue("postgres")
    prepared, template_name = request.getfixturevalue("postgres_template")
    name = server.create(template_name)
    settings = Settings(
        data=copy_data_folder(prepared, folder), database=server.url(name), database_connections=4
    )
    world = World(settings, AdjustableClock())
    yield world
    world.stop()
    server.drop(name)


@dataclass
class Scene:
    """Somebody with a device that says things of one kind."""

    world: World
    ada: Person
    group: str
    device: str
    kind: str

    @property
    def path(self) -> str:
        return f"/device/{self.kind}"

    def says(self, at: str, words: str = "", **fields: Any) -> dict[str, Any]:
        return self.ada.reports(self.device, self.kind, timestamp=at, data=words, **fields)

    def list_data(self, person: Person | None = None, **params: Any) -> list[str]:
        """The words of every record that is listed."""
        return [
            record.get("data", "")
            for record in (person or self.ada).records(self.device, self.kind, **params)
        ]

    def batch(self, *items: dict[str, Any]) -> httpx.Response:
        return self.ada.post(f"{self.path}/batch", {"items": list(items)})

    def record(self, at: str = NOON, words: str = "", **fields: Any) -> dict[str, Any]:
        return record_of(self.device, self.kind, timestamp=at, data=words, **fields)

    def delete_at(self, at: str, person: Person | None = None) -> httpx.Response:
        return delete_at(person or self.ada, self.device, self.kind, at)

    def someone(self, role: str | None = None) -> Person:
        """Somebody new, with a role in the group of the device or a stranger to it."""
        person = self.world.person(f"someone{next(self.world.numbers)}")
        if role is not None:
            self.ada.invite(person, self.group, role)
        return person


def delete_at(person: Person, device: str, kind: str, at: str) -> httpx.Response:
    method = "PUT" if kind == "data" else "DELETE"  # as the interface has it
    params = {"deviceId": device, "timestamp": at}
    return person.request(method, f"/device/{kind}", params=params)


def delete_all(person: Person, device: str) -> httpx.Response:
    return person.request("DELETE", "/device/data", json={"deviceId": device})


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, lasting_world: World) -> Scene:
    ada = lasting_world.person(f"ada{next(lasting_world.numbers)}")
    group = ada.group()
    return Scene(lasting_world, ada, group, ada.device(group), request.param)


def at_once(*calls: Callable[[], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


def hour(number: int) -> str:
    return f"2026-03-01T{number:02}:00:00.000Z"


# --- once ---


def test_the_same_record_is_stored_once_however_often_and_however_spelled_it_is_sent(
    scene: Scene,
) -> None:
    ada, record = scene.ada, scene.record(NOON, "once", severity=None, score=None, rc=None)
    first = ok(ada.post(scene.path, record))
    assert first == ok(ada.post(scene.path, record))
    for spelling in ("2026-03-01T13:00:00+01:00", "2026-03-01T12:00", 1_772_366_400, 1772366400000):
        assert ok(ada.post(scene.path, {**record, "timestamp": spelling})) == first
    assert ok(ada.post(scene.path, {**record, "groupId": scene.group})) == first
    assert ok(ada.post(scene.path, {**record, "unknown": 7})) == first
    shuffled = dict(reversed(record.items()))
    assert ok(ada.post(scene.path, shuffled)) == first
    assert ok(scene.world.operator.post(scene.path, record)) == first
    answers = at_once(*[partial(ada.post, scene.path, record) for _ in range(8)])
    assert [ok(answer) for answer in answers] == [first] * 8
    second = scene.record(NOON, "twice")
    batch = ok(scene.batch(record, second, record, second))
    assert batch.keys() == {"message", "stored", "duplicates"}
    assert (batch["stored"], batch["duplicates"]) == (1, 3)
    assert scene.list_data() == ["once", "twice"]
    again = ok(scene.batch(record, second))
    assert (again["stored"], again["duplicates"]) == (0, 2)
    # Whatever else it says, or of what time, or of which device, makes it another record.
    other = ada.device(scene.group)
    for different in (
        {**record, "data": "once "},
        {**record, "data": "Once"},
        {**record, "timestamp": "2026-03-01T12:00:00.000001Z"},
        {**record, "deviceId": other},
    ):
        assert ok(ada.post(scene.path, different)) != first
    assert scene.list_data() == ["once", "twice", "once ", "Once", "once"]
    assert [each["data"] for each in ada.records(other, scene.kind)] == ["once"]


def test_the_same_record_of_another_kind_is_another_record(lasting_world: World) -> None:
    ada = lasting_world.person(f"ada{next(lasting_world.numbers)}")
    device = ada.device(ada.group())
    for kind in KINDS:
        ada.reports(device, kind, data="same", deviceType="generic")
    assert [len(ada.records(device, kind)) for kind in KINDS] == [1, 1, 1, 1]


def test_a_record_of_before_a_transfer_is_not_stored_again_after_it(scene: Scene) -> None:
    ada, target = scene.ada, scene.ada.group("target")
    scene.says(NOON, "before")
    move = {"deviceId": scene.device, "groupId": scene.group, "toGroupId": target}
    ok(ada.put("/device/transfer", move))
    ok(ada.post(scene.path, scene.record(NOON, "before")))
    twice = ok(scene.batch(scene.record(NOON, "before"), scene.record(NOON, "after")))
    assert (twice["stored"], twice["duplicates"]) == (1, 1)
    again = ok(scene.batch(*[scene.record(NOON, "after")] * 2, scene.record(NOON, "before")))
    assert (again["stored"], again["duplicates"]) == (0, 3)
    back = {"deviceId": scene.device, "groupId": target, "toGroupId": scene.group}
    ok(ada.put("/device/transfer", back))
    for words in ("before", "after"):
        scene.says(NOON, words)
    assert scene.list_data() == ["before", "after"]


# --- in order ---


@pytest.mark.slow
def test_records_come_by_time_and_those_of_one_instant_in_order_of_arrival(scene: Scene) -> None:
    ties = [scene.record(hour(12), f"noon {number}") for number in range(4)]
    ok(scene.batch(scene.record(hour(14), "14"), ties[0], scene.record(hour(10), "10"), ties[1]))
    for words, at in (("noon 2", 12), ("13", 13), ("noon 3", 12), ("11", 11), ("13 b", 13)):
        scene.says(hour(at), words)
    scene.says("1931-01-01", "of old")
    scene.says("2931-01-01", "of a broken clock")
    scene.says(format_date(scene.world.clock.now()), "now")
    noons = ["noon 0", "noon 1", "noon 2", "noon 3"]
    order = ["of old", "10", "11", *noons, "13", "13 b", "14", "now", "of a broken clock"]
    assert scene.list_data() == scene.list_data(ascending="true") == order
    assert scene.list_data(ascending="false") == order[::-1]
    for limit in range(1, len(order) + 2):
        assert scene.list_data(limit=limit) == order, f"{limit} a page"
        assert scene.list_data(limit=limit, ascending="false") == order[::-1], f"{limit} a page"
    assert scene.list_data(limit=2, beginDate=hour(12), endDate=hour(13)) == noons
    assert scene.list_data(limit=3, beginDate=hour(12), endDate=hour(13), ascending="false") == [
        *noons[::-1],
    ]
    full = ok(scene.ada.get(scene.path, deviceId=scene.device, limit=len(order)))
    assert "nextToken" not in full
    refused(scene.ada.get(scene.path, deviceId=scene.device, ascending="down"), 400, "ascending")


@pytest.mark.engine_free
def test_a_range_has_its_begin_and_not_its_end(scene: Scene) -> None:
    for at in ("2026-03-01", hour(12), hour(18), "2026-03-01T23:59:59.999999Z", "2026-03-02"):
        scene.says(at, at)
    first, noon, six, last, next_day = scene.list_data()
    for begin, end, expected in (
        (None, None, [first, noon, six, last, next_day]),
        (hour(12), None, [noon, six, last, next_day]),
        (None, hour(18), [first, noon]),
        (hour(12), hour(18), [noon]),
        (hour(12), "2026-03-01T12:00:00.000001Z", [noon]),
        ("2026-03-01T12:00:00.000001Z", hour(18), []),
        (hour(12), hour(12), []),
        ("2026-03-01", "2026-03-01", [first, noon, six, last]),  # that day, all of it
        ("2026-03-01", "2026-03-01T00:00:00Z", []),
        ("2026-03-01", "2026-03-02", [first, noon, six, last, next_day]),
        ("2026-03-02", None, [next_day]),
        (None, "2026-02-28", []),
        ("2026-03-01T13:00:00+01:00", "2026-03-01T19:00:00+01:00", [noon]),
        ("1772366400", "1772388000000", [noon]),
        ("0001-01-01", "9999-12-31", [first, noon, six, last, next_day]),
    ):
        params = {"beginDate": begin, "endDate": end}
        params = {name: value for name, value in params.items() if value is not None}
        assert scene.list_data(**params) == expected, params
        assert scene.list_data(**params, ascending="false", limit=1) == expected[::-1], params
    get = partial(scene.ada.get, scene.path, deviceId=scene.device)
    after = refused(get(beginDate=hour(13), endDate=hour(12)), 400, "beginDate")
    assert after["errors"][0]["in"] == "query"
    refused(get(beginDate="2026-03-03", endDate="2026-03-01"), 400, "beginDate")
    for wrong in ("", "now", "2026-02-30", "2026-03-01T25:00Z", "9" * 20, "2026-03-01T12:00Z x"):
        refused(get(beginDate=wrong), 400, "beginDate")
        refused(get(endDate=wrong), 400, "endDate")
        refused(get(beginDate=wrong, endDate=wrong), 400, "beginDate", "endDate")


@pytest.mark.slow
def test_pages_neither_skip_nor_repeat_while_records_come_and_go(scene: Scene) -> None:
    for ascending in ("true", "false"):
        scene.device = scene.ada.device(scene.group)
        stay = [f"{at}.{number}" for at in (5, 9, 13, 17) for number in range(3)]
        scene.says(hour(2), "first")
        scene.says(hour(21), "last")
        scene.says(hour(11), "gone before or after")
        ok(scene.batch(*(scene.record(hour(int(each.split(".")[0])), each) for each in stay)))
        seen: list[str] = []
        times: list[str] = []
        params: dict[str, Any] = {"deviceId": scene.device, "limit": 2, "ascending": ascending}
        turn = 0
        while True:
            page = ok(scene.ada.get(scene.path, **params))
            seen += [record["data"] for record in page["items"]]
            times += [record["timestamp"] for record in page["items"]]
            if "nextToken" not in page:
                break
            if turn < 6:
                scene.says(hour(3), f"new early {turn}")
                scene.says(hour(20), f"new late {turn}")
                scene.says(times[-1], f"new now {turn}")  # at the very instant the page ended with
            if turn == 0:
                ok(scene.delete_at(times[0]))
            if turn == 3:
                ok(scene.delete_at(hour(11)))
            params.update(nextToken=page["nextToken"], limit=1 + turn % 3)
            turn += 1
        assert turn > 5
        assert len(seen) == len(set(seen)), "a record came twice"
        assert [each for each in seen if each in stay] == (
            stay if ascending == "true" else stay[::-1]
        )
        assert times == sorted(times, reverse=ascending == "false")


@pytest.mark.engine_free
def test_a_next_token_is_good_for_one_list_of_one_device(scene: Scene) -> None:
    other = scene.ada.device(scene.group)
    for at in (1, 2, 3):
        scene.says(hour(at))
    asked = {"deviceId": scene.device, "beginDate": hour(1), "ascending": "false", "limit": 1}
    token = ok(scene.ada.get(scene.path, **asked))["nextToken"]
    assert (
        len(ok(scene.ada.get(scene.path, **{**asked, "limit": 5}, nextToken=token))["items"]) == 2
    )
    next_kind = KINDS[(KINDS.index(scene.kind) + 1) % len(KINDS)]
    for why, path, changed in (
        ("another device", scene.path, {"deviceId": other}),
        ("another kind", f"/device/{next_kind}", {}),
        ("another begin", scene.path, {"beginDate": hour(2)}),
        ("an end", scene.path, {"endDate": hour(9)}),
        ("the other direction", scene.path, {"ascending": "true"}),
    ):
        answer = scene.ada.get(path, **{**asked, **changed}, nextToken=token)
        assert answer.status_code == 400, why
        refused(answer, 400, "nextToken")
    refused(scene.someone("viewer").get(scene.path, **asked, nextToken=token), 400, "nextToken")


# --- who may ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_who_may_store_read_and_delete(scene: Scene) -> None:
    ada = scene.ada
    viewer, member, manager = (scene.someone(role) for role in ("viewer", "member", "manager"))
    client = ada.app_client(scene.group)
    writer = scene.someone(ada.role("record.create", name="writer"))
    stranger = scene.someone()
    scene.says(hour(1), "ada")

    def answer(who: Person) -> httpx.Response:
        return who.post(scene.path, scene.record(hour(2), who.id))

    for person in (member, manager, client, writer, scene.world.operator):
        assert ok(answer(person))["data"] == person.id
    refused(answer(viewer), 403)
    refused(answer(scene.world.nobody), 401)
    hidden = refused(answer(stranger), 404, "deviceId")
    absent = refused(stranger.post(scene.path, record_of("dev_none", scene.kind)), 404, "deviceId")
    assert hidden["detail"] == absent["detail"]
    assert hidden["errors"] == absent["errors"]
    refused(ada.post(scene.path, record_of("dev_none", scene.kind)), 404, "deviceId")
    for person in (viewer, member, manager, client, scene.world.operator):
        assert len(scene.list_data(person)) == 6
    refused(writer.get(scene.path, deviceId=scene.device), 404, "deviceId")
    refused(stranger.get(scene.path, deviceId=scene.device), 404, "deviceId")
    refused(stranger.get(scene.path, deviceId="dev_none"), 404, "deviceId")
    refused(ada.get(scene.path), 400, "deviceId")
    with nothing_happens(scene.world):
        for person in (viewer, member, client):
            refused(scene.delete_at(hour(1), person), 403)
            refused(delete_all(person, scene.device), 403)
        refused(scene.delete_at(hour(1), stranger), 404, "deviceId")
        refused(delete_all(stranger, scene.device), 404, "deviceId")
        refused(scene.delete_at(hour(1), scene.world.nobody), 401)
    ok(scene.delete_at(hour(2), manager))
    assert scene.list_data() == ["ada"]
    # A batch is refused as a whole when one of its devices is not for the sender.
    theirs = stranger.device(stranger.group())
    mixed = [scene.record(hour(5)), record_of(theirs, scene.kind), scene.record(hour(6))]
    with nothing_happens(scene.world):
        refused(scene.batch(*mixed), 404, "items[1].deviceId")
        refused(viewer.post(f"{scene.path}/batch", {"items": mixed[:1]}), 403)


@pytest.mark.engine_free
def test_a_role_above_reaches_the_records_below(lasting_world: World) -> None:
    world = lasting_world
    ada = world.person(f"ada{next(world.numbers)}")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    device = ada.device(below)
    above, beside = (world.person(f"who{next(world.numbers)}") for _ in range(2))
    ada.invite(above, root, "member")
    ada.invite(beside, ada.group("beside", parent=root), "administrator")
    for kind in KINDS:
        above.reports(device, kind)
        assert len(above.records(device, kind)) == 1
        refused(beside.get(f"/device/{kind}", deviceId=device), 404, "deviceId")


# --- whose they are after a transfer ---


@pytest.mark.engine_free
@pytest.mark.slow
def test_records_stay_with_the_group_they_were_said_in(world: World) -> None:
    ada, old, new = world.person("ada"), world.person("old"), world.person("new")
    source, target = ada.group("source"), ada.group("target")
    ada.invite(old, source, "manager")
    ada.invite(new, target, "manager")
    device = ada.device(source)

    def move(group: str, to: str) -> None:
        ok(ada.put("/device/transfer", {"deviceId": device, "groupId": group, "toGroupId": to}))

    def list_data(person: Person, kind: str, **params: Any) -> list[str]:
        return [each["data"] for each in person.records(device, kind, **params)]

    for kind in KINDS:
        for at, words in ((10, "first"), (12, "noon, first"), (14, "third")):
            ada.reports(device, kind, timestamp=hour(at), data=words)
    for person in (ada, old):
        assert ok(person.get("/device", deviceId=device))["groupId"] == source
    move(source, target)
    refused(old.get("/device", deviceId=device), 404, "deviceId")
    assert ok(new.get("/device", deviceId=device))["groupId"] == target
    for kind in KINDS:
        assert list_data(old, kind) == ["first", "noon, first", "third"]
        assert list_data(new, kind) == []
        for at, words in ((11, "second"), (12, "noon, then"), (15, "last")):
            made = new.reports(device, kind, timestamp=hour(at), data=words)
            assert made["groupId"] == target
        refused(old.post(f"/device/{kind}", record_of(device, kind)), 404, "deviceId")
        assert list_data(old, kind) == ["first", "noon, first", "third"]
        assert list_data(new, kind) == ["second", "noon, then", "last"]
        merged = ["first", "second", "noon, first", "noon, then", "third", "last"]
        for limit in (1, 2, 3, 4, 6, 100):
            assert list_data(ada, kind, limit=limit) == merged, f"{limit} a page"
            assert list_data(ada, kind, limit=limit, ascending="false") == merged[::-1]
        assert list_data(ada, kind, beginDate=hour(11), endDate=hour(14)) == merged[1:4]
        groups = [each["groupId"] for each in ada.records(device, kind)]
        assert groups == [source, target, source, target, source, target]
    # Each deletes what is theirs.
    for kind in KINDS:
        refused(delete_at(old, device, kind, hour(11)), 404, "timestamp")
        ok(delete_at(old, device, kind, hour(12)))
        assert list_data(ada, kind) == ["first", "second", "noon, then", "third", "last"]
    assert ok(delete_all(old, device))["message"].count("2") == 4
    for kind in KINDS:
        assert list_data(ada, kind) == list_data(new, kind) == ["second", "noon, then", "last"]
        refused(old.get(f"/device/{kind}", deviceId=device), 404, "deviceId")
    # Back again it says more in the old group, which does not get to see what it said elsewhere.
    move(target, source)
    for kind in KINDS:
        assert list_data(old, kind) == []
        old.reports(device, kind, timestamp=hour(9), data="home")
        assert list_data(old, kind) == ["home"]
        assert list_data(new, kind) == ["second", "noon, then", "last"]
        assert list_data(ada, kind) == ["home", "second", "noon, then", "last"]
    refused(new.get("/device", deviceId=device), 404, "deviceId")


# --- going ---


@pytest.mark.engine_free
@pytest.mark.slow
def test_deleting_an_instant_takes_all_of_one_kind_at_it_and_no_more(scene: Scene) -> None:
    ada, others = scene.ada, [kind for kind in KINDS if kind != scene.kind]
    neighbour = ada.device(scene.group)
    ada.reports(neighbour, scene.kind, timestamp=hour(12))
    for kind in others:
        ada.reports(scene.device, kind, timestamp=hour(12))
    for at, words in ((11, "before"), (12, "one"), (12, "two"), (13, "after")):
        scene.says(hour(at), words)
    trail = scene.world.audit()
    answer = ok(scene.delete_at("2026-03-01T13:00:00+01:00"))
    assert answer.keys() == {"message", "value"}
    assert answer["value"] is True
    assert "2" in answer["message"]
    assert scene.world.audit() == [*trail, (ada.id, "record.delete", scene.device)]
    assert scene.list_data() == ["before", "after"]
    assert [len(ada.records(scene.device, kind)) for kind in others] == [1, 1, 1]
    assert len(ada.records(neighbour, scene.kind)) == 1
    with nothing_happens(scene.world):
        refused(scene.delete_at(hour(12)), 404, "timestamp")
        refused(scene.delete_at("2026-03-01T13:00:00.000001Z"), 404, "timestamp")
        refused(delete_at(ada, "dev_none", scene.kind, hour(13)), 404, "deviceId")
        refused(scene.delete_at("yesterday"), 400, "timestamp")
        method = "PUT" if scene.kind == "data" else "DELETE"
        if scene.kind != "data":
            refused(ada.request(method, scene.path), 400, "deviceId", "timestamp")
            refused(ada.put(scene.path, deviceId=scene.device, timestamp=hour(13)), 405)
        else:
            refused(ada.put(scene.path), 400, "deviceId", "timestamp")
            # DELETE removes everything here, so it asks for a body and does not look at a query.
            refused(ada.delete(scene.path, deviceId=scene.device, timestamp=hour(13)), 400)
    scene.says(hour(12), "two")
    assert scene.list_data() == ["before", "two", "after"], "what is sent again is stored again"


def clean_up(world: World) -> None:
    while world.write(delete_erased):
        pass


@pytest.mark.slow
def test_deleting_all_records_counts_them_and_what_comes_again_is_stored_again(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device, neighbour = ada.device(group), ada.device(group)
    numbers = dict(zip(KINDS, (1, 2, 3, 4), strict=True))
    for kind, number in numbers.items():
        ada.reports(neighbour, kind)
        for at in range(number):
            ada.reports(device, kind, timestamp=hour(at))
    seen = ok(ada.get("/device", deviceId=device))["seenAt"]
    trail = world.audit()
    answer = ok(delete_all(ada, device))
    assert answer.keys() == {"message"}
    for kind, number in numbers.items():
        assert f"{number} {kind}" in answer["message"]
    assert world.audit() == [*trail, (ada.id, "record.deleteAll", device)]
    for kind in KINDS:
        assert ada.records(device, kind) == []
        assert len(ada.records(neighbour, kind)) == 1
        ada.reports(device, kind, timestamp=hour(0))
        ada.reports(device, kind, timestamp=hour(0))
        batch = {"items": [record_of(device, kind, timestamp=hour(at)) for at in (0, 1)]}
        again = ok(ada.post(f"/device/{kind}/batch", batch))
        assert (again["stored"], again["duplicates"]) == (1, 1)
        assert len(ada.records(device, kind)) == 2
    assert ok(ada.get("/device", deviceId=device))["seenAt"] == seen, "never back"
    clean_up(world)
    left = {name: len(rows) for name, rows in world.everything().items()}
    assert [left[f"record_{kind}"] for kind in KINDS] == [3] * 4, "the cleanup takes no more"
    assert [len(ada.records(device, kind)) for kind in KINDS] == [2] * 4
    assert "2 event" in ok(delete_all(ada, device))["message"]
    assert "0 event" in ok(delete_all(ada, device))["message"]
    clean_up(world)
    with nothing_happens(world):
        refused(delete_all(ada, "dev_none"), 404, "deviceId")
        refused(ada.request("DELETE", "/device/data", json={}), 400, "deviceId")
        refused(ada.request("DELETE", "/device/data"), 400)


# --- many at once ---


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_batch_takes_five_thousand_and_not_one_more(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    devices = [ada.device(group) for _ in range(3)]

    def item(number: int) -> dict[str, Any]:
        at = format_date(1_772_000_000 * SECOND + number * MILLISECOND)
        return record_of(devices[number % 3], timestamp=at, data=str(number))

    items = [item(number) for number in range(BATCH_MAX + 1)]
    with nothing_happens(world):
        refused(ada.post("/device/data/batch", {"items": items}), 400, "items")
        refused(ada.post("/device/data/batch", {"items": []}), 400, "items")
        refused(ada.post("/device/data/batch", {}), 400, "items")
        refused(ada.post("/device/data/batch", items[0]), 400, "items")
        refused(ada.post("/device/data/batch", items[:1]), 400, "body")
    answer = ok(ada.post("/device/data/batch", {"items": items[:BATCH_MAX]}))
    assert (answer["stored"], answer["duplicates"]) == (BATCH_MAX, 0)
    assert str(BATCH_MAX) in answer["message"]
    again = ok(ada.post("/device/data/batch", {"items": items[1:]}))
    assert (again["stored"], again["duplicates"]) == (1, BATCH_MAX - 1)
    for index, device in enumerate(devices):
        stored = [record["data"] for record in ada.records(device, limit=1_000)]
        assert stored == [str(number) for number in range(index, BATCH_MAX + 1, 3)]


@pytest.mark.engine_free
def test_one_wrong_record_in_a_batch_is_named_and_nothing_is_stored(scene: Scene) -> None:
    other = scene.ada.group("other")
    right = [scene.record(hour(at), str(at)) for at in range(7)]

    def tried(status: int, *fields: str, **wrong: dict[str, Any]) -> dict[str, Any]:
        items = [dict(each) for each in right]
        for place, change in wrong.items():
            items[int(place.removeprefix("at"))] |= change
        return refused(scene.batch(*items), status, *fields)

    with nothing_happens(scene.world):
        tried(400, "items[3].timestamp", at3={"timestamp": "soon"})
        tried(
            400,
            "items[1].timestamp",
            "items[4].timestamp",
            "items[6].timestamp",
            at1={"timestamp": "soon"},
            at4={"timestamp": True},
            at6={"timestamp": "2026-02-30"},
        )
        tried(
            400,
            "items[2].data",
            "items[5].timestamp",
            "items[5].groupId",
            at2={"data": 7},
            at5={"timestamp": "", "groupId": ""},
        )
        tried(400, "items[3].data", at3={"data": "a\x00b"})
        tried(404, "items[0].deviceId", "items[6].deviceId", at0=NONE, at6=NONE)
        tried(400, "items[2].groupId", "items[3].groupId", at2=group(other), at3=group("x"))
        tried(404, "items[2].groupId", "items[4].deviceId", at2=group(other), at4=NONE)
        refused(scene.batch(right[0], 7, None, right[1]), 400, "items[1]", "items[2]")  # type: ignore[arg-type]
    assert ok(scene.batch(*right))["stored"] == 7
    assert scene.list_data() == list("0123456")


NONE = {"deviceId": "dev_none"}


def group(group_id: str) -> dict[str, Any]:
    return {"groupId": group_id}


# --- when a device was seen ---


@pytest.mark.engine_free
def test_a_device_was_seen_when_its_newest_record_says_but_never_in_the_future(
    world: World,
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())

    def seen() -> Any:
        return ok(ada.get("/device", deviceId=device)).get("seenAt")

    def says(at: Moment, kind: str) -> None:
        ada.reports(device, kind, timestamp=format_date(at))

    start = world.clock.now()
    assert seen() is None
    for ago, kind in ((5 * DAY, "data"), (4 * DAY, "event"), (3 * DAY, "geoloc")):
        says(start - ago, kind)
        assert seen() == (start - ago) // MILLISECOND
    for ago, kind in ((9 * DAY, "data"), (3 * DAY + 1, "telemetry"), (3 * DAY, "geoloc")):
        says(start - ago, kind)
        assert seen() == (start - 3 * DAY) // MILLISECOND, "an older one never moves it back"
    items = [record_of(device, timestamp=format_date(start - days * DAY)) for days in (2, 1, 7)]
    ok(ada.post("/device/data/batch", {"items": items}))
    assert seen() == (start - DAY) // MILLISECOND
    says(start + 30 * DAY, "telemetry")
    now = seen() * MILLISECOND
    assert start - MILLISECOND <= now <= world.clock.now()
    world.clock.let_pass(seconds=1_800)
    says(now - SECOND, "event")
    assert seen() == now // MILLISECOND
    says(now + HOUR // 4, "event")
    assert seen() == (now + HOUR // 4) // MILLISECOND
    # Deleting what it said does not make it unseen.
    ok(delete_at(ada, device, "event", format_date(now + HOUR // 4)))
    ok(delete_all(ada, device))
    assert seen() == (now + HOUR // 4) // MILLISECOND


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_page_of_very_large_records_ends_early_and_goes_on(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    for number in range(80):
        ada.reports(device, timestamp=1_700_000_000 + number, data="x" * 250_000)
    for limit in (80, 1000):
        first = ok(ada.get("/device/data", deviceId=device, limit=limit))
        assert 1 <= len(first["items"]) < 80
    found = [each["timestamp"] for each in ada.records(device, limit=1000)]
    assert len(found) == 80
    assert found == sorted(set(found))

"""The months into which PostgreSQL cuts records: made before they are needed, and never in the way.

A record lies in the month of its timestamp, an arrival in the month it arrived in; whatever lies
outside of the months made so far waits in a default partition.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.clock import DAY, SECOND, Moment
from longwire.process import maintenance
from longwire.store.engines import partitions
from longwire.store.records.arrival_numbers import first_seq
from tests.reports import (
    KINDS,
    counted,
    device,
    devices,
    list_data,
    list_records,
    post_record,
    post_records,
    report,
)
from tests.waiting import eventually
from tests.world import CITUS_URL, Person, World, ok

TABLES = (*(f"record_{kind}" for kind in KINDS), "arrival")
MONTHS = partitions.MONTHS_AHEAD + 1


@pytest.fixture
def engine() -> str:
    return "postgresql"


def moment(text: str) -> Moment:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def turn_to(world: World, at: Moment, *people: Person) -> None:
    """Turn the clock to a moment; access tokens do not last that long, so people get others."""
    world.clock.let_pass(seconds=(at - world.clock.now()) / SECOND)
    for person in people:
        person.token = world.token(person.client_id, person.client_secret)


def first_of_month(now: Moment, ahead: int) -> Moment:
    today = datetime.fromtimestamp(now / SECOND, UTC)
    index = today.year * 12 + today.month - 1 + ahead
    return int(datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC).timestamp()) * SECOND


def bounds(world: World, table: str) -> dict[str, str]:
    """The partitions of a table, and what PostgreSQL says about what belongs into them."""
    query = sa.text(
        "select c.relname, pg_get_expr(c.relpartbound, c.oid) from pg_inherits i"
        " join pg_class c on c.oid = i.inhrelid"
        f" where i.inhparent = '{table}'::regclass"
    )
    return {row[0]: row[1] for row in world.read(lambda tx: tx.rows(query))}


def wanted(table: str, first: Moment, number: int) -> dict[str, str]:
    """The partitions of some months, beginning with one, and the default."""
    found = {f"{table}_default": "DEFAULT"}
    for ahead in range(number):
        begin, end = first_of_month(first, ahead), first_of_month(first, ahead + 1)
        label = datetime.fromtimestamp(begin / SECOND, UTC).strftime("%Y%m")
        if table == "arrival":
            begin, end = first_seq(begin), first_seq(end)
        found[f"{table}_p{label}"] = f"FOR VALUES FROM ('{begin}') TO ('{end}')"
    return found


def places(world: World, table: str) -> list[str]:
    """In which partition each row of a table lies."""
    query = sa.text(f"select tableoid::regclass::text from {table}")
    found = [row[0] for row in world.read(lambda tx: tx.rows(query))]
    if CITUS_URL:  # where it lies in a shard of it
        found = [each.rpartition("_")[0] for each in found]
    return sorted(found)


def month_of(table: str, at: Moment) -> str:
    return f"{table}_p{datetime.fromtimestamp(at / SECOND, UTC):%Y%m}"


def make_ahead(world: World) -> None:
    world.write(partitions.create_ahead)


# --- made ahead ---


def test_this_month_and_the_next_ones_are_there_before_anything_needs_them(world: World) -> None:
    now = world.clock.now()
    for table in TABLES:
        assert bounds(world, table) == wanted(table, now, MONTHS), table
    make_ahead(world)
    for table in TABLES:
        assert bounds(world, table) == wanted(table, now, MONTHS), "a second time changes nothing"

    ada = world.person("ada")
    sensor = device(ada, ada.group())
    for ahead in range(MONTHS):
        for kind in KINDS:
            ok(post_record(ada, kind, sensor, first_of_month(now, ahead)))
            ok(post_record(ada, kind, sensor, first_of_month(now, ahead + 1) - 1))
    for kind in KINDS:
        table = f"record_{kind}"
        expected = [month_of(table, first_of_month(now, ahead)) for ahead in range(MONTHS)]
        assert places(world, table) == sorted(expected * 2), "from its first instant to its last"
    assert set(places(world, "arrival")) == {month_of("arrival", now)}


@pytest.mark.parametrize(
    "now", ["2030-12-31T23:59:59", "2031-01-01T00:00:00", "2032-01-31T12:00:00"]
)
def test_months_are_cut_right_around_a_year_and_a_short_february(world: World, now: str) -> None:
    world.clock.freeze()
    turn_to(world, moment(now) - 5 * SECOND if now.endswith("59") else moment(now))
    before = bounds(world, "record_data")
    make_ahead(world)
    for table in TABLES:
        made = {name: bound for name, bound in bounds(world, table).items() if name not in before}
        expected = wanted(table, world.clock.now(), MONTHS)
        assert {**made, f"{table}_default": "DEFAULT"}.items() >= expected.items(), table
    assert len(bounds(world, "record_data")) == len(before) + MONTHS


def test_the_service_makes_them_by_itself_when_a_day_begins(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 0.05)
    world = make_world()
    now = world.clock.now()
    later = wanted("record_event", first_of_month(now + 40 * DAY, 0), MONTHS)
    assert not later.items() <= bounds(world, "record_event").items()
    world.clock.let_pass(days=40)
    eventually(lambda: later.items() <= bounds(world, "record_event").items())
    assert wanted("record_event", now, MONTHS).items() <= bounds(world, "record_event").items()


# --- what came before its month was made ---


def test_an_early_record_moves_into_its_month_once_that_is_made(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    early = first_of_month(now, MONTHS + 2) + 3 * DAY
    edges = [first_of_month(early, 0), early, first_of_month(early, 1) - 1]
    outside = [first_of_month(early, 0) - 1, first_of_month(early, 1)]
    for kind in KINDS:
        for at in (*edges, *outside):
            ok(post_record(ada, kind, sensor, at, f"{at}"))
        assert set(places(world, f"record_{kind}")) == {f"record_{kind}_default"}
    listed_before = {kind: list_records(ada, kind, sensor) for kind in KINDS}

    turn_to(world, first_of_month(early, -2), ada)
    make_ahead(world)
    for kind in KINDS:
        table = f"record_{kind}"
        # The month before was made as well; the one after was not.
        assert places(world, table) == sorted(
            [month_of(table, outside[0]), *[month_of(table, early)] * 3, f"{table}_default"]
        )
        assert list_records(ada, kind, sensor) == listed_before[kind]
        assert ok(post_record(ada, kind, sensor, early, f"{early}")) == listed_before[kind][2], (
            "still the same"
        )
        assert list_records(ada, kind, sensor) == listed_before[kind]
        assert (
            ok(ada.get(f"/device/{kind}", deviceId=sensor, ascending="false", limit=2))["items"]
            == list(reversed(listed_before[kind]))[:2]
        )
    assert counted(ada, group, now) == dict.fromkeys(KINDS, 5)
    # And it is as mortal as any other.
    ok(ada.put("/device/data", deviceId=sensor, timestamp=early // 1_000))
    assert len(list_data(ada, "data", sensor)) == 4


def test_arrivals_of_a_month_that_was_not_made_yet_are_counted_before_and_after(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor = device(ada, group)
    turn_to(world, first_of_month(world.clock.now(), MONTHS + 1) + DAY, ada)
    now = world.clock.now()
    for number in range(3):
        ok(post_record(ada, "data", sensor, now, f"{number}"))
    assert places(world, "arrival") == ["arrival_default"] * 3
    before = counted(ada, group, now)
    assert before["data"] == 3
    make_ahead(world)
    assert places(world, "arrival") == [month_of("arrival", now)] * 3
    assert counted(ada, group, now) == before
    active = ok(
        ada.get(
            "/group/metrics",
            groupId=group,
            beginDate=now // 1_000 - 1_000,
            endDate=now // 1_000 + 60_000,
        )
    )
    assert active["activeDevices"] == [sensor]


# --- while others are at work ---


def test_records_come_in_while_months_are_made(make_world: Callable[..., World]) -> None:
    """They are for the very months that are being made, the worst that could come."""
    world = make_world(token_lifetime_s=10**9)
    ada = world.person("ada")
    group = ada.group()
    sensors, now = devices(ada, group, 3), world.clock.now()
    over = threading.Event()
    answers: list[int] = []

    def send(sensor: str) -> int:
        number = 0
        while not over.is_set():
            at = first_of_month(now, MONTHS + number % 12) + number * SECOND
            bodies = [report("data", sensor, at, f"{number} {each}") for each in range(5)]
            answers.append(post_records(ada, "data", bodies).status_code)
            number += 5
        return number

    with ThreadPoolExecutor(3) as pool:
        sending = [pool.submit(send, sensor) for sensor in sensors]
        try:
            for _ in range(11):
                world.clock.let_pass(days=28)
                make_ahead(world)
        finally:
            over.set()
        sent = [each.result(120) for each in sending]
    assert set(answers) == {200}
    assert counted(ada, group, now)["data"] == sum(sent)
    assert [len(list_data(ada, "data", sensor)) for sensor in sensors] == sent


def test_two_processes_that_make_and_drop_the_same_months_do_not_stumble(
    make_world: Callable[..., World],
) -> None:
    changes = {"retention_data_days": 10, "retention_event_days": 10}
    worlds = make_world(**changes), make_world(**changes)
    ada = worlds[0].person("ada")
    sensor, now = device(ada, ada.group()), worlds[0].clock.now()
    ok(post_record(ada, "data", sensor, now))

    def at_once(work: Callable[[World], Any]) -> None:
        together = threading.Barrier(2)

        def run(world: World) -> None:
            together.wait(60)
            work(world)

        with ThreadPoolExecutor(2) as pool:
            for each in [pool.submit(run, world) for world in worlds]:
                each.result(60)

    def forget(world: World) -> None:
        keeps = {"data": 10, "event": 10}
        asyncio.run_coroutine_threadsafe(
            maintenance.delete_old_records(world.database, keeps), world._loop
        ).result(60)

    for _ in range(6):
        for world in worlds:
            world.clock.let_pass(days=62)
        at_once(make_ahead)
        at_once(forget)
    later = worlds[0].clock.now()
    assert (
        wanted("record_geoloc", later, MONTHS).items() <= bounds(worlds[1], "record_geoloc").items()
    )
    assert month_of("record_data", now) not in bounds(worlds[0], "record_data")
    assert month_of("record_geoloc", now) in bounds(worlds[0], "record_geoloc")

"""Retention: expired records are hidden at once, and deleted in small steps."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.clock import DAY, HOUR, MINUTE, Moment
from longwire.dates import format_date
from longwire.process import maintenance
from longwire.store import pacing
from longwire.store.database import Tx
from longwire.store.engines import partitions as store_partitions
from longwire.store.records import counters as store_counters
from longwire.store.records import record_deletion
from longwire.store.statement import Statement
from tests.reports import (
    KINDS,
    counted,
    device,
    devices,
    list_data,
    list_records,
    metrics,
    post_record,
    post_records,
    report,
)
from tests.waiting import eventually
from tests.world import CITUS_URL, Person, World, change_settings, ok, refused


def on_disk(world: World) -> dict[str, int]:
    """The stored records of each kind, visible or not."""

    def work(tx: Tx) -> dict[str, int]:
        count = "select count(*) from record_{}"
        return {kind: int(tx.fetch(Statement(count.format(kind)))[0][0]) for kind in KINDS}

    return world.read(work)


def delete_expired(world: World) -> None:
    """Run one round of the retention task."""
    world._run(
        maintenance.delete_old_records(world.database, world.database.context.limits.retention_days)
    )


def clean_up(world: World) -> list[int]:
    """Run the cleanup to its end; the number of rows deleted in each step."""
    steps = []
    while removed := world.write(record_deletion.delete_erased):
        steps.append(removed)
    return steps


def let_pass(world: World, days: float) -> None:
    """Advance the clock; access tokens expire meanwhile."""
    world.clock.let_pass(days=days)


def renew_tokens(world: World, *people: Person) -> None:
    for person in people:
        person.token = world.token(person.client_id, person.client_secret)


def test_an_expired_record_is_hidden_at_once_and_deleted_later(
    make_world: Callable[..., World],
) -> None:
    world = make_world(retention_data_days=30, retention_event_days=7)
    ada = world.person("ada")
    group = ada.group()
    sensor, other = devices(ada, group, 2)
    now = world.clock.now()
    ages = {"old": 20 * DAY, "newer": 10 * DAY, "today": 0, "to come": -5 * DAY}
    for kind in KINDS:
        for name, age in ages.items():
            ok(post_record(ada, kind, sensor, now - age, name))
        ok(post_record(ada, kind, other, now - 20 * DAY, "old"))
    all_names = list(ages)
    assert list_data(ada, "event", sensor) == ["today", "to come"], "seven days for events"
    assert list_data(ada, "data", sensor) == list_data(ada, "geoloc", sensor) == all_names

    let_pass(world, days=15)
    renew_tokens(world, ada)
    assert list_data(ada, "data", sensor) == ["newer", "today", "to come"]
    assert list_data(ada, "data", sensor, ascending="false") == ["to come", "today", "newer"]
    assert list_data(ada, "data", other) == []
    assert list_data(ada, "event", sensor) == [], "future records have expired too"
    for kind in ("geoloc", "telemetry"):
        assert list_data(ada, kind, sensor) == all_names, "kept for ever"
    # Nor does a query for its period return it.
    before = {"beginDate": format_date(now - 25 * DAY), "endDate": format_date(now - 18 * DAY)}
    assert list_data(ada, "data", sensor, **before) == []
    assert list_data(ada, "geoloc", sensor, **before) == ["old"]
    assert on_disk(world) == dict.fromkeys(KINDS, 5)

    delete_expired(world)
    assert on_disk(world) == {"data": 3, "event": 0, "geoloc": 5, "telemetry": 5}
    assert list_data(ada, "data", sensor) == ["newer", "today", "to come"]
    assert list_data(ada, "telemetry", sensor) == all_names
    assert counted(ada, group, now) == dict.fromkeys(KINDS, 5), "counters stay"
    delete_expired(world)
    assert on_disk(world) == {"data": 3, "event": 0, "geoloc": 5, "telemetry": 5}


@pytest.mark.engine_free
def test_records_that_expire_between_pages_are_left_out(
    make_world: Callable[..., World],
) -> None:
    world = make_world(retention_data_days=10)
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    hours = range(0, 48, 4)
    for hour in hours:
        ok(post_record(ada, "data", sensor, now - 9 * DAY + hour * HOUR, f"{hour}"))
    page = ok(ada.get("/device/data", deviceId=sensor, limit=3))
    assert [record["data"] for record in page["items"]] == ["0", "4", "8"]
    let_pass(world, days=2)
    renew_tokens(world, ada)
    rest = {"deviceId": sensor, "limit": 1000, "nextToken": page["nextToken"]}
    left = [record["data"] for record in ok(ada.get("/device/data", **rest))["items"]]
    assert left == [f"{hour}" for hour in hours if hour > 24]


@pytest.mark.engine_free
def test_records_expire_exactly_at_the_end_of_the_retention(
    make_world: Callable[..., World],
) -> None:
    world = make_world(retention_data_days=1)
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    ok(post_record(ada, "data", sensor, now - DAY - MINUTE, "a minute late"))
    ok(post_record(ada, "data", sensor, now - DAY + 10 * MINUTE, "ten minutes left"))
    for _ in range(2):
        assert list_data(ada, "data", sensor) == ["ten minutes left"]
        delete_expired(world)
    world.clock.let_pass(seconds=10 * 60)
    assert list_data(ada, "data", sensor) == []
    world.clock.let_pass(seconds=60 * 60)  # what has expired is deleted by whole hours
    delete_expired(world)
    assert on_disk(world)["data"] == 0


@pytest.mark.slow
def test_counters_have_their_own_retention_and_arrivals_are_deleted_after_the_records(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_counters, "PRUNE_ROWS_MAX", 2)
    world = make_world()
    ada = world.person("ada")
    group = ada.group()
    below = ada.group("below", parent=group)
    sensor, lower = device(ada, group), device(ada, below)
    connector = ada.connector(group, "http://127.0.0.1:9/", enabled=False)
    began = world.clock.now()
    for kind in KINDS:
        ok(post_record(ada, kind, sensor, began, "old"))
        ok(post_record(ada, kind, lower, began, "old"))
    ok(post_record(ada, "data", sensor, began + 90 * DAY, "a clock that is ahead"))

    def reported(begin: Moment, end: Moment) -> tuple[int, list[str], int]:
        found = metrics(ada, group, format_date(begin), format_date(end), subgroups="true")
        return found["totalDeviceMessage"], found["activeDevices"], len(found["items"])

    def found_by_arrival() -> int:
        body = {"connectorId": connector, "groupId": group, "limit": 100}
        return len(ok(ada.post("/connector/preview", body))["items"])

    def counter_rows() -> dict[str, int]:
        def work(tx: Tx) -> dict[str, int]:
            tables = ("counter", "activity", "arrival")
            return {
                each: int(tx.fetch(Statement(f"select count(*) from {each}"))[0][0])
                for each in tables
            }

        return world.read(work)

    def set_days(**days: int) -> None:
        changes = {f"retention_{name}_days": number for name, number in days.items()}
        world.settings = change_settings(world.settings, **changes)
        world.restart()
        renew_tokens(world, ada)
        delete_expired(world)

    # Parts of a second, an hour and a day read the arrivals and both tables of counters.
    day = began - HOUR, began + DAY
    hour = began - 1, began + HOUR
    everything = 9, [sensor, lower]
    assert reported(*day) == (*everything, 25)
    let_pass(world, days=25)
    set_days(data=20, event=20, geoloc=20)
    assert on_disk(world) == {"data": 1, "event": 0, "geoloc": 0, "telemetry": 2}
    assert reported(*day) == (*everything, 25), "the records are gone, the counters are not"
    assert reported(*hour) == (*everything, 2)
    whole = counter_rows()

    set_days(metrics=30)
    let_pass(world, days=4)
    delete_expired(world)
    assert counter_rows() == whole
    renew_tokens(world, ada)
    assert reported(*day) == (*everything, 25)
    let_pass(world, days=6)
    renew_tokens(world, ada)
    now = world.clock.now()
    ok(post_record(ada, "data", sensor, now, "today"))
    nothing: tuple[int, list[str]] = (0, [])
    for _ in range(2):
        # Hidden before anything is deleted; the number of items is unchanged.
        assert reported(*day) == (*nothing, 25)
        assert reported(*hour) == (*nothing, 2)
        assert reported(began, now + HOUR)[:2] == (1, [sensor])
        delete_expired(world)
        left = counter_rows()
        assert (left["counter"], left["activity"]) == (1, 1)
        # One kind never expires, so its records must still be found.
        assert left["arrival"] == 10
        assert found_by_arrival() == 3

    set_days(telemetry=20)
    assert on_disk(world) == {"data": 2, "event": 0, "geoloc": 0, "telemetry": 0}
    assert counter_rows()["arrival"] == 2, "of today, and of the record that is still kept"
    assert found_by_arrival() == 2
    assert reported(began, world.clock.now() + HOUR)[:2] == (1, [sensor])


class Steps:
    """Counts the records that each write of the service deletes."""

    def __init__(self, world: World) -> None:
        self.removed: list[int] = []
        write = world.database.write

        async def counting_write(work: Callable[[Tx], Any]) -> Any:
            result = await write(work)
            if isinstance(result, tuple):
                self.removed.append(result[0])
            return result

        world.database.write = counting_write  # type: ignore[method-assign]


def test_expired_records_of_every_device_are_deleted_in_small_steps(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_deletion, "PRUNE_ROWS_MAX", 10)
    monkeypatch.setattr(record_deletion, "PRUNE_DEVICES_MAX", 2)
    monkeypatch.setattr(store_partitions, "PRUNE_ROWS_MAX", 10)
    world = make_world(retention_data_days=5)
    ada = world.person("ada")
    group, elsewhere = ada.group(), ada.group("elsewhere")
    many, few, none, moved = devices(ada, group, 4)
    now = world.clock.now()
    # Too old for any monthly partition, so that PostgreSQL deletes row by row as well.
    long_ago = now - 400 * DAY

    def old(sensor: str, number: int) -> int:
        bodies = [report("data", sensor, long_ago + each, "old") for each in range(number)]
        return int(ok(post_records(ada, "data", bodies))["stored"])

    assert [old(many, 40), old(few, 3), old(moved, 12)] == [40, 3, 12]
    ok(ada.put("/device/transfer", {"deviceId": moved, "groupId": group, "toGroupId": elsewhere}))
    assert old(moved, 12) == 0, "said before"
    ok(post_record(ada, "data", moved, long_ago + 50, "old, and in another group"))
    for sensor in (many, none, moved):
        ok(post_record(ada, "data", sensor, now, "new"))
    steps = Steps(world)
    delete_expired(world)
    assert max(steps.removed) == 10
    assert sum(steps.removed) == 40 + 3 + 12 + 1
    assert on_disk(world)["data"] == 3
    for sensor, left in ((many, ["new"]), (few, []), (none, ["new"]), (moved, ["new"])):
        assert list_data(ada, "data", sensor) == left


@pytest.mark.slow
def test_erased_records_are_deleted_in_small_steps_and_no_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_deletion, "PRUNE_ROWS_MAX", 10)
    ada = world.person("ada")
    group, elsewhere = ada.group(), ada.group("elsewhere")
    emptied, deleted, moved, kept = devices(ada, group, 4)
    now = world.clock.now()

    def fill(sensor: str, number: int, name: str) -> None:
        for kind in KINDS:
            bodies = [report(kind, sensor, now + each, name) for each in range(number)]
            ok(post_records(ada, kind, bodies))

    for sensor in (emptied, deleted, moved, kept):
        fill(sensor, 12, "before")
    ok(ada.put("/device/transfer", {"deviceId": moved, "groupId": group, "toGroupId": elsewhere}))
    fill(moved, 3, "after the transfer")
    response = ok(ada.request("DELETE", "/device/data", json={"deviceId": emptied}))
    assert response["message"] == "Deleted 12 data, 12 event, 12 geoloc, 12 telemetry."
    ok(ada.delete("/device", deviceId=deleted, groupId=group))
    ok(ada.post("/devices/delete", {"deviceIds": [moved], "groupId": elsewhere}))
    fill(emptied, 2, "before")  # the same records again are new, because the first ones are gone
    for kind in KINDS:
        assert list_data(ada, kind, emptied) == ["before", "before"]
        assert len(list_data(ada, kind, kept)) == 12
        refused(ada.get(f"/device/{kind}", deviceId=deleted), 404, "deviceId")

    steps = clean_up(world)
    assert max(steps) == 10
    assert on_disk(world) == dict.fromkeys(KINDS, 12 + 2)
    for kind in KINDS:
        assert list_data(ada, kind, emptied) == ["before", "before"]
        assert len(list_records(ada, kind, kept)) == 12
    assert clean_up(world) == []
    left = world.everything()
    assert left["erasure"] == []
    assert len(left["device"]) == len(left["device_state"]) == 2
    assert counted(ada, group, now) == dict.fromkeys(KINDS, 4 * 12 + 2)


@pytest.mark.engine_free
def test_the_service_runs_retention_and_cleanup_by_itself(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 0.05)
    monkeypatch.setattr(maintenance, "RETENTION_INTERVAL_S", 0.1)
    monkeypatch.setattr(maintenance, "SUMMARIES_INTERVAL_S", 0.05)
    world = make_world(retention_geoloc_days=3, audit_retention_days=4)
    ada = world.person("ada")
    sensor, gone = devices(ada, ada.group(), 2)
    now = world.clock.now()
    for kind in KINDS:
        ok(post_record(ada, kind, sensor, now, "now"))
        ok(post_record(ada, kind, sensor, now - 4 * DAY, "old"))
        ok(post_record(ada, kind, gone, now, "of a device that is deleted"))
    eventually(lambda: on_disk(world) == {**dict.fromkeys(KINDS, 3), "geoloc": 2})
    group = ok(ada.get("/device", deviceId=gone))["groupId"]
    ok(ada.delete("/device", deviceId=gone, groupId=group))
    eventually(lambda: on_disk(world) == {**dict.fromkeys(KINDS, 2), "geoloc": 1})
    let_pass(world, days=5)
    eventually(lambda: on_disk(world) == {**dict.fromkeys(KINDS, 2), "geoloc": 0})
    eventually(lambda: world.audit() == [])


# --- monthly partitions ---


def partitions(world: World, kind: str) -> set[str]:
    def work(tx: Tx) -> set[str]:
        found = tx.rows(
            sa.text(
                "select inhrelid::regclass::text from pg_inherits"
                f" where inhparent = 'record_{kind}'::regclass"
            )
        )
        return {row[0] for row in found}

    return world.read(work)


def partition_of(world: World, kind: str, at: Moment) -> str:
    """The partition that holds the records of an instant."""
    query = sa.text(f"select distinct tableoid::regclass::text from record_{kind} where ts = {at}")
    name = str(world.read(lambda tx: tx.rows(query))[0][0])
    return name.rpartition("_")[0] if CITUS_URL else name  # without the number of its shard


@pytest.mark.parametrize("engine", ["postgresql"])
def test_postgresql_drops_expired_monthly_partitions_and_no_others(
    make_world: Callable[..., World],
) -> None:
    world = make_world(retention_data_days=20, retention_event_days=200)
    ada = world.person("ada")
    sensor, now = device(ada, ada.group()), world.clock.now()
    decades_ago = now - 9_000 * DAY
    for kind in ("data", "event"):
        ok(post_record(ada, kind, sensor, now, "this month"))
    ok(post_record(ada, "geoloc", sensor, decades_ago, "long ago"))
    month = partition_of(world, "data", now)
    events = partition_of(world, "event", now)
    assert month != "record_data_default"
    delete_expired(world)
    assert month in partitions(world, "data"), "a month that is not over stays"
    assert on_disk(world)["data"] == 1

    let_pass(world, days=70)
    later = world.clock.now()
    renew_tokens(world, ada)
    ok(post_record(ada, "data", sensor, later, "another month"))
    ok(post_record(ada, "data", sensor, decades_ago, "a device with a clock of its own"))
    assert list_data(ada, "data", sensor) == ["another month"]
    before = partitions(world, "data")
    delete_expired(world)
    gone = before - partitions(world, "data")
    assert month in gone
    assert "record_data_default" in partitions(world, "data")
    assert partition_of(world, "data", later) not in gone
    assert list_data(ada, "data", sensor) == ["another month"]
    assert on_disk(world)["data"] == 1, "and the stray one is removed alone"
    assert events in partitions(world, "event"), "each kind has its own time"
    assert list_data(ada, "event", sensor) == ["this month"]
    assert list_data(ada, "geoloc", sensor) == ["long ago"]


def test_a_step_leaves_the_database_to_others_for_three_times_as_long(world: World) -> None:
    def step(tx: Tx) -> str:
        time.sleep(0.05)
        return "done"

    began = time.monotonic()
    assert world._run(pacing.write_and_pause(world.database, step)) == "done"
    assert time.monotonic() - began >= 0.19, "a timer counts in milliseconds, and may be early"

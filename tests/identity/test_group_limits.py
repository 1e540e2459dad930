"""Limits of groups and their retention: set, inherited, bounded, obeyed at once, and deleted by."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import DAY, HOUR, Moment
from longwire.dates import format_date
from longwire.errors import Unavailable
from longwire.fleet import retention
from longwire.fleet.summaries import SummaryWork
from longwire.store.records import record_deletion
from tests.delivery.receiver import Receiver
from tests.reports import KINDS, list_data, post_record
from tests.test_retention import on_disk, renew_tokens
from tests.test_storage_quota import counted, recounted
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

CODEC = "function decodeUplink(input) { return {data: {%s: input.bytes[0]}}; }"


def limit(world: World, group: str, **limits: Any) -> dict[str, Any]:
    found: dict[str, Any] = ok(
        world.operator.put("/group/limits", {"groupId": group, "limits": limits})
    )
    return found


def keep(person: Person, group: str, **days: int) -> dict[str, Any]:
    found: dict[str, Any] = ok(
        person.put("/group/retention", {"groupId": group, "retentionDays": days})
    )
    return found


def kept(person: Person, group: str) -> dict[str, tuple[int, str]]:
    found = ok(person.get("/group/limits", groupId=group))["effectiveRetention"]
    return {each["name"]: (each["days"], each["source"]) for each in found}


def summarize(world: World) -> SummaryWork:
    world.clock.let_pass(seconds=120)
    work = SummaryWork(world.database)
    world._run(work.run_round())
    return work


def delete_expired(world: World) -> None:
    """A round of the retention of groups, after one of the summaries."""
    until = summarize(world).complete_until
    assert until is not None
    world._run(retention.delete_of_groups(world.database, until))


def test_limits_and_retention_are_set_inherited_and_bounded(
    make_world: Callable[..., World],
) -> None:
    world = make_world(retention_data_days=100, stored_records_per_group_max=50)
    ada, viewer, stranger = (world.person(name) for name in ("ada", "vera", "stan"))
    top = ada.group("top")
    below = ada.group("below", parent=top)
    ada.invite(viewer, below, "viewer")
    assert kept(viewer, below)["data"] == (100, "service")
    assert kept(viewer, below)["summary"] == (3650, "service")

    # Whoever may change the group says how long; only an operator what it may have.
    body = {"groupId": top, "retentionDays": {"data": 30, "event": 7}}
    refused(viewer.put("/group/retention", {**body, "groupId": below}), 403)
    refused(stranger.put("/group/retention", body), 404, "groupId")
    refused(stranger.get("/group/limits", groupId=top), 404, "groupId")
    refused(ada.put("/group/limits", {"groupId": top, "limits": {"storedRecordsMax": 5}}), 403)
    shown = ok(ada.put("/group/retention", body))
    assert shown["retentionDays"] == {"data": 30, "event": 7}
    assert kept(ada, top)["data"] == (30, "group")
    assert kept(viewer, below)["data"] == (30, "inherited")
    assert kept(viewer, below)["geoloc"] == (0, "service")

    # Below it may be longer or shorter, but never longer than the operator allows.
    keep(ada, below, data=90, event=0)
    assert kept(ada, below)["data"] == (90, "group")
    assert kept(ada, below)["event"] == (0, "group"), "for ever, which the service allows"
    too_long = {"groupId": below, "retentionDays": {"data": 101, "summary": 0}}
    names = "retentionDays.data", "retentionDays.summary"
    error = refused(ada.put("/group/retention", too_long), 400, *names)
    assert "100 days" in json.dumps(error) and "3,650" in json.dumps(error)
    longest = {"data": 60, "event": 20}
    limit(world, top, retentionDaysMax=longest, storedRecordsMax=10)
    assert kept(ada, below)["data"] == (60, "group")
    assert kept(ada, below)["event"] == (20, "group")
    error = refused(
        ada.put("/group/retention", {"groupId": below, "retentionDays": {"event": 0}}), 400
    )
    assert "20 days" in json.dumps(error)
    over = {"groupId": top, "limits": {"retentionDaysMax": {"data": 101}}}
    refused(world.operator.put("/group/limits", over), 400, "limits.retentionDaysMax.data")

    # Who may not see the group above sees what it says, and not which group it is.
    (stored,) = (
        each
        for each in ok(viewer.get("/group/limits", groupId=below))["effectiveLimits"]
        if each["name"] == "storedRecordsMax"
    )
    assert stored == {"name": "storedRecordsMax", "value": 10, "source": "inherited"}
    (stored, *_) = ok(ada.get("/group/limits", groupId=below))["effectiveLimits"]
    assert stored["groupId"] == top and stored["used"] == 0

    # Based on another version; and taken back.
    version = ok(ada.get("/group/limits", groupId=top))["updatedAt"]
    stale = {**body, "ifUpdatedAt": "2020-01-01"}
    refused(ada.put("/group/retention", stale), 409, "ifUpdatedAt")
    ok(ada.put("/group/retention", {**body, "retentionDays": {}, "ifUpdatedAt": version}))
    assert kept(ada, top)["data"] == (60, "service")
    entries = ok(ada.get("/group/audit", groupId=top))["items"]
    changes = [each for each in entries if each["action"].startswith("group.update")]
    assert [each["action"] for each in changes] == [
        *("group.updateRetention", "group.updateLimits", "group.updateRetention")
    ]
    before = changes[0]["before"]["retentionDays"]
    assert before == body["retentionDays"], "as it is sent to undo it"
    assert changes[1]["after"]["limits"]["retentionDaysMax"] == longest
    # What is limited goes with the group.
    ok(ada.delete("/group", groupId=below))
    assert [row[0] for row in world.list_rows("group_limits")] == [top]


def test_what_a_group_and_those_below_it_store_is_limited_at_once(world: World) -> None:
    ada = world.person("ada")
    top = ada.group("top")
    below, other = ada.group("below", parent=top), ada.group("other")
    sensors = {group: ada.device(group) for group in (top, below, other)}

    def post(group: str, second: int) -> Any:
        return post_record(ada, "data", sensors[group], second * 1_000_000, "x")

    for second in (1, 2, 3):
        ok(post(top, second))
        ok(post(below, second))
    shown = limit(world, top, storedRecordsMax=8)
    assert shown["storedWithSubgroups"]["records"] == 6
    assert shown["stored"]["records"] == 3
    ok(post(below, 4))
    ok(post(top, 4))
    error = refused(post(below, 5), 409)
    assert "storedRecordsMax" in json.dumps(error) and " 8" in json.dumps(error)
    refused(post(top, 5), 409)
    ok(post(other, 5))
    # A larger limit below changes nothing above it, and a smaller one holds there.
    limit(world, below, storedRecordsMax=100)
    refused(post(below, 5), 409)
    limit(world, top, storedRecordsMax=100)
    ok(post(below, 5))
    limit(world, below, storedRecordsMax=5)
    refused(post(below, 6), 409)
    ok(post(top, 6))
    limit(world, below)
    ok(post(below, 6))


@pytest.mark.engine_free
def test_app_clients_of_a_group_share_its_rate(make_world: Callable[..., World]) -> None:
    world = make_world(requests_per_caller_burst=5)
    world.clock.freeze()
    ada = world.person("ada")
    top = ada.group("top")
    below = ada.group("below", parent=top)
    one, two = ada.app_client(top, "one"), ada.app_client(below, "two")
    sensor = ada.device(below)
    for number in range(10):
        ok(post_record(two, "data", sensor, number * 1_000_000, "x"))
    limit(world, top, requestsPerSecond=1)
    answers = [
        post_record(client, "data", sensor, (20 + number) * 1_000_000, "x").status_code
        for number in range(4)
        for client in (one, two)
    ]
    assert answers == [200] * 5 + [429] * 3
    ok(ada.get("/group", groupId=top))  # a user is no caller of the group
    world.clock.let_pass(seconds=2)
    assert [one.get("/group", groupId=top).status_code for _ in range(3)] == [200, 200, 429]
    limit(world, top)
    ok(one.get("/group", groupId=top))


@pytest.mark.engine_free
def test_a_group_deletes_what_has_expired_by_its_own_retention(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_deletion, "PRUNE_ROWS_MAX", 3)
    world = make_world(token_lifetime_s=10**8)
    ada = world.person("ada")
    short = ada.group("short")
    long = ada.group("long", parent=short)
    other = ada.group("other")
    moved, below, elsewhere = ada.device(short), ada.device(long), ada.device(other)
    now = world.clock.now() // HOUR * HOUR + HOUR // 2
    ages = [20 * DAY, 12 * DAY, 12 * DAY - HOUR, 9 * DAY, DAY]

    def post(device: str, age: Moment) -> None:
        value = json.dumps({"level": age // HOUR})
        ok(post_record(ada, "data", device, now - age, value))
        ok(post_record(ada, "event", device, now - age, "event"))

    for age in ages:
        for device in (moved, below, elsewhere):
            post(device, age)
    everything = {"data": 15, "event": 15, "geoloc": 0, "telemetry": 0}
    ok(ada.put("/device/transfer", {"deviceId": moved, "groupId": short, "toGroupId": other}))
    ok(post_record(ada, "data", moved, now - 19 * DAY, "after the transfer"))
    series = {"deviceId": moved, "measurement": "level", "calendarSpan": "day"}
    series |= {
        "timezone": "UTC",
        "beginDate": format_date(now - 30 * DAY),
        "endDate": format_date(now),
    }
    summarize(world)
    before = ok(ada.get("/device/series", **series))
    assert len(before["items"][0]["points"]) >= 4

    keep(ada, short, data=10)
    keep(ada, long, data=15)
    levels = [str(json.dumps({"level": age // HOUR})) for age in ages]
    # Each stay by its group, at once; nothing is deleted for a day, as it may be a mistake.
    assert list_data(ada, "data", moved) == ["after the transfer", *levels[3:]]
    assert list_data(ada, "data", below) == levels[1:]
    assert list_data(ada, "data", elsewhere) == levels
    listed = ok(ada.get("/group/records", groupId=short, subgroups="true", kinds="data"))
    assert len(listed["items"]) == 2 + 4
    exported = ada.get("/records/export", groupId=short, subgroups="true", kind="data")
    assert len(exported.text.splitlines()) == 2 + 4
    assert len(ada.get("/records/export", groupId=short, kind="data").text.splitlines()) == 2
    assert len(ada.get("/records/export", deviceId=moved, kind="data").text.splitlines()) == 3
    delete_expired(world)
    assert on_disk(world) == {**everything, "data": 16}
    keep(ada, short, data=400)
    assert list_data(ada, "data", moved) == [levels[0], "after the transfer", *levels[1:]]

    # A process that dies after a step has deleted some; the next one goes on.
    keep(ada, short, data=10)
    world.clock.let_pass(days=1.5)
    renew_tokens(world, ada)
    steps, write = [], world.database.write

    async def die(work: Any) -> Any:
        steps.append(work)
        if len(steps) > 1:
            raise Unavailable
        return await write(work)

    until = summarize(world).complete_until
    assert until is not None
    monkeypatch.setattr(world.database, "write", die)
    with pytest.raises(Unavailable):
        world._run(retention.delete_of_groups(world.database, until))
    monkeypatch.setattr(world.database, "write", write)
    assert on_disk(world)["data"] == 16 - 3
    delete_expired(world)
    assert on_disk(world) == {**everything, "data": 16 - 4 - 1}, "each group by its own"
    for group in (short, long, other):
        assert counted(world, group) == recounted(world, group)
    # What was made of them stays, and what arrives again is not counted once more.
    assert ok(ada.get("/device/series", **series))["items"] == before["items"]
    post(below, ages[0])
    assert list_data(ada, "data", below) == levels[1:]
    summarize(world)
    assert ok(ada.get("/device/series", **series))["items"] == before["items"]
    values = {each["name"]: each["value"] for each in _values(ada, moved)}
    assert values == {}, "of the group it is in"
    keep(ada, other, data=1)
    world.clock.let_pass(days=3)
    renew_tokens(world, ada)
    delete_expired(world)
    assert list_data(ada, "data", elsewhere) == []
    assert _values(ada, elsewhere)[0]["value"] == 24, "a current value outlives its record"
    assert set(on_disk(world)) == set(KINDS)


@pytest.mark.engine_free
def test_a_group_that_is_moved_below_a_shorter_retention_loses_nothing_for_a_day(
    world: World,
) -> None:
    ada = world.person("ada")
    short, home = ada.group("short"), ada.group("home")
    group = ada.group("moved", parent=home)
    below = ada.group("below", parent=group)
    sensor = ada.device(below)
    keep(ada, short, data=10)
    ok(post_record(ada, "data", sensor, world.clock.now() - 20 * DAY, "old"))
    world.clock.let_pass(days=1.5)
    renew_tokens(world, ada)
    delete_expired(world)
    ok(ada.put("/group", {"groupId": group, "parent": short}))
    assert list_data(ada, "data", sensor) == []
    delete_expired(world)
    ok(ada.put("/group", {"groupId": group, "parent": home}))
    assert list_data(ada, "data", sensor) == ["old"], "the move was a mistake"
    ok(ada.put("/group", {"groupId": group, "parent": short}))
    world.clock.let_pass(days=1.5)
    renew_tokens(world, ada)
    delete_expired(world)
    assert on_disk(world).get("data", 0) == 0


def _values(person: Person, device: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(person.get("/device/values", deviceId=device))["items"]
    return found


def test_what_is_marked_is_summarized_before_its_records_go(world: World) -> None:
    """However late: else a service that was down would have no summaries of that time."""
    ada = world.person("ada")
    group = ada.group()
    sensor = ada.device(group)
    now = world.clock.now()
    keep(ada, group, data=2)
    for hours in (30, 6, 5):
        ok(post_record(ada, "data", sensor, now - hours * HOUR, json.dumps({"level": hours})))
    world.clock.let_pass(days=10)
    renew_tokens(world, ada)
    assert list_data(ada, "data", sensor) == []
    series = {"deviceId": sensor, "measurement": "level", "calendarSpan": "year"}
    series |= {
        "timezone": "UTC",
        "beginDate": format_date(now - 400 * DAY),
        "endDate": format_date(now + DAY),
    }

    def numbers() -> int:
        (device,) = ok(ada.get("/device/series", **series))["items"]
        return sum(each["count"] for each in device["points"])

    assert numbers() == 3
    delete_expired(world)
    assert on_disk(world)["data"] == 0
    assert numbers() == 3
    # Summaries have a retention of their own.
    keep(ada, group, data=2, summary=30)
    world.clock.let_pass(days=100)
    renew_tokens(world, ada)
    world._run(retention.delete_summaries(world.database))
    assert world.list_rows("summary_days") == world.list_rows("summary_quarters") == []


@pytest.mark.engine_free
def test_what_has_expired_is_used_nowhere_although_it_is_not_deleted_yet(
    make_world: Callable[..., World],
) -> None:
    world = make_world(token_lifetime_s=10**8)
    ada = world.person("ada")
    group = ada.group()
    sensor = ada.device(group, type="meter")
    now = world.clock.now()
    period = {"beginDate": format_date(now - 30 * DAY), "endDate": format_date(now)}

    def decode(name: str) -> None:
        decoder = {"type": "meter", "decoder": "javascript", "decoderSource": CODEC % name}
        ok(world.operator.put("/device/type/decoder", decoder))

    decode("celsius")
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url, messageFilter="message.kind == 'data'")
        named = {"groupId": group, "connectorId": connector}
        for raw, age in (("05", 20 * DAY), ("06", DAY)):
            ada.reports(sensor, timestamp=format_date(now - age), data="{}", __raw=raw)
        receiver.wait_for(2)
        newest = ok(ada.get("/group/records", groupId=group, kinds="data"))["items"]
        new, old = (each["id"] for each in newest)

        def trace(record: str) -> Any:
            return ada.get("/record/trace", recordId=record)

        def message_of(record: str) -> str:
            (found,) = ok(trace(record))["connectors"]
            return str(found["message"]["event"]["id"])

        eventually(lambda: all(_is_delivered(ok(trace(each))) for each in (new, old)))
        messages = message_of(new), message_of(old)

        def see() -> list[Any]:
            """How many records each place has."""
            draft = {"type": "http", "params": json.dumps({"url": receiver.url})}

            def preview(path: str, **body: Any) -> int:
                items = ok(ada.post(path, {"groupId": group, "limit": 100, **body}))["items"]
                return sum(each.get("kind", "data") == "data" for each in items)

            shown = [ok(ada.get("/connector/message", id=each)) for each in messages]
            return [
                preview("/connector/preview", connectorId=connector),
                preview("/connector/preview", draft=draft),
                preview("/device/type/preview", type="meter"),
                ok(ada.post("/connector/replay/preview", {**named, **period}))["matches"],
                ok(ada.post("/device/redecode", {"deviceId": sensor}))["lookedAt"],
                sum("record" in each for each in shown),
                sum(trace(each).status_code == 200 for each in (new, old)),
                sum(
                    ada.get("/record/trace", messageId=each).status_code == 200 for each in messages
                ),
            ]

        assert see() == [2] * 8
        keep(ada, group, data=10)
        assert see() == [1] * 8
        refused(trace(old), 404, "recordId")
        assert ok(ada.post("/connector/replay", {**named, **period}))["queued"] == 1
        receiver.wait_for(3)
        # It was not decoded again, and is as it was when more days are kept.
        decode("kelvin")
        assert ok(ada.post("/device/redecode", {"groupId": group}))["changed"] == 1
        assert on_disk(world)["data"] == 2
        keep(ada, group)
        assert list_data(ada, "data", sensor) == ['{"celsius":5}', '{"kelvin":6}']
        assert see() == [2] * 8


def _is_delivered(traced: dict[str, Any]) -> bool:
    states = [each.get("message", {}).get("state") for each in traced["connectors"]]
    return states == ["succeeded"]


def test_summaries_that_have_expired_are_in_no_series_although_they_are_not_deleted_yet(
    world: World,
) -> None:
    ada = world.person("ada")
    group, other = ada.group("short"), ada.group("long")
    sensor = ada.device(group)
    litres = {"name": "litres", "path": "/data/litres", "class": "counter", "unit": "l"}
    declared = {"type": "generic", "measurements": [litres]}
    ok(world.operator.put("/device/type/measurements", declared))
    now = world.clock.now() // DAY * DAY + DAY // 2

    def post(age: Moment, value: int) -> None:
        ok(post_record(ada, "data", sensor, now - age, json.dumps({"litres": value})))

    for age, value in ((100, 10), (70, 30), (31, 60), (29, 100), (5, 150)):
        post(age * DAY, value)
    ok(ada.put("/device/transfer", {"deviceId": sensor, "groupId": group, "toGroupId": other}))
    post(60 * DAY, 50)
    summarize(world)
    days = {"measurement": "litres", "calendarSpan": "day", "timezone": "UTC"}
    days |= {"endDate": format_date(now + DAY), "beginDate": format_date(now - 200 * DAY)}
    year = {**days, "calendarSpan": "year"}
    few = {**days, "beginDate": format_date(now - 10 * DAY)}

    def read() -> list[Any]:
        of_device = [
            ok(ada.get("/device/series", deviceId=sensor, **asked))["items"][0]["points"]
            for asked in (days, year, few)
        ]
        of_group = ok(ada.get("/group/series", groupId=group, of="count", **days))["points"]
        return [
            [len(of_device[0]), sum(each["count"] for each in of_device[1])],
            sum(each["increase"] for each in of_device[0]),
            sum(each["increase"] for each in of_device[2]),
            len(of_group),
        ]

    assert read() == [[6, 6], 140, 50, 5]
    keep(ada, group, summary=30)
    # Of the group where the device is now, one of 60 days ago is still there.
    assert read() == [[3, 3], 100, 50, 2]
    keep(ada, group, summary=20)
    assert read() == [[2, 2], 100, 100, 1], "from the last number that is kept"
    keep(ada, other, summary=20)
    assert read() == [[1, 1], 0, 0, 1]
    # A late record does not bring one back.
    ok(ada.put("/device/transfer", {"deviceId": sensor, "groupId": other, "toGroupId": group}))
    post(40 * DAY, 55)
    assert read()[0] == [1, 1]
    keep(ada, group)
    keep(ada, other)
    summarize(world)
    assert read()[0] == [7, 7]

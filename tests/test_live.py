"""The live stream: one list with the history, resumed anywhere, and nobody waits for a listener."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, cast

import pytest

from longwire.api import live
from longwire.clock import HOUR
from longwire.errors import Unavailable
from longwire.fleet import arrivals
from longwire.ingest import storing
from longwire.live import activity, hub
from longwire.live.activity import READINGS_KEPT, Activity, ActivityReader, DeliveryCounts
from longwire.live.cursors import LiveCursor, SentArrivals, SeqRun, parse_cursor
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.fleet import activity as activity_store
from tests.browser import Browser
from tests.delivery.receiver import Receiver
from tests.listening import Listening
from tests.process import Service
from tests.waiting import eventually
from tests.web.test_streaming import open_stream
from tests.world import Person, World, ok, record_of, refused, walk

START = 1_772_366_400


def store(person: Person, device: str, numbers: Iterator[int], count: int = 1) -> None:
    items = [record_of(device, timestamp=START + next(numbers)) for _ in range(count)]
    ok(person.post("/device/data/batch", {"items": items}))


def history(person: Person, group: str) -> list[str]:
    items = walk(partial(person.get, "/group/records"), groupId=group, ascending=True, limit=1000)
    return [each["id"] for each in items]


@pytest.mark.slow
@pytest.mark.engine_free
def test_what_is_stored_is_sent_to_those_who_may_see_it(world: World) -> None:
    ada, eve = world.person(), world.person("eve")
    group = ada.group()
    under = ada.group("under", group)
    devices = [ada.device(group, name="here"), ada.device(under)]
    other = eve.device(eve.group("other"))
    for unknown in (group, "1"):
        refused(eve.get("/live", groupId=unknown), 404, "groupId")
    refused(world.nobody.get("/live", groupId=group), 401)
    refused(ada.get("/live"), 400, "groupId")
    refused(ada.get("/live", groupId=[group] * 21), 400, "groupId")
    refused(ada.get("/live", groupId=group, filter="message.("), 400, "filter")
    bad = ada.request("GET", "/live", params={"groupId": group}, headers={"Last-Event-ID": "x"})
    refused(bad, 400)
    ada.reports(devices[0], data='{"celsius": 1}')
    with (
        Listening(ada, groupId=group) as one,
        Listening(ada, groupId=[group, under], kinds=["event", "geoloc"]) as two,
        Listening(ada, groupId=group, subgroups=True, deviceId=devices[1]) as three,
        Listening(ada, groupId=group, filter="message.data.celsius > 20") as four,
    ):
        ada.reports(devices[0], data='{"celsius": 21}', timestamp=START)
        ada.reports(devices[0], data='{"celsius": 2}', timestamp=START + 1)
        ada.reports(devices[1], "event")
        ada.reports(devices[1], "telemetry")
        eve.reports(other)
        ada.reports(devices[0], "geoloc", lat=1, lng=2)
        listed = ok(ada.get("/group/records", groupId=group, ascending=True))["items"]
        one.wait_for(3)
        assert one.records == listed[1:], "as the history has them"
        two.wait_for(2)
        assert [each["kind"] for each in two.records] == ["event", "geoloc"]
        three.wait_for(2)
        assert [each["kind"] for each in three.records] == ["event", "telemetry"]
        four.wait_for(1)
        assert four.records == listed[1:2]
        metrics = world.nobody.get("/metrics").text
        assert "longwire_live_listeners 4.0" in metrics
    eventually(lambda: "longwire_live_listeners 0.0" in world.nobody.get("/metrics").text)


@pytest.mark.slow
def test_history_and_live_are_one_list_across_disconnects_and_a_restart(world: World) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    numbers = itertools.count()
    store(ada, device, numbers, 3)
    listening = Listening(ada, groupId=group)
    before = history(ada, group)
    got: list[str] = []
    for turn in range(4):
        store(ada, device, numbers, 2)
        got += listening.wait_for(2 if turn == 0 else 5)
        assert len(listening.ids) == (2 if turn == 0 else 5)
        last_id = listening.last_id
        listening.close()
        store(ada, device, numbers, 3)  # while nobody listens
        if turn == 1:
            world.restart()
            ada.token = world.token(ada.client_id, ada.client_secret)
        listening = Listening(ada, last_id, groupId=group)
    got += listening.wait_for(3)
    listening.close()
    everything = history(ada, group)
    assert len(set(got)) == len(got), "none twice"
    assert before + got == everything, "and none left out"


@pytest.mark.engine_free
def test_a_page_listens_with_its_session_alone_and_no_other_site_does(world: World) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    with Browser(world) as browser:
        browser.sign_in_as(ada)
        with Listening(ada, cookie=browser.cookie, groupId=group) as listening:
            ada.reports(device)
            assert len(listening.wait_for(1)) == 1
            for header in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
                forged = browser.http.get("/live", params={"groupId": group}, headers=header)
                assert refused(forged, 403)["code"] == "cross_site"
            assert browser.http.delete("/session").status_code == 200
            ada.reports(device, "event")
            assert listening.wait_for_end()["code"] == "not_authenticated"
            assert len(listening.ids) == 1
        refused(browser.http.get("/live", params={"groupId": group}), 401)


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_record_stored_by_one_process_is_seen_by_those_who_listen_to_another(
    world: World, settings: Settings
) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    numbers = itertools.count()
    service = Service(settings.data, "--database", settings.database)
    try:
        # It has an address and a client, which is all that a person needs of a world.
        there = ada.at(cast(World, service.started()))
        with Listening(there, groupId=group) as far, Listening(ada, groupId=group) as near:
            for _ in range(3):
                store(ada, device, numbers)
                store(there, device, numbers)
            far.wait_for(6)
            near.wait_for(6)
        assert set(far.ids) == set(near.ids) == set(history(ada, group))
        assert len(far.ids) == len(near.ids) == 6
    finally:
        service.clean_up()


@pytest.mark.parametrize("engine", ["postgresql"])  # one process serves a file
def test_two_processes_tell_each_other(make_world: Callable[..., World]) -> None:
    world = make_world()
    second = make_world()
    ada = world.person()
    there = ada.at(second)
    group = ada.group()
    device, other = ada.device(group), ada.device(group)
    numbers = itertools.count()
    store(ada, device, numbers, 2)
    listening = Listening(ada, groupId=group)
    before = history(ada, group)
    got: list[str] = []
    stop = threading.Event()

    def keep_storing(person: Person, device: str) -> None:
        own = itertools.count(100)
        while not stop.is_set():
            store(person, device, own, 2)

    writers = [
        threading.Thread(target=keep_storing, args=each) for each in ((ada, device), (there, other))
    ]
    for writer in writers:
        writer.start()
    try:
        for turn in range(6):
            listening.wait_for(20)
            listening.close()
            last_id = listening.last_id
            got += listening.ids
            # Sometimes at the other process, which has published none of it itself.
            listening = Listening((ada, there)[turn % 2], last_id, groupId=group)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    everything = history(ada, group)
    listening.wait_for(len(everything) - len(before) - len(got))
    got += listening.ids
    listening.close()
    assert len(set(got)) == len(got), "none twice"
    assert set(before) | set(got) == set(everything), "and none left out"


@pytest.mark.parametrize("engine", ["postgresql"])  # the other one has a single writer
def test_a_commit_that_ends_long_after_others_is_neither_missed_live_nor_by_an_export(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, second = make_world(), make_world()
    ada = world.person()
    there = ada.at(second)
    group = ada.group()
    slow, other = ada.device(group), ada.device(group)
    is_held, may_go_on = threading.Event(), threading.Event()
    store_batteries = storing.store_batteries

    def hold(tx: Tx, *given: Any) -> Any:
        if slow in given[-1] and not is_held.is_set():
            is_held.set()  # the record has its number, and is inserted
            may_go_on.wait(60)
        return store_batteries(tx, *given)

    def let_pass() -> None:
        for each in (world, second):
            each.clock.let_pass(seconds=30)

    def export(after: str | None = None) -> list[str]:
        params = {} if after is None else {"after": after}
        lines = there.get("/records/export", groupId=group, **params).text.splitlines()
        return [json.loads(line)["id"] for line in lines]

    monkeypatch.setattr(storing, "store_batteries", hold)
    numbers = itertools.count()
    store(ada, other, numbers)
    with Listening(there, groupId=group) as early, ThreadPoolExecutor(1) as pool:
        try:
            late = pool.submit(store, ada, slow, numbers)
            assert is_held.wait(60)
            let_pass()
            store(there, other, numbers)
            store(there, other, numbers)
            early.wait_for(2)
            let_pass()
            before = history(ada, group)
            assert export() == before[:1], "nothing behind what is still to come"
            with Listening(there, groupId=group) as joined:
                may_go_on.set()
                late.result(60)
                assert early.wait_for(3)[2:] == joined.wait_for(1)
        finally:
            may_go_on.set()
        with Listening(there, early.last_id, groupId=group) as resumed:
            store(ada, other, numbers)
            assert len(resumed.wait_for(1)) == 1
    everything = history(ada, group)
    assert early.ids[2] == everything[1], "it has its place before the others"
    let_pass()
    assert export(before[0]) == everything[1:]


@pytest.mark.engine_free
def test_a_client_disconnected_too_long_or_too_slow_gets_the_range_it_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    numbers = itertools.count()
    store(ada, device, numbers, 1)
    with Listening(ada, groupId=group) as listening:
        store(ada, device, numbers, 1)
        listening.wait_for(1)
    store(ada, device, numbers, 30)
    monkeypatch.setattr(arrivals, "LOOKED_AT_MAX", 20)
    with Listening(ada, listening.last_id, groupId=group) as again:
        eventually(lambda: bool(again.named("lost")))
        (lost,) = again.named("lost")
        assert "count" not in lost
        monkeypatch.undo()
        between = {"after": lost["from"], "before": lost["to"]}
        found = ok(ada.get("/group/records", groupId=group, **between))["items"]
        assert {each["id"] for each in found} >= set(history(ada, group)[2:])
        monkeypatch.setattr(hub, "BOX_RECORDS_MAX", 10)
        store(ada, device, numbers, 25)  # in one commit
        eventually(lambda: len(again.named("lost")) == 2)
        lost = again.named("lost")[1]
        again.wait_for(10)
        between = {"after": lost["from"], "before": lost["to"]}
        missing = ok(ada.get("/group/records", groupId=group, **between))["items"]
        assert (lost["count"], len(missing)) == (15, 15)
        assert not {each["id"] for each in missing} & set(again.ids)


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_client_that_does_not_read_holds_up_nobody(make_world: Callable[..., World]) -> None:
    world = make_world(write_timeout_s=1.0)
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    large = json.dumps({"text": "x" * 250_000})
    with closing(open_stream(world, ada.token, f"/live?groupId={group}")) as deaf:
        assert deaf.recv(16).startswith(b"HTTP/1.1 200")
        with Listening(ada, groupId=group) as listening:
            for minute in range(60):
                ada.reports(device, data=large, timestamp=START + minute)
                listening.wait_for(minute + 1)
        # It is cut off, and its place is free again.
        eventually(lambda: "longwire_live_listeners 0.0" in world.nobody.get("/metrics").text)


@pytest.mark.engine_free
def test_a_permission_or_token_that_ends_ends_the_stream(world: World) -> None:
    ada, bob = world.person(), world.person("bob")
    group = ada.group()
    device = ada.device(group)
    ada.invite(bob, group, "viewer")
    with Listening(bob, groupId=group) as listening, Listening(ada, groupId=group) as other:
        ada.reports(device)
        listening.wait_for(1)
        ok(ada.delete("/group/user", groupId=group, userId=bob.id))
        ada.reports(device, "event")
        assert listening.wait_for_end()["code"] == "not_found"
        other.wait_for(2)
        assert len(listening.ids) == 1, "what came after was for others"
        world.clock.let_pass(seconds=2 * 3_600)
        assert other.wait_for_end()["code"] == "not_authenticated"


@pytest.mark.engine_free
def test_a_silent_stream_shows_that_it_lives_and_a_stop_says_so_and_waits_for_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.1)
    ada = world.person()
    group = ada.group()
    with Listening(ada, groupId=group) as listening:
        eventually(lambda: listening.comments > 0)
        assert listening.named("records") == []
        world.restart()
        assert listening.wait_for_end()["code"] == "stopping"


@pytest.mark.slow
@pytest.mark.engine_free
def test_streams_of_a_caller_are_limited(make_world: Callable[..., World]) -> None:
    world = make_world(live_listeners_max=11)
    ada, bob = world.person(), world.person("bob")
    mine, theirs = ada.group(), bob.group()
    streams = [Listening(ada, groupId=mine) for _ in range(8)]
    refused(ada.get("/live", groupId=mine), 429)
    streams.append(Listening(bob, groupId=theirs))
    assert refused(bob.get("/live", groupId=theirs), 429)
    for each in streams:
        each.close()
    eventually(lambda: bob.request("HEAD", "/live", params={"groupId": theirs}).status_code == 200)


def test_a_cursor_names_what_was_sent_behind_its_base() -> None:
    step = 1 << 10
    base = 1_800_000_000_000_000 * step
    sent = SentArrivals(base)
    first = [base + 7, base + 7 + step, base + 7 + 2 * step, base + 9_000_001]
    sent.add([*first[:2], base - 5])
    sent.add(first[2:])
    assert parse_cursor(sent.format()) == LiveCursor(
        base, (SeqRun(base + 7, 3), SeqRun(base + 9_000_001, 1))
    )
    sent.move(base + 8 * step)
    again = parse_cursor(sent.format())
    assert again is not None
    assert (again.base, again.sent) == (base + 8 * step, {base + 9_000_001})
    # After an hour, and with what a resumed stream begins with.
    resumed = SentArrivals(again.base, again.runs)
    later = base + 3_600_000_000 * step * 10
    resumed.add([later])
    resumed.move(later - 1)
    end = parse_cursor(resumed.format())
    assert end == LiveCursor(later - 1, (SeqRun(later, 1),))
    resumed.move(later)
    assert parse_cursor(resumed.format()) == LiveCursor(later)
    for wrong in (
        "",
        "x",
        "rec_",
        "rec_5-",
        "rec_5-4",
        "rec_5-4.",
        "rec_5-4.*3",
        "rec_5-4.1*fffff",
    ):
        assert parse_cursor(wrong) is None


def changed(listener: Listening, kind: str) -> set[str]:
    return {each for data in listener.named("changed") for each in data.get(kind, ())}


@pytest.mark.slow
def test_changes_and_deliveries_are_published_to_those_who_may_see_them(world: World) -> None:
    ada, bob, eve = world.person(), world.person("bob"), world.person("eve")
    group, foreign = ada.group(), eve.group("foreign")
    device = ada.device(group)
    ada.invite(bob, group, ada.role("record.read", "device.read"))
    with (
        Listening(ada, groupId=group, subgroups=True) as listening,
        Listening(bob, groupId=group) as other,
    ):
        eve.device(foreign)
        connector = ada.connector(group, "http://127.0.0.1:9/")  # nobody listens there
        ok(ada.put("/device", {"deviceId": device, "groupId": group, "name": "renamed"}))
        under = ada.group("under", group)
        ada.reports(device)

        eventually(lambda: changed(listening, "devices") == {device})
        eventually(lambda: changed(listening, "connectors") == {connector})
        eventually(lambda: under in changed(listening, "groups"))
        eventually(
            lambda: any(
                item["connectorId"] == connector and item["waiting"] == 1
                for items in listening.named("deliveries")
                for item in items
            )
        )
        eventually(lambda: changed(other, "devices") == {device})
        assert not changed(other, "connectors") | changed(other, "groups")
        assert not other.named("deliveries")
        assert changed(listening, "devices") == {device}, "and nothing of others"


def test_alarms_are_published_to_those_who_may_see_them(world: World) -> None:
    ada, bob = world.person(), world.person("bob")
    group = ada.group()
    device = ada.device(group)
    ada.invite(bob, group, ada.role("record.read", "device.read"))
    params = {"measurement": "moisture", "below": 15}
    name = ada.notification(group, "http://127.0.0.1:9/", params=params, reason="measurement")
    ada.reports(device, data='{"moisture": 12}', timestamp="2026-03-01T11:00:00Z")
    ada.reports(device, data='{"moisture": 18}', timestamp="2026-03-01T11:00:01Z")

    def published(listening: Listening) -> list[Any]:
        return [
            (each["deviceId"], each["notificationId"], each["severity"], each["state"])
            for items in listening.named("alarms")
            for each in items
        ]

    with (
        Listening(ada, groupId=group, subgroups=True) as listening,
        Listening(bob, groupId=group) as other,
    ):
        ada.reports(device, data='{"moisture": 13}', timestamp="2026-03-01T11:00:02Z")
        expected = [(device, name, "warning", "raised")]
        eventually(lambda: published(listening) == expected)
        [alarm] = ok(ada.get("/group/alarms", groupId=group))["items"]
        ok(ada.post("/alarm/acknowledge", {"groupId": group, "alarmId": alarm["id"]}))
        expected.append((device, name, "warning", "acknowledged"))
        eventually(lambda: published(listening) == expected)
        ada.reports(device, data='{"moisture": 18}', timestamp="2026-03-01T11:00:03Z")
        expected.append((device, name, "warning", "resolved"))
        eventually(lambda: published(listening) == expected)
        assert not published(other)


def test_alarms_that_change_in_a_pause_or_many_at_once_are_all_published(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "ALARMS_MAX", 2)
    monkeypatch.setattr(activity, "ALARM_PAGES_MAX", 2)
    ada = world.person()
    group = ada.group()
    params = {"measurement": "moisture", "below": 15}
    ada.notification(group, "http://127.0.0.1:9/", params=params, reason="measurement")
    devices = [ada.device(group) for _ in range(6)]
    reader = activity.ActivityReader(world.database)

    def read() -> list[str | None]:
        return [each.device_id for each in world._run(reader.read_alarms([int(group)]))]

    world._run(reader.start())
    assert read() == []
    for device in devices:
        ada.reports(device, data='{"moisture": 12}')
    world.clock.let_pass(seconds=600)
    assert read() == devices[:4]
    assert read() == devices[4:]
    assert read() == []
    ada.reports(devices[0], data='{"moisture": 18}')
    assert [read(), read()] == [[devices[0]], []]


@pytest.mark.slow
@pytest.mark.engine_free
@pytest.mark.parametrize("readings_kept", [1, 10_000])
def test_a_new_group_is_reported_to_all_who_may_see_it(
    world: World, monkeypatch: pytest.MonkeyPatch, readings_kept: int
) -> None:
    """Also to those who are known to listen to it only after that was read, or much later."""
    monkeypatch.setattr(hub, "ACTIVITY_INTERVAL_S", 0.2)
    monkeypatch.setattr(activity, "READINGS_KEPT", readings_kept)
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    numbers = itertools.count()
    with (
        Listening(ada, groupId=group, subgroups=True) as busy,
        Listening(ada, groupId=group, subgroups=True, kinds=["event"]) as idle,
    ):
        for number in range(5):
            under = ada.group(f"{number}", group)
            below = ada.device(under)
            store(ada, device, numbers)
            for listening in (busy, idle):
                eventually(lambda one=listening, id=under: id in changed(one, "groups"))
                if readings_kept > 1:
                    eventually(lambda one=listening, id=below: id in changed(one, "devices"))


@pytest.mark.engine_free
def test_an_unexpected_error_does_not_end_the_reports(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "ACTIVITY_INTERVAL_S", 0.05)
    ada = world.person()
    group = ada.group()
    errors = []

    def fail(tx: Tx, after: int) -> None:
        errors.append(after)
        raise ValueError

    with Listening(ada, groupId=group) as listening:
        with monkeypatch.context() as failing:
            failing.setattr(activity_store, "list_changes", fail)
            eventually(lambda: len(errors) > 1)
        device = ada.device(group)
        eventually(lambda: changed(listening, "devices") == {device})


@pytest.mark.engine_free
def test_a_change_is_read_once_and_kept_for_those_who_listen_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity_store, "CHANGES_MAX", 20)
    ada = world.person()
    before = [ada.group(f"before {number}") for number in range(15)]
    reader = ActivityReader(world.database)
    world._run(reader.start())

    def read() -> list[str]:
        return [
            each.object_id for each in world._run(reader.read_changes()) if each.kind == "group"
        ]

    assert read() == []
    young = ada.group("young")
    assert (read(), read()) == ([young], [])
    old = ada.group("old")
    world.clock.let_pass(seconds=60)  # as for a process that stands still
    assert (read(), read()) == ([old], [])
    many = [ada.group(f"{number}") for number in range(30)]
    assert (read() + read() + read(), read()) == (many, [])
    kept = {int(young), int(old), int(before[-1])}
    assert [each.object_id for each in reader.list_recent(kept)] == [young, old]
    for _ in range(READINGS_KEPT):
        assert read() == []
    assert reader.list_recent({int(each) for each in many}) == []


def test_what_was_there_is_read_before_the_stream_begins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change after `hello` must not be part of it."""
    order = []
    get_last_change_id, event = activity_store.get_last_change_id, live._event

    def read_slowly(tx: Tx) -> int:
        time.sleep(0.3)
        order.append("read")
        return get_last_change_id(tx)

    def note_event(name: str, *arguments: Any) -> bytes:
        order.append(name)
        return event(name, *arguments)

    monkeypatch.setattr(activity_store, "get_last_change_id", read_slowly)
    monkeypatch.setattr(live, "_event", note_event)
    ada = world.person()
    with Listening(ada, groupId=ada.group()):
        assert "hello" not in order[: order.index("read")]


@pytest.mark.engine_free
def test_deliveries_are_counted_after_a_pause_and_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    reader = ActivityReader(world.database)
    world._run(reader.start())

    def count() -> list[tuple[str, DeliveryCounts]]:
        found = world._run(reader.read_deliveries([int(group)]))
        return [(each.id, counts) for each, counts in found]

    def delivered() -> int:
        found = ok(ada.get("/connector/messages", groupId=group, status="succeed"))
        return len(found["items"])

    def fail(*arguments: object) -> None:
        raise Unavailable

    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url)
        ada.reports(device)
        eventually(lambda: delivered() == 1)
    monkeypatch.setattr(activity, "COUNTED_MAX", HOUR)  # however slow this machine is
    world.clock.let_pass(seconds=30)
    with monkeypatch.context() as failing:
        failing.setattr(activity_store, "list_connectors", fail)
        with pytest.raises(Unavailable):
            count()
    assert count() == [(connector, DeliveryCounts(1, 0, 0))]
    assert count() == []


def test_counts_of_deliveries_add_up_until_a_listener_takes_them() -> None:
    activity = Activity()
    activity.add_deliveries("one", DeliveryCounts(3, 1, 7))
    activity.add_deliveries("one", DeliveryCounts(2, 0, 5))
    assert activity.deliveries == {"one": DeliveryCounts(5, 1, 5)}

"""Notifications, seen from outside: what makes them fire, and what arrives at whom."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import DAY, HOUR, SECOND
from longwire.dates import format_date
from longwire.notifications import firing, sending
from longwire.notifications.webpush import generate_vapid_key
from longwire.process import maintenance
from longwire.store.statement import Statement
from tests.delivery.receiver import Receiver
from tests.notifications.stories import Alarm, alarmed, chirpstack_status, count_alerts
from tests.waiting import eventually
from tests.world import World, ok, record_of, refused

pytestmark = pytest.mark.engine_free


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


def test_a_notification_fires_for_its_reason_and_nothing_else(world: World) -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    with alarmed(world, reason="opened", params={"secret": secret}) as alarm:
        ada = alarm.person
        alarm.event("closed")
        alarm.event("opened", data='{"by": "wind"}', timestamp="2026-03-01T12:00:00Z")
        alarm.event("opened", data='{"by": "wind"}', timestamp="2026-03-01T12:00:00Z")
        ada.reports(alarm.device, reason="opened")  # a data record with that reason
        ada.reports(alarm.device, reason="shut", timestamp="2026-03-01T12:00:01Z")
        ada.reports(alarm.device, "telemetry")
        below = ada.group(parent=alarm.group)
        alarm.event("opened", device=ada.device(below))
        event, data = alarm.alerts(2)
        name = ok(ada.get("/device", deviceId=alarm.device))["name"]
        assert event.keys() == {"subject", "body", "reason", "message", "heldBack", "language"}
        assert (event["subject"], event["reason"]) == (f"{name}: opened", "opened")
        assert event["heldBack"] == 0
        assert event["message"] == {
            "kind": "event",
            "deviceId": alarm.device,
            "groupId": alarm.group,
            "deviceName": name,
            "deviceType": "generic",
            "tags": [],
            "timestamp": "2026-03-01T12:00:00.000Z",
            "type": "opened",
            "data": {"by": "wind"},
        }
        assert (data["message"]["kind"], data["reason"]) == ("data", "opened")
        first = alarm.receiver.wait_for(2)[0]
        assert first.headers["webhook-signature"].startswith("v1,")
        eventually(lambda: "lastSentAt" in alarm.shown)
        assert alarm.shown["lastFiredAt"] <= alarm.shown["lastSentAt"]
        assert "error" not in alarm.shown


def test_without_a_reason_every_event_fires_and_is_narrowed_by_device_type_and_when(
    world: World,
) -> None:
    with alarmed(world) as alarm:
        ada, group = alarm.person, alarm.group
        tracker = ada.device(group, type="tracker")
        by_device = Alarm(ada, alarm.receiver, group=group)
        by_device.change(deviceId=tracker)
        by_type = Alarm(ada, alarm.receiver, group=group, deviceTypes=["tracker"])
        picky = {"when": "message.severity == 'high'", "subject": "{{ message.severity }}!"}
        by_when = Alarm(ada, alarm.receiver, group=group, params=picky)
        broken = Alarm(ada, alarm.receiver, group=group, params={"when": "message.severity > 3"})
        alarm.event("a", severity="high")
        alarm.event("b", device=tracker)
        ada.reports(alarm.device, reason="c")  # no event
        every = {each.id: each.queued for each in (alarm, by_device, by_type, by_when, broken)}
        assert list(every.values()) == [2, 1, 1, 1, 0]
        alarm.receiver.wait_for(5)
        subjects = [each.json["subject"] for each in alarm.receiver.wait_for(5)]
        assert subjects.count("high!") == 1
        # Where a field of `when` is missing nothing is sent, and that is no error.
        assert "error" not in by_when.shown
        # Where it cannot be evaluated the error shows.
        assert broken.shown["error"]["message"].startswith("the filter could not be evaluated")
        # A disabled one sends nothing, not even later.
        alarm.change(enabled=False)
        alarm.event("d")
        alarm.change(enabled=True)
        assert alarm.queued == 2
        alarm.event("e")
        assert alarm.queued == 3


def test_a_throttle_lets_one_through_for_each_device_and_counts_what_it_held_back(
    world: World,
) -> None:
    with alarmed(world, reason="opened", params={"throttle": 3_600}) as alarm:
        other = alarm.person.device(alarm.group)
        for _ in range(3):
            alarm.event()
        alarm.event(device=other)
        assert [each["heldBack"] for each in alarm.alerts(2)] == [0, 0]
        world.restart()
        alarm.event()
        world.clock.let_pass(seconds=3_601)
        alarm.event()
        assert [each["heldBack"] for each in alarm.alerts(3)] == [0, 0, 3]
        alarm.event()
        world.clock.let_pass(seconds=3_601)
        alarm.event()
        assert alarm.alerts(4)[-1]["heldBack"] == 1


def test_of_many_who_report_at_once_a_throttle_lets_one_through(world: World) -> None:
    with alarmed(world, params={"throttle": 3_600}) as alarm:
        threads = [threading.Thread(target=alarm.event) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        alarm.alerts(1)
        world.clock.let_pass(seconds=3_601)
        alarm.event()
        assert alarm.alerts(2)[-1]["heldBack"] == 11


def test_out_of_its_schedule_nothing_is_sent_and_states_wait_for_it(world: World) -> None:
    """The schedule is Monday from 22:00 to 02:00 in Paris."""
    schedule = {"Day": 1, "From": {"Hours": 22, "Minutes": 0}, "To": {"Hours": 2, "Minutes": 0}}
    turn_to(world, weekday=1, hour=12)
    zone = {"timezone": "Europe/Paris"}
    with alarmed(world, schedule=schedule, params=zone) as alarm:
        assert json.loads(alarm.shown["schedule"]) == schedule
        fence = {"geofence": {"lat": 48.85, "lng": 2.35, "radius": 1_000}, **zone}
        left = Alarm(
            alarm.person,
            alarm.receiver,
            group=alarm.group,
            reason="geofenceExit",
            params=fence,
            schedule=schedule,
        )
        alarm.event("at noon")
        assert alarm.queued == 0
        turn_to(world, weekday=1, hour=22, minute=30)  # half past eleven, or midnight, in Paris
        alarm.event("at night")
        left.fix(48.85, 2.35)
        assert (alarm.queued, left.queued) == (1, 0)
        turn_to(world, weekday=2, hour=12)
        left.fix(40.0, 2.35)  # out of schedule: not sent, and not lost either
        alarm.event("on Tuesday")
        assert (alarm.queued, left.queued) == (1, 0)
        turn_to(world, weekday=1, hour=22, minute=30)
        left.fix(40.0, 2.35)
        assert (alarm.queued, left.queued) == (1, 1)
        # Read and written back as it was answered; and taken away.
        assert alarm.change(schedule=alarm.shown["schedule"])["schedule"]
        assert "schedule" not in alarm.change(schedule="")
        turn_to(world, weekday=3, hour=12)
        alarm.event("whenever")
        alarm.alerts(2)


def turn_to(world: World, *, weekday: int, hour: int, minute: int = 0) -> None:
    """Let time pass until this time of the day in UTC on this day of the week, 1 for Monday."""
    now = world.clock.now()
    # 1970 began on a Thursday.
    monday = (now // DAY - 4) // 7 * 7 + 4
    then = (monday + weekday - 1) * DAY + hour * HOUR + minute * 60 * SECOND
    while then <= now:
        then += 7 * DAY
    world.clock.let_pass(seconds=(then - now) / SECOND)


def test_a_low_battery_causes_one_alert_and_one_when_it_is_resolved(world: World) -> None:
    device = {"network": "chirpstack", "originalId": f"00{next(world.numbers):014x}"}
    params = {"batteryBelow": 15, "subject": "{{ message.deviceName }}: {{ message.battery }} %"}
    with alarmed(world, reason="batteryLow", params=params, device=device) as alarm:
        chirpstack_status(world, alarm, 80)
        chirpstack_status(world, alarm, 15)
        assert alarm.queued == 0
        chirpstack_status(world, alarm, 12.5)
        chirpstack_status(world, alarm, 11)
        world.restart()
        chirpstack_status(world, alarm, 10)
        chirpstack_status(world, alarm, 90, ago_s=3_600)  # older than what is known
        low = alarm.alerts(1)[0]
        assert (low["reason"], low["message"]["state"]) == ("batteryLow", "raised")
        assert low["subject"].endswith(": 12.5 %")
        # An event of that name is no news of a battery.
        alarm.event("batteryLow")
        assert alarm.queued == 1
        chirpstack_status(world, alarm, 70)
        chirpstack_status(world, alarm, 71)
        over = alarm.alerts(2)[1]
        assert over["subject"].startswith("Resolved: ") and over["subject"].endswith(": 70 %")
        assert (over["reason"], over["message"]["state"]) == ("batteryLow", "resolved")
        assert over["message"]["since"] == low["message"]["since"]
        chirpstack_status(world, alarm, 5)
        assert alarm.alerts(3)[2]["message"]["state"] == "raised"


@pytest.mark.slow
def test_crossing_a_fence_fires_each_time_and_old_fixes_change_nothing(world: World) -> None:
    square = [[[2.0, 48.0], [3.0, 48.0], [3.0, 49.0], [2.0, 49.0], [2.0, 48.0]]]
    fence = {"geofence": {"type": "Polygon", "coordinates": square}}
    with alarmed(world, reason="geofenceEnter", params=fence) as enter:
        leave = Alarm(
            enter.person, enter.receiver, group=enter.group, reason="geofenceExit", params=fence
        )

        def at(lat: float, *, ago_s: int, **fields: Any) -> tuple[int, int]:
            ts = format_date(world.clock.now() - ago_s * SECOND)
            for alarm in (enter, leave):  # each is asked about either device
                alarm.fix(lat, 2.5, timestamp=ts, **fields)
            return enter.queued // 2, leave.queued // 2

        assert at(48.5, ago_s=1_000) == (0, 0), "where it was first, it has not just come to"
        assert at(48.6, ago_s=900) == (0, 0)
        assert at(50.0, ago_s=800) == (0, 1)
        assert at(51.0, ago_s=700) == (0, 1)
        assert at(48.5, ago_s=750) == (0, 1), "older than what is known"
        world.restart()
        assert at(48.5, ago_s=600) == (1, 1)
        assert at(48.5, ago_s=600) == (1, 1), "the same again"
        assert at(50.0, ago_s=-86_400) == (1, 2), "a clock that goes wrong"
        assert at(48.5, ago_s=0) == (2, 2)
        # With another fence it begins from the start; with another name it does not.
        enter.change(name="home")
        assert at(50.0, ago_s=-1) == (2, 3)
        params = json.loads(enter.shown["params"])
        params["geofence"] = {"lat": 48.5, "lng": 2.5, "radius": 100}
        enter.change(params=json.dumps(params))
        assert at(48.5, ago_s=-2) == (2, 3)
        assert at(50.0, ago_s=-3) == (2, 4)
        assert at(48.5, ago_s=-4) == (3, 4)


def test_a_fence_can_ignore_inaccurate_fixes(world: World) -> None:
    fence = {
        "geofence": {"lat": 48.5, "lng": 2.5, "radius": 100},
        "when": "!has(message.radius) || message.radius < 500",
    }
    with alarmed(world, reason="geofenceExit", params=fence) as alarm:
        alarm.fix(48.5, 2.5)
        alarm.fix(48.6, 2.5, radius=7_000)
        assert alarm.queued == 0
        alarm.person.reports(alarm.device, "geoloc")  # nowhere at all
        alarm.fix(48.6, 2.5, radius=10)
        alarm.alerts(1)


def test_what_is_not_taken_is_tried_again_and_the_failure_shows(world: World) -> None:
    with alarmed(world) as alarm:
        alarm.receiver.respond_with(503, 200)
        alarm.event()
        alarm.receiver.wait_for(1)
        eventually(lambda: "error" in alarm.shown)
        assert alarm.shown["error"]["message"] == "answered with status 503"
        assert "lastSentAt" not in alarm.shown
        world.clock.let_pass(seconds=60)
        first, second = alarm.receiver.wait_for(2)
        assert (first.id, first.body) == (second.id, second.body)
        eventually(lambda: "lastSentAt" in alarm.shown)


def test_an_alert_that_was_queued_survives_a_restart(make_world: Callable[..., World]) -> None:
    world = make_world(delivery=False)
    with alarmed(world) as alarm:
        alarm.event()
        assert alarm.queued == 1
        world.stop()
        delivering = make_world()
        delivering.clock = world.clock
        [alert] = alarm.receiver.wait_for(1)
        assert alert.json["reason"] == "opened"
        world.start()


def test_a_notification_that_is_deleted_sends_nothing_any_more(world: World) -> None:
    with alarmed(world, params={"throttle": 60}) as alarm:
        alarm.receiver.down()
        alarm.event()
        eventually(lambda: "error" in alarm.shown)
        ok(alarm.person.delete("/notification", name=alarm.group, notificationId=alarm.id))
        alarm.event()
        alarm.receiver.up()
        world.clock.let_pass(days=1)
        other = Alarm(alarm.person, alarm.receiver, group=alarm.group, reason="last")
        alarm.event("last")
        assert [each.json["reason"] for each in alarm.receiver.wait_for(1)] == ["last"]
        assert other.queued == 1
        assert ok(alarm.person.get("/group", groupId=alarm.group))[0]["numberOfNotifications"] == 1
        assert len(world.list_rows("notification_state")) == 1
        world._run(maintenance.delete_old_deliveries(world.database, 30))
        rows = world.everything()
        assert rows["notification_state"] == []
        assert [len(rows[table]) for table in ("notification", "channel")] == [1, 1]


def test_a_device_that_moves_takes_what_was_remembered_of_it_along(world: World) -> None:
    fence = {"geofence": {"lat": 48.5, "lng": 2.5, "radius": 100}}
    with alarmed(world, reason="geofenceExit", params=fence) as alarm:
        ada = alarm.person
        there = ada.group()
        alarm.fix(48.5, 2.5)
        for here, then in ((alarm.group, there), (there, alarm.group)):
            body = {"deviceId": alarm.device, "groupId": here, "toGroupId": then}
            ok(ada.put("/device/transfer", body))
        alarm.fix(50.0, 2.5)
        assert alarm.queued == 0, "nobody knows where it has been meanwhile"
        alarm.fix(48.5, 2.5)
        alarm.fix(50.0, 2.5)
        assert alarm.queued == 1
        ok(ada.delete("/device", deviceId=alarm.device, groupId=alarm.group))
        assert world.list_rows("notification_state") == []


def test_a_test_is_sent_at_once_whatever_schedule_and_throttle_say(world: World) -> None:
    schedule = {"Day": world.clock.now() // DAY % 7 + 1}  # some other day
    params = {"throttle": 3_600, "subject": "{{ message.deviceName }}", "body": "{{ message.x }}"}
    with alarmed(world, schedule=schedule, params=params, reason="opened") as alarm:
        for _ in range(2):
            answer = ok(alarm.person.post("/notification/test", alarm.name))
            assert answer == {"message": "Queued.", "queued": 1}
        first, _ = alarm.alerts(2)
        assert (first["subject"], first["reason"]) == ("test", "opened")
        assert first["body"] == "[? there is no message.x]"
        assert "lastFiredAt" not in alarm.shown
        eventually(lambda: "lastSentAt" in alarm.shown)
        viewer = world.person("vic")
        alarm.person.invite(viewer, alarm.group, "viewer")
        refused(viewer.post("/notification/test", alarm.name), 403)
        refused(world.person("eve").post("/notification/test", alarm.name), 404, "groupId")
        alarm.change(enabled=False)
        refused(alarm.person.post("/notification/test", alarm.name), 409)
        assert alarm.queued == 2
        # A device that has moved on is not called by its name any more.
        alarm.change(enabled=True, deviceId=alarm.device)
        ok(alarm.person.post("/notification/test", alarm.name))
        there = {"groupId": alarm.group, "toGroupId": alarm.person.group()}
        ok(alarm.person.put("/device/transfer", {"deviceId": alarm.device, **there}))
        ok(alarm.person.post("/notification/test", alarm.name))
        subjects = [each["subject"] for each in alarm.alerts(4)[2:]]
        assert subjects[0] != "test" and subjects[1] == "test"
        # Tests have a rate limit: each is a message to everybody.
        hasty = [alarm.person.post("/notification/test", alarm.name) for _ in range(4)]
        refused(hasty[-1], 429)
        assert 1 <= int(hasty[-1].headers["Retry-After"]) <= 12
        taken = 4 + sum(each.status_code == 200 for each in hasty)
        manager = world.person("meg")
        alarm.person.invite(manager, alarm.group, "manager")
        ok(manager.post("/notification/test", alarm.name))
        world.clock.let_pass(seconds=12)
        ok(alarm.person.post("/notification/test", alarm.name))
        assert alarm.queued == taken + 2


@pytest.mark.both_engines
def test_each_member_who_may_see_it_gets_a_push_on_each_phone(
    make_world: Callable[..., World],
) -> None:
    world = make_world(vapid_key=generate_vapid_key(), vapid_contact="mailto:ops@example.com")
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group()
    ada.invite(bob, group, "viewer")
    ada.invite(eve, group, ada.role("group.read", name="blind"))
    device = ada.device(group)
    body = {"groupId": group, "type": "push", "name": "phones", "params": "{}"}
    notification = ok(ada.post("/notification", body))["id"]

    def report(number: int) -> None:
        ada.reports(device, "event", timestamp=f"2026-03-01T12:00:{number:02}Z")

    report(1)
    assert count_alerts(world, notification) == 0
    shown = ok(ada.get("/notification", notificationId=notification))
    assert "lastFiredAt" in shown
    assert shown["error"]["message"] == "there are no recipients"
    for person, phones in ((ada, 1), (bob, 2), (eve, 1), (world.person("mallory"), 1)):
        for phone in range(phones):
            ok(person.put("/user/vendorToken", {"token": f"{person.id}-{phone}"}))
    report(2)
    assert count_alerts(world, notification) == 3
    # Somebody who was invited gets nothing until they accept.
    dora = world.person("dora")
    ok(dora.put("/user/vendorToken", {"token": "dora"}))
    invitation = {"email": "dora@example.com", "groupId": group, "roleId": "viewer"}
    ok(ada.put("/group/invite", invitation))
    report(3)
    assert count_alerts(world, notification) == 6
    ok(dora.post("/group/accept", {"groupId": group}))
    report(4)
    assert count_alerts(world, notification) == 10


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_however_odd_it_is_what_a_device_sends_is_stored_and_fires(world: World) -> None:
    with alarmed(world, params={"body": "{{ message.data }}"}) as alarm:
        plain = Alarm(alarm.person, alarm.receiver, group=alarm.group)
        odd = ["[" * depth + "]" * depth for depth in (63, 64, 900, 5_000)]
        odd += [
            '{"a": 123456789012345678901234567890}',
            '{"a": 1e400}',
            '{"a": "\\ud800"}',
            "\x7f{",
        ]
        for data in odd:
            alarm.event(data=data)
        assert (alarm.queued, plain.queued) == (len(odd), len(odd))
        assert len(alarm.person.records(alarm.device, "event")) == len(odd)
        alerts = [each.json for each in alarm.receiver.wait_for(2 * len(odd))]
        assert sum(each["message"]["data"] == odd[2] for each in alerts) == 2, "as it was sent"


def test_a_batch_fires_in_its_order(world: World) -> None:
    with alarmed(world, reason="opened", params={"throttle": 60}) as alarm:
        items = [
            record_of(
                alarm.device, "event", type="opened", timestamp=f"2026-03-01T12:00:{each:02}Z"
            )
            for each in range(10)
        ]
        ok(alarm.person.post("/device/event/batch", {"items": items}))
        assert alarm.alerts(1)[0]["message"]["timestamp"] == "2026-03-01T12:00:00.000Z"
        world.clock.let_pass(seconds=61)
        alarm.event()
        assert alarm.alerts(2)[1]["heldBack"] == 9


def test_beyond_the_quota_of_a_commit_the_last_alert_counts_the_others(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four for each notification, and twelve in all; alerts with a duration are sent later."""
    monkeypatch.setattr(firing, "DELIVERIES_PER_NOTIFICATION_MAX", 4)
    monkeypatch.setattr(firing, "DELIVERIES_PER_COMMIT_MAX", 12)
    mail = {"smtp_host": "127.0.0.1", "smtp_from": "longwire@example.com"}
    world = make_world(token_lifetime_s=10**8, delivery=False, **mail)
    with alarmed(world, reason="opened") as alarm:
        ada, group = alarm.person, alarm.group
        to = [f"{name}@example.com" for name in ("ada", "bob", "cem")]
        email = {
            "groupId": group,
            "type": "email",
            "name": "crowd",
            "reason": "opened",
            "params": json.dumps({"to": to}),
        }
        crowd = ok(ada.post("/notification", email))["id"]
        devices = [alarm.device, *(ada.device(group) for _ in range(5))]

        def batch(kind: str, second: int, count: int, **fields: Any) -> None:
            """So many records, each of the next device, from this second on."""
            items = [
                record_of(
                    devices[number % len(devices)],
                    kind,
                    timestamp=f"2026-03-01T12:{second + number:02}:00Z",
                    **fields,
                )
                for number in range(count)
            ]
            ok(ada.post(f"/device/{kind}/batch", {"items": items}))

        batch("event", 0, 4)
        assert [each["heldBack"] for each in list_alerts(world, alarm.id)] == [0] * 4
        batch("event", 4, 10)
        alerts = list_alerts(world, alarm.id)[4:]
        assert [each["heldBack"] for each in alerts] == [0, 0, 0, 6]
        moments = [each["message"]["timestamp"][14:16] for each in alerts]
        assert moments == ["04", "05", "06", "13"], "the first ones, and the newest"
        # Three addresses leave room for one firing, which is the newest and counts the others.
        mails = list_alerts(world, crowd)
        assert [each["heldBack"] for each in mails] == [3] * 3 + [9] * 3
        assert {*mails[0]["message"]} == {"timestamp"}, "a record is not kept for each recipient"
        assert sum(len(ada.records(each, "event")) for each in devices) == 14
        alarm.event()
        assert list_alerts(world, alarm.id)[-1]["heldBack"] == 0, "that was said"

        # A throttle that let them through does not lose count of what there was no room for.
        alarm.change(params=json.dumps({"url": alarm.receiver.url, "throttle": 60}))
        batch("event", 20, 12)
        assert [each["heldBack"] for each in list_alerts(world, alarm.id)[9:]] == [0, 0, 0, 2]
        world.clock.let_pass(seconds=61)
        batch("event", 40, 6)
        assert sum(each["heldBack"] for each in list_alerts(world, alarm.id)[13:]) == 6 + 2

        fence = {"geofence": {"lat": 48.5, "lng": 2.5, "radius": 100}, "url": alarm.receiver.url}
        left = ada.notification(group, alarm.receiver.url, reason="geofenceExit", params=fence)
        batch("geoloc", 0, 6, lat=48.5, lng=2.5)
        batch("geoloc", 10, 6, lat=50.0, lng=2.5)
        assert len(list_alerts(world, left)) == 4
        batch("geoloc", 20, 6, lat=50.1, lng=2.5)
        alerts = list_alerts(world, left)
        assert sorted(each["message"]["deviceId"] for each in alerts) == sorted(devices)
        assert {each["heldBack"] for each in alerts} == {0}


def list_alerts(world: World, notification_id: str) -> list[dict[str, Any]]:
    """The alerts of a notification, in order."""
    found = world.read(
        lambda tx: tx.fetch(
            Statement(
                "select d.body from delivery d join channel c on c.number = d.channel_number"
                " where c.id = :id order by d.seq"
            ),
            id=notification_id,
        )
    )
    return [json.loads(row[0]) for row in found]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_error_in_handling_results_does_not_delay_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumbling(*about: Any) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(sending.NotificationHandler, "on_results", stumbling)
    with alarmed(world, reason="opened") as alarm, Receiver() as receiver:
        alarm.person.connector(alarm.group, receiver.url)
        for number in range(3):
            alarm.event("opened", message=f"{number}")
            alarm.event("closed", message=f"{number}")
        alarm.alerts(3)
        receiver.wait_for(6)
        eventually(lambda: states_of(world) == {2: 9})  # each was sent, and that is known
        assert (len(receiver.requests), len(alarm.receiver.requests)) == (6, 3)


def states_of(world: World) -> dict[int, int]:
    found = world.read(
        lambda tx: tx.fetch(Statement("select state, count(*) from delivery group by state"))
    )
    return dict(found)

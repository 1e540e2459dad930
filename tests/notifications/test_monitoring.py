"""Monitoring: silent devices and failing connectors; one alert, and one when resolved."""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from longwire.notifications import monitoring
from longwire.notifications.rules import Rule, get_rules
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.statement import Statement
from tests.delivery.receiver import Receiver
from tests.notifications.stories import Alarm, alarmed
from tests.waiting import eventually
from tests.world import World, ok, refused


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_silent_device_causes_one_alert_and_one_when_it_reports_again(world: World) -> None:
    params = {"silentAfter": 600, "body": "last seen at {{ message.seenAt }}"}
    with alarmed(world, reason="deviceSilent", params=params) as alarm:
        patient = Alarm(
            alarm.person,
            alarm.receiver,
            group=alarm.group,
            reason="deviceSilent",
            params={"silentAfter": 86_400},
        )
        patient.change(deviceId=alarm.device)
        alarm.change(deviceId=alarm.device)
        world.clock.let_pass(seconds=10)
        alarm.event()
        seen = ok(alarm.person.get("/device/event", deviceId=alarm.device))["items"][0]["timestamp"]
        world.clock.let_pass(seconds=500)
        world.run_monitors_once()
        assert alarm.queued == 0
        world.clock.let_pass(seconds=200)
        silent = alarm.wait_for(1)[0]
        assert (silent["reason"], silent["message"]["state"]) == ("deviceSilent", "raised")
        assert silent["body"] == f"last seen at {seen}"
        world.restart()
        world.clock.let_pass(seconds=3_600)
        world.run_monitors_once()
        # Neither an event of that name nor something from the past is a sign of life.
        alarm.event("deviceSilent", timestamp="2026-01-01T00:00:00Z")
        world.run_monitors_once()
        assert alarm.queued == 1
        alarm.event()
        over = alarm.wait_for(2)[1]
        assert over["subject"] == f"Resolved: {silent['subject']}"
        assert over["message"]["state"] == "resolved"
        world.clock.let_pass(seconds=700)
        alarm.wait_for(3)
        assert patient.queued == 0, "it has a threshold of its own"
        # What was sent before it was disabled is not sent again; its resolution is.
        alarm.change(enabled=False)
        world.clock.let_pass(seconds=700)
        world.run_monitors_once()
        alarm.change(enabled=True, name="again")
        world.run_monitors_once()
        assert alarm.queued == 3
        alarm.event()
        alarm.wait_for(4)


@pytest.mark.engine_free
def test_a_device_that_never_spoke_is_silent_since_it_was_made(world: World) -> None:
    params = {"silentAfter": 600, "throttle": 3_600, "when": "message.deviceType == 'tracker'"}
    with alarmed(world, reason="deviceSilent", params=params, device={"type": "tracker"}) as alarm:
        alarm.person.device(alarm.group)  # not a tracker
        broken = Alarm(
            alarm.person,
            alarm.receiver,
            group=alarm.group,
            reason="deviceSilent",
            params={"silentAfter": 600, "when": "message.deviceName > 1.0"},
        )
        world.clock.let_pass(seconds=601)
        alarm.wait_for(1)
        eventually(lambda: "error" in broken.shown)
        assert "the types of these values do not match" in broken.shown["error"]["message"]
        alarm.event()
        alarm.wait_for(2)
        # Silent again too soon: sent when the throttle lets it, if it is still silent then.
        world.clock.let_pass(seconds=700)
        for _ in range(3):
            world.run_monitors_once()
        assert alarm.queued == 2
        world.clock.let_pass(seconds=3_600)
        late = alarm.wait_for(3)[2]
        assert (late["message"]["state"], late["heldBack"]) == ("raised", 0)


@pytest.mark.engine_free
def test_an_error_is_shown_also_if_it_is_a_part_of_the_one_before(quiet: World) -> None:
    world = quiet
    broken = {"silentAfter": 600, "when": "uint(message.deviceName) > 1u"}
    with alarmed(world, reason="deviceSilent", params=broken) as alarm:
        world.clock.let_pass(seconds=601)
        world.run_monitors_once()
        first = alarm.shown["error"]
        assert first["message"].endswith("uint() does not accept this value")
        world.clock.let_pass(seconds=1)
        world.run_monitors_once()
        assert alarm.shown["error"] == first, "it is stored once"
        other = {**broken, "when": "int(message.deviceName) > 1", "url": alarm.receiver.url}
        alarm.change(params=json.dumps(other))
        world.run_monitors_once()
        assert alarm.shown["error"]["message"].endswith(": int() does not accept this value")


def test_of_many_monitoring_processes_one_fires(world: World) -> None:
    with alarmed(world, reason="deviceSilent", params={"silentAfter": 600}) as alarm:
        devices = [alarm.device, *(alarm.person.device(alarm.group) for _ in range(4))]
        rule = world.read(partial(only_rule, group=alarm.group))
        numbers = [each[0] for each in world.list_rows("device")]
        world.clock.let_pass(seconds=601)

        async def all_at_once() -> None:
            work = partial(
                monitoring.notify_changes,
                rule=rule,
                group_id=alarm.group,
                only=numbers,
                take_seqs=world.app._dispatch.take_sequence_numbers,
            )
            await asyncio.gather(*(world.database.write(work) for _ in range(8)))

        world._run(all_at_once())
        notified = {each["message"]["deviceId"] for each in alarm.wait_for(len(devices))}
        assert notified == set(devices)


@pytest.mark.engine_free
def test_a_notification_for_subgroups_is_about_what_is_in_them(quiet: World) -> None:
    world = quiet
    params = {"subgroups": True, "silentAfter": 600}
    with alarmed(world, reason="deviceSilent", params=params) as alarm:
        ada = alarm.person
        below = ada.group("cellar", parent=alarm.group)
        deep = ada.device(ada.group("rack", parent=below))
        opened = Alarm(ada, alarm.receiver, group=alarm.group, params=params, reason="opened")
        opened.change(deviceId=deep)
        alone = Alarm(
            ada, alarm.receiver, group=alarm.group, reason="opened", deviceId=opened.device
        )
        refused(ada.put("/notification", {**alone.name, "deviceId": deep}), 400, "deviceId")
        opened.event(device=deep)
        opened.event(device=ada.device(below))
        assert (opened.queued, alone.queued) == (1, 0)
        world.clock.let_pass(seconds=700)
        alarm.event(device=deep)
        world.run_monitors_once()
        silent = {row[0] for row in world.list_rows("device")}
        assert alarm.queued == len(silent) - 1
        # Out of its reach: nothing of the other tree, and no more of a group that was moved away.
        before = opened.queued
        world.clock.let_pass(seconds=700)
        world.run_monitors_once()
        everywhere = {"groupId": below, "subgroups": "true", "deviceId": deep}
        assert len(ok(ada.get("/group/alarms", **everywhere))["items"]) == 1
        ok(ada.put("/group", {"groupId": below, "parent": ada.group("elsewhere")}))
        opened.event(device=deep)
        assert opened.queued == before
        [closed] = ok(ada.get("/group/alarms", **everywhere, state="all"))["items"]
        assert closed["resolution"] == "the group was moved"


@pytest.fixture
def quiet(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose monitors run when a test asks for it."""
    monkeypatch.setattr(monitoring, "INTERVAL_S", 3_600)
    return make_world(token_lifetime_s=10**8)


def test_a_fleet_that_falls_silent_is_notified_in_small_steps_with_pauses(
    quiet: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = quiet
    monkeypatch.setattr(monitoring, "CHANGES_PER_STEP_MAX", 2)
    notify, write_and_pause = monitoring.notify_changes, monitoring.write_and_pause
    steps: list[str] = []

    def recording_notify(tx: Tx, only: Sequence[int], **rest: Any) -> set[int]:
        steps.append(f"{len(only)} changes")
        return notify(tx, only=only, **rest)

    async def recording_pause(*args: Any) -> None:
        await write_and_pause(*args)
        steps.append("pause")

    with alarmed(world, reason="deviceSilent", params={"silentAfter": 600}) as alarm:
        devices = [alarm.device, *(alarm.person.device(alarm.group) for _ in range(4))]
        world.clock.let_pass(seconds=601)
        monkeypatch.setattr(monitoring, "notify_changes", recording_notify)
        monkeypatch.setattr(monitoring, "write_and_pause", recording_pause)
        world.run_monitors_once()
        assert steps == ["2 changes", "pause", "2 changes", "pause", "1 changes", "pause"]
        notified = {each["message"]["deviceId"] for each in alarm.wait_for(len(devices))}
        assert notified == set(devices)


@pytest.mark.engine_free
def test_a_fleet_that_falls_silent_does_not_hold_up_other_notifications(
    quiet: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = quiet
    monkeypatch.setattr(monitoring, "DEVICES_PER_STEP_MAX", 2)
    monkeypatch.setattr(monitoring, "CHANGES_PER_ROUND_MAX", 2)
    with alarmed(world, reason="deviceSilent", params={"silentAfter": 600}) as alarm:
        for _ in range(4):
            alarm.person.device(alarm.group)
        numbers = sorted(each[0] for each in world.list_rows("device"))
        rule = world.read(partial(only_rule, group=alarm.group))
        other = Alarm(
            alarm.person,
            alarm.receiver,
            group=alarm.person.group("elsewhere"),
            reason="deviceSilent",
            params={"silentAfter": 600},
        )
        world.clock.let_pass(seconds=601)
        first = world.run_monitors_once()
        assert (alarm.queued, other.queued) == (2, 1)
        assert first.places == {(rule.number, alarm.group): numbers[1]}
        second = world.run_monitors_once(first.places)
        assert (alarm.queued, other.queued) == (4, 1)
        assert second.places == {(rule.number, alarm.group): numbers[3]}
        third = world.run_monitors_once(second.places)
        assert (alarm.queued, third.places) == (5, {})
        assert world.run_monitors_once(third.places).places == {}
        assert (alarm.queued, other.queued) == (5, 1)


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_second_process_waits_for_the_first_and_does_not_fire(quiet: World) -> None:
    """The same on purpose: the second one begins while the first has not committed yet."""
    world = quiet
    with alarmed(world, reason="deviceSilent", params={"silentAfter": 600}) as alarm:
        rule = world.read(partial(only_rule, group=alarm.group))
        numbers = [each[0] for each in world.list_rows("device")]
        notify = partial(
            monitoring.notify_changes,
            rule=rule,
            group_id=alarm.group,
            only=numbers,
            take_seqs=world.app._dispatch.take_sequence_numbers,
        )
        has_fired, ready = threading.Event(), []

        def first(tx: Tx) -> None:
            ready.append(notify(tx))
            has_fired.set()
            waiting = "select count(*) from pg_locks where not granted"
            eventually(lambda: tx.fetch(Statement(waiting))[0][0] > 0)

        def second(tx: Tx) -> None:
            has_fired.wait(60)
            ready.append(notify(tx))

        async def both() -> None:
            await asyncio.gather(world.database.write(first), world.database.write(second))

        world.clock.let_pass(seconds=601)
        world._run(both())
        assert ready == [{rule.number}, set()]
        alarm.alerts(1)


def only_rule(tx: Tx, group: str) -> Rule:
    rules = get_rules(tx, group)
    assert rules is not None
    return next(iter(rules.by_number.values()))


@pytest.mark.engine_free
def test_a_failing_connector_causes_one_alert_and_its_recovery_another(world: World) -> None:
    with alarmed(world, reason="connectorFailing", params={"failingAfter": 3}) as failing:
        ada, group = failing.person, failing.group
        recovered = Alarm(
            ada,
            failing.receiver,
            group=group,
            reason="connectorRecovered",
            params={"failingAfter": 3},
        )
        with Receiver(503) as customer:
            policy = {"retryDelay": 86_400, "maxRetry": 1}
            connector = ada.connector(group, customer.url, retryPolicy=policy, name="to SAP")

            def report(failures_after: int) -> None:
                number = next(world.numbers)
                ada.reports(failing.device, timestamp=1_700_000_000_000 + number)
                eventually(lambda: failures(world, connector) == failures_after)
                world.run_monitors_once()

            report(1)
            report(2)
            assert failing.queued == 0
            report(3)
            alert = failing.wait_for(1)[0]
            assert alert["message"]["connectorId"] == connector
            assert alert["message"]["connectorName"] == "to SAP"
            assert alert["message"]["error"] == "answered with status 503"
            report(4)
            assert (failing.queued, recovered.queued) == (1, 0)
            customer.respond_with(200)
            report(0)
            assert (failing.queued, recovered.queued) == (1, 1)
            world.restart()
            world.run_monitors_once()
            assert (failing.queued, recovered.queued) == (1, 1)
            reasons = [each.json["reason"] for each in failing.receiver.wait_for(2)]
            assert reasons == ["connectorFailing", "connectorRecovered"]
            # The states of a deleted connector are deleted later.
            ok(ada.delete("/connector", groupId=group, connectorId=connector))
            world.run_monitors_once()
            assert (failing.queued, recovered.queued) == (1, 1)


@pytest.mark.engine_free
def test_the_alarm_of_a_connector_that_is_disabled_is_closed(world: World) -> None:
    with alarmed(world, reason="connectorFailing", params={"failingAfter": 1}) as failing:
        ada, group = failing.person, failing.group
        with Receiver(503) as customer:
            policy = {"retryDelay": 86_400, "maxRetry": 1}
            connector = ada.connector(group, customer.url, retryPolicy=policy)
            ada.reports(failing.device)
            eventually(lambda: failures(world, connector) == 1)
            world.run_monitors_once()
            failing.wait_for(1)
            named = {"connectorId": connector, "groupId": group}
            ok(ada.put("/connector", {**named, "enabled": False}))
            world.run_monitors_once()
            [alarm] = ok(ada.get("/group/alarms", groupId=group, state="all"))["items"]
            assert alarm["resolution"] == "the connector was disabled"
            assert failing.queued == 1


@pytest.mark.parametrize("keeps", [True, False])
def test_messages_that_are_given_up_raise_an_alarm_until_somebody_takes_care_of_them(
    quiet: World, keeps: bool
) -> None:
    world = quiet
    with alarmed(world, reason="messagesFailed") as alarm, Receiver(422, 500, 422) as customer:
        ada, group = alarm.person, alarm.group
        connector = ada.connector(
            group,
            customer.url,
            retryPolicy={"delays": []},
            dataFailurePolicy={"storingDuration": 86_400 if keeps else 0},
        )
        named = {"groupId": group, "connectorId": connector}

        def count(status: str) -> int:
            return int(ada.events(group, connector)["stats"][status])

        def fails() -> None:
            wanted = count("totalFailed") + 1
            ada.reports(alarm.device, timestamp=1_700_000_000_000 + next(world.numbers))
            eventually(lambda: count("totalFailed") == wanted)

        def list_alarms(state: str) -> list[dict[str, Any]]:
            return list(ok(ada.get("/group/alarms", groupId=group, state=state))["items"])

        fails()
        fails()
        world.run_monitors_once()
        message = alarm.wait_for(1)[0]["message"]
        assert (message["connectorId"], message["error"]) == (connector, "answered with status 422")
        assert (message["messages"], message["state"]) == (2, "raised")
        # Those that follow are no second alarm, after a restart neither.
        fails()
        world.restart()
        world.run_monitors_once()
        [raised] = list_alarms("open")
        assert (raised["connectorId"], raised["reason"]) == (connector, "messagesFailed")
        assert alarm.queued == 1
        if keeps:
            customer.respond_with(200)
            ok(ada.post("/connector/resendData", named))
        else:
            body = {"groupId": group, "alarmId": raised["id"], "comment": "we know"}
            [over] = [ok(ada.post("/alarm/acknowledge", body))]
            assert (over["state"], over["comment"]) == ("resolved", "we know")
            refused(ada.post("/alarm/acknowledge", body), 409)
        world.run_monitors_once()
        eventually(lambda: list_alarms("open") == [])
        assert [each["id"] for each in list_alarms("resolved")] == [raised["id"]]
        world.run_monitors_once()
        assert alarm.queued == 1, "what somebody has taken care of is not raised again"
        # But what is given up after that.
        eventually(lambda: count("totalStillProcessing") == 0)
        customer.respond_with(500)
        fails()
        world.run_monitors_once()
        message = alarm.wait_for(2)[1]["message"]
        assert (message["messages"], message["error"]) == (1, "answered with status 500")
        if keeps:
            # Nor does one count that was sent once more by itself.
            customer.respond_with(200)
            failed = [each["id"] for each in ada.events(group, connector)["items"]]
            ok(ada.post("/connector/messages/retry", {"groupId": group, "ids": failed}))
            eventually(lambda: count("totalStillProcessing") == 0)
            world.run_monitors_once()
            eventually(lambda: list_alarms("open") == [])
            customer.respond_with(422)
            fails()
            world.run_monitors_once()
            message = alarm.wait_for(3)[2]["message"]
            assert (message["messages"], message["error"]) == (1, "answered with status 422")


def test_a_connector_whose_receiver_is_gone_causes_an_alert_at_once(world: World) -> None:
    with alarmed(world, reason="connectorFailing") as failing:
        ada, group = failing.person, failing.group
        recovered = Alarm(ada, failing.receiver, group=group, reason="connectorRecovered")
        with Receiver(410) as customer:
            connector = ada.connector(group, customer.url, name="to SAP")
            named = {"connectorId": connector, "groupId": group}

            def report() -> None:
                ada.reports(failing.device, timestamp=1_700_000_000_000 + next(world.numbers))

            def counts() -> tuple[int, int]:
                world.run_monitors_once()
                return failing.queued, recovered.queued

            report()
            alert = failing.wait_for(1)[0]["message"]
            assert (alert["connectorName"], alert["enabled"]) == ("to SAP", False)
            assert alert["error"] == "answered with status 410, gone"
            assert ok(ada.get("/connector", **named))["updatedBy"] == "system"
            world.restart()
            assert counts() == (1, 0)
            # Enabled again it has to deliver something; what somebody disables is theirs to know.
            customer.respond_with(503, 200)
            ok(ada.put("/connector", {**named, "enabled": True}))
            assert counts() == (1, 0)
            report()
            eventually(lambda: failures(world, connector) == 2)
            assert counts() == (1, 0)
            report()
            eventually(lambda: failures(world, connector) == 0)
            assert counts() == (1, 1)
            ok(ada.put("/connector", {**named, "enabled": False}))
            assert counts() == (1, 1)
            # Gone again is a new alert.
            customer.respond_with(410)
            ok(ada.put("/connector", {**named, "enabled": True}))
            report()
            failing.receiver.wait_for(3)
            assert counts() == (2, 1)


def failures(world: World, connector: str) -> int:
    every = world.read(store_channels.list_all)
    return next(each.failures for each in every if each.id == connector)


@pytest.mark.engine_free
def test_a_reason_that_needs_an_area_is_refused_without_one(world: World) -> None:
    ada = world.person("ada")
    body = {
        "groupId": ada.group(),
        "type": "webhook",
        "name": "n",
        "params": '{"url": "https://example.com"}',
        "reason": "geofenceEnter",
    }
    refused(ada.post("/notification", body), 400, "params.geofence")


def test_a_device_that_drifts_causes_one_alert_and_one_when_it_does_not(world: World) -> None:
    with alarmed(world, reason="configurationDrift") as alarm:
        other = alarm.person.device(alarm.group)
        alarm.change(deviceId=alarm.device)
        body = {"groupId": alarm.group, "policy": {"interval": 300}}
        ok(alarm.person.put("/group/configuration", body))

        def report(interval: int, device: str = alarm.device) -> None:
            world.clock.let_pass(seconds=10)
            at = world.clock.now() // 1_000
            configuration = f'{{"interval":{interval}}}'
            alarm.person.reports(device, timestamp=at, configuration=configuration)

        report(600, other)
        report(600)
        raised = alarm.wait_for(1)[0]
        assert (raised["reason"], raised["message"]["state"]) == ("configurationDrift", "raised")
        assert raised["message"]["deviceId"] == alarm.device
        report(700)  # still another one
        alarm.event("configurationDrift")  # an event of that name is something else
        world.run_monitors_once()
        assert alarm.queued == 1
        body["policy"] = {"interval": 700}  # the policy gives in
        ok(alarm.person.put("/group/configuration", body))
        over = alarm.wait_for(2)[1]
        assert (over["message"]["state"], over["subject"][:10]) == ("resolved", "Resolved: ")

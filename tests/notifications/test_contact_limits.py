"""Many alarms at once: beyond a limit a contact gets one message in a minute, which counts them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import MINUTE
from longwire.notifications import alarm_work, contact_limits
from longwire.process import maintenance
from longwire.store import schema
from longwire.store.database import Tx
from tests.delivery.receiver import Receiver
from tests.notifications.stories import count_alerts
from tests.notifications.test_measured_alarms import TOO_WARM, Freezer
from tests.world import World, ok


@pytest.fixture
def world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """A contact gets three messages a minute; the clock stands still at the begin of one."""
    monkeypatch.setattr(alarm_work, "INTERVAL_S", 3_600)
    monkeypatch.setattr(contact_limits, "PER_MINUTE_MAX", 3)
    mail = {"smtp_host": "127.0.0.1", "smtp_from": "longwire@example.com"}
    world = make_world(token_lifetime_s=10**8, **mail)
    world.clock.freeze()
    world.clock.let_pass(seconds=60 - world.clock.now() % MINUTE / 1_000_000)
    return world


@pytest.mark.engine_free
def test_a_storm_is_one_message_a_minute_that_counts_what_it_stands_for(world: World) -> None:
    with Receiver() as receiver:
        ada = world.person("ada")
        group = ada.group()

        def make(severity: str) -> Freezer:
            params = {**TOO_WARM, "severity": severity}
            return Freezer(ada, receiver, group=group, reason="measurement", params=params)

        freezer = make("critical")
        devices = [freezer.device, *(ada.device(group) for _ in range(7))]

        def read(celsius: float) -> None:
            world.clock.let_pass(seconds=1)
            for device in devices:
                freezer.reads(celsius, device=device)

        read(-10)
        assert freezer.queued == 3
        # Each alarm is there, and counts as sent.
        alarms = ok(ada.get("/group/alarms", groupId=group))["items"]
        assert len(alarms) == 8 and all("notifiedAt" in each for each in alarms)
        freezer.passes(10)
        world.restart()
        read(-20)  # nothing overtakes what waits
        freezer.passes(45)
        assert freezer.queued == 3
        freezer.passes(5)
        *single, grouped = freezer.alerts(4)
        assert [each["message"]["deviceId"] for each in single] == devices[:3]
        first = grouped["message"].pop("first")
        assert grouped["message"] == {
            **{"kind": "alarms", "groupId": group, "timestamp": grouped["message"]["timestamp"]},
            **{"raised": 5, "critical": 5, "resolved": 8},
        }
        assert (grouped["reason"], grouped["subject"]) == (
            *("alarms",),
            "13 alarms: 5 raised, 8 resolved",
        )
        [alarm] = [each for each in alarms if each["deviceId"] == devices[3]]
        assert (first["deviceId"], first["alarmId"]) == (devices[3], alarm["id"])
        assert alarm["deviceName"] in grouped["body"]
        # While the storm lasts, nothing but grouped messages.
        read(-10)
        freezer.passes(59)
        assert freezer.alerts(5)[4]["message"]["raised"] == 8
        # Others are not concerned, nor is what comes after a calm minute.
        other = make("info")
        freezer.passes(60)
        read(-20)
        assert (freezer.queued, other.queued) == (8, 0)
        ok(ada.delete("/notification", name=group, notificationId=freezer.id))
        freezer.passes(60)
        world.clock.let_pass(days=1)
        world._run(maintenance.delete_old_silences(world.database))
        assert world.read(count_windows) == 0


def test_what_waits_is_sent_by_a_notification_that_still_leads_there(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    mail = {**TOO_WARM, "to": ["shift@example.com"]}
    body = {"groupId": group, "type": "email", "reason": "measurement", "name": "warm"}
    names = [
        ok(ada.post("/notification", {**body, "params": json.dumps(mail)}))["id"] for _ in range(4)
    ]
    kept, disabled, changed, deleted = (
        {"notificationId": each, "groupId": group} for each in names
    )
    device, other = ada.device(group), ada.device(group)

    def count_sent() -> list[int]:
        return [count_alerts(world, each) for each in names]

    def end_minute() -> None:
        world.clock.let_pass(seconds=60)
        world.run_alarms_once()

    for each in (device, other):
        ada.reports(each, data='{"temperature": -10}')
    assert count_sent() == [1, 1, 1, 0]
    ok(ada.put("/notification", {**disabled, "enabled": False}))
    elsewhere = json.dumps({**mail, "to": ["other@example.com"]})
    ok(ada.put("/notification", {**changed, "params": elsewhere}))
    ok(ada.delete("/notification", name=group, notificationId=deleted["notificationId"]))
    end_minute()
    assert count_sent() == [2, 1, 1, 0]
    # Once there is none, what waits is forgotten.
    world.clock.let_pass(seconds=1)
    ada.reports(device, data='{"temperature": -20}')
    ok(ada.put("/notification", {**kept, "enabled": False}))
    end_minute()
    assert count_sent() == [2, 1, 2, 0]
    assert world.read(count_windows) == 2
    assert all(row[-2:] == (None, None) for row in world.list_rows("contact_window"))


def count_windows(tx: Tx) -> Any:
    return len(list(tx.rows(schema.contact_window.select())))

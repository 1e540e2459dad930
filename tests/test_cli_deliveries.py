"""The CLI commands that list connectors and deliveries, and retry or cancel one."""

from typing import Any

import pytest

from tests import test_cli
from tests.delivery.receiver import HANG, Receiver
from tests.test_cli import Command, where
from tests.waiting import eventually
from tests.world import Person, World, ok

pytestmark = pytest.mark.engine_free

command = test_cli.command

ONCE = {"retryDelay": 1, "maxRetry": 0}
LATER = {"retryDelay": 3_600, "maxRetry": 3}


class Line:
    """A group with a device and a connector."""

    def __init__(self, person: Person, url: str, **fields: Any) -> None:
        self.person = person
        self.group = person.group()
        self.device = person.device(self.group)
        self.connector = person.connector(self.group, url, **fields)

    def reports(self, number: int) -> None:
        for second in range(number):
            self.person.reports(self.device, timestamp=f"2026-03-01T12:00:{second:02}.000Z")

    def statuses(self) -> list[tuple[str, int]]:
        """(status, attempts) of every message, in the order of their last changes."""
        events = self.person.events(self.group, self.connector)["items"]
        return [(event["status"], event["attempts"]) for event in events]

    def settles(self, *statuses: tuple[str, int]) -> None:
        eventually(lambda: sorted(self.statuses()) == sorted(statuses))


@pytest.mark.usefixtures("patient_sender")
def test_connectors_are_listed_with_queued_and_failed_counts_and_the_error(
    world: World, command: Command
) -> None:
    ada = world.person("ada")
    with Receiver() as receiver, Receiver(500) as failing, Receiver(HANG) as hanging:
        good = Line(ada, receiver.url, name="good")
        bad = Line(ada, failing.url, retryPolicy=ONCE)
        later = Line(ada, failing.url, retryPolicy=LATER, enabled=True)
        stuck = Line(ada, hanging.url)
        gone = Line(ada, receiver.url)
        for line in (good, bad, later, stuck):
            line.reports(2)
        good.settles(("succeed", 1), ("succeed", 1))
        bad.settles(("failed", 1), ("failed", 1))
        later.settles(("processing", 1), ("processing", 1))
        hanging.wait_for(2)
        eventually(lambda: connectors(command, world)[later.connector]["queued"] == 2)
        ok(ada.delete("/connector", connectorId=gone.connector, groupId=gone.group))
        rows = connectors(command, world)
        assert set(rows) == {line.connector for line in (good, bad, later, stuck)}
        row = rows[good.connector]
        assert (row["group"], row["name"], row["type"], row["enabled"]) == (
            good.group,
            "good",
            "http",
            True,
        )
        assert [numbers(rows[line.connector]) for line in (good, bad, later, stuck)] == [
            (0, 0, 0, 0),
            (0, 0, 2, 2),
            (2, 0, 0, 2),
            (0, 2, 0, 0),
        ]
        assert (row["oldest"], row["errorAt"], row["error"]) == (None, None, None)
        assert rows[bad.connector]["error"] == "answered with status 500"
        assert rows[bad.connector]["oldest"] is None
        assert rows[later.connector]["oldest"] < rows[later.connector]["errorAt"]

        table = command("connectors", *where(world.settings))
        assert table.code == 0
        lines = {line.split()[0]: line for line in table.out.splitlines()}
        assert "answered with status 500" in lines[bad.connector]
        assert gone.connector not in lines


def connectors(command: Command, world: World) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in command("connectors", "--json", *where(world.settings)).json}


def numbers(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[name] for name in ("queued", "sending", "failed", "failuresInARow"))


def test_messages_are_listed_by_state_and_connector_latest_change_first(
    world: World, command: Command
) -> None:
    ada = world.person("ada")
    with Receiver() as receiver, Receiver(500) as failing:
        good = Line(ada, receiver.url)
        bad = Line(ada, failing.url, retryPolicy=ONCE)
        later = Line(ada, failing.url, retryPolicy=LATER)
        for line, end in ((good, "succeed"), (bad, "failed"), (later, "processing")):
            line.reports(2)
            line.settles((end, 1), (end, 1))
            eventually(lambda: not messages(command, world, "--state", "sending"))
        listed = messages(command, world)
        assert [row["state"] for row in listed] == ["queued"] * 2 + ["failed"] * 2
        assert [row["changedAt"] for row in listed] == sorted(
            (row["changedAt"] for row in listed), reverse=True
        )
        assert {row["connector"] for row in listed} == {bad.connector, later.connector}
        row = listed[-1]
        assert (row["device"], row["kind"], row["attempts"], row["resent"]) == (
            bad.device,
            "data",
            1,
            0,
        )
        assert (row["error"], row["dueAt"]) == ("answered with status 500", None)
        assert listed[0]["dueAt"] > listed[0]["changedAt"] >= listed[0]["createdAt"]
        events = ada.events(bad.group, bad.connector)["items"]
        assert {event["id"] for event in events} == {row["id"] for row in listed[2:]}

        succeeded = messages(command, world, "--state", "succeeded")
        assert {row["connector"] for row in succeeded} == {good.connector}
        both = messages(command, world, "--state", "succeeded", "--state", "failed")
        assert len(both) == 4
        assert messages(command, world, "--limit", "1") == listed[:1]
        assert messages(command, world, "--connector", bad.connector) == listed[2:]
        assert messages(command, world, "--connector", good.connector) == []
        unknown = command("deliveries", "list", "--connector", "con_x", *where(world.settings))
        assert unknown.error == "There is no connector con_x."

        table = command("deliveries", "list", *where(world.settings))
        assert table.code == 0
        assert [line.split()[0] for line in table.out.splitlines()[1:]] == [
            row["id"] for row in listed
        ]


def messages(command: Command, world: World, *flags: str) -> list[dict[str, Any]]:
    return list(command("deliveries", "list", "--json", *flags, *where(world.settings)).json)


def test_a_failed_or_queued_message_is_retried_at_once_by_the_operator(
    world: World, command: Command
) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        bad = Line(ada, receiver.url, retryPolicy=ONCE)
        later = Line(ada, receiver.url, retryPolicy=LATER)
        for line in (bad, later):
            line.reports(1)
        bad.settles(("failed", 1))
        later.settles(("processing", 1))
        receiver.wait_for(2)
        eventually(lambda: not messages(command, world, "--state", "sending"))
        receiver.clear()
        receiver.respond_with(200)
        waiting, failed = (row["id"] for row in messages(command, world))
        result = command("deliveries", "retry", failed, "--json", *where(world.settings))
        assert result.json == {"retried": failed}
        result = command("deliveries", "retry", waiting, *where(world.settings))
        assert (result.code, result.out) == (0, f"{waiting} is due now\n")
        bad.settles(("succeed", 1))
        later.settles(("succeed", 2))
        assert sorted(receiver.ids) == sorted([waiting, failed])
        result = command("deliveries", "retry", failed, *where(world.settings))
        assert result.error == f"{failed} is neither queued nor kept for a resend."
        assert [action for _, action, _ in world.audit()].count("delivery.retry") == 2
        resent = {
            row["id"]: row["resent"] for row in messages(command, world, "--state", "succeeded")
        }
        assert resent == {waiting: 0, failed: 1}


def test_a_queued_message_can_be_cancelled(world: World, command: Command) -> None:
    ada = world.person("ada")
    with Receiver(500) as receiver:
        later = Line(ada, receiver.url, retryPolicy=LATER)
        later.reports(2)
        later.settles(("processing", 1), ("processing", 1))
        eventually(lambda: not messages(command, world, "--state", "sending"))
        first, second = (row["id"] for row in messages(command, world))
        result = command("deliveries", "cancel", first, "--json", *where(world.settings))
        assert result.json == {"cancelled": first}
        assert sorted(later.statuses()) == [("failed", 1), ("processing", 1)]
        [cancelled] = messages(command, world, "--state", "cancelled")
        assert (cancelled["id"], cancelled["error"]) == (first, "cancelled by the operator")
        for verb, why in (
            ("cancel", f"{first} is not queued; only a queued message can be cancelled."),
            ("retry", f"{first} is neither queued nor kept for a resend."),
        ):
            assert command("deliveries", verb, first, *where(world.settings)).error == why
        result = command("deliveries", "cancel", second, *where(world.settings))
        assert result.out == f"{second} is cancelled\n"
        shown = ok(ada.get("/connector", connectorId=later.connector, groupId=later.group))
        assert shown["dataFailurePolicy"]["hasData"] is False
        now = world.clock.now() // 1_000
        period = {"beginDate": str(now - 86_400_000), "endDate": str(now + 60_000)}
        found = ok(ada.get("/group/metrics", groupId=later.group, timeSpan=10**6, **period))
        assert found["totalConnectorMessageStarted"] == found["totalConnectorMessageError"] == 2
        assert found["totalConnectorMessageProcessing"] == 0
        assert ("system", "delivery.cancel", first) in world.audit()


@pytest.mark.parametrize("verb", ["retry", "cancel"])
def test_an_unknown_message_is_an_error(world: World, command: Command, verb: str) -> None:
    for name in ("msg_1_1", "msg_ffffffffffffffff_ffffffffffffffff", "msg_", "invalid"):
        result = command("deliveries", verb, name, *where(world.settings))
        assert result.error == f"There is no message {name}."


def test_messages_of_notifications_are_listed_too(world: World, command: Command) -> None:
    ada = world.person("ada")
    with Receiver(500) as failing:
        line = Line(ada, failing.url, retryPolicy=ONCE)
        alarm = ada.notification(line.group, failing.url)
        ada.reports(line.device, "event")
        eventually(lambda: len(messages(command, world, "--state", "failed")) == 1)
        eventually(lambda: numbers(connectors(command, world)[alarm]) == (1, 0, 0, 1))
        rows = connectors(command, world)
        assert {name: row["purpose"] for name, row in rows.items()} == {
            line.connector: "connector",
            alarm: "notification",
        }
        [row] = messages(command, world, "--connector", alarm)
        assert (row["purpose"], row["device"], row["state"]) == (
            "notification",
            line.device,
            "queued",
        )
        failing.respond_with(200)
        command("deliveries", "retry", row["id"], *where(world.settings))
        eventually(lambda: not messages(command, world, "--connector", alarm))
        shown = ok(ada.get("/notification", notificationId=alarm))
        assert "lastSentAt" in shown

"""SIGKILL at the commits of alarms and reports: raised, resolved and sent once, in order.

Real time passes here. What would be due much later is made due in the database.
"""

import random
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import Clock
from longwire.dates import format_date
from longwire.settings import Settings
from tests.delivery.receiver import Receiver
from tests.faults.alarm_ledger import COLD, WARM, FreezerLedger
from tests.faults.killing import VARIABLE
from tests.faults.ledger import Start
from tests.faults.test_delivery_crashes import LOOPBACK, Rows, expire_leases, rows
from tests.process import Service

__all__ = ["rows"]

STORM = 70  # more than a contact gets messages in a minute
FLEET = 4 + STORM


def bury(rows: Rows, settings: Settings, number: int | None = None) -> None:
    """What a process held that is dead, or all, is free at once, instead of after some seconds."""
    if settings.database:
        which = "" if number is None else f" where number = {number}"
        rows(f"update node set until_at = {Clock().now() - 1}{which}")
    if number is None:
        expire_leases(rows)


def start(serve: Start, rows: Rows, settings: Settings) -> tuple[Service, int | None]:
    """A service, and its number where there may be several."""
    if not settings.database:
        return serve(*LOOPBACK), None
    before = rows("select number from node")
    service = serve(*LOOPBACK)
    [(number,)] = set(rows("select number from node")) - set(before)
    return service, number


def become_due(rows: Rows, table: str) -> Callable[[Service], None]:
    def cause(_: Service) -> None:
        rows(f"update {table} set due_at = 1 where due_at is not null")

    return cause


@pytest.mark.ordinary_variant("sqlite")
def test_whichever_commit_a_service_dies_at_alarms_and_reports_are_sent_once(
    serve: Start, rows: Rows, settings: Settings
) -> None:
    """Each of them twice: before the commit, which is repeated, and after it."""
    with Receiver() as receiver:
        service = serve(*LOOPBACK)
        ledger = FreezerLedger.of(service, receiver, FLEET)
        ledger.add_notification(service, "temperature")
        ledger.add_notification(service, "humidity", **{"for": 1})
        target = ledger.add_notification(service, "unused")
        escalating = {"escalateAfter": 1, "escalateTo": target}
        escalated = ledger.add_notification(service, "pressure", **escalating)
        report = ledger.post(service, "/report", report_to(ledger))
        service.kill()

        def silence(service: Service) -> None:
            body = {"groupId": ledger.group, "deviceIds": [ledger.fleet[2]], "reason": "Repair"}
            until = format_date(Clock().now() + 1_500_000)
            ledger.post(service, "/alarm/silence", {**body, "until": until})
            ledger.read(service, 2, "temperature", WARM)

        def run_report(_: Service) -> None:
            rows(f"update report set due_at = {Clock().now()}, run_at = {Clock().now()}")

        everybody = range(4, FLEET)
        causes: list[tuple[str, Callable[[Service], None]]] = [
            ("raise", lambda service: ledger.read(service, 0, "temperature", WARM)),
            ("resolve", lambda service: ledger.read(service, 0, "temperature", COLD)),
            ("raise", lambda service: ledger.read(service, 1, "humidity", WARM)),  # by the clock
            ("send", silence),
            ("send", lambda service: ledger.read(service, 3, "pressure", WARM)),
            ("raise", lambda service: ledger.read_many(service, everybody, "temperature", WARM)),
            ("group", become_due(rows, "contact_window")),
            ("file", run_report),
            ("report", lambda _: None),
        ]
        for point, cause in causes:
            for phase in ("before", "after"):
                bury(rows, settings)
                service = serve(*LOOPBACK, **{VARIABLE: f"{point}:{phase}"})
                ledger.repeat(service)
                if phase == "before":
                    cause(service)
                assert service.ended() == -signal.SIGKILL, (point, phase)
        bury(rows, settings)
        service = serve(*LOOPBACK)
        ledger.repeat(service)
        assert not ledger.unknown
        ledger.settle(service, rows)
        files = [each for each in receiver.requests if each.json.get("type") == "report"]
        assert len({each.id for each in files}) == 1
        assert files[0].json["reportId"] == report["id"]
        receiver.requests = [each for each in receiver.requests if each not in files]
        # The escalated one is sent again, and by the other notification.
        [alarm] = [
            each for each in ledger.list_alarms(service) if each["notificationId"] == escalated
        ]
        sent, grouped = ledger.list_messages()
        repeated = sent.pop((alarm["id"], "raised"))
        assert len(repeated) == 3
        assert len({channel for channel, _ in repeated}) == 2
        assert {len(ids) for ids in sent.values()} == {1}
        assert len(sent) + grouped["raised"] == 1 + 1 + 1 + 1 + STORM
        assert [state for _, state in sent].count("resolved") == 1
        assert service.stop() == 0


def report_to(ledger: FreezerLedger) -> dict[str, Any]:
    return {
        "groupId": ledger.group,
        "name": "Cold store",
        "content": "devices",
        **{"every": "day", "at": "06:00", "timezone": "UTC"},
        "to": {"type": "webhook", "params": {"url": ledger.receiver.url}},
    }


# --- at random points ---


def run_through_kills(
    serve: Start, rows: Rows, settings: Settings, kills: int, *, processes: int = 1
) -> None:
    """One of the services dies again and again while freezers report to all of them."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with Receiver() as receiver:
        started = [start(serve, rows, settings) for _ in range(processes)]
        services, numbers = map(list, zip(*started, strict=True))
        ledger = FreezerLedger.of(services[0], receiver, 6)
        plain = ledger.add_notification(services[0], "temperature")
        ledger.add_notification(services[0], "temperature", **{"for": 1, "resolveFor": 1})
        with ledger.senders(services):
            for _ in range(kills):
                time.sleep(chance.uniform(0.2, 1.5))
                dead = chance.randrange(processes)
                services[dead].kill()
                bury(rows, settings, numbers[dead])
                services[dead], numbers[dead] = start(serve, rows, settings)
        for each in services[1:]:
            assert each.stop() == 0
        ledger.settle(services[0], rows)
        ledger.assert_as_modelled(services[0], plain)
        ledger.assert_sound(services[0])
        assert services[0].stop() == 0


@pytest.mark.soak
def test_alarms_follow_the_values_although_the_service_is_killed_forty_times(
    serve: Start, rows: Rows, settings: Settings
) -> None:
    run_through_kills(serve, rows, settings, 40)


@pytest.mark.parametrize("engine", ["postgresql"])
def test_alarms_follow_the_values_while_one_of_two_processes_dies(
    serve: Start, rows: Rows, settings: Settings
) -> None:
    run_through_kills(serve, rows, settings, 2, processes=2)


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["postgresql"])
def test_alarms_follow_the_values_while_one_of_two_processes_dies_thirty_times(
    serve: Start, rows: Rows, settings: Settings
) -> None:
    run_through_kills(serve, rows, settings, 30, processes=2)

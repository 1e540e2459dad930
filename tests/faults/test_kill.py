"""Sudden death in the middle of ingest: what was acknowledged is there afterwards, once."""

import random
import shutil
import time

import pytest

from longwire.settings import Settings
from tests.faults.ledger import Ledger, Start, assert_whole, traced, wait_for_more
from tests.process import Service
from tests.waiting import eventually


def live_through(serve: Start, settings: Settings, deaths: int) -> None:
    """Let senders work at full rate, kill the service again and again, and look at the end."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    service = serve()
    ledger = Ledger.of(service)
    for _ in range(deaths):
        with ledger.senders(service):
            wait_for_more(ledger, 1)
            time.sleep(chance.uniform(0.02, 0.3))
            service.kill()
        service = serve()
    ledger.assert_stored_by(service)
    doubtful = len(ledger.lines) - ledger.acknowledged
    print(f"{ledger.acknowledged} acknowledged, {doubtful} doubtful")
    ledger.resend_unacknowledged(service)
    ledger.assert_stored_by(service)
    assert ledger.acknowledged == len(ledger.lines), "repeating has settled every doubt"
    assert service.stop() == 0
    if not settings.database:
        assert_whole(settings.data / "longwire.db")


def test_no_acknowledged_record_is_lost_or_doubled_when_the_service_is_killed_again_and_again(
    serve: Start, settings: Settings
) -> None:
    live_through(serve, settings, deaths=6)


@pytest.mark.soak
def test_no_acknowledged_record_is_lost_or_doubled_in_a_hundred_deaths(
    serve: Start, settings: Settings
) -> None:
    live_through(serve, settings, deaths=100)


def die_at(
    serve: Start, settings: Settings, ledger: Ledger | None, call: str, when: int
) -> tuple[Ledger, Service]:
    """Be killed by the kernel within one call on the database's files; the service after that."""
    service = serve(under=traced(settings.data, call, "signal=KILL", str(when)))
    ledger = ledger or Ledger.of(service)
    with ledger.senders(service):
        eventually(lambda: service.is_over)
    service = serve()
    ledger.assert_stored_by(service)
    return ledger, service


def die_at_each(serve: Start, settings: Settings, moments: list[tuple[str, int]]) -> None:
    if shutil.which("strace") is None:
        print("strace is not installed; deaths at moments of chance were tried, see the test above")
        return
    ledger = None
    for call, when in moments:
        ledger, service = die_at(serve, settings, ledger, call, when)
        assert service.stop() == 0
        assert_whole(settings.data / "longwire.db")
    assert ledger is not None
    assert ledger.acknowledged


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_death_in_the_middle_of_a_write_or_a_flush_loses_nothing(
    serve: Start, settings: Settings
) -> None:
    moments = [("fdatasync", 15), ("fdatasync", 16), ("pwrite64", 120), ("pwrite64", 121)]
    die_at_each(serve, settings, moments)


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_death_at_any_of_many_writes_and_flushes_loses_nothing(
    serve: Start, settings: Settings
) -> None:
    flushes = [("fdatasync", when) for when in range(10, 60)]
    writes = [("pwrite64", when) for when in range(100, 400, 6)]
    die_at_each(serve, settings, flushes + writes)

"""SIGKILL during ingest: every acknowledged record is stored once afterwards."""

import random
import shutil
import time

import pytest

from longwire.settings import Settings
from tests.faults.ledger import Ledger, Start, assert_whole, traced, wait_for_more
from tests.process import Service
from tests.waiting import eventually

pytestmark = pytest.mark.engine_free


def run_through_kills(serve: Start, settings: Settings, kills: int) -> None:
    """Kill the service repeatedly under load, then compare the ledger with what is stored."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    service = serve()
    ledger = Ledger.of(service)
    for _ in range(kills):
        with ledger.senders(service):
            wait_for_more(ledger, 1)
            time.sleep(chance.uniform(0.02, 0.3))
            service.kill()
        service = serve()
    ledger.assert_stored_by(service)
    unknown = len(ledger.lines) - ledger.acknowledged
    print(f"{ledger.acknowledged} acknowledged, {unknown} unknown")
    ledger.resend_unacknowledged(service)
    ledger.assert_stored_by(service)
    assert ledger.acknowledged == len(ledger.lines), "resending acknowledged every record"
    assert service.stop() == 0
    if not settings.database:
        assert_whole(settings.data / "longwire.db")


def test_no_acknowledged_record_is_lost_or_duplicated_when_the_service_is_killed_repeatedly(
    serve: Start, settings: Settings
) -> None:
    run_through_kills(serve, settings, kills=3)


@pytest.mark.soak
def test_no_acknowledged_record_is_lost_or_duplicated_by_a_hundred_kills(
    serve: Start, settings: Settings
) -> None:
    run_through_kills(serve, settings, kills=100)


def kill_at(
    serve: Start, settings: Settings, ledger: Ledger | None, syscall: str, when: int
) -> tuple[Ledger, Service]:
    """Kill the service inside a system call on the database; the restarted service."""
    service = serve(under=traced(settings.data, syscall, "signal=KILL", str(when)))
    ledger = ledger or Ledger.of(service)
    with ledger.senders(service):
        eventually(lambda: service.has_exited)
    service = serve()
    ledger.assert_stored_by(service)
    return ledger, service


def kill_at_each(serve: Start, settings: Settings, syscalls: list[tuple[str, int]]) -> None:
    if shutil.which("strace") is None:
        print("strace is not installed; kills at random points were tested, see the test above")
        return
    ledger = None
    for syscall, when in syscalls:
        ledger, service = kill_at(serve, settings, ledger, syscall, when)
        assert service.stop() == 0
        assert_whole(settings.data / "longwire.db")
    assert ledger is not None
    assert ledger.acknowledged


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_kill_inside_a_write_or_fsync_loses_nothing(serve: Start, settings: Settings) -> None:
    kill_at_each(serve, settings, [("fdatasync", 15), ("pwrite64", 120)])


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_kill_inside_any_of_many_writes_and_fsyncs_loses_nothing(
    serve: Start, settings: Settings
) -> None:
    flushes = [("fdatasync", when) for when in range(10, 60)]
    writes = [("pwrite64", when) for when in range(100, 400, 6)]
    kill_at_each(serve, settings, flushes + writes)

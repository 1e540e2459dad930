"""Full and failing disks during ingest: requests are refused, nothing acknowledged is lost."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from longwire.settings import Settings
from tests.faults.full_disk import fill_disk, free_disk
from tests.faults.ledger import (
    Ledger,
    Start,
    assert_whole,
    small_files_only,
    traced,
    wait_for_more,
)
from tests.process import Service
from tests.reports import KINDS, counted, device, list_records, post_record, post_records, report
from tests.waiting import eventually
from tests.world import World, ok, refused

MIB = 1024 * 1024


@pytest.fixture
def engine() -> str:
    return "sqlite"


def test_a_full_disk_refuses_records_serves_reads_and_recovers_without_a_restart(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    sensor, now = device(ada, group), world.clock.now()
    fill_disk(world, free_pages=8)

    def send(kind: str) -> tuple[list[dict[str, Any]], httpx.Response]:
        """Send records of one kind until one is refused: the acknowledged ones, and the refusal."""
        stored = []
        for number in range(1_000):
            reply = post_record(ada, kind, sensor, now, f"{kind} {number} {'x' * 500}")
            if reply.status_code != 200:
                return stored, reply
            stored.append(ok(reply))
        raise AssertionError("the disk never filled up")

    with ThreadPoolExecutor(4) as pool:
        ends = dict(zip(KINDS, pool.map(send, KINDS), strict=True))
    assert sum(len(stored) for stored, _ in ends.values()) > 4, "too few records before it was full"
    batch = [report("data", sensor, now, f"{number} {'y' * 500}") for number in range(100)]
    refusals = [reply for _, reply in ends.values()] + [post_records(ada, "data", batch)]
    for reply in refusals:
        problem = refused(reply, 503)
        assert "disk is full" in problem["detail"]
        assert problem["code"] == "unavailable", "nothing was changed"
        assert int(reply.headers["retry-after"]) >= 1
    acknowledged = {kind: stored for kind, (stored, _) in ends.items()}

    def assert_all_stored() -> None:
        for kind in KINDS:
            assert list_records(ada, kind, sensor) == acknowledged[kind]
        assert counted(ada, group, now) == {kind: len(acknowledged[kind]) for kind in KINDS}

    assert_all_stored()
    unready = world.http.get("/health/ready")
    assert (unready.status_code, unready.json()["reason"]) == (503, "writes fail: the disk is full")

    free_disk(world)
    for kind in KINDS:
        words = f"{kind} {len(acknowledged[kind])} {'x' * 500}"  # the one that was refused
        acknowledged[kind].append(ok(post_record(ada, kind, sensor, now, words)))
    assert_all_stored()
    eventually(lambda: world.http.get("/health/ready").status_code == 200)
    assert ok(post_records(ada, "data", batch))["stored"] == 100


def test_a_disk_too_full_for_the_wal_refuses_and_recovers_without_a_restart(
    serve: Start, settings: Settings
) -> None:
    if shutil.which("strace") is None:
        print("strace is not installed; a full disk was tested by a limit on pages, see above")
        return
    service = serve(under=traced(settings.data, "pwrite64", "error=ENOSPC", "300..400"))
    ledger = Ledger.of(service)
    with ledger.senders(service):
        wait_for_more(ledger, 1)
        eventually(lambda: any(line["event"] == "disk full" for line in service.log))
        eventually(lambda: ledger.send_one(service) == 200)
        wait_for_more(ledger, 50)
    assert ledger.acknowledged < len(ledger.lines), "some were refused"
    ledger.assert_stored_by(service)
    ledger.resend_unacknowledged(service)
    ledger.assert_stored_by(service)
    assert service.stop() == 0
    assert_whole(settings.data / "longwire.db")


def assert_fails_safely(service: Service, serve: Start, settings: Settings) -> None:
    """The disk fails: no response is wrong, the exit code is 70, and nothing is lost."""
    ledger = Ledger.of(service)
    with ledger.senders(service, number=2):
        refusal = ledger.send_until_refused(service)
        if refusal is not None:
            assert refused(refusal, 503)["code"] == "outcome_unknown"
        assert service.ended() == 70
    assert ledger.acknowledged > 3, "too few records before the failure"
    assert any(line["event"] == "database broken" for line in service.log)

    restarted = serve()
    ledger.assert_stored_by(restarted)
    ledger.resend_unacknowledged(restarted)
    ledger.assert_stored_by(restarted)
    assert restarted.stop() == 0
    assert_whole(settings.data / "longwire.db")


def test_a_failing_write_ends_the_service_and_loses_no_acknowledged_record(
    serve: Start, settings: Settings
) -> None:
    assert_fails_safely(serve(under=small_files_only(2 * MIB)), serve, settings)


@pytest.mark.ordinary_variant("30")
@pytest.mark.parametrize("when", ["30", "30+"])
def test_a_failing_fsync_ends_the_service_and_loses_no_acknowledged_record(
    serve: Start, settings: Settings, when: str
) -> None:
    """Once or permanently: after the first failed fsync the state of the disk is unknown."""
    if shutil.which("strace") is None:
        print("strace is not installed; only failing writes were tested, see the test above")
        return
    service = serve(under=traced(settings.data, "fdatasync", "error=EIO", when))
    assert_fails_safely(service, serve, settings)

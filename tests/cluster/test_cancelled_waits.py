"""The wait for the synchronous standby is cancelled: the transaction is on the primary alone."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import psycopg
import pytest

from tests.cluster.pair import Pair
from tests.cluster.test_failover import node, settings  # noqa: F401 (fixtures)
from tests.faults.ledger import Ledger, wait_for_more
from tests.process import Service
from tests.waiting import eventually
from tests.world import Person, World, record_of, refused

WAITING = """
from pg_stat_activity
where wait_event = 'SyncRep'
    and application_name = 'longwire'
"""
CANCEL = f"select pg_cancel_backend(pid) {WAITING}"
TERMINATE = f"select pg_terminate_backend(pid) {WAITING}"


@contextmanager
def waits_ended(pair: Pair, how: str = CANCEL) -> Iterator[None]:
    """Again and again, as an operator does who sees sessions that hang."""
    done = threading.Event()

    def end_waits() -> None:
        while not done.wait(0.02):
            with suppress(psycopg.OperationalError):  # it was killed
                pair.primary.run(how)

    thread = threading.Thread(target=end_waits)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def batch_of(device: str, size: int) -> Mapping[str, list[Mapping[str, object]]]:
    return {"items": [record_of(device, data=f"{number}") for number in range(size)]}


@pytest.fixture(params=[False, True], ids=["", "pooler"])
def sender(request: pytest.FixtureRequest, pair: Pair, make_node: Callable[..., World]) -> Person:
    # What the operator does not want to see in psql, we have to.
    pair.primary.run("alter database longwire set client_min_messages = 'error'")
    return make_node(database_pooled=request.param).person()


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(CANCEL, id="cancelled"),
        pytest.param(TERMINATE, id="terminated", marks=pytest.mark.soak),
    ],
)
def test_a_write_whose_wait_for_the_standby_ends_early_has_an_unknown_outcome(
    pair: Pair, sender: Person, how: str
) -> None:
    group = sender.group()
    device = sender.device(group)
    place = {"groupId": group, "deviceId": device}
    requests: list[Callable[[], httpx.Response]] = [
        lambda: sender.post("/device/data", record_of(device)),
        lambda: sender.post("/device/data/batch", batch_of(device, 1_000)),
        lambda: sender.post("/group", {"name": "one more"}),
        lambda: sender.put("/device", {**place, "name": "renamed"}),
        lambda: sender.delete("/device", **place),
    ]
    with pair.stalled_standby(), waits_ended(pair, how):
        for send in requests:
            assert refused(send(), 503)["code"] == "outcome_unknown"
    # It has happened on the primary; nobody got a 200 for it.
    assert refused(sender.get("/device", **place), 404)


def test_what_is_sent_again_waits_for_the_standby_although_it_is_on_the_primary(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    ada = make_node(database_patience_s=0.2).person()
    group = ada.group()
    device = ada.device(group)
    place = {"groupId": group, "deviceId": device}
    requests: list[Callable[[], httpx.Response]] = [
        lambda: ada.post("/device/data", record_of(device)),
        lambda: ada.post("/device/data/batch", batch_of(device, 3)),
        lambda: ada.put("/device", {**place, "name": "renamed"}),
    ]
    with pair.stalled_standby(), ThreadPoolExecutor() as pool:
        with waits_ended(pair):
            for send in requests:
                assert refused(send(), 503)["code"] == "outcome_unknown"
        waiting = [pool.submit(send) for send in requests]
        pair.wait_for_commits(2)
        pair.primary.kill()
        assert {each.result().status_code for each in waiting} == {503}


def test_nothing_acknowledged_is_lost_when_waits_are_cancelled_and_the_standby_is_promoted(
    pair: Pair,
    node: Service,  # noqa: F811
) -> None:
    ledger = Ledger.of(node)
    with ledger.senders(node):
        wait_for_more(ledger, 50)
        with waits_ended(pair), pair.stalled_standby():
            before = len(ledger.lines)
            eventually(lambda: len(ledger.lines) > before + 300)
            pair.primary.kill()
        pair.promote()
        wait_for_more(ledger, 50)
    ledger.assert_stored_by(node)
    ledger.resend_unacknowledged(node)
    ledger.assert_stored_by(node)

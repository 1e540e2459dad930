"""Commits wait for a standby; nobody else does."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from longwire.store.database import COMMIT_STALLED_S
from longwire.store.engines import node_lease
from tests.cluster.pair import Pair
from tests.waiting import eventually
from tests.world import World, ok, record_of


@pytest.fixture(autouse=True)
def frequent_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.1)


def metric(node: World, name: str) -> float:
    text = node.http.get("/metrics").text
    return float(re.findall(rf"^{name} (.+)$", text, re.MULTILINE)[0])


def reason(node: World) -> str | None:
    found: str | None = node.http.get("/health/ready").json().get("reason")
    return found


def test_a_node_without_enough_standbys_or_without_its_lease_is_not_ready_and_says_why(
    pair: Pair, make_node: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make_node(database_standbys_min=1)
    eventually(lambda: reason(node) is None)
    assert metric(node, "longwire_standbys") == 1
    pair.primary.reload(synchronous_standby_names="")
    eventually(lambda: reason(node) == "synchronous standbys: 0 of 1")
    pair.primary.reload(synchronous_standby_names="*")
    eventually(lambda: reason(node) is None)
    monkeypatch.setattr(node_lease, "LEASE_S", 0.5)
    with psycopg.connect(pair.primary.url) as other:
        other.execute("lock table node in access exclusive mode")
        eventually(lambda: reason(node) == "the node lease is lost")
        eventually(lambda: metric(node, "longwire_node_lease_held") == 0)
        # Which is not the same as a standby that stalls.
        assert "standby" not in node.http.get("/health/ready").json()
        assert metric(node, "longwire_commit_wait_seconds") < COMMIT_STALLED_S
    eventually(lambda: reason(node) is None)


def test_reads_go_on_while_commits_wait_for_a_stalled_standby(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node()
    ada = node.person()
    device = ada.device(ada.group())
    kept = ada.reports(device, timestamp="2026-03-01T12:00:00Z")
    writers = node.database._engine.pool.size()  # type: ignore[attr-defined]
    with ThreadPoolExecutor(20) as pool:
        with pair.stalled_standby():
            record = record_of(device, timestamp="2026-03-01T13:00:00Z")
            waiting = [pool.submit(ada.post, "/device/data", record)]
            waiting += [pool.submit(ada.post, "/group", {"name": f"{n}"}) for n in range(10)]
            pair.wait_for_commits(max(1, writers - 1))
            assert kept in ada.records(device)
            # Connections that were cut are opened again: that must not wait for the standby either.
            pair.primary.run(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'longwire' and wait_event is distinct from 'SyncRep'"
            )
            assert kept in ada.records(device)
            # A standby that confirms nothing is shown, and does not make the node unready.
            eventually(lambda: ok(node.http.get("/health/ready")).get("standby") == "stalled")
            assert metric(node, "longwire_commit_wait_seconds") >= COMMIT_STALLED_S
            assert metric(node, "longwire_node_lease_held") == 1
            assert not any(each.done() for each in waiting)
        for each in waiting:
            ok(each.result())
    assert len(ada.records(device)) == 2

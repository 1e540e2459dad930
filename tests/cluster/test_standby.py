"""Commits wait for a standby; nobody else does."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.cluster.pair import Pair
from tests.world import World, ok, record_of


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
            # Connections that were cut are opened anew: that must not wait for the standby either.
            pair.primary.run(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'longwire' and wait_event is distinct from 'SyncRep'"
            )
            assert kept in ada.records(device)
            assert node.http.get("/health/ready").status_code == 200
            assert not any(each.done() for each in waiting)
        for each in waiting:
            ok(each.result())
    assert len(ada.records(device)) == 2

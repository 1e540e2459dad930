"""Reads that may lag go to a standby, and nobody notices but by what others have just written."""

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from longwire.store.database import NotOnStandby
from longwire.store.engines.postgres_standbys import WalPosition, _StandbyWork
from longwire.store.statement import Statement
from tests.cluster.pair import Pair
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

LAG_S = 600.0  # of those tests in which no time passes


@pytest.fixture(autouse=True)
def asynchronous(pair: Pair) -> None:
    """Else commits would wait for a standby whose replay is paused."""
    pair.primary.reload(synchronous_standby_names="")


@contextlib.contextmanager
def paused_replay(pair: Pair) -> Iterator[None]:
    pair.standby.run("select pg_wal_replay_pause()")
    paused = "select pg_get_wal_replay_pause_state() = 'paused'"
    eventually(lambda: pair.standby.run(paused) == [(True,)])
    yield
    pair.standby.run("select pg_wal_replay_resume()")


def state(node: World) -> str:
    return str(ok(node.http.get("/health/ready"))["readStandby"])


def served(node: World, outcome: str = "served") -> float:
    text = node.http.get("/metrics").text
    found = re.findall(rf'longwire_read_standby_reads_total{{outcome="{outcome}"}} (.+)', text)
    return float(found[0])


def values(person: Person, device: str) -> list[str]:
    return [each["data"] for each in person.records(device)]


def share_group(node: World) -> tuple[Person, Person, str, str]:
    """Two members of a group: one who writes, and one who only reads; with a device."""
    ada, bob = node.person(), node.person("bob")
    group = ada.group()
    ada.invite(bob, group, ada.role("record.read", "device.read", "metrics.read"))
    return ada, bob, group, ada.device(group)


def wait_until_served(node: World, read: Callable[[], Any]) -> None:
    """Until a read is served by the standby."""

    def is_served() -> bool:
        before = served(node)
        read()
        return served(node) > before

    eventually(is_served)


def test_with_a_lag_only_the_writer_sees_at_once_what_a_paused_standby_does_not_have(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_read_standbys=pair.standby.url, database_read_lag_s=LAG_S)
    strict = make_node(database_read_standbys="standby")
    ada, bob, group, device = share_group(node)
    ada.reports(device, timestamp="2026-03-01T12:00:00Z", data="1")
    wait_until_served(node, lambda: ada.records(device))
    wait_until_served(strict, lambda: bob.at(strict).records(device))
    assert values(bob, device) == ["1"]
    with paused_replay(pair):
        ada.reports(device, timestamp="2026-03-01T12:00:01Z", data="2")
        assert values(ada, device) == ["1", "2"]
        assert values(bob, device) == ["1"]
        assert values(bob.at(strict), device) == ["1", "2"], "a standby that lags is left"
        # Through whichever process it was written.
        assert values(ada.at(strict), device) == ["1", "2"]
        ada.at(strict).reports(device, timestamp="2026-03-01T12:00:02Z", data="3")
        assert values(ada.at(strict), device) == ["1", "2", "3"]
        assert values(bob, device) == ["1"]
        # What a standby does not know is asked at the primary before it is denied.
        new = ada.device(group)
        assert values(bob, new) == []
        # Nor does it give back what was taken.
        ok(ada.delete("/group/user", groupId=group, userId=bob.id))
        refused(bob.get("/device/data", deviceId=device), 404)
        eventually(lambda: _is_refused(bob.at(strict), device))
    wait_until_served(strict, lambda: ada.at(strict).records(device))
    eventually(lambda: values(ada, device) == ["1", "2", "3"])


def _is_refused(person: Person, device: str) -> bool:
    return person.get("/device/data", deviceId=device).status_code == 404


def test_a_standby_that_lags_too_far_is_left_and_used_again(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_read_standbys=pair.standby.url, database_read_lag_s=1.0)
    ada, bob, group, device = share_group(node)
    ada.reports(device, data="1")
    wait_until_served(node, lambda: bob.records(device))
    with paused_replay(pair):
        ada.reports(device, data="2")
        eventually(lambda: len(values(bob, device)) == 2)
        eventually(lambda: state(node) == "behind")
    eventually(lambda: state(node) == "ok")
    wait_until_served(node, lambda: bob.records(device))
    # A read that has asked before a revocation what the standby must have comes after it.
    standbys = node.database._standbys  # type: ignore[attr-defined]
    early = node._run(standbys._positions.ask())
    eventually(lambda: is_read_at(node, early))
    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    with pytest.raises(NotOnStandby):
        read_at(node, early)
    late = node._run(standbys._positions.ask())
    eventually(lambda: is_read_at(node, late))


def read_at(node: World, position: WalPosition) -> int:
    """Read on the standby, which must have replayed this."""
    work = _StandbyWork(lambda tx: int(tx.fetch(Statement("select 1"))[0][0]), math.inf, position)
    return node.database._standbys._read_one(work)  # type: ignore[attr-defined, no-any-return]


def is_read_at(node: World, position: WalPosition) -> bool:
    with contextlib.suppress(NotOnStandby):
        return read_at(node, position) == 1
    return False


def test_a_standby_that_is_cut_off_from_its_primary_is_behind_though_it_has_replayed_all(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_read_standbys=pair.standby.url, database_read_lag_s=LAG_S)
    ada, bob, _, device = share_group(node)
    ada.reports(device, data="1")
    wait_until_served(node, lambda: bob.records(device))
    pair.standby.reload(primary_conninfo="host=127.0.0.1 port=1")
    eventually(lambda: state(node) == "behind")
    ada.reports(device, data="2")
    before = served(node)
    assert values(bob, device) == ["1", "2"], "however much lag is allowed"
    assert served(node) == before
    pair.standby.reload(primary_conninfo=pair.primary.conninfo)
    eventually(lambda: state(node) == "ok")
    wait_until_served(node, lambda: bob.records(device))


def test_exports_and_lists_of_a_group_are_read_from_a_standby_and_miss_nothing(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_read_standbys="standby")
    ada, _, group, device = share_group(node)
    for each in range(5):
        ada.reports(device, data=f"{each}")
    for path in ("/group/records", "/records/export", "/group/metrics", "/group/audit"):
        period = {"beginDate": "2026-01-01", "endDate": "2026-02-01", "timeSpan": 3_600}
        more = period if path == "/group/metrics" else {}
        wait_until_served(node, lambda p=path, m=more: ada.get(p, groupId=group, **m))  # type: ignore[misc]
    assert len(ok(ada.get("/group/records", groupId=group))["items"]) == 5
    # An export ends some seconds before the present.
    eventually(lambda: len(ada.get("/records/export", groupId=group).text.splitlines()) == 5)


def test_nobody_notices_when_the_standby_is_killed_or_promoted(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_read_standbys=pair.standby.url, database_read_lag_s=LAG_S)
    ada, bob, _, device = share_group(node)
    ada.reports(device, data="1")
    wait_until_served(node, lambda: bob.records(device))
    pair.standby.kill()
    assert values(bob, device) == ["1"]
    eventually(lambda: state(node) == "unreachable")
    assert values(bob, device) == ["1"]
    (pair.standby.folder / "postmaster.pid").unlink(missing_ok=True)
    pair.standby.start()
    eventually(lambda: state(node) == "ok")
    wait_until_served(node, lambda: bob.records(device))
    pair.primary.reload(synchronous_standby_names="")
    pair.standby.promote()
    # It is a primary of its own now, which has nothing of what is written from here on.
    ada.reports(device, data="2")
    assert values(ada, device) == ["1", "2"]
    eventually(lambda: state(node) == "unreachable")
    assert values(bob, device) == ["1", "2"]

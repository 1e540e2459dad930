"""The primary dies, and its standby is promoted."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire.settings import Settings
from longwire.store.cache import cache_epochs
from tests.cluster.pair import Pair
from tests.delivery.receiver import Receiver
from tests.faults.alarm_ledger import FreezerLedger
from tests.faults.ledger import Ledger, wait_for_more
from tests.process import Service
from tests.waiting import eventually
from tests.world import Person, World, copy_data_folder, ok, record_of, refused


@pytest.fixture
def settings(pair: Pair, cluster_template: tuple[Path, Path], fast_folder: Path) -> Settings:
    data = copy_data_folder(cluster_template[1], fast_folder / "data")
    return Settings(data=data, database=pair.url)


@pytest.fixture
def node(settings: Settings) -> Iterator[Service]:
    flags = ("--database", settings.database, "--database-standbys-min", "1")
    service = Service(settings.data, *flags).started()
    yield service
    service.clean_up()


def fail_over(pair: Pair, node: Service) -> float:
    """Kill the primary under load, and promote the standby; seconds to the next acknowledgement."""
    ledger = Ledger.of(node)
    with ledger.senders(node):
        wait_for_more(ledger, 50)
        pair.primary.kill()
        pair.promote()
        promoted = time.monotonic()
        wait_for_more(ledger, 1)
        pause_s = time.monotonic() - promoted
        wait_for_more(ledger, 50)
    print(f"acknowledged {pause_s:.2f} s after the promotion")
    ledger.assert_stored_by(node)
    ledger.resend_unacknowledged(node)
    ledger.assert_stored_by(node)
    return pause_s


def test_nothing_acknowledged_is_lost_when_a_standby_is_promoted_and_the_old_primary_returns(
    pair: Pair, node: Service
) -> None:
    first = pair.primary
    fail_over(pair, node)
    eventually(lambda: reason(node) == "synchronous standbys: 0 of 1")
    pair.rejoin()
    assert pair.standby is first
    eventually(lambda: reason(node) is None)
    # It has everything: it can take over in its turn.
    fail_over(pair, node)
    assert pair.primary is first
    assert node.stop() == 0


def reason(node: Service) -> str | None:
    found: str | None = node.http.get("/health/ready").json().get("reason")
    return found


@pytest.mark.soak
def test_the_next_acknowledgement_comes_within_two_seconds_of_a_promotion(
    pair: Pair, node: Service
) -> None:
    assert fail_over(pair, node) < 2


def kill_primary(pair: Pair, node: World, ada: Person) -> None:
    """Kill it once the caches of the node have seen their own changes, and have the caller."""
    node.database.context.caches.observe(node.read(cache_epochs.read_epochs))
    ok(ada.get("/user/groups"))
    pair.primary.kill()


def send_while_away(
    pool: ThreadPoolExecutor, node: World, ada: Person, device: str, number: int
) -> list["Future[httpx.Response]"]:
    """Send records one by one to a node whose database is unreachable; their responses."""
    sent = []
    for each in range(number):
        body = record_of(device, timestamp="2026-03-01T13:00:00Z", data=f"{each}")
        sent.append(pool.submit(ada.post, "/device/data", body))
        eventually(lambda: node.app._ingest.waiting == each + 1)  # noqa: B023 (it is called right here)
    return sent


def test_records_wait_for_the_promotion_in_their_order(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_patience_s=60.0, ingest_waiting_records_max=10)
    ada = node.person()
    device = ada.device(ada.group())
    ada.reports(device)
    kill_primary(pair, node, ada)
    with ThreadPoolExecutor(10) as pool:
        sent = send_while_away(pool, node, ada, device, 5)
        refused(ada.post("/device/data", record_of(device)), 503)  # the queue is bounded
        assert not any(each.done() for each in sent)
        pair.standby.promote()
        assert [each.result().status_code for each in sent] == [200] * 5
    # Reads have connections of their own, which may be those to the old primary.
    eventually(lambda: ada.get("/device/data", deviceId=device).status_code == 200)
    found = [each["data"] for each in ada.records(device)]
    assert found[1:] == [f"{each}" for each in range(5)]


def test_a_node_that_stops_refuses_what_waits_for_its_database(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_patience_s=3_600.0)
    ada = node.person()
    device = ada.device(ada.group())
    kill_primary(pair, node, ada)
    with ThreadPoolExecutor(10) as pool:
        sent = send_while_away(pool, node, ada, device, 3)
        node._server.should_exit = True
        assert {refused(each.result(), 503)["code"] for each in sent} == {"unavailable"}
    pair.standby.promote()
    node.restart()
    assert ada.records(device) == []


def test_records_are_refused_when_the_patience_ends(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    node = make_node(database_patience_s=0.2)
    ada = node.person()
    device = ada.device(ada.group())
    kill_primary(pair, node, ada)
    assert refused(ada.post("/device/data", record_of(device)), 503)["code"] == "unavailable"


def test_an_old_primary_that_nobody_has_fenced_is_left_for_the_promoted_standby(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    ada = make_node().person()
    device = ada.device(ada.group())
    ada.reports(device, data="before")
    # It goes on, has no standby any more, and is the first of the URL.
    pair.standby.promote()
    after = record_of(device, timestamp="2026-03-01T13:00:00Z", data="after")
    eventually(lambda: ada.post("/device/data", after).status_code == 200)
    assert pair.standby.run("select count(*) from record_data") == [(2,)]
    assert [each["data"] for each in ada.records(device)] == ["before", "after"]
    # Another node has never seen the time before.
    other = ada.at(make_node())
    assert [each["data"] for each in other.records(device)] == ["before", "after"]
    late = record_of(device, timestamp="2026-03-01T14:00:00Z", data="late")
    ok(other.post("/device/data", late))
    assert pair.standby.run("select count(*) from record_data") == [(3,)]


def test_a_primary_that_hung_and_comes_back_as_it_was_is_not_used(
    pair: Pair, make_node: Callable[..., World]
) -> None:
    ada = make_node().person()
    device = ada.device(ada.group())
    ada.reports(device, data="before")
    pair.primary.hang()
    pair.standby.promote()
    after = record_of(device, timestamp="2026-03-01T13:00:00Z", data="after")
    eventually(lambda: ada.post("/device/data", after).status_code == 200)
    pair.primary.go_on()
    # Every connection is lost: the next ones begin with the first of the URL.
    pair.standby.run(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'longwire'"
    )
    eventually(lambda: ada.get("/device/data", deviceId=device).status_code == 200)
    assert [each["data"] for each in ada.records(device)] == ["before", "after"]
    late = record_of(device, timestamp="2026-03-01T14:00:00Z", data="late")
    eventually(lambda: ada.post("/device/data", late).status_code == 200)
    assert pair.standby.run("select count(*) from record_data") == [(3,)]


@pytest.mark.soak
def test_alarms_are_raised_and_resolved_once_across_two_failovers(
    pair: Pair, settings: Settings
) -> None:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        return pair.primary.run(sql)

    place = ("--database", settings.database, "--egress-allow", "127.0.0.0/8")
    service = Service(settings.data, *place, "--database-standbys-min", "1").started()
    try:
        with Receiver() as receiver:
            ledger = FreezerLedger.of(service, receiver, 6)
            plain = ledger.add_notification(service, "temperature")
            ledger.add_notification(service, "temperature", **{"for": 1, "resolveFor": 1})

            def wait_for_values(number: int) -> None:
                enough = sum(map(len, ledger.temperatures.values())) + number
                eventually(lambda: sum(map(len, ledger.temperatures.values())) >= enough)

            with ledger.senders([service]):
                for _ in range(2):
                    wait_for_values(60)
                    pair.primary.kill()
                    pair.promote()
                    wait_for_values(60)
                    pair.rejoin()
                    eventually(lambda: reason(service) is None)
            ledger.settle(service, rows)
            ledger.assert_as_modelled(service, plain)
            ledger.assert_sound(service)
        assert service.stop() == 0
    finally:
        service.clean_up()

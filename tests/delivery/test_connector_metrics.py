"""Connectors over time: what each minute counts, and what it costs to ask."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import HOUR
from longwire.delivery.connectors import connector_metrics
from longwire.delivery.connectors.connector_metrics import add_durations, percentile
from longwire.process import maintenance
from longwire.store.delivery.connector_minutes import SettledAttempts
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

NOWHERE = "http://127.0.0.1:9/hook"  # nobody listens there


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


def run(world: World, work: Any) -> None:
    asyncio.run_coroutine_threadsafe(work, world._loop).result(60)


def spans(person: Person, group: str, **params: Any) -> list[dict[str, Any]]:
    """Two hours from an hour ago, in hours of the clock."""
    now = person.world.clock.now()
    begin = (now - HOUR) // HOUR * HOUR // 1_000
    period = {"beginDate": str(begin), "endDate": str(begin + 3 * HOUR // 1_000), **params}
    return list(ok(person.get("/connector/metrics", groupId=group, **period))["items"])


def waiting_for_retry(person: Person, group: str, connector: str) -> int:
    items = person.events(group, connector)["items"]
    return sum(each["status"] == "processing" and "message" in each for each in items)


def totals(items: list[dict[str, Any]]) -> dict[str, int]:
    names = ("made", "succeeded", "failed", "retried", "waiting")
    return {name: sum(each[name] for each in items) for name in names}


@pytest.mark.slow
def test_every_message_is_counted_where_it_was_made_and_where_it_ended(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    retried = {"retryDelay": 60, "maxRetry": 1}
    with Receiver() as receiver:
        receiver.respond_with(200, 200, 503)
        good = ada.connector(group, receiver.url, retryPolicy=retried)
        for second in range(3):
            ada.reports(device, timestamp=f"2026-03-01T12:00:0{second}Z")
        receiver.wait_for(3)
        eventually(lambda: totals(spans(ada, group))["succeeded"] == 2)
        bad = ada.connector(group, NOWHERE, retryPolicy={"retryDelay": 86_400, "maxRetry": 1})
        ada.reports(device, timestamp="2026-03-01T12:00:03Z")
        eventually(lambda: waiting_for_retry(ada, group, good) == 2)
        eventually(lambda: waiting_for_retry(ada, group, bad) == 1)
        run(world, connector_metrics.sample_backlogs(world.database))
        world.clock.let_pass(seconds=7_200)
        receiver.respond_with(500)
        eventually(lambda: totals(spans(ada, group, connectorId=good))["failed"] == 2)
        run(world, connector_metrics.sample_backlogs(world.database))
    later = spans(ada, group, connectorId=good)
    assert totals(later)["retried"] == 2
    assert totals(later)["made"] == 0
    ms = next(each["ms"] for each in later if "ms" in each)
    assert 0 <= ms["p50"] <= ms["p95"] <= ms["max"]
    assert totals(spans(ada, group, connectorId=bad))["waiting"] == 1
    world.clock.let_pass(seconds=-7_200)
    before = spans(ada, group, connectorId=good)
    assert totals(before)["made"] == 4
    assert totals(before)["succeeded"] == 2
    assert totals(spans(ada, group, connectorId=bad))["made"] == 1
    assert totals(spans(ada, group))["made"] == 5
    by_minutes = totals(spans(ada, group, timeSpan=600))
    assert {**by_minutes, "waiting": 0} == {**totals(spans(ada, group)), "waiting": 0}
    assert [each["timestamp"] for each in spans(ada, group, timeSpan=7_200)][1] > before[1][
        "timestamp"
    ]

    # Old minutes are deleted, and those of a deleted connector.
    ok(ada.delete("/connector", connectorId=bad, groupId=group))
    run(world, maintenance.delete_old_deliveries(world.database, 30))
    assert len({row[0] for row in world.list_rows("connector_minute")}) == 1
    world.clock.let_pass(days=31)
    run(world, maintenance.delete_old_connector_metrics(world.database, 30))
    assert world.list_rows("connector_minute") == []


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_report_is_bounded_and_only_for_the_group(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, elsewhere = ada.group(), eve.group()
    foreign = eve.connector(elsewhere, NOWHERE)
    for _ in range(3):
        ada.connector(group, NOWHERE)
    path, month = "/connector/metrics", {"beginDate": "2026-03-01", "endDate": "2026-03-31"}
    refused(ada.get(path, groupId=group, timeSpan=60, **month), 400, "timeSpan")
    refused(ada.get(path, groupId=group, timeSpan=90, **month), 400, "timeSpan")
    week = {"beginDate": "2026-03-01", "endDate": "2026-03-07"}
    refused(ada.get(path, groupId=group, timeSpan=600, **week), 400, "beginDate")
    assert len(ok(ada.get(path, groupId=group, timeSpan=86_400, **month))["items"]) == 31
    refused(ada.get(path, groupId=group, connectorId=foreign, **month), 400, "connectorId")
    refused(eve.get(path, groupId=group, **month), 400)
    day = {"beginDate": "2026-03-01", "endDate": "2026-03-01"}
    items = ok(ada.get(path, groupId=group, **day))["items"]
    assert len(items) == 24
    assert totals(items) == dict.fromkeys(totals(items), 0)


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=200))
def test_estimated_percentiles_lie_in_the_range_of_the_true_ones(durations: list[int]) -> None:
    settled = SettledAttempts()
    for each in durations:
        add_durations(settled, each, 1)
    p50, p95 = (percentile(settled.buckets, settled.max_ms, share) for share in (0.5, 0.95))
    assert 0 <= p50 <= p95 <= max(durations)
    true = sorted(durations)[-(-95 * len(durations) // 100) - 1]
    other = SettledAttempts()
    add_durations(other, true, 1)
    estimated = SettledAttempts()
    add_durations(estimated, p95, 1)
    assert abs(other.buckets.index(1) - estimated.buckets.index(1)) <= 1

"""Connectors with `maxPerSecond`: never more requests than that, over all processes."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.delivery.engine import request_rate
from longwire.delivery.engine.request_rate import RequestRate, get_end, plan_requests
from longwire.ids import parse_delivery_id
from tests.delivery.receiver import Receiver
from tests.delivery.test_engine import Line
from tests.waiting import eventually
from tests.world import World

RATES = st.floats(0.001, 1_000)


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


def starts(receiver: Receiver) -> list[float]:
    return sorted(each.at for each in receiver.requests)


def require_rate(receiver: Receiver, per_s: float, late_s: float = 0.25) -> None:
    """Of any so many in a row the last one comes a second later, as far as the receiver notices.

    A busy machine may read one late and the next one in time.
    """
    times, number = starts(receiver), max(1, int(per_s))
    spans = [after - before for before, after in zip(times, times[number:], strict=False)]
    assert min(spans) > number / per_s - late_s, spans


def test_no_more_requests_than_the_rate_whatever_causes_them(world: World) -> None:
    """Retries and resends count, a batch is one request, and another connector does not wait."""
    with Receiver() as receiver, Receiver() as other:
        ada = world.person()
        policy = {"retryDelay": 1, "maxRetry": 0}
        params = {"maxPerSecond": 20}
        line = Line(ada, receiver.url, params=params, retryPolicy=policy)
        ada.connector(line.group, other.url)
        receiver.respond_with(*[422] * 10, 200)
        line.reports(40)
        other.wait_for(40)
        assert len(receiver.requests) < 40
        eventually(lambda: line.health["rateLimited"] > 0)
        line.settles(succeed=30, failed=10)
        line.resend()
        line.settles(succeed=40)
        require_rate(receiver, 20)
        assert line.health["rateLimited"] == 0
        assert len(receiver.requests) == 50
        # In the order of arrival: nobody overtakes who waits.
        first = [each.json["id"] for each in receiver.requests[:40]]
        assert first == sorted(first)


def test_a_batch_counts_as_one_request_and_a_fraction_is_a_rate(world: World) -> None:
    with Receiver() as receiver:
        params = {"maxPerSecond": 0.5, "batch": 100}
        line = Line(world.person(), receiver.url, params=params)
        line.reports(1)
        line.settles(succeed=1)
        line.reports(60)
        line.settles(succeed=61)
        require_rate(receiver, 0.5)
        assert 2 <= len(receiver.requests) <= 3
        # A restart does not begin with a fresh rate, and a higher rate holds at once.
        line.reports(1)
        world.restart()
        line.settles(succeed=62)
        require_rate(receiver, 0.5)
        line.reports(5)
        receiver.wait_for(len(receiver.requests) + 1)
        line.change(params=f'{{"url":"{receiver.url}"}}')
        line.settles(succeed=67)


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_two_processes_together_send_no_more_also_while_one_takes_over(
    world: World, make_world: Callable[..., World]
) -> None:
    other = make_world()
    eventually(lambda: len(world.database.cluster.delivering) == 2)
    eventually(lambda: len(other.database.cluster.delivering) == 2)
    with Receiver() as receiver:
        ada = world.person()
        line = Line(ada, receiver.url, params={"maxPerSecond": 10})
        line.reports(30)
        receiver.wait_for(8)
        # Whichever of them sends: it stops, and the other one goes on.
        channel = number(line)
        worlds = (world, other)
        sender = next(each for each in worlds if each.database.cluster.get_share(channel, 1))
        sender.stop()
        assert len(receiver.requests) < 30
        receiver.wait_for(30)
        require_rate(receiver, 10)
        if sender is world:
            world.start()
        line.settles(succeed=30)


def number(line: Line) -> int:
    """The number of its channel, as in the ids of its messages."""
    key = parse_delivery_id(line.events()[0]["id"])
    assert key is not None
    return key[0]


# --- the arithmetic ---


@given(RATES, st.lists(st.floats(0, 3), max_size=60))
def test_in_no_second_there_are_more_requests_than_the_rate(
    rate: float, lateness: list[float]
) -> None:
    """However late the event loop is."""
    now = 0.0
    clock = pytest.MonkeyPatch()
    clock.setattr(request_rate.time, "monotonic", lambda: now)
    try:
        limited, sent = RequestRate(rate), list[float]()
        for late in lateness:
            now += limited.get_wait_s() + late / rate
            assert limited.get_wait_s() <= 1e-9
            limited.take()
            sent.append(now)
    finally:
        clock.undo()
    window = max(1.0, 1 / rate)
    most = max(1, -int(-rate * window // 1))
    for first, beyond in zip(sent, sent[most:], strict=False):
        assert beyond - first >= window * (1 - 1e-6)


@given(RATES, st.integers(0, 10**6), st.integers(0, 500))
def test_requests_are_taken_at_most_a_second_ahead(rate: float, gap: int, wanted: int) -> None:
    now = 10**15
    taken_until, counted = now - gap, 0
    for _ in range(3):
        plan = plan_requests(rate, taken_until, now, wanted)
        assert 0 <= plan.count <= wanted
        assert plan.count == 0 or plan.first_at <= now + SECOND
        counted += plan.count
        taken_until = get_end(rate, plan, plan.count)
    assert counted <= max(1, rate) + 1
    # A clock that was turned back, or a much higher rate, delays by a moment.
    plan = plan_requests(rate, now + 10**12, now, 1)
    assert plan.first_at <= now + SECOND * (1 + request_rate.get_interval_s(rate))


def test_every_two_requests_have_their_distance() -> None:
    for rate, expected in ((10, 0.102), (1, 1.02), (0.1, 10.02)):
        assert request_rate.get_interval_s(rate) == pytest.approx(expected)
    pairs = itertools.pairwise((0.001, 0.1, 1.0, 10.0, 1_000.0))
    assert all(
        request_rate.get_interval_s(slow) > request_rate.get_interval_s(fast)
        for slow, fast in pairs
    )

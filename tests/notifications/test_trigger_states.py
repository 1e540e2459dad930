"""Trigger states: each alert is sent once."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.notifications.trigger_states import (
    REASON_POLICIES,
    AlertStatus,
    ReasonPolicy,
    apply_event,
    apply_observation,
    defer_alert,
)
from longwire.store.notifications.notifications import NotificationState

SILENT = REASON_POLICIES["deviceSilent"]
ENTER = REASON_POLICIES["geofenceEnter"]
FAILING = REASON_POLICIES["connectorFailing"]
RECOVERED = REASON_POLICIES["connectorRecovered"]

NEW = NotificationState()
RAISED_AT_5 = NotificationState(raised_at=5, is_notified=True, as_of=5, fired_at=5)
HELD_BACK_AT_5 = NotificationState(raised_at=5, as_of=5, fired_at=1, held_back=1)
UNSENT_AT_5 = NotificationState(raised_at=5, as_of=5)
TWO_HELD_BACK = NotificationState(as_of=5, fired_at=1, held_back=2)
FINE_AT_5 = NotificationState(as_of=5, fired_at=1)


@pytest.mark.parametrize(
    "before, policy, is_active, at, now, throttle, after, status",
    [
        # It starts, continues and is resolved: two alerts.
        (NEW, SILENT, True, 5, 5, 0, RAISED_AT_5, AlertStatus(0, 5)),
        (RAISED_AT_5, SILENT, True, 7, 7, 0, NotificationState(5, True, 7, 5), None),
        (
            RAISED_AT_5,
            SILENT,
            False,
            8,
            8,
            0,
            NotificationState(None, False, 8, 5),
            AlertStatus(0, 5, True),
        ),
        (NEW, SILENT, False, 5, 5, 0, NotificationState(as_of=5), None),
        # Observations older than the last one change nothing.
        (RAISED_AT_5, SILENT, False, 4, 9, 0, RAISED_AT_5, None),
        # Throttled: counted once; if it is resolved by then, neither is sent.
        (FINE_AT_5, SILENT, True, 6, 6, 9, NotificationState(6, False, 6, 1, 1), None),
        (HELD_BACK_AT_5, SILENT, True, 7, 7, 9, NotificationState(5, False, 7, 1, 1), None),
        (HELD_BACK_AT_5, SILENT, False, 7, 7, 9, NotificationState(None, False, 7, 1, 1), None),
        # Still active when the throttle ends: sent late, and no longer counted.
        (
            HELD_BACK_AT_5,
            SILENT,
            True,
            10,
            10,
            9,
            NotificationState(5, True, 10, 10, 0),
            AlertStatus(0, 5),
        ),
        # The resolution of an alert that was sent is never throttled.
        (
            RAISED_AT_5,
            SILENT,
            False,
            6,
            6,
            99,
            NotificationState(None, False, 6, 5),
            AlertStatus(0, 5, True),
        ),
        # Suppressed alerts are counted in the next one.
        (
            TWO_HELD_BACK,
            SILENT,
            True,
            20,
            20,
            9,
            NotificationState(20, True, 20, 20),
            AlertStatus(2, 20),
        ),
        # Inside at the first fix is not entering; leaving is another reason.
        (NEW, ENTER, True, 5, 5, 0, NotificationState(5, True, 5), None),
        (NotificationState(5, True, 5), ENTER, False, 6, 6, 0, NotificationState(as_of=6), None),
        (
            NotificationState(as_of=6),
            ENTER,
            True,
            7,
            7,
            0,
            NotificationState(7, True, 7, 7),
            AlertStatus(0, 7),
        ),
        # A failing connector has one reason for each direction.
        (NEW, FAILING, True, 5, 5, 0, RAISED_AT_5, AlertStatus(0, 5)),
        (RAISED_AT_5, FAILING, False, 6, 6, 0, NotificationState(None, False, 6, 5), None),
        (NEW, RECOVERED, True, 5, 5, 0, NotificationState(5, False, 5), None),
        (
            UNSENT_AT_5,
            RECOVERED,
            False,
            6,
            6,
            0,
            NotificationState(None, False, 6, 6),
            AlertStatus(0, 5, True),
        ),
        (
            NotificationState(5, False, 5, 4),
            RECOVERED,
            False,
            6,
            6,
            9,
            NotificationState(None, False, 6, 4, 1),
            None,
        ),
        (NEW, RECOVERED, False, 5, 5, 0, NotificationState(as_of=5), None),
    ],
)
def test_an_observation(
    before: NotificationState,
    policy: ReasonPolicy,
    is_active: bool,
    at: int,
    now: int,
    throttle: int,
    after: NotificationState,
    status: AlertStatus | None,
) -> None:
    assert apply_observation(before, policy, at, now, throttle, is_active=is_active) == (
        after,
        status,
    )


@pytest.mark.parametrize(
    "before, is_active, deferred, next_status",
    [
        # It starts, continues and is sent late; then it does not count as suppressed.
        (NEW, True, NotificationState(5, False, 8, None, 1), AlertStatus(0, 5)),
        (UNSENT_AT_5, True, NotificationState(5, False, 8, None, 0), AlertStatus(0, 5)),
        (
            NotificationState(as_of=5, fired_at=1, held_back=2),
            True,
            NotificationState(8, False, 8, 1, 3),
            AlertStatus(2, 8),
        ),
        # A resolution is not lost either.
        (RAISED_AT_5, False, RAISED_AT_5, AlertStatus(0, 5, True)),
    ],
)
def test_an_alert_beyond_the_quota_is_sent_with_the_next_observation(
    before: NotificationState,
    is_active: bool,
    deferred: NotificationState,
    next_status: AlertStatus,
) -> None:
    now = 5 if before == NEW else 8
    after, status = apply_observation(before, SILENT, 8, now, 0, is_active=is_active)
    assert status is not None
    kept = defer_alert(before, after, status)
    assert kept == deferred
    assert apply_observation(kept, SILENT, 9, 9, 0, is_active=is_active)[1] == next_status


@given(st.lists(st.integers(0, 10), max_size=50), st.integers(0, 30))
def test_events_keep_the_throttle_and_every_suppressed_one_is_counted(
    steps: list[int], throttle: int
) -> None:
    state, now, sent, counted = NotificationState(), 0, [], 0
    for step in steps:
        now += step
        state, status = apply_event(state, now, throttle)
        if status is not None:
            sent.append(now)
            counted += 1 + status.held_back
    assert counted + state.held_back == len(steps)
    assert all(later - earlier >= throttle for earlier, later in pairwise(sent))


OBSERVATIONS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 5), st.booleans()), max_size=60
)


@given(OBSERVATIONS, st.integers(0, 30), st.sampled_from(sorted(REASON_POLICIES)))
def test_in_any_order_of_observations_each_alert_is_sent_once(
    observations: list[tuple[int, int, bool]], throttle: int, reason: str
) -> None:
    policy = REASON_POLICIES[reason]
    state, now, newest, is_active = NotificationState(), 0, -10, False
    begun = 0
    begins: list[int] = []
    is_open = False  # a start was sent, and its end was not
    for step, age, is_observed in observations:
        now += step
        at = now - age
        before = state
        state, status = apply_observation(state, policy, at, now, throttle, is_active=is_observed)
        if at < newest:
            assert (state, status) == (before, None), "stale observation"
            continue
        newest = at
        begun += is_observed and not is_active
        is_active = is_observed
        assert (state.raised_at is not None) == is_active
        if status is None:
            if not is_active:
                is_open = False
            continue
        assert status.since is not None and status.since <= now
        if status.is_resolved:
            assert not is_active and policy.notifies_end
            assert is_open or not policy.notifies_start, "the start was not sent"
            is_open = False
        else:
            assert is_active and policy.notifies_start and not is_open, "sent twice"
            assert all(now - earlier >= throttle for earlier in begins)
            begins.append(now)
            is_open = True
    assert len(begins) <= begun
    if not throttle and policy.notifies_start and not policy.ignores_initial_state:
        assert len(begins) == begun

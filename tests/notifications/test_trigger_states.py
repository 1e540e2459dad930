"""The rules of telling once, without a service around them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.notifications.trigger_states import RAISED, Manner, Telling, look, pass_on, put_off
from longwire.store.notifications import State

SILENT = RAISED["deviceSilent"]
ENTER = RAISED["geofenceEnter"]
FAILING = RAISED["connectorFailing"]
RECOVERED = RAISED["connectorRecovered"]

NEW = State()
RAISED_AT_5 = State(raised_at=5, is_told=True, as_of=5, fired_at=5)
HELD_BACK_AT_5 = State(raised_at=5, as_of=5, fired_at=1, held_back=1)
UNTOLD_AT_5 = State(raised_at=5, as_of=5)
TWO_HELD_BACK = State(as_of=5, fired_at=1, held_back=2)
FINE_AT_5 = State(as_of=5, fired_at=1)


@pytest.mark.parametrize(
    "before, manner, holds, at, now, throttle, after, telling",
    [
        # It begins, it goes on, it is over; it is told twice.
        (NEW, SILENT, True, 5, 5, 0, RAISED_AT_5, Telling(0, 5)),
        (RAISED_AT_5, SILENT, True, 7, 7, 0, State(5, True, 7, 5), None),
        (RAISED_AT_5, SILENT, False, 8, 8, 0, State(None, False, 8, 5), Telling(0, 5, True)),
        (NEW, SILENT, False, 5, 5, 0, State(as_of=5), None),
        # News that are older than what is known change nothing.
        (RAISED_AT_5, SILENT, False, 4, 9, 0, RAISED_AT_5, None),
        # Too soon after the last one: held back and counted once; if it is over by then, nobody
        # hears of either.
        (FINE_AT_5, SILENT, True, 6, 6, 9, State(6, False, 6, 1, 1), None),
        (HELD_BACK_AT_5, SILENT, True, 7, 7, 9, State(5, False, 7, 1, 1), None),
        (HELD_BACK_AT_5, SILENT, False, 7, 7, 9, State(None, False, 7, 1, 1), None),
        # It still holds when the throttle is over: told late, and held back no more.
        (HELD_BACK_AT_5, SILENT, True, 10, 10, 9, State(5, True, 10, 10, 0), Telling(0, 5)),
        # Whoever heard of the beginning hears of the end, however soon.
        (RAISED_AT_5, SILENT, False, 6, 6, 99, State(None, False, 6, 5), Telling(0, 5, True)),
        # What was held back before is counted when it begins the next time.
        (TWO_HELD_BACK, SILENT, True, 20, 20, 9, State(20, True, 20, 20), Telling(2, 20)),
        # Inside from the beginning is not entered; nor does leaving have to be told here.
        (NEW, ENTER, True, 5, 5, 0, State(5, True, 5), None),
        (State(5, True, 5), ENTER, False, 6, 6, 0, State(as_of=6), None),
        (State(as_of=6), ENTER, True, 7, 7, 0, State(7, True, 7, 7), Telling(0, 7)),
        # A connector that fails has a name for each of its sides.
        (NEW, FAILING, True, 5, 5, 0, RAISED_AT_5, Telling(0, 5)),
        (RAISED_AT_5, FAILING, False, 6, 6, 0, State(None, False, 6, 5), None),
        (NEW, RECOVERED, True, 5, 5, 0, State(5, False, 5), None),
        (UNTOLD_AT_5, RECOVERED, False, 6, 6, 0, State(None, False, 6, 6), Telling(0, 5, True)),
        (State(5, False, 5, 4), RECOVERED, False, 6, 6, 9, State(None, False, 6, 4, 1), None),
        (NEW, RECOVERED, False, 5, 5, 0, State(as_of=5), None),
    ],
)
def test_a_look(
    before: State,
    manner: Manner,
    holds: bool,
    at: int,
    now: int,
    throttle: int,
    after: State,
    telling: Telling | None,
) -> None:
    assert look(before, manner, at, now, throttle, holds=holds) == (after, telling)


@pytest.mark.parametrize(
    "before, holds, put_off_until, next_telling",
    [
        # It begins, goes on and is told late; what was told late was not held back.
        (NEW, True, State(5, False, 8, None, 1), Telling(0, 5)),
        (UNTOLD_AT_5, True, State(5, False, 8, None, 0), Telling(0, 5)),
        (State(as_of=5, fired_at=1, held_back=2), True, State(8, False, 8, 1, 3), Telling(2, 8)),
        # That it is over is not forgotten either.
        (RAISED_AT_5, False, RAISED_AT_5, Telling(0, 5, True)),
    ],
)
def test_what_there_is_no_room_for_is_told_with_the_next_news(
    before: State, holds: bool, put_off_until: State, next_telling: Telling
) -> None:
    now = 5 if before == NEW else 8
    after, telling = look(before, SILENT, 8, now, 0, holds=holds)
    assert telling is not None
    kept = put_off(before, after, telling)
    assert kept == put_off_until
    assert look(kept, SILENT, 9, 9, 0, holds=holds)[1] == next_telling


@given(st.lists(st.integers(0, 10), max_size=50), st.integers(0, 30))
def test_what_is_passed_on_keeps_its_distance_and_nothing_is_left_uncounted(
    steps: list[int], throttle: int
) -> None:
    state, now, told, counted = State(), 0, [], 0
    for step in steps:
        now += step
        state, telling = pass_on(state, now, throttle)
        if telling is not None:
            told.append(now)
            counted += 1 + telling.held_back
    assert counted + state.held_back == len(steps)
    assert all(later - earlier >= throttle for earlier, later in pairwise(told))


LOOKS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 5), st.booleans()), max_size=60)


@given(LOOKS, st.integers(0, 30), st.sampled_from(sorted(RAISED)))
def test_whatever_is_seen_in_whatever_order_each_time_is_told_once(
    looks: list[tuple[int, int, bool]], throttle: int, reason: str
) -> None:
    manner = RAISED[reason]
    state, now, newest, holds = State(), 0, -10, False
    begun = 0
    begins: list[int] = []
    is_open = False  # a beginning was told, and its end was not
    for step, age, says in looks:
        now += step
        at = now - age
        before = state
        state, telling = look(state, manner, at, now, throttle, holds=says)
        if at < newest:
            assert (state, telling) == (before, None), "old news"
            continue
        newest = at
        begun += says and not holds
        holds = says
        assert (state.raised_at is not None) == holds
        if telling is None:
            if not holds:
                is_open = False
            continue
        assert telling.since is not None and telling.since <= now
        if telling.is_over:
            assert not holds and manner.tells_end
            assert is_open or not manner.tells_begin, "nobody was told that it began"
            is_open = False
        else:
            assert holds and manner.tells_begin and not is_open, "told twice"
            assert all(now - earlier >= throttle for earlier in begins)
            begins.append(now)
            is_open = True
    assert len(begins) <= begun
    if not throttle and manner.tells_begin and not manner.is_quiet_at_first:
        assert len(begins) == begun

"""Conditions with a state: each alarm is raised once and resolved once, at the right time."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from longwire.notifications.alarm_conditions import (
    AlarmCondition,
    AlarmTransition,
    ConditionReading,
    ConditionState,
    ValueLimit,
    find_due,
    is_repeated,
    step,
)

ABOVE_8 = ValueLimit(8.0, is_upper=True)
WITH_HYSTERESIS = ValueLimit(8.0, is_upper=True, hysteresis=2.0)
BELOW_3 = ValueLimit(3.0, is_upper=False, hysteresis=1.0)


def _run(condition: AlarmCondition, *events: tuple[int, float] | int) -> list[AlarmTransition]:
    """What happens with these values and ticks, in the order in which they come."""
    assert condition.limit is not None
    state, found = ConditionState(), []
    for event in events:
        at = event if isinstance(event, int) else condition.limit.read(*event)
        state, transitions = step(condition, state, at)
        found += transitions
    return found


def _brief(transitions: Sequence[AlarmTransition]) -> list[str]:
    return [
        f"resolved {each.raised_at}-{each.at} worst {each.worst}"
        if each.is_resolved
        else f"raised {each.at} by {each.value}"
        for each in transitions
    ]


@pytest.mark.parametrize(
    "condition, events, expected",
    [
        # At once, and back.
        (
            AlarmCondition(limit=ABOVE_8),
            [(1, 8.0), (2, 9.0), (3, 11.0), (4, 10.0), (5, 8.0), (6, 7.0)],
            ["raised 2 by 9.0", "resolved 2-5 worst 11.0"],
        ),
        # Between the two limits nothing changes; it has to be clear without a break.
        (
            AlarmCondition(limit=WITH_HYSTERESIS, clear_for=10),
            [(1, 9.0), (2, 7.0), (3, 6.0), (9, 7.0), (10, 5.0), (19, 5.0), (20, 5.0)],
            ["raised 1 by 9.0", "resolved 1-20 worst 9.0"],
        ),
        (
            AlarmCondition(limit=BELOW_3),
            [(1, 2.5), (2, 1.0), (3, 3.5), (4, 4.0)],
            ["raised 1 by 2.5", "resolved 1-4 worst 1.0"],
        ),
        # By the time of the values, with the one that was in force then; or by the clock.
        (
            AlarmCondition(limit=ABOVE_8, met_for=10),
            [(1, 9.0), (5, 12.0), (30, 5.0)],
            ["raised 11 by 12.0", "resolved 11-30 worst 12.0"],
        ),
        (AlarmCondition(limit=ABOVE_8, met_for=10), [(1, 9.0), 10, 11, 12], ["raised 11 by 9.0"]),
        (AlarmCondition(limit=ABOVE_8, met_for=10), [(1, 9.0), (11, 8.0), 99], []),
        (
            AlarmCondition(limit=ABOVE_8, met_for=10),
            [(1, 9.0), (11, 10.0)],
            ["raised 11 by 10.0"],
        ),
        # So many messages in a row; with both, both have to hold.
        (AlarmCondition(limit=ABOVE_8, messages=2), [(1, 9.0), (2, 8.0), (3, 9.0), 99], []),
        (
            AlarmCondition(limit=ABOVE_8, messages=2, met_for=10),
            [(1, 9.0), 50, (60, 10.0)],
            ["raised 60 by 10.0"],
        ),
        (
            AlarmCondition(limit=ABOVE_8, messages=2, met_for=10),
            [(1, 9.0), (2, 9.5), 11],
            ["raised 11 by 9.5"],
        ),
        # Late values are ignored; of two at one time the later arrival counts, also as a reading.
        (AlarmCondition(limit=ABOVE_8), [(5, 1.0), (4, 99.0)], []),
        (AlarmCondition(limit=ABOVE_8, met_for=10), [(5, 9.0), (5, 1.0), 99], []),
        (
            AlarmCondition(limit=ABOVE_8),
            [(5, 9.0), (5, 1.0), (5, 10.0)],
            ["raised 5 by 9.0", "resolved 5-5 worst 9.0", "raised 5 by 10.0"],
        ),
        # A value holds until it is stale.
        (
            AlarmCondition(limit=ABOVE_8, met_for=10, stale_after=5),
            [(1, 9.0), 99],
            [],
        ),
        (
            AlarmCondition(limit=ABOVE_8, met_for=10, stale_after=10),
            [(1, 9.0), 99],
            ["raised 11 by 9.0"],
        ),
        (
            AlarmCondition(limit=ABOVE_8, stale_after=10, on_stale="resolve"),
            [(1, 9.0), 99, (100, 9.0)],
            ["raised 1 by 9.0", "resolved 1-11 worst 9.0", "raised 100 by 9.0"],
        ),
        (
            AlarmCondition(limit=ABOVE_8, stale_after=10, on_stale="raise"),
            [(1, 5.0), (8, 5.0), 17, 18, 50, (51, 6.0)],
            ["raised 18 by None", "resolved 18-51 worst None"],
        ),
        # One without data goes on as one of values, if these meet the condition.
        (
            AlarmCondition(limit=WITH_HYSTERESIS, stale_after=10, on_stale="raise"),
            [(1, 5.0), 50, (51, 9.0), (52, 7.0), (53, 6.0)],
            ["raised 11 by None", "resolved 11-53 worst 9.0"],
        ),
        # A tick was faster than a value that was under way: never resolved before it was raised.
        (
            AlarmCondition(limit=ABOVE_8, met_for=10),
            [(1, 9.0), 20, (5, 1.0), 20],
            ["raised 11 by 9.0", "resolved 11-11 worst 9.0"],
        ),
    ],
)
def test_alarms_are_raised_and_resolved(
    condition: AlarmCondition, events: list[tuple[int, float] | int], expected: list[str]
) -> None:
    assert _brief(_run(condition, *events)) == expected


# --- against a model that knows the whole history ---


class _PlainModel:
    """Looks through all values at every moment; it keeps nothing but them and what happened."""

    def __init__(self, condition: AlarmCondition) -> None:
        self._condition = condition
        self._values: list[ConditionReading] = []
        self._decided_until = -1
        self._values_when_raised = 0
        self.found: list[AlarmTransition] = []

    def take(self, reading: ConditionReading) -> None:
        if self._values and reading.at < self._values[-1].at:
            return
        self.tick(reading.at - 1)
        self._values.append(reading)
        self._decide_at(reading.at)

    def tick(self, until: int) -> None:
        for at in range(self._decided_until + 1, until + 1):
            self._decide_at(at)
        self._decided_until = max(self._decided_until, until)

    def _decide_at(self, at: int) -> None:
        if not self._values:
            return
        stale_after = self._condition.stale_after
        age = at - self._values[-1].at
        if stale_after is None or age <= stale_after:
            self._decide_by_value(at)
        if stale_after is not None and age == stale_after:
            self._decide_by_absence(at)

    def _decide_by_value(self, at: int) -> None:
        condition, opened = self._condition, self._open
        run = self._last_run(opened)
        if not run:
            return
        if opened is not None:
            if at - run[0].at >= condition.clear_for:
                self._resolve(at, opened)
        elif len(run) >= condition.messages and at - run[0].at >= condition.met_for:
            self._raise(at, self._values[-1].value)

    def _decide_by_absence(self, at: int) -> None:
        opened = self._open
        if self._condition.on_stale == "resolve" and opened is not None:
            self._resolve(at, opened, is_by_absence=True)
        elif self._condition.on_stale == "raise" and opened is None:
            self._raise(at, None, is_by_absence=True)

    @property
    def _open(self) -> AlarmTransition | None:
        return self.found[-1] if self.found and not self.found[-1].is_resolved else None

    def _last_run(self, opened: AlarmTransition | None) -> list[ConditionReading]:
        """The last values that say so one after another, without one that became stale between."""
        stale_after = self._condition.stale_after
        run: list[ConditionReading] = []
        for index in range(len(self._values) - 1, -1, -1):
            each = self._values[index]
            is_gap = bool(run) and stale_after is not None and run[0].at - each.at > stale_after
            if is_gap or not self._says_so(opened, index):
                break
            run.insert(0, each)
        return run

    def _says_so(self, opened: AlarmTransition | None, index: int) -> bool:
        """Whether a value meets the condition, or is clear of it while an alarm is open."""
        reading = self._values[index]
        if opened is None:
            return reading.is_met
        since = self._values[self._values_when_raised : index]
        has_no_data = opened.is_by_absence and not any(each.is_met for each in since)
        return not reading.is_met if has_no_data else reading.is_clear

    def _raise(self, at: int, value: float | None, *, is_by_absence: bool = False) -> None:
        self._values_when_raised = len(self._values)
        self.found.append(AlarmTransition(at, at, value, value, is_by_absence=is_by_absence))

    def _resolve(self, at: int, opened: AlarmTransition, *, is_by_absence: bool = False) -> None:
        limit = self._condition.limit
        assert limit is not None
        since = self._values[self._values_when_raised :]
        worse = [each.value for each in since if each.is_met and each.value is not None]
        values = worse if opened.value is None else [opened.value, *worse]
        worst = (max if limit.is_upper else min)(values) if values else None
        self.found.append(
            AlarmTransition(
                at, opened.at, opened.value, worst, is_resolved=True, is_by_absence=is_by_absence
            )
        )


_SPANS = st.integers(0, 6)
_CONDITIONS = st.builds(
    AlarmCondition,
    limit=st.sampled_from([ABOVE_8, WITH_HYSTERESIS, BELOW_3]),
    met_for=_SPANS,
    messages=st.integers(1, 3),
    clear_for=_SPANS,
    stale_after=st.none() | st.integers(1, 8),
    on_stale=st.sampled_from(["keep", "resolve", "raise"]),
)
_VALUES = st.sampled_from([1.0, 2.5, 3.5, 4.5, 6.0, 7.0, 8.0, 9.0, 12.0])
# How much later than the one before a value is, or earlier; and whether a tick comes before it.
_EVENTS = st.lists(st.tuples(st.integers(-2, 9), _VALUES, st.booleans()), max_size=25)


@given(_CONDITIONS, _EVENTS)
def test_the_state_is_what_the_whole_history_says(
    condition: AlarmCondition, events: list[tuple[int, float, bool]]
) -> None:
    model, state, found = _PlainModel(condition), ConditionState(), []
    assert condition.limit is not None
    now = 10
    for after, value, has_tick in events:
        if has_tick and after > 1:
            model.tick(now + after - 1)
            state, transitions = step(condition, state, now + after - 1)
            found += transitions
        reading = condition.limit.read(now + after, value)
        now = max(now, reading.at)
        model.take(reading)
        before, (state, transitions) = state, step(condition, state, reading)
        if before.last is not None and is_repeated(condition, before, before.last.at, reading):
            assert (state, transitions) == (replace(before, last=reading), [])
        found += transitions
        assert found == model.found
    model.tick(now + 30)
    while (due := find_due(condition, state)) is not None and due <= now + 30:
        state, transitions = step(condition, state, due)
        found += transitions
    assert found == model.found


@given(_CONDITIONS, _EVENTS)
def test_each_alarm_is_raised_once_and_resolved_once_however_fast_the_clock_is(
    condition: AlarmCondition, events: list[tuple[int, float, bool]]
) -> None:
    """Ticks may be ahead of values that are still under way."""
    state, found = ConditionState(), []
    assert condition.limit is not None
    now = 10
    for after, value, has_tick in events:
        if has_tick:
            state, transitions = step(condition, state, now + 15)
            found += transitions
            assert step(condition, state, now + 15) == (state, [])
        now += after
        state, transitions = step(condition, state, condition.limit.read(now, value))
        found += transitions
    assert [each.is_resolved for each in found] == [bool(i % 2) for i in range(len(found))]
    for raised, resolved in zip(found[::2], found[1::2], strict=False):
        assert resolved.raised_at == raised.at <= resolved.at
    assert (state.raised_at is not None) == (len(found) % 2 == 1)

"""Backtests: the alarms that a condition would have raised by stored values, and their messages.

Pure functions. What a value does is decided by those that decide it for records as they arrive.
"""

from collections.abc import Sequence
from math import inf

import msgspec

from longwire.clock import MINUTE, SECOND, Moment
from longwire.notifications import schedules
from longwire.notifications.alarm_conditions import (
    AlarmCondition,
    AlarmTransition,
    ConditionReading,
    ConditionState,
    find_due,
    step,
)
from longwire.notifications.rules import Rule

_LATER_THAN_ANY: Moment = 2**62


class BacktestedAlarm(msgspec.Struct, frozen=True):
    """An alarm that a condition would have raised."""

    raised_at: Moment
    value: float | None
    worst: float | None
    resolved_at: Moment | None = None  # None while it is open at the end


class ConditionReplay:
    """A condition for the values of a device, one after the other."""

    def __init__(self, condition: AlarmCondition, state: ConditionState | None = None) -> None:
        self._condition = condition
        self.state = state or ConditionState()
        self.alarms: list[BacktestedAlarm] = []  # that are resolved

    def take(self, readings: Sequence[ConditionReading]) -> None:
        """Values in the order of their arrival; those that came late are ignored."""
        condition, state = self._condition, self.state
        for reading in readings:
            state, transitions = step(condition, state, reading)
            if transitions:
                self._add(transitions)
        self.state = state

    def finish(self, until: Moment) -> None:
        """Decide what was due by the clock until then; what is open is an alarm as well."""
        self.state, transitions = step(self._condition, self.state, until)
        self._add(transitions)
        state = self.state
        if state.raised_at is not None:
            self.alarms.append(BacktestedAlarm(state.raised_at, state.value, state.worst))

    def _add(self, transitions: Sequence[AlarmTransition]) -> None:
        self.alarms += [
            BacktestedAlarm(each.raised_at, each.value, each.worst, each.at)
            for each in transitions
            if each.is_resolved
        ]

    # --- values of which no more is known than between which they lie ---

    @property
    def needs_every_value(self) -> bool:
        """Whether it matters when values were, even of those that change nothing."""
        condition = self._condition
        return condition.limit is None or (
            condition.stale_after is not None and condition.on_stale == "raise"
        )

    @property
    def due_at(self) -> Moment | None:
        """When something happens if no value comes, while something is pending."""
        is_pending = self.state.raised_at is None and self.state.met_since is not None
        is_pending |= self.state.clear_since is not None
        return find_due(self._condition, self.state) if is_pending else None

    def is_quiet(self, minimum: float, maximum: float) -> bool:
        """Whether none of some values meets the condition."""
        limit = self._condition.limit
        return limit is not None and not limit.is_met(maximum if limit.is_upper else minimum)

    def ignores(self, minimum: float, maximum: float) -> bool:
        """Whether values between these change nothing, however many they are and whenever.

        So it is while nothing is met and none of them meets the condition; and while an alarm is
        open that none of them is clear of, nor worse than what it has seen.
        """
        state, condition, limit = self.state, self._condition, self._condition.limit
        if limit is None or self.needs_every_value:
            return False
        if state.is_blank:
            return self.is_quiet(minimum, maximum)
        if state.raised_at is None or state.clear_since is not None or state.has_no_data:
            return False
        if condition.stale_after is not None and condition.on_stale == "resolve":
            return False
        least, most = (minimum, maximum) if limit.is_upper else (maximum, minimum)
        worst = -inf if state.worst is None else state.worst
        if state.worst is None or limit.read(0, least).is_clear:
            return False
        return most <= worst if limit.is_upper else most >= worst


# --- messages ---


def count_messages(
    rule: Rule, alarm: BacktestedAlarm, notified_at: Moment | None, until: Moment
) -> tuple[int, Moment | None]:
    """How many messages there would be about an alarm, and when the last but its end was queued.

    `notified_at` is when one of the same device was queued before, which a throttle counts from.
    Nobody acknowledges it.
    """
    end = until + 1 if alarm.resolved_at is None else alarm.resolved_at
    # It may be resolved at the moment at which it was raised.
    end = max(end, alarm.raised_at + 1)
    sending = _Sending(rule, alarm.raised_at, notified_at)
    at: Moment | None = alarm.raised_at
    while at is not None and at < end:
        at = sending.advance(at, end)
    if sending.messages and alarm.resolved_at is not None:
        sending.messages += sending.find_weight(sending.notified_at or 0)
    return sending.messages, sending.notified_at


class _Sending:
    """The messages about an alarm until it is resolved."""

    def __init__(self, rule: Rule, raised_at: Moment, notified_at: Moment | None) -> None:
        params = rule.params
        self._rule = rule
        self._repeat = None if params.repeat_every is None else params.repeat_every * SECOND
        after = params.escalate_after
        self._escalated_at = None if after is None else raised_at + after * SECOND
        self.notified_at = notified_at
        self.messages = 0

    def find_weight(self, at: Moment) -> int:
        """How many notifications send a message then."""
        return 1 if self._escalated_at is None or at < self._escalated_at else 2

    def advance(self, at: Moment, end: Moment) -> Moment | None:
        """Send what is due, and what is repeated at once; when the next message is due."""
        rule = self._rule
        closes_at = end
        if rule.schedule is not None:
            opens_at, closes_at = schedules.find_period(rule.schedule, rule.params.timezone, at)
            if at < opens_at:  # it is looked at again every minute
                return at - (at - opens_at) // MINUTE * MINUTE
        if self.notified_at is not None and at < self.notified_at + rule.throttle:
            return self.notified_at + rule.throttle
        weight = self.find_weight(at)
        self.messages += weight
        self.notified_at = at
        bound = min(end, closes_at, self._next_escalation)
        if self._repeat is not None:
            every = max(self._repeat, rule.throttle)
            more = max(0, bound - 1 - at) // every
            self.messages += more * weight
            self.notified_at += more * every
        return self._find_next()

    @property
    def _next_escalation(self) -> Moment:
        at, escalated_at = self.notified_at or 0, self._escalated_at
        return _LATER_THAN_ANY if escalated_at is None or escalated_at <= at else escalated_at

    def _find_next(self) -> Moment | None:
        assert self.notified_at is not None
        times = [self._next_escalation]
        if self._repeat is not None:
            times.append(self.notified_at + self._repeat)
        next_at = min(times)
        return None if next_at == _LATER_THAN_ANY else next_at

"""Conditions with a state: whether an alarm is open, by the values of a device; pure functions.

A condition is met or not by each value, and a value is in force until the next one. An alarm is
raised once the condition has been met for long enough, and resolved once it has been clear for long
enough. Time is that of the values: what became due before a value is decided before it, and what is
due after the last one is decided by the clock (a tick). The same function serves records as they
arrive, due times, and backtests.
"""

from typing import Literal, Protocol

import msgspec

from longwire.clock import Moment

OnStale = Literal["keep", "resolve", "raise"]


class ValueLimit(msgspec.Struct, frozen=True):
    """Above or below which value a condition is met, and how far behind it is clear again."""

    limit: float
    is_upper: bool
    hysteresis: float = 0.0

    def read(self, at: Moment, value: float) -> "ConditionReading":
        if self.is_upper:
            is_met, is_clear = value > self.limit, value <= self.limit - self.hysteresis
        else:
            is_met, is_clear = value < self.limit, value >= self.limit + self.hysteresis
        return ConditionReading(at, is_met, is_clear and not is_met, value)

    def is_met(self, value: float) -> bool:
        return value > self.limit if self.is_upper else value < self.limit


class AlarmCondition(msgspec.Struct, frozen=True, kw_only=True):
    """How long a condition has to be met, and what happens when values stay away."""

    limit: ValueLimit | None = None  # None where an expression decides
    met_for: Moment = 0
    messages: int = 1  # that have to meet it in a row
    clear_for: Moment = 0
    stale_after: Moment | None = None
    on_stale: OnStale = "keep"


class ConditionReading(msgspec.Struct, frozen=True, gc=False):
    """What a value says about a condition; between met and clear it is neither."""

    at: Moment
    is_met: bool
    is_clear: bool
    value: float | None = None


class ConditionState(msgspec.Struct, frozen=True, kw_only=True):
    """A condition for a device."""

    last: ConditionReading | None = None  # the value in force
    met_since: Moment | None = None  # while no alarm is open
    met_messages: int = 0  # since then
    clear_since: Moment | None = None  # while an alarm is open
    raised_at: Moment | None = None  # of the open alarm
    value: float | None = None  # that was in force then
    worst: float | None = None  # since then
    has_no_data: bool = False  # it was raised because values stayed away
    is_stale: bool = False  # the value in force became stale

    @property
    def is_blank(self) -> bool:
        """Whether nothing is known but the value in force."""
        return self.raised_at is None and self.met_since is None


class KnownState(Protocol):
    """What is known besides the value in force."""

    @property
    def met_since(self) -> Moment | None: ...
    @property
    def met_messages(self) -> int: ...
    @property
    def clear_since(self) -> Moment | None: ...
    @property
    def raised_at(self) -> Moment | None: ...
    @property
    def worst(self) -> float | None: ...
    @property
    def has_no_data(self) -> bool: ...
    @property
    def is_stale(self) -> bool: ...


class AlarmTransition(msgspec.Struct, frozen=True):
    """An alarm that is raised, or resolved."""

    at: Moment
    raised_at: Moment
    value: float | None
    worst: float | None
    is_resolved: bool = False
    # Not because of a value, but because none came.
    is_by_absence: bool = False


Step = tuple[ConditionState, list[AlarmTransition]]


def step(
    condition: AlarmCondition, state: ConditionState, event: ConditionReading | Moment
) -> Step:
    """The state after a value, or when it is so late by the clock; and what happened.

    A value older than the one in force is ignored. Of two at one time the later arrival counts.
    """
    transitions: list[AlarmTransition] = []
    if not isinstance(event, ConditionReading):
        return _advance(condition, state, event, transitions), transitions
    if state.last is not None and event.at < state.last.at:
        return state, transitions
    state = _advance(condition, state, event.at - 1, transitions)
    state = _take(condition, state, event)
    return _advance(condition, state, event.at, transitions), transitions


def is_repeated(
    condition: AlarmCondition, state: KnownState, last_at: Moment, reading: ConditionReading
) -> bool:
    """Whether a value only goes on with what is pending or open, and is what is in force then.

    `last_at` is when the value in force was. Cheaper than `step`, which would say the same: most
    values of a device with a state are like this.
    """
    stale_after = condition.stale_after
    if not reading.is_met or state.is_stale or reading.at < last_at:
        return False
    if stale_after is not None and reading.at >= last_at + stale_after:
        return False
    if state.raised_at is not None:
        is_other = state.clear_since is not None or state.has_no_data
        return not is_other and _find_worst(condition, state.worst, reading) == state.worst
    if state.met_since is None or state.met_messages < condition.messages:
        return False
    return reading.at < state.met_since + condition.met_for


def find_due(condition: AlarmCondition, state: ConditionState) -> Moment | None:
    """When something happens if no value comes; None if nothing does."""
    decided, stale = _find_decision(condition, state), _find_stale(condition, state)
    if stale is not None and _ignores_stale(condition, state):
        stale = None
    if decided is None or stale is None:
        return stale if decided is None else decided
    return min(decided, stale)


def _take(
    condition: AlarmCondition, state: ConditionState, reading: ConditionReading
) -> ConditionState:
    if state.raised_at is None:
        return ConditionState(
            last=reading,
            met_since=_since(state.met_since, reading.at, holds=reading.is_met),
            met_messages=min(state.met_messages + 1, condition.messages) if reading.is_met else 0,
        )
    # One that was raised without data is over with any value that does not meet the condition.
    is_clear = not reading.is_met if state.has_no_data else reading.is_clear
    return msgspec.structs.replace(
        state,
        last=reading,
        clear_since=_since(state.clear_since, reading.at, holds=is_clear),
        worst=_find_worst(condition, state.worst, reading),
        has_no_data=state.has_no_data and not reading.is_met,
        is_stale=False,
    )


def _since(before: Moment | None, at: Moment, *, holds: bool) -> Moment | None:
    if not holds:
        return None
    return at if before is None else before


def _find_worst(
    condition: AlarmCondition, worst: float | None, reading: ConditionReading
) -> float | None:
    value = reading.value
    if condition.limit is None or value is None or not reading.is_met:
        return worst
    if worst is None:
        return value
    return max(worst, value) if condition.limit.is_upper else min(worst, value)


def _advance(
    condition: AlarmCondition,
    state: ConditionState,
    until: Moment,
    transitions: list[AlarmTransition],
) -> ConditionState:
    """Decide what is due until then, in order; a value is in force until it is stale."""
    while True:
        decided, stale = _find_decision(condition, state), _find_stale(condition, state)
        if decided is not None and decided <= until and (stale is None or decided <= stale):
            state = _decide(state, decided, transitions)
        elif stale is not None and stale <= until:
            state = _become_stale(condition, state, stale, transitions)
        else:
            return state


def _find_decision(condition: AlarmCondition, state: ConditionState) -> Moment | None:
    """When the alarm is raised or resolved by the value in force."""
    if state.last is None:
        return None
    if state.raised_at is not None:
        if state.clear_since is None:
            return None
        return max(state.clear_since + condition.clear_for, state.raised_at)
    if state.met_since is None or state.met_messages < condition.messages:
        return None
    return max(state.met_since + condition.met_for, state.last.at)


def _find_stale(condition: AlarmCondition, state: ConditionState) -> Moment | None:
    if condition.stale_after is None or state.last is None or state.is_stale:
        return None
    return state.last.at + condition.stale_after


def _ignores_stale(condition: AlarmCondition, state: ConditionState) -> bool:
    """Whether it changes nothing when the value in force becomes stale."""
    if state.raised_at is None:
        return state.met_since is None and condition.on_stale != "raise"
    return state.clear_since is None and condition.on_stale != "resolve"


def _decide(
    state: ConditionState, at: Moment, transitions: list[AlarmTransition]
) -> ConditionState:
    if state.raised_at is not None:
        return _resolve(state, at, transitions)
    value = None if state.last is None else state.last.value
    return _raise(state, at, value, transitions)


def _raise(
    state: ConditionState, at: Moment, value: float | None, transitions: list[AlarmTransition]
) -> ConditionState:
    transitions.append(AlarmTransition(at, at, value, value, is_by_absence=state.is_stale))
    return ConditionState(
        last=state.last,
        raised_at=at,
        value=value,
        worst=value,
        has_no_data=state.is_stale,
        is_stale=state.is_stale,
    )


def _resolve(
    state: ConditionState, at: Moment, transitions: list[AlarmTransition]
) -> ConditionState:
    assert state.raised_at is not None
    transitions.append(
        AlarmTransition(
            at,
            state.raised_at,
            state.value,
            state.worst,
            is_resolved=True,
            is_by_absence=state.is_stale,
        )
    )
    return ConditionState(last=state.last, is_stale=state.is_stale)


def _become_stale(
    condition: AlarmCondition,
    state: ConditionState,
    at: Moment,
    transitions: list[AlarmTransition],
) -> ConditionState:
    """The value is not in force any more: nothing is met or clear by it."""
    state = msgspec.structs.replace(
        state, is_stale=True, met_since=None, met_messages=0, clear_since=None
    )
    if condition.on_stale == "resolve" and state.raised_at is not None:
        return _resolve(state, max(at, state.raised_at), transitions)
    if condition.on_stale == "raise" and state.raised_at is None:
        return _raise(state, at, None, transitions)
    return state

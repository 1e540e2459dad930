"""Who has been told what already: the rules, as pure functions on what is remembered.

A reason that the service raises itself holds for a while, for a device or a connector. It is told
once for each time that it holds, and some are told once more when that is over. What is known does
not move back: news that are older than what was heard before change nothing.
"""

import msgspec

from longwire.clock import Moment
from longwire.store.notifications import State


class Manner(msgspec.Struct, frozen=True):
    """What a reason that the service raises tells."""

    tells_begin: bool = True
    tells_end: bool = False
    is_quiet_at_first: bool = False  # what holds when we first look has not just begun
    is_about_connectors: bool = False


DEVICE_SILENT = "deviceSilent"
BATTERY_LOW = "batteryLow"
CONNECTOR_FAILING = "connectorFailing"
CONNECTOR_RECOVERED = "connectorRecovered"
GEOFENCE_ENTER = "geofenceEnter"
GEOFENCE_EXIT = "geofenceExit"

# Where the end of it has a name of its own, whoever wants to hear of it asks for that.
RAISED = {
    DEVICE_SILENT: Manner(tells_end=True),
    BATTERY_LOW: Manner(tells_end=True),
    GEOFENCE_ENTER: Manner(is_quiet_at_first=True),
    GEOFENCE_EXIT: Manner(is_quiet_at_first=True),
    CONNECTOR_FAILING: Manner(is_about_connectors=True),
    CONNECTOR_RECOVERED: Manner(tells_begin=False, tells_end=True, is_about_connectors=True),
}


class Telling(msgspec.Struct, frozen=True):
    """Somebody is to be told."""

    held_back: int = 0  # how many were not told since the last time
    since: Moment | None = None  # when it began, of what holds for a while
    is_over: bool = False


def pass_on(state: State, now: Moment, throttle: Moment) -> tuple[State, Telling | None]:
    """Something happened that is over with that: told, or held back and counted."""
    if _is_throttled(state, now, throttle):
        return msgspec.structs.replace(state, held_back=state.held_back + 1), None
    fired = msgspec.structs.replace(state, fired_at=now, held_back=0)
    return fired, Telling(state.held_back)


def look(
    state: State, manner: Manner, at: Moment, now: Moment, throttle: Moment, *, holds: bool
) -> tuple[State, Telling | None]:
    """Whether a reason holds, by news of the moment `at`: what is remembered then, and told."""
    if is_old(state, at):
        return state, None
    seen = msgspec.structs.replace(state, as_of=at)
    if holds:
        return _holding(state, seen, manner, now, throttle)
    if state.raised_at is None:
        return seen, None
    over = msgspec.structs.replace(seen, raised_at=None, is_told=False)
    if not manner.tells_end or (manner.tells_begin and not state.is_told):
        return over, None
    if manner.tells_begin:
        # Whoever heard that it began hears that it is over, however soon that is.
        return over, Telling(since=state.raised_at, is_over=True)
    told, telling = pass_on(over, now, throttle)
    if telling is None:
        return told, None
    return told, msgspec.structs.replace(telling, since=state.raised_at, is_over=True)


def put_off(before: State, after: State, telling: Telling) -> State:
    """What is remembered instead of what a look came to, when nobody can be told of it now.

    What begins is counted, and told with the next news if it still holds then; that something is
    over is left for the next news.
    """
    if telling.is_over:
        return before
    has_begun = before.raised_at is None
    return msgspec.structs.replace(
        after,
        is_told=False,
        fired_at=before.fired_at,
        held_back=before.held_back + has_begun,
    )


def is_old(state: State, at: Moment) -> bool:
    return state.as_of is not None and at < state.as_of


def is_waiting(state: State, now: Moment, throttle: Moment) -> bool:
    """Whether something holds that is not told yet because the last time was too short ago."""
    return state.raised_at is not None and not state.is_told and _is_throttled(state, now, throttle)


def _holding(
    before: State, seen: State, manner: Manner, now: Moment, throttle: Moment
) -> tuple[State, Telling | None]:
    has_begun = before.raised_at is None
    if has_begun:
        is_quiet = manner.is_quiet_at_first and before.as_of is None
        seen = msgspec.structs.replace(seen, raised_at=now, is_told=is_quiet)
    if seen.is_told or not manner.tells_begin:
        return seen, None
    if _is_throttled(seen, now, throttle):
        # Counted once, and told later if it still holds by then.
        return msgspec.structs.replace(seen, held_back=seen.held_back + has_begun), None
    # What is told now has not been held back after all.
    held_back = seen.held_back if has_begun else max(0, seen.held_back - 1)
    told = msgspec.structs.replace(seen, is_told=True, fired_at=now, held_back=0)
    return told, Telling(held_back, seen.raised_at)


def _is_throttled(state: State, now: Moment, throttle: Moment) -> bool:
    return state.fired_at is not None and now < state.fired_at + throttle

"""Trigger states: which alerts are active, and which have been sent; pure functions.

A reason that the service raises itself is active for a while, for a device or a connector. An alert
is sent once each time it becomes active; for some reasons a second one is sent when it is resolved.
States never move back: observations older than the last one are ignored.
"""

import msgspec

from longwire.clock import Moment
from longwire.store.notifications.notifications import NotificationState


class ReasonPolicy(msgspec.Struct, frozen=True):
    """When a reason that the service raises sends alerts."""

    notifies_start: bool = True
    notifies_end: bool = False
    ignores_initial_state: bool = False  # active at the first observation is not a change


DEVICE_SILENT = "deviceSilent"
BATTERY_LOW = "batteryLow"
CONNECTOR_FAILING = "connectorFailing"
CONNECTOR_RECOVERED = "connectorRecovered"
MESSAGES_FAILED = "messagesFailed"
CONFIGURATION_DRIFT = "configurationDrift"
GEOFENCE_ENTER = "geofenceEnter"
GEOFENCE_EXIT = "geofenceExit"
MEASUREMENT = "measurement"

# Without `notifies_end`, the end is a reason of its own, or of no interest.
REASON_POLICIES = {
    DEVICE_SILENT: ReasonPolicy(notifies_end=True),
    BATTERY_LOW: ReasonPolicy(notifies_end=True),
    CONFIGURATION_DRIFT: ReasonPolicy(notifies_end=True),
    GEOFENCE_ENTER: ReasonPolicy(ignores_initial_state=True),
    GEOFENCE_EXIT: ReasonPolicy(ignores_initial_state=True),
    CONNECTOR_FAILING: ReasonPolicy(),
    CONNECTOR_RECOVERED: ReasonPolicy(notifies_start=False, notifies_end=True),
    MESSAGES_FAILED: ReasonPolicy(),
    # Its states are those of its condition.
    MEASUREMENT: ReasonPolicy(notifies_end=True),
}


class AlertStatus(msgspec.Struct, frozen=True):
    """An alert to send."""

    held_back: int = 0  # how many were suppressed since the last one
    since: Moment | None = None  # when it became active; None for events
    is_resolved: bool = False


Transition = tuple[NotificationState, AlertStatus | None]  # the next state, and what to send


def apply_event(state: NotificationState, now: Moment, throttle: Moment) -> Transition:
    """An event without duration: sent, or throttled and counted."""
    if _is_throttled(state, now, throttle):
        return msgspec.structs.replace(state, held_back=state.held_back + 1), None
    fired = msgspec.structs.replace(state, fired_at=now, held_back=0)
    return fired, AlertStatus(state.held_back)


def apply_observation(
    state: NotificationState,
    policy: ReasonPolicy,
    at: Moment,
    now: Moment,
    throttle: Moment,
    *,
    is_active: bool,
) -> Transition:
    """Whether a reason is active, as observed at `at`."""
    if is_stale(state, at):
        return state, None
    observed = msgspec.structs.replace(state, as_of=at)
    if is_active:
        return _activate(state, observed, policy, now, throttle)
    if state.raised_at is None:
        return observed, None
    return _resolve(state, observed, policy, now, throttle)


def defer_alert(
    before: NotificationState, after: NotificationState, status: AlertStatus
) -> NotificationState:
    """The state to keep when the commit's quota leaves no room for the alert.

    A new alert is counted, and sent with the next observation if it is still active then; a
    resolution is left to the next observation.
    """
    if status.is_resolved:
        return before
    is_new = before.raised_at is None
    return msgspec.structs.replace(
        after,
        is_notified=False,
        fired_at=before.fired_at,
        held_back=before.held_back + is_new,
    )


def is_stale(state: NotificationState, at: Moment) -> bool:
    return state.as_of is not None and at < state.as_of


def has_throttled_alert(state: NotificationState, now: Moment, throttle: Moment) -> bool:
    """Whether an alert is active that is not sent yet because of the throttle."""
    return (
        state.raised_at is not None
        and not state.is_notified
        and _is_throttled(state, now, throttle)
    )


def _activate(
    before: NotificationState,
    observed: NotificationState,
    policy: ReasonPolicy,
    now: Moment,
    throttle: Moment,
) -> Transition:
    is_new = before.raised_at is None
    if is_new:
        is_silenced = policy.ignores_initial_state and before.as_of is None
        observed = msgspec.structs.replace(observed, raised_at=now, is_notified=is_silenced)
    if observed.is_notified or not policy.notifies_start:
        return observed, None
    if _is_throttled(observed, now, throttle):
        # Counted once, and sent later if it is still active by then.
        return msgspec.structs.replace(observed, held_back=observed.held_back + is_new), None
    # One that was counted as suppressed before is sent after all.
    held_back = observed.held_back if is_new else max(0, observed.held_back - 1)
    sent = msgspec.structs.replace(observed, is_notified=True, fired_at=now, held_back=0)
    return sent, AlertStatus(held_back, observed.raised_at)


def _resolve(
    before: NotificationState,
    observed: NotificationState,
    policy: ReasonPolicy,
    now: Moment,
    throttle: Moment,
) -> Transition:
    resolved = msgspec.structs.replace(observed, raised_at=None, is_notified=False)
    if not policy.notifies_end or (policy.notifies_start and not before.is_notified):
        return resolved, None
    if policy.notifies_start:
        # Not throttled: whoever got the alert also gets its resolution.
        return resolved, AlertStatus(since=before.raised_at, is_resolved=True)
    state, status = apply_event(resolved, now, throttle)
    if status is None:
        return state, None
    return state, msgspec.structs.replace(status, since=before.raised_at, is_resolved=True)


def _is_throttled(state: NotificationState, now: Moment, throttle: Moment) -> bool:
    return state.fired_at is not None and now < state.fired_at + throttle

"""Notifications, ready to be asked: what each is about, when it is open, and what it says.

Made once for each group and remembered with the rights, so that a group without any costs whoever
stores a record one look.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import structlog

from longwire.clock import SECOND, Moment
from longwire.delivery.filters import Expression
from longwire.model import Notification
from longwire.notifications import schedules
from longwire.notifications.geofences import Fence, fence_of
from longwire.notifications.schedules import Schedule
from longwire.notifications.templates import Texts
from longwire.notifications.trigger_states import (
    BATTERY_LOW,
    GEOFENCE_ENTER,
    GEOFENCE_EXIT,
    RAISED,
    Manner,
)
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import NotificationType, Params
from longwire.store import notifications as store
from longwire.store.database import Tx

FENCED = (GEOFENCE_ENTER, GEOFENCE_EXIT)

log = structlog.get_logger()


class Rule(msgspec.Struct, frozen=True, eq=False):
    """A notification as far as firing is concerned."""

    number: int
    group_id: str
    reason: str | None
    device_id: str | None
    device_types: frozenset[str]
    when: Expression | None
    schedule: Schedule | None
    throttle: Moment
    fence: Fence | None
    texts: Texts
    type: type[NotificationType]
    params: Params

    @property
    def manner(self) -> Manner | None:
        """How its reason is told, if that is one which the service raises itself."""
        return RAISED.get(self.reason or "")

    def concerns(self, device_id: str, device_type: str) -> bool:
        if self.device_id is not None and device_id != self.device_id:
            return False
        return not self.device_types or device_type in self.device_types

    def is_open(self, now: Moment) -> bool:
        """Whether anything may be sent now. While it is not, it hears nothing either."""
        return self.schedule is None or schedules.is_open(self.schedule, self.params.timezone, now)

    def refusal(self, message: Mapping[str, Any]) -> str:
        """Why `when` does not let this through; empty when it does."""
        if self.when is None:
            return ""
        matches, reason = self.when.matches(message)
        return "" if matches else reason


class Rules(msgspec.Struct, frozen=True, eq=False):
    """The notifications of a group, by what they listen to."""

    by_reason: Mapping[str, Sequence[Rule]]  # of a data record or an event
    any_event: Sequence[Rule]
    battery: Sequence[Rule]
    fenced: Sequence[Rule]
    by_number: Mapping[int, Rule]


def rules_for(tx: Tx, group_id: str) -> Rules | None:
    """The enabled notifications of a group; None if there are none."""
    return tx.recall("notifications", group_id, lambda: _rules(tx, group_id))


def _rules(tx: Tx, group_id: str) -> Rules | None:
    found = []
    for each in store.enabled_in(tx, group_id):
        try:
            found.append(rule_of(tx, each))
        except Exception:
            # It passed when it was saved, by the rules of that time. Records are stored anyway.
            log.exception("a notification cannot be used", notification=each.id)
    if not found:
        return None
    by_reason = defaultdict(list)
    for rule in found:
        if rule.reason is not None and rule.manner is None:
            by_reason[rule.reason].append(rule)
    return Rules(
        by_reason=dict(by_reason),
        any_event=[rule for rule in found if rule.reason is None],
        battery=[rule for rule in found if rule.reason == BATTERY_LOW],
        fenced=[rule for rule in found if rule.reason in FENCED],
        by_number={rule.number: rule for rule in found},
    )


def rule_of(tx: Tx, notification: Notification) -> Rule:
    params = open_params(tx, notification)
    outlet = notification.outlet
    return Rule(
        number=outlet.number,
        group_id=outlet.group_id,
        reason=notification.reason,
        device_id=notification.device_id,
        device_types=frozenset(outlet.device_types),
        when=Expression(params.when) if params.when else None,
        schedule=schedules.of_text(notification.schedule) if notification.schedule else None,
        throttle=params.throttle * SECOND,
        fence=fence_of(params.geofence) if params.geofence else None,
        texts=Texts(params.subject, params.body),
        type=catalogue.TYPES[outlet.type],
        params=params,
    )


# --- parameters at rest ---


def open_params(tx: Tx, notification: Notification) -> Params:
    return catalogue.params_of(notification.outlet.type, unsealed(tx, notification))


def unsealed(tx: Tx, notification: Notification) -> str:
    return tx.keyring.unseal(notification.outlet.sealed_params, sealing(notification.id))


def sealing(notification_id: str) -> str:
    """What the parameters are sealed for."""
    return f"notification|{notification_id}|params"

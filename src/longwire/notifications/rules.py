"""Rules: notifications compiled for matching.

Compiled once per group and cached, so that a group without notifications costs ingest one lookup.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import structlog

from longwire.clock import SECOND, Moment
from longwire.delivery import channels
from longwire.delivery.cel.expressions import PreparedExpression
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.channel_owners import OwnerKind
from longwire.errors import OperatorError
from longwire.identity import access
from longwire.model import Channel, ChannelPurpose, Notification
from longwire.notifications import schedules
from longwire.notifications.alarm_conditions import AlarmCondition, ValueLimit
from longwire.notifications.geofences import Fence, open_fence
from longwire.notifications.schedules import Schedule
from longwire.notifications.templates import Texts, replace_old_state
from longwire.notifications.trigger_states import (
    BATTERY_LOW,
    GEOFENCE_ENTER,
    GEOFENCE_EXIT,
    MEASUREMENT,
    REASON_POLICIES,
    ReasonPolicy,
)
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import CONDITION_ROOTS, NotificationSender, Params
from longwire.store.cache.compiled_bound import CompiledShare
from longwire.store.database import Tx
from longwire.store.notifications import notifications as store

KIND = OwnerKind(
    ChannelPurpose.NOTIFICATION,
    "notification",
    "notification_id",
    "ntf",
    "notification",
    Notification,
    store.NOTIFICATIONS,
    catalogue.TYPES,
    catalogue.get_params_type,
    lambda channel: {"enabled": channel.is_enabled},
)

FENCED = (GEOFENCE_ENTER, GEOFENCE_EXIT)

log = structlog.get_logger()


class Rule(msgspec.Struct, frozen=True, eq=False):
    """A notification as matching needs it; its expressions and its fence are compiled on demand."""

    number: int
    id: str
    group_id: str
    reason: str | None
    device_id: str | None
    device_types: frozenset[str]
    when: StoredExpression | None
    schedule: Schedule | None
    throttle: Moment
    fence: Fence | None
    texts: Texts
    type: type[NotificationSender]
    params: Params
    kept_bytes: int  # of the text of its geofence, the only part that may be large
    condition: AlarmCondition | None  # for the reason `measurement`
    # Where that has no limit: what meets it, and what is clear of it.
    met_by: StoredExpression | None = None
    clear_by: StoredExpression | None = None
    only_contact: str | None = None  # the contact point that an alarm is escalated to

    @property
    def policy(self) -> ReasonPolicy | None:
        """The policy of its reason, if the service raises that itself."""
        return REASON_POLICIES.get(self.reason or "")

    def matches_device(self, device_id: str, device_type: str) -> bool:
        if self.device_id is not None and device_id != self.device_id:
            return False
        return not self.device_types or device_type in self.device_types

    def is_open(self, now: Moment) -> bool:
        """Whether the schedule allows it to fire now."""
        return self.schedule is None or schedules.is_open(self.schedule, self.params.timezone, now)

    @property
    def compile_us(self) -> float:
        """The CPU time that its next check takes more than others."""
        when_us = 0.0 if self.when is None else self.when.compile_us
        return when_us + (0.0 if self.fence is None else self.fence.build_us)

    def prepare(self, message: Mapping[str, Any]) -> PreparedExpression | None:
        """`when` for this message, if it is set; `EvaluationError` if that costs too much."""
        return None if self.when is None else self.when.prepare(message)


class MeasuredRules(msgspec.Struct, frozen=True, eq=False):
    """Notifications about one measurement, and between which values none of them is met."""

    rules: Sequence[Rule]
    lowest_upper: float = math.inf
    highest_lower: float = -math.inf
    needs_all: bool = False  # whatever a value is, one of them wants to know that there is one

    def may_change(self, number: float) -> bool:
        """Whether a value may begin something; cheap, as most values do not."""
        return self.needs_all or number > self.lowest_upper or number < self.highest_lower


def index_rules(rules: Sequence[Rule]) -> MeasuredRules:
    conditions = [each.condition for each in rules if each.condition is not None]
    limits = [each.limit for each in conditions if each.limit is not None]
    return MeasuredRules(
        rules,
        min((each.limit for each in limits if each.is_upper), default=math.inf),
        max((each.limit for each in limits if not each.is_upper), default=-math.inf),
        any(each.on_stale == "raise" for each in conditions),
    )


class GroupRules(msgspec.Struct, frozen=True, eq=False):
    """The enabled notifications for devices of a group, indexed by what triggers them.

    Those of the group, and those of groups above it that are for subgroups as well.
    """

    by_reason: Mapping[str, Sequence[Rule]]  # of a data record or an event
    any_event: Sequence[Rule]
    battery: Sequence[Rule]
    fenced: Sequence[Rule]
    measured: Mapping[str, MeasuredRules]  # by the name of the measurement
    expressed: Sequence[Rule]  # with conditions that are expressions
    by_number: Mapping[int, Rule]

    @property
    def has_triggers(self) -> bool:
        """Whether a record can trigger one, besides by its values."""
        return bool(self.by_reason or self.any_event or self.battery or self.fenced)

    @property
    def kept_bytes(self) -> int:
        return sum(rule.kept_bytes for rule in self.by_number.values())


def get_rules(tx: Tx, group_id: str) -> GroupRules | None:
    """The enabled notifications for devices of a group; None if there are none."""
    return tx.cache.get_config(
        "notification_rules",
        group_id,
        lambda: _compile_rules(tx, group_id),
        lambda: access.get_group_path(tx, group_id),
    )


def _compile_rules(tx: Tx, group_id: str) -> GroupRules | None:
    found: list[Rule] = []
    for each in store.list_enabled(tx, access.get_group_path(tx, group_id)):
        try:
            rule = _get_rule(tx, each)
            if rule.group_id == group_id or rule.params.subgroups:
                found.append(rule)
        except OperatorError as error:  # a part of the installation is missing
            log.warning("notification not usable", notification=each.id, error=str(error))
        except Exception:
            # It was valid when it was saved, by the rules of that time. Records are stored anyway.
            log.exception("notification not usable", notification=each.id)
    if not found:
        return None
    by_reason = defaultdict(list)
    for rule in found:
        if rule.reason is not None and rule.policy is None:
            by_reason[rule.reason].append(rule)
    return GroupRules(
        by_reason=dict(by_reason),
        any_event=[rule for rule in found if rule.reason is None],
        battery=[rule for rule in found if rule.reason == BATTERY_LOW],
        fenced=[rule for rule in found if rule.reason in FENCED],
        measured=_index_by_measurement(found),
        expressed=[rule for rule in found if rule.met_by is not None],
        by_number={rule.number: rule for rule in found},
    )


def _index_by_measurement(rules: Sequence[Rule]) -> dict[str, MeasuredRules]:
    by_name = defaultdict(list)
    for rule in rules:
        if rule.condition is not None and rule.params.measurement is not None:
            by_name[rule.params.measurement].append(rule)
    return {name: index_rules(some) for name, some in by_name.items()}


def _get_rule(tx: Tx, notification: Notification) -> Rule:
    channel = notification.channel
    key = "rule", channel.number, channel.version, channel.updated_at
    return tx.caches.compiled.get(key, lambda: compile_rule(tx, notification))


def compile_rule(tx: Tx, notification: Notification) -> Rule:
    channel = notification.channel
    params, geofence = _open_params(tx, channel)
    share = tx.caches.expressions.share(channel.group_id)
    when: StoredExpression | None = None
    if params.when:
        when = StoredExpression(params.when, share, is_filter=True)
        when.fails_at_times = channel.filter_failed > 0
    return Rule(
        number=channel.number,
        id=channel.id,
        group_id=channel.group_id,
        reason=notification.reason,
        device_id=notification.device_id,
        device_types=frozenset(notification.device_types),
        when=when,
        schedule=schedules.decode_schedule(notification.schedule)
        if notification.schedule
        else None,
        throttle=params.throttle * SECOND,
        fence=open_fence(geofence, tx.caches.polygons.share(channel.group_id)),
        texts=Texts(replace_old_state(params.subject), replace_old_state(params.body), share),
        type=catalogue.TYPES[channel.type],
        params=params,
        kept_bytes=len(geofence),
        condition=build_condition(params) if notification.reason == MEASUREMENT else None,
        met_by=_store_condition(params.condition, notification, share),
        clear_by=_store_condition(params.resolve, notification, share),
    )


def _store_condition(
    source: str | None, notification: Notification, share: CompiledShare
) -> StoredExpression | None:
    if source is None or notification.reason != MEASUREMENT:
        return None
    return StoredExpression(source, share, is_filter=True, roots=CONDITION_ROOTS)


def build_condition(params: Params) -> AlarmCondition | None:
    """The condition of an alarm; None if the parameters have none."""
    limit = params.below if params.above is None else params.above
    has_limit = limit is not None and params.measurement is not None
    if not has_limit and params.condition is None:
        return None
    stale_after = params.stale_after
    return AlarmCondition(
        limit=None
        if limit is None or params.condition is not None
        else ValueLimit(limit, params.above is not None, params.hysteresis),
        met_for=(params.met_for or 0) * SECOND,
        messages=params.for_messages or 1,
        clear_for=(params.resolve_for or 0) * SECOND,
        stale_after=None if stale_after is None else stale_after * SECOND,
        on_stale=params.on_stale,
    )


def _open_params(tx: Tx, channel: Channel) -> tuple[Params, bytes]:
    """The parameters without the geofence, which may be large, and its text."""
    text = channels.unseal_params(tx, channel)
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    geofence = members.pop("geofence", msgspec.Raw(b"null"))
    params_type = catalogue.get_params_type(channel.type)
    return msgspec.json.decode(msgspec.json.encode(members), type=params_type), bytes(geofence)

"""The overview of a group: how many devices and connectors there are, and what needs attention.

Cached for some seconds, so that many who watch the same group cost as much as one.
"""

import enum
from collections.abc import Iterator, Mapping

from longwire.clock import DAY, HOUR, SECOND, Moment
from longwire.dataclass import dataclass
from longwire.identity import access
from longwire.model import Actor, ChannelPurpose, Scope
from longwire.store.database import Tx
from longwire.store.fleet import overviews as store
from longwire.store.fleet.device_search import EXAMINED_MAX
from longwire.store.fleet.device_states import battery_level
from longwire.store.fleet.overviews import ConnectorProblem, GroupDeviceCounts
from longwire.store.notifications import alarms as store_alarms

MAX_AGE: Moment = 5 * SECOND
BATTERY_LOW_PERCENT = 20
# Of each sort of what needs attention.
LISTED_MAX = 50
CONNECTORS_MAX = 10_000
MESSAGES_COUNTED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """Devices; only their total if there are too many to look at each."""

    total: int
    seen_hour: int | None = None
    seen_day: int | None = None
    silent: int | None = None
    never: int | None = None
    battery_low: int | None = None
    drifting: int | None = None


@dataclass(frozen=True, slots=True)
class ConnectorCounts:
    total: int
    enabled: int
    failing: int
    waiting: int  # messages
    dead_letters: int


@dataclass(frozen=True, slots=True)
class AlarmCounts:
    """Open alarms."""

    total: int
    acknowledged: int
    critical: int
    warning: int
    info: int


class AttentionKind(enum.Enum):
    CONNECTOR_FAILING = enum.auto()
    DEAD_LETTERS = enum.auto()
    FILTER_FAILING = enum.auto()  # of a connector
    CONDITION_FAILING = enum.auto()  # of a notification
    DEVICES_SILENT = enum.auto()
    BATTERY_LOW = enum.auto()
    CONFIGURATION_DRIFT = enum.auto()
    UNKNOWN_DEVICES = enum.auto()
    REJECTED_MESSAGES = enum.auto()


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """Something that needs attention."""

    kind: AttentionKind
    group_id: str
    id: str | None = None
    name: str | None = None
    count: int | None = None
    total: int | None = None
    since: Moment | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """What the caller may see of it."""

    as_of: Moment
    devices: DeviceCounts | None
    connectors: ConnectorCounts | None
    attention: list[AttentionItem]
    unknown_devices: int  # 0 for who may not see devices
    alarms: AlarmCounts | None  # that are open


def get(tx: Tx, actor: Actor, group_id: str, *, subgroups: bool) -> Overview:
    scope = access.authorize_tree(tx, actor, "metrics.read", group_id, subgroups=subgroups)
    held = access.get_permissions(tx, actor, group_id)
    has_devices, has_connectors = "device.read" in held, "connector.read" in held
    has_notifications = "notification.read" in held
    # The groups of a tree are others when the epoch of authorization is another.
    shown = has_devices, has_connectors, has_notifications
    key = (group_id, subgroups, *shown, tx.cache.auth_generation)
    cached = tx.caches.overviews.get(key, tx.now)
    if isinstance(cached, Overview):
        return cached
    found = _build(tx, scope, *shown)
    tx.caches.overviews.put(key, found, tx.now + MAX_AGE)
    return found


def _build(
    tx: Tx, scope: Scope, has_devices: bool, has_connectors: bool, has_notifications: bool
) -> Overview:
    attention: list[AttentionItem] = []
    devices, connectors = None, None
    if has_connectors:
        connectors = _count_connectors(tx, scope, attention)
    if has_connectors or has_notifications:
        kinds = _filter_kinds(has_connectors, has_notifications)
        attention.extend(_filter_attention(tx, scope, kinds))
    alarms = _count_alarms(tx, scope) if has_notifications else None
    unknown = 0
    if has_devices:
        devices = _count_devices(tx, scope, attention)
        unknown = _count_unknown_devices(tx, scope, attention)
    return Overview(tx.now, devices, connectors, attention, unknown, alarms)


def _count_alarms(tx: Tx, scope: Scope) -> AlarmCounts:
    counts = store_alarms.count_open(tx, scope)
    total = sum(count for count, _ in counts.values())
    acknowledged = sum(count for _, count in counts.values())
    by_severity = {name: counts.get(name, (0, 0))[0] for name in ("critical", "warning", "info")}
    return AlarmCounts(total, acknowledged, **by_severity)


def _count_devices(tx: Tx, scope: Scope, attention: list[AttentionItem]) -> DeviceCounts:
    total = store.sum_device_counts(tx, scope)
    if total > EXAMINED_MAX:
        return DeviceCounts(total)
    counts = store.count_devices(
        tx,
        scope,
        hour_ago=tx.now - HOUR,
        day_ago=tx.now - DAY,
        battery_low=battery_level(BATTERY_LOW_PERCENT),
    )
    attention.extend(_device_attention(counts))
    drifting = store.count_drifting(tx, scope)
    attention.extend(
        AttentionItem(
            AttentionKind.CONFIGURATION_DRIFT, each.group_id, count=each.count, since=each.since
        )
        for each in drifting[:LISTED_MAX]
    )
    return DeviceCounts(
        total,
        seen_hour=sum(each.seen_hour for each in counts),
        seen_day=sum(each.seen_day for each in counts),
        silent=sum(each.silent for each in counts),
        never=sum(each.never for each in counts),
        battery_low=sum(each.battery_low for each in counts),
        drifting=sum(each.count for each in drifting),
    )


def _device_attention(counts: list[GroupDeviceCounts]) -> Iterator[AttentionItem]:
    """By group; those with most of them first."""
    silent = sorted((each for each in counts if each.silent), key=lambda each: -each.silent)
    for each in silent[:LISTED_MAX]:
        yield AttentionItem(
            AttentionKind.DEVICES_SILENT, each.group_id, count=each.silent, since=each.silent_since
        )
    low = sorted((each for each in counts if each.battery_low), key=lambda each: -each.battery_low)
    for each in low[:LISTED_MAX]:
        yield AttentionItem(AttentionKind.BATTERY_LOW, each.group_id, count=each.battery_low)


def _count_unknown_devices(tx: Tx, scope: Scope, attention: list[AttentionItem]) -> int:
    """How many there are. Devices whose messages are rejected are none, but need attention, too."""
    total = 0
    for kind, is_rejected in (
        (AttentionKind.UNKNOWN_DEVICES, False),
        (AttentionKind.REJECTED_MESSAGES, True),
    ):
        found = store.count_unknown_devices(tx, scope, is_rejected=is_rejected)
        attention.extend(
            AttentionItem(kind, each.group_id, count=each.count, since=each.since)
            for each in found[:LISTED_MAX]
        )
        total += 0 if is_rejected else sum(each.count for each in found)
    return total


def _count_connectors(tx: Tx, scope: Scope, attention: list[AttentionItem]) -> ConnectorCounts:
    counts = store.count_connectors(tx, scope)
    numbers = store.list_connector_numbers(tx, scope, CONNECTORS_MAX)
    dead_letters = store.count_dead_letters(tx, numbers, MESSAGES_COUNTED_MAX)
    for each in store.list_failing(tx, scope, LISTED_MAX):
        attention.append(_connector_attention(AttentionKind.CONNECTOR_FAILING, each))
    worst = list(dead_letters)[:LISTED_MAX]
    named = store.list_connectors(tx, worst) if worst else {}
    for number in worst:
        if number in named:
            attention.append(
                _connector_attention(
                    AttentionKind.DEAD_LETTERS, named[number], dead_letters[number]
                )
            )
    return ConnectorCounts(
        counts.total,
        counts.enabled,
        counts.failing,
        waiting=store.count_queued(tx, numbers, MESSAGES_COUNTED_MAX) if numbers else 0,
        dead_letters=sum(dead_letters.values()),
    )


def _filter_kinds(
    has_connectors: bool, has_notifications: bool
) -> dict[ChannelPurpose, AttentionKind]:
    kinds = {}
    if has_connectors:
        kinds[ChannelPurpose.CONNECTOR] = AttentionKind.FILTER_FAILING
    if has_notifications:
        kinds[ChannelPurpose.NOTIFICATION] = AttentionKind.CONDITION_FAILING
    return kinds


def _filter_attention(
    tx: Tx, scope: Scope, kinds: Mapping[ChannelPurpose, AttentionKind]
) -> Iterator[AttentionItem]:
    for each in store.list_failing_filters(tx, scope, list(kinds), LISTED_MAX):
        yield AttentionItem(
            kinds[each.purpose],
            each.group_id,
            id=each.id,
            name=each.name,
            count=each.failed,
            total=each.evaluated,
            since=each.since,
            detail=each.error,
        )


def _connector_attention(
    kind: AttentionKind, problem: ConnectorProblem, count: int | None = None
) -> AttentionItem:
    return AttentionItem(
        kind,
        problem.group_id,
        id=problem.id,
        name=problem.name,
        count=count,
        since=problem.failing_since or problem.error_at,
        detail=problem.error,
    )

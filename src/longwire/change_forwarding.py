"""Changes of alarms and devices become messages of the connectors that ask for them.

Whoever changes an alarm or a device notes it in the transaction. At its end, before the commit, the
notes become deliveries, with their content: what is committed is forwarded, and nothing else is.
What costs too much to match here is stored, and matched by `deferred_matching`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from longwire import metrics
from longwire.changes import (
    AlarmChangeType,
    Change,
    ChangedAlarm,
    ChangedDevice,
    ChangeKind,
    DeviceBefore,
    DeviceContext,
    DeviceNote,
    RegistryChangeType,
    encode_change,
    get_context,
)
from longwire.clock import Moment
from longwire.dates import format_date, format_optional_date
from longwire.delivery.matching.budgets import ComputeBudgets, InlineAllowance
from longwire.delivery.matching.matching import match_changes
from longwire.model import Device
from longwire.notifications.firing import TakeSequenceNumbers
from longwire.notifications.rules import GroupRules, get_rules
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.delivery import change_messages, connector_minutes
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.change_messages import ChangeRow
from longwire.store.fleet import device_contexts
from longwire.store.identity import groups as store_groups
from longwire.store.notifications.alarms import Alarm, AlarmNote

# A device that was moved, as three parties see it.
_MOVED, _MOVED_IN, _MOVED_OUT = (
    RegistryChangeType.MOVED,
    RegistryChangeType.MOVED_IN,
    RegistryChangeType.MOVED_OUT,
)


@dataclass(slots=True)
class ChangeForwarder:
    """Forwards what transactions of this process have noted."""

    writer: int  # the number of this process
    take_seqs: TakeSequenceNumbers
    budgets: ComputeBudgets
    wake: Callable[[Collection[int]], None]  # from any thread
    on_deferred: Callable[[], None] = lambda: None

    def forward(self, tx: Tx) -> None:
        """Store the changes of a transaction, and the deliveries that they cause."""
        notes = tx.take_noted()
        cache_epochs.refresh_epochs(tx)  # sees a connector that was just created
        drafts = list(_ChangeBuilder(tx, notes).build())
        if not drafts:
            return
        seqs = self.take_seqs(tx.now, len(drafts))
        rows = [
            msgspec.structs.replace(each, seq=seq) for each, seq in zip(drafts, seqs, strict=True)
        ]
        change_messages.insert(tx, rows)
        self._enqueue(tx, rows)

    def _enqueue(self, tx: Tx, rows: Sequence[ChangeRow]) -> None:
        allowance = InlineAllowance(self.budgets)
        matched = match_changes(tx, rows, allowance)
        allowance.settle()
        matched.filters.store(tx)
        matched.deferred.insert(tx)
        if matched.deferred:
            tx.on_commit(self.on_deferred)
        if not matched.deliveries:
            return
        store_deliveries.insert(tx, matched.deliveries)
        counts = {(group, "connector_message_started"): n for group, n in matched.groups.items()}
        metrics.count(tx, self.writer, Counter(counts))
        made = Counter([each.channel_number for each in matched.deliveries])
        connector_minutes.count_made(tx, self.writer, made)
        tx.on_commit(lambda: self.wake(set(made)))


class _ChangeBuilder:
    """The messages about what a transaction has noted, in the order of the notes."""

    def __init__(self, tx: Tx, notes: Sequence[AlarmNote | DeviceNote]) -> None:
        self._tx = tx
        self._notes = notes
        self._contexts = self._load_contexts()
        self._rules: dict[str, GroupRules | None] = {}
        self._is_asked_for: dict[str, bool] = {}

    def build(self) -> Iterator[ChangeRow]:
        for note in self._notes:
            if isinstance(note, AlarmNote):
                yield self._build_alarm(note)
            elif note.type == _MOVED:
                yield from self._build_move(note)
            elif self._asks_for_registry(note.device.group_id):
                change = _describe_device(note, note.type, note.device.group_id, self._tx.now)
                if note.type != RegistryChangeType.UPDATED or change.before:
                    yield self._build_row(change, self._tx.now, get_context(note.device))

    # --- alarms ---

    def _load_contexts(self) -> Mapping[str, tuple[str, DeviceContext]]:
        """Group and context of the devices that alarms are about: as they were, if they go."""
        gone = {
            each.device.id: each.before if each.type == _MOVED and each.before else each.device
            for each in self._notes
            if isinstance(each, DeviceNote)
        }
        alarmed = {each.alarm.device_id for each in self._notes if isinstance(each, AlarmNote)}
        wanted = {each for each in alarmed if each and each not in gone}
        there = device_contexts.list_contexts(self._tx, wanted) if wanted else {}
        return {**there, **{key: (each.group_id, get_context(each)) for key, each in gone.items()}}

    def _build_alarm(self, note: AlarmNote) -> ChangeRow:
        alarm = note.alarm
        at = {
            AlarmChangeType.RAISED: alarm.raised_at,
            AlarmChangeType.ACKNOWLEDGED: alarm.acknowledged_at,
            AlarmChangeType.RESOLVED: alarm.resolved_at,
        }[note.type]
        assert at is not None
        group_id, context = self._contexts.get(alarm.device_id or "", ("", None))
        # A device that is in another group by now may have another name there.
        known = context if group_id == alarm.group_id else None
        change = self._describe_alarm(alarm, note.type, at)
        return self._build_row(change, at, known, cause=note.cause)

    def _describe_alarm(self, alarm: Alarm, type: AlarmChangeType, at: Moment) -> ChangedAlarm:
        rule = self._get_rule(alarm)
        params = rule.params if rule is not None and rule.condition is not None else None
        return ChangedAlarm(
            type=type,
            device_id=alarm.device_id or "",
            timestamp=format_date(at),
            group_id=alarm.group_id,
            alarm_id=alarm.id,
            notification_id=alarm.notification_id,
            connector_id=alarm.connector_id,
            reason=alarm.reason,
            severity=alarm.severity,
            measurement=None if params is None else params.measurement,
            above=None if params is None else params.above,
            below=None if params is None else params.below,
            raised_at=format_date(alarm.raised_at),
            value=alarm.value,
            worst_value=alarm.worst,
            acknowledged_at=format_optional_date(alarm.acknowledged_at),
            acknowledged_by=alarm.acknowledged_by,
            comment=alarm.comment,
            resolved_at=format_optional_date(alarm.resolved_at),
            resolution=alarm.resolution,
        )

    def _get_rule(self, alarm: Alarm) -> Any:
        if alarm.group_id not in self._rules:
            self._rules[alarm.group_id] = get_rules(self._tx, alarm.group_id)
        rules = self._rules[alarm.group_id]
        return None if rules is None else rules.by_number.get(alarm.notification_number)

    # --- devices ---

    def _build_move(self, note: DeviceNote) -> Iterator[ChangeRow]:
        """For who sees the group that it leaves, the one that it joins, and both."""
        assert note.before is not None
        device, left, now = note.device, note.before.group_id, self._tx.now
        joined, context = device.group_id, get_context(device)
        is_left, is_joined = self._asks_for_registry(left), self._asks_for_registry(joined)
        if is_left:
            change = _describe_device(note, _MOVED_OUT, left, now)
            yield self._build_row(change, now, context, other=joined)
        if is_joined:
            change = _describe_device(note, _MOVED_IN, joined, now)
            yield self._build_row(change, now, context, other=left)
        if is_left and is_joined:
            change = _describe_device(note, _MOVED, joined, now)
            yield self._build_row(change, now, context, other=left, is_for_both=True)

    def _asks_for_registry(self, group_id: str) -> bool:
        """Whether a connector does; else nothing is stored."""
        asks = self._is_asked_for.get(group_id)
        if asks is None:
            tx = self._tx
            asks = self._is_asked_for[group_id] = tx.cache.get_config(
                "registry asked for",
                group_id,
                lambda: store_connectors.is_kind_forwarded(tx, group_id, ChangeKind.REGISTRY.label),
                lambda: store_groups.get_path(tx, group_id),
            )
        return asks

    def _build_row(
        self,
        change: Change,
        ts: Moment,
        context: DeviceContext | None,
        *,
        other: str | None = None,
        is_for_both: bool = False,
        cause: int | None = None,
    ) -> ChangeRow:
        return ChangeRow(
            seq=0,
            group_number=int(change.group_id),
            other_group_number=None if other is None else int(other),
            is_for_both=is_for_both,
            kind=change.kind.value,
            ts=ts,
            encoded=encode_change(change),
            context="{}" if context is None else msgspec.json.encode(context).decode(),
            cause=cause,
        )


def _describe_device(
    note: DeviceNote, type: RegistryChangeType, group_id: str, now: Moment
) -> ChangedDevice:
    device, before = note.device, note.before
    return ChangedDevice(
        type=type,
        device_id=device.id,
        timestamp=format_date(now),
        group_id=group_id,
        from_group_id=before.group_id if type == _MOVED and before is not None else None,
        network=device.network,
        original_id=device.original_id,
        configuration=device.configuration,
        before=None if note.type == _MOVED or before is None else _list_changed(before, device),
    )


def _list_changed(was: Device, now: Device) -> DeviceBefore | None:
    changed = DeviceBefore(
        device_name=was.name if was.name != now.name else None,
        device_type=was.type if was.type != now.type else None,
        tags=was.tags if was.tags != now.tags else None,
        network=was.network if was.network != now.network else None,
        original_id=was.original_id if was.original_id != now.original_id else None,
        configuration=was.configuration if was.configuration != now.configuration else None,
    )
    return None if changed == DeviceBefore() else changed

"""Silences: alarms that match one are recorded; while it is in force, no messages are sent.

What it holds back is due again and again, so that it is sent, if the alarm is still open, once no
silence is in force any more, whether that has ended or was deleted.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import DAY, Moment
from longwire.dataclass import dataclass
from longwire.dates import format_date
from longwire.delivery.channel_owners import check_device_types, check_devices
from longwire.errors import BadInput, FieldError, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Page, PageRequest
from longwire.notifications import schedules
from longwire.notifications.schedules import Schedule
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.notifications import silences as store
from longwire.store.notifications.silences import SILENCES, Silence

KEPT_AFTER_END: Moment = 30 * DAY
# Who silences alarms has to be able to send them.
PERMISSION = "notification.write"


# --- what is silenced ---


class ActiveSilence(msgspec.Struct, eq=False):
    """A silence as it is matched."""

    id: str
    group_id: str
    reach_id: str
    subgroups: bool
    device_ids: frozenset[str]
    tags: frozenset[str]
    types: frozenset[str]
    severity: str | None
    begin_at: Moment
    end_at: Moment
    schedule: Schedule | None
    timezone: str
    _last_open: tuple[Moment, bool] | None = None  # whether it was at that moment

    def is_in_force(self, now: Moment) -> bool:
        if not self.begin_at <= now < self.end_at:
            return False
        if self.schedule is None:
            return True
        # Of all alarms of a transaction the moment is the same.
        last = self._last_open
        if last is None or last[0] != now:
            last = now, schedules.is_open(self.schedule, self.timezone, now)
            self._last_open = last
        return last[1]

    def matches(self, severity: str, about: Mapping[str, Any]) -> bool:
        """Whether it is for an alarm about a device or a connector, described as in messages."""
        return (
            (self.subgroups or about["groupId"] == self.group_id)
            and self.severity in (None, severity)
            and (not self.device_ids or about.get("deviceId") in self.device_ids)
            and (not self.types or about.get("deviceType") in self.types)
            and self.tags.issubset(about.get("tags", ()))
        )


class GroupSilences(msgspec.Struct, frozen=True, eq=False):
    """The silences that may be for alarms in a group: its own, and those of groups above it."""

    silences: Sequence[ActiveSilence]

    @property
    def kept_bytes(self) -> int:
        return sum(len(each) for one in self.silences for each in one.device_ids)


def find_silence(
    tx: Tx, rule_group_id: str, severity: str, about: Mapping[str, Any]
) -> ActiveSilence | None:
    """The silence that is in force for an alarm of a notification; of several the last to end.

    It is for the notifications of its own group and of groups below, and for those of groups above
    in which its creator could have changed them: nobody silences what others want to know.
    """
    known = tx.cache.get_config(
        "silences",
        about["groupId"],
        lambda: _load(tx, about["groupId"]),
        lambda: access.get_group_path(tx, about["groupId"]),
    )
    if not known.silences:
        return None
    found = [
        each
        for each in known.silences
        if each.matches(severity, about)
        and each.is_in_force(tx.now)
        and {each.group_id, each.reach_id}.intersection(access.get_group_path(tx, rule_group_id))
    ]
    return max(found, key=lambda each: each.end_at, default=None)


def _load(tx: Tx, group_id: str) -> GroupSilences:
    stored = store.list_lasting(tx, access.get_group_path(tx, group_id))
    return GroupSilences(
        [_compile(each) for each in stored if each.subgroups or each.group_id == group_id]
    )


def _compile(silence: Silence) -> ActiveSilence:
    return ActiveSilence(
        id=silence.id,
        group_id=silence.group_id,
        reach_id=silence.reach_id,
        subgroups=silence.subgroups,
        device_ids=frozenset(silence.device_ids),
        tags=frozenset(silence.tags),
        types=frozenset(silence.types),
        severity=silence.severity,
        begin_at=silence.begin_at,
        end_at=silence.end_at,
        schedule=None if silence.schedule is None else schedules.decode_schedule(silence.schedule),
        timezone=silence.timezone,
    )


# --- create, list, delete ---


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceDraft:
    """A silence as requested; what is None does not matter."""

    subgroups: bool
    device_ids: Sequence[str] | None
    tags: Sequence[str] | None
    types: Sequence[str] | None
    severity: str | None
    begin_at: Moment | None
    end_at: Moment
    schedule: Schedule | None
    timezone: str
    reason: str


@dataclass(frozen=True, slots=True)
class SilenceView:
    """A silence, what it is doing now, and of how many alarms it has held messages back."""

    silence: Silence
    state: str  # active, pending or expired
    held_back: int


STATES = ("active", "pending", "expired")


def create_silence(
    tx: Tx, actor: Actor, group_id: str, draft: SilenceDraft, quotas: Quotas
) -> SilenceView:
    scope = access.authorize_tree(tx, actor, PERMISSION, group_id, subgroups=draft.subgroups)
    field_errors = _check(tx, group_id, draft, scope.group_ids)
    if field_errors:
        raise BadInput(field_errors=field_errors)
    locks.acquire_lock(tx, "silences of group", group_id)  # for the limit below
    quotas.require_room("silences_per_group_max", store.count_lasting(tx, group_id))
    silence = Silence(
        id=new_id("sil"),
        group_id=group_id,
        reach_id=_find_reach(tx, actor, group_id),
        subgroups=draft.subgroups,
        device_ids=tuple(dict.fromkeys(draft.device_ids or ())),
        tags=tuple(dict.fromkeys(draft.tags or ())),
        types=tuple(dict.fromkeys(draft.types or ())),
        severity=draft.severity,
        begin_at=tx.now if draft.begin_at is None else draft.begin_at,
        end_at=draft.end_at,
        schedule=None if draft.schedule is None else schedules.encode_schedule(draft.schedule),
        timezone=draft.timezone,
        reason=draft.reason,
        created_at=tx.now,
        created_by=actor.id,
    )
    cache_epochs.bump_config_epoch(tx, group_id)
    SILENCES.insert(tx, silence)
    after = _describe(silence)
    audit.log(
        tx,
        actor,
        "silence.create",
        silence.id,
        group_id=group_id,
        detail=silence.reason,
        after=after,
    )
    return _view(silence, tx.now, 0)


def list_silences(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest, *, subgroups: bool
) -> Page[SilenceView]:
    """The silences of a group, those that end last first."""
    scope = access.authorize_tree(tx, actor, "notification.read", group_id, subgroups=subgroups)
    page = SILENCES.page(tx, scope, request, order="-end_at id")
    counts = store.count_held_back(tx, [each.id for each in page.items])
    items = [_view(each, tx.now, counts.get(each.id, 0)) for each in page.items]
    return Page(items, page.last_key)


def delete_silence(tx: Tx, actor: Actor, group_id: str, silence_id: str) -> SilenceView:
    """End a silence; what it has held back is sent, if the alarm is still open."""
    scope = access.authorize(tx, actor, PERMISSION, group_id)
    silence = SILENCES.get(tx, scope, silence_id)
    if silence is None:
        raise not_found("silence_id", "silence of this group")
    cache_epochs.bump_config_epoch(tx, group_id)
    if not SILENCES.delete(tx, silence_id):
        raise not_found("silence_id", "silence of this group")
    audit.log(tx, actor, "silence.delete", silence_id, group_id=group_id, before=_describe(silence))
    held_back = store.count_held_back(tx, [silence_id])
    return _view(silence, tx.now, held_back.get(silence_id, 0))


def _view(silence: Silence, now: Moment, held_back: int) -> SilenceView:
    state = "expired" if silence.end_at <= now else "pending"
    if _compile(silence).is_in_force(now):
        state = "active"
    return SilenceView(silence, state, held_back)


def _find_reach(tx: Tx, actor: Actor, group_id: str) -> str:
    """The highest group on its path in which the actor may change notifications."""
    reach = group_id
    for each in access.get_group_path(tx, group_id):
        if PERMISSION in access.get_permissions(tx, actor, each):
            reach = each
    return reach


def _check(
    tx: Tx, group_id: str, draft: SilenceDraft, group_ids: Collection[str]
) -> list[FieldError]:
    device_ids = enumerate(draft.device_ids or ())
    devices = {f"device_ids[{index}]": each for index, each in device_ids}
    types = check_device_types(tx, draft.types, group_id)
    errors = [
        *check_devices(tx, devices, group_ids),
        *(FieldError(each.field.replace("device_types", "types"), each.message) for each in types),
    ]
    for name in ("device_ids", "tags", "types"):
        given = getattr(draft, name)
        if given is not None and not given:
            errors.append(FieldError(name, "is empty; leave it out for all devices"))
    if draft.end_at <= tx.now:
        errors.append(FieldError("until", "is in the past"))
    elif draft.begin_at is not None and draft.end_at <= draft.begin_at:
        errors.append(FieldError("until", "is not later than from"))
    if (why := schedules.check_timezone(draft.timezone)) is not None:
        errors.append(FieldError("timezone", why))
    return errors


def _describe(silence: Silence) -> dict[str, Any]:
    """What the audit log says of it."""
    return {
        "subgroups": silence.subgroups,
        "deviceIds": silence.device_ids,
        "tags": silence.tags,
        "types": silence.types,
        "severity": silence.severity,
        "from": format_date(silence.begin_at),
        "until": format_date(silence.end_at),
        "schedule": silence.schedule,
        "timezone": silence.timezone,
        "reason": silence.reason,
    }

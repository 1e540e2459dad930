"""Firing: alerts become messages in the delivery queue, one for each recipient.

On the transaction of the record that caused them, so that neither exists without the other.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from longwire.clock import Moment
from longwire.delivery.matching.budgets import InlineAllowance
from longwire.notifications import contact_limits
from longwire.notifications.contact_limits import ContactLimits
from longwire.notifications.default_texts import resolve_subject
from longwire.notifications.recipients import Recipient, RecipientCache
from longwire.notifications.rules import Rule
from longwire.notifications.templates import DEFAULT_TEXTS, FilledTexts, complete_texts
from longwire.notifications.trigger_states import AlertStatus
from longwire.notifications.types.base import NotificationMessage
from longwire.records import RecordKind
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.notifications import notifications as store

NO_RECIPIENTS = "there are no recipients"
TEMPLATE_TOO_EXPENSIVE = (
    "template_too_expensive: there were so many alerts at once that some were sent with the default"
    " texts"
)

# One commit stores a thousand records, or a batch of up to five times as many. One webhook per
# record always fits; fifty addresses per record do not.
DELIVERIES_PER_NOTIFICATION_MAX = 2_000
DELIVERIES_PER_COMMIT_MAX = 10_000
# Estimated CPU time of the templates of one commit. Costly ones of events are rendered after it;
# this is for alerts, whose texts depend on what came before, and which are few.
RENDERING_US_PER_GROUP_MAX = 50_000.0
RENDERING_US_MAX = 100_000.0

log = structlog.get_logger()


# Sequence numbers for so many deliveries; the process has one source for these and for arrivals.
TakeSequenceNumbers = Callable[[Moment, int], Sequence[int]]


class Firing(msgspec.Struct, frozen=True):
    """A notification that fires once."""

    rule: Rule
    message: Mapping[str, Any]  # what happened, as expressions see it
    status: AlertStatus
    ts: Moment
    device_id: str = ""
    kind: int = RecordKind.EVENT
    reason: str = ""
    texts: FilledTexts | None = None  # if templates were rendered already
    cause: int | None = None  # the arrival of the record that it is about

    @property
    def is_about_alarm(self) -> bool:
        return "alarmId" in self.message


class CommitQuota:
    """Limits how often each notification fires in one commit, so that ingest stays fast."""

    def __init__(self, recipients: RecipientCache, notifications: int) -> None:
        self._recipients = recipients
        share = DELIVERIES_PER_COMMIT_MAX // max(1, notifications)
        self._deliveries_max = min(DELIVERIES_PER_NOTIFICATION_MAX, share)

    def get_firings_max(self, rule: Rule) -> int:
        """At least one, however many recipients there are."""
        return max(1, self._deliveries_max // max(1, len(self._recipients.get_recipients(rule))))

    def is_used_up(self, rule: Rule, fired: Mapping[int, int]) -> bool:
        return fired.get(rule.number, 0) >= self.get_firings_max(rule)


def within_quota(firings: Sequence[Firing], quota: CommitQuota) -> list[Firing]:
    """The firings within the quota: the first ones, and the last one, which counts the others."""
    total = Counter(firing.rule.number for firing in firings)
    seen: Counter[int] = Counter()
    held_back: Counter[int] = Counter()
    kept = []
    for firing in firings:
        number = firing.rule.number
        seen[number] += 1
        if seen[number] == total[number]:
            kept.append(_add_held_back(firing, held_back[number]))
        elif seen[number] < quota.get_firings_max(firing.rule):
            kept.append(firing)
        else:
            held_back[number] += 1 + firing.status.held_back
    return kept


def _add_held_back(firing: Firing, count: int) -> Firing:
    if not count:
        return firing
    status = msgspec.structs.replace(firing.status, held_back=firing.status.held_back + count)
    return msgspec.structs.replace(firing, status=status)


def fire(
    tx: Tx,
    take_seqs: TakeSequenceNumbers,
    firings: Sequence[Firing],
    recipients: RecipientCache,
) -> set[int]:
    """Enqueue the messages; returns the numbers of the channels that have something to send.

    Once in a transaction, at its end: it locks what contacts got, in one order, and last of all.
    """
    if not firings:
        return set()
    queued = enqueue_firings(tx, take_seqs, firings, recipients)
    fired = {firing.rule.number for firing in firings}
    store.set_fired(tx, fired)
    # An alarm that is escalated fires for the contact of that as well.
    reached = {each.rule.number for each in firings if recipients.get_recipients(each.rule)}
    for number in sorted(fired - reached):
        store_channels.record_failure(tx, number, NO_RECIPIENTS, 0)
    return set(queued.channels)


class QueuedFirings(msgspec.Struct, frozen=True):
    """What was enqueued."""

    messages: Counter[int]  # how many, by the number of their notification
    channels: frozenset[int]  # the numbers of those that have something to send


def enqueue_firings(
    tx: Tx,
    take_seqs: TakeSequenceNumbers,
    firings: Sequence[Firing],
    recipients: RecipientCache,
) -> QueuedFirings:
    """Enqueue the messages.

    Those about alarms that are too many for a recipient are counted, and sent as one later.
    """
    renderer = _Renderer()
    limits = ContactLimits(
        tx,
        {
            recipient
            for firing in firings
            if firing.is_about_alarm
            for recipient in recipients.get_recipients(firing.rule)
        },
    )
    messages = [
        (firing, body, recipient)
        for firing in firings
        if (some := _list_single(firing, recipients, limits))
        for recipient, body in _encode_messages(firing, some, renderer)
    ]
    limits.save()
    for number in sorted(renderer.too_expensive):
        store_channels.record_failure(tx, number, TEMPLATE_TOO_EXPENSIVE, 0)
    seqs = take_seqs(tx.now, len(messages)) if messages else ()
    store_deliveries.insert(
        tx,
        [
            NewDelivery(
                recipient.channel_number,
                seq,
                firing.device_id,
                firing.kind,
                firing.ts,
                body,
                recipient.encode_context(firing.rule),
                firing.cause,
            )
            for seq, (firing, body, recipient) in zip(seqs, messages, strict=True)
        ],
    )
    return QueuedFirings(
        Counter(firing.rule.number for firing, _, _ in messages),
        frozenset(recipient.channel_number for _, _, recipient in messages),
    )


def _list_single(
    firing: Firing, recipients: RecipientCache, limits: ContactLimits
) -> Sequence[Recipient]:
    """Who gets this message by itself."""
    everybody = recipients.get_recipients(firing.rule)
    if not firing.is_about_alarm:
        return everybody
    return [each for each in everybody if limits.take(each, firing.reason, firing.message)]


def send_grouped(tx: Tx, take_seqs: TakeSequenceNumbers, group_number: int) -> set[int]:
    """Enqueue the grouped messages of a group that are due; the channels that have some."""
    new = contact_limits.take_due(tx, group_number)
    if not new:
        return set()
    seqs = take_seqs(tx.now, len(new))
    store_deliveries.insert(
        tx,
        [msgspec.structs.replace(each, seq=seq) for each, seq in zip(new, seqs, strict=True)],
    )
    return {each.channel_number for each in new}


def fill_texts(rule: Rule, message: Mapping[str, Any]) -> FilledTexts | None:
    """What templates make of subject and body; None if they cannot be rendered."""
    try:
        return rule.texts.fill(message)
    except Exception:
        log.exception("notification not rendered", notification=rule.number)
        return None


class _Renderer:
    """Renders the texts of one commit; without templates when they would take too long."""

    def __init__(self) -> None:
        self._allowance = InlineAllowance(
            us_per_group_max=RENDERING_US_PER_GROUP_MAX, us_max=RENDERING_US_MAX
        )
        self.too_expensive: set[int] = set()  # notifications

    def fill(self, firing: Firing) -> FilledTexts:
        if firing.texts is not None:
            return firing.texts
        texts, rule = firing.rule.texts, firing.rule
        # A few are compiled in each commit, however costly that is.
        compile_us = min(texts.compile_us, RENDERING_US_PER_GROUP_MAX / 4)
        if not (
            self._allowance.take(rule.group_id, compile_us)
            and self._allowance.take(rule.group_id, texts.estimate_us(firing.message))
        ):
            self.too_expensive.add(rule.number)
            return DEFAULT_TEXTS
        return texts.fill(firing.message)


def _encode_messages(
    firing: Firing, recipients: Sequence[Recipient], renderer: _Renderer
) -> list[tuple[Recipient, str]]:
    """The body of each delivery; none if it cannot be rendered."""
    try:
        filled = renderer.fill(firing)
        messages = {
            language: _build_message(firing, filled, language)
            for language in {each.language for each in recipients}
        }
        bodies = {
            (language, is_kept): _encode_message(
                messages[language], firing.message, is_kept=is_kept
            )
            for language, is_kept in {(each.language, each.keeps_message) for each in recipients}
        }
        return [(each, bodies[each.language, each.keeps_message]) for each in recipients]
    except Exception:
        # The record must be stored in any case.
        log.exception("notification not rendered", notification=firing.rule.number)
        return []


def _build_message(firing: Firing, filled: FilledTexts, language: str) -> NotificationMessage:
    subject, body = complete_texts(filled, firing.reason, firing.message, language)
    if firing.status.is_resolved:
        subject = resolve_subject(subject, language)
    return NotificationMessage(
        subject=subject,
        body=body,
        reason=firing.reason,
        message={},
        held_back=firing.status.held_back,
        language=language,
    )


def _encode_message(
    message: NotificationMessage, record: Mapping[str, Any], *, is_kept: bool
) -> str:
    """With the record, as far as it is sent: a large one is not stored for each recipient."""
    sent = {name: value for name, value in record.items() if is_kept or name == "timestamp"}
    return msgspec.json.encode(msgspec.structs.replace(message, message=sent)).decode()

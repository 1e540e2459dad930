"""Firing: alerts become messages in the delivery queue, one for each recipient.

On the transaction of the record that caused them, so that neither exists without the other.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog

from longwire.clock import Moment
from longwire.delivery.matching.budgets import InlineAllowance
from longwire.identity import access
from longwire.model import Actor
from longwire.notifications.rules import Rule
from longwire.notifications.templates import DEFAULT_TEXTS
from longwire.notifications.trigger_states import AlertStatus
from longwire.notifications.types.base import NotificationContext, NotificationMessage
from longwire.records import RecordKind
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.identity import users as store_users
from longwire.store.notifications import notifications as store

RESOLVED_PREFIX = "Over: "
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


RenderedTexts = tuple[str, str]  # subject and body


class Firing(msgspec.Struct, frozen=True):
    """A notification that fires once."""

    rule: Rule
    message: Mapping[str, Any]  # what happened, as expressions see it
    status: AlertStatus
    ts: Moment
    device_id: str = ""
    kind: int = RecordKind.EVENT
    reason: str = ""
    texts: RenderedTexts | None = None  # if they were rendered already
    cause: int | None = None  # the arrival of the record that it is about


class RecipientCache:
    """The recipients of notifications, looked up once per transaction."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._recipients: dict[int, Sequence[str]] = {}
        self._tokens: dict[str, list[str]] = {}

    def get_recipients(self, rule: Rule) -> Sequence[str]:
        if rule.number not in self._recipients:
            list_tokens = partial(self._list_tokens, rule.group_id)
            self._recipients[rule.number] = rule.type.list_recipients(rule.params, list_tokens)
        return self._recipients[rule.number]

    def _list_tokens(self, group_id: str) -> list[str]:
        """The push tokens of the members who have accepted and may read notifications."""
        if group_id not in self._tokens:
            self._tokens[group_id] = [
                digest.hex()
                for user_id, digest in store_users.list_group_push_tokens(self._tx, group_id)
                if can_read_notifications(self._tx, user_id, group_id)
            ]
        return self._tokens[group_id]


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
    """Enqueue the messages; returns the numbers of the channels that have something to send."""
    queued = enqueue_firings(tx, take_seqs, firings, recipients)
    fired = {firing.rule.number for firing in firings}
    store.set_fired(tx, fired)
    for number in sorted(fired - queued.keys()):
        store_channels.record_failure(tx, number, NO_RECIPIENTS, 0)
    return set(queued)


def enqueue_firings(
    tx: Tx,
    take_seqs: TakeSequenceNumbers,
    firings: Sequence[Firing],
    recipients: RecipientCache,
) -> Counter[int]:
    """Enqueue the messages; returns how many, by the number of their notification."""
    renderer = _Renderer()
    messages = [
        (firing, body, to)
        for firing in firings
        if (body := _encode_message(firing, renderer)) is not None
        for to in recipients.get_recipients(firing.rule)
    ]
    for number in sorted(renderer.too_expensive):
        store_channels.record_failure(tx, number, TEMPLATE_TOO_EXPENSIVE, 0)
    seqs = take_seqs(tx.now, len(messages)) if messages else ()
    store_deliveries.insert(
        tx,
        [
            NewDelivery(
                firing.rule.number,
                seq,
                firing.device_id,
                firing.kind,
                firing.ts,
                body,
                msgspec.json.encode(NotificationContext(to)).decode(),
                firing.cause,
            )
            for seq, (firing, body, to) in zip(seqs, messages, strict=True)
        ],
    )
    return Counter(firing.rule.number for firing, _, _ in messages)


def render_texts(rule: Rule, reason: str, message: Mapping[str, Any]) -> RenderedTexts | None:
    """Subject and body; None if they cannot be rendered."""
    try:
        return rule.texts.render(reason, message)
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

    def render(self, firing: Firing) -> RenderedTexts:
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
            texts = DEFAULT_TEXTS
        return texts.render(firing.reason, firing.message)


def _encode_message(firing: Firing, renderer: _Renderer) -> str | None:
    """The body of the deliveries; None if it cannot be rendered."""
    try:
        subject, body = renderer.render(firing)
        message = NotificationMessage(
            subject=f"{RESOLVED_PREFIX}{subject}" if firing.status.is_resolved else subject,
            body=body,
            reason=firing.reason,
            message=_select_message(firing),
            held_back=firing.status.held_back,
        )
        return msgspec.json.encode(message).decode()
    except Exception:
        # The record must be stored in any case.
        log.exception("notification not rendered", notification=firing.rule.number)
        return None


def _select_message(firing: Firing) -> dict[str, Any]:
    """The record, as far as it is sent: a large one is not stored again for each recipient."""
    if firing.rule.type.keeps_message:
        return dict(firing.message)
    return {name: value for name, value in firing.message.items() if name == "timestamp"}


def can_read_notifications(tx: Tx, user_id: str, group_id: str) -> bool:
    return "notification.read" in access.get_permissions(tx, Actor("user", user_id), group_id)

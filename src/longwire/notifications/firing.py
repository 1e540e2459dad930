"""Firing: what is to be told becomes letters in the queue, one for each recipient.

On the transaction of whatever it is about, so that there is neither a record without its letters
nor a letter without its record.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog

from longwire.clock import Moment
from longwire.identity import access
from longwire.model import Actor
from longwire.notifications.rules import Rule
from longwire.notifications.trigger_states import Telling
from longwire.notifications.types.base import Envelope, Letter
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store_deliveries
from longwire.store import notifications as store
from longwire.store import users as store_users
from longwire.store.database import Tx
from longwire.store.deliveries import Fresh
from longwire.store.records import KINDS

EVENT = KINDS.index("event")
OVER = "Over: "
NOBODY = "there was nobody to tell"

# One commit stores a thousand records, or a batch that may be five times as large. What one of them
# is told by a webhook fits always; what a batch would send to fifty addresses each does not.
LETTERS_PER_NOTIFICATION_MAX = 2_000
LETTERS_PER_COMMIT_MAX = 10_000

log = structlog.get_logger()


# Numbers for so many deliveries; the process has one source, which numbers its arrivals, too.
Numbers = Callable[[Moment, int], Sequence[int]]


class Firing(msgspec.Struct, frozen=True):
    """A notification that fires, for one thing that happened."""

    rule: Rule
    message: Mapping[str, Any]  # what happened, as expressions see it
    telling: Telling
    ts: Moment
    device_id: str = ""
    kind: int = EVENT
    reason: str = ""


class Recipients:
    """Whom notifications tell, looked up once for each of them in a transaction."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._known: dict[int, Sequence[str]] = {}
        self._tokens: dict[str, list[str]] = {}

    def of(self, rule: Rule) -> Sequence[str]:
        if rule.number not in self._known:
            tokens = partial(self._tokens_in, rule.group_id)
            self._known[rule.number] = rule.type.recipients(rule.params, tokens)
        return self._known[rule.number]

    def _tokens_in(self, group_id: str) -> list[str]:
        """The push tokens of those members who may hear of it."""
        if group_id not in self._tokens:
            self._tokens[group_id] = [
                digest.hex()
                for user_id, digest in store_users.push_tokens_in(self._tx, group_id)
                if may_hear(self._tx, user_id, group_id)
            ]
        return self._tokens[group_id]


class Room:
    """How often each notification can fire in one commit: so often that storing stays quick."""

    def __init__(self, recipients: Recipients, notifications: int) -> None:
        self._recipients = recipients
        share = LETTERS_PER_COMMIT_MAX // max(1, notifications)
        self._letters_max = min(LETTERS_PER_NOTIFICATION_MAX, share)

    def of(self, rule: Rule) -> int:
        """Once in any case, however many there are to be told."""
        return max(1, self._letters_max // max(1, len(self._recipients.of(rule))))


def fitting(firings: Sequence[Firing], room: Room) -> list[Firing]:
    """Those there is room for: the first ones, and the last one, which counts the others."""
    total = Counter(firing.rule.number for firing in firings)
    seen: Counter[int] = Counter()
    held_back: Counter[int] = Counter()
    kept = []
    for firing in firings:
        number = firing.rule.number
        seen[number] += 1
        if seen[number] == total[number]:
            kept.append(_counting(firing, held_back[number]))
        elif seen[number] < room.of(firing.rule):
            kept.append(firing)
        else:
            held_back[number] += 1 + firing.telling.held_back
    return kept


def _counting(firing: Firing, more: int) -> Firing:
    if not more:
        return firing
    telling = firing.telling
    counting = msgspec.structs.replace(telling, held_back=telling.held_back + more)
    return msgspec.structs.replace(firing, telling=counting)


def fire(tx: Tx, numbers: Numbers, firings: Sequence[Firing], recipients: Recipients) -> set[int]:
    """Queue what is to be sent; the numbers of those that have something to send now."""
    queued = queue(tx, numbers, firings, recipients)
    fired = {firing.rule.number for firing in firings}
    store.note_fired(tx, fired)
    for number in sorted(fired - queued.keys()):
        store_connectors.note_failure(tx, number, NOBODY, 0)
    return set(queued)


def queue(
    tx: Tx, numbers: Numbers, firings: Sequence[Firing], recipients: Recipients
) -> Counter[int]:
    """The letters into the queue; how many, by the number of their notification."""
    letters = [
        (firing, letter, to)
        for firing in firings
        if (letter := _letter(firing)) is not None
        for to in recipients.of(firing.rule)
    ]
    seqs = numbers(tx.now, len(letters)) if letters else ()
    store_deliveries.insert(
        tx,
        [
            Fresh(
                firing.rule.number,
                seq,
                firing.device_id,
                firing.kind,
                firing.ts,
                letter,
                msgspec.json.encode(Envelope(to)).decode(),
            )
            for seq, (firing, letter, to) in zip(seqs, letters, strict=True)
        ],
    )
    return Counter(firing.rule.number for firing, _, _ in letters)


def _letter(firing: Firing) -> str | None:
    """What is told, as it is kept until it is sent."""
    try:
        subject, body = firing.rule.texts.fill(firing.reason, firing.message)
        letter = Letter(
            subject=f"{OVER}{subject}" if firing.telling.is_over else subject,
            body=body,
            reason=firing.reason,
            message=_enclosed(firing),
            held_back=firing.telling.held_back,
        )
        return msgspec.json.encode(letter).decode()
    except Exception:
        # What a device said is stored in any case.
        log.exception("a letter could not be written", notification=firing.rule.number)
        return None


def _enclosed(firing: Firing) -> dict[str, Any]:
    """What happened, as far as it is sent along: a large record is not kept for each recipient."""
    if firing.rule.type.keeps_message:
        return dict(firing.message)
    return {name: value for name, value in firing.message.items() if name == "timestamp"}


def may_hear(tx: Tx, user_id: str, group_id: str) -> bool:
    """Whether somebody could read the notifications of a group, too."""
    return "notification.read" in access.permissions_in(tx, Actor("user", user_id), group_id)

"""Firing: what is to be told becomes letters in the queue, one for each recipient.

On the transaction of whatever it is about, so that there is neither a record without its letters
nor a letter without its record.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from longwire.clock import Moment
from longwire.identity import access
from longwire.model import Actor
from longwire.notifications.rules import Rule
from longwire.notifications.states import Telling
from longwire.notifications.types.base import Envelope, Letter, Tokens
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


def fire(tx: Tx, numbers: Numbers, firings: Sequence[Firing]) -> set[int]:
    """Queue what is to be sent; the numbers of those that have something to send now."""
    queued = queue(tx, numbers, firings)
    fired = {firing.rule.number for firing in firings}
    store.note_fired(tx, fired)
    for number in sorted(fired - queued.keys()):
        store_connectors.note_failure(tx, number, NOBODY, 0)
    return set(queued)


def queue(tx: Tx, numbers: Numbers, firings: Sequence[Firing]) -> Counter[int]:
    """The letters into the queue; how many, by the number of their notification."""
    members = _Members(tx)
    letters = [
        (firing, letter, to)
        for firing in firings
        if (letter := _letter(firing)) is not None
        for to in firing.rule.type.recipients(
            firing.rule.params, members.tokens_of(firing.rule.group_id)
        )
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
            message=dict(firing.message),
            held_back=firing.telling.held_back,
        )
        return msgspec.json.encode(letter).decode()
    except Exception:
        # What a device said is stored in any case.
        log.exception("a letter could not be written", notification=firing.rule.number)
        return None


class _Members:
    """The push tokens of a group's members, looked up once for each group of a transaction."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._known: dict[str, list[str]] = {}

    def tokens_of(self, group_id: str) -> Tokens:
        def tokens() -> Sequence[str]:
            if group_id not in self._known:
                self._known[group_id] = self._find(group_id)
            return self._known[group_id]

        return tokens

    def _find(self, group_id: str) -> list[str]:
        return [
            digest.hex()
            for user_id, digest in store_users.push_tokens_in(self._tx, group_id)
            if may_hear(self._tx, user_id, group_id)
        ]


def may_hear(tx: Tx, user_id: str, group_id: str) -> bool:
    """Whether somebody could read the notifications of a group, too."""
    return "notification.read" in access.permissions_in(tx, Actor("user", user_id), group_id)

"""Dead letters: deliveries that have failed and are kept for a resend, until they expire."""

from typing import NamedTuple

from longwire.clock import Moment
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import (
    EXPIRED,
    FAILED,
    IS_DEAD_LETTER,
    IS_OPEN,
    REQUEUED,
)
from longwire.store.statement import Statement, in_unlocked


class DeadLetter(NamedTuple):
    seq: int
    device_id: str


RESEND = Statement(
    f"""
update delivery
set {REQUEUED},
    resent_before = :before
where channel_number = :channel
    {{slot}}
    and seq {{dead_letters}}
    and {FAILED}
returning seq
""",
    dead_letters=in_unlocked(f"""
        select seq
        from delivery {{index:ix_delivery_failed}}
        where channel_number = :channel
            {{slot}}
            and seq >= :first
            and changed_at <= :before
            and {IS_DEAD_LETTER}
        order by seq
        limit :most"""),
)

FIND_FIRST = Statement(
    f"""
select seq
from delivery {{index:ix_delivery_failed}}
where channel_number = :channel
    and seq >= :first
    and changed_at <= :before
    and {IS_DEAD_LETTER}
order by seq
limit 1
""",
    into=int,
)

IS_RESENDING = Statement(f"""
select 1
from delivery {{index:ix_delivery_resent}}
where channel_number = :channel
    and resent_before is not null
    and {IS_OPEN}
    and resent_before = :before
limit 1
""")

GET_OLDEST_DEAD_LETTER = Statement(
    f"""
select ts
from delivery {{index:ix_delivery_failed}}
where channel_number = :channel
    and {IS_DEAD_LETTER}
order by seq
limit 1
""",
    into=int,
)

LIST_DEAD_LETTERS = Statement(
    f"""
select seq, device_id
from delivery {{index:ix_delivery_failed}}
where channel_number = :channel
    and seq > :after
    and changed_at <= :before
    and {IS_DEAD_LETTER}
order by seq
limit :most
""",
    into=DeadLetter,
)

EXPIRE = Statement(f"""
update delivery
set {EXPIRED},
    changed_at = :now,
    body = null,
    context = null
where {FAILED}
    {{slot}}
    and (channel_number, seq) in (
        select channel_number, seq
        from delivery
        where {FAILED}
            {{slot}}
            and stored_until < :now
        limit :most
    )
returning seq
""")


def resend(tx: Tx, number: int, before: Moment, first_seq: int, most: int) -> int:
    """Queue dead letters that failed before a moment, the oldest first from one on; how many."""
    values = {"channel": number, "before": before, "first": first_seq, "now": tx.now}
    return slots.change_in_slots(tx, RESEND, values, most)


def find_first(tx: Tx, number: int, before: Moment, first_seq: int) -> int | None:
    """The oldest of them from one on; None when there is none."""
    values = {"channel": number, "before": before, "first": first_seq, "now": tx.now}
    return tx.first(FIND_FIRST, **values)


def is_resending(tx: Tx, number: int, before: Moment) -> bool:
    """Whether a delivery of a resend is still open."""
    return bool(tx.fetch(IS_RESENDING, channel=number, before=before))


def get_oldest_dead_letter_ts(tx: Tx, number: int) -> Moment | None:
    """The timestamp of the oldest message that can be resent; None when there is none."""
    return tx.first(GET_OLDEST_DEAD_LETTER, channel=number, now=tx.now)


def list_dead_letters(
    tx: Tx, number: int, after_seq: int, before: Moment, most: int
) -> list[DeadLetter]:
    """Sequence numbers and device ids of messages that failed before a moment, the oldest first."""
    values = {
        "channel": number,
        "after": after_seq,
        "before": before,
        "now": tx.now,
        "most": most,
    }
    return tx.fetch(LIST_DEAD_LETTERS, **values)


def expire_dead_letters(tx: Tx, most: int) -> int:
    """Drop the messages of dead letters that are past their storing time; how many."""
    return slots.change_in_slots(tx, EXPIRE, {"now": tx.now}, most)

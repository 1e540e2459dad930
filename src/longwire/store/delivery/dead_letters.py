"""Dead letters: deliveries that have failed and are kept for a resend, until they expire."""

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
from longwire.store.engines.dialects import by_slot, dialect_sql, in_unlocked, using_index

RESEND = by_slot(
    dialect_sql(
        f"""
update delivery
set {REQUEUED},
    resent_before = :before
where channel_number = :channel
    and slot = :slot
    and seq {{dead_letters}}
    and {FAILED}
returning seq
""",
        dead_letters=in_unlocked(
            dialect_sql(
                f"""
        select seq
        from delivery {{by_failed}}
        where channel_number = :channel
            and slot = :slot
            and seq >= :first
            and changed_at <= :before
            and {IS_DEAD_LETTER}
        order by seq
        limit :most""",
                by_failed=using_index("ix_delivery_failed"),
            )
        ),
    )
)

FIND_FIRST = dialect_sql(
    f"""
select seq
from delivery {{by_failed}}
where channel_number = :channel
    and seq >= :first
    and changed_at <= :before
    and {IS_DEAD_LETTER}
order by seq
limit 1
""",
    by_failed=using_index("ix_delivery_failed"),
)

IS_RESENDING = dialect_sql(
    f"""
select 1
from delivery {{by_resend}}
where channel_number = :channel
    and resent_before is not null
    and {IS_OPEN}
    and resent_before = :before
limit 1
""",
    by_resend=using_index("ix_delivery_resent"),
)

GET_OLDEST_DEAD_LETTER = dialect_sql(
    f"""
select ts
from delivery {{by_failed}}
where channel_number = :channel
    and {IS_DEAD_LETTER}
order by seq
limit 1
""",
    by_failed=using_index("ix_delivery_failed"),
)

LIST_DEAD_LETTERS = dialect_sql(
    f"""
select seq, device_id
from delivery {{by_failed}}
where channel_number = :channel
    and seq > :after
    and changed_at <= :before
    and {IS_DEAD_LETTER}
order by seq
limit :most
""",
    by_failed=using_index("ix_delivery_failed"),
)

EXPIRE = by_slot(
    f"""
update delivery
set {EXPIRED},
    changed_at = :now,
    body = null,
    context = null
where {FAILED}
    and slot = :slot
    and (channel_number, seq) in (
        select channel_number, seq
        from delivery
        where {FAILED}
            and slot = :slot
            and stored_until < :now
        limit :most
    )
returning seq
"""
)


def resend(tx: Tx, number: int, before: Moment, first_seq: int, most: int) -> int:
    """Queue dead letters that failed before a moment, the oldest first from one on; how many."""
    values = {"channel": number, "before": before, "first": first_seq, "now": tx.now}
    return slots.change_in_slots(tx, RESEND, values, most)


def find_first(tx: Tx, number: int, before: Moment, first_seq: int) -> int | None:
    """The oldest of them from one on; None when there is none."""
    values = {"channel": number, "before": before, "first": first_seq, "now": tx.now}
    rows = tx.fetch_raw(FIND_FIRST, values)
    return rows[0][0] if rows else None


def is_resending(tx: Tx, number: int, before: Moment) -> bool:
    """Whether a delivery of a resend is still open."""
    return bool(tx.fetch_raw(IS_RESENDING, {"channel": number, "before": before}))


def get_oldest_dead_letter_ts(tx: Tx, number: int) -> Moment | None:
    """The timestamp of the oldest message that can be resent; None when there is none."""
    rows = tx.fetch_raw(GET_OLDEST_DEAD_LETTER, {"channel": number, "now": tx.now})
    return rows[0][0] if rows else None


def list_dead_letters(
    tx: Tx, number: int, after_seq: int, before: Moment, most: int
) -> list[tuple[int, str]]:
    """Sequence numbers and device ids of messages that failed before a moment, the oldest first."""
    values = {
        "channel": number,
        "after": after_seq,
        "before": before,
        "now": tx.now,
        "most": most,
    }
    return [(seq, device_id) for seq, device_id in tx.fetch_raw(LIST_DEAD_LETTERS, values)]


def expire_dead_letters(tx: Tx, most: int) -> int:
    """Drop the messages of dead letters that are past their storing time; how many."""
    return slots.change_in_slots(tx, EXPIRE, {"now": tx.now}, most)

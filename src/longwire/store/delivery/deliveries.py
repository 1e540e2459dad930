"""Deliveries: the queue of messages on their way out.

Every change of state is one guarded statement: it names the state that it starts from, and the
lease where there is one, and returns the rows that it changed. A late one changes nothing.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.delivery import ordered_deliveries
from longwire.store.delivery.delivery_states import (
    CANCELLED,
    IS_DEAD_LETTER,
    IS_FINAL,
    QUEUED,
    REQUEUED,
    DeliveryState,
    set_first_end,
)
from longwire.store.engines.bulk import IGNORE, insert_many, insert_new
from longwire.store.statement import ByEngine, Statement

_table = schema.delivery

# Dead letters expire first.
_PRUNED = (DeliveryState.SUCCEEDED, DeliveryState.EXPIRED, DeliveryState.CANCELLED)
_IS_PRUNED = f"state in ({', '.join(f'{state:d}' for state in _PRUNED)})"


REQUEUE = Statement(f"""
update delivery
set {REQUEUED},
    error = null,
    body = :body,
    context = :context,
    traceparent = coalesce(:traceparent, traceparent)
where channel_number = :channel
    {{slot}}
    and seq = :seq
    and {IS_FINAL}
returning seq
""")

_ONE = "= :seq"
_MANY = "{in:seqs}"


def _make_due(which: str) -> Statement[int]:
    return Statement(
        f"""
update delivery
set due_at = :now,
    changed_at = :now
where channel_number = :channel
    and seq {which}
    and {QUEUED}
returning seq
""",
        into=int,
    )


def _resend(which: str) -> Statement[int]:
    return Statement(
        f"""
update delivery
set {REQUEUED}
where channel_number = :channel
    and seq {which}
    and {IS_DEAD_LETTER}
returning seq
""",
        into=int,
    )


def _cancel(which: str) -> Statement[tuple[Any, ...]]:
    return Statement(f"""
update delivery
set {CANCELLED},
    {set_first_end(DeliveryState.CANCELLED)},
    changed_at = :now,
    error = :why,
    body = null,
    context = null
where channel_number = :channel
    and seq {which}
    and {QUEUED}
returning seq, generation, is_ordered
""")


MAKE_DUE, MAKE_MANY_DUE = _make_due(_ONE), _make_due(_MANY)
RESEND_ONE, RESEND_MANY = _resend(_ONE), _resend(_MANY)
CANCEL, CANCEL_MANY = _cancel(_ONE), _cancel(_MANY)

PRUNE = Statement(
    f"""
delete from delivery
where {IS_FINAL}
    and (channel_number, seq) in (
        select d.channel_number, d.seq
        from channel c
        {{old_deliveries}}
        limit :most
    )
returning seq
""",
    old_deliveries=ByEngine(
        sqlite=f"""cross join delivery d
        where d.channel_number = c.number
            and d.changed_at < :before
            and d.{_IS_PRUNED}""",
        postgres=f"""cross join lateral (
            select channel_number, seq
            from delivery
            where channel_number = c.number
                and changed_at < :before
                {{slot}}
                and {_IS_PRUNED}
            limit :most
        ) d""",
    ),
)

DELETE_FOR_CHANNEL = Statement("""
delete from delivery
where channel_number = :channel
    and seq in (
        select seq
        from delivery
        where channel_number = :channel
        limit :most
    )
returning seq
""")


class NewDelivery(msgspec.Struct, frozen=True, gc=False):
    """A message, and the channel that it is to leave through."""

    channel_number: int
    seq: int
    device_id: str
    kind: int
    ts: Moment
    body: str
    context: str
    cause: int | None = None  # the arrival that a notification is about
    is_ordered: bool = False  # not sent before the earlier ones of its device


_INSERTED = (
    "channel_number",
    "seq",
    "device_id",
    "kind",
    "ts",
    "state",
    "generation",
    "attempts",
    "due_at",
    "created_at",
    "changed_at",
    "body",
    "context",
)


def insert(tx: Tx, new: Sequence[NewDelivery]) -> None:
    """Queue deliveries under new sequence numbers."""
    columns, rows = _build_rows(tx, new)
    insert_new(tx, _table, columns, rows)


def _build_rows(
    tx: Tx, new: Sequence[NewDelivery]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    rows = [_new_row(each, tx.now) for each in new]
    columns: tuple[str, ...] = _INSERTED
    if any(each.cause is not None for each in new):  # most have none, and need not write it
        rows = [(*row, each.cause) for row, each in zip(rows, new, strict=True)]
        columns = (*columns, "cause")
    columns, rows = _with_order(new, columns, rows)
    return _with_traceparents(tx, new, columns, rows)


def _with_order(
    new: Sequence[NewDelivery], columns: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """With which of them are ordered, if any is."""
    if not any(each.is_ordered for each in new):
        return columns, rows
    rows = [(*row, each.is_ordered or None) for row, each in zip(rows, new, strict=True)]
    return (*columns, "is_ordered"), rows


def _with_traceparents(
    tx: Tx, new: Sequence[NewDelivery], columns: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """With the spans that they belong to, if anything is traced."""
    if tx.find_traceparent is None:
        return columns, rows
    arrivals = [each.seq if each.cause is None else each.cause for each in new]
    found = map(tx.find_traceparent, arrivals)
    rows = [(*row, traceparent) for row, traceparent in zip(rows, found, strict=True)]
    return (*columns, "traceparent"), rows


def _new_row(new: NewDelivery, now: Moment) -> tuple[Any, ...]:
    return (
        new.channel_number,
        new.seq,
        new.device_id,
        new.kind,
        new.ts,
        DeliveryState.QUEUED.value,
        0,
        0,
        now,
        now,
        now,
        new.body,
        new.context,
    )


def insert_missing(tx: Tx, new: Sequence[NewDelivery]) -> int:
    """Queue records unless the channel has had them before; how many."""
    columns, rows = _build_rows(tx, new)
    return insert_many(tx, _table, columns, rows, IGNORE, is_repeatable=True)


COUNT_EXISTING = Statement(
    """
select count(*)
from delivery
where channel_number = :channel
    and seq {in:seqs}
""",
    into=int,
)


def count_existing(tx: Tx, channel_number: int, seqs: Sequence[int]) -> int:
    """How many of these records the channel has had before."""
    return tx.fetch(COUNT_EXISTING, channel=channel_number, seqs=seqs)[0]


def requeue(tx: Tx, new: Sequence[NewDelivery]) -> tuple[int, int]:
    """Queue records that the channel may have had before: (new ones, sent once more).

    What is queued or leased already stays as it is.
    """
    inserted = insert_missing(tx, new)
    if inserted == len(new):
        return inserted, 0
    repeated = 0
    find_traceparent = tx.find_traceparent
    for each in new:
        values = {
            "channel": each.channel_number,
            "seq": each.seq,
            "slot": slots.get_slot_by_id(tx, each.device_id),
            "now": tx.now,
            "body": each.body,
            "context": each.context,
            "traceparent": find_traceparent(each.seq) if find_traceparent is not None else None,
        }
        repeated += len(tx.fetch(REQUEUE, **values))
    return inserted, repeated


def retry_now(tx: Tx, number: int, seq: int) -> bool:
    """Make one due at once: a queued one, or a dead letter."""
    values = {"channel": number, "seq": seq, "now": tx.now}
    return any([tx.fetch(MAKE_DUE, **values), tx.fetch(RESEND_ONE, **values)])


def cancel(tx: Tx, number: int, seq: int, why: str = "cancelled by the operator") -> bool:
    """Cancel one that is queued."""
    values = {"channel": number, "seq": seq, "why": why, "now": tx.now}
    return bool(_release_after(tx, number, tx.fetch(CANCEL, **values)))


def cancel_many(tx: Tx, number: int, seqs: Sequence[int], why: str) -> dict[int, int]:
    """Cancel those that are queued; the generation of each."""
    values = {"channel": number, "seqs": seqs, "now": tx.now, "why": why}
    return _release_after(tx, number, tx.fetch(CANCEL_MANY, **values))


def _release_after(tx: Tx, number: int, cancelled: Sequence[tuple[Any, ...]]) -> dict[int, int]:
    """The generation of each that was cancelled, after the next ones of their devices are due."""
    ordered = [seq for seq, _, is_ordered in cancelled if is_ordered]
    if ordered:
        ordered_deliveries.release_next(tx, number, ordered, range(tx.slots))
    return {seq: generation for seq, generation, _ in cancelled}


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete deliveries that ended before a moment; how many."""
    return slots.change_in_slots(tx, PRUNE, {"before": before}, most)


def delete_for_channel(tx: Tx, number: int, most: int) -> int:
    """Delete deliveries of a deleted channel; how many."""
    return len(tx.fetch(DELETE_FOR_CHANNEL, channel=number, most=most))

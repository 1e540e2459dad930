"""Deliveries of ordered channels: of each device one is in flight, and the earlier ones come first.

Of the open deliveries of a device, those that have to wait are held back: they are due in no time
(`HELD_BACK`), so that nobody looks at them again and again. At least one is not held back, and is
due, waits for its retry, or is in flight. Whoever changes that one has the next one be due.

A new delivery is due at once; whoever claims finds out what has to wait. It locks what the others
wait for, and leaves alone what somebody else has locked, so that none is held back for a delivery
that ends at the same time.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from longwire.clock import Moment
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.delivery.delivery_leases import CLAIM_SOME, ClaimedDelivery
from longwire.store.delivery.delivery_states import (
    HELD_BACK,
    IS_OPEN,
    IS_ORDERED,
    LEASED,
    QUEUED,
    DeliveryState,
)
from longwire.store.statement import ByEngine, Statement, in_unlocked

# So many due deliveries are looked at for each one that is wanted, and at least.
LOOKED_AT_PER_CLAIM = 4
LOOKED_AT_MIN = 64


class DueDelivery(NamedTuple):
    seq: int
    device_id: str
    is_ordered: bool | None


class DeviceHead(NamedTuple):
    """What the deliveries of a device wait for."""

    device_id: str
    leased_seq: int | None
    queued_seq: int | None  # the earliest one


class LockedDelivery(NamedTuple):
    seq: int
    state: int
    due_at: Moment


LIST_DUE = Statement(
    f"""
select seq, device_id, is_ordered
from delivery {{index:ix_delivery_due}}
where channel_number = :channel
    {{slot}}
    and {QUEUED}
    and due_at <= :now
    and seq < :before
order by due_at, seq
limit :most
{{skip_locked}}
""",
    into=DueDelivery,
)

MARK_ORDERED = Statement(f"""
update delivery
set {IS_ORDERED} = true
where channel_number = :channel
    {{slot}}
    and seq {{in:seqs}}
    and {QUEUED}
""")


def _first_of_device(state: str) -> str:
    return f"""(
        select d.seq
        from delivery d {{index:ix_delivery_ordered}}
        where d.channel_number = :channel
            {{slot:d}}
            and d.device_id = wanted.device_id
            and d.{IS_ORDERED}
            and d.{IS_OPEN}
            and d.{state}
        order by d.seq
        limit 1
    )"""


LIST_HEADS = Statement(
    f"""
select
    wanted.device_id,
    {_first_of_device(LEASED)},
    {_first_of_device(QUEUED)}
from {{wanted}}
""",
    into=DeviceHead,
    wanted=ByEngine(
        sqlite="(select value as device_id from json_each({array:devices})) wanted",
        postgres="unnest(cast({array:devices} as text[])) wanted (device_id)",
    ),
)

LOCK = Statement(
    f"""
select seq, state, due_at
from delivery
where channel_number = :channel
    {{slot}}
    and seq {{in:seqs}}
    and {IS_OPEN}
{{skip_locked}}
""",
    into=LockedDelivery,
)

HOLD_BACK = Statement(f"""
update delivery
set due_at = {HELD_BACK}
where channel_number = :channel
    {{slot}}
    and seq {{in:seqs}}
    and {QUEUED}
""")

RELEASE_NEXT = Statement(
    f"""
update delivery
set due_at = :now
where channel_number = :channel
    {{slot}}
    and seq in (
        select (
            select d.seq
            from delivery d {{index:ix_delivery_ordered}}
            where d.channel_number = :channel
                {{slot:d}}
                and d.device_id = ended.device_id
                and d.{IS_ORDERED}
                and d.{IS_OPEN}
                and d.{QUEUED}
            order by d.seq
            limit 1
        )
        from delivery ended
        where ended.channel_number = :channel
            {{slot:ended}}
            and ended.seq {{in:seqs}}
            and ended.{IS_ORDERED}
    )
    and {QUEUED}
    and due_at = {HELD_BACK}
returning seq
""",
    into=int,
)

# Not what is in flight: its outcome is being stored, perhaps.
MARK_OPEN = Statement(
    f"""
update delivery
set {IS_ORDERED} = true
where channel_number = :channel
    {{slot}}
    and seq {{waiting}}
    and {QUEUED}
returning seq
""",
    waiting=in_unlocked(f"""
        select seq
        from delivery {{index:ix_delivery_due}}
        where channel_number = :channel
            {{slot}}
            and {QUEUED}
        limit :most"""),
)

COUNT_HELD_BACK = Statement(
    f"""
select count(*)
from (
    select 1
    from delivery {{index:ix_delivery_due}}
    where channel_number = :channel
        and {QUEUED}
        and due_at >= {HELD_BACK}
    limit :most
) held
""",
    into=int,
)


@dataclass(frozen=True, slots=True)
class OrderedClaim:
    """What was claimed, and whether anything else may be due."""

    claimed: list[ClaimedDelivery]
    is_more: bool


def claim(
    tx: Tx, number: int, most: int, token: int, until: Moment, before_seq: int
) -> OrderedClaim:
    """Lease the earliest delivery of each device of which something is due, the oldest first.

    But for those of devices of which one is in flight or waits for its retry, and nothing from
    `before_seq` on.
    """
    place = {"channel": number, "slot": tx.slot}
    looked_at = max(LOOKED_AT_MIN, most * LOOKED_AT_PER_CLAIM)
    due: list[DueDelivery] = tx.fetch(
        LIST_DUE, **place, now=tx.now, before=before_seq, most=looked_at
    )
    if not due:
        return OrderedClaim([], is_more=False)
    unmarked = [each.seq for each in due if not each.is_ordered]
    if unmarked:
        tx.run(MARK_ORDERED, **place, seqs=unmarked)
    devices = list(dict.fromkeys(each.device_id for each in due))
    heads: list[DeviceHead] = tx.fetch(LIST_HEADS, **place, devices=devices)
    choice = _choose(tx, due, heads, _lock(tx, place, heads))
    if choice.held_back:
        tx.run(HOLD_BACK, **place, seqs=choice.held_back)
    chosen = choice.claimable[:most]
    claimed: list[ClaimedDelivery] = []
    if chosen:
        lease = {"token": token, "until": until, "now": tx.now}
        claimed = tx.fetch(CLAIM_SOME, **place, seqs=chosen, **lease)
    is_more = len(due) == looked_at or len(choice.claimable) > most
    return OrderedClaim(sorted(claimed, key=lambda each: each.seq), is_more)


def _lock(
    tx: Tx, place: dict[str, int], heads: Collection[DeviceHead]
) -> dict[int, LockedDelivery]:
    """What the deliveries of devices wait for; nobody else changes it until the commit."""
    seqs = [seq for each in heads for seq in (each.leased_seq, each.queued_seq) if seq is not None]
    return {each.seq: each for each in tx.fetch(LOCK, **place, seqs=seqs)}


@dataclass(frozen=True, slots=True)
class _Choice:
    claimable: list[int]  # those first that are due first
    held_back: list[int]


def _choose(
    tx: Tx,
    due: Sequence[DueDelivery],
    heads: Collection[DeviceHead],
    locked: dict[int, LockedDelivery],
) -> _Choice:
    """Which deliveries may be sent now, and which of those that are due have to wait."""
    claimable: dict[str, int | None] = {}  # by device; None if something else is to end first
    for head in heads:
        if head.leased_seq is not None:
            if head.leased_seq in locked:
                claimable[head.device_id] = None
            continue
        found = None if head.queued_seq is None else locked.get(head.queued_seq)
        if found is None:
            continue  # somebody changes it just now
        is_due = found.due_at <= tx.now or found.due_at == HELD_BACK
        is_sendable = is_due and found.state == DeliveryState.QUEUED
        claimable[head.device_id] = found.seq if is_sendable else None
    held_back = [
        each.seq
        for each in due
        if each.device_id in claimable and claimable[each.device_id] != each.seq
    ]
    by_due_time = dict.fromkeys(claimable.get(each.device_id) for each in due)
    return _Choice([seq for seq in by_due_time if seq is not None], held_back)


def release_next(tx: Tx, number: int, seqs: Collection[int], among: Iterable[int]) -> set[int]:
    """Have the next delivery of the devices of these be due, if it was held back; which.

    Theirs are among some slots.
    """
    values = {"channel": number, "seqs": seqs, "now": tx.now}
    return {seq for each in among for seq in tx.fetch(RELEASE_NEXT, **values, slot=each)}


def mark_open(tx: Tx, number: int, most: int) -> None:
    """The same order for what was queued before the channel was ordered."""
    slots.change_in_slots(tx, MARK_OPEN, {"channel": number}, most)


def count_held_back(tx: Tx, number: int, most: int) -> int:
    """How many deliveries wait for an earlier one of their device, up to a limit."""
    return tx.fetch(COUNT_HELD_BACK, channel=number, most=most)[0]

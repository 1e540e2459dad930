"""Backlogs: how much is queued, leased or failed, for each channel and in each slot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from longwire.clock import Moment
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import FAILED, HELD_BACK, IS_OPEN, LEASED, QUEUED
from longwire.store.statement import Statement


class SlotBacklog(NamedTuple):
    """What is queued in a slot, and when the first of it is or was due for an enabled channel."""

    slot: int
    queued: int
    due_at: Moment | None


COUNT_QUEUED = Statement(
    f"""
select count(*)
from (
    select 1
    from delivery {{index:ix_delivery_due}}
    where channel_number = :channel
        and {QUEUED}
    limit :most
) queued
""",
    into=int,
)

COUNT_DUE = Statement(
    f"""
select count(*)
from (
    select 1
    from delivery {{index:ix_delivery_due}}
    where channel_number = :channel
        and {QUEUED}
        and due_at <= :now
    limit :most
) due
""",
    into=int,
)

GET_NEXT_DUE = Statement(
    f"""
select min(due_at)
from delivery {{index:ix_delivery_due}}
where channel_number = :channel
    and {QUEUED}
    and due_at < {HELD_BACK}
""",
    into=lambda due_at: due_at,
)

LIST_BACKLOGS = Statement(f"""
select
    channel_number,
    sum(case when {QUEUED} then 1 else 0 end),
    sum(case when {LEASED} then 1 else 0 end),
    0,
    min(created_at)
from delivery {{index:ix_delivery_open}}
where {IS_OPEN}
group by channel_number
union all
select channel_number, 0, 0, count(*), null
from delivery {{index:ix_delivery_failed}}
where {FAILED}
group by channel_number
""")

# Without the oldest one, so that every part reads one index alone.
COUNT_BY_CHANNEL = Statement(f"""
select channel_number, count(*), 0, 0
from delivery {{index:ix_delivery_due}}
where {QUEUED}
group by channel_number
union all
select channel_number, 0, count(*), 0
from delivery {{index:ix_delivery_lease}}
where {LEASED}
group by channel_number
union all
select channel_number, 0, 0, count(*)
from delivery {{index:ix_delivery_failed}}
where {FAILED}
group by channel_number
""")

# For PostgreSQL; by the index of what is due alone, as the first part of the one before.
LIST_SLOT_BACKLOGS = Statement(
    f"""
select
    slot,
    count(*),
    min(due_at) filter (where channel_number <> all(cast({{array:idle}} as bigint[])))
from delivery
where {QUEUED}
group by slot
order by slot
""",
    into=SlotBacklog,
)

# Those whose messages wait for somebody to enable them, or for the rate limit of their channel.
LIST_IDLE = Statement(
    """
select number
from channel
where not is_enabled
    or deleted_at is not null
    or max_per_s is not null
""",
    into=int,
)

# By channel, since the index begins with it; there are few of them.
GET_OLDEST_OPEN = Statement(f"""
with every as materialized (
    select number
    from channel
)
select min(oldest)
from (
    select (
        select min(d.created_at)
        from delivery d {{index:ix_delivery_open}}
        where d.channel_number = c.number
            {{slot:d}}
            and d.{IS_OPEN}
    ) as oldest
    from every c
) open
""")


def is_backlog_over(tx: Tx, number: int, most: int) -> bool:
    """Whether more than `most` deliveries are queued for a channel."""
    return tx.fetch(COUNT_QUEUED, channel=number, most=most + 1)[0] > most


def count_due(tx: Tx, number: int, most: int) -> int:
    """How many queued deliveries of a channel are due, up to a limit."""
    return tx.fetch(COUNT_DUE, channel=number, now=tx.now, most=most)[0]


def get_next_due(tx: Tx, number: int) -> Moment | None:
    """When the first of what is queued for a channel is or was due."""
    due_at: Moment | None = tx.fetch(GET_NEXT_DUE, channel=number)[0]
    return due_at


@dataclass(frozen=True, slots=True)
class Backlog:
    """Open and failed deliveries of a channel."""

    channel_number: int
    queued: int
    leased: int
    failed: int
    oldest: Moment | None  # creation of the oldest open one


def list_backlogs(tx: Tx) -> dict[int, Backlog]:
    """Of every channel that has anything open or failed."""
    found: dict[int, Backlog] = {}
    for number, queued, leased, failed, oldest in tx.fetch(LIST_BACKLOGS):
        before = found.get(number, Backlog(number, 0, 0, 0, None))
        found[number] = Backlog(
            number,
            before.queued + int(queued),
            before.leased + int(leased),
            before.failed + int(failed),
            before.oldest if oldest is None else oldest,
        )
    return found


def count_by_channel(tx: Tx) -> dict[int, Backlog]:
    """The same without the oldest, which reads less."""
    found: dict[int, Backlog] = {}
    for number, queued, leased, failed in tx.fetch(COUNT_BY_CHANNEL):
        before = found.get(number, Backlog(number, 0, 0, 0, None))
        found[number] = Backlog(
            number,
            before.queued + int(queued),
            before.leased + int(leased),
            before.failed + int(failed),
            None,
        )
    return found


def get_total_backlog(tx: Tx, counts: Mapping[int, Backlog] | None = None) -> Backlog:
    """Of all channels together; `counts` are those of `count_by_channel`, if known."""
    found = (count_by_channel(tx) if counts is None else counts).values()
    return Backlog(
        0,
        sum(each.queued for each in found),
        sum(each.leased for each in found),
        sum(each.failed for each in found),
        _get_oldest_open(tx),
    )


def _get_oldest_open(tx: Tx) -> Moment | None:
    found = [tx.fetch(GET_OLDEST_OPEN, slot=each)[0][0] for each in range(tx.slots)]
    return min((each for each in found if each is not None), default=None)


def list_slot_backlogs(tx: Tx) -> list[SlotBacklog]:
    """Of every slot; none where there is only one."""
    if tx.slots == 1:
        return []
    found = {each.slot: each for each in tx.fetch(LIST_SLOT_BACKLOGS, idle=tx.fetch(LIST_IDLE))}
    return [found.get(slot, SlotBacklog(slot, 0, None)) for slot in range(tx.slots)]

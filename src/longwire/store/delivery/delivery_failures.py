"""What failed through a channel, by error: the newest deliveries of it, a limited number.

Dead letters, open deliveries and the last changes have an index each. So many entries of each are
read at most, however long a channel has failed.
"""

from collections.abc import Collection
from typing import NamedTuple

from longwire.clock import Moment
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import EXPIRED, FAILED, IS_DEAD_LETTER, IS_OPEN
from longwire.store.statement import Statement

# Entries of each index.
SCANNED_MAX = 2_000
# An error is a sentence of ours, so that there are few different ones.
ERRORS_MAX = 50


class FailureRow(NamedTuple):
    """Deliveries with the same error."""

    error: str
    total: int
    dead_letters: int
    waiting: int
    devices: int
    first_at: Moment
    last_at: Moment
    newest_seq: int
    newest_with_exchange: int | None
    kept_until: Moment | None  # of the first dead letter


# Flags in place of the texts, which would be sorted along.
_COLUMNS = f"""seq, device_id, state, error, stored_until, created_at, changed_at,
            case when {IS_DEAD_LETTER} then 1 else 0 end as is_kept,
            case when attempt_log like '%"exc_%' then 1 else 0 end as has_exchange"""

# What expired later was changed then; about when it failed is when it was created.
_FAILED_AT = f"case when {EXPIRED} and stored_until is not null then created_at else changed_at end"

LIST_BY_ERROR = Statement(
    f"""
select
    error,
    count(*),
    sum(is_kept),
    sum(case when {IS_OPEN} then 1 else 0 end),
    count(distinct case when device_id <> '' then device_id end),
    min({_FAILED_AT}),
    max({_FAILED_AT}),
    max(seq),
    max(case when has_exchange = 1 then seq end),
    min(case when is_kept = 1 then stored_until end)
from (
    select *
    from (
        select {_COLUMNS}
        from delivery {{index:ix_delivery_failed}}
        where channel_number = :channel
            and {FAILED}
        order by seq desc
        limit :most
    ) failed
    union all
    select *
    from (
        select {_COLUMNS}
        from delivery {{index:ix_delivery_open}}
        where channel_number = :channel
            and {IS_OPEN}
        order by created_at desc
        limit :most
    ) open
    union all
    select *
    from (
        select {_COLUMNS}
        from delivery {{index:ix_delivery_changed}}
        where channel_number = :channel
            and changed_at >= :begin
            and changed_at < :until
        order by changed_at desc
        limit :most
    ) changed
    where {EXPIRED}
) looked_at
where error is not null
    and changed_at >= :begin
    and changed_at < :until
group by error
order by count(*) desc, error
limit :errors
""",
    into=FailureRow,
)

COUNT_SCANNED = Statement(
    f"""
select max(number)
from (
    select count(*) as number
    from (
        select seq
        from delivery {{index:ix_delivery_failed}}
        where channel_number = :channel
            and {FAILED}
        limit :most
    ) failed
    union all
    select count(*)
    from (
        select seq
        from delivery {{index:ix_delivery_open}}
        where channel_number = :channel
            and {IS_OPEN}
        limit :most
    ) open
    union all
    select count(*)
    from (
        select seq
        from delivery {{index:ix_delivery_changed}}
        where channel_number = :channel
            and changed_at >= :begin
            and changed_at < :until
        order by changed_at desc
        limit :most
    ) changed
) counted
""",
    into=int,
)


LIST_LOGS = Statement("""
select seq, attempt_log
from delivery
where channel_number = :channel
    and seq {in:seqs}
""")


def list_by_error(tx: Tx, number: int, begin: Moment, end: Moment) -> tuple[list[FailureRow], bool]:
    """Of deliveries that last changed in a period, most first; and whether there may be more."""
    period = {"channel": number, "begin": begin, "until": end}
    rows = tx.fetch(LIST_BY_ERROR, **period, now=tx.now, most=SCANNED_MAX, errors=ERRORS_MAX)
    scanned = tx.fetch(COUNT_SCANNED, **period, most=SCANNED_MAX + 1)[0]
    return rows, scanned > SCANNED_MAX


def list_logs(tx: Tx, number: int, seqs: Collection[int]) -> dict[int, str | None]:
    """The attempts of some deliveries, as they are stored."""
    return dict(tx.fetch(LIST_LOGS, channel=number, seqs=seqs)) if seqs else {}

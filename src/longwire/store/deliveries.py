"""Deliveries: the queue and the history of messages on their way out.

Every change of state is one guarded statement: it names the state that it starts from, and the
lease where there is one, and returns the rows that it changed. A late one changes nothing.
"""

import json
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Page, PageRequest
from longwire.store import schema, slots
from longwire.store.bulk import insert_many, insert_new
from longwire.store.database import DialectSql, Tx
from longwire.store.delivery_states import (
    CANCELLED,
    EXPIRED,
    FAILED,
    IS_DEAD_LETTER,
    IS_FINAL,
    IS_OPEN,
    LEASED,
    QUEUED,
    SUCCEEDED,
    DeliveryState,
)
from longwire.store.dialects import (
    array_param,
    by_slot,
    dialect_sql,
    in_array,
    in_unlocked,
    on_postgres,
    using_index,
)
from longwire.store.paging import page
from longwire.store.records import WRITER_BITS

_table = schema.delivery

# --- statements ---
# Dead letters expire first.
_PRUNED = (DeliveryState.SUCCEEDED, DeliveryState.EXPIRED, DeliveryState.CANCELLED)
_IS_PRUNED = f"state in ({', '.join(f'{state:d}' for state in _PRUNED)})"


def _first_end(state: DeliveryState) -> str:
    return f"first_end = coalesce(first_end, {state:d})"


REQUEUE = by_slot(
    f"""
update delivery
set {QUEUED},
    generation = generation + 1,
    attempts = 0,
    due_at = :now,
    changed_at = :now,
    stored_until = null,
    error = null,
    body = :body,
    context = :context,
    traceparent = coalesce(:traceparent, traceparent)
where channel_number = :channel
    and slot = :slot
    and seq = :seq
    and {IS_FINAL}
returning seq
"""
)

LIST_DUE_CHANNELS = by_slot(
    f"""
with enabled as materialized (
    select number
    from channel
    where is_enabled
        and deleted_at is null
)
select c.number
from enabled c
where exists (
        select 1
        from delivery d
        where d.channel_number = c.number
            and d.slot = :slot
            and d.{QUEUED}
            and d.due_at <= :now
    )
order by c.number <= :after, c.number
limit :most
"""
)

CLAIM = by_slot(
    dialect_sql(
        f"""
update delivery
set {LEASED},
    attempts = attempts + 1,
    lease_token = :token,
    lease_until = :until,
    changed_at = :now
where channel_number = :channel
    and slot = :slot
    and seq {{due}}
    and {QUEUED}
returning
    channel_number, seq, device_id, kind, generation, attempts, created_at, body, context,
    attempt_log, traceparent
""",
        due=in_unlocked(
            dialect_sql(
                f"""
        select seq
        from delivery {{by_due}}
        where channel_number = :channel
            and slot = :slot
            and {QUEUED}
            and due_at <= :now
        order by due_at, seq
        limit :most""",
                by_due=using_index("ix_delivery_due"),
            )
        ),
    )
)


_NOTHING = DialectSql("", "")
_ONE = DialectSql("= :seq", "= :seq")
_MANY = in_array("seqs")
# Each delivery has a log of its own, and a time when it is due. SQLite would join a list of them
# the wrong way round.
_ITS_LOG = DialectSql("""json_extract(:logs, '$."' || seq || '"')""", "settled.log")
_ITS_DUE = DialectSql("""json_extract(:due, '$."' || seq || '"')""", "settled.due")
_IS_SETTLED = DialectSql("in (select value from json_each(:seqs))", "= settled.settled_seq")
_WITH_LOGS = on_postgres("""
from unnest(cast(:seqs as bigint[]), cast(:logs as text[])) settled(settled_seq, log)""")
_WITH_LOGS_AND_DUE = on_postgres("""
from unnest(cast(:seqs as bigint[]), cast(:logs as text[]), cast(:due as bigint[]))
    settled(settled_seq, log, due)""")


def _settle(
    assignments: str, which: DialectSql = _IS_SETTLED, values: DialectSql = _WITH_LOGS
) -> DialectSql:
    """Change leased rows, as far as the lease is the one we hold."""
    return by_slot(
        dialect_sql(
            f"""
update delivery
set {assignments},
    changed_at = :now,
    lease_token = null,
    lease_until = null{{values}}
where channel_number = :channel
    and slot = :slot
    and seq {{which}}
    and {LEASED}
    and lease_token = :token
returning seq
""",
            which=which,
            values=values,
            log=_ITS_LOG,
            due=_ITS_DUE,
        )
    )


SUCCEED = _settle(
    f"""{SUCCEEDED},
    {_first_end(DeliveryState.SUCCEEDED)},
    error = null,
    body = null,
    context = null,
    attempt_log = {{log}}"""
)
RETRY = _settle(
    f"""{QUEUED},
    due_at = {{due}},
    error = :error,
    attempt_log = {{log}}""",
    values=_WITH_LOGS_AND_DUE,
)
FAIL_AND_KEEP = _settle(
    f"""{FAILED},
    {_first_end(DeliveryState.FAILED)},
    stored_until = :stored,
    error = :error,
    attempt_log = {{log}}"""
)
FAIL = _settle(
    f"""{FAILED},
    {_first_end(DeliveryState.FAILED)},
    stored_until = :stored,
    error = :error,
    attempt_log = {{log}},
    body = null,
    context = null"""
)
RELEASE = _settle(
    f"""{QUEUED},
    attempts = attempts - 1""",
    _MANY,
    _NOTHING,
)

LOCK_ORPHANED_LEASES = by_slot(
    dialect_sql(
        f"""
select d.channel_number, d.seq, d.lease_token, d.generation, d.attempts, d.attempt_log
from delivery d
where d.{LEASED}
    and d.slot = :slot
    and d.lease_until < :until
order by d.lease_until
limit :most
{{lock}}
""",
        lock=on_postgres("for update of d skip locked"),
    )
)

# The low bits of a token are the number of the process that claimed. For PostgreSQL.
_WRITER_MASK = (1 << WRITER_BITS) - 1

LIST_LIVING_NODES = """
select number
from node
where until_at > cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)
"""

LOCK_LEASES_OF_DEAD_NODES = f"""
select d.channel_number, d.seq, d.lease_token, d.generation, d.attempts, d.attempt_log
from delivery d
where d.{LEASED}
    and d.slot = :slot
    and (d.lease_token & {_WRITER_MASK}) <> all(cast(:living as bigint[]))
order by d.lease_until
limit :most
for update of d skip locked
"""

RESEND = by_slot(
    dialect_sql(
        f"""
update delivery
set {QUEUED},
    generation = generation + 1,
    attempts = 0,
    due_at = :now,
    changed_at = :now,
    stored_until = null,
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
            and changed_at <= :before
            and {IS_DEAD_LETTER}
        order by seq
        limit :most""",
                by_failed=using_index("ix_delivery_failed"),
            )
        ),
    )
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

COUNT_QUEUED = dialect_sql(
    f"""
select count(*)
from (
    select 1
    from delivery {{by_due}}
    where channel_number = :channel
        and {QUEUED}
    limit :most
) queued
""",
    by_due=using_index("ix_delivery_due"),
)

COUNT_BY_STATE = """
select state, count(*)
from delivery
where channel_number = :channel
    and changed_at >= :begin
    and changed_at < :until
group by state
"""

COUNT_UNFINISHED = dialect_sql(
    f"""
select (created_at - :begin) / :span, count(*)
from delivery {{by_open}}
where channel_number = :channel
    and {IS_OPEN}
    and first_end is null
    and created_at >= :begin
    and created_at < :until
group by 1
""",
    by_open=using_index("ix_delivery_open"),
)

# In the order of an index: without one, PostgreSQL reads all deliveries until it finds some.
IS_ACTIVE = """
select 1
from delivery
where channel_number = :channel
    and changed_at >= :begin
    and created_at >= :begin
    and created_at < :until
order by changed_at
limit 1
"""

LIST_BACKLOGS = dialect_sql(
    f"""
select
    channel_number,
    sum(case when {QUEUED} then 1 else 0 end),
    sum(case when {LEASED} then 1 else 0 end),
    0,
    min(created_at)
from delivery {{by_open}}
where {IS_OPEN}
group by channel_number
union all
select channel_number, 0, 0, count(*), null
from delivery {{by_failed}}
where {FAILED}
group by channel_number
""",
    by_open=using_index("ix_delivery_open"),
    by_failed=using_index("ix_delivery_failed"),
)

# Without the oldest one, so that every part reads one index alone.
COUNT_BY_CHANNEL = dialect_sql(
    f"""
select channel_number, count(*), 0, 0
from delivery {{by_due}}
where {QUEUED}
group by channel_number
union all
select channel_number, 0, count(*), 0
from delivery {{by_lease}}
where {LEASED}
group by channel_number
union all
select channel_number, 0, 0, count(*)
from delivery {{by_failed}}
where {FAILED}
group by channel_number
""",
    by_due=using_index("ix_delivery_due"),
    by_lease=using_index("ix_delivery_lease"),
    by_failed=using_index("ix_delivery_failed"),
)

# For PostgreSQL; by the index of what is due alone, as the first part of the one before.
LIST_SLOT_BACKLOGS = f"""
select slot, count(*), min(due_at)
from delivery
where {QUEUED}
group by slot
order by slot
"""

# By channel, since the index begins with it; there are few of them.
GET_OLDEST_OPEN = by_slot(
    dialect_sql(
        f"""
with every as materialized (
    select number
    from channel
)
select min(oldest)
from (
    select (
        select min(d.created_at)
        from delivery d {{by_open}}
        where d.channel_number = c.number
            and d.slot = :slot
            and d.{IS_OPEN}
    ) as oldest
    from every c
) open
""",
        by_open=using_index("ix_delivery_open"),
    )
)


def _make_due(which: DialectSql) -> DialectSql:
    return dialect_sql(
        f"""
update delivery
set due_at = :now,
    changed_at = :now
where channel_number = :channel
    and seq {{which}}
    and {QUEUED}
returning seq
""",
        which=which,
    )


def _resend(which: DialectSql) -> DialectSql:
    return dialect_sql(
        f"""
update delivery
set {QUEUED},
    generation = generation + 1,
    attempts = 0,
    due_at = :now,
    changed_at = :now,
    stored_until = null
where channel_number = :channel
    and seq {{which}}
    and {IS_DEAD_LETTER}
returning seq
""",
        which=which,
    )


def _cancel(which: DialectSql) -> DialectSql:
    return dialect_sql(
        f"""
update delivery
set {CANCELLED},
    {_first_end(DeliveryState.CANCELLED)},
    changed_at = :now,
    error = :why,
    body = null,
    context = null
where channel_number = :channel
    and seq {{which}}
    and {QUEUED}
returning seq, generation
""",
        which=which,
    )


MAKE_DUE, MAKE_MANY_DUE = _make_due(_ONE), _make_due(_MANY)
RESEND_ONE, RESEND_MANY = _resend(_ONE), _resend(_MANY)
CANCEL, CANCEL_MANY = _cancel(_ONE), _cancel(_MANY)

LIST_OF_ARRIVAL = dialect_sql(
    """
select
    channel_number, seq, device_id, kind, state, generation, attempts, created_at, changed_at,
    due_at, error, ts, body, attempt_log, cause
from delivery
where channel_number {listed}
    and seq = :seq
""",
    listed=in_array("numbers"),
)

LIST_PRESENT = dialect_sql(
    """
select seq
from delivery
where channel_number = :channel
    and seq {which}
""",
    which=_MANY,
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

PRUNE = by_slot(
    dialect_sql(
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
        # Channel by channel on both engines, so that the index by time is used for each of them.
        old_deliveries=DialectSql(
            f"""cross join delivery d
        where d.channel_number = c.number
            and d.changed_at < :before
            and d.{_IS_PRUNED}""",
            f"""cross join lateral (
            select channel_number, seq
            from delivery
            where channel_number = c.number
                and changed_at < :before
                and slot = :slot
                and {_IS_PRUNED}
            limit :most
        ) d""",
        ),
    )
)

DELETE_FOR_CHANNEL = """
delete from delivery
where channel_number = :channel
    and seq in (
        select seq
        from delivery
        where channel_number = :channel
        limit :most
    )
returning seq
"""


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


class ClaimedDelivery(msgspec.Struct, frozen=True, gc=False):
    """A delivery that this process may attempt until its lease expires."""

    channel_number: int
    seq: int
    device_id: str
    kind: int
    generation: int
    attempts: int  # with this one
    created_at: Moment
    body: str
    context: str
    attempt_log: str | None = None  # without this one
    traceparent: str | None = None  # of the request that caused it, if it was traced


# --- enqueue ---

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
    rows = [_new_row(each, tx.now) for each in new]
    columns: tuple[str, ...] = _INSERTED
    if any(each.cause is not None for each in new):  # most have none, and need not write it
        rows = [(*row, each.cause) for row, each in zip(rows, new, strict=True)]
        columns = (*columns, "cause")
    columns, rows = _with_traceparents(tx, new, columns, rows)
    insert_new(tx, _table, columns, rows)


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
    rows = [_new_row(each, tx.now) for each in new]
    columns, rows = _with_traceparents(tx, new, _INSERTED, rows)
    return insert_many(tx, _table, columns, rows, "on conflict do nothing", is_repeatable=True)


def count_existing(tx: Tx, channel_number: int, seqs: Sequence[int]) -> int:
    """How many of these records the channel has had before."""
    statement = sa.select(_table.c.seq).where(
        _table.c.channel_number == channel_number, _table.c.seq.in_(seqs)
    )
    return len(tx.rows(statement))


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
        repeated += len(tx.fetch_raw(REQUEUE, values))
    return inserted, repeated


LeaseKey = tuple[int, int, int]  # channel, slot and fencing token of what was claimed together


# --- claim ---


def list_due_channels(tx: Tx, slot: int, limit: int, after: int) -> list[int]:
    """Enabled channels with something due in a slot; those after `after` come first."""
    values = {"slot": slot, "now": tx.now, "after": after, "most": limit}
    return [row[0] for row in tx.fetch_raw(LIST_DUE_CHANNELS, values)]


def claim(
    tx: Tx, number: int, slot: int, most: int, token: int, until: Moment
) -> list[ClaimedDelivery]:
    """Lease what is due for a channel in a slot, the oldest first. The attempt counts from here."""
    lease = {"token": token, "until": until, "now": tx.now}
    rows = tx.fetch_raw(CLAIM, {"channel": number, "slot": slot, "most": most, **lease})
    return sorted((ClaimedDelivery(*row) for row in rows), key=lambda claimed: claimed.seq)


# --- settle: each returns those for which the lease was still ours ---


def succeed(tx: Tx, lease: LeaseKey, logs: Mapping[int, str]) -> set[int]:
    """`logs` are the attempts of each delivery, with the one that succeeded."""
    return _settle_rows(tx, SUCCEED, lease, _logs_param(tx, logs))


def retry(
    tx: Tx, lease: LeaseKey, error: str, due: Mapping[int, Moment], logs: Mapping[int, str]
) -> set[int]:
    """Schedule another attempt of each, at its own time."""
    times: Any = [due[seq] for seq in logs] if tx.is_postgres else json.dumps(due)
    values = {"due": times, "error": error, **_logs_param(tx, logs)}
    return _settle_rows(tx, RETRY, lease, values)


def fail(
    tx: Tx,
    lease: LeaseKey,
    error: str,
    stored_until: Moment | None,
    logs: Mapping[int, str],
) -> set[int]:
    """Give up; the messages are kept for a resend if the channel keeps dead letters."""
    stored = tx.now if stored_until is None else stored_until
    values = {"stored": stored, "error": error, **_logs_param(tx, logs)}
    statement = FAIL if stored_until is None else FAIL_AND_KEEP
    return _settle_rows(tx, statement, lease, values)


def release(tx: Tx, lease: LeaseKey, seqs: Sequence[int]) -> set[int]:
    """Return what was claimed and not attempted."""
    return _settle_rows(tx, RELEASE, lease, {"seqs": array_param(tx, seqs)})


def _logs_param(tx: Tx, logs: Mapping[int, str]) -> dict[str, Any]:
    texts: Any = list(logs.values())
    if not tx.is_postgres:
        texts = "{" + ",".join([f'"{seq}":{log}' for seq, log in logs.items()]) + "}"
    return {"seqs": array_param(tx, logs), "logs": texts}


def _settle_rows(
    tx: Tx, statement: DialectSql, lease: LeaseKey, values: Mapping[str, Any]
) -> set[int]:
    number, slot, token = lease
    leased = {"channel": number, "slot": slot, "token": token, "now": tx.now}
    return {row[0] for row in tx.fetch_raw(statement, {**leased, **values})}


class OrphanedLease(msgspec.Struct, frozen=True):
    """A delivery whose lease has expired: its holder has stopped, or hangs."""

    channel_number: int
    seq: int
    token: int
    generation: int
    attempts: int
    attempt_log: str | None


def lock_orphaned_leases(tx: Tx, slot: int, until: Moment, most: int) -> list[OrphanedLease]:
    """Leases of a slot that expired before `until`, locked so that nobody else settles them."""
    values = {"slot": slot, "until": until, "most": most}
    rows = tx.fetch_raw(LOCK_ORPHANED_LEASES, values)
    return [OrphanedLease(*row) for row in rows]


def lock_leases_of_dead_nodes(tx: Tx, slot: int, most: int) -> list[OrphanedLease]:
    """Leases in a slot of processes that do not live any more, whether or not they have expired."""
    values = {"slot": slot, "most": most, "living": _list_living_nodes(tx)}
    found = [OrphanedLease(*row) for row in tx.fetch_raw(LOCK_LEASES_OF_DEAD_NODES, values)]
    # A process that has started meanwhile was not among the living before, but lives.
    living = set(_list_living_nodes(tx)) if found else set()
    return [each for each in found if each.token & _WRITER_MASK not in living]


def _list_living_nodes(tx: Tx) -> list[int]:
    return [number for (number,) in tx.fetch_raw(LIST_LIVING_NODES, {})]


def new_token(writer: int) -> int:
    """A fencing token of the process with this number."""
    return secrets.randbits(52) << WRITER_BITS | writer


# --- resend ---


def resend(tx: Tx, number: int, before: Moment, most: int) -> int:
    """Queue dead letters that failed before a moment, the oldest first; how many."""
    return _change_in_slots(tx, RESEND, {"channel": number, "before": before, "now": tx.now}, most)


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


def is_backlog_over(tx: Tx, number: int, most: int) -> bool:
    """Whether more than `most` deliveries are queued for a channel."""
    return bool(tx.fetch_raw(COUNT_QUEUED, {"channel": number, "most": most + 1})[0][0] > most)


# --- history ---


@dataclass(frozen=True, slots=True)
class DeliveryEvent:
    """The state of one delivery, and when it last changed."""

    channel_number: int
    seq: int
    device_id: str
    kind: int
    state: DeliveryState
    generation: int
    attempts: int
    created_at: Moment
    changed_at: Moment
    due_at: Moment
    error: str | None


EVENT_COLUMNS = [
    _table.c[name]
    for name in (
        "channel_number",
        "seq",
        "device_id",
        "kind",
        "state",
        "generation",
        "attempts",
        "created_at",
        "changed_at",
        "due_at",
        "error",
    )
]


def to_event(row: sa.Row[Any]) -> DeliveryEvent:
    return DeliveryEvent(**{**row._mapping, "state": DeliveryState(row.state)})


def list_events(
    tx: Tx, number: int, begin: Moment, end: Moment, request: PageRequest, *, ascending: bool
) -> Page[DeliveryEvent]:
    statement = sa.select(*EVENT_COLUMNS).where(
        _table.c.channel_number == number,
        _table.c.changed_at >= begin,
        _table.c.changed_at < end,
    )
    key = [_table.c.changed_at, _table.c.seq]
    return page(tx, statement, key, request, to_event, ascending=ascending)


def count_by_state(tx: Tx, number: int, begin: Moment, end: Moment) -> dict[DeliveryState, int]:
    """How many deliveries last changed in a period, by state."""
    rows = tx.fetch_raw(COUNT_BY_STATE, {"channel": number, "begin": begin, "until": end})
    return {DeliveryState(row[0]): row[1] for row in rows}


# --- metrics of a group ---


def count_unfinished(
    tx: Tx, numbers: Collection[int], begin: Moment, end: Moment, span: Moment
) -> list[tuple[int, int]]:
    """(span, how many) deliveries created in a period that were never final."""
    found: Counter[int] = Counter()
    for number in numbers:
        values = {"channel": number, "begin": begin, "until": end, "span": span}
        for index, count in tx.fetch_raw(COUNT_UNFINISHED, values):
            found[int(index)] += count
    return list(found.items())


def list_active_channels(tx: Tx, numbers: Iterable[int], begin: Moment, end: Moment) -> list[int]:
    """Those of the channels with a delivery created in a period."""
    period = {"begin": begin, "until": end}
    return [each for each in numbers if tx.fetch_raw(IS_ACTIVE, {"channel": each, **period})]


# --- for the operator ---


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
    for number, queued, leased, failed, oldest in tx.fetch_raw(LIST_BACKLOGS, {}):
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
    for number, queued, leased, failed in tx.fetch_raw(COUNT_BY_CHANNEL, {}):
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
    found = [tx.fetch_raw(GET_OLDEST_OPEN, {"slot": each})[0][0] for each in range(tx.slots)]
    return min((each for each in found if each is not None), default=None)


class SlotBacklog(NamedTuple):
    """What is queued in a slot, and when the first of it is or was due."""

    slot: int
    queued: int
    due_at: Moment | None


def list_slot_backlogs(tx: Tx) -> list[SlotBacklog]:
    """Of every slot; none where there is only one."""
    if tx.slots == 1:
        return []
    found = {slot: SlotBacklog(slot, *rest) for slot, *rest in tx.fetch_raw(LIST_SLOT_BACKLOGS, {})}
    return [found.get(slot, SlotBacklog(slot, 0, None)) for slot in range(tx.slots)]


def list_latest(
    tx: Tx, states: Collection[DeliveryState], limit: int, number: int | None = None
) -> list[DeliveryEvent]:
    """The newest changes first; of one channel, or of all."""
    numbers = [number]
    if number is None:
        numbers = [row.number for row in tx.rows(sa.select(schema.channel.c.number))]
    newest_first = (_table.c.changed_at.desc(), _table.c.seq.desc())
    events: list[DeliveryEvent] = []
    for each in numbers:  # one by one, since only the changes of a channel have an index
        statement = sa.select(*EVENT_COLUMNS).where(
            _table.c.channel_number == each, _table.c.state.in_(states)
        )
        rows = tx.rows(statement.order_by(*newest_first).limit(limit))
        events += [to_event(row) for row in rows]
    return sorted(events, key=lambda event: (-event.changed_at, -event.seq))[:limit]


@dataclass(frozen=True, slots=True)
class DeliveryDetail:
    """A delivery with its attempts, and with its record while that is kept."""

    event: DeliveryEvent
    ts: Moment
    body: str | None
    attempt_log: str | None
    cause: int | None


_DETAIL = [*EVENT_COLUMNS, *(_table.c[each] for each in ("ts", "body", "attempt_log", "cause"))]


def get_detail(tx: Tx, number: int, seq: int) -> DeliveryDetail | None:
    statement = sa.select(*_DETAIL).where(_table.c.channel_number == number, _table.c.seq == seq)
    row = tx.row(statement)
    return _to_detail(tuple(row)) if row else None


def list_of_arrival(tx: Tx, numbers: Collection[int], seq: int) -> dict[int, DeliveryDetail]:
    """The deliveries of a record through some channels, by channel."""
    values = {"numbers": array_param(tx, numbers), "seq": seq}
    return {row[0]: _to_detail(row) for row in tx.fetch_raw(LIST_OF_ARRIVAL, values)}


def _to_detail(row: tuple[Any, ...]) -> DeliveryDetail:
    event = DeliveryEvent(*row[: len(EVENT_COLUMNS)])
    return DeliveryDetail(
        replace(event, state=DeliveryState(event.state)), *row[len(EVENT_COLUMNS) :]
    )


def list_present(tx: Tx, number: int, seqs: Collection[int]) -> set[int]:
    """Those of the deliveries that exist."""
    values = {"channel": number, "seqs": array_param(tx, seqs)}
    return {row[0] for row in tx.fetch_raw(LIST_PRESENT, values)}


def list_caused(tx: Tx, seq: int, limit: int) -> list[DeliveryDetail]:
    """The deliveries of notifications that an arrival caused."""
    statement = sa.select(*_DETAIL).where(_table.c.cause == seq, _table.c.cause.is_not(None))
    order = (_table.c.channel_number, _table.c.seq)
    return [_to_detail(tuple(row)) for row in tx.rows(statement.order_by(*order).limit(limit))]


def get(tx: Tx, number: int, seq: int) -> DeliveryEvent | None:
    row = tx.row(
        sa.select(*EVENT_COLUMNS).where(_table.c.channel_number == number, _table.c.seq == seq)
    )
    return to_event(row) if row else None


def retry_now(tx: Tx, number: int, seq: int) -> bool:
    """Make one due at once: a queued one, or a dead letter."""
    values = {"channel": number, "seq": seq, "now": tx.now}
    return any([tx.fetch_raw(MAKE_DUE, values), tx.fetch_raw(RESEND_ONE, values)])


def cancel(tx: Tx, number: int, seq: int, why: str = "cancelled by the operator") -> bool:
    """Cancel one that is queued."""
    values = {"channel": number, "seq": seq, "why": why, "now": tx.now}
    return bool(tx.fetch_raw(CANCEL, values))


# --- retention ---


def expire_dead_letters(tx: Tx, most: int) -> int:
    """Drop the messages of dead letters that are past their storing time; how many."""
    return _change_in_slots(tx, EXPIRE, {"now": tx.now}, most)


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete deliveries that ended before a moment; how many."""
    return _change_in_slots(tx, PRUNE, {"before": before}, most)


def _change_in_slots(tx: Tx, statement: DialectSql, values: Mapping[str, Any], most: int) -> int:
    """Change some rows of one slot after the other; how many."""
    changed = 0
    for slot in range(tx.slots):
        if changed < most:
            left = {"slot": slot, "most": most - changed}
            changed += len(tx.fetch_raw(statement, {**values, **left}))
    return changed


def delete_for_channel(tx: Tx, number: int, most: int) -> int:
    """Delete deliveries of a deleted channel; how many."""
    return len(tx.fetch_raw(DELETE_FOR_CHANNEL, {"channel": number, "most": most}))

"""Deliveries: the queue and the history of messages on their way out.

Every change of state is one guarded statement: it names the state that it starts from, and the
lease where there is one, and tells which rows it really changed. Whoever is late changes nothing.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Page, PageRequest
from longwire.store import schema
from longwire.store.bulk import insert_many
from longwire.store.database import Tx
from longwire.store.paging import page

QUEUED, LEASED, SUCCEEDED, FAILED, EXPIRED, CANCELLED = range(6)

_table = schema.delivery


class NewDelivery(msgspec.Struct, frozen=True, gc=False):
    """A delivery about to be: a record, and the connector that takes it."""

    connector_number: int
    seq: int
    device_id: str
    kind: int
    ts: Moment
    body: str
    context: str


class ClaimedDelivery(msgspec.Struct, frozen=True, gc=False):
    """A delivery that is ours to try, until its lease is over."""

    connector_number: int
    seq: int
    device_id: str
    kind: int
    generation: int
    attempts: int  # with this one
    created_at: Moment
    body: str
    context: str


# --- into the queue ---

_NEW = (
    "connector_number",
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


def insert(tx: Tx, fresh: Sequence[NewDelivery]) -> None:
    rows = [_new(tx, each) for each in fresh]
    insert_many(tx, _table, _NEW, rows, "on conflict do nothing", is_repeatable=True)


def _new(tx: Tx, fresh: NewDelivery) -> tuple[Any, ...]:
    return (
        fresh.connector_number,
        fresh.seq,
        fresh.device_id,
        fresh.kind,
        fresh.ts,
        QUEUED,
        0,
        0,
        tx.now,
        tx.now,
        tx.now,
        fresh.body,
        fresh.context,
    )


def requeue(tx: Tx, fresh: Sequence[NewDelivery]) -> tuple[int, int]:
    """Queue records for a connector that may have had them before: (new ones, sent once more).

    What is in the queue or on its way already stays as it is.
    """
    made = insert_many(
        tx,
        _table,
        _NEW,
        [_new(tx, each) for each in fresh],
        "on conflict do nothing",
        is_repeatable=True,
    )
    if made == len(fresh):
        return made, 0
    again = 0
    for each in fresh:
        again += len(
            tx.fetch_raw(
                "update delivery set state = 0, generation = generation + 1, attempts = 0,"
                " due_at = :now, changed_at = :now, stored_until = null, error = null,"
                " body = :body, context = :context"
                " where connector_number = :connector and seq = :seq and state >= 2"
                " returning seq",
                {
                    "connector": each.connector_number,
                    "seq": each.seq,
                    "now": tx.now,
                    "body": each.body,
                    "context": each.context,
                },
            )
        )
    return made, again


# --- claim ---


def list_due_connectors(tx: Tx, limit: int, after: int) -> list[int]:
    """Enabled connectors for which something is due; those after `after` come first."""
    found = tx.fetch_raw(
        "select c.number from connector c where c.is_enabled and c.deleted_at is null"
        " and exists (select 1 from delivery d where d.connector_number = c.number"
        " and d.state = 0 and d.due_at <= :now)"
        " order by c.number <= :after, c.number limit :most",
        {"now": tx.now, "after": after, "most": limit},
    )
    return [row[0] for row in found]


_CLAIMED = "connector_number, seq, device_id, kind, generation, attempts, created_at, body, context"


def claim(tx: Tx, number: int, most: int, token: int, until: Moment) -> list[ClaimedDelivery]:
    """Take a lease on what is due for a connector, the oldest first. The try counts from here."""
    due = (
        "select seq from delivery where connector_number = :connector and state = 0"
        " and due_at <= :now order by due_at, seq limit :most"
    )
    rows = tx.fetch_raw(
        "update delivery set state = 1, attempts = attempts + 1, lease_token = :token,"
        " lease_until = :until, changed_at = :now"
        f" where connector_number = :connector and seq {_among(tx, due)} and state = 0"
        f" returning {_CLAIMED}",
        {"connector": number, "most": most, "token": token, "until": until, "now": tx.now},
    )
    return sorted((ClaimedDelivery(*row) for row in rows), key=lambda claimed: claimed.seq)


def _among(tx: Tx, some: str) -> str:
    """A condition: one of those that a query with a limit finds, and nobody else holds.

    As an array, because PostgreSQL may ask a query behind `in` once for every row, and gets others
    each time when those it had are locked.
    """
    return f"= any(array({some} for update skip locked))" if tx.is_postgres else f"in ({some})"


# --- settle ---


def succeed(tx: Tx, number: int, token: int, seqs: Sequence[int]) -> set[int]:
    """Done; those for which the lease was still ours."""
    return _guarded(
        tx,
        "update delivery set state = 2, first_end = coalesce(first_end, 2), changed_at = :now,"
        " lease_token = null, lease_until = null, error = null, body = null, context = null",
        number,
        token,
        seqs,
    )


def retry(
    tx: Tx, number: int, token: int, seqs: Sequence[int], due: Moment, error: str
) -> set[int]:
    """Not this time; again when it is due."""
    return _guarded(
        tx,
        "update delivery set state = 0, due_at = :due, changed_at = :now, lease_token = null,"
        " lease_until = null, error = :error",
        number,
        token,
        seqs,
        {"due": due, "error": error},
    )


def fail(
    tx: Tx, number: int, token: int, seqs: Sequence[int], stored_until: Moment | None, error: str
) -> set[int]:
    """Failed for good; what was to be sent is kept for a resend, if the connector wants that."""
    keep = "" if stored_until is not None else ", body = null, context = null"
    return _guarded(
        tx,
        "update delivery set state = 3, first_end = coalesce(first_end, 3), changed_at = :now,"
        " lease_token = null, lease_until = null, stored_until = :stored, error = :error" + keep,
        number,
        token,
        seqs,
        {"stored": tx.now if stored_until is None else stored_until, "error": error},
    )


def release(tx: Tx, number: int, token: int, seqs: Sequence[int]) -> set[int]:
    """Give back what was claimed and not tried."""
    return _guarded(
        tx,
        "update delivery set state = 0, attempts = attempts - 1, changed_at = :now,"
        " lease_token = null, lease_until = null",
        number,
        token,
        seqs,
    )


def _guarded(
    tx: Tx,
    update: str,
    number: int,
    token: int,
    seqs: Sequence[int],
    values: Mapping[str, Any] | None = None,
) -> set[int]:
    """Change leased rows, as far as the lease is the one we hold; which ones that was."""
    among = "= any(:seqs)" if tx.is_postgres else "in (select value from json_each(:seqs))"
    rows = tx.fetch_raw(
        f"{update} where connector_number = :connector and seq {among}"
        " and state = 1 and lease_token = :token returning seq",
        {
            "connector": number,
            "token": token,
            "seqs": list(seqs) if tx.is_postgres else json.dumps(list(seqs)),
            "now": tx.now,
            **(values or {}),
        },
    )
    return {row[0] for row in rows}


class OrphanedLease(msgspec.Struct, frozen=True):
    """A delivery whose lease is over: whoever held it has stopped, or hangs."""

    connector_number: int
    seq: int
    token: int
    generation: int
    attempts: int


def lock_orphaned_leases(tx: Tx, until: Moment, most: int) -> list[OrphanedLease]:
    """Leases that ended before `until`, while nobody else can settle them."""
    lock = " for update of d skip locked" if tx.is_postgres else ""
    rows = tx.fetch_raw(
        "select d.connector_number, d.seq, d.lease_token, d.generation, d.attempts from delivery d"
        f" where d.state = 1 and d.lease_until < :until order by d.lease_until limit :most{lock}",
        {"until": until, "most": most},
    )
    return [OrphanedLease(*row) for row in rows]


# --- once more ---


def resend(tx: Tx, number: int, before: Moment, most: int) -> int:
    """Put back what had failed for good by then, the oldest first; how many that were."""
    kept = (
        "select seq from delivery where connector_number = :connector and state = 3"
        " and changed_at <= :before and body is not null and stored_until > :now"
        " order by seq limit :most"
    )
    rows = tx.fetch_raw(
        "update delivery set state = 0, generation = generation + 1, attempts = 0, due_at = :now,"
        " changed_at = :now, stored_until = null, resent_before = :before"
        f" where connector_number = :connector and seq {_among(tx, kept)} and state = 3"
        " returning seq",
        {"connector": number, "before": before, "now": tx.now, "most": most},
    )
    return len(rows)


def is_resending(tx: Tx, number: int, before: Moment) -> bool:
    """Whether anything of a resend is not final yet."""
    return bool(
        tx.fetch_raw(
            "select 1 from delivery where connector_number = :connector"
            " and resent_before is not null and state < 2 and resent_before = :before limit 1",
            {"connector": number, "before": before},
        )
    )


def get_oldest_dead_letter_ts(tx: Tx, number: int) -> Moment | None:
    """The timestamp of the oldest message that can be sent again; None when there is none."""
    rows = tx.fetch_raw(
        "select ts from delivery where connector_number = :connector and state = 3"
        " and body is not null and stored_until > :now order by seq limit 1",
        {"connector": number, "now": tx.now},
    )
    return rows[0][0] if rows else None


def is_backlog_over(tx: Tx, number: int, most: int) -> bool:
    """Whether more than so many wait for a connector already."""
    rows = tx.fetch_raw(
        "select count(*) from (select 1 from delivery where connector_number = :connector"
        " and state = 0 limit :most) waiting",
        {"connector": number, "most": most + 1},
    )
    return bool(rows[0][0] > most)


# --- what happened ---


@dataclass(frozen=True, slots=True)
class DeliveryEvent:
    """What became of one message, and when that was last different."""

    connector_number: int
    seq: int
    device_id: str
    kind: int
    state: int
    generation: int
    attempts: int
    created_at: Moment
    changed_at: Moment
    due_at: Moment
    error: str | None


_EVENT = [
    _table.c[name]
    for name in (
        "connector_number",
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


def _event(row: sa.Row[Any]) -> DeliveryEvent:
    return DeliveryEvent(**row._mapping)


def list_events(
    tx: Tx, number: int, begin: Moment, end: Moment, request: PageRequest, *, ascending: bool
) -> Page[DeliveryEvent]:
    statement = sa.select(*_EVENT).where(
        _table.c.connector_number == number,
        _table.c.changed_at >= begin,
        _table.c.changed_at < end,
    )
    key = [_table.c.changed_at, _table.c.seq]
    return page(tx, statement, key, request, _event, ascending=ascending)


def count_by_state(tx: Tx, number: int, begin: Moment, end: Moment) -> dict[int, int]:
    """How many deliveries last changed in a period, by state."""
    rows = tx.fetch_raw(
        "select state, count(*) from delivery where connector_number = :connector"
        " and changed_at >= :begin and changed_at < :until group by state",
        {"connector": number, "begin": begin, "until": end},
    )
    return {row[0]: row[1] for row in rows}


# --- for the metrics of a group ---


def count_unfinished(
    tx: Tx, numbers: Collection[int], begin: Moment, end: Moment, span: Moment
) -> list[tuple[int, int]]:
    """(span, how many) deliveries that were made in a period and have not ended even once."""
    if not numbers:
        return []
    rank = (_table.c.created_at - begin) // span
    statement = (
        sa.select(rank.label("span"), sa.func.count().label("number"))
        .where(
            _table.c.connector_number.in_(numbers),
            _table.c.state < LEASED + 1,
            _table.c.first_end.is_(None),
            _table.c.created_at >= begin,
            _table.c.created_at < end,
        )
        .group_by("span")
    )
    return [(int(row.span), row.number) for row in tx.rows(statement)]


def list_active_connectors(tx: Tx, numbers: Iterable[int], begin: Moment, end: Moment) -> list[int]:
    """Those of the connectors with a delivery that was made in a period."""
    return [
        number
        for number in numbers
        if tx.fetch_raw(
            "select 1 from delivery where connector_number = :connector"
            " and changed_at >= :begin and created_at >= :begin and created_at < :until limit 1",
            {"connector": number, "begin": begin, "until": end},
        )
    ]


# --- for the operator ---


@dataclass(frozen=True, slots=True)
class Backlog:
    """How one connector stands."""

    connector_number: int
    queued: int
    leased: int
    failed: int
    oldest: Moment | None  # when the oldest that is not final was made


def list_backlogs(tx: Tx) -> dict[int, Backlog]:
    """Of every connector that has anything unfinished or failed."""
    found: dict[int, Backlog] = {}
    for number, queued, leased, failed, oldest in tx.fetch_raw(
        "select connector_number, sum(case when state = 0 then 1 else 0 end),"
        " sum(case when state = 1 then 1 else 0 end), 0, min(created_at)"
        " from delivery where state < 2 group by connector_number"
        " union all select connector_number, 0, 0, count(*), null"
        " from delivery where state = 3 group by connector_number",
        {},
    ):
        before = found.get(number)
        if before is None:
            found[number] = Backlog(number, int(queued), int(leased), int(failed), oldest)
        else:
            found[number] = Backlog(
                number,
                before.queued + int(queued),
                before.leased + int(leased),
                before.failed + int(failed),
                before.oldest if oldest is None else oldest,
            )
    return found


def get_total_backlog(tx: Tx) -> Backlog:
    """How all connectors together stand."""
    found = list_backlogs(tx).values()
    return Backlog(
        0,
        sum(each.queued for each in found),
        sum(each.leased for each in found),
        sum(each.failed for each in found),
        min((each.oldest for each in found if each.oldest is not None), default=None),
    )


def list_latest(
    tx: Tx, states: Collection[int], limit: int, number: int | None = None
) -> list[DeliveryEvent]:
    """The newest changes first."""
    statement = sa.select(*_EVENT).where(_table.c.state.in_(states))
    if number is not None:
        statement = statement.where(_table.c.connector_number == number)
    rows = tx.rows(statement.order_by(_table.c.changed_at.desc(), _table.c.seq.desc()).limit(limit))
    return [_event(row) for row in rows]


def get(tx: Tx, number: int, seq: int) -> DeliveryEvent | None:
    row = tx.row(sa.select(*_EVENT).where(_table.c.connector_number == number, _table.c.seq == seq))
    return _event(row) if row else None


def retry_now(tx: Tx, number: int, seq: int) -> bool:
    """Make one due at once: a waiting one, or one that failed and was kept."""
    values = {"connector": number, "seq": seq, "now": tx.now}
    waiting = tx.fetch_raw(
        "update delivery set due_at = :now, changed_at = :now where connector_number = :connector"
        " and seq = :seq and state = 0 returning seq",
        values,
    )
    failed = tx.fetch_raw(
        "update delivery set state = 0, generation = generation + 1, attempts = 0, due_at = :now,"
        " changed_at = :now, stored_until = null where connector_number = :connector"
        " and seq = :seq and state = 3 and body is not null and stored_until > :now returning seq",
        values,
    )
    return bool(waiting or failed)


def cancel(tx: Tx, number: int, seq: int, why: str = "cancelled by the operator") -> bool:
    """Give up on one that waits."""
    return bool(
        tx.fetch_raw(
            "update delivery set state = 5, first_end = coalesce(first_end, 5), changed_at = :now,"
            " error = :why, body = null, context = null"
            " where connector_number = :connector and seq = :seq and state = 0 returning seq",
            {"connector": number, "seq": seq, "why": why, "now": tx.now},
        )
    )


# --- the end of it ---


def expire_dead_letters(tx: Tx, most: int) -> int:
    """Let go of what was kept for a resend and is past its time; how many that were."""
    rows = tx.fetch_raw(
        "update delivery set state = 4, changed_at = :now, body = null, context = null"
        " where state = 3 and (connector_number, seq) in (select connector_number, seq"
        " from delivery where state = 3 and stored_until < :now limit :most) returning seq",
        {"now": tx.now, "most": most},
    )
    return len(rows)


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Remove what ended before a moment; how many that were."""
    rows = tx.fetch_raw(
        "delete from delivery where state >= 2 and (connector_number, seq) in"
        " (select d.connector_number, d.seq from connector c join delivery d"
        " on d.connector_number = c.number"
        " where d.changed_at < :before and d.state in (2, 4, 5) limit :most) returning seq",
        {"before": before, "most": most},
    )
    return len(rows)


def delete_for_connector(tx: Tx, number: int, most: int) -> int:
    """Remove deliveries of a connector that is gone; how many that were."""
    rows = tx.fetch_raw(
        "delete from delivery where connector_number = :connector and seq in"
        " (select seq from delivery where connector_number = :connector limit :most) returning seq",
        {"connector": number, "most": most},
    )
    return len(rows)

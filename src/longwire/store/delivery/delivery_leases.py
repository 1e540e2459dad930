"""Leases of deliveries: claimed, and settled with the fencing token of the claim.

A statement that settles names the token, so a process whose lease has expired changes nothing.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.delivery.delivery_states import (
    EXPIRED,
    FAILED,
    HELD_BACK,
    LEASED,
    QUEUED,
    SUCCEEDED,
    DeliveryState,
    set_first_end,
)
from longwire.store.records.arrival_numbers import WRITER_BITS
from longwire.store.statement import ByEngine, Sql, Statement, in_unlocked
from longwire.work.leases import new_token

# One statement for each log pays if, on average, at least so many deliveries share it.
ALIKE_MIN = 16


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
    is_ordered: bool | None = None  # the next one of its device waits for it


class OrphanedLease(msgspec.Struct, frozen=True):
    """A delivery whose lease has expired: its holder has stopped, or hangs."""

    channel_number: int
    seq: int
    token: int
    generation: int
    attempts: int
    attempt_log: str | None
    is_ordered: bool | None


LIST_DUE_CHANNELS = Statement(
    f"""
with enabled as materialized (
    select number
    from channel
    where is_enabled
        and deleted_at is null
        and coalesce(paused_until, 0) <= :now
)
select c.number
from enabled c
where exists (
        select 1
        from delivery d
        where d.channel_number = c.number
            {{slot:d}}
            and d.{QUEUED}
            and d.due_at <= :now
    )
order by c.number <= :after, c.number
limit :most
""",
    into=int,
)

BRING_FORWARD = Statement(
    f"""
update delivery
set due_at = :now
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
            and due_at > :now
            and due_at < {HELD_BACK}
            and attempts > 0
            and changed_at < :since
        order by due_at, seq
        limit :most"""),
)


def _claim(due: Sql | str) -> Statement[ClaimedDelivery]:
    return Statement(
        f"""
update delivery
set {LEASED},
    attempts = attempts + 1,
    lease_token = :token,
    lease_until = :until,
    changed_at = :now
where channel_number = :channel
    {{slot}}
    and seq {{due}}
    and {QUEUED}
returning
    channel_number, seq, device_id, kind, generation, attempts, created_at, body, context,
    attempt_log, traceparent, is_ordered
""",
        into=ClaimedDelivery,
        due=due,
    )


CLAIM = _claim(
    in_unlocked(f"""
        select seq
        from delivery {{index:ix_delivery_due}}
        where channel_number = :channel
            {{slot}}
            and {QUEUED}
            and due_at <= :now
        order by due_at, seq
        limit :most""")
)
CLAIM_SOME = _claim("{in:seqs}")


# Each delivery has a log of its own, and a time when it is due. SQLite would join a list of them
# the wrong way round, so it looks each up.
_ITS_LOG = ByEngine(sqlite="""json_extract(:logs, '$."' || seq || '"')""", postgres="settled.log")
_ITS_DUE = ByEngine(sqlite="""json_extract(:due, '$."' || seq || '"')""", postgres="settled.due")
_IS_SETTLED = ByEngine(sqlite="{in:seqs}", postgres="= settled.settled_seq")
_WITH_LOGS = ByEngine(
    postgres="""
from unnest(cast({array:seqs} as bigint[]), cast(:logs as text[])) settled(settled_seq, log)"""
)
_WITH_LOGS_AND_DUE = ByEngine(
    postgres="""
from unnest(cast({array:seqs} as bigint[]), cast(:logs as text[]), cast(:due as bigint[]))
    settled(settled_seq, log, due)"""
)


def _settle(
    assignments: str, which: Sql | str = _IS_SETTLED, values: Sql | str = _WITH_LOGS
) -> Statement[int]:
    """Change leased rows, as far as the lease is the one we hold."""
    return Statement(
        f"""
update delivery
set {{assignments}},
    changed_at = :now,
    lease_token = null,
    lease_until = null{{values}}
where channel_number = :channel
    {{slot}}
    and seq {{which}}
    and {LEASED}
    and lease_token = :token
returning seq
""",
        into=int,
        assignments=Sql(assignments, log=_ITS_LOG, due=_ITS_DUE),
        which=which,
        values=values,
    )


_SUCCEEDED = f"""{SUCCEEDED},
    {set_first_end(DeliveryState.SUCCEEDED)},
    error = null,
    body = null,
    context = null,
    attempt_log = """
SUCCEED = _settle(_SUCCEEDED + "{log}")
# For SQLite; PostgreSQL has all logs at once as well.
SUCCEED_ALIKE = _settle(_SUCCEEDED + ":log", "{in:seqs}", "")
RETRY = _settle(
    f"""{QUEUED},
    due_at = {{due}},
    error = :error,
    attempt_log = {{log}}""",
    values=_WITH_LOGS_AND_DUE,
)
FAIL_AND_KEEP = _settle(
    f"""{FAILED},
    {set_first_end(DeliveryState.FAILED)},
    stored_until = :stored,
    error = :error,
    attempt_log = {{log}}"""
)
# Nothing is kept that could be sent again.
FAIL = _settle(
    f"""{EXPIRED},
    {set_first_end(DeliveryState.FAILED)},
    error = :error,
    attempt_log = {{log}},
    body = null,
    context = null"""
)
RELEASE = _settle(
    f"""{QUEUED},
    attempts = attempts - 1""",
    "{in:seqs}",
    "",
)
POSTPONE = _settle(
    f"""{QUEUED},
    attempts = attempts - 1,
    due_at = :due""",
    "{in:seqs}",
    "",
)

LOCK_ORPHANED_LEASES = Statement(
    f"""
select
    d.channel_number, d.seq, d.lease_token, d.generation, d.attempts, d.attempt_log,
    d.is_ordered
from delivery d
where d.{LEASED}
    {{slot:d}}
    and d.lease_until < :until
order by d.lease_until
limit :most
{{skip_locked:d}}
""",
    into=OrphanedLease,
)

# The low bits of a token are the number of the process that claimed. For PostgreSQL.
_WRITER_MASK = (1 << WRITER_BITS) - 1

LIST_LIVING_NODES = Statement(
    """
select number
from node
where until_at > cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)
""",
    into=int,
)

LOCK_LEASES_OF_DEAD_NODES = Statement(
    f"""
select
    d.channel_number, d.seq, d.lease_token, d.generation, d.attempts, d.attempt_log,
    d.is_ordered
from delivery d
where d.{LEASED}
    {{slot:d}}
    and (d.lease_token & {_WRITER_MASK}) <> all(cast({{array:living}} as bigint[]))
order by d.lease_until
limit :most
{{skip_locked:d}}
""",
    into=OrphanedLease,
)


# Channel and fencing token of what was claimed together, in the slot of the transaction.
LeaseKey = tuple[int, int]


def list_due_channels(tx: Tx, slot: int, limit: int, after: int) -> list[int]:
    """Enabled channels with something due in a slot; those after `after` come first."""
    values = {"slot": slot, "now": tx.now, "after": after, "most": limit}
    return tx.fetch(LIST_DUE_CHANNELS, **values)


def claim(tx: Tx, number: int, most: int, token: int, until: Moment) -> list[ClaimedDelivery]:
    """Lease what is due for a channel, the oldest first. The attempt counts from here.

    Like all that is claimed and settled: in the slot of the transaction.
    """
    lease = {"token": token, "until": until, "now": tx.now}
    found = tx.fetch(CLAIM, channel=number, slot=tx.slot, most=most, **lease)
    return sorted(found, key=lambda claimed: claimed.seq)


def bring_forward(tx: Tx, number: int, since: Moment, most: int) -> int:
    """Have what waits for another attempt be due now, what is due first before; how many.

    But for what was attempted after `since`.
    """
    values = {"channel": number, "now": tx.now, "since": since}
    return slots.change_in_slots(tx, BRING_FORWARD, values, most)


def succeed(tx: Tx, lease: LeaseKey, logs: Mapping[int, str]) -> set[int]:
    """`logs` are the attempts of each delivery, with the one that succeeded.

    Those that were sent in one request have the same log. On SQLite, a statement for 500 deliveries
    takes 1.1 ms if it looks each log up, and 0.4 ms if there is one.
    """
    alike: dict[str, list[int]] = {}
    if not tx.is_postgres:
        for seq, log in logs.items():
            alike.setdefault(log, []).append(seq)
    if not alike or len(alike) * ALIKE_MIN > len(logs):
        return _settle_rows(tx, SUCCEED, lease, _logs_param(tx, logs))
    changed: set[int] = set()
    for log, seqs in alike.items():
        changed |= _settle_rows(tx, SUCCEED_ALIKE, lease, {"seqs": seqs, "log": log})
    return changed


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
    values = {"error": error, **_logs_param(tx, logs)}
    if stored_until is None:
        return _settle_rows(tx, FAIL, lease, values)
    return _settle_rows(tx, FAIL_AND_KEEP, lease, {**values, "stored": stored_until})


def release(tx: Tx, lease: LeaseKey, seqs: Sequence[int]) -> set[int]:
    """Return what was claimed and not attempted."""
    return _settle_rows(tx, RELEASE, lease, {"seqs": seqs})


def postpone(tx: Tx, lease: LeaseKey, due: Moment, seqs: Sequence[int]) -> set[int]:
    """The same for what is not to be claimed again at once."""
    return _settle_rows(tx, POSTPONE, lease, {"seqs": seqs, "due": due})


def _logs_param(tx: Tx, logs: Mapping[int, str]) -> dict[str, Any]:
    texts: Any = list(logs.values())
    if not tx.is_postgres:
        texts = "{" + ",".join([f'"{seq}":{log}' for seq, log in logs.items()]) + "}"
    return {"seqs": logs, "logs": texts}


def _settle_rows(
    tx: Tx, statement: Statement[int], lease: LeaseKey, values: Mapping[str, Any]
) -> set[int]:
    number, token = lease
    leased = {"channel": number, "slot": tx.slot, "token": token, "now": tx.now}
    return set(tx.fetch(statement, **leased, **values))


def lock_orphaned_leases(tx: Tx, until: Moment, most: int) -> list[OrphanedLease]:
    """Leases that expired before `until`, locked so that nobody else settles them."""
    values = {"slot": tx.slot, "until": until, "most": most}
    return tx.fetch(LOCK_ORPHANED_LEASES, **values)


def lock_leases_of_dead_nodes(tx: Tx, most: int) -> list[OrphanedLease]:
    """Leases of processes that do not live any more, whether or not they have expired."""
    values = {"slot": tx.slot, "most": most, "living": tx.fetch(LIST_LIVING_NODES)}
    found = tx.fetch(LOCK_LEASES_OF_DEAD_NODES, **values)
    # A process that has started meanwhile was not among the living before, but lives.
    living = set(tx.fetch(LIST_LIVING_NODES)) if found else set()
    return [each for each in found if each.token & _WRITER_MASK not in living]


def new_writer_token(writer: int) -> int:
    """A fencing token of the process with this number."""
    return new_token() >> WRITER_BITS << WRITER_BITS | writer

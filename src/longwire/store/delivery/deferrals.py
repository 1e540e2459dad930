"""Deferrals: stored records that are still to be matched, with the connectors or notifications of
one group.

A deferral is a range of arrivals of one commit. It is stored with them, and deleted with the
deliveries that they cause.
"""

from enum import StrEnum

import msgspec

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.change_messages import ChangeRow
from longwire.store.engines.bulk import insert_many
from longwire.store.leases import LeasedRows
from longwire.store.records.arrival_numbers import WRITER_BITS
from longwire.store.records.records import RecordRow
from longwire.store.statement import Statement

_table = schema.deferral
_COLUMNS = ("owner_id", "purpose", "group_id", "first_seq", "last_seq", "lease_until")

NEXT_OWNER = Statement("""
select min(owner_id)
from deferral
where owner_id > :after
""")
GET_NEXT = Statement("""
select owner_id, purpose, group_id, first_seq, last_seq
from deferral
where owner_id = :owner
    and lease_until <= :now
order by owner_id, purpose, group_id, first_seq
limit 1
""")
ADVANCE = Statement("""
update deferral
set first_seq = :next,
    lease_until = :until
where owner_id = :owner
    and purpose = :purpose
    and group_id = :home
    and first_seq = :first
""")
DELETE = Statement("""
delete from deferral
where owner_id = :owner
    and purpose = :purpose
    and group_id = :home
    and first_seq = :first
""")
GET_FIRST_SEQ = Statement(
    """
select min(first_seq)
from deferral
where owner_id = :owner
    and purpose <> 'notification'
""",
    into=lambda seq: seq,
)
LIST_PURPOSES = Statement("""
select purpose
from deferral
where owner_id = :owner
group by purpose
""")

# Each step moves the first arrival, or deletes the deferral: that fences whoever is late.
DEFERRAL_LEASES = LeasedRows("deferral", "owner_id", "purpose", "group_id", "first_seq")

BEFORE_ANY_OWNER = -1
_STEP = 1 << WRITER_BITS  # between two arrivals of one process


class DeferralPurpose(StrEnum):
    """What is to be matched, and with what."""

    CHANGE = "change"  # changes, with connectors
    CONNECTOR = "connector"  # records, with connectors
    NOTIFICATION = "notification"  # records, with notifications


class Deferral(msgspec.Struct, frozen=True):
    """Records of a group, from one arrival to another, and whose connectors have to match them."""

    owner_id: str
    purpose: DeferralPurpose
    group_id: str
    first_seq: int
    last_seq: int

    def includes(self, seq: int) -> bool:
        """Whether it is an arrival of the same process; others commit their own."""
        return self.first_seq <= seq <= self.last_seq and not (seq - self.first_seq) % _STEP

    def next_seq(self, seq: int) -> int:
        """The next arrival of the same process after this one, which may be of another."""
        return seq + 1 + (self.first_seq - seq - 1) % _STEP


class DeferralRanges:
    """What one transaction defers, by the group of the connectors and the group of the records."""

    def __init__(self, purpose: DeferralPurpose) -> None:
        self._purpose = purpose
        self._ranges: dict[tuple[str, int], tuple[int, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def add(self, owner_id: str, row: RecordRow | ChangeRow) -> None:
        key = owner_id, row.group_number
        first, last = self._ranges.get(key, (row.seq, row.seq))
        self._ranges[key] = min(first, row.seq), max(last, row.seq)

    def insert(self, tx: Tx) -> None:
        rows = [
            (int(owner), self._purpose.value, group, first, last, 0)
            for (owner, group), (first, last) in sorted(self._ranges.items())
        ]
        insert_many(tx, _table, _COLUMNS, rows)


def list_owners(tx: Tx, after: int, most: int) -> list[str]:
    """Groups whose connectors or notifications have something deferred, after one of them."""
    found: list[str] = []
    while len(found) < most:
        owner = tx.fetch(NEXT_OWNER, after=after)[0][0]
        if owner is None:
            break
        found.append(str(owner))
        after = owner
    return found


def lease_next(tx: Tx, owner_id: str, until: Moment) -> Deferral | None:
    """Lease the next deferral of a group; None if another process has leased all of them.

    SQLite has one process, which needs no lease.
    """
    rows = tx.fetch(GET_NEXT, owner=int(owner_id), now=tx.now)
    if not rows:
        return None
    owner, purpose, group, first, last = rows[0]
    deferral = Deferral(str(owner), DeferralPurpose(purpose), str(group), first, last)
    is_mine = not tx.is_postgres or DEFERRAL_LEASES.claim(tx, *rows[0][:4], until=until)
    return deferral if is_mine else None


def advance(tx: Tx, deferral: Deferral, done_seq: int, until: Moment) -> Deferral | None:
    """Take what was matched out of the deferral, or delete it; None if somebody else did."""
    following = deferral.next_seq(done_seq)
    if following > deferral.last_seq:
        return deferral if tx.run(DELETE, **_key(deferral)) else None
    values = _key(deferral) | {"next": following, "until": until if tx.is_postgres else 0}
    is_mine = tx.run(ADVANCE, **values)
    return msgspec.structs.replace(deferral, first_seq=following) if is_mine else None


def get_first_seq(tx: Tx, owner_id: str) -> int | None:
    """The first arrival that a group's connectors have not matched yet; None if there is none."""
    found: int | None = tx.fetch(GET_FIRST_SEQ, owner=int(owner_id))[0]
    return found


def list_purposes(tx: Tx, owner_id: str) -> set[DeferralPurpose]:
    rows = tx.fetch(LIST_PURPOSES, owner=int(owner_id))
    return {DeferralPurpose(row[0]) for row in rows}


def _key(deferral: Deferral) -> dict[str, object]:
    return {
        "owner": int(deferral.owner_id),
        "purpose": deferral.purpose.value,
        "home": int(deferral.group_id),
        "first": deferral.first_seq,
    }

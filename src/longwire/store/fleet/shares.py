"""Shared views: links that show something of a group to whoever has them, and how they are used."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from longwire.clock import DAY, Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement


@dataclass(frozen=True, slots=True)
class Share:
    """A chart, a device, a list or a map, and until when a link shows it."""

    id: str
    group_id: str
    name: str
    content: str
    subgroups: bool
    device_ids: tuple[str, ...]  # an empty one for those of the group
    parameters: str  # JSON
    digest: bytes  # of the secret of its link
    origins: tuple[str, ...]  # of pages that may embed it
    actor_kind: str  # with whose permissions it is read
    actor_id: str
    created_at: Moment
    expires_at: Moment
    uses: int = 0
    first_used_at: Moment | None = None
    last_used_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class ShareUse:
    """What was counted of a share since it was stored last."""

    share_id: str
    opened: int
    first_at: Moment
    last_at: Moment
    address: str  # of the first request
    request_id: str


SHARES = GroupRows(Share, schema.share)

FIND = Statement(
    """
select {columns}
from share
where digest = :digest
""",
    columns=SHARES.sql(),
)

GET_BY_ID = Statement(
    """
select {columns}
from share
where id = :id
""",
    columns=SHARES.sql(),
)

GET_ORIGINS = Statement(
    """
select origins
from share
where id = :id
""",
    into=str,
)

# Of two processes that have counted uses of the same day, one finds that it was the first.
BEGIN_DAY = Statement("""
update share
set last_used_at = :last
where id = :id
    and (last_used_at is null or last_used_at < :midnight)
""")

COUNT_USES = Statement("""
update share
set uses = uses + :opened,
    first_used_at = coalesce(first_used_at, :first),
    last_used_at = case
        when last_used_at is null or last_used_at < :last then :last
        else last_used_at
    end
where id = :id
""")

LIST_OLD = Statement(
    """
select {columns}
from share
where expires_at < :before
order by expires_at
limit :most
{skip_locked}
""",
    columns=SHARES.sql(),
)

DELETE_SOME = Statement("""
delete from share
where id {in:ids}
""")


def find(tx: Tx, digest: bytes) -> Share | None:
    """What a secret opens, whether it has expired or not."""
    rows = tx.fetch(FIND, digest=digest)
    return SHARES.parse(rows[0]) if rows else None


def list_origins(tx: Tx, share_id: str) -> Sequence[str]:
    """Of pages that may embed it; none of a share that is unknown."""
    origins = tx.first(GET_ORIGINS, id=share_id)
    return () if origins is None else msgspec.json.decode(origins, type=list[str])


def begin_day(tx: Tx, use: ShareUse) -> bool:
    """Whether nobody had used it on this day before."""
    midnight = use.last_at - use.last_at % DAY
    return tx.run(BEGIN_DAY, id=use.share_id, last=use.last_at, midnight=midnight) > 0


def count_uses(tx: Tx, use: ShareUse) -> Share | None:
    """Add what was counted; the share as it is now, None if it was deleted meanwhile."""
    tx.run(COUNT_USES, id=use.share_id, opened=use.opened, first=use.first_at, last=use.last_at)
    rows = tx.fetch(GET_BY_ID, id=use.share_id)
    return SHARES.parse(rows[0]) if rows else None


def list_old(tx: Tx, before: Moment, most: int) -> list[Share]:
    """Some that expired before; nobody else deletes them."""
    return [SHARES.parse(row) for row in tx.fetch(LIST_OLD, before=before, most=most)]


def delete_some(tx: Tx, shares: Sequence[Share]) -> None:
    tx.run(DELETE_SOME, ids=[each.id for each in shares])

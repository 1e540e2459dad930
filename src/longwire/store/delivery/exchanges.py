"""What was sent and what came back, sealed, of the last attempts of each connector."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from longwire.clock import Moment
from longwire.model import Page, PageRequest
from longwire.seal import UnsealError
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.statement import Statement, build_limited_delete

# Of a connector; the oldest are deleted with the next one. A row has up to 16 KiB or so.
KEPT_MAX = 200
BYTES_MAX = 1024 * 1024

TRIM = Statement("""
delete from delivery_exchange
where channel_number = :channel
    and id in (
        select id
        from (
            select id,
                row_number() over (order by at desc, id desc) as place,
                sum(size) over (order by at desc, id desc) as total
            from delivery_exchange
            where channel_number = :channel
        ) ranked
        where place > :most
            or total > :bytes
    )
""")

GET_MANY = Statement("""
select id, at, sealed
from delivery_exchange
where channel_number = :channel
    and id {in:ids}
order by at, id
""")

LIST_NEWEST = Statement("""
select id, at, sealed
from delivery_exchange
where channel_number = :channel
    and (at, id) < (:after_at, :after_id)
order by at desc, id desc
limit :most
""")

PRUNE = build_limited_delete("delivery_exchange", "id", where="at < :before", order="at")


class StoredExchange(NamedTuple):
    """An exchange, whose content nothing here looks into."""

    id: str
    at: Moment
    content: bytes


_COLUMNS = ("id", "channel_number", "at", "size", "sealed")
_LAST_AT, _LAST_ID = 2**62, ""


def get_purpose(number: int, exchange_id: str) -> str:
    """What an exchange of a channel is sealed for."""
    return f"delivery_exchange|{number}|{exchange_id}"


def insert(tx: Tx, number: int, exchanges: Sequence[StoredExchange]) -> None:
    """Keep the exchanges of a channel, instead of its oldest ones if there are too many."""
    rows = []
    for each in exchanges[-KEPT_MAX:]:
        sealed = tx.keyring.seal_bytes(each.content, get_purpose(number, each.id))
        rows.append((each.id, number, each.at, len(sealed), sealed))
    insert_many(tx, schema.delivery_exchange, _COLUMNS, rows)
    tx.run(TRIM, channel=number, most=KEPT_MAX, bytes=BYTES_MAX)


def get_many(tx: Tx, number: int, ids: Collection[str]) -> list[StoredExchange]:
    """Those of a channel that are still kept, oldest first."""
    rows = tx.fetch(GET_MANY, channel=number, ids=ids) if ids else []
    return _unseal(tx, number, rows)


def list_page(tx: Tx, number: int, request: PageRequest) -> Page[StoredExchange]:
    """Newest first."""
    after_at, after_id = request.after or (_LAST_AT, _LAST_ID)
    values = {"after_at": after_at, "after_id": after_id, "most": request.limit + 1}
    rows = tx.fetch(LIST_NEWEST, channel=number, **values)
    shown = rows[: request.limit]
    last_key = (shown[-1][1], shown[-1][0]) if len(rows) > len(shown) else None
    return Page(_unseal(tx, number, shown), last_key)


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some that are older."""
    return tx.run(PRUNE, before=before, most=most)


def _unseal(tx: Tx, number: int, rows: Sequence[tuple[str, Moment, bytes]]) -> list[StoredExchange]:
    """Without those that no key opens any more."""
    found = []
    for exchange_id, at, sealed in rows:
        try:
            content = tx.keyring.unseal_bytes(bytes(sealed), get_purpose(number, exchange_id))
        except UnsealError:
            continue
        found.append(StoredExchange(exchange_id, at, content))
    return found

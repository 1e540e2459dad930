"""Receptions: the messages of networks as they came in, sealed, for a limited time.

What one commit stores for a group is one row, because sealing and inserting cost about the same for
one message as for a hundred. A row is found by an arrival that lies between its first and its last
one, of the same process. How much a group has is counted by each process in a row of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from longwire.clock import Moment
from longwire.seal import UnsealError
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.records.arrival_numbers import WRITER_BITS, first_seq
from longwire.store.statement import Statement

# Of the bodies in a row, which is read as a whole.
ROW_BYTES_MAX = 1024 * 1024
# A commit takes so many sequence numbers at most, which are microseconds.
SPAN_MAX = 65_536 << WRITER_BITS
WRITER_MASK = (1 << WRITER_BITS) - 1
# Of a step, which others wait for; one row may be larger.
PRUNE_ROWS_MAX = 200
PRUNE_BYTES_MAX = 4 * 1024 * 1024

_ADD_SIZE = OnConflict("bytes = reception_size.bytes + excluded.bytes")

FIND = Statement(
    """
select first_seq, sealed
from reception
where group_id = :home
    and first_seq <= :seq
    and first_seq > :seq - {span_max}
    and last_seq >= :seq
    and (first_seq & {writer_mask}) = :writer
order by first_seq desc
limit 1
""",
    span_max=str(SPAN_MAX),
    writer_mask=str(WRITER_MASK),
)

GET_NEXT_GROUP = Statement(
    """
select group_id
from reception
where group_id > :after
order by group_id
limit 1
""",
    into=int,
)

_LIST = """
select first_seq, length(sealed)
from reception
where group_id = :home
    {older}
order by first_seq
limit :most
"""
LIST_OLDER = Statement(_LIST, older="and first_seq < :before")
LIST_OLDEST = Statement(_LIST, older="")

DELETE = Statement(
    """
delete from reception
where group_id = :home
    and first_seq {in:seqs}
returning length(sealed)
""",
    into=int,
)

LIST_SIZES = Statement("""
select group_id, cast(sum(bytes) as bigint)
from reception_size
group by group_id
""")

DELETE_SIZE = Statement("""
delete from reception_size
where group_id = :home
""")


class Reception(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A message of a network, as it came in. The order of the fields is what is stored."""

    received_at: Moment
    request_id: str
    media_type: str
    query: str  # without the token
    body: bytes | None  # None if it was too large, or one of a batch
    size: int  # of the body, in bytes
    decode_failure: str | None = None


class _Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A reception, and the arrivals of its records."""

    first_seq: int
    last_seq: int
    reception: Reception


NewReceptions = Mapping[int, Sequence[tuple[int, int, Reception]]]  # by group: first, last, which

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Entry]).decode


def insert(tx: Tx, writer: int, new: NewReceptions) -> None:
    """Store the receptions of a commit."""
    rows = []
    sizes = []
    for group, found in sorted(new.items()):
        entries = _bounded(found)
        first = entries[0].first_seq
        sealed = tx.keyring.seal_bytes(_encode(entries), _purpose(group, first))
        rows.append((group, first, entries[-1].last_seq, sealed))
        sizes.append((group, writer, len(sealed)))
    columns = ("group_id", "first_seq", "last_seq", "sealed")
    insert_many(tx, schema.reception, columns, rows)
    size_columns = ("group_id", "writer", "bytes")
    insert_many(tx, schema.reception_size, size_columns, sizes, _ADD_SIZE)


def _bounded(found: Sequence[tuple[int, int, Reception]]) -> list[_Entry]:
    """Entries whose bodies fit into a row; others are without theirs."""
    left = ROW_BYTES_MAX
    entries = []
    for first, last, reception in found:
        left -= len(reception.body or b"")
        if left < 0 and reception.body is not None:
            reception = msgspec.structs.replace(reception, body=None)
        entries.append(_Entry(first, last, reception))
    return entries


def _purpose(group: int, first: int) -> str:
    return f"reception|{group}|{first}"


def find(tx: Tx, group_number: int, seq: int) -> Reception | None:
    """What a record came in with, as long as that is kept."""
    found = tx.first(FIND, home=group_number, seq=seq, writer=seq & WRITER_MASK)
    if found is None:
        return None
    first, sealed = found
    try:
        entries = _decode(tx.keyring.unseal_bytes(bytes(sealed), _purpose(group_number, first)))
    except UnsealError:
        return None
    return next(
        (each.reception for each in entries if each.first_seq <= seq <= each.last_seq), None
    )


# --- retention ---


def prune(tx: Tx, after_group: int, before: Moment) -> int | None:
    """Delete some receptions before a moment; the group to continue after, None at the end."""
    group = tx.first(GET_NEXT_GROUP, after=after_group)
    if group is None:
        return None
    has_more = _delete_some(tx, group, LIST_OLDER, before=first_seq(before)).has_more
    return after_group if has_more else group


def prune_excess(tx: Tx, bytes_max: int) -> int:
    """Delete some of the oldest receptions of the group with most, if all have too much.

    So nobody shortens the time for which others have theirs while using less than they do.
    """
    sizes: dict[int, int] = dict(tx.fetch(LIST_SIZES))
    if sum(sizes.values()) <= bytes_max:
        return 0
    group = max(sizes, key=lambda each: sizes[each])
    if not _delete_some(tx, group, LIST_OLDEST).rows:
        tx.run(DELETE_SIZE, home=group)  # it has none
    return 1


def delete_some_of_group(tx: Tx, group_number: int) -> int:
    """Delete some receptions of a group that is deleted; how many rows."""
    return _delete_some(tx, group_number, LIST_OLDEST).rows


class _Deleted(NamedTuple):
    rows: int
    has_more: bool  # perhaps


def _delete_some(tx: Tx, group: int, which: Statement[tuple[Any, ...]], **values: int) -> _Deleted:
    found = tx.fetch(which, **values, home=group, most=PRUNE_ROWS_MAX)
    seqs = _select_step(found)
    if not seqs:
        return _Deleted(0, has_more=False)
    gone = tx.fetch(DELETE, home=group, seqs=seqs)
    row = (group, 0, -sum(gone))
    insert_many(tx, schema.reception_size, ("group_id", "writer", "bytes"), [row], _ADD_SIZE)
    return _Deleted(len(gone), has_more=len(seqs) < len(found) or len(found) == PRUNE_ROWS_MAX)


def _select_step(found: Sequence[tuple[Any, ...]]) -> list[int]:
    """The first of some rows with their sizes, together within what a step may delete."""
    left = PRUNE_BYTES_MAX
    seqs: list[int] = []
    for seq, size in found:
        left -= size
        if seqs and left < 0:
            break
        seqs.append(seq)
    return seqs

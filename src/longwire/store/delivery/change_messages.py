"""Changes of alarms and of the registry as connectors forward them, by group and in their order."""

from collections.abc import Sequence
from typing import Any

import msgspec

from longwire.changes import EncodedChange, parse_content
from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_new
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.statement import Statement, build_limited_delete


class ChangeRow(msgspec.Struct, frozen=True):
    """A change about to be stored, with the members of a `RecordRow` that matching reads."""

    seq: int
    group_number: int
    other_group_number: int | None  # of a device that was moved
    is_for_both: bool  # for who sees both groups; else for who sees the first one only
    kind: int  # a `ChangeKind`
    ts: Moment
    encoded: EncodedChange
    context: str  # what was known of its device, as JSON
    cause: int | None = None  # the arrival of the record, if one has raised an alarm


_COLUMNS = (
    *("seq", "group_id", "other_group_id", "is_for_both", "kind", "ts", "body", "context"),
    *("cause", "device_id"),
)
# Of a group, those of some kinds are looked for among so many.
LATEST_AMONG_MAX = 10_000

_SELECT = f"""
select {", ".join(_COLUMNS)}
from change_message"""

LIST_IN_ORDER = Statement(f"""{_SELECT}
where group_id = :home
    and seq > :after
    and seq < :until
    and ts >= :begin
    and ts < :end_ts
order by seq
limit :most
""")

LOOK_AHEAD = Statement("""
select count(*), max(ahead.seq)
from (
    select seq
    from change_message
    where group_id = :home
        and seq > :after
        and seq < :until
    order by seq
    limit :most
) ahead
""")

LIST_LATEST = Statement(f"""
select {", ".join(_COLUMNS)}
from ({_SELECT}
    where group_id = :home
    order by seq desc
    limit :among
) latest
where kind {{in:kinds}}
order by seq desc
limit :most
""")

GET = Statement(f"""{_SELECT}
where seq = :seq
""")

PRUNE = build_limited_delete("change_message", "seq", where="seq < :before", order="seq")


def insert(tx: Tx, rows: Sequence[ChangeRow]) -> None:
    insert_new(
        tx,
        schema.change_message,
        _COLUMNS,
        [
            (
                each.seq,
                each.group_number,
                each.other_group_number,
                each.is_for_both,
                each.kind,
                each.ts,
                each.encoded.body,
                each.context,
                each.cause,
                each.encoded.record.device_id,
            )
            for each in rows
        ],
    )


def list_in_order(
    tx: Tx,
    group_number: int,
    after_seq: int,
    until_seq: int,
    begin: Moment,
    end: Moment,
    most: int,
) -> list[ChangeRow]:
    """The changes of a group between two numbers and in a period.

    All between the numbers are looked at, if few are in the period: see `look_ahead`.
    """
    rows = tx.fetch(
        LIST_IN_ORDER,
        home=group_number,
        after=after_seq,
        until=until_seq,
        begin=begin,
        end_ts=end,
        most=most,
    )
    return [_to_row(row) for row in rows]


def look_ahead(
    tx: Tx, group_number: int, after_seq: int, until_seq: int, most: int
) -> tuple[int, int]:
    """How many changes there are between two numbers, at most so many, and the last of these."""
    values = {"home": group_number, "after": after_seq, "until": until_seq, "most": most}
    count, last_seq = tx.fetch(LOOK_AHEAD, **values)[0]
    return count, after_seq if last_seq is None else last_seq


def list_latest(
    tx: Tx, group_numbers: Sequence[int], kinds: Sequence[int], most: int
) -> list[ChangeRow]:
    """The last changes of some kinds in some groups, newest first; among the last of each group."""
    values = {"kinds": kinds, "most": most, "among": LATEST_AMONG_MAX}
    found = [row for home in group_numbers for row in tx.fetch(LIST_LATEST, home=home, **values)]
    found.sort(reverse=True)  # the number is first
    return [_to_row(row) for row in found[:most]]


def get(tx: Tx, seq: int) -> ChangeRow | None:
    row = tx.first(GET, seq=seq)
    return None if row is None else _to_row(row)


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some from before a moment; how many."""
    return tx.run(PRUNE, before=first_seq(before), most=most)


def _to_row(row: Sequence[Any]) -> ChangeRow:
    seq, home, other, is_for_both, kind, ts, body, context, cause, _ = row
    encoded = parse_content(kind, body)
    assert isinstance(encoded, EncodedChange)
    return ChangeRow(seq, home, other, bool(is_for_both), kind, ts, encoded, context, cause)

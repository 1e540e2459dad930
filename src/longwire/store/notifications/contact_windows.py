"""How many messages about alarms each contact got in a minute, and what waits for a grouped one."""

from collections.abc import Collection, Iterable

import msgspec

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, OnConflict, insert_many
from longwire.store.statement import Statement, build_limited_delete


class ContactWindow(msgspec.Struct, frozen=True):
    """The minute of a contact: what was sent to it, and what waits."""

    contact: str
    group_number: int
    minute: int = 0
    sent: int = 0  # in that minute
    # What waits for the grouped message: how much, and as JSON the first of it, and the numbers of
    # the channels that it would have been sent by.
    raised: int = 0
    critical: int = 0  # of those that are raised
    resolved: int = 0
    first: str | None = None
    channels: str | None = None
    due_at: Moment | None = None


_NAMES = ContactWindow.__struct_fields__
_COLUMNS = tuple("group_id" if name == "group_number" else name for name in _NAMES)
_UPSERT = OnConflict(", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[2:]))
_SELECT = f"""
select {", ".join(_COLUMNS)}
from contact_window"""

LOCK = Statement(f"""{_SELECT}
where contact {{in:contacts}}
{{postgres:order by contact}}
{{lock}}
""")

LOCK_DUE = Statement(f"""{_SELECT}
where group_id = :home
    and due_at <= :now
{{postgres:order by contact}}
{{lock}}
""")

DELETE_OLD = build_limited_delete(
    "contact_window", "contact", where="due_at is null and minute < :before"
)


def lock_many(tx: Tx, contacts: Collection[tuple[str, int]]) -> dict[str, ContactWindow]:
    """The minutes of contacts, each with its group; nobody else changes them until the commit."""
    blank = [ContactWindow(contact, group) for contact, group in sorted(contacts)]
    if tx.is_postgres:
        # What is not there cannot be locked.
        rows = [msgspec.structs.astuple(each) for each in blank]
        insert_many(tx, schema.contact_window, _COLUMNS, rows, IGNORE)
    found = map(_to_window, tx.fetch(LOCK, contacts=[each.contact for each in blank]))
    return {each.contact: each for each in (*blank, *found)}


def lock_due(tx: Tx, group_number: int) -> list[ContactWindow]:
    """Those of a group whose grouped message is due."""
    return [_to_window(row) for row in tx.fetch(LOCK_DUE, home=group_number, now=tx.now)]


def save(tx: Tx, windows: Iterable[ContactWindow]) -> None:
    rows = [msgspec.structs.astuple(each) for each in sorted(windows, key=lambda w: w.contact)]
    insert_many(tx, schema.contact_window, _COLUMNS, rows, _UPSERT, is_repeatable=True)


def prune(tx: Tx, before_minute: int, most: int) -> int:
    """Delete some of contacts that got nothing since a minute; how many."""
    return tx.run(DELETE_OLD, before=before_minute, most=most)


def _to_window(row: tuple[object, ...]) -> ContactWindow:
    return msgspec.convert(dict(zip(_NAMES, row, strict=True)), ContactWindow)

"""Registrations of devices at the vendor's network, and their states."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import ByEngine, Statement

_table = schema.registration
_device = schema.device

LIST_MANY = Statement("""
select
    r.device_number, d.id, d.group_id, r.sealed_pac, r.request, r.state, d.information, r.answer,
    r.seq
from registration r
join device d on d.number = r.device_number
where r.device_number {in:numbers}
order by r.device_number
""")

SET_DELIVERIES = Statement(
    ByEngine(
        sqlite="""
update registration
set seq = json_extract(:each, '$."' || device_number || '"')
where device_number {in:numbers}
""",
        postgres="""
update registration
set seq = queued.seq
from unnest(cast({array:numbers} as bigint[]), cast(:each as bigint[])) queued (number, seq)
where device_number = queued.number
""",
    )
)

CLEAR_DELIVERIES = Statement("""
update registration
set seq = null,
    updated_at = :now
where device_number {in:numbers}
""")

SET_STATE = Statement("""
update registration
set state = :state,
    answer = :answer,
    updated_at = :now
where device_number {in:numbers}
""")

SET_REGISTERED = Statement("""
update registration
set state = :state,
    answer = :answer,
    sealed_pac = '',
    updated_at = :now
where device_number {in:numbers}
""")

SET_INFORMATION = Statement(
    ByEngine(
        sqlite="""
update device
set information = json_extract(:each, '$."' || number || '"'),
    updated_at = :now,
    updated_by = :by
where number {in:numbers}
""",
        postgres="""
update device
set information = shown.information,
    updated_at = :now,
    updated_by = :by
from unnest(cast({array:numbers} as bigint[]), cast(:each as text[]))
    shown (device_number, information)
where number = shown.device_number
""",
    )
)


class Registration(msgspec.Struct, frozen=True):
    """A device to be registered at the vendor's network."""

    device_number: int
    device_id: str
    group_id: str
    sealed_pac: str
    request: str
    state: str
    information: str  # of the device
    answer: str | None = None  # of the network
    seq: int | None = None  # of its delivery


_SELECT = sa.select(
    _table.c.device_number,
    _device.c.id,
    _device.c.group_id,
    _table.c.sealed_pac,
    _table.c.request,
    _table.c.state,
    _device.c.information,
    _table.c.answer,
    _table.c.seq,
).join(_device, _device.c.number == _table.c.device_number)


def insert(tx: Tx, rows: Sequence[tuple[int, str, str, int | None]]) -> None:
    """Insert (device number, sealed code, request, delivery) of each."""
    tx.execute(
        sa.insert(_table),
        [
            {
                "device_number": number,
                "sealed_pac": sealed_pac,
                "request": request,
                "state": "pending",
                "seq": seq,
                "updated_at": tx.now,
            }
            for number, sealed_pac, request, seq in rows
        ],
    )


def get(tx: Tx, device_id: str) -> Registration | None:
    row = tx.row(_SELECT.where(_device.c.id == device_id))
    return Registration(*tuple(row)) if row else None


def lock_unsent(tx: Tx, most: int) -> list[Registration]:
    """Registrations without a delivery that no other process has locked."""
    statement = (
        _SELECT.where(_table.c.state == "pending", _table.c.seq.is_(None))
        .order_by(_table.c.device_number)
        .limit(most)
        .with_for_update(of=_table, skip_locked=True)
    )
    return [Registration(*tuple(row)) for row in tx.rows(statement)]


def list_many(tx: Tx, device_numbers: Collection[int]) -> list[Registration]:
    """The registrations of devices; lock the devices first, as deleting one does."""
    if not device_numbers:
        return []
    rows = tx.fetch(LIST_MANY, numbers=device_numbers)
    return [Registration(number, id_, str(group), *row) for number, id_, group, *row in rows]


def delete(tx: Tx, device_number: int) -> None:
    tx.execute(sa.delete(_table).where(_table.c.device_number == device_number))


def set_deliveries(tx: Tx, seqs: Mapping[int, int]) -> None:
    """Set the deliveries, by device number."""
    _update_each(tx, SET_DELIVERIES, seqs)


def clear_deliveries(tx: Tx, device_numbers: Collection[int]) -> None:
    """Have them queued again, once there is an API."""
    if device_numbers:
        values = {"numbers": device_numbers, "now": tx.now}
        tx.run(CLEAR_DELIVERIES, **values)


def update_states(tx: Tx, changed: Iterable[Registration]) -> None:
    """Update the states and the network's responses; the code is dropped once registered.

    With one statement for all that are alike.
    """
    alike: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for each in changed:
        alike[each.state, each.answer].append(each.device_number)
    for (state, answer), numbers in alike.items():
        statement = SET_REGISTERED if state == "registered" else SET_STATE
        values = {"state": state, "answer": answer, "now": tx.now}
        tx.run(statement, **values, numbers=numbers)


def update_device_information(tx: Tx, information: Mapping[int, str], by: str) -> None:
    """Show the states in the information of locked devices, by device number."""
    _update_each(tx, SET_INFORMATION, information, now=tx.now, by=by)


def _update_each(
    tx: Tx, statement: Statement[Any], by_number: Mapping[int, int | str], **values: Any
) -> None:
    """Give each row a value of its own, with one statement."""
    if by_number:
        each: Any = list(by_number.values()) if tx.is_postgres else json.dumps(by_number)
        numbers = by_number
        tx.run(statement, **values, numbers=numbers, each=each)

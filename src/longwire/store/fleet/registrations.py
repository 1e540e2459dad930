"""Registrations of devices at the vendor's network, and their states."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.statement import ByEngine, Statement


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


_SELECT = """select
    r.device_number, d.id, cast(d.group_id as text), r.sealed_pac, r.request, r.state,
    d.information, r.answer, r.seq
from registration r
join device d on d.number = r.device_number"""

LIST_MANY = Statement(
    """
{select}
where r.device_number {in:numbers}
order by r.device_number
""",
    into=Registration,
    select=_SELECT,
)

GET = Statement(
    """
{select}
where d.id = :id
""",
    into=Registration,
    select=_SELECT,
)

LOCK_UNSENT = Statement(
    """
{select}
where r.state = 'pending'
    and r.seq is null
order by r.device_number
limit :most
{skip_locked:r}
""",
    into=Registration,
    select=_SELECT,
)

DELETE = Statement("""
delete from registration
where device_number = :device
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


def insert(tx: Tx, rows: Sequence[tuple[int, str, str, int | None]]) -> None:
    """Insert (device number, sealed code, request, delivery) of each."""
    columns = ("device_number", "sealed_pac", "request", "state", "seq", "updated_at")
    insert_many(
        tx,
        schema.registration,
        columns,
        [
            (number, sealed_pac, request, "pending", seq, tx.now)
            for number, sealed_pac, request, seq in rows
        ],
    )


def get(tx: Tx, device_id: str) -> Registration | None:
    return tx.first(GET, id=device_id)


def lock_unsent(tx: Tx, most: int) -> list[Registration]:
    """Registrations without a delivery that no other process has locked."""
    return tx.fetch(LOCK_UNSENT, most=most)


def list_many(tx: Tx, device_numbers: Collection[int]) -> list[Registration]:
    """The registrations of devices; lock the devices first, as deleting one does."""
    if not device_numbers:
        return []
    return tx.fetch(LIST_MANY, numbers=device_numbers)


def delete(tx: Tx, device_number: int) -> None:
    tx.run(DELETE, device=device_number)


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

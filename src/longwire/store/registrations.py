"""Registrations of devices at the vendor's network, and their states."""

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from longwire.store import schema
from longwire.store.database import Tx

_table = schema.registration
_device = schema.device


class Registration(msgspec.Struct, frozen=True):
    """A device to be registered at the vendor's network."""

    device_number: int
    device_id: str
    group_id: str
    sealed_pac: str
    request: str
    state: str
    information: str  # of the device


_SELECT = sa.select(
    _table.c.device_number,
    _device.c.id,
    _device.c.group_id,
    _table.c.sealed_pac,
    _table.c.request,
    _table.c.state,
    _device.c.information,
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


def set_deliveries(tx: Tx, seqs: Sequence[tuple[int, int]]) -> None:
    """Set the deliveries: (device number, delivery number)."""
    for number, seq in seqs:
        tx.execute(sa.update(_table).where(_table.c.device_number == number).values(seq=seq))


def update_state(tx: Tx, number: int, state: str, answer: str) -> None:
    """Update the state and the network's response; the code is dropped once registered."""
    values = {"state": state, "answer": answer, "updated_at": tx.now}
    if state == "registered":
        values["sealed_pac"] = ""
    tx.execute(sa.update(_table).where(_table.c.device_number == number).values(values))


def requeue(tx: Tx, number: int) -> None:
    """Make it pending again, without a delivery."""
    values = {"state": "pending", "seq": None, "updated_at": tx.now}
    tx.execute(sa.update(_table).where(_table.c.device_number == number).values(values))


def update_device_information(tx: Tx, number: int, information: str, by: str) -> None:
    """Show the state in the device's information."""
    tx.execute(
        sa.update(_device)
        .where(_device.c.number == number)
        .values(information=information, updated_at=tx.now, updated_by=by)
    )

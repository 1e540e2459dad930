"""The stays of a device: the groups it is or was in. Records belong to the stay they arrived in."""

from collections.abc import Sequence

import sqlalchemy as sa

from longwire.model import Device, Stay
from longwire.store import device_reports, schema
from longwire.store.bulk import insert_many
from longwire.store.database import Tx
from longwire.store.reporting_devices import ReportingDevice

_table = schema.device
_stay = schema.device_stay

ERASE_STAY = """
insert into erasure (device_number, stay, group_id)
select device_number, stay, group_id
from device_stay
where device_number = :device
    and stay = :stay
"""


def begin_new_stay(tx: Tx, device: ReportingDevice) -> None:
    """Start a new stay in the same group, so that the records of the last one can be erased."""
    tx.execute(
        sa.update(_table).where(_table.c.number == device.number).values(stay=device.stay + 1)
    )
    begin_stays(tx, [device], device.group_id)


def list_stays(tx: Tx, device: ReportingDevice | Device) -> list[Stay]:
    """The groups a device is or was in, as far as there may be records of that time."""
    statement = sa.select(_stay).where(_stay.c.device_number == device.number)
    return [Stay(row.stay, row.group_id) for row in tx.rows(statement.order_by(_stay.c.stay))]


def erase_stays(tx: Tx, gone: Sequence[tuple[int, int]]) -> None:
    """Hide the records of some stays at once; maintenance deletes them."""
    tx.touched_devices.update(device_number for device_number, _ in gone)
    for device_number, stay in gone:
        tx.execute_raw(ERASE_STAY, {"device": device_number, "stay": stay})
        tx.execute(
            sa.delete(_stay).where(_stay.c.device_number == device_number, _stay.c.stay == stay)
        )


def erase_all_stays(tx: Tx, numbers: Sequence[int]) -> None:
    """The same for all stays of some devices."""
    statement = sa.select(_stay.c.device_number, _stay.c.stay)
    stays = tx.rows(statement.where(_stay.c.device_number.in_(numbers)))
    erase_stays(tx, [(row.device_number, row.stay) for row in stays])


def begin_stays(tx: Tx, devices: Sequence[Device | ReportingDevice], group_id: str) -> None:
    tx.touched_devices.update(device.number for device in devices)
    device_reports.delete(tx, [device.number for device in devices])
    insert_many(
        tx,
        _stay,
        ("device_number", "stay", "group_id"),
        [(device.number, device.stay + 1, schema.group_number(group_id)) for device in devices],
    )

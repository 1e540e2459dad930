"""The bin: devices that a job has deleted, until they are restored or erased.

A device in the bin has no row among the devices, so that it is unreachable by anything that looks
for it there, and so are its records. Its rows are kept as they were; its number, by which its
records are found, is never used by another.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from longwire.model import Device
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.fleet import device_stays, devices, unknown_devices
from longwire.store.statement import Statement, in_unlocked

_device = schema.device
_value = schema.current_value
_VALUE_COLUMNS = tuple(column.name for column in _value.c)

_OF_JOB = """
    select number
    from binned_device
    where job_id = :job
    limit :most
"""
_OF_GROUP = """
    select number
    from binned_device
    where group_id = :home
    limit :most
"""
TAKE_OF_JOB = Statement(
    """
delete from binned_device
where number {some}
returning number
""",
    some=in_unlocked(_OF_JOB),
)
TAKE_OF_GROUP = Statement(
    """
delete from binned_device
where number {some}
returning number
""",
    some=in_unlocked(_OF_GROUP),
)
LOCK_MANY = Statement("""
select number, id, group_id, snapshot
from binned_device
where id {in:ids}
order by number
{lock}
""")
DELETE = Statement("""
delete from binned_device
where id {in:ids}
""")


@dataclass(frozen=True, slots=True)
class BinnedDevice:
    """A deleted device; what its uniqueness depends on, and its rows."""

    number: int
    id: str
    group_id: str
    type: str
    network: str
    original_key: str
    snapshot: dict[str, Any]


def insert(tx: Tx, binned: Sequence[Device], job_id: str) -> None:
    """Put devices of one group, which are locked, into the bin."""
    numbers = [device.number for device in binned]
    snapshots: dict[int, dict[str, Any]] = {
        row["number"]: {_device.name: row}
        for row in slots.fetch_rows(tx, _device, "number", numbers)
    }
    for table in devices.DEVICE_TABLES:
        for row in slots.fetch_rows(tx, table, "device_number", numbers):
            snapshots[row["device_number"]][table.name] = row
        devices.delete_rows(tx, table.name, numbers)
    for row in slots.fetch_rows(tx, _value, "device_number", numbers):
        # Many of a device, without the names of the columns.
        values = snapshots[row["device_number"]].setdefault(_value.name, [])
        values.append(list(row.values()))
    devices.delete_rows(tx, _value.name, numbers)
    insert_many(
        tx,
        schema.binned_device,
        ("number", "id", "group_id", "job_id", "snapshot"),
        [
            (
                device.number,
                device.id,
                schema.group_number(device.group_id),
                job_id,
                json.dumps(snapshots[device.number]),
            )
            for device in binned
        ],
    )
    # These are not restored: nobody knows whether the downlinks still apply.
    devices.delete_dependents(tx, numbers)
    tx.run(devices.DELETE_MANY, numbers=numbers)
    devices.adjust_count(tx, binned[0].group_id, -len(binned))
    tx.cache.touched_devices.update(numbers)


def lock_many(tx: Tx, device_ids: Sequence[str]) -> dict[str, BinnedDevice]:
    """Those of the devices that are in the bin, by id; nobody erases them meanwhile."""
    binned = [_parse(*row) for row in tx.fetch(LOCK_MANY, ids=device_ids)]
    return {each.id: each for each in binned}


def restore(tx: Tx, restored: Sequence[BinnedDevice]) -> list[str]:
    """Restore devices of one group whose original ids are free; returns their ids."""
    rows = [{**each.snapshot[_device.name], "joined_at": tx.now} for each in restored]
    slots.insert(tx, _device, rows)
    for table in devices.DEVICE_TABLES:
        rows = [each.snapshot[table.name] for each in restored if table.name in each.snapshot]
        if rows:
            slots.insert(tx, table, rows)
    values = [row for each in restored for row in each.snapshot.get(_value.name, ())]
    insert_many(tx, _value, _VALUE_COLUMNS, [(int(home), *rest) for home, *rest in values])
    ids = [each.id for each in restored]
    tx.run(DELETE, ids=ids)
    unknown_devices.delete_of_devices(tx, [each.number for each in restored])
    devices.adjust_count(tx, restored[0].group_id, len(restored))
    tx.cache.touched_devices.update(each.number for each in restored)
    return ids


def erase_some_of_job(tx: Tx, job_id: str, most: int) -> int:
    """Erase some of the devices that a job has deleted, with their records; how many."""
    return _erase(tx, tx.fetch(TAKE_OF_JOB, job=job_id, most=most))


def erase_some_of_group(tx: Tx, group_id: str, most: int) -> int:
    """Erase some devices of a group that is deleted; how many."""
    home = schema.group_number(group_id)
    return _erase(tx, tx.fetch(TAKE_OF_GROUP, home=home, most=most))


def _erase(tx: Tx, taken: Collection[tuple[Any, ...]]) -> int:
    device_stays.erase_all_stays(tx, [number for (number,) in taken])
    return len(taken)


def _parse(number: int, device_id: str, group_number: int, encoded: str) -> BinnedDevice:
    snapshot = json.loads(encoded)
    device = snapshot[_device.name]
    return BinnedDevice(
        number,
        device_id,
        str(group_number),
        device["type"],
        device["network"],
        device["original_key"],
        snapshot,
    )

"""The stays of a device: the groups it is or was in. Records belong to the stay they arrived in."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from longwire.dataclass import dataclass
from longwire.model import Device
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.fleet import device_reports
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.statement import ByEngine, Statement

_stay = schema.device_stay

# In one slot, so that Citus passes it on to one shard as it is, with the list.
TAKE_STAYS = Statement(
    ByEngine(
        sqlite="""
delete from device_stay
where (device_number, stay) in (
    select json_extract(value, '$[0]'), json_extract(value, '$[1]')
    from json_each(:stays)
)
returning device_number, stay, group_id
""",
        postgres="""
delete from device_stay s
using unnest(cast(:devices as bigint[]), cast(:stays as integer[])) gone (device_number, stay)
where s.device_number = gone.device_number
    and s.stay = gone.stay
    {slot:s}
returning s.device_number, s.stay, s.group_id
""",
    )
)


@dataclass(frozen=True, slots=True)
class Stay:
    """A period a device spent in a group; records of that period belong to that group."""

    number: int
    group_id: str


SET_STAY = Statement("""
update device
set stay = :stay
where number = :device
""")

LIST_STAYS = Statement(
    """
select stay, cast(group_id as text)
from device_stay
where device_number = :device
order by stay
""",
    into=Stay,
)

LIST_STAYS_OF = Statement("""
select device_number, stay
from device_stay
where device_number {in:numbers}
""")


def begin_new_stay(tx: Tx, device: ReportingDevice) -> None:
    """Start a new stay in the same group, so that the records of the last one can be erased."""
    tx.run(SET_STAY, device=device.number, stay=device.stay + 1)
    begin_stays(tx, [device], device.group_id)


def list_stays(tx: Tx, device: ReportingDevice | Device) -> list[Stay]:
    """The groups a device is or was in, as far as there may be records of that time."""
    return tx.fetch(LIST_STAYS, device=device.number)


def erase_stays(tx: Tx, gone: Sequence[tuple[int, int]]) -> None:
    """Hide the records of some stays at once; maintenance deletes them."""
    tx.cache.touched_devices.update(device_number for device_number, _ in gone)
    if tx.is_postgres:
        taken = _take_by_slot(tx, gone)
    else:
        taken = tx.fetch(TAKE_STAYS, stays=json.dumps(gone))
    insert_many(tx, schema.erasure, ("device_number", "stay", "group_id"), taken)


def _take_by_slot(tx: Tx, gone: Sequence[tuple[int, int]]) -> list[tuple[Any, ...]]:
    parts: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for device_number, stay in gone:
        parts[slots.get_slot_by_number(tx, device_number)].append((device_number, stay))
    taken = []
    for slot, some in sorted(parts.items()):
        devices, stays = map(list, zip(*some, strict=True))
        taken += tx.fetch(TAKE_STAYS, slot=slot, devices=devices, stays=stays)
    return taken


def erase_all_stays(tx: Tx, numbers: Sequence[int]) -> None:
    """The same for all stays of some devices."""
    erase_stays(tx, [(number, stay) for number, stay in tx.fetch(LIST_STAYS_OF, numbers=numbers)])


def begin_stays(tx: Tx, devices: Sequence[Device | ReportingDevice], group_id: str) -> None:
    tx.cache.touched_devices.update(device.number for device in devices)
    device_reports.delete(tx, [device.number for device in devices])
    insert_many(
        tx,
        _stay,
        ("device_number", "stay", "group_id"),
        [(device.number, device.stay + 1, schema.group_number(group_id)) for device in devices],
    )

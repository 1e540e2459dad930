"""Monitored devices: when each is checked next, and which are silent."""

from collections.abc import Sequence

import msgspec

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.statement import ByEngine, Statement

_table = schema.device_watch

CLEAR = Statement("""
update device_watch
set silent_at = null,
    due_at = null
where device_number {in:numbers}
""")

CLEAR_STATES = Statement("""
update device_state
set silent_at = null
where device_number {in:numbers}
    and silent_at is not null
""")

LIST_SILENT_OF = Statement(
    """
select device_number
from device_watch
where device_number {in:numbers}
    and silent_at is not null
""",
    into=int,
)

LOCK_MANY = Statement("""
select w.device_number, d.id, d.configuration, w.silent_at
from device_watch w
join device d
    on d.number = w.device_number
where d.id {in:ids}
order by w.device_number
{skip_locked:w}
""")

DELETE = Statement("""
delete from device_watch
where device_number {in:numbers}
""")

LIST_DUE = Statement("""
select d.id
from device_watch w
join device d on d.number = w.device_number
where w.due_at <= :now
order by w.due_at
limit :most
""")

_NEXT_SILENT = """
    select device_number, silent_at
    from device_watch
    where silent_at is not null
        and device_number > :after
    order by device_number
    limit :most
"""

# The limits keep PostgreSQL from reading the states of all devices, once a second.
LIST_RECOVERED = Statement(
    ByEngine(
        sqlite=f"""
select d.id
from ({_NEXT_SILENT}) w
join device_state s on s.device_number = w.device_number and s.seen_at > w.silent_at
join device d on d.number = w.device_number
""",
        postgres=f"""
with silent as materialized (
    select w.device_number, w.silent_at, d.id
    from ({_NEXT_SILENT}) w
    cross join lateral (
        select d.id
        from device d
        where d.number = w.device_number
        limit 1
    ) d
)
select w.id
from silent w
cross join lateral (
    select s.device_number
    from device_state s
    where s.device_number = w.device_number
        {{slot:s}}
        and s.seen_at > w.silent_at
    limit 1
) s
""",
    )
)

COUNT_NEXT_SILENT = Statement(f"""
select max(device_number), count(*)
from ({_NEXT_SILENT}) w
""")


LIST_STATES = Statement("""
select device_number, nullif(seen_at, :never), silent_at
from device_state
where device_number {in:numbers}
""")


LIST_NEVER_SEEN = Statement("""
select device_number
from device_state
where device_number {in:numbers}
    and seen_at = :never
""")

ADVANCE = Statement("""
update device_watch
set due_at = :now
where device_number {in:numbers}
    and due_at > :now
""")


def schedule(tx: Tx, due: Sequence[tuple[int, Moment]]) -> None:
    """Set when devices are checked next."""
    insert_many(
        tx,
        _table,
        ("device_number", "due_at"),
        sorted(due),
        OnConflict("due_at = excluded.due_at"),
        is_repeatable=True,
    )


def advance_if_never_seen(tx: Tx, device_numbers: Sequence[int]) -> None:
    """Check those of the devices now that are monitored, and were never seen before."""
    values = {"numbers": device_numbers, "never": schema.NEVER_SEEN}
    numbers = [row[0] for row in tx.fetch(LIST_NEVER_SEEN, **values)]
    if numbers:
        tx.run(ADVANCE, numbers=sorted(numbers), now=tx.now)


def clear(tx: Tx, device_numbers: Sequence[int]) -> None:
    tx.run(CLEAR, numbers=device_numbers)
    tx.run(CLEAR_STATES, numbers=device_numbers)


def list_silent(tx: Tx, device_numbers: Sequence[int]) -> frozenset[int]:
    """Those of the devices that are silent."""
    return frozenset(tx.fetch(LIST_SILENT_OF, numbers=device_numbers))


def list_due(tx: Tx, now: Moment, most: int) -> list[str]:
    """The ids of devices whose check is due."""
    return [row[0] for row in tx.fetch(LIST_DUE, now=now, most=most)]


def list_recovered(tx: Tx, after: int, most: int) -> tuple[list[str], int | None]:
    """Of the next silent devices, those seen after they became silent.

    And the number to continue after; None at the end.
    """
    values = {"after": after, "most": most}
    recovered = [
        row[0] for slot in range(tx.slots) for row in tx.fetch(LIST_RECOVERED, **values, slot=slot)
    ]
    last, count = tx.fetch(COUNT_NEXT_SILENT, **values)[0]
    return recovered, last if count == most else None


class DeviceMonitor(msgspec.Struct, frozen=True):
    """A monitored device."""

    device_number: int
    device_id: str
    configuration: str
    seen_at: Moment | None
    state_silent_at: Moment | None  # the next one, as the state of the device has it
    silent_at: Moment | None


class CheckedDevice(msgspec.Struct, frozen=True):
    """What a check of a monitored device found."""

    device_number: int
    group_number: int
    silent_at: Moment | None
    due_at: Moment | None
    is_changed: bool  # whether the state of the device has something else


def lock_many(tx: Tx, device_ids: Sequence[str]) -> list[DeviceMonitor]:
    """Lock the monitors of devices, except those locked by others.

    Lock the devices first: everybody takes the two in this order.
    """
    locked = tx.fetch(LOCK_MANY, ids=device_ids)
    if not locked:
        return []
    # Apart, because the states may be on another server than the locks.
    numbers = [number for number, *_ in locked]
    rows = tx.fetch(LIST_STATES, numbers=numbers, never=schema.NEVER_SEEN)
    states = {number: (seen_at, silent_at) for number, seen_at, silent_at in rows}
    unknown = (None, None)
    return [
        DeviceMonitor(number, device_id, configuration, *states.get(number, unknown), silent_at)
        for number, device_id, configuration, silent_at in locked
    ]


def save(tx: Tx, checked: Sequence[CheckedDevice]) -> None:
    """Store what a check found: two statements for a batch of devices."""
    insert_many(
        tx,
        _table,
        ("device_number", "silent_at", "due_at"),
        [(each.device_number, each.silent_at, each.due_at) for each in checked],
        OnConflict("silent_at = excluded.silent_at, due_at = excluded.due_at"),
        is_repeatable=True,
    )
    insert_many(
        tx,
        schema.device_state,
        ("group_id", "device_number", "silent_at"),
        [
            (each.group_number, each.device_number, each.silent_at)
            for each in checked
            if each.is_changed
        ],
        OnConflict("silent_at = excluded.silent_at"),
        is_repeatable=True,
    )


def delete(tx: Tx, device_numbers: Sequence[int]) -> None:
    tx.run(DELETE, numbers=device_numbers)

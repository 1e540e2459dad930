"""Records are deleted: at a timestamp, with an erased stay, or past their retention."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from longwire.clock import Moment
from longwire.records import KIND_NAMES
from longwire.store import slots
from longwire.store.archive import archive_files
from longwire.store.database import Tx
from longwire.store.fleet import summaries
from longwire.store.identity import group_storage
from longwire.store.records import record_expiry
from longwire.store.records.records import for_each_kind
from longwire.store.statement import Statement

# A step is short, because new records wait for it on the embedded database, and the rows may be
# anywhere in the file.
PRUNE_ROWS_MAX = 200
PRUNE_DEVICES_MAX = 200

DELETE_AT = for_each_kind(
    """
delete from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts = :ts
returning stay, length(body), body
"""
)

GET_ERASURE = Statement("""
select device_number, stay
from erasure
limit 1
""")

DELETE_ERASURE = Statement("""
delete from erasure
where device_number = :device
    and stay = :stay
""")

DELETE_STAY = for_each_kind(
    """
delete from {table}
where (device_number, stay, ts, digest) in (
    select device_number, stay, ts, digest
    from {table}
    where device_number = :device
        and stay = :stay
        {slot}
    limit :most
)
returning stay, length(body)
"""
)

DELETE_OLDER = for_each_kind(
    """
delete from {table}
where (device_number, stay, ts, digest) in (
    select r.device_number, r.stay, r.ts, r.digest
    from device_stay s
    cross join {table} r
    where s.device_number = :device
        {slot:s}
        and r.device_number = s.device_number
        and r.stay = s.stay
        {slot:r=s}
        and r.ts < :before
    limit :most
)
returning stay, length(body)
"""
)

DELETE_OLDER_OF_STAY = for_each_kind(
    """
delete from {table}
where (device_number, stay, ts, digest) in (
    select device_number, stay, ts, digest
    from {table}
    where device_number = :device
        and stay = :stay
        {slot}
        and ts < :before
    limit :most
)
returning stay, length(body)
"""
)

LIST_STAYS_OF_GROUP = Statement("""
select device_number, stay
from device_stay
where group_id = :home
    and (device_number, stay) > (:device, :stay)
order by device_number, stay
limit :most
""")

LIST_NEXT_DEVICES = Statement(
    """
select number
from device
where number > :after
order by number
limit :most
""",
    into=int,
)


def delete_at(tx: Tx, kind: str, device_number: int, stays: Sequence[int], ts: Moment) -> list[str]:
    """Delete all records of one kind at one timestamp; the bodies of those in the tables."""
    values = {**slots.key_of(tx, device_number), "ts": ts}
    archive_files.bury(tx, kind, device_number, stays, ts)
    deleted = (_delete(tx, DELETE_AT[kind], {**values, "stay": stay}) for stay in stays)
    return [body for rows in deleted for _, _, body in rows]


def _delete(
    tx: Tx, statement: Statement[tuple[Any, ...]], values: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """Delete records of a device, and subtract them from what its groups have; their rows."""
    tx.cache.touched_devices.add(values["device"])
    deleted = tx.fetch(statement, **values)
    sizes: defaultdict[int, list[int]] = defaultdict(list)
    for stay, size, *_ in deleted:
        sizes[stay].append(size)
    for stay, gone in sorted(sizes.items()):
        group_storage.add_for_stay(tx, values["device"], stay, -len(gone), -sum(gone))
    return deleted


def delete_erased(tx: Tx) -> int:
    """Delete some records of erased stays; how many, 0 when there is nothing to do."""
    waiting = tx.first(GET_ERASURE)
    if waiting is None:
        return 0
    device, stay = waiting
    values = {**slots.key_of(tx, device), "stay": stay}
    deleted = 0
    for kind in KIND_NAMES:
        most = PRUNE_ROWS_MAX - deleted
        deleted += len(_delete(tx, DELETE_STAY[kind], {**values, "most": most}))
        if deleted >= PRUNE_ROWS_MAX:
            return deleted
    tx.run(DELETE_ERASURE, device=device, stay=stay)
    summaries.delete_stay(tx, device, stay)
    return max(deleted, 1)


def delete_older_of_group(
    tx: Tx, group_number: int, before: Mapping[str, Moment], after: tuple[int, int]
) -> tuple[int, tuple[int, int] | None]:
    """Delete some records of a group that are older than a moment, by kind.

    Returns how many, and the stay to continue after; None at the end.
    """
    device, stay = after
    stays = tx.fetch(
        LIST_STAYS_OF_GROUP, home=group_number, device=device, stay=stay, most=PRUNE_DEVICES_MAX
    )
    deleted: Counter[str] = Counter()
    place: tuple[int, int] | None = after
    for device, stay in stays:
        values = {**slots.key_of(tx, device), "stay": stay}
        for kind, moment in before.items():
            most = PRUNE_ROWS_MAX - deleted.total()
            rows = _delete(
                tx, DELETE_OLDER_OF_STAY[kind], {**values, "before": moment, "most": most}
            )
            deleted[kind] += len(rows)
        if deleted.total() == PRUNE_ROWS_MAX:
            break
        place = device, stay
    else:
        place = place if len(stays) == PRUNE_DEVICES_MAX else None
    for kind, count in deleted.items():
        if count:
            record_expiry.move(tx, kind, group_number, before[kind])
    return deleted.total(), place


def delete_older(tx: Tx, kind: str, after_device: int, before: Moment) -> tuple[int, int | None]:
    """Delete some records older than a moment, of the next devices.

    Device by device, so that no index by time is needed and no step is large. Returns how many were
    deleted and the device to continue after; None at the end.
    """
    devices = tx.fetch(LIST_NEXT_DEVICES, after=after_device, most=PRUNE_DEVICES_MAX)
    deleted = 0
    for device in devices:
        most = PRUNE_ROWS_MAX - deleted
        values = {**slots.key_of(tx, device), "before": before, "most": most}
        deleted += len(_delete(tx, DELETE_OLDER[kind], values))
        if deleted == PRUNE_ROWS_MAX:
            return deleted, after_device
        after_device = device
    return deleted, after_device if devices else None

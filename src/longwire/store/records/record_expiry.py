"""Before which moment records may have been deleted because they had expired.

Of each group, and of all groups. It only moves forward, in the transaction that deletes. From this
moment on all records are there that were not deleted by somebody, so that what is made of them can
be made again; what was made of earlier ones is kept as it is.
"""

from collections.abc import Collection

from longwire.clock import Moment
from longwire.records import KIND_NAMES
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

ALL_GROUPS = int(schema.ALL_GROUPS)
NEVER: Moment = -(2**62)

MOVE = Statement("""
insert into record_expiry (group_id, kind, before)
values (:home, :kind, :before)
on conflict (group_id, kind) do update
set before = excluded.before
where record_expiry.before < excluded.before
""")

LIST_OF_GROUP = Statement("""
select kind, max(before)
from record_expiry
where group_id = :home
    or group_id = 0
group by kind
""")

GET_OF_ALL = Statement(
    """
select before
from record_expiry
where group_id = 0
    and kind = :kind
""",
    into=int,
)

LIST_OF_STAYS = Statement("""
select s.device_number, s.stay, e.before
from device_stay s
join record_expiry e
    on e.group_id = s.group_id
    and e.kind = :kind
where s.device_number {in:devices}
""")


def move(tx: Tx, kind: str, group_number: int, before: Moment) -> None:
    """Say that earlier records of a group are deleted from now on; 0 stands for all groups."""
    tx.run(MOVE, home=group_number, kind=KIND_NAMES.index(kind), before=before)


def list_of_group(tx: Tx, group_number: int) -> dict[int, Moment]:
    """By kind, where anything was deleted."""
    return dict(tx.fetch(LIST_OF_GROUP, home=group_number))


def list_begins(tx: Tx, stays: Collection[tuple[int, int, int]]) -> dict[tuple[int, int], Moment]:
    """From when on the records of a kind are all there: (device, stay, kind)."""
    devices = sorted({device for device, _, _ in stays})
    expired: dict[tuple[int, int, int], Moment] = {}
    for kind in {kind for _, _, kind in stays}:
        of_all = tx.first(GET_OF_ALL, kind=kind)
        expired |= {each: NEVER if of_all is None else of_all for each in stays if each[2] == kind}
        for device, stay, before in tx.fetch(LIST_OF_STAYS, kind=kind, devices=devices):
            key = device, stay, kind
            expired[key] = max(before, expired.get(key, NEVER))
    return {(device, stay): expired[device, stay, kind] for device, stay, kind in stays}

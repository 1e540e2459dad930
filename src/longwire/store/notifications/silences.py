"""Silences: for which alarms no messages are sent for some time."""

from collections.abc import Collection
from dataclasses import dataclass

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement, build_limited_delete


@dataclass(frozen=True, slots=True)
class Silence:
    """For which alarms no messages are sent, and when; an empty list is no condition."""

    id: str
    group_id: str
    # The highest group in which whoever created it could have changed notifications.
    reach_id: str
    subgroups: bool
    device_ids: tuple[str, ...]
    tags: tuple[str, ...]  # a device has all of them
    types: tuple[str, ...]
    severity: str | None
    begin_at: Moment
    end_at: Moment
    schedule: str | None  # JSON
    timezone: str
    reason: str
    created_at: Moment
    created_by: str


SILENCES = GroupRows(Silence, schema.silence)

LIST_LASTING = Statement(
    """
select {columns}
from silence
where group_id {in:homes}
    and end_at > :now
order by end_at, id
""",
    columns=SILENCES.sql(),
)

COUNT_LASTING = Statement(
    """
select count(*)
from silence
where group_id = :home
    and end_at > :now
""",
    into=int,
)

COUNT_HELD_BACK = Statement("""
select silence_id, count(*)
from alarm
where silence_id {in:ids}
group by silence_id
""")

DELETE_OLD = build_limited_delete("silence", "id", where="end_at < :before", order="end_at")


def list_lasting(tx: Tx, group_ids: Collection[str]) -> list[Silence]:
    """Those of some groups that are in force, or will be."""
    homes = [schema.group_number(each) for each in group_ids]
    return [SILENCES.parse(row) for row in tx.fetch(LIST_LASTING, homes=homes, now=tx.now)]


def count_lasting(tx: Tx, group_id: str) -> int:
    return tx.fetch(COUNT_LASTING, home=schema.group_number(group_id), now=tx.now)[0]


def count_held_back(tx: Tx, ids: Collection[str]) -> dict[str, int]:
    """Of how many alarms each has held messages back."""
    return dict(tx.fetch(COUNT_HELD_BACK, ids=ids)) if ids else {}


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some that ended before; how many."""
    return tx.run(DELETE_OLD, before=before, most=most)

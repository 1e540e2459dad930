"""Deletes what has expired by the retention of a group, and summaries of values.

What all groups keep for as long as the service does is deleted with less effort; see
`process/maintenance.py`. Groups take turns, in small steps; a process that dies in between has
forgotten how far it was, and the next one finds what is left.
"""

import time
from functools import partial

from longwire.clock import DAY, HOUR, Moment
from longwire.group_limits import SUMMARY, oldest_kept
from longwire.records import KIND_NAMES
from longwire.store.database import Database, Tx
from longwire.store.fleet import summaries
from longwire.store.identity import group_limits
from longwire.store.pacing import write_and_pause
from longwire.store.records import record_deletion
from longwire.work.stepper import DoneStep, Stepper

GROUPS_PER_LIST_MAX = 500
STAYS_PER_STEP_MAX = 200
BEFORE_ANY_STAY = (0, -1)
# A retention that was made shorter by mistake, also by a move, deletes nothing for so long.
CHANGED_BEFORE: Moment = DAY

Place = tuple[int, int]  # a stay of a device


async def delete_of_groups(database: Database, until: Moment) -> None:
    """Delete the records that had expired at a moment, of groups with a retention of their own."""
    places: dict[int, Place | None] = {}

    async def step(group: int) -> DoneStep | None:
        place = places.get(group, BEFORE_ANY_STAY)
        if place is None:
            return None
        began = time.monotonic()
        delete = partial(_delete_some, group_number=group, place=place, until=until)
        places[group] = await database.write(delete)
        return DoneStep(time.monotonic() - began)

    async def list_groups(after: int, most: int) -> list[int]:
        return await database.read(partial(group_limits.list_concerned, after=after, most=most))

    stepper = Stepper(
        "retention of a group",
        list_groups,
        step,
        before_any=0,
        owners_max=GROUPS_PER_LIST_MAX,
        interval_s=0,
    )
    await stepper.run_rounds()


def _delete_some(tx: Tx, group_number: int, place: Place, until: Moment) -> Place | None:
    """Where to continue; None at the end."""
    effective = group_limits.get_effective(tx, str(group_number))
    if effective.changed_at > until - CHANGED_BEFORE:
        return None
    before = {}
    for kind in KIND_NAMES:
        oldest = oldest_kept(effective.days[kind], until)
        if oldest is not None and effective.days[kind] != effective.service.get_days(kind):
            before[kind] = oldest // HOUR * HOUR
    if not before:
        return None
    return record_deletion.delete_older_of_group(tx, group_number, before, place)[1]


async def delete_summaries(database: Database) -> None:
    """Delete the summaries that have expired, of all groups."""
    place: Place | None = BEFORE_ANY_STAY
    while place is not None:
        place = await write_and_pause(database, partial(_delete_summaries, place=place))


def _delete_summaries(tx: Tx, place: Place) -> Place | None:
    stays = summaries.list_next_stays(tx, place, STAYS_PER_STEP_MAX)
    for device, stay, group_id in stays:
        effective = group_limits.get_effective(tx, group_id)
        oldest = oldest_kept(effective.days[SUMMARY], tx.now)
        if oldest is not None and effective.changed_at <= tx.now - CHANGED_BEFORE:
            summaries.delete_older(tx, device, stay, summaries.get_first_moment(oldest))
    return stays[-1][:2] if len(stays) == STAYS_PER_STEP_MAX else None

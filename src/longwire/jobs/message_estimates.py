"""How many messages a job would send: of a resend by its dead letters, of a replay by records.

Bounded: what cannot be looked at within a second is estimated, or left out of the count.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from longwire.delivery.connectors.replay_estimates import ReplayEstimator
from longwire.fleet.computing import Computing
from longwire.identity import access
from longwire.jobs.kinds import MessageTask, ReplayTask, ResendTask
from longwire.jobs.messages import require_connector, select_devices
from longwire.jobs.selection import SAMPLE_MAX, DeviceSelection
from longwire.model import Actor
from longwire.store.database import Database, Tx
from longwire.store.delivery import dead_letters as store_dead_letters
from longwire.store.records.arrival_numbers import BEFORE_ANY_ARRIVAL

DEAD_LETTERS_PER_STEP_MAX = 500
DEAD_LETTERS_MAX = 10_000
SECONDS_MAX = 1.0


@dataclass(frozen=True, slots=True)
class MessageEstimate:
    """How many messages, and the numbers of the records that some of them are about."""

    total: int
    is_all: bool  # else there are more, or it is an estimate
    sample: list[int]


async def estimate_messages(
    database: Database,
    actor: Actor,
    task: MessageTask,
    selection: DeviceSelection,
    computing: Computing,
) -> MessageEstimate:
    if isinstance(task, ResendTask):
        return await _count_dead_letters(database, actor, task, selection)
    return await _estimate_replay(database, actor, task, selection, computing)


async def _estimate_replay(
    database: Database,
    actor: Actor,
    task: ReplayTask,
    selection: DeviceSelection,
    computing: Computing,
) -> MessageEstimate:
    select = partial(select_devices, actor=actor, selection=selection)
    estimator = ReplayEstimator(database, computing.threads.run, computing.previews, select)
    found = await estimator.estimate(
        actor, selection.group_id, task.connector_id, task.begin_date, task.end_date
    )
    return MessageEstimate(found.estimated_matches, found.is_all, estimator.sample[:SAMPLE_MAX])


async def _count_dead_letters(
    database: Database, actor: Actor, task: ResendTask, selection: DeviceSelection
) -> MessageEstimate:
    total, looked_at, after = 0, 0, BEFORE_ANY_ARRIVAL
    sample: list[int] = []
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        read = partial(_read_dead_letters, actor=actor, task=task, selection=selection, after=after)
        found, selected = await database.read(read)
        matching = [seq for seq, device_id in found if device_id in selected]
        total += len(matching)
        sample += matching[: SAMPLE_MAX - len(sample)]
        looked_at += len(found)
        if len(found) < DEAD_LETTERS_PER_STEP_MAX:
            return MessageEstimate(total, True, sample)
        if looked_at >= DEAD_LETTERS_MAX or time.monotonic() > deadline:
            return MessageEstimate(total, False, sample)
        after = found[-1][0]


def _read_dead_letters(
    tx: Tx, actor: Actor, task: ResendTask, selection: DeviceSelection, after: int
) -> tuple[Sequence[tuple[int, str]], Collection[str]]:
    scope = access.authorize(tx, actor, "connector.resend", selection.group_id)
    connector = require_connector(tx, scope, task)
    found = store_dead_letters.list_dead_letters(
        tx, connector.number, after, tx.now, DEAD_LETTERS_PER_STEP_MAX
    )
    devices = {device_id for _, device_id in found}
    return found, select_devices(tx, devices, actor=actor, selection=selection)

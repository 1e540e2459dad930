"""The steps of a job that decodes stored payloads again.

Decoding takes time and may wait for its turn, so no transaction is open meanwhile: a step finds
some records, decodes them, and stores the result if the job is still ours.
"""

from dataclasses import dataclass

import msgspec

from longwire.errors import TooManyRequests
from longwire.fleet import redecoding
from longwire.fleet.computing import Computing
from longwire.fleet.redecoding import RedecodeBatch, RedecodedBatch
from longwire.identity import access
from longwire.jobs import selection as selections
from longwire.jobs.kinds import PERMISSIONS, RedecodeTask, decode_task
from longwire.jobs.results import JobFailed, StepPostponed, StepResult
from longwire.jobs.selection import BEGIN, SelectionPosition, decode_selection
from longwire.model import Actor, ItemOutcome, Job, JobCounts, JobItem, PageRequest
from longwire.store.database import Database, Tx
from longwire.store.fleet import reporting_devices
from longwire.store.identity import credentials

DEVICES_PER_STEP_MAX = 50
RECORDS_PER_STEP_MAX = 100

REJECTED = "rejected"  # by the decoder


class _Cursor(msgspec.Struct, frozen=True):
    """Up to which device, and up to which record of the devices that follow."""

    position: SelectionPosition = BEGIN
    after: tuple[int | str, ...] | None = None


_cursors = msgspec.json.Decoder(_Cursor | None)


@dataclass(frozen=True, slots=True)
class _FoundBatch:
    """Some records, of which devices, and where these end; None at the end of the selection."""

    batch: RedecodeBatch
    devices: int
    following: SelectionPosition | None


@dataclass(frozen=True, slots=True)
class DecodedStep:
    """What a step has decoded, to be stored."""

    batch: RedecodedBatch
    devices_done: int
    cursor: str | None


async def decode_step(database: Database, computing: Computing, job: Job) -> DecodedStep:
    """Find the next records of a job and decode them."""
    cursor = _cursors.decode(job.cursor) or _Cursor()
    found = await database.read(lambda tx: _find(tx, job, cursor))
    try:
        if found.batch.items:
            group_id = found.batch.items[0].device.group_id
            batch = await computing.threads.run(
                group_id, redecoding.redecode_batch, found.batch, computing.codecs
            )
        else:
            batch = redecoding.redecode_batch(found.batch, computing.codecs)
    except TooManyRequests:
        raise StepPostponed from None  # the group has used up its budget
    if batch.last_key is not None:
        following = _Cursor(cursor.position, batch.last_key)
    elif found.following is not None:
        following = _Cursor(found.following)
    else:
        return DecodedStep(batch, found.devices, None)
    done = 0 if following.after else found.devices
    return DecodedStep(batch, done, msgspec.json.encode(following).decode())


def _find(tx: Tx, job: Job, cursor: _Cursor) -> _FoundBatch:
    task = decode_task(job)
    assert isinstance(task, RedecodeTask)
    actor = credentials.get_actor(tx, job.actor_kind, job.actor_id)
    if actor is None:
        raise JobFailed("actor_gone")
    selection = decode_selection(job)
    scope = access.authorize_tree(
        tx, actor, PERMISSIONS[RedecodeTask], job.group_id, subgroups=selection.subgroups
    )
    taken = selections.take(tx, scope, job, cursor.position, DEVICES_PER_STEP_MAX)
    found = []
    for group_id, device_ids in taken.by_group.items():
        present = reporting_devices.get_reporting(tx, device_ids).values()
        found += [device for device in present if device.group_id == group_id]
    found.sort(key=lambda device: device.number)
    request = PageRequest(RECORDS_PER_STEP_MAX, cursor.after)
    batch = redecoding.find_in_devices(tx, actor, found, task.begin_date, task.end_date, request)
    return _FoundBatch(batch, taken.count, taken.position)


def store_step(tx: Tx, actor: Actor, job: Job, decoded: DecodedStep) -> StepResult:
    """Store what was decoded, of records that have not changed meanwhile."""
    access.authorize(tx, actor, PERMISSIONS[RedecodeTask], job.group_id)
    changed = redecoding.store_batch(tx, actor, decoded.batch)
    failed = decoded.batch.failed_devices
    return StepResult(
        [JobItem(device_id, ItemOutcome.FAILED, REJECTED) for device_id in failed],
        decoded.cursor,
        JobCounts(
            decoded.devices_done,
            changed,
            decoded.batch.examined - changed - decoded.batch.failed,
            decoded.batch.failed,
        ),
    )

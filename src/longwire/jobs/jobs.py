"""Jobs: start, get, list, cancel and undo them; and advance one by a step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from longwire.clock import HOUR, Moment
from longwire.delivery.connectors import connectors
from longwire.errors import (
    Conflict,
    FieldError,
    NotAllowed,
    NotFound,
    invalid_field,
    not_found,
)
from longwire.fleet import device_types
from longwire.identity import access
from longwire.ids import new_id
from longwire.jobs import selection as selections
from longwire.jobs.kinds import (
    EXPORT,
    PERMISSIONS,
    READ,
    UNDO,
    UNDOABLE,
    ExportTask,
    MessageTask,
    StartableTask,
    Task,
    TransferTask,
    TypeTask,
    UndoTask,
    decode_task,
    encode_task,
    kind_of,
    permission_of,
)
from longwire.jobs.messages import require_connector
from longwire.jobs.results import StepResult
from longwire.jobs.selection import DeviceSelection, Estimate, encode_selection
from longwire.jobs.steps import UNCHANGED, StepContext, run_step
from longwire.model import (
    Actor,
    ItemOutcome,
    Job,
    JobItem,
    JobState,
    Page,
    PageRequest,
    Scope,
)
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.fleet import devices as store_devices
from longwire.store.identity import audit, credentials, request_owners
from longwire.store.jobs import job_results
from longwire.store.jobs import jobs as store
from longwire.store.jobs.jobs import JOB_ITEMS, JOBS, OPEN_STATES

UNDO_HOURS = 24
RESULT_HOURS = 24
# Of what was skipped or failed, so many are listed; all are counted.
PROBLEMS_KEPT_MAX = 10_000
# Old values that are kept for an undo.
KEPT_CHARACTERS_MAX = 64 * 1024 * 1024

NOT_ALLOWED = "not_allowed"
ACTOR_GONE = "actor_gone"


@dataclass(frozen=True, slots=True)
class JobDraft:
    """A job as requested."""

    task: StartableTask
    selection: DeviceSelection
    reason: str


# --- start ---


def estimate(tx: Tx, actor: Actor, draft: JobDraft) -> Estimate:
    """What a job would do, if the actor may start it: how many devices, and some of them."""
    _check(tx, actor, draft)
    selection = draft.selection
    if isinstance(draft.task, ExportTask) and draft.task.content != "devices":
        return Estimate(0)
    scope = access.authorize_tree(
        tx, actor, READ, selection.group_id, subgroups=selection.subgroups
    )
    return selections.estimate(tx, scope, selection)


def start_job(tx: Tx, actor: Actor, draft: JobDraft, estimated: Estimate, quotas: Quotas) -> Job:
    """Create a job; its steps follow."""
    _check(tx, actor, draft)
    job = _build(tx, actor, draft.selection, draft.task, draft.reason)
    if isinstance(draft.task, ExportTask):
        kept = job_results.count_bytes(tx, job.owner_id)
        quotas.require_room("export_bytes_per_owner_max", kept)
    if isinstance(draft.task, MessageTask):
        # What it goes through is not counted before.
        scope = access.authorize(tx, actor, PERMISSIONS[type(draft.task)], job.group_id)
        connector = require_connector(tx, scope, draft.task)
        connectors.KIND.log(tx, actor, job.kind, connector, detail=job.id)
    elif not estimated.is_more:
        job = replace(job, total=estimated.total)
    return _insert(tx, actor, job, quotas)


def _check(tx: Tx, actor: Actor, draft: JobDraft) -> None:
    """Whether the actor may do that, and whether what is named exists."""
    group_id, task = draft.selection.group_id, draft.task
    access.authorize(tx, actor, READ, group_id)
    scope = access.authorize(tx, actor, permission_of(task), group_id)
    if isinstance(task, TransferTask):
        field = "parameters.to_group_id"
        access.authorize(tx, actor, "device.create", task.to_group_id, field=field)
        if task.to_group_id == group_id and not draft.selection.subgroups:
            raise invalid_field(field, "is the group the devices are in already")
    if isinstance(task, TypeTask):
        device_types.require_usable(tx, task.type, group_id, "parameters.type")
    if isinstance(task, MessageTask):
        require_connector(tx, scope, task)
    if draft.selection.device_ids is not None:
        _require_devices(tx, scope, draft.selection.device_ids)


def _require_devices(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> None:
    found = store_devices.list_present(tx, scope, device_ids)
    missing = [index for index, each in enumerate(device_ids) if each not in found]
    if missing:
        raise NotFound(
            field_errors=[
                FieldError(f"device_ids[{index}]", "names no device in this group")
                for index in missing
            ]
        )


def _build(tx: Tx, actor: Actor, selection: DeviceSelection, task: Task, reason: str) -> Job:
    assert actor.kind in ("user", "client")
    return Job(
        id=new_id("job"),
        kind=kind_of(task),
        group_id=selection.group_id,
        owner_id=request_owners.get_owner_id(tx, selection.group_id),
        actor_kind=actor.kind,
        actor_id=actor.id,
        origin=tx.origin,
        reason=reason,
        task=encode_task(task),
        selection=encode_selection(tx, selection),
        created_at=tx.now,
        updated_at=tx.now,
    )


def _insert(tx: Tx, actor: Actor, job: Job, quotas: Quotas) -> Job:
    locks.acquire_lock(tx, "jobs of group", job.group_id)  # for the limit
    quotas.require_room(
        "jobs_per_group_max", JOBS.count(tx, group_id=job.group_id, state=OPEN_STATES)
    )
    JOBS.insert(tx, job, lease_until=0)
    audit.log(
        tx, actor, "job.create", job.id, group_id=job.group_id, detail=f"{job.kind} {job.reason}"
    )
    return job


# --- get, list, cancel, undo ---


def get_job(tx: Tx, actor: Actor, group_id: str, job_id: str) -> Job:
    scope = access.authorize(tx, actor, READ, group_id)
    job = JOBS.get(tx, scope, job_id)
    if job is None:
        raise not_found("job_id", "job of this group")
    return job


def list_jobs(
    tx: Tx,
    actor: Actor,
    group_id: str,
    state: JobState | None,
    request: PageRequest,
    *,
    subgroups: bool = False,
) -> Page[Job]:
    """The jobs of a group, with those of groups below or without, newest first."""
    scope = access.authorize_tree(tx, actor, READ, group_id, subgroups=subgroups)
    conditions: dict[str, object] = {} if subgroups else {"group_id": group_id}
    if state is not None:
        conditions["state"] = state
    return JOBS.page(tx, scope, request, order="-created_at id", **conditions)


def list_items(
    tx: Tx,
    actor: Actor,
    group_id: str,
    job_id: str,
    outcome: ItemOutcome | None,
    request: PageRequest,
) -> Page[JobItem]:
    """What became of single devices, in the order in which they were processed."""
    job = get_job(tx, actor, group_id, job_id)
    conditions = {"job_id": job.id} | ({} if outcome is None else {"outcome": outcome})
    return JOB_ITEMS.page(tx, request, order="number", **conditions)


def cancel_job(tx: Tx, actor: Actor, group_id: str, job_id: str) -> Job:
    """Do no further step; what is done stays done. A job that has ended is unchanged."""
    job = _lock(tx, actor, group_id, job_id)
    if not job.state.is_open:
        return job
    cancelled = _end(tx, job, JobState.CANCELLED)
    store.save(tx, job, cancelled)
    audit.log(tx, actor, "job.cancel", job.id, group_id=group_id)
    return cancelled


def undo_job(tx: Tx, actor: Actor, group_id: str, job_id: str, reason: str, quotas: Quotas) -> Job:
    """Start a job that undoes another one."""
    job = _lock(tx, actor, group_id, job_id)
    task = decode_task(job)
    if isinstance(task, TransferTask):
        access.authorize(tx, actor, PERMISSIONS[TransferTask], task.to_group_id)
        access.authorize(tx, actor, "device.create", group_id)
    if job.state.is_open:
        raise Conflict("The job has not ended; cancel it first.")
    if job.undo_until is None or job.undo_until <= tx.now:
        raise Conflict("The job cannot be undone: it changed nothing, or it ended too long ago.")
    if job.undone_by is not None and get_job(tx, actor, group_id, job.undone_by).state.is_open:
        raise Conflict("The job is being undone.")
    selection = DeviceSelection(job.group_id)
    undo = _build(tx, actor, selection, UndoTask(job.id), reason)
    undo = replace(undo, total=job.counts.changed, undo_of=job.id)
    store.save(tx, job, replace(job, undone_by=undo.id))
    return _insert(tx, actor, undo, quotas)


def _lock(tx: Tx, actor: Actor, group_id: str, job_id: str) -> Job:
    """A job that the actor could have started."""
    get_job(tx, actor, group_id, job_id)
    scope = access.authorize(tx, actor, READ, group_id)
    job = JOBS.lock(tx, scope, job_id)
    if job is None:
        raise not_found("job_id", "job of this group")
    task = decode_task(job)
    if isinstance(task, UndoTask):
        undone = JOBS.get(tx, scope, task.job_id)
        task = decode_task(undone) if undone is not None else task
    access.authorize(tx, actor, permission_of(task), group_id)
    return job


# --- files of exports ---


def get_result(tx: Tx, actor: Actor, group_id: str, job_id: str) -> tuple[Job, ExportTask]:
    """A job whose file the actor may read now."""
    job = get_job(tx, actor, group_id, job_id)
    task = decode_task(job)
    if not isinstance(task, ExportTask):
        raise not_found("job_id", "export of this group")
    access.authorize(tx, actor, permission_of(task), group_id)
    if task.content == "audit" and (actor.kind, actor.id) != (job.actor_kind, job.actor_id):
        # What it shows of people depends on who reads it.
        raise NotAllowed("Only whoever has started an export of the audit log can get its file.")
    if not has_result(job, tx.now):
        raise Conflict("The job has no file: it has not succeeded, or the file has expired.")
    return job, task


def has_result(job: Job, now: Moment) -> bool:
    is_kept = job.result_until is not None and job.result_until > now
    return is_kept and job.state == JobState.SUCCEEDED


def read_result(tx: Tx, actor: Actor, group_id: str, job_id: str, number: int) -> bytes | None:
    """A part of the file; None behind its end."""
    job, _ = get_result(tx, actor, group_id, job_id)
    return job_results.read_chunk(tx, job, number)


def delete_result(tx: Tx, actor: Actor, group_id: str, job_id: str) -> Job:
    """Delete the file of a job before it expires; its chunks are deleted in the background."""
    job = _lock(tx, actor, group_id, job_id)
    if not has_result(job, tx.now):
        return job
    without = replace(job, result_until=tx.now)
    store.save(tx, job, without)
    audit.log(tx, actor, "job.deleteResult", job.id, group_id=group_id)
    return without


# --- steps ---


def advance(
    tx: Tx, job_id: str, fence: int, lease_until: Moment, context: StepContext
) -> Job | None:
    """Do the next step of a job and prolong its lease; None if it is not ours any more.

    What the step did and how far the job is are committed together.
    """
    job = store.lock_leased(tx, job_id, fence)
    if job is None:
        return None
    actor = credentials.get_actor(tx, job.actor_kind, job.actor_id)
    if actor is None:
        return fail(tx, job_id, fence, ACTOR_GONE)
    tx.origin = job.origin
    store.JOB_LEASES.renew(tx, job.id, token=fence, until=lease_until)
    advanced = _record(tx, job, run_step(tx, actor, job, context))
    store.save(tx, job, advanced)
    return advanced


def fail(tx: Tx, job_id: str, fence: int, code: str) -> Job | None:
    """End a job that cannot go on."""
    job = store.lock_leased(tx, job_id, fence)
    if job is None:
        return None
    failed = replace(_end(tx, job, JobState.FAILED), error=code)
    store.save(tx, job, failed)
    return failed


def _record(tx: Tx, job: Job, result: StepResult) -> Job:
    """The job after a step, whose results are stored."""
    kept, characters = _select_kept(job, result.items)
    store.insert_items(tx, job.id, kept)
    if job.undo_of is not None:
        store.mark_undone(tx, job.undo_of, result.undone)
    job = replace(
        job,
        state=JobState.RUNNING,
        started_at=job.started_at or tx.now,
        counts=job.counts.plus(result.counts),
        kept_characters=characters,
        result_bytes=job.result_bytes + result.added_bytes,
        cursor=result.cursor or job.cursor,
    )
    return job if result.cursor is not None else _end(tx, job, JobState.SUCCEEDED)


def _select_kept(job: Job, items: Sequence[JobItem]) -> tuple[list[JobItem], int]:
    """The items to store, and the characters of old values that are kept then."""
    problems = job.counts.skipped + job.counts.failed
    characters = job.kept_characters
    kept = []
    for each in items:
        if each.outcome == ItemOutcome.CHANGED:
            if job.kind == UNDO:
                continue
            characters += len(each.old_values or "")
            is_kept = characters <= KEPT_CHARACTERS_MAX
            kept.append(each if is_kept else replace(each, old_values=None))
        elif each.code != UNCHANGED and problems < PROBLEMS_KEPT_MAX:
            problems += 1
            kept.append(each)
    return kept, characters


def _end(tx: Tx, job: Job, state: JobState) -> Job:
    is_undoable = job.kind in UNDOABLE and job.counts.changed > 0
    result_hours = RESULT_HOURS if state == JobState.SUCCEEDED else 0
    return replace(
        job,
        state=state,
        ended_at=tx.now,
        undo_until=tx.now + UNDO_HOURS * HOUR if is_undoable else None,
        result_until=tx.now + result_hours * HOUR if job.kind == EXPORT else None,
    )

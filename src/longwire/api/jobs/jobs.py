"""Operations on jobs: work by filter over many devices, with progress, cancel and undo; exports."""

import dataclasses
import time
from collections.abc import AsyncGenerator
from functools import partial

from longwire.api.jobs.job_replies import (
    Job,
    JobConnection,
    JobItem,
    JobItemConnection,
    JobReturn,
    JobSample,
    show_job,
)
from longwire.api.jobs.job_requests import (
    JobInput,
    JobItemsQuery,
    JobQuery,
    JobRef,
    JobsQuery,
    JobUndo,
    build_draft,
)
from longwire.api.records.export_streams import CHUNK_BYTES
from longwire.api.records.exports import (
    STREAM,
    build_export,
    decode_export_query,
    read_rows,
)
from longwire.api.services import AsyncContext, Context
from longwire.errors import BadInput, FieldError, NotFound, not_found
from longwire.ids import format_record_id
from longwire.jobs import jobs
from longwire.jobs.kinds import (
    READ,
    ExportTask,
    MessageTask,
)
from longwire.jobs.message_estimates import MessageEstimate, estimate_messages
from longwire.jobs.selection import Estimate
from longwire.model import ItemOutcome, JobState
from longwire.store.archive.archive_reads import read_with_archive
from longwire.web.routing import Route, StreamResponse

# Of a dry run.
COUNTED_ROWS_MAX = 10_000
COUNTING_SECONDS_MAX = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class EstimatedJob:
    """How much a job takes, and what a dry run says of its messages."""

    estimate: Estimate
    messages: MessageEstimate | None = None


async def _estimate(context: AsyncContext, draft: jobs.JobDraft, body: JobInput) -> EstimatedJob:
    """Count the devices, or what the job is about, while no transaction waits for it."""
    actor = context.actor
    estimated = await context.read(lambda tx: jobs.estimate(tx, actor, draft))
    if isinstance(draft.task, ExportTask) and draft.task.content != "devices":
        return EstimatedJob(await _count_rows(context, draft.task))
    if isinstance(draft.task, MessageTask) and body.dry_run:
        messages = await estimate_messages(
            context.database, actor, draft.task, draft.selection, context.services.computing
        )
        return EstimatedJob(estimated, messages)
    return EstimatedJob(estimated)


def _in_parameters(error: NotFound | BadInput) -> NotFound | BadInput:
    """The same error, about fields of the parameters."""
    named = [
        each if each.field == "group_id" else FieldError(f"parameters.{each.field}", each.message)
        for each in error.field_errors
    ]
    return type(error)(field_errors=named)


async def _count_rows(context: AsyncContext, task: ExportTask) -> Estimate:
    """The rows of an export, as far as they can be read within a second."""
    total, cursor = 0, "null"
    deadline = time.monotonic() + COUNTING_SECONDS_MAX
    while True:
        read = partial(read_rows, actor=context.actor, task=task, cursor=cursor)
        try:
            rows = await read_with_archive(context.database, read)
        except (NotFound, BadInput) as error:
            raise _in_parameters(error) from None
        total += rows.count
        if rows.cursor is None:
            return Estimate(total)
        if total >= COUNTED_ROWS_MAX or time.monotonic() > deadline:
            return Estimate(total, is_more=True)
        cursor = rows.cursor


# --- operations ---


async def start_job(context: AsyncContext, body: JobInput) -> JobReturn:
    """Start a job.

    It works in the background, in small steps, with the permissions that its starter has at each
    step; see `GET /job`. With `dryRun` nothing is started: the response has the number of devices
    and some of them. `filter` is evaluated when a device is reached; devices that are created later
    are not part of the job.
    """
    draft = build_draft(body, context.limits.tags_max)
    found = await _estimate(context, draft, body)
    estimated, messages = found.estimate, found.messages
    is_of_rows = isinstance(draft.task, ExportTask) and draft.task.content != "devices"
    unit = "rows" if is_of_rows else "devices"
    counted = f"{'more than ' if estimated.is_more else ''}{estimated.total} {unit}"
    if body.dry_run:
        return JobReturn(
            message=f"It would take {counted}.",
            dry_run=True,
            total=estimated.total,
            total_is_more=estimated.is_more,
            sample=None if is_of_rows else [JobSample.show(each) for each in estimated.sample],
            messages=None if messages is None else messages.total,
            messages_is_more=messages is not None and not messages.is_all,
            message_sample=(
                None if messages is None else [format_record_id(each) for each in messages.sample]
            ),
        )
    quotas = context.services.quotas
    job = await context.write(
        lambda tx: jobs.start_job(tx, context.actor, draft, estimated, quotas)
    )
    return JobReturn(
        message=f"Started, for {counted}.",
        total=estimated.total,
        total_is_more=estimated.is_more,
        job=show_job(job, now=context.now),
    )


def get_job(context: Context, query: JobQuery) -> Job:
    """Get a job and its progress."""
    job = jobs.get_job(context.tx, context.actor, query.group_id, query.job_id)
    return show_job(job, now=context.tx.now)


def list_jobs(context: Context, query: JobsQuery) -> JobConnection:
    """List the jobs of a group.

    Newest first, with who started them and why; with `subgroups` also those of the groups below.
    """
    state = None if query.state is None else JobState(query.state)
    page = jobs.list_jobs(
        context.tx,
        context.actor,
        query.group_id,
        state,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return JobConnection.show(context, query, page, partial(show_job, now=context.tx.now))


def list_job_items(context: Context, query: JobItemsQuery) -> JobItemConnection:
    """List what a job did with single devices.

    In the order in which they were processed. Those that were changed are listed as long as the job
    can be undone; of those that were skipped or failed, the first 10,000. Devices for which there
    was nothing to change are only counted.
    """
    outcome = None if query.outcome is None else ItemOutcome(query.outcome)
    page = jobs.list_items(
        context.tx,
        context.actor,
        query.group_id,
        query.job_id,
        outcome,
        context.page_tokens.page_request(query),
    )
    return JobItemConnection.show(context, query, page, JobItem.show)


def cancel_job(context: Context, body: JobRef) -> Job:
    """Cancel a job.

    What it has done stays done, and can be undone; messages that a resend or replay has queued are
    still sent, see `POST /connector/messages/cancel`. A job that has ended is unchanged.
    """
    job = jobs.cancel_job(context.tx, context.actor, body.group_id, body.job_id)
    return show_job(job, now=context.tx.now)


def undo_job(context: Context, body: JobUndo) -> Job:
    """Undo a job.

    For 24 hours after its end. The undo is a job as well, which is returned. It skips devices that
    were changed since, and lists them with `GET /job/items`.
    """
    undo = jobs.undo_job(
        context.tx,
        context.actor,
        body.group_id,
        body.job_id,
        body.reason or "",
        context.services.quotas,
    )
    return show_job(undo, now=context.tx.now)


async def get_result(context: AsyncContext, query: JobQuery) -> StreamResponse:
    """Get the file of an export.

    For 24 hours after the end of the job, for everybody who may export the same; of the audit log,
    for whoever has started the job.
    """
    job, task = await context.read(
        lambda tx: jobs.get_result(tx, context.actor, query.group_id, query.job_id)
    )
    export = build_export(decode_export_query(task))
    return StreamResponse(
        _stream_result(context, query, job.result_bytes), export.media_type, export.headers
    )


async def _stream_result(
    context: AsyncContext, query: JobQuery, size: int
) -> AsyncGenerator[bytes, None]:
    number = sent = 0
    while sent < size:
        actor = await context.reauthenticate()
        read = partial(
            jobs.read_result,
            actor=actor,
            group_id=query.group_id,
            job_id=query.job_id,
            number=number,
        )
        content = await context.read(read)
        if content is None:
            raise not_found("job_id", "file of an export")  # it is being deleted
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]
        sent += len(content)
        number += 1


def delete_result(context: Context, query: JobQuery) -> Job:
    """Delete the file of an export before it expires.

    It makes room for others. A job without a file is unchanged.
    """
    job = jobs.delete_result(context.tx, context.actor, query.group_id, query.job_id)
    return show_job(job, now=context.tx.now)


_AS_SINGLE = (
    "in groupId; and what the single operation needs: device.transfer (and device.create in"
    " parameters.toGroupId), device.delete, device.update, record.create, connector.resend, or"
    " record.read, connector.read or audit.read for an export"
)
_route = partial(Route, tag="Jobs", is_addition=True, object_rule="in the group of the job")

ROUTES = [
    _route(
        "POST",
        "/job",
        start_job,
        READ,
        object_rule=_AS_SINGLE,
        in_turns=True,
        per_minute_max=60,
        conflicts="The group has too many jobs.",
        is_bulk=True,
    ),
    _route("GET", "/job", get_job, READ),
    _route("GET", "/jobs", list_jobs, READ, object_rule="in the group"),
    _route("GET", "/job/items", list_job_items, READ),
    _route(
        "GET",
        "/job/result",
        get_result,
        READ,
        object_rule="in the group of the job; and what starting it needs",
        stream=STREAM,
        conflicts="The job has not succeeded, or its file has expired.",
    ),
    _route(
        "DELETE",
        "/job/result",
        delete_result,
        READ,
        object_rule="in the group of the job; and what starting it needs",
    ),
    _route(
        "POST",
        "/job/cancel",
        cancel_job,
        READ,
        object_rule="in the group of the job; and what starting it needs",
    ),
    _route(
        "POST",
        "/job/undo",
        undo_job,
        READ,
        object_rule="in the group of the job; and what starting it needs, the other way round",
        conflicts="The job has not ended, is being undone, or cannot be undone any more.",
        per_minute_max=60,
    ),
]

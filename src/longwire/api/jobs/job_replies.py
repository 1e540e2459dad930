"""What operations on jobs respond with."""

import dataclasses
from typing import Annotated, Any

from msgspec import Meta, field
from msgspec.structs import asdict

from longwire.api.fleet.device_shapes import DeviceFilterFields
from longwire.api.jobs.job_requests import EXPORT_PARAMETERS, JobId
from longwire.api.records.arrivals import RecordId
from longwire.api.records.exports import (
    decode_export_query,
)
from longwire.api.replies import Page, Shown
from longwire.api.types import (
    DeviceId,
    RecordKindName,
    parse_period,
)
from longwire.clock import Moment
from longwire.dates import format_date, format_optional_date
from longwire.jobs import jobs
from longwire.jobs.kinds import (
    EXPORT_PERMISSIONS,
    NO_UNDO,
    UNDOABLE,
    DeleteTask,
    ExportTask,
    Task,
    UndoTask,
    decode_task,
)
from longwire.jobs.selection import decode_selection
from longwire.model import Device, ItemOutcome, JobState
from longwire.model import Job as JobValue
from longwire.model import JobItem as JobItemValue
from longwire.web.fields import Count, DateText, Reply, words


class JobFilterReply(Reply, DeviceFilterFields, omit_defaults=True):
    """The filter of a job."""

    subgroups: Annotated[bool, Meta(description="Of the groups below as well.")] = False


class JobParametersReply(Reply):
    """The parameters of a job; those that its kind has."""

    to_group_id: Annotated[str, Meta(description="The group to transfer to.")] | None = None
    add_tags: Annotated[list[str], Meta(description="Tags to add.")] | None = None
    remove_tags: Annotated[list[str], Meta(description="Tags to remove.")] | None = None
    type: Annotated[str, Meta(description="The new device type.")] | None = None
    configuration: Annotated[str, Meta(description="The new configuration.")] | None = None
    connector_id: Annotated[str, Meta(description="The connector.")] | None = None
    begin_date: DateText | None = None
    end_date: DateText | None = None
    content: (
        Annotated[
            str, words("ExportContent", EXPORT_PERMISSIONS), Meta(description="What is exported.")
        ]
        | None
    ) = None
    format: Annotated[str, Meta(description="Of an export.")] | None = None
    record_kind: Annotated[RecordKindName, Meta(description="Of the exported records.")] | None = (
        None
    )
    device_id: Annotated[str, Meta(description="Of an export: of this device.")] | None = None
    object_id: Annotated[str, Meta(description="Of an export: of this object.")] | None = None
    actor_id: Annotated[str, Meta(description="Of an export: by whom.")] | None = None
    action: Annotated[str, Meta(description="Of an export: this action.")] | None = None
    subgroups: (
        Annotated[bool, Meta(description="Of an export: of the groups below as well.")] | None
    ) = None


class JobResult(Reply, kw_only=True):
    """The file that an export has written, for `GET /job/result`."""

    bytes: Annotated[Count, Meta(description="How large it is.", examples=[48_211_904])]
    expires_at: Annotated[DateText, Meta(description="When it is deleted.")]


class Job(Shown[JobValue], kw_only=True):
    """Work with many devices, and how far it is."""

    id: JobId = field(name="jobId")
    group_id: str
    kind: Annotated[
        str,
        words("JobKind", sorted(UNDOABLE | NO_UNDO.keys())),
        Meta(description="What it does with each device.", examples=["tag"]),
    ]
    state: Annotated[
        str,
        words("JobState", list(JobState)),
        Meta(
            description="`waiting`, `running`, `succeeded`, `failed` or `cancelled`.",
            examples=["running"],
        ),
    ]
    error: Annotated[str, Meta(description="The code of why it failed.")] | None = None
    reason: Annotated[str, Meta(description="Why it was started.")] | None = None
    parameters: JobParametersReply | None = None
    filter: JobFilterReply | None = None
    total: (
        Annotated[int, Meta(description="The devices or rows to process, if they were counted.")]
        | None
    ) = None
    done: Annotated[Count, Meta(description="The devices or rows that were processed.")]
    changed: Annotated[Count, Meta(description="Of these, those that were changed.")]
    skipped: Annotated[Count, Meta(description="Those for which there was nothing to do.")]
    failed: Annotated[Count, Meta(description="Those for which it was not possible.")]
    actor_id: Annotated[str, Meta(description="The user or app client that started it.")] = field(
        name="createdBy"
    )
    created_at: DateText
    started_at: DateText | None = None
    updated_at: DateText
    ended_at: DateText | None = None
    undo_until: (
        Annotated[DateText, Meta(description="Until when `POST /job/undo` undoes it.")] | None
    ) = None
    no_undo: (
        Annotated[
            str,
            words("NoUndo", sorted(set(NO_UNDO.values()))),
            Meta(
                description="Why a job of this kind cannot be undone: `messages_sent` cannot be"
                " recalled, `values_replaced` were not kept, `nothing_changed`, or it `is_undo`"
                " itself.",
                examples=["messages_sent"],
            ),
        ]
        | None
    ) = None
    result: JobResult | None = None
    undo_of: Annotated[str, Meta(description="The job that it undoes.")] | None = None
    undone_by: Annotated[str, Meta(description="The job that undoes it.")] | None = None


class JobConnection(Page[Job]):
    """A page of jobs."""


class JobSample(Shown[Device]):
    """A device that a job would take."""

    id: DeviceId = field(name="deviceId")
    group_id: str
    name: str
    type: str


class JobReturn(Reply, kw_only=True):
    """A job that was started; or what it would do."""

    message: str
    dry_run: Annotated[bool, Meta(description="Whether nothing was started.")] = False
    total: Annotated[
        Count,
        Meta(description="The devices that it takes, or the rows of an export; as far as counted."),
    ]
    total_is_more: Annotated[bool, Meta(description="There are more than were counted.")] = False
    sample: (
        Annotated[list[JobSample], Meta(description="With `dryRun`: up to 20 of the devices.")]
        | None
    ) = None
    messages: (
        Annotated[
            Count,
            Meta(
                description="Of a dry run of `resend` or `replay`: the messages that it would send,"
                " as far as counted, or an estimate.",
                examples=[412],
            ),
        ]
        | None
    ) = None
    messages_is_more: Annotated[
        bool, Meta(description="Not all were looked at: there may be more, or fewer of a replay.")
    ] = False
    message_sample: (
        Annotated[
            list[RecordId],
            Meta(description="With `messages`: the records that up to 20 of them are about."),
        ]
        | None
    ) = None
    job: Job | None = None


class JobItem(Shown[JobItemValue], kw_only=True):
    """What a job did with a device."""

    object_id: DeviceId = field(name="deviceId")
    outcome: Annotated[
        str,
        words("JobOutcome", list(ItemOutcome)),
        Meta(description="`changed`, `undone`, `skipped` or `failed`.", examples=["changed"]),
    ]
    code: Annotated[str, Meta(description="Why it was skipped or failed.")] | None = None


class JobItemConnection(Page[JobItem]):
    """A page of the results of a job."""


# --- values to replies ---


def _parameters_wire(task: Task) -> JobParametersReply | None:
    if isinstance(task, DeleteTask | UndoTask):
        return None
    if isinstance(task, ExportTask):
        return _export_wire(task)
    given: dict[str, Any] = {
        name: value
        for name, value in asdict(task).items()
        if name != "tags_max" and value not in (None, ())
    }
    for name in {"begin_date", "end_date"} & given.keys():
        given[name] = format_date(given[name])
    return JobParametersReply(**given)


def _export_wire(task: ExportTask) -> JobParametersReply:
    query = asdict(decode_export_query(task))
    names = ("device_id", "connector_id", "object_id", "actor_id", "action")
    begin, end = parse_period(query.get("begin_date"), query.get("end_date"))
    has_subgroups = "subgroups" in EXPORT_PARAMETERS[task.content]
    return JobParametersReply(
        content=task.content,
        format=query["format"],
        record_kind=query.get("kind"),
        begin_date=format_optional_date(begin),
        end_date=format_optional_date(end),
        subgroups=query["subgroups"] if has_subgroups else None,
        **{name: query.get(name) for name in names},
    )


def _filter_wire(job: JobValue) -> JobFilterReply | None:
    selection = decode_selection(job)
    task = decode_task(job)
    has_none = isinstance(task, ExportTask) and task.content != "devices"
    if has_none or selection.device_ids is not None or job.undo_of is not None:
        return None
    return JobFilterReply(
        **dataclasses.asdict(selection.filter),
        subgroups=selection.subgroups,
    )


def show_job(job: JobValue, *, now: Moment) -> Job:
    result = None
    if jobs.has_result(job, now) and job.result_until is not None:
        result = JobResult(bytes=job.result_bytes, expires_at=format_date(job.result_until))
    return Job.show(
        job,
        reason=job.reason or None,
        parameters=_parameters_wire(decode_task(job)),
        filter=_filter_wire(job),
        done=job.counts.done,
        changed=job.counts.changed,
        skipped=job.counts.skipped,
        failed=job.counts.failed,
        no_undo=NO_UNDO.get(job.kind),
        result=result,
    )

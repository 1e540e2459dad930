"""Operations on jobs: work by filter over many devices, with progress, cancel and undo; exports."""

import dataclasses
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from longwire.api.arrivals import RecordId
from longwire.api.connectors import ConnectorId
from longwire.api.devices import (
    BatteryBelow,
    Configuration,
    DeviceTypeName,
    Network,
    SearchText,
    SeenWithin,
    SomeDeviceIds,
    build_device_filter,
)
from longwire.api.exports import (
    CHUNK_BYTES,
    CONTENT,
    OPEN_MAX,
    PER_CALLER_MAX,
    AuditExportQuery,
    DeviceExportQuery,
    ExportQuery,
    Format,
    MessageExportQuery,
    RecordExportQuery,
    build_export,
    decode_export_query,
    read_rows,
)
from longwire.api.types import (
    DeviceId,
    GroupId,
    GroupPage,
    RecordKindName,
    Tag,
    Tags,
    parse_period,
)
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import BadInput, FieldError, NotFound, not_found
from longwire.fleet.codec_guard import CODEC_THREADS
from longwire.ids import format_record_id
from longwire.jobs import jobs
from longwire.jobs.jobs import JobDraft
from longwire.jobs.message_estimates import MessageEstimate, estimate_messages
from longwire.jobs.selection import DeviceSelection, Estimate, decode_selection
from longwire.jobs.tasks import (
    EXPORT,
    EXPORT_PERMISSIONS,
    NO_UNDO,
    READ,
    UNDOABLE,
    ConfigurationTask,
    DeleteTask,
    ExportTask,
    MessageTask,
    RedecodeTask,
    ReplayTask,
    ResendTask,
    StartableTask,
    TagTask,
    Task,
    TransferTask,
    TypeTask,
    decode_task,
)
from longwire.model import Actor, ItemOutcome, JobState
from longwire.model import Job as JobValue
from longwire.model import JobItem as JobItemValue
from longwire.store.database import Database
from longwire.web.fields import Body, Count, DateIn, DateText, Id, Paged, Query, Reply, words
from longwire.web.routing import RequestContext, Route, StreamContext, StreamResponse, StreamRoute

# Of a dry run.
COUNTED_ROWS_MAX = 10_000
COUNTING_SECONDS_MAX = 1.0

JobId = Annotated[
    str, Meta(min_length=1, max_length=128, examples=["job_vzpeqxr5mxjrq2uy6ct3mlgw"])
]
KindName = Annotated[
    Literal[
        "transfer",
        "delete",
        "tag",
        "type",
        "configuration",
        "redecode",
        "resend",
        "replay",
        "export",
    ],
    Meta(title="StartableJobKind", description="What to do with each device.", examples=["tag"]),
]
Reason = Annotated[
    str,
    Meta(
        max_length=256,
        description="Why, for whoever looks at the list of jobs or at the audit log.",
        examples=["moved to the new site"],
    ),
]
StateName = Annotated[
    Literal["waiting", "running", "succeeded", "failed", "cancelled"],
    Meta(title="JobState", description="Only jobs in this state.", examples=["running"]),
]
OutcomeName = Annotated[
    Literal["changed", "undone", "skipped", "failed"],
    Meta(title="JobOutcome", description="Only devices with this outcome.", examples=["failed"]),
]
# No type alone can say that these are for some kinds only.
Added = Annotated[Tags, Meta(description="For `tag`: tags to add.", examples=[["roof"]])]
Removed = Annotated[Tags, Meta(description="For `tag`: tags to remove.", examples=[["cellar"]])]


class JobFilter(Body):
    """Which devices of the group, as in `GET /devices`; an empty object for all of them."""

    q: SearchText | None = None
    type: Annotated[DeviceTypeName, Meta(description="Of this device type.")] | None = None
    network: Network | None = None
    tag: Annotated[Tag, Meta(description="With this tag.", examples=["roof"])] | None = None
    seen: SeenWithin | None = None
    battery_below: BatteryBelow | None = None
    subgroups: (
        Annotated[bool, Meta(description="Of the groups below as well.", examples=[False])] | None
    ) = None


class JobParameters(Body):
    """What the kind of job needs."""

    to_group_id: (
        Annotated[GroupId, Meta(description="For `transfer`: the group to transfer to.")] | None
    ) = None
    add_tags: Added | None = None
    remove_tags: Removed | None = None
    type: Annotated[DeviceTypeName, Meta(description="For `type`: the new device type.")] | None = (
        None
    )
    configuration: (
        Annotated[Configuration, Meta(description="For `configuration`: the new one.")] | None
    ) = None
    connector_id: (
        Annotated[
            ConnectorId,
            Meta(description="For `resend` and `replay`: a connector of the group."),
        ]
        | None
    ) = None
    begin_date: DateIn | None = None
    end_date: DateIn | None = None
    content: (
        Annotated[
            Literal["records", "devices", "messages", "audit"],
            Meta(
                title="ExportContent",
                description="For `export`: what to export. Of devices, those of `filter`.",
                examples=["records"],
            ),
        ]
        | None
    ) = None
    format: Annotated[Format, Meta(description="For `export`; by default `ndjson`.")] | None = None
    record_kind: (
        Annotated[
            Literal["data", "event", "geoloc", "telemetry"],
            Meta(
                title="RecordKind",
                description="For an export of records; by default `data`.",
                examples=["event"],
            ),
        ]
        | None
    ) = None
    device_id: (
        Annotated[DeviceId, Meta(description="For an export of records: of this device only.")]
        | None
    ) = None
    object_id: (
        Annotated[Id, Meta(description="For an export of the audit log: of this object only.")]
        | None
    ) = None
    actor_id: (
        Annotated[
            Id,
            Meta(description="For an export of the audit log: by this user or app client only."),
        ]
        | None
    ) = None
    action: (
        Annotated[
            Id,
            Meta(
                description="For an export of the audit log: this action only.",
                examples=["device.update"],
            ),
        ]
        | None
    ) = None
    subgroups: (
        Annotated[
            bool,
            Meta(
                description="For an export of records or of the audit log: of the groups below as"
                " well.",
                examples=[True],
            ),
        ]
        | None
    ) = None


class JobInput(Body, kw_only=True):
    """A job to start, or to try with `dryRun`."""

    kind: KindName
    group_id: GroupId
    device_ids: (
        Annotated[SomeDeviceIds, Meta(description="Devices of the group. Or else `filter`.")] | None
    ) = None
    filter: JobFilter | None = None
    parameters: JobParameters | None = None
    reason: Reason | None = None
    dry_run: (
        Annotated[
            bool,
            Meta(
                description="Only count the devices, and list some of them; nothing is changed.",
                examples=[False],
            ),
        ]
        | None
    ) = None


class JobQuery(Query):
    """Which job of which group."""

    group_id: GroupId
    job_id: JobId


class JobsQuery(GroupPage, kw_only=True):
    """Which jobs of which group."""

    state: StateName | None = None


class JobItemsQuery(Paged, kw_only=True):
    """Which results of which job."""

    group_id: GroupId
    job_id: JobId
    outcome: OutcomeName | None = None


class JobRef(Body):
    """Which job of which group."""

    group_id: GroupId
    job_id: JobId


class JobUndo(Body):
    """Which job of which group to undo, and why."""

    group_id: GroupId
    job_id: JobId
    reason: Reason | None = None


class JobFilterReply(Reply):
    """The filter of a job."""

    q: Annotated[str, Meta(description="With this text.")] | None = None
    type: Annotated[str, Meta(description="Of this device type.")] | None = None
    network: Annotated[str, Meta(description="Of this network.")] | None = None
    tag: Annotated[str, Meta(description="With this tag.")] | None = None
    seen: Annotated[SeenWithin, Meta(description="By when they were last seen.")] | None = None
    battery_below: Annotated[float, Meta(description="With less charge.")] | None = None
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


class Job(Reply, kw_only=True):
    """Work with many devices, and how far it is."""

    job_id: JobId
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
    created_by: Annotated[str, Meta(description="The user or app client that started it.")]
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


class JobConnection(Reply):
    """A page of jobs."""

    items: list[Job]
    next_token: str | None = None


class JobSample(Reply):
    """A device that a job would take."""

    device_id: DeviceId
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


class JobItem(Reply, kw_only=True):
    """What a job did with a device."""

    device_id: DeviceId
    outcome: Annotated[
        str,
        words("JobOutcome", list(ItemOutcome)),
        Meta(description="`changed`, `undone`, `skipped` or `failed`.", examples=["changed"]),
    ]
    code: Annotated[str, Meta(description="Why it was skipped or failed.")] | None = None


class JobItemConnection(Reply):
    """A page of the results of a job."""

    items: list[JobItem]
    next_token: str | None = None


# --- requests to values ---


def _build_task(body: JobInput, tags_max: int) -> StartableTask:
    """What to do; all parameters that are missing, or not for this kind, are named."""
    given = {
        name: value
        for name, value in msgspec.structs.asdict(body.parameters or JobParameters()).items()
        if value is not None
    }
    needed, alternatives, optional, build = _TASKS[body.kind]
    field_errors = [
        FieldError(f"parameters.{name}", f"is required for the kind {body.kind}")
        for name in needed
        if name not in given
    ]
    field_errors += [
        FieldError(f"parameters.{name}", f"is not for the kind {body.kind}")
        for name in given
        if name not in needed + alternatives + optional
    ]
    if alternatives and not any(given.get(name) for name in alternatives):
        field_errors += [
            FieldError(f"parameters.{name}", "is required, or the other one")
            for name in alternatives
        ]
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return build({**given, "tags_max": tags_max, "body": body})


def _build_redecode(given: Mapping[str, Any]) -> RedecodeTask:
    return RedecodeTask(
        *parse_period(given.get("begin_date"), given.get("end_date"), "parameters.")
    )


def _build_replay(given: Mapping[str, Any]) -> ReplayTask:
    begin, end = parse_period(given["begin_date"], given["end_date"], "parameters.")
    assert begin is not None and end is not None  # both are required
    return ReplayTask(given["connector_id"], begin, end)


# What each sort of export takes besides its format.
_EXPORT_PARAMETERS = {
    "records": ("record_kind", "device_id", "begin_date", "end_date", "subgroups"),
    "devices": (),
    "messages": ("connector_id", "begin_date", "end_date"),
    "audit": ("object_id", "actor_id", "action", "begin_date", "end_date", "subgroups"),
}


def _build_export(given: Mapping[str, Any]) -> ExportTask:
    body: JobInput = given["body"]
    content = given["content"]
    known = _EXPORT_PARAMETERS[content]
    field_errors = [
        FieldError(f"parameters.{name}", f"is not for an export of {content}")
        for name in given
        if name not in (*known, "content", "format", "tags_max", "body")
    ]
    if body.device_ids is not None:
        field_errors.append(FieldError("device_ids", "is not for the kind export"))
    if body.filter is not None and content != "devices":
        field_errors.append(FieldError("filter", f"is not for an export of {content}"))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    parse_period(given.get("begin_date"), given.get("end_date"), "parameters.")
    values = {name: given[name] for name in (*known, "format") if name in given}
    values |= {name: str(values[name]) for name in ("begin_date", "end_date") if name in values}
    values["group_id"] = body.group_id
    query: ExportQuery
    if content == "records":
        values["kind"] = values.pop("record_kind", "data")
        query = RecordExportQuery(**values)
    elif content == "devices":
        filters = msgspec.structs.asdict(body.filter or JobFilter())
        query = DeviceExportQuery(
            **values, **{name: value for name, value in filters.items() if value is not None}
        )
    elif content == "messages":
        query = MessageExportQuery(**values)
    else:
        query = AuditExportQuery(**values)
    return ExportTask(content, msgspec.json.encode(query).decode())


class _TaskParameters(NamedTuple):
    """Parameters that a kind of job needs, of which it needs one, that it may have; its task."""

    needed: tuple[str, ...]
    alternatives: tuple[str, ...]
    optional: tuple[str, ...]
    build: Callable[[Mapping[str, Any]], StartableTask]


_TASKS: Mapping[str, _TaskParameters] = {
    "transfer": _TaskParameters(
        ("to_group_id",), (), (), lambda given: TransferTask(given["to_group_id"])
    ),
    "delete": _TaskParameters((), (), (), lambda given: DeleteTask()),
    "tag": _TaskParameters(
        (),
        ("add_tags", "remove_tags"),
        (),
        lambda given: TagTask(
            tuple(given.get("add_tags", ())),
            tuple(given.get("remove_tags", ())),
            given["tags_max"],
        ),
    ),
    "type": _TaskParameters(("type",), (), (), lambda given: TypeTask(given["type"])),
    "configuration": _TaskParameters(
        ("configuration",), (), (), lambda given: ConfigurationTask(given["configuration"])
    ),
    "redecode": _TaskParameters((), (), ("begin_date", "end_date"), _build_redecode),
    "resend": _TaskParameters(
        ("connector_id",), (), (), lambda given: ResendTask(given["connector_id"])
    ),
    "replay": _TaskParameters(("connector_id", "begin_date", "end_date"), (), (), _build_replay),
    "export": _TaskParameters(
        ("content",),
        (),
        ("format", *sorted({name for names in _EXPORT_PARAMETERS.values() for name in names})),
        _build_export,
    ),
}


def _build_selection(body: JobInput) -> DeviceSelection:
    if body.kind == EXPORT and body.filter is None:
        return DeviceSelection(body.group_id)
    if (body.device_ids is None) == (body.filter is None):
        message = "is required, or else" if body.filter is None else "excludes"
        raise BadInput(
            field_errors=[
                FieldError("device_ids", f"{message} filter"),
                FieldError("filter", f"{message} deviceIds"),
            ]
        )
    if body.device_ids is not None:
        return DeviceSelection(body.group_id, tuple(dict.fromkeys(body.device_ids)))
    assert body.filter is not None
    return DeviceSelection(
        body.group_id,
        filter=build_device_filter(body.filter),
        subgroups=bool(body.filter.subgroups),
    )


def _draft(body: JobInput, tags_max: int) -> JobDraft:
    return JobDraft(_build_task(body, tags_max), _build_selection(body), body.reason or "")


@dataclasses.dataclass(frozen=True, slots=True)
class EstimatedJob:
    """How much a job takes, and what a dry run says of its messages."""

    estimate: Estimate
    messages: MessageEstimate | None = None


async def estimate_job(
    database: Database, actor: Actor, body: JobInput, *, retention_days: Mapping[str, int]
) -> EstimatedJob:
    """Count the devices, or what the job is about, while no transaction waits for it."""
    draft = _draft(body, 0)
    estimated = await database.read(lambda tx: jobs.estimate(tx, actor, draft))
    if isinstance(draft.task, ExportTask) and draft.task.content != "devices":
        counted = await _count_rows(database, actor, draft.task, retention_days)
        return EstimatedJob(counted)
    if isinstance(draft.task, MessageTask) and body.dry_run:
        messages = await estimate_messages(
            database, actor, draft.task, draft.selection, CODEC_THREADS.run
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


async def _count_rows(
    database: Database, actor: Actor, task: ExportTask, retention_days: Mapping[str, int]
) -> Estimate:
    """The rows of an export, as far as they can be read within a second."""
    total, cursor = 0, "null"
    deadline = time.monotonic() + COUNTING_SECONDS_MAX
    while True:
        read = partial(read_rows, retention_days, actor=actor, task=task, cursor=cursor)
        try:
            rows = await database.read(read)
        except (NotFound, BadInput) as error:
            raise _in_parameters(error) from None
        total += rows.count
        if rows.cursor is None:
            return Estimate(total)
        if total >= COUNTED_ROWS_MAX or time.monotonic() > deadline:
            return Estimate(total, is_more=True)
        cursor = rows.cursor


# --- values to replies ---


def _parameters_wire(task: Task) -> JobParametersReply | None:
    match task:
        case TransferTask():
            return JobParametersReply(to_group_id=task.to_group_id)
        case TagTask():
            return JobParametersReply(
                add_tags=list(task.add) or None, remove_tags=list(task.remove) or None
            )
        case TypeTask():
            return JobParametersReply(type=task.type)
        case ConfigurationTask():
            return JobParametersReply(configuration=task.configuration)
        case RedecodeTask():
            return JobParametersReply(begin_date=_date(task.begin), end_date=_date(task.end))
        case ResendTask():
            return JobParametersReply(connector_id=task.connector_id)
        case ReplayTask():
            return JobParametersReply(
                connector_id=task.connector_id,
                begin_date=_date(task.begin),
                end_date=_date(task.end),
            )
        case ExportTask():
            return _export_wire(task)
        case _:
            return None


def _export_wire(task: ExportTask) -> JobParametersReply:
    query = msgspec.structs.asdict(decode_export_query(task))
    names = ("device_id", "connector_id", "object_id", "actor_id", "action")
    begin, end = parse_period(query.get("begin_date"), query.get("end_date"))
    has_subgroups = "subgroups" in _EXPORT_PARAMETERS[task.content]
    return JobParametersReply(
        content=task.content,
        format=query["format"],
        record_kind=query.get("kind"),
        begin_date=_date(begin),
        end_date=_date(end),
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


def _date(at: int | None) -> str | None:
    return None if at is None else format_date(at)


def job_wire(job: JobValue, now: Moment) -> Job:
    result = None
    if jobs.has_result(job, now) and job.result_until is not None:
        result = JobResult(bytes=job.result_bytes, expires_at=format_date(job.result_until))
    return Job(
        job_id=job.id,
        group_id=job.group_id,
        kind=job.kind,
        state=job.state.value,
        error=job.error,
        reason=job.reason or None,
        parameters=_parameters_wire(decode_task(job)),
        filter=_filter_wire(job),
        total=job.total,
        done=job.counts.done,
        changed=job.counts.changed,
        skipped=job.counts.skipped,
        failed=job.counts.failed,
        created_by=job.actor_id,
        created_at=format_date(job.created_at),
        started_at=_date(job.started_at),
        updated_at=format_date(job.updated_at),
        ended_at=_date(job.ended_at),
        undo_until=_date(job.undo_until),
        no_undo=NO_UNDO.get(job.kind),
        result=result,
        undo_of=job.undo_of,
        undone_by=job.undone_by,
    )


def _item_wire(item: JobItemValue) -> JobItem:
    return JobItem(device_id=item.object_id, outcome=item.outcome.value, code=item.code)


def _sample_wire(estimated: Estimate) -> list[JobSample]:
    return [
        JobSample(device_id=each.id, group_id=each.group_id, name=each.name, type=each.type)
        for each in estimated.sample
    ]


# --- operations ---


def start_job(context: RequestContext, body: JobInput, found: EstimatedJob) -> JobReturn:
    """Start a job.

    It works in the background, in small steps, with the permissions that its starter has at each
    step; see `GET /job`. With `dryRun` nothing is started: the response has the number of devices
    and some of them. `filter` is evaluated when a device is reached; devices that are created later
    are not part of the job.
    """
    draft = _draft(body, context.limits.tags_max)
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
            sample=None if is_of_rows else _sample_wire(estimated),
            messages=None if messages is None else messages.total,
            messages_is_more=messages is not None and not messages.is_all,
            message_sample=(
                None if messages is None else [format_record_id(each) for each in messages.sample]
            ),
        )
    job = jobs.start_job(context.tx, context.actor, draft, estimated, context.quotas)
    return JobReturn(
        message=f"Started, for {counted}.",
        total=estimated.total,
        total_is_more=estimated.is_more,
        job=job_wire(job, context.tx.now),
    )


def get_job(context: RequestContext, query: JobQuery) -> Job:
    """Get a job and its progress."""
    job = jobs.get_job(context.tx, context.actor, query.group_id, query.job_id)
    return job_wire(job, context.tx.now)


def list_jobs(context: RequestContext, query: JobsQuery) -> JobConnection:
    """List the jobs of a group.

    Newest first, with who started them and why.
    """
    state = None if query.state is None else JobState(query.state)
    page = jobs.list_jobs(
        context.tx,
        context.actor,
        query.group_id,
        state,
        context.page_tokens.page_request(query),
    )
    return JobConnection(
        items=[job_wire(each, context.tx.now) for each in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def list_job_items(context: RequestContext, query: JobItemsQuery) -> JobItemConnection:
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
    return JobItemConnection(
        items=[_item_wire(each) for each in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def cancel_job(context: RequestContext, body: JobRef) -> Job:
    """Cancel a job.

    What it has done stays done, and can be undone; messages that a resend or replay has queued are
    still sent, see `POST /connector/messages/cancel`. A job that has ended is unchanged.
    """
    job = jobs.cancel_job(context.tx, context.actor, body.group_id, body.job_id)
    return job_wire(job, context.tx.now)


def undo_job(context: RequestContext, body: JobUndo) -> Job:
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
        context.quotas,
    )
    return job_wire(undo, context.tx.now)


async def get_result(context: StreamContext, query: JobQuery) -> StreamResponse:
    """Get the file of an export.

    For 24 hours after the end of the job, for everybody who may export the same; of the audit log,
    for whoever has started the job.
    """
    job, task = await context.database.read(
        lambda tx: jobs.get_result(tx, context.actor, query.group_id, query.job_id)
    )
    export = build_export(decode_export_query(task), context.retention_days, job.created_at)
    return StreamResponse(
        _stream_result(context, query, job.result_bytes), export.media_type, export.headers
    )


async def _stream_result(
    context: StreamContext, query: JobQuery, size: int
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
        content = await context.database.read(read)
        if content is None:
            raise not_found("job_id", "file of an export")  # it is being deleted
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]
        sent += len(content)
        number += 1


def delete_result(context: RequestContext, query: JobQuery) -> Job:
    """Delete the file of an export before it expires.

    It makes room for others. A job without a file is unchanged.
    """
    job = jobs.delete_result(context.tx, context.actor, query.group_id, query.job_id)
    return job_wire(job, context.tx.now)


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
        prepare_input=estimate_job,
        prepare_settings=("retention_days",),
        per_minute_max=60,
        conflicts="The group has too many jobs.",
        is_bulk=True,
    ),
    _route("GET", "/job", get_job, READ),
    _route("GET", "/jobs", list_jobs, READ, object_rule="in the group"),
    _route("GET", "/job/items", list_job_items, READ),
    StreamRoute(
        "GET",
        "/job/result",
        get_result,
        READ,
        object_rule="in the group of the job; and what starting it needs",
        tag="Jobs",
        is_addition=True,
        open_per_caller_max=PER_CALLER_MAX,
        open_max=OPEN_MAX,
        content=CONTENT,
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

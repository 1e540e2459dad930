"""Operations on jobs: work by filter over many devices, with progress, cancel and undo."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

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
from longwire.api.types import (
    DeviceId,
    GroupId,
    GroupPage,
    Tag,
    Tags,
    parse_period,
)
from longwire.dates import format_date
from longwire.errors import BadInput, FieldError
from longwire.jobs import jobs
from longwire.jobs.jobs import JobDraft
from longwire.jobs.selection import DeviceSelection, Estimate, decode_selection
from longwire.jobs.tasks import (
    READ,
    ConfigurationTask,
    DeleteTask,
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
from longwire.web.fields import Body, Count, DateIn, DateText, Paged, Query, Reply
from longwire.web.routing import RequestContext, Route

JobId = Annotated[
    str, Meta(min_length=1, max_length=128, examples=["job_vzpeqxr5mxjrq2uy6ct3mlgw"])
]
KindName = Annotated[
    Literal["transfer", "delete", "tag", "type", "configuration", "redecode", "resend", "replay"],
    Meta(description="What to do with each device.", examples=["tag"]),
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
    Meta(description="Only jobs in this state.", examples=["running"]),
]
OutcomeName = Annotated[
    Literal["changed", "undone", "skipped", "failed"],
    Meta(description="Only devices with this outcome.", examples=["failed"]),
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
    seen: Annotated[str, Meta(description="By when they were last seen.")] | None = None
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


class Job(Reply, kw_only=True):
    """Work with many devices, and how far it is."""

    job_id: JobId
    group_id: str
    kind: Annotated[str, Meta(description="What it does with each device.", examples=["tag"])]
    state: Annotated[
        str,
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
        Annotated[int, Meta(description="The devices to process, if they were counted.")] | None
    ) = None
    done: Annotated[Count, Meta(description="The devices that were processed.")]
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
    total: Annotated[Count, Meta(description="The devices that it takes, as far as counted.")]
    total_is_more: Annotated[bool, Meta(description="There are more than were counted.")] = False
    sample: (
        Annotated[list[JobSample], Meta(description="With `dryRun`: up to 20 of the devices.")]
        | None
    ) = None
    job: Job | None = None


class JobItem(Reply, kw_only=True):
    """What a job did with a device."""

    device_id: DeviceId
    outcome: Annotated[
        str,
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
    return build({**given, "tags_max": tags_max})


def _build_redecode(given: Mapping[str, Any]) -> RedecodeTask:
    return RedecodeTask(
        *parse_period(given.get("begin_date"), given.get("end_date"), "parameters.")
    )


def _build_replay(given: Mapping[str, Any]) -> ReplayTask:
    begin, end = parse_period(given["begin_date"], given["end_date"], "parameters.")
    assert begin is not None and end is not None  # both are required
    return ReplayTask(given["connector_id"], begin, end)


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
}


def _build_selection(body: JobInput) -> DeviceSelection:
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


async def estimate_job(database: Database, actor: Actor, body: JobInput) -> Estimate:
    """Count the devices, while no transaction waits for it."""
    draft = _draft(body, 0)
    return await database.read(lambda tx: jobs.estimate(tx, actor, draft))


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
        case _:
            return None


def _filter_wire(job: JobValue) -> JobFilterReply | None:
    selection = decode_selection(job)
    if selection.device_ids is not None or job.undo_of is not None:
        return None
    return JobFilterReply(
        **dataclasses.asdict(selection.filter),
        subgroups=selection.subgroups,
    )


def _date(at: int | None) -> str | None:
    return None if at is None else format_date(at)


def job_wire(job: JobValue) -> Job:
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


def start_job(context: RequestContext, body: JobInput, estimated: Estimate) -> JobReturn:
    """Start a job.

    It works in the background, in small steps, with the permissions that its starter has at each
    step; see `GET /job`. With `dryRun` nothing is started: the response has the number of devices
    and some of them. `filter` is evaluated when a device is reached; devices that are created later
    are not part of the job.
    """
    draft = _draft(body, context.limits.tags_max)
    counted = f"{'more than ' if estimated.is_more else ''}{estimated.total} devices"
    if body.dry_run:
        return JobReturn(
            message=f"It would take {counted}.",
            dry_run=True,
            total=estimated.total,
            total_is_more=estimated.is_more,
            sample=_sample_wire(estimated),
        )
    job = jobs.start_job(context.tx, context.actor, draft, estimated, context.quotas)
    return JobReturn(
        message=f"Started, for {counted}.",
        total=estimated.total,
        total_is_more=estimated.is_more,
        job=job_wire(job),
    )


def get_job(context: RequestContext, query: JobQuery) -> Job:
    """Get a job and its progress."""
    return job_wire(jobs.get_job(context.tx, context.actor, query.group_id, query.job_id))


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
        items=[job_wire(each) for each in page.items],
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

    What it has done stays done, and can be undone. A job that has ended is unchanged.
    """
    return job_wire(jobs.cancel_job(context.tx, context.actor, body.group_id, body.job_id))


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
    return job_wire(undo)


_AS_SINGLE = (
    "in groupId; and what the single operation needs: device.transfer (and device.create in"
    " parameters.toGroupId), device.delete, device.update, record.create or connector.resend"
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
        per_minute_max=60,
        conflicts="The group has too many jobs.",
        is_bulk=True,
    ),
    _route("GET", "/job", get_job, READ),
    _route("GET", "/jobs", list_jobs, READ, object_rule="in the group"),
    _route("GET", "/job/items", list_job_items, READ),
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

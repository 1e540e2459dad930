"""What clients send to operations on jobs, and the tasks that it means."""

import typing
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longwire.api.delivery.connectors import ConnectorId
from longwire.api.fleet.device_shapes import (
    Configuration,
    DeviceFilterFields,
    DeviceTypeName,
    RecordValueNames,
    SomeDeviceIds,
    build_device_filter,
)
from longwire.api.records.export_streams import Format
from longwire.api.records.exports import (
    AuditExportQuery,
    DeviceExportQuery,
    ExportQuery,
    MessageExportQuery,
)
from longwire.api.records.record_exports import RecordExportQuery
from longwire.api.types import (
    DeviceId,
    GroupId,
    GroupTreePage,
    Tags,
    parse_period,
)
from longwire.errors import BadInput, FieldError
from longwire.jobs.jobs import JobDraft
from longwire.jobs.kinds import (
    EXPORT,
    ExportTask,
    StartableTask,
    TagTask,
)
from longwire.jobs.selection import DeviceSelection
from longwire.web.fields import Body, DateIn, Id, Paged, Query

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


class JobFilter(Body, DeviceFilterFields):
    """Which devices of the group, as in `GET /devices`; an empty object for all of them."""

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
    values: RecordValueNames | None = None


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


class JobsQuery(GroupTreePage, kw_only=True):
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


# --- requests to values ---


# The kinds of jobs. What each needs, and may have, are the fields of its task.
_TASKS: Mapping[str, type[StartableTask]] = {
    str(each.__struct_config__.tag): each for each in typing.get_args(StartableTask)
}


def _build_task(body: JobInput, tags_max: int) -> StartableTask:
    """What to do; all parameters that are missing, or not for this kind, are named."""
    given = {
        name: value
        for name, value in msgspec.structs.asdict(body.parameters or JobParameters()).items()
        if value is not None
    }
    task = _TASKS[body.kind]
    known, needed = _list_parameters(task)
    field_errors = [
        FieldError(f"parameters.{name}", f"is required for the kind {body.kind}")
        for name in needed
        if name not in given
    ]
    field_errors += [
        FieldError(f"parameters.{name}", f"is not for the kind {body.kind}")
        for name in given
        if name not in known
    ]
    if task is TagTask and not (given.get("add_tags") or given.get("remove_tags")):
        field_errors += [
            FieldError(f"parameters.{name}", "is required, or the other one")
            for name in ("add_tags", "remove_tags")
        ]
    if field_errors:
        raise BadInput(field_errors=field_errors)
    if task is ExportTask:
        return _build_export(body, given)
    begin, end = parse_period(given.get("begin_date"), given.get("end_date"), "parameters.")
    given |= {name: at for name, at in (("begin_date", begin), ("end_date", end)) if at is not None}
    if task is TagTask:
        tags = {name: tuple(value) for name, value in given.items()}
        return TagTask(**tags, tags_max=tags_max)
    return task(**given)


def _list_parameters(task: type[StartableTask]) -> tuple[Collection[str], Collection[str]]:
    """The parameters that a task may have, and those of them that it needs."""
    if task is ExportTask:
        of_exports = {name for names in EXPORT_PARAMETERS.values() for name in names}
        return {"content", "format", *of_exports}, ("content",)
    fields = msgspec.structs.fields(task)
    return [each.name for each in fields], [each.name for each in fields if each.required]


# What each sort of export takes besides its format.
EXPORT_PARAMETERS = {
    "records": ("record_kind", "device_id", "begin_date", "end_date", "subgroups", "values"),
    "devices": (),
    "messages": ("connector_id", "begin_date", "end_date"),
    "audit": ("object_id", "actor_id", "action", "begin_date", "end_date", "subgroups"),
}


def _build_export(body: JobInput, given: Mapping[str, Any]) -> ExportTask:
    content = given["content"]
    known = EXPORT_PARAMETERS[content]
    field_errors = [
        FieldError(f"parameters.{name}", f"is not for an export of {content}")
        for name in given
        if name not in (*known, "content", "format")
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


def build_draft(body: JobInput, tags_max: int) -> JobDraft:
    return JobDraft(_build_task(body, tags_max), _build_selection(body), body.reason or "")

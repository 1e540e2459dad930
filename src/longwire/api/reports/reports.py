"""Operations on reports."""

from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from longwire.api.replies import Page, Shown
from longwire.api.reports.report_content import check_parameters
from longwire.api.services import AsyncContext, Context
from longwire.api.types import CHANGED_MEANWHILE, GroupId, GroupTreePage, IfUpdatedAt, parse_version
from longwire.errors import BadInput, FieldError
from longwire.reports import reports
from longwire.reports.mails import MEDIA_TYPES
from longwire.reports.reports import ReportDraft, ReportRules, ReportView
from longwire.store.reports import reports as store
from longwire.store.reports.reports import ReportRun, ScheduledReport
from longwire.web.authentication import get_token
from longwire.web.fields import (
    Body,
    Clearable,
    Count,
    DateText,
    Id,
    Name,
    Query,
    parse_removable,
    words,
)
from longwire.web.routing import NO_TOKEN, Route, Stream, StreamResponse
from longwire.web.validation import decode_text

SENDS_PER_MINUTE_MAX = 5  # per caller: each makes a file, and sends it to every recipient
DOWNLOADS_MAX = 32
RUN_STATES = ("queued", "sent", "failed", "stopped")

ReportId = Annotated[Id, Meta(examples=["rpt_vzpeqxr5mxjrq2uy6ct3mlgw"])]
ReportContent = Annotated[
    Literal["records", "series", "devices", "alarms"],
    Meta(
        title="ReportContent",
        description="What is in it: records that arrived in the period, numbers of a measurement "
        "in it, the devices as they are now, or alarms that were raised in it.",
        examples=["series"],
    ),
]
Every = Annotated[
    Literal["day", "week", "month"],
    Meta(
        title="ReportSpan",
        description="How often, and the period that it is about: the day, the week from Monday to "
        "Sunday or the month before. A weekly one is sent on Mondays, a monthly one on the first.",
        examples=["day"],
    ),
]
TimeOfDay = Annotated[
    str,
    Meta(
        pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$",
        description="When, on the clock of `timezone`. Where that leaves the time out, it is sent "
        "when the clock is changed, and where it shows it twice, the first time.",
        examples=["06:00"],
    ),
]
ReportZone = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="Whose days it is about: a name of the IANA database.",
        examples=["Europe/Paris"],
    ),
]
ReportFormat = Annotated[
    Literal["csv", "xlsx"],
    Meta(title="ReportFormat", description="Of the file.", examples=["xlsx"]),
]
ContentParameters = Annotated[
    dict[str, Any],
    Meta(
        description="What to choose, as in the query of `GET /records/export`, `GET /group/series`,"
        " `GET /devices/export` or `GET /group/alarms`; without dates, formats and pages.",
        examples=[{"measurement": "temperature", "combine": "none"}],
    ),
]


# --- responses ---


class ReportContact(Body, kw_only=True):
    """To whom a report goes."""

    type: Annotated[str, Meta(max_length=64, description="`email` or `webhook`.")]
    params: Annotated[
        dict[str, Any],
        Meta(
            description="`to`, a list of addresses, for `email`; `url`, and if wanted `headers`, "
            "`bearer`, `basic` and `secret`, for `webhook`. Secrets are masked for callers who may "
            "not change it.",
            examples=[{"url": "https://example.com/reports"}],
        ),
    ]


class LastReportRun(Shown[ReportRun], kw_only=True):
    """What became of a report last."""

    at: Annotated[DateText, Meta(description="When it was made.")]
    begin_at: Annotated[DateText, Meta(description="Since when it is about.")] = msgspec.field(
        name="beginDate"
    )
    end_at: Annotated[DateText, Meta(description="Until before when.")] = msgspec.field(
        name="endDate"
    )
    state: Annotated[
        str,
        words("ReportState", RUN_STATES),
        Meta(
            description="`queued` until every recipient has it; `failed` if it could not be made, "
            "or not be sent to all; `stopped` if whoever created it or changed it last may not "
            "read this any more, which disables it.",
            examples=["sent"],
        ),
    ]
    row_count: Annotated[Count, Meta(examples=[96])] = msgspec.field(name="rows")
    byte_count: Annotated[Count, Meta(description="Of the file.", examples=[4_096])] = (
        msgspec.field(name="bytes")
    )
    recipients: Annotated[Count, Meta(examples=[2])]
    failed: Annotated[Count, Meta(description="Recipients it could not be sent to.")]
    missed: Annotated[
        Count,
        Meta(
            description="Earlier ones that were due while the service was not running, of which "
            "nothing is sent."
        ),
    ]
    is_test: Annotated[bool, Meta(description="Sent by hand, and not by its schedule.")]
    error: Annotated[str, Meta(description="Why the last attempt failed.")] | None = None


class Report(Shown[ScheduledReport], kw_only=True):
    """A file that is sent on a schedule."""

    id: ReportId
    group_id: GroupId
    name: str | None = None
    content: ReportContent
    parameters: ContentParameters
    every: Every
    at: TimeOfDay
    timezone: ReportZone
    format: ReportFormat
    to: ReportContact
    is_enabled: bool = msgspec.field(name="enabled")
    due_at: Annotated[DateText, Meta(description="When it is due next.")] = msgspec.field(
        name="nextAt"
    )
    last_run: LastReportRun | None = None
    created_at: DateText
    updated_at: DateText
    created_by: str
    updated_by: Annotated[
        str, Meta(description="Who changed it last, and with whose permissions it is read.")
    ]


class ReportConnection(Page[Report]):
    """A page of reports."""


class ReportDownload(Shown[ReportRun], kw_only=True):
    """What the link in a mail of a report opens."""

    name: str | None = None
    content: ReportContent
    begin_at: Annotated[DateText, Meta(description="Since when it is about.")] = msgspec.field(
        name="beginDate"
    )
    end_at: Annotated[DateText, Meta(description="Until before when.")] = msgspec.field(
        name="endDate"
    )
    timezone: ReportZone
    file_name: str
    row_count: Annotated[Count, Meta(examples=[96])] = msgspec.field(name="rows")
    byte_count: Annotated[Count, Meta(description="Of the file.", examples=[4_096])] = (
        msgspec.field(name="bytes")
    )
    expires_at: Annotated[DateText, Meta(description="Until when it can be downloaded.")]


# --- requests ---


class ReportInput(Body, kw_only=True):
    """A report to create."""

    group_id: GroupId
    name: Name
    content: ReportContent
    parameters: ContentParameters = msgspec.field(default_factory=dict)
    every: Every
    at: TimeOfDay
    timezone: ReportZone = "UTC"
    format: ReportFormat = "csv"
    to: ReportContact
    enabled: bool | None = None


class UpdateReportInput(Body, kw_only=True):
    """Changes to a report."""

    group_id: GroupId
    report_id: ReportId
    name: Clearable[Name] = UNSET
    content: ReportContent | None = None
    parameters: ContentParameters | None = None
    every: Every | None = None
    at: TimeOfDay | None = None
    timezone: ReportZone | None = None
    format: ReportFormat | None = None
    to: ReportContact | None = None
    enabled: bool | None = None
    if_updated_at: IfUpdatedAt | None = None


class ReportRef(Body, kw_only=True):
    """Which report, of which group."""

    group_id: GroupId
    report_id: ReportId


class DeleteReportQuery(Query, kw_only=True):
    """Which report to delete."""

    group_id: GroupId
    report_id: ReportId


# --- operations ---


def _show(view: ReportView) -> Report:
    report, run = view.report, view.last_run
    return Report.show(
        report,
        parameters=msgspec.json.decode(report.parameters),
        to=ReportContact(type=report.type, params=msgspec.json.decode(view.params)),
        last_run=None if run is None else LastReportRun.show(run, state=_state_of(run)),
    )


def _state_of(run: ReportRun) -> str:
    if run.is_stopped:
        return "stopped"
    if run.waiting:
        return "queued"
    return "failed" if run.failed or not run.recipients else "sent"


def _build_draft(body: ReportInput | UpdateReportInput) -> ReportDraft:
    parameters = None if body.parameters is None else body.parameters
    return ReportDraft(
        params=None if body.to is None else msgspec.json.encode(body.to.params).decode(),
        type=None if body.to is None else body.to.type,
        name=parse_removable(body.name),
        is_enabled=body.enabled,
        if_updated_at=parse_version(getattr(body, "if_updated_at", None)),
        content=body.content,
        parameters=None if parameters is None else msgspec.json.encode(parameters).decode(),
        every=body.every,
        at=body.at,
        timezone=body.timezone,
        format=body.format,
    )


def _build_rules(context: Context) -> ReportRules:
    def parse(expected: Any, text: str) -> Any:
        return decode_text("params", text, expected, context.limits)

    services = context.services
    return ReportRules(parse, services.egress, services.sending_config.mail, check_parameters)


def _name_fields(error: BadInput) -> BadInput:
    """The type and the parameters of a channel are in `to`."""
    found = [
        FieldError(f"to.{each.field}", each.message)
        if each.field == "type" or each.field.partition(".")[0] == "params"
        else each
        for each in error.field_errors
    ]
    return BadInput(field_errors=found) if found else error


def list_reports(context: Context, query: GroupTreePage) -> ReportConnection:
    """List the reports of a group.

    With what became of each last; with `subgroups` also those of the groups below.
    """
    page = reports.list_reports(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return ReportConnection.show(context, query, page, _show)


def create_report(context: Context, body: ReportInput) -> Report:
    """Create a report.

    A file that is made and sent every day, week or month, by mail to members who have accepted, or
    to addresses in domains that the operator allows, or to a webhook. It is read with the
    permissions that its creator has at that time. If the service was not running when it was due,
    it is sent as soon as that is, once. A file that is too large for a mail is kept for a week, and
    the mail has a link to it.
    """
    try:
        view = reports.create_report(
            context.tx,
            context.actor,
            body.group_id,
            _build_draft(body),
            _build_rules(context),
            quotas=context.services.quotas,
        )
    except BadInput as error:
        raise _name_fields(error) from error
    return _show(view)


def update_report(context: Context, body: UpdateReportInput) -> Report:
    """Update a report.

    Members left out are unchanged. From now on it is read with the permissions of the caller.
    """
    try:
        view = reports.update_report(
            context.tx,
            context.actor,
            body.group_id,
            body.report_id,
            _build_draft(body),
            _build_rules(context),
        )
    except BadInput as error:
        raise _name_fields(error) from error
    return _show(view)


def delete_report(context: Context, query: DeleteReportQuery) -> Report:
    """Delete a report.

    What was not sent yet is not sent any more, and links to its files lead nowhere.
    """
    return _show(reports.delete_report(context.tx, context.actor, query.group_id, query.report_id))


def send_report(context: Context, body: ReportRef) -> Report:
    """Send a report now.

    About the last whole day, week or month, to its recipients; its schedule stays as it is.
    `lastRun` says what became of it. Limited to a few requests per minute and caller.
    """
    return _show(reports.send_report(context.tx, context.actor, body.group_id, body.report_id))


async def get_report_link(context: AsyncContext) -> ReportDownload:
    """Get what the link of a report opens.

    With the secret of the link as the access token, as for its file.
    """
    secret = get_token(context.request)
    found = await context.read(partial(reports.open_file, secret=secret))
    report = found.report
    return ReportDownload.show(
        found.run, name=report.name, content=report.content, timezone=report.timezone
    )


async def download_report(context: AsyncContext) -> StreamResponse:
    """Download the file of a report.

    With the secret of the link in its mail as the access token, which opens nothing else, for a
    week; not if the report was deleted meanwhile, or its creator may not read this any more.
    """
    secret = get_token(context.request)
    found = await context.read(partial(reports.open_file, secret=secret))
    disposition = f'attachment; filename="{found.run.file_name}"'
    return StreamResponse(
        _stream(context, secret, found.parts),
        MEDIA_TYPES[found.run.file_name.rpartition(".")[2]],
        ((b"content-disposition", disposition.encode()),),
    )


async def _stream(context: AsyncContext, secret: str, parts: int) -> AsyncGenerator[bytes, None]:
    for number in range(parts):
        found = await context.read(partial(reports.open_file, secret=secret))
        read = partial(store.FILES.read, owner=found.run.id, number=number)
        part = await context.read(read)
        if part is None:
            raise ConnectionError("the file has been deleted")
        for start in range(0, len(part), _CHUNK_BYTES):
            yield part[start : start + _CHUNK_BYTES]


_CHUNK_BYTES = 64 * 1024
_route = partial(Route, tag="Reports", is_addition=True)

ROUTES = [
    _route(
        "GET",
        "/group/reports",
        list_reports,
        "notification.read",
        object_rule="in the group",
        has_secrets=True,
    ),
    _route(
        "POST",
        "/report",
        create_report,
        "notification.write",
        object_rule="in groupId; and record.read, device.read or notification.read for its content",
        conflicts="The group has the maximum number of reports.",
    ),
    _route(
        "PUT",
        "/report",
        update_report,
        "notification.write",
        object_rule="in the group of the report; and what its content needs",
        conflicts=CHANGED_MEANWHILE,
    ),
    _route(
        "DELETE",
        "/report",
        delete_report,
        "notification.write",
        object_rule="in the group of the report",
    ),
    _route(
        "POST",
        "/report/send",
        send_report,
        "notification.write",
        object_rule="in the group of the report",
        conflicts="The report is disabled.",
        per_minute_max=SENDS_PER_MINUTE_MAX,
    ),
    _route(
        "GET",
        "/report/link",
        get_report_link,
        NO_TOKEN,
        object_rule="the secret of a link",
        statuses=(400, 401, 429, 503),
    ),
    _route(
        "GET",
        "/report/file",
        download_report,
        NO_TOKEN,
        object_rule="the secret of a link",
        statuses=(400, 401, 429, 503),
        stream=Stream(DOWNLOADS_MAX, DOWNLOADS_MAX, tuple(MEDIA_TYPES.values())),
    ),
]

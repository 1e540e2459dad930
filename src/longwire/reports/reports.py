"""Reports: create, list, update, delete, send now; and the files that links in mails lead to."""

import base64
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time
from functools import partial

from longwire.delivery.channel_owners import ChannelDraft, DraftRules, OwnerKind, updated
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.smtp import MailConfig
from longwire.errors import Conflict, FieldError, NotAllowed, NotAuthenticated, NotFound
from longwire.identity import access
from longwire.model import SYSTEM, Actor, ChannelPurpose, Group, Page, PageRequest
from longwire.notifications.schedules import check_timezone
from longwire.object_versions import next_version
from longwire.quotas import Quotas
from longwire.reports.periods import ReportSchedule
from longwire.reports.recipients import TYPES, ReportParams, get_params_type, list_disallowed
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.file_parts import PART_BYTES_MAX
from longwire.store.identity import credentials
from longwire.store.identity import groups as store_groups
from longwire.store.reports import reports as store
from longwire.store.reports.reports import ReportRun, ScheduledReport

# What whoever creates a report needs, besides the permission to do so, each time it runs.
PERMISSIONS: Mapping[str, str] = {
    "records": "record.read",
    "series": "record.read",
    "devices": "device.read",
    "alarms": "notification.read",
}
LINK_PREFIX = "lwr_"
PAGE_PATH = "/console/report"  # the secret is in the fragment, so that it is in no log
FILE_PATH = "/report/file"

ParseReportParams = Callable[[type[ReportParams], str], ReportParams]
# By content, parameters as JSON and group: what is invalid about them.
CheckParameters = Callable[[str, str, str], Sequence[FieldError]]

KIND: OwnerKind[ScheduledReport, ReportParams] = OwnerKind(
    ChannelPurpose.REPORT,
    "notification",
    "report_id",
    "rpt",
    "report of this group",
    ScheduledReport,
    store.REPORTS,
    TYPES,
    get_params_type,
    lambda channel: {},  # users configure none
)


@dataclass(frozen=True, slots=True)
class ReportDraft(ChannelDraft):
    """A report as requested; None leaves a field as it is."""

    content: str | None = None
    parameters: str | None = None
    every: str | None = None
    at: str | None = None
    timezone: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class ReportView:
    """A report as an actor may see it, with what became of it last."""

    report: ScheduledReport
    params: str
    last_run: ReportRun | None


@dataclass(frozen=True, slots=True)
class ReportRules:
    """How a draft is validated."""

    parse_params: ParseReportParams
    egress: Egress
    mail: MailConfig
    check_parameters: CheckParameters


def list_reports(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest, *, subgroups: bool = False
) -> Page[ReportView]:
    page = KIND.list_page(tx, actor, group_id, request, subgroups=subgroups)
    runs = store.list_last_runs(tx, page.items)
    return Page([_view(tx, actor, each, runs) for each in page.items], page.last_key)


def create_report(
    tx: Tx, actor: Actor, group_id: str, draft: ReportDraft, rules: ReportRules, *, quotas: Quotas
) -> ReportView:
    access.authorize(tx, actor, "notification.write", group_id)
    locks.acquire_lock(tx, "reports of group", group_id)  # for the limit below
    report = KIND.build(tx, actor, group_id, draft, _draft_rules(rules))
    access.authorize(tx, actor, PERMISSIONS[report.content], group_id)
    existing = store.REPORTS.count_in_group(tx, group_id)
    quotas.require_room("reports_per_group_max", existing)
    due_at = get_schedule(report).next_due(tx.now)
    report = replace(report, actor_kind=actor.kind, actor_id=actor.id, due_at=due_at, run_at=due_at)
    return _view(tx, actor, KIND.insert(tx, actor, report), {})


def update_report(
    tx: Tx, actor: Actor, group_id: str, report_id: str, draft: ReportDraft, rules: ReportRules
) -> ReportView:
    """Update a report; from now on it is read with the permissions of whoever does.

    What was made for another reader, of something else or for somebody else, is not sent any more:
    whoever changes it now might not be allowed to read that.
    """
    before, after = KIND.update(tx, actor, group_id, report_id, draft, _draft_rules(rules))
    access.authorize(tx, actor, PERMISSIONS[after.content], group_id)
    owned = replace(after, actor_kind=actor.kind, actor_id=actor.id)
    schedule = get_schedule(after)
    if schedule != get_schedule(before) or (after.is_enabled and not before.is_enabled):
        # What was due while it was disabled is not sent.
        due_at = schedule.next_due(tx.now)
        owned = replace(owned, due_at=due_at, run_at=due_at)
    store.REPORTS.save(tx, after, owned)
    if _list_of_file(before) != _list_of_file(owned):
        store.expire_files(tx, after.number)
    saved = store.get_by_number(tx, after.number)
    assert saved is not None
    return _view(tx, actor, saved, store.list_last_runs(tx, [saved]))


def delete_report(tx: Tx, actor: Actor, group_id: str, report_id: str) -> ReportView:
    """Delete a report, with what was not sent yet and its files."""
    deleted = KIND.delete(tx, actor, group_id, report_id)
    store.expire_files(tx, deleted.number)
    return _view(tx, actor, deleted, store.list_last_runs(tx, [deleted]))


def send_report(tx: Tx, actor: Actor, group_id: str, report_id: str) -> ReportView:
    """Send it as soon as possible, about the last period; its schedule goes on."""
    report = KIND.require(tx, actor, "write", group_id, report_id)
    if not report.is_enabled:
        raise Conflict("The report is disabled; nothing is sent until it is enabled.")
    store.request_run(tx, report.number)
    KIND.log(tx, actor, "send", report)
    saved = store.get_by_number(tx, report.number) or report
    return _view(tx, actor, saved, store.list_last_runs(tx, [saved]))


def stop(tx: Tx, report: ScheduledReport) -> ScheduledReport:
    """Disable it, because whoever it is read for may not read it any more."""
    version = next_version(tx.now, report.updated_at)
    channel = replace(report.channel, is_enabled=False, updated_at=version, updated_by=SYSTEM.id)
    store.REPORTS.save(tx, report, replace(report, channel=channel))
    KIND.log(tx, SYSTEM, "stop", report)
    return replace(report, channel=channel)


def get_schedule(report: ScheduledReport) -> ReportSchedule:
    return ReportSchedule(report.every, time.fromisoformat(report.at), report.timezone)


def require_reader(tx: Tx, report: ScheduledReport) -> Actor:
    """With whose permissions it is read, as they are now; an error if they may not any more."""
    actor = credentials.get_actor(tx, report.actor_kind, report.actor_id)
    if actor is None:
        raise NotAuthenticated("is not there any more")
    access.authorize(tx, actor, PERMISSIONS[report.content], report.group_id)
    return actor


def get_group(tx: Tx, report: ScheduledReport) -> Group | None:
    """The group of a report, as long as whoever it is read for may read that."""
    try:
        actor = require_reader(tx, report)
    except (NotAllowed, NotAuthenticated, NotFound):
        return None
    scope = access.authorize(tx, actor, PERMISSIONS[report.content], report.group_id)
    return store_groups.GROUPS.get(tx, scope, report.group_id)


def _list_of_file(report: ScheduledReport) -> tuple[str | None, ...]:
    """With whose permissions its file is made, what is in that, and to whom it goes."""
    made_for = report.actor_kind, report.actor_id, report.channel.type, report.channel.sealed_params
    return *made_for, report.content, report.parameters, report.format, report.timezone


def _view(
    tx: Tx, actor: Actor, report: ScheduledReport, runs: Mapping[str, ReportRun]
) -> ReportView:
    return ReportView(
        report, KIND.view(tx, actor, report).params, runs.get(report.last_run_id or "")
    )


# --- drafts ---


def _draft_rules(rules: ReportRules) -> DraftRules[ScheduledReport, ReportDraft, ReportParams]:
    check_params = partial(_check_params, rules)
    check = partial(_check_draft, rules)
    return DraftRules(rules.parse_params, rules.egress, check_params, check, _merge)


def _check_params(rules: ReportRules, type_name: str, params: ReportParams) -> list[FieldError]:
    return list_disallowed(type_name, params, rules.mail)


def _check_draft(
    rules: ReportRules,
    tx: Tx,
    report: ScheduledReport,
    draft: ReportDraft,
    params: ReportParams | None,
) -> list[FieldError]:
    merged = _merge(report, draft, params)
    found = []
    if (why := check_timezone(merged.timezone)) is not None:
        found.append(FieldError("timezone", why))
    if draft.content is not None or draft.parameters is not None:
        found += rules.check_parameters(merged.content, merged.parameters, report.group_id)
    return found


def _merge(
    report: ScheduledReport, draft: ReportDraft, params: ReportParams | None
) -> ScheduledReport:
    return replace(
        report,
        content=updated(draft.content, report.content),
        parameters=updated(draft.parameters, report.parameters),
        every=updated(draft.every, report.every),
        at=updated(draft.at, report.at),
        timezone=updated(draft.timezone, report.timezone),
        format=updated(draft.format, report.format),
    )


# --- files that are too large for a mail ---


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file that can be downloaded, and how many parts it has."""

    report: ScheduledReport
    run: ReportRun
    parts: int


def build_secret(tx: Tx, run_id: str) -> str:
    """What opens the file of a run, and nothing else; it is not stored."""
    return f"{LINK_PREFIX}{run_id.removeprefix('run_')}_{_sign(tx, run_id)}"


def open_file(tx: Tx, secret: str) -> ReportFile:
    """The file that a secret opens, while whoever it was made for may still read it.

    The same error for whatever is wrong, after the same work.
    """
    identifier, _, signature = secret.removeprefix(LINK_PREFIX).partition("_")
    run_id = f"run_{identifier[:128]}"
    is_right = hmac.compare_digest(_sign(tx, run_id).encode(), signature.encode())
    run = store.RUNS.get(tx, run_id) if is_right else None
    report = None if run is None else store.get_by_number(tx, run.channel_number)
    if run is None or report is None or run.expires_at is None or run.expires_at <= tx.now:
        raise NotAuthenticated("The link is invalid or has expired.")
    try:
        require_reader(tx, report)
    except (NotAllowed, NotAuthenticated, NotFound) as error:
        raise NotAuthenticated("The link is invalid or has expired.") from error
    return ReportFile(report, run, -(-run.byte_count // PART_BYTES_MAX))


def _sign(tx: Tx, run_id: str) -> str:
    digest = tx.keyring.digest(f"file of the report {run_id}")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=").replace("_", ".")

"""The mail of a report: a text, the same as HTML, and its file or a link to that."""

import html
import zoneinfo
from datetime import UTC, date, datetime

from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.delivery.mail.mail_rules import to_line
from longwire.delivery.mail.smtp import MailPart, OutboundMail
from longwire.reports.charts import WIDTH
from longwire.reports.periods import ReportSchedule, describe_period
from longwire.store.reports.reports import ReportRun, ScheduledReport

CHART_ID = "chart"
MEDIA_TYPES = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@dataclass(frozen=True, slots=True)
class MailedReport:
    """What is mailed: a run of a report, with its file or what to open to download that."""

    report: ScheduledReport
    run: ReportRun
    group_name: str
    schedule: ReportSchedule
    file: bytes | None = None
    chart: bytes | None = None
    secret: str = ""  # what opens the file
    url: str = ""  # of the page that downloads it


def build_mail(mailed: MailedReport, mail_id: str, to: str, at: Moment) -> OutboundMail:
    report, run = mailed.report, mailed.run
    name, period = to_line(report.name or "Report"), describe_run(run, mailed.schedule)
    paragraphs = _list_paragraphs(mailed, period)
    attachments = []
    if mailed.file is not None:
        media_type = MEDIA_TYPES[report.format]
        attachments.append(MailPart(run.file_name, media_type, mailed.file))
    parts = [f"<p>{html.escape(each)}</p>" for each in paragraphs]
    if mailed.file is None:
        url = html.escape(mailed.url)
        parts.insert(2, f'<p><a href="{url}">Download the file</a></p>')
        paragraphs.insert(2, mailed.url)
    if mailed.chart is not None:
        picture = f'<p><img src="cid:{CHART_ID}" width="{WIDTH}" alt="Chart of the period"'
        parts.insert(1, f'{picture} style="max-width:100%;height:auto"></p>')
        attachments.append(MailPart("chart.png", "image/png", mailed.chart, CHART_ID))
    return OutboundMail(
        id=mail_id,
        to=to,
        subject=f"{name}: {period}",
        body="\n\n".join(paragraphs) + "\n",
        at=at,
        html=_PAGE.format(title=html.escape(name), content="\n".join(parts)),
        attachments=tuple(attachments),
    )


_PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family:system-ui,sans-serif;line-height:1.5;color:#212529">
<h1 style="font-size:1.25em">{title}</h1>
{content}
</body></html>
"""


def describe_run(run: ReportRun, schedule: ReportSchedule) -> str:
    zone = schedule.zone
    return describe_period(_to_day(run.begin_at, zone), _to_day(run.end_at, zone))


def _to_day(moment: Moment, zone: zoneinfo.ZoneInfo) -> date:
    return datetime.fromtimestamp(moment // SECOND, UTC).astimezone(zone).date()


def _list_paragraphs(mailed: MailedReport, period: str) -> list[str]:
    report, run = mailed.report, mailed.run
    rows = "1 row" if run.row_count == 1 else f"{run.row_count:,} rows"
    what = "" if report.content == "devices" else f", {period} ({to_line(report.timezone)})"
    found = [f"{rows} of the group {to_line(mailed.group_name)}{what}."]
    if mailed.file is not None:
        found.append(f"The file {run.file_name} is attached.")
    else:
        until = datetime.fromtimestamp((run.expires_at or 0) // SECOND, UTC)
        found.append(
            f"The file {run.file_name} has {run.byte_count / 1e6:.1f} MB, too much for a mail."
            f" Whoever has this link can download it until {until:%Y-%m-%d %H:%M} UTC:"
        )
    if run.missed:
        found.append(describe_missed(run.missed))
    if run.is_test:
        found.append("This was sent by hand, and not by its schedule.")
    found.append("To change or end it, ask whoever may change the notifications of the group.")
    return found


def describe_missed(missed: int) -> str:
    many = "an earlier one was" if missed == 1 else f"{missed} earlier ones were"
    return f"The service was not running when {many} due; of those nothing is sent."

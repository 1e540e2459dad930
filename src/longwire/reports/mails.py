"""The mail of a report: a text, the same as HTML, and its file or a link to that."""

import html
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from longwire.clock import SECOND, Moment
from longwire.delivery.mail.mail_rules import to_line
from longwire.delivery.mail.smtp import MailPart, OutboundMail
from longwire.reports.charts import WIDTH
from longwire.reports.periods import ReportSchedule
from longwire.store.reports.reports import ReportRun, ScheduledReport
from longwire.translations.catalogue import format_number, translate, translate_count
from longwire.translations.dates import format_moment, format_period

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


def build_mail(
    mailed: MailedReport, mail_id: str, to: str, at: Moment, language: str
) -> OutboundMail:
    report, run = mailed.report, mailed.run
    name = to_line(report.name or translate(language, "report.name"))
    period = describe_run(run, mailed.schedule, language)
    paragraphs = _list_paragraphs(mailed, period, language)
    attachments = []
    if mailed.file is not None:
        media_type = MEDIA_TYPES[report.format]
        attachments.append(MailPart(run.file_name, media_type, mailed.file))
    parts = [f"<p>{html.escape(each)}</p>" for each in paragraphs]
    if mailed.file is None:
        url = html.escape(mailed.url)
        download = html.escape(translate(language, "report.download"))
        parts.insert(2, f'<p><a href="{url}">{download}</a></p>')
        paragraphs.insert(2, mailed.url)
    if mailed.chart is not None:
        chart = html.escape(translate(language, "report.chart"))
        picture = f'<p><img src="cid:{CHART_ID}" width="{WIDTH}" alt="{chart}"'
        parts.insert(1, f'{picture} style="max-width:100%;height:auto"></p>')
        attachments.append(MailPart("chart.png", "image/png", mailed.chart, CHART_ID))
    return OutboundMail(
        id=mail_id,
        to=to,
        subject=translate(language, "report.subject", name=name, period=period),
        body="\n\n".join(paragraphs) + "\n",
        at=at,
        language=language,
        html=_PAGE.format(language=language, title=html.escape(name), content="\n".join(parts)),
        attachments=tuple(attachments),
    )


_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family:system-ui,sans-serif;line-height:1.5;color:#212529">
<h1 style="font-size:1.25em">{title}</h1>
{content}
</body></html>
"""


def describe_run(run: ReportRun, schedule: ReportSchedule, language: str) -> str:
    begin, until = _to_day(run.begin_at, schedule.zone), _to_day(run.end_at, schedule.zone)
    return format_period(language, begin, until - timedelta(days=1))


def _to_day(moment: Moment, zone: zoneinfo.ZoneInfo) -> date:
    return datetime.fromtimestamp(moment // SECOND, UTC).astimezone(zone).date()


def _list_paragraphs(mailed: MailedReport, period: str, language: str) -> list[str]:
    run = mailed.run
    found = [_describe_rows(mailed, period, language), _describe_file(mailed, language)]
    if run.missed:
        found.append(translate_count(language, "report.missed", run.missed))
    if run.is_test:
        found.append(translate(language, "report.by_hand"))
    found.append(translate(language, "report.ending"))
    return found


def _describe_rows(mailed: MailedReport, period: str, language: str) -> str:
    report, count, group = mailed.report, mailed.run.row_count, to_line(mailed.group_name)
    if report.content == "devices":
        return translate_count(language, "report.rows", count, group=group)
    zone = to_line(report.timezone)
    values = {"group": group, "period": period, "timezone": zone}
    return translate_count(language, "report.rows_of_period", count, **values)


def _describe_file(mailed: MailedReport, language: str) -> str:
    run = mailed.run
    if mailed.file is not None:
        return translate(language, "report.attached", file=run.file_name)
    megabytes = format_number(language, round(run.byte_count / 1e6, 1))
    until = format_moment(language, run.expires_at or 0)
    values = {"file": run.file_name, "megabytes": megabytes, "until": until}
    return translate(language, "report.linked", **values)

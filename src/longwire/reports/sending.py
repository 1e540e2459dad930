"""The channel handler of reports: mails or posts their files, and stores what became of them."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import msgspec

from longwire.dates import format_date
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    BuildMessage,
    SettledChannels,
)
from longwire.delivery.destinations.base import (
    FailureCode,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    Sender,
)
from longwire.delivery.destinations.http import Http
from longwire.delivery.http.egress import Egress
from longwire.delivery.mail.mail_rules import check_notification_mail
from longwire.delivery.mail.smtp import MailConfig, SmtpClient
from longwire.identity import languages
from longwire.ids import format_delivery_id
from longwire.model import Channel
from longwire.notifications.types.base import NotificationContext
from longwire.reports import reports
from longwire.reports.mails import MEDIA_TYPES, MailedReport, build_mail
from longwire.reports.recipients import ReportMailParams, ReportWebhookParams
from longwire.reports.reports import FILE_PATH, KIND, PAGE_PATH
from longwire.store.database import Database, Tx
from longwire.store.delivery import delivery_history
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.store.reports import reports as store

# A third more in a mail. What most servers take, and what is sent within the time of an attempt.
ATTACHED_BYTES_MAX = 5 * 1024 * 1024

NOT_A_RECIPIENT = Refused(
    "the report was updated, and this is no longer a recipient",
    is_final=True,
    code=FailureCode.WITHDRAWN,
)
FILE_GONE = Refused(
    "its file has expired, or the report was updated after it was made",
    is_final=True,
    code=FailureCode.WITHDRAWN,
)
NOT_ALLOWED = Refused(
    "whoever created it or changed it last may not read this any more",
    is_final=True,
    code=FailureCode.WITHDRAWN,
)
NO_URL = Refused(
    "its file is too large to be attached, and the operator has set no public_url for a link",
    is_final=True,
    code=FailureCode.NOT_CONFIGURED,
)


class PostedReport(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What a webhook gets: about which report, with its file or what opens that."""

    type: str
    id: str
    report_id: str
    group_id: str
    name: str | None
    content: str
    format: str
    begin_date: str
    end_date: str
    rows: int
    missed: int
    is_test: bool
    file_name: str
    media_type: str
    file: str | None = None  # in base64
    url: str | None = None
    token: str | None = None
    expires_at: str | None = None


class ReportHandler:
    """Handles the channels of reports."""

    def __init__(self, database: Database, config: MailConfig) -> None:
        self._database = database
        self._config = config

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        params = KIND.open_params(tx, channel)
        recipients = {each.lower() for each in params.list_recipients()}

        def build_message(claimed: ClaimedDelivery) -> OutboundMessage | Refused:
            to = msgspec.json.decode(claimed.context, type=NotificationContext).to
            # They may have been updated since it was queued.
            if to.lower() not in recipients:
                return NOT_A_RECIPIENT
            return OutboundMessage(
                id=format_delivery_id(claimed.channel_number, claimed.seq),
                kind="report",
                group_id=channel.group_id,
                device_id=claimed.device_id,
                device_type="",
                body=b"",
                content_type="application/json",
                to=to,
            )

        if isinstance(params, ReportWebhookParams):
            http = Http(params.to_http_params(), egress)
            return build_message, ReportPoster(http, self._load, self._config.base_url)
        check_mail = partial(self._check_mail, channel.group_id)
        default = params.language if isinstance(params, ReportMailParams) else None
        get_language = partial(self._get_language, channel.group_id, default)
        return build_message, ReportMailer(self._config, self._load, check_mail, get_language)

    async def _load(self, run_id: str) -> MailedReport | Refused:
        """A run with its file, part by part, or with a link if that is too large."""
        found = await self._database.read(partial(self._find, run_id=run_id))
        if isinstance(found, Refused):
            return found
        if found is None:
            return FILE_GONE
        chart = await self._database.read(lambda tx: store.FILES.read(tx, run_id, store.CHART))
        if found.run.byte_count > ATTACHED_BYTES_MAX:
            return replace(found, chart=chart)
        parts: list[bytes] = []
        while sum(map(len, parts)) < found.run.byte_count:
            read = partial(store.FILES.read, owner=run_id, number=len(parts))
            part = await self._database.read(read)
            if part is None:
                return FILE_GONE
            parts.append(part)
        return replace(found, file=b"".join(parts), chart=chart)

    def _find(self, tx: Tx, run_id: str) -> MailedReport | Refused | None:
        run = store.RUNS.get(tx, run_id)
        report = None if run is None else store.get_by_number(tx, run.channel_number)
        if run is None or report is None or run.expires_at is None or run.expires_at <= tx.now:
            return None
        group = reports.get_group(tx, report)
        if group is None:
            return NOT_ALLOWED
        secret = reports.build_secret(tx, run.id)
        base_url = self._config.base_url
        return MailedReport(
            report=report,
            run=run,
            group_name=group.name or report.group_id,
            schedule=reports.get_schedule(report),
            secret=secret,
            url=f"{base_url}{PAGE_PATH}#{secret}" if base_url else "",
        )

    async def _check_mail(self, group_id: str, address: str) -> Refused | None:
        def check(tx: Tx) -> Refused | None:
            return check_notification_mail(tx, group_id, address, self._config)

        return await self._database.write(check)

    async def _get_language(self, group_id: str, default: str | None, address: str) -> str:
        own = await self._database.read(
            lambda tx: languages.list_of_addresses(tx, group_id, [address])
        )
        return languages.choose(own.get(address.lower()), default)

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Store what became of the runs."""
        for channel, results in settled:
            for each in results:
                self._count(tx, channel, each)

    def _count(self, tx: Tx, channel: Channel, result: AttemptResult) -> None:
        claimed = result.claimed
        run_id = claimed.device_id
        if not run_id:  # the process that tried it died
            found = delivery_history.list_device_ids(tx, channel.number, [claimed.seq])
            run_id = found.get(claimed.seq, "")
        has_ended = result.outcome is not AttemptOutcome.RETRY_SCHEDULED
        has_failed = result.outcome is AttemptOutcome.FAILED
        error = result.reason or None
        store.count_results(tx, run_id, int(has_ended), int(has_failed), error)
        store.expire_sent_file(tx, run_id, ATTACHED_BYTES_MAX)


LoadReport = Callable[[str], Awaitable[MailedReport | Refused]]
CheckMail = Callable[[str], Awaitable[Refused | None]]
GetLanguage = Callable[[str], Awaitable[str]]  # by an address


class ReportMailer:
    """Mails one report."""

    batch_max = 1

    def __init__(
        self,
        config: MailConfig,
        load: LoadReport,
        check_mail: CheckMail,
        get_language: GetLanguage,
    ) -> None:
        self._client = SmtpClient(config)
        self._load = load
        self._check_mail = check_mail
        self._get_language = get_language

    async def send(self, batch: OutboundBatch) -> Outcome:
        message = batch.single
        mailed = await self._load(message.device_id)
        if isinstance(mailed, Refused):
            return mailed
        if mailed.file is None and not mailed.url:
            return NO_URL
        refusal = await self._check_mail(message.to)
        if refusal is not None:
            return refusal
        language = await self._get_language(message.to)
        return await self._client.send(
            build_mail(mailed, message.id, message.to, batch.at, language)
        )

    async def close(self) -> None:
        """Every mail closes its own connection."""


class ReportPoster:
    """Posts one report to a webhook."""

    batch_max = 1

    def __init__(self, http: Http, load: LoadReport, base_url: str) -> None:
        self._http = http
        self._load = load
        self._base_url = base_url

    async def send(self, batch: OutboundBatch) -> Outcome:
        message = batch.single
        posted = await self._load(message.device_id)
        if isinstance(posted, Refused):
            return posted
        if posted.file is None and not self._base_url:
            return NO_URL
        body = msgspec.json.encode(self._build(message.id, posted))
        sent = msgspec.structs.replace(message, body=body)
        outcome = await self._http.send(msgspec.structs.replace(batch, messages=[sent]))
        if isinstance(outcome, Refused) and outcome.disables:
            return msgspec.structs.replace(outcome, disables=False)
        return outcome

    def _build(self, message_id: str, posted: MailedReport) -> PostedReport:
        report, run = posted.report, posted.run
        file = None if posted.file is None else base64.b64encode(posted.file).decode()
        is_linked = file is None and run.expires_at is not None
        return PostedReport(
            type="report",
            id=message_id,
            report_id=report.id,
            group_id=report.group_id,
            name=report.name,
            content=report.content,
            format=report.format,
            begin_date=format_date(run.begin_at),
            end_date=format_date(run.end_at),
            rows=run.row_count,
            missed=run.missed,
            is_test=run.is_test,
            file_name=run.file_name,
            media_type=MEDIA_TYPES[report.format],
            file=file,
            url=f"{self._base_url}{FILE_PATH}" if is_linked else None,
            token=posted.secret if is_linked else None,
            expires_at=format_date(run.expires_at or 0) if is_linked else None,
        )

    async def close(self) -> None:
        await self._http.close()

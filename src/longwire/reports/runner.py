"""Runs reports: makes their files when they are due, and queues a delivery for each recipient.

One process runs them, the users whose groups they are of in turns. The file is stored first; what
became of the report, its deliveries and when it is due next are one transaction, which does nothing
if another process, or this one before it stopped, has done so already. Whoever dies on the way has
sent nothing, and the next one begins again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import structlog

from longwire.clock import HOUR, MINUTE, Moment
from longwire.delivery.channels import DispatchContext
from longwire.errors import (
    LongwireError,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    OperatorError,
    TooLarge,
    Unavailable,
)
from longwire.ids import new_id
from longwire.model import Actor
from longwire.notifications.types.base import NotificationContext
from longwire.records import RecordKind
from longwire.reports import reports
from longwire.reports.reports import KIND
from longwire.store import locks
from longwire.store.database import Database, Tx
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.file_parts import split
from longwire.store.reports import reports as store
from longwire.store.reports.reports import FILE_KEPT_FOR, Following, ReportRun, ScheduledReport
from longwire.work.stepper import DoneStep, Stepper

POLL_INTERVAL_S = 1.0
OWNERS_PER_ROUND_MAX = 50
_MIB = 1024 * 1024
# Kept in memory while it is made, and in the database for a week.
FILE_BYTES_MAX = 20 * _MIB
# Of all files of an owner that wait, or that links lead to.
KEPT_BYTES_PER_OWNER_MAX = 256 * _MIB
# Others wait for it: the reports of all owners are made one after another.
MAKING_S_MAX = 120.0
# When what it reads is unavailable, such as the archive; then it has failed.
RETRY_AFTER = tuple(each * MINUTE for each in (1, 2, 4, 8, 16))
# A file that nobody sends any more, because we died, or the report was changed meanwhile.
_UNSENT_KEPT_FOR = HOUR
INTERNAL = "it could not be made because of an internal error"
STOPPED = (
    "it was stopped: whoever created it or changed it last may not read this any more;"
    " somebody who may can enable it again"
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ContentRequest:
    """What is to be read: of which report, for whom, from when until before when."""

    report: ScheduledReport
    actor: Actor
    begin: Moment
    end: Moment
    bytes_max: int


@dataclass(frozen=True, slots=True)
class BuiltContent:
    """A file, how many rows it has, and its chart, if one is meant."""

    content: bytes
    rows: int
    chart: bytes | None = None


ReadContent = Callable[[Database, ContentRequest], Awaitable[BuiltContent]]


class ReportRunner:
    """Makes the reports of all groups when they are due."""

    def __init__(
        self,
        database: Database,
        dispatch: DispatchContext,
        read_content: ReadContent,
    ) -> None:
        self._database = database
        self._dispatch = dispatch
        self._read_content = read_content
        self._retries: dict[int, int] = {}  # by number
        self._stepper: Stepper[str] = Stepper(
            "report",
            self._list_owners,
            self._run_next,
            before_any="",
            owners_max=OWNERS_PER_ROUND_MAX,
            interval_s=POLL_INTERVAL_S,
        )

    async def run(self) -> None:
        """Until cancelled."""
        await self._stepper.run()

    async def _list_owners(self, after: str, most: int) -> list[str]:
        if not self._database.cluster.is_leader:
            return []
        return await self._database.read(partial(store.list_due_owners, after=after, most=most))

    async def _run_next(self, owner: str) -> DoneStep | None:
        """The report of a user that is due first."""
        report = await self._database.read(partial(store.pick_due, owner_id=owner))
        if report is None:
            return None
        began = time.monotonic()
        await self._run(report, owner)
        return DoneStep(time.monotonic() - began)

    async def _run(self, report: ScheduledReport, owner: str) -> None:
        run, due_at = self._plan(report)
        built: BuiltContent | None = None
        retry_at: Moment | None = None
        try:
            built = await self._make(report, run)
            await self._require_room(owner, len(built.content))
        except Unavailable as error:
            retry_at = self._plan_retry(report.number, run.at)
            again = "" if retry_at is None else " It is tried again."
            run = replace(run, error=f"{error}{again}")
        except (NotAllowed, NotAuthenticated, NotFound) as error:
            run = await self._explain(report, run, error)
        except (LongwireError, OperatorError) as error:
            run = replace(run, error=str(error))
        except Exception:
            log.exception("report not made", report=report.id)
            run = replace(run, error=INTERNAL)
        if retry_at is None:
            self._retries.pop(report.number, None)
        if built is not None and run.error is None:
            run = replace(run, row_count=built.rows, byte_count=len(built.content))
            await self._store_file(run, built)
        following = Following(due_at, due_at)
        if retry_at is not None:
            following = Following(report.due_at, retry_at)
        finish = partial(self._finish, report=report, run=run, following=following)
        await self._database.write(finish)

    async def _make(self, report: ScheduledReport, run: ReportRun) -> BuiltContent:
        actor = await self._database.read(partial(reports.require_reader, report=report))
        request = ContentRequest(report, actor, run.begin_at, run.end_at, FILE_BYTES_MAX)
        try:
            async with asyncio.timeout(MAKING_S_MAX):
                return await self._read_content(self._database, request)
        except TimeoutError as error:
            raise TooLarge(
                f"It took more than {MAKING_S_MAX:g} seconds: choose fewer devices or values, or a"
                " shorter period."
            ) from error

    async def _require_room(self, owner: str, size: int) -> None:
        kept = await self._database.read(partial(store.count_kept_bytes, owner_id=owner))
        if kept + size > KEPT_BYTES_PER_OWNER_MAX:
            raise TooLarge(
                f"Files of reports that are kept for links have {kept // _MIB} of"
                f" {KEPT_BYTES_PER_OWNER_MAX // _MIB} MiB: send smaller ones, or wait until some"
                " have expired."
            )

    def _plan_retry(self, number: int, now: Moment) -> Moment | None:
        """When it is tried again; None if that was often enough."""
        done = self._retries.get(number, 0)
        if done >= len(RETRY_AFTER):
            return None
        self._retries[number] = done + 1
        return now + RETRY_AFTER[done]

    async def _explain(
        self, report: ScheduledReport, run: ReportRun, error: LongwireError
    ) -> ReportRun:
        """Whether its reader may not read it any more, or something in it is not there."""
        try:
            await self._database.read(partial(reports.require_reader, report=report))
        except (NotAllowed, NotAuthenticated, NotFound):
            return replace(run, is_stopped=True, error=STOPPED)
        named = [f"{_to_camel(each.field)} {each.message}" for each in error.field_errors]
        return replace(run, error="; ".join(named) or str(error))

    def _plan(self, report: ScheduledReport) -> tuple[ReportRun, Moment]:
        """What to send now, as far as that is known before, and when it is due next."""
        now = self._database.context.clock.now()
        schedule = reports.get_schedule(report)
        is_due, missed = report.due_at <= now, 0
        (begin, until) = schedule.last_period(now)
        if is_due:
            (begin, until), missed = schedule.period_due(report.due_at, now)
        run = ReportRun(
            id=new_id("run"),
            channel_number=report.number,
            at=now,
            begin_at=schedule.to_moment(begin),
            end_at=schedule.to_moment(until),
            is_test=not is_due,
            missed=missed,
            file_name=f"{report.content}-{begin.isoformat()}.{report.format}",
            expires_at=now + FILE_KEPT_FOR,
        )
        return run, schedule.next_due(now) if is_due else report.due_at

    async def _store_file(self, run: ReportRun, built: BuiltContent) -> None:
        """In parts, so that nobody waits for long; if we die, it expires."""
        unsent = replace(run, expires_at=run.at + _UNSENT_KEPT_FOR)
        await self._database.write(lambda tx: store.RUNS.insert(tx, unsent))
        if built.chart is not None:
            chart = built.chart
            await self._database.write(
                lambda tx: store.FILES.insert(tx, run.id, store.CHART, chart)
            )
        for number, part in split(built.content):
            insert = partial(store.FILES.insert, owner=run.id, number=number, content=part)
            await self._database.write(insert)

    def _finish(
        self, tx: Tx, report: ScheduledReport, run: ReportRun, following: Following
    ) -> None:
        locks.acquire_lock(tx, "channel", report.id)  # as updates do
        current = store.get_by_number(tx, report.number)
        if current is None or current.channel.version != report.channel.version:
            # Deleted or changed meanwhile; what it is now runs in the next round.
            store.expire_file(tx, run.id)
            return
        recipients: list[str] = []
        if run.error is None:
            recipients = list(KIND.open_params(tx, current.channel).list_recipients())
        count = len(recipients)
        run = replace(run, recipients=count, waiting=count)
        if run.error is not None:
            run = replace(run, expires_at=None)
        if not store.finish(tx, report, run, following):
            store.expire_file(tx, run.id)
            return
        if run.is_stopped:
            reports.stop(tx, current)
        if recipients:
            self._enqueue(tx, report, run, recipients)

    def _enqueue(
        self, tx: Tx, report: ScheduledReport, run: ReportRun, recipients: list[str]
    ) -> None:
        seqs = self._dispatch.take_sequence_numbers(tx.now, len(recipients))
        store_deliveries.insert(
            tx,
            [
                # The run in place of a device: it stays known when the body is dropped.
                NewDelivery(
                    report.number,
                    seq,
                    run.id,
                    RecordKind.EVENT,
                    tx.now,
                    "{}",
                    msgspec.json.encode(NotificationContext(to)).decode(),
                )
                for seq, to in zip(seqs, recipients, strict=True)
            ],
        )
        self._dispatch.wake(tx, {report.number})


def _to_camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)

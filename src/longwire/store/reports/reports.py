"""Reports, and what became of each once, with its file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from longwire.clock import DAY, Moment
from longwire.model import ChannelOwner, ChannelPurpose
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.channel_owners import OwnerTable
from longwire.store.file_parts import FileParts
from longwire.store.rows import Rows
from longwire.store.statement import Statement

# Whoever was on holiday finds the link of a weekly report.
FILE_KEPT_FOR = 7 * DAY
CHART = -1  # in place of the number of a part
FILES = FileParts("report_chunk", "run_id")


@dataclass(frozen=True, slots=True)
class ScheduledReport(ChannelOwner):
    """Sends records, numbers, devices or alarms as a file, every day, week or month."""

    content: str = ""
    parameters: str = "{}"  # JSON
    every: str = ""
    at: str = ""
    timezone: str = ""
    format: str = ""
    actor_kind: str = ""  # with whose permissions it is read
    actor_id: str = ""
    due_at: Moment = 0  # when the schedule says so next
    run_at: Moment = 0  # when it is to run, which may be earlier: as a test
    last_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReportRun:
    """What became of a report once."""

    id: str
    channel_number: int
    at: Moment
    begin_at: Moment
    end_at: Moment
    is_test: bool
    missed: int = 0  # earlier ones that were never sent
    file_name: str = ""
    row_count: int = 0
    byte_count: int = 0
    is_stopped: bool = False
    recipients: int = 0
    waiting: int = 0
    failed: int = 0
    error: str | None = None
    expires_at: Moment | None = None  # of its file; None once that is deleted


@dataclass(frozen=True, slots=True)
class Following:
    """When a report is due next, and when it runs next, which may be another try before."""

    due_at: Moment
    run_at: Moment


REPORTS = OwnerTable(
    ScheduledReport,
    "report",
    fields_read=(),
    channel_fields_read=(),
)
RUNS = Rows(ReportRun, schema.report_run)

_IS_DUE = f"""
from report r
join channel c on c.number = r.channel_number
join device_group g on g.id = c.group_id
where r.run_at <= :now
    and c.purpose = '{ChannelPurpose.REPORT}'
    and c.is_enabled
    and c.deleted_at is null"""

LIST_DUE_OWNERS = Statement(
    f"""
select distinct g.quota_user_id {_IS_DUE}
    and g.quota_user_id > :after
order by 1
limit :most
""",
    into=str,
)

PICK_DUE = Statement(
    f"""
select r.channel_number {_IS_DUE}
    and g.quota_user_id = :owner
order by r.run_at, r.channel_number
limit 1
""",
    into=int,
)

REQUEST_RUN = Statement("""
update report
set run_at = :now
where channel_number = :number
    and run_at > :now
""")

# Of two processes that have made it, one sends it.
FINISH = Statement("""
update report
set due_at = :next_due_at,
    run_at = :next_run_at,
    last_run_id = :run
where channel_number = :number
    and run_at = :run_at
    and due_at = :due_at
""")

# By when an attempt ended, so that what is repeated counts once.
COUNT_RESULTS = Statement("""
update report_run
set waiting = waiting - :ended,
    failed = failed + :failed,
    error = coalesce(:error, error)
where id = :run
    and waiting >= :ended
""")


def _expire(condition: str) -> Statement[tuple[Any, ...]]:
    """Files that are not sent, or downloaded, any more are deleted like all that have expired."""
    return Statement(f"""
update report_run
set expires_at = :now
where {condition}
    and expires_at > :now
""")


EXPIRE_FILE = _expire("id = :run")
EXPIRE_SENT_FILE = _expire("id = :run and waiting = 0 and byte_count <= :most")
EXPIRE_FILES = _expire("channel_number = :number")
EXPIRE_EARLIER_TESTS = _expire("channel_number = :number and id <> :run and is_test")

COUNT_KEPT_BYTES = Statement(
    """
select cast(coalesce(sum(u.byte_count), 0) as bigint)
from report_run u
join channel c on c.number = u.channel_number
join device_group g on g.id = c.group_id
where u.expires_at > :now
    and g.quota_user_id = :owner
""",
    into=int,
)

# Locked: of two processes one deletes.
LOCK_EXPIRED = Statement("""
select id
from report_run
where expires_at <= :now
order by expires_at
limit 1
{skip_locked}
""")

# The last one of a report says what became of it for as long as there is no other.
DELETE_RUN = Statement("""
delete from report_run
where id = :run
    and not exists (
        select 1
        from report r
        where r.channel_number = report_run.channel_number
            and r.last_run_id = :run
    )
""")

DELETE_WITHOUT_FILE = Statement("""
delete from report_run
where id = :run
    and expires_at is null
""")

CLEAR_FILE = Statement("""
update report_run
set expires_at = null
where id = :run
""")


def list_due_owners(tx: Tx, after: str, most: int) -> list[str]:
    """For whose groups reports are to run."""
    return tx.fetch(LIST_DUE_OWNERS, now=tx.now, after=after, most=most)


def pick_due(tx: Tx, owner_id: str) -> ScheduledReport | None:
    """The one of a user's groups that is to run first."""
    number = tx.first(PICK_DUE, now=tx.now, owner=owner_id)
    return None if number is None else get_by_number(tx, number)


def get_by_number(tx: Tx, number: int) -> ScheduledReport | None:
    return REPORTS.get_by_numbers(tx, [number]).get(number)


def request_run(tx: Tx, number: int) -> None:
    """Run it as soon as possible, whatever the schedule says."""
    tx.run(REQUEST_RUN, number=number, now=tx.now)


def finish(tx: Tx, report: ScheduledReport, run: ReportRun, following: Following) -> bool:
    """Store what became of a report, and when it is due next; False if that was done already."""
    values = {"next_due_at": following.due_at, "next_run_at": following.run_at}
    before = {"run_at": report.run_at, "due_at": report.due_at}
    if not tx.run(FINISH, number=report.number, run=run.id, **values, **before):
        return False
    if run.is_test and run.expires_at is not None:
        tx.run(EXPIRE_EARLIER_TESTS, number=report.number, run=run.id, now=tx.now)
    RUNS.delete(tx, run.id)  # as it was while its file was stored
    RUNS.insert(tx, run)
    if report.last_run_id is not None:
        tx.run(DELETE_WITHOUT_FILE, run=report.last_run_id)
    return True


def list_last_runs(tx: Tx, reports: Collection[ScheduledReport]) -> Mapping[str, ReportRun]:
    """The last runs of reports, by their ids."""
    ids = [each.last_run_id for each in reports if each.last_run_id is not None]
    return {each.id: each for each in RUNS.list_all(tx, order="id", id=ids)} if ids else {}


def count_results(tx: Tx, run_id: str, ended: int, failed: int, error: str | None) -> None:
    """Count attempts that ended, and keep why the last one failed."""
    tx.run(COUNT_RESULTS, run=run_id, ended=ended, failed=failed, error=error)


# --- files ---


def expire_file(tx: Tx, run_id: str) -> None:
    """Nobody sends it any more."""
    tx.run(EXPIRE_FILE, run=run_id, now=tx.now)


def expire_sent_file(tx: Tx, run_id: str, most: int) -> None:
    """Every recipient has it, unless it was too large to be attached, and they have a link."""
    tx.run(EXPIRE_SENT_FILE, run=run_id, most=most, now=tx.now)


def expire_files(tx: Tx, number: int) -> None:
    """Those of a report, also those that wait to be sent."""
    tx.run(EXPIRE_FILES, number=number, now=tx.now)


def count_kept_bytes(tx: Tx, owner_id: str) -> int:
    """Of all files for a user's groups that have not expired."""
    return tx.first(COUNT_KEPT_BYTES, owner=owner_id, now=tx.now) or 0


def prune(tx: Tx, most: int) -> int:
    """Delete some of a file that has expired; how many rows were changed."""
    rows = tx.fetch(LOCK_EXPIRED, now=tx.now)
    if not rows:
        return 0
    (run_id,) = rows[0]
    deleted = FILES.delete_some(tx, run_id, most)
    if deleted < most and not tx.run(DELETE_RUN, run=run_id):
        tx.run(CLEAR_FILE, run=run_id)
    return deleted + 1

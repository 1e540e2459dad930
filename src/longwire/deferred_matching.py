"""Deferred matching: filters and conditions that were too costly for the transaction of a record.

Such records are stored with a deferral, which says that some group's connectors or notifications
have not seen them. Here they are evaluated: on a thread of their own, with no transaction open, in
turns of a few milliseconds for each group, and only while the group's budget lasts. What they cause
is stored together with the end of the deferral, so that a crash leaves nothing out.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import msgspec

from longwire import metrics
from longwire.clock import MINUTE, Moment
from longwire.delivery.matching import matching
from longwire.delivery.matching.budgets import TOO_EXPENSIVE, ComputeBudgets, InlineAllowance
from longwire.delivery.matching.matching import ChangeSelection, Content, DeferredMatches
from longwire.ingest.sequencer import Sequencer
from longwire.notifications import rules, triggers
from longwire.notifications.firing import fire
from longwire.notifications.recipients import RecipientCache
from longwire.notifications.triggers import DeferredCandidates
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.delivery import change_messages, connector_minutes, deferrals
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.deferrals import Deferral, DeferralPurpose
from longwire.store.records import arrived_records
from longwire.store.records import records as store_records
from longwire.store.records.arrived_records import ArrivedRecord
from longwire.work.stepper import DoneStep, Stepper

INTERVAL_S = 1.0
SLICE_US = 10_000.0
RECORDS_PER_STEP_MAX = 200
DELIVERIES_PER_COMMIT_MAX = 1_000
COMMIT_INTERVAL_S = 1.0
LEASED_FOR: Moment = 2 * MINUTE
OWNERS_PER_ROUND_MAX = 200
REPORT_INTERVAL: Moment = MINUTE

REASON = (
    f"{TOO_EXPENSIVE}: the expressions of this group use more CPU time than a group may; records "
    "are matched later, and none is left out"
)

Found = DeferredMatches | DeferredCandidates


@dataclass(slots=True)
class _Run:
    """The evaluation of some deferred records."""

    deferral: Deferral
    end_seq: int  # the deferral is done up to here when all are evaluated
    found: Found
    steps: Iterator[None]
    began_at: float = field(default_factory=time.monotonic)
    is_exhausted: bool = False
    is_due: bool = False  # something should be committed

    def advance(self, budgets: ComputeBudgets) -> float:
        """Evaluate for a slice of CPU time; returns the seconds that it took."""
        began_at = time.monotonic()
        with budgets.charging(self.deferral.owner_id):
            end = budgets.cpu_us() + SLICE_US
            while not self._step() and budgets.cpu_us() < end:
                pass
        return time.monotonic() - began_at

    def _step(self) -> bool:
        """One evaluation; whether something should be committed now."""
        before = self.found.done_seq
        try:
            next(self.steps)
        except StopIteration:
            self.is_exhausted = self.is_due = True
            self.found.done_seq = self.end_seq
            return True
        # Between two records only: what a record causes is stored as a whole.
        if self.found.done_seq != before:
            self.is_due = (
                self.found.size >= DELIVERIES_PER_COMMIT_MAX
                or time.monotonic() - self.began_at > COMMIT_INTERVAL_S
            )
        return self.is_due

    def restart(self, deferral: Deferral) -> None:
        """Continue behind what was committed."""
        self.deferral = deferral
        self.found.clear()
        self.is_due = False
        self.began_at = time.monotonic()


class DeferredMatching:
    """Works off deferrals, the groups in turns."""

    def __init__(
        self,
        database: Database,
        sequencer: Sequencer,
        budgets: ComputeBudgets,
        wake: Callable[[Collection[int]], None],
    ) -> None:
        self._database = database
        self._sequencer = sequencer
        self._budgets = budgets
        self._wake = wake
        self._clock = database.context.clock
        self._thread: ThreadPoolExecutor | None = None  # while it runs
        self._runs: dict[str, _Run] = {}
        self._reported: dict[str, Moment] = {}
        self._stepper: Stepper[str] = Stepper(
            "deferred matching",
            self._list_owners,
            self._run_slice,
            before_any=str(deferrals.BEFORE_ANY_OWNER),
            owners_max=OWNERS_PER_ROUND_MAX,
            interval_s=INTERVAL_S,
        )

    def notify(self) -> None:
        """Something was deferred and is committed; from any thread."""
        self._stepper.wakeup.notify()

    async def run(self) -> None:
        """Until cancelled; what another process has deferred is found within a second."""
        self._runs.clear()
        with ThreadPoolExecutor(1, thread_name_prefix="evaluate") as self._thread:
            await self._stepper.run()

    async def _list_owners(self, after: str, most: int) -> list[str]:
        return await self._database.read(lambda tx: deferrals.list_owners(tx, int(after), most))

    async def _run_slice(self, owner: str) -> DoneStep | None:
        """Evaluate for one group, unless its budget is used up."""
        if self._budgets.is_used_up(owner):
            await self._report(owner)
            return None
        run = self._runs.pop(owner, None) or await self._begin(owner)  # if this fails: loaded again
        if run is None:
            return None
        loop = asyncio.get_running_loop()
        took_s = await loop.run_in_executor(self._thread, run.advance, self._budgets)
        if not run.is_due or await self._commit(run):
            self._runs[owner] = run
        return DoneStep(took_s)

    async def _begin(self, owner: str) -> _Run | None:
        """Lease the next deferral of a group and load its records."""
        until = self._clock.now() + LEASED_FOR
        lease = partial(deferrals.lease_next, owner_id=owner, until=until)
        is_shared = self._database.engine_name == "postgresql"
        call = self._database.write if is_shared else self._database.read
        deferral = await call(lease)
        if deferral is None:
            return None
        return await self._database.read(partial(_load, deferral=deferral))

    async def _commit(self, run: _Run) -> bool:
        """Whether it goes on."""
        until = 0 if run.is_exhausted else self._clock.now() + LEASED_FOR
        store = partial(_store, run=run, until=until, sequencer=self._sequencer)
        stored = await self._database.write(store)
        if stored.woken:
            self._wake(stored.woken)
        if stored.deferral is None or run.is_exhausted:
            return False
        run.restart(stored.deferral)
        return True

    async def _report(self, owner: str) -> None:
        """Show the owner why records are matched late."""
        now = self._clock.now()
        if now < self._reported.get(owner, -REPORT_INTERVAL) + REPORT_INTERVAL:
            return
        self._reported = {
            each: at for each, at in self._reported.items() if now < at + REPORT_INTERVAL
        } | {owner: now}
        await self._database.write(partial(_record_budget_error, owner=owner))


# --- on a transaction ---


class Stored(msgspec.Struct, frozen=True):
    """What a commit has left: the rest of the deferral, and channels with something to send."""

    deferral: Deferral | None
    woken: Collection[int] = ()


def _load(tx: Tx, deferral: Deferral) -> _Run:
    cache_epochs.refresh_epochs(tx)  # no older than the records
    if deferral.purpose == DeferralPurpose.CHANGE:
        return _load_changes(tx, deferral)
    arrived = arrived_records.list_arrivals(
        tx,
        int(deferral.group_id),
        deferral.first_seq - 1,
        deferral.last_seq + 1,
        *store_records.ALL_TIME,
        RECORDS_PER_STEP_MAX,
        with_expired=True,  # as what arrives is matched at once
    )
    end_seq = deferral.last_seq
    if len(arrived) == RECORDS_PER_STEP_MAX:
        last = arrived[-1]
        end_seq = last.row.seq if isinstance(last, ArrivedRecord) else last
    records = [
        each
        for each in arrived
        if isinstance(each, ArrivedRecord) and deferral.includes(each.row.seq)
    ]
    if deferral.purpose == DeferralPurpose.CONNECTOR:
        matches = DeferredMatches()
        matchers = matching.get_matchers(tx, deferral.group_id)
        contents = [(matching.get_content(each.row, each.device), matchers) for each in records]
        steps = matching.match_deferred(deferral, contents, matches)
        return _Run(deferral, end_seq, matches, steps)
    candidates = DeferredCandidates()
    group_rules = rules.get_rules(tx, deferral.owner_id)
    steps = triggers.evaluate_deferred(tx.now, group_rules, records, candidates)
    return _Run(deferral, end_seq, candidates, steps)


def _load_changes(tx: Tx, deferral: Deferral) -> _Run:
    rows = change_messages.list_in_order(
        tx,
        int(deferral.group_id),
        deferral.first_seq - 1,
        deferral.last_seq + 1,
        *store_records.ALL_TIME,
        RECORDS_PER_STEP_MAX,
    )
    end_seq = rows[-1].seq if len(rows) == RECORDS_PER_STEP_MAX else deferral.last_seq
    matches = DeferredMatches()
    selection = ChangeSelection(tx)
    contents = [
        (Content(each, msgspec.json.decode(each.context)), selection.get_matchers(each))
        for each in rows
        if deferral.includes(each.seq)
    ]
    return _Run(deferral, end_seq, matches, matching.match_deferred(deferral, contents, matches))


def _store(tx: Tx, run: _Run, until: Moment, sequencer: Sequencer) -> Stored:
    """Store what was found, and that it is done; nothing if another process was faster."""
    found = run.found
    if found.done_seq is None:
        return Stored(run.deferral)
    rest = deferrals.advance(tx, run.deferral, found.done_seq, until)
    if rest is None:
        return Stored(None)
    if isinstance(found, DeferredMatches):
        woken = _store_matches(tx, run.deferral.owner_id, found, sequencer.writer)
    else:
        recipients = RecipientCache(tx)
        firings = triggers.apply_trigger_state(
            tx, recipients, found.candidates, found.filters, InlineAllowance()
        )
        woken = fire(tx, sequencer.take, firings, recipients)
    found.filters.store(tx)
    return Stored(rest, woken)


def _store_matches(tx: Tx, owner: str, found: DeferredMatches, writer: int) -> set[int]:
    enabled = store_channels.get_versions(tx, {each.channel_number for each in found.deliveries})
    deliveries = [each for each in found.deliveries if each.channel_number in enabled]
    made: Counter[int] = Counter()
    for number in sorted(enabled):
        mine = [each for each in deliveries if each.channel_number == number]
        made[number] = store_deliveries.insert_missing(tx, mine)
    made = +made
    if made:
        counter = (int(owner), "connector_message_started")
        metrics.count(tx, writer, Counter({counter: made.total()}))
        connector_minutes.count_made(tx, writer, made)
    return set(enabled)


def _record_budget_error(tx: Tx, owner: str) -> None:
    purposes = deferrals.list_purposes(tx, owner)
    numbers: set[int] = set()
    for purpose, get_matchers in (
        (DeferralPurpose.CONNECTOR, matching.get_matchers),
        (DeferralPurpose.CHANGE, matching.get_change_matchers),
    ):
        mine = get_matchers(tx, owner).matchers if purpose in purposes else ()
        numbers |= {each.number for each in mine if each.group_id == owner and each.expression}
    group_rules = rules.get_rules(tx, owner)
    if DeferralPurpose.NOTIFICATION in purposes and group_rules is not None:
        numbers |= {each.number for each in group_rules.by_number.values() if each.when}
    store_channels.record_errors(tx, dict.fromkeys(numbers, REASON))

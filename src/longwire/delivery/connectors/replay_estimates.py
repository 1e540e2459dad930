"""Estimates of replays: how many records a replay would send. Nothing is sent.

Arrivals are read in bounded steps and the filter is evaluated with no transaction open, within the
budget of previews. What arrived in the period comes first; if that is too much, the rest is
estimated from it.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from longwire.clock import HOUR, Moment
from longwire.delivery.connectors import connectors
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.delivery.matching.matching import (
    CHANGE_KINDS,
    RECORD_KINDS,
    Content,
    Matcher,
    get_content,
    get_matcher,
    is_seen,
)
from longwire.errors import TooManyRequests
from longwire.model import Actor
from longwire.records import KIND_NAMES
from longwire.store.database import Database, Tx
from longwire.store.delivery import change_messages
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.change_messages import ChangeRow
from longwire.store.identity import group_limits
from longwire.store.records import arrival_numbers, arrivals, arrived_records

ARRIVALS_MAX = 10_000
ARRIVALS_PER_STEP_MAX = 500
# Another step begins only within this time.
SECONDS_MAX = 1.0
COUNTED_MAX = 1_000_000
# A record may be older than its arrival, but hardly newer.
CLOCK_SKEW = HOUR
SAMPLE_MAX = 20

# Runs a function that takes CPU time on behalf of a group.
RunForGroup = Callable[..., Awaitable[list[int]]]
# Those of some devices whose records are taken.
SelectDevices = Callable[[Tx, Collection[str]], Collection[str]]


@dataclass(frozen=True, slots=True)
class ReplayEstimate:
    """What a replay would find."""

    looked_at: int
    matches: int  # of those
    sent_before: int  # of the matches: the connector has had them
    is_all: bool
    estimated_matches: int  # of the whole range


@dataclass(frozen=True, slots=True)
class _Segment:
    """A range of arrivals in a group."""

    group: int
    after_seq: int
    until_seq: int
    is_in_period: bool  # arrived in it, so that what is in it is likely to match


@dataclass(frozen=True, slots=True)
class _Plan:
    group_id: str
    matcher: Matcher
    groups: Sequence[int]
    begin_at: Moment
    end_at: Moment
    segments: Sequence[_Segment]


class ReplayEstimator:
    """One estimate."""

    def __init__(
        self,
        database: Database,
        run_for_group: RunForGroup,
        budgets: ComputeBudgets,
        select: SelectDevices | None = None,
    ) -> None:
        """`select` chooses devices whose records are taken; else those of all are."""
        self._database = database
        self._run_for_group = run_for_group
        self._budgets = budgets
        self._select = select
        self.sample: list[int] = []  # the `seq` of some that match
        self._looked_at = 0
        self._matches = 0
        self._sent_before = 0

    async def estimate(
        self, actor: Actor, group_id: str, connector_id: str, begin_at: Moment, end_at: Moment
    ) -> ReplayEstimate:
        plan = await self._database.read(
            partial(_make_plan, actor, group_id, connector_id, begin_at, end_at)
        )
        started = time.monotonic()
        has_all_changes = await self._scan_changes(plan)
        for index, segment in enumerate(plan.segments):
            position: int | None = segment.after_seq
            while position is not None:
                position = await self._scan(plan, segment, position)
                is_over = time.monotonic() - started > SECONDS_MAX
                if position is not None and (is_over or self._looked_at >= ARRIVALS_MAX):
                    rest = replace(segment, after_seq=position)
                    return await self._extrapolate([rest, *plan.segments[index + 1 :]])
        return self._result(rest=0, is_all=has_all_changes)

    async def _scan_changes(self, plan: _Plan) -> bool:
        """Look at the changes of the period, which are few; whether these were all."""
        found, are_all = await self._database.read(partial(_read_changes, plan, self._select))
        self._looked_at += len(found)
        await self._count(plan, found)
        return are_all

    async def _scan(self, plan: _Plan, segment: _Segment, after_seq: int) -> int | None:
        """Look at some more arrivals; where to go on, None at the end."""
        found, looked_at, following = await self._database.read(
            partial(_read_step, plan, segment, after_seq, self._select)
        )
        self._looked_at += looked_at
        await self._count(plan, found)
        return following

    async def _count(self, plan: _Plan, found: Sequence[Content]) -> None:
        """Count those that match."""
        matching = await self._run_for_group(
            plan.group_id, find_matching, plan.matcher, found, self._budgets
        )
        if matching:
            self._matches += len(matching)
            self.sample += matching[: SAMPLE_MAX - len(self.sample)]
            self._sent_before += await self._database.read(
                lambda tx: store_deliveries.count_existing(tx, plan.matcher.number, matching)
            )

    async def _extrapolate(self, segments: Sequence[_Segment]) -> ReplayEstimate:
        def count(tx: Tx) -> int:
            total = 0
            for each in segments:
                if each.is_in_period and total < COUNTED_MAX:
                    found, _ = arrived_records.look_ahead(
                        tx, each.group, each.after_seq, each.until_seq, COUNTED_MAX - total
                    )
                    total += found
            return total

        return self._result(rest=await self._database.read(count), is_all=False)

    def _result(self, *, rest: int, is_all: bool) -> ReplayEstimate:
        share = self._matches / self._looked_at if self._looked_at else 0.0
        return ReplayEstimate(
            self._looked_at,
            self._matches,
            self._sent_before,
            is_all,
            self._matches + round(share * rest),
        )


def _make_plan(
    actor: Actor, group_id: str, connector_id: str, begin_at: Moment, end_at: Moment, tx: Tx
) -> _Plan:
    connector = connectors.KIND.require(tx, actor, "resend", group_id, connector_id)
    groups = sorted(int(each) for each in connectors.list_source_groups(tx, connector))
    matcher = get_matcher(tx, connector)
    has_records = not matcher.kinds.isdisjoint(RECORD_KINDS)
    segments = _list_segments(groups, begin_at, end_at, tx.now) if has_records else ()
    return _Plan(connector.group_id, matcher, groups, begin_at, end_at, list(segments))


def _read_changes(plan: _Plan, select: SelectDevices | None, tx: Tx) -> tuple[list[Content], bool]:
    """Changes in the period, among so many; whether these were all."""
    if plan.matcher.kinds.isdisjoint(CHANGE_KINDS):
        return [], True
    sources = {str(each) for each in plan.groups}
    rows: list[ChangeRow] = []
    left = ARRIVALS_MAX
    first = max(
        arrival_numbers.BEFORE_ANY_ARRIVAL + 1,
        arrival_numbers.first_seq(plan.begin_at - CLOCK_SKEW) - 1,
    )
    for group in plan.groups:
        until = arrival_numbers.AFTER_ANY_ARRIVAL
        looked_at, last_seq = change_messages.look_ahead(tx, group, first, until, left)
        left -= looked_at
        rows += change_messages.list_in_order(
            tx, group, first, last_seq + 1, plan.begin_at, plan.end_at, looked_at
        )
        if left <= 0:
            break
    found = [
        Content(each, msgspec.json.decode(each.context)) for each in rows if is_seen(each, sources)
    ]
    return _select(tx, found, select), left > 0


def _select(tx: Tx, found: list[Content], select: SelectDevices | None) -> list[Content]:
    if select is None or not found:
        return found
    selected = select(tx, {each.key[0] for each in found})
    return [each for each in found if each.key[0] in selected]


def _list_segments(
    groups: Sequence[int], begin_at: Moment, end_at: Moment, now: Moment
) -> Iterator[_Segment]:
    """All arrivals, those around the period first."""
    now_seq = arrival_numbers.first_seq(now + 1)
    first = min(now_seq, arrival_numbers.first_seq(begin_at - CLOCK_SKEW))
    last = min(now_seq, arrival_numbers.first_seq(end_at + CLOCK_SKEW))
    ranges = ((first - 1, last), (last - 1, now_seq), (arrival_numbers.BEFORE_ANY_ARRIVAL, first))
    for number, (after_seq, until_seq) in enumerate(ranges):
        for group in groups:
            yield _Segment(group, after_seq, until_seq, is_in_period=number == 0)


def _read_step(
    plan: _Plan, segment: _Segment, after_seq: int, select: SelectDevices | None, tx: Tx
) -> tuple[list[Content], int, int | None]:
    """Some records with timestamps in the period, how many arrivals were looked at, what follows.

    The arrivals are bounded, whether or not their timestamps are in the period. Archived and
    expired records are not replayed, so they are not counted.
    """
    step = arrivals.list_step(
        tx, [segment.group], after_seq, segment.until_seq, ARRIVALS_PER_STEP_MAX, ascending=True
    )
    home = str(segment.group)
    in_period = [
        each
        for each in step.arrivals
        if plan.begin_at <= each.ts < plan.end_at
        and not group_limits.has_expired(tx, KIND_NAMES[each.kind], home, each.ts)
    ]
    built = [
        record.build()
        for _, record in arrivals.iterate_records(tx, in_period)
        if record is not None
    ]
    found = [get_content(each.row, each.device) for each in built]
    return _select(tx, found, select), len(step.arrivals), step.covered_to


def find_matching(
    matcher: Matcher, contents: Sequence[Content], budgets: ComputeBudgets
) -> list[int]:
    """The `seq` of those that the connector would send."""
    matching = []
    for each in contents:
        if budgets.is_used_up(matcher.group_id):
            raise TooManyRequests(
                "The filter of this connector takes too long for an estimate; wait a little.",
                retry_after_s=10,
            )
        with budgets.charging(matcher.group_id):
            if matcher.matches_content(each):
                matching.append(each.row.seq)
    return matching

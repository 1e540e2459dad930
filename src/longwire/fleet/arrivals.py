"""Arrivals: the records of a group in the order in which they came in, of all its devices.

A page is bounded by the entries that it looks at, not by those that it finds. It is read in short
steps; a filter is evaluated between them, with no transaction open, and within a budget.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.delivery.cel.expressions import EvaluationError, Expression, build_cel_message
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.delivery.matching.matching import build_device_context
from longwire.errors import TooManyRequests, invalid_field
from longwire.fleet import records
from longwire.identity import access
from longwire.model import Actor
from longwire.records import KIND_NAMES, RecordKind
from longwire.store.archive.archive_reads import NeedsArchive, read_with_archive
from longwire.store.database import Database, Tx
from longwire.store.identity import group_limits
from longwire.store.identity import groups as store_groups
from longwire.store.records import arrivals as store
from longwire.store.records.arrival_numbers import AFTER_ANY_ARRIVAL, BEFORE_ANY_ARRIVAL
from longwire.store.records.arrivals import Arrival
from longwire.store.records.arrived_records import ArrivedRecord

GROUPS_MAX = 1_000
LOOKED_AT_MAX = 5_000
FILTERED_MAX = 1_000  # with a filter, each costs several times as much
STEP_ENTRIES_MAX = 500
CHARGED_AT_ONCE = 16
# Of a page, and of what is kept of a step.
CHARACTERS_MAX = 4 * 1024 * 1024
# Of a process; a group's connectors have their own, so that nobody who looks holds them up.


@dataclass(frozen=True, slots=True)
class ArrivalSelection:
    """Which arrivals somebody wants to see."""

    group_ids: tuple[str, ...]
    subgroups: bool = False
    device_id: str | None = None
    kinds: frozenset[str] = frozenset(KIND_NAMES)
    expression: Expression | None = None
    after: int = BEFORE_ANY_ARRIVAL
    before: int = AFTER_ANY_ARRIVAL
    ascending: bool = False


@dataclass(frozen=True, slots=True)
class ArrivalScope:
    """The same, as far as they may see it."""

    selection: ArrivalSelection
    groups: tuple[int, ...]
    device_number: int | None
    kinds: frozenset[int]
    # By group and kind: what is older has expired.
    oldest: Mapping[int, Mapping[int, Moment]]
    group_id: str  # who pays for the filter
    permissions: frozenset[str]  # that they have in all of the groups

    def takes(self, group_number: int, kind: int, device_number: int, ts: Moment) -> bool:
        if kind not in self.kinds or ts < self.oldest[group_number].get(kind, ts):
            return False
        return self.device_number is None or device_number == self.device_number


@dataclass(frozen=True, slots=True)
class SelectedStep:
    """Some entries of the ledger, and those of their records that are selected."""

    seqs: list[int]  # of the entries, in order
    records: list[ArrivedRecord]  # to which the filter has not been applied
    covered_to: int | None  # None when there are no more

    def cut(self, seq: int) -> "SelectedStep":
        """The same up to an entry."""
        seqs = self.seqs[: self.seqs.index(seq) + 1]
        kept = set(seqs)
        return SelectedStep(seqs, [each for each in self.records if each.row.seq in kept], seq)

    def with_more(self, records: Iterable[ArrivedRecord]) -> "SelectedStep":
        places = {seq: place for place, seq in enumerate(self.seqs)}
        merged = sorted([*self.records, *records], key=lambda each: places[each.row.seq])
        return replace(self, records=merged)


@dataclass(slots=True)
class LedgerScan:
    """A page that is being collected, and where in the ledger it has come to."""

    position: int | None  # the last entry that was looked at
    limit: int
    is_filtered: bool = False
    looked_at: int = 0
    characters: int = 0
    is_exhausted: bool = False
    found: list[ArrivedRecord] = field(default_factory=list)

    @property
    def looked_at_max(self) -> int:
        return min(LOOKED_AT_MAX, FILTERED_MAX) if self.is_filtered else LOOKED_AT_MAX

    @property
    def is_done(self) -> bool:
        return (
            self.is_exhausted
            or len(self.found) >= self.limit
            or self.looked_at >= self.looked_at_max
            or self.characters > CHARACTERS_MAX
        )

    @property
    def last_key(self) -> tuple[int] | None:
        return None if self.is_exhausted or self.position is None else (self.position,)

    def add(self, step: SelectedStep, matched: Sequence[ArrivedRecord], evaluated: int) -> None:
        """Add what a filter has found among the first records of a step that it has seen."""
        taken = matched[: self.limit - len(self.found)]
        self.found += taken
        self.characters += sum(len(each.row.encoded.body) for each in taken)
        end: int | None = None  # of what was looked at, if that is not the whole step
        if evaluated < len(step.records):
            if not evaluated:
                return
            end = step.records[evaluated - 1].row.seq
        if len(self.found) >= self.limit and taken and taken[-1] is not step.records[-1]:
            end = taken[-1].row.seq
        if end is not None:
            self.looked_at += step.seqs.index(end) + 1
            self.position = end
            return
        self.looked_at += len(step.seqs)
        self.is_exhausted = step.covered_to is None
        self.position = self.position if step.covered_to is None else step.covered_to


def parse_filter(source: str | None) -> Expression | None:
    """A filter in the language of connectors."""
    text = (source or "").strip()
    try:
        return Expression(text, is_filter=True) if text else None
    except InvalidExpression as error:
        raise invalid_field("filter", str(error)) from None


def open_scope(tx: Tx, actor: Actor, selection: ArrivalSelection) -> ArrivalScope:
    """Check what somebody may see; the permission holds in the groups below, too."""
    for group_id in selection.group_ids:
        access.authorize(tx, actor, "record.read", group_id)
    held = [access.get_permissions(tx, actor, group_id) for group_id in selection.group_ids]
    device_number = None
    if selection.device_id is not None:
        device = records.get_reporting_device(tx, selection.device_id)
        records.permitted_stays(tx, actor, "record.read", device)
        device_number = device.number
    groups = _list_groups(tx, selection)
    return ArrivalScope(
        selection,
        groups,
        device_number,
        frozenset(RecordKind[name.upper()].value for name in selection.kinds),
        {each: _list_oldest(tx, str(each)) for each in groups},
        selection.group_ids[0],
        held[0].intersection(*held),
    )


def _list_groups(tx: Tx, selection: ArrivalSelection) -> tuple[int, ...]:
    return list_group_numbers(tx, selection.group_ids, subgroups=selection.subgroups)


def list_group_numbers(tx: Tx, group_ids: Iterable[str], *, subgroups: bool) -> tuple[int, ...]:
    """The numbers of some groups, perhaps with those below."""
    named = set(group_ids)
    if subgroups:
        named |= {each for top in list(named) for each in store_groups.list_subtree(tx, top)}
    if len(named) > GROUPS_MAX:
        raise invalid_field("subgroups", f"is possible for at most {GROUPS_MAX:,} groups")
    return tuple(sorted(int(each) for each in named))


def _list_oldest(tx: Tx, group_id: str) -> dict[int, Moment]:
    oldest = {kind: group_limits.get_oldest(tx, kind.label, group_id) for kind in RecordKind}
    return {kind.value: moment for kind, moment in oldest.items() if moment is not None}


async def read_step(database: Database, scope: ArrivalScope, scan: LedgerScan) -> SelectedStep:
    """The next entries behind the scan, and the records among them that are selected."""
    return await read_with_archive(database, lambda tx: _read_step(tx, scope, scan))


def _read_step(
    tx: Tx, scope: ArrivalScope, scan: LedgerScan
) -> SelectedStep | NeedsArchive[SelectedStep]:
    selection, position = scope.selection, scan.position
    after, before = selection.after, selection.before
    if position is not None:
        after, before = (position, before) if selection.ascending else (after, position)
    most = min(STEP_ENTRIES_MAX, scan.looked_at_max - scan.looked_at)
    step = store.list_step(tx, scope.groups, after, before, most, ascending=selection.ascending)
    seqs = [each.seq for each in step.arrivals]
    wanted = [
        each
        for each in step.arrivals
        if scope.takes(each.group_number, each.kind, each.device_number, each.ts)
    ]
    room = len(wanted) if selection.expression is not None else scan.limit - len(scan.found)
    found: list[ArrivedRecord] = []
    missing: list[Arrival] = []
    characters = 0
    read = SelectedStep(seqs, found, step.covered_to)
    for arrival, record in store.iterate_records(tx, wanted):
        if record is None:
            missing.append(arrival)
        else:
            found.append(record.build())
            characters += len(record.body)
        is_full = len(found) >= room or characters > CHARACTERS_MAX
        if is_full and arrival is not wanted[-1]:
            read = read.cut(arrival.seq)
            break
    archived = store.find_archived(tx, missing)
    if archived is None:
        return read
    if archived.plan.cut_at is not None:
        read = read.cut(archived.plan.cut_at)
    return NeedsArchive(
        archived.plan.query,
        lambda _, files: read.with_more([each.build() for each in archived.build(files)]),
    )


def filter_step(
    scope: ArrivalScope, candidates: Sequence[ArrivedRecord], budgets: ComputeBudgets
) -> tuple[list[ArrivedRecord], int]:
    """Those for which the filter is true, and how many were evaluated within the budget."""
    expression = scope.selection.expression
    if expression is None:
        return list(candidates), len(candidates)
    found: list[ArrivedRecord] = []
    for start in range(0, len(candidates), CHARGED_AT_ONCE):
        if budgets.is_used_up(scope.group_id):
            return found, start
        with budgets.charging(scope.group_id):
            some = candidates[start : start + CHARGED_AT_ONCE]
            found += [each for each in some if is_true(expression, each)]
    return found, len(candidates)


def is_true(expression: Expression, record: ArrivedRecord) -> bool:
    """A filter that has no value for a record does not match it, as with a connector."""
    context = build_device_context(record.device)
    try:
        return expression.matches(build_cel_message(record.row.encoded.record, context))
    except EvaluationError:
        return False


def require_progress(evaluated: int, scan: LedgerScan) -> None:
    """When a budget is used up: what was found so far is a page, unless nothing was looked at."""
    if not evaluated and not scan.looked_at:
        raise TooManyRequests(
            "The filters of this group take too long; wait, or use a cheaper one.", retry_after_s=10
        )

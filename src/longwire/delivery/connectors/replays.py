"""Replays: stored records and changes are enqueued for a connector again, also from before it
existed.

A replay scans the arrivals of the connector's groups, one group after the other in bounded steps,
and enqueues the records that match; the engine does the rest. A step is bounded by what it looks
at, not only by what it finds. A record that the connector has had before keeps its message id, so
that a receiver can deduplicate. The connector's queue is bounded.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import structlog

from longwire import metrics
from longwire.changes import ChangeKind
from longwire.clock import Moment
from longwire.delivery.cel.expressions import EvaluationError
from longwire.delivery.connectors import connectors
from longwire.delivery.matching.matching import (
    CHANGE_KINDS,
    RECORD_KINDS,
    Content,
    Matcher,
    build_delivery,
    get_content,
    get_matcher,
    is_seen,
)
from longwire.errors import Conflict, not_found
from longwire.ids import new_id
from longwire.model import Actor, Connector, Replay
from longwire.spans import FindTraceparent, Tracer, step_span
from longwire.store import locks
from longwire.store.database import Database, Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import change_messages, connector_minutes
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery import replays as store
from longwire.store.delivery.connectors import CONNECTORS
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.delivery.replays import REPLAYS
from longwire.store.pacing import get_pause_s
from longwire.store.records import arrival_numbers, arrived_records
from longwire.store.records.arrived_records import ArrivedRecord

# With timestamps in the period.
RECORDS_PER_STEP_MAX = 500
# Whether or not their timestamps are in the period.
ARRIVALS_PER_STEP_MAX = 10_000
# Whether or not anything arrived in them.
GROUPS_PER_STEP_MAX = 200
# In a second, over all connectors.
REPLAYS_PER_ROUND_MAX = 4
# A step is a transaction of its own. Those of a replay that finds little follow each other.
STEPS_PER_ROUND_MAX = 20
# Estimated CPU time of the filter in a step, in microseconds.
US_PER_STEP_MAX = 20_000.0
QUEUED_MAX = 2_000
LISTED_MAX = 20
BEFORE_ANY_GROUP = "0"

log = structlog.get_logger()


def start_replay(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    begin_at: Moment,
    end_at: Moment,
    writer: int,
) -> Replay:
    """Create a replay and run its first step; a connector has one running replay at most."""
    locks.acquire_lock(tx, "replay", connector_id)
    connector = connectors.KIND.require(tx, actor, "resend", group_id, connector_id)
    if REPLAYS.count(tx, channel_number=connector.number, state="running"):
        raise Conflict("A replay of this connector is running; wait for its end or cancel it.")
    replay = Replay(
        id=new_id("rpl"),
        channel_number=connector.number,
        begin_at=begin_at,
        end_at=end_at,
        at_group=BEFORE_ANY_GROUP,
        at_seq=arrival_numbers.BEFORE_ANY_ARRIVAL,
        # Records that arrive from now on are forwarded anyway.
        until_seq=arrival_numbers.first_seq(tx.now + 1),
        records_scanned=0,
        queued=0,
        state="running",
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
    )
    REPLAYS.insert(tx, replay)
    connectors.KIND.log(tx, actor, "replay", connector, detail=replay.id)
    replay, _ = _advance(tx, connector, replay, writer)
    return replay


def get_replay(tx: Tx, actor: Actor, group_id: str, connector_id: str, replay_id: str) -> Replay:
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    return _require_replay(tx, connector, replay_id)


def list_replays(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> list[Replay]:
    """The last replays of a connector; the one that runs is the first."""
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    number = connector.number
    return REPLAYS.list_all(tx, channel_number=number, order="-created_at", most=LISTED_MAX)


def cancel_replay(tx: Tx, actor: Actor, group_id: str, connector_id: str, replay_id: str) -> Replay:
    """Enqueue nothing more; what is in the queue already is sent."""
    connector = connectors.KIND.require(tx, actor, "resend", group_id, connector_id)
    replay = _require_replay(tx, connector, replay_id)
    if replay.state != "running":
        return replay
    cancelled = replace(replay, state="cancelled", updated_at=tx.now)
    REPLAYS.save(tx, replay, cancelled, state="running")
    connectors.KIND.log(tx, actor, "cancelReplay", connector, detail=replay.id)
    return cancelled


def _require_replay(tx: Tx, connector: Connector, replay_id: str) -> Replay:
    replay = REPLAYS.find(tx, id=replay_id, channel_number=connector.number)
    if replay is None:
        raise not_found("replay_id", "replay of this connector")
    return replay


# --- steps ---


async def advance_replays(
    database: Database,
    writer: int,
    wake: Callable[[Collection[int]], None],
    tracer: Tracer | None = None,
) -> None:
    """A turn of some running replays, the groups in turns."""
    due = await database.read(partial(store.list_next, most=REPLAYS_PER_ROUND_MAX))
    for replay_id in due:
        run_step = partial(_run_step, database, replay_id, writer, tracer)
        try:
            await _take_turn(run_step, STEPS_PER_ROUND_MAX // len(due), wake)
        except Exception:
            # It is tried again, after the others. Without a database there is nothing to say of it.
            await database.write(partial(store.defer, replay_id))
            log.exception("replay step failed", replay=replay_id)


async def _take_turn(
    run_step: Callable[[], Awaitable["_StepResult | None"]],
    steps_max: int,
    wake: Callable[[Collection[int]], None],
) -> None:
    """Some steps of a replay, until one has to wait or they have found as much as one may."""
    records_left = RECORDS_PER_STEP_MAX
    for _ in range(steps_max):
        began = time.monotonic()
        step = await run_step()
        if step is not None and step.queued:
            wake({step.channel_number})
        await asyncio.sleep(get_pause_s(time.monotonic() - began))
        if step is None or not step.may_go_on:
            return
        records_left -= step.examined
        if records_left <= 0:
            return


@dataclass(frozen=True, slots=True)
class _StepResult:
    """What a step of a replay did, and whether another one may follow at once."""

    channel_number: int
    examined: int
    queued: int
    may_go_on: bool


async def _run_step(
    database: Database, replay_id: str, writer: int, tracer: Tracer | None
) -> _StepResult | None:
    with step_span(tracer, "replay", {"longwire.replay.id": replay_id}) as find_traceparent:
        return await database.write(partial(_advance_one, replay_id, writer, find_traceparent))


def _advance_one(
    replay_id: str, writer: int, find_traceparent: FindTraceparent | None, tx: Tx
) -> _StepResult | None:
    """One step of a replay; None if it has to wait or is over."""
    tx.find_traceparent = find_traceparent
    replay = store.lock_running(tx, replay_id)
    if replay is None:
        return None
    connector = CONNECTORS.get_by_numbers(tx, [replay.channel_number]).get(replay.channel_number)
    if connector is None:
        REPLAYS.save(tx, replay, replace(replay, state="cancelled", updated_at=tx.now))
        return None
    if store_backlogs.is_backlog_over(tx, connector.number, QUEUED_MAX):
        REPLAYS.save(tx, replay, replace(replay, updated_at=tx.now))  # it had its turn
        return None
    _, step = _advance(tx, connector, replay, writer)
    may_go_on = not (step.is_done or step.is_over_budget)
    return _StepResult(connector.number, step.examined, step.queued, may_go_on)


class ScanPosition(msgspec.Struct, frozen=True):
    """How far the arrivals of a connector's groups were scanned, and where that ends."""

    group: int
    seq: int
    until_seq: int


def begin_scan(now: Moment) -> ScanPosition:
    """The position of a new scan; records that arrive from now on are forwarded anyway."""
    return ScanPosition(
        int(BEFORE_ANY_GROUP),
        arrival_numbers.BEFORE_ANY_ARRIVAL,
        arrival_numbers.first_seq(now + 1),
    )


# Gets the ids of some devices, and returns those whose records are taken.
SelectDevices = Callable[[Collection[str]], Collection[str]]


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Where a scan is after a step, and what that has done."""

    position: ScanPosition
    is_done: bool
    examined: int
    inserted: int = 0
    requeued: int = 0
    is_over_budget: bool = False  # the filter took as long as it may

    @property
    def queued(self) -> int:
        return self.inserted + self.requeued


def _advance(
    tx: Tx, connector: Connector, replay: Replay, writer: int
) -> tuple[Replay, ScanResult]:
    """Scan some more records, and enqueue those that match."""
    position = ScanPosition(int(replay.at_group), replay.at_seq, replay.until_seq)
    step = scan(tx, connector, position, replay.begin_at, replay.end_at)
    advanced = replace(
        replay,
        at_group=str(step.position.group),
        at_seq=step.position.seq,
        records_scanned=replay.records_scanned + step.examined,
        queued=replay.queued + step.queued,
        state="done" if step.is_done else "running",
        updated_at=tx.now,
    )
    REPLAYS.save(tx, replay, advanced, state="running")  # unless it was cancelled
    count_inserted(tx, connector, step.inserted, writer)
    return advanced, step


def count_inserted(tx: Tx, connector: Connector, inserted: int, writer: int) -> None:
    """Count messages that a replay has made, as those of new records are."""
    if inserted:
        counter = (int(connector.group_id), "connector_message_started")
        metrics.count(tx, writer, Counter({counter: inserted}))
        connector_minutes.count_made(tx, writer, {connector.number: inserted})


def scan(
    tx: Tx,
    connector: Connector,
    position: ScanPosition,
    begin_at: Moment,
    end_at: Moment,
    select: SelectDevices | None = None,
) -> ScanResult:
    """Scan some records of a period from a position on, and enqueue those that match."""
    matcher = get_matcher(tx, connector)
    window = _read_window(tx, connector, matcher, position, begin_at, end_at)
    devices = {each.content.key[0] for each in window.found if each.content is not None}
    selected = devices if select is None or not devices else select(devices)
    examined, matching = _find_matching(matcher, window.found, selected)
    inserted, requeued = store_deliveries.requeue(tx, matching) if matching else (0, 0)
    if examined == len(window.found):
        return ScanResult(window.position, window.is_last, examined, inserted, requeued)
    # The rest is for the next step.
    last = window.found[examined - 1]
    position = ScanPosition(last.group, last.seq, position.until_seq)
    return ScanResult(position, False, examined, inserted, requeued, is_over_budget=True)


@dataclass(frozen=True, slots=True)
class _FoundArrival:
    """A record or a change in the period; None if the record was deleted meanwhile."""

    group: int
    seq: int
    content: Content | None


@dataclass(slots=True)
class _Window:
    """What a step looks at, and where the next one begins."""

    position: ScanPosition
    arrivals_left: int
    found: list[_FoundArrival] = field(default_factory=list)
    is_last: bool = False

    @property
    def records_left(self) -> int:
        return RECORDS_PER_STEP_MAX - len(self.found)

    @property
    def is_full(self) -> bool:
        return self.records_left <= 0 or self.arrivals_left <= 0


def _read_window(
    tx: Tx,
    connector: Connector,
    matcher: Matcher,
    position: ScanPosition,
    begin_at: Moment,
    end_at: Moment,
) -> _Window:
    window = _Window(position, ARRIVALS_PER_STEP_MAX)
    sources = (
        connectors.list_source_groups(tx, connector)
        if ChangeKind.REGISTRY in matcher.kinds
        else frozenset[str]()
    )
    most = GROUPS_PER_STEP_MAX
    groups = connectors.list_source_groups_from(tx, connector, position.group, most + 1)
    for number, group in enumerate(groups):
        if group > position.group:
            before_any = arrival_numbers.BEFORE_ANY_ARRIVAL
            window.position = ScanPosition(group, before_any, position.until_seq)
        if number == most:
            return window  # this one is for the next step
        _read_group(tx, window, matcher, sources, begin_at, end_at)
        if window.is_full:
            return window
    window.is_last = True
    return window


def _read_group(
    tx: Tx,
    window: _Window,
    matcher: Matcher,
    sources: Collection[str],
    begin_at: Moment,
    end_at: Moment,
) -> None:
    """Read the next arrivals and changes of one group, in the order of their numbers."""
    at = window.position
    end, found = at.until_seq - 1, []
    if not matcher.kinds.isdisjoint(RECORD_KINDS):
        looked_at, last_seq = arrived_records.look_ahead(
            tx, at.group, at.seq, at.until_seq, window.arrivals_left
        )
        if looked_at:
            arrivals = arrived_records.list_arrivals(
                tx, at.group, at.seq, last_seq + 1, begin_at, end_at, window.records_left
            )
            found = [_to_found(at.group, each) for each in arrivals]
            window.arrivals_left -= looked_at
            if len(found) == window.records_left:
                end = found[-1].seq
            elif window.arrivals_left <= 0:
                end = last_seq
    if not matcher.kinds.isdisjoint(CHANGE_KINDS):
        looked_at, last_seq = change_messages.look_ahead(
            tx, at.group, at.seq, end + 1, ARRIVALS_PER_STEP_MAX
        )
        window.arrivals_left -= looked_at
        if looked_at == ARRIVALS_PER_STEP_MAX:
            end = last_seq
            found = [each for each in found if each.seq <= end]
        found += _list_changes(tx, window, sources, begin_at, end_at, end)
        found.sort(key=lambda each: each.seq)
        if len(found) >= window.records_left:
            del found[window.records_left :]
            end = found[-1].seq
    if found or end < at.until_seq - 1:
        window.position = ScanPosition(at.group, end, at.until_seq)
    window.found += found


def _list_changes(
    tx: Tx,
    window: _Window,
    sources: Collection[str],
    begin_at: Moment,
    end_at: Moment,
    last_seq: int,
) -> list[_FoundArrival]:
    """The next changes of the group; those that are for others are looked at and left out."""
    at = window.position
    rows = change_messages.list_in_order(
        tx, at.group, at.seq, last_seq + 1, begin_at, end_at, window.records_left
    )
    return [
        _FoundArrival(
            at.group,
            each.seq,
            Content(each, msgspec.json.decode(each.context)) if is_seen(each, sources) else None,
        )
        for each in rows
    ]


def _to_found(group: int, arrival: ArrivedRecord | int) -> _FoundArrival:
    if isinstance(arrival, ArrivedRecord):
        return _FoundArrival(group, arrival.row.seq, get_content(arrival.row, arrival.device))
    return _FoundArrival(group, arrival, None)


def _find_matching(
    matcher: Matcher, found: Sequence[_FoundArrival], selected: Collection[str]
) -> tuple[int, list[NewDelivery]]:
    """Deliveries of those that match, and how many were examined before the filter's time is up."""
    matching: list[NewDelivery] = []
    us_left = US_PER_STEP_MAX
    for examined, each in enumerate(found):
        if us_left <= 0:
            return examined, matching
        content = each.content
        if content is None or content.key[0] not in selected:
            continue
        is_match, cost_us = _matches(matcher, content)
        us_left -= cost_us
        if is_match:
            context = msgspec.json.encode(content.context).decode()
            matching.append(build_delivery(matcher, content.row, context))
    return len(found), matching


def _matches(matcher: Matcher, content: Content) -> tuple[bool, float]:
    """Whether it matches, and the estimated CPU time of the filter."""
    prepared = matcher.prepare(content)
    if prepared is None:
        return matcher.matches_content(content), 0.0
    try:
        return prepared.matches(), prepared.cost_us
    except EvaluationError:
        return False, prepared.cost_us

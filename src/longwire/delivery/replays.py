"""Replays: stored records are enqueued for a connector again, also from before it existed.

A replay scans the arrivals of the connector's groups, one group after the other in bounded steps,
and enqueues the records that match; the engine does the rest. A record that the connector has had
before keeps its message id, so that a receiver can deduplicate. The connector's queue is bounded.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from longwire import metrics
from longwire.clock import Moment
from longwire.delivery import connectors
from longwire.delivery.cel.expressions import EvaluationError
from longwire.delivery.matching import (
    Matcher,
    build_delivery,
    encode_device_context,
    get_matcher,
)
from longwire.errors import Conflict, not_found
from longwire.ids import new_id
from longwire.model import Actor, Connector, Replay
from longwire.spans import FindTraceparent, Tracer, step_span
from longwire.store import arrival_numbers, arrived_records, connector_minutes, locks
from longwire.store import backlogs as store_backlogs
from longwire.store import deliveries as store_deliveries
from longwire.store import replays as store
from longwire.store.arrived_records import ArrivedRecord
from longwire.store.connectors import CONNECTORS
from longwire.store.database import Database, Tx

RECORDS_PER_STEP_MAX = 500
# In a second, over all connectors; a step is a transaction of its own.
STEPS_PER_ROUND_MAX = 4
# Estimated CPU time of the filter in a step, in microseconds.
US_PER_STEP_MAX = 20_000.0
QUEUED_MAX = 2_000
LISTED_MAX = 20
BEFORE_ANY_GROUP = "0"
BEFORE_ANY_ARRIVAL = -(2**63)


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
    if store.is_running(tx, connector.number):
        raise Conflict("A replay of this connector is running; wait for its end or cancel it.")
    replay = Replay(
        id=new_id("rpl"),
        channel_number=connector.number,
        begin_at=begin_at,
        end_at=end_at,
        at_group=BEFORE_ANY_GROUP,
        at_seq=BEFORE_ANY_ARRIVAL,
        # Records that arrive from now on are forwarded anyway.
        until_seq=arrival_numbers.first_seq(tx.now + 1),
        records_scanned=0,
        queued=0,
        state="running",
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
    )
    store.insert(tx, replay)
    connectors.KIND.log(tx, actor, "replay", connector, detail=replay.id)
    return _advance(tx, connector, replay, writer)


def get_replay(tx: Tx, actor: Actor, group_id: str, connector_id: str, replay_id: str) -> Replay:
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    return _require_replay(tx, connector, replay_id)


def list_replays(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> list[Replay]:
    """The last replays of a connector; the one that runs is the first."""
    connector = connectors.KIND.require(tx, actor, "read", group_id, connector_id)
    return store.list_latest(tx, connector.number, LISTED_MAX)


def cancel_replay(tx: Tx, actor: Actor, group_id: str, connector_id: str, replay_id: str) -> Replay:
    """Enqueue nothing more; what is in the queue already is sent."""
    connector = connectors.KIND.require(tx, actor, "resend", group_id, connector_id)
    replay = _require_replay(tx, connector, replay_id)
    if replay.state != "running":
        return replay
    replay = replace(replay, state="cancelled", updated_at=tx.now)
    store.save(tx, replay)
    connectors.KIND.log(tx, actor, "cancelReplay", connector, detail=replay.id)
    return replay


def _require_replay(tx: Tx, connector: Connector, replay_id: str) -> Replay:
    replay = store.get(tx, connector.number, replay_id)
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
    """One step of some running replays, the groups in turns."""
    for replay_id in await database.read(partial(store.list_next, most=STEPS_PER_ROUND_MAX)):
        with step_span(tracer, "replay", {"longwire.replay.id": replay_id}) as find_traceparent:
            step = partial(_advance_one, replay_id, writer, find_traceparent)
            woken = await database.write(step)
        if woken:
            wake(woken)


def _advance_one(
    replay_id: str, writer: int, find_traceparent: FindTraceparent | None, tx: Tx
) -> set[int]:
    tx.find_traceparent = find_traceparent
    replay = store.lock_running(tx, replay_id)
    if replay is None:
        return set()
    owners = CONNECTORS.get_by_numbers(tx, [replay.channel_number])
    connector = owners.get(replay.channel_number)
    if connector is None:
        store.save(tx, replace(replay, state="cancelled"))
    elif store_backlogs.is_backlog_over(tx, connector.number, QUEUED_MAX):
        store.save(tx, replay)  # it had its turn
    else:
        _advance(tx, connector, replay, writer)
    return set(owners)


class ScanPosition(msgspec.Struct, frozen=True):
    """How far the arrivals of a connector's groups were scanned, and where that ends."""

    group: int
    seq: int
    until_seq: int


def begin_scan(now: Moment) -> ScanPosition:
    """The position of a new scan; records that arrive from now on are forwarded anyway."""
    return ScanPosition(
        int(BEFORE_ANY_GROUP), BEFORE_ANY_ARRIVAL, arrival_numbers.first_seq(now + 1)
    )


# Gets the ids of some devices, and returns those whose records are taken.
SelectDevices = Callable[[Collection[str]], Collection[str]]


@dataclass(slots=True)
class ScanResult:
    """The position of a scan, and what it has enqueued."""

    group: int
    seq: int
    until_seq: int
    records_left: int
    inserted: int = 0
    requeued: int = 0
    us_left: float = US_PER_STEP_MAX

    @property
    def is_done(self) -> bool:
        return self.records_left > 0 and self.us_left > 0

    @property
    def examined(self) -> int:
        return RECORDS_PER_STEP_MAX - self.records_left

    @property
    def position(self) -> ScanPosition:
        return ScanPosition(self.group, self.seq, self.until_seq)


def _advance(tx: Tx, connector: Connector, replay: Replay, writer: int) -> Replay:
    """Scan some more records, and enqueue those that match."""
    position = ScanPosition(int(replay.at_group), replay.at_seq, replay.until_seq)
    step = scan(tx, connector, position, replay.begin_at, replay.end_at)
    replay = replace(
        replay,
        at_group=str(step.group),
        at_seq=step.seq,
        records_scanned=replay.records_scanned + step.examined,
        queued=replay.queued + step.inserted + step.requeued,
        state="done" if step.is_done else "running",
        updated_at=tx.now,
    )
    store.save(tx, replay)
    count_inserted(tx, connector, step.inserted, writer)
    return replay


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
    step = ScanResult(position.group, position.seq, position.until_seq, RECORDS_PER_STEP_MAX)
    for group in sorted(int(each) for each in connectors.list_source_groups(tx, connector)):
        if group < step.group:
            continue
        if group > step.group:
            step.group, step.seq = group, BEFORE_ANY_ARRIVAL
        _scan_group(tx, matcher, (begin_at, end_at), step, select)
        if not step.is_done:
            break
    return step


def _scan_group(
    tx: Tx,
    matcher: Matcher,
    period: tuple[Moment, Moment],
    step: ScanResult,
    select: SelectDevices | None,
) -> None:
    found = arrived_records.list_arrivals(
        tx, step.group, step.seq, step.until_seq, *period, step.records_left
    )
    devices = {each.device.id for each in found if isinstance(each, ArrivedRecord)}
    selected = devices if select is None or not devices else select(devices)
    deliveries = []
    for each in found:
        if step.us_left <= 0:
            break  # the rest is for the next step
        step.records_left -= 1
        step.seq = each.row.seq if isinstance(each, ArrivedRecord) else each
        if (
            isinstance(each, ArrivedRecord)
            and each.device.id in selected
            and _matches(matcher, each, step)
        ):
            context = encode_device_context(each.device)
            deliveries.append(build_delivery(matcher.number, each.row, context))
    if deliveries:
        inserted, requeued = store_deliveries.requeue(tx, deliveries)
        step.inserted += inserted
        step.requeued += requeued


def _matches(matcher: Matcher, record: ArrivedRecord, step: ScanResult) -> bool:
    prepared = matcher.prepare(record.row.encoded.record, record.device)
    if prepared is None:
        return matcher.matches_record(record.row.encoded.record, record.device)
    step.us_left -= prepared.cost_us
    try:
        return prepared.matches()
    except EvaluationError:
        return False

"""Replays: stored records are enqueued for a connector again, also from before it existed.

A replay scans the arrivals of the connector's groups, one group after the other in bounded steps,
and enqueues the records that match; the engine does the rest. A record that the connector has had
before keeps its message id, so that a receiver can deduplicate. The connector's queue is bounded.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from longwire import metrics
from longwire.clock import Moment
from longwire.delivery import connectors
from longwire.delivery.matching import (
    Matcher,
    build_delivery,
    build_matcher,
    encode_device_context,
)
from longwire.errors import not_found
from longwire.ids import new_id
from longwire.model import Actor, Connector, Replay
from longwire.store import deliveries as store_deliveries
from longwire.store import records as store_records
from longwire.store import replays as store
from longwire.store.connectors import CONNECTORS
from longwire.store.database import Database, Tx
from longwire.store.records import ArrivedRecord

RECORDS_PER_STEP_MAX = 500
QUEUED_MAX = 2_000
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
    """Create a replay and run its first step."""
    connector = connectors.KIND.require(tx, actor, "resend", group_id, connector_id)
    replay = Replay(
        id=new_id("rpl"),
        channel_number=connector.number,
        begin_at=begin_at,
        end_at=end_at,
        at_group=BEFORE_ANY_GROUP,
        at_seq=BEFORE_ANY_ARRIVAL,
        # Records that arrive from now on are forwarded anyway.
        until_seq=store_records.first_seq(tx.now + 1),
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
    database: Database, writer: int, wake: Callable[[Collection[int]], None]
) -> None:
    """One step of every running replay."""
    if await database.read(store.has_running):
        woken = await database.write(lambda tx: _advance_all(tx, writer))
        if woken:
            wake(woken)


def _advance_all(tx: Tx, writer: int) -> set[int]:
    replays = store.lock_running(tx)
    owners = CONNECTORS.get_by_numbers(tx, {each.channel_number for each in replays})
    for replay in replays:
        connector = owners.get(replay.channel_number)
        if connector is None:
            store.save(tx, replace(replay, state="cancelled"))
        elif not store_deliveries.is_backlog_over(tx, connector.number, QUEUED_MAX):
            _advance(tx, connector, replay, writer)
    return set(owners)


@dataclass(slots=True)
class _Step:
    """The position of a scan, and what it has enqueued."""

    group: int
    seq: int
    records_left: int = RECORDS_PER_STEP_MAX
    inserted: int = 0
    requeued: int = 0

    @property
    def is_used_up(self) -> bool:
        return self.records_left <= 0


def _advance(tx: Tx, connector: Connector, replay: Replay, writer: int) -> Replay:
    """Scan some more records, and enqueue those that match."""
    matcher = build_matcher(connector)
    step = _Step(int(replay.at_group), replay.at_seq)
    for group in sorted(int(each) for each in connectors.list_source_groups(tx, connector)):
        if group < step.group:
            continue
        if group > step.group:
            step.group, step.seq = group, BEFORE_ANY_ARRIVAL
        _scan_group(tx, matcher, replay, step)
        if step.is_used_up:
            break
    replay = replace(
        replay,
        at_group=str(step.group),
        at_seq=step.seq,
        records_scanned=replay.records_scanned + RECORDS_PER_STEP_MAX - step.records_left,
        queued=replay.queued + step.inserted + step.requeued,
        state="running" if step.is_used_up else "done",
        updated_at=tx.now,
    )
    store.save(tx, replay)
    if step.inserted:
        counter = (int(connector.group_id), "connector_message_started")
        metrics.count(tx, writer, Counter({counter: step.inserted}))
    return replay


def _scan_group(tx: Tx, matcher: Matcher, replay: Replay, step: _Step) -> None:
    found = store_records.list_arrivals(
        tx,
        step.group,
        step.seq,
        replay.until_seq,
        replay.begin_at,
        replay.end_at,
        step.records_left,
    )
    deliveries = [
        build_delivery(matcher.number, each.row, encode_device_context(each.device))
        for each in found
        if isinstance(each, ArrivedRecord)
        and matcher.matches_record(each.row.encoded.record, each.device)
    ]
    if deliveries:
        inserted, requeued = store_deliveries.requeue(tx, deliveries)
        step.inserted += inserted
        step.requeued += requeued
    step.records_left -= len(found)
    if found:
        last = found[-1]
        step.seq = last.row.seq if isinstance(last, ArrivedRecord) else last

"""Replays: stored records go through a connector once more, also those from before it existed.

A replay walks the ledger of arrivals, group by group, a piece at a time, and puts what matches into
the connector's queue; the engine does the rest. A record that the connector had before goes out
again under its old id, so that a receiver can tell. What is waiting in the queue is bounded.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from longwire import metrics
from longwire.clock import Moment
from longwire.delivery import connectors
from longwire.delivery.matching import fresh_of, matcher_of
from longwire.errors import missing
from longwire.ids import new_id
from longwire.model import Actor, Connector, Replay
from longwire.store import audit
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store_deliveries
from longwire.store import records as store_records
from longwire.store import replays as store
from longwire.store.database import Database, Tx

RECORDS_PER_STEP_MAX = 500
WAITING_MAX = 2_000
BEFORE_ANY_GROUP = "0"
BEFORE_ANY_ARRIVAL = -(2**63)


def start(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    begin_at: Moment,
    end_at: Moment,
    writer: int,
) -> Replay:
    """Begin a replay, and do its first step at once."""
    connector = connectors.find(tx, actor, "connector.resend", group_id, connector_id)
    replay = Replay(
        id=new_id("rpl"),
        connector_number=connector.number,
        begin_at=begin_at,
        end_at=end_at,
        at_group=BEFORE_ANY_GROUP,
        at_seq=BEFORE_ANY_ARRIVAL,
        # What arrives from now on is forwarded anyway.
        until_seq=store_records.first_seq(tx.now + 1),
        looked_at=0,
        queued=0,
        state="running",
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
    )
    store.insert(tx, replay)
    audit.note(tx, actor, "connector.replay", connector.id, group_id=group_id, detail=replay.id)
    return _advance(tx, connector, replay, writer)


def show(tx: Tx, actor: Actor, group_id: str, connector_id: str, replay_id: str) -> Replay:
    connector = connectors.find(tx, actor, "connector.read", group_id, connector_id)
    return _find(tx, connector, replay_id)


def cancel(tx: Tx, actor: Actor, group_id: str, connector_id: str, replay_id: str) -> Replay:
    """Put nothing more into the queue; what is in it already is sent."""
    connector = connectors.find(tx, actor, "connector.resend", group_id, connector_id)
    replay = _find(tx, connector, replay_id)
    if replay.state != "running":
        return replay
    replay = replace(replay, state="cancelled", updated_at=tx.now)
    store.save(tx, replay)
    audit.note(
        tx, actor, "connector.cancelReplay", connector.id, group_id=group_id, detail=replay.id
    )
    return replay


def _find(tx: Tx, connector: Connector, replay_id: str) -> Replay:
    replay = store.get(tx, connector.number, replay_id)
    if replay is None:
        raise missing("replay_id", "replay of this connector")
    return replay


# --- a step at a time ---


async def step(database: Database, writer: int, wake: Callable[[Collection[int]], None]) -> None:
    """One step of every replay under way."""
    if await database.read(store.is_any_running):
        woken = await database.write(lambda tx: _step_all(tx, writer))
        if woken:
            wake(woken)


def _step_all(tx: Tx, writer: int) -> set[int]:
    replays = store.running(tx)
    owners = store_connectors.by_number(tx, {each.connector_number for each in replays})
    for replay in replays:
        connector = owners.get(replay.connector_number)
        if connector is None:
            store.save(tx, replace(replay, state="cancelled"))
        elif not store_deliveries.is_crowded(tx, connector.number, WAITING_MAX):
            _advance(tx, connector, replay, writer)
    return set(owners)


def _advance(tx: Tx, connector: Connector, replay: Replay, writer: int) -> Replay:
    """Look at some more records, and queue those that match."""
    matcher = matcher_of(connector)
    left = RECORDS_PER_STEP_MAX
    made = again = 0
    groups = sorted(int(each) for each in connectors.groups_of(tx, connector))
    at_group, at_seq = int(replay.at_group), replay.at_seq
    for group in groups:
        if group < at_group:
            continue
        if group > at_group:
            at_group, at_seq = group, BEFORE_ANY_ARRIVAL
        found = store_records.arrived(
            tx, group, at_seq, replay.until_seq, replay.begin_at, replay.end_at, left
        )
        past = [each for each in found if not isinstance(each, int)]
        fresh = [
            fresh_of(matcher, each.row, each.device)
            for each in past
            if not matcher.verdict(each.row, each.device)
        ]
        if fresh:
            new, repeated = store_deliveries.put_again(tx, fresh)
            made, again = made + new, again + repeated
        left -= len(found)
        if found:
            last = found[-1]
            at_seq = last if isinstance(last, int) else last.row.seq
        if left <= 0:
            break
    replay = replace(
        replay,
        at_group=str(at_group),
        at_seq=at_seq,
        looked_at=replay.looked_at + RECORDS_PER_STEP_MAX - left,
        queued=replay.queued + made + again,
        state="running" if left <= 0 else "done",
        updated_at=tx.now,
    )
    store.save(tx, replay)
    if made:
        started = (int(connector.group_id), "connector_message_started")
        metrics.count(tx, writer, Counter({started: made}))
    return replay

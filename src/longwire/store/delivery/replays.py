"""Replays and their progress."""

from longwire.model import Replay
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import Rows
from longwire.store.statement import Statement

REPLAYS = Rows(Replay, schema.replay)

LIST_RUNNING = Statement("""
select replay.id, channel.group_id
from replay
join channel
    on channel.number = replay.channel_number
where replay.state = 'running'
order by replay.updated_at, replay.id
""")

LOCK_RUNNING = Statement(
    """
select {columns}
from replay
where id = :id
    and state = 'running'
{skip_locked}
""",
    columns=REPLAYS.sql(),
)

DEFER = Statement("""
update replay
set updated_at = :now
where id = :id
    and state = 'running'
""")


def list_next(tx: Tx, most: int) -> list[str]:
    """Running replays, one for each group: those whose last step is longest ago."""
    by_group: dict[int, str] = {}
    for replay_id, group in tx.fetch(LIST_RUNNING):
        by_group.setdefault(group, replay_id)
    return list(by_group.values())[:most]


def lock_running(tx: Tx, replay_id: str) -> Replay | None:
    """A replay, if it is running and no other process has locked it."""
    row = tx.first(LOCK_RUNNING, id=replay_id)
    return REPLAYS.parse(row) if row else None


def defer(replay_id: str, tx: Tx) -> None:
    """Make a replay the last of those that have a turn."""
    tx.run(DEFER, id=replay_id, now=tx.now)

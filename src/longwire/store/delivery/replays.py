"""Replays and their progress."""

import sqlalchemy as sa

from longwire.model import Replay
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import Rows

_table = schema.replay
REPLAYS = Rows(Replay, _table)


def list_next(tx: Tx, most: int) -> list[str]:
    """Running replays, one for each group: those whose last step is longest ago."""
    channel = schema.channel
    statement = (
        sa.select(_table.c.id, channel.c.group_id)
        .join(channel, channel.c.number == _table.c.channel_number)
        .where(_table.c.state == "running")
        .order_by(_table.c.updated_at, _table.c.id)
    )
    by_group: dict[str, str] = {}
    for row in tx.rows(statement):
        by_group.setdefault(row.group_id, row.id)
    return list(by_group.values())[:most]


def lock_running(tx: Tx, replay_id: str) -> Replay | None:
    """A replay, if it is running and no other process has locked it."""
    is_running = sa.and_(_table.c.id == replay_id, _table.c.state == "running")
    row = tx.row(REPLAYS.select.where(is_running).with_for_update(skip_locked=True))
    return REPLAYS.parse(row) if row else None


def defer(replay_id: str, tx: Tx) -> None:
    """Make a replay the last of those that have a turn."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == replay_id, _table.c.state == "running")
        .values(updated_at=tx.now)
    )

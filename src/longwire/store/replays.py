"""Replays and their progress."""

from dataclasses import fields

import sqlalchemy as sa

from longwire.model import Replay
from longwire.store import schema
from longwire.store.database import Tx

_table = schema.replay
_COLUMNS = [_table.c[field.name] for field in fields(Replay)]


def insert(tx: Tx, replay: Replay) -> None:
    tx.execute(
        sa.insert(_table), {column.name: getattr(replay, column.name) for column in _COLUMNS}
    )


def get(tx: Tx, channel_number: int, replay_id: str) -> Replay | None:
    row = tx.row(
        sa.select(*_COLUMNS).where(
            _table.c.id == replay_id, _table.c.channel_number == channel_number
        )
    )
    return Replay(**row._mapping) if row else None


def has_running(tx: Tx) -> bool:
    return tx.row(sa.select(_table.c.id).where(_table.c.state == "running").limit(1)) is not None


def lock_running(tx: Tx) -> list[Replay]:
    """Running replays that no other process has locked."""
    statement = (
        sa.select(*_COLUMNS)
        .where(_table.c.state == "running")
        .order_by(_table.c.created_at)
        .with_for_update(skip_locked=True)
    )
    return [Replay(**row._mapping) for row in tx.rows(statement)]


def save(tx: Tx, replay: Replay) -> None:
    """Update the progress, unless it was cancelled."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == replay.id, _table.c.state == "running")
        .values(
            at_group=replay.at_group,
            at_seq=replay.at_seq,
            records_scanned=replay.records_scanned,
            queued=replay.queued,
            state=replay.state,
            updated_at=tx.now,
        )
    )

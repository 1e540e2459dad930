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


def list_latest(tx: Tx, channel_number: int, most: int) -> list[Replay]:
    """The replays of a connector, the last first."""
    statement = (
        sa.select(*_COLUMNS)
        .where(_table.c.channel_number == channel_number)
        .order_by(_table.c.created_at.desc(), _table.c.id.desc())
        .limit(most)
    )
    return [Replay(**row._mapping) for row in tx.rows(statement)]


def is_running(tx: Tx, channel_number: int) -> bool:
    """Whether a connector has a running replay."""
    statement = sa.select(_table.c.id).where(
        _table.c.channel_number == channel_number, _table.c.state == "running"
    )
    return tx.row(statement.limit(1)) is not None


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
    statement = (
        sa.select(*_COLUMNS)
        .where(_table.c.id == replay_id, _table.c.state == "running")
        .with_for_update(skip_locked=True)
    )
    row = tx.row(statement)
    return Replay(**row._mapping) if row else None


def defer(replay_id: str, tx: Tx) -> None:
    """Make a replay the last of those that have a turn."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == replay_id, _table.c.state == "running")
        .values(updated_at=tx.now)
    )


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

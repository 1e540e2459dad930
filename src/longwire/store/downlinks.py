"""Messages to devices, how far each has come, and where networks take them.

Whoever is about to change one has it locked meanwhile: a network may say what became of a message
at the very moment at which its time is over, or somebody takes it back.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Downlink, Page, PageRequest
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.paging import page

_table = schema.downlink
_device = schema.device
_link = schema.network_link
_NAMES = tuple(field.name for field in fields(Downlink))
_COLUMNS = [_table.c[name] for name in _NAMES]
_SELECT = sa.select(*_COLUMNS)

ENDED = ("sent", "acknowledged", "failed", "expired", "cancelled")


def insert(tx: Tx, downlink: Downlink) -> None:
    tx.execute(sa.insert(_table), {name: getattr(downlink, name) for name in _NAMES})


def list_page(tx: Tx, number: int, group_id: str, request: PageRequest) -> Page[Downlink]:
    """Those of a device that a group has asked for, the newest first."""
    statement = _SELECT.where(_table.c.device_number == number, _table.c.group_id == group_id)
    key = [_table.c.created_at, _table.c.id]
    return page(tx, statement, key, request, _downlink, ascending=False)


def count_queued(tx: Tx, number: int, group_id: str) -> int:
    """How many that a group has asked for wait for a device."""
    statement = sa.select(sa.func.count()).where(
        _table.c.device_number == number,
        _table.c.group_id == group_id,
        _table.c.state == "queued",
    )
    return int(tx.rows(statement)[0][0])


def list_expiries(tx: Tx, number: int, begin: Moment, end: Moment) -> set[Moment]:
    """Moments of a period at which the time of some message to a device is over."""
    rows = tx.fetch_raw(
        "select expires_at from downlink where device_number = :number"
        " and expires_at >= :begin and expires_at < :end_at",
        {"number": number, "begin": begin, "end_at": end},
    )
    return {row[0] for row in rows}


# --- to be changed ---


def get(tx: Tx, number: int, downlink_id: str) -> Downlink | None:
    return _one(tx, number, _table.c.id == downlink_id)


def get_by_delivery(tx: Tx, number: int, seq: int) -> Downlink | None:
    """The one that a delivery takes to its network."""
    return _one(tx, number, _table.c.seq == seq)


def get_by_reference(tx: Tx, number: int, name: str) -> Downlink | None:
    """The one that a network speaks of, by our name for it or by the network's."""
    return _one(tx, number, sa.or_(_table.c.id == name, _table.c.reference == name))


def _one(tx: Tx, number: int, condition: sa.ColumnElement[bool]) -> Downlink | None:
    row = tx.row(_SELECT.where(_table.c.device_number == number, condition).with_for_update())
    return _downlink(row) if row else None


def lock_queued_or_answered(tx: Tx, number: int, reference: str) -> list[Downlink]:
    """What waits for a device, and what this message of the device has been answered with.

    The oldest first. A second who asks for the same waits here, and finds it given.
    """
    statement = (
        _SELECT.where(
            _table.c.device_number == number,
            sa.or_(_table.c.state == "queued", _table.c.reference == reference),
        )
        .order_by(_table.c.created_at, _table.c.id)
        .with_for_update()
    )
    return [_downlink(row) for row in tx.rows(statement)]


def lock_answered(tx: Tx, number: int, most: int) -> list[Downlink]:
    """What a device was sent last in answer to messages of its own, the newest first."""
    statement = (
        _SELECT.where(_table.c.device_number == number, _table.c.reference.is_not(None))
        .order_by(_table.c.created_at.desc(), _table.c.id.desc())
        .limit(most)
        .with_for_update()
    )
    return [_downlink(row) for row in tx.rows(statement)]


class ExpiredDownlink(msgspec.Struct, frozen=True):
    """One whose time is over before it was sent."""

    downlink_id: str
    device_id: str
    network: str


def list_expired(tx: Tx, most: int) -> list[ExpiredDownlink]:
    """Those whose time is over. They are not locked: their devices come first."""
    statement = (
        sa.select(_table.c.id, _device.c.id, _device.c.network)
        .join(_device, _device.c.number == _table.c.device_number)
        .where(_table.c.state == "queued", _table.c.expires_at <= tx.now)
        .order_by(_table.c.expires_at, _table.c.id)
        .limit(most)
    )
    return [ExpiredDownlink(*tuple(row)) for row in tx.rows(statement)]


def has_expired(tx: Tx) -> bool:
    rows = tx.fetch_raw(
        "select 1 from downlink where state = 'queued' and expires_at <= :now limit 1",
        {"now": tx.now},
    )
    return bool(rows)


def update_state(tx: Tx, downlink: Downlink) -> None:
    """Keep how far it has come."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == downlink.id)
        .values(
            state=downlink.state,
            detail=downlink.detail,
            reference=downlink.reference,
            updated_at=tx.now,
        )
    )


# --- a quick look ---


def has_queued_or_answered(tx: Tx, device_id: str, reference: str) -> bool:
    """Whether anything waits for a device, or was given in answer to this message of it."""
    rows = tx.fetch_raw(
        "select 1 from downlink w join device d on d.number = w.device_number"
        " where d.id = :device and (w.state = 'queued' or w.reference = :reference) limit 1",
        {"device": device_id, "reference": reference},
    )
    return bool(rows)


def has_reference(tx: Tx, number: int, names: Sequence[str]) -> bool:
    """Whether any of these names is one of a message to a device."""
    return any(
        tx.fetch_raw(
            "select 1 from downlink where device_number = :number"
            " and (id = :name or reference = :name) limit 1",
            {"number": number, "name": name},
        )
        for name in names
    )


def has_answered(tx: Tx, number: int) -> bool:
    """Whether any message of a device was answered with one."""
    rows = tx.fetch_raw(
        "select 1 from downlink where device_number = :number and reference is not null limit 1",
        {"number": number},
    )
    return bool(rows)


def list_data_between(
    tx: Tx, number: int, stay: int, after: Moment, until: Moment, most: int
) -> list[str]:
    """The last data records that a device has made after one moment and up to another."""
    rows = tx.fetch_raw(
        "select body from record_data where device_number = :number and stay = :stay"
        " and ts > :after and ts <= :until order by ts desc limit :most",
        {"number": number, "stay": stay, "after": after, "until": until, "most": most},
    )
    return [row[0] for row in rows]


def is_in_flight(tx: Tx, number: int, channel_number: int) -> bool:
    """Whether one for this device is being handed to its network just now."""
    rows = tx.fetch_raw(
        "select 1 from downlink w join delivery d on d.seq = w.seq"
        f" and d.connector_number = :channel and d.state = {schema.DeliveryState.LEASED:d}"
        " where w.device_number = :number and w.state = 'queued' limit 1",
        {"number": number, "channel": channel_number},
    )
    return bool(rows)


class PendingDownlink(msgspec.Struct, frozen=True):
    """A message to a device, with what is needed to bring it to its network."""

    downlink: Downlink
    original_id: str
    is_at_home: bool  # whether its device is still in the group that asked for it
    url: str | None
    sealed_key: str | None


def get_pending(tx: Tx, device_id: str, downlink_id: str) -> PendingDownlink | None:
    statement = (
        sa.select(
            *_COLUMNS,
            _device.c.original_id,
            (_device.c.group_id == _table.c.group_id).label("is_at_home"),
            _link.c.url,
            _link.c.sealed_key,
        )
        .join(_device, _device.c.number == _table.c.device_number)
        .outerjoin(_link, _link.c.device_number == _table.c.device_number)
        .where(_table.c.id == downlink_id, _device.c.id == device_id)
    )
    row = tx.row(statement)
    if row is None:
        return None
    return PendingDownlink(_downlink(row), row.original_id, row.is_at_home, row.url, row.sealed_key)


# --- links ---


class NetworkLink(msgspec.Struct, frozen=True):
    """Where a network takes messages to a device."""

    url: str
    sealed_key: str
    told_at: Moment = 0


def get_link(tx: Tx, device_id: str) -> NetworkLink | None:
    rows = tx.fetch_raw(
        "select l.url, l.sealed_key, l.updated_at from network_link l join device d on d.number ="
        " l.device_number where d.id = :device",
        {"device": device_id},
    )
    return NetworkLink(*rows[0]) if rows else None


def save_link(tx: Tx, number: int, link: NetworkLink) -> None:
    tx.driver.execute(
        tx.to_driver_sql(
            "insert into network_link (device_number, url, sealed_key, updated_at)"
            " values (:number, :url, :key, :now) on conflict (device_number) do update"
            " set url = excluded.url, sealed_key = excluded.sealed_key,"
            " updated_at = excluded.updated_at"
        ),
        {"number": number, "url": link.url, "key": link.sealed_key, "now": tx.now},
    )


def delete_link(tx: Tx, device_id: str, url: str) -> None:
    """Messages to a device do not go there any more."""
    tx.driver.execute(
        tx.to_driver_sql(
            "delete from network_link where url = :url and device_number ="
            " (select number from device where id = :device)"
        ),
        {"url": url, "device": device_id},
    )


# --- the end of it ---


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Remove what was over before a moment; how many that were."""
    some = (
        sa.select(_table.c.id)
        .where(_table.c.state.in_(ENDED), _table.c.expires_at < before)
        .where(_table.c.updated_at < before)
        .limit(most)
    )
    return tx.execute(sa.delete(_table).where(_table.c.id.in_(some)))


def _downlink(row: sa.Row[Any]) -> Downlink:
    return Downlink(**{name: row._mapping[name] for name in _NAMES})

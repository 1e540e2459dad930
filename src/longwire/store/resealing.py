"""Seals again what an older key has sealed, some rows at a time.

The list below has every column that is sealed, with the purpose that its owner seals it for.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from longwire.model import ChannelPurpose
from longwire.seal import UnsealError
from longwire.store import instance, schema
from longwire.store.database import Tx
from longwire.store.fleet import unknown_devices

# Of a step, which the service waits for; one value may be larger.
ROWS_PER_STEP = 50
BYTES_PER_STEP = 4 * 1024 * 1024

Key = tuple[Any, ...]  # of a row
Purpose = Callable[[sa.Row[Any]], str]


@dataclass(frozen=True, slots=True)
class SealedColumn:
    column: sa.Column[Any]
    purpose: Purpose  # of a row with `named`
    named: tuple[sa.ColumnElement[Any], ...]
    joined: sa.Table | None = None  # on its number, to name the row
    where: tuple[sa.ColumnElement[bool], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.column.table.name}.{self.column.name}"


@dataclass(frozen=True, slots=True)
class ResealingStep:
    last: Key | None  # the key of the last row; None behind the end
    resealed: int
    unreadable: int  # by any key


_user_id = schema.user_password.c.user_id.label("owner")
_home = sa.type_coerce(schema.reception.c.group_id, sa.BigInteger).label("home")

SEALED: tuple[SealedColumn, ...] = (
    SealedColumn(
        schema.group.c.sealed_token,
        lambda row: f"device_group|{row.owner}|token",
        (schema.group.c.id.label("owner"),),
    ),
    SealedColumn(
        schema.app_client.c.sealed_secret,
        lambda row: f"app_client|{row.owner}|secret",
        (schema.app_client.c.id.label("owner"),),
    ),
    SealedColumn(
        schema.user_password.c.sealed_hash, lambda row: f"user_password|{row.owner}", (_user_id,)
    ),
    SealedColumn(
        schema.user_totp.c.sealed_secret,
        lambda row: f"user_totp|{row.owner}",
        (schema.user_totp.c.user_id.label("owner"),),
    ),
    SealedColumn(
        schema.push_token.c.sealed_token,
        lambda row: f"push_token|{row.owner}",
        (schema.push_token.c.user_id.label("owner"),),
    ),
    SealedColumn(
        schema.channel.c.sealed_params,
        lambda row: f"{row.kind}|{row.owner}|params",
        (schema.channel.c.id.label("owner"), schema.channel.c.purpose.label("kind")),
    ),
    SealedColumn(
        schema.registration.c.sealed_pac,
        lambda row: f"registration|{row.owner}|pac",
        (schema.device.c.id.label("owner"),),
        joined=schema.device,
    ),
    SealedColumn(
        schema.network_link.c.sealed_key,
        lambda row: f"network_link|{row.owner}|key",
        (schema.device.c.id.label("owner"),),
        joined=schema.device,
    ),
    SealedColumn(
        schema.reception.c.sealed,
        lambda row: f"reception|{row.home}|{row.first}",
        (_home, schema.reception.c.first_seq.label("first")),
    ),
    SealedColumn(
        schema.unknown_device.c.sealed,
        lambda row: unknown_devices.get_purpose(row.home, row.net, row.key),
        (
            sa.type_coerce(schema.unknown_device.c.group_id, sa.BigInteger).label("home"),
            schema.unknown_device.c.network.label("net"),
            schema.unknown_device.c.original_key.label("key"),
        ),
    ),
    SealedColumn(
        schema.job_chunk.c.content,
        lambda row: f"job_chunk|{row.owner}|{row.part}",
        (schema.job_chunk.c.job_id.label("owner"), schema.job_chunk.c.number.label("part")),
    ),
)


def list_mail_queues(tx: Tx) -> list[SealedColumn]:
    """The bodies of mails that wait, by channel: those of other channels are not sealed."""
    channel = schema.channel
    rows = tx.rows(sa.select(channel.c.number).where(channel.c.purpose == ChannelPurpose.MAIL))
    return [_mail_queue(row.number) for row in rows]


def _mail_queue(number: int) -> SealedColumn:
    delivery = schema.delivery
    return SealedColumn(
        delivery.c.body,
        lambda row: ChannelPurpose.MAIL.value,
        (delivery.c.seq.label("message"),),
        where=(delivery.c.channel_number == number,),
    )


def reseal_some(tx: Tx, sealed: SealedColumn, after: Key | None) -> ResealingStep:
    """Seal the next rows behind `after` with the newest key, as far as an older one has."""
    keys = list(sealed.column.table.primary_key.columns)
    last, has_more = _find_step(tx, sealed, keys, after)
    if last is None:
        return ResealingStep(None, 0, 0)
    rows = tx.rows(_select(sealed, keys, after).where(_compare(keys, last, operator.le)))
    resealed = unreadable = 0
    for row in rows:
        purpose, value = sealed.purpose(row), row.value
        if tx.keyring.is_current(value, purpose):
            continue
        try:
            new = _reseal(tx, value, purpose)
        except UnsealError:
            unreadable += 1
            continue
        changed = sa.update(sealed.column.table).where(
            *(key == part for key, part in zip(keys, row, strict=False)), sealed.column == value
        )
        resealed += tx.execute(changed.values({sealed.column.name: new}))
    return ResealingStep(last if has_more else None, resealed, unreadable)


def _find_step(
    tx: Tx, sealed: SealedColumn, keys: Sequence[sa.Column[Any]], after: Key | None
) -> tuple[Key | None, bool]:
    """The key of the last row of a step, None if there is no row; and whether more may follow."""
    size = sa.func.length(sealed.column)
    statement = _select(sealed, keys, after).with_only_columns(*keys, size).limit(ROWS_PER_STEP)
    found = tx.rows(statement)
    left = BYTES_PER_STEP
    last: Key | None = None
    for row in found:
        left -= row[-1]
        if last is not None and left < 0:
            return last, True
        last = tuple(row[:-1])
    return last, len(found) == ROWS_PER_STEP


def _reseal(tx: Tx, value: str | bytes, purpose: str) -> str | bytes:
    if isinstance(value, bytes):
        return tx.keyring.seal_bytes(tx.keyring.unseal_bytes(value, purpose), purpose)
    return tx.keyring.seal(tx.keyring.unseal(value, purpose), purpose)


def _select(
    sealed: SealedColumn, keys: Sequence[sa.Column[Any]], after: Key | None
) -> sa.Select[Any]:
    statement = (
        sa.select(*keys, sealed.column.label("value"), *sealed.named)
        .where(sealed.column.is_not(None), *sealed.where)
        .order_by(*keys)
    )
    if sealed.joined is not None:
        number = sealed.column.table.c.device_number
        statement = statement.join(sealed.joined, sealed.joined.c.number == number)
    return statement if after is None else statement.where(_compare(keys, after, operator.gt))


def _compare(
    keys: Sequence[sa.Column[Any]], with_key: Key, how: Callable[[Any, Any], Any]
) -> sa.ColumnElement[bool]:
    values = [sa.literal(part, key.type) for key, part in zip(keys, with_key, strict=True)]
    compared: sa.ColumnElement[bool] = how(sa.tuple_(*keys), sa.tuple_(*values))
    return compared


def finish(tx: Tx) -> None:
    """From now on the newest key suffices."""
    instance.save_fact(tx, "digest_key", tx.keyring.seal_digest_key())
    instance.save_fact(tx, "key_fingerprint", tx.keyring.fingerprint)


def iterate_columns(mail: Sequence[SealedColumn]) -> Iterator[SealedColumn]:
    yield from SEALED
    yield from mail

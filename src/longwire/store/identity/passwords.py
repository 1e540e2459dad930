"""Passwords, authenticator apps and recovery codes of people."""

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx

_password = schema.user_password
_totp = schema.user_totp
_recovery = schema.recovery_code


@dataclass(frozen=True, slots=True)
class TotpRow:
    """An authenticator app of a user."""

    sealed_secret: str
    last_step: int
    confirmed_at: Moment | None


def get_sealed_hash(tx: Tx, user_id: str) -> str | None:
    row = tx.row(sa.select(_password.c.sealed_hash).where(_password.c.user_id == user_id))
    return row.sealed_hash if row else None


def save_hash(tx: Tx, user_id: str, sealed_hash: str) -> None:
    """The caller holds a lock on the user."""
    values = {"sealed_hash": sealed_hash, "changed_at": tx.now}
    if not tx.execute(sa.update(_password).where(_password.c.user_id == user_id).values(values)):
        tx.execute(sa.insert(_password), {"user_id": user_id, **values})


def delete_hash(tx: Tx, user_id: str) -> bool:
    return tx.execute(sa.delete(_password).where(_password.c.user_id == user_id)) > 0


def get_totp(tx: Tx, user_id: str) -> TotpRow | None:
    row = tx.row(sa.select(_totp).where(_totp.c.user_id == user_id))
    return TotpRow(row.sealed_secret, row.last_step, row.confirmed_at) if row else None


def save_totp(tx: Tx, user_id: str, totp: TotpRow) -> None:
    """The caller holds a lock on the user."""
    values = {
        "sealed_secret": totp.sealed_secret,
        "last_step": totp.last_step,
        "confirmed_at": totp.confirmed_at,
    }
    if not tx.execute(sa.update(_totp).where(_totp.c.user_id == user_id).values(values)):
        tx.execute(sa.insert(_totp), {"user_id": user_id, **values})


def use_step(tx: Tx, user_id: str, step: int) -> bool:
    """Note that the code of a time step was used; False if it, or a later one, was used before."""
    statement = (
        sa.update(_totp)
        .where(_totp.c.user_id == user_id, _totp.c.last_step < step)
        .values(last_step=step)
    )
    return tx.execute(statement) > 0


def delete_totp(tx: Tx, user_id: str) -> bool:
    tx.execute(sa.delete(_recovery).where(_recovery.c.user_id == user_id))
    return tx.execute(sa.delete(_totp).where(_totp.c.user_id == user_id)) > 0


def replace_recovery_codes(tx: Tx, user_id: str, digests: Iterable[bytes]) -> None:
    tx.execute(sa.delete(_recovery).where(_recovery.c.user_id == user_id))
    for digest in digests:
        tx.execute(sa.insert(_recovery), {"digest": digest, "user_id": user_id})


def use_recovery_code(tx: Tx, user_id: str, digest: bytes) -> bool:
    """Delete a recovery code; of two who do so at once, one gets True."""
    statement = sa.delete(_recovery).where(
        _recovery.c.digest == digest, _recovery.c.user_id == user_id
    )
    return tx.execute(statement) > 0

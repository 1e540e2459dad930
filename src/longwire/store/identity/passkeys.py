"""Passkeys: the public keys of people's authenticators."""

from typing import Any

import sqlalchemy as sa

from longwire.model import Passkey
from longwire.store import schema
from longwire.store.database import Tx

_table = schema.passkey


def get_by_credential_id(tx: Tx, credential_id: bytes) -> Passkey | None:
    """A passkey by what its authenticator calls it; its row stays locked until the commit."""
    statement = sa.select(_table).where(_table.c.credential_id == credential_id).with_for_update()
    row = tx.row(statement)
    return _passkey(row) if row else None


def list_of(tx: Tx, user_id: str) -> list[Passkey]:
    """The passkeys of a user, the first one first."""
    statement = (
        sa.select(_table)
        .where(_table.c.user_id == user_id)
        .order_by(_table.c.created_at, _table.c.id)
    )
    return [_passkey(row) for row in tx.rows(statement)]


def insert(tx: Tx, passkey: Passkey) -> None:
    tx.execute(
        sa.insert(_table),
        {
            "credential_id": passkey.credential_id,
            "id": passkey.id,
            "user_id": passkey.user_id,
            "name": passkey.name,
            "public_key": passkey.public_key,
            "relying_party_id": passkey.relying_party_id,
            "sign_count": passkey.sign_count,
            "is_synced": passkey.is_synced,
            "created_at": passkey.created_at,
            "seen_at": passkey.seen_at,
        },
    )


def update_use(tx: Tx, passkey: Passkey) -> None:
    """Keep the counter and the time of a use."""
    changed = {
        "sign_count": passkey.sign_count,
        "is_synced": passkey.is_synced,
        "seen_at": passkey.seen_at,
    }
    tx.execute(
        sa.update(_table).where(_table.c.credential_id == passkey.credential_id).values(changed)
    )


def update_name(tx: Tx, passkey_id: str, name: str) -> None:
    tx.execute(sa.update(_table).where(_table.c.id == passkey_id).values(name=name))


def delete(tx: Tx, passkey_id: str) -> None:
    tx.execute(sa.delete(_table).where(_table.c.id == passkey_id))


def delete_of(tx: Tx, user_id: str) -> int:
    """Delete all passkeys of a user; how many."""
    return tx.execute(sa.delete(_table).where(_table.c.user_id == user_id))


def _passkey(row: sa.Row[Any]) -> Passkey:
    return Passkey(
        id=row.id,
        credential_id=row.credential_id,
        user_id=row.user_id,
        name=row.name,
        public_key=row.public_key,
        relying_party_id=row.relying_party_id,
        sign_count=row.sign_count,
        is_synced=row.is_synced,
        created_at=row.created_at,
        seen_at=row.seen_at,
    )

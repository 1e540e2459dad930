"""The codes of links by which people sign in once."""

from typing import Any

import sqlalchemy as sa

from longwire.model import LinkSource, SignInCode
from longwire.store import schema
from longwire.store.database import Tx

_table = schema.sign_in_code


def insert(tx: Tx, code: SignInCode) -> None:
    tx.execute(
        sa.insert(_table),
        {
            "digest": code.digest,
            "user_id": code.user_id,
            "source": code.source,
            "issued_by": code.issued_by,
            "created_at": code.created_at,
            "expires_at": code.expires_at,
        },
    )


def get(tx: Tx, digest: bytes) -> SignInCode | None:
    row = tx.row(sa.select(_table).where(_table.c.digest == digest))
    return _code(row) if row else None


def list_of(tx: Tx, user_id: str) -> list[SignInCode]:
    """The codes of a user, the newest first; expired ones as well."""
    statement = (
        sa.select(_table)
        .where(_table.c.user_id == user_id)
        .order_by(_table.c.created_at.desc(), _table.c.digest)
    )
    return [_code(row) for row in tx.rows(statement)]


def delete(tx: Tx, digest: bytes) -> bool:
    """Delete a code; of two that do so at once, one gets True."""
    return tx.execute(sa.delete(_table).where(_table.c.digest == digest)) > 0


def delete_of(tx: Tx, user_id: str) -> None:
    tx.execute(sa.delete(_table).where(_table.c.user_id == user_id))


def _code(row: sa.Row[Any]) -> SignInCode:
    return SignInCode(
        digest=row.digest,
        user_id=row.user_id,
        source=LinkSource(row.source),
        created_at=row.created_at,
        expires_at=row.expires_at,
        issued_by=row.issued_by,
    )

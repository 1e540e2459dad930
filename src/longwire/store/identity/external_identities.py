"""Which user a subject of an identity provider is, and the memberships that its claims gave."""

import sqlalchemy as sa

from longwire.model import Membership
from longwire.store import schema
from longwire.store.database import Tx

_table = schema.external_identity
_member = schema.member


def get_user_id(tx: Tx, issuer: str, subject: str) -> str | None:
    row = tx.row(
        sa.select(_table.c.user_id).where(_table.c.issuer == issuer, _table.c.subject == subject)
    )
    return str(row[0]) if row else None


def has_subject(tx: Tx, issuer: str, user_id: str) -> bool:
    """Whether the user is bound to some subject of this provider."""
    statement = sa.select(_table.c.subject).where(
        _table.c.user_id == user_id, _table.c.issuer == issuer
    )
    return tx.row(statement) is not None


def insert(tx: Tx, issuer: str, subject: str, user_id: str) -> None:
    row = {"issuer": issuer, "subject": subject, "user_id": user_id, "created_at": tx.now}
    tx.execute(sa.insert(_table), row)


def delete_of(tx: Tx, user_id: str) -> int:
    """Delete who a user is at every provider; how many subjects that were."""
    return tx.execute(sa.delete(_table).where(_table.c.user_id == user_id))


def list_memberships(tx: Tx, user_id: str) -> dict[str, tuple[str, str | None]]:
    """The role and, if a claim gave it, the claim's value of each membership, by group."""
    statement = sa.select(_member.c.group_id, _member.c.role_id, _member.c.claim_value)
    rows = tx.rows(statement.where(_member.c.user_id == user_id))
    return {row.group_id: (row.role_id, row.claim_value) for row in rows}


def set_claim_value(tx: Tx, membership: Membership, claim_value: str) -> None:
    """Keep which value of a claim gives a membership, and the role that goes with it."""
    tx.execute(
        sa.update(_member)
        .where(_member.c.group_id == membership.group_id, _member.c.user_id == membership.user_id)
        .values(
            role_id=membership.role_id,
            updated_at=membership.updated_at,
            claim_value=claim_value,
        )
    )

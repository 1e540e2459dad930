"""Sessions of people who are signed in."""

from typing import Any

import sqlalchemy as sa

from longwire.model import Actor, Session, SignInMethod
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

_table = schema.session

# This runs for every session in use whenever permissions have changed.
GET_WITH_ACTOR = Statement("""
select
    user_account.is_operator,
    user_account.sponsor_id,
    exists (
        select 1
        from member
        where member.user_id = session.user_id
            and member.accepted_at is null
    ),
    session.method,
    session.id,
    session.user_id,
    session.address,
    session.user_agent,
    session.created_at,
    session.seen_at,
    session.expires_at,
    session.ends_at,
    session.client_id,
    session.issued_by
from session
join user_account
    on user_account.id = session.user_id
where session.digest = :digest
""")


def insert(tx: Tx, digest: bytes, session: Session) -> None:
    tx.execute(
        sa.insert(_table),
        {
            "digest": digest,
            "id": session.id,
            "user_id": session.user_id,
            "method": session.method,
            "address": session.address,
            "user_agent": session.user_agent,
            "client_id": session.client_id,
            "issued_by": session.issued_by,
            "created_at": session.created_at,
            "seen_at": session.seen_at,
            "expires_at": session.expires_at,
            "ends_at": session.ends_at,
        },
    )


def get_with_actor(tx: Tx, digest: bytes) -> tuple[Session, Actor] | None:
    """The session of this digest, and who acts with it."""
    rows = tx.fetch(GET_WITH_ACTOR, digest=digest)
    if not rows:
        return None
    is_operator, sponsor_id, has_invitations, method, session_id, user_id, *rest = rows[0]
    session = Session(session_id, user_id, SignInMethod(method), *rest)
    actor = Actor(
        "user",
        user_id,
        is_operator=bool(is_operator),
        has_invitations=bool(has_invitations),
        owner_id=sponsor_id,
    )
    return session, actor


def update_seen_at(tx: Tx, digest: bytes, session: Session) -> bool:
    """Store the later `seen_at` and `expires_at` of a session; False if it has ended."""
    statement = (
        sa.update(_table)
        .where(_table.c.digest == digest)
        .values(seen_at=session.seen_at, expires_at=session.expires_at)
    )
    return tx.execute(statement) > 0


def list_of(tx: Tx, user_id: str) -> list[Session]:
    """The sessions of a user, the last used first; expired ones as well."""
    statement = (
        sa.select(_table)
        .where(_table.c.user_id == user_id)
        .order_by(_table.c.seen_at.desc(), _table.c.id)
    )
    return [_session(row) for row in tx.rows(statement)]


def delete(tx: Tx, user_id: str, session_ids: list[str]) -> int:
    """Delete some sessions of a user; how many there were."""
    statement = sa.delete(_table).where(_table.c.user_id == user_id, _table.c.id.in_(session_ids))
    return tx.execute(statement)


def _session(row: sa.Row[Any]) -> Session:
    return Session(
        id=row.id,
        user_id=row.user_id,
        method=SignInMethod(row.method),
        address=row.address,
        user_agent=row.user_agent,
        created_at=row.created_at,
        seen_at=row.seen_at,
        expires_at=row.expires_at,
        ends_at=row.ends_at,
        client_id=row.client_id,
        issued_by=row.issued_by,
    )

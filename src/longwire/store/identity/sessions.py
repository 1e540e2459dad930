"""Sessions of people who are signed in."""

from longwire.model import Actor, Session
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import Rows
from longwire.store.statement import Statement

SESSIONS = Rows(Session, schema.session)

# This runs for every session in use whenever permissions have changed.
GET_WITH_ACTOR = Statement(
    """
select
    user_account.is_operator,
    user_account.sponsor_id,
    exists (
        select 1
        from member
        where member.user_id = session.user_id
            and member.accepted_at is null
    ),
    {session}
from session
join user_account
    on user_account.id = session.user_id
where session.digest = :digest
""",
    session=SESSIONS.sql("session"),
)

UPDATE_SEEN_AT = Statement("""
update session
set seen_at = :seen_at,
    expires_at = :expires_at
where digest = :digest
""")


def get_with_actor(tx: Tx, digest: bytes) -> tuple[Session, Actor] | None:
    """The session of this digest, and who acts with it."""
    rows = tx.fetch(GET_WITH_ACTOR, digest=digest)
    if not rows:
        return None
    [(is_operator, sponsor_id, has_invitations, *row)] = rows
    session = SESSIONS.parse(row)
    actor = Actor(
        "user",
        session.user_id,
        is_operator=bool(is_operator),
        has_invitations=bool(has_invitations),
        owner_id=sponsor_id,
    )
    return session, actor


def update_seen_at(tx: Tx, digest: bytes, session: Session) -> bool:
    """Store the later `seen_at` and `expires_at` of a session; False if it has ended."""
    times = {"seen_at": session.seen_at, "expires_at": session.expires_at}
    return tx.run(UPDATE_SEEN_AT, digest=digest, **times) > 0

"""Sessions: a person signs in with a browser and stays signed in for a while.

The browser keeps a secret of 256 bits in a cookie, the database its keyed digest. A session expires
when it is not used, and at the latest after its lifetime. Whatever ends one bumps the auth epoch,
so that it ends in every process.
"""

from collections.abc import Callable
from dataclasses import replace

from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.errors import HandedOver, NotAuthenticated, SessionNotFresh, not_found
from longwire.identity import access
from longwire.ids import new_id, new_secret
from longwire.model import Actor, Session, SignInMethod
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import sessions as store
from longwire.store.identity import users as store_users

SECRET_PREFIX = "lwb"
# How far `seen_at` may lag behind: a read must not become a write each time.
TOUCH_INTERVAL_S = 300
FRESH_S = 600
ADDRESS_CHARACTERS_MAX = 64
USER_AGENT_CHARACTERS_MAX = 256


@dataclass(frozen=True, slots=True)
class SessionRules:
    """How long sessions last, and how many a user may have."""

    idle_s: int = 12 * 3_600
    lifetime_s: int = 14 * 86_400
    per_user_max: int = 50

    def expiry(self, now: Moment, ends_at: Moment) -> Moment:
        """When a session that is used now expires."""
        return min(now + self.idle_s * SECOND, ends_at)


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session, and the secret for its cookie, which is stored nowhere else."""

    session: Session
    secret: str


def create(
    tx: Tx,
    user_id: str,
    method: SignInMethod,
    *,
    address: str,
    user_agent: str,
    rules: SessionRules,
    client_id: str | None = None,
    issued_by: str | None = None,
    ends_at: Moment | None = None,
) -> NewSession:
    """Sign a user in, whom the caller has authenticated.

    `ends_at` is for credentials that expire themselves.
    """
    latest = tx.now + rules.lifetime_s * SECOND
    last = latest if ends_at is None else min(latest, ends_at)
    session = Session(
        id=new_id("ses"),
        user_id=user_id,
        method=method,
        address=address[:ADDRESS_CHARACTERS_MAX],
        user_agent=user_agent[:USER_AGENT_CHARACTERS_MAX],
        created_at=tx.now,
        seen_at=tx.now,
        expires_at=rules.expiry(tx.now, last),
        ends_at=last,
        client_id=client_id,
        issued_by=issued_by,
    )
    surplus = _list_all(tx, user_id)[rules.per_user_max - 1 :]
    _delete(tx, user_id, surplus)
    secret = new_secret(SECRET_PREFIX)
    store.SESSIONS.insert(tx, session, digest=tx.keyring.digest(secret))
    store_users.update_seen_at(tx, user_id)
    tx.origin = replace(tx.origin, issued_by=get_other_issuer(session))
    audit.log(tx, Actor("user", user_id), "session.create", session.id, detail=method)
    return NewSession(session, secret)


def authenticate(tx: Tx, digest: bytes) -> tuple[Session, Actor]:
    """The session of a cookie's secret by its digest, and who acts with it."""
    found = store.get_with_actor(tx, digest)
    if found is None or found[0].expires_at <= tx.now:
        raise NotAuthenticated("The session has ended; sign in again.")
    session, actor = found
    if session.issued_by is not None:
        require_issuer(tx, session.issued_by, session.user_id)
    return session, actor


def require_issuer(tx: Tx, issuer_id: str, user_id: str) -> None:
    """Whoever was shown a link must still hold all that its user holds.

    What both hold is read again after each change of roles, members and groups, as nothing else is
    cached then. So nobody gets at more than they have by a link that they keep for themselves.
    """
    issuer, user = store_users.USERS.get(tx, issuer_id), store_users.USERS.get(tx, user_id)
    if issuer is not None and user is not None:
        actor = Actor("user", issuer.id, is_operator=issuer.is_operator)
        if access.holds_all_of(tx, actor, user):
            return
    raise NotAuthenticated("The session has ended; sign in again.")


def get_other_issuer(session: Session) -> str | None:
    """Somebody else who was shown the link of a session, and may be whoever uses it.

    It ends as soon as its user holds more than they do.
    """
    return None if session.issued_by == session.user_id else session.issued_by


def is_fresh(session: Session, now: Moment) -> bool:
    """Whether its user has just signed in, by a way of their own."""
    return session.issued_by is None and now - session.created_at <= FRESH_S * SECOND


def require_fresh(session: Session | None, now: Moment) -> None:
    """Ways to sign in are changed and handed out by somebody who has just signed in.

    Nobody else: neither a token nor an old session leads to what would outlive it, and a link that
    was shown proves nothing about whoever has it now.
    """
    minutes = FRESH_S // 60
    if session is None:
        raise SessionNotFresh(
            f"Sign in: this needs a session that is younger than {minutes} minutes, and an access"
            " token is none."
        )
    if session.issued_by is not None:
        raise SessionNotFresh(
            "Sign in by yourself: this session began with a link that was shown to somebody."
        )
    if not is_fresh(session, now):
        raise SessionNotFresh(
            f"Sign in again: this needs a session that is younger than {minutes} minutes."
        )


def require_oneself(tx: Tx) -> None:
    """Refuse somebody who was shown the link of another user what would outlive the session."""
    if tx.origin.issued_by is not None:
        raise HandedOver


def require_own(session: Session | None) -> Session:
    """The caller's session, which is neither a token nor handed over by somebody else."""
    if session is None:
        raise SessionNotFresh("Sign in: this needs a session, and an access token is none.")
    if get_other_issuer(session) is not None:
        raise HandedOver
    return session


def needs_touch(session: Session, now: Moment) -> bool:
    return now - session.seen_at >= TOUCH_INTERVAL_S * SECOND


def touch(tx: Tx, digest: bytes, session: Session, rules: SessionRules) -> Session:
    """Note that a session is in use."""
    used = replace(session, seen_at=tx.now, expires_at=rules.expiry(tx.now, session.ends_at))
    if not store.update_seen_at(tx, digest, used):
        raise NotAuthenticated("The session has ended; sign in again.")
    return used


def list_of(tx: Tx, user_id: str) -> list[Session]:
    """The sessions of a user that have not expired, the last used first."""
    return [each for each in _list_all(tx, user_id) if each.expires_at > tx.now]


def end(tx: Tx, actor: Actor, session_id: str) -> None:
    """End one of the actor's own sessions."""
    found = [each for each in _list_all(tx, actor.id) if each.id == session_id]
    # Checked first: a request that ends nothing must not invalidate everybody's caches.
    if not found:
        raise not_found("session_id", "session of yours")
    _delete(tx, actor.id, found)
    audit.log(tx, actor, "session.end", session_id)


def end_where(tx: Tx, user_id: str, matches: Callable[[Session], bool]) -> int:
    """End all sessions of a user for which this holds; how many."""
    found = [each for each in _list_all(tx, user_id) if matches(each)]
    _delete(tx, user_id, found)
    return len(found)


def _list_all(tx: Tx, user_id: str) -> list[Session]:
    """The last used first; expired ones as well."""
    return store.SESSIONS.list_all(tx, user_id=user_id, order="-seen_at")


def _delete(tx: Tx, user_id: str, sessions: list[Session]) -> None:
    if sessions:
        cache_epochs.bump_auth_epoch(tx)
        store.SESSIONS.delete_all(tx, user_id=user_id, id=[each.id for each in sessions])

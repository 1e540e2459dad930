"""Links by which people sign in: 256 random bits that can be used once, for 15 minutes.

They are in the fragment of the URL, which browsers do not send, so that they are in no log.
"""

import enum

from longwire.clock import SECOND
from longwire.errors import NotAllowed, NotAuthenticated, invalid_field, not_found
from longwire.identity import access, sessions
from longwire.identity.sign_in_methods import SignInChange
from longwire.ids import new_secret
from longwire.model import SYSTEM, Actor, LinkSource, SignInCode, User
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import members as store_members
from longwire.store.identity import users as store_users
from longwire.store.identity.sign_in_codes import SIGN_IN_CODES

PAGE_PATH = "/console/sign-in"
LIFETIME_S = 900
# Valid ones; another one replaces the oldest.
PER_USER_MAX = 10
# Whoever has so many valid ones in their mailbox gets no further mail.
MAILED_MAX = 3
_SECRET_PREFIX = "lwl"


class LinkPurpose(enum.StrEnum):
    """What the page does with a link; the name of its secret in the fragment."""

    SIGN_IN = "link"  # at once
    CONFIRM = "mail"  # when a button is pressed, because mail programs open links by themselves
    RESET_PASSWORD = "reset"  # the same, and ask for a new password


def build_url(base_url: str, secret: str, purpose: LinkPurpose) -> str:
    return f"{base_url}{PAGE_PATH}#{purpose}={secret}"


def create(
    tx: Tx,
    actor: Actor,
    user_id: str,
    source: LinkSource,
    *,
    issued_by: str | None = None,
    group_id: str | None = None,
) -> str:
    """A link's secret for a user; who may have it is the caller's to decide."""
    for surplus in _list_all(tx, user_id)[PER_USER_MAX - 1 :]:
        SIGN_IN_CODES.delete(tx, surplus.digest)
    secret = new_secret(_SECRET_PREFIX)
    code = SignInCode(
        digest=tx.keyring.digest(secret),
        user_id=user_id,
        source=source,
        created_at=tx.now,
        expires_at=tx.now + LIFETIME_S * SECOND,
        issued_by=issued_by,
    )
    SIGN_IN_CODES.insert(tx, code)
    audit.log(tx, actor, SignInChange.LINK_CREATED, user_id, group_id=group_id, detail=source)
    return secret


def create_for_terminal(tx: Tx, email: str) -> str:
    user = store_users.get_by_email(tx, email)
    if user is None:
        raise not_found("email", "user")
    return create(tx, SYSTEM, user.id, LinkSource.TERMINAL)


def can_mail(tx: Tx, email: str) -> bool:
    """Whether there is a user with this address, who was not mailed enough links already."""
    user = store_users.get_by_email(tx, email)
    if user is None:
        return False
    mailed = [each for each in _list_all(tx, user.id) if each.source is LinkSource.MAIL]
    return sum(each.expires_at > tx.now for each in mailed) < MAILED_MAX


def create_for_mail(tx: Tx, email: str) -> tuple[User, str] | None:
    """A link for the user with this address; None if there is none, or enough were mailed."""
    user = store_users.get_by_email(tx, email)
    if user is None or not can_mail(tx, email):
        return None
    return user, create(tx, Actor("user", user.id), user.id, LinkSource.MAIL)


def create_to_show(tx: Tx, actor: Actor, email: str, group_id: str) -> str:
    """A link that the actor hands over to a member, who holds no more than the actor does."""
    scope = access.authorize(tx, actor, "member.write", group_id)
    if actor.kind != "user":
        raise NotAllowed("This needs a user; an app client is not one.")
    user = store_users.get_by_email(tx, email)
    member = store_members.MEMBERS.get(tx, scope, group_id, user.id) if user else None
    # Before they have accepted, nobody may learn whether the address has an account.
    if user is None or member is None or member.accepted_at is None:
        raise invalid_field("email", "must be that of a member who has accepted their invitation")
    if not access.holds_all_of(tx, actor, user):
        raise NotAllowed("This user can do something that you cannot, here or in another group.")
    return create(tx, actor, user.id, LinkSource.SHOWN, issued_by=actor.id, group_id=group_id)


def get_valid(tx: Tx, secret: str) -> SignInCode:
    """What a link stands for; the same error for every invalid one."""
    code = SIGN_IN_CODES.get(tx, tx.keyring.digest(secret))
    if code is None or code.expires_at <= tx.now:
        raise NotAuthenticated
    if code.issued_by is not None:
        sessions.require_issuer(tx, code.issued_by, code.user_id)
    return code


def redeem(tx: Tx, code: SignInCode) -> None:
    """Use a link up; of two who do so at once, one gets an error."""
    if not SIGN_IN_CODES.delete(tx, code.digest):
        raise NotAuthenticated


def _list_all(tx: Tx, user_id: str) -> list[SignInCode]:
    """The newest first; expired ones as well."""
    return SIGN_IN_CODES.list_all(tx, user_id=user_id, order="-created_at")

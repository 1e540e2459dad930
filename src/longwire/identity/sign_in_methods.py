"""What a user can sign in with: how it changed, and all of it deleted after a loss."""

import enum

from longwire.clock import DAY
from longwire.dataclass import dataclass
from longwire.errors import not_found
from longwire.identity import sessions
from longwire.model import Actor, AuditEntry, LinkSource, User
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import external_identities as store_identities
from longwire.store.identity import passwords as store_passwords
from longwire.store.identity import users as store_users
from longwire.store.identity.passkeys import PASSKEYS
from longwire.store.identity.sign_in_codes import SIGN_IN_CODES

CHANGES_MAX = 20
CHANGES_DAYS = 90


class SignInChange(enum.StrEnum):
    """How the ways changed in which a person signs in; an action in the audit log."""

    PASSWORD_SET = "password.set"
    TOTP_ENABLED = "totp.enable"
    TOTP_DISABLED = "totp.disable"
    PASSKEY_CREATED = "passkey.create"
    PASSKEY_RENAMED = "passkey.update"
    PASSKEY_DELETED = "passkey.delete"
    LINK_CREATED = "signInLink.create"
    IDENTITY_BOUND = "user.bind"  # of an identity provider
    ALL_DELETED = "user.resetSignIn"


@dataclass(frozen=True, slots=True)
class DeletedSignInMethods:
    """What was deleted and ended for a user."""

    user: User
    passkeys: int
    subjects: int  # at identity providers
    sessions: int
    had_password: bool
    had_totp: bool


def delete_all(tx: Tx, actor: Actor, email: str) -> DeletedSignInMethods:
    """For the operator, after a loss: delete what somebody else may sign in with by now.

    Whoever comes from the identity provider next with this address is bound again.
    """
    user = store_users.get_by_email(tx, email)
    if user is None:
        raise not_found("email", "user")
    deleted = DeletedSignInMethods(
        user,
        PASSKEYS.delete_all(tx, user_id=user.id),
        store_identities.delete_of(tx, user.id),
        sessions.end_where(tx, user.id, lambda session: True),
        store_passwords.delete_hash(tx, user.id),
        store_passwords.delete_totp(tx, user.id),
    )
    SIGN_IN_CODES.delete_all(tx, user_id=user.id)
    audit.log(tx, actor, SignInChange.ALL_DELETED, user.id)
    return deleted


def has_none(tx: Tx, user_id: str) -> bool:
    """Whether a user has never signed in, and has nothing that they could sign in with.

    Passwords, passkeys and authenticator apps need somebody who has signed in before.
    """
    user = store_users.USERS.get(tx, user_id)
    if user is None or user.seen_at is not None or user.is_operator:
        return False
    return not store_users.has_credentials(tx, user_id)


def list_changes(tx: Tx, user: User) -> list[AuditEntry]:
    """The last changes of how a user signs in, the newest first.

    Links that were mailed are none: anybody may ask for one, and only its mailbox gets it.
    """
    return audit.list_latest_of_object(
        tx,
        user.id,
        list(SignInChange),
        [LinkSource.MAIL],
        since=tx.now - CHANGES_DAYS * DAY,
        limit=CHANGES_MAX,
    )

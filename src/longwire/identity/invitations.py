"""The links of invitations: a sealed text that nobody stores, valid for a day.

One goes to the mailbox of who is invited; where no mail can be sent, it is shown to whoever
invites, to hand it over. Then whoever has it need not be who is invited: it accepts only for
somebody who has never signed in, and the session is as one of a link that was shown.
"""

from dataclasses import dataclass, replace

from longwire.clock import DAY
from longwire.errors import NotAuthenticated, NotFound
from longwire.identity import access, groups, sessions, sign_in_methods
from longwire.model import Actor, Group
from longwire.seal import UnsealError
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import groups as store_groups
from longwire.store.identity import members as store_members

PAGE = "/console/sign-in#token="
LIFETIME = DAY
INVALID = (
    "The invitation is invalid or has expired, or you are no longer a member of the group. Sign in,"
    " or ask to be invited again."
)
_SEAL_PURPOSE = "invitation"
_NOBODY = "-"


@dataclass(frozen=True, slots=True)
class OpenedInvitation:
    """What a link stands for."""

    user: Actor
    group: Group
    is_accepted: bool  # the membership
    is_new_user: bool  # who has nothing to sign in with, and is signed in by the link
    issued_by: str | None  # to whom the link was shown

    @property
    def can_change_anything(self) -> bool:
        return self.is_new_user or (self.issued_by is None and not self.is_accepted)


def build_link(
    tx: Tx, base_url: str, group_id: str, user_id: str, *, issued_by: str | None = None
) -> str:
    """The link to a membership that is not accepted yet; `issued_by` is who is shown it."""
    (member,) = store_members.list_invitations(tx, user_id, [group_id])
    parts = (group_id, user_id, str(member.created_at), str(tx.now), issued_by or _NOBODY)
    return f"{base_url}{PAGE}{tx.keyring.seal(' '.join(parts), _SEAL_PURPOSE)}"


def open_link(tx: Tx, token: str) -> OpenedInvitation:
    """Who is invited to which group, as long as the membership is that of the invitation."""
    try:
        parts = tx.keyring.unseal(token, _SEAL_PURPOSE).split()
    except UnsealError:
        raise NotFound(INVALID) from None
    if len(parts) != 5:  # of an earlier release
        raise NotFound(INVALID)
    group_id, user_id, invited_at, sealed_at, issuer = parts
    user, issued_by = Actor("user", user_id), None if issuer == _NOBODY else issuer
    scope = access.authorize_own_membership(tx, user, group_id)
    member = store_members.MEMBERS.get(tx, scope, group_id, user_id)
    group = store_groups.get(tx, scope, group_id)
    is_expired = tx.now - int(sealed_at) > LIFETIME
    if group is None or member is None or member.created_at != int(invited_at) or is_expired:
        raise NotFound(INVALID)
    return OpenedInvitation(
        user,
        group,
        is_accepted=member.accepted_at is not None,
        is_new_user=sign_in_methods.has_none(tx, user_id) and _may_sign_in(tx, user_id, issued_by),
        issued_by=issued_by,
    )


def _may_sign_in(tx: Tx, user_id: str, issued_by: str | None) -> bool:
    """By a link that was shown, only somebody who holds no more than who was shown it."""
    if issued_by is None:
        return True
    try:
        sessions.require_issuer(tx, issued_by, user_id)
    except NotAuthenticated:
        return False
    return True


def accept_link(tx: Tx, token: str) -> OpenedInvitation:
    """Accept a membership by its link, if that may; of two at once, one finds a new user."""
    cache_epochs.bump_auth_epoch(tx)
    opened = open_link(tx, token)
    if not opened.can_change_anything:
        return opened
    groups.accept_invitations(tx, opened.user, [opened.group.id])
    return replace(opened, is_accepted=True)

"""Accepting an invitation: as who is invited, or by its link.

A page of the console posts the secret of the link. It is in the fragment, which browsers do not
send, and opening the link changes nothing, because mail programs open links by themselves: a button
of the page accepts.
"""

from typing import Annotated

from msgspec import Meta

from longwire.api.identity.groups import Group, show_group
from longwire.api.identity.session_cookies import session_cookie
from longwire.api.identity.sessions import create_session, serves_form
from longwire.api.replies import Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GroupId
from longwire.identity import groups, invitations
from longwire.identity.invitations import OpenedInvitation
from longwire.identity.sessions import NewSession
from longwire.model import SignInMethod
from longwire.store.database import Tx
from longwire.web.fields import Body
from longwire.web.routing import NO_TOKEN, OWN, WithCookies, serves

PATH = "/invitation"
_TOKEN_CHARACTERS_MAX = 500


class InvitationInput(Body):
    """An invitation, and whether to accept it."""

    token: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=_TOKEN_CHARACTERS_MAX,
            description="What follows `#token=` in the link of the invitation.",
            examples=["15D938-5YhA1SiFIWY1Cg"],
        ),
    ]
    accept: Annotated[bool, Meta(description="Accept it; else only say what it is.")] = False


class InvitationAcceptance(Body):
    """A group to whose membership the caller agrees."""

    group_id: GroupId


class InvitationReturn(Shown[OpenedInvitation], kw_only=True):
    """What an invitation is for, and what became of it."""

    group_id: GroupId
    group_name: (
        Annotated[str, Meta(description="What the group is called.", examples=["Harbour"])] | None
    ) = None
    is_accepted: Annotated[
        bool,
        Meta(
            description="Whether the membership is accepted. By a link that was handed over, only"
            " somebody who has never signed in accepts; others sign in, and accept there."
        ),
    ]
    is_signed_in: Annotated[
        bool, Meta(description="Whether the response sets the cookie of a session.")
    ]


@serves(
    "POST",
    "/group/accept",
    OWN,
    object_rule="one's own membership",
    tag="Members",
    is_addition=True,
    has_secrets=True,
)
def accept_invitation(context: Context, body: InvitationAcceptance) -> Group:
    """Accept an invitation.

    Other members see the caller's name from then on, and the group may send them mail. Any other
    change in the group accepts as well, but no GET. Leaving the group declines.
    """
    return show_group(groups.accept_invitation(context.tx, context.actor, body.group_id))


@serves_form(
    "POST",
    PATH,
    NO_TOKEN,
    object_rule="whoever has the link of an invitation",
    own_site=True,
    result="The invitation.",
    example={"token": "15D938-5YhA1SiFIWY1Cg", "accept": True},
    statuses=(400, 403, 404, 408, 413, 415, 429, 431, 503),
)
async def open_invitation(
    context: AsyncContext, body: InvitationInput
) -> WithCookies[InvitationReturn]:
    """Open or accept an invitation.

    By the secret in its link, which is valid for 24 hours. Whoever has never signed in is signed in
    when they accept; others sign in by their own means. 404 for an invitation that is invalid, has
    expired, or whose membership has ended.
    """
    is_confidential = context.request.is_confidential
    # Needs no token, so it writes, and invalidates what is cached, only if something changes.
    opened = await context.read(lambda tx: invitations.open_link(tx, body.token))
    can_change = not opened.is_accepted or is_confidential
    if not body.accept or not can_change or not opened.can_change_anything:
        return WithCookies(_describe(opened), ())

    def work(tx: Tx) -> tuple[OpenedInvitation, NewSession | None]:
        accepted = invitations.accept_link(tx, body.token)
        if not accepted.is_new_user or not is_confidential:
            return accepted, None
        user_id, issued_by = accepted.user.id, accepted.issued_by
        method = SignInMethod.LINK
        return accepted, create_session(context, tx, user_id, method, issued_by=issued_by)

    accepted, new = await context.write(work)
    if new is None:
        return WithCookies(_describe(accepted), ())
    return WithCookies(_describe(accepted, is_signed_in=True), (session_cookie(new),))


def _describe(opened: OpenedInvitation, *, is_signed_in: bool = False) -> InvitationReturn:
    group = opened.group
    return InvitationReturn.show(
        opened, group_id=group.id, group_name=group.name, is_signed_in=is_signed_in
    )

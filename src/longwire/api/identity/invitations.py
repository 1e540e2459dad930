"""Accepting an invitation: as who is invited, or by its link.

A page of the console posts the secret of the link. It is in the fragment, which browsers do not
send, and opening the link changes nothing, because mail programs open links by themselves: a button
of the page accepts.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.api.identity.groups import Group, group_wire
from longwire.api.identity.session_shapes import OWN_HEADER
from longwire.api.services import Context
from longwire.api.types import GroupId
from longwire.identity import groups, invitations, sessions
from longwire.identity.invitations import OpenedInvitation
from longwire.identity.sessions import NewSession, SessionRules
from longwire.model import Origin, SignInMethod
from longwire.store.database import Database, Tx
from longwire.web.authentication import Authenticator
from longwire.web.fields import Body, InputLimits, Reply
from longwire.web.openapi import Json, json_response, problem_responses, schema_ref
from longwire.web.routing import (
    FORM_BYTES_MAX,
    NO_TOKEN,
    OWN,
    PlainRoute,
    Request,
    Response,
    Route,
    build_field_locations,
    require_json,
)
from longwire.web.session_cookies import get_user_agent, require_own_site, with_session
from longwire.web.validation import decode_body

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


class InvitationReturn(Reply, kw_only=True):
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


def accept_invitation(context: Context, body: InvitationAcceptance) -> Group:
    """Accept an invitation.

    Other members see the caller's name from then on, and the group may send them mail. Any other
    change in the group accepts as well, but no GET. Leaving the group declines.
    """
    return group_wire(groups.accept_invitation(context.tx, context.actor, body.group_id))


ROUTES = [
    Route(
        "POST",
        "/group/accept",
        accept_invitation,
        OWN,
        object_rule="one's own membership",
        tag="Members",
        is_addition=True,
        has_secrets=True,
    )
]


class InvitationEndpoint:
    """Shows an invitation, and accepts it; signs in who has never signed in."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator,
        rules: SessionRules,
        limits: InputLimits,
    ) -> None:
        self._database = database
        self._authenticator = authenticator
        self._rules = rules
        self._limits = limits

    async def open(self, request: Request, body: bytes) -> Response:
        require_own_site(request, self._authenticator.public_origin)
        require_json(request)
        given = decode_body(body, InvitationInput, self._limits)
        # Needs no token, so it writes, and invalidates what is cached, only if something changes.
        opened = await self._database.read(lambda tx: invitations.open_link(tx, given.token))
        can_change = not opened.is_accepted or request.is_confidential
        if not given.accept or not can_change or not opened.can_change_anything:
            return Response(200, msgspec.json.encode(_describe(opened)))

        def work(tx: Tx) -> tuple[OpenedInvitation, NewSession | None]:
            tx.origin = Origin(request.address, request.request_id)
            accepted = invitations.accept_link(tx, given.token)
            signs_in = accepted.is_new_user and request.is_confidential
            return accepted, self._sign_in(tx, request, accepted) if signs_in else None

        accepted, new = await self._database.write(work)
        if new is None:
            return Response(200, msgspec.json.encode(_describe(accepted)))
        described = msgspec.json.encode(_describe(accepted, is_signed_in=True))
        return with_session(Response(200, described), request, new)

    def _sign_in(self, tx: Tx, request: Request, accepted: OpenedInvitation) -> NewSession:
        return sessions.create(
            tx,
            accepted.user.id,
            SignInMethod.LINK,
            address=request.address,
            user_agent=get_user_agent(request),
            rules=self._rules,
            issued_by=accepted.issued_by,
        )

    def routes(self) -> list[PlainRoute]:
        return [
            PlainRoute(
                method="POST",
                path=PATH,
                handler=self.open,
                body_bytes_max=FORM_BYTES_MAX,
                permission=NO_TOKEN,
                object_rule="whoever has the link of an invitation",
                tag="Sessions",
                openapi=_OPENAPI,
                schemas=(InvitationInput, InvitationReturn),
                field_locations=build_field_locations(None, InvitationInput),
            )
        ]


def _describe(opened: OpenedInvitation, *, is_signed_in: bool = False) -> InvitationReturn:
    return InvitationReturn(
        group_id=opened.group.id,
        group_name=opened.group.name,
        is_accepted=opened.is_accepted,
        is_signed_in=is_signed_in,
    )


_OPENAPI: Json = {
    "summary": "Open or accept an invitation",
    "description": "By the secret in its link, which is valid for 24 hours. Whoever has never"
    " signed in is signed in when they accept; others sign in by their own means. 404 for an"
    " invitation that is invalid, has expired, or whose membership has ended.",
    "security": [],
    "parameters": [OWN_HEADER],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": schema_ref(InvitationInput),
                "example": {"token": "15D938-5YhA1SiFIWY1Cg", "accept": True},
            }
        },
    },
    "responses": {
        "200": json_response("The invitation.", schema_ref(InvitationReturn)),
        **problem_responses(400, 403, 404, 408, 413, 415, 429, 431, 503),
    },
}

"""The page behind the link in an invitation: a person accepts a membership, and is signed in.

Opening the link changes nothing, because mail programs open links by themselves; the button does.
Only who accepts is signed in, so the link signs in once.
"""

from html import escape
from urllib.parse import parse_qsl

from longwire.clock import DAY
from longwire.delivery.invitations import ACCEPT_PATH
from longwire.errors import NotFound
from longwire.identity import groups, sessions, totp
from longwire.identity.sessions import NewSession, SessionRules
from longwire.identity.sign_in_links import PAGE_PATH
from longwire.model import Group, Membership, Origin, SignInMethod
from longwire.store.database import Database, Tx
from longwire.web.routing import FORM_BYTES_MAX, NO_TOKEN, PlainRoute, Request, Response
from longwire.web.session_cookies import get_user_agent, is_own_form, with_session

_POLICY = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
# Not no-referrer: with that, a form has no Origin to show whose it is.
_HEADERS = ((b"content-security-policy", _POLICY.encode()), (b"referrer-policy", b"same-origin"))
_TOKEN_CHARACTERS_MAX = 500
SIGNS_IN_DAYS = 14  # afterwards the link of an invitation accepts, and signs nobody in


class InvitationPage:
    """Shows an invitation, and accepts it."""

    def __init__(self, database: Database, rules: SessionRules, public_origin: str) -> None:
        self._database = database
        self._rules = rules
        self._public_origin = public_origin

    async def show(self, request: Request, body: bytes) -> Response:
        token = _parse_token(request.query_string)
        try:
            _, group = await self._database.read(lambda tx: groups.open_invitation(tx, token))
        except NotFound:
            return _page(404, groups.INVITATION_INVALID)
        button = (
            f'<form method="post"><input type="hidden" name="token" value="{escape(token)}">'
            "<button>Accept</button></form>"
        )
        return _page(200, f"You are invited to the group {_name(group)}.", button)

    async def accept(self, request: Request, body: bytes) -> Response:
        token = _parse_token(body)

        def find(tx: Tx) -> tuple[Group, bool]:
            user, group = groups.open_invitation(tx, token)
            return group, groups.is_invited(tx, user, [group.id])

        # Another site could sign somebody in as somebody else: it gets no session.
        signs_in = request.is_confidential and is_own_form(request, self._public_origin)

        def work(tx: Tx) -> NewSession | None:
            tx.origin = Origin(request.address, request.request_id)
            accepted = groups.accept_invitation(tx, token)
            return self._sign_in(tx, request, accepted) if accepted and signs_in else None

        try:
            group, is_pending = await self._database.read(find)
            # Needs no token, so it writes, and invalidates what is cached, only for an acceptance.
            new = await self._database.write(work) if is_pending else None
        except NotFound:
            return _page(404, groups.INVITATION_INVALID)
        text = f"You have accepted the invitation to the group {_name(group)}."
        if new is None:
            return _page(200, text, f'<p><a href="{PAGE_PATH[1:]}">Sign in</a></p>')
        link = '<p>You are signed in. <a href="console/">Go on</a></p>'
        return with_session(_page(200, text, link), request, new)

    def _sign_in(self, tx: Tx, request: Request, accepted: Membership) -> NewSession | None:
        """A session for who has just accepted; neither by an old mail, nor without a code."""
        is_old = tx.now - accepted.created_at > SIGNS_IN_DAYS * DAY
        if is_old or totp.is_enabled(tx, accepted.user_id):
            return None
        return sessions.create(
            tx,
            accepted.user_id,
            SignInMethod.LINK,
            address=request.address,
            user_agent=get_user_agent(request),
            rules=self._rules,
        )


def _parse_token(raw: bytes) -> str:
    """The token in a query or a form; empty, which is invalid, if there is none."""
    pairs = dict(parse_qsl(raw[:_TOKEN_CHARACTERS_MAX].decode("ascii", "replace")))
    return pairs.get("token", "")


def _name(group: Group) -> str:
    return f"“{group.name}”" if group.name else group.id


def _page(status: int, text: str, rest: str = "") -> Response:
    html = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Invitation</title>'
        f"<main><h1>Invitation</h1><p>{escape(text)}</p>{rest}</main></html>"
    )
    return Response(status, html.encode(), "text/html; charset=utf-8", _HEADERS)


def routes(database: Database, rules: SessionRules, public_origin: str) -> list[PlainRoute]:
    page = InvitationPage(database, rules, public_origin)
    return [
        PlainRoute(
            method=method,
            path=ACCEPT_PATH,
            handler=handler,
            body_bytes_max=FORM_BYTES_MAX,
            permission=NO_TOKEN,
            object_rule="whoever has the link of an invitation",
        )
        for method, handler in (("GET", page.show), ("POST", page.accept))
    ]

"""The page behind the link in an invitation: a person accepts a membership, without a token.

Opening the link changes nothing, because mail programs open links by themselves; the button does.
"""

from html import escape
from urllib.parse import parse_qsl

from longwire.delivery.invitations import ACCEPT_PATH
from longwire.errors import NotFound
from longwire.identity import groups
from longwire.model import Group, Origin
from longwire.store.database import Database, Tx
from longwire.web.routing import FORM_BYTES_MAX, NO_TOKEN, PlainRoute, Request, Response

_POLICY = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_HEADERS = ((b"content-security-policy", _POLICY.encode()), (b"referrer-policy", b"no-referrer"))
_TOKEN_CHARACTERS_MAX = 500


class InvitationPage:
    """Shows an invitation, and accepts it."""

    def __init__(self, database: Database) -> None:
        self._database = database

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

        def work(tx: Tx) -> Group:
            tx.origin = Origin(request.address, request.request_id)
            return groups.accept_invitation(tx, token)

        try:
            group, is_pending = await self._database.read(find)
            # Needs no token, so it writes, and invalidates what is cached, only for an acceptance.
            if is_pending:
                await self._database.write(work)
        except NotFound:
            return _page(404, groups.INVITATION_INVALID)
        return _page(200, f"You have accepted the invitation to the group {_name(group)}.")


def _parse_token(raw: bytes) -> str:
    """The token in a query or a form; empty, which is invalid, if there is none."""
    pairs = dict(parse_qsl(raw[:_TOKEN_CHARACTERS_MAX].decode("ascii", "replace")))
    return pairs.get("token", "")


def _name(group: Group) -> str:
    return f"“{group.name}”" if group.name else group.id


def _page(status: int, text: str, form: str = "") -> Response:
    html = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Invitation</title>'
        f"<main><h1>Invitation</h1><p>{escape(text)}</p>{form}</main></html>"
    )
    return Response(status, html.encode(), "text/html; charset=utf-8", _HEADERS)


def routes(database: Database) -> list[PlainRoute]:
    page = InvitationPage(database)
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

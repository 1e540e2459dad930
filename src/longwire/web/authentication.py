"""How the request handler learns who makes a request; whom to believe is not decided here."""

from typing import Protocol

from longwire.errors import NotAuthenticated
from longwire.model import Actor
from longwire.web.routing import Caller, Request, bearer_token


class Authenticator(Protocol):
    """Authenticates requests by their token or cookie."""

    public_origin: str  # of our own pages

    async def authenticate(self, request: Request, *, takes_cookie: bool = True) -> Caller:
        """The caller of a request, on whose account it goes from now on."""

    async def reauthenticate(self, request: Request) -> Actor:
        """The caller as they are now."""

    def get_unlimited_actor(self, token: str) -> Actor | None:
        """Who acts with an access token, if that is cached, and their requests are not counted."""


def get_token(request: Request) -> str:
    value = bearer_token(request)
    if not value or b" " in value or not value.isascii():
        raise NotAuthenticated
    return value.decode()

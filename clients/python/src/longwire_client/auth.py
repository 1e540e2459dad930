"""Where access tokens come from."""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from longwire_client.calls import Call

# A token is renewed so long before it expires, so that none expires on its way.
_MARGIN_S = 30.0
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """A client id and its secret, for which tokens are issued."""

    client_id: str
    client_secret: str = field(repr=False)

    def authorization(self) -> str:
        pair = f"{self.client_id}:{self.client_secret}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"


@dataclass(frozen=True, slots=True)
class TokenFunction:
    """A function that gives the current token: of a file, a vault, or another program.

    It is called once, and again when the service has refused what it gave.
    """

    get: Callable[[], str]


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The session of a person who has signed in. It cannot store records, and ends some day."""

    cookie: str = field(repr=False)  # name=value

    def get(self) -> str:
        return self.cookie


TokenSource = ClientCredentials | TokenFunction | SessionCookie


def authorization_headers(source: TokenSource, token: str) -> dict[str, str]:
    """The headers that say who we are."""
    if isinstance(source, SessionCookie):
        return {"Cookie": token, "X-Longwire-Console": "1"}
    return {"Authorization": f"Bearer {token}"}


class IssuedToken(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float


TOKEN_CALL: Call[IssuedToken] = Call(
    "POST",
    "/oauth2/token",
    IssuedToken,
    query={"grant_type": "client_credentials"},
    body=b"",
    media_type=_FORM,
    is_repeatable=True,
)


class TokenCache:
    """The current token, and whether it may still be used."""

    def __init__(self) -> None:
        self._token: str | None = None
        self._expires_at = 0.0

    def get(self) -> str | None:
        return self._token if time.monotonic() < self._expires_at else None

    def set(self, token: str, lifetime_s: float = float("inf")) -> str:
        self._token = token
        self._expires_at = time.monotonic() + lifetime_s - min(_MARGIN_S, lifetime_s / 10)
        return token

    def discard(self, token: str) -> None:
        """Evict a token that was refused, unless another thread has replaced it."""
        if self._token == token:
            self._expires_at = 0.0

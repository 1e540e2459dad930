"""Signing in as a person, as a browser does.

cookie = sign_in(url, link="lwl_…")
client = Client(url, session=cookie)
"""

from typing import Any

import httpx

from longwire_client._version import USER_AGENT
from longwire_client.errors import (
    ConnectionFailed,
    InvalidResponse,
    ResponseLost,
    error_of_response,
)
from longwire_client.options import check_url

_HEADERS = {"User-Agent": USER_AGENT, "X-Longwire-Console": "1"}
_TIMEOUT_S = 60.0


def sign_in(
    url: str,
    *,
    link: str | None = None,
    email: str | None = None,
    password: str | None = None,
    totp: str | None = None,
) -> str:
    """The cookie of a new session (`name=value`), for a link, or for an address and a password.

    NotAuthenticated with the code `totp_required` asks for the code of the authenticator app.
    """
    given = {"link": link, "email": email, "password": password, "totp": totp}
    body = {name: value for name, value in given.items() if value is not None}
    response = _send("POST", f"{url.rstrip('/')}/session", body)
    cookie = response.headers.get("set-cookie", "").partition(";")[0]
    if not cookie:
        raise InvalidResponse("POST /session: there is no cookie")
    return str(cookie)


def request_link(url: str, email: str) -> None:
    """Let the service mail a link to sign in with, if there is such a user."""
    _send("POST", f"{url.rstrip('/')}/session/link", {"email": email})


def sign_out(url: str, cookie: str) -> None:
    """End a session."""
    _send("DELETE", f"{url.rstrip('/')}/session", None, {"Cookie": cookie})


def _send(
    method: str, url: str, body: Any = None, headers: dict[str, str] | None = None
) -> httpx.Response:
    """Once: a code or a link is good for one attempt."""
    check_url(url)
    try:
        response = httpx.request(
            method, url, json=body, headers={**_HEADERS, **(headers or {})}, timeout=_TIMEOUT_S
        )
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ConnectionFailed(f"{url}: {error!r}") from error
    except httpx.TransportError as error:
        raise ResponseLost(f"{method} {url}: {error!r}") from error
    if response.status_code != 200:
        raise error_of_response(response.status_code, response.headers, response.content)
    return response

"""Cookies, and the proof that a request with one comes from our own pages.

Over HTTPS a cookie has the prefix `__Host-`, so that no other host and no plain HTTP can set it.
Plain HTTP, which signing in allows on the loopback interface only, has a cookie of its own.
The prefix demands `Path=/`. So that two services below two paths of one host do not sign each
other's people out, the path of the public URL is in the name, as a hash.

Against cross-site request forgery there are three checks, each of which suffices: a header that
other sites cannot send, `Origin`, and `Sec-Fetch-Site`.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from longwire.errors import BadInput, CrossSite
from longwire.web.routing import Cookie, Request, Response

SECURE_PREFIX = b"__Host-"
OWN_HEADER = b"x-longwire-console"

_SAFE_METHODS = ("GET", "HEAD")
_SUFFIX_CHARACTERS = 8


def get_cookie(request: Request, name: bytes) -> bytes | None:
    """The value of a cookie of ours; None if there is none, or more than one."""
    if b"cookie" in request.repeated_headers:
        raise BadInput("The header Cookie is given more than once.")
    header = request.headers.get(b"cookie")
    if header is None:
        return None
    pairs = (part.strip().partition(b"=") for part in header.split(b";"))
    found = [value for each, _, value in pairs if each == _full_name(request, name)]
    # Two of them: one was set by somebody else, and nobody can tell which.
    return found[0] if len(found) == 1 else None


def with_cookies(response: Response, request: Request, cookies: Iterable[Cookie]) -> Response:
    """The response that sets some cookies."""
    secure = b"; Secure" if request.is_secure else b""
    headers = list(response.headers)
    for each in cookies:
        name = _full_name(request, each.name)
        cookie = b"%s=%s; Max-Age=%d; Path=/; HttpOnly; SameSite=%s%s" % (
            name,
            each.value,
            each.age_s,
            each.same_site,
            secure,
        )
        headers.append((b"set-cookie", cookie))
    return replace(response, headers=tuple(headers))


def _full_name(request: Request, name: bytes) -> bytes:
    name += _suffix(request.base_path)
    return SECURE_PREFIX + name if request.is_secure else name


@cache
def _suffix(base_path: str) -> bytes:
    if not base_path:
        return b""
    digest = hashlib.sha256(base_path.encode()).hexdigest()
    return b"-" + digest[:_SUFFIX_CHARACTERS].encode()


def get_user_agent(request: Request) -> str:
    """What the browser calls itself, as printable text."""
    agent = request.headers.get(b"user-agent", b"").decode("latin-1")
    return "".join(each for each in agent if each.isprintable())


def require_own_site(request: Request, public_origin: str) -> None:
    """Refuse a request that another site may have caused."""
    is_safe = request.method in _SAFE_METHODS
    if not (
        (is_safe or request.headers.get(OWN_HEADER) == b"1")
        and _has_own_origin(request, public_origin)
        and _has_own_fetch_site(request, is_safe=is_safe)
    ):
        raise CrossSite


def _has_own_origin(request: Request, public_origin: str) -> bool:
    """Whether `Origin` is absent, the public one, or that which the browser has in its URL."""
    origin = request.headers.get(b"origin")
    if origin is None:
        return True
    scheme = b"https" if request.is_secure else b"http"
    own = {public_origin.encode(), scheme + b"://" + request.headers.get(b"host", b"")}
    return b"origin" not in request.repeated_headers and origin in own


def _has_own_fetch_site(request: Request, *, is_safe: bool) -> bool:
    """Whether `Sec-Fetch-Site` is absent, or says that no other site caused the request."""
    site = request.headers.get(b"sec-fetch-site", b"same-origin")
    return site == b"same-origin" or (is_safe and site == b"none")

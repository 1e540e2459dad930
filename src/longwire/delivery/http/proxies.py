"""Proxies for outgoing connections: where one is, and how to log in there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

DEFAULT_PORTS = {"http": 3128, "socks5": 1080, "socks5h": 1080}
SOCKS_TEXT_BYTES_MAX = 255  # of a name, a user or a password; each has one byte for its length

_INVALID = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and how to log in there."""

    scheme: str
    host: str
    port: int
    username: str = ""
    password: str = field(default="", repr=False)
    is_operators: bool = False  # then it may be in a private network


def parse_proxy(url: str, *, is_operators: bool = False) -> Proxy:
    """A proxy by its URL, which may have a user and a password; ValueError if it is none."""
    if _INVALID.search(url) or not url.isascii():
        raise ValueError("must not contain spaces, backslashes, control or non-ASCII characters")
    try:
        parsed = urlsplit(url)
        host, port = parsed.hostname, parsed.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parsed.scheme not in DEFAULT_PORTS or not host:
        raise ValueError(f"must be {'://, '.join(DEFAULT_PORTS)}:// with a host and a port")
    if parsed.path not in ("", "/") or "?" in url or "#" in url:
        raise ValueError("must have nothing behind the host and the port")
    if port == 0:
        raise ValueError("must not have the port 0")
    username, password = unquote(parsed.username or ""), unquote(parsed.password or "")
    for problem in list_login_problems(parsed.scheme, username, password):
        raise ValueError(problem)
    port = port or DEFAULT_PORTS[parsed.scheme]
    return Proxy(parsed.scheme, host, port, username, password, is_operators)


def list_login_problems(scheme: str, username: str, password: str) -> Iterator[str]:
    if bool(username) != bool(password):
        yield "a login needs a user name and a password"
    elif scheme == "http" and ":" in username:
        yield "the user name must not contain a colon"
    elif scheme != "http":
        longest = max(len(username.encode()), len(password.encode()))
        if longest > SOCKS_TEXT_BYTES_MAX:
            yield f"a user name or a password has {SOCKS_TEXT_BYTES_MAX} bytes at most"

"""From an ASGI scope to a request: its path, who really sends it, and the id it is logged under."""

import itertools
import re
import secrets
from collections import Counter
from collections.abc import Container, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address

from longwire.web.asgi import Scope
from longwire.web.routing import Request

ProxyNetwork = IPv4Network | IPv6Network

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,64}")


class RequestParser:
    """Knows the paths of the routes, that of the public URL, and which proxies may be believed."""

    def __init__(
        self, paths: Container[str], base_path: str, trusted_proxies: Sequence[ProxyNetwork]
    ) -> None:
        self._paths = paths
        self._base_path = base_path
        self._trusted_proxies = trusted_proxies
        # The prefix is unique among processes, the counter within this one.
        process = secrets.token_hex(5)
        self._request_ids = (f"{process}{number:07x}" for number in itertools.count())

    def parse(self, scope: Scope) -> Request:
        pairs = scope["headers"]
        headers = dict(pairs)
        repeated: frozenset[bytes] = frozenset()
        if len(headers) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated = frozenset(name for name, count in counts.items() if count > 1)
        client = scope.get("client")
        # A socket for both families writes IPv4 callers as ::ffff:127.0.0.1.
        address = client[0].removeprefix("::ffff:") if client else "-"
        is_secure = scope["scheme"] == "https"
        is_forwarded = b"x-forwarded-proto" in headers or b"x-forwarded-for" in headers
        if is_forwarded and self._is_trusted(address):
            is_secure = headers.get(b"x-forwarded-proto", b"").strip().lower() == b"https"
            address = self._forwarded_for(headers.get(b"x-forwarded-for", b""), address)
        given_id = headers.get(b"x-request-id")
        request_id = (
            given_id.decode()
            if given_id is not None and _REQUEST_ID.fullmatch(given_id)
            else next(self._request_ids)
        )
        return Request(
            scope["method"],
            self._without_base_path(scope["path"]),
            scope["query_string"],
            headers,
            repeated,
            address,
            is_secure,
            request_id,
            self._base_path,
        )

    def _without_base_path(self, path: str) -> str:
        """The path as routes have it; a proxy may remove that of the public URL or leave it."""
        base_path = self._base_path
        if base_path and path not in self._paths and f"{path}/".startswith(f"{base_path}/"):
            return path.removeprefix(base_path) or "/"
        return path

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._trusted_proxies)

    def _forwarded_for(self, header: bytes, address: str) -> str:
        """The last hop that is not a trusted proxy; earlier ones can be forged."""
        for hop in reversed([part.strip() for part in header.decode("latin-1").split(",")]):
            if hop:
                address = _without_port(hop)
            if not self._is_trusted(address):
                break
        return address


def _without_port(hop: str) -> str:
    """Some proxies write the port of the caller as well: `192.0.2.7:4711`, `[2001:db8::7]:4711`."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop

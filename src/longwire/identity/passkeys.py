"""The passkeys of people, and the site that they are registered for.

How one is registered and used is in `passkey_ceremonies`.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from longwire.dataclass import dataclass

_LOCALHOST = "localhost"


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """The domain that passkeys are registered for, and the origin of its pages."""

    id: str
    origin: str  # empty for every port of this machine

    def is_own_origin(self, origin: str) -> bool:
        if self.origin:
            return origin == self.origin
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.hostname == self.id


def find_relying_party(base_url: str) -> RelyingParty | None:
    """The relying party of a service with this URL; None if no browser would have passkeys there.

    They need HTTPS and a host name. On this machine they work without, by the name localhost.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    try:
        is_local, is_name = ip_address(host).is_loopback, False
    except ValueError:
        is_local, is_name = host == _LOCALHOST, True
    if is_local:
        return RelyingParty(_LOCALHOST, "")
    if parts.scheme != "https" or not is_name or not host:
        return None
    port = f":{parts.port}" if parts.port not in (None, 443) else ""
    return RelyingParty(host, f"https://{host}{port}")

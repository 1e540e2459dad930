"""How to reach a service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ssl import SSLContext

from longwire_client.auth import TokenSource
from longwire_client.retries import Retries


@dataclass(frozen=True, slots=True)
class Options:
    """What a client was made with; its writers are made with the same."""

    url: str
    source: TokenSource
    auth_url: str
    retries: Retries = field(default_factory=Retries)
    timeout_s: float = 60.0
    verify: SSLContext | bool = True
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_url(self.url)
        check_url(self.auth_url)


def check_url(url: str) -> None:
    """Raise ValueError for `localhost:8080`, which would look like an unreachable service."""
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"a URL begins with http:// or https://, not {url!r}")

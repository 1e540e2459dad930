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

"""The HTTP client, loaded for the first sender that needs it."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from longwire.delivery.destinations.base import Refused, Unreachable
from longwire.delivery.http.egress import Egress

if TYPE_CHECKING:
    import aiohttp


class HttpClient(Protocol):
    """What senders use of `http_client`."""

    def create_guarded_session(
        self, egress: Egress, headers: Mapping[str, str]
    ) -> "aiohttp.ClientSession": ...

    def outcome_of_http_error(self, error: Exception) -> Refused | Unreachable: ...


def load_http_client() -> HttpClient:
    """Senders call this when they are built, which is not on the event loop."""
    # Imported on demand: its library is large, and not every service sends anything.
    client: Any = importlib.import_module("longwire.delivery.http.http_client")
    loaded: HttpClient = client
    return loaded

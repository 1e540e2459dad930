"""The client of longwire: groups, devices, records, connectors and notifications.

    from longwire_client import Client

    with Client("https://longwire.example.com", client_id="…", client_secret="…") as client:
        for record in client.devices.data("dev_…"):
            print(record.timestamp, record.data)

`AsyncClient` has the same for asyncio. Values are in `longwire_client.models`, exceptions in
`longwire_client.errors`, the events of a live stream in `longwire_client.events`.
"""

from longwire_client._async.client import AsyncClient
from longwire_client._bases import Model
from longwire_client._sync.client import Client
from longwire_client._version import __version__
from longwire_client.errors import ApiError, Fault, IgnoredMembers, LongwireError
from longwire_client.retries import Retries
from longwire_client.spool import Spool
from longwire_client.webhooks import Webhook, WebhookRefused
from longwire_client.writer import AsyncWriter, Receipt, Writer

__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncWriter",
    "Client",
    "Fault",
    "IgnoredMembers",
    "LongwireError",
    "Model",
    "Receipt",
    "Retries",
    "Spool",
    "Webhook",
    "WebhookRefused",
    "Writer",
    "__version__",
]

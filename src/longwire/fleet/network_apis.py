"""APIs of networks, and what the channels to them share."""

from collections.abc import Sequence

import msgspec

from longwire.delivery.channel_handlers import (
    AttemptResult,
)
from longwire.delivery.destinations.base import (
    OutboundMessage,
    Unreachable,
)
from longwire.ids import format_delivery_id
from longwire.store import deliveries as store_deliveries
from longwire.store.database import Tx
from longwire.store.deliveries import ClaimedDelivery

REPLY_CHARACTERS_MAX = 200
DATABASE_UNAVAILABLE = Unreachable("the database is unavailable")


class NetworkApi(msgspec.Struct, frozen=True):
    """The API of a network, as the operator has configured it; without a URL there is none."""

    url: str = ""
    login: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"NetworkApi({self.url})"

    def url_for(self, path: str) -> str:
        return self.url.rstrip("/") + path


class NetworkApis(msgspec.Struct, frozen=True):
    vendor: NetworkApi = NetworkApi()
    chirpstack: NetworkApi = NetworkApi()

    @property
    def configured(self) -> frozenset[str]:
        known = {"vendor": self.vendor, "chirpstack": self.chirpstack}
        return frozenset(name for name, api in known.items() if api.url)


def build_message(claimed: ClaimedDelivery) -> OutboundMessage:
    """Only ids: the content is loaded right before each attempt."""
    return OutboundMessage(
        id=format_delivery_id(claimed.channel_number, claimed.seq),
        kind="",
        group_id="",
        device_id=claimed.device_id,
        device_type="",
        body=claimed.body.encode(),
        content_type="",
    )


def sort_results(results: Sequence[AttemptResult]) -> list[AttemptResult]:
    """In the order of requests, so that new devices are locked in the order of their numbers."""
    return sorted(results, key=lambda result: result.claimed.seq)


def get_device_id(tx: Tx, claimed: ClaimedDelivery) -> str | None:
    """The device of a delivery, also if the process that tried it died."""
    if claimed.device_id:
        return claimed.device_id
    delivery = store_deliveries.get(tx, claimed.channel_number, claimed.seq)
    return delivery.device_id if delivery else None


def sanitize_reply(reply: str | None, hidden: Sequence[str]) -> str:
    """Text of a network that may be shown: one line, printable, truncated, without secrets."""
    text = " ".join((reply or "").split())
    is_secret = any(secret and secret.casefold() in text.casefold() for secret in hidden)
    return "" if is_secret or not text.isprintable() else text[:REPLY_CHARACTERS_MAX]

"""Downlinks in the messages of networks: fetched by a network, or reported on by it."""

import asyncio
import re

from longwire.clock import Moment
from longwire.delivery.channels import DispatchContext
from longwire.delivery.http.egress import Egress
from longwire.fleet import downlink_links, network_downlinks
from longwire.fleet.network_downlinks import MatchState, UplinkInfo
from longwire.networks.base import ParsedUplink
from longwire.store.database import Database
from longwire.store.fleet import downlinks as store
from longwire.web.routing import Request

# The headers by which The Things Stack sends where to push downlinks, and with which key.
PUSH_URL_HEADER = b"x-downlink-push"
PUSH_KEY_HEADER = b"x-downlink-apikey"
URL_CHARACTERS_MAX = 2_048
KEY = re.compile(r"[\x21-\x7e]{1,4096}")
# An update may arrive before the response that carries the network's id of the downlink.
MATCH_RETRY_S = 0.2
MATCH_RETRIES_MAX = 10


class DownlinkService:
    """Hands out downlinks to networks, and applies their updates."""

    def __init__(self, database: Database, dispatch: DispatchContext, egress: Egress) -> None:
        self._database = database
        self._dispatch = dispatch
        self._egress = egress

    async def fetch_payload(
        self, uplink: ParsedUplink, device_id: str, sent_at: Moment
    ) -> str | None:
        """The payload that answers an uplink; it counts as sent from here on."""
        reference = network_downlinks.uplink_reference(sent_at, uplink.sequence)
        if not await self._database.read(
            lambda tx: store.has_queued_or_answered(tx, device_id, reference)
        ):
            return None
        return await self._database.write(
            lambda tx: network_downlinks.fetch_payload(tx, self._dispatch, device_id, reference)
        )

    async def apply_update(
        self, network: str, uplink: ParsedUplink, device_id: str, sent_at: Moment
    ) -> None:
        """Apply the downlink update of a message, if it has one for a downlink of ours."""
        update = uplink.downlink
        if update is None:
            return
        for _ in range(MATCH_RETRIES_MAX):
            match = await self._database.read(
                lambda tx: network_downlinks.match_update(tx, network, device_id, update, sent_at)
            )
            if match is not MatchState.PENDING:
                break
            await asyncio.sleep(MATCH_RETRY_S)
        if match is MatchState.MATCHED:
            info = UplinkInfo(sent_at, uplink.sequence)
            await self._database.write(
                lambda tx: network_downlinks.apply_update(
                    tx, self._dispatch, network, device_id, update, info
                )
            )

    async def save_push_url(self, request: Request, device_id: str) -> None:
        """Save where to push downlinks of a device, if the network sends a new URL or key."""
        url = request.headers.get(PUSH_URL_HEADER, b"").decode("latin-1")
        key = request.headers.get(PUSH_KEY_HEADER, b"").decode("latin-1")
        if not KEY.fullmatch(key) or not 0 < len(url) <= URL_CHARACTERS_MAX:
            return
        if not downlink_links.is_link_allowed(url, self._egress):
            return  # the uplink is stored all the same; queueing a downlink is going to fail
        if await self._database.read(
            lambda tx: downlink_links.needs_link_update(tx, device_id, url, key)
        ):
            await self._database.write(lambda tx: downlink_links.save_link(tx, device_id, url, key))

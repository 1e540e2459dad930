"""The channel of downlinks: sends them to ChirpStack and The Things Stack.

The queue has only ids. The downlink is loaded right before each attempt, so that a cancelled or
expired one, or one of a deleted device, is not sent, and a key is unsealed only for the request.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec

from longwire.clock import Moment
from longwire.delivery import api_client
from longwire.delivery.api_client import (
    RETRYABLE_STATUSES_AND_AUTH,
    RETRYABLE_WEBHOOK_STATUSES,
    ApiClient,
    ApiResponse,
)
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    BuildMessage,
)
from longwire.delivery.channels import DispatchContext
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    OutboundBatch,
    Outcome,
    Refused,
    Sender,
    Unreachable,
)
from longwire.delivery.egress import UNRESTRICTED, Egress
from longwire.errors import LongwireError
from longwire.fleet import downlink_links, downlink_states
from longwire.fleet.network_apis import (
    DATABASE_UNAVAILABLE,
    NetworkApi,
    build_message,
    get_device_id,
    sanitize_reply,
    sort_results,
)
from longwire.model import Channel
from longwire.networks import chirpstack, ttn
from longwire.networks.base import DownlinkFrame
from longwire.store import downlinks as store_downlinks
from longwire.store.database import Database, Tx

# Shorter than the engine's timeout, which it takes for an outage of the channel.
ATTEMPT_TIMEOUT_S = 12.0


class DownlinkHandler:
    """Sends downlinks to the networks of their devices."""

    def __init__(self, database: Database, dispatch: DispatchContext, api: NetworkApi) -> None:
        self._database = database
        self._dispatch = dispatch
        self._api = api

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        route: _DownlinkRoute
        if channel.type == downlink_states.CHIRPSTACK:
            route = _ChirpStack(self._api)
        else:
            route = _TheThingsStack(self._database, egress)
        return build_message, _DownlinkSender(self._database, route)

    def on_results(
        self, tx: Tx, writer: int, channel: Channel, results: Sequence[AttemptResult]
    ) -> None:
        for each in sort_results(results):
            device_id = get_device_id(tx, each.claimed)
            if device_id is None:
                continue
            seq = each.claimed.seq
            if each.outcome is AttemptOutcome.DELIVERED:
                attempts = 1 if each.is_duplicate else each.claimed.attempts
                downlink_states.mark_sent(tx, self._dispatch, device_id, seq, each.answer, attempts)
            elif each.outcome is AttemptOutcome.FAILED:
                downlink_states.mark_failed(tx, self._dispatch, device_id, seq, each.reason)
            else:
                downlink_states.record_retry(tx, device_id, seq, each.reason)


class PendingDownlinkRequest(msgspec.Struct, frozen=True):
    """A downlink to send now."""

    device_id: str
    downlink: DownlinkFrame
    is_repeated: bool  # an earlier attempt may have arrived
    url: str
    key: str


class _DownlinkRoute(Protocol):
    """How downlinks reach one network."""

    is_shared: bool  # one endpoint for all devices, so that its outage concerns all of them

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome: ...

    async def close(self) -> None: ...


class _DownlinkSender:
    batch_max = 1

    def __init__(self, database: Database, route: _DownlinkRoute) -> None:
        self._database = database
        self._route = route
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def send(self, batch: OutboundBatch) -> Outcome:
        """Send a downlink; one at a time for each device, in order."""
        lock = self._locks.setdefault(batch.single.device_id, asyncio.Lock())
        outcome: Outcome = Unreachable("timed out")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ATTEMPT_TIMEOUT_S), lock:
                outcome = await self._send_pending(batch)
        if isinstance(outcome, Unreachable) and not self._route.is_shared:
            # Other devices may have other endpoints, so the channel must not back off.
            return Refused(outcome.reason, is_final=outcome.is_final)
        return outcome

    async def _send_pending(self, batch: OutboundBatch) -> Outcome:
        message = batch.single
        try:
            found = await self._database.read(
                lambda tx: _get_pending_request(tx, message.device_id, message.body.decode())
            )
        except LongwireError:
            return DATABASE_UNAVAILABLE
        if isinstance(found, PendingDownlinkRequest):
            return await self._route.push(found, batch.at)
        return found

    async def close(self) -> None:
        await self._route.close()


def _get_pending_request(
    tx: Tx, device_id: str, downlink_id: str
) -> PendingDownlinkRequest | Outcome:
    """What is to be sent now, or the outcome if nothing is."""
    found = store_downlinks.get_pending(tx, device_id, downlink_id)
    if found is None:
        return Refused("the device was deleted", is_final=True)
    asked = found.downlink
    if asked.state in ("sent", "acknowledged"):
        return Delivered()  # the network has reported it already
    if asked.state != "queued":
        return Refused(f"it is {asked.state}", is_final=True)
    if asked.expires_at <= tx.now:
        return Refused("it has expired", is_final=True)
    if not found.is_at_home:
        return Refused("the device is in another group now", is_final=True)
    downlink = DownlinkFrame(
        id=asked.id,
        original_id=found.original_id,
        payload=bytes.fromhex(asked.payload),
        port=asked.port or 1,
        is_confirmed=asked.is_confirmed,
        expires_at=asked.expires_at,
    )
    key = ""
    if found.sealed_key is not None:
        key = downlink_links.unseal_link_key(tx, device_id, found.sealed_key)
    # The reason of the last attempt is stored there, also if its process died.
    is_repeated = asked.detail is not None
    return PendingDownlinkRequest(device_id, downlink, is_repeated, found.url or "", key)


class _ChirpStack:
    """Queues downlinks by the API that the operator has configured."""

    is_shared = True

    def __init__(self, api: NetworkApi) -> None:
        self._api = api
        self._client = ApiClient(UNRESTRICTED)

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome:
        if not self._api.url:
            return Refused(
                "the service has no ChirpStack API configured any more",
                code=FailureCode.NOT_CONFIGURED,
            )
        path, body = chirpstack.queue_item(request.downlink)
        url, headers = self._api.url_for(path), chirpstack.auth_headers(self._api.secret)
        if request.is_repeated:
            queue = await self._client.request("GET", url, headers)
            if not isinstance(queue, ApiResponse):
                return queue
            name = chirpstack.find_in_queue(queue.body, request.downlink)
            if name is not None:
                return Delivered(sanitize_reply(name, ()), is_duplicate=True)
        response = await self._client.request("POST", url, headers, body)
        if not isinstance(response, ApiResponse):
            return response
        # The network's id of the downlink; nothing else of the response is kept.
        name = sanitize_reply(response.get_string("id"), ()) if response.is_success else ""
        return api_client.outcome_of_response(
            response, at, retryable=RETRYABLE_STATUSES_AND_AUTH, detail=name
        )

    async def close(self) -> None:
        await self._client.close()


class _TheThingsStack:
    """Pushes downlinks to the URL that the network has sent."""

    is_shared = False

    def __init__(self, database: Database, egress: Egress) -> None:
        self._database = database
        self._egress = egress
        self._client = ApiClient(egress)

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome:
        if not request.url:
            return Refused("the network has not sent a downlink URL for the device")
        if not downlink_links.is_link_allowed(request.url, self._egress):
            return Refused(
                "the downlink URL that the network has sent is not allowed", is_final=True
            )
        response = await self._client.request(
            "POST", request.url, ttn.auth_headers(request.key), ttn.push_body(request.downlink)
        )
        if not isinstance(response, ApiResponse):
            return response
        if response.is_gone:
            # The webhook was deleted; a new one is going to send its own URL.
            with contextlib.suppress(LongwireError):
                await self._database.write(
                    lambda tx: downlink_links.delete_link(tx, request.device_id, request.url)
                )
        return api_client.outcome_of_response(response, at, retryable=RETRYABLE_WEBHOOK_STATUSES)

    async def close(self) -> None:
        await self._client.close()

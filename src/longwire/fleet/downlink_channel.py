"""The channel of downlinks: sends them to the APIs of networks, and to The Things Stack."""

import contextlib
from functools import partial

import msgspec
from msgspec.structs import replace

from longwire.clock import Moment
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    BuildMessage,
    SettledChannels,
)
from longwire.delivery.channels import DispatchContext
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    OutboundMessage,
    Outcome,
    Refused,
    Sender,
)
from longwire.delivery.http import api_client
from longwire.delivery.http.api_client import (
    RETRYABLE_STATUSES_AND_AUTH,
    RETRYABLE_WEBHOOK_STATUSES,
    ApiClient,
    ApiResponse,
)
from longwire.delivery.http.egress import Egress
from longwire.errors import LongwireError
from longwire.fleet import downlink_grants, downlink_links, downlink_states
from longwire.fleet.downlink_api_client import DownlinkApiClient
from longwire.fleet.downlink_apis import DOWNLINK_APIS, DownlinkApi
from longwire.fleet.downlink_states import StateChanges
from longwire.fleet.network_apis import (
    NetworkApi,
    NetworkApis,
    NetworkRoute,
    NetworkSender,
    build_message,
    results_by_device,
    sanitize_reply,
)
from longwire.model import Channel, Downlink
from longwire.networks import ttn
from longwire.networks.base import DownlinkFrame
from longwire.networks.lorawan import is_eui
from longwire.store.database import Database, Tx
from longwire.store.fleet import downlinks as store_downlinks
from longwire.store.fleet.reporting_devices import ReportingDevice


class DownlinkHandler:
    """Sends downlinks to the networks of their devices."""

    def __init__(self, database: Database, dispatch: DispatchContext, apis: NetworkApis) -> None:
        self._database = database
        self._dispatch = dispatch
        self._apis = apis

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        network = channel.type
        route: NetworkRoute[PendingDownlinkRequest]
        if network in DOWNLINK_APIS:
            api = self._apis.get(network, NetworkApi())
            route = _ApiRoute(DOWNLINK_APIS[network], api, egress)
        else:
            route = _WebhookRoute(self._database, egress)
        load = partial(_get_pending_request, network)
        return build_message, NetworkSender(self._database, load, route)

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        results = results_by_device(tx, [each for _, some in settled for each in some])
        found = downlink_states.lock_by_deliveries(
            tx, [(device_id, each.claimed.seq) for device_id, each in results]
        )
        changes = StateChanges(tx, self._dispatch)
        for _, each in results:
            if each.claimed.seq in found:
                _add_result(changes, *found[each.claimed.seq], each)
        changes.store()


def _add_result(
    changes: StateChanges, device: ReportingDevice, downlink: Downlink, result: AttemptResult
) -> None:
    if result.outcome is AttemptOutcome.DELIVERED:
        attempts = 1 if result.is_duplicate else result.claimed.attempts
        changes.mark_sent(device, downlink, result.answer, attempts)
    elif result.outcome is AttemptOutcome.FAILED:
        changes.mark_failed(device, downlink, result.reason)
    else:
        changes.record_retry(downlink, result.reason)


class PendingDownlinkRequest(msgspec.Struct, frozen=True):
    """A downlink to send now."""

    device_id: str
    downlink: DownlinkFrame
    is_repeated: bool  # an earlier attempt may have arrived
    url: str
    key: str


def _get_pending_request(
    network: str, tx: Tx, message: OutboundMessage
) -> PendingDownlinkRequest | Outcome:
    """What is to be sent now, or the outcome if nothing is."""
    found = store_downlinks.get_pending(tx, message.device_id, message.body.decode())
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
    if network in DOWNLINK_APIS:
        if not downlink_grants.is_allowed(tx, asked.group_id, network):
            return Refused("the operator does not allow it any more", is_final=True)
        if not is_eui(found.original_id):
            return Refused("the original id of the device is not an EUI", is_final=True)
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
        key = downlink_links.unseal_link_key(tx, message.device_id, found.sealed_key)
    # The reason of the last attempt is stored there, also if its process died.
    is_repeated = asked.detail is not None
    return PendingDownlinkRequest(message.device_id, downlink, is_repeated, found.url or "", key)


class _ApiRoute:
    """Queues downlinks by the API that the operator has configured."""

    is_shared = True

    def __init__(self, network: DownlinkApi, api: NetworkApi, egress: Egress) -> None:
        self._network = network
        self._api = api
        self._client = DownlinkApiClient(network, api, egress)

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome:
        if not self._api.url:
            return Refused(
                f"the service has no {self._network.title} API configured any more",
                code=FailureCode.NOT_CONFIGURED,
            )
        downlink, api = request.downlink, self._api
        sent = self._network.push_request(downlink, api.login, api.secret, at)
        if request.is_repeated and self._network.find_in_queue is not None:
            queue = await self._client.request("GET", replace(sent, body=None))
            if not isinstance(queue, ApiResponse):
                return queue
            name = self._network.find_in_queue(queue.body, downlink)
            if name is not None:
                return Delivered(sanitize_reply(name, ()), is_duplicate=True)
        response = await self._client.request("POST", sent)
        if not isinstance(response, ApiResponse):
            return response
        return self._outcome(response, downlink, at)

    def _outcome(self, response: ApiResponse, downlink: DownlinkFrame, at: Moment) -> Outcome:
        network_id = ""
        if response.is_success:
            reply = self._network.parse_reply(response.body, downlink)
            if reply.error is not None:
                shown = sanitize_reply(reply.error, (self._api.secret,))
                return Refused(f"rejected: {shown}" if shown else "rejected", is_final=True)
            network_id = sanitize_reply(reply.network_id, ())
        return api_client.outcome_of_response(
            response, at, retryable=RETRYABLE_STATUSES_AND_AUTH, detail=network_id
        )

    async def close(self) -> None:
        await self._client.close()


class _WebhookRoute:
    """Pushes downlinks to the URL that the webhooks of The Things Stack have sent."""

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

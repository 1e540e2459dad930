"""The channel of registrations: registers devices at the vendor's network.

The queue has only ids. The request is loaded right before each attempt, so that nothing is sent
for a deleted device, and the activation code is unsealed only for the request.
"""

from collections.abc import Sequence
from urllib.parse import quote

from longwire.clock import Moment
from longwire.delivery import api_client
from longwire.delivery.api_client import (
    RETRYABLE_VENDOR_STATUSES,
    ApiClient,
    ApiResponse,
)
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    BuildMessage,
)
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    OutboundBatch,
    Outcome,
    Refused,
    Sender,
)
from longwire.delivery.egress import UNRESTRICTED, Egress
from longwire.errors import LongwireError
from longwire.fleet import registrations
from longwire.fleet.network_apis import (
    DATABASE_UNAVAILABLE,
    NetworkApi,
    build_message,
    get_device_id,
    sanitize_reply,
    sort_results,
)
from longwire.model import Channel
from longwire.networks import vendor
from longwire.store.database import Database, Tx

REGISTERED = "the network has taken it"
ALREADY_REGISTERED = "the network knew the device already"
REGISTERED_ELSEWHERE = "the network knows the device already, and does not show it to this service"


class RegistrationHandler:
    """Registers new devices at the vendor's network."""

    def __init__(self, database: Database, api: NetworkApi) -> None:
        self._database = database
        self._api = api

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        return build_message, _RegistrationSender(self._database, self._api)

    def on_results(
        self, tx: Tx, writer: int, channel: Channel, results: Sequence[AttemptResult]
    ) -> None:
        for each in sort_results(results):
            device_id = get_device_id(tx, each.claimed)
            if device_id is None:
                continue
            if each.outcome is AttemptOutcome.DELIVERED:
                registrations.set_state(tx, device_id, "registered", each.answer or REGISTERED)
            elif each.outcome is AttemptOutcome.FAILED and each.code is FailureCode.NOT_CONFIGURED:
                registrations.suspend(tx, device_id)
            else:
                state = "failed" if each.outcome is AttemptOutcome.FAILED else "pending"
                registrations.set_state(tx, device_id, state, each.reason)


class _RegistrationSender:
    batch_max = 1

    def __init__(self, database: Database, api: NetworkApi) -> None:
        self._database = database
        self._api = api
        self._headers = vendor.auth_headers(api.login, api.secret)
        self._client = ApiClient(UNRESTRICTED)

    async def send(self, batch: OutboundBatch) -> Outcome:
        if not self._api.url:
            return Refused(registrations.NOT_CONFIGURED, code=FailureCode.NOT_CONFIGURED)
        device_id = batch.single.device_id
        try:
            request = await self._database.read(
                lambda tx: registrations.get_pending_request(tx, device_id)
            )
        except LongwireError:
            return DATABASE_UNAVAILABLE
        if not isinstance(request, registrations.PendingRegistrationRequest):
            return request
        url = self._api.url_for(vendor.DEVICES)
        response = await self._client.request("POST", url, self._headers, request.body)
        if isinstance(response, ApiResponse) and response.is_conflict:
            return await self._check_existing(request.id, batch.at)
        return self._outcome(response, batch.at, hidden=(request.pac, self._api.secret))

    async def _check_existing(self, device: str, at: Moment) -> Outcome:
        """The device exists there: registered by an earlier attempt, or by somebody else."""
        url = self._api.url_for(vendor.DEVICES + quote(device, safe=""))
        response = await self._client.request("GET", url, self._headers)
        if isinstance(response, ApiResponse):
            if response.is_success:
                return Delivered(ALREADY_REGISTERED)
            if response.is_missing_or_forbidden:
                return Refused(REGISTERED_ELSEWHERE, is_final=True)
        return self._outcome(response, at, hidden=(self._api.secret,))

    def _outcome(
        self, response: ApiResponse | Outcome, at: Moment, hidden: Sequence[str]
    ) -> Outcome:
        if not isinstance(response, ApiResponse):
            return response
        if response.is_success:
            return Delivered(REGISTERED)
        text = sanitize_reply(response.get_string("message"), hidden)
        return api_client.outcome_of_response(
            response, at, retryable=RETRYABLE_VENDOR_STATUSES, detail=text
        )

    async def close(self) -> None:
        await self._client.close()

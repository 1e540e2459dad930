"""The channel of registrations: registers devices at the vendor's network."""

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
    BuildMessage,
    SettledChannels,
)
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Sender,
)
from longwire.delivery.egress import UNRESTRICTED, Egress
from longwire.fleet import registrations
from longwire.fleet.network_apis import (
    NetworkApi,
    NetworkSender,
    build_message,
    results_by_device,
    sanitize_reply,
)
from longwire.fleet.registrations import PendingRegistrationRequest
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
        route = _RegistrationRoute(self._api)
        load = registrations.get_pending_request
        return build_message, NetworkSender(self._database, load, route)

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        results = [each for _, some in settled for each in some]
        for device_id, each in results_by_device(tx, results):
            if each.outcome is AttemptOutcome.DELIVERED:
                registrations.set_state(tx, device_id, "registered", each.answer or REGISTERED)
            elif each.outcome is AttemptOutcome.FAILED and each.code is FailureCode.NOT_CONFIGURED:
                registrations.suspend(tx, device_id)
            else:
                state = "failed" if each.outcome is AttemptOutcome.FAILED else "pending"
                registrations.set_state(tx, device_id, state, each.reason)


class _RegistrationRoute:
    """Registers devices by the API that the operator has configured."""

    is_shared = True

    def __init__(self, api: NetworkApi) -> None:
        self._api = api
        self._headers = vendor.auth_headers(api.login, api.secret)
        self._client = ApiClient(UNRESTRICTED)

    async def push(self, request: PendingRegistrationRequest, at: Moment) -> Outcome:
        if not self._api.url:
            return Refused(registrations.NOT_CONFIGURED, code=FailureCode.NOT_CONFIGURED)
        url = self._api.url_for(vendor.DEVICES)
        response = await self._client.request("POST", url, self._headers, request.body)
        if isinstance(response, ApiResponse) and response.is_conflict:
            return await self._check_existing(request.id, at)
        return self._outcome(response, at, hidden=(request.pac, self._api.secret))

    async def _check_existing(self, device: str, at: Moment) -> Outcome:
        """The device exists there: registered by an earlier attempt, or by somebody else."""
        if not vendor.is_device_id(device):
            return Refused(REGISTERED_ELSEWHERE, is_final=True)  # never a path of its own
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

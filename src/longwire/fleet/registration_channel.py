"""The channel of registrations: registers devices at the vendor's network."""

from collections.abc import Sequence
from urllib.parse import quote

from longwire.clock import Moment
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
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
from longwire.delivery.http import api_client
from longwire.delivery.http.api_client import (
    RETRYABLE_VENDOR_STATUSES,
    ApiClient,
    ApiResponse,
)
from longwire.delivery.http.egress import Egress
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
from longwire.store.fleet.registrations import Registration

REGISTERED = "the network has taken it"
ALREADY_REGISTERED = "the network knew the device already"
REGISTERED_ELSEWHERE = "the network knows the device already, and does not show it to this service"


class RegistrationHandler:
    """Registers new devices at the vendor's network."""

    def __init__(self, database: Database, api: NetworkApi) -> None:
        self._database = database
        self._api = api

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        route = _RegistrationRoute(self._api, egress)
        load = registrations.get_pending_request
        return build_message, NetworkSender(self._database, load, route)

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        results = results_by_device(tx, [each for _, some in settled for each in some])
        before = registrations.lock_many(tx, {device_id for device_id, _ in results})
        after = dict(before)
        for device_id, each in results:
            if device_id in after:
                after[device_id] = _with_result(after[device_id], each)
        registrations.save_changes(tx, before, after)


def _with_result(registration: Registration, result: AttemptResult) -> Registration:
    if result.outcome is AttemptOutcome.DELIVERED:
        return registrations.with_state(registration, "registered", result.answer or REGISTERED)
    if result.outcome is AttemptOutcome.RETRY_SCHEDULED:
        return registrations.with_state(registration, "pending", result.reason)
    if result.code is FailureCode.NOT_CONFIGURED:
        return registrations.suspended(registration)
    return registrations.with_state(registration, "failed", result.reason)


class _RegistrationRoute:
    """Registers devices by the API that the operator has configured."""

    is_shared = True

    def __init__(self, api: NetworkApi, egress: Egress) -> None:
        self._api = api
        self._headers = vendor.auth_headers(api.login, api.secret)
        self._client = ApiClient(egress.unrestricted)

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

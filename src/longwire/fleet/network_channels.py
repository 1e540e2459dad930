"""What the delivery engine does at networks: two purposes beside forwarding.

Nothing that is to be sent lies in the queue. Right before each try it is looked up, so that what
was taken back, is over, or belongs to a device that is gone is not sent, and a secret is open for
as long as the request takes.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote
from weakref import WeakValueDictionary

import msgspec

from longwire.clock import Moment
from longwire.delivery import api_client
from longwire.delivery.api_client import (
    RETRYABLE_STATUSES,
    RETRYABLE_STATUSES_AND_AUTH,
    ApiClient,
    ApiResponse,
)
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    BuildMessage,
    ChannelHandler,
)
from longwire.delivery.channels import DispatchContext
from longwire.delivery.destinations.base import (
    Delivered,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    Sender,
    Unreachable,
)
from longwire.delivery.egress import UNRESTRICTED, Egress
from longwire.errors import LongwireError
from longwire.fleet import downlinks, registrations
from longwire.ids import format_delivery_id
from longwire.model import Connector
from longwire.networks import chirpstack, ttn, vendor
from longwire.networks.base import DownlinkFrame
from longwire.store import deliveries as store_deliveries
from longwire.store import downlinks as store_downlinks
from longwire.store.database import Database, Tx
from longwire.store.deliveries import ClaimedDelivery

WORDS_CHARACTERS_MAX = 200
DATABASE_UNAVAILABLE = Unreachable("the database was away")
# Sooner than the engine, which takes whoever is late for a sign that nobody is there.
ATTEMPT_TIMEOUT_S = 12.0
# Before the name of a message that an earlier try had brought to its network.
FOUND = "found: "
LATER_THAN_WEBHOOKS = RETRYABLE_STATUSES_AND_AUTH | {404, 410}


class NetworkApi(msgspec.Struct, frozen=True):
    """The API of a network as the operator has named it; without a URL there is none."""

    url: str = ""
    login: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Remote({self.url})"

    def at(self, path: str) -> str:
        return self.url.rstrip("/") + path


class NetworkApis(msgspec.Struct, frozen=True):
    """All of them."""

    vendor: NetworkApi = NetworkApi()
    chirpstack: NetworkApi = NetworkApi()

    @property
    def named(self) -> frozenset[str]:
        known = {"vendor": self.vendor, "chirpstack": self.chirpstack}
        return frozenset(name for name, api in known.items() if api.url)


def network_handlers(
    database: Database, dispatch: DispatchContext, apis: NetworkApis
) -> dict[str, ChannelHandler]:
    return {
        downlinks.PURPOSE: DownlinkHandler(database, dispatch, apis.chirpstack),
        registrations.PURPOSE: RegistrationHandler(database, apis.vendor),
    }


def shape(claimed: ClaimedDelivery) -> OutboundMessage:
    """Whom and what it is about; the rest is looked up when it leaves."""
    return OutboundMessage(
        id=format_delivery_id(claimed.connector_number, claimed.seq),
        kind="",
        group_id="",
        device_id=claimed.device_id,
        device_type="",
        body=claimed.body.encode(),
        content_type="",
    )


def _in_order(endings: Sequence[AttemptResult]) -> list[AttemptResult]:
    """As they were asked for, so that many new devices are locked in the order of their numbers."""
    return sorted(endings, key=lambda ending: ending.claimed.seq)


def _device_of(tx: Tx, claimed: ClaimedDelivery) -> str | None:
    """The device that a delivery is about, also when whoever tried it is gone."""
    if claimed.device_id:
        return claimed.device_id
    delivery = store_deliveries.get(tx, claimed.connector_number, claimed.seq)
    return delivery.device_id if delivery else None


# --- messages to devices ---


class DownlinkHandler:
    """Takes messages to the networks of their devices."""

    def __init__(self, database: Database, dispatch: DispatchContext, api: NetworkApi) -> None:
        self._database = database
        self._dispatch = dispatch
        self._api = api

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[BuildMessage, Sender]:
        route: _DownlinkRoute
        if connector.type == downlinks.CHIRPSTACK:
            route = _ChirpStack(self._api)
        else:
            route = _TheThingsStack(self._database, egress)
        return shape, _DownlinkSender(self._database, route)

    def on_results(
        self, tx: Tx, writer: int, connector: Connector, endings: Sequence[AttemptResult]
    ) -> None:
        for each in _in_order(endings):
            device_id = _device_of(tx, each.claimed)
            if device_id is None:
                continue
            seq = each.claimed.seq
            if each.outcome is AttemptOutcome.DELIVERED:
                name = each.answer.removeprefix(FOUND)
                # One that was found there has not been sent again.
                tries = 1 if each.answer.startswith(FOUND) else each.claimed.attempts
                downlinks.mark_sent(tx, self._dispatch, device_id, seq, name, tries)
            elif each.outcome is AttemptOutcome.FAILED:
                downlinks.mark_failed(tx, self._dispatch, device_id, seq, each.reason)
            else:
                downlinks.record_retry(tx, device_id, seq, each.reason)


class PendingDownlinkRequest(msgspec.Struct, frozen=True):
    device_id: str
    downlink: DownlinkFrame
    is_repeated: bool  # an earlier try may have arrived
    url: str
    key: str


class _DownlinkRoute(Protocol):
    """How one network is told."""

    is_shared: bool  # for all devices, so that what one message finds out holds for the others

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome: ...

    async def close(self) -> None: ...


class _DownlinkSender:
    batch_max = 1

    def __init__(self, database: Database, route: _DownlinkRoute) -> None:
        self._database = database
        self._route = route
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def send(self, batch: OutboundBatch) -> Outcome:
        """Each device gets its messages one after the other, in the order they begin."""
        turn = self._turns.setdefault(batch.single.device_id, asyncio.Lock())
        outcome: Outcome = Unreachable("did not answer in time")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ATTEMPT_TIMEOUT_S), turn:
                outcome = await self._send_pending(batch)
        if isinstance(outcome, Unreachable) and not self._route.is_shared:
            # Says nothing of where the messages to other devices go, so let them go there.
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
    """What is to be sent now, or why nothing is."""
    found = store_downlinks.get_pending(tx, device_id, downlink_id)
    if found is None:
        return Refused("the device is gone", is_final=True)
    asked = found.downlink
    if asked.state in ("sent", "acknowledged"):
        return Delivered()  # the network has said so itself
    if asked.state != "queued":
        return Refused(f"it is {asked.state}", is_final=True)
    if asked.expires_at <= tx.now:
        return Refused("its time was over", is_final=True)
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
        key = downlinks.unseal_link_key(tx, device_id, found.sealed_key)
    # What became of the last try is written there, also when whoever made it is gone.
    is_repeated = asked.detail is not None
    return PendingDownlinkRequest(device_id, downlink, is_repeated, found.url or "", key)


class _ChirpStack:
    """Queues messages by the API that the operator has named."""

    is_shared = True

    def __init__(self, api: NetworkApi) -> None:
        self._api = api
        self._caller = ApiClient(UNRESTRICTED)

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome:
        if not self._api.url:
            return Refused("the operator names no API of ChirpStack any more")
        path, body = chirpstack.queue_item(request.downlink)
        url, headers = self._api.at(path), chirpstack.credentials(self._api.secret)
        if request.is_repeated:
            waiting = await self._caller.request("GET", url, headers)
            if not isinstance(waiting, ApiResponse):
                return waiting
            name = chirpstack.name_in_queue(waiting.body, request.downlink)
            if name is not None:
                return Delivered(FOUND + sanitize_reply(name, ()))
        answer = await self._caller.request("POST", url, headers, body)
        if not isinstance(answer, ApiResponse):
            return answer
        # Its name for the message, which is kept; nothing else it may have answered is.
        name = sanitize_reply(answer.get_string("id"), ()) if answer.is_success else ""
        return api_client.outcome_of_response(
            answer, at, retryable=RETRYABLE_STATUSES_AND_AUTH, detail=name
        )

    async def close(self) -> None:
        await self._caller.close()


class _TheThingsStack:
    """Pushes messages to where the network itself has told."""

    is_shared = False

    def __init__(self, database: Database, egress: Egress) -> None:
        self._database = database
        self._egress = egress
        self._caller = ApiClient(egress)

    async def push(self, request: PendingDownlinkRequest, at: Moment) -> Outcome:
        if not request.url:
            return Refused("the network has not told where messages to the device go")
        if not downlinks.is_link_allowed(request.url, self._egress):
            return Refused("the address that the network has told cannot be used", is_final=True)
        answer = await self._caller.request(
            "POST", request.url, ttn.credentials(request.key), ttn.pushed(request.downlink)
        )
        if not isinstance(answer, ApiResponse):
            return answer
        if answer.is_gone:
            # The webhook was removed, perhaps for another one, which is going to say where it is.
            with contextlib.suppress(LongwireError):
                await self._database.write(
                    lambda tx: downlinks.delete_link(tx, request.device_id, request.url)
                )
        return api_client.outcome_of_response(answer, at, retryable=LATER_THAN_WEBHOOKS)

    async def close(self) -> None:
        await self._caller.close()


# --- registration at the vendor's network ---

REGISTERED = "the network has taken it"
ALREADY_REGISTERED = "the network knew the device already"
REGISTERED_ELSEWHERE = "the network knows the device already, and does not show it to this service"
# The login is the operator's, who may mend it meanwhile. What it may not do concerns the device.
LATER_THAN_LOGIN = RETRYABLE_STATUSES | {401}


class RegistrationHandler:
    """Tells the vendor's network of new devices."""

    def __init__(self, database: Database, api: NetworkApi) -> None:
        self._database = database
        self._api = api

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[BuildMessage, Sender]:
        return shape, _RegistrationSender(self._database, self._api)

    def on_results(
        self, tx: Tx, writer: int, connector: Connector, endings: Sequence[AttemptResult]
    ) -> None:
        for each in _in_order(endings):
            device_id = _device_of(tx, each.claimed)
            if device_id is None:
                continue
            if each.outcome is AttemptOutcome.DELIVERED:
                registrations.set_state(tx, device_id, "registered", each.answer or REGISTERED)
            elif (
                each.outcome is AttemptOutcome.FAILED
                and each.reason == registrations.NOT_CONFIGURED
            ):
                registrations.suspend(tx, device_id)
            else:
                state = "failed" if each.outcome is AttemptOutcome.FAILED else "pending"
                registrations.set_state(tx, device_id, state, each.reason)


class _RegistrationSender:
    batch_max = 1

    def __init__(self, database: Database, api: NetworkApi) -> None:
        self._database = database
        self._api = api
        self._headers = vendor.credentials(api.login, api.secret)
        self._caller = ApiClient(UNRESTRICTED)

    async def send(self, batch: OutboundBatch) -> Outcome:
        if not self._api.url:
            return Refused(registrations.NOT_CONFIGURED)
        device_id = batch.single.device_id
        try:
            request = await self._database.read(
                lambda tx: registrations.get_pending_request(tx, device_id)
            )
        except LongwireError:
            return DATABASE_UNAVAILABLE
        if not isinstance(request, registrations.PendingRegistrationRequest):
            return request
        url = self._api.at(vendor.DEVICES)
        answer = await self._caller.request("POST", url, self._headers, request.body)
        if isinstance(answer, ApiResponse) and answer.is_conflict:
            return await self._check_existing(request.id, batch.at)
        return self._outcome(answer, batch.at, hidden=(request.pac, self._api.secret))

    async def _check_existing(self, device: str, at: Moment) -> Outcome:
        """After a try whose answer was lost, it is we who have registered it."""
        url = self._api.at(vendor.DEVICES + quote(device, safe=""))
        answer = await self._caller.request("GET", url, self._headers)
        if isinstance(answer, ApiResponse):
            if answer.is_success:
                return Delivered(ALREADY_REGISTERED)
            if answer.is_missing_or_forbidden:
                return Refused(REGISTERED_ELSEWHERE, is_final=True)
        return self._outcome(answer, at, hidden=(self._api.secret,))

    def _outcome(self, answer: ApiResponse | Outcome, at: Moment, hidden: Sequence[str]) -> Outcome:
        if not isinstance(answer, ApiResponse):
            return answer
        if answer.is_success:
            return Delivered(REGISTERED)
        words = sanitize_reply(answer.get_string("message"), hidden)
        return api_client.outcome_of_response(answer, at, retryable=LATER_THAN_LOGIN, detail=words)

    async def close(self) -> None:
        await self._caller.close()


def sanitize_reply(said: str | None, hidden: Sequence[str]) -> str:
    """What the network says of a mistake, as far as it can be shown to whoever made it."""
    words = " ".join((said or "").split())
    is_secret = any(secret and secret.casefold() in words.casefold() for secret in hidden)
    return "" if is_secret or not words.isprintable() else words[:WORDS_CHARACTERS_MAX]

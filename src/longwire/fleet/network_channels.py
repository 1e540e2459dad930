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
from longwire.delivery.api_client import LATER, LATER_THAN_KEYS, Answer, Caller
from longwire.delivery.channel_handlers import Ending, Purpose, Shape
from longwire.delivery.channels import Dispatch
from longwire.delivery.destinations.base import (
    Delivered,
    Message,
    Outcome,
    Parcel,
    Refused,
    Sender,
    Unreachable,
)
from longwire.delivery.egress import ANYWHERE, Egress
from longwire.errors import LongwireError
from longwire.fleet import downlinks, registrations
from longwire.ids import delivery_id
from longwire.model import Connector
from longwire.networks import chirpstack, ttn, vendor
from longwire.networks.base import Downlink
from longwire.store import deliveries as store_deliveries
from longwire.store import downlinks as store_downlinks
from longwire.store.database import Database, Tx
from longwire.store.deliveries import Claimed

WORDS_CHARACTERS_MAX = 200
AWAY = Unreachable("the database was away")
# Sooner than the engine, which takes whoever is late for a sign that nobody is there.
TRY_TIMEOUT_S = 12.0
# Before the name of a message that an earlier try had brought to its network.
FOUND = "found: "
LATER_THAN_WEBHOOKS = LATER_THAN_KEYS | {404, 410}


class Remote(msgspec.Struct, frozen=True):
    """The API of a network as the operator has named it; without a URL there is none."""

    url: str = ""
    login: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Remote({self.url})"

    def at(self, path: str) -> str:
        return self.url.rstrip("/") + path


class Remotes(msgspec.Struct, frozen=True):
    """All of them."""

    vendor: Remote = Remote()
    chirpstack: Remote = Remote()

    @property
    def named(self) -> frozenset[str]:
        known = {"vendor": self.vendor, "chirpstack": self.chirpstack}
        return frozenset(name for name, remote in known.items() if remote.url)


def purposes(database: Database, dispatch: Dispatch, remotes: Remotes) -> dict[str, Purpose]:
    return {
        downlinks.PURPOSE: Downlinks(database, dispatch, remotes.chirpstack),
        registrations.PURPOSE: Registrations(database, remotes.vendor),
    }


def shape(claimed: Claimed) -> Message:
    """Whom and what it is about; the rest is looked up when it leaves."""
    return Message(
        id=delivery_id(claimed.connector_number, claimed.seq),
        kind="",
        group_id="",
        device_id=claimed.device_id,
        device_type="",
        body=claimed.body.encode(),
        content_type="",
    )


def _in_order(endings: Sequence[Ending]) -> list[Ending]:
    """As they were asked for, so that many new devices are locked in the order of their numbers."""
    return sorted(endings, key=lambda ending: ending.claimed.seq)


def _device_of(tx: Tx, claimed: Claimed) -> str | None:
    """The device that a delivery is about, also when whoever tried it is gone."""
    if claimed.device_id:
        return claimed.device_id
    delivery = store_deliveries.get(tx, claimed.connector_number, claimed.seq)
    return delivery.device_id if delivery else None


# --- messages to devices ---


class Downlinks:
    """Takes messages to the networks of their devices."""

    def __init__(self, database: Database, dispatch: Dispatch, remote: Remote) -> None:
        self._database = database
        self._dispatch = dispatch
        self._remote = remote

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        way: _Way
        if connector.type == downlinks.CHIRPSTACK:
            way = _ChirpStack(self._remote)
        else:
            way = _TheThingsStack(self._database, egress)
        return shape, _DownlinkSender(self._database, way)

    def ended(self, tx: Tx, writer: int, connector: Connector, endings: Sequence[Ending]) -> None:
        for each in _in_order(endings):
            device_id = _device_of(tx, each.claimed)
            if device_id is None:
                continue
            seq = each.claimed.seq
            if each.end == "delivered":
                name = each.answer.removeprefix(FOUND)
                # One that was found there has not been sent again.
                tries = 1 if each.answer.startswith(FOUND) else each.claimed.attempts
                downlinks.delivered(tx, self._dispatch, device_id, seq, name, tries)
            elif each.end == "failed":
                downlinks.given_up(tx, self._dispatch, device_id, seq, each.reason)
            else:
                downlinks.put_off(tx, device_id, seq, each.reason)


class _Errand(msgspec.Struct, frozen=True):
    device_id: str
    downlink: Downlink
    is_repeated: bool  # an earlier try may have arrived
    url: str
    key: str


class _Way(Protocol):
    """How one network is told."""

    is_one_place: bool  # for all devices, so that what one message finds out holds for the others

    async def push(self, errand: _Errand, at: Moment) -> Outcome: ...

    async def close(self) -> None: ...


class _DownlinkSender:
    batch_max = 1

    def __init__(self, database: Database, way: _Way) -> None:
        self._database = database
        self._way = way
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def send(self, parcel: Parcel) -> Outcome:
        """Each device gets its messages one after the other, in the order they begin."""
        turn = self._turns.setdefault(parcel.only.device_id, asyncio.Lock())
        outcome: Outcome = Unreachable("did not answer in time")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TRY_TIMEOUT_S), turn:
                outcome = await self._bring(parcel)
        if isinstance(outcome, Unreachable) and not self._way.is_one_place:
            # Says nothing of where the messages to other devices go, so let them go there.
            return Refused(outcome.reason, is_final=outcome.is_final)
        return outcome

    async def _bring(self, parcel: Parcel) -> Outcome:
        message = parcel.only
        try:
            found = await self._database.read(
                lambda tx: _errand(tx, message.device_id, message.body.decode())
            )
        except LongwireError:
            return AWAY
        if isinstance(found, _Errand):
            return await self._way.push(found, parcel.at)
        return found

    async def close(self) -> None:
        await self._way.close()


def _errand(tx: Tx, device_id: str, downlink_id: str) -> _Errand | Outcome:
    """What is to be sent now, or why nothing is."""
    found = store_downlinks.errand(tx, device_id, downlink_id)
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
    downlink = Downlink(
        id=asked.id,
        original_id=found.original_id,
        payload=bytes.fromhex(asked.payload),
        port=asked.port or 1,
        is_confirmed=asked.is_confirmed,
        expires_at=asked.expires_at,
    )
    key = ""
    if found.sealed_key is not None:
        key = downlinks.unsealed_key(tx, device_id, found.sealed_key)
    # What became of the last try is written there, also when whoever made it is gone.
    is_repeated = asked.detail is not None
    return _Errand(device_id, downlink, is_repeated, found.url or "", key)


class _ChirpStack:
    """Queues messages by the API that the operator has named."""

    is_one_place = True

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._caller = Caller(ANYWHERE)

    async def push(self, errand: _Errand, at: Moment) -> Outcome:
        if not self._remote.url:
            return Refused("the operator names no API of ChirpStack any more")
        path, body = chirpstack.queue_item(errand.downlink)
        url, headers = self._remote.at(path), chirpstack.credentials(self._remote.secret)
        if errand.is_repeated:
            waiting = await self._caller.call("GET", url, headers)
            if not isinstance(waiting, Answer):
                return waiting
            name = chirpstack.name_in_queue(waiting.body, errand.downlink)
            if name is not None:
                return Delivered(FOUND + safe_words(name, ()))
        answer = await self._caller.call("POST", url, headers, body)
        if not isinstance(answer, Answer):
            return answer
        # Its name for the message, which is kept; nothing else it may have answered is.
        name = safe_words(answer.member("id"), ()) if answer.is_success else ""
        return api_client.outcome(answer, at, later=LATER_THAN_KEYS, said=name)

    async def close(self) -> None:
        await self._caller.close()


class _TheThingsStack:
    """Pushes messages to where the network itself has told."""

    is_one_place = False

    def __init__(self, database: Database, egress: Egress) -> None:
        self._database = database
        self._egress = egress
        self._caller = Caller(egress)

    async def push(self, errand: _Errand, at: Moment) -> Outcome:
        if not errand.url:
            return Refused("the network has not told where messages to the device go")
        if not downlinks.is_link_usable(errand.url, self._egress):
            return Refused("the address that the network has told cannot be used", is_final=True)
        answer = await self._caller.call(
            "POST", errand.url, ttn.credentials(errand.key), ttn.pushed(errand.downlink)
        )
        if not isinstance(answer, Answer):
            return answer
        if answer.is_gone:
            # The webhook was removed, perhaps for another one, which is going to say where it is.
            with contextlib.suppress(LongwireError):
                await self._database.write(
                    lambda tx: downlinks.forget_link(tx, errand.device_id, errand.url)
                )
        return api_client.outcome(answer, at, later=LATER_THAN_WEBHOOKS)

    async def close(self) -> None:
        await self._caller.close()


# --- registration at the vendor's network ---

REGISTERED = "the network has taken it"
KNOWN_BEFORE = "the network knew the device already"
OF_SOMEBODY_ELSE = "the network knows the device already, and does not show it to this service"
# The login is the operator's, who may mend it meanwhile. What it may not do concerns the device.
LATER_THAN_LOGIN = LATER | {401}


class Registrations:
    """Tells the vendor's network of new devices."""

    def __init__(self, database: Database, remote: Remote) -> None:
        self._database = database
        self._remote = remote

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        return shape, _RegistrationSender(self._database, self._remote)

    def ended(self, tx: Tx, writer: int, connector: Connector, endings: Sequence[Ending]) -> None:
        for each in _in_order(endings):
            device_id = _device_of(tx, each.claimed)
            if device_id is None:
                continue
            if each.end == "delivered":
                registrations.settle(tx, device_id, "registered", each.answer or REGISTERED)
            elif each.end == "failed" and each.reason == registrations.NOT_CONFIGURED:
                registrations.lay_aside(tx, device_id)
            else:
                state = "failed" if each.end == "failed" else "pending"
                registrations.settle(tx, device_id, state, each.reason)


class _RegistrationSender:
    batch_max = 1

    def __init__(self, database: Database, remote: Remote) -> None:
        self._database = database
        self._remote = remote
        self._headers = vendor.credentials(remote.login, remote.secret)
        self._caller = Caller(ANYWHERE)

    async def send(self, parcel: Parcel) -> Outcome:
        if not self._remote.url:
            return Refused(registrations.NOT_CONFIGURED)
        device_id = parcel.only.device_id
        try:
            errand = await self._database.read(lambda tx: registrations.errand(tx, device_id))
        except LongwireError:
            return AWAY
        if not isinstance(errand, registrations.Errand):
            return errand
        url = self._remote.at(vendor.DEVICES)
        answer = await self._caller.call("POST", url, self._headers, errand.body)
        if isinstance(answer, Answer) and answer.is_conflict:
            return await self._who_knows_it(errand.id, parcel.at)
        return self._outcome(answer, parcel.at, hidden=(errand.pac, self._remote.secret))

    async def _who_knows_it(self, device: str, at: Moment) -> Outcome:
        """After a try whose answer was lost, it is we who have registered it."""
        url = self._remote.at(vendor.DEVICES + quote(device, safe=""))
        answer = await self._caller.call("GET", url, self._headers)
        if isinstance(answer, Answer):
            if answer.is_success:
                return Delivered(KNOWN_BEFORE)
            if answer.is_withheld:
                return Refused(OF_SOMEBODY_ELSE, is_final=True)
        return self._outcome(answer, at, hidden=(self._remote.secret,))

    def _outcome(self, answer: Answer | Outcome, at: Moment, hidden: Sequence[str]) -> Outcome:
        if not isinstance(answer, Answer):
            return answer
        if answer.is_success:
            return Delivered(REGISTERED)
        words = safe_words(answer.member("message"), hidden)
        return api_client.outcome(answer, at, later=LATER_THAN_LOGIN, said=words)

    async def close(self) -> None:
        await self._caller.close()


def safe_words(said: str | None, hidden: Sequence[str]) -> str:
    """What the network says of a mistake, as far as it can be shown to whoever made it."""
    words = " ".join((said or "").split())
    is_secret = any(secret and secret.casefold() in words.casefold() for secret in hidden)
    return "" if is_secret or not words.isprintable() else words[:WORDS_CHARACTERS_MAX]

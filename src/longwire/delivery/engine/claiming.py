"""The engine's transaction: settles attempts and claims what is due, in one slot.

It changes nothing in this process. What it has claimed counts once it is committed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from longwire.clock import SECOND, Moment
from longwire.delivery.engine.channel_worker import PROBE_AFTER, WINDOW_MIN, ChannelWorker
from longwire.delivery.engine.leases import LEASE_S, AttemptRecord
from longwire.delivery.engine.settlement import ChannelHandlers, settle
from longwire.delivery.http.egress import Egress
from longwire.model import Channel
from longwire.store.database import Database, Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_leases
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.store.identity import request_owners
from longwire.work.turns import CallerKey

CLAIMS_PER_TRANSACTION_MAX = 1_000

TEMPLATE_TOO_EXPENSIVE = (
    "template_too_expensive: the expressions of this group use more CPU time than a group may;"
    " messages are sent later, and none is left out"
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a transaction is asked to claim."""

    slot: int
    token: int
    channels: Collection[int]  # those with something due
    open_versions: Mapping[int, int]  # of the channels that have a worker here
    capacities: Mapping[int, int]
    throttled: Collection[int] = ()  # whose owners have to be notified


@dataclass(slots=True)
class ClaimResult:
    """What a transaction found and claimed; applied once it is committed."""

    stale: set[int] = field(default_factory=set)
    opened: dict[int, ChannelWorker] = field(default_factory=dict)
    expires_at: Moment = 0
    claimed: dict[int, list[ClaimedDelivery]] = field(default_factory=dict)
    requested: dict[int, int] = field(default_factory=dict)
    callers: dict[int, CallerKey] = field(default_factory=dict)  # of channels that were looked up


@dataclass(frozen=True, slots=True)
class Claimer:
    """Settles and claims on an open transaction, and opens workers for channels without one."""

    database: Database
    writer: int
    egress: Egress
    handlers: ChannelHandlers
    in_flight_max: int
    is_stopping: Callable[[], bool]

    def settle(
        self, tx: Tx, attempts: Sequence[AttemptRecord], handlers: ChannelHandlers | None = None
    ) -> None:
        settle(tx, self.writer, attempts, self.handlers if handlers is None else handlers)

    def settle_and_claim(
        self, tx: Tx, attempts: Sequence[AttemptRecord], request: ClaimRequest
    ) -> ClaimResult:
        tx.slot = request.slot
        self.settle(tx, attempts)
        for number in sorted(request.throttled):
            store_channels.record_failure(tx, number, TEMPLATE_TOO_EXPENSIVE, 0)
        result = ClaimResult()
        versions = store_channels.get_versions(tx, {*request.channels, *request.open_versions})
        result.stale = {
            number
            for number, version in request.open_versions.items()
            if versions.get(number) != version
        }
        if self.is_stopping():
            return result
        result.expires_at = tx.now + LEASE_S * SECOND
        due = [number for number in sorted(request.channels) if number in versions]
        current = request.open_versions.keys() - result.stale
        result.opened = self._open_workers(
            tx, request.slot, [each for each in due if each not in current], result.callers
        )
        share = max(1, CLAIMS_PER_TRANSACTION_MAX // max(1, len(due)))
        for number in due:
            if number in current or number in result.opened:
                capacity = request.capacities[number] if number in current else WINDOW_MIN
                _claim(tx, number, min(capacity, share), request, result)
        return result

    def _open_workers(
        self, tx: Tx, slot: int, numbers: Collection[int], callers: dict[int, CallerKey]
    ) -> dict[int, ChannelWorker]:
        opened: dict[int, ChannelWorker] = {}
        cluster, slots = self.database.cluster, self.database.slots
        for channel in store_channels.get_by_numbers(tx, numbers).values():
            callers[channel.number] = get_caller(tx, channel.group_id)
            total = 1 if channel.failures >= PROBE_AFTER else self.in_flight_max
            if slot not in cluster.list_slots(channel.number, total, slots):
                continue  # another process sends its messages, or finds out whether it responds
            try:
                opened[channel.number] = self._open_worker(tx, channel)
            except Exception as error:
                log.exception("channel cannot be opened", channel=channel.id)
                store_channels.record_failure(
                    tx, channel.number, f"it cannot be opened: {type(error).__name__}", 1
                )
        return opened

    def _open_worker(self, tx: Tx, channel: Channel) -> ChannelWorker:
        build_message, sender = self.handlers[channel.purpose].open(tx, channel, self.egress)
        return ChannelWorker(channel, build_message, sender, get_caller(tx, channel.group_id))


def get_caller(tx: Tx, group_id: str) -> CallerKey:
    """In whose turns what a group sends is sent."""
    return CallerKey(request_owners.get_owner_id(tx, group_id), f"group {group_id}")


def _claim(tx: Tx, number: int, most: int, request: ClaimRequest, result: ClaimResult) -> None:
    result.requested[number] = most
    result.claimed[number] = (
        delivery_leases.claim(tx, number, request.slot, most, request.token, result.expires_at)
        if most
        else []
    )

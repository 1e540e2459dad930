"""Channel handlers: what a channel's purpose adds to the engine.

The engine queues, claims, sends and retries whatever a channel carries. The handler of the
channel's purpose builds the messages, opens the sender, and is called with the results of attempts
in the transaction that settles them. Connectors are one purpose; notifications, mail, downlinks
and device registrations are others.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.destinations.base import FailureCode, OutboundMessage, Refused, Sender
from longwire.delivery.exchanges import Exchange
from longwire.delivery.http.egress import Egress
from longwire.model import Channel, ChannelPurpose
from longwire.store.database import Tx
from longwire.store.delivery.delivery_leases import ClaimedDelivery

BuildMessage = Callable[[ClaimedDelivery], OutboundMessage | Refused]


class ComputedBuilder:
    """Builds messages by a user's expression, whose CPU time is charged to its group."""

    def __init__(self, build: BuildMessage, expression: StoredExpression) -> None:
        self._build = build
        self._expression = expression

    @property
    def compile_s(self) -> float:
        """The CPU time that the next message takes more than others."""
        return self._expression.compile_us / 1e6

    def __call__(self, claimed: ClaimedDelivery) -> OutboundMessage | Refused:
        return self._build(claimed)


class AttemptOutcome(Enum):
    DELIVERED = "delivered"
    FAILED = "failed"  # no attempts are left, or none can help
    RETRY_SCHEDULED = "retry_scheduled"


class AttemptResult(msgspec.Struct, frozen=True):
    """How an attempt ended."""

    claimed: ClaimedDelivery  # without its body if the process that tried it died
    outcome: AttemptOutcome
    reason: str = ""  # why it was not delivered
    code: FailureCode | None = None  # the same, for decisions
    answer: str = ""  # part of the receiver's response, for handlers that need it
    is_duplicate: bool = False  # an earlier attempt had already arrived
    duration_ms: int | None = None  # None if it was not sent
    exchange: Exchange | None = None  # what was sent and came back, if it is to be kept


# Channels in the order of their numbers, each with how its attempts ended.
SettledChannels = Sequence[tuple[Channel, Sequence[AttemptResult]]]


class ChannelHandler(Protocol):
    """Handles all channels of one purpose."""

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        """A message builder and a sender for the channel's current configuration."""

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Called on the transaction that settles these attempts."""


ChannelHandlers = Mapping[ChannelPurpose, ChannelHandler]

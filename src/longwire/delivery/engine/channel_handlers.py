"""Channel handlers: what a channel's purpose adds to the engine.

The engine queues, claims, sends and retries whatever a channel carries. The handler of the
channel's purpose builds the messages, opens the sender, and is called with the results of attempts
in the transaction that settles them. Connectors are one purpose; notifications, mail, downlinks
and device registrations are others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from longwire import metrics
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.connectors import connector_metrics, connectors, messages
from longwire.delivery.destinations.base import FailureCode, OutboundMessage, Refused, Sender
from longwire.delivery.http.egress import Egress
from longwire.model import Channel
from longwire.records import parse_record
from longwire.store.database import Tx
from longwire.store.delivery import connector_minutes
from longwire.store.delivery.connector_minutes import SettledAttempts
from longwire.store.delivery.connectors import CONNECTORS
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


# Channels in the order of their numbers, each with how its attempts ended.
SettledChannels = Sequence[tuple[Channel, Sequence[AttemptResult]]]


class ChannelHandler(Protocol):
    """Handles all channels of one purpose."""

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        """A message builder and a sender for the channel's current configuration."""

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Called on the transaction that settles these attempts."""


class ConnectorHandler:
    """Connectors: records of devices to the customer's own systems."""

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        connector = CONNECTORS.get_by_numbers(tx, [channel.number])[channel.number]
        params = connectors.KIND.open_params(tx, channel)
        builder = messages.MessageBuilder.for_connector(connector, params)

        def build_message(claimed: ClaimedDelivery) -> OutboundMessage | Refused:
            encoded = parse_record(claimed.kind, claimed.body)
            return builder.build(claimed.seq, encoded, claimed.context)

        template = builder.template
        return (
            build_message if template is None else ComputedBuilder(build_message, template),
            messages.build_destination(connector, params, egress),
        )

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Count a delivery when it first ends, and every retry."""
        counted: Counter[tuple[int, str]] = Counter()
        attempts: dict[int, SettledAttempts] = {}
        for channel, results in settled:
            attempts[channel.number] = _count_results(int(channel.group_id), results, counted)
        metrics.count(tx, writer, counted)
        connector_minutes.count_settled(tx, writer, attempts)


def _count_results(
    group: int, results: Sequence[AttemptResult], counted: Counter[tuple[int, str]]
) -> SettledAttempts:
    """What to add to a connector's minute; its group's events are counted.

    Most results of a busy connector are alike, and those are counted together.
    """
    settled = SettledAttempts()
    alike = Counter(
        [
            (
                each.outcome is AttemptOutcome.DELIVERED,
                each.outcome is AttemptOutcome.FAILED,
                each.claimed.generation == 0,
                each.claimed.attempts <= 1,
                each.duration_ms,
            )
            for each in results
        ]
    )
    for (is_delivered, is_failed, is_original, is_first, duration_ms), number in alike.items():
        suffix = "processed" if is_delivered else "error"
        if is_original and (is_delivered or is_failed):
            counted[(group, f"connector_message_{suffix}")] += number
        if not (is_original and is_first):
            counted[(group, "connector_retry_message_started")] += number
            counted[(group, f"connector_retry_message_{suffix}")] += number
            settled.retried += number
        settled.succeeded += number if is_delivered else 0
        settled.failed += number if is_failed else 0
        if duration_ms is not None:
            connector_metrics.add_durations(settled, duration_ms, number)
    return settled

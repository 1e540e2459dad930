"""What connectors add to the engine: their messages, and what is counted when attempts end."""

from collections import Counter
from collections.abc import Sequence

from longwire import metrics
from longwire.changes import parse_content
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    BuildMessage,
    ChannelHandlers,
    ComputedBuilder,
    SettledChannels,
)
from longwire.delivery.connectors import connector_metrics, connectors, messages
from longwire.delivery.destinations.base import OutboundMessage, Refused, Sender
from longwire.delivery.exchanges import encode_exchange
from longwire.delivery.http.egress import Egress
from longwire.model import Channel, ChannelPurpose
from longwire.store.database import Tx
from longwire.store.delivery import connector_minutes, exchanges
from longwire.store.delivery.connector_minutes import SettledAttempts
from longwire.store.delivery.connectors import CONNECTORS
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.store.delivery.exchanges import StoredExchange


class ConnectorHandler:
    """Connectors: records of devices to the customer's own systems."""

    def __init__(self, *, keeps_exchanges: bool = True) -> None:
        self._keeps_exchanges = keeps_exchanges

    def open(self, tx: Tx, channel: Channel, egress: Egress) -> tuple[BuildMessage, Sender]:
        connector = CONNECTORS.get_by_numbers(tx, [channel.number])[channel.number]
        params = connectors.KIND.open_params(tx, channel)
        builder = messages.MessageBuilder.for_connector(connector, params)

        def build_message(claimed: ClaimedDelivery) -> OutboundMessage | Refused:
            content = parse_content(claimed.kind, claimed.body)
            return builder.build(claimed.seq, content, claimed.context)

        template = builder.template
        return (
            build_message if template is None else ComputedBuilder(build_message, template),
            messages.build_destination(connector, params, egress),
        )

    def on_results(self, tx: Tx, writer: int, settled: SettledChannels) -> None:
        """Count a delivery when it first ends, and every retry; keep what came back."""
        counted: Counter[tuple[int, str]] = Counter()
        attempts: dict[int, SettledAttempts] = {}
        for channel, results in settled:
            attempts[channel.number] = _count_results(int(channel.group_id), results, counted)
            # By id: those of a batch share one.
            kept = {each.exchange.id: each.exchange for each in results if each.exchange}
            if kept and self._keeps_exchanges:
                found = [
                    StoredExchange(each.id, each.at, encode_exchange(each))
                    for each in kept.values()
                ]
                exchanges.insert(tx, channel.number, found)
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


DEFAULT_HANDLERS: ChannelHandlers = {ChannelPurpose.CONNECTOR: ConnectorHandler()}

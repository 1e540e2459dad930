"""`deliveries`: list, retry and cancel outgoing messages."""

from typing import Any

import click

from longwire.changes import MESSAGE_KIND_NAMES
from longwire.cli.base import database_flags, run_read, run_write
from longwire.dates import format_date
from longwire.delivery.connectors import delivery_commands
from longwire.ids import format_delivery_id
from longwire.model import Channel
from longwire.process import startup
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_history
from longwire.store.delivery.delivery_states import HELD_BACK, DeliveryState
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result

STATES = {
    "queued": DeliveryState.QUEUED,
    "sending": DeliveryState.LEASED,
    "succeeded": DeliveryState.SUCCEEDED,
    "failed": DeliveryState.FAILED,
    "expired": DeliveryState.EXPIRED,
    "cancelled": DeliveryState.CANCELLED,
}


@click.group("deliveries")
def deliveries_group() -> None:
    """Outgoing messages."""


@deliveries_group.command("list")
@click.option("--connector", "connector_id", default=None, help="only deliveries of this connector")
@click.option(
    "--state",
    "states",
    type=click.Choice(list(STATES)),
    multiple=True,
    default=("queued", "sending", "failed"),
    show_default=True,
    help="may be repeated",
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@database_flags
@json_flag
def deliveries_list(
    connector_id: str | None, states: tuple[str, ...], limit: int, chosen: Settings, as_json: bool
) -> None:
    """List messages, most recently changed first."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        by_number = {each.number: each for each in store_channels.list_all(tx)}
        number = None
        if connector_id is not None:
            number = next((key for key, each in by_number.items() if each.id == connector_id), None)
            if number is None:
                raise startup.StartupError(f"There is no connector {connector_id}.")
        wanted = [STATES[state] for state in states]
        return [
            _delivery_row(each, by_number.get(each.channel_number))
            for each in delivery_history.list_latest(tx, wanted, limit, number)
        ]

    rows = run_read(chosen, work)
    shown = (
        *("id", "connector", "purpose", "device", "kind", "state", "attempts"),
        *("createdAt", "changedAt", "dueAt", "error"),
    )
    print_table(rows, shown, as_json)


def _delivery_row(each: delivery_history.DeliveryEvent, channel: Channel | None) -> dict[str, Any]:
    is_waiting = each.state == DeliveryState.QUEUED and each.due_at < HELD_BACK
    return {
        "id": format_delivery_id(each.channel_number, each.seq),
        "connector": channel.id if channel else "(deleted)",
        "purpose": channel.purpose if channel else None,
        "device": each.device_id,
        "kind": MESSAGE_KIND_NAMES[each.kind],
        "state": next(name for name, state in STATES.items() if state == each.state),
        "resent": each.generation,
        "attempts": each.attempts,
        "createdAt": format_date(each.created_at),
        "changedAt": format_date(each.changed_at),
        "dueAt": format_date(each.due_at) if is_waiting else None,
        "error": each.error,
    }


@deliveries_group.command("retry")
@click.argument("message_id")
@database_flags
@json_flag
def deliveries_retry(message_id: str, chosen: Settings, as_json: bool) -> None:
    """Retry a message now: a queued one, or a dead letter (failed and kept for resend)."""
    run_write(chosen, lambda tx: delivery_commands.retry_delivery(tx, message_id))
    print_result({"retried": message_id}, as_json, f"{message_id} is due now")


@deliveries_group.command("cancel")
@click.argument("message_id")
@database_flags
@json_flag
def deliveries_cancel(message_id: str, chosen: Settings, as_json: bool) -> None:
    """Cancel a queued message."""
    run_write(chosen, lambda tx: delivery_commands.cancel_delivery(tx, message_id))
    print_result({"cancelled": message_id}, as_json, f"{message_id} is cancelled")

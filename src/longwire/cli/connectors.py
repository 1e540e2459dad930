"""`connectors`: what waits at each of them, what failed, and why."""

from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load, read, show_table
from longwire.dates import optional_date_text
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store_deliveries
from longwire.store.database import Tx


@click.command("connectors")
@database_flags
@json_flag
def connectors_command(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Show every connector: what waits, what failed, since when and why."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        waiting = store_deliveries.backlogs(tx)
        rows = []
        for each in store_connectors.every(tx):
            backlog = waiting.get(each.number)
            rows.append(
                {
                    "id": each.id,
                    "group": each.group_id,
                    "name": each.name,
                    "purpose": each.purpose,
                    "type": each.type,
                    "enabled": each.is_enabled,
                    "queued": backlog.queued if backlog else 0,
                    "sending": backlog.leased if backlog else 0,
                    "failed": backlog.failed if backlog else 0,
                    "oldest": optional_date_text(backlog.oldest) if backlog else None,
                    "failuresInARow": each.failures,
                    "errorAt": optional_date_text(each.error_at),
                    "error": each.error_message,
                }
            )
        return rows

    rows = read(load(config, flags), work)
    shown = (
        "id",
        "group",
        "purpose",
        "type",
        "enabled",
        "queued",
        "sending",
        "failed",
        "oldest",
        "failuresInARow",
        "errorAt",
        "error",
    )
    show_table(rows, shown, as_json)

"""`connectors`: queue sizes and errors of every connector."""

from typing import Any

import click

from longwire.cli.base import database_flags, run_read
from longwire.dates import format_optional_date
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import channels as store_channels
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag


@click.command("connectors")
@database_flags
@json_flag
def connectors_command(chosen: Settings, as_json: bool) -> None:
    """List every connector with its queue, failed messages and last error."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        waiting = store_backlogs.list_backlogs(tx)
        names = store_channels.list_names(tx)
        rows = []
        for each in store_channels.list_all(tx):
            backlog = waiting.get(each.number)
            rows.append(
                {
                    "id": each.id,
                    "group": each.group_id,
                    "name": names.get(each.number),
                    "purpose": each.purpose,
                    "type": each.type,
                    "enabled": each.is_enabled,
                    "queued": backlog.queued if backlog else 0,
                    "sending": backlog.leased if backlog else 0,
                    "failed": backlog.failed if backlog else 0,
                    "oldest": format_optional_date(backlog.oldest) if backlog else None,
                    "failuresInARow": each.failures,
                    "failingSince": format_optional_date(each.failing_since),
                    "filterFailingSince": format_optional_date(each.filter_failing_since),
                    "errorAt": format_optional_date(each.error_at),
                    "error": each.error_message,
                }
            )
        return rows

    rows = run_read(chosen, work)
    shown = (
        *("id", "group", "purpose", "type", "enabled", "queued", "sending", "failed", "oldest"),
        *("failuresInARow", "failingSince", "filterFailingSince", "errorAt", "error"),
    )
    print_table(rows, shown, as_json)

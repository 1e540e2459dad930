"""`audit`: who changed what."""

from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load, read, show_table
from longwire.dates import date_text
from longwire.store import audit as store_audit


@click.command("audit")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--group", "group_id", default=None, help="only of this group")
@database_flags
@json_flag
def audit_command(
    limit: int, group_id: str | None, config: Path | None, as_json: bool, **flags: Any
) -> None:
    """Show who changed what, newest first."""
    rows = read(load(config, flags), lambda tx: store_audit.latest(tx, limit, group_id=group_id))
    for row in rows:
        row["at"] = date_text(int(str(row["at"])))
    shown = ("at", "actor_id", "action", "object_id", "group_id", "address", "request_id", "detail")
    show_table(rows, shown, as_json)

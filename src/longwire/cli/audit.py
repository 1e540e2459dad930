"""`audit`: the audit log."""

from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load_settings, print_table, run_read
from longwire.dates import format_date
from longwire.store import audit as store_audit


@click.command("audit")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--group", "group_id", default=None, help="only entries of this group")
@database_flags
@json_flag
def audit_command(
    limit: int, group_id: str | None, config: Path | None, as_json: bool, **flags: Any
) -> None:
    """Print the audit log, newest first."""
    rows = run_read(
        load_settings(config, flags),
        lambda tx: store_audit.list_latest(tx, limit, group_id=group_id),
    )
    for row in rows:
        row["at"] = format_date(int(str(row["at"])))
    shown = ("at", "actor_id", "action", "object_id", "group_id", "address", "request_id", "detail")
    print_table(rows, shown, as_json)

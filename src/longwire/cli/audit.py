"""`audit`: the audit log."""

import click

from longwire.cli.base import database_flags, run_read
from longwire.dates import format_date
from longwire.settings import Settings
from longwire.store.identity import audit as store_audit
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag


@click.command("audit")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--group", "group_id", default=None, help="only entries of this group")
@database_flags
@json_flag
def audit_command(limit: int, group_id: str | None, chosen: Settings, as_json: bool) -> None:
    """Print the audit log, newest first."""
    rows = run_read(chosen, lambda tx: store_audit.list_latest(tx, limit, group_id=group_id))
    for row in rows:
        row["at"] = format_date(int(str(row["at"])))
    shown = ("at", "actor_id", "action", "object_id", "group_id", "address", "request_id", "detail")
    print_table(rows, shown, as_json)

"""`migrate`, which prepares the database."""

from dataclasses import replace

import click

from longwire.cli.base import database_flags
from longwire.clock import Clock
from longwire.process import startup
from longwire.settings import Settings
from longwire.store.engines import citus as distribution
from longwire_cli.terminal import json_flag, print_result


@click.command("migrate")
@database_flags
@click.option(
    "--slots",
    type=int,
    metavar="NUMBER",
    help="Divide the records of a PostgreSQL that no process uses into so many slots.",
)
@click.option(
    "--citus",
    is_flag=True,
    help="Distribute the records of a PostgreSQL with the extension Citus over its workers.",
)
@json_flag
def migrate_command(chosen: Settings, slots: int | None, citus: bool, as_json: bool) -> None:
    """Migrate the database to this version's schema, and bootstrap it when empty."""
    if slots is not None:
        chosen = replace(chosen, database_slots=0)  # those that it has, for a moment
    database, prepared = startup.open_prepared_database(chosen, Clock(), is_secondary=True)
    try:
        if slots is not None:
            database.upgrade(lambda tx: distribution.change_slots(tx, slots))
        distributed = database.upgrade(distribution.distribute) if citus else []
    finally:
        database.close()
    print_result(
        {
            "steps": prepared.steps,
            "bootstrapped": prepared.operator is not None,
            "distributed": distributed,
        },
        as_json,
        f"{len(prepared.steps)} migration(s) run"
        + (f"; {len(distributed)} tables distributed" if citus else "")
        + (f"; credentials are in {chosen.data / 'operator.json'}" if prepared.operator else ""),
    )

"""`move`, which takes a database from SQLite to PostgreSQL, or back."""

from dataclasses import replace
from pathlib import Path

import click

from longwire.backup import moving
from longwire.cli.base import database_flags
from longwire.process import logs
from longwire.settings import Settings
from longwire_cli.terminal import json_flag, print_result


@click.command("move")
@click.option(
    "--to",
    "place",
    required=True,
    metavar="PLACE",
    help="an empty PostgreSQL, as postgresql://user@host/name, or an empty folder for SQLite",
)
@database_flags
@json_flag
def move_command(place: str, chosen: Settings, as_json: bool) -> None:
    """Move the database to another engine, while no service uses it.

    Everything keeps its ids, secrets and order. The old database is only read. A move that was
    interrupted goes on where it was when the command is run again; no service starts with the new
    database before all of it was compared with the old one.
    """
    logs.configure_logging("error", "auto")
    if place.startswith(("postgresql://", "postgres://")):
        target = replace(chosen, database=place)
    else:
        target = replace(chosen, database="", data=Path(place), database_slots=0)

    def report(table: str, rows: int) -> None:
        if not as_json and rows:
            click.echo(f"{table}: {rows:,}", err=True)

    moved = moving.move(chosen, target, report)
    rows = sum(moved.values())
    print_result(
        {"rows": rows, "tables": moved},
        as_json,
        f"{rows:,} rows of {len(moved)} tables were moved, and compared",
    )

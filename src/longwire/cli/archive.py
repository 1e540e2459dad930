"""`archive`: move records of old months out of the database, into Parquet files."""

import asyncio

import click

from longwire import extras
from longwire.archive.mover import ArchiveError, Mover
from longwire.blobs import open_store
from longwire.cli.base import open_existing_database, run_read, setting_flags
from longwire.dates import format_date
from longwire.settings import Settings
from longwire.store.archive import archive_files
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result

MIB = 1024 * 1024


@click.command("archive")
@click.option(
    "--months",
    type=click.IntRange(min=1),
    default=None,
    help="move records whose month ended so many whole months ago, or longer",
)
@click.option("--list", "lists", is_flag=True, help="list the months that are in the archive")
@setting_flags("data", "database", "secret_key", "archive")
@json_flag
def archive_command(months: int | None, lists: bool, chosen: Settings, as_json: bool) -> None:
    """Move records of old months out of the database, while the service runs.

    They go to the place of the setting `archive`, as Parquet files, and are still listed and
    exported from there. A file is read again and compared before its records are deleted from the
    database. A run that was interrupted is finished by the next one.
    """
    if lists:
        _list(chosen, as_json)
        return
    if months is None:
        raise click.UsageError("give --months or --list")
    if not chosen.archive:
        raise ArchiveError(
            "Set `archive`, to a folder or s3://bucket/prefix; also for the service."
        )
    extras.require("parquet")
    store = open_store(chosen.archive)
    with open_existing_database(chosen) as database:
        totals = asyncio.run(Mover(database, store).run(months))
    print_result(
        {"files": totals.files, "records": totals.records, "bytes": totals.bytes},
        as_json,
        f"{totals.records:,} records moved, {totals.files} files of {totals.bytes / MIB:.1f} MiB",
    )


def _list(chosen: Settings, as_json: bool) -> None:
    rows: list[dict[str, object]] = [
        {
            "month": format_date(each.begin)[:7],
            "kind": each.kind,
            "files": each.files,
            "records": each.records,
            "bytes": each.bytes,
        }
        for each in run_read(chosen, archive_files.sum_months)
    ]
    print_table(rows, ("month", "kind", "files", "records", "bytes"), as_json)

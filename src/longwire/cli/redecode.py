"""`redecode`: decode stored payloads again with the device type's current decoder."""

import asyncio
from functools import partial
from typing import Any

import click

from longwire.cli.base import database_flags, open_existing_database
from longwire.dates import parse_date, parse_range_end
from longwire.decoders.catalogue import Decoders
from longwire.fleet import redecoding
from longwire.fleet.codec_guard import CodecGuard
from longwire.fleet.redecoding import RedecodeSelection
from longwire.model import SYSTEM, PageRequest
from longwire.settings import Settings
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire_cli.terminal import json_flag, print_result

RECORDS_PER_BATCH = 500


@click.command("redecode")
@click.option("--device", "device_id", default=None, help="only this device")
@click.option("--group", "group_id", default=None, help="all devices of this group")
@click.option("--device-type", default=None, help="only devices of this type")
@click.option("--begin", default=None, help="from this date; default: the first record")
@click.option(
    "--end", default=None, help="before this date; a date without a time includes that day"
)
@database_flags
@json_flag
def redecode_command(
    device_id: str | None,
    group_id: str | None,
    device_type: str | None,
    begin: str | None,
    end: str | None,
    chosen: Settings,
    as_json: bool,
) -> None:
    """Decode stored payloads again with the device type's current decoder."""
    if device_id is None and group_id is None:
        raise click.UsageError("give --device or --group")
    try:
        since = None if begin is None else parse_date(begin)
        until = None if end is None else parse_range_end(end)
    except ValueError as error:
        raise click.UsageError(f"--begin or --end {error}") from error
    wanted = RedecodeSelection(device_id, group_id, device_type, since, until)
    with open_existing_database(chosen) as database:
        totals = asyncio.run(_redecode(database, wanted))
    text = "{lookedAt} records looked at: {changed} changed, {skipped} without a payload to decode"
    text = text.format(**totals) + f", {totals['failed']} left alone because decoding failed"
    print_result(totals, as_json, text + (f"\n{totals['failure']}" if totals["failure"] else ""))


async def _redecode(database: Database, wanted: RedecodeSelection) -> dict[str, Any]:
    totals: dict[str, Any] = {
        **{"lookedAt": 0, "changed": 0, "skipped": 0, "failed": 0},
        "failure": None,
    }
    after: tuple[int | str, ...] | None = None
    guard = CodecGuard(Decoders())
    while True:
        request = PageRequest(RECORDS_PER_BATCH, after)
        batch = await database.read(
            partial(redecoding.find_batch, actor=SYSTEM, selection=wanted, request=request)
        )
        reread = redecoding.redecode_batch(batch, guard, is_limited=False)
        if reread.bodies:
            totals["changed"] += await database.write(partial(_save_records, reread=reread))
        totals["lookedAt"] += reread.examined
        totals["skipped"] += reread.skipped
        totals["failed"] += reread.failed
        totals["failure"] = totals["failure"] or reread.failure
        after = reread.last_key
        if after is None:
            return totals


def _save_records(tx: Tx, reread: redecoding.RedecodedBatch) -> int:
    # Invalidates responses that a running service has cached.
    cache_epochs.bump_records_epoch(tx)
    return redecoding.store_batch(tx, SYSTEM, reread)

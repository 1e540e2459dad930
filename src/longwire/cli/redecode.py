"""`redecode`: stored payloads once more, by the decoder that the device type has now."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load, show, visiting
from longwire.dates import end_of, moment_of
from longwire.fleet import redecoding
from longwire.fleet.redecoding import Wanted
from longwire.model import SYSTEM, PageRequest
from longwire.store import auth_epoch
from longwire.store.database import Database, Tx

REREAD_PER_STEP = 500


@click.command("redecode")
@click.option("--device", "device_id", default=None, help="the payloads of this device")
@click.option("--group", "group_id", default=None, help="those of all devices of this group")
@click.option("--device-type", default=None, help="only devices that are of this type now")
@click.option("--begin", default=None, help="from this date on; from the first record by default")
@click.option("--end", default=None, help="before this date; a date alone is that day as well")
@database_flags
@json_flag
def redecode_command(
    device_id: str | None,
    group_id: str | None,
    device_type: str | None,
    begin: str | None,
    end: str | None,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Decode stored payloads again, by the decoder that the device type has now."""
    if device_id is None and group_id is None:
        raise click.UsageError("give --device or --group")
    try:
        since = None if begin is None else moment_of(begin)
        until = None if end is None else end_of(end)
    except ValueError as error:
        raise click.UsageError(f"--begin or --end {error}") from error
    wanted = Wanted(device_id, group_id, device_type, since, until)
    with visiting(load(config, flags)) as database:
        totals = asyncio.run(_redecode(database, wanted))
    text = "{lookedAt} records looked at: {changed} changed, {skipped} without a payload to decode"
    text = text.format(**totals) + f", {totals['failed']} left alone because decoding failed"
    show(totals, as_json, text + (f"\n{totals['failure']}" if totals["failure"] else ""))


async def _redecode(database: Database, wanted: Wanted) -> dict[str, Any]:
    totals: dict[str, Any] = {
        **{"lookedAt": 0, "changed": 0, "skipped": 0, "failed": 0},
        "failure": None,
    }
    after: tuple[int | str, ...] | None = None
    while True:
        request = PageRequest(REREAD_PER_STEP, after)
        piece = await database.read(partial(_to_redecode, wanted=wanted, request=request))
        reread = redecoding.read_again(piece)
        if reread.bodies:
            totals["changed"] += await database.write(partial(_keep_redecoded, reread=reread))
        totals["lookedAt"] += reread.looked_at
        totals["skipped"] += reread.skipped
        totals["failed"] += reread.failed
        totals["failure"] = totals["failure"] or reread.failure
        after = reread.last_key
        if after is None:
            return totals


def _to_redecode(tx: Tx, wanted: Wanted, request: PageRequest) -> redecoding.Piece:
    return redecoding.find(tx, SYSTEM, wanted, request)


def _keep_redecoded(tx: Tx, reread: redecoding.Reread) -> int:
    # A service beside this command remembers lists that it answered; this makes it forget them.
    auth_epoch.change(tx)
    return redecoding.keep(tx, SYSTEM, reread)

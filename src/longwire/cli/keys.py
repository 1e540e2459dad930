"""`rotate-key`: another secret key for the same database."""

import asyncio
from functools import partial

import click

from longwire.cli.base import database_flags, open_existing_database
from longwire.doctor.machine import is_served
from longwire.errors import OperatorError
from longwire.process import startup
from longwire.seal import Keyring, new_key
from longwire.settings import Settings
from longwire.store import instance, resealing
from longwire.store.database import Database
from longwire.store.pacing import write_and_pause
from longwire.store.resealing import SealedColumn
from longwire_cli.terminal import json_flag, print_result

PASSES_MAX = 10


class RotationError(OperatorError):
    """The key cannot be rotated; the message says why."""


@click.command("rotate-key")
@click.option("--add", "adds", is_flag=True, help="put a new key in front of those in secret.key")
@click.option("--drop-old", "drops", is_flag=True, help="remove all but the newest from secret.key")
@database_flags
@json_flag
def rotate_key_command(adds: bool, drops: bool, chosen: Settings, as_json: bool) -> None:
    """Seal every secret in the database with the newest secret key, while the service runs.

    First give the new key to all processes: --add, then restart them. Can be repeated when it was
    interrupted. When it is done, the older keys are not needed any more: --drop-old.
    """
    if adds and drops:
        raise RotationError("Give either --add or --drop-old.")
    if adds:
        fingerprint = _add_key(chosen)
        text = f"{fingerprint} is the newest key now; restart the service, then run rotate-key"
        print_result({"keyFingerprint": fingerprint}, as_json, text)
        return
    _require_restarted(chosen)
    with open_existing_database(chosen) as database:
        keyring = database.context.keyring
        if drops:
            _drop_old_keys(chosen, database)
            text = f"{keyring.fingerprint} is the only key now; restart the service"
            print_result({"keyFingerprint": keyring.fingerprint}, as_json, text)
            return
        resealed = asyncio.run(reseal_all(database))
    print_result(
        {"keyFingerprint": keyring.fingerprint, "resealed": resealed},
        as_json,
        f"{resealed} secrets were sealed again; {keyring.fingerprint} suffices from now on",
    )


def _add_key(chosen: Settings) -> str:
    if chosen.secret_key:
        raise RotationError(
            "The key is in LONGWIRE_SECRET_KEY: put a new one in front of it there, with a comma."
        )
    if not startup.has_key(chosen):
        raise RotationError(f"There is no {startup.key_path(chosen)}.")
    with startup.lock_keys(chosen):
        keys, _ = startup.load_keys(chosen)
        keys.insert(0, new_key())
        startup.save_keys(chosen, keys)
    return Keyring(*keys).fingerprint


def _require_restarted(chosen: Settings) -> None:
    """A service that does not know the new key could not open what is sealed with it."""
    key, lock = startup.key_path(chosen), chosen.data / "serve.lock"
    if chosen.secret_key or not key.exists() or not is_served(chosen):
        return
    if lock.stat().st_mtime <= key.stat().st_mtime:
        raise RotationError("The service was started before secret.key was changed: restart it.")


def _drop_old_keys(chosen: Settings, database: Database) -> None:
    if chosen.secret_key:
        raise RotationError("The keys are in LONGWIRE_SECRET_KEY: remove the older ones there.")
    asyncio.run(_require_unneeded(database))
    with startup.lock_keys(chosen):
        keys, _ = startup.load_keys(chosen)
        if Keyring(*keys).fingerprint != database.context.keyring.fingerprint:
            raise RotationError("A key was added meanwhile: run `longwire rotate-key` first.")
        startup.save_keys(chosen, keys[:1])


async def _require_unneeded(database: Database) -> None:
    """A process that does not know the newest key may have sealed something since the rotation."""
    fingerprint = await database.read(lambda tx: instance.get_fact(tx, "key_fingerprint"))
    if fingerprint != database.context.keyring.fingerprint:
        raise RotationError("The older key is still needed: run `longwire rotate-key` first.")
    if await reseal_all(database):
        raise RotationError(
            "Some process has sealed with an older key since `longwire rotate-key`, which is mended"
            " now: restart all processes with the newest key first in their keys, then try again."
        )


async def reseal_all(database: Database) -> int:
    """Seal again until nothing is left that an older key has sealed; how many values."""
    total = 0
    for _ in range(PASSES_MAX):
        mail = await database.read(resealing.list_mail_queues)
        changed = 0
        for column in resealing.iterate_columns(mail):
            changed += await _reseal_column(database, column)
        total += changed
        if not changed:
            await database.write(resealing.finish)
            return total
    raise RotationError(
        "Some process still seals with an older key: make the new one the first everywhere."
    )


async def _reseal_column(database: Database, column: SealedColumn) -> int:
    changed, after = 0, None
    while True:
        reseal = partial(resealing.reseal_some, sealed=column, after=after)
        step = await write_and_pause(database, reseal)
        if step.unreadable:
            raise RotationError(
                f"{step.unreadable} values of {column.name} cannot be opened with any key at hand."
            )
        changed += step.resealed
        after = step.last
        if after is None:
            return changed

"""Checks of the database: reachable, safe, current, its key, its size and what waits in it."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

from longwire import extras
from longwire.clock import SECOND, Clock
from longwire.doctor.archive import check_archive
from longwire.doctor.findings import Area, Finding, describe_error
from longwire.doctor.machine import MIB
from longwire.errors import OperatorError
from longwire.process.startup import HOW_TO_INITIALIZE, build_database, has_key
from longwire.settings import Settings
from longwire.store.database import Database, UnsafeServer
from longwire.store.engines import citus, diagnosis
from longwire.store.engines.upgrade import DatabaseTooNew

POSTGRES_VERSION_MIN = 14
# A newer one mends a rare corruption by two checkpoints at once.
SQLITE_VERSION_MIN = (3, 38)
CLOCK_OFF_S_MAX = 2.0
TRANSACTION_S_MAX = 600.0
WAITING_S_MAX = 3_600
CONNECTIONS_SHARE_MAX = 0.8
FREE_SHARE_MAX = 0.5
FREE_BYTES_MIN = 256 * MIB


def check_database(area: Area, settings: Settings, *, is_deep: bool) -> Iterator[Finding]:
    if not settings.database and not (settings.data / "longwire.db").exists():
        yield area.warning(f"there is no database in {settings.data} yet", HOW_TO_INITIALIZE)
        return
    if settings.database and not extras.is_installed("postgres"):
        yield area.problem("the driver of PostgreSQL is missing", extras.how_to_install("postgres"))
        return
    try:
        database, _ = build_database(settings, Clock(), is_secondary=True)
    except OperatorError as error:
        yield area.problem(describe_error(error), "check secret_key, or restore secret.key")
        return
    with closing(database):
        try:
            database.start()
            yield from _check_open(area, settings, database, is_deep=is_deep)
        except UnsafeServer as error:
            yield area.problem(describe_error(error), "change it in postgresql.conf, and reload")
        except DatabaseTooNew as error:
            yield area.problem(describe_error(error), "install the version that it was used by")
        except Exception as error:  # whatever the driver raises, it cannot be read
            advice = "check that the server runs, and the host, user and password in the URL"
            if not settings.database:
                advice = "check the folder, its disk and its owner"
            yield area.problem(f"cannot be read: {describe_error(error)}", advice)


def _check_open(
    area: Area, settings: Settings, database: Database, *, is_deep: bool
) -> Iterator[Finding]:
    facts = asyncio.run(database.read(diagnosis.read_facts))
    if settings.database:
        yield from _check_postgres(area, settings, database)
    else:
        yield from _check_sqlite(area, database, facts.bytes, is_deep=is_deep)
    yield from _check_schema(area, settings, database, facts)
    if settings.database_slots and settings.database_slots != database.slots:
        text = f"database_slots is {settings.database_slots}, but the database has {database.slots}"
        yield area.problem(text, f"set {database.slots}, or see `longwire migrate --slots`")
    layout = asyncio.run(database.read(citus.get_layout))
    if layout is not None:
        yield area.ok(f"Citus: {layout.shards} shards on {layout.servers} servers")
    yield area.ok(f"the database has {facts.bytes // MIB} MiB")
    yield from check_archive(Area("archive"), settings, database, is_deep=is_deep)
    if facts.backlog is not None:
        waited_s = 0
        if facts.backlog.oldest is not None:
            waited_s = (database.context.clock.now() - facts.backlog.oldest) // SECOND
        text = f"{facts.backlog.queued} messages wait, {facts.backlog.failed} are dead letters"
        if waited_s > WAITING_S_MAX:
            advice = "`longwire connectors` shows which destinations do not take them, and why"
            yield area.warning(f"{text}; the oldest for {waited_s // 60} minutes", advice)
        else:
            yield area.ok(text)
    yield from _check_unknown_devices(area, facts)


def _check_unknown_devices(area: Area, facts: diagnosis.DatabaseFacts) -> Iterator[Finding]:
    counts = facts.unknown_devices
    if counts:
        named = [f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(counts.items())]
        text = f"devices that report without a record of theirs: {', '.join(named)}"
        advice = "see Unknown devices in the console, or GET /group/unknownDevices"
        yield area.warning(text, advice)


def _check_schema(
    area: Area, settings: Settings, database: Database, facts: diagnosis.DatabaseFacts
) -> Iterator[Finding]:
    if facts.revision is None:
        yield area.warning("the database is empty", HOW_TO_INITIALIZE)
        return
    if facts.missing_steps:
        advice = "restart the service with this version, or run `longwire migrate`"
        yield area.warning(f"{facts.missing_steps} migrations have not been run", advice)
    else:
        yield area.ok("the schema is that of this version")
    if not has_key(settings):
        advice = "copy secret.key from the data folder of the first start, or set secret_key"
        yield area.problem("the secret key of this database is missing", advice)
    elif facts.key_fingerprint not in database.context.keyring.fingerprints:
        advice = "use the secret.key of the first start: this one opens none of its secrets"
        yield area.problem("the database belongs to another secret key", advice)
    elif facts.key_fingerprint != database.context.keyring.fingerprint:
        advice = "run `longwire rotate-key`; until then the older key is needed"
        yield area.warning("the secret key is being rotated", advice)
    else:
        yield area.ok("the secret key is that of this database")


def _check_sqlite(
    area: Area, database: Database, total_bytes: int, *, is_deep: bool
) -> Iterator[Finding]:
    facts = asyncio.run(database.read(diagnosis.read_sqlite_facts))
    text = f"SQLite {facts.version}, journal {facts.journal_mode}"
    if tuple(map(int, facts.version.split(".")))[:2] < SQLITE_VERSION_MIN:
        yield area.warning(text, "use a Python with a newer SQLite")
    elif facts.journal_mode != "wal":
        advice = "move the data folder to a file system that allows shared memory"
        yield area.problem(text, advice)
    else:
        yield area.ok(text)
    if facts.free_bytes > max(FREE_BYTES_MIN, total_bytes * FREE_SHARE_MAX):
        text = f"{facts.free_bytes // MIB} MiB of the file are unused"
        yield area.warning(text, "they are used again; to shrink the file, restore a backup")
    if is_deep:
        result = asyncio.run(database.read(diagnosis.check_sqlite_file))
        if result == "ok":
            yield area.ok("the file is consistent")
        else:
            text = f"the file is damaged: {' '.join(result.split())}"
            yield area.problem(text, "restore the last backup")


def _check_postgres(area: Area, settings: Settings, database: Database) -> Iterator[Finding]:
    facts = asyncio.run(database.read(diagnosis.read_postgres_facts))
    text = f"PostgreSQL {facts.version}"
    if facts.version_number < POSTGRES_VERSION_MIN * 10_000:
        yield area.warning(text, f"upgrade to PostgreSQL {POSTGRES_VERSION_MIN} or newer")
    else:
        yield area.ok(text)
    if facts.is_standby:
        advice = "name all hosts in the URL, with target_session_attrs=read-write"
        yield area.problem("the server is a standby, which takes no writes", advice)
    yield from (
        area.problem(f"{name} is off: a crash loses confirmed records", f"switch {name} on")
        for name in facts.unsafe_settings
    )
    off_s = abs(facts.now - Clock().now()) / SECOND
    if off_s > CLOCK_OFF_S_MAX:
        advice = "synchronize the clocks of both machines; the service follows the server's"
        yield area.warning(f"the clock of the server is {off_s:.1f} s off", advice)
    else:
        yield area.ok("the clock of the server agrees with ours")
    needed = settings.workers * settings.database_connections
    text = f"{facts.connections} of {facts.connections_max} connections are used"
    if max(facts.connections, needed) > CONNECTIONS_SHARE_MAX * facts.connections_max:
        advice = "raise max_connections, or lower workers or database_connections"
        yield area.warning(f"{text}, and the settings ask for {needed}", advice)
    else:
        yield area.ok(text)
    if facts.longest_transaction_s > TRANSACTION_S_MAX:
        text = f"a transaction has been open for {facts.longest_transaction_s / 60:.0f} minutes"
        yield area.warning(text, "end it (pg_stat_activity): it keeps deleted rows from going")

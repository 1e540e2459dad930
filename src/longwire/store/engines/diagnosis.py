"""How the database is doing: its version, safety settings, sizes and clock."""

from collections.abc import Mapping
from dataclasses import field

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.store import instance
from longwire.store.database import Tx
from longwire.store.delivery import backlogs
from longwire.store.engines import upgrade
from longwire.store.fleet import unknown_devices
from longwire.store.fleet.unknown_devices import UnknownReason
from longwire.store.statement import Statement

UNKNOWN_DEVICES_COUNTED_MAX = 100_000

SQLITE_VERSION = Statement("select sqlite_version()")
JOURNAL_MODE = Statement("pragma journal_mode")
FREE_PAGES = Statement("""
select freelist_count * page_size
from pragma_freelist_count, pragma_page_size
""")
QUICK_CHECK = Statement("pragma quick_check(1)")

POSTGRES_FACTS = """
select
    current_setting('server_version'),
    current_setting('server_version_num')::int,
    current_setting('max_connections')::int,
    pg_is_in_recovery(),
    (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    (
        select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float
        from pg_stat_activity
        where backend_type = 'client backend' and datname = current_database()
    )
"""
POSTGRES_SAFETY = """
select name
from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'
order by name
"""


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """What both engines know."""

    revision: str | None  # of the schema; None for an empty database
    missing_steps: int
    key_fingerprint: str | None
    bytes: int
    backlog: backlogs.Backlog | None  # None for an empty database or another schema
    unknown_devices: Mapping[UnknownReason, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SqliteFacts:
    version: str
    journal_mode: str
    free_bytes: int


@dataclass(frozen=True, slots=True)
class PostgresFacts:
    version: str
    version_number: int
    connections_max: int
    connections: int
    is_standby: bool
    now: Moment
    longest_transaction_s: float
    unsafe_settings: tuple[str, ...]


def read_facts(tx: Tx) -> DatabaseFacts:
    revision = upgrade.get_current_revision(tx.connection)
    missing = len(upgrade.missing_steps(tx))
    is_current = revision is not None and not missing
    return DatabaseFacts(
        revision,
        missing,
        instance.get_fact(tx, "key_fingerprint") if revision is not None else None,
        instance.get_database_bytes(tx),
        backlogs.get_total_backlog(tx) if is_current else None,
        unknown_devices.count_by_reason(tx, UNKNOWN_DEVICES_COUNTED_MAX) if is_current else {},
    )


def read_sqlite_facts(tx: Tx) -> SqliteFacts:
    return SqliteFacts(
        str(tx.fetch(SQLITE_VERSION)[0][0]),
        str(tx.fetch(JOURNAL_MODE)[0][0]),
        int(tx.fetch(FREE_PAGES)[0][0]),
    )


def check_sqlite_file(tx: Tx) -> str:
    """Read the whole file; "ok", or the first thing that is wrong with it."""
    return str(tx.fetch(QUICK_CHECK)[0][0])


def read_postgres_facts(tx: Tx) -> PostgresFacts:
    row = tx.driver.execute(POSTGRES_FACTS).fetchone()
    version, number, connections_max, is_standby, now, connections, longest_s = row
    unsafe = tx.driver.execute(POSTGRES_SAFETY).fetchall()
    return PostgresFacts(
        str(version),
        int(number),
        int(connections_max),
        int(connections),
        bool(is_standby),
        int(now),
        float(longest_s),
        tuple(str(each[0]) for each in unsafe),
    )

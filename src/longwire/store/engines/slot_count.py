"""How many slots a PostgreSQL has: decided when it is made, and changed while nobody uses it."""

from longwire.errors import OperatorError
from longwire.store import instance, schema
from longwire.store.database import Tx
from longwire.store.slots import BUCKETS
from longwire.store.statement import Sql, Statement

SLOTS_FACT = "slots"
COUNTS = tuple(2**power for power in range(BUCKETS.bit_length()))  # that there may be

# In a database that was moved from SQLite, whose numbers of devices do not carry a part.
ONE_SLOT_FACT = "numbered_by"
NUMBERED_BY_SQLITE = (
    "The devices of this database were numbered by SQLite, so it has one slot and no more."
)
ONLY_POSTGRES = "Slots are for PostgreSQL; SQLite has one writer, and one slot."

LOCK_NODES = Statement("""
lock table node in exclusive mode
""")

HAS_LIVING_NODES = Statement("""
select 1
from node
where until_at > cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)
limit 1
""")

# A process that stood still finds that it has lost its number, and exits.
END_NODES = Statement("""
update node
set holder = '',
    until_at = cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)
""")

REWRITE = """
update {table}
set slot = {new_slot}
where slot <> {new_slot}
"""
# Both as in `slots`; the count divides the number of the finest parts.
_OF_NUMBER = "mod({column}, :count)"
_OF_ID = "mod(get_byte(sha256(convert_to({column}, 'UTF8')), 0), :count)"


class SlotsFixed(OperatorError):
    """The number of slots cannot be what was asked for."""


def get(tx: Tx) -> int | None:
    """How many slots the database has; None if that was not decided yet."""
    found = instance.get_fact(tx, SLOTS_FACT)
    return None if found is None else int(found)


def require(tx: Tx, wanted: int) -> int:
    """Decide how many there are, or compare; 0 wants those that there are, or one."""
    if not tx.is_postgres:
        if wanted > 1:
            raise SlotsFixed(ONLY_POSTGRES)
        return 1
    _require_valid(wanted or 1)
    found = get(tx)
    if found is None:
        instance.insert_fact(tx, SLOTS_FACT, str(wanted or 1))
        return wanted or 1
    if wanted and wanted != found:
        raise SlotsFixed(
            f"This database has {found} slots, and database_slots is {wanted}. Set {found}, or stop"
            f" all processes and run `longwire migrate --slots {wanted}`."
        )
    return found


def change(tx: Tx, count: int) -> None:
    """Give every row its slot among so many, while no process uses the database."""
    if not tx.is_postgres:
        raise SlotsFixed(ONLY_POSTGRES)
    _require_valid(count)
    require_unused(tx)
    rewrite(tx, count)


def require_unused(tx: Tx) -> None:
    """No process uses the database, and none starts before this transaction ends."""
    tx.run(LOCK_NODES)
    if tx.fetch(HAS_LIVING_NODES):
        raise SlotsFixed("Processes use this database; stop all of them, and retry.")
    tx.run(END_NODES)


def rewrite(tx: Tx, count: int) -> None:
    """The same in a database that nobody can use yet."""
    _require_valid(count)
    if count > 1 and instance.get_fact(tx, ONE_SLOT_FACT) is not None:
        raise SlotsFixed(NUMBERED_BY_SQLITE)
    for table in schema.metadata.sorted_tables:
        column = table.info.get(schema.SLOT_BY, schema.TRANSACTION)
        if column != schema.TRANSACTION:
            template = _OF_ID if column == "device_id" else _OF_NUMBER
            slot = Sql(template, column=column)
            tx.run(Statement(REWRITE, table=table.name, new_slot=slot), count=count)
    instance.save_fact(tx, SLOTS_FACT, str(count))


def _require_valid(count: int) -> None:
    if count not in COUNTS:
        raise SlotsFixed(f"The number of slots is a power of two, up to {BUCKETS}.")

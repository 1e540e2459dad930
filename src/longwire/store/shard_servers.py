"""The workers of a Citus database that hold its slots, and a pool of connections to each.

A commit of records holds one slot, so what it writes can go straight to the worker that has it: a
worker knows where every shard is, as the coordinator does. Where the slots are is read from the
coordinator, now and then and after an error. A slot whose worker cannot be used is left to the
coordinator, which is what happens to all of them on an ordinary PostgreSQL.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
import sqlalchemy as sa
import structlog

from longwire.store.database import ShardStatus
from longwire.store.postgres_connections import Address, ServerConnector, cut_after

REFRESH_INTERVAL_S = 10.0
# A slot whose commit needed the coordinator, or failed, goes through it for so long.
LEFT_FOR_S = 1.0
PROBE_TIMEOUT_S = 3
SESSION_MAX_S = 10.0
HOLD_INTERVAL_S = 0.5
CLOSE_TIMEOUT_S = 5.0

HAS_SHARDS = """
select to_regclass('pg_dist_placement') is not null
"""

# Of those that the coordinator does not hold itself.
LIST_PLACES = """
select s.slot, n.nodename, n.nodeport
from generate_series(0, %(slots)s - 1) as s (slot)
join pg_dist_placement p
    on p.shardid = get_shard_id_for_distribution_column('arrival', cast(s.slot as smallint))
join pg_dist_node n
    on n.groupid = p.groupid
where n.groupid > 0
    and n.noderole = 'primary'
    and n.isactive
    and n.metadatasynced
    and exists (
        select 1
        from pg_dist_partition
        where logicalrelid = cast('arrival' as regclass)
    )
"""

# A name may lead to another server from here than it does from the coordinator, or to one that was
# replaced by its standby.
GET_IDENTITY = """
select concat_ws(' ', s.system_identifier, c.timeline_id)
from pg_control_system() s
cross join pg_control_checkpoint() c
"""
GET_IDENTITIES = """
select nodename, nodeport, result
from run_command_on_workers(%(command)s)
where success
"""
SET_TIMEOUT = "select set_config('citus.node_connection_timeout', %s, false)"

# What makes a server lose what it has confirmed.
LIST_UNSAFE = """
select name
from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit')
    and setting = 'off'
order by name
"""

# Other than idle: it may still commit.
IS_ALIVE = """
select 1
from pg_stat_activity
where pid = %s
    and state is distinct from 'idle'
"""

log = structlog.get_logger()


class ShardPool(NamedTuple):
    address: Address
    engine: sa.Engine
    identity: str = ""  # of the server that its connections lead to


class _NotUsable(Exception):
    """Why a worker is not used."""


class ShardServers:
    """Which worker has a slot, and the pool of connections to it."""

    def __init__(
        self,
        connector: ServerConnector,
        create_engine: Callable[[ServerConnector], sa.Engine],
        slots: Callable[[], int],
    ) -> None:
        self._connector = connector
        self._create_engine = create_engine
        self._slots = slots
        self._pools: dict[Address, ShardPool] = {}
        self._by_slot: dict[int, ShardPool] = {}
        self._left_until: dict[int, float] = {}  # by slot
        self._direct = 0  # commits on a worker
        self._declined = 0  # those that the coordinator made instead
        self._dropped: set[Address] = set()  # since the last refresh has begun
        self._placed: set[Address] = set()  # all that have a slot
        self._lock = threading.Lock()  # for the above, and for who has which slot
        self._stale = threading.Event()
        self._closing = threading.Event()
        self._failure: str | None = None
        self._usable: set[Address] = set()
        self._refused: dict[Address, str | None] = {}
        self._thread = threading.Thread(target=self._run, name="shard-servers", daemon=True)

    def start(self) -> None:
        """Find the workers, unless this database has none and never gets any while it is used."""
        with self._open(self._connector) as session:
            found = session.execute(HAS_SHARDS).fetchone()
        if found is not None and found[0]:
            self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._stale.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_TIMEOUT_S)
        for pool in list(self._pools.values()):
            pool.engine.dispose()

    def find(self, slot: int) -> ShardPool | None:
        """The worker that has a slot, for a commit; None if the coordinator has to make it."""
        pool = self._by_slot.get(slot)
        if pool is None or time.monotonic() < self._left_until.get(slot, 0.0):
            self._note_declined()
            return None
        return pool

    def leave(self, slot: int) -> None:
        """Leave a slot to the coordinator for a moment, with the commit that is tried."""
        self._left_until[slot] = time.monotonic() + LEFT_FOR_S
        self._note_declined()

    def note_commit(self) -> None:
        with self._lock:
            self._direct += 1

    def _note_declined(self) -> None:
        with self._lock:
            self._declined += 1

    @property
    def status(self) -> ShardStatus:
        with self._lock:
            used = {pool.address for pool in self._by_slot.values()}
            left = self._placed - used
            return ShardStatus(len(used), len(left), self._direct, self._declined)

    def drop(self, pool: ShardPool, error: BaseException) -> None:
        """Leave the slots of a worker that failed to the coordinator, until it is found to respond.

        Nothing is lost if it was another server by now: it is found again as well.
        """
        with self._lock:
            self._dropped.add(pool.address)
            self._by_slot = {
                slot: at for slot, at in self._by_slot.items() if at.address != pool.address
            }
        host, port = pool.address
        log.warning("worker not used", host=host, port=port, error=str(error).strip())
        self._stale.set()

    def hold_while_alive(
        self, connection: sa.Connection, address: Address, pid: int, until: float
    ) -> None:
        """Close a connection to the coordinator, and so end what it locks, when it may be.

        That is when a session of the worker, whose commit has an unknown outcome, is gone.
        """
        arguments = (connection, address, pid, until)
        threading.Thread(
            target=self._hold, args=arguments, name="unknown-outcome", daemon=True
        ).start()

    def _hold(self, connection: sa.Connection, address: Address, pid: int, until: float) -> None:
        try:
            while time.monotonic() < until and self._is_alive(address, pid):
                if self._closing.wait(HOLD_INTERVAL_S):
                    break
        finally:
            driver: Any = connection.connection.dbapi_connection
            driver.close()  # without waiting for the server
            with suppress(sa.exc.SQLAlchemyError, psycopg.Error):
                connection.close()

    def _is_alive(self, address: Address, pid: int) -> bool:
        try:
            with self._open(self._connector.at(address)) as session:
                return session.execute(IS_ALIVE, (pid,)).fetchone() is not None
        except (psycopg.Error, OSError):
            return True  # for all that is known

    def _run(self) -> None:
        while not self._closing.is_set():
            self._stale.clear()
            failure: str | None = None
            try:
                is_complete = self._refresh()
            except (psycopg.Error, OSError) as error:
                with self._lock:
                    self._by_slot = {}
                is_complete = False
                failure = _describe(error)
            if failure is not None and failure != self._failure:
                log.warning("workers of the database not known", error=failure)
            self._failure = failure
            self._stale.wait(REFRESH_INTERVAL_S if is_complete else LEFT_FOR_S)
            self._closing.wait(LEFT_FOR_S)  # not more often, whatever happens

    def _refresh(self) -> bool:
        """Read where the slots are; whether all workers can be used."""
        with self._lock:
            self._dropped.clear()
        with self._open(self._connector) as session:
            slots = {"slots": self._slots()}
            places: list[Any] = session.execute(LIST_PLACES, slots).fetchall()
            session.execute(SET_TIMEOUT, (f"{PROBE_TIMEOUT_S}s",))
            rows: list[Any] = session.execute(GET_IDENTITIES, {"command": GET_IDENTITY}).fetchall()
        by_slot = {slot: (str(host), int(port)) for slot, host, port in places}
        wanted = set(by_slot.values())
        known = {(str(host), int(port)): str(result) for host, port, result in rows}
        usable = {each: known[each] for each in wanted if self._may_use(each, known.get(each))}
        self._renew_pools(usable)
        with self._lock:
            self._placed = wanted
            pools = {each: at for each, at in self._pools.items() if each not in self._dropped}
            self._by_slot = {
                slot: pools[address] for slot, address in by_slot.items() if address in pools
            }
        if usable.keys() != self._usable:
            self._usable = set(usable)
            log.info("workers of the database", used=len(usable), of=len(wanted))
        return pools.keys() == wanted

    def _renew_pools(self, identities: Mapping[Address, str]) -> None:
        """Have a pool for each of these servers, and no connection to any other."""
        before = self._pools
        self._pools = {
            address: pool
            for address, pool in before.items()
            if pool.identity == identities.get(address)
        }
        for address in before.keys() - self._pools.keys():
            before[address].engine.dispose()
        for address in identities.keys() - self._pools.keys():
            engine = self._create_engine(self._connector.at(address))
            self._pools[address] = ShardPool(address, engine, identities[address])

    def _may_use(self, address: Address, identity: str | None) -> bool:
        """Whether it responds, is what the coordinator knows by this name, and loses nothing."""
        reason: str | None = None
        try:
            self._examine(address, identity)
        except (_NotUsable, psycopg.Error, OSError) as error:
            reason = _describe(error)
        if reason is not None and reason != self._refused.get(address):
            log.warning("worker not used", host=address[0], port=address[1], error=reason)
        self._refused[address] = reason
        return reason is None

    def _examine(self, address: Address, identity: str | None) -> None:
        if identity is None:
            raise _NotUsable("the coordinator does not reach it")
        with self._open(self._connector.at(address)) as session:
            found = session.execute(GET_IDENTITY).fetchone()
            if found is None or found[0] != identity:
                raise _NotUsable("the coordinator has another server by this name")
            unsafe = [name for (name,) in session.execute(LIST_UNSAFE).fetchall()]
        if unsafe:
            raise _NotUsable(f"it may lose what it has confirmed: {', '.join(unsafe)} = off")

    @contextmanager
    def _open(self, connector: ServerConnector) -> Iterator[psycopg.Connection[Any]]:
        """A session for a moment."""
        options = {"autocommit": True, "connect_timeout": PROBE_TIMEOUT_S}
        with closing(connector.open(**options)) as session, cut_after(session, SESSION_MAX_S):
            yield session


def _describe(error: Exception) -> str:
    return str(error).strip() or type(error).__name__

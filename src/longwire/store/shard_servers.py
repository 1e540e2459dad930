"""The workers of a Citus database that hold its slots, and a pool of connections to each.

A commit of records holds one slot, so what it writes can go straight to the worker that has it: a
worker knows where every shard is, as the coordinator does. Where the slots are is read from the
coordinator, now and then and after an error. A slot whose worker cannot be used is left to the
coordinator, which is what happens to all of them on an ordinary PostgreSQL.
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import psycopg
import sqlalchemy as sa
import structlog

from longwire.store.postgres_connections import Address, ServerConnector

REFRESH_INTERVAL_S = 10.0
# A slot whose commit needed the coordinator, or failed, goes through it for so long.
LEFT_FOR_S = 1.0
PROBE_TIMEOUT_S = 3

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

# A name may lead to another server from here than it does from the coordinator.
GET_IDENTITY = "select system_identifier from pg_control_system()"
GET_IDENTITIES = f"""
select nodename, nodeport, result
from run_command_on_workers('{GET_IDENTITY}')
where success
"""
SET_TIMEOUT = "select set_config('citus.node_connection_timeout', %s, false)"

log = structlog.get_logger()


class ShardPool(NamedTuple):
    address: Address
    engine: sa.Engine


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
        self.commits = 0  # that were made on a worker
        self._stale = threading.Event()
        self._closing = threading.Event()
        self._failure = ""
        self._usable: set[Address] = set()
        self._thread = threading.Thread(target=self._run, name="shard-servers", daemon=True)

    def start(self) -> None:
        """Find the workers, unless this database has none and never gets any while it is used."""
        with closing(self._connector.open(autocommit=True)) as session:
            found = session.execute(HAS_SHARDS).fetchone()
        if found is not None and found[0]:
            self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._stale.set()
        if self._thread.is_alive():
            self._thread.join()
        for pool in self._pools.values():
            pool.engine.dispose()

    def find(self, slot: int) -> ShardPool | None:
        """The worker that has a slot; None if the coordinator has to be asked."""
        pool = self._by_slot.get(slot)
        if pool is None or time.monotonic() < self._left_until.get(slot, 0.0):
            return None
        return pool

    def leave(self, slot: int, error: Exception | None = None) -> None:
        """Leave a slot to the coordinator for a moment; an error says that its worker failed."""
        self._left_until[slot] = time.monotonic() + LEFT_FOR_S
        pool = self._by_slot.get(slot)
        if error is not None and pool is not None:
            log.warning(
                "worker not used", host=pool.address[0], port=pool.address[1], error=str(error)
            )
            # Until it is found to respond again.
            self._by_slot = {each: at for each, at in self._by_slot.items() if at is not pool}
            self._stale.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._stale.clear()
            try:
                is_complete = self._refresh()
                failure = ""
            except psycopg.Error as error:
                self._by_slot, is_complete = {}, False
                failure = str(error).strip()
            if failure != self._failure:
                self._failure = failure
                log.warning("workers of the database not known", error=failure)
            self._stale.wait(REFRESH_INTERVAL_S if is_complete else LEFT_FOR_S)
            self._closing.wait(LEFT_FOR_S)  # not more often, whatever happens

    def _refresh(self) -> bool:
        """Read where the slots are; whether all workers can be used."""
        with closing(self._connector.open(autocommit=True)) as session:
            slots = {"slots": self._slots()}
            places: list[Any] = session.execute(LIST_PLACES, slots).fetchall()
            by_slot = {slot: (str(host), int(port)) for slot, host, port in places}
            wanted = set(by_slot.values())
            lost = wanted - {pool.address for pool in self._by_slot.values()}
            usable = wanted - lost | self._find_usable(session, lost)
        for address in usable - self._pools.keys():
            connector = self._connector.at(address)
            self._pools[address] = ShardPool(address, self._create_engine(connector))
        self._by_slot = {
            slot: self._pools[address] for slot, address in by_slot.items() if address in usable
        }
        if usable != self._usable:
            self._usable = usable
            log.info("workers of the database", used=len(usable), of=len(wanted))
        return usable == wanted

    def _find_usable(
        self, session: psycopg.Connection[Any], addresses: set[Address]
    ) -> set[Address]:
        """Those that respond from here, and are what the coordinator knows by these names."""
        if not addresses:
            return set()
        session.execute(SET_TIMEOUT, (f"{PROBE_TIMEOUT_S}s",))
        rows: list[Any] = session.execute(GET_IDENTITIES).fetchall()
        known = {(str(host), int(port)): str(result) for host, port, result in rows}
        return {each for each in addresses & known.keys() if self._identify(each) == known[each]}

    def _identify(self, address: Address) -> str | None:
        options = {"autocommit": True, "connect_timeout": PROBE_TIMEOUT_S}
        try:
            with closing(self._connector.at(address).open(**options)) as session:
                found = session.execute(GET_IDENTITY).fetchone()
        except psycopg.Error as error:
            log.warning(
                "worker not reachable", host=address[0], port=address[1], error=str(error).strip()
            )
            return None
        return None if found is None else str(found[0])

"""This process among those on one PostgreSQL: its number, by a lease that it renews.

A number is part of every sequence number that a process takes, so no two may have the same. A lock
of a session would say so at once, but neither survives a failover nor a pooler between us and the
server; a row does. The lease is renewed every few seconds, on a connection of its own. Without it
nothing is written, and no message is sent. A number is given to somebody else only after nothing of
its former holder can be under way.

Who else lives is read with each renewal. Times are those of the server.
"""

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import structlog

from longwire.clock import SECOND
from longwire.errors import Unavailable
from longwire.store.database import Cluster, NodeRole
from longwire.store.engines.postgres_connections import ConnectionWatch

LEASE_S = 10.0
RENEWAL_INTERVAL_S = 2.5
RENEWAL_TIMEOUT_S = 5.0
RETRY_INTERVAL_S = 0.25
# Longer than any transaction.
QUARANTINE_S = 600.0

_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"

LIST_TAKEN = f"""
select number
from node
where until_at > {_NOW} - %(quarantine)s
"""

ACQUIRE = f"""
insert into node (number, holder, role, until_at)
values (%(number)s, %(holder)s, %(role)s, {_NOW} + %(lasts)s)
on conflict (number) do update
set holder = excluded.holder,
    role = excluded.role,
    until_at = excluded.until_at
where node.until_at <= {_NOW} - %(quarantine)s
"""

# A standby need not know: if it is promoted, the lease is some seconds older than it was.
WAIT_FOR_NO_STANDBY = "set local synchronous_commit = local"

RENEW = f"""
update node
set until_at = {_NOW} + %(lasts)s
where number = %(number)s
    and holder = %(holder)s
"""

LIST_LIVING = f"""
select number, role
from node
where until_at > {_NOW}
order by number
"""

# What belongs to other users is null, unless we may see it. Our own commits we always see.
READ_REPLICATION = """
select
    (
        select count(*)
        from pg_stat_replication
        where sync_state in ('sync', 'quorum')
            and state = 'streaming'
    ),
    (
        select count(*)
        from pg_stat_replication
        where sync_state is null
    ),
    (
        select coalesce(extract(epoch from max(clock_timestamp() - state_change)), 0)::float8
        from pg_stat_activity
        where wait_event = 'SyncRep'
    )
"""

RELEASE = """
delete from node
where number = %(number)s
    and holder = %(holder)s
"""

log = structlog.get_logger()

Session = psycopg.Connection[Any]


class NodeLease:
    """Holds a number until it is closed."""

    def __init__(
        self,
        connect: Callable[[], Session],
        on_taken: Callable[[str], None],
        watch: ConnectionWatch,
        is_left: Callable[[Session, float], bool],
    ) -> None:
        """`on_taken` is called once, when another process has the number.

        `is_left` says whether the server of a session that was opened then is used no more.
        """
        self._is_left = is_left
        self._connect = connect
        self._on_taken = on_taken
        self._watch = watch
        self._closing = threading.Event()
        self._changed = threading.Condition()
        self._held_until = 0.0  # monotonic, like the next one
        self._held_since = 0.0
        self._values: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name="node-lease", daemon=True)
        self.cluster = Cluster(0)

    def acquire(self, first: int, count: int, role: NodeRole) -> int:
        """Take the first free number of `count`, beginning with `first`."""
        self._values = {
            "holder": secrets.token_hex(8),
            "role": role.value,
            "lasts": int(LEASE_S * SECOND),
            "quarantine": int(QUARANTINE_S * SECOND),
        }
        with self._connect() as session:
            asked_at = time.monotonic()
            taken = {number for (number,) in session.execute(LIST_TAKEN, self._values)}
            for offset in range(count):
                self._values["number"] = number = (first + offset) % count
                if number not in taken and session.execute(ACQUIRE, self._values).rowcount:
                    self._hold(asked_at, *_read_cluster(session))
                    self._thread.start()
                    return number
        raise Unavailable(
            f"{count:,} processes write to this database already, which is the most that it "
            "can tell apart. Stop some of them."
        )

    @property
    def held_since(self) -> float | None:
        """Since when it is held without a pause, as a monotonic time; None if it is not."""
        return self._held_since if time.monotonic() < self._held_until else None

    def wait(self, timeout_s: float) -> bool:
        """Whether it is held, now or within the timeout."""
        if time.monotonic() < self._held_until:
            return True
        with self._changed:
            return self._changed.wait_for(lambda: self.held_since is not None, timeout_s)

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _hold(
        self, asked_at: float, roles: dict[int, NodeRole], standbys: int | None, wait_s: float
    ) -> None:
        with self._changed:
            if self.held_since is None:
                self._held_since = asked_at
            self._held_until = asked_at + LEASE_S
            self.cluster = Cluster(self._values["number"], roles, standbys, wait_s)
            self._changed.notify_all()

    def _run(self) -> None:
        session: Session | None = None
        opened_at = 0.0
        is_taken = False
        while not is_taken and not self._closing.wait(
            RENEWAL_INTERVAL_S if session is not None else RETRY_INTERVAL_S
        ):
            if session is not None and self._is_left(session, opened_at):
                session.close()
                session = None
            try:
                if session is None:
                    opened_at = time.monotonic()
                    session = self._connect()
                is_taken = not self._renew(session)
            except psycopg.Error as error:
                log.warning("node lease not renewed", error=str(error).strip())
                if session is not None:
                    session.close()
                session = None
        if is_taken:
            self._held_until = 0.0
            self._on_taken(f"the number {self._values['number']} is that of another process")
            if session is not None:
                session.close()
        else:
            self._release(session)

    def _renew(self, session: Session) -> bool:
        """Whether the number is still ours."""
        asked_at = time.monotonic()
        with (
            self._watch.watch(session, asked_at + RENEWAL_TIMEOUT_S),
            session.transaction(),
        ):
            session.execute(WAIT_FOR_NO_STANDBY)
            # A promoted standby may not know of us yet.
            renewed = session.execute(RENEW, self._values).rowcount
            if not renewed and not session.execute(ACQUIRE, self._values).rowcount:
                return False
            found = _read_cluster(session)
        self._hold(asked_at, *found)
        return True

    def _release(self, session: Session | None) -> None:
        """Give the number back at once: nothing of this process is under way."""
        try:
            deadline = time.monotonic() + RENEWAL_TIMEOUT_S
            with session or self._connect() as used, self._watch.watch(used, deadline):
                used.execute(RELEASE, self._values)
        except psycopg.Error as error:
            log.warning("node lease not released", error=str(error).strip())


def _read_cluster(session: Session) -> tuple[dict[int, NodeRole], int | None, float]:
    roles = {number: NodeRole(role) for number, role in session.execute(LIST_LIVING)}
    standbys, hidden, wait_s = session.execute(READ_REPLICATION).fetchall()[0]
    return roles, None if hidden else standbys, wait_s

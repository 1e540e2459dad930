"""The number of this process among those that write to one PostgreSQL, held by an advisory lock.

The lock belongs to a session of its own, which is watched: when it ends, writes wait until the same
number is held again. If another process has taken it, this one must not write any more.
"""

import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import structlog

from longwire.errors import Unavailable
from longwire.store.postgres_connections import ConnectionWatch

WRITER_LOCKS = 71_055_119  # any number, the same in every process
CHECK_INTERVAL_S = 5.0
CHECK_TIMEOUT_S = 10.0
RECONNECT_AFTER_S = 0.1

TRY_LOCK = "select pg_try_advisory_lock(%(locks)s, %(number)s)"

# True for each session with this process id that holds the lock: it is asked to end.
END_SESSION = """
select pg_terminate_backend(pid)
from pg_locks
where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())
    and classid = %(locks)s
    and objid = %(number)s
    and granted
    and pid = %(pid)s
"""

log = structlog.get_logger()

Session = psycopg.Connection[Any]


class WriterLock:
    """Holds a number, and holds it again after the connection was lost."""

    def __init__(
        self,
        connect: Callable[[], Session],
        on_taken: Callable[[str], None],
        watch: ConnectionWatch,
    ) -> None:
        """`on_taken` is called once, when another process holds the number."""
        self._watcher = watch
        self._connect = connect
        self._on_taken = on_taken
        self._is_held = threading.Event()
        self._is_closing = False
        self._wake, self._woken = socket.socketpair()
        self._thread: threading.Thread | None = None
        self.number = 0

    def acquire(self, first: int, count: int) -> int:
        """Hold the first free number of `count`, beginning with `first`, until closed."""
        session = self._connect()
        for offset in range(count):
            number = (first + offset) % count
            if _try_lock(session, number):
                break
        else:
            session.close()
            raise Unavailable(
                f"{count:,} processes write to this database already, which is the most that it "
                "can tell apart. Stop some of them."
            )
        self.number = number
        self._is_held.set()
        self._thread = threading.Thread(
            target=self._watch, args=(session,), name="writer-lock", daemon=True
        )
        self._thread.start()
        return number

    def wait(self, timeout_s: float) -> bool:
        """Whether the number is held, now or within the timeout."""
        return self._is_held.is_set() or self._is_held.wait(timeout_s)

    def close(self) -> None:
        self._is_closing = True
        self._wake.close()  # which ends every wait below
        if self._thread is not None:
            self._thread.join()
        self._woken.close()

    def _watch(self, session: Session) -> None:
        while True:
            while self._is_alive(session):
                pass
            self._is_held.clear()
            lost_pid = session.info.backend_pid
            session.close()
            if self._is_closing:
                return
            log.warning("writer number lost, acquiring it again", number=self.number)
            renewed = self._acquire_again(lost_pid)
            if renewed is None:
                return
            session = renewed
            self._is_held.set()

    def _is_alive(self, session: Session) -> bool:
        """Wait for the session to end, and ask now and then: a lost network says nothing."""
        with selectors.DefaultSelector() as selector:
            selector.register(session.fileno(), selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            selector.select(CHECK_INTERVAL_S)
        if self._is_closing:
            return False
        try:
            with self._watcher.watch(session, time.monotonic() + CHECK_TIMEOUT_S):
                session.execute("select 1")
        except psycopg.Error:
            return False
        return True

    def _acquire_again(self, lost_pid: int) -> Session | None:
        """A session that holds the number; None when closed, or when another process holds it."""
        while not self._is_closing:
            try:
                session = self._connect()
                if _try_lock(session, self.number):
                    return session
                is_ending = _end_session(session, self.number, lost_pid)
                session.close()
            except psycopg.Error:
                is_ending = True  # the server is away; writes fail meanwhile
            if not is_ending:
                self._on_taken(f"writer number {self.number} is held by another process")
                return None
            time.sleep(RECONNECT_AFTER_S)
        return None


def _try_lock(session: Session, number: int) -> bool:
    row = session.execute(TRY_LOCK, {"locks": WRITER_LOCKS, "number": number}).fetchone()
    return row is not None and bool(row[0])


def _end_session(session: Session, number: int, pid: int) -> bool:
    """End the lost session, if the server has not noticed; False if it does not hold the lock."""
    values = {"locks": WRITER_LOCKS, "number": number, "pid": pid}
    return session.execute(END_SESSION, values).fetchone() is not None

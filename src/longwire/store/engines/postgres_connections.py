"""Connections to PostgreSQL: opened by libpq's own URLs, and cut when the server does not respond.

The timeouts of a session are the server's, and its kernel keeps a connection alive: a server that
hangs is left by neither. So this process watches those of its connections that wait. When one has
waited for some time, its server is asked for something small on a new connection. If it does not
respond to that, all connections to it are cut, and the next ones go where the URL leads. A server
that responds is left alone until the deadline of the work.
"""

import contextlib
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import structlog
from psycopg import conninfo

from longwire.dataclass import dataclass
from longwire.errors import BadInput
from longwire.store.engines.postgres_timelines import Address, NewestTimelines

DEFAULT_PORT = 5432
CONNECT_TIMEOUT_S = 3  # for each host of the URL
# After so long, the server is asked whether it is there.
SLOW_S = 3.0
PROBE_TIMEOUT_S = 3
WATCH_INTERVAL_S = 0.25
# After a failure to connect, for so long nobody tries: else everything that is queued would wait
# for its own timeout, one after the other.
UNREACHABLE_S = 0.2

KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

log = structlog.get_logger()

Connection = psycopg.Connection[Any]


class RecentlyUnreachable(psycopg.OperationalError):
    """No server could be reached a moment ago."""


class CommitWarning(psycopg.OperationalError):
    """The server has committed, and has warned of something."""


class ServerConnector:
    """Opens connections to the server, or to one of the servers, that a URL names."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        try:
            parameters = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            # Not repeated here, nor as the cause: there may be a password in it.
            raise BadInput("The URL of the database is invalid.") from None
        ports = str(parameters.get("port", "")).split(",")
        if not all(each.isdecimal() for each in ports if each):
            raise BadInput("The port in the URL of the database is invalid.")
        hosts = str(parameters.get("host", "")).split(",")
        if len(hosts) > 1:
            # Of several servers, the one that can be written.
            parameters.setdefault("target_session_attrs", "read-write")
        # Those of which the newest primary is wanted.
        self._addresses: list[Address] = []
        wanted = {**parameters, **options}.get("target_session_attrs")
        is_primary = wanted in ("read-write", "primary") and "hostaddr" not in parameters
        ports = ports * len(hosts) if len(ports) == 1 else ports
        if is_primary and all(hosts) and len(hosts) == len(ports) > 1:
            self._addresses = [
                (host, int(port or DEFAULT_PORT)) for host, port in zip(hosts, ports, strict=True)
            ]
        self.timelines = NewestTimelines()
        self._parameters = {
            **parameters,
            "application_name": "longwire",
            "connect_timeout": CONNECT_TIMEOUT_S,
            **KEEPALIVE,
            **options,
        }
        self._unreachable_until = 0.0
        self._is_compared = False
        self._comparing = threading.Lock()

    def open(self, **options: Any) -> Connection:
        if time.monotonic() < self._unreachable_until:
            raise RecentlyUnreachable
        try:
            if not self._addresses:
                return psycopg.connect(**{**self._parameters, **options})
            return self._open_newest(**options)
        except psycopg.OperationalError:
            self._unreachable_until = time.monotonic() + UNREACHABLE_S
            raise

    @property
    def has_several(self) -> bool:
        """Whether there may be an old primary among the servers."""
        return bool(self._addresses)

    def _open_newest(self, **options: Any) -> Connection:
        with self._comparing:
            if not self._is_compared:
                self.compare()
        # First where it was last: a server that hangs, or is of the past, costs time.
        left = sorted(self._addresses, key=lambda each: not self.timelines.are_at(each))
        while left:
            hosts, ports = zip(*left, strict=True)
            places = {"host": ",".join(hosts), "port": ",".join(map(str, ports))}
            connection = psycopg.connect(**{**self._parameters, **places, **options})
            if self._is_newest(connection):
                return connection
            left.remove((connection.info.host, connection.info.port))
            connection.close()
        raise psycopg.OperationalError("only an old primary can be reached")

    def compare(self) -> None:
        """Look whether any other server is a newer primary."""
        self._is_compared = True
        for host, port in self._addresses:
            if self.timelines.are_at((host, port)):
                continue
            only = {"host": host, "port": port, "target_session_attrs": "any"}
            with (
                contextlib.suppress(psycopg.Error),
                contextlib.closing(psycopg.connect(**{**self._parameters, **only})) as found,
            ):
                self._is_newest(found)

    def _is_newest(self, connection: Connection) -> bool:
        with cut_after(connection, CONNECT_TIMEOUT_S):
            return self.timelines.admit(connection)

    def responds(self, address: Address) -> bool:
        """Whether one server still responds, be it with an error."""
        host, port = address
        only = {"host": host, "port": port, "hostaddr": None, "target_session_attrs": "any"}
        timeout = {"connect_timeout": PROBE_TIMEOUT_S, "autocommit": True}
        try:
            connection = psycopg.connect(**{**self._parameters, **only, **timeout})
        except psycopg.Error as error:
            return not isinstance(error, psycopg.errors.ConnectionTimeout)
        try:
            with connection, cut_after(connection, PROBE_TIMEOUT_S):
                connection.execute("select 1")
        except psycopg.Error as error:
            return error.sqlstate is not None
        return True


@contextlib.contextmanager
def raise_commit_warnings(connection: Connection) -> Iterator[None]:
    """Raise what the server warns of while it commits.

    If the wait for a standby is cancelled, the commit succeeds on the primary alone, and there is
    only a warning, with the code that most warnings have. What else it could warn of then puts the
    commit in doubt as well.
    """
    warnings: list[str] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            warnings.append(notice.message_primary or "")

    connection.add_notice_handler(note)
    try:
        yield
    finally:
        connection.remove_notice_handler(note)
    if warnings:
        raise CommitWarning(warnings[0])


@contextlib.contextmanager
def cut_after(connection: Connection, seconds: float) -> Iterator[None]:
    """Cut a connection that is used for longer, for those that no `ConnectionWatch` knows of."""
    with _duplicate_socket(connection) as duplicate:
        timer = threading.Timer(seconds, _shut_down, [duplicate])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


@dataclass(slots=True, eq=False)
class _Wait:
    """A connection that is in use."""

    connection: Connection
    socket: socket.socket
    began: float
    deadline: float
    is_cut: bool = False


class ConnectionWatch:
    """Cuts connections whose server hangs, or whose deadline has passed."""

    def __init__(
        self, responds: Callable[[Address], bool], on_hung: Callable[[Address], None]
    ) -> None:
        """`on_hung` is called when a server does not respond, before connections to it are cut."""
        self._responds = responds
        self._on_hung = on_hung
        self._waits: set[_Wait] = set()
        self._lock = threading.Lock()
        self._responded: dict[Address, float] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="database-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    @contextlib.contextmanager
    def watch(self, connection: Connection, deadline: float) -> Iterator[Callable[[], None]]:
        """Watch a connection while it is used; `deadline` is a monotonic time.

        Yields a function that lifts the deadline.
        """
        wait = _Wait(connection, _duplicate_socket(connection), time.monotonic(), deadline)
        with self._lock:
            self._waits.add(wait)
        try:
            yield partial(setattr, wait, "deadline", math.inf)
        finally:
            with self._lock:
                self._waits.discard(wait)
                wait.socket.close()

    def _run(self) -> None:
        while not self._closing.wait(WATCH_INTERVAL_S):
            if self._waits:
                try:
                    self._check()
                except Exception:
                    log.exception("watching connections to the database failed")

    def _check(self) -> None:
        now = time.monotonic()
        waits = self._list_waits()
        self._cut([wait for wait in waits if now >= wait.deadline], "deadline passed")
        slow = {_address_of(wait) for wait in waits if now - wait.began >= SLOW_S}
        for address in slow - {None}:
            assert address is not None
            if now - self._responded.get(address, -SLOW_S) < SLOW_S:
                continue
            if self._responds(address):
                self._responded[address] = now
                continue
            self._on_hung(address)
            self.cut_all(address, "server does not respond")

    def _list_waits(self) -> list[_Wait]:
        with self._lock:
            return list(self._waits)

    def cut_all(self, address: Address, reason: str) -> None:
        self._cut([wait for wait in self._list_waits() if _address_of(wait) == address], reason)

    def _cut(self, waits: list[_Wait], reason: str) -> None:
        cut = 0
        with self._lock:
            for wait in waits:
                if wait in self._waits and not wait.is_cut:  # else its socket is closed
                    _shut_down(wait.socket)
                    wait.is_cut = True
                    cut += 1
        if cut:
            log.warning("database connections cut", connections=cut, reason=reason)


def _duplicate_socket(connection: Connection) -> socket.socket:
    """A socket of our own on the connection: the driver may close its own at any time."""
    # The family is of no interest for shutting it down, and finding it out takes system calls.
    return socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, 0, fileno=os.dup(connection.pgconn.socket)
    )


def _shut_down(duplicate: socket.socket) -> None:
    with contextlib.suppress(OSError):
        duplicate.shutdown(socket.SHUT_RDWR)


def _address_of(wait: _Wait) -> Address | None:
    try:
        return wait.connection.info.host, wait.connection.info.port
    except psycopg.Error:
        return None  # it is closed

"""Connections that stay open between batches: opening, sharing, closing, and classifying errors.

The engine sends many messages concurrently and times each out by cancelling it, so no sender owns
a connection: senders lease the shared one. Everything a client library does happens under the
egress guard.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from longwire.delivery.destinations.base import FailureCode, Refused, Unreachable
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.http.egress import NOT_RESOLVED, Egress, EgressDenied

# Covers DNS lookup, connect, TLS and login.
CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 5.0
# A connection that nobody has used for so long is closed.
IDLE_MAX_S = 120.0
# If a send times out after this long and nothing was confirmed on the connection, treat it as dead.
SILENCE_MAX_S = 5.0
# Of one response, which is parsed at once. The largest are topic metadata, with some 40 bytes for a
# partition, and AMQP's frames of 128 KiB.
RESPONSE_BYTES_MAX = 256 * 1_024

NO_ROUTE_ERRNOS = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL}

CONNECTION_LOST = Unreachable("the connection was lost")
TIMED_OUT = Unreachable("timed out", code=FailureCode.TIMED_OUT)
NOT_TRUSTED = Unreachable("the certificate is not trusted", code=FailureCode.TLS_FAILED)
TLS_FAILED = Unreachable("TLS handshake failed", code=FailureCode.TLS_FAILED)
UNCONFIRMED = Unreachable("the connection was lost before the message was confirmed")


class Connection(Protocol):
    """A connection that can be shared."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent on it."""

    async def close(self) -> None:
        """Close it; also called after it was lost."""


ConnectionT = TypeVar("ConnectionT", bound=Connection)
T = TypeVar("T")


# --- sharing ---


class SharedConnection(Generic[ConnectionT]):
    """One connection for many concurrent senders.

    The first sender opens it, and all wait for the same attempt. After an error on it, current
    senders may finish and the next one opens another. It is closed when its last lease ends.
    """

    def __init__(
        self,
        egress: Egress,
        open_connection: Callable[[], Awaitable[ConnectionT]],
        *,
        keep_on_cancel: bool,
        open_timeout_s: float | None = None,
    ) -> None:
        """`keep_on_cancel` says whether the connection stays usable after a sender is cancelled.

        It does if dead peers are detected otherwise and a late confirmation does no harm.
        Opening may take `open_timeout_s`, by default CONNECT_TIMEOUT_S.
        """
        self._egress = egress
        self._open = open_connection
        self._keep_on_cancel = keep_on_cancel
        self._open_timeout_s = open_timeout_s
        self._current: _ConnectionEntry[ConnectionT] | None = None
        self._entries: set[_ConnectionEntry[ConnectionT]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._idle_timer: asyncio.TimerHandle | None = None

    @contextlib.asynccontextmanager
    async def lease(self) -> AsyncIterator[ConnectionT]:
        """The connection, under the egress guard.

        Raises what opening it failed with, and ConnectionAbortedError when it is closed meanwhile.
        """
        with self._egress.guarded():
            entry = self._get_or_create_entry()
            entry.users += 1
            try:
                # Shielded: others may wait for it, too.
                yield await asyncio.shield(entry.opening)
            except asyncio.CancelledError:
                if not _is_task_cancelled():
                    # Closed by us, or by the library, which cancels those who wait on it.
                    self._retire(entry)
                    raise ConnectionAbortedError from None
                if not self._keep_on_cancel:
                    self._retire(entry)
                raise
            except BaseException:
                self._retire(entry)
                raise
            finally:
                entry.users -= 1
                entry.used_at = asyncio.get_running_loop().time()
                self._evict_if_unused(entry)

    async def close(self) -> None:
        """Close everything, also connections that are in use."""
        with self._egress.guarded():
            if self._idle_timer is not None:
                self._idle_timer.cancel()
                self._idle_timer = None
            for entry in list(self._entries):
                self._evict(entry)
            while self._closing:
                await asyncio.wait(self._closing)

    def _get_or_create_entry(self) -> "_ConnectionEntry[ConnectionT]":
        if self._current is not None and self._current.is_finished:
            entry = self._current
            self._retire(entry)
            self._evict_if_unused(entry)
        if self._current is None:
            self._current = _ConnectionEntry(asyncio.create_task(self._open_in_time()))
            self._entries.add(self._current)
            if self._idle_timer is None:
                self._start_idle_timer(IDLE_MAX_S)
        return self._current

    def _start_idle_timer(self, delay_s: float) -> None:
        self._idle_timer = asyncio.get_running_loop().call_later(delay_s, self._evict_idle)

    def _evict_idle(self) -> None:
        """Close what is idle for too long, and look again when the rest may be."""
        self._idle_timer = None
        now = asyncio.get_running_loop().time()
        for entry in [each for each in self._entries if not each.users]:
            if now - entry.used_at >= IDLE_MAX_S:
                self._evict(entry)
        if self._entries:
            next_at = min(each.used_at for each in self._entries) + IDLE_MAX_S
            self._start_idle_timer(max(next_at - now, 1.0))

    async def _open_in_time(self) -> ConnectionT:
        async with asyncio.timeout(self._open_timeout_s or CONNECT_TIMEOUT_S):
            connection = await self._open()
        self._egress.open_connections.count += 1
        return connection

    def _retire(self, entry: "_ConnectionEntry[ConnectionT]") -> None:
        """Keep it for its current users only."""
        if self._current is entry:
            self._current = None

    def _evict_if_unused(self, entry: "_ConnectionEntry[ConnectionT]") -> None:
        is_wanted = self._current is entry and entry.is_open
        if not entry.users and (not is_wanted or self._egress.open_connections.is_crowded):
            self._evict(entry)

    def _evict(self, entry: "_ConnectionEntry[ConnectionT]") -> None:
        self._retire(entry)
        if entry in self._entries:
            self._entries.remove(entry)
            closing = asyncio.create_task(self._close(entry))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, entry: "_ConnectionEntry[ConnectionT]") -> None:
        if await entry.close():
            self._egress.open_connections.count -= 1


class _ConnectionEntry(Generic[ConnectionT]):
    """One connection, from the attempt to open it, and its number of users."""

    def __init__(self, opening: asyncio.Task[ConnectionT]) -> None:
        self.opening = opening
        self.users = 0
        # By the event loop's clock: when its last lease ended.
        self.used_at = asyncio.get_running_loop().time()
        # Retrieve the exception even if every waiter was cancelled, or asyncio warns.
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def is_open(self) -> bool:
        connection = self._connection
        return connection is not None and connection.is_open

    @property
    def is_finished(self) -> bool:
        return self.opening.done() and not self.is_open

    async def close(self) -> bool:
        """Close it; returns whether it had been opened."""
        self.opening.cancel()
        await asyncio.wait([self.opening])
        if self._connection is None:
            return False
        # Nothing is in flight on it any more, so errors do not matter.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._connection.close()
        return True

    @property
    def _connection(self) -> ConnectionT | None:
        opening = self.opening
        if not opening.done() or opening.cancelled() or opening.exception() is not None:
            return None
        return opening.result()


def _is_task_cancelled() -> bool:
    """Whether the current task itself is cancelled, not only something that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class PendingConfirmations(Generic[T]):
    """Confirmations awaited on one connection, by key; None means that the connection was lost."""

    def __init__(self, on_silence: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Hashable, asyncio.Future[T | None]] = {}
        self._on_silence = on_silence
        self._confirmed_at = self._loop.time()

    @contextlib.contextmanager
    def expect(self, key: Hashable) -> Iterator["asyncio.Future[T | None]"]:
        """Enter before sending, so that the confirmation cannot be missed."""
        since = self._loop.time()
        confirmation = self._waiting[key] = self._loop.create_future()
        try:
            yield confirmation
        except asyncio.CancelledError:
            is_silent = self._confirmed_at <= since
            if is_silent and self._loop.time() - since >= SILENCE_MAX_S:
                self._on_silence()
            raise
        finally:
            self._waiting.pop(key, None)

    def confirm(self, key: Hashable, confirmation: T) -> None:
        self._confirmed_at = self._loop.time()
        self._settle(key, confirmation)

    def fail_all(self) -> None:
        for key in list(self._waiting):
            self._settle(key, None)

    def _settle(self, key: Hashable, confirmation: T | None) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(confirmation)


# --- streams ---


class BoundedReader:
    """A stream reader with limits to the size of a frame, and to what a broker may send."""

    def __init__(self, reader: asyncio.StreamReader, limit: InboundLimit) -> None:
        self._reader = reader
        self._limit = limit

    async def readexactly(self, n: int) -> bytes:
        if n < 0:
            raise ConnectionError("the announced size is negative")
        if n > RESPONSE_BYTES_MAX:
            self._limit.refuse()
        self._limit.take(1, n)
        return await self._reader.readexactly(n)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


@functools.cache
def default_tls_context() -> ssl.SSLContext:
    """Trusts the system's CAs. Loading them is slow, so it is done once."""
    return ssl.create_default_context()


# --- errors ---


class ConnectionFailed(Exception):
    """A connection could not be opened, with an outcome that is more specific than the error."""

    def __init__(self, outcome: Refused | Unreachable) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def outcome_of_error(error: BaseException) -> Refused | Unreachable:
    """The outcome for a connection error. Its own text may be the peer's, so it is not shown."""
    match error:
        case ConnectionFailed():
            return error.outcome
        case EgressDenied():
            return Unreachable(str(error), is_final=True, code=FailureCode.EGRESS_DENIED)
        case ssl.SSLCertVerificationError():
            return NOT_TRUSTED
        case ssl.SSLError():
            return TLS_FAILED
        case socket.gaierror():
            return Unreachable(NOT_RESOLVED)
        case ConnectionRefusedError():
            return Unreachable("connection refused")
        case TimeoutError():
            return TIMED_OUT
        case OSError(errno=number) if number in NO_ROUTE_ERRNOS:
            return Unreachable("no route to host")
        case OSError() | EOFError():
            return CONNECTION_LOST
    return Unreachable("invalid response")

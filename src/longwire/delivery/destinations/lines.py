"""Connections that stay open between parcels: shared by their senders, guarded, and why they fail.

A library that keeps its own connection gets a socket from here, and a reader that does not read
without end. Whoever sends borrows the one connection there is; it is opened by the first who
wants it, left alone by the next once somebody had trouble with it, and closed when the last has
left it.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from longwire.delivery.egress import Egress

CLOSE_TIMEOUT_S = 5
TLS_GOODBYE_TIMEOUT_S = 1
# One answer of a broker; a list of topics is the largest that we ask for.
ANSWER_BYTES_MAX = 4_000_000

NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL}

Line = TypeVar("Line")


class BoundedReader(asyncio.StreamReader):
    """Refuses an answer that says it is going to be huge, before it fills our memory."""

    async def readexactly(self, n: int) -> bytes:
        if not 0 <= n <= ANSWER_BYTES_MAX:
            raise ConnectionError("the answer is too large")
        return await super().readexactly(n)


async def guarded(
    egress: Egress, host: str, port: int, tls: bool, protocol: asyncio.StreamReaderProtocol
) -> asyncio.Transport:
    """Connect a protocol to where the guard lets it; the certificate has to be the host's."""
    outgoing = await egress.connect(host, port)
    secured: dict[str, Any] = {}
    if tls:
        secured = {
            "ssl": trusting(),
            "server_hostname": host,
            "ssl_shutdown_timeout": TLS_GOODBYE_TIMEOUT_S,
        }
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: protocol, sock=outgoing, **secured
        )
    except BaseException:
        outgoing.close()
        raise
    return transport


@functools.cache
def trusting() -> ssl.SSLContext:
    """Trusts what this machine trusts. Reading that takes long, so it is read once."""
    return ssl.create_default_context()


def why(error: BaseException) -> str:
    """What went wrong with a connection, in our words."""
    match error:
        case ssl.SSLCertVerificationError():
            return "the certificate was not accepted"
        case ssl.SSLError():
            return "no secure connection could be made"
        case socket.gaierror():
            return "the name of the host does not resolve"
        case ConnectionRefusedError():
            return "connection refused"
        case TimeoutError():
            return "did not answer in time"
        case OSError(errno=number) if number in NO_WAY:
            return "there is no way to the host"
    return "the connection was lost"


def is_called_off() -> bool:
    """Whether the current task is being cancelled, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Shared(Generic[Line]):
    """One line for many users at a time."""

    def __init__(
        self,
        open_line: Callable[[], Coroutine[Any, Any, Line]],
        close_line: Callable[[Line], Awaitable[None]],
        is_usable: Callable[[Line], bool],
    ) -> None:
        """`open_line` has to end by itself, whatever the other side does."""
        self._open_line = open_line
        self._close_line = close_line
        self._is_usable = is_usable
        self._current: _Held[Line] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        """The line, for the time of a `with`; who leaves it with an error is its last new user."""
        held = self._usable()
        held.users += 1
        try:
            # Others may wait for it, too: one who gives up does not take it from them.
            yield await asyncio.shield(held.opening)
        except BaseException:
            self._retire(held)
            raise
        finally:
            held.users -= 1
            if held.is_retired and not held.users:
                self._let_go(held)

    async def close(self) -> None:
        """Let go of everything, also of what is still in use."""
        if self._current is not None:
            held = self._current
            self._retire(held)
            self._let_go(held)
        while self._closing:
            await asyncio.wait(self._closing)

    def _usable(self) -> "_Held[Line]":
        held = self._current
        if held is not None and held.is_open and not self._is_usable(held.opening.result()):
            self._retire(held)
            if not held.users:
                self._let_go(held)
        if self._current is None:
            self._current = _Held(asyncio.create_task(self._open_line()))
        return self._current

    def _retire(self, held: "_Held[Line]") -> None:
        held.is_retired = True
        if self._current is held:
            self._current = None

    def _let_go(self, held: "_Held[Line]") -> None:
        if held.is_let_go:
            return
        held.is_let_go = True
        task = asyncio.create_task(self._closed(held))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _closed(self, held: "_Held[Line]") -> None:
        held.opening.cancel()
        await asyncio.wait([held.opening])
        if held.is_open:
            # Nobody waits for anything on this line any more; how it ends is no news.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._close_line(held.opening.result())


class _Held(Generic[Line]):
    def __init__(self, opening: asyncio.Task[Line]) -> None:
        self.opening = opening
        self.users = 0
        self.is_retired = False
        self.is_let_go = False
        # Those who waited may have given up: then nobody else asks why it failed.
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def is_open(self) -> bool:
        opening = self.opening
        return opening.done() and not opening.cancelled() and opening.exception() is None

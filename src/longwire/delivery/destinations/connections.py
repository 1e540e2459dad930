"""Connections that stay open between parcels: how they are made, shared and closed, and what to say
when they fail.

The engine sends many messages at once and gives up on each by cancelling it, so nobody owns a
connection: senders borrow the one there is. Its socket has passed the guard, its reader does not
read without end, and what goes wrong with it is said in our words.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from longwire.delivery.destinations.base import Refused, Unreachable
from longwire.delivery.egress import Egress, EgressDenied

# From the name to the login, all of it.
CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 5.0
TLS_GOODBYE_TIMEOUT_S = 1
# Who gives up after so long without a confirmation for anybody shows that nobody is there.
SILENCE_MAX_S = 5.0
# One answer of a broker; a list of topics is the largest that we ask for.
ANSWER_BYTES_MAX = 4_000_000

NO_WAY = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL}

LOST = Unreachable("the connection was lost")
UNCONFIRMED = Unreachable("the connection was lost before the confirmation came")


class Connection(Protocol):
    """What can be shared."""

    @property
    def is_open(self) -> bool:
        """Whether it makes sense to send on it."""

    async def close(self) -> None:
        """Let go of it; also when it was lost before."""


ConnectionT = TypeVar("ConnectionT", bound=Connection)
T = TypeVar("T")


# --- sharing ---


class SharedConnection(Generic[ConnectionT]):
    """One connection for many senders at a time.

    Whoever wants it first opens it, and all wait for the same attempt. Once somebody had trouble
    with it, those who are on it may finish, and the next one opens another. It is closed when it
    is of no more use and its last user has left it.
    """

    def __init__(
        self,
        open_connection: Callable[[], Awaitable[ConnectionT]],
        *,
        survives_cancelling: bool,
        open_timeout_s: float | None = None,
    ) -> None:
        """`survives_cancelling` says whether a sender that is called off leaves it as it was.

        It does where something else notices a broker that is gone, and where a confirmation that
        comes late is for nobody and does no harm. Otherwise being called off counts as trouble.
        Opening may take `open_timeout_s`, or CONNECT_TIMEOUT_S.
        """
        self._open = open_connection
        self._survives_cancelling = survives_cancelling
        self._open_timeout_s = open_timeout_s
        self._current: _Loan[ConnectionT] | None = None
        self._loans: set[_Loan[ConnectionT]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def borrowed(self) -> AsyncIterator[ConnectionT]:
        """The connection, for the time of a `with`.

        Raises what opening it failed with, and ConnectionAbortedError when it is closed meanwhile.
        """
        loan = self._usable()
        loan.users += 1
        try:
            # Others may wait for it, too: one who gives up does not take it from them.
            yield await asyncio.shield(loan.opening)
        except asyncio.CancelledError:
            if not _is_called_off():
                # Somebody has closed it; the libraries, too, cancel those who wait on it then.
                self._retire(loan)
                raise ConnectionAbortedError from None
            if not self._survives_cancelling:
                self._retire(loan)
            raise
        except BaseException:
            self._retire(loan)
            raise
        finally:
            loan.users -= 1
            self._let_go_of_unused(loan)

    async def close(self) -> None:
        """Let go of everything, also of what is still in use."""
        for loan in list(self._loans):
            self._let_go(loan)
        while self._closing:
            await asyncio.wait(self._closing)

    def _usable(self) -> "_Loan[ConnectionT]":
        if self._current is not None and self._current.is_over:
            loan = self._current
            self._retire(loan)
            self._let_go_of_unused(loan)
        if self._current is None:
            self._current = _Loan(asyncio.create_task(self._opened()))
            self._loans.add(self._current)
        return self._current

    async def _opened(self) -> ConnectionT:
        async with asyncio.timeout(self._open_timeout_s or CONNECT_TIMEOUT_S):
            return await self._open()

    def _retire(self, loan: "_Loan[ConnectionT]") -> None:
        """It is for those who are on it, and for nobody else."""
        if self._current is loan:
            self._current = None

    def _let_go_of_unused(self, loan: "_Loan[ConnectionT]") -> None:
        is_wanted = self._current is loan and loan.is_open
        if not loan.users and not is_wanted:
            self._let_go(loan)

    def _let_go(self, loan: "_Loan[ConnectionT]") -> None:
        self._retire(loan)
        if loan in self._loans:
            self._loans.remove(loan)
            closing = asyncio.create_task(loan.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


class _Loan(Generic[ConnectionT]):
    """One connection, from the attempt to open it, and how many use it or wait for it."""

    def __init__(self, opening: asyncio.Task[ConnectionT]) -> None:
        self.opening = opening
        self.users = 0
        # Those who waited may have given up: then nobody else asks why it failed.
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def is_open(self) -> bool:
        connection = self._connection
        return connection is not None and connection.is_open

    @property
    def is_over(self) -> bool:
        return self.opening.done() and not self.is_open

    async def close(self) -> None:
        self.opening.cancel()
        await asyncio.wait([self.opening])
        if self._connection is not None:
            # Nobody waits for anything on it any more; how it ends is no news.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._connection.close()

    @property
    def _connection(self) -> ConnectionT | None:
        opening = self.opening
        if not opening.done() or opening.cancelled() or opening.exception() is not None:
            return None
        return opening.result()


def _is_called_off() -> bool:
    """Whether the current task is being cancelled, and not only something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Confirmations(Generic[T]):
    """Who waits for which confirmation on one connection. None stands for a lost connection."""

    def __init__(self, on_silence: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Hashable, asyncio.Future[T | None]] = {}
        self._on_silence = on_silence
        self._confirmed_at = self._loop.time()

    @contextlib.contextmanager
    def expected(self, key: Hashable) -> Iterator["asyncio.Future[T | None]"]:
        """To be entered before the confirmation can come."""
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

    def lose_all(self) -> None:
        for key in list(self._waiting):
            self._settle(key, None)

    def _settle(self, key: Hashable, confirmation: T | None) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(confirmation)


# --- sockets ---


class BoundedReader(asyncio.StreamReader):
    """Refuses an answer that says it is going to be huge, before it fills our memory."""

    async def readexactly(self, n: int) -> bytes:
        if not 0 <= n <= ANSWER_BYTES_MAX:
            raise ConnectionError("the answer is too large")
        return await super().readexactly(n)


async def guarded(
    egress: Egress,
    host: str,
    port: int,
    reader: asyncio.StreamReader,
    *,
    tls: bool = False,
    protocol: asyncio.StreamReaderProtocol | None = None,
) -> asyncio.StreamWriter:
    """Connect a reader to where the guard lets it; with TLS the certificate has to be the host's.

    A library may bring a protocol of its own.
    """
    loop = asyncio.get_running_loop()
    spoken = protocol or asyncio.StreamReaderProtocol(reader, loop=loop)
    outgoing = await egress.connect(host, port)
    secured: dict[str, Any] = {}
    if tls:
        secured = {
            "ssl": trusting(),
            "server_hostname": host,
            "ssl_shutdown_timeout": TLS_GOODBYE_TIMEOUT_S,
        }
    try:
        transport, _ = await loop.create_connection(lambda: spoken, sock=outgoing, **secured)
    except BaseException:
        outgoing.close()
        raise
    return asyncio.StreamWriter(transport, spoken, reader, loop)


@functools.cache
def trusting() -> ssl.SSLContext:
    """Trusts what this machine trusts. Reading that takes long, so it is read once."""
    return ssl.create_default_context()


# --- what went wrong ---


class NoConnection(Exception):
    """Why a connection could not be opened, for those who know more than an error says."""

    def __init__(self, outcome: Refused | Unreachable) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def failure(error: BaseException) -> Refused | Unreachable:
    """What to say of an error on the way there. The error's own text is somebody else's."""
    match error:
        case NoConnection():
            return error.outcome
        case EgressDenied():
            return Unreachable(str(error), is_final=True)
        case ssl.SSLCertVerificationError():
            return Unreachable("the certificate was not accepted")
        case ssl.SSLError():
            return Unreachable("no secure connection could be made")
        case socket.gaierror():
            return Unreachable("the name of the host does not resolve")
        case ConnectionRefusedError():
            return Unreachable("connection refused")
        case TimeoutError():
            return Unreachable("did not answer in time")
        case OSError(errno=number) if number in NO_WAY:
            return Unreachable("there is no way to the host")
        case OSError() | EOFError():
            return LOST
    return Unreachable("the other side gave an answer that was not understood")

"""A standing connection that many sends use at once, and the confirmations they wait for on it.

The engine sends to a broker many messages at once and gives up on each by cancelling it. So nobody
owns the connection: whoever needs it first opens it, all wait for the same attempt, and giving up
takes it from nobody else.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

from longwire.delivery.destinations.base import Refused, Unreachable
from longwire.delivery.destinations.lines import why
from longwire.delivery.egress import EgressDenied

# From the name to the login, all of it.
CONNECT_TIMEOUT_S = 5.0
# Who gives up after so long without a confirmation for anybody shows that nobody is there.
SILENCE_MAX_S = 5.0

CONNECTION_LOST = Unreachable("the connection was lost before the confirmation came")


class Connection(Protocol):
    """What can be kept."""

    @property
    def is_open(self) -> bool:
        """Whether it makes sense to send on it. If not, it has let go of everything by itself."""

    async def close(self) -> None:
        """Let go of it; also when it was lost before."""


ConnectionT = TypeVar("ConnectionT", bound=Connection)
T = TypeVar("T")


class NoConnection(Exception):
    """Why a connection could not be opened, for those who know more than an error says."""

    def __init__(self, outcome: Refused | Unreachable) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


class Standing(Generic[ConnectionT]):
    """A connection that is opened when somebody needs it, and again after it was lost."""

    def __init__(self, open_connection: Callable[[], Awaitable[ConnectionT]]) -> None:
        self._open = open_connection
        self._attempt: asyncio.Task[ConnectionT | NoConnection] | None = None
        self._waiting = 0

    async def get(self) -> ConnectionT:
        """The open connection, or NoConnection."""
        if self._attempt is None or self._is_over(self._attempt):
            self._attempt = asyncio.create_task(self._attempted())
        opened = await self._result_of(self._attempt)
        if isinstance(opened, NoConnection):
            raise opened
        return opened

    async def close(self) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is None:
            return
        attempt.cancel()
        await asyncio.wait({attempt})
        connection = self._opened_by(attempt)
        if connection is not None:
            await connection.close()

    async def _result_of(
        self, attempt: "asyncio.Task[ConnectionT | NoConnection]"
    ) -> ConnectionT | NoConnection:
        """Whoever gives up waiting leaves the attempt to the others; the last one ends it."""
        self._waiting += 1
        try:
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            asked = asyncio.current_task()
            if attempt.cancelled() and asked is not None and not asked.cancelling():
                return NoConnection(CONNECTION_LOST)  # closed while we waited
            raise
        finally:
            self._waiting -= 1
            if not self._waiting and not attempt.done():
                attempt.cancel()
                self._attempt = None

    async def _attempted(self) -> ConnectionT | NoConnection:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return await self._open()
        except NoConnection as error:
            return error
        except Exception as error:
            return NoConnection(unreachable(error))

    @staticmethod
    def _opened_by(attempt: "asyncio.Task[ConnectionT | NoConnection]") -> ConnectionT | None:
        if not attempt.done() or attempt.cancelled():
            return None
        opened = attempt.result()
        return None if isinstance(opened, NoConnection) else opened

    def _is_over(self, attempt: "asyncio.Task[ConnectionT | NoConnection]") -> bool:
        connection = self._opened_by(attempt)
        return attempt.done() and (connection is None or not connection.is_open)


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


def unreachable(error: Exception) -> Unreachable:
    """What to say of an error on the way there. The error's own text is somebody else's."""
    if isinstance(error, EgressDenied):
        return Unreachable(str(error), is_final=True)
    if isinstance(error, OSError | EOFError):
        return Unreachable(why(error))
    return Unreachable("the other side gave an answer that was not understood")

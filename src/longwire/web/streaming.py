"""Responses in chunks: sent as fast as the client reads, until it leaves or the service stops."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

import structlog

from longwire.errors import LongwireError, TooManyRequests
from longwire.web.asgi import Receive, Send
from longwire.web.request_cycle import ABORT
from longwire.web.routing import Stream, StreamResponse
from longwire.work.budgets import SharedBudget
from longwire.work.turns import CallerKey

# A stream may end in its own way when the service stops.
STOP_GRACE_S = 1.0
RETRY_AFTER_S = 10

log = structlog.get_logger()


class OpenStreams:
    """How many streams are open, by route, and by owner and caller."""

    def __init__(self) -> None:
        self._by_route: dict[str, SharedBudget] = {}
        self._by_caller: Counter[tuple[str, CallerKey]] = Counter()

    @contextlib.contextmanager
    def slot(self, path: str, stream: Stream, caller: CallerKey) -> Iterator[None]:
        """Hold one of the streams that a route may have open, or raise TooManyRequests.

        The last quarter of them is for owners that have none open.
        """
        key = (path, caller)
        if self._by_caller[key] >= stream.open_per_caller_max:
            raise TooManyRequests(
                f"You have {stream.open_per_caller_max} of these streams open, which is the"
                " maximum. Close one first.",
                retry_after_s=RETRY_AFTER_S,
            )
        budget = self._by_route.get(path)
        if budget is None:
            budget = self._by_route[path] = SharedBudget(stream.open_max, stream.open_max)
        if budget.take(caller.owner) is not None:
            raise TooManyRequests(
                "Too many of these streams are open at the moment.", retry_after_s=RETRY_AFTER_S
            )
        self._by_caller[key] += 1
        try:
            yield
        finally:
            budget.release(caller.owner)
            self._by_caller[key] -= 1
            if not self._by_caller[key]:
                del self._by_caller[key]


async def send_stream(
    stream: StreamResponse,
    headers: list[tuple[bytes, bytes]],
    receive: Receive,
    send: Send,
    stopping: asyncio.Event,
    *,
    has_body: bool,
) -> None:
    """Send head and chunks. A stream that fails is cut off, so that it does not look complete."""
    async with contextlib.aclosing(stream.chunks):
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if not has_body:
            await send({"type": "http.response.body", "body": b""})
            return
        sending = asyncio.create_task(_send_chunks(stream, send))
        ends = [asyncio.create_task(_disconnect(receive)), asyncio.create_task(_stop(stopping))]
        try:
            await asyncio.wait([sending, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, *ends):
                task.cancel()
            results = await asyncio.gather(sending, *ends, return_exceptions=True)
    failure = results[0]
    if failure is None:
        return
    if isinstance(failure, LongwireError):
        log.info("stream refused", reason=failure.message)  # a permission or a token has ended
    elif not isinstance(failure, asyncio.CancelledError):
        log.error("stream failed", exc_info=failure)
    await send({"type": ABORT})


async def _send_chunks(stream: StreamResponse, send: Send) -> None:
    async for chunk in stream.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await asyncio.sleep(0)  # neither of the two need have waited for anything
    await send({"type": "http.response.body", "body": b""})


async def _disconnect(receive: Receive) -> None:
    """The first message is the body of the request, although it has none."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _stop(stopping: asyncio.Event) -> None:
    await stopping.wait()
    await asyncio.sleep(STOP_GRACE_S)

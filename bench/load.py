"""A cheap load client: just enough HTTP/1.1 to keep a server busy.

It runs in its own process, so that it never shares the GIL with what it measures. Two modes: a
closed loop (each connection sends its next request after the response: maximum throughput) and an
open loop at a fixed rate (requests are due whether or not the last one is complete: latency without
coordinated omission).
"""

import asyncio
import gc
import itertools
import math
import time
from abc import ABC, abstractmethod
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple, cast

import uvloop

Requests = Callable[[int], bytes] | Sequence[bytes]

NO_RESPONSE = 0
"""The status counted for a request that was closed or timed out without a response."""

DRAIN_S_MAX = 10.0
"""How long requests in flight at the end may take before they count as failed."""


@dataclass(frozen=True)
class Result:
    """Result of one run. Latencies of an open loop count from the time a request was due."""

    requests: int
    seconds: float
    rate: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    statuses: dict[int, int]
    bytes_in: int
    client_cpu: float
    """Share of one core the client used; near 1.0 the client was the limit, not the server."""


class LoadFailed(Exception):
    """The run could not be measured."""


class UnexpectedStatus(LoadFailed):
    """Some responses had another status than the expected one, so the rate would be meaningless."""

    def __init__(self, result: Result, expected: int) -> None:
        super().__init__(f"expected only {expected}, got {result.statuses}")
        self.result = result


@dataclass(frozen=True, slots=True)
class Template:
    """A request whose body contains a number, so that all are different.

    Every `%d` in the body becomes the number; any other percent sign stays as it is. A second run
    against the same server starts at another `first`.
    """

    head: bytes
    body: bytes
    first: int = 0

    def __call__(self, number: int) -> bytes:
        return framed(self.head, self.body.replace(b"%d", b"%d" % (self.first + number)))


def run(
    host: str,
    port: int,
    make_request: Requests,
    *,
    connections: int = 32,
    seconds: float = 5.0,
    warmup_s: float = 1.0,
    rate: float | None = None,
    expect_status: int | None = 200,
) -> Result:
    """Load the server; a closed loop unless a rate (requests per second) is given.

    A sequence of requests is sent cyclically; a callable (a `Template`, or any function that can be
    pickled) returns the n-th one, counting warm-up. With `expect_status=None` every status is
    accepted.
    """
    result = _in_own_process(_Job(host, port, make_request, connections, seconds, warmup_s, rate))
    if expect_status is not None and set(result.statuses) != {expect_status}:
        raise UnexpectedStatus(result, expect_status)
    return result


def request(
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    host: str = "localhost",
) -> bytes:
    """One encoded request. Not for HEAD, whose responses have no body to wait for."""
    lines = head(method, path, headers=headers, host=host)
    return framed(lines, body) if body or method != "GET" else lines + b"\r\n\r\n"


def head(
    method: str, path: str, *, headers: Mapping[str, str] | None = None, host: str = "localhost"
) -> bytes:
    """The head of a request up to its content-length: the first part of a `Template`."""
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode("latin-1")


def framed(head: bytes, body: bytes) -> bytes:
    """A head and its body with the length between them."""
    return b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)


class Head(NamedTuple):
    """The parsed head of a response."""

    status: int
    body_bytes: int | None
    """None if the body is chunked."""
    closes: bool


@lru_cache(maxsize=1024)
def parse_head(head: bytes) -> Head:
    """Parse the head of a response, without the blank line.

    Cached, because heads are identical until the second in the date header changes: a lookup costs
    a tenth of parsing.
    """
    first, *lines = head.lower().split(b"\r\n")
    fields = {name: value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    status = int(first[9:12])
    closes = fields.get(b"connection") == b"close"
    if status in (204, 304):
        return Head(status, 0, closes)
    if fields.get(b"transfer-encoding") == b"chunked":
        return Head(status, None, closes)
    return Head(status, int(fields[b"content-length"]), closes)


def chunks_end(response: bytes, start: int) -> int | None:
    """Where the chunks that begin at `start` end, or None while the last one is missing."""
    while (line_end := response.find(b"\r\n", start)) >= 0:
        size = int(response[start:line_end], 16)
        start = line_end + 2 + size + 2
        if size == 0:
            return start if start <= len(response) else None
    return None


@dataclass(frozen=True, slots=True)
class _Job:
    """The configuration of the load process."""

    host: str
    port: int
    make_request: Requests
    connections: int
    seconds: float
    warmup_s: float
    rate: float | None


def _in_own_process(job: _Job) -> Result:
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        outcome: Result | LoadFailed = ours.recv()
    except EOFError:
        raise LoadFailed("the load process died; see its output above") from None
    finally:
        ours.close()
        process.join()
    if isinstance(outcome, LoadFailed):
        raise outcome
    return outcome


def _work(job: _Job, outcome: Connection) -> None:
    # A GC pause of the client would count as latency of the server; nothing here creates cycles.
    gc.disable()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            outcome.send(runner.run(_measure(job)))
        except LoadFailed as error:
            outcome.send(error)


async def _measure(job: _Job) -> Result:
    load = _ClosedLoop(job) if job.rate is None else _OpenLoop(job, job.rate)
    asyncio.get_running_loop().set_exception_handler(load.fail)
    await load.connect()
    result = await load.measure()
    load.disconnect()
    return result


def _numbered(make_request: Requests) -> Iterator[bytes]:
    if callable(make_request):
        return map(make_request, itertools.count())
    return itertools.cycle(make_request)


class _Tally:
    """Statuses and latencies of the responses in one interval."""

    __slots__ = ("bytes_in", "cpu_began_s", "latencies_s", "statuses")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.cpu_began_s = time.process_time()
        self.latencies_s = array("d")
        self.statuses: Counter[int] = Counter()

    def add_unanswered(self, due: float) -> None:
        self.latencies_s.append(time.perf_counter() - due)
        self.statuses[NO_RESPONSE] += 1

    def result(self, seconds: float) -> Result:
        if not self.latencies_s:
            raise LoadFailed(f"no response in {seconds:.1f} s")
        ordered = sorted(self.latencies_s)
        return Result(
            requests=len(ordered),
            seconds=seconds,
            rate=len(ordered) / seconds,
            p50_ms=1000 * _percentile(ordered, 0.50),
            p99_ms=1000 * _percentile(ordered, 0.99),
            max_ms=1000 * ordered[-1],
            statuses=dict(self.statuses),
            bytes_in=self.bytes_in,
            client_cpu=(time.process_time() - self.cpu_began_s) / seconds,
        )


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[math.ceil(share * len(ordered)) - 1]


class _Load(ABC):
    """Open connections, the requests they send, and the tally of the responses."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self.next_request = _numbered(job.make_request).__next__
        self.tally = _Tally()
        self.connections: set[_Connection] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.reconnecting: set[asyncio.Task[None]] = set()
        self.is_done = False

    @abstractmethod
    async def measure(self) -> Result:
        """Warm up, load, wait for what is in flight."""

    @abstractmethod
    def on_idle(self, connection: "_Connection", now: float) -> None:
        """A connection may send its next request."""

    def is_settled(self) -> bool:
        return all(connection.due is None for connection in self.connections)

    async def connect(self) -> None:
        await asyncio.gather(*(self._open() for _ in range(self.job.connections)))
        self.check()

    def disconnect(self) -> None:
        self.is_done = True
        for connection in self.connections:
            connection.transport.close()

    def on_lost(self, connection: "_Connection") -> None:
        """The server closed a connection: its request counts as failed; open another."""
        self.connections.discard(connection)
        self._count_unanswered(connection)
        if not self.is_done:
            task = asyncio.get_running_loop().create_task(self._reopen())
            self.reconnecting.add(task)
            task.add_done_callback(self.reconnecting.discard)

    def fail(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """An error in a callback ends the run."""
        if not self.failure.done():
            self.failure.set_exception(LoadFailed(context.get("exception") or context["message"]))

    async def keep_on(self, seconds: float) -> None:
        await asyncio.wait([self.failure], timeout=seconds)
        self.check()

    def check(self) -> None:
        if self.failure.done():
            self.failure.result()

    async def settle(self) -> None:
        """Wait for the responses in flight, so that slow ones are counted too."""
        ends_at = time.perf_counter() + DRAIN_S_MAX
        while not self.is_settled() and time.perf_counter() < ends_at:
            await self.keep_on(0.002)
        self.check()
        for connection in [held for held in self.connections if held.due is not None]:
            self._count_unanswered(connection)
            # Otherwise a late response could be taken for that of the next request.
            connection.transport.abort()

    async def _open(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                lambda: _Connection(self), self.job.host, self.job.port
            )
        except OSError as error:
            raise LoadFailed(f"no connection to the server: {error}") from error
        self.connections.add(connection)
        return connection

    async def _reopen(self) -> None:
        try:
            connection = await self._open()
        except LoadFailed as error:
            self.fail(asyncio.get_running_loop(), {"exception": error})
        else:
            self.on_idle(connection, time.perf_counter())

    def _count_unanswered(self, connection: "_Connection") -> None:
        if connection.due is not None:
            self.tally.add_unanswered(connection.due)
            connection.due = None


class _ClosedLoop(_Load):
    """Every connection sends its next request as soon as it has the last response."""

    async def measure(self) -> Result:
        for connection in list(self.connections):
            self.on_idle(connection, time.perf_counter())
        if self.job.warmup_s > 0:
            # Even a wait of zero seconds would lose some responses.
            await self.keep_on(self.job.warmup_s)
        self.tally, began = _Tally(), time.perf_counter()
        await self.keep_on(self.job.seconds)
        result = self.tally.result(time.perf_counter() - began)
        # Requests in flight are neither counted nor aborted: a server that never responds to them
        # must not look good, and one that does should not log broken pipes.
        self.is_done, self.tally = True, _Tally()
        await self.settle()
        if unanswered := self.tally.statuses[NO_RESPONSE]:
            raise LoadFailed(
                f"{unanswered} requests had no response {DRAIN_S_MAX:.0f} s after the end"
            )
        return result

    def on_idle(self, connection: "_Connection", now: float) -> None:
        if not self.is_done:
            connection.send(self.next_request(), now)


class _OpenLoop(_Load):
    """Requests are due at a fixed rate; waiting for a free connection counts as latency."""

    def __init__(self, job: _Job, rate: float) -> None:
        super().__init__(job)
        self.rate = rate
        self.idle: deque[_Connection] = deque()
        self.overdue: deque[float] = deque()

    async def measure(self) -> Result:
        self.idle.extend(self.connections)
        await self._pace(self.job.warmup_s)
        self.tally, began = _Tally(), time.perf_counter()
        await self._pace(self.job.seconds)
        return self.tally.result(time.perf_counter() - began)

    def on_idle(self, connection: "_Connection", now: float) -> None:
        if self.overdue:
            connection.send(self.next_request(), self.overdue.popleft())
        else:
            self.idle.append(connection)

    def on_lost(self, connection: "_Connection") -> None:
        if connection in self.idle:
            self.idle.remove(connection)
        super().on_lost(connection)

    def is_settled(self) -> bool:
        return not self.overdue and super().is_settled()

    async def settle(self) -> None:
        await super().settle()
        while self.overdue:
            self.tally.add_unanswered(self.overdue.popleft())

    async def _pace(self, seconds: float) -> None:
        """Send the requests of this interval at their due times, and wait for all responses."""
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        times = [began + number / self.rate for number in range(round(self.rate * seconds))]

        def tick() -> None:
            for due in times:
                time.sleep(max(0.0, due - time.perf_counter()))
                loop.call_soon_threadsafe(self._send_due, due)
            time.sleep(max(0.0, began + seconds - time.perf_counter()))

        # A thread, because the timers of the loop have a resolution of milliseconds, more than many
        # a response takes.
        await asyncio.to_thread(tick)
        await self.settle()

    def _send_due(self, due: float) -> None:
        if self.idle:
            self.idle.popleft().send(self.next_request(), due)
        else:
            self.overdue.append(due)


class _Connection(asyncio.Protocol):
    """One keep-alive connection: sends a request, reads the response to its end, counts it."""

    __slots__ = ("_got_bytes", "_head", "_load", "_response_bytes", "_unread", "due", "transport")

    transport: asyncio.Transport

    def __init__(self, load: _Load) -> None:
        self.due: float | None = None
        self._load = load
        self._unread = b""
        self._head = Head(NO_RESPONSE, 0, False)
        self._response_bytes = 0
        self._got_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.on_lost(self)

    def send(self, request: bytes, due: float) -> None:
        self.due = due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._response_bytes:
            self._got_bytes += len(data)
        else:
            data = self._unread + data
            self._got_bytes = len(data)
            self._response_bytes = self._length(data)
            self._unread = b"" if self._response_bytes else data
        if self._response_bytes and self._got_bytes >= self._response_bytes:
            self._on_response()

    def _length(self, response: bytes) -> int:
        """The length of the whole response; 0 while unknown."""
        head_end = response.find(b"\r\n\r\n")
        if head_end < 0:
            return 0
        self._head = parse_head(response[:head_end])
        if self._head.body_bytes is None:
            return chunks_end(response, head_end + 4) or 0
        return head_end + 4 + self._head.body_bytes

    def _on_response(self) -> None:
        if self.due is None or self._got_bytes > self._response_bytes:
            raise LoadFailed("the server sent more than one response to a request")
        now = time.perf_counter()
        tally = self._load.tally
        tally.latencies_s.append(now - self.due)
        tally.statuses[self._head.status] += 1
        tally.bytes_in += self._got_bytes
        self.due = None
        self._response_bytes = 0
        # A closing connection is replaced by `connection_lost`.
        if not self._head.closes:
            self._load.on_idle(self, now)

"""A load client that costs little: knows HTTP/1.1 just well enough to keep a server busy.

It runs in a process of its own, so that it never shares an interpreter lock with what it measures,
and hides how answers are read, timed and counted. Two modes: a closed loop (each connection sends,
waits, sends again: how much can the server do?) and an open loop at a fixed rate (requests fall due
whether or not the last one was answered: how long does a caller wait?).
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

NO_ANSWER = 0
"""The status counted for a request whose connection closed, or whose wait ended, unanswered."""

DRAIN_S_MAX = 10.0
"""How long the requests still under way at the end may take before they count as unanswered."""


@dataclass(frozen=True)
class Result:
    """What one run saw. Latencies of an open loop count from the moment a request fell due."""

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
    """Some answers had another status than the one expected, so the rate would mean nothing."""

    def __init__(self, result: Result, expected: int) -> None:
        super().__init__(f"expected only {expected}, got {result.statuses}")
        self.result = result


@dataclass(frozen=True, slots=True)
class Template:
    """A request whose body carries a number, so that no two are alike.

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
    """Load the server and say how it fared; closed loop unless a rate (requests a second) is given.

    A sequence of requests is sent round and round; a callable (a `Template`, or any function that
    can be pickled) makes the n-th one, counting warm-up. With `expect_status=None` every status is
    welcome.
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
    """One whole request, ready to be sent. Not for HEAD, whose answers have no body to wait for."""
    lines = head(method, path, headers=headers, host=host)
    return framed(lines, body) if body or method != "GET" else lines + b"\r\n\r\n"


def head(
    method: str, path: str, *, headers: Mapping[str, str] | None = None, host: str = "localhost"
) -> bytes:
    """The lines of a request down to its length: the first half of a `Template`."""
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode("latin-1")


def framed(head: bytes, body: bytes) -> bytes:
    """A head and its body with the length between them."""
    return b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)


class Head(NamedTuple):
    """What an answer's head says about it."""

    status: int
    body_bytes: int | None
    """None when the body comes in chunks and only its last one tells the length."""
    closes: bool


@lru_cache(maxsize=1024)
def read_head(head: bytes) -> Head:
    """Read an answer's head, without the blank line.

    Remembered, because a server says the same words until the second in its date turns: finding a
    known head costs a tenth of reading it.
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


def chunks_end(answer: bytes, start: int) -> int | None:
    """Where the chunks that begin at `start` end, or None while the last one is not here yet."""
    while (line_end := answer.find(b"\r\n", start)) >= 0:
        size = int(answer[start:line_end], 16)
        start = line_end + 2 + size + 2
        if size == 0:
            return start if start <= len(answer) else None
    return None


@dataclass(frozen=True, slots=True)
class _Job:
    """Everything the load process needs to know."""

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
        raise LoadFailed("the load process died; its own words are above") from None
    finally:
        ours.close()
        process.join()
    if isinstance(outcome, LoadFailed):
        raise outcome
    return outcome


def _work(job: _Job, outcome: Connection) -> None:
    # A pause of our own collector would be booked as the server's; nothing here makes cycles.
    gc.disable()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            outcome.send(runner.run(_measure(job)))
        except LoadFailed as error:
            outcome.send(error)


async def _measure(job: _Job) -> Result:
    load = _Closed(job) if job.rate is None else _Open(job, job.rate)
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
    """The book of one stretch of time: which answers came, and how long each took."""

    __slots__ = ("bytes_in", "cpu_began_s", "latencies_s", "statuses")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.cpu_began_s = time.process_time()
        self.latencies_s = array("d")
        self.statuses: Counter[int] = Counter()

    def enter_unanswered(self, due: float) -> None:
        self.latencies_s.append(time.perf_counter() - due)
        self.statuses[NO_ANSWER] += 1

    def result(self, seconds: float) -> Result:
        if not self.latencies_s:
            raise LoadFailed(f"not one answer in {seconds:.1f} s")
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
    """Open connections, the requests they send, and the tally their answers go into."""

    def __init__(self, job: _Job) -> None:
        self.job = job
        self.next_request = _numbered(job.make_request).__next__
        self.tally = _Tally()
        self.connections: set[_Connection] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.reconnecting: set[asyncio.Task[None]] = set()
        self.is_over = False

    @abstractmethod
    async def measure(self) -> Result:
        """Warm up, load, wait for what is under way."""

    @abstractmethod
    def freed(self, connection: "_Connection", now: float) -> None:
        """A connection may send its next request."""

    def is_settled(self) -> bool:
        return all(connection.due is None for connection in self.connections)

    async def connect(self) -> None:
        await asyncio.gather(*(self._open() for _ in range(self.job.connections)))
        self.check()

    def disconnect(self) -> None:
        self.is_over = True
        for connection in self.connections:
            connection.transport.close()

    def lost(self, connection: "_Connection") -> None:
        """The server closed a connection: a request on it stays unanswered, and we open another."""
        self.connections.discard(connection)
        self._give_up(connection)
        if not self.is_over:
            task = asyncio.get_running_loop().create_task(self._reopen())
            self.reconnecting.add(task)
            task.add_done_callback(self.reconnecting.discard)

    def fail(self, _loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Whatever goes wrong in a callback ends the run: half a measurement is none."""
        if not self.failure.done():
            self.failure.set_exception(LoadFailed(context.get("exception") or context["message"]))

    async def keep_on(self, seconds: float) -> None:
        await asyncio.wait([self.failure], timeout=seconds)
        self.check()

    def check(self) -> None:
        if self.failure.done():
            self.failure.result()

    async def settle(self) -> None:
        """Wait for the answers under way, so that none is left out because it was slow."""
        ends_at = time.perf_counter() + DRAIN_S_MAX
        while not self.is_settled() and time.perf_counter() < ends_at:
            await self.keep_on(0.002)
        self.check()
        for connection in [held for held in self.connections if held.due is not None]:
            self._give_up(connection)
            # Or its answer might still come, to a question nobody remembers.
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
            self.freed(connection, time.perf_counter())

    def _give_up(self, connection: "_Connection") -> None:
        if connection.due is not None:
            self.tally.enter_unanswered(connection.due)
            connection.due = None


class _Closed(_Load):
    """Every connection sends its next request as soon as the last one is answered."""

    async def measure(self) -> Result:
        for connection in list(self.connections):
            self.freed(connection, time.perf_counter())
        if self.job.warmup_s > 0:
            # Even a wait of no time would let some answers slip by, uncounted.
            await self.keep_on(self.job.warmup_s)
        self.tally, began = _Tally(), time.perf_counter()
        await self.keep_on(self.job.seconds)
        result = self.tally.result(time.perf_counter() - began)
        # What is under way now is neither counted nor torn off: a server that fails to answer it
        # must not look good, and one that does should not have its log full of broken pipes.
        self.is_over, self.tally = True, _Tally()
        await self.settle()
        if unanswered := self.tally.statuses[NO_ANSWER]:
            raise LoadFailed(
                f"{unanswered} requests had no answer {DRAIN_S_MAX:.0f} s after the end"
            )
        return result

    def freed(self, connection: "_Connection", now: float) -> None:
        if not self.is_over:
            connection.send(self.next_request(), now)


class _Open(_Load):
    """Requests fall due at a fixed rate; one that finds no free connection waits, on the clock."""

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

    def freed(self, connection: "_Connection", now: float) -> None:
        if self.overdue:
            connection.send(self.next_request(), self.overdue.popleft())
        else:
            self.idle.append(connection)

    def lost(self, connection: "_Connection") -> None:
        if connection in self.idle:
            self.idle.remove(connection)
        super().lost(connection)

    def is_settled(self) -> bool:
        return not self.overdue and super().is_settled()

    async def settle(self) -> None:
        await super().settle()
        while self.overdue:
            self.tally.enter_unanswered(self.overdue.popleft())

    async def _pace(self, seconds: float) -> None:
        """Let every request of this stretch fall due, and wait for all of their answers."""
        loop = asyncio.get_running_loop()
        began = time.perf_counter()
        times = [began + number / self.rate for number in range(round(self.rate * seconds))]

        def tick() -> None:
            for due in times:
                time.sleep(max(0.0, due - time.perf_counter()))
                loop.call_soon_threadsafe(self._fall_due, due)
            time.sleep(max(0.0, began + seconds - time.perf_counter()))

        # A thread, because the loop's own timers only count whole milliseconds, and that would be
        # more than many an answer takes.
        await asyncio.to_thread(tick)
        await self.settle()

    def _fall_due(self, due: float) -> None:
        if self.idle:
            self.idle.popleft().send(self.next_request(), due)
        else:
            self.overdue.append(due)


class _Connection(asyncio.Protocol):
    """One kept-alive connection: sends a request, reads its answer to the end, counts it."""

    __slots__ = ("_answer_bytes", "_got_bytes", "_head", "_load", "_unread", "due", "transport")

    transport: asyncio.Transport

    def __init__(self, load: _Load) -> None:
        self.due: float | None = None
        self._load = load
        self._unread = b""
        self._head = Head(NO_ANSWER, 0, False)
        self._answer_bytes = 0
        self._got_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost(self)

    def send(self, request: bytes, due: float) -> None:
        self.due = due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._answer_bytes:
            self._got_bytes += len(data)
        else:
            data = self._unread + data
            self._got_bytes = len(data)
            self._answer_bytes = self._length(data)
            self._unread = b"" if self._answer_bytes else data
        if self._answer_bytes and self._got_bytes >= self._answer_bytes:
            self._answered()

    def _length(self, answer: bytes) -> int:
        """How long the whole answer is; 0 while that cannot be said."""
        head_end = answer.find(b"\r\n\r\n")
        if head_end < 0:
            return 0
        self._head = read_head(answer[:head_end])
        if self._head.body_bytes is None:
            return chunks_end(answer, head_end + 4) or 0
        return head_end + 4 + self._head.body_bytes

    def _answered(self) -> None:
        if self.due is None or self._got_bytes > self._answer_bytes:
            raise LoadFailed("the server said more than it was asked")
        now = time.perf_counter()
        tally = self._load.tally
        tally.latencies_s.append(now - self.due)
        tally.statuses[self._head.status] += 1
        tally.bytes_in += self._got_bytes
        self.due = None
        self._answer_bytes = 0
        # After its last answer a connection is as good as gone; `connection_lost` replaces it.
        if not self._head.closes:
            self._load.freed(self, now)

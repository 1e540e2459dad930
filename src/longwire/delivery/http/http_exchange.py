"""HTTP/1.1 for webhooks: requests on connections that stay open, and limits to what comes back.

A webhook has a body that is complete, and wants the status of the response: little of HTTP, and
needed for every message. A client for all of HTTP takes more time for it than everything else
about a delivery ([0037](docs/decisions/0037-own-client-for-webhooks.md)).

Receivers may send whatever they like, as fast as they can. So a connection is read in small pieces,
parsing ends at the first limit, and whatever follows a response closes its connection.
"""

import asyncio
import functools
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, cast

import httptools
from yarl import URL

from longwire.delivery.destinations.base import FailureCode, Unreachable
from longwire.delivery.destinations.connections import (
    CONNECTION_LOST,
    TIMED_OUT,
    ConnectionFailed,
    outcome_of_error,
)
from longwire.delivery.http.egress import TLS_SHUTDOWN_TIMEOUT_S, Egress, EgressDenied
from longwire.delivery.http.http_limits import (
    ATTEMPT_BYTES_MAX,
    DNS_CACHE_TTL_S,
    HEAD_BYTES_MAX,
    HEAD_TOO_LARGE,
    HEADERS_MAX,
    INTERIM_HEADS_MAX,
    KEEP_ALIVE_S,
    RESPONSE_BYTES_MAX,
    RESPONSE_TOO_LARGE,
    TOO_MANY_INTERIM,
    TOTAL_TIMEOUT_S,
)
from longwire.delivery.http.open_connections import OpenConnections
from longwire.delivery.http.proxies import Proxy
from longwire.delivery.http.recorder import Phase, Recorder
from longwire.delivery.http.tunnels import TunnelTarget, choose_address, open_tunnel

# A smaller body is sent with its head, at once.
COPIED_BYTES_MAX = 64 * 1_024
# The status is all that matters of a failure; its body is waited for so long, if it is kept.
FAILURE_BODY_WAIT_S = 1.0
# So much earlier than the whole exchange, whose end would hide the status.
FAILURE_BODY_MARGIN_S = 0.5

CONNECTING_TIMED_OUT = Unreachable("connecting timed out", code=FailureCode.TIMED_OUT)
CONNECTING_FAILED = Unreachable("connecting failed")
NOT_HTTP = Unreachable("the response is not valid HTTP")
CLOSED_EARLY = Unreachable("the connection was closed before the response was complete")

# With either, the end of the response is not that of the connection.
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))


class HttpResponse(NamedTuple):
    """The head of a response. Of its body a recorder may have the beginning."""

    status: int
    retry_after: str | None


class HttpConnections:
    """The connections to the host of one URL; as many as there are exchanges at a time."""

    def __init__(self, url: URL, egress: Egress, proxies: Sequence[Proxy] = ()) -> None:
        if url.raw_host is None or url.port is None:
            raise ValueError("a URL needs a host")
        self._egress = egress
        self._proxies = (*egress.proxies, *proxies)
        self._host, self._port = url.raw_host, url.port
        self._tls = load_tls_context() if url.scheme == "https" else None
        self._addresses: deque[str] = deque()
        self._resolved_at = 0.0
        self._idle: deque[_ServerConnection] = deque()  # the one that was used last is the last one
        self._busy: set[_ServerConnection] = set()
        self._idle_timer: asyncio.TimerHandle | None = None

    @property
    def idle_count(self) -> int:
        return sum(each.is_open for each in self._idle)

    async def exchange(
        self, head: bytes, body: bytes, recorder: Recorder | None = None
    ) -> HttpResponse | Unreachable:
        """Send a request, whose head is complete, and wait for the response."""
        if recorder is None:
            recorder = Recorder()
        ends_at = asyncio.get_running_loop().time() + TOTAL_TIMEOUT_S
        try:
            async with asyncio.timeout_at(ends_at):
                connection = self._take_idle() or await self._open(recorder)
                if isinstance(connection, Unreachable):
                    return connection
                self._busy.add(connection)
                recorder.phase = Phase.REQUEST
                try:
                    return await connection.send(head, body, recorder, ends_at)
                finally:
                    self._busy.discard(connection)
                    self._keep(connection)
        except TimeoutError:
            return TIMED_OUT

    async def close(self) -> None:
        """Close all, also those in use. They are opened again when they are needed."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        for connection in [*self._idle, *self._busy]:
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # so that whoever waits for one of them is called

    def _take_idle(self) -> "_ServerConnection | None":
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE_S
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    def _keep(self, connection: "_ServerConnection") -> None:
        """Keep it for the next request, if there can be one."""
        if not connection.is_reusable:
            connection.abort()
            return
        if self._egress.open_connections.is_crowded:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)
        if self._idle_timer is None:
            self._start_idle_timer()

    def _start_idle_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._idle_timer = loop.call_later(KEEP_ALIVE_S, self._close_idle)

    def _close_idle(self) -> None:
        self._idle_timer = None
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE_S
        while self._idle and self._idle[0].idle_since <= oldest:
            self._idle.popleft().close()
        if self._idle:
            self._start_idle_timer()

    async def _open(self, recorder: Recorder) -> "_ServerConnection | Unreachable":
        loop = asyncio.get_running_loop()
        try:
            await self._resolve(loop)
            sock = await self._connect(recorder)
            connection = _ServerConnection(loop, self._egress.open_connections)
            try:
                if self._tls is None:
                    await loop.create_connection(lambda: connection, sock=sock)
                else:
                    recorder.phase = Phase.TLS
                    await loop.create_connection(
                        lambda: connection,
                        sock=sock,
                        ssl=self._tls,
                        server_hostname=self._host.rstrip("."),
                        ssl_shutdown_timeout=TLS_SHUTDOWN_TIMEOUT_S,
                    )
            except BaseException:
                sock.close()
                raise
        except TimeoutError:
            return CONNECTING_TIMED_OUT
        except (EgressDenied, ConnectionFailed, OSError) as error:
            outcome = outcome_of_error(error)
            assert isinstance(outcome, Unreachable)
            return CONNECTING_FAILED if outcome is CONNECTION_LOST else outcome
        return connection

    async def _connect(self, recorder: Recorder) -> socket.socket:
        # A copy: others rotate them meanwhile.
        addresses = [*self._addresses]
        if not self._proxies:
            recorder.phase = Phase.CONNECT
            return await self._egress.connect_to_any(addresses, self._port)
        recorder.phase = Phase.PROXY
        target = TunnelTarget(self._host, choose_address(addresses), self._port)
        return await open_tunnel(self._proxies, target, self._egress)

    async def _resolve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look the host's addresses up, unless they are known; the next one is first then."""
        if not self._addresses or loop.time() - self._resolved_at > DNS_CACHE_TTL_S:
            self._addresses = deque(await self._egress.resolve(self._host))
            self._resolved_at = loop.time()
        self._addresses.rotate()


class _Stop(Exception):
    """Nothing of what follows is parsed."""


class _ServerConnection(asyncio.BufferedProtocol):
    """One connection, for one exchange at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, open_connections: OpenConnections) -> None:
        self._loop = loop
        self._open_connections = open_connections
        self._buffer = open_connections.read_buffer.view
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpResponse | Unreachable] | None = None
        self._recorder = Recorder()
        self._ends_at = 0.0
        self._failure_timer: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        self.is_reusable = False
        self._begin()
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        # As browsers and other clients are.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    def _begin(self) -> None:
        """Before every exchange."""
        self._received_bytes = self._body_bytes = 0
        self._interim_heads = self._headers = 0
        self._response: HttpResponse | None = None
        self._retry_after: str | None = None
        self._is_interim = self._is_framed = self._is_complete = self._keeps_alive = False

    # --- for its owner ---

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def send(
        self, head: bytes, body: bytes, recorder: Recorder, ends_at: float
    ) -> HttpResponse | Unreachable:
        transport = self._transport
        self.is_reusable = False
        if transport is None:
            return CLOSED_EARLY
        self._begin()
        self._recorder, self._ends_at = recorder, ends_at
        self._waiting = self._loop.create_future()
        if len(body) <= COPIED_BYTES_MAX:
            transport.write(head + body)
        else:
            transport.write(head)
            transport.write(body)
        return await self._waiting

    def close(self) -> None:
        """Close it, but do not wait for a peer that does not read."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has a class of its own
        self._open_connections.count += 1

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._parser = None  # which refers to this
        self._open_connections.count -= 1
        if self._waiting is not None:
            is_whole = error is None and self._response is not None and not self._is_framed
            if is_whole:
                self._recorder.phase = Phase.COMPLETE
            is_known = is_whole or self._is_failure
            self._end(self._response if is_known and self._response else CLOSED_EARLY)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._waiting is None or self._parser is None:
            self.abort()  # nobody asked for anything
            return
        self._received_bytes += nbytes
        is_valid = True
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except httptools.HttpParserError:
            is_valid = False
        self._check(is_valid)

    def _check(self, is_valid: bool) -> None:
        """End the exchange, if what was received suffices, or is too much."""
        response = self._response
        if response is None:
            if self._interim_heads > INTERIM_HEADS_MAX:
                self._end(_exceeds(TOO_MANY_INTERIM))
            elif self._received_bytes > HEAD_BYTES_MAX or self._headers > HEADERS_MAX:
                self._end(_exceeds(HEAD_TOO_LARGE))
            elif not is_valid:
                self._end(NOT_HTTP)
        elif self._is_complete:
            self._end(response, is_reusable=is_valid and self._keeps_alive)
        elif self._is_failure:
            is_bounded = is_valid and self._received_bytes <= ATTEMPT_BYTES_MAX
            if not (is_bounded and self._recorder.wants_body):
                self._end(response)  # the rest does not matter
            elif self._failure_timer is None:
                self._await_failure_body(response)
        elif self._body_bytes > RESPONSE_BYTES_MAX:
            self._end(response)  # the rest does not matter
        elif not is_valid:
            self._end(NOT_HTTP)
        elif self._received_bytes > ATTEMPT_BYTES_MAX:
            self._end(_exceeds(RESPONSE_TOO_LARGE))

    @property
    def _is_failure(self) -> bool:
        """Whether there is a status, and it is no success."""
        return self._response is not None and not 200 <= self._response.status < 300

    def _await_failure_body(self, response: HttpResponse) -> None:
        latest = self._ends_at - FAILURE_BODY_MARGIN_S - self._loop.time()
        wait_s = max(0.0, min(FAILURE_BODY_WAIT_S, latest))
        self._failure_timer = self._loop.call_later(wait_s, self._end, response)

    def _end(self, outcome: HttpResponse | Unreachable, *, is_reusable: bool = False) -> None:
        waiting, self._waiting = self._waiting, None
        if self._failure_timer is not None:
            self._failure_timer.cancel()
            self._failure_timer = None
        if self._is_complete:
            self._recorder.phase = Phase.COMPLETE
        self.is_reusable = is_reusable
        if not is_reusable:
            self.abort()
        elif self._transport is not None and self._transport.get_write_buffer_size():
            self.is_reusable = False  # it answered before it had read the request
        self._recorder = Recorder()  # what was recorded is not kept here
        if waiting is not None and not waiting.done():
            waiting.set_result(outcome)

    # --- called by the parser ---

    def on_message_begin(self) -> None:
        if self._is_complete:
            raise _Stop

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        if self._headers > HEADERS_MAX:
            raise _Stop
        self._recorder.add_header(name, value)
        name = name.lower()
        if name in _FRAMING:
            self._is_framed = True
        elif name == b"retry-after" and self._retry_after is None:
            self._retry_after = value.strip().decode("latin-1")

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        self._is_interim = 100 <= status < 200 and status != 101
        if not self._is_interim:
            self._recorder.status, self._recorder.phase = status, Phase.RESPONSE
            self._response = HttpResponse(status, self._retry_after)
            self._keeps_alive = self._parser.should_keep_alive()
            return
        self._interim_heads += 1
        self._recorder.headers.clear()
        self._is_framed, self._retry_after = False, None
        if self._interim_heads > INTERIM_HEADS_MAX:
            raise _Stop

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._recorder.add_body(body)

    def on_message_complete(self) -> None:
        self._is_complete = not self._is_interim


def _exceeds(reason: str) -> Unreachable:
    return Unreachable(reason, code=FailureCode.LIMIT_EXCEEDED)


@functools.cache
def load_tls_context() -> ssl.SSLContext:
    """Trusts the system's CAs. Loading them is slow: once, and not on the event loop."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context

"""The HTTP protocol of a connection: uvicorn's, with limits on size, time and pipelining.

Knows the ways a client can be slow, greedy or malformed. Hides them: the application sees complete
request heads, and bodies that arrive in time or end in a disconnect. What never becomes a request
(a head too large, invalid HTTP, silence) is rejected here.

The fast path. Small requests that have arrived completely may be handed to a plain function
(`FastPath`) instead of the ASGI application, which costs a task and several messages per request.
It is used only while the client keeps up with reading; otherwise, and whenever the function
declines, the request takes the ordinary way. The application must give the same response on both.
"""

import asyncio
import math
import secrets
import sys
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import field, replace
from enum import Enum
from typing import Any, ClassVar
from urllib.parse import unquote

import httptools
import structlog
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from longwire.dataclass import dataclass
from longwire.web.asgi import Scope
from longwire.web.rejections import (
    BUSY,
    HEAD_TOO_LARGE,
    HOST_MISSING,
    INVALID,
    PIPELINE_FULL,
    TIMED_OUT,
    UNKNOWN_CODING,
    UNKNOWN_VERSION,
    Rejection,
)
from longwire.web.request_cycle import (
    NO_EVENT,
    ClientConnection,
    RequestCycle,
    SendResponse,
    encode_fields,
)
from longwire.web.unsent_bytes import UnsentBytes
from longwire.web.wire_limits import WireLimits

log = structlog.get_logger()

# (status, code, detail, request id) to the body of an error response.
ErrorEncoder = Callable[[int, str, str, str], bytes]
# Gets the ASGI scope and the complete body. True: it will send the response. False: it declines.
FastPath = Callable[[Scope, bytes | bytearray, SendResponse], bool]

# Half of what uvicorn buffers of a body before it stops reading.
_FAST_PATH_BODY_BYTES_MAX = 32 * 1024
# What is kept of a body before the application asks for it, or of small ones for the fast path.
CONNECTION_BUFFER_BYTES = HIGH_WATER_LIMIT
_VERSIONS = {"1.0", "1.1"}
# Takes the fields of a trailer: the application has already read the header fields.
_IGNORED_FIELDS: Any = deque(maxlen=0)

# How long a rejected client may go on sending before the socket is closed. Closing while
# its bytes are still under way makes the kernel reset the connection, and a reset can overtake the
# response that was meant to be read.
_LINGER_S = 1.0
# Further clients that are too many are disconnected without a response: those that linger have
# descriptors, too.
_LINGERING_MAX = 64

# What a client has to read within write_timeout_s to be called slow rather than gone. It is the
# buffer size at which uvloop pauses the writer, so a response written in one piece
# is treated like one written in many, where each pause has to end in time.
_DRAIN_BYTES_MIN = 64 * 1024


def guarded_protocol(
    limits: WireLimits,
    encode_error: ErrorEncoder,
    fast_path: FastPath | None = None,
    on_too_many: Callable[[], None] = lambda: None,
) -> type[HttpToolsProtocol]:
    """Make uvicorn's HTTP protocol with these limits; one class serves one server."""

    class Guarded(GuardedProtocol):
        _limits = limits
        _shared = _Shared(
            encode_error=encode_error,
            shortest_limit_s=min(
                limits.head_timeout_s,
                limits.request_timeout_s,
                limits.write_timeout_s,
                limits.keep_alive_s,
            ),
            connections_by_address=Counter(),
            fast_path=fast_path,
            on_too_many=on_too_many,
            lingering=set(),
            unsent=UnsentBytes(limits.unsent_bytes_max, on_too_many),
        )

    return Guarded


@dataclass(slots=True)
class _Shared:
    """State shared by the connections of one server."""

    encode_error: ErrorEncoder
    shortest_limit_s: float
    connections_by_address: Counter[str]
    fast_path: FastPath | None
    on_too_many: Callable[[], None]
    lingering: "set[GuardedProtocol]"  # rejected for too many connections, not closed yet
    unsent: UnsentBytes
    default_fields: list[tuple[bytes, bytes]] = field(default_factory=list)
    default_lines: bytes = b""  # of these fields


class _Reading(Enum):
    """The part of a request that the client has not finished sending."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


# As module names because they are compared several times in every request.
_NOTHING, _HEAD, _BODY = _Reading


class GuardedProtocol(ClientConnection):
    """One connection, with a deadline for everything its client has to do.

    Timers per request are expensive, so each connection has one that is never moved: it wakes at
    the next deadline, or after the shortest limit if that is sooner, and checks the state. A
    deadline lies at least the shortest limit ahead when it is set, so none falls before the next
    wake-up, and setting one is a mere assignment.
    """

    _limits: ClassVar[WireLimits]
    _shared: ClassVar[_Shared]

    _timer: asyncio.TimerHandle
    # What the scopes of all requests on this connection have in common.
    _scope: dict[str, Any]
    # A fresh connection owes a request at once; a kept-alive one may rest first.
    _reading: _Reading = _HEAD
    _started_at: float = 0.0
    _idle_since: float = 0.0
    _arrived_bytes: int = 0
    _unparsed_bytes: int = 0
    _unsent_bytes: int = 0
    _output_due: float = math.inf
    _held_back_bytes: int = 0  # of a response that waits until an earlier one is read
    cycle: RequestCycle
    # Requests that wait for the responses of earlier ones.
    _pipelined: deque[RequestCycle]
    # The request that may run once the parser has accepted everything that came along with it.
    _admitted: RequestCycle | None = None
    # The request whose response is being made. `cycle` of the base class is the one last parsed.
    _active: RequestCycle | None = None
    # Set when the client is to be rejected, after the responses that are still pending.
    _rejection: Rejection | None = None
    _ignores_input: bool = False
    _is_counted: bool = False

    @classmethod
    def limit_connections(cls, limits: WireLimits) -> None:
        """Take other limits of connections, for those that are opened from now on."""
        cls._limits = replace(
            cls._limits,
            connections_max=limits.connections_max,
            connections_per_address_max=limits.connections_per_address_max,
        )

    @classmethod
    def count_free(cls, connections: int) -> int:
        """How many more there may be, besides so many."""
        return (cls._limits.connections_max or sys.maxsize) - connections

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._started_at = self.loop.time()
        self._timer = self.loop.call_later(self._shared.shortest_limit_s, self._wake)
        self._pipelined = deque()
        self._scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
        }
        if not self._is_within_limits():
            # uvicorn's set holds those that count; a rejected client must not keep others out.
            self.connections.discard(self)
            self._shared.on_too_many()
            self._reject_surplus()

    def _reject_surplus(self) -> None:
        lingering = self._shared.lingering
        if len(lingering) < _LINGERING_MAX:
            lingering.add(self)
            self._reject(BUSY)
        else:
            self._ignores_input = True
            self.transport.abort()

    def _is_within_limits(self) -> bool:
        limits = self._limits
        if limits.connections_max and len(self.connections) > limits.connections_max:
            return False
        if not limits.connections_per_address_max or self.client is None:
            return True
        counts, address = self._shared.connections_by_address, self.client[0]
        if counts[address] >= limits.connections_per_address_max:
            return False
        counts[address] += 1
        self._is_counted = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._shared.lingering.discard(self)
        if self._is_counted and self.client is not None:
            counts, address = self._shared.connections_by_address, self.client[0]
            counts[address] -= 1
            if not counts[address]:
                del counts[address]
        self._shared.unsent.discard(self)
        # uvicorn notifies the request last parsed; with pipelining an earlier one may be running.
        _disconnect(self._active)
        super().connection_lost(exc)

    # Reading.

    def data_received(self, data: bytes) -> None:
        if self._ignores_input:
            return
        self._arrived_bytes = len(data)
        self._unparsed_bytes += self._arrived_bytes
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self.send_400_response(INVALID.detail)
            return
        admitted = self._admitted
        if admitted is not None and not (admitted.more_body and self._waits_for_body(admitted)):
            self._start_response(admitted)
        if self._unparsed_bytes > self._limits.head_bytes_max and self._reading is not _NOTHING:
            # A head, a chunk's extension or a trailer that grows and never ends.
            self._reject_request(HEAD_TOO_LARGE)

    def _waits_for_body(self, cycle: RequestResponseCycle) -> bool:
        """Whether to wait for a small body, so that the request may take the fast path.

        Many clients send head and body one after the other. Not if the client expects a
        100 Continue before it sends the body.
        """
        if self._shared.fast_path is None or cycle.waiting_for_100_continue:
            return False
        for name, value in cycle.scope["headers"]:
            if name == b"content-length":
                return int(value) <= _FAST_PATH_BODY_BYTES_MAX
        return False

    def send_400_response(self, msg: str) -> None:
        # A rejection raised in the parser's callbacks surfaces as a parser error, too.
        self._reject_request(self._rejection or Rejection(400, INVALID.code, msg))

    def _feed(self, data: bytes) -> None:
        while True:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._decline_upgrade()

    def _decline_upgrade(self) -> None:
        """Read on as if the request had not asked for another protocol.

        The parser takes all that follows such a head for the other protocol. We offer none, so what
        follows is the request's body (Java's HTTP client asks for h2c with every plain POST), and
        it must not be mistaken for the next request. A new parser is given only the framing
        of the body.
        """
        framing = b"".join(
            b"%s: %s\r\n" % (name, value)
            for name, value in self.cycle.scope["headers"]
            if name in (b"content-length", b"transfer-encoding")
        )
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % framing)

    def on_message_begin(self) -> None:
        if self._reading is _BODY:
            return  # The head made up by _decline_upgrade; the real one has been dealt with.
        if self._reading is _NOTHING:
            self._started_at = self.loop.time()
            self._reading = _HEAD
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def _check_fields(self, version: str) -> None:
        """Check the header fields that concern the server itself."""
        names = [name for name, _ in self.headers]
        hosts = names.count(b"host")
        if hosts > 1 or (hosts == 0 and version == "1.1"):
            self._refuse_head(HOST_MISSING)
        if b"expect" not in names and b"transfer-encoding" not in names:
            return
        for name, value in self.headers:
            if name == b"expect":
                self.expect_100_continue = value.lower() == b"100-continue"
            elif name == b"transfer-encoding" and value.lower() != b"chunked":
                # The parser would hand over a body that is still encoded otherwise.
                self._refuse_head(UNKNOWN_CODING)

    def _refuse_head(self, rejection: Rejection) -> None:
        self._rejection = rejection
        raise httptools.HttpParserError(rejection.detail)

    def on_headers_complete(self) -> None:
        if self._reading is _BODY:
            return
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            self._refuse_head(UNKNOWN_VERSION)
        self._check_fields(version)
        # The sum counts other requests' bytes as well, but it is at hand; the loop is seldom run.
        if (
            self._unparsed_bytes + self._arrived_bytes > self._limits.head_bytes_max
            and self._head_bytes() > self._limits.head_bytes_max
        ):
            self._refuse_head(HEAD_TOO_LARGE)
        if len(self._pipelined) >= self._limits.pipelined_max:
            self._refuse_head(PIPELINE_FULL)
        self.cycle = self._build_cycle(version)
        active = self._active
        if self._admitted is None and (active is None or active.response_complete):
            # Not started from here: the parser validates a transfer encoding only after its head is
            # complete, and the application must not act on a request that is about to be rejected.
            self._admitted = self.cycle
        else:
            self.flow.pause_reading()
            self._pipelined.append(self.cycle)
        self.headers = _IGNORED_FIELDS
        self._reading = _BODY
        self._unparsed_bytes = 0

    def _build_cycle(self, version: str) -> RequestCycle:
        url = httptools.parse_url(self.url)
        raw_path = url.path
        path = raw_path.decode("ascii")
        scope = {
            **self._scope,
            "http_version": version,
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": url.query or b"",
            "headers": self.headers,
        }
        return RequestCycle(
            self, scope, keep_alive=version != "1.0" and self.parser.should_keep_alive()
        )

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        if cycle.message_event is not NO_EVENT:
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # The body is still to come, see _decline_upgrade.
        self._reading = _NOTHING
        self._unparsed_bytes = 0
        cycle = self.cycle
        if cycle.response_complete:
            # Responded before it was read to the end; the connection is idle only now.
            self._idle_since = self.loop.time()
            return
        cycle.more_body = False
        if cycle.message_event is not NO_EVENT:
            cycle.message_event.set()

    # Responding.

    def _start_response(self, cycle: RequestCycle) -> None:
        self._admitted = None
        self._active = cycle
        fast_path = self._shared.fast_path
        if (
            fast_path is None
            or cycle.more_body
            or self.flow.write_paused
            or not fast_path(cycle.scope, cycle.body, cycle.send_response)
        ):
            cycle.listen()
            self._start_asgi_task(cycle, self.app)

    def on_response_complete(self) -> None:
        # Stands in for uvicorn's own, which sets and cancels a keep-alive timer for each request.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self._pipelined:
            self._start_response(self._pipelined.popleft())
        elif self._rejection is not None:
            self._reject(self._rejection)
        else:
            self._idle_since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_drain(self.loop.time())
        self._shared.unsent.add(self)

    def encode_default_fields(self, fields: list[tuple[bytes, bytes]]) -> bytes:
        """The lines of uvicorn's own header fields, which are another list every second."""
        shared = self._shared
        if fields is not shared.default_fields:
            shared.default_fields, shared.default_lines = fields, encode_fields(fields)
        return shared.default_lines

    def hold_back(self, count: int) -> None:
        """Count a response that can be sent when the client has read."""
        self._held_back_bytes = count
        self._shared.unsent.add(self)

    @property
    def address(self) -> str:
        return self.client[0] if self.client else "-"

    def count_unsent_bytes(self) -> int:
        return self.transport.get_write_buffer_size() + self._held_back_bytes

    def give_up_sending(self) -> None:
        self.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._held_back_bytes = 0
        self._shared.unsent.discard(self)
        self._idle_since = self.loop.time()
        if not self._ignores_input:
            self._output_due = math.inf

    # Rejecting.

    def _reject_request(self, rejection: Rejection) -> None:
        """Reject the request being read; earlier ones still get their responses first."""
        self._ignores_input = True
        rejected = self.cycle if self._reading is _BODY else None
        if rejected is not None:
            if self._admitted is rejected:
                self._admitted = None
            elif self._pipelined and self._pipelined[-1] is rejected:
                self._pipelined.pop()
            elif rejected.response_started:
                # Anything sent now would land in the middle of its response, or after it.
                _disconnect(rejected)
                self.transport.close()
                return
        if self._admitted is not None:
            self._start_response(self._admitted)
        if self._is_responding() and self._active is not rejected:
            self._rejection = rejection
        else:
            self._reject(rejection)

    def _is_responding(self) -> bool:
        return self._active is not None and not self._active.response_complete

    def _reject(self, rejection: Rejection) -> None:
        """Send the error and close; further input is discarded."""
        self._ignores_input = True
        # Always a new id: little of these requests has been parsed, and none of it validated.
        request_id = secrets.token_hex(8)
        log.debug(
            "connection rejected", code=rejection.code, address=self.address, request_id=request_id
        )
        now = self.loop.time()
        is_drained = not self.transport.get_write_buffer_size()
        body = self._shared.encode_error(
            rejection.status, rejection.code, rejection.detail, request_id
        )
        default_fields = self.server_state.default_headers
        self.transport.write(rejection.encode(body, request_id, default_fields))
        _disconnect(self._active)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            # TLS cannot close one direction, but its close reads on until the client agrees.
            self.transport.close()
        self._expect_drain(now)
        if is_drained:
            self._output_due = now + _LINGER_S
        self._schedule_wake(now)

    # Deadlines.

    def _wake(self) -> None:
        now = self.loop.time()
        if self._output_due == math.inf and self.transport.is_closing():
            # A close waits until everything is sent, for ever if the client does not read.
            self._expect_drain(now)
        if self._output_due <= now:
            self._check_reader(now)
        elif self._input_due() <= now:
            self._check_sender(now)
        self._schedule_wake(now)

    def _schedule_wake(self, now: float) -> None:
        due = min(self._output_due, self._input_due(), now + self._shared.shortest_limit_s)
        self._timer.cancel()
        # The loop counts whole milliseconds; without a floor we would spin through the last one.
        self._timer = self.loop.call_later(max(due - now, 0.001), self._wake)

    def _input_due(self) -> float:
        """The deadline for the client's next input; infinite while we owe it a response."""
        if self._ignores_input or self.transport.is_closing():
            return math.inf
        limits = self._limits
        if self._reading is _HEAD:
            return self._started_at + min(limits.head_timeout_s, limits.request_timeout_s)
        if self._reading is _BODY:
            return self._started_at + limits.request_timeout_s
        if self._is_responding() or self.flow.write_paused:
            return math.inf
        return self._idle_since + limits.keep_alive_s

    def _check_sender(self, now: float) -> None:
        if self._reading is _NOTHING:
            self.transport.close()
        elif self._is_waiting_for_us():
            self._started_at = now
        else:
            self._reject_request(TIMED_OUT)

    def _is_waiting_for_us(self) -> bool:
        """Whether the client could not send the rest, or waits for a response first."""
        if self.flow.read_paused:
            return True
        if self._reading is _HEAD:
            return self._is_responding()
        if self._admitted is self.cycle:
            return False  # the request is held back, see _waits_for_body
        return self._active is not self.cycle or self.cycle.waiting_for_100_continue

    def _expect_drain(self, now: float) -> None:
        self._unsent_bytes = self.transport.get_write_buffer_size()
        self._output_due = now + self._limits.write_timeout_s

    def _check_reader(self, now: float) -> None:
        left = self.transport.get_write_buffer_size()
        if left == 0 or self._unsent_bytes - left < _DRAIN_BYTES_MIN:
            self.transport.abort()
        else:
            self._expect_drain(now)


def _disconnect(cycle: RequestResponseCycle | None) -> None:
    """Make the application's next receive a disconnect, and drop what it sends."""
    if cycle is not None and not cycle.response_complete:
        cycle.disconnected = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()

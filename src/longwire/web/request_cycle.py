"""One request and its response on a connection, and how a response is encoded."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

# Sends status, header lines (see `encode_fields`) and body of a response.
SendResponse = Callable[[int, bytes, bytes], None]

# The type of a message of ours: close the connection although the response is not complete.
ABORT = "http.response.abort"
_FRAMING = {b"connection", b"transfer-encoding"}
# The lines of so many header fields: one format operation costs less than one for each of them.
_FIELD_LINES = tuple(b"%b: %b\r\n" * count for count in range(64))


def encode_fields(fields: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The lines of some header fields."""
    count = len(fields)
    lines = _FIELD_LINES[count] % tuple(chain.from_iterable(fields))
    if lines.count(b"\n") != count or lines.count(b"\r") != count:
        raise RuntimeError("A response header contains a line break.")
    return lines


class _NoEvent:
    """Takes the place of the event that wakes the application, until there is an application."""

    def set(self) -> None:
        pass


NO_EVENT = _NoEvent()


class ClientConnection(HttpToolsProtocol):
    """What a request needs of the connection it came on."""

    def hold_back(self, count: int) -> None:
        """Count bytes of a response that waits until the client has read earlier ones."""
        raise NotImplementedError

    def encode_default_fields(self, fields: list[tuple[bytes, bytes]]) -> bytes:
        """The lines of the header fields that every response has."""
        raise NotImplementedError


class RequestCycle(RequestResponseCycle):
    """One request and its response, cheaper than uvicorn's.

    Writes head and body of a response together, where uvicorn makes a system call for each, and
    has no event for the body unless the application is started (5 of 12 µs per request together
    with the scope that is copied instead of built, and most requests take the fast path).
    """

    message_event: Any = NO_EVENT
    logger = logging.getLogger("uvicorn.error")
    access_log = False
    waiting_for_100_continue = False
    disconnected = False
    more_body = True
    response_started = False
    response_complete = False
    chunked_encoding = None
    expected_content_length = 0

    _head: Any = None
    _sending: asyncio.Task[None] | None = None  # a reference, so that it is not collected

    scope: Any

    def __init__(
        self, connection: ClientConnection, scope: dict[str, Any], *, keep_alive: bool
    ) -> None:
        self.scope = scope
        self.connection = connection
        self.transport = connection.transport
        self.flow = connection.flow
        self.default_headers = connection.server_state.default_headers
        self.on_response = connection.on_response_complete
        if connection.expect_100_continue:
            self.waiting_for_100_continue = True
        self.keep_alive = keep_alive
        self.body = bytearray()

    def listen(self) -> None:
        """From now on the application may wait for the body, or for the rest of it."""
        self.message_event = asyncio.Event()
        if self.body or not self.more_body or self.disconnected:
            self.message_event.set()

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == ABORT:
            self._head = None
            self.disconnected = True
            self.transport.close()
            return
        if message["type"] == "http.response.start" and not self.response_started:
            self._head = message  # until the body is there
            return
        if self._head is None:
            await super().send(message)
            return
        head, self._head = self._head, None
        body: Any = message.get("body", b"")
        await self._drain(len(body))
        if self.disconnected:
            return
        is_last = message["type"] == "http.response.body" and not message.get("more_body")
        fields = list(head.get("headers", ()))
        length = (b"content-length", b"%d" % len(body))
        if not is_last or length not in fields or _FRAMING & {name for name, _ in fields}:
            await super().send(head)
            await super().send(message)
            return
        self._write_response(head["status"], encode_fields(fields), body)

    def send_response(self, status: int, lines: bytes, body: bytes) -> None:
        """Send a complete response, at once unless the client is slow to read."""
        if self.flow.write_paused:
            self._sending = asyncio.create_task(self._send_when_drained(status, lines, body))
        else:
            self._write_response(status, lines, body)

    async def _send_when_drained(self, status: int, lines: bytes, body: bytes) -> None:
        await self._drain(len(body))
        self._write_response(status, lines, body)

    async def _drain(self, held_back_bytes: int) -> None:
        """Wait until the client has read enough of earlier responses."""
        if self.flow.write_paused and not self.disconnected:
            self.connection.hold_back(held_back_bytes)
            await self.flow.drain()

    def _write_response(self, status: int, lines: bytes, body: bytes) -> None:
        if self.disconnected:
            return
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(self._encode(status, lines, body))
        if self.message_event is not NO_EVENT:
            self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _encode(self, status: int, lines: bytes, body: bytes) -> bytes:
        if not self.keep_alive:
            lines += b"connection: close\r\n"
        if self.scope["method"] == "HEAD":
            body = b""
        default_lines = self.connection.encode_default_fields(self.default_headers)
        return b"%b%b%b\r\n%b" % (STATUS_LINE[status], default_lines, lines, body)

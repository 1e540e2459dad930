"""Limits of what one HTTP attempt may receive, below aiohttp's client.

aiohttp limits the size of a head, but queues any number of interim (1xx) heads, reads chunk
extensions without end, and keeps whatever arrives on an idle connection. Its timeouts do not help
against a peer that sends fast: all of that is parsed on the event loop, and kept in memory.
"""

import asyncio
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader

from longwire.delivery.http.http_limits import (
    ATTEMPT_BYTES_MAX,
    HEAD_BYTES_MAX,
    HEAD_TOO_LARGE,
    INTERIM_HEADS_MAX,
    RESPONSE_TOO_LARGE,
    TOO_MANY_INTERIM,
)
from longwire.delivery.http.open_connections import OpenConnections

# A head needs 20 bytes or so, and one read of the socket has up to 256 KiB.
PARSED_AT_ONCE_BYTES = 4 * 1_024


class ResponseLimitExceeded(aiohttp.ClientError):
    """The receiver sends more than a response may have. The message is safe to show to users."""


class BoundedResponseHandler(ResponseHandler):
    """aiohttp's protocol, aborting the connection at a limit.

    Interim heads are counted and dropped: nothing here waits for one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, open_connections: OpenConnections) -> None:
        super().__init__(loop=loop)
        self._open_connections = open_connections
        self._received_bytes = 0  # in this attempt
        self._interim_heads = 0
        self._has_final_head = False
        self._is_aborted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._open_connections.count += 1
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._open_connections.count -= 1
        super().connection_lost(exc)

    def set_response_params(self, **params: Any) -> None:
        """Called by aiohttp for every request, after it took the connection from the pool."""
        self._received_bytes = self._interim_heads = 0
        self._has_final_head = False
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        size = len(data)
        if size <= PARSED_AT_ONCE_BYTES:
            self._receive(data)
            return
        for start in range(0, size, PARSED_AT_ONCE_BYTES):
            self._receive(data[start : start + PARSED_AT_ONCE_BYTES])

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Called by aiohttp for every head."""
        code = data[0].code
        if 100 <= code < 200 and code != 101:
            self._interim_heads += 1
        elif self._has_final_head:
            self._abort(RESPONSE_TOO_LARGE)
        else:
            self._has_final_head = True
            super().feed_data(data, size)

    def _receive(self, data: bytes) -> None:
        if self._is_aborted:
            return
        payload = self._payload
        if data and self._has_final_head and (payload is None or payload.is_eof()):
            self._abort(RESPONSE_TOO_LARGE)  # the response was complete
            return
        self._received_bytes += len(data)
        super().data_received(data)
        if self._interim_heads > INTERIM_HEADS_MAX:
            self._abort(TOO_MANY_INTERIM)
        elif self._received_bytes > ATTEMPT_BYTES_MAX:
            self._abort(RESPONSE_TOO_LARGE)
        elif not self._has_final_head and self._received_bytes > HEAD_BYTES_MAX:
            self._abort(HEAD_TOO_LARGE)

    def _abort(self, reason: str) -> None:
        self._is_aborted = True
        payload = self._payload
        self.abort()
        error = ResponseLimitExceeded(reason)
        self.set_exception(error)
        if payload is not None and not payload.is_eof():
            payload.set_exception(error)

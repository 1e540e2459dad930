"""The HTTP client of requests whose responses matter: aiohttp behind the egress guard, with limits.

aiohttp is large, so this module is loaded by `load_http_client` for the first sender that needs it.
"""

import asyncio
import errno
import functools
import socket
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from longwire.delivery.destinations.base import (
    FailureCode,
    Refused,
    Unreachable,
    invalid_message,
)
from longwire.delivery.destinations.connections import (
    NOT_TRUSTED,
    TIMED_OUT,
    TLS_FAILED,
    outcome_of_error,
)
from longwire.delivery.http.egress import CONNECT_TIMEOUT_S, NOT_RESOLVED, Egress, EgressDenied
from longwire.delivery.http.http_limits import DNS_CACHE_TTL_S, KEEP_ALIVE_S, TOTAL_TIMEOUT_S
from longwire.delivery.http.http_responses import BoundedResponseHandler, ResponseLimitExceeded
from longwire.delivery.http.open_connections import OpenConnections

CONNECTIONS_MAX = 256
# Of the response, buffered before flow control stops the peer.
READ_AHEAD_BYTES = 16 * 1_024
CONNECT_ERRORS = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "no route to host",
}

log = structlog.get_logger()


def create_guarded_session(egress: Egress, headers: Mapping[str, str]) -> aiohttp.ClientSession:
    """A client behind the egress guard, without cookies, proxies, decompression and retries."""
    session = aiohttp.ClientSession(
        connector=build_connector(egress),
        headers=headers,
        skip_auto_headers=("Accept-Encoding",),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=TOTAL_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S),
        auto_decompress=False,
        trust_env=False,
        read_bufsize=READ_AHEAD_BYTES,
    )
    # aiohttp has no setting against its own retries of idempotent requests, such as PUT.
    session._retry_connection = False
    return session


def build_connector(egress: Egress) -> aiohttp.TCPConnector:
    """A guarded connector; call inside the event loop.

    aiohttp does not ask the resolver for literal addresses; the socket factory checks those.
    """
    return _GuardedConnector(
        egress.open_connections,
        resolver=_GuardedResolver(egress),
        socket_factory=egress.open_socket,
        ttl_dns_cache=DNS_CACHE_TTL_S,
        limit=CONNECTIONS_MAX,
        keepalive_timeout=KEEP_ALIVE_S,
    )


class _GuardedResolver(AbstractResolver):
    """aiohttp's resolver: only permitted addresses."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._egress.resolve(host)
        ]

    async def close(self) -> None:
        """Nothing to close."""


class _GuardedConnector(aiohttp.TCPConnector):
    """aiohttp's connector, with limits to what is received, and to what a close waits for.

    It aborts connections that still have unsent data when released. Closing would wait until the
    peer has read everything, which may be never, and keep the connection and its buffers in memory.
    """

    def __init__(self, open_connections: OpenConnections, **options: Any) -> None:
        super().__init__(**options)
        self._open_connections = open_connections
        # aiohttp has no setting for it.
        handler: Callable[..., ResponseHandler] = BoundedResponseHandler
        self._factory = functools.partial(
            handler, loop=self._loop, open_connections=open_connections
        )
        self._busy_transports: set[asyncio.Transport] = set()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's name
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        transport = connection.transport
        protocol = connection.protocol
        if transport is not None and protocol is not None:
            self._busy_transports.add(transport)
            connection.add_callback(functools.partial(self._on_release, transport, protocol))
        return connection

    def _on_release(self, transport: asyncio.Transport, protocol: ResponseHandler) -> None:
        self._busy_transports.discard(transport)
        if self._open_connections.is_crowded:
            protocol.force_close()
        if transport.get_write_buffer_size():
            transport.abort()

    async def close(self, *, abort_ssl: bool = False) -> None:
        while self._busy_transports:
            self._busy_transports.pop().abort()
        await super().close(abort_ssl=abort_ssl)


def outcome_of_http_error(error: Exception) -> Refused | Unreachable:
    """The outcome for an error without a response."""
    match error:
        case EgressDenied():
            return outcome_of_error(error)
        case ResponseLimitExceeded():
            return Unreachable(str(error), code=FailureCode.LIMIT_EXCEEDED)
        case aiohttp.ClientConnectorCertificateError():
            return NOT_TRUSTED
        case aiohttp.ClientSSLError():
            return TLS_FAILED
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(NOT_RESOLVED)
        case aiohttp.ConnectionTimeoutError():
            return Unreachable("connecting timed out", code=FailureCode.TIMED_OUT)
        case aiohttp.ClientConnectorError():
            return Unreachable(CONNECT_ERRORS.get(error.errno or 0, "connecting failed"))
        case TimeoutError():
            return TIMED_OUT
        case aiohttp.ClientResponseError():
            return Unreachable("the response is not valid HTTP")
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            return Unreachable("the connection was closed before the response was complete")
        case ValueError():
            return invalid_message("the request is not valid HTTP")
    # Unexpected, so logged; a retry may succeed.
    log.error("webhook_internal_error", error=type(error).__name__)
    return Unreachable("sending failed", code=FailureCode.INTERNAL_ERROR)

"""The HTTP server: uvicorn with a guarded protocol, a timed TLS handshake and an orderly stop."""

import asyncio
import math
import os
import socket
import ssl
import time
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any

import uvicorn
import uvloop

from longwire.dataclass import dataclass
from longwire.web.http_protocol import ErrorEncoder, FastPath, GuardedProtocol, guarded_protocol
from longwire.web.tls_handshakes import wrap_create_server
from longwire.web.wire_limits import WireLimits

SHUTDOWN_S = 2.0


@dataclass(frozen=True, slots=True)
class StopEvents:
    """What a process does at its start and at its end, besides serving."""

    on_started: Callable[[], None] = lambda: None
    on_signal: Callable[[], None] = lambda: None  # the first one; the server still serves
    lame_duck_s: float = 0.0  # how long it does so after that


def run_until_done(work: Coroutine[Any, Any, None]) -> None:
    """Run something on the event loop that the service runs on, without serving."""
    uvloop.run(work)


def build_server(
    app: Callable[..., Any],
    *,
    host: str,
    port: int,
    limits: WireLimits,
    encode_error: ErrorEncoder,
    fast_path: FastPath | None = None,
    on_too_many: Callable[[], None] = lambda: None,
    on_stopping: Callable[[], None] = lambda: None,
    stop_events: StopEvents | None = None,
    tls_cert: str | os.PathLike[str] | None = None,
    tls_key: str | os.PathLike[str] | None = None,
    graceful_s: int = 30,
) -> uvicorn.Server:
    """Make the server; `run()` or `serve()` starts it, on sockets of the caller's if given any.

    `on_too_many` is called for each connection that exceeds a limit of connections or of unsent
    bytes, `on_stopping` before a stop waits for the responses that are being sent.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=guarded_protocol(limits, encode_error, fast_path, on_too_many),
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=True,
        # Only for whoever looks at the config: our protocol keeps this limit itself.
        timeout_keep_alive=math.ceil(limits.keep_alive_s),
        timeout_graceful_shutdown=graceful_s,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        ssl_context_factory=None if tls_cert is None else _tls_context,
    )
    return _Server(config, limits, on_too_many, on_stopping, stop_events or StopEvents())


def reload_server(
    server: uvicorn.Server,
    limits: WireLimits,
    tls_cert: str | os.PathLike[str] | None,
    tls_key: str | os.PathLike[str] | None,
) -> None:
    """Take another certificate and other limits of connections; open ones stay as they are."""
    _get_protocol(server).limit_connections(limits)
    if tls_cert is not None and server.config.ssl is not None:
        server.config.ssl.load_cert_chain(tls_cert, tls_key, password="")


def _get_protocol(server: uvicorn.Server) -> type[GuardedProtocol]:
    protocol = server.config.http
    assert isinstance(protocol, type)
    assert issubclass(protocol, GuardedProtocol)
    return protocol


def _tls_context(
    config: uvicorn.Config, default_context: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    context = default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION  # costs us more than who asks for it
    return context


class _Server(uvicorn.Server):
    """uvicorn's server, with limits on the TLS handshake, and a stop that others know of."""

    def __init__(
        self,
        config: uvicorn.Config,
        limits: WireLimits,
        on_too_many: Callable[[], None],
        on_stopping: Callable[[], None],
        stop_events: StopEvents,
    ) -> None:
        super().__init__(config)
        self._limits = limits
        self._on_too_many = on_too_many
        self._on_stopping = on_stopping
        self._stop_events = stop_events
        self._exit_at = math.inf

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Serve on for a while after the first signal; a second one stops at once."""
        if self._exit_at != math.inf:
            super().handle_exit(sig, frame)
            return
        self._captured_signals.append(sig)
        self._exit_at = time.monotonic() + self._stop_events.lame_duck_s
        self._stop_events.on_signal()

    async def on_tick(self, counter: int) -> bool:
        if time.monotonic() >= self._exit_at:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stopping()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._open(sockets)
        if self.started:
            self._stop_events.on_started()

    async def _open(self, sockets: list[socket.socket] | None = None) -> None:
        if not self.config.is_ssl:
            await super().startup(sockets)
            return
        # uvicorn has no setting for these. The loop's method is covered only for as long as uvicorn
        # opens its listeners.
        protocol = _get_protocol(self)
        loop = asyncio.get_running_loop()
        loop.create_server = wrap_create_server(  # type: ignore[method-assign]
            loop.create_server,
            lambda: protocol.count_free(len(self.server_state.connections)),
            self._on_too_many,
            ssl_handshake_timeout=self._limits.head_timeout_s,
            # Idle clients seldom complete the TLS shutdown, and a stop would wait for each.
            ssl_shutdown_timeout=min(SHUTDOWN_S, self._limits.write_timeout_s),
        )
        try:
            await super().startup(sockets)
        finally:
            del loop.create_server

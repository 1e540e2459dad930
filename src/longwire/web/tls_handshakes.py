"""TLS handshakes, counted from the moment in which a connection is accepted.

An event loop tells nobody of a connection before its TLS handshake has ended. So connections that
never begin one would count for no limit, and take all descriptors, also those of the database and
of deliveries. Here they do count, and when there are too many, the one that has waited longest
makes room: a client that shakes hands needs no more than a few round trips.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import uvloop.loop

# However many connections there are: clients that get this answer need a handshake as well.
HANDSHAKES_MIN = 64

# What uvloop itself puts between a socket and a protocol. It has no types, and pyproject.toml
# bounds its version.
_TlsProtocol: Any = uvloop.loop.SSLProtocol  # type: ignore[attr-defined]


class TlsHandshakes:
    """Those of one listener."""

    def __init__(
        self,
        context: ssl.SSLContext,
        create_protocol: Callable[[], asyncio.BaseProtocol],
        find_room: Callable[[], int],
        on_too_many: Callable[[], None],
        timeouts: dict[str, float],
    ) -> None:
        """`find_room` says how many more connections there may be."""
        self._context: Final = context
        self._create_protocol: Final = create_protocol
        self._find_room = find_room
        self._on_too_many = on_too_many
        self._timeouts = timeouts
        self._pending: dict[_GuardedHandshake, None] = {}  # the oldest first

    def accept(self) -> asyncio.BaseProtocol:
        """The protocol of a connection that is being accepted."""
        loop = asyncio.get_running_loop()
        is_done = loop.create_future()
        connection = _GuardedHandshake(
            loop,
            self._create_protocol(),
            self._context,
            is_done,
            server_side=True,
            **self._timeouts,
        )
        connection.on_accepted = self._begin
        is_done.add_done_callback(partial(self._end, connection))
        return connection

    def _begin(self, connection: "_GuardedHandshake") -> None:
        self._pending[connection] = None
        if len(self._pending) > max(HANDSHAKES_MIN, self._find_room()):
            oldest = next(iter(self._pending))
            del self._pending[oldest]
            oldest.abort()
            self._on_too_many()

    def _end(self, connection: "_GuardedHandshake", is_done: "asyncio.Future[None]") -> None:
        self._pending.pop(connection, None)
        connection.raw_transport = None
        is_done.exception()  # no handshake, or none that we accept


class _GuardedHandshake(_TlsProtocol):  # type: ignore[misc]
    """The loop's TLS, which tells when it gets its connection."""

    on_accepted: Callable[["_GuardedHandshake"], None]
    raw_transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.raw_transport = transport
        self.on_accepted(self)
        super().connection_made(transport)

    def abort(self) -> None:
        if self.raw_transport is not None:
            self.raw_transport.abort()


def wrap_create_server(
    create_server: Callable[..., Any],
    find_room: Callable[[], int],
    on_too_many: Callable[[], None],
    **timeouts: float,
) -> Callable[..., Any]:
    """The loop's method, which leaves TLS to us."""

    def create(factory: Callable[[], asyncio.BaseProtocol], *where: Any, **options: Any) -> Any:
        context = options.pop("ssl")
        handshakes = TlsHandshakes(context, factory, find_room, on_too_many, timeouts)
        return create_server(handshakes.accept, *where, **options)

    return create

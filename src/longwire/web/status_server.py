"""A minimal HTTP server for health and metrics of a process that does not serve the API.

One GET per connection, few connections at a time, short timeouts.
"""

import asyncio
import socket
from collections.abc import Sequence

from longwire.web.errors import MEDIA_TYPE, TITLES, encode_problem
from longwire.web.routing import Request, Response, Route

HEAD_BYTES_MAX = 16 * 1024
TIMEOUT_S = 10.0
CONNECTIONS_MAX = 16


class StatusServer:
    """Serves a few read-only routes without authentication."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._handlers = {route.path: route.handler for route in routes}
        self._connections = 0

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(
            self._handle_connection, sock=listener, limit=HEAD_BYTES_MAX
        )
        async with server:
            await server.serve_forever()

    async def _handle_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS_MAX:
                async with asyncio.timeout(TIMEOUT_S):
                    writer.write(await self._respond(reader))
                    await writer.drain()
        except (OSError, EOFError, ValueError):
            pass  # timed out, too large or disconnected: nobody waits for a response
        finally:
            self._connections -= 1
            writer.close()

    async def _respond(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        except (asyncio.LimitOverrunError, ValueError):
            return _encode(_error(400, "bad_request", "This is not a valid HTTP request."))
        path, _, query = target.partition("?")
        if not version.startswith("HTTP/1.") or path not in self._handlers:
            named = ", ".join(self._handlers)
            return _encode(_error(404, "not_found", f"The paths are {named}."))
        if method not in ("GET", "HEAD"):
            return _encode(_error(405, "wrong_method", "This path takes GET, HEAD."))
        request = Request(method, path, query.encode(), {}, set(), "-", False, "-")
        return _encode(await self._handlers[path](request, b""), has_body=method == "GET")


def _error(status: int, code: str, detail: str) -> Response:
    # No request id: these requests are not logged.
    return Response(status, encode_problem(status, code, detail, "-"), MEDIA_TYPE)


def _encode(response: Response, *, has_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {response.status} {TITLES.get(response.status, 'OK')}\r\n"
        f"content-type: {response.media_type}\r\n"
        f"content-length: {len(response.body)}\r\n"
        "cache-control: no-store\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + (response.body if has_body else b"")

"""A small server for those who watch a process that serves nothing else: a few pages to GET.

One request for each connection, a few connections at a time, and little patience with either.
"""

import asyncio
import socket
from collections.abc import Sequence

from longwire.web.errors import MEDIA_TYPE, TITLES, wire_refusal
from longwire.web.routing import PlainRoute, Request, Response

HEAD_BYTES_MAX = 16 * 1024
TIMEOUT_S = 10.0
CONNECTIONS_MAX = 16


class WatchedPages:
    """Serves some pages, without token and without anything that could be changed."""

    def __init__(self, routes: Sequence[PlainRoute]) -> None:
        self._pages = {route.path: route.handler for route in routes}
        self._connections = 0

    async def serve(self, listener: socket.socket) -> None:
        """Until it is cancelled."""
        server = await asyncio.start_server(self._take, sock=listener, limit=HEAD_BYTES_MAX)
        async with server:
            await server.serve_forever()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS_MAX:
                async with asyncio.timeout(TIMEOUT_S):
                    writer.write(await self._answer(reader))
                    await writer.drain()
        except (OSError, EOFError, ValueError):
            pass  # too slow, too long, or gone: nobody is waiting for an answer
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
        except (asyncio.LimitOverrunError, ValueError):
            return _written(_refusal(400, "bad_request", "This is not understood as HTTP."))
        path, _, query = target.partition("?")
        if not version.startswith("HTTP/1.") or path not in self._pages:
            named = ", ".join(self._pages)
            return _written(_refusal(404, "not_found", f"There is nothing here but {named}."))
        if method not in ("GET", "HEAD"):
            return _written(_refusal(405, "wrong_method", "This path takes GET, HEAD."))
        request = Request(method, path, query.encode(), {}, set(), "-", False, "-")
        return _written(await self._pages[path](request, b""), has_body=method == "GET")


def _refusal(status: int, code: str, detail: str) -> Response:
    # No id: nothing is noted of these requests, so there is nothing to find by one.
    return Response(status, wire_refusal(status, code, detail, "-"), MEDIA_TYPE)


def _written(response: Response, *, has_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {response.status} {TITLES.get(response.status, 'OK')}\r\n"
        f"content-type: {response.media_type}\r\n"
        f"content-length: {len(response.body)}\r\n"
        "cache-control: no-store\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + (response.body if has_body else b"")

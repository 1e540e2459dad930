"""The client of a test: plain requests take a third of the processor time that httpx takes.

A fifth of the time that tests spent in Python went into sending requests.
"""

import json
import re
import socket
from collections.abc import Mapping
from select import select
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httptools
import httpx

from tests.waiting import PATIENCE_S

METHODS = {"GET", "POST", "PUT", "DELETE"}
IDLE_S = 20
# With surplus or expired idle connections httpx closes one that it has just given to another
# thread, whose request then fails with "Bad file descriptor".
KEEP_IDLE = httpx.Limits(
    max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_S
)
_PLAIN_PATH = re.compile(r"[/\w.-]+", re.ASCII)


class _Response:
    """What the parser has seen of a response."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        self.is_complete = True


class SocketClient(httpx.Client):
    """A client whose plain requests go over a socket; it sends and fails as httpx does."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, timeout=PATIENCE_S, verify=False, limits=KEEP_IDLE)
        address = urlsplit(url)
        self._is_direct = address.scheme == "http" and address.path in {"", "/"}
        self._address = (address.hostname, address.port)
        self._idle: list[tuple[socket.socket, float]] = []
        self._head = f" HTTP/1.1\r\nHost: {address.netloc}\r\n{_format_fields(self.headers)}"

    def request(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Response:
        if not self._is_direct or not _is_plain(method, url, options):
            return super().request(method, url, **options)
        query = f"?{httpx.QueryParams(options['params'])}" if options.get("params") else ""
        fields, body = _format_fields(options.get("headers") or {}), b""
        if options.get("json") is not None:
            body = _encode(options["json"])
            fields += f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n"
        elif method in {"POST", "PUT"}:
            fields += "Content-Length: 0\r\n"
        head = f"{method} {url}{query}{self._head}{fields}\r\n"
        return self._exchange(head.encode("ascii") + body)

    def close(self) -> None:
        super().close()
        while self._idle:
            self._idle.pop()[0].close()

    def _exchange(self, request: bytes) -> httpx.Response:
        connection = self._take_idle() or self._connect()
        try:
            connection.sendall(request)
            return self._receive(connection)
        except OSError as error:
            connection.close()
            raise httpx.ReadError(str(error)) from error

    def _take_idle(self) -> socket.socket | None:
        while self._idle:
            connection, since = self._idle.pop()
            is_closed = select([connection], [], [], 0)[0]
            if not is_closed and monotonic() - since < IDLE_S:
                return connection
            connection.close()
        return None

    def _connect(self) -> socket.socket:
        try:
            return socket.create_connection(self._address, PATIENCE_S)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error

    def _receive(self, connection: socket.socket) -> httpx.Response:
        seen = _Response()
        parser = httptools.HttpResponseParser(seen)
        while not seen.is_complete:
            received = connection.recv(65_536)
            if not received:
                connection.close()
                raise httpx.RemoteProtocolError("The response is incomplete.")
            parser.feed_data(received)
        if parser.should_keep_alive():
            self._idle.append((connection, monotonic()))
        else:
            connection.close()
        body = httpx.ByteStream(b"".join(seen.body))
        response = httpx.Response(parser.get_status_code(), headers=seen.headers, stream=body)
        response.read()
        return response


def _is_plain(method: str, url: httpx.URL | str, options: Mapping[str, Any]) -> bool:
    """Whether nothing is asked for that only httpx can do."""
    is_known = method in METHODS and options.keys() <= {"headers", "params", "json"}
    return is_known and isinstance(url, str) and _PLAIN_PATH.fullmatch(url) is not None


def _format_fields(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

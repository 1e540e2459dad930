"""Plain requests to the service of a test, for a third of the processor time that httpx takes.

A fifth of the time that tests spend in Python went into sending requests.
"""

import json
import re
import socket
from collections.abc import Mapping
from select import select
from time import monotonic
from typing import Any

import httptools
import httpx

METHODS = {"GET", "POST", "PUT", "DELETE"}
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


class PlainClient:
    """HTTP/1.1 to one address. It sends what an httpx client sends, and fails as one does."""

    def __init__(
        self, port: int, headers: Mapping[str, str], *, timeout_s: float, idle_s: float
    ) -> None:
        self._address = ("127.0.0.1", port)
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._idle: list[tuple[socket.socket, float]] = []
        self._head = f" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{_format_fields(headers)}"

    @staticmethod
    def can_send(method: str, path: str, options: Mapping[str, Any]) -> bool:
        is_plain = method in METHODS and options.keys() <= {"json", "params"}
        return is_plain and _PLAIN_PATH.fullmatch(path) is not None

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, Any] | None = None,
        json: Any = None,
    ) -> httpx.Response:
        query = f"?{httpx.QueryParams(params)}" if params else ""
        fields = _format_fields(headers)
        body = b""
        if json is not None:
            body = _encode(json)
            fields += f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n"
        elif method in {"POST", "PUT"}:
            fields += "Content-Length: 0\r\n"
        head = f"{method} {path}{query}{self._head}{fields}\r\n"
        return self._exchange(head.encode("ascii") + body)

    def close(self) -> None:
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
            if not is_closed and monotonic() - since < self._idle_s:
                return connection
            connection.close()
        return None

    def _connect(self) -> socket.socket:
        try:
            return socket.create_connection(self._address, self._timeout_s)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error

    def _receive(self, connection: socket.socket) -> httpx.Response:
        seen = _Response()
        parser = httptools.HttpResponseParser(seen)
        while not seen.is_complete:
            received = connection.recv(65_536)
            if not received:
                connection.close()
                raise httpx.RemoteProtocolError("The service closed the connection.")
            parser.feed_data(received)
        if parser.should_keep_alive():
            self._idle.append((connection, monotonic()))
        else:
            connection.close()
        body = httpx.ByteStream(b"".join(seen.body))
        response = httpx.Response(parser.get_status_code(), headers=seen.headers, stream=body)
        response.read()
        return response


def _format_fields(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

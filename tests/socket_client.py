"""The client of a test: plain requests take a third of the processor time that httpx takes.

A fifth of the time that tests spent in Python went into sending requests.
"""

import json
import re
import select
import socket
from collections.abc import Mapping
from contextlib import suppress
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
# What its methods hand on of what they were not given.
_DEFAULTS = (None, httpx.USE_CLIENT_DEFAULT)
# Making one takes a third of what a client costs.
_UNVERIFIED = httpx.create_ssl_context(verify=False)
_PLAIN_PATH = re.compile(r"[/\w.-]+", re.ASCII)


class SocketClient(httpx.Client):
    """A client of httpx whose plain requests go over a socket."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, timeout=PATIENCE_S, verify=_UNVERIFIED, limits=KEEP_IDLE)
        address = urlsplit(url)
        self._is_direct = address.scheme == "http" and address.path in {"", "/"}
        self._address = (address.hostname, address.port)
        self._idle: list[tuple[socket.socket, float]] = []
        self._defaults = {"host": address.netloc, **self.headers}

    def request(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Response:
        is_usable = self._is_direct and not self.is_closed and not self.cookies
        given = {name: each for name, each in options.items() if each not in _DEFAULTS}
        if not is_usable or not _is_plain(method, url, given):
            return super().request(method, url, **options)
        query = f"?{httpx.QueryParams(options['params'])}" if options.get("params") else ""
        fields, body = dict(self._defaults), b""
        if options.get("json") is not None:
            body = _encode(options["json"])
            fields |= {"content-length": str(len(body)), "content-type": "application/json"}
        elif method in {"POST", "PUT"}:
            fields["content-length"] = "0"
        fields |= {name.lower(): value for name, value in (options.get("headers") or {}).items()}
        lines = [f"{method} {url}{query} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return self._exchange("\r\n".join([*lines, "\r\n"]).encode("ascii") + body)

    def close(self) -> None:
        super().close()
        self._close_idle()

    def _exchange(self, request: bytes) -> httpx.Response:
        connection = self._take_idle() or self._connect()
        received = _ReceivedResponse()
        try:
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(request)  # whoever refuses it may respond before it is sent
            received.read_from(connection)
        except TimeoutError as error:
            raise httpx.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        finally:
            if received.is_kept_alive:
                self._idle.append((connection, monotonic()))
            else:
                connection.close()
        if self.is_closed:  # meanwhile
            self._close_idle()
        return received.build()

    def _take_idle(self) -> socket.socket | None:
        while self._idle:
            connection, since = self._idle.pop()
            events = select.poll()
            events.register(connection, select.POLLIN)
            if not events.poll(0) and monotonic() - since < IDLE_S:
                return connection
            connection.close()  # the service has closed it, or is about to
        return None

    def _connect(self) -> socket.socket:
        try:
            return socket.create_connection(self._address, PATIENCE_S)
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop()[0].close()


class _ReceivedResponse:
    """A response as the parser reports it."""

    def __init__(self) -> None:
        self.is_kept_alive = False
        self._parser = httptools.HttpResponseParser(self)
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._messages = 0
        self._is_complete = False

    def read_from(self, connection: socket.socket) -> None:
        while not self._is_complete:
            content = connection.recv(65_536)
            if not content:
                raise httpx.RemoteProtocolError("The response is incomplete.")
            try:
                self._parser.feed_data(content)
            except httptools.HttpParserError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
        if self._messages > 1:
            self.is_kept_alive = False
            raise httpx.RemoteProtocolError("There is more than one response.")

    def build(self) -> httpx.Response:
        body = httpx.ByteStream(b"".join(self._body))
        response = httpx.Response(self._status, headers=self._headers, stream=body)
        response.read()
        return response

    # --- what the parser calls ---

    def on_message_begin(self) -> None:
        self._messages += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._is_complete = True
        self._status = self._parser.get_status_code()
        self.is_kept_alive = self._parser.should_keep_alive()


def _is_plain(method: str, url: httpx.URL | str, options: Mapping[str, Any]) -> bool:
    """Whether nothing is asked for that only httpx can do."""
    is_known = method in METHODS and options.keys() <= {"headers", "params", "json"}
    is_known &= isinstance(options.get("headers", {}), dict)
    return is_known and isinstance(url, str) and _PLAIN_PATH.fullmatch(url) is not None


def _encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

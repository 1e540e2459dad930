"""A stub HTTP server that records requests and responds, or misbehaves, as scripted.

It runs in a thread of its own. Its responses can be changed at any time, from any thread:

    with Receiver() as receiver:
        receiver.respond_with(503, StubResponse(status=429, headers={"Retry-After": "7"}), 200)
        ...
        first, second, third = receiver.wait_for(3)

Responses are taken in turn, and the last one stays. A function of the request may stand in place of
a response.
"""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httptools

from tests.certificates import create_tls_context
from tests.waiting import PATIENCE_S

BLOCK = b"x" * 65_536


@dataclass(frozen=True)
class Received:
    """A recorded request."""

    method: str
    path: str  # with the query
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    at: float  # seconds since 1970
    connection: int  # which connection it came on, counted from 1

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class StubResponse:
    """A response, and how it misbehaves."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    held: bool = False  # until the receiver releases them
    drip_s: float | None = None  # one byte at a time, so far apart
    reset_at: int | None = None  # the connection is reset after so many bytes
    endless: bool = False  # the body never ends
    block: bytes = BLOCK  # what it consists of then
    raw: bytes | None = None  # these bytes instead of a response
    hang: bool = False  # no response, ever
    close_socket: bool = False  # the connection is closed without a response

    def encode(self) -> bytes:
        if self.raw is not None:
            return self.raw
        has_body = self.status not in (204, 304)
        length = {"Content-Length": str(len(self.body))} if has_body and not self.endless else {}
        lines = [f"{name}: {value}" for name, value in (length | dict(self.headers)).items()]
        head = "\r\n".join([f"HTTP/1.1 {self.status} Whatever", *lines])
        return head.encode() + b"\r\n\r\n" + (self.body if has_body else b"")


HANG = StubResponse(hang=True)
HANG_UP = StubResponse(close_socket=True)


def redirect(to: str, status: int = 302) -> StubResponse:
    return StubResponse(status=status, headers={"Location": to})


Script = int | StubResponse | Callable[[Received], int | StubResponse]


class Receiver:
    """A server on a free port; with `tls`, under a self-signed certificate."""

    def __init__(
        self,
        *responses: Script,
        tls: bool = False,
        name: str = "127.0.0.1",
        host: str = "127.0.0.1",
        release_after: int | None = None,
    ) -> None:
        """Held responses are released by so many requests, or by a call of `release`."""
        self._host = host
        self.requests: list[Received] = []
        self.connections = 0
        self.name = name
        self.port = 0
        self.certificate = b""  # PEM
        self.tls: ssl.SSLContext | None = None
        if tls:
            self.tls, self.certificate = create_tls_context(name)
        self._changed = threading.Condition()
        self._open: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._reserved: socket.socket | None = None  # so that nobody else gets the port meanwhile
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="receiver", daemon=True)
        self._release_after = release_after
        self._released = asyncio.Event()
        self._script: list[Script] = []
        self.respond_with(*responses or (200,))

    def __enter__(self) -> "Receiver":
        self._thread.start()
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._reserved is not None:
            self._reserved.close()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.name}:{self.port}/hook"

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in list(self.requests)]

    @property
    def ids(self) -> list[str]:
        return [request.id for request in list(self.requests)]

    def respond_with(self, *responses: Script) -> None:
        """From now on, respond with these in turn, then always with the last one."""
        with self._changed:
            self._script = list(responses)

    def release(self) -> None:
        """Send the responses that are held, and hold none from now on."""
        self._loop.call_soon_threadsafe(self._released.set)

    def clear(self) -> None:
        with self._changed:
            self.requests = []

    def wait_for(self, count: int, timeout_s: float = PATIENCE_S) -> list[Received]:
        """All recorded requests, once there are so many."""
        with self._changed:
            is_reached = self._changed.wait_for(lambda: len(self.requests) >= count, timeout_s)
            assert is_reached, f"{len(self.requests)} of {count} requests came within {timeout_s} s"
            return list(self.requests)

    def down(self) -> None:
        """Refuse connections, and drop those there are; `up` comes back on the same port."""
        self._run(self._down())

    def up(self) -> None:
        self._run(self._up())

    def push(self, data: bytes) -> None:
        """Send this on every open connection, although nobody asked."""
        self._run(self._push(data))

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=PATIENCE_S)

    async def _up(self) -> None:
        if self._reserved is None:
            self._reserved = self._reserve_port()
            self.port = self._reserved.getsockname()[1]
        self._server = await self._loop.create_server(
            lambda: _Connection(self),
            self._host,
            self.port,
            ssl=self.tls,
            backlog=1_024,
            reuse_port=True,
        )

    def _reserve_port(self) -> socket.socket:
        """A socket that refuses connections, as it never listens."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        reserved = socket.socket(family)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((self._host, self.port))
        return reserved

    async def _push(self, data: bytes) -> None:
        for connection in list(self._open):
            connection.transport.write(data)

    async def _down(self) -> None:
        if self._server is not None:
            # A connection that was just accepted fails on a server that is closed by now.
            for listening in self._server.sockets:
                self._loop.remove_reader(listening.fileno())
            await asyncio.sleep(0)
            self._server.close()
            self._server = None
        await self._drop_all()
        # Connections in the middle of their TLS handshake.
        accepting = asyncio.all_tasks() - {asyncio.current_task()}
        if accepting:
            _, stuck = await asyncio.wait(accepting, timeout=1)
            for task in stuck:
                task.cancel()
        await self._drop_all()

    async def _drop_all(self) -> None:
        await asyncio.sleep(0)
        for connection in list(self._open):
            connection.transport.abort()
            await connection.gone.wait()

    def _take(self, request: Received) -> StubResponse:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            if len(self.requests) == self._release_after:
                self._released.set()
            response = self._script[0]
            if len(self._script) > 1:
                del self._script[0]
        if callable(response):
            response = response(request)
        return response if isinstance(response, StubResponse) else StubResponse(status=response)


class _Connection(asyncio.Protocol):
    """One connection; httptools reads, this writes."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._parser = httptools.HttpRequestParser(self)
        self._path = ""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._can_write = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self._can_write.set()
        self._receiver._open.add(self)
        self._receiver.connections += 1
        self._number = self._receiver.connections

    def connection_lost(self, error: Exception | None) -> None:
        self._receiver._open.discard(self)
        if self._task is not None:
            self._task.cancel()
        self.gone.set()

    def pause_writing(self) -> None:
        self._can_write.clear()

    def resume_writing(self) -> None:
        self._can_write.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            raise  # a bug in the test
        except httptools.HttpParserError:
            self.transport.write(StubResponse(status=400).encode())
            self.transport.close()

    def on_message_begin(self) -> None:
        self._path, self._headers, self._body = "", {}, []

    def on_url(self, url: bytes) -> None:
        self._path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        response = self._receiver._take(
            Received(
                method=self._parser.get_method().decode(),
                path=self._path,
                headers=self._headers,
                body=b"".join(self._body),
                at=time.time(),
                connection=self._number,
            )
        )
        is_plain = response.delay_s == 0 and response.drip_s is None and response.reset_at is None
        is_plain = is_plain and not (response.held or response.hang)
        if is_plain and not (response.close_socket or response.endless):
            self.transport.write(response.encode())
        else:
            self._task = asyncio.get_running_loop().create_task(self._misbehave(response))

    async def _misbehave(self, response: StubResponse) -> None:
        await asyncio.sleep(response.delay_s)
        if response.held:
            await self._receiver._released.wait()
        if response.hang:
            return
        if response.close_socket:
            self.transport.close()
            return
        data = response.encode()
        if response.reset_at is not None:
            self.transport.write(data[: response.reset_at])
            self._reset()
            return
        if response.drip_s is None:
            self.transport.write(data)
        else:
            for byte in data:
                self.transport.write(bytes((byte,)))
                await asyncio.sleep(response.drip_s)
        while response.endless:
            await self._can_write.wait()
            self.transport.write(response.block)
            await asyncio.sleep(0)

    def _reset(self) -> None:
        """Close with RST instead of FIN."""
        linger_for_nothing = struct.pack("ii", 1, 0)
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger_for_nothing
            )
        self.transport.abort()

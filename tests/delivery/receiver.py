"""Somebody else's HTTP server, which writes down what it gets and behaves as it is told.

It runs in a thread of its own, so that a test can speak with it from anywhere. What it answers can
be changed at any time, from any thread:

    with Receiver() as receiver:
        receiver.answer(503, Answer(status=429, headers={"Retry-After": "7"}), 200)
        ...
        first, second, third = receiver.wait_for(3)

The answers are taken in turn and the last one stays. A function of the request may stand in place
of an answer.
"""

import asyncio
import contextlib
import datetime
import ipaddress
import json
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httptools
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

BLOCK = b"x" * 65_536


@dataclass(frozen=True)
class Received:
    """One request, as it came in."""

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
class Answer:
    """What to answer, and how badly."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0.0
    drip_s: float | None = None  # one byte at a time, so far apart
    reset_at: int | None = None  # after so many bytes of the answer the connection is reset
    endless: bool = False  # the body never ends
    raw: bytes | None = None  # these bytes instead of an answer
    hang: bool = False  # no answer, ever
    hang_up: bool = False  # the connection is closed without an answer

    def encoded(self) -> bytes:
        if self.raw is not None:
            return self.raw
        has_body = self.status not in (204, 304)
        length = {"Content-Length": str(len(self.body))} if has_body and not self.endless else {}
        lines = [f"{name}: {value}" for name, value in (length | dict(self.headers)).items()]
        head = "\r\n".join([f"HTTP/1.1 {self.status} Whatever", *lines])
        return head.encode() + b"\r\n\r\n" + (self.body if has_body else b"")


HANG = Answer(hang=True)
HANG_UP = Answer(hang_up=True)


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": to})


Script = int | Answer | Callable[[Received], int | Answer]


class Receiver:
    """A server on a free port; with `tls`, under a certificate that it made itself."""

    def __init__(self, *answers: Script, tls: bool = False, name: str = "127.0.0.1") -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.name = name
        self.port = 0
        self.certificate = b""  # PEM
        self.tls: ssl.SSLContext | None = None
        if tls:
            self.tls, self.certificate = self_signed(name)
        self._news = threading.Condition()
        self._open: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="receiver", daemon=True)
        self._script: list[Script] = []
        self.answer(*answers or (200,))

    def __enter__(self) -> "Receiver":
        self._thread.start()
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.name}:{self.port}/hook"

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in list(self.requests)]

    @property
    def ids(self) -> list[str]:
        return [request.id for request in list(self.requests)]

    def answer(self, *answers: Script) -> None:
        """Answer like this from now on: one after the other, and the last one for ever."""
        with self._news:
            self._script = list(answers)

    def forget(self) -> None:
        """Start counting anew."""
        with self._news:
            self.requests = []

    def wait_for(self, count: int, timeout_s: float = 10.0) -> list[Received]:
        """All requests so far, once there are so many."""
        with self._news:
            there = self._news.wait_for(lambda: len(self.requests) >= count, timeout_s)
            assert there, f"{len(self.requests)} of {count} requests came within {timeout_s} s"
            return list(self.requests)

    def down(self) -> None:
        """Refuse connections, and drop those there are; `up` comes back on the same port."""
        self._run(self._down())

    def up(self) -> None:
        self._run(self._up())

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _up(self) -> None:
        self._server = await self._loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, ssl=self.tls, backlog=1_024
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _down(self) -> None:
        if self._server is not None:
            # A connection that was just accepted trips over a server that is closed by now.
            for listening in self._server.sockets:
                self._loop.remove_reader(listening.fileno())
            await asyncio.sleep(0)
            self._server.close()
            self._server = None
        await self._drop_all()
        # Those that were still shaking hands.
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

    def _take(self, request: Received) -> Answer:
        with self._news:
            self.requests.append(request)
            self._news.notify_all()
            told = self._script[0]
            if len(self._script) > 1:
                del self._script[0]
        if callable(told):
            told = told(request)
        return told if isinstance(told, Answer) else Answer(status=told)


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
            raise  # a mistake in the test
        except httptools.HttpParserError:
            self.transport.write(Answer(status=400).encoded())
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
        answer = self._receiver._take(
            Received(
                method=self._parser.get_method().decode(),
                path=self._path,
                headers=self._headers,
                body=b"".join(self._body),
                at=time.time(),
                connection=self._number,
            )
        )
        is_plain = answer.delay_s == 0 and answer.drip_s is None and answer.reset_at is None
        if is_plain and not (answer.hang or answer.hang_up or answer.endless):
            self.transport.write(answer.encoded())
        else:
            self._task = asyncio.get_running_loop().create_task(self._misbehave(answer))

    async def _misbehave(self, answer: Answer) -> None:
        await asyncio.sleep(answer.delay_s)
        if answer.hang:
            return
        if answer.hang_up:
            self.transport.close()
            return
        data = answer.encoded()
        if answer.reset_at is not None:
            self.transport.write(data[: answer.reset_at])
            self._reset()
            return
        if answer.drip_s is None:
            self.transport.write(data)
        else:
            for byte in data:
                self.transport.write(bytes((byte,)))
                await asyncio.sleep(answer.drip_s)
        while answer.endless:
            await self._can_write.wait()
            self.transport.write(BLOCK)
            await asyncio.sleep(0)

    def _reset(self) -> None:
        """Close with RST instead of FIN."""
        linger_for_nothing = struct.pack("ii", 1, 0)
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger_for_nothing
            )
        self.transport.abort()


def self_signed(name: str, *, days: int = 1) -> tuple[ssl.SSLContext, bytes]:
    """A server's TLS settings under a certificate that nobody knows, and the certificate as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    alternative: x509.GeneralName
    try:
        alternative = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        alternative = x509.DNSName(name)
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        both = Path(folder, "both.pem")
        both.write_bytes(private + pem)
        context.load_cert_chain(both)
    return context, pem

"""Who is outside of the service: clients that send requests, and receivers with moods."""

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httptools

from tests.simulation.network import Network, SimSocket, Transport
from tests.simulation.service import Host

REQUEST_TIMEOUT_S = 300.0


class Lost(Exception):
    """No response: whether the request was done is not known."""


@dataclass(slots=True)
class Response:
    status: int
    body: bytes
    took_s: float

    def json(self) -> Any:
        return json.loads(self.body)


class _ClientProtocol(asyncio.Protocol):
    def __init__(self) -> None:
        self.transport: Transport | None = None
        self.waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._parser: Any = None
        self._body = b""

    def begin(self) -> "asyncio.Future[tuple[int, bytes]]":
        self._parser = httptools.HttpResponseParser(self)
        self._body = b""
        self.waiting = asyncio.get_running_loop().create_future()
        return self.waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self._parser is not None:
            self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result((self._parser.get_status_code(), self._body))

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_exception(Lost())


class Client:
    """A program that uses the service, over connections that it keeps."""

    _ports = 40_000

    def __init__(self, host: Host, token: str = "") -> None:
        self._host = host
        self.token = token
        self._connection: _ClientProtocol | None = None

    async def request(self, method: str, path: str, body: Any = None, **params: Any) -> Response:
        """Send a request and wait for its response; raises Lost if there is none."""
        query = f"?{urlencode(params)}" if params else ""
        content = b"" if body is None else json.dumps(body).encode()
        return await self.exchange(method, path + query, content, "application/json")

    async def exchange(
        self, method: str, target: str, content: bytes, kind: str, authorization: str = ""
    ) -> Response:
        loop = asyncio.get_running_loop()
        began = loop.time()
        connection = await self._take_connection()
        lines = [
            f"{method} {target} HTTP/1.1",
            "host: simulated",
            f"authorization: {authorization or f'Bearer {self.token}'}",
            f"content-length: {len(content)}",
        ]
        if content:
            lines.append(f"content-type: {kind}")
        waiting = connection.begin()
        assert connection.transport is not None
        connection.transport.write("\r\n".join([*lines, "", ""]).encode() + content)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                status, answered = await waiting
        except TimeoutError:
            self._connection = None
            if connection.transport is not None:
                connection.transport.abort()
            raise Lost from None
        except Lost:
            self._connection = None
            raise
        return Response(status, answered, loop.time() - began)

    async def _take_connection(self) -> _ClientProtocol:
        known = self._connection
        if known is not None and known.transport is not None and not known.transport.is_closing():
            return known
        await asyncio.sleep(0.001)
        protocol = _ClientProtocol()
        Client._ports += 1
        try:
            self._host.connect(protocol, Client._ports)
        except ConnectionRefusedError:
            raise Lost from None
        self._connection = protocol
        return protocol


# --- receivers ---

MOODS = ("well", "failing", "busy", "slow", "silent", "reset", "reset after", "refusing", "garbage")


# What was on its way when a connector was disabled may still arrive for so long.
IN_FLIGHT_S = 200.0


@dataclass(slots=True)
class Arrived:
    """A message at a receiver."""

    at: float
    message_id: str
    content: Any
    is_confirmed: bool


class Receiver:
    """Where a connector sends to."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop, chance: random.Random) -> None:
        self.address = f"10.0.1.{number}"
        self.url = f"http://{self.address}:8080/in"
        self.mood = "well"
        self.arrived: list[Arrived] = []
        self.counted: Counter[str] = Counter()
        self.loop = loop
        self.chance = chance
        self.disabled_at: float | None = None  # when its connector was said to be disabled
        self.got_too_much = False

    def accept(self) -> "_ReceiverProtocol":
        return _ReceiverProtocol(self)


@dataclass(slots=True)
class _Request:
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class _ReceiverProtocol(asyncio.Protocol):
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._transport: Any = None
        self._parser = httptools.HttpRequestParser(self)
        self._request = _Request()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._request = _Request()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._request.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self._request.body += body

    def on_message_complete(self) -> None:
        receiver, request = self._receiver, self._request
        mood = receiver.mood
        receiver.counted[f"receiver {mood}"] += 1
        arrived = Arrived(
            receiver.loop.time(),
            request.headers.get("webhook-id", ""),
            json.loads(request.body),
            is_confirmed=False,
        )
        receiver.arrived.append(arrived)
        disabled_at = receiver.disabled_at
        if disabled_at is not None and arrived.at > disabled_at + IN_FLIGHT_S:
            receiver.got_too_much = True
        if mood == "silent":
            return
        if mood in ("reset", "refusing"):
            self._transport.abort()
        elif mood == "slow":
            delay_s = receiver.chance.uniform(0.5, 30.0)
            receiver.loop.call_later(delay_s, self._answer, arrived, 200)
        elif mood == "failing":
            self._answer(arrived, receiver.chance.choice((500, 503, 404)))
        elif mood == "busy":
            self._answer(arrived, 429, f"retry-after: {receiver.chance.choice((1, 5, 60))}\r\n")
        elif mood == "gone":
            self._answer(arrived, 410)
        elif mood == "garbage":
            self._transport.write(b"\x00\xffthis is not HTTP\r\n\r\n")
        else:
            self._answer(arrived, 200)
            if mood == "reset after" and self._transport is not None:
                self._transport.close()

    def _answer(self, arrived: Arrived, status: int, more: str = "") -> None:
        if self._transport is None or self._transport.is_closing():
            return
        arrived.is_confirmed = 200 <= status < 300
        self._transport.write(f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{more}\r\n".encode())


class Internet:
    """Finds receivers by their address, for the egress guard."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.receivers: dict[str, Receiver] = {}

    async def dial(self, address: str, port: int) -> SimSocket:
        await asyncio.sleep(self._network.weather.latency_s)
        receiver = self.receivers.get(address)
        if receiver is None or receiver.mood == "refusing":
            if receiver is not None:
                receiver.counted["receiver refusing"] += 1
            raise ConnectionRefusedError(111, "refused")
        return SimSocket((address, port))

    def wire(self, socket: SimSocket, protocol: asyncio.BaseProtocol, outside: Any) -> Transport:
        receiver = self.receivers[socket.address[0]]
        return self._network.connect(protocol, receiver.accept(), outside, socket.address, 50_000)

"""Mutated byte streams, cut at random places: what is executed is what a reference parser reads.

The reference is h11, another parser by other people. It may accept more than we do: whatever we
reject is not executed. But a request that we execute and it does not see, or sees with another
path or body, could be smuggled past a proxy that reads like it.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from longwire.web.http_protocol import guarded_protocol
from longwire.web.request_cycle import SendResponse
from longwire.web.wire_limits import WireLimits
from tests.web.test_pipelining import TURNS, Transport, cut, encode_error

STREAMS = 2_000
STREAMS_SOAK = 100_000
BATCH = 500  # streams that share an event loop

BODY = b'{"a":1}'
REQUESTS = [
    b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    b"GET /a%20b?q=1&r=%2F HTTP/1.1\r\nhost: x\r\nx-empty:\r\n\r\n",
    b"HEAD /a HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\n\r\n",
    b"POST /fast HTTP/1.1\r\nhost: x\r\ncontent-length: 7\r\n\r\n" + BODY,
    b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 007\r\n\r\n" + BODY,
    b"POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n7\r\n"
    + BODY
    + b"\r\n0\r\n\r\n",
    b"POST /c HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"3;e=1\r\nabc\r\n04\r\ndefg\r\n0\r\nx-trailer: 1\r\n\r\n",
    b"POST /e HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 7\r\n\r\n" + BODY,
    b"PUT /u HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n"
    b"content-length: 7\r\n\r\n" + BODY,
    b"POST /close HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 7\r\n\r\n" + BODY,
    b"POST /in HTTP/1.1\r\nhost: x\r\ncontent-length: 27\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n",
]
# What is inserted: bytes and lines on which parsers have disagreed.
FRAGMENTS = [
    b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\n\n", b"\0", b" ", b"\t", b":", b",", b";", b"\x0b",
    b"\x7f", b"\x80", b"\xff", b"0", b"1", b"-", b"+", b"0x", b"_",
    b"content-length: 0\r\n", b"content-length: 3\r\n", b"content-length: 7, 7\r\n",
    b"content-length : 7\r\n", b"content-length: +7\r\n", b"content-length:\r\n",
    b"transfer-encoding: chunked\r\n", b"transfer-encoding: identity\r\n",
    b"transfer-encoding: gzip, chunked\r\n", b"transfer-encoding: chunked, gzip\r\n",
    b"transfer-encoding : chunked\r\n", b"transfer-encoding:\x0bchunked\r\n",
    b"transfer-encoding: xchunked\r\n", b" folded\r\n", b"connection: close\r\n",
    b"connection: keep-alive\r\n", b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n", b"0\r\n\r\n",
    b"ffffffffffffffff\r\n", b"HTTP/1.1", b"HTTP/2.0", b"http://other/",
]  # fmt: skip


@dataclass(frozen=True)
class Executed:
    """A request with its complete body, as an application saw it."""

    method: str
    target: bytes
    body: bytes


class Recorder:
    """An application that keeps what it was asked to do."""

    def __init__(self) -> None:
        self.executed: list[Executed] = []
        self.config = uvicorn.Config(
            app=self, interface="asgi3", lifespan="off", log_config=None, proxy_headers=False
        )
        self.config.load()

    async def __call__(
        self,
        scope: Any,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message["more_body"]
        self._execute(scope, body)
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
        )
        await send({"type": "http.response.body", "body": b""})

    def fast_path(self, scope: Any, body: bytes | bytearray, send: SendResponse) -> bool:
        if scope["path"] != "/fast":
            return False
        self._execute(scope, bytes(body))
        asyncio.get_running_loop().call_soon(send, 200, b"content-length: 0\r\n", b"")
        return True

    def _execute(self, scope: Any, body: bytes) -> None:
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        self.executed.append(Executed(scope["method"], scope["raw_path"] + query, body))


async def execute(parts: list[bytes], turns: int) -> list[Executed]:
    """What the service executes of a stream that arrives in these parts."""
    recorder = Recorder()
    protocol = guarded_protocol(WireLimits(), encode_error, recorder.fast_path)
    connection = protocol(recorder.config, ServerState(), {}, asyncio.get_running_loop())
    transport = Transport()
    connection.connection_made(transport)  # type: ignore[arg-type]
    for part in parts:
        if transport.closed:
            break
        connection.data_received(part)
        for _ in range(turns):
            await asyncio.sleep(0)
    for _ in range(TURNS * 8):
        await asyncio.sleep(0)
    connection.connection_lost(None)
    return recorder.executed


def origin_form(target: bytes) -> bytes:
    """Path and query of a request target, which may be a whole URL."""
    parts = urlsplit(target)
    return parts.path + (b"?" + parts.query if parts.query else b"")


def read_by_reference(stream: bytes) -> list[Executed]:
    """The same by h11.

    Ours is lenient where RFC 9112 allows it, so that the reference is made lenient, too: empty
    lines before a request, and more than one space within its first line.
    """
    read: list[Executed] = []
    is_open = True
    while is_open and (stream := stream.lstrip(b"\r\n")):
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        first, end, rest = stream.partition(b"\n")
        connection.receive_data(re.sub(rb"  +", b" ", first) + end + rest)
        try:
            request = connection.next_event()
            body = b""
            while isinstance(request, h11.Request):
                event = connection.next_event()
                if isinstance(event, h11.EndOfMessage):
                    break
                if not isinstance(event, h11.Data):
                    return read
                body += event.data
            else:
                return read
        except h11.RemoteProtocolError:
            return read
        read.append(Executed(request.method.decode(), origin_form(request.target), body))
        connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        connection.send(h11.EndOfMessage())
        is_open = connection.our_state is h11.DONE
        stream = connection.trailing_data[0]
    return read


def mutate(rng: random.Random) -> bytes:
    stream = b"".join(rng.choices(REQUESTS, k=rng.randint(1, 4)))
    for _ in range(rng.randint(0, 3)):
        place = rng.randint(0, len(stream))
        if rng.random() < 0.5:
            # At the begin of a line, where a header can be.
            place = stream.find(b"\r\n", place) + 2
        kind = rng.randrange(4)
        if kind == 0:
            stream = stream[:place] + rng.choice(FRAGMENTS) + stream[place:]
        elif kind == 1:
            stream = stream[:place] + stream[place + rng.randint(1, 4) :]
        elif kind == 2:
            stream = stream[:place] + bytes([rng.randrange(256)]) + stream[place + 1 :]
        else:
            stream = stream[:place] + rng.choice(REQUESTS) + stream[place:]
    return stream


def streams(count: int, seed: int) -> Iterator[tuple[bytes, list[bytes], int]]:
    rng = random.Random(seed)
    for _ in range(count):
        stream = mutate(rng)
        places = [rng.randint(1, max(len(stream) - 1, 1)) for _ in range(rng.randint(0, 5))]
        yield (
            stream,
            cut(stream, [each for each in places if each < len(stream)]),
            rng.choice((0, 1, TURNS)),
        )


async def compare(count: int, seed: int) -> None:
    for stream, parts, turns in streams(count, seed):
        executed = await execute(parts, turns)
        expected = read_by_reference(stream)
        assert executed == expected[: len(executed)], (seed, stream, parts)


@pytest.mark.parametrize(
    "count",
    [STREAMS, pytest.param(STREAMS_SOAK, marks=pytest.mark.soak)],
)
def test_what_is_executed_is_what_the_reference_parser_reads(count: int) -> None:
    for seed in range(count // BATCH):
        asyncio.run(compare(BATCH, seed))

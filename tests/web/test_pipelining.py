"""Pipelined requests, cut into reads at any byte: each gets the response it would get alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.server import ServerState

from longwire.web.http_protocol import guarded_protocol
from longwire.web.request_cycle import SendResponse
from longwire.web.wire_limits import WireLimits

TURNS = 12  # of the event loop: more than a response needs


@dataclass(frozen=True)
class Sent:
    """A request as the client intends it."""

    method: str
    path: str
    body: bytes = b""
    is_chunked: bool = False

    @property
    def raw(self) -> bytes:
        head = f"{self.method} {self.path} HTTP/1.1\r\nhost: here\r\n".encode()
        if self.is_chunked:
            chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in self.body)
            return head + b"transfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
        length = b"content-length: %d\r\n" % len(self.body) if self.method == "POST" else b""
        return head + length + b"\r\n" + self.body

    @property
    def echo(self) -> bytes:
        return f"{self.method} {self.path} ".encode() + self.body


@dataclass
class Transport:
    """Keeps what is written."""

    written: bytearray = field(default_factory=bytearray)
    closed: bool = False

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str) -> Any:
        return None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def echo(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    body = Sent(scope["method"], scope["path"], body).echo
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def encode_error(status: int, code: str, detail: str, request_id: str) -> bytes:
    return code.encode()


CONFIG = uvicorn.Config(
    app=echo, interface="asgi3", lifespan="off", log_config=None, proxy_headers=False
)
CONFIG.load()


class Connection:
    """One connection to an application that echoes requests, the path /fast on the fast path."""

    def __init__(self) -> None:
        self.transport = Transport()
        self.fast_paths: list[str] = []
        self.delayed: list[Callable[[], None]] = []
        self.is_delaying = False
        protocol = guarded_protocol(WireLimits(), encode_error, self.fast_path)
        self.protocol = protocol(CONFIG, ServerState(), {}, asyncio.get_running_loop())
        self.protocol.connection_made(self.transport)  # type: ignore[arg-type]

    def fast_path(self, scope: Any, body: bytes | bytearray, send: SendResponse) -> bool:
        self.fast_paths.append(scope["path"])
        if scope["path"] != "/fast":
            return False
        echo = Sent(scope["method"], scope["path"], bytes(body)).echo

        def respond() -> None:
            send(200, b"content-length: %d\r\n" % len(echo), echo)

        if self.is_delaying:
            self.delayed.append(respond)
        else:
            asyncio.get_running_loop().call_soon(respond)
        return True

    async def receive(self, data: bytes, turns: int = TURNS) -> None:
        self.protocol.data_received(data)
        for _ in range(turns):
            await asyncio.sleep(0)

    def close(self) -> None:
        self.protocol.connection_lost(None)


def bodies_in(received: bytes) -> Iterator[bytes]:
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), received
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        yield rest[:length]
        received = rest[length:]


def responses_to(parts: Sequence[bytes], turns: int = TURNS) -> list[bytes]:
    async def exchange() -> list[bytes]:
        connection = Connection()
        for part in parts:
            await connection.receive(part, turns)
        for _ in range(TURNS * (1 + len(parts))):
            await asyncio.sleep(0)
        connection.close()
        return list(bodies_in(bytes(connection.transport.written)))

    return asyncio.run(exchange())


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    return [data[begin:end] for begin, end in pairwise([0, *sorted(set(places)), len(data)])]


FAST = Sent("POST", "/fast", b'{"a":1}')
CASES = {
    "the same request again and again": [FAST] * 3,
    "bodies of other lengths under the same head": [FAST, Sent("POST", "/fast", b"{}"), FAST],
    "with requests that decline the fast path between": [FAST, Sent("POST", "/slow", b"x"), FAST],
    "with requests without a body": [Sent("GET", "/"), FAST, Sent("GET", "/fast"), FAST],
    "chunked bodies": [FAST, Sent("POST", "/fast", b"abc", is_chunked=True), FAST],
    "a body that looks like a request": [FAST, Sent("POST", "/fast", FAST.raw), FAST],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("turns", [0, TURNS], ids=["at once", "after the responses so far"])
def test_requests_cut_in_two_anywhere_get_their_responses(case: str, turns: int) -> None:
    requests = CASES[case]
    raw = b"".join(each.raw for each in requests)
    expected = [each.echo for each in requests]
    for place in range(1, len(raw)):
        assert responses_to(cut(raw, [place]), turns) == expected, raw[:place]


@pytest.mark.parametrize("case", CASES)
def test_requests_sent_a_byte_at_a_time_get_their_responses(case: str) -> None:
    requests = CASES[case]
    raw = b"".join(each.raw for each in requests)
    parts = [raw[index : index + 1] for index in range(len(raw))]
    assert responses_to(parts, turns=2) == [each.echo for each in requests]


requests = st.builds(
    Sent,
    st.just("POST"),
    st.sampled_from(["/fast", "/slow"]),
    st.binary(max_size=20) | st.just(FAST.raw),
    st.booleans(),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.data(), st.lists(requests, min_size=1, max_size=6), st.sampled_from([0, 1, TURNS]))
def test_requests_cut_into_many_parts_get_their_responses(
    data: st.DataObject, sent: list[Sent], turns: int
) -> None:
    raw = b"".join(each.raw for each in sent)
    places = data.draw(st.lists(st.integers(1, len(raw) - 1), max_size=8))
    assert responses_to(cut(raw, places), turns) == [each.echo for each in sent]


def test_a_read_that_looks_like_the_last_request_may_be_part_of_the_next() -> None:
    begin = b"POST /slow HTTP/1.1\r\nx: "
    split = Sent("POST", "/slow", FAST.body).echo
    for between in (FAST, Sent("GET", "/slow")):
        parts = [FAST.raw, between.raw + begin, FAST.raw]
        assert responses_to(parts) == [FAST.echo, between.echo, split]


def test_the_fast_path_is_not_used_while_the_client_does_not_read() -> None:
    async def exchange() -> None:
        connection = Connection()
        connection.protocol.pause_writing()
        await connection.receive(FAST.raw)
        assert connection.fast_paths == []
        assert not connection.transport.written
        connection.protocol.resume_writing()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert list(bodies_in(bytes(connection.transport.written))) == [FAST.echo]
        connection.close()

    asyncio.run(exchange())


def test_a_response_of_the_fast_path_waits_for_a_client_that_has_stopped_reading() -> None:
    async def exchange() -> None:
        connection = Connection()
        connection.is_delaying = True
        await connection.receive(FAST.raw + Sent("GET", "/").raw)
        connection.protocol.pause_writing()
        connection.delayed.pop()()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        assert not connection.transport.written
        connection.protocol.resume_writing()
        for _ in range(2 * TURNS):
            await asyncio.sleep(0)
        expected = [FAST.echo, Sent("GET", "/").echo]
        assert list(bodies_in(bytes(connection.transport.written))) == expected
        connection.close()

    asyncio.run(exchange())

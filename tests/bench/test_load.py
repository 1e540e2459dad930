"""The load client measures correctly."""

import json
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from bench.ceiling import Serving, serving
from bench.load import (
    Head,
    LoadFailed,
    Result,
    Template,
    UnexpectedStatus,
    chunks_end,
    head,
    parse_head,
    request,
    run,
)

GET = request("GET", "/")


@pytest.fixture(scope="module")
def ceiling() -> Iterator[Serving]:
    with serving("fixed_response", size=100) as place:
        yield place


@pytest.fixture
def receiver() -> Iterator["Receiver"]:
    with Receiver() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Receiver(ThreadingHTTPServer):
    """Records every body; responds with the status in the path, chunked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.address = ("127.0.0.1", self.server_port)
        self.bodies: list[bytes] = []
        self.first_response_delay_s = 0.0


class ReceiverHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it would delay the second half of a response by 40 ms
    server: Receiver

    def do_POST(self) -> None:
        if not self.server.bodies:
            time.sleep(self.server.first_response_delay_s)
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(int(self.path[1:]))
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"2\r\nok\r\n0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def test_a_closed_loop_counts_every_response_in_its_interval(ceiling: Serving) -> None:
    result = run(ceiling.host, ceiling.port, [GET], connections=8, seconds=1.0, warmup_s=0.1)

    assert result.statuses == {200: result.requests}
    assert result.bytes_in == result.requests * response_bytes(ceiling)
    assert result.rate == pytest.approx(result.requests / result.seconds)
    assert result.seconds >= 0.99
    assert_latencies_are_in_order(result)


def test_an_open_loop_sends_at_its_rate(ceiling: Serving) -> None:
    result = run(ceiling.host, ceiling.port, [GET], seconds=0.3, warmup_s=0.1, rate=200)

    assert result.requests == 60
    assert result.statuses == {200: 60}
    assert result.bytes_in == 60 * response_bytes(ceiling)
    assert_latencies_are_in_order(result)


def test_in_an_open_loop_waiting_for_a_connection_counts_as_latency(receiver: Receiver) -> None:
    receiver.first_response_delay_s = 0.2
    post = request("POST", "/200", body=b"!")

    result = run(*receiver.address, [post], connections=1, seconds=0.3, warmup_s=0, rate=100)

    # The first response takes 200 ms. The next nineteen requests are due meanwhile, and wait for
    # the rest of that time, though none is slow once it is sent.
    assert result.requests == 30
    assert result.max_ms >= 200
    assert result.p50_ms >= 40


def test_every_body_of_a_template_is_different(receiver: Receiver) -> None:
    template = Template(head("POST", "/200"), b'{"id": "device-%d", "load": "50%"}', first=100)

    result = run(*receiver.address, template, connections=4, seconds=1.0, warmup_s=0)

    ids = [json.loads(body)["id"] for body in receiver.bodies]
    assert sorted(ids) == sorted(f"device-{number}" for number in range(100, 100 + len(ids)))
    # The interval ends with at most one request in flight on each connection.
    assert result.requests <= len(ids) <= result.requests + 4


def test_a_sequence_of_requests_is_sent_cyclically(receiver: Receiver) -> None:
    bodies = [b"one", b"two", b"three"]
    requests = [request("POST", "/200", body=body) for body in bodies]

    run(*receiver.address, requests, connections=1, seconds=0.09, warmup_s=0, rate=100)

    assert receiver.bodies == bodies * 3


def test_an_unexpected_status_fails_the_run(receiver: Receiver) -> None:
    refused = [request("POST", "/503", body=b"?")]

    with pytest.raises(UnexpectedStatus) as raised:
        run(*receiver.address, refused, connections=1, seconds=0.1, warmup_s=0, rate=100)

    assert raised.value.result.statuses == {503: 10}


def test_a_missing_server_fails_the_run() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(LoadFailed, match="refused"):
        run("127.0.0.1", port, [GET], seconds=0.1, warmup_s=0)


@pytest.mark.parametrize(
    "lines, meaning",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12", Head(200, 12, closes=False)),
        (b"HTTP/1.1 500 Oh\r\nconnection: close\r\ncontent-length: 0", Head(500, 0, closes=True)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", Head(200, None, closes=False)),
        (b"HTTP/1.1 204 No Content", Head(204, 0, closes=False)),
    ],
)
def test_parse_head(lines: bytes, meaning: Head) -> None:
    assert parse_head(lines) == meaning


@pytest.mark.parametrize(
    "chunks, end",
    [
        (b"2\r\nok\r\n0\r\n\r\n", 12),
        (b"5\r\n0\r\n\r\n\r\n0\r\n\r\n", 15),  # the first looks like the last
        (b"5\r\n0\r\n\r\n", None),
        (b"2\r\nok\r\n0\r\n", None),
        (b"2", None),
    ],
)
def test_chunks_end(chunks: bytes, end: int | None) -> None:
    assert chunks_end(chunks, 0) == end


def response_bytes(place: Serving) -> int:
    """The length of one response with its head."""
    with socket.create_connection((place.host, place.port)) as connection:
        connection.sendall(request("GET", "/", headers={"connection": "close"}))
        return len(connection.makefile("rb").read()) - len(b"connection: close\r\n")


def assert_latencies_are_in_order(result: Result) -> None:
    assert 0 < result.p50_ms <= result.p99_ms <= result.max_ms < 1000 * result.seconds

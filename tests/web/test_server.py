"""A real server with short limits, and clients that behave badly over raw sockets."""

import asyncio
import contextlib
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import httpx
import pytest
import uvicorn

from longwire.process.app_config import build_wire_limits
from longwire.settings import Settings
from longwire.web.server import build_server
from longwire.web.wire_limits import WireLimits
from tests.certificates import create_certificate
from tests.waiting import PATIENCE_S, eventually
from tests.world import change_settings

# Short, but not so short that a request of a busy machine is too late.
HEAD_S, REQUEST_S, WRITE_S, KEEP_ALIVE_S = 2.0, 2.2, 2.0, 2.0
LIMITS = WireLimits(
    head_timeout_s=HEAD_S,
    request_timeout_s=REQUEST_S,
    write_timeout_s=WRITE_S,
    keep_alive_s=KEEP_ALIVE_S,
)
LONG_LIMITS = WireLimits(
    head_timeout_s=300, request_timeout_s=300, write_timeout_s=300, keep_alive_s=300
)
BIG_BYTES = 50 * 1024 * 1024
GET = b"GET /echo HTTP/1.1\r\nhost: longwire\r\n\r\n"


@dataclass
class App:
    """Does one thing per path, and records what it received."""

    seen: list[str] = field(default_factory=list)
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.lifespan(receive, send)
        self.seen.append(scope["path"])
        await getattr(self, scope["path"].strip("/"))(scope, receive, send)
        self.seen.append(scope["path"] + " done")

    async def lifespan(self, receive, send):
        while (await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})

    async def echo(self, scope, receive, send):
        body = await self.body(receive)
        if body is not None:
            await respond(send, scope["method"].encode() + b":" + body)

    async def slow(self, scope, receive, send):
        await self.body(receive)
        await asyncio.sleep(REQUEST_S + 0.1)
        await respond(send, b"worth the wait")

    async def delayed_echo(self, scope, receive, send):
        await asyncio.sleep(REQUEST_S + 0.1)
        await self.echo(scope, receive, send)

    async def trailers(self, scope, receive, send):
        await self.echo(scope, receive, send)
        self.headers = list(scope["headers"])

    async def early(self, scope, receive, send):
        await respond(send, b"enough")

    async def stream(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in (b"one ", b"two ", b"three"):
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await asyncio.sleep(0.02)
        await send({"type": "http.response.body", "body": b""})

    async def big(self, scope, receive, send):
        await respond(send, bytes(BIG_BYTES))

    async def wait(self, scope, receive, send):
        await self.body(receive)
        self.seen.append((await receive())["type"])

    async def body(self, receive) -> bytes | None:
        body = b""
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                self.seen.append("http.disconnect")
                return None
            body += event["body"]
            if not event["more_body"]:
                return body

    def wait_until_seen(self, word: str, within_s: float = PATIENCE_S) -> None:
        eventually(lambda: word in self.seen, within_s)


async def respond(send, body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@dataclass
class Service:
    app: App
    port: int
    tls: ssl.SSLContext | None = None
    server: uvicorn.Server | None = None

    @property
    def open_connections(self) -> int:
        assert self.server is not None
        return len(self.server.server_state.connections)

    @contextlib.contextmanager
    def client(self, sends: bytes = b"") -> Iterator[socket.socket]:
        with contextlib.ExitStack() as stack:
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", self.port)))
            if self.tls:
                sock = stack.enter_context(self.tls.wrap_socket(sock, server_hostname="127.0.0.1"))
            sock.settimeout(PATIENCE_S)
            sock.sendall(sends)
            yield sock


@contextlib.contextmanager
def serving(limits: WireLimits = LIMITS, cert=None) -> Iterator[Service]:
    app = App()
    server = build_server(
        app,
        host="127.0.0.1",
        port=0,
        limits=limits,
        encode_error=problem,
        tls_cert=cert,
        graceful_s=1,
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        tls = ssl.create_default_context(cafile=cert) if cert else None
        yield Service(app, server.servers[0].sockets[0].getsockname()[1], tls, server)
    finally:
        server.should_exit = True
        thread.join()


def problem(status: int, code: str, detail: str, request_id: str) -> bytes:
    content = {"status": status, "code": code, "detail": detail, "requestId": request_id}
    return json.dumps(content).encode()


def read_to_end(sock: socket.socket) -> bytes:
    """Read until the server closes; a reset is an error, as it can cost a client its response."""
    received = bytearray()
    while part := sock.recv(1 << 20):
        received += part
    return bytes(received)


def read_until(sock: socket.socket, mark: bytes) -> bytes:
    received = b""
    while mark not in received:
        part = sock.recv(65536)
        assert part, f"closed after {received!r}"
        received += part
    return received


def count_received(sock: socket.socket, enough: int) -> int:
    """Read until the server closes or resets the connection, or there was enough."""
    received = 0
    with contextlib.suppress(ConnectionResetError):
        while received < enough and (part := sock.recv(1 << 20)):
            received += len(part)
    return received


def dribble(sock: socket.socket, data: bytes) -> bytes:
    """Send a byte at a time, faster than any timeout that restarts with each byte; then read."""
    sock.settimeout(0.02)
    received = b""
    for i in range(len(data)):
        with contextlib.suppress(ConnectionError):
            sock.sendall(data[i : i + 1])
        try:
            part = sock.recv(65536)
        except TimeoutError:
            continue
        except ConnectionError:
            return received
        if not part:
            return received
        received += part
    raise AssertionError("the server let us send everything")


def responses_in(received: bytes) -> list[bytes]:
    return re.split(rb"(?=HTTP/1\.1 \d{3} )", received)[1:]


def refusal_in(received: bytes) -> tuple[int, str]:
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    assert "content-type: application/problem+json" in lines
    assert f"content-length: {len(body)}" in lines
    assert "connection: close" in lines
    content = json.loads(body)
    assert f"x-request-id: {content['requestId']}" in lines
    assert len(content["requestId"]) == 16, "a generated id"
    assert lines[0].split()[1] == str(content["status"])
    return content["status"], content["code"]


@pytest.fixture(scope="module")
def shared_service() -> Iterator[Service]:
    """Its limits are so long that no test reaches them."""
    with serving(LONG_LIMITS) as service:
        yield service


@pytest.fixture
def service(shared_service: Service) -> Service:
    shared_service.app.seen.clear()
    return shared_service


@pytest.fixture(scope="module")
def shared_short_limits() -> Iterator[Service]:
    with serving(LIMITS) as service:
        yield service


@pytest.fixture
def short_limits(shared_short_limits: Service) -> Service:
    """Its limits are short; tests check that they apply, and in which order, not when."""
    shared_short_limits.app.seen.clear()
    return shared_short_limits


# Slow clients.


def test_a_silent_connection_is_closed(short_limits):
    with short_limits.client() as sock:
        assert refusal_in(read_to_end(sock)) == (408, "request_timeout")


def test_headers_sent_a_byte_at_a_time_do_not_extend_the_deadline(short_limits):
    with short_limits.client() as sock:
        received = dribble(sock, b"GET /echo HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 500)
    assert refusal_in(received) == (408, "request_timeout")
    assert short_limits.app.seen == []


def test_empty_lines_do_not_extend_the_deadline(short_limits):
    with short_limits.client() as sock:
        assert refusal_in(dribble(sock, b"\r\n" * 250)) == (408, "request_timeout")


def test_a_body_sent_a_byte_at_a_time_is_a_disconnect_for_the_application(short_limits):
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n"
    with short_limits.client(head) as sock:
        received = dribble(sock, b"x" * 500)
    assert refusal_in(received) == (408, "request_timeout")
    short_limits.app.wait_until_seen("http.disconnect")


def test_endless_chunks_are_cut_off_as_well(short_limits):
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    with short_limits.client(head) as sock:
        received = dribble(sock, b"1\r\nx\r\n" * 100)
    assert refusal_in(received) == (408, "request_timeout")


def test_a_second_request_has_its_own_deadline_from_its_first_byte():
    with serving(replace(LIMITS, keep_alive_s=60)) as service, service.client(GET) as sock:
        read_until(sock, b"GET:")
        received = dribble(sock, b"GET /echo HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 500)
    assert refusal_in(received) == (408, "request_timeout")


def test_an_idle_connection_is_closed_without_a_response(short_limits):
    with short_limits.client(GET) as sock:
        read_until(sock, b"GET:")
        assert read_to_end(sock) == b""


def test_empty_lines_do_not_keep_an_idle_connection_open(short_limits):
    with short_limits.client(GET) as sock:
        read_until(sock, b"GET:")
        assert dribble(sock, b"\r\n" * 250) == b""


def test_a_connection_in_use_outlives_the_deadlines_of_its_requests():
    with serving(replace(LIMITS, keep_alive_s=60)) as service, service.client() as sock:
        for _ in range(4):
            sock.sendall(GET)
            read_until(sock, b"GET:")
            time.sleep(REQUEST_S / 2)


def test_a_slow_application_is_not_interrupted(short_limits):
    # The second one has an extra line break after its body, as some clients send.
    stray = b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx\r\n"
    with (
        short_limits.client(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n") as one,
        short_limits.client(stray) as other,
    ):
        read_until(one, b"worth the wait")
        read_until(other, b"worth the wait")


def test_a_partial_request_does_not_interrupt_the_response_before_it(short_limits):
    with short_limits.client(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\nGET /echo HT") as sock:
        read_until(sock, b"worth the wait")
        assert refusal_in(read_to_end(sock)) == (408, "request_timeout")


def test_a_response_that_is_not_read_is_aborted(short_limits):
    with short_limits.client(b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n") as sock:
        short_limits.app.wait_until_seen("/big done")
        eventually(lambda: short_limits.open_connections == 0)
        assert 0 < count_received(sock, BIG_BYTES) < BIG_BYTES


def test_a_slow_reader_gets_the_whole_response():
    # Long enough that the pauses of a busy machine are not taken for a reader that has stopped.
    write_s = 5.0
    limits = replace(LONG_LIMITS, write_timeout_s=write_s)
    request = b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n"
    with serving(limits) as service, service.client(request) as sock:
        received = 0
        began = time.monotonic()
        while received < BIG_BYTES:
            part = sock.recv(1 << 20)
            assert part, f"closed after {received} bytes"
            received += len(part)
            # In total longer than the timeout.
            time.sleep(max(0, began + 1.2 * write_s * received / BIG_BYTES - time.monotonic()))


def test_responses_that_wait_for_slow_clients_are_bounded():
    allowed = build_wire_limits(change_settings(Settings(), response_bytes_max=BIG_BYTES * 3 // 2))
    limits = replace(LONG_LIMITS, unsent_bytes_max=allowed.unsent_bytes_max)
    request = b"GET /big HTTP/1.1\r\nhost: x\r\n\r\n"
    with serving(limits) as service, service.client(request) as slowest:
        service.app.wait_until_seen("/big done")
        with service.client(request) as slow:
            eventually(lambda: service.app.seen.count("/big done") == 2)
            eventually(lambda: service.open_connections == 1)
            assert count_received(slow, BIG_BYTES) >= BIG_BYTES
        assert count_received(slowest, BIG_BYTES) < BIG_BYTES


def test_a_response_before_the_end_of_the_body_is_the_only_one(short_limits):
    head = b"POST /early HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\n"
    with short_limits.client(head) as sock:
        received = dribble(sock, b"x" * 500)
    assert received.endswith(b"enough")
    assert len(responses_in(received)) == 1


def test_slow_clients_do_not_affect_others(short_limits):
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(short_limits.client(b"GET /echo HTTP/1.1\r\nhost: x\r\nx: y"))
            for _ in range(200)
        ]
        with httpx.Client(
            base_url=f"http://127.0.0.1:{short_limits.port}", timeout=PATIENCE_S
        ) as healthy:
            for _ in range(20):
                assert healthy.post("/echo", content=b"hi").text == "POST:hi"
        for sock in slow:
            assert refusal_in(read_to_end(sock)) == (408, "request_timeout")


# Malformed and excessive requests.


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"hello\r\n\r\n",
        b"GET /echo HTTP/9.9\r\n\r\n",
        b"GET /echo HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n",
        b"CONNECT elsewhere:443 HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /echo HTTP/1.1\r\nhost: x\r\n"
        b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nhost: x\r\n"
        b"transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
        b"GET /echo HTTP/1.1\r\n\r\n",
        b"GET /echo HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde",
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: four\r\n\r\nabcd",
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
    ],
)
def test_a_malformed_request_is_refused_before_the_application(service, request_bytes):
    with service.client(request_bytes) as sock:
        assert refusal_in(read_to_end(sock)) == (400, "malformed_request")
    assert service.app.seen == []


def test_a_broken_body_is_a_disconnect_for_the_application(service):
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    with service.client(head) as sock:
        service.app.wait_until_seen("/echo")
        sock.sendall(b"not a number\r\n")
        assert refusal_in(read_to_end(sock)) == (400, "malformed_request")
        # Before the connection is closed.
        service.app.wait_until_seen("http.disconnect")


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"xchunked", b"chunked, identity", b""])
def test_a_body_in_a_transfer_encoding_that_is_not_decoded_is_refused(service, coding):
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: %s\r\n\r\n" % coding
    with service.client(head + b"1\r\nx\r\n0\r\n\r\n") as sock:
        assert refusal_in(read_to_end(sock)) == (400, "malformed_request")
    assert service.app.seen == []


def test_a_request_without_a_version_is_refused(service):
    with service.client(b"GET /echo\r\n\r\n") as sock:
        assert refusal_in(read_to_end(sock)) == (400, "malformed_request")
    assert service.app.seen == []


@pytest.mark.parametrize("ending", [b"\r\n\r\n", b""])
def test_headers_above_the_limit_are_refused(service, ending):
    fields = b"".join(b"x-%d: %s\r\n" % (i, b"y" * 100) for i in range(2000))
    with service.client() as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(b"GET /echo HTTP/1.1\r\nhost: x\r\n" + fields + ending)
        assert refusal_in(read_to_end(sock)) == (431, "head_too_large")
    assert service.app.seen == []


def test_the_limit_on_headers_does_not_count_the_body(service):
    padding = b"y" * (LIMITS.head_bytes_max - 100)
    head = (
        b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\nx: " + padding + b"\r\n\r\n"
    )
    with service.client(head + b"z" * 100_000) as sock:
        assert read_until(sock, b"z" * 100_000).startswith(b"HTTP/1.1 200")


def test_trailers_above_the_limit_are_refused(service):
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    with service.client(head) as sock:
        service.app.wait_until_seen("/echo")
        with contextlib.suppress(ConnectionError):
            sock.sendall(b"x: " + b"y" * 500_000)
        assert refusal_in(read_to_end(sock)) == (431, "head_too_large")


def test_trailers_are_not_headers(service):
    body = b"1\r\nx\r\n0\r\nauthorization: forged\r\n\r\n"
    head = b"POST /trailers HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    with service.client(head + body) as sock:
        read_until(sock, b"POST:x")
    service.app.wait_until_seen("/trailers done")
    assert service.app.headers == [(b"host", b"x"), (b"transfer-encoding", b"chunked")]


def test_connections_above_the_limit_are_refused_until_one_is_free():
    limits = replace(LONG_LIMITS, connections_max=2)
    with serving(limits) as service, service.client(GET) as first, service.client(GET) as second:
        read_until(first, b"GET:")
        read_until(second, b"GET:")
        with service.client(GET) as third:
            assert refusal_in(read_to_end(third)) == (503, "too_many_connections")
            first.close()
            # The refused one is still open, and is not counted.
            wait_until_served(service)


def test_connections_from_one_address_have_their_own_limit():
    limits = replace(LONG_LIMITS, connections_per_address_max=1)
    with serving(limits) as service, service.client(GET) as first:
        read_until(first, b"GET:")
        with service.client(GET) as second:
            assert refusal_in(read_to_end(second)) == (503, "too_many_connections")
        first.close()
        wait_until_served(service)


def wait_until_served(service: Service) -> None:
    """The server notices a closed connection later than the client."""

    def is_served() -> bool:
        with service.client(b"GET /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n") as sock:
            return read_to_end(sock).startswith(b"HTTP/1.1 200")

    eventually(is_served)


# Clients that use what HTTP/1.1 allows.


def test_pipelined_requests_get_their_responses_in_order(service):
    posts = [b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n%d" % i for i in range(5)]
    with service.client(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n" + b"".join(posts)) as sock:
        received = read_until(sock, b"POST:4")
    places = [received.index(b"three"), *(received.index(b"POST:%d" % i) for i in range(5))]
    assert places == sorted(places)


def test_a_malformed_request_waits_for_the_responses_before_it(service):
    stream = b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n"
    with service.client(stream + GET + b"invalid\r\n\r\n") as sock:
        received = read_to_end(sock)
    stream, echo, rejection = responses_in(received)
    assert stream.endswith(b"three\r\n0\r\n\r\n")
    assert echo.endswith(b"GET:")
    assert refusal_in(rejection) == (400, "malformed_request")


def test_a_request_refused_for_its_encoding_does_not_affect_the_one_before(service):
    bad = b"POST /early HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n"
    with service.client(GET + bad) as sock:
        echo, rejection = responses_in(read_to_end(sock))
    assert echo.endswith(b"GET:")
    assert refusal_in(rejection) == (400, "malformed_request")
    assert "/early" not in service.app.seen


def test_too_many_pipelined_requests_are_refused_after_the_accepted_ones(service):
    with service.client(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n" + GET * 1000) as sock:
        *responses, rejection = responses_in(read_to_end(sock))
    assert len(responses) == 1 + LIMITS.pipelined_max
    assert refusal_in(rejection) == (503, "pipeline_full")


def test_a_client_that_disconnects_is_a_disconnect_for_its_running_request(service):
    with service.client(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n" + GET):
        service.app.wait_until_seen("/wait")
    service.app.wait_until_seen("http.disconnect")


def test_connection_close_is_honoured(service):
    with service.client(b"GET /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n") as sock:
        received = read_to_end(sock)
    assert received.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in received


def test_expect_100_continue_is_supported(service):
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n"
    with service.client(head) as sock:
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"hi")
        read_until(sock, b"POST:hi")


def test_waiting_for_100_continue_does_not_time_out(service):
    head = b"POST /delayed_echo HTTP/1.1\r\nhost: x\r\n"
    head += b"content-length: 2\r\nexpect: 100-continue\r\n\r\n"
    with service.client(head) as sock:
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"hi")
        read_until(sock, b"POST:hi")


def test_a_body_that_the_application_reads_slowly_does_not_time_out(service):
    # More than uvicorn buffers, so that it stops reading until the application does.
    body = b"x" * 2_000_000
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}", timeout=PATIENCE_S) as client:
        assert client.post("/delayed_echo", content=body).content == b"POST:" + body


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
def test_an_unsupported_upgrade_is_an_ordinary_request(service, protocol):
    smuggled = b"GET /early HTTP/1.1\r\nhost: somewhere\r\n\r\n"
    fields = b"connection: upgrade\r\nupgrade: %s\r\ncontent-length: %d" % (protocol, len(smuggled))
    head = b"POST /echo HTTP/1.1\r\nhost: x\r\n%s\r\n\r\n" % fields
    with service.client(head) as sock:
        service.app.wait_until_seen("/echo")
        sock.sendall(smuggled)
        read_until(sock, b"POST:" + smuggled)
        sock.sendall(head + smuggled + GET)
        assert b"POST:" + smuggled in read_until(sock, b"GET:")
    assert "/early" not in service.app.seen


# TLS.


@pytest.fixture(scope="module")
def tls_service(tmp_path_factory) -> Iterator[Service]:
    cert = tmp_path_factory.mktemp("tls") / "cert.pem"
    cert.write_bytes(b"".join(create_certificate("127.0.0.1")))
    with serving(cert=cert) as service:
        yield service


def test_requests_are_served_over_tls(tls_service):
    with httpx.Client(
        base_url=f"https://127.0.0.1:{tls_service.port}",
        verify=tls_service.tls,
        timeout=PATIENCE_S,
    ) as client:
        for _ in range(2):
            assert client.post("/echo", content=b"hi").text == "POST:hi"


def test_a_slow_client_is_refused_over_tls(tls_service):
    with tls_service.client() as sock:
        assert refusal_in(read_to_end(sock)) == (408, "request_timeout")


def test_headers_over_the_limit_are_refused_over_tls(tls_service):
    with tls_service.client(b"GET /echo HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 100_000) as sock:
        assert refusal_in(read_to_end(sock)) == (431, "head_too_large")


def test_a_missing_tls_handshake_times_out(tls_service):
    with replace(tls_service, tls=None).client() as sock:
        assert read_to_end(sock) == b""


def test_connections_that_begin_no_tls_handshake_make_room_for_others(tmp_path):
    """They count for the limit of connections, and nobody waits until they have timed out."""
    cert = tmp_path / "cert.pem"
    cert.write_bytes(b"".join(create_certificate("127.0.0.1")))
    limits = replace(LIMITS, connections_max=80, head_timeout_s=PATIENCE_S)
    with serving(limits, cert) as service, contextlib.ExitStack() as stack:
        for greeting in (b"", b"\x16\x03\x01\x02\x00\x01"):
            silent = [
                stack.enter_context(replace(service, tls=None).client(greeting)) for _ in range(200)
            ]
            with service.client(GET) as sock:
                read_until(sock, b"GET:")
            for dropped in silent[:100]:
                dropped.settimeout(PATIENCE_S)
                with contextlib.suppress(ConnectionResetError):
                    assert dropped.recv(1) == b""
            for waiting in silent[-60:]:
                waiting.setblocking(False)
                with pytest.raises(BlockingIOError):
                    waiting.recv(1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_before_1_2_is_refused(tls_service):
    version_1_2, version_1_1 = (
        replace(tls_service, tls=tls_client(version))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_1)
    )
    with version_1_2.client(GET) as sock:
        read_until(sock, b"GET:")
    with pytest.raises(ssl.SSLError), version_1_1.client():
        pass


def tls_client(version: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("DEFAULT@SECLEVEL=0")  # Otherwise OpenSSL itself would not offer 1.1.
    return context

"""The client of the tests sends what httpx sends, and takes no broken response for a good one."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any, BinaryIO

import httpx
import pytest

from tests.socket_client import SocketClient
from tests.waiting import PATIENCE_S

NOWHERE = "http://127.0.0.1:9"  # a closed port
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"


def read_head(received: BinaryIO) -> bytes:
    head = b""
    while (line := received.readline()).strip():
        head += line
    return head


class ScriptedServer:
    """Responds to every request with the same bytes, and closes if these say so or are cut."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.response = OK
        self.requests: list[bytes] = []
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as received:
            while head := read_head(received):
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = received.read(int(length[1])) if length else b""
                self.requests.append(head + b"\r\n" + body)
                connection.sendall(self.response)
                if self.response not in (OK, CHUNKED):
                    return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with closing(ScriptedServer()) as started:
        yield started


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[SocketClient]:
    with closing(SocketClient(server.url)) as created:
        yield created


def split(request: bytes) -> tuple[bytes, set[bytes], bytes]:
    """The request line, the header fields in any order and case of their names, the body."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    fields = [line.partition(b":") for line in lines]
    assert len({name.lower() for name, _, _ in fields}) == len(fields)
    return first, {name.lower() + b":" + value for name, _, value in fields}, body


@pytest.mark.parametrize(
    "method, options",
    [
        ("GET", {}),
        ("GET", {"params": {"a": "ä &=+/ ", "b": True, "c": 1.5, "d": [1, 2], "e": None}}),
        ("GET", {"headers": {"Accept-Encoding": "identity", "Host": "elsewhere"}}),
        ("POST", {"json": {"name": "ä", "list": [1, None, 0.1]}, "params": {"a": 1}}),
        ("PUT", {"json": [], "headers": {"Content-Type": "text/plain"}}),
        ("POST", {"json": None}),
        ("DELETE", {"params": {}}),
    ],
)
def test_it_sends_what_httpx_sends(
    server: ScriptedServer, client: SocketClient, method: str, options: dict[str, Any]
) -> None:
    assert client.request(method, "/device/data", **options).text == "hi"
    with httpx.Client(base_url=server.url, timeout=PATIENCE_S) as stock:
        stock.request(method, "/device/data", **options)
    ours, theirs = server.requests
    assert split(ours) == split(theirs)


@pytest.mark.parametrize(
    "response, connections", [(OK, 1), (CHUNKED, 1), (CLOSING, 3)], ids=["ok", "chunked", "closing"]
)
def test_a_connection_is_kept_as_the_service_says(
    server: ScriptedServer, client: SocketClient, response: bytes, connections: int
) -> None:
    server.response = response
    for _ in range(3):
        answer = client.request("GET", "/group")
        assert (answer.status_code, answer.text) == (200, "hi")
    assert server.connections == connections


@pytest.mark.parametrize("response", [OK[:-1], CHUNKED[:-3], OK * 2, b"hello\r\n\r\n"])
def test_a_broken_response_is_an_error(
    server: ScriptedServer, client: SocketClient, response: bytes
) -> None:
    server.response = response
    with pytest.raises(httpx.RemoteProtocolError):
        client.request("GET", "/group")


def test_a_closed_client_sends_nothing(client: SocketClient) -> None:
    client.request("GET", "/group")
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.request("GET", "/group")


def test_a_service_that_is_not_there_is_an_error() -> None:
    with closing(SocketClient(NOWHERE)) as client, pytest.raises(httpx.ConnectError):
        client.request("GET", "/group")

"""Clients that never read, never finish, or send more than they wait for."""

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.abuse.victim import Scene
from tests.world import Person, ok, record_of

pytestmark = pytest.mark.engine_free


@contextmanager
def connections(scene: Scene, count: int) -> Iterator[list[socket.socket]]:
    address = (scene.service.http.base_url.host, scene.service.http.base_url.port or 80)
    opened = [socket.create_connection(address, timeout=10) for _ in range(count)]
    try:
        yield opened
    finally:
        for each in opened:
            each.close()


def encode_request(person: Person, path: str, body: bytes = b"", method: str = "GET") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {person.token}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + body


def send_what_fits(connection: socket.socket, data: bytes) -> None:
    """Send until the peer stops reading."""
    connection.settimeout(0.05)
    with suppress(TimeoutError):
        connection.sendall(data)


def test_clients_that_send_and_never_read_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    device = mallory.device(mallory.group())
    for number in range(200):
        mallory.reports(
            device, timestamp=1_700_000_000_000 + number, data='{"x":"' + "y" * 900 + '"}'
        )
    page = encode_request(mallory, f"/device/data?deviceId={device}&limit=200")

    def attack(stop: threading.Event) -> None:
        with connections(scene, 50) as opened:
            while not stop.is_set():
                for each in opened:
                    send_what_fits(each, page * 20)

    scene.assert_victim_unharmed(attack)


def test_pipelined_records_cut_at_every_byte_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    device = mallory.device(mallory.group())
    numbers = itertools.count(1_600_000_000_000)

    def attack(stop: threading.Event) -> None:
        with connections(scene, 20) as opened:
            for cut in itertools.count(1):
                if stop.is_set():
                    return
                body = str(record_of(device, timestamp=next(numbers))).replace("'", '"').encode()
                stream = encode_request(mallory, "/device/data", body, "POST") * 8
                for each in opened:
                    each.settimeout(0.05)
                    each.sendall(stream[: cut % len(stream)])
                for each in opened:
                    each.sendall(stream[cut % len(stream) :])
                    with suppress(TimeoutError):
                        each.recv(1 << 20)

    scene.assert_victim_unharmed(attack)


def test_heads_and_bodies_that_drip_slow_nobody(scene: Scene) -> None:
    head = b"POST /device/data HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"

    def attack(stop: threading.Event) -> None:
        with connections(scene, 300) as opened:
            for each in opened[:150]:
                each.sendall(head + b"\r\n")
            while not stop.is_set():
                for each in opened:
                    each.sendall(b"x")
                time.sleep(0.05)

    scene.assert_victim_unharmed(attack)


def test_callers_without_a_token_slow_nobody_on_any_open_path(scene: Scene) -> None:
    http = scene.service.http
    pages = ["/", "/docs", "/console/", "/openapi.json", "/nowhere"]
    # Operations that need no token, whichever there are: among others tokens, links and passwords.
    described = ok(http.get("/openapi.json"))["paths"]
    operations = [
        (method.upper(), path)
        for path, item in described.items()
        for method, operation in item.items()
        if isinstance(operation, dict) and operation.get("x-permission") == "no token"
    ]
    assert {("POST", "/oauth2/token"), ("POST", "/session"), ("GET", "/metrics")} <= {*operations}
    numbers = itertools.count()

    def attack(stop: threading.Event) -> None:
        for path in pages:
            http.get(path)
        for method, path in operations:
            if not stop.is_set():
                email = f"nobody{next(numbers)}@example.com"
                body = {"email": email, "password": "a wrong one"} if method == "POST" else None
                http.request(method, path, json=body, headers={"X-Longwire-Console": "1"})
        http.post(
            "/oauth2/token?grant_type=client_credentials",
            auth=("nobody", "wrong"),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )

    scene.assert_victim_unharmed(*[attack] * 4)

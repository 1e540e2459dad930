"""Memory for bodies: a caller who sends many large ones slowly is refused, others are not."""

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.waiting import eventually
from tests.world import Person, World, ok

MIB = 1024 * 1024


def start_body(world: World, person: Person, sent: int) -> socket.socket:
    """Begin a batch of a MiB, and send so much of it."""
    sock = socket.create_connection(("127.0.0.1", world.port), timeout=60)
    head = (
        f"POST /device/data/batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {person.token}\r\n"
        f"content-type: application/json\r\ncontent-length: {MIB}\r\n\r\n"
    )
    sock.sendall(head.encode() + b" " * sent)
    return sock


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_slow_large_bodies_of_one_caller_do_not_use_the_memory_of_others(
    make_world: Callable[..., World],
) -> None:
    world = make_world(bulk_body_bytes_max=MIB, request_bytes_max=4 * MIB)
    greedy, honest = world.person("greedy"), world.person("honest")
    device = honest.device(honest.group())
    batch = [
        {"deviceId": device, "type": "opened", "message": "x" * 500, "timestamp": 1_000 * number}
        for number in range(1_500)
    ]
    with ExitStack() as stack:
        kept = [stack.enter_context(start_body(world, greedy, 600_000)) for _ in range(2)]
        refused = b""
        kept[0].setblocking(False)
        kept[1].setblocking(False)

        def is_refused() -> bool:
            nonlocal refused
            for sock in kept:
                try:
                    refused += sock.recv(65_536)
                except BlockingIOError:
                    continue
            return b"429" in refused

        eventually(is_refused)
        assert b"too_many_requests" in refused
        text = json.dumps({"items": batch})
        assert 500_000 < len(text) < MIB
        reply = honest.request(
            "POST",
            "/device/event/batch",
            content=text,
            headers={"Content-Type": "application/json"},
        )
        assert ok(reply)["stored"] == 1_500

    def is_free() -> bool:
        budget = world.app._request_handler._bodies._budget._budget
        return budget.used == 0 and not budget._by_owner

    eventually(is_free)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_nothing_is_kept_of_large_bodies_of_strangers(make_world: Callable[..., World]) -> None:
    world = make_world(bulk_body_bytes_max=MIB, request_bytes_max=4 * MIB)
    ada = world.person("ada")
    group = ada.group()
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    budget = world.app._request_handler._bodies._budget._budget
    with ExitStack() as stack:

        def begin(path: str, token: str) -> socket.socket:
            sock = socket.create_connection(("127.0.0.1", world.port), timeout=60)
            head = (
                f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
                "transfer-encoding: chunked\r\n\r\n"
            )
            sock.sendall(head.encode() + b"%x\r\n" % MIB + b" " * 100_000)
            return stack.enter_context(sock)

        assert b" 401 " in begin("/network/ttn", "lwg_guessed").recv(65_536)
        assert b" 413 " in begin("/oauth2/token", "x").recv(65_536)
        assert b" 403 " in begin("/invitation", "x").recv(65_536)
        begin("/network/ttn", token)
        eventually(lambda: budget.used == 100_000)
        assert list(budget._by_owner) == [ada.id]

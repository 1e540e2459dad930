"""The status server of `longwire deliver`: health and metrics on their own port."""

import contextlib
import socket
from collections.abc import Callable

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.delivery.receiver import Receiver
from tests.faults.test_delivery_crashes import Delivering
from tests.ports import free_port
from tests.process import longwire
from tests.waiting import PATIENCE_S, eventually
from tests.world import World


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def exchange(port: int, request: bytes) -> bytes:
    """The response to some bytes, as far as there is one."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        wire.sendall(request)
        response = b""
        while block := wire.recv(65_536):
            response += block
        return response


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_delivery_process_serves_health_and_metrics(make_world: Callable[..., World]) -> None:
    with Receiver() as receiver:
        check_status_server(make_world(delivery=False), receiver)


def check_status_server(world: World, receiver: Receiver) -> None:
    ada = world.person("ada")
    group = ada.group()
    ada.connector(group, receiver.url)
    ada.reports(ada.device(group))
    world.stop()
    port = free_port()
    delivering = Delivering(world.settings, "--metrics-port", str(port))
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
            eventually(lambda: client.get("/health/ready").status_code == 200)
            eventually(lambda: len(receiver.requests) == 1)

            def counted() -> float:
                numbers = samples(client.get("/metrics").text)
                return numbers.get(
                    ("longwire_delivery_attempt_seconds_count", "delivered", "http"), 0
                )

            eventually(lambda: counted() == 1)
            queued = ("longwire_deliveries", "queued")
            eventually(lambda: samples(client.get("/metrics").text).get(queued) == 0)
            eventually(lambda: samples(client.get("/metrics").text)["longwire_healthy",] == 1)
            metrics = client.get("/metrics")
            assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert client.get("/health/live").json() == {"status": "ok"}
            head = client.head("/metrics")
            assert (head.status_code, head.content) == (200, b"")
            # Nothing else is served there, and malformed requests are refused.
            for path in ("/", "/docs", "/device/data", "/openapi.json", "/metrics/"):
                assert client.get(path).status_code == 404, path
            assert client.post("/metrics", json={}).status_code == 405
        assert exchange(port, b"garbage\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert exchange(port, b"\xff \xff \xff\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert exchange(port, b"GET /metrics HTTP/2\r\n\r\n").startswith(b"HTTP/1.1 404 ")
        with contextlib.suppress(ConnectionError):
            exchange(port, b"GET /" + b"x" * 100_000)  # usually closed before all of it is sent
        assert exchange(port, b"GET /health/live HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        # A port in use is a plain error.
        flags = ("--data", str(world.settings.data), "--metrics-port", str(port))
        second = longwire("deliver", *flags, cwd=world.settings.data.parent)
        assert second.returncode == 2
        assert "Choose another port with --metrics-port" in second.stderr
        assert delivering.stop() == 0
    finally:
        delivering.clean_up()
        world.start()

"""Unmodified client libraries under the egress guard: whatever they try, it is checked."""

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import aiohttp
import aiormq
import aiosmtplib
import pytest
import uvloop
from aiokafka import AIOKafkaProducer
from nats.aio.client import Client
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from longwire.delivery.http import egress as guard
from longwire.delivery.http.egress import Egress, EgressDenied

LOOPBACK = ("127.0.0.0/8", "::1/128")
TIMEOUT_S = 30

Reach = Callable[[str, int], Awaitable[Any]]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


@pytest.fixture(scope="module")
def small_heap() -> None:
    """Collecting garbage after a test looks only at what was created here."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def discarded_sockets(small_heap: None) -> Iterator[None]:
    """Some libraries do not close a socket whose connect was refused."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A server on loopback that nothing may connect to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def has_connection(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


# --- the libraries ---


async def kafka(host: str, port: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=f"{host}:{port}")
    try:
        await producer.start()
    finally:
        await producer.stop()


async def amqp(host: str, port: int) -> None:
    await aiormq.connect(f"amqp://{host}:{port}/")


async def nats(host: str, port: int) -> None:
    async def ignore(error: Exception) -> None:
        pass

    await Client().connect(
        servers=[f"nats://{host}:{port}"],
        error_cb=ignore,
        allow_reconnect=False,
        max_reconnect_attempts=1,
        reconnect_time_wait=0,
    )


async def smtp(host: str, port: int) -> None:
    await aiosmtplib.SMTP(hostname=host, port=port, local_hostname="tests").connect()


async def http(host: str, port: int) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"http://{host}:{port}/"):
        pass


async def mqtt(host: str, port: int) -> None:
    paho.Client(CallbackAPIVersion.VERSION2).connect(host, port)


async def mqtt_in_a_thread(host: str, port: int) -> None:
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.connect_async(host, port)
    client.loop_start()


# --- other ways to connect ---


async def open_connection(host: str, port: int) -> None:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()


async def in_another_task(host: str, port: int) -> None:
    await asyncio.create_task(open_connection(host, port))


async def sock_connect(host: str, port: int) -> None:
    with socket.socket() as client:
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, (host, port))


async def blocking_socket(host: str, port: int) -> None:
    with socket.socket() as client:
        client.connect((host, port))


async def worker_thread(host: str, port: int) -> None:
    await asyncio.to_thread(lambda: socket.create_connection((host, port)).close())


async def executor(host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, lambda: socket.create_connection((host, port)).close())


async def own_thread(host: str, port: int) -> None:
    if sys.version_info < (3, 12):
        pytest.skip("before Python 3.12 starting a thread is not audited")
    threading.Thread(target=lambda: socket.create_connection((host, port)).close()).start()


async def connected_socket(host: str, port: int) -> None:
    """A socket that was connected before the guard was entered."""
    with socket.create_server(("127.0.0.1", 0)) as unrelated, socket.socket() as client:
        token = guard._active.set(None)
        client.connect(unrelated.getsockname())
        guard._active.reset(token)
        await asyncio.open_connection(sock=client)


async def datagrams(host: str, port: int) -> None:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=(host, port)
    )
    transport.close()


async def send_to(host: str, port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.sendto(b"", (host, port))


async def process(host: str, port: int) -> None:
    subprocess.run(["true"], check=True)  # noqa: ASYNC221 (as a library might)


async def loop_process(host: str, port: int) -> None:
    await (await asyncio.create_subprocess_exec("true")).wait()


LIBRARIES: list[Reach] = [kafka, amqp, nats, smtp, http, mqtt, mqtt_in_a_thread]
OTHER_WAYS: list[Reach] = [
    *(open_connection, in_another_task, sock_connect, blocking_socket, worker_thread, executor),
    *(own_thread, connected_socket, datagrams, send_to, process),
    loop_process,
]


async def reach(client: Reach, egress: Egress, host: str, port: int) -> None:
    with egress.guarded():
        async with asyncio.timeout(TIMEOUT_S):
            await client(host, port)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("client", LIBRARIES + OTHER_WAYS, ids=lambda client: client.__name__)
def test_nothing_reaches_loopback(
    client: Reach, host: str, runner: asyncio.Runner, server: socket.socket
) -> None:
    with pytest.raises(Exception) as refused:
        runner.run(reach(client, Egress(), host, server.getsockname()[1]))
    assert not isinstance(refused.value, TimeoutError)
    assert not has_connection(server)


@pytest.mark.parametrize(
    "client",
    [kafka, amqp, nats, smtp, open_connection, in_another_task],
    ids=lambda client: client.__name__,
)
def test_a_name_that_resolves_to_loopback_is_refused(
    client: Reach,
    runner: asyncio.Runner,
    server: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve = guard._getaddrinfo

    def rebound(name: str, flags: int = 0) -> list[str]:
        return resolve(name, flags) if flags else ["127.0.0.1"]

    monkeypatch.setattr(guard, "_getaddrinfo", rebound)
    with pytest.raises(Exception):  # noqa: B017 (each library raises its own)
        runner.run(reach(client, Egress(), "rebound.example", server.getsockname()[1]))
    assert not has_connection(server)


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "100.100.100.200", "192.168.0.1"])
@pytest.mark.parametrize("client", LIBRARIES, ids=lambda client: client.__name__)
def test_no_library_reaches_private_and_metadata_addresses(
    client: Reach, host: str, runner: asyncio.Runner
) -> None:
    with pytest.raises(Exception) as refused:
        runner.run(reach(client, Egress(), host, 80))
    # A connection attempt would fail with one of these instead.
    assert not isinstance(refused.value, TimeoutError | ConnectionError)


@pytest.mark.parametrize(
    "client",
    [open_connection, in_another_task, sock_connect, blocking_socket, worker_thread, executor],
    ids=lambda client: client.__name__,
)
def test_an_allowed_network_is_reached(
    client: Reach, runner: asyncio.Runner, server: socket.socket
) -> None:
    runner.run(reach(client, Egress(LOOPBACK), "127.0.0.1", server.getsockname()[1]))
    assert has_connection(server)


def test_outside_the_guard_everything_is_as_before(
    runner: asyncio.Runner, server: socket.socket
) -> None:
    async def unguarded() -> None:
        with pytest.raises(EgressDenied):
            await reach(open_connection, Egress(), "127.0.0.1", server.getsockname()[1])
        for client in (open_connection, worker_thread, datagrams, process):
            await client("127.0.0.1", server.getsockname()[1])

    runner.run(unguarded())
    assert has_connection(server)


def test_concurrent_tasks_have_guards_of_their_own(
    runner: asyncio.Runner, server: socket.socket
) -> None:
    port = server.getsockname()[1]

    async def both() -> list[Any]:
        return await asyncio.gather(
            reach(open_connection, Egress(), "127.0.0.1", port),
            reach(open_connection, Egress(LOOPBACK), "127.0.0.1", port),
            return_exceptions=True,
        )

    denied, reached = runner.run(both())
    assert isinstance(denied, EgressDenied)
    assert reached is None

"""The ceilings: bare ASGI apps, on stock uvicorn or on the server class of the service.

Starts such an app in its own process, waits until it responds, and stops it. Rates of the service
are reported as a share of these, measured on the same machine in the same run. A ratio to stock
uvicorn can be reproduced without this project. One to the service's own server class shows what the
application costs on top, and falls whenever that class becomes faster, although no request has
become slower.
"""

import asyncio
import socket
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import closing, contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple

import msgspec
import uvicorn

from bench.load import request

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
BuildServer = Callable[[App], uvicorn.Server]
_Waiting = tuple[bytes, "asyncio.Future[None]"]

START_S_MAX = 20.0
STOP_S_MAX = 5.0


class Serving(NamedTuple):
    """Address and process of a running app."""

    host: str
    port: int
    pid: int


def bare_server(app: App) -> uvicorn.Server:
    """uvicorn at its fastest: C event loop and parser, no middleware."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
        )
    )


@contextmanager
def serving(
    app_name: str, *, build_server: BuildServer = bare_server, **options: int
) -> Iterator[Serving]:
    """Serve one of `APPS` while the block runs.

    `build_server` wraps the app in the service's own server class, so that the ceiling is a bare
    response of the same server; it must be a module-level function, as it is pickled.
    """
    with closing(_listener()) as listener:
        host, port = listener.getsockname()
        process = get_context("spawn").Process(
            target=_serve, args=(app_name, options, build_server, listener), daemon=True
        )
        process.start()
    try:
        _wait_until_it_responds(host, port, process)
        assert process.pid is not None
        yield Serving(host, port, process.pid)
    finally:
        _stop(process)


def fixed_response(*, size: int = 100) -> App:
    """Responds to every request with the same `size` bytes."""
    body = b"x" * size
    start = _start(size)
    end = {"type": "http.response.body", "body": body}

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(start)
        await send(end)

    return app


def echo() -> App:
    """Responds to a JSON object with itself, decoded and encoded again."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    encode = msgspec.json.Encoder().encode

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        body = encode(decode(await _body(receive)))
        await send(_start(len(body)))
        await send({"type": "http.response.body", "body": body})

    return app


def stored_echo() -> App:
    """The same, after a thread has flushed the body to SQLite; what has queued up is one commit.

    The least that any service has to do which acknowledges what is on the disk, and in Python.
    """
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    encode = msgspec.json.Encoder().encode
    waiting: SimpleQueue[_Waiting] = SimpleQueue()
    Thread(target=_store_bodies, args=(waiting,), daemon=True).start()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        body = encode(decode(await _body(receive)))
        stored = asyncio.get_running_loop().create_future()
        waiting.put((body, stored))
        await stored
        await send(_start(len(body)))
        await send({"type": "http.response.body", "body": body})

    return app


def _store_bodies(waiting: "SimpleQueue[_Waiting]") -> None:
    with TemporaryDirectory(prefix="longwire-bench-") as folder:
        connection = sqlite3.connect(Path(folder) / "bodies.db", isolation_level=None)
        for pragma in ("journal_mode = wal", "synchronous = full"):
            connection.execute(f"pragma {pragma}")
        connection.execute("create table stored (number integer primary key, body text)")
        while True:
            batch = [waiting.get()]
            while not waiting.empty():
                batch.append(waiting.get())
            connection.execute("begin immediate")
            connection.executemany(
                "insert into stored (body) values (?)", [(body.decode(),) for body, _ in batch]
            )
            connection.execute("commit")
            batch[0][1].get_loop().call_soon_threadsafe(_resolve, batch)


def _resolve(batch: list[_Waiting]) -> None:
    for _, stored in batch:
        if not stored.done():
            stored.set_result(None)


APPS: dict[str, Callable[..., App]] = {
    "fixed_response": fixed_response,
    "echo": echo,
    "stored_echo": stored_echo,
}


def _start(size: int) -> Message:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % size)]
    return {"type": "http.response.start", "status": 200, "headers": headers}


async def _body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    return body


def _listener() -> socket.socket:
    # Bound and listening before the process starts: the port is reserved, and the first client
    # waits in the backlog instead of being refused.
    return socket.create_server(("127.0.0.1", 0), backlog=2048)


def _serve(
    app_name: str, options: dict[str, int], build_server: BuildServer, listener: socket.socket
) -> None:
    server = build_server(APPS[app_name](**options))
    # A bare app has no lifespan, unlike the service.
    server.config.lifespan = "off"
    Thread(target=_exit_with_parent, args=(server,), daemon=True).start()
    server.run(sockets=[listener])


def _exit_with_parent(server: uvicorn.Server) -> None:
    # A killed parent cannot stop us, and an orphaned server would distort the next run.
    parent = parent_process()
    if parent is not None:
        parent.join()
        server.should_exit = True


def _wait_until_it_responds(host: str, port: int, process: BaseProcess) -> None:
    try:
        with socket.create_connection((host, port), timeout=START_S_MAX) as connection:
            connection.sendall(request("POST", "/", body=b"{}"))
            received = connection.recv(65536)
    except OSError as error:
        raise RuntimeError(f"{process.name} did not respond: {error}") from error
    if not received:
        raise RuntimeError(f"{process.name} closed the connection; exit code {process.exitcode}")


def _stop(process: BaseProcess) -> None:
    process.terminate()
    process.join(STOP_S_MAX)
    if process.exitcode is None:
        process.kill()
        process.join()

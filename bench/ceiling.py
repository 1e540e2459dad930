"""The least an answer can cost here: bare ASGI apps on the server the service itself runs on.

Knows how to start such an app in a process of its own, wait until it answers, and stop it. What the
service reaches is read as a share of what these reach, on the same machine in the same run.
"""

import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import closing, contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
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

START_S_MAX = 20.0
STOP_S_MAX = 5.0


class Serving(NamedTuple):
    """Where a running app answers, and as which process."""

    host: str
    port: int
    pid: int


def bare_server(app: App) -> uvicorn.Server:
    """uvicorn as fast as it goes: its C loop and parser, and nothing wrapped around the app."""
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
    answer on the same server; it must be a function of a module, since another process calls it.
    """
    with closing(_listener()) as listener:
        host, port = listener.getsockname()
        process = get_context("spawn").Process(
            target=_serve, args=(app_name, options, build_server, listener), daemon=True
        )
        process.start()
    try:
        _wait_until_it_answers(host, port, process)
        assert process.pid is not None
        yield Serving(host, port, process.pid)
    finally:
        _stop(process)


def answer(*, size: int = 100) -> App:
    """Answers anything with the same `size` bytes."""
    body = b"x" * size
    start = _start(size)
    end = {"type": "http.response.body", "body": body}

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(start)
        await send(end)

    return app


def echo() -> App:
    """Answers a JSON object with itself, decoded and encoded again."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    encode = msgspec.json.Encoder().encode

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        body = encode(decode(await _body(receive)))
        await send(_start(len(body)))
        await send({"type": "http.response.body", "body": body})

    return app


APPS: dict[str, Callable[..., App]] = {"answer": answer, "echo": echo}


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
    # Bound and listening before the process starts: no port can be lost to someone else, and the
    # first caller waits in the backlog rather than being refused.
    return socket.create_server(("127.0.0.1", 0), backlog=2048)


def _serve(
    app_name: str, options: dict[str, int], build_server: BuildServer, listener: socket.socket
) -> None:
    server = build_server(APPS[app_name](**options))
    # A bare app has nothing to start or stop, whatever the service's own server asks for.
    server.config.lifespan = "off"
    Thread(target=_leave_with_parent, args=(server,), daemon=True).start()
    server.run(sockets=[listener])


def _leave_with_parent(server: uvicorn.Server) -> None:
    # A parent that was killed cannot stop us, and a forgotten server would spoil the next run.
    parent = parent_process()
    if parent is not None:
        parent.join()
        server.should_exit = True


def _wait_until_it_answers(host: str, port: int, process: BaseProcess) -> None:
    try:
        with socket.create_connection((host, port), timeout=START_S_MAX) as connection:
            connection.sendall(request("POST", "/", body=b"{}"))
            answered = connection.recv(65536)
    except OSError as error:
        raise RuntimeError(f"{process.name} did not answer: {error}") from error
    if not answered:
        raise RuntimeError(f"{process.name} closed the door; exit code {process.exitcode}")


def _stop(process: BaseProcess) -> None:
    process.terminate()
    process.join(STOP_S_MAX)
    if process.exitcode is None:
        process.kill()
        process.join()

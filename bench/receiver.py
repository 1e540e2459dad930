"""A receiver in its own process: accepts everything, responds at once, records arrival times.

Plain asyncio protocol, so that it is never the bottleneck. Requests to one path never get a
response.
"""

import asyncio
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import uvloop

HANGING = "/hang"
_RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_NUMBER = re.compile(rb'\\"n\\":(\d+)')


class Receiver:
    """The controlling side, in the process of the benchmark."""

    def __init__(self, port: int, pipe: Connection) -> None:
        self.port = port
        self._pipe = pipe

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def count(self) -> int:
        """The number of messages since the last `reset`."""
        return int(self._send_command("count"))

    def arrivals(self) -> list[tuple[int, float]]:
        """Every numbered message and its arrival time, on the monotonic clock."""
        found: list[tuple[int, float]] = self._send_command("arrivals")
        return found

    def reset(self) -> None:
        self._send_command("reset")

    def wait_for(self, number: int, timeout_s: float) -> float:
        """Wait for this many messages; the seconds between the first and the last."""
        deadline = time.monotonic() + timeout_s
        while self.count() < number:
            if time.monotonic() > deadline:
                raise RuntimeError(f"only {self.count()} of {number} arrived in {timeout_s:g} s")
            time.sleep(0.05)
        first, last = self._send_command("span")
        return float(last - first)

    def _send_command(self, command: str) -> Any:
        self._pipe.send(command)
        return self._pipe.recv()


@contextmanager
def receiving() -> Iterator[Receiver]:
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield Receiver(here.recv(), here)
    finally:
        process.terminate()
        process.join()


class _Log:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.count = 0
        self.first = self.last = 0.0
        self.arrivals: list[tuple[int, float]] = []

    def note(self, body: bytes) -> None:
        now = time.monotonic()
        self.first = self.first or now
        self.last = now
        numbers = [int(each) for each in _NUMBER.findall(body)]
        self.count += len(numbers) or 1
        self.arrivals += [(number, now) for number in numbers]


class _Peer(asyncio.Protocol):
    def __init__(self, log: _Log) -> None:
        self._log = log
        self._left = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._left += data
        while (end := self._left.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._left, 0, end + 2)
            total = end + 4 + (int(length[1]) if length else 0)
            if len(self._left) < total:
                return
            whole, self._left = self._left[:total], self._left[total:]
            if whole.split(b" ", 2)[1].startswith(HANGING.encode()):
                continue
            self._log.note(whole[end + 4 :])
            self._transport.write(_RESPONSE)  # type: ignore[attr-defined]


def _serve(pipe: Connection) -> None:
    log = _Log()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Peer(log), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        loop.add_reader(pipe.fileno(), handle_command)
        await asyncio.Event().wait()

    def handle_command() -> None:
        # The loop made the pipe non-blocking, and all arrivals are more than it holds.
        os.set_blocking(pipe.fileno(), True)
        match pipe.recv():
            case "count":
                pipe.send(log.count)
            case "arrivals":
                pipe.send(log.arrivals)
            case "span":
                pipe.send((log.first, log.last))
            case _:
                log.reset()
                pipe.send(None)

    uvloop.run(run())

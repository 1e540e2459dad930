"""A small proxy in a thread of its own: HTTP CONNECT or SOCKS5, with or without a login.

It connects to wherever it is asked to, by `routes` to somewhere else, and notes what it was asked.
"""

import asyncio
import base64
import contextlib
import socket
import threading
from collections.abc import Mapping
from typing import Any

from tests.waiting import PATIENCE_S

LOGIN = ("ada", "open:sesame")


class Proxy:
    """`fails` is what it does instead: close, hang, flood, garbage, or a status or reply."""

    def __init__(
        self,
        scheme: str,
        *,
        login: tuple[str, str] | None = None,
        routes: Mapping[str, str] | None = None,
        fails: str | int = "",
    ) -> None:
        self.asked: list[tuple[str, int]] = []  # hosts and ports
        self.port = 0
        self._scheme = scheme
        self._login = login
        self._routes = dict(routes or {})
        self._fails = fails
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> "Proxy":
        self._thread.start()
        self._run(self._up())
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def drop(self) -> None:
        """Die: close every connection, and take no more."""
        self._run(self._down())

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=PATIENCE_S)

    async def _up(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _down(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._speak(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match self._fails:
            case "close":
                return
            case "hang":
                await asyncio.sleep(PATIENCE_S)
            case "garbage":
                writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
                await asyncio.sleep(PATIENCE_S)
            case "flood":
                while True:
                    writer.write(b"x" * 65_536)
                    await writer.drain()
        if self._scheme == "http":
            await self._speak_http(reader, writer)
        else:
            await self._speak_socks(reader, writer)

    async def _speak_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split("\r\n")[0].split(" ")
        assert method == "CONNECT"
        host, _, port = target.rpartition(":")
        if self._login is not None:
            pair = base64.b64encode(":".join(self._login).encode()).decode()
            if f"Proxy-Authorization: Basic {pair}\r\n" not in head:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n<p>Who are you?")
                await writer.drain()
                return
        self.asked.append((host.strip("[]"), int(port)))
        if isinstance(self._fails, int):
            writer.write(f"HTTP/1.1 {self._fails} No\r\n\r\n".encode())
            await writer.drain()
            return
        await self._connect(
            host.strip("[]"), int(port), reader, writer, b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n"
        )

    async def _speak_socks(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        version, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        assert version == 5
        wanted = 0 if self._login is None else 2
        if wanted not in methods:
            writer.write(b"\x05\xff")
            await writer.drain()
            return
        writer.write(bytes((5, wanted)))
        if self._login is not None:
            assert await reader.readexactly(1) == b"\x01"
            given = [
                (await reader.readexactly((await reader.readexactly(1))[0])).decode()
                for _ in range(2)
            ]
            is_known = tuple(given) == self._login
            writer.write(bytes((1, 0 if is_known else 1)))
            if not is_known:
                await writer.drain()
                return
        assert await reader.readexactly(3) == b"\x05\x01\x00"
        (kind,) = await reader.readexactly(1)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            family = socket.AF_INET if kind == 1 else socket.AF_INET6
            host = socket.inet_ntop(family, await reader.readexactly(4 if kind == 1 else 16))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append((host, port))
        if isinstance(self._fails, int):
            writer.write(bytes((5, self._fails, 0, 1)) + bytes(6))
            await writer.drain()
            return
        # The address that it uses, as a name, which is allowed, too.
        await self._connect(host, port, reader, writer, b"\x05\x00\x00\x03\x01x\x00\x00")

    async def _connect(
        self,
        host: str,
        port: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: bytes,
    ) -> None:
        there, back = await asyncio.open_connection(self._routes.get(host, host), port)
        writer.write(answer)
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            back.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.transport.close()

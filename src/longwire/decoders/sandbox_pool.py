"""The pools of sandbox processes: how many there are, who gets one, and their end.

A caller checks a sandbox out, calls it, and checks it in; if all are checked out, it waits. A
process that died leaves an empty slot, which is filled when it is next needed. No process gets the
environment of the service, its open files or its process group, and each exits by itself when the
service is gone.

Threads share one pool and block. The event loop, which decodes every uplink, has one of its own:
waiting there through a thread would cost a fifth of the CPU time of a callback with a codec.
"""

import asyncio
import atexit
import contextlib
import queue
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

# `sandbox.py` has the same three; it cannot be imported here, because it loads the engine.
LENGTHS = struct.Struct("!II")
LENGTH = struct.Struct("!I")
READY = b"."

PROGRAM = Path(__file__).with_name("sandbox.py")
# Two, so that one can create the engine for its next call while the other responds.
PROCESSES_MAX = 2
START_TIMEOUT_S = 20.0
# A call is limited by its CPU time, far below this; other load on the machine must not make a codec
# fail.
CALL_TIMEOUT_S = 5.0
CHECKOUT_TIMEOUT_S = 5.0
CHUNK_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of one call of a codec."""

    processor_s_max: float = 0.05
    memory_bytes_max: int = 16 * 1024 * 1024
    result_bytes_max: int = 256 * 1024


class SandboxError(Exception):
    """There is no result; the text says why."""


class SandboxUnavailable(SandboxError):
    """No sandbox is available: a problem of the service, not of the codec."""


class SandboxCrashed(SandboxError):
    """The process died before it responded, after so many seconds."""

    def __init__(self, spent_s: float) -> None:
        super().__init__("the sandbox process died before it responded")
        self.spent_s = spent_s


class Sandbox:
    """One process. Not thread-safe."""

    def __init__(self, limits: SandboxLimits) -> None:
        self.response_bytes_max = limits.result_bytes_max
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(START_TIMEOUT_S)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [
                        *(sys.executable, "-I", str(PROGRAM)),
                        str(limits.processor_s_max),
                        str(limits.memory_bytes_max),
                        str(limits.result_bytes_max),
                    ],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                    process_group=0,
                )
            except OSError as error:
                self._socket.close()
                raise SandboxUnavailable(f"no sandbox can be started: {error.strerror}") from error
        try:
            self._receive(b"", len(READY))
        except OSError as error:
            self.stop()
            raise SandboxUnavailable("the sandbox does not start") from error
        self._socket.settimeout(CALL_TIMEOUT_S)

    def run(self, source: bytes, call: bytes) -> bytes:
        """The response, or `SandboxCrashed`; after any error, only `stop` may be called."""
        started = time.monotonic()
        try:
            self._socket.sendall(_frame(source, call))
            return self._receive_response()
        except OSError as error:
            raise SandboxCrashed(time.monotonic() - started) from error

    def duplicate_socket(self) -> socket.socket:
        """The socket, for an event loop; from then on, only `stop` may be called."""
        return self._socket.dup()

    def stop(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _receive_response(self) -> bytes:
        content = self._receive(b"", LENGTH.size)
        (length,) = LENGTH.unpack_from(content)
        if length > self.response_bytes_max:
            raise OSError("invalid length of a response")
        return self._receive(content, LENGTH.size + length)[LENGTH.size :]

    def _receive(self, content: bytes, length: int) -> bytes:
        """At least so much. It never reads too far: after a response, the process waits."""
        while len(content) < length:
            chunk = self._socket.recv(CHUNK_BYTES_MAX)
            if not chunk:
                raise ConnectionResetError
            content += chunk
        return content


def _frame(source: bytes, call: bytes) -> bytes:
    return LENGTHS.pack(len(source), len(call)) + source + call


class SandboxPool:
    """Thread-safe and blocking. Processes start on demand."""

    def __init__(self, limits: SandboxLimits | None = None, count: int = PROCESSES_MAX) -> None:
        self.limits = limits or SandboxLimits()
        # First in, first out: the sandbox that was idle longest has its next engine ready.
        self._slots: queue.SimpleQueue[Sandbox | None] = queue.SimpleQueue()
        self._count = count
        for _ in range(count):
            self._slots.put(None)

    def run(self, source: bytes, call: bytes) -> bytes:
        """The response to a call; `SandboxCrashed` if the codec is the cause that there is none."""
        try:
            sandbox = self._slots.get(timeout=CHECKOUT_TIMEOUT_S)
        except queue.Empty:
            raise SandboxUnavailable("all sandboxes are busy") from None
        response = None
        try:
            if sandbox is not None:
                # It may have died after its last response, because of another codec. A call has no
                # side effects: retry in a new process, where only this codec can be the cause.
                with contextlib.suppress(SandboxCrashed):
                    response = sandbox.run(source, call)
                    return response
                sandbox.stop()
                sandbox = None
            sandbox = Sandbox(self.limits)
            response = sandbox.run(source, call)
            return response
        finally:
            if sandbox is not None and response is None:
                sandbox.stop()
                sandbox = None
            self._slots.put(sandbox)

    def stop(self) -> None:
        """Stop the processes that are not in use; a later call would start new ones."""
        for _ in range(self._count):
            with contextlib.suppress(queue.Empty):
                sandbox = self._slots.get_nowait()
                if sandbox is not None:
                    sandbox.stop()
                self._slots.put(None)


SANDBOX_POOL = SandboxPool()
atexit.register(SANDBOX_POOL.stop)


class _SandboxConnection(asyncio.Protocol):
    """The sandbox of an event loop: one call at a time, whose response completes a future."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._transport: asyncio.WriteTransport | None = None
        self._response: asyncio.Future[bytes] | None = None
        self._content = b""
        self.is_stopped = False

    @classmethod
    async def start(cls, limits: SandboxLimits) -> Self:
        loop = asyncio.get_running_loop()
        sandbox = await loop.run_in_executor(None, Sandbox, limits)
        _, connection = await loop.create_unix_connection(
            lambda: cls(sandbox), sock=sandbox.duplicate_socket()
        )
        return connection

    async def run(self, source: bytes, call: bytes) -> bytes:
        """The response, or `SandboxCrashed`; after any error, the process is stopped."""
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        response: asyncio.Future[bytes] = loop.create_future()
        self._response = response
        timer = loop.call_later(CALL_TIMEOUT_S, self._complete, TimeoutError())
        try:
            if self._transport is None:
                raise ConnectionResetError
            self._transport.write(_frame(source, call))
            return await response
        except OSError as error:
            self.stop()
            raise SandboxCrashed(time.monotonic() - started) from error
        except BaseException:  # cancelled: the response would be taken for that of the next call
            self.stop()
            raise
        finally:
            timer.cancel()

    def stop(self) -> None:
        self.is_stopped = True
        if self._transport is not None:
            self._transport.abort()
        self._sandbox.stop()

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop registers none

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._complete(ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        self._content += data
        if len(self._content) < LENGTH.size:
            return
        (length,) = LENGTH.unpack_from(self._content)
        if length > self._sandbox.response_bytes_max:
            self._complete(ConnectionResetError("invalid length of a response"))
        elif len(self._content) >= LENGTH.size + length:
            content, self._content = self._content[LENGTH.size :], b""
            self._complete(content)

    def _complete(self, result: bytes | OSError) -> None:
        if self._response is None or self._response.done():
            return
        if isinstance(result, OSError):
            self._response.set_exception(result)
        else:
            self._response.set_result(result)


class LoopSandboxPool:
    """For one event loop, which it never blocks. Processes start on demand."""

    def __init__(self, limits: SandboxLimits | None = None, count: int = PROCESSES_MAX) -> None:
        self.limits = limits or SandboxLimits()
        # First in, first out, as in `SandboxPool`.
        self._slots: asyncio.Queue[_SandboxConnection | None] = asyncio.Queue()
        for _ in range(count):
            self._slots.put_nowait(None)

    async def run(self, source: bytes, call: bytes) -> bytes:
        """Like `SandboxPool.run`, but callers queue for as long as it takes."""
        sandbox = await self._slots.get()
        try:
            if sandbox is not None:
                with contextlib.suppress(SandboxCrashed):
                    return await sandbox.run(source, call)
            sandbox = None
            sandbox = await _SandboxConnection.start(self.limits)
            return await sandbox.run(source, call)
        finally:
            self._slots.put_nowait(None if sandbox is None or sandbox.is_stopped else sandbox)

    def stop(self) -> None:
        """Stop the processes that are not in use; a later call would start new ones."""
        for _ in range(self._slots.qsize()):
            sandbox = self._slots.get_nowait()
            if sandbox is not None:
                sandbox.stop()
            self._slots.put_nowait(None)

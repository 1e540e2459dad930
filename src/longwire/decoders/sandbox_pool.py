"""The pools of sandbox processes: how many there are, who gets one, and their end.

A caller checks a sandbox out, calls it, and checks it in; if all are checked out, it waits. On the
event loop, groups that wait get equal shares of the time. A process that died leaves an empty slot,
which is filled when it is next needed. No process gets the environment of the service, its open
files or its process group, and each exits by itself when the service is gone.

Threads share one pool and block. The event loop, which decodes every uplink, has one of its own:
waiting there through a thread would cost a fifth of the CPU time of a callback with a codec.
"""

import asyncio
import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self, cast

import structlog

from longwire.decoders.confinement import Confinement
from longwire.decoders.sandbox_protocol import (
    CHUNK_BYTES_MAX,
    READY,
    REQUEST_HEAD,
    RESPONSE_HEAD,
    SENT_BEFORE,
    SOURCES_MAX,
    SandboxLimits,
)
from longwire.decoders.time_sharing import GroupShare, TimeSharingQueue
from longwire.work.turns import current_caller

log = structlog.get_logger()

# Isolated from the environment, so it gets the folder of the packages. The module is not imported
# here, because it loads the engine.
PACKAGES = Path(__file__).parents[2]
PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from longwire.decoders import sandbox
sandbox.main()
"""
# Two, so that one can create the engine for its next call while the other responds.
PROCESSES_MAX = 2
START_TIMEOUT_S = 20.0
# A call is limited by its CPU time, far below this; other load on the machine must not make a codec
# fail.
CALL_TIMEOUT_S = 5.0
CHECKOUT_TIMEOUT_S = 5.0
# On the event loop a group waits for its own calls only: those of others get their share.
WAITING_TIMEOUT_S = 10.0
TIMED_OUT = "all sandboxes are busy, with payloads of this group among others"


class SandboxResult(NamedTuple):
    """What a sandbox responded, and the CPU time that the codec took."""

    content: bytes
    cpu_s: float


class SandboxError(Exception):
    """There is no result; the text says why."""


class SandboxUnavailable(SandboxError):
    """No sandbox is available: a problem of the service, not of the codec."""


class SandboxCrashed(SandboxError):
    """The process died before it responded, after so many seconds, or did not respond in time."""

    def __init__(self, spent_s: float, *, is_timeout: bool) -> None:
        super().__init__("the sandbox process died before it responded")
        self.spent_s = spent_s
        self.is_timeout = is_timeout

    def after(self, first: "SandboxCrashed | None") -> "SandboxCrashed":
        """Both attempts of a call."""
        spent_s = self.spent_s + (first.spent_s if first is not None else 0.0)
        return SandboxCrashed(spent_s, is_timeout=self.is_timeout)


class _Called(threading.local):
    """What the sandboxes that a thread has called took."""

    cpu_s = 0.0


_called = _Called()


def get_processor_s() -> float:
    """CPU time of this thread so far, and of its calls of sandboxes."""
    return time.thread_time() + _called.cpu_s


class Sandbox:
    """One process. Not thread-safe."""

    def __init__(self, limits: SandboxLimits) -> None:
        self.response_bytes_max = limits.result_bytes_max
        self._numbers: dict[bytes, int] = {}  # of the sources that the process has
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(START_TIMEOUT_S)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [
                        *(sys.executable, "-I", "-c", PROGRAM, str(PACKAGES)),
                        *limits.to_arguments(),
                    ],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"TZ": "UTC"},  # what a codec returns must not depend on the host
                    cwd="/",
                    process_group=0,
                )
            except OSError as error:
                self._socket.close()
                raise SandboxUnavailable(f"no sandbox can be started: {error.strerror}") from error
        try:
            ready = self._receive(b"", 1)[0]
        except OSError as error:
            self.stop()
            raise SandboxUnavailable("the sandbox does not start") from error
        _log_confinement(Confinement(ready - READY))
        self._socket.settimeout(CALL_TIMEOUT_S)

    def run(self, source: bytes, call: bytes) -> SandboxResult:
        """The response, or `SandboxCrashed`; after any error, only `stop` may be called."""
        started = time.monotonic()
        try:
            self._socket.sendall(self.build_request(source, call))
            return self._receive_response()
        except OSError as error:
            is_timeout = isinstance(error, TimeoutError)
            raise SandboxCrashed(time.monotonic() - started, is_timeout=is_timeout) from error

    def build_request(self, source: bytes, call: bytes) -> bytes:
        """The bytes of a call, with its source unless the process has it."""
        number = self._numbers.get(source)
        if number is not None:
            return REQUEST_HEAD.pack(number, SENT_BEFORE, len(call)) + call
        if len(self._numbers) >= SOURCES_MAX:
            self._numbers.clear()
        number = self._numbers[source] = len(self._numbers)
        return REQUEST_HEAD.pack(number, len(source), len(call)) + source + call

    def duplicate_socket(self) -> socket.socket:
        """The socket, for an event loop; from then on, only `stop` may be called."""
        return self._socket.dup()

    def stop(self) -> None:
        self._socket.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # and a fork that runs a call
        self._process.wait()

    def _receive_response(self) -> SandboxResult:
        content = self._receive(b"", RESPONSE_HEAD.size)
        length, cpu_us = RESPONSE_HEAD.unpack_from(content)
        if length > self.response_bytes_max:
            raise OSError("invalid length of a response")
        content = self._receive(content, RESPONSE_HEAD.size + length)
        return SandboxResult(content[RESPONSE_HEAD.size :], cpu_us / 1e6)

    def _receive(self, content: bytes, length: int) -> bytes:
        """At least so much. It never reads too far: after a response, the process waits."""
        while len(content) < length:
            chunk = self._socket.recv(CHUNK_BYTES_MAX)
            if not chunk:
                raise ConnectionResetError
            content += chunk
        return content


@cache
def _log_confinement(confinement: Confinement) -> None:
    """Say once what the kernel does not allow."""
    missing = ~confinement & ~Confinement(0)
    if missing:
        log.warning(
            "codecs run with less confinement than possible",
            missing=[str(each.name).lower() for each in missing],
        )


class SandboxPool:
    """Thread-safe and blocking. Processes start on demand."""

    def __init__(self, limits: SandboxLimits | None = None, count: int = PROCESSES_MAX) -> None:
        self.limits = limits or SandboxLimits()
        # First in, first out: the sandbox that was idle longest has its next engine ready.
        self._slots: queue.SimpleQueue[Sandbox | None] = queue.SimpleQueue()
        self._count = count
        for _ in range(count):
            self._slots.put(None)

    def run(self, source: bytes, call: bytes) -> SandboxResult:
        """The response to a call; `SandboxCrashed` if the codec is the cause that there is none."""
        try:
            sandbox = self._slots.get(timeout=CHECKOUT_TIMEOUT_S)
        except queue.Empty:
            raise SandboxUnavailable("all sandboxes are busy") from None
        kept = None  # a process that has failed, or did not start, is not used again
        try:
            crash = None
            if sandbox is not None:
                result = self._run_in(sandbox, source, call)
                if isinstance(result, SandboxResult):
                    kept = sandbox
                    _called.cpu_s += result.cpu_s
                    return result
                crash = result
            started = Sandbox(self.limits)
            result = self._run_in(started, source, call)
            if isinstance(result, SandboxCrashed):
                crashed = result.after(crash)
                _called.cpu_s += crashed.spent_s
                raise crashed
            kept = started
            _called.cpu_s += result.cpu_s
            return result
        finally:
            self._slots.put(kept)

    def _run_in(
        self, sandbox: Sandbox, source: bytes, call: bytes
    ) -> SandboxResult | SandboxCrashed:
        """The crash if the process died, perhaps because of a codec before.

        A call has no side effects, so it can be retried in a new process. If that dies as well, it
        is the fault of this codec.
        """
        try:
            return sandbox.run(source, call)
        except SandboxCrashed as error:
            sandbox.stop()
            if error.is_timeout:
                raise
            return error
        except BaseException:
            sandbox.stop()
            raise

    def stop(self) -> None:
        """Stop the processes that are not in use; a later call would start new ones."""
        for _ in range(self._count):
            with contextlib.suppress(queue.Empty):
                sandbox = self._slots.get_nowait()
                if sandbox is not None:
                    sandbox.stop()
                self._slots.put(None)


class _SandboxConnection(asyncio.Protocol):
    """The sandbox of an event loop: one call at a time, whose response completes a future."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._transport: asyncio.WriteTransport | None = None
        self._response: asyncio.Future[SandboxResult] | None = None
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

    async def run(self, source: bytes, call: bytes) -> SandboxResult:
        """The response, or `SandboxCrashed`; after any error, the process is stopped."""
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        response: asyncio.Future[SandboxResult] = loop.create_future()
        self._response = response
        timer = loop.call_later(CALL_TIMEOUT_S, self._complete, TimeoutError())
        try:
            if self._transport is None:
                raise ConnectionResetError
            self._transport.write(self._sandbox.build_request(source, call))
            return await response
        except OSError as error:
            self.stop()
            is_timeout = isinstance(error, TimeoutError)
            raise SandboxCrashed(time.monotonic() - started, is_timeout=is_timeout) from error
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
        if len(self._content) < RESPONSE_HEAD.size:
            return
        length, cpu_us = RESPONSE_HEAD.unpack_from(self._content)
        if length > self._sandbox.response_bytes_max:
            self._complete(ConnectionResetError("invalid length of a response"))
        elif len(self._content) >= RESPONSE_HEAD.size + length:
            content, self._content = self._content[RESPONSE_HEAD.size :], b""
            self._complete(SandboxResult(content, cpu_us / 1e6))

    def _complete(self, result: SandboxResult | OSError) -> None:
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
        self._idle: deque[_SandboxConnection | None] = deque([None] * count)
        self._turns: TimeSharingQueue[asyncio.Future[None]] = TimeSharingQueue(count)

    async def run(self, source: bytes, call: bytes, group: str = "") -> SandboxResult:
        """Like `SandboxPool.run`, but owners that wait get equal shares of the time."""
        share = self._turns.share(current_caller.get().owner or group)
        if not self._turns.start(share):
            await self._wait(share)
        spent_s = 0.0
        sandbox = self._idle.popleft()
        try:
            result: SandboxResult | SandboxCrashed | None = None
            if sandbox is not None:
                result = await self._run_in(sandbox, source, call)
            if not isinstance(result, SandboxResult):
                crash, sandbox = result, None
                sandbox = await _SandboxConnection.start(self.limits)
                result = await self._run_in(sandbox, source, call)
                if isinstance(result, SandboxCrashed):
                    raise result.after(crash)
            spent_s = result.cpu_s
            return result
        except SandboxCrashed as error:
            spent_s = error.spent_s
            raise
        finally:
            self._idle.append(None if sandbox is None or sandbox.is_stopped else sandbox)
            self._turns.finish(share, spent_s)
            self._start_next()

    async def _run_in(
        self, sandbox: _SandboxConnection, source: bytes, call: bytes
    ) -> SandboxResult | SandboxCrashed:
        """The crash if the process died, perhaps because of a codec before."""
        try:
            return await sandbox.run(source, call)
        except SandboxCrashed as error:
            if error.is_timeout:
                raise
            return error

    async def _wait(self, share: GroupShare[asyncio.Future[None]]) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._turns.add(share, turn)
        self._start_next()  # a group may be refused a slot that another one may take
        timer = loop.call_later(WAITING_TIMEOUT_S, turn.cancel, TIMED_OUT)
        try:
            await turn
        except asyncio.CancelledError as error:
            self._turns.remove(share, turn)
            if not turn.cancelled():  # its turn came at the moment it was given up
                self._turns.finish(share, 0.0)
                self._start_next()
            elif error.args == (TIMED_OUT,):
                raise SandboxUnavailable(TIMED_OUT) from None
            raise
        finally:
            timer.cancel()

    def _start_next(self) -> None:
        while (started := self._turns.next()) is not None:
            share, turn = started
            if turn.cancelled():
                self._turns.finish(share, 0.0)
            else:
                turn.set_result(None)

    def stop(self) -> None:
        """Stop the processes that are not in use; a later call would start new ones."""
        for _ in range(len(self._idle)):
            sandbox = self._idle.popleft()
            if sandbox is not None:
                sandbox.stop()
            self._idle.append(None)

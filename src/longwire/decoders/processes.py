"""The sandbox processes: how many there are, whose turn it is, and their end.

Each place holds a process, or nothing yet. A caller takes a place, asks, and puts it back; whoever
finds all places taken waits, or goes without. A process that died leaves its place empty, to be
filled when it is next needed. No process gets the environment of the service, its open files or its
group of signals, and each ends by itself when the service is gone.
"""

import asyncio
import atexit
import contextlib
import os
import queue
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# `sandbox.py` has the same three; it cannot be imported here, because it loads the engine.
LENGTHS = struct.Struct("!II")
LENGTH = struct.Struct("!I")
READY = b"."

PROGRAM = Path(__file__).with_name("sandbox.py")
# Two, so that one can make the engine for its next call while the other answers.
PROCESSES_MAX = 2
START_S_MAX = 20.0
# A request is ended by the processor time it took, long before this; a machine that is busy with
# other things must not make a codec fail.
ANSWER_S_MAX = 5.0
PLACE_WAIT_S_MAX = 5.0
PIECE_BYTES_MAX = 64 * 1024
# What a socket takes at once, so that nobody need wait until it does.
AT_ONCE_BYTES_MAX = 64 * 1024

# Hears the answer, or None when there is none and another try is worth it.
Tell = Callable[[bytes | None], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call of a codec may take."""

    processor_s_max: float = 0.05
    memory_bytes_max: int = 16 * 1024 * 1024
    result_bytes_max: int = 256 * 1024


class SandboxError(Exception):
    """There is no answer; the text says why."""


class NoSandbox(SandboxError):
    """No sandbox can be had: the service's trouble, and not the codec's."""


class SandboxDied(SandboxError):
    """The process ended before it answered, after so many seconds."""

    def __init__(self, spent_s: float) -> None:
        super().__init__("the sandbox ended before it answered")
        self.spent_s = spent_s


class Sandbox:
    """One process. Not for two threads at once."""

    def __init__(self, limits: Limits) -> None:
        self._answer_bytes_max = limits.result_bytes_max
        self._line, theirs = socket.socketpair()
        self._line.settimeout(START_S_MAX)
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
                self._line.close()
                raise NoSandbox(f"no sandbox can be started: {error.strerror}") from error
        try:
            self._more(b"", len(READY))
        except OSError as error:
            self.stop()
            raise NoSandbox("the sandbox does not start") from error
        self._line.settimeout(ANSWER_S_MAX)

    def ask(self, source: bytes, call: bytes) -> bytes:
        """The answer, or `SandboxDied`; after that, or any other error, only `stop` is left."""
        begun = time.monotonic()
        try:
            self._line.sendall(LENGTHS.pack(len(source), len(call)) + source + call)
            return self._answer()
        except OSError as error:
            raise SandboxDied(time.monotonic() - begun) from error

    def ask_soon(
        self, loop: asyncio.AbstractEventLoop, source: bytes, call: bytes, tell: Tell
    ) -> bool:
        """The same without waiting, for an event loop, which is told the answer; None is the end.

        False when it could not be asked: after that, too, only `stop` is left.
        """
        line, content = self._line, bytearray()
        request = LENGTHS.pack(len(source), len(call)) + source + call
        try:
            if os.write(line.fileno(), request) != len(request):  # a timeout would be waited for
                return False
        except OSError:
            return False

        def end(answer: bytes | None) -> None:
            loop.remove_reader(line)
            late.cancel()
            tell(answer)

        def read() -> None:
            try:
                piece = os.read(line.fileno(), PIECE_BYTES_MAX)
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            content.extend(piece)
            if not piece:
                end(None)
            elif len(content) >= LENGTH.size:
                whole = LENGTH.size + LENGTH.unpack_from(content)[0]
                if whole > LENGTH.size + self._answer_bytes_max:
                    end(None)
                elif len(content) >= whole:
                    end(bytes(content[LENGTH.size :]))

        late = loop.call_later(ANSWER_S_MAX, end, None)
        loop.add_reader(line, read)
        return True

    def stop(self) -> None:
        self._line.close()
        self._process.kill()
        self._process.wait()

    def _answer(self) -> bytes:
        content = self._more(b"", LENGTH.size)
        (length,) = LENGTH.unpack_from(content)
        if length > self._answer_bytes_max:
            raise OSError("an answer that no sandbox gives")
        return self._more(content, LENGTH.size + length)[LENGTH.size :]

    def _more(self, content: bytes, length: int) -> bytes:
        """At least so much. Nothing is read too far: after an answer, the process waits."""
        while len(content) < length:
            piece = self._line.recv(PIECE_BYTES_MAX)
            if not piece:
                raise ConnectionResetError
            content += piece
        return content


class Sandboxes:
    """Answers any thread. Starts its processes when they are needed."""

    def __init__(self, limits: Limits | None = None, count: int = PROCESSES_MAX) -> None:
        self.limits = limits or Limits()
        # First in, first out: the place that rested longest has the next engine ready.
        self._places: queue.SimpleQueue[Sandbox | None] = queue.SimpleQueue()
        self._count = count
        for _ in range(count):
            self._places.put(None)

    def ask(self, source: bytes, call: bytes) -> bytes:
        """What the codec answers; `SandboxDied` if it is to blame that there is no answer."""
        try:
            sandbox = self._places.get(timeout=PLACE_WAIT_S_MAX)
        except queue.Empty:
            raise NoSandbox("all sandboxes are busy") from None
        answer = None
        try:
            if sandbox is not None:
                # It may have died after its last answer, over another codec. A call changes
                # nothing, so it can be repeated where only this codec can be the cause.
                with contextlib.suppress(SandboxDied):
                    answer = sandbox.ask(source, call)
                    return answer
                sandbox.stop()
                sandbox = None
            sandbox = Sandbox(self.limits)
            answer = sandbox.ask(source, call)
            return answer
        finally:
            if sandbox is not None and answer is None:
                sandbox.stop()
                sandbox = None
            self._places.put(sandbox)

    def ask_soon(
        self, loop: asyncio.AbstractEventLoop, source: bytes, call: bytes, tell: Tell
    ) -> bool:
        """The same without waiting, for an event loop; False if no process is free for it now.

        Whoever is told None may `ask`, which finds out who is to blame.
        """
        if len(source) + len(call) + LENGTHS.size > AT_ONCE_BYTES_MAX:
            return False
        try:
            sandbox = self._places.get_nowait()
        except queue.Empty:
            return False
        if sandbox is None:
            self._places.put(None)  # starting one takes long
            return False

        def told(answer: bytes | None) -> None:
            self._put_back(sandbox if answer is not None else None, sandbox)
            tell(answer)

        if sandbox.ask_soon(loop, source, call, told):
            return True
        self._put_back(None, sandbox)
        return False

    def _put_back(self, alive: Sandbox | None, sandbox: Sandbox) -> None:
        if alive is None:
            sandbox.stop()
        self._places.put(alive)

    def stop(self) -> None:
        """End the processes that nobody is waiting for; a later call would start new ones."""
        for _ in range(self._count):
            with contextlib.suppress(queue.Empty):
                sandbox = self._places.get_nowait()
                if sandbox is not None:
                    sandbox.stop()
                self._places.put(None)


SANDBOXES = Sandboxes()
atexit.register(SANDBOXES.stop)

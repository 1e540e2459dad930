"""The sandbox processes: how many there are, whose turn it is, and their end.

Each place holds a process, or nothing yet. A caller takes a place, asks, and puts it back; whoever
finds all places taken waits. A process that died leaves its place empty, to be filled when it is
next needed. No process gets the environment of the service, its open files or its group of signals,
and each ends by itself when the service is gone.
"""

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

"""The sandbox processes: how many there are, whose turn it is, and their end.

Threads share some, and each holds a place: a caller takes a place, asks, and puts it back; whoever
finds all places taken waits. A process that died leaves its place empty, to be filled when it is
next needed. An event loop has its own, which it can ask without waiting, and whose answers it reads
when they are there. No process gets the environment of the service, its open files or its group of
signals, and each ends by itself when the service is gone.
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
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
# After an answer, a sandbox rests, and then gets ready for the next call.
READY_S = 0.003
# Calls of an event loop that wait for a process; they are done in a few hundredths of a second.
WAITING_MAX = 200
GLANCE_S = 0.0002

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
            self._line.sendall(_framed(source, call))
            return self._answer()
        except OSError as error:
            raise SandboxDied(time.monotonic() - begun) from error

    def fileno(self) -> int:
        return self._line.fileno()

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


def _framed(source: bytes, call: bytes) -> bytes:
    return LENGTHS.pack(len(source), len(call)) + source + call


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


class LoopSandboxes:
    """Answers one event loop, which never waits. Starts its processes when they are needed."""

    def __init__(self, limits: Limits | None = None, most: int = PROCESSES_MAX) -> None:
        self._limits = limits or Limits()
        self._most = most
        self._attended: list[_Attended] = []
        self._waiting: deque[tuple[bytes, Tell]] = deque()
        self._starting: set[asyncio.Future[Sandbox]] = set()
        self._is_stopped = False

    @property
    def count(self) -> int:
        """How many processes are running."""
        return len(self._attended)

    def ask(self, source: bytes, call: bytes, tell: Tell) -> bool:
        """Have the answer told, or None if there is none and only a thread can find out why.

        False if no process is running, or too many wait for those that are.
        """
        request = _framed(source, call)
        if len(request) > AT_ONCE_BYTES_MAX:
            return False
        one = self._free()
        if one is not None:
            one.ask(request, tell)
            return True
        self._start_another()
        if not self._attended or len(self._waiting) >= WAITING_MAX:
            return False
        self._waiting.append((request, tell))
        return True

    def glance(self) -> None:
        """Take the answer to the one call there is, if it comes within moments.

        To fall asleep and be woken costs more than that. Only for a loop with nothing else to do.
        """
        asked = [one for one in self._attended if one.is_asked]
        if len(asked) == 1:
            until = time.monotonic() + GLANCE_S
            while asked[0].is_asked and time.monotonic() < until:
                asked[0].read()

    def stop(self) -> None:
        self._is_stopped = True
        for one in list(self._attended):
            one.end()

    def _free(self) -> "_Attended | None":
        """The last one that had the time to get ready: what it needs is still at hand.

        Or else the one that had the most.
        """
        ready_before = time.monotonic() - READY_S
        best: _Attended | None = None
        for one in self._attended:
            if not one.is_asked and (best is None or one.is_better(best, ready_before)):
                best = one
        return best

    def _start_another(self) -> None:
        if self._is_stopped or self.count + len(self._starting) >= self._most:
            return
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(None, Sandbox, self._limits)
        self._starting.add(starting)
        starting.add_done_callback(partial(self._started, loop))

    def _started(
        self, loop: asyncio.AbstractEventLoop, starting: "asyncio.Future[Sandbox]"
    ) -> None:
        self._starting.discard(starting)
        if starting.cancelled() or starting.exception() is not None:
            return  # a thread says why when it needs one
        one = _Attended(
            loop, starting.result(), self._limits.result_bytes_max, self._go_on, self._ended
        )
        self._attended.append(one)
        if self._is_stopped:
            one.end()
        else:
            self._go_on(one)

    def _go_on(self, one: "_Attended") -> None:
        if self._waiting:
            one.ask(*self._waiting.popleft())

    def _ended(self, one: "_Attended") -> None:
        self._attended.remove(one)
        if not self._attended:
            waiting, self._waiting = self._waiting, deque()
            for _, tell in waiting:
                tell(None)


class _Attended:
    """One process of an event loop, which looks at its line whenever there is something."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sandbox: Sandbox,
        answer_bytes_max: int,
        go_on: "Callable[[_Attended], None]",
        ended: "Callable[[_Attended], None]",
    ) -> None:
        self._loop = loop
        self._sandbox = sandbox
        self._line = sandbox.fileno()
        self._answer_bytes_max = answer_bytes_max
        self._go_on = go_on
        self._ended = ended
        self._tell: Tell | None = None
        self._content = b""
        self._asked_at = 0.0
        self._answered_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._is_open = True
        loop.add_reader(self._line, self.read)

    @property
    def is_asked(self) -> bool:
        return self._tell is not None

    def is_better(self, other: "_Attended", ready_before: float) -> bool:
        if self._answered_at > ready_before or other._answered_at > ready_before:
            return self._answered_at < other._answered_at
        return self._answered_at > other._answered_at

    def ask(self, request: bytes, tell: Tell) -> None:
        self._tell = tell
        self._asked_at = time.monotonic()
        if self._timer is None:  # it is not moved for every call, but looks again in time
            self._timer = self._loop.call_later(ANSWER_S_MAX, self._look)
        try:
            is_sent = os.write(self._line, request) == len(request)
        except OSError:
            is_sent = False
        if not is_sent:
            self._loop.call_soon(self.end)  # nobody is told before they have asked

    def end(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._line)
        if self._timer is not None:
            self._timer.cancel()
        self._sandbox.stop()
        self._ended(self)
        self._say(None)

    def _say(self, answer: bytes | None) -> None:
        tell, self._tell, self._content = self._tell, None, b""
        if answer is not None:
            self._go_on(self)  # first: it takes longer than we do
        if tell is not None:
            tell(answer)

    def read(self) -> None:
        try:
            piece = os.read(self._line, PIECE_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._content += piece
        length = LENGTH.unpack_from(self._content)[0] if len(self._content) >= LENGTH.size else 0
        if not piece or self._tell is None or length > self._answer_bytes_max:
            self.end()
        elif length and len(self._content) >= LENGTH.size + length:
            self._answered_at = time.monotonic()
            self._say(self._content[LENGTH.size :])

    def _look(self) -> None:
        self._timer = None
        if self._tell is None:
            return
        left_s = self._asked_at + ANSWER_S_MAX - time.monotonic()
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._look)
        else:
            self.end()

"""The program of a sandbox process: runs codecs and responds with what they returned.

It is started with the limits as arguments; its standard input is the socket to the parent, which
speaks the protocol of `sandbox_protocol`.

Every call gets a fresh engine that has run nothing but the source and is discarded afterwards, so
no state leaks from one call to another. The engine for the next call of the same source is created
after the response, when no request came for a moment: the parent is likely to need the CPU then.
A codec that takes long to load is loaded once and never called itself: each call is made in a fork
of the process, which is cheaper than loading the codec again.

The engine enforces its time limit while it runs JavaScript, but not everywhere: a few built-in
loops never check the clock, and the text of an exception is made after the limit was lifted. So the
kernel enforces one, too: a profiling timer whose signal kills this process.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, Protocol

import quickjs

from longwire.decoders.confinement import confine
from longwire.decoders.engine_scripts import ERRORS, OTHER_VERBS, RUNNER, build_scripts
from longwire.decoders.sandbox_protocol import (
    CHUNK_BYTES_MAX,
    READY,
    REQUEST_HEAD,
    RESPONSE_HEAD,
    SENT_BEFORE,
    SandboxLimits,
)

READY_CODECS_MAX: Final = 32
READY_CHARACTERS_MAX: Final = 2 * 1024 * 1024
STACK_BYTES_MAX: Final = 512 * 1024
# The kernel's limit as a multiple of the engine's own: calling, and reporting errors.
CPU_TIME_FACTOR: Final = 3
ORDINARY_CALL: Final = '{"verb":"decode",'
IDLE_S: Final = 0.002
# A fork takes one to two milliseconds.
FORK_ABOVE_S: Final = 0.004
# The quickest of so many loads tells what a load takes; others may have waited for the CPU.
LOADS_MEASURED: Final = 3


class JavaScriptEngine(Protocol):
    """The part of `quickjs.Context` that is used here. Only its own thread may use it."""

    def eval(self, code: str) -> Any: ...
    def set_time_limit(self, limit: float) -> None: ...
    def set_memory_limit(self, limit: int) -> None: ...
    def set_max_stack_size(self, limit: int) -> None: ...


class LoadedCodec:
    """A fresh engine with a codec loaded, for one call."""

    def __init__(self, scripts: list[str], limits: SandboxLimits) -> None:
        started, cpu_started = time.perf_counter(), time.process_time()
        _limit_cpu_time(limits.load_processor_s_max * CPU_TIME_FACTOR)
        engine: JavaScriptEngine = quickjs.Context()
        engine.set_memory_limit(limits.memory_bytes_max)
        engine.set_max_stack_size(STACK_BYTES_MAX)
        self._run = engine.eval(RUNNER)
        engine.set_time_limit(limits.load_processor_s_max)
        self._load_error: str | None = None
        try:
            for script in scripts:
                engine.eval(script)
        except quickjs.JSException as error:
            self._load_error = _error_response(error, "load")
        engine.set_time_limit(limits.processor_s_max)
        # It would go on to count the time of this process, which may fork many times from now on.
        _limit_cpu_time(0)
        self.load_s = time.process_time() - cpu_started
        # The clock of CPU time may tick every ten milliseconds only, which is many loads.
        self.load_wall_s = time.perf_counter() - started

    def call(self, call: str) -> str:
        if self._load_error is not None:
            return self._load_error
        try:
            verbs = "" if call.startswith(ORDINARY_CALL) else OTHER_VERBS
            response: str = self._run(call, verbs, ERRORS)
        except quickjs.JSException as error:
            return _error_response(error, "time")
        except TypeError:
            return json.dumps({"thrown": "a value that cannot be read", "stack": ""})
        return response


def _error_response(error: Exception, phase: str) -> str:
    """Errors while loading, and those that no script can catch."""
    text, _, stack = str(error).partition("\n")
    if text == "InternalError: interrupted":
        return json.dumps({"stopped": phase})
    return json.dumps({"thrown": text, "stack": stack})


def is_cheaper_than_fork(load_times: Sequence[float]) -> bool:
    """Whether a codec is rather loaded for each call, as far as it is known."""
    return len(load_times) < LOADS_MEASURED or min(load_times) < FORK_ABOVE_S


class CodecRunner:
    """Responds to calls, with the engines and sources of the calls before."""

    def __init__(self, line: socket.socket, limits: SandboxLimits) -> None:
        self._line = line
        self._limits = limits
        self._scripts: dict[int, list[str]] = {}
        # By the number of the source, least recently used first.
        self._ready: OrderedDict[int, LoadedCodec] = OrderedDict()
        self._ready_size = 0
        self._load_times: dict[int, list[float]] = {}  # by the number of the source

    def serve(self) -> None:
        while (request := _receive_request(self._line)) is not None:
            number, source, call = request
            if source is not None:
                if number == 0:
                    self._ready.clear()
                    self._ready_size = 0
                    self._load_times.clear()
                    self._scripts.clear()
                self._scripts[number] = build_scripts(source.decode())
            codec = self._take(number)
            load_s = 0.0
            if codec is None:
                codec = self._load(number)
                load_s = codec.load_s
            is_light = is_cheaper_than_fork(self._load_times[number])
            if is_light or not self._respond_in_fork(codec, call, load_s):
                self._respond(codec, call, codec.load_s)
                if select.select([self._line], [], [], IDLE_S)[0]:
                    continue
                codec = self._load(number)
            self._put(number, codec)

    def _load(self, number: int) -> LoadedCodec:
        codec = LoadedCodec(self._scripts[number], self._limits)
        times = self._load_times.setdefault(number, [])
        if len(times) < LOADS_MEASURED:
            times.append(codec.load_wall_s)
        return codec

    def _size(self, number: int) -> int:
        return sum(map(len, self._scripts[number]))

    def _take(self, number: int) -> LoadedCodec | None:
        codec = self._ready.pop(number, None)
        if codec is not None:
            self._ready_size -= self._size(number)
        return codec

    def _put(self, number: int, codec: LoadedCodec) -> None:
        self._ready[number] = codec
        self._ready_size += self._size(number)
        while len(self._ready) > READY_CODECS_MAX or self._ready_size > READY_CHARACTERS_MAX:
            self._take(next(iter(self._ready)))

    def _respond(self, codec: LoadedCodec, call: bytes, load_s: float) -> None:
        started = time.process_time()
        _limit_cpu_time(self._limits.processor_s_max * CPU_TIME_FACTOR)
        response = codec.call(call.decode()).encode(errors="replace")
        _limit_cpu_time(0)
        if len(response) > self._limits.result_bytes_max:
            response = b'{"stopped":"size"}'
        self._send(response, time.process_time() - started + load_s)

    def _respond_in_fork(self, codec: LoadedCodec, call: bytes, load_s: float) -> bool:
        """Respond in a child process; the codec stays as it was loaded. False if it cannot."""
        try:
            child = os.fork()
        except OSError:
            return False
        if child == 0:
            self._respond(codec, call, load_s)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
            self._send(b'{"stopped":"time"}', self._limits.processor_s_max * CPU_TIME_FACTOR)
        elif status != 0:
            sys.exit(1)
        return True

    def _send(self, response: bytes, cpu_s: float) -> None:
        self._line.sendall(RESPONSE_HEAD.pack(len(response), int(cpu_s * 1e6)) + response)


def _limit_cpu_time(processor_s: float) -> None:
    """Kill this process after so much more CPU time (0: never)."""
    signal.setitimer(signal.ITIMER_PROF, processor_s)


def _receive_request(line: socket.socket) -> tuple[int, bytes | None, bytes] | None:
    """Number of the source, the source unless it was sent before, and the call.

    None when the parent has closed the socket.
    """
    content = b""
    length = REQUEST_HEAD.size
    number = source_bytes = 0
    while len(content) < length:
        chunk = line.recv(CHUNK_BYTES_MAX)
        if not chunk:
            return None
        content += chunk
        if length == REQUEST_HEAD.size and len(content) >= length:
            number, source_bytes, call_bytes = REQUEST_HEAD.unpack_from(content)
            length += call_bytes + (0 if source_bytes == SENT_BEFORE else source_bytes)
    if source_bytes == SENT_BEFORE:
        return number, None, content[REQUEST_HEAD.size :]
    call_at = REQUEST_HEAD.size + source_bytes
    return number, content[REQUEST_HEAD.size : call_at], content[call_at:]


def main() -> None:
    limits = SandboxLimits.from_arguments(sys.argv[1:])
    line = socket.socket(fileno=0)
    confinement = confine()
    line.sendall(bytes([READY + confinement]))
    CodecRunner(line, limits).serve()

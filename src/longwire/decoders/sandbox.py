"""The program of a sandbox process: runs codecs and responds with what they returned.

It is started by its path, with the limits as arguments, and imports nothing of the rest of the
service; its standard input is the socket to the parent. A request is a source and a call, a
response is one JSON object:

    {"value": …}                     what the codec returned
    {"thrown": text, "stack": text}  what it threw instead, when it was loaded or when it was called
    {"stopped": "time" | "size"}     why it was not allowed to finish

Every call gets a fresh engine that has run nothing but the source and is discarded afterwards, so
no state leaks from one call to another. The engine for the next call of the same source is created
after the response, when no request came for a moment: the parent is likely to need the CPU then.

The engine enforces its time limit while it runs JavaScript, but not everywhere: a few built-in
loops never check the clock, and the text of an exception is made after the limit was lifted. So the
kernel enforces one, too: a profiling timer whose signal kills this process.
"""

import json
import resource
import select
import signal
import socket
import struct
import sys
from collections import OrderedDict
from typing import Any, Final, Protocol

import quickjs

LENGTHS: Final = struct.Struct("!II")
LENGTH: Final = struct.Struct("!I")
READY: Final = b"."

READY_CODECS_MAX: Final = 32
CHUNK_BYTES_MAX: Final = 64 * 1024
STACK_BYTES_MAX: Final = 512 * 1024
# All engines together, and the interpreter itself, which takes about 100 MiB of address space.
ADDRESS_SPACE_BYTES_MAX: Final = 1024 * 1024 * 1024
OPEN_FILES_MAX: Final = 16
# The kernel's limit as a multiple of the engine's own: loading, calling and reporting errors.
CPU_TIME_FACTOR: Final = 3
IDLE_S: Final = 0.002

# Runs before the codec, so the built-ins it captures are genuine. It returns text only, and
# `__proto__: null` keeps what a codec adds to Object.prototype out of that text. It is parsed for
# every call, so what is seldom needed is passed as text with the call; `later` is an indirect eval,
# which sees the codec but not the runner.
RUNNER: Final = """
(() => {
  "use strict";
  const { stringify, parse } = JSON, DateOf = Date, TextOf = String, ErrorOf = Error;
  const isView = ArrayBuffer.isView, listOf = Array.from, later = eval;
  const s = () => {};
  globalThis.console = { log: s, info: s, warn: s, error: s, debug: s, trace: s };
  const decode = ({ bytes, port, at }) => {
    if (typeof decodeUplink === "function")
      return decodeUplink({ bytes, fPort: port, recvTime: new DateOf(at), variables: {} });
    return { data: typeof Decode === "function" ? Decode(port, bytes, {}) : Decoder(bytes, port) };
  };
  return (text, verbs_text, errors_text) => {
    try {
      const call = parse(text);
      const value = call.verb === "decode" ? decode(call) : later(verbs_text)(call, isView, listOf);
      return stringify({ __proto__: null, value });
    } catch (error) {
      return later(errors_text)(error, stringify, TextOf, ErrorOf);
    }
  };
})()
"""
OTHER_VERBS: Final = """
(call, isView, listOf) => {
  "use strict";
  const sent = (bytes) => (isView(bytes) ? listOf(bytes) : bytes);
  if (call.verb === "check") return {
    __proto__: null,
    decodes: typeof decodeUplink === "function" || typeof Decode === "function"
      || typeof Decoder === "function",
    encodes: typeof encodeDownlink === "function" || typeof Encode === "function"
      || typeof Encoder === "function",
  };
  const { data, port } = call;
  if (typeof encodeDownlink === "function") {
    const { bytes, fPort, errors } = encodeDownlink({ data, fPort: port, variables: {} });
    return { __proto__: null, bytes: sent(bytes), port: fPort, errors };
  }
  if (typeof Encode === "function") return { bytes: sent(Encode(port, data, {})) };
  return { bytes: sent(Encoder(data, port)) };
}
"""
ERRORS: Final = """
(error, stringify, TextOf, ErrorOf) => {
  "use strict";
  const read = (text, otherwise) => {
    try {
      return text();
    } catch {
      return otherwise;
    }
  };
  const isError = read(() => error instanceof ErrorOf, false);
  return stringify({
    __proto__: null,
    thrown: read(
      () => (isError ? `${error.name}: ${error.message}` : TextOf(error)),
      "something that cannot be read",
    ),
    stack: read(() => (isError ? TextOf(error.stack) : ""), ""),
  });
}
"""


class JavaScriptEngine(Protocol):
    """The part of `quickjs.Context` that is used here. Only its own thread may use it."""

    def eval(self, code: str) -> Any: ...
    def set_time_limit(self, limit: float) -> None: ...
    def set_memory_limit(self, limit: int) -> None: ...
    def set_max_stack_size(self, limit: int) -> None: ...


class LoadedCodec:
    """A fresh engine with a codec loaded, for one call."""

    def __init__(self, source: str, time_s_max: float, memory_bytes_max: int) -> None:
        engine: JavaScriptEngine = quickjs.Context()
        engine.set_memory_limit(memory_bytes_max)
        engine.set_max_stack_size(STACK_BYTES_MAX)
        self._run = engine.eval(RUNNER)
        engine.set_time_limit(time_s_max)
        self._load_error: str | None = None
        try:
            # `void 0`: the value of a script is that of its last statement, which may be one that
            # cannot be converted.
            engine.eval(f"{source}\nvoid 0;")
        except quickjs.JSException as error:
            self._load_error = _error_response(error)

    def call(self, call: str) -> str:
        if self._load_error is not None:
            return self._load_error
        try:
            response: str = self._run(call, OTHER_VERBS, ERRORS)
        except quickjs.JSException as error:
            return _error_response(error)
        except TypeError:
            return json.dumps({"thrown": "a value that cannot be read", "stack": ""})
        return response


def _error_response(error: Exception) -> str:
    """Errors while loading, and those that no script can catch."""
    text, _, stack = str(error).partition("\n")
    if text == "InternalError: interrupted":
        return json.dumps({"stopped": "time"})
    return json.dumps({"thrown": text, "stack": stack})


def main() -> None:
    time_s_max, memory_bytes_max = float(sys.argv[1]), int(sys.argv[2])
    result_bytes_max = int(sys.argv[3])
    _confine()
    ready: OrderedDict[bytes, LoadedCodec] = OrderedDict()
    line = socket.socket(fileno=0)
    line.sendall(READY)
    while (request := _receive_request(line)) is not None:
        source, call = request
        _limit_cpu_time(time_s_max * CPU_TIME_FACTOR)
        codec = ready.pop(source, None) or LoadedCodec(
            source.decode(), time_s_max, memory_bytes_max
        )
        response = codec.call(call.decode()).encode(errors="replace")
        if len(response) > result_bytes_max:
            response = b'{"stopped":"size"}'
        line.sendall(LENGTH.pack(len(response)) + response)
        if select.select([line], [], [], IDLE_S)[0]:
            continue
        del codec
        _limit_cpu_time(time_s_max * CPU_TIME_FACTOR)
        ready[source] = LoadedCodec(source.decode(), time_s_max, memory_bytes_max)
        if len(ready) > READY_CODECS_MAX:
            ready.popitem(last=False)


def _confine() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for limit, number in (
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES_MAX),
        (resource.RLIMIT_NOFILE, OPEN_FILES_MAX),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (number, number))


def _limit_cpu_time(processor_s: float) -> None:
    """Kill this process after so much more CPU time; waiting for a request takes none."""
    signal.setitimer(signal.ITIMER_PROF, processor_s)


def _receive_request(line: socket.socket) -> tuple[bytes, bytes] | None:
    """Source and call, or None when the parent has closed the socket."""
    content = b""
    length = LENGTHS.size
    while len(content) < length:
        chunk = line.recv(CHUNK_BYTES_MAX)
        if not chunk:
            return None
        content += chunk
        if length == LENGTHS.size and len(content) >= length:
            length += sum(LENGTHS.unpack_from(content))
    call_at = LENGTHS.size + LENGTHS.unpack_from(content)[0]
    return content[LENGTHS.size : call_at], content[call_at:]


if __name__ == "__main__":
    main()

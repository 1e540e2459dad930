"""The program inside a sandbox process: runs codecs, and answers with what they returned.

It is started by its path, with the limits as arguments, and knows nothing of the rest of the
service; its standard input is the socket to whoever started it. A request is a source and a call,
an answer is one JSON object:

    {"value": …}                     what the codec returned
    {"thrown": text, "stack": text}  what it threw instead, when it was loaded or when it was called
    {"stopped": "time" | "size"}     why it was not allowed to finish

Every call gets an engine that has run nothing but the source, and that is thrown away afterwards:
no call can leave anything behind for another one. The engine for the next call of the same source
is made when the answer is out and nothing else was asked for a moment, in which whoever got the
answer is likely to want the processor.

The engine keeps its time limit while it runs JavaScript, but not everywhere: a few of its built-in
loops never look at the clock, and the text of an exception is made after the limit was lifted. So
the kernel watches, too. When the processor time of a request is used up for good, a signal that
nobody handles ends this process.
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

import quickjs  # type: ignore[import-untyped]

LENGTHS: Final = struct.Struct("!II")
LENGTH: Final = struct.Struct("!I")
READY: Final = b"."

SPARES_MAX: Final = 32
PIECE_BYTES_MAX: Final = 64 * 1024
STACK_BYTES_MAX: Final = 512 * 1024
# All engines together, and the interpreter itself, which takes about 100 MiB of addresses.
ADDRESSES_BYTES_MAX: Final = 1024 * 1024 * 1024
OPEN_FILES_MAX: Final = 16
# What the kernel grants beyond the engine's own limit, for loading, calling, and telling of it.
PROCESSOR_TIME_FACTOR: Final = 3
REST_S: Final = 0.002

# Runs before the codec does, so what it takes from the language is as it should be. It answers with
# text only, and `__proto__: null` keeps what a codec adds to all objects out of that text. It is
# read for every call, so what is seldom needed comes as text with the call; `later` is the eval of
# the language, which sees the codec but not the runner.
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
  return (text, others, faults) => {
    try {
      const call = parse(text);
      const value = call.verb === "decode" ? decode(call) : later(others)(call, isView, listOf);
      return stringify({ __proto__: null, value });
    } catch (error) {
      return later(faults)(error, stringify, TextOf, ErrorOf);
    }
  };
})()
"""
OTHERS: Final = """
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
FAULTS: Final = """
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


class Engine(Protocol):
    """The part of `quickjs.Context` that is used here. It belongs to the thread that made it."""

    def eval(self, code: str) -> Any: ...
    def set_time_limit(self, limit: float) -> None: ...
    def set_memory_limit(self, limit: int) -> None: ...
    def set_max_stack_size(self, limit: int) -> None: ...


class World:
    """An engine that has loaded a codec and was not asked anything yet."""

    def __init__(self, source: str, time_s_max: float, memory_bytes_max: int) -> None:
        engine: Engine = quickjs.Context()
        engine.set_memory_limit(memory_bytes_max)
        engine.set_max_stack_size(STACK_BYTES_MAX)
        self._run = engine.eval(RUNNER)
        engine.set_time_limit(time_s_max)
        self._fault: str | None = None
        try:
            # The value of a script is that of its last statement, and not every value can be had.
            engine.eval(f"{source}\nvoid 0;")
        except quickjs.JSException as error:
            self._fault = _fault(error)

    def answer(self, call: str) -> str:
        if self._fault is not None:
            return self._fault
        try:
            answer: str = self._run(call, OTHERS, FAULTS)
        except quickjs.JSException as error:
            return _fault(error)
        except TypeError:
            return json.dumps({"thrown": "a value that cannot be read", "stack": ""})
        return answer


def _fault(error: Exception) -> str:
    """What got past the runner: faults of loading, and those that no script can catch."""
    text, _, stack = str(error).partition("\n")
    if text == "InternalError: interrupted":
        return json.dumps({"stopped": "time"})
    return json.dumps({"thrown": text, "stack": stack})


def main() -> None:
    time_s_max, memory_bytes_max = float(sys.argv[1]), int(sys.argv[2])
    result_bytes_max = int(sys.argv[3])
    _confine()
    spares: OrderedDict[bytes, World] = OrderedDict()
    line = socket.socket(fileno=0)
    line.sendall(READY)
    while (request := _request(line)) is not None:
        source, call = request
        _watch(time_s_max * PROCESSOR_TIME_FACTOR)
        world = spares.pop(source, None) or World(source.decode(), time_s_max, memory_bytes_max)
        answer = world.answer(call.decode()).encode(errors="replace")
        if len(answer) > result_bytes_max:
            answer = b'{"stopped":"size"}'
        line.sendall(LENGTH.pack(len(answer)) + answer)
        if select.select([line], [], [], REST_S)[0]:
            continue
        del world
        _watch(time_s_max * PROCESSOR_TIME_FACTOR)
        spares[source] = World(source.decode(), time_s_max, memory_bytes_max)
        if len(spares) > SPARES_MAX:
            spares.popitem(last=False)


def _confine() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for limit, number in (
        (resource.RLIMIT_AS, ADDRESSES_BYTES_MAX),
        (resource.RLIMIT_NOFILE, OPEN_FILES_MAX),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (number, number))


def _watch(processor_s: float) -> None:
    """Grant so much more; while nothing is asked, none of it is used."""
    signal.setitimer(signal.ITIMER_PROF, processor_s)


def _request(line: socket.socket) -> tuple[bytes, bytes] | None:
    """Source and call, or nothing when there is nobody left to ask."""
    content = b""
    length = LENGTHS.size
    while len(content) < length:
        piece = line.recv(PIECE_BYTES_MAX)
        if not piece:
            return None
        content += piece
        if length == LENGTHS.size and len(content) >= length:
            length += sum(LENGTHS.unpack_from(content))
    call_at = LENGTHS.size + LENGTHS.unpack_from(content)[0]
    return content[LENGTHS.size : call_at], content[call_at:]


if __name__ == "__main__":
    main()

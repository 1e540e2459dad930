"""The JavaScript that surrounds a codec in its engine."""

import json
import re
from pathlib import Path
from typing import Final

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
      const value = call.verb === "decode" ? decode(call)
        : later(verbs_text)(call, decode, later, isView, listOf, DateOf, TextOf);
      return stringify({ __proto__: null, value });
    } catch (error) {
      return later(errors_text)(error, stringify, TextOf, ErrorOf);
    }
  };
})()
"""
OTHER_VERBS: Final = """
(call, decode, later, isView, listOf, DateOf, TextOf) => {
  "use strict";
  const { verb, data, port } = call;
  const sent = (bytes) => (isView(bytes) ? listOf(bytes) : bytes);
  const isThere = (name) => later(`typeof ${name}`) === "function";
  if (verb === "check") {
    const found = { __proto__: null };
    for (const name of call.functions) found[name] = isThere(name);
    found.missing = [];
    for (const name of call.names)
      if (later(`typeof ${name}`) === "undefined") found.missing[found.missing.length] = name;
    return found;
  }
  if (verb === "normalize") {
    const { data: values, warnings, errors } = decode(call);
    const found = { __proto__: null, data: values, warnings, errors };
    if (errors && errors.length) return found;
    try {
      const { data: normalized, errors: problems } = normalizeUplink({ data: values });
      found.normalized = normalized;
      found.problems = problems;
    } catch (error) {
      found.problems = TextOf(error);
    }
    return found;
  }
  if (verb === "decodeDownlink")
    return decodeDownlink({
      bytes: call.bytes, fPort: port, recvTime: new DateOf(call.at), variables: {},
    });
  if (isThere("encodeDownlink")) {
    const { bytes, fPort, errors } = encodeDownlink({ data, fPort: port, variables: {} });
    return { __proto__: null, bytes: sent(bytes), port: fPort, errors };
  }
  if (isThere("Encode")) return { bytes: sent(Encode(port, data, {})) };
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

DECODERS: Final = ("decodeUplink", "Decode", "Decoder")
ENCODERS: Final = ("encodeDownlink", "Encode", "Encoder")
FUNCTIONS: Final = (*DECODERS, *ENCODERS, "normalizeUplink", "decodeDownlink")

# For codecs written as a module of Node.js: what they export becomes global, unless it is already.
_EXPORTS: Final = "globalThis.module = { exports: {} }; globalThis.exports = module.exports;"
_AFTER_EXPORTS: Final = f"""
(() => {{
  const exported = typeof module === "object" && module && module.exports;
  if (!exported) return;  // a codec may use these names for something else
  for (const name of {json.dumps(FUNCTIONS)})
    if ((0, eval)("typeof " + name) !== "function" && typeof exported[name] === "function")
      globalThis[name] = exported[name];
}})();
"""

# The part of Node's Buffer that codecs use, on a Uint8Array.
_BUFFER: Final = Path(__file__).with_name("buffer.js").read_text(encoding="utf-8")

_NAMES_BUFFER = re.compile(r"\bBuffer\b")
_NAMES_EXPORTS = re.compile(r"\bexports\b")


def build_scripts(source: str) -> list[str]:
    """What to run in an engine to load a codec: its source, and what that needs around it."""
    # `void 0`: the value of a script is that of its last statement, which may be one that cannot be
    # converted.
    scripts = [f"{source}\nvoid 0;"]
    if _NAMES_EXPORTS.search(source):
        scripts = [_EXPORTS, *scripts, _AFTER_EXPORTS]
    if _NAMES_BUFFER.search(source):
        scripts = [_BUFFER, *scripts]
    return scripts


# What codecs written for other environments use. No engine of ours has them, unless the codec
# brings its own.
FOREIGN_GLOBALS: Final = (
    *("require", "process", "global", "window", "document", "navigator", "__dirname"),
    *("setTimeout", "setInterval", "setImmediate", "fetch", "XMLHttpRequest", "crypto", "Worker"),
    *("TextDecoder", "TextEncoder", "URL", "URLSearchParams", "structuredClone", "Intl"),
)
# Not a member of something, not a key, and not in a comment or a string, as far as that is simple.
_IGNORED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.DOTALL
)


def find_foreign_globals(source: str) -> list[str]:
    """Names that a codec uses and that this engine may not have; the engine decides."""
    text = _IGNORED.sub(" ", source)
    return [
        name
        for name in FOREIGN_GLOBALS
        if re.search(rf"(?<![\w$.]){re.escape(name)}(?![\w$])(?!\s*:)", text)
    ]

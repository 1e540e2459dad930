"""What a codec finds around it: time zone, Buffer, exports, and its confinement."""

import json
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from longwire.decoders import confinement, sandbox_pool
from longwire.decoders.base import DecodeError, EncodeError, InvalidDecoder
from longwire.decoders.confinement import Confinement
from longwire.decoders.sandbox import is_cheaper_than_fork
from longwire.decoders.sandbox_pool import Sandbox, SandboxLimits, SandboxPool
from tests.decoders.sandboxes import build_decoder, build_encoder

NOON = 1_767_268_800_000_000


def values_of(source, payload="", port=1):
    return build_decoder(source).decode(bytes.fromhex(payload), port, NOON).values


def returning(expression):
    return f"function decodeUplink({{bytes}}) {{ return {{data: {{it: {expression}}}}} }}"


def test_local_time_is_utc_whatever_the_host_says():
    sandbox = Sandbox(SandboxLimits())
    try:
        with open(f"/proc/{sandbox._process.pid}/environ", "rb") as environment:
            assert environment.read() == b"TZ=UTC\0"
    finally:
        sandbox.stop()
    local = "new Date(2026, 6, 1, 12).toISOString() + new Date().getTimezoneOffset()"
    assert values_of(returning(local)) == {"it": "2026-07-01T12:00:00.000Z0"}


# --- Buffer ---


@pytest.mark.parametrize(
    "expression, value",
    [
        ("Buffer.from(bytes).readInt16BE(0)", -2),
        ("Buffer.from(bytes).readUInt16LE(0)", 0xFEFF),
        ("Buffer.from(bytes).readUint16LE(0)", 0xFEFF),
        ("Buffer.from(bytes).readUIntBE(0, 3)", 0xFFFE41),
        ("Buffer.from(bytes).readIntLE(0, 3)", 0x41FEFF),
        ("Buffer.from('c0490fdb', 'hex').readFloatBE()", -3.1415927410125732),
        ("Number(Buffer.from('0100000000000000', 'hex').readBigInt64LE(0))", 1),
        ("Buffer.from(bytes).toString('hex')", "fffe41"),
        ("Buffer.from(bytes).slice(2).toString()", "A"),
        ("Buffer.from('//5B', 'base64').toString('hex')", "fffe41"),
        ("Buffer.from('__5B', 'base64').toString('base64')", "//5B"),
        ("Buffer.from('h\\u00e9\\ud83d\\ude00').toString('hex')", "68c3a9f09f9880"),
        ("Buffer.from('68c3a9f09f9880ff', 'hex').toString('utf8')", "hé\N{GRINNING FACE}\ufffd"),
        ("Buffer.from('zz', 'ascii').toJSON()", {"type": "Buffer", "data": [122, 122]}),
        ("Buffer.concat([Buffer.from([1]), Buffer.alloc(2, 7)]).toString('hex')", "010707"),
        ("[Buffer.isBuffer(Buffer.from([])), Buffer.isBuffer(bytes)]", [True, False]),
        ("Buffer.byteLength('é')", 2),
        ("(b => (b.writeInt16LE(-2, 1), b.write('A'), b.toString('hex')))(Buffer.alloc(4))", "41"),
        ("require('buffer').Buffer === Buffer", True),
        ("Buffer.from([1, 2]).equals(Buffer.from('0102', 'hex'))", True),
    ],
)
def test_a_codec_that_names_buffer_has_one(expression, value):
    found = values_of(returning(expression), "fffe41")["it"]
    assert found == ("41feff00" if value == "41" else value)


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("Buffer.from([1]).readUInt16BE(0)", "out of range"),
        ("Buffer.from('a', 'morse')", "Unknown encoding: morse"),
        ("require('fs', Buffer)", "Cannot find module 'fs'"),
    ],
)
def test_a_buffer_refuses_what_nodes_own_refuses(expression, reason):
    with pytest.raises(DecodeError, match=reason):
        values_of(returning(expression))


def test_a_codec_may_bring_its_own_buffer_and_others_have_none():
    assert values_of("const Buffer = {own: 1};" + returning("Buffer.own")) == {"it": 1}
    assert values_of(returning("typeof globalThis['Buf' + 'fer']")) == {"it": "undefined"}


# Each is a function; what it returns or throws must be the same here and in Node.js.
_INTEGERS = [
    (kind, order, bits)
    for kind in ("Int", "UInt")
    for bits in (8, 16, 32)
    for order in ([""] if bits == 8 else ["LE", "BE"])
]
_EDGES = ("0", "-1", "1.7", "-1.7", "255", "256", "32768", "65536", "2**31", "2**32", "-(2**31)")
_ODD_VALUES = ("NaN", "Infinity", "'12'", "undefined", "null", "true")
BUFFER_EXPRESSIONS = (
    *(
        f"put(4, b => b.write{kind}{bits}{order}({value}))"
        for kind, order, bits in _INTEGERS
        for value in (*_EDGES, *_ODD_VALUES)
    ),
    *(
        f"put(6, b => b.write{kind}{order}({value}, 0, {size}))"
        for kind in ("Int", "UInt")
        for order in ("LE", "BE")
        for size in (1, 3, 6)
        for value in ("0", "-1", "-1.5", "2**23", "2**24", "2**48 - 1", "2**48", "-(2**47)")
    ),
    *(
        f"put(9, b => b.writeBig{kind}64LE({value}, 1))"
        for kind in ("Int", "UInt")
        for value in ("0n", "-1n", "2n**63n", "2n**64n", "-(2n**63n)", "5")
    ),
    *(
        f"Buffer.from('0102030405', 'hex').{call}"
        for call in (
            *("readUInt16LE(3)", "readUInt16LE(4)", "readUInt8(-1)", "readUInt8(0.5)"),
            *("readUInt8('0')", "readUIntBE(0, 7)", "readUIntBE(0)", "readIntLE(2, 3)"),
            *("readDoubleLE()", "swap16()", "toString('hex', -3)", "toString('hex', 1, 99)"),
            *("indexOf('\\x03')", "indexOf(3)", "indexOf(259)", "indexOf('0304', 'hex')"),
            *("indexOf(Buffer.from([4, 5]))", "indexOf('')", "indexOf('', 99)", "indexOf(1, -5)"),
            *("indexOf(1, 1)", "lastIndexOf(1)", "lastIndexOf('0102', 'hex')", "includes(6)"),
            *("lastIndexOf(5, -2)", "lastIndexOf(3, 2)", "indexOf({})", "includes('\\x01\\x02')"),
        )
    ),
    *(
        f"put(5, b => b.{call})"
        for call in (
            *("fill(7)", "fill(7, 1)", "fill(7, 1, 3)", "fill(263, 4)", "fill(7, 3, 1)"),
            *("fill(7, 0, 9)", "fill(7, -1)", "fill('ab')", "fill('ab', 1)", "fill('ab', 1, 4)"),
            *("fill('abcd', 'hex')", "fill('abcd', 1, 'hex')", "fill('abcd', 1, 3, 'hex')"),
            *("fill('')", "fill('zz', 'hex')", "fill(Buffer.from([1, 2]), 2)", "fill(true)"),
            *("write('abc', 1)", "write('abc', 3)", "write('abc', 0, 2)", "write('616263', 'hex')"),
            *("write('616263', 1, 'hex')", "write('h\u00e9\u00e9', 1)", "write('abcd', 9)"),
            *("write('616263', 0, 2, 'hex')", "write(5)", "write('ab', 0, 5, 'utf16le')"),
        )
    ),
    *("new Buffer('4a0b', 'hex')", "Buffer('4a0b', 'hex')", "new Buffer('ab')", "new Buffer(3)"),
    *("new Buffer([1, 256, -1])", "Buffer.from('4a0', 'hex')", "Buffer.from('4azz01', 'hex')"),
    *("Buffer.from('YWJjZ', 'base64')", "Buffer.from('YW Jj', 'base64')", "Buffer.from(5)"),
    *("Buffer.from('YQ==YWJj', 'base64')", "Buffer.from(null)", "Buffer.from({length: 2})"),
    *("Buffer.alloc(3, 'ab')", "Buffer.alloc(2, '0a', 'hex')", "Buffer.alloc('3')"),
    *("Buffer.alloc(-1)", "Buffer.alloc(2, 260)", "Buffer.from('ab').slice(-1)"),
    *("Buffer.from('abcd').swap16()", "Buffer.from('abcd').swap32()", "Buffer.alloc(3).swap16()"),
    *("Buffer.isEncoding('HEX')", "Buffer.isEncoding('morse')", "Buffer.from([1]).map(x => x + 9)"),
    *("Buffer.from([1]) instanceof Buffer", "Buffer.from([1]).constructor === Buffer"),
    *("Buffer.isBuffer(Buffer.from([1, 2]).subarray(1))", "Buffer.concat([Buffer.from('a')], 3)"),
)
_RUN_BUFFER = """
const put = (size, work) => { const b = Buffer.alloc(size); const r = work(b); return [r, b]; };
const run = (work) => {
  try {
    return JSON.parse(JSON.stringify([work()]));
  } catch (error) {
    return error.name;
  }
};
const all = () => [%s].map(run);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_buffer_does_what_that_of_node_does():
    functions = ", ".join(f"() => ({each})" for each in BUFFER_EXPRESSIONS)
    source = _RUN_BUFFER % functions
    codec = source + returning("all()")
    node = subprocess.run(
        ["node", "--no-deprecation", "-"],
        input=source + "console.log(JSON.stringify(all()))",
        capture_output=True,
        text=True,
        check=True,
    )
    expected = dict(zip(BUFFER_EXPRESSIONS, json.loads(node.stdout), strict=True))
    found = dict(zip(BUFFER_EXPRESSIONS, values_of(codec)["it"], strict=True))
    assert {each: found[each] for each in found if found[each] != expected[each]} == {}


@pytest.mark.parametrize(
    "text, value",
    [
        ("'a\0b'", "a\0b"),
        ("'a\\\0b'", "a\0b"),  # an escaped one
        ("'a\\\\\0b'", "a\\\0b"),  # after a backslash
        ("`\0` /* \0 */", "\0"),
        ("/\0/.test('\\x00')", True),
    ],
)
def test_a_source_may_have_a_nul_where_the_language_allows_it(text, value):
    assert values_of(returning(f"JSON.stringify({text})"))["it"] == json.dumps(value).replace(
        "True", "true"
    )


# --- modules ---


@pytest.mark.parametrize(
    "source",
    [
        "exports.decodeUplink = (input) => ({data: {n: input.bytes.length}});",
        "function f(input) { return {data: {n: 1}} }\nmodule.exports = {decodeUplink: f};",
        "(function () { module.exports.Decoder = (bytes) => ({n: bytes.length}) })();",
        "const decodeUplink = () => ({data: {n: 1}});\n"
        "if (typeof module !== 'undefined') module.exports = {decodeUplink: () => null};",
        "var module = {exports: undefined}; function Decoder(bytes) { return {n: 1} }",
    ],
)
def test_what_a_codec_exports_is_called(source):
    assert values_of(source, "00") == {"n": 1}


def test_a_line_number_does_not_count_what_surrounds_the_codec():
    with pytest.raises(InvalidDecoder) as caught:
        build_decoder("exports.x = Buffer;\n let a = ;")
    assert (caught.value.line, caught.value.column) == (2, 10)


# --- globals that are missing ---


def test_missing_globals_are_warnings_when_a_codec_is_checked():
    source = """
    // fetch, window
    const text = "process";
    function decodeUplink({bytes}) {
      const decoder = new TextDecoder();
      return {data: {text: decoder.decode(bytes), crypto: bytes.crypto}, fetch: 1};
    }
    function URL() {}
    setTimeout(() => new URL(), 1);
    """.replace("setTimeout(", "if (0) setTimeout(")
    warnings = build_decoder(source).warnings
    assert warnings == (
        "the codec uses setTimeout, which does not exist here",
        "the codec uses TextDecoder, which does not exist here",
    )
    assert build_decoder(returning("Buffer.from(bytes)")).warnings == ()


# --- the other functions ---


def test_normalized_values_stand_beside_the_decoded_ones():
    decodes = "function decodeUplink() { return {data: {t: 2}, warnings: ['low']} }\n"
    body = "return {data: [{air: {temperature: data.t}}]}"
    found = build_decoder(decodes + f"function normalizeUplink({{data}}) {{ {body} }}")
    assert found.decode(b"", 1, NOON).values == {
        "t": 2,
        "normalized": [{"air": {"temperature": 2}}],
    }
    for body, warning in (
        ("throw new Error('no')", "normalizeUplink: Error: no"),
        ("return {errors: ['unknown unit']}", "normalizeUplink: unknown unit"),
    ):
        source = decodes + f"function normalizeUplink() {{ {body} }}"
        decoded = build_decoder(source).decode(b"", 1, NOON)
        assert (decoded.values, decoded.warnings) == ({"t": 2}, ("low", warning))
    refuses = "function decodeUplink() { return {errors: ['no']} } function normalizeUplink() {}"
    with pytest.raises(DecodeError, match="the codec says: no"):
        build_decoder(refuses).decode(b"", 1, NOON)


def test_an_encoder_has_a_source_of_its_own():
    encoder = build_encoder(
        "function helper() { return 7 }\n"
        "function encodeDownlink({data}) { return {bytes: [helper(), data.n], fPort: 3} }\n"
        "function decodeDownlink({bytes}) { return {data: {n: bytes[1]}} }"
    )
    encoded = encoder.encode({"n": 9}, None)
    assert (encoded.payload, encoded.port) == (b"\x07\x09", 3)
    assert encoder.decodes_downlinks
    assert encoder.decode_downlink(b"\x07\x09", 3, NOON).values == {"n": 9}
    with pytest.raises(InvalidDecoder, match="defines no function encodeDownlink"):
        build_encoder("function decodeUplink() {}")
    with pytest.raises(EncodeError, match="out of time"):
        build_encoder("function Encode() { while (true); }").encode({}, 1)


# --- long sources ---

HELPER = "function helper%d(b) { return b[%d] > 3 ? {value: b[0] << 8 | b[1], unit: 'C'} : null }\n"


@pytest.mark.slow
def test_a_long_codec_is_loaded_once_and_called_many_times_without_state():
    pool = SandboxPool(count=1)
    long = "".join(HELPER % (number, number) for number in range(5_600))
    source = long + "var n = 0; function decodeUplink({bytes}) {"
    source += " while (bytes[0]); return {data: {n: ++n, b: bytes.length}} }"
    assert 480_000 < len(source) < 512 * 1024
    try:
        decoder = build_decoder(source, pool)
        results = [decoder.decode(bytes(size), 1, NOON) for size in range(6)]
        assert [each.values for each in results] == [{"n": 1, "b": size} for size in range(6)]
        # The first one or two had to load it, the others did not.
        assert max(each.cpu_s for each in results[3:]) < results[0].cpu_s / 2
        with pytest.raises(DecodeError, match="ran out of time") as caught:
            decoder.decode(b"\x01", 1, NOON)
        assert caught.value.is_timeout
        assert decoder.decode(b"", 1, NOON).values == {"n": 1, "b": 0}
    finally:
        pool.stop()


@pytest.mark.slow
def test_a_sandbox_is_not_killed_for_the_time_that_its_forks_take():
    # Loading may take 30 ms of CPU time, in the kernel's count 90 ms; fifty forks take more.
    pool = SandboxPool(SandboxLimits(load_processor_s_max=0.03), count=1)
    slow = "for (let n = 0; n < 1e5; n++); "
    decoder = build_decoder(slow + "var n = 0; " + returning("++n"), pool)
    try:
        while decoder.decode(b"", 1, NOON).cpu_s > 0.004:
            pass  # until it is forked
        sandbox = pool._slots.get()
        pool._slots.put(sandbox)
        for _ in range(300):
            assert decoder.decode(b"", 1, NOON).values == {"it": 1}
        assert pool._slots.get() is sandbox
        pool._slots.put(sandbox)
    finally:
        pool.stop()


@pytest.mark.parametrize(
    ("load_times", "expected"),
    [
        ([], True),
        ([0.02, 0.02], True),  # not yet known
        ([0.02, 0.0005, 0.03], True),  # two waited for the CPU
        ([0.02, 0.005, 0.03], False),
    ],
)
def test_a_codec_is_forked_if_even_its_quickest_load_takes_long(load_times, expected):
    assert is_cheaper_than_fork(load_times) is expected


# --- confinement ---

TRIES = """
import json, os, socket, sys
sys.path.insert(0, sys.argv[1])
from longwire.decoders import confinement
if sys.argv[2] == "no filter":
    confinement._filter_system_calls = lambda: False
if sys.argv[2] == "nothing":
    confinement._filter_system_calls = confinement._leave_network = lambda: False
found = {"has": int(confinement.confine())}
def attempt(name, work):
    try:
        work()
        found[name] = "done"
    except OSError as error:
        found[name] = type(error).__name__
attempt("socket", lambda: socket.socket().connect(("127.0.0.1", int(sys.argv[3]))))
attempt("unix", lambda: socket.socketpair())
attempt("open", lambda: open("/etc/passwd").close())
attempt("exec", lambda: os.execv("/bin/true", ["true"]) if sys.argv[2] == "all" else None)
attempt("kill", lambda: os.kill(os.getppid(), 0))
attempt("fork", lambda: os.waitpid(os.fork() or os._exit(0), 0))
os.write(1, json.dumps(found).encode())
"""


@pytest.fixture
def listening_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def has_seccomp():
    """Whether the kernel has filters of system calls, on a machine whose calls we know."""
    known = platform.machine() in confinement._MACHINES
    return known and Path("/proc/sys/kernel/seccomp/actions_avail").exists()


def tries(mode, port):
    command = [sys.executable, "-I", "-c", TRIES, str(sandbox_pool.PACKAGES), mode, str(port)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def test_a_sandbox_process_reaches_neither_network_nor_files(listening_port):
    free = tries("nothing", listening_port)
    assert free["has"] == 0 and free["socket"] == free["open"] == "done"
    confined = tries("all", listening_port)
    if has_seccomp():
        assert confined["has"] & Confinement.SYSTEM_CALL_FILTER
        for name in ("socket", "unix", "open", "exec", "kill"):
            assert confined[name] == "PermissionError", name
        assert confined["fork"] == "done"
    half = tries("no filter", listening_port)
    if half["has"] & Confinement.NETWORK_NAMESPACE:
        assert half["socket"] != "done"


def test_what_the_kernel_refuses_is_logged_once(monkeypatch):
    logged = []
    monkeypatch.setattr(sandbox_pool.log, "warning", lambda *text, **more: logged.append(more))
    sandbox_pool._log_confinement.cache_clear()
    sandbox_pool._log_confinement(~Confinement(0))
    assert logged == []
    for _ in range(2):
        sandbox_pool._log_confinement(Confinement.NETWORK_NAMESPACE)
    assert logged == [{"missing": ["system_call_filter"]}]

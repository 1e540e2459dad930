"""JavaScript codecs: results, limits of the sandbox, and no state between runs."""

import asyncio
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import uvloop
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.decoders import sandbox_pool
from longwire.decoders.base import Decoded, DecodeError, Encoded, EncodeError, InvalidDecoder
from longwire.decoders.sandbox_pool import (
    LoopSandboxPool,
    SandboxLimits,
    SandboxPool,
    SandboxUnavailable,
)
from longwire.errors import Unavailable
from tests.decoders.codecs import PULSE_METER, PULSE_METER_TURNED, ROOM_SENSOR, SOIL_PROBE
from tests.decoders.sandboxes import build_decoder
from tests.waiting import PATIENCE_S, eventually

NOON = 1_767_268_800_000_000


def codec(body, **options):
    return build_decoder(f"function decodeUplink(input) {{ {body} }}", **options)


def decoded(source, payload="", port=1):
    return build_decoder(source).decode(bytes.fromhex(payload), port, NOON)


# Results of codecs.


@pytest.mark.parametrize(
    "source, payload, port, values",
    [
        (
            SOIL_PROBE,
            "8cf3ff38012c0064",
            2,
            {
                "battery": 3.315,
                "soil_temperature": -2.0,
                "soil_moisture": 30,
                "conductivity": 100,
                "alarm": True,
                "received": "2026-01-01T12:00:00.000Z",
            },
        ),
        (
            ROOM_SENSOR,
            "01ff380237",
            5,
            {"temperature": -20, "humidity": 55} | {"seen": 1, "rounds": 2},
        ),
        (ROOM_SENSOR, "05013e6162", 5, {"motion": 1, "label": "AB", "seen": 1, "rounds": 2}),
        (PULSE_METER, "ffffffff", 7, {"port": 7, "pulses": 4294967295}),
        (PULSE_METER_TURNED, "09", 7, {"port": 7, "first": 9}),
        (PULSE_METER_TURNED, "09", None, {"port": None, "first": 9}),
    ],
)
def test_a_codec_runs_unmodified(source, payload, port, values):
    found = decoded(source, payload, port)
    assert found == Decoded(values, ())


def test_warnings_are_returned():
    found = decoded(SOIL_PROBE, "0aef00c8012c0064", 2)
    assert found.warnings == ("battery is low",)


@pytest.mark.parametrize(
    "source, payload, port, reason",
    [
        (SOIL_PROBE, "00", 2, "the codec says: 8 bytes expected, got 1"),
        (SOIL_PROBE, "00", 9, "the codec says: unknown port 9"),
        (ROOM_SENSOR, "ff", 1, "the codec failed: Error: unknown type 0xff at 0 (line 27)"),
    ],
)
def test_a_codec_may_refuse_a_payload(source, payload, port, reason):
    with pytest.raises(DecodeError) as caught:
        decoded(source, payload, port)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "source, values, port, encoded",
    [
        (SOIL_PROBE, {"interval": 600}, None, Encoded(b"\x01\x02\x58", 3)),
        (PULSE_METER, {"reset": True}, 5, Encoded(b"\x01", 5)),
        (PULSE_METER_TURNED, {"value": 8}, 5, Encoded(b"\x05\x08", 5)),
    ],
)
def test_a_codec_encodes(source, values, port, encoded):
    assert build_decoder(source).encode(values, port) == encoded


DECODES = "function decodeUplink() { return {data: {}} }\n"


@pytest.mark.parametrize(
    "source, values, reason",
    [
        (SOIL_PROBE, {"interval": 0}, "the codec says: interval must be"),
        (SOIL_PROBE, {"interval": object()}, "not JSON"),
        (SOIL_PROBE, {"interval": "x" * 70_000}, "more than"),
        (ROOM_SENSOR, {}, "defines no function encodeDownlink"),
        (DECODES + "function encodeDownlink() {}", {}, "the codec failed"),
        (DECODES + "function encodeDownlink() { return {} }", {}, "no bytes"),
        (DECODES + "function encodeDownlink() { return {bytes: [256]} }", {}, "no bytes"),
        (DECODES + "function encodeDownlink() { return {bytes: [1.5]} }", {}, "no bytes"),
        (DECODES + "function encodeDownlink() { return {bytes: [true]} }", {}, "no bytes"),
        (DECODES + "function encodeDownlink() { return {bytes: [1], fPort: 999} }", {}, "a port"),
        (DECODES + "function Encode() { return Array(5000).fill(1) }", {}, "more than 4096 bytes"),
        (DECODES + "function Encoder() { while (true); }", {}, "out of time"),
    ],
)
def test_an_invalid_downlink_is_refused(source, values, reason):
    with pytest.raises(EncodeError, match=reason):
        build_decoder(source).encode(values, 1)


# What is checked when a codec is saved.


@pytest.mark.slow
@pytest.mark.parametrize(
    "source, reason, line, column",
    [
        ("", "defines no function", 1, 1),
        ("function decodeDownlink() {}", "defines no function", 1, 1),
        ("var decodeUplink = 1;", "defines no function", 1, 1),
        ("function decodeUplink() {\n  let a = ;\n}", "SyntaxError: unexpected token", 2, 11),
        ("\nmissing.call();", "ReferenceError: missing", 2, 1),
        ("function decodeUplink() {}\nthrow new Error('no');", "Error: no", 2, 11),
        ("import x from 'y';", "SyntaxError", 1, 8),
        ("while (true);", "out of time while it was loaded", 1, 1),
        ("var a = []; while (true) a.push('x'.repeat(1000) + a.length);", "memory|time", 1, None),
        ("(function f() { f(); })();", "stack", 1, None),
        ("throw null", "threw null", 1, 1),
        ("throw {toString() { while (true); }}", "killed", 1, 1),
        ("var a;\n b\0", "SyntaxError", 2, 3),
        ("'\ud800'", "not Unicode", 1, 1),
        ("/*" + "x" * 600_000, "more than", 1, 1),
    ],
)
def test_an_invalid_codec_is_refused_with_its_position(source, reason, line, column):
    with pytest.raises(InvalidDecoder, match=reason) as caught:
        build_decoder(source)
    assert caught.value.line == line
    assert column is None or caught.value.column == column


# Unusual return values.

SURROGATES = {"a": "\ufffd", "b": "\ufffdx\\ud800", "c": 7}


@pytest.mark.parametrize(
    "body, values",
    [
        ("return {data: {a: NaN, b: -Infinity, c: undefined, d: () => 1}}", {"a": None, "b": None}),
        ("return {data: {a: [undefined, -0, 1e21, 1e20]}}", {"a": [None, 0, 1e21, 1e20]}),
        ("return {data: {a: new Date(0)}}", {"a": "1970-01-01T00:00:00.000Z"}),
        ("return {data: {get a() { return 1 }, toJSON() { return {b: 2} }}}", {"b": 2}),
        ("return {data: new Proxy({a: 1}, {})}", {"a": 1}),
        ("return new Proxy({}, {get: (_, name) => name === 'data' ? {a: 1} : undefined})", None),
        ("return {data: {'\\u0000': '\\u0000\\ud83d\\ude00'}}", {"\0": "\0\N{GRINNING FACE}"}),
        ("return {data: {a: '\\ud800', b: '\\udc00x\\\\ud800', c: 7}}", SURROGATES),
        ("return {data: {'\\udfff': ['\\ud83d\\ude00']}}", {"\ufffd": ["\N{GRINNING FACE}"]}),
        ("return {data: {__proto__: null, a: 1}}", {"a": 1}),
        ("return {data: JSON.parse('{\"__proto__\": 1}')}", {"__proto__": 1}),
        ("Object.prototype.toJSON = () => ({data: {a: 1}}); return 1", None),
        ("JSON.stringify = () => '{}'; Date = null; return {data: {a: 1}}", {"a": 1}),
        ("globalThis.decodeUplink = null; return {data: {a: typeof this}}", {"a": "object"}),
        (
            "return {data: {a: [typeof require, typeof process, typeof std, typeof os, "
            "typeof fetch, typeof setTimeout, typeof Worker].join()}}",
            {"a": ",".join(["undefined"] * 7)},
        ),
    ],
)
def test_unusual_values_become_json(body, values):
    decoder = codec(body)
    if values is None:
        with pytest.raises(DecodeError):
            decoder.decode(b"", 1, NOON)
    else:
        found = decoder.decode(b"", 1, NOON)
        assert found.values == values
        json.dumps(found.values, allow_nan=False).encode()


@pytest.mark.parametrize("literal", ["'low'", "['low']", "['low', 1, null, {a: 1}]", "{a: 'low'}"])
def test_warnings_become_strings(literal):
    found = codec(f"return {{data: {{}}, warnings: {literal}}}").decode(b"", 1, NOON)
    assert "low" in found.warnings[0]
    assert all(isinstance(each, str) for each in found.warnings)


def test_warnings_are_truncated():
    long = codec("return {data: {}, warnings: Array(100).fill('x\\n'.repeat(500))}")
    found = long.decode(b"", 1, NOON)
    assert len(found.warnings) == 16
    assert {len(each) for each in found.warnings} == {200}


HOSTILE = {
    "nothing": "",
    "null": "return null",
    "number": "return 1",
    "list as data": "return {data: [1]}",
    "text as data": "return {data: 'x'}",
    "a promise": "return (async () => ({data: {}}))()",
    "big integer": "return {data: {a: 1n}}",
    "cycle": "const a = {}; a.a = a; return {data: a}",
    "thirty-three levels": "let a = {}; for (let i = 0; i < 33; i++) a = {a}; return {data: a}",
    "thousands of levels": "let a = []; for (let i = 0; i < 5000; i++) a = [a]; return {data: {a}}",
    "long list": "return {data: {a: Array(300000).fill(1)}}",
    "endless list": "return {data: {a: Array(4294967295)}}",
    "long text": "return {data: {a: 'x'.repeat(300000)}}",
    "long wide text": "return {data: {a: '\\u20ac'.repeat(100000)}}",
    "very long text": "return {data: {a: 'x'.repeat(2 ** 29)}}",
    "throw": "throw new TypeError('no')",
    "throw null": "throw null",
    "throw undefined": "throw undefined",
    "throw a symbol": "throw Symbol('x')",
    "throw what has no text": "throw {toString() { throw 1 }}",
    "throw a trap": "throw new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 2 }})",
    "throw a long text": "throw 'x'.repeat(1000000)",
    "throw half a character": "throw '\\ud800'",
    "throw what never ends": "throw {toString() { while (true); }}",
    "loop": "while (true);",
    "loop behind a guard": "while (true) { try { while (true); } catch {} finally { continue } }",
    "loop in a getter": "return {get data() { while (true); }}",
    "loop in toJSON": "return {data: {toJSON() { while (true); }}}",
    "loop in a proxy": "return {data: new Proxy({}, {ownKeys() { while (true); }})}",
    "loop in a regular expression": "return {data: {a: /^(a+)+$/.test('a'.repeat(40) + '!')}}",
    "loop in the engine": "[].join.call({length: 2 ** 53 - 1})",
    "loop over nothing": "[].indexOf.call({length: 2 ** 53 - 1}, 1)",
    "loop in the text of the loop's end": (
        "Error.prototype.toString = () => { while (true); }; while (true);"
    ),
    "large numbers": "let a = 3n; while (true) a = a * a;",
    "recursion": "return decodeUplink(input)",
    "recursion in a sort": "const f = () => [2, 1].sort(f); f()",
    "memory": "const a = []; while (true) a.push(new Uint8Array(100000));",
    "memory, caught": "const a = []; while (true) try { a.push(a.slice(), 1) } catch {}",
    "large buffer": "new ArrayBuffer(2 ** 31)",
    "generator": "return {data: {a: [...(function* () { while (true) yield 1 })()]}}",
    "wait": "Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0)",
    "import": "return import('os')",
    "eval": "return eval('while (true);')",
    "errors that are a trap": "return {data: {}, errors: {length: 1e9}}",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_codec_fails_with_a_reason(body):
    decoder = codec(body)
    with pytest.raises(DecodeError) as caught:
        decoder.decode(b"\x01", 1, NOON)
    assert 0 < len(caught.value.reason) < 300
    caught.value.reason.encode()
    # The next codec is not affected.
    assert decoded(PULSE_METER_TURNED, "09", 7).values == {"port": 7, "first": 9}


# No state is kept between runs.


@pytest.mark.parametrize(
    "source",
    [
        "var n = 0; function decodeUplink() { return {data: {n: ++n}} }",
        "let n = 0; const decodeUplink = () => ({data: {n: ++n}})",
        "const all = []; function decodeUplink() { all.push(1); return {data: {n: all.length}} }",
        "function decodeUplink() { globalThis.n = (globalThis.n || 0) + 1; return {data: {n}} }",
        "function decodeUplink() { Array.prototype.n = ([].n || 0) + 1; return {data: {n: [].n}} }",
        "function decodeUplink(i) { i.constructor.n = (Object.n || 0) + 1; "
        "return {data: {n: Object.n}} }",
        "function decodeUplink(i) { decodeUplink.n = (decodeUplink.n || 0) + 1; "
        "return {data: {n: decodeUplink.n}} }",
        "function decodeUplink() { const old = Math.max; Math.max = () => old() + 1; "
        "return {data: {n: old === Math.max ? 2 : 1}} }",
        "function decodeUplink() { JSON.stringify = JSON.parse = Object.freeze = null; "
        "return {data: {n: 1}} }",
        "function decodeUplink() { Promise.resolve().then(() => { globalThis.n = 2 }); "
        "return {data: {n: globalThis.n || 1}} }",
    ],
)
def test_a_run_keeps_no_state_for_the_next(source):
    first, second = build_decoder(source), build_decoder(source)
    for decoder in (first, first, first, second, first, second):
        assert decoder.decode(b"", 1, NOON).values == {"n": 1}


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.sampled_from([SOIL_PROBE, ROOM_SENSOR, PULSE_METER]), st.binary(max_size=32))
def test_any_payload_is_decoded_or_refused(source, payload):
    try:
        found = build_decoder(source).decode(payload, 2, NOON)
    except DecodeError:
        return
    json.dumps(found.values, allow_nan=False).encode()


@hypothesis_settings(max_examples=40, deadline=None)
@given(st.text(max_size=60))
def test_any_string_is_a_codec_or_refused(source):
    with pytest.raises(InvalidDecoder):
        build_decoder(source)


# Many threads, few processes.


@pytest.mark.slow
def test_many_threads_share_a_codec_and_get_their_own_results():
    echo = codec("return {data: {bytes: input.bytes, port: input.fPort}}")
    faulty = codec("if (input.bytes[0] % 2) throw null; [].join.call({length: 2 ** 53 - 1})")

    def decode_both(number):
        if number % 50 == 0:
            with pytest.raises(DecodeError):
                faulty.decode(bytes([number]), 1, NOON)
        payload = bytes([number, 255 - number])
        found = echo.decode(payload, number, NOON)
        assert found.values == {"bytes": list(payload), "port": number}

    with ThreadPoolExecutor(8) as pool:
        for decoding in [pool.submit(decode_both, number) for number in range(200)]:
            decoding.result()


def test_a_dead_sandbox_is_replaced():
    pool = SandboxPool(count=1)
    try:
        decoder = codec("return {data: {a: 1}}", pool=pool)
        sandbox = pool._slots.get()
        os.kill(sandbox._process.pid, 9)
        pool._slots.put(sandbox)
        assert decoder.decode(b"", 1, NOON).values == {"a": 1}
    finally:
        pool.stop()


def test_a_codec_is_not_to_blame_for_a_sandbox_that_dies_late():
    """As one that another codec has used up the memory of, on a busy machine."""
    pool = SandboxPool(count=1)
    try:
        decoder = codec("return {data: {a: 1}}", pool=pool)
        sandbox = pool._slots.get()
        os.kill(sandbox._process.pid, signal.SIGSTOP)
        pool._slots.put(sandbox)
        with ThreadPoolExecutor(1) as thread:
            decoding = thread.submit(decoder.decode, b"", 1, NOON)
            time.sleep(2 * pool.limits.processor_s_max)
            os.kill(sandbox._process.pid, signal.SIGKILL)
            assert decoding.result().values == {"a": 1}
    finally:
        pool.stop()


def test_stopping_the_pool_ends_its_sandboxes():
    pool = SandboxPool(count=1)
    codec("return 1", pool=pool)
    sandbox = pool._slots.get()
    pool._slots.put(sandbox)
    pool.stop()
    assert sandbox._process.returncode is not None


def test_a_sandbox_exits_when_the_service_is_gone():
    sandbox = sandbox_pool.Sandbox(SandboxLimits())
    try:
        sandbox._socket.close()
        assert sandbox._process.wait(PATIENCE_S) == 0
    finally:
        sandbox.stop()


def test_a_sandbox_has_no_secrets_of_the_service(monkeypatch):
    monkeypatch.setenv("LONGWIRE_TOKEN_SECRET", "hush")
    sandbox = sandbox_pool.Sandbox(SandboxLimits())
    try:
        with open(f"/proc/{sandbox._process.pid}/environ", "rb") as environment:
            assert b"hush" not in environment.read()
    finally:
        sandbox.stop()


def test_a_missing_sandbox_is_not_reported_as_an_error_of_the_codec(monkeypatch, tmp_path):
    pool = SandboxPool(count=1)
    decoder = codec("return {data: {}}", pool=pool)
    pool.stop()
    monkeypatch.setattr(sandbox_pool, "PROGRAM", "raise SystemExit(1)")
    with pytest.raises(DecodeError, match="does not start"):
        decoder.decode(b"", 1, NOON)
    with pytest.raises(Unavailable):
        codec("return {data: {}}", pool=pool)
    monkeypatch.setattr(sandbox_pool.sys, "executable", str(tmp_path / "missing"))
    with pytest.raises(SandboxUnavailable, match="no sandbox can be started"):
        pool.run(b"", b"{}")


def test_waiting_for_a_busy_sandbox_times_out(monkeypatch):
    monkeypatch.setattr(sandbox_pool, "CHECKOUT_TIMEOUT_S", 0.01)
    pool = SandboxPool(count=1)
    pool._slots.get()
    with pytest.raises(Unavailable, match="busy"):
        codec("return {data: {}}", pool=pool)


# --- on an event loop ---


@contextmanager
def loop_pool():
    pool = LoopSandboxPool(count=1)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            yield runner, pool
        finally:
            pool.stop()


def test_an_event_loop_gets_the_same_values():
    decoder = codec("return {data: {sum: input.bytes.length, port: input.fPort}}")

    async def decode_all(pool):
        return await asyncio.gather(
            *(decoder.decode_on_loop(bytes(size), size, NOON, pool) for size in range(100))
        )

    with loop_pool() as (runner, pool):
        found = runner.run(decode_all(pool))
    assert found == [decoder.decode(bytes(size), size, NOON) for size in range(100)]


def test_on_an_event_loop_a_codec_is_not_to_blame_either_for_a_sandbox_that_dies_late():
    decoder = codec("return {data: {a: 1}}")

    async def decode(pool):
        await decoder.decode_on_loop(b"", 1, NOON, pool)
        process = pool._idle[0]._sandbox._process
        os.kill(process.pid, signal.SIGSTOP)
        decoding = asyncio.create_task(decoder.decode_on_loop(b"", 1, NOON, pool))
        await asyncio.sleep(2 * pool.limits.processor_s_max)
        os.kill(process.pid, signal.SIGKILL)
        return await decoding

    with loop_pool() as (runner, pool):
        assert runner.run(decode(pool)).values == {"a": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("throw new Error('no')", "the codec failed: Error: no"),
        ("return 1", "the codec returned no object"),
        ("while (true);", "the codec ran out of time"),
    ],
)
def test_an_event_loop_gets_the_same_errors(body, reason):
    decoder = codec(body)
    with loop_pool() as (runner, pool), pytest.raises(DecodeError, match=reason):
        runner.run(decoder.decode_on_loop(b"", 1, NOON, pool))


def test_an_event_loop_replaces_a_process_that_died():
    decoder = codec("return {data: {a: 1}}")

    async def decode_after_kill(pool):
        await decoder.decode_on_loop(b"", 1, NOON, pool)
        (connection,) = pool._idle
        os.kill(connection._sandbox._process.pid, 9)
        # A call before that might be the cause.
        await asyncio.to_thread(eventually, lambda: connection._transport is None)
        return await decoder.decode_on_loop(b"", 1, NOON, pool)

    with loop_pool() as (runner, pool):
        assert runner.run(decode_after_kill(pool)).values == {"a": 1}


def test_an_event_loop_stops_a_process_that_does_not_respond(monkeypatch):
    decoder = codec("return {data: {a: 1}}")
    receive = sandbox_pool._SandboxConnection.data_received

    def receive_unless_late(connection, data):
        if sandbox_pool.CALL_TIMEOUT_S:
            receive(connection, data)

    async def decode_in_no_time(pool):
        await decoder.decode_on_loop(b"", 1, NOON, pool)
        monkeypatch.setattr(sandbox_pool, "CALL_TIMEOUT_S", 0.0)
        with pytest.raises(DecodeError, match="was killed") as caught:
            await decoder.decode_on_loop(b"", 1, NOON, pool)
        assert caught.value.is_timeout

    monkeypatch.setattr(sandbox_pool._SandboxConnection, "data_received", receive_unless_late)
    with loop_pool() as (runner, pool):
        runner.run(decode_in_no_time(pool))
        assert list(pool._idle) == [None]


def test_a_cancelled_call_leaves_no_response_to_the_next_one():
    decoder = codec("return {data: {size: input.bytes.length}}")

    async def cancel_and_decode(pool):
        await decoder.decode_on_loop(b"", 1, NOON, pool)
        cancelled = asyncio.create_task(decoder.decode_on_loop(b"1", 1, NOON, pool))
        await asyncio.sleep(0)
        cancelled.cancel()
        return await decoder.decode_on_loop(b"12", 1, NOON, pool)

    with loop_pool() as (runner, pool):
        assert runner.run(cancel_and_decode(pool)).values == {"size": 2}


def test_who_waits_for_a_sandbox_may_give_up_and_does_so_in_the_end(monkeypatch):
    decoder = codec("return {data: {size: input.bytes.length}}")

    async def wait_and_give_up(pool):
        await decoder.decode_on_loop(b"", 1, NOON, pool)
        first, second, third = (
            asyncio.create_task(decoder.decode_on_loop(bytes(size), 1, NOON, pool, f"group {size}"))
            for size in (1, 2, 3)
        )
        await asyncio.sleep(0)
        second.cancel()
        assert [(await each).values for each in (first, third)] == [{"size": 1}, {"size": 3}]
        monkeypatch.setattr(sandbox_pool, "WAITING_TIMEOUT_S", 0.0)
        busy = asyncio.create_task(decoder.decode_on_loop(b"", 1, NOON, pool))
        await asyncio.sleep(0)
        with pytest.raises(DecodeError, match="all sandboxes are busy"):
            await decoder.decode_on_loop(b"", 1, NOON, pool)
        await busy
        return await decoder.decode_on_loop(b"12", 1, NOON, pool)

    with loop_pool() as (runner, pool):
        assert runner.run(wait_and_give_up(pool)).values == {"size": 2}


def test_without_a_sandbox_an_event_loop_blames_nothing_on_the_codec(monkeypatch):
    decoder = codec("return {data: {}}")
    monkeypatch.setattr(sandbox_pool, "PROGRAM", "raise SystemExit(1)")
    with loop_pool() as (runner, pool):
        for _ in range(2):
            with pytest.raises(DecodeError, match="does not start"):
                runner.run(decoder.decode_on_loop(b"", 1, NOON, pool))


def test_processes_of_an_event_loop_end_when_they_are_stopped():
    decoder = codec("return {data: {}}")
    with loop_pool() as (runner, pool):
        runner.run(decoder.decode_on_loop(b"", 1, NOON, pool))
        connection = pool._idle[0]
        pool.stop()
        assert connection._sandbox._process.returncode is not None

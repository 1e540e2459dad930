"""What others make of the same load on the same machine, in turns with the service.

InfluxDB 1.x, as Debian packages it, with its defaults: one point a request. It knows no devices and
no rights, keeps the last of several points of a device and a time, and forwards nothing; so it
shows what the machine can do, and not what the same would cost. A peer that is not installed is
left out, and the table says so. BENCH_INFLUXD is the path of its server.
"""

import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.ingest import CONNECTIONS, Records, fleet
from bench.load import Requests, Result, framed, head, run
from bench.service import running
from bench.table import Findings, Row, cpu_s

DEVICES = 500
TURNS = 3
START_S_MAX = 60.0
RATIO_MIN = 0.75
CONFIG = """
reporting-disabled = true
bind-address = "127.0.0.1:{other_port}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
[http]
  bind-address = "127.0.0.1:{port}"
"""


class Points:
    """The n-th point of a fleet in line protocol, as one request; all are different."""

    def __init__(self, first: int) -> None:
        self._head = head("POST", "/write?db=bench")
        self._first = first

    def __call__(self, number: int) -> bytes:
        device = number % DEVICES
        point = (
            f"data,deviceId=device{device},deviceType=tracker"
            f' temperature=21.5,humidity=48,seq={number}i,raw="0a1b2c3d4e5f",configuration="{{}}"'
            f" 17{self._first + number}000000000"
        )
        return framed(self._head, point.encode())


@dataclass(frozen=True, slots=True)
class Target:
    """Somebody who takes records, one a request."""

    port: int
    pid: int
    status: int
    requests: Callable[[int], Requests]  # by the number of the first one


def measure(findings: Findings, seconds: float) -> None:
    path = os.environ.get("BENCH_INFLUXD") or shutil.which("influxd")
    if path is None:
        findings.add(Row("InfluxDB 1.x", note="left out: influxd is not installed"))
        return
    with run_influxdb(Path(path)) as peer, running() as service:
        devices = fleet(service, DEVICES)
        own = Target(service.port, service.pid, 200, lambda n: Records(service, devices, n))
        turns = [
            (_measure_turn(peer, turn, seconds), _measure_turn(own, turn, seconds))
            for turn in range(TURNS)
        ]
    theirs = _describe("InfluxDB 1.x, one point a request", [each for each, _ in turns])
    ours = _describe("POST /device/data", [each for _, each in turns])
    assert ours.rate is not None
    assert theirs.rate is not None
    ratio = ours.rate / theirs.rate
    findings.add(theirs)
    findings.add(
        Row(
            ours.name,
            rate=ours.rate,
            ratio=ratio,
            p50_ms=ours.p50_ms,
            p99_ms=ours.p99_ms,
            note=ours.note,
            aim=f"ratio ≥ {RATIO_MIN:.2f}",
            met=ratio >= RATIO_MIN,
        )
    )


def _measure_turn(target: Target, turn: int, seconds: float) -> tuple[Result, float]:
    """The result, and the processor time of a record."""
    first = 10_000_000 * (turn + 1)
    before = cpu_s(target.pid)
    result = run(
        "127.0.0.1",
        target.port,
        target.requests(first),
        connections=CONNECTIONS,
        seconds=seconds,
        warmup_s=0.0,
        expect_status=target.status,
    )
    return result, (cpu_s(target.pid) - before) / result.requests * 1e6


def _describe(name: str, turns: list[tuple[Result, float]]) -> Row:
    """The medians of all turns."""
    results = [result for result, _ in turns]
    cpu_us = statistics.median(each for _, each in turns)
    return Row(
        name,
        rate=statistics.median(each.rate for each in results),
        p50_ms=statistics.median(each.p50_ms for each in results),
        p99_ms=statistics.median(each.p99_ms for each in results),
        note=f"{cpu_us:.0f} µs of processor time a record",
    )


@contextmanager
def run_influxdb(path: Path) -> Iterator[Target]:
    """A server with an empty database."""
    with tempfile.TemporaryDirectory(prefix="longwire-bench-influxdb-") as folder:
        port, other_port = _find_free_port(), _find_free_port()
        config = Path(folder) / "influxdb.conf"
        config.write_text(CONFIG.format(folder=folder, port=port, other_port=other_port))
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([path, "-config", config], stdout=log, stderr=log)
        try:
            _create_database(f"http://127.0.0.1:{port}")
            yield Target(port, process.pid, 204, Points)
        finally:
            process.terminate()
            process.wait(timeout=60)


def _create_database(url: str) -> None:
    deadline = time.monotonic() + START_S_MAX
    while True:
        try:
            httpx.post(f"{url}/query", params={"q": "create database bench"}).raise_for_status()
        except httpx.TransportError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])

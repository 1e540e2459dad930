"""Several processes on PostgreSQL: processor time of a record, ours and the server's.

Rates say little about a machine that also runs the server and the load. What a record costs decides
how far one primary goes, and it depends on how many are committed together.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psutil
import psycopg

from bench.ceiling import bare_server, serving
from bench.ingest import CONNECTIONS, Records, body
from bench.load import Requests, Result, Template, head, run
from bench.service import Service, postgres, running
from bench.table import Findings, Row, cpu_s

COMMIT_SIZES = (1, 10, 100, 1_000)
DEVICES = 200
PROCESSES = 2
RATIO_MIN = 0.35
WARM_UP_S = 1.0
THIN_NODES = 2
THIN_PER_S = 200.0  # of each node


class Batches:
    """The n-th batch of so many records."""

    def __init__(self, service: Service, devices: list[str], size: int, first: int) -> None:
        headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
        self._head = head("POST", "/device/data/batch", headers=headers)
        self._bodies = [body(device, "") for device in devices]
        self._size, self._first = size, first

    def __call__(self, number: int) -> bytes:
        start = self._first + number * self._size
        items = [
            self._bodies[each % len(self._bodies)].replace(
                '"timestamp": 17', f'"timestamp": 17{each}'
            )
            for each in range(start, start + self._size)
        ]
        raw = f'{{"items":[{",".join(items)}]}}'.encode()
        return self._head + b"\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw


def measure(findings: Findings, seconds: float) -> None:
    with postgres() as url, running("--database", url) as service:
        devices = _create_devices(service)
        server = _find_server(url)
        for number, size in enumerate(COMMIT_SIZES):
            load = Batches(service, devices, size, 10_000_000 * (number + 1))
            findings.add(
                _measure_one(f"commits of {size}", [(service, load)], server, size, seconds)
            )
        with running("--database", url, data=service.data) as other:
            loads: list[tuple[Service, Requests]] = [
                (node, Batches(node, devices, 1, 10_000_000 * (7 + number)))
                for number, node in enumerate((service, other))
            ]
            name = f"{THIN_NODES} nodes, {THIN_PER_S:.0f} single records/s each"
            findings.add(
                _measure_one(name, loads, server, 1, seconds, connections=32, rate=THIN_PER_S)
            )
    _measure_full(findings, seconds)


def _measure_full(findings: Findings, seconds: float) -> None:
    """Single records from many connections: commits are as large as they get by themselves."""
    echoed = Template(
        head("POST", "/", headers={"Content-Type": "application/json"}), body("dev").encode()
    )
    with serving("echo", build_server=bare_server) as bare:
        ceiling = run(bare.host, bare.port, echoed, connections=CONNECTIONS, seconds=seconds)
    with postgres() as url, running("--database", url, "--workers", str(PROCESSES)) as service:
        devices = _create_devices(service)
        place = service.host, service.port
        run(*place, Records(service, devices), connections=CONNECTIONS, seconds=WARM_UP_S)
        load = Records(service, devices, 20_000_000)
        row = _measure_one(
            f"{PROCESSES} processes, single records of {CONNECTIONS} connections",
            [(service, load)],
            _find_server(url),
            1,
            seconds,
            connections=CONNECTIONS,
        )
    ratio = (row.rate or 0.0) / ceiling.rate
    findings.add(
        replace(
            row,
            ratio=ratio,
            aim=f"ratio ≥ {RATIO_MIN:.2f}",
            met=ratio >= RATIO_MIN,
        )
    )


def _measure_one(
    name: str,
    loads: list[tuple[Service, Requests]],
    server: int,
    size: int,
    seconds: float,
    *,
    connections: int = 1,
    rate: float | None = None,
) -> Row:
    """By default one connection sends one request after the other, so that each is a commit."""
    nodes = [node.pid for node, _ in loads]
    before = sum(map(cpu_s, nodes)), cpu_s(server)

    def send(load: tuple[Service, Requests]) -> Result:
        node, requests = load
        return run(
            node.host, node.port, requests, connections=connections, seconds=seconds, rate=rate,
            warmup_s=0.0,
        )  # fmt: skip

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(send, loads))
    after = sum(map(cpu_s, nodes)), cpu_s(server)
    records = sum(each.rate for each in results) * seconds * size
    ours, theirs = ((b - a) / records * 1e6 for a, b in zip(before, after, strict=True))
    return Row(
        name,
        rate=records / seconds,
        p50_ms=max(each.p50_ms for each in results),
        p99_ms=max(each.p99_ms for each in results),
        note=f"a record: longwire {ours:.0f} µs, PostgreSQL {theirs:.0f} µs",
    )


def _create_devices(service: Service) -> list[str]:
    group = service.call("POST", "/group", {"name": "bench"})["id"]
    created = []
    for number in range(DEVICES):
        device = {
            "groupId": group,
            "name": f"device {number}",
            "type": "generic",
            "originalId": f"{number:06X}",
            "network": "mqtt",
        }
        created.append(service.call("POST", "/device", device)["deviceId"])
    return created


def _find_server(url: str) -> int:
    """The number of its first process."""
    with psycopg.connect(url) as connection:
        parent = psutil.Process(connection.info.backend_pid).parent()
    assert parent is not None
    return int(parent.pid)

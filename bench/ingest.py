"""Records: single POSTs, batches and pages, each compared with its ceiling.

Single POSTs have three: a bare ASGI echo on stock uvicorn, which the aim is measured against as
anybody can reproduce it; the same echo on the server class of the service; and one that a thread
flushes to SQLite first. The ratios to these are in the note: they show what the application costs
on top of its own server, and on top of what an acknowledgement takes.
"""

import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg

from bench.ceiling import bare_server, serving
from bench.identity import service_server
from bench.load import Result, Template, head, run
from bench.service import Service, postgres, running
from bench.table import Findings, Row, measured, rss_mb
from longwire.clock import Clock
from longwire.process.startup import build_database, prepare
from longwire.settings import Settings
from longwire.store.records.arrival_numbers import first_seq

CONNECTIONS = 64
CONNECTIONS_SLOW_DISK = 256
DEVICES = 1_000
BATCH = 500
PAGE = 100
MEMORY_MB_MAX = 300.0
FLUSH_DELAY_US = 4_000


def body(device: str, number: str = "%d") -> str:
    """A typical data record; the number makes it unique."""
    return json.dumps(
        {
            "deviceId": device,
            "timestamp": 0,
            "data": '{"temperature":21.5,"humidity":48,"seq":0}',
            "configuration": "{}",
            "__raw": "0a1b2c3d4e5f",
            "deviceType": "tracker",
        }
    ).replace('"timestamp": 0', f'"timestamp": 17{number}')


class Records:
    """The n-th record of a fleet, as one request; all are different."""

    def __init__(self, service: Service, devices: list[str], first: int = 10_000_000) -> None:
        start = _head(service, "/device/data")
        self._templates = [Template(start, body(each).encode(), first) for each in devices]

    def __call__(self, number: int) -> bytes:
        return self._templates[number % len(self._templates)](number)


class Batches:
    """The n-th batch of a fleet."""

    def __init__(self, service: Service, devices: list[str], first: int = 50_000_000) -> None:
        self._head = _head(service, "/device/data/batch")
        self._first = first
        self._bodies = [body(device, "") for device in devices]

    def __call__(self, number: int) -> bytes:
        start = self._first + number * BATCH
        items = [
            self._bodies[(start + each) % len(self._bodies)].replace(
                '"timestamp": 17', f'"timestamp": 17{start + each}'
            )
            for each in range(BATCH)
        ]
        raw = f'{{"items":[{",".join(items)}]}}'.encode()
        return self._head + b"\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw


def measure(findings: Findings, seconds: float) -> None:
    raw = Template(
        head("POST", "/", headers={"Content-Type": "application/json"}), body("dev").encode()
    )
    with serving("echo", build_server=bare_server) as bare:
        ceiling = run(bare.host, bare.port, raw, connections=CONNECTIONS, seconds=seconds)
    findings.add(measured("ceiling: bare ASGI echo on stock uvicorn", ceiling))
    with serving("echo", build_server=service_server) as bare:
        own_ceiling = run(bare.host, bare.port, raw, connections=CONNECTIONS, seconds=seconds)
    findings.add(measured("ceiling: the same on the server class of the service", own_ceiling))
    with serving("stored_echo", build_server=service_server) as bare:
        stored = run(bare.host, bare.port, raw, connections=CONNECTIONS, seconds=seconds)
    findings.add(
        measured(
            "ceiling: the same, after a thread has flushed it to SQLite", stored, ceiling=ceiling
        )
    )
    with running() as service:
        devices = fleet(service)
        _singles(findings, service, devices, [ceiling, own_ceiling, stored], seconds)
        _batches(findings, service, devices, seconds)
        _pages(findings, service, devices[0], seconds)
        _memory(findings, service)
    _slow_disk(findings, seconds)
    with ExitStack() as stack:
        url = stack.enter_context(postgres())
        service = stack.enter_context(running("--database", url, "--workers", "2"))
        devices = fleet(service)
        result = run(
            service.host,
            service.port,
            Records(service, devices),
            connections=CONNECTIONS,
            seconds=seconds,
        )
        findings.add(
            measured("POST /device/data, PostgreSQL, 2 processes", result, ceiling=ceiling)
        )
        rows = run(
            service.host, service.port, Batches(service, devices), connections=4, seconds=seconds
        )
        plain = plain_postgres_rows_per_s(url, seconds)
        findings.add(
            Row("ceiling: executemany, PostgreSQL", rate=plain, note="rate in records, 1 process")
        )
        ratio = rows.rate * BATCH / plain
        findings.add(
            Row(
                f"batches of {BATCH}, PostgreSQL, 2 processes",
                rate=rows.rate * BATCH,
                ratio=ratio,
                p50_ms=rows.p50_ms,
                p99_ms=rows.p99_ms,
                note="rate in records",
                aim="ratio ≥ 0.60",
                met=ratio >= 0.6,
            )
        )


def fleet(service: Service, devices: int = DEVICES) -> list[str]:
    group = service.call("POST", "/group", {"name": "fleet"})["id"]
    created: list[str] = []
    for start in range(0, devices, 1_000):
        ids = [f"bench{start + each}" for each in range(min(1_000, devices - start))]
        request_body = {
            "originalDevicesIds": ids,
            "groupId": group,
            "type": "tracker",
            "network": "bench",
        }
        created += [
            each["deviceId"] for each in service.call("POST", "/devices", request_body)["items"]
        ]
    return created


def _head(service: Service, path: str) -> bytes:
    return head(
        "POST",
        path,
        headers={"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"},
    )


def _singles(
    findings: Findings,
    service: Service,
    devices: list[str],
    ceilings: Sequence[Result],
    seconds: float,
) -> None:
    ceiling, own_ceiling, stored = ceilings
    result = run(
        service.host,
        service.port,
        Records(service, devices),
        connections=CONNECTIONS,
        seconds=seconds,
    )
    findings.add(
        measured(
            "POST /device/data",
            result,
            ceiling=ceiling,
            ratio_min=0.45,
            p99_ms_max=25,
            note=f"{result.rate / own_ceiling.rate:.2f} of the server class of the service,"
            f" {result.rate / stored.rate:.2f} of an echo that is flushed",
        )
    )


def _batches(findings: Findings, service: Service, devices: list[str], seconds: float) -> None:
    plain = plain_rows_per_s(seconds)
    findings.add(Row("ceiling: executemany of the same rows", rate=plain, note="rate in records"))
    result = run(
        service.host, service.port, Batches(service, devices), connections=4, seconds=seconds
    )
    ratio = result.rate * BATCH / plain
    findings.add(
        Row(
            f"batches of {BATCH}",
            rate=result.rate * BATCH,
            ratio=ratio,
            p50_ms=result.p50_ms,
            p99_ms=result.p99_ms,
            note="rate in records",
            aim="ratio ≥ 0.60",
            met=ratio >= 0.6,
        )
    )


def _pages(findings: Findings, service: Service, device: str, seconds: float) -> None:
    items = [json.loads(body(device, f"{20_000_000 + each}")) for each in range(5 * PAGE)]
    service.call("POST", "/device/data/batch", {"items": items})
    path = f"/device/data?deviceId={device}&limit={PAGE}&beginDate=1720000000"
    page = service.http.get(path)
    size = len(page.raise_for_status().content)
    with serving("fixed_response", build_server=service_server, size=size) as bare:
        raw = head("GET", "/") + b"\r\n\r\n"
        precomputed = run(bare.host, bare.port, [raw], seconds=seconds)
    findings.add(measured("ceiling: the same bytes precomputed", precomputed, note=f"{size} bytes"))
    result = run(service.host, service.port, [service.request("GET", path)], seconds=seconds)
    findings.add(
        measured(f"GET /device/data, {PAGE} records", result, ceiling=precomputed, ratio_min=0.5)
    )


def _memory(findings: Findings, service: Service) -> None:
    memory = rss_mb(service.pid)
    findings.add(
        Row(
            "resident memory after ingest",
            note=f"{memory:.0f} MB",
            aim=f"< {MEMORY_MB_MAX:.0f} MB",
            met=memory < MEMORY_MB_MAX,
        )
    )


def _slow_disk(findings: Findings, seconds: float) -> None:
    """The same with a slow disk, where group commit matters."""
    name = "POST /device/data, every flush 4 ms slower"
    strace = shutil.which("strace")
    if strace is None:
        findings.add(Row(name, note="not measured: strace is not installed"))
        return
    delay = f"inject=fdatasync:delay_exit={FLUSH_DELAY_US}"
    quiet = ("-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync")
    traced = (strace, *quiet, "-e", delay)
    with running(wrapper=traced) as service:
        result = run(
            service.host,
            service.port,
            Records(service, fleet(service)),
            connections=CONNECTIONS_SLOW_DISK,
            seconds=seconds,
        )
    findings.add(
        Row(
            name,
            rate=result.rate,
            p50_ms=result.p50_ms,
            p99_ms=result.p99_ms,
            note=f"{CONNECTIONS_SLOW_DISK} connections",
            aim="≥ 5,000/s",
            met=result.rate >= 5_000,
        )
    )


def plain_rows_per_s(seconds: float) -> float:
    """Rows per second of a plain executemany loop, in commits of the same size."""
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        settings = Settings(data=Path(folder))
        database, keep_key = build_database(settings, Clock())
        prepare(database, settings, keep_key)
        database.close()
        connection = sqlite3.connect(Path(folder) / "longwire.db", isolation_level=None)
        for pragma in ("journal_mode = wal", "synchronous = full", "wal_autocheckpoint = 4096"):
            connection.execute(f"pragma {pragma}")
        text = body("dev_" + "x" * 24)
        stored, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            rows = range(stored, stored + BATCH)
            connection.execute("begin immediate")
            connection.executemany(
                "insert into record_data values (?, ?, ?, ?, ?, ?) on conflict do nothing",
                [(n % DEVICES, 0, n, n.to_bytes(16, "big"), n, text) for n in rows],
            )
            connection.executemany(
                "insert into arrival values (?, ?, ?, ?, ?, ?, ?)",
                [(1, n, 0, 0, 0, n % DEVICES, n) for n in rows],
            )
            connection.executemany(
                "insert into device_state (group_id, device_number, seen_at) values (1, ?, ?)"
                " on conflict do update set seen_at = excluded.seen_at",
                [(n % DEVICES, n) for n in rows],
            )
            connection.executemany(
                "insert into activity values (?, ?, ?) on conflict do nothing",
                [(1, 1, n % DEVICES) for n in rows],
            )
            connection.execute("commit")
            stored += BATCH
        connection.close()
        return stored / (time.perf_counter() - started)


def plain_postgres_rows_per_s(url: str, seconds: float) -> float:
    """The same on PostgreSQL, into the service's own tables, over one connection."""
    now = Clock().now()
    text = body("dev_" + "x" * 24)
    stored, started = 0, time.perf_counter()
    with psycopg.connect(url) as connection:
        while time.perf_counter() - started < seconds:
            rows = range(stored, stored + BATCH)
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(
                    "insert into record_data (device_number, stay, ts, digest, seq, body)"
                    " values (%s, 0, %s, %s, %s, %s) on conflict do nothing",
                    [(-1 - n % DEVICES, now + n, n.to_bytes(16, "big"), n, text) for n in rows],
                )
                cursor.executemany(
                    "insert into arrival (group_id, seq, kind, source, stay, device_number, ts)"
                    " values (1, %s, 0, 0, 0, %s, %s)",
                    [(first_seq(now + n), n % DEVICES, n) for n in rows],
                )
                cursor.executemany(
                    "insert into device_state (group_id, device_number, seen_at)"
                    " values (1, %s, %s) on conflict (device_number, slot)"
                    " do update set seen_at = excluded.seen_at",
                    [(-1 - n % DEVICES, n) for n in rows],
                )
                cursor.executemany(
                    "insert into activity values (1, 1, %s) on conflict do nothing",
                    [(n % DEVICES,) for n in rows],
                )
            stored += BATCH
    return stored / (time.perf_counter() - started)

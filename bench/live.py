"""The live stream: what listeners cost those who store, and how soon they see a record.

The cost is the CPU time that the service takes more for the same records, as a part of the one core
that its event loop has: so much less it could store. Measured by CPU time, because the listeners
themselves are on this machine, too.
"""

import multiprocessing
import re
import select
import socket
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles

import httpx

from bench.ingest import CONNECTIONS, Records, fleet
from bench.load import request, run
from bench.service import Service, postgres, running
from bench.table import Findings, Row

RATE = 1_000.0
LISTENERS = 10
WARMUP_S = 1.0
COST_MAX = 0.05
SEEN_MS_MAX = 100.0
# But for those that a chunk's boundary divides.
_ARRIVED_AT = re.compile(rb'"arrivedAt":"(\d{4}-[\dT:.-]{12,22}Z)"')


def measure(findings: Findings, seconds: float) -> None:
    with ExitStack() as stack:
        _measure(findings, "SQLite", stack.enter_context(running()), seconds)
    with ExitStack() as stack:
        url = stack.enter_context(postgres())
        service = stack.enter_context(running("--database", url))
        _measure(findings, "PostgreSQL", service, seconds)


def _measure(findings: Findings, engine: str, service: Service, seconds: float) -> None:
    devices = fleet(service)
    group = service.call("GET", "/device", deviceId=devices[0])["groupId"]
    alone = _load(service, devices, seconds, 10_000_000)
    ours, theirs = multiprocessing.Pipe()
    requests = _requests(service, group)
    listening = multiprocessing.get_context("spawn").Process(
        target=_listen, args=(service.host, service.port, requests, theirs)
    )
    listening.start()
    ours.recv()
    listened = _load(service, devices, seconds, 30_000_000)
    ours.send("stop")
    latencies_ms, received = ours.recv()
    listening.join()
    # Before and after: what else runs on the machine changes meanwhile.
    alone = (alone + _load(service, devices, seconds, 50_000_000)) / 2
    cost = (listened - alone) / seconds
    findings.add(
        Row(
            f"{RATE:,.0f} records/s to {LISTENERS} listeners, {engine}",
            rate=received / (WARMUP_S + seconds),
            ratio=1 - cost,
            note="rate in records sent; ratio: what is left of the event loop's core",
            aim="ratio ≥ 0.95",
            met=cost <= COST_MAX,
        )
    )
    p50 = median(latencies_ms)
    findings.add(
        Row(
            f"a listener sees a record, {engine}",
            p50_ms=p50,
            p99_ms=quantiles(latencies_ms, n=100)[98],
            note=f"at {RATE:,.0f} records/s",
            aim="p50 ≤ 100 ms",
            met=p50 <= SEEN_MS_MAX,
        )
    )


def _requests(service: Service, group: str) -> list[bytes]:
    """One for each listener, of two callers: each may have eight streams."""
    client = service.call("POST", "/appClient", {"groupId": group, "name": "listener"})
    granted = httpx.post(
        f"http://{service.host}:{service.port}/oauth2/token?grant_type=client_credentials",
        auth=(client["appClientId"], client["secret"]),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    tokens = (service.token, granted.raise_for_status().json()["access_token"])
    path = f"/live?groupId={group}"
    return [
        request("GET", path, headers={"Authorization": f"Bearer {tokens[number % 2]}"})
        for number in range(LISTENERS)
    ]


def _load(service: Service, devices: list[str], seconds: float, first: int) -> float:
    """CPU seconds of the service while it stores records at a fixed rate."""
    records = Records(service, devices, first)
    run(
        service.host,
        service.port,
        records,
        connections=CONNECTIONS,
        seconds=WARMUP_S,
        warmup_s=0.0,
        rate=RATE,
    )
    before = cpu_s(service.pid)
    later = Records(service, devices, first + 10_000_000)
    run(
        service.host,
        service.port,
        later,
        connections=CONNECTIONS,
        seconds=seconds,
        warmup_s=0.0,
        rate=RATE,
    )
    return cpu_s(service.pid) - before


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _listen(host: str, port: int, requests: list[bytes], control: Connection) -> None:
    """Read all streams until asked to stop; how old the records of the first one were."""
    clients = [socket.create_connection((host, port)) for _ in requests]
    for client, each in zip(clients, requests, strict=True):
        client.sendall(each)
        assert b" 200 " in client.recv(64)
    control.send("listening")
    latencies_ms: list[float] = []
    received = 0
    while True:
        for ready in select.select([*clients, control], [], [], 1.0)[0]:
            if ready is control:
                control.send((latencies_ms, received))
                return
            data = ready.recv(1 << 20)
            received += data.count(b'"arrivedAt"')
            if ready is clients[0]:
                latencies_ms += _list_ages_ms(data)


def _list_ages_ms(data: bytes) -> list[float]:
    now = time.time()
    found = [text.decode().replace("Z", "+00:00") for text in _ARRIVED_AT.findall(data)]
    arrivals = [datetime.fromisoformat(each).astimezone(UTC).timestamp() for each in found]
    return [(now - at) * 1_000 for at in arrivals]

"""A day of one device as a series, and a group's records as an export: speed, and memory."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from bench.service import Service, postgres, running
from bench.table import Findings, Row

RECORDS = 100_000
DEVICES = 50
PER_BATCH = 5_000
DAY_OF_RECORDS = 8_640  # one every ten seconds
BEGIN_S = 1_772_323_200  # the first of March 2026
REPETITIONS = 20
SERIES_P95_MS_MAX = 100
EXPORTED_PER_S_MIN = 50_000
GROWTH_MIB_MAX = 64
SETTLED_S = 6.0  # on PostgreSQL, what has just arrived is not exported yet


def measure(findings: Findings, seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        _measure_engine(findings, Path(folder), "")
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder, postgres() as url:
        _measure_engine(findings, Path(folder), url)


def _measure_engine(findings: Findings, data: Path, url: str) -> None:
    arguments = ("--database", url) if url else ()
    engine = "PostgreSQL" if url else "SQLite"
    with running(*arguments, data=data) as service:
        group = service.call("POST", "/group", {"name": "Quay"})["id"]
        numbers = [f"{number:06x}" for number in range(DEVICES)]
        alike = {"groupId": group, "type": "generic", "network": "mqtt"}
        created = service.call("POST", "/devices", {**alike, "originalDevicesIds": numbers})
        devices = [each["deviceId"] for each in created["items"]]
        _store(service, devices[:1], DAY_OF_RECORDS, 10)
        findings.add(_measure_series(service, devices[0], engine))
        _store(service, devices[1:], RECORDS - DAY_OF_RECORDS, 1)
        time.sleep(SETTLED_S)
        for format_name in ("ndjson", "csv"):
            findings.add(_measure_export(service, group, format_name, engine))


def _store(service: Service, devices: list[str], count: int, every_s: int) -> None:
    """Store records of devices in turn, so many seconds apart."""
    for start in range(0, count, PER_BATCH):
        items = [
            _record(devices[number % len(devices)], number, every_s)
            for number in range(start, min(start + PER_BATCH, count))
        ]
        service.call("POST", "/device/data/batch", {"items": items})


def _record(device: str, number: int, every_s: int) -> dict[str, Any]:
    values = {"temperature": 20 + number % 7, "humidity": 40, "pressure": 1013.25}
    return {
        "deviceId": device,
        "timestamp": BEGIN_S + number * every_s,
        "data": json.dumps(values),
        "configuration": "{}",
        "__raw": "0a1b2c3d",
        "deviceType": "generic",
    }


def _measure_series(service: Service, device: str, engine: str) -> Row:
    params = {"deviceId": device, "path": "/data/temperature"}
    params |= {"beginDate": "2026-03-01", "endDate": "2026-03-01"}
    times = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        service.http.get("/device/series", params=params).raise_for_status()
        times.append((time.perf_counter() - started) * 1_000)
    times.sort()
    p95 = times[int(len(times) * 0.95) - 1]
    return Row(
        f"{engine}: series of {DAY_OF_RECORDS:,} records",
        p50_ms=times[len(times) // 2],
        p99_ms=times[-1],
        note=f"p95 {p95:.1f} ms",
        aim=f"p95 ≤ {SERIES_P95_MS_MAX} ms",
        met=p95 <= SERIES_P95_MS_MAX,
    )


def _measure_export(service: Service, group: str, format_name: str, engine: str) -> Row:
    process = psutil.Process(service.pid)
    before = most = process.memory_info().rss
    cpu = sum(process.cpu_times()[:2])
    lines = 0
    params = {"groupId": group, "format": format_name}
    started = time.perf_counter()
    with service.http.stream("GET", "/records/export", params=params) as response:
        for chunk in response.raise_for_status().iter_raw():
            lines += chunk.count(b"\n")
            most = max(most, process.memory_info().rss)
    rate = lines / (time.perf_counter() - started)
    cpu = sum(process.cpu_times()[:2]) - cpu
    growth = (most - before) / 2**20
    if lines < RECORDS:
        raise RuntimeError(f"{lines} of {RECORDS} records were exported")
    return Row(
        f"{engine}: export of {RECORDS:,} records as {format_name}",
        rate=rate,
        note=f"+{growth:.0f} MiB, {lines / max(cpu, 0.01):,.0f} per second of CPU",
        aim=f"≥ {EXPORTED_PER_S_MIN:,}/s, + ≤ {GROWTH_MIB_MAX} MiB",
        met=rate >= EXPORTED_PER_S_MIN and growth <= GROWTH_MIB_MAX,
    )

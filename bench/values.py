"""Values: what they cost a record, and how fast they are read over a year."""

import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from bench.service import Service, postgres, running
from bench.table import Findings, Row

DAYS = 365
BEGIN_S = 1_735_689_600  # the first of January 2025
YEAR = {"beginDate": "2025-01-01", "endDate": "2025-12-31"}
PER_BATCH = 5_000
DENSE = DAYS * 144  # a message each ten minutes
METERS = 1_000
REPETITIONS = 20
POSTS = 1_500
ROUNDS = 3
HOURS_P95_MS_MAX = 50
FLEET_MS_MAX = 400
COST_MAX = 1.25
BEHIND = "longwire_summaries_behind_seconds "
SUMMARIES_S_MAX = 1_800


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
        measurement = {"name": "litres", "kind": "data", "path": "/data/litres", "class": "counter"}
        service.call(
            "PUT", "/device/type/measurements", {"type": "generic", "measurements": [measurement]}
        )
        dense, plain, *meters = create_devices(service, group, METERS + 2)
        findings.add(_measure_cost(service, [plain, dense], engine))
        before = _size_of(data) if not url else 0
        _store(service, [dense], DENSE, 600)
        _store(service, meters, METERS * DAYS, 86_400)
        began = time.perf_counter()
        wait_for_summaries(service)
        made_s = time.perf_counter() - began
        records = DENSE + METERS * DAYS
        note = f"{records / made_s:,.0f} records/s"
        if not url:
            note += f"; {_stored(data, before, records)}"
        findings.add(Row(f"{engine}: summaries of {records:,} records, made behind", note=note))
        hours = {"deviceId": dense, "measurement": "litres", **YEAR, "calendarSpan": "hour"}
        findings.add(
            _measure_reads(
                service,
                *("/device/series", hours, f"{engine}: a year of hourly means of a device"),
                HOURS_P95_MS_MAX,
            )
        )
        sums = {"groupId": group, "measurement": "litres", **YEAR, "calendarSpan": "day"}
        for zone in ("UTC", "Europe/Paris"):
            findings.add(
                _measure_reads(
                    service,
                    "/group/series",
                    {**sums, "timezone": zone},
                    f"{engine}: daily increases of {METERS:,} devices over a year, days of {zone}",
                    FLEET_MS_MAX,
                )
            )


def create_devices(service: Service, group: str, count: int) -> list[str]:
    alike = {"groupId": group, "type": "generic", "network": "mqtt"}
    devices: list[str] = []
    for start in range(0, count, 500):
        numbers = [f"{number:06x}" for number in range(start, min(start + 500, count))]
        created = service.call("POST", "/devices", {**alike, "originalDevicesIds": numbers})
        devices += [each["deviceId"] for each in created["items"]]
    return devices


def _store(service: Service, devices: list[str], count: int, every_s: int) -> None:
    """Store counters of devices in turn."""
    for start in range(0, count, PER_BATCH):
        items = []
        for number in range(start, min(start + PER_BATCH, count)):
            turn, index = divmod(number, len(devices))
            data = {"litres": turn * 3 + index}
            items.append(_record(devices[index], BEGIN_S + turn * every_s + index, data))
        service.call("POST", "/device/data/batch", {"items": items})


def _record(device: str, at_s: float, data: dict[str, Any]) -> dict[str, Any]:
    return {
        **{"deviceId": device, "timestamp": at_s, "data": json.dumps(data)},
        **{"configuration": "{}", "__raw": "0a1b2c3d", "deviceType": "generic"},
    }


def wait_for_summaries(service: Service) -> None:
    """Until no round of summaries has run for a while."""
    deadline = time.monotonic() + SUMMARIES_S_MAX
    idle = 0
    while idle < 3:
        if time.monotonic() > deadline:
            raise RuntimeError("the summaries are not made")
        time.sleep(15)
        text = service.http.get("/metrics").text
        (line,) = [each for each in text.splitlines() if each.startswith(BEHIND)]
        idle = idle + 1 if float(line.removeprefix(BEHIND)) == 0 else 0


def _size_of(data: Path) -> int:
    return sum(each.stat().st_size for each in data.glob("longwire.db*"))


def _stored(data: Path, before: int, records: int) -> str:
    """Bytes of summaries of each value."""
    (file,) = data.glob("longwire.db")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        (days,) = connection.execute("select sum(length(packed)) from summary_days").fetchone()
        (packed,) = connection.execute(
            "select sum(length(packed)) from summary_quarters"
        ).fetchone()
    return f"{(packed + days) / records:.0f} bytes of sums for each value"


def _measure_reads(
    service: Service, path: str, params: dict[str, Any], name: str, most_ms: float
) -> Row:
    times = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        found = service.http.get(path, params=params).raise_for_status().json()
        times.append((time.perf_counter() - started) * 1_000)
    points = found.get("points") or found["items"][0]["points"]
    times.sort()
    p95 = times[int(len(times) * 0.95) - 1]
    return Row(
        name,
        p50_ms=times[len(times) // 2],
        p99_ms=times[-1],
        note=f"p95 {p95:.1f} ms, {len(points):,} points",
        aim=f"p95 ≤ {most_ms:g} ms",
        met=p95 <= most_ms,
    )


def _post_values(service: Service, device: str, begin_s: float, *, has_values: bool) -> float:
    """Processor time of some records with five numbers, or with words as long as these."""
    process = psutil.Process(service.pid)
    before = sum(process.cpu_times()[:2])
    for number in range(POSTS):
        values = {f"v{index}": number + index + 1_000 for index in range(5)}
        words = {name: f"w{value:04}"[:2] for name, value in values.items()}
        data = values if has_values else words
        service.call("POST", "/device/data", _record(device, begin_s + number, data))
    return float(sum(process.cpu_times()[:2]) - before)


def _measure_cost(service: Service, devices: list[str], engine: str) -> Row:
    """Processor time of a POST with five numbers, and with five words that look like them."""
    spent = {True: 0.0, False: 0.0}
    begin_s = time.time() - 3 * ROUNDS * POSTS
    for turn in range(2 * ROUNDS):
        has_values = turn % 2 == 1
        at_s = begin_s + turn * POSTS
        spent[has_values] += _post_values(service, devices[has_values], at_s, has_values=has_values)
    ratio = spent[True] / spent[False]
    return Row(
        f"{engine}: processor time of a POST with five numbers against one with none",
        ratio=ratio,
        note=f"{spent[True] / POSTS / ROUNDS * 1e6:.0f} µs against "
        f"{spent[False] / POSTS / ROUNDS * 1e6:.0f} µs",
        aim=f"≤ {COST_MAX}",
        met=ratio <= COST_MAX,
    )

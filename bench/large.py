"""Ingest and pages in a database of ten million records and a hundred thousand devices.

Takes several minutes and some gigabytes of disk, so it runs only if it is named:
`make bench ARGS="large"`. The records are stored by the service's own ingest, without HTTP. Filling
takes nearly all of the time: with BENCH_FOLDER set, the databases are kept there and reused by the
next run.
"""

import asyncio
import json
import os
import random
import shutil
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from bench.ingest import CONNECTIONS, Records, fleet
from bench.load import Result, run
from bench.service import Service, running
from bench.table import Findings, Row, measured, rss_mb
from longwire.api.records.record_shapes import DeviceDataInput
from longwire.api.records.records import build_item
from longwire.clock import Clock
from longwire.ingest.requests import IngestRequest
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.storing import store_requests
from longwire.model import SYSTEM
from longwire.process.startup import build_database
from longwire.settings import Settings

RECORDS = 10_000_000
DEVICES = 100_000
PER_COMMIT = 2_000
PAGES = 200
REPORTING = 20_000


def measure(findings: Findings, seconds: float) -> None:
    with make_folder("large") as name:
        folder = Path(name)
        _fill_both(findings, folder)
        before, small, _ = _measured(folder / "small", seconds)
        findings.add(measured("POST /device/data, small database", before))
        after, large, memory = _measured(folder / "large", seconds)
        findings.add(
            measured("POST /device/data, large database", after, ceiling=before, ratio_min=0.9)
        )
        cold, _, _ = _measured(folder / "large", seconds, is_warm=False)
        findings.add(
            measured(
                "POST /device/data, large database, nothing of it in memory at first",
                cold,
                ceiling=before,
                ratio_min=0.5,
            )
        )
        findings.add(
            Row(
                "a page of 100 of any device, large against small",
                ratio=large / small,
                p50_ms=large,
                note=f"small {small:.2f} ms",
                aim="ratio ≤ 1.5",
                met=large / small <= 1.5,
            )
        )
        findings.add(
            Row(
                "resident memory, large database",
                note=f"{memory:.0f} MB",
                aim="< 300 MB",
                met=memory < 300,
            )
        )


def make_folder(name: str) -> AbstractContextManager[str]:
    """A folder for databases; the one that is kept, if there is one."""
    kept = os.environ.get("BENCH_FOLDER")
    if kept is None:
        return tempfile.TemporaryDirectory(prefix=f"longwire-bench-{name}-")
    Path(kept).mkdir(parents=True, exist_ok=True)
    return nullcontext(kept)


def _fill_both(findings: Findings, folder: Path) -> None:
    """Two databases of the same fleet: one with a hundred thousand records, one with all."""
    small, large = folder / "small", folder / "large"
    if not (large / "filled").exists():
        for each in (small, large):
            shutil.rmtree(each, ignore_errors=True)
        with running(data=small) as service:
            devices = fleet(service, DEVICES)
        (small / "devices.json").write_text(json.dumps(devices))
        shutil.copytree(small, large)
        fill(small, devices[:1_000], 100_000)
        started = time.perf_counter()
        fill(large, devices, RECORDS)
        took = time.perf_counter() - started
        (large / "filled").write_text(str(took))
    took = float((large / "filled").read_text())
    size = (large / "longwire.db").stat().st_size
    findings.add(
        Row(
            f"filled with {RECORDS:,} records",
            rate=RECORDS / took,
            note=f"{size / RECORDS:.0f} bytes a record, {took:.0f} s",
        )
    )


def _measured(data: Path, seconds: float, *, is_warm: bool = True) -> tuple[Result, float, float]:
    """Rate of ingest, latency of a page, and memory after both."""
    devices = json.loads((data / "devices.json").read_text())
    filled = devices if (data / "filled").exists() else devices[:1_000]
    some = random.Random(1).sample(devices, REPORTING)
    if is_warm:
        _warm(data)
    else:
        cool(data)
    with running(data=data) as service:
        # New records also if the same folder is measured again.
        first = 10_000_000 + int(time.time()) % 800 * 100_000
        result = run(
            service.host,
            service.port,
            Records(service, some, first),
            connections=CONNECTIONS,
            seconds=seconds,
        )
        return result, _page_ms(service, filled), rss_mb(service.pid)


def _warm(data: Path) -> None:
    """Read the file into the page cache, as it is in a service that has been running for a while.

    Otherwise the first measurement is that of random reads from disk.
    """
    with open(data / "longwire.db", "rb") as file:
        while file.read(16 * 1024 * 1024):
            pass


def cool(data: Path) -> None:
    """Have the page cache drop the file, as after a restart of the machine."""
    with open(data / "longwire.db", "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _page_ms(service: Service, devices: list[str]) -> float:
    """The median latency of random pages of random devices, one request at a time."""
    chance = random.Random(2)
    times = []
    for _ in range(PAGES):
        params = {
            "deviceId": chance.choice(devices),
            "limit": 100,
            "beginDate": 1_700_000_000 + chance.randrange(100) * 600,
        }
        started = time.perf_counter()
        service.http.get("/device/data", params=params).raise_for_status()
        times.append((time.perf_counter() - started) * 1_000)
    return sorted(times)[len(times) // 2]


def fill(data: Path, devices: list[str], records: int) -> None:
    """Store records ten minutes apart, round robin over the devices."""

    async def fill() -> None:
        database, _ = build_database(Settings(data=data), Clock())
        database.start()
        sequencer = Sequencer(1)
        for start in range(0, records, PER_COMMIT):
            items = [
                _record(devices[number % len(devices)], number // len(devices))
                for number in range(start, min(records, start + PER_COMMIT))
            ]
            unit = IngestRequest(SYSTEM, items, is_batch=True)
            await database.write(lambda tx, unit=unit: store_requests(tx, [unit], sequencer))
        database.close()

    asyncio.run(fill())


def _record(device: str, number: int):
    sent = DeviceDataInput(
        device_id=device,
        timestamp=1_700_000_000 + number * 600,
        data=f'{{"temperature":21.5,"humidity":48,"seq":{number}}}',
        configuration="{}",
        raw="0a1b2c3d4e5f",
        device_type="tracker",
    )
    return build_item(sent)

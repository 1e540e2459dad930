"""The Python client: single records against a raw httpx loop, batches against the service's rate.

Single records are measured in short turns, one after the other, so that what else the machine does
meets both. The ceiling of the writer is what the service takes in batches from the load client, in
the same run: the writer shares the machine with the service, and encodes every record.
"""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bench.ingest import BATCH, Batches, fleet
from bench.load import run
from bench.service import Service, running
from bench.table import Findings, Row
from longwire_client import Client, Writer
from longwire_client import models as m

DEVICES = 100
TURNS = 10
RATE_MIN = 20_000
RATIO_MIN = 0.8


def measure(findings: Findings, seconds: float) -> None:
    with running() as service:
        devices = fleet(service, DEVICES)
        url = f"http://{service.host}:{service.port}"
        credentials = {"client_id": service.client_id, "client_secret": service.client_secret}
        with Client(url, **credentials) as client:
            _singles(findings, service, client, devices, seconds)
            ceiling = run(
                service.host,
                service.port,
                Batches(service, devices),
                connections=4,
                seconds=seconds,
            )
            rate = ceiling.rate * BATCH
            findings.add(
                Row(f"ceiling: batches of {BATCH}, load client", rate=rate, note="rate in records")
            )
            times = itertools.count(1_850_000_000)
            for in_flight, has_spool in ((1, False), (4, False), (4, True)):
                options = {"has_spool": has_spool, "in_flight": in_flight}
                _writer(findings, client, _records(devices, times), rate, seconds, **options)


def _singles(
    findings: Findings, service: Service, client: Client, devices: list[str], seconds: float
) -> None:
    times = itertools.count(1_800_000_000)
    device = itertools.cycle(devices)

    def raw() -> None:
        fields = {
            "deviceId": next(device),
            "timestamp": next(times),
            "data": '{"temperature":21.5}',
        }
        record = {**fields, "configuration": "{}", "__raw": "0a", "deviceType": "tracker"}
        service.http.post("/device/data", json=record).raise_for_status().json()

    def typed() -> None:
        client.data.store(
            next(device),
            timestamp=next(times),
            data={"temperature": 21.5},
            configuration="{}",
            raw="0a",
            device_type="tracker",
        )

    done = {raw: 0, typed: 0}
    for _ in range(TURNS):
        for work in done:
            done[work] += _repeat(work, seconds / TURNS)
    ratio = done[typed] / done[raw]
    findings.add(Row("ceiling: httpx loop, POST /device/data", rate=done[raw] / seconds))
    findings.add(
        Row(
            "client.data.store",
            rate=done[typed] / seconds,
            ratio=ratio,
            note="one thread, one connection",
            aim=f"ratio ≥ {RATIO_MIN:.2f}",
            met=ratio >= RATIO_MIN,
        )
    )


def _repeat(work: Callable[[], None], seconds: float) -> int:
    end = time.perf_counter() + seconds
    for number in itertools.count():
        if time.perf_counter() >= end:
            return number
        work()
    raise AssertionError


def _records(devices: list[str], times: Iterator[int]) -> Iterator[m.DeviceDataInput]:
    for device in itertools.cycle(devices):
        yield m.DeviceDataInput(
            device_id=device,
            timestamp=next(times),
            data='{"temperature":21.5,"humidity":48,"seq":0}',
            configuration="{}",
            raw="0a1b2c3d4e5f",
            device_type="tracker",
        )


def _write_singly(writer: Writer, records: Iterable[m.DeviceDataInput]) -> None:
    for record in records:
        writer.write(record)


def _writer(
    findings: Findings,
    client: Client,
    records: Iterator[m.DeviceDataInput],
    ceiling: float,
    seconds: float,
    *,
    has_spool: bool,
    in_flight: int,
) -> None:
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        spool = Path(folder) / "spool.db" if has_spool else None
        write = Writer.write_many if has_spool else _write_singly
        with client.writer(spool=spool, batch_records=BATCH, in_flight=in_flight) as writer:
            started, worked = time.perf_counter(), time.process_time()
            while time.perf_counter() < started + seconds:
                write(writer, itertools.islice(records, BATCH))
            writer.flush()
            stored = writer.status.stored
            rate = stored / (time.perf_counter() - started)
            cost_us = (time.process_time() - worked) / stored * 1e6
    how = f"write_many of {BATCH}, with fsync" if has_spool else "write, one by one"
    findings.add(
        Row(
            f"batching writer, {'spool' if has_spool else 'memory'}, {in_flight} in flight",
            rate=rate,
            ratio=rate / ceiling,
            note=f"records, {cost_us:.0f} µs of processor each; {how}",
            aim=f"≥ {RATE_MIN:,}/s" if in_flight > 1 else "",
            met=rate >= RATE_MIN if in_flight > 1 else None,
        )
    )

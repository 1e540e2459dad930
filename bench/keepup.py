"""Whether deliveries keep up with ingest: one webhook, at rising rates and saturated.

Each record carries when it was sent, so that its age on arrival at the receiver is measured without
a second clock. What counts is what arrives while the load goes on.
"""

import json
import statistics
import time

import psutil

from bench.delivery import LOOPBACK, connect, get_group, record
from bench.ingest import CONNECTIONS, DEVICES, fleet
from bench.load import UnexpectedStatus, framed, head, run
from bench.receiver import Receiver, receiving
from bench.service import Service, postgres, running
from bench.table import Findings, Row

RATES = (500, 1_000, 2_000, None)  # per second; None: as many as are accepted
KEPT_MIN = {500: 0.98, 1_000: 0.98, 2_000: 0.98, None: 0.8}
P50_MS_MAX = 1_000.0
WARMUP_S = 1.0
DRAIN_S = 120.0


class StampedRecords:
    """The n-th record of a fleet; it says on which microsecond it was made."""

    def __init__(self, service: Service, devices: list[str]) -> None:
        headers = {
            "Authorization": f"Bearer {service.token}",
            "Content-Type": "application/json",
        }
        self._head = head("POST", "/device/data", headers=headers)
        self._devices = devices

    def __call__(self, number: int) -> bytes:
        body = record(self._devices[number % len(self._devices)], int(time.monotonic() * 1e6))
        return framed(self._head, json.dumps(body).encode())


def measure(findings: Findings, seconds: float) -> None:
    with receiving() as receiver:
        for rate in RATES:
            _measure_rate(findings, receiver, rate, seconds, "SQLite")
        for rate in RATES:
            with postgres() as url:
                _measure_rate(findings, receiver, rate, seconds, "PostgreSQL", "--database", url)


def _measure_rate(
    findings: Findings,
    receiver: Receiver,
    rate: int | None,
    seconds: float,
    engine: str,
    *arguments: str,
) -> None:
    receiver.reset()
    with running(*LOOPBACK, *arguments) as service:
        devices = fleet(service, DEVICES)
        connect(service, get_group(service, devices[0]), receiver.url(), {})
        process = psutil.Process(service.pid)
        used_s, began = _processor_s(process), time.monotonic()
        try:
            run(
                service.host,
                service.port,
                StampedRecords(service, devices),
                connections=CONNECTIONS,
                seconds=seconds,
                warmup_s=WARMUP_S,
                rate=rate,
            )
        except UnexpectedStatus as error:
            findings.add(Row(f"{engine}: {rate or 'saturated'}", note=str(error)))
            return
        ended = time.monotonic()
        used_s = _processor_s(process) - used_s
        _wait_until_drained(receiver)
        arrivals = [(number / 1e6, at) for number, at in receiver.arrivals()]
    began = min(sent for sent, _ in arrivals) + WARMUP_S
    ended = min(ended, max(sent for sent, _ in arrivals))
    accepted = [(sent, at) for sent, at in arrivals if began <= sent <= ended]
    delivered = sum(began <= at <= ended for _, at in arrivals)
    kept = delivered / len(accepted)
    ages_ms = sorted(1_000 * (at - sent) for sent, at in accepted)
    p50 = statistics.median(ages_ms)
    findings.add(
        Row(
            f"{engine}: {f'{rate:,}/s' if rate else 'saturated'}, delivered meanwhile",
            rate=delivered / (ended - began),
            p50_ms=p50,
            p99_ms=ages_ms[int(0.99 * len(ages_ms))],
            ratio=kept,
            aim=f"of accepted ≥ {KEPT_MIN[rate]}, p50 ≤ {P50_MS_MAX:.0f} ms",
            met=kept >= KEPT_MIN[rate] and p50 <= P50_MS_MAX,
            note=f"{len(accepted) / (ended - began):,.0f} accepted/s,"
            f" {1_000 * used_s / len(arrivals):.2f} ms of processor time each,"
            f" {used_s / (seconds + WARMUP_S):.0%} of a core",
        )
    )


def _processor_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _wait_until_drained(receiver: Receiver) -> None:
    """Until nothing arrives any more."""
    deadline, last = time.monotonic() + DRAIN_S, -1
    while (count := receiver.count()) != last and time.monotonic() < deadline:
        last = count
        time.sleep(2)

"""What it costs to store traces and attempts: CPU time of the service for each message.

Two services that differ in this alone are loaded in turns, so that whatever else runs on the
machine slows both. The ratio is that of the one without to the one with: what is left of the rate.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import median

from bench import networks
from bench.delivery import LOOPBACK, connect, get_group, post_records
from bench.ingest import CONNECTIONS, fleet
from bench.live import cpu_s
from bench.load import run
from bench.receiver import receiving
from bench.service import Service, running
from bench.table import Findings, Row

RATIO_MIN = 0.95
ROUNDS = 6
MESSAGES = 3_000
SETTLED_S = 0.3  # after the last message has arrived
WITHOUT_ATTEMPTS = "bench.without_attempts"

# Loads a service, the n-th time; CPU microseconds for each message.
Load = Callable[[Service, int], float]


def measure(findings: Findings, seconds: float) -> None:
    _measure_traces(findings, seconds)
    _measure_attempts(findings)


def _measure_traces(findings: Findings, seconds: float) -> None:
    with ExitStack() as stack:
        services = [
            stack.enter_context(running("--trace-keep-hours", hours)) for hours in ("0", "72")
        ]
        tokens = {each.pid: networks.fleet(each)[1] for each in services}

        def load(service: Service, number: int) -> float:
            callbacks = networks.Callbacks(tokens[service.pid], first=3_000_000 * (number + 1))
            before = cpu_s(service.pid)
            result = run(
                service.host,
                service.port,
                callbacks,
                connections=CONNECTIONS,
                seconds=seconds,
                warmup_s=0.0,
            )
            return (cpu_s(service.pid) - before) * 1e6 / result.requests

        findings.add(_compare("callbacks with bodies stored for traces", services, load))


def _measure_attempts(findings: Findings) -> None:
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        services = [
            stack.enter_context(running(*LOOPBACK, module=module))
            for module in (WITHOUT_ATTEMPTS, "longwire")
        ]
        devices = {each.pid: fleet(each) for each in services}
        for each in services:
            connect(each, get_group(each, devices[each.pid][0]), receiver.url(), {})

        def load(service: Service, number: int) -> float:
            receiver.reset()
            before = cpu_s(service.pid)
            post_records(service, devices[service.pid], MESSAGES, first=number * MESSAGES)
            receiver.wait_for(MESSAGES, 120)
            time.sleep(SETTLED_S)
            return (cpu_s(service.pid) - before) * 1e6 / MESSAGES

        findings.add(_compare("records stored and forwarded, with attempts", services, load))


def _compare(name: str, services: Sequence[Service], load: Load) -> Row:
    """Loads two services in turns, the first of which stores less."""
    without, with_ = services
    for each in services:
        load(each, 0)
    pairs = []
    for number in range(1, ROUNDS + 1):
        # The second of two runs has warmer caches, or a fuller disk: so they change places.
        if number % 2:
            pairs.append((load(without, number), load(with_, number)))
        else:
            pairs.append((load(with_, number), load(without, number))[::-1])
    ratio = median(less / more for less, more in pairs)
    less, more = (median(each) for each in zip(*pairs, strict=True))
    return Row(
        name,
        ratio=ratio,
        note=f"{more:.0f} µs of CPU time each, {less:.0f} without",
        aim=f"ratio ≥ {RATIO_MIN:.2f}",
        met=ratio >= RATIO_MIN,
    )

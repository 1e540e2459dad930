"""Delivery: forwarding, batches, a backlog, and what connectors cost ingest."""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

import aiohttp

from bench.ingest import CONNECTIONS, Records, fleet
from bench.load import run
from bench.receiver import HANGING, Receiver, receiving
from bench.service import Service, running
from bench.table import Findings, Row, rss_mb

LOOPBACK = ("--egress-allow", "127.0.0.0/8")
MESSAGES = 10_000
BACKLOG = 200_000
BATCH = 100
FILL = 1_000
IN_FLIGHT = 16
STEADY_PER_S = 200
HEALTHY = 9
NEIGHBOURS_PER_S = 40
NEIGHBOUR_ROUNDS = 3
MEMORY_MB_MAX = 300.0
OTHERS = 199
ALTERNATIONS = 3


def measure(findings: Findings, seconds: float) -> None:
    with receiving() as receiver:
        bare = _bare_client(findings, receiver, seconds)
        plain = _drained(findings, receiver, "forwarding a backlog", MESSAGES, {})
        findings.add(_ratio_row("forwarding against the bare client", plain / bare, 0.65))
        batched = _drained(
            findings, receiver, f"the same in batches of {BATCH}", 4 * MESSAGES, {"batch": BATCH}
        )
        findings.add(_ratio_row("batches against single messages", batched / plain, 2.0))
        _latency(findings, receiver, seconds)
        _cost_to_ingest(findings, receiver, seconds)
        _many_connectors(findings, receiver, seconds)
        _neighbours(findings, receiver, seconds)
        _large_backlog(findings, receiver)


def _ratio_row(name: str, ratio: float, ratio_min: float) -> Row:
    return Row(name, ratio=ratio, aim=f"ratio ≥ {ratio_min:.2f}", met=ratio >= ratio_min)


def _bare_client(findings: Findings, receiver: Receiver, seconds: float) -> float:
    """POSTs per second of a bare aiohttp client."""
    text = json.dumps(record("dev_" + "x" * 24, 0)).encode()
    headers = {"Content-Type": "application/json", "webhook-id": "msg_1_198131450c60a401"}

    async def post(session: aiohttp.ClientSession, until: float) -> int:
        sent = 0
        while time.monotonic() < until:
            async with session.post(receiver.url(), data=text, headers=headers) as response:
                await response.read()
            sent += 1
        return sent

    async def work() -> float:
        connector = aiohttp.TCPConnector(limit=IN_FLIGHT)
        async with aiohttp.ClientSession(connector=connector) as session:
            began = time.monotonic()
            until = began + seconds
            sent = await asyncio.gather(*(post(session, until) for _ in range(IN_FLIGHT)))
            return sum(sent) / (time.monotonic() - began)

    rate = asyncio.run(work())
    findings.add(Row("ceiling: bare aiohttp client", rate=rate))
    receiver.reset()
    return rate


def record(device: str, number: int) -> dict[str, object]:
    return {
        "deviceId": device,
        "timestamp": 1_700_000_000_000 + number,
        "data": json.dumps(
            {"temperature": 21.5, "humidity": 48, "n": number}, separators=(",", ":")
        ),
        "configuration": "{}",
        "__raw": "0a1b2c3d4e5f",
        "deviceType": "tracker",
    }


def connect(
    service: Service, group: str, url: str, params: dict[str, object], **fields: object
) -> None:
    text = json.dumps({"url": url, **params})
    body = {"groupId": group, "type": "http", "params": text, **fields}
    service.call("POST", "/connector", body)


def get_group(service: Service, device: str) -> str:
    return str(service.call("GET", "/device", deviceId=device)["groupId"])


def post_records(service: Service, devices: list[str], number: int, first: int = 0) -> None:
    for start in range(first, first + number, FILL):
        items = [record(devices[each % len(devices)], each) for each in range(start, start + FILL)]
        service.call("POST", "/device/data/batch", {"items": items})


def _filled(receiver: Receiver, data: Path, number: int, params: dict[str, object]) -> None:
    """A data folder with this many queued messages, and nothing sent yet."""
    with running(*LOOPBACK, "--delivery", "false", data=data) as service:
        devices = fleet(service)
        connect(service, get_group(service, devices[0]), receiver.url(), params)
        post_records(service, devices, number)


def _drained(
    findings: Findings, receiver: Receiver, name: str, number: int, params: dict[str, object]
) -> float:
    receiver.reset()
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        data = Path(folder) / "data"
        _filled(receiver, data, number, params)
        with running(*LOOPBACK, data=data):
            rate = number / receiver.wait_for(number, 300)
    findings.add(Row(name, rate=rate, note=f"{number:,} messages"))
    return rate


def _latency(findings: Findings, receiver: Receiver, seconds: float) -> None:
    """From the response to the client to the arrival at the receiver."""
    receiver.reset()
    with running(*LOOPBACK) as service:
        devices = fleet(service, 100)
        connect(service, get_group(service, devices[0]), receiver.url(), {})
        accepted: dict[int, float] = {}
        began = time.monotonic()
        for number in range(int(STEADY_PER_S * max(seconds, 2.0))):
            delay = began + number / STEADY_PER_S - time.monotonic()
            if delay > 0:
                time.sleep(delay)
            service.call("POST", "/device/data", record(devices[number % 100], number))
            accepted[number] = time.monotonic()
        receiver.wait_for(len(accepted), 30)
        arrivals = receiver.arrivals()
    late = [max(0.0, at - accepted[number]) * 1_000 for number, at in arrivals]
    p50, p99 = statistics.median(late), _p99(late)
    findings.add(
        Row(
            f"accepted to received at {STEADY_PER_S}/s",
            p50_ms=p50,
            p99_ms=p99,
            aim="p50 ≤ 20 ms, p99 ≤ 150 ms",
            met=p50 <= 20 and p99 <= 150,
        )
    )


def _cost_to_ingest(findings: Findings, receiver: Receiver, seconds: float) -> None:
    rates = []
    for is_connected in (False, True):
        with running(*LOOPBACK) as service:
            devices = fleet(service)
            if is_connected:
                connect(service, get_group(service, devices[0]), receiver.url(), {})
            result = run(
                service.host,
                service.port,
                Records(service, devices),
                connections=CONNECTIONS,
                seconds=seconds,
            )
            rates.append(result.rate)
            name = "with one connector" if is_connected else "without connectors"
            findings.add(
                Row(
                    f"POST /device/data {name}",
                    rate=result.rate,
                    p50_ms=result.p50_ms,
                    p99_ms=result.p99_ms,
                )
            )
    findings.add(_ratio_row("ingest with a connector against without", rates[1] / rates[0], 0.25))


def _many_connectors(findings: Findings, receiver: Receiver, seconds: float) -> None:
    """Other connectors of the group that do not match: by device, by type and by filter."""
    rates: dict[int, list[float]] = {0: [], OTHERS: []}
    for _ in range(ALTERNATIONS):
        for others in rates:
            rates[others].append(_measure_rate(receiver, others, seconds))
    alone, among = (statistics.median(each) for each in rates.values())
    for name, rate in (("one connector", alone), (f"{OTHERS} more that do not match", among)):
        findings.add(Row(f"POST /device/data with {name}", rate=rate))
    findings.add(_ratio_row(f"ingest with {OTHERS + 1} connectors", among / alone, 0.8))


def _measure_rate(receiver: Receiver, others: int, seconds: float) -> float:
    """Of ingest, with one connector that matches and so many that do not."""
    with running(*LOOPBACK) as service:
        devices = fleet(service)
        group = get_group(service, devices[0])
        connect(service, group, receiver.url(), {})
        for number in range(others):
            connect(service, group, receiver.url(), {}, **_mismatch(number, devices))
        return run(
            service.host,
            service.port,
            Records(service, devices[1:]),
            connections=CONNECTIONS,
            seconds=seconds,
        ).rate


def _mismatch(number: int, devices: list[str]) -> dict[str, object]:
    filters = (
        {"deviceIds": [devices[0]]},
        {"deviceTypes": ["generic"]},
        {"messageFilter": f"message.data.humidity == {1_000 + number}"},
        {"messageFilter": f"message.kind == 'data' && message.data.temperature > {100 + number}"},
        {"messageFilter": "message.kind in ['event', 'geoloc'] && message.tags.size() > 0"},
    )
    return filters[number % len(filters)]


def _neighbours(findings: Findings, receiver: Receiver, seconds: float) -> None:
    """Ten healthy receivers, then nine and one that hangs; alternating, so that both see the same
    load."""
    took: dict[bool, list[float]] = {False: [], True: []}
    late: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(NEIGHBOUR_ROUNDS):
        for has_hanging in (False, True):
            _measure_neighbours(
                receiver, seconds, took[has_hanging], late[has_hanging], hangs=has_hanging
            )
    for has_hanging in (False, True):
        arrival = late[has_hanging]
        name = "nine receivers and one that hangs" if has_hanging else "ten receivers"
        findings.add(
            Row(
                f"{name}: ingest, then arrival",
                p50_ms=statistics.median(took[has_hanging]),
                p99_ms=_p99(took[has_hanging]),
                note=f"arrival p50 {statistics.median(arrival):.1f} ms, p99 {_p99(arrival):.1f} ms",
            )
        )
    more = [_p99(each[True]) / _p99(each[False]) for each in (took, late)]
    findings.add(
        Row(
            "slowdown by the receiver that hangs",
            note=f"ingest p99 {more[0]:.2f} times, arrival p99 {more[1]:.2f} times",
            aim="both ≤ 1.10",
            met=max(more) <= 1.1,
        )
    )


def _measure_neighbours(
    receiver: Receiver, seconds: float, took: list[float], late: list[float], *, hangs: bool
) -> None:
    receiver.reset()
    with running(*LOOPBACK) as service:
        devices = fleet(service, 100)
        group = get_group(service, devices[0])
        for each in range(HEALTHY):
            connect(service, group, receiver.url(f"/{each}"), {})
        connect(service, group, receiver.url(HANGING if hangs else f"/{HEALTHY}"), {})
        accepted: dict[int, float] = {}
        began = time.monotonic()
        for number in range(int(NEIGHBOURS_PER_S * max(seconds, 3.0))):
            delay = began + number / NEIGHBOURS_PER_S - time.monotonic()
            if delay > 0:
                time.sleep(delay)
            sent = time.monotonic()
            service.call("POST", "/device/data", record(devices[number % 100], number))
            accepted[number] = time.monotonic()
            took.append((accepted[number] - sent) * 1_000)
        receiver.wait_for(len(accepted) * (HEALTHY + (not hangs)), 30)
        late += [max(0.0, at - accepted[number]) * 1_000 for number, at in receiver.arrivals()]


def _p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def _large_backlog(findings: Findings, receiver: Receiver) -> None:
    receiver.reset()
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        data = Path(folder) / "data"
        _filled(receiver, data, BACKLOG, {"batch": BATCH})
        with running(*LOOPBACK, data=data) as service:
            began = time.monotonic()
            most = _watch_memory(service, receiver, deadline=began + 600)
    findings.add(
        Row(
            f"a backlog of {BACKLOG:,} drains",
            rate=BACKLOG / (time.monotonic() - began),
            note=f"{most:.0f} MB at most",
            aim=f"< {MEMORY_MB_MAX:.0f} MB",
            met=most < MEMORY_MB_MAX,
        )
    )


def _watch_memory(service: Service, receiver: Receiver, deadline: float) -> float:
    """The most that the service takes until its backlog is drained, in MB."""
    most = 0.0
    while receiver.count() < BACKLOG:
        most = max(most, rss_mb(service.pid))
        if time.monotonic() > deadline:
            raise RuntimeError("the backlog does not drain")
        time.sleep(0.2)
    return most

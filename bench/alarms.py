"""Alarms on values: what conditions cost a record, what a storm costs others, and backtests."""

import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from bench.delivery import LOOPBACK
from bench.ingest import CONNECTIONS, Records, fleet
from bench.load import run
from bench.receiver import receiving
from bench.service import Service, postgres, running
from bench.table import Findings, Row
from bench.values import create_devices, wait_for_summaries

CONDITIONS = 50
RATIO_MIN = 0.9
ROUNDS = 3
STORM = 10_000  # devices that are resolved at once
STORM_BATCH = 500
VICTIM_POSTS = 300
VICTIM_MAX = 3.0  # times as long as alone
SINGLE_MAX = 60  # messages for a contact in a minute
POSTS = 1_000
NOWHERE = "https://example.com/alarm"
DEVICES = 100
DAYS = 30
EVERY_S = 600
BEGIN_S = 1_735_689_600  # the first of January 2025
PER_BATCH = 5_000
FROM_RECORDS_S_MAX = 20
FROM_SUMMARIES_S_MAX = 2
# Of the temperature of the records: never met, and met all the time but not for long enough.
IDLE: dict[str, Any] = {"measurement": "temperature", "above": 1_000}
PENDING: dict[str, Any] = {"measurement": "temperature", "above": -1_000, "for": 86_400}


def measure(findings: Findings, seconds: float) -> None:
    _measure_ingest(findings, seconds)
    _measure_cost(findings)
    _measure_storm(findings, "")
    with postgres() as url:
        _measure_storm(findings, url)
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        _measure_backtests(findings, Path(folder), "")
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder, postgres() as url:
        _measure_backtests(findings, Path(folder), url)


def _add_conditions(service: Service, device: str, number: int, params: dict[str, Any]) -> None:
    group = service.call("GET", "/device", deviceId=device)["groupId"]
    for each in range(number):
        text = json.dumps({"url": NOWHERE, **params})
        body = {"groupId": group, "type": "webhook", "name": f"n{each}", "params": text}
        service.call("POST", "/notification", {**body, "reason": "measurement"})


# --- records ---


def _measure_ingest(findings: Findings, seconds: float) -> None:
    """Alternating, so that both run under the same conditions.

    By processor time as well, which depends less on who else uses the machine.
    """
    rates: dict[int, list[float]] = {0: [], CONDITIONS: []}
    spent_us: dict[int, list[float]] = {0: [], CONDITIONS: []}
    for _ in range(ROUNDS):
        for number, found in rates.items():
            with running(*LOOPBACK) as service:
                devices = fleet(service)
                _add_conditions(service, devices[0], number, IDLE)
                records = Records(service, devices)
                process = psutil.Process(service.pid)
                before = sum(process.cpu_times()[:2])
                result = run(
                    *(service.host, service.port, records),
                    connections=CONNECTIONS,
                    seconds=seconds,
                    warmup_s=0.0,
                )
                found.append(result.rate)
                used = sum(process.cpu_times()[:2]) - before
                spent_us[number].append(1e6 * used / result.requests)
    ratio = min(spent_us[0]) / min(spent_us[CONDITIONS])
    findings.add(
        Row(
            f"the same by processor time of {CONDITIONS} conditions against none",
            ratio=ratio,
            note=f"{min(spent_us[0]):.1f} and {min(spent_us[CONDITIONS]):.1f} µs for a record",
            aim=f"ratio ≥ {RATIO_MIN:.2f}",
            met=ratio >= RATIO_MIN,
        )
    )
    ratio = max(rates[CONDITIONS]) / max(rates[0])
    findings.add(
        Row(
            f"ingest with {CONDITIONS} conditions on the group against none",
            rate=max(rates[CONDITIONS]),
            ratio=ratio,
            aim=f"ratio ≥ {RATIO_MIN:.2f}",
            met=ratio >= RATIO_MIN,
        )
    )


def _measure_cost(findings: Findings) -> None:
    """Processor time of a POST, one after the other."""
    variants: dict[str, tuple[int, dict[str, Any]]] = {
        "no condition": (0, IDLE),
        "one that is not met": (1, IDLE),
        f"{CONDITIONS} that are not met": (CONDITIONS, IDLE),
        f"{CONDITIONS} that are pending": (CONDITIONS, PENDING),
    }
    spent = {}
    for name, (number, params) in variants.items():
        with running(*LOOPBACK) as service:
            devices = fleet(service)
            _add_conditions(service, devices[0], number, params)
            spent[name] = _post_all(service, devices[0])
    note = ", ".join(f"{name}: {each * 1e6:.0f} µs" for name, each in spent.items())
    findings.add(Row("processor time of a POST with conditions", note=note))


def _post_all(service: Service, device: str) -> float:
    process = psutil.Process(service.pid)
    now_s = int(time.time())
    spent = 0.0
    for number in range(POSTS + POSTS // 10):
        if number == POSTS // 10:  # what has to be loaded first is loaded
            spent = sum(process.cpu_times()[:2])
        service.call("POST", "/device/data", _record(device, now_s - 2 * POSTS + number, 20.0))
    return float(sum(process.cpu_times()[:2]) - spent) / POSTS


def _record(device: str, at_s: float, celsius: float) -> dict[str, Any]:
    return {
        **{"deviceId": device, "timestamp": at_s, "data": json.dumps({"temperature": celsius})},
        **{"configuration": "{}", "__raw": "0a1b2c3d", "deviceType": "generic"},
    }


# --- a storm ---


def _measure_storm(findings: Findings, url: str) -> None:
    """A gateway returns: many alarms are resolved at once, while others store records."""
    arguments = ("--database", url) if url else ()
    engine = "PostgreSQL" if url else "SQLite"
    with receiving() as receiver, running(*LOOPBACK, *arguments) as service:
        group = service.call("POST", "/group", {"name": "Cold store"})["id"]
        devices = create_devices(service, group, STORM)
        (victim,) = fleet(service, 1)  # in a group of its own
        text = json.dumps({"url": receiver.url(), "measurement": "temperature", "above": 8})
        body = {"groupId": group, "type": "webhook", "name": "warm", "params": text}
        service.call("POST", "/notification", {**body, "reason": "measurement"})
        now_s = int(time.time()) - 1_000
        _post_values(service, devices, now_s, 10.0)
        raised = _count_open(service, group)
        alone_s = [_post_one(service, victim, now_s + each) for each in range(VICTIM_POSTS)]
        storm = threading.Thread(target=_post_values, args=(service, devices, now_s + 500, 4.0))
        began = time.perf_counter()
        storm.start()
        beside_s = []
        while storm.is_alive():
            at_s = now_s + VICTIM_POSTS + len(beside_s)
            beside_s.append(_post_one(service, victim, at_s))
        took_s = time.perf_counter() - began
        resolved = raised - _count_open(service, group)
        time.sleep(75)  # the grouped messages are due at the end of their minutes
        alone, beside = statistics.median(alone_s), statistics.median(beside_s)
        found = receiver.count()
        # The alarms were raised and resolved in three minutes at most.
        is_grouped = found <= 3 * (SINGLE_MAX + 1)
        findings.add(
            Row(
                f"{engine}: another group's records while {STORM:,} alarms are resolved",
                p50_ms=1_000 * beside,
                ratio=beside / alone,
                note=f"alone {1_000 * alone:.1f} ms; {len(beside_s)} records in {took_s:.1f} s;"
                f" {raised:,} raised, {resolved:,} resolved, {found} messages to the contact",
                aim=f"ratio ≤ {VICTIM_MAX:g}, grouped",
                met=beside <= VICTIM_MAX * alone and is_grouped and raised == resolved == STORM,
            )
        )


def _post_values(service: Service, devices: list[str], at_s: int, celsius: float) -> None:
    for start in range(0, len(devices), STORM_BATCH):
        some = devices[start : start + STORM_BATCH]
        items = [_record(each, at_s, celsius) for each in some]
        service.call("POST", "/device/data/batch", {"items": items})


def _post_one(service: Service, device: str, at_s: int) -> float:
    began = time.perf_counter()
    service.call("POST", "/device/data", _record(device, at_s, 4.0))
    return time.perf_counter() - began


def _count_open(service: Service, group: str) -> int:
    counts = service.call("GET", "/group/overview", groupId=group).get("alarms", {})
    return int(counts.get("total", 0))


# --- backtests ---


def _measure_backtests(findings: Findings, data: Path, url: str) -> None:
    arguments = ("--database", url) if url else ()
    engine = "PostgreSQL" if url else "SQLite"
    with running(*arguments, data=data) as service:
        group = service.call("POST", "/group", {"name": "Cold store"})["id"]
        devices = create_devices(service, group, DEVICES)
        for start in range(0, DEVICES * DAYS * 86_400 // EVERY_S, PER_BATCH):
            items = [_reading(devices, number) for number in range(start, start + PER_BATCH)]
            service.call("POST", "/device/data/batch", {"items": items})
        wait_for_summaries(service)
        warm = {"measurement": "temperature", "above": 8, "for": 1_800}
        every_one = {**warm, "staleAfter": 86_400, "onStale": "raise"}
        for params, source, most_s in (
            (every_one, "records", FROM_RECORDS_S_MAX),
            (warm, "summaries", FROM_SUMMARIES_S_MAX),
        ):
            findings.add(_measure_backtest(service, group, params, engine, source, most_s))


def _reading(devices: list[str], number: int) -> dict[str, Any]:
    """A device in ten is too warm for some hours of each tenth day."""
    turn, index = divmod(number, len(devices))
    hour = turn * EVERY_S // 3_600
    is_warm = index % 10 == 0 and hour // 24 % 10 == index // 10 and hour % 24 < 4
    celsius = (10.0 if is_warm else 4.0) + turn % 7 / 5
    return _record(devices[index], BEGIN_S + turn * EVERY_S + index, celsius)


def _measure_backtest(
    service: Service, group: str, params: dict[str, Any], engine: str, source: str, most_s: float
) -> Row:
    text = json.dumps({"url": NOWHERE, **params})
    body = {
        "groupId": group,
        "notification": {"type": "webhook", "reason": "measurement", "params": text},
        "beginDate": BEGIN_S,
        "endDate": BEGIN_S + DAYS * 86_400,
    }
    found: dict[str, int] = dict.fromkeys(("requests", "alarms", "records", "summaries"), 0)
    token: dict[str, str] = {}
    process = psutil.Process(service.pid)
    before_s = sum(process.cpu_times()[:2])
    began = time.perf_counter()
    while True:
        page = service.call("POST", "/notification/backtest", {**body, **token})
        found["requests"] += 1
        found["alarms"] += sum(len(each["alarms"]) for each in page["items"])
        for name in ("records", "summaries"):
            found[name] += page["examined"][name]
        if "nextToken" not in page:
            break
        token = {"nextToken": page["nextToken"]}
    took_s = time.perf_counter() - began
    processor_s = sum(process.cpu_times()[:2]) - before_s
    counts = ", ".join(f"{each:,} {name}" for name, each in found.items())
    return Row(
        f"{engine}: backtest of {DAYS} days of {DEVICES} devices from {source}",
        note=f"{took_s:.2f} s, {processor_s:.2f} s of the processor; {counts}",
        aim=f"≤ {most_s:g} s",
        met=took_s <= most_s,
    )

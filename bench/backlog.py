"""A million deliveries that wait: what the operator, the owner and the engine wait for then.

The rows are inserted by SQL, on both engines. Runs only if it is named: `make bench
ARGS="backlog"`.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from bench.service import Service, postgres, running
from bench.table import Findings, Row
from longwire.clock import Clock
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.store.database import Database, Tx
from longwire.store.delivery import delivery_leases
from longwire.store.statement import Statement

T = TypeVar("T")

WAITING = 1_000_000
CONNECTORS = 10
REQUESTS = 200
PAUSE_S = 0.06  # long enough in all for the backlog to be counted again
CLAIMED = 16
CLAIMS = 100
AIM_MS = 20.0

FILL = """
insert into delivery (
    channel_number, seq, device_id, kind, ts, state, generation, attempts, due_at, created_at,
    changed_at, body, context
)
with recursive number (n) as (
    select 1
    union all
    select n + 1
    from number
    where n < {rows}
)
select
    {channel}, (1700000000000000 + n) * 1024, 'dev_bench', 0, 1700000000000000 + n, 0, 0, 0,
    1700000000000000 + n, 1700000000000000 + n, 1700000000000000 + n, '{{"data":"{{}}"}}', '{{}}'
from number
"""


def measure(findings: Findings, seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="longwire-bench-backlog-") as folder:
        _measure_engine(findings, "SQLite", Path(folder) / "sqlite", "")
    with (
        tempfile.TemporaryDirectory(prefix="longwire-bench-backlog-") as folder,
        postgres() as url,
    ):
        _measure_engine(findings, "PostgreSQL", Path(folder) / "postgres", url)


def _measure_engine(findings: Findings, engine: str, data: Path, url: str) -> None:
    arguments = ("--database", url) if url else ()
    with running(*arguments, data=data) as service:
        group = service.call("POST", "/group", {"name": "backlog"})["id"]
        connectors = [
            service.call(
                "POST",
                "/connector",
                {
                    "groupId": group,
                    "type": "http",
                    "params": '{"url": "https://example.com/in"}',
                    "enabled": False,
                },
            )["id"]
            for _ in range(CONNECTORS)
        ]
    numbers = asyncio.run(_with_database(data, url, _fill))
    with running(*arguments, data=data) as service:
        findings.add(_row(f"{engine}: GET /metrics", _latencies(service, "/metrics")))
        path = f"/connector?groupId={group}&connectorId={connectors[0]}"
        findings.add(_row(f"{engine}: GET /connector", _latencies(service, path)))
    times = asyncio.run(_with_database(data, url, lambda database: _claim(database, numbers[0])))
    findings.add(_row(f"{engine}: claim of {CLAIMED}", times))


async def _with_database(data: Path, url: str, use: Callable[[Database], Awaitable[T]]) -> T:
    database, _ = build_database(Settings(data=data, database=url), Clock())
    database.start()
    try:
        return await use(database)
    finally:
        database.close()


async def _fill(database: Database) -> list[int]:
    """The same number of deliveries for each connector; their channels."""

    def work(tx: Tx) -> list[int]:
        rows = tx.fetch(Statement("select channel_number from connector order by channel_number"))
        for (number,) in rows:
            tx.driver.execute(FILL.format(channel=number, rows=WAITING // len(rows)))
        return [number for (number,) in rows]

    numbers = database.upgrade(work)
    if database.engine_name == "postgresql":
        await database.write(lambda tx: tx.driver.execute("analyze delivery"))
    return numbers


def _latencies(service: Service, path: str) -> list[float]:
    """In milliseconds, one request at a time; the first one, which fills the cache, is left out."""
    times = []
    service.http.get(path).raise_for_status()
    for _ in range(REQUESTS):
        started = time.perf_counter()
        service.http.get(path).raise_for_status()
        times.append((time.perf_counter() - started) * 1_000)
        time.sleep(PAUSE_S)
    return times


async def _claim(database: Database, number: int) -> list[float]:
    times = []
    for token in range(CLAIMS):

        def work(tx: Tx, token: int = token) -> int:
            return len(delivery_leases.claim(tx, number, 0, CLAIMED, token, tx.now + 60_000_000))

        started = time.perf_counter()
        assert await database.write(work) == CLAIMED
        times.append((time.perf_counter() - started) * 1_000)
    return times


def _row(name: str, times: list[float]) -> Row:
    ranked = sorted(times)
    p50, p99 = ranked[len(ranked) // 2], ranked[len(ranked) * 99 // 100]
    return Row(
        f"{WAITING:,} waiting deliveries, {name}",
        p50_ms=p50,
        p99_ms=p99,
        aim=f"p50 < {AIM_MS:g} ms",
        met=p50 < AIM_MS,
    )

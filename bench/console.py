"""The reads that a console makes, in a fleet of a hundred thousand devices or, `large`, a million.

The fleet is one large group and a hundred small ones in a tree; it is written to the database
directly. Each read is made by one client, one request at a time.
"""

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from bench import activity
from bench.activity import Activity
from bench.service import Service, postgres, running
from bench.table import Findings, Row
from longwire.clock import DAY, HOUR, SECOND, Clock
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.store import schema
from longwire.store.database import Database, Tx
from longwire.store.engines.bulk import insert_many

DEVICES = 100_000
DEVICES_LARGE = 1_000_000
SMALL_GROUPS = 100
CONNECTORS = 5
PER_WRITE = 10_000
REPETITIONS = 20
REPETITIONS_UNCACHED = 4
CACHED_S = 5.1
P95_MS_MAX = 100
LARGE_P95_MS_MAX = 150
TRACE_P95_MS_MAX = 20
NETWORKS = ("mqtt", "chirpstack", "ttn", "vendor")


@dataclass(frozen=True, slots=True)
class Fleet:
    """The root of the tree, and the group with most of the devices."""

    root: str
    group: str


@dataclass(frozen=True, slots=True)
class Read:
    name: str
    path: str
    params: Mapping[str, Any]
    is_large: bool = False  # is made with a million devices as well
    is_cached: bool = False  # for five seconds: each is made after those
    p95_ms_max: int = P95_MS_MAX


def measure(findings: Findings, seconds: float) -> None:
    _measure(findings, DEVICES)


def measure_large(findings: Findings, seconds: float) -> None:
    _measure(findings, DEVICES_LARGE)


def _measure(findings: Findings, devices: int) -> None:
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder:
        _measure_engine(findings, devices, Path(folder), "")
    with tempfile.TemporaryDirectory(prefix="longwire-bench-") as folder, postgres() as url:
        _measure_engine(findings, devices, Path(folder), url)


def _measure_engine(findings: Findings, devices: int, data: Path, url: str) -> None:
    arguments = ("--database", url) if url else ()
    with running(*arguments, data=data) as service:
        fleet = _create_groups(service)
    happened = fill(Settings(data=data, database=url), fleet, devices)
    if url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum analyze")
    engine = "PostgreSQL" if url else "SQLite"
    reads = _list_reads(fleet, devices)
    if devices == DEVICES:
        reads += _list_activity_reads(fleet, happened)
    else:
        # What looks at every device of the tree is refused, and the rest has no aim.
        reads = [each for each in reads if each.is_large or "subgroups" not in each.params]
    with running(*arguments, data=data) as service:
        for read in reads:
            findings.add(_measure_read(service, read, engine, devices))


def _create_groups(service: Service) -> Fleet:
    root = service.call("POST", "/group", {"name": "Port"})["id"]
    group = service.call("POST", "/group", {"name": "Quay"}, parentId=root)["id"]
    for number in range(SMALL_GROUPS):
        service.call("POST", "/group", {"name": f"Hall {number}"}, parentId=root)
    for number in range(CONNECTORS):
        connector = {"groupId": group, "type": "http", "name": f"C{number}", "enabled": False}
        service.call("POST", "/connector", connector | {"params": '{"url":"https://a.test"}'})
    return Fleet(root, group)


def _list_reads(fleet: Fleet, devices: int) -> list[Read]:
    group: dict[str, Any] = {"groupId": fleet.group}
    tree = {"groupId": fleet.root, "subgroups": "true"}
    rare = {"q": f"{devices - 7:07x}"[-5:]}
    find, is_large = "/devices", True
    return [
        Read("devices, first page", find, group, is_large),
        Read("devices of a tree, first page", find, tree, is_large),
        Read("devices by last seen", find, group | _by("seenAt"), is_large),
        Read("devices of a tree by last seen", find, tree | _by("seenAt"), is_large),
        Read("devices by name", find, group | _by("name"), is_large),
        Read("devices by battery", find, group | _by("battery"), is_large),
        Read("devices by prefix", find, group | {"q": "sensor 0000"}, is_large),
        Read("devices of a tree by prefix", find, tree | {"q": "sensor 0000"}, is_large),
        Read("devices by prefix, by last seen", find, group | {"q": "ab1"} | _by("seenAt")),
        Read("devices by a rare part of the original id", find, group | rare),
        Read("devices of a tree by a rare part", find, tree | rare),
        Read("devices by a part that nothing has", find, group | {"q": "no such"}),
        Read("devices by a part that all have, by name", find, group | {"q": "ens"} | _by("name")),
        Read("devices by type, by last seen", find, group | {"type": "tracker"} | _by("seenAt")),
        Read("devices by network and tag", find, group | {"network": "ttn", "tag": "roof"}),
        Read("devices seen longer ago", find, group | {"seen": "longer"}),
        Read("devices silent, by name", find, group | {"seen": "silent"} | _by("name")),
        Read("groups", "/groups", {"parentId": fleet.root}),
        Read("groups by a part of the name", "/groups", {"q": "all 5"}),
        Read("access", "/access", group | {"permission": "connector.write"}),
        Read("overview of a tree", "/group/overview", tree, is_cached=True),
        Read("positions, 10,000", "/group/positions", group),
        Read("positions of a tree in a box", "/group/positions", tree | {"box": "4,51,5,52"}),
        Read("devices with a low battery", find, group | {"batteryBelow": 20} | _by("battery")),
    ]


def _by(sort: str) -> dict[str, Any]:
    return {"sort": sort, "ascending": "false"}


def _list_activity_reads(fleet: Fleet, happened: Activity) -> list[Read]:
    group: dict[str, Any] = {"groupId": fleet.group}
    tree = {"groupId": fleet.root, "subgroups": "true"}
    device = {"deviceId": happened.device_id}
    day = {"beginDate": int(time.time()) - DAY // SECOND, "endDate": int(time.time())}
    hot = {"filter": "message.data.temperature > 100"}
    traced = TRACE_P95_MS_MAX
    return [
        Read("records of a group", "/group/records", group),
        Read("records of a tree", "/group/records", tree),
        Read("records of a tree, 1,000", "/group/records", tree | {"limit": 1_000}),
        Read("records of one device", "/group/records", group | device),
        Read("records by a filter that none fits", "/group/records", group | hot),
        Read("trace", "/record/trace", {"recordId": happened.record_id}, p95_ms_max=traced),
        Read("trace of a message", "/record/trace", {"messageId": happened.message_id}),
        Read("messages", "/connector/messages", group),
        Read("messages that failed", "/connector/messages", group | {"status": "failed"}),
        Read("messages of one device", "/connector/messages", group | device),
        Read("a message", "/connector/message", {"id": happened.message_id}),
        Read("metrics of connectors, a day", "/connector/metrics", group | day),
        Read("metrics of a group, a day", "/group/metrics", group | day),
        Read("audit of a group", "/group/audit", group),
        Read("audit of a tree", "/group/audit", tree),
        Read("audit by somebody", "/group/audit", group | {"actorId": "usr_7"}),
        Read("drift of a tree", "/group/drift", tree),
        Read("app clients", "/group/appClients", group),
    ]


def _measure_read(service: Service, read: Read, engine: str, devices: int) -> Row:
    times = []
    for _ in range(REPETITIONS_UNCACHED if read.is_cached else REPETITIONS):
        if read.is_cached:
            time.sleep(CACHED_S)
        started = time.perf_counter()
        service.http.get(read.path, params=read.params).raise_for_status()
        times.append((time.perf_counter() - started) * 1_000)
    times.sort()
    p95 = times[max(0, int(len(times) * 0.95) - 1)]
    aim = read.p95_ms_max if devices == DEVICES else LARGE_P95_MS_MAX if read.is_large else None
    return Row(
        f"{engine}, {devices:,}: {read.name}",
        p50_ms=times[len(times) // 2],
        p99_ms=times[-1],
        note=f"p95 {p95:.1f} ms",
        aim="" if aim is None else f"p95 ≤ {aim} ms",
        met=None if aim is None else p95 <= aim,
    )


# --- the fleet ---


def fill(settings: Settings, fleet: Fleet, devices: int) -> Activity:
    """Write the devices of the large group, a tenth as many into the small ones, and records."""
    database, _ = build_database(settings, Clock())
    database.start()
    try:
        asyncio.run(_fill(database, fleet, devices))
        return database.upgrade(lambda tx: activity.fill(tx, devices + devices // 10))
    finally:
        database.close()


async def _fill(database: Database, fleet: Fleet, devices: int) -> None:
    small = await database.read(lambda tx: _list_children(tx, fleet))
    homes = [schema.group_number(fleet.group)] * devices
    homes += [small[number % len(small)] for number in range(devices // 10)]
    for start in range(0, len(homes), PER_WRITE):
        some = homes[start : start + PER_WRITE]
        await database.write(lambda tx, start=start, some=some: _insert(tx, start, some))
    await database.write(_count)


def _list_children(tx: Tx, fleet: Fleet) -> list[int]:
    group = schema.group
    statement = sa.select(group.c.id).where(
        group.c.parent_id == fleet.root, group.c.id != fleet.group
    )
    return [schema.group_number(row[0]) for row in tx.rows(statement)]


def _insert(tx: Tx, start: int, homes: list[int]) -> None:
    rows = [_Device(start + index + 1, home, tx.now) for index, home in enumerate(homes)]
    for table, columns in _COLUMNS.items():
        names = tuple(columns)
        values = [tuple(getattr(row, name) for name in columns.values()) for row in rows]
        insert_many(tx, schema.metadata.tables[table], names, values)


def _count(tx: Tx) -> None:
    group, device = schema.group, schema.device
    counted = sa.select(sa.func.count()).where(device.c.group_id == group.c.id).scalar_subquery()
    tx.execute(sa.update(group).values(device_count=counted))
    if tx.is_postgres:
        tx.connection.execute(
            sa.text(
                "select setval(pg_get_serial_sequence('device', 'number'), max(number)) from device"
            )
        )


class _Device:
    """The values of a device's rows, made from its number."""

    def __init__(self, number: int, home: int, now: int) -> None:
        chance = random.Random(number)
        self.number = number
        self.id = f"dev_{number:024d}"
        self.home = home
        self.zero = 0
        self.name = f"Sensor {number:07d}"
        self.type = chance.choice(("generic", "tracker"))
        self.network = chance.choice(NETWORKS)
        self.original_id = f"{number * 7_919:016X}"
        self.original_key = self.original_id.lower().lstrip("0")
        self.name_key = self.name.lower()
        tags = ["roof"] if chance.random() < 0.1 else ["cellar", "wet"]
        self.search_key = "\n".join([self.name_key, self.original_id.lower(), *tags])
        self.tags = json.dumps(tags)
        self.empty = "{}"
        self.now = now
        self.by = "bench"
        self.seen_at = now - chance.randrange(1_000 * HOUR)
        self.battery = str(chance.randrange(101))
        self.battery_level = int(self.battery) * 100
        self.lat = chance.uniform(-90, 90)
        self.lng = chance.uniform(-180, 180)
        self.silent_at = now if chance.random() < 0.02 else None


_COLUMNS: dict[str, dict[str, str]] = {
    "device": {
        **{name: name for name in ("number", "id", "name", "type", "network", "original_id")},
        **{name: name for name in ("original_key", "name_key", "search_key", "tags")},
        "group_id": "home",
        "stay": "zero",
        "information": "empty",
        "configuration": "empty",
        "created_at": "now",
        "updated_at": "now",
        "created_by": "by",
        "updated_by": "by",
    },
    "device_stay": {"device_number": "number", "stay": "zero", "group_id": "home"},
    "device_state": {
        "group_id": "home",
        "device_number": "number",
        "seen_at": "seen_at",
        "battery": "battery",
        "battery_at": "now",
        "battery_level": "battery_level",
        "silent_at": "silent_at",
        "lat": "lat",
        "lng": "lng",
        "position_at": "seen_at",
    },
    "device_watch": {"device_number": "number", "silent_at": "silent_at"},
}

"""A load generator: simulated devices that send records to a running service over HTTP.

Creates a small tree of groups with trackers, meters and buttons, sends their records at a given
rate, and measures the latency. It uses only the public API, as a customer's program would.
"""

import asyncio
import base64
import json
import math
import random
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from longwire_cli.errors import CommandError

BRANCHES = ("North", "South", "Harbour")
TYPES = (("tracker", 5), ("meter", 3), ("button", 2))
CONNECTIONS_MAX = 64
DEVICES_PER_CALL_MAX = 1_000

Json = dict[str, Any]


class SimulationError(CommandError):
    """The service is unreachable or returned an error."""


@dataclass(slots=True)
class SimulatedDevice:
    """The state of a simulated device: position, battery, sequence number."""

    id: str
    type: str
    lat: float
    lng: float
    battery: float = 100.0
    count: int = 0

    def report(self, rng: random.Random, now_ms: int) -> tuple[str, Json]:
        """The next report: a path and a body."""
        self.count += 1
        self.battery = max(1.0, self.battery - rng.random() * 0.01)
        if rng.random() < 0.15:
            return self._telemetry(rng, now_ms)
        return _REPORTS[self.type](self, rng, now_ms)

    def _data(self, now_ms: int, values: Json, reason: str) -> tuple[str, Json]:
        values = {**values, "battery": round(self.battery, 1), "sequence": self.count}
        return "/device/data", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "data": json.dumps(values),
            "configuration": "{}",
            "__raw": f"{self.count & 0xFFFFFFFF:08x}",
            "deviceType": self.type,
            "reason": reason,
        }

    def track(self, rng: random.Random, now_ms: int) -> tuple[str, Json]:
        self.lat += rng.gauss(0, 0.0005)
        self.lng += rng.gauss(0, 0.0005)
        if rng.random() < 0.3:
            return self._data(now_ms, {"speed": round(rng.random() * 90, 1)}, "moved")
        return "/device/geoloc", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "lat": round(self.lat, 6),
            "lng": round(self.lng, 6),
            "radius": rng.choice((5, 10, 25)),
            "source": 1,
            "status": 1,
        }

    def meter(self, rng: random.Random, now_ms: int) -> tuple[str, Json]:
        return self._data(now_ms, {"pulses": self.count * rng.randint(1, 3)}, "interval")

    def press(self, rng: random.Random, now_ms: int) -> tuple[str, Json]:
        return "/device/event", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "type": rng.choice(("pressed", "longPressed", "heartbeat")),
            "deviceType": self.type,
            "severity": "info",
            "data": self._sequence(),
        }

    def _telemetry(self, rng: random.Random, now_ms: int) -> tuple[str, Json]:
        stations = [f"{rng.getrandbits(16):04X}" for _ in range(rng.randint(1, 4))]
        return "/device/telemetry", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "deviceType": self.type,
            "duplicates": stations,
            "nbBs": len(stations),
            "score": rng.randint(0, 4),
            "data": self._sequence(),
        }

    def _sequence(self) -> str:
        """Keeps two reports within one millisecond distinct, so neither counts as a duplicate."""
        return json.dumps({"sequence": self.count})


_REPORTS: dict[str, Callable[[SimulatedDevice, random.Random, int], tuple[str, Json]]] = {
    "tracker": SimulatedDevice.track,
    "meter": SimulatedDevice.meter,
    "button": SimulatedDevice.press,
}


@dataclass(slots=True)
class SimulationResult:
    """Counts and latencies of a run."""

    seconds: float = 0.0
    sent: int = 0
    failed: int = 0
    latencies_ms: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.sent / self.seconds if self.seconds else 0.0

    def percentile_ms(self, share: float) -> float:
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else math.nan

    def summarize(self) -> str:
        return (
            f"{self.sent} records in {self.seconds:.1f} s, {self.rate:.0f} a second; "
            f"latency {self.percentile_ms(0.5):.1f} ms (p50), "
            f"{self.percentile_ms(0.99):.1f} ms (p99); {self.failed} failed"
        )


class HttpConnection:
    """A keep-alive HTTP connection; expects every response to have a Content-Length."""

    def __init__(self, url: str, authorization: str) -> None:
        parts = urlsplit(url)
        self._url = url
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._has_tls = parts.scheme == "https"
        self._authorization = authorization
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, method: str, path: str, body: bytes = b"", media_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """The status and body of a response."""
        try:
            return await self._request(method, path, body, media_type)
        except OSError as error:
            raise self._close_failed(f"cannot be reached: {error.strerror or error}") from error
        except (EOFError, asyncio.LimitOverrunError, ValueError) as error:
            raise self._close_failed("does not respond like longwire") from error

    async def _request(
        self, method: str, path: str, body: bytes, media_type: str
    ) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                self._host, self._port, ssl=True if self._has_tls else None
            )
        reader, writer = self._streams
        writer.write(
            (
                f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n"
                f"Authorization: {self._authorization}\r\nContent-Type: {media_type}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            ).encode()
            + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return status, await reader.readexactly(length)

    async def request_json(self, method: str, path: str, body: Json | None = None) -> Any:
        """The JSON response of a request that must succeed."""
        status, response = await self.request(method, path, json.dumps(body or {}).encode())
        if status != 200:
            raise SimulationError(f"{method} {path}: {status} {response.decode(errors='replace')}")
        return json.loads(response)

    def _close_failed(self, reason: str) -> SimulationError:
        self.close()
        return SimulationError(f"{self._url} {reason}.")

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def get_token(url: str, client_id: str, client_secret: str) -> str:
    basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
    with closing(HttpConnection(url, f"Basic {basic}")) as connection:
        status, response = await connection.request(
            "POST",
            "/oauth2/token?grant_type=client_credentials",
            media_type="application/x-www-form-urlencoded",
        )
    if status != 200:
        raise SimulationError(f"no token: {status} {response.decode(errors='replace')}")
    try:
        return str(json.loads(response)["access_token"])
    except (ValueError, LookupError, TypeError) as error:
        raise SimulationError(f"{url} does not respond like longwire.") from error


async def create_fleet(url: str, token: str, number: int, seed: int) -> list[SimulatedDevice]:
    """Create a root group, a few groups below it, and devices in them."""
    rng = random.Random(seed)
    with closing(HttpConnection(url, f"Bearer {token}")) as connection:
        name = f"Simulated fleet {rng.getrandbits(32):08x}"
        root = (
            await connection.request_json("POST", "/group", {"name": name, "tags": ["simulated"]})
        )["id"]
        devices: list[SimulatedDevice] = []
        shares = [(branch, kind, weight) for branch in BRANCHES for kind, weight in TYPES]
        total_weight = sum(weight for *_, weight in shares)
        groups = {
            branch: (
                await connection.request_json("POST", f"/group?parentId={root}", {"name": branch})
            )["id"]
            for branch in BRANCHES
        }
        created = 0
        for index, (branch, kind, weight) in enumerate(shares):
            upto = number if index == len(shares) - 1 else created + number * weight // total_weight
            prefix = f"{root}-{branch}-{kind}"
            async for device in _create_devices(
                connection, groups[branch], kind, prefix, upto - created, rng
            ):
                devices.append(device)
            created = upto
        return devices


async def _create_devices(
    connection: HttpConnection, group: str, kind: str, prefix: str, number: int, rng: random.Random
) -> Any:
    for start in range(0, number, DEVICES_PER_CALL_MAX):
        ids = [
            f"{prefix}-{start + each}" for each in range(min(DEVICES_PER_CALL_MAX, number - start))
        ]
        body = {
            "originalDevicesIds": ids,
            "groupId": group,
            "type": kind,
            "network": "simulated",
            "tags": ["simulated"],
        }
        for item in (await connection.request_json("POST", "/devices", body))["items"]:
            lat, lng = 48.85 + rng.gauss(0, 0.2), 2.35 + rng.gauss(0, 0.2)
            yield SimulatedDevice(item["deviceId"], kind, lat, lng, battery=rng.uniform(30, 100))


async def run_simulation(
    url: str,
    token: str,
    devices: list[SimulatedDevice],
    *,
    rate: float,
    seconds: float,
    seed: int,
    progress: Callable[[int], None],
) -> SimulationResult:
    """Send reports at a fixed rate; latency counts from when a report was due (no coordinated
    omission)."""
    rng = random.Random(seed + 1)
    result = SimulationResult()
    started = time.perf_counter()
    # When each report is due; one iterator shared by all connections.
    moments = (number / rate for number in range(count_reports(rate, seconds)))

    async def send_reports() -> None:
        with closing(HttpConnection(url, f"Bearer {token}")) as connection:
            for due in moments:
                await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
                path, body = rng.choice(devices).report(rng, time.time_ns() // 1_000_000)
                status = await _send_report(connection, path, body)
                result.latencies_ms.append((time.perf_counter() - started - due) * 1_000)
                result.sent += status == 200
                result.failed += status != 200
                progress(1)

    connections = min(CONNECTIONS_MAX, max(1, math.ceil(rate / 20)), len(devices))
    await asyncio.gather(*(send_reports() for _ in range(connections)))
    result.seconds = time.perf_counter() - started
    return result


async def _send_report(connection: HttpConnection, path: str, body: Json) -> int:
    try:
        return (await connection.request("POST", path, json.dumps(body).encode()))[0]
    except SimulationError:
        await asyncio.sleep(0.1)
        return 0


def count_reports(rate: float, seconds: float) -> int:
    """The number of reports, at least one."""
    return max(1, int(rate * seconds))

"""A fleet to play with: plausible devices that talk to a running service over HTTP.

Makes a small tree of groups with trackers, meters and buttons, lets them report at a given rate,
and tells how fast the service answered. It knows the service only from outside, as a customer's
program would; everything it does can be done with curl.
"""

import asyncio
import base64
import json
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from longwire.clock import MILLISECOND, Clock

BRANCHES = ("North", "South", "Harbour")
TYPES = (("tracker", 5), ("meter", 3), ("button", 2))
CONNECTIONS_MAX = 64
DEVICES_PER_CALL_MAX = 1_000

Json = dict[str, Any]


class SimulationFailed(Exception):
    """The service did not answer as it should."""


@dataclass(slots=True)
class Device:
    """A device with a life of its own: where it is, how full it is, what it has counted."""

    id: str
    type: str
    lat: float
    lng: float
    battery: float = 100.0
    count: int = 0

    def report(self, chance: random.Random, now_ms: int) -> tuple[str, Json]:
        """What it says next: a path and a body."""
        self.count += 1
        self.battery = max(1.0, self.battery - chance.random() * 0.01)
        if chance.random() < 0.15:
            return self._telemetry(chance, now_ms)
        return _REPORTS[self.type](self, chance, now_ms)

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

    def track(self, chance: random.Random, now_ms: int) -> tuple[str, Json]:
        self.lat += chance.gauss(0, 0.0005)
        self.lng += chance.gauss(0, 0.0005)
        if chance.random() < 0.3:
            return self._data(now_ms, {"speed": round(chance.random() * 90, 1)}, "moved")
        return "/device/geoloc", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "lat": round(self.lat, 6),
            "lng": round(self.lng, 6),
            "radius": chance.choice((5, 10, 25)),
            "source": 1,
            "status": 1,
        }

    def meter(self, chance: random.Random, now_ms: int) -> tuple[str, Json]:
        return self._data(now_ms, {"pulses": self.count * chance.randint(1, 3)}, "interval")

    def press(self, chance: random.Random, now_ms: int) -> tuple[str, Json]:
        return "/device/event", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "type": chance.choice(("pressed", "longPressed", "heartbeat")),
            "deviceType": self.type,
            "severity": "info",
            "data": self._sequence(),
        }

    def _telemetry(self, chance: random.Random, now_ms: int) -> tuple[str, Json]:
        stations = [f"{chance.getrandbits(16):04X}" for _ in range(chance.randint(1, 4))]
        return "/device/telemetry", {
            "deviceId": self.id,
            "timestamp": now_ms,
            "deviceType": self.type,
            "duplicates": stations,
            "nbBs": len(stations),
            "score": chance.randint(0, 4),
            "data": self._sequence(),
        }

    def _sequence(self) -> str:
        """Two presses within a millisecond are two, not one that was sent twice."""
        return json.dumps({"sequence": self.count})


_REPORTS: dict[str, Callable[[Device, random.Random, int], tuple[str, Json]]] = {
    "tracker": Device.track,
    "meter": Device.meter,
    "button": Device.press,
}


@dataclass(slots=True)
class Result:
    """What the service made of it."""

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

    def line(self) -> str:
        return (
            f"{self.sent} records in {self.seconds:.1f} s, {self.rate:.0f} a second; "
            f"answered in {self.percentile_ms(0.5):.1f} ms (median), "
            f"{self.percentile_ms(0.99):.1f} ms (99 of 100); {self.failed} failed"
        )


class Line:
    """One kept-alive HTTP connection; just enough of HTTP for a service that tells lengths."""

    def __init__(self, url: str, authorization: str) -> None:
        parts = urlsplit(url)
        self._url = url
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._has_tls = parts.scheme == "https"
        self._authorization = authorization
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(
        self, method: str, path: str, body: bytes = b"", media_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """The status and body of an answer."""
        try:
            return await self._call(method, path, body, media_type)
        except OSError as error:
            raise self._failed(f"cannot be reached: {error.strerror or error}") from error
        except (EOFError, asyncio.LimitOverrunError, ValueError) as error:
            raise self._failed("does not answer like longwire") from error

    async def _call(
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

    async def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        """The answer of a call that must succeed."""
        status, answer = await self.call(method, path, json.dumps(body or {}).encode())
        if status != 200:
            raise SimulationFailed(f"{method} {path}: {status} {answer.decode(errors='replace')}")
        return json.loads(answer)

    def _failed(self, how: str) -> SimulationFailed:
        self.close()
        return SimulationFailed(f"{self._url} {how}.")

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def get_token(url: str, client_id: str, client_secret: str) -> str:
    basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
    line = Line(url, f"Basic {basic}")
    try:
        status, answer = await line.call(
            "POST",
            "/oauth2/token?grant_type=client_credentials",
            media_type="application/x-www-form-urlencoded",
        )
    finally:
        line.close()
    if status != 200:
        raise SimulationFailed(f"no token: {status} {answer.decode(errors='replace')}")
    try:
        return str(json.loads(answer)["access_token"])
    except (ValueError, LookupError, TypeError) as error:
        raise SimulationFailed(f"{url} does not answer like longwire.") from error


async def make_fleet(url: str, token: str, number: int, seed: int) -> list[Device]:
    """A root group, a few below it, and the devices spread over them."""
    chance = random.Random(seed)
    line = Line(url, f"Bearer {token}")
    try:
        name = f"Simulated fleet {chance.getrandbits(32):08x}"
        root = (await line.ask("POST", "/group", {"name": name, "tags": ["simulated"]}))["id"]
        devices: list[Device] = []
        shares = [(branch, kind, weight) for branch in BRANCHES for kind, weight in TYPES]
        total = sum(weight for *_, weight in shares)
        groups = {
            branch: (await line.ask("POST", f"/group?parentId={root}", {"name": branch}))["id"]
            for branch in BRANCHES
        }
        made = 0
        for index, (branch, kind, weight) in enumerate(shares):
            upto = number if index == len(shares) - 1 else made + number * weight // total
            prefix = f"{root}-{branch}-{kind}"
            async for device in _make(line, groups[branch], kind, prefix, upto - made, chance):
                devices.append(device)
            made = upto
        return devices
    finally:
        line.close()


async def _make(
    line: Line, group: str, kind: str, prefix: str, number: int, chance: random.Random
) -> Any:
    for start in range(0, number, DEVICES_PER_CALL_MAX):
        ids = [
            f"{prefix}-{start + each}" for each in range(min(DEVICES_PER_CALL_MAX, number - start))
        ]
        wish = {
            "originalDevicesIds": ids,
            "groupId": group,
            "type": kind,
            "network": "simulated",
            "tags": ["simulated"],
        }
        for made in (await line.ask("POST", "/devices", wish))["items"]:
            lat, lng = 48.85 + chance.gauss(0, 0.2), 2.35 + chance.gauss(0, 0.2)
            yield Device(made["deviceId"], kind, lat, lng, battery=chance.uniform(30, 100))


async def talk(
    url: str,
    token: str,
    devices: list[Device],
    *,
    rate: float,
    seconds: float,
    seed: int,
    progress: Callable[[int], None],
) -> Result:
    """Let the devices report; what is late because the service is slow counts as slow."""
    chance = random.Random(seed + 1)
    clock = Clock()
    result = Result()
    started = time.perf_counter()
    moments = _moments(rate, seconds)

    async def speak() -> None:
        line = Line(url, f"Bearer {token}")
        try:
            for due in moments:
                await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
                path, body = chance.choice(devices).report(chance, clock.now() // MILLISECOND)
                status = await _say(line, path, body)
                result.latencies_ms.append((time.perf_counter() - started - due) * 1_000)
                result.sent += status == 200
                result.failed += status != 200
                progress(1)
        finally:
            line.close()

    speakers = min(CONNECTIONS_MAX, max(1, math.ceil(rate / 20)), len(devices))
    await asyncio.gather(*(speak() for _ in range(speakers)))
    result.seconds = time.perf_counter() - started
    return result


async def _say(line: Line, path: str, body: Json) -> int:
    try:
        return (await line.call("POST", path, json.dumps(body).encode()))[0]
    except SimulationFailed:
        await asyncio.sleep(0.1)
        return 0


def _moments(rate: float, seconds: float) -> Iterator[float]:
    """When each report is due; shared by all speakers, so each takes the next one."""
    return (number / rate for number in range(total(rate, seconds)))


def total(rate: float, seconds: float) -> int:
    """How many reports there are; at least one, or there would be nothing to tell."""
    return max(1, int(rate * seconds))

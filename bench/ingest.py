"""Records in: single POSTs and batches, beside a bare echo and a plain bulk insert."""

import json

from bench.ceiling import serving
from bench.identity import guarded
from bench.load import Template, head, run
from bench.service import Service, running
from bench.table import Findings, Row, measured, rss_mb

CONNECTIONS = 64
DEVICES = 1_000
BATCH = 500
MEMORY_MB_MAX = 300.0


def body(device: str, number: str = "%d") -> str:
    """A plausible data record; the number makes it one of a kind."""
    return json.dumps(
        {
            "deviceId": device,
            "timestamp": 0,
            "data": '{"temperature":21.5,"humidity":48,"seq":0}',
            "configuration": "{}",
            "__raw": "0a1b2c3d4e5f",
            "deviceType": "tracker",
        }
    ).replace('"timestamp": 0', f'"timestamp": 17631{number}')


def fleet(service: Service, devices: int = DEVICES) -> list[str]:
    group = service.call("POST", "/group", {"name": "fleet"})["id"]
    made: list[str] = []
    for start in range(0, devices, 1_000):
        ids = [f"bench{start + each}" for each in range(min(1_000, devices - start))]
        wish = {"originalDevicesIds": ids, "groupId": group, "type": "tracker", "network": "bench"}
        made += [each["deviceId"] for each in service.call("POST", "/devices", wish)["items"]]
    return made


class Records:
    """The n-th record of a fleet, a request each; no two are alike."""

    def __init__(self, service: Service, devices: list[str], first: int = 0) -> None:
        self._head = head(
            "POST",
            "/device/data",
            headers={
                "Authorization": f"Bearer {service.token}",
                "Content-Type": "application/json",
            },
        )
        self._templates = [Template(self._head, body(each).encode(), first) for each in devices]

    def __call__(self, number: int) -> bytes:
        return self._templates[number % len(self._templates)](10_000_000 + number)


def measure(findings: Findings, seconds: float) -> None:
    raw = Template(
        head("POST", "/", headers={"Content-Type": "application/json"}), body("dev").encode()
    )
    with serving("echo", build_server=guarded) as bare:
        ceiling = run(bare.host, bare.port, raw, connections=CONNECTIONS, seconds=seconds)
    findings.add(measured("ceiling: bare ASGI echo", ceiling))
    with running() as service:
        devices = fleet(service)
        result = run(
            service.host,
            service.port,
            Records(service, devices),
            connections=CONNECTIONS,
            seconds=seconds,
        )
        findings.add(
            measured("POST /device/data", result, ceiling=ceiling, ratio_min=0.45, p99_ms_max=25)
        )
        memory = rss_mb(service.pid)
        findings.add(
            Row(
                "resident memory after ingest",
                note=f"{memory:.0f} MB",
                aim=f"< {MEMORY_MB_MAX:.0f} MB",
                met=memory < MEMORY_MB_MAX,
            )
        )

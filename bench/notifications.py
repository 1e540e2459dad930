"""Notifications: their cost to ingest if no record matches."""

import json

from bench.delivery import LOOPBACK
from bench.ingest import CONNECTIONS, Records, fleet
from bench.load import run
from bench.service import Service, running
from bench.table import Findings, Row

NOTIFICATIONS = 10
RATIO_MIN = 0.9
ROUNDS = 3
NOWHERE = "http://127.0.0.1:9/"

# Typical notifications: absent reasons, conditions, geofences, throttles, a schedule.
KINDS: tuple[tuple[dict[str, object], dict[str, object]], ...] = (
    ({"reason": "alarm"}, {}),
    ({"reason": "door"}, {"when": "message.data.temperature > 30.0"}),
    ({"reason": "batteryLow"}, {}),
    ({"reason": "deviceSilent"}, {}),
    ({"reason": "geofenceExit"}, {"geofence": {"lat": 48.85, "lng": 2.35, "radius": 500}}),
    ({"reason": "connectorFailing"}, {}),
    ({"reason": "leak", "deviceTypes": ["meter"]}, {"throttle": 3_600}),
    ({}, {"throttle": 3_600}),
    ({}, {"when": "message.severity == 'high'"}),
    ({"schedule": {"Day": 1}}, {"timezone": "Europe/Paris"}),
)


def measure(findings: Findings, seconds: float) -> None:
    """Alternating, so that both run under the same conditions."""
    rates: dict[int, list[float]] = {0: [], NOTIFICATIONS: []}
    for _ in range(ROUNDS):
        for number, found in rates.items():
            with running(*LOOPBACK) as service:
                devices = fleet(service)
                _notify(service, devices[0], number)
                result = run(
                    service.host,
                    service.port,
                    Records(service, devices),
                    connections=CONNECTIONS,
                    seconds=seconds,
                )
                found.append(result.rate)
    for number, found in rates.items():
        name = f"POST /device/data with {number or 'no'} notifications, none matching"
        findings.add(Row(name, rate=max(found)))
    ratio = max(rates[NOTIFICATIONS]) / max(rates[0])
    findings.add(
        Row(
            f"ingest with {NOTIFICATIONS} notifications against none",
            ratio=ratio,
            aim=f"ratio ≥ {RATIO_MIN:.2f}",
            met=ratio >= RATIO_MIN,
        )
    )


def _notify(service: Service, device: str, number: int) -> None:
    group = service.call("GET", "/device", deviceId=device)["groupId"]
    for each in range(number):
        fields, params = KINDS[each % len(KINDS)]
        text = json.dumps({"url": NOWHERE, **params})
        body = {"groupId": group, "type": "webhook", "name": f"n{each}", "params": text, **fields}
        service.call("POST", "/notification", body)

"""Records for tests: devices, bodies of every kind, and the stored records.

They work for a person of a world and for an operator of a process: both have the HTTP methods.
"""

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import httpx

from longwire.clock import Moment
from longwire.dates import format_date
from tests.world import ok, walk

KINDS = ("data", "event", "geoloc", "telemetry")
TOTALS = {kind: f"total{word}" for kind in KINDS for word in [f"Device{kind.capitalize()}"]}

Body = dict[str, Any]

_original_ids = (f"original-{number}" for number in itertools.count())

# What each kind requires in addition to device, timestamp and data.
_REQUIRED: dict[str, Body] = {
    "data": {"configuration": "{}", "__raw": "0a1b", "deviceType": "generic"},
    "event": {"type": "doorOpened"},
    "geoloc": {"lat": 48.85, "lng": 2.35},
    "telemetry": {"deviceType": "generic", "nbBs": 3},
}


class Caller(Protocol):
    def get(self, path: str, **params: Any) -> httpx.Response: ...

    def post(self, path: str, body: Any = None, **params: Any) -> httpx.Response: ...


def devices(caller: Caller, group: str, number: int) -> list[str]:
    """Create devices in a group; their ids."""
    body = {
        "originalDevicesIds": list(itertools.islice(_original_ids, number)),
        "groupId": group,
        "type": "generic",
        "network": "mqtt",
    }
    return [created["deviceId"] for created in ok(caller.post("/devices", body))["items"]]


def device(caller: Caller, group: str) -> str:
    return devices(caller, group, 1)[0]


def report(kind: str, device_id: str, at: Moment, data: str = "") -> Body:
    """The body of a record; equal arguments make the same record."""
    return {
        "deviceId": device_id,
        "timestamp": format_date(at),
        "data": data,
        **_REQUIRED[kind],
    }


def post_record(caller: Caller, kind: str, *record: Any) -> httpx.Response:
    return caller.post(f"/device/{kind}", report(kind, *record))


def post_records(caller: Caller, kind: str, bodies: Sequence[Body]) -> httpx.Response:
    return caller.post(f"/device/{kind}/batch", {"items": list(bodies)})


def list_records(caller: Caller, kind: str, device_id: str, **params: Any) -> list[Body]:
    """All records of one kind of a device that the caller may read."""
    return walk(
        lambda **page: caller.get(f"/device/{kind}", **page),
        **{"deviceId": device_id, "limit": 1000, **params},
    )


def list_data(caller: Caller, kind: str, device_id: str, **params: Any) -> list[str]:
    return [record["data"] for record in list_records(caller, kind, device_id, **params)]


def metrics(caller: Caller, group: str, begin: Any, end: Any, **params: Any) -> dict[str, Any]:
    query = {"groupId": group, "beginDate": begin, "endDate": end, **params}
    return dict(ok(caller.get("/group/metrics", **query)))


def counted(caller: Caller, group: str, at: Moment, **params: Any) -> dict[str, int]:
    """The counters of a group in the ten years around a timestamp, by kind, zeros included."""
    years = 5 * 365 * 86_400 * 1_000_000
    span = {"timeSpan": 10**9}
    begin, end = format_date(at - years), format_date(at + years)
    found = metrics(caller, group, begin, end, **span, **params)
    by_kind = {kind: found[name] for kind, name in TOTALS.items()}
    assert found["totalDeviceMessage"] == sum(by_kind.values())
    return by_kind

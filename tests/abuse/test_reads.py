"""The largest reports, lists and previews, and every path that needs no token."""

import itertools
import threading

import pytest

from tests.abuse.victim import Attack, Scene
from tests.world import Person, ok, record_of

CALLERS = 8
RECORDS = 1_000


def fill(mallory: Person, records: int = RECORDS) -> tuple[str, str]:
    """A device with some large records; its group and its id."""
    group = mallory.group()
    device = mallory.device(group)
    for start in range(0, records, 250):
        items = [
            record_of(device, timestamp=1_600_000_000_000 + number, data=f'"{"x" * 2_000}"')
            for number in range(start, start + 250)
        ]
        ok(mallory.post("/device/data/batch", {"items": items}))
    return group, device


def repeat(person: Person, path: str, /, **params: object) -> Attack:
    response = person.request("GET", path, params=params)
    assert response.status_code == 200, response.text

    def attack(stop: threading.Event) -> None:
        person.request("GET", path, params=params)

    return attack


@pytest.mark.engine_free
def test_the_largest_reports_slow_nobody(scene: Scene) -> None:
    group, _ = fill(scene.mallory, 250)
    begin = 1_600_000_000_000
    period = {"beginDate": begin, "endDate": begin + 2_000 * 3_600_000, "subgroups": "true"}
    attack = repeat(scene.mallory, "/group/metrics", groupId=group, timeSpan=3_600, **period)
    scene.assert_victim_unharmed(*[attack] * CALLERS)


@pytest.mark.engine_free
def test_the_largest_lists_slow_nobody(scene: Scene) -> None:
    _, device = fill(scene.mallory)
    attack = repeat(scene.mallory, "/device/data", deviceId=device, limit=1_000)
    scene.assert_victim_unharmed(*[attack] * CALLERS)


def test_costly_searches_series_and_exports_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    group, device = fill(mallory)
    period = {"beginDate": 1_600_000_000_000, "endDate": 1_600_003_600_000}
    costly = " || ".join(f"message.data.matches('(x|y)+{number}z')" for number in range(8))
    scene.assert_victim_unharmed(
        repeat(mallory, "/group/records", groupId=group, filter=costly),
        repeat(mallory, "/devices", groupId=group, q="nothing like this", subgroups="true"),
        repeat(mallory, "/device/series", deviceId=device, path="/data/x", **period),
        repeat(mallory, "/records/export", groupId=group),
        repeat(mallory, "/group/audit", groupId=group, action="none.at.all"),
        repeat(mallory, "/access", groupId=group, permission="connector.write"),
    )


@pytest.mark.soak  # tests/test_ingest.py and test_plans.py bound what is looked up
def test_records_of_a_device_that_was_transferred_often_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    here, device = fill(mallory)
    there = mallory.group()
    for _ in range(40):
        ok(
            mallory.put(
                "/device/transfer", {"deviceId": device, "groupId": here, "toGroupId": there}
            )
        )
        here, there = there, here
    connector = mallory.connector(here, "https://example.com/in", enabled=False)
    ok(mallory.post("/connector/preview", {"groupId": here, "connectorId": connector}))
    numbers = itertools.count(1_500_000_000_000)

    def send(stop: threading.Event) -> None:
        items = [record_of(device, timestamp=next(numbers)) for _ in range(200)]
        mallory.post("/device/data/batch", {"items": items})

    def preview(stop: threading.Event) -> None:
        body = {"groupId": here, "connectorId": connector, "limit": 100}
        mallory.post("/connector/preview", body)

    scene.assert_victim_unharmed(send, preview, preview)


@pytest.mark.soak  # tests/api/test_health.py counts how often metrics are computed
def test_metrics_and_readiness_asked_by_many_slow_nobody(scene: Scene) -> None:
    def attack(stop: threading.Event) -> None:
        for path in ("/metrics", "/health/ready", "/openapi.json"):
            scene.service.http.get(path)

    scene.assert_victim_unharmed(*[attack] * CALLERS)

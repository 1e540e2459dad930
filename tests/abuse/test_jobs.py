"""Jobs over many devices, one after the other, in many groups."""

import itertools
import threading
from typing import Any

import pytest

from tests.abuse.victim import Scene
from tests.waiting import eventually
from tests.world import Person, ok

DEVICES = 10_000
DEVICES_PER_REQUEST = 1_000
GROUPS = 5


def fill(mallory: Person) -> list[str]:
    """Groups with some thousand devices; their ids."""
    groups = [mallory.group() for _ in range(GROUPS)]
    for number, start in enumerate(range(0, DEVICES, DEVICES_PER_REQUEST)):
        body = {
            "groupId": groups[number % GROUPS],
            "type": "generic",
            "network": f"of {groups[0]}",
            "originalDevicesIds": [f"{start + each}" for each in range(DEVICES_PER_REQUEST)],
        }
        ok(mallory.post("/devices", body))
    return groups


@pytest.mark.engine_free
def test_jobs_with_ten_thousand_devices_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    groups = fill(mallory)
    tags = itertools.count(1)

    def change(stop: threading.Event) -> None:
        """As many jobs as the limits allow, each with something to change everywhere."""
        for group in groups:
            body = {
                "kind": "tag",
                "groupId": group,
                "filter": {},
                "parameters": {"addTags": [f"tag {next(tags) % 20}"], "removeTags": ["none"]},
            }
            mallory.post("/job", body)
        stop.wait(0.1)

    scene.assert_victim_unharmed(change)

    def list_jobs() -> list[dict[str, Any]]:
        return [
            job
            for group in groups
            for job in ok(mallory.get("/jobs", groupId=group, limit=50))["items"]
        ]

    assert len(list_jobs()) >= GROUPS
    eventually(lambda: sum(job["changed"] for job in list_jobs()) > 0)

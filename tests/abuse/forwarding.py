"""An attacker's connectors, and records that keep them busy."""

import itertools
import json
import threading
from functools import partial
from typing import Any

from tests.abuse.victim import Attack, Scene
from tests.world import Person, ok, record_of, walk_pages

NUMBERS = itertools.count(1_500_000_000_000)


def create_connectors(
    person: Person, group: str, count: int, type: str, params: dict[str, Any], **fields: Any
) -> list[str]:
    body = {"groupId": group, "type": type, "params": json.dumps(params), **fields}
    return [str(ok(person.post("/connector", body))["id"]) for _ in range(count)]


def delete_connectors(person: Person, group: str, *, keep: int = 0) -> list[str]:
    """Delete all but some connectors of a group; those that are kept.

    What they have left to forward would keep the service busy beside the attacks that follow.
    """
    pages = walk_pages(partial(person.get, "/connector/connectors"), groupId=group)
    ids = [str(each["id"]) for page in pages for each in page["test"]]
    for connector in ids[keep:]:
        ok(person.delete("/connector", groupId=group, connectorId=connector))
    return ids[:keep]


def post_records(scene: Scene, device: str, count: int, **fields: Any) -> Attack:
    """Post a batch, over and over."""

    def attack(stop: threading.Event) -> None:
        items = [record_of(device, timestamp=next(NUMBERS), **fields) for _ in range(count)]
        scene.mallory.post("/device/data/batch", {"items": items})
        stop.wait(0.1)

    return attack


def get_errors(person: Person, group: str, connectors: list[str]) -> set[str]:
    """What the owner sees on the connectors."""
    shown = [ok(person.get("/connector", groupId=group, connectorId=each)) for each in connectors]
    return {each["error"]["message"] for each in shown if "error" in each}

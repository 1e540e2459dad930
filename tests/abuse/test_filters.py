"""One tenant with costly filters, large batches, changing configuration and replays."""

import itertools
import json
import threading

import pytest

from tests.abuse.victim import Attack, Scene
from tests.waiting import eventually
from tests.world import Person, ok, record_of

# Each as costly as an expression can be for a small record.
PATTERNS = " || ".join(f"message.data.text.matches('(a|b|c)+{n}x')" for n in range(8))
TEXT = json.dumps({"text": "abc" * 300})
NOWHERE = "http://127.0.0.1:9/hook"


class Tenant:
    """An ordinary account with as many costly connectors as it may have."""

    def __init__(self, person: Person, connectors: int) -> None:
        self.person = person
        self.group = person.group()
        self.device = person.device(self.group)
        self.connectors = [
            person.connector(
                self.group, NOWHERE, enabled=True, messageFilter=f"{PATTERNS} || {number} < 0"
            )
            for number in range(connectors)
        ]
        self._numbers = itertools.count(1_500_000_000_000)

    def send_batches(self, size: int) -> Attack:
        def attack(stop: threading.Event) -> None:
            while not stop.is_set():
                items = [
                    record_of(self.device, timestamp=next(self._numbers), data=TEXT)
                    for _ in range(size)
                ]
                self.person.post("/device/data/batch", {"items": items})

        return attack

    def change_filters(self, stop: threading.Event) -> None:
        for number, connector in enumerate(itertools.cycle(self.connectors)):
            if stop.is_set():
                return
            which = {"groupId": self.group, "connectorId": connector}
            changed = {"messageFilter": f"{PATTERNS} || {number} < 1"}
            self.person.put("/connector", {**which, **changed})

    def replay(self, stop: threading.Event) -> None:
        for connector in itertools.cycle(self.connectors):
            if stop.is_set():
                return
            which = {"groupId": self.group, "connectorId": connector}
            period = {"beginDate": "2010-01-01", "endDate": "2030-01-01"}
            self.person.post("/connector/replay", {**which, **period})


@pytest.fixture(scope="module")
def service_flags() -> tuple[str, ...]:
    """A budget that is used up at once, however busy the machine is."""
    return ("--compute-ms-per-group-per-s", "10")


@pytest.fixture
def tenant(scene: Scene) -> Tenant:
    return Tenant(scene.mallory, 1_000 if scene.length.is_strict else 40)


@pytest.mark.engine_free
def test_costly_filters_and_large_batches_slow_nobody(scene: Scene, tenant: Tenant) -> None:
    size = 5_000 if scene.length.is_strict else 1_000
    scene.assert_victim_unharmed(tenant.send_batches(size), tenant.send_batches(size))
    # The owner sees why records are matched late.
    which = {"groupId": tenant.group, "connectorId": tenant.connectors[0]}

    def error() -> str:
        shown = ok(tenant.person.get("/connector", **which))
        return str(shown.get("error", {}).get("message"))

    eventually(lambda: error().startswith("filter_too_expensive: "))


@pytest.mark.soak  # the one above has the filters, tests/delivery/test_replays.py the replays
def test_changed_filters_and_replays_slow_nobody(scene: Scene, tenant: Tenant) -> None:
    scene.assert_victim_unharmed(tenant.send_batches(1), tenant.change_filters, tenant.replay)

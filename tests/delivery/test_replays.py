"""Replays of much: what a step looks at is bounded, and nothing is left out or sent twice."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from longwire.delivery.connectors import replays
from longwire.delivery.engine import engine
from longwire.store.database import Tx
from longwire.store.records import arrived_records
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok, record_of

MINUTE = {"beginDate": "2026-03-01T12:00:00Z", "endDate": "2026-03-01T12:01:00Z"}
NOON_S = 1_772_366_400
BEFORE_S = NOON_S - 86_400
NOBODY = "http://127.0.0.1:9/hook"


class LookedAt:
    """How many arrivals and groups each transaction of a replay has looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.transactions: list[tuple[Tx, list[int]]] = []
        look_ahead = arrived_records.look_ahead

        def record(tx: Tx, *arguments: Any) -> tuple[int, int]:
            found = look_ahead(tx, *arguments)
            if not self.transactions or self.transactions[-1][0] is not tx:
                self.transactions.append((tx, []))
            self.transactions[-1][1].append(found[0])
            return found

        monkeypatch.setattr(arrived_records, "look_ahead", record)

    @property
    def arrivals(self) -> list[int]:
        return [sum(counts) for _, counts in self.transactions]

    @property
    def groups(self) -> list[int]:
        return [len(counts) for _, counts in self.transactions]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> LookedAt:
    return LookedAt(monkeypatch)


def reports_a_day_before(person: Person, device: str, numbers: Iterable[int]) -> None:
    """Records with timestamps outside of the minute that is replayed."""
    items = [record_of(device, timestamp=BEFORE_S + number) for number in numbers]
    ok(person.post("/device/data/batch", {"items": items}))


def reports_in_the_minute(person: Person, device: str, *data: str) -> None:
    for number, each in enumerate(data):
        person.reports(device, timestamp=NOON_S + number, data=each)


def test_a_replay_of_a_minute_looks_at_few_arrivals_at_once(
    world: World, looked_at: LookedAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "ARRIVALS_PER_STEP_MAX", 4)
    monkeypatch.setattr(replays, "RECORDS_PER_STEP_MAX", 3)
    monkeypatch.setattr(engine, "MAINTENANCE_INTERVAL_S", 0.05)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    reports_in_the_minute(ada, device, "a")
    reports_a_day_before(ada, device, range(9))
    reports_in_the_minute(ada, device, *"bcdef")
    reports_a_day_before(ada, device, range(9, 14))
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url)
        which = {"groupId": group, "connectorId": connector}
        begun = ok(ada.post("/connector/replay", {**which, **MINUTE}))
        assert (begun["message"], begun["queued"]) == ("1 queued. More follow.", 1)
        assert _wait_for_end(ada, which) == (6, 6)
        receiver.wait_for(6)
        assert Counter(each.json["data"] for each in receiver.requests) == Counter("abcdef")
    assert max(looked_at.arrivals) == 4
    assert sum(looked_at.arrivals) >= 20, "all of them, some at a time"

    looked_at.transactions.clear()
    off = ada.connector(group, NOBODY, enabled=False)
    body = {"kind": "replay", "groupId": group, "deviceIds": [device]}
    job = ok(ada.post("/job", {**body, "parameters": {"connectorId": off, **MINUTE}}))["job"]
    asked = {"groupId": group, "jobId": job["jobId"]}
    eventually(lambda: "endedAt" in ok(ada.get("/job", **asked)))
    job = ok(ada.get("/job", **asked))
    assert (job["done"], job["changed"], job["skipped"]) == (6, 6, 0)
    assert max(looked_at.arrivals) == 4


def _wait_for_end(person: Person, which: dict[str, str]) -> tuple[int, int]:
    """What the last replay of a connector has looked at and queued, when it is done."""

    def get_last() -> dict[str, Any]:
        return dict(ok(person.get("/connector/replays", **which))["items"][0])

    eventually(lambda: get_last()["status"] == "done")
    return get_last()["lookedAt"], get_last()["queued"]


@pytest.mark.engine_free
@pytest.mark.parametrize("most", [1, 2, 7, 8])
def test_a_replay_visits_few_of_many_groups_at_once(
    world: World, looked_at: LookedAt, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(replays, "GROUPS_PER_STEP_MAX", most)
    monkeypatch.setattr(engine, "MAINTENANCE_INTERVAL_S", 0.05)
    ada = world.person("ada")
    root = ada.group()
    groups = [root, *(ada.group(parent=root) for _ in range(6))]
    for number in (0, 2, 3, 6):
        device = ada.device(groups[number])
        reports_a_day_before(ada, device, range(2))
        reports_in_the_minute(ada, device, f"of {number}")
    strange = ada.group()
    reports_in_the_minute(ada, ada.device(strange), "of nobody")
    with Receiver() as receiver:
        connector = ada.connector(root, receiver.url, params={"subgroups": True})
        which = {"groupId": root, "connectorId": connector}
        ok(ada.post("/connector/replay", {**which, **MINUTE}))
        assert _wait_for_end(ada, which) == (4, 4)
        receiver.wait_for(4)
        seen = Counter(each.json["data"] for each in receiver.requests)
        assert seen == {f"of {number}": 1 for number in (0, 2, 3, 6)}
    assert sum(looked_at.groups) == 7, "each group once"
    assert max(looked_at.groups) == min(most, 7)


def test_steps_that_find_little_follow_each_other_in_one_round(
    make_world: Callable[..., World], looked_at: LookedAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MAINTENANCE_INTERVAL_S", 3_600)  # the test advances it by itself
    monkeypatch.setattr(replays, "ARRIVALS_PER_STEP_MAX", 2)
    monkeypatch.setattr(replays, "RECORDS_PER_STEP_MAX", 3)
    monkeypatch.setattr(replays, "STEPS_PER_ROUND_MAX", 5)
    world = make_world()
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    reports_a_day_before(ada, device, range(14))
    reports_in_the_minute(ada, device, *"abcdef")
    connector = ada.connector(group, NOBODY, enabled=False)
    which = {"groupId": group, "connectorId": connector}
    ok(ada.post("/connector/replay", {**which, **MINUTE}))
    woken: list[int] = []

    def run_round() -> tuple[int, int]:
        """The number of its steps, and what was queued until then."""
        looked_at.transactions.clear()
        world._run(replays.advance_replays(world.database, 0, woken.extend))
        shown = ok(ada.get("/connector/replays", **which))["items"][0]
        return len(looked_at.transactions), shown["queued"]

    assert run_round() == (5, 0)
    assert woken == [], "nothing is to be sent yet"
    assert run_round() == (3, 4), "no more in a round than one step may find, and a step more"
    assert len(woken) == 2
    assert run_round()[1] == 6
    assert _wait_for_end(ada, which) == (6, 6)


def test_a_replay_that_fails_does_not_hold_up_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "REPLAYS_PER_ROUND_MAX", 1)
    monkeypatch.setattr(replays, "ARRIVALS_PER_STEP_MAX", 1)
    monkeypatch.setattr(engine, "MAINTENANCE_INTERVAL_S", 0.05)
    ada = world.person("ada")
    started = []
    for _ in range(2):
        group = ada.group()
        reports_in_the_minute(ada, ada.device(group), *"abc")
        which = {"groupId": group, "connectorId": ada.connector(group, NOBODY, enabled=False)}
        started.append(which)
    broken = int(started[0]["groupId"])
    look_ahead = arrived_records.look_ahead
    is_mended = False

    def look_ahead_unless_broken(tx: Tx, group: int, *arguments: Any) -> tuple[int, int]:
        if group == broken and not is_mended:
            raise RuntimeError("a fault that stays")
        return look_ahead(tx, group, *arguments)

    for which in started:
        ok(ada.post("/connector/replay", {**which, **MINUTE}))
    monkeypatch.setattr(arrived_records, "look_ahead", look_ahead_unless_broken)
    assert _wait_for_end(ada, started[1]) == (3, 3)
    is_mended = True
    assert _wait_for_end(ada, started[0]) == (3, 3)

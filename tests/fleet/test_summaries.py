"""Summaries are what a count of all records gives, whatever happened to the records."""

import json
import math
import random
from itertools import pairwise
from typing import Any

import pytest

from longwire.clock import DAY, HOUR, SECOND, Moment
from longwire.dates import parse_date
from longwire.fleet import value_periods, value_series
from longwire.fleet.summaries import SummaryWork
from longwire.fleet.value_periods import SpanPlaces
from longwire.fleet.value_series import StayRead
from longwire.measurements.calendar_spans import Spans
from longwire.store.database import Tx
from longwire.store.fleet import measurements as store_measurements
from longwire.store.fleet import reporting_devices
from tests.world import Person, World, ok, walk


def run_work(world: World) -> None:
    world.clock.let_pass(seconds=120)  # until what was declared is known everywhere
    work = SummaryWork(world.app.database)
    world._run(work.run_round())


def recount(numbers: list[tuple[Moment, float]], boundaries: list[Moment]) -> list[Any]:
    """What a plain program makes of numbers in the order of their time."""
    points = []
    before = [value for ts, value in numbers if ts < boundaries[0]]
    earlier = before[-1] if before else None
    for begin, end in pairwise(boundaries):
        some = [value for ts, value in numbers if begin <= ts < end]
        if not some:
            continue
        increase = 0.0
        for value in some:
            if earlier is not None:
                increase += value - earlier if value >= earlier else value
            earlier = value
        points.append(
            (begin, len(some), min(some), max(some), math.fsum(some), some[0], some[-1], increase)
        )
    return points


def read(world: World, device: str, name: str, boundaries: list[Moment]) -> list[Any]:
    def work(tx: Tx) -> list[Any]:
        found = reporting_devices.get_reporting(tx, [device])[device]
        (key,) = store_measurements.list_keys_of_names(tx, [name])
        spans = Spans(boundaries[0], boundaries[-1], boundaries, 2 * boundaries[0] - boundaries[1])
        period = value_periods.plan_period(spans, is_counter=True)
        reads = [
            StayRead(found.number, stay, key.number, key.place.kind)
            for stay in range(found.stay + 1)
        ]
        by_stay = {(each.device, each.stay, each.key): each for each in reads}
        value_series.begin_reads(tx, by_stay, period)
        for each in reads:
            while each.has_records:
                each.step(tx)
        places = SpanPlaces(spans)
        points = value_series.build_points(spans, reads, places, is_counter=True)
        begins, *columns, _ = points.row
        return list(zip(begins, *columns, points.rises, strict=True))

    return list(world.read(work))


def numbers_of(person: Person, device: str, name: str) -> list[tuple[Moment, float]]:
    listed = walk(
        lambda **params: person.get("/device/data", deviceId=device, ascending="true", **params),
        beginDate="2020-01-01",
        endDate="2030-01-01",
    )
    found = [(parse_date(each["timestamp"]), json.loads(each["data"])) for each in listed]
    return [(ts, float(data[name])) for ts, data in found if name in data]


def days(begin: str, count: int, step: Moment = DAY) -> list[Moment]:
    first = parse_date(begin)
    return [first + index * step for index in range(count + 1)]


def batch(person: Person, device: str, rows: list[tuple[float, dict[str, Any]]]) -> None:
    items = [
        {
            **{"deviceId": device, "timestamp": ts / SECOND, "configuration": "", "__raw": ""},
            **{"deviceType": "generic", "data": json.dumps(data)},
        }
        for ts, data in rows
    ]
    for start in range(0, len(items), 500):
        ok(person.post("/device/data/batch", {"items": items[start : start + 500]}))


def test_summaries_are_what_a_count_gives(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    first = parse_date("2026-03-01T05:00:00Z")
    meter = [
        (first + n * 25 * 60 * SECOND, {"meter": (n * 7) % 400, "other": 1}) for n in range(300)
    ]
    batch(ada, device, meter)
    wanted = [days("2026-02-28", 9), days("2026-03-01", 48, HOUR), days("2026-03-01T22:30:00Z", 3)]
    for _ in range(2):
        for boundaries in wanted:
            numbers = numbers_of(ada, device, "meter")
            expected = recount(numbers, boundaries)
            assert read(world, device, "meter", boundaries) == expected
        run_work(world)
        assert world.list_rows("summary_due") == []
        assert len(world.list_rows("summary_days")) == 2
    # Late, deleted, and one more of an instant.
    batch(ada, device, [(first + SECOND, {"meter": 5000}), (first + SECOND, {"meter": 5})])
    ok(ada.put("/device/data", deviceId=device, timestamp=str((first + 25 * 60 * SECOND) / SECOND)))
    assert world.list_rows("summary_due") != []
    for _ in range(2):
        for boundaries in wanted:
            numbers = numbers_of(ada, device, "meter")
            expected = recount(numbers, boundaries)
            assert read(world, device, "meter", boundaries) == expected
        run_work(world)
        assert world.list_rows("summary_due") == []


SPANS = (
    ("2026-02-27T23:00:00Z", 16, DAY),
    ("2026-02-28T00:00:00Z", 15 * 24, HOUR),
    ("2026-02-28T10:03:27Z", 700, 7 * 60 * SECOND),
    ("2026-02-28T22:07:00Z", 14, DAY + 11 * SECOND),
)


@pytest.mark.parametrize("seed", [1, 13])
def test_whatever_happens_to_records_the_answer_is_what_a_count_gives(
    world: World, seed: int
) -> None:
    chance = random.Random(seed)
    ada = world.person("ada")
    groups = [ada.group("old"), ada.group("new")]
    device, group = ada.device(groups[0]), groups[0]
    first = parse_date("2026-02-28T00:00:00Z")
    for _ in range(12):
        happens = chance.choice(("batch", "batch", "delete", "transfer", "summaries"))
        if happens == "batch":
            moments = [first + chance.randrange(2 * DAY // SECOND) * SECOND for _ in range(30)]
            moments += [moments[0], moments[0] - moments[0] % HOUR]
            batch(ada, device, [(ts, {"n": chance.randrange(50)}) for ts in moments])
        elif happens == "transfer":
            other = groups[group == groups[0]]
            move = {"deviceId": device, "groupId": group, "toGroupId": other}
            ok(ada.put("/device/transfer", move))
            # What is stored next may be of before the transfer, in the same quarters of an hour.
            group, first = other, first + chance.choice((0, HOUR, DAY, DAY // 2 * 5))
        elif happens == "summaries":
            run_work(world)
        elif stored := numbers_of(ada, device, "n"):
            ts, _ = chance.choice(stored)
            ok(ada.put("/device/data", deviceId=device, timestamp=str(ts / SECOND)))
        numbers = numbers_of(ada, device, "n")
        for begin, count, step in SPANS if numbers else ():
            boundaries = days(begin, count, step)
            assert read(world, device, "n", boundaries) == recount(numbers, boundaries), happens

"""The past of the company: what its devices reported in the days before somebody looks.

The clock of the service is turned for it, so that everything arrives when it was due, and counters
and charts by time of arrival have a past as well. Without a clock to turn, all of it arrives now.
"""

import asyncio
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from longwire_cli.demo import messages, receiver
from longwire_cli.demo.client import Api, Json
from longwire_cli.demo.clock import DAY, HOUR, MILLISECOND, MINUTE, Clock, now
from longwire_cli.demo.fleet import Fleet, FleetDevice
from longwire_cli.demo.plan import (
    BUTTON,
    COLD_ROOM,
    HISTORY_DAYS,
    METER,
    METER_DAYS,
    TRACKER,
    VESSEL,
    WAGON,
    Condition,
)
from longwire_cli.demo.traffic import Traffic

HOUR_MS = HOUR // MILLISECOND
# In the last hours connectors deliver.
RECENT_MS = 2 * HOUR_MS
# By which the clock is turned: in the last hours, in the last day and a little before it, earlier.
_RECENT_STEP_MS = 5 * MINUTE // MILLISECOND
_DAY_STEP_MS = 15 * MINUTE // MILLISECOND
_DAYS_STEP_MS = 4 * HOUR_MS
_RECENT_REPORTS = 20  # in each step
_SPARSE_STEP_MS = 30 * MINUTE // MILLISECOND
_DENSE_STEP_MS = 8 * MINUTE // MILLISECOND
_DENSE_MS = 2 * DAY // MILLISECOND
# A chart of the last day begins with a bucket that reaches back further: no large step is in it.
_SMALL_STEPS_MS = (DAY + 2 * HOUR) // MILLISECOND
_READING_STEP_MS = 3 * HOUR_MS
_SPARSE_RECORDS_MAX = 9_000  # of data; a larger fleet has fewer of each device
_DENSE_RECORDS_MAX = 20_000
_SILENT_SINCE_MS = 30 * HOUR_MS
_RECORDS_PER_BATCH = 2_000
_POLL_S = 0.02
_POLLS_MAX = 250
_MOVING = {TRACKER, WAGON, VESSEL}
_TELEMETRY_SHARE = 0.25
_EVENT_SHARE = 1 / 12

T = TypeVar("T")
Moments = Mapping[str, list[int]]  # when each device reported, by its id


@dataclass(frozen=True, slots=True)
class History:
    """Stores the past, and ends it."""

    api: Api
    rng: random.Random
    days: float
    ends_ms: int
    clock: Clock | None = None  # of the service, if it can be turned

    def turn_to(self, moment_ms: int) -> None:
        if self.clock is not None:
            self.clock.synchronize(moment_ms * MILLISECOND)

    def end(self) -> None:
        """From here on it is now."""
        self.turn_to(now() // MILLISECOND)

    async def store(self, fleet: Fleet) -> None:
        """Records of the last days, in batches; the payloads of some are decoded by jobs."""
        reporting = [each for each in fleet.devices if each.plan.condition is not Condition.NEW]
        sparse = {each.id: self._sparse_moments(each, len(reporting)) for each in reporting}
        dense = {each.id: self._dense_moments(each, len(reporting)) for each in reporting}
        begins_ms = min((moments[0] for moments in sparse.values()), default=self.ends_ms)
        self.turn_to(begins_ms)
        if self.days >= HISTORY_DAYS:
            await self._store("data", self._build_readings(fleet.of_type(METER), begins_ms))
            for each in fleet.of_type(METER):
                until = range(begins_ms, sparse[each.id][0], _READING_STEP_MS)
                sparse[each.id] = [*until, *sparse[each.id]]
        still = (each for each in reporting if each.plan.type not in _MOVING)
        await self._store("geoloc", (each.build_position(begins_ms) for each in still))
        for begin, end in self._list_spans(begins_ms):
            self.turn_to(end)
            await self._store_span(
                reporting, _within(sparse, begin, end), _within(dense, begin, end)
            )

    def _build_readings(self, meters: list[FleetDevice], ends_ms: int) -> Iterator[Json]:
        """What meters kept of the weeks before: as charts of consumption want it."""
        begins_ms = self.ends_ms - METER_DAYS * DAY // MILLISECOND
        for moment in range(begins_ms, ends_ms, _READING_STEP_MS):
            yield from (each.build_values(moment) for each in meters)

    def _list_spans(self, begins_ms: int) -> Iterator[tuple[int, int]]:
        if self.clock is None:
            yield begins_ms, self.ends_ms
            return
        day_ms, recent_ms = self.ends_ms - _SMALL_STEPS_MS, self.ends_ms - RECENT_MS
        moments = [
            *range(begins_ms, day_ms, _DAYS_STEP_MS),
            *range(day_ms, recent_ms, _DAY_STEP_MS),
            recent_ms,
        ]
        yield from itertools.pairwise(moments)

    def _sparse_moments(self, device: FleetDevice, devices: int) -> list[int]:
        wanted = int(self.days * DAY / MILLISECOND / _SPARSE_STEP_MS)
        count = max(2, min(wanted, _SPARSE_RECORDS_MAX // max(1, devices)))
        step = int(self.days * DAY / MILLISECOND / count)
        last = self.ends_ms - self.rng.randrange(10_000, 120_000)
        if device.plan.condition is Condition.SILENT:
            last -= _SILENT_SINCE_MS
        return [last - step * back for back in reversed(range(count))]

    def _dense_moments(self, device: FleetDevice, devices: int) -> list[int]:
        """More of the last days, where that shows; a harbour is quieter at night."""
        count = min(_DENSE_MS // _DENSE_STEP_MS, _DENSE_RECORDS_MAX // max(1, devices))
        if self.clock is None or not device.is_active or count == 0:
            return []
        first = self.ends_ms - _DENSE_MS + self.rng.randrange(_DENSE_STEP_MS)
        moments = (first + _DENSE_MS // count * each for each in range(count))
        return [each for each in moments if self.rng.random() < _activity(each)]

    async def _store_span(
        self, reporting: list[FleetDevice], sparse: Moments, dense: Moments
    ) -> None:
        measuring = [each for each in reporting if each.plan.type != BUTTON]
        data = itertools.chain(
            (each.build_data(moment) for each in measuring for moment in sparse[each.id]),
            (each.build_values(moment) for each in measuring for moment in dense[each.id]),
        )
        await self._store("data", data)
        moments = {each.id: sparse[each.id] + dense[each.id] for each in reporting}
        await self._store("geoloc", _list_positions(reporting, moments))
        telemetry = (
            messages.build_telemetry(each.id, each.plan.type, moment, self.rng)
            for each in reporting
            if each.has_radio
            for moment in moments[each.id]
            if self.rng.random() < _TELEMETRY_SHARE
        )
        await self._store("telemetry", telemetry)
        await self._store("event", self._build_events(reporting, moments))

    def _build_events(self, reporting: list[FleetDevice], moments: Moments) -> Iterator[Json]:
        for each in reporting:
            if each.plan.type not in (BUTTON, COLD_ROOM):
                continue
            kind = "pressed" if each.plan.type == BUTTON else "doorOpen"
            for moment in moments[each.id]:
                if self.rng.random() < _EVENT_SHARE:
                    yield {
                        "deviceId": each.id,
                        "timestamp": moment,
                        "type": kind,
                        "deviceType": each.plan.type,
                        "severity": self.rng.choice(("info", "low", "low", "high")),
                    }

    async def _store(self, kind: str, records: Iterable[Json]) -> None:
        for some in batched(records, _RECORDS_PER_BATCH):
            await self.api.post(f"/device/{kind}/batch", {"items": some})

    async def live_until(self, fleet: Fleet, traffic: Traffic, before_end_ms: int) -> None:
        """Devices report through their networks, and connectors deliver, up to that moment."""
        if self.clock is None:
            return
        until_ms = self.ends_ms - before_end_ms
        active = [each for each in fleet.devices if each.is_active]
        while (now := traffic.now_ms()) < until_ms:
            self.turn_to(min(now + _RECENT_STEP_MS, until_ms))
            some = self.rng.sample(active, min(len(active), _RECENT_REPORTS))
            await asyncio.gather(*(traffic.report(each) for each in some))
            await self._wait_for_deliveries(fleet)

    async def _wait_for_deliveries(self, fleet: Fleet) -> None:
        """An attempt in progress would seem to take as long as the clock is turned."""
        which = {"groupId": fleet.group_id, "connectorId": receiver.WORKING}
        for _ in range(_POLLS_MAX):
            page = await self.api.get("/connector/messages", status="processing", limit=1, **which)
            if not page["items"]:
                return
            await asyncio.sleep(_POLL_S)


def _activity(moment_ms: int) -> float:
    """How busy the harbour is, 0 to 1: at most in the early afternoon."""
    hour = moment_ms / HOUR_MS % 24
    return 0.65 + 0.35 * math.cos((hour - 13) / 24 * math.tau)


def _within(moments: Moments, begin_ms: int, end_ms: int) -> Moments:
    return {
        device: [each for each in known if begin_ms <= each < end_ms]
        for device, known in moments.items()
    }


def _list_positions(devices: Iterable[FleetDevice], moments: Moments) -> Iterator[Json]:
    """Where those that move were each time."""
    for each in devices:
        if each.plan.type in _MOVING:
            for moment in moments[each.id]:
                yield each.build_position(moment)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(itertools.islice(remaining, size)):
        yield batch

"""RECORDS IN: check, store, touch the device, count; one transaction, then the answer.

There is no timer. Whatever arrives while one commit is on its way to the disk goes into the next,
so a quiet service answers at once and a busy one commits hundreds of records together. What is
waiting is bounded. An answer is given only after the commit.
"""

import asyncio
import hashlib
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
import structlog

from longwire import metrics
from longwire.clock import Moment
from longwire.dates import date_text
from longwire.delivery import matching
from longwire.errors import BadInput, Fault, LongwireError, NotAllowed, NotFound, Unavailable
from longwire.identity import access
from longwire.model import SYSTEM, Actor
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store_deliveries
from longwire.store import devices as store_devices
from longwire.store import records as store
from longwire.store import rights
from longwire.store.database import Database, Tx
from longwire.store.devices import Reporting
from longwire.store.records import WRITER_BITS, Row

log = structlog.get_logger()

_NEVER: Moment = -(2**63)
_SEES_DEVICES = {"device.read", "record.read"}


class Draft(Protocol):
    """A record that was checked for its form, and knows how it will be answered."""

    device_id: str

    def finished(self, group_id: str, device_name: str) -> str:
        """The record as it is stored and answered."""


class Item(msgspec.Struct, frozen=True, gc=False):
    kind: int
    ts: Moment
    digest: bytes
    draft: Draft
    claimed_group: str | None = None  # where the sender believes the device to be


class Aside(msgspec.Struct, frozen=True, gc=False):
    """What a network tells beside its records; it counts if any of them is new."""

    device_id: str
    counts: tuple[str, ...] = ()
    battery: str | None = None
    at: Moment | None = None


class Unit(msgspec.Struct, frozen=True, gc=False):
    """What one request brings: all of it is stored, or none."""

    actor: Actor
    items: Sequence[Item]
    is_batch: bool
    aside: Aside | None = None


class Stored(msgspec.Struct, frozen=True, gc=False):
    """The records as they are answered, and how many of them were there before."""

    bodies: list[str]
    duplicates: int


class Told(msgspec.Struct, frozen=True, gc=False):
    """An event of a device that nobody but the service itself can tell."""

    device_id: str
    type: str
    ts: Moment
    message: str | None = None
    severity: str | None = None
    data: Mapping[str, Any] | None = None


# Hears what became of a request's records, once that is certain.
Tell = Callable[[Stored | Exception], None]


class Sequencer:
    """Numbers arrivals: the moment above, the process below, never twice and never backwards."""

    def __init__(self, writer: int) -> None:
        self.writer = writer
        self._last: Moment = 0
        self._lock = threading.Lock()  # not everything that arrives comes through one queue

    def take(self, now: Moment, count: int) -> range:
        with self._lock:
            first = max(now, self._last + 1)
            self._last = first + count - 1
        step = 1 << WRITER_BITS
        start = (first << WRITER_BITS) | self.writer
        return range(start, start + count * step, step)


class Ingest:
    """Gathers what comes in and commits it together."""

    def __init__(
        self,
        database: Database,
        sequencer: Sequencer,
        *,
        waiting_records_max: int = 20_000,
        records_per_commit_max: int = 1_000,
        wake: Callable[[Collection[int]], None] = lambda connectors: None,
    ) -> None:
        self._database = database
        self._sequencer = sequencer
        self._waiting_records_max = waiting_records_max
        self._records_per_commit_max = records_per_commit_max
        self._wake = wake
        self._queue: deque[tuple[Unit, Tell]] = deque()
        self._waiting = 0
        self._flushing: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Records that are waiting to be stored."""
        return self._waiting

    async def put(self, unit: Unit) -> Stored:
        """Store what one request brought; returns after the commit."""
        future: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        if not self.offer(unit, partial(_settle, future)):
            raise Unavailable("Too many records are waiting to be stored; nothing was changed.")
        return await future

    def offer(self, unit: Unit, tell: Tell) -> bool:
        """The same without waiting: `tell` is called after the commit. False when it is full."""
        if self._waiting + len(unit.items) > self._waiting_records_max:
            return False
        self._queue.append((unit, tell))
        self._waiting += len(unit.items)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        return True

    async def _flush(self) -> None:
        try:
            while self._queue:
                bite = self._bite()
                units = [unit for unit, _ in bite]
                outcomes: Sequence[Stored | Exception]
                try:
                    outcomes, woken = await self._database.write(
                        partial(store_units, units=units, sequencer=self._sequencer)
                    )
                    if woken:
                        self._wake(woken)
                except Exception as error:
                    outcomes = [error] * len(bite)
                self._waiting -= sum(len(unit.items) for unit in units)
                for (_, tell), outcome in zip(bite, outcomes, strict=True):
                    try:
                        tell(outcome)
                    except Exception:  # one who cannot listen must not keep it from the others
                        log.exception("nobody could be told what became of a record")
        finally:
            self._flushing = None

    def _bite(self) -> list[tuple[Unit, Tell]]:
        """What goes into one commit: at least one request, and not many more records than that."""
        bite = [self._queue.popleft()]
        size = len(bite[0][0].items)
        while self._queue and size + len(self._queue[0][0].items) <= self._records_per_commit_max:
            bite.append(self._queue.popleft())
            size += len(bite[-1][0].items)
        return bite


def store_units(
    tx: Tx, units: Sequence[Unit], sequencer: Sequencer
) -> tuple[list[Stored | LongwireError], set[int]]:
    """The whole way of some requests' records into the database.

    What became of each request, and the connectors that have something to deliver now.
    """
    rights.look(tx)  # a connector made elsewhere a moment ago gets these records, too
    devices = store_devices.reporting(
        tx, {item.draft.device_id for unit in units for item in unit.items}
    )
    seqs = iter(sequencer.take(tx.now, sum(len(unit.items) for unit in units)))
    outcomes: list[Stored | LongwireError] = []
    wanted: list[list[Row]] = []
    standings = _Standings(tx)
    for unit in units:
        refusal = _refusal(unit, devices, standings)
        if refusal is not None:
            outcomes.append(refusal)
            wanted.append([])
            continue
        rows = [_row(item, devices[item.draft.device_id], next(seqs)) for item in unit.items]
        wanted.append(rows)
        outcomes.append(Stored([row.body for row in rows], 0))
    fresh = _insert(tx, [row for rows in wanted for row in rows])
    matched = matching.match(tx, fresh, devices.values())
    if fresh:
        with tx.together():
            store.enter(tx, fresh)
            _touch(tx, fresh)
            metrics.count_arrivals(tx, sequencer.writer, fresh)
            _queue(tx, sequencer.writer, matched)
    _note_asides(tx, sequencer.writer, units, wanted, fresh, devices)
    for number, reason in matched.errors.items():
        store_connectors.note_filter_error(tx, number, reason)
    woken = {delivery.connector_number for delivery in matched.deliveries}
    if len(fresh) == sum(map(len, wanted)):
        return outcomes, woken
    new = {row.seq for row in fresh}
    return [
        Stored(outcome.bodies, sum(row.seq not in new for row in rows))
        if isinstance(outcome, Stored)
        else outcome
        for outcome, rows in zip(outcomes, wanted, strict=True)
    ], woken


def tell(tx: Tx, sequencer: Sequencer, told: Sequence[Told]) -> set[int]:
    """Store events of the service itself by the way of all records; connectors that are to wake.

    An event that was told before with the same words and moment is not told again.
    """
    units = [Unit(SYSTEM, [_event_item(each)], is_batch=False) for each in told]
    return store_units(tx, units, sequencer)[1] if units else set()


class _EventDraft(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """An event in the words of the interface."""

    device_id: str
    timestamp: str
    group_id: str | None = None
    type: str
    message: str | None = None
    data: str | None = None
    severity: str | None = None

    def finished(self, group_id: str, device_name: str) -> str:
        self.group_id = group_id
        return msgspec.json.encode(self).decode()


def _event_item(told: Told) -> Item:
    draft = _EventDraft(
        device_id=told.device_id,
        timestamp=date_text(told.ts),
        type=told.type,
        message=told.message,
        severity=told.severity,
        data=None if told.data is None else msgspec.json.encode(told.data).decode(),
    )
    digest = hashlib.blake2b(msgspec.json.encode(draft), digest_size=store.DIGEST_BYTES).digest()
    return Item(store.KINDS.index("event"), told.ts, digest, draft)


class _Standings:
    """Who may do what, looked up once for each sender and group of a commit."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._known: dict[tuple[int, str], frozenset[str]] = {}

    def of(self, actor: Actor, group_id: str) -> frozenset[str]:
        key = (id(actor), group_id)  # the units hold on to their actors meanwhile
        held = self._known.get(key)
        if held is None:
            held = self._known[key] = access.permissions_in(self._tx, actor, group_id)
        return held


def _refusal(
    unit: Unit, devices: dict[str, Reporting], standings: _Standings
) -> LongwireError | None:
    """Why nothing of a request is stored, naming every item that is in the way."""
    missing: list[Fault] = []
    wrong: list[Fault] = []
    for index, item in enumerate(unit.items):
        device = devices.get(item.draft.device_id)
        held = standings.of(unit.actor, device.group_id) if device else frozenset()
        if device is not None and "record.create" in held:
            if item.claimed_group is not None and item.claimed_group != device.group_id:
                wrong.append(Fault(_place(unit, index, "group_id"), "is not the device's group"))
        elif device is not None and held & _SEES_DEVICES:
            return NotAllowed(
                f"This needs the permission record.create in group {device.group_id}."
            )
        else:
            missing.append(
                Fault(
                    _place(unit, index, "device_id"),
                    "names no device, or none that is yours to see",
                )
            )
    if missing:
        return NotFound(faults=missing + wrong)
    return BadInput(faults=wrong) if wrong else None


def _place(unit: Unit, index: int, field: str) -> str:
    return f"items[{index}].{field}" if unit.is_batch else field


def _row(item: Item, device: Reporting, seq: int) -> Row:
    return Row(
        item.kind,
        device.group_number,
        device.number,
        device.stay,
        item.ts,
        item.digest,
        seq,
        item.draft.finished(device.group_id, device.name),
    )


def _insert(tx: Tx, rows: list[Row]) -> list[Row]:
    """Store what is new; a record known from an earlier stay of its device is not."""
    return store.insert(
        tx, [row for row in rows if row.stay == 0 or not store.known_before(tx, row)]
    )


def _touch(tx: Tx, fresh: Sequence[Row]) -> None:
    """A device was seen when its newest record says so, but never in the future."""
    newest: dict[int, Moment] = {}
    for row in fresh:
        number, ts = row.device_number, row.ts
        if ts > newest.get(number, _NEVER):
            newest[number] = ts
    store_devices.touch(tx, [(number, min(ts, tx.now)) for number, ts in newest.items()])


def _note_asides(
    tx: Tx,
    writer: int,
    units: Sequence[Unit],
    wanted: Sequence[Sequence[Row]],
    fresh: Sequence[Row],
    devices: dict[str, Reporting],
) -> None:
    """Count what networks say, and keep the newest battery, of messages that were not known."""
    if all(unit.aside is None for unit in units):
        return
    new = {row.seq for row in fresh}
    counted: Counter[tuple[int, str]] = Counter()
    for unit, rows in zip(units, wanted, strict=True):
        aside = unit.aside
        if aside is None or not any(row.seq in new for row in rows):
            continue
        device = devices[aside.device_id]
        for name in aside.counts:
            counted[(device.group_number, name)] += 1
        if aside.battery is not None:
            at = tx.now if aside.at is None else min(aside.at, tx.now)
            store_devices.set_battery(tx, device.number, aside.battery, at)
    metrics.count(tx, writer, counted)


def _queue(tx: Tx, writer: int, matched: matching.Matched) -> None:
    """Queue what connectors take of it."""
    if matched.deliveries:
        store_deliveries.insert(tx, matched.deliveries)
        started = {
            (group, "connector_message_started"): number for group, number in matched.groups.items()
        }
        metrics.count(tx, writer, started)


def _settle(future: "asyncio.Future[Stored]", outcome: Stored | Exception) -> None:
    if future.done():
        return  # the sender hung up; what was committed stays
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)

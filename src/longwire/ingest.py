"""RECORDS IN: check, store, touch the device, count; one transaction, then the answer.

There is no timer. Whatever arrives while one commit is on its way to the disk goes into the next,
so a quiet service answers at once and a busy one commits hundreds of records together. What is
waiting is bounded. An answer is given only after the commit.
"""

import asyncio
import hashlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
import structlog

from longwire import metrics
from longwire.clock import Moment
from longwire.dates import date_text
from longwire.delivery import matching
from longwire.errors import (
    BadInput,
    Fault,
    LongwireError,
    NotAllowed,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from longwire.fleet import monitoring
from longwire.identity import access
from longwire.model import SYSTEM, Actor, Count
from longwire.model import Told as Told  # what `tell` takes
from longwire.networks.monitoring import Numbered
from longwire.notifications import triggers as notifying
from longwire.notifications.triggers import Battery
from longwire.store import auth_epoch
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store_deliveries
from longwire.store import devices as store_devices
from longwire.store import records as store
from longwire.store.database import Database, Tx
from longwire.store.devices import Reporting
from longwire.store.records import WRITER_BITS, Row

# One commit at work, and one that begins the moment it is done. Where commits do not stand in line
# by themselves they go one at a time, or the small ones would be many.
UNDER_WAY_MAX = {"sqlite": 2, "postgresql": 1}

# So many requests that share a commit came faster than they could be stored; true for a while.
BUSY_REQUESTS = 8
BUSY_FOR_S = 0.1

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
    # When the device was changed last, as far as the sender knew.
    as_of: Moment | None = None
    # The number of the message, and where such numbers begin anew; or that they begin anew now.
    sequence: int | None = None
    modulus: int = 0
    restarts: bool = False

    @property
    def is_numbered(self) -> bool:
        return self.sequence is not None or self.restarts


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


class Outdated(Unavailable):
    """The device was changed while it was speaking; nothing was stored. Try again at once."""


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
        self._lock = threading.Lock()  # those who store take from the queue, not only the loop
        self._waiting = 0
        self._under_way = 0
        self._under_way_max = UNDER_WAY_MAX[database.engine_name]
        self._was_crowded = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether records come in faster than one at a time can be stored."""
        return time.monotonic() - self._was_crowded < BUSY_FOR_S

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
        if self._under_way < self._under_way_max:
            self._begin()
        return True

    def _begin(self) -> None:
        """Have the next commit ready behind the one under way, so that the disk need not wait.

        What goes into it is decided when it begins, not now: everything that is there by then.
        """
        bite: list[tuple[Unit, Tell]] = []
        try:
            commit = self._database.submit(partial(self._store, bite))
        except LongwireError as error:
            self._told(self._bite(), error)
            return
        self._under_way += 1
        commit.add_done_callback(partial(self._committed, bite))

    def _store(
        self, bite: list[tuple[Unit, Tell]], tx: Tx
    ) -> tuple[list[Stored | LongwireError], set[int]]:
        if not bite:  # else this is another try with the same
            bite += self._bite()
        return store_units(tx, [unit for unit, _ in bite], self._sequencer)

    def _committed(self, bite: list[tuple[Unit, Tell]], commit: "asyncio.Future[Any]") -> None:
        self._under_way -= 1
        error = asyncio.CancelledError() if commit.cancelled() else commit.exception()
        if error is not None and not bite:
            bite = self._bite()  # it failed before it had begun, and so would the next
        if self._queue and self._under_way < self._under_way_max:
            self._begin()  # before the answers: the disk is slower than we are
        if error is not None:
            self._told(bite, error)
            return
        outcomes, woken = commit.result()
        if woken:
            self._wake(woken)
        self._told(bite, outcomes)

    def _told(
        self,
        bite: Sequence[tuple[Unit, Tell]],
        outcomes: Sequence[Stored | Exception] | BaseException,
    ) -> None:
        if isinstance(outcomes, BaseException):
            failure = outcomes if isinstance(outcomes, Exception) else OutcomeUnknown()
            outcomes = [failure] * len(bite)
        self._waiting -= sum(len(unit.items) for unit, _ in bite)
        for (_, tell), outcome in zip(bite, outcomes, strict=True):
            try:
                tell(outcome)
            except Exception:  # one who cannot listen must not keep it from the others
                log.exception("nobody could be told what became of a record")

    def _bite(self) -> list[tuple[Unit, Tell]]:
        """What goes into one commit: one request, and not many more records than that."""
        bite: list[tuple[Unit, Tell]] = []
        size = 0
        with self._lock:
            while self._queue:
                size += len(self._queue[0][0].items)
                if bite and size > self._records_per_commit_max:
                    break
                bite.append(self._queue.popleft())
        if len(bite) > BUSY_REQUESTS:
            self._was_crowded = time.monotonic()
        return bite


def store_units(
    tx: Tx, units: Sequence[Unit], sequencer: Sequencer
) -> tuple[list[Stored | LongwireError], set[int]]:
    """The whole way of some requests' records into the database.

    What became of each request, and the connectors that have something to deliver now.
    """
    auth_epoch.look(tx)  # a connector made elsewhere a moment ago gets these records, too
    ids = {item.draft.device_id for unit in units for item in unit.items}
    counts: dict[int, Count] = {}
    if any(unit.aside is not None and unit.aside.is_numbered for unit in units):
        devices, counts = store_devices.counting(tx, ids)
    else:
        devices = store_devices.reporting(tx, ids)
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
    said = _said_beside(units, wanted, fresh)
    counted, gaps = _follow(tx, said, counts)
    matched = matching.match(tx, fresh, devices.values())
    if fresh:
        with tx.together():
            store.enter(tx, fresh)
            _touch(tx, _said_by_devices(units, wanted, fresh), counted)
            beside = _counted_beside(said, matched)
            metrics.count_arrivals(tx, sequencer.writer, fresh, beside)
            if matched.deliveries:
                store_deliveries.insert(tx, matched.deliveries)
    batteries = _batteries(tx, said, devices)
    for number, reason in matched.errors.items():
        store_connectors.note_filter_error(tx, number, reason)
    woken = {delivery.connector_number for delivery in matched.deliveries}
    woken |= notifying.hear(tx, sequencer.take, fresh, devices.values(), batteries)
    woken |= tell(tx, sequencer, gaps)
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
    if _is_welcome(unit, devices, standings):
        return Outdated() if _is_outdated(unit, devices) else None
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
    return BadInput(faults=wrong)


def _is_outdated(unit: Unit, devices: dict[str, Reporting]) -> bool:
    """Whether the sender went by what the device was before it was changed."""
    aside = unit.aside
    if aside is None or aside.as_of is None or not unit.items:
        return False
    return devices[aside.device_id].updated_at != aside.as_of


def _is_welcome(unit: Unit, devices: dict[str, Reporting], standings: _Standings) -> bool:
    """Whether there is nothing in the way: the quick look, which nearly always suffices."""
    group = ""  # for which the sender was found to be allowed
    for item in unit.items:
        device = devices.get(item.draft.device_id)
        if device is None:
            return False
        home = device.group_id
        if home != group:
            if "record.create" not in standings.of(unit.actor, home):
                return False
            group = home
        if item.claimed_group is not None and item.claimed_group != home:
            return False
    return True


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


def _said_beside(
    units: Sequence[Unit], wanted: Sequence[Sequence[Row]], fresh: Sequence[Row]
) -> list[tuple[Aside, Sequence[Row]]]:
    """What networks tell beside records of which any is new, and those records."""
    pairs = zip(units, wanted, strict=True)
    said = [(unit.aside, rows) for unit, rows in pairs if rows and unit.aside is not None]
    if not said or len(fresh) == sum(map(len, wanted)):
        return said
    new = {row.seq for row in fresh}
    return [(aside, rows) for aside, rows in said if any(row.seq in new for row in rows)]


def _follow(
    tx: Tx, said: Sequence[tuple[Aside, Sequence[Row]]], counts: dict[int, Count]
) -> tuple[dict[int, Count], list[Told]]:
    """What the numbers of new messages tell of messages that are missing, or were."""
    heard: list[tuple[int, Numbered]] = []
    restarted: dict[int, Moment] = {}
    for aside, rows in said:
        at = tx.now if aside.at is None else min(aside.at, tx.now)
        if aside.restarts:
            restarted[rows[0].device_number] = at
        elif aside.sequence is not None:
            message = Numbered(aside.device_id, aside.sequence, at, aside.modulus)
            heard.append((rows[0].device_number, message))
    return monitoring.follow(counts, heard, restarted)


def _said_by_devices(
    units: Sequence[Unit], wanted: Sequence[Sequence[Row]], fresh: Sequence[Row]
) -> Sequence[Row]:
    """What we tell of a device ourselves is no sign of life."""
    if all(unit.actor is not SYSTEM for unit in units):
        return fresh
    own = {
        row.seq
        for unit, rows in zip(units, wanted, strict=True)
        if unit.actor is SYSTEM
        for row in rows
    }
    return [row for row in fresh if row.seq not in own]


def _touch(tx: Tx, fresh: Sequence[Row], counted: dict[int, Count]) -> None:
    """A device was seen when its newest record says so, but never in the future."""
    newest: dict[int, Moment] = {}
    for row in fresh:
        number, ts = row.device_number, row.ts
        if ts > newest.get(number, _NEVER):
            newest[number] = ts
    now = tx.now
    store_devices.touch(tx, {number: min(ts, now) for number, ts in newest.items()}, counted)


def _counted_beside(
    said: Sequence[tuple[Aside, Sequence[Row]]], matched: matching.Matched
) -> Counter[tuple[int, str]]:
    """What there is to count beside records: messages of networks, and what connectors take."""
    counted: Counter[tuple[int, str]] = Counter()
    for group, number in matched.groups.items():
        counted[(group, "connector_message_started")] = number
    for aside, rows in said:
        for name in aside.counts:
            counted[(rows[0].group_number, name)] += 1
    return counted


def _batteries(
    tx: Tx, said: Sequence[tuple[Aside, Sequence[Row]]], devices: dict[str, Reporting]
) -> list[Battery]:
    """Keep the newest battery of devices; what was said of it, for whoever is to be told."""
    batteries: list[Battery] = []
    for aside, rows in said:
        if aside.battery is not None:
            device = devices[aside.device_id]
            at = tx.now if aside.at is None else min(aside.at, tx.now)
            store_devices.set_battery(tx, device.number, aside.battery, at)
            batteries.append(Battery(device, aside.battery, at, rows[0]))
    return batteries


def _settle(future: "asyncio.Future[Stored]", outcome: Stored | Exception) -> None:
    if future.done():
        return  # the sender hung up; what was committed stays
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)

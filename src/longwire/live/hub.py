"""Live: records are published to those who listen, after their commit and while they arrive.

The process that stores a record publishes it itself. On PostgreSQL others learn of it from the
ledger of arrivals, which is asked only while somebody listens. Nobody who stores ever waits: each
listener has a bounded box, and what does not fit is reported to it as lost; the ledger has it.

Numbers of arrivals are moments, and commits of several processes end out of their order. So what is
younger than `OVERLAP`, or than the oldest transaction that stores records, is asked for again, and
what was published before is left out.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from operator import itemgetter

import structlog

from longwire.dataclass import dataclass
from longwire.errors import LongwireError, TooManyRequests
from longwire.fleet import arrivals
from longwire.fleet.arrivals import ArrivalScope, LedgerScan
from longwire.fleet.computing import Computing
from longwire.ingest.sequencer import Sequencer
from longwire.live.activity import (
    OVERLAP,
    REPORTED,
    Activity,
    ActivityReader,
    DeliveryCounts,
    ReportedChange,
)
from longwire.live.cursors import LiveCursor, SentArrivals, SeqRun
from longwire.store.database import Database, Tx
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.notifications.alarms import Alarm
from longwire.store.records import arrival_horizon
from longwire.store.records import arrivals as store
from longwire.store.records.arrival_numbers import AFTER_ANY_ARRIVAL, BEFORE_ANY_ARRIVAL, first_seq
from longwire.store.records.arrived_records import ArrivedRecord
from longwire.store.records.records import RecordRow
from longwire.store.schema import group_number
from longwire.work.turns import SERVICE, current_caller

POLL_INTERVAL_S = 0.5
ACTIVITY_INTERVAL_S = 1.0
# As many bodies as are read before their sizes are known.
POLLED_AT_ONCE_MAX = 100
POLLED_GROUPS_MAX = 10_000
BOX_RECORDS_MAX = 5_000
BOX_BYTES_MAX = 2 * 1024 * 1024
# What an entry takes besides its record.
ENTRY_BYTES = 256
FILTERED_AT_ONCE_MAX = 200

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LostRecords:
    """A range of arrivals that a listener did not get, without its ends."""

    count: int | None  # None if nobody has counted them
    after: int
    before: int


# --- listeners ---


@dataclass(slots=True, eq=False)
class LiveRecord:
    """A record that is published; shared by its listeners, who encode it once."""

    arrived: ArrivedRecord
    encoded: bytes | None = None

    @property
    def seq(self) -> int:
        return self.arrived.row.seq


@dataclass(slots=True, eq=False)
class Listener:
    """What somebody listens to, and the records that wait for them."""

    scope: ArrivalScope
    is_ordered: bool  # whether commits end in the order of their numbers
    # What is older was there before; nothing counts until it is set.
    settled: int = AFTER_ANY_ARRIVAL
    known: frozenset[int] = frozenset()  # of what is younger: was there before
    has_something: asyncio.Event = field(default_factory=asyncio.Event)
    _box: list[LiveRecord] = field(default_factory=list)
    _box_bytes: int = 0
    _lost: list[int] = field(default_factory=list)  # the first, the last and their number
    _activity: Activity = field(default_factory=Activity)
    _sent: SentArrivals = field(default_factory=lambda: SentArrivals(0))

    def offer(self, record: LiveRecord) -> None:
        row = record.arrived.row
        if not self.scope.takes(row.group_number, row.kind, row.device_number, row.ts):
            return
        size = len(row.encoded.body) + ENTRY_BYTES
        if len(self._box) >= BOX_RECORDS_MAX or self._box_bytes + size > BOX_BYTES_MAX:
            self._lose(row.seq)
            return
        self._box.append(record)
        self._box_bytes += size
        self.has_something.set()

    def _lose(self, seq: int) -> None:
        if self._lost:
            first, last, count = self._lost
            self._lost = [min(first, seq), max(last, seq), count + 1]
        else:
            self._lost = [seq, seq, 1]
        self.has_something.set()

    def lose_range(self, after: int, before: int) -> None:
        """Nobody knows how many."""
        self._lost = [after + 1, before - 1, 0]
        self.has_something.set()

    def join(self, settled: int, known: Collection[int]) -> None:
        """From now on, what was there at this moment is not sent."""
        self.settled, self.known = settled, frozenset(known)
        kept = [each for each in self._box if self._is_new(each.seq)]
        self._box = kept
        self._box_bytes = sum(len(each.arrived.row.encoded.body) + ENTRY_BYTES for each in kept)

    def _is_new(self, seq: int) -> bool:
        return seq > self.settled and seq not in self.known

    def take(self) -> tuple[list[LiveRecord], LostRecords | None]:
        """Empty the box."""
        box, self._box, self._box_bytes = self._box, [], 0
        lost = None
        if self._lost:
            first, last, count = self._lost
            lost, self._lost = LostRecords(count or None, first - 1, last + 1), []
        self.has_something.clear()
        return [each for each in box if self._is_new(each.seq)], lost

    # --- what happens besides ---

    def add_change(self, change: ReportedChange) -> None:
        if REPORTED[change.kind] in self.scope.permissions:
            self._activity.add_change(change.kind, change.object_id)
            self.has_something.set()

    def add_deliveries(self, connector_id: str, counts: DeliveryCounts) -> None:
        if "connector.read" in self.scope.permissions:
            self._activity.add_deliveries(connector_id, counts)
            self.has_something.set()

    def add_alarm(self, alarm: Alarm) -> None:
        if "notification.read" in self.scope.permissions:
            self._activity.add_alarm(alarm)
            self.has_something.set()

    def take_activity(self) -> Activity:
        activity, self._activity = self._activity, Activity()
        return activity

    # --- where it has come to ---

    def begin_at(self, base: int, runs: Iterable[SeqRun] = (), sent: Iterable[int] = ()) -> None:
        self._sent = SentArrivals(base, runs)
        self._sent.add(sent)

    def advance(self, sent: Sequence[int], settled: int) -> str:
        """After these were sent: where to go on from. Up to `settled` there is no more to come."""
        waiting = min((each.seq for each in self._box), default=AFTER_ANY_ARRIVAL)
        settled = min(settled, waiting - 1)
        if self.is_ordered:
            settled = max(settled, *sent[-1:], 0)
        else:
            self._sent.add(sent)
        self._sent.move(settled)
        return self._sent.format()


# --- the hub ---


class LiveHub:
    """Gives records to the listeners of one process. Belongs to its event loop but for `publish`.

    `on_listeners` is called with their number when it changes.
    """

    def __init__(
        self,
        database: Database,
        sequencer: Sequencer,
        computing: Computing,
        *,
        on_listeners: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.database = database
        self._writer = sequencer.writer
        self._computing = computing
        self._on_listeners = on_listeners
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[Listener] = set()
        self._by_group: Mapping[int, tuple[Listener, ...]] = {}
        self._newest = BEFORE_ANY_ARRIVAL  # of what was published
        self._tasks: list[asyncio.Task[None]] = []
        self._activity = ActivityReader(database)  # for those who listen now
        self._polled: set[int] = set()  # younger than `_settled`
        self._settled = BEFORE_ANY_ARRIVAL
        self.is_ordered = database.engine_name == "sqlite"
        sequencer.publish = self.publish

    # --- from any thread ---

    def publish(self, rows: Sequence[RecordRow], devices: Mapping[str, ReportingDevice]) -> None:
        """Take what was committed; returns at once if nobody listens to these groups."""
        by_group, loop = self._by_group, self._loop
        if not by_group or loop is None:
            return
        wanted = [
            ArrivedRecord(row, devices[row.encoded.record.device_id])
            for row in rows
            if row.group_number in by_group
        ]
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._dispatch, wanted, rows[-1].seq)

    # --- listening ---

    @property
    def settled(self) -> int:
        """Everything up to this arrival was published, and there is no more to come."""
        return self._newest if self.is_ordered else self._settled

    async def open(
        self, scope: ArrivalScope, cursor: LiveCursor | None
    ) -> tuple[Listener, list[LiveRecord], LostRecords | None]:
        """Begin to listen: what came since the cursor, or what of it is too much to be sent.

        The listener is registered first, so that it misses nothing while the ledger is read.
        """
        listener = Listener(scope, self.is_ordered)
        self.add(listener)
        try:
            missed, lost = await self._join(listener, cursor)
            await self._activity.start()
            return listener, missed, lost
        except BaseException:
            self.remove(listener)
            raise

    async def _join(
        self, listener: Listener, cursor: LiveCursor | None
    ) -> tuple[list[LiveRecord], LostRecords | None]:
        if cursor is None:
            await self._join_now(listener)
            return [], None
        scope = listener.scope
        settled = cursor.base if self.is_ordered else await self._read_settled()
        sent = cursor.sent
        seen = set(sent)
        scan = LedgerScan(cursor.base, BOX_RECORDS_MAX)
        while not scan.is_done:
            step = await arrivals.read_step(self.database, scope, scan)
            matched = await self.filter(scope, step.records)
            scan.add(step, matched, len(step.records))
            if self.is_ordered:
                settled = max([settled, *step.seqs[-1:]])
            else:
                seen.update(seq for seq in step.seqs if seq > settled)
        if not scan.is_exhausted:
            newest = await self._join_now(listener)
            return [], LostRecords(None, cursor.base, newest + 1)
        listener.begin_at(cursor.base, cursor.runs)
        self._join_at(listener, settled, seen)
        return [LiveRecord(each) for each in scan.found if each.row.seq not in sent], None

    async def _join_now(self, listener: Listener) -> int:
        """Leave out what is there now; the newest of it."""
        settled, known = await self.database.read(
            partial(self._read_present, listener.scope.groups)
        )
        listener.begin_at(settled, sent=sorted(known))
        self._join_at(listener, settled, known)
        return max(known, default=settled)

    def _join_at(self, listener: Listener, settled: int, known: Collection[int]) -> None:
        # Before the first poll: the listener may wait for a transaction that began long ago.
        self._settled = min(self._settled, settled)
        listener.join(settled, known)

    def _read_present(self, groups: Sequence[int], tx: Tx) -> tuple[int, set[int]]:
        if self.is_ordered:
            newest = store.list_step(
                tx, groups, BEFORE_ANY_ARRIVAL, AFTER_ANY_ARRIVAL, 1, ascending=False
            )
            return max((each.seq for each in newest.arrivals), default=0), set()
        settled = arrival_horizon.get_settled_seq(tx, OVERLAP)
        return settled, {seq for _, seq in store.list_seqs(tx, groups, settled)}

    async def _read_settled(self) -> int:
        """Up to this arrival there is no more to come."""
        return await self.database.read(lambda tx: arrival_horizon.get_settled_seq(tx, OVERLAP))

    def require_room(self, scope: ArrivalScope) -> None:
        """Other processes are asked for all groups that are listened to."""
        groups = {*self._by_group, *scope.groups}
        if not self.is_ordered and len(groups) > POLLED_GROUPS_MAX:
            raise TooManyRequests(
                "Too many groups are listened to at the moment.", retry_after_s=10
            )

    def add(self, listener: Listener) -> None:
        self._loop = asyncio.get_running_loop()
        self._listeners.add(listener)
        self._index()

    def remove(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        self._index()

    def change_scope(self, listener: Listener, scope: ArrivalScope) -> None:
        """Somebody may now see more or less."""
        added = set(scope.groups).difference(listener.scope.groups)
        listener.scope = scope
        self._index()
        if not added:
            return
        # Beyond the recent changes, the group stands for all that is in it.
        groups = [ReportedChange("group", each, str(each)) for each in sorted(added)]
        for change in [*groups, *self._activity.list_recent(added)]:
            listener.add_change(change)

    def _index(self) -> None:
        by_group: dict[int, list[Listener]] = defaultdict(list)
        for listener in self._listeners:
            for group in listener.scope.groups:
                by_group[group].append(listener)
        self._by_group = {group: tuple(each) for group, each in by_group.items()}
        self._on_listeners(len(self._listeners))
        if self._listeners and not self._tasks:
            self._settled = AFTER_ANY_ARRIVAL  # until the first poll, or somebody has joined
            self._activity = ActivityReader(self.database)
            activity = self._repeat(ACTIVITY_INTERVAL_S, self._poll_activity)
            self._tasks = [asyncio.create_task(activity)]
            if not self.is_ordered:
                polling = self._repeat(POLL_INTERVAL_S, self._poll_once)
                self._tasks.append(asyncio.create_task(polling))
        elif not self._listeners:
            for task in self._tasks:
                task.cancel()
            self._tasks = []
            self._polled = set()

    def _dispatch(self, records: Sequence[ArrivedRecord], newest: int) -> None:
        self._newest = max(self._newest, newest)
        by_group = self._by_group
        for each in records:
            listeners = by_group.get(each.row.group_number, ())
            record = LiveRecord(each)
            for listener in listeners:
                listener.offer(record)

    async def filter(
        self, scope: ArrivalScope, records: Sequence[ArrivedRecord]
    ) -> list[ArrivedRecord]:
        """Those for which the filter is true; waits while the budget of the group is used up."""
        if scope.selection.expression is None:
            return list(records)
        found: list[ArrivedRecord] = []
        left = list(records)
        while left:
            matched, evaluated = await self._computing.threads.run(
                scope.group_id,
                arrivals.filter_step,
                scope,
                left[:FILTERED_AT_ONCE_MAX],
                self._computing.scans,
            )
            found += matched
            left = left[evaluated:]
            if evaluated == 0:
                await asyncio.sleep(POLL_INTERVAL_S)
        return found

    # --- other processes ---

    async def _repeat(self, interval_s: float, read: Callable[[], Awaitable[None]]) -> None:
        """While somebody listens."""
        current_caller.set(SERVICE)
        while True:
            try:
                await read()
            except LongwireError as error:
                log.debug("live poll failed", reason=str(error))
            except Exception:
                log.exception("live poll failed")
            await asyncio.sleep(interval_s)

    async def _poll_activity(self) -> None:
        for change in await self._activity.read_changes():
            for listener in self._by_group.get(change.group_number, ()):
                listener.add_change(change)
        groups = self._list_groups_with("notification.read")
        for alarm in await self._activity.read_alarms(groups):
            for listener in self._by_group.get(group_number(alarm.group_id), ()):
                listener.add_alarm(alarm)
        groups = self._list_groups_with("connector.read")
        for connector, counts in await self._activity.read_deliveries(groups):
            for listener in self._by_group.get(connector.group_number, ()):
                listener.add_deliveries(connector.id, counts)

    def _list_groups_with(self, permission: str) -> list[int]:
        """The groups that somebody with the permission listens to."""
        scopes = [each.scope for each in self._listeners]
        return sorted({n for each in scopes if permission in each.permissions for n in each.groups})

    async def _poll_once(self) -> None:
        """Publish what others have committed since the last time."""
        settled = await self._read_settled()
        self._settled = min(self._settled, settled)
        read_seqs = partial(
            store.list_seqs, groups=sorted(self._by_group), after=self._settled, but=self._writer
        )
        found = await self.database.read(read_seqs)
        if len(found) >= store.SEQS_MAX:
            self._lose(self._settled, first_seq(self.database.context.clock.now()))
            found = []
        new = sorted((each for each in found if each[1] not in self._polled), key=itemgetter(1))
        while new:
            some, new = new[:POLLED_AT_ONCE_MAX], new[POLLED_AT_ONCE_MAX:]
            self._dispatch(await self.database.read(partial(self._read, some)), BEFORE_ANY_ARRIVAL)
            self._polled.update(seq for _, seq in some)
        self._settled = max(self._settled, settled)
        self._polled = {seq for seq in self._polled if seq > self._settled}

    def _read(self, keys: Sequence[tuple[int, int]], tx: Tx) -> list[ArrivedRecord]:
        found = store.list_at(tx, keys)
        return [
            record.build() for _, record in store.iterate_records(tx, found) if record is not None
        ]

    def _lose(self, after: int, before: int) -> None:
        for listener in self._listeners:
            listener.lose_range(after, before)

    def wake_all(self) -> None:
        """Have all listeners look whether they have to end."""
        for listener in self._listeners:
            listener.has_something.set()

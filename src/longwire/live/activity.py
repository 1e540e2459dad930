"""What happens besides records: objects that change, and deliveries of connectors.

Read once a second while somebody listens, for all listeners at once: changes from the end of the
audit log, deliveries by the moment of their last change.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import field
from functools import partial

from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.store.database import Database, Tx
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.fleet import activity as store
from longwire.store.fleet.activity import Change, WatchedConnector
from longwire.store.notifications import alarms as store_alarms
from longwire.store.notifications.alarms import Alarm

# A transaction becomes visible some time after the moment that its rows carry.
OVERLAP: Moment = 3 * SECOND
DELAY: Moment = SECOND
# A process that stood still counts what came meanwhile, up to here.
COUNTED_MAX: Moment = 60 * SECOND
CONNECTORS_REFRESHED_AFTER: Moment = 10 * SECOND
# Changes are kept for so many readings: a new group is listened to once the permissions of a
# listener were looked at again, which is after its first changes were read.
READINGS_KEPT = 10
# Kinds of objects that are reported, with the permission to see them.
REPORTED = {"device": "device.read", "connector": "connector.read", "group": "group.read"}
IDS_MAX = 1_000
ALARMS_MAX = 5_000  # that are read at once
ALARM_PAGES_MAX = 10  # of them, until others have their turn

_FAILED = (DeliveryState.FAILED, DeliveryState.EXPIRED)


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """What became of a connector's messages since the last time, and what waits."""

    succeeded: int
    failed: int
    waiting: int


@dataclass(slots=True)
class Activity:
    """What a listener gets besides records."""

    changed: dict[str, set[str]] = field(default_factory=dict)  # ids by kind
    deliveries: dict[str, DeliveryCounts] = field(default_factory=dict)  # by connector
    alarms: list[Alarm] = field(default_factory=list)  # that changed their state

    def __bool__(self) -> bool:
        return bool(self.changed or self.deliveries or self.alarms)

    def add_alarm(self, alarm: Alarm) -> None:
        """Beyond a thousand, whoever wants to know asks for all."""
        if len(self.alarms) < IDS_MAX:
            self.alarms.append(alarm)

    def add_change(self, kind: str, object_id: str) -> None:
        """Beyond a thousand, whoever wants to know asks for all."""
        ids = self.changed.setdefault(kind, set())
        if len(ids) < IDS_MAX:
            ids.add(object_id)

    def add_deliveries(self, connector_id: str, counts: DeliveryCounts) -> None:
        earlier = self.deliveries.get(connector_id, DeliveryCounts(0, 0, 0))
        self.deliveries[connector_id] = DeliveryCounts(
            earlier.succeeded + counts.succeeded, earlier.failed + counts.failed, counts.waiting
        )


@dataclass(frozen=True, slots=True)
class ReportedChange:
    kind: str
    group_number: int
    object_id: str


class ActivityReader:
    """Reads what is new; one for a process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled_id: int | None = None  # there are no more changes up to this one to come
        self._read_ids: set[int] = set()  # greater than that
        self._recent: deque[list[ReportedChange]] = deque(maxlen=READINGS_KEPT)
        self._counted_to: Moment = 0
        self._alarms_begin: Moment = 0
        self._alarms_from: Moment = 0  # all that changed before were read
        self._read_alarms: set[tuple[str, Moment | None]] = set()  # each with when it changed
        self._connectors: Sequence[WatchedConnector] = ()
        self._connectors_of: tuple[Sequence[int], int, Moment] = ((), -1, 0)

    async def start(self) -> None:
        """What was there before the first call is not reported."""
        if self._settled_id is not None:
            return
        last = await self._database.read(store.get_last_change_id)
        settled = max(0, last - store.CHANGES_MAX // 2)
        found = await self._read_after(settled)
        if self._settled_id is None:
            self._settle(found, settled)
            now = self._database.context.clock.now()
            self._alarms_begin = self._alarms_from = now
            self._counted_to = now - DELAY

    async def read_changes(self) -> list[ReportedChange]:
        """The changes since the last time."""
        await self.start()
        assert self._settled_id is not None
        found = await self._read_after(self._settled_id)
        new = [
            ReportedChange(kind, each.group_number, each.object_id)
            for each in found
            if each.id not in self._read_ids
            and (kind := each.action.partition(".")[0]) in REPORTED
            and each.group_number is not None
        ]
        self._settle(found, self._settled_id)
        self._recent.append(new)
        return new

    def list_recent(self, groups: Collection[int]) -> list[ReportedChange]:
        """The last changes in these groups, for somebody who only now listens to them."""
        return [each for new in self._recent for each in new if each.group_number in groups]

    async def _read_after(self, after: int) -> list[Change]:
        return await self._database.read(partial(store.list_changes, after=after))

    def _settle(self, found: Sequence[Change], settled: int) -> None:
        old = self._database.context.clock.now() - OVERLAP
        settled = max([each.id for each in found if each.at < old], default=settled)
        if len(found) == store.CHANGES_MAX:
            settled = found[-1].id
        self._settled_id = settled
        self._read_ids = {each.id for each in found if each.id > settled}

    async def read_alarms(self, groups: Sequence[int]) -> list[Alarm]:
        """The alarms of these groups whose state changed since the last time, in order.

        Of very many the first ones; the next call goes on there.
        """
        now = self._database.context.clock.now()
        self._alarms_begin = min(self._alarms_begin, now)  # a clock may be set back
        found, is_all = await self._list_alarms(groups)
        settled = max(now - OVERLAP, self._alarms_begin)
        if not is_all:
            settled = min(settled, found[-1].changed_at or settled)
        known, self._alarms_from = self._read_alarms, settled
        new = [(each.id, each.changed_at) for each in found]
        self._read_alarms = {each for each in new if (each[1] or 0) >= settled}
        return [each for each, key in zip(found, new, strict=True) if key not in known]

    async def _list_alarms(self, groups: Sequence[int]) -> tuple[list[Alarm], bool]:
        """Those that changed, and whether these are all."""
        found: list[Alarm] = []
        since, after = self._alarms_from, ""
        for _ in range(ALARM_PAGES_MAX if groups else 0):
            read = partial(store_alarms.list_changed, homes=groups, since=since, after=after)
            page = await self._database.read(partial(read, most=ALARMS_MAX))
            found += page
            if len(page) < ALARMS_MAX:
                return found, True
            since, after = page[-1].changed_at or since, page[-1].id
        return found, not groups

    async def read_deliveries(
        self, groups: Sequence[int]
    ) -> list[tuple[WatchedConnector, DeliveryCounts]]:
        """The connectors of these groups whose deliveries have changed since the last time."""
        end = self._database.context.clock.now() - DELAY
        begin = max(self._counted_to, end - COUNTED_MAX)
        found = []
        if groups:
            found = await self._database.read(partial(self._count, groups, begin, end))
        self._counted_to = end
        return found

    def _count(
        self, groups: Sequence[int], begin: Moment, end: Moment, tx: Tx
    ) -> list[tuple[WatchedConnector, DeliveryCounts]]:
        generation = self._database.context.caches.config.generation
        is_old = self._connectors_of[2] < tx.now - CONNECTORS_REFRESHED_AFTER
        if self._connectors_of[:2] != (groups, generation) or is_old:
            self._connectors = store.list_connectors(tx, groups)
            self._connectors_of = groups, generation, tx.now
        by_number = {each.number: each for each in self._connectors}
        counts = store.count_recent_deliveries(tx, list(by_number), begin, end)
        return [
            (
                by_number[number],
                DeliveryCounts(
                    states.get(DeliveryState.SUCCEEDED, 0),
                    sum(states.get(each, 0) for each in _FAILED),
                    store.count_waiting(tx, number),
                ),
            )
            for number, states in counts.items()
        ]

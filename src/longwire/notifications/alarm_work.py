"""What is due by the clock: conditions on values, and messages about alarms that had to wait.

In small steps, the groups of devices in turns, by one process for all.
"""

import time
from collections.abc import Callable, Collection
from functools import partial

from longwire.notifications import alarms, measured_conditions
from longwire.notifications.alarms import GetNamed, NamedMeasurements
from longwire.notifications.firing import TakeSequenceNumbers, send_grouped
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.notifications import condition_states
from longwire.work.stepper import DoneStep, Stepper

INTERVAL_S = 1.0
GROUPS_PER_ROUND_MAX = 200
DUE_PER_STEP_MAX = 100

# By the ids of a group and a device type.
GetMeasurements = Callable[[Tx, str, str], NamedMeasurements]


class AlarmWork:
    """Raises, resolves and sends alarms when they are due."""

    def __init__(
        self,
        database: Database,
        take_seqs: TakeSequenceNumbers,
        wake: Callable[[Collection[int]], None],
        get_measurements: GetMeasurements,
    ) -> None:
        self._database = database
        self._take_seqs = take_seqs
        self._wake = wake
        self._get_measurements = get_measurements
        self._stepper: Stepper[int] = Stepper(
            "alarms",
            self._list_groups,
            self._run_step,
            before_any=0,
            owners_max=GROUPS_PER_ROUND_MAX,
            interval_s=INTERVAL_S,
        )

    async def run(self) -> None:
        await self._stepper.run()

    async def run_rounds(self) -> None:
        """Whatever is due now."""
        await self._stepper.run_rounds()

    async def _list_groups(self, after: int, most: int) -> list[int]:
        if not self._database.cluster.is_leader:
            return []
        return await self._database.read(
            partial(condition_states.list_groups_due, after=after, most=most)
        )

    async def _run_step(self, group_number: int) -> DoneStep | None:
        began = time.monotonic()
        is_busy = False
        # A transaction each: what a contact got is locked behind alarms, and at the end of it.
        for work in (self._evaluate_due, self._send_due, self._send_grouped):
            ready, due = await self._database.write(partial(work, group=group_number))
            is_busy |= due == DUE_PER_STEP_MAX
            if ready:
                self._wake(ready)
        return DoneStep(time.monotonic() - began, is_busy)

    # Each returns the channels that have something to send, and how much was due.

    def _evaluate_due(self, tx: Tx, group: int) -> tuple[set[int], int]:
        get_named = self._begin(tx)
        due = condition_states.list_due(tx, group, DUE_PER_STEP_MAX)
        return measured_conditions.evaluate_due(tx, self._take_seqs, due, get_named), len(due)

    def _send_due(self, tx: Tx, group: int) -> tuple[set[int], int]:
        get_named = self._begin(tx)
        return alarms.send_due(tx, self._take_seqs, group, DUE_PER_STEP_MAX, get_named)

    def _send_grouped(self, tx: Tx, group: int) -> tuple[set[int], int]:
        self._begin(tx)
        return send_grouped(tx, self._take_seqs, group), 0

    def _begin(self, tx: Tx) -> GetNamed:
        """What names the measurements of a device."""
        cache_epochs.refresh_epochs(tx)  # another process may just have changed a notification
        return lambda device: self._get_measurements(tx, device.group_id, device.type)

"""Budgets of computation: how much CPU time a group's own expressions may use.

Filters, templates and conditions are written by users. Their CPU time is charged to the group that
they belong to. A group that has used up its budget waits until time has refilled it; nobody else
does. Each process has budgets of its own.
"""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longwire.clock import Clock, Moment

GROUPS_MAX = 50_000
TOO_EXPENSIVE = "filter_too_expensive"  # the code that users see
# What a transaction may evaluate, by estimate, and enqueue: for each group, and in all.
INLINE_US_PER_GROUP_MAX = 5_000.0
INLINE_US_MAX = 20_000.0
COMPILED_INLINE_US = INLINE_US_PER_GROUP_MAX / 4  # charged for what has to be compiled at once
INLINE_DELIVERIES_PER_GROUP_MAX = 5_000
INLINE_DELIVERIES_MAX = 10_000
CHARGED_PER_ESTIMATE_MAX = 2.0


class ComputeBudgets:
    """CPU time by group: `burst_ms` at once, `ms_per_s` on average. Any thread may use it.

    Usage is known only afterwards, so a group may go into debt, which it has to wait for. The least
    recently used groups are evicted; by then their budget is full again.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        ms_per_s: float,
        burst_ms: float,
        cpu_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._clock = clock
        self._burst_us = burst_ms * 1_000
        self._us_per_moment = ms_per_s / 1_000  # a moment is a microsecond
        self._cpu_ns = cpu_ns
        self._used: OrderedDict[str, tuple[float, Moment]] = OrderedDict()
        self._lock = threading.Lock()

    def is_used_up(self, group_id: str) -> bool:
        """Whether the group has to wait before its next computation."""
        return bool(self._used) and self._get_used_us(group_id) >= self._burst_us

    def charge(self, group_id: str, cpu_us: float) -> None:
        """Add CPU time that was used for the group."""
        with self._lock:
            self._used[group_id] = self._get_used_us(group_id) + cpu_us, self._clock.now()
            self._used.move_to_end(group_id)
            if len(self._used) > GROUPS_MAX:
                self._used.popitem(last=False)

    @contextmanager
    def charging(self, group_id: str) -> Iterator[None]:
        """Charge the CPU time that this thread uses within the block."""
        started = self._cpu_ns()
        try:
            yield
        finally:
            self.charge(group_id, (self._cpu_ns() - started) / 1_000)

    def cpu_us(self) -> float:
        """The CPU time of this thread so far."""
        return self._cpu_ns() / 1_000

    def _get_used_us(self, group_id: str) -> float:
        used, at = self._used.get(group_id, (0.0, 0))
        # However far a clock was set back, nobody waits until it has caught up.
        passed = abs(self._clock.now() - at)
        return max(0.0, used - passed * self._us_per_moment)


class InlineAllowance:
    """What one transaction may evaluate itself; the rest is deferred until after its commit.

    It goes by estimates, so that it needs no clock and behaves alike on every machine. The CPU time
    that was really used is charged to the groups in proportion.
    """

    def __init__(
        self,
        budgets: ComputeBudgets | None = None,
        *,
        us_per_group_max: float = INLINE_US_PER_GROUP_MAX,
        us_max: float = INLINE_US_MAX,
    ) -> None:
        self._us_per_group_max = us_per_group_max
        self._budgets = budgets
        self._used_us = 0.0
        self._spent_us: dict[str, float] = {}
        self._deferred: set[str] = set()
        self._left_us = us_max
        self._deliveries: Counter[str] = Counter()
        self._full: set[str] = set()

    def take(self, group_id: str, cost_us: float) -> bool:
        """Whether this may be evaluated now. Once it may not, nothing of the group may."""
        if group_id in self._deferred:
            return False
        spent = self._spent_us.get(group_id)
        if spent is None:
            spent = 0.0
            if self._budgets is not None and self._budgets.is_used_up(group_id):
                self._deferred.add(group_id)
                return False
        if cost_us > self._left_us or spent + cost_us > self._us_per_group_max:
            self._deferred.add(group_id)
            return False
        self._spent_us[group_id] = spent + cost_us
        self._left_us -= cost_us
        return True

    def take_deliveries(self, group_id: str, count: int) -> bool:
        """The same for deliveries to enqueue."""
        if group_id in self._full:
            return False
        taken = self._deliveries[group_id] + count
        total = self._deliveries.total() + count
        if taken > INLINE_DELIVERIES_PER_GROUP_MAX or total > INLINE_DELIVERIES_MAX:
            self._full.add(group_id)
            return False
        self._deliveries[group_id] = taken
        return True

    def renew(self) -> "InlineAllowance":
        """A full one, within the same budgets."""
        return InlineAllowance(self._budgets)

    @property
    def has_deferred(self) -> bool:
        return bool(self._deferred or self._full)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Evaluate within: the rest of a transaction is nobody's computation."""
        if self._budgets is None:
            yield
            return
        started = self._budgets.cpu_us()
        try:
            yield
        finally:
            self._used_us += self._budgets.cpu_us() - started

    def settle(self) -> None:
        """Charge what was used, when all is evaluated."""
        total = sum(self._spent_us.values())
        if self._budgets is None or not total:
            return
        for group_id, spent in self._spent_us.items():
            # Never much more than the estimate: it was measured together with what others cause.
            used_us = min(self._used_us * spent / total, CHARGED_PER_ESTIMATE_MAX * spent)
            self._budgets.charge(group_id, used_us)

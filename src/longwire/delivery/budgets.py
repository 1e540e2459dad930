"""Budgets of computation: how much CPU time a group's own expressions may use.

Filters, templates and conditions are written by users. Their CPU time is charged to the group that
they belong to. A group that has used up its budget waits until time has refilled it; nobody else
does. Each process has budgets of its own.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from longwire.clock import Clock, Moment

GROUPS_MAX = 50_000


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

    def _get_used_us(self, group_id: str) -> float:
        used, at = self._used.get(group_id, (0.0, 0))
        passed = max(0, self._clock.now() - at)
        return max(0.0, used - passed * self._us_per_moment)

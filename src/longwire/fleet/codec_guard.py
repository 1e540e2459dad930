"""Who may have codecs called: suspensions, budgets, and threads that groups share.

Codecs belong to device types, which all groups share, but payloads and values come from a group.
So what a codec costs is charged to the group, and a payload that runs out of time has consequences
for its device: it is not decoded for a while. If that happens to several devices of a group, it is
the group's payloads of this codec. It never affects another group.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from longwire.clock import Clock
from longwire.decoders.base import CodecFailure
from longwire.decoders.catalogue import Decoders
from longwire.decoders.sandbox_pool import get_processor_s
from longwire.decoders.time_sharing import GroupShare, TimeSharingQueue
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.errors import TooManyRequests
from longwire.work.turns import current_caller

# A device whose payload ran out of time is suspended for so many times as long, so that its
# payloads take at most one twentieth of the time of a sandbox.
SUSPENSION_FACTOR = 20
# So many devices of a group within this time, and the codec is suspended for the group.
DEVICES_MAX = 3
DEVICES_WITHIN_S = 60.0
SUSPENSIONS_MAX = 10_000
MS_PER_S = 600
BURST_MS = 10_000
THREADS = 2
CHARGED_AT_ONCE_S = 0.005
UNCHARGED_GROUPS_MAX = 10_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CodecCaller:
    """On whose behalf a codec is called."""

    group_id: str
    device_id: str


class CodecRefused(Exception):
    """The codec is not called now; the text says why."""


class CodecGuard:
    """Of the decoders of a process. Thread-safe."""

    def __init__(
        self,
        decoders: Decoders,
        now_s: Callable[[], float] = time.monotonic,
        *,
        ms_per_s: float = MS_PER_S,
        burst_ms: float = BURST_MS,
    ) -> None:
        self.decoders = decoders
        self._now_s = now_s
        self._lock = threading.Lock()
        # (source, group, device or "" for all), and until when.
        self._suspended: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        # (source, group): devices whose payload ran out of time, and when.
        self._timed_out: OrderedDict[tuple[str, str], dict[str, float]] = OrderedDict()
        self._uncharged_s: dict[str, float] = {}
        self.set_budget(ms_per_s, burst_ms)

    def set_budget(self, ms_per_s: float, burst_ms: float) -> None:
        """CPU time of codecs for each group; resets it."""
        self._budgets = ComputeBudgets(Clock(), ms_per_s=ms_per_s, burst_ms=burst_ms)

    def check(self, source: str, caller: CodecCaller) -> None:
        """`CodecRefused` if this payload should not be decoded now."""
        if self.is_budget_used_up(caller.group_id):
            raise CodecRefused("the group has used up its CPU time for codecs; redecode it later")
        if not self._suspended:
            return
        for device_id in (caller.device_id, ""):
            left_s = self._get_suspension_s((source, caller.group_id, device_id))
            if left_s > 0:
                whose = "this device" if device_id else "several devices of the group"
                raise CodecRefused(
                    f"the codec ran out of time with payloads of {whose}; it is suspended for"
                    f" {left_s:.1f} s more"
                )

    def is_budget_used_up(self, group_id: str) -> bool:
        return self._budgets.is_used_up(group_id)

    def charge(self, caller: CodecCaller, cpu_s: float) -> None:
        """Charge the group; small amounts are collected, because charging costs time, too."""
        group_id = caller.group_id
        total_s = self._uncharged_s.get(group_id, 0.0) + cpu_s
        if total_s < CHARGED_AT_ONCE_S and len(self._uncharged_s) < UNCHARGED_GROUPS_MAX:
            self._uncharged_s[group_id] = total_s
            return
        self._uncharged_s.pop(group_id, None)
        self._budgets.charge(group_id, total_s * 1e6)

    @contextmanager
    def charging(self, caller: CodecCaller) -> Iterator[None]:
        """Charge what this thread and its calls of sandboxes take, however long others delay it."""
        started_s = get_processor_s()
        try:
            yield
        finally:
            self.charge(caller, get_processor_s() - started_s)

    def note_failure(self, source: str, caller: CodecCaller, failure: CodecFailure) -> None:
        """Charge a call that failed; one that ran out of time suspends."""
        self.charge(caller, failure.cpu_s)
        if not failure.is_timeout:
            return
        now_s = self._now_s()
        until_s = now_s + SUSPENSION_FACTOR * failure.cpu_s
        with self._lock:
            self._suspend((source, caller.group_id, caller.device_id), until_s)
            key = (source, caller.group_id)
            recent = {
                device: at_s
                for device, at_s in self._timed_out.pop(key, {}).items()
                if at_s > now_s - DEVICES_WITHIN_S
            }
            recent[caller.device_id] = now_s
            if len(recent) >= DEVICES_MAX:
                self._suspend((source, caller.group_id, ""), until_s)
            self._timed_out[key] = recent
            if len(self._timed_out) > SUSPENSIONS_MAX:
                self._timed_out.popitem(last=False)

    def _suspend(self, key: tuple[str, str, str], until_s: float) -> None:
        self._suspended.pop(key, None)
        self._suspended[key] = until_s
        if len(self._suspended) > SUSPENSIONS_MAX:
            self._suspended.popitem(last=False)

    def _get_suspension_s(self, key: tuple[str, str, str]) -> float:
        until_s = self._suspended.get(key)
        if until_s is None:
            return 0.0
        left_s = until_s - self._now_s()
        if left_s <= 0:
            with self._lock:
                self._suspended.pop(key, None)
        return left_s


def require_budget(guard: CodecGuard, group_id: str) -> None:
    """`TooManyRequests` if the group has used up its CPU time for codecs."""
    if guard.is_budget_used_up(group_id):
        raise TooManyRequests("The group has used up its CPU time for codecs; wait a little.")


@dataclass(frozen=True, slots=True, eq=False)
class _Work(Generic[T]):
    function: Callable[[], T]
    future: Future[T]


class CodecThreads:
    """Threads for calls that block; owners get equal shares, one thread for an owner at a time."""

    def __init__(self, threads: int = THREADS) -> None:
        self._executor = ThreadPoolExecutor(threads, "codecs")
        self._queue: TimeSharingQueue[_Work[Any]] = TimeSharingQueue(threads, slots_per_group=1)
        self._lock = threading.Lock()

    async def run(self, group_id: str, function: Callable[..., T], *arguments: Any) -> T:
        work: _Work[T] = _Work(partial(function, *arguments), Future())
        with self._lock:
            owner = current_caller.get().owner
            self._queue.add(self._queue.share(owner or group_id), work)
            self._start_next()
        return await asyncio.wrap_future(work.future)

    def _start_next(self) -> None:
        while (started := self._queue.next()) is not None:
            self._executor.submit(self._run, *started)

    def _run(self, share: GroupShare[_Work[Any]], work: _Work[Any]) -> None:
        started_s = time.monotonic()
        try:
            if work.future.set_running_or_notify_cancel():
                try:
                    work.future.set_result(work.function())
                except BaseException as error:
                    work.future.set_exception(error)
        finally:
            with self._lock:
                self._queue.finish(share, time.monotonic() - started_s)
                self._start_next()

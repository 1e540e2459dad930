"""Users' expressions off the event loop: on one thread, in turns, within the budgets of groups.

An evaluation holds the interpreter lock for some tens of milliseconds at worst. After a costly one
the thread rests as long as it took, so that the event loop always gets its share.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.work.turns import CallerKey, Turns

T = TypeVar("T")

RESTLESS_S = 0.002
REST_MAX_S = 0.1


class BudgetUsedUp(Exception):
    """The group has to wait; nothing was computed."""


class ComputePool:
    """Belongs to one event loop."""

    def __init__(self, budgets: ComputeBudgets) -> None:
        self._budgets = budgets
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compute")
        # With the group whose budget is charged.
        self._waiting: Turns[tuple[str, Callable[[], Any], asyncio.Future[Any]]] = Turns()
        self._is_occupied = False  # or resting

    async def run(self, caller: CallerKey, group_id: str, work: Callable[[], T]) -> T:
        """The result of `work`. Raises BudgetUsedUp if the group has to wait."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.put(caller, (group_id, work, future))
        self._start_next()
        return await future

    def _start_next(self) -> None:
        while not self._is_occupied and (found := self._waiting.take()) is not None:
            group_id, work, future = found[1]
            if future.done():
                continue  # cancelled
            if self._budgets.is_used_up(group_id):
                future.set_exception(BudgetUsedUp())
                continue
            self._is_occupied = True
            running = asyncio.get_running_loop().run_in_executor(
                self._thread, self._compute, group_id, work
            )
            running.add_done_callback(partial(self._finish, future))

    def _compute(self, group_id: str, work: Callable[[], Any]) -> tuple[Any, float]:
        started = time.thread_time()
        with self._budgets.charging(group_id):
            result = work()
        return result, time.thread_time() - started

    def _finish(
        self, future: asyncio.Future[Any], running: asyncio.Future[tuple[Any, float]]
    ) -> None:
        error, rest_s = running.exception(), 0.0
        if error is None:
            result, rest_s = running.result()
            if not future.done():
                future.set_result(result)
        elif not future.done():
            future.set_exception(error)
        if rest_s < RESTLESS_S:
            self._resume()
        else:
            asyncio.get_running_loop().call_later(min(rest_s, REST_MAX_S), self._resume)

    def _resume(self) -> None:
        self._is_occupied = False
        self._start_next()

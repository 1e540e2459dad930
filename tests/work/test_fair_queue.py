"""What threads take from a queue that callers share."""

import queue
import threading
import time
from collections import Counter

import pytest

from longwire.work.fair_queue import FairQueue
from longwire.work.turns import SERVICE, CallerKey
from tests.waiting import PATIENCE_S

CALLERS = (SERVICE, CallerKey("ada", "app"), CallerKey("ada", "ada"), CallerKey.alone("ben"))
ITEMS = 400


@pytest.mark.parametrize("timeout_s", [PATIENCE_S, 0.0], ids=["waiting", "giving-up"])
def test_every_item_is_taken_once_by_one_of_the_threads(timeout_s: float) -> None:
    """No item is left while a thread waits for one, or because a thread has just given up."""
    waiting: FairQueue[tuple[CallerKey, int]] = FairQueue(running_max=1)
    taken: list[tuple[CallerKey, int]] = []
    timeouts: list[str] = []

    def take() -> None:
        while True:
            try:
                found = waiting.get(timeout_s)
            except queue.Empty:
                timeouts.append(threading.current_thread().name)
                continue
            if found is None:
                return
            caller, item = found
            taken.append(item)
            waiting.release(caller)

    def put(caller: CallerKey) -> None:
        for number in range(ITEMS):
            waiting.put(caller, (caller, number))

    takers = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    putters = [threading.Thread(target=put, args=[caller]) for caller in CALLERS]
    for thread in (*takers, *putters):
        thread.start()
    for thread in putters:
        thread.join()
    for _ in takers:
        waiting.stop()
    for thread in takers:
        thread.join(PATIENCE_S / 2)

    assert not any(thread.is_alive() for thread in takers)
    assert Counter(taken) == Counter((caller, n) for caller in CALLERS for n in range(ITEMS))
    assert len(waiting) == 0
    assert timeout_s == 0 or not timeouts


def test_a_thread_waits_no_longer_than_asked_though_others_take_what_wakes_it() -> None:
    waiting: FairQueue[int] = FairQueue(running_max=1)
    began = time.monotonic()
    is_done = threading.Event()

    def wait() -> None:
        with pytest.raises(queue.Empty):
            waiting.get(0.05)
        is_done.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    # A thread that is never idle puts and takes: the one that waits is woken for nothing.
    while not is_done.is_set() and time.monotonic() - began < PATIENCE_S:
        with waiting._lock:
            waiting._wake_thread()
        is_done.wait(0.01)
    thread.join(PATIENCE_S)

    assert is_done.is_set()

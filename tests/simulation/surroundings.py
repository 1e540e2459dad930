"""Time and randomness of a simulated process: both come from the seed.

The modules of the standard library are changed, not only what the service calls, because libraries
read the time and draw random bytes as well. So `install` comes before anything else is imported.
"""

import hashlib
import os
import random
import time
from collections.abc import Callable

EPOCH_S = 1_772_366_400  # 2026-03-01T12:00:00Z
# Whoever looks at a clock again sees that it went on: a loop with a deadline has to end.
LOOK_NS = 1_000


class Surroundings:
    """The clocks and the random bytes of one run."""

    def __init__(self) -> None:
        self.monotonic_ns = 10**12
        self.wall_offset_ns = EPOCH_S * 10**9 - self.monotonic_ns
        self._state = b""
        self._drawn = 0
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin a run."""
        self.monotonic_ns = 10**12
        self.wall_offset_ns = EPOCH_S * 10**9 - self.monotonic_ns
        self._state = hashlib.blake2b(b"longwire %d" % seed).digest()
        self._drawn = 0

    # --- time ---

    @property
    def monotonic_s(self) -> float:
        return self.monotonic_ns / 1e9

    @property
    def elapsed_s(self) -> float:
        """Since the run began."""
        return (self.monotonic_ns - 10**12) / 1e9

    def pass_to(self, monotonic_s: float) -> None:
        self.monotonic_ns = max(self.monotonic_ns, round(monotonic_s * 1e9))

    def pass_for(self, seconds: float) -> None:
        self.monotonic_ns += round(seconds * 1e9)

    def step_wall_clock(self, seconds: float) -> None:
        self.wall_offset_ns += round(seconds * 1e9)

    def look(self) -> int:
        self.monotonic_ns += LOOK_NS
        return self.monotonic_ns

    def look_at_wall(self) -> int:
        return self.look() + self.wall_offset_ns

    # --- randomness ---

    def draw_bytes(self, count: int) -> bytes:
        self._drawn += 1
        name = b"%d" % self._drawn
        return hashlib.shake_128(self._state + name).digest(count)

    def install(self) -> None:
        """Replace time and randomness in this process, for ever."""
        replaced: dict[str, Callable[[], float]] = {
            "time": lambda: self.look_at_wall() / 1e9,
            "monotonic": lambda: self.look() / 1e9,
            "perf_counter": lambda: self.look() / 1e9,
            "process_time": lambda: self.look() / 1e9,
            "thread_time": lambda: self.look() / 1e9,
            "time_ns": self.look_at_wall,
            "monotonic_ns": self.look,
            "perf_counter_ns": self.look,
            "process_time_ns": self.look,
            "thread_time_ns": self.look,
        }
        for name, function in replaced.items():
            setattr(time, name, function)
        time.sleep = self.pass_for
        os.urandom = self.draw_bytes
        random._urandom = self.draw_bytes  # type: ignore[attr-defined]  # of SystemRandom and secrets
        random.seed(0)


REAL_MONOTONIC = time.monotonic  # for how long a run has really taken
SURROUNDINGS = Surroundings()

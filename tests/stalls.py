"""What a starved process sees, on any machine: `pytest -p tests.stalls --forks 14`.

Every process that runs tests stands still for seconds, again and again, while databases, brokers
and browsers go on: what is limited by time in the service or in a test then ends where nobody
expects it. It takes little processor time, so many processes may run.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

STALL_S = 3.5
PAUSE_MAX_S = 4.0

_stallers: dict[int, subprocess.Popen[bytes]] = {}  # by the process that is stalled


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--forks"):
        raise pytest.UsageError("-p tests.stalls needs --forks: a shell suspends what is stopped")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    pid = os.getpid()
    if pid not in _stallers:
        # Ctrl-C must not end it while the other is stopped.
        stall_it = [sys.executable, __file__, str(pid)]
        _stallers[pid] = subprocess.Popen(stall_it, start_new_session=True)


def stall(pid: int) -> None:
    """Stop a process and let it go on, until it has ended."""
    choose = random.Random(pid)
    while os.getppid() == pid:
        time.sleep(choose.uniform(0.05, PAUSE_MAX_S))
        if os.getppid() == pid:
            try:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(STALL_S)
            finally:
                os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    stall(int(sys.argv[1]))

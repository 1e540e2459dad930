"""Runs `longwire` commands in forks of a process that has loaded the service.

Loading it takes a second or two of processor time, more than most tests need from it, and they
start it some hundred times. A fork is a process of its own in every other respect: with its own
arguments, environment, folder, output, signals and exit code.

The loaded process runs `python -m tests.preloaded`; a test calls `start`. With `--forks` all
workers have one in common, which the first process starts: an order is one packet, so that those
of two workers do not mix.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from longwire.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
_NUMBER = struct.Struct("!i")
ORDER_BYTES_MAX = 1024 * 1024


class RunningCommand:
    """A command that runs; what tests use of `subprocess.Popen`."""

    def __init__(self, reports: int) -> None:
        self._reports = os.fdopen(reports, "rb", buffering=0)
        self.pid = self._read_number()
        self._returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it."""
        self._has_ended_within(0)
        return self._returncode

    def wait(self, timeout: float) -> int:
        if not self._has_ended_within(timeout):
            raise subprocess.TimeoutExpired(f"longwire {self.pid}", timeout)
        assert self._returncode is not None
        return self._returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _has_ended_within(self, seconds: float) -> bool:
        if self._returncode is None and select.select([self._reports], [], [], seconds)[0]:
            self._returncode = os.waitstatus_to_exitcode(self._read_number())
            self._reports.close()
        return self._returncode is not None

    def _read_number(self) -> int:
        return int(_NUMBER.unpack(self._reports.read(_NUMBER.size) or b"")[0])


class Launcher:
    """The loaded process."""

    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.preloaded"],
                cwd=ROOT,
                stdin=theirs,
            )
        atexit.register(self._stop)

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str],
        stdout: BinaryIO,
        stderr: BinaryIO,
    ) -> RunningCommand:
        order = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": env}).encode()
        reports, write_end = os.pipe()
        descriptors = [stdout.fileno(), stderr.fileno(), write_end]
        socket.send_fds(self._orders, [order], descriptors)
        os.close(write_end)
        return RunningCommand(reports)

    def _stop(self) -> None:
        self._orders.close()
        self._process.wait()


@functools.cache
def launcher() -> Launcher:
    """The launcher of this test process, and of those that it forks from now on."""
    return Launcher()


# --- in the loaded process ---


def wait_for_order(orders: socket.socket) -> bool:
    """Fork for each command; return in the fork that is to run it, or when there are no more."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(orders, ORDER_BYTES_MAX, 3)
        if not text:
            return False
        order = json.loads(text)
        stdout, stderr, reports = descriptors
        if os.fork() == 0:
            orders.close()
            if fork_and_report(reports):
                become(order, stdout, stderr)
                return True
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            """One that has reported."""


def fork_and_report(reports: int) -> bool:
    """True in the fork; its parent reports the number of the process, and later how it ended."""
    pid = os.fork()
    if pid == 0:
        os.close(reports)
        return True
    os.write(reports, _NUMBER.pack(pid))
    os.write(reports, _NUMBER.pack(os.waitpid(pid, 0)[1]))
    return False


def become(order: dict[str, Any], stdout: int, stderr: int) -> None:
    """Take over what belongs to a process: arguments, environment, folder and output."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for descriptor, number in ((stdout, 1), (stderr, 2)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["longwire", *order["arguments"]]
    if order["env"].get("TEST_PATIENT"):
        # A lock of a test is waited for, however slow the machine is.
        importlib.import_module("longwire.store.engines.sqlite").BUSY_TIMEOUT_MS = 300_000
    if order["env"].get("TEST_KILL_AT"):
        importlib.import_module("tests.faults.killing").arm(order["env"]["TEST_KILL_AT"])


def load_and_wait() -> bool:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which clean up
    for module in (
        "longwire.process.serve",
        "longwire.store.engines.postgres",
        "sqlalchemy.dialects.postgresql",
    ):
        importlib.import_module(module)
    for place in COMMANDS.values():
        importlib.import_module(place.partition(":")[0])
    gc.collect()
    gc.freeze()  # so that a fork does not copy what it only looks at
    with socket.socket(fileno=os.dup(0)) as orders:
        return wait_for_order(orders)


if __name__ == "__main__" and load_and_wait():
    main()

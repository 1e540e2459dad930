"""Tells systemd how the process is doing: ready, reloading, stopping, alive (sd_notify).

Does nothing for a process that systemd did not start, or that is not of `Type=notify`.
"""

import os
import socket
import time

import structlog

# By which systemd says whom to notify, and how often; not for child processes.
VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")

log = structlog.get_logger()


def notify_ready(status: str) -> None:
    _notify("READY=1", f"STATUS={status}")


def notify_reloading() -> None:
    """Has to be followed by `notify_ready` when it is done, whether it succeeded or not."""
    microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
    _notify("RELOADING=1", f"MONOTONIC_USEC={microseconds}")


def notify_stopping(takes_s: float) -> None:
    """Say that a stop has begun, and how long it may take before the process counts as hanging."""
    microseconds = int(takes_s * 1_000_000)
    _notify("STOPPING=1", f"EXTEND_TIMEOUT_USEC={microseconds}", "STATUS=stopping")


def notify_alive() -> None:
    _notify("WATCHDOG=1")


def get_watchdog_interval_s() -> float | None:
    """How often to say that the process is alive: twice as often as it has to; None for never."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdigit() or not int(microseconds):
        return None
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None  # it watches another process
    return int(microseconds) / 2_000_000


def _notify(*lines: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]  # in the abstract namespace
    text = "\n".join(line.replace("\n", " ") for line in lines)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            # A supervisor that cannot be notified must not keep the service from running.
            sender.setblocking(False)
            sender.sendto(text.encode(), address)
    except OSError as error:
        log.warning("systemd cannot be notified", reason=str(error))

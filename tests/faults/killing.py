"""Kills a service at a certain commit of alarms and reports, in a fork of a loaded process.

`TEST_KILL_AT=resolve:before` kills it when all of the next transaction that resolves an alarm is
done but its commit; `resolve:after` when that is durable and nobody knows of it yet.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from longwire.notifications import alarm_work, alarms, measured_conditions
from longwire.reports import runner
from longwire.store.database import Tx
from longwire.store.engines import postgres
from longwire.store.engines.sqlite import SQLite
from longwire.store.reports import reports

VARIABLE = "TEST_KILL_AT"
_doomed = threading.local()  # whether the transaction of a thread does not get beyond its commit


class Point(NamedTuple):
    """A function on a transaction, and by which of its calls the transaction is meant."""

    module: Any
    name: str
    is_meant: Callable[[Sequence[Any], Any], bool]


def _changes(*, are_resolved: bool) -> Callable[[Sequence[Any], Any], bool]:
    def is_meant(arguments: Sequence[Any], _: Any) -> bool:
        return any(each.transition.is_resolved == are_resolved for each in arguments[2])

    return is_meant


POINTS: Mapping[str, Point] = {
    "raise": Point(measured_conditions, "apply_changes", _changes(are_resolved=False)),
    "resolve": Point(measured_conditions, "apply_changes", _changes(are_resolved=True)),
    # What a silence has held back, what is repeated and what is escalated.
    "send": Point(alarms, "send_due", lambda _, result: bool(result[0])),
    "group": Point(alarm_work, "send_grouped", lambda _, channels: bool(channels)),
    "file": Point(reports.FILES, "insert", lambda *_: True),
    "report": Point(reports, "finish", lambda _, is_first: bool(is_first)),
}


def arm(where: str) -> None:
    """Have this process killed there; what is due is looked at more often than by others."""
    alarm_work.INTERVAL_S = runner.POLL_INTERVAL_S = 0.1
    name, _, phase = where.partition(":")
    point = POINTS[name]
    original = getattr(point.module, point.name)

    def watched(tx: Tx, *arguments: Any, **named: Any) -> Any:
        result = original(tx, *arguments, **named)
        if point.is_meant((tx, *arguments), result):
            if phase == "after":
                tx.on_commit(_die)
            else:
                _doomed.now = True
        return result

    setattr(point.module, point.name, watched)
    _die_before(SQLite, "_commit")
    _die_before(postgres, "_commit")


def _die_before(place: Any, name: str) -> None:
    commit = getattr(place, name)

    def die_or_commit(*arguments: Any) -> None:
        if getattr(_doomed, "now", False):
            _die()
        commit(*arguments)

    setattr(place, name, die_or_commit)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)

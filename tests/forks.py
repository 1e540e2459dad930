"""`pytest --forks 8` runs the tests in forks of the process that has collected them.

Loading the service and collecting thousands of tests takes seconds of processor time, which
pytest-xdist spends in each of its workers. Here they are spent once.

Which tests are next is in a file that all workers read from one common position: those first that
take long. What becomes of each is sent back through a pipe.
"""

import atexit
import os
import pickle
import selectors
import signal
import struct
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import pytest

_NUMBER = struct.Struct("!I")
Tests = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    number = session.config.getoption("--forks")
    if not number or session.config.option.collectonly or session.testsfailed:
        return None
    session.config.pluginmanager.getplugin("terminalreporter").showfspath = False
    workers = start_workers(session, group(session.items), number)
    try:
        ended = follow(session, workers)
    except BaseException:
        for worker in workers:
            worker.interrupt()
        raise
    finally:
        statuses = [worker.wait() for worker in workers]
    for item in session.items:
        if item.nodeid not in ended:
            report_lost(item)
    if any(statuses):
        session.shouldfail = f"a worker failed at its end: exit statuses {statuses}"
        raise session.Failed(session.shouldfail)
    return True


def group(items: Iterable[pytest.Item]) -> list[Tests]:
    """What one worker runs without a break: tests that share something, a long one, or a file.

    Quick ones come last, so that no worker is busy for long when the others are done. Long ones of
    a folder are spread: those of some folders wait most of the time, those of others compute.
    """
    files: dict[Path, Tests] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    together = [tests for tests in files.values() if any(map(shares_something, tests))]
    others = [tests for tests in files.values() if not any(map(shares_something, tests))]
    return [
        *sorted(together, key=lambda tests: sum(map(is_quick, tests)) - len(tests)),
        *spread(item for tests in others for item in tests if not is_quick(item)),
        *filter(None, ([item for item in tests if is_quick(item)] for tests in others)),
    ]


def spread(items: Iterable[pytest.Item]) -> list[Tests]:
    """Each alone, in an order in which those of every folder come at equal distances."""
    folders: dict[Path, Tests] = {}
    for item in items:
        folders.setdefault(item.path.parent, []).append(item)
    placed = [
        ((number + 0.5) / len(tests), item)
        for tests in folders.values()
        for number, item in enumerate(tests)
    ]
    return [[item] for _, item in sorted(placed, key=lambda each: each[0])]


def shares_something(item: pytest.Item) -> bool:
    """Whether it uses a fixture that is set up once for several tests of its file."""
    assert isinstance(item, pytest.Function)
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return any(each[-1].scope in ("class", "module", "package") for each in fixtures)


def is_quick(item: pytest.Item) -> bool:
    return item.get_closest_marker("quick") is not None


# --- in the first process ---


class Worker:
    """A process that runs tests, and its messages."""

    def __init__(self, pid: int, messages: int) -> None:
        self.pid = pid
        self.messages = messages

    def read(self) -> Any:
        """Its next message; None at the end."""
        head = self._read(_NUMBER.size)
        return pickle.loads(self._read(_NUMBER.unpack(head)[0])) if head else None

    def _read(self, size: int) -> bytes:
        """Not through a buffer: what is in one does not wake up whoever waits for the pipe."""
        data = b""
        while len(data) < size and (part := os.read(self.messages, size - len(data))):
            data += part
        return data

    def interrupt(self) -> None:
        os.kill(self.pid, signal.SIGINT)

    def wait(self) -> int:
        """Its exit status; below zero, the signal that has killed it."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self.messages)
        return os.waitstatus_to_exitcode(status)


def start_workers(session: pytest.Session, groups: list[Tests], number: int) -> list[Worker]:
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
    workers = []
    with tempfile.TemporaryFile() as queue:
        queue.write(b"".join(map(_NUMBER.pack, range(len(groups)))))
        queue.seek(0)
        sys.stdout.flush()
        for _ in range(number):
            messages, write_end = os.pipe()
            pid = os.fork()
            if pid == 0:
                work(session, groups, queue.fileno(), write_end)
            os.close(write_end)
            workers.append(Worker(pid, messages))
    return workers


def follow(session: pytest.Session, workers: list[Worker]) -> set[str]:
    """Report what the workers report, until they are done; the tests that have ended."""
    config, ended = session.config, set()
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.messages, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                message = key.data.read()
                if message is None:
                    selector.unregister(key.fileobj)
                    continue
                if isinstance(message, str):
                    session.shouldfail = message
                else:
                    report = config.hook.pytest_report_from_serializable(
                        config=config, data=message
                    )
                    config.hook.pytest_runtest_logreport(report=report)
                    if report.when == "teardown":
                        ended.add(report.nodeid)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
    return ended


def report_lost(item: pytest.Item) -> None:
    report = pytest.TestReport(
        item.nodeid, item.location, {}, "failed", "the process that was to run it died", "call"
    )
    item.config.hook.pytest_runtest_logreport(report=report)


# --- in a worker ---


class Reporter:
    """Sends reports to the first process, instead of printing them."""

    def __init__(self, config: pytest.Config, messages: int) -> None:
        self._config = config
        self._messages = os.fdopen(messages, "wb")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.send(
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        )

    def send(self, message: Any) -> None:
        data = pickle.dumps(message)
        self._messages.write(_NUMBER.pack(len(data)) + data)
        self._messages.flush()


def work(session: pytest.Session, groups: list[Tests], queue: int, messages: int) -> NoReturn:
    """Run one group of tests after the other, and exit."""
    config = session.config
    reporter = Reporter(config, messages)
    status = 1
    try:
        atexit._clear()  # what the first process has to do at its end
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(reporter)
        capturing = config.pluginmanager.getplugin("capturemanager")
        capturing.stop_global_capturing()  # into a file that all would share
        capturing.start_global_capturing()
        while head := os.read(queue, _NUMBER.size):
            tests = groups[_NUMBER.unpack(head)[0]]
            # The session after the last one: what belongs to it is kept for the next group.
            for item, following in zip(tests, (*tests[1:], session), strict=True):
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        session._setupstate.teardown_exact(None)
        status = 0
    except KeyboardInterrupt:
        """The first process says so."""
    except BaseException:
        reporter.send(traceback.format_exc())
    finally:
        atexit._run_exitfuncs()
        os._exit(status)

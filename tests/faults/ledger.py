"""A ledger of records: what was sent, its responses, and what must therefore be stored.

Senders note every record before they send it, and every response. 200 means stored. No response, or
a 503, means unknown. Any other status is an error, as all records are valid. Whatever happened to
the service meanwhile, the ledger is then compared with what it has stored: everything acknowledged,
once, as it was returned; nothing that was never sent; and counters that equal a recount.
"""

import random
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from longwire.clock import SECOND, Clock
from tests.process import Service
from tests.reports import KINDS, Body, counted, devices, list_records, metrics, report
from tests.socket_client import KEEP_IDLE
from tests.waiting import eventually
from tests.world import ok

SENDERS = 4
FLEET = 5
BATCH_MAX = 20


class Operator:
    """The operator of a service in its own process, with the HTTP methods of a world's person."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx.Client(
            base_url=url,
            timeout=120,
            headers={"Authorization": f"Bearer {token}"},
            limits=KEEP_IDLE,
        )

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self._http.get(path, params=params)

    def post(self, path: str, body: Any = None, **params: Any) -> httpx.Response:
        return self._http.post(path, json=body, params=params)

    def close(self) -> None:
        self._http.close()


@contextmanager
def operator_of(service: Service, token: str = "") -> Iterator[Operator]:
    client = Operator(service.url, token or service.token)
    yield client
    client.close()


@dataclass(slots=True)
class Line:
    """One record, and whether it was acknowledged."""

    kind: str
    body: Body
    is_acknowledged: bool = False
    stored_body: Body | None = None  # if it was sent as a single record


@dataclass(slots=True)
class Ledger:
    """Everything that was sent, by the unique data of each record."""

    group: str
    fleet: list[str]
    token: str  # valid beyond the lifetime of one process
    lines: dict[str, Line] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    now: int = field(default_factory=lambda: Clock().now())
    rounds: int = 0

    @classmethod
    def of(cls, service: Service) -> "Ledger":
        """A new group with devices, and nothing sent yet."""
        with operator_of(service) as operator:
            group = str(ok(operator.post("/group", {"name": "fleet"}))["id"])
            return cls(group, devices(operator, group, FLEET), service.token)

    @property
    def acknowledged(self) -> int:
        return sum(line.is_acknowledged for line in list(self.lines.values()))

    # --- sending ---

    @contextmanager
    def senders(self, service: Service, number: int = SENDERS) -> Iterator[None]:
        """Senders at full rate until the service is gone, or until the block ends."""
        self.rounds += 1
        done = threading.Event()
        threads = [
            threading.Thread(target=self._send, args=(service, f"{self.rounds}/{each}", done))
            for each in range(number)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            done.set()
            for thread in threads:
                thread.join(120)
                assert not thread.is_alive()

    def _send(self, service: Service, name: str, done: threading.Event) -> None:
        chance = random.Random(name)
        number = 0
        with operator_of(service, self.token) as operator:
            while not done.is_set():
                size = chance.choice((1, 1, 1, BATCH_MAX))
                kind = chance.choice(KINDS)
                lines = [
                    self._new_line(kind, chance.choice(self.fleet), f"{name}/{number + each}")
                    for each in range(size)
                ]
                number += size
                try:
                    self._post(operator, kind, lines)
                    if chance.random() < 0.1:
                        self._post(operator, kind, lines)  # a sender that repeats its request
                except httpx.HTTPError:
                    return  # the outcome is unknown, and the service is gone

    def _new_line(self, kind: str, sensor: str, words: str) -> Line:
        at = self.now + len(self.lines) % 10 * SECOND  # many records share a timestamp
        line = self.lines[words] = Line(kind, report(kind, sensor, at, words))
        return line

    def _post(self, operator: Operator, kind: str, lines: list[Line]) -> int:
        bodies = [line.body for line in lines]
        if len(bodies) == 1:
            response = operator.post(f"/device/{kind}", bodies[0])
        else:
            response = operator.post(f"/device/{kind}/batch", {"items": bodies})
        if response.status_code == 200:
            for line in lines:
                line.is_acknowledged = True
                line.stored_body = response.json() if len(lines) == 1 else None
        elif response.status_code != 503:
            self.wrong.append(f"{response.status_code} {response.text}")
        return response.status_code

    def send_one(self, service: Service) -> int:
        """Send one more record; the status of its response, 0 if there is none."""
        line = self._new_line("data", self.fleet[0], f"one more {len(self.lines)}")
        with operator_of(service, self.token) as operator:
            try:
                return self._post(operator, "data", [line])
            except httpx.HTTPError:
                return 0

    def send_until_refused(self, service: Service, most: int = 5_000) -> httpx.Response | None:
        """Send large records one by one; the first response that is not 200.

        None if the service has ended before it could give one.
        """
        with operator_of(service, self.token) as operator, suppress(httpx.TransportError):
            for _ in range(most):
                line = self._new_line("data", self.fleet[0], f"large {len(self.lines)}")
                line.body["configuration"] = "x" * 4_000
                response = operator.post("/device/data", line.body)
                if response.status_code != 200:
                    return response
                line.is_acknowledged, line.stored_body = True, response.json()
            raise AssertionError("it never failed")
        return None

    def resend_unacknowledged(self, service: Service) -> None:
        """Repeat whatever was not acknowledged, as a sender does after a crash."""
        with operator_of(service, self.token) as operator:
            for line in self.lines.values():
                if not line.is_acknowledged:
                    assert self._post(operator, line.kind, [line]) == 200

    # --- comparing it with what is stored ---

    def assert_stored_by(self, service: Service) -> None:
        """Every acknowledged record is stored once, as it was returned; all stored records were
        sent."""
        assert not self.wrong, self.wrong[:3]
        with operator_of(service, self.token) as operator:
            found = [
                (kind, record)
                for kind in KINDS
                for sensor in self.fleet
                for record in list_records(operator, kind, sensor)
            ]
            times = Counter((kind, record["data"]) for kind, record in found)
            twice = [key for key, number in times.items() if number > 1]
            assert not twice, f"stored more than once: {twice[:3]}"
            lost = [
                words
                for words, line in self.lines.items()
                if line.is_acknowledged and (line.kind, words) not in times
            ]
            assert not lost, f"{len(lost)} of {self.acknowledged} lost: {lost[:3]}"
            for kind, record in found:
                line = self.lines[record["data"]]
                assert (kind, record) == (line.kind, self._stored(line, record))
            self._assert_counters(operator, found)

    def _stored(self, line: Line, record: Body) -> Body:
        """The stored record: as it was returned, or else as it was sent."""
        if line.stored_body is not None:
            return line.stored_body
        sent = {"nbBS" if name == "nbBs" else name: value for name, value in line.body.items()}
        filled_in = {"deviceName": record["deviceName"]} if line.kind == "data" else {}
        return {**sent, "groupId": self.group, **filled_in}

    def _assert_counters(self, operator: Operator, found: list[tuple[str, Body]]) -> None:
        by_kind = Counter(kind for kind, _ in found)
        counters = counted(operator, self.group, self.now)
        assert counters == {kind: by_kind[kind] for kind in KINDS}
        begin, end = f"{(self.now - 3_600 * SECOND) // SECOND}", f"{Clock().now() // SECOND + 60}"
        report = metrics(operator, self.group, begin, end, timeSpan=10)
        assert report["totalDeviceMessage"] == len(found)
        assert sum(item["totalDeviceMessage"] for item in report["items"]) == len(found)
        active = {record["deviceId"] for _, record in found}
        assert set(report["activeDevices"]) == active
        assert report["numberActiveDevices"] == len(active)


def assert_whole(database: Path) -> None:
    """SQLite's own checks find no error in the file."""
    connection = sqlite3.connect(database)
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert connection.execute("pragma foreign_key_check").fetchall() == []
    connection.close()


# --- commands that inject faults into a process ---


def traced(data: Path, call: str, fault: str, when: str) -> list[str]:
    """Run under strace: this system call fails on the files of the database."""
    files = [f"-P{data / name}" for name in ("longwire.db", "longwire.db-wal")]
    inject = f"inject={call}:{fault}:when={when}"
    return ["strace", "-f", "-qq", "-o", "/dev/null", *files, "-e", f"trace={call}", "-e", inject]


def small_files_only(size: int) -> list[str]:
    """Run with a limit on the size of files."""
    script = (
        "import os, resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", script]


Start = Callable[..., Service]


def wait_for_more(ledger: Ledger, records: int) -> None:
    """Wait until this many more records have been acknowledged."""
    enough = ledger.acknowledged + records
    eventually(lambda: ledger.acknowledged >= enough)

"""What must be true, whatever happened: compared with the database and with what receivers got."""

import itertools
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("data", "event", "geoloc", "telemetry")
STATES = ("queued", "leased", "succeeded", "failed", "expired", "cancelled")
_WORD = re.compile(r"w[0-9]{6}")


class Violation(AssertionError):
    """Something that must be true is not."""


@dataclass(slots=True)
class Sent:
    """A record that a client has sent, known by a word that no other record has."""

    word: str
    kind: str
    device: str
    body: dict[str, Any]
    is_acknowledged: bool = False
    requests: int = 0  # that had it
    answers: int = 0  # of these requests
    is_deleted: bool = False  # or may be: nobody knows of a request without a response
    is_gone: bool = False  # its deletion was acknowledged


@dataclass(slots=True)
class Model:
    """What clients know; and what the receivers have seen."""

    sent: dict[str, Sent] = field(default_factory=dict)
    # Of connectors whose acknowledged creation came before everything that was sent.
    connectors: dict[str, int] = field(default_factory=dict)  # id -> number of its channel
    reached: Counter[str] = field(default_factory=Counter)
    longest_wait_s: float = 0.0

    @property
    def acknowledged(self) -> int:
        return sum(each.is_acknowledged for each in self.sent.values())


def find_words(content: Any) -> list[str]:
    return _WORD.findall(str(content))


def check_database(model: Model, file: Path) -> dict[str, int]:
    """Check all that the rows show; how many deliveries are in each state."""
    with closing(sqlite3.connect(file)) as connection:
        stored = _check_records(model, connection)
        _check_counts(connection, stored)
        _check_deliveries(model, connection)
        _check_alarms(model, connection)
        _check_jobs(connection)
        rows = connection.execute("select state, count(*) from delivery group by state").fetchall()
    states = {STATES[state]: count for state, count in rows}
    for name in states:
        model.reached[f"delivery {name}"] += 1
    return states


def check_file(file: Path) -> None:
    """SQLite's own checks find no error."""
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("pragma integrity_check").fetchall()
        _require(found == [("ok",)], f"the file is corrupt: {found[:3]}")
        broken = connection.execute("pragma foreign_key_check").fetchall()
        _require(not broken, f"rows point to nothing: {broken[:3]}")


def _require(is_true: bool, text: str) -> None:
    if not is_true:
        raise Violation(text)


def _check_records(
    model: Model, connection: sqlite3.Connection
) -> dict[str, list[tuple[int, str]]]:
    """1. Each acknowledged record is there once, and no other that nobody has sent."""
    stored: dict[str, list[tuple[int, str]]] = {}
    times: Counter[str] = Counter()
    for kind in KINDS:
        rows = connection.execute(f"select seq, body from record_{kind} order by seq").fetchall()
        stored[kind] = rows
        for _, body in rows:
            times.update(set(find_words(body)))
    twice = [word for word, number in times.items() if number > 1]
    _require(not twice, f"stored more than once: {twice[:3]}")
    unknown = [word for word in times if word not in model.sent]
    _require(not unknown, f"stored, but sent by nobody: {unknown[:3]}")
    lost = [
        each.word
        for each in model.sent.values()
        if each.is_acknowledged and not each.is_deleted and each.word not in times
    ]
    _require(not lost, f"acknowledged and lost: {lost[:3]}")
    back = [each.word for each in model.sent.values() if each.is_gone and each.word in times]
    _require(not back, f"deleted, and there again: {back[:3]}")
    return stored


def _check_counts(connection: sqlite3.Connection, stored: dict[str, list[tuple[int, str]]]) -> None:
    """2. Counters, arrivals and stored sizes equal a recount."""
    for number, kind in enumerate(KINDS):
        (arrivals,) = connection.execute(
            "select count(*) from arrival where kind = ?", [number]
        ).fetchone()
        (counted,) = connection.execute(
            "select coalesce(sum(value), 0) from counter where name = ?", [number]
        ).fetchone()
        _require(counted == arrivals, f"{counted} {kind} counted, {arrivals} arrived")
        _require(
            len(stored[kind]) <= arrivals, f"{len(stored[kind])} {kind} stored, {arrivals} arrived"
        )
    sizes = connection.execute(
        "select coalesce(sum(records), 0), coalesce(sum(characters), 0) from group_storage"
    ).fetchone()
    recount = (
        sum(map(len, stored.values())),
        sum(len(body) for rows in stored.values() for _, body in rows),
    )
    _require(sizes == recount, f"stored sizes are {sizes}, a recount gives {recount}")


def _check_deliveries(model: Model, connection: sqlite3.Connection) -> None:
    """3. For each connector and record there is a delivery, and none without its arrival."""
    if not model.connectors:
        return
    arrived = {seq for (seq,) in connection.execute("select seq from arrival").fetchall()}
    for channel in model.connectors.values():
        rows = connection.execute(
            "select seq from delivery where channel_number = ?", [channel]
        ).fetchall()
        found = {seq for (seq,) in rows}
        _require(arrived <= found, f"channel {channel}: {_describe(arrived, found)}")
        if not any(each.is_deleted for each in model.sent.values()):
            _require(found == arrived, f"channel {channel}: {_describe(arrived, found)}")


def _check_alarms(model: Model, connection: sqlite3.Connection) -> None:
    """6. Alarms of a subject follow one another: the last one ends before the next one begins."""
    rows = connection.execute(
        "select notification_number, subject, raised_at, resolved_at, id from alarm"
        " order by notification_number, subject, raised_at, coalesce(resolved_at, 1 << 62)"
    ).fetchall()
    for before, after in itertools.pairwise(rows):
        if before[:2] == after[:2]:
            is_sound = before[3] is not None and before[3] <= after[2]
            _require(is_sound, f"alarms at the same time: {before[4]} and {after[4]}")
    if rows:
        model.reached["alarm raised"] += 1
    if any(row[3] is not None for row in rows):
        model.reached["alarm resolved"] += 1
    _check_open_alarms(connection)


def _check_jobs(connection: sqlite3.Connection) -> None:
    """8. What a job says that it did is what it did: once, unless it was undone."""
    rows = connection.execute(
        "select id, state, total, done, changed, skipped + failed, undo_of,"
        " json_extract(task, '$.add[0]') from job"
    ).fetchall()
    # A device that was changed meanwhile is left as it is.
    left = {undo_of: others for *_, others, undo_of, _ in rows if undo_of}
    tags = [
        set(json.loads(text))
        for (text,) in connection.execute(
            "select d.tags from device d join device_group g on g.id = d.group_id"
            " where g.name = 'workshop'"
        )
    ]
    for job, state, total, done, changed, others, undo_of, tag in rows:
        _require(state == "succeeded", f"{job} is {state}")
        results = changed + others
        _require(done == results == total, f"{job} did {done} of {total}, with {results} results")
        if undo_of is None:
            wanted = left.get(job, changed)
            tagged = sum(tag in each for each in tags)
            _require(tagged == wanted, f"{job}: {tagged} devices have {tag}, not {wanted}")


def _check_open_alarms(connection: sqlite3.Connection) -> None:
    """The state of a condition and its alarms say the same."""
    rows = connection.execute(
        "select s.device_number, s.raised_at is not null, exists (select 1 from alarm a"
        " where a.notification_number = s.notification_number and a.subject = s.device_number"
        " and a.resolved_at is null) from condition_state s"
    ).fetchall()
    differ = [device for device, is_raised, is_open in rows if is_raised != is_open]
    rows = connection.execute(
        "select a.id from alarm a where a.reason = 'measurement' and a.resolved_at is null"
        " and not exists (select 1 from condition_state s where s.raised_at is not null"
        " and s.notification_number = a.notification_number and s.device_number = a.subject)"
    ).fetchall()
    differ += [alarm for (alarm,) in rows]
    _require(not differ, f"the state of a condition is not that of its alarm: {differ[:3]}")


def check_alerts(receiver: Any) -> None:
    """Each beginning and end of an alarm is notified once."""
    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in receiver.arrived:
        message = each.content["message"]
        if message.get("kind") != "alarms" and "alarmId" in message:
            ids[message["alarmId"], message["state"]].add(each.message_id)
    twice = [key for key, found in ids.items() if len(found) > 1]
    _require(not twice, f"notified more than once: {twice[:3]}")


def _describe(wanted: set[int], found: set[int]) -> str:
    return f"{len(wanted - found)} records without a delivery, {len(found - wanted)} without record"


def check_arrived(model: Model, file: Path, receivers: dict[int, Any]) -> None:
    """4. One message id for a record and connector; delivered means confirmed by the receiver."""
    with closing(sqlite3.connect(file)) as connection:
        for channel, receiver in receivers.items():
            by_id: dict[str, set[str]] = defaultdict(set)
            by_word: dict[str, set[str]] = defaultdict(set)
            for message_id, word in _list_messages(receiver):
                by_id[message_id].add(word)
                by_word[word].add(message_id)
            mixed = [each for each, words in by_id.items() if len(words) > 1]
            _require(not mixed, f"one message id for several records: {mixed[:3]}")
            several = [word for word, ids in by_word.items() if len(ids) > 1]
            _require(not several, f"several message ids for a record: {several[:3]}")
            confirmed = {each.message_id for each in receiver.arrived if each.is_confirmed}
            rows = connection.execute(
                "select seq from delivery where channel_number = ? and state = 2", [channel]
            ).fetchall()
            claimed = {f"msg_{channel:x}_{seq:x}" for (seq,) in rows}
            never = claimed - confirmed
            _require(not never, f"delivered, but never confirmed: {sorted(never)[:3]}")


def _list_messages(receiver: Any) -> Iterator[tuple[str, str]]:
    for each in receiver.arrived:
        for word in sorted(set(find_words(each.content))):
            yield each.message_id, word

"""The service watches over devices: messages that are missing, and devices that fall silent."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.clock import SECOND
from longwire.errors import Conflict
from longwire.fleet import monitoring
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.storing import store_service_events
from longwire.model import SequenceCounter
from longwire.networks.monitoring import SequencedMessage
from longwire.process import maintenance
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.sqlite import SQLite
from longwire.store.fleet import device_states, reporting_devices
from longwire.store.notifications import device_monitors
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import World, ok, record_of

Json = dict[str, Any]
EUI = "0102030405060708"
HOUR = 3_600


class Yard:
    """Somebody with a crane on the vendor's network, and the network."""

    def __init__(self, world: World, **configuration: Any) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.crane = self.ada.device(self.home, network="vendor", originalId="1F")
        if configuration:
            self.configure(**configuration)
        self.token = ok(self.ada.get("/group", groupId=self.home))[0]["token"]

    def configure(self, **configuration: Any) -> None:
        text = json.dumps(configuration)
        body = {"deviceId": self.crane, "groupId": self.home, "configuration": text}
        ok(self.ada.put("/device", body))

    def later(self, **passed: float) -> None:
        """Let time pass, so much that it takes another token to see what happened."""
        self.world.clock.let_pass(**passed)
        self.ada.token = self.world.token(self.ada.client_id, self.ada.client_secret)

    @property
    def now(self) -> int:
        return self.world.clock.now() // 1_000_000

    def calls(self, path: str, message: Json, **params: Any) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        ok(self.world.http.post(f"/network/{path}", json=message, headers=headers, params=params))

    def crane_says(self, number: int, second: int | None = None, kind: str = "data") -> None:
        time = self.now if second is None else 1_653_666_733 + second
        message = {"device": "1F", "time": time, "seqNumber": number, "data": f"{number:04x}"}
        self.calls(f"vendor/{kind}", message)

    def events(self, device: str | None = None) -> list[tuple[str, Json]]:
        """The events of the service itself, in the order they came."""
        found = self.ada.records(device or self.crane, "event")
        own = [each for each in found if each["type"] not in ("status", "join", "error")]
        return [(each["type"], json.loads(each["data"])) for each in own]

    def waits_for(self, *types: str) -> list[Json]:
        """The events of these types, once they are there, in this order and no others."""
        eventually(lambda: len(self.events()) >= len(types))
        events = self.events()
        assert [each for each, _ in events] == list(types)
        return [data for _, data in events]

    def seen_at(self) -> int:
        return int(ok(self.ada.get("/device", deviceId=self.crane))["seenAt"]) // 1_000


def gap(expected: int, got: int) -> tuple[str, Json]:
    return "sequenceGap", {"expected": expected, "got": got, "missed": (got - expected) % 4_096}


# --- numbers ---


@pytest.mark.engine_free
def test_missed_messages_are_reported_once_and_when_they_come_after_all(world: World) -> None:
    yard = Yard(world)
    with Receiver() as receiver:
        wanted = "message.kind == 'event' && message.type.startsWith('sequence')"
        yard.ada.connector(yard.home, receiver.url, messageFilter=wanted)
        yard.crane_says(4_094, 1)
        yard.crane_says(4_095, 2, kind="status")  # is one of its messages as well
        yard.crane_says(0, 3)  # twelve bits
        yard.crane_says(0, 4, kind="dataAdvanced")  # speaks of the same message
        assert yard.events() == []
        yard.crane_says(3, 9)
        yard.crane_says(3, 9)  # repeated
        assert yard.events() == [gap(1, 3)]
        yard.crane_says(2, 6)
        yard.crane_says(2, 6)
        assert len(yard.events()) == 1
        yard.crane_says(1, 5)
        assert yard.events() == [gap(1, 3), ("sequenceRecovered", {"got": 1})]
        yard.crane_says(1, 20)  # begins to count again
        yard.crane_says(2, 21)
        yard.crane_says(5, 30)
        yard.crane_says(7, 40)
        assert yard.events()[2:] == [gap(3, 5), gap(6, 7)]
        events = [each.json for each in receiver.wait_for(4)]
    assert [json.loads(each["data"])["got"] for each in events] == [3, 1, 5, 7]
    totals = {"beginDate": yard.now - HOUR, "endDate": yard.now + HOUR}
    counted = ok(yard.ada.get("/group/metrics", groupId=yard.home, **totals))
    assert counted["totalDeviceEvent"] == 5, "four of ours, and one status"


def test_messages_that_came_together_are_taken_in_the_order_they_were_said() -> None:
    def sequenced(number: int, at: int) -> tuple[int, SequencedMessage]:
        return 5, SequencedMessage("dev", number, at, 1 << 12)

    counts = {5: SequenceCounter(6, 0), 6: SequenceCounter(1, 0)}
    counted, events = monitoring.track_sequences(
        counts, [sequenced(9, 3), sequenced(7, 1), sequenced(8, 2)], {}
    )
    assert (counted, events) == ({5: SequenceCounter(9, 3)}, [])
    counted, events = monitoring.track_sequences(counts, [sequenced(1, 3)], {5: 2, 7: 2})
    assert (counted, events) == ({5: SequenceCounter(1, 3)}, []), "it began a new count before that"


@pytest.mark.engine_free
def test_a_device_that_joins_again_counts_from_the_beginning(world: World) -> None:
    yard = Yard(world)
    buoy = yard.ada.device(yard.home, network="chirpstack", originalId=EUI)

    def send_event(event: str, second: int, **fields: Any) -> None:
        envelope = {"deviceInfo": {"devEui": EUI}, "time": f"2026-03-01T12:00:{second:02d}Z"}
        yard.calls("chirpstack", envelope | fields, event=event)

    send_event("up", 1, fCnt=1, data="AQ==")
    send_event("up", 2, fCnt=2, data="AQ==")
    send_event("join", 3)
    send_event("up", 4, fCnt=5, data="AQ==")  # what came before it in this session is not known
    assert yard.events(buoy) == []
    send_event("up", 6, fCnt=70_000, data="AQ==")  # and nobody loses so many
    send_event("up", 7, fCnt=70_002, data="AQ==")
    send_event("join", 5)  # late, and of the past
    send_event("up", 8, fCnt=70_004, data="AQ==")
    gaps = [("sequenceGap", {"expected": n, "got": n + 1, "missed": 1}) for n in (70_001, 70_003)]
    assert yard.events(buoy) == gaps


def test_numbers_that_arrive_together_are_taken_in_order(world: World) -> None:
    yard = Yard(world)
    with asyncio.Runner() as runner:
        runner.run(_all_at_once(yard, range(1, 40)))
    types = [each for each, _ in yard.events()]
    # Some may have been stored before those that were said earlier; then these have come since.
    assert types.count("sequenceGap") == 0 or "sequenceRecovered" in types
    yard.crane_says(41, 1_000)
    assert yard.events()[-1] == gap(40, 41)


async def _all_at_once(yard: Yard, numbers: range) -> None:
    async def send(number: int) -> None:
        await asyncio.to_thread(yard.crane_says, number, number)

    await asyncio.gather(*(send(number) for number in numbers))


# --- silence ---


def test_a_count_that_was_rolled_back_or_written_by_others_is_known(world: World) -> None:
    yard = Yard(world)
    yard.crane_says(1, 1)

    def count(tx: Tx, number: int) -> None:
        device = reporting_devices.get_reporting(tx, [yard.crane])[yard.crane]
        key = device.group_number, device.number
        counted = SequenceCounter(number, 1_653_666_733 * SECOND)
        device_states.update_last_seen(tx, {key: tx.now}, {device.number: counted}, {})

    def count_and_fail(tx: Tx) -> None:
        count(tx, 50)
        raise Conflict

    with pytest.raises(Conflict):
        world.write(count_and_fail)
    yard.crane_says(2, 2)
    assert yard.events() == []
    if world.database.engine_name == "sqlite":
        other = SQLite(world.settings.data / "longwire.db", world.database.context)
        other.upgrade(lambda tx: count(tx, 60))  # as a command of the operator would
        yard.crane_says(61, 61)
        assert yard.events() == []
        yard.crane_says(63, 63)
        assert yard.events() == [gap(62, 63)]


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_device_that_falls_silent_is_reported_once_and_when_it_is_back(world: World) -> None:
    yard = Yard(world, silentAfterSeconds=HOUR)
    yard.later(days=2)  # still in its box
    yard.crane_says(1)
    yard.later(seconds=HOUR - 60)
    yard.crane_says(2)
    yard.later(seconds=HOUR - 60)
    with Receiver() as receiver:
        yard.ada.connector(yard.home, receiver.url, messageFilter="message.kind == 'event'")
        assert yard.events() == []
        said_at = yard.seen_at()
        yard.later(seconds=120)
        (silent,) = yard.waits_for("deviceSilent")
        assert silent == {"seconds": HOUR}
        assert [each.json["type"] for each in receiver.wait_for(1)] == ["deviceSilent"]
        assert yard.seen_at() == said_at, "what we say of it is no sign of life"
        world.restart()
        yard.later(days=1)
        yard.crane_says(3)
        _, back = yard.waits_for("deviceSilent", "deviceBack")
        assert 86_000 < back["seconds"] < 88_000
        yard.later(seconds=HOUR + 60)
        yard.waits_for("deviceSilent", "deviceBack", "deviceSilent")
        eventually(lambda: len(receiver.bodies) == 3)


@pytest.mark.engine_free
@pytest.mark.slow
def test_what_is_expected_follows_the_configuration(world: World) -> None:
    yard = Yard(world)
    yard.crane_says(1)
    yard.later(seconds=HOUR)

    def watched() -> Json:
        def work(tx: Tx) -> list[Any]:
            return [dict(row._mapping) for row in tx.rows(schema.device_watch.select())]

        rows = world.read(work)
        return dict(rows[0]) if rows else {}

    # A generic device is expected to do nothing; a tracker reports every ten minutes.
    typed = {"deviceId": yard.crane, "groupId": yard.home, "type": "tracker"}
    ok(yard.ada.put("/device/type", typed))
    (silent,) = yard.waits_for("deviceSilent")
    assert silent == {"seconds": 1_200}
    yard.configure(reportEverySeconds=HOUR)
    yard.waits_for("deviceSilent", "deviceBack")
    yard.configure(silentAfterSeconds=60)
    eventually(lambda: len(yard.events()) == 3)
    yard.configure()
    eventually(lambda: watched()["silent_at"] is None)
    yard.later(days=9)
    yard.configure(reportEverySeconds=HOUR)
    eventually(lambda: len(yard.events()) == 4)
    types = [each for each, _ in yard.events()]
    assert (types.count("deviceSilent"), types.count("deviceBack")) == (3, 1)
    ok(yard.ada.delete("/device", deviceId=yard.crane, groupId=yard.home))
    assert watched() == {}


def test_old_messages_do_not_bring_a_device_back(world: World) -> None:
    yard = Yard(world, silentAfterSeconds=HOUR)
    yard.crane_says(1)
    yard.later(seconds=10 * HOUR)
    yard.waits_for("deviceSilent")
    late = (yard.now - 5 * HOUR) * 1_000
    yard.ada.reports(yard.crane, timestamp=late)

    def since() -> Any:
        return world.read(lambda tx: tx.rows(schema.device_watch.select())[0].silent_at)

    eventually(lambda: since() == (late + HOUR * 1_000) * 1_000)
    assert len(yard.events()) == 1


def test_a_device_with_old_records_only_is_silent_at_once(world: World) -> None:
    yard = Yard(world, silentAfterSeconds=HOUR)
    tracker = yard.ada.device(yard.home, type="tracker")  # reports every ten minutes
    unmonitored = yard.ada.device(yard.home)
    old = (yard.now - 30 * 24 * HOUR) * 1_000
    batch = [record_of(yard.crane, timestamp=old + second * 1_000) for second in range(3)]
    ok(yard.ada.post("/device/data/batch", {"items": batch}))
    assert yard.waits_for("deviceSilent") == [{"seconds": HOUR}]
    yard.ada.reports(tracker, timestamp=old)
    eventually(lambda: yard.events(tracker) == [("deviceSilent", {"seconds": 1_200})])
    yard.ada.reports(unmonitored, timestamp=old)
    # Its first records say so; further ones, which are not new either, change nothing.
    yard.ada.reports(yard.crane, timestamp=old + 60_000)
    yard.crane_says(1)
    yard.waits_for("deviceSilent", "deviceBack")
    assert yard.events(unmonitored) == []


@pytest.mark.slow
def test_several_processes_tell_of_a_device_once(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DEVICES_POLL_INTERVAL_S", 3_600)  # the test looks by itself
    world = make_world()
    yard = Yard(world, silentAfterSeconds=HOUR)
    devices = [yard.crane]
    devices += [yard.ada.device(yard.home, type="tracker") for _ in range(4)]
    for device in devices:
        yard.ada.reports(device, timestamp=yard.now)
    yard.later(days=1)
    due = world.read(lambda tx: device_monitors.list_due(tx, tx.now, 100))
    assert sorted(due) == sorted(devices)

    async def look() -> None:
        sequencers = [Sequencer(number) for number in range(8)]
        await asyncio.gather(
            *(
                world.database.write(
                    lambda tx, each=each: store_service_events(
                        tx, each, monitoring.check_silent_devices(tx, due)
                    )  # type: ignore[misc]
                )
                for each in sequencers
            )
        )

    world._run(look())
    # Whom one had in hand, the others have left to it.
    world._run(look())
    for device in devices:
        assert [each for each, _ in yard.events(device)] == ["deviceSilent"]
    assert world.read(lambda tx: device_monitors.list_due(tx, tx.now, 100)) == []


def test_many_devices_that_fall_silent_at_once_take_no_more_statements_than_two(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "DEVICES_POLL_INTERVAL_S", 3_600)  # the test looks by itself
    world = make_world()
    yard = Yard(world)
    devices = [yard.ada.device(yard.home, type="tracker") for _ in range(32)]
    now = yard.now
    for number, device in enumerate(devices):
        yard.ada.reports(device, timestamp=now - number)
    yard.later(days=1)
    statements: list[str] = []

    def check(tx: Tx, ids: list[str]) -> list[str]:
        if isinstance(world.database, SQLite):
            tx.driver.set_trace_callback(statements.append)
        events = monitoring.check_silent_devices(tx, ids)
        if isinstance(world.database, SQLite):
            tx.driver.set_trace_callback(None)
        return [event.device_id for event in events]

    assert world.write(lambda tx: check(tx, devices[:2])) == devices[:2]
    of_two = len(statements)
    assert world.write(lambda tx: check(tx, devices[2:])) == devices[2:]
    assert len(statements) == 2 * of_two
    assert world.write(lambda tx: check(tx, devices)) == []

    def list_silent_since(tx: Tx, table: sa.Table) -> list[Any]:
        since = table.c.silent_at
        found = sa.select(since).where(since.is_not(None)).order_by(table.c.device_number)
        return [row[0] for row in tx.rows(found)]

    silent = world.read(lambda tx: list_silent_since(tx, schema.device_watch))
    assert silent == [silent[0] - number * SECOND for number in range(32)]
    assert silent == world.read(lambda tx: list_silent_since(tx, schema.device_state))


def test_a_check_repairs_what_the_state_of_a_device_says(world: World) -> None:
    yard = Yard(world, silentAfterSeconds=HOUR)
    yard.crane_says(1)

    def change(tx: Tx) -> None:
        tx.execute(schema.device_state.update().values(silent_at=1))
        tx.execute(schema.device_watch.update().values(due_at=1))

    world.write(change)
    state = schema.device_state.c.silent_at
    eventually(lambda: world.read(lambda tx: tx.rows(sa.select(state)))[0][0] is None)
    assert yard.events() == []


def test_devices_of_an_older_database_are_watched_over_as_well(world: World) -> None:
    """The step that made the table put every device there, to be looked at."""
    yard = Yard(world, silentAfterSeconds=HOUR)
    yard.crane_says(1)
    yard.later(seconds=2 * HOUR)

    def as_before(tx: Tx) -> None:
        tx.execute(schema.device_watch.delete())
        tx.driver.execute(
            "insert into device_watch (device_number, due_at) select number, 0 from device"
        )

    world.write(as_before)
    eventually(lambda: [each for each, _ in yard.events()][:1] == ["deviceSilent"])


@pytest.mark.engine_free
@pytest.mark.slow
def test_many_silent_devices_are_gone_through_in_rounds(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "SILENT_PER_ROUND_MAX", 2)
    monkeypatch.setattr(maintenance, "DEVICES_PER_BATCH_MAX", 2)
    monkeypatch.setattr(maintenance, "DEVICES_POLL_INTERVAL_S", 0.05)
    world = make_world()
    yard = Yard(world)
    devices = [yard.ada.device(yard.home, type="tracker") for _ in range(7)]
    for device in devices:
        yard.ada.reports(device, timestamp=yard.now)
    yard.later(days=1)

    def events() -> list[list[str]]:
        return [[each for each, _ in yard.events(device)] for device in devices]

    eventually(lambda: events() == [["deviceSilent"]] * 7)
    for device in devices[::2]:
        yard.ada.reports(device, timestamp=yard.now)
    back = ["deviceSilent", "deviceBack"]
    expected = [["deviceSilent"] if number % 2 else back for number in range(7)]
    eventually(lambda: events() == expected)

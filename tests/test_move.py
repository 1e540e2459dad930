"""A database is moved to the other engine: everything is there, and goes on where it was."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longwire.backup.moving import MoveError, move
from longwire.clock import SECOND
from longwire.dates import format_date
from longwire.errors import OperatorError
from longwire.process import startup
from longwire.process.startup import StartupError
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire.store.engines import slot_count, table_rows
from longwire.store.engines.slot_count import SlotsFixed
from longwire.store.statement import Statement
from tests.conftest import PostgresServer
from tests.delivery.receiver import Receiver
from tests.delivery.test_connectors import ONCE, named, settled
from tests.process import longwire, start_command
from tests.world import KINDS, AdjustableClock, Person, World, copy_data_folder, ok, record_of

COUNT_RECORDS = Statement("select count(*) from record_data")


@pytest.fixture
def other(settings: Settings, fast_folder: Path, postgres: PostgresServer) -> Iterator[Settings]:
    """An empty place of the other engine."""
    if settings.database:
        yield replace(settings, database="", data=fast_folder / "sqlite", database_slots=0)
        return
    name = postgres.create()
    yield replace(settings, database=postgres.url(name), database_connections=4)
    postgres.drop(name)


def note(table: str, rows: int) -> None:
    """What the command prints."""


def at(world: World, person: Person) -> Person:
    return Person(world, world.token(person.client_id, person.client_secret), person.id, ("", ""))


def show_all(person: Person, group: str, device: str, connector: str) -> dict[str, object]:
    """What somebody sees of a group."""
    return {
        "devices": ok(person.get("/devices", groupId=group)),
        "values": ok(person.get("/device/values", deviceId=device)),
        "connector": ok(person.get("/connector", groupId=group, connectorId=connector)),
        "deliveries": person.events(group, connector),
        "measurements": ok(person.get("/group/measurements", groupId=group)),
        "audit": ok(person.get("/group/audit", groupId=group)),
        **{kind: person.records(device, kind) for kind in KINDS},
    }


@pytest.mark.slow
def test_a_moved_service_has_everything_and_goes_on(
    world: World, other: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_rows, "PAGE_ROWS", 3)
    ada = world.person("ada")
    group = ada.group("Harbour")
    below = ada.group("Quay", parent=group)
    device, gone = ada.device(group), ada.device(below)
    with Receiver(500) as receiver:
        connector = ada.connector(
            group, receiver.url, retryPolicy=ONCE, dataFailurePolicy={"storingDuration": 3_600}
        )
        for number in range(7):
            ada.reports(
                device, timestamp=f"2026-03-01T12:00:0{number}Z", data=f'{{"celsius": {number}}}'
            )
        ada.reports(gone, data="1")
        ok(ada.delete("/device", deviceId=gone, groupId=below))
        settled(ada, group, connector, 0, 7)
        before = show_all(ada, group, device, connector)
        world.stop()

        rows = move(world.settings, other, note)
        assert rows["device"] == 1
        moved = World(other, world.clock)
        try:
            eva = at(moved, ada)
            assert show_all(eva, group, device, connector) == before
            receiver.respond_with(200)
            ok(eva.post("/connector/resendData", named(group, connector)))
            settled(eva, group, connector, 7)
            newer = eva.device(group, originalId="FFFF")
            eva.reports(newer, data="99")
            settled(eva, group, connector, 8)
            assert [each["data"] for each in eva.records(newer)] == ["99"]
            assert len(eva.records(device)) == 7
            assert len(set(receiver.ids)) == 8
        finally:
            moved.stop()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgresql"])
def test_an_interrupted_move_goes_on_and_nobody_starts_before_its_end(
    world: World, other: Settings
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device, data="kept")
    world.stop()
    begun: list[str] = []

    def interrupt(table: str, rows: int) -> None:
        begun.append(table)
        if table == "device":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(world.settings, other, interrupt)
    with pytest.raises(StartupError, match="has not ended"):
        World(other, AdjustableClock())
    again: list[str] = []
    move(world.settings, other, lambda table, rows: again.append(table))
    assert not set(begun) & set(again)
    assert set(begun) | set(again) == {each.name for each in table_rows.list_tables()}
    moved = World(other, AdjustableClock())
    try:
        assert [each["data"] for each in at(moved, ada).records(device)] == ["kept"]
    finally:
        moved.stop()
    with pytest.raises(MoveError, match="tables already"):
        move(world.settings, other, note)


@pytest.mark.parametrize("engine", ["postgresql"])
def test_what_was_changed_between_two_attempts_is_noticed(world: World, other: Settings) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    world.stop()

    def interrupt(table: str, rows: int) -> None:
        if table == "device":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        move(world.settings, other, interrupt)
    world.start()
    ada.reports(device, data="came late")
    world.stop()
    with pytest.raises(MoveError, match="used since"):
        move(world.settings, other, note)
    with pytest.raises(StartupError, match="has not ended"):
        World(other, AdjustableClock())


@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_row_that_differs_is_found(
    world: World, other: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.person("ada")
    world.stop()
    write = table_rows.write_rows

    def write_wrongly(tx: Tx, table: table_rows.TableShape, rows: list[table_rows.Row]) -> None:
        if table.name == "user_account":
            place = table.columns.index("name")
            rows = [(*row[:place], "someone", *row[place + 1 :]) for row in rows]
        write(tx, table, rows)

    monkeypatch.setattr(table_rows, "write_rows", write_wrongly)
    with pytest.raises(MoveError, match="user_account is not the same"):
        move(world.settings, other, note)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_cannot_be_moved_says_why(
    world: World, other: Settings, fast_folder: Path, postgres: PostgresServer
) -> None:
    here = world.settings
    command = ("move", "--to", other.database, "--data", str(here.data))
    with startup.lock_data_folder(here):  # as the process has it that serves
        running = longwire(*command, cwd=fast_folder)
    assert running.returncode == 2 and "already serves" in running.stderr
    world.stop()
    with pytest.raises(MoveError, match="same engine"):
        move(here, replace(here, data=fast_folder / "elsewhere"), note)
    with pytest.raises(MoveError, match="no database in"):
        move(replace(here, data=fast_folder / "nothing"), other, note)
    with pytest.raises(MoveError, match="secret key"):
        keyless = copy_data_folder(here.data, fast_folder / "keyless")
        (keyless / "secret.key").unlink()
        move(replace(here, data=keyless), other, note)
    with pytest.raises(MoveError, match="one slot"):
        move(here, replace(other, database_slots=4), note)
    older = replace(here, data=copy_data_folder(here.data, fast_folder / "older"))
    old = World(older, AdjustableClock())
    old.write(lambda tx: tx.run(Statement("update alembic_version set version_num = '0001'")))
    old.stop()
    with pytest.raises(MoveError, match="older version"):
        move(older, other, note)

    done = longwire(*command, cwd=fast_folder)
    assert done.returncode == 0, done.stderr
    assert "were moved, and compared" in done.stdout
    moved = World(other, AdjustableClock())
    with pytest.raises(OperatorError, match="Processes use this database"):
        move(other, replace(here, data=fast_folder / "back"), note)
    moved.stop()
    back = replace(here, data=fast_folder / "back")
    (back.data / "secret.key").write_text("ab" * 32)
    with pytest.raises(MoveError, match="another one"):
        move(other, back, note)
    (back.data / "secret.key").unlink()
    assert move(other, back, note)["user_account"] == 2
    assert (back.data / "secret.key").read_text() == (here.data / "secret.key").read_text()
    with pytest.raises(SlotsFixed, match="one slot"):
        database, _ = startup.build_database(other, AdjustableClock(), is_secondary=True)
        try:
            database.upgrade(lambda tx: slot_count.rewrite(tx, 4))
        finally:
            database.close()


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_million_records_are_moved_whatever_kills_the_command(
    world: World, other: Settings, fast_folder: Path
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    for number in range(1_000):
        second = number * 1_000
        items = [
            record_of(device, timestamp=format_date((second + each) * SECOND), data="1")
            for each in range(1_000)
        ]
        ok(ada.post("/device/data/batch", {"items": items}))
    world.stop()
    command = ("move", "--to", other.database, "--data", str(world.settings.data))
    rounds = 0
    while True:
        with (fast_folder / "out").open("wb") as out, (fast_folder / "err").open("wb") as err:
            moving = start_command(command, fast_folder, out, err)
            try:
                code = moving.wait(timeout=5 + 5 * rounds)
                break
            except subprocess.TimeoutExpired:
                moving.kill()
                moving.wait(60)
        rounds += 1
    assert code == 0, (fast_folder / "err").read_text()
    assert rounds >= 2
    moved = World(other, world.clock)
    try:
        assert ok(at(moved, ada).get("/device/data", deviceId=device, limit=1))["items"]
        assert moved.read(lambda tx: tx.fetch(COUNT_RECORDS))[0][0] == 1_000_000
    finally:
        moved.stop()

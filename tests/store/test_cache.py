"""What is remembered of who may do what: never longer than it is true."""

import threading
from collections.abc import Callable

import httpx
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from longwire import maintenance, startup
from longwire.errors import Conflict
from longwire.store import auth_epoch, schema
from longwire.store import cache as memory_module
from longwire.store.cache import NOTHING, Memory
from longwire.store.database import Tx
from tests.process import wait_for
from tests.world import TurnableClock, World, ok, refused

# --- the memory alone ---


def keep(memory: Memory, value: object, key: str = "key") -> None:
    memory.keep("shelf", key, value, since=memory.generation)


@pytest.mark.parametrize("value", ["something", None, ()])
def test_what_was_kept_is_found(value: object) -> None:
    memory = Memory()
    assert memory.find("shelf", "key") is NOTHING
    keep(memory, value)
    assert memory.find("shelf", "key") == value, "that there is nothing is worth remembering too"
    assert memory.known("shelf", "key") == value
    assert memory.find("shelf", "another key") is memory.find("another shelf", "key") is NOTHING
    assert memory.known("shelf", "another key") is None


def test_everything_is_forgotten_together() -> None:
    memory = Memory()
    keep(memory, "ada", "a")
    keep(memory, "bob", "b")
    memory.forget()
    assert memory.find("shelf", "a") is memory.find("shelf", "b") is NOTHING
    keep(memory, "ada, but not as she was", "a")
    assert memory.find("shelf", "a") == "ada, but not as she was"


def test_what_was_seen_before_all_was_forgotten_is_not_kept() -> None:
    memory = Memory()
    began = memory.generation
    memory.forget()
    memory.keep("shelf", "key", "how it was before", since=began)
    assert memory.find("shelf", "key") is NOTHING


def test_an_epoch_that_moved_means_forgetting_and_one_that_stayed_does_not() -> None:
    memory = Memory()
    memory.saw_epoch(7)
    keep(memory, 1)
    memory.saw_epoch(7)
    assert memory.find("shelf", "key") == 1
    memory.saw_epoch(8)
    assert memory.find("shelf", "key") is NOTHING
    keep(memory, 1)
    memory.saw_epoch(7)  # a database that was put back from a copy
    assert memory.find("shelf", "key") is NOTHING


def test_a_memory_that_is_not_trusted_is_not_asked() -> None:
    memory = Memory()
    memory.saw_epoch(7)
    keep(memory, 1)
    memory.distrust()
    assert memory.known("shelf", "key") is None
    keep(memory, 2)
    assert memory.find("shelf", "key") is NOTHING
    memory.saw_epoch(8)
    keep(memory, 3)
    assert memory.find("shelf", "key") == 3, "trusted again"


def test_a_shelf_holds_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "ENTRIES_PER_SHELF_MAX", 10)
    memory = Memory()
    for number in range(1_000):
        keep(memory, number, str(number))
    known = [number for number in range(1_000) if memory.known("shelf", str(number)) is not None]
    assert 1 <= len(known) <= 10
    assert known[-1] == 999


# --- with a database under it ---


def role_name(tx: Tx) -> str:
    """The name of a role, as a rule would ask for it."""
    table = schema.role
    by_id = sa.select(table.c.name).where(table.c.id == "viewer")
    return tx.cached("test", "viewer", lambda: str(tx.rows(by_id)[0][0]))


def rename_role(tx: Tx, name: str) -> None:
    auth_epoch.bump_auth_epoch(tx)
    tx.execute(sa.update(schema.role).where(schema.role.c.id == "viewer").values(name=name))


def test_a_change_is_known_at_once_to_whoever_made_it(world: World) -> None:
    assert world.read(role_name) == "Viewer"
    world.write(lambda tx: rename_role(tx, "Onlooker"))
    assert world.read(role_name) == "Onlooker"


def test_a_change_that_is_taken_back_is_remembered_by_nobody(world: World) -> None:
    seen_inside = []

    def change_of_mind(tx: Tx) -> None:
        rename_role(tx, "Onlooker")
        seen_inside.append(role_name(tx))
        raise Conflict

    with pytest.raises(Conflict):
        world.write(change_of_mind)
    assert seen_inside == ["Onlooker"], "one's own changes are seen"
    assert world.read(role_name) == "Viewer"
    assert world.database.context.memory.known("test", "viewer") == "Viewer"


def test_what_was_looked_up_once_is_not_looked_up_again(world: World) -> None:
    looks = []

    def ask_twice(tx: Tx) -> None:
        for _ in range(2):
            assert tx.cached("test", "none", lambda: looks.append(1)) is None

    world.read(ask_twice)
    world.read(ask_twice)
    assert len(looks) == 1, "that there is nothing is worth remembering too"


def test_what_a_write_looked_up_is_kept_once_it_is_committed_and_not_before(world: World) -> None:
    memory = world.database.context.memory
    seen = []

    def look(tx: Tx) -> None:
        seen.append((role_name(tx), memory.known("test", "viewer")))

    def look_and_fail(tx: Tx) -> None:
        look(tx)
        raise Conflict

    with pytest.raises(Conflict):
        world.write(look_and_fail)
    assert memory.known("test", "viewer") is None, "it might have been its own change"
    world.write(look)
    assert seen == [("Viewer", None)] * 2
    assert memory.known("test", "viewer") == "Viewer"


def test_what_a_write_saw_before_a_change_of_rights_is_not_kept_after_it(world: World) -> None:
    """As when another process moved the epoch while the write was under way."""
    memory = world.database.context.memory

    def overtaken(tx: Tx) -> None:
        assert role_name(tx) == "Viewer"
        memory.forget()

    world.write(overtaken)
    assert memory.known("test", "viewer") is None


def test_a_reader_that_began_before_a_change_leaves_nothing_old_behind(world: World) -> None:
    """The reader has looked at the database, so it sees it as it was, also after the change."""
    began, changed = threading.Event(), threading.Event()

    def slow_reader(tx: Tx) -> str:
        tx.rows(sa.select(schema.instance))
        began.set()
        assert changed.wait(10)
        return role_name(tx)

    reading = threading.Thread(target=world.read, args=(slow_reader,))
    reading.start()
    assert began.wait(10)
    world.write(lambda tx: rename_role(tx, "Onlooker"))
    changed.set()
    reading.join(10)
    assert world.read(role_name) == "Onlooker"


@pytest.mark.parametrize("what", ["a group", "records"])
def test_a_removed_member_is_refused_at_once_here_and_within_seconds_by_another_process(
    make_world: Callable[..., World], engine: str, what: str
) -> None:
    here = make_world()
    ada, bob = here.person("ada"), here.person("bob")
    group = ada.group()
    device = ada.device(group)
    ada.reports(device)
    ada.invite(bob, group, "viewer")
    path, params, no = {
        "a group": ("/group", {"groupId": group}, 400),
        "records": ("/device/data", {"deviceId": device}, 404),
    }[what]

    def look(world: World) -> httpx.Response:
        headers = {"Authorization": f"Bearer {bob.token}"}
        return world.http.get(path, params=params, headers=headers)

    ok(look(here))
    assert ok(look(here)), "by now it is remembered"
    assert maintenance.RIGHTS_WATCH_S <= 1, "two seconds are promised"
    if engine == "postgresql":
        there = World(here.settings, TurnableClock())
        try:
            ok(look(there))
            ok(ada.delete("/group/user", groupId=group, userId=bob.id))
            refused(look(here), no, *params)
            wait_for(lambda: look(there).status_code == no)
        finally:
            there.stop()
        return
    # Beside the one process that serves the embedded database there are the operator's commands.
    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    refused(look(here), no, *params)
    ada.invite(bob, group, "viewer")
    ok(look(here))
    guest, _ = startup.open_database(here.settings, TurnableClock(), is_guest=True)

    def remove(tx: Tx) -> None:
        auth_epoch.bump_auth_epoch(tx)
        tx.execute(sa.delete(schema.member).where(schema.member.c.user_id == bob.id))

    guest.upgrade(remove)
    guest.close()
    wait_for(lambda: look(here).status_code == no)


def test_while_the_epoch_cannot_be_read_nothing_remembered_is_believed(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "RIGHTS_WATCH_S", 0.05)
    monkeypatch.setattr(maintenance, "RIGHTS_TRUST_S", 0.1)
    world = make_world()
    memory = world.database.context.memory
    with capture_logs() as told:
        world.write(lambda tx: tx.execute(sa.text("alter table auth_epoch rename to hidden_epoch")))
        wait_for(lambda: not memory.is_trusted)
        assert world.http.get("/health/ready").status_code == 503

        world.write(lambda tx: tx.execute(sa.text("alter table hidden_epoch rename to auth_epoch")))
        wait_for(lambda: memory.is_trusted)
        assert world.http.get("/health/ready").status_code == 200
    assert any(line["event"] == "the epoch of rights cannot be read" for line in told)

"""The caches: a stale value is never served after a commit, and nothing is evicted needlessly."""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import httpx
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from longwire.delivery.matching import matching
from longwire.errors import Conflict, NotFound
from longwire.fleet import decoding
from longwire.notifications import rules
from longwire.process import maintenance, startup
from longwire.store import locks, schema
from longwire.store.cache import cache as cache_module
from longwire.store.cache import cache_epochs
from longwire.store.cache.cache import (
    MISSING,
    AuthCache,
    CacheEpochs,
    Caches,
    CompiledCache,
    ConfigCache,
)
from longwire.store.database import Tx
from tests.waiting import PATIENCE_S, eventually
from tests.world import AdjustableClock, World, ok, refused

# --- the auth cache alone ---


def put(cache: AuthCache, value: object, key: str = "key") -> None:
    cache.put("namespace", key, value, since=cache.generation)


@pytest.mark.parametrize("value", ["something", None, ()])
def test_a_cached_value_is_found(value: object) -> None:
    cache = AuthCache()
    assert cache.lookup("namespace", "key") is MISSING
    put(cache, value)
    assert cache.lookup("namespace", "key") == value, "that there is nothing is cached as well"
    assert cache.get("namespace", "key") == value
    assert cache.lookup("namespace", "other") is cache.lookup("other", "key") is MISSING
    assert cache.get("namespace", "other") is None


def test_the_auth_cache_is_cleared_as_a_whole() -> None:
    cache = AuthCache()
    put(cache, "ada", "a")
    put(cache, "bob", "b")
    cache.clear()
    assert cache.lookup("namespace", "a") is cache.lookup("namespace", "b") is MISSING
    put(cache, "ada, changed", "a")
    assert cache.lookup("namespace", "a") == "ada, changed"


def test_a_value_read_before_a_clear_is_not_cached_after_it() -> None:
    cache = AuthCache()
    before = cache.generation
    cache.clear()
    cache.put("namespace", "key", "stale", since=before)
    assert cache.lookup("namespace", "key") is MISSING


@pytest.mark.parametrize(
    "epoch, since, is_found, observed",
    [
        (7, 7, True, 7),
        (8, 7, False, 8),
        # another observer was faster
        (8, 6, False, 8),
        (6, 6, True, 7),
        (6, -1, True, 7),
        # restored from a backup
        (6, 7, False, 6),
        (5, 6, False, 5),
    ],
)
def test_an_epoch_that_moved_clears_and_a_late_reading_does_not(
    epoch: int, since: int, is_found: bool, observed: int
) -> None:
    cache = AuthCache()
    cache.observe_epoch(7, -1)
    put(cache, 1)
    cache.observe_epoch(epoch, since)
    assert (cache.lookup("namespace", "key") == 1) is is_found
    assert cache.epoch == observed


def test_a_distrusted_cache_is_not_used() -> None:
    caches = Caches()
    caches.observe(CacheEpochs(7, 0, 0, -1, -1, None))
    put(caches.auth, 1)
    caches.config.put("namespace", "key", 1, ["1"], since=caches.config.generation)
    caches.distrust()
    assert caches.auth.get("namespace", "key") is caches.config.get("namespace", "key") is None
    put(caches.auth, 2)
    assert caches.auth.lookup("namespace", "key") is MISSING
    caches.observe(CacheEpochs(7, 0, 0, 7, 0, frozenset()))  # perhaps read before
    assert caches.auth.get("namespace", "key") is caches.config.get("namespace", "key") is None
    put(caches.auth, 3)
    assert caches.auth.lookup("namespace", "key") == 3, "trusted again"


@pytest.mark.parametrize("name", ["auth", "config"])
def test_whoever_has_observed_an_epoch_finds_nothing_older(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    caches = Caches()
    caches.observe(CacheEpochs(7, 7, 0, -1, -1, None))
    put(caches.auth, 1)
    caches.config.put("namespace", "key", 1, ["1"], since=caches.config.generation)
    cache: Any = getattr(caches, name)
    clear, found = cache.clear, []

    def observe() -> None:
        caches.observe(CacheEpochs(8, 8, 0, 7, 7, None))
        found.append(cache.lookup("namespace", "key"))

    def clear_slowly() -> None:
        if not other.is_alive():
            other.start()
            other.join(0.2)  # it has to wait
        clear()

    other = threading.Thread(target=observe)
    monkeypatch.setattr(cache, "clear", clear_slowly)
    observe()
    other.join(PATIENCE_S)
    assert found == [MISSING, MISSING]


@pytest.mark.parametrize("name", ["auth", "config"])
def test_a_namespace_is_bounded(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(cache_module, "ENTRIES_PER_NAMESPACE_MAX", 10)
    caches = Caches()
    cache: Any = getattr(caches, name)
    groups = {} if name == "auth" else {"groups": ["1"]}
    for number in range(1_000):
        cache.put("namespace", str(number), number, **groups, since=cache.generation)
    found = [number for number in range(1_000) if cache.get("namespace", str(number)) is not None]
    assert 1 <= len(found) <= 10
    assert found[-1] == 999


class Large(NamedTuple):
    """A value that says how much it keeps."""

    number: int
    kept_bytes: int


def test_large_values_evict_the_oldest_of_them_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cache_module, "CONFIG_BYTES_MAX", 100)
    cache = ConfigCache()

    def list_cached() -> list[int]:
        return [number for number in range(10) if cache.get("large", str(number)) is not None]

    def put_large(number: int, size: int) -> None:
        value = Large(number, size)
        cache.put("large", str(number), value, [str(number)], since=cache.generation)

    cache.put("small", "key", 1, ["1"], since=cache.generation)
    for number in range(5):
        put_large(number, 40)
    assert list_cached() == [3, 4]
    cache.invalidate(["3"])
    put_large(5, 60)
    assert list_cached() == [4, 5], "what was evicted does not count"
    put_large(5, 60)
    assert list_cached() == [4, 5], "a value counts once"
    put_large(6, 1_000)
    assert list_cached() == [6], "one is kept, however large"
    cache.clear()
    put_large(7, 50)
    put_large(8, 50)
    assert list_cached() == [7, 8]
    assert cache.get("small", "key") is None, "cleared"


def test_what_was_compiled_is_bounded_by_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "COMPILED_BYTES_MAX", 100)
    cache = CompiledCache()
    for number in range(5):
        assert cache.get(number, partial(Large, number, 40)).number == number
    assert list(cache.find(range(5))) == [3, 4]
    cache.get("small", lambda: 1)
    assert cache.get(3, lambda: Large(-1, 40)).number == 3, "used again, so not the oldest"
    cache.get(5, lambda: Large(5, 40))
    assert list(cache.find([3, 4, 5, "small"])) == [3, 5, "small"]


# --- the configuration cache alone ---

GROUPS = ["1", "2", "3", "4"]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(GROUPS)),
        st.tuples(st.just("begin"), st.sets(st.sampled_from(GROUPS), min_size=1)),
        st.tuples(st.just("finish"), st.integers(0, 5)),
        st.tuples(st.just("clear"), st.none()),
    ),
    max_size=60,
)


@given(steps)
def test_a_configuration_is_never_stale_and_is_evicted_by_its_own_groups_only(
    steps: Sequence[tuple[str, Any]],
) -> None:
    """Readers begin, others write, readers put what they saw; the cache must sort it out."""
    cache = ConfigCache()
    versions = dict.fromkeys(GROUPS, 0)
    readers: list[tuple[int, tuple[str, ...], tuple[int, ...]]] = []
    expected: dict[tuple[str, ...], tuple[int, ...]] = {}

    def read(groups: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(versions[group] for group in groups)

    for verb, what in steps:
        if verb == "write":
            versions[what] += 1
            cache.invalidate([what])
            expected = {key: value for key, value in expected.items() if what not in key}
        elif verb == "begin":
            groups = tuple(sorted(what))
            readers.append((cache.generation, groups, read(groups)))
        elif verb == "finish" and what < len(readers):
            since, groups, seen = readers.pop(what)
            cache.put("matchers", groups, seen, groups, since=since)
            if seen == read(groups) and cache.get("matchers", groups) is not None:
                expected[groups] = seen
        elif verb == "clear":
            cache.clear()
            expected = {}
        for key, value in expected.items():
            assert cache.get("matchers", key) == value == read(key)


def test_a_change_of_one_group_evicts_nothing_of_another() -> None:
    cache = ConfigCache()
    cache.put("matchers", "below", 1, ["below", "above"], since=cache.generation)
    cache.put("matchers", "other", 2, ["other"], since=cache.generation)
    cache.invalidate(["above"])
    assert cache.get("matchers", "below") is None, "it inherits from the group above"
    assert cache.get("matchers", "other") == 2


@pytest.mark.parametrize(
    "epochs, is_found, epoch",
    [
        (CacheEpochs(0, 5, 0, 0, 5, frozenset()), (True, True), 5),
        (CacheEpochs(0, 6, 0, 0, 5, frozenset({"a"})), (False, True), 6),
        # another observer was faster
        (CacheEpochs(0, 6, 0, 0, 4, frozenset({"a"})), (False, True), 6),
        (CacheEpochs(0, 4, 0, 0, 4, frozenset()), (True, True), 5),
        (CacheEpochs(0, 4, 0, 0, 3, frozenset({"a"})), (True, True), 5),
        (CacheEpochs(0, 4, 0, 0, -1, None), (True, True), 5),
        # what 6 changed is not known
        (CacheEpochs(0, 7, 0, 0, 6, frozenset({"a"})), (False, False), 7),
        (CacheEpochs(0, 6, 0, 0, -1, None), (False, False), 6),
        # restored from a backup
        (CacheEpochs(0, 4, 0, 0, 5, frozenset()), (False, False), 4),
        (CacheEpochs(0, 3, 0, 0, 4, frozenset()), (False, False), 3),
    ],
)
def test_the_changes_of_another_process_evict_its_groups_or_everything_if_unknown(
    epochs: CacheEpochs, is_found: tuple[bool, bool], epoch: int
) -> None:
    cache = ConfigCache()
    cache.observe_epoch(CacheEpochs(0, 5, 0, 0, -1, None))
    for group in ("a", "b"):
        cache.put("matchers", group, group, [group], since=cache.generation)
    cache.observe_epoch(epochs)
    assert tuple(cache.get("matchers", group) is not None for group in ("a", "b")) == is_found
    assert cache.epoch == epoch


# --- with a database under it ---


def role_name(tx: Tx) -> str:
    """The name of a role, as a rule would ask for it."""
    table = schema.role
    by_id = sa.select(table.c.name).where(table.c.id == "viewer")
    return tx.cache.get_auth("test", "viewer", lambda: str(tx.rows(by_id)[0][0]))


def rename_role(tx: Tx, name: str) -> None:
    cache_epochs.bump_auth_epoch(tx)
    tx.execute(sa.update(schema.role).where(schema.role.c.id == "viewer").values(name=name))


def test_a_change_is_seen_at_once_by_its_own_process(world: World) -> None:
    assert world.read(role_name) == "Viewer"
    world.write(lambda tx: rename_role(tx, "Onlooker"))
    assert world.read(role_name) == "Onlooker"


def test_a_change_that_is_rolled_back_is_not_cached(world: World) -> None:
    seen_inside = []

    def change_of_mind(tx: Tx) -> None:
        rename_role(tx, "Onlooker")
        seen_inside.append(role_name(tx))
        raise Conflict

    with pytest.raises(Conflict):
        world.write(change_of_mind)
    assert seen_inside == ["Onlooker"], "one's own changes are seen"
    assert world.read(role_name) == "Viewer"
    assert world.database.context.caches.auth.get("test", "viewer") == "Viewer"


def test_a_value_is_loaded_once(world: World) -> None:
    world.observe_own_changes()  # so that no poll empties the cache meanwhile
    looks = []

    def ask_twice(tx: Tx) -> None:
        for _ in range(2):
            assert tx.cache.get_auth("test", "none", lambda: looks.append(1)) is None

    world.read(ask_twice)
    world.read(ask_twice)
    assert len(looks) == 1, "that there is nothing is cached as well"


def test_what_a_write_loads_is_cached_after_its_commit(world: World) -> None:
    world.observe_own_changes()
    cache = world.database.context.caches.auth
    seen = []

    def look(tx: Tx) -> None:
        seen.append((role_name(tx), cache.get("test", "viewer")))

    def look_and_fail(tx: Tx) -> None:
        look(tx)
        raise Conflict

    with pytest.raises(Conflict):
        world.write(look_and_fail)
    assert cache.get("test", "viewer") is None, "it might have been its own change"
    world.write(look)
    assert seen == [("Viewer", None)] * 2
    assert cache.get("test", "viewer") == "Viewer"


def test_what_a_write_read_before_a_change_of_rights_is_not_cached_after_it(world: World) -> None:
    """As when another process moved the epoch while the write was under way."""
    cache = world.database.context.caches.auth

    def overtaken(tx: Tx) -> None:
        assert role_name(tx) == "Viewer"
        cache.clear()

    world.write(overtaken)
    assert cache.get("test", "viewer") is None


def test_a_reader_that_began_before_a_change_leaves_nothing_old_behind(world: World) -> None:
    """The reader has looked at the database, so it sees it as it was, also after the change."""
    began, changed = threading.Event(), threading.Event()

    def slow_reader(tx: Tx) -> str:
        tx.rows(sa.select(schema.instance))
        began.set()
        assert changed.wait(60)
        return role_name(tx)

    reading = threading.Thread(target=world.read, args=(slow_reader,))
    reading.start()
    assert began.wait(60)
    world.write(lambda tx: rename_role(tx, "Onlooker"))
    changed.set()
    reading.join(120)
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
    assert ok(look(here)), "by now it is cached"
    assert maintenance.EPOCH_POLL_INTERVAL_S <= 1, "two seconds are promised"
    if engine == "postgresql":
        there = World(here.settings, AdjustableClock())
        try:
            ok(look(there))
            ok(ada.delete("/group/user", groupId=group, userId=bob.id))
            refused(look(here), no, *params)
            eventually(lambda: look(there).status_code == no)
        finally:
            there.stop()
        return
    # Beside the one process that serves the embedded database there are the operator's commands.
    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    refused(look(here), no, *params)
    ada.invite(bob, group, "viewer")
    ok(look(here))
    guest, _ = startup.build_database(here.settings, AdjustableClock(), is_secondary=True)

    def remove(tx: Tx) -> None:
        cache_epochs.bump_auth_epoch(tx)
        tx.execute(sa.delete(schema.member).where(schema.member.c.user_id == bob.id))

    guest.upgrade(remove)
    guest.close()
    eventually(lambda: look(here).status_code == no)


def test_while_the_epochs_cannot_be_read_no_cache_is_used(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "EPOCH_POLL_INTERVAL_S", 0.05)
    monkeypatch.setattr(maintenance, "EPOCH_MAX_AGE_S", 0.5)
    world = make_world()
    cache = world.database.context.caches.auth
    with capture_logs() as logged:
        world.write(
            lambda tx: tx.execute(sa.text("alter table cache_epoch rename to hidden_epoch"))
        )
        eventually(lambda: not cache.is_trusted)
        # A poll that takes too long is not logged; one that fails is.
        eventually(lambda: "reading the cache epochs failed" in [each["event"] for each in logged])
        assert world.http.get("/health/ready").status_code == 503

        world.write(
            lambda tx: tx.execute(sa.text("alter table hidden_epoch rename to cache_epoch"))
        )
        eventually(lambda: cache.is_trusted)
        assert world.http.get("/health/ready").status_code == 200


# --- configuration with a database ---


def matcher_count(tx: Tx, group: str) -> int:
    return len(matching.get_matchers(tx, group))


def is_cached(world: World, group: str) -> bool:
    cache = world.database.context.caches.config
    return cache.lookup("matchers", group) is not MISSING


def load_all(world: World, *groups: str) -> None:
    for group in groups:
        world.read(lambda tx, group=group: matching.get_matchers(tx, group))  # type: ignore[misc]
        world.read(lambda tx, group=group: rules.get_rules(tx, group))  # type: ignore[misc]
    world.read(lambda tx: decoding.get_codec(tx, "none"))


def test_a_connectors_new_name_evicts_nothing_and_its_filter_evicts_its_group_only(
    make_world: Callable[..., World],
) -> None:
    world = make_world()
    ada = world.person("ada")
    root, other = ada.group("root"), ada.group("other")
    below = ada.group("below", parent=root)
    made = ada.connector(root, "https://example.com/", params={"subgroups": True}, name="one")
    connector = {"groupId": root, "connectorId": made}
    caches = world.database.context.caches
    load_all(world, root, below, other)
    ok(ada.get("/group", groupId=root))
    world.observe_own_changes()
    load_all(world, root, below, other)
    generation = caches.auth.generation
    entries = dict(caches.config._namespaces["matchers"])

    renamed = {"name": "two", "description": "new", "tags": ["a"]}
    ok(ada.put("/connector", {**connector, **renamed}))
    assert caches.auth.generation == generation, "nobody's token is evicted"
    assert caches.config._namespaces["matchers"] == entries
    assert all(is_cached(world, group) for group in (root, below, other))

    ok(ada.put("/connector", {**connector, "messageFilter": "message.kind == 'event'"}))
    assert caches.auth.generation == generation
    assert not is_cached(world, root) and not is_cached(world, below)
    assert is_cached(world, other)
    assert world.read(lambda tx: [matcher_count(tx, each) for each in (below, other)]) == [1, 0]
    ok(ada.delete("/connector", **connector))
    world.observe_own_changes()
    assert world.read(lambda tx: matcher_count(tx, below)) == 0
    ada.connector(other, "https://example.com/")
    assert is_cached(world, below) and not is_cached(world, other)
    ok(ada.put("/group", {"groupId": below, "parent": other}))
    assert not is_cached(world, below), "it has other groups above it now"


def test_an_uncommitted_change_does_not_advance_the_observed_epoch(world: World) -> None:
    group = world.person("ada").group()
    caches = world.database.context.caches
    world.observe_own_changes()

    def change_and_roll_back(tx: Tx) -> None:
        before = caches.config.epoch
        cache_epochs.bump_config_epoch(tx, group)
        cache_epochs.refresh_epochs(tx)
        assert caches.config.epoch == before, "another process may yet commit this number"
        raise NotFound

    with pytest.raises(NotFound):
        world.write(change_and_roll_back)


def test_a_configuration_that_is_rolled_back_is_not_cached(world: World) -> None:
    group = world.person("ada").group()
    cache = world.database.context.caches.config

    def value(tx: Tx) -> str:
        row = tx.rows(sa.select(schema.group.c.name).where(schema.group.c.id == group))[0]
        return tx.cache.get_config("test", group, lambda: str(row[0]), lambda: (group,))

    def rename(tx: Tx, *, fails: bool) -> None:
        cache_epochs.bump_config_epoch(tx, group)
        tx.execute(sa.update(schema.group).where(schema.group.c.id == group).values(name="new"))
        assert value(tx) == "new", "one's own changes are seen"
        if fails:
            raise Conflict

    world.observe_own_changes()
    before = world.read(value)
    with pytest.raises(Conflict):
        world.write(lambda tx: rename(tx, fails=True))
    assert world.read(value) == cache.get("test", group) == before
    world.write(lambda tx: rename(tx, fails=False))
    assert cache.get("test", group) is None
    world.observe_own_changes()
    assert world.read(value) == cache.get("test", group) == "new"


def test_another_process_evicts_the_groups_that_were_changed_and_no_others(
    make_world: Callable[..., World],
) -> None:
    here = make_world()
    ada = here.person("ada")
    changed, other = ada.group("changed"), ada.group("other")
    guest, _ = startup.build_database(here.settings, AdjustableClock(), is_secondary=True)
    caches = guest.context.caches
    try:
        guest.upgrade(lambda tx: caches.observe(cache_epochs.read_epochs(tx)))
        guest.upgrade(lambda tx: [matching.get_matchers(tx, each) for each in (changed, other)])
        generation = caches.auth.generation
        here.write(lambda tx: cache_epochs.bump_config_epoch(tx, changed))
        guest.upgrade(lambda tx: caches.observe(cache_epochs.read_epochs(tx)))
        assert caches.config.lookup("matchers", changed) is MISSING
        assert caches.auth.generation == generation
        found = here.database.context.caches.config
        eventually(lambda: found.epoch == caches.config.epoch)
    finally:
        guest.close()


def test_a_named_lock_serialises_those_who_take_it(world: World) -> None:
    inside: list[str] = []

    def take(tx: Tx) -> None:
        locks.acquire_lock(tx, "test", "name")
        inside.append("begin")
        time.sleep(0.01)  # for the others
        inside.append("end")

    threads = [threading.Thread(target=world.write, args=(take,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert inside == ["begin", "end"] * 8

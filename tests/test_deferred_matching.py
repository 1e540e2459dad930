"""Costly filters and conditions: evaluated after the commit, within a budget, none left out."""

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from longwire import deferred_matching
from longwire.delivery.cel import stored
from longwire.delivery.matching import matching
from longwire.delivery.matching.budgets import InlineAllowance
from longwire.delivery.matching.filter_outcomes import FilterOutcomes
from longwire.ingest.requests import IngestItem, IngestRequest
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.storing import store_requests
from longwire.model import SYSTEM
from longwire.notifications import firing, geofences, templates, triggers
from longwire.records import EventRecord, digest_record
from longwire.store.cache import compiled_bound
from longwire.store.cache.compiled_bound import CompiledBound
from longwire.store.database import Tx
from longwire.store.delivery import deferrals
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok, record_of

pytestmark = pytest.mark.engine_free

# By its estimate more than what a transaction may evaluate for a group.
LARGE = json.dumps({f"field{number}": number for number in range(2_000)})
COSTLY = "size(message.data) > 100"

TIGHT = {
    "compute_ms_per_group_per_s": 1,
    "compute_burst_s": 1,
    "token_lifetime_s": 10**8,
}


def at(second: int) -> str:
    return f"2026-03-01T12:00:{second:02}Z"


def deferring_owners(world: World) -> list[str]:
    return world.read(lambda tx: deferrals.list_owners(tx, deferrals.BEFORE_ANY_OWNER, 100))


def is_caught_up(world: World) -> bool:
    """Whether nothing is deferred any more; if not, time refills the budgets."""
    world.clock.let_pass(seconds=60)
    return not deferring_owners(world)


def error_of(person: Person, group: str, connector: str) -> str:
    shown = ok(person.get("/connector", groupId=group, connectorId=connector))
    return str(shown.get("error", {}).get("message", ""))


def started(person: Person, group: str) -> int:
    now = person.world.clock.now() // 1_000
    period = {"beginDate": str(now - 30 * 86_400_000), "endDate": str(now + 60_000)}
    found = ok(person.get("/group/metrics", groupId=group, timeSpan=10**9, **period))
    return int(found["totalConnectorMessageStarted"])


def paths(receiver: Receiver) -> set[str]:
    return {each.path for each in list(receiver.requests)}


def ids_at(receiver: Receiver, path: str) -> set[str]:
    return {each.id for each in list(receiver.requests) if each.path == path}


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    return [each.json for each in list(receiver.requests)]


@pytest.mark.engine_free
@pytest.mark.both_engines
@pytest.mark.slow
def test_a_group_over_its_budget_gets_every_record_later_and_sees_why(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**TIGHT)
    world.clock.freeze()
    ada = world.person("ada")
    group, other = ada.group(), ada.group()
    device, beside = ada.device(group), ada.device(other)
    with Receiver() as receiver:
        costly = ada.connector(group, f"{receiver.url}/costly", messageFilter=COSTLY)
        ada.connector(group, f"{receiver.url}/plain")
        ada.connector(other, f"{receiver.url}/other", messageFilter="message.kind == 'data'")
        for second in range(3):
            ada.reports(device, data=LARGE, timestamp=at(second))
        ada.reports(device, data="{}")
        # The first evaluation uses up the budget; what follows waits, for this group alone.
        eventually(lambda: error_of(ada, group, costly).startswith("filter_too_expensive: "))
        ada.reports(beside)
        eventually(lambda: paths(receiver) >= {"/hook/plain", "/hook/other"})
        assert deferring_owners(world) == [group]
        world.restart()
        eventually(lambda: is_caught_up(world))
        eventually(lambda: started(ada, group) == 3 + 4)
        eventually(lambda: len(ids_at(receiver, "/hook/costly")) == 3)


@pytest.mark.both_engines
@pytest.mark.slow
def test_what_a_transaction_has_no_time_for_is_matched_after_it(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        for path in ("even", "odd"):
            matches = f"int(message.data.number) % 2 == {int(path == 'odd')}"
            ada.connector(
                group,
                f"{receiver.url}/{path}",
                messageFilter=f"{matches} && size(message.data.filler) > 1",
                params={"batch": 100},
            )
        filler = [0] * 100
        items = [
            record_of(device, data=json.dumps({"number": number, "filler": filler}))
            for number in range(400)
        ]
        ok(ada.post("/device/data/batch", {"items": items}))
        eventually(lambda: started(ada, group) == 400)
        eventually(lambda: not deferring_owners(world))


@pytest.mark.both_engines
def test_a_new_connector_gets_no_record_that_was_deferred_before_it(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**TIGHT)
    world.clock.freeze()
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        first = ada.connector(group, f"{receiver.url}/first", messageFilter=COSTLY)
        for second in range(2):
            ada.reports(device, data=LARGE, timestamp=at(second))
        eventually(lambda: error_of(ada, group, first) != "")
        world.clock.let_pass(seconds=1)
        ada.connector(group, f"{receiver.url}/second", messageFilter=COSTLY)
        eventually(lambda: is_caught_up(world))
        eventually(lambda: len({each.id for each in list(receiver.requests)}) == 2)
        assert paths(receiver) == {"/hook/first"}


@pytest.mark.slow
def test_a_costly_condition_of_a_notification_fires_once_for_each_record(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        ada.notification(
            group,
            f"{receiver.url}/alarm",
            params={"when": COSTLY, "subject": "{{ message.timestamp }}"},
            reason="opened",
        )
        items = [
            record_of(device, "event", type="opened", data=LARGE, timestamp=at(n))
            for n in range(20)
        ]
        ok(ada.post("/device/event/batch", {"items": items}))
        eventually(lambda: len(receiver.requests) == 20)
        eventually(lambda: not deferring_owners(world))
        assert len({each["subject"] for each in bodies(receiver)}) == 20


@pytest.mark.both_engines
@pytest.mark.slow
def test_records_of_two_processes_that_arrive_at_once_are_all_matched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferred_matching, "RECORDS_PER_STEP_MAX", 2)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    now = world.clock.now()

    def request(first: int) -> IngestRequest:
        events = [
            EventRecord(device_id=device, timestamp=at(first + n), type="opened", data=LARGE)
            for n in range(5)
        ]
        items = [
            IngestItem(each, now + first + n, digest_record(each)) for n, each in enumerate(events)
        ]
        return IngestRequest(SYSTEM, items, is_batch=True)

    def store_both(tx: Tx) -> None:
        for writer in (1002, 1001):
            store_requests(tx, [request(writer % 2 * 10)], Sequencer(writer))

    with Receiver() as receiver:
        ada.connector(group, f"{receiver.url}/costly", messageFilter=COSTLY)
        world.write(store_both)
        eventually(lambda: not deferring_owners(world))
        eventually(lambda: len({each.id for each in list(receiver.requests)}) == 10)


def test_a_filter_that_is_too_costly_for_a_record_without_data_fails_no_request(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    pattern = "message.message.matches('[ab]{400}')"
    connector = ada.connector(group, "https://example.com", messageFilter=pattern)
    event = record_of(device, "event", type="opened", message="a" * 4_000)
    ok(ada.post("/device/event", event))
    assert "too large" in error_of(ada, group, connector)


@pytest.mark.both_engines
@pytest.mark.slow
def test_a_group_whose_matching_fails_is_in_nobodys_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    broken, honest = sorted((ada.group(), ada.group()), key=int)
    match_deferred = matching.match_deferred

    def fail(deferral: deferrals.Deferral, *rest: Any) -> Any:
        if deferral.owner_id == broken:
            raise ZeroDivisionError
        return match_deferred(deferral, *rest)

    with Receiver() as receiver:
        with monkeypatch.context() as patched:
            patched.setattr(matching, "match_deferred", fail)
            for group in (broken, honest):
                ada.connector(group, f"{receiver.url}/{group}", messageFilter=COSTLY)
                ada.reports(ada.device(group), data=LARGE)
            eventually(lambda: paths(receiver) == {f"/hook/{honest}"})
            assert deferring_owners(world) == [broken]
        if world.database.engine_name == "postgresql":
            world.clock.let_pass(seconds=180)  # until the lease ends
        eventually(lambda: len(paths(receiver)) == 2)


def test_costly_texts_of_a_notification_are_rendered_after_the_commit(
    make_world: Callable[..., World],
) -> None:
    world = make_world(**TIGHT)
    world.clock.freeze()
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        params = {"subject": "{{ size(message.data) }} fields"}
        ada.notification(group, f"{receiver.url}/alarm", params=params, reason="opened")
        for second in range(3):
            ada.reports(device, "event", type="opened", data=LARGE, timestamp=at(second))
        assert deferring_owners(world) == [group], "the first one uses up the budget"
        eventually(lambda: is_caught_up(world))
        eventually(lambda: len(set(receiver.ids)) == 3)
        assert {each["subject"] for each in bodies(receiver)} == {"2000 fields"}


def test_alerts_whose_texts_take_too_long_are_sent_with_the_default_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "RENDERING_US_PER_GROUP_MAX", 1.0)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        # Whether it fires depends on what came before, so it is rendered in the transaction.
        params = {"subject": "{{ message.deviceId }}", "throttle": 60}
        alarm = ada.notification(group, f"{receiver.url}/alarm", params=params, reason="opened")
        ada.reports(device, "event", type="opened")
        eventually(lambda: len(receiver.requests) == 1)
        assert bodies(receiver)[0]["subject"].endswith(": opened")
        shown = ok(ada.get("/notification", groupId=group, notificationId=alarm))
        assert shown["error"]["message"].startswith("template_too_expensive: ")


# --- compiling ---

LONG = " + ".join(["1"] * 450)  # by its estimate, too long to compile in a transaction


class CompilingThreads:
    """The names of the threads that compile stored expressions and build stored polygons."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        for module, name in ((stored, "Expression"), (geofences, "PolygonArea")):
            monkeypatch.setattr(module, name, self._record(getattr(module, name)))

    def _record(self, build: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def build_recorded(source: Any, **options: Any) -> Any:
            self.names.append(threading.current_thread().name)
            return build(source, **options)

        return build_recorded

    def assert_apart(self) -> None:
        """Never on a thread with a transaction."""
        assert self.names
        assert [each for each in self.names if not each.startswith("evaluate")] == []


def test_long_filters_are_compiled_after_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = CompilingThreads(monkeypatch)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        for path, sign in (("yes", "<"), ("no", ">")):
            matches = f"message.radius {sign} {LONG}"
            ada.connector(group, f"{receiver.url}/{path}", messageFilter=matches)
        ada.connector(group, f"{receiver.url}/plain")
        for radius in (1, 2):
            ada.reports(device, "geoloc", radius=radius, timestamp=at(radius))
        eventually(lambda: len(ids_at(receiver, "/hook/yes")) == 2)
        eventually(lambda: len(ids_at(receiver, "/hook/plain")) == 2)
        eventually(lambda: not deferring_owners(world))
        assert paths(receiver) == {"/hook/yes", "/hook/plain"}
        threads.assert_apart()
        # Compiled once, they are evaluated in the transaction.
        ada.reports(device, "geoloc", radius=3, timestamp=at(3))
        assert started(ada, group) == 6
        assert len(threads.names) == 2


def test_long_conditions_polygons_and_texts_are_compiled_after_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geofences, "US_PER_BYTE", 10.0)  # as if the polygon were large
    threads = CompilingThreads(monkeypatch)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    square = [[[2, 48], [3, 48], [3, 49], [2, 49], [2, 48]] + [[2, 48]] * 200]
    area = {"geofence": {"type": "Polygon", "coordinates": square}}
    with Receiver() as receiver:
        params = {"when": f"{LONG} > 1", "body": f"{{{{ {LONG} }}}}"}
        ada.notification(group, f"{receiver.url}/event", params=params, reason="opened")
        ada.notification(group, f"{receiver.url}/fence", params=area, reason="geofenceEnter")
        ada.reports(device, "event", type="opened")
        ada.reports(device, "geoloc", lat=47.5, lng=2.5, timestamp=at(1))
        ada.reports(device, "geoloc", lat=48.5, lng=2.5, timestamp=at(2))
        eventually(lambda: paths(receiver) == {"/hook/event", "/hook/fence"})
        eventually(lambda: not deferring_owners(world))
        (event,) = [each.json for each in receiver.requests if "event" in each.path]
        assert event["body"] == "450"
        threads.assert_apart()


def test_what_was_compiled_first_is_evicted_and_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share = CompiledBound(weight_max=10).share("1")
    monkeypatch.setattr(compiled_bound, "SHARE_MAX", 1.0)
    sources = [f"message.radius > {number}" for number in range(4)]
    expressions = [stored.StoredExpression(source, share) for source in sources]
    assert all(each.compile_us > 0 for each in expressions)
    for number, each in enumerate(expressions):
        assert each.matches({"radius": number + 1})
    assert [each.compile_us > 0 for each in expressions] == [True, True, False, False]
    assert not expressions[0].matches({"radius": 0})
    assert [each.compile_us > 0 for each in expressions] == [False, True, True, False]


def test_a_group_evicts_its_own_and_what_is_tried_once_evicts_nothing() -> None:
    bound = CompiledBound(weight_max=20)
    theirs = bound.share("theirs")
    mine = stored.StoredExpression("message.radius > 1", bound.share("mine"))
    assert mine.matches({"radius": 2})
    for share in [theirs] * 20 + [None] * 20:
        assert stored.StoredExpression("message.radius > 1", share).matches({"radius": 2})
    assert mine.compile_us == 0
    mine.evict()
    assert mine.compile_us > 0
    assert mine.guards_us == 0, "an index of filters is built without compiling them again"


def test_what_is_no_longer_valid_says_so_and_stops_nobody(world: World) -> None:
    share = CompiledBound(weight_max=100_000).share("1")
    invalid = stored.StoredExpression("message.(", share)
    for _ in range(2):
        with pytest.raises(stored.NoLongerValid, match="column"):
            invalid.matches({})
        assert invalid.compile_us == 0, "it is not compiled again for every record"
    assert invalid.guards == ()
    with pytest.raises(geofences.UnusableFence, match="save it again"):
        geofences.StoredFence(b'{"type":"Polygon","coordinates":[]}', share).contains(48.5, 2.5)
    padded = b'{"lat":48.5,"lng":2.5,"radius":10' + b" " * 1_000 + b"}"
    circle = geofences.open_fence(padded, share)
    assert circle is not None and circle.contains(48.5, 2.5)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    square = [[[2, 48], [3, 48], [3, 49], [2, 48]]]
    area = {"geofence": {"type": "Polygon", "coordinates": square}}
    with Receiver() as receiver, pytest.MonkeyPatch.context() as patched:
        fence = ada.notification(group, receiver.url, params=area, reason="geofenceExit")
        patched.setattr(geofences, "POINTS_MAX", 3)  # a new rule
        ada.reports(device, "geoloc", lat=1, lng=1)
        shown = ok(ada.get("/notification", groupId=group, notificationId=fence))
        assert "save it again" in shown["error"]["message"]
        assert not receiver.requests
        texts = {"body": "{{ message.type }} {{ message.type }}"}
        alert = ada.notification(group, receiver.url, params=texts, reason="opened")
        patched.setattr(templates, "PLACEHOLDERS_MAX", 1)
        ada.reports(device, "event", type="opened")
        assert "opened" in receiver.wait_for(1)[0].json["body"]
        shown = ok(ada.get("/notification", groupId=group, notificationId=alert))
        assert "placeholders" in shown["error"]["message"]


def test_alerts_that_cannot_wait_have_their_conditions_compiled_a_few_at_a_time() -> None:
    rules: list[Any] = [
        SimpleNamespace(number=number, group_id="1", when=expression, prepare=expression.prepare)
        for number in range(6)
        if (expression := stored.StoredExpression(f"{LONG} > {number}"))
    ]
    rounds: list[int] = []
    while not rounds or rounds[-1] < len(rules):
        allowance = InlineAllowance()
        filters = FilterOutcomes()
        found = [triggers.matches_condition(each, {}, filters, allowance) for each in rules]
        rounds.append(sum(found))
        assert not filters.failures
        assert len(rounds) < 10
    assert 1 <= rounds[0] < len(rules)

"""Single messages: their attempts, the search among them, retry and cancel."""

from collections.abc import Callable
from typing import Any

import pytest

from longwire.delivery.attempts import ATTEMPTS_KEPT_MAX
from longwire.store import schema
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import delivery_failures, delivery_leases, delivery_search
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import NOON, Person, World, nothing_happens, ok, record_of, refused, walk

EVERY_MINUTE = {"retryDelay": 60, "maxRetry": 100}
ONCE = {"retryDelay": 1, "maxRetry": 0}
NOWHERE = "http://127.0.0.1:9/hook"  # nobody listens there


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


def messages(person: Person, group: str, **params: Any) -> list[dict[str, Any]]:
    return walk(lambda **more: person.get("/connector/messages", groupId=group, **more), **params)


def message(person: Person, message_id: str) -> dict[str, Any]:
    return dict(ok(person.get("/connector/message", id=message_id)))


def send(person: Person, device: str, number: int) -> None:
    items = [
        record_of(device, timestamp=f"2026-03-01T12:{each // 60:02d}:{each % 60:02d}Z")
        for each in range(number)
    ]
    ok(person.post("/device/data/batch", {"items": items}))


def test_failures_are_grouped_by_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, mallory = world.person("ada"), world.person("mallory")
    group = ada.group()
    devices = [ada.device(group), ada.device(group)]
    with Receiver() as receiver:
        connector = ada.connector(
            group, receiver.url, retryPolicy=ONCE, dataFailurePolicy={"storingDuration": 3_600}
        )
        which = {"groupId": group, "connectorId": connector}

        def failures(**period: str) -> dict[str, Any]:
            return dict(ok(ada.get("/connector/failures", **which, **period)))

        def settle(status: str, number: int) -> None:
            eventually(lambda: len(messages(ada, group, status=status)) == number)

        assert failures() == {"items": [], "isMore": False}
        receiver.respond_with(503)
        for device in devices:
            ada.reports(device)
        settle("failed", 2)
        receiver.respond_with(422)
        ada.reports(devices[0], timestamp="2026-03-01T13:00:00Z")
        settle("failed", 3)
        receiver.respond_with(200)
        ada.reports(devices[0], timestamp="2026-03-01T14:00:00Z")  # is none of them
        settle("succeed", 1)
        found = failures()["items"]
        shown = [(each["status"], each["count"], each["devices"]) for each in found]
        assert shown == [(503, 2, 2), (422, 1, 1)]
        first = found[0]
        assert first["message"] == "answered with status 503" and first["code"] == "rejected"
        assert (first["deadLetters"], first["waiting"], first["lost"]) == (2, 0, 0)
        assert first["firstAt"] <= first["lastAt"] < first["keptUntil"]
        example = {**which, "messageId": first["messageId"]}
        (kept,) = ok(ada.get("/connector/exchanges", **example))["items"]
        assert kept["response"]["status"] == 503
        assert failures(endDate="2026-01-01")["items"] == []
        refused(ada.get("/connector/failures", **which, beginDate="never"), 400, "beginDate")
        refused(mallory.get("/connector/failures", **which), 400, "groupId")

        # Not all are looked at, and it says so.
        monkeypatch.setattr(delivery_failures, "SCANNED_MAX", 2)
        assert failures()["isMore"]
        monkeypatch.setattr(delivery_failures, "SCANNED_MAX", 2_000)

        # What is over the time for which it is kept is lost, also before it is marked.
        world.clock.let_pass(seconds=3_601)
        first = failures()["items"][0]
        assert (first["deadLetters"], first["lost"]) == (0, 2) and "keptUntil" not in first


def test_a_message_shows_its_attempts_over_a_resend(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        receiver.respond_with(503, 500)
        policy = {"retryDelay": 60, "maxRetry": 1}
        connector = ada.connector(group, receiver.url, retryPolicy=policy)
        ada.reports(device, data='{"celsius":21}')
        receiver.wait_for(1)
        (listed,) = messages(ada, group)
        eventually(lambda: bool(message(ada, listed["id"])["attempts"]))
        waiting = message(ada, listed["id"])
        assert waiting["state"] == "queued"
        assert waiting["dueAt"] > waiting["createdAt"]
        world.clock.let_pass(seconds=100)
        eventually(lambda: bool(messages(ada, group, status="failed")))
        receiver.respond_with(200)
        (failed,) = messages(ada, group, status="failed")
        which = {"groupId": group, "connectorId": connector}
        health = ok(ada.get("/connector/health", **which))
        assert health.pop("failingSince") < waiting["dueAt"]
        waiting_for = {"heldBack": 0, "rateLimited": 0}
        assert health == {"failures": 2, "waiting": 0, **waiting_for, "deadLetters": 1}
        done = ok(ada.post("/connector/messages/retry", {"groupId": group, "ids": [failed["id"]]}))
        assert (done["changed"], done["skipped"], done["isMore"]) == (1, 0, False)
        eventually(lambda: bool(messages(ada, group, status="succeed")))
        eventually(lambda: ok(ada.get("/connector/health", **which))["failures"] == 0)
    found = message(ada, failed["id"])
    assert (found["state"], found["resent"]) == ("succeeded", 1)
    assert [(each["number"], each["outcome"], each["status"]) for each in found["attempts"]] == [
        (1, "rejected", 503),
        (2, "rejected", 500),
        (1, "delivered", 200),
    ]
    assert all(each["durationMs"] >= 0 for each in found["attempts"])
    times = [each["timestamp"] for each in found["attempts"]]
    assert times == sorted(times)
    assert found["record"]["data"] == '{"celsius":21}'
    assert [each[1] for each in world.audit()][-1] == "connector.retryMessages"


@pytest.mark.engine_free
@pytest.mark.parametrize("alike_min", [1, 1_000], ids=["by-log", "looked-up"])
def test_messages_of_one_request_have_each_their_own_attempts(
    world: World, alike_min: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were sent before, and those that were not, arrive in the same batches."""
    monkeypatch.setattr(delivery_leases, "ALIKE_MIN", alike_min)
    world.clock.freeze()
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    outcomes = {
        "old": [(1, "rejected", 503), (2, "delivered", 200)],
        "new": [(1, "delivered", 200)],
    }
    with Receiver(503) as receiver:
        policy = {"retryDelay": 10, "maxRetry": 1}
        ada.connector(group, receiver.url, params={"batch": 50}, retryPolicy=policy)
        send(ada, device, 40)
        eventually(lambda: [each["attempts"] for each in messages(ada, group)] == [1] * 40)
        old = {each["id"] for each in messages(ada, group)}
        eventually(lambda: all(message(ada, each)["state"] == "queued" for each in old))
        receiver.respond_with(200)
        world.clock.let_pass(seconds=13)
        ada.reports(device, data="new")
        eventually(lambda: len(messages(ada, group, status="succeed")) == 41)
    for each in messages(ada, group):
        attempts = message(ada, each["id"])["attempts"]
        found = [(one["number"], one["outcome"], one["status"]) for one in attempts]
        assert found == outcomes["old" if each["id"] in old else "new"]


@pytest.mark.slow
@pytest.mark.engine_free
def test_the_last_attempts_are_kept_also_those_without_a_response(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ada.connector(group, NOWHERE, retryPolicy=EVERY_MINUTE)
    ada.reports(device)
    (waiting,) = messages(ada, group)
    body = {"groupId": group, "ids": [waiting["id"]]}
    for number in range(1, ATTEMPTS_KEPT_MAX + 3):
        eventually(lambda number=number: message(ada, waiting["id"])["event"]["attempts"] == number)  # type: ignore[misc]
        eventually(lambda: message(ada, waiting["id"])["state"] == "queued")
        ok(ada.post("/connector/messages/retry", body))
    attempts = message(ada, waiting["id"])["attempts"]
    assert len(attempts) == ATTEMPTS_KEPT_MAX
    assert attempts[0]["number"] >= 3
    assert {each["outcome"] for each in attempts} == {"unreachable"}
    assert not any("status" in each for each in attempts)


@pytest.mark.slow
def test_messages_of_all_connectors_are_searched_in_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group, other = ada.group(), ada.group()
    device, second = ada.device(group), ada.device(group)
    held = {"enabled": True, "retryPolicy": EVERY_MINUTE}
    connectors = [ada.connector(group, NOWHERE, **held) for _ in range(3)]
    ada.connector(other, NOWHERE, **held)
    send(ada, device, 7)
    ada.reports(second, "event", timestamp=NOON)
    # From now on nothing changes for a minute.
    eventually(lambda: _queued(world) == 24 and _attempted(world) == 24)
    everything = messages(ada, group, limit=5, ascending="true")
    assert len({each["id"] for each in everything}) == len(everything) == 24
    world.clock.let_pass(seconds=1)

    # A page that may look at two entries of each connector only finds the same, in more pages.
    monkeypatch.setattr(delivery_search, "SCANNED_MAX", 6)
    monkeypatch.setattr(delivery_search, "SCANNED_PER_CHANNEL_MIN", 2)
    found = messages(ada, group, deviceId=second, kind="event", status="processing", limit=2)
    assert {each["connectorId"] for each in found} == set(connectors)
    assert {each["kind"] for each in found} == {"event"}
    newest = messages(ada, group, limit=4, status="processing")
    oldest = messages(ada, group, limit=4, status="processing", ascending="true")
    assert [each["id"] for each in newest] == [each["id"] for each in reversed(oldest)]
    assert len(newest) == 24
    first = ok(ada.get("/connector/messages", groupId=group, kind="event", limit=1))
    assert first["stats"] == {
        "totalStillProcessing": 24,
        "totalSucceed": 0,
        "totalFailed": 0,
        "isMore": False,
    }
    assert messages(ada, group, endDate="2020-01-01") == []
    assert len(messages(ada, group, connectorId=connectors[0])) == 8
    wrong = ada.get(
        "/connector/messages", groupId=group, status="x", kind="y", beginDate="z", endDate="1"
    )
    refused(wrong, 400, "status", "kind", "beginDate")


@pytest.mark.slow
def test_many_are_cancelled_or_retried_by_a_filter_in_steps(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwire.delivery.connectors.deliveries.MESSAGES_PER_STEP_MAX", 4)
    monkeypatch.setattr("longwire.delivery.connectors.deliveries.CHANGED_MAX", 10)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    connector = ada.connector(group, NOWHERE, retryPolicy=EVERY_MINUTE)
    which = {"groupId": group, "connectorId": connector}
    send(ada, device, 12)
    eventually(lambda: _queued(world) == 12 and _attempted(world) == 12)
    world.clock.let_pass(seconds=1)
    first = ok(ada.post("/connector/messages/cancel", {**which, "kind": "data"}))
    assert (first["changed"], first["skipped"], first["isMore"]) == (10, 0, True)
    again = ok(ada.post("/connector/messages/cancel", which))
    assert (again["changed"], again["isMore"]) == (2, False)
    assert len(messages(ada, group, status="failed")) == 12
    # Cancelled ones are gone for good.
    retried = ok(ada.post("/connector/messages/retry", which))
    assert (retried["changed"], retried["skipped"], retried["isMore"]) == (0, 10, True)
    logged = [each for each in world.audit() if each[1] == "connector.cancelMessages"]
    assert [each[2] for each in logged] == [connector] * 4


def _queued(world: World) -> int:
    return world.read(store_backlogs.get_total_backlog).queued


def _attempted(world: World) -> int:
    """Messages with at least one settled attempt."""
    place = schema.delivery.c.keys().index("attempt_log")
    return sum(row[place] is not None for row in world.list_rows("delivery"))


@pytest.mark.engine_free
def test_what_cannot_be_changed_is_named_and_nothing_is(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group, elsewhere = ada.group(), eve.group()
    for person, home in ((ada, group), (eve, elsewhere)):
        person.connector(home, NOWHERE, retryPolicy=EVERY_MINUTE)
        person.reports(person.device(home))
    (mine,), (foreign,) = messages(ada, group), messages(eve, elsewhere)
    eventually(lambda: _queued(world) == 2 and _attempted(world) == 2)
    with nothing_happens(world):
        for verb in ("retry", "cancel"):
            path = f"/connector/messages/{verb}"
            ids = [mine["id"], foreign["id"], "msg_1_1", "garbage", "msg_ffffffffffffffff_1"]
            answer = ada.post(path, {"groupId": group, "ids": ids})
            refused(answer, 400, "ids[1]", "ids[2]", "ids[3]", "ids[4]")
            refused(ada.post(path, {"groupId": group}), 400, "connectorId")
            both = {"groupId": group, "ids": [mine["id"]], "connectorId": "x", "kind": "data"}
            refused(ada.post(path, both), 400, "connectorId", "kind")
        unknown = refused(ada.get("/connector/message", id="msg_1_1"), 400)
        hidden = refused(ada.get("/connector/message", id=foreign["id"]), 400)
        assert unknown["errors"] == hidden["errors"]
    viewer = world.person("vic")
    ada.invite(viewer, group, ada.role("connector.read"))
    assert "record" not in message(viewer, mine["id"])
    refused(viewer.post("/connector/messages/retry", {"groupId": group, "ids": [mine["id"]]}), 403)

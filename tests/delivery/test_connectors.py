"""What connectors forward; events, counters, resends, replays and previews."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from longwire.clock import SECOND
from longwire.dates import format_date
from longwire.delivery.connectors import previews, replays
from longwire.delivery.destinations.base import MASK
from longwire.delivery.http.egress import NOT_RESOLVED
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.fleet import device_types
from longwire.model import SYSTEM, DeviceType
from longwire.process import maintenance
from longwire.store.database import Tx
from longwire.store.delivery import replays as store_replays
from longwire.store.statement import Statement
from longwire.web.request_handler import AT_ONCE_FOR_CALLER_MAX
from longwire.work.turns import CallerKey
from tests.delivery.receiver import Received, Receiver, StubResponse
from tests.waiting import eventually
from tests.world import KINDS, NOON, Person, World, ok, record_of, refused

ONCE = {"retryDelay": 1, "maxRetry": 0}
EVERY_MINUTE = {"retryDelay": 60, "maxRetry": 5}
NOWHERE = "http://127.0.0.1:9/hook"  # nobody listens there
DAY = {"beginDate": "2026-03-01", "endDate": "2026-03-01"}
YEARS_S = 10**8


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """With tokens that outlive every change of the clock."""
    return make_world(token_lifetime_s=YEARS_S)


def named(group: str, connector: str) -> dict[str, str]:
    return {"connectorId": connector, "groupId": group}


def shown(person: Person, group: str, connector: str) -> dict[str, Any]:
    return dict(ok(person.get("/connector", **named(group, connector))))


def change(person: Person, group: str, connector: str, **fields: Any) -> dict[str, Any]:
    return dict(ok(person.put("/connector", {**named(group, connector), **fields})))


def stats(person: Person, group: str, connector: str) -> tuple[int, int, int]:
    """The number of deliveries that are processing, succeeded and failed."""
    found = person.events(group, connector)["stats"]
    return found["totalStillProcessing"], found["totalSucceed"], found["totalFailed"]


def settled(person: Person, group: str, connector: str, succeed: int, failed: int = 0) -> None:
    """Wait until every delivery is final, with these counts."""

    def is_so() -> bool:
        is_resending = shown(person, group, connector)["dataFailurePolicy"]["resending"]
        return not is_resending and stats(person, group, connector) == (0, succeed, failed)

    eventually(is_so)


def at(second: int) -> str:
    return f"2026-03-01T12:{second // 60:02d}:{second % 60:02d}.000Z"


def by_path(receiver: Receiver) -> dict[str, list[Received]]:
    found: dict[str, list[Received]] = {}
    for request in list(receiver.requests):
        found.setdefault(request.path.rpartition("/")[2], []).append(request)
    return found


def totals(person: Person, group: str) -> dict[str, int]:
    """The group's counters of messages, without those that are 0."""
    now = person.world.clock.now() // 1_000
    period = {"beginDate": str(now - 30 * 86_400_000), "endDate": str(now + 60_000)}
    found = ok(person.get("/group/metrics", groupId=group, timeSpan=10**9, **period))
    return {
        name.removeprefix("totalConnector"): value
        for name, value in found.items()
        if name.startswith("totalConnector") and value
    }


# --- matching ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_each_connector_gets_what_it_asks_for_and_nothing_else(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    beside = ada.group("beside")
    # From these types nothing is expected: by their records, the devices were silent for long.
    for name in ("mast", "buoy", "beacon"):
        kind_of_device = DeviceType(name, name, "{}")
        world.write(partial(device_types.put_device_type, actor=SYSTEM, device_type=kind_of_device))
    plain = ada.device(root, name="plain", type="mast")
    buoy = ada.device(root, type="buoy", tags=["sea"])
    deep, stranger = ada.device(below, type="mast"), ada.device(beside, type="mast")
    with Receiver() as receiver:
        drafts: dict[str, dict[str, Any]] = {
            "all": {},
            "deep": {"params": {"subgroups": True}},
            "buoys": {"deviceTypes": ["buoy"]},
            "plain": {"deviceIds": [plain]},
            "both": {"deviceIds": [plain, buoy], "deviceTypes": ["buoy"]},
            "warm": {"messageFilter": "message.kind == 'data' && message.data.celsius > 30"},
            "sea": {"messageFilter": "'sea' in message.tags && message.deviceType == 'buoy'"},
            "never": {"messageFilter": "false"},
            "disabled": {"enabled": False},
            "leaf": {},
        }
        made = {
            name: ada.connector(
                below if name == "leaf" else root, f"{receiver.url}/{name}", name=name, **fields
            )
            for name, fields in drafts.items()
        }
        for kind in KINDS:
            ada.reports(plain, kind, data='{"celsius": 31}')
        ada.reports(plain, timestamp=at(1), data='{"celsius": 30}')
        ada.reports(buoy, "event", data='{"celsius": 40}')
        ada.reports(deep, data='{"celsius": 50}')
        ada.reports(stranger, data='{"celsius": 50}')
        expected = {"all": 6, "deep": 7, "buoys": 1, "plain": 5, "both": 1, "warm": 1}
        expected |= {"sea": 1, "leaf": 1}
        receiver.wait_for(sum(expected.values()))
        for name, connector in made.items():
            group = below if name == "leaf" else root
            settled(ada, group, connector, expected.get(name, 0))
        found = by_path(receiver)
        assert {name: len(requests) for name, requests in found.items()} == expected
        assert Counter(request.json["kind"] for request in found["all"]) == {
            **dict.fromkeys(KINDS, 1),
            "data": 2,
            "event": 2,
        }
        assert {each.json["deviceId"] for each in found["plain"]} == {plain}
        assert {each.json["deviceId"] for each in found["buoys"]} == {buoy}
        assert {each.json["deviceId"] for each in found["leaf"]} == {deep}
        assert found["warm"][0].json["data"] == '{"celsius": 31}'
        assert found["sea"][0].json["tags"] == ["sea"]
        # The deliveries of one record to several connectors differ in their ids.
        assert len(set(receiver.ids)) == len(receiver.ids)
        # An update applies to the very next record.
        receiver.clear()
        for name, connector in made.items():
            if name not in ("all", "deep", "leaf"):
                ok(ada.delete("/connector", **named(root, connector)))
        change(ada, root, made["all"], messageFilter="message.kind == 'event'")
        ada.reports(plain, timestamp=at(2))
        ada.reports(plain, "event", timestamp=at(2))
        ok(ada.put("/device/type", {"deviceId": plain, "groupId": root, "type": "beacon"}))
        change(ada, root, made["all"], messageFilter="", deviceTypes=["beacon"])
        ada.reports(plain, timestamp=at(3))
        ok(ada.put("/group", {"groupId": beside, "parent": root}))
        ada.reports(stranger, timestamp=at(4))
        ok(ada.put("/group", {"groupId": below, "parent": ""}))
        ada.reports(deep, timestamp=at(5))
        settled(ada, root, made["all"], 8)
        settled(ada, root, made["deep"], 11)
        settled(ada, below, made["leaf"], 2)
        found = by_path(receiver)
        assert {name: len(requests) for name, requests in found.items()} == {
            "all": 2,
            "deep": 4,
            "leaf": 1,
        }


@pytest.mark.engine_free
def test_a_field_that_is_missing_makes_a_filter_false_and_is_no_error(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        warm = ada.connector(group, receiver.url, messageFilter="message.data.celsius > 30")
        unknown = ada.connector(
            group, receiver.url, messageFilter="message.kind == 'data' && message.data.door == null"
        )
        other = ada.connector(group, receiver.url, messageFilter="!(message.data.celsius > 30)")
        for second, fields in enumerate(
            [
                {"data": '{"celsius": 31}'},
                {"data": '{"celsius": 29, "door": "open"}'},
                {"data": '{"fahrenheit": 88}'},
                {"data": "no JSON"},
            ]
        ):
            ada.reports(device, timestamp=at(second), **fields)
        ada.reports(device, "geoloc", timestamp=at(9))
        made = {warm: 1, unknown: 3, other: 4}
        for connector, messages in made.items():
            settled(ada, group, connector, messages)
            assert "error" not in shown(ada, group, connector)
        # A preview names what is missing.
        items = ok(ada.post("/connector/preview", named(group, warm)))["items"]
        celsius = "message.data.celsius"
        false = "the filter is false"
        assert [(each["reason"], each.get("missingField")) for each in items] == [
            (f"{false}: there is no {celsius}", celsius),
            (f"{false}: there is no {celsius}", celsius),
            (f"{false}: there is no {celsius}", celsius),
            (false, None),
            ("", None),
        ]
        assert {each["code"] for each in items[:-1]} == {"filter_false"}


@pytest.mark.engine_free
def test_a_filter_that_cannot_be_evaluated_matches_nothing_and_shows_the_error(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url, messageFilter="message.data.celsius > 30")
        assert "error" not in shown(ada, group, connector)
        ada.reports(device, data='{"celsius": "31"}')
        error = shown(ada, group, connector)["error"]
        assert error["message"].startswith("the filter could not be evaluated: the types of ")
        assert error["at"][:10] == format_date(world.clock.now())[:10]
        ada.reports(device, timestamp=at(1), data='{"celsius": 31}')
        ada.reports(device, timestamp=at(2), data='{"celsius": 29}')
        settled(ada, group, connector, 1)
        assert len(receiver.requests) == 1
        # A filter with a value that is no boolean does not match.
        change(ada, group, connector, messageFilter="message.data.celsius")
        ada.reports(device, timestamp=at(3), data='{"celsius": 31}')
        assert "not true or false" in shown(ada, group, connector)["error"]["message"]
        settled(ada, group, connector, 1)


@pytest.mark.engine_free
def test_the_formats_over_http(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, name="Cold room", tags=["dairy"])
    template = "{'room': message.deviceName, 'twice': double(message.data.celsius) * 2.0}"
    with Receiver() as receiver:
        for name, fields in {
            "json": {},
            "cloudevents": {"format": "cloudevents"},
            "raw": {"format": "raw"},
            "custom": {"format": "custom", "params": {"template": template, "method": "PUT"}},
            "text": {"format": "custom", "params": {"template": "'it is ' + message.kind"}},
            "batch": {"params": {"batch": 10}},
        }.items():
            ada.connector(group, f"{receiver.url}/{name}", **fields)
        record = ada.reports(device, data='{"celsius": 21}')
        receiver.wait_for(6)
    found = {name: requests[0] for name, requests in by_path(receiver).items()}
    whole = {"kind": "data", **record, "deviceName": "Cold room", "tags": ["dairy"]}
    assert found["json"].json == {"id": found["json"].id, **whole}
    event = found["cloudevents"].json
    assert (event["specversion"], event["id"]) == ("1.0", found["cloudevents"].id)
    assert (event["type"], event["subject"], event["time"]) == (
        "longwire.device.data",
        device,
        NOON,
    )
    assert event["data"] == whole
    assert found["raw"].body == b'{"celsius": 21}'
    assert found["custom"].json == {"room": "Cold room", "twice": 42.0}
    assert found["text"].body == b"it is data"
    assert [each["deviceId"] for each in found["batch"].json] == [device]
    assert found["batch"].json[0]["id"] != found["batch"].id
    assert {name: request.headers["content-type"] for name, request in found.items()} == {
        "json": "application/json",
        "cloudevents": "application/cloudevents+json",
        "raw": "application/json",
        "custom": "application/json",
        "text": "text/plain; charset=utf-8",
        "batch": "application/json",
    }
    assert {name: request.method for name, request in found.items() if name != "custom"} == (
        dict.fromkeys(("json", "cloudevents", "raw", "text", "batch"), "POST")
    )
    assert found["custom"].method == "PUT"


@pytest.mark.engine_free
def test_records_of_a_transferred_device_reach_connectors_of_its_new_group_only(
    world: World,
) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    old, new = ada.group("old"), eve.group("new")
    eve.invite(ada, new, "manager")
    device = ada.device(old, name="before")
    with Receiver() as receiver:
        first = ada.connector(old, f"{receiver.url}/old", deviceIds=[device])
        second = eve.connector(new, f"{receiver.url}/new")
        ada.reports(device, data="of the old")
        ada.reports(device, "event", data="of the old")
        ok(ada.put("/device/transfer", {"deviceId": device, "groupId": old, "toGroupId": new}))
        ok(eve.delete("/group/user", groupId=new, userId=ada.id))
        name = {"deviceId": device, "groupId": new, "name": "canary", "tags": ["canary"]}
        ok(eve.put("/device", name))
        eve.reports(device, timestamp=at(1), data="of the new")
        eve.reports(device, "event", timestamp=at(1), data="of the new")
        settled(ada, old, first, 2)
        settled(eve, new, second, 2)
        found = by_path(receiver)
        assert [each.json["data"] for each in found["old"]] == ["of the old"] * 2
        assert [each.json["data"] for each in found["new"]] == ["of the new"] * 2
        # Previews show each group its own records, and no name that another group gave.
        for person, group, connector, data in (
            (ada, old, first, "of the old"),
            (eve, new, second, "of the new"),
        ):
            receiver.clear()
            preview = ok(person.post("/connector/preview", named(group, connector)))["items"]
            assert len(preview) == 2
            assert {json.loads(each["request"]["body"])["data"] for each in preview} == {data}
            begun = ok(person.post("/connector/replay", {**named(group, connector), **DAY}))
            assert begun["queued"] == 2
            settled(person, group, connector, 2)
            assert [each.json["data"] for each in receiver.wait_for(2)] == [data] * 2
            sent = repr(receiver.bodies) + repr(preview)
            assert ("canary" in sent) == (person is eve)
        refused(ada.post("/connector/preview", named(new, second)), 400, "groupId")


# --- disabled, deleted ---


def test_while_disabled_nothing_is_enqueued_and_queued_deliveries_stay_queued(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver(503) as receiver:
        connector = ada.connector(
            group, receiver.url, retryPolicy={"retryDelay": 60, "maxRetry": 5}
        )
        ada.reports(device, data="before")
        receiver.wait_for(1)
        eventually(lambda: "error" in shown(ada, group, connector))
        change(ada, group, connector, enabled=False)
        ada.reports(device, timestamp=at(1), data="meanwhile")
        receiver.respond_with(200)
        world.clock.let_pass(seconds=600)
        # Another connector is served meanwhile, so the engine has scanned more than once.
        other = ada.connector(group, f"{receiver.url}/other")
        ada.reports(device, timestamp=at(2), data="later")
        settled(ada, group, other, 1)
        assert stats(ada, group, connector) == (1, 0, 0)
        assert [each.json["data"] for each in receiver.requests] == ["before", "later"]
        change(ada, group, connector, enabled=True)
        settled(ada, group, connector, 1)
        assert receiver.requests[-1].json["data"] == "before"
        assert receiver.requests[-1].id == receiver.requests[0].id
        # Records of the meantime can be replayed.
        begun = ok(ada.post("/connector/replay", {**named(group, connector), **DAY}))
        assert begun["queued"] == 3
        settled(ada, group, connector, 3)
        assert {each.json["data"] for each in receiver.requests} == {
            "before",
            "meanwhile",
            "later",
        }


def test_a_deleted_connector_loses_its_deliveries_and_its_history(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    connector = ada.connector(
        group, NOWHERE, id="again", retryPolicy={"retryDelay": 60, "maxRetry": 5}
    )
    kept = ada.connector(group, NOWHERE)
    for second in range(3):
        ada.reports(device, timestamp=at(second))
    replay = ok(ada.post("/connector/replay", {**named(group, connector), **DAY}))["replayId"]
    ok(ada.delete("/connector", **named(group, connector)))
    ada.reports(device, timestamp=at(9))
    # The same id is a new connector, without the history of the old one.
    assert ada.connector(group, NOWHERE, id="again") == connector
    assert stats(ada, group, connector) == (0, 0, 0)
    gone = {**named(group, connector), "replayId": replay}
    refused(ada.get("/connector/replay", **gone), 400, "replayId")
    world._run(maintenance.delete_old_deliveries(world.database, 30))
    left = world.read(
        lambda tx: (
            tx.fetch(Statement("select count(*) from delivery"))[0][0],
            tx.fetch(Statement("select count(*) from channel"))[0][0],
            tx.fetch(Statement("select count(*) from connector"))[0][0],
            tx.fetch(Statement("select count(*) from replay"))[0][0],
        )
    )
    assert left == (4, 2, 2, 0)
    assert stats(ada, group, kept) == (4, 0, 0)
    assert ok(ada.get("/group", groupId=group))[0]["numberOfConnectors"] == 2


# --- events and counters ---


@pytest.mark.slow
def test_events_show_the_state_of_each_message_and_stats_count_them_all(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)

    def respond(request: Received) -> int:
        return {"good": 200, "bad": 500}.get(request.json["data"], 503)

    with Receiver(respond) as receiver:
        connector = ada.connector(group, receiver.url, retryPolicy=ONCE)
        before = format_date(world.clock.now())
        for second, data in enumerate(["good", "bad", "good", "bad", "good"]):
            ada.reports(device, timestamp=at(second), data=data)
            settled(ada, group, connector, second // 2 + 1, (second + 1) // 2)
            world.clock.let_pass(seconds=60)
        change(ada, group, connector, retryPolicy={"retryDelay": 3_600, "maxRetry": 1})
        ada.reports(device, "event", data="ugly")
        receiver.wait_for(6)
        eventually(lambda: ada.events(group, connector)["items"][-1].get("message") is not None)
        page = ada.events(group, connector)
        assert page.keys() == {"items", "stats"}
        events = page["items"]
        assert [event["status"] for event in events] == [
            *("succeed", "failed", "succeed", "failed", "succeed", "processing"),
        ]
        assert {event["connectorId"] for event in events} == {connector}
        assert {event["deviceId"] for event in events} == {device}
        assert {event["attempts"] for event in events} == {1}
        assert [event["id"] for event in events] == receiver.ids
        assert [event["kind"] for event in events] == ["data"] * 5 + ["event"]
        assert [event.get("message") for event in events] == [
            *(None, "answered with status 500", None, "answered with status 500", None),
            "answered with status 503",
        ]
        moments = [event["timestamp"] for event in events]
        assert moments == sorted(moments)
        assert moments[0] > before
        assert page["stats"] == {
            "totalStillProcessing": 1,
            "totalSucceed": 3,
            "totalFailed": 2,
        }
        newest = ada.events(group, connector, ascending="false")
        assert newest["items"] == events[::-1]
        # Page by page the same, and the stats are of the whole range on each.
        walked: list[dict[str, Any]] = []
        params: dict[str, Any] = {**range_of(moments[0], world), "limit": 4}
        while True:
            part = ada.events(group, connector, **params)
            walked += part["items"]
            assert part["stats"] == page["stats"]
            if "nextToken" not in part:
                break
            params["nextToken"] = part["nextToken"]
        assert walked == events
        # The begin belongs to a range, the end does not.
        middle = {"beginDate": moments[1], "endDate": moments[3]}
        part = ada.events(group, connector, **middle)
        assert part["items"] == events[1:3]
        assert part["stats"] == {"totalStillProcessing": 0, "totalSucceed": 1, "totalFailed": 1}
        none = {"beginDate": moments[1], "endDate": moments[1]}
        assert ada.events(group, connector, **none)["stats"]["totalFailed"] == 0
        asked = {**named(group, connector), "beginDate": moments[3], "endDate": moments[1]}
        refused(ada.get("/connector/connectorEvent", **asked), 400, "beginDate")
        refused(
            ada.get("/connector/connectorEvent", **named(group, connector)),
            400,
            "beginDate",
            "endDate",
        )


def range_of(begin: str, world: World) -> dict[str, str]:
    return {"beginDate": begin, "endDate": format_date(world.clock.now() + 60 * SECOND)}


@pytest.mark.slow
def test_counters_equal_what_happened_in_each_span(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    device, deep = ada.device(root), ada.device(below)
    begin = world.clock.now() // SECOND * SECOND  # they are counted by the second
    with Receiver() as good, Receiver(500) as bad:
        fine = ada.connector(root, good.url)
        poor = ada.connector(root, bad.url, retryPolicy={"retryDelay": 60, "maxRetry": 1})
        idle = ada.connector(root, good.url, messageFilter="false")
        lower = ada.connector(below, good.url)
        for second in range(3):
            ada.reports(device, timestamp=at(second))
        ada.reports(deep)
        settled(ada, root, fine, 3)
        settled(ada, below, lower, 1)
        eventually(lambda: {each["attempts"] for each in ada.events(root, poor)["items"]} == {1})
        bad.wait_for(3)
        eventually(lambda: totals(ada, root).get("MessageProcessing") == 3)
        assert totals(ada, root) == {
            "MessageStarted": 6,
            "MessageProcessed": 3,
            "MessageProcessing": 3,
        }
        world.clock.let_pass(seconds=3_660)
        settled(ada, root, poor, 0, 3)
        first, second = spans(ada, root, begin)
        assert first == {"MessageStarted": 6, "MessageProcessed": 3}
        assert second == {
            "MessageError": 3,
            "RetryMessageStarted": 3,
            "RetryMessageError": 3,
        }
        bad.respond_with(200)
        ok(ada.post("/connector/resendData", named(root, poor)))
        settled(ada, root, poor, 3)
        counted = {
            "MessageStarted": 6,
            "MessageProcessed": 3,
            "MessageError": 3,
            "RetryMessageStarted": 6,
            "RetryMessageError": 3,
            "RetryMessageProcessed": 3,
        }
        assert totals(ada, root) == counted
        period = {
            "beginDate": format_date(begin),
            "endDate": format_date(world.clock.now() + SECOND),
            "timeSpan": 3_600,
        }
        report = ok(ada.get("/group/metrics", groupId=root, **period))
        assert sorted(report["activeConnectors"]) == sorted([fine, poor])
        assert idle not in report["activeConnectors"]
        assert report["numberActiveConnectors"] == 2
        whole = ok(ada.get("/group/metrics", groupId=root, subgroups="true", **period))
        assert whole["totalConnectorMessageStarted"] == 7
        assert whole["numberActiveConnectors"] == 3
        # Deleting does not decrease counters.
        ok(ada.delete("/connector", **named(root, fine)))
        world._run(maintenance.delete_old_deliveries(world.database, 30))
        assert totals(ada, root) == counted


def spans(person: Person, group: str, begin: int) -> list[dict[str, int]]:
    """The counters of messages of the two hours since, each by itself."""
    period = {"beginDate": format_date(begin), "endDate": format_date(begin + 2 * 3_600 * SECOND)}
    report = ok(person.get("/group/metrics", groupId=group, timeSpan=3_600, **period))
    return [
        {
            name.removeprefix("totalConnector"): value
            for name, value in item.items()
            if name.startswith("totalConnector") and value
        }
        for item in report["items"]
    ]


# --- resend ---


@pytest.mark.slow
def test_dead_letters_are_kept_for_the_storing_duration_and_resent_under_their_ids(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver(500) as receiver:
        connector = ada.connector(
            group, receiver.url, retryPolicy=ONCE, dataFailurePolicy={"storingDuration": 3_600}
        )
        which = named(group, connector)
        kept = {"storingDuration": 3_600, "hasData": False, "resending": False}
        assert ok(ada.post("/connector/resendData", which))["dataFailurePolicy"] == kept
        ada.reports(device, timestamp=at(5), data="first")
        settled(ada, group, connector, 0, 1)
        world.clock.let_pass(seconds=1_800)
        ada.reports(device, timestamp=at(7), data="second")
        settled(ada, group, connector, 0, 2)
        has = {**kept, "hasData": True}
        assert shown(ada, group, connector)["dataFailurePolicy"] == {**has, "startTime": at(5)}
        # An hour after it failed the first one expires; it stays in the history as failed.
        world.clock.let_pass(seconds=1_801)
        world._run(maintenance.delete_old_deliveries(world.database, 30))
        assert shown(ada, group, connector)["dataFailurePolicy"] == {**has, "startTime": at(7)}
        assert stats(ada, group, connector) == (0, 0, 2)
        bodies = world.read(
            lambda tx: tx.fetch(Statement("select body from delivery order by seq"))
        )
        assert [row[0] is None for row in bodies] == [True, False]
        ids = receiver.ids
        receiver.clear()
        receiver.respond_with(200)
        answered = ok(ada.post("/connector/resendData", which))
        assert answered["dataFailurePolicy"] == {**has, "startTime": at(7), "resending": True}
        settled(ada, group, connector, 1, 1)
        assert receiver.ids == ids[1:]
        assert receiver.requests[0].json["data"] == "second"
        assert shown(ada, group, connector)["dataFailurePolicy"] == kept
        assert shown(ada, group, connector)["error"]["message"] == "answered with status 500"
        # Old deliveries are removed.
        world.clock.let_pass(seconds=3_600, days=31)
        world._run(maintenance.delete_old_deliveries(world.database, 30))
        assert (
            world.read(lambda tx: tx.fetch(Statement("select count(*) from delivery")))[0][0] == 0
        )
        kinds = [action for _, action, _ in world.audit() if action == "connector.resend"]
        assert len(kinds) == 1, "where there is nothing to send, nothing is noted"


# --- replay ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_replay_sends_stored_records_also_from_before_the_connector_existed(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    device, deep = ada.device(root), ada.device(below)
    gone, erased = ada.device(root), ada.device(root)
    for kind in KINDS:
        ada.reports(device, kind, data=f"old {kind}")
    ada.reports(deep, data="deep")
    ada.reports(device, timestamp=at(30), data="unwanted")
    ada.reports(device, timestamp="2026-03-02T00:00:00Z", data="a day later")
    ada.reports(gone, data="gone")
    ada.reports(erased, data="erased")
    ok(ada.delete("/device", deviceId=gone, groupId=root))
    ok(ada.request("DELETE", "/device/data", json={"deviceId": erased}))
    with Receiver() as receiver:
        wanted = "!message.data.contains('unwanted')"
        connector = ada.connector(
            root, receiver.url, params={"subgroups": True}, messageFilter=wanted
        )
        which = named(root, connector)
        ada.reports(device, timestamp=at(10), data="new")
        settled(ada, root, connector, 1)
        begun = ok(ada.post("/connector/replay", {**which, **DAY}))
        assert begun.keys() == {"message", "queued", "replayId"}
        assert begun["queued"] == 6
        settled(ada, root, connector, 6)
        data = Counter(each.json["data"] for each in receiver.requests)
        assert data == {**{f"old {kind}": 1 for kind in KINDS}, "deep": 1, "new": 2}
        # Records that it has had before keep their message id.
        again = Counter(each.id for each in receiver.requests)
        assert sorted(again.values()) == [1] * 5 + [2]
        assert totals(ada, root) == {
            "MessageStarted": 6,
            "MessageProcessed": 6,
            "RetryMessageStarted": 1,
            "RetryMessageProcessed": 1,
        }
        asked = {**which, "replayId": begun["replayId"]}
        seen = ok(ada.get("/connector/replay", **asked))
        assert seen == {
            **asked,
            "status": "done",
            "lookedAt": seen["lookedAt"],
            "queued": 6,
            "beginDate": "2026-03-01T00:00:00.000Z",
            "endDate": "2026-03-02T00:00:00.000Z",
            "createdAt": seen["createdAt"],
            "updatedAt": seen["updatedAt"],
            "createdBy": ada.id,
        }
        assert seen["lookedAt"] >= 7
        assert ok(ada.delete("/connector/replay", **asked)) == seen, "it is over anyway"
        # Ranges have an end that is not part of them; numbers are dates, too.
        receiver.clear()
        for begin, end, queued in (
            (at(10), at(10), 0),
            (at(10), at(11), 1),
            (1_772_323_200, 1_772_323_200_000, 0),
            ("2026-03-02", "2026-03-02", 1),
            ("0001-01-01", "9999-12-31", 7),
        ):
            span = {"beginDate": begin, "endDate": end}
            begun = ok(ada.post("/connector/replay", {**which, **span}))
            assert begun["queued"] == queued, span
            eventually(lambda: stats(ada, root, connector)[0] == 0)
            ok(ada.get("/connector/replay", **which, replayId=begun["replayId"]))
        assert len(receiver.requests) == 9
        wrong = {"beginDate": at(11), "endDate": at(10)}
        refused(ada.post("/connector/replay", {**which, **wrong}), 400, "beginDate")
        for broken in ("soon", ""):
            span = {"beginDate": broken, "endDate": broken}
            refused(ada.post("/connector/replay", {**which, **span}), 400, "beginDate", "endDate")


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_long_replay_continues_in_the_background_until_it_is_cancelled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    count = replays.RECORDS_PER_STEP_MAX * 2 + 100
    items = [record_of(device, timestamp=1_772_366_400 + number) for number in range(count)]
    ok(ada.post("/device/data/batch", {"items": items}))
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url, params={"batch": 200})
        which = named(group, connector)
        begun = ok(ada.post("/connector/replay", {**which, **DAY}))
        assert begun["queued"] == replays.RECORDS_PER_STEP_MAX
        asked = {**which, "replayId": begun["replayId"]}
        eventually(lambda: ok(ada.get("/connector/replay", **asked))["status"] == "done")
        seen = ok(ada.get("/connector/replay", **asked))
        assert (seen["lookedAt"], seen["queued"]) == (count, count)
        settled(ada, group, connector, count)
        ids = [element["id"] for request in receiver.requests for element in request.json]
        assert len(ids) == len(set(ids)) == count
        assert totals(ada, group) == {"MessageStarted": count, "MessageProcessed": count}
        # A full queue gets no more; a cancelled replay never continues.
        monkeypatch.setattr(replays, "QUEUED_MAX", 10)
        change(ada, group, connector, enabled=False)
        begun = ok(ada.post("/connector/replay", {**which, **DAY}))
        asked["replayId"] = begun["replayId"]
        world.clock.let_pass(seconds=60)
        other = ada.connector(group, f"{receiver.url}/other")
        ok(ada.post("/connector/replay", {**named(group, other), **DAY}))
        eventually(lambda: stats(ada, group, other)[1] == count)
        running = ok(ada.get("/connector/replay", **asked))
        assert (running["status"], running["queued"]) == ("running", 500)
        cancelled = ok(ada.delete("/connector/replay", **asked))
        assert (cancelled["status"], cancelled["queued"]) == ("cancelled", 500)
        assert ok(ada.delete("/connector/replay", **asked)) == cancelled
        change(ada, group, connector, enabled=True)
        settled(ada, group, connector, count)
        seen = ok(ada.get("/connector/replay", **asked))
        assert (seen["status"], seen["queued"]) == ("cancelled", 500)
        sent = [request for request in receiver.requests if not request.path.endswith("other")]
        assert sum(len(request.json) for request in sent) == count + 500


@pytest.mark.slow
def test_a_replay_continues_after_a_restart(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    count = replays.RECORDS_PER_STEP_MAX + 50
    items = [record_of(device, timestamp=1_772_366_400 + number) for number in range(count)]
    ok(ada.post("/device/data/batch", {"items": items}))
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url, params={"batch": 200})
        begun = ok(ada.post("/connector/replay", {**named(group, connector), **DAY}))
        world.restart()
        settled(ada, group, connector, count)
        asked = {**named(group, connector), "replayId": begun["replayId"]}
        eventually(lambda: ok(ada.get("/connector/replay", **asked))["status"] == "done")
        assert ok(ada.get("/connector/replay", **asked))["queued"] == count
        ids = {element["id"] for request in receiver.requests for element in request.json}
        assert len(ids) == count


# --- preview ---


def test_a_preview_waits_for_no_write(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ada.reports(device)
    connector = ada.connector(group, "https://example.com/in", enabled=False)
    is_writing, is_previewed = threading.Event(), threading.Event()

    def block(tx: Tx) -> None:
        is_writing.set()
        assert is_previewed.wait(60)

    writing = threading.Thread(target=world.write, args=(block,))
    writing.start()
    assert is_writing.wait(60)
    items = ok(ada.post("/connector/preview", named(group, connector)))["items"]
    is_previewed.set()
    writing.join()
    assert [item["deviceId"] for item in items] == [device]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_previews_of_large_records_do_not_exhaust_the_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    for number in range(8):
        ada.reports(device, timestamp=at(number), data="x" * 1_000)
    connector = ada.connector(group, "https://example.com/in", enabled=False)
    which = {**named(group, connector), "limit": 8}
    may_build = threading.Event()
    built = previews.build_preview

    def build_preview(
        inputs: previews.PreviewInputs, budgets: ComputeBudgets
    ) -> list[previews.PreviewedRecord]:
        assert may_build.wait(60)
        return built(inputs, budgets)

    monkeypatch.setattr(previews, "build_preview", build_preview)
    handler = world.app._request_handler
    key = ("/connector/preview", CallerKey(ada.id, ada.id))
    with ThreadPoolExecutor(7) as pool:
        asked = [pool.submit(ada.post, "/connector/preview", which) for _ in range(7)]

        def count_waiting() -> int:
            return len(handler._turns[key]._waiters or ()) if key in handler._turns else 0

        # The others wait before they have read any records.
        eventually(lambda: count_waiting() == 7 - AT_ONCE_FOR_CALLER_MAX)
        may_build.set()
        assert [len(ok(each.result())["items"]) for each in asked] == [8] * 7
    assert not handler._turns

    def count_shown() -> int:
        return len(ok(ada.post("/connector/preview", which))["items"])

    monkeypatch.setattr(previews, "CHARACTERS_MAX", 3_500)
    assert count_shown() == 3
    monkeypatch.setattr(previews, "CHARACTERS_MAX", 1)
    assert count_shown() == 1


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_preview_shows_what_would_be_sent_and_why_not_and_sends_nothing(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    below = ada.group("below", parent=group)
    plain, tracker, other = ada.device(group), ada.device(group, type="tracker"), ada.device(group)
    deep = ada.device(below)
    never_silent = {"groupId": group, "configuration": '{"silentAfterSeconds": 0}'}
    ok(ada.put("/device", {"deviceId": tracker, **never_silent}))
    ada.reports(plain, data='{"celsius": 31}')
    ada.reports(plain, timestamp=at(1), data='{"celsius": 29}')
    ada.reports(plain, timestamp=at(2), data="{}")
    ada.reports(tracker, "geoloc")
    ada.reports(other, data='{"celsius": 31}')
    ada.reports(deep, data='{"celsius": 31}')
    with Receiver() as receiver:
        connector = ada.connector(
            group,
            receiver.url,
            params={"bearer": "canary", "headers": {"X-Key": "canary"}, "secret": "canary" * 6},
            deviceTypes=["generic"],
            deviceIds=[plain, tracker],
            messageFilter="message.data.celsius > 30",
            enabled=False,
        )
        which = named(group, connector)
        before = world.everything()
        items = ok(ada.post("/connector/preview", which))["items"]
        assert world.everything() == before
        assert [(each["deviceId"], each["kind"], each["matches"]) for each in items] == [
            (other, "data", False),
            (tracker, "geoloc", False),
            (plain, "data", False),
            (plain, "data", False),
            (plain, "data", True),
        ]
        reasons = [each["reason"] for each in items]
        assert reasons[:2] == [
            "the device is not in deviceIds",
            "the device type tracker is not in deviceTypes",
        ]
        assert reasons[2:] == [
            "the filter is false: there is no message.data.celsius",
            "the filter is false",
            "",
        ]
        codes = ["device_id", "device_type", "filter_false", "filter_false", None]
        assert [each.get("code") for each in items] == codes
        request = items[-1]["request"]
        assert (request["method"], request["url"]) == ("POST", receiver.url)
        assert request["headers"]["Authorization"] == f"Bearer {MASK}"
        assert request["headers"]["X-Key"] == MASK
        assert "canary" not in json.dumps(items)
        assert receiver.requests == []
        # The preview equals what is sent.
        change(ada, group, connector, enabled=True)
        begun = ok(ada.post("/connector/replay", {**which, **DAY}))
        assert begun["queued"] == 1
        settled(ada, group, connector, 1)
        sent = receiver.requests[0]
        assert sent.body.decode() == request["body"]
        assert sent.id == request["headers"]["webhook-id"]
        assert {name.lower() for name in request["headers"]} <= sent.headers.keys()
        # As many as were asked for, the newest first, and from below when it takes those.
        for limit in (1, 2, 100):
            part = ok(ada.post("/connector/preview", {**which, "limit": limit}))["items"]
            assert [each["reason"] for each in part] == reasons[:limit]
        for limit in (0, 101, "1", 1.5):
            refused(ada.post("/connector/preview", {**which, "limit": limit}), 400, "limit")
        params = json.dumps({"url": receiver.url, "subgroups": True, "template": "message.nothing"})
        change(
            ada, group, connector, params=params, format="custom", deviceIds=[], messageFilter=""
        )
        newest = ok(ada.post("/connector/preview", {**which, "limit": 1}))["items"][0]
        assert newest["deviceId"] == deep
        assert newest["matches"] is False
        assert newest["code"] == "invalid_message"
        assert newest["reason"].startswith("the message could not be formatted: ")
        assert "request" not in newest
        # Each protocol has its own fields.
        for kind, params in {
            "mqtt": {"url": "mqtt://127.0.0.1:9", "topic": "t/{deviceId}"},
            "nats": {"url": "nats://127.0.0.1:9", "subject": "s.{deviceId}"},
            "amqp": {"url": "amqp://127.0.0.1:9", "exchange": "e", "routingKey": "{deviceId}"},
            "kafka": {"brokers": "127.0.0.1:9", "topic": "k"},
        }.items():
            body = {"groupId": group, "type": kind, "params": json.dumps(params), "enabled": False}
            made = ok(ada.post("/connector", body))["id"]
            item = ok(ada.post("/connector/preview", {**named(group, made), "limit": 1}))["items"][
                0
            ]
            assert item["matches"] is True
            assert json.loads(item["request"]["body"])["deviceId"] == item["deviceId"]


# --- egress ---


@pytest.mark.engine_free
def test_a_host_name_of_a_private_address_fails_like_an_unknown_one(
    make_world: Callable[..., World],
) -> None:
    world = make_world(egress_allow=(), token_lifetime_s=YEARS_S)
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    once = {"retryDelay": 1, "maxRetry": 0}
    with Receiver(StubResponse()) as receiver:
        hosts = (f"localhost:{receiver.port}", "nowhere.invalid")
        connectors = [ada.connector(group, f"http://{host}/", retryPolicy=once) for host in hosts]
        ada.reports(device)
        seen = []
        for connector in connectors:
            settled(ada, group, connector, 0, 1)
            (event,) = ada.events(group, connector)["items"]
            assert event["message"] == shown(ada, group, connector)["error"]["message"]
            assert shown(ada, group, connector)["dataFailurePolicy"]["hasData"] is True
            seen.append((event["status"], event["attempts"], event["message"]))
        assert receiver.requests == []
    assert seen == [("failed", 1, NOT_RESOLVED)] * 2


@pytest.mark.slow
def test_a_connector_has_one_running_replay_and_groups_take_turns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "QUEUED_MAX", 10)  # nothing is sent, so none of them ends
    monkeypatch.setattr(replays, "REPLAYS_PER_ROUND_MAX", 1)
    ada = world.person("ada")
    running: set[str] = set()
    for connectors in (2, 1):
        group = ada.group()
        device = ada.device(group)
        count = replays.RECORDS_PER_STEP_MAX + 1
        items = [record_of(device, timestamp=1_772_366_400 + number) for number in range(count)]
        ok(ada.post("/device/data/batch", {"items": items}))
        for _ in range(connectors):
            which = named(group, ada.connector(group, NOWHERE, enabled=False))
            running.add(ok(ada.post("/connector/replay", {**which, **DAY}))["replayId"])
            problem = refused(ada.post("/connector/replay", {**which, **DAY}), 409)
            assert problem["code"] == "conflict"
    seen: set[str] = set()

    def is_everyone_seen() -> bool:
        following = world.read(lambda tx: store_replays.list_next(tx, 10))
        assert len(following) == 2, "one for each group, however many it has"
        seen.update(following)
        return seen == running

    eventually(is_everyone_seen)

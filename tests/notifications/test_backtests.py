"""Backtests: what a notification would have raised, which is what it does raise."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.clock import DAY, HOUR, MINUTE, SECOND, Moment
from longwire.dates import format_date
from longwire.fleet import backtest_expressions, backtests
from longwire.fleet.summaries import SummaryWork
from longwire.notifications import alarm_work
from longwire.notifications.backtests import BacktestedAlarm, count_messages
from longwire.notifications.rules import compile_rule
from longwire.store.database import Tx
from longwire.store.notifications import notifications as store
from tests.notifications.stories import count_alerts
from tests.world import Person, World, ok, refused

NOWHERE = "http://127.0.0.1:9/"
WARM = {"measurement": "temperature", "above": 8}
RAISED = ("raisedAt", "resolvedAt", "value", "worstValue")

Json = dict[str, Any]


@pytest.fixture
def world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(alarm_work, "INTERVAL_S", 3_600)
    world = make_world(token_lifetime_s=10**8)
    world.clock.freeze()
    return world


def _summarize(world: World) -> None:
    world._run(SummaryWork(world.database).run_round())


def _record(device: str, at: Moment, data: Json) -> Json:
    return {"deviceId": device, "timestamp": format_date(at), "data": json.dumps(data)}


def _store(person: Person, records: list[Json]) -> None:
    common = {"configuration": "{}", "__raw": "00", "deviceType": "generic"}
    ok(person.post("/device/data/batch", {"items": [{**common, **each} for each in records]}))


def _draft(params: Json, **fields: Any) -> Json:
    text = json.dumps({"url": NOWHERE, **params})
    return {"type": "webhook", "reason": "measurement", "params": text, **fields}


def _walk(person: Person, body: Json) -> Json:
    """All pages as one."""
    found: Json = dict.fromkeys(("messages", "pages", "records", "summaries", "devices"), 0)
    found["items"] = []
    token: Json = {}
    while True:
        page = ok(person.post("/notification/backtest", {**body, **token}))
        found["items"] += page["items"]
        found["messages"] += page["messages"]
        found["pages"] += 1
        for name in ("records", "summaries", "devices"):
            found[name] += page["examined"][name]
        if "nextToken" not in page:
            return found
        token = {"nextToken": page["nextToken"]}


def _raised(person: Person, group: str) -> list[tuple[Any, ...]]:
    listed = ok(person.get("/group/alarms", groupId=group, state="all", limit=100))["items"]
    return sorted(tuple(each.get(name) for name in RAISED) for each in listed)


def _brief(found: Json) -> list[tuple[Any, ...]]:
    alarms = [alarm for item in found["items"] for alarm in item["alarms"]]
    return sorted(tuple(each.get(name) for name in RAISED) for each in alarms)


# --- the same history live and in a backtest ---

_SPANS = st.none() | st.integers(1, 30).map(lambda quarters: quarters * 400)
_PARAMS = st.fixed_dictionaries(
    {
        "for": _SPANS,
        "forMessages": st.none() | st.integers(1, 3),
        "resolveFor": _SPANS,
        "staleAfter": _SPANS,
        "onStale": st.sampled_from(["keep", "resolve", "raise"]),
        "hysteresis": st.sampled_from([None, 3]),
        "is_expressed": st.booleans(),
    }
)
# Minutes between values, how late each is, and itself.
_HISTORY = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 7, 20, 60, 300]),
        st.sampled_from([0, 0, 0, 30, 400]),
        st.sampled_from([1.0, 2.0, 4.0, 6.0, 7.0, 9.0, 9.0, 12.0, 20.0]),
    ),
    max_size=30,
)


@pytest.mark.engine_free
@hypothesis_settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(params=_PARAMS, history=_HISTORY)
def test_a_backtest_finds_what_was_raised_from_records_and_from_summaries(
    world: World, params: Json, history: list[tuple[int, int, float]]
) -> None:
    ada = world.operator
    group = ada.group()
    device = ada.device(group)
    is_expressed = params.pop("is_expressed")
    chosen = {name: each for name, each in params.items() if each is not None}
    if "staleAfter" not in chosen:
        chosen.pop("onStale")
    if is_expressed:
        chosen.pop("hysteresis", None)
        clear = {"resolve": "values.temperature <= 5.0"} if params["hysteresis"] else {}
        chosen |= {"condition": "message.data.temperature > 8.0", **clear}
    else:
        chosen |= WARM
    notification = ada.notification(group, NOWHERE, reason="measurement", params=chosen)
    now = world.clock.now()
    begin = now - 6 * DAY
    at, records = begin, []
    for minutes, late, value in history:
        at += minutes * MINUTE
        records.append(_record(device, at - late * MINUTE, {"temperature": value}))
    if records:
        _store(ada, records)
    world.run_alarms_once()
    asked = {
        "groupId": group,
        "beginDate": format_date(begin - DAY),
        "endDate": format_date(now),
    }
    raised = _raised(ada, group)
    by_records = _walk(ada, {**asked, "notificationId": notification})
    assert _brief(by_records) == raised
    assert by_records["messages"] == count_alerts(world, notification)
    _summarize(world)
    by_summaries = _walk(ada, {**asked, "notification": _draft(chosen)})
    assert _brief(by_summaries) == raised
    assert by_summaries["messages"] == by_records["messages"]


@pytest.mark.engine_free
def test_a_month_is_examined_from_summaries_page_by_page_and_by_device(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what may have raised something is read; where a request ends changes nothing."""
    ada = world.person("ada")
    top = ada.group("top")
    below = ada.group("below", parent=top)
    devices = [ada.device(top), ada.device(below), ada.device(below)]
    now = world.clock.now()
    begin = now - now % DAY - 10 * DAY
    for index, device in enumerate(devices):
        records = []
        for hour in range(0, 9 * 24, 2):
            is_warm = hour // 24 == 3 + index and 6 <= hour % 24 < 12
            value = 12.0 + hour % 3 if is_warm else 4.0
            at = begin + hour * HOUR + 10 * SECOND
            records.append(_record(device, at, {"temperature": value}))
        _store(ada, records)
    _summarize(world)
    params = {**WARM, "for": 3_600, "resolveFor": 60, "subgroups": True, "repeatEvery": 3_600}
    period = {"beginDate": format_date(begin), "endDate": format_date(begin + 9 * DAY)}
    body = {"groupId": top, "notification": _draft(params), **period}
    before = world.everything()
    found = _walk(ada, body)
    assert found["devices"] == 3
    assert found["records"] < 30 < found["summaries"]
    assert [each["deviceId"] for each in found["items"]] == devices
    assert [len(each["alarms"]) for each in found["items"]] == [1, 1, 1]
    first = begin + 3 * DAY + 6 * HOUR + 10 * SECOND
    expected = {
        "raisedAt": format_date(first + HOUR),
        "resolvedAt": format_date(first + 6 * HOUR + MINUTE),
        "value": 12.0,
        "worstValue": 14.0,
    }
    assert found["items"][0]["alarms"][0] == expected
    # Raised, five times again, and resolved.
    assert found["messages"] == 3 * 7
    by_device = _walk(ada, {**body, "limit": 1})
    assert by_device == {**found, "pages": 3}
    monkeypatch.setattr(backtests, "RECORDS_MAX", 1)
    monkeypatch.setattr(backtests, "STEP_RECORDS_MAX", 2)
    monkeypatch.setattr(backtests, "RUN_RECORDS_MAX", 2)
    by_record = _walk(ada, body)
    assert by_record["pages"] > 5
    assert (_brief(by_record), by_record["messages"]) == (_brief(found), found["messages"])
    # Of one device, of another type, and without the groups below.
    for change, expected_devices in (
        ({"deviceId": devices[2]}, devices[2:]),
        ({"deviceTypes": ["generic"]}, devices),
        ({"params": json.dumps({"url": NOWHERE, **WARM})}, devices[:1]),
    ):
        changed = _walk(ada, {**body, "notification": {**_draft(params), **change}})
        assert [each["deviceId"] for each in changed["items"]] == expected_devices
    assert world.everything() == before


def test_a_request_ends_in_time_wherever_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in groups without a device that matches, and among many records of one instant."""
    ada = world.person("ada")
    top = ada.group("top")
    for name in ("a", "b"):
        ada.device(ada.group(name, parent=top), type="tracker")
    last = ada.group("last", parent=top)
    device = ada.device(last)
    at = world.clock.now() - DAY
    many = [_record(device, at, {"temperature": number}) for number in range(-50, 0)]
    _store(ada, [*many, _record(device, at + HOUR, {"temperature": 9})])
    period = {"beginDate": format_date(at - HOUR), "endDate": format_date(at + 2 * HOUR)}
    # Two types, so that only the devices themselves say that they do not match.
    ada.device(top, type="meter")
    types = {"deviceTypes": ["generic", "meter"]}
    params = {**WARM, "subgroups": True}
    body = {"groupId": top, "notification": _draft(params, **types), **period}
    found = _walk(ada, body)
    assert [each["deviceId"] for each in found["items"]] == [device]
    monkeypatch.setattr(backtest_expressions, "INSTANT_RECORDS_MAX", 10)
    monkeypatch.setattr(backtests, "STEP_RECORDS_MAX", 5)
    monkeypatch.setattr(backtests, "RUN_RECORDS_MAX", 5)
    monkeypatch.setattr(backtest_expressions, "STEP_RECORDS_MAX", 5)
    monkeypatch.setattr(backtest_expressions, "WINDOW_RECORDS_MAX", 5)
    bounded = _walk(ada, body)
    assert bounded["items"] == found["items"]
    assert bounded["records"] <= 20 < found["records"]
    expressed = {"condition": "values.temperature > 8.0", "subgroups": True}
    by_expression = _walk(ada, {**body, "notification": _draft(expressed, **types)})
    assert [each["deviceId"] for each in by_expression["items"]] == [device]
    assert by_expression["records"] <= 20
    # A page for each device and each group, since it is always late.
    monkeypatch.setattr(backtests, "SECONDS_MAX", -1)
    late = _walk(ada, body)
    assert late["items"] == found["items"]
    assert late["pages"] > 5 > found["pages"]
    named = _draft(params, deviceId=device)
    assert _walk(ada, {**body, "notification": named})["pages"] < late["pages"]


@pytest.mark.engine_free
def test_who_may_read_records_and_notifications_may_try_one(world: World) -> None:
    ada, bob, carol, eve = (world.person(name) for name in ("ada", "bob", "carol", "eve"))
    group = ada.group()
    device = ada.device(group)
    ada.invite(bob, group, "viewer")
    ada.invite(carol, group, ada.role("notification.read", "device.read"))
    now = world.clock.now()
    _store(ada, [_record(device, now - HOUR, {"temperature": 9})])
    period = {"beginDate": format_date(now - DAY), "endDate": format_date(now)}
    body = {"groupId": group, "notification": _draft(WARM), **period}

    def attempt(person: Person, **changes: Any) -> Any:
        return person.post("/notification/backtest", {**body, **changes})

    assert len(ok(attempt(bob))["items"]) == 1
    refused(attempt(eve), 404, "groupId")
    refused(attempt(carol), 403)
    # What is wrong with a draft is named as it is for one that is created.
    wrong = {**_draft({**WARM, "for": 0}), "deviceTypes": ["unheard of"], "schedule": "{"}
    refused(attempt(ada, notification=wrong), 400, "notification.schedule")
    del wrong["schedule"]
    refused(
        attempt(ada, notification=wrong),
        400,
        *("notification.params.for", "notification.deviceTypes[0]"),
    )
    refused(attempt(ada, notification=_draft({}, reason="opened")), 400, "notification.reason")
    refused(attempt(ada, notification=_draft({"measurement": "x"})), 400)
    refused(attempt(ada, notificationId="ntf_x"), 400, "notificationId")
    refused(attempt(ada, notification=None), 400, "notification")
    refused(attempt(ada, notification=None, notificationId="ntf_x"), 404, "notificationId")
    refused(attempt(ada, beginDate="2020-01-01"), 400, "beginDate")
    refused(attempt(ada, beginDate=format_date(now + HOUR)), 400, "beginDate")
    refused(attempt(ada, nextToken="x"), 400, "nextToken")
    other = ada.notification(group, NOWHERE, reason="opened")
    refused(attempt(ada, notification=None, notificationId=other), 400, "notificationId")


# --- messages ---


@pytest.mark.engine_free
@pytest.mark.parametrize(
    "params, minutes, expected",
    [
        ({}, 60, 2),
        ({}, None, 1),
        ({"repeatEvery": 600}, 60, 1 + 5 + 1),
        ({"repeatEvery": 600, "throttle": 1_200}, 60, 1 + 2 + 1),
        # From when on it is escalated, two are sent, and what is repeated counts from there.
        ({"repeatEvery": 600, "escalateAfter": 1_500}, 60, 1 + 2 + 2 + 2 * 3 + 2),
        ({"escalateAfter": 7_200}, 60, 2),
        ({"repeatEvery": 1}, None, 1 + 7 * 86_400),
        ({"throttle": 3_600}, 0, 2),
    ],
)
def test_messages_are_counted(
    world: World, params: Json, minutes: int | None, expected: int
) -> None:
    ada = world.person("ada")
    group = ada.group()
    escalated = (
        {"escalateTo": ada.notification(group, NOWHERE)} if "escalateAfter" in params else {}
    )
    ada.notification(group, NOWHERE, reason="measurement", params={**WARM, **params, **escalated})

    def compile_last(tx: Tx) -> Any:
        listed = store.list_enabled(tx, [group])
        return compile_rule(tx, max(listed, key=lambda each: each.number))

    rule = world.read(compile_last)
    raised_at = world.clock.now()
    resolved_at = None if minutes is None else raised_at + minutes * MINUTE
    alarm = BacktestedAlarm(raised_at, 9.0, 9.0, resolved_at)
    messages, _ = count_messages(rule, alarm, None, raised_at + 7 * DAY)
    assert messages == expected

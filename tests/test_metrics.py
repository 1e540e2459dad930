"""A group's counters equal a recount of the arrivals in any period.

The clock only moves when it is set, so that a test knows the arrival time of each record to the
microsecond.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire import metrics as metrics_module
from longwire.clock import DAY, HOUR, MINUTE, SECOND, Moment
from longwire.dates import format_date
from longwire.settings import Settings
from tests.reports import (
    KINDS,
    TOTALS,
    Body,
    counted,
    device,
    devices,
    metrics,
    post_record,
    post_records,
    report,
)
from tests.world import AdjustableClock, Person, World, ok, refused

DELIVERY_TOTALS = [
    f"totalConnector{noun}{end}"
    for noun, ends in (
        ("Message", ("Started", "Processing", "Processed", "Error")),
        ("RetryMessage", ("Started", "Processed", "Error")),
    )
    for end in ends
]
NETWORK_TOTALS = [
    *("totalDeviceVendorUplink", "totalDeviceVendorDownlink"),
    *("totalVendorDataMessage", "totalVendorDataAdvancedMessage"),
]
NONE = dict.fromkeys(KINDS, 0)
EIGHT: Moment = 1_800_000_000 * SECOND + 8 * HOUR - 1_800_000_000 * SECOND % DAY


class FrozenClock(AdjustableClock):
    """A clock that shows the time it was set to."""

    def __init__(self) -> None:
        super().__init__()
        self.at: Moment = EIGHT

    def now(self) -> Moment:
        return self.at


@pytest.fixture
def frozen_world(settings: Settings) -> Iterator[World]:
    """A world whose clock is frozen at eight in the morning."""
    world = World(replace(settings, token_lifetime_s=10**9), FrozenClock())
    yield world
    world.stop()


def set_clock(world: World, at: Moment) -> None:
    assert isinstance(world.clock, FrozenClock)
    world.clock.at = at


def report_of(person: Person, group: str, begin: Moment, end: Moment, **params: Any) -> Any:
    return metrics(person, group, format_date(begin), format_date(end), **params)


def items_of(found: dict[str, Any], kind: str = "data") -> list[int]:
    return [item[TOTALS[kind]] for item in found["items"]]


# --- any period ---


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request with records of one kind and device, some time after the last one."""

    gap: Moment
    kind: str
    sensor: int
    number: int


@dataclass(frozen=True, slots=True)
class Period:
    """A period, relative to the first arrival, and the length of its items."""

    begin: Moment
    length: Moment
    span_s: int


@dataclass(slots=True)
class Ledger:
    """Records by arrival time, as noted by the sender."""

    lines: list[tuple[Moment, str, str]] = field(default_factory=list)

    def within(self, begin: Moment, end: Moment) -> list[tuple[Moment, str, str]]:
        return [line for line in self.lines if begin <= line[0] < end]

    def totals(self, begin: Moment, end: Moment) -> Body:
        kinds = Counter(kind for _, kind, _ in self.within(begin, end))
        totals = {TOTALS[kind]: kinds[kind] for kind in KINDS}
        # There are no connectors and no network callbacks.
        nothing = dict.fromkeys([*DELIVERY_TOTALS, *NETWORK_TOTALS], 0)
        return {**totals, **nothing, "totalDeviceMessage": sum(kinds.values())}

    def active(self, begin: Moment, end: Moment) -> set[str]:
        return {sensor for _, _, sensor in self.within(begin, end)}

    def expects(self, group: str, begin: Moment, end: Moment, span_s: int) -> Body:
        """The whole report without the active devices."""
        span = span_s * SECOND
        return {
            "groupId": group,
            "beginDate": format_date(begin),
            "endDate": format_date(end),
            "activeConnectors": [],
            "numberActiveConnectors": 0,
            **self.totals(begin, end),
            "items": [
                {
                    "groupId": group,
                    "timestamp": format_date(at),
                    **self.totals(at, min(at + span, end)),
                }
                for at in range(begin, end, span)
            ],
        }


# Around boundaries: a second, an hour, and arbitrary times.
near_an_edge = st.builds(
    lambda unit, count, off: max(0, unit * count + off),
    st.sampled_from([1, SECOND, MINUTE, HOUR]),
    st.integers(0, 5),
    st.sampled_from([0, 0, -1, 1, 500_000, 999_999]),
)
arrivals = st.lists(
    st.builds(
        Arrival, near_an_edge, st.sampled_from(KINDS), st.integers(0, 2), st.sampled_from([1, 1, 3])
    ),
    min_size=1,
    max_size=10,
)
periods = st.lists(
    st.builds(
        lambda begin, length, span_s: Period(begin, min(length, 200 * span_s * SECOND), span_s),
        st.builds(lambda at, back: at - back, near_an_edge, st.sampled_from([0, 1, SECOND, HOUR])),
        st.builds(lambda one, two: one + two, near_an_edge, near_an_edge),
        st.sampled_from([1, 2, 7, 60, 3_600, 86_400]),
    ),
    min_size=4,
    max_size=8,
)


@pytest.mark.slow
def test_any_report_equals_a_recount_of_what_was_acknowledged(frozen_world: World) -> None:
    ada = frozen_world.person("ada")
    fresh_days = itertools.count(1)

    @hypothesis_settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        # A history takes dozens of requests, so shrinking a failing one would take minutes.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    @given(st.integers(0, HOUR), arrivals, periods)
    def check_history(start: Moment, arrivals: list[Arrival], periods: list[Period]) -> None:
        first = EIGHT + next(fresh_days) * 5 * DAY + start
        group = ada.group()
        sensors = devices(ada, group, 3)
        ledger, at = Ledger(), first
        for number, arrival in enumerate(arrivals):
            at += arrival.gap
            set_clock(frozen_world, at)
            sensor = sensors[arrival.sensor]
            bodies = [
                report(arrival.kind, sensor, EIGHT, f"{number} {each}")
                for each in range(arrival.number)
            ]
            # The records of one request arrive a microsecond apart.
            ledger.lines += [(at + n, arrival.kind, sensor) for n in range(arrival.number)]
            at += arrival.number
            assert ok(post_records(ada, arrival.kind, bodies))["stored"] == arrival.number
        for period in periods:
            begin = first + period.begin
            end = begin + period.length
            found = report_of(ada, group, begin, end, timeSpan=period.span_s)
            active = found.pop("activeDevices")
            assert set(active) == ledger.active(begin, end)
            assert found.pop("numberActiveDevices") == len(active) == len(set(active))
            assert found == ledger.expects(group, begin, end, period.span_s)

    check_history()


# --- items of a report ---


def test_items_start_at_begin_date_and_cover_the_range_without_gaps(frozen_world: World) -> None:
    ada = frozen_world.person("ada")
    group = ada.group()
    sensor = device(ada, group)
    for at in (EIGHT, EIGHT + 90 * MINUTE, EIGHT + 3 * HOUR - 1):
        set_clock(frozen_world, at)
        ok(post_record(ada, "data", sensor, EIGHT, f"{at}"))

    # An hour each by default; the last one is the rest.
    begin = EIGHT - 10 * MINUTE
    found = report_of(ada, group, begin, EIGHT + 3 * HOUR)
    assert [item["timestamp"] for item in found["items"]] == [
        format_date(begin + hour * HOUR) for hour in range(4)
    ]
    assert items_of(found) == [1, 1, 0, 1]
    assert found == report_of(ada, group, begin, EIGHT + 3 * HOUR, timeSpan=3_600)
    assert {item["groupId"] for item in found["items"]} == {group}

    # The begin is included, the end is not, to the microsecond.
    edges = [
        (EIGHT, EIGHT + 1, 1),
        (EIGHT - 1, EIGHT, 0),
        (EIGHT + 1, EIGHT + 90 * MINUTE, 0),
        (EIGHT + 1, EIGHT + 90 * MINUTE + 1, 1),
        (EIGHT + 3 * HOUR - 1, EIGHT + 3 * HOUR, 1),
        (EIGHT + 3 * HOUR, EIGHT + 9 * HOUR, 0),
    ]
    for begin, end, expected in edges:
        found = report_of(ada, group, begin, end)
        assert found["totalDeviceData"] == sum(items_of(found)) == expected, (begin, end)

    # An instant is an empty period; a date is the whole day; digits are instants too.
    nothing = report_of(ada, group, EIGHT, EIGHT)
    assert (nothing["items"], nothing["totalDeviceData"]) == ([], 0)
    today = format_date(EIGHT)[:10]
    whole = metrics(ada, group, today, today, timeSpan="86400")
    assert (whole["beginDate"], items_of(whole)) == (f"{today}T00:00:00.000Z", [3])
    assert metrics(ada, group, EIGHT // SECOND, EIGHT // 1_000 + 1)["totalDeviceData"] == 1


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_report_has_at_most_two_thousand_items(frozen_world: World) -> None:
    ada = frozen_world.person("ada")
    group = ada.group()
    sensor = device(ada, group)
    ok(post_record(ada, "data", sensor, EIGHT))
    begin = EIGHT - 1_000 * SECOND
    for shift in (0, 250_000):
        most = report_of(ada, group, begin - shift, begin - shift + 2_000 * SECOND, timeSpan=1)
        assert len(most["items"]) == 2_000
        assert items_of(most)[1_000] == most["totalDeviceData"] == 1
    problem = refused(
        ada.get(
            "/group/metrics",
            groupId=group,
            beginDate=format_date(begin),
            endDate=format_date(begin + 2_000 * SECOND + 1),
            timeSpan=1,
        ),
        400,
        "timeSpan",
    )
    assert "2001" in problem["detail"]
    assert "at most 2000" in problem["detail"]
    # No date is too early or too late.
    far = [("0001-01-01", "9999-12-31"), ("1600-01-01", "1700-01-01"), ("2250-01-01", "2300-01-01")]
    for (begin_date, end_date), expected in zip(far, (1, 0, 0), strict=True):
        found = metrics(ada, group, begin_date, end_date, timeSpan=10**9)
        assert found["totalDeviceData"] == sum(items_of(found)) == expected
        assert found["numberActiveDevices"] == expected
        assert found["activeDevices"] == [sensor] * expected


# --- active devices ---


def test_active_devices_are_exact_where_a_period_begins_and_ends_within_an_hour(
    frozen_world: World,
) -> None:
    ada = frozen_world.person("ada")
    group = ada.group()
    moments = {
        "early": EIGHT - 1,
        "at eight": EIGHT,
        "half past": EIGHT + 30 * MINUTE,
        "late": EIGHT + 2 * HOUR + 59 * MINUTE,
        "at eleven": EIGHT + 3 * HOUR,
    }
    names = dict(zip(devices(ada, group, len(moments)), moments, strict=True))
    for sensor, name in names.items():
        set_clock(frozen_world, moments[name])
        ok(post_record(ada, "event", sensor, EIGHT))
    ok(post_record(ada, "data", sensor, EIGHT))  # active twice
    device(ada, group)  # and one without records

    def active(begin: Moment, end: Moment) -> list[str]:
        found = report_of(ada, group, begin, end)
        assert found["numberActiveDevices"] == len(found["activeDevices"])
        return [names[each] for each in found["activeDevices"]]

    cases: list[tuple[Moment, Moment, list[str]]] = [
        (EIGHT, EIGHT + 3 * HOUR, ["at eight", "half past", "late"]),
        (EIGHT - 1, EIGHT + 3 * HOUR + 1, list(moments)),
        (EIGHT - HOUR, EIGHT, ["early"]),
        (EIGHT + 2, EIGHT + 30 * MINUTE, []),
        (EIGHT + 2, EIGHT + 30 * MINUTE + 1, ["half past"]),
        (EIGHT + 30 * MINUTE, EIGHT + 2 * HOUR + 59 * MINUTE, ["half past"]),
        (EIGHT + 30 * MINUTE + 2, EIGHT + 2 * HOUR + 59 * MINUTE + 1, ["late"]),
        (EIGHT + HOUR, EIGHT + 2 * HOUR, []),
        (EIGHT + HOUR, EIGHT + HOUR, []),
    ]
    for begin, end, expected in cases:
        assert active(begin, end) == expected, (begin - EIGHT, end - EIGHT)


def test_of_many_active_devices_some_are_listed_and_all_are_counted(
    frozen_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_module, "ACTIVE_LISTED_MAX", 3)
    ada = frozen_world.person("ada")
    group = ada.group()
    sensors = devices(ada, group, 5)
    for number, sensor in enumerate(sensors):
        ok(post_record(ada, "data", sensor, EIGHT))
        found = report_of(ada, group, EIGHT - HOUR, EIGHT + HOUR)
        assert found["numberActiveDevices"] == number + 1
        assert found["activeDevices"] == sensors[: min(number + 1, 3)]


# --- what is counted, and where ---


def test_a_record_is_counted_when_it_arrives_whatever_its_timestamp(frozen_world: World) -> None:
    ada = frozen_world.person("ada")
    group = ada.group()
    sensor = device(ada, group)
    for recorded_at in (EIGHT - 400 * DAY, EIGHT, EIGHT + 400 * DAY, -SECOND):
        ok(post_record(ada, "data", sensor, recorded_at))
    assert report_of(ada, group, EIGHT, EIGHT + SECOND)["totalDeviceData"] == 4
    assert report_of(ada, group, EIGHT - DAY, EIGHT)["totalDeviceData"] == 0
    assert report_of(ada, group, EIGHT + 399 * DAY, EIGHT + 401 * DAY)["totalDeviceData"] == 0


@pytest.mark.slow
def test_repeated_and_refused_records_are_not_counted_and_deletions_subtract_nothing(
    frozen_world: World,
) -> None:
    ada = frozen_world.person("ada")
    group = ada.group()
    sensor, other = devices(ada, group, 2)
    for kind in KINDS:
        for _ in range(3):
            ok(post_record(ada, kind, sensor, EIGHT, "same"))
        ok(post_record(ada, kind, sensor, EIGHT, "different"))
        ok(post_record(ada, kind, other, EIGHT))
        refused(post_record(ada, kind, "dev_nowhere", EIGHT), 404, "deviceId")
        refused(ada.post(f"/device/{kind}", {"deviceId": sensor}), 400)
        good, bad = report(kind, sensor, EIGHT, "in a batch"), report(kind, "dev_x", EIGHT)
        refused(post_records(ada, kind, [good, bad]), 404, "items[1].deviceId")
    before = report_of(ada, group, EIGHT - HOUR, EIGHT + HOUR, timeSpan=60)
    assert {kind: before[TOTALS[kind]] for kind in KINDS} == dict.fromkeys(KINDS, 3)
    assert before["totalDeviceMessage"] == 12
    assert before["activeDevices"] == [sensor, other]

    ok(ada.put("/device/data", deviceId=sensor, timestamp=format_date(EIGHT)))
    ok(ada.delete("/device/event", deviceId=sensor, timestamp=format_date(EIGHT)))
    ok(ada.request("DELETE", "/device/data", json={"deviceId": sensor}))
    assert report_of(ada, group, EIGHT - HOUR, EIGHT + HOUR, timeSpan=60) == before
    ok(ada.delete("/device", deviceId=other, groupId=group))
    after = report_of(ada, group, EIGHT - HOUR, EIGHT + HOUR, timeSpan=60)
    assert after["items"] == before["items"]
    assert counted(ada, group, EIGHT) == dict.fromkeys(KINDS, 3)
    # A deleted record that is sent again is new, and is counted again.
    ok(post_record(ada, "data", sensor, EIGHT, "same"))
    assert counted(ada, group, EIGHT) == {**dict.fromkeys(KINDS, 3), "data": 4}


@pytest.mark.slow
def test_each_group_counts_its_own_records_and_subgroups_are_added_on_demand(
    frozen_world: World,
) -> None:
    ada, bob = frozen_world.person("ada"), frozen_world.person("bob")
    root, foreign = ada.group("root"), ada.group("foreign")
    below = ada.group("below", parent=root)
    deeper = ada.group("deeper", parent=below)
    groups = (root, below, deeper, foreign)
    sensors = [device(ada, group) for group in groups]
    for number, sensor in enumerate(sensors):
        for each in range(10**number):
            ok(post_records(ada, "geoloc", [report("geoloc", sensor, EIGHT, f"{each}")]))
            if each == 4:
                break

    def geolocs(person: Person, group: str, **params: Any) -> tuple[int, list[str]]:
        found = report_of(person, group, EIGHT - HOUR, EIGHT + HOUR, **params)
        assert sum(items_of(found, "geoloc")) == found["totalDeviceGeoloc"]
        assert {item["groupId"] for item in found["items"]} == {group} == {found["groupId"]}
        return found["totalDeviceGeoloc"], found["activeDevices"]

    alone = [(1, [sensors[0]]), (5, [sensors[1]]), (5, [sensors[2]]), (5, [sensors[3]])]
    assert [geolocs(ada, group) for group in groups] == alone
    assert geolocs(ada, root, subgroups="false") == alone[0]
    assert geolocs(ada, root, subgroups="true") == (11, sensors[:3])
    assert geolocs(ada, below, subgroups="true") == (10, sensors[1:3])
    assert geolocs(ada, foreign, subgroups="true") == alone[3]

    # A transfer moves neither counters nor active devices.
    body = {"deviceId": sensors[2], "groupId": deeper, "toGroupId": foreign}
    ok(ada.put("/device/transfer", body))
    ok(post_record(ada, "geoloc", sensors[2], EIGHT, "moved"))
    assert geolocs(ada, deeper) == (5, [sensors[2]])
    assert geolocs(ada, foreign) == (6, [sensors[2], sensors[3]])

    # Read permission in a group covers its subgroups, and nothing else.
    ada.invite(bob, below, "viewer")
    assert geolocs(bob, below, subgroups="true") == (10, sensors[1:3])
    query = {"beginDate": EIGHT // SECOND, "endDate": EIGHT // SECOND, "subgroups": "true"}
    refused(bob.get("/group/metrics", groupId=root, **query), 404, "groupId")


# --- permissions and validation ---


@pytest.mark.engine_free
def test_metrics_need_their_read_permission(world: World) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    group = ada.group()
    query = {"groupId": group, "beginDate": "2027-01-01", "endDate": "2027-01-02"}
    blind = ada.role("group.read", "device.read", "record.read", name="blind")
    ada.invite(bob, group, blind)
    refused(bob.get("/group/metrics", **query), 403)
    problem = refused(eve.get("/group/metrics", **query), 404, "groupId")
    absent = refused(eve.get("/group/metrics", **query | {"groupId": "4711"}), 404, "groupId")
    assert problem["detail"] == absent["detail"]
    refused(world.nobody.get("/group/metrics", **query), 401)
    ada.invite(eve, group, "viewer")
    for reader in (ada, eve, ada.app_client(group), world.operator):
        assert ok(reader.get("/group/metrics", **query))["totalDeviceMessage"] == 0


@pytest.mark.engine_free
def test_an_invalid_query_is_refused_with_every_invalid_field_named(world: World) -> None:
    ada = world.person("ada")
    right = {"groupId": ada.group(), "beginDate": "2027-01-01", "endDate": "2027-01-02"}
    wrong: list[tuple[dict[str, str], tuple[str, ...]]] = [
        ({"beginDate": "yesterday"}, ("beginDate",)),
        ({"endDate": ""}, ("endDate",)),
        ({"beginDate": "2027-01-03T00:00:01Z"}, ("beginDate",)),
        ({"beginDate": "2027-02-30", "endDate": "2027-13-01"}, ("beginDate",)),
        ({"timeSpan": "0"}, ("timeSpan",)),
        ({"timeSpan": "-60"}, ("timeSpan",)),
        ({"timeSpan": "1.5"}, ("timeSpan",)),
        ({"timeSpan": "an hour"}, ("timeSpan",)),
        ({"timeSpan": str(10**9 + 1)}, ("timeSpan",)),
        ({"timeSpan": "9" * 30}, ("timeSpan",)),
        ({"timeSpan": "1"}, ("timeSpan",)),
        ({"subgroups": "perhaps"}, ("subgroups",)),
        ({"groupId": ""}, ("groupId",)),
        ({"timeSpan": "x", "subgroups": "x"}, ("timeSpan", "subgroups")),
    ]
    for change, fields in wrong:
        problem = refused(ada.get("/group/metrics", **right | change), 400)
        named = {error["field"] for error in problem["errors"]}
        assert named >= set(fields), (change, problem)
        assert {error["in"] for error in problem["errors"]} == {"query"}, change
    for name in right:
        left = {key: value for key, value in right.items() if key != name}
        refused(ada.get("/group/metrics", **left), 400, name)
    assert ok(ada.get("/group/metrics", **right))["items"]

"""Shared views: a link shows what was shared, as long as its creator may, and nothing else."""

import json
from typing import Any

import pytest

from longwire.dates import format_date
from longwire.fleet import share_uses
from longwire.process import maintenance
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

Json = dict[str, Any]
READ = ("/share/link", "/share/series", "/share/devices", "/share/positions")


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(share_uses, "INTERVAL_S", 0.05)
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 0.2)


def share(person: Person, group: str, *, days: int = 7, **view: Any) -> Json:
    body = {"groupId": group, "name": "Cold rooms", "expiresInDays": days, **view}
    return dict(ok(person.post("/share", body)))


def visitor(world: World, link: Json) -> Person:
    """Somebody who has the link, and nothing else."""
    return Person(world, link["url"].partition("#")[2], "", ("", ""))


def state(who: Person) -> str:
    return str(ok(who.get("/share/link"))["state"])


def get(person: Person, group: str, link: Json) -> Json:
    items = ok(person.get("/group/shares", groupId=group))["items"]
    return next(each for each in items if each["id"] == link["id"])


def renew(person: Person) -> None:
    """Access tokens expire with the clock."""
    person.token = person.world.token(person.client_id, person.client_secret)


def test_a_link_shows_each_kind_of_view_and_no_more(make_world):
    world = make_world()
    ada = world.person("ada")
    group, elsewhere = ada.group("Harbour"), ada.group("Elsewhere")
    below = ada.group("Quay", parent=group)
    freezer, cellar = ada.device(group, name="Freezer"), ada.device(group, name="Cellar")
    other, quay = ada.device(elsewhere, name="Vault"), ada.device(below, name="Quay door")
    now = format_date(world.clock.now())
    for device, value in ((freezer, -18.5), (cellar, 9), (other, 98765), (quay, 5)):
        ada.reports(device, data=json.dumps({"temperature": value, "secret": 4}), timestamp=now)
        ada.reports(device, "geoloc", lat=51.9, lng=value / 1_000, radius=40, timestamp=now)
    ada.reports(freezer, data='{"door": "open"}', timestamp=now)

    device = share(ada, group, device={"deviceId": freezer, "values": ["temperature"]})
    shown = ok(visitor(world, device).get("/share/devices"))
    (row,) = shown["items"]
    assert (row["deviceName"], row["values"]["temperature"]["value"]) == ("Freezer", -18.5)
    assert list(row["values"]) == ["temperature"] and "position" not in row
    placed = share(ada, group, device={"deviceId": freezer, "position": True})
    (row,) = ok(visitor(world, placed).get("/share/devices"))["items"]
    assert (row["position"]["lat"], row["position"]["radius"]) == (51.9, 40)

    listed = share(
        ada, group, list={"values": ["temperature"], "where": ["temperature<7"], "subgroups": True}
    )
    reader = visitor(world, listed)
    rows = ok(reader.get("/share/devices"))["items"]
    assert [each["deviceName"] for each in rows] == ["Freezer", "Quay door"]
    assert all(set(each) <= {"deviceName", "seenAt", "values"} for each in rows)
    first = ok(reader.get("/share/devices", limit=1))
    second = ok(reader.get("/share/devices", limit=1, nextToken=first["nextToken"]))
    assert [each["deviceName"] for each in second["items"]] == ["Quay door"]

    mapped = share(ada, group, map={})
    places = ok(visitor(world, mapped).get("/share/positions"))
    assert {each["deviceName"] for each in places["items"]} == {"Freezer", "Cellar"}
    assert places["total"] == 2

    chart = share(ada, group, chart={"measurements": ["temperature"], "deviceIds": [cellar]})
    (line,) = ok(visitor(world, chart).get("/share/series"))["lines"]
    assert (line["deviceName"], [each["value"] for each in line["points"]]) == ("Cellar", [9])
    together = {"measurements": ["temperature"], "subgroups": True, "combine": "max"}
    summed = share(ada, group, chart={**together, "calendarSpan": "day", "timezone": "Asia/Tokyo"})
    series = ok(visitor(world, summed).get("/share/series"))
    (line,) = series["lines"]
    assert [each["value"] for each in line["points"]] == [9] and "deviceName" not in line
    assert series["beginDate"].endswith("T15:00:00.000Z")  # the begin of a day there

    # Nothing says more than what was shared, and a link opens its own view only.
    for link, path in ((device, READ[2]), (listed, READ[2]), (mapped, READ[3]), (chart, READ[1])):
        text = visitor(world, link).get(path).text
        for hidden in (group, freezer, other, "Vault", "secret", "98765", ada.id):
            assert hidden not in text
    for path in (READ[1], READ[3]):
        assert refused(visitor(world, device).get(path), 404)
    assert refused(reader.get("/group/devices", groupId=group), 401)
    assert refused(reader.get("/share/devices", nextToken="x"), 400, "nextToken")
    summary = {each["id"]: each for each in ok(ada.get("/group/shares", groupId=group))["items"]}
    assert "url" not in summary[chart["id"]]
    assert summary[chart["id"]]["chart"]["deviceIds"] == [cellar]
    # The secret is stored nowhere, in the audit log neither.
    secret = device["url"].partition("#")[2]
    assert secret.startswith("lwv_") and secret not in repr(world.everything())


def test_a_link_ends_with_what_its_creator_may_see(make_world):
    world = make_world()
    ada, bob = world.person("ada"), world.person("bob")
    group, elsewhere = ada.group(), ada.group("Elsewhere")
    first, second = ada.device(group, name="First"), ada.device(group, name="Second")
    for each in (first, second):
        now = format_date(world.clock.now())
        ada.reports(each, data='{"temperature": 5}', timestamp=now)
    ada.invite(bob, group, "manager")
    by_bob = visitor(world, share(bob, group, device={"deviceId": first}))
    chart = {"measurements": ["temperature"], "deviceIds": [first, second]}
    both = visitor(world, share(ada, group, chart=chart))
    single = visitor(world, share(ada, group, device={"deviceId": second}))
    ended = visitor(world, share(ada, group, days=1, map={}))
    assert state(by_bob) == state(both) == state(single) == state(ended) == "open"

    # Whoever may only read may not publish, so what they have published ends as well.
    member = {"groupId": group, "userId": bob.id}
    ok(ada.put("/group/user", {**member, "roleId": "viewer"}))
    assert state(by_bob) == "forbidden"
    assert refused(by_bob.get("/share/devices"), 403)
    ok(ada.put("/group/user", {**member, "roleId": "manager"}))
    assert state(by_bob) == "open"
    ok(ada.delete("/group/user", **member))
    assert state(by_bob) == "forbidden"

    # A device that has moved is shown no more, not even what it said before.
    ok(ada.put("/device/transfer", {"deviceId": second, "groupId": group, "toGroupId": elsewhere}))
    assert state(single) == "gone"
    assert refused(single.get("/share/devices"), 403)
    lines = ok(both.get("/share/series"))["lines"]
    assert [each["deviceName"] for each in lines] == ["First"]
    ok(ada.delete("/device", deviceId=first, groupId=group))
    assert state(both) == "gone"
    assert refused(both.get("/share/series"), 403)

    world.clock.let_pass(days=1)
    assert state(ended) == "expired"
    assert refused(ended.get("/share/positions"), 403)
    renew(ada)
    lasting = share(ada, group, map={})
    kept = visitor(world, lasting)
    assert state(kept) == "open"
    ok(ada.delete("/share", groupId=group, shareId=lasting["id"]))
    assert refused(ada.delete("/share", groupId=group, shareId=lasting["id"]), 404)
    for path in READ:
        for who in (kept, Person(world, "lwv_wrong", "", ("", "")), ada):
            detail = refused(who.get(path), 401)["detail"]
            assert detail == "The link is invalid, or was revoked."

    # With its group everything ends.
    again = visitor(world, share(ada, group, map={}))
    ok(ada.delete("/group", groupId=group))
    assert again.get("/share/link").status_code == 401 or state(again) == "forbidden"
    assert again.get("/share/positions").status_code in (401, 403)


def test_uses_are_counted_and_in_the_audit_log_once_a_day(make_world):
    world = make_world()
    ada = world.person("ada")
    group = ada.group()
    link = share(ada, group, map={})
    reader = visitor(world, link)
    for _ in range(3):
        assert state(reader) == "open"
        ok(reader.get("/share/positions"))
    eventually(lambda: get(ada, group, link)["uses"] == 3)
    first = get(ada, group, link)
    assert first["firstUsedAt"] <= first["lastUsedAt"]
    world.clock.let_pass(days=1)
    renew(ada)
    assert state(reader) == "open"
    eventually(lambda: get(ada, group, link)["uses"] == 4)
    assert get(ada, group, link)["firstUsedAt"] == first["firstUsedAt"]
    ok(ada.delete("/share", groupId=group, shareId=link["id"]))
    old = share(ada, group, days=1, map={})
    world.clock.let_pass(days=9)
    eventually(lambda: ("system", "share.expire", old["id"]) in world.audit())
    renew(ada)
    assert ok(ada.get("/group/shares", groupId=group))["items"] == []
    entries = [each for each in world.audit() if each[2] == link["id"]]
    assert [action for _, action, _ in entries] == [
        *("share.create", "share.use", "share.use", "share.delete")
    ]
    newest, *_ = ok(ada.get("/group/audit", groupId=group, objectId=link["id"]))["items"]
    before = newest["before"]
    assert (newest["action"], before["uses"]) == ("share.delete", 4)
    assert before["firstUsedAt"] == first["firstUsedAt"] < before["lastUsedAt"]


def test_only_named_origins_may_embed_a_link(make_world):
    world = make_world()
    ada = world.person("ada")
    group = ada.group()
    origins = ["https://www.example.com", "http://localhost:8000"]
    link, plain = share(ada, group, map={}, origins=origins), share(ada, group, map={})

    def ancestors(path: str) -> str:
        policy = world.http.get(path).headers["content-security-policy"]
        return next(each for each in policy.split("; ") if each.startswith("frame-ancestors"))

    page = f"/console/shared/{link['id']}"
    assert link["url"].partition("#")[0].endswith(page)
    assert ancestors(page) == f"frame-ancestors {' '.join(origins)}"
    none = "frame-ancestors 'none'"
    for path in (
        f"/console/shared/{plain['id']}",
        "/console/shared/shr_x",
        "/console/",
        f"{page}/x",
    ):
        assert ancestors(path) == none
    # The page is cached, and what may embed it is not forgotten with it.
    etag = world.http.get(page).headers["etag"]
    assert world.http.get(page, headers={"if-none-match": etag}).status_code == 304
    plain_page = f"/console/shared/{plain['id']}"
    assert world.http.get(plain_page, headers={"if-none-match": etag}).status_code == 200
    ok(ada.delete("/share", groupId=group, shareId=link["id"]))
    assert ancestors(page) == none


WRONG = [
    ({"origins": ["https://*.example.com"]}, "origins[0]"),
    ({"origins": ["https://a.example.com", "https://a; script-src *"]}, "origins[1]"),
    ({"origins": ["http://www.example.com"]}, "origins[0]"),
    ({"origins": ["https://www.example.com/page"]}, "origins[0]"),
    ({"expiresInDays": 0}, "expiresInDays"),
    ({"expiresInDays": 367}, "expiresInDays"),
    ({"map": None}, "chart"),
    ({"list": {}}, "map"),
    ({"map": None, "chart": {"measurements": ["nothing"]}}, "chart.measurements[0]"),
    ({"map": None, "chart": {"measurements": []}}, "chart.measurements"),
    (
        {
            "map": None,
            "chart": {"measurements": ["temperature"], "calendarSpan": "day", "timezone": "X"},
        },
        "chart.timezone",
    ),
    ({"map": None, "chart": {"measurements": ["temperature"], "combine": "none"}}, "chart.combine"),
    (
        {"map": None, "chart": {"measurements": ["temperature"], "beginDate": "2026-01-01"}},
        "chart.endDate",
    ),
    (
        {
            "map": None,
            "chart": {
                "measurements": ["temperature"],
                **{"beginDate": "2026-01-01", "endDate": "2026-01-02", "lastSeconds": 60},
            },
        },
        "chart.lastSeconds",
    ),
    (
        {
            "map": None,
            "chart": {
                "measurements": ["temperature"],
                **{"beginDate": "0001-01-01", "endDate": "0101-01-01", "timeSpan": 10**9},
            },
        },
        "chart.beginDate",
    ),
    ({"map": None, "list": {"where": ["temperature~7"]}}, "list.where[0]"),
    ({"name": ""}, "name"),
]


@pytest.mark.engine_free
def test_what_cannot_be_shared_is_refused(make_world):
    world = make_world(shares_per_group_max=1)
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    group, hers = ada.group(), eve.group()
    device = ada.device(group)
    ada.reports(device, data='{"temperature": 5}')
    ada.invite(bob, group, "viewer")
    valid = {"groupId": group, "name": "Cold rooms", "expiresInDays": 40, "map": {}}
    for wrong, field in WRONG:
        problem = refused(ada.post("/share", {**valid, **wrong}), 400)
        assert [each["field"] for each in problem["errors"]] == [field], problem
    assert ok(ada.get("/group/shares", groupId=group))["items"] == []
    # A viewer sees the links, and publishes nothing; strangers see none.
    assert refused(bob.post("/share", valid), 403)
    assert refused(eve.post("/share", valid), 404)
    of_others = {**valid, "groupId": hers, "map": None, "device": {"deviceId": device}}
    assert refused(eve.post("/share", of_others), 404)
    # Nobody watches what a program does, so what it publishes ends within a month.
    program = ada.app_client(group)
    assert refused(program.post("/share", valid), 403)
    named = {"groupId": group, "name": "app", "newName": "app"}
    ok(ada.put("/appClient", {**named, "roleId": "manager"}))
    assert refused(program.post("/share", valid), 400, "expiresInDays")
    link = share(program, group, days=30, map={})
    assert state(visitor(world, link)) == "open"
    assert refused(ada.post("/share", valid), 409)["code"] == "limit_reached"
    assert refused(bob.delete("/share", groupId=group, shareId=link["id"]), 403)
    ok(ada.delete("/appClient", name=group, appClientId=program.id))
    assert state(visitor(world, link)) == "forbidden"


@pytest.mark.engine_free
def test_a_link_that_is_read_too_often_waits(make_world, monkeypatch):
    monkeypatch.setattr("longwire.process.app_config.SHARED_VIEWS_PER_LINK_AND_MINUTE", 3)
    monkeypatch.setattr("longwire.process.app_config.SHARED_VIEWS_PER_ADDRESS_AND_MINUTE", 6)
    world = make_world()
    world.clock.freeze()
    ada = world.person("ada")
    group = ada.group()
    link, other = share(ada, group, map={}), share(ada, group, map={})
    reader = visitor(world, link)
    assert [reader.get("/share/link").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert state(visitor(world, other)) == "open"
    # Whoever guesses is stopped before anything is looked up.
    stranger = Person(world, "lwv_wrong", "", ("", ""))
    assert [stranger.get("/share/link").status_code for _ in range(2)] == [401, 429]

"""Jobs: what they do with devices, who may start them, cancel, undo, and what is left over."""

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.fleet import device_types
from longwire.jobs import jobs, message_estimates, messages, redecoding, steps
from longwire.jobs.results import StepPostponed
from longwire.model import SYSTEM, DeviceFilter
from longwire.process import maintenance
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.jobs import jobs as store
from longwire.store.statement import Statement
from tests.delivery.receiver import Receiver
from tests.fleet.test_device_search import report_battery
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, record_of, refused, walk

Values = dict[str, Any]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few devices make several steps."""
    monkeypatch.setattr(steps, "DEVICES_PER_STEP_MAX", 2)
    monkeypatch.setattr(redecoding, "DEVICES_PER_STEP_MAX", 2)
    monkeypatch.setattr(redecoding, "RECORDS_PER_STEP_MAX", 3)
    monkeypatch.setattr(messages, "MESSAGES_PER_STEP_MAX", 4)


@pytest.fixture
def ada(world: World) -> Person:
    return world.person("ada")


@pytest.fixture
def home(ada: Person) -> str:
    return ada.group("home")


def start(person: Person, group: str, kind: str, /, **fields: Any) -> Values:
    """Start a job with the devices of a group; the job."""
    body = {"kind": kind, "groupId": group, **fields}
    if "deviceIds" not in body:
        body.setdefault("filter", {})
    return dict(ok(person.post("/job", body))["job"])


def job_of(person: Person, job: Values) -> Values:
    return dict(ok(person.get("/job", groupId=job["groupId"], jobId=job["jobId"])))


def ended(person: Person, job: Values) -> Values:
    """The job after its end."""
    eventually(lambda: "endedAt" in job_of(person, job))
    return job_of(person, job)


def succeeded(person: Person, job: Values) -> Values:
    job = ended(person, job)
    assert job["state"] == "succeeded", job
    return job


def undo(person: Person, job: Values) -> Values:
    body = {"groupId": job["groupId"], "jobId": job["jobId"]}
    return ended(person, ok(person.post("/job/undo", body)))


def items_of(person: Person, job: Values, **params: Any) -> list[tuple[str, str, str | None]]:
    found = walk(
        partial(person.get, "/job/items"),
        groupId=job["groupId"],
        jobId=job["jobId"],
        limit=2,
        **params,
    )
    return [(each["deviceId"], each["outcome"], each.get("code")) for each in found]


def counts(job: Values) -> tuple[int, int, int, int]:
    return job["done"], job["changed"], job["skipped"], job["failed"]


def device_of(person: Person, device: str) -> Values:
    return dict(ok(person.get("/device", deviceId=device)))


def ids_in(person: Person, group: str) -> list[str]:
    found = walk(partial(person.get, "/group/devices"), groupId=group)
    return [each["deviceId"] for each in found]


# --- what they do ---


@pytest.mark.engine_free
def test_tags_are_changed_by_filter_and_set_back(ada: Person, home: str) -> None:
    below = ada.group("below", parent=home)
    devices = [ada.device(home, tags=["old", "kept"]) for _ in range(5)]
    others = [ada.device(home, type="tracker"), ada.device(below, tags=["old"])]
    parameters = {"addTags": ["new"], "removeTags": ["old"]}
    job = start(ada, home, "tag", filter={"type": "generic"}, parameters=parameters, reason="why")
    assert (job["state"], job["total"], job["done"]) == ("waiting", 5, 0)
    assert (job["reason"], job["createdBy"], job["parameters"]) == ("why", ada.id, parameters)
    job = succeeded(ada, job)
    assert counts(job) == (5, 5, 0, 0)
    assert [device_of(ada, each)["tags"] for each in devices] == [["kept", "new"]] * 5
    assert [device_of(ada, each)["tags"] for each in others] == [[], ["old"]]
    assert items_of(ada, job) == [(each, "changed", None) for each in devices]

    again = succeeded(ada, start(ada, home, "tag", filter={}, parameters=parameters))
    assert counts(again) == (6, 1, 5, 0), "what is so already is only counted"

    ok(ada.put("/device", {"deviceId": devices[1], "groupId": home, "tags": ["mine"]}))
    ok(ada.put("/device", {"deviceId": devices[2], "groupId": home, "name": "renamed"}))
    undone = undo(ada, job)
    assert counts(undone) == (5, 4, 1, 0)
    assert items_of(ada, undone) == [(devices[1], "skipped", "changed_meanwhile")]
    tags = [device_of(ada, each)["tags"] for each in devices]
    assert tags == [["old", "kept"], ["mine"], *[["old", "kept"]] * 3]
    assert undone["undoOf"] == job["jobId"]
    assert job_of(ada, job)["undoneBy"] == undone["jobId"]
    assert len(items_of(ada, job, outcome="undone")) == 4
    repeated = undo(ada, job)
    assert counts(repeated) == (1, 0, 1, 0), "what is undone is not undone twice"


@pytest.mark.engine_free
def test_devices_are_transferred_with_their_subgroups_and_back_to_where_they_were(
    ada: Person, home: str
) -> None:
    # The target is reached after the others.
    below, target = ada.group("below", parent=home), ada.group("target", parent=home)
    devices = [ada.device(home), ada.device(home), ada.device(below), ada.device(home)]
    there = ada.device(target)
    for device in devices:
        ada.reports(device)
    parameters = {"toGroupId": target}
    job = start(ada, home, "transfer", filter={"subgroups": True}, parameters=parameters)
    job = succeeded(ada, job)
    assert counts(job) == (4, 4, 0, 0)
    assert set(ids_in(ada, target)) == {*devices, there}
    assert ok(ada.get("/group", groupId=target))[0]["numberOfDevices"] == 5
    ok(ada.delete("/device", deviceId=devices[0], groupId=target))
    undone = undo(ada, job)
    assert counts(undone) == (4, 3, 1, 0)
    assert items_of(ada, undone) == [(devices[0], "skipped", "gone")]
    assert set(ids_in(ada, home)) == {devices[1], devices[3]}
    assert ids_in(ada, below) == [devices[2]]
    assert len(ada.records(devices[1])) == 1


def test_type_and_configuration_are_set_and_set_back(ada: Person, home: str) -> None:
    devices = [ada.device(home) for _ in range(3)]
    before = [device_of(ada, each) for each in devices]
    for kind, parameters in (
        ("configuration", {"configuration": '{"silentAfter":60}'}),
        ("type", {"type": "tracker"}),
    ):
        job = succeeded(ada, start(ada, home, kind, deviceIds=devices[:2], parameters=parameters))
        changed = device_of(ada, devices[0])
        assert changed[kind] == parameters[kind]
        assert device_of(ada, devices[2]) == before[2]
        assert counts(undo(ada, job)) == (2, 2, 0, 0)
        after = device_of(ada, devices[0])
        assert (after["type"], after["configuration"]) == ("generic", before[0]["configuration"])


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_restored_device_has_the_slot_that_it_has_now(
    world: World, ada: Person, home: str
) -> None:
    device = ada.device(home)
    own_slot = slots.bucket_of(device) % world.database.slots
    ada.reports(device)
    job = succeeded(ada, start(ada, home, "delete"))

    def set_other_slot(tx: Tx) -> None:
        """As if it had been deleted when there were several."""
        (text,) = tx.rows(sa.select(schema.binned_device.c.snapshot))[0]
        snapshot = json.loads(text)
        snapshot["device"]["slot"] = own_slot + 3
        tx.execute(sa.update(schema.binned_device).values(snapshot=json.dumps(snapshot)))

    world.write(set_other_slot)
    assert counts(undo(ada, job)) == (1, 1, 0, 0)
    ada.reports(device, timestamp="2026-03-02T12:00:00Z")
    assert len(ada.records(device)) == 2
    rows = world.read(lambda tx: tx.rows(sa.select(schema.device)))
    assert [row.slot for row in rows] == [own_slot]


def test_deleted_devices_are_gone_for_everybody_and_can_be_restored(
    world: World, ada: Person, home: str
) -> None:
    devices = [ada.device(home, originalId=f"A{number}", tags=["t"]) for number in range(4)]
    for device in devices:
        ada.reports(device)
    before = [device_of(ada, each) for each in devices]
    job = succeeded(ada, start(ada, home, "delete"))
    for person in (ada, world.operator):
        assert ids_in(person, home) == []
        for device in devices:
            refused(person.get("/device", deviceId=device), 404)
            refused(person.get("/device/data", deviceId=device), 404)
            refused(person.post("/device/data", record_of(device)), 404)
    assert ok(ada.get("/group", groupId=home))[0]["numberOfDevices"] == 0

    taken = world.person("bob")
    new = taken.device(taken.group(), originalId="a1")
    undone = undo(ada, job)
    assert counts(undone) == (4, 3, 1, 0)
    assert items_of(ada, undone) == [(devices[1], "skipped", "original_id_taken")]
    restored = [devices[0], *devices[2:]]
    assert ids_in(ada, home) == restored
    assert [device_of(ada, each) for each in restored] == [before[0], *before[2:]]
    assert [len(ada.records(each)) for each in restored] == [1, 1, 1]
    ada.reports(devices[0], timestamp="2026-03-02T12:00:00Z")
    assert ok(ada.get("/group", groupId=home))[0]["numberOfDevices"] == 3

    ok(taken.delete("/device", deviceId=new, groupId=device_of(taken, new)["groupId"]))
    assert counts(undo(ada, job)) == (1, 1, 0, 0), "the rest can be restored later"
    assert ids_in(ada, home) == devices


def test_after_a_day_deleted_devices_are_erased_and_nothing_can_be_undone(
    world: World, ada: Person, home: str
) -> None:
    devices = [ada.device(home) for _ in range(3)]
    for device in devices:
        ada.reports(device)
    job = succeeded(ada, start(ada, home, "delete"))

    def maintain() -> dict[str, int]:
        world._run(maintenance.delete_old_jobs(world.database, 30))
        tables = world.everything()
        names = ("binned_device", "device_stay", "erasure", "job_item", "job")
        return {name: len(tables[name]) for name in names}

    kept = {"binned_device": 3, "device_stay": 3, "erasure": 0, "job_item": 3, "job": 1}
    assert maintain() == kept
    world.clock.let_pass(seconds=86_401)
    ada.token = world.token(ada.client_id, ada.client_secret)
    refused(ada.post("/job/undo", {"groupId": home, "jobId": job["jobId"]}), 409)
    erased = maintain()
    erasures = erased.pop("erasure")
    assert erased == {"binned_device": 0, "device_stay": 0, "job_item": 0, "job": 1}
    assert erasures <= 3, "maintenance deletes the records themselves"
    assert "undoUntil" not in job_of(ada, job)
    world.clock.let_pass(days=30)
    assert maintain()["job"] == 0


def test_payloads_are_decoded_again_once_there_is_a_decoder(
    world: World, ada: Person, home: str
) -> None:
    devices = [ada.device(home) for _ in range(5)]
    for device in devices[:4]:
        for hour in range(4):
            # A temperature in Cayenne LPP; one that is none
            raw = "016700EF" if hour else "01FF"
            ada.reports(device, timestamp=f"2026-03-01T0{hour}:00:00Z", __raw=raw)
    ada.reports(devices[0], timestamp="2026-03-02T00:00:00Z", __raw="016700EF")
    world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, "generic", "cayenneLpp", ""))
    parameters = {"beginDate": "2026-03-01", "endDate": "2026-03-01"}
    refused(
        ada.post(
            "/job",
            {
                "kind": "redecode",
                "groupId": home,
                "filter": {},
                "parameters": {"beginDate": "soon", "endDate": "2026-02-30"},
            },
        ),
        400,
        "parameters.beginDate",
        "parameters.endDate",
    )
    job = succeeded(ada, start(ada, home, "redecode", parameters=parameters))
    assert counts(job) == (5, 12, 0, 4)
    assert set(items_of(ada, job)) == {(each, "failed", "rejected") for each in devices[:4]}
    values = ["temperature" in each["data"] for each in ada.records(devices[0])]
    assert values == [False, True, True, True, False], "the last is not of the period"
    again = succeeded(ada, start(ada, home, "redecode", parameters=parameters))
    assert counts(again) == (5, 0, 12, 4)
    ref = {"groupId": home, "jobId": job["jobId"]}
    refused(ada.post("/job/undo", ref), 409)


def test_only_messages_of_the_chosen_devices_are_resent_and_replayed(
    world: World, ada: Person, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve = world.person("eve")
    foreign = eve.connector(eve.group(), "http://127.0.0.1:9/")
    chosen, other = (ada.device(home, tags=[tag]) for tag in ("chosen", "other"))
    with Receiver(500) as receiver:
        once = {"retryDelay": 1, "maxRetry": 0}
        connector = ada.connector(home, receiver.url, retryPolicy=once)
        for second in range(5):
            for device in (chosen, other):
                ada.reports(device, timestamp=f"2026-03-01T12:00:0{second}Z")
        eventually(lambda: ada.events(home, connector)["stats"]["totalFailed"] == 10)
        ids: dict[str, set[str]] = {chosen: set(), other: set()}
        for each in receiver.requests:
            ids[each.json["deviceId"]].add(each.id)
        receiver.clear()
        receiver.respond_with(200)
        body = {"groupId": home, "kind": "resend", "filter": {"tag": "chosen"}}
        with nothing_happens(world):
            refused(
                ada.post("/job", {**body, "parameters": {"connectorId": foreign}}),
                404,
                "parameters.connectorId",
            )
            refused(
                ada.post("/job", {**body, "kind": "replay"}),
                400,
                *(f"parameters.{name}" for name in ("connectorId", "beginDate", "endDate")),
            )
        parameters = {"connectorId": connector}
        period = {"beginDate": "2026-03-01T12:00:01Z", "endDate": "2026-03-01T12:00:03Z"}
        with nothing_happens(world):
            tried = ok(ada.post("/job", {**body, "parameters": parameters, "dryRun": True}))
            assert (tried["total"], tried["messages"]) == (1, 5), "devices, and messages of them"
            assert "messagesIsMore" not in tried
            of_chosen = ok(ada.get("/group/records", groupId=home, deviceId=chosen))["items"]
            assert set(tried["messageSample"]) == {each["id"] for each in of_chosen}
            replay = {"kind": "replay", "groupId": home, "deviceIds": [other], "dryRun": True}
            replay["parameters"] = {**parameters, **period}
            tried = ok(ada.post("/job", replay))
            assert (tried["messages"], len(tried["messageSample"])) == (2, 2)
            monkeypatch.setattr(message_estimates, "DEAD_LETTERS_PER_STEP_MAX", 3)
            monkeypatch.setattr(message_estimates, "DEAD_LETTERS_MAX", 6)
            tried = ok(ada.post("/job", {**body, "parameters": parameters, "dryRun": True}))
            assert (tried["messages"], tried["messagesIsMore"]) == (3, True)
            monkeypatch.setattr(message_estimates, "SECONDS_MAX", -1.0)
            tried = ok(ada.post("/job", {**body, "parameters": parameters, "dryRun": True}))
            assert tried["messagesIsMore"] is True and tried["messages"] < 3
        job = start(ada, home, "resend", filter=body["filter"], parameters=parameters)
        assert counts(succeeded(ada, job)) == (10, 5, 5, 0)
        receiver.wait_for(5)
        assert set(receiver.ids) == ids[chosen]
        eventually(lambda: ada.events(home, connector)["stats"]["totalSucceed"] == 5)

        receiver.clear()
        job = start(ada, home, "replay", deviceIds=[other], parameters={**parameters, **period})
        job = succeeded(ada, job)
        assert counts(job) == (4, 2, 2, 0)
        assert job["parameters"]["beginDate"] == "2026-03-01T12:00:01.000Z"
        receiver.wait_for(2)
        assert set(receiver.ids) <= ids[other]
        assert (job["noUndo"], "undoUntil" in job) == ("messages_sent", False)
        refused(ada.post("/job/undo", {"groupId": home, "jobId": job["jobId"]}), 409)


# --- dry run, refusals ---


def test_a_dry_run_counts_and_shows_some_and_changes_nothing(ada: Person, home: str) -> None:
    below = ada.group("below", parent=home)
    for number in range(30):
        ada.device(below if number % 2 else home, tags=["x"] if number < 24 else [])
    body = {"kind": "delete", "groupId": home, "filter": {"tag": "x"}, "dryRun": True}
    with nothing_happens(ada.world):
        tried = ok(ada.post("/job", body))
        wide = ok(ada.post("/job", {**body, "filter": {"tag": "x", "subgroups": True}}))
    assert (tried["total"], len(tried["sample"]), tried["dryRun"]) == (12, 12, True)
    assert "job" not in tried
    assert (wide["total"], len(wide["sample"])) == (24, 20)
    named = ok(ada.post("/job", {**body, "filter": {"q": "device 2", "seen": "never"}}))
    assert {each["name"] for each in named["sample"]} >= {"device 21", "device 23"}


def test_a_filter_means_the_same_in_lists_exports_and_jobs(world: World, ada: Person) -> None:
    home = ada.group("home")
    fleet = [
        ada.device(home, name="cold room", tags=["roof"]),
        ada.device(home, type="tracker", network="chirpstack", originalId="00000000000000a1"),
        ada.device(home, network="ttn", originalId="00000000000000a2"),
    ]
    ada.reports(fleet[1])
    report_battery(ada, home, "00000000000000a1", 12)
    names = {each.name for each in dataclasses.fields(DeviceFilter)}
    assert names == {"q", "type", "network", "tag", "seen", "battery_below"}
    for number, wanted in enumerate(
        (
            {"q": "cold"},
            {"type": "tracker"},
            {"network": "ttn"},
            {"tag": "roof"},
            {"seen": "never"},
            {"batteryBelow": 20},
            {"type": "tracker", "network": "ttn"},
        )
    ):
        listed = ok(ada.get("/devices", groupId=home, **wanted))
        ids = {each["deviceId"] for each in listed["items"]}
        assert len(ids) == {"seen": 2}.get(next(iter(wanted)), len(wanted) % 2), wanted
        body = {"kind": "delete", "groupId": home, "filter": wanted, "dryRun": True}
        tried = ok(ada.post("/job", body))
        assert {each["deviceId"] for each in tried["sample"]} == ids
        exported = ada.get("/devices/export", groupId=home, **wanted).text.splitlines()
        assert {json.loads(each)["deviceId"] for each in exported} == ids
        job = succeeded(
            ada, start(ada, home, "tag", filter=wanted, parameters={"addTags": [str(number)]})
        )
        assert {each[0] for each in items_of(ada, job)} == ids


def test_every_wrong_field_is_named_and_nothing_is_started(ada: Person, home: str) -> None:
    device = ada.device(home)
    body = {"groupId": home, "deviceIds": [device]}
    wrong: list[tuple[Values, tuple[str, ...]]] = [
        ({"kind": "paint"}, ("kind",)),
        ({"kind": "delete", "filter": {}}, ("deviceIds", "filter")),
        ({"kind": "delete", "deviceIds": None}, ("deviceIds", "filter")),
        ({"kind": "transfer"}, ("parameters.toGroupId",)),
        ({"kind": "transfer", "parameters": {"toGroupId": home}}, ("parameters.toGroupId",)),
        ({"kind": "tag"}, ("parameters.addTags", "parameters.removeTags")),
        (
            {"kind": "delete", "parameters": {"type": "tracker", "addTags": ["a"]}},
            ("parameters.type", "parameters.addTags"),
        ),
        ({"kind": "type", "parameters": {"type": "submarine"}}, ("parameters.type",)),
    ]
    with nothing_happens(ada.world):
        for change, fields in wrong:
            refused(ada.post("/job", {**body, **change}), 400, *fields)
        unknown = {**body, "kind": "delete", "deviceIds": [device, "dev_nobody"]}
        refused(ada.post("/job", unknown), 404, "deviceIds[1]")
        refused(ada.get("/jobs", groupId=home, state="lost"), 400, "state")
        refused(ada.get("/job", groupId=home, jobId="job_nobody"), 404, "jobId")


@pytest.mark.engine_free
def test_a_job_needs_the_permissions_of_the_single_operation(world: World, ada: Person) -> None:
    home, other = ada.group("home"), ada.group("other")
    bob, eve = world.person("bob"), world.person("eve")
    ada.invite(bob, home, ada.role("device.read", "device.update", "device.transfer"))
    device = ada.device(home)
    body = {"groupId": home, "filter": {}}
    tag = {**body, "kind": "tag", "parameters": {"addTags": ["a"]}}
    with nothing_happens(world):
        refused(bob.post("/job", {**body, "kind": "delete"}), 403)
        move = {**body, "kind": "transfer", "parameters": {"toGroupId": other}}
        refused(bob.post("/job", move), 404, "parameters.toGroupId")
        refused(eve.post("/job", tag), 404, "groupId")
    job = succeeded(bob, ok(bob.post("/job", tag))["job"])
    deleted = succeeded(ada, start(ada, home, "delete"))
    ref = {"groupId": home, "jobId": job["jobId"]}
    with nothing_happens(world):
        refused(bob.post("/job/undo", {**ref, "jobId": deleted["jobId"]}), 403)
        refused(bob.post("/job/cancel", {**ref, "jobId": deleted["jobId"]}), 403)
        for request in (
            eve.get("/job", **ref),
            eve.get("/job/items", **ref),
            eve.get("/jobs", groupId=home),
            eve.post("/job/cancel", ref),
            eve.post("/job/undo", ref),
        ):
            refused(request, 404, "groupId")
        elsewhere = {**ref, "groupId": other}
        refused(ada.post("/job/undo", elsewhere), 404, "jobId")
    found = ok(ada.get("/jobs", groupId=home))["items"]
    assert [(each["kind"], each["createdBy"]) for each in found] == [
        ("delete", ada.id),
        ("tag", bob.id),
    ]
    assert device not in ids_in(ada, home)
    assert [each for each in world.audit() if each[1] in ("device.update", "device.delete")] == [
        (bob.id, "device.update", device),
        (ada.id, "device.delete", device),
    ]


# --- while they run ---


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch, world: World) -> Callable[[int], None]:
    """Holds jobs after so many more steps."""
    run_step, allowed = steps.run_step, [0]

    def limited(*arguments: Any) -> Any:
        if allowed[0] == 0:
            raise StepPostponed
        allowed[0] -= 1
        return run_step(*arguments)

    monkeypatch.setattr("longwire.jobs.jobs.run_step", limited)

    def allow(more: int) -> None:
        allowed[0] += more

    return allow


def test_what_comes_into_a_group_after_a_job_is_not_part_of_it(
    world: World, ada: Person, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    below, elsewhere = ada.group("below", parent=home), ada.group("elsewhere")
    restored = ada.device(below, name="later-on restored")
    deleted = succeeded(ada, start(ada, below, "delete"))
    # It matches only later, but it was there.
    renamed = ada.device(home, name="renamed")
    run_step = steps.run_step

    def step(tx: Tx, actor: Any, job: Any, context: Any) -> Any:
        return postponed() if job.kind == "tag" else run_step(tx, actor, job, context)

    monkeypatch.setattr("longwire.jobs.jobs.run_step", step)
    for tag in "ab":  # so many run at once
        start(ada, home, "tag", parameters={"addTags": [tag]})
    wanted = {"groupId": home, "filter": {"q": "later-on", "subgroups": True}}
    assert ok(ada.post("/job", {"kind": "delete", "dryRun": True, **wanted}))["total"] == 0
    job = start(ada, home, "delete", **wanted)

    world.clock.let_pass(seconds=1)
    created = [
        ada.device(home, name="later-on"),
        ada.device(ada.group("new", parent=home), name="later-on"),
    ]
    transferred = ada.device(elsewhere, name="later-on")
    body = {"groupId": elsewhere, "deviceId": transferred, "toGroupId": home}
    ok(ada.put("/device/transfer", body))
    moved = ada.group("moved")
    moved_with = [
        ada.device(moved, name="later-on"),
        ada.device(ada.group("below it", parent=moved), name="later-on"),
    ]
    ok(ada.put("/group", {"groupId": moved, "parent": home}))
    undo(ada, deleted)
    ok(ada.put("/device", {"groupId": home, "deviceId": renamed, "name": "later-on"}))
    world.restart()
    monkeypatch.undo()
    assert items_of(ada, succeeded(ada, job)) == [(renamed, "changed", None)]
    for each in [*created, transferred, *moved_with, restored]:
        assert device_of(ada, each)["name"].startswith("later-on")
    # What was there before a job is part of it, however it came.
    again = succeeded(ada, start(ada, home, "delete", **wanted))
    assert counts(again) == (6, 6, 0, 0)


def test_a_job_of_the_release_before_takes_no_device_that_was_created_after_it(
    world: World, ada: Person, home: str, paused: Callable[[int], None]
) -> None:
    before = ada.device(home)
    job = start(ada, home, "delete")
    selection = {"group_id": home, "filter": {}, "subgroups": False}
    change = sa.update(schema.job).values(selection=json.dumps(selection))
    world.write(lambda tx: tx.execute(change))
    world.clock.let_pass(seconds=1)
    after = ada.device(home)
    paused(9)
    assert items_of(ada, succeeded(ada, job)) == [(before, "changed", None)]
    assert ids_in(ada, home) == [after]


@pytest.mark.engine_free
def test_a_cancelled_job_stops_between_two_steps_and_what_it_did_can_be_undone(
    ada: Person, home: str, paused: Callable[[int], None]
) -> None:
    devices = [ada.device(home) for _ in range(7)]
    job = start(ada, home, "tag", parameters={"addTags": ["a"]})
    paused(2)
    eventually(lambda: job_of(ada, job)["done"] == 4)
    ref = {"groupId": home, "jobId": job["jobId"]}
    refused(ada.post("/job/undo", ref), 409)
    cancelled = ok(ada.post("/job/cancel", ref))
    assert (cancelled["state"], cancelled["done"]) == ("cancelled", 4)
    paused(99)
    assert counts(undo(ada, cancelled)) == (4, 4, 0, 0)
    assert ok(ada.post("/job/cancel", ref))["state"] == "cancelled"
    assert all(device_of(ada, each)["tags"] == [] for each in devices)


@pytest.mark.engine_free
def test_a_job_ends_when_its_starter_loses_the_permission(
    world: World,
    ada: Person,
    home: str,
    paused: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bob = world.person("bob")
    ada.invite(bob, home, "manager")
    for _ in range(7):
        ada.device(home)
    job = start(bob, home, "delete")
    paused(1)
    eventually(lambda: job_of(ada, job)["done"] == 2)
    ok(ada.put("/group/user", {"userId": bob.id, "groupId": home, "roleId": "viewer"}))
    paused(99)
    job = ended(ada, job)
    assert (job["state"], job["error"], job["done"]) == ("failed", "not_allowed", 2)
    assert len(ids_in(ada, home)) == 5
    refused(bob.post("/job/undo", {"groupId": home, "jobId": job["jobId"]}), 403)
    assert counts(undo(ada, job)) == (2, 2, 0, 0)

    ok(ada.put("/group", {"groupId": home, "roleId": "manager"}))
    client = ada.app_client(home)
    monkeypatch.setattr("longwire.jobs.jobs.run_step", postponed)
    job = start(client, home, "delete")
    ok(ada.delete("/appClient", name=home, appClientId=client.id))
    assert (ended(ada, job)["error"], len(ids_in(ada, home))) == ("actor_gone", 7)


def test_a_restart_goes_on_after_the_last_step_and_does_nothing_twice(
    world: World, ada: Person, home: str, paused: Callable[[int], None]
) -> None:
    target = ada.group("target")
    devices = [ada.device(home) for _ in range(7)]
    job = start(ada, home, "transfer", parameters={"toGroupId": target})
    paused(2)
    eventually(lambda: job_of(ada, job)["done"] == 4)
    world.restart()
    paused(99)
    assert counts(succeeded(ada, job)) == (7, 7, 0, 0)
    assert ids_in(ada, target) == devices
    moves = [each[2] for each in world.audit() if each[1] == "device.transfer"]
    assert sorted(moves) == sorted(devices * 2), "once in each group"


def test_a_process_that_has_lost_its_lease_changes_nothing(
    world: World, ada: Person, home: str, paused: Callable[[int], None]
) -> None:
    world.clock.freeze()
    ada.device(home)
    started = start(ada, home, "delete")
    job_id = started["jobId"]
    # The runner of this world holds the lease; later it is taken over by another process.
    eventually(lambda: world.read(lambda tx: lease_of(tx, job_id))[0] > 0)
    fence, _ = world.read(lambda tx: lease_of(tx, job_id))

    def take(tx: Tx) -> bool:
        return store.JOB_LEASES.claim(tx, job_id, token=7, until=tx.now + 3_600_000_000)

    assert not world.write(take), "it is leased"
    world.clock.let_pass(seconds=60)
    assert world.write(take)
    context = steps.StepContext(world.app._dispatch)
    paused(9)
    before = world.everything()
    assert world.write(lambda tx: jobs.advance(tx, job_id, fence, tx.now, context)) is None
    assert world.write(lambda tx: jobs.fail(tx, job_id, fence, "internal")) is None
    assert not world.write(lambda tx: store.touch(tx, job_id, fence))
    assert world.everything() == before
    done = world.write(lambda tx: jobs.advance(tx, job_id, 7, tx.now, context))
    assert done is not None
    assert done.counts.changed == 1
    ada.token = world.token(ada.client_id, ada.client_secret)
    assert succeeded(ada, started)["done"] == 1


def lease_of(tx: Tx, job_id: str) -> tuple[int, int]:
    fence, until = tx.fetch(
        Statement("select fence, lease_until from job where id = :id"), id=job_id
    )[0]
    return fence, until


def test_a_group_has_a_limited_number_of_jobs_and_they_run_in_order(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(jobs_per_group_max=2, jobs_running_per_group_max=1)
    ada = world.person("ada")
    home, other = ada.group("home"), ada.group("other")
    ada.device(home)
    monkeypatch.setattr("longwire.jobs.jobs.run_step", postponed)
    started = [start(ada, home, "tag", parameters={"addTags": [tag]}) for tag in "ab"]
    body = {"kind": "delete", "groupId": home, "filter": {}}
    problem = refused(ada.post("/job", body), 409)
    assert problem["code"] == "limit_reached"
    start(ada, other, "delete")
    monkeypatch.undo()
    done = [succeeded(ada, each) for each in started]
    assert done[0]["endedAt"] <= done[1]["startedAt"]


def postponed(*arguments: Any) -> Any:
    raise StepPostponed


@pytest.mark.engine_free
@pytest.mark.parametrize("kind", ["tag", "delete", "transfer"])
def test_an_undo_leaves_out_a_subgroup_that_has_left_and_says_so(
    world: World, ada: Person, home: str, kind: str
) -> None:
    """It undoes the others, and the rest once the subgroup is back."""
    bob, eve = world.person("bob"), world.person("eve")
    ada.invite(bob, home, "manager")  # and so below, as long as it is below
    left, target = ada.group("left", parent=home), ada.group("target", parent=home)
    stays, leaves = ada.device(home), ada.device(left)
    parameters: Values = {"tag": {"addTags": ["x"]}, "transfer": {"toGroupId": target}}.get(
        kind, {}
    )
    job = start(bob, home, kind, filter={"subgroups": True}, parameters=parameters)
    assert counts(succeeded(bob, job)) == (2, 2, 0, 0)

    ok(world.operator.put("/group", {"groupId": left, "parent": eve.group("other")}))
    undone = undo(bob, job)
    assert undone["state"] == "succeeded"
    assert counts(undone) == (2, 1, 1, 0)
    assert items_of(bob, undone) == [(leaves, "skipped", "gone")]
    assert ids_in(ada, home) == [stays]

    ok(world.operator.put("/group", {"groupId": left, "parent": home}))
    assert counts(undo(bob, job)) == (1, 1, 0, 0)
    assert ids_in(ada, left) == [leaves]

"""Export jobs: the rows of the streamed export, kept for a day, for those who may read them."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from longwire.api.jobs import jobs as jobs_api
from longwire.clock import SECOND
from longwire.jobs import exporting, jobs, runner, steps
from longwire.jobs.results import StepPostponed
from longwire.process import maintenance
from longwire.store import file_parts
from longwire.store.database import Tx
from longwire.store.jobs import jobs as store
from longwire.store.leases import LeasedRows
from longwire.work.leases import new_token
from tests.jobs.test_jobs import ended, job_of, lease_of, start, succeeded
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, record_of, refused

Values = dict[str, Any]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few rows make several steps and chunks."""
    monkeypatch.setattr(exporting, "STEP_BYTES", 400)
    monkeypatch.setattr(file_parts, "PART_BYTES_MAX", 150)
    monkeypatch.setattr("longwire.api.records.exports.STEP_ROWS_MAX", 2)


def export(person: Person, group: str, content: str, **fields: Any) -> Values:
    filters = {"filter": fields.pop("filter")} if "filter" in fields else {"filter": None}
    return start(person, group, "export", parameters={"content": content, **fields}, **filters)


def result_of(person: Person, job: Values) -> Any:
    return person.get("/job/result", groupId=job["groupId"], jobId=job["jobId"])


def report(person: Person, device: str, count: int) -> None:
    items = [record_of(device, timestamp=str(number + 1)) for number in range(count)]
    ok(person.post("/device/data/batch", {"items": items}))


def settle(world: World) -> None:
    """Let what has arrived become old enough to be exported while others may commit."""
    world.clock.let_pass(seconds=10)


@pytest.mark.slow
@pytest.mark.engine_free
def test_the_file_of_a_job_is_the_streamed_export(world: World) -> None:
    ada = world.person("ada")
    home = ada.group("home")
    below = ada.group("below", parent=home)
    connector = ada.connector(home, "http://127.0.0.1:9/")
    devices = [ada.device(home, tags=["t"]) for _ in range(5)]
    devices += [ada.device(below, tags=["t"]), ada.device(home)]
    report(ada, devices[0], 60)
    for device in devices:
        ada.reports(device, "event", message='"quoted",\n')
    settle(world)
    wanted: list[tuple[str, str, Values, Values]] = [
        ("records", "records", {}, {}),
        (
            "records",
            "records",
            {"recordKind": "event", "subgroups": True, "format": "csv"},
            {"kind": "event", "subgroups": True, "format": "csv"},
        ),
        ("records", "records", {"deviceId": devices[0], "endDate": 30}, {}),
        ("records", "records", {"values": "level,door", "format": "csv"}, {}),
        ("devices", "devices", {"format": "csv"}, {}),
        ("audit", "group/audit", {"action": "device.create", "subgroups": True}, {}),
    ]
    for content, path, parameters, query in wanted:
        query = {**(query or parameters)}
        fields: Values = dict(parameters)
        if content == "devices":
            fields["filter"] = {"tag": "t", "subgroups": True}
            query |= fields["filter"]
        streamed = ada.get(f"/{path}/export", groupId=home, **query)
        job = succeeded(ada, export(ada, home, content, **fields))
        response = result_of(ada, job)
        assert response.status_code == 200, response.text
        assert response.text == streamed.text
        for name in ("content-type", "content-disposition"):
            assert response.headers[name] == streamed.headers[name]
        rows = len(streamed.text.splitlines()) if query.get("format") != "csv" else job["done"]
        assert (job["done"], job["result"]["bytes"]) == (rows, len(streamed.content))
        assert job["parameters"]["content"] == content
        assert ("filter" in job) == (content == "devices")
    messages = succeeded(ada, export(ada, home, "messages", connectorId=connector))
    found = [json.loads(line)["id"] for line in result_of(ada, messages).text.splitlines()]
    assert len(set(found)) == len(found) == messages["done"] == 66, "those of the group"
    assert "undoUntil" not in messages
    refused(ada.post("/job/undo", {"groupId": home, "jobId": messages["jobId"]}), 409)


@pytest.mark.engine_free
def test_wrong_parameters_are_named_and_a_dry_run_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    home = ada.group("home")
    device = ada.device(home)
    report(ada, device, 7)
    settle(world)
    foreign = eve.device(eve.group())
    body = {"kind": "export", "groupId": home}
    wrong: list[tuple[Values, int, tuple[str, ...]]] = [
        ({}, 400, ("parameters.content",)),
        ({"parameters": {"content": "weather"}}, 400, ("parameters.content",)),
        (
            {"parameters": {"content": "devices", "recordKind": "data", "action": "x"}},
            400,
            ("parameters.recordKind", "parameters.action"),
        ),
        ({"parameters": {"content": "records"}, "filter": {}}, 400, ("filter",)),
        ({"parameters": {"content": "devices"}, "deviceIds": [device]}, 400, ("deviceIds",)),
        ({"parameters": {"content": "audit", "beginDate": "x"}}, 400, ("parameters.beginDate",)),
        ({"parameters": {"content": "records", "toGroupId": home}}, 400, ("parameters.toGroupId",)),
        (
            {"parameters": {"content": "records", "deviceId": foreign}},
            404,
            ("parameters.deviceId",),
        ),
        (
            {"parameters": {"content": "messages", "connectorId": "con_none"}},
            404,
            ("parameters.connectorId",),
        ),
    ]
    with nothing_happens(world):
        for change, status, fields in wrong:
            refused(ada.post("/job", {**body, **change}), status, *fields)
        parameters = {"parameters": {"content": "records"}, "dryRun": True}
        tried = ok(ada.post("/job", {**body, **parameters}))
    assert (tried["total"], tried["message"]) == (7, "It would take 7 rows.")
    assert "sample" not in tried
    monkeypatch.setattr(jobs_api, "COUNTING_SECONDS_MAX", -1.0)
    tried = ok(ada.post("/job", {**body, **parameters}))
    assert tried["message"].startswith("It would take more than "), "as far as it came in time"
    tried = ok(ada.post("/job", {**body, "parameters": {"content": "devices"}, "dryRun": True}))
    assert [each["deviceId"] for each in tried["sample"]] == [device]


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_file_is_for_those_who_may_export_the_same(world: World) -> None:
    ada, bob, carl, eve = (world.person(name) for name in ("ada", "bob", "carl", "eve"))
    home = ada.group("home")
    ada.invite(bob, home, ada.role("device.read", "record.read"))
    ada.invite(carl, home, "administrator")
    report(ada, ada.device(home), 3)
    settle(world)
    body = {"kind": "export", "groupId": home}
    with nothing_happens(world):
        refused(bob.post("/job", {**body, "parameters": {"content": "audit"}}), 403)
        refused(bob.post("/job", {**body, "parameters": {"content": "messages"}}), 403)
        refused(eve.post("/job", {**body, "parameters": {"content": "records"}}), 404, "groupId")
    job = succeeded(ada, export(ada, home, "records"))
    audit = succeeded(ada, export(ada, home, "audit"))
    tagged = succeeded(ada, start(ada, home, "tag", parameters={"addTags": ["x"]}))
    ref = {"groupId": home, "jobId": job["jobId"]}
    assert result_of(bob, job).text == result_of(ada, job).text != ""
    assert result_of(ada, audit).status_code == 200
    with nothing_happens(world):
        refused(result_of(bob, audit), 403)
        refused(result_of(carl, audit), 403)
        refused(result_of(carl, tagged), 404, "jobId")
        refused(result_of(eve, job), 404, "groupId")
        refused(eve.delete("/job/result", **ref), 404, "groupId")
        refused(bob.delete("/job/result", groupId=home, jobId=audit["jobId"]), 403)
        refused(result_of(carl, {**job, "jobId": "job_none"}), 404, "jobId")
    ok(
        ada.put(
            "/group/user", {"userId": bob.id, "groupId": home, "roleId": ada.role("device.read")}
        )
    )
    refused(result_of(bob, job), 403)


def test_a_file_is_bounded_and_gone_after_a_day_or_when_it_is_deleted(
    make_world: Callable[..., World],
) -> None:
    world = make_world(export_bytes_per_owner_max=3_000)
    ada = world.person("ada")
    home = ada.group("home")
    device = ada.device(home)
    report(ada, device, 8)
    settle(world)

    def rows_left() -> tuple[int, int]:
        world._run(maintenance.delete_old_jobs(world.database, 30))
        tables = world.everything()
        return len(tables["job_chunk"]), len(tables["job"])

    job = succeeded(ada, export(ada, home, "records"))
    size = job["result"]["bytes"]
    assert 1_500 < size < 3_000
    chunks, _ = rows_left()
    assert chunks == -(-size // 150)
    failed = ended(ada, export(ada, home, "records"))
    assert (failed["state"], failed["error"]) == ("failed", "result_too_large")
    refused(result_of(ada, failed), 409)
    assert rows_left() == (chunks, 2), "what the failed one had written is deleted"

    ref = {"groupId": home, "jobId": job["jobId"]}
    assert "result" not in ok(ada.delete("/job/result", **ref))
    refused(result_of(ada, job), 409)
    assert rows_left() == (0, 2)
    again = succeeded(ada, export(ada, home, "records"))
    world.clock.let_pass(seconds=86_401)
    ada.token = world.token(ada.client_id, ada.client_secret)
    refused(result_of(ada, again), 409)
    assert "result" not in job_of(ada, again)
    assert rows_left() == (0, 3)


@pytest.mark.slow
def test_a_restart_continues_the_file_after_the_last_step(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_step, allowed = steps.run_step, [2]

    def limited(*arguments: Any) -> Any:
        if allowed[0] == 0:
            raise StepPostponed
        allowed[0] -= 1
        return run_step(*arguments)

    monkeypatch.setattr("longwire.jobs.jobs.run_step", limited)
    ada = world.person("ada")
    home = ada.group("home")
    for _ in range(9):
        ada.device(home)
    job = export(ada, home, "devices", format="csv")
    eventually(lambda: job_of(ada, job)["done"] >= 4)
    refused(result_of(ada, job), 409)
    world.restart()
    allowed[0] = 99
    job = succeeded(ada, job)
    streamed = ada.get("/devices/export", groupId=home, format="csv")
    assert (result_of(ada, job).text, job["done"]) == (streamed.text, 9)
    allowed[0] = 1
    cancelled = export(ada, home, "devices")
    eventually(lambda: job_of(ada, cancelled)["done"] > 0)
    ok(ada.post("/job/cancel", {"groupId": home, "jobId": cancelled["jobId"]}))
    refused(result_of(ada, cancelled), 409)


@pytest.mark.parametrize("engine", ["postgresql"])
def test_another_process_serves_the_file(make_world: Callable[..., World]) -> None:
    world, second = make_world(), make_world()
    ada = world.person("ada")
    there = ada.at(second)
    home = ada.group("home")
    devices = {ada.device(home) for _ in range(5)}
    job = succeeded(ada, export(ada, home, "devices"))
    lines = result_of(there, job).text.splitlines()
    assert {json.loads(line)["deviceId"] for line in lines} == devices


class HeldExports:
    """Steps of exports that are read, and then held up until `release`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._released = threading.Event()
        self._jobs: set[str] = set()
        self._export_step = exporting.export_step
        monkeypatch.setattr(runner, "export_step", self._run)

    async def _run(self, database: Any, job: Any, read: Any) -> Any:
        rows = await self._export_step(database, job, read)
        self._jobs.add(job.id)
        try:
            while not self._released.is_set():  # noqa: ASYNC110 (set by another thread)
                await asyncio.sleep(0.01)
        finally:
            self._jobs.discard(job.id)
        return rows

    def wait_for(self, *started: Values) -> None:
        eventually(lambda: self._jobs == {job["jobId"] for job in started})

    def release(self) -> None:
        self._released.set()


def renew_every(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(runner, "RENEW_INTERVAL_S", seconds)


def take_over(world: World, job: Values) -> int:
    """As another process does when the lease of the first has expired."""
    fence = new_token()

    def claim(tx: Tx) -> bool:
        until = tx.now + 3_600_000_000
        return store.JOB_LEASES.claim(tx, job["jobId"], token=fence, until=until)

    def take() -> bool:
        world.clock.let_pass(seconds=60)
        return world.write(claim)

    eventually(take)
    return fence


def test_exports_that_are_cancelled_make_room_for_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew_every(monkeypatch, 0)
    held = HeldExports(monkeypatch)
    ada = world.person("ada")
    groups = [ada.group(f"g{number}") for number in range(runner.PREPARING_MAX)]
    started = [export(ada, group, "devices") for group in groups]
    held.wait_for(*started)
    another = export(ada, ada.group("another"), "devices")
    for job in started:
        ok(ada.post("/job/cancel", {"groupId": job["groupId"], "jobId": job["jobId"]}))
    held.wait_for(another)
    held.release()
    succeeded(ada, another)


def test_a_lease_is_renewed_while_a_step_is_prepared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew_every(monkeypatch, 0)
    held = HeldExports(monkeypatch)
    ada = world.person("ada")
    job = export(ada, ada.group("home"), "devices")
    held.wait_for(job)
    fence, until = world.read(lambda tx: lease_of(tx, job["jobId"]))
    world.clock.let_pass(seconds=60)

    def is_renewed() -> bool:
        renewed = world.read(lambda tx: lease_of(tx, job["jobId"]))
        assert renewed[0] == fence
        return renewed[1] > until + 30 * SECOND

    eventually(is_renewed)
    held.release()
    succeeded(ada, job)


def test_what_was_prepared_under_a_lost_lease_is_not_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeasedRows, "list_lost", lambda *_: [])  # not noticed yet
    held = HeldExports(monkeypatch)
    ada = world.person("ada")
    home = ada.group("home")
    for _ in range(9):
        ada.device(home)
    job = export(ada, home, "devices", format="csv")
    held.wait_for(job)
    fence = take_over(world, job)
    leased = world.read(lambda tx: store.get_leased(tx, job["jobId"], fence))
    assert leased is not None
    read_rows = world.app._job_runner._read_rows
    rows = world._run(exporting.export_step(world.app.database, leased, read_rows))
    prepared = steps.PreparedStep(rows, leased.cursor)
    context = steps.StepContext(world.app._dispatch, prepared, 1_000_000)
    world.write(lambda tx: jobs.advance(tx, leased.id, fence, tx.now, context))
    with pytest.raises(StepPostponed):  # as when it did not know that it was committed
        world.write(lambda tx: jobs.advance(tx, leased.id, fence, tx.now, context))
    held.release()
    world.write(lambda tx: store.JOB_LEASES.renew(tx, leased.id, token=fence, until=0))
    ada.token = world.token(ada.client_id, ada.client_secret)
    job = succeeded(ada, job)
    streamed = ada.get("/devices/export", groupId=home, format="csv")
    assert (result_of(ada, job).text, job["done"]) == (streamed.text, 9)


def test_a_step_that_is_prepared_does_not_wait_for_one_that_has_no_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew_every(monkeypatch, 0)
    monkeypatch.setattr(runner, "PREPARING_MAX", 1)
    held = HeldExports(monkeypatch)
    ada = world.person("ada")
    first = export(ada, ada.group("home"), "devices")
    held.wait_for(first)
    second = export(ada, ada.group("other"), "devices")
    fence = take_over(world, first)
    held.wait_for(second)
    # The other process stops. What it leaves is older than what is prepared here.
    world.write(lambda tx: store.JOB_LEASES.renew(tx, first["jobId"], token=fence, until=0))
    held.release()
    ada.token = world.token(ada.client_id, ada.client_secret)
    for job in (first, second):
        succeeded(ada, job)

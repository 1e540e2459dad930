"""The archive: old records as files, listed and exported as if they were in the database."""

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from longwire import cli, extras
from longwire.archive import files, mover, reader
from longwire.archive.mover import REPEATED_WITHIN, ArchiveTotals, Mover
from longwire.blobs import FolderStore, open_store
from longwire.clock import DAY, MINUTE, Clock, Moment
from longwire.dates import format_date
from longwire.process import startup
from longwire.store.archive import archive_files, archive_reads, archive_walk
from longwire.store.database import Tx
from longwire.store.statement import Statement
from tests.reports import KINDS, devices, list_records, post_records, report
from tests.world import World, ok, refused, walk

parquet = pytest.importorskip("pyarrow.parquet", reason="the archive needs the extra parquet")


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few records need several row groups, files and steps."""
    monkeypatch.setattr(files, "ROW_GROUP_RECORDS", 3)
    monkeypatch.setattr(files, "FILE_RECORDS", 8)
    monkeypatch.setattr(mover, "RECORDS_PER_READ", 4)
    monkeypatch.setattr(mover, "RECORDS_PER_DELETION", 2)
    monkeypatch.setattr(archive_walk, "STAYS_PER_STEP", 2)
    monkeypatch.setattr(mover, "PAUSE_S", 0.0)
    monkeypatch.setattr(mover, "REPEATED_WITHIN", -MINUTE)
    monkeypatch.setattr(reader, "KEYS_PER_JOB", 5)
    monkeypatch.setattr(archive_reads, "POINTS_MAX", 5)


@pytest.fixture
def place(fast_folder: Path) -> Path:
    return fast_folder / "archive"


@pytest.fixture
def world(make_world: Callable[..., World], place: Path) -> World:
    return make_world(archive=str(place))


def archive(world: World, months: int = 1) -> ArchiveTotals:
    store = open_store(world.settings.archive)
    totals: ArchiveTotals = world._run(Mover(world.database, store).run(months))
    return totals


def months_ago(world: World, count: int) -> Moment:
    return archive_files.month_start(world.clock.now(), -count) + DAY


class Fleet:
    """Three devices with records of four months; some of one timestamp."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person()
        self.group = self.ada.group()
        self.ada.group(parent=self.group)
        self.devices = devices(self.ada, self.group, 3)
        for kind in ("data", "event"):
            bodies = [
                report(kind, device, months_ago(world, month) + minute // 2 * MINUTE, f"{minute}")
                for month in (3, 2, 1, 0)
                for minute in range(4)
                for device in self.devices
            ]
            ok(post_records(self.ada, kind, bodies))

    def look(self) -> dict[str, Any]:
        """What the caller sees, by every way to see it."""
        seen: dict[str, Any] = {}
        for device in self.devices:
            for kind in ("data", "event"):
                for ascending in (True, False):
                    listed = partial(
                        list_records, self.ada, kind, device, ascending=str(ascending).lower()
                    )
                    found = seen[f"{kind} {device} {ascending}"] = listed()
                    assert listed(limit=3) == found, "pages neither skip nor repeat"
            asked = {
                "deviceId": device,
                "path": "/data",
                "beginDate": format_date(months_ago(self.world, 4)),
                "endDate": format_date(self.world.clock.now()),
                "timeSpan": 7 * 86_400,
            }
            series = ok(self.ada.request("GET", "/device/series", params=asked))["items"]
            seen[f"series {device}"] = [each["points"] for each in series]
            seen[f"export {device}"] = self.export(deviceId=device)
        seen["group"] = walk(partial(self.ada.get, "/group/records"), groupId=self.group, limit=7)
        listed = partial(self.ada.get, "/group/records", groupId=self.group, ascending="true")
        assert walk(listed, limit=7) == seen["group"][::-1]
        seen["export"] = self.export(groupId=self.group)
        seen["export of all groups"] = self.export(groupId=self.group, subgroups="true")
        assert seen["export of all groups"] == seen["export"]
        return seen

    def export(self, **which: str) -> list[Any]:
        text = self.ada.get("/records/export", **which).text
        return [json.loads(line) for line in text.splitlines()]

    def data(self, index: int) -> list[str]:
        return [each["data"] for each in list_records(self.ada, "data", self.devices[index])]


def count_rows(world: World) -> dict[str, int]:
    def work(tx: Tx) -> dict[str, int]:
        count = "select count(*) from record_{}"
        return {kind: int(tx.fetch(Statement(count.format(kind)))[0][0]) for kind in KINDS}

    return world.read(work)


@pytest.fixture
def fleet(world: World) -> Fleet:
    found = Fleet(world)
    world.clock.let_pass(seconds=10)  # an export ends some seconds before the present
    return found


@pytest.mark.engine_free
def test_archived_records_are_seen_as_they_were_before(fleet: Fleet, place: Path) -> None:
    world = fleet.world
    before = fleet.look()
    assert len(before["export"]) == 48
    traced = partial(fleet.ada.get, "/record/trace", recordId=before["export"][0]["id"])
    ok(traced())
    totals = archive(world)
    assert totals.records == 48
    assert count_rows(world)["data"] == 24
    refused(traced(), 404)
    assert fleet.look() == before
    assert len(list(place.rglob("*.parquet"))) == totals.files
    assert archive(world).records == 0, "there is nothing left to do"
    world.restart()
    assert fleet.look() == before


@pytest.mark.engine_free
def test_what_is_deleted_from_the_archive_stays_deleted(fleet: Fleet) -> None:
    ada, world, (device, other, third) = fleet.ada, fleet.world, fleet.devices
    archive(world)
    at = format_date(months_ago(world, 2))
    kept = fleet.look()
    gone = [each for each in list_records(ada, "data", device) if each["timestamp"] == at]
    assert len(gone) == 2
    ok(ada.put("/device/data", deviceId=device, timestamp=at))
    refused(ada.put("/device/data", deviceId=device, timestamp=at), 404)
    seen = fleet.look()
    ascending = f"data {device} True"
    assert seen[ascending] == [each for each in kept[ascending] if each not in gone]
    assert len(seen["export"]) == len(kept["export"]) - 2
    assert len(seen["group"]) == len(kept["group"]) - 2
    # Sent again it is a new record, which is archived in its turn.
    ok(post_records(ada, "data", [report("data", device, months_ago(world, 2), "0")]))
    assert archive(world).records == 1
    assert len(list_records(ada, "data", device)) == len(seen[ascending]) + 1
    assert len(fleet.export(deviceId=device)) == len(seen[ascending]) + 1
    ok(ada.request("DELETE", "/device/data", json={"deviceId": device}))
    assert list_records(ada, "data", device) == []
    ok(ada.delete("/device", deviceId=other, groupId=fleet.group))
    assert {each["deviceId"] for each in fleet.export(groupId=fleet.group)} == {third}


def test_a_device_stays_on_the_map_when_an_older_position_of_the_archive_is_deleted(
    fleet: Fleet,
) -> None:
    ada, world, device = fleet.ada, fleet.world, fleet.devices[0]
    moments = [months_ago(world, 3), months_ago(world, 2)]
    ok(post_records(ada, "geoloc", [report("geoloc", device, each, "") for each in moments]))
    archive(world)

    def where() -> list[Any]:
        return list(ok(ada.get("/group/positions", groupId=fleet.group))["items"])

    before = where()
    assert len(before) == 1
    ok(ada.delete("/device/geoloc", deviceId=device, timestamp=format_date(moments[0])))
    assert where() == before
    # A newer one that does not say where it was.
    newer = report("geoloc", device, months_ago(world, 0), "") | {"lat": None, "lng": None}
    ok(post_records(ada, "geoloc", [newer]))
    ok(ada.delete("/device/geoloc", deviceId=device, timestamp=newer["timestamp"]))
    assert where() == before
    ok(ada.delete("/device/geoloc", deviceId=device, timestamp=format_date(moments[1])))
    assert where() == []


def test_a_run_that_another_one_took_over_deletes_nothing(
    fleet: Fleet, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, before = fleet.world, fleet.look()
    read_again = Mover._read_again

    async def be_slow(slow: Mover, *arguments: Any) -> bytes:
        content = await read_again(slow, *arguments)
        await Mover(world.database, FolderStore(place)).finish_interrupted()
        return content

    with monkeypatch.context() as patched:
        patched.setattr(Mover, "_read_again", be_slow)
        with pytest.raises(mover.ArchiveError, match="taken over"):
            archive(world)
    rows = count_rows(world)
    assert (rows["data"], rows["event"]) == (48, 48)
    assert fleet.look() == before
    assert list(place.rglob("*.parquet")) == []
    assert archive(world).records == 48
    assert fleet.look() == before


def test_large_records_and_a_continued_export_come_to_their_end(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ada, device = fleet.world, fleet.ada, fleet.devices[0]
    whole = fleet.export(deviceId=device)
    listed = list_records(ada, "data", device)
    archive(world)
    for index, row in enumerate(whole):
        assert fleet.export(deviceId=device, after=row["id"]) == whole[index + 1 :]
    # As if each record alone were more than is read at once.
    monkeypatch.setattr(reader, "QUERY_CHARACTERS", 1)
    for flag in ("true", "false"):
        found = list_records(ada, "data", device, limit=1, ascending=flag)
        assert sorted(map(str, found)) == sorted(map(str, listed))


@pytest.mark.engine_free
def test_what_arrived_lately_stays_where_a_repetition_is_recognised(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ada, device = fleet.world, fleet.ada, fleet.devices[0]
    monkeypatch.setattr(mover, "REPEATED_WITHIN", REPEATED_WITHIN)
    assert archive(world).records == 0
    world.clock.let_pass(days=31)
    ada.token = world.token(ada.client_id, ada.client_secret)
    late = [report("data", device, months_ago(world, 3), "late")]
    ok(post_records(ada, "data", late))
    before = walk(partial(ada.get, "/group/records"), groupId=fleet.group, limit=50)
    assert archive(world).records >= 48
    ok(post_records(ada, "data", late))
    assert walk(partial(ada.get, "/group/records"), groupId=fleet.group, limit=50) == before


class Killed(Exception):
    """As `kill -9` at this place."""


def kill_at(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int, *, late: bool
) -> None:
    """Die at the n-th call of a function, before or after it has done its work."""
    original, calls = getattr(owner, name), iter(range(1, 10_000))

    def die(*arguments: Any, **named: Any) -> Any:
        if next(calls) != call:
            return original(*arguments, **named)
        if late:
            original(*arguments, **named)
        raise Killed

    monkeypatch.setattr(owner, name, die)


@pytest.mark.engine_free
@pytest.mark.parametrize(
    "owner, name, call, late",
    [
        (FolderStore, "put", 2, True),
        (archive_files, "publish", 2, False),
        pytest.param(archive_walk, "delete_moved", 3, False, marks=pytest.mark.both_engines),
        (archive_files, "set_state", 1, False),
    ],
)
def test_a_run_that_is_killed_loses_nothing_and_shows_nothing_twice(
    fleet: Fleet,
    place: Path,
    owner: Any,
    name: str,
    call: int,
    late: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = fleet.look()
    with monkeypatch.context() as patched:
        kill_at(patched, owner, name, call, late=late)
        with pytest.raises(Killed):
            archive(fleet.world)
    assert fleet.look() == before
    fleet.world.clock.let_pass(seconds=600)  # the lease of who was killed is over
    archive(fleet.world)
    assert count_rows(fleet.world)["data"] == 24
    assert fleet.look() == before
    listed = fleet.world.read(archive_files.sum_months)
    assert len(list(place.rglob("*.parquet"))) == sum(each.files for each in listed)
    assert sum(each.records for each in listed) == 48


def test_what_changes_while_it_is_archived_is_neither_restored_nor_lost(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, world, device = fleet.ada, fleet.world, fleet.devices[0]
    at = months_ago(world, 3)
    put, calls = FolderStore.put, iter(range(100))

    def change(store: FolderStore, name: str, content: bytes) -> None:
        put(store, name, content)
        if next(calls) == 0:
            ok(ada.put("/device/data", deviceId=device, timestamp=format_date(at)))
            ok(post_records(ada, "data", [report("data", device, at + MINUTE, "late")]))

    before = fleet.data(0)
    monkeypatch.setattr(FolderStore, "put", change)
    archive(world)
    assert fleet.data(0) == [*before[2:4], "late", *before[4:]]
    archive(world)
    # The same record once more, after it was archived: listed once.
    ok(post_records(ada, "data", [report("data", device, at + MINUTE, "late")]))
    assert fleet.data(0) == [*before[2:4], "late", *before[4:]]


def test_of_a_record_that_changed_between_two_runs_the_last_one_is_shown(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, device = fleet.world, fleet.devices[0]
    delete_moved = archive_walk.delete_moved
    change = """update record_data set body = replace(body, '"0"', '"again"')"""

    def change_first(tx: Tx, *arguments: Any) -> int:
        tx.run(Statement(change))
        return delete_moved(tx, *arguments)

    # Not listed before: a page in memory would not learn of this change.
    expected = ["again", "1", "2", "3"] * 4
    exported = [{**each, "data": each["data"].replace("0", "again")} for each in data_of(fleet)]
    with monkeypatch.context() as patched:
        patched.setattr(archive_walk, "delete_moved", change_first)
        archive(world)
    for _ in range(2):
        assert fleet.data(0) == expected
        assert data_of(fleet) == exported
        listed = list_records(fleet.ada, "data", device, limit=1, ascending="false")
        assert sorted(each["data"] for each in listed) == sorted(expected)
        archive(world)


def data_of(fleet: Fleet) -> list[Any]:
    rows = fleet.export(deviceId=fleet.devices[0])
    return [each for each in rows if "data" in each]


def test_expired_files_are_dropped_and_an_unreachable_archive_costs_only_what_is_in_it(
    make_world: Callable[..., World], place: Path
) -> None:
    world = make_world(archive=str(place), retention_data_days=100)
    fleet = Fleet(world)
    archive(world)
    device = fleet.devices[0]
    moved = place.rename(place.with_name("elsewhere"))
    world.restart()
    assert refused(fleet.ada.get("/device/data", deviceId=device), 503)["code"] == "unavailable"
    recent = format_date(archive_files.month_start(world.clock.now()))
    assert len(list_records(fleet.ada, "data", device, beginDate=recent)) == 4
    moved.rename(place)
    world.clock.let_pass(days=200)
    fleet.ada.token = world.token(fleet.ada.client_id, fleet.ada.client_secret)
    assert list_records(fleet.ada, "data", device) == []
    oldest = {"data": world.clock.now() - 100 * DAY}
    world._run(world.app._archive.drop_expired(world.database, oldest))  # type: ignore[union-attr]
    assert {path.parent.parent.name for path in place.rglob("*.parquet")} == {"event"}
    assert len(list_records(fleet.ada, "event", device)) == 16


@pytest.mark.engine_free
def test_what_a_group_does_not_keep_is_hidden_in_the_archive_as_well(fleet: Fleet) -> None:
    archive(fleet.world)
    device, group = fleet.devices[0], fleet.group
    before = list_records(fleet.ada, "data", device)
    days = {"groupId": group, "retentionDays": {"data": 45}}
    ok(fleet.ada.put("/group/retention", days))
    oldest = format_date(fleet.world.clock.now() - 45 * DAY)
    kept = [each for each in before if each["timestamp"] >= oldest]
    assert 0 < len(kept) < len(before)
    assert list_records(fleet.ada, "data", device) == kept
    for which in ({"deviceId": device, "groupId": group}, {"groupId": group}):
        exported = [each for each in fleet.export(**which) if each["deviceId"] == device]
        assert len(exported) == len(kept)
        assert all(each["timestamp"] >= oldest for each in exported)
    assert len(list_records(fleet.ada, "event", device)) == 16


def test_a_missing_or_damaged_file_costs_what_is_in_it_and_is_named_by_the_doctor(
    fleet: Fleet, place: Path
) -> None:
    world = fleet.world
    archive(world)
    where = ["--data", str(world.settings.data), "--archive", str(place)]
    if world.settings.database:
        where += ["--database", world.settings.database]

    def examine(*flags: str) -> list[str]:
        output = CliRunner().invoke(cli.commands, ["doctor", *where, "--json", *flags]).output
        found = [each for each in json.loads(output) if each["area"] == "archive"]
        return [f"{each['severity']}: {each['text']}" for each in found]

    paths = sorted(place.rglob("data/*/*.parquet"))
    assert examine() == [f"ok: all {len(list(place.rglob('*.parquet')))} files are there"]
    intact = {path: path.read_bytes() for path in paths}
    month = paths[0].parent.name
    # Files are named by a digest of random ids: the first one is of other devices each time.
    first = parquet.read_table(paths[0]).column("body")[0].as_py()
    device = json.loads(first)["deviceId"]
    # The column has another name then, in all of its places; checksums are of pages.
    for damaged in (b"", b"PAR1", intact[paths[0]].replace(b"stay", b"stoy")):
        paths[0].write_bytes(damaged)
        world.restart()
        assert refused(fleet.ada.get("/device/data", deviceId=device), 503)["code"] == "unavailable"
        named = [f"problem: files are not as they were written: 1, of {month} (data)"]
        assert examine("--deep") == named
    paths[0].unlink()
    world.restart()
    assert refused(fleet.ada.get("/device/data", deviceId=device), 503)["code"] == "unavailable"
    assert examine() == [f"problem: files are missing: 1, of {month} (data)"]
    paths[0].write_bytes(intact[paths[0]])
    assert len(list_records(fleet.ada, "data", device)) == 16


@pytest.mark.engine_free
def test_an_archive_that_does_not_respond_is_given_up_in_time(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(fleet.world)
    plain, may_respond = reader.find_range, threading.Event()
    begun: list[Any] = []

    def find_range(*about: Any) -> Any:
        begun.append(about)
        may_respond.wait(60)
        return plain(*about)

    device = fleet.devices[0]
    recent = format_date(archive_files.month_start(fleet.world.clock.now()))
    with monkeypatch.context() as during:
        during.setattr(reader, "FETCH_TIMEOUT_S", 0.2)
        during.setattr(reader, "find_range", find_range)
        for _ in range(4):
            unavailable = refused(fleet.ada.get("/device/data", deviceId=device), 503)
            assert unavailable["code"] == "unavailable"
        assert len(list_records(fleet.ada, "data", device, beginDate=recent)) == 4
        may_respond.set()
    assert len(list_records(fleet.ada, "data", device)) == 16
    assert len(begun) <= reader.THREADS, "what nobody waits for any more was read"


@pytest.mark.ordinary_variant("sqlite")
def test_the_command_moves_and_lists_and_says_what_it_needs(
    fleet: Fleet, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fleet.world
    where = ["--data", str(world.settings.data)]
    if world.settings.database:
        where += ["--database", world.settings.database]

    def run(*flags: str) -> Any:
        return CliRunner().invoke(cli.commands, ["archive", *where, *flags])

    assert "archive" in str(run("--months", "1").exception)
    with monkeypatch.context() as patched:
        patched.setattr(extras, "is_installed", lambda extra: extra != "parquet")
        assert "'.[parquet]'" in str(run("--archive", str(place), "--months", "1").exception)
    before = fleet.look()
    done = run("--archive", str(place), "--months", "1", "--json")
    assert json.loads(done.output)["records"] == 48, done.output
    assert fleet.look() == before
    rows = json.loads(run("--list", "--json").output)
    assert sum(each["records"] for each in rows) == 48
    chosen = type(world.settings)(data=world.settings.data, database=world.settings.database)
    with pytest.raises(startup.StartupError, match="archive"):
        startup.open_prepared_database(chosen, Clock())


@pytest.mark.slow
@pytest.mark.ordinary_variant("sqlite")
def test_a_bucket_takes_the_archive(make_world: Callable[..., World], bucket: str) -> None:
    fleet = Fleet(make_world(archive=f"{bucket}/old"))
    fleet.world.clock.let_pass(seconds=10)  # an export ends some seconds before the present
    before = fleet.look()
    assert archive(fleet.world).records == 48
    assert fleet.look() == before


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """In the server of moto, which speaks the protocol of S3 over HTTP."""
    pytest.importorskip("obstore", reason="archives in S3 need the extra s3")
    moto = pytest.importorskip("moto.server", reason="the stand-in for S3 is not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ada")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        import boto3  # noqa: PLC0415 (only where moto is)

        name = f"archive-{port}"
        boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket=name)
        yield f"s3://{name}"
    finally:
        server.stop()

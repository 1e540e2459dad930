"""Exports: what the lists show, streamed in full, resumable, and for those who may read it."""

import asyncio
import csv
import importlib
import io
import json
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from longwire import extras
from longwire.api.records import export_streams, parquet
from longwire.api.records import record_exports as api_exports
from longwire.api.records.csv_cells import (
    encode_csv,
    escape_cell,
    format_tags,
    parse_tags,
    unescape_cell,
)
from longwire.api.services import AsyncContext
from longwire.fleet import record_exports
from longwire.store.records import record_scans
from longwire.web.routing import StreamResponse
from tests.waiting import PATIENCE_S, eventually
from tests.world import KINDS, Person, World, ok, record_of, refused, walk

NOWHERE = "http://127.0.0.1:9/"


def settle(world: World) -> None:
    """Let what has arrived become old enough to be exported while others may commit."""
    world.clock.let_pass(seconds=10)


def export(person: Person, what: str, **params: Any) -> list[dict[str, Any]]:
    """The rows of an export as NDJSON."""
    response = person.get(f"/{what}/export", **params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


def export_csv(person: Person, what: str, **params: Any) -> list[dict[str, str]]:
    """The same as CSV."""
    response = person.get(f"/{what}/export", format="csv", **params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"].startswith("attachment; filename=")
    return list(csv.DictReader(io.StringIO(response.text, newline="")))


def report(person: Person, device: str, count: int, **fields: Any) -> None:
    items = [
        record_of(device, timestamp=f"2026-03-01T00:00:{number:02d}Z", **fields)
        for number in range(count)
    ]
    ok(person.post("/device/data/batch", {"items": items}))


@pytest.mark.slow
def test_the_records_of_a_group_are_exported_in_order_of_arrival(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_scans, "LARGE_CHARACTERS", 500)
    ada = world.person()
    group, other = ada.group(), ada.group("other")
    one, two = ada.device(group), ada.device(group)
    texts = ["=1+1", "-7.5", "@sum", 'é\n"quoted",', "x" * 2_000, "last"]
    stored = [
        ada.reports(
            one if index % 2 else two, reason=text[:9], data=text, timestamp=str(99 - index)
        )
        for index, text in enumerate(texts)
    ]
    ada.reports(one, "event")
    ok(ada.put("/device/transfer", {"deviceId": one, "groupId": group, "toGroupId": other}))
    ada.reports(one, data="of the other group")
    settle(world)

    rows = export(ada, "records", groupId=group)
    ids = [row.pop("id") for row in rows]
    assert rows == stored, "in order of arrival, also those of a device that has left"
    assert ids == sorted(ids) and all(each.startswith("rec_") for each in ids)
    assert [row["type"] for row in export(ada, "records", groupId=group, kind="event")] == [
        "opened"
    ]
    for index in (0, 3, 5):
        resumed = export(ada, "records", groupId=group, after=ids[index])
        assert [row["id"] for row in resumed] == ids[index + 1 :]

    cells = export_csv(ada, "records", groupId=group)
    assert [row["id"] for row in cells] == ids
    assert [unescape_cell(row["data"]) for row in cells] == texts
    assert [row["data"] for row in cells][:3] == ["'=1+1", "-7.5", "'@sum"]
    assert cells[0]["deviceId"] == two and cells[0]["groupId"] == group
    settle(world)
    now = str(world.clock.now() // 1_000)
    assert export(ada, "records", groupId=group, beginDate=now) == []
    assert len(export(ada, "records", groupId=group, endDate=now)) == len(texts)


@pytest.mark.engine_free
def test_a_period_is_about_arrivals_or_timestamps(world: World) -> None:
    ada = world.person()
    top = ada.group("top")
    devices = [ada.device(top), ada.device(ada.group("below", parent=top))]
    for hour in (3, 1, 4, 2):
        for device in devices:
            ada.reports(device, data=f"{hour}", timestamp=f"2026-01-01T0{hour}:00:00Z")
    settle(world)
    period = {"beginDate": "2026-01-01T02:00:00Z", "endDate": "2026-01-01T04:00:00Z"}
    assert export(ada, "records", groupId=top, **period) == []
    by_timestamp = {**period, "dates": "timestamp"}
    rows = export(ada, "records", groupId=top, **by_timestamp)
    assert [row["data"] for row in rows] == ["3", "2"]
    rows = export(ada, "records", groupId=top, subgroups="true", **by_timestamp)
    assert [row["data"] for row in rows] == ["3", "3", "2", "2"]
    resumed = export(
        ada, "records", groupId=top, subgroups="true", after=rows[1]["id"], **by_timestamp
    )
    assert [row["data"] for row in resumed] == ["2", "2"]
    rows = export(ada, "records", deviceId=devices[0], **by_timestamp)
    assert [row["data"] for row in rows] == ["2", "3"]
    refused(ada.get("/records/export", deviceId=devices[0], dates="arrival"), 400, "dates")
    refused(ada.get("/records/export", groupId=top, dates="year"), 400, "dates")


@pytest.mark.engine_free
def test_the_records_of_a_tree_are_exported_as_one_list(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_exports, "STEP_RECORDS_MAX", 4)
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    top = ada.group("top")
    below = [ada.group("below", top) for _ in range(3)]
    ada.invite(bob, below[0], "viewer")
    devices = [ada.device(group) for group in (top, *below)]
    foreign = eve.device(eve.group())
    stored = []
    for number in range(6):
        for device in devices:
            stored.append(ada.reports(device, timestamp=str(number + 1)))
            ada.reports(device, "event", timestamp=str(number + 1))
        eve.reports(foreign, timestamp=str(number + 1))
    settle(world)
    rows = export(ada, "records", groupId=top, subgroups=True)
    ids = [row.pop("id") for row in rows]
    assert rows == stored, "in order of arrival, whatever the group"
    for index in (0, 7, len(ids) - 1):
        resumed = export(ada, "records", groupId=top, subgroups=True, after=ids[index])
        assert [row["id"] for row in resumed] == ids[index + 1 :]
    monkeypatch.setattr(record_exports, "STEP_CHARACTERS_MAX", 300)
    assert len(export_csv(ada, "records", groupId=top, subgroups=True)) == len(stored)
    assert len(export(ada, "records", groupId=top)) == 6
    assert len(export(bob, "records", groupId=below[0], subgroups=True)) == 6
    refused(bob.get("/records/export", groupId=top, subgroups=True), 404, "groupId")
    of_one = {"groupId": top, "deviceId": devices[1]}
    refused(ada.get("/records/export", **of_one), 404, "deviceId")
    assert len(export(ada, "records", **of_one, subgroups=True)) == 6
    monkeypatch.setattr("longwire.fleet.arrivals.GROUPS_MAX", 3)
    refused(ada.get("/records/export", groupId=top, subgroups=True), 400, "subgroups")


@pytest.mark.engine_free
def test_the_records_of_a_device_are_exported_as_far_as_somebody_may_read_them(
    world: World,
) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    old, new = ada.group("old"), ada.group("new")
    ada.invite(bob, new, "viewer")
    device = ada.device(old)
    report(ada, device, 5)
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": old, "toGroupId": new}))
    report(ada, device, 5, data="moved")
    whole = export(ada, "records", deviceId=device)
    assert [row["timestamp"][17:19] for row in whole] == ["00", "01", "02", "03", "04"] * 2
    assert [row["data"] for row in export(bob, "records", deviceId=device)] == ["moved"] * 5
    assert len(export(ada, "records", deviceId=device, groupId=old)) == 5
    for index, row in enumerate(whole):
        assert export(ada, "records", deviceId=device, after=row["id"]) == whole[index + 1 :]
    period = {"beginDate": "2026-03-01T00:00:01Z", "endDate": "2026-03-01T00:00:03Z"}
    assert len(export(ada, "records", deviceId=device, **period)) == 4

    refused(bob.get("/records/export", deviceId=device, after=whole[0]["id"]), 400, "after")
    refused(bob.get("/records/export", deviceId=device, groupId=old), 404, "groupId")
    refused(eve.get("/records/export", deviceId=device), 404, "deviceId")
    refused(eve.get("/records/export", groupId=new), 404, "groupId")
    refused(ada.get("/records/export"), 400, "groupId", "deviceId")
    refused(ada.get("/records/export", groupId=new, after="rec_x"), 400, "after")
    ada.invite(eve, new, ada.role("device.read"))
    refused(eve.get("/records/export", groupId=new), 403)


@pytest.mark.engine_free
def test_an_export_ends_when_the_permission_is_taken_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    device = ada.device(group)
    items = [record_of(device, timestamp=str(number)) for number in range(4_000)]
    ok(ada.post("/device/data/batch", {"items": items}))
    settle(world)
    read_step, removed = record_exports.read_step, []

    def remove_meanwhile(tx: Any, actor: Any, selection: Any, position: Any) -> Any:
        if position is not None and not removed:
            removed.append(ok(ada.delete("/group/user", groupId=group, userId=bob.id)))
        return read_step(tx, actor, selection, position)

    monkeypatch.setattr(record_exports, "read_step", remove_meanwhile)
    with pytest.raises(httpx.RemoteProtocolError):
        bob.get("/records/export", groupId=group)
    assert len(export(ada, "records", groupId=group)) == 4_000
    refused(bob.get("/records/export", groupId=group), 404, "groupId")


def test_a_caller_has_a_few_exports_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    mine, his = ada.group(), bob.group()
    start, may_read = api_exports.start_export, threading.Event()

    async def wait_first(context: AsyncContext, export: export_streams.Export) -> StreamResponse:
        # Not in a thread of the database, which others need to be refused.
        if context.actor.id == ada.id:
            assert await asyncio.to_thread(may_read.wait, PATIENCE_S)
        return await start(context, export)

    monkeypatch.setattr(api_exports, "start_export", wait_first)
    with ThreadPoolExecutor(export_streams.PER_CALLER_MAX + 1) as pool:
        ask = partial(ada.get, "/records/export", groupId=mine)
        waiting = [pool.submit(ask) for _ in range(export_streams.PER_CALLER_MAX + 1)]
        refusal = next(as_completed(waiting)).result()
        assert refused(refusal, 429) and refusal.headers["retry-after"]
        assert export(bob, "records", groupId=his) == [], "others have theirs"
        may_read.set()
        statuses = sorted(each.result().status_code for each in waiting)
    assert statuses == [*[200] * export_streams.PER_CALLER_MAX, 429]
    eventually(lambda: ask().status_code == 200)  # they end a moment after their last byte


def test_exported_devices_can_be_imported_again(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group = ada.group()
    below = ada.group("below", parent=group)
    names = ["=cmd()", "-", "plain", "two, three"]
    tags = [["a|b", "c"], [], ["north", "cellar"], ["-x"]]
    for name, its in zip(names, tags, strict=True):
        ada.device(group, name=name, tags=its)
    ada.device(below, name="deep")
    listed = walk(lambda **params: ada.get("/group/devices", **params), groupId=group)
    rows = export(ada, "devices", groupId=group)
    assert rows == listed
    assert len(export(ada, "devices", groupId=group, subgroups="true")) == 5
    assert [row["name"] for row in export(ada, "devices", groupId=group, tag="cellar")] == ["plain"]
    assert export(ada, "devices", groupId=group, seen="never", q="PLAIN") == rows[2:3]
    ids = [row["deviceId"] for row in rows]
    assert export(ada, "devices", groupId=group, after=ids[1]) == rows[2:]
    refused(ada.get("/devices/export", groupId=group, after="dev_unknown"), 400, "after")

    file = ada.get("/devices/export", groupId=group, format="csv").text
    for row in rows:
        ok(ada.delete("/device", deviceId=row["deviceId"], groupId=group))
    headers = {"Content-Type": "text/csv"}
    sent = {"params": {"groupId": group}, "content": file, "headers": headers}
    assert ok(ada.request("POST", "/devices/import", **sent))["created"] == 4
    again = export(ada, "devices", groupId=group)
    kept = ("name", "tags", "originalId", "network", "type", "configuration")
    assert [[row[name] for name in kept] for row in again] == [
        [row[name] for name in kept] for row in rows
    ]
    refused(eve.get("/devices/export", groupId=group), 404, "groupId")


def test_messages_and_the_audit_log_are_exported(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group()
    ada.invite(bob, group, "viewer")
    connectors = [ada.connector(group, NOWHERE, enabled=True) for _ in range(2)]
    device = ada.device(group)
    for number in range(3):
        ada.reports(device, timestamp=str(number))
    rows = export(bob, "connector/messages", groupId=group)
    assert [row["connectorId"] for row in rows] == [each for each in connectors for _ in range(3)]
    ids = [row["id"] for row in rows]
    for index in (0, 2, 5):
        resumed = export(bob, "connector/messages", groupId=group, after=ids[index])
        assert [row["id"] for row in resumed] == ids[index + 1 :]
    chosen = {"groupId": group, "connectorId": connectors[1]}
    assert [row["id"] for row in export_csv(bob, "connector/messages", **chosen)] == ids[3:]

    listed = walk(lambda **params: ada.get("/group/audit", **params), groupId=group)
    entries = export(ada, "group/audit", groupId=group)
    assert entries == listed
    assert export(ada, "group/audit", groupId=group, after=entries[1]["id"]) == entries[2:]
    cells = export_csv(ada, "group/audit", groupId=group, action="device.create")
    assert [row["objectId"] for row in cells] == [device]
    assert json.loads(cells[0]["after"])["name"]

    refused(bob.get("/group/audit/export", groupId=group), 403)
    for what, status in (("connector/messages", 400), ("group/audit", 404)):
        refused(eve.get(f"/{what}/export", groupId=group), status, "groupId")
        refused(ada.get(f"/{what}/export", groupId=group, after="nothing"), 400, "after")
    mine = eve.group()
    refused(eve.get("/group/audit/export", groupId=mine, after=entries[0]["id"]), 400, "after")


def test_each_arrival_leads_to_its_record_by_the_whole_key(sqlite_template: Path) -> None:
    """SQLite would rather read all records of a stay, for each of them."""
    with closing(sqlite3.connect(sqlite_template / "longwire.db")) as connection:
        for sql in record_scans.LIST_ARRIVED.values():
            values = dict.fromkeys(re.findall(r":([a-z]+)", sql.sqlite))
            steps = connection.execute(f"explain query plan {sql.sqlite}", values).fetchall()
            assert "(device_number=? AND stay=? AND ts=?)" in steps[-1][3], steps


# A text, and its cell. Spreadsheets run a cell as a formula behind whatever they do not see, and
# those that divide by semicolons, tabs or line breaks see cells where the service wrote none.
CELLS = {
    "=1+1": "'=1+1",
    "+x": "'+x",
    "-x": "'-x",
    "@sum": "'@sum",
    "\tx": "'\tx",
    "\rx": "'\rx",
    "\nx": "'\nx",
    "\n=1": "'\n'=1",
    "\t=1": "'\t'=1",
    "\r\n@x": "'\r\n'@x",
    "\uff1d1": "'\uff1d1",
    "\uff0b1": "'\uff0b1",
    "\uff0d1": "'\uff0d1",
    "\uff20x": "'\uff20x",
    "\ufe661": "'\ufe661",
    "\u22121": "'\u22121",
    "\ufeff=1": "'\ufeff=1",
    "\u200b=1": "'\u200b=1",
    "\u2060=1": "'\u2060=1",
    " =1": "' =1",
    "\xa0 =1": "'\xa0 =1",
    '"=1"': '\'"=1"',
    ";=1": ";'=1",
    "a;=1": "a;'=1",
    'a;"=1': "a;'\"=1",
    "a\n=1": "a\n'=1",
    "a\t@x;;-y": "a\t'@x;;'-y",
    "-": "'-",
    "+1 2": "'+1 2",
    "-1e": "'-1e",
    "=-1": "'=-1",
    "'=1": "''=1",
    "''=1": "'''=1",
    "a;'=1": "a;''=1",
    # These stay as they are.
    "": "",
    "x": "x",
    "-1": "-1",
    "+1.5": "+1.5",
    "-2e-7": "-2e-7",
    "'-2": "'-2",
    "a;-2;b": "a;-2;b",
    "'x": "'x",
    "1=1": "1=1",
    "a; b\nc": "a; b\nc",
    '{"a":-1,"b":"=1"}': '{"a":-1,"b":"=1"}',
}
SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20\ufe66\u2212")


def list_formulas(text: str) -> list[str]:
    """The cells that a spreadsheet would run, whatever it divides by."""
    cells = [
        cell
        for delimiter in ",;\t"
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        for cell in row
    ]
    seen = [re.sub(r'^[\s\x00-\x20\u200b\u2060\ufeff"]+', "", cell) for cell in cells]
    number = re.compile(r"[+-][0-9.]+(e-?[0-9]+)?")
    return [cell for cell in seen if cell.startswith(SIGNS) and not number.fullmatch(cell)]


@pytest.mark.parametrize(("text", "cell"), CELLS.items())
def test_cells_are_no_formulas_and_numbers_stay_numbers(text: str, cell: str) -> None:
    assert escape_cell(text) == cell
    assert unescape_cell(cell) == text
    assert not list_formulas(encode_csv(iter([["id", cell, "x"]])).decode())


@pytest.mark.parametrize(
    "tags", [[], ["a"], ["a", "b c"], ["a|b"], ["[x"], ["=x"], ["-"], ["a|b;=1"], ["a", ";=1"]]
)
def test_tags_are_read_back_from_their_cell(tags: list[str]) -> None:
    cell = format_tags(tags)
    assert parse_tags(unescape_cell(cell)) == tags
    assert not list_formulas(encode_csv(iter([["id", cell, "x"]])).decode())


def test_no_name_of_a_device_is_a_formula_in_its_export_and_an_import_reads_it_back(
    world: World,
) -> None:
    ada = world.person()
    group, other = ada.group(), ada.group("other")
    texts = [each for each in CELLS if each == each.strip() != ""]
    assert len(texts) > 30
    names = {ada.device(group, name=each, tags=[each[:64]]): each for each in texts}
    response = ada.get("/devices/export", groupId=group, format="csv")
    assert not list_formulas(response.text)
    rows = list(csv.DictReader(io.StringIO(response.text, newline="")))
    assert {row["deviceId"]: unescape_cell(row["name"]) for row in rows} == names

    for each in names:
        ok(ada.delete("/device", deviceId=each, groupId=group))
    done = ok(
        ada.request(
            "POST",
            "/devices/import",
            params={"groupId": other},
            content=response.content,
            headers={"Content-Type": "text/csv"},
        )
    )
    assert done["created"] == len(texts)
    items = walk(lambda **query: ada.get("/group/devices", **query), groupId=other)
    assert sorted(each["name"] for each in items) == sorted(texts)
    assert all(each["tags"] == [each["name"][:64]] for each in items)


def test_every_kind_of_record_is_exported_with_its_own_columns(world: World) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    for kind in KINDS:
        ada.reports(device, kind)
    settle(world)
    for kind in KINDS:
        (row,) = export_csv(ada, "records", groupId=group, kind=kind)
        (stored,) = ada.records(device, kind)
        for name, value in stored.items():
            assert row[name] == str(value), name


@pytest.mark.engine_free
def test_a_month_of_a_group_is_a_parquet_file(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="Parquet files need the extra longwire[parquet]")
    tables = importlib.import_module("pyarrow.parquet")
    monkeypatch.setattr(parquet, "ROW_GROUP_RECORDS", 2)
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    values = [(51.5, 4.25, 80), (None, None, None), (-3.0, 7.0, 5)]
    for number, (lat, lng, radius) in enumerate(values):
        place = {"lat": lat, "lng": lng, "radius": radius}
        ada.reports(device, "geoloc", timestamp=f"2026-03-01T00:00:0{number}.000001Z", **place)
    settle(world)
    month = {"groupId": group, "kind": "geoloc", "beginDate": "2026-01-01"}
    response = ada.get("/records/export", format="parquet", **month)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/vnd.apache.parquet"
    file = tables.ParquetFile(io.BytesIO(response.content))
    assert file.num_row_groups == 2
    rows = file.read().to_pylist()
    assert [(row["lat"], row["lng"], row["radius"]) for row in rows] == values
    assert [row["timestamp"].microsecond for row in rows] == [1, 1, 1]
    assert [row["id"] for row in rows] == [row["id"] for row in export(ada, "records", **month)]
    assert {row["deviceId"] for row in rows} == {device}

    valued = ada.get("/records/export", format="parquet", values="spot", **month)
    table = tables.ParquetFile(io.BytesIO(valued.content)).read()
    assert table.column("values.spot").to_pylist() == [None] * 3

    empty = ada.get("/records/export", format="parquet", groupId=group, kind="event")
    assert tables.ParquetFile(io.BytesIO(empty.content)).read().num_rows == 0
    monkeypatch.setattr(extras, "is_installed", lambda extra: False)
    refused(ada.get("/records/export", format="parquet", **month), 400, "format")


@pytest.mark.engine_free
def test_what_records_say_of_measurements_is_a_column_of_their_export(world: World) -> None:
    ada = world.person()
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    wet = {"name": "wet", "path": "/data/soil/water", "unit": "%", "maximum": 100}
    door = {"name": "door", "path": "/data/door", "class": "state"}
    for group, declared in ((root, [wet, door]), (branch, [{**wet, "path": "/data/w"}])):
        body = {"type": "generic", "groupId": group, "measurements": declared}
        ok(ada.put("/device/type/measurements", body))
    device, below = ada.device(root), ada.device(branch)
    said = [
        {"soil": {"water": 17}, "door": True, "level": 2.5},
        {"soil": {"water": 170}, "door": "=1"},
    ]
    for number, data in enumerate([*said, {"level": "high"}]):
        at = f"2026-03-01T00:00:0{number}Z"
        ada.reports(device, timestamp=at, data=json.dumps(data))
    ada.reports(below, timestamp="2026-03-01T00:00:09Z", data='{"w": 4, "door": "shut"}')
    settle(world)
    query = {"groupId": root, "values": "wet,door,level"}
    rows = export_csv(ada, "records", **query)
    names = ("values.wet (%)", "values.door", "values.level")
    shown = [tuple(row[name] for name in names) for row in rows]
    assert shown == [("17", "true", "2.5"), ("", "'=1", ""), ("", "", "")]
    # Out of bounds is no value, and a name means what it means in the group of the record.
    expected = [{"wet": 17, "door": True, "level": 2.5}, {"door": "=1"}, {}]
    lines = export(ada, "records", **query, subgroups="true")
    assert [each["values"] for each in lines] == [*expected, {"wet": 4, "door": "shut"}]
    assert all("values" not in each for each in export(ada, "records", groupId=root))
    of_device = export(ada, "records", deviceId=device, values="wet,door,level")
    assert [each["values"] for each in of_device] == expected
    after = export_csv(ada, "records", **query, after=rows[0]["id"])
    assert [row["values.door"] for row in after] == ["'=1", ""]
    refused(ada.get("/records/export", groupId=root, values="a,,b c"), 400, "values")

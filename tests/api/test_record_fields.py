"""`fields=`: only some members of records, in lists, arrivals, exports and the live stream."""

import csv
import io
import json

import msgspec
import pytest

from longwire.api.records.record_fields import REQUIRED
from longwire.api.records.records import KINDS
from tests.listening import Listening
from tests.waiting import eventually
from tests.world import World, ok, record_of, refused

KEPT = {"deviceId", "timestamp", "data"}


@pytest.mark.engine_free
def test_lists_arrivals_and_exports_have_only_the_fields_that_are_asked_for(world: World) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    for second in range(3):
        text = json.dumps({"t": second, "x": "\u00e9\n"})
        sent = record_of(device, timestamp=f"2026-01-01T00:00:0{second}Z", data=text, mode="a")
        ok(ada.post("/device/data", sent))
    ok(ada.post("/device/event", record_of(device, "event", message="open")))
    all_of_it = ok(ada.get("/device/data", deviceId=device))

    found = ok(ada.get("/device/data", deviceId=device, fields="mode, __raw"))
    assert found["items"] == [
        {name: each[name] for name in (*KEPT, "mode", "__raw")} for each in all_of_it["items"]
    ]
    # A page token is good for the list, whatever is shown of it.
    first = ok(ada.get("/device/data", deviceId=device, limit=2))
    token = first["nextToken"]
    rest = ok(ada.get("/device/data", deviceId=device, limit=2, nextToken=token, fields="data"))
    assert [set(each) for each in rest["items"]] == [KEPT]
    assert ok(ada.get("/device/geoloc", deviceId=device, fields="lat")) == {"items": []}

    arrived = ok(ada.get("/group/records", groupId=group, fields="message"))["items"]
    assert [set(each["record"]) for each in arrived] == [
        {"deviceId", "timestamp", "type", "message"},
        *[KEPT] * 3,
    ]
    assert set(arrived[0]) >= {"id", "arrivedAt", "kind", "source"}

    export = {"deviceId": device, "kind": "data", "fields": "mode"}
    lines = ada.get("/records/export", **export).text.splitlines()
    assert [set(json.loads(each)) for each in lines] == [{*KEPT, "id", "mode"}] * 3
    table = ada.get("/records/export", **{**export, "fields": "timestamp,data"}, format="csv").text
    rows = list(csv.reader(io.StringIO(table)))
    assert rows[0] == ["id", "timestamp", "data"]
    assert [row[2] for row in rows[1:]] == [each["data"] for each in all_of_it["items"]]

    for path, query in (
        ("/device/data", {"deviceId": device}),
        ("/group/records", {"groupId": group, "kinds": "data"}),
        ("/records/export", {"deviceId": device}),
        ("/live", {"groupId": group, "kinds": "data"}),
    ):
        refusal = refused(ada.get(path, **query, fields="data,lat,"), 400, "fields")
        said = [each["message"] for each in refusal["errors"]]
        assert [each.partition(" is no member; there are ")[0] for each in said] == [
            "lat",
            "nothing",
        ]
    refused(ada.get("/records/export", **export, format="parquet"), 400, "fields")


@pytest.mark.slow
@pytest.mark.engine_free
def test_the_live_stream_has_only_the_fields_that_are_asked_for(world: World) -> None:
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    with (
        Listening(ada, groupId=group, fields="mode") as some,
        Listening(ada, groupId=group) as everything,
    ):
        ok(ada.post("/device/data", record_of(device, mode="a")))
        eventually(lambda: bool(some.records and everything.records))
    assert [set(each["record"]) for each in some.records] == [{*KEPT, "mode"}]
    assert set(everything.records[0]["record"]) > {*KEPT, "mode"}


def test_what_is_always_there_is_what_the_schemas_require() -> None:
    for kind in KINDS:
        fields = msgspec.structs.fields(kind.reply)
        required = {each.encode_name for each in fields if each.required}
        assert set(REQUIRED[kind.name]) == required

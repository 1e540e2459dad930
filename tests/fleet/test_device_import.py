"""Import of devices from CSV: what spreadsheets write, all or nothing, and again without harm."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from longwire.api.fleet.device_import import parse_file
from longwire.web.fields import InputLimits
from tests.world import Person, World, nothing_happens, ok, refused, walk

HEADER = "name,originalId,type,network,tags,configuration\n"
FILE = (
    HEADER
    + "Cold room,A1,temperature,mqtt,north|cellar,\n"
    + 'Gate 3,A2,button,yard,,"{""longPressSeconds"":5}"\n'
    + '"Quay, ""left""\nside",A3,generic,mqtt,,\n'
)


def send(person: Person, group: str, text: str | bytes, **params: Any) -> httpx.Response:
    return person.request(
        "POST",
        "/devices/import",
        params={"groupId": group, **params},
        content=text if isinstance(text, bytes) else text.encode(),
        headers={"Content-Type": "text/csv"},
    )


def names(person: Person, group: str) -> list[str]:
    items = walk(lambda **params: person.get("/group/devices", **params), groupId=group)
    return [each["name"] for each in items]


@pytest.mark.engine_free
def test_a_file_is_imported_once_and_the_second_time_changes_nothing(world: World) -> None:
    ada = world.person()
    group = ada.group()
    with nothing_happens(world):
        dry = ok(send(ada, group, FILE, dryRun=True))
    assert (dry["isDryRun"], dry["created"], dry["existing"], dry["errors"]) == (True, 3, 0, [])
    assert [each["line"] for each in dry["items"]] == [2, 3, 4]
    assert all("deviceId" not in each for each in dry["items"])

    done = ok(send(ada, group, FILE))
    assert (done["message"], done["isDryRun"]) == ("3 created, 0 already there.", False)
    assert names(ada, group) == ["Cold room", "Gate 3", 'Quay, "left"\nside']
    first, second, _ = (ok(ada.get("/device", deviceId=each["deviceId"])) for each in done["items"])
    assert (first["originalId"], first["tags"]) == ("A1", ["north", "cellar"])
    assert first["configuration"].startswith('{"reportEverySeconds"'), "that of its type"
    assert (second["network"], second["configuration"]) == ("yard", '{"longPressSeconds":5}')

    with nothing_happens(world):
        again = ok(send(ada, group, FILE.replace("Cold room", "renamed").replace("A1", "a1")))
    assert again["message"] == "0 created, 3 already there."
    assert {each["status"] for each in again["items"]} == {"existing"}
    assert [each["deviceId"] for each in again["items"]] == [
        each["deviceId"] for each in done["items"]
    ]
    more = ok(send(ada, group, FILE + "New,A4,generic,mqtt,,\n"))
    assert [each["status"] for each in more["items"]] == [*["existing"] * 3, "created"]


def test_a_dry_run_names_every_wrong_line_and_an_import_of_it_changes_nothing(
    make_world: Callable[..., World],
) -> None:
    world = make_world(tags_max=2, tag_characters_max=5)
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    bob.device(bob.group(), originalId="TAKEN", network="mqtt")
    text = HEADER + "\n".join(
        (
            "good,G1,generic,mqtt,,",
            ",,,,,",
            "no id,,generic,mqtt,,",
            "x" * 257 + ",G2,garbage,mqtt,,",
            "twice,g1,generic,mqtt,,",
            "taken,taken,generic,mqtt,,",
            "tags,G3,generic,mqtt,a|b|c,",
            "tag,G4,generic,mqtt,abcdef,",
            "cells,G5,generic,mqtt,,,surplus",
            "nul\x00,G6,,,,",
        )
    )
    with nothing_happens(world):
        dry = ok(send(ada, group, text, dryRun=True))
        found = [(each["line"], each["column"], each["code"]) for each in dry["errors"]]
        assert found == [
            (4, "originalId", "required"),
            (5, "name", "too_long"),
            (6, "originalId", "duplicate"),
            (7, "originalId", "taken"),
            (8, "tags", "too_many_tags"),
            (9, "tags", "too_long"),
            (10, "", "too_many_cells"),
            (11, "name", "invalid_character"),
            (11, "type", "required"),
            (11, "network", "required"),
        ]
        assert dry["created"] == 1
        fields = [f"lines[{line}].{column}".removesuffix(".") for line, column, _ in found]
        refused(send(ada, group, text), 400, *fields)
        unknown = HEADER + "a,G7,garbage,mqtt,,"
        dry = ok(send(ada, group, unknown, dryRun=True))
        assert [each["code"] for each in dry["errors"]] == ["unknown_type"]
        assert (dry["created"], dry["items"]) == (0, [])
        refused(send(ada, group, unknown), 400, "lines[2].type")
        refused(send(ada, group, HEADER + "a,taken,generic,mqtt,,"), 409, "lines[2].originalId")
    assert names(ada, group) == []


@pytest.mark.engine_free
def test_who_may_not_create_devices_may_not_import_them(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group()
    ada.invite(bob, group, "viewer")
    with nothing_happens(world):
        for dry_run in ("true", "false"):
            refused(send(bob, group, FILE, dryRun=dry_run), 403)
            refused(send(eve, group, FILE, dryRun=dry_run), 404, "groupId")


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_what_is_no_csv_in_utf_8_is_refused(make_world: Callable[..., World]) -> None:
    world = make_world(bulk_ids_max=2)
    ada = world.person()
    group = ada.group()
    with nothing_happens(world):
        refused(send(ada, group, b"originalId\n\xff"), 400)
        refused(send(ada, group, ""), 400, "lines[1].originalId")
        refused(send(ada, group, FILE), 400, "lines[4]")
        refused(send(ada, group, 'originalId\n"a'), 400, "lines[2]")
        for media_type in ("application/json", "text/plain", "text/csv; charset=latin-1", ""):
            headers = {"Content-Type": media_type}
            params = {"groupId": group}
            response = ada.request(
                "POST", "/devices/import", params=params, content=FILE, headers=headers
            )
            refused(response, 415)
    defaults = {"type": "generic", "network": "mqtt"}
    assert ok(send(ada, group, "original id\nB1\n", **defaults))["created"] == 1


def parsed(text: str | bytes) -> Any:
    body = text if isinstance(text, bytes) else text.encode()
    return parse_file(body, "generic", "mqtt", InputLimits())


@pytest.mark.parametrize(
    "text",
    [
        "originalId,name\nA1,one\nA2,two\n",
        "\ufefforiginalId,name\r\nA1,one\r\nA2,two",
        "Original ID;Name\nA1;one\n\n;\nA2;two;;\n",
        "original_id, NAME ,seenAt\n A1 , one ,7\n'A2,two,8\n".replace("'A2", "A2"),
        '"originalId","name"\n"A1","one"\n"A2","two"\n',
    ],
)
def test_what_spreadsheets_write_is_read(text: str) -> None:
    file = parsed(text)
    assert file.errors == []
    assert [(each.draft.original_id, each.draft.name) for each in file.lines] == [
        ("A1", "one"),
        ("A2", "two"),
    ]


def test_cells_of_an_export_are_read_back() -> None:
    file = parsed('originalId,name,tags,rssi\nA1,\'=1+1,a|b,\'-7\nA2,\'x,"[""a|b""]",1\n')
    one, two = (each.draft for each in file.lines)
    assert (one.name, one.tags) == ("=1+1", ["a", "b"])
    assert (two.name, two.tags) == ("'x", ["a|b"])
    assert file.ignored_columns == ["rssi"]


@pytest.mark.parametrize(
    "text, line, column, code",
    [
        ("name\nx\n", 1, "original_id", "missing_column"),
        ("originalId,Original-Id\nx,y\n", 1, "original_id", "duplicate_column"),
        ('originalId\nA1\n"a"b\n', 3, "", "malformed"),
        ('originalId\nA1\n"never closed\n\n', 3, "", "malformed"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(
    text: str, line: int, column: str, code: str
) -> None:
    (error,) = parsed(text).errors
    assert (error.line, error.column, error.code) == (line, column, code)

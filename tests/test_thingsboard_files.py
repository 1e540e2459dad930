"""What ThingsBoard exports is read, and what it does not export is refused."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from longwire_cli.thingsboard_files import (
    BadExport,
    ExportedDevice,
    read_devices,
    read_telemetry,
)

pytestmark = [pytest.mark.engine_free]

BERLIN = ZoneInfo("Europe/Berlin")


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_table_of_devices_is_found_by_its_columns(tmp_path: Path) -> None:
    text = "\ufeffEntity name;Device profile;Label\nPump 7;Pump;west\nPump 8;;\n"
    assert read_devices(write(tmp_path, "devices.csv", text)) == [
        ExportedDevice("Pump 7", "Pump", "west", ""),
        ExportedDevice("Pump 8", "", "", ""),
    ]


def test_pages_may_be_saved_one_after_the_other(tmp_path: Path) -> None:
    pages = '[{"data":[{"name":"A","id":{"id":"1"}}]},{"data":[{"name":"B","label":"x"}]}]'
    read = read_devices(write(tmp_path, "devices.json", pages))
    assert [(each.name, each.id, each.label) for each in read] == [("A", "1", ""), ("B", "", "x")]


def test_values_of_one_instant_belong_together_and_get_their_types_back(tmp_path: Path) -> None:
    text = (
        '{"t":[{"ts":2000,"value":"4.5"},{"ts":1000,"value":4}],"on":[{"ts":2000,"value":"true"}],'
        '"name":[{"ts":2000,"value":"Ada"}],"at":[{"ts":2000,"value":"{\\"x\\":1}"}]}'
    )
    assert read_telemetry(write(tmp_path, "a.json", text), UTC) == {
        datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC): {"t": 4},
        datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC): {
            "t": 4.5,
            "on": True,
            "name": "Ada",
            "at": {"x": 1},
        },
    }


def test_dates_of_tables_are_in_the_given_zone_also_over_the_change_of_the_clocks(
    tmp_path: Path,
) -> None:
    text = "Timestamp,t\n2026-03-29 01:59:59,1\n2026-03-29 03:00:00,2\n1774746001000,3\n"
    read = read_telemetry(write(tmp_path, "a.csv", text), BERLIN)
    assert [each.astimezone(UTC).isoformat() for each in read] == [
        "2026-03-29T00:59:59+00:00",
        "2026-03-29T01:00:00+00:00",
        "2026-03-29T01:00:01+00:00",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("a.json", "[]"),
        ("a.json", '{"t":4}'),
        ("a.json", '{"t":[{"value":4}]}'),
        ("a.json", '{"t":[{"ts":99999999999999999999,"value":4}]}'),
        ("a.csv", "Timestamp,t\nyesterday,4\n"),
        ("a.csv", "Timestamp,t\n²,4\n"),
        ("a.csv", f"Timestamp,t\n{'9' * 5000},4\n"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(BadExport, match=r"a\.(json|csv)"):
        read_telemetry(write(tmp_path, name, text), UTC)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"data":[{}]}'),
        ("a.json", '{"data":null}'),
        ("a.json", "[]"),
        ("a.csv", "label\nx\n"),
    ],
)
def test_files_without_devices_are_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(BadExport):
        read_devices(write(tmp_path, name, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"name\n\xff\n")
    with pytest.raises(BadExport, match=r"a\.csv"):
        read_devices(tmp_path / "a.csv")


def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    most = csv.field_size_limit(100)
    try:
        with pytest.raises(BadExport):
            read_devices(write(tmp_path, "a.csv", f"name\n{'x' * 101}\n"))
    finally:
        csv.field_size_limit(most)

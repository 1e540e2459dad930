"""Reads what ThingsBoard exports: devices and their telemetry, as JSON of its API or as CSV.

Devices are the pages of `GET /api/tenant/devices`, or a table that its console exported. Telemetry
is what `GET /api/plugins/telemetry/DEVICE/<id>/values/timeseries` responds, a list of timestamps
and values for each key, or a table with a timestamp and a column for each key.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec

from longwire_cli.errors import CommandError

Values = dict[str, Any]

_NAME_COLUMNS = ("name", "entity name", "device name")
_TYPE_COLUMNS = ("type", "device profile", "profile", "device type")
_LABEL_COLUMNS = ("label",)
_TIME_COLUMNS = ("timestamp", "ts", "time", "date")
_DATE_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M")


class BadExport(CommandError):
    """A file is not what ThingsBoard exports."""


@dataclass(frozen=True, slots=True)
class ExportedDevice:
    name: str
    type: str
    label: str
    id: str  # ThingsBoard's; a table has none


def read_devices(path: Path) -> list[ExportedDevice]:
    text = _read_text(path)
    found = (
        _devices_of_json(path, text) if path.suffix == ".json" else _devices_of_table(path, text)
    )
    devices = list(found)
    if not devices:
        raise BadExport(f"{path} has no devices.")
    return devices


def read_telemetry(path: Path, zone: tzinfo) -> dict[datetime, Values]:
    """What was measured at each instant, oldest first; dates in tables are in this time zone."""
    text = _read_text(path)
    found = _read_series(path, text) if path.suffix == ".json" else _read_table(path, text, zone)
    instants: dict[datetime, Values] = {}
    for instant, key, value in found:
        instants.setdefault(instant, {})[key] = value
    return dict(sorted(instants.items()))


def _devices_of_json(path: Path, text: str) -> Iterator[ExportedDevice]:
    """One page, or a list of pages, as they were saved one after the other."""
    content = _decode(path, text)
    pages = content if isinstance(content, list) else [content]
    for page in pages:
        entries = page["data"] if isinstance(page, dict) and "data" in page else [page]
        for each in entries if isinstance(entries, list) else [None]:
            if not isinstance(each, dict) or not isinstance(each.get("name"), str):
                raise BadExport(f"{path} is not a page of GET /api/tenant/devices.")
            given_id = each.get("id")
            yield ExportedDevice(
                each["name"],
                str(each.get("type") or ""),
                str(each.get("label") or ""),
                str(given_id.get("id", "")) if isinstance(given_id, dict) else "",
            )


def _devices_of_table(path: Path, text: str) -> Iterator[ExportedDevice]:
    for row in _read_rows(text):
        name = _pick(row, _NAME_COLUMNS)
        if not name:
            raise BadExport(f"{path} has a row without a name; its columns are {', '.join(row)}.")
        yield ExportedDevice(name, _pick(row, _TYPE_COLUMNS), _pick(row, _LABEL_COLUMNS), "")


def _read_series(path: Path, text: str) -> Iterator[tuple[datetime, str, Any]]:
    content = _decode(path, text)
    if not isinstance(content, dict):
        raise BadExport(f"{path} is not a response of GET …/values/timeseries.")
    for key, points in content.items():
        for point in points if isinstance(points, list) else [None]:
            if not isinstance(point, dict) or not isinstance(point.get("ts"), int):
                raise BadExport(f"{path}: {key} is not a list of timestamps and values.")
            yield _to_instant(path, point["ts"]), key, _parse_value(point.get("value"))


def _read_table(path: Path, text: str, zone: tzinfo) -> Iterator[tuple[datetime, str, Any]]:
    for row in _read_rows(text):
        written = _pick(row, _TIME_COLUMNS)
        instant = _parse_date(path, written, zone)
        for key, value in row.items():
            if key.lower() not in _TIME_COLUMNS and value != "":
                yield instant, key, _parse_value(value)


def _read_rows(text: str) -> Iterator[dict[str, str]]:
    """Rows by column; the delimiter is the one that the header has."""
    header = text.partition("\n")[0]
    delimiter = max(";,\t", key=header.count)
    try:
        for row in csv.DictReader(io.StringIO(text), delimiter=delimiter):
            yield {name.strip(): (value or "").strip() for name, value in row.items() if name}
    except csv.Error as error:
        raise BadExport(f"A table cannot be read: {error}") from error


def _pick(row: Mapping[str, str], names: tuple[str, ...]) -> str:
    lowered = {name.lower(): value for name, value in row.items()}
    return next((lowered[name] for name in names if lowered.get(name)), "")


def _parse_date(path: Path, written: str, zone: tzinfo) -> datetime:
    if written.isascii() and written.isdigit():
        return _to_instant(path, int(written[:20]))
    for layout in _DATE_FORMATS:
        try:
            return datetime.strptime(written, layout).replace(tzinfo=zone)
        except ValueError:
            continue
    raise BadExport(f"{path}: {written!r} is no timestamp.")


def _to_instant(path: Path, millis: int) -> datetime:
    try:
        return datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise BadExport(f"{path}: {millis} is no timestamp in milliseconds.") from error


def _parse_value(value: Any) -> Any:
    """ThingsBoard writes every value as a text, unless it was asked for types."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadExport(f"{path} is not text in UTF-8.") from error


def _decode(path: Path, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadExport(f"{path} is not JSON: {error}") from error

"""Makes readings that fit their records, whatever a network has put into the values.

What is optional and does not fit is left out. What is too long is cut, and of data that is too
large as many members are kept as there is room for, the small ones first.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.networks.base import Reading, ReadingKind
from longwire.networks.bodies import parse_integer, parse_number, parse_rounded, parse_text

# The records' own limits.
WORD_CHARACTERS_MAX = 256
TEXT_CHARACTERS_MAX = 262_144
DUPLICATES_MAX = 1_000

PAYLOAD_BYTES_MAX = TEXT_CHARACTERS_MAX // 2  # two hex digits each

LEFT_OUT = "leftOut"
_ROOM_FOR_LEFT_OUT = 64  # its name, a number and the punctuation around


def data(ts: Moment | None, payload: bytes, said: Mapping[str, Any]) -> Reading:
    return Reading("data", ts, {"data": truncate_json(said), "raw": payload.hex()})


def event(
    ts: Moment | None,
    type: str,
    said: Mapping[str, Any],
    *,
    message: Any = None,
    severity: Any = None,
) -> Reading:
    return _reading(
        "event",
        ts,
        said,
        type=type,
        message=parse_text(message, TEXT_CHARACTERS_MAX),
        severity=_severity(severity),
    )


def geoloc(
    ts: Moment | None,
    lat: Any,
    lng: Any,
    said: Mapping[str, Any],
    *,
    radius: Any = None,
    source: Any = None,
    status: Any = None,
) -> Reading | None:
    """Where the device was, if that is a place."""
    north, east = parse_number(lat), parse_number(lng)
    if north is None or east is None or not (-90 <= north <= 90 and -180 <= east <= 180):
        return None
    reach = parse_rounded(radius, minimum=0)
    # A network that has no position to tell fills in zeros. Nobody has a device just there.
    if north == 0 and east == 0 and not reach:
        return None
    return _reading(
        "geoloc",
        ts,
        said,
        lat=float(north),
        lng=float(east),
        radius=reach,
        source=parse_integer(source),
        status=parse_integer(status),
    )


def telemetry(
    ts: Moment | None,
    said: Mapping[str, Any],
    *,
    duplicates: Iterable[Any] | None = None,
    stations: int | None = None,
    score: int | None = None,
    rc: int | None = None,
) -> Reading:
    return _reading(
        "telemetry",
        ts,
        said,
        duplicates=None if duplicates is None else _texts(duplicates),
        stations=stations,
        score=score,
        rc=rc,
    )


def remaining_fields(values: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
    """What nobody has asked for yet, to be kept as it was sent."""
    return {name: value for name, value in values.items() if name not in used and value is not None}


def drop_none(said: Mapping[str, Any]) -> dict[str, Any]:
    """Only what has a value."""
    return {name: value for name, value in said.items() if value is not None}


def truncate_json(said: Mapping[str, Any]) -> dict[str, Any]:
    """As much of an object as fits into the data of a record, written as JSON."""
    if len(msgspec.json.encode(said)) <= TEXT_CHARACTERS_MAX:
        return dict(said)
    # Name and value, two quotes, a colon and a comma.
    sizes = {name: len(msgspec.json.encode((name, value))) + 4 for name, value in said.items()}
    room = TEXT_CHARACTERS_MAX - _ROOM_FOR_LEFT_OUT
    kept = set()
    for name in sorted(sizes, key=sizes.__getitem__):
        room -= sizes[name]
        if room < 0:
            break
        kept.add(name)
    return {name: said[name] for name in said if name in kept} | {LEFT_OUT: len(said) - len(kept)}


def _reading(
    kind: ReadingKind, ts: Moment | None, said: Mapping[str, Any], **fields: Any
) -> Reading:
    return Reading(kind, ts, drop_none({**fields, "data": truncate_json(said) if said else None}))


def _texts(items: Iterable[Any]) -> list[str]:
    texts = (msgspec.json.encode(item).decode() for item in items)
    return [text for text in texts if len(text) <= TEXT_CHARACTERS_MAX][:DUPLICATES_MAX]


# Networks agree on what to say and not on how.
_SEVERITIES = {
    "info": "info",
    "warn": "warning",
    "warning": "warning",
    "error": "error",
}


def _severity(value: Any) -> str | None:
    word = parse_text(value, WORD_CHARACTERS_MAX)
    return None if word is None else _SEVERITIES.get(word.lower(), word)

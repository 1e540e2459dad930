"""Build readings that fit their records, whatever values a network has sent.

Invalid optional values are omitted and long ones truncated. Of data that is too large, as many
members are kept as fit, the smallest first.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.measurements.values import DECODED, LEFT_OUT, NOT_VALUES, RADIO
from longwire.networks.base import Reading, ReadingKind
from longwire.networks.values import parse_integer, parse_number, parse_rounded, parse_text

# The records' own limits.
WORD_CHARACTERS_MAX = 256
TEXT_CHARACTERS_MAX = 262_144
DUPLICATES_MAX = 1_000

PAYLOAD_BYTES_MAX = TEXT_CHARACTERS_MAX // 2  # two hex digits each

_RADIO_BYTES_MAX = TEXT_CHARACTERS_MAX // 4
_LEFT_OUT_BYTES = 64  # its name, a number and the punctuation around


def data(ts: Moment | None, payload: bytes, decoded: Any, facts: Mapping[str, Any]) -> Reading:
    """The values that the network has decoded, and apart from them the facts of the transmission.

    `decoded` is an object in all but odd cases; what is none is a value of that name.
    """
    values = decoded if isinstance(decoded, dict) else drop_none({DECODED: decoded})
    named = {rename_value(name, values): value for name, value in values.items()}
    radio = truncate_json(drop_none(facts), _RADIO_BYTES_MAX)
    return Reading(
        "data", ts, {"data": truncate_json({**named, RADIO: radio}), "raw": payload.hex()}
    )


def rename_value(name: str, others: Collection[str]) -> str:
    """A name that means something else in the data of a record gets a `_`."""
    unused = name
    while unused in NOT_VALUES or (unused != name and unused in others):
        unused += "_"
    return unused


def event(
    ts: Moment | None,
    type: str,
    values: Mapping[str, Any],
    *,
    message: Any = None,
    severity: Any = None,
) -> Reading:
    return _reading(
        "event",
        ts,
        values,
        type=type,
        message=parse_text(message, TEXT_CHARACTERS_MAX),
        severity=_severity(severity),
    )


def geoloc(
    ts: Moment | None,
    lat: Any,
    lng: Any,
    values: Mapping[str, Any],
    *,
    radius: Any = None,
    source: Any = None,
    status: Any = None,
) -> Reading | None:
    """The position of the device, if it is a valid one."""
    latitude, longitude = parse_number(lat), parse_number(lng)
    if (
        latitude is None
        or longitude is None
        or not (-90 <= latitude <= 90 and -180 <= longitude <= 180)
    ):
        return None
    radius_m = parse_rounded(radius, minimum=0)
    # Networks fill in zeros if they have no position.
    if latitude == 0 and longitude == 0 and not radius_m:
        return None
    return _reading(
        "geoloc",
        ts,
        values,
        lat=float(latitude),
        lng=float(longitude),
        radius=radius_m,
        source=parse_integer(source),
        status=parse_integer(status),
    )


def telemetry(
    ts: Moment | None,
    values: Mapping[str, Any],
    *,
    duplicates: Iterable[Any] | None = None,
    stations: int | None = None,
    score: int | None = None,
    rc: int | None = None,
) -> Reading:
    return _reading(
        "telemetry",
        ts,
        values,
        duplicates=None if duplicates is None else _encode_each(duplicates),
        stations=stations,
        score=score,
        rc=rc,
    )


def remaining_fields(values: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
    """The fields that were not used, to be kept as they were sent."""
    return {name: value for name, value in values.items() if name not in used and value is not None}


def drop_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def truncate_json(
    values: Mapping[str, Any], bytes_max: int = TEXT_CHARACTERS_MAX
) -> dict[str, Any]:
    """Drop the largest members until the object fits into the data of a record as JSON.

    The facts of the transmission are dropped last.
    """
    if len(msgspec.json.encode(values)) <= bytes_max:
        return dict(values)
    # Name and value, two quotes, a colon and a comma.
    sizes = {name: len(msgspec.json.encode((name, value))) + 4 for name, value in values.items()}
    bytes_left = bytes_max - _LEFT_OUT_BYTES
    kept = set()
    for name in sorted(sizes, key=lambda each: (each != RADIO, sizes[each])):
        bytes_left -= sizes[name]
        if bytes_left < 0:
            break
        kept.add(name)
    return {name: values[name] for name in values if name in kept} | {
        LEFT_OUT: len(values) - len(kept)
    }


def _reading(
    kind: ReadingKind, ts: Moment | None, values: Mapping[str, Any], **fields: Any
) -> Reading:
    return Reading(
        kind, ts, drop_none({**fields, "data": truncate_json(values) if values else None})
    )


def _encode_each(items: Iterable[Any]) -> list[str]:
    texts = (msgspec.json.encode(item).decode() for item in items)
    return list(islice((t for t in texts if len(t) <= TEXT_CHARACTERS_MAX), DUPLICATES_MAX))


_SEVERITIES = {"info": "info", "warn": "warning", "warning": "warning", "error": "error"}


def _severity(value: Any) -> str | None:
    word = parse_text(value, WORD_CHARACTERS_MAX)
    return None if word is None else _SEVERITIES.get(word.lower(), word)

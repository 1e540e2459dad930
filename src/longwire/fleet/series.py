"""Series: the numbers at one place of a device's records over time, down-sampled to buckets.

The work is bounded whatever the range contains. Records are read in small steps. Where there are
more than can be looked at, each slot of time gives its first few, so that a year of a chatty device
is shown from its begin to its end, though not from every record.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import msgspec

from longwire.clock import DAY, HOUR, MINUTE, SECOND, Moment
from longwire.dataclass import dataclass
from longwire.errors import LongwireError, NotAllowed, NotFound, invalid_field
from longwire.fleet import records
from longwire.measurements.calendar_spans import Spans
from longwire.measurements.extraction import resolve
from longwire.measurements.values import find_members
from longwire.model import Actor
from longwire.records import DECODED_NAMES, RecordKind, list_json_fields, list_number_fields
from longwire.store.archive.archive_reads import NeedsArchive, convert_result
from longwire.store.database import Tx
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records.record_scans import ScannedRecord, StayCursor, StayScan, scan_stay

DEVICES_MAX = 20
POINTS_MAX = 2_000  # of all devices
POINTS_DEFAULT = 200  # of a device
SPANS = (
    *(SECOND, 10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE),
    *(HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY),
)
# Of all devices. A record costs one, and one more for each KiB that it has beyond the first.
RECORDS_MAX = 50_000
WORK_MAX = 2 * RECORDS_MAX
SLOTS_MAX = 1_000
STEP_RECORDS_MAX = 1_000
STEP_RECORDS_MIN = 16
_STEP_COST = 10

VALUE_MAX = 1e300  # so that neither a sum nor a difference of two is infinite
_NUMBERS = (int, float)


@dataclass(frozen=True, slots=True)
class SeriesSelection:
    """Which numbers, of which devices and time, in buckets of which length."""

    device_ids: Sequence[str]
    kind: str
    path: str  # a JSON Pointer (RFC 6901)
    spans: Spans


@dataclass(slots=True)
class Bucket:
    """The numbers of a span of time."""

    minimum: float
    maximum: float
    mean: float
    first: float
    last: float
    count: int
    first_key: tuple[Moment, int]
    last_key: tuple[Moment, int]

    def add(self, value: float, key: tuple[Moment, int]) -> None:
        self.count += 1
        # Without calls: this is done for every record.
        if value < self.minimum:
            self.minimum = value
        elif value > self.maximum:
            self.maximum = value
        self.mean += (value - self.mean) / self.count
        if key > self.last_key:
            self.last, self.last_key = value, key
        elif key < self.first_key:
            self.first, self.first_key = value, key


def choose_span(begin: Moment, end: Moment, device_count: int) -> Moment:
    """The smallest of the usual spans that gives so few buckets that a chart can show them."""
    points = min(POINTS_DEFAULT, POINTS_MAX // device_count)
    least = -(-(end - begin) // points)
    usual = next((span for span in SPANS if span >= least), None)
    return usual or -(-least // DAY) * DAY


# --- the number of a record ---


def compile_path(kind: str, path: str) -> Callable[[str], float | None]:
    """A function from the JSON of a record to the number at a place in it, if there is one."""
    tokens = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    texts, numbers = list_json_fields(kind), list_number_fields(kind)
    if len(tokens) < 2 or tokens[0] or tokens[1] not in (*texts, *numbers):
        places = [f"/{name}/…" for name in texts] + [f"/{name}" for name in numbers]
        raise invalid_field("path", f"must be one of {', '.join(places)}")
    name, *rest = tokens[1:]
    if name in numbers and rest:
        raise invalid_field("path", f"leads into {name}, which is a number")
    if name in numbers:
        decode = _field_decoder(name, int | float)
        return lambda body: _to_number(decode(body))
    return _compile_data_path(name, rest)


def _compile_data_path(name: str, tokens: Sequence[str]) -> Callable[[str], float | None]:
    """A function to the number at a place in a field that is JSON."""
    decode = _field_decoder(name, str)
    member, *rest = tokens or [""]
    is_member = bool(member) and not member.isdecimal()
    decode_text: Callable[[str], Any] = msgspec.json.Decoder().decode
    decode_member = _field_decoder(member, Any) if is_member else decode_text
    below = rest if is_member else tokens

    def read_value(body: str) -> float | None:
        try:
            text = decode(body) or "null"
            value = _to_number(resolve(decode_member(text), below))
            if value is not None or not is_member or name != "data":
                return value
            names, data = _decode_names(body), decode_text(text)
        except (msgspec.MsgspecError, RecursionError):
            return None  # not JSON, or no object
        found = find_members(RecordKind.DATA, data, names, member)
        numbers = (_to_number(resolve(each, rest)) for each in found)
        return next((number for number in numbers if number is not None), None)

    return read_value


def _field_decoder(name: str, kind: Any) -> Callable[[str], Any]:
    """A function that reads one member of a JSON object, and skips the others."""
    struct: Any = msgspec.defstruct(
        "_Member", [("value", kind | None, None)], rename={"value": name}
    )
    decode = msgspec.json.Decoder(struct).decode
    return lambda text: decode(text).value


_decode_names = _field_decoder(DECODED_NAMES, list[str])


def _to_number(value: Any) -> float | None:
    """Numbers, and true and false as 1 and 0."""
    if not isinstance(value, _NUMBERS) or not -VALUE_MAX < value < VALUE_MAX:
        return None
    return float(value)


# --- scan ---


def find_devices(tx: Tx, actor: Actor, device_ids: Sequence[str]) -> list[ReportingDevice]:
    """The devices, or an error that names each one that the actor may not read."""
    found = reporting_devices.get_reporting(tx, device_ids)
    errors: list[LongwireError] = []
    for index, device_id in enumerate(device_ids):
        try:
            if device_id not in found:
                records.get_reporting_device(tx, device_id)
            records.permitted_stays(tx, actor, "record.read", found[device_id])
        except (NotFound, NotAllowed) as error:
            errors.append(_name_device(error, index) if len(device_ids) > 1 else error)
    missing = [each for error in errors for each in error.field_errors]
    if missing:
        raise NotFound(field_errors=missing)
    if errors:
        raise errors[0]
    return [found[device_id] for device_id in device_ids]


def _name_device(error: LongwireError, index: int) -> LongwireError:
    for each in error.field_errors:
        return NotFound(field_errors=[type(each)(f"{each.field}[{index}]", each.message)])
    return error


@dataclass(slots=True)
class DeviceScan:
    """The buckets of one device, filled step by step."""

    device: ReportingDevice
    selection: SeriesSelection
    work_max: int
    buckets: dict[int, Bucket] = field(default_factory=dict)
    looked_at: int = 0
    work: int = 0
    is_sampled: bool = False
    examined_until: Moment | None = None  # if the work was too much
    is_done: bool = False
    _stays: list[int] | None = None  # that remain
    _cursor: StayCursor | None = None
    _most: int = STEP_RECORDS_MAX // 4
    _slot: int = -1
    _slot_count: int = 0
    _read_value: Callable[[str], float | None] = field(init=False)
    _slot_span: Moment = field(init=False)
    _slot_max: int = field(init=False)

    def __post_init__(self) -> None:
        selection = self.selection
        spans = selection.spans
        points = max(1, len(spans) * len(selection.device_ids))
        slots_per_point = max(1, SLOTS_MAX // points)
        slots = max(1, len(spans)) * slots_per_point
        self._slot_span = max(1, (spans.end - spans.begin) // slots)
        self._slot_max = max(1, RECORDS_MAX // (points * slots_per_point))
        self._read_value = compile_path(selection.kind, selection.path)

    def step(self, tx: Tx, actor: Actor) -> NeedsArchive[None] | None:
        """Read some more records, as far as the actor may read them now."""
        groups = records.list_permitted(tx, actor, "record.read", self.device)
        stays = list(groups)
        remaining = stays if self._stays is None else [s for s in self._stays if s in stays]
        if not remaining:
            self.is_done = True
            return None
        kind, begin = self.selection.kind, self.selection.spans.begin
        if self._cursor is None:
            group_id = groups[remaining[0]]
            self._cursor = StayCursor(records.get_begin(tx, kind, group_id, begin))
        scan = scan_stay(
            tx,
            kind,
            self.device.number,
            remaining[0],
            self._cursor,
            self.selection.spans.end,
            self._most,
        )
        return convert_result(scan, partial(self._take, remaining))

    def _take(self, remaining: list[int], scan: StayScan) -> None:
        # Nothing here fails, so that a step can be repeated when the connection is lost.
        skipped_to = self._add_all(scan.items)
        if skipped_to is not None:
            self._cursor = StayCursor(skipped_to)
            self._most = self._slot_max + 1
        else:
            self._cursor = scan.cursor
            is_large = scan.has_large
            self._most = STEP_RECORDS_MIN if is_large else min(2 * self._most, STEP_RECORDS_MAX)
        self._stays = remaining if self._cursor else remaining[1:]
        self.is_done = not self._stays
        if self.work >= self.work_max and not self.is_done:
            self.examined_until = self._cursor.ts if self._cursor else self.selection.spans.begin
            self.is_done = True

    def _add_all(self, items: Sequence[ScannedRecord]) -> Moment | None:
        """Add records to their buckets; if a slot has enough, the begin of the next one."""
        begin, boundaries = self.selection.spans.begin, self.selection.spans.boundaries
        read_value, slot_span = self._read_value, self._slot_span
        self.work += _STEP_COST + len(items)
        for ts, _, seq, body in items:
            slot = (ts - begin) // slot_span
            if slot != self._slot:
                self._slot, self._slot_count = slot, 0
            if self._slot_count >= self._slot_max:
                self.is_sampled = True
                return begin + (slot + 1) * slot_span
            self._slot_count += 1
            self.looked_at += 1
            self.work += len(body) >> 10
            value = read_value(body) if body else None
            if value is not None:
                self._add(bisect_right(boundaries, ts) - 1, value, (ts, seq))
        return None

    def _add(self, index: int, value: float, key: tuple[Moment, int]) -> None:
        bucket = self.buckets.get(index)
        if bucket is None:
            self.buckets[index] = Bucket(value, value, value, value, value, 1, key, key)
        else:
            bucket.add(value, key)

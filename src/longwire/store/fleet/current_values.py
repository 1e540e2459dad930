"""The current value of each measurement of a device, since it is in its group."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from longwire.clock import Moment
from longwire.measurements.extraction import MeasuredValue
from longwire.records import KIND_NAMES
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.records.records import for_each_kind
from longwire.store.statement import Statement

_table = schema.current_value

RECORDS_PER_PAGE = 200

# By the numbers of the group, the measurement and the device.
ValueKey = tuple[int, int, int]

_COLUMNS = ("group_id", "key_number", "device_number", "ts", "seq", "number", "text")
_SET = "ts = excluded.ts, seq = excluded.seq, number = excluded.number, text = excluded.text"
# At one instant the later arrival is the newer one.
_UPSERT_NEWER = OnConflict(
    f"{_SET} where current_value.ts is null"
    " or current_value.ts < excluded.ts"
    " or current_value.ts = excluded.ts and current_value.seq < excluded.seq"
)
# For a record that has other values now.
_UPSERT_SAME = OnConflict(
    f"{_SET} where current_value.ts is null"
    " or current_value.ts < excluded.ts"
    " or current_value.ts = excluded.ts and current_value.seq <= excluded.seq"
)
_COUNT_INVALID = OnConflict(
    "invalid = current_value.invalid + excluded.invalid, invalid_at = excluded.invalid_at"
)


class CurrentValue(msgspec.Struct, frozen=True, gc=False):
    """The newest value of a measurement; without a time if it has had none that is valid."""

    key: int
    ts: Moment | None
    seq: int | None
    number: float | None
    text: str | None
    invalid: int
    invalid_at: Moment | None


LIST_OF_DEVICE = Statement(
    """
select key_number, ts, seq, number, text, invalid, invalid_at
from current_value
where device_number = :device
    {slot}
    and group_id = :home
order by key_number
""",
    into=CurrentValue,
)

CLEAR = Statement("""
update current_value
set ts = null,
    seq = null,
    number = null,
    text = null
where device_number = :device
    {slot}
    and key_number {in:keys}
""")

# The newest records of a stay, in pages.
_LIST_NEWEST = """
select ts, digest, seq, body
from {table}
where device_number = :device
    and stay = :stay
    {slot}
    {after}
order by ts desc, digest desc
limit :most
"""
LIST_NEWEST = for_each_kind(_LIST_NEWEST, after="")
LIST_NEXT_NEWEST = for_each_kind(_LIST_NEWEST, after="and (ts, digest) < (:ts, :digest)")


class ShownColumn(NamedTuple):
    """A value in a list of devices."""

    device: int
    key: int
    ts: Moment
    number: float | None
    text: str | None


_COUNT_DEVICES = """
select count(*)
from (
    select 1
    from current_value c{devices}
    where c.group_id {in:homes}
        and c.key_number = :key
        and c.ts is not null
        {of_type}
    limit :most
) v
"""
COUNT_DEVICES = Statement(_COUNT_DEVICES, into=int, devices="", of_type="")
COUNT_DEVICES_OF = Statement(
    _COUNT_DEVICES,
    into=int,
    devices="\n    join device d on d.number = c.device_number {slot:d=c}",
    of_type="and d.type = :type",
)


LIST_OF_DEVICES = Statement(
    """
select device_number, key_number, ts, number, text
from current_value
where device_number {in:numbers}
    and key_number {in:keys}
    and ts is not null
""",
    into=ShownColumn,
)


DELETE = Statement("""
delete from current_value
where device_number {in:numbers}
""")


class NewValue(msgspec.Struct, frozen=True, gc=False):
    """A value, and when and in which order its record came."""

    ts: Moment
    seq: int
    value: MeasuredValue


def save(tx: Tx, values: Mapping[ValueKey, NewValue]) -> None:
    """Store values that are newer than those that are stored; their devices are locked."""
    insert_many(tx, _table, _COLUMNS, _rows(values), _UPSERT_NEWER, is_repeatable=True)


def save_again(tx: Tx, values: Mapping[ValueKey, NewValue]) -> None:
    """The same with values of records that are stored, and may have had others."""
    insert_many(tx, _table, _COLUMNS, _rows(values), _UPSERT_SAME, is_repeatable=True)


def _rows(values: Mapping[ValueKey, NewValue]) -> list[tuple[Any, ...]]:
    return [
        (*key, new.ts, new.seq, new.value.number, new.value.text)
        for key, new in sorted(values.items(), key=lambda item: item[0])
    ]


def count_invalid(tx: Tx, counts: Mapping[ValueKey, int]) -> None:
    """Count values that are none."""
    insert_many(
        tx,
        _table,
        ("group_id", "key_number", "device_number", "invalid", "invalid_at"),
        [(*key, count, tx.now) for key, count in sorted(counts.items())],
        _COUNT_INVALID,
    )


def list_of_device(tx: Tx, group_number: int, device_number: int) -> list[CurrentValue]:
    """The values of a device in its group."""
    return tx.fetch(LIST_OF_DEVICE, **slots.key_of(tx, device_number), home=group_number)


def count_devices(
    tx: Tx, group_numbers: Collection[int], type_name: str | None, key: int, most: int
) -> int:
    """How many devices in some groups have a value of a measurement, up to a number; of a type."""
    values: dict[str, Any] = {"homes": group_numbers, "key": key, "most": most}
    if type_name is None:
        return tx.fetch(COUNT_DEVICES, **values)[0]
    return tx.fetch(COUNT_DEVICES_OF, **values, type=type_name)[0]


def list_columns(tx: Tx, numbers: Collection[int], keys: Collection[int]) -> list[ShownColumn]:
    """The values of some measurements of some devices."""
    return tx.fetch(LIST_OF_DEVICES, numbers=numbers, keys=keys)


def clear(tx: Tx, device_number: int, keys: Collection[int]) -> None:
    """Have no values of some measurements; how many were invalid stays."""
    if keys:
        tx.run(CLEAR, **slots.key_of(tx, device_number), keys=keys)


def list_newest(
    tx: Tx, kind: int, device_number: int, stay: int, records_max: int
) -> Iterator[tuple[Moment, int, str]]:
    """(timestamp, order of arrival, body) of the newest records of a stay, the newest first."""
    name = KIND_NAMES[kind]
    values: dict[str, Any] = {**slots.key_of(tx, device_number), "stay": stay}
    statement = LIST_NEWEST[name]
    while records_max > 0:
        values["most"] = most = min(RECORDS_PER_PAGE, records_max)
        rows = tx.fetch(statement, **values)
        for ts, _, seq, body in rows:
            yield ts, seq, body
        if len(rows) < most:
            return
        records_max -= most
        statement = LIST_NEXT_NEWEST[name]
        values["ts"], values["digest"], *_ = rows[-1]


def delete(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete all values of devices."""
    tx.run(DELETE, numbers=numbers)

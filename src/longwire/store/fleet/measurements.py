"""The measurements of device types: their numbers, those declared, and those found."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.measurements.definitions import (
    Measurement,
    ValuePlace,
    decode_measurements,
    encode_measurements,
    list_names,
)
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

ALL = int(schema.ALL_GROUPS)


class DeclaredList(msgspec.Struct, frozen=True):
    """The measurements of a type that are declared for a group, or for all."""

    group_id: str
    type: str
    measurements: tuple[Measurement, ...]
    updated_at: Moment


class MeasurementKey(msgspec.Struct, frozen=True):
    """The number of a place, and what it is called unless somebody has declared it.

    No two places have one name, and none of this changes.
    """

    number: int
    place: ValuePlace
    name: str


def _build_key(number: int, kind: int, path: str, name: str) -> MeasurementKey:
    return MeasurementKey(number, ValuePlace(kind, path), name)


# --- statements ---

GET_KEY = Statement(
    """
select number, kind, path, name
from measurement_key
where kind = :kind
    and path = :path
""",
    into=_build_key,
)

INSERT_KEY = Statement("""
insert into measurement_key (kind, path, name)
values (:kind, :path, :name)
on conflict do nothing
""")

LIST_PLACES = Statement(
    """
select number, kind, path, name
from measurement_key
where number {in:numbers}
order by number
""",
    into=_build_key,
)

LIST_KEYS_OF_NAMES = Statement(
    """
select number, kind, path, name
from measurement_key
where name {in:names}
order by number
""",
    into=_build_key,
)

LIST_DECLARED = Statement("""
select group_id, type, measurements, updated_at
from declared_measurements
where group_id {in:groups}
""")

LIST_DECLARING = Statement("""
select distinct group_id
from declared_measurements
where group_id {in:groups}
""")

UPSERT_DECLARED = Statement("""
insert into declared_measurements (group_id, type, measurements, updated_at, updated_by)
values (:home, :type, :measurements, :at, :by)
on conflict (group_id, type) do update
set measurements = excluded.measurements,
    updated_at = excluded.updated_at,
    updated_by = excluded.updated_by
""")

DELETE_DECLARED = Statement("""
delete from declared_measurements
where group_id = :home
    and type = :type
""")

DELETE_OF_TYPE = tuple(
    Statement(
        """
delete from {table}
where type = :type
""",
        table=table.name,
    )
    for table in (schema.declared_measurements, schema.found_measurement)
)

LIST_FOUND = Statement(
    """
select key_number
from found_measurement
where group_id = :home
    and type = :type
order by key_number
""",
    into=int,
)

LIST_FOUND_IN = Statement("""
select f.type, f.key_number
from found_measurement f
where f.group_id {in:groups}
group by f.type, f.key_number
order by f.type, f.key_number
limit :most
""")

LIST_TYPES_OF = Statement("""
select distinct type, key_number
from found_measurement
where group_id {in:groups}
    and key_number {in:keys}
order by type, key_number
""")

LIST_FOUND_BY_KEY = Statement("""
select cast(group_id as text), type, key_number
from found_measurement
where group_id {in:groups}
    and key_number {in:keys}
""")

INSERT_FOUND = Statement("""
insert into found_measurement (group_id, type, key_number)
values (:home, :type, :key)
on conflict do nothing
""")


# --- numbers ---


def get_keys(tx: Tx, places: Collection[ValuePlace]) -> dict[ValuePlace, MeasurementKey]:
    """The keys of places; they get one that have none. In a write."""
    cached = tx.caches.measurement_keys
    found: dict[ValuePlace, MeasurementKey]
    found = {place: cached[place] for place in places if place in cached}
    if len(found) == len(places):
        return found
    # In one order, so that two processes do not wait for each other.
    for place in sorted(set(places) - found.keys()):
        found[place] = _get_key(tx, place) or _insert_key(tx, place)
    tx.on_commit(lambda: cached.put(found))
    return found


def _get_key(tx: Tx, place: ValuePlace) -> MeasurementKey | None:
    return tx.first(GET_KEY, **place._asdict())


def _insert_key(tx: Tx, place: ValuePlace) -> MeasurementKey:
    """With the first name that no other place has."""
    for name in list_names(place):
        tx.run(INSERT_KEY, **place._asdict(), name=name)
        key = _get_key(tx, place)
        if key is not None:
            return key
    raise AssertionError(f"every name of {place.path} is taken")


def find_keys(tx: Tx, places: Collection[ValuePlace]) -> dict[ValuePlace, int]:
    """The numbers of places, as far as they have one."""
    found = {place: _get_key(tx, place) for place in places}
    return {place: key.number for place, key in found.items() if key is not None}


def list_places(tx: Tx, numbers: Iterable[int]) -> dict[int, MeasurementKey]:
    """The places of numbers."""
    return {each.number: each for each in tx.fetch(LIST_PLACES, numbers=sorted(set(numbers)))}


def list_keys_of_names(tx: Tx, names: Sequence[str]) -> list[MeasurementKey]:
    """The places of which values have one of these names, unless somebody has declared them."""
    return tx.fetch(LIST_KEYS_OF_NAMES, names=names)


# --- declared ---


def list_declared(tx: Tx, group_ids: Sequence[str]) -> list[DeclaredList]:
    """What is declared for some groups, in their order; `ALL_GROUPS` may be one of them."""
    numbers = [_home(each) for each in group_ids]
    rows = tx.fetch(LIST_DECLARED, groups=numbers)
    found = [
        DeclaredList(str(home), type_name, decode_measurements(text), updated_at)
        for home, type_name, text, updated_at in rows
    ]
    order = {each: index for index, each in enumerate(group_ids)}
    return sorted(found, key=lambda each: order[each.group_id])


def list_declaring(tx: Tx, group_ids: Iterable[str]) -> set[str]:
    """Those of some groups that have declared something."""
    numbers = [_home(each) for each in group_ids]
    return {str(home) for (home,) in tx.fetch(LIST_DECLARING, groups=numbers)}


def save_declared(
    tx: Tx,
    group_id: str,
    type_name: str,
    measurements: Sequence[Measurement],
    at: Moment,
    by: str,
) -> None:
    """Replace what is declared; an empty list declares nothing."""
    values: dict[str, Any] = {"home": _home(group_id), "type": type_name}
    if not measurements:
        tx.run(DELETE_DECLARED, **values)
        return
    text = encode_measurements(measurements)
    tx.run(UPSERT_DECLARED, **values, measurements=text, at=at, by=by)


def to_plain(measurement: Measurement) -> dict[str, Any]:
    """A measurement as it is stored."""
    plain: dict[str, Any] = msgspec.to_builtins(measurement)
    return plain


def delete_of_type(tx: Tx, type_name: str) -> None:
    for statement in DELETE_OF_TYPE:
        tx.run(statement, type=type_name)


def _home(group_id: str) -> int:
    return ALL if group_id == schema.ALL_GROUPS else schema.group_number(group_id)


# --- found ---


def list_found(tx: Tx, group_number: int, type_name: str) -> list[int]:
    """The numbers of what was found in records of a group's devices of a type."""
    return tx.fetch(LIST_FOUND, home=group_number, type=type_name)


def list_found_in(tx: Tx, group_ids: Iterable[str], most: int) -> list[tuple[str, int]]:
    """(type, number) of what was found in records of some groups' devices."""
    numbers = [schema.group_number(each) for each in group_ids]
    return [
        (type_name, key) for type_name, key in tx.fetch(LIST_FOUND_IN, groups=numbers, most=most)
    ]


def list_types_of(
    tx: Tx, group_numbers: Iterable[int], keys: Iterable[int]
) -> list[tuple[str, int]]:
    """(type, number) of those of some measurements that were found in some groups."""
    return tx.fetch(LIST_TYPES_OF, groups=[*group_numbers], keys=[*keys])


def list_found_by_key(
    tx: Tx, group_ids: Iterable[str], keys: Iterable[int]
) -> list[tuple[str, str, int]]:
    """(group, type, number) of those of some measurements that were found in some groups."""
    numbers = [schema.group_number(each) for each in group_ids]
    return [
        (group_id, type_name, key)
        for group_id, type_name, key in tx.fetch(LIST_FOUND_BY_KEY, groups=numbers, keys=[*keys])
    ]


def insert_found(tx: Tx, group_number: int, type_name: str, keys: Iterable[MeasurementKey]) -> None:
    for number in sorted(each.number for each in keys):
        tx.run(INSERT_FOUND, home=group_number, type=type_name, key=number)

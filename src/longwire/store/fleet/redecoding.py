"""Data records that are decoded again: read in the order of their key, and replaced."""

import itertools
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.records import DataRecord, parse_data_record
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.identity import group_storage
from longwire.store.records.records import ALL_TIME
from longwire.store.statement import Statement

_LIST_DATA = """
select {columns}
from record_data
where device_number = :device
    and stay = :stay
    {slot}
    and ts >= :begin
    and ts < :end
    {beyond}
order by ts, digest
limit :most
"""
_DATA_COLUMNS = "stay, ts, digest, seq, body"
_DATA_AFTER = "and (ts, digest) > (:ts, :digest)"
LIST_DATA = Statement(_LIST_DATA, columns=_DATA_COLUMNS, beyond="")
LIST_DATA_AFTER = Statement(_LIST_DATA, columns=_DATA_COLUMNS, beyond=_DATA_AFTER)
LIST_DATA_SIZES = Statement(_LIST_DATA, into=int, columns="length(body)", beyond="")
LIST_DATA_SIZES_AFTER = Statement(_LIST_DATA, into=int, columns="length(body)", beyond=_DATA_AFTER)

UPDATE_BODY = Statement("""
update record_data
set body = :body
where device_number = :device
    and stay = :stay
    {slot}
    and ts = :ts
    and digest = :digest
    and seq = :seq
    and body = :old
""")


class StoredDataRecord(msgspec.Struct, frozen=True):
    """A data record of a device as it is stored."""

    stay: int
    ts: Moment
    digest: bytes
    seq: int
    body: str
    record: DataRecord


def list_data(
    tx: Tx,
    device_number: int,
    stay: int,
    begin: Moment,
    end: Moment | None,
    after: tuple[Moment, bytes] | tuple[()],
    most: int,
    characters_max: int,
) -> list[StoredDataRecord]:
    """Data records of a stay, in the order of their key, after one of them.

    They end with the one that exceeds the size, if there is one.
    """
    values: dict[str, Any] = {
        **slots.key_of(tx, device_number),
        "stay": stay,
        "begin": begin,
        "end": ALL_TIME[1] if end is None else end,
        "most": most,
    }
    if after:
        values["ts"], values["digest"] = after
    sizes = tx.fetch(LIST_DATA_SIZES_AFTER if after else LIST_DATA_SIZES, **values)
    totals = itertools.accumulate(sizes)
    values["most"] = min(most, 1 + sum(total <= characters_max for total in totals))
    rows = tx.fetch(LIST_DATA_AFTER if after else LIST_DATA, **values)
    return [
        StoredDataRecord(stay, ts, digest, seq, body, parse_data_record(body))
        for _, ts, digest, seq, body in rows
    ]


def update_body(tx: Tx, device_number: int, record: StoredDataRecord, body: str) -> bool:
    """Replace the body of a data record, unless it was changed or deleted."""
    tx.cache.touched_devices.add(device_number)
    values = {
        **slots.key_of(tx, device_number),
        "body": body,
        "stay": record.stay,
        "ts": record.ts,
        "digest": record.digest,
        "seq": record.seq,
        "old": record.body,
    }
    is_updated = bool(tx.run(UPDATE_BODY, **values))
    if is_updated:
        more = len(body) - len(record.body)
        group_storage.add_for_stay(tx, device_number, record.stay, 0, more)
    return is_updated

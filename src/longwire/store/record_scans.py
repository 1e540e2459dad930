"""Reads many records in bounded steps, each by the key of its table."""

from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.records import KIND_NAMES
from longwire.store.database import Tx

# A larger body is read on its own, so that a step of a thousand records stays small.
LARGE_CHARACTERS = 16_384

_FROM_STAY = """
from record_{kind}
where device_number = :device
    and stay = :stay"""

_LIST_STAY = f"""
select ts, digest, seq,
    case when length(body) <= {LARGE_CHARACTERS} then body end{_FROM_STAY}
    and ts >= :ts
    and ts < :end
    and (ts > :ts or digest > :digest)
order by ts, digest
limit :most
"""

_GET_BODY = f"""
select body{_FROM_STAY}
    and ts = :ts
    and digest = :digest
"""

LIST_STAY = {kind: _LIST_STAY.format(kind=kind) for kind in KIND_NAMES}
GET_BODY = {kind: _GET_BODY.format(kind=kind) for kind in KIND_NAMES}


class StayCursor(msgspec.Struct, frozen=True):
    """Where to continue in a stay: behind the record of this key, which need not exist."""

    ts: Moment
    digest: bytes = b""


class ScannedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as it is stored; `body` is empty if it was deleted meanwhile."""

    ts: Moment
    seq: int
    body: str


class StayScan(msgspec.Struct, frozen=True):
    """Some records of a stay in the order of their key, and where to continue."""

    items: list[ScannedRecord]
    has_large: bool
    cursor: StayCursor | None  # None at the end


def scan_stay(
    tx: Tx, kind: str, device_number: int, stay: int, cursor: StayCursor, end: Moment, most: int
) -> StayScan:
    """The next records of a stay before a moment; fewer when one of them is large."""
    values: dict[str, Any] = {"device": device_number, "stay": stay, "end": end, "most": most}
    rows = tx.fetch_raw(LIST_STAY[kind], {**values, "ts": cursor.ts, "digest": cursor.digest})
    items: list[ScannedRecord] = []
    for ts, digest, seq, body in rows:
        if body is None:
            found = tx.fetch_raw(GET_BODY[kind], {**values, "ts": ts, "digest": digest})
            items.append(ScannedRecord(ts, seq, found[0][0] if found else ""))
            return StayScan(items, True, StayCursor(ts, digest))
        items.append(ScannedRecord(ts, seq, body))
    last = StayCursor(rows[-1][0], rows[-1][1]) if len(rows) == most else None
    return StayScan(items, False, last)

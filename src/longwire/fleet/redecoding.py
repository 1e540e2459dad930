"""Reads stored payloads once more, by the decoder that their device's type has now.

In pieces, and each in three steps: find records, decode them with no transaction open, and keep
what came of it. A record stays the record it was: its moment, its arrival, what makes it one of a
kind and its payload are not touched, and nobody is sent it again. Only what decoding had put into
its data gives way to what decoding puts there now.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.decoders.base import CannotDecode
from longwire.errors import Conflict, missing, wrong
from longwire.fleet import decoding, device_types, records
from longwire.fleet.decoding import Codec, Payload
from longwire.identity import access
from longwire.model import Actor, PageRequest
from longwire.networks.base import DECODED_NAMES, PORT, RAW
from longwire.networks.bodies import bytes_of_hex, whole_of
from longwire.networks.lorawan import PORT_MAX
from longwire.store import audit
from longwire.store import devices as store_devices
from longwire.store import records as store
from longwire.store.database import Tx
from longwire.store.devices import Reporting
from longwire.store.records import Kept

PERMISSION = "record.create"
DEVICES_PER_PIECE_MAX = 200
DECODING_S_MAX = 2.0
_ALL_STAYS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose data, of which time: of one device, or of those of a group, perhaps of one type."""

    device_id: str | None
    group_id: str | None
    device_type: str | None
    begin: Moment | None
    end: Moment | None


@dataclass(frozen=True, slots=True)
class Job:
    """A record that is to be read again."""

    device: Reporting
    codec: Codec
    kept: Kept

    @property
    def key(self) -> tuple[int | str, ...]:
        return self.device.number, self.kept.stay, self.kept.ts, self.kept.digest.hex()


@dataclass(frozen=True, slots=True)
class Piece:
    """Some records, and where to go on after them."""

    jobs: list[Job]
    last_key: tuple[int | str, ...] | None


@dataclass(frozen=True, slots=True)
class Reread:
    """What came of some records: their new bodies, and what could not be read."""

    bodies: list[tuple[Job, str]]
    looked_at: int
    skipped: int
    failed: int
    failure: str | None
    last_key: tuple[int | str, ...] | None


# --- finding ---


def find(tx: Tx, actor: Actor, wanted: Wanted, request: PageRequest) -> Piece:
    """The next records that are to be read again."""
    after = request.after
    first = int(after[0]) if after else 0
    jobs: list[Job] = []
    device: Reporting | None = None
    devices = _devices(tx, actor, wanted, first)
    for device in devices:
        codec = decoding.codec_of(tx, device.type)
        if not codec.exists:
            continue
        for stay in sorted(records.stays_with(tx, actor, PERMISSION, device)):
            place = _place(after, device.number, stay)
            if place is None:
                continue
            room = request.limit - len(jobs)
            found = store.kept(tx, device.number, stay, wanted.begin, wanted.end, place, room)
            jobs += [Job(device, codec, each) for each in found]
            if len(jobs) >= request.limit:
                return Piece(jobs, jobs[-1].key)
    if device is not None and len(devices) == DEVICES_PER_PIECE_MAX:
        return Piece(jobs, (device.number, _ALL_STAYS, 0, ""))
    return Piece(jobs, None)


def _place(
    after: tuple[int | str, ...] | None, number: int, stay: int
) -> tuple[Moment, bytes] | tuple[()] | None:
    """Where to begin in a stay: at its beginning, after a record, or nowhere, as it is done."""
    if after is None or (number, stay) > (after[0], after[1]):
        return ()
    if (number, stay) < (after[0], after[1]):
        return None
    return int(after[2]), bytes.fromhex(str(after[3]))


def _devices(tx: Tx, actor: Actor, wanted: Wanted, first: int) -> Sequence[Reporting]:
    if wanted.device_type is not None and device_types.get(tx, wanted.device_type) is None:
        raise wrong("device_type", "is no device type")
    if wanted.device_id is not None:
        if wanted.group_id is not None:
            access.enter(tx, actor, PERMISSION, wanted.group_id)
        device = records.device_of(tx, wanted.device_id)
        if wanted.group_id not in (None, device.group_id):
            raise missing("device_id", "device in this group")
        records.stays_with(tx, actor, PERMISSION, device)
        _require_codec(tx, device.type)
        return [device] if wanted.device_type in (None, device.type) else []
    assert wanted.group_id is not None
    access.enter(tx, actor, PERMISSION, wanted.group_id)
    if wanted.device_type is not None:
        _require_codec(tx, wanted.device_type)
    return store_devices.of_group(
        tx, wanted.group_id, wanted.device_type, first, DEVICES_PER_PIECE_MAX
    )


def _require_codec(tx: Tx, type_name: str) -> None:
    if not decoding.codec_of(tx, type_name).exists:
        raise Conflict(f"The device type {type_name} has no decoder.")


# --- decoding ---


def read_again(piece: Piece) -> Reread:
    """Decode a piece, or as much of it as can be done in a while. Waits: not on the event loop."""
    bodies: list[tuple[Job, str]] = []
    skipped = failed = looked_at = 0
    failure: str | None = None
    last_key = piece.last_key
    ends_at = time.monotonic() + DECODING_S_MAX
    for job in piece.jobs:
        if looked_at and time.monotonic() > ends_at:
            last_key = piece.jobs[looked_at - 1].key
            break
        looked_at += 1
        record: dict[str, Any] = msgspec.json.decode(job.kept.body)
        found = _payload(record)
        if found is None:
            skipped += 1
            continue
        try:
            body = _again(job, record, *found)
        except CannotDecode as error:
            failed += 1
            failure = failure or f"{record['timestamp']}: {error.reason}"
            continue
        if body != job.kept.body:
            bodies.append((job, body))
    return Reread(bodies, looked_at, skipped, failed, failure, last_key)


def _payload(record: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]] | None:
    """The payload and the data of a record, if these are what a decoder works with."""
    try:
        payload = bytes_of_hex(record.get(RAW) or "")
        data = msgspec.json.decode(record["data"])
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return (payload, data) if payload and isinstance(data, dict) else None


def _again(job: Job, record: dict[str, Any], payload: bytes, data: dict[str, Any]) -> str:
    names = set(record.get(DECODED_NAMES) or ())
    said = {name: value for name, value in data.items() if name not in names}
    port = whole_of(said.get(PORT), 0, PORT_MAX)
    understood = decoding.again(job.codec, Payload(said, payload, port, job.kept.ts))
    record["data"] = msgspec.json.encode(understood.data).decode()
    record[DECODED_NAMES] = understood.names
    return msgspec.json.encode(record).decode()


# --- keeping ---


def keep(tx: Tx, actor: Actor, reread: Reread) -> int:
    """Put new data into records that are still what they were; how many."""
    there = store_devices.reporting(tx, {job.device.id for job, _ in reread.bodies})
    changed = 0
    for device, some in _by_device(reread.bodies):
        present = there.get(device.id)
        if present is None or present.type != device.type:
            continue  # it went, or became another one, while it was being read
        stays = set(records.stays_with(tx, actor, PERMISSION, present))
        number = sum(
            store.rewrite(tx, device.number, job.kept, body)
            for job, body in some
            if job.kept.stay in stays
        )
        if number:
            audit.note(
                tx,
                actor,
                "record.redecode",
                device.id,
                group_id=present.group_id,
                detail=f"{number} of {device.type}",
            )
        changed += number
    return changed


def _by_device(
    bodies: Sequence[tuple[Job, str]],
) -> Iterator[tuple[Reporting, list[tuple[Job, str]]]]:
    grouped: dict[int, list[tuple[Job, str]]] = {}
    for job, body in bodies:
        grouped.setdefault(job.device.number, []).append((job, body))
    for some in grouped.values():
        yield some[0][0].device, some

"""Which requests are stored: all records of one, or none, with the reason."""

from collections.abc import Collection, Iterator, Sequence

from longwire.errors import BadInput, FieldError, LongwireError, NotAllowed
from longwire.identity import access
from longwire.ingest.requests import (
    DevicesLocked,
    IngestItem,
    IngestRequest,
    IngestResult,
    IngestResults,
    StaleDevice,
    UnknownRecordDevices,
)
from longwire.model import Actor
from longwire.records import Record, complete_record
from longwire.storage_quota import StorageQuota
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records.records import RecordRow

_READ_PERMISSIONS = {"device.read", "record.read"}


def build_rows(
    tx: Tx,
    requests: Sequence[IngestRequest],
    devices: dict[str, ReportingDevice],
    locked: Collection[str],
    seqs: Iterator[int],
    storage_quota: StorageQuota | None,
) -> tuple[IngestResults, list[list[RecordRow]]]:
    """The result of each request if all of its records are new, and its rows."""
    access.load_group_paths(tx, {device.group_id for device in devices.values()})
    permissions = _PermissionCache(tx)
    quota = storage_quota.open_commit(tx) if storage_quota else None
    results: IngestResults = []
    rows_by_request: list[list[RecordRow]] = []
    for request in requests:
        rows: list[RecordRow] = []
        if locked and any(item.record.device_id in locked for item in request.items):
            results.append(DevicesLocked())
            rows_by_request.append(rows)
            continue
        senders = _find_senders(request, devices, permissions)
        error: LongwireError | None = None
        if senders is None:
            error = _explain_rejection(request, devices, permissions)
        elif _is_stale(request, devices):
            error = StaleDevice()
        if error is None and senders is not None:
            source = request.source
            rows = [
                _row(item, device, next(seqs), source)
                for item, device in zip(request.items, senders, strict=True)
            ]
            if quota is not None and (error := quota.find_excess(rows)) is not None:
                rows = []
        results.append(error or IngestResult([row.encoded.body for row in rows], 0))
        rows_by_request.append(rows)
    return results, rows_by_request


class _PermissionCache:
    """Permissions, looked up once for each actor and group of a commit."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._cached: dict[tuple[int, str], frozenset[str]] = {}
        self._last: tuple[Actor | None, str] = (None, "")  # who may create records, and where

    def may_create(self, actor: Actor, group_id: str) -> bool:
        """Whether the actor may create records; most requests of a commit ask for the same."""
        known_actor, known_group = self._last
        if actor is known_actor and group_id == known_group:
            return True
        if "record.create" not in self.get(actor, group_id):
            return False
        self._last = actor, group_id
        return True

    def get(self, actor: Actor, group_id: str) -> frozenset[str]:
        key = (id(actor), group_id)  # the requests keep their actors alive
        permissions = self._cached.get(key)
        if permissions is None:
            permissions = access.get_permissions(self._tx, actor, group_id)
            self._cached[key] = permissions
        return permissions


def _find_senders(
    request: IngestRequest, devices: dict[str, ReportingDevice], permissions: _PermissionCache
) -> list[ReportingDevice] | None:
    """The device of each item; None if one of them must not be stored."""
    actor = request.actor
    found: list[ReportingDevice] = []
    for item in request.items:
        device = devices.get(item.record.device_id)
        if device is None or not permissions.may_create(actor, device.group_id):
            return None
        if item.claimed_group is not None and item.claimed_group != device.group_id:
            return None
        found.append(device)
    return found


def _explain_rejection(
    request: IngestRequest, devices: dict[str, ReportingDevice], permissions: _PermissionCache
) -> LongwireError:
    """Why nothing of a request is stored, with every item that is at fault."""
    missing: list[FieldError] = []
    missed: list[Record] = []
    wrong: list[FieldError] = []
    for index, item in enumerate(request.items):
        device = devices.get(item.record.device_id)
        held = permissions.get(request.actor, device.group_id) if device else frozenset()
        if device is not None and "record.create" in held:
            if item.claimed_group is not None and item.claimed_group != device.group_id:
                wrong.append(
                    FieldError(_field_path(request, index, "group_id"), "is not the device's group")
                )
        elif device is not None and held & _READ_PERMISSIONS:
            return NotAllowed(
                f"This needs the permission record.create in group {device.group_id}."
            )
        else:
            missed.append(item.record)
            missing.append(
                FieldError(
                    _field_path(request, index, "device_id"),
                    "is not a known device, or you have no access to it",
                )
            )
    if missing:
        return UnknownRecordDevices(missing + wrong, missed)
    return BadInput(field_errors=wrong)


def _is_stale(request: IngestRequest, devices: dict[str, ReportingDevice]) -> bool:
    """Whether the device was changed since the sender read it."""
    metadata = request.metadata
    if metadata is None or metadata.as_of is None or not request.items:
        return False
    return devices[metadata.device_id].updated_at != metadata.as_of


def _field_path(request: IngestRequest, index: int, field: str) -> str:
    return f"items[{index}].{field}" if request.is_batch else field


def _row(item: IngestItem, device: ReportingDevice, seq: int, source: int) -> RecordRow:
    return RecordRow(
        item.record.number,
        device.group_number,
        device.number,
        device.stay,
        item.ts,
        item.digest,
        seq,
        complete_record(item.record, device.group_id, device.name),
        source,
    )

"""Records of devices, of four kinds.

A record belongs to the group of its device when it was stored. After a transfer the new group sees
later records and the old one earlier ones; who may read both groups sees all.
"""

from longwire.clock import DAY, Moment
from longwire.errors import NotAllowed, not_found
from longwire.fleet import current_values, positions
from longwire.identity import access
from longwire.model import Actor, PageRequest
from longwire.records import KIND_NAMES, RecordKind
from longwire.store.archive import archive_pages, archive_reads
from longwire.store.archive.archive_reads import NeedsArchive, convert_result
from longwire.store.database import Tx
from longwire.store.fleet import device_stays, reporting_devices, summaries
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import audit, group_limits
from longwire.store.records import record_deletion, record_pages
from longwire.store.records import records as store
from longwire.store.records.record_pages import RecordPage
from longwire.store.records.records import ALL_TIME

FOREVER: Moment = 2**63 - 1


def list_records(
    tx: Tx,
    actor: Actor,
    kind: str,
    device_id: str,
    begin: Moment | None,
    end: Moment | None,
    request: PageRequest,
    *,
    ascending: bool,
) -> tuple[RecordPage, Moment] | NeedsArchive[tuple[RecordPage, Moment]]:
    """A page of a device's records, as far as the actor may read them, and until when it is one."""
    device = get_reporting_device(tx, device_id)
    groups = list_permitted(tx, actor, "record.read", device)
    days = {stay: group_limits.get_days(tx, kind, group) for stay, group in groups.items()}
    begins = {stay: get_begin(tx, kind, group, begin) for stay, group in groups.items()}
    page = record_pages.list_page(
        tx, kind, device.number, begins, end, request, ascending=ascending
    )
    shortest = min(filter(None, days.values()), default=0)

    def build(page: RecordPage) -> tuple[RecordPage, Moment]:
        if not shortest or page.oldest is None:
            return page, FOREVER
        return page, page.oldest + shortest * DAY

    archived = archive_pages.add_archived(tx, page, kind, begins, end, request, ascending=ascending)
    return convert_result(archived, build)


def count_archived_at(
    tx: Tx, actor: Actor, kind: str, device_id: str, ts: Moment
) -> int | NeedsArchive[int]:
    """How many archived records of one kind a device has at one instant."""
    device = get_reporting_device(tx, device_id)
    stays = permitted_stays(tx, actor, "record.delete", device)
    query = archive_reads.plan_range(tx, kind, device.number, stays, ts, ts + 1, 1)
    return 0 if query is None else NeedsArchive(query, lambda _, found: len(found.records))


def delete_records_at(
    tx: Tx, actor: Actor, kind: str, device_id: str, ts: Moment, archived: int = 0
) -> int:
    """Delete all records of one kind that a device has at one instant; so many are archived."""
    device = get_reporting_device(tx, device_id)
    stays = permitted_stays(tx, actor, "record.delete", device)
    bodies = record_deletion.delete_at(tx, kind, device.number, stays, ts)
    if not bodies and not archived:
        raise not_found("timestamp", "record of this device")
    if kind == RecordKind.GEOLOC.label and (archived or positions.have_position(bodies, tx.now)):
        positions.refresh_position(tx, device, ts)
    current_values.refresh_deleted(tx, device, kind, ts)
    summaries.mark_changed(tx, [(device.number, stay, ts) for stay in stays])
    audit.log(
        tx, actor, "record.delete", device_id, group_id=device.group_id, detail=f"{kind} {ts}"
    )
    return len(bodies) + archived


def delete_all_records(tx: Tx, actor: Actor, device_id: str) -> dict[str, int]:
    """Delete all records of a device, as far as the actor may; returns the count of each kind."""
    device = get_reporting_device(tx, device_id)
    stays = permitted_stays(tx, actor, "record.delete", device)
    counts = {kind: store.count(tx, kind, device.number, stays) for kind in KIND_NAMES}
    if device.stay in stays:
        device_stays.begin_new_stay(tx, device)
        current_values.delete(tx, [device.number])
    device_stays.erase_stays(tx, [(device.number, stay) for stay in stays])
    positions.refresh_position(tx, device, FOREVER)
    audit.log(tx, actor, "record.deleteAll", device_id, group_id=device.group_id)
    return counts


def get_reporting_device(tx: Tx, device_id: str) -> ReportingDevice:
    device = reporting_devices.get_reporting(tx, [device_id]).get(device_id)
    if device is None:
        raise not_found("device_id", "device")
    return device


def permitted_stays(tx: Tx, actor: Actor, permission: str, device: ReportingDevice) -> list[int]:
    """The stays of the device in groups where the actor has the permission."""
    return list(list_permitted(tx, actor, permission, device))


def list_permitted(
    tx: Tx, actor: Actor, permission: str, device: ReportingDevice
) -> dict[int, str]:
    """The same, with the group of each."""
    if device.stay == 0:
        groups = {0: device.group_id}
    else:
        groups = {stay.number: stay.group_id for stay in device_stays.list_stays(tx, device)}
    held = {stay: access.get_permissions(tx, actor, group) for stay, group in groups.items()}
    stays = [stay for stay, permissions in held.items() if permission in permissions]
    if stays:
        return {stay: groups[stay] for stay in stays}
    if any("record.read" in each or "device.read" in each for each in held.values()):
        raise NotAllowed(f"This needs the permission {permission} in the group of the device.")
    raise not_found("device_id", "device")


# --- retention ---


def get_begin(tx: Tx, kind: str, group_id: str, begin: Moment | None = None) -> Moment:
    """The first moment of the records of a group that have not expired, from a moment on."""
    oldest = group_limits.get_oldest(tx, kind, group_id)
    return max(ALL_TIME[0] if oldest is None else oldest, ALL_TIME[0] if begin is None else begin)

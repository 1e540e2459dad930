"""Records: what devices said, of four kinds, as one piece of code.

A record belongs to the group its device was in when it was stored. After a transfer the new group
sees what came after and the old one what came before; who may read both sees all.
"""

from longwire.clock import DAY, Moment
from longwire.errors import NotAllowed, missing
from longwire.identity import access
from longwire.model import Actor, PageRequest
from longwire.store import audit
from longwire.store import devices as store_devices
from longwire.store import records as store
from longwire.store.database import Tx
from longwire.store.devices import Reporting
from longwire.store.records import Bodies

KINDS = store.KINDS
DIGEST_BYTES = store.DIGEST_BYTES
FOREVER: Moment = 2**63 - 1


def page(
    tx: Tx,
    actor: Actor,
    kind: str,
    device_id: str,
    begin: Moment | None,
    end: Moment | None,
    request: PageRequest,
    *,
    ascending: bool,
) -> Bodies:
    """A page of what a device said, as far as the actor may read it."""
    device = device_of(tx, device_id)
    stays = stays_with(tx, actor, "record.read", device)
    return store.page(tx, kind, device.number, stays, begin, end, request, ascending=ascending)


def delete_at(tx: Tx, actor: Actor, kind: str, device_id: str, ts: Moment) -> int:
    """Delete everything of one kind that a device said at one instant."""
    device = device_of(tx, device_id)
    stays = stays_with(tx, actor, "record.delete", device)
    deleted = store.delete_at(tx, kind, device.number, stays, ts)
    if not deleted:
        raise missing("timestamp", "record of this device")
    audit.note(
        tx, actor, "record.delete", device_id, group_id=device.group_id, detail=f"{kind} {ts}"
    )
    return deleted


def delete_all(tx: Tx, actor: Actor, device_id: str) -> dict[str, int]:
    """Delete everything a device said, as far as the actor may; how much of each kind."""
    device = device_of(tx, device_id)
    stays = stays_with(tx, actor, "record.delete", device)
    counts = {kind: store.count(tx, kind, device.number, stays) for kind in KINDS}
    if device.stay in stays:
        store_devices.renew(tx, device)
    store_devices.erase(tx, [(device.number, stay) for stay in stays])
    audit.note(tx, actor, "record.deleteAll", device_id, group_id=device.group_id)
    return counts


def device_of(tx: Tx, device_id: str) -> Reporting:
    device = store_devices.reporting(tx, [device_id]).get(device_id)
    if device is None:
        raise missing("device_id", "device")
    return device


def stays_with(tx: Tx, actor: Actor, permission: str, device: Reporting) -> list[int]:
    """The stays of the device in groups where the actor holds the permission."""
    if device.stay == 0:
        groups = {0: device.group_id}
    else:
        groups = {stay.number: stay.group_id for stay in store_devices.stays(tx, device)}
    held = {stay: access.permissions_in(tx, actor, group) for stay, group in groups.items()}
    stays = [stay for stay, permissions in held.items() if permission in permissions]
    if stays:
        return stays
    if any("record.read" in each or "device.read" in each for each in held.values()):
        raise NotAllowed(f"This needs the permission {permission} in the group of the device.")
    raise missing("device_id", "device")


# --- forgetting ---


def oldest_kept(retention_days: int, now: Moment) -> Moment | None:
    """Records before this moment are over; None when they are kept for ever."""
    return now - retention_days * DAY if retention_days else None


def kept_until(retention_days: int, oldest: Moment | None) -> Moment:
    """The last moment at which nothing is over of what is no older than this."""
    return oldest + retention_days * DAY if retention_days and oldest is not None else FOREVER

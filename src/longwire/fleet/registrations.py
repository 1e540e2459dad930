"""Registration of devices at the vendor's network.

The activation code (PAC) of a device is sealed until it is sent, and deleted once the network has
accepted it. The state of a registration is in the device's `information`.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import structs

from longwire.dataclass import dataclass
from longwire.delivery import channels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.delivery.destinations.base import Delivered, OutboundMessage, Outcome, Refused
from longwire.errors import Conflict
from longwire.model import SYSTEM, Channel, ChannelPurpose, Device
from longwire.networks.base import VENDOR
from longwire.networks.vendor import registration_body
from longwire.store.database import Tx
from longwire.store.fleet import registrations as store
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.registrations import Registration

# The default retries; then the operator has a month to resend it.
POLICY = ChannelPolicy(storing_s=30 * 86_400)

NOT_CONFIGURED = "the service has no vendor API configured yet"
QUEUED = "it is about to be sent to the network"
REPLACED = "the hardware was replaced"


@dataclass(frozen=True, slots=True)
class VendorRegistration:
    """The request that registers a device at the vendor's network."""

    id: str
    device_type_id: str
    device_name: str
    pac: str
    activable: bool | None = None
    automatic_renewal: bool | None = None
    lat: float | None = None
    lng: float | None = None


def is_configured(dispatch: DispatchContext) -> bool:
    return VENDOR in dispatch.networks


def initial_information(dispatch: DispatchContext) -> str:
    reason = QUEUED if is_configured(dispatch) else NOT_CONFIGURED
    return _information("{}", "pending", reason=reason)


def _information(before: str, state: str, **detail: str) -> str:
    """The device's information with the state of its registration."""
    try:
        current = json.loads(before)
    except ValueError:
        current = {}
    other = current if isinstance(current, dict) else {}
    return json.dumps({**other, "registration": {"state": state, **detail}})


def request_registrations(
    tx: Tx,
    dispatch: DispatchContext,
    group_id: str,
    devices: Sequence[Device],
    vendors: Sequence[VendorRegistration],
) -> None:
    """Store the registration requests of new devices, and queue them if an API is configured."""
    seqs: Sequence[int | None] = [None] * len(devices)
    if is_configured(dispatch):
        messages = [(device.id, "") for device in devices]
        seqs = channels.enqueue(tx, _get_channel(tx, group_id), dispatch, messages)
    rows = []
    for seq, device, vendor in zip(seqs, devices, vendors, strict=True):
        request = {name: value for name, value in asdict(vendor).items() if value is not None}
        request["id"] = device.original_id
        pac = request.pop("pac")  # sealed, and stored separately
        sealed = tx.keyring.seal(pac, _pac_purpose(device.id))
        rows.append((device.number, sealed, json.dumps(request), seq))
    store.insert(tx, rows)


def _get_channel(tx: Tx, group_id: str) -> Channel:
    return channels.get_or_create_channel(
        tx, ChannelPurpose.REGISTRATION, f"registration:{group_id}", group_id, VENDOR, POLICY
    )


def _pac_purpose(device_id: str) -> str:
    return f"registration|{device_id}|pac"


def send_waiting(tx: Tx, dispatch: DispatchContext, limit: int) -> int:
    """Queue registrations that were requested while no API was configured."""
    unsent = store.lock_unsent(tx, limit)
    before = lock_many(tx, [each.device_id for each in unsent])
    by_group: dict[str, list[Registration]] = defaultdict(list)
    for each in before.values():
        by_group[each.group_id].append(each)
    seqs: dict[int, int] = {}
    for group_id, group in by_group.items():
        devices = [(each.device_id, "") for each in group]
        queued = channels.enqueue(tx, _get_channel(tx, group_id), dispatch, devices)
        seqs |= zip([each.device_number for each in group], queued, strict=True)
    store.set_deliveries(tx, seqs)
    after = {key: _with_information(each, reason=QUEUED) for key, each in before.items()}
    save_changes(tx, before, after)
    return len(before)


def cancel_registration(tx: Tx, device: Device) -> str:
    """Drop the registration of a locked device whose hardware is replaced; its information.

    The old hardware may be registered already; the new one is not.
    """
    found = lock_many(tx, [device.id]).get(device.id)
    if found is None:
        return device.information
    if found.seq is not None and not channels.cancel_delivery(
        tx, _get_channel(tx, found.group_id), found.seq, REPLACED
    ):
        raise Conflict("The device is being registered at its network right now; try again.")
    store.delete(tx, device.number)
    return _information(device.information, "cancelled", reason=REPLACED)


class PendingRegistrationRequest(msgspec.Struct, frozen=True):
    """A registration to send now."""

    id: str  # at the network
    pac: str
    body: dict[str, Any]


def get_pending_request(tx: Tx, message: OutboundMessage) -> PendingRegistrationRequest | Outcome:
    """What is to be sent now, or the outcome if nothing is."""
    device_id = message.device_id
    found = store.get(tx, device_id)
    if found is None:
        return Refused("the device was deleted, or its hardware replaced", is_final=True)
    if found.state == "registered":
        return Delivered()
    pac = tx.keyring.unseal(found.sealed_pac, _pac_purpose(device_id))
    request = json.loads(found.request)
    return PendingRegistrationRequest(request["id"], pac, registration_body(request, pac))


# --- results of attempts ---


def lock_many(tx: Tx, device_ids: Collection[str]) -> dict[str, Registration]:
    """The registrations of those devices that still exist, by their ids."""
    if not device_ids:
        return {}
    # Lock the devices first, as deleting them does: no deadlocks.
    devices = reporting_devices.get_reporting(tx, device_ids)
    found = store.list_many(tx, [each.number for each in devices.values()])
    return {each.device_id: each for each in found}


def with_state(before: Registration, state: str, detail: str) -> Registration:
    """With the state and what the network said; a registered one stays so."""
    if before.state == "registered":
        return before
    changed = structs.replace(before, state=state, answer=detail)
    if state == "registered":
        return _with_information(changed, answer=detail)
    return _with_information(changed, reason=detail)


def suspended(before: Registration) -> Registration:
    """No API is configured any more: wait until one is."""
    if before.state == "registered":
        return before
    changed = structs.replace(before, state="pending", seq=None)
    return _with_information(changed, reason=NOT_CONFIGURED)


def _with_information(registration: Registration, **detail: str) -> Registration:
    information = _information(registration.information, registration.state, **detail)
    return structs.replace(registration, information=information)


def save_changes(
    tx: Tx, before: Mapping[str, Registration], after: Mapping[str, Registration]
) -> None:
    """Store what has changed of locked registrations and in the information of their devices."""
    pairs = [(before[key], each) for key, each in after.items() if each != before[key]]
    store.update_device_information(
        tx,
        {
            each.device_number: each.information
            for old, each in pairs
            if each.information != old.information
        },
        SYSTEM.id,
    )
    store.clear_deliveries(
        tx, [each.device_number for old, each in pairs if each.seq is None and old.seq is not None]
    )
    store.update_states(
        tx,
        [each for old, each in pairs if (each.state, each.answer) != (old.state, old.answer)],
    )

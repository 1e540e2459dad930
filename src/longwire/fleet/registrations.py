"""Registration of devices at the vendor's network.

The activation code (PAC) of a device is sealed until it is sent, and deleted once the network has
accepted it. The state of a registration is in the device's `information`.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.delivery import channels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.delivery.destinations.base import Delivered, OutboundMessage, Outcome, Refused
from longwire.model import SYSTEM, Channel, ChannelPurpose, Device
from longwire.networks.base import VENDOR
from longwire.networks.vendor import registration_body
from longwire.store import registrations as store
from longwire.store.database import Tx
from longwire.store.registrations import Registration

# The default retries; then the operator has a month to resend it.
POLICY = ChannelPolicy(storing_s=30 * 86_400)

NOT_CONFIGURED = "the service has no vendor API configured yet"
QUEUED = "it is about to be sent to the network"


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
    requests: Sequence[tuple[Device, Mapping[str, Any], str]],
) -> None:
    """Store the registration requests of new devices, and queue them if an API is configured."""
    seqs: Sequence[int | None] = [None] * len(requests)
    if is_configured(dispatch):
        devices = [(device.id, "") for device, _, _ in requests]
        seqs = channels.enqueue(tx, _get_channel(tx, group_id), dispatch, devices)
    rows = [
        (device.number, tx.keyring.seal(pac, _pac_purpose(device.id)), json.dumps(request), seq)
        for seq, (device, request, pac) in zip(seqs, requests, strict=True)
    ]
    store.insert(tx, rows)


def _get_channel(tx: Tx, group_id: str) -> Channel:
    return channels.get_or_create_channel(
        tx, ChannelPurpose.REGISTRATION, f"registration:{group_id}", group_id, VENDOR, POLICY
    )


def _pac_purpose(device_id: str) -> str:
    return f"registration|{device_id}|pac"


def send_waiting(tx: Tx, dispatch: DispatchContext, limit: int) -> int:
    """Queue registrations that were requested while no API was configured."""
    waiting = store.lock_unsent(tx, limit)
    by_group: dict[str, list[Registration]] = defaultdict(list)
    for each in waiting:
        by_group[each.group_id].append(each)
    for group_id, group in by_group.items():
        devices = [(each.device_id, "") for each in group]
        seqs = channels.enqueue(tx, _get_channel(tx, group_id), dispatch, devices)
        numbers = [each.device_number for each in group]
        store.set_deliveries(tx, list(zip(numbers, seqs, strict=True)))
        for each in group:
            _update_information(tx, each, "pending", reason=QUEUED)
    return len(waiting)


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
        return Refused("the device was deleted", is_final=True)
    if found.state == "registered":
        return Delivered()
    pac = tx.keyring.unseal(found.sealed_pac, _pac_purpose(device_id))
    request = json.loads(found.request)
    return PendingRegistrationRequest(request["id"], pac, registration_body(request, pac))


def set_state(tx: Tx, device_id: str, state: str, detail: str) -> None:
    """Update the state of a registration, if its device still exists."""
    found = store.get(tx, device_id)
    if found is None or found.state == "registered":
        return
    # Lock the device first, as deleting it does: no deadlocks.
    if state == "registered":
        _update_information(tx, found, state, answer=detail)
    else:
        _update_information(tx, found, state, reason=detail)
    store.update_state(tx, found.device_number, state, detail)


def suspend(tx: Tx, device_id: str) -> None:
    """No API is configured any more: wait until one is."""
    found = store.get(tx, device_id)
    if found is not None and found.state != "registered":
        _update_information(tx, found, "pending", reason=NOT_CONFIGURED)
        store.requeue(tx, found.device_number)


def _update_information(tx: Tx, found: Registration, state: str, **detail: str) -> None:
    information = _information(found.information, state, **detail)
    store.update_device_information(tx, found.device_number, information, SYSTEM.id)

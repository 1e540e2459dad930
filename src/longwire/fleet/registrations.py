"""Registration of devices at the vendor's network: what is to be told there, and how far that is.

The activation code of a device is sealed until the moment it is sent, and forgotten once the
network has taken it. How far a registration is stands in the device's `information`.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.delivery import channels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.delivery.destinations.base import Delivered, Outcome, Refused
from longwire.model import SYSTEM, Connector, Device
from longwire.networks.base import VENDOR
from longwire.networks.vendor import registration
from longwire.store import registrations as store
from longwire.store.database import Tx
from longwire.store.registrations import Registration

PURPOSE = "registration"

# Five tries, as for everything that says nothing else; then an operator has a month to look at it.
POLICY = ChannelPolicy(storing_s=30 * 86_400)

NOT_CONFIGURED = "the service has no vendor API configured yet"
WAITS = "it is about to be sent to the network"


def is_possible(dispatch: DispatchContext) -> bool:
    return VENDOR in dispatch.networks


def first_information(dispatch: DispatchContext) -> str:
    """What a new device says of its registration."""
    reason = WAITS if is_possible(dispatch) else NOT_CONFIGURED
    return _information("{}", "pending", reason=reason)


def _information(before: str, state: str, **words: str) -> str:
    """The device's information with how far its registration is."""
    try:
        known = json.loads(before)
    except ValueError:
        known = {}
    rest = known if isinstance(known, dict) else {}
    return json.dumps({**rest, "registration": {"state": state, **words}})


def request_registrations(
    tx: Tx,
    dispatch: DispatchContext,
    group_id: str,
    wishes: Sequence[tuple[Device, Mapping[str, Any], str]],
) -> None:
    """Note what the network is to be told of new devices, with their codes, and tell it."""
    seqs: Sequence[int | None] = [None] * len(wishes)
    if is_possible(dispatch):
        devices = [(device.id, "") for device, _, _ in wishes]
        seqs = channels.enqueue(tx, _outlet(tx, group_id), dispatch, devices)
    rows = [
        (device.number, tx.keyring.seal(pac, _pac_purpose(device.id)), json.dumps(told), seq)
        for seq, (device, told, pac) in zip(seqs, wishes, strict=True)
    ]
    store.insert(tx, rows)


def _outlet(tx: Tx, group_id: str) -> Connector:
    return channels.get_or_create_channel(
        tx, PURPOSE, f"registration:{group_id}", group_id, VENDOR, POLICY
    )


def _pac_purpose(device_id: str) -> str:
    return f"registration|{device_id}|pac"


def send_waiting(tx: Tx, dispatch: DispatchContext, most: int) -> int:
    """Send those on their way that were asked for while there was nobody to send them to."""
    idle = store.lock_unsent(tx, most)
    by_group: dict[str, list[Registration]] = defaultdict(list)
    for each in idle:
        by_group[each.group_id].append(each)
    for group_id, group in by_group.items():
        devices = [(each.device_id, "") for each in group]
        seqs = channels.enqueue(tx, _outlet(tx, group_id), dispatch, devices)
        numbers = [each.device_number for each in group]
        store.set_deliveries(tx, list(zip(numbers, seqs, strict=True)))
        for each in group:
            _inform(tx, each, "pending", reason=WAITS)
    return len(idle)


class PendingRegistrationRequest(msgspec.Struct, frozen=True):
    """What the network is to be told of a device."""

    id: str  # the network's
    pac: str
    body: dict[str, Any]


def get_pending_request(tx: Tx, device_id: str) -> PendingRegistrationRequest | Outcome:
    """What is to be told now, or why nothing is."""
    found = store.get(tx, device_id)
    if found is None:
        return Refused("the device is gone", is_final=True)
    if found.state == "registered":
        return Delivered()
    pac = tx.keyring.unseal(found.sealed_pac, _pac_purpose(device_id))
    request = json.loads(found.request)
    return PendingRegistrationRequest(request["id"], pac, registration(request, pac))


def set_state(tx: Tx, device_id: str, state: str, words: str) -> None:
    """Note how far a registration is, if its device is still there."""
    found = store.get(tx, device_id)
    if found is None or found.state == "registered":
        return
    # The device first, as whoever deletes it does: no deadlocks.
    if state == "registered":
        _inform(tx, found, state, answer=words)
    else:
        _inform(tx, found, state, reason=words)
    store.update_state(tx, found.device_number, state, words)


def suspend(tx: Tx, device_id: str) -> None:
    """There is nobody to send it to any more; it waits as if there had never been."""
    found = store.get(tx, device_id)
    if found is not None and found.state != "registered":
        _inform(tx, found, "pending", reason=NOT_CONFIGURED)
        store.requeue(tx, found.device_number)


def _inform(tx: Tx, found: Registration, state: str, **words: str) -> None:
    information = _information(found.information, state, **words)
    store.update_device_information(tx, found.device_number, information, SYSTEM.id)

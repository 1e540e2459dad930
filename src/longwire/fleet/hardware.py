"""Replaced hardware: a device gets another original id, or another network.

The device keeps its id, history and rules. What was between the network and the old hardware ends:
its registration, its downlinks, and what was counted or reported of it.
"""

from dataclasses import replace

from longwire.delivery.channels import DispatchContext
from longwire.errors import Conflict, FieldError, invalid_field
from longwire.fleet import downlink_states, registrations
from longwire.model import Device
from longwire.networks.identities import InvalidOriginalId, normalize_identity, original_key
from longwire.store.database import Tx
from longwire.store.fleet import device_reports, device_states, devices, downlinks


def unique_key(device: Device) -> tuple[str, str]:
    return device.network, original_key(device.network, device.original_id)


def identify(tx: Tx, device: Device, network: str | None, original_id: str | None) -> Device:
    """The device with another original id or network, if these are valid and free."""
    new_network = device.network if network is None else network
    new_id = device.original_id if original_id is None else original_id
    if (new_network, new_id) == (device.network, device.original_id):
        return device  # perhaps invalid, from before ids were checked
    try:
        new_network, new_id = normalize_identity(new_network, new_id)
    except InvalidOriginalId as error:
        field = "network" if original_id is None else "original_id"
        raise invalid_field(field, str(error)) from None
    identified = replace(device, network=new_network, original_id=new_id)
    key = unique_key(identified)
    if key != unique_key(device) and devices.list_taken_keys(tx, key[0], [key[1]]):
        field = "network" if original_id is None else "original_id"
        raise Conflict(field_errors=[FieldError(field, "is taken in this network")])
    return identified


def end_old_hardware(tx: Tx, dispatch: DispatchContext, device: Device) -> str:
    """End what belongs to the hardware of a locked device; returns its new information.

    Refused while the network is asked to register it, as nobody knows the outcome yet.
    """
    information = registrations.cancel_registration(tx, device)
    downlink_states.end_downlinks(tx, dispatch, device)
    downlinks.delete_links(tx, device.number)
    # Another counter: its low numbers are neither late nor repeated messages.
    device_states.reset_hardware(tx, device)
    device_reports.delete(tx, [device.number])
    return information

"""Links: the URL and key by which a network accepts downlinks of a device."""

from longwire.clock import SECOND
from longwire.delivery.destinations.http import validate_url
from longwire.delivery.http.egress import Egress
from longwire.fleet.downlink_states import lock_device
from longwire.store.database import Tx
from longwire.store.fleet import downlinks as store
from longwire.store.fleet.downlinks import NetworkLink

# Several webhooks send several URLs with each uplink, and any of them will do. So the current one
# is kept for so long, unless it turns out not to work.
LINK_KEPT_S = 3_600


def _key_purpose(device_id: str) -> str:
    return f"network_link|{device_id}|key"


def needs_link_update(tx: Tx, device_id: str, url: str, key: str) -> bool:
    """Whether a link should replace the current one."""
    current = store.get_link(tx, device_id)
    if current is None:
        return True
    if current.url == url:
        return unseal_link_key(tx, device_id, current.sealed_key) != key
    return tx.now - current.updated_at >= LINK_KEPT_S * SECOND


def unseal_link_key(tx: Tx, device_id: str, sealed: str) -> str:
    return tx.keyring.unseal(sealed, _key_purpose(device_id))


def is_link_allowed(url: str, egress: Egress) -> bool:
    return not any(validate_url(url, egress))


def save_link(tx: Tx, device_id: str, url: str, key: str) -> None:
    """Save where a network accepts downlinks of a device, and with which key."""
    device = lock_device(tx, device_id)
    if device is not None and needs_link_update(tx, device_id, url, key):
        sealed = tx.keyring.seal(key, _key_purpose(device_id))
        store.save_link(tx, device.number, NetworkLink(url, sealed))


def delete_link(tx: Tx, device_id: str, url: str) -> None:
    """Delete a link that does not work; the next one is saved at once."""
    store.delete_link(tx, device_id, url)

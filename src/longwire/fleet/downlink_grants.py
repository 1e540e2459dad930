"""Downlink grants: the operator decides which groups send through his keys.

A key of the operator reaches every device of its account, and nobody proves that a device is
theirs when they enter its EUI. A grant covers a group and the groups below it.
"""

from longwire.errors import NotAllowed, not_found
from longwire.fleet.downlink_apis import DOWNLINK_APIS
from longwire.identity import access
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.store.fleet import downlink_grants as store
from longwire.store.fleet.downlink_grants import DownlinkGrant
from longwire.store.identity import audit
from longwire.store.identity import groups as store_groups

NETWORKS = tuple(DOWNLINK_APIS)


def is_allowed(tx: Tx, group_id: str, network: str) -> bool:
    return store.is_granted(tx, group_id, network)


def require(tx: Tx, group_id: str, network: str) -> None:
    """Refuse downlinks through the operator's key, unless he has allowed them for the group."""
    if not is_allowed(tx, group_id, network):
        raise NotAllowed(
            f"The operator has not allowed downlinks through {DOWNLINK_APIS[network].title} for "
            f"group {group_id}. Ask the operator of this service to run: "
            f"longwire group allow-downlinks {group_id} --network {network}"
        )


def allow(tx: Tx, actor: Actor, group_id: str, network: str) -> None:
    _require_group(tx, actor, group_id)
    store.insert(tx, group_id, network)
    audit.log(tx, actor, "group.allowDownlinks", network, group_id=group_id)


def deny(tx: Tx, actor: Actor, group_id: str, network: str) -> bool:
    """Withdraw a grant, also for what is queued; whether there was one."""
    _require_group(tx, actor, group_id)
    is_withdrawn = store.delete(tx, group_id, network)
    if is_withdrawn:
        audit.log(tx, actor, "group.denyDownlinks", network, group_id=group_id)
    return is_withdrawn


def list_grants(tx: Tx) -> list[DownlinkGrant]:
    return store.list_all(tx)


def _require_group(tx: Tx, actor: Actor, group_id: str) -> None:
    scope = access.authorize(tx, actor, "group.update", group_id)
    if store_groups.get(tx, scope, group_id) is None:
        raise not_found("group_id", "group")

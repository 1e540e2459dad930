"""Unknown devices: what networks and devices send about ids that are none of a group's devices.

Nothing of it is a record. It is kept for some days, so that whoever waits for records sees what
arrives instead, and can create the device. A group learns nothing of the devices of others, but
that an id is taken.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from longwire.dataclass import dataclass
from longwire.errors import conflicting_field, not_found
from longwire.fleet import decoding
from longwire.fleet.decoding import Codec
from longwire.identity import access
from longwire.model import Actor, Page, PageRequest
from longwire.networks.identities import normalize_network, original_key
from longwire.store.database import Tx
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import unknown_devices as store
from longwire.store.fleet.unknown_devices import KeptMessage, UnknownDevice, UnknownReason
from longwire.store.identity import audit
from longwire.store.identity import groups as store_groups

# For each reason; of all groups whose quota is that of one user.
PER_GROUP_MAX = 200
PER_USER_MAX = 5_000
KEEP_DAYS = 7

# How many messages of (network, reason).
MessageCounts = Counter[tuple[str, UnknownReason]]


# --- what arrives ---


def store_reports(tx: Tx, reported: Sequence[UnknownDevice]) -> MessageCounts:
    """Add what has arrived; returns how many messages were about no device."""
    quota_users = store.list_quota_users(tx, {each.group_id for each in reported})
    homes = _find_homes(tx, reported)
    paths = store_groups.list_paths(tx, set(homes.values()))
    found = [
        resolved
        for each in reported
        if each.group_id in quota_users
        for resolved in [_resolve(each, homes, paths)]
        if resolved is not None
    ]
    if found:
        store.add(tx, found, quota_users)
        store.delete_excess(
            tx, quota_users, per_reason_max=PER_GROUP_MAX, per_user_max=PER_USER_MAX
        )
    counts: MessageCounts = Counter()
    for each in found:
        counts[each.network, each.reason] += each.messages
    return counts


def _find_homes(tx: Tx, reported: Sequence[UnknownDevice]) -> dict[tuple[str, str], str]:
    """The groups of the devices that there are with these ids."""
    keys: dict[str, set[str]] = {}
    for each in reported:
        if each.network and each.reason is UnknownReason.UNKNOWN:
            keys.setdefault(each.network, set()).add(each.original_key)
    homes: dict[tuple[str, str], str] = {}
    for network, wanted in keys.items():
        taken = store_devices.list_by_original_keys(tx, network, sorted(wanted))
        homes |= {(network, key): group_id for key, (_, group_id) in taken.items()}
    return homes


def _resolve(
    reported: UnknownDevice,
    homes: Mapping[tuple[str, str], str],
    paths: Mapping[str, Sequence[str]],
) -> UnknownDevice | None:
    """The same with its reason; None if the device has been created meanwhile."""
    home = homes.get((reported.network, reported.original_key))
    if home is None:
        return reported
    if reported.group_id not in paths[home]:
        return replace(reported, reason=UnknownReason.OTHER_GROUP, detail=None, kept=None)
    if reported.detail is None:
        return None
    return replace(reported, reason=UnknownReason.REJECTED)


# --- what people see ---


def list_unknown_devices(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest, *, subgroups: bool
) -> Page[UnknownDevice]:
    """The newest first; without their messages for those who may not read records."""
    scope = access.authorize_tree(tx, actor, "device.read", group_id, subgroups=subgroups)
    page = store.list_page(tx, scope, request)
    if "record.read" in access.get_permissions(tx, actor, group_id):
        return page
    return replace(page, items=[replace(each, kept=None) for each in page.items])


def dismiss(
    tx: Tx,
    actor: Actor,
    group_id: str,
    *,
    network: str | None,
    original_id: str | None,
    subgroups: bool,
) -> int:
    """Delete one, those of a network, or all; how many. Whatever reports again comes back."""
    scope = access.authorize_tree(tx, actor, "device.create", group_id, subgroups=subgroups)
    key = None if original_id is None else original_key(network or "", original_id)
    dismissed = store.delete(tx, scope, network=network, original_key=key)
    if key is not None and not dismissed:
        raise not_found("original_id", "unknown device of this group")
    if dismissed:
        named = [each for each in (network, original_id) if each is not None]
        audit.log(
            tx, actor, "unknownDevice.dismiss", group_id, group_id=group_id, detail=" ".join(named)
        )
    return dismissed


# --- the first record of a device that is created ---


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """A message that was kept, the group whose token it came with, and the device's decoder."""

    sender_group: str
    kept: KeptMessage
    codec: Codec


def get_first_message(
    tx: Tx, actor: Actor, group_id: str, network: str, original_id: str, type_name: str
) -> FirstMessage:
    """The last message of an id that would have become records of a device in this group."""
    access.authorize(tx, actor, "device.create", group_id)
    path = access.get_group_path(tx, group_id)
    network = normalize_network(network)
    found = store.find_kept(tx, path, network, original_key(network, original_id))
    if found is None or found.kept is None or found.kept.content is None:
        raise conflicting_field(
            "original_id", "is of no message that is kept as a whole; use POST /device"
        )
    return FirstMessage(found.group_id, found.kept, decoding.get_codec(tx, type_name))

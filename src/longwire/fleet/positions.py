"""Where the devices of a group are."""

from collections.abc import Iterable
from dataclasses import replace

from longwire.clock import Moment
from longwire.errors import invalid_field
from longwire.identity import access
from longwire.model import Actor, Device, PageRequest, PositionFilter
from longwire.store.database import Tx
from longwire.store.fleet import device_stays, overviews
from longwire.store.fleet import positions as store
from longwire.store.fleet.device_search import EXAMINED_MAX
from longwire.store.fleet.positions import Position, PositionPage
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import group_limits

STAYS_EXAMINED_MAX = 32
NEVER: Moment = -(2**62)


def list_positions(
    tx: Tx,
    actor: Actor,
    group_id: str,
    wanted: PositionFilter,
    request: PageRequest,
    *,
    subgroups: bool,
) -> PositionPage:
    """The last positions of the devices of a group, or of its subtree."""
    access.authorize(tx, actor, "device.read", group_id)
    scope = access.authorize_tree(tx, actor, "record.read", group_id, subgroups=subgroups)
    if overviews.sum_device_counts(tx, scope) > EXAMINED_MAX:
        raise invalid_field(
            "group_id", f"has more than {EXAMINED_MAX:,} devices: list those of a subgroup"
        )
    # What has expired is not shown, whether it is deleted yet or not.
    kept = {each: group_limits.get_oldest(tx, "geoloc", each) for each in scope.group_ids}
    oldest = [NEVER if each is None else each for each in kept.values()]
    since = max(wanted.since, min(oldest))
    later = {int(each): at for each, at in kept.items() if at is not None and at > since}
    return store.list_page(tx, scope, replace(wanted, since=since, since_of_group=later), request)


def find_position(tx: Tx, device: Device) -> Position | None:
    """The last position of a device that the caller may see, unless its record has expired."""
    oldest = group_limits.get_oldest(tx, "geoloc", device.group_id)
    return store.get_of_device(tx, device, NEVER if oldest is None else oldest)


def have_position(bodies: Iterable[str], now: Moment) -> bool:
    """Whether any of some geolocations has a position that could be the last one of a device."""
    return any(store.parse_position(body, now) is not None for body in bodies)


def refresh_position(tx: Tx, device: ReportingDevice, deleted_at: Moment) -> None:
    """Find the last position of a device again, after records up to a moment were deleted."""
    stays = [
        stay.number
        for stay in device_stays.list_stays(tx, device)
        if stay.group_id == device.group_id
    ]
    store.refresh(tx, device.number, stays[-STAYS_EXAMINED_MAX:], deleted_at)

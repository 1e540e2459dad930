"""Watches over devices: which messages are missing, and who has fallen silent.

Numbers are followed while messages are stored. Silence is found by looking: nothing is written when
a device speaks, so a device is looked for when it is due, and if it was seen since, later again.
"""

from collections.abc import Iterable, Mapping, Sequence

from longwire.clock import Moment
from longwire.model import Count, Device, Told
from longwire.networks import monitoring
from longwire.networks.monitoring import Numbered, Watched
from longwire.store import device_monitors as store
from longwire.store import devices as store_devices
from longwire.store.database import Tx

NOTHING_COUNTED = Count()


# --- numbers ---


def follow(
    counts: Mapping[int, Count],
    heard: Iterable[tuple[int, Numbered]],
    restarted: Mapping[int, Moment],
) -> tuple[dict[int, Count], list[Told]]:
    """What the numbers of new messages tell, and of devices that count from the beginning.

    Devices are known by their own numbers. Those that have counted on, how far; and what there is
    to tell of them.
    """
    changed: dict[int, Count] = {}
    for device, at in restarted.items():
        known = counts.get(device)
        if known is not None and (known.at is None or known.at <= at):
            changed[device] = NOTHING_COUNTED
    told = []
    for device, message in sorted(heard, key=_moment):
        before = changed.get(device) or counts.get(device, NOTHING_COUNTED)
        count, news = monitoring.follow(before, message)
        if count is not before:
            changed[device] = count
        if news is not None:
            told.append(news)
    return changed, told


def _moment(heard: tuple[int, Numbered]) -> Moment:
    return heard[1].at


# --- silence ---


def expect(tx: Tx, devices: Sequence[Device]) -> None:
    """Begin to watch over devices, or go on by their new configuration."""
    silent = store.silent(tx, [device.number for device in devices])
    due: list[tuple[int, Moment]] = []
    nothing: list[int] = []
    for device in devices:
        after = monitoring.silent_after(device.configuration)
        if after is None:
            nothing.append(device.number)
        elif device.number in silent:
            due.append((device.number, tx.now))  # perhaps it is not silent any more
        else:
            due.append((device.number, (device.seen_at or tx.now) + after))
    store.expect(tx, due)
    store.expect_nothing(tx, nothing)


def look(tx: Tx, device_ids: Sequence[str]) -> list[Told]:
    """Look for devices that are due, or silent and heard again; what there is to tell of them.

    Whoever finds them in the hands of another process leaves them to it.
    """
    there = store_devices.reporting(tx, device_ids)
    told = []
    for each in store.held(tx, list(there)):
        watched = Watched(each.device_id, each.configuration, each.seen_at, each.silent_at)
        found = monitoring.look_at(watched, tx.now)
        store.looked(tx, each.device_number, found.silent_at, found.due_at)
        if found.told is not None:
            told.append(found.told)
    return told

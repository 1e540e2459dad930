"""Watches over devices: which messages are missing, and who has fallen silent.

Numbers are followed while messages are stored. Silence is found by looking: nothing is written when
a device speaks, so a device is looked for when it is due, and if it was seen since, later again.
"""

from collections.abc import Mapping, Sequence

from longwire.clock import Moment
from longwire.model import Count, Device, Told
from longwire.networks import expectations
from longwire.networks.expectations import Numbered, Watched
from longwire.store import devices as store_devices
from longwire.store import watches as store
from longwire.store.database import Tx

NOTHING_COUNTED = Count()


# --- numbers ---


def follow(
    tx: Tx,
    heard: Sequence[Numbered],
    restarted: Mapping[str, Moment],
    device_numbers: Mapping[str, int],
) -> list[Told]:
    """Take note of the numbers of new messages, and of devices that count from the beginning."""
    ids = {each.device_id for each in heard} | restarted.keys()
    counts = store.counted(tx, [device_numbers[each] for each in ids])
    changed: set[int] = set()
    for device_id, at in restarted.items():
        number = device_numbers[device_id]
        known = counts.get(number)
        if known is not None and (known.at is None or known.at <= at):
            counts[number] = Count()
            changed.add(number)
    told = []
    for message in expectations.in_order(heard):
        number = device_numbers[message.device_id]
        before = counts.get(number, NOTHING_COUNTED)
        count, news = expectations.follow(before, message)
        if count is not before:
            counts[number] = count
            changed.add(number)
        if news is not None:
            told.append(news)
    store.count(tx, {number: counts[number] for number in changed})
    return told


# --- silence ---


def expect(tx: Tx, devices: Sequence[Device]) -> None:
    """Begin to watch over devices, or go on by their new configuration."""
    silent = store.silent(tx, [device.number for device in devices])
    due: list[tuple[int, Moment]] = []
    nothing: list[int] = []
    for device in devices:
        after = expectations.silent_after(device.configuration)
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
        found = expectations.look_at(watched, tx.now)
        store.looked(tx, each.device_number, found.silent_at, found.due_at)
        if found.told is not None:
            told.append(found.told)
    return told

"""Watches over devices: which messages are missing, and who has fallen silent.

Numbers are followed while messages are stored. Silence is found by looking: nothing is written when
a device speaks, so a device is looked for when it is due, and if it was seen since, later again.
"""

from collections.abc import Iterable, Mapping, Sequence

from longwire.clock import Moment
from longwire.model import Device, SequenceCounter, ServiceEvent
from longwire.networks import monitoring
from longwire.networks.monitoring import MonitoredDevice, SequencedMessage
from longwire.store import device_monitors as store
from longwire.store import devices as store_devices
from longwire.store.database import Tx

NOTHING_COUNTED = SequenceCounter()


# --- numbers ---


def track_sequences(
    counts: Mapping[int, SequenceCounter],
    heard: Iterable[tuple[int, SequencedMessage]],
    restarted: Mapping[int, Moment],
) -> tuple[dict[int, SequenceCounter], list[ServiceEvent]]:
    """What the numbers of new messages tell, and of devices that count from the beginning.

    Devices are known by their own numbers. Those that have counted on, how far; and what there is
    to tell of them.
    """
    changed: dict[int, SequenceCounter] = {}
    for device, at in restarted.items():
        known = counts.get(device)
        if known is not None and (known.at is None or known.at <= at):
            changed[device] = NOTHING_COUNTED
    told = []
    for device, message in sorted(heard, key=_moment):
        before = changed.get(device) or counts.get(device, NOTHING_COUNTED)
        count, news = monitoring.track_sequence(before, message)
        if count is not before:
            changed[device] = count
        if news is not None:
            told.append(news)
    return changed, told


def _moment(heard: tuple[int, SequencedMessage]) -> Moment:
    return heard[1].at


# --- silence ---


def schedule_silence_checks(tx: Tx, devices: Sequence[Device]) -> None:
    """Begin to watch over devices, or go on by their new configuration."""
    silent = store.list_silent(tx, [device.number for device in devices])
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
    store.schedule(tx, due)
    store.clear(tx, nothing)


def check_silent_devices(tx: Tx, device_ids: Sequence[str]) -> list[ServiceEvent]:
    """Look for devices that are due, or silent and heard again; what there is to tell of them.

    Whoever finds them in the hands of another process leaves them to it.
    """
    there = store_devices.get_reporting(tx, device_ids)
    told = []
    for each in store.lock_many(tx, list(there)):
        watched = MonitoredDevice(each.device_id, each.configuration, each.seen_at, each.silent_at)
        found = monitoring.check_silence(watched, tx.now)
        store.update(tx, each.device_number, found.silent_at, found.due_at)
        if found.told is not None:
            told.append(found.told)
    return told

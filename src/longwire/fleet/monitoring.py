"""Device monitoring: missing messages and silent devices.

Sequence numbers are tracked while messages are stored. Silence is found by polling: receiving a
message writes nothing here, so a device is checked when it is due, and rescheduled if it was seen
since.
"""

from collections.abc import Iterable, Mapping, Sequence

from longwire.clock import MINUTE, Moment
from longwire.model import Device, SequenceCounter, ServiceEvent
from longwire.networks import monitoring
from longwire.networks.monitoring import MonitoredDevice, SequencedMessage
from longwire.store.database import Tx
from longwire.store.fleet import reporting_devices
from longwire.store.notifications import device_monitors as store

NOTHING_COUNTED = SequenceCounter()
# Most records are some seconds old when they arrive; those of devices with a shorter interval are
# checked as soon in any case.
LATE_AFTER = MINUTE


# --- sequence ---


def track_sequences(
    counts: Mapping[int, SequenceCounter],
    messages: Iterable[tuple[int, SequencedMessage]],
    reset: Mapping[int, Moment],
) -> tuple[dict[int, SequenceCounter], list[ServiceEvent]]:
    """The counters that change with new messages and resets, by device number, and the events."""
    changed: dict[int, SequenceCounter] = {}
    for device, at in reset.items():
        known = counts.get(device)
        if known is not None and (known.at is None or known.at <= at):
            changed[device] = NOTHING_COUNTED
    events = []
    for device, message in sorted(messages, key=_moment):
        before = changed.get(device) or counts.get(device, NOTHING_COUNTED)
        count, event = monitoring.track_sequence(before, message)
        if count is not before:
            changed[device] = count
        if event is not None:
            events.append(event)
    return changed, events


def _moment(messages: tuple[int, SequencedMessage]) -> Moment:
    return messages[1].at


# --- silence ---


def schedule_silence_checks(tx: Tx, devices: Sequence[Device]) -> None:
    """Start to monitor devices, or apply their new configuration."""
    silent = store.list_silent(tx, [device.number for device in devices])
    due: list[tuple[int, Moment]] = []
    unmonitored: list[int] = []
    for device in devices:
        interval = monitoring.silent_after(device.configuration)
        if interval is None:
            unmonitored.append(device.number)
        elif device.number in silent:
            due.append((device.number, tx.now))  # it may not be silent any more
        else:
            due.append((device.number, (device.seen_at or tx.now) + interval))
    store.schedule(tx, due)
    store.clear(tx, unmonitored)


def check_if_late(tx: Tx, newest: Mapping[int, Moment]) -> None:
    """Have devices checked whose first records are old; call this before they are seen.

    Who was never seen is not silent, and is checked only now and then.
    """
    late = [number for number, ts in newest.items() if ts < tx.now - LATE_AFTER]
    if late:
        store.advance_if_never_seen(tx, late)


def check_silent_devices(tx: Tx, device_ids: Sequence[str]) -> list[ServiceEvent]:
    """Check devices that are due, or silent and seen again; the events that follow.

    Skips devices that another process has locked.
    """
    locked = reporting_devices.get_reporting(tx, device_ids)
    checked = []
    events = []
    for each in store.lock_many(tx, list(locked)):
        device = MonitoredDevice(each.device_id, each.configuration, each.seen_at, each.silent_at)
        found = monitoring.check_silence(device, tx.now)
        checked.append(
            store.CheckedDevice(
                each.device_number,
                locked[each.device_id].group_number,
                found.silent_at,
                found.due_at,
                is_changed=found.silent_at != each.state_silent_at,
            )
        )
        if found.event is not None:
            events.append(found.event)
    store.save(tx, checked)
    return events

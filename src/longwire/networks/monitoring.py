"""Rules of device monitoring: gaps in the sequence of messages, and silence.

Pure functions from the known state and a message, or the time, to the new state and an event.
"""

import math

import msgspec
from msgspec import Struct

from longwire.clock import SECOND, Moment
from longwire.model import SequenceCounter, ServiceEvent
from longwire.records import SEQUENCE_GAP

SEQUENCE_RECOVERED = "sequenceRecovered"
DEVICE_SILENT = "deviceSilent"
DEVICE_BACK = "deviceBack"

# MAX_FCNT_GAP of LoRaWAN; a larger jump means that the counter was reset.
GAP_MAX = 16_384
# So many gaps are tracked, to detect late messages that fill them.
GAPS_KEPT_MAX = 16


# --- sequence ---


class SequencedMessage(Struct, frozen=True, gc=False):
    """A message with a sequence number."""

    device_id: str
    number: int
    at: Moment
    modulus: int


def track_sequence(
    counter: SequenceCounter, message: SequencedMessage
) -> tuple[SequenceCounter, ServiceEvent | None]:
    """The counter after a message, and the event that follows from it.

    A message older than the newest is late, and may fill a gap. A newer one is next in sequence, or
    leaves a gap, or shows that the counter was reset.
    """
    if counter.number is None or counter.at is None:
        return SequenceCounter(message.number, message.at), None
    delta = (message.number - counter.number) % message.modulus
    if delta == 1 and message.at >= counter.at:
        return SequenceCounter(message.number, message.at, counter.missing), None
    if delta == 0:
        return counter, None
    if message.at < counter.at or (message.at == counter.at and delta > message.modulus // 2):
        return _fill_gap(counter, message)
    missed = delta - 1
    if missed > min(GAP_MAX, message.modulus // 2 - 1):
        return SequenceCounter(message.number, message.at), None
    expected = (counter.number + 1) % message.modulus
    missing = (*counter.missing, (expected, missed))[-GAPS_KEPT_MAX:]
    return SequenceCounter(message.number, message.at, missing), _gap_event(
        message, expected, missed
    )


def _fill_gap(
    counter: SequenceCounter, message: SequencedMessage
) -> tuple[SequenceCounter, ServiceEvent | None]:
    """Remove a late message from its gap; an event if that was the last gap."""
    for index, (first, number) in enumerate(counter.missing):
        at = (message.number - first) % message.modulus
        if at >= number:
            continue
        gaps = [(first, at), ((message.number + 1) % message.modulus, number - at - 1)]
        missing = (
            *counter.missing[:index],
            *(gap for gap in gaps if gap[1]),
            *counter.missing[index + 1 :],
        )
        remaining = SequenceCounter(counter.number, counter.at, missing[-GAPS_KEPT_MAX:])
        return remaining, None if missing else _recovered_event(message, counter.at)
    return counter, None


def _gap_event(message: SequencedMessage, expected: int, missed: int) -> ServiceEvent:
    words = "1 message was missed" if missed == 1 else f"{missed} messages were missed"
    return ServiceEvent(
        message.device_id,
        SEQUENCE_GAP,
        message.at,
        f"{words}: {expected} was expected, {message.number} came",
        "warning",
        {"expected": expected, "got": message.number, "missed": missed},
    )


def _recovered_event(message: SequencedMessage, at: Moment | None) -> ServiceEvent:
    """Dated like the newest message, so that it sorts after the gap."""
    return ServiceEvent(
        message.device_id,
        SEQUENCE_RECOVERED,
        message.at if at is None else at,
        f"all messages that were missed have come in; {message.number} was the last of them",
        "info",
        {"got": message.number},
    )


# --- silence ---

INTERVAL_S_MAX = 366 * 86_400


class _Configured(Struct, rename="camel"):
    silent_after_seconds: object = None
    report_every_seconds: object = None
    heartbeat_every_seconds: object = None


def silent_after(configuration: str) -> Moment | None:
    """How long a device of this configuration may be silent; None if it is not monitored.

    As configured, or else twice the interval of its reports or heartbeats.
    """
    try:
        configured = msgspec.json.decode(configuration, type=_Configured)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None  # a configuration may be any text
    if configured.silent_after_seconds is not None:
        return _parse_interval(configured.silent_after_seconds, 1)
    every = _parse_interval(configured.report_every_seconds, 2)
    return _parse_interval(configured.heartbeat_every_seconds, 2) if every is None else every


def _parse_interval(value: object, times: int) -> Moment | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(value * times * SECOND) if 0 < value * times <= INTERVAL_S_MAX else None


class MonitoredDevice(Struct, frozen=True):
    """A device that is checked for silence."""

    device_id: str
    configuration: str
    seen_at: Moment | None
    silent_at: Moment | None  # since when it is silent


class SilenceCheck(Struct, frozen=True):
    """The result of a check; `due_at` is the time of the next one, if one is needed."""

    silent_at: Moment | None
    due_at: Moment | None
    event: ServiceEvent | None = None


def check_silence(device: MonitoredDevice, now: Moment) -> SilenceCheck:
    """Whether a device is silent. One that was never seen is not: it may be in storage."""
    after = silent_after(device.configuration)
    if after is None:
        return SilenceCheck(None, None)
    if device.seen_at is None:
        return SilenceCheck(None, now + after)
    silent_from = device.seen_at + after
    if silent_from > now:
        return SilenceCheck(None, silent_from, _back_event(device, device.seen_at, now))
    # Silent: no check until it sends something or its configuration changes.
    event = _silent_event(device, silent_from, after) if device.silent_at is None else None
    return SilenceCheck(silent_from, None, event)


def _silent_event(device: MonitoredDevice, silent_from: Moment, after: Moment) -> ServiceEvent:
    seconds = after // SECOND
    return ServiceEvent(
        device.device_id,
        DEVICE_SILENT,
        silent_from,
        f"no message for {seconds} s",
        "warning",
        {"seconds": seconds},
    )


def _back_event(device: MonitoredDevice, seen_at: Moment, now: Moment) -> ServiceEvent | None:
    """If it was silent before: it was seen since, or its new configuration allows more silence."""
    if device.silent_at is None:
        return None
    at = seen_at if seen_at > device.silent_at else now
    seconds = max(0, at - device.silent_at) // SECOND
    return ServiceEvent(
        device.device_id,
        DEVICE_BACK,
        at,
        f"reporting again, {seconds} s after it was missed",
        "info",
        {"seconds": seconds},
    )

"""What is expected of a device: that its messages are numbered without gaps, and that it speaks.

Pure rules: from what was known and what was heard to what is known now, and to the events that tell
what is out of order.
"""

import math

import msgspec
from msgspec import Struct

from longwire.clock import SECOND, Moment
from longwire.model import SequenceCounter, ServiceEvent

SEQUENCE_GAP = "sequenceGap"
SEQUENCE_RECOVERED = "sequenceRecovered"
DEVICE_SILENT = "deviceSilent"
DEVICE_BACK = "deviceBack"

# Messages of the vendor's network are numbered with 12 bits. LoRaWAN counts 32 bits, of which the
# networks tell all, though only 16 are sent.
MODULI = {"vendor": 1 << 12, "chirpstack": 1 << 32, "ttn": 1 << 32}
# The largest gap that the specification of LoRaWAN takes for one; beyond it somebody counts anew.
GAP_MAX = 16_384
# Of what is missing, so many gaps are remembered, in case it comes in late.
GAPS_KEPT_MAX = 16


# --- numbers ---


class SequencedMessage(Struct, frozen=True, gc=False):
    """A message that has a number."""

    device_id: str
    number: int
    at: Moment
    modulus: int


def track_sequence(
    count: SequenceCounter, heard: SequencedMessage
) -> tuple[SequenceCounter, ServiceEvent | None]:
    """How far it is now, and what there is to tell.

    What was said before the newest message is late, and fills a gap if it belongs into one. What
    was said after it is next, or leaves a gap, or begins to count anew.
    """
    if count.number is None or count.at is None:
        return SequenceCounter(heard.number, heard.at), None
    ahead = (heard.number - count.number) % heard.modulus
    if ahead == 1 and heard.at >= count.at:
        return SequenceCounter(heard.number, heard.at, count.missing), None
    if ahead == 0:
        return count, None
    if heard.at < count.at or (heard.at == count.at and ahead > heard.modulus // 2):
        return _filled(count, heard)
    missed = ahead - 1
    if missed > min(GAP_MAX, heard.modulus // 2 - 1):
        return SequenceCounter(heard.number, heard.at), None
    expected = (count.number + 1) % heard.modulus
    missing = (*count.missing, (expected, missed))[-GAPS_KEPT_MAX:]
    return SequenceCounter(heard.number, heard.at, missing), _gap(heard, expected, missed)


def _filled(
    count: SequenceCounter, heard: SequencedMessage
) -> tuple[SequenceCounter, ServiceEvent | None]:
    """One that is late: of its gap the rest is missing, and if there is no rest, that is news."""
    for index, (first, number) in enumerate(count.missing):
        at = (heard.number - first) % heard.modulus
        if at >= number:
            continue
        rest = [(first, at), ((heard.number + 1) % heard.modulus, number - at - 1)]
        missing = (
            *count.missing[:index],
            *(gap for gap in rest if gap[1]),
            *count.missing[index + 1 :],
        )
        left = SequenceCounter(count.number, count.at, missing[-GAPS_KEPT_MAX:])
        return left, None if missing else _recovered(heard, count.at)
    return count, None


def _gap(heard: SequencedMessage, expected: int, missed: int) -> ServiceEvent:
    words = "1 message was missed" if missed == 1 else f"{missed} messages were missed"
    return ServiceEvent(
        heard.device_id,
        SEQUENCE_GAP,
        heard.at,
        f"{words}: {expected} was expected, {heard.number} came",
        "warning",
        {"expected": expected, "got": heard.number, "missed": missed},
    )


def _recovered(heard: SequencedMessage, at: Moment | None) -> ServiceEvent:
    """Told at the moment of the newest message, so that it follows the gap."""
    return ServiceEvent(
        heard.device_id,
        SEQUENCE_RECOVERED,
        heard.at if at is None else at,
        f"all messages that were missed have come in; {heard.number} was the last of them",
        "info",
        {"got": heard.number},
    )


# --- silence ---

INTERVAL_S_MAX = 366 * 86_400


class _Configured(Struct, rename="camel"):
    silent_after_seconds: object = None
    report_every_seconds: object = None
    heartbeat_every_seconds: object = None


def silent_after(configuration: str) -> Moment | None:
    """How long a device of this configuration may be silent; None if nothing is expected.

    As long as the configuration says, or else twice as long as it reports, or shows that it lives.
    """
    try:
        said = msgspec.json.decode(configuration, type=_Configured)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None  # a configuration may be any text
    if said.silent_after_seconds is not None:
        return _interval(said.silent_after_seconds, 1)
    every = _interval(said.report_every_seconds, 2)
    return _interval(said.heartbeat_every_seconds, 2) if every is None else every


def _interval(value: object, times: int) -> Moment | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(value * times * SECOND) if 0 < value * times <= INTERVAL_S_MAX else None


class MonitoredDevice(Struct, frozen=True):
    """A device of which something is expected."""

    device_id: str
    configuration: str
    seen_at: Moment | None
    silent_at: Moment | None  # since when it is silent


class SilenceCheck(Struct, frozen=True):
    """What was found, and when to look again; None when nobody needs to."""

    silent_at: Moment | None
    due_at: Moment | None
    told: ServiceEvent | None = None


def check_silence(watched: MonitoredDevice, now: Moment) -> SilenceCheck:
    """Whether a device is silent. One that was never heard is not: it may lie in a box."""
    after = silent_after(watched.configuration)
    if after is None:
        return SilenceCheck(None, None)
    if watched.seen_at is None:
        return SilenceCheck(None, now + after)
    late_at = watched.seen_at + after
    if late_at > now:
        return SilenceCheck(None, late_at, _back(watched, watched.seen_at, now))
    # Silent, and no need to look before it says something, or is configured otherwise.
    told = _silent(watched, late_at, after) if watched.silent_at is None else None
    return SilenceCheck(late_at, None, told)


def _silent(watched: MonitoredDevice, late_at: Moment, after: Moment) -> ServiceEvent:
    seconds = after // SECOND
    return ServiceEvent(
        watched.device_id,
        DEVICE_SILENT,
        late_at,
        f"nothing was heard for {seconds} s",
        "warning",
        {"seconds": seconds},
    )


def _back(watched: MonitoredDevice, seen_at: Moment, now: Moment) -> ServiceEvent | None:
    """If it was silent. It was seen since, or may be silent for longer from now on."""
    if watched.silent_at is None:
        return None
    at = seen_at if seen_at > watched.silent_at else now
    seconds = max(0, at - watched.silent_at) // SECOND
    return ServiceEvent(
        watched.device_id,
        DEVICE_BACK,
        at,
        f"it is heard again, {seconds} s after it was missed",
        "info",
        {"seconds": seconds},
    )

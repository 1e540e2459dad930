"""Monitoring of devices: gaps in frame counters, and silence."""

import json
from typing import Any

import pytest

from longwire.clock import SECOND
from longwire.model import SequenceCounter, ServiceEvent
from longwire.networks.monitoring import (
    GAPS_KEPT_MAX,
    MonitoredDevice,
    SequencedMessage,
    SilenceCheck,
    check_silence,
    silent_after,
    track_sequence,
)

VENDOR, LORAWAN = 1 << 12, 1 << 32


def sequenced(number: int, second: int, modulus: int = VENDOR) -> SequencedMessage:
    return SequencedMessage("dev", number, second * SECOND, modulus)


def events_of(*received: tuple[int, int], modulus: int = VENDOR) -> list[Any]:
    """The events caused by messages (number, second): gaps as numbers, the rest by name."""
    count, events = SequenceCounter(), []
    for number, second in received:
        count, service_event = track_sequence(count, sequenced(number, second, modulus))
        events.append(None if service_event is None else summarize(service_event))
    return events


def summarize(service_event: ServiceEvent) -> Any:
    assert service_event.data is not None
    if service_event.type == "sequenceGap":
        return service_event.data["expected"], service_event.data["missed"]
    assert service_event.type == "sequenceRecovered"
    return "recovered"


@pytest.mark.parametrize(
    "received, events",
    [
        ([(7, 1)], [None]),  # the first message: nothing is expected yet
        ([(7, 1), (8, 2), (9, 3)], [None, None, None]),
        ([(7, 1), (9, 3)], [None, (8, 1)]),
        ([(7, 1), (12, 3), (13, 4)], [None, (8, 4), None]),
        ([(7, 1), (7, 1), (7, 9)], [None, None, None]),  # another message about the same frame
        ([(4_095, 1), (0, 2)], [None, None]),  # twelve bits wrap around
        ([(4_094, 1), (2, 2)], [None, (4_095, 3)]),
        ([(7, 1), (8, 1)], [None, None]),  # in the same second
        ([(8, 1), (7, 1)], [None, None]),
        ([(500, 1), (3, 2), (4, 3)], [None, None, None]),  # the counter was reset
        ([(7, 1), (7 + 2_049, 2)], [None, None]),  # more than half of the range: a reset
        ([(7, 1), (7 + 2_048, 2)], [None, (8, 2_047)]),
        ([(7, 5), (6, 4), (5, 3)], [None, None, None]),  # late, but not missing
        ([(7, 1), (9, 3), (8, 2)], [None, (8, 1), "recovered"]),
        ([(7, 1), (9, 3), (8, 2), (8, 2)], [None, (8, 1), "recovered", None]),
        (
            [(7, 1), (11, 9), (9, 3), (8, 2), (12, 10), (10, 4)],
            [None, (8, 3), None, None, None, "recovered"],
        ),
        (
            [(7, 1), (9, 3), (11, 5), (8, 2), (10, 4)],
            [None, (8, 1), (10, 1), None, "recovered"],
        ),
        ([(7, 1), (9, 3), (3, 0)], [None, (8, 1), None]),  # older than the first message
        ([(4_094, 1), (1, 4), (0, 3), (4_095, 2)], [None, (4_095, 2), None, "recovered"]),
        ([(7, 1), (9, 3), (2, 4), (8, 2)], [None, (8, 1), None, None]),  # a reset drops gaps
    ],
)
def test_sequence_numbers_of_the_vendors_network(
    received: list[tuple[int, int]], events: list[Any]
) -> None:
    assert events_of(*received) == events


@pytest.mark.parametrize(
    "received, events",
    [
        ([(65_535, 1), (65_536, 2)], [None, None]),  # 16 bits are on air, all 32 are reported
        ([(2**32 - 1, 1), (0, 2)], [None, None]),
        ([(9_000, 1), (0, 2), (2, 3)], [None, None, (1, 1)]),  # joined again
        ([(10, 1), (10 + 16_385, 2)], [None, (11, 16_384)]),
        ([(10, 1), (10 + 16_386, 2)], [None, None]),  # too many for a gap: a reset
    ],
)
def test_frame_counters_of_lorawan(received: list[tuple[int, int]], events: list[Any]) -> None:
    assert events_of(*received, modulus=LORAWAN) == events


def test_a_gap_event_has_the_expected_and_the_received_number() -> None:
    _, event = track_sequence(SequenceCounter(7, SECOND), sequenced(10, 5))
    assert event == ServiceEvent(
        "dev",
        "sequenceGap",
        5 * SECOND,
        "2 messages were missed: 8 was expected, 10 came",
        "warning",
        {"expected": 8, "got": 10, "missed": 2},
    )


def test_the_number_of_tracked_gaps_is_limited() -> None:
    count = SequenceCounter()
    for number in range(0, 200, 2):
        count, _ = track_sequence(count, sequenced(number, number))
        assert len(count.missing) <= GAPS_KEPT_MAX
    count, event = track_sequence(count, sequenced(1, 1))  # the oldest gap was evicted
    assert event is None
    assert len(count.missing) == GAPS_KEPT_MAX


# --- silence ---


@pytest.mark.parametrize(
    "configuration, seconds",
    [
        ({"silentAfterSeconds": 60}, 60),
        ({"silentAfterSeconds": 0.5}, 0.5),
        ({"silentAfterSeconds": 60, "reportEverySeconds": 600}, 60),
        ({"reportEverySeconds": 600}, 1_200),
        ({"heartbeatEverySeconds": 86_400, "other": [1]}, 172_800),
        ({"reportEverySeconds": 600, "heartbeatEverySeconds": 60}, 1_200),
        ({"reportEverySeconds": "often", "heartbeatEverySeconds": 60}, 120),
        ({"silentAfterSeconds": None, "reportEverySeconds": 10}, 20),
        ({"silentAfterSeconds": 0, "reportEverySeconds": 10}, None),  # 0 disables monitoring
        ({"silentAfterSeconds": -1}, None),
        ({"silentAfterSeconds": True}, None),
        ({"silentAfterSeconds": "60"}, None),
        ({"silentAfterSeconds": 1e300}, None),
        ({"silentAfterSeconds": 10**40}, None),
        ({}, None),
        ([], None),
        (7, None),
        (None, None),
    ],
)
def test_the_silence_limit_comes_from_the_configuration(
    configuration: Any, seconds: float | None
) -> None:
    expected = None if seconds is None else round(seconds * SECOND)
    assert silent_after(json.dumps(configuration)) == expected


@pytest.mark.parametrize("text", ["", "every hour", "{", "\ud800", "[" * 5_000, '{"a": NaN}'])
def test_a_configuration_may_be_any_text(text: str) -> None:
    assert silent_after(text) is None


HOURLY = '{"silentAfterSeconds":3600}'
HOUR = 3_600 * SECOND
NOW = 100 * HOUR


@pytest.mark.parametrize(
    "configuration, seen_at, silent_at, expected_check, event_type",
    [
        (HOURLY, None, None, SilenceCheck(None, NOW + HOUR), None),  # no message yet
        (HOURLY, NOW - 1, None, SilenceCheck(None, NOW - 1 + HOUR), None),
        (HOURLY, NOW - HOUR + 1, None, SilenceCheck(None, NOW + 1), None),
        (HOURLY, NOW - HOUR, None, SilenceCheck(NOW, None), "deviceSilent"),
        (HOURLY, NOW - HOUR, NOW, SilenceCheck(NOW, None), None),  # reported once
        (HOURLY, NOW - 1, NOW - HOUR, SilenceCheck(None, NOW - 1 + HOUR), "deviceBack"),
        (
            HOURLY,
            NOW - 3 * HOUR,
            NOW - 9 * HOUR,
            SilenceCheck(NOW - 2 * HOUR, None),
            None,
        ),  # too old to report
        ("{}", NOW - 9 * HOUR, None, SilenceCheck(None, None), None),
        (
            "{}",
            NOW - 9 * HOUR,
            NOW - 8 * HOUR,
            SilenceCheck(None, None),
            None,
        ),  # monitoring was disabled
    ],
)
def test_silence_is_checked_against_the_last_message(
    configuration: str,
    seen_at: int | None,
    silent_at: int | None,
    expected_check: SilenceCheck,
    event_type: str | None,
) -> None:
    check = check_silence(MonitoredDevice("dev", configuration, seen_at, silent_at), NOW)
    assert (check.silent_at, check.due_at) == (expected_check.silent_at, expected_check.due_at)
    assert (check.event.type if check.event else None) == event_type

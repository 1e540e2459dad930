"""What is expected of devices: numbers without gaps, and that they speak."""

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


def heard(number: int, second: int, modulus: int = VENDOR) -> SequencedMessage:
    return SequencedMessage("dev", number, second * SECOND, modulus)


def story(*said: tuple[int, int], modulus: int = VENDOR) -> list[Any]:
    """What is told of messages, each a number and a second: gaps as numbers, the rest as words."""
    count, told = SequenceCounter(), []
    for number, second in said:
        count, news = track_sequence(count, heard(number, second, modulus))
        told.append(None if news is None else _short(news))
    return told


def _short(news: ServiceEvent) -> Any:
    assert news.data is not None
    if news.type == "sequenceGap":
        return news.data["expected"], news.data["missed"]
    assert news.type == "sequenceRecovered"
    return "recovered"


@pytest.mark.parametrize(
    "said, told",
    [
        ([(7, 1)], [None]),  # the first one heard: nobody knows what came before
        ([(7, 1), (8, 2), (9, 3)], [None, None, None]),
        ([(7, 1), (9, 3)], [None, (8, 1)]),
        ([(7, 1), (12, 3), (13, 4)], [None, (8, 4), None]),
        ([(7, 1), (7, 1), (7, 9)], [None, None, None]),  # another message about the same frame
        ([(4_095, 1), (0, 2)], [None, None]),  # twelve bits are over
        ([(4_094, 1), (2, 2)], [None, (4_095, 3)]),
        ([(7, 1), (8, 1)], [None, None]),  # in the same second
        ([(8, 1), (7, 1)], [None, None]),
        ([(500, 1), (3, 2), (4, 3)], [None, None, None]),  # begins anew
        ([(7, 1), (7 + 2_049, 2)], [None, None]),  # more than half of all numbers: anew as well
        ([(7, 1), (7 + 2_048, 2)], [None, (8, 2_047)]),
        ([(7, 5), (6, 4), (5, 3)], [None, None, None]),  # late, but nobody missed them
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
        ([(7, 1), (9, 3), (3, 0)], [None, (8, 1), None]),  # older than all that is known
        ([(4_094, 1), (1, 4), (0, 3), (4_095, 2)], [None, (4_095, 2), None, "recovered"]),
        ([(7, 1), (9, 3), (2, 4), (8, 2)], [None, (8, 1), None, None]),  # given up with the old
    ],
)
def test_numbers_of_the_vendors_network(said: list[tuple[int, int]], told: list[Any]) -> None:
    assert story(*said) == told


@pytest.mark.parametrize(
    "said, told",
    [
        ([(65_535, 1), (65_536, 2)], [None, None]),  # 16 bits are sent, but all 32 are told
        ([(2**32 - 1, 1), (0, 2)], [None, None]),
        ([(9_000, 1), (0, 2), (2, 3)], [None, None, (1, 1)]),  # joined again
        ([(10, 1), (10 + 16_385, 2)], [None, (11, 16_384)]),
        ([(10, 1), (10 + 16_386, 2)], [None, None]),  # nobody loses so many
    ],
)
def test_numbers_of_lorawan(said: list[tuple[int, int]], told: list[Any]) -> None:
    assert story(*said, modulus=LORAWAN) == told


def test_a_gap_says_what_was_expected_and_what_came() -> None:
    _, told = track_sequence(SequenceCounter(7, SECOND), heard(10, 5))
    assert told == ServiceEvent(
        "dev",
        "sequenceGap",
        5 * SECOND,
        "2 messages were missed: 8 was expected, 10 came",
        "warning",
        {"expected": 8, "got": 10, "missed": 2},
    )


def test_only_so_many_gaps_are_remembered() -> None:
    count = SequenceCounter()
    for number in range(0, 200, 2):
        count, _ = track_sequence(count, heard(number, number))
        assert len(count.missing) <= GAPS_KEPT_MAX
    count, told = track_sequence(count, heard(1, 1))  # the oldest ones are past hope
    assert told is None
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
        ({"silentAfterSeconds": 0, "reportEverySeconds": 10}, None),  # somebody wants no watch
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
def test_how_long_a_device_may_be_silent(configuration: Any, seconds: float | None) -> None:
    expected = None if seconds is None else round(seconds * SECOND)
    assert silent_after(json.dumps(configuration)) == expected


@pytest.mark.parametrize("text", ["", "every hour", "{", "\ud800", "[" * 5_000, '{"a": NaN}'])
def test_a_configuration_may_be_any_text(text: str) -> None:
    assert silent_after(text) is None


HOURLY = '{"silentAfterSeconds":3600}'
HOUR = 3_600 * SECOND
NOW = 100 * HOUR


@pytest.mark.parametrize(
    "configuration, seen_at, silent_at, found, told",
    [
        (HOURLY, None, None, SilenceCheck(None, NOW + HOUR), None),  # still in its box
        (HOURLY, NOW - 1, None, SilenceCheck(None, NOW - 1 + HOUR), None),
        (HOURLY, NOW - HOUR + 1, None, SilenceCheck(None, NOW + 1), None),
        (HOURLY, NOW - HOUR, None, SilenceCheck(NOW, None), "deviceSilent"),
        (HOURLY, NOW - HOUR, NOW, SilenceCheck(NOW, None), None),  # once
        (HOURLY, NOW - 1, NOW - HOUR, SilenceCheck(None, NOW - 1 + HOUR), "deviceBack"),
        (
            HOURLY,
            NOW - 3 * HOUR,
            NOW - 9 * HOUR,
            SilenceCheck(NOW - 2 * HOUR, None),
            None,
        ),  # old news
        ("{}", NOW - 9 * HOUR, None, SilenceCheck(None, None), None),
        (
            "{}",
            NOW - 9 * HOUR,
            NOW - 8 * HOUR,
            SilenceCheck(None, None),
            None,
        ),  # not expected any more
    ],
)
def test_whether_a_device_is_silent(
    configuration: str,
    seen_at: int | None,
    silent_at: int | None,
    found: SilenceCheck,
    told: str | None,
) -> None:
    look = check_silence(MonitoredDevice("dev", configuration, seen_at, silent_at), NOW)
    assert (look.silent_at, look.due_at) == (found.silent_at, found.due_at)
    assert (look.event.type if look.event else None) == told

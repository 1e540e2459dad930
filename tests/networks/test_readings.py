"""Readings are truncated to what a record can hold."""

import msgspec
import pytest

from longwire.networks import readings
from tests.networks.stored import as_record


def test_data_that_is_too_large_keeps_its_small_members_in_their_order():
    values = {"a": "x" * 300_000, "n": 7, "b": "y" * 200_000, "c": "z" * 100_000, "d": 1}
    facts = {"large": "x" * 100_000, "less": "y" * 60_000, "seqNumber": 7}
    reading = readings.data(0, b"\x01", values, facts)
    assert list(reading.fields["data"]) == ["n", "c", "d", "radio", "leftOut"]
    assert reading.fields["data"]["leftOut"] == 2
    assert list(reading.fields["data"]["radio"]) == ["less", "seqNumber", "leftOut"]
    as_record(reading)


@pytest.mark.parametrize(
    "decoded, values",
    [
        ({"celsius": 4, "port": 7}, {"celsius": 4, "port": 7}),
        ({"radio": 1, "radio_": 2, "leftOut": 3}, {"radio__": 1, "radio_": 2, "leftOut_": 3}),
        ({}, {}),
        (None, {}),
        ([4], {"decoded": [4]}),
        ("4 °C", {"decoded": "4 °C"}),
    ],
)
def test_what_the_network_decoded_is_apart_from_the_facts_of_the_transmission(decoded, values):
    data = readings.data(0, b"", decoded, {"port": 2, "adr": None}).fields["data"]
    assert data == {**values, "radio": {"port": 2}}


@pytest.mark.parametrize("length", range(262_100, 262_150))
def test_data_of_exactly_the_maximum_size_is_kept(length):
    kept = readings.truncate_json({"a": "x" * length})
    assert len(msgspec.json.encode(kept)) <= readings.TEXT_CHARACTERS_MAX


def test_small_members_are_kept_up_to_the_maximum_size():
    kept = readings.truncate_json({f"name{number}": number for number in range(50_000)})
    assert 10_000 < len(kept) < 50_000
    as_record(readings.event(0, "log", kept))


def test_the_largest_payload_fits():
    as_record(readings.data(0, bytes(readings.PAYLOAD_BYTES_MAX), {}, {}))


@pytest.mark.parametrize(
    "lat, lng, radius, place",
    [
        (52.0, "5.5", 7800, (52.0, 5.5, 7800)),
        ("-90", 180, "12.6", (-90.0, 180.0, 13)),
        (0, 5, None, (0.0, 5.0, None)),
        (0, 0, 10, (0.0, 0.0, 10)),
        (52, 5, -1, (52.0, 5.0, None)),
        (52, 5, "far", (52.0, 5.0, None)),
        # invalid coordinates
        (0, 0, None, None),
        ("0.0", "0.0", 0, None),
        (90.1, 0, 1, None),
        (0, -180.5, 1, None),
        (None, 5, 1, None),
        ("north", 5, 1, None),
    ],
)
def test_invalid_coordinates_are_left_out(lat, lng, radius, place):
    reading = readings.geoloc(0, lat, lng, {}, radius=radius)
    if place is None:
        assert reading is None
    else:
        names = ("lat", "lng", "radius")
        expected = {name: each for name, each in zip(names, place, strict=True) if each is not None}
        assert reading.fields == expected
        as_record(reading)


@pytest.mark.parametrize(
    "severity, word",
    [
        ("WARN", "warning"),
        ("WARNING", "warning"),
        ("Error", "error"),
        ("INFO", "info"),
        ("FATAL", "FATAL"),
        ("x" * 300, "x" * 256),
        (3, "3"),
    ],
)
def test_severities_are_normalized(severity, word):
    reading = readings.event(0, "error", {}, severity=severity)
    assert reading.fields == {"type": "error", "severity": word}
    as_record(reading)


def test_duplicates_beyond_the_limit_are_dropped():
    items = [{"bsId": f"{number:04X}"} for number in range(1_500)]
    reading = readings.telemetry(0, {}, duplicates=[{"x": "y" * 300_000}, *items], stations=1_501)
    assert reading.fields["duplicates"][0] == '{"bsId":"0000"}'
    assert len(reading.fields["duplicates"]) == 1_000
    as_record(reading)

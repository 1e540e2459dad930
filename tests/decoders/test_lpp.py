"""Cayenne LPP: every type, and malformed payloads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.decoders.base import PAYLOAD_BYTES_MAX, DecodeError, EncodeError, InvalidDecoder
from longwire.decoders.lpp import TYPES, LppDecoder


def decoded(payload):
    return LppDecoder().decode(bytes.fromhex(payload), None, 0)


@pytest.mark.parametrize(
    "payload, values",
    [
        ("03670110056700ff", {"temperature_3": 27.2, "temperature_5": 25.5}),
        ("0167ffd7", {"temperature_1": -4.1}),
        ("067104d2fb2e0000", {"accelerometer_6": {"x": 1.234, "y": -1.234, "z": 0.0}}),
        (
            "018806765ff2960a0003e8",
            {"gps_1": {"latitude": 42.3519, "longitude": -87.9094, "altitude": 10.0}},
        ),
        ("000001ff01ff", {"digital_in_0": 1, "digital_out_255": 255}),
        ("0202fc18", {"analog_in_2": -10.0}),
        ("02030064", {"analog_out_2": 1.0}),
        ("0165ffff", {"luminosity_1": 65535}),
        ("016601", {"presence_1": 1}),
        ("016883", {"relative_humidity_1": 65.5}),
        ("01732792", {"barometric_pressure_1": 1013.0}),
        ("0186000affF60000", {"gyrometer_1": {"x": 0.1, "y": -0.1, "z": 0.0}}),
        ("0174014a", {"voltage_1": 3.3}),
        ("01750019", {"current_1": 0.025}),
        ("0164ffffffff", {"generic_1": 2**32 - 1}),
        ("0179fff6", {"altitude_1": -10}),
        ("0185ffffffff", {"unix_time_1": 4294967295}),
        ("0187ff8000", {"colour_1": {"red": 255, "green": 128, "blue": 0}}),
        ("018e01", {"switch_1": 1}),
        ("0182000003e8", {"distance_1": 1.0}),
    ],
)
def test_values_are_named_after_type_and_channel(payload, values):
    found = decoded(payload)
    assert found.values == values
    assert found.warnings == ()


def test_the_last_of_two_equal_channels_wins():
    found = decoded("0166000166010266ff")
    assert found.values == {"presence_1": 1, "presence_2": 255}
    assert found.warnings == ("presence_1 occurs twice; the last one counts",)


@pytest.mark.parametrize(
    "payload, reason",
    [
        ("", "empty"),
        ("01", "byte 0: a channel without a type"),
        ("016601ff", "byte 3: a channel without a type"),
        ("0166010263", "byte 4: there is no type 99"),
        ("0167", "byte 2: temperature_1 takes 2 bytes, there are 0"),
        ("016601018800", "byte 5: gps_1 takes 9 bytes, there are 1"),
        ("00" * (PAYLOAD_BYTES_MAX + 1), "more than"),
    ],
)
def test_a_malformed_payload_is_refused_with_its_position(payload, reason):
    with pytest.raises(DecodeError, match=reason):
        decoded(payload)


def test_lpp_takes_no_source_and_cannot_encode():
    LppDecoder(" \n")
    with pytest.raises(InvalidDecoder):
        LppDecoder("temperature")
    with pytest.raises(EncodeError):
        LppDecoder().encode({}, None)


@given(st.binary(max_size=64))
def test_any_payload_is_decoded_or_refused(payload):
    try:
        found = LppDecoder().decode(payload, None, 0)
    except DecodeError:
        return
    json.dumps(found.values, allow_nan=False)


@given(st.lists(st.tuples(st.integers(0, 255), st.sampled_from(sorted(TYPES))), min_size=1))
def test_a_complete_payload_is_always_decoded(wanted):
    payload = b"".join(bytes([channel, kind]) + bytes(TYPES[kind].size) for channel, kind in wanted)
    found = LppDecoder().decode(payload, None, 0)
    assert set(found.values) == {f"{TYPES[kind].name}_{channel}" for channel, kind in wanted}

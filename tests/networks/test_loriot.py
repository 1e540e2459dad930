"""LORIOT's output: bodies as documented and as applications publish them, and arbitrary ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.networks import loriot
from longwire.networks.base import DownlinkUpdate, InvalidMessage, Reading
from longwire.networks.bodies import parse_body
from tests.networks.messages import messages
from tests.networks.stored import assert_storable

TS_MS = 1_606_054_046_489
TS = TS_MS * 1_000
EUI = "A81758FFFE03F796"
FRAME = {"EUI": EUI, "ts": TS_MS, "fcnt": 159_521, "port": 5, "ack": False, "bat": 254}
RADIO = {"seqno": 948_423, "freq": 867_500_000, "toa": 66, "dr": "SF7 BW125 4/5"}
PAYLOAD = {"data": "0100ea0228"}
RX = {"cmd": "rx", **FRAME, **RADIO, "rssi": -72, "snr": 8, "offline": False, **PAYLOAD}
GATEWAYS = [
    {
        **{"rssi": -91, "snr": 8, "ts": TS_MS, "tmms": None, "ant": 0, "gweui": "7076FFFFFF010B88"},
        **{"time": "2020-11-22T14:07:26.485739Z", "lat": 47.409125, "lon": 8.549648},
    },
    {"rssi": -104, "snr": -8, "ts": TS_MS + 27, "gweui": "7076FFFFFF01127E"},
]
GW = {"cmd": "gw", **FRAME, **RADIO, "gws": GATEWAYS, "sessionKeyId": None, **PAYLOAD}


def parsed(body, encoding=None):
    values = parse_body("application/json", json.dumps(body).encode(), b"")
    found = loriot.parse(values, encoding)
    assert_storable(found)
    return found


def fields(found, kind):
    return next(each.fields for each in found.readings if each.kind == kind)


DATA = Reading(
    "data",
    TS,
    {
        "raw": "0100ea0228",
        "data": {"radio": {"seqNumber": 159_521, "port": 5, "ack": False, "bat": 254}},
    },
)


def test_an_uplink_with_its_gateways_becomes_data_and_telemetry():
    found = parsed(GW)
    assert (found.original_id, found.sequence, found.port) == (EUI, 159_521, 5)
    assert found.payload == bytes.fromhex("0100ea0228")
    assert (found.battery, found.downlink) == ("100", None)
    assert found.readings[0] == DATA
    telemetry = fields(found, "telemetry")
    assert (telemetry["stations"], telemetry["score"], len(telemetry["duplicates"])) == (2, 3, 2)
    assert telemetry["data"] == {
        **{"seqNumber": 159_521, "seqno": 948_423, "toa": 66, "station": "7076FFFFFF010B88"},
        **{"rssi": -91, "snr": 8, "frequency": 867_500_000, "bandwidth": 125_000},
        **{"spreadingFactor": 7, "codeRate": "4/5", "dataRate": 5.469},
    }
    assert '"lat":47.409125' in telemetry["duplicates"][0]


def test_the_quick_report_of_a_frame_makes_the_same_data_record():
    found = parsed(RX)
    assert found.readings[0] == DATA
    telemetry = fields(found, "telemetry")
    assert "stations" not in telemetry and "duplicates" not in telemetry
    assert {"rssi": -72, "snr": 8, "offline": False}.items() <= telemetry["data"].items()
    basic = parsed({"cmd": "rx", **FRAME, **PAYLOAD})
    assert basic.readings == (DATA,)


def test_an_encrypted_payload_is_kept_but_not_decoded():
    found = parsed({"cmd": "rx", **FRAME, "encdata": "0a50f6830000"})
    assert found.payload == b""
    data = fields(found, "data")
    assert (data["raw"], data["data"]["radio"]["encdata"]) == ("", "0a50f6830000")
    both = parsed({"cmd": "rx", **FRAME, **PAYLOAD, "encdata": "0a50f6830000"})
    assert both.readings[0] == DATA


def test_values_of_a_decoder_at_loriot_are_kept():
    data = fields(parsed(RX | {"decoded": {"celsius": 4, "port": 9}}), "data")["data"]
    assert (data["celsius"], data["port"], data["radio"]["port"]) == (4, 9, 5)


@pytest.mark.parametrize(
    "level, battery",
    [(254, "100"), ("254", "100"), (1, "0"), (128, "50.2"), (0, None), (255, None), (None, None)],
)
def test_the_battery_level_of_a_device_status_becomes_percent(level, battery):
    assert parsed(RX | {"bat": level}).battery == battery


@pytest.mark.parametrize("rate", ["", "FSK", None, 5, "SF7BW125", "SF99 BW9999"])
def test_any_data_rate_is_accepted(rate):
    telemetry = fields(parsed(GW | {"dr": rate}), "telemetry")
    expected = {"SF7BW125": 7, "SF99 BW9999": 99}.get(rate)
    assert telemetry["data"].get("spreadingFactor") == expected
    # What is not of LoRa is kept as it was sent.
    assert telemetry["data"].get("dr") == (rate or None if expected is None else None)


def test_an_acknowledgement_is_about_the_last_confirmed_downlink():
    update = DownlinkUpdate(
        None, "acknowledged", "the device has confirmed it", is_of_last_confirmed=True
    )
    assert parsed(RX | {"ack": True}).downlink == update


def test_without_a_time_the_frame_counter_identifies_a_repetition():
    found = parsed({**RX, "ts": None})
    assert (found.readings[0].ts, found.dedup_key) == (None, "159521 0100ea0228")
    assert parsed(RX).dedup_key is None


UNCLEAR = "must be hex digits in lower case; if the output sends others, add encoding="


@pytest.mark.parametrize(
    "encoding, text, payload",
    [
        (None, "0100ea0228", "0100ea0228"),
        (None, "12345678", "12345678"),
        (None, 10, "10"),
        (None, "AQDqAig=", UNCLEAR),
        (None, "AABB", UNCLEAR),  # three bytes in base64, two in hex
        (None, "aaBB", UNCLEAR),
        (None, "0100ea022", "must be hex digits, two for each byte"),
        ("hex", "AABB", "aabb"),
        ("hex", "AQDqAig=", "must be hex digits, two for each byte"),
        ("base64", "AABB", "000041"),
        ("base64", "AQDqAig=", "0100ea0228"),
        ("base64", "?", "must be base64"),
    ],
)
def test_a_payload_is_never_taken_for_what_it_may_not_be(encoding, text, payload):
    body = RX | {"data": text}
    if not payload.startswith("must"):
        assert parsed(body, encoding).payload == bytes.fromhex(payload)
        return
    with pytest.raises(InvalidMessage) as caught:
        parsed(body, encoding)
    (fault,) = caught.value.field_errors
    assert fault.field == "data" and fault.message.startswith(payload)


def test_the_encoding_in_the_url_is_a_known_one():
    with pytest.raises(InvalidMessage) as caught:
        parsed(RX, "octal")
    assert [each.field for each in caught.value.field_errors] == ["encoding"]


def test_a_forwarded_message_is_found_in_its_envelope():
    # As an operator in Czechia forwards it: the message is a JSON string.
    forwarded = {"type": "D", "data": json.dumps(GW), "tech": "L"}
    assert parsed(forwarded) == parsed(GW)
    assert parsed(forwarded | {"data": GW}) == parsed(GW)


def test_a_computed_position_becomes_a_geoloc():
    body = {
        **{"cmd": "geo", "EUI": EUI, "ts": "2020-11-22T14:07:26.489Z", "lat": 50.0798, "lon": 14.4},
        **{"alt": 406, "accuracy": 30.2, "method": "TDOA", "gws": 3, "seqno": 81, "fcnt": 32_850},
    }
    found = parsed(body)
    facts = {"alt": 406, "method": "TDOA", "gws": 3, "seqno": 81, "fcnt": 32_850}
    place = {"lat": 50.0798, "lng": 14.4, "radius": 30, "source": 2, "data": facts}
    assert found.readings == (Reading("geoloc", TS, place),)
    assert (found.sequence, found.dedup_key) == (None, None)
    untimed = parsed(body | {"ts": None, "accuracy": None, "method": None})
    assert "radius" not in untimed.readings[0].fields and untimed.dedup_key == "geo 32850"


SENT = {
    **{"cmd": "txd", "EUI": EUI, "seqdn": 0, "seqq": 1, "ts": TS_MS, "gweui": "7076FFFFFF053A13"},
    **{"freq": 867_700_000, "sf": 12, "codr": "4/5", "toa": 1_155, "msgType": "User DL"},
    **{"time": TS_MS, "ackRequested": False, "port": 1, "data": "01"},
}


@pytest.mark.parametrize(
    "body, type, resets",
    [
        (SENT, "txd", False),
        ({"cmd": "txd", "EUI": EUI, "seqdn": 3_236, "seqq": 3_236, "ts": TS_MS}, "txd", False),
        ({"cmd": "join", "EUI": EUI, "ts": TS_MS, "appskey": "canary"}, "join", True),
        ({"cmd": "deviceSilent", "EUI": EUI}, "loriot", False),
    ],
)
def test_other_messages_become_events(body, type, resets):
    found = parsed(body)
    event = fields(found, "event")
    assert (event["type"], found.resets_sequence, found.downlink) == (type, resets, None)
    data = event.get("data", {})
    assert data.get("command") == (body["cmd"] if type == "loriot" else None)
    assert data.get("seqdn") == body.get("seqdn")
    assert "canary" not in repr(found)


@pytest.mark.parametrize(
    "body, field_errors",
    [
        ({}, ["cmd"]),
        ({"cmd": {}}, ["cmd"]),
        ({"cmd": "rx"}, ["EUI"]),
        ({"cmd": "rx", "EUI": EUI, "ts": "soon", "data": "0"}, ["ts", "data"]),
        ({"cmd": "geo", "lat": 91, "lon": 4}, ["EUI", "lat"]),
        ({"type": "D", "data": "{}", "tech": "L"}, ["cmd"]),
        ({"type": "D", "data": "0100", "tech": "L"}, ["cmd"]),
        ({"cmd": "txd", "ts": TS_MS}, ["EUI"]),
    ],
)
def test_missing_required_fields_are_reported(body, field_errors):
    with pytest.raises(InvalidMessage) as caught:
        parsed(body)
    assert [fault.field for fault in caught.value.field_errors] == field_errors


NAMES = [
    *("EUI", "ts", "fcnt", "port", "data", "encdata", "gws", "gweui", "rssi", "snr", "dr", "freq"),
    *("ack", "bat", "decoded", "seqno", "toa", "lat", "lon", "accuracy", "method"),
]


@pytest.mark.slow
@given(st.sampled_from(["rx", "gw", "geo", "txd", "join", "x"]), messages(NAMES, {"EUI": EUI}))
def test_any_message_is_parsed_or_invalid(command, values):
    try:
        found = loriot.parse({**values, "cmd": command})
    except InvalidMessage as error:
        assert error.field_errors
    else:
        assert_storable(found)

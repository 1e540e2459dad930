"""The vendor's callbacks: real bodies, every encoding of templates, and arbitrary ones."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.networks import vendor
from longwire.networks.base import DownlinkUpdate, InvalidMessage, Reading
from longwire.networks.bodies import parse_body
from tests.networks.messages import messages
from tests.networks.stored import assert_storable

TIME = 1_653_666_733
TS = TIME * SECOND

ADVANCED = (
    b'{"device":"1FD48BE","time":1653666733,"data":"00","seqNumber":16,"lqi":"Limit",'
    b'"linkQuality":"0","fixedLat":"0.0","fixedLng":"0.0",'
    b'"operatorName":"VENDOR_Netherlands","countryCode":"528",'
    b'"deviceTypeId":"628fd74fb3cabb6565ae81bb","computedLocation":{"lat":52.003292529645705,'
    b'"lng":5.569001982230841,"radius":7800,"source":2,"status":1}}'
)


JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def parsed(kind, body, media_type=JSON, query=b""):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = vendor.parse(kind, parse_body(media_type, raw, query))
    assert_storable(found)
    return found


# --- data ---


AS_JSON = b'{"device":"1FD48BE","time":1653666733,"data":"0aff","seqNumber":16}'
AS_FORM = b"device=1FD48BE&time=1653666733&data=0aff&seqNumber=16"


@pytest.mark.parametrize(
    "media_type, body, query",
    [
        (JSON, AS_JSON, b""),
        (FORM, AS_JSON, b""),
        (FORM, AS_FORM, b""),
        ("text/plain", AS_FORM + b"&rssi=&snr=N/A", b""),
        (None, b"", b"token=secret&" + AS_FORM),
        (JSON, AS_JSON.replace(b"aff", b"AfF"), b""),
        (JSON, AS_JSON.replace(b"1653666733", b"1653666733000"), b""),
        (JSON, AS_JSON.replace(b"1653666733", b'"1653666733"').replace(b"16}", b'"16"}'), b""),
        (JSON, AS_JSON.replace(b"device", b"deviceId").replace(b"seqNumber", b"seq"), b""),
        (JSON, AS_JSON.replace(b"device", b"id"), b""),
        (JSON, AS_JSON.replace(b"}", b',"rssi":"null","station":"N/A","deviceId":null}'), b""),
    ],
)
def test_all_encodings_of_a_message_give_the_same_reading(media_type, body, query):
    found = parsed("data", body, media_type, query)
    assert found == vendor.ParsedUplink(
        original_id="1FD48BE",
        readings=(Reading("data", TS, {"data": {"radio": {"seqNumber": 16}}, "raw": "0aff"}),),
        sequence=16,
        payload=b"\x0a\xff",
        counts=("vendor_uplink", "vendor_data"),
    )


def test_data_keeps_signal_values_and_members_added_by_the_template():
    body = {
        **{"device": "00FF", "time": TIME, "data": "01", "seqNumber": 0, "deviceTypeId": "628f"},
        **{"rssi": "-113.00", "snr": "N/A", "avgSignal": 12.5, "station": "14E9", "lat": "52"},
        **{"duplicate": "false", "ack": "false", "temperature": 21.5, "version": "0010"},
    }
    found = parsed("data", body)
    assert found.original_id == "00FF"
    assert found.sequence == 0
    assert found.readings[0].fields["data"] == {
        **{"temperature": 21.5, "version": "0010"},
        "radio": {
            **{"seqNumber": 0, "deviceTypeId": "628f", "ack": False, "duplicate": False},
            **{"rssi": -113.0, "avgSnr": 12.5, "station": "14E9", "lat": 52},
        },
    }
    # The coordinates of the station are not those of the device.
    assert len(found.readings) == 1


def test_a_value_that_is_not_a_number_is_kept_as_sent():
    body = {"device": "1", "time": TIME, "data": "", "seqNumber": "many", "rssi": "weak"}
    found = parsed("data", body)
    assert found.sequence is None
    assert found.readings[0].fields["data"] == {"radio": {"seqNumber": "many", "rssi": "weak"}}


@pytest.mark.parametrize("nothing", ["", None, "null"])
def test_an_empty_payload_is_valid(nothing):
    found = parsed("data", {"device": "1", "time": TIME, "data": nothing})
    assert found.payload == b""
    assert found.readings == (Reading("data", TS, {"data": {"radio": {}}, "raw": ""}),)


@pytest.mark.parametrize(
    "flags, wants",
    [
        ({"ack": True}, True),
        ({"ack": "true"}, True),
        ({"ack": "1"}, True),
        ({"longPolling": "true", "ack": "false"}, True),
        ({"ack": False, "longPolling": False}, False),
        ({"ack": "null"}, False),
        ({"ack": "perhaps"}, False),
        ({}, False),
    ],
)
def test_a_request_for_a_downlink_is_detected(flags, wants):
    body = {"device": "1", "time": TIME, "data": "00", **flags}
    assert parsed("data", body).wants_downlink is wants


def test_the_legacy_geolocation_is_accepted_by_the_data_callback():
    body = {"device": "1", "time": TIME, "seqNumber": 3, "lat": "52.1", "lng": "5.5"}
    found = parsed("data", body | {"radius": "7800", "geolocSource": "2"})
    place = {"lat": 52.1, "lng": 5.5, "radius": 7800, "source": 2}
    assert [each.kind for each in found.readings] == ["geoloc"]
    assert place.items() <= found.readings[0].fields.items()
    assert (found.sequence, found.payload, found.counts) == (3, None, ())
    both = parsed("data", body | {"radius": 7800, "data": "01"})
    assert [each.kind for each in both.readings] == ["data", "geoloc"]
    assert both.counts == ("vendor_uplink", "vendor_data")


def test_an_id_beside_the_device_is_a_member_of_the_template():
    found = parsed("data", {"device": "1F", "id": "7", "time": TIME, "data": "00"})
    assert found.original_id == "1F"
    assert found.readings[0].fields["data"] == {"id": "7", "radio": {}}


def test_a_data_callback_without_a_payload_becomes_an_event_or_a_status():
    body = {"id": "1F", "time": TIME, "seqNumber": 3, "rssi": "-113.5"}
    found = parsed("data", body)
    expected = {"type": "uplink", "data": {"seqNumber": 3, "rssi": -113.5}}
    assert found.readings == (Reading("event", TS, expected),)
    assert found.counts == ("vendor_uplink", "vendor_data")
    assert (found.payload, found.wants_downlink) == (None, False)
    asking = parsed("data", {**body, "ack": "true"})
    assert [each.kind for each in asking.readings] == ["data"]
    assert (asking.payload, asking.wants_downlink) == (b"", True)
    status = {"id": "1F", "time": TIME, "batt": "3.1", "temp": 21}
    assert parsed("data", status) == parsed("status", status)


@pytest.mark.parametrize("kind", ["data", "dataAdvanced", "status", "acknowledge", "error"])
def test_without_a_time_the_arrival_counts_and_the_sequence_number_identifies(kind):
    body = {"device": "1F", "data": "0a", "computedLocation": {"lat": 1, "lng": 2}}
    numbered = parsed(kind, {**body, "seqNumber": 7})
    assert all(each.ts is None for each in numbered.readings)
    assert numbered.dedup_key == f"{kind} 7 0a"
    assert parsed(kind, {**body, "seqNumber": 7, "time": TIME}).dedup_key is None
    # Nothing tells it from another message with the same content.
    assert parsed(kind, body).dedup_key is None


@pytest.mark.parametrize(
    "kind, body, field_errors",
    [
        ("data", {}, ["device is required"]),
        (
            "data",
            {"device": "N/A", "time": TIME, "data": "0"},
            ["device is required", "data must be"],
        ),
        (
            "data",
            {"device": "1", "time": "soon", "data": "xy"},
            ["time is not a valid date", "data must be"],
        ),
        ("data", {"lat": 1, "lng": 2, "radius": 3}, ["device is required"]),
        ("dataAdvanced", {"seqNumber": 1, "time": "x"}, ["device is required", "time is not"]),
        ("status", {"batt": 3}, ["device is required"]),
        ("acknowledge", {"time": TIME}, ["device is required"]),
        ("error", {"device": []}, ["device must be a string"]),
    ],
)
def test_missing_required_fields_are_reported(kind, body, field_errors):
    with pytest.raises(InvalidMessage) as caught:
        parsed(kind, body)
    reported = [f"{fault.field} {fault.message}" for fault in caught.value.field_errors]
    assert len(reported) == len(field_errors)
    assert all(one.startswith(other) for one, other in zip(reported, field_errors, strict=True))


def test_there_are_five_callbacks():
    with pytest.raises(InvalidMessage, match="data, dataAdvanced, status, acknowledge, error"):
        vendor.parse("geoloc", {})


# --- advanced data ---


def test_advanced_data_becomes_telemetry_and_a_geoloc():
    found = parsed("dataAdvanced", ADVANCED)
    assert found.counts == ("vendor_data_advanced",)
    assert (found.sequence, found.payload) == (16, None)
    assert found.readings == (
        Reading(
            "telemetry",
            TS,
            {
                "score": 0,
                "data": {
                    **{"data": "00", "seqNumber": 16, "lqi": "Limit", "linkQuality": 0},
                    **{"fixedLat": 0.0, "fixedLng": 0.0, "operatorName": "VENDOR_Netherlands"},
                    **{"countryCode": "528", "deviceTypeId": "628fd74fb3cabb6565ae81bb"},
                },
            },
        ),
        Reading(
            "geoloc",
            TS,
            {
                **{"lat": 52.003292529645705, "lng": 5.569001982230841, "radius": 7800},
                **{"source": 2, "status": 1, "data": {"seqNumber": 16}},
            },
        ),
    )


@pytest.mark.parametrize(
    "quality, score",
    [
        ({"linkQuality": 3}, 3),
        ({"linkQuality": "2", "lqi": "LIMIT"}, 2),
        ({"linkQuality": 4}, None),
        ({"linkQuality": 5}, None),
        ({"lqi": "Excellent"}, 3),
        ({"lqi": "AVERAGE"}, 1),
        ({"lqi": "NA"}, None),
        ({"lqi": 1}, None),
        ({}, None),
    ],
)
def test_the_link_quality_is_the_score(quality, score):
    found = parsed("dataAdvanced", {"device": "1", "time": TIME, **quality})
    assert found.readings[0].fields.get("score") == score


STATIONS = [{"bsId": "14E9", "rssi": -113.0, "snr": 20.1, "nbRep": 3}, {"bsId": "2A1B"}]


@pytest.mark.parametrize("encoded", [STATIONS, json.dumps(STATIONS)])
def test_stations_are_counted_and_kept_each_as_json(encoded):
    found = parsed("dataAdvanced", {"device": "1", "time": TIME, "duplicates": encoded, "rc": "1"})
    assert found.readings[0].fields == {
        "duplicates": [
            '{"bsId":"14E9","rssi":-113.0,"snr":20.1,"nbRep":3}',
            '{"bsId":"2A1B"}',
        ],
        "stations": 2,
        "rc": 1,
    }


@pytest.mark.parametrize(
    "location, is_valid",
    [
        ({"lat": 52.1, "lng": 5.5}, True),
        ('{"lat":"52.1","lng":"5.5","radius":"10"}', True),
        ([{"lat": 52.1, "lng": 5.5}], True),
        ({"lat": 0.0, "lng": 0.0, "radius": 0}, False),
        ({"lat": 520.1, "lng": 5.5}, False),
        ({}, False),
        ("null", False),
        ("{computedLocation}", False),
    ],
)
def test_a_computed_location_becomes_a_geoloc_or_stays_in_the_data(location, is_valid):
    body = {"device": "1", "time": TIME, "computedLocation": location}
    found = parsed("dataAdvanced", body)
    assert [each.kind for each in found.readings[1:]] == (["geoloc"] if is_valid else [])
    kept = "computedLocation" in found.readings[0].fields.get("data", {})
    assert kept is (not is_valid and location != "null")


# --- status, acknowledgement, error ---


@pytest.mark.parametrize(
    "battery, text",
    [("3.25", "3.25 V"), (3, "3 V"), (0, "0 V"), (-1, None), ("full", None), ("N/A", None)],
)
def test_a_status_carries_the_battery_level_and_becomes_an_event(battery, text):
    body = {"device": "1", "time": TIME, "temp": "21.0", "batt": battery, "seqNumber": 9}
    found = parsed("status", body)
    assert found.battery == text
    assert found.counts == ("vendor_uplink",)
    fields = found.readings[0].fields
    assert fields["type"] == "status"
    assert {"temp": 21.0, "seqNumber": 9}.items() <= fields["data"].items()


@pytest.mark.parametrize(
    "members, name, state",
    [
        ({"infoCode": 0, "downlinkAck": True}, "ACKED", "acknowledged"),
        ({"infoCode": "0", "downlinkAck": "true"}, "ACKED", "acknowledged"),
        ({"infoCode": 0}, "ACKED", "acknowledged"),
        ({"infoCode": 0, "downlinkAck": "false"}, "ACKED", "sent"),
        ({"infoCode": 1, "downlinkAck": False}, "NO_ANSWER", "failed"),
        ({"infoCode": 2}, "INVALID_PAYLOAD", "failed"),
        ({"infoCode": 5}, "PENDING", None),
        ({"infoCode": 6}, "NO_DOWNLINK_CONTRACT", "failed"),
        ({"infoCode": 8}, "INVALID_CONFIGURATION", "failed"),
        ({"infoCode": 9}, None, None),
        ({"infoCode": "?", "downlinkAck": True}, None, "acknowledged"),
        ({"downlinkAck": "0"}, None, "failed"),
        ({}, None, None),
    ],
)
def test_an_acknowledgement_sets_the_state_of_the_downlink(members, name, state):
    found = parsed("acknowledge", {"device": "1", "time": TIME, **members})
    assert found.downlink == (None if state is None else DownlinkUpdate(None, state, name or ""))
    fields = found.readings[0].fields
    assert fields["type"] == "acknowledge"
    assert fields.get("message") == name
    assert fields.get("data", {}).get("infoName") == name
    assert found.counts == ()


def test_an_acknowledgement_keeps_the_message_of_the_network():
    body = {"device": "1", "time": TIME, "infoCode": 1, "infoMessage": "No answer from callback"}
    found = parsed("acknowledge", body)
    assert found.readings[0].fields["message"] == "No answer from callback"
    assert found.downlink == DownlinkUpdate(None, "failed", "No answer from callback")


def test_an_error_becomes_an_event():
    body = {"device": "1", "time": TIME, "severity": "WARN", "info": "No message received since x"}
    found = parsed("error", body | {"deviceTypeId": "628f"})
    assert found.readings == (
        Reading(
            "event",
            TS,
            {
                **{"type": "error", "message": "No message received since x"},
                **{"severity": "warning", "data": {"deviceTypeId": "628f"}},
            },
        ),
    )


# --- downlinks ---


def test_a_response_carries_a_downlink_of_eight_bytes():
    assert vendor.build_response("1FD48BE", "DEADbeefcafebabe") == {
        "1FD48BE": {"downlinkData": "deadbeefcafebabe"}
    }
    assert vendor.build_response("1FD48BE", None) == {"1FD48BE": {"noData": True}}


@pytest.mark.parametrize("wrong", ["", "00", "deadbeefcafebabe00", "deadbeefcafebabg"])
def test_a_downlink_of_another_length_is_refused(wrong):
    with pytest.raises(InvalidMessage, match="16 hex digits"):
        vendor.build_response("1FD48BE", wrong)


# --- anything ---

KINDS = ["data", "dataAdvanced", "status", "acknowledge", "error"]
NAMES = [
    *("device", "deviceId", "id", "time", "data", "seqNumber", "seq", "ack", "longPolling"),
    *("lat", "lng", "temp"),
    *("radius", "geolocSource", "linkQuality", "lqi", "duplicates", "computedLocation", "source"),
    *("status", "batt", "infoCode", "infoMessage", "downlinkAck", "info", "severity", "rc"),
]


@pytest.mark.slow
@given(st.sampled_from(KINDS), messages(NAMES, {"device": "1FD48BE", "time": TIME, "data": "00"}))
def test_any_message_is_parsed_or_invalid(kind, values):
    copy = msgspec.json.decode(msgspec.json.encode(values))
    try:
        found = vendor.parse(kind, values)
    except InvalidMessage as error:
        assert error.field_errors
    else:
        assert_storable(found)
        assert vendor.parse(kind, copy) == found


PLAIN = '{"device":"1FD48BE","time":1794731400,"data":"0a1B","seqNumber":16,"ack":false}'


@pytest.mark.parametrize(
    ("body", "is_plain"),
    [
        (PLAIN, True),
        (PLAIN.replace(",", " , "), True),
        (PLAIN.replace(',"ack":false', ""), True),
        (PLAIN.replace(',"seqNumber":16', ""), True),
        (PLAIN.replace("false", "true"), True),
        (PLAIN.replace("16", '"16"'), False),
        (PLAIN.replace("16", "-1"), False),
        (PLAIN.replace("16", "1.5"), False),
        (PLAIN.replace("1794731400", "1794731400000"), False),
        (PLAIN.replace("1FD48BE", "null"), False),
        (PLAIN.replace("1FD48BE", " 1FD48BE"), False),
        (PLAIN.replace("0a1B", ""), False),
        (PLAIN.replace("0a1B", "0a1"), False),
        (PLAIN.replace("0a1B", "0a\\u0031B"), True),
        (PLAIN.replace('"ack"', '"longPolling"'), False),
        (PLAIN.replace('"ack":false', '"ack":false,"rssi":-120.5'), False),
        (PLAIN.replace('"ack":false', '"seqNumber":16'), False),
        (PLAIN.replace('"ack":false', '"ack":false,"ack":false'), False),
        (PLAIN + "\n", True),
        (PLAIN + " " * 1_024, False),
        (PLAIN[:-1], False),
        ("[]", False),
        ("", False),
    ],
)
def test_plain_data_is_parsed_as_by_the_full_parser_or_left_to_it(body, is_plain):
    plain = vendor.parse_plain_data(body.encode())
    assert (plain is not None) == is_plain
    if plain is not None:
        assert plain == vendor.parse("data", parse_body("application/json", body.encode(), b""))

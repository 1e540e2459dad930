"""The Things Stack's webhooks: real bodies, omitted fields, and arbitrary ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.networks import ttn
from longwire.networks.base import DownlinkUpdate, InvalidMessage, Reading
from longwire.networks.bodies import parse_body
from tests.networks.messages import messages
from tests.networks.stored import assert_storable

PASSED_ON = "2020-02-12T15:15:46.000000000Z"
RECEIVED = "2020-02-12T15:15:45.787Z"
TS = 1_581_520_545 * SECOND + 787_000
PASSED_ON_TS = 1_581_520_546 * SECOND
ENVELOPE = {
    "end_device_ids": {
        **{"device_id": "dev1", "application_ids": {"application_id": "app1"}},
        **{"dev_eui": "0004A30B001C0530", "join_eui": "800000000000000C", "dev_addr": "00BCB929"},
    },
    "correlation_ids": ["as:up:01E0WZGT6Y7657CPFPE5WEYDSQ"],
    "received_at": PASSED_ON,
}
IDENTIFIERS = {"device_id": "dev1", "application_id": "app1", "dev_addr": "00BCB929"}
UPLINK = {
    **{"session_key_id": "AXA50tHUSIFY", "f_port": 15, "f_cnt": 2, "frm_payload": "PHg="},
    **{"decoded_payload": {"temperature": 21.5}, "received_at": RECEIVED},
    "rx_metadata": [
        {
            **{"gateway_ids": {"gateway_id": "gtw1", "eui": "B827EBFFFE9A4B5D"}, "rssi": -35},
            **{"channel_rssi": -35, "snr": 5.2, "uplink_token": "ChIKEA"},
        },
        {"gateway_ids": {"eui": "B827EBFFFE9A4B5E"}, "channel_rssi": -90, "snr": -3},
    ],
    "settings": {
        "data_rate": {"lora": {"bandwidth": 125_000, "spreading_factor": 7}},
        **{"coding_rate": "4/6", "frequency": "868300000", "data_rate_index": 5},
    },
    "consumed_airtime": "0.056576s",
}


def parsed(key, message, **envelope):
    body = {**ENVELOPE, **envelope, key: message}
    found = ttn.parse(parse_body("application/json", json.dumps(body).encode(), b""))
    assert_storable(found)
    return found


def fields(found, kind):
    return next(each.fields for each in found.readings if each.kind == kind)


# --- uplinks ---


@pytest.mark.parametrize(
    "data_rate, expected",
    [
        ({"fsk": {"bit_rate": 50_000}}, {"modulation": "FSK", "dataRate": 50.0}),
        (
            {"lrfhss": {"operating_channel_width": 137_000, "coding_rate": "1/3"}},
            {"modulation": "LR-FHSS", "operatingChannelWidth": 137_000, "codeRate": "1/3"}
            | {"dataRate": 0.163},
        ),
    ],
)
def test_parameters_of_other_modulations_are_kept(data_rate, expected):
    sent = {"data_rate": data_rate, "frequency": "868300000"}
    data = fields(parsed("uplink_message", UPLINK | {"settings": sent}), "telemetry")["data"]
    assert expected.items() <= data.items()
    assert "spreadingFactor" not in data and "bandwidth" not in data


def test_an_uplink_becomes_data_and_telemetry():
    found = parsed("uplink_message", UPLINK)
    assert (found.original_id, found.sequence, found.port) == ("0004A30B001C0530", 2, 15)
    assert found.payload == b"\x3c\x78"
    assert (found.counts, found.wants_downlink, found.downlink) == ((), False, None)
    assert found.readings == (
        Reading(
            "data",
            TS,
            {
                "raw": "3c78",
                "data": {
                    "temperature": 21.5,
                    "radio": {
                        **{"seqNumber": 2, "port": 15, "data_rate_index": 5},
                        "consumed_airtime": "0.056576s",
                    },
                },
            },
        ),
        Reading(
            "telemetry",
            TS,
            {
                "duplicates": [
                    '{"gateway_ids":{"gateway_id":"gtw1","eui":"B827EBFFFE9A4B5D"},"rssi":-35,'
                    '"channel_rssi":-35,"snr":5.2}',
                    '{"gateway_ids":{"eui":"B827EBFFFE9A4B5E"},"channel_rssi":-90,"snr":-3}',
                ],
                **{"stations": 2, "score": 2},
                "data": {
                    **{"seqNumber": 2, "station": "gtw1", "rssi": -35, "snr": 5.2},
                    **{"frequency": 868_300_000, "bandwidth": 125_000, "spreadingFactor": 7},
                    **{"codeRate": "4/6", "dataRate": 4.557},
                },
            },
        ),
    )


@pytest.mark.parametrize("empty", [{}, None])
def test_an_omitted_counter_is_zero(empty):
    found = parsed("uplink_message", empty)
    assert (found.sequence, found.port, found.payload) == (0, None, b"")
    data = {"radio": {"seqNumber": 0}}
    assert found.readings == (Reading("data", PASSED_ON_TS, {"data": data, "raw": ""}),)


def test_without_a_timestamp_the_arrival_counts():
    assert parsed("uplink_message", {}, received_at=None).readings[0].ts is None


ZERO = "0001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "inner, outer, ts",
    [
        (ZERO, PASSED_ON, PASSED_ON_TS),
        (ZERO, ZERO, None),
        (ZERO, None, None),
        (None, ZERO, None),
        (RECEIVED, ZERO, TS),
    ],
)
def test_a_time_that_was_never_set_is_none(inner, outer, ts):
    for key in ("uplink_message", "join_accept"):
        found = parsed(key, {"received_at": inner}, received_at=outer)
        assert found.readings[0].ts == ts


def test_a_device_without_an_eui_is_known_by_its_device_id():
    ids = {"device_id": "meter-7", "application_ids": {"application_id": "app1"}}
    for eui in ({}, {"dev_eui": ""}, {"dev_eui": None}):
        found = parsed("uplink_message", UPLINK, end_device_ids=ids | eui)
        assert found.original_id == "meter-7"


def test_every_record_of_a_simulated_message_is_marked():
    located = UPLINK | {"locations": {"user": {"latitude": 1, "longitude": 2}}}
    found = parsed("uplink_message", located, simulated=True)
    assert [each.kind for each in found.readings] == ["data", "telemetry", "geoloc"]
    data, *others = (each.fields["data"] for each in found.readings)
    assert all(each["simulated"] is True for each in (data["radio"], *others))
    joined = parsed("join_accept", {}, simulated=True).readings[0].fields["data"]
    assert joined == {**IDENTIFIERS, "simulated": True}


def test_a_simulated_message_changes_neither_counter_nor_battery():
    uplink = UPLINK | {"last_battery_percentage": {"value": 50}}
    simulated = parsed("uplink_message", uplink, simulated=True)
    assert (simulated.sequence, simulated.battery) == (None, None)
    assert fields(simulated, "data")["data"]["radio"]["seqNumber"] == 2
    assert parsed("uplink_message", uplink, simulated=False).battery == "50"


@pytest.mark.parametrize("key", ["uplink_message", "uplink_normalized", "join_accept"])
def test_session_keys_are_not_stored(key):
    assert "canary" not in repr(parsed(key, {"app_s_key": {"key": "canary"}, "f_port": 1}))


def test_gateways_behind_packet_broker_are_distinguished():
    broker = {"gateway_id": "packetbroker"}
    received = [
        {"gateway_ids": broker, "rssi": -90, "packet_broker": {"forwarder_gateway_id": "a"}},
        {"gateway_ids": broker, "rssi": -80, "packet_broker": {"forwarder_gateway_eui": "B8"}},
        {"gateway_ids": broker, "rssi": -95, "packet_broker": {}},
        {"gateway_ids": broker, "rssi": -99},
    ]
    found = fields(parsed("uplink_message", {"rx_metadata": received}), "telemetry")
    assert (found["stations"], found["data"]["station"]) == (3, "B8")


def test_a_nack_is_not_a_failure_while_the_network_retries():
    found = parsed("downlink_nack", QUEUED | {"confirmed_retry": {"attempt": 2}})
    assert found.downlink is None
    assert fields(found, "event")["message"] == NOT_CONFIRMED


def test_a_normalized_uplink_shares_the_telemetry_of_the_raw_one():
    measured = {"air": {"temperature": 21.5}}
    normalised = {name: value for name, value in UPLINK.items() if name != "decoded_payload"} | {
        "normalized_payload": measured
    }
    found = parsed("uplink_normalized", normalised)
    assert fields(found, "data")["data"].keys() == {"normalized", "radio"}
    assert fields(found, "data")["data"]["normalized"] == measured
    # The same record as that of the raw uplink, so it is stored once.
    assert found.readings[1] == parsed("uplink_message", UPLINK).readings[1]


@pytest.mark.parametrize(
    "value, battery",
    [
        ({"f_cnt": 1, "value": 63.77953}, "63.78"),
        ({"value": 255}, None),
        ({"f_cnt": 1}, "0"),
        ("x", None),
    ],
)
def test_an_uplink_may_carry_the_battery_level(value, battery):
    assert parsed("uplink_message", {"last_battery_percentage": value}).battery == battery


MEASURED = {"latitude": 52.1, "longitude": 5.5, "source": "SOURCE_GPS"}
ENTERED = {"latitude": 37.9, "longitude": -122.2, "altitude": 2, "source": "SOURCE_REGISTRY"}
SOLVED = {"latitude": 52, "longitude": 5, "accuracy": 80, "source": "SOURCE_LORA_TDOA_GEOLOCATION"}


@pytest.mark.parametrize(
    "locations, service",
    [
        ({"user": ENTERED}, "user"),
        ({"user": ENTERED, "frm-payload": MEASURED}, "frm-payload"),
        ({"frm-payload": MEASURED, "lora": SOLVED}, "lora"),
        ({"b": MEASURED, "a": MEASURED}, "a"),
        ({"a": {}, "b": 5, "c": {"latitude": 100}, "user": ENTERED}, "user"),
        ({"a": {}}, None),
        ([], None),
    ],
)
def test_the_best_location_of_an_uplink_is_kept(locations, service):
    found = parsed("uplink_message", {"locations": locations, "f_cnt": 4})
    places = [each.fields for each in found.readings if each.kind == "geoloc"]
    assert [place["data"]["service"] for place in places] == ([service] if service else [])
    assert all(place["data"]["seqNumber"] == 4 for place in places)
    assert fields(found, "data")["data"]["radio"]["locations"] == locations


# --- the others ---


def test_a_solved_location_becomes_a_geoloc():
    found = parsed("location_solved", {"service": "lora-cloud", "location": SOLVED})
    kept = {"service": "lora-cloud", "source": "SOURCE_LORA_TDOA_GEOLOCATION"}
    place = {"lat": 52.0, "lng": 5.0, "radius": 80, "source": 2}
    data = {"data": kept | IDENTIFIERS}
    assert found.readings == (Reading("geoloc", PASSED_ON_TS, place | data),)
    # Some versions name nothing but the EUI, others nothing but the device.
    for ids in ({"dev_eui": "0004A30B001C0530"}, {"device_id": "crane"}):
        body = {"end_device_ids": ids, "location_solved": {"location": SOLVED}}
        few = ttn.parse(parse_body("application/json", json.dumps(body).encode(), b""))
        assert_storable(few)
        assert few.original_id == next(iter(ids.values()))
        named = {name: each for name, each in ids.items() if name == "device_id"}
        assert few.readings[0].ts is None
        assert few.readings[0].fields["data"] == {"source": kept["source"], **named}


def test_a_join_becomes_an_event():
    found = parsed("join_accept", {"session_key_id": "AXBSH1Pk", "received_at": RECEIVED})
    expected = {"type": "join_accept", "data": {"session_key_id": "AXBSH1Pk", **IDENTIFIERS}}
    assert found.readings == (Reading("event", TS, expected),)


QUEUED = {
    **{"f_port": 15, "f_cnt": 11, "frm_payload": "vu8=", "confirmed": True},
    "correlation_ids": ["as:downlink:01E0", "longwire:dl_1", "my-own"],
}


TOO_LONG = {"name": "too_long", "message_format": "payload is too long"}
CONFIRMED, NOT_CONFIRMED = "the device has confirmed it", "the device has not confirmed it"
SENT, NOT_SENT = "a gateway sends it", "the network could not send it"
OTHER_SESSION = "the session has changed, and what was queued in the old one is not sent"


@pytest.mark.parametrize(
    "key, message, update",
    [
        ("downlink_ack", QUEUED, ("dl_1", "acknowledged", CONFIRMED)),
        ("downlink_nack", QUEUED, ("dl_1", "failed", NOT_CONFIRMED)),
        ("downlink_sent", QUEUED, ("dl_1", "sent", SENT)),
        (
            "downlink_sent",
            {"correlation_ids": ["a", "as:downlink:1"]},
            ("as:downlink:1", "sent", SENT),
        ),
        ("downlink_sent", {"correlation_ids": [5]}, (None, "sent", SENT)),
        ("downlink_queued", QUEUED, ("dl_1", "sent", "the network has taken it")),
        (
            "downlink_failed",
            {"downlink": QUEUED, "error": TOO_LONG},
            ("dl_1", "failed", "payload is too long"),
        ),
        (
            "downlink_failed",
            {"downlink": QUEUED, "error": {"name": "downlink_expired"}},
            ("dl_1", "expired", "downlink_expired"),
        ),
        ("downlink_failed", {}, (None, "failed", NOT_SENT)),
        (
            "downlink_queue_invalidated",
            {"downlinks": [QUEUED, {}], "last_f_cnt_down": 3},
            ("dl_1", "failed", OTHER_SESSION),
        ),
        (
            "downlink_queue_invalidated",
            {"downlinks": [{}, QUEUED, 5, {"correlation_ids": ["as:downlink:2"]}]},
            ("dl_1", "failed", OTHER_SESSION, ("as:downlink:2",)),
        ),
        ("join_accept", {"invalidated_downlinks": [QUEUED]}, ("dl_1", "failed", OTHER_SESSION)),
        ("join_accept", {"invalidated_downlinks": []}, None),
        ("downlink_queue_invalidated", {}, (None, "failed", OTHER_SESSION)),
        ("service_data", {"service": "alcsync", "data": {"a": 1}}, None),
    ],
)
def test_downlink_and_service_messages_become_events(key, message, update):
    found = parsed(key, message)
    assert found.downlink == (DownlinkUpdate(*update) if update else None)
    assert fields(found, "event")["type"] == key
    assert fields(found, "event").get("message") == (update[2] if update else None)
    assert found.readings[0].ts == PASSED_ON_TS


@pytest.mark.parametrize(
    "body, field_errors",
    [
        ({"uplink_message": {}}, ["end_device_ids.dev_eui"]),
        (
            {"uplink_message": {"frm_payload": "?", "received_at": "soon"}, "end_device_ids": 5},
            ["end_device_ids.dev_eui", "uplink_message.received_at", "uplink_message.frm_payload"],
        ),
        ({**ENVELOPE, "received_at": "soon", "join_accept": {}}, ["received_at"]),
        ({**ENVELOPE, "location_solved": {"location": {}}}, ["location_solved.location"]),
        ({**ENVELOPE, "uplink_message": 5}, ["uplink_message"]),
        (ENVELOPE, []),
        ({}, []),
    ],
)
def test_missing_required_fields_are_reported(body, field_errors):
    with pytest.raises(InvalidMessage) as caught:
        ttn.parse(parse_body("application/json", json.dumps(body).encode(), b""))
    assert [fault.field for fault in caught.value.field_errors] == field_errors
    assert caught.value.message
    for fault in caught.value.field_errors:
        if fault.field == "end_device_ids.dev_eui":
            assert fault.message == "or device_id is required"


# --- anything ---

KEYS = [
    *("uplink_message", "uplink_normalized", "join_accept", "downlink_ack", "downlink_nack"),
    *("downlink_sent", "downlink_failed", "downlink_queued", "downlink_queue_invalidated"),
    *("location_solved", "service_data"),
]
NAMES = [
    *("end_device_ids", "dev_eui", "received_at", "f_cnt", "f_port", "frm_payload", "simulated"),
    *("decoded_payload", "rx_metadata", "gateway_ids", "gateway_id", "rssi", "snr", "settings"),
    *("data_rate", "lora", "spreading_factor", "frequency", "locations", "location", "latitude"),
    *("longitude", "accuracy", "source", "last_battery_percentage", "value", "downlink", "error"),
    *("name", "message_format", "downlinks", "correlation_ids", "service", "confirmed_retry"),
    *("invalidated_downlinks", "packet_broker", "forwarder_gateway_id"),
]
VALID = {"end_device_ids": {"dev_eui": "0004A30B001C0530"}, "received_at": RECEIVED}


@pytest.mark.slow
@given(st.sampled_from(KEYS), messages(NAMES, VALID), messages(NAMES, {}))
def test_any_message_is_parsed_or_invalid(key, values, message):
    try:
        found = ttn.parse({**values, key: message})
    except InvalidMessage as error:
        assert error.message
    else:
        assert_storable(found)

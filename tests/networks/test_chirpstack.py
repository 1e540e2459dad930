"""ChirpStack's events: real bodies, omitted fields, and arbitrary ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.networks import chirpstack
from longwire.networks.base import DownlinkUpdate, InvalidMessage, Reading
from longwire.networks.bodies import parse_body
from tests.networks.messages import messages
from tests.networks.stored import assert_storable

TIME = "2022-07-18T09:34:15.775023242+00:00"
TS = 1_658_136_855 * SECOND + 775_023
DEVICE = {
    **{"tenantId": "52f14cd4-c6f1-4fbd-8f87-4025e1d49242", "tenantName": "ChirpStack"},
    **{"applicationId": "17c82e96", "applicationName": "Test app", "deviceName": "Test device"},
    **{"devEui": "0101010101010101", "tags": {"key": "value"}},
}
ENVELOPE = {"deviceInfo": DEVICE, "time": TIME}
UP = {
    **ENVELOPE,
    **{"deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d", "devAddr": "00189440"},
    **{"dr": 1, "fCnt": 7, "fPort": 10, "data": "qg==", "object": {"temperature": 21.5}},
    "rxInfo": [
        {
            **{"gatewayId": "0016c001f153a14c", "uplinkId": 4217106255, "rssi": -36, "snr": 10.5},
            **{"context": "E3OWOQ==", "metadata": {"region_name": "eu868"}},
            **{"location": {"latitude": 52.37}, "crcStatus": "CRC_OK", "antenna": 1},
        },
        {"gatewayId": "0016c001f153a14d", "uplinkId": 1, "rssi": -90},
    ],
    "txInfo": {
        "frequency": 867_100_000,
        "modulation": {
            "lora": {"bandwidth": 125_000, "spreadingFactor": 11, "codeRate": "CR_4_5"},
        },
    },
}


def parsed(event, body):
    found = chirpstack.parse(event, parse_body("application/json", json.dumps(body).encode(), b""))
    assert_storable(found)
    return found


def fields(found, kind):
    return next(each.fields for each in found.readings if each.kind == kind)


# --- up ---


def test_an_uplink_becomes_data_and_telemetry():
    found = parsed("up", UP)
    assert (found.original_id, found.sequence, found.port) == ("0101010101010101", 7, 10)
    assert found.payload == b"\xaa"
    assert (found.counts, found.wants_downlink, found.downlink) == ((), False, None)
    assert found.readings == (
        Reading(
            "data",
            TS,
            {
                "raw": "aa",
                "data": {
                    "temperature": 21.5,
                    "radio": {"seqNumber": 7, "port": 10, "dr": 1, "tags": {"key": "value"}},
                },
            },
        ),
        Reading(
            "telemetry",
            TS,
            {
                "duplicates": [
                    '{"gatewayId":"0016c001f153a14c","rssi":-36,"snr":10.5,"antenna":1}',
                    '{"gatewayId":"0016c001f153a14d","rssi":-90}',
                ],
                **{"stations": 2, "score": 3},
                "data": {
                    **{"seqNumber": 7, "station": "0016c001f153a14c"},
                    **{"rssi": -36, "snr": 10.5, "frequency": 867_100_000, "bandwidth": 125_000},
                    **{"spreadingFactor": 11, "codeRate": "CR_4_5", "dataRate": 0.537},
                },
            },
        ),
    )


def test_an_omitted_counter_is_zero():
    found = parsed("up", ENVELOPE)
    assert (found.sequence, found.port, found.payload) == (0, None, b"")
    data = {"radio": {"seqNumber": 0, "tags": {"key": "value"}}}
    assert found.readings == (Reading("data", TS, {"data": data, "raw": ""}),)


@pytest.mark.parametrize("event", ["up", "join"])
def test_session_keys_are_not_stored(event):
    context = {"sessionKeyId": "01", "appSKey": {"aesKey": "canary"}}
    assert "canary" not in repr(parsed(event, UP | {"joinServerContext": context}))


def test_without_a_time_the_reception_time_of_a_gateway_or_the_arrival_counts():
    untimed = {name: value for name, value in UP.items() if name != "time"}
    assert parsed("up", untimed).readings[0].ts is None
    received = [{"gwTime": "never"}, {"nsTime": TIME, "gatewayId": "a"}]
    assert parsed("up", untimed | {"rxInfo": received}).readings[0].ts == TS


@pytest.mark.parametrize(
    "spreading_factor, rssi, snr, score",
    [
        (7, -36, 13.75, 3),
        (7, -90, 7.5, 3),
        (7, -90, 7.4, 2),
        (7, -100, None, 1),  # a ratio of zero is left out
        (7, -120, -7, 0),
        (12, -120, -5, 3),
        (12, -130, -19, 0),
        (None, -100, None, 3),
        (None, -110, None, 2),
        (None, -118, None, 1),
        (None, -119, None, 0),
        (None, None, None, None),
        (99, -100, 0, 1),  # as if it were 7
        (7, "loud", "clear", None),
    ],
)
def test_the_score_is_the_link_margin_at_the_best_gateway(spreading_factor, rssi, snr, score):
    lora = {} if spreading_factor is None else {"spreadingFactor": spreading_factor}
    reception = {"gatewayId": "a", "rssi": rssi, "snr": snr}
    body = ENVELOPE | {
        "rxInfo": [{name: value for name, value in reception.items() if value is not None}],
        "txInfo": {"modulation": {"lora": lora}},
    }
    assert fields(parsed("up", body), "telemetry").get("score") == score


@pytest.mark.parametrize(
    "modulation, expected",
    [
        (
            {"fsk": {"frequencyDeviation": 25_000, "datarate": 50_000}},
            {"modulation": "FSK", "frequencyDeviation": 25_000, "dataRate": 50.0},
        ),
        (
            {"lrFhss": {"operatingChannelWidth": 137_000, "codeRate": "CR_4_6", "gridSteps": 8}},
            {"modulation": "LR-FHSS", "operatingChannelWidth": 137_000, "gridSteps": 8}
            | {"codeRate": "CR_4_6", "dataRate": 0.326},
        ),
        ({"lrFhss": {"codeRate": 1}}, {"modulation": "LR-FHSS", "codeRate": "1"}),
        ({}, {}),
    ],
)
def test_parameters_of_other_modulations_are_kept(modulation, expected):
    sent = {"frequency": 868_100_000, "modulation": modulation}
    body = ENVELOPE | {"rxInfo": [{"gatewayId": "a", "rssi": -90}], "txInfo": sent}
    known = {"seqNumber": 0, "station": "a", "rssi": -90, "frequency": 868_100_000}
    assert fields(parsed("up", body), "telemetry")["data"] == known | expected


def test_the_best_gateway_is_the_one_with_the_highest_snr():
    received = [
        {"gatewayId": "a", "rssi": -50, "snr": 2},
        {"gatewayId": "b", "rssi": -80, "snr": 9},
        {"gatewayId": "c", "rssi": -70, "snr": 9},
        {"gatewayId": "c", "rssi": -70, "snr": 9, "antenna": 1},
        {"rssi": -10},
        "garbage",
    ]
    found = fields(parsed("up", ENVELOPE | {"rxInfo": received}), "telemetry")
    assert found["data"]["station"] == "c"
    assert found["stations"] == 4
    assert len(found["duplicates"]) == 5


@pytest.mark.parametrize(
    "event, body, field_errors",
    [
        ("up", {}, ["deviceInfo.devEui"]),
        (
            "up",
            {"deviceInfo": "x", "time": "soon", "data": "?"},
            ["deviceInfo.devEui", "time", "data"],
        ),
        ("join", {"time": TIME}, ["deviceInfo.devEui"]),
        ("up", {"devEUI": "0101010101010101", "fCnt": 1}, ["devEUI", "deviceInfo.devEui"]),
        ("location", ENVELOPE, ["location"]),
        ("location", {"location": {"latitude": 91}}, ["deviceInfo.devEui", "location"]),
        ("down", ENVELOPE, ["event"]),
        ("", ENVELOPE, ["event"]),
    ],
)
def test_missing_required_fields_are_reported(event, body, field_errors):
    with pytest.raises(InvalidMessage) as caught:
        parsed(event, body)
    assert [fault.field for fault in caught.value.field_errors] == field_errors


# --- the others ---


def test_a_join_becomes_an_event():
    found = parsed("join", {**ENVELOPE, "deduplicationId": "c9dbe358", "devAddr": "00189440"})
    expected = {"deviceInfo": DEVICE, "deduplicationId": "c9dbe358", "devAddr": "00189440"}
    assert found.readings == (Reading("event", TS, {"type": "join", "data": expected}),)


@pytest.mark.parametrize(
    "members, state",
    [({"acknowledged": True}, "acknowledged"), ({"acknowledged": False}, "failed"), ({}, "failed")],
)
def test_an_ack_sets_the_state_of_the_downlink(members, state):
    found = parsed("ack", {**ENVELOPE, "queueItemId": "2b1d", "fCntDown": 4, **members})
    assert (found.downlink.id, found.downlink.state) == ("2b1d", state)
    assert fields(found, "event")["type"] == "ack"
    assert fields(found, "event")["data"]["fCntDown"] == 4
    assert found.sequence is None


def test_a_txack_marks_the_downlink_as_sent():
    sent = {"downlinkId": 3, "queueItemId": "2b1d", "gatewayId": "0016c001f153a14c"}
    found = parsed("txack", {**ENVELOPE, **sent})
    assert found.downlink == DownlinkUpdate("2b1d", "sent", "0016c001f153a14c sends it")
    assert parsed("txack", ENVELOPE).downlink == DownlinkUpdate(None, "sent", "a gateway sends it")


@pytest.mark.parametrize(
    "members, battery",
    [
        ({"margin": 10, "batteryLevel": 75.19685}, "75.2"),
        ({"margin": 10, "batteryLevel": 100}, "100"),
        ({"margin": 10}, "0"),
        ({"externalPowerSource": True}, None),
        ({"batteryLevelUnavailable": True}, None),
        ({"batteryLevel": 300}, None),
        ({"batteryLevel": "full"}, None),
    ],
)
def test_a_status_carries_the_battery_level_and_becomes_an_event(members, battery):
    found = parsed("status", ENVELOPE | members)
    assert found.battery == battery
    assert fields(found, "event") == {"type": "status", "data": {"deviceInfo": DEVICE, **members}}


@pytest.mark.parametrize(
    "location, found",
    [
        (
            {
                "latitude": 52.1,
                "longitude": 5.5,
                "altitude": 10.5,
                "source": "GPS",
                "accuracy": 3.6,
            },
            {
                "lat": 52.1,
                "lng": 5.5,
                "radius": 4,
                "source": 1,
                "data": {"altitude": 10.5, "source": "GPS"},
            },
        ),
        (
            {"longitude": 5.5, "source": "GEO_RESOLVER_TDOA"},
            {"lat": 0.0, "lng": 5.5, "source": 2, "data": {"source": "GEO_RESOLVER_TDOA"}},
        ),
        (
            {"latitude": 1, "source": "CONFIG"},
            {"lat": 1.0, "lng": 0.0, "data": {"source": "CONFIG"}},
        ),
        ({"latitude": 1, "longitude": -1}, {"lat": 1.0, "lng": -1.0}),
    ],
)
def test_a_location_becomes_a_geoloc(location, found):
    uplink = parsed("location", ENVELOPE | {"location": location})
    data = {"deviceInfo": DEVICE, **found.get("data", {})}
    assert uplink.readings == (Reading("geoloc", TS, {**found, "data": data}),)


@pytest.mark.parametrize(
    "members, severity, message, update",
    [
        ({"level": "ERROR", "code": "UPLINK_CODEC", "description": "e"}, "error", "e", None),
        ({"code": "OTAA"}, "info", "OTAA", None),
        ({}, "info", None, None),
        (
            {"level": "WARNING", "code": "EXPIRED", "context": {"queue_item_id": "2b1d"}},
            *("warning", "EXPIRED", DownlinkUpdate("2b1d", "expired", "EXPIRED")),
        ),
        (
            {"level": "ERROR", "code": "DOWNLINK_GATEWAY", "description": "too late"},
            *("error", "too late", DownlinkUpdate(None, "failed", "too late")),
        ),
    ],
)
def test_a_log_becomes_an_event_and_may_be_about_a_downlink(members, severity, message, update):
    found = parsed("log", ENVELOPE | members)
    event = fields(found, "event")
    assert (event["type"], event["severity"], event.get("message")) == ("log", severity, message)
    assert found.downlink == update


def test_an_integration_event_becomes_an_event():
    members = {"integrationName": "loracloud", "eventType": "modem", "object": {"a": 1}}
    event = fields(parsed("integration", ENVELOPE | members), "event")
    data = {"deviceInfo": DEVICE, **members}
    assert event == {"type": "integration", "message": "modem", "data": data}


# --- anything ---

EVENTS = ["up", "join", "ack", "txack", "status", "location", "log", "integration"]
NAMES = [
    *(
        "deviceInfo",
        "devEui",
        "time",
        "fCnt",
        "fPort",
        "data",
        "object",
        "rxInfo",
        "txInfo",
        "rssi",
    ),
    *(
        "snr",
        "gatewayId",
        "nsTime",
        "modulation",
        "lora",
        "spreadingFactor",
        "frequency",
        "context",
    ),
    *(
        "queueItemId",
        "acknowledged",
        "batteryLevel",
        "location",
        "latitude",
        "longitude",
        "accuracy",
    ),
    *("source", "level", "code", "description", "queue_item_id", "deduplicationId"),
]


@pytest.mark.slow
@given(st.sampled_from(EVENTS), messages(NAMES, {"deviceInfo": {"devEui": "01"}, "time": TIME}))
def test_any_message_is_parsed_or_invalid(event, values):
    try:
        found = chirpstack.parse(event, values)
    except InvalidMessage as error:
        assert error.field_errors
    else:
        assert_storable(found)

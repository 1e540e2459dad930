"""ThingPark's reports: bodies as documented and as others published them, and arbitrary ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND
from longwire.networks import thingpark
from longwire.networks.base import DownlinkUpdate, InvalidMessage, Reading
from longwire.networks.bodies import parse_body
from tests.networks.messages import messages
from tests.networks.stored import assert_storable

EUI = "000000000F1D8693"
TIME = "2015-07-09T16:06:38.49+02:00"
TS = 1_436_450_798 * SECOND + 490_000
ENVELOPE = {"Time": TIME, "DevEUI": EUI}
CUSTOMER = {"CustomerID": "100000507", "CustomerData": {"tags": ["a"], "alr": {"ver": "1"}}}
UPLINK = {
    **{"-xmlns": "http://uri.actility.com/lora", **ENVELOPE, "FPort": "2", "FCntUp": "7011"},
    **{"ADRbit": "1", "MType": "4", "FCntDn": "11", "payload_hex": "0027bd00", "mic_hex": "38e7"},
    **{"Lrcid": "00000065", "LrrRSSI": "-60.000000", "LrrSNR": "9.750000", "SpFact": "7"},
    **{"SubBand": "G1", "Channel": "LC2", "DevLrrCnt": "2", "Lrrid": "08040059", "Late": "0"},
    **{"LrrLAT": "48.874931", "LrrLON": "2.333673", "DevAddr": "0405F519", **CUSTOMER},
    "Lrrs": {
        "Lrr": [
            {"Lrrid": "08040059", "LrrRSSI": "-60.000000", "LrrSNR": "9.750000", "LrrESP": "-59.0"},
            {"Lrrid": "33d13a41", "LrrRSSI": "-73.000000", "LrrSNR": "9.500000", "LrrESP": "-72.0"},
        ]
    },
}


def parsed(key, report):
    body = json.dumps({key: report}).encode()
    found = thingpark.parse(parse_body("application/json", body, b""))
    assert_storable(found)
    return found


def fields(found, kind):
    return next(each.fields for each in found.readings if each.kind == kind)


def test_an_uplink_becomes_data_and_telemetry():
    found = parsed("DevEUI_uplink", UPLINK)
    assert (found.original_id, found.sequence, found.port) == (EUI, 7_011, 2)
    assert (found.payload, found.battery, found.downlink) == (b"\x00\x27\xbd\x00", None, None)
    assert found.readings == (
        Reading(
            "data",
            TS,
            {
                "raw": "0027bd00",
                "data": {
                    "radio": {
                        **{"seqNumber": 7_011, "port": 2, "ADRbit": "1", "MType": "4"},
                        **{"FCntDn": "11", "mic_hex": "38e7", "Late": "0", "tags": ["a"]},
                    },
                },
            },
        ),
        Reading(
            "telemetry",
            TS,
            {
                "duplicates": [
                    '{"Lrrid":"08040059","LrrRSSI":"-60.000000","LrrSNR":"9.750000",'
                    '"LrrESP":"-59.0"}',
                    '{"Lrrid":"33d13a41","LrrRSSI":"-73.000000","LrrSNR":"9.500000",'
                    '"LrrESP":"-72.0"}',
                ],
                **{"stations": 2, "score": 3},
                "data": {
                    **{"seqNumber": 7_011, "SubBand": "G1", "Channel": "LC2", "DevLrrCnt": "2"},
                    **{"LrrLAT": "48.874931", "LrrLON": "2.333673", "Lrcid": "00000065"},
                    **{"station": "08040059", "rssi": -60.0, "snr": 9.75, "spreadingFactor": 7},
                },
            },
        ),
    )


def test_numbers_may_be_unquoted_and_a_list_of_one_its_element():
    changes = {"FPort": 2, "FCntUp": 7_011, "SpFact": 7, "Frequency": 868.1, "BatteryLevel": 254}
    one = UPLINK["Lrrs"]["Lrr"][0]
    found = parsed("DevEUI_uplink", UPLINK | changes | {"Lrrs": {"Lrr": one}})
    assert (found.sequence, found.port, found.battery) == (7_011, 2, "100")
    telemetry = fields(found, "telemetry")
    assert (telemetry["stations"], telemetry["data"]["frequency"]) == (1, 868_100_000)
    alone = parsed("DevEUI_uplink", {**UPLINK, "Lrrs": None})
    assert fields(alone, "telemetry")["data"]["station"] == "08040059"
    assert fields(alone, "telemetry")["stations"] == 1
    assert len(parsed("DevEUI_uplink", {**ENVELOPE, "FCntUp": "1"}).readings) == 1


def test_values_of_a_driver_are_kept_and_session_keys_are_not():
    found = parsed("DevEUI_uplink", UPLINK | {"payload": {"celsius": 4}, "AppSKey": "canary"})
    assert fields(found, "data")["data"]["celsius"] == 4
    assert "canary" not in repr(found)
    joined = {**ENVELOPE, "Type": "join", "Var1": "canary", "FCntDn": 0}
    assert "canary" not in repr(parsed("DevEUI_notification", joined))


def test_an_encrypted_payload_is_kept_but_not_decoded():
    found = parsed("DevEUI_uplink", UPLINK | {"PayloadEncryption": "1"})
    assert found.payload == b""
    data = fields(found, "data")
    assert (data["raw"], data["data"]["radio"]["payload_hex"]) == ("", "0027bd00")


def test_an_acknowledgement_is_about_the_last_confirmed_downlink():
    update = DownlinkUpdate(
        None, "acknowledged", "the device has confirmed it", is_of_last_confirmed=True
    )
    assert parsed("DevEUI_uplink", UPLINK | {"ACKbit": "1"}).downlink == update
    assert parsed("DevEUI_uplink", UPLINK | {"ACKbit": 0}).downlink is None


def test_without_a_time_the_frame_counter_identifies_a_repetition():
    found = parsed("DevEUI_uplink", {**UPLINK, "Time": None})
    assert (found.readings[0].ts, found.dedup_key) == (None, "7011 0027bd00")


def test_a_location_becomes_a_geoloc():
    located = {
        **{"Time": "2015-01-27T10:00.123:46+01:00", "DevEUI": EUI, "DevAddr": "0F1D8693"},
        **{"DevLocTime": "2015-01-27T10:00:43.336+01:00", "DevLAT": "10.11212"},
        **{"DevLON": "7.44464", "DevAlt": "50", "DevLocRadius": "120.4"},
    }
    (place,) = parsed("DevEUI_location", located).readings
    assert place.ts == 1_422_349_243 * SECOND + 336_000
    assert {"lat": 10.11212, "lng": 7.44464, "radius": 120, "source": 2}.items() <= (
        place.fields.items()
    )
    assert place.fields["data"]["DevAlt"] == "50"


def test_a_position_in_an_uplink_becomes_a_geoloc_once():
    # As of a device whose connectivity plan has geolocation: with quoted numbers, of an earlier
    # uplink, and the same until there is another one.
    place = {
        **{"DevLocTime": "2015-07-09T16:05:00.5+02:00", "DevLAT": "51.907218", "DevLON": "4.4893"},
        **{"DevAlt": "12.500000", "DevAcc": "0.000000", "DevLocRadius": "81.6"},
        **{"DevAltRadius": "0.000000"},
    }
    found = parsed("DevEUI_uplink", UPLINK | place)
    kinds = [each.kind for each in found.readings]
    assert kinds == ["data", "telemetry", "geoloc"]
    assert found.readings[:2] == parsed("DevEUI_uplink", UPLINK).readings
    assert found.readings[2] == Reading(
        "geoloc",
        1_436_450_700 * SECOND + 500_000,
        {
            **{"lat": 51.907218, "lng": 4.4893, "radius": 82, "source": 2},
            "data": {"DevAlt": "12.500000", "DevAcc": "0.000000", "DevAltRadius": "0.000000"},
        },
    )
    later = {"Time": "2015-07-09T16:16:38.49+02:00", "FCntUp": "7012"}
    assert parsed("DevEUI_uplink", UPLINK | place | later).readings[2] == found.readings[2]
    untimed = parsed("DevEUI_uplink", UPLINK | place | {"DevLocTime": ""})
    assert [each.kind for each in untimed.readings] == ["data", "telemetry"]


@pytest.mark.parametrize(
    "place", [{"DevLAT": "0.000000", "DevLON": "0.000000"}, {"DevLAT": 91, "DevLON": 4}]
)
def test_a_position_that_is_none_stays_beside_the_facts_of_an_uplink(place):
    found = parsed("DevEUI_uplink", UPLINK | place)
    assert [each.kind for each in found.readings] == ["data", "telemetry"]
    assert place.items() <= fields(found, "data")["data"]["radio"].items()


@pytest.mark.parametrize(
    "members, type, resets, battery",
    [
        ({"Type": "reset", "Var1": "admin_reset", "FCntDn": "0"}, "reset", True, None),
        ({"Type": "join", "Var1": "", "Var2": ""}, "join", True, None),
        ({"Type": "devstatusans", "Var1": 254, "Var2": 10}, "status", False, "100"),
        ({"Type": "devstatusans", "Var1": "255", "Var2": "-3"}, "status", False, None),
        ({"Type": "deviceSilent"}, "notification", False, None),
        ({}, "notification", False, None),
    ],
)
def test_a_notification_becomes_an_event(members, type, resets, battery):
    found = parsed("DevEUI_notification", {**ENVELOPE, **members})
    assert fields(found, "event")["type"] == type
    assert (found.resets_sequence, found.battery) == (resets, battery)


CORRELATION = {"CorrelationID": "4434704901c7450b"}
ID = "4434704901C7450B"
NOT_SENT = "the network could not send it"


@pytest.mark.parametrize(
    "key, members, update",
    [
        ("Sent", {"DeliveryStatus": 1, **CORRELATION}, (ID, "sent", "a gateway has sent it")),
        ("Sent", {"DeliveryStatus": "1"}, (None, "sent", "a gateway has sent it")),
        (
            "Sent",
            {"DeliveryStatus": "0", "DeliveryFailedCause1": "A3", "DeliveryFailedCause2": "00"}
            | CORRELATION,
            (ID, "failed", f"{NOT_SENT}: A3"),
        ),
        ("Sent", {"DeliveryStatus": 0, **CORRELATION}, (ID, "failed", NOT_SENT)),
        ("Rejected", CORRELATION, (ID, "failed", NOT_SENT)),
    ],
)
def test_a_report_about_a_downlink_names_it(key, members, update):
    report = {**ENVELOPE, "FPort": "2", "FCntDn": "22", **members}
    found = parsed(f"DevEUI_downlink_{key}", report)
    assert found.downlink == DownlinkUpdate(*update)
    event = fields(found, "event")
    assert (event["type"], event["message"]) == (f"downlink_{key.lower()}", update[2])
    assert found.sequence is None


def test_an_unknown_report_is_kept_as_an_event():
    event = fields(parsed("DevEUI_multicast_summary", {**ENVELOPE, "x": 1}), "event")
    assert event == {"type": "thingpark", "data": {"x": 1, "report": "DevEUI_multicast_summary"}}


@pytest.mark.parametrize(
    "body, field_errors",
    [
        ({}, []),
        ({"uplink": {}}, []),
        ({"DevEUI_uplink": {}, "DevEUI_location": {}}, []),
        ({"DevEUI_uplink": 5}, ["DevEUI_uplink"]),
        ({"DevEUI_uplink": {}}, ["DevEUI_uplink.DevEUI"]),
        (
            {"DevEUI_uplink": {"DevEUI": EUI, "Time": "soon", "payload_hex": "0"}},
            ["DevEUI_uplink.Time", "DevEUI_uplink.payload_hex"],
        ),
        ({"DevEUI_location": {"DevEUI": EUI}}, ["DevEUI_location.DevLAT"]),
        ({"DevEUI_notification": {}}, ["DevEUI_notification.DevEUI"]),
    ],
)
def test_missing_required_fields_are_reported(body, field_errors):
    with pytest.raises(InvalidMessage) as caught:
        thingpark.parse(parse_body("application/json", json.dumps(body).encode(), b""))
    assert [fault.field for fault in caught.value.field_errors] == field_errors
    assert caught.value.message


KEYS = [
    *("DevEUI_uplink", "DevEUI_location", "DevEUI_notification", "DevEUI_downlink_Sent"),
    *("DevEUI_downlink_Rejected", "DevEUI_x"),
]
NAMES = [
    *("Time", "DevEUI", "FPort", "FCntUp", "payload_hex", "payload", "Lrrs", "Lrr", "Lrrid"),
    *("LrrRSSI", "LrrSNR", "SpFact", "Frequency", "BatteryLevel", "ACKbit", "PayloadEncryption"),
    *("DevLAT", "DevLON", "DevLocTime", "DevLocRadius", "Type", "Var1", "DeliveryStatus"),
    *("DeliveryFailedCause1", "CorrelationID"),
]


@pytest.mark.slow
@given(st.sampled_from(KEYS), messages(NAMES, {"DevEUI": EUI}))
def test_any_message_is_parsed_or_invalid(key, report):
    try:
        found = thingpark.parse({key: report})
    except InvalidMessage as error:
        assert error.message
    else:
        assert_storable(found)

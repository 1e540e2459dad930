"""Network callbacks: messages become records, authenticated by the token of a group."""

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.inbound.callbacks import ArrivalTimes
from longwire.store.database import Tx
from tests.delivery.receiver import Receiver
from tests.networks.messages import anything
from tests.process import Service
from tests.waiting import eventually
from tests.world import KINDS, Person, World, copy_data_folder, nothing_happens, ok, refused

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

Json = dict[str, Any]

FORM = "application/x-www-form-urlencoded"
STORED = {"message": "stored"}
DEVICE = "1FD48BE"
TIME = 1_653_666_733
AT = "2022-05-27T15:52:13.000Z"
COUNTERS = {
    "uplink": "totalDeviceVendorUplink",
    "downlink": "totalDeviceVendorDownlink",
    "data": "totalVendorDataMessage",
    "advanced": "totalVendorDataAdvancedMessage",
}
EUI = "0102030405060708"
PATHS = (
    *(f"/network/vendor/{kind}" for kind in ("data", "dataAdvanced", "status", "acknowledge")),
    *("/network/vendor/error", "/network/chirpstack", "/network/ttn", "/network/loriot"),
    "/network/thingpark",
)


class Network:
    """A network that has the token of a group."""

    def __init__(self, world: World, token: str) -> None:
        self.world = world
        self.token = token

    def says(self, path: str, body: Any, **params: Any) -> httpx.Response:
        return self.calls(path, json=body, params=params)

    def calls(self, path: str, **request: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **request.pop("headers", {})}
        method = request.pop("method", "POST")
        return self.world.http.request(method, f"/network/{path}", headers=headers, **request)


def network_of(person: Person, group: str) -> Network:
    return Network(person.world, ok(person.get("/group", groupId=group))[0]["token"])


class Site:
    """A user with a group, a device of the vendor's network in it, and the group's token."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.device = self.ada.device(self.home, name="crane", network="vendor", originalId=DEVICE)
        self.network = network_of(self.ada, self.home)

    def records(self, kind: str, device: str | None = None) -> list[Json]:
        return self.ada.records(device or self.device, kind)

    def shown(self) -> Json:
        return dict(ok(self.ada.get("/device", deviceId=self.device)))

    def totals(self, **params: Any) -> Json:
        now = self.world.clock.now() // 1_000
        period = {"beginDate": str(now - 3_600_000), "endDate": str(now + 3_600_000)}
        return dict(ok(self.ada.get("/group/metrics", groupId=self.home, **period, **params)))

    def counted(self) -> dict[str, int]:
        totals = self.totals()
        return {name: totals[counter] for name, counter in COUNTERS.items()}


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


def vendor_message(**fields: Any) -> Json:
    return {"device": DEVICE, "time": TIME, **fields}


@on_sqlite
def test_looking_whether_a_callback_is_there_stores_nothing(site: Site) -> None:
    params = vendor_message(data="0aff")
    assert site.network.calls("vendor/data", method="HEAD", params=params).status_code == 405
    assert site.records("data") == []
    assert ok(site.network.calls("vendor/data", method="GET", params=params)) == STORED
    assert len(site.records("data")) == 1


# --- the vendor's messages, in all spellings ---

LOCATION = {"lat": 52.0032925, "lng": 5.5690019, "radius": 7_800, "source": 2, "status": 1}
DUPLICATES = [{"bsId": "14E9", "rssi": -113, "snr": 20.5, "nbRep": 1}]

# What the vendor says, and the records it becomes: kind, and what is in it.
VENDOR: dict[str, tuple[Json, list[tuple[str, Json]]]] = {
    "data": (
        {"data": "0aff", "seqNumber": 16, "ack": False, "rssi": -113.5, "station": "14E9"},
        [
            (
                "data",
                {
                    "__raw": "0aff",
                    "data": {
                        "radio": {
                            **{"seqNumber": 16, "ack": False, "rssi": -113.5, "station": "14E9"}
                        }
                    },
                    "deviceType": "generic",
                    "deviceName": "crane",
                    "configuration": "{}",
                },
            )
        ],
    ),
    "dataAdvanced": (
        {
            **{"seqNumber": 16, "lqi": "Good", "linkQuality": 2, "operatorName": "op"},
            **{"computedLocation": LOCATION, "duplicates": DUPLICATES},
        },
        [
            (
                "telemetry",
                {
                    **{"deviceType": "generic", "score": 2, "nbBS": 1},
                    "duplicates": ['{"bsId":"14E9","rssi":-113,"snr":20.5,"nbRep":1}'],
                    "data": {
                        **{"seqNumber": 16, "lqi": "Good", "linkQuality": 2, "operatorName": "op"},
                    },
                },
            ),
            ("geoloc", {**LOCATION, "data": {"seqNumber": 16}}),
        ],
    ),
    "status": (
        {"seqNumber": 17, "batt": 3.1, "temp": 21.5},
        [
            (
                "event",
                {
                    **{"type": "status", "deviceType": "generic"},
                    "data": {"seqNumber": 17, "batt": 3.1, "temp": 21.5},
                },
            )
        ],
    ),
    "acknowledge": (
        {"infoCode": 1, "infoMessage": "No answer", "downlinkAck": False},
        [
            (
                "event",
                {
                    **{"type": "acknowledge", "deviceType": "generic", "message": "No answer"},
                    "data": {"infoName": "NO_ANSWER", "infoCode": 1, "downlinkAck": False},
                },
            )
        ],
    ),
    "error": (
        {"severity": "WARN", "info": "No message received since yesterday"},
        [
            (
                "event",
                {
                    **{"type": "error", "deviceType": "generic", "severity": "warning"},
                    "message": "No message received since yesterday",
                },
            )
        ],
    ),
}


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def spellings(said: Json) -> Iterator[Json]:
    """The same message in every encoding that templates produce, as arguments for httpx."""
    with_nothing = {**said, "snr": None, "avgSnr": "null", "lng": "N/A", "lat": ""}
    quoted = {name: as_text(value) for name, value in said.items()}
    aliased = {{"device": "deviceId", "seqNumber": "seq"}.get(n, n): v for n, v in said.items()}
    yield {"json": said}
    yield {"json": quoted}
    yield {"json": with_nothing}
    yield {"json": aliased}
    yield {"json": {**said, "time": TIME * 1_000}}
    yield {"json": {**said, "device": f"00{DEVICE.lower()}"}}
    yield {"content": json.dumps(said), "headers": {"Content-Type": FORM}}
    yield {"content": urlencode(quoted), "headers": {"Content-Type": FORM}}
    yield {"content": urlencode(quoted), "headers": {"Content-Type": "text/plain"}}
    yield {"params": quoted}
    yield {"params": quoted, "method": "GET"}
    yield {"json": said, "method": "PUT"}
    yield {"json": {{"device": "id"}.get(name, name): value for name, value in said.items()}}


def as_read(record: Json) -> Json:
    """A record with its data parsed."""
    return {**record, "data": json.loads(record["data"])} if "data" in record else record


@pytest.mark.engine_free
def test_each_vendor_message_is_stored_once_in_every_encoding(
    site: Site,
) -> None:
    for kind, (said, expected) in VENDOR.items():
        before = {each: len(site.records(each)) for each in KINDS}
        for spelled in spellings(vendor_message(**said)):
            assert ok(site.network.calls(f"vendor/{kind}", **spelled)) == STORED, spelled
        found = {each: site.records(each)[before[each] :] for each in KINDS}
        for name, fields in expected:
            of_the_device = {"deviceId": site.device, "groupId": site.home, "timestamp": AT}
            (record,) = found.pop(name)
            assert as_read(record) == {**of_the_device, **fields}, kind
        assert not any(found.values()), kind
    assert site.counted() == {"uplink": 2, "downlink": 0, "data": 1, "advanced": 1}
    totals = site.totals()
    numbers = [totals[f"totalDevice{name}"] for name in ("Data", "Event", "Geoloc", "Telemetry")]
    assert numbers == [1, 3, 1, 1]
    assert sum(item[COUNTERS["uplink"]] for item in totals["items"]) == 2
    assert totals["activeDevices"] == [site.device]
    shown = site.shown()
    assert (shown["battery"], shown["seenAt"]) == ("3.1 V", TIME * 1_000)


def test_a_repeated_message_is_stored_once_even_if_ten_arrive_at_once(site: Site) -> None:
    said = vendor_message(data="01", seqNumber=1)
    with ThreadPoolExecutor(10) as crowd:
        for round_, kind in enumerate(("data", "dataAdvanced", "status")):
            body = {**said, "time": TIME + round_, "computedLocation": LOCATION, "batt": 3}
            calls = [crowd.submit(site.network.says, f"vendor/{kind}", body) for _ in range(10)]
            assert [ok(call.result(120)) for call in calls] == [STORED] * 10
    assert [len(site.records(kind)) for kind in KINDS] == [1, 1, 1, 1]
    assert site.counted() == {"uplink": 2, "downlink": 0, "data": 1, "advanced": 1}
    again = {**said, "data": "02"}  # another payload in the same second is another message
    ok(site.network.says("vendor/data", again))
    assert [record["__raw"] for record in site.records("data")] == ["01", "02"]
    assert site.counted()["data"] == 2


@pytest.mark.engine_free
def test_the_battery_level_is_that_of_the_newest_status(site: Site) -> None:
    assert "battery" not in site.shown()
    for seconds, volts, expected in (
        (100, 3.1, "3.1 V"),
        (50, 3.6, "3.1 V"),  # late
        (200, "2.90", "2.9 V"),
        (300, "N/A", "2.9 V"),
        (400, -1, "2.9 V"),
        (500, 2.8, "2.8 V"),
    ):
        said = vendor_message(time=TIME + seconds, batt=volts)
        ok(site.network.says("vendor/status", said))
        assert site.shown()["battery"] == expected
    soon = site.world.clock.now() // 1_000_000 + 3_600  # a clock that is ahead holds up nobody
    ok(site.network.says("vendor/status", vendor_message(time=soon, batt=9)))
    site.world.clock.let_pass(seconds=10)
    now = site.world.clock.now() // 1_000_000
    ok(site.network.says("vendor/status", vendor_message(time=now, batt=2.7)))
    assert site.shown()["battery"] == "2.7 V"
    assert site.counted()["uplink"] == 8


@pytest.mark.engine_free
def test_a_request_for_a_downlink_gets_the_response_no_data(site: Site) -> None:
    for number, asks in enumerate(({"ack": True}, {"ack": "true"}, {"longPolling": "true"})):
        said = vendor_message(device="001fd48be", data="01", seqNumber=number, **asks)
        for _ in range(2):
            # Under the id by which the network asked, also when it asks again.
            assert ok(site.network.says("vendor/data", said)) == {"001fd48be": {"noData": True}}
    assert site.counted() == {"uplink": 3, "downlink": 0, "data": 3, "advanced": 0}


# --- finding the device ---


@pytest.mark.engine_free
def test_a_device_is_found_in_the_group_of_the_token_and_below_and_nowhere_else(
    site: Site,
) -> None:
    ada, home = site.ada, site.home
    below = ada.group("below", parent=home)
    deep = ada.group("deep", parent=below)
    sibling = ada.group("sibling", parent=home)
    found = ada.device(deep, network="vendor", originalId="00C0FFEE")
    numbers = iter(range(1_000))

    def says(group: str, device: str = "c0ffee") -> httpx.Response:
        said = vendor_message(device=device, data="01", seqNumber=next(numbers))
        return network_of(ada, group).says("vendor/data", said)

    for group in (home, below, deep):
        for spelled in ("c0ffee", "C0FFEE", "00c0ffee", "0C0FFEE"):
            ok(says(group, spelled))
    assert len(site.records("data", found)) == 12
    with nothing_happens(site.world):
        refusals = [
            refused(says(sibling), 404, "device"),  # beside
            refused(says(deep, DEVICE), 404, "device"),  # above
            refused(says(home, "BADCAFE"), 404, "device"),  # nowhere
        ]
    assert len({json.dumps({**each, "requestId": ""}) for each in refusals}) == 1, "no hint"
    # Another network may call another device the same.
    ada.device(home, network="mqtt", originalId="BADCAFE")
    refused(says(home, "BADCAFE"), 404, "device")

    transfer = {"deviceId": found, "groupId": deep, "toGroupId": sibling}
    ok(ada.put("/device/transfer", transfer))
    refused(says(deep), 404, "device")
    ok(says(sibling))
    ok(says(home))
    assert [each["groupId"] for each in site.records("data", found)] == [deep] * 12 + [sibling] * 2

    ok(ada.put("/group", {"groupId": sibling, "parent": ""}))
    refused(says(home), 404, "device")
    ok(says(sibling))
    ok(ada.delete("/device", deviceId=found, groupId=sibling))
    refused(says(sibling), 404, "device")


# --- ChirpStack and The Things Stack ---


@pytest.mark.engine_free
def test_chirpstack_events_become_records(site: Site) -> None:
    device = site.ada.device(site.home, network="chirpstack", originalId=EUI.upper(), name="buoy")
    described = {"devEui": EUI, "tags": {"site": "quay"}}
    envelope = {"deviceInfo": described, "time": "2022-05-27T15:52:13.123456789+00:00"}
    up = {
        **envelope,
        **{"fCnt": 7, "fPort": 10, "data": "qg==", "object": {"celsius": 21.5}},
        "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -36, "snr": 10.5}],
        "txInfo": {"frequency": 867_100_000, "modulation": {"lora": {"spreadingFactor": 11}}},
    }
    for _ in range(2):
        assert ok(site.network.says("chirpstack", up, event="up")) == STORED
    (data,) = site.records("data", device)
    assert as_read(data) == {
        **{"deviceId": device, "groupId": site.home, "timestamp": "2022-05-27T15:52:13.123456Z"},
        **{"__raw": "aa", "deviceType": "generic", "deviceName": "buoy", "configuration": "{}"},
        "data": {
            "celsius": 21.5,
            "radio": {"seqNumber": 7, "port": 10, "tags": {"site": "quay"}},
        },
    }
    (telemetry,) = site.records("telemetry", device)
    assert (telemetry["score"], telemetry["nbBS"]) == (3, 1)
    for event, fields in (
        ("join", {"devAddr": "00189440"}),
        ("status", {"margin": 10, "batteryLevel": 75.5}),
        ("ack", {"queueItemId": "q1", "acknowledged": True}),
        ("txack", {"queueItemId": "q1", "gatewayId": "0016c001f153a14c"}),
        ("log", {"level": "ERROR", "code": "UPLINK_CODEC", "description": "no codec"}),
        ("integration", {"integrationName": "x", "eventType": "y"}),
    ):
        ok(site.network.says("chirpstack", {**envelope, **fields}, event=event))
    events = site.records("event", device)
    types = ["join", "status", "ack", "txack", "log", "integration"]
    assert [each["type"] for each in events] == types
    assert (events[4]["severity"], events[4]["message"]) == ("error", "no codec")
    ok(
        site.network.says(
            "chirpstack",
            {**envelope, "location": {"latitude": 51.95, "longitude": 4.14, "source": "GPS"}},
            event="location",
        )
    )
    (place,) = site.records("geoloc", device)
    assert (place["lat"], place["lng"], place["source"]) == (51.95, 4.14, 1)
    assert ok(site.ada.get("/device", deviceId=device))["battery"] == "75.5"
    assert site.counted() == dict.fromkeys(COUNTERS, 0), "those are for the vendor's network"
    assert site.totals()["totalDeviceMessage"] == 9


# As ChirpStack 4 sends it, with a codec there and one gateway.
TYPICAL = {
    "deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d",
    "time": "2026-03-01T12:00:01.775023242+00:00",
    "deviceInfo": {
        **{"tenantId": "52f14cd4-c6f1-4fbd-8f87-4025e1d49242", "tenantName": "ChirpStack"},
        **{"applicationId": "17c82e96-be03-4f38-aef3-f83d48582d97", "applicationName": "Farm"},
        **{"deviceProfileId": "14855bf7-d10d-4aee-b618-ebfcb64dc7ad"},
        **{"deviceProfileName": "Soil probe", "deviceName": "Field 7", "devEui": EUI},
        **{"deviceClassEnabled": "CLASS_A", "tags": {"row": "7"}},
    },
    **{"devAddr": "00189440", "adr": True, "dr": 5, "fCnt": 1207, "fPort": 2, "confirmed": False},
    **{"data": "C1gIZgEsAfQ=", "regionConfigId": "eu868"},
    "object": {"moisture": 31.4, "temperature": 11.2, "battery": 3.61, "conductivity": 214},
    "rxInfo": [
        {
            **{"gatewayId": "0016c001f153a14c", "uplinkId": 4217106255, "rssi": -97, "snr": 8.2},
            "gwTime": "2026-03-01T12:00:01.775023+00:00",
            "nsTime": "2026-03-01T12:00:01.801512842+00:00",
            **{"timeSinceGpsEpoch": "1456401619.775s", "channel": 3, "rfChain": 1},
            "location": {"latitude": 52.3731, "longitude": 4.8922, "altitude": 12.0},
            "metadata": {"region_common_name": "EU868", "region_config_id": "eu868"},
            **{"context": "E3OWOQ==", "crcStatus": "CRC_OK"},
        }
    ],
    "txInfo": {
        "frequency": 868_100_000,
        "modulation": {
            "lora": {"bandwidth": 125_000, "spreadingFactor": 7, "codeRate": "CR_4_5"},
        },
    },
}


def stored_bytes(rows: Sequence[tuple[Any, ...]]) -> int:
    """What the columns of some rows have, a number as much as a bigint."""
    return sum(8 if isinstance(each, int) else len(each) for row in rows for each in row)


def test_a_typical_uplink_takes_nine_tenths_of_a_kilobyte_in_the_database(site: Site) -> None:
    device = site.ada.device(site.home, network="chirpstack", originalId=EUI, name="Field 7")
    ok(site.network.says("chirpstack", TYPICAL, event="up"))
    rows = site.world.list_rows("record_data") + site.world.list_rows("record_telemetry")
    assert len(rows) == 2
    assert stored_bytes(rows) <= 935
    assert sum(len(body) for *_, body in rows) <= 840
    # Nobody has to know who has decoded what: values are values, and the radio is apart.
    (record,) = site.records("data", device)
    assert as_read(record)["data"] == {
        **TYPICAL["object"],
        "radio": {
            **{"seqNumber": 1207, "port": 2, "adr": True, "dr": 5, "confirmed": False},
            "tags": {"row": "7"},
        },
    }
    # What is not repeated in each record can be seen in the message as it came in.
    (arrived,) = ok(site.ada.get("/group/records", groupId=site.home, kinds="data"))["items"]
    trace = ok(site.ada.get("/record/trace", recordId=arrived["id"]))
    assert json.loads(trace["reception"]["body"]) == TYPICAL


@pytest.mark.engine_free
def test_the_things_stack_messages_become_records(site: Site) -> None:
    device = site.ada.device(site.home, network="ttn", originalId=EUI, name="buoy")
    envelope = {
        "end_device_ids": {"device_id": "buoy", "dev_eui": EUI.upper()},
        "received_at": "2022-05-27T15:52:14Z",
    }
    uplink = {
        **{"f_port": 15, "f_cnt": 2, "frm_payload": "PHg=", "received_at": AT},
        "rx_metadata": [{"gateway_ids": {"gateway_id": "gtw1"}, "rssi": -35, "snr": 5.2}],
        "locations": {"frm-payload": {"latitude": 51.95, "longitude": 4.14, "accuracy": 12}},
    }
    for _ in range(2):
        assert ok(site.network.says("ttn", {**envelope, "uplink_message": uplink})) == STORED
    (data,) = site.records("data", device)
    assert (data["timestamp"], data["__raw"]) == (AT, "3c78")
    assert as_read(data)["data"] == {
        "radio": {"seqNumber": 2, "port": 15, "locations": uplink["locations"]}
    }
    assert [each["nbBS"] for each in site.records("telemetry", device)] == [1]
    assert [each["radius"] for each in site.records("geoloc", device)] == [12]
    for key, message in (
        ("join_accept", {"session_key_id": "AX"}),
        ("downlink_sent", {"f_port": 1}),
        ("downlink_failed", {"error": {"name": "x", "message_format": "no gateway"}}),
        ("service_data", {"service": "s", "data": {}}),
    ):
        ok(site.network.says("ttn", {**envelope, key: message}))
    types = [each["type"] for each in site.records("event", device)]
    assert types == ["join_accept", "downlink_sent", "downlink_failed", "service_data"]


@pytest.mark.engine_free
def test_loriot_and_thingpark_messages_become_records(site: Site) -> None:
    buoy = site.ada.device(site.home, network="loriot", originalId=EUI)
    crane = site.ada.device(site.home, network="thingpark", originalId=EUI)
    frame = {"EUI": EUI.upper(), "ts": TIME * 1_000, "fcnt": 7, "port": 2, "data": "0aff"}
    gateways = [{"gweui": "7076FFFFFF010B88", "rssi": -91, "snr": 8}]
    report = {"DevEUI": EUI.upper(), "Time": AT}
    uplink = {**report, "FPort": "2", "FCntUp": "7", "payload_hex": "0aff", "BatteryLevel": "254"}
    lrr = {"Lrr": [{"Lrrid": "08040059", "LrrRSSI": "-60.0", "LrrSNR": "9.75"}]}
    for _ in range(2):
        ok(site.network.says("loriot", {"cmd": "rx", **frame}))
        ok(site.network.says("loriot", {"cmd": "gw", **frame, "bat": None, "gws": gateways}))
        ok(site.network.says("thingpark", {"DevEUI_uplink": {**uplink, "Lrrs": lrr}}))
    ok(site.network.says("loriot", {"cmd": "txd", "EUI": EUI, "seqdn": 1, "ts": TIME * 1_000}))
    joined = {**report, "Type": "join", "Var1": "canary"}
    ok(site.network.says("thingpark", {"DevEUI_notification": joined}))
    for device, type in ((buoy, "txd"), (crane, "join")):
        (data,) = site.records("data", device)
        assert (data["timestamp"], data["__raw"]) == (AT, "0aff")
        assert {"seqNumber": 7, "port": 2}.items() <= as_read(data)["data"]["radio"].items()
        assert [each["nbBS"] for each in site.records("telemetry", device)] == [1]
        assert [each["type"] for each in site.records("event", device)] == [type]
    assert ok(site.ada.get("/device", deviceId=crane))["battery"] == "100"
    # The frame counter is watched, and restarts with a join.
    ok(site.network.says("loriot", {"cmd": "rx", **frame, "fcnt": 9, "ts": (TIME + 60) * 1_000}))
    assert [each["type"] for each in site.records("event", buoy)] == ["txd", "sequenceGap"]
    ok(site.network.says("thingpark", {"DevEUI_uplink": {**uplink, "FCntUp": 0}}))
    assert [each["type"] for each in site.records("event", crane)] == ["join"]


@pytest.mark.engine_free
def test_a_repeated_message_without_a_timestamp_is_detected_by_its_id(site: Site) -> None:
    buoy = site.ada.device(site.home, network="chirpstack", originalId=EUI)
    float_ = site.ada.device(site.home, network="ttn", originalId=EUI)
    known = {"deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d"}
    up = {"deviceInfo": {"devEui": EUI}, "fCnt": 7, "data": "qg=="}
    uplink = {"f_cnt": 7, "frm_payload": "qg==", "session_key_id": "AX"}
    ids = {"end_device_ids": {"dev_eui": EUI}}
    for _ in range(3):
        ok(site.network.says("chirpstack", {**up, **known}, event="up"))
        ok(site.network.says("ttn", {**ids, "uplink_message": uplink}))
        site.world.clock.let_pass(seconds=60)
    assert [len(site.records("data", each)) for each in (buoy, float_)] == [1, 1]
    ok(site.network.says("ttn", {**ids, "uplink_message": {**uplink, "f_cnt": 8}}))
    for _ in range(2):  # without anything to know it by, it may be another one that says the same
        ok(site.network.says("chirpstack", up, event="up"))
    site.world.clock.let_pass(seconds=660)
    ok(site.network.says("chirpstack", {**up, **known}, event="up"))  # nobody repeats so late
    assert [len(site.records("data", each)) for each in (buoy, float_)] == [4, 2]


def test_nobody_makes_the_service_forget_the_messages_of_others() -> None:
    arrivals = ArrivalTimes()
    assert arrivals.first_arrival("home", "dev_1", "data 7 00", now=1) == 1
    for number in range(12_000):
        arrivals.first_arrival("flood", "dev_2", f"data {number} 00", now=2)
    assert arrivals.first_arrival("home", "dev_1", "data 7 00", now=3) == 1
    assert arrivals.first_arrival("flood", "dev_2", "data 0 00", now=3) == 3


@pytest.mark.engine_free
def test_a_vendor_message_without_a_timestamp_gets_that_of_its_arrival(site: Site) -> None:
    said = {"id": DEVICE, "data": "0aff", "seqNumber": 16, "ack": True}
    queued = {"deviceId": site.device, "payload": "0102030405060708"}
    ok(site.ada.post("/device/downlink", queued))
    for _ in range(3):  # repeated after one, two and four minutes
        answer = ok(site.network.says("vendor/data", said))
        assert answer == {DEVICE: {"downlinkData": "0102030405060708"}}
        site.world.clock.let_pass(seconds=120)
    assert len(site.records("data")) == 1
    arrived = site.world.clock.now() // 1_000 - 360_000
    assert abs(site.shown()["seenAt"] - arrived) < 60_000
    assert site.counted()["data"] == 1
    site.world.clock.let_pass(seconds=1_800)  # nobody repeats so late: the counter has wrapped
    assert ok(site.network.says("vendor/data", said)) == {DEVICE: {"noData": True}}
    assert len(site.records("data")) == 2


# --- several at once ---


@pytest.mark.engine_free
def test_several_vendor_messages_can_be_sent_as_lines(site: Site) -> None:
    other = site.ada.device(site.home, network="vendor", originalId="ABC")
    lines = [
        f"{DEVICE};{TIME};01;1;false",
        f"abc;{TIME};02;9;null",
        "",
        f"ABC;{TIME + 1};03;10;N/A",
    ]
    batch = "\r\n".join(lines)
    for sent in (
        {"content": urlencode({"batch": batch}), "headers": {"Content-Type": FORM}},
        {"json": {"batch": batch}},
        {"params": {"batch": batch}},
    ):
        assert ok(site.network.calls("vendor/data", **sent)) == STORED
    assert [each["__raw"] for each in site.records("data")] == ["01"]
    assert [as_read(each)["data"] for each in site.records("data", other)] == [
        {"radio": {"seqNumber": 9}},
        {"radio": {"seqNumber": 10}},
    ]
    assert site.counted()["data"] == 3
    # In the columns that the callback has, and of another kind.
    columns = {"fields": "{time};{device};{batt}"}
    said = {"batch": f"{TIME};{DEVICE};3.1\n{TIME};ABC;2.9"}
    assert ok(site.network.says("vendor/status", said, **columns)) == STORED
    assert site.shown()["battery"] == "3.1 V"
    waiting = {"batch": f"{DEVICE};{TIME + 5};01;2;true\nABC;{TIME + 5};01;11;true"}
    answered = ok(site.network.says("vendor/data", waiting))
    assert answered == {DEVICE: {"noData": True}, "ABC": {"noData": True}}
    with nothing_happens(site.world):
        for text, status, *fields in (
            ("", 400, "batch"),
            (f"{DEVICE};{TIME};01;1\n{DEVICE};{TIME}", 400, "batch[0]", "batch[1]"),
            (f"{DEVICE};{TIME};04;1;\n;soon;0;1;", 400, *_in_line(1, "device", "time", "data")),
            (f"{DEVICE};{TIME};04;1;\nBAD;{TIME};04;1;", 404, "batch[1].device"),
            (f"{DEVICE};{TIME};04;1;\n" * 1_001, 400, "batch"),
        ):
            refused(site.network.says("vendor/data", {"batch": text}), status, *fields)
        refused(site.network.says("vendor/data", {"batch": {"not": "text"}}), 400, "batch")


def _in_line(number: int, *fields: str) -> list[str]:
    return [f"batch[{number}].{each}" for each in fields]


# --- the token ---


@pytest.mark.engine_free
def test_only_the_token_of_the_group_gives_access_to_its_devices(site: Site) -> None:
    said = vendor_message(data="01", seqNumber=1)
    http, token = site.world.http, site.network.token
    other = network_of(site.ada, site.ada.group("other"))
    access_token = site.ada.token
    path = "/network/vendor/data"

    def asks(*headers: tuple[str, str], query: str = "") -> httpx.Response:
        return http.post(path + query, json=said, headers=list(headers))

    with nothing_happens(site.world):
        for response in (
            asks(),
            asks(("Authorization", "")),
            asks(("Authorization", "Bearer")),
            asks(("Authorization", f"Bearer {token}x")),
            asks(("Authorization", f"Bearer {token.upper()}")),
            asks(("Authorization", f"Bearer {token} {token}")),
            asks(("Authorization", f"Basic {token}")),
            asks(("Authorization", f"Bearer {access_token}")),
            asks(query="?token="),
            asks(query=f"?token={token}x"),
            asks(query=f"?Token={token}"),
            asks(query=f"?token={token}&token={token}"),
            asks(query=f"?token={access_token}"),
            asks(query="?token=%00%ff%ed%a0%80"),
            # A header that is there counts, whatever the query says.
            asks(("Authorization", "Bearer wrong"), query=f"?token={token}"),
        ):
            problem = refused(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
            assert token not in problem["detail"]
        twice = ("Authorization", f"Bearer {token}")
        assert "more than once" in refused(asks(twice, twice), 400)["detail"]
        refused(other.says("vendor/data", said), 404, "device")
        # And it opens no other door.
        for right in ({"Authorization": token}, {"Authorization": f"Bearer {token}"}):
            refused(http.get("/user/me", headers=right), 401)
            refused(http.get("/group", params={"groupId": site.home}, headers=right), 401)

    for response in (
        asks(("Authorization", f"Bearer {token}")),
        asks(("Authorization", f"bEARER  {token}")),
        asks(("Authorization", token)),
        asks(query=f"?token={token}"),
        asks(("Authorization", token), query="?token=wrong"),
    ):
        assert ok(response) == STORED
    site.world.restart()
    assert ok(site.network.says("vendor/data", said)) == STORED
    site.ada.token = site.world.token(site.ada.client_id, site.ada.client_secret)
    assert len(site.records("data")) == 1


@on_sqlite
def test_the_token_in_the_query_is_not_part_of_the_message(site: Site) -> None:
    said = {**vendor_message(data="01", seqNumber=1, colour="red"), "token": site.network.token}
    assert ok(site.world.http.post("/network/vendor/data", params=said)) == STORED
    assert site.network.token not in json.dumps(site.world.everything(), default=repr)
    (record,) = site.records("data")
    assert as_read(record)["data"] == {"colour": "red", "radio": {"seqNumber": 1}}


# --- invalid messages ---


def rejected_messages(world: World) -> dict[str, float]:
    text = world.nobody.get("/metrics").text
    pattern = r'^longwire_network_messages_rejected_total\{network="(\w+)"\} (\S+)$'
    found = {network: float(number) for network, number in re.findall(pattern, text, re.M)}
    return {network: number for network, number in found.items() if number}


@pytest.mark.engine_free
def test_an_invalid_message_is_refused_with_all_invalid_fields_and_counted(site: Site) -> None:
    says, calls = site.network.says, site.network.calls
    eui = {"deviceInfo": {"devEui": EUI}}
    with nothing_happens(site.world):
        refused(says("vendor/data", {}), 400, "device")
        wrong = {"device": {}, "time": "soon", "data": "0"}
        refused(says("vendor/data", wrong), 400, "device", "time", "data")
        refused(says("vendor/data", vendor_message(device="x" * 129, data="")), 400, "device")
        refused(says("vendor/status", {"time": -1}), 400, "device", "time")
        refused(says("vendor/dataAdvanced", {"device": None}), 400, "device")
        refused(says("vendor/acknowledge", {"device": "N/A", "time": "x"}), 400, "device", "time")
        refused(says("vendor/error", {"device": 1.5, "time": TIME}), 400, "device")
        for content in (b"", b"{", b"[]", b"null", b"nothing", b"\xff", b'{"a":NaN}', b"[" * 99):
            headers = {"Content-Type": "application/json"}
            refused(calls("vendor/data", content=content, headers=headers), 400)
        twice = '{"device":"A","device":"B","time":1,"data":"00"}'
        refused(calls("vendor/data", content=twice), 400, "device")
        assert rejected_messages(site.world) == {"vendor": 16.0}
        refused(says("chirpstack", {**eui, "time": "soon", "data": "!"}, event="up"), 400)
        refused(says("chirpstack", eui), 400, "event")
        refused(says("chirpstack", eui, event="down"), 400, "event")
        refused(says("chirpstack", {}, event="join"), 400, "deviceInfo.devEui")
        refused(says("chirpstack", eui, event="location"), 400, "location")
        refused(says("ttn", {}), 400)
        refused(says("ttn", {"uplink_message": 7}), 400, "uplink_message")
        refused(says("ttn", {"join_accept": {}}), 400, "end_device_ids.dev_eui")
        # Unknown tokens and devices are not invalid messages.
        refused(site.world.http.post("/network/ttn", json={}), 401)
        refused(says("vendor/data", vendor_message(device="BADCAFE", data="")), 404, "device")
    assert rejected_messages(site.world) == {"vendor": 16.0, "chirpstack": 5.0, "ttn": 3.0}
    assert site.counted() == dict.fromkeys(COUNTERS, 0)


NAMES = (
    *("device", "deviceId", "time", "data", "seqNumber", "ack", "longPolling", "batt", "temp"),
    *("lat", "lng", "radius", "computedLocation", "duplicates", "linkQuality", "lqi", "infoCode"),
    *("severity", "info", "deviceInfo", "devEui", "rxInfo", "txInfo", "object", "fCnt", "fPort"),
    *("location", "latitude", "longitude", "accuracy", "batteryLevel", "end_device_ids"),
    *("dev_eui", "uplink_message", "frm_payload", "decoded_payload", "rx_metadata", "locations"),
    *("received_at", "downlink_failed", "error", "location_solved", "join_accept", "token"),
    *("cmd", "EUI", "ts", "gws", "dr", "DevEUI_uplink", "DevEUI_downlink_Sent", "DevEUI", "Lrrs"),
)
SOUND: dict[str, Json] = {
    "/network/chirpstack": {"deviceInfo": {"devEui": EUI}, "time": AT},
    "/network/ttn": {"end_device_ids": {"dev_eui": EUI}, "received_at": AT, "uplink_message": {}},
    "/network/loriot": {"cmd": "gw", "EUI": EUI, "ts": TIME * 1_000, "data": "00"},
    "/network/thingpark": {"DevEUI_uplink": {"DevEUI": EUI, "Time": AT, "payload_hex": "00"}},
}


@pytest.mark.slow
@on_sqlite
def test_no_message_causes_a_server_error(site: Site) -> None:
    for network in ("chirpstack", "ttn", "loriot", "thingpark"):
        site.ada.device(site.home, network=network, originalId=EUI)
    events = st.sampled_from(["up", "join", "status", "location", "log", "ack", "down", ""])
    statuses: dict[str, set[int]] = {path: set() for path in PATHS}

    @hypothesis_settings(
        max_examples=100,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.sampled_from(PATHS),
        st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=4), anything(NAMES), max_size=8),
        st.integers(0, 2),
        events,
        st.sampled_from(["json", "form", "query"]),
    )
    def call(path: str, odd: Json, soundness: int, event: str, spelling: str) -> None:
        sound = SOUND.get(path, vendor_message(data="00"))
        # Nothing sound, a sound beginning, or one of which the odd ones are a part.
        said = {0: odd, 1: {**odd, **sound}, 2: {**sound, **odd}}[soundness]
        query = {"event": event} if path.endswith("chirpstack") else {}
        request: Json = {"params": query}
        if spelling == "json":
            request["content"] = json.dumps(said)
        elif spelling == "form":
            request["content"] = urlencode({n: as_text(v) for n, v in said.items()})
        else:
            request["params"] = query | {n: as_text(v)[:500] for n, v in said.items()}
        response = site.network.calls(path.removeprefix("/network/"), **request)
        statuses[path].add(response.status_code)
        assert response.status_code in (200, 400, 404), f"{path} {said}: {response.text}"

    call()
    for path in PATHS:  # whatever was generated
        for soundness in (0, 1):
            call.hypothesis.inner_test(path, {}, soundness, "up", "json")
    assert all({200, 400} <= seen for seen in statuses.values()), statuses
    for kind in ("data", "event", "telemetry"):
        assert site.records(kind), "what was stored can be read"


# --- what a record causes ---


@pytest.mark.engine_free
def test_records_of_a_network_are_forwarded_like_all_others(site: Site) -> None:
    with Receiver() as receiver:
        site.ada.connector(site.home, receiver.url)
        said = vendor_message(seqNumber=1, computedLocation=LOCATION)
        for _ in range(2):
            ok(site.network.says("vendor/dataAdvanced", said))
        ok(site.network.says("vendor/data", vendor_message(data="0aff", seqNumber=1)))
        sent = [each.json for each in receiver.wait_for(3)]
        assert sorted(each["kind"] for each in sent) == ["data", "geoloc", "telemetry"]
        assert {each["deviceId"] for each in sent} == {site.device}
        assert {each["deviceName"] for each in sent} == {"crane"}
        (data,) = (each for each in sent if each["kind"] == "data")
        assert (data["__raw"], json.loads(data["data"])) == ("0aff", {"radio": {"seqNumber": 1}})
        eventually(lambda: site.totals()["totalConnectorMessageProcessed"] == 3)
        assert len(receiver.requests) == 3


def test_a_network_gets_its_response_only_after_the_commit(site: Site) -> None:
    world = site.world
    reached, opened = threading.Event(), threading.Event()
    submit = world.database.submit

    def held(work: Callable[[Tx], Any]) -> Any:
        if getattr(work, "func", None) != world.app._ingest.committers[0]._store_batch:
            return submit(work)

        def slowly(tx: Tx) -> Any:
            done = work(tx)  # all is said and done, but for the commit
            reached.set()
            assert opened.wait(60)
            return done

        return submit(slowly)

    world.database.submit = held  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as caller:
        said = vendor_message(batt=3.1)
        answer = caller.submit(site.network.says, "vendor/status", said)
        eventually(reached.is_set)
        try:
            assert site.records("event") == []
            assert not answer.done()
        finally:
            opened.set()
        assert ok(answer.result(120)) == STORED
    assert len(site.records("event")) == 1
    assert site.shown()["battery"] == "3.1 V"


# --- logs ---


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "human"])
def test_the_token_of_a_group_never_reaches_the_logs(
    sqlite_template: Path, tmp_path: Path, form: str
) -> None:
    data = copy_data_folder(sqlite_template, tmp_path / "data")
    service = Service(data, "--log-level", "debug", "--log-format", form)
    try:
        service.started()
        token = ok(service.post_group("harbour"))["token"]
        wrong = "canary-wrong-71c0"
        bearers = [{"Authorization": f"Bearer {each}"} for each in (token, wrong)]
        said = vendor_message(data="01")

        def calls() -> set[int]:
            asked = [("", bearer) for bearer in bearers]
            asked += [(f"?token={each}", {}) for each in (token, wrong)]
            post = service.http.post
            return {
                post(f"/network/vendor/data{query}", json=said, headers=headers).status_code
                for query, headers in asked
            }

        assert calls() == {401, 404}
        visitor = sqlite3.connect(data / "longwire.db")
        visitor.execute("alter table group_path rename to hidden")
        visitor.close()
        assert calls() == {401, 500}, "and it fails with the token in hand"
        assert service.stop() == 0
        written = service.out + service.err
        assert "/network/vendor/data" in written
        assert "unexpected error" in written
        assert token not in written
        assert wrong not in written
    finally:
        service.clean_up()


# --- limits ---


@on_sqlite
def test_a_network_is_rate_limited_like_any_other_client(
    make_world: Callable[..., World],
) -> None:
    world = make_world(requests_per_caller_per_s=1.0, requests_per_caller_burst=20)
    site = Site(world)
    world.clock.let_pass(seconds=60)
    other = network_of(site.ada, site.ada.group("other"))
    world.clock.let_pass(seconds=60)
    world.clock.freeze()
    answers = [
        site.network.says("vendor/data", vendor_message(data="01", time=TIME + number))
        for number in range(30)
    ]
    taken = [answer for answer in answers if answer.status_code == 200]
    assert len(taken) == 20
    refusal = answers[-1]
    refused(refusal, 429)
    assert refusal.headers["retry-after"] == "1"
    # Each token has its own, which is filled again with time; and nothing refused was stored.
    refused(other.says("vendor/data", vendor_message(data="01")), 404)
    world.clock.let_pass(seconds=60)
    ok(site.network.says("vendor/status", vendor_message(batt=3)))
    assert len(site.records("data")) == len(taken)

"""The JSON and the digest of a record: fixed, because stored rows and duplicates depend on them."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.api.records import records as api
from longwire.fleet.decoding import DecodedData
from longwire.inbound.ingest_requests import (
    ReceivedUplink,
    build_published_request,
    build_request,
)
from longwire.ingest.requests import IngestItem
from longwire.ingest.storing import build_event_item
from longwire.model import SYSTEM, ServiceEvent
from longwire.networks.base import ParsedUplink, Reading
from longwire.records import (
    KIND_NAMES,
    RECORD_TYPES,
    DataRecord,
    RecordKind,
    complete_record,
    digest_record,
    encode_record,
    parse_data_record,
    parse_record,
    to_members,
)
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.web.fields import InputLimits

NOON = 1_772_366_400_000_000
DEVICE = NetworkDevice("dev_1", "probe", '{"every":10}', 5, "vendor", 42)
AT_NOON = '{"deviceId":"dev_1","timestamp":"2026-03-01T12:00:00.000Z","groupId":"42"'
AT_DAWN = '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00.000Z","groupId":"42"'


def check(item: IngestItem, kind: str, digest: str, body: str) -> None:
    stored = complete_record(item.record, "42", "Cold room 7")
    assert stored.body == body
    assert item.digest.hex() == digest
    assert item.record.kind.label == kind
    assert parse_record(item.record.kind, body) == stored
    assert to_members(stored.record) == json.loads(body)


@pytest.mark.parametrize(
    "kind, sent, digest, body",
    [
        (
            "data",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T07:30:00+01:00","data":"{\\"t\\":21.5}",'
            '"configuration":"{}","__raw":"0a1b","deviceType":"probe"}',
            "8884f7ed95e8659c02808c2f1b472d19",
            AT_DAWN + ',"data":"{\\"t\\":21.5}","configuration":"{}","__raw":"0a1b",'
            '"deviceType":"probe","deviceName":"Cold room 7"}',
        ),
        (
            "data",
            '{"groupId":"42","deviceName":"As \\"sent\\" ü","reason":"periodic","mode":"1",'
            '"deviceType":"","__raw":"","configuration":"","data":"","timestamp":1772346600.25,'
            '"deviceId":"dev_ü/1"}',
            "8de461d4c3203a28d1c6365898c70f42",
            '{"deviceId":"dev_ü/1","timestamp":"2026-03-01T06:30:00.250Z","groupId":"42",'
            '"data":"","configuration":"","__raw":"","deviceType":"","mode":"1",'
            '"reason":"periodic","deviceName":"As \\"sent\\" ü"}',
        ),
        (
            "data",
            '{"deviceId":"dev_1","timestamp":"2026-03-01","data":"x","configuration":"{}",'
            '"__raw":"00","deviceType":"probe","mode":null,"decodedNames":["t"],"more":1}',
            "f26e81a89092ea35216cae09b71f52fb",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T00:00:00.000Z","groupId":"42",'
            '"data":"x","configuration":"{}","__raw":"00","deviceType":"probe",'
            '"deviceName":"Cold room 7"}',
        ),
        (
            "event",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00Z","type":"doorOpened"}',
            "2c2ea2702aa20409ca57d6d87c4bfb34",
            AT_DAWN + ',"type":"doorOpened"}',
        ),
        (
            "event",
            '{"severity":"high","data":"{}","message":"says \\"deviceName\\": none",'
            '"deviceType":"button","type":"opened","groupId":"42",'
            '"timestamp":"2026-03-01T06:30:00.123456Z","deviceId":"dev_1"}',
            "8053040a512d2dfb3a287bc6257b1a3d",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00.123456Z","groupId":"42",'
            '"type":"opened","deviceType":"button","message":"says \\"deviceName\\": none",'
            '"data":"{}","severity":"high"}',
        ),
        (
            "geoloc",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00Z"}',
            "a389076c658882376b0960427b75b589",
            AT_DAWN + "}",
        ),
        (
            "geoloc",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00Z","status":1,"source":2,'
            '"radius":7800,"lat":51,"lng":-4.14,"location":"port","data":"{}","__raw":"ff"}',
            "89e696c0914b173580a449304e8cea9e",
            AT_DAWN + ',"status":1,"source":2,"radius":7800,"lat":51.0,"lng":-4.14,'
            '"location":"port","data":"{}","__raw":"ff"}',
        ),
        (
            "telemetry",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00Z","deviceType":"probe"}',
            "328f89441ea2b304e540f5907ad1c4b5",
            AT_DAWN + ',"deviceType":"probe"}',
        ),
        (
            "telemetry",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00Z","deviceType":"probe",'
            '"duplicates":["{}","x"],"data":"{}","score":-3,"nbBs":4,"rc":1}',
            "3cad6eff9e85c90136d531592339effd",
            AT_DAWN + ',"deviceType":"probe","duplicates":["{}","x"],"data":"{}","score":-3,'
            '"nbBS":4,"rc":1}',
        ),
        (
            "telemetry",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T06:30:00Z","deviceType":"probe",'
            '"duplicates":[],"nbBS":4,"nbBs":4}',
            "503fea952514c5f744e5ed1eab696fef",
            AT_DAWN + ',"deviceType":"probe","duplicates":[],"nbBS":4}',
        ),
    ],
)
def test_a_record_that_is_posted(kind: str, sent: str, digest: str, body: str) -> None:
    check(api.parse_published_record(InputLimits(), kind, sent.encode()), kind, digest, body)


DATA = Reading(
    "data", None, {"raw": "0a1b", "data": {"seqNumber": 7, "b": 1.0, "a": [1]}, "mode": "1"}
)


@pytest.mark.parametrize(
    "reading, digest, rest",
    [
        (
            DATA,
            "2ab7cafe6a467ff3d94263f9a6a9a12f",
            '"data":"{\\"seqNumber\\":7,\\"b\\":1.0,\\"a\\":[1]}",'
            '"configuration":"{\\"every\\":10}","__raw":"0a1b","deviceType":"probe","mode":"1",'
            '"deviceName":"Cold room 7"}',
        ),
        (
            Reading("event", NOON, {"type": "joined", "data": {"x": 1}, "severity": "info"}),
            "700fdb79bcd81f4a7253a65ee3969258",
            '"type":"joined","deviceType":"probe","data":"{\\"x\\":1}","severity":"info"}',
        ),
        (
            Reading(
                "geoloc",
                NOON,
                {
                    "lat": 51,
                    "lng": 4.14,
                    "radius": 7800,
                    "source": 2,
                    "status": 1,
                    "data": {"x": 1},
                },
            ),
            "95d4132d7f97912c5652742c87c3313c",
            '"status":1,"source":2,"radius":7800,"lat":51,"lng":4.14,"data":"{\\"x\\":1}"}',
        ),
        (
            Reading(
                "telemetry",
                NOON,
                {"score": -3, "stations": 4, "duplicates": ['{"rssi":-100}'], "rc": 1},
            ),
            "2029d8e171c9e43d79bb301312593f1e",
            '"deviceType":"probe","duplicates":["{\\"rssi\\":-100}"],"score":-3,"nbBS":4,"rc":1}',
        ),
    ],
)
def test_a_record_of_an_uplink(reading: Reading, digest: str, rest: str) -> None:
    check(uplink_item(reading), reading.kind, digest, f"{AT_NOON},{rest}")


def test_the_digest_of_an_uplink_does_not_depend_on_decoding() -> None:
    item = uplink_item(DATA, DecodedData({"seqNumber": 7, "t": 21.5}, ["t"]))
    check(
        item,
        "data",
        "2ab7cafe6a467ff3d94263f9a6a9a12f",
        AT_NOON + ',"data":"{\\"seqNumber\\":7,\\"t\\":21.5}","configuration":"{\\"every\\":10}",'
        '"__raw":"0a1b","deviceType":"probe","mode":"1","deviceName":"Cold room 7",'
        '"decodedNames":["t"]}',
    )


def uplink_item(reading: Reading, decoded: DecodedData | None = None) -> IngestItem:
    uplink = ParsedUplink(original_id="1", readings=(reading,))
    return build_request(ReceivedUplink(SYSTEM, DEVICE, uplink, NOON), decoded).items[0]


@pytest.mark.parametrize(
    "kind, published, digest, body",
    [
        (
            "data",
            '{"data":"{}","deviceName":"As sent"}',
            "d114f8549f480bd7135e0fb6a5ad315f",
            AT_NOON + ',"data":"{}","configuration":"{\\"every\\":10}","__raw":"",'
            '"deviceType":"probe","deviceName":"As sent"}',
        ),
        (
            "data",
            '{"timestamp":"2026-03-01","data":"{}","__raw":"ff","configuration":"{}",'
            '"deviceType":"x","deviceId":"dev_1"}',
            "9651747e579ffd315fb3d61ed932215a",
            '{"deviceId":"dev_1","timestamp":"2026-03-01T00:00:00.000Z","groupId":"42",'
            '"data":"{}","configuration":"{}","__raw":"ff","deviceType":"x",'
            '"deviceName":"Cold room 7"}',
        ),
        (
            "event",
            '{"severity":"x","type":"a"}',
            "192d316c155201857f65cde5529412c6",
            AT_NOON + ',"type":"a","deviceType":"probe","severity":"x"}',
        ),
        (
            "geoloc",
            '{"lat":51,"lng":4}',
            "5ae77927dcf56d12cbd3f4f16ac073ad",
            AT_NOON + ',"lat":51.0,"lng":4.0}',
        ),
        (
            "telemetry",
            '{"nbBs":3}',
            "984acc6dcc0a48f69f9b48ce4bb42b86",
            AT_NOON + ',"deviceType":"probe","nbBS":3}',
        ),
    ],
)
def test_a_record_that_is_published(kind: str, published: str, digest: str, body: str) -> None:
    members = msgspec.json.decode(published, type=dict[str, msgspec.Raw])
    request = build_published_request(
        SYSTEM,
        DEVICE,
        kind,
        members,
        NOON,
        lambda kind_name, raw: api.parse_published_record(InputLimits(), kind_name, raw),
    )
    check(request.items[0], kind, digest, body)


@pytest.mark.parametrize(
    "event, digest, body",
    [
        (
            ServiceEvent(
                "dev_1", "deviceSilent", NOON, "no message", "warning", {"a": 1, "b": "x"}
            ),
            "4180bec82c5c51fed3cedb70baf532fc",
            AT_NOON + ',"type":"deviceSilent","message":"no message",'
            '"data":"{\\"a\\":1,\\"b\\":\\"x\\"}","severity":"warning"}',
        ),
        (
            ServiceEvent("dev_1", "deviceBack", NOON),
            "05aeafa9588e3e5e4fdf9c93a60f0ea4",
            AT_NOON + ',"type":"deviceBack"}',
        ),
    ],
)
def test_an_event_of_the_service(event: ServiceEvent, digest: str, body: str) -> None:
    check(build_event_item(event), "event", digest, body)


# --- rules ---


def test_every_kind_has_its_number_its_name_and_its_type() -> None:
    assert [(kind.value, kind.label) for kind in RecordKind] == list(enumerate(KIND_NAMES))
    assert KIND_NAMES == ("data", "event", "geoloc", "telemetry")
    assert [each.kind.label for each in RECORD_TYPES.values()] == list(KIND_NAMES)


@pytest.mark.parametrize("kind", api.KINDS, ids=lambda kind: kind.name)
def test_a_record_has_every_field_that_can_be_sent(kind: api.Kind) -> None:
    sent = set(kind.input.__struct_fields__) - {"stations_small"}
    assert sent == set(RECORD_TYPES[kind.name].__struct_fields__) - {"decoded_names"}


TEXTS = st.text(max_size=20)


@pytest.mark.slow
@given(
    st.builds(
        DataRecord,
        device_id=TEXTS,
        timestamp=TEXTS,
        data=TEXTS,
        configuration=TEXTS,
        raw=TEXTS,
        device_type=TEXTS,
        mode=TEXTS | st.none(),
        device_name=TEXTS | st.none(),
        decoded_names=st.lists(TEXTS, max_size=3) | st.none(),
    )
)
def test_the_name_of_the_device_is_no_content(record: DataRecord) -> None:
    named = msgspec.structs.replace(record, device_name="another")
    assert digest_record(named) == digest_record(record)
    stored = complete_record(record, "42", "Cold room 7")
    assert parse_data_record(stored.body) == stored.record
    assert encode_record(stored.record) == stored
    assert record.group_id is None, "the record that was sent is unchanged"

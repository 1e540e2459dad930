"""Requests to the APIs of networks: downlinks and device registrations."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from longwire.delivery.destinations.base import Delivered, Refused
from longwire.delivery.http import api_client
from longwire.delivery.http.api_client import RETRYABLE_STATUSES_AND_AUTH, ApiResponse
from longwire.networks import chirpstack, chirpstack_grpc, loriot, thingpark, ttn, vendor
from longwire.networks.base import ApiReply, DownlinkFrame
from longwire.networks.lorawan import is_eui

DOWNLINK = DownlinkFrame(
    id="dwn_1",
    original_id="01AB/../x",
    payload=b"\xbe\xef",
    port=15,
    is_confirmed=True,
    expires_at=1_794_731_400_000_000,
)


def test_the_device_id_is_escaped_in_the_path_for_chirpstack() -> None:
    request = chirpstack.push_request(DOWNLINK, "", "key", 0)
    assert request.path == "/api/devices/01ab%2F..%2Fx/queue"
    assert request.headers == {"Grpc-Metadata-Authorization": "Bearer key"}
    assert request.body == {
        "queueItem": {
            "confirmed": True,
            "data": "vu8=",
            "expiresAt": "2026-11-15T08:30:00.000Z",
            "fPort": 15,
        }
    }


def _frames(*frames: tuple[int, bytes]) -> bytes:
    return b"".join(bytes([flag]) + len(each).to_bytes(4, "big") + each for flag, each in frames)


def test_the_api_of_chirpstack_itself_is_transcoded() -> None:
    sent = chirpstack.push_request(replace(DOWNLINK, original_id="01" * 8), "", "key", 0)
    enqueue = chirpstack_grpc.transcode_request("POST", sent)
    item = (
        b"\x12\x10" + b"01" * 8 + b"\x18\x01\x20\x0f\x2a\x02\xbe\xef"
        b"\x52\x06\x08" + _varint(1_794_731_400)
    )
    body = b"\x0a" + bytes([len(item)]) + item
    assert enqueue.path == "/api.DeviceService/Enqueue"
    assert enqueue.raw_body == _frames((0, body))
    queue = chirpstack_grpc.transcode_request("GET", sent)
    assert queue.path == "/api.DeviceService/GetQueue"
    assert queue.raw_body == _frames((0, b"\x0a\x10" + b"01" * 8))
    assert queue.headers["Authorization"] == "Bearer key"


def _varint(value: int) -> bytes:
    shifts = range(0, value.bit_length(), 7)
    groups = [value >> shift & 0x7F for shift in shifts]
    return bytes(each | 0x80 for each in groups[:-1]) + bytes(groups[-1:])


GRPC = {"Content-Type": "application/grpc-web+proto"}
ENDED = (0x80, b"grpc-status: 0\r\n")


def test_the_queue_of_chirpstack_itself_is_transcoded() -> None:
    expiry = b"\x08" + _varint(1_794_731_400)
    item = (
        b"\x0a\x06item-1\x18\x01\x20\x0f\x2a\x02\xbe\xef\x52"
        + bytes([len(expiry)])
        + expiry
        + b"\x65\0\0\0\0\x69\0\0\0\0\0\0\0\0"  # numbers of a later version
    )
    message = b"\x08\x02\x12" + bytes([len(item)]) + item + b"\x12\x04\x0a\x02ab"
    found = chirpstack_grpc.transcode_response("GET", 200, GRPC, _frames((0, message), ENDED))
    assert found is not None
    status, body = found
    assert (status, len(json.loads(body)["result"])) == (200, 2)
    assert chirpstack.find_in_queue(body, DOWNLINK) == "item-1"


@pytest.mark.parametrize(
    ("status", "headers", "body", "expected"),
    [
        (200, GRPC, _frames((0, b"\x0a\x02ab"), ENDED), (200, b'{"id":"ab"}')),
        (200, GRPC, _frames((0x80, b"grpc-status:7\r\ngrpc-message:no")), (403, b"{}")),
        (200, {**GRPC, "Grpc-Status": "14"}, b"", (503, b"{}")),
        (200, {**GRPC, "Grpc-Status": "99"}, b"", (500, b"{}")),
        (502, {**GRPC, "Grpc-Status": "2"}, b"", (502, b"{}")),
        (200, GRPC, b"", None),
        (200, GRPC, b"\0\0\0\0\x09ab", None),
        (200, GRPC, _frames((0, b"\x0a\x09ab"), ENDED), None),
        (200, GRPC, _frames((0, b"\x0b"), ENDED), None),
        (200, GRPC, _frames((0, b"\x08\xff"), ENDED), None),
        (200, GRPC, _frames((0, b"\x08\x01"), ENDED), None),
        (200, GRPC, _frames((0, b""), ENDED), (200, b'{"id":null}')),
        (404, {"Content-Type": "text/html"}, b"<html>", None),
        (404, {}, b"", None),
    ],
)
def test_any_response_of_chirpstack_itself_is_transcoded_or_is_none(
    status: int, headers: dict[str, str], body: bytes, expected: tuple[int, bytes] | None
) -> None:
    found = chirpstack_grpc.transcode_response("POST", status, headers, body)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0102030405060708", True),
        ("ABCDEFabcdef0123", True),
        *((each, False) for each in ("", "..", "010203040506070", "01020304050607080")),
        *(
            (each, False)
            for each in ("01-02-03-04-05-06", "010203040506070g", "0102030405060708\n")
        ),
        ("\u0660" * 16, False),
    ],
)
def test_an_eui_has_sixteen_hex_digits(text: str, is_one: bool) -> None:
    assert is_eui(text) is is_one


def test_a_downlink_for_loriot_names_the_application() -> None:
    request = loriot.push_request(DOWNLINK, "BE7A2562", "key", 0)
    assert request.path == "/1/rest"
    assert request.headers == {"Authorization": "Bearer key"}
    assert request.body == {
        **{"cmd": "tx", "EUI": "01AB/../X", "port": 15, "confirmed": True, "data": "beef"},
        "appid": "BE7A2562",
    }


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"cmd":"tx","EUI":"0102030405060708","success":"Data enqueued"}', None),
        (b'{"cmd":"tx","error":"Unknown device"}', "Unknown device"),
        (b'{"error":{}}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_loriot_may_report_an_error_with_success(body: bytes, error: str | None) -> None:
    assert loriot.parse_reply(body, DOWNLINK) == ApiReply(error=error)


@pytest.mark.parametrize(
    ("time", "quoted", "token"),
    [
        (
            *("2016-01-11T14:28:00.333+02:00", "2016-01-11T14%3A28%3A00.333%2B02%3A00"),
            "ea8f31d2299cbece8e180a3012766c4df15fe3cf2e142d9fdf4035b5894ec886",
        ),
        (
            *("2016-01-11T14:28:00", "2016-01-11T14%3A28%3A00"),
            "b5a84fe9c8921e9de359e3041a37b76c4b122f6f9b83577b5596c842052f7e62",
        ),
    ],
)
def test_a_request_to_thingpark_is_signed_as_in_its_published_examples(
    time: str, quoted: str, token: str
) -> None:
    values = {"DevEUI": "000000000F1D8693", "FPort": "1", "Payload": "00"}
    values |= {"AS_ID": "app1.sample.com", "Time": time}
    assert thingpark.sign_query(values, "46ab678cd45df4a4e4b375Eacd096acc") == (
        "DevEUI=000000000F1D8693&FPort=1&Payload=00&AS_ID=app1.sample.com"
        f"&Time={quoted}&Token={token}"
    )


ITEM = {
    **{"id": "item-1", "devEui": "01ab", "confirmed": True, "fPort": 15, "data": "vu8="},
    **{"isPending": False, "expiresAt": "2026-11-15T08:30:00Z"},
}


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ({"totalCount": 1, "result": [ITEM]}, "item-1"),
        ({"result": [{**ITEM, "expiresAt": "2026-11-15T08:30:00.000000000+00:00"}]}, "item-1"),
        (
            {"result": [{**ITEM, "id": "other", "expiresAt": "2026-11-15T08:30:01Z"}, ITEM]},
            "item-1",
        ),
        ({"result": [{**ITEM, "expiresAt": "2026-11-15T08:30:00.000001Z"}]}, None),
        ({"result": [{**ITEM, "expiresAt": None}]}, None),
        ({"result": [{**ITEM, "data": "vu4="}]}, None),
        ({"result": [{**ITEM, "fPort": 16}]}, None),
        ({"result": [{**ITEM, "id": ["x"]}]}, None),
        ({"result": ["x"]}, None),
        ({"code": 16, "message": "unauthenticated"}, None),
        ([], None),
        ("<html>", None),
    ],
)
def test_a_downlink_is_found_in_the_queue_of_chirpstack(response: Any, name: str | None) -> None:
    body = response.encode() if isinstance(response, str) else json.dumps(response).encode()
    assert chirpstack.find_in_queue(body, DOWNLINK) == name


def test_a_downlink_for_the_things_stack_carries_our_correlation_id() -> None:
    (message,) = ttn.push_body(DOWNLINK)["downlinks"]
    body = {
        "end_device_ids": {"dev_eui": "0102030405060708"},
        "downlink_ack": {**message, "correlation_ids": ["as:up:1", *message["correlation_ids"]]},
    }
    update = ttn.parse(body).downlink
    assert update is not None
    assert (update.id, update.state) == ("dwn_1", "acknowledged")


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            {"id": "1F", "device_type_id": "5d", "device_name": "Buoy"},
            {"id": "1F", "deviceTypeId": "5d", "name": "Buoy", "pac": "77"},
        ),
        (
            {"id": "1F", "automatic_renewal": False, "activable": True, "lat": 0.5, "lng": 0.0},
            {"id": "1F", "automaticRenewal": False, "activable": True, "lat": 0.5, "lng": 0.0}
            | {"pac": "77"},
        ),
    ],
)
def test_a_registration_uses_the_field_names_of_the_vendor(
    request_: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert vendor.registration_body(request_, "77") == expected


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        *((each, True) for each in (400, 404, 409, 410, 422)),
        *((each, False) for each in (301, 401, 403, 408, 429, 500, 503)),
    ],
)
def test_a_permanent_error_is_not_retried(status: int, is_final: bool) -> None:
    refusal = api_client.outcome_of_response(
        ApiResponse(status, b""), 0, retryable=RETRYABLE_STATUSES_AND_AUTH
    )
    assert refusal == Refused(f"answered with status {status}", is_final=is_final, status=status)


def test_the_outcome_has_the_detail_or_retry_after_of_the_response() -> None:
    assert api_client.outcome_of_response(ApiResponse(202, b""), 0, detail="it") == Delivered(
        "it", status=202
    )
    limited = api_client.outcome_of_response(ApiResponse(429, b"", "7"), 0)
    assert limited == Refused("answered with status 429", retry_after_s=7, status=429)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"id":"a"}', "a"),
        (b'{"id":7}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"\xff", None),
        (b"[" * 60_000, None),
    ],
)
def test_a_string_is_read_from_any_response_body(body: bytes, found: str | None) -> None:
    assert ApiResponse(200, body).get_string("id") == found

"""Messages to devices, on each network: from asking for one to what became of it."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from longwire.delivery.engine import engine
from longwire.delivery.engine.worker import PROBE_AFTER
from longwire.delivery.http.egress import NOT_RESOLVED
from longwire.errors import Unavailable
from longwire.fleet import device_types, downlink_grants, network_downlinks
from longwire.fleet.codec_guard import BURST_MS, MS_PER_S, CodecCaller
from longwire.fleet.downlinks import QUEUED_MAX
from longwire.inbound import downlinks as inbound_downlinks
from longwire.model import SYSTEM
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_leases
from longwire.store.fleet import downlinks as store_downlinks
from longwire.store.schema import metadata
from longwire.store.slots import run_in_slot
from tests.delivery.receiver import HANG_UP, Received, Receiver, StubResponse
from tests.waiting import eventually
from tests.world import World, nothing_happens, ok, record_of, refused, walk

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

Json = dict[str, Any]

TIME = 1_794_731_400
EUI = "0102030405060708"
QUEUE_ID = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"
QUEUED = StubResponse(body=json.dumps({"id": QUEUE_ID}).encode())
NOTHING_QUEUED = StubResponse(body=b'{"totalCount":0,"result":[]}')
CODEC = """
function decodeUplink(input) { return {data: {}}; }
function encodeDownlink(input) {
  if (input.data.level > 100) return {errors: ["too high"]};
  return {bytes: [1, input.data.level], fPort: 7};
}
"""


class Site:
    """Somebody with a group, a device on a network, and the group's token."""

    def __init__(self, world: World, network: str, original_id: str, **fields: Any) -> None:
        self.world = world
        self.network = network
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.device = self.ada.device(self.home, network=network, originalId=original_id, **fields)
        self.token = ok(self.ada.get("/group", groupId=self.home))[0]["token"]

    def asks(self, payload: str = "0102030405060708", **fields: Any) -> httpx.Response:
        body = {"deviceId": self.device, "payload": payload, **fields}
        return self.ada.post("/device/downlink", body)

    def queues(self, payload: str = "0102030405060708", **fields: Any) -> str:
        return str(ok(self.asks(payload, **fields))["id"])

    def says(self, path: str, body: Any, headers: Any = None, **params: Any) -> Any:
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        url = f"/network/{path}"
        return ok(self.world.http.post(url, json=body, headers=sent, params=params))

    def listed(self) -> list[Json]:
        def page(**params: Any) -> httpx.Response:
            return self.ada.get("/device/downlinks", **params)

        return walk(page, deviceId=self.device)

    def state(self, downlink: str) -> str:
        return next(each["state"] for each in self.listed() if each["id"] == downlink)

    def list_states(self, downlink: str | None = None) -> list[str]:
        """What the events of the device tell of messages to it, in the order they came."""
        events = [
            each
            for each in self.ada.records(self.device, "event")
            if each["type"].startswith("downlink") and "_" not in each["type"]
        ]
        return [
            each["type"].removeprefix("downlink")
            for each in events
            if downlink in (None, json.loads(each["data"])["id"])
        ]

    def allow(self, network: str | None = None) -> None:
        """The operator lets the group send through his key of a network."""
        self.world.write(
            lambda tx: downlink_grants.allow(tx, SYSTEM, self.home, network or self.network)
        )

    def becomes(self, downlink: str, state: str) -> None:
        eventually(lambda: self.state(downlink) == state)


# --- the vendor's network ---


class VendorSite(Site):
    def __init__(self, world: World) -> None:
        super().__init__(world, "vendor", "1FD48BE")

    def uplink(self, second: int, **fields: Any) -> str | None:
        """A message that waits for a downlink; what it is answered with."""
        said = {"device": "01fd48be", "time": TIME + second, "data": "00", "seqNumber": second}
        answer = self.says("vendor/data", {**said, "ack": True, **fields})["01fd48be"]
        assert answer == {"noData": True} or set(answer) == {"downlinkData"}
        return answer.get("downlinkData")

    def uplink_only(self, second: int) -> None:
        """A message that waits for nothing."""
        said = {"device": "1FD48BE", "time": TIME + second, "data": "00", "seqNumber": second}
        assert self.says("vendor/data", said) == {"message": "stored"}

    def acknowledges(self, second: int, code: int = 0, **fields: Any) -> None:
        said = {"device": "1FD48BE", "time": TIME + second, "infoCode": code}
        self.says("vendor/acknowledge", {**said, "downlinkAck": code == 0, **fields})

    def counted(self) -> int:
        now = self.world.clock.now() // 1_000_000
        asked = {"beginDate": str(now - 3_600), "endDate": str(now + 60), "groupId": self.home}
        items = ok(self.ada.get("/group/metrics", **asked))["items"]
        return sum(each["totalDeviceVendorDownlink"] for each in items)


@pytest.mark.slow
@pytest.mark.engine_free
def test_the_vendor_fetches_the_oldest_message_once_and_tells_what_became_of_it(
    world: World,
) -> None:
    site = VendorSite(world)
    assert site.uplink(0) is None
    first, second = site.queues("DEADBEEFCAFEBABE"), site.queues("0000000000000002")
    assert site.uplink(0, ack=False, seqNumber=99, longPolling=True) == "deadbeefcafebabe"
    assert site.uplink(0, ack=False, seqNumber=99, longPolling=True) == "deadbeefcafebabe"
    assert site.counted() == 1
    assert [site.state(each) for each in (first, second)] == ["sent", "queued"]
    assert site.uplink(20) == "0000000000000002"
    assert site.uplink(20) == "0000000000000002", "also when the first is asked for once more"
    assert site.uplink(0, ack=False, seqNumber=99, longPolling=True) == "deadbeefcafebabe"
    assert site.uplink(40) is None
    assert site.counted() == 2

    site.acknowledges(10)
    assert [site.state(each) for each in (first, second)] == ["acknowledged", "sent"]
    site.acknowledges(30, code=1)
    site.acknowledges(10)
    site.acknowledges(30, code=1)
    assert [site.state(each) for each in (first, second)] == ["acknowledged", "failed"]
    assert site.list_states(first) == ["Queued", "Sent", "Acknowledged"]
    assert site.list_states(second) == ["Queued", "Sent", "Failed"]

    newest, oldest = site.listed()
    assert (newest["id"], oldest["id"]) == (second, first)
    assert newest["detail"] == "NO_ANSWER"
    event = next(
        each for each in site.ada.records(site.device, "event") if each["type"] == "downlinkQueued"
    )
    asked = json.loads(event["data"])
    assert (asked["id"], asked["payload"], asked["confirmed"]) == (
        first,
        "deadbeefcafebabe",
        False,
    )


def test_an_acknowledgement_is_about_the_message_that_asked_last(world: World) -> None:
    site = VendorSite(world)
    site.acknowledges(0, code=1)
    first = site.queues()
    assert site.uplink(10) is not None
    site.uplink_only(20)
    odd = record_of(site.device, "data", timestamp=str(TIME + 25), data="[" * 50_000)
    ok(site.ada.post("/device/data", odd))
    assert site.uplink(30) is None
    site.acknowledges(40, code=1)
    assert site.state(first) == "sent", "what was not answered was answered with nothing"
    site.acknowledges(45, code=1, seqNumber=30)
    assert site.state(first) == "sent"
    site.acknowledges(25)
    assert site.state(first) == "acknowledged"

    second = site.queues()
    assert site.uplink(50, ack=False, longPolling=True) is not None
    assert site.uplink(60) is None
    site.acknowledges(70, code=4, seqNumber="50")
    assert site.state(second) == "failed", "the number says more than the time"
    assert site.list_states(second) == ["Queued", "Sent", "Failed"]


@pytest.mark.engine_free
def test_two_callbacks_at_the_same_moment_get_the_same_message(world: World) -> None:
    site = VendorSite(world)
    for number in range(4):
        site.queues(f"{number:016x}")
    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(lambda _: site.uplink(7), range(8)))
        others = list(callers.map(site.uplink, (8, 9, 10)))
    assert set(answers) == {"0000000000000000"}
    assert sorted(filter(None, others)) == [f"{number:016x}" for number in (1, 2, 3)]
    assert site.counted() == 4
    assert sorted(site.list_states()) == ["Queued"] * 4 + ["Sent"] * 4


@pytest.mark.engine_free
def test_a_message_whose_time_is_over_is_never_sent_and_one_can_be_taken_back(
    world: World,
) -> None:
    site = VendorSite(world)
    short, taken_back, long = (
        site.queues(expiresIn=60),
        site.queues(),
        site.queues("ff" * 8, expiresIn=3_600),
    )
    named = {"downlinkId": taken_back, "deviceId": site.device}
    assert ok(site.ada.delete("/device/downlink", **named))["state"] == "cancelled"
    refused(site.ada.delete("/device/downlink", **named), 409)
    refused(site.ada.delete("/device/downlink", **{**named, "downlinkId": "dwn_x"}), 404)
    world.clock.let_pass(seconds=61)
    assert site.uplink(0) == "ff" * 8, "nobody has looked at the clock yet, or just now"
    site.becomes(short, "expired")
    assert site.uplink(1) is None
    assert site.list_states(short) == ["Queued", "Expired"]
    assert site.list_states(taken_back) == ["Queued", "Cancelled"]
    assert site.list_states(long) == ["Queued", "Sent"]


@pytest.mark.slow
@on_sqlite
def test_who_may_send_to_a_device_and_what_is_refused(world: World) -> None:
    site = VendorSite(world)
    viewer, stranger = world.person("vera"), world.person("sam")
    site.ada.invite(viewer, site.home, "viewer")
    other = stranger.group("other")
    body = {"deviceId": site.device, "payload": "00" * 8}
    queued = site.queues()
    with nothing_happens(world):
        refused(viewer.post("/device/downlink", body), 403)
        refused(viewer.post("/device/downlink", {**body, "groupId": site.home}), 403)
        refused(stranger.post("/device/downlink", body), 404, "deviceId")
        refused(stranger.post("/device/downlink", {**body, "groupId": other}), 404, "deviceId")
        refused(site.ada.post("/device/downlink", {**body, "groupId": other}), 404, "groupId")
        for wrong, fields in (
            ({"payload": "00" * 7}, ("payload",)),
            ({"payload": "0x" * 8}, ("payload",)),
            ({"payload": None}, ("payload", "data")),
            ({"data": {}}, ("payload", "data")),
            ({"payload": None, "data": {}}, ("data",)),
            ({"port": 0, "expiresIn": 0}, ("port", "expiresIn")),
            ({"expiresIn": 10**9, "confirmed": "yes"}, ("expiresIn", "confirmed")),
        ):
            refused(site.ada.post("/device/downlink", {**body, **wrong}), 400, *fields)
    other_network = site.ada.device(site.home, network="somewhere")
    with nothing_happens(world):
        assert (
            "somewhere"
            in refused(site.ada.post("/device/downlink", {**body, "deviceId": other_network}), 409)[
                "message"
            ]
        )
        named = {"downlinkId": queued, "deviceId": site.device}
        refused(viewer.delete("/device/downlink", **named), 403)
        refused(stranger.delete("/device/downlink", **named), 404, "deviceId")
        refused(
            site.ada.delete("/device/downlink", **{**named, "deviceId": other_network}),
            404,
            "downlinkId",
        )
        refused(stranger.get("/device/downlinks", deviceId=site.device), 404, "deviceId")
    assert [
        each["id"] for each in ok(viewer.get("/device/downlinks", deviceId=site.device))["items"]
    ] == [queued]
    for _ in range(QUEUED_MAX - 1):
        site.queues()
    assert str(QUEUED_MAX) in refused(site.asks(), 409)["message"]
    assert len(site.listed()) == QUEUED_MAX


def test_what_waits_for_a_device_does_not_follow_it_into_another_group(world: World) -> None:
    site = VendorSite(world)
    downlink = site.queues(expiresIn=60)
    away = site.ada.group("away")
    move = {"deviceId": site.device, "groupId": site.home, "toGroupId": away}
    ok(site.ada.put("/device/transfer", move))
    site.token = ok(site.ada.get("/group", groupId=away))[0]["token"]
    assert site.uplink(0) is None
    assert site.listed() == []
    before = site.list_states()
    world.clock.let_pass(seconds=61)
    eventually(lambda: states(world) == {downlink: "expired"})
    assert site.list_states() == before, "whoever has it now did not ask for it"
    ok(site.ada.delete("/device", deviceId=site.device, groupId=away))
    assert states(world) == {}


@pytest.mark.slow
@on_sqlite
def test_what_the_last_group_left_waiting_takes_no_room_in_the_next(world: World) -> None:
    site = VendorSite(world)
    for _ in range(QUEUED_MAX):
        site.queues()
    away = site.ada.group("away")
    move = {"deviceId": site.device, "groupId": site.home, "toGroupId": away}
    ok(site.ada.put("/device/transfer", move))
    site.queues()


@on_sqlite
def test_of_several_messages_of_a_device_in_one_callback_the_last_is_answered(
    world: World,
) -> None:
    site = VendorSite(world)
    first, second = site.queues("00" * 8), site.queues("11" * 8)
    lines = f"1FD48BE;{TIME};00;1;true\n01fd48be;{TIME + 1};00;2;true"

    def call() -> Json:
        sent = {"Authorization": f"Bearer {site.token}"}
        return ok(world.http.post("/network/vendor/data", data={"batch": lines}, headers=sent))

    answer = call()
    assert list(answer.values()) == [{"downlinkData": "00" * 8}]
    assert [site.state(each) for each in (first, second)] == ["sent", "queued"]
    assert call() == answer


def states(world: World) -> dict[str, str]:
    table = metadata.tables["downlink"]
    return world.read(lambda tx: {row.id: row.state for row in tx.rows(table.select())})


# --- ChirpStack ---


def chirpstack(receiver: Receiver) -> dict[str, str]:
    return {"chirpstack_api_url": receiver.url, "chirpstack_api_key": "canary-key"}


class ChirpStackSite(Site):
    def __init__(self, world: World, **fields: Any) -> None:
        super().__init__(world, "chirpstack", EUI.upper(), **fields)
        self.allow()

    def event(self, event: str, **said: Any) -> None:
        body = {"deviceInfo": {"devEui": EUI}, "time": "2026-11-15T08:30:00Z", **said}
        self.says("chirpstack", body, event=event)


@pytest.mark.slow
def test_a_message_is_queued_at_chirpstack_and_its_events_name_it(
    make_world: Callable[..., World],
) -> None:
    with Receiver(QUEUED) as receiver:
        world = make_world(**chirpstack(receiver))
        site = ChirpStackSite(world)
        with nothing_happens(world):
            refused(site.asks("00"), 400, "port")
            refused(site.asks("", port=1), 400, "payload")
        downlink = site.queues("0aff", port=10, confirmed=True, expiresIn=600)
        site.becomes(downlink, "sent")
        (request,) = receiver.wait_for(1)
        assert (request.method, request.path) == ("POST", f"/hook/api/devices/{EUI}/queue")
        assert request.headers["grpc-metadata-authorization"] == "Bearer canary-key"
        expires = next(each["expiresAt"] for each in site.listed())
        assert request.json == {
            "queueItem": {"confirmed": True, "data": "Cv8=", "expiresAt": expires, "fPort": 10}
        }
        assert site.listed()[0]["detail"] == "the network has taken it"
        site.event("txack", queueItemId=QUEUE_ID, gatewayId="0016c001f153a14c")
        assert site.listed()[0]["detail"] == "0016c001f153a14c sends it"
        site.event("ack", queueItemId="another", acknowledged=True)
        site.event("ack", acknowledged=True)
        assert site.state(downlink) == "sent"
        site.event("ack", queueItemId=QUEUE_ID, acknowledged=True)
        site.event("ack", queueItemId=QUEUE_ID, acknowledged=True)
        site.event("ack", queueItemId=QUEUE_ID)
        assert site.state(downlink) == "acknowledged"
        assert site.list_states() == ["Queued", "Sent", "Acknowledged"]
        assert hidden(world) == {f"downlink:chirpstack:{site.home}": "network"}
        assert ok(site.ada.get("/connector/connectors", groupId=site.home))["test"] == []
        assert "canary-key" not in repr(world.everything())


def hidden(world: World) -> dict[str, str]:
    table = metadata.tables["channel"]
    return world.read(lambda tx: {row.id: row.purpose for row in tx.rows(table.select())})


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_message_that_chirpstack_does_not_take_is_tried_until_its_time_is_over(
    make_world: Callable[..., World],
) -> None:
    with Receiver(StubResponse(status=404, body=b'{"message":"secret of theirs"}')) as receiver:
        world = make_world(**chirpstack(receiver))
        site = ChirpStackSite(world)
        unknown = site.queues("00", port=1)
        site.becomes(unknown, "failed")
        assert site.list_states(unknown) == ["Queued", "Failed"]
        assert site.listed()[0]["detail"] == "answered with status 404"

        # From the second try on it is looked for first, as far as the key allows that.
        receiver.respond_with(503, NOTHING_QUEUED, HANG_UP, 403, 401, NOTHING_QUEUED, QUEUED)
        late = site.queues("01", port=1)
        for reason in (
            "answered with status 503",
            "the connection was closed before the response was complete",
            "answered with status 401",
        ):
            eventually(lambda reason=reason: site.listed()[0].get("detail") == reason)
            world.clock.let_pass(seconds=40)
        site.becomes(late, "sent")
        sent = site.ada.records(site.device, "event")[-1]
        assert json.loads(sent["data"])["tries"] == 4, "one of them may have arrived"

        receiver.clear()
        receiver.respond_with(500)
        over = site.queues("02", port=1, expiresIn=300)
        receiver.wait_for(1)
        eventually(lambda: site.listed()[0].get("detail") == "answered with status 500")
        world.clock.let_pass(seconds=301)
        site.becomes(over, "expired")
        receiver.respond_with(QUEUED)
        world.clock.let_pass(seconds=300)
        after = site.queues("03", port=1)
        site.becomes(after, "sent")
        assert site.list_states(over) == ["Queued", "Expired"]
        bodies = [
            each.json["queueItem"]["data"] for each in receiver.requests if each.method == "POST"
        ]
        assert bodies[-1] == "Aw=="
        assert set(bodies[:-1]) == {"Ag=="}


GRPC_WEB = {"Content-Type": "application/grpc-web+proto"}


def grpc_reply(message: bytes = b"", code: int = 0) -> StubResponse:
    """As ChirpStack 4 answers its web interface: the message, then trailers; an error has none."""
    if code:
        return StubResponse(headers={**GRPC_WEB, "grpc-status": str(code)})
    trailers = b"grpc-status:0\r\n"
    data = b"\0" + len(message).to_bytes(4, "big") + message
    return StubResponse(
        headers=GRPC_WEB, body=data + b"\x80" + len(trailers).to_bytes(4, "big") + trailers
    )


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_message_is_queued_at_a_chirpstack_that_has_no_rest_proxy(
    make_world: Callable[..., World],
) -> None:
    def chirpstack_itself(request: Received) -> StubResponse:
        """Its web server knows none of the paths of the REST proxy, and says nothing."""
        if not request.headers.get("content-type", "").startswith("application/grpc"):
            return StubResponse(status=404)
        return replies.pop(0)

    replies = [grpc_reply(b"\x0a\x06item-1")]
    with Receiver(chirpstack_itself) as receiver:
        world = make_world(**chirpstack(receiver))
        site = ChirpStackSite(world)
        downlink = site.queues("0aff", port=10, confirmed=True)
        site.becomes(downlink, "sent")
        request = receiver.wait_for(2)[1]
        assert request.path == "/hook/api.DeviceService/Enqueue"
        assert request.headers["authorization"] == "Bearer canary-key"
        assert request.headers["content-type"] == "application/grpc-web+proto"
        # The item: EUI, confirmed, port, data, and the expiry.
        item = b"\x12\x10" + EUI.encode() + b"\x18\x01\x20\x0a\x2a\x02\x0a\xff\x52"
        assert request.body[:5] == b"\0" + (len(request.body) - 5).to_bytes(4, "big")
        assert request.body[7 : 7 + len(item)] == item
        site.event("ack", queueItemId="item-1", acknowledged=True)
        assert site.state(downlink) == "acknowledged"

        # It is not asked for the proxy again, and its errors are those of the proxy.
        replies[:] = [grpc_reply(code=5)]
        site.becomes(site.queues("01", port=1), "failed")
        assert site.listed()[0]["detail"] == "answered with status 404"
        assert len(receiver.requests) == 3
        replies[:] = [grpc_reply(code=16), grpc_reply(b"\x08\x00"), grpc_reply(b"\x0a\x01x")]
        late = site.queues("02", port=1)
        eventually(lambda: site.listed()[0].get("detail") == "answered with status 401")
        world.clock.let_pass(seconds=40)
        site.becomes(late, "sent")

        # Whatever else is at the URL is not taken for one that has stored it.
        receiver.respond_with(StubResponse(body=b"<html>Welcome</html>"))
        site.queues("03", port=1)
        reason = "the URL is neither that of ChirpStack nor that of its REST API"
        eventually(lambda: site.listed()[0].get("detail", "").startswith(reason))
        assert site.listed()[0]["state"] == "queued"


class Queue:
    """ChirpStack's queue of a device, which gives everything in it a name of its own."""

    def __init__(self) -> None:
        self.items: list[Json] = []
        self._numbers = itertools.count()

    def __call__(self, request: Received) -> StubResponse:
        if request.method == "GET":
            listed = {"totalCount": len(self.items), "result": self.items}
            return StubResponse(body=json.dumps(listed).encode())
        if request.method == "DELETE":
            self.items.clear()
            return StubResponse(body=b"{}")
        name = self.take(**request.json["queueItem"])
        return StubResponse(body=json.dumps({"id": name}).encode())

    def take(self, **item: Any) -> str:
        self.items.append({**item, "id": f"item-{next(self._numbers)}", "devEui": EUI})
        return str(self.items[-1]["id"])


@pytest.mark.slow
@on_sqlite
def test_what_waits_in_the_queue_of_chirpstack_can_be_cancelled(
    make_world: Callable[..., World],
) -> None:
    queue = Queue()
    with Receiver(queue) as receiver:
        world = make_world(**chirpstack(receiver))
        site = ChirpStackSite(world)

        def cancel(downlink: str, **params: Any) -> httpx.Response:
            named = {"downlinkId": downlink, "deviceId": site.device}
            return site.ada.delete("/device/downlink", **named, **params)

        def wait(payload: str) -> str:
            downlink = site.queues(payload, port=1)
            site.becomes(downlink, "sent")
            return downlink

        alone = wait("01")
        stranger = world.person("eve")
        gone = {"downlinkId": alone, "deviceId": site.device}
        with nothing_happens(world):
            refused(stranger.delete("/device/downlink", **gone), 404)
        assert len(queue.items) == 1
        cancelled = ok(cancel(alone))
        assert (cancelled["state"], cancelled["detail"]) == (
            *("cancelled",),
            "it was removed from the network's queue",
        )
        assert queue.items == []
        # A gateway may have taken it at that very moment.
        site.event("txack", queueItemId="item-0", gatewayId="0016c001f153a14c")
        shown = site.listed()[0]
        assert (shown["state"], shown["detail"]) == (
            *("cancelled",),
            "it was cancelled, but 0016c001f153a14c sends it",
        )
        refused(cancel(alone), 409)
        # Of several none is removed, unless all of them may be.
        some = [wait("02"), wait("03")]
        queue.take(data="ew==", fPort=2, confirmed=False)  # by somebody else
        with nothing_happens(world):
            error = refused(cancel(some[0]), 409)
        assert "has 2 more" in error["message"]
        assert len(queue.items) == 3
        assert ok(cancel(some[0], others="true"))["state"] == "cancelled"
        assert queue.items == []
        assert [site.state(each) for each in some] == ["cancelled"] * 2
        # One that was sent, that the queue does not have any more, or that waits for its device.
        sent, flushed = wait("04"), wait("05")
        site.event("txack", queueItemId=queue.items[0]["id"], gatewayId="0016c001f153a14c")
        del queue.items[1]
        with nothing_happens(world):
            refused(cancel(sent, others="true"), 409)
            assert "not in the queue" in refused(cancel(flushed), 409)["message"]
        pending = wait("06")
        queue.items[-1]["isPending"] = True
        # Nor while ChirpStack does not answer, or not as it should, or the operator forbids it.
        with nothing_happens(world):
            assert "A gateway has sent" in refused(cancel(pending), 409)["message"]
            for answer in (HANG_UP, 500, 401, StubResponse(body=b"[]"), StubResponse(body=b"{}")):
                receiver.respond_with(answer)
                refused(cancel(pending), 503)
        receiver.respond_with(queue)
        world.write(lambda tx: downlink_grants.deny(tx, SYSTEM, site.home, "chirpstack"))
        refused(cancel(pending), 403)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_downlink_that_is_missing_in_the_queue_of_chirpstack_does_not_stay_sent(
    make_world: Callable[..., World],
) -> None:
    queue = Queue()
    with Receiver(queue) as receiver:
        world = make_world(**chirpstack(receiver), token_lifetime_s=10**8)
        world.clock.freeze()
        site = ChirpStackSite(world)
        asked = [site.queues(f"0{number}", port=1, expiresIn=900) for number in range(4)]
        for each in asked:
            site.becomes(each, "sent")
        kept, flushed, *_ = asked
        site.event("txack", queueItemId="item-2", gatewayId="0016c001f153a14c")
        flush = [queue.items[number] for number in (0, 3)]

        def look(*seconds: float) -> None:
            for each in seconds:
                world.clock.let_pass(seconds=each)
                world._run(world.app.queue_watch.look())

        queue.items = flush
        look(30, 60, 240)
        assert [site.state(each) for each in asked] == ["sent"] * 4
        # Whoever does not answer says nothing about a queue.
        for answer in (404, 403, StubResponse(body=b"{}")):
            receiver.respond_with(answer)
            look(20)
        receiver.respond_with(HANG_UP)
        with pytest.raises(Unavailable):
            look(60)
        receiver.respond_with(queue)
        assert site.state(flushed) == "sent"
        look(1)
        assert [site.state(each) for each in asked] == ["sent", "cancelled", "sent", "sent"]
        [detail] = [each["detail"] for each in site.listed() if each["id"] == flushed]
        assert "no longer in the network's queue" in detail
        assert site.list_states(flushed) == ["Queued", "Sent", "Cancelled"]
        # One that expires there without a report has expired.
        queue.items = flush[:1]
        look(600, 300)
        assert [site.state(each) for each in asked] == ["sent", "cancelled", "sent", "expired"]
        look(60, 60)
        assert site.state(kept) == "sent"


def die(tx: Tx) -> None:
    """Claim everything, as an engine does, and never come back."""
    (channel,) = store_channels.list_all(tx)
    until = tx.now + 30_000_000
    claim = partial(delivery_leases.claim, number=channel.number, most=10, token=7, until=until)
    claimed = [run_in_slot(slot, claim, tx) for slot in range(tx.slots)]
    assert any(claimed)


@pytest.mark.slow
def test_a_process_that_dies_with_messages_in_hand_loses_none_and_sends_none_again(
    make_world: Callable[..., World],
) -> None:
    queue = Queue()
    with Receiver(queue) as receiver:
        world = make_world(**chirpstack(receiver), delivery=False)
        site = ChirpStackSite(world)
        arrived, twin = site.queues("01", port=1), site.queues("01", port=1)
        over = site.queues("02", port=1, expiresIn=10)
        until = next(each["expiresAt"] for each in site.listed() if each["id"] == arrived)
        queue.take(confirmed=False, data="AQ==", expiresAt=until, fPort=1)
        world.write(die)
        refused(site.ada.delete("/device/downlink", downlinkId=twin, deviceId=site.device), 409)
        world.clock.let_pass(seconds=60)
        world.settings = replace(world.settings, delivery=True)
        world.restart()
        site.becomes(arrived, "sent")
        site.becomes(twin, "sent")
        site.becomes(over, "expired")
        assert len(queue.items) == 2
        assert site.list_states(arrived) == site.list_states(twin) == ["Queued", "Sent"]
        assert site.list_states(over) == ["Queued", "Expired"]
        tries = {
            sent["id"]: sent.get("tries")
            for each in site.ada.records(site.device, "event")
            if each["type"] == "downlinkSent" and (sent := json.loads(each["data"]))
        }
        assert tries == {arrived: None, twin: 2}, "only one of them may have arrived twice"
        site.event("ack", queueItemId="item-0", acknowledged=True)
        site.event("ack", queueItemId="item-1")
        assert (site.state(arrived), site.state(twin)) == ("acknowledged", "failed")


@pytest.mark.slow
@on_sqlite
def test_a_device_gets_its_messages_in_the_order_they_were_asked_for(
    make_world: Callable[..., World],
) -> None:
    with Receiver(StubResponse(body=QUEUED.body, delay_s=0.3), QUEUED) as receiver:
        world = make_world(**chirpstack(receiver), delivery=False)
        site = ChirpStackSite(world)
        asked = [site.queues(f"{number:02x}", port=1) for number in range(5)]
        world.settings = replace(world.settings, delivery=True)
        world.restart()
        for downlink in asked:
            site.becomes(downlink, "sent")
        requests = receiver.wait_for(5)
        sent = [each.json["queueItem"]["data"] for each in requests]
        assert sent == ["AA==", "AQ==", "Ag==", "Aw==", "BA=="]
        assert requests[1].at - requests[0].at >= 0.3, "the second waits for the first's answer"


@on_sqlite
def test_downlinks_and_the_events_about_them_are_sent_at_once(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SCAN_INTERVAL_S", 600.0)
    with Receiver(QUEUED) as receiver, Receiver() as customer:
        world = make_world(**chirpstack(receiver))
        site = ChirpStackSite(world)
        site.ada.connector(site.home, customer.url)
        downlink = site.queues("01", port=1)
        receiver.wait_for(1)
        types = [each.json["type"] for each in customer.wait_for(2)]
        assert types == ["downlinkQueued", "downlinkSent"]
        site.event("ack", queueItemId=QUEUE_ID, acknowledged=True)
        assert customer.wait_for(4)[-1].json["type"] in ("ack", "downlinkAcknowledged")
        assert site.state(downlink) == "acknowledged"


@on_sqlite
def test_updates_that_overtake_the_response_are_waited_for(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound_downlinks, "MATCH_RETRIES_MAX", 1_000)
    written: list[Any] = []
    apply = network_downlinks.apply_update
    monkeypatch.setattr(
        network_downlinks, "apply_update", lambda *args: written.append(args) or apply(*args)
    )
    with Receiver(StubResponse(body=QUEUED.body, delay_s=1.5)) as receiver:
        world = make_world(**chirpstack(receiver))
        site = ChirpStackSite(world)
        downlink = site.queues("01", port=1)
        receiver.wait_for(1)
        refused(site.ada.delete("/device/downlink", downlinkId=downlink, deviceId=site.device), 409)
        site.event("ack", queueItemId=QUEUE_ID, acknowledged=True)
        assert site.state(downlink) == "acknowledged"
        assert site.list_states() == ["Queued", "Sent", "Acknowledged"]
        another = site.queues("01", port=1)
        receiver.wait_for(2)
        site.event("ack", queueItemId="somebody else's", acknowledged=True)
        assert site.state(another) == "sent"
        assert len(written) == 1, "waiting writes nothing"


@on_sqlite
def test_a_codec_makes_the_bytes_and_names_the_port(make_world: Callable[..., World]) -> None:
    with Receiver(QUEUED) as receiver:
        world = make_world(**chirpstack(receiver))
        world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, "meter", "javascript", CODEC))
        site = ChirpStackSite(world, type="meter")
        body = {"deviceId": site.device, "data": {"level": 42}}
        made = ok(site.ada.post("/device/downlink", body))
        assert (made["payload"], made["port"]) == ("012a", 7)
        site.becomes(made["id"], "sent")
        stranger = world.person("sam")
        with nothing_happens(world):
            too_high = {**body, "data": {"level": 101}}
            problem = refused(site.ada.post("/device/downlink", too_high), 400, "data")
            assert "too high" in problem["message"]
            refused(stranger.post("/device/downlink", body), 404, "deviceId")
            refused(site.ada.post("/device/downlink", {**body, "data": {}}), 400, "data")
            half = json.dumps({**body, "data": {"level": "\ud83d"}})
            kind = {"Content-Type": "application/json"}
            answer = site.ada.request("POST", "/device/downlink", content=half, headers=kind)
            refused(answer, 400, "data")


ENCODER = """
function byteOf(value) { return value & 255; }
function encodeDownlink({data}) { return {bytes: [2, byteOf(data.level)], fPort: 8}; }
function decodeDownlink({bytes, fPort}) { return {data: {level: bytes[1], port: fPort}}; }
"""
COLLIDING_DECODER = """
function byteOf(bytes) { return bytes[0]; }
function decodeUplink({bytes}) { return {data: {first: byteOf(bytes)}}; }
"""


@on_sqlite
def test_an_encoder_of_its_own_encodes_and_tells_what_a_queued_downlink_means(
    make_world: Callable[..., World],
) -> None:
    """Decoder and encoder have helpers of the same name, as vendors publish them."""
    with Receiver(QUEUED) as receiver:
        world = make_world(**chirpstack(receiver))
        world.write(
            lambda tx: (
                device_types.set_decoder(tx, SYSTEM, "meter", "javascript", COLLIDING_DECODER),
                device_types.set_encoder(tx, SYSTEM, "meter", ENCODER),
            )
        )
        site = ChirpStackSite(world, type="meter")
        body = {"deviceId": site.device, "data": {"level": 300}}
        made = ok(site.ada.post("/device/downlink", body))
        assert (made["payload"], made["port"]) == ("022c", 8)
        assert made["data"] == {"level": 44, "port": 8}
        raw = ok(site.ada.post("/device/downlink", {**site_body(site), "payload": "0263"}))
        assert raw["data"] == {"level": 99, "port": 3}
        try:  # bytes need no codec, only their description does
            world.app.computing.codecs.charge(CodecCaller(site.home, site.device), 3_600)
            plain = ok(site.ada.post("/device/downlink", {**site_body(site), "payload": "0264"}))
            assert "data" not in plain
            refused(site.ada.post("/device/downlink", body), 429)
        finally:
            world.app.computing.codecs.set_budget(MS_PER_S, BURST_MS)
        short = ok(site.ada.post("/device/downlink", {**site_body(site), "payload": "02"}))
        assert short["data"] == {"port": 3}
        site.event("up", data="Bw==", fPort=1, fCnt=1, deviceInfo={"devEui": EUI})
        (record,) = site.ada.records(site.device)
        assert json.loads(record["data"])["first"] == 7
        # A bit format decodes, and the encoder still encodes.
        world.write(
            lambda tx: device_types.set_decoder(tx, SYSTEM, "meter", "bits", "first::uint:8")
        )
        assert ok(site.ada.post("/device/downlink", body))["payload"] == "022c"
        world.write(lambda tx: device_types.set_encoder(tx, SYSTEM, "meter", None))
        assert "only decodes" in refused(site.ada.post("/device/downlink", body), 400)["message"]


def site_body(site: Site) -> Json:
    return {"deviceId": site.device, "port": 3}


@on_sqlite
def test_without_an_api_of_chirpstack_nothing_waits_for_one(world: World) -> None:
    site = ChirpStackSite(world)
    with nothing_happens(world):
        assert "ChirpStack" in refused(site.asks("00", port=1), 409)["message"]


# --- the operator's keys ---


@pytest.mark.slow
def test_only_groups_that_the_operator_allows_send_through_his_key(
    make_world: Callable[..., World],
) -> None:
    with Receiver(QUEUED) as receiver:
        world = make_world(**chirpstack(receiver))
        site = Site(world, "chirpstack", EUI)
        with nothing_happens(world):
            refusal = refused(site.asks("00", port=1), 403)["message"]
            assert f"longwire group allow-downlinks {site.home} --network chirpstack" in refusal
        site.allow("loriot")
        refused(site.asks("00", port=1), 403)
        # A grant holds for the groups below, and for nobody else.
        site.allow()
        below = site.ada.group("below", parent=site.home)
        eve = world.person("eve")
        theirs = eve.device(eve.group("theirs"), network="chirpstack", originalId="FF" * 8)
        asked = {"deviceId": theirs, "payload": "00", "port": 1}
        refused(eve.post("/device/downlink", asked), 403)
        move = {"deviceId": site.device, "groupId": site.home, "toGroupId": below}
        ok(site.ada.put("/device/transfer", move))
        site.becomes(site.queues("00", port=1), "sent")
        assert [each.path for each in receiver.requests] == [f"/hook/api/devices/{EUI}/queue"]

        # What is queued when the grant is withdrawn is not sent.
        receiver.respond_with(503)
        late = site.queues("01", port=1)
        eventually(lambda: site.listed()[0].get("detail") == "answered with status 503")
        world.write(lambda tx: downlink_grants.deny(tx, SYSTEM, site.home, "chirpstack"))
        receiver.clear()
        world.clock.let_pass(seconds=40)
        site.becomes(late, "failed")
        assert receiver.requests == []
        refused(site.asks("02", port=1), 403)


@pytest.mark.slow
@on_sqlite
def test_an_original_id_that_is_no_eui_reaches_no_api(make_world: Callable[..., World]) -> None:
    with Receiver(QUEUED) as receiver:
        world = make_world(**chirpstack(receiver), **loriot(receiver), **thingpark(receiver))
        site = Site(world, "chirpstack", EUI)
        table = metadata.tables["device"]

        def becomes_device(network: str, original_id: str) -> None:
            values = {"network": network, "original_id": original_id}
            world.write(lambda tx: tx.execute(table.update().values(values)))

        for network in ("chirpstack", "loriot", "thingpark"):
            site.allow(network)
            for original in ("..", "../../applications/1", EUI[:-1], f"{EUI}?x=", "%2e%2e"):
                becomes_device(network, original)
                with nothing_happens(world):
                    assert "EUI" in refused(site.asks("00", port=1), 409)["message"]
        # Nor does one that was an EUI when the message was queued.
        receiver.respond_with(503)
        becomes_device("chirpstack", EUI)
        queued = site.queues("00", port=1)
        eventually(lambda: site.listed()[0].get("detail") == "answered with status 503")
        becomes_device("chirpstack", "..")
        receiver.clear()
        world.clock.let_pass(seconds=40)
        site.becomes(queued, "failed")
        assert receiver.requests == []


# --- LORIOT ---


def loriot(receiver: Receiver) -> dict[str, str]:
    return {
        **{"loriot_api_url": receiver.url, "loriot_api_key": "canary-key"},
        "loriot_app_id": "BE7A2562",
    }


TAKEN = StubResponse(body=b'{"cmd":"tx","success":"Data enqueued"}')


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_message_is_sent_to_loriot_and_acknowledged_by_an_uplink(
    make_world: Callable[..., World],
) -> None:
    with Receiver(TAKEN) as receiver:
        world = make_world(**loriot(receiver))
        site = Site(world, "loriot", EUI)
        site.allow()

        def uplink(is_acknowledging: bool) -> None:
            now = world.clock.now() // 1_000
            body = {"cmd": "rx", "EUI": EUI, "ts": now, "fcnt": 1, "ack": is_acknowledging}
            site.says("loriot", body)

        plain = site.queues("01", port=2)
        site.becomes(plain, "sent")
        confirmed = site.queues("0aff", port=10, confirmed=True)
        site.becomes(confirmed, "sent")
        request = receiver.wait_for(2)[-1]
        assert (request.method, request.path) == ("POST", "/hook/1/rest")
        assert request.headers["authorization"] == "Bearer canary-key"
        assert request.json == {
            **{"cmd": "tx", "EUI": EUI, "port": 10, "confirmed": True, "data": "0aff"},
            "appid": "BE7A2562",
        }
        world.clock.let_pass(seconds=1)
        uplink(False)
        assert site.state(confirmed) == "sent"
        uplink(True)
        assert [site.state(each) for each in (plain, confirmed)] == ["sent", "acknowledged"]
        # Of two that wait, nobody can tell which one is meant.
        waiting = [site.queues(f"0{each}", port=1, confirmed=True) for each in range(2)]
        for each in waiting:
            site.becomes(each, "sent")
        world.clock.let_pass(seconds=1)
        uplink(True)
        assert [site.state(each) for each in waiting] == ["sent", "sent"]

        receiver.respond_with(StubResponse(body=b'{"error":"no such device, canary-key"}'))
        site.becomes(site.queues("02", port=1), "failed")
        assert site.listed()[0]["detail"] == "rejected"
        receiver.respond_with(StubResponse(body=b'{"error":"no such device"}'))
        site.becomes(site.queues("03", port=1), "failed")
        assert site.listed()[0]["detail"] == "rejected: no such device"
        assert "canary-key" not in repr(world.everything())


# --- ThingPark ---


def thingpark(receiver: Receiver) -> dict[str, str]:
    return {
        **{"thingpark_api_url": receiver.url, "thingpark_as_id": "TWA_1.1"},
        "thingpark_as_key": "00112233445566778899aabbccddeeff",
    }


@pytest.mark.engine_free
def test_a_message_is_sent_to_thingpark_and_its_reports_name_it(
    make_world: Callable[..., World],
) -> None:
    accepted = StubResponse(body=b"<html><body>Request queued by LRC</body></html>")
    with Receiver(accepted) as receiver:
        world = make_world(**thingpark(receiver))
        site = Site(world, "thingpark", EUI)
        site.allow()
        first = site.queues("0aff", port=10, confirmed=True, expiresIn=600)
        site.becomes(first, "sent")
        (request,) = receiver.wait_for(1)
        path, _, query = request.path.partition("?")
        assert (request.method, path) == ("POST", "/hook/thingpark/lrc/rest/downlink")
        plain, _, token = unquote(query).rpartition("&Token=")
        key = "00112233445566778899aabbccddeeff"
        assert token == hashlib.sha256((plain + key).encode()).hexdigest()
        sent = dict(each.split("=", 1) for each in plain.split("&"))
        assert list(sent)[:6] == ["DevEUI", "FPort", "Payload", "AS_ID", "Time", "CorrelationID"]
        assert (sent["DevEUI"], sent["FPort"], sent["Payload"]) == (EUI, "10", "0aff")
        assert (sent["AS_ID"], sent["Confirmed"]) == ("TWA_1.1", "1")
        assert sent["ValidityTime"][:23] == site.listed()[0]["expiresAt"][:23]
        assert re.fullmatch("[0-9A-F]{16}", sent["CorrelationID"])

        def report(**fields: Any) -> None:
            said = {"DevEUI": EUI, "Time": "2026-11-15T08:30:00.000+00:00", **fields}
            site.says("thingpark", {"DevEUI_downlink_Sent": said})

        report(DeliveryStatus="0", CorrelationID="0000000000000000")
        report(DeliveryStatus="0")
        report(DeliveryStatus=1, CorrelationID=sent["CorrelationID"].lower())
        assert site.state(first) == "sent"
        world.clock.let_pass(seconds=1)
        now = world.clock.now() // 1_000
        uplink = {"DevEUI": EUI, "Time": now, "FCntUp": 1, "ACKbit": "1"}
        site.says("thingpark", {"DevEUI_uplink": uplink})
        assert site.state(first) == "acknowledged"

        second = site.queues("0b", port=10)
        site.becomes(second, "sent")
        named = unquote(receiver.wait_for(2)[-1].path).partition("CorrelationID=")[2][:16]
        report(DeliveryStatus=0, DeliveryFailedCause1="E3", CorrelationID=named)
        assert site.state(second) == "failed"
        assert site.listed()[0]["detail"] == "the network could not send it: E3"
        assert site.list_states(second) == ["Queued", "Sent", "Failed"]
        assert key not in repr(world.everything())


# --- The Things Stack ---


class TtnSite(Site):
    def __init__(self, world: World) -> None:
        super().__init__(world, "ttn", EUI)
        self._count = 0

    def message(
        self,
        key: str,
        said: Any = None,
        link: tuple[str, str] | None = None,
        eui: str = EUI,
    ) -> None:
        self._count += 1
        headers = {"X-Downlink-Push": link[0], "X-Downlink-Apikey": link[1]} if link else {}
        body = {
            "end_device_ids": {"device_id": "crane", "dev_eui": eui},
            "received_at": f"2026-11-15T08:30:{self._count:02}Z",
            key: said or {},
        }
        self.says("ttn", body, headers)

    def link(self) -> tuple[Any, ...]:
        table = metadata.tables["network_link"]
        return self.world.read(lambda tx: tuple(map(tuple, tx.rows(table.select()))))


@pytest.mark.slow
@pytest.mark.engine_free
def test_messages_go_where_the_things_stack_says_with_the_key_it_says(world: World) -> None:
    site = TtnSite(world)
    with Receiver() as receiver, Receiver() as moved:
        site.message("uplink_message", {"f_port": 1, "frm_payload": "AA=="})
        refused(site.asks("00", port=1), 409)
        for wrong in ("http://10.1.2.3/down/push", "/api/v3/as", "ftp://example.com/"):
            site.message("uplink_message", link=(wrong, "canary-key"))
            assert site.link() == ()
        site.message("uplink_message", link=(receiver.url, "canary-key"))
        kept = site.link()
        assert "canary-key" not in repr(kept)
        world.clock.let_pass(seconds=1)
        site.message("uplink_message", link=(receiver.url, "canary-key"))
        assert site.link() == kept, "nothing is written for what is known"

        downlink = site.queues("beef", port=15, confirmed=True)
        site.becomes(downlink, "sent")
        (request,) = receiver.wait_for(1)
        assert request.headers["authorization"] == "Bearer canary-key"
        (pushed,) = request.json["downlinks"]
        assert pushed == {
            "frm_payload": "vu8=",
            "f_port": 15,
            "confirmed": True,
            "priority": "NORMAL",
            "correlation_ids": [f"longwire:{downlink}"],
        }
        site.message("downlink_sent", pushed)
        assert site.state(downlink) == "sent"
        site.message("downlink_ack", pushed)
        site.message("downlink_nack", pushed)
        assert site.state(downlink) == "acknowledged"
        assert site.list_states() == ["Queued", "Sent", "Acknowledged"]

        site.message("uplink_message", link=(moved.url, "other-key"))
        assert site.link() == kept, "of two webhooks one will do"
        site.message("uplink_message", link=(receiver.url, "exchanged-key"))
        receiver.respond_with(404)
        again = site.queues("00", port=1)
        eventually(lambda: site.listed()[0].get("detail") == "answered with status 404")
        assert receiver.requests[-1].headers["authorization"] == "Bearer exchanged-key"
        assert site.link() == (), "that webhook is gone"
        site.message("uplink_message", link=(moved.url, "other-key"))
        world.clock.let_pass(seconds=40)
        site.becomes(again, "sent")
        assert moved.wait_for(1)[0].headers["authorization"] == "Bearer other-key"
        error = {"name": "transmission_expired", "message_format": "too late"}
        site.message(
            "downlink_failed", {"downlink": moved.requests[0].json["downlinks"][0], "error": error}
        )
        assert site.list_states(again) == ["Queued", "Sent", "Expired"]
        world.clock.let_pass(seconds=3_600)
        site.message("uplink_message", link=(receiver.url, "exchanged-key"))
        assert site.link()[0][1] == receiver.url
        assert not re.search("(other|exchanged)-key", repr(world.everything()))


@on_sqlite
def test_what_the_things_stack_says_that_it_has_queued_is_not_sent_again(
    make_world: Callable[..., World],
) -> None:
    with Receiver() as receiver:
        world = make_world(delivery=False)
        site = TtnSite(world)
        site.message("uplink_message", link=(receiver.url, "key"))
        arrived, lost = site.queues("00", port=1), site.queues("01", port=1)
        world.write(die)
        site.message("downlink_queued", {"correlation_ids": ["as:1", f"longwire:{arrived}"]})
        assert (site.state(arrived), site.state(lost)) == ("sent", "queued")
        world.settings = replace(world.settings, delivery=True)
        world.restart()
        site.becomes(lost, "sent")
        (request,) = receiver.requests
        assert request.json["downlinks"][0]["correlation_ids"] == [f"longwire:{lost}"]
        assert site.list_states(arrived) == ["Queued", "Sent"]
        site.message(
            "downlink_queue_invalidated",
            {
                "downlinks": [
                    {"correlation_ids": [f"longwire:{each}"]}
                    for each in (arrived, lost, "nobody's")
                ]
            },
        )
        assert {site.state(arrived), site.state(lost)} == {"failed"}


@on_sqlite
def test_a_link_to_where_nobody_may_go_is_not_followed(make_world: Callable[..., World]) -> None:
    with Receiver() as receiver:
        world = make_world(egress_allow=())
        site = TtnSite(world)
        site.message("uplink_message", link=(receiver.url, "key"))
        assert site.link() == ()
        by_name = receiver.url.replace("127.0.0.1", "localhost")
        site.message("uplink_message", link=(by_name, "key"))
        site.queues("00", port=1)
        eventually(lambda: site.listed()[0].get("detail") == NOT_RESOLVED)
        assert receiver.requests == []


def test_a_device_that_comes_into_another_group_comes_without_its_link(world: World) -> None:
    site = TtnSite(world)
    with Receiver() as theirs, Receiver() as ours:
        site.message("uplink_message", link=(theirs.url, "key"))
        away = site.ada.group("away")
        move = {"deviceId": site.device, "groupId": site.home, "toGroupId": away}
        ok(site.ada.put("/device/transfer", move))
        refused(site.asks("00", port=1), 409)
        site.token = ok(site.ada.get("/group", groupId=away))[0]["token"]
        site.message("uplink_message", link=(ours.url, "key"))
        site.becomes(site.queues("00", port=1), "sent")
        assert (len(theirs.requests), len(ours.requests)) == (0, 1)


@on_sqlite
def test_an_address_where_nobody_answers_does_not_hold_up_other_devices(
    make_world: Callable[..., World],
) -> None:
    with Receiver() as gone:
        dead_end = gone.url
    with Receiver() as receiver:
        world = make_world(delivery=False, delivery_in_flight_max=1)
        site = TtnSite(world)
        site.message("uplink_message", link=(dead_end, "key"))
        for _ in range(PROBE_AFTER + 1):
            site.queues("00", port=1)
        other = "1112131415161718"
        site.device = site.ada.device(site.home, network="ttn", originalId=other)
        site.message("uplink_message", link=(receiver.url, "key"), eui=other)
        downlink = site.queues("01", port=1)
        world.settings = replace(world.settings, delivery=True)
        world.restart()
        site.becomes(downlink, "sent")
        assert len(receiver.requests) == 1


# --- what is over goes ---


@on_sqlite
def test_what_ended_long_ago_is_forgotten(world: World) -> None:
    site = VendorSite(world)
    site.queues()
    assert site.uplink(0) is not None
    waits = site.queues(expiresIn=30 * 86_400)
    world.clock.let_pass(days=20)
    before = world.clock.now() - 10 * 86_400 * 1_000_000
    assert world.write(lambda tx: store_downlinks.prune(tx, before, 10)) == 1
    assert list(states(world)) == [waits]

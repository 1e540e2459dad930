"""What arrives about devices that a group does not have is seen there, and becomes the device."""

import json
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from longwire.errors import Unavailable
from longwire.fleet import device_types, unknown_devices
from longwire.inbound.mqtt_messages import MqttMessage, MqttMessageHandler
from longwire.inbound.unknown_devices import IDS_MAX, IDS_PER_GROUP_MAX, UnknownDeviceBuffer
from longwire.model import SYSTEM, Actor
from longwire.networks.bodies import describe_body
from longwire.process import maintenance
from longwire.store.database import Tx
from longwire.store.fleet import unknown_devices as store
from tests.api.test_health import counters
from tests.inbound.test_callbacks import network_of, on_sqlite
from tests.process import longwire
from tests.world import NOON, Person, World, ok, record_of, refused, walk

Json = dict[str, Any]

EUI = "0102030405060708"
TIME = 1_772_366_400  # noon
UPLINK = {
    "deviceInfo": {"devEui": EUI, "deviceName": "pump"},
    "time": NOON,
    "fCnt": 16,
    "fPort": 2,
    "data": "ChssPQ==",
}


def flush(world: World) -> None:
    """Store what has arrived, instead of waiting for it."""
    world._run(world.app._unknown_devices.flush())


def create(person: Person, group: str, original_id: str, network: str, **more: Any) -> Any:
    """Create a device with the message that was kept of it; the response."""
    body = {"groupId": group, "name": "new", "type": "generic", "originalId": original_id}
    return person.post("/device/unknown", {**body, "network": network, **more})


def unknown(person: Person, group: str, **params: Any) -> list[Json]:
    """The unknown devices of a group, after all that was sent so far."""
    flush(person.world)
    return walk(partial(person.get, "/group/unknownDevices"), groupId=group, **params)


def by_id(items: list[Json]) -> dict[str, Json]:
    return {each["originalId"]: each for each in items}


class Site:
    """A user with a group, and a network that has its token."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.network = network_of(self.ada, self.home)

    def sends(self, eui: str = EUI, **changes: Any) -> httpx.Response:
        message = {**UPLINK, "deviceInfo": {"devEui": eui}, **changes}
        return self.network.says("chirpstack", message, event="up")

    def overview(self, **params: Any) -> Json:
        """A new one, not one of the last seconds."""
        flush(self.world)
        self.world.clock.let_pass(seconds=6)
        return dict(ok(self.ada.get("/group/overview", groupId=self.home, **params)))


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


@pytest.mark.engine_free
def test_what_networks_report_of_unknown_devices_is_listed_with_its_last_message(
    site: Site,
) -> None:
    world, ada, home = site.world, site.ada, site.home
    assert unknown(ada, home) == []
    refused(site.network.says("chirpstack", UPLINK, event="up"), 404, "device")
    flush(world)
    world.clock.let_pass(seconds=60)
    for number in (17, 18):
        refused(site.sends(fCnt=number), 404)
    refused(site.network.says("vendor/data", {"device": "1FD48BE", "time": TIME}), 404)
    refused(site.network.says("ttn", {**TTN, "received_at": NOON}), 404)
    found = by_id(unknown(ada, home))
    assert set(found) == {EUI, "1FD48BE", "0202020202020202"}
    pump = found[EUI]
    assert (pump["network"], pump["count"], pump["reason"]) == ("chirpstack", 3, "unknown")
    assert json.loads(pump["payload"])["fCnt"] == 18
    assert pump["lastAt"] > pump["firstAt"]
    assert (pump["groupId"], pump["hasMessage"]) == (home, True)
    assert "detail" not in pump
    assert {each["network"] for each in found.values()} == {"chirpstack", "vendor", "ttn"}


TTN: Json = {
    "end_device_ids": {"device_id": "crane", "dev_eui": "0202020202020202"},
    "uplink_message": {"f_port": 2, "f_cnt": 16, "frm_payload": "ChssPQ=="},
}


@pytest.mark.engine_free
def test_ids_that_no_device_can_have_are_malformed_and_invalid_messages_rejected(
    site: Site,
) -> None:
    ada, home, says = site.ada, site.home, site.network.says
    device = ada.device(home, network="chirpstack", originalId=EUI)
    refused(says("chirpstack", {"deviceInfo": {"devEui": "pump-7"}}, event="up"), 404)
    refused(says("chirpstack", {"deviceInfo": {"devEui": "x" * 200}}, event="up"), 400)
    refused(says("loriot", {"cmd": "rx"}), 400, "EUI")
    refused(site.network.calls("vendor/data", content=b"not JSON\xff"), 400)
    refused(site.sends(data="!"), 400, "data")
    refused(site.sends(eui="AA02030405060708", data="!"), 400, "data")
    found = {(each["network"], each["originalId"]): each for each in unknown(ada, home)}
    reasons = {key: each["reason"] for key, each in found.items()}
    assert reasons == {
        ("chirpstack", "pump-7"): "malformed",
        ("chirpstack", "x" * 128): "malformed",
        ("loriot", ""): "malformed",
        ("vendor", ""): "malformed",
        ("chirpstack", EUI): "rejected",
        ("chirpstack", "AA02030405060708"): "unknown",
    }
    assert "data" in found["chirpstack", EUI]["detail"]
    assert found["vendor", ""]["payload"] == b"not JSON\xff".hex()
    assert not found["loriot", ""]["hasMessage"]
    overview = site.overview()
    sorts = {item["what"]: (item["groupId"], item["count"]) for item in overview["attention"]}
    assert sorts == {"unknownDevices": (home, 5), "rejectedMessages": (home, 1)}
    assert overview["unknownDevices"] == 5
    # Deleting the device removes its row.
    ok(ada.delete("/device", deviceId=device, groupId=home))
    assert ("chirpstack", EUI) not in {
        (each["network"], each["originalId"]) for each in unknown(ada, home)
    }


def test_a_group_learns_of_a_device_of_another_one_that_its_id_is_taken_and_nothing_else(
    site: Site,
) -> None:
    bob = site.world.person("bob")
    away = bob.group("away")
    bob.device(away, network="chirpstack", originalId=EUI, name="secret")
    refused(site.sends(), 404)
    (found,) = unknown(site.ada, site.home)
    assert (found["reason"], found["originalId"]) == ("otherGroup", EUI)
    assert (found["groupId"], found["hasMessage"]) == (site.home, False)
    assert not {away, bob.id} & set(found.values()) and "secret" not in json.dumps(found)
    assert unknown(bob, away) == []
    # There is no way to get at the message of the other's device.
    refused(create(site.ada, site.home, EUI, "chirpstack"), 409, "originalId")
    # A device in a group below is reached by the token, so it is not unknown.
    below = site.ada.group("below", site.home)
    site.ada.device(below, network="chirpstack", originalId="AA02030405060708")
    ok(site.sends(eui="AA02030405060708"))
    assert [each["originalId"] for each in unknown(site.ada, site.home)] == [EUI]


@pytest.mark.engine_free
def test_a_payload_that_the_decoder_cannot_read_is_seen_with_the_reason(site: Site) -> None:
    def install(tx: Tx) -> None:
        source = "function decodeUplink(input) { return {errors: ['too short']}; }"
        device_types.set_decoder(tx, SYSTEM, "generic", "javascript", source)

    site.world.write(install)
    device = site.ada.device(site.home, network="chirpstack", originalId=EUI)
    for number in (1, 2):  # also the fast path, where everything is cached
        ok(site.sends(fCnt=number))
    assert len(site.ada.records(device)) == 2
    (found,) = unknown(site.ada, site.home)
    assert (found["reason"], found["count"], found["payload"]) == ("rejected", 2, "0a1b2c3d")
    assert "too short" in found["detail"]


@pytest.mark.engine_free
def test_records_that_an_app_client_posts_for_unknown_devices_are_listed_without_network(
    site: Site,
) -> None:
    client = site.ada.app_client(site.home)
    refused(client.post("/device/data", record_of("dev_nothing")), 404, "deviceId")
    items = [record_of(f"dev_{number}") for number in range(3)]
    refused(client.post("/device/data/batch", {"items": items}), 404)
    refused(site.ada.post("/device/data", record_of("dev_of_a_person")), 404, "deviceId")
    found = by_id(unknown(site.ada, site.home))
    assert set(found) == {"dev_nothing", "dev_0", "dev_1", "dev_2"}
    assert {(each["network"], each["reason"]) for each in found.values()} == {("", "unknown")}
    assert json.loads(found["dev_nothing"]["payload"])["timestamp"] == NOON


# --- by MQTT ---


def publish(site: Site, topic: str, payload: bytes) -> None:
    """As a broker would hand it over; what is raised is what drops the message."""
    handler = MqttMessageHandler(
        site.world.app._uplinks,
        site.world.app._request_handler._limits,
        lambda kind, raw: pytest.fail("there is no device"),
        cast(Any, None),  # no event about a downlink is among them
    )
    now = site.world.clock.now()
    message = MqttMessage(f"{site.network.token}/{topic}", payload, len(payload), now)
    try:
        site.world._run(handler.handle(message))
    except Exception as error:
        assert type(error).__name__ in ("NotFound", "BadInput")
    else:
        pytest.fail("it was stored")


@pytest.mark.engine_free
def test_messages_of_unknown_mqtt_devices_are_listed_and_become_their_first_record(
    site: Site,
) -> None:
    publish(site, "pump-7/raw", b"\x0a\x1b")
    said = {"timestamp": NOON, "data": '{"level": 3}'}
    publish(site, "tank-9/data", json.dumps(said).encode())
    publish(site, "tank-8/data", b"{}{}")
    publish(site, "valve-1/nothing", b"open")
    found = by_id(unknown(site.ada, site.home))
    assert {(key, each["reason"]) for key, each in found.items()} == {
        ("pump-7", "unknown"),
        ("tank-8", "unknown"),
        ("tank-9", "unknown"),
        ("valve-1", "unknown"),
    }
    assert found["pump-7"]["payload"] == "0a1b"
    assert "must end in" in found["valve-1"]["detail"]
    pump = ok(create(site.ada, site.home, "pump-7", "mqtt"))["deviceId"]
    assert [each["__raw"] for each in site.ada.records(pump)] == ["0a1b"]
    tank = ok(create(site.ada, site.home, "tank-9", "mqtt"))["deviceId"]
    (record,) = site.ada.records(tank)
    assert (record["timestamp"], record["data"]) == (NOON, '{"level": 3}')
    refused(create(site.ada, site.home, "tank-8", "mqtt"), 409, "originalId")
    assert set(by_id(unknown(site.ada, site.home))) == {"tank-8", "valve-1"}


# --- creating the device ---


@pytest.mark.engine_free
def test_a_device_is_created_with_its_kept_message_as_the_first_record(site: Site) -> None:
    def install(tx: Tx) -> None:
        source = "function decodeUplink(input) { return {data: {first: input.bytes[0]}}; }"
        device_types.set_decoder(tx, SYSTEM, "generic", "javascript", source)

    site.world.write(install)
    ada, home = site.ada, site.home
    below = ada.group("below", home)
    refused(site.sends(), 404)
    assert len(unknown(ada, home)) == 1
    arrived = site.world.clock.now()
    site.world.clock.let_pass(seconds=600)
    connector = ada.connector(home, "http://127.0.0.1:9/", params={"subgroups": True})
    device = ok(create(ada, below, EUI, "chirpstack"))["deviceId"]
    (record,) = ada.records(device)
    assert (record["timestamp"], record["__raw"]) == (NOON, "0a1b2c3d")
    assert json.loads(record["data"])["first"] == 10
    assert ok(ada.get("/device", deviceId=device))["seenAt"] < arrived // 1_000 + 600_000
    assert unknown(ada, home) == []
    # It is forwarded like any other, and the network that repeats it adds nothing.
    assert len(ada.events(home, connector)["items"]) == 1
    ok(site.sends())
    assert len(ada.records(device)) == 1
    # The second time there is no message any more, and nothing is created.
    ok(ada.delete("/device", deviceId=device, groupId=below))
    refused(create(ada, below, EUI, "chirpstack"), 409, "originalId")
    ada.device(below, network="chirpstack", originalId=EUI)
    refused(create(ada, below, EUI, "chirpstack"), 409, "originalId")


@pytest.mark.engine_free
def test_only_who_may_create_devices_creates_and_dismisses(site: Site) -> None:
    ada, home = site.ada, site.home
    viewer, stranger = site.world.person("bob"), site.world.person("eve")
    ada.invite(viewer, home, "viewer")
    refused(site.sends(), 404)
    refused(site.sends(eui="AA02030405060708"), 404)
    assert all(each["payload"] for each in unknown(viewer, home))
    refused(stranger.get("/group/unknownDevices", groupId=home), 404, "groupId")
    refused(viewer.delete("/group/unknownDevices", groupId=home), 403)
    refused(stranger.delete("/group/unknownDevices", groupId=home), 404, "groupId")
    refused(create(viewer, home, EUI, "chirpstack"), 403)
    refused(create(stranger, home, EUI, "chirpstack"), 404, "groupId")
    # A group of one's own does not lead to the message.
    other = stranger.group("other")
    refused(create(stranger, other, EUI, "chirpstack"), 409, "originalId")
    # Without record.read there is no payload.
    blind = site.world.person("joe")
    ada.invite(blind, home, ada.role("device.read"))
    assert all("payload" not in each for each in unknown(blind, home))
    # Dismissing.
    one = {"groupId": home, "network": "chirpstack", "originalId": EUI}
    assert ok(ada.delete("/group/unknownDevices", **one))["message"] == "1 dismissed."
    refused(ada.delete("/group/unknownDevices", **one), 404, "originalId")
    assert [each["originalId"] for each in unknown(ada, home)] == ["AA02030405060708"]
    ok(ada.delete("/group/unknownDevices", groupId=home))
    assert unknown(ada, home) == []
    refused(site.sends(), 404)
    assert len(unknown(ada, home)) == 1, "what reports again comes back"


def test_the_groups_below_are_listed_with_subgroups_and_pages_have_an_end(site: Site) -> None:
    ada, home = site.ada, site.home
    below = ada.group("below", home)
    network = network_of(ada, below)
    for number in range(5):
        refused(network.says("loriot", {"cmd": "rx", "EUI": f"{number:016X}"}), 404)
    assert unknown(ada, home) == []
    found = unknown(ada, home, subgroups="true", limit="2")
    assert len({each["originalId"] for each in found}) == len(found) == 5
    assert {each["groupId"] for each in found} == {below}
    assert site.overview(subgroups="true")["unknownDevices"] == 5
    ok(ada.delete("/group/unknownDevices", groupId=home, subgroups="true", network="loriot"))
    assert unknown(ada, below) == []


@pytest.mark.engine_free
def test_creating_moving_and_restoring_devices_removes_what_was_unknown(site: Site) -> None:
    ada, home = site.ada, site.home
    away = ada.group("away")
    euis = [f"{number:016X}" for number in range(3)]
    for eui in euis:
        refused(site.sends(eui=eui), 404)
    assert len(unknown(ada, home)) == 3
    body = {"originalDevicesIds": euis[:2], "groupId": away, "type": "generic"}
    created = ok(ada.post("/devices", body | {"network": "chirpstack"}))["items"]
    assert [each["originalId"] for each in unknown(ada, home)] == euis[2:]
    for eui in euis[:2]:
        refused(site.sends(eui=eui), 404)
    assert [each["reason"] for each in unknown(ada, home)].count("otherGroup") == 2
    moved = {"deviceId": created[0]["deviceId"], "groupId": away, "toGroupId": home}
    ok(ada.put("/device/transfer", moved))
    assert euis[0] not in by_id(unknown(ada, home))


# --- bounds ---


def test_a_group_has_so_many_and_who_reports_again_stays(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unknown_devices, "PER_GROUP_MAX", 10)
    for _ in range(3):
        refused(site.sends(), 404)
    flush(site.world)
    for number in range(40):
        refused(site.sends(eui=f"{number:016X}"), 404)
        if number % 10 == 0:
            flush(site.world)
    found = by_id(unknown(site.ada, site.home))
    assert len(found) <= 10
    assert found[EUI]["count"] == 3
    assert f"{39:016X}" in found
    # Other reasons have room of their own.
    refused(site.network.says("loriot", {"cmd": "rx"}), 400)
    assert "" in by_id(unknown(site.ada, site.home))
    # All groups of one user together have so many.
    monkeypatch.setattr(unknown_devices, "PER_USER_MAX", 4)
    other = site.ada.group("other")
    network = network_of(site.ada, other)
    refused(network.says("loriot", {"cmd": "rx", "EUI": EUI}), 404)
    groups = (site.home, other)
    assert sum(len(unknown(site.ada, group)) for group in groups) == 4
    assert len(unknown(site.ada, other)) == 1


@pytest.mark.engine_free
def test_what_was_last_seen_long_ago_is_deleted(site: Site) -> None:
    world = site.world
    refused(site.sends(), 404)
    flush(world)
    world.clock.let_pass(days=unknown_devices.KEEP_DAYS - 1)
    site.ada.token = world.token(site.ada.client_id, site.ada.client_secret)
    refused(site.sends(eui="AA02030405060708"), 404)
    flush(world)
    world.clock.let_pass(days=1.5)
    site.ada.token = world.token(site.ada.client_id, site.ada.client_secret)
    world._run(maintenance.delete_old_unknown_devices(world.database))
    assert list(by_id(unknown(site.ada, site.home))) == ["AA02030405060708"]


def test_messages_survive_a_stop_and_what_is_counted_later_adds_up(site: Site) -> None:
    for _ in range(2):
        refused(site.sends(), 404)
    assert site.world.list_rows("unknown_device") == []
    site.world.restart()
    (found,) = unknown(site.ada, site.home)
    assert found["count"] == 2
    for _ in range(3):
        refused(site.sends(), 404)
    (found,) = unknown(site.ada, site.home)
    assert found["count"] == 5


def test_a_message_that_is_stored_while_its_device_is_created_does_not_stay(site: Site) -> None:
    """On PostgreSQL neither transaction sees the other."""
    world = site.world
    refused(site.sends(), 404)
    refused(site.sends(eui="AA02030405060708"), 404)
    reported = world.app._unknown_devices._take()
    site.ada.device(site.home, network="chirpstack", originalId=EUI)
    world.write(lambda tx: store.add(tx, reported, {site.home: site.ada.id}))
    assert len(unknown(site.ada, site.home)) == 2
    world._run(maintenance.delete_old_unknown_devices(world.database))
    assert list(by_id(unknown(site.ada, site.home))) == ["AA02030405060708"]
    # What is stored later sees the device.
    world.write(lambda tx: unknown_devices.store_reports(tx, reported))
    found = by_id(unknown(site.ada, site.home))
    assert list(found) == ["AA02030405060708"] and found["AA02030405060708"]["count"] == 2


@pytest.mark.engine_free
def test_what_cannot_be_stored_now_is_stored_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(tx: Tx, reported: Any) -> Any:
        raise Unavailable

    refused(site.sends(), 404)
    with monkeypatch.context() as patch:
        patch.setattr(unknown_devices, "store_reports", fail)
        with pytest.raises(Unavailable):
            flush(site.world)
        refused(site.sends(), 404)
    (found,) = unknown(site.ada, site.home)
    assert found["count"] == 2


@pytest.mark.engine_free
def test_a_process_keeps_so_many_of_an_interval_and_those_of_others_stay(site: Site) -> None:
    buffer = UnknownDeviceBuffer(site.world.database, lambda counts: None)
    actors = [Actor("network", str(number), group_id=str(number)) for number in range(20)]
    buffer.note(actors[0], "loriot", EUI)
    for actor in actors[1:]:
        for number in range(IDS_PER_GROUP_MAX + 10):
            buffer.note(actor, "loriot", f"{number:016X}")
    taken = buffer._take()
    assert len(taken) == IDS_MAX
    assert [each.original_id for each in taken if each.group_id == "0"] == [EUI]
    assert buffer._take() == []


@on_sqlite
def test_the_doctor_says_that_devices_report_without_a_record(site: Site, tmp_path: Path) -> None:
    refused(site.sends(), 404)
    flush(site.world)
    result = longwire("doctor", "--json", "--data", str(site.world.settings.data), cwd=tmp_path)
    said = [each["text"] for each in json.loads(result.stdout) if each["severity"] == "warning"]
    assert any("1 unknown" in text for text in said), said


@pytest.mark.engine_free
def test_metrics_count_messages_and_ids(site: Site) -> None:
    refused(site.sends(), 404)
    refused(site.sends(), 404)
    flush(site.world)
    found = counters(site.world)
    key = ("longwire_unknown_device_messages_total", "network=chirpstack", "reason=unknown")
    assert found[key] == 2
    assert found["longwire_unknown_devices", "reason=unknown"] in (0, 1)  # counted now and then


# --- what is shown of a message ---


@pytest.mark.parametrize(
    "body, shown",
    [
        (b'{"devEUI":"01"}', '{"devEUI":"01"}'),
        (b"\xff\x00\x01", "ff0001"),
        ("für".encode() * 15 + b"\xc3", "für" * 15),
        (b'{"a":1,"joinServerContext":{"appSKey":"00"}}', '{"a":1}'),
        (b'{"x":{"app_s_key":"00","b":[2]}}', '{"x":{"b":[2]}}'),
        (b"appskey=00&EUI=1", ""),
        (b"a\x00b", "a\ufffdb"),
    ],
)
def test_a_body_is_shown_without_session_keys(body: bytes, shown: str) -> None:
    assert describe_body(body, 60) == shown


def test_long_and_deep_bodies_are_cut() -> None:
    assert len(describe_body(b"x" * 10_000_000, 2_048)) == 2_048
    assert describe_body(b'{"appskey":' + b"[" * 100_000, 2_048) == ""

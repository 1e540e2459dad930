"""Ids that can work, and hardware that is replaced: another original id, or another network."""

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from longwire.store.statement import Statement
from tests.delivery.receiver import Receiver, StubResponse
from tests.waiting import eventually
from tests.world import Person, World, device_in, nothing_happens, ok, refused

Json = dict[str, Any]
EUI = "70b3d57ed005abcd"
OTHER = "70b3d57ed005abce"
LABEL = "70-B3-D5-7E-D0-05-AB-CD"
TOO_LONG = "70B3D57ED005ABCD12"


class Site:
    """Somebody with a device on ChirpStack, and the network."""

    def __init__(self, world: World, network: str = "chirpstack", original_id: str = EUI) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.home = self.ada.group("home")
        self.device = self.ada.device(
            self.home, name="buoy", network=network, originalId=original_id
        )
        self.token = ok(self.ada.get("/group", groupId=self.home))[0]["token"]

    def at(self, world: World) -> "Site":
        """The same, through another process."""
        there = copy.copy(self)
        there.world = world
        return there

    @property
    def key(self) -> Json:
        return {"deviceId": self.device, "groupId": self.home}

    def shown(self) -> Json:
        return dict(ok(self.ada.get("/device", deviceId=self.device)))

    def calls(self, path: str, body: Json, **params: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.world.http.post(f"/network/{path}", json=body, headers=headers, params=params)

    def says(self, eui: str, counter: int, **fields: Any) -> httpx.Response:
        """An uplink of ChirpStack; all of the same time."""
        body = {"deviceInfo": {"devEui": eui}, "fCnt": counter, "fPort": 2, "data": "AAE="}
        time = {"time": "2026-02-03T04:05:06.789+00:00"}
        return self.calls("chirpstack", {**body, **time, **fields}, event="up")

    def replaced(self, **fields: Any) -> Json:
        return dict(ok(self.ada.put("/device", {**self.key, **fields})))

    def events(self) -> list[str]:
        return [each["type"] for each in self.ada.records(self.device, "event")]

    def audited(self) -> Json:
        """The newest entry of the audit log about the device."""
        found = ok(self.ada.get("/group/audit", groupId=self.home, objectId=self.device))["items"]
        return dict(found[0])


# --- ids that can work ---


def test_an_id_is_stored_as_its_network_sends_it_by_every_way_in(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    site = Site(world, "ChirpStack", LABEL)
    shown = site.shown()
    assert (shown["network"], shown["originalId"], shown["name"]) == ("chirpstack", EUI, "buoy")
    ok(site.says(EUI, 1))
    assert len(site.ada.records(site.device)) == 1

    body = {"groupId": group, "type": "generic", "network": "The Things Stack"}
    wanted = ["0x70B3D57ED0050001", "70:b3:d5:7e:d0:05:00:02", "meter-7"]
    made = ok(ada.post("/devices", {**body, "originalDevicesIds": wanted}))["items"]
    ids = ["70B3D57ED0050001", "70B3D57ED0050002", "meter-7"]
    assert [each["originalId"] for each in made] == [each["name"] for each in made] == ids
    assert {each["network"] for each in made} == {"ttn"}

    vendor = {"id": "00 1f:d4", "deviceTypeId": "5d", "deviceName": "crane", "pac": "A1"}
    created = device_in(world, group, originalId="0x1FD4", network="Vendor")
    made_there = ok(ada.post("/device/vendor", {"input": created, "vendor": vendor}))
    assert (made_there["network"], made_there["originalId"]) == ("vendor", "1FD4")

    file = f"originalId,network\n{OTHER.upper()[:8]}-{OTHER[8:]},CHIRPSTACK\n"
    ok(imported(ada, group, file, type="generic"))
    found = ok(ada.get("/devices", groupId=group, q=OTHER.upper(), network="Chirpstack"))["items"]
    assert [(each["originalId"], each["name"]) for each in found] == [(OTHER, OTHER)]
    assert ok(imported(ada, group, file, type="generic"))["existing"] == 1
    # However it is written, it is taken.
    refused(
        ada.post("/device", device_in(world, group, originalId=LABEL, network="chirpstack")), 409
    )


def imported(person: Person, group: str, text: str, **params: Any) -> httpx.Response:
    return person.request(
        "POST",
        "/devices/import",
        params={"groupId": group, **params},
        content=text.encode(),
        headers={"Content-Type": "text/csv"},
    )


@pytest.mark.engine_free
def test_an_id_that_its_network_can_never_send_is_refused_by_every_way_in(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    kept = ada.device(group, originalId=EUI, network="loriot")
    with nothing_happens(world):
        for network, wrong in (
            *(("chirpstack", each) for each in (TOO_LONG, "my sensor", "70B3")),
            ("TTN", TOO_LONG),
            ("vendor", "crane"),
            ("mqtt", "pump/7"),
        ):
            body = device_in(world, group, originalId=wrong, network=network)
            assert wrong in refused(ada.post("/device", body), 400, "originalId")["message"]
            assert (
                wrong
                in refused(
                    ada.put("/device", {"deviceId": kept, "groupId": group, **body}),
                    400,
                    "originalId",
                )["message"]
            )
        body = {"groupId": group, "type": "generic", "network": "thingpark"}
        some = {**body, "originalDevicesIds": [EUI, "x", OTHER, TOO_LONG]}
        places = ("originalDevicesIds[1]", "originalDevicesIds[3]")
        problem = refused(ada.post("/devices", some), 400, *places)
        assert "has 18 hex digits; a DevEUI has 16" in problem["message"]
        vendor = {"id": "crane", "deviceTypeId": "5d", "deviceName": "crane", "pac": "A1"}
        created = device_in(world, group, originalId="crane", network="vendor")
        asked = {"input": created, "vendor": vendor}
        refused(ada.post("/device/vendor", asked), 400, "input.originalId")
        many = {"groupId": group, "type": "generic", "vendor": [vendor]}
        refused(ada.post("/devices/vendor", many), 400, "vendor[0].id")
        file = f"originalId\n{EUI}\n{TOO_LONG}\n"
        asked = {"type": "generic", "network": "thingpark"}
        refused(imported(ada, group, file, **asked), 400, "lines[3].originalId")
        (error,) = ok(imported(ada, group, file, dryRun=True, **asked))["errors"]
        assert (error["line"], error["code"]) == (3, "invalid_original_id")
        key = {"deviceId": kept, "groupId": group}
        problem = refused(ada.put("/device", {**key, "network": "mqtt", "originalId": ""}), 400)
        assert problem["errors"][0]["field"] == "originalId"


def test_a_device_with_an_id_of_before_it_was_checked_can_be_used_and_mended(world: World) -> None:
    site = Site(world, "plant", TOO_LONG)
    table = "update device set network = 'chirpstack' where id = :id"
    world.write(lambda tx: tx.run(Statement(table), id=site.device))
    # What is sent back as it was is not checked again.
    shown = site.shown()
    again = {"originalId": shown["originalId"], "network": shown["network"], "name": "Buoy"}
    assert site.replaced(**again)["name"] == "Buoy"
    assert site.audited()["action"] == "device.update"
    assert (
        ok(
            imported(
                site.ada, site.home, f"originalId,network,type\n{TOO_LONG},chirpstack,generic\n"
            )
        )["existing"]
        == 1
    )
    assert site.replaced(originalId=LABEL)["originalId"] == EUI
    ok(site.says(EUI, 1))


# --- hardware that is replaced ---


@pytest.mark.engine_free
@pytest.mark.parametrize(
    "engine, processes", [("sqlite", 1), ("postgresql", 2)], indirect=["engine"]
)
def test_replaced_hardware_is_the_same_device_and_the_old_id_is_free(
    make_world: Callable[..., World], processes: int
) -> None:
    world = make_world()
    site = Site(world)
    for counter in (7, 8):
        ok(site.says(EUI, counter))
    before = site.shown()
    elsewhere = site
    if processes == 2:
        elsewhere = site.at(make_world())
        ok(elsewhere.says(EUI, 9))  # it has cached the device
    world.clock.let_pass(seconds=60)
    changed = site.replaced(originalId="0x" + OTHER.upper())
    assert changed == site.shown()
    assert changed["originalId"] == OTHER and changed["updatedAt"] > before["updatedAt"]
    kept = ("deviceId", "groupId", "name", "type", "network", "seenAt", "configuration", "tags")
    assert {each: changed[each] for each in kept} == {each: before[each] for each in kept}
    entry = site.audited()
    assert entry["action"] == "device.replaceHardware"
    assert (entry["before"], entry["after"]) == ({"originalId": EUI}, {"originalId": OTHER})

    number = len(site.ada.records(site.device))
    refused(elsewhere.says(EUI, 10), 404)
    refused(site.says(EUI, 10), 404)
    # It counts from the beginning: neither a gap, nor late, nor a duplicate of the same moment.
    ok(elsewhere.says(OTHER, 0))
    ok(site.says(OTHER, 1))
    assert len(site.ada.records(site.device)) == number + 2
    assert site.events() == []
    # Both ids are those of one device each.
    new = site.ada.device(site.home, network="chirpstack", originalId=EUI)
    ok(elsewhere.says(EUI, 0))
    assert len(site.ada.records(new)) == 1
    assert len(site.ada.records(site.device)) == number + 2


@pytest.mark.engine_free
def test_an_id_that_is_taken_is_refused_without_a_hint_whose(world: World) -> None:
    site = Site(world)
    eve = world.person("eve")
    theirs = eve.device(eve.group("theirs"), network="chirpstack", originalId=OTHER)
    loriot = eve.device(eve.group("more"), network="loriot", originalId=EUI)
    viewer = world.person("vic")
    site.ada.invite(viewer, site.home, "viewer")
    with nothing_happens(world):
        problem = refused(site.ada.put("/device", {**site.key, "originalId": OTHER}), 409)
        assert [each["field"] for each in problem["errors"]] == ["originalId"]
        answer = site.ada.put("/device", {**site.key, "network": "Loriot"})
        refused(answer, 409, "network")
        assert not any(each in answer.text for each in (theirs, loriot, eve.id))
        refused(viewer.put("/device", {**site.key, "originalId": "70B3D57ED0050001"}), 403)
        stale = {"originalId": "70B3D57ED0050001", "ifUpdatedAt": "2020-01-01"}
        refused(site.ada.put("/device", {**site.key, **stale}), 409)
    # Its own in another spelling is no other hardware.
    assert site.replaced(originalId=LABEL)["originalId"] == EUI
    assert site.audited()["action"] == "device.update"


def test_replaced_hardware_on_another_network_gets_no_downlink_of_the_old_one(
    make_world: Callable[..., World],
) -> None:
    with Receiver(StubResponse(status=503)) as receiver:
        world = make_world()
        site = Site(world, "ttn", EUI)
        uplink = {"end_device_ids": {"dev_eui": EUI}, "uplink_message": {"f_port": 1, "f_cnt": 1}}
        headers = {
            "Authorization": f"Bearer {site.token}",
            "X-Downlink-Push": receiver.url,
            "X-Downlink-Apikey": "key",
        }
        ok(world.http.post("/network/ttn", json=uplink, headers=headers))
        asked = {"deviceId": site.device, "payload": "01", "port": 1, "confirmed": True}
        downlink = ok(site.ada.post("/device/downlink", asked))["id"]
        receiver.wait_for(1)
        site.replaced(network="chirpstack", originalId=OTHER)
        (listed,) = ok(site.ada.get("/device/downlinks", deviceId=site.device))["items"]
        assert (listed["id"], listed["state"]) == (downlink, "cancelled")
        assert listed["detail"] == "the hardware of the device was replaced"
        assert site.events() == ["downlinkQueued", "downlinkCancelled"]
        number = len(receiver.requests)
        world.clock.let_pass(seconds=600)
        ok(site.says(OTHER, 0))
        assert len(receiver.requests) == number
        # On the old network again, it waits for a link of its own.
        site.replaced(network="ttn")
        refused(site.ada.post("/device/downlink", asked), 409)


def test_a_registration_is_of_the_hardware(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    vendor = {"id": "1FD4", "deviceTypeId": "5d", "deviceName": "crane", "pac": "A1" * 8}
    created = device_in(world, group, originalId="1FD4", network="vendor")
    device = ok(ada.post("/device/vendor", {"input": created, "vendor": vendor}))
    assert json.loads(device["information"])["registration"]["state"] == "pending"
    key = {"deviceId": device["deviceId"], "groupId": group}
    changed = ok(ada.put("/device", {**key, "originalId": "1FD5"}))
    assert json.loads(changed["information"])["registration"] == {
        "state": "cancelled",
        "reason": "the hardware was replaced",
    }
    # Nothing is left of it, so it can be deleted, and the old id registered.
    vendor_again = ok(ada.post("/device/vendor", {"input": created, "vendor": vendor}))
    assert json.loads(vendor_again["information"])["registration"]["state"] == "pending"
    ok(ada.delete("/device", **key))


@pytest.mark.engine_free
def test_the_battery_of_old_hardware_is_forgotten(world: World) -> None:
    site = Site(world, "vendor", "1F")
    ok(site.calls("vendor/status", {"device": "1F", "time": 1_653_666_733, "batt": 2.1}))
    eventually(lambda: "battery" in site.shown())
    assert "battery" not in site.replaced(originalId="2F")
    assert "battery" not in site.shown()

"""The battery that is among the values of a device is its battery."""

import json
from typing import Any

import pytest

from tests.fleet.test_current_values import NOON_S, says
from tests.fleet.test_decoding import Field, decode_with, redecode
from tests.fleet.test_device_search import report_battery
from tests.fleet.test_measurements import declare, measurement
from tests.notifications.stories import alarmed
from tests.world import Person, World, ok

EUI = "70b3d57ed005a1f0"


def battery(person: Person, device: str) -> str | None:
    found: str | None = ok(person.get("/device", deviceId=device)).get("battery")
    return found


def uplink(person: Person, group: str, number: int, **values: Any) -> None:
    """A message of a network whose codec has decoded some values."""
    token = ok(person.get("/group", groupId=group))[0]["token"]
    message = {"fCnt": number, "fPort": 2, "data": "AQ==", "object": values}
    body = {"deviceInfo": {"devEui": EUI}, **message}
    headers = {"Authorization": f"Bearer {token}"}
    query = {"event": "up"}
    ok(person.request("POST", "/network/chirpstack", json=body, headers=headers, params=query))


@pytest.mark.engine_free
def test_what_a_codec_calls_battery_is_the_battery_of_the_device(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, network="chirpstack", originalId=EUI)
    ada.device(group)
    uplink(ada, group, 1, battery=88, celsius=4)
    assert battery(ada, device) == "88"
    found = ok(ada.get("/devices", groupId=group, batteryBelow=90))["items"]
    assert [each["deviceId"] for each in found] == [device]
    uplink(ada, group, 2, battery=60.5)
    assert battery(ada, device) == "60.5"
    uplink(ada, group, 3, celsius=5)
    assert battery(ada, device) == "60.5"
    report_battery(ada, group, EUI, 40)
    assert battery(ada, device) == "40"
    uplink(ada, group, 4, battery="full")
    uplink(ada, group, 5, battery=-1)
    assert battery(ada, device) == "40"
    uplink(ada, group, 6, battery=3.6)
    assert battery(ada, device) == "3.6 V"
    uplink(ada, group, 7, battery=3598)
    assert battery(ada, device) == "3.598 V"


@pytest.mark.engine_free
def test_late_messages_change_no_battery_and_duplicates_neither(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    says(ada, device, NOON_S, battery=50)
    says(ada, device, NOON_S - 60, battery=80)
    assert battery(ada, device) == "50"
    says(ada, device, NOON_S + 60, batteryLevel=70, battery_level=1)
    assert battery(ada, device) == "50"  # it has one that is called battery
    items = [
        {
            **{"deviceId": device, "timestamp": NOON_S + at, "configuration": "", "__raw": ""},
            **{"deviceType": "generic", "data": json.dumps({"battery": at})},
        }
        for at in (70, 90, 80)
    ]
    ok(ada.post("/device/data/batch", {"items": items}))
    ok(ada.post("/device/data/batch", {"items": items[:1]}))
    assert battery(ada, device) == "90"


@pytest.mark.engine_free
def test_a_declared_battery_has_a_place_and_a_unit(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    declare(ada, group, measurement("battery", "/data/power/cell", unit="mV", maximum=5_000))
    says(ada, device, NOON_S, battery=88, power={"cell": 900})
    assert battery(ada, device) == "0.9 V"
    says(ada, device, NOON_S + 1, power={"cell": 9_000})
    assert battery(ada, device) == "0.9 V"
    declare(ada, group, measurement("battery", "/data/charge", unit="%"))
    says(ada, device, NOON_S + 2, charge=3.5)
    assert battery(ada, device) == "3.5"


@pytest.mark.engine_free
def test_a_low_battery_that_a_device_measures_causes_one_alert(world: World) -> None:
    with alarmed(world, reason="batteryLow", params={"batteryBelow": 20}) as alarm:
        now_s = world.clock.now() // 1_000_000
        for step, level in enumerate((80, 20, 19, 12)):
            says(alarm.person, alarm.device, now_s - 60 + step, battery=level)
        low = alarm.alerts(1)[0]
        assert (low["reason"], low["message"]["state"]) == ("batteryLow", "raised")
        assert low["message"]["battery"] == 19
        says(alarm.person, alarm.device, now_s, battery=70)
        assert alarm.alerts(2)[1]["message"]["state"] == "resolved"


def test_payloads_that_are_decoded_again_have_the_battery(world: World) -> None:
    field = Field(world)
    ada, crane = field.ada, field.crane
    for number in (1, 2):
        field.crane_says(f"{number + 40:02x}", number)
    assert battery(ada, crane) is None
    decode_with(world, "bits", "battery::uint:8")
    assert redecode(ada, deviceId=crane)["changed"] == 2
    assert battery(ada, crane) == "42"
    assert len(ok(ada.get("/devices", groupId=field.home, batteryBelow=43))["items"]) == 1

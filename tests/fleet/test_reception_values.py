"""How messages were received, as values of their device: signal, gateways, losses."""

from typing import Any

import pytest

from tests.fleet.test_current_values import NOON_S, times, values
from tests.fleet.test_measurements import declare, measurement
from tests.fleet.test_summaries import run_work
from tests.world import Person, World, ok

EUI = "70b3d57ed005a1f1"


def uplink(person: Person, group: str, number: int, at: str, *levels: int, **more: Any) -> None:
    """A message that gateways have received with these levels."""
    token = ok(person.get("/group", groupId=group))[0]["token"]
    radio = {"frequency": 868_100_000, "modulation": {"lora": LORA}}
    received = [
        {"gatewayId": f"{index:016x}", "rssi": level, "snr": 7.5}
        for index, level in enumerate(levels)
    ]
    body = {
        **{"deviceInfo": {"devEui": EUI}, "time": at, "fCnt": number, "fPort": 2, "dr": 5},
        **{"data": "AQ==", "object": {"celsius": 4}, "rxInfo": received, "txInfo": radio, **more},
    }
    headers = {"Authorization": f"Bearer {token}"}
    query = {"event": "up"}
    ok(person.request("POST", "/network/chirpstack", json=body, headers=headers, params=query))


LORA = {"bandwidth": 125_000, "spreadingFactor": 7, "codeRate": "CR_4_5"}


@pytest.mark.engine_free
def test_signal_gateways_and_losses_are_values(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, network="chirpstack", originalId=EUI)
    uplink(ada, group, 1, "2026-03-01T12:00:00Z", -90, -100)
    received = {
        **{"celsius": 4, "telemetry.rssi": -90, "telemetry.snr": 7.5, "telemetry.score": 3},
        **{"telemetry.gateways": 2, "telemetry.frequency": 868_100_000},
        **{"telemetry.bandwidth": 125_000, "telemetry.spreadingFactor": 7},
        "telemetry.dataRate": 5.469,
    }
    assert values(ada, device) == received
    uplink(ada, group, 2, "2026-03-01T12:10:00Z", -80)
    assert values(ada, device)["telemetry.gateways"] == 1
    assert "telemetry.lost" not in values(ada, device)
    uplink(ada, group, 6, "2026-03-01T12:20:00Z", -80)
    uplink(ada, group, 8, "2026-03-01T12:30:00Z", -80)
    assert values(ada, device)["telemetry.lost"] == 1
    assert times(ada, device)["telemetry.lost"] == "2026-03-01T12:30:00.000Z"
    # An event of that kind that says something else is no loss.
    ada.reports(device, "event", type="opened", timestamp=NOON_S + 7_200, data='{"door": 5}')
    assert "event.door" not in values(ada, device)

    query = {"deviceId": device, "beginDate": "2026-03-01", "endDate": "2026-03-01"}
    span = {"calendarSpan": "day", "timezone": "UTC"}
    for _ in range(2):
        for name, total in {"telemetry.lost": 4, "telemetry.gateways": 5}.items():
            shown = ok(ada.get("/device/series", **query, **span, measurement=name))
            (point,) = shown["items"][0]["points"]
            assert point["sum"] == total, name
        run_work(world)

    items = ok(ada.get("/group/measurements", groupId=group))["items"]
    shown = {each["name"]: (each["class"], each.get("unit")) for each in items}
    assert shown["telemetry.lost"] == ("amount", None)
    assert shown["telemetry.rssi"] == ("gauge", "dBm")
    assert shown["telemetry.dataRate"] == ("gauge", "kbit/s")
    assert "telemetry.seqNumber" not in shown


def test_they_can_be_declared_by_another_name(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, network="chirpstack", originalId=EUI)
    uplink(ada, group, 1, "2026-03-01T12:00:00Z", -90)
    declare(
        ada,
        group,
        measurement("stations", "/nbBS", kind="telemetry"),
        measurement("door", "/data/door", kind="event"),
    )
    assert values(ada, device)["stations"] == 1
    uplink(ada, group, 5, "2026-03-01T12:10:00Z", -80, -70)
    ada.reports(device, "event", type="opened", timestamp=NOON_S, data='{"door": 5}')
    found = values(ada, device)
    assert (found["stations"], found["door"], found["telemetry.lost"]) == (2, 5, 3)
    assert "telemetry.gateways" not in found

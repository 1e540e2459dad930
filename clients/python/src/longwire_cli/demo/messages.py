"""Messages as radio networks send them, with the gateways that received an uplink."""

import base64
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from longwire_cli.demo.plan import DevicePlan

Json = dict[str, Any]

_GATEWAYS = (
    ("0016c001f153a14c", "gw-maasvlakte", 51.9581, 4.0402),
    ("0016c001f153a1d7", "gw-botlek", 51.8899, 4.2977),
    ("0016c001f1501b02", "gw-waalhaven", 51.8845, 4.4410),
    ("0016c001f14ff9e3", "gw-kijfhoek", 51.8402, 4.6011),
)
_FREQUENCIES = (868_100_000, 868_300_000, 868_500_000, 867_100_000, 867_300_000)


@dataclass(frozen=True, slots=True)
class Uplink:
    """A payload on its way, before a network has put it into its own words."""

    plan: DevicePlan
    payload: bytes
    sequence: int
    at_ms: int
    battery_percent: float


@dataclass(frozen=True, slots=True)
class Callback:
    """A request of a network."""

    path: str
    body: Json
    headers: tuple[tuple[str, str], ...] = ()


def _rfc3339(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _receptions(rng: random.Random) -> list[tuple[str, str, float, float, int, float]]:
    """Some gateways, each with RSSI and SNR; the nearest is the strongest."""
    found = rng.sample(_GATEWAYS, rng.choice((1, 1, 2, 2, 3)))
    strongest = rng.randint(-104, -62)
    return [
        (*gateway, strongest - 7 * rank - rng.randint(0, 4), round(9.5 - 3.5 * rank, 1))
        for rank, gateway in enumerate(found)
    ]


def build_chirpstack_uplink(uplink: Uplink, rng: random.Random) -> Callback:
    plan = uplink.plan
    body = {
        "deduplicationId": _uuid(rng),
        "time": _rfc3339(uplink.at_ms),
        "deviceInfo": _chirpstack_device(plan),
        "devAddr": plan.original_id[-8:].lower(),
        "adr": True,
        "dr": 5,
        "fCnt": uplink.sequence,
        "fPort": 2,
        "confirmed": False,
        "data": base64.b64encode(uplink.payload).decode(),
        "rxInfo": [
            {
                "gatewayId": eui,
                "uplinkId": rng.getrandbits(32),
                "rssi": rssi,
                "snr": snr,
                "channel": rng.randint(0, 7),
                "location": {"latitude": lat, "longitude": lng},
                "crcStatus": "CRC_OK",
            }
            for eui, _, lat, lng, rssi, snr in _receptions(rng)
        ],
        "txInfo": {
            "frequency": rng.choice(_FREQUENCIES),
            "modulation": {
                "lora": {"bandwidth": 125_000, "spreadingFactor": 7, "codeRate": "CR_4_5"}
            },
        },
    }
    return Callback("/network/chirpstack?event=up", body)


def build_chirpstack_status(plan: DevicePlan, at_ms: int, percent: float) -> Callback:
    body = {
        "time": _rfc3339(at_ms),
        "deviceInfo": _chirpstack_device(plan),
        "margin": 12,
        "externalPowerSource": False,
        "batteryLevelUnavailable": False,
        "batteryLevel": percent,
    }
    return Callback("/network/chirpstack?event=status", body)


def _chirpstack_device(plan: DevicePlan) -> Json:
    return {
        "tenantName": "Harbour",
        "applicationName": plan.group,
        "deviceProfileName": plan.type,
        "deviceName": plan.name,
        "devEui": plan.original_id.lower(),
    }


def build_ttn_uplink(uplink: Uplink, rng: random.Random, downlink_url: str) -> Callback:
    """With the URL to which The Things Stack wants downlinks to be pushed."""
    plan, time = uplink.plan, _rfc3339(uplink.at_ms)
    body = {
        "end_device_ids": {
            "device_id": f"eui-{plan.original_id.lower()}",
            "application_ids": {"application_id": plan.group.lower().replace(" ", "-")},
            "dev_eui": plan.original_id,
            "dev_addr": plan.original_id[-8:],
        },
        "received_at": time,
        "uplink_message": {
            "session_key_id": base64.b64encode(rng.randbytes(9)).decode(),
            "f_port": 2,
            "f_cnt": uplink.sequence,
            "frm_payload": base64.b64encode(uplink.payload).decode(),
            "received_at": time,
            "last_battery_percentage": {"value": uplink.battery_percent, "received_at": time},
            "rx_metadata": [
                {
                    "gateway_ids": {"gateway_id": name, "eui": eui.upper()},
                    "rssi": rssi,
                    "channel_rssi": rssi,
                    "snr": snr,
                    "location": {"latitude": lat, "longitude": lng},
                }
                for eui, name, lat, lng, rssi, snr in _receptions(rng)
            ],
            "settings": {
                "data_rate": {"lora": {"bandwidth": 125_000, "spreading_factor": 8}},
                "coding_rate": "4/5",
                "frequency": str(rng.choice(_FREQUENCIES)),
            },
            "consumed_airtime": "0.102912s",
        },
    }
    headers = (("X-Downlink-Push", downlink_url), ("X-Downlink-Apikey", "NNSXS.DEMO"))
    return Callback("/network/ttn", body, headers if downlink_url else ())


def build_vendor_uplink(uplink: Uplink, rng: random.Random, *, asks: bool = False) -> Callback:
    """`asks` for a downlink, which the response then carries."""
    [(eui, _, _, _, rssi, snr), *_] = _receptions(rng)
    body = {
        "device": uplink.plan.original_id,
        "time": uplink.at_ms,
        "data": uplink.payload.hex(),
        "seqNumber": uplink.sequence % 4_096,
        "ack": asks,
        "station": eui[-4:].upper(),
        "rssi": rssi,
        "snr": snr,
    }
    return Callback("/network/vendor/data", body)


def build_vendor_advanced(uplink: Uplink, lat: float, lng: float, rng: random.Random) -> Callback:
    """The stations that received an uplink, and the position that the network computed."""
    duplicates = [
        {"bsId": eui[-4:].upper(), "rssi": rssi, "snr": snr, "nbRep": rng.randint(1, 3)}
        for eui, _, _, _, rssi, snr in _receptions(rng)
    ]
    body = {
        "device": uplink.plan.original_id,
        "time": uplink.at_ms,
        "data": uplink.payload.hex(),
        "seqNumber": uplink.sequence % 4_096,
        "linkQuality": rng.randint(1, 3),
        "operatorName": "Harbour Radio",
        "countryCode": "528",
        "computedLocation": {
            "lat": lat,
            "lng": lng,
            "radius": rng.choice((40, 120, 300)),
            "source": 2,
            "status": 1,
        },
        "duplicates": duplicates,
    }
    return Callback("/network/vendor/dataAdvanced", body)


def build_vendor_status(plan: DevicePlan, at_ms: int, sequence: int, volts: float) -> Callback:
    body = {
        "device": plan.original_id,
        "time": at_ms,
        "seqNumber": sequence % 4_096,
        "batt": volts,
        "temp": 14.5,
    }
    return Callback("/network/vendor/status", body)


def build_vendor_acknowledge(plan: DevicePlan, at_ms: int) -> Callback:
    body = {
        "device": plan.original_id,
        "time": at_ms,
        "infoCode": 0,
        "infoMessage": "Acked",
        "downlinkAck": True,
    }
    return Callback("/network/vendor/acknowledge", body)


def build_telemetry(device_id: str, device_type: str, at_ms: int, rng: random.Random) -> Json:
    """What a network would have reported about an uplink of the past, as a record."""
    receptions = _receptions(rng)
    duplicates = [
        json.dumps({"gatewayId": eui, "rssi": rssi, "snr": snr})
        for eui, _, _, _, rssi, snr in receptions
    ]
    [(eui, _, _, _, rssi, snr), *_] = receptions
    return {
        "deviceId": device_id,
        "timestamp": at_ms,
        "deviceType": device_type,
        "duplicates": duplicates,
        "nbBs": len(duplicates),
        "score": rng.randint(1, 3),
        "data": json.dumps({"station": eui, "rssi": rssi, "snr": snr}),
    }


def _uuid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

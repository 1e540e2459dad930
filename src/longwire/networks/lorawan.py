"""What LoRaWAN networks have in common: gateways, positions, batteries.

Their messages omit zero, false and empty values, so a missing number often is a zero.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from longwire.clock import Moment
from longwire.networks import readings
from longwire.networks.base import DownlinkUpdate, ParsedUplink, Reading
from longwire.networks.values import (
    list_mappings,
    parse_boolean,
    parse_integer,
    parse_number,
    parse_text,
)

PORT_MAX = 255
# Battery levels of a device status, DevStatusAns; 0 is external power, and 255 unknown.
BATTERY_LEVEL_MIN, BATTERY_LEVEL_MAX = 1, 254
_EUI = re.compile(r"[0-9a-fA-F]{16}")
# Like 4/5, CR_4_5 or CR_LI_4_6.
_CODE_RATE = re.compile(r"([1-9])[/_]([1-9])", re.ASCII)
_USUAL_CODE_RATE = "4/5"
# Of each hop, before coding.
_LR_FHSS_BITS_PER_S = 488.28125


def is_eui(text: str) -> bool:
    """Whether a text is an EUI-64 in hex digits, without separators."""
    return _EUI.fullmatch(text) is not None


class Gateway(Struct, frozen=True):
    """A gateway that received the uplink."""

    id: str | None
    rssi: float | None
    snr: float | None


class RadioSettings(Struct, frozen=True):
    """How the uplink was sent."""

    frequency: int | None = None
    bandwidth: int | None = None
    spreading_factor: int | None = None
    code_rate: str | None = None
    modulation: Literal["FSK", "LR-FHSS"] | None = None  # of another modulation than LoRa
    bit_rate: int | None = None  # FSK
    frequency_deviation: int | None = None  # FSK
    channel_width: int | None = None  # LR-FHSS
    grid_steps: int | None = None  # LR-FHSS

    @property
    def data_rate(self) -> float | None:
        """In kbit/s, as far as the network says what it follows from."""
        bits_per_s = self._bits_per_s()
        return None if bits_per_s is None else round(bits_per_s / 1_000, 3)

    def _bits_per_s(self) -> float | None:
        factor, bandwidth = self.spreading_factor, self.bandwidth
        code = _CODE_RATE.search(self.code_rate or "")
        if self.modulation == "LR-FHSS":
            return None if code is None else _LR_FHSS_BITS_PER_S * int(code[1]) / int(code[2])
        if factor is None or factor not in _SNR_MIN_DB or bandwidth is None:
            return self.bit_rate
        code = code or _CODE_RATE.search(_USUAL_CODE_RATE)
        assert code is not None
        return float(factor * bandwidth * int(code[1]) / (int(code[2]) * 2**factor))


def list_receptions(value: Any) -> list[dict[str, Any]]:
    """What each gateway says of an uplink; of more than fit a record, the first ones."""
    return list_mappings(value)[: readings.DUPLICATES_MAX]


def parse_gateway(id: str | None, rssi: Any, snr: Any, radio: RadioSettings) -> Gateway:
    rssi_dbm = parse_number(rssi)
    # Only LoRa modulation has an SNR; there, a missing one is zero.
    is_zero = snr is None and rssi_dbm is not None and radio.spreading_factor is not None
    return Gateway(id, rssi_dbm, 0 if is_zero else parse_number(snr))


def dedup_key(ts: Moment | None, sequence: int | None, payload: bytes) -> str | None:
    """What identifies a repeated uplink that has no time, if it has a frame counter."""
    return f"{sequence} {payload.hex()}" if ts is None and sequence is not None else None


def parse_gateways(
    receptions: Sequence[Mapping[str, Any]], names: tuple[str, str, str], radio: RadioSettings
) -> list[Gateway]:
    """The gateways of some receptions, by the network's names for id, RSSI and SNR."""
    id, rssi, snr = names
    return [
        parse_gateway(
            parse_text(each.get(id), readings.WORD_CHARACTERS_MAX),
            each.get(rssi),
            each.get(snr),
            radio,
        )
        for each in receptions
    ]


def _reception_quality(gateway: Gateway) -> tuple[float, float]:
    missing = float("-inf")
    return (
        missing if gateway.snr is None else gateway.snr,
        missing if gateway.rssi is None else gateway.rssi,
    )


def count_gateways(gateways: Sequence[Gateway]) -> int:
    """How many gateways; one with two antennas counts once."""
    named = {each.id for each in gateways if each.id is not None}
    return len(named) + sum(each.id is None for each in gateways)


# The lowest SNR at which each spreading factor can be demodulated.
_SNR_MIN_DB = {5: -2.5, 6: -5.0, 7: -7.5, 8: -10.0, 9: -12.5, 10: -15.0, 11: -17.5, 12: -20.0}
_MARGIN_STEPS_DB = (5.0, 10.0, 15.0)
_RSSI_STEPS_DBM = (-118.0, -110.0, -100.0)


def link_score(best_gateway: Gateway | None, radio: RadioSettings) -> int | None:
    """The link quality from 0 to 3, on the scale of the vendor's network.

    One point for each 5 dB above the demodulation limit at the best gateway; without an SNR, one
    for each RSSI step.
    """
    if best_gateway is None:
        return None
    if best_gateway.snr is not None:
        margin = best_gateway.snr - _SNR_MIN_DB.get(radio.spreading_factor or 0, _SNR_MIN_DB[7])
        return sum(margin >= each for each in _MARGIN_STEPS_DB)
    if best_gateway.rssi is not None:
        return sum(best_gateway.rssi >= each for each in _RSSI_STEPS_DBM)
    return None


def telemetry(
    ts: Moment | None,
    gateways: Sequence[Gateway],
    receptions: Sequence[Mapping[str, Any]],
    radio: RadioSettings,
    extra: Mapping[str, Any],
) -> tuple[Reading, ...]:
    """The reception of an uplink, if the network names the gateways."""
    best_gateway = max(gateways, key=_reception_quality, default=None)
    if best_gateway is None:
        return ()
    return (
        readings.telemetry(
            ts,
            _reception_data(best_gateway, radio, extra),
            duplicates=receptions,
            stations=count_gateways(gateways),
            score=link_score(best_gateway, radio),
        ),
    )


def unattributed_telemetry(
    ts: Moment | None, rssi: Any, snr: Any, radio: RadioSettings, extra: Mapping[str, Any]
) -> tuple[Reading, ...]:
    """The best reception of an uplink, if the network names no gateways but has measured it."""
    best = parse_gateway(None, rssi, snr, radio)
    if best.rssi is None:
        return ()
    data = _reception_data(best, radio, extra)
    return (readings.telemetry(ts, data, score=link_score(best, radio)),)


def _reception_data(
    best_gateway: Gateway, radio: RadioSettings, extra: Mapping[str, Any]
) -> dict[str, Any]:
    data = {
        **extra,
        "station": best_gateway.id,
        "rssi": best_gateway.rssi,
        "snr": best_gateway.snr,
        "frequency": radio.frequency,
        "bandwidth": radio.bandwidth,
        "spreadingFactor": radio.spreading_factor,
        "dataRate": radio.data_rate,
        "codeRate": radio.code_rate,
        "modulation": radio.modulation,
        "frequencyDeviation": radio.frequency_deviation,
        "operatingChannelWidth": radio.channel_width,
        "gridSteps": radio.grid_steps,
    }
    return readings.drop_none(data)


def geoloc(
    ts: Moment | None,
    location: Mapping[str, Any],
    sources: Mapping[str, int],
    extra: Mapping[str, Any],
) -> Reading | None:
    """A position; its source in the vendor's numbers, and as the network names it."""
    details = readings.remaining_fields(location, used=("latitude", "longitude", "accuracy"))
    return readings.geoloc(
        ts,
        location.get("latitude", 0),
        location.get("longitude", 0),
        {**extra, **details},
        radius=location.get("accuracy"),
        source=sources.get(str(location.get("source"))),
    )


def has_no_moment(uplink: ParsedUplink) -> bool:
    return all(reading.ts is None for reading in uplink.readings)


def parse_battery(percent: Any) -> str | None:
    level = parse_number(percent)
    return None if level is None or not 0 <= level <= 100 else f"{level:.4g}"


def parse_battery_level(value: Any) -> str | None:
    """The battery in percent, from the level of a device status."""
    level = parse_integer(value, BATTERY_LEVEL_MIN, BATTERY_LEVEL_MAX)
    if level is None:
        return None
    return parse_battery(
        100 * (level - BATTERY_LEVEL_MIN) / (BATTERY_LEVEL_MAX - BATTERY_LEVEL_MIN)
    )


def acknowledgement(flag: Any) -> DownlinkUpdate | None:
    """What the acknowledgement flag of an uplink says of the confirmed downlink before it."""
    if not parse_boolean(flag):
        return None
    detail = "the device has confirmed it"
    return DownlinkUpdate(None, "acknowledged", detail, is_of_last_confirmed=True)


def parse_port(value: Any) -> int | None:
    """The port of the payload; port 0 carries MAC commands, and is not kept."""
    return parse_integer(value, 1, PORT_MAX)

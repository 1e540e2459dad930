"""What the networks of LoRaWAN have in common: gateways, places, batteries.

Their messages leave out whatever is zero, false or empty, so that a missing number often is a zero.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from longwire.clock import Moment
from longwire.networks import readings
from longwire.networks.base import ParsedUplink, Reading
from longwire.networks.bodies import parse_integer, parse_number

PORT_MAX = 255


class Gateway(Struct, frozen=True):
    """One that has heard the message."""

    id: str | None
    rssi: float | None
    snr: float | None


class Radio(Struct, frozen=True):
    """How the message was sent."""

    frequency: int | None = None
    bandwidth: int | None = None
    spreading_factor: int | None = None
    code_rate: str | None = None


def gateway(id: str | None, rssi: Any, snr: Any, radio: Radio) -> Gateway:
    strength = parse_number(rssi)
    # Only this modulation has a ratio of signal to noise; there, none is one of zero.
    is_zero = snr is None and strength is not None and radio.spreading_factor is not None
    return Gateway(id, strength, 0 if is_zero else parse_number(snr))


def best(gateways: Sequence[Gateway]) -> Gateway | None:
    """The one that has heard it best, the first of equals."""
    return max(gateways, key=_quality, default=None)


def _quality(gateway: Gateway) -> tuple[float, float]:
    nothing = float("-inf")
    return (
        nothing if gateway.snr is None else gateway.snr,
        nothing if gateway.rssi is None else gateway.rssi,
    )


def stations(gateways: Sequence[Gateway]) -> int:
    """How many gateways; one with two antennas counts once."""
    named = {each.id for each in gateways if each.id is not None}
    return len(named) + sum(each.id is None for each in gateways)


# The least ratio of signal to noise, in dB, at which each spreading factor can still be read.
_FLOORS = {5: -2.5, 6: -5.0, 7: -7.5, 8: -10.0, 9: -12.5, 10: -15.0, 11: -17.5, 12: -20.0}
_MARGINS = (5.0, 10.0, 15.0)
_STRENGTHS = (-118.0, -110.0, -100.0)


def score(heard: Gateway | None, radio: Radio) -> int | None:
    """From 0, hardly heard, to 3: the scale on which the vendor's network tells it.

    A point for each 5 dB above what the spreading factor needs at the best gateway. Without a ratio
    of signal to noise it goes by the strength of the signal: -118, -110 and -100 dBm.
    """
    if heard is None:
        return None
    if heard.snr is not None:
        margin = heard.snr - _FLOORS.get(radio.spreading_factor or 0, _FLOORS[7])
        return sum(margin >= each for each in _MARGINS)
    if heard.rssi is not None:
        return sum(heard.rssi >= each for each in _STRENGTHS)
    return None


def telemetry(
    ts: Moment | None,
    gateways: Sequence[Gateway],
    receptions: Sequence[Mapping[str, Any]],
    radio: Radio,
    said: Mapping[str, Any],
) -> tuple[Reading, ...]:
    """How it was heard, if the network tells by whom."""
    heard = best(gateways)
    if heard is None:
        return ()
    told = {
        **said,
        "station": heard.id,
        "rssi": heard.rssi,
        "snr": heard.snr,
        "frequency": radio.frequency,
        "bandwidth": radio.bandwidth,
        "spreadingFactor": radio.spreading_factor,
        "codeRate": radio.code_rate,
    }
    return (
        readings.telemetry(
            ts,
            readings.drop_none(told),
            duplicates=receptions,
            stations=stations(gateways),
            score=score(heard, radio),
        ),
    )


def geoloc(
    ts: Moment | None,
    location: Mapping[str, Any],
    sources: Mapping[str, int],
    said: Mapping[str, Any],
) -> Reading | None:
    """A place; its source as the vendor numbers them, and in the network's own word."""
    beside = readings.remaining_fields(location, used=("latitude", "longitude", "accuracy"))
    return readings.geoloc(
        ts,
        location.get("latitude", 0),
        location.get("longitude", 0),
        {**said, **beside},
        radius=location.get("accuracy"),
        source=sources.get(str(location.get("source"))),
    )


def has_no_moment(heard: ParsedUplink) -> bool:
    """Whether nothing in a message tells when it was."""
    return all(reading.ts is None for reading in heard.readings)


def battery(percent: Any) -> str | None:
    level = parse_number(percent)
    return None if level is None or not 0 <= level <= 100 else f"{level:.4g}"


def port(value: Any) -> int | None:
    """The port of the payload; port 0 is for the network's own commands, and left out as well."""
    return parse_integer(value, 1, PORT_MAX)

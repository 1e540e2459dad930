"""The vendor's callbacks, and the answer that carries a downlink.

A callback is a template that its owner has written, so names vary, numbers may be in quotes, and
anything can have been added. Names are brought to one spelling, values to what they are, and what is
not known here is kept: in a data message it was decoded out of the payload by the vendor.
"""

from collections.abc import Callable, Mapping
from typing import Any

from longwire.errors import Fault
from longwire.networks import readings
from longwire.networks.base import (
    DECODED,
    SEQUENCE,
    DownlinkNews,
    DownlinkState,
    Heard,
    Nonsense,
    Reading,
)
from longwire.networks.bodies import (
    Needs,
    boolean_of,
    bytes_of_hex,
    list_of,
    mapping_of,
    mappings_in,
    number_of,
    text_of,
    whole_of,
)

DOWNLINK_BYTES = 8


def read(kind: str, values: Mapping[str, Any]) -> Heard:
    """What a callback of this kind says."""
    if kind not in _READERS:
        raise Nonsense(f"The vendor has no callback {kind!r}; there are {', '.join(_READERS)}.")
    return _READERS[kind](_tidy(_in_one_spelling(values)))


def answer(original_id: str, downlink: str | None) -> dict[str, dict[str, Any]]:
    """What a callback that waits for a downlink is answered with: eight bytes in hex, or none."""
    if downlink is None:
        return {original_id: {"noData": True}}
    try:
        payload = bytes_of_hex(downlink)
    except ValueError:
        payload = b""
    if len(payload) != DOWNLINK_BYTES:
        message = f"must be {2 * DOWNLINK_BYTES} hex digits, which are {DOWNLINK_BYTES} bytes"
        raise Nonsense(faults=[Fault("downlinkData", message)])
    return {original_id: {"downlinkData": payload.hex()}}


# --- names and values ---

_ALIASES = {"deviceId": "device", "seq": SEQUENCE, "avgSignal": "avgSnr"}

_TYPES: Mapping[str, Callable[[Any], Any]] = {
    SEQUENCE: whole_of,
    "ack": boolean_of,
    "longPolling": boolean_of,
    "duplicate": boolean_of,
    "rssi": number_of,
    "snr": number_of,
    "avgSnr": number_of,
    "lat": number_of,
    "lng": number_of,
    "radius": number_of,
    "linkQuality": whole_of,
    "fixedLat": number_of,
    "fixedLng": number_of,
    "duplicates": list_of,
    "computedLocation": _first_mapping if False else mapping_of,
    "temp": number_of,
    "batt": number_of,
    "infoCode": whole_of,
    "downlinkAck": boolean_of,
    "downlinkOverusage": boolean_of,
}

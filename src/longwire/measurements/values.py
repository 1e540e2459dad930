"""The values of a record, whoever decoded them.

In the data of a record that a network sent, the values are at the top, and what the network says of
the transmission is apart, in `radio`. Records that were stored before had these facts at the top as
well, and what the network itself had decoded in `decoded`; they stay as they are, and are read here
in both spellings.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from longwire.records import RecordKind

RADIO = "radio"
SEQUENCE = "seqNumber"
PORT = "port"
TAGS = "tags"  # that the network has for the device
# Errors and warnings of the device type's decoder, and how many members did not fit.
DECODE_ERROR = "decodeError"
DECODE_WARNINGS = "decodeWarnings"
LEFT_OUT = "leftOut"
NOT_VALUES = frozenset((RADIO, DECODE_ERROR, DECODE_WARNINGS, LEFT_OUT))

# How a message was received, in telemetry: label and unit.
RECEPTION = {
    "rssi": ("RSSI", "dBm"),
    "snr": ("SNR", "dB"),
    "frequency": ("Frequency", "Hz"),
    "bandwidth": ("Bandwidth", "Hz"),
    "dataRate": ("Data rate", "kbit/s"),
}

# How older records spell it.
DECODED = "decoded"
DEVICE = "deviceInfo"
CUSTOMER = "CustomerData"
_WITH_TAGS = (DEVICE, CUSTOMER)
_OLD_FACTS = frozenset(
    (
        *(SEQUENCE, PORT, "ack", "adr", "dr", "confirmed", "devAddr", "deduplicationId"),
        *("regionConfigId", DEVICE, "data_rate_index", "device_id", "application_id", "dev_addr"),
        *("simulated", "session_key_id", "consumed_airtime", "packet_error_rate", "locations"),
        *("version_ids", "network_ids", "last_battery_percentage", "attributes"),
        *("decoded_payload_warnings", "normalized_payload_warnings", "bat", "encdata", CUSTOMER),
        *("ADR", "ADRbit", "ACKbit", "AckRequested", "MType", "FCntDn", "mic_hex", "CustomerID"),
        *("ModelCfg", "DriverCfg", "DevAddr", "BatteryLevel", "BatteryTime"),
        *("Margin", "InstantPER", "MeanPER", "PayloadEncryption", "payload_hex", "Late"),
        *("rawMacCommands", "TxPower", "NbTrans", "DynamicClass", "downlinkUrl"),
        *("deviceTypeId", "longPolling", "duplicate", "avgSnr", "station", "geolocSource"),
    )
)
# These may be what a device has measured; they are facts beside values in `decoded`.
_OLD_FACTS_BESIDE_DECODED = _OLD_FACTS | {"rssi", "snr", "lat", "lng", "radius", "type"}


def is_of_network(data: Any) -> bool:
    """Whether the data of a record has the facts of a transmission, apart from values."""
    return isinstance(data, dict) and isinstance(data.get(RADIO), dict)


def facts_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The facts of the transmission, by their names: in `radio`, or at the top of what is older."""
    return data[RADIO] if is_of_network(data) else data


def values_of(
    kind: RecordKind, data: Any, decoded_names: Collection[str] | None = None
) -> Mapping[str, Any]:
    """The values in the data of a record, by their names; none if it is no object.

    `data` is decoded JSON, `decoded_names` the record's. Of other kinds, all members are values.
    """
    if not isinstance(data, dict):
        return {}
    if kind is not RecordKind.DATA:
        return data
    if is_of_network(data):
        return {name: value for name, value in data.items() if name not in NOT_VALUES}
    return _values_of_older(data, [each for each in decoded_names or () if each not in NOT_VALUES])


def find_members(
    kind: RecordKind, data: Any, decoded_names: Collection[str] | None, name: str
) -> Iterator[Any]:
    """What a name may mean in the data of a record: as it is spelled there, and in the other way.

    So `celsius` is found in `decoded` of an older record, and `decoded` in a newer one.
    """
    if not isinstance(data, dict):
        return
    if name in data:
        yield data[name]
    if kind is not RecordKind.DATA:
        return
    if is_of_network(data):
        found = NetworkData(data, decoded_names).find_older(name)
        if found is not None:
            yield found
    elif name == RADIO:
        yield data
    else:
        values = values_of(kind, data, decoded_names)
        if name in values:
            yield values[name]


class NetworkData(dict[str, Any]):
    """The data of a network's record, where members are found by their older spelling, too.

    `decoded` is what the network has decoded, and the facts in `radio` stand at the top, as far as
    there is no such value. As a whole it is what is stored.
    """

    __slots__ = ("_decoded_names",)

    def __init__(self, data: Mapping[str, Any], decoded_names: Collection[str] | None) -> None:
        super().__init__(data)
        self._decoded_names = decoded_names or ()

    def __missing__(self, name: str) -> Any:
        found = self.find_older(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or self.find_older(name) is not None

    def find_older(self, name: object) -> Any:
        """What an older record has under this name; None if that is nothing."""
        radio = self[RADIO]
        if name == DECODED:
            other = NOT_VALUES.union(self._decoded_names)
            return {each: value for each, value in self.items() if each not in other} or None
        if name in _WITH_TAGS and TAGS in radio:
            return {TAGS: radio[TAGS]}
        if name in radio:
            return radio[name]
        plain = str(name).removesuffix("_")
        is_renamed = plain != name and plain in self._decoded_names and plain in radio
        return self.get(plain) if is_renamed else None


def read_data(kind: RecordKind, data: Any, decoded_names: Collection[str] | None) -> Any:
    """The data of a record, for whoever looks for members of it."""
    if kind is RecordKind.DATA and is_of_network(data):
        return NetworkData(data, decoded_names)
    return data


def _values_of_older(data: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Of a record that was stored before there was `radio`, or that is no network's."""
    decoded = data.get(DECODED)
    if isinstance(decoded, dict) and DECODED not in names:
        facts = _OLD_FACTS_BESIDE_DECODED | NOT_VALUES | {DECODED}
    elif SEQUENCE in data and SEQUENCE not in names:
        decoded, facts = {}, _OLD_FACTS | NOT_VALUES
    else:
        return data
    values = {name: value for name, value in data.items() if name not in facts} | decoded
    for name in names:
        # A decoded name that was a fact's had got an underscore.
        plain = name.rstrip("_")
        is_renamed = plain != name and plain in facts and plain in data and plain not in values
        if is_renamed:
            values.pop(name, None)
        if name in data:
            values[plain if is_renamed else name] = data[name]
    return values

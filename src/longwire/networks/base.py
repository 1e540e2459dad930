"""What an adapter answers: which device was heard, and what was said. Or that it made no sense."""

from typing import Any, Literal

from msgspec import Struct

from longwire.clock import Moment
from longwire.errors import BadInput

ReadingKind = Literal["data", "event", "geoloc", "telemetry"]
UplinkCounter = Literal["vendor_uplink", "vendor_data", "vendor_data_advanced"]
DownlinkState = Literal["sent", "acknowledged", "failed", "expired"]

# The network that devices, groups and the operator call so.
VENDOR = "vendor"
# What the data of a message is called in its record, whichever network it came through.
SEQUENCE = "seqNumber"
PORT = "port"
DECODED = "decoded"
# Why the decoder of the device's type could not read the payload, and what it had to remark.
DECODE_ERROR = "decodeError"
DECODE_WARNINGS = "decodeWarnings"
# In the record itself: the payload, and which members of its data come of decoding.
RAW = "__raw"
DECODED_NAMES = "decodedNames"


class InvalidMessage(BadInput):
    """The message of the network is not understood."""


class Reading(Struct, frozen=True):
    """One record in the making. The same message always makes equal ones.

    The fields are called like those of the record and fit them; what is not known is not there.
    `data` is an object that is yet to be written as JSON, `duplicates` is a list of JSON texts.
    """

    kind: ReadingKind
    ts: Moment | None  # None: the network did not say; then it is the moment of arrival
    fields: dict[str, Any]


class DownlinkUpdate(Struct, frozen=True):
    """What became of a message to the device."""

    id: str | None  # the one it was queued under at the network, where the network repeats it
    state: DownlinkState
    detail: str
    other_ids: tuple[str, ...] = ()  # others of which the same is told


class ParsedUplink(Struct, frozen=True, kw_only=True):
    """All that a message says."""

    original_id: str
    readings: tuple[Reading, ...] = ()
    sequence: int | None = None
    payload: bytes | None = None  # what the decoder of the device type gets
    port: int | None = None
    battery: str | None = None  # percent, or with the unit V
    counts: tuple[UplinkCounter, ...] = ()
    wants_downlink: bool = False
    dedup_key: str | None = None  # what a message without a time is known by when it is repeated
    resets_sequence: bool = (
        False  # the device has joined the network, and counts from the beginning
    )
    downlink: DownlinkUpdate | None = None


class DownlinkFrame(Struct, frozen=True, kw_only=True):
    """A message to a device, for the API of its network."""

    id: str
    original_id: str
    payload: bytes
    port: int
    is_confirmed: bool
    expires_at: Moment

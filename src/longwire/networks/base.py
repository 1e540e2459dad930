"""The result of parsing a network's message: a device and its readings, or `InvalidMessage`."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from longwire.clock import Moment
from longwire.errors import BadInput, FieldError

ReadingKind = Literal["data", "event", "geoloc", "telemetry"]
UplinkCounter = Literal["vendor_uplink", "vendor_data", "vendor_data_advanced"]
DownlinkState = Literal["sent", "acknowledged", "failed", "expired"]

VENDOR = "vendor"
CHIRPSTACK = "chirpstack"
TTN = "ttn"
LORIOT = "loriot"
THINGPARK = "thingpark"
MQTT = "mqtt"  # devices that publish to the MQTT broker


class InvalidMessage(BadInput):
    """The message of the network is invalid."""

    def __init__(
        self,
        message: str | None = None,
        *,
        field_errors: Iterable[FieldError] = (),
        sent_id: str = "",
        has_device: bool = False,
    ) -> None:
        """`sent_id` is that of the device, as far as there is one; `has_device` if it is valid."""
        super().__init__(message, field_errors=field_errors)
        self.sent_id = sent_id
        self.has_device = has_device


class Reading(Struct, frozen=True):
    """The content of one record. Parsing the same message again gives equal readings.

    The fields have the names of the record's fields and fit them; unknown ones are omitted. `data`
    is an object that is not encoded yet, `duplicates` a list of JSON texts.
    """

    kind: ReadingKind
    ts: Moment | None  # None if the network sends no time; then the time of arrival counts
    fields: dict[str, Any]


class QueuedItem(Struct, frozen=True):
    """A downlink in the queue of a network."""

    id: str | None
    is_pending: bool  # a gateway has sent it, and the device has yet to confirm it


class DownlinkUpdate(Struct, frozen=True):
    """The new state of a downlink, as the network reports it."""

    id: str | None  # in the network's queue, if the network reports it
    state: DownlinkState
    detail: str
    other_ids: tuple[str, ...] = ()  # other downlinks with the same update
    is_of_last_confirmed: bool = False  # names none: about the confirmed one that was sent last


class ParsedUplink(Struct, frozen=True, kw_only=True):
    """A parsed message of a network: readings of a device, and what else follows from it."""

    original_id: str
    readings: tuple[Reading, ...] = ()
    sequence: int | None = None
    payload: bytes | None = None  # input of the device type's decoder
    port: int | None = None
    battery: str | None = None  # percent, or with the unit V
    counts: tuple[UplinkCounter, ...] = ()
    wants_downlink: bool = False
    dedup_key: str | None = None  # identifies a repeated message that has no time
    resets_sequence: bool = False  # the device has joined: its frame counter restarts
    downlink: DownlinkUpdate | None = None

    @property
    def sent_at(self) -> Moment | None:
        """When it was sent, if the network says so."""
        return next((each.ts for each in self.readings if each.ts is not None), None)


class DownlinkFrame(Struct, frozen=True, kw_only=True):
    """A downlink as the API of a network gets it."""

    id: str
    original_id: str
    payload: bytes
    port: int
    is_confirmed: bool
    expires_at: Moment


class ApiRequest(Struct, frozen=True, kw_only=True):
    """A request to the API of a network; the path begins after the URL of the API."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any] | None = None
    raw_body: bytes | None = None  # in place of JSON


class ApiReply(Struct, frozen=True, kw_only=True):
    """What a successful response of the API of a network says of a downlink."""

    network_id: str | None = None  # by which its reports name the downlink
    error: str | None = None  # it was not accepted, in spite of the status

"""Changes that connectors may ask for besides records: of alarms, and of the registry of devices.

A change is forwarded as a message of its own. As a record, it is stored as the JSON that is sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import ClassVar

import msgspec
from msgspec import Struct

from longwire.model import Device
from longwire.records import KIND_NAMES, EncodedRecord, Record, parse_record


class ChangeKind(IntEnum):
    """The number of a kind of change in the database; those below are of records."""

    ALARM = len(KIND_NAMES)
    REGISTRY = ALARM + 1

    @property
    def label(self) -> str:
        """Its name in messages and parameters."""
        return MESSAGE_KIND_NAMES[self]


CHANGE_KIND_NAMES = tuple(kind.name.lower() for kind in ChangeKind)
# Of what connectors forward, by their numbers.
MESSAGE_KIND_NAMES = (*KIND_NAMES, *CHANGE_KIND_NAMES)


class AlarmChangeType(StrEnum):
    """What became of an alarm."""

    RAISED = "alarm.raised"
    ACKNOWLEDGED = "alarm.acknowledged"
    RESOLVED = "alarm.resolved"


class RegistryChangeType(StrEnum):
    """What was done with a device."""

    CREATED = "device.created"
    UPDATED = "device.updated"
    HARDWARE_REPLACED = "device.hardwareReplaced"
    MOVED = "device.moved"  # for who sees both groups
    MOVED_IN = "device.movedIn"  # for who sees the new one only
    MOVED_OUT = "device.movedOut"  # for who sees the old one only
    DELETED = "device.deleted"
    RESTORED = "device.restored"


class _Change(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, rename="camel"):
    """What all changes have; the order of the fields is that of the JSON."""

    data: ClassVar[None] = None  # records have some

    type: str
    device_id: str = ""
    timestamp: str  # as `format_date` writes it
    group_id: str


class ChangedAlarm(_Change, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An alarm that was raised, acknowledged or resolved, as it was then."""

    kind: ClassVar[ChangeKind] = ChangeKind.ALARM

    alarm_id: str
    notification_id: str
    connector_id: str | None = None  # instead of a device
    reason: str
    severity: str
    measurement: str | None = None
    above: float | None = None
    below: float | None = None
    raised_at: str
    value: float | None = None
    worst_value: float | None = None
    acknowledged_at: str | None = None
    acknowledged_by: str | None = None
    comment: str | None = None
    resolved_at: str | None = None
    resolution: str | None = None

    @property
    def subject_id(self) -> str:
        """The id of the device, or of the connector, that it is about."""
        return self.device_id or self.connector_id or self.alarm_id


class DeviceContext(Struct, frozen=True, gc=False, rename="camel"):
    """What messages say of their device besides its id."""

    device_name: str
    device_type: str
    tags: Sequence[str]


class DeviceBefore(Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """Of a device that was changed, the members of the message that were others, as they were."""

    device_name: str | None = None
    device_type: str | None = None
    tags: Sequence[str] | None = None
    network: str | None = None
    original_id: str | None = None
    configuration: str | None = None


class ChangedDevice(_Change, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A device as it is after a change, or as it was when it was deleted."""

    kind: ClassVar[ChangeKind] = ChangeKind.REGISTRY

    from_group_id: str | None = None
    network: str
    original_id: str
    configuration: str
    before: DeviceBefore | None = None  # if it was changed

    @property
    def subject_id(self) -> str:
        return self.device_id


Change = ChangedAlarm | ChangedDevice


class EncodedChange(Struct, frozen=True, gc=False):
    """A change beside its JSON, as an `EncodedRecord` of a record."""

    record: Change
    body: str

    @property
    def members(self) -> str:
        return self.body[1:-1]


_encode = msgspec.json.Encoder().encode
_decoders: dict[int, msgspec.json.Decoder[Change]] = {
    ChangeKind.ALARM: msgspec.json.Decoder(ChangedAlarm),
    ChangeKind.REGISTRY: msgspec.json.Decoder(ChangedDevice),
}


def encode_change(change: Change) -> EncodedChange:
    return EncodedChange(change, _encode(change).decode())


def get_context(device: Device) -> DeviceContext:
    return DeviceContext(device.name, device.type, device.tags)


def parse_content(kind: int, body: str) -> EncodedRecord | EncodedChange:
    """What a connector forwards, as it is stored with a delivery."""
    if kind in _decoders:
        return EncodedChange(_decoders[kind].decode(body), body)
    return parse_record(kind, body)


def get_subject_id(content: Record | Change) -> str:
    """The id of the device, or of the connector, that a message is about."""
    return content.device_id if isinstance(content, Record) else content.subject_id


# --- noted in a transaction ---


@dataclass(frozen=True, slots=True)
class DeviceNote:
    """A device that was changed in this transaction."""

    type: RegistryChangeType
    device: Device  # as it is now; as it was, if it was deleted
    before: Device | None = None  # if it was changed or moved

"""The values of the API.

Made by scripts/generate.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import field

from longwire_client._bases import Input, Model, OneOf
from longwire_client.calls import JsonText, When


class Access(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a permission is held, and why."""

    is_allowed: bool = field(name="isAllowed")
    """Whether it is held."""

    permission: str
    """As asked."""

    user_id: str = field(name="userId")
    """Who: a user, or the calling app client."""

    is_operator: bool | None = field(default=None, name="isOperator")
    """Operators hold everything."""

    path: list[AccessStep]
    """From the root to the group; roles on it add up."""

    roles: list[AccessRole]
    """Roles that have the permission, at most 20."""

    askable: list[AskableUser]
    """Who could grant it, at most 5, the nearest first; if it is not held."""


class AccessRole(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A role."""

    role_id: str = field(name="roleId")
    """Its id."""

    name: str
    """Its name."""


class AccessStep(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A group on the path, and the role that the user has in it."""

    group_id: str = field(name="groupId")

    holds: bool
    """Whether the role has the permission."""

    name: str | None = None
    """Its name."""

    role: AccessRole | None = None


class AllRecords(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Whose records to delete."""

    device_id: str = field(name="deviceId")


class AppClientChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new name of an app client."""

    name: str

    new_name: str = field(name="newName")

    group_id: str = field(name="groupId")

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class AppClientConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of app clients."""

    items: list[ListedAppClient]

    next_token: str | None = field(default=None, name="nextToken")


class AppClientInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """An app client to create."""

    group_id: str = field(name="groupId")

    name: str

    description: str | None = None

    expiration: int | None = None
    """Seconds since 1970."""


class Arrival(OneOf, frozen=True, kw_only=True, omit_defaults=True):
    """A record, and how it came in."""

    id: str
    """Identifies the record; greater for what arrived later."""

    arrived_at: datetime = field(name="arrivedAt")
    """When the record was stored."""

    kind: str
    """The kind of the record."""

    device_name: str | None = field(default=None, name="deviceName")
    """The current name of the device; absent if it has left the group."""

    source: str
    """How it came in: `api`, `batch`, `mqtt`, the name of a network, or `system` for an event of
    the service itself.
    """

    record: ArrivalRecord
    """As the list of its kind has it."""

    chosen = "record"
    chooser = "kind"


class ArrivalConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of arrivals."""

    items: list[Arrival]

    next_token: str | None = field(default=None, name="nextToken")

    looked_at: int = field(name="lookedAt")
    """How many arrivals were looked at for this page, at most 5000."""


class AskableUser(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody who can grant the permission."""

    user_id: str = field(name="userId")
    """Their id."""

    email: str
    """Their address."""

    name: str | None = None
    """Their name."""


class AttemptDurations(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How long attempts took, in milliseconds; estimated by counts in twelve ranges."""

    p50: int
    """Half of them took no longer."""

    p95: int
    """95 of 100 took no longer."""

    max: int
    """The longest one."""


class Attention(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Something that needs attention."""

    what: str
    """`connectorFailing`, `deadLetters`, `devicesSilent`, `batteryLow` or `configurationDrift`."""

    group_id: str = field(name="groupId")

    id: str | None = None
    """The connector."""

    name: str | None = None
    """Its name."""

    count: int | None = None
    """How many devices or messages."""

    since: datetime | None = None
    """When the last attempt failed, or the first device became silent or began to drift."""

    detail: str | None = None
    """The last error."""


class AuditEntry(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Who did what to which object, and in which request."""

    id: str
    """Identifies the entry."""

    timestamp: datetime

    actor_kind: str = field(name="actorKind")
    """`user`, `client`, `network` or `system`."""

    actor_id: str = field(name="actorId")

    actor_name: str | None = field(default=None, name="actorName")
    """If you may see the user or app client."""

    action: str

    object_id: str = field(name="objectId")

    object_name: str | None = field(default=None, name="objectName")
    """Its name at that time."""

    group_id: str = field(name="groupId")

    request_id: str = field(name="requestId")

    detail: str | None = None

    before: dict[str, Any] | None = None
    """The fields that changed, as they were before or after; secrets are masked."""

    after: dict[str, Any] | None = None
    """The fields that changed, as they were before or after; secrets are masked."""

    omitted_fields: list[str] | None = field(default=None, name="omittedFields")
    """Fields that changed, too, and are too large for the audit log."""

    address: str | None = None
    """Of the caller; for operators."""


class AuditEntryConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the audit log."""

    items: list[AuditEntry]

    next_token: str | None = field(default=None, name="nextToken")


class AuthorizationServerMetadata(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The endpoints for tokens, and what they support."""

    issuer: str

    token_endpoint: str

    revocation_endpoint: str

    introspection_endpoint: str

    service_documentation: str

    grant_types_supported: list[str] | None = None

    response_types_supported: list[str] | None = None

    token_endpoint_auth_methods_supported: list[str] | None = None

    revocation_endpoint_auth_methods_supported: list[str] | None = None

    introspection_endpoint_auth_methods_supported: list[str] | None = None


class BatchReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a batch."""

    message: str

    stored: int

    duplicates: int


class BulkChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to many devices."""

    group_id: str = field(name="groupId")

    device_ids: Sequence[str] = field(name="deviceIds")

    add_tags: Sequence[str] | None = field(default=None, name="addTags")

    remove_tags: Sequence[str] | None = field(default=None, name="removeTags")

    type: str | None = None

    configuration: JsonText | None = None
    """Any text; of each of the devices."""

    json_fields = ("configuration",)


class BulkDelete(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which devices to delete."""

    device_ids: Sequence[str] = field(name="deviceIds")

    group_id: str = field(name="groupId")


class BulkTransfer(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which devices to transfer, and to which group."""

    device_ids: Sequence[str] = field(name="deviceIds")

    group_id: str = field(name="groupId")

    to_group_id: str = field(name="toGroupId")


class CancelMessagesInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Messages by their ids, or those of a connector by a filter; not both."""

    group_id: str = field(name="groupId")

    ids: Sequence[str] | None = None
    """Messages of this group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """Only of this connector."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only about this device."""

    kind: str | None = None
    """Only records of this kind: `data`, `event`, `geoloc` or `telemetry`."""

    begin_date: When | None = field(default=None, name="beginDate")

    end_date: When | None = field(default=None, name="endDate")

    time_fields = ("begin_date", "end_date")


class ConfigurationDifference(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A value that a device reports otherwise than it should be."""

    path: str
    """A JSON pointer (RFC 6901)."""

    expected: Any
    """Any JSON value."""

    reported: Any = None
    """Left out if it is not reported."""


class ConfigurationPolicy(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a group or a device type wants of the configuration of its devices."""

    policy: dict[str, Any]
    """A JSON merge patch (RFC 7396): null removes a member. Empty: no policy."""

    updated_at: datetime | None = field(default=None, name="updatedAt")

    updated_by: str | None = field(default=None, name="updatedBy")


class ConfigurationValue(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A value, and where it is from."""

    path: str
    """A JSON pointer (RFC 6901)."""

    value: Any
    """Any JSON value."""

    source: str
    """`default` of the type, policy of the `type` or a `group`, or the `device` itself."""

    source_id: str | None = field(default=None, name="sourceId")
    """The type, group or device; without a group that you cannot see."""


class Connector(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Where a group's records are forwarded to, and which of them."""

    group_id: str = field(name="groupId")

    id: str

    name: str | None = None

    description: str | None = None

    params: str

    type: str

    created_at: datetime = field(name="createdAt")

    updated_at: datetime = field(name="updatedAt")

    updated_by: str = field(name="updatedBy")

    created_by: str = field(name="createdBy")

    error: ConnectorError | None = None

    device_types: list[str] | None = field(default=None, name="deviceTypes")

    device_ids: list[str] | None = field(default=None, name="deviceIds")

    enabled: bool | None = None

    message_filter: str | None = field(default=None, name="messageFilter")

    format: str | None = None

    data_failure_policy: DataFailurePolicy | None = field(default=None, name="dataFailurePolicy")

    retry_policy: RetryPolicy | None = field(default=None, name="retryPolicy")

    tags: list[str] | None = None


class ConnectorConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of connectors; the interface names the list `test`."""

    test: list[Connector]

    next_token: str | None = field(default=None, name="nextToken")


class ConnectorCounts(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How many connectors there are, and how many messages."""

    total: int
    """All of them."""

    enabled: int
    """Those that are enabled."""

    failing: int
    """Enabled ones whose last attempt failed."""

    waiting: int
    """Messages to be sent or retried, counted up to 100,000."""

    dead_letters: int = field(name="deadLetters")
    """Messages kept for a resend, up to 100,000."""


class ConnectorError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last failure."""

    at: datetime | None = None

    message: str | None = None


class ConnectorEvent(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The status of one delivery."""

    connector_id: str = field(name="connectorId")

    timestamp: datetime | None = None

    status: str | None = None

    id: str | None = None

    device_id: str | None = field(default=None, name="deviceId")

    kind: str | None = None

    attempts: int | None = None

    message: str | None = None


class ConnectorEventConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of deliveries; `stats` count the whole period."""

    items: list[ConnectorEvent]

    stats: ConnectorEventStats

    next_token: str | None = field(default=None, name="nextToken")


class ConnectorEventStats(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The number of deliveries of the period, by status."""

    total_still_processing: int | None = field(default=None, name="totalStillProcessing")

    total_succeed: int | None = field(default=None, name="totalSucceed")

    total_failed: int | None = field(default=None, name="totalFailed")


class ConnectorHealth(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How a connector is at the moment."""

    failures: int
    """Failed attempts in a row, since the last success."""

    waiting: int
    """Queued messages, up to 10,000."""

    dead_letters: int = field(name="deadLetters")
    """Messages kept for a resend, up to 10,000."""


class ConnectorInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A connector to create."""

    group_id: str = field(name="groupId")

    params: JsonText
    """A JSON object, as described by the type's `expectedParameters`."""

    type: str

    id: str | None = None

    name: str | None = None

    description: str | None = None

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded. Empty: all."""

    format: str | None = None
    """`json`, `cloudevents`, `raw` or `custom`."""

    data_failure_policy: DataFailurePolicyInput | None = field(
        default=None, name="dataFailurePolicy"
    )

    retry_policy: RetryPolicyInput | None = field(default=None, name="retryPolicy")

    enabled: bool | None = None

    tags: Sequence[str] | None = None

    json_fields = ("params",)


class ConnectorMetric(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What happened in one span of time."""

    timestamp: datetime
    """The begin of the span."""

    made: int | None = None
    """Messages queued for records."""

    succeeded: int | None = None
    """Messages delivered."""

    failed: int | None = None
    """Messages given up after their last attempt."""

    retried: int | None = None
    """Attempts after the first, or of a message sent again."""

    waiting: int | None = None
    """Messages that waited when they were last counted in the span."""

    ms: AttemptDurations | None = None
    """Absent without attempts."""


class ConnectorMetrics(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Connectors over time."""

    begin_date: datetime = field(name="beginDate")
    """In whole minutes, or hours."""

    end_date: datetime = field(name="endDate")
    """In whole minutes, or hours."""

    time_span: int = field(name="timeSpan")
    """Seconds per item."""

    items: list[ConnectorMetric]
    """Without gaps, from `beginDate` on."""


class ConnectorRef(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which connector, of which group."""

    connector_id: str = field(name="connectorId")

    group_id: str = field(name="groupId")


class ConnectorTrace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A connector that forwards records of the group: its message, or why it has none."""

    connector_id: str = field(name="connectorId")

    name: str | None = None

    message: Message | None = None

    not_taken: str | None = field(default=None, name="notTaken")
    """Why it has no message: `disabled`, `created_later` (than the record arrived), `device_type`,
    `device_id`, `filter_false`, `filter_failed`, `not_evaluated` (its filter takes too long
    here), or `matches_now`: it would take the record now, but was changed since, is still to be
    asked, or the message is no longer stored.
    """

    as_of: str | None = field(default=None, name="asOf")
    """`now`: by what the connector is at present; earlier filters are not stored."""


class ConnectorType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of destination and its parameters."""

    expected_parameters: str = field(name="expectedParameters")

    type: str

    format_available: list[str] | None = field(default=None, name="formatAvailable")

    name: str | None = None


class ConnectorTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of connector types."""

    items: list[ConnectorType]

    next_token: str | None = field(default=None, name="nextToken")


class ConsoleSettings(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a page needs to know before anybody has signed in."""

    version: str

    sign_in: list[str] = field(name="signIn")
    """The ways to sign in."""

    mail: bool
    """Whether links can be mailed."""

    oidc_name: str | None = field(default=None, name="oidcName")
    """What the OpenID provider is called."""

    map_tiles: str | None = field(default=None, name="mapTiles")
    """Where the operator's map tiles are; without it there is the built-in map only."""

    map_attribution: str | None = field(default=None, name="mapAttribution")
    """Whom the map names as the source of the tiles, as plain text."""


class DataFailurePolicy(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Which dead letters are kept for a resend."""

    storing_duration: int | None = field(default=None, name="storingDuration")

    has_data: bool | None = field(default=None, name="hasData")

    start_time: datetime | None = field(default=None, name="startTime")

    resending: bool | None = None


class DataFailurePolicyInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """How many seconds dead letters are kept for a resend."""

    storing_duration: int | None = field(default=None, name="storingDuration")


class DecoderPreview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a draft makes of each payload, newest first."""

    items: list[DecoderPreviewItem]


class DecoderPreviewInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A draft, and the payloads to try it on."""

    type: str

    group_id: str = field(name="groupId")

    decoder: str | None = None
    """Without it, the decoder of the type is tried."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only stored payloads of this device."""

    limit: int | None = None
    """How many stored payloads."""

    payloads: Sequence[GivenPayload] | None = None
    """Instead of stored ones."""


class DecoderPreviewItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What the draft makes of one payload."""

    payload: str
    """Two hex digits a byte."""

    f_port: int | None = field(default=None, name="fPort")

    timestamp: datetime

    device_id: str | None = field(default=None, name="deviceId")

    device_name: str | None = field(default=None, name="deviceName")

    stored: dict[str, Any] | None = None
    """The values that are stored."""

    values: dict[str, Any] | None = None
    """The values of the draft."""

    error: str | None = None
    """Why there are none."""

    milliseconds: float
    """CPU time of the draft."""


class DecodingResult(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What the decoder of the device's type made of the payload."""

    decoder: str | None = None
    """The decoder that the type has now."""

    names: list[str]
    """Members of `data` that it added."""

    error: str | None = None
    """Why it failed, while the reception is kept."""


class Device(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device; `seenAt` is in milliseconds since 1970."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    name: str

    type: str

    network: str

    original_id: str = field(name="originalId")

    battery: str | None = None

    seen_at: int | None = field(default=None, name="seenAt")

    created_at: datetime = field(name="createdAt")

    updated_at: datetime = field(name="updatedAt")

    created_by: str = field(name="createdBy")

    updated_by: str = field(name="updatedBy")

    information: str | None = None

    configuration: str | None = None

    tags: list[str] | None = None


class DeviceAtVendor(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A device to create here and to register at the vendor's network."""

    input: DeviceInput

    vendor: VendorInput


class DeviceChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a device."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    name: str | None = None

    configuration: JsonText | None = None
    """Any text."""

    tags: Sequence[str] | None = None

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    json_fields = ("configuration",)

    time_fields = ("if_updated_at",)


class DeviceConfiguration(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The configuration that a device should have."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    configuration: dict[str, Any]
    """All policies merged."""

    values: list[ConfigurationValue]

    own_configuration_merged: bool = field(name="ownConfigurationMerged")
    """Whether the device's own `configuration` is a JSON object of at most 16,384 characters and
    16 levels. If not, only the policies count.
    """

    reported: dict[str, Any] | None = None
    """What the device reported last; with `record.read`."""

    reported_at: datetime | None = field(default=None, name="reportedAt")

    drift: list[ConfigurationDifference] | None = None
    """Where that is not what it should be; at most 50."""


class DeviceConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of devices."""

    items: list[Device]

    next_token: str | None = field(default=None, name="nextToken")


class DeviceCounts(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How many devices there are; of more than 1,000,000 only the total."""

    total: int
    """All of them."""

    seen_hour: int | None = field(default=None, name="seenHour")
    """Seen within the last hour."""

    seen_day: int | None = field(default=None, name="seenDay")
    """Seen within the last day."""

    silent: int | None = None
    """Not seen for longer than their configuration says."""

    never: int | None = None
    """Never seen."""

    battery_low: int | None = field(default=None, name="batteryLow")
    """With less than 20 % of charge."""

    drifting: int | None = None
    """That report another configuration than they should have."""


class DeviceData(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a device reported."""

    device_id: str = field(name="deviceId")

    timestamp: datetime

    data: str

    configuration: str | None = None

    raw: str | None = field(default=None, name="__raw")

    device_type: str | None = field(default=None, name="deviceType")

    mode: str | None = None

    reason: str | None = None

    device_name: str | None = field(default=None, name="deviceName")

    group_id: str | None = field(default=None, name="groupId")

    decoded_names: list[str] | None = field(default=None, name="decodedNames")
    """Members of `data` that come of decoding `__raw`; not sent in."""


class DeviceDataBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several data records, stored together or not at all."""

    items: Sequence[DeviceDataInput]


class DeviceDataConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of data records."""

    items: list[DeviceData]

    next_token: str | None = field(default=None, name="nextToken")


class DeviceDataInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A data record to store."""

    device_id: str = field(name="deviceId")

    timestamp: When
    """RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."""

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    data: JsonText

    configuration: JsonText

    raw: str = field(name="__raw")

    device_type: str = field(name="deviceType")

    mode: str | None = None

    reason: str | None = None

    device_name: str | None = field(default=None, name="deviceName")

    json_fields = ("data", "configuration")

    time_fields = ("timestamp",)


class DeviceEvent(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to a device."""

    device_id: str = field(name="deviceId")

    timestamp: datetime

    type: str

    device_type: str | None = field(default=None, name="deviceType")

    group_id: str | None = field(default=None, name="groupId")

    message: str | None = None

    data: str | None = None

    severity: str | None = None


class DeviceEventBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several events, stored together or not at all."""

    items: Sequence[DeviceEventInput]


class DeviceEventConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of events."""

    items: list[DeviceEvent]

    next_token: str | None = field(default=None, name="nextToken")


class DeviceEventInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """An event to store."""

    device_id: str = field(name="deviceId")

    timestamp: When
    """RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."""

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    type: str

    device_type: str | None = field(default=None, name="deviceType")

    message: str | None = None

    data: JsonText | None = None

    severity: str | None = None

    json_fields = ("data",)

    time_fields = ("timestamp",)


class DeviceGeoloc(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Where a device was."""

    timestamp: datetime

    device_id: str = field(name="deviceId")

    status: int | None = None

    source: int | None = None

    radius: int | None = None

    lat: float | None = None

    lng: float | None = None

    group_id: str | None = field(default=None, name="groupId")

    location: str | None = None

    data: str | None = None

    raw: str | None = field(default=None, name="__raw")


class DeviceGeolocBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several geolocations, stored together or not at all."""

    items: Sequence[DeviceGeolocInput]


class DeviceGeolocConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of geolocations."""

    items: list[DeviceGeoloc]

    next_token: str | None = field(default=None, name="nextToken")


class DeviceGeolocInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A geolocation to store."""

    device_id: str = field(name="deviceId")

    timestamp: When
    """RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."""

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    status: int | None = None

    source: int | None = None

    radius: int | None = None

    lat: float | None = None

    lng: float | None = None

    location: str | None = None

    data: JsonText | None = None

    raw: str | None = field(default=None, name="__raw")

    json_fields = ("data",)

    time_fields = ("timestamp",)


class DeviceInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A device to create."""

    group_id: str = field(name="groupId")

    name: str

    type: str

    original_id: str = field(name="originalId")
    """The network's own id; case-insensitive."""

    network: str
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks.
    """

    tags: Sequence[str] | None = None


class DeviceSeries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The points of one device; a span without numbers has none."""

    device_id: str = field(name="deviceId")

    points: list[SeriesPoint]
    """By time."""

    looked_at: int = field(name="lookedAt")
    """How many records were read."""

    is_sampled: bool = field(name="isSampled")
    """Not every record was read: there are too many for one request."""

    examined_until: datetime | None = field(default=None, name="examinedUntil")
    """If the points end early, where: request the rest with this begin."""


class DeviceTelemetry(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Signal quality of a device's messages."""

    device_id: str = field(name="deviceId")

    timestamp: datetime

    device_type: str | None = field(default=None, name="deviceType")

    duplicates: list[str] | None = None

    data: str | None = None

    score: int | None = None

    nb_bs: int | None = field(default=None, name="nbBS")

    rc: int | None = None

    group_id: str | None = field(default=None, name="groupId")


class DeviceTelemetryBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several telemetry records, stored together or not at all."""

    items: Sequence[DeviceTelemetryInput]


class DeviceTelemetryConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of telemetry records."""

    items: list[DeviceTelemetry]

    next_token: str | None = field(default=None, name="nextToken")


class DeviceTelemetryInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A telemetry record to store."""

    device_id: str = field(name="deviceId")

    timestamp: When
    """RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."""

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    device_type: str = field(name="deviceType")

    duplicates: Sequence[str] | None = None

    data: JsonText | None = None

    score: int | None = None

    nb_bs: int | None = field(default=None, name="nbBs")

    rc: int | None = None

    json_fields = ("data",)

    time_fields = ("timestamp",)


class DeviceType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of device and its default configuration."""

    name: str | None = None

    display_name: str | None = field(default=None, name="displayName")

    default_configuration: str | None = field(default=None, name="defaultConfiguration")

    battery: str | None = None

    firmware_version: str | None = field(default=None, name="firmwareVersion")


class DeviceTypeChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new type of a device."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    type: str

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class DeviceTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of device types."""

    items: list[DeviceType]

    next_token: str | None = field(default=None, name="nextToken")


class Devices(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a bulk operation, and its devices."""

    message: str

    items: list[Device]


class DevicesAtVendor(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Devices to create here and to register at the vendor's network, all of one type."""

    group_id: str = field(name="groupId")

    type: str

    tags: Sequence[str] | None = None

    vendor: Sequence[VendorInput]


class DevicesInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Devices to create, of one type and network."""

    original_devices_ids: Sequence[str] = field(name="originalDevicesIds")

    group_id: str = field(name="groupId")

    type: str

    network: str
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks.
    """

    tags: Sequence[str] | None = None


class Downlink(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A downlink and its state."""

    id: str

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    payload: str

    data: dict[str, Any] | None = None
    """What the payload means, by `decodeDownlink` of the codec."""

    port: int | None = None

    confirmed: bool

    state: str
    """`queued`, `sent`, `acknowledged`, `failed`, `expired` or `cancelled`."""

    detail: str | None = None
    """The reason of the state."""

    created_at: datetime = field(name="createdAt")

    updated_at: datetime = field(name="updatedAt")

    expires_at: datetime = field(name="expiresAt")

    created_by: str = field(name="createdBy")


class DownlinkConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of downlinks."""

    items: list[Downlink]

    next_token: str | None = field(default=None, name="nextToken")


class DownlinkInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A downlink to send: either its bytes, or values for the codec of the device type."""

    device_id: str = field(name="deviceId")

    group_id: str | None = field(default=None, name="groupId")

    payload: str | None = None
    """In hex; exactly 8 bytes on the vendor's network."""

    data: Mapping[str, Any] | None = None
    """Values that the codec of the device type encodes."""

    port: int | None = None
    """The LoRaWAN port of the payload."""

    confirmed: bool | None = None
    """Whether the device must acknowledge it."""

    expires_in: int | None = field(default=None, name="expiresIn")
    """Seconds until it expires."""


class DriftingDevice(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device that reports another configuration than it should have."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    name: str

    type: str

    since: datetime | None = None
    """Since when the service knows."""

    reported_at: datetime = field(name="reportedAt")

    differences: list[ConfigurationDifference]
    """At most 50."""


class DriftingDeviceConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of devices that drift."""

    items: list[DriftingDevice]

    next_token: str | None = field(default=None, name="nextToken")


class FieldProblem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One invalid field of a request."""

    in_: str = field(name="in")

    field: str

    message: str


class FoundDevices(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the devices that were found."""

    items: list[Device]

    total: int
    """How many fit, counted up to 100,000."""

    total_is_more: bool | None = field(default=None, name="totalIsMore")
    """Whether there may be more than `total`."""

    next_token: str | None = field(default=None, name="nextToken")


class GenericReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done, as a message."""

    message: str | None = None


class GenericReturnBoolean(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done, as a message and a boolean."""

    message: str | None = None

    value: bool | None = None


class GivenPayload(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A payload to decode."""

    payload: str
    """Two hex digits a byte."""

    f_port: int | None = field(default=None, name="fPort")


class Group(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A group as the caller can see it; `role` and `userId` are those of one user."""

    id: str

    user_id: str = field(name="userId")

    name: str | None = None

    description: str | None = None

    token: str | None = None

    administrator_role: str | None = field(default=None, name="administratorRole")

    default_role: str | None = field(default=None, name="defaultRole")

    created_at: datetime | None = field(default=None, name="createdAt")

    updated_at: datetime | None = field(default=None, name="updatedAt")

    created_by: str | None = field(default=None, name="createdBy")

    updated_by: str | None = field(default=None, name="updatedBy")

    parent: str | None = None

    role: Role | None = None

    owner_id: str | None = field(default=None, name="ownerId")

    number_of_devices: int | None = field(default=None, name="numberOfDevices")

    number_of_notifications: int | None = field(default=None, name="numberOfNotifications")

    number_of_connectors: int | None = field(default=None, name="numberOfConnectors")

    tags: list[str] | None = None

    deletion_at: datetime | None = field(default=None, name="deletionAt")
    """When it will be deleted with everything in it."""


class GroupAppClient(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Credentials of a group."""

    group_id: str = field(name="groupId")

    app_client_id: str = field(name="appClientId")

    secret: str

    description: str | None = None

    expiration: int | None = None
    """Seconds since 1970."""

    name: str | None = None

    updated_at: datetime | None = field(default=None, name="updatedAt")


class GroupChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a group."""

    group_id: str = field(name="groupId")

    owner_id: str | None = field(default=None, name="ownerId")
    """A member; only the owner can transfer ownership."""

    name: str | None = None

    role_id: str | None = field(default=None, name="roleId")
    """The new default role."""

    description: str | None = None

    parent: str | None = None
    """The new parent; "" makes it a root group."""

    tags: Sequence[str] | None = None

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class GroupConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of groups."""

    items: list[Group]

    next_token: str | None = field(default=None, name="nextToken")


class GroupInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A group to create."""

    name: str | None = None

    description: str | None = None

    tags: Sequence[str] | None = None


class GroupMetric(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The counters of one time span."""

    total_device_data: int | None = field(default=None, name="totalDeviceData")

    total_device_event: int | None = field(default=None, name="totalDeviceEvent")

    total_device_geoloc: int | None = field(default=None, name="totalDeviceGeoloc")

    total_device_telemetry: int | None = field(default=None, name="totalDeviceTelemetry")

    total_device_message: int | None = field(default=None, name="totalDeviceMessage")

    total_connector_message_started: int | None = field(
        default=None, name="totalConnectorMessageStarted"
    )

    total_connector_message_processing: int | None = field(
        default=None, name="totalConnectorMessageProcessing"
    )

    total_connector_message_processed: int | None = field(
        default=None, name="totalConnectorMessageProcessed"
    )

    total_connector_message_error: int | None = field(
        default=None, name="totalConnectorMessageError"
    )

    total_connector_retry_message_started: int | None = field(
        default=None, name="totalConnectorRetryMessageStarted"
    )

    total_connector_retry_message_processed: int | None = field(
        default=None, name="totalConnectorRetryMessageProcessed"
    )

    total_connector_retry_message_error: int | None = field(
        default=None, name="totalConnectorRetryMessageError"
    )

    total_device_vendor_uplink: int | None = field(default=None, name="totalDeviceVendorUplink")

    total_device_vendor_downlink: int | None = field(default=None, name="totalDeviceVendorDownlink")

    total_vendor_data_message: int | None = field(default=None, name="totalVendorDataMessage")

    total_vendor_data_advanced_message: int | None = field(
        default=None, name="totalVendorDataAdvancedMessage"
    )

    group_id: str | None = field(default=None, name="groupId")

    timestamp: datetime | None = None


class GroupMetrics(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The counters of a period, in total and per span; `activeDevices` lists up to 10,000."""

    total_device_data: int | None = field(default=None, name="totalDeviceData")

    total_device_event: int | None = field(default=None, name="totalDeviceEvent")

    total_device_geoloc: int | None = field(default=None, name="totalDeviceGeoloc")

    total_device_telemetry: int | None = field(default=None, name="totalDeviceTelemetry")

    total_device_message: int | None = field(default=None, name="totalDeviceMessage")

    total_connector_message_started: int | None = field(
        default=None, name="totalConnectorMessageStarted"
    )

    total_connector_message_processing: int | None = field(
        default=None, name="totalConnectorMessageProcessing"
    )

    total_connector_message_processed: int | None = field(
        default=None, name="totalConnectorMessageProcessed"
    )

    total_connector_message_error: int | None = field(
        default=None, name="totalConnectorMessageError"
    )

    total_connector_retry_message_started: int | None = field(
        default=None, name="totalConnectorRetryMessageStarted"
    )

    total_connector_retry_message_processed: int | None = field(
        default=None, name="totalConnectorRetryMessageProcessed"
    )

    total_connector_retry_message_error: int | None = field(
        default=None, name="totalConnectorRetryMessageError"
    )

    total_device_vendor_uplink: int | None = field(default=None, name="totalDeviceVendorUplink")

    total_device_vendor_downlink: int | None = field(default=None, name="totalDeviceVendorDownlink")

    total_vendor_data_message: int | None = field(default=None, name="totalVendorDataMessage")

    total_vendor_data_advanced_message: int | None = field(
        default=None, name="totalVendorDataAdvancedMessage"
    )

    group_id: str | None = field(default=None, name="groupId")

    begin_date: datetime | None = field(default=None, name="beginDate")

    end_date: datetime | None = field(default=None, name="endDate")

    items: list[GroupMetric] | None = None

    active_devices: list[str] | None = field(default=None, name="activeDevices")

    number_active_devices: int | None = field(default=None, name="numberActiveDevices")

    active_connectors: list[str] | None = field(default=None, name="activeConnectors")

    number_active_connectors: int | None = field(default=None, name="numberActiveConnectors")


class GroupOverview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Counts, and what needs attention; parts that the caller may not read are left out."""

    as_of: datetime = field(name="asOf")
    """When it was counted."""

    devices: DeviceCounts | None = None

    connectors: ConnectorCounts | None = None

    attention: list[Attention]
    """At most 50 of each sort, the worst first."""


class GroupPolicyChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new policy of a group."""

    group_id: str = field(name="groupId")

    policy: Mapping[str, Any]
    """A JSON merge patch (RFC 7396): null removes a member. Empty: no policy."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class GroupRestoration(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which group to keep."""

    group_id: str = field(name="groupId")


class GroupTree(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of groups in a tree."""

    items: list[TreeGroup]

    next_token: str | None = field(default=None, name="nextToken")


class GroupUserRelation(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A membership; `id` is the group's."""

    id: str

    user_id: str = field(name="userId")

    role: Role | None = None

    token: str | None = None

    description: str | None = None

    name: str | None = None

    updated_at: datetime = field(name="updatedAt")
    """When they got the role."""


class ImportLineError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong with a line of the file."""

    line: int
    """Where it begins; the header is 1."""

    column: str

    code: str
    """malformed, missing_column, duplicate_column, too_many_cells, too_many_lines, required,
    too_long, too_many_tags, invalid_character, unknown_type, duplicate, or taken.
    """

    message: str


class ImportReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of an import, or of its dry run."""

    message: str

    is_dry_run: bool = field(name="isDryRun")
    """Nothing was created."""

    created: int
    """New devices."""

    existing: int
    """Devices that the group has already; they are unchanged."""

    items: list[ImportedDevice]
    """The valid lines, in their order."""

    errors: list[ImportLineError]
    """Of a dry run: all that would make the import fail, in order of lines."""

    ignored_columns: list[str] = field(name="ignoredColumns")
    """Columns that mean nothing here."""


class ImportedDevice(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a line."""

    line: int
    """Where it begins in the file."""

    status: str
    """created or existing."""

    device_id: str | None = field(default=None, name="deviceId")
    """Absent if a dry run would create the device."""


class Invitation(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Whom to invite, to which group, with which role."""

    email: str

    group_id: str = field(name="groupId")

    role_id: str = field(name="roleId")


class Job(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Work with many devices, and how far it is."""

    job_id: str = field(name="jobId")

    group_id: str = field(name="groupId")

    kind: str
    """What it does with each device."""

    state: str
    """`waiting`, `running`, `succeeded`, `failed` or `cancelled`."""

    error: str | None = None
    """The code of why it failed."""

    reason: str | None = None
    """Why it was started."""

    parameters: JobParametersReply | None = None

    filter: JobFilterReply | None = None

    total: int | None = None
    """The devices or rows to process, if they were counted."""

    done: int
    """The devices or rows that were processed."""

    changed: int
    """Of these, those that were changed."""

    skipped: int
    """Those for which there was nothing to do."""

    failed: int
    """Those for which it was not possible."""

    created_by: str = field(name="createdBy")
    """The user or app client that started it."""

    created_at: datetime = field(name="createdAt")

    started_at: datetime | None = field(default=None, name="startedAt")

    updated_at: datetime = field(name="updatedAt")

    ended_at: datetime | None = field(default=None, name="endedAt")

    undo_until: datetime | None = field(default=None, name="undoUntil")
    """Until when `POST /job/undo` undoes it."""

    no_undo: str | None = field(default=None, name="noUndo")
    """Why a job of this kind cannot be undone: `messages_sent` cannot be recalled,
    `values_replaced` were not kept, `nothing_changed`, or it `is_undo` itself.
    """

    result: JobResult | None = None

    undo_of: str | None = field(default=None, name="undoOf")
    """The job that it undoes."""

    undone_by: str | None = field(default=None, name="undoneBy")
    """The job that undoes it."""


class JobConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of jobs."""

    items: list[Job]

    next_token: str | None = field(default=None, name="nextToken")


class JobFilter(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which devices of the group, as in `GET /devices`; an empty object for all of them."""

    q: str | None = None
    """A part of the name, of the original id or of a tag, or the begin of the id;
    case-insensitive. First come devices with this id or original id, then those whose name or
    original id begins with it.
    """

    type: str | None = None
    """Of this device type."""

    network: str | None = None
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks.
    """

    tag: str | None = None
    """With this tag."""

    seen: Literal["day", "hour", "longer", "never", "silent", "week"] | None = None
    """Last seen within the last hour, day or week, longer ago, never; or silent by what its
    configuration expects.
    """

    battery_below: float | None = field(default=None, name="batteryBelow")
    """Less charge, in percent."""

    subgroups: bool | None = None
    """Of the groups below as well."""


class JobFilterReply(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The filter of a job."""

    q: str | None = None
    """With this text."""

    type: str | None = None
    """Of this device type."""

    network: str | None = None
    """Of this network."""

    tag: str | None = None
    """With this tag."""

    seen: str | None = None
    """By when they were last seen."""

    battery_below: float | None = field(default=None, name="batteryBelow")
    """With less charge."""

    subgroups: bool | None = None
    """Of the groups below as well."""


class JobInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A job to start, or to try with `dryRun`."""

    kind: Literal[
        "configuration",
        "delete",
        "export",
        "redecode",
        "replay",
        "resend",
        "tag",
        "transfer",
        "type",
    ]
    """What to do with each device."""

    group_id: str = field(name="groupId")

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")
    """Devices of the group. Or else `filter`."""

    filter: JobFilter | None = None

    parameters: JobParameters | None = None

    reason: str | None = None
    """Why, for whoever looks at the list of jobs or at the audit log."""

    dry_run: bool | None = field(default=None, name="dryRun")
    """Only count the devices, and list some of them; nothing is changed."""


class JobItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a job did with a device."""

    device_id: str = field(name="deviceId")

    outcome: str
    """`changed`, `undone`, `skipped` or `failed`."""

    code: str | None = None
    """Why it was skipped or failed."""


class JobItemConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the results of a job."""

    items: list[JobItem]

    next_token: str | None = field(default=None, name="nextToken")


class JobParameters(Input, frozen=True, kw_only=True, omit_defaults=True):
    """What the kind of job needs."""

    to_group_id: str | None = field(default=None, name="toGroupId")
    """For `transfer`: the group to transfer to."""

    add_tags: Sequence[str] | None = field(default=None, name="addTags")
    """For `tag`: tags to add."""

    remove_tags: Sequence[str] | None = field(default=None, name="removeTags")
    """For `tag`: tags to remove."""

    type: str | None = None
    """For `type`: the new device type."""

    configuration: JsonText | None = None
    """For `configuration`: the new one."""

    connector_id: str | None = field(default=None, name="connectorId")
    """For `resend` and `replay`: a connector of the group."""

    begin_date: When | None = field(default=None, name="beginDate")

    end_date: When | None = field(default=None, name="endDate")

    content: Literal["audit", "devices", "messages", "records"] | None = None
    """For `export`: what to export. Of devices, those of `filter`."""

    format: Literal["csv", "ndjson"] | None = None
    """For `export`; by default `ndjson`."""

    record_kind: Literal["data", "event", "geoloc", "telemetry"] | None = field(
        default=None, name="recordKind"
    )
    """For an export of records; by default `data`."""

    device_id: str | None = field(default=None, name="deviceId")
    """For an export of records: of this device only."""

    object_id: str | None = field(default=None, name="objectId")
    """For an export of the audit log: of this object only."""

    actor_id: str | None = field(default=None, name="actorId")
    """For an export of the audit log: by this user or app client only."""

    action: str | None = None
    """For an export of the audit log: this action only."""

    subgroups: bool | None = None
    """For an export of records or of the audit log: of the groups below as well."""

    json_fields = ("configuration",)

    time_fields = ("begin_date", "end_date")


class JobParametersReply(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The parameters of a job; those that its kind has."""

    to_group_id: str | None = field(default=None, name="toGroupId")
    """The group to transfer to."""

    add_tags: list[str] | None = field(default=None, name="addTags")
    """Tags to add."""

    remove_tags: list[str] | None = field(default=None, name="removeTags")
    """Tags to remove."""

    type: str | None = None
    """The new device type."""

    configuration: str | None = None
    """The new configuration."""

    connector_id: str | None = field(default=None, name="connectorId")
    """The connector."""

    begin_date: datetime | None = field(default=None, name="beginDate")

    end_date: datetime | None = field(default=None, name="endDate")

    content: str | None = None
    """What is exported."""

    format: str | None = None
    """Of an export."""

    record_kind: str | None = field(default=None, name="recordKind")
    """Of the exported records."""

    device_id: str | None = field(default=None, name="deviceId")
    """Of an export: of this device."""

    object_id: str | None = field(default=None, name="objectId")
    """Of an export: of this object."""

    actor_id: str | None = field(default=None, name="actorId")
    """Of an export: by whom."""

    action: str | None = None
    """Of an export: this action."""

    subgroups: bool | None = None
    """Of an export: of the groups below as well."""


class JobRef(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which job of which group."""

    group_id: str = field(name="groupId")

    job_id: str = field(name="jobId")


class JobResult(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The file that an export has written, for `GET /job/result`."""

    bytes: int
    """How large it is."""

    expires_at: datetime = field(name="expiresAt")
    """When it is deleted."""


class JobReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A job that was started; or what it would do."""

    message: str

    dry_run: bool | None = field(default=None, name="dryRun")
    """Whether nothing was started."""

    total: int
    """The devices that it takes, or the rows of an export; as far as counted."""

    total_is_more: bool | None = field(default=None, name="totalIsMore")
    """There are more than were counted."""

    sample: list[JobSample] | None = None
    """With `dryRun`: up to 20 of the devices."""

    messages: int | None = None
    """Of a dry run of `resend` or `replay`: the messages that it would send, as far as counted, or
    an estimate.
    """

    messages_is_more: bool | None = field(default=None, name="messagesIsMore")
    """Not all were looked at: there may be more, or fewer of a replay."""

    message_sample: list[str] | None = field(default=None, name="messageSample")
    """With `messages`: the records that up to 20 of them are about."""

    job: Job | None = None


class JobSample(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device that a job would take."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    name: str

    type: str


class JobUndo(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which job of which group to undo, and why."""

    group_id: str = field(name="groupId")

    job_id: str = field(name="jobId")

    reason: str | None = None
    """Why, for whoever looks at the list of jobs or at the audit log."""


class LinkInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Whose link, and whether to mail it, or to show it to the caller."""

    email: str

    group_id: str | None = field(default=None, name="groupId")
    """With `show`: a group in which both are members."""

    show: bool | None = None
    """Respond with the link, instead of mailing it."""


class LinkReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done, and the link that was asked for."""

    message: str

    url: str | None = None
    """With `show`; it works once, within 15 minutes."""


class ListedAppClient(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An app client without its secret."""

    group_id: str = field(name="groupId")

    app_client_id: str = field(name="appClientId")

    name: str

    description: str | None = None

    expiration: int | None = None
    """Seconds since 1970."""

    created_at: datetime | None = field(default=None, name="createdAt")

    updated_at: datetime | None = field(default=None, name="updatedAt")

    created_by: str | None = field(default=None, name="createdBy")


class LiveChanged(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `changed`: ids of objects that were changed; up to 1,000 of each kind."""

    devices: list[str] | None = None
    """Where `device.read` is held."""

    connectors: list[str] | None = None
    """Where `connector.read` is held."""

    groups: list[str] | None = None
    """Where `group.read` is held."""


class LiveDeliveries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An item of `deliveries`: what became of a connector's messages in about a second."""

    connector_id: str = field(name="connectorId")
    """The connector."""

    succeeded: int
    """Messages that were delivered."""

    failed: int
    """Messages that were given up."""

    waiting: int
    """Messages that are queued or in flight, up to 10,000."""


class LiveExpired(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `expired`, the last event."""

    code: str
    """`not_authenticated`: the token or session has ended; `not_found` or `not_allowed`: a
    permission was taken away; `stopping`: the service stops; others as in errors.
    """

    detail: str


class LiveHello(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `hello`: everything that arrives after `from` follows."""

    time: datetime

    from_: str = field(name="from")
    """A cursor, as the `id` of later events."""


class LiveLost(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `lost`: `GET /group/records` has them with `after=from` and `before=to`."""

    count: int | None = None
    """How many; absent if nobody counted them."""

    from_: str = field(name="from")
    """Identifies the record; greater for what arrived later."""

    to: str
    """Identifies the record; greater for what arrived later."""


class MemberChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new role of a member."""

    user_id: str = field(name="userId")

    group_id: str = field(name="groupId")

    role_id: str = field(name="roleId")

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class Message(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a connector, and what became of it."""

    event: ConnectorEvent
    """As in the list."""

    state: str
    """`queued`, `sending`, `succeeded`, `failed`, `expired` (failed, and no longer kept for a
    resend) or `cancelled`.
    """

    group_id: str = field(name="groupId")
    """The group of the connector."""

    record_id: str = field(name="recordId")
    """What it is about."""

    created_at: datetime = field(name="createdAt")
    """When it was queued first."""

    due_at: datetime | None = field(default=None, name="dueAt")
    """When it is attempted next."""

    resent: int
    """How often it was sent again."""

    attempts: list[MessageAttempt]
    """The last 20 attempts, oldest first."""

    record: dict[str, Any] | None = None
    """The record, as a list of its kind returns it; with `record.read`."""


class MessageAttempt(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt to deliver a message."""

    number: int
    """Since it was created or last sent again, from 1."""

    timestamp: datetime
    """When it began."""

    duration_ms: int = field(name="durationMs")
    """How long it took."""

    outcome: str
    """`delivered`, or why not: `rejected`, `unreachable`, `timed_out`, `egress_denied`,
    `tls_failed`, `login_rejected`, `limit_exceeded`, `gone`, `recipient_gone`,
    `not_configured`, `invalid_message`, `withdrawn`, `quota_used_up`, `internal_error`,
    `orphaned` (the process that sent it died) or `stopped`.
    """

    status: int | None = None
    """Of the HTTP response."""


class MessageConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of messages."""

    items: list[ConnectorEvent]
    """By their last change."""

    stats: MessageStats | None = None

    next_token: str | None = field(default=None, name="nextToken")
    """There may be more, also when this page has few items or none: a page looks at a limited
    number of messages.
    """


class MessageStats(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The number of messages that changed in the period, by status, whatever else is asked for."""

    total_still_processing: int | None = field(default=None, name="totalStillProcessing")
    """`processing`."""

    total_succeed: int | None = field(default=None, name="totalSucceed")
    """`succeed`."""

    total_failed: int | None = field(default=None, name="totalFailed")
    """`failed`."""

    is_more: bool | None = field(default=None, name="isMore")
    """There are more; counting ended early."""


class MessagesChanged(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done."""

    message: str

    changed: int

    skipped: int
    """Those in a state in which it is not possible."""

    is_more: bool = field(name="isMore")
    """More match; repeat the request for the rest."""


class Notification(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Who is notified of what, and when."""

    group_id: str = field(name="groupId")

    id: str

    name: str | None = None

    description: str | None = None

    params: str

    type: str

    created_at: datetime = field(name="createdAt")

    updated_at: datetime = field(name="updatedAt")

    updated_by: str = field(name="updatedBy")

    created_by: str = field(name="createdBy")

    device_id: str | None = field(default=None, name="deviceId")

    device_types: list[str] | None = field(default=None, name="deviceTypes")

    reason: str | None = None

    schedule: str | None = None

    enabled: bool | None = None

    tags: list[str] | None = None

    last_fired_at: datetime | None = field(default=None, name="lastFiredAt")

    last_sent_at: datetime | None = field(default=None, name="lastSentAt")

    error: NotificationError | None = None


class NotificationConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of notifications."""

    items: list[Notification]

    next_token: str | None = field(default=None, name="nextToken")


class NotificationDelivery(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a notification to one recipient."""

    id: str
    """The id of a message, as a receiver gets it in `webhook-id`."""

    state: str
    """As of a message."""

    timestamp: datetime
    """Of its last change."""

    attempts: list[MessageAttempt]
    """The last 20 attempts, oldest first."""

    error: str | None = None
    """Of the last attempt."""


class NotificationError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last failure."""

    at: datetime | None = None

    message: str | None = None


class NotificationInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A notification to create."""

    group_id: str = field(name="groupId")

    params: JsonText
    """A JSON object, as described by the type's `expectedParameters`."""

    type: str

    name: str

    description: str | None = None

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device; empty for all."""

    reason: str | None = None
    """The `reason` of a data record, the `type` of an event, or one that the service raises
    itself. Left out or empty, every event triggers it.
    """

    schedule: Any = None

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")

    tags: Sequence[str] | None = None

    enabled: bool | None = None

    json_fields = ("params",)


class NotificationRef(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which notification, of which group."""

    notification_id: str = field(name="notificationId")

    group_id: str = field(name="groupId")


class NotificationTest(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A test that was queued."""

    message: str

    queued: int


class NotificationTrace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A notification that the record caused."""

    notification_id: str = field(name="notificationId")

    name: str | None = None

    deliveries: list[NotificationDelivery]
    """One for each recipient."""


class NotificationType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of notification and its parameters."""

    expected_parameters: str = field(name="expectedParameters")

    type: str

    name: str | None = None


class NotificationTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of notification types."""

    items: list[NotificationType]

    next_token: str | None = field(default=None, name="nextToken")


class PasskeyConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """All passkeys of the caller, the first one first."""

    items: list[PasskeyItem]


class PasskeyInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A passkey that a browser has created."""

    name: str
    """What its owner calls it."""

    credential: Mapping[str, Any]
    """What the browser returned, as its method `toJSON` writes it."""


class PasskeyItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A passkey of the caller."""

    passkey_id: str = field(name="passkeyId")

    name: str
    """What its owner calls it."""

    is_synced: bool = field(name="isSynced")
    """Whether its owner's other devices have it too."""

    created_at: datetime = field(name="createdAt")

    seen_at: datetime | None = field(default=None, name="seenAt")
    """Its last use."""


class PasskeyOptions(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a browser needs to create a passkey, or to use one."""

    public_key: dict[str, Any] = field(name="publicKey")
    """As `PublicKeyCredential.parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON` take
    them. Valid for five minutes, and once.
    """


class PasskeySignIn(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The response of an authenticator."""

    credential: Mapping[str, Any]
    """What the browser returned, as its method `toJSON` writes it."""


class PasskeyUpdate(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Another name for a passkey."""

    passkey_id: str = field(name="passkeyId")

    name: str
    """What its owner calls it."""


class PasswordInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A new password, and the present one."""

    new: str

    old: str | None = None
    """The present password; not needed in the first 10 minutes of a session."""


class PasswordResetInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Who has forgotten their password."""

    email: str


class Permission(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a role can allow."""

    id: str

    name: str

    description: str


class PermissionBody(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A permission to create or update."""

    permission_id: str = field(name="permissionId")

    name: str

    description: str


class PermissionConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of permissions."""

    items: list[Permission]

    next_token: str | None = field(default=None, name="nextToken")


class Positions(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of last positions, as arrays: they are half as large as objects."""

    items: list[list[str | int | float | None]]
    """One for each device."""

    total: int
    """How many there are, counted for the first page."""

    next_token: str | None = field(default=None, name="nextToken")


class Preview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a connector would do with the latest records, newest first."""

    items: list[PreviewItem]


class PreviewDraft(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a connector that decide what it sends."""

    type: str | None = None

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded. Empty: all."""

    format: str | None = None
    """`json`, `cloudevents`, `raw` or `custom`."""

    json_fields = ("params",)


class PreviewInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which connector or draft, and which of the latest records."""

    group_id: str = field(name="groupId")

    connector_id: str | None = field(default=None, name="connectorId")
    """Required without a draft."""

    draft: PreviewDraft | None = None

    limit: int | None = None

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device."""

    begin_date: When | None = field(default=None, name="beginDate")

    end_date: When | None = field(default=None, name="endDate")

    time_fields = ("begin_date", "end_date")


class PreviewItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a connector would do with one stored record."""

    device_id: str = field(name="deviceId")

    kind: str

    timestamp: datetime

    matches: bool

    reason: str

    request: PreviewRequest | None = None

    matched_before: bool | None = field(default=None, name="matchedBefore")
    """Whether the saved connector sends it; in the preview of a draft."""


class PreviewRequest(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The request that would be sent; secrets are masked."""

    method: str

    url: str

    headers: dict[str, str]

    body: str


class Problem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Every error of the service (RFC 9457, with `message` repeating `detail`)."""

    type: str

    title: str

    status: int

    detail: str

    message: str

    code: str

    errors: list[FieldProblem]

    request_id: str = field(name="requestId")


class PublicUser(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A user, as seen by members of a common group."""

    id: str | None = None

    email: str | None = None

    name: str | None = None

    seen_at: datetime | None = field(default=None, name="seenAt")

    first_name: str | None = field(default=None, name="firstName")

    last_name: str | None = field(default=None, name="lastName")

    created_at: datetime | None = field(default=None, name="createdAt")

    updated_at: datetime | None = field(default=None, name="updatedAt")

    role: Role | None = None

    membership_updated_at: datetime | None = field(default=None, name="membershipUpdatedAt")
    """Among the members of a group: when they got their role."""


class Reception(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a network, as it came in; kept for a limited time."""

    received_at: datetime = field(name="receivedAt")
    """When the request came in."""

    request_id: str = field(name="requestId")
    """Of the network's request."""

    content_type: str | None = field(default=None, name="contentType")

    query: str | None = None
    """Of the URL, without the token."""

    size: int
    """Of the body, in bytes."""

    body: str | None = None
    """If it is text and was kept: large ones and those of a batch are not."""

    body_base64: str | None = field(default=None, name="bodyBase64")
    """The same if it is not text."""


class RecoveryCodes(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Codes that replace one of the app, each once; shown once."""

    recovery_codes: list[str] = field(name="recoveryCodes")


class RedecodeInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which payloads to redecode: of a device or of a group's devices, in a period."""

    device_id: str | None = field(default=None, name="deviceId")

    group_id: str | None = field(default=None, name="groupId")
    """With deviceId, its group."""

    device_type: str | None = field(default=None, name="deviceType")
    """Only devices of this type."""

    begin_date: When | None = field(default=None, name="beginDate")

    end_date: When | None = field(default=None, name="endDate")

    limit: int | None = None
    """The maximum number of records to read."""

    next_token: str | None = field(default=None, name="nextToken")
    """The nextToken of the previous response."""

    time_fields = ("begin_date", "end_date")


class RedecodeReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome for some records; with a nextToken there are more."""

    message: str

    looked_at: int = field(name="lookedAt")

    changed: int

    skipped: int
    """Without a payload, or with data of another form."""

    failed: int
    """Rejected by the decoder, and unchanged."""

    failure: str | None = None
    """The error of the first one that failed."""

    next_token: str | None = field(default=None, name="nextToken")


class Replay(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The progress of a replay."""

    replay_id: str = field(name="replayId")

    connector_id: str = field(name="connectorId")

    group_id: str = field(name="groupId")

    status: str

    looked_at: int = field(name="lookedAt")

    queued: int

    begin_date: datetime = field(name="beginDate")

    end_date: datetime = field(name="endDate")

    created_at: datetime = field(name="createdAt")

    updated_at: datetime = field(name="updatedAt")

    created_by: str = field(name="createdBy")


class ReplayInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which connector, and the timestamps of which records."""

    connector_id: str = field(name="connectorId")

    group_id: str = field(name="groupId")

    begin_date: When = field(name="beginDate")
    """RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."""

    end_date: When = field(name="endDate")
    """RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."""

    time_fields = ("begin_date", "end_date")


class ReplayList(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last replays of a connector, the newest first."""

    items: list[Replay]


class ReplayPreview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a replay would send."""

    looked_at: int = field(name="lookedAt")
    """Records that were looked at."""

    matches: int
    """Of those, records that would be sent."""

    sent_before: int = field(name="sentBefore")
    """Of the matches, records that the connector has had before; their messages keep their ids."""

    is_all: bool = field(name="isAll")
    """Whether every record was looked at that a replay would look at."""

    estimated_matches: int = field(name="estimatedMatches")
    """`matches` if all were looked at, else an estimate for the whole range."""


class ReplayStarted(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A replay that was started."""

    message: str

    queued: int

    replay_id: str = field(name="replayId")


class RetryMessagesInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Messages by their ids, or those of a connector by a filter; not both."""

    group_id: str = field(name="groupId")

    ids: Sequence[str] | None = None
    """Messages of this group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """Only of this connector."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only about this device."""

    kind: str | None = None
    """Only records of this kind: `data`, `event`, `geoloc` or `telemetry`."""

    begin_date: When | None = field(default=None, name="beginDate")

    end_date: When | None = field(default=None, name="endDate")

    status: str | None = None
    """`failed` (default) or `processing`."""

    time_fields = ("begin_date", "end_date")


class RetryPolicy(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How often a delivery is retried, and the delay between attempts in seconds."""

    retry_delay: int | None = field(default=None, name="retryDelay")

    max_retry: int | None = field(default=None, name="maxRetry")


class RetryPolicyInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """How often a delivery is retried, and the delay between attempts in seconds."""

    retry_delay: int = field(name="retryDelay")

    max_retry: int = field(name="maxRetry")


class Role(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A named set of permissions."""

    id: str

    name: str

    description: str

    permissions: list[str]

    removable: bool | None = None

    updated_at: datetime | None = field(default=None, name="updatedAt")


class RoleChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a role."""

    role_id: str = field(name="roleId")

    group_id: str = field(name="groupId")

    name: str | None = None

    description: str | None = None

    permissions: Sequence[str] | None = None

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class RoleConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of roles."""

    items: list[Role]

    next_token: str | None = field(default=None, name="nextToken")


class RoleInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A role to create."""

    name: str

    description: str

    permissions: str | Sequence[str]
    """Permission ids, separated by commas or spaces."""


class Schedule(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A day of the week and a period of it."""

    day: int = field(name="Day")
    """1 to 7 for Monday to Sunday; 0 is Sunday, too."""

    from_: Time | None = field(default=None, name="From")

    to: Time | None = field(default=None, name="To")


class Series(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of some devices over time."""

    path: str
    """As requested."""

    kind: str
    """The kind of records."""

    begin_date: datetime = field(name="beginDate")
    """The begin of the first span."""

    end_date: datetime = field(name="endDate")

    time_span: int = field(name="timeSpan")
    """Seconds per point."""

    items: list[DeviceSeries]
    """In the order of the request."""


class SeriesPoint(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of the records in one span of time."""

    timestamp: datetime
    """The begin of the span."""

    min: float
    """The smallest number."""

    max: float
    """The largest number."""

    mean: float
    """The arithmetic mean."""

    last: float
    """The number of the newest record."""

    count: int
    """The number of numbers."""


class SessionConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """All sessions of a user, the last used first."""

    items: list[SessionItem]


class SessionInfo(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The session of the caller."""

    user: User

    is_operator: bool = field(name="isOperator")
    """Whether the user has every permission in every group."""

    method: str
    """How the user signed in."""

    created_at: datetime = field(name="createdAt")

    expires_at: datetime = field(name="expiresAt")
    """Unless it is used before."""

    has_password: bool = field(name="hasPassword")
    """Whether the user has a password."""

    has_totp: bool = field(name="hasTotp")
    """Whether the user needs a code of an authenticator app."""


class SessionItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One of the sessions of a user."""

    session_id: str = field(name="sessionId")

    method: str
    """How the user signed in."""

    address: str
    """Where it was created."""

    user_agent: str = field(name="userAgent")
    """The browser that it was created with."""

    created_at: datetime = field(name="createdAt")

    seen_at: datetime = field(name="seenAt")
    """Its last use, to five minutes."""

    expires_at: datetime = field(name="expiresAt")

    is_this: bool = field(name="isThis")
    """Whether it is the session of this request."""

    issued_by: str | None = field(default=None, name="issuedBy")
    """The user who was shown its link, if it was another."""


class SignInInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """One way to sign in."""

    link: str | None = None
    """What follows `=` in a sign-in link."""

    email: str | None = None
    """Of a user with a password."""

    password: str | None = None

    totp: str | None = None
    """With `link`, or `email` and `password`: the code of an authenticator app, or a recovery
    code, for users who have turned that on.
    """

    client_id: str | None = field(default=None, name="clientId")
    """Of a user's credentials."""

    client_secret: str | None = field(default=None, name="clientSecret")
    """Of the same credentials."""


class Time(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A time of the day."""

    hours: int = field(name="Hours")

    minutes: int = field(name="Minutes")

    secondes: int | None = field(default=None, name="Secondes")


class TokenError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The error response of RFC 6749."""

    error: str

    error_description: str


class TokenIntrospectionResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A valid token of the client that asks; for any other token `active` is false, and alone.

        `sub` is the user or app client that acts with the token. Times are in seconds since
    1970.
    """

    active: bool

    client_id: str | None = None

    sub: str | None = None

    iss: str | None = None

    iat: int | None = None

    exp: int | None = None

    token_type: str | None = None


class TokenResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An access token and its lifetime in seconds."""

    access_token: str

    token_type: str

    expires_in: int


class TokenRevocationResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Empty: the token is not valid, or not one of this client."""


class TotpCodeInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A code of an authenticator app."""

    code: str


class TotpSecret(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What an authenticator app needs; shown once."""

    secret: str
    """In base32."""

    uri: str
    """The same for a QR code, `otpauth://totp/…`."""


class Trace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A record from its reception to everything that it caused."""

    arrival: Arrival
    """The record."""

    reception: Reception | None = None

    decoding: DecodingResult | None = None

    connectors: list[ConnectorTrace]
    """Where you have `connector.read`; first those with a message."""

    has_more_connectors: bool | None = field(default=None, name="hasMoreConnectors")
    """There are more than are shown."""

    notifications: list[NotificationTrace]
    """Where you have `notification.read`."""

    hidden_connectors: int | None = field(default=None, name="hiddenConnectors")
    """With a message about it, but not yours to see."""

    hidden_notifications: int | None = field(default=None, name="hiddenNotifications")
    """Caused by it, but not yours to see."""


class Transfer(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which device to transfer, and to which group."""

    device_id: str = field(name="deviceId")

    group_id: str = field(name="groupId")

    to_group_id: str = field(name="toGroupId")


class TreeGroup(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A group in a tree, without its token."""

    id: str

    user_id: str = field(name="userId")

    name: str | None = None

    description: str | None = None

    token: str | None = None

    administrator_role: str | None = field(default=None, name="administratorRole")

    default_role: str | None = field(default=None, name="defaultRole")

    created_at: datetime | None = field(default=None, name="createdAt")

    updated_at: datetime | None = field(default=None, name="updatedAt")

    created_by: str | None = field(default=None, name="createdBy")

    updated_by: str | None = field(default=None, name="updatedBy")

    parent: str | None = None

    role: Role | None = None

    owner_id: str | None = field(default=None, name="ownerId")

    number_of_devices: int | None = field(default=None, name="numberOfDevices")

    number_of_notifications: int | None = field(default=None, name="numberOfNotifications")

    number_of_connectors: int | None = field(default=None, name="numberOfConnectors")

    tags: list[str] | None = None

    deletion_at: datetime | None = field(default=None, name="deletionAt")
    """When it will be deleted with everything in it."""

    number_of_groups: int = field(name="numberOfGroups")
    """How many groups are directly below it."""


class TypeDecoder(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The decoder of a device type."""

    type: str

    decoder: str | None = None
    """`bits`, `cayenneLpp` or `javascript`."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    decoded_location: str | None = field(default=None, name="decodedLocation")
    """Names of the decoded latitude and longitude that become a geolocation."""

    updated_at: datetime = field(name="updatedAt")
    """When the type was changed last."""

    warnings: list[str] | None = None
    """What the codec uses and does not exist here."""


class TypeDecoderChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new decoder of a device type; without `decoder` it has none."""

    type: str

    decoder: str | None = None
    """`bits`, `cayenneLpp` or `javascript`."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    decoded_location: str | None = field(default=None, name="decodedLocation")
    """Names of the decoded latitude and longitude that become a geolocation."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class TypePolicyChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new policy of a device type."""

    type: str

    policy: Mapping[str, Any]
    """A JSON merge patch (RFC 7396): null removes a member. Empty: no policy."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    time_fields = ("if_updated_at",)


class UpdateConnectorInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a connector."""

    connector_id: str = field(name="connectorId")

    group_id: str = field(name="groupId")

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    name: str | None = None

    description: str | None = None

    type: str | None = None

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded. Empty: all."""

    data_failure_policy: DataFailurePolicyInput | None = field(
        default=None, name="dataFailurePolicy"
    )

    retry_policy: Any = field(default=None, name="retryPolicy")

    format: str | None = None
    """`json`, `cloudevents`, `raw` or `custom`."""

    enabled: bool | None = None

    tags: Sequence[str] | None = None

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    json_fields = ("params",)

    time_fields = ("if_updated_at",)


class UpdateGroupAppClient(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An app client after it was renamed."""

    app_client_id: str = field(name="appClientId")

    secret: str

    name: str

    expiration: int | None = None
    """Seconds since 1970."""

    updated_at: datetime | None = field(default=None, name="updatedAt")


class UpdateNotificationInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a notification."""

    notification_id: str = field(name="notificationId")

    group_id: str = field(name="groupId")

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    name: str | None = None

    description: str | None = None

    type: str | None = None

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device; empty for all."""

    reason: str | None = None
    """The `reason` of a data record, the `type` of an event, or one that the service raises
    itself. Left out or empty, every event triggers it.
    """

    schedule: Any = None

    enabled: bool | None = None

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")

    tags: Sequence[str] | None = None

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")

    json_fields = ("params",)

    time_fields = ("if_updated_at",)


class User(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A user, as seen by themselves; `devices` is the push token registered last."""

    id: str | None = None

    email: str | None = None

    name: str | None = None

    seen_at: datetime | None = field(default=None, name="seenAt")

    first_name: str | None = field(default=None, name="firstName")

    last_name: str | None = field(default=None, name="lastName")

    created_at: datetime | None = field(default=None, name="createdAt")

    updated_at: datetime | None = field(default=None, name="updatedAt")

    gender: str | None = None

    devices: VendorToken | None = None


class UserChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to the caller's own user."""

    gender: str | None = None

    name: str | None = None

    first_name: str | None = field(default=None, name="firstName")

    last_name: str | None = field(default=None, name="lastName")


class UserConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of users."""

    items: list[PublicUser]

    next_token: str | None = field(default=None, name="nextToken")


class UserInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A user to create."""

    email: str

    last_name: str = field(name="lastName")

    firstname: str | None = None


class VendorInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The registration of a device at the vendor's network."""

    id: str
    """The network's own id; case-insensitive."""

    device_type_id: str = field(name="deviceTypeId")

    device_name: str = field(name="deviceName")

    pac: str
    """Not returned by any operation."""

    activable: bool | None = None

    automatic_renewal: bool | None = field(default=None, name="automaticRenewal")

    lat: float | None = None

    lng: float | None = None


class VendorToken(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A push token linked to a user."""

    token: str | None = None

    type: str | None = None

    created_at: datetime | None = field(default=None, name="createdAt")

    created_by: str | None = field(default=None, name="createdBy")

    device_name: str | None = field(default=None, name="deviceName")

    enabled: bool | None = None


class VendorTokenInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A push token to register for the caller."""

    token: str
    """A push token, or the subscription object of a browser as JSON."""

    device_name: str | None = field(default=None, name="deviceName")


if TYPE_CHECKING:
    ArrivalRecord = DeviceData | DeviceEvent | DeviceGeoloc | DeviceTelemetry
else:  # decoded as soon as it is known what it is
    ArrivalRecord = msgspec.Raw
Arrival.options = {
    "data": msgspec.json.Decoder(DeviceData),
    "event": msgspec.json.Decoder(DeviceEvent),
    "geoloc": msgspec.json.Decoder(DeviceGeoloc),
    "telemetry": msgspec.json.Decoder(DeviceTelemetry),
}

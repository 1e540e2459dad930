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

CalendarSpan = Literal["day", "hour", "month", "week", "year"]
ChirpstackEvent = Literal["ack", "integration", "join", "location", "log", "status", "txack", "up"]
DecoderKind = Literal["bits", "cayenneLpp", "javascript"]
DeliveryStatus = Literal["failed", "processing", "succeed"]
DeviceOrder = Literal["battery", "created", "name", "seenAt"]
ExportContent = Literal["audit", "devices", "messages", "records"]
ExportDates = Literal["arrival", "timestamp"]
ExportFormat = Literal["csv", "ndjson"]
GrantType = Literal["client_credentials"]
JobOutcome = Literal["changed", "failed", "skipped", "undone"]
JobState = Literal["cancelled", "failed", "running", "succeeded", "waiting"]
Language = Literal["de", "en", "fr"]
ListedAlarms = Literal["all", "open", "resolved"]
MeasurementClass = Literal["amount", "counter", "gauge", "state"]
MessageFormat = Literal["cloudevents", "custom", "json", "raw"]
MessageKind = Literal["alarm", "data", "event", "geoloc", "registry", "telemetry"]
PayloadEncoding = Literal["base64", "hex"]
RecordExportFormat = Literal["csv", "ndjson", "parquet"]
RecordKind = Literal["data", "event", "geoloc", "telemetry"]
ReportContent = Literal["alarms", "devices", "records", "series"]
ReportFormat = Literal["csv", "xlsx"]
ReportSpan = Literal["day", "month", "week"]
SeenWithin = Literal["day", "hour", "longer", "never", "silent", "week"]
SeriesAggregate = Literal["count", "first", "increase", "last", "max", "mean", "min", "sum"]
SeriesCombination = Literal["count", "max", "mean", "min", "none", "percentile", "sum"]
SeriesFormat = Literal["csv", "json", "ndjson", "parquet", "table"]
Severity = Literal["critical", "info", "warning"]
StartableJobKind = Literal[
    "configuration", "delete", "export", "redecode", "replay", "resend", "tag", "transfer", "type"
]


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
    """The groups from the root to this one; roles on it add up."""

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
    """The id of the group."""

    holds: bool
    """Whether the role has the permission."""

    name: str | None = None
    """Its name."""

    role: AccessRole | None = None
    """The role of the user in this group, if there is one."""


class Acknowledgement(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which alarm, and what is said about it."""

    group_id: str = field(name="groupId")
    """The group of the alarm."""

    alarm_id: str = field(name="alarmId")
    """The id of the alarm."""

    comment: str | None = None
    """What is said about it."""


class Alarm(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What is or was wrong with a device or a connector, as a notification says it."""

    id: str
    """Its id."""

    group_id: str = field(name="groupId")
    """The group of the device or the connector."""

    notification_id: str = field(name="notificationId")
    """The id of the notification."""

    notification_name: str | None = field(default=None, name="notificationName")
    """The name of the notification."""

    reason: str
    """Of its notification: `measurement`, `deviceSilent`, `batteryLow`, `configurationDrift`,
    `geofenceEnter`, `geofenceExit`, `connectorFailing` or `messagesFailed`.
    """

    device_id: str | None = field(default=None, name="deviceId")
    """The id of the device."""

    device_name: str | None = field(default=None, name="deviceName")
    """The name of the device, while it is in the group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """The id of the connector."""

    connector_name: str | None = field(default=None, name="connectorName")
    """The name of the connector."""

    severity: str
    """That of its notification when it was raised."""

    state: str
    """`raised`, `acknowledged` or `resolved`."""

    raised_at: datetime = field(name="raisedAt")
    """When its condition had been met for long enough."""

    measurement: str | None = None
    """Of the condition on a value, as its notification has it now; none while that is disabled."""

    above: float | None = None
    """The limit of it."""

    below: float | None = None
    """The limit of it."""

    value: float | None = None
    """That was in force then; only for callers with `record.read`."""

    worst_value: float | None = field(default=None, name="worstValue")
    """The highest or lowest since."""

    acknowledged_at: datetime | None = field(default=None, name="acknowledgedAt")
    """When somebody acknowledged it."""

    acknowledged_by: str | None = field(default=None, name="acknowledgedBy")
    """The id of the user or app client that acknowledged it."""

    comment: str | None = None
    """What was said then."""

    resolved_at: datetime | None = field(default=None, name="resolvedAt")
    """When it was resolved."""

    resolution: str | None = None
    """Why, if no value or observation has resolved it."""

    notified_at: datetime | None = field(default=None, name="notifiedAt")
    """When messages about it were queued last."""

    silence_id: str | None = field(default=None, name="silenceId")
    """The silence that has held messages about it back, of several the last one; perhaps of a
    group above.
    """

    is_notification_disabled: bool | None = field(default=None, name="isNotificationDisabled")
    """Its notification is disabled: nobody looks whether it is resolved."""


class AlarmConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of alarms."""

    items: list[Alarm]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class AlarmCounts(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How many alarms are open."""

    total: int
    """All that are not resolved."""

    acknowledged: int
    """Those of them that are acknowledged."""

    critical: int
    """By severity."""

    warning: int
    """By severity."""

    info: int
    """By severity."""


class AlarmInterval(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An alarm that would have been raised."""

    raised_at: datetime = field(name="raisedAt")
    """When the condition had been met for long enough."""

    resolved_at: datetime | None = field(default=None, name="resolvedAt")
    """Absent if it was open at the end."""

    value: float | None = None
    """That was in force when it was raised."""

    worst_value: float | None = field(default=None, name="worstValue")
    """The highest or lowest since."""


class AlarmMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An alarm that was raised, acknowledged or resolved, for connectors that ask for `alarm`."""

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    kind: str
    """The kind of the record."""

    type: str
    """What became of it."""

    device_id: str | None = field(default=None, name="deviceId")
    """Absent if it is about a connector."""

    timestamp: datetime
    """When that was."""

    group_id: str = field(name="groupId")
    """Of the device or the connector."""

    alarm_id: str = field(name="alarmId")
    """The id of the alarm."""

    notification_id: str = field(name="notificationId")
    """The id of the notification."""

    connector_id: str | None = field(default=None, name="connectorId")
    """Instead of a device."""

    reason: str
    """Of the notification."""

    severity: str
    """How bad it is, in any words; networks and the service use `info`, `warning` and `error`."""

    measurement: str | None = None
    """That has a limit."""

    above: float | None = None
    """The limit."""

    below: float | None = None
    """The limit."""

    raised_at: datetime = field(name="raisedAt")
    """When it was raised."""

    value: float | None = None
    """When it was raised."""

    worst_value: float | None = field(default=None, name="worstValue")
    """Until then."""

    acknowledged_at: datetime | None = field(default=None, name="acknowledgedAt")
    """When it was acknowledged."""

    acknowledged_by: str | None = field(default=None, name="acknowledgedBy")
    """The id of a user."""

    comment: str | None = None
    """Of who has acknowledged it."""

    resolved_at: datetime | None = field(default=None, name="resolvedAt")
    """When it was resolved."""

    resolution: str | None = None
    """Why, if no value has resolved it."""

    device_name: str | None = field(default=None, name="deviceName")
    """The name of the device when the record arrived, or that in the record."""

    device_type: str | None = field(default=None, name="deviceType")
    """The type of the device when the record arrived, or that in the record."""

    tags: list[str] | None = None
    """The tags of the device when the record arrived."""


class AllRecords(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Whose records to delete."""

    device_id: str = field(name="deviceId")
    """The id of the device whose records are deleted."""


class AppClientChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new name of an app client, or another role."""

    name: str
    """The present name."""

    new_name: str = field(name="newName")
    """The new name."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    role_id: str | None = field(default=None, name="roleId")
    """Empty or null for the group's default role."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class AppClientConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of app clients."""

    items: list[ListedAppClient]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class AppClientInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """An app client to create."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """The name of the app client, which is unique in the group."""

    description: str | None = None
    """What it is for."""

    expiration: int | None = None
    """Seconds since 1970."""

    role_id: str | None = field(default=None, name="roleId")
    """The role that it acts with. Absent: the default role of the group."""


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
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""

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
    """`connectorFailing`, `deadLetters`, `filterFailing` or `conditionFailing` (a filter of a
    connector, or `when` of a notification, that cannot be evaluated for most records),
    `devicesSilent`, `batteryLow`, `configurationDrift`, `unknownDevices` (that reported, but do
    not exist in the group) or `rejectedMessages` (of devices of the group).
    """

    group_id: str = field(name="groupId")
    """The id of the group."""

    id: str | None = None
    """The connector or notification."""

    name: str | None = None
    """Its name."""

    count: int | None = None
    """How many devices or messages."""

    total: int | None = None
    """Of how many of the last records, for a filter."""

    since: datetime | None = None
    """When the connector or the filter began to fail, or the first device became silent, began to
    drift, or was reported.
    """

    detail: str | None = None
    """The last error."""


class AuditEntry(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Who did what to which object, and in which request."""

    id: str
    """Identifies the entry."""

    timestamp: datetime
    """When it was done."""

    actor_kind: str = field(name="actorKind")
    """`user`, `client`, `network` or `system`."""

    actor_id: str = field(name="actorId")
    """The id of the user or app client that acted."""

    actor_name: str | None = field(default=None, name="actorName")
    """If you may see the user or app client."""

    issued_by: str | None = field(default=None, name="issuedBy")
    """Who was shown the sign-in link of the actor's session, and may be who did it; left out if
    the actor signed in by themselves.
    """

    issuer_name: str | None = field(default=None, name="issuerName")
    """If you may see this user."""

    action: str
    """What was done: the kind of object and a verb."""

    object_id: str = field(name="objectId")
    """The id of what was changed."""

    object_name: str | None = field(default=None, name="objectName")
    """Its name at that time."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    request_id: str = field(name="requestId")
    """The `X-Request-Id` of the request."""

    detail: str | None = None
    """What else is to be said."""

    before: dict[str, Any] | None = None
    """The fields that changed, as they were before or after; secrets are masked."""

    after: dict[str, Any] | None = None
    """The fields that changed, as they were before or after; secrets are masked."""

    omitted_fields: list[str] | None = field(default=None, name="omittedFields")
    """Fields that changed, too, and are too large for the audit log."""

    address: str | None = None
    """The address of the caller; for operators."""


class AuditEntryConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the audit log."""

    items: list[AuditEntry]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class AuthorizationServerMetadata(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The endpoints for tokens, and what they support."""

    issuer: str
    """The URL of the service."""

    token_endpoint: str
    """Where access tokens are issued."""

    revocation_endpoint: str
    """Where they are revoked."""

    introspection_endpoint: str
    """Where they are introspected."""

    service_documentation: str
    """A page about the API."""

    grant_types_supported: list[str] | None = None
    """The grants."""

    response_types_supported: list[str] | None = None
    """Empty: there is no authorization endpoint."""

    token_endpoint_auth_methods_supported: list[str] | None = None
    """How a client authenticates there."""

    revocation_endpoint_auth_methods_supported: list[str] | None = None
    """How a client authenticates there."""

    introspection_endpoint_auth_methods_supported: list[str] | None = None
    """How a client authenticates there."""


class BacktestExamined(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was looked at for an answer."""

    devices: int
    """That it may be about."""

    records: int
    """That were read."""

    summaries: int
    """Days, and quarters of an hour, of which no record had to be read."""

    failed: int | None = None
    """Records for which the expression had no value."""


class BacktestInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which notification, stored or not, and which range of time."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    notification: NotificationDraftInput | None = None
    """One that is not stored, as `POST /notification` takes it; or `notificationId`."""

    notification_id: str | None = field(default=None, name="notificationId")
    """A stored one of this group."""

    begin_date: When = field(name="beginDate")
    """It is as if it had been created then."""

    end_date: When = field(name="endDate")
    """The end of the range, at most 366 days behind its begin."""

    limit: int | None = None
    """How many devices are examined at most."""

    next_token: str | None = field(default=None, name="nextToken")
    """The nextToken of the answer before."""

    time_fields = ("begin_date", "end_date")


class BacktestResult(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The alarms that a notification would have raised, by device."""

    items: list[BacktestedDevice]
    """Devices with alarms."""

    messages: int
    """How many messages would have been sent, each to every recipient."""

    examined: BacktestExamined
    """What was looked at for this answer."""

    examined_from: datetime | None = field(default=None, name="examinedFrom")
    """If older records of a device are not kept: from when on they are."""

    examined_until: datetime | None = field(default=None, name="examinedUntil")
    """If the last device has more records than one request reads: until when it was examined.
    `nextToken` goes on there.
    """

    next_token: str | None = field(default=None, name="nextToken")
    """If there is more to examine."""


class BacktestedDevice(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The alarms of a device."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    alarms: list[AlarmInterval]
    """By time."""


class BatchReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a batch."""

    message: str
    """What was done, in words."""

    stored: int
    """How many records are new."""

    duplicates: int
    """How many were stored before, and are therefore not stored again."""


class BulkChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to many devices."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    device_ids: Sequence[str] = field(name="deviceIds")
    """Ids of devices."""

    add_tags: Sequence[str] | None = field(default=None, name="addTags")
    """Tags to add."""

    remove_tags: Sequence[str] | None = field(default=None, name="removeTags")
    """Tags to remove."""

    type: str | None = None
    """The device type."""

    configuration: JsonText | None = None
    """The new configuration of each of the devices, any text."""

    json_fields = ("configuration",)


class BulkDelete(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which devices to delete."""

    device_ids: Sequence[str] = field(name="deviceIds")
    """Ids of devices."""

    group_id: str = field(name="groupId")
    """The id of the group."""


class BulkTransfer(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which devices to transfer, and to which group."""

    device_ids: Sequence[str] = field(name="deviceIds")
    """Ids of devices."""

    group_id: str = field(name="groupId")
    """The id of the group that the devices are in."""

    to_group_id: str = field(name="toGroupId")
    """The id of the group to transfer to."""


class CancelMessagesInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Messages by their ids, or those of a connector by a filter; not both."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    ids: Sequence[str] | None = None
    """Messages of this group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """Only of this connector."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only about this device."""

    kind: Literal["alarm", "data", "event", "geoloc", "registry", "telemetry"] | None = None
    """Only messages of this kind."""

    begin_date: When | None = field(default=None, name="beginDate")
    """Last changed from then on."""

    end_date: When | None = field(default=None, name="endDate")
    """Last changed before."""

    time_fields = ("begin_date", "end_date")


class ChirpstackCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Take an event of ChirpStack's HTTP integration."""

    device_info: Any = field(default=None, name="deviceInfo")
    """The device: its `devEui`, name and tags."""

    time: Any = None
    """When the message was received; seconds or milliseconds since 1970, or RFC 3339."""

    f_cnt: Any = field(default=None, name="fCnt")
    """The frame counter."""

    f_port: Any = field(default=None, name="fPort")
    """The LoRaWAN port."""

    data: Any = None
    """The payload: in hex, or of ChirpStack in base64."""

    rx_info: Any = field(default=None, name="rxInfo")
    """The gateways that received the message."""


class CloudEventMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A record or a change, as a connector sends it in the format `cloudevents` (version 1.0)."""

    specversion: str
    """Of CloudEvents."""

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    source: str
    """The group and the device, or the connector that an alarm is about."""

    type: str
    """`longwire.device.` and the kind of the record; of a change, `longwire.` and its `type`."""

    subject: str
    """The id of the device or the connector."""

    time: datetime
    """The timestamp of the record or the change."""

    datacontenttype: str
    """Of `data`."""

    data: dict[str, Any]
    """The message of the format `json`, without its `id`."""


class CodecExampleResult(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An example of the maker, and what the codec makes of it."""

    name: str
    """What its maker calls it."""

    function: str
    """Which one is called."""

    is_passed: bool = field(name="isPassed")
    """Whether the codec does what is expected."""

    input: dict[str, Any]
    """What the codec gets."""

    expected: dict[str, Any]
    """What its maker says that it returns."""

    actual: dict[str, Any]
    """What the codec returns; `errors` says why there is nothing."""


class ConfigurationDifference(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A value that a device reports otherwise than it should be."""

    path: str
    """A JSON pointer (RFC 6901)."""

    expected: Any
    """Any JSON value."""

    reported: Any = None
    """What the device reports; left out if it does not."""


class ConfigurationPolicy(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a group or a device type wants of the configuration of its devices."""

    policy: dict[str, Any]
    """A JSON merge patch (RFC 7396): null removes a member. Empty: no policy."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    updated_by: str | None = field(default=None, name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""


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
    """The id of the group."""

    id: str
    """The id of the connector."""

    name: str | None = None
    """The name of the connector."""

    description: str | None = None
    """A text about it, for people."""

    params: str
    """A JSON object in a string, as the type's `expectedParameters` describes it; secrets are
    masked for callers who may not change it.
    """

    type: str
    """The connector type."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    updated_by: str = field(name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""

    created_by: str = field(name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    error: ConnectorError | None = None
    """The last failure, also after later successes; `GET /connector/health` says how the connector
    is now.
    """

    filter_failing: FilterFailing | None = field(default=None, name="filterFailing")
    """Its filter cannot be evaluated for most records. Absent if it can."""

    device_types: list[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    device_ids: list[str] | None = field(default=None, name="deviceIds")
    """Only records of these devices; empty for all."""

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded."""

    format: str | None = None
    """How a record is encoded in a message."""

    data_failure_policy: DataFailurePolicy | None = field(default=None, name="dataFailurePolicy")
    """How long dead letters are kept."""

    retry_policy: RetryPolicy | None = field(default=None, name="retryPolicy")
    """How often a delivery is retried; without it, five attempts in about two hours."""

    tags: list[str] | None = None
    """Free words to find it by."""

    previous_secret_until: datetime | None = field(default=None, name="previousSecretUntil")
    """While the signing secret is rotated: until when the one before it signs as well."""


class ConnectorConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of connectors; the interface names the list `test`."""

    test: list[Connector]
    """The connectors of this page; all other lists have `items`."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


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
    """When it failed."""

    message: str | None = None
    """What failed."""

    since: datetime | None = None
    """When it began to fail: the first failed attempt since the last success. Absent if the last
    attempt succeeded.
    """


class ConnectorEvent(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The status of one delivery."""

    connector_id: str = field(name="connectorId")
    """The id of the connector."""

    timestamp: datetime | None = None
    """When its status changed last."""

    status: str | None = None
    """`processing` until it is delivered (`succeed`) or given up (`failed`)."""

    id: str | None = None
    """The id of the message, as a receiver gets it in `webhook-id`."""

    device_id: str | None = field(default=None, name="deviceId")
    """The id of the device."""

    kind: str | None = None
    """The kind of the record."""

    attempts: int | None = None
    """How often it was attempted."""

    message: str | None = None
    """The error of the last attempt."""


class ConnectorEventConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of deliveries; `stats` count the whole period."""

    items: list[ConnectorEvent]
    """The items of this page."""

    stats: ConnectorEventStats
    """The counts of the whole period."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class ConnectorEventStats(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The number of deliveries of the period, by status."""

    total_still_processing: int | None = field(default=None, name="totalStillProcessing")
    """Messages that are not delivered yet."""

    total_succeed: int | None = field(default=None, name="totalSucceed")
    """Messages that were delivered."""

    total_failed: int | None = field(default=None, name="totalFailed")
    """Messages that were given up."""


class ConnectorFailure(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Messages of a connector whose last attempt failed in the same way."""

    message: str
    """Why, in our words."""

    code: str | None = None
    """As in `attempts` of a message."""

    status: int | None = None
    """Of the HTTP response."""

    count: int
    """How many messages."""

    dead_letters: int = field(name="deadLetters")
    """Of these: kept for a resend."""

    waiting: int
    """Of these: attempted again, or waiting for it."""

    lost: int
    """Of these: given up, and not or no longer kept."""

    devices: int
    """How many devices they are about."""

    first_at: datetime = field(name="firstAt")
    """When the first of them failed the last time."""

    last_at: datetime = field(name="lastAt")
    """When the last of them failed."""

    kept_until: datetime | None = field(default=None, name="keptUntil")
    """When the first of the dead letters expires."""

    message_id: str = field(name="messageId")
    """One of the newest, for an example: of those whose request and response were kept, if there
    are any.
    """


class ConnectorFailures(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What fails at a connector."""

    items: list[ConnectorFailure]
    """By error, most first; up to 50."""

    is_more: bool = field(name="isMore")
    """More messages changed in the period than were looked at: the newest 2,000 dead letters,
    2,000 that wait, and 2,000 others.
    """


class ConnectorHealth(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How a connector is at the moment."""

    failures: int
    """Failed attempts in a row, since the last success."""

    waiting: int
    """Queued messages, up to 10,000."""

    held_back: int = field(name="heldBack")
    """Of those that wait: for an earlier message of their device, because the connector is
    ordered; up to 10,000.
    """

    rate_limited: int = field(name="rateLimited")
    """Of those that wait: due, and held up by `maxPerSecond` alone; up to 10,000."""

    dead_letters: int = field(name="deadLetters")
    """Messages kept for a resend, up to 10,000."""

    failing_since: datetime | None = field(default=None, name="failingSince")
    """The first of these attempts; absent if the last one succeeded."""

    next_attempt_at: datetime | None = field(default=None, name="nextAttemptAt")
    """When the receiver gets a message again, at the earliest: the next one is due, and the time
    that the receiver has asked for is over. Absent if nothing waits, or it neither fails nor
    holds messages back.
    """


class ConnectorInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A connector to create."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    params: JsonText
    """A JSON object, as described by the type's `expectedParameters`."""

    type: str
    """The connector type: `http`, `mqtt`, `nats`, `amqp` or `kafka`."""

    id: str | None = None
    """The id of the connector; made by the service if it is left out."""

    name: str | None = None
    """The name of the connector."""

    description: str | None = None
    """A text about it, for people."""

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")
    """Only records of these devices; empty for all."""

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded. Empty: all."""

    format: Literal["cloudevents", "custom", "json", "raw"] | None = None
    """How a record is encoded in a message."""

    data_failure_policy: DataFailurePolicyInput | None = field(
        default=None, name="dataFailurePolicy"
    )
    """How long dead letters are kept."""

    retry_policy: RetryPolicyInput | None = field(default=None, name="retryPolicy")
    """How often a delivery is retried; without it, five attempts in about two hours."""

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

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
    """How long attempts took; absent without attempts."""


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
    """The id of the connector."""

    group_id: str = field(name="groupId")
    """The id of the group."""


class ConnectorTestInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which connector or draft, and which record; a sample, unless `recordId` names one."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """Required without a draft."""

    draft: TestDraft | None = None
    """Changes to the connector that are not saved, or a whole one."""

    record_id: str | None = field(default=None, name="recordId")
    """A stored record of the group, or of a group below it if `subgroups` is set. Requires
    `record.read`.
    """

    kind: Literal["data", "event", "geoloc", "telemetry"] | None = None
    """The kind of the sample."""

    data: JsonText | None = None
    """The `data` of the sample."""

    json_fields = ("data",)


class ConnectorTestReply(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a test message."""

    delivered: bool
    """Whether the receiver has confirmed it."""

    outcome: str
    """`delivered`, or why not, as in `attempts` of a message."""

    reason: str | None = None
    """Why it was not delivered."""

    duration_ms: int = field(name="durationMs")
    """How long it took."""

    phase: str | None = None
    """How far it came: `resolve` (the host name), `connect`, `proxy`, `tls`, `request` (sent, and
    no response has begun), `response` (its head has arrived) or `complete`. Absent for what is
    no HTTP.
    """

    request: ExchangeRequest | None = None
    """What was sent; absent if the message could not be built."""

    response: ExchangeResponse | None = None
    """What came back, of HTTP alone; absent if no response began."""


class ConnectorTrace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A connector that forwards records of the group: its message, or why it has none.

        And once more for each alarm that the record has raised or resolved, and that it was
    sent.
    """

    connector_id: str = field(name="connectorId")
    """The id of the connector."""

    name: str | None = None
    """The name of the connector."""

    message: Message | None = None
    """Its message about the record."""

    not_taken: str | None = field(default=None, name="notTaken")
    """Why it has no message: `disabled`, `created_later` (than the record arrived), `kind`,
    `device_type`, `device_id`, `filter_false`, `filter_failed`, `not_evaluated` (its filter
    takes too long here), or `matches_now`: it would take the record now, but was changed since,
    is still to be asked, or the message is no longer stored.
    """

    as_of: str | None = field(default=None, name="asOf")
    """`now`: by what the connector is at present; earlier filters are not stored."""


class ConnectorType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of destination and its parameters."""

    expected_parameters: str = field(name="expectedParameters")
    """The parameters in `params`, as a JSON Schema in a string."""

    type: str
    """The word that connectors refer to it by."""

    format_available: list[str] | None = field(default=None, name="formatAvailable")
    """The formats that it can send."""

    name: str | None = None
    """Its name for people."""


class ConnectorTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of connector types."""

    items: list[ConnectorType]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class ConsoleSettings(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a page needs to know before anybody has signed in."""

    version: str
    """The version of the service."""

    sign_in: list[str] = field(name="signIn")
    """The ways to sign in."""

    mail: bool
    """Whether links can be mailed."""

    oidc_name: str | None = field(default=None, name="oidcName")
    """What the OpenID provider is called."""

    map_tiles: str | None = field(default=None, name="mapTiles")
    """Where the operator's map tiles are, if they are on a server."""

    map_file: str | None = field(default=None, name="mapFile")
    """The PMTiles file that the operator has added, in the folder `map` of the console; it is read
    in parts. Without it and `mapTiles` there is the built-in map only.
    """

    map_attribution: str | None = field(default=None, name="mapAttribution")
    """Whom the map names as the source of the tiles, as plain text."""


class ContactPoint(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Recipients with a name; of one of a group above only what is needed to choose it."""

    group_id: str = field(name="groupId")
    """The group that it belongs to."""

    id: str
    """The id of the contact point."""

    name: str | None = None
    """Its name."""

    description: str | None = None
    """A text about it, for people."""

    type: str
    """The contact point type: `email`, `webhook`, `push`, `chat` or `rota`."""

    params: str | None = None
    """A JSON object in a string, as the type's `expectedParameters` describes it; secrets are
    masked for callers who may not change it. Absent if it is shared by a group above in which
    the caller has no `notification.read`.
    """

    on_call: list[str] | None = field(default=None, name="onCall")
    """Of a rota: who would be notified now, the fallback if nobody is on."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    created_by: str | None = field(default=None, name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    updated_by: str | None = field(default=None, name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""

    last_sent_at: datetime | None = field(default=None, name="lastSentAt")
    """When a message was delivered last."""

    error: ContactPointError | None = None
    """The last failure."""


class ContactPointConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of contact points."""

    items: list[ContactPoint]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class ContactPointError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last failure."""

    at: datetime | None = None
    """When it failed."""

    message: str | None = None
    """What failed."""

    since: datetime | None = None
    """When it began to fail: the first failed attempt since the last success. Absent if the last
    attempt succeeded.
    """


class ContactPointInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A contact point to create."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """Its name."""

    type: str
    """The contact point type: `email`, `webhook`, `push`, `chat` or `rota`."""

    params: JsonText
    """A JSON object, as described by the type's `expectedParameters`."""

    description: str | None = None
    """A text about it, for people."""

    json_fields = ("params",)


class ContactPointRef(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which contact point, of which group."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    contact_point_id: str = field(name="contactPointId")
    """The id of the contact point."""


class ContactPointTrace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A contact point through which notifications were sent that the record caused."""

    contact_point_id: str = field(name="contactPointId")
    """The id of the contact point."""

    name: str | None = None
    """Its name."""

    deliveries: list[NotificationDelivery]
    """One for each recipient."""


class ContactPointType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of contact point and its parameters."""

    expected_parameters: str = field(name="expectedParameters")
    """A JSON Schema, as text."""

    type: str
    """The contact point type: `email`, `webhook`, `push`, `chat` or `rota`."""

    name: str
    """Its name for people."""

    unavailable: str | None = None
    """Why it cannot be used on this service, and what the operator sets for it. Absent if it can."""


class ContactPointTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of contact point types."""

    items: list[ContactPointType]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DataFailurePolicy(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Which dead letters are kept for a resend."""

    storing_duration: int | None = field(default=None, name="storingDuration")
    """Seconds that a dead letter is kept for a resend."""

    has_data: bool | None = field(default=None, name="hasData")
    """Whether there are dead letters."""

    start_time: datetime | None = field(default=None, name="startTime")
    """When the oldest dead letter was given up."""

    resending: bool | None = None
    """Whether dead letters are being resent."""


class DataFailurePolicyInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """How many seconds dead letters are kept for a resend."""

    storing_duration: int | None = field(default=None, name="storingDuration")
    """Seconds that a dead letter is kept for a resend."""


class DataMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A data record, as a connector sends it in the format `json`."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: datetime
    """When it happened."""

    data: str
    """What was reported: any text, mostly a JSON object in a string."""

    configuration: str | None = None
    """The configuration of the device when it reported."""

    raw: str | None = field(default=None, name="__raw")
    """The payload as the network carried it, in hex; any text, or empty."""

    mode: str | None = None
    """The operating mode of the device, in its own words; the service does not interpret it."""

    reason: str | None = None
    """Why the device reported, in its own words."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    decoded_names: list[str] | None = field(default=None, name="decodedNames")
    """Members of `data` that come of decoding `__raw`; not sent in."""

    device_type: str = field(name="deviceType")
    """The type of the device when the record arrived, or that in the record."""

    device_name: str = field(name="deviceName")
    """The name of the device when the record arrived, or that in the record."""

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    kind: str
    """The kind of the record."""

    tags: list[str]
    """The tags of the device when the record arrived."""


class DecoderPreview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a draft makes of each payload, newest first."""

    items: list[DecoderPreviewItem]
    """The items of this page."""

    measurements: list[DecoderPreviewMeasurement]
    """Those that are declared of the type's decoded values, and those that would be found in them."""


class DecoderPreviewInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A draft, and the payloads to try it on."""

    type: str
    """The device type."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None
    """Without it, the decoder of the type is tried."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only stored payloads of this device."""

    limit: int | None = None
    """How many stored payloads; 20 by default."""

    payloads: Sequence[GivenPayload] | None = None
    """Payloads to decode, instead of stored ones."""


class DecoderPreviewItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What the draft makes of one payload."""

    payload: str
    """Two hex digits a byte."""

    f_port: int | None = field(default=None, name="fPort")
    """The LoRaWAN port of the uplink."""

    timestamp: datetime
    """The timestamp of the stored record, or now."""

    device_id: str | None = field(default=None, name="deviceId")
    """The id of the device."""

    device_name: str | None = field(default=None, name="deviceName")
    """The name of its device."""

    stored: dict[str, Any] | None = None
    """The values that are stored."""

    values: dict[str, Any] | None = None
    """The values of the draft."""

    error: str | None = None
    """Why there are none."""

    milliseconds: float
    """CPU time of the draft."""


class DecoderPreviewMeasurement(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A measurement, and how many payloads give a value of it."""

    name: str
    """The name of the measurement."""

    kind: str
    """Of which records."""

    path: str
    """A JSON pointer (RFC 6901) in the records of that kind."""

    class_: str = field(name="class")
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    decimals: int | None = None
    """How many decimals to show."""

    minimum: float | None = None
    """A smaller number is no value of it."""

    maximum: float | None = None
    """A larger number is no value of it."""

    is_declared: bool = field(name="isDeclared")
    """Whether it is declared, or would be found in records."""

    payloads: int
    """How many give a value of it; of a declared one maybe none."""

    invalid: int | None = None
    """How many give what is none: a word, or out of bounds."""


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
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group that it belongs to."""

    name: str
    """The name of the device."""

    type: str
    """The device type."""

    network: str
    """Which network carries the messages of the device."""

    original_id: str = field(name="originalId")
    """The id of the device in its network."""

    battery: str | None = None
    """The charge that was reported last: in percent without a unit, or the voltage."""

    seen_at: int | None = field(default=None, name="seenAt")
    """When it was last seen, in milliseconds since 1970; absent before the first record."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    created_by: str = field(name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    updated_by: str = field(name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""

    information: str | None = None
    """A JSON object in a string: the state of its registration at the vendor's network; `{}`
    without one.
    """

    configuration: str | None = None
    """The configuration that the device should have, any text; of a new device the default of its
    type.
    """

    tags: list[str] | None = None
    """Free words to find it by."""

    values: dict[str, TimedValue] | None = None
    """The current values that were asked for, by name."""


class DeviceAtVendor(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A device to create here and to register at the vendor's network."""

    input: DeviceInput
    """The device."""

    vendor: VendorInput
    """Its registration at the vendor's network."""


class DeviceChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a device."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str | None = None
    """The new name."""

    configuration: JsonText | None = None
    """The new configuration, any text; a JSON object can be merged with policies."""

    tags: Sequence[str] | None = None
    """The new tags, in place of the old ones."""

    original_id: str | None = field(default=None, name="originalId")
    """The id of the new hardware, in its network."""

    network: str | None = None
    """The network of the new hardware."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    json_fields = ("configuration",)

    time_fields = ("if_updated_at",)


class DeviceConfiguration(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The configuration that a device should have."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    configuration: dict[str, Any]
    """All policies merged."""

    values: list[ConfigurationValue]
    """Every value, with the place it is from."""

    own_configuration_merged: bool = field(name="ownConfigurationMerged")
    """Whether the device's own `configuration` is a JSON object of at most 16,384 characters and
    16 levels. If not, only the policies count.
    """

    reported: dict[str, Any] | None = None
    """What the device reported last; with `record.read`."""

    reported_at: datetime | None = field(default=None, name="reportedAt")
    """When the device reported its configuration."""

    drift: list[ConfigurationDifference] | None = None
    """Where that is not what it should be; at most 50."""


class DeviceConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of devices."""

    items: list[Device]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


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
    """The id of the device."""

    timestamp: datetime
    """When the device reported."""

    data: str
    """What was reported: any text, mostly a JSON object in a string."""

    configuration: str | None = None
    """The configuration of the device when it reported."""

    raw: str | None = field(default=None, name="__raw")
    """The payload as the network carried it, in hex; any text, or empty."""

    device_type: str | None = field(default=None, name="deviceType")
    """The device type."""

    mode: str | None = None
    """The operating mode of the device, in its own words; the service does not interpret it."""

    reason: str | None = None
    """Why the device reported, in its own words; notifications can wait for it."""

    device_name: str | None = field(default=None, name="deviceName")
    """The name of the device when the record arrived, unless it was sent along."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group that the device was in when the record arrived."""

    decoded_names: list[str] | None = field(default=None, name="decodedNames")
    """Members of `data` that come of decoding `__raw`; not sent in."""


class DeviceDataBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several data records, stored together or not at all."""

    items: Sequence[DeviceDataInput]
    """The items of this page."""


class DeviceDataConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of data records."""

    items: list[DeviceData]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DeviceDataInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A data record to store."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: When
    """When the device reported. RFC 3339, a date alone, or seconds or milliseconds since 1970.
    Without an offset it is UTC. A JSON number is taken, too.
    """

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    data: JsonText
    """What was reported: any text, mostly a JSON object in a string."""

    configuration: JsonText
    """The configuration of the device when it reported; any text, mostly JSON, or empty."""

    raw: str = field(name="__raw")
    """The payload as the network carried it, in hex; any text, or empty."""

    device_type: str = field(name="deviceType")
    """The type of the device, stored as it is sent."""

    mode: str | None = None
    """The operating mode of the device, in its own words; the service does not interpret it."""

    reason: str | None = None
    """Why the device reported, in its own words; notifications can wait for it."""

    device_name: str | None = field(default=None, name="deviceName")
    """The name of the device; filled in if omitted."""

    json_fields = ("data", "configuration")

    time_fields = ("timestamp",)


class DeviceEvent(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to a device."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: datetime
    """When it happened."""

    type: str
    """What happened, in the words of the device or network."""

    device_type: str | None = field(default=None, name="deviceType")
    """The device type."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    message: str | None = None
    """The same for people."""

    data: str | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    severity: str | None = None
    """How bad it is, in any words; networks and the service use `info`, `warning` and `error`."""


class DeviceEventBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several events, stored together or not at all."""

    items: Sequence[DeviceEventInput]
    """The items of this page."""


class DeviceEventConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of events."""

    items: list[DeviceEvent]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DeviceEventInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """An event to store."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: When
    """When it happened. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an
    offset it is UTC. A JSON number is taken, too.
    """

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    type: str
    """What happened, in the words of the device or network; notifications can wait for it."""

    device_type: str | None = field(default=None, name="deviceType")
    """The device type."""

    message: str | None = None
    """The same for people."""

    data: JsonText | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    severity: str | None = None
    """How bad it is, in any words; networks and the service use `info`, `warning` and `error`."""

    json_fields = ("data",)

    time_fields = ("timestamp",)


class DeviceGeoloc(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Where a device was."""

    timestamp: datetime
    """When the device was there."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    status: int | None = None
    """The status of the position, as the network reports it with a computed location; the service
    does not interpret it.
    """

    source: int | None = None
    """How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6 by Wi-Fi,
    7 by Bluetooth.
    """

    radius: int | None = None
    """How exact the position is, as a radius in metres."""

    lat: float | None = None
    """The latitude in degrees, WGS 84."""

    lng: float | None = None
    """The longitude in degrees, WGS 84."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    location: str | None = None
    """The place in words, or in a form of the sender; any text."""

    data: str | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    raw: str | None = field(default=None, name="__raw")
    """The payload as the network carried it, in hex; any text, or empty."""


class DeviceGeolocBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several geolocations, stored together or not at all."""

    items: Sequence[DeviceGeolocInput]
    """The items of this page."""


class DeviceGeolocConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of geolocations."""

    items: list[DeviceGeoloc]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DeviceGeolocInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A geolocation to store."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: When
    """When the device was there. RFC 3339, a date alone, or seconds or milliseconds since 1970.
    Without an offset it is UTC. A JSON number is taken, too.
    """

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    status: int | None = None
    """The status of the position, as the network reports it with a computed location; the service
    does not interpret it.
    """

    source: int | None = None
    """How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6 by Wi-Fi,
    7 by Bluetooth.
    """

    radius: int | None = None
    """How exact the position is, as a radius in metres."""

    lat: float | None = None
    """The latitude in degrees, WGS 84."""

    lng: float | None = None
    """The longitude in degrees, WGS 84."""

    location: str | None = None
    """The place in words, or in a form of the sender; any text."""

    data: JsonText | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    raw: str | None = field(default=None, name="__raw")
    """The payload as the network carried it, in hex; any text, or empty."""

    json_fields = ("data",)

    time_fields = ("timestamp",)


class DeviceInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A device to create."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """The name of the device."""

    type: str
    """The device type."""

    original_id: str = field(name="originalId")
    """The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 hex digits;
    separators and `0x` are left out.
    """

    network: str
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks, in any case.
    """

    tags: Sequence[str] | None = None
    """Free words to find it by."""


class DeviceSeries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The points of one device; a span without numbers has none."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    measurement: str | None = None
    """If several measurements were asked for."""

    points: list[SeriesPoint]
    """By time."""

    states: list[SeriesState] | None = None
    """Of a state: each change. What was in force at the begin is looked for in the time before it,
    as long as the range and two days at most.
    """

    looked_at: int | None = field(default=None, name="lookedAt")
    """Of a path, how many records were read."""

    is_sampled: bool | None = field(default=None, name="isSampled")
    """Not every record was read: there are too many for one request."""

    examined_until: datetime | None = field(default=None, name="examinedUntil")
    """If the points end early, where: request the rest with this begin."""


class DeviceTelemetry(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Signal quality of a device's messages."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: datetime
    """When the message was received."""

    device_type: str | None = field(default=None, name="deviceType")
    """The device type."""

    duplicates: list[str] | None = None
    """One text for each base station or gateway that received the message, mostly JSON."""

    data: str | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    score: int | None = None
    """The quality of the link; records of networks have 0 (weakest) to 3 (strongest)."""

    nb_bs: int | None = field(default=None, name="nbBS")
    """The number of base stations that received the message; `nbBs` in requests."""

    rc: int | None = None
    """The number that the vendor's network sends as `rc` with its advanced data; the service does
    not interpret it.
    """

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""


class DeviceTelemetryBatch(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Several telemetry records, stored together or not at all."""

    items: Sequence[DeviceTelemetryInput]
    """The items of this page."""


class DeviceTelemetryConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of telemetry records."""

    items: list[DeviceTelemetry]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DeviceTelemetryInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A telemetry record to store."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: When
    """When the message was received. RFC 3339, a date alone, or seconds or milliseconds since
    1970. Without an offset it is UTC. A JSON number is taken, too.
    """

    group_id: str | None = field(default=None, name="groupId")
    """If given, the device's group."""

    device_type: str = field(name="deviceType")
    """The device type."""

    duplicates: Sequence[str] | None = None
    """One text for each base station or gateway that received the message, mostly JSON."""

    data: JsonText | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    score: int | None = None
    """The quality of the link; records of networks have 0 (weakest) to 3 (strongest)."""

    nb_bs: int | None = field(default=None, name="nbBs")
    """The number of base stations that received the message; `nbBS` in responses."""

    rc: int | None = None
    """The number that the vendor's network sends as `rc` with its advanced data; the service does
    not interpret it.
    """

    json_fields = ("data",)

    time_fields = ("timestamp",)


class DeviceType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of device and its default configuration."""

    name: str | None = None
    """The name of the type, which devices refer to."""

    display_name: str | None = field(default=None, name="displayName")
    """Its name for people."""

    default_configuration: str | None = field(default=None, name="defaultConfiguration")
    """The configuration of new devices of this type."""

    battery: str | None = None
    """What the operator says about its battery."""

    firmware_version: str | None = field(default=None, name="firmwareVersion")
    """What the operator says about its firmware."""

    group_id: str | None = field(default=None, name="groupId")
    """Whose it is, with the groups below; none for all."""

    measurements: list[Measurement] | None = None
    """Those declared for all, or for `groupId`; not in lists."""

    measurements_updated_at: datetime | None = field(default=None, name="measurementsUpdatedAt")
    """When these were declared, for `ifUpdatedAt` of the next declaration; left out if nothing is.
    Not in lists.
    """


class DeviceTypeChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new type of a device."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    type: str
    """The device type."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class DeviceTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of device types."""

    items: list[DeviceType]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DeviceTypeDefinition(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device type with its codecs and measurements."""

    name: str
    """Its name."""

    group_id: str | None = field(default=None, name="groupId")
    """Whose it is, with the groups below; without it, for all."""

    display_name: str = field(name="displayName")
    """For people."""

    default_configuration: str = field(name="defaultConfiguration")
    """Any text."""

    battery: str | None = None
    """Any text."""

    firmware_version: str | None = field(default=None, name="firmwareVersion")
    """Any text."""

    decoder: str | None = None
    """`bits`, `cayenneLpp` or `javascript`."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    decoded_location: str | None = field(default=None, name="decodedLocation")
    """Names of the decoded latitude and longitude that become a geolocation."""

    encoder_source: str | None = field(default=None, name="encoderSource")
    """A codec for downlinks, if that of the decoder has none."""

    measurements: list[Measurement]
    """Those that are declared."""

    is_built_in: bool | None = field(default=None, name="isBuiltIn")
    """Whether it cannot be deleted."""

    may_change: bool | None = field(default=None, name="mayChange")
    """Whether you may change it."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    warnings: list[str] | None = None
    """What the codecs use and does not exist here."""


class DeviceTypeInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A device type to create."""

    name: str
    """Its id: unique in the service, whatever its case, and never changed."""

    group_id: str | None = field(default=None, name="groupId")
    """Whose it is, with the groups below; without it, for all."""

    display_name: str | None = field(default=None, name="displayName")
    """For people."""

    default_configuration: str | None = field(default=None, name="defaultConfiguration")
    """Of new devices; any text, often JSON."""

    battery: str | None = None
    """Any text."""

    firmware_version: str | None = field(default=None, name="firmwareVersion")
    """Any text."""

    decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None
    """`bits`, `cayenneLpp` or `javascript`."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    decoded_location: str | None = field(default=None, name="decodedLocation")
    """Names of the decoded latitude and longitude that become a geolocation."""

    encoder_source: str | None = field(default=None, name="encoderSource")
    """A codec for downlinks, if that of the decoder has none."""

    measurements: Sequence[MeasurementInput] | None = None
    """What is declared of its values; all of it."""


class DeviceTypeUpdate(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a device type; what is left out stays, null removes."""

    type: str
    """The device type."""

    display_name: str | None = field(default=None, name="displayName")
    """For people."""

    default_configuration: str | None = field(default=None, name="defaultConfiguration")
    """Any text."""

    battery: str | None = None
    """Any text."""

    firmware_version: str | None = field(default=None, name="firmwareVersion")
    """Any text."""

    decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None
    """`bits`, `cayenneLpp` or `javascript`."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    decoded_location: str | None = field(default=None, name="decodedLocation")
    """Names of the decoded latitude and longitude that become a geolocation."""

    encoder_source: str | None = field(default=None, name="encoderSource")
    """A codec for downlinks, if that of the decoder has none."""

    measurements: Sequence[MeasurementInput] | None = None
    """What is declared of its values; all of it."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class DeviceValue(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The newest value of a measurement since the device is in its group."""

    name: str
    """The name of the measurement."""

    value: float | str | bool | None = None
    """Left out if there was no valid one."""

    timestamp: datetime | None = None
    """Of its record, or of its arrival if that was earlier."""

    class_: str = field(name="class")
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    decimals: int | None = None
    """How many decimals to show."""

    is_declared: bool = field(name="isDeclared")
    """Whether it is declared, or was found in records."""

    is_stale: bool = field(name="isStale")
    """Whether the device should have reported since, by its configuration."""

    invalid: int | None = None
    """How many values were none: words, or out of bounds."""

    invalid_at: datetime | None = field(default=None, name="invalidAt")
    """When the last one arrived."""


class DeviceValues(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The current values of a device."""

    items: list[DeviceValue]
    """The items of this page."""

    left_out: int | None = field(default=None, name="leftOut")
    """How many numbers the last record that had too many had beyond those that are kept."""


class Devices(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a bulk operation, and its devices."""

    message: str
    """What was done, in words."""

    items: list[Device]
    """The devices, in the order of the request."""


class DevicesAtVendor(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Devices to create here and to register at the vendor's network, all of one type."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    type: str
    """The device type."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

    vendor: Sequence[VendorInput]
    """The registrations, one for each device."""


class DevicesInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Devices to create, of one type and network."""

    original_devices_ids: Sequence[str] = field(name="originalDevicesIds")
    """The ids of the devices in their network; they are their names, too."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    type: str
    """The device type."""

    network: str
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks, in any case.
    """

    tags: Sequence[str] | None = None
    """Free words to find it by."""


class Downlink(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A downlink and its state."""

    id: str
    """The id of the downlink."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    payload: str
    """The bytes, in hex."""

    data: dict[str, Any] | None = None
    """What the payload means, by `decodeDownlink` of the codec."""

    port: int | None = None
    """The LoRaWAN port of the payload."""

    confirmed: bool
    """Whether the device must acknowledge it."""

    state: str
    """`queued`, `sent`, `acknowledged`, `failed`, `expired` or `cancelled`."""

    detail: str | None = None
    """The reason of the state."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    expires_at: datetime = field(name="expiresAt")
    """When it expires."""

    created_by: str = field(name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""


class DownlinkConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of downlinks."""

    items: list[Downlink]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class DownlinkInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A downlink to send: either its bytes, or values for the codec of the device type."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str | None = field(default=None, name="groupId")
    """If given, it must be the group of the device."""

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
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """The name of the device."""

    type: str
    """The device type."""

    since: datetime | None = None
    """Since when the service knows."""

    reported_at: datetime = field(name="reportedAt")
    """When the device reported its configuration."""

    differences: list[ConfigurationDifference]
    """At most 50."""


class DriftingDeviceConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of devices that drift."""

    items: list[DriftingDevice]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class EffectiveLimit(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A limit that holds for a group."""

    name: str
    """Its name."""

    value: float
    """0 for no limit."""

    source: str
    """Who says so: the `group` itself, one above it (`inherited`), or the settings of the
    `service`.
    """

    group_id: str | None = field(default=None, name="groupId")
    """The group that says so, if you may see it."""

    used: int | None = None
    """Of what is stored: by the group that says so and those below it; of a limit of the service,
    by this group alone. Left out if you may not see it.
    """


class EffectiveRetention(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How long a group keeps something."""

    name: str
    """Its name."""

    days: int
    """0 for ever."""

    days_max: int = field(name="daysMax")
    """The longest that it may be; 0 for ever."""

    source: str
    """Who says so: the `group` itself, one above it (`inherited`), or the settings of the
    `service`.
    """

    group_id: str | None = field(default=None, name="groupId")
    """The group that says so, if you may see it."""


class EventMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An event, as a connector sends it in the format `json`."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: datetime
    """When it happened."""

    type: str
    """What happened, in the words of the device or network."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    message: str | None = None
    """The same for people."""

    data: str | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    severity: str | None = None
    """How bad it is, in any words; networks and the service use `info`, `warning` and `error`."""

    device_type: str = field(name="deviceType")
    """The type of the device when the record arrived, or that in the record."""

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    kind: str
    """The kind of the record."""

    device_name: str = field(name="deviceName")
    """The name of the device when the record arrived, or that in the record."""

    tags: list[str]
    """The tags of the device when the record arrived."""


class Exchange(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was sent in one attempt, and what came back."""

    id: str
    """As in `exchangeId` of an attempt."""

    timestamp: datetime
    """When it began."""

    duration_ms: int = field(name="durationMs")
    """How long it took."""

    phase: str | None = None
    """How far it came: `resolve` (the host name), `connect`, `proxy`, `tls`, `request` (sent, and
    no response has begun), `response` (its head has arrived) or `complete`. Absent for what is
    no HTTP.
    """

    messages: int
    """How many messages the request had."""

    request: ExchangeRequest
    """What was sent."""

    response: ExchangeResponse | None = None
    """What came back; absent if no response began."""


class ExchangeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of exchanges."""

    items: list[Exchange]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class ExchangeContent(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The first 4 KiB of a body."""

    text: str
    """As text, or in base64 if it is none."""

    is_base64: bool = field(name="isBase64")
    """Whether it is in base64."""

    size: int
    """Bytes of the body; of a response, as far as it was received."""

    is_cut: bool = field(name="isCut")
    """Whether there was more."""


class ExchangeRequest(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The request, as it was sent; secrets are masked."""

    method: str
    """The method, or what the protocol does."""

    url: str
    """Where it went."""

    headers: dict[str, str]
    """The headers; credentials are masked."""

    body: ExchangeContent
    """The beginning of the body."""


class ExchangeResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The response. Secrets of the connector that it echoes are masked."""

    status: int
    """The HTTP status."""

    headers: dict[str, str]
    """Those that say what a failure is about."""

    body: ExchangeContent
    """The beginning of the body."""


class FieldProblem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One invalid field of a request."""

    in_: str = field(name="in")
    """Where the field is."""

    field: str
    """Its name in the request, such as `name`, `tags[3]` or `items[3].timestamp`."""

    message: str
    """What is wrong with it."""


class FilterFailing(Model, frozen=True, kw_only=True, omit_defaults=True):
    """That the filter cannot be evaluated for most records, which are not sent."""

    since: datetime
    """Since when."""

    failed: int
    """For how many of the last records it failed."""

    evaluated: int
    """For how many of the last records it was evaluated; about 100 to 200 are looked at."""


class FoundDevices(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the devices that were found."""

    items: list[Device]
    """The items of this page."""

    total: int
    """How many fit, counted up to 100,000."""

    total_is_more: bool | None = field(default=None, name="totalIsMore")
    """Whether there may be more than `total`."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class GenericReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done, as a message."""

    message: str | None = None
    """What was done, in words."""


class GenericReturnBoolean(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done, as a message and a boolean."""

    message: str | None = None
    """What was done, in words."""

    value: bool | None = None
    """Whether it was done."""


class GeolocMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A geolocation, as a connector sends it in the format `json`."""

    timestamp: datetime
    """When it happened."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    status: int | None = None
    """The status of the position, as the network reports it with a computed location; the service
    does not interpret it.
    """

    source: int | None = None
    """How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6 by Wi-Fi,
    7 by Bluetooth.
    """

    radius: int | None = None
    """How exact the position is, as a radius in metres."""

    lat: float | None = None
    """The latitude in degrees, WGS 84."""

    lng: float | None = None
    """The longitude in degrees, WGS 84."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    location: str | None = None
    """The place in words, or in a form of the sender; any text."""

    data: str | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    raw: str | None = field(default=None, name="__raw")
    """The payload as the network carried it, in hex; any text, or empty."""

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    kind: str
    """The kind of the record."""

    device_name: str = field(name="deviceName")
    """The name of the device when the record arrived, or that in the record."""

    device_type: str = field(name="deviceType")
    """The type of the device when the record arrived, or that in the record."""

    tags: list[str]
    """The tags of the device when the record arrived."""


class GivenPayload(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A payload to decode."""

    payload: str
    """Two hex digits a byte."""

    f_port: int | None = field(default=None, name="fPort")
    """The LoRaWAN port of the uplink."""


class Group(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A group as the caller can see it; `role` and `userId` are those of one user."""

    id: str
    """The id of the group: digits, in a string."""

    user_id: str = field(name="userId")
    """The id of the user that `role` is of: the caller, or the user asked for."""

    name: str | None = None
    """Its name."""

    description: str | None = None
    """A text about it, for people."""

    token: str | None = None
    """The group token, by which networks report for its devices; only for callers with
    `group.update`.
    """

    administrator_role: str | None = field(default=None, name="administratorRole")
    """The id of the role that administers it, which its creator has."""

    default_role: str | None = field(default=None, name="defaultRole")
    """The id of the role that its app clients have."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    created_by: str | None = field(default=None, name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    updated_by: str | None = field(default=None, name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""

    parent: str | None = None
    """The id of the group above; none for a root group."""

    role: Role | None = None
    """The nearest role of this user on the path to the root, with all permissions that hold here."""

    owner_id: str | None = field(default=None, name="ownerId")
    """The id of the user who owns the group."""

    number_of_devices: int | None = field(default=None, name="numberOfDevices")
    """How many devices it has itself."""

    number_of_notifications: int | None = field(default=None, name="numberOfNotifications")
    """How many notifications it has itself."""

    number_of_connectors: int | None = field(default=None, name="numberOfConnectors")
    """How many connectors it has itself."""

    tags: list[str] | None = None
    """Free words to find it by."""

    deletion_at: datetime | None = field(default=None, name="deletionAt")
    """When it will be deleted with everything in it."""

    is_invited: bool | None = field(default=None, name="isInvited")
    """Only if it is true: this user has not accepted the membership yet."""


class GroupAppClient(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Credentials of a group."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    app_client_id: str = field(name="appClientId")
    """The id of the app client: its client id at the token endpoint."""

    description: str | None = None
    """What it is for."""

    expiration: int | None = None
    """Seconds since 1970."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    role_id: str | None = field(default=None, name="roleId")
    """The role that it acts with. Absent: the default role of the group."""

    secret: str
    """The client secret for the token endpoint."""

    name: str | None = None
    """The name of the app client."""


class GroupChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a group."""

    group_id: str = field(name="groupId")
    """The id of the group to change."""

    owner_id: str | None = field(default=None, name="ownerId")
    """The new owner, a member; only the owner can transfer ownership."""

    name: str | None = None
    """The new name."""

    role_id: str | None = field(default=None, name="roleId")
    """The id of the new default role."""

    description: str | None = None
    """A text about it, for people."""

    parent: str | None = None
    """The id of the new parent; `""` makes it a root group."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class GroupConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of groups."""

    items: list[Group]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class GroupInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A group to create."""

    name: str | None = None
    """The name of the group."""

    description: str | None = None
    """A text about it, for people."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""


class GroupLimits(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What limits a group, what holds, and what it has stored."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    limits: OperatorLimits
    """Of this group's own."""

    retention_days: RetentionDays = field(name="retentionDays")
    """What this group says itself."""

    effective_limits: list[EffectiveLimit] = field(name="effectiveLimits")
    """The limits that hold, of which each has to be kept."""

    effective_retention: list[EffectiveRetention] = field(name="effectiveRetention")
    """How long each kind of record, and summaries, are kept."""

    stored: StoredAmount
    """By this group alone."""

    stored_with_subgroups: StoredAmount = field(name="storedWithSubgroups")
    """With all groups below it."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""


class GroupLimitsChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The limits of a group, in place of those it has."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    limits: OperatorLimits
    """All limits of this group's own."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class GroupMeasurement(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A measurement of the devices of a type in a group."""

    name: str
    """The name of the measurement."""

    kind: str
    """Of which records."""

    path: str
    """A JSON pointer (RFC 6901) in the records of that kind."""

    class_: str = field(name="class")
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    decimals: int | None = None
    """How many decimals to show."""

    minimum: float | None = None
    """A smaller number is no value of it."""

    maximum: float | None = None
    """A larger number is no value of it."""

    type: str
    """The device type."""

    is_declared: bool = field(name="isDeclared")
    """Whether it is declared, or was found in records."""

    devices: int
    """How many have a value of it."""

    devices_are_more: bool | None = field(default=None, name="devicesAreMore")
    """Whether there may be more than `devices`."""


class GroupMeasurements(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The measurements of the devices of a group."""

    items: list[GroupMeasurement]
    """The items of this page."""


class GroupMetric(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The counters of one time span."""

    total_device_data: int | None = field(default=None, name="totalDeviceData")
    """Data records that were stored."""

    total_device_event: int | None = field(default=None, name="totalDeviceEvent")
    """Events that were stored."""

    total_device_geoloc: int | None = field(default=None, name="totalDeviceGeoloc")
    """Geolocations that were stored."""

    total_device_telemetry: int | None = field(default=None, name="totalDeviceTelemetry")
    """Telemetry records that were stored."""

    total_device_message: int | None = field(default=None, name="totalDeviceMessage")
    """Records of all kinds that were stored."""

    total_connector_message_started: int | None = field(
        default=None, name="totalConnectorMessageStarted"
    )
    """Messages that were created for connectors."""

    total_connector_message_processing: int | None = field(
        default=None, name="totalConnectorMessageProcessing"
    )
    """Messages that were created in the span and are not finished now."""

    total_connector_message_processed: int | None = field(
        default=None, name="totalConnectorMessageProcessed"
    )
    """Messages that were delivered, after any number of attempts."""

    total_connector_message_error: int | None = field(
        default=None, name="totalConnectorMessageError"
    )
    """Messages that failed: after their last attempt, or cancelled."""

    total_connector_retry_message_started: int | None = field(
        default=None, name="totalConnectorRetryMessageStarted"
    )
    """Attempts after the first, and those of a resend, or of a replay of messages that the
    connector had before.
    """

    total_connector_retry_message_processed: int | None = field(
        default=None, name="totalConnectorRetryMessageProcessed"
    )
    """Messages whose retries succeeded."""

    total_connector_retry_message_error: int | None = field(
        default=None, name="totalConnectorRetryMessageError"
    )
    """Messages whose retries failed."""

    total_device_vendor_uplink: int | None = field(default=None, name="totalDeviceVendorUplink")
    """Data and status callbacks of the vendor's network."""

    total_device_vendor_downlink: int | None = field(default=None, name="totalDeviceVendorDownlink")
    """Callbacks of the vendor's network that got a downlink in the response."""

    total_vendor_data_message: int | None = field(default=None, name="totalVendorDataMessage")
    """Data callbacks of the vendor's network."""

    total_vendor_data_advanced_message: int | None = field(
        default=None, name="totalVendorDataAdvancedMessage"
    )
    """Advanced data callbacks of the vendor's network."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    timestamp: datetime | None = None
    """The begin of the span."""


class GroupMetrics(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The counters of a period, in total and per span; `activeDevices` lists up to 10,000."""

    total_device_data: int | None = field(default=None, name="totalDeviceData")
    """Data records that were stored."""

    total_device_event: int | None = field(default=None, name="totalDeviceEvent")
    """Events that were stored."""

    total_device_geoloc: int | None = field(default=None, name="totalDeviceGeoloc")
    """Geolocations that were stored."""

    total_device_telemetry: int | None = field(default=None, name="totalDeviceTelemetry")
    """Telemetry records that were stored."""

    total_device_message: int | None = field(default=None, name="totalDeviceMessage")
    """Records of all kinds that were stored."""

    total_connector_message_started: int | None = field(
        default=None, name="totalConnectorMessageStarted"
    )
    """Messages that were created for connectors."""

    total_connector_message_processing: int | None = field(
        default=None, name="totalConnectorMessageProcessing"
    )
    """Messages that were created in the span and are not finished now."""

    total_connector_message_processed: int | None = field(
        default=None, name="totalConnectorMessageProcessed"
    )
    """Messages that were delivered, after any number of attempts."""

    total_connector_message_error: int | None = field(
        default=None, name="totalConnectorMessageError"
    )
    """Messages that failed: after their last attempt, or cancelled."""

    total_connector_retry_message_started: int | None = field(
        default=None, name="totalConnectorRetryMessageStarted"
    )
    """Attempts after the first, and those of a resend, or of a replay of messages that the
    connector had before.
    """

    total_connector_retry_message_processed: int | None = field(
        default=None, name="totalConnectorRetryMessageProcessed"
    )
    """Messages whose retries succeeded."""

    total_connector_retry_message_error: int | None = field(
        default=None, name="totalConnectorRetryMessageError"
    )
    """Messages whose retries failed."""

    total_device_vendor_uplink: int | None = field(default=None, name="totalDeviceVendorUplink")
    """Data and status callbacks of the vendor's network."""

    total_device_vendor_downlink: int | None = field(default=None, name="totalDeviceVendorDownlink")
    """Callbacks of the vendor's network that got a downlink in the response."""

    total_vendor_data_message: int | None = field(default=None, name="totalVendorDataMessage")
    """Data callbacks of the vendor's network."""

    total_vendor_data_advanced_message: int | None = field(
        default=None, name="totalVendorDataAdvancedMessage"
    )
    """Advanced data callbacks of the vendor's network."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group that was counted."""

    begin_date: datetime | None = field(default=None, name="beginDate")
    """The begin of the first span."""

    end_date: datetime | None = field(default=None, name="endDate")
    """The end of the last span."""

    items: list[GroupMetric] | None = None
    """The same for each span of time."""

    active_devices: list[str] | None = field(default=None, name="activeDevices")
    """Ids of devices with a record in the period, the first 10,000."""

    number_active_devices: int | None = field(default=None, name="numberActiveDevices")
    """How many devices had one."""

    active_connectors: list[str] | None = field(default=None, name="activeConnectors")
    """Ids of connectors with a message created in the period."""

    number_active_connectors: int | None = field(default=None, name="numberActiveConnectors")
    """How many connectors these are."""


class GroupOverview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Counts, and what needs attention; parts that the caller may not read are left out."""

    as_of: datetime = field(name="asOf")
    """When it was counted."""

    devices: DeviceCounts | None = None
    """Counts of devices; with `device.read`."""

    connectors: ConnectorCounts | None = None
    """Counts of connectors; with `connector.read`."""

    alarms: AlarmCounts | None = None
    """Open alarms, for callers with `notification.read`."""

    attention: list[Attention]
    """At most 50 of each sort, the worst first."""

    unknown_devices: int | None = field(default=None, name="unknownDevices")
    """Ids that were reported in the last days and that no device has, as in `GET
    /group/unknownDevices`; left out if there are none.
    """


class GroupPoint(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One number of several devices."""

    timestamp: datetime
    """The begin of the span."""

    value: float
    """What `of` and `combine` say."""

    devices: int
    """With a number in this span."""


class GroupPolicyChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new policy of a group."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    policy: Mapping[str, Any]
    """A JSON merge patch (RFC 7396): null removes a member. Empty: no policy."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class GroupRestoration(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which group to keep."""

    group_id: str = field(name="groupId")
    """The id of the group."""


class GroupRetentionChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """How long a group keeps records, in place of what it says now."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    retention_days: RetentionDays = field(name="retentionDays")
    """All that the group says itself."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class GroupSeries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of a group's devices over time, as one series or one of each."""

    begin_date: datetime = field(name="beginDate")
    """The begin of the first span."""

    end_date: datetime = field(name="endDate")
    """The end of the range, which is not part of it; a date without a time includes that day."""

    time_span: int | None = field(default=None, name="timeSpan")
    """Seconds per point."""

    calendar_span: str | None = field(default=None, name="calendarSpan")
    """Instead of `timeSpan`; a week begins on Monday."""

    timezone: str | None = None
    """Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`."""

    measurement: str | None = None
    """The name of the measurement."""

    class_: str | None = field(default=None, name="class")
    """The class of the measurement."""

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    complete_until: datetime | None = field(default=None, name="completeUntil")
    """Of a measurement: everything that had arrived by then is counted. If more records had to be
    read than one request may, this is where they begin; `fresh` reads them.
    """

    of: str
    """What of each device's numbers counted."""

    combine: str
    """How these became one."""

    points: list[GroupPoint] | None = None
    """By time."""

    items: list[MemberSeries] | None = None
    """With `combine=none`."""


class GroupTree(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of groups in a tree."""

    items: list[TreeGroup]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class GroupUserRelation(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A membership; `id` is the group's."""

    id: str
    """The id of the group."""

    user_id: str = field(name="userId")
    """The id of the user."""

    role: Role | None = None
    """The role of the member in this group."""

    token: str | None = None
    """The group token; only for callers with `group.update`."""

    description: str | None = None
    """The description of the group."""

    name: str | None = None
    """The name of the group."""

    updated_at: datetime = field(name="updatedAt")
    """When they got the role."""

    mail: str | None = None
    """Of an invitation. `queued`: a mail with a link is sent. `not_configured`: the service sends
    no mail. `address_not_allowed`: the operator allows no mail to this address. `accepted`:
    they have accepted before.
    """

    invitation_url: str | None = field(default=None, name="invitationUrl")
    """Of an invitation, if no mail is sent, and for users: the link, to hand it over. It is valid
    for 24 hours, and signs in who has never signed in; others sign in by their own means, and
    open the group.
    """


class Health(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the service works."""

    status: str
    """`unavailable` with the status 503."""

    reason: str | None = None
    """Why the service is not ready."""

    mqtt: str | None = None
    """Whether the MQTT listener receives messages, if one is configured."""

    standby: str | None = None
    """`stalled` while a commit waits for a PostgreSQL standby for long."""

    read_standby: str | None = field(default=None, name="readStandby")
    """Whether a standby serves reads that may lag, if one is configured."""

    slots: str | None = None
    """Which slots of the database have messages that are late."""


class ImportLineError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong with a line of the file."""

    line: int
    """Where it begins; the header is 1."""

    column: str
    """The column that is wrong."""

    code: str
    """What is wrong."""

    message: str
    """The same in words."""


class ImportReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of an import, or of its dry run."""

    message: str
    """What was done, in words."""

    is_dry_run: bool = field(name="isDryRun")
    """Whether nothing was created."""

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
    """Whether it is new."""

    device_id: str | None = field(default=None, name="deviceId")
    """Absent if a dry run would create the device."""


class Invitation(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Whom to invite, to which group, with which role."""

    email: str
    """An e-mail address."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    role_id: str = field(name="roleId")
    """The role that they get."""

    language: Literal["de", "en", "fr"] | None = None
    """Of the mail, and of the user if there is none with this address yet; by default the
    caller's. A user who has chosen one is written to in that.
    """


class InvitationAcceptance(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A group to whose membership the caller agrees."""

    group_id: str = field(name="groupId")
    """The id of the group."""


class InvitationInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """An invitation, and whether to accept it."""

    token: str
    """What follows `#token=` in the link of the invitation."""

    accept: bool | None = None
    """Accept it; else only say what it is."""


class InvitationReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What an invitation is for, and what became of it."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    group_name: str | None = field(default=None, name="groupName")
    """What the group is called."""

    is_accepted: bool = field(name="isAccepted")
    """Whether the membership is accepted. By a link that was handed over, only somebody who has
    never signed in accepts; others sign in, and accept there.
    """

    is_signed_in: bool = field(name="isSignedIn")
    """Whether the response sets the cookie of a session."""


class Job(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Work with many devices, and how far it is."""

    job_id: str = field(name="jobId")
    """The id of the job."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    kind: str
    """What it does with each device."""

    state: str
    """`waiting`, `running`, `succeeded`, `failed` or `cancelled`."""

    error: str | None = None
    """The code of why it failed."""

    reason: str | None = None
    """Why it was started."""

    parameters: JobParametersReply | None = None
    """What it was started with."""

    filter: JobFilterReply | None = None
    """Which devices it takes, unless their ids were given."""

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
    """When it was created."""

    started_at: datetime | None = field(default=None, name="startedAt")
    """When it began."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    ended_at: datetime | None = field(default=None, name="endedAt")
    """When it ended."""

    undo_until: datetime | None = field(default=None, name="undoUntil")
    """Until when `POST /job/undo` undoes it."""

    no_undo: str | None = field(default=None, name="noUndo")
    """Why a job of this kind cannot be undone: `messages_sent` cannot be recalled,
    `values_replaced` were not kept, `nothing_changed`, or it `is_undo` itself.
    """

    result: JobResult | None = None
    """The file of an export, when it is complete."""

    undo_of: str | None = field(default=None, name="undoOf")
    """The job that it undoes."""

    undone_by: str | None = field(default=None, name="undoneBy")
    """The job that undoes it."""


class JobConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of jobs."""

    items: list[Job]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class JobFilter(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which devices of the group, as in `GET /devices`; an empty object for all of them."""

    subgroups: bool | None = None
    """Of the groups below as well."""

    q: str | None = None
    """A part of the name, of the original id or of a tag, or the begin of the id;
    case-insensitive. First come devices with this id or original id, then those whose name or
    original id begins with it.
    """

    type: str | None = None
    """The device type."""

    network: str | None = None
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks, in any case.
    """

    tag: str | None = None
    """A tag they have."""

    seen: Literal["day", "hour", "longer", "never", "silent", "week"] | None = None
    """Last seen within the last hour, day or week, longer ago, never; or silent by what its
    configuration expects.
    """

    battery_below: float | None = field(default=None, name="batteryBelow")
    """Less charge, in percent."""


class JobFilterReply(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The filter of a job."""

    subgroups: bool | None = None
    """Of the groups below as well."""

    q: str | None = None
    """A part of the name, of the original id or of a tag, or the begin of the id;
    case-insensitive. First come devices with this id or original id, then those whose name or
    original id begins with it.
    """

    type: str | None = None
    """The device type."""

    network: str | None = None
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks, in any case.
    """

    tag: str | None = None
    """A tag they have."""

    seen: str | None = None
    """Last seen within the last hour, day or week, longer ago, never; or silent by what its
    configuration expects.
    """

    battery_below: float | None = field(default=None, name="batteryBelow")
    """Less charge, in percent."""


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
    """The id of the group."""

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")
    """Devices of the group. Or else `filter`."""

    filter: JobFilter | None = None
    """Which devices of the group. Or else `deviceIds`."""

    parameters: JobParameters | None = None
    """What this kind of job needs."""

    reason: str | None = None
    """Why, for whoever looks at the list of jobs or at the audit log."""

    dry_run: bool | None = field(default=None, name="dryRun")
    """Only count the devices, and list some of them; nothing is changed."""


class JobItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a job did with a device."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    outcome: str
    """`changed`, `undone`, `skipped` or `failed`."""

    code: str | None = None
    """Why it was skipped or failed."""


class JobItemConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the results of a job."""

    items: list[JobItem]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


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
    """For `redecode`, `replay` and `export`: the begin of the range. RFC 3339, a date alone, or
    seconds or milliseconds since 1970. Without an offset it is UTC. A JSON number is taken,
    too.
    """

    end_date: When | None = field(default=None, name="endDate")
    """For `redecode`, `replay` and `export`: the end of the range, which is not part of it. RFC
    3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC. A
    JSON number is taken, too.
    """

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

    values: str | None = None
    """What each record says of these measurements, by their names, with commas between them; 20 at
    most. In CSV and Parquet each has a column.
    """

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
    """The begin of the range."""

    end_date: datetime | None = field(default=None, name="endDate")
    """The end of the range, which is not part of it."""

    content: str | None = None
    """What is exported."""

    format: str | None = None
    """The format of an export."""

    record_kind: str | None = field(default=None, name="recordKind")
    """The kind of the exported records."""

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
    """The id of the group."""

    job_id: str = field(name="jobId")
    """The id of the job."""


class JobResult(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The file that an export has written, for `GET /job/result`."""

    bytes: int
    """How large it is."""

    expires_at: datetime = field(name="expiresAt")
    """When it is deleted."""


class JobReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A job that was started; or what it would do."""

    message: str
    """What was done, in words."""

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
    """With `messages`: the ids of the records that up to 20 of them are about."""

    job: Job | None = None
    """The job; absent with `dryRun`."""


class JobSample(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device that a job would take."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """The name of the device."""

    type: str
    """The device type."""


class JobUndo(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which job of which group to undo, and why."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    job_id: str = field(name="jobId")
    """The id of the job."""

    reason: str | None = None
    """Why, for whoever looks at the list of jobs or at the audit log."""


class LastReportRun(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a report last."""

    at: datetime
    """When it was made."""

    begin_date: datetime = field(name="beginDate")
    """Since when it is about."""

    end_date: datetime = field(name="endDate")
    """Until before when."""

    state: str
    """`queued` until every recipient has it; `failed` if it could not be made, or not be sent to
    all; `stopped` if whoever created it or changed it last may not read this any more, which
    disables it.
    """

    rows: int
    """How many rows the file has."""

    bytes: int
    """How many bytes."""

    recipients: int
    """How many it goes to."""

    failed: int
    """Recipients it could not be sent to."""

    missed: int
    """Earlier ones that were due while the service was not running, of which nothing is sent."""

    is_test: bool = field(name="isTest")
    """Sent by hand, and not by its schedule."""

    error: str | None = None
    """Why it could not be made, or why the last attempt to send it failed."""


class LinkInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Whose link, and whether to mail it, or to show it to the caller."""

    email: str
    """The address of the user."""

    group_id: str | None = field(default=None, name="groupId")
    """With `show`: a group in which both are members."""

    show: bool | None = None
    """Respond with the link, instead of mailing it."""


class LinkReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What was done, and the link that was asked for."""

    message: str
    """What was done, in words."""

    url: str | None = None
    """With `show`: the link. It works once, within 15 minutes."""


class ListedAppClient(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An app client without its secret."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    app_client_id: str = field(name="appClientId")
    """The id of the app client: its client id at the token endpoint."""

    description: str | None = None
    """What it is for."""

    expiration: int | None = None
    """Seconds since 1970."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    role_id: str | None = field(default=None, name="roleId")
    """The role that it acts with. Absent: the default role of the group."""

    name: str
    """The name of the app client."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    created_by: str | None = field(default=None, name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""


class LiveAlarm(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An item of `alarms`: an alarm that was raised, acknowledged or resolved; up to 1,000."""

    alarm_id: str = field(name="alarmId")
    """The id of the alarm."""

    group_id: str = field(name="groupId")
    """The group of the device or the connector."""

    notification_id: str = field(name="notificationId")
    """Whose alarm it is."""

    reason: str
    """Of the notification."""

    device_id: str | None = field(default=None, name="deviceId")
    """What it is about."""

    connector_id: str | None = field(default=None, name="connectorId")
    """What it is about."""

    severity: str
    """That of a notification."""

    state: str
    """What it is since then."""


class LiveChanged(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `changed`: ids of objects that were changed; up to 1,000 of each kind."""

    devices: list[str] | None = None
    """Ids of devices, where `device.read` is held."""

    connectors: list[str] | None = None
    """Ids of connectors, where `connector.read` is held."""

    groups: list[str] | None = None
    """Ids of groups, where `group.read` is held."""


class LiveDeliveries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An item of `deliveries`: what became of messages since the last one, usually a second ago."""

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
    """The same in words."""


class LiveHello(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `hello`: everything that arrives after `from` follows."""

    time: datetime
    """When the stream began."""

    from_: str = field(name="from")
    """A cursor, as the `id` of later events."""


class LiveLost(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The data of `lost`: `GET /group/records` has them with `after=from` and `before=to`."""

    count: int | None = None
    """How many; absent if nobody counted them."""

    from_: str = field(name="from")
    """The cursor before the first lost arrival, for `after`."""

    to: str
    """The cursor after the last lost arrival, for `before`."""


class LoriotCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Take a message of an HTTP output of LORIOT."""

    cmd: Any = None
    """The type of the message."""

    eui: Any = field(default=None, name="EUI")
    """The device EUI."""

    ts: Any = None
    """When the message was received, in milliseconds since 1970."""

    fcnt: Any = None
    """The frame counter."""

    port: Any = None
    """The LoRaWAN port."""

    freq: Any = None
    """The frequency in hertz."""

    dr: Any = None
    """The data rate."""

    ack: Any = None
    """Of the vendor: the device asks for a downlink. Of LORIOT: it acknowledges one."""

    bat: Any = None
    """The battery level of a device status: 0 is external power, 1 to 254 the charge."""

    data: Any = None
    """The payload: in hex, or of ChirpStack in base64."""

    gws: Any = None
    """The gateways that received the message."""


class Measurement(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A named value of a device type."""

    name: str
    """The name of the measurement."""

    kind: str
    """Of which records."""

    path: str
    """A JSON pointer (RFC 6901) in the records of that kind."""

    class_: str = field(name="class")
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    decimals: int | None = None
    """How many decimals to show."""

    minimum: float | None = None
    """A smaller number is no value of it."""

    maximum: float | None = None
    """A larger number is no value of it."""


class MeasurementInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A measurement to declare."""

    name: str
    """The name of the measurement."""

    kind: Literal["data", "event", "geoloc", "telemetry"] | None = None
    """Of which records."""

    path: str
    """A JSON pointer (RFC 6901) in the records of that kind."""

    class_: Literal["amount", "counter", "gauge", "state"] | None = field(
        default=None, name="class"
    )
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    decimals: int | None = None
    """How many decimals to show."""

    minimum: float | None = None
    """A smaller number is no value of it."""

    maximum: float | None = None
    """A larger number is no value of it."""


class MemberChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new role of a member."""

    user_id: str = field(name="userId")
    """The id of the user."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    role_id: str = field(name="roleId")
    """The new role of the member."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class MemberPoint(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One number of a device."""

    timestamp: datetime
    """The begin of the span."""

    value: float
    """What `of` says."""

    has_gap: bool | None = field(default=None, name="hasGap")
    """A span without numbers lies before this one."""


class MemberRow(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The same with its device."""

    timestamp: datetime
    """The begin of the span."""

    value: float
    """What `of` says."""

    has_gap: bool | None = field(default=None, name="hasGap")
    """A span without numbers lies before this one."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    device_name: str = field(name="deviceName")
    """Empty if it has left these groups."""


class MemberSeries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The points of a device."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    device_name: str = field(name="deviceName")
    """Empty if it has left these groups."""

    points: list[MemberPoint]
    """By time."""


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

    record_id: str | None = field(default=None, name="recordId")
    """The record that it is about, or that has raised or resolved the alarm; absent for other
    changes.
    """

    created_at: datetime = field(name="createdAt")
    """When it was queued first."""

    due_at: datetime | None = field(default=None, name="dueAt")
    """When it is attempted next."""

    resent: int
    """How often it was sent again."""

    attempts: list[MessageAttempt]
    """The last 20 attempts, oldest first."""

    record: dict[str, Any] | None = None
    """The record, as a list of its kind returns it, or the change; with `record.read`."""


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

    exchange_id: str | None = field(default=None, name="exchangeId")
    """The id of what was sent and what came back, if that was kept: `GET /connector/exchanges`."""


class MessageConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of messages."""

    items: list[ConnectorEvent]
    """By their last change."""

    stats: MessageStats | None = None
    """The counts of the whole period; with the first page."""

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
    """What was done, in words."""

    changed: int
    """How many messages were changed."""

    skipped: int
    """Those in a state in which it is not possible."""

    is_more: bool = field(name="isMore")
    """More match; repeat the request for the rest."""


class NewShareLink(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A new link; its secret is shown here only."""

    id: str
    """Its id."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """The title of the page."""

    content: str
    """What the link shows."""

    chart: SharedChart | None = None
    """Numbers over time."""

    device: SharedDevice | None = None
    """What a device says now."""

    list_: SharedList | None = field(default=None, name="list")
    """Devices with some of their current values."""

    map: SharedMap | None = None
    """Where the devices are."""

    origins: list[str]
    """Of pages that may embed it; no other may."""

    state: str
    """`open`, or why the link shows nothing: `expired`; `forbidden`, if whoever created it could
    not do so any more; `gone`, if the devices are in this group no longer.
    """

    expires_at: datetime = field(name="expiresAt")
    """Until when the link works."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    created_by: str = field(name="createdBy")
    """Who created it, and with whose permissions it is read."""

    uses: int
    """How often it was opened, up to some seconds ago."""

    first_used_at: datetime | None = field(default=None, name="firstUsedAt")
    """When it showed something for the first time."""

    last_used_at: datetime | None = field(default=None, name="lastUsedAt")
    """When it did so last."""

    url: str
    """Whoever has it sees what it shows. The secret is in the fragment."""


class Notification(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Who is notified of what, and when."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    id: str
    """The id of the notification."""

    name: str | None = None
    """The name of the notification."""

    description: str | None = None
    """A text about it, for people."""

    params: str
    """A JSON object in a string, as the type's `expectedParameters` describes it; secrets are
    masked for callers who may not change it.
    """

    type: str
    """The notification type."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    updated_by: str = field(name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""

    created_by: str = field(name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device."""

    device_types: list[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    reason: str | None = None
    """What triggers it: the `reason` of a data record, the `type` of an event, or one that the
    service raises itself. Without it, every event.
    """

    schedule: str | None = None
    """When it may be sent: the object of the requests, in a string."""

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    tags: list[str] | None = None
    """Free words to find it by."""

    last_fired_at: datetime | None = field(default=None, name="lastFiredAt")
    """When it was triggered last."""

    last_sent_at: datetime | None = field(default=None, name="lastSentAt")
    """When a message of it was delivered last."""

    error: NotificationError | None = None
    """The last failure."""

    filter_failing: FilterFailing | None = field(default=None, name="filterFailing")
    """`when` cannot be evaluated for most of what it is asked for. Absent if it can."""


class NotificationConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of notifications."""

    items: list[Notification]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


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
    """The error of the last attempt."""


class NotificationDraftInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A notification that is not stored."""

    group_id: str | None = field(default=None, name="groupId")
    """As in the request."""

    params: JsonText
    """A JSON object, as described by the type's `expectedParameters`."""

    type: str
    """The device type."""

    name: str | None = None
    """Its name."""

    description: str | None = None
    """A text about it, for people."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device; empty for all."""

    reason: str | None = None
    """Only `measurement` can be tried."""

    schedule: Any = None
    """When it may be sent, in the time zone of `params`. An object, or a string in the form of the
    responses; an empty string removes it.
    """

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    json_fields = ("params",)


class NotificationError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last failure."""

    at: datetime | None = None
    """When it failed."""

    message: str | None = None
    """What failed."""

    since: datetime | None = None
    """When it began to fail: the first failed attempt since the last success. Absent if the last
    attempt succeeded.
    """


class NotificationInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A notification to create."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    params: JsonText
    """A JSON object, as described by the type's `expectedParameters`."""

    type: str
    """The notification type: `email`, `webhook`, `push`, `chat` or `contactPoints`."""

    name: str
    """The name of the notification."""

    description: str | None = None
    """A text about it, for people."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device; empty for all."""

    reason: str | None = None
    """The `reason` of a data record, the `type` of an event, or one that the service raises
    itself. Left out or empty, every event triggers it.
    """

    schedule: Any = None
    """When it may be sent, in the time zone of `params`. An object, or a string in the form of the
    responses; an empty string removes it.
    """

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    json_fields = ("params",)


class NotificationMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The body of a delivery, as JSON."""

    subject: str
    """The subject."""

    body: str
    """The text."""

    reason: str
    """What triggered it."""

    message: dict[str, Any]
    """What happened, as expressions see it."""

    held_back: int | None = field(default=None, name="heldBack")
    """How many were suppressed since the last one."""

    language: str | None = None
    """In which the service writes to them; English for none."""


class NotificationRef(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which notification, of which group."""

    notification_id: str = field(name="notificationId")
    """The id of the notification."""

    group_id: str = field(name="groupId")
    """The id of the group."""


class NotificationTest(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A test that was queued."""

    message: str
    """What was done, in words."""

    queued: int
    """How many messages were queued, one for each recipient."""


class NotificationTrace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A notification that the record caused."""

    notification_id: str = field(name="notificationId")
    """The id of the notification."""

    name: str | None = None
    """The name of the notification."""

    deliveries: list[NotificationDelivery]
    """One for each recipient."""


class NotificationType(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A type of notification and its parameters."""

    expected_parameters: str = field(name="expectedParameters")
    """The parameters in `params`, as a JSON Schema in a string."""

    type: str
    """The word that notifications refer to it by."""

    name: str | None = None
    """Its name for people."""

    unavailable: str | None = None
    """Why it cannot be used on this service, and what the operator sets for it. Absent if it can."""


class NotificationTypeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of notification types."""

    items: list[NotificationType]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class OperatorLimits(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What the operator limits of a group with all groups below it; left out, as for all."""

    stored_records_max: int | None = field(default=None, name="storedRecordsMax")
    """Records; 0 for no limit."""

    stored_bytes_max: int | None = field(default=None, name="storedBytesMax")
    """Their size as JSON; 0 for no limit."""

    requests_per_second: float | None = field(default=None, name="requestsPerSecond")
    """Requests of all app clients and of the networks of these groups, on average; 0 for no limit."""

    retention_days_max: RetentionDays | None = field(default=None, name="retentionDaysMax")
    """The longest retention that these groups may have."""


class PasskeyConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """All passkeys of the caller, the first one first."""

    items: list[PasskeyItem]
    """The items of this page."""


class PasskeyInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A passkey that a browser has created."""

    name: str
    """What its owner calls it."""

    credential: Mapping[str, Any]
    """What the browser returned, as its method `toJSON` writes it."""


class PasskeyItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A passkey of the caller."""

    passkey_id: str = field(name="passkeyId")
    """The id of the passkey."""

    name: str
    """What its owner calls it."""

    is_synced: bool = field(name="isSynced")
    """Whether its owner's other devices have it too."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

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
    """The id of the passkey."""

    name: str
    """What its owner calls it."""


class PasswordInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A new password, and the present one."""

    new: str
    """The new password; at least ten characters."""

    old: str | None = None
    """The present password; not needed in the first 10 minutes of a session."""


class PasswordResetInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Who has forgotten their password."""

    email: str
    """The address of the user."""


class Permission(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a role can allow."""

    id: str
    """The id of the permission."""

    name: str
    """The name of the permission."""

    description: str
    """What it allows."""


class PermissionBody(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A permission to create or update."""

    permission_id: str = field(name="permissionId")
    """The id of the permission."""

    name: str
    """The name of the permission."""

    description: str
    """What it allows."""


class PermissionConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of permissions."""

    items: list[Permission]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class Positions(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of last positions, as arrays: they are half as large as objects."""

    items: list[list[str | int | float | None]]
    """One array for each device: its id, latitude, longitude, the radius in metres or null, and
    when in seconds since 1970.
    """

    total: int
    """How many there are, counted for the first page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class Preview(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a connector would do with the latest records and changes, newest first."""

    items: list[PreviewItem]
    """The items of this page."""

    kinds_without_examples: list[str] | None = field(default=None, name="kindsWithoutExamples")
    """Those of its `kinds` of which nothing is stored yet. Changes of the registry are stored from
    when a connector asks for them.
    """


class PreviewDraft(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a connector that decide what it sends."""

    type: str | None = None
    """The connector type."""

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")
    """Only records of these devices; empty for all."""

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded. Empty: all."""

    format: Literal["cloudevents", "custom", "json", "raw"] | None = None
    """How a record is encoded in a message."""

    json_fields = ("params",)


class PreviewInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which connector or draft, and which of the latest records."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """The id of the connector; required without a draft."""

    draft: PreviewDraft | None = None
    """Changes to the connector that are tried, or a whole one."""

    limit: int | None = None
    """How many of the latest records."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device."""

    begin_date: When | None = field(default=None, name="beginDate")
    """Only records with a timestamp from here on."""

    end_date: When | None = field(default=None, name="endDate")
    """Only records with an earlier timestamp."""

    time_fields = ("begin_date", "end_date")


class PreviewItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a connector would do with one stored record or change."""

    device_id: str | None = field(default=None, name="deviceId")
    """Absent for the alarm of a connector."""

    kind: str
    """The kind of the record."""

    timestamp: datetime
    """The timestamp of the record."""

    record_id: str | None = field(default=None, name="recordId")
    """The id of the record; absent for a change."""

    matches: bool
    """Whether the connector forwards it."""

    reason: str
    """Why not, in words; empty if it does."""

    code: str | None = None
    """Why it is not forwarded: `kind`, `device_type`, `device_id`, `filter_false`, `filter_failed`
    (it is neither true nor false), or `invalid_message` (it cannot be written in the format).
    Absent if it is forwarded.
    """

    missing_field: str | None = field(default=None, name="missingField")
    """A field that the filter names and the record does not have."""

    request: PreviewRequest | None = None
    """What would be sent."""

    matched_before: bool | None = field(default=None, name="matchedBefore")
    """In the preview of a draft: whether the saved connector forwards it."""


class PreviewRequest(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The request that would be sent; secrets are masked."""

    method: str
    """The method, or what the protocol does."""

    url: str
    """Where it would go."""

    headers: dict[str, str]
    """The headers, by name."""

    body: str
    """The body."""


class Problem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Every error of the service (RFC 9457, with `message` repeating `detail`)."""

    type: str
    """A name of the error: `urn:longwire:error:` and its `code`."""

    title: str
    """What the status means."""

    status: int
    """The status of the response."""

    detail: str
    """What is wrong, in words."""

    message: str
    """The same as `detail`."""

    code: str
    """What is wrong, for programs."""

    errors: list[FieldProblem]
    """Every invalid field of the request."""

    request_id: str = field(name="requestId")
    """The `X-Request-Id` of the request."""


class PublicUser(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A user, as seen by members of a common group."""

    id: str | None = None
    """The id of the user."""

    email: str | None = None
    """An e-mail address."""

    name: str | None = None
    """What the user is called."""

    seen_at: datetime | None = field(default=None, name="seenAt")
    """When they used the service last."""

    first_name: str | None = field(default=None, name="firstName")
    """The first name."""

    last_name: str | None = field(default=None, name="lastName")
    """The last name."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    role: Role | None = None
    """Among the members of a group: the role in it."""

    membership_updated_at: datetime | None = field(default=None, name="membershipUpdatedAt")
    """Among the members of a group: when they got their role."""


class Reception(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a network, as it came in; kept for a limited time."""

    received_at: datetime = field(name="receivedAt")
    """When the request came in."""

    request_id: str = field(name="requestId")
    """Of the network's request."""

    content_type: str | None = field(default=None, name="contentType")
    """The media type of the request."""

    query: str | None = None
    """Of the URL, without the token."""

    size: int
    """Of the body, in bytes."""

    body: str | None = None
    """If it is text and was kept: large ones and those of a batch are not."""

    body_base64: str | None = field(default=None, name="bodyBase64")
    """The same if it is not text."""


class RedecodeInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which payloads to redecode: of a device or of a group's devices, in a period."""

    device_id: str | None = field(default=None, name="deviceId")
    """The id of the device."""

    group_id: str | None = field(default=None, name="groupId")
    """With deviceId, its group."""

    device_type: str | None = field(default=None, name="deviceType")
    """Only devices of this type."""

    begin_date: When | None = field(default=None, name="beginDate")
    """The begin of the range, which is part of it. RFC 3339, a date alone, or seconds or
    milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
    """

    end_date: When | None = field(default=None, name="endDate")
    """The end of the range, which is not part of it; a date without a time includes that day. RFC
    3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC. A
    JSON number is taken, too.
    """

    limit: int | None = None
    """The maximum number of records to read."""

    next_token: str | None = field(default=None, name="nextToken")
    """The nextToken of the previous response."""

    time_fields = ("begin_date", "end_date")


class RedecodeReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome for some records; with a nextToken there are more."""

    message: str
    """What was done, in words."""

    looked_at: int = field(name="lookedAt")
    """Records that were read."""

    changed: int
    """Records whose values changed."""

    skipped: int
    """Records without a payload, or with data of another form."""

    failed: int
    """Records that the decoder rejected; they are unchanged."""

    failure: str | None = None
    """The error of the first one that failed."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class RegistryMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device that was created, changed, moved or deleted, for connectors that ask for
    `registry`.

        It has what the device is after the change, or was when it was deleted.
    """

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    kind: str
    """The kind of the record."""

    type: str
    """What was done. A connector that sees only one of the two groups of a device that moves gets
    `device.movedOut` or `device.movedIn`.
    """

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: datetime
    """When that was."""

    group_id: str = field(name="groupId")
    """The group of the device; with `device.movedOut`, the one that it left."""

    from_group_id: str | None = field(default=None, name="fromGroupId")
    """Where it was, with `device.moved`."""

    network: str
    """Which network carries the messages of the device."""

    original_id: str = field(name="originalId")
    """The id of the device in its network."""

    configuration: str
    """As JSON."""

    before: dict[str, Any] | None = None
    """The members that were changed, as they were before."""

    device_name: str = field(name="deviceName")
    """The name of the device when the record arrived, or that in the record."""

    device_type: str = field(name="deviceType")
    """The type of the device when the record arrived, or that in the record."""

    tags: list[str]
    """The tags of the device when the record arrived."""


class Replay(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The progress of a replay."""

    replay_id: str = field(name="replayId")
    """The id of the replay."""

    connector_id: str = field(name="connectorId")
    """The id of the connector."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    status: str
    """`running`, `done` or `cancelled`."""

    looked_at: int = field(name="lookedAt")
    """Records that were looked at."""

    queued: int
    """Messages that were queued for them."""

    begin_date: datetime = field(name="beginDate")
    """The begin of the range, which is part of it."""

    end_date: datetime = field(name="endDate")
    """The end of the range, which is not part of it; a date without a time includes that day."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    created_by: str = field(name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""


class ReplayInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which connector, and the timestamps of which records."""

    connector_id: str = field(name="connectorId")
    """The id of the connector."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    begin_date: When = field(name="beginDate")
    """The first timestamp of the records. RFC 3339, a date alone, or seconds or milliseconds since
    1970. Without an offset it is UTC. A JSON number is taken, too.
    """

    end_date: When = field(name="endDate")
    """The end of the timestamps, which is not part of them. RFC 3339, a date alone, or seconds or
    milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
    """

    time_fields = ("begin_date", "end_date")


class ReplayList(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last replays of a connector, the newest first."""

    items: list[Replay]
    """The items of this page."""


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
    """What was done, in words."""

    queued: int
    """Messages that are queued already."""

    replay_id: str = field(name="replayId")
    """The id of the replay."""


class Report(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A file that is sent on a schedule."""

    id: str
    """Its id."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str | None = None
    """What it is called, in the subject of its mails."""

    content: str
    """What is in it: records that arrived in the period, numbers of a measurement in it, the
    devices as they are now, or alarms that were raised in it.
    """

    parameters: dict[str, Any]
    """What to choose, as in the query of `GET /records/export`, `GET /group/series`, `GET
    /devices/export` or `GET /group/alarms`; without dates, formats and pages.
    """

    every: str
    """How often, and the period that it is about: the day, the week from Monday to Sunday or the
    month before. A weekly one is sent on Mondays, a monthly one on the first.
    """

    at: str
    """When, on the clock of `timezone`. Where that leaves the time out, it is sent when the clock
    is changed, and where it shows it twice, the first time.
    """

    timezone: str
    """Whose days it is about: a name of the IANA database."""

    format: str
    """Of the file."""

    to: ReportContact
    """To whom it goes."""

    enabled: bool
    """Whether it is sent."""

    next_at: datetime = field(name="nextAt")
    """When it is due next."""

    last_run: LastReportRun | None = field(default=None, name="lastRun")
    """What became of it last."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    updated_at: datetime = field(name="updatedAt")
    """When it was changed last."""

    created_by: str = field(name="createdBy")
    """Who created it."""

    updated_by: str = field(name="updatedBy")
    """Who changed it last; with whose permissions it is read."""


class ReportConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of reports."""

    items: list[Report]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class ReportContact(Model, frozen=True, kw_only=True, omit_defaults=True):
    """To whom a report goes."""

    type: str
    """`email` or `webhook`."""

    params: dict[str, Any]
    """`to`, a list of addresses, for `email`; `url`, and if wanted `headers`, `bearer`, `basic`
    and `secret`, for `webhook`. Secrets are masked for callers who may not change it.
    """


class ReportDownload(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What the link in a mail of a report opens."""

    name: str | None = None
    """What it is called."""

    content: str
    """What is in it: records that arrived in the period, numbers of a measurement in it, the
    devices as they are now, or alarms that were raised in it.
    """

    begin_date: datetime = field(name="beginDate")
    """Since when it is about."""

    end_date: datetime = field(name="endDate")
    """Until before when."""

    timezone: str
    """Whose days it is about: a name of the IANA database."""

    file_name: str = field(name="fileName")
    """What its file is called."""

    rows: int
    """How many rows the file has."""

    bytes: int
    """Of the file."""

    expires_at: datetime = field(name="expiresAt")
    """Until when it can be downloaded."""


class ReportInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A report to create."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """What it is called, in the subject of its mails."""

    content: Literal["alarms", "devices", "records", "series"]
    """What is in it: records that arrived in the period, numbers of a measurement in it, the
    devices as they are now, or alarms that were raised in it.
    """

    parameters: Mapping[str, Any] | None = None
    """What to choose, as in the query of `GET /records/export`, `GET /group/series`, `GET
    /devices/export` or `GET /group/alarms`; without dates, formats and pages.
    """

    every: Literal["day", "month", "week"]
    """How often, and the period that it is about: the day, the week from Monday to Sunday or the
    month before. A weekly one is sent on Mondays, a monthly one on the first.
    """

    at: str
    """When, on the clock of `timezone`. Where that leaves the time out, it is sent when the clock
    is changed, and where it shows it twice, the first time.
    """

    timezone: str | None = None
    """Whose days it is about: a name of the IANA database."""

    format: Literal["csv", "xlsx"] | None = None
    """Of the file."""

    to: ReportContact
    """To whom it goes."""

    enabled: bool | None = None
    """Whether it is sent; by default it is."""


class ReportRef(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which report, of which group."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    report_id: str = field(name="reportId")
    """The id of the report."""


class RetentionDays(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Days that each kind of record, and summaries of values, are kept after their timestamp."""

    data: int | None = None
    """0 for ever."""

    event: int | None = None
    """0 for ever."""

    geoloc: int | None = None
    """0 for ever."""

    telemetry: int | None = None
    """0 for ever."""

    summary: int | None = None
    """Summaries of values, from which series are made."""


class RetryMessagesInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Messages by their ids, or those of a connector by a filter; not both."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    ids: Sequence[str] | None = None
    """Messages of this group."""

    connector_id: str | None = field(default=None, name="connectorId")
    """Only of this connector."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only about this device."""

    kind: Literal["alarm", "data", "event", "geoloc", "registry", "telemetry"] | None = None
    """Only messages of this kind."""

    begin_date: When | None = field(default=None, name="beginDate")
    """Last changed from then on."""

    end_date: When | None = field(default=None, name="endDate")
    """Last changed before."""

    status: str | None = None
    """`failed` (default) or `processing`."""

    time_fields = ("begin_date", "end_date")


class RetryPolicy(Model, frozen=True, kw_only=True, omit_defaults=True):
    """How often a delivery is retried, and the delay between attempts in seconds."""

    retry_delay: int | None = field(default=None, name="retryDelay")
    """Seconds between two attempts."""

    max_retry: int | None = field(default=None, name="maxRetry")
    """How often a failed attempt is retried."""

    delays: list[int] | None = None
    """Seconds before each retry, in place of the other two."""


class RetryPolicyInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """How often a delivery is retried, and the delay between attempts in seconds.

    Either `retryDelay` and `maxRetry`, or `delays`.
    """

    retry_delay: int | None = field(default=None, name="retryDelay")
    """Seconds between two attempts."""

    max_retry: int | None = field(default=None, name="maxRetry")
    """How often a failed attempt is retried."""

    delays: Sequence[int] | None = None
    """Seconds before each retry; as many retries as there are delays."""


class Role(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A named set of permissions."""

    id: str
    """The id of the role."""

    name: str
    """The name of the role."""

    description: str
    """What the role is for."""

    permissions: list[str]
    """Ids of permissions."""

    removable: bool | None = None
    """Whether it can be deleted; roles of the service cannot."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""


class RoleChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a role."""

    role_id: str = field(name="roleId")
    """The id of the role."""

    group_id: str = field(name="groupId")
    """A group in which the caller may change roles."""

    name: str | None = None
    """The new name."""

    description: str | None = None
    """A text about it, for people."""

    permissions: Sequence[str] | None = None
    """Ids of permissions."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class RoleConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of roles."""

    items: list[Role]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class RoleInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A role to create."""

    name: str
    """The name of the role."""

    description: str
    """What the role is for."""

    permissions: str
    """Ids of permissions, in one string, separated by commas or spaces; a list is taken, too."""


class RotateSecretInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The connector whose signing secret is replaced."""

    connector_id: str = field(name="connectorId")
    """The id of the connector."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    secret: str | None = None
    """The new one: `whsec_` and a key of 24 to 64 bytes in base64. Made by the service if it is
    left out.
    """

    previous_until: When | None = field(default=None, name="previousUntil")
    """Until when the secret before it signs as well, up to 90 days; 24 hours by default. If that
    is over, it ends at once.
    """

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("previous_until", "if_updated_at")


class Schedule(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A day of the week and a period of it."""

    day: int = field(name="Day")
    """1 to 7 for Monday to Sunday; 0 is Sunday, too."""

    from_: ScheduleTime | None = field(default=None, name="From")
    """From when on that day; without it, from midnight."""

    to: ScheduleTime | None = field(default=None, name="To")
    """Until when on that day; without it, until midnight."""


class ScheduleTime(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A time of the day."""

    hours: int = field(name="Hours")
    """The hour, from 0 to 23."""

    minutes: int = field(name="Minutes")
    """The minute."""

    secondes: int | None = field(default=None, name="Secondes")
    """The second; the interface spells it so."""


class Series(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers of some devices over time."""

    begin_date: datetime = field(name="beginDate")
    """The begin of the first span."""

    end_date: datetime = field(name="endDate")
    """The end of the last span."""

    time_span: int | None = field(default=None, name="timeSpan")
    """Seconds per point."""

    calendar_span: str | None = field(default=None, name="calendarSpan")
    """Instead of `timeSpan`; a week begins on Monday."""

    timezone: str | None = None
    """Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`."""

    measurement: str | None = None
    """The name of the measurement."""

    class_: str | None = field(default=None, name="class")
    """The class of the measurement."""

    unit: str | None = None
    """For people."""

    label: str | None = None
    """What people call it."""

    complete_until: datetime | None = field(default=None, name="completeUntil")
    """Of a measurement: everything that had arrived by then is counted. If more records had to be
    read than one request may, this is where they begin; `fresh` reads them.
    """

    path: str | None = None
    """As asked."""

    kind: str | None = None
    """The kind of records."""

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

    first: float
    """The number of the oldest record."""

    last: float
    """The number of the newest record."""

    count: int
    """The number of numbers."""

    sum: float
    """Of all numbers."""

    increase: float | None = None
    """Of a counter: what it rose since the last number before the span. A smaller number is
    another counter, or one that began again at zero.
    """

    has_gap: bool | None = field(default=None, name="hasGap")
    """A span without numbers lies before this one."""


class SeriesRow(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A point of a device."""

    timestamp: datetime
    """The begin of the span."""

    min: float
    """The smallest number."""

    max: float
    """The largest number."""

    mean: float
    """The arithmetic mean."""

    first: float
    """The number of the oldest record."""

    last: float
    """The number of the newest record."""

    count: int
    """The number of numbers."""

    sum: float
    """Of all numbers."""

    increase: float | None = None
    """Of a counter: what it rose since the last number before the span. A smaller number is
    another counter, or one that began again at zero.
    """

    has_gap: bool | None = field(default=None, name="hasGap")
    """A span without numbers lies before this one."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    measurement: str | None = None
    """If several measurements were asked for."""


class SeriesState(Model, frozen=True, kw_only=True, omit_defaults=True):
    """From when on a device was in a state."""

    timestamp: datetime
    """When it began, or the begin of the range."""

    value: float | str | bool
    """It holds until the next one."""


class SeriesStateRow(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A state of a device."""

    timestamp: datetime
    """When it began, or the begin of the range."""

    value: float | str | bool
    """It holds until the next one."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    measurement: str | None = None
    """If several measurements were asked for."""


class SessionConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """All sessions of a user, the last used first."""

    items: list[SessionItem]
    """The items of this page."""


class SessionInfo(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The session of the caller."""

    user: User
    """Who is signed in."""

    is_operator: bool = field(name="isOperator")
    """Whether the user has every permission in every group."""

    method: str
    """How the user signed in."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    expires_at: datetime = field(name="expiresAt")
    """Unless it is used before."""

    issued_by: str | None = field(default=None, name="issuedBy")
    """The user who was shown its link, if it was another. Such a session changes nothing that
    outlives it, such as ways to sign in.
    """

    is_fresh: bool = field(name="isFresh")
    """Whether ways to sign in can be changed with it now: it is younger than ten minutes, and did
    not begin with a link that was shown.
    """

    has_password: bool = field(name="hasPassword")
    """Whether the user has a password."""

    has_totp: bool = field(name="hasTotp")
    """Whether the user needs a code of an authenticator app."""


class SessionItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """One of the sessions of a user."""

    session_id: str = field(name="sessionId")
    """The id of the session."""

    method: str
    """How the user signed in."""

    address: str
    """Where it was created."""

    user_agent: str = field(name="userAgent")
    """The browser that it was created with."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    seen_at: datetime = field(name="seenAt")
    """Its last use, to five minutes."""

    expires_at: datetime = field(name="expiresAt")
    """When it expires."""

    is_this: bool = field(name="isThis")
    """Whether it is the session of this request."""

    issued_by: str | None = field(default=None, name="issuedBy")
    """The user who was shown its link, if it was another."""


class ShareInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """What to show by a link: exactly one of `chart`, `device`, `list` and `map`."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """Its name."""

    expires_in_days: int = field(name="expiresInDays")
    """How long the link works; up to 31 days if an app client creates it."""

    origins: Sequence[str] | None = None
    """Of pages that may embed it; no other may."""

    chart: SharedChart | None = None
    """Numbers over time."""

    device: SharedDevice | None = None
    """What a device says now."""

    list_: SharedList | None = field(default=None, name="list")
    """Devices with some of their current values."""

    map: SharedMap | None = None
    """Where the devices are."""


class ShareLink(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A link that shows something of a group."""

    id: str
    """Its id."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    name: str
    """The title of the page."""

    content: str
    """What the link shows."""

    chart: SharedChart | None = None
    """Numbers over time."""

    device: SharedDevice | None = None
    """What a device says now."""

    list_: SharedList | None = field(default=None, name="list")
    """Devices with some of their current values."""

    map: SharedMap | None = None
    """Where the devices are."""

    origins: list[str]
    """Of pages that may embed it; no other may."""

    state: str
    """`open`, or why the link shows nothing: `expired`; `forbidden`, if whoever created it could
    not do so any more; `gone`, if the devices are in this group no longer.
    """

    expires_at: datetime = field(name="expiresAt")
    """Until when the link works."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    created_by: str = field(name="createdBy")
    """Who created it, and with whose permissions it is read."""

    uses: int
    """How often it was opened, up to some seconds ago."""

    first_used_at: datetime | None = field(default=None, name="firstUsedAt")
    """When it showed something for the first time."""

    last_used_at: datetime | None = field(default=None, name="lastUsedAt")
    """When it did so last."""


class ShareLinkConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of links."""

    items: list[ShareLink]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class SharedChart(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers over time: of some devices, each a line of its own, or of a group as one."""

    measurements: list[str]
    """What is measured; each is a line of its own."""

    device_ids: list[str] | None = field(default=None, name="deviceIds")
    """Of these devices; else of the whole group."""

    subgroups: bool | None = None
    """With all groups below it."""

    type: str | None = None
    """Only devices of a type."""

    tags: list[str] | None = None
    """Only devices that have each of them."""

    of: str | None = None
    """As in `GET /group/series`."""

    combine: str | None = None
    """As in `GET /group/series`; of named devices `none` unless given."""

    percentile: float | None = None
    """With `combine=percentile`."""

    last_seconds: int | None = field(default=None, name="lastSeconds")
    """How far it goes back from whenever it is looked at; a day unless given, or dates."""

    begin_date: str | None = field(default=None, name="beginDate")
    """Of a chart that stays as it is."""

    end_date: str | None = field(default=None, name="endDate")
    """The end of the range, which is not part of it; a date without a time includes that day. RFC
    3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC. A
    JSON number is taken, too.
    """

    time_span: int | None = field(default=None, name="timeSpan")
    """Seconds per point."""

    calendar_span: str | None = field(default=None, name="calendarSpan")
    """Instead of `timeSpan`; a week begins on Monday."""

    timezone: str | None = None
    """Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`."""


class SharedColumn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a current value is called."""

    name: str
    """The name of the measurement."""

    class_: str | None = field(default=None, name="class")
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    label: str | None = None
    """What people call it."""

    unit: str | None = None
    """For people."""

    decimals: int | None = None
    """How many decimals to show."""


class SharedDevice(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a device says now."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    values: list[str] | None = None
    """Only these current values; all unless given."""

    position: bool | None = None
    """With its last position."""


class SharedDeviceRow(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A device of a link, with what it shows of it."""

    device_name: str = field(name="deviceName")
    """Of the device."""

    seen_at: datetime | None = field(default=None, name="seenAt")
    """When it reported last."""

    values: dict[str, SharedValue]
    """Current values, by name."""

    position: SharedPosition | None = None
    """Its last position, if the link shows it."""


class SharedDevices(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The device of a link, or a page of its list."""

    columns: list[SharedColumn]
    """What the current values are called."""

    items: list[SharedDeviceRow]
    """The items of this page."""

    total: int
    """How many there are."""

    total_is_more: bool | None = field(default=None, name="totalIsMore")
    """Whether there may be more than `total`."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class SharedLine(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers or states of a device, or of all as one."""

    device_name: str | None = field(default=None, name="deviceName")
    """Of the device."""

    measurement: str
    """The name of the measurement."""

    class_: str | None = field(default=None, name="class")
    """`gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or
    a boolean.
    """

    label: str | None = None
    """What people call it."""

    unit: str | None = None
    """For people."""

    decimals: int | None = None
    """How many decimals to show."""

    of: str
    """What counts of a span."""

    points: list[SharedPoint]
    """By time."""

    states: list[SeriesState] | None = None
    """Of a state: each change."""


class SharedList(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Devices of a group, with some of their current values."""

    subgroups: bool | None = None
    """With all groups below it."""

    values: list[str] | None = None
    """Current values to show as columns."""

    where: list[str] | None = None
    """Only devices with such a current value: a measurement, one of `<`, `<=`, `>`, `>=`, `==`,
    `!=`, and a number, a word or `null`; or `@` and a date, for its time. All must hold. Needs
    `record.read`.
    """

    order: str | None = None
    """Sort by a current value, whatever `sort` is: `value:` and a measurement. Devices without it
    are last. Needs `record.read`.
    """

    descending: bool | None = None
    """With `order`: the largest value first."""

    sort: str | None = None
    """What to sort by."""

    ascending: bool | None = None
    """Whether the oldest or smallest come first."""

    q: str | None = None
    """A part of the name, of the original id or of a tag, or the begin of the id;
    case-insensitive. First come devices with this id or original id, then those whose name or
    original id begins with it.
    """

    type: str | None = None
    """The device type."""

    network: str | None = None
    """Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
    networks, in any case.
    """

    tag: str | None = None
    """A tag they have."""

    seen: str | None = None
    """Last seen within the last hour, day or week, longer ago, never; or silent by what its
    configuration expects.
    """

    battery_below: float | None = field(default=None, name="batteryBelow")
    """Less charge, in percent."""


class SharedMap(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Where the devices of a group are."""

    subgroups: bool | None = None
    """With all groups below it."""


class SharedPoint(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A number in a span."""

    timestamp: datetime
    """The begin of the span."""

    value: float
    """What `of` of the line says."""

    min: float | None = None
    """Of a mean, the smallest."""

    max: float | None = None
    """Of a mean, the largest."""


class SharedPosition(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Where a device was last."""

    device_name: str = field(name="deviceName")
    """Of the device."""

    lat: float
    """Latitude."""

    lng: float
    """Longitude."""

    radius: int | None = None
    """In metres, if known."""

    timestamp: datetime
    """When it happened."""


class SharedPositions(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of the map of a link."""

    items: list[SharedPosition]
    """The items of this page."""

    total: int
    """How many there are."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class SharedSeries(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The chart of a link."""

    begin_date: datetime = field(name="beginDate")
    """The begin of the range, which is part of it."""

    end_date: datetime = field(name="endDate")
    """The end of the range, which is not part of it; a date without a time includes that day."""

    time_span: int | None = field(default=None, name="timeSpan")
    """Seconds per point."""

    calendar_span: str | None = field(default=None, name="calendarSpan")
    """Instead of `timeSpan`; a week begins on Monday."""

    timezone: str | None = None
    """Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`."""

    lines: list[SharedLine]
    """In the order of what was shared."""


class SharedValue(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A current value."""

    value: float | str | bool
    """A word or a boolean only of a state."""

    timestamp: datetime
    """When it happened."""

    is_stale: bool | None = field(default=None, name="isStale")
    """Of a single device: it should have reported since."""


class SharedView(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What a link shows, and whether it still does."""

    name: str
    """The title."""

    content: str
    """What the link shows."""

    state: str
    """`open`, or why the link shows nothing: `expired`; `forbidden`, if whoever created it could
    not do so any more; `gone`, if the devices are in this group no longer.
    """

    expires_at: datetime = field(name="expiresAt")
    """Until when the link works."""


class SignInChangeConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The last changes of how a user signs in, the newest first."""

    items: list[SignInChangeItem]
    """The items of this page."""


class SignInChangeItem(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A change of how a user signs in."""

    timestamp: datetime
    """When it happened."""

    change: str
    """What was done, as the audit log has it. `signInLink.create` is a link that was shown to
    somebody, or printed by the operator.
    """

    name: str | None = None
    """Of the passkey."""

    by_other: bool = field(name="byOther")
    """Whether somebody else did it: an operator, or who was shown a link."""

    address: str
    """Where from."""


class SignInInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """One way to sign in."""

    link: str | None = None
    """What follows `=` in a sign-in link."""

    email: str | None = None
    """Of a user with a password."""

    password: str | None = None
    """The password of this user."""

    totp: str | None = None
    """With `link`, or `email` and `password`: the code of an authenticator app, or a recovery
    code, for users who have turned that on.
    """

    client_id: str | None = field(default=None, name="clientId")
    """The client id of a user's credentials."""

    client_secret: str | None = field(default=None, name="clientSecret")
    """The secret of the same credentials."""


class Silence(Model, frozen=True, kw_only=True, omit_defaults=True):
    """For which alarms no messages are sent, and when."""

    id: str
    """Its id."""

    group_id: str = field(name="groupId")
    """Its group."""

    subgroups: bool
    """Whether it is for the groups below as well."""

    device_ids: list[str] | None = field(default=None, name="deviceIds")
    """The only devices that it is for."""

    tags: list[str] | None = None
    """It is for devices with all of these."""

    types: list[str] | None = None
    """It is for devices of these types."""

    severity: str | None = None
    """It is for alarms of this severity."""

    from_: datetime = field(name="from")
    """When it begins."""

    until: datetime
    """When it ends."""

    schedule: str | None = None
    """When it is in force, in the form that notifications have."""

    timezone: str | None = None
    """The zone that the schedule is meant in, by its IANA name."""

    reason: str
    """Why."""

    state: str
    """`active`, `pending`, if it has not begun or its schedule keeps it from being in force, or
    `expired`.
    """

    held_back: int = field(name="heldBack")
    """Of how many alarms it has held messages back; `GET /group/alarms?silenceId=` lists them."""

    created_at: datetime = field(name="createdAt")
    """When it was created."""

    created_by: str = field(name="createdBy")
    """The id of the user or app client that created it."""


class SilenceConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of silences."""

    items: list[Silence]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class SilenceInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """For which alarms no messages are to be sent, and until when."""

    group_id: str = field(name="groupId")
    """The group of the devices and connectors; its notifications, those of groups below it, and
    those of groups above in which the caller may change notifications, are silenced.
    """

    subgroups: bool | None = None
    """Also about devices and connectors of the groups below it."""

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")
    """Only about these devices."""

    tags: Sequence[str] | None = None
    """Only about devices with all of these tags."""

    types: Sequence[str] | None = None
    """Only about devices of these types."""

    severity: Literal["critical", "info", "warning"] | None = None
    """Only alarms of this severity."""

    from_: When | None = field(default=None, name="from")
    """From when on; now unless given."""

    until: When
    """When it ends."""

    schedule: Any = None
    """When it may be sent, in the time zone of `params`. An object, or a string in the form of the
    responses; an empty string removes it.
    """

    timezone: str | None = None
    """The zone that the schedule is meant in, by its IANA name."""

    reason: str
    """Why, for whoever wonders."""

    time_fields = ("from_", "until")


class StoredAmount(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What is stored: records, and the size of their JSON."""

    records: int
    """How many records there are."""

    bytes: int
    """In characters."""


class TelemetryMessage(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A telemetry record, as a connector sends it in the format `json`."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    timestamp: datetime
    """When it happened."""

    duplicates: list[str] | None = None
    """One text for each base station or gateway that received the message, mostly JSON."""

    data: str | None = None
    """What was reported: any text, mostly a JSON object in a string."""

    score: int | None = None
    """The quality of the link; records of networks have 0 (weakest) to 3 (strongest)."""

    nb_bs: int | None = field(default=None, name="nbBS")
    """The number of base stations that received the message; `nbBs` in requests."""

    rc: int | None = None
    """The number that the vendor's network sends as `rc` with its advanced data; the service does
    not interpret it.
    """

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    device_type: str = field(name="deviceType")
    """The type of the device when the record arrived, or that in the record."""

    id: str
    """The id of the message, the same for every attempt: deduplicate by it."""

    kind: str
    """The kind of the record."""

    device_name: str = field(name="deviceName")
    """The name of the device when the record arrived, or that in the record."""

    tags: list[str]
    """The tags of the device when the record arrived."""


class TestDraft(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a connector that decide what is sent, and where to."""

    type: str | None = None
    """The connector type."""

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    format: Literal["cloudevents", "custom", "json", "raw"] | None = None
    """How a record is encoded in a message."""

    json_fields = ("params",)


class ThingparkCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Take a report of ThingPark's network server."""

    dev_eui_uplink: Any = field(default=None, name="DevEUI_uplink")
    """The uplink; other reports have a member of another name."""


class TimedValue(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A current value, and when it was."""

    value: float | str | bool | None = None
    """A word or a boolean only of a state."""

    timestamp: datetime
    """When it happened."""


class TokenError(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The error response of RFC 6749."""

    error: str
    """The code of RFC 6749."""

    error_description: str
    """The same in words."""


class TokenForm(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The form that names a token."""

    token: str
    """The access token."""

    token_type_hint: str | None = None
    """Ignored."""

    client_id: str | None = None
    """The client id, if it is not in the header Authorization."""

    client_secret: str | None = None
    """Its secret."""


class TokenIntrospectionResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A valid token of the client that asks; for any other token `active` is false, and alone.

        `sub` is the user or app client that acts with the token. Times are in seconds since
    1970.
    """

    active: bool
    """Whether it is a valid token of the client that asks."""

    client_id: str | None = None
    """The client that the token was issued to."""

    sub: str | None = None
    """The id of the user or app client that acts with the token."""

    iss: str | None = None
    """The URL of the service that issued it."""

    iat: int | None = None
    """When it was issued, in seconds since 1970."""

    exp: int | None = None
    """When it expires, in seconds since 1970."""

    token_type: str | None = None
    """Always `Bearer`."""


class TokenRequest(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The form of a request for a token."""

    grant_type: str | None = None
    """The grant of RFC 6749; here or in the query."""

    client_id: str | None = None
    """The client id, if it is not in the header Authorization."""

    client_secret: str | None = None
    """Its secret."""


class TokenResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An access token and its lifetime in seconds."""

    access_token: str
    """The access token, for `Authorization: Bearer`."""

    token_type: str
    """Always `Bearer`."""

    expires_in: int
    """The lifetime of the token in seconds."""


class TokenRevocationResponse(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Empty: the token is not valid, or not one of this client."""


class TotpCodeInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A code of an authenticator app."""

    code: str
    """The code that the app shows, or a recovery code."""


class TotpRecoveryCodes(Model, frozen=True, kw_only=True, omit_defaults=True):
    """Codes that replace one of the app, each once; shown once."""

    recovery_codes: list[str] = field(name="recoveryCodes")
    """Codes that replace one of the app, each once."""


class TotpSecret(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What an authenticator app needs; shown once."""

    secret: str
    """In base32."""

    uri: str
    """The same for a QR code."""


class Trace(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A record from its reception to everything that it caused."""

    arrival: Arrival
    """The record."""

    reception: Reception | None = None
    """The request of the network, while it is kept."""

    decoding: DecodingResult | None = None
    """What the decoder made of the payload."""

    connectors: list[ConnectorTrace]
    """Where you have `connector.read`; first those with a message."""

    has_more_connectors: bool | None = field(default=None, name="hasMoreConnectors")
    """There are more than are shown."""

    notifications: list[NotificationTrace]
    """Where you have `notification.read`."""

    contact_points: list[ContactPointTrace] | None = field(default=None, name="contactPoints")
    """Where you have `notification.read`."""

    hidden_connectors: int | None = field(default=None, name="hiddenConnectors")
    """With a message about it, but not yours to see."""

    hidden_notifications: int | None = field(default=None, name="hiddenNotifications")
    """Caused by it, but not yours to see."""


class Transfer(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Which device to transfer, and to which group."""

    device_id: str = field(name="deviceId")
    """The id of the device."""

    group_id: str = field(name="groupId")
    """The id of the group that the device is in."""

    to_group_id: str = field(name="toGroupId")
    """The id of the group to transfer to."""


class TreeGroup(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A group in a tree, without its token."""

    id: str
    """The id of the group: digits, in a string."""

    user_id: str = field(name="userId")
    """The id of the user that `role` is of: the caller."""

    name: str | None = None
    """Its name."""

    description: str | None = None
    """A text about it, for people."""

    token: str | None = None
    """Not in this list; see `GET /group`."""

    administrator_role: str | None = field(default=None, name="administratorRole")
    """The id of the role that administers it, which its creator has."""

    default_role: str | None = field(default=None, name="defaultRole")
    """The id of the role that its app clients have."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    created_by: str | None = field(default=None, name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    updated_by: str | None = field(default=None, name="updatedBy")
    """The id of the user or app client that changed it last; `system` for the service itself."""

    parent: str | None = None
    """The id of the group above; none for a root group."""

    role: Role | None = None
    """The nearest role of the caller on the path to the root, with all permissions that hold here."""

    owner_id: str | None = field(default=None, name="ownerId")
    """The id of the user who owns the group."""

    number_of_devices: int | None = field(default=None, name="numberOfDevices")
    """How many devices it has itself."""

    number_of_notifications: int | None = field(default=None, name="numberOfNotifications")
    """How many notifications it has itself."""

    number_of_connectors: int | None = field(default=None, name="numberOfConnectors")
    """How many connectors it has itself."""

    tags: list[str] | None = None
    """Free words to find it by."""

    deletion_at: datetime | None = field(default=None, name="deletionAt")
    """When it will be deleted with everything in it."""

    is_invited: bool | None = field(default=None, name="isInvited")
    """Only if it is true: this user has not accepted the membership yet."""

    number_of_groups: int = field(name="numberOfGroups")
    """How many groups are directly below it."""


class TtnCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Take a message of a webhook of The Things Stack."""

    end_device_ids: Any = None
    """The device: its `dev_eui` or `device_id`."""

    received_at: Any = None
    """When the message was received."""

    uplink_message: Any = None
    """The uplink; other messages have a member of another name."""


class TypeDecoder(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The decoder of a device type."""

    type: str
    """The device type."""

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
    """The device type."""

    decoder: Literal["bits", "cayenneLpp", "javascript"] | None = None
    """`bits`, `cayenneLpp` or `javascript`."""

    decoder_source: str | None = field(default=None, name="decoderSource")
    """The bit format or the codec; Cayenne LPP has none."""

    decoded_location: str | None = field(default=None, name="decodedLocation")
    """Names of the decoded latitude and longitude that become a geolocation."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class TypeImportInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The files of a device, and what is to become of them."""

    files: Mapping[str, str]
    """At most 64, by path: what the device's own file names."""

    group_id: str | None = field(default=None, name="groupId")
    """Whose it is, with the groups below; without it, for all."""

    device: str | None = None
    """Which one, if the files have several: the name of its file without its ending."""

    firmware_version: str | None = field(default=None, name="firmwareVersion")
    """Without it, the last one of its file."""

    name: str | None = None
    """Without it, maker and device."""

    display_name: str | None = field(default=None, name="displayName")
    """For people."""

    accept_failing: bool | None = field(default=None, name="acceptFailing")
    """Create or update it although examples fail."""

    replace: bool | None = None
    """Update the type of this `name`, which is required then. Its codecs become those of the
    files; what these do not say stays, as do its measurements.
    """

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    dry_run: bool | None = field(default=None, name="dryRun")
    """Only run the examples, and say what would be created or updated."""

    time_fields = ("if_updated_at",)


class TypeImportReturn(Model, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of an import, or of its dry run."""

    message: str
    """The outcome in words."""

    is_dry_run: bool = field(name="isDryRun")
    """Nothing was created or updated."""

    format: str
    """Whose."""

    name: str
    """The name of the type, which devices refer to."""

    group_id: str | None = field(default=None, name="groupId")
    """Whose it is, with the groups below; without it, for all."""

    display_name: str = field(name="displayName")
    """For people."""

    battery: str | None = None
    """Any text."""

    firmware_version: str | None = field(default=None, name="firmwareVersion")
    """Any text."""

    has_decoder: bool = field(name="hasDecoder")
    """Whether the files have a codec for uplinks."""

    has_encoder: bool = field(name="hasEncoder")
    """In a codec of its own."""

    passed: int
    """Examples that the codec fulfils."""

    failed: int
    """The others."""

    examples: list[CodecExampleResult]
    """Those of the maker, in their order."""

    ignored: list[str]
    """What of the files has no place in a device type."""

    warnings: list[str] | None = None
    """What the codec uses and does not exist here."""


class TypeMeasurements(Model, frozen=True, kw_only=True, omit_defaults=True):
    """What is declared of a device type, for all or for a group."""

    type: str
    """The device type."""

    group_id: str | None = field(default=None, name="groupId")
    """The id of the group."""

    measurements: list[Measurement]
    """All that are declared."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""


class TypeMeasurementsChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """What is declared of a device type: for all, or for the devices of a group and below."""

    type: str
    """The device type."""

    group_id: str | None = field(default=None, name="groupId")
    """Without it, for all by operators; or for the group of the type."""

    measurements: Sequence[MeasurementInput]
    """All of them; an empty list declares nothing."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class TypePolicyChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The new policy of a device type."""

    type: str
    """The device type."""

    policy: Mapping[str, Any]
    """A JSON merge patch (RFC 7396): null removes a member. Empty: no policy."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class UnknownDevice(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An id that messages with the token of a group were about, and that none of its devices has.

    Or that of a device whose messages cannot be taken, or not be decoded.
    """

    group_id: str = field(name="groupId")
    """The group whose token the messages had."""

    network: str
    """Empty if an app client of the group has posted records."""

    original_id: str = field(name="originalId")
    """As it was sent last; empty if no id could be found in the message."""

    first_at: datetime = field(name="firstAt")
    """When the first of the messages arrived."""

    last_at: datetime = field(name="lastAt")
    """When the last one did."""

    count: int
    """How many messages arrived."""

    reason: str
    """Of the last message: `unknown`, there is no such device; `malformed`, no device of the
    network can have this id, or the message has none; `otherGroup`, a device has this id, but
    the token does not reach its group; `rejected`, the device is known, but the message could
    not be taken, or its payload not be decoded.
    """

    detail: str | None = None
    """What was wrong with the last message."""

    payload: str | None = None
    """What the last message said: the begin of its body, without keys; or bytes in hex. Only for
    callers with `record.read`.
    """

    has_message: bool = field(name="hasMessage")
    """Whether the last message is kept as a whole, so that it can become the first records of the
    device: see `POST /device/unknown`.
    """


class UnknownDeviceConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of unknown devices."""

    items: list[UnknownDevice]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class UpdateConnectorInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a connector."""

    connector_id: str = field(name="connectorId")
    """The id of the connector."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    name: str | None = None
    """The new name."""

    description: str | None = None
    """A text about it, for people."""

    type: str | None = None
    """The new connector type."""

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    device_ids: Sequence[str] | None = field(default=None, name="deviceIds")
    """Only records of these devices; empty for all."""

    message_filter: str | None = field(default=None, name="messageFilter")
    """CEL over `message`; records for which it is true are forwarded. Empty: all."""

    data_failure_policy: DataFailurePolicyInput | None = field(
        default=None, name="dataFailurePolicy"
    )
    """How long dead letters are kept."""

    retry_policy: Any = field(default=None, name="retryPolicy")
    """How to retry; an empty string restores the default."""

    format: Literal["cloudevents", "custom", "json", "raw"] | None = None
    """How a record is encoded in a message."""

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    json_fields = ("params",)

    time_fields = ("if_updated_at",)


class UpdateContactPointInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a contact point."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    contact_point_id: str = field(name="contactPointId")
    """The id of the contact point."""

    name: str | None = None
    """Its name."""

    type: str | None = None
    """The contact point type: `email`, `webhook`, `push`, `chat` or `rota`."""

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    description: str | None = None
    """A text about it, for people."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    json_fields = ("params",)

    time_fields = ("if_updated_at",)


class UpdateGroupAppClient(Model, frozen=True, kw_only=True, omit_defaults=True):
    """An app client after it was renamed."""

    app_client_id: str = field(name="appClientId")
    """The id of the app client: its client id at the token endpoint."""

    secret: str
    """The client secret for the token endpoint."""

    name: str
    """The new name."""

    expiration: int | None = None
    """Seconds since 1970."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    role_id: str | None = field(default=None, name="roleId")
    """The role that it acts with. Absent: the default role of the group."""


class UpdateNotificationInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a notification."""

    notification_id: str = field(name="notificationId")
    """The id of the notification."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    params: JsonText | None = None
    """A JSON object, as described by the type's `expectedParameters`."""

    name: str | None = None
    """The new name."""

    description: str | None = None
    """A text about it, for people."""

    type: str | None = None
    """The new notification type."""

    device_id: str | None = field(default=None, name="deviceId")
    """Only records of this device; empty for all."""

    reason: str | None = None
    """The `reason` of a data record, the `type` of an event, or one that the service raises
    itself. Left out or empty, every event triggers it.
    """

    schedule: Any = None
    """When it may be sent, in the time zone of `params`. An object, or a string in the form of the
    responses; an empty string removes it.
    """

    enabled: bool | None = None
    """Whether it works; a disabled one does nothing, and is kept."""

    device_types: Sequence[str] | None = field(default=None, name="deviceTypes")
    """Only devices of these types; empty for all."""

    tags: Sequence[str] | None = None
    """Free words to find it by."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    json_fields = ("params",)

    time_fields = ("if_updated_at",)


class UpdateReportInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to a report."""

    group_id: str = field(name="groupId")
    """The id of the group."""

    report_id: str = field(name="reportId")
    """The id of the report."""

    name: str | None = None
    """What it is called, in the subject of its mails."""

    content: Literal["alarms", "devices", "records", "series"] | None = None
    """What is in it: records that arrived in the period, numbers of a measurement in it, the
    devices as they are now, or alarms that were raised in it.
    """

    parameters: Mapping[str, Any] | None = None
    """What to choose, as in the query of `GET /records/export`, `GET /group/series`, `GET
    /devices/export` or `GET /group/alarms`; without dates, formats and pages.
    """

    every: Literal["day", "month", "week"] | None = None
    """How often, and the period that it is about: the day, the week from Monday to Sunday or the
    month before. A weekly one is sent on Mondays, a monthly one on the first.
    """

    at: str | None = None
    """When, on the clock of `timezone`. Where that leaves the time out, it is sent when the clock
    is changed, and where it shows it twice, the first time.
    """

    timezone: str | None = None
    """Whose days it is about: a name of the IANA database."""

    format: Literal["csv", "xlsx"] | None = None
    """Of the file."""

    to: ReportContact | None = None
    """To whom it goes."""

    enabled: bool | None = None
    """Whether it is sent."""

    if_updated_at: When | None = field(default=None, name="ifUpdatedAt")
    """The `updatedAt` that the update is based on; 409 if there is another by now."""

    time_fields = ("if_updated_at",)


class User(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A user, as seen by themselves; `devices` is the push token registered last."""

    id: str | None = None
    """The id of the user."""

    email: str | None = None
    """An e-mail address."""

    name: str | None = None
    """What the user is called."""

    seen_at: datetime | None = field(default=None, name="seenAt")
    """When they used the service last."""

    first_name: str | None = field(default=None, name="firstName")
    """The first name."""

    last_name: str | None = field(default=None, name="lastName")
    """The last name."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    updated_at: datetime | None = field(default=None, name="updatedAt")
    """When it was changed last."""

    gender: str | None = None
    """As the user writes it."""

    language: str | None = None
    """In which the service writes to them; English for none."""

    devices: VendorToken | None = None
    """The push token that was registered last."""


class UserChange(Input, frozen=True, kw_only=True, omit_defaults=True):
    """Changes to the caller's own user."""

    gender: str | None = None
    """As the user writes it."""

    name: str | None = None
    """What the user is called."""

    first_name: str | None = field(default=None, name="firstName")
    """The first name."""

    last_name: str | None = field(default=None, name="lastName")
    """The last name."""

    language: Literal["de", "en", "fr"] | None = None
    """In which the service writes to them; English for none."""


class UserConnection(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A page of users."""

    items: list[PublicUser]
    """The items of this page."""

    next_token: str | None = field(default=None, name="nextToken")
    """There is a next page: send it in the same request. Absent on the last page."""


class UserInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A user to create."""

    email: str
    """An e-mail address."""

    last_name: str = field(name="lastName")
    """The last name."""

    firstname: str | None = None
    """The first name; with a small n in this request only."""

    language: Literal["de", "en", "fr"] | None = None
    """In which the service writes to them; English for none."""


class VendorAcknowledgeCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A message of the vendor's network: acknowledge."""

    device: Any = None
    """The id of the device in the network, in hex."""

    time: Any = None
    """When the message was received; seconds or milliseconds since 1970, or RFC 3339."""

    info_code: Any = field(default=None, name="infoCode")
    """The code of what became of a downlink."""

    info_message: Any = field(default=None, name="infoMessage")
    """The same in words."""

    downlink_ack: Any = field(default=None, name="downlinkAck")
    """Whether the device has received the downlink."""


class VendorDataAdvancedCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A message of the vendor's network: dataAdvanced."""

    device: Any = None
    """The id of the device in the network, in hex."""

    time: Any = None
    """When the message was received; seconds or milliseconds since 1970, or RFC 3339."""

    seq_number: Any = field(default=None, name="seqNumber")
    """The frame counter."""

    link_quality: Any = field(default=None, name="linkQuality")
    """From 0 to 3; the `score` of the telemetry."""

    computed_location: Any = field(default=None, name="computedLocation")
    """The position that the network has computed; the radius is in metres."""


class VendorDataCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A message of the vendor's network: data."""

    device: Any = None
    """The id of the device in the network, in hex."""

    time: Any = None
    """When the message was received; seconds or milliseconds since 1970, or RFC 3339."""

    data: Any = None
    """The payload: in hex, or of ChirpStack in base64."""

    seq_number: Any = field(default=None, name="seqNumber")
    """The frame counter."""

    ack: Any = None
    """Of the vendor: the device asks for a downlink. Of LORIOT: it acknowledges one."""


class VendorErrorCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A message of the vendor's network: error."""

    device: Any = None
    """The id of the device in the network, in hex."""

    time: Any = None
    """When the message was received; seconds or milliseconds since 1970, or RFC 3339."""

    severity: Any = None
    """`WARN` or `ERROR`."""

    info: Any = None
    """What is wrong."""


class VendorInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """The registration of a device at the vendor's network."""

    id: str
    """The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 hex digits;
    separators and `0x` are left out.
    """

    device_type_id: str = field(name="deviceTypeId")
    """The id of the device type at the vendor's network."""

    device_name: str = field(name="deviceName")
    """The name of the device at the vendor's network."""

    pac: str
    """Not returned by any operation."""

    activable: bool | None = None
    """Passed on to the vendor's network: whether the device can be activated."""

    automatic_renewal: bool | None = field(default=None, name="automaticRenewal")
    """Passed on to the vendor's network: whether its subscription is renewed."""

    lat: float | None = None
    """The latitude in degrees where it is installed."""

    lng: float | None = None
    """The longitude in degrees where it is installed."""


class VendorStatusCallback(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A message of the vendor's network: status."""

    device: Any = None
    """The id of the device in the network, in hex."""

    time: Any = None
    """When the message was received; seconds or milliseconds since 1970, or RFC 3339."""

    seq_number: Any = field(default=None, name="seqNumber")
    """The frame counter."""

    batt: Any = None
    """The voltage of the battery."""

    temp: Any = None
    """The temperature of the device in degrees Celsius."""


class VendorToken(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A push token linked to a user."""

    token: str | None = None
    """The push token."""

    type: str | None = None
    """`webpush` for a browser, else `fcm`."""

    created_at: datetime | None = field(default=None, name="createdAt")
    """When it was created."""

    created_by: str | None = field(default=None, name="createdBy")
    """The id of the user or app client that created it; `system` for the service itself."""

    device_name: str | None = field(default=None, name="deviceName")
    """What the user calls the phone or browser."""

    enabled: bool | None = None
    """Whether it is used; one that the push service rejects is not."""


class VendorTokenInput(Input, frozen=True, kw_only=True, omit_defaults=True):
    """A push token to register for the caller."""

    token: str
    """The push token of a phone, or the subscription object of a browser as JSON."""

    device_name: str | None = field(default=None, name="deviceName")
    """What the user calls the phone or browser."""


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

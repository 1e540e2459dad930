// The values of the API. Made by scripts/generate.py; do not edit.
import type { When } from "./transport.js";

/** Whether a permission is held, and why. */
export interface Access {
  /** Whether it is held. */
  isAllowed: boolean;
  /** As asked. */
  permission: string;
  /** Who: a user, or the calling app client. */
  userId: string;
  /** Operators hold everything. */
  isOperator?: boolean;
  /** The groups from the root to this one; roles on it add up. */
  path: AccessStep[];
  /** Roles that have the permission, at most 20. */
  roles: AccessRole[];
  /** Who could grant it, at most 5, the nearest first; if it is not held. */
  askable: AskableUser[];
}

/** A role. */
export interface AccessRole {
  /** Its id. */
  roleId: string;
  /** Its name. */
  name: string;
}

/** A group on the path, and the role that the user has in it. */
export interface AccessStep {
  /** The id of the group. */
  groupId: string;
  /** Whether the role has the permission. */
  holds: boolean;
  /** Its name. */
  name?: string;
  /** The role of the user in this group, if there is one. */
  role?: AccessRole;
}

/** Which alarm, and what is said about it. */
export interface Acknowledgement {
  /** The group of the alarm. */
  groupId: string;
  /** The id of the alarm. */
  alarmId: string;
  /** What is said about it. */
  comment?: string;
}

/** ActorKind */
export type ActorKind = "client" | "network" | "system" | "user";

/** What is or was wrong with a device or a connector, as a notification says it. */
export interface Alarm {
  /** Its id. */
  id: string;
  /** The group of the device or the connector. */
  groupId: string;
  /** The id of the notification. */
  notificationId: string;
  /** The name of the notification. */
  notificationName?: string;
  /**
   * Of its notification: `measurement`, `deviceSilent`, `batteryLow`, `configurationDrift`,
   * `geofenceEnter`, `geofenceExit`, `connectorFailing` or `messagesFailed`.
   */
  reason: string;
  /** The id of the device. */
  deviceId?: string;
  /** The name of the device, while it is in the group. */
  deviceName?: string;
  /** The id of the connector. */
  connectorId?: string;
  /** The name of the connector. */
  connectorName?: string;
  /** That of its notification when it was raised. */
  severity: Severity;
  /** `raised`, `acknowledged` or `resolved`. */
  state: AlarmState;
  /** When its condition had been met for long enough. */
  raisedAt: string;
  /** Of the condition on a value, as its notification has it now; none while that is disabled. */
  measurement?: string;
  /** The limit of it. */
  above?: number;
  /** The limit of it. */
  below?: number;
  /** That was in force then; only for callers with `record.read`. */
  value?: number;
  /** The highest or lowest since. */
  worstValue?: number;
  /** When somebody acknowledged it. */
  acknowledgedAt?: string;
  /** The id of the user or app client that acknowledged it. */
  acknowledgedBy?: string;
  /** What was said then. */
  comment?: string;
  /** When it was resolved. */
  resolvedAt?: string;
  /** Why, if no value or observation has resolved it. */
  resolution?: string;
  /** When messages about it were queued last. */
  notifiedAt?: string;
  /**
   * The silence that has held messages about it back, of several the last one; perhaps of a group
   * above.
   */
  silenceId?: string;
  /** Its notification is disabled: nobody looks whether it is resolved. */
  isNotificationDisabled?: boolean;
}

/** AlarmChangeType */
export type AlarmChangeType = "alarm.acknowledged" | "alarm.raised" | "alarm.resolved";

/** A page of alarms. */
export interface AlarmConnection {
  /** The items of this page. */
  items: Alarm[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** How many alarms are open. */
export interface AlarmCounts {
  /** All that are not resolved. */
  total: number;
  /** Those of them that are acknowledged. */
  acknowledged: number;
  /** By severity. */
  critical: number;
  /** By severity. */
  warning: number;
  /** By severity. */
  info: number;
}

/** An alarm that would have been raised. */
export interface AlarmInterval {
  /** When the condition had been met for long enough. */
  raisedAt: string;
  /** Absent if it was open at the end. */
  resolvedAt?: string;
  /** That was in force when it was raised. */
  value?: number;
  /** The highest or lowest since. */
  worstValue?: number;
}

/** An alarm that was raised, acknowledged or resolved, for connectors that ask for `alarm`. */
export interface AlarmMessage {
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The kind of the record. */
  kind: MessageKind;
  /** What became of it. */
  type: AlarmChangeType;
  /** Absent if it is about a connector. */
  deviceId?: string;
  /** When that was. */
  timestamp: string;
  /** Of the device or the connector. */
  groupId: string;
  /** The id of the alarm. */
  alarmId: string;
  /** The id of the notification. */
  notificationId: string;
  /** Instead of a device. */
  connectorId?: string;
  /** Of the notification. */
  reason: string;
  /** How bad it is, in any words; networks and the service use `info`, `warning` and `error`. */
  severity: string;
  /** That has a limit. */
  measurement?: string;
  /** The limit. */
  above?: number;
  /** The limit. */
  below?: number;
  /** When it was raised. */
  raisedAt: string;
  /** When it was raised. */
  value?: number;
  /** Until then. */
  worstValue?: number;
  /** When it was acknowledged. */
  acknowledgedAt?: string;
  /** The id of a user. */
  acknowledgedBy?: string;
  /** Of who has acknowledged it. */
  comment?: string;
  /** When it was resolved. */
  resolvedAt?: string;
  /** Why, if no value has resolved it. */
  resolution?: string;
  /** The name of the device when the record arrived, or that in the record. */
  deviceName?: string;
  /** The type of the device when the record arrived, or that in the record. */
  deviceType?: string;
  /** The tags of the device when the record arrived. */
  tags?: string[];
}

/** AlarmState */
export type AlarmState = "acknowledged" | "raised" | "resolved";

/** Whose records to delete. */
export interface AllRecords {
  /** The id of the device whose records are deleted. */
  deviceId: string;
}

/** The new name of an app client, or another role. */
export interface AppClientChange {
  /** The present name. */
  name: string;
  /** The new name. */
  newName: string;
  /** The id of the group. */
  groupId: string;
  /** Empty or null for the group's default role. */
  roleId?: string;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A page of app clients. */
export interface AppClientConnection {
  /** The items of this page. */
  items: ListedAppClient[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** An app client to create. */
export interface AppClientInput {
  /** The id of the group. */
  groupId: string;
  /** The name of the app client, which is unique in the group. */
  name: string;
  /** What it is for. */
  description?: string;
  /** Seconds since 1970. */
  expiration?: number;
  /** The role that it acts with. Absent: the default role of the group. */
  roleId?: string;
}

/** A record, and how it came in. */
export interface Arrival {
  /** Identifies the record; greater for what arrived later. */
  id: string;
  /** When the record was stored. */
  arrivedAt: string;
  /** The kind of the record. */
  kind: RecordKind;
  /** The current name of the device; absent if it has left the group. */
  deviceName?: string;
  /**
   * How it came in: `api`, `batch`, `mqtt`, the name of a network, or `system` for an event of the
   * service itself.
   */
  source: ArrivalSource;
  /** As the list of its kind has it. */
  record: DeviceData | DeviceEvent | DeviceGeoloc | DeviceTelemetry;
}

/** A page of arrivals. */
export interface ArrivalConnection {
  /** The items of this page. */
  items: Arrival[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
  /** How many arrivals were looked at for this page, at most 5000. */
  lookedAt: number;
}

/** ArrivalSource */
export type ArrivalSource = "api" | "batch" | "chirpstack" | "loriot" | "mqtt" | "system" | "thingpark" | "ttn" | "vendor";

/** Somebody who can grant the permission. */
export interface AskableUser {
  /** Their id. */
  userId: string;
  /** Their address. */
  email: string;
  /** Their name. */
  name?: string;
}

/** How long attempts took, in milliseconds; estimated by counts in twelve ranges. */
export interface AttemptDurations {
  /** Half of them took no longer. */
  p50: number;
  /** 95 of 100 took no longer. */
  p95: number;
  /** The longest one. */
  max: number;
}

/** AttemptOutcome */
export type AttemptOutcome = "delivered" | "egress_denied" | "gone" | "internal_error" | "invalid_message" | "limit_exceeded" | "login_rejected" | "not_configured" | "orphaned" | "quota_used_up" | "recipient_gone" | "rejected" | "stopped" | "timed_out" | "tls_failed" | "unreachable" | "withdrawn";

/** Something that needs attention. */
export interface Attention {
  /**
   * `connectorFailing`, `deadLetters`, `filterFailing` or `conditionFailing` (a filter of a
   * connector, or `when` of a notification, that cannot be evaluated for most records),
   * `devicesSilent`, `batteryLow`, `configurationDrift`, `unknownDevices` (that reported, but do
   * not exist in the group) or `rejectedMessages` (of devices of the group).
   */
  what: AttentionKind;
  /** The id of the group. */
  groupId: string;
  /** The connector or notification. */
  id?: string;
  /** Its name. */
  name?: string;
  /** How many devices or messages. */
  count?: number;
  /** Of how many of the last records, for a filter. */
  total?: number;
  /**
   * When the connector or the filter began to fail, or the first device became silent, began to
   * drift, or was reported.
   */
  since?: string;
  /** The last error. */
  detail?: string;
}

/** AttentionKind */
export type AttentionKind = "batteryLow" | "conditionFailing" | "configurationDrift" | "connectorFailing" | "deadLetters" | "devicesSilent" | "filterFailing" | "rejectedMessages" | "unknownDevices";

/** Who did what to which object, and in which request. */
export interface AuditEntry {
  /** Identifies the entry. */
  id: string;
  /** When it was done. */
  timestamp: string;
  /** `user`, `client`, `network` or `system`. */
  actorKind: ActorKind;
  /** The id of the user or app client that acted. */
  actorId: string;
  /** If you may see the user or app client. */
  actorName?: string;
  /**
   * Who was shown the sign-in link of the actor's session, and may be who did it; left out if the
   * actor signed in by themselves.
   */
  issuedBy?: string;
  /** If you may see this user. */
  issuerName?: string;
  /** What was done: the kind of object and a verb. */
  action: string;
  /** The id of what was changed. */
  objectId: string;
  /** Its name at that time. */
  objectName?: string;
  /** The id of the group. */
  groupId: string;
  /** The `X-Request-Id` of the request. */
  requestId: string;
  /** What else is to be said. */
  detail?: string;
  /** The fields that changed, as they were before or after; secrets are masked. */
  before?: Record<string, unknown>;
  /** The fields that changed, as they were before or after; secrets are masked. */
  after?: Record<string, unknown>;
  /** Fields that changed, too, and are too large for the audit log. */
  omittedFields?: string[];
  /** The address of the caller; for operators. */
  address?: string;
}

/** A page of the audit log. */
export interface AuditEntryConnection {
  /** The items of this page. */
  items: AuditEntry[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** The endpoints for tokens, and what they support. */
export interface AuthorizationServerMetadata {
  /** The URL of the service. */
  issuer: string;
  /** Where access tokens are issued. */
  token_endpoint: string;
  /** Where they are revoked. */
  revocation_endpoint: string;
  /** Where they are introspected. */
  introspection_endpoint: string;
  /** A page about the API. */
  service_documentation: string;
  /** The grants. */
  grant_types_supported?: string[];
  /** Empty: there is no authorization endpoint. */
  response_types_supported?: string[];
  /** How a client authenticates there. */
  token_endpoint_auth_methods_supported?: string[];
  /** How a client authenticates there. */
  revocation_endpoint_auth_methods_supported?: string[];
  /** How a client authenticates there. */
  introspection_endpoint_auth_methods_supported?: string[];
}

/** What was looked at for an answer. */
export interface BacktestExamined {
  /** That it may be about. */
  devices: number;
  /** That were read. */
  records: number;
  /** Days, and quarters of an hour, of which no record had to be read. */
  summaries: number;
  /** Records for which the expression had no value. */
  failed?: number;
}

/** Which notification, stored or not, and which range of time. */
export interface BacktestInput {
  /** The id of the group. */
  groupId: string;
  /** One that is not stored, as `POST /notification` takes it; or `notificationId`. */
  notification?: NotificationDraftInput;
  /** A stored one of this group. */
  notificationId?: string;
  /** It is as if it had been created then. */
  beginDate: When;
  /** The end of the range, at most 366 days behind its begin. */
  endDate: When;
  /** How many devices are examined at most. */
  limit?: number;
  /** The nextToken of the answer before. */
  nextToken?: string;
}

/** The alarms that a notification would have raised, by device. */
export interface BacktestResult {
  /** Devices with alarms. */
  items: BacktestedDevice[];
  /** How many messages would have been sent, each to every recipient. */
  messages: number;
  /** What was looked at for this answer. */
  examined: BacktestExamined;
  /** If older records of a device are not kept: from when on they are. */
  examinedFrom?: string;
  /**
   * If the last device has more records than one request reads: until when it was examined.
   * `nextToken` goes on there.
   */
  examinedUntil?: string;
  /** If there is more to examine. */
  nextToken?: string;
}

/** The alarms of a device. */
export interface BacktestedDevice {
  /** The id of the device. */
  deviceId: string;
  /** By time. */
  alarms: AlarmInterval[];
}

/** The outcome of a batch. */
export interface BatchReturn {
  /** What was done, in words. */
  message: string;
  /** How many records are new. */
  stored: number;
  /** How many were stored before, and are therefore not stored again. */
  duplicates: number;
}

/** Changes to many devices. */
export interface BulkChange {
  /** The id of the group. */
  groupId: string;
  /** Ids of devices. */
  deviceIds: string[];
  /** Tags to add. */
  addTags?: string[];
  /** Tags to remove. */
  removeTags?: string[];
  /** The device type. */
  type?: string;
  /** The new configuration of each of the devices, any text. */
  configuration?: string;
}

/** Which devices to delete. */
export interface BulkDelete {
  /** Ids of devices. */
  deviceIds: string[];
  /** The id of the group. */
  groupId: string;
}

/** Which devices to transfer, and to which group. */
export interface BulkTransfer {
  /** Ids of devices. */
  deviceIds: string[];
  /** The id of the group that the devices are in. */
  groupId: string;
  /** The id of the group to transfer to. */
  toGroupId: string;
}

/** CalendarSpan */
export type CalendarSpan = "day" | "hour" | "month" | "week" | "year";

/** Messages by their ids, or those of a connector by a filter; not both. */
export interface CancelMessagesInput {
  /** The id of the group. */
  groupId: string;
  /** Messages of this group. */
  ids?: string[];
  /** Only of this connector. */
  connectorId?: string;
  /** Only about this device. */
  deviceId?: string;
  /** Only messages of this kind. */
  kind?: MessageKind;
  /** Last changed from then on. */
  beginDate?: When;
  /** Last changed before. */
  endDate?: When;
}

/** Take an event of ChirpStack's HTTP integration. */
export interface ChirpstackCallback {
  /** The device: its `devEui`, name and tags. */
  deviceInfo?: unknown;
  /** When the message was received; seconds or milliseconds since 1970, or RFC 3339. */
  time?: unknown;
  /** The frame counter. */
  fCnt?: unknown;
  /** The LoRaWAN port. */
  fPort?: unknown;
  /** The payload: in hex, or of ChirpStack in base64. */
  data?: unknown;
  /** The gateways that received the message. */
  rxInfo?: unknown;
}

/** ChirpstackEvent */
export type ChirpstackEvent = "ack" | "integration" | "join" | "location" | "log" | "status" | "txack" | "up";

/** A record or a change, as a connector sends it in the format `cloudevents` (version 1.0). */
export interface CloudEventMessage {
  /** Of CloudEvents. */
  specversion: CloudEventsVersion;
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The group and the device, or the connector that an alarm is about. */
  source: string;
  /** `longwire.device.` and the kind of the record; of a change, `longwire.` and its `type`. */
  type: string;
  /** The id of the device or the connector. */
  subject: string;
  /** The timestamp of the record or the change. */
  time: string;
  /** Of `data`. */
  datacontenttype: string;
  /** The message of the format `json`, without its `id`. */
  data: Record<string, unknown>;
}

/** CloudEventsVersion */
export type CloudEventsVersion = "1.0";

/** An example of the maker, and what the codec makes of it. */
export interface CodecExampleResult {
  /** What its maker calls it. */
  name: string;
  /** Which one is called. */
  function: CodecFunction;
  /** Whether the codec does what is expected. */
  isPassed: boolean;
  /** What the codec gets. */
  input: Record<string, unknown>;
  /** What its maker says that it returns. */
  expected: Record<string, unknown>;
  /** What the codec returns; `errors` says why there is nothing. */
  actual: Record<string, unknown>;
}

/** CodecFunction */
export type CodecFunction = "decodeDownlink" | "decodeUplink" | "encodeDownlink";

/** A value that a device reports otherwise than it should be. */
export interface ConfigurationDifference {
  /** A JSON pointer (RFC 6901). */
  path: string;
  /** Any JSON value. */
  expected: unknown;
  /** What the device reports; left out if it does not. */
  reported?: unknown;
}

/** What a group or a device type wants of the configuration of its devices. */
export interface ConfigurationPolicy {
  /** A JSON merge patch (RFC 7396): null removes a member. Empty: no policy. */
  policy: Record<string, unknown>;
  /** When it was changed last. */
  updatedAt?: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy?: string;
}

/** ConfigurationSource */
export type ConfigurationSource = "default" | "device" | "group" | "type";

/** A value, and where it is from. */
export interface ConfigurationValue {
  /** A JSON pointer (RFC 6901). */
  path: string;
  /** Any JSON value. */
  value: unknown;
  /** `default` of the type, policy of the `type` or a `group`, or the `device` itself. */
  source: ConfigurationSource;
  /** The type, group or device; without a group that you cannot see. */
  sourceId?: string;
}

/** Where a group's records are forwarded to, and which of them. */
export interface Connector {
  /** The id of the group. */
  groupId: string;
  /** The id of the connector. */
  id: string;
  /** The name of the connector. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /**
   * A JSON object in a string, as the type's `expectedParameters` describes it; secrets are masked
   * for callers who may not change it.
   */
  params: string;
  /** The connector type. */
  type: string;
  /** When it was created. */
  createdAt: string;
  /** When it was changed last. */
  updatedAt: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy: string;
  /**
   * The last failure, also after later successes; `GET /connector/health` says how the connector
   * is now.
   */
  error?: ConnectorError;
  /** Its filter cannot be evaluated for most records. Absent if it can. */
  filterFailing?: FilterFailing;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Only records of these devices; empty for all. */
  deviceIds?: string[];
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
  /** CEL over `message`; records for which it is true are forwarded. */
  messageFilter?: string;
  /** How a record is encoded in a message. */
  format?: MessageFormat;
  /** How long dead letters are kept. */
  dataFailurePolicy?: DataFailurePolicy;
  /** How often a delivery is retried; without it, five attempts in about two hours. */
  retryPolicy?: RetryPolicy;
  /** Free words to find it by. */
  tags?: string[];
  /** While the signing secret is rotated: until when the one before it signs as well. */
  previousSecretUntil?: string;
}

/** A page of connectors; the interface names the list `test`. */
export interface ConnectorConnection {
  /** The connectors of this page; all other lists have `items`. */
  test: Connector[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** How many connectors there are, and how many messages. */
export interface ConnectorCounts {
  /** All of them. */
  total: number;
  /** Those that are enabled. */
  enabled: number;
  /** Enabled ones whose last attempt failed. */
  failing: number;
  /** Messages to be sent or retried, counted up to 100,000. */
  waiting: number;
  /** Messages kept for a resend, up to 100,000. */
  deadLetters: number;
}

/** The last failure. */
export interface ConnectorError {
  /** When it failed. */
  at?: string;
  /** What failed. */
  message?: string;
  /**
   * When it began to fail: the first failed attempt since the last success. Absent if the last
   * attempt succeeded.
   */
  since?: string;
}

/** The status of one delivery. */
export interface ConnectorEvent {
  /** The id of the connector. */
  connectorId: string;
  /** When its status changed last. */
  timestamp?: string;
  /** `processing` until it is delivered (`succeed`) or given up (`failed`). */
  status?: DeliveryStatus;
  /** The id of the message, as a receiver gets it in `webhook-id`. */
  id?: string;
  /** The id of the device. */
  deviceId?: string;
  /** The kind of the record. */
  kind?: MessageKind;
  /** How often it was attempted. */
  attempts?: number;
  /** The error of the last attempt. */
  message?: string;
}

/** A page of deliveries; `stats` count the whole period. */
export interface ConnectorEventConnection {
  /** The items of this page. */
  items: ConnectorEvent[];
  /** The counts of the whole period. */
  stats: ConnectorEventStats;
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** The number of deliveries of the period, by status. */
export interface ConnectorEventStats {
  /** Messages that are not delivered yet. */
  totalStillProcessing?: number;
  /** Messages that were delivered. */
  totalSucceed?: number;
  /** Messages that were given up. */
  totalFailed?: number;
}

/** Messages of a connector whose last attempt failed in the same way. */
export interface ConnectorFailure {
  /** Why, in our words. */
  message: string;
  /** As in `attempts` of a message. */
  code?: AttemptOutcome;
  /** Of the HTTP response. */
  status?: number;
  /** How many messages. */
  count: number;
  /** Of these: kept for a resend. */
  deadLetters: number;
  /** Of these: attempted again, or waiting for it. */
  waiting: number;
  /** Of these: given up, and not or no longer kept. */
  lost: number;
  /** How many devices they are about. */
  devices: number;
  /** When the first of them failed the last time. */
  firstAt: string;
  /** When the last of them failed. */
  lastAt: string;
  /** When the first of the dead letters expires. */
  keptUntil?: string;
  /**
   * One of the newest, for an example: of those whose request and response were kept, if there are
   * any.
   */
  messageId: string;
}

/** What fails at a connector. */
export interface ConnectorFailures {
  /** By error, most first; up to 50. */
  items: ConnectorFailure[];
  /**
   * More messages changed in the period than were looked at: the newest 2,000 dead letters, 2,000
   * that wait, and 2,000 others.
   */
  isMore: boolean;
}

/** How a connector is at the moment. */
export interface ConnectorHealth {
  /** Failed attempts in a row, since the last success. */
  failures: number;
  /** Queued messages, up to 10,000. */
  waiting: number;
  /**
   * Of those that wait: for an earlier message of their device, because the connector is ordered;
   * up to 10,000.
   */
  heldBack: number;
  /** Of those that wait: due, and held up by `maxPerSecond` alone; up to 10,000. */
  rateLimited: number;
  /** Messages kept for a resend, up to 10,000. */
  deadLetters: number;
  /** The first of these attempts; absent if the last one succeeded. */
  failingSince?: string;
  /**
   * When the receiver gets a message again, at the earliest: the next one is due, and the time
   * that the receiver has asked for is over. Absent if nothing waits, or it neither fails nor
   * holds messages back.
   */
  nextAttemptAt?: string;
}

/** A connector to create. */
export interface ConnectorInput {
  /** The id of the group. */
  groupId: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params: string;
  /** The connector type: `http`, `mqtt`, `nats`, `amqp` or `kafka`. */
  type: string;
  /** The id of the connector; made by the service if it is left out. */
  id?: string;
  /** The name of the connector. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Only records of these devices; empty for all. */
  deviceIds?: string[];
  /** CEL over `message`; records for which it is true are forwarded. Empty: all. */
  messageFilter?: string;
  /** How a record is encoded in a message. */
  format?: MessageFormat;
  /** How long dead letters are kept. */
  dataFailurePolicy?: DataFailurePolicyInput;
  /** How often a delivery is retried; without it, five attempts in about two hours. */
  retryPolicy?: RetryPolicyInput;
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
  /** Free words to find it by. */
  tags?: string[];
}

/** What happened in one span of time. */
export interface ConnectorMetric {
  /** The begin of the span. */
  timestamp: string;
  /** Messages queued for records. */
  made?: number;
  /** Messages delivered. */
  succeeded?: number;
  /** Messages given up after their last attempt. */
  failed?: number;
  /** Attempts after the first, or of a message sent again. */
  retried?: number;
  /** Messages that waited when they were last counted in the span. */
  waiting?: number;
  /** How long attempts took; absent without attempts. */
  ms?: AttemptDurations;
}

/** Connectors over time. */
export interface ConnectorMetrics {
  /** In whole minutes, or hours. */
  beginDate: string;
  /** In whole minutes, or hours. */
  endDate: string;
  /** Seconds per item. */
  timeSpan: number;
  /** Without gaps, from `beginDate` on. */
  items: ConnectorMetric[];
}

/** Which connector, of which group. */
export interface ConnectorRef {
  /** The id of the connector. */
  connectorId: string;
  /** The id of the group. */
  groupId: string;
}

/** Which connector or draft, and which record; a sample, unless `recordId` names one. */
export interface ConnectorTestInput {
  /** The id of the group. */
  groupId: string;
  /** Required without a draft. */
  connectorId?: string;
  /** Changes to the connector that are not saved, or a whole one. */
  draft?: TestDraft;
  /**
   * A stored record of the group, or of a group below it if `subgroups` is set. Requires
   * `record.read`.
   */
  recordId?: string;
  /** The kind of the sample. */
  kind?: RecordKind;
  /** The `data` of the sample. */
  data?: string;
}

/** What became of a test message. */
export interface ConnectorTestReply {
  /** Whether the receiver has confirmed it. */
  delivered: boolean;
  /** `delivered`, or why not, as in `attempts` of a message. */
  outcome: AttemptOutcome;
  /** Why it was not delivered. */
  reason?: string;
  /** How long it took. */
  durationMs: number;
  /**
   * How far it came: `resolve` (the host name), `connect`, `proxy`, `tls`, `request` (sent, and no
   * response has begun), `response` (its head has arrived) or `complete`. Absent for what is no
   * HTTP.
   */
  phase?: ExchangePhase;
  /** What was sent; absent if the message could not be built. */
  request?: ExchangeRequest;
  /** What came back, of HTTP alone; absent if no response began. */
  response?: ExchangeResponse;
}

/**
 * A connector that forwards records of the group: its message, or why it has none.
 *
 *     And once more for each alarm that the record has raised or resolved, and that it was sent.
 */
export interface ConnectorTrace {
  /** The id of the connector. */
  connectorId: string;
  /** The name of the connector. */
  name?: string;
  /** Its message about the record. */
  message?: Message;
  /**
   * Why it has no message: `disabled`, `created_later` (than the record arrived), `kind`,
   * `device_type`, `device_id`, `filter_false`, `filter_failed`, `not_evaluated` (its filter takes
   * too long here), or `matches_now`: it would take the record now, but was changed since, is
   * still to be asked, or the message is no longer stored.
   */
  notTaken?: NotTaken;
  /** `now`: by what the connector is at present; earlier filters are not stored. */
  asOf?: string;
}

/** A type of destination and its parameters. */
export interface ConnectorType {
  /** The parameters in `params`, as a JSON Schema in a string. */
  expectedParameters: string;
  /** The word that connectors refer to it by. */
  type: string;
  /** The formats that it can send. */
  formatAvailable?: MessageFormat[];
  /** Its name for people. */
  name?: string;
}

/** A page of connector types. */
export interface ConnectorTypeConnection {
  /** The items of this page. */
  items: ConnectorType[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** What a page needs to know before anybody has signed in. */
export interface ConsoleSettings {
  /** The version of the service. */
  version: string;
  /** The ways to sign in. */
  signIn: string[];
  /** Whether links can be mailed. */
  mail: boolean;
  /** What the OpenID provider is called. */
  oidcName?: string;
  /** Where the operator's map tiles are, if they are on a server. */
  mapTiles?: string;
  /**
   * The PMTiles file that the operator has added, in the folder `map` of the console; it is read
   * in parts. Without it and `mapTiles` there is the built-in map only.
   */
  mapFile?: string;
  /** Whom the map names as the source of the tiles, as plain text. */
  mapAttribution?: string;
}

/** Recipients with a name; of one of a group above only what is needed to choose it. */
export interface ContactPoint {
  /** The group that it belongs to. */
  groupId: string;
  /** The id of the contact point. */
  id: string;
  /** Its name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** The contact point type: `email`, `webhook`, `push`, `chat` or `rota`. */
  type: string;
  /**
   * A JSON object in a string, as the type's `expectedParameters` describes it; secrets are masked
   * for callers who may not change it. Absent if it is shared by a group above in which the caller
   * has no `notification.read`.
   */
  params?: string;
  /** Of a rota: who would be notified now, the fallback if nobody is on. */
  onCall?: string[];
  /** When it was created. */
  createdAt?: string;
  /** When it was changed last. */
  updatedAt?: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy?: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy?: string;
  /** When a message was delivered last. */
  lastSentAt?: string;
  /** The last failure. */
  error?: ContactPointError;
}

/** A page of contact points. */
export interface ContactPointConnection {
  /** The items of this page. */
  items: ContactPoint[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** The last failure. */
export interface ContactPointError {
  /** When it failed. */
  at?: string;
  /** What failed. */
  message?: string;
  /**
   * When it began to fail: the first failed attempt since the last success. Absent if the last
   * attempt succeeded.
   */
  since?: string;
}

/** A contact point to create. */
export interface ContactPointInput {
  /** The id of the group. */
  groupId: string;
  /** Its name. */
  name: string;
  /** The contact point type: `email`, `webhook`, `push`, `chat` or `rota`. */
  type: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params: string;
  /** A text about it, for people. */
  description?: string;
}

/** Which contact point, of which group. */
export interface ContactPointRef {
  /** The id of the group. */
  groupId: string;
  /** The id of the contact point. */
  contactPointId: string;
}

/** A contact point through which notifications were sent that the record caused. */
export interface ContactPointTrace {
  /** The id of the contact point. */
  contactPointId: string;
  /** Its name. */
  name?: string;
  /** One for each recipient. */
  deliveries: NotificationDelivery[];
}

/** A type of contact point and its parameters. */
export interface ContactPointType {
  /** A JSON Schema, as text. */
  expectedParameters: string;
  /** The contact point type: `email`, `webhook`, `push`, `chat` or `rota`. */
  type: string;
  /** Its name for people. */
  name: string;
  /** Why it cannot be used on this service, and what the operator sets for it. Absent if it can. */
  unavailable?: string;
}

/** A page of contact point types. */
export interface ContactPointTypeConnection {
  /** The items of this page. */
  items: ContactPointType[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** Which dead letters are kept for a resend. */
export interface DataFailurePolicy {
  /** Seconds that a dead letter is kept for a resend. */
  storingDuration?: number;
  /** Whether there are dead letters. */
  hasData?: boolean;
  /** When the oldest dead letter was given up. */
  startTime?: string;
  /** Whether dead letters are being resent. */
  resending?: boolean;
}

/** How many seconds dead letters are kept for a resend. */
export interface DataFailurePolicyInput {
  /** Seconds that a dead letter is kept for a resend. */
  storingDuration?: number;
}

/** A data record, as a connector sends it in the format `json`. */
export interface DataMessage {
  /** The id of the device. */
  deviceId: string;
  /** When it happened. */
  timestamp: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data: string;
  /** The configuration of the device when it reported. */
  configuration?: string;
  /** The payload as the network carried it, in hex; any text, or empty. */
  __raw?: string;
  /** The operating mode of the device, in its own words; the service does not interpret it. */
  mode?: string;
  /** Why the device reported, in its own words. */
  reason?: string;
  /** The id of the group. */
  groupId?: string;
  /** Members of `data` that come of decoding `__raw`; not sent in. */
  decodedNames?: string[];
  /** The type of the device when the record arrived, or that in the record. */
  deviceType: string;
  /** The name of the device when the record arrived, or that in the record. */
  deviceName: string;
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The kind of the record. */
  kind: RecordKind;
  /** The tags of the device when the record arrived. */
  tags: string[];
}

/** DecoderKind */
export type DecoderKind = "bits" | "cayenneLpp" | "javascript";

/** What a draft makes of each payload, newest first. */
export interface DecoderPreview {
  /** The items of this page. */
  items: DecoderPreviewItem[];
  /** Those that are declared of the type's decoded values, and those that would be found in them. */
  measurements: DecoderPreviewMeasurement[];
}

/** A draft, and the payloads to try it on. */
export interface DecoderPreviewInput {
  /** The device type. */
  type: string;
  /** The id of the group. */
  groupId: string;
  /** Without it, the decoder of the type is tried. */
  decoder?: DecoderKind;
  /** The bit format or the codec; Cayenne LPP has none. */
  decoderSource?: string;
  /** Only stored payloads of this device. */
  deviceId?: string;
  /** How many stored payloads; 20 by default. */
  limit?: number;
  /** Payloads to decode, instead of stored ones. */
  payloads?: GivenPayload[];
}

/** What the draft makes of one payload. */
export interface DecoderPreviewItem {
  /** Two hex digits a byte. */
  payload: string;
  /** The LoRaWAN port of the uplink. */
  fPort?: number;
  /** The timestamp of the stored record, or now. */
  timestamp: string;
  /** The id of the device. */
  deviceId?: string;
  /** The name of its device. */
  deviceName?: string;
  /** The values that are stored. */
  stored?: Record<string, unknown>;
  /** The values of the draft. */
  values?: Record<string, unknown>;
  /** Why there are none. */
  error?: string;
  /** CPU time of the draft. */
  milliseconds: number;
}

/** A measurement, and how many payloads give a value of it. */
export interface DecoderPreviewMeasurement {
  /** The name of the measurement. */
  name: string;
  /** Of which records. */
  kind: RecordKind;
  /** A JSON pointer (RFC 6901) in the records of that kind. */
  path: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /** How many decimals to show. */
  decimals?: number;
  /** A smaller number is no value of it. */
  minimum?: number;
  /** A larger number is no value of it. */
  maximum?: number;
  /** Whether it is declared, or would be found in records. */
  isDeclared: boolean;
  /** How many give a value of it; of a declared one maybe none. */
  payloads: number;
  /** How many give what is none: a word, or out of bounds. */
  invalid?: number;
}

/** What the decoder of the device's type made of the payload. */
export interface DecodingResult {
  /** The decoder that the type has now. */
  decoder?: string;
  /** Members of `data` that it added. */
  names: string[];
  /** Why it failed, while the reception is kept. */
  error?: string;
}

/** DeliveryStatus */
export type DeliveryStatus = "failed" | "processing" | "succeed";

/** A device; `seenAt` is in milliseconds since 1970. */
export interface Device {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group that it belongs to. */
  groupId: string;
  /** The name of the device. */
  name: string;
  /** The device type. */
  type: string;
  /** Which network carries the messages of the device. */
  network: string;
  /** The id of the device in its network. */
  originalId: string;
  /** The charge that was reported last: in percent without a unit, or the voltage. */
  battery?: string;
  /** When it was last seen, in milliseconds since 1970; absent before the first record. */
  seenAt?: number;
  /** When it was created. */
  createdAt: string;
  /** When it was changed last. */
  updatedAt: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy: string;
  /**
   * A JSON object in a string: the state of its registration at the vendor's network; `{}` without
   * one.
   */
  information?: string;
  /**
   * The configuration that the device should have, any text; of a new device the default of its
   * type.
   */
  configuration?: string;
  /** Free words to find it by. */
  tags?: string[];
  /** The current values that were asked for, by name. */
  values?: Record<string, unknown>;
}

/** A device to create here and to register at the vendor's network. */
export interface DeviceAtVendor {
  /** The device. */
  input: DeviceInput;
  /** Its registration at the vendor's network. */
  vendor: VendorInput;
}

/** Changes to a device. */
export interface DeviceChange {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group. */
  groupId: string;
  /** The new name. */
  name?: string;
  /** The new configuration, any text; a JSON object can be merged with policies. */
  configuration?: string;
  /** The new tags, in place of the old ones. */
  tags?: string[];
  /** The id of the new hardware, in its network. */
  originalId?: string;
  /** The network of the new hardware. */
  network?: string;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** The configuration that a device should have. */
export interface DeviceConfiguration {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group. */
  groupId: string;
  /** All policies merged. */
  configuration: Record<string, unknown>;
  /** Every value, with the place it is from. */
  values: ConfigurationValue[];
  /**
   * Whether the device's own `configuration` is a JSON object of at most 16,384 characters and 16
   * levels. If not, only the policies count.
   */
  ownConfigurationMerged: boolean;
  /** What the device reported last; with `record.read`. */
  reported?: Record<string, unknown>;
  /** When the device reported its configuration. */
  reportedAt?: string;
  /** Where that is not what it should be; at most 50. */
  drift?: ConfigurationDifference[];
}

/** A page of devices. */
export interface DeviceConnection {
  /** The items of this page. */
  items: Device[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** How many devices there are; of more than 1,000,000 only the total. */
export interface DeviceCounts {
  /** All of them. */
  total: number;
  /** Seen within the last hour. */
  seenHour?: number;
  /** Seen within the last day. */
  seenDay?: number;
  /** Not seen for longer than their configuration says. */
  silent?: number;
  /** Never seen. */
  never?: number;
  /** With less than 20 % of charge. */
  batteryLow?: number;
  /** That report another configuration than they should have. */
  drifting?: number;
}

/** What a device reported. */
export interface DeviceData {
  /** The id of the device. */
  deviceId: string;
  /** When the device reported. */
  timestamp: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data: string;
  /** The configuration of the device when it reported. */
  configuration?: string;
  /** The payload as the network carried it, in hex; any text, or empty. */
  __raw?: string;
  /** The device type. */
  deviceType?: string;
  /** The operating mode of the device, in its own words; the service does not interpret it. */
  mode?: string;
  /** Why the device reported, in its own words; notifications can wait for it. */
  reason?: string;
  /** The name of the device when the record arrived, unless it was sent along. */
  deviceName?: string;
  /** The id of the group that the device was in when the record arrived. */
  groupId?: string;
  /** Members of `data` that come of decoding `__raw`; not sent in. */
  decodedNames?: string[];
}

/** Several data records, stored together or not at all. */
export interface DeviceDataBatch {
  /** The items of this page. */
  items: DeviceDataInput[];
}

/** A page of data records. */
export interface DeviceDataConnection {
  /** The items of this page. */
  items: DeviceData[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A data record to store. */
export interface DeviceDataInput {
  /** The id of the device. */
  deviceId: string;
  /**
   * When the device reported. RFC 3339, a date alone, or seconds or milliseconds since 1970.
   * Without an offset it is UTC. A JSON number is taken, too.
   */
  timestamp: When;
  /** If given, the device's group. */
  groupId?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data: string;
  /** The configuration of the device when it reported; any text, mostly JSON, or empty. */
  configuration: string;
  /** The payload as the network carried it, in hex; any text, or empty. */
  __raw: string;
  /** The type of the device, stored as it is sent. */
  deviceType: string;
  /** The operating mode of the device, in its own words; the service does not interpret it. */
  mode?: string;
  /** Why the device reported, in its own words; notifications can wait for it. */
  reason?: string;
  /** The name of the device; filled in if omitted. */
  deviceName?: string;
}

/** Something that happened to a device. */
export interface DeviceEvent {
  /** The id of the device. */
  deviceId: string;
  /** When it happened. */
  timestamp: string;
  /** What happened, in the words of the device or network. */
  type: string;
  /** The device type. */
  deviceType?: string;
  /** The id of the group. */
  groupId?: string;
  /** The same for people. */
  message?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** How bad it is, in any words; networks and the service use `info`, `warning` and `error`. */
  severity?: string;
}

/** Several events, stored together or not at all. */
export interface DeviceEventBatch {
  /** The items of this page. */
  items: DeviceEventInput[];
}

/** A page of events. */
export interface DeviceEventConnection {
  /** The items of this page. */
  items: DeviceEvent[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** An event to store. */
export interface DeviceEventInput {
  /** The id of the device. */
  deviceId: string;
  /**
   * When it happened. RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an
   * offset it is UTC. A JSON number is taken, too.
   */
  timestamp: When;
  /** If given, the device's group. */
  groupId?: string;
  /** What happened, in the words of the device or network; notifications can wait for it. */
  type: string;
  /** The device type. */
  deviceType?: string;
  /** The same for people. */
  message?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** How bad it is, in any words; networks and the service use `info`, `warning` and `error`. */
  severity?: string;
}

/** Where a device was. */
export interface DeviceGeoloc {
  /** When the device was there. */
  timestamp: string;
  /** The id of the device. */
  deviceId: string;
  /**
   * The status of the position, as the network reports it with a computed location; the service
   * does not interpret it.
   */
  status?: number;
  /**
   * How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6 by Wi-Fi, 7
   * by Bluetooth.
   */
  source?: number;
  /** How exact the position is, as a radius in metres. */
  radius?: number;
  /** The latitude in degrees, WGS 84. */
  lat?: number;
  /** The longitude in degrees, WGS 84. */
  lng?: number;
  /** The id of the group. */
  groupId?: string;
  /** The place in words, or in a form of the sender; any text. */
  location?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** The payload as the network carried it, in hex; any text, or empty. */
  __raw?: string;
}

/** Several geolocations, stored together or not at all. */
export interface DeviceGeolocBatch {
  /** The items of this page. */
  items: DeviceGeolocInput[];
}

/** A page of geolocations. */
export interface DeviceGeolocConnection {
  /** The items of this page. */
  items: DeviceGeoloc[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A geolocation to store. */
export interface DeviceGeolocInput {
  /** The id of the device. */
  deviceId: string;
  /**
   * When the device was there. RFC 3339, a date alone, or seconds or milliseconds since 1970.
   * Without an offset it is UTC. A JSON number is taken, too.
   */
  timestamp: When;
  /** If given, the device's group. */
  groupId?: string;
  /**
   * The status of the position, as the network reports it with a computed location; the service
   * does not interpret it.
   */
  status?: number;
  /**
   * How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6 by Wi-Fi, 7
   * by Bluetooth.
   */
  source?: number;
  /** How exact the position is, as a radius in metres. */
  radius?: number;
  /** The latitude in degrees, WGS 84. */
  lat?: number;
  /** The longitude in degrees, WGS 84. */
  lng?: number;
  /** The place in words, or in a form of the sender; any text. */
  location?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** The payload as the network carried it, in hex; any text, or empty. */
  __raw?: string;
}

/** A device to create. */
export interface DeviceInput {
  /** The id of the group. */
  groupId: string;
  /** The name of the device. */
  name: string;
  /** The device type. */
  type: string;
  /**
   * The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 hex digits;
   * separators and `0x` are left out.
   */
  originalId: string;
  /**
   * Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
   * networks, in any case.
   */
  network: string;
  /** Free words to find it by. */
  tags?: string[];
}

/** DeviceOrder */
export type DeviceOrder = "battery" | "created" | "name" | "seenAt";

/** The points of one device; a span without numbers has none. */
export interface DeviceSeries {
  /** The id of the device. */
  deviceId: string;
  /** If several measurements were asked for. */
  measurement?: string;
  /** By time. */
  points: SeriesPoint[];
  /**
   * Of a state: each change. What was in force at the begin is looked for in the time before it,
   * as long as the range and two days at most.
   */
  states?: SeriesState[];
  /** Of a path, how many records were read. */
  lookedAt?: number;
  /** Not every record was read: there are too many for one request. */
  isSampled?: boolean;
  /** If the points end early, where: request the rest with this begin. */
  examinedUntil?: string;
}

/** Signal quality of a device's messages. */
export interface DeviceTelemetry {
  /** The id of the device. */
  deviceId: string;
  /** When the message was received. */
  timestamp: string;
  /** The device type. */
  deviceType?: string;
  /** One text for each base station or gateway that received the message, mostly JSON. */
  duplicates?: string[];
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** The quality of the link; records of networks have 0 (weakest) to 3 (strongest). */
  score?: number;
  /** The number of base stations that received the message; `nbBs` in requests. */
  nbBS?: number;
  /**
   * The number that the vendor's network sends as `rc` with its advanced data; the service does
   * not interpret it.
   */
  rc?: number;
  /** The id of the group. */
  groupId?: string;
}

/** Several telemetry records, stored together or not at all. */
export interface DeviceTelemetryBatch {
  /** The items of this page. */
  items: DeviceTelemetryInput[];
}

/** A page of telemetry records. */
export interface DeviceTelemetryConnection {
  /** The items of this page. */
  items: DeviceTelemetry[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A telemetry record to store. */
export interface DeviceTelemetryInput {
  /** The id of the device. */
  deviceId: string;
  /**
   * When the message was received. RFC 3339, a date alone, or seconds or milliseconds since 1970.
   * Without an offset it is UTC. A JSON number is taken, too.
   */
  timestamp: When;
  /** If given, the device's group. */
  groupId?: string;
  /** The device type. */
  deviceType: string;
  /** One text for each base station or gateway that received the message, mostly JSON. */
  duplicates?: string[];
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** The quality of the link; records of networks have 0 (weakest) to 3 (strongest). */
  score?: number;
  /** The number of base stations that received the message; `nbBS` in responses. */
  nbBs?: number;
  /**
   * The number that the vendor's network sends as `rc` with its advanced data; the service does
   * not interpret it.
   */
  rc?: number;
}

/** A type of device and its default configuration. */
export interface DeviceType {
  /** The name of the type, which devices refer to. */
  name?: string;
  /** Its name for people. */
  displayName?: string;
  /** The configuration of new devices of this type. */
  defaultConfiguration?: string;
  /** What the operator says about its battery. */
  battery?: string;
  /** What the operator says about its firmware. */
  firmwareVersion?: string;
  /** Whose it is, with the groups below; none for all. */
  groupId?: string;
  /** Those declared for all, or for `groupId`; not in lists. */
  measurements?: Measurement[];
  /**
   * When these were declared, for `ifUpdatedAt` of the next declaration; left out if nothing is.
   * Not in lists.
   */
  measurementsUpdatedAt?: string;
}

/** The new type of a device. */
export interface DeviceTypeChange {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group. */
  groupId: string;
  /** The device type. */
  type: string;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A page of device types. */
export interface DeviceTypeConnection {
  /** The items of this page. */
  items: DeviceType[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A device type with its codecs and measurements. */
export interface DeviceTypeDefinition {
  /** Its name. */
  name: string;
  /** Whose it is, with the groups below; without it, for all. */
  groupId?: string;
  /** For people. */
  displayName: string;
  /** Any text. */
  defaultConfiguration: string;
  /** Any text. */
  battery?: string;
  /** Any text. */
  firmwareVersion?: string;
  /** `bits`, `cayenneLpp` or `javascript`. */
  decoder?: DecoderKind;
  /** The bit format or the codec; Cayenne LPP has none. */
  decoderSource?: string;
  /** Names of the decoded latitude and longitude that become a geolocation. */
  decodedLocation?: string;
  /** A codec for downlinks, if that of the decoder has none. */
  encoderSource?: string;
  /** Those that are declared. */
  measurements: Measurement[];
  /** Whether it cannot be deleted. */
  isBuiltIn?: boolean;
  /** Whether you may change it. */
  mayChange?: boolean;
  /** When it was changed last. */
  updatedAt: string;
  /** What the codecs use and does not exist here. */
  warnings?: string[];
}

/** A device type to create. */
export interface DeviceTypeInput {
  /** Its id: unique in the service, whatever its case, and never changed. */
  name: string;
  /** Whose it is, with the groups below; without it, for all. */
  groupId?: string;
  /** For people. */
  displayName?: string;
  /** Of new devices; any text, often JSON. */
  defaultConfiguration?: string;
  /** Any text. */
  battery?: string;
  /** Any text. */
  firmwareVersion?: string;
  /** `bits`, `cayenneLpp` or `javascript`. */
  decoder?: DecoderKind;
  /** The bit format or the codec; Cayenne LPP has none. */
  decoderSource?: string;
  /** Names of the decoded latitude and longitude that become a geolocation. */
  decodedLocation?: string;
  /** A codec for downlinks, if that of the decoder has none. */
  encoderSource?: string;
  /** What is declared of its values; all of it. */
  measurements?: MeasurementInput[];
}

/** Changes to a device type; what is left out stays, null removes. */
export interface DeviceTypeUpdate {
  /** The device type. */
  type: string;
  /** For people. */
  displayName?: string;
  /** Any text. */
  defaultConfiguration?: string;
  /** Any text. */
  battery?: string;
  /** Any text. */
  firmwareVersion?: string;
  /** `bits`, `cayenneLpp` or `javascript`. */
  decoder?: DecoderKind;
  /** The bit format or the codec; Cayenne LPP has none. */
  decoderSource?: string;
  /** Names of the decoded latitude and longitude that become a geolocation. */
  decodedLocation?: string;
  /** A codec for downlinks, if that of the decoder has none. */
  encoderSource?: string;
  /** What is declared of its values; all of it. */
  measurements?: MeasurementInput[];
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** The newest value of a measurement since the device is in its group. */
export interface DeviceValue {
  /** The name of the measurement. */
  name: string;
  /** Left out if there was no valid one. */
  value?: number | string | boolean;
  /** Of its record, or of its arrival if that was earlier. */
  timestamp?: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /** How many decimals to show. */
  decimals?: number;
  /** Whether it is declared, or was found in records. */
  isDeclared: boolean;
  /** Whether the device should have reported since, by its configuration. */
  isStale: boolean;
  /** How many values were none: words, or out of bounds. */
  invalid?: number;
  /** When the last one arrived. */
  invalidAt?: string;
}

/** The current values of a device. */
export interface DeviceValues {
  /** The items of this page. */
  items: DeviceValue[];
  /** How many numbers the last record that had too many had beyond those that are kept. */
  leftOut?: number;
}

/** The outcome of a bulk operation, and its devices. */
export interface Devices {
  /** What was done, in words. */
  message: string;
  /** The devices, in the order of the request. */
  items: Device[];
}

/** Devices to create here and to register at the vendor's network, all of one type. */
export interface DevicesAtVendor {
  /** The id of the group. */
  groupId: string;
  /** The device type. */
  type: string;
  /** Free words to find it by. */
  tags?: string[];
  /** The registrations, one for each device. */
  vendor: VendorInput[];
}

/** Devices to create, of one type and network. */
export interface DevicesInput {
  /** The ids of the devices in their network; they are their names, too. */
  originalDevicesIds: string[];
  /** The id of the group. */
  groupId: string;
  /** The device type. */
  type: string;
  /**
   * Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
   * networks, in any case.
   */
  network: string;
  /** Free words to find it by. */
  tags?: string[];
}

/** A downlink and its state. */
export interface Downlink {
  /** The id of the downlink. */
  id: string;
  /** The id of the device. */
  deviceId: string;
  /** The id of the group. */
  groupId: string;
  /** The bytes, in hex. */
  payload: string;
  /** What the payload means, by `decodeDownlink` of the codec. */
  data?: Record<string, unknown>;
  /** The LoRaWAN port of the payload. */
  port?: number;
  /** Whether the device must acknowledge it. */
  confirmed: boolean;
  /** `queued`, `sent`, `acknowledged`, `failed`, `expired` or `cancelled`. */
  state: DownlinkState;
  /** The reason of the state. */
  detail?: string;
  /** When it was created. */
  createdAt: string;
  /** When it was changed last. */
  updatedAt: string;
  /** When it expires. */
  expiresAt: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy: string;
}

/** A page of downlinks. */
export interface DownlinkConnection {
  /** The items of this page. */
  items: Downlink[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A downlink to send: either its bytes, or values for the codec of the device type. */
export interface DownlinkInput {
  /** The id of the device. */
  deviceId: string;
  /** If given, it must be the group of the device. */
  groupId?: string;
  /** In hex; exactly 8 bytes on the vendor's network. */
  payload?: string;
  /** Values that the codec of the device type encodes. */
  data?: Record<string, unknown>;
  /** The LoRaWAN port of the payload. */
  port?: number;
  /** Whether the device must acknowledge it. */
  confirmed?: boolean;
  /** Seconds until it expires. */
  expiresIn?: number;
}

/** DownlinkState */
export type DownlinkState = "acknowledged" | "cancelled" | "expired" | "failed" | "queued" | "sent";

/** A device that reports another configuration than it should have. */
export interface DriftingDevice {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group. */
  groupId: string;
  /** The name of the device. */
  name: string;
  /** The device type. */
  type: string;
  /** Since when the service knows. */
  since?: string;
  /** When the device reported its configuration. */
  reportedAt: string;
  /** At most 50. */
  differences: ConfigurationDifference[];
}

/** A page of devices that drift. */
export interface DriftingDeviceConnection {
  /** The items of this page. */
  items: DriftingDevice[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A limit that holds for a group. */
export interface EffectiveLimit {
  /** Its name. */
  name: LimitName;
  /** 0 for no limit. */
  value: number;
  /** Who says so: the `group` itself, one above it (`inherited`), or the settings of the `service`. */
  source: LimitSource;
  /** The group that says so, if you may see it. */
  groupId?: string;
  /**
   * Of what is stored: by the group that says so and those below it; of a limit of the service, by
   * this group alone. Left out if you may not see it.
   */
  used?: number;
}

/** How long a group keeps something. */
export interface EffectiveRetention {
  /** Its name. */
  name: RetentionName;
  /** 0 for ever. */
  days: number;
  /** The longest that it may be; 0 for ever. */
  daysMax: number;
  /** Who says so: the `group` itself, one above it (`inherited`), or the settings of the `service`. */
  source: LimitSource;
  /** The group that says so, if you may see it. */
  groupId?: string;
}

/** An event, as a connector sends it in the format `json`. */
export interface EventMessage {
  /** The id of the device. */
  deviceId: string;
  /** When it happened. */
  timestamp: string;
  /** What happened, in the words of the device or network. */
  type: string;
  /** The id of the group. */
  groupId?: string;
  /** The same for people. */
  message?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** How bad it is, in any words; networks and the service use `info`, `warning` and `error`. */
  severity?: string;
  /** The type of the device when the record arrived, or that in the record. */
  deviceType: string;
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The kind of the record. */
  kind: RecordKind;
  /** The name of the device when the record arrived, or that in the record. */
  deviceName: string;
  /** The tags of the device when the record arrived. */
  tags: string[];
}

/** What was sent in one attempt, and what came back. */
export interface Exchange {
  /** As in `exchangeId` of an attempt. */
  id: string;
  /** When it began. */
  timestamp: string;
  /** How long it took. */
  durationMs: number;
  /**
   * How far it came: `resolve` (the host name), `connect`, `proxy`, `tls`, `request` (sent, and no
   * response has begun), `response` (its head has arrived) or `complete`. Absent for what is no
   * HTTP.
   */
  phase?: ExchangePhase;
  /** How many messages the request had. */
  messages: number;
  /** What was sent. */
  request: ExchangeRequest;
  /** What came back; absent if no response began. */
  response?: ExchangeResponse;
}

/** A page of exchanges. */
export interface ExchangeConnection {
  /** The items of this page. */
  items: Exchange[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** The first 4 KiB of a body. */
export interface ExchangeContent {
  /** As text, or in base64 if it is none. */
  text: string;
  /** Whether it is in base64. */
  isBase64: boolean;
  /** Bytes of the body; of a response, as far as it was received. */
  size: number;
  /** Whether there was more. */
  isCut: boolean;
}

/** ExchangePhase */
export type ExchangePhase = "complete" | "connect" | "proxy" | "request" | "resolve" | "response" | "tls";

/** The request, as it was sent; secrets are masked. */
export interface ExchangeRequest {
  /** The method, or what the protocol does. */
  method: string;
  /** Where it went. */
  url: string;
  /** The headers; credentials are masked. */
  headers: Record<string, unknown>;
  /** The beginning of the body. */
  body: ExchangeContent;
}

/** The response. Secrets of the connector that it echoes are masked. */
export interface ExchangeResponse {
  /** The HTTP status. */
  status: number;
  /** Those that say what a failure is about. */
  headers: Record<string, unknown>;
  /** The beginning of the body. */
  body: ExchangeContent;
}

/** ExportContent */
export type ExportContent = "audit" | "devices" | "messages" | "records";

/** ExportDates */
export type ExportDates = "arrival" | "timestamp";

/** ExportFormat */
export type ExportFormat = "csv" | "ndjson";

/** FieldPlace */
export type FieldPlace = "body" | "query";

/** One invalid field of a request. */
export interface FieldProblem {
  /** Where the field is. */
  in: FieldPlace;
  /** Its name in the request, such as `name`, `tags[3]` or `items[3].timestamp`. */
  field: string;
  /** What is wrong with it. */
  message: string;
}

/** That the filter cannot be evaluated for most records, which are not sent. */
export interface FilterFailing {
  /** Since when. */
  since: string;
  /** For how many of the last records it failed. */
  failed: number;
  /** For how many of the last records it was evaluated; about 100 to 200 are looked at. */
  evaluated: number;
}

/** A page of the devices that were found. */
export interface FoundDevices {
  /** The items of this page. */
  items: Device[];
  /** How many fit, counted up to 100,000. */
  total: number;
  /** Whether there may be more than `total`. */
  totalIsMore?: boolean;
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** What was done, as a message. */
export interface GenericReturn {
  /** What was done, in words. */
  message?: string;
}

/** What was done, as a message and a boolean. */
export interface GenericReturnBoolean {
  /** What was done, in words. */
  message?: string;
  /** Whether it was done. */
  value?: boolean;
}

/** A geolocation, as a connector sends it in the format `json`. */
export interface GeolocMessage {
  /** When it happened. */
  timestamp: string;
  /** The id of the device. */
  deviceId: string;
  /**
   * The status of the position, as the network reports it with a computed location; the service
   * does not interpret it.
   */
  status?: number;
  /**
   * How the position was found, in the vendor's numbers: 1 by GPS, 2 by the network, 6 by Wi-Fi, 7
   * by Bluetooth.
   */
  source?: number;
  /** How exact the position is, as a radius in metres. */
  radius?: number;
  /** The latitude in degrees, WGS 84. */
  lat?: number;
  /** The longitude in degrees, WGS 84. */
  lng?: number;
  /** The id of the group. */
  groupId?: string;
  /** The place in words, or in a form of the sender; any text. */
  location?: string;
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** The payload as the network carried it, in hex; any text, or empty. */
  __raw?: string;
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The kind of the record. */
  kind: RecordKind;
  /** The name of the device when the record arrived, or that in the record. */
  deviceName: string;
  /** The type of the device when the record arrived, or that in the record. */
  deviceType: string;
  /** The tags of the device when the record arrived. */
  tags: string[];
}

/** A payload to decode. */
export interface GivenPayload {
  /** Two hex digits a byte. */
  payload: string;
  /** The LoRaWAN port of the uplink. */
  fPort?: number;
}

/** GrantType */
export type GrantType = "client_credentials";

/** A group as the caller can see it; `role` and `userId` are those of one user. */
export interface Group {
  /** The id of the group: digits, in a string. */
  id: string;
  /** The id of the user that `role` is of: the caller, or the user asked for. */
  userId: string;
  /** Its name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /**
   * The group token, by which networks report for its devices; only for callers with
   * `group.update`.
   */
  token?: string;
  /** The id of the role that administers it, which its creator has. */
  administratorRole?: string;
  /** The id of the role that its app clients have. */
  defaultRole?: string;
  /** When it was created. */
  createdAt?: string;
  /** When it was changed last. */
  updatedAt?: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy?: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy?: string;
  /** The id of the group above; none for a root group. */
  parent?: string;
  /** The nearest role of this user on the path to the root, with all permissions that hold here. */
  role?: Role;
  /** The id of the user who owns the group. */
  ownerId?: string;
  /** How many devices it has itself. */
  numberOfDevices?: number;
  /** How many notifications it has itself. */
  numberOfNotifications?: number;
  /** How many connectors it has itself. */
  numberOfConnectors?: number;
  /** Free words to find it by. */
  tags?: string[];
  /** When it will be deleted with everything in it. */
  deletionAt?: string;
  /** Only if it is true: this user has not accepted the membership yet. */
  isInvited?: boolean;
}

/** Credentials of a group. */
export interface GroupAppClient {
  /** The id of the group. */
  groupId: string;
  /** The id of the app client: its client id at the token endpoint. */
  appClientId: string;
  /** What it is for. */
  description?: string;
  /** Seconds since 1970. */
  expiration?: number;
  /** When it was changed last. */
  updatedAt?: string;
  /** The role that it acts with. Absent: the default role of the group. */
  roleId?: string;
  /** The client secret for the token endpoint. */
  secret: string;
  /** The name of the app client. */
  name?: string;
}

/** Changes to a group. */
export interface GroupChange {
  /** The id of the group to change. */
  groupId: string;
  /** The new owner, a member; only the owner can transfer ownership. */
  ownerId?: string;
  /** The new name. */
  name?: string;
  /** The id of the new default role. */
  roleId?: string;
  /** A text about it, for people. */
  description?: string;
  /** The id of the new parent; `""` makes it a root group. */
  parent?: string;
  /** Free words to find it by. */
  tags?: string[];
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A page of groups. */
export interface GroupConnection {
  /** The items of this page. */
  items: Group[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A group to create. */
export interface GroupInput {
  /** The name of the group. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** Free words to find it by. */
  tags?: string[];
}

/** What limits a group, what holds, and what it has stored. */
export interface GroupLimits {
  /** The id of the group. */
  groupId: string;
  /** Of this group's own. */
  limits: OperatorLimits;
  /** What this group says itself. */
  retentionDays: RetentionDays;
  /** The limits that hold, of which each has to be kept. */
  effectiveLimits: EffectiveLimit[];
  /** How long each kind of record, and summaries, are kept. */
  effectiveRetention: EffectiveRetention[];
  /** By this group alone. */
  stored: StoredAmount;
  /** With all groups below it. */
  storedWithSubgroups: StoredAmount;
  /** When it was changed last. */
  updatedAt?: string;
}

/** The limits of a group, in place of those it has. */
export interface GroupLimitsChange {
  /** The id of the group. */
  groupId: string;
  /** All limits of this group's own. */
  limits: OperatorLimits;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A measurement of the devices of a type in a group. */
export interface GroupMeasurement {
  /** The name of the measurement. */
  name: string;
  /** Of which records. */
  kind: RecordKind;
  /** A JSON pointer (RFC 6901) in the records of that kind. */
  path: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /** How many decimals to show. */
  decimals?: number;
  /** A smaller number is no value of it. */
  minimum?: number;
  /** A larger number is no value of it. */
  maximum?: number;
  /** The device type. */
  type: string;
  /** Whether it is declared, or was found in records. */
  isDeclared: boolean;
  /** How many have a value of it. */
  devices: number;
  /** Whether there may be more than `devices`. */
  devicesAreMore?: boolean;
}

/** The measurements of the devices of a group. */
export interface GroupMeasurements {
  /** The items of this page. */
  items: GroupMeasurement[];
}

/** The counters of one time span. */
export interface GroupMetric {
  /** Data records that were stored. */
  totalDeviceData?: number;
  /** Events that were stored. */
  totalDeviceEvent?: number;
  /** Geolocations that were stored. */
  totalDeviceGeoloc?: number;
  /** Telemetry records that were stored. */
  totalDeviceTelemetry?: number;
  /** Records of all kinds that were stored. */
  totalDeviceMessage?: number;
  /** Messages that were created for connectors. */
  totalConnectorMessageStarted?: number;
  /** Messages that were created in the span and are not finished now. */
  totalConnectorMessageProcessing?: number;
  /** Messages that were delivered, after any number of attempts. */
  totalConnectorMessageProcessed?: number;
  /** Messages that failed: after their last attempt, or cancelled. */
  totalConnectorMessageError?: number;
  /**
   * Attempts after the first, and those of a resend, or of a replay of messages that the connector
   * had before.
   */
  totalConnectorRetryMessageStarted?: number;
  /** Messages whose retries succeeded. */
  totalConnectorRetryMessageProcessed?: number;
  /** Messages whose retries failed. */
  totalConnectorRetryMessageError?: number;
  /** Data and status callbacks of the vendor's network. */
  totalDeviceVendorUplink?: number;
  /** Callbacks of the vendor's network that got a downlink in the response. */
  totalDeviceVendorDownlink?: number;
  /** Data callbacks of the vendor's network. */
  totalVendorDataMessage?: number;
  /** Advanced data callbacks of the vendor's network. */
  totalVendorDataAdvancedMessage?: number;
  /** The id of the group. */
  groupId?: string;
  /** The begin of the span. */
  timestamp?: string;
}

/** The counters of a period, in total and per span; `activeDevices` lists up to 10,000. */
export interface GroupMetrics {
  /** Data records that were stored. */
  totalDeviceData?: number;
  /** Events that were stored. */
  totalDeviceEvent?: number;
  /** Geolocations that were stored. */
  totalDeviceGeoloc?: number;
  /** Telemetry records that were stored. */
  totalDeviceTelemetry?: number;
  /** Records of all kinds that were stored. */
  totalDeviceMessage?: number;
  /** Messages that were created for connectors. */
  totalConnectorMessageStarted?: number;
  /** Messages that were created in the span and are not finished now. */
  totalConnectorMessageProcessing?: number;
  /** Messages that were delivered, after any number of attempts. */
  totalConnectorMessageProcessed?: number;
  /** Messages that failed: after their last attempt, or cancelled. */
  totalConnectorMessageError?: number;
  /**
   * Attempts after the first, and those of a resend, or of a replay of messages that the connector
   * had before.
   */
  totalConnectorRetryMessageStarted?: number;
  /** Messages whose retries succeeded. */
  totalConnectorRetryMessageProcessed?: number;
  /** Messages whose retries failed. */
  totalConnectorRetryMessageError?: number;
  /** Data and status callbacks of the vendor's network. */
  totalDeviceVendorUplink?: number;
  /** Callbacks of the vendor's network that got a downlink in the response. */
  totalDeviceVendorDownlink?: number;
  /** Data callbacks of the vendor's network. */
  totalVendorDataMessage?: number;
  /** Advanced data callbacks of the vendor's network. */
  totalVendorDataAdvancedMessage?: number;
  /** The id of the group that was counted. */
  groupId?: string;
  /** The begin of the first span. */
  beginDate?: string;
  /** The end of the last span. */
  endDate?: string;
  /** The same for each span of time. */
  items?: GroupMetric[];
  /** Ids of devices with a record in the period, the first 10,000. */
  activeDevices?: string[];
  /** How many devices had one. */
  numberActiveDevices?: number;
  /** Ids of connectors with a message created in the period. */
  activeConnectors?: string[];
  /** How many connectors these are. */
  numberActiveConnectors?: number;
}

/** Counts, and what needs attention; parts that the caller may not read are left out. */
export interface GroupOverview {
  /** When it was counted. */
  asOf: string;
  /** Counts of devices; with `device.read`. */
  devices?: DeviceCounts;
  /** Counts of connectors; with `connector.read`. */
  connectors?: ConnectorCounts;
  /** Open alarms, for callers with `notification.read`. */
  alarms?: AlarmCounts;
  /** At most 50 of each sort, the worst first. */
  attention: Attention[];
  /**
   * Ids that were reported in the last days and that no device has, as in `GET
   * /group/unknownDevices`; left out if there are none.
   */
  unknownDevices?: number;
}

/** One number of several devices. */
export interface GroupPoint {
  /** The begin of the span. */
  timestamp: string;
  /** What `of` and `combine` say. */
  value: number;
  /** With a number in this span. */
  devices: number;
}

/** The new policy of a group. */
export interface GroupPolicyChange {
  /** The id of the group. */
  groupId: string;
  /** A JSON merge patch (RFC 7396): null removes a member. Empty: no policy. */
  policy: Record<string, unknown>;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** Which group to keep. */
export interface GroupRestoration {
  /** The id of the group. */
  groupId: string;
}

/** How long a group keeps records, in place of what it says now. */
export interface GroupRetentionChange {
  /** The id of the group. */
  groupId: string;
  /** All that the group says itself. */
  retentionDays: RetentionDays;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** Numbers of a group's devices over time, as one series or one of each. */
export interface GroupSeries {
  /** The begin of the first span. */
  beginDate: string;
  /** The end of the range, which is not part of it; a date without a time includes that day. */
  endDate: string;
  /** Seconds per point. */
  timeSpan?: number;
  /** Instead of `timeSpan`; a week begins on Monday. */
  calendarSpan?: CalendarSpan;
  /** Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`. */
  timezone?: string;
  /** The name of the measurement. */
  measurement?: string;
  /** The class of the measurement. */
  class?: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /**
   * Of a measurement: everything that had arrived by then is counted. If more records had to be
   * read than one request may, this is where they begin; `fresh` reads them.
   */
  completeUntil?: string;
  /** What of each device's numbers counted. */
  of: SeriesAggregate;
  /** How these became one. */
  combine: SeriesCombination;
  /** By time. */
  points?: GroupPoint[];
  /** With `combine=none`. */
  items?: MemberSeries[];
}

/** A page of groups in a tree. */
export interface GroupTree {
  /** The items of this page. */
  items: TreeGroup[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A membership; `id` is the group's. */
export interface GroupUserRelation {
  /** The id of the group. */
  id: string;
  /** The id of the user. */
  userId: string;
  /** The role of the member in this group. */
  role?: Role;
  /** The group token; only for callers with `group.update`. */
  token?: string;
  /** The description of the group. */
  description?: string;
  /** The name of the group. */
  name?: string;
  /** When they got the role. */
  updatedAt: string;
  /**
   * Of an invitation. `queued`: a mail with a link is sent. `not_configured`: the service sends no
   * mail. `address_not_allowed`: the operator allows no mail to this address. `accepted`: they
   * have accepted before.
   */
  mail?: InvitationMailStatus;
  /**
   * Of an invitation, if no mail is sent, and for users: the link, to hand it over. It is valid
   * for 24 hours, and signs in who has never signed in; others sign in by their own means, and
   * open the group.
   */
  invitationUrl?: string;
}

/** Whether the service works. */
export interface Health {
  /** `unavailable` with the status 503. */
  status: HealthStatus;
  /** Why the service is not ready. */
  reason?: string;
  /** Whether the MQTT listener receives messages, if one is configured. */
  mqtt?: string;
  /** `stalled` while a commit waits for a PostgreSQL standby for long. */
  standby?: string;
  /** Whether a standby serves reads that may lag, if one is configured. */
  readStandby?: string;
  /** Which slots of the database have messages that are late. */
  slots?: string;
}

/** HealthStatus */
export type HealthStatus = "ok" | "unavailable";

/** ImportErrorCode */
export type ImportErrorCode = "duplicate" | "duplicate_column" | "invalid_character" | "invalid_original_id" | "malformed" | "missing_column" | "required" | "taken" | "too_long" | "too_many_cells" | "too_many_lines" | "too_many_tags" | "unknown_type";

/** What is wrong with a line of the file. */
export interface ImportLineError {
  /** Where it begins; the header is 1. */
  line: number;
  /** The column that is wrong. */
  column: string;
  /** What is wrong. */
  code: ImportErrorCode;
  /** The same in words. */
  message: string;
}

/** The outcome of an import, or of its dry run. */
export interface ImportReturn {
  /** What was done, in words. */
  message: string;
  /** Whether nothing was created. */
  isDryRun: boolean;
  /** New devices. */
  created: number;
  /** Devices that the group has already; they are unchanged. */
  existing: number;
  /** The valid lines, in their order. */
  items: ImportedDevice[];
  /** Of a dry run: all that would make the import fail, in order of lines. */
  errors: ImportLineError[];
  /** Columns that mean nothing here. */
  ignoredColumns: string[];
}

/** ImportStatus */
export type ImportStatus = "created" | "existing";

/** What became of a line. */
export interface ImportedDevice {
  /** Where it begins in the file. */
  line: number;
  /** Whether it is new. */
  status: ImportStatus;
  /** Absent if a dry run would create the device. */
  deviceId?: string;
}

/** Whom to invite, to which group, with which role. */
export interface Invitation {
  /** An e-mail address. */
  email: string;
  /** The id of the group. */
  groupId: string;
  /** The role that they get. */
  roleId: string;
  /**
   * Of the mail, and of the user if there is none with this address yet; by default the caller's.
   * A user who has chosen one is written to in that.
   */
  language?: Language;
}

/** A group to whose membership the caller agrees. */
export interface InvitationAcceptance {
  /** The id of the group. */
  groupId: string;
}

/** An invitation, and whether to accept it. */
export interface InvitationInput {
  /** What follows `#token=` in the link of the invitation. */
  token: string;
  /** Accept it; else only say what it is. */
  accept?: boolean;
}

/** InvitationMailStatus */
export type InvitationMailStatus = "accepted" | "address_not_allowed" | "not_configured" | "queued";

/** What an invitation is for, and what became of it. */
export interface InvitationReturn {
  /** The id of the group. */
  groupId: string;
  /** What the group is called. */
  groupName?: string;
  /**
   * Whether the membership is accepted. By a link that was handed over, only somebody who has
   * never signed in accepts; others sign in, and accept there.
   */
  isAccepted: boolean;
  /** Whether the response sets the cookie of a session. */
  isSignedIn: boolean;
}

/** Work with many devices, and how far it is. */
export interface Job {
  /** The id of the job. */
  jobId: string;
  /** The id of the group. */
  groupId: string;
  /** What it does with each device. */
  kind: JobKind;
  /** `waiting`, `running`, `succeeded`, `failed` or `cancelled`. */
  state: JobState;
  /** The code of why it failed. */
  error?: string;
  /** Why it was started. */
  reason?: string;
  /** What it was started with. */
  parameters?: JobParametersReply;
  /** Which devices it takes, unless their ids were given. */
  filter?: JobFilterReply;
  /** The devices or rows to process, if they were counted. */
  total?: number;
  /** The devices or rows that were processed. */
  done: number;
  /** Of these, those that were changed. */
  changed: number;
  /** Those for which there was nothing to do. */
  skipped: number;
  /** Those for which it was not possible. */
  failed: number;
  /** The user or app client that started it. */
  createdBy: string;
  /** When it was created. */
  createdAt: string;
  /** When it began. */
  startedAt?: string;
  /** When it was changed last. */
  updatedAt: string;
  /** When it ended. */
  endedAt?: string;
  /** Until when `POST /job/undo` undoes it. */
  undoUntil?: string;
  /**
   * Why a job of this kind cannot be undone: `messages_sent` cannot be recalled, `values_replaced`
   * were not kept, `nothing_changed`, or it `is_undo` itself.
   */
  noUndo?: NoUndo;
  /** The file of an export, when it is complete. */
  result?: JobResult;
  /** The job that it undoes. */
  undoOf?: string;
  /** The job that undoes it. */
  undoneBy?: string;
}

/** A page of jobs. */
export interface JobConnection {
  /** The items of this page. */
  items: Job[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** Which devices of the group, as in `GET /devices`; an empty object for all of them. */
export interface JobFilter {
  /** Of the groups below as well. */
  subgroups?: boolean;
  /**
   * A part of the name, of the original id or of a tag, or the begin of the id; case-insensitive.
   * First come devices with this id or original id, then those whose name or original id begins
   * with it.
   */
  q?: string;
  /** The device type. */
  type?: string;
  /**
   * Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
   * networks, in any case.
   */
  network?: string;
  /** A tag they have. */
  tag?: string;
  /**
   * Last seen within the last hour, day or week, longer ago, never; or silent by what its
   * configuration expects.
   */
  seen?: SeenWithin;
  /** Less charge, in percent. */
  batteryBelow?: number;
}

/** The filter of a job. */
export interface JobFilterReply {
  /** Of the groups below as well. */
  subgroups?: boolean;
  /**
   * A part of the name, of the original id or of a tag, or the begin of the id; case-insensitive.
   * First come devices with this id or original id, then those whose name or original id begins
   * with it.
   */
  q?: string;
  /** The device type. */
  type?: string;
  /**
   * Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
   * networks, in any case.
   */
  network?: string;
  /** A tag they have. */
  tag?: string;
  /**
   * Last seen within the last hour, day or week, longer ago, never; or silent by what its
   * configuration expects.
   */
  seen?: SeenWithin;
  /** Less charge, in percent. */
  batteryBelow?: number;
}

/** A job to start, or to try with `dryRun`. */
export interface JobInput {
  /** What to do with each device. */
  kind: StartableJobKind;
  /** The id of the group. */
  groupId: string;
  /** Devices of the group. Or else `filter`. */
  deviceIds?: string[];
  /** Which devices of the group. Or else `deviceIds`. */
  filter?: JobFilter;
  /** What this kind of job needs. */
  parameters?: JobParameters;
  /** Why, for whoever looks at the list of jobs or at the audit log. */
  reason?: string;
  /** Only count the devices, and list some of them; nothing is changed. */
  dryRun?: boolean;
}

/** What a job did with a device. */
export interface JobItem {
  /** The id of the device. */
  deviceId: string;
  /** `changed`, `undone`, `skipped` or `failed`. */
  outcome: JobOutcome;
  /** Why it was skipped or failed. */
  code?: string;
}

/** A page of the results of a job. */
export interface JobItemConnection {
  /** The items of this page. */
  items: JobItem[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** JobKind */
export type JobKind = "configuration" | "delete" | "export" | "redecode" | "replay" | "resend" | "tag" | "transfer" | "type" | "undo";

/** JobOutcome */
export type JobOutcome = "changed" | "failed" | "skipped" | "undone";

/** What the kind of job needs. */
export interface JobParameters {
  /** For `transfer`: the group to transfer to. */
  toGroupId?: string;
  /** For `tag`: tags to add. */
  addTags?: string[];
  /** For `tag`: tags to remove. */
  removeTags?: string[];
  /** For `type`: the new device type. */
  type?: string;
  /** For `configuration`: the new one. */
  configuration?: string;
  /** For `resend` and `replay`: a connector of the group. */
  connectorId?: string;
  /**
   * For `redecode`, `replay` and `export`: the begin of the range. RFC 3339, a date alone, or
   * seconds or milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   */
  beginDate?: When;
  /**
   * For `redecode`, `replay` and `export`: the end of the range, which is not part of it. RFC
   * 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC. A JSON
   * number is taken, too.
   */
  endDate?: When;
  /** For `export`: what to export. Of devices, those of `filter`. */
  content?: ExportContent;
  /** For `export`; by default `ndjson`. */
  format?: ExportFormat;
  /** For an export of records; by default `data`. */
  recordKind?: RecordKind;
  /** For an export of records: of this device only. */
  deviceId?: string;
  /** For an export of the audit log: of this object only. */
  objectId?: string;
  /** For an export of the audit log: by this user or app client only. */
  actorId?: string;
  /** For an export of the audit log: this action only. */
  action?: string;
  /** For an export of records or of the audit log: of the groups below as well. */
  subgroups?: boolean;
  /**
   * What each record says of these measurements, by their names, with commas between them; 20 at
   * most. In CSV and Parquet each has a column.
   */
  values?: string;
}

/** The parameters of a job; those that its kind has. */
export interface JobParametersReply {
  /** The group to transfer to. */
  toGroupId?: string;
  /** Tags to add. */
  addTags?: string[];
  /** Tags to remove. */
  removeTags?: string[];
  /** The new device type. */
  type?: string;
  /** The new configuration. */
  configuration?: string;
  /** The connector. */
  connectorId?: string;
  /** The begin of the range. */
  beginDate?: string;
  /** The end of the range, which is not part of it. */
  endDate?: string;
  /** What is exported. */
  content?: ExportContent;
  /** The format of an export. */
  format?: string;
  /** The kind of the exported records. */
  recordKind?: RecordKind;
  /** Of an export: of this device. */
  deviceId?: string;
  /** Of an export: of this object. */
  objectId?: string;
  /** Of an export: by whom. */
  actorId?: string;
  /** Of an export: this action. */
  action?: string;
  /** Of an export: of the groups below as well. */
  subgroups?: boolean;
}

/** Which job of which group. */
export interface JobRef {
  /** The id of the group. */
  groupId: string;
  /** The id of the job. */
  jobId: string;
}

/** The file that an export has written, for `GET /job/result`. */
export interface JobResult {
  /** How large it is. */
  bytes: number;
  /** When it is deleted. */
  expiresAt: string;
}

/** A job that was started; or what it would do. */
export interface JobReturn {
  /** What was done, in words. */
  message: string;
  /** Whether nothing was started. */
  dryRun?: boolean;
  /** The devices that it takes, or the rows of an export; as far as counted. */
  total: number;
  /** There are more than were counted. */
  totalIsMore?: boolean;
  /** With `dryRun`: up to 20 of the devices. */
  sample?: JobSample[];
  /**
   * Of a dry run of `resend` or `replay`: the messages that it would send, as far as counted, or
   * an estimate.
   */
  messages?: number;
  /** Not all were looked at: there may be more, or fewer of a replay. */
  messagesIsMore?: boolean;
  /** With `messages`: the ids of the records that up to 20 of them are about. */
  messageSample?: string[];
  /** The job; absent with `dryRun`. */
  job?: Job;
}

/** A device that a job would take. */
export interface JobSample {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group. */
  groupId: string;
  /** The name of the device. */
  name: string;
  /** The device type. */
  type: string;
}

/** JobState */
export type JobState = "cancelled" | "failed" | "running" | "succeeded" | "waiting";

/** Which job of which group to undo, and why. */
export interface JobUndo {
  /** The id of the group. */
  groupId: string;
  /** The id of the job. */
  jobId: string;
  /** Why, for whoever looks at the list of jobs or at the audit log. */
  reason?: string;
}

/** Language */
export type Language = "de" | "en" | "fr";

/** What became of a report last. */
export interface LastReportRun {
  /** When it was made. */
  at: string;
  /** Since when it is about. */
  beginDate: string;
  /** Until before when. */
  endDate: string;
  /**
   * `queued` until every recipient has it; `failed` if it could not be made, or not be sent to
   * all; `stopped` if whoever created it or changed it last may not read this any more, which
   * disables it.
   */
  state: ReportState;
  /** How many rows the file has. */
  rows: number;
  /** How many bytes. */
  bytes: number;
  /** How many it goes to. */
  recipients: number;
  /** Recipients it could not be sent to. */
  failed: number;
  /** Earlier ones that were due while the service was not running, of which nothing is sent. */
  missed: number;
  /** Sent by hand, and not by its schedule. */
  isTest: boolean;
  /** Why it could not be made, or why the last attempt to send it failed. */
  error?: string;
}

/** LimitName */
export type LimitName = "requestsPerSecond" | "storedBytesMax" | "storedRecordsMax";

/** LimitSource */
export type LimitSource = "group" | "inherited" | "service";

/** Whose link, and whether to mail it, or to show it to the caller. */
export interface LinkInput {
  /** The address of the user. */
  email: string;
  /** With `show`: a group in which both are members. */
  groupId?: string;
  /** Respond with the link, instead of mailing it. */
  show?: boolean;
}

/** What was done, and the link that was asked for. */
export interface LinkReturn {
  /** What was done, in words. */
  message: string;
  /** With `show`: the link. It works once, within 15 minutes. */
  url?: string;
}

/** ListedAlarms */
export type ListedAlarms = "all" | "open" | "resolved";

/** An app client without its secret. */
export interface ListedAppClient {
  /** The id of the group. */
  groupId: string;
  /** The id of the app client: its client id at the token endpoint. */
  appClientId: string;
  /** What it is for. */
  description?: string;
  /** Seconds since 1970. */
  expiration?: number;
  /** When it was changed last. */
  updatedAt?: string;
  /** The role that it acts with. Absent: the default role of the group. */
  roleId?: string;
  /** The name of the app client. */
  name: string;
  /** When it was created. */
  createdAt?: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy?: string;
}

/** An item of `alarms`: an alarm that was raised, acknowledged or resolved; up to 1,000. */
export interface LiveAlarm {
  /** The id of the alarm. */
  alarmId: string;
  /** The group of the device or the connector. */
  groupId: string;
  /** Whose alarm it is. */
  notificationId: string;
  /** Of the notification. */
  reason: string;
  /** What it is about. */
  deviceId?: string;
  /** What it is about. */
  connectorId?: string;
  /** That of a notification. */
  severity: Severity;
  /** What it is since then. */
  state: AlarmState;
}

/** The data of `changed`: ids of objects that were changed; up to 1,000 of each kind. */
export interface LiveChanged {
  /** Ids of devices, where `device.read` is held. */
  devices?: string[];
  /** Ids of connectors, where `connector.read` is held. */
  connectors?: string[];
  /** Ids of groups, where `group.read` is held. */
  groups?: string[];
}

/** An item of `deliveries`: what became of messages since the last one, usually a second ago. */
export interface LiveDeliveries {
  /** The connector. */
  connectorId: string;
  /** Messages that were delivered. */
  succeeded: number;
  /** Messages that were given up. */
  failed: number;
  /** Messages that are queued or in flight, up to 10,000. */
  waiting: number;
}

/** The data of `expired`, the last event. */
export interface LiveExpired {
  /**
   * `not_authenticated`: the token or session has ended; `not_found` or `not_allowed`: a
   * permission was taken away; `stopping`: the service stops; others as in errors.
   */
  code: string;
  /** The same in words. */
  detail: string;
}

/** The data of `hello`: everything that arrives after `from` follows. */
export interface LiveHello {
  /** When the stream began. */
  time: string;
  /** A cursor, as the `id` of later events. */
  from: string;
}

/** The data of `lost`: `GET /group/records` has them with `after=from` and `before=to`. */
export interface LiveLost {
  /** How many; absent if nobody counted them. */
  count?: number;
  /** The cursor before the first lost arrival, for `after`. */
  from: string;
  /** The cursor after the last lost arrival, for `before`. */
  to: string;
}

/** Take a message of an HTTP output of LORIOT. */
export interface LoriotCallback {
  /** The type of the message. */
  cmd?: unknown;
  /** The device EUI. */
  EUI?: unknown;
  /** When the message was received, in milliseconds since 1970. */
  ts?: unknown;
  /** The frame counter. */
  fcnt?: unknown;
  /** The LoRaWAN port. */
  port?: unknown;
  /** The frequency in hertz. */
  freq?: unknown;
  /** The data rate. */
  dr?: unknown;
  /** Of the vendor: the device asks for a downlink. Of LORIOT: it acknowledges one. */
  ack?: unknown;
  /** The battery level of a device status: 0 is external power, 1 to 254 the charge. */
  bat?: unknown;
  /** The payload: in hex, or of ChirpStack in base64. */
  data?: unknown;
  /** The gateways that received the message. */
  gws?: unknown;
}

/** A named value of a device type. */
export interface Measurement {
  /** The name of the measurement. */
  name: string;
  /** Of which records. */
  kind: RecordKind;
  /** A JSON pointer (RFC 6901) in the records of that kind. */
  path: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /** How many decimals to show. */
  decimals?: number;
  /** A smaller number is no value of it. */
  minimum?: number;
  /** A larger number is no value of it. */
  maximum?: number;
}

/** MeasurementClass */
export type MeasurementClass = "amount" | "counter" | "gauge" | "state";

/** A measurement to declare. */
export interface MeasurementInput {
  /** The name of the measurement. */
  name: string;
  /** Of which records. */
  kind?: RecordKind;
  /** A JSON pointer (RFC 6901) in the records of that kind. */
  path: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class?: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /** How many decimals to show. */
  decimals?: number;
  /** A smaller number is no value of it. */
  minimum?: number;
  /** A larger number is no value of it. */
  maximum?: number;
}

/** The new role of a member. */
export interface MemberChange {
  /** The id of the user. */
  userId: string;
  /** The id of the group. */
  groupId: string;
  /** The new role of the member. */
  roleId: string;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** One number of a device. */
export interface MemberPoint {
  /** The begin of the span. */
  timestamp: string;
  /** What `of` says. */
  value: number;
  /** A span without numbers lies before this one. */
  hasGap?: boolean;
}

/** The same with its device. */
export interface MemberRow {
  /** The begin of the span. */
  timestamp: string;
  /** What `of` says. */
  value: number;
  /** A span without numbers lies before this one. */
  hasGap?: boolean;
  /** The id of the device. */
  deviceId: string;
  /** Empty if it has left these groups. */
  deviceName: string;
}

/** The points of a device. */
export interface MemberSeries {
  /** The id of the device. */
  deviceId: string;
  /** Empty if it has left these groups. */
  deviceName: string;
  /** By time. */
  points: MemberPoint[];
}

/** One message of a connector, and what became of it. */
export interface Message {
  /** As in the list. */
  event: ConnectorEvent;
  /**
   * `queued`, `sending`, `succeeded`, `failed`, `expired` (failed, and no longer kept for a
   * resend) or `cancelled`.
   */
  state: MessageState;
  /** The group of the connector. */
  groupId: string;
  /**
   * The record that it is about, or that has raised or resolved the alarm; absent for other
   * changes.
   */
  recordId?: string;
  /** When it was queued first. */
  createdAt: string;
  /** When it is attempted next. */
  dueAt?: string;
  /** How often it was sent again. */
  resent: number;
  /** The last 20 attempts, oldest first. */
  attempts: MessageAttempt[];
  /** The record, as a list of its kind returns it, or the change; with `record.read`. */
  record?: Record<string, unknown>;
}

/** One attempt to deliver a message. */
export interface MessageAttempt {
  /** Since it was created or last sent again, from 1. */
  number: number;
  /** When it began. */
  timestamp: string;
  /** How long it took. */
  durationMs: number;
  /**
   * `delivered`, or why not: `rejected`, `unreachable`, `timed_out`, `egress_denied`,
   * `tls_failed`, `login_rejected`, `limit_exceeded`, `gone`, `recipient_gone`, `not_configured`,
   * `invalid_message`, `withdrawn`, `quota_used_up`, `internal_error`, `orphaned` (the process
   * that sent it died) or `stopped`.
   */
  outcome: AttemptOutcome;
  /** Of the HTTP response. */
  status?: number;
  /** The id of what was sent and what came back, if that was kept: `GET /connector/exchanges`. */
  exchangeId?: string;
}

/** A page of messages. */
export interface MessageConnection {
  /** By their last change. */
  items: ConnectorEvent[];
  /** The counts of the whole period; with the first page. */
  stats?: MessageStats;
  /**
   * There may be more, also when this page has few items or none: a page looks at a limited number
   * of messages.
   */
  nextToken?: string;
}

/** MessageFormat */
export type MessageFormat = "cloudevents" | "custom" | "json" | "raw";

/** MessageKind */
export type MessageKind = "alarm" | "data" | "event" | "geoloc" | "registry" | "telemetry";

/** MessageState */
export type MessageState = "cancelled" | "expired" | "failed" | "queued" | "sending" | "succeeded";

/** The number of messages that changed in the period, by status, whatever else is asked for. */
export interface MessageStats {
  /** `processing`. */
  totalStillProcessing?: number;
  /** `succeed`. */
  totalSucceed?: number;
  /** `failed`. */
  totalFailed?: number;
  /** There are more; counting ended early. */
  isMore?: boolean;
}

/** What was done. */
export interface MessagesChanged {
  /** What was done, in words. */
  message: string;
  /** How many messages were changed. */
  changed: number;
  /** Those in a state in which it is not possible. */
  skipped: number;
  /** More match; repeat the request for the rest. */
  isMore: boolean;
}

/** A new link; its secret is shown here only. */
export interface NewShareLink {
  /** Its id. */
  id: string;
  /** The id of the group. */
  groupId: string;
  /** The title of the page. */
  name: string;
  /** What the link shows. */
  content: SharedContent;
  /** Numbers over time. */
  chart?: SharedChart;
  /** What a device says now. */
  device?: SharedDevice;
  /** Devices with some of their current values. */
  list?: SharedList;
  /** Where the devices are. */
  map?: SharedMap;
  /** Of pages that may embed it; no other may. */
  origins: string[];
  /**
   * `open`, or why the link shows nothing: `expired`; `forbidden`, if whoever created it could not
   * do so any more; `gone`, if the devices are in this group no longer.
   */
  state: ShareState;
  /** Until when the link works. */
  expiresAt: string;
  /** When it was created. */
  createdAt: string;
  /** Who created it, and with whose permissions it is read. */
  createdBy: string;
  /** How often it was opened, up to some seconds ago. */
  uses: number;
  /** When it showed something for the first time. */
  firstUsedAt?: string;
  /** When it did so last. */
  lastUsedAt?: string;
  /** Whoever has it sees what it shows. The secret is in the fragment. */
  url: string;
}

/** NoUndo */
export type NoUndo = "is_undo" | "messages_sent" | "nothing_changed" | "values_replaced";

/** NotSent */
export type NotSent = "device_id" | "device_type" | "filter_failed" | "filter_false" | "invalid_message" | "kind";

/** NotTaken */
export type NotTaken = "created_later" | "device_id" | "device_type" | "disabled" | "filter_failed" | "filter_false" | "kind" | "matches_now" | "not_evaluated";

/** Who is notified of what, and when. */
export interface Notification {
  /** The id of the group. */
  groupId: string;
  /** The id of the notification. */
  id: string;
  /** The name of the notification. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /**
   * A JSON object in a string, as the type's `expectedParameters` describes it; secrets are masked
   * for callers who may not change it.
   */
  params: string;
  /** The notification type. */
  type: string;
  /** When it was created. */
  createdAt: string;
  /** When it was changed last. */
  updatedAt: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy: string;
  /** Only records of this device. */
  deviceId?: string;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /**
   * What triggers it: the `reason` of a data record, the `type` of an event, or one that the
   * service raises itself. Without it, every event.
   */
  reason?: string;
  /** When it may be sent: the object of the requests, in a string. */
  schedule?: string;
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
  /** Free words to find it by. */
  tags?: string[];
  /** When it was triggered last. */
  lastFiredAt?: string;
  /** When a message of it was delivered last. */
  lastSentAt?: string;
  /** The last failure. */
  error?: NotificationError;
  /** `when` cannot be evaluated for most of what it is asked for. Absent if it can. */
  filterFailing?: FilterFailing;
}

/** A page of notifications. */
export interface NotificationConnection {
  /** The items of this page. */
  items: Notification[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A message of a notification to one recipient. */
export interface NotificationDelivery {
  /** The id of a message, as a receiver gets it in `webhook-id`. */
  id: string;
  /** As of a message. */
  state: MessageState;
  /** Of its last change. */
  timestamp: string;
  /** The last 20 attempts, oldest first. */
  attempts: MessageAttempt[];
  /** The error of the last attempt. */
  error?: string;
}

/** A notification that is not stored. */
export interface NotificationDraftInput {
  /** As in the request. */
  groupId?: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params: string;
  /** The device type. */
  type: string;
  /** Its name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** Only records of this device; empty for all. */
  deviceId?: string;
  /** Only `measurement` can be tried. */
  reason?: string;
  /**
   * When it may be sent, in the time zone of `params`. An object, or a string in the form of the
   * responses; an empty string removes it.
   */
  schedule?: string | Schedule;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Free words to find it by. */
  tags?: string[];
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
}

/** The last failure. */
export interface NotificationError {
  /** When it failed. */
  at?: string;
  /** What failed. */
  message?: string;
  /**
   * When it began to fail: the first failed attempt since the last success. Absent if the last
   * attempt succeeded.
   */
  since?: string;
}

/** A notification to create. */
export interface NotificationInput {
  /** The id of the group. */
  groupId: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params: string;
  /** The notification type: `email`, `webhook`, `push`, `chat` or `contactPoints`. */
  type: string;
  /** The name of the notification. */
  name: string;
  /** A text about it, for people. */
  description?: string;
  /** Only records of this device; empty for all. */
  deviceId?: string;
  /**
   * The `reason` of a data record, the `type` of an event, or one that the service raises itself.
   * Left out or empty, every event triggers it.
   */
  reason?: string;
  /**
   * When it may be sent, in the time zone of `params`. An object, or a string in the form of the
   * responses; an empty string removes it.
   */
  schedule?: string | Schedule;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Free words to find it by. */
  tags?: string[];
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
}

/** The body of a delivery, as JSON. */
export interface NotificationMessage {
  /** The subject. */
  subject: string;
  /** The text. */
  body: string;
  /** What triggered it. */
  reason: string;
  /** What happened, as expressions see it. */
  message: Record<string, unknown>;
  /** How many were suppressed since the last one. */
  heldBack?: number;
  /** In which the service writes to them; English for none. */
  language?: string;
}

/** Which notification, of which group. */
export interface NotificationRef {
  /** The id of the notification. */
  notificationId: string;
  /** The id of the group. */
  groupId: string;
}

/** A test that was queued. */
export interface NotificationTest {
  /** What was done, in words. */
  message: string;
  /** How many messages were queued, one for each recipient. */
  queued: number;
}

/** A notification that the record caused. */
export interface NotificationTrace {
  /** The id of the notification. */
  notificationId: string;
  /** The name of the notification. */
  name?: string;
  /** One for each recipient. */
  deliveries: NotificationDelivery[];
}

/** A type of notification and its parameters. */
export interface NotificationType {
  /** The parameters in `params`, as a JSON Schema in a string. */
  expectedParameters: string;
  /** The word that notifications refer to it by. */
  type: string;
  /** Its name for people. */
  name?: string;
  /** Why it cannot be used on this service, and what the operator sets for it. Absent if it can. */
  unavailable?: string;
}

/** A page of notification types. */
export interface NotificationTypeConnection {
  /** The items of this page. */
  items: NotificationType[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** What the operator limits of a group with all groups below it; left out, as for all. */
export interface OperatorLimits {
  /** Records; 0 for no limit. */
  storedRecordsMax?: number;
  /** Their size as JSON; 0 for no limit. */
  storedBytesMax?: number;
  /** Requests of all app clients and of the networks of these groups, on average; 0 for no limit. */
  requestsPerSecond?: number;
  /** The longest retention that these groups may have. */
  retentionDaysMax?: RetentionDays;
}

/** All passkeys of the caller, the first one first. */
export interface PasskeyConnection {
  /** The items of this page. */
  items: PasskeyItem[];
}

/** A passkey that a browser has created. */
export interface PasskeyInput {
  /** What its owner calls it. */
  name: string;
  /** What the browser returned, as its method `toJSON` writes it. */
  credential: Record<string, unknown>;
}

/** A passkey of the caller. */
export interface PasskeyItem {
  /** The id of the passkey. */
  passkeyId: string;
  /** What its owner calls it. */
  name: string;
  /** Whether its owner's other devices have it too. */
  isSynced: boolean;
  /** When it was created. */
  createdAt: string;
  /** Its last use. */
  seenAt?: string;
}

/** What a browser needs to create a passkey, or to use one. */
export interface PasskeyOptions {
  /**
   * As `PublicKeyCredential.parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON` take
   * them. Valid for five minutes, and once.
   */
  publicKey: Record<string, unknown>;
}

/** The response of an authenticator. */
export interface PasskeySignIn {
  /** What the browser returned, as its method `toJSON` writes it. */
  credential: Record<string, unknown>;
}

/** Another name for a passkey. */
export interface PasskeyUpdate {
  /** The id of the passkey. */
  passkeyId: string;
  /** What its owner calls it. */
  name: string;
}

/** A new password, and the present one. */
export interface PasswordInput {
  /** The new password; at least ten characters. */
  new: string;
  /** The present password; not needed in the first 10 minutes of a session. */
  old?: string;
}

/** Who has forgotten their password. */
export interface PasswordResetInput {
  /** The address of the user. */
  email: string;
}

/** PayloadEncoding */
export type PayloadEncoding = "base64" | "hex";

/** Something that a role can allow. */
export interface Permission {
  /** The id of the permission. */
  id: string;
  /** The name of the permission. */
  name: string;
  /** What it allows. */
  description: string;
}

/** A permission to create or update. */
export interface PermissionBody {
  /** The id of the permission. */
  permissionId: string;
  /** The name of the permission. */
  name: string;
  /** What it allows. */
  description: string;
}

/** A page of permissions. */
export interface PermissionConnection {
  /** The items of this page. */
  items: Permission[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A page of last positions, as arrays: they are half as large as objects. */
export interface Positions {
  /**
   * One array for each device: its id, latitude, longitude, the radius in metres or null, and when
   * in seconds since 1970.
   */
  items: ((string | number | null)[])[];
  /** How many there are, counted for the first page. */
  total: number;
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** What a connector would do with the latest records and changes, newest first. */
export interface Preview {
  /** The items of this page. */
  items: PreviewItem[];
  /**
   * Those of its `kinds` of which nothing is stored yet. Changes of the registry are stored from
   * when a connector asks for them.
   */
  kindsWithoutExamples?: MessageKind[];
}

/** The fields of a connector that decide what it sends. */
export interface PreviewDraft {
  /** The connector type. */
  type?: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params?: string;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Only records of these devices; empty for all. */
  deviceIds?: string[];
  /** CEL over `message`; records for which it is true are forwarded. Empty: all. */
  messageFilter?: string;
  /** How a record is encoded in a message. */
  format?: MessageFormat;
}

/** Which connector or draft, and which of the latest records. */
export interface PreviewInput {
  /** The id of the group. */
  groupId: string;
  /** The id of the connector; required without a draft. */
  connectorId?: string;
  /** Changes to the connector that are tried, or a whole one. */
  draft?: PreviewDraft;
  /** How many of the latest records. */
  limit?: number;
  /** Only records of this device. */
  deviceId?: string;
  /** Only records with a timestamp from here on. */
  beginDate?: When;
  /** Only records with an earlier timestamp. */
  endDate?: When;
}

/** What a connector would do with one stored record or change. */
export interface PreviewItem {
  /** Absent for the alarm of a connector. */
  deviceId?: string;
  /** The kind of the record. */
  kind: MessageKind;
  /** The timestamp of the record. */
  timestamp: string;
  /** The id of the record; absent for a change. */
  recordId?: string;
  /** Whether the connector forwards it. */
  matches: boolean;
  /** Why not, in words; empty if it does. */
  reason: string;
  /**
   * Why it is not forwarded: `kind`, `device_type`, `device_id`, `filter_false`, `filter_failed`
   * (it is neither true nor false), or `invalid_message` (it cannot be written in the format).
   * Absent if it is forwarded.
   */
  code?: NotSent;
  /** A field that the filter names and the record does not have. */
  missingField?: string;
  /** What would be sent. */
  request?: PreviewRequest;
  /** In the preview of a draft: whether the saved connector forwards it. */
  matchedBefore?: boolean;
}

/** The request that would be sent; secrets are masked. */
export interface PreviewRequest {
  /** The method, or what the protocol does. */
  method: string;
  /** Where it would go. */
  url: string;
  /** The headers, by name. */
  headers: Record<string, unknown>;
  /** The body. */
  body: string;
}

/** Every error of the service (RFC 9457, with `message` repeating `detail`). */
export interface Problem {
  /** A name of the error: `urn:longwire:error:` and its `code`. */
  type: string;
  /** What the status means. */
  title: string;
  /** The status of the response. */
  status: number;
  /** What is wrong, in words. */
  detail: string;
  /** The same as `detail`. */
  message: string;
  /** What is wrong, for programs. */
  code: string;
  /** Every invalid field of the request. */
  errors: FieldProblem[];
  /** The `X-Request-Id` of the request. */
  requestId: string;
}

/** A user, as seen by members of a common group. */
export interface PublicUser {
  /** The id of the user. */
  id?: string;
  /** An e-mail address. */
  email?: string;
  /** What the user is called. */
  name?: string;
  /** When they used the service last. */
  seenAt?: string;
  /** The first name. */
  firstName?: string;
  /** The last name. */
  lastName?: string;
  /** When it was created. */
  createdAt?: string;
  /** When it was changed last. */
  updatedAt?: string;
  /** Among the members of a group: the role in it. */
  role?: Role;
  /** Among the members of a group: when they got their role. */
  membershipUpdatedAt?: string;
}

/** A message of a network, as it came in; kept for a limited time. */
export interface Reception {
  /** When the request came in. */
  receivedAt: string;
  /** Of the network's request. */
  requestId: string;
  /** The media type of the request. */
  contentType?: string;
  /** Of the URL, without the token. */
  query?: string;
  /** Of the body, in bytes. */
  size: number;
  /** If it is text and was kept: large ones and those of a batch are not. */
  body?: string;
  /** The same if it is not text. */
  bodyBase64?: string;
}

/** RecordExportFormat */
export type RecordExportFormat = "csv" | "ndjson" | "parquet";

/** RecordKind */
export type RecordKind = "data" | "event" | "geoloc" | "telemetry";

/** Which payloads to redecode: of a device or of a group's devices, in a period. */
export interface RedecodeInput {
  /** The id of the device. */
  deviceId?: string;
  /** With deviceId, its group. */
  groupId?: string;
  /** Only devices of this type. */
  deviceType?: string;
  /**
   * The begin of the range, which is part of it. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   */
  beginDate?: When;
  /**
   * The end of the range, which is not part of it; a date without a time includes that day. RFC
   * 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC. A JSON
   * number is taken, too.
   */
  endDate?: When;
  /** The maximum number of records to read. */
  limit?: number;
  /** The nextToken of the previous response. */
  nextToken?: string;
}

/** The outcome for some records; with a nextToken there are more. */
export interface RedecodeReturn {
  /** What was done, in words. */
  message: string;
  /** Records that were read. */
  lookedAt: number;
  /** Records whose values changed. */
  changed: number;
  /** Records without a payload, or with data of another form. */
  skipped: number;
  /** Records that the decoder rejected; they are unchanged. */
  failed: number;
  /** The error of the first one that failed. */
  failure?: string;
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** RegistryChangeType */
export type RegistryChangeType = "device.created" | "device.deleted" | "device.hardwareReplaced" | "device.moved" | "device.movedIn" | "device.movedOut" | "device.restored" | "device.updated";

/**
 * A device that was created, changed, moved or deleted, for connectors that ask for `registry`.
 *
 *     It has what the device is after the change, or was when it was deleted.
 */
export interface RegistryMessage {
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The kind of the record. */
  kind: MessageKind;
  /**
   * What was done. A connector that sees only one of the two groups of a device that moves gets
   * `device.movedOut` or `device.movedIn`.
   */
  type: RegistryChangeType;
  /** The id of the device. */
  deviceId: string;
  /** When that was. */
  timestamp: string;
  /** The group of the device; with `device.movedOut`, the one that it left. */
  groupId: string;
  /** Where it was, with `device.moved`. */
  fromGroupId?: string;
  /** Which network carries the messages of the device. */
  network: string;
  /** The id of the device in its network. */
  originalId: string;
  /** As JSON. */
  configuration: string;
  /** The members that were changed, as they were before. */
  before?: Record<string, unknown>;
  /** The name of the device when the record arrived, or that in the record. */
  deviceName: string;
  /** The type of the device when the record arrived, or that in the record. */
  deviceType: string;
  /** The tags of the device when the record arrived. */
  tags: string[];
}

/** The progress of a replay. */
export interface Replay {
  /** The id of the replay. */
  replayId: string;
  /** The id of the connector. */
  connectorId: string;
  /** The id of the group. */
  groupId: string;
  /** `running`, `done` or `cancelled`. */
  status: ReplayState;
  /** Records that were looked at. */
  lookedAt: number;
  /** Messages that were queued for them. */
  queued: number;
  /** The begin of the range, which is part of it. */
  beginDate: string;
  /** The end of the range, which is not part of it; a date without a time includes that day. */
  endDate: string;
  /** When it was created. */
  createdAt: string;
  /** When it was changed last. */
  updatedAt: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy: string;
}

/** Which connector, and the timestamps of which records. */
export interface ReplayInput {
  /** The id of the connector. */
  connectorId: string;
  /** The id of the group. */
  groupId: string;
  /**
   * The first timestamp of the records. RFC 3339, a date alone, or seconds or milliseconds since
   * 1970. Without an offset it is UTC. A JSON number is taken, too.
   */
  beginDate: When;
  /**
   * The end of the timestamps, which is not part of them. RFC 3339, a date alone, or seconds or
   * milliseconds since 1970. Without an offset it is UTC. A JSON number is taken, too.
   */
  endDate: When;
}

/** The last replays of a connector, the newest first. */
export interface ReplayList {
  /** The items of this page. */
  items: Replay[];
}

/** What a replay would send. */
export interface ReplayPreview {
  /** Records that were looked at. */
  lookedAt: number;
  /** Of those, records that would be sent. */
  matches: number;
  /** Of the matches, records that the connector has had before; their messages keep their ids. */
  sentBefore: number;
  /** Whether every record was looked at that a replay would look at. */
  isAll: boolean;
  /** `matches` if all were looked at, else an estimate for the whole range. */
  estimatedMatches: number;
}

/** A replay that was started. */
export interface ReplayStarted {
  /** What was done, in words. */
  message: string;
  /** Messages that are queued already. */
  queued: number;
  /** The id of the replay. */
  replayId: string;
}

/** ReplayState */
export type ReplayState = "cancelled" | "done" | "running";

/** A file that is sent on a schedule. */
export interface Report {
  /** Its id. */
  id: string;
  /** The id of the group. */
  groupId: string;
  /** What it is called, in the subject of its mails. */
  name?: string;
  /**
   * What is in it: records that arrived in the period, numbers of a measurement in it, the devices
   * as they are now, or alarms that were raised in it.
   */
  content: ReportContent;
  /**
   * What to choose, as in the query of `GET /records/export`, `GET /group/series`, `GET
   * /devices/export` or `GET /group/alarms`; without dates, formats and pages.
   */
  parameters: Record<string, unknown>;
  /**
   * How often, and the period that it is about: the day, the week from Monday to Sunday or the
   * month before. A weekly one is sent on Mondays, a monthly one on the first.
   */
  every: ReportSpan;
  /**
   * When, on the clock of `timezone`. Where that leaves the time out, it is sent when the clock is
   * changed, and where it shows it twice, the first time.
   */
  at: string;
  /** Whose days it is about: a name of the IANA database. */
  timezone: string;
  /** Of the file. */
  format: ReportFormat;
  /** To whom it goes. */
  to: ReportContact;
  /** Whether it is sent. */
  enabled: boolean;
  /** When it is due next. */
  nextAt: string;
  /** What became of it last. */
  lastRun?: LastReportRun;
  /** When it was created. */
  createdAt: string;
  /** When it was changed last. */
  updatedAt: string;
  /** Who created it. */
  createdBy: string;
  /** Who changed it last; with whose permissions it is read. */
  updatedBy: string;
}

/** A page of reports. */
export interface ReportConnection {
  /** The items of this page. */
  items: Report[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** To whom a report goes. */
export interface ReportContact {
  /** `email` or `webhook`. */
  type: string;
  /**
   * `to`, a list of addresses, for `email`; `url`, and if wanted `headers`, `bearer`, `basic` and
   * `secret`, for `webhook`. Secrets are masked for callers who may not change it.
   */
  params: Record<string, unknown>;
}

/** ReportContent */
export type ReportContent = "alarms" | "devices" | "records" | "series";

/** What the link in a mail of a report opens. */
export interface ReportDownload {
  /** What it is called. */
  name?: string;
  /**
   * What is in it: records that arrived in the period, numbers of a measurement in it, the devices
   * as they are now, or alarms that were raised in it.
   */
  content: ReportContent;
  /** Since when it is about. */
  beginDate: string;
  /** Until before when. */
  endDate: string;
  /** Whose days it is about: a name of the IANA database. */
  timezone: string;
  /** What its file is called. */
  fileName: string;
  /** How many rows the file has. */
  rows: number;
  /** Of the file. */
  bytes: number;
  /** Until when it can be downloaded. */
  expiresAt: string;
}

/** ReportFormat */
export type ReportFormat = "csv" | "xlsx";

/** A report to create. */
export interface ReportInput {
  /** The id of the group. */
  groupId: string;
  /** What it is called, in the subject of its mails. */
  name: string;
  /**
   * What is in it: records that arrived in the period, numbers of a measurement in it, the devices
   * as they are now, or alarms that were raised in it.
   */
  content: ReportContent;
  /**
   * What to choose, as in the query of `GET /records/export`, `GET /group/series`, `GET
   * /devices/export` or `GET /group/alarms`; without dates, formats and pages.
   */
  parameters?: Record<string, unknown>;
  /**
   * How often, and the period that it is about: the day, the week from Monday to Sunday or the
   * month before. A weekly one is sent on Mondays, a monthly one on the first.
   */
  every: ReportSpan;
  /**
   * When, on the clock of `timezone`. Where that leaves the time out, it is sent when the clock is
   * changed, and where it shows it twice, the first time.
   */
  at: string;
  /** Whose days it is about: a name of the IANA database. */
  timezone?: string;
  /** Of the file. */
  format?: ReportFormat;
  /** To whom it goes. */
  to: ReportContact;
  /** Whether it is sent; by default it is. */
  enabled?: boolean;
}

/** Which report, of which group. */
export interface ReportRef {
  /** The id of the group. */
  groupId: string;
  /** The id of the report. */
  reportId: string;
}

/** ReportSpan */
export type ReportSpan = "day" | "month" | "week";

/** ReportState */
export type ReportState = "failed" | "queued" | "sent" | "stopped";

/** Days that each kind of record, and summaries of values, are kept after their timestamp. */
export interface RetentionDays {
  /** 0 for ever. */
  data?: number;
  /** 0 for ever. */
  event?: number;
  /** 0 for ever. */
  geoloc?: number;
  /** 0 for ever. */
  telemetry?: number;
  /** Summaries of values, from which series are made. */
  summary?: number;
}

/** RetentionName */
export type RetentionName = "data" | "event" | "geoloc" | "summary" | "telemetry";

/** Messages by their ids, or those of a connector by a filter; not both. */
export interface RetryMessagesInput {
  /** The id of the group. */
  groupId: string;
  /** Messages of this group. */
  ids?: string[];
  /** Only of this connector. */
  connectorId?: string;
  /** Only about this device. */
  deviceId?: string;
  /** Only messages of this kind. */
  kind?: MessageKind;
  /** Last changed from then on. */
  beginDate?: When;
  /** Last changed before. */
  endDate?: When;
  /** `failed` (default) or `processing`. */
  status?: string;
}

/** How often a delivery is retried, and the delay between attempts in seconds. */
export interface RetryPolicy {
  /** Seconds between two attempts. */
  retryDelay?: number;
  /** How often a failed attempt is retried. */
  maxRetry?: number;
  /** Seconds before each retry, in place of the other two. */
  delays?: number[];
}

/**
 * How often a delivery is retried, and the delay between attempts in seconds.
 *
 *     Either `retryDelay` and `maxRetry`, or `delays`.
 */
export interface RetryPolicyInput {
  /** Seconds between two attempts. */
  retryDelay?: number;
  /** How often a failed attempt is retried. */
  maxRetry?: number;
  /** Seconds before each retry; as many retries as there are delays. */
  delays?: number[];
}

/** A named set of permissions. */
export interface Role {
  /** The id of the role. */
  id: string;
  /** The name of the role. */
  name: string;
  /** What the role is for. */
  description: string;
  /** Ids of permissions. */
  permissions: string[];
  /** Whether it can be deleted; roles of the service cannot. */
  removable?: boolean;
  /** When it was changed last. */
  updatedAt?: string;
}

/** Changes to a role. */
export interface RoleChange {
  /** The id of the role. */
  roleId: string;
  /** A group in which the caller may change roles. */
  groupId: string;
  /** The new name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** Ids of permissions. */
  permissions?: string[];
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A page of roles. */
export interface RoleConnection {
  /** The items of this page. */
  items: Role[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A role to create. */
export interface RoleInput {
  /** The name of the role. */
  name: string;
  /** What the role is for. */
  description: string;
  /** Ids of permissions, in one string, separated by commas or spaces; a list is taken, too. */
  permissions: string;
}

/** The connector whose signing secret is replaced. */
export interface RotateSecretInput {
  /** The id of the connector. */
  connectorId: string;
  /** The id of the group. */
  groupId: string;
  /**
   * The new one: `whsec_` and a key of 24 to 64 bytes in base64. Made by the service if it is left
   * out.
   */
  secret?: string;
  /**
   * Until when the secret before it signs as well, up to 90 days; 24 hours by default. If that is
   * over, it ends at once.
   */
  previousUntil?: When;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A day of the week and a period of it. */
export interface Schedule {
  /** 1 to 7 for Monday to Sunday; 0 is Sunday, too. */
  Day: number;
  /** From when on that day; without it, from midnight. */
  From?: ScheduleTime;
  /** Until when on that day; without it, until midnight. */
  To?: ScheduleTime;
}

/** A time of the day. */
export interface ScheduleTime {
  /** The hour, from 0 to 23. */
  Hours: number;
  /** The minute. */
  Minutes: number;
  /** The second; the interface spells it so. */
  Secondes?: number;
}

/** SeenWithin */
export type SeenWithin = "day" | "hour" | "longer" | "never" | "silent" | "week";

/** Numbers of some devices over time. */
export interface Series {
  /** The begin of the first span. */
  beginDate: string;
  /** The end of the last span. */
  endDate: string;
  /** Seconds per point. */
  timeSpan?: number;
  /** Instead of `timeSpan`; a week begins on Monday. */
  calendarSpan?: CalendarSpan;
  /** Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`. */
  timezone?: string;
  /** The name of the measurement. */
  measurement?: string;
  /** The class of the measurement. */
  class?: MeasurementClass;
  /** For people. */
  unit?: string;
  /** What people call it. */
  label?: string;
  /**
   * Of a measurement: everything that had arrived by then is counted. If more records had to be
   * read than one request may, this is where they begin; `fresh` reads them.
   */
  completeUntil?: string;
  /** As asked. */
  path?: string;
  /** The kind of records. */
  kind?: RecordKind;
  /** In the order of the request. */
  items: DeviceSeries[];
}

/** SeriesAggregate */
export type SeriesAggregate = "count" | "first" | "increase" | "last" | "max" | "mean" | "min" | "sum";

/** SeriesCombination */
export type SeriesCombination = "count" | "max" | "mean" | "min" | "none" | "percentile" | "sum";

/** SeriesFormat */
export type SeriesFormat = "csv" | "json" | "ndjson" | "parquet" | "table";

/** The numbers of the records in one span of time. */
export interface SeriesPoint {
  /** The begin of the span. */
  timestamp: string;
  /** The smallest number. */
  min: number;
  /** The largest number. */
  max: number;
  /** The arithmetic mean. */
  mean: number;
  /** The number of the oldest record. */
  first: number;
  /** The number of the newest record. */
  last: number;
  /** The number of numbers. */
  count: number;
  /** Of all numbers. */
  sum: number;
  /**
   * Of a counter: what it rose since the last number before the span. A smaller number is another
   * counter, or one that began again at zero.
   */
  increase?: number;
  /** A span without numbers lies before this one. */
  hasGap?: boolean;
}

/** A point of a device. */
export interface SeriesRow {
  /** The begin of the span. */
  timestamp: string;
  /** The smallest number. */
  min: number;
  /** The largest number. */
  max: number;
  /** The arithmetic mean. */
  mean: number;
  /** The number of the oldest record. */
  first: number;
  /** The number of the newest record. */
  last: number;
  /** The number of numbers. */
  count: number;
  /** Of all numbers. */
  sum: number;
  /**
   * Of a counter: what it rose since the last number before the span. A smaller number is another
   * counter, or one that began again at zero.
   */
  increase?: number;
  /** A span without numbers lies before this one. */
  hasGap?: boolean;
  /** The id of the device. */
  deviceId: string;
  /** If several measurements were asked for. */
  measurement?: string;
}

/** From when on a device was in a state. */
export interface SeriesState {
  /** When it began, or the begin of the range. */
  timestamp: string;
  /** It holds until the next one. */
  value: number | string | boolean;
}

/** A state of a device. */
export interface SeriesStateRow {
  /** When it began, or the begin of the range. */
  timestamp: string;
  /** It holds until the next one. */
  value: number | string | boolean;
  /** The id of the device. */
  deviceId: string;
  /** If several measurements were asked for. */
  measurement?: string;
}

/** All sessions of a user, the last used first. */
export interface SessionConnection {
  /** The items of this page. */
  items: SessionItem[];
}

/** The session of the caller. */
export interface SessionInfo {
  /** Who is signed in. */
  user: User;
  /** Whether the user has every permission in every group. */
  isOperator: boolean;
  /** How the user signed in. */
  method: SignInMethod;
  /** When it was created. */
  createdAt: string;
  /** Unless it is used before. */
  expiresAt: string;
  /**
   * The user who was shown its link, if it was another. Such a session changes nothing that
   * outlives it, such as ways to sign in.
   */
  issuedBy?: string;
  /**
   * Whether ways to sign in can be changed with it now: it is younger than ten minutes, and did
   * not begin with a link that was shown.
   */
  isFresh: boolean;
  /** Whether the user has a password. */
  hasPassword: boolean;
  /** Whether the user needs a code of an authenticator app. */
  hasTotp: boolean;
}

/** One of the sessions of a user. */
export interface SessionItem {
  /** The id of the session. */
  sessionId: string;
  /** How the user signed in. */
  method: SignInMethod;
  /** Where it was created. */
  address: string;
  /** The browser that it was created with. */
  userAgent: string;
  /** When it was created. */
  createdAt: string;
  /** Its last use, to five minutes. */
  seenAt: string;
  /** When it expires. */
  expiresAt: string;
  /** Whether it is the session of this request. */
  isThis: boolean;
  /** The user who was shown its link, if it was another. */
  issuedBy?: string;
}

/** Severity */
export type Severity = "critical" | "info" | "warning";

/** What to show by a link: exactly one of `chart`, `device`, `list` and `map`. */
export interface ShareInput {
  /** The id of the group. */
  groupId: string;
  /** Its name. */
  name: string;
  /** How long the link works; up to 31 days if an app client creates it. */
  expiresInDays: number;
  /** Of pages that may embed it; no other may. */
  origins?: string[];
  /** Numbers over time. */
  chart?: SharedChart;
  /** What a device says now. */
  device?: SharedDevice;
  /** Devices with some of their current values. */
  list?: SharedList;
  /** Where the devices are. */
  map?: SharedMap;
}

/** A link that shows something of a group. */
export interface ShareLink {
  /** Its id. */
  id: string;
  /** The id of the group. */
  groupId: string;
  /** The title of the page. */
  name: string;
  /** What the link shows. */
  content: SharedContent;
  /** Numbers over time. */
  chart?: SharedChart;
  /** What a device says now. */
  device?: SharedDevice;
  /** Devices with some of their current values. */
  list?: SharedList;
  /** Where the devices are. */
  map?: SharedMap;
  /** Of pages that may embed it; no other may. */
  origins: string[];
  /**
   * `open`, or why the link shows nothing: `expired`; `forbidden`, if whoever created it could not
   * do so any more; `gone`, if the devices are in this group no longer.
   */
  state: ShareState;
  /** Until when the link works. */
  expiresAt: string;
  /** When it was created. */
  createdAt: string;
  /** Who created it, and with whose permissions it is read. */
  createdBy: string;
  /** How often it was opened, up to some seconds ago. */
  uses: number;
  /** When it showed something for the first time. */
  firstUsedAt?: string;
  /** When it did so last. */
  lastUsedAt?: string;
}

/** A page of links. */
export interface ShareLinkConnection {
  /** The items of this page. */
  items: ShareLink[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** ShareState */
export type ShareState = "expired" | "forbidden" | "gone" | "open";

/** Numbers over time: of some devices, each a line of its own, or of a group as one. */
export interface SharedChart {
  /** What is measured; each is a line of its own. */
  measurements: string[];
  /** Of these devices; else of the whole group. */
  deviceIds?: string[];
  /** With all groups below it. */
  subgroups?: boolean;
  /** Only devices of a type. */
  type?: string;
  /** Only devices that have each of them. */
  tags?: string[];
  /** As in `GET /group/series`. */
  of?: SeriesAggregate;
  /** As in `GET /group/series`; of named devices `none` unless given. */
  combine?: SeriesCombination;
  /** With `combine=percentile`. */
  percentile?: number;
  /** How far it goes back from whenever it is looked at; a day unless given, or dates. */
  lastSeconds?: number;
  /** Of a chart that stays as it is. */
  beginDate?: When;
  /**
   * The end of the range, which is not part of it; a date without a time includes that day. RFC
   * 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC. A JSON
   * number is taken, too.
   */
  endDate?: When;
  /** Seconds per point. */
  timeSpan?: number;
  /** Instead of `timeSpan`; a week begins on Monday. */
  calendarSpan?: CalendarSpan;
  /** Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`. */
  timezone?: string;
}

/** What a current value is called. */
export interface SharedColumn {
  /** The name of the measurement. */
  name: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class?: MeasurementClass;
  /** What people call it. */
  label?: string;
  /** For people. */
  unit?: string;
  /** How many decimals to show. */
  decimals?: number;
}

/** SharedContent */
export type SharedContent = "chart" | "device" | "list" | "map";

/** What a device says now. */
export interface SharedDevice {
  /** The id of the device. */
  deviceId: string;
  /** Only these current values; all unless given. */
  values?: string[];
  /** With its last position. */
  position?: boolean;
}

/** A device of a link, with what it shows of it. */
export interface SharedDeviceRow {
  /** Of the device. */
  deviceName: string;
  /** When it reported last. */
  seenAt?: string;
  /** Current values, by name. */
  values: Record<string, unknown>;
  /** Its last position, if the link shows it. */
  position?: SharedPosition;
}

/** The device of a link, or a page of its list. */
export interface SharedDevices {
  /** What the current values are called. */
  columns: SharedColumn[];
  /** The items of this page. */
  items: SharedDeviceRow[];
  /** How many there are. */
  total: number;
  /** Whether there may be more than `total`. */
  totalIsMore?: boolean;
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** Numbers or states of a device, or of all as one. */
export interface SharedLine {
  /** Of the device. */
  deviceName?: string;
  /** The name of the measurement. */
  measurement: string;
  /**
   * `gauge`; `counter`, which only grows; `amount` since the last message; or `state`, a word or a
   * boolean.
   */
  class?: MeasurementClass;
  /** What people call it. */
  label?: string;
  /** For people. */
  unit?: string;
  /** How many decimals to show. */
  decimals?: number;
  /** What counts of a span. */
  of: SeriesAggregate;
  /** By time. */
  points: SharedPoint[];
  /** Of a state: each change. */
  states?: SeriesState[];
}

/** Devices of a group, with some of their current values. */
export interface SharedList {
  /** With all groups below it. */
  subgroups?: boolean;
  /** Current values to show as columns. */
  values?: string[];
  /**
   * Only devices with such a current value: a measurement, one of `<`, `<=`, `>`, `>=`, `==`,
   * `!=`, and a number, a word or `null`; or `@` and a date, for its time. All must hold. Needs
   * `record.read`.
   */
  where?: string[];
  /**
   * Sort by a current value, whatever `sort` is: `value:` and a measurement. Devices without it
   * are last. Needs `record.read`.
   */
  order?: string;
  /** With `order`: the largest value first. */
  descending?: boolean;
  /** What to sort by. */
  sort?: DeviceOrder;
  /** Whether the oldest or smallest come first. */
  ascending?: boolean;
  /**
   * A part of the name, of the original id or of a tag, or the begin of the id; case-insensitive.
   * First come devices with this id or original id, then those whose name or original id begins
   * with it.
   */
  q?: string;
  /** The device type. */
  type?: string;
  /**
   * Any name; `vendor`, `chirpstack`, `ttn`, `loriot`, `thingpark` and `mqtt` are supported
   * networks, in any case.
   */
  network?: string;
  /** A tag they have. */
  tag?: string;
  /**
   * Last seen within the last hour, day or week, longer ago, never; or silent by what its
   * configuration expects.
   */
  seen?: SeenWithin;
  /** Less charge, in percent. */
  batteryBelow?: number;
}

/** Where the devices of a group are. */
export interface SharedMap {
  /** With all groups below it. */
  subgroups?: boolean;
}

/** A number in a span. */
export interface SharedPoint {
  /** The begin of the span. */
  timestamp: string;
  /** What `of` of the line says. */
  value: number;
  /** Of a mean, the smallest. */
  min?: number;
  /** Of a mean, the largest. */
  max?: number;
}

/** Where a device was last. */
export interface SharedPosition {
  /** Of the device. */
  deviceName: string;
  /** Latitude. */
  lat: number;
  /** Longitude. */
  lng: number;
  /** In metres, if known. */
  radius?: number;
  /** When it happened. */
  timestamp: string;
}

/** A page of the map of a link. */
export interface SharedPositions {
  /** The items of this page. */
  items: SharedPosition[];
  /** How many there are. */
  total: number;
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** The chart of a link. */
export interface SharedSeries {
  /** The begin of the range, which is part of it. */
  beginDate: string;
  /** The end of the range, which is not part of it; a date without a time includes that day. */
  endDate: string;
  /** Seconds per point. */
  timeSpan?: number;
  /** Instead of `timeSpan`; a week begins on Monday. */
  calendarSpan?: CalendarSpan;
  /** Whose days `calendarSpan` counts: a name of the IANA database; by default `UTC`. */
  timezone?: string;
  /** In the order of what was shared. */
  lines: SharedLine[];
}

/** A current value. */
export interface SharedValue {
  /** A word or a boolean only of a state. */
  value: number | string | boolean;
  /** When it happened. */
  timestamp: string;
  /** Of a single device: it should have reported since. */
  isStale?: boolean;
}

/** What a link shows, and whether it still does. */
export interface SharedView {
  /** The title. */
  name: string;
  /** What the link shows. */
  content: SharedContent;
  /**
   * `open`, or why the link shows nothing: `expired`; `forbidden`, if whoever created it could not
   * do so any more; `gone`, if the devices are in this group no longer.
   */
  state: ShareState;
  /** Until when the link works. */
  expiresAt: string;
}

/** SignInChange */
export type SignInChange = "passkey.create" | "passkey.delete" | "passkey.update" | "password.set" | "signInLink.create" | "totp.disable" | "totp.enable" | "user.bind" | "user.resetSignIn";

/** The last changes of how a user signs in, the newest first. */
export interface SignInChangeConnection {
  /** The items of this page. */
  items: SignInChangeItem[];
}

/** A change of how a user signs in. */
export interface SignInChangeItem {
  /** When it happened. */
  timestamp: string;
  /**
   * What was done, as the audit log has it. `signInLink.create` is a link that was shown to
   * somebody, or printed by the operator.
   */
  change: SignInChange;
  /** Of the passkey. */
  name?: string;
  /** Whether somebody else did it: an operator, or who was shown a link. */
  byOther: boolean;
  /** Where from. */
  address: string;
}

/** One way to sign in. */
export interface SignInInput {
  /** What follows `=` in a sign-in link. */
  link?: string;
  /** Of a user with a password. */
  email?: string;
  /** The password of this user. */
  password?: string;
  /**
   * With `link`, or `email` and `password`: the code of an authenticator app, or a recovery code,
   * for users who have turned that on.
   */
  totp?: string;
  /** The client id of a user's credentials. */
  clientId?: string;
  /** The secret of the same credentials. */
  clientSecret?: string;
}

/** SignInMethod */
export type SignInMethod = "client" | "link" | "oidc" | "passkey" | "password";

/** For which alarms no messages are sent, and when. */
export interface Silence {
  /** Its id. */
  id: string;
  /** Its group. */
  groupId: string;
  /** Whether it is for the groups below as well. */
  subgroups: boolean;
  /** The only devices that it is for. */
  deviceIds?: string[];
  /** It is for devices with all of these. */
  tags?: string[];
  /** It is for devices of these types. */
  types?: string[];
  /** It is for alarms of this severity. */
  severity?: Severity;
  /** When it begins. */
  from: string;
  /** When it ends. */
  until: string;
  /** When it is in force, in the form that notifications have. */
  schedule?: string;
  /** The zone that the schedule is meant in, by its IANA name. */
  timezone?: string;
  /** Why. */
  reason: string;
  /**
   * `active`, `pending`, if it has not begun or its schedule keeps it from being in force, or
   * `expired`.
   */
  state: SilenceState;
  /** Of how many alarms it has held messages back; `GET /group/alarms?silenceId=` lists them. */
  heldBack: number;
  /** When it was created. */
  createdAt: string;
  /** The id of the user or app client that created it. */
  createdBy: string;
}

/** A page of silences. */
export interface SilenceConnection {
  /** The items of this page. */
  items: Silence[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** For which alarms no messages are to be sent, and until when. */
export interface SilenceInput {
  /**
   * The group of the devices and connectors; its notifications, those of groups below it, and
   * those of groups above in which the caller may change notifications, are silenced.
   */
  groupId: string;
  /** Also about devices and connectors of the groups below it. */
  subgroups?: boolean;
  /** Only about these devices. */
  deviceIds?: string[];
  /** Only about devices with all of these tags. */
  tags?: string[];
  /** Only about devices of these types. */
  types?: string[];
  /** Only alarms of this severity. */
  severity?: Severity;
  /** From when on; now unless given. */
  from?: When;
  /** When it ends. */
  until: When;
  /**
   * When it may be sent, in the time zone of `params`. An object, or a string in the form of the
   * responses; an empty string removes it.
   */
  schedule?: string | Schedule;
  /** The zone that the schedule is meant in, by its IANA name. */
  timezone?: string;
  /** Why, for whoever wonders. */
  reason: string;
}

/** SilenceState */
export type SilenceState = "active" | "expired" | "pending";

/** StartableJobKind */
export type StartableJobKind = "configuration" | "delete" | "export" | "redecode" | "replay" | "resend" | "tag" | "transfer" | "type";

/** What is stored: records, and the size of their JSON. */
export interface StoredAmount {
  /** How many records there are. */
  records: number;
  /** In characters. */
  bytes: number;
}

/** A telemetry record, as a connector sends it in the format `json`. */
export interface TelemetryMessage {
  /** The id of the device. */
  deviceId: string;
  /** When it happened. */
  timestamp: string;
  /** One text for each base station or gateway that received the message, mostly JSON. */
  duplicates?: string[];
  /** What was reported: any text, mostly a JSON object in a string. */
  data?: string;
  /** The quality of the link; records of networks have 0 (weakest) to 3 (strongest). */
  score?: number;
  /** The number of base stations that received the message; `nbBs` in requests. */
  nbBS?: number;
  /**
   * The number that the vendor's network sends as `rc` with its advanced data; the service does
   * not interpret it.
   */
  rc?: number;
  /** The id of the group. */
  groupId?: string;
  /** The type of the device when the record arrived, or that in the record. */
  deviceType: string;
  /** The id of the message, the same for every attempt: deduplicate by it. */
  id: string;
  /** The kind of the record. */
  kind: RecordKind;
  /** The name of the device when the record arrived, or that in the record. */
  deviceName: string;
  /** The tags of the device when the record arrived. */
  tags: string[];
}

/** The fields of a connector that decide what is sent, and where to. */
export interface TestDraft {
  /** The connector type. */
  type?: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params?: string;
  /** How a record is encoded in a message. */
  format?: MessageFormat;
}

/** Take a report of ThingPark's network server. */
export interface ThingparkCallback {
  /** The uplink; other reports have a member of another name. */
  DevEUI_uplink?: unknown;
}

/** A current value, and when it was. */
export interface TimedValue {
  /** A word or a boolean only of a state. */
  value?: number | string | boolean;
  /** When it happened. */
  timestamp: string;
}

/** The error response of RFC 6749. */
export interface TokenError {
  /** The code of RFC 6749. */
  error: TokenErrorCode;
  /** The same in words. */
  error_description: string;
}

/** TokenErrorCode */
export type TokenErrorCode = "invalid_client" | "invalid_request" | "unsupported_grant_type";

/** The form that names a token. */
export interface TokenForm {
  /** The access token. */
  token: string;
  /** Ignored. */
  token_type_hint?: string;
  /** The client id, if it is not in the header Authorization. */
  client_id?: string;
  /** Its secret. */
  client_secret?: string;
}

/**
 * A valid token of the client that asks; for any other token `active` is false, and alone.
 *
 *     `sub` is the user or app client that acts with the token. Times are in seconds since 1970.
 */
export interface TokenIntrospectionResponse {
  /** Whether it is a valid token of the client that asks. */
  active: boolean;
  /** The client that the token was issued to. */
  client_id?: string;
  /** The id of the user or app client that acts with the token. */
  sub?: string;
  /** The URL of the service that issued it. */
  iss?: string;
  /** When it was issued, in seconds since 1970. */
  iat?: number;
  /** When it expires, in seconds since 1970. */
  exp?: number;
  /** Always `Bearer`. */
  token_type?: string;
}

/** The form of a request for a token. */
export interface TokenRequest {
  /** The grant of RFC 6749; here or in the query. */
  grant_type?: string;
  /** The client id, if it is not in the header Authorization. */
  client_id?: string;
  /** Its secret. */
  client_secret?: string;
}

/** An access token and its lifetime in seconds. */
export interface TokenResponse {
  /** The access token, for `Authorization: Bearer`. */
  access_token: string;
  /** Always `Bearer`. */
  token_type: string;
  /** The lifetime of the token in seconds. */
  expires_in: number;
}

/** Empty: the token is not valid, or not one of this client. */
export interface TokenRevocationResponse {
}

/** A code of an authenticator app. */
export interface TotpCodeInput {
  /** The code that the app shows, or a recovery code. */
  code: string;
}

/** Codes that replace one of the app, each once; shown once. */
export interface TotpRecoveryCodes {
  /** Codes that replace one of the app, each once. */
  recoveryCodes: string[];
}

/** What an authenticator app needs; shown once. */
export interface TotpSecret {
  /** In base32. */
  secret: string;
  /** The same for a QR code. */
  uri: string;
}

/** A record from its reception to everything that it caused. */
export interface Trace {
  /** The record. */
  arrival: Arrival;
  /** The request of the network, while it is kept. */
  reception?: Reception;
  /** What the decoder made of the payload. */
  decoding?: DecodingResult;
  /** Where you have `connector.read`; first those with a message. */
  connectors: ConnectorTrace[];
  /** There are more than are shown. */
  hasMoreConnectors?: boolean;
  /** Where you have `notification.read`. */
  notifications: NotificationTrace[];
  /** Where you have `notification.read`. */
  contactPoints?: ContactPointTrace[];
  /** With a message about it, but not yours to see. */
  hiddenConnectors?: number;
  /** Caused by it, but not yours to see. */
  hiddenNotifications?: number;
}

/** Which device to transfer, and to which group. */
export interface Transfer {
  /** The id of the device. */
  deviceId: string;
  /** The id of the group that the device is in. */
  groupId: string;
  /** The id of the group to transfer to. */
  toGroupId: string;
}

/** A group in a tree, without its token. */
export interface TreeGroup {
  /** The id of the group: digits, in a string. */
  id: string;
  /** The id of the user that `role` is of: the caller. */
  userId: string;
  /** Its name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** Not in this list; see `GET /group`. */
  token?: string;
  /** The id of the role that administers it, which its creator has. */
  administratorRole?: string;
  /** The id of the role that its app clients have. */
  defaultRole?: string;
  /** When it was created. */
  createdAt?: string;
  /** When it was changed last. */
  updatedAt?: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy?: string;
  /** The id of the user or app client that changed it last; `system` for the service itself. */
  updatedBy?: string;
  /** The id of the group above; none for a root group. */
  parent?: string;
  /** The nearest role of the caller on the path to the root, with all permissions that hold here. */
  role?: Role;
  /** The id of the user who owns the group. */
  ownerId?: string;
  /** How many devices it has itself. */
  numberOfDevices?: number;
  /** How many notifications it has itself. */
  numberOfNotifications?: number;
  /** How many connectors it has itself. */
  numberOfConnectors?: number;
  /** Free words to find it by. */
  tags?: string[];
  /** When it will be deleted with everything in it. */
  deletionAt?: string;
  /** Only if it is true: this user has not accepted the membership yet. */
  isInvited?: boolean;
  /** How many groups are directly below it. */
  numberOfGroups: number;
}

/** Take a message of a webhook of The Things Stack. */
export interface TtnCallback {
  /** The device: its `dev_eui` or `device_id`. */
  end_device_ids?: unknown;
  /** When the message was received. */
  received_at?: unknown;
  /** The uplink; other messages have a member of another name. */
  uplink_message?: unknown;
}

/** The decoder of a device type. */
export interface TypeDecoder {
  /** The device type. */
  type: string;
  /** `bits`, `cayenneLpp` or `javascript`. */
  decoder?: DecoderKind;
  /** The bit format or the codec; Cayenne LPP has none. */
  decoderSource?: string;
  /** Names of the decoded latitude and longitude that become a geolocation. */
  decodedLocation?: string;
  /** When the type was changed last. */
  updatedAt: string;
  /** What the codec uses and does not exist here. */
  warnings?: string[];
}

/** The new decoder of a device type; without `decoder` it has none. */
export interface TypeDecoderChange {
  /** The device type. */
  type: string;
  /** `bits`, `cayenneLpp` or `javascript`. */
  decoder?: DecoderKind;
  /** The bit format or the codec; Cayenne LPP has none. */
  decoderSource?: string;
  /** Names of the decoded latitude and longitude that become a geolocation. */
  decodedLocation?: string;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** TypeFormat */
export type TypeFormat = "chirpstack" | "theThingsNetwork";

/** The files of a device, and what is to become of them. */
export interface TypeImportInput {
  /** At most 64, by path: what the device's own file names. */
  files: Record<string, unknown>;
  /** Whose it is, with the groups below; without it, for all. */
  groupId?: string;
  /** Which one, if the files have several: the name of its file without its ending. */
  device?: string;
  /** Without it, the last one of its file. */
  firmwareVersion?: string;
  /** Without it, maker and device. */
  name?: string;
  /** For people. */
  displayName?: string;
  /** Create or update it although examples fail. */
  acceptFailing?: boolean;
  /**
   * Update the type of this `name`, which is required then. Its codecs become those of the files;
   * what these do not say stays, as do its measurements.
   */
  replace?: boolean;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
  /** Only run the examples, and say what would be created or updated. */
  dryRun?: boolean;
}

/** The outcome of an import, or of its dry run. */
export interface TypeImportReturn {
  /** The outcome in words. */
  message: string;
  /** Nothing was created or updated. */
  isDryRun: boolean;
  /** Whose. */
  format: TypeFormat;
  /** The name of the type, which devices refer to. */
  name: string;
  /** Whose it is, with the groups below; without it, for all. */
  groupId?: string;
  /** For people. */
  displayName: string;
  /** Any text. */
  battery?: string;
  /** Any text. */
  firmwareVersion?: string;
  /** Whether the files have a codec for uplinks. */
  hasDecoder: boolean;
  /** In a codec of its own. */
  hasEncoder: boolean;
  /** Examples that the codec fulfils. */
  passed: number;
  /** The others. */
  failed: number;
  /** Those of the maker, in their order. */
  examples: CodecExampleResult[];
  /** What of the files has no place in a device type. */
  ignored: string[];
  /** What the codec uses and does not exist here. */
  warnings?: string[];
}

/** What is declared of a device type, for all or for a group. */
export interface TypeMeasurements {
  /** The device type. */
  type: string;
  /** The id of the group. */
  groupId?: string;
  /** All that are declared. */
  measurements: Measurement[];
  /** When it was changed last. */
  updatedAt?: string;
}

/** What is declared of a device type: for all, or for the devices of a group and below. */
export interface TypeMeasurementsChange {
  /** The device type. */
  type: string;
  /** Without it, for all by operators; or for the group of the type. */
  groupId?: string;
  /** All of them; an empty list declares nothing. */
  measurements: MeasurementInput[];
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** The new policy of a device type. */
export interface TypePolicyChange {
  /** The device type. */
  type: string;
  /** A JSON merge patch (RFC 7396): null removes a member. Empty: no policy. */
  policy: Record<string, unknown>;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/**
 * An id that messages with the token of a group were about, and that none of its devices has.
 *
 *     Or that of a device whose messages cannot be taken, or not be decoded.
 */
export interface UnknownDevice {
  /** The group whose token the messages had. */
  groupId: string;
  /** Empty if an app client of the group has posted records. */
  network: string;
  /** As it was sent last; empty if no id could be found in the message. */
  originalId: string;
  /** When the first of the messages arrived. */
  firstAt: string;
  /** When the last one did. */
  lastAt: string;
  /** How many messages arrived. */
  count: number;
  /**
   * Of the last message: `unknown`, there is no such device; `malformed`, no device of the network
   * can have this id, or the message has none; `otherGroup`, a device has this id, but the token
   * does not reach its group; `rejected`, the device is known, but the message could not be taken,
   * or its payload not be decoded.
   */
  reason: UnknownDeviceReason;
  /** What was wrong with the last message. */
  detail?: string;
  /**
   * What the last message said: the begin of its body, without keys; or bytes in hex. Only for
   * callers with `record.read`.
   */
  payload?: string;
  /**
   * Whether the last message is kept as a whole, so that it can become the first records of the
   * device: see `POST /device/unknown`.
   */
  hasMessage: boolean;
}

/** A page of unknown devices. */
export interface UnknownDeviceConnection {
  /** The items of this page. */
  items: UnknownDevice[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** UnknownDeviceReason */
export type UnknownDeviceReason = "malformed" | "otherGroup" | "rejected" | "unknown";

/** Changes to a connector. */
export interface UpdateConnectorInput {
  /** The id of the connector. */
  connectorId: string;
  /** The id of the group. */
  groupId: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params?: string;
  /** The new name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** The new connector type. */
  type?: string;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Only records of these devices; empty for all. */
  deviceIds?: string[];
  /** CEL over `message`; records for which it is true are forwarded. Empty: all. */
  messageFilter?: string;
  /** How long dead letters are kept. */
  dataFailurePolicy?: DataFailurePolicyInput;
  /** How to retry; an empty string restores the default. */
  retryPolicy?: string | RetryPolicyInput;
  /** How a record is encoded in a message. */
  format?: MessageFormat;
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
  /** Free words to find it by. */
  tags?: string[];
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** Changes to a contact point. */
export interface UpdateContactPointInput {
  /** The id of the group. */
  groupId: string;
  /** The id of the contact point. */
  contactPointId: string;
  /** Its name. */
  name?: string;
  /** The contact point type: `email`, `webhook`, `push`, `chat` or `rota`. */
  type?: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params?: string;
  /** A text about it, for people. */
  description?: string;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** An app client after it was renamed. */
export interface UpdateGroupAppClient {
  /** The id of the app client: its client id at the token endpoint. */
  appClientId: string;
  /** The client secret for the token endpoint. */
  secret: string;
  /** The new name. */
  name: string;
  /** Seconds since 1970. */
  expiration?: number;
  /** When it was changed last. */
  updatedAt?: string;
  /** The role that it acts with. Absent: the default role of the group. */
  roleId?: string;
}

/** Changes to a notification. */
export interface UpdateNotificationInput {
  /** The id of the notification. */
  notificationId: string;
  /** The id of the group. */
  groupId: string;
  /** A JSON object, as described by the type's `expectedParameters`. */
  params?: string;
  /** The new name. */
  name?: string;
  /** A text about it, for people. */
  description?: string;
  /** The new notification type. */
  type?: string;
  /** Only records of this device; empty for all. */
  deviceId?: string;
  /**
   * The `reason` of a data record, the `type` of an event, or one that the service raises itself.
   * Left out or empty, every event triggers it.
   */
  reason?: string;
  /**
   * When it may be sent, in the time zone of `params`. An object, or a string in the form of the
   * responses; an empty string removes it.
   */
  schedule?: string | Schedule;
  /** Whether it works; a disabled one does nothing, and is kept. */
  enabled?: boolean;
  /** Only devices of these types; empty for all. */
  deviceTypes?: string[];
  /** Free words to find it by. */
  tags?: string[];
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** Changes to a report. */
export interface UpdateReportInput {
  /** The id of the group. */
  groupId: string;
  /** The id of the report. */
  reportId: string;
  /** What it is called, in the subject of its mails. */
  name?: string;
  /**
   * What is in it: records that arrived in the period, numbers of a measurement in it, the devices
   * as they are now, or alarms that were raised in it.
   */
  content?: ReportContent;
  /**
   * What to choose, as in the query of `GET /records/export`, `GET /group/series`, `GET
   * /devices/export` or `GET /group/alarms`; without dates, formats and pages.
   */
  parameters?: Record<string, unknown>;
  /**
   * How often, and the period that it is about: the day, the week from Monday to Sunday or the
   * month before. A weekly one is sent on Mondays, a monthly one on the first.
   */
  every?: ReportSpan;
  /**
   * When, on the clock of `timezone`. Where that leaves the time out, it is sent when the clock is
   * changed, and where it shows it twice, the first time.
   */
  at?: string;
  /** Whose days it is about: a name of the IANA database. */
  timezone?: string;
  /** Of the file. */
  format?: ReportFormat;
  /** To whom it goes. */
  to?: ReportContact;
  /** Whether it is sent. */
  enabled?: boolean;
  /** The `updatedAt` that the update is based on; 409 if there is another by now. */
  ifUpdatedAt?: When;
}

/** A user, as seen by themselves; `devices` is the push token registered last. */
export interface User {
  /** The id of the user. */
  id?: string;
  /** An e-mail address. */
  email?: string;
  /** What the user is called. */
  name?: string;
  /** When they used the service last. */
  seenAt?: string;
  /** The first name. */
  firstName?: string;
  /** The last name. */
  lastName?: string;
  /** When it was created. */
  createdAt?: string;
  /** When it was changed last. */
  updatedAt?: string;
  /** As the user writes it. */
  gender?: string;
  /** In which the service writes to them; English for none. */
  language?: Language;
  /** The push token that was registered last. */
  devices?: VendorToken;
}

/** Changes to the caller's own user. */
export interface UserChange {
  /** As the user writes it. */
  gender?: string;
  /** What the user is called. */
  name?: string;
  /** The first name. */
  firstName?: string;
  /** The last name. */
  lastName?: string;
  /** In which the service writes to them; English for none. */
  language?: Language;
}

/** A page of users. */
export interface UserConnection {
  /** The items of this page. */
  items: PublicUser[];
  /** There is a next page: send it in the same request. Absent on the last page. */
  nextToken?: string;
}

/** A user to create. */
export interface UserInput {
  /** An e-mail address. */
  email: string;
  /** The last name. */
  lastName: string;
  /** The first name; with a small n in this request only. */
  firstname?: string;
  /** In which the service writes to them; English for none. */
  language?: Language;
}

/** A message of the vendor's network: acknowledge. */
export interface VendorAcknowledgeCallback {
  /** The id of the device in the network, in hex. */
  device?: unknown;
  /** When the message was received; seconds or milliseconds since 1970, or RFC 3339. */
  time?: unknown;
  /** The code of what became of a downlink. */
  infoCode?: unknown;
  /** The same in words. */
  infoMessage?: unknown;
  /** Whether the device has received the downlink. */
  downlinkAck?: unknown;
}

/** A message of the vendor's network: dataAdvanced. */
export interface VendorDataAdvancedCallback {
  /** The id of the device in the network, in hex. */
  device?: unknown;
  /** When the message was received; seconds or milliseconds since 1970, or RFC 3339. */
  time?: unknown;
  /** The frame counter. */
  seqNumber?: unknown;
  /** From 0 to 3; the `score` of the telemetry. */
  linkQuality?: unknown;
  /** The position that the network has computed; the radius is in metres. */
  computedLocation?: unknown;
}

/** A message of the vendor's network: data. */
export interface VendorDataCallback {
  /** The id of the device in the network, in hex. */
  device?: unknown;
  /** When the message was received; seconds or milliseconds since 1970, or RFC 3339. */
  time?: unknown;
  /** The payload: in hex, or of ChirpStack in base64. */
  data?: unknown;
  /** The frame counter. */
  seqNumber?: unknown;
  /** Of the vendor: the device asks for a downlink. Of LORIOT: it acknowledges one. */
  ack?: unknown;
}

/** A message of the vendor's network: error. */
export interface VendorErrorCallback {
  /** The id of the device in the network, in hex. */
  device?: unknown;
  /** When the message was received; seconds or milliseconds since 1970, or RFC 3339. */
  time?: unknown;
  /** `WARN` or `ERROR`. */
  severity?: unknown;
  /** What is wrong. */
  info?: unknown;
}

/** The registration of a device at the vendor's network. */
export interface VendorInput {
  /**
   * The network's own id; case-insensitive. On LoRaWAN networks a DevEUI of 16 hex digits;
   * separators and `0x` are left out.
   */
  id: string;
  /** The id of the device type at the vendor's network. */
  deviceTypeId: string;
  /** The name of the device at the vendor's network. */
  deviceName: string;
  /** Not returned by any operation. */
  pac: string;
  /** Passed on to the vendor's network: whether the device can be activated. */
  activable?: boolean;
  /** Passed on to the vendor's network: whether its subscription is renewed. */
  automaticRenewal?: boolean;
  /** The latitude in degrees where it is installed. */
  lat?: number;
  /** The longitude in degrees where it is installed. */
  lng?: number;
}

/** A message of the vendor's network: status. */
export interface VendorStatusCallback {
  /** The id of the device in the network, in hex. */
  device?: unknown;
  /** When the message was received; seconds or milliseconds since 1970, or RFC 3339. */
  time?: unknown;
  /** The frame counter. */
  seqNumber?: unknown;
  /** The voltage of the battery. */
  batt?: unknown;
  /** The temperature of the device in degrees Celsius. */
  temp?: unknown;
}

/** A push token linked to a user. */
export interface VendorToken {
  /** The push token. */
  token?: string;
  /** `webpush` for a browser, else `fcm`. */
  type?: string;
  /** When it was created. */
  createdAt?: string;
  /** The id of the user or app client that created it; `system` for the service itself. */
  createdBy?: string;
  /** What the user calls the phone or browser. */
  deviceName?: string;
  /** Whether it is used; one that the push service rejects is not. */
  enabled?: boolean;
}

/** A push token to register for the caller. */
export interface VendorTokenInput {
  /** The push token of a phone, or the subscription object of a browser as JSON. */
  token: string;
  /** What the user calls the phone or browser. */
  deviceName?: string;
}

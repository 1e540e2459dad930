// A notification as a form: the texts of its fields, and the body of a request made of them.
import type { Schemas } from "~/api/client";
import { parseParams } from "~/pages/connectors/params";
import { paramsOf, valuesOf, type FormField, type FormValues } from "~/pages/connectors/schema-form";
import { differing, type VersionRow } from "~/ui/versions";
import { areaOf, geofenceOf, parseArea } from "~/map/area";
import { conditionOf, conditionParams, CONDITION_LABELS, CONDITION_PARAMS, EMPTY_CONDITION, missingInCondition, numberOrText, type ConditionForm } from "./condition";
import { clock, hasAlarms, parseSchedule, usesArea } from "./words";
import { t } from "~/messages/notifications";

type Notification = Schemas["Notification"];

// `condition` and what else belongs to alarms is in condition.ts.
export interface NotificationForm extends ConditionForm {
  readonly name: string;
  readonly description: string;
  // Empty: every event.
  readonly reason: string;
  readonly deviceId: string;
  readonly deviceTypes: string;
  readonly when: string;
  readonly subject: string;
  readonly body: string;
  readonly throttle: string;
  readonly batteryBelow: string;
  readonly silentAfter: string;
  readonly failingAfter: string;
  readonly geofence: string;
  // "true" or empty.
  readonly subgroups: string;
  readonly severity: string;
  readonly repeatEvery: string;
  readonly escalateAfter: string;
  readonly escalateTo: string;
  // Empty: always.
  readonly day: string;
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  // Ids, separated by commas.
  readonly contactPoints: string;
  // What only its type has.
  readonly values: FormValues;
}

const NUMBERS = ["throttle", "batteryBelow", "silentAfter", "failingAfter"] as const;
const TEXTS = ["when", "subject", "body"] as const;
// Of the alarms that a notification has, whatever raises them.
const ALARM_NUMBERS = ["repeatEvery", "escalateAfter"] as const;
const ALARM_PARAMS = ["severity", "escalateTo", ...ALARM_NUMBERS] as const;
const COMMON: ReadonlySet<string> = new Set([...NUMBERS, ...TEXTS, ...ALARM_PARAMS, ...CONDITION_PARAMS, "timezone", "geofence", "subgroups", "contactPoints"]);
// Which number belongs to which reason; the others are not sent.
export const THRESHOLDS: Readonly<Record<string, "batteryBelow" | "silentAfter" | "failingAfter">> = {
  batteryLow: "batteryBelow",
  deviceSilent: "silentAfter",
  connectorFailing: "failingAfter",
};

export const LABELS: Readonly<Record<keyof NotificationForm, string>> = {
  name: "Name",
  description: t("Description"),
  reason: t("Reason"),
  deviceId: t("Device"),
  deviceTypes: t("DeviceTypes"),
  when: t("Condition"),
  subject: t("Subject"),
  body: t("Text"),
  throttle: t("Throttle"),
  batteryBelow: t("BatteryBelow"),
  silentAfter: t("SilentAfter"),
  failingAfter: t("FailingAfter"),
  geofence: t("Area"),
  subgroups: t("WithGroupsBelow"),
  severity: t("Severity"),
  repeatEvery: t("SentAgainEvery"),
  escalateAfter: t("EscalatedAfter"),
  escalateTo: t("EscalatedTo"),
  ...CONDITION_LABELS,
  day: "Day",
  from: t("From"),
  to: "To",
  timezone: t("TimeZone"),
  contactPoints: t("ContactPoints"),
  values: t("Destination"),
};

export function contactPointsOf(form: NotificationForm): string[] {
  return form.contactPoints.split(",").filter(Boolean);
}

export function ownFields(fields: readonly FormField[]): FormField[] {
  return fields.filter((each) => !COMMON.has(each.path.split(".")[0] ?? ""));
}

export function emptyForm(zone: string): NotificationForm {
  const empty = Object.fromEntries(Object.keys(LABELS).map((name) => [name, ""])) as unknown as NotificationForm;
  return { ...empty, ...EMPTY_CONDITION, reason: "measurement", severity: "warning", timezone: zone || "UTC", values: {} };
}

export function formOf(notification: Notification, fields: readonly FormField[]): NotificationForm {
  const params = parseParams(notification.params);
  const text = (name: string) => (params[name] === undefined || params[name] === null ? "" : String(params[name]));
  const schedule = parseSchedule(notification.schedule);
  return {
    name: notification.name ?? "",
    description: notification.description ?? "",
    reason: notification.reason ?? "",
    deviceId: notification.deviceId ?? "",
    deviceTypes: (notification.deviceTypes ?? []).join(", "),
    when: text("when"),
    subject: text("subject"),
    body: text("body"),
    throttle: text("throttle"),
    batteryBelow: text("batteryBelow"),
    silentAfter: text("silentAfter"),
    failingAfter: text("failingAfter"),
    ...conditionOf(params),
    subgroups: params.subgroups === true ? "true" : "",
    severity: text("severity") || "warning",
    repeatEvery: text("repeatEvery"),
    escalateAfter: text("escalateAfter"),
    escalateTo: text("escalateTo"),
    geofence: params.geofence ? JSON.stringify(params.geofence) : "",
    day: schedule ? String(schedule.Day || 7) : "",
    from: clock(schedule?.From),
    to: clock(schedule?.To),
    timezone: text("timezone") || "UTC",
    contactPoints: Array.isArray(params.contactPoints) ? params.contactPoints.join(",") : "",
    values: valuesOf(ownFields(fields), params),
  };
}

function timeOf(text: string) {
  const [hours, minutes] = text.split(":").map(Number);
  return text ? { Hours: hours ?? 0, Minutes: minutes ?? 0 } : undefined;
}

// What cannot be read goes along as it is, and the service says what is wrong with it.
function geofenceText(text: string): unknown {
  const area = parseArea(text);
  if (area) return geofenceOf(area);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function bodyOf(form: NotificationForm, fields: readonly FormField[]) {
  const params: Record<string, unknown> = { ...paramsOf(ownFields(fields), form.values) };
  const isMeasured = form.reason === "measurement";
  for (const name of TEXTS) if (form[name].trim() && !(isMeasured && name === "when")) params[name] = form[name];
  for (const name of NUMBERS) {
    const value = form[name].trim();
    const isUsed = name === "throttle" || THRESHOLDS[form.reason] === name;
    if (value && isUsed) params[name] = numberOrText(value);
  }
  if (isMeasured) Object.assign(params, conditionParams(form));
  if (hasAlarms(form.reason)) {
    if (form.severity !== "warning") params.severity = form.severity;
    for (const name of ALARM_NUMBERS) if (form[name].trim()) params[name] = numberOrText(form[name]);
    if (form.escalateTo) params.escalateTo = form.escalateTo;
  }
  if (form.contactPoints) params.contactPoints = contactPointsOf(form);
  if (form.subgroups) params.subgroups = true;
  if (form.timezone && form.timezone !== "UTC") params.timezone = form.timezone;
  if (usesArea(form.reason) && form.geofence.trim()) params.geofence = geofenceText(form.geofence);
  const schedule = form.day ? { Day: Number(form.day), From: timeOf(form.from), To: timeOf(form.to) } : "";
  return {
    name: form.name,
    description: form.description,
    reason: form.reason,
    deviceId: form.deviceId.trim(),
    deviceTypes: form.deviceTypes.split(/[,\s]+/).filter(Boolean),
    schedule,
    params: JSON.stringify(params),
  };
}

export function differences(mine: NotificationForm, theirs: NotificationForm): VersionRow[] {
  const text = (form: NotificationForm, name: keyof NotificationForm) => (name === "values" ? JSON.stringify(form.values) : form[name]);
  return differing((Object.keys(LABELS) as (keyof NotificationForm)[]).map((name) => ({ label: LABELS[name], mine: text(mine, name), theirs: text(theirs, name) })));
}

export function isComplete(form: NotificationForm, type: string, fields: readonly FormField[]): string | undefined {
  if (!form.name.trim()) return t("ItNeedsName");
  if (type === "contactPoints" && !form.contactPoints) return t("ItNeedsContactPoint");
  if (ownFields(fields).some((each) => each.isRequired && !(form.values[each.path] ?? "").trim())) return t("destinationIsNotFilledInYet");
  const missing = form.reason === "measurement" ? missingInCondition(form) : undefined;
  if (missing) return missing;
  if (usesArea(form.reason) && !areaOf(geofenceText(form.geofence))) return t("ItNeedsArea");
  return undefined;
}


// A notification as a form: the texts of its fields, and the body of a request made of them.
import type { Schemas } from "~/api/client";
import { parseParams } from "~/pages/connectors/params";
import { paramsOf, valuesOf, type FormField, type FormValues } from "~/pages/connectors/schema-form";
import { differing, type VersionRow } from "~/ui/versions";
import { areaOf, geofenceOf, parseArea } from "~/map/area";
import { clock, parseSchedule, usesArea } from "./words";

type Notification = Schemas["Notification"];

export interface NotificationForm {
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
  // Empty: always.
  readonly day: string;
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  // What only its type has.
  readonly values: FormValues;
}

const NUMBERS = ["throttle", "batteryBelow", "silentAfter", "failingAfter"] as const;
const TEXTS = ["when", "subject", "body"] as const;
const COMMON: ReadonlySet<string> = new Set([...NUMBERS, ...TEXTS, "timezone", "geofence"]);
// Which number belongs to which reason; the others are not sent.
export const THRESHOLDS: Readonly<Record<string, "batteryBelow" | "silentAfter" | "failingAfter">> = {
  batteryLow: "batteryBelow",
  deviceSilent: "silentAfter",
  connectorFailing: "failingAfter",
};

export const LABELS: Readonly<Record<keyof NotificationForm, string>> = {
  name: "Name",
  description: "Description",
  reason: "Reason",
  deviceId: "Device",
  deviceTypes: "Device types",
  when: "Condition",
  subject: "Subject",
  body: "Text",
  throttle: "Throttle",
  batteryBelow: "Battery below",
  silentAfter: "Silent after",
  failingAfter: "Failing after",
  geofence: "Area",
  day: "Day",
  from: "From",
  to: "To",
  timezone: "Time zone",
  values: "Destination",
};

export function ownFields(fields: readonly FormField[]): FormField[] {
  return fields.filter((each) => !COMMON.has(each.path.split(".")[0] ?? ""));
}

export function emptyForm(zone: string): NotificationForm {
  const empty = Object.fromEntries(Object.keys(LABELS).map((name) => [name, ""])) as unknown as NotificationForm;
  return { ...empty, reason: "deviceSilent", timezone: zone || "UTC", values: {} };
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
    geofence: params.geofence ? JSON.stringify(params.geofence) : "",
    day: schedule ? String(schedule.Day || 7) : "",
    from: clock(schedule?.From),
    to: clock(schedule?.To),
    timezone: text("timezone") || "UTC",
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
  for (const name of TEXTS) if (form[name].trim()) params[name] = form[name];
  for (const name of NUMBERS) {
    const value = form[name].trim();
    const isUsed = name === "throttle" || THRESHOLDS[form.reason] === name;
    if (value && isUsed) params[name] = Number.isFinite(Number(value)) ? Number(value) : value;
  }
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

export function isComplete(form: NotificationForm, fields: readonly FormField[]): string | undefined {
  if (!form.name.trim()) return "It needs a name.";
  if (ownFields(fields).some((each) => each.isRequired && !(form.values[each.path] ?? "").trim())) return "The destination is not filled in yet.";
  if (usesArea(form.reason) && !areaOf(geofenceText(form.geofence))) return "It needs an area.";
  return undefined;
}


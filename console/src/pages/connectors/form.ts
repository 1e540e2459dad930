// A connector as a form: texts of its fields, the body of a request made of them, and what differs
// between two versions.
import type { Schemas } from "~/api/client";
import { differing, type VersionRow } from "~/ui/versions";
import { parseParams } from "./params";
import { paramsOf, valuesOf, type FormField, type FormValues } from "./schema-form";
import { t } from "~/messages/connectors";

type Connector = Schemas["Connector"];

export interface ConnectorForm {
  readonly name: string;
  readonly description: string;
  readonly type: string;
  readonly values: FormValues;
  readonly deviceTypes: string;
  readonly deviceIds: string;
  readonly messageFilter: string;
  readonly format: Schemas["MessageFormat"];
  // Empty for the service's own backoff. One number, or one for each retry, which counts them.
  readonly retryDelay: string;
  readonly maxRetry: string;
  readonly keepDays: string;
  readonly tags: string;
}

const DAY_S = 86_400;

export function emptyForm(type: string): ConnectorForm {
  const texts = { name: "", description: "", deviceTypes: "", deviceIds: "", messageFilter: "", retryDelay: "", maxRetry: "", tags: "" };
  return { ...texts, type, values: {}, format: "json", keepDays: "7" };
}

export function formOf(connector: Connector, fields: readonly FormField[]): ConnectorForm {
  return {
    name: connector.name ?? "",
    description: connector.description ?? "",
    type: connector.type,
    values: valuesOf(fields, parseParams(connector.params)),
    deviceTypes: (connector.deviceTypes ?? []).join(", "),
    deviceIds: (connector.deviceIds ?? []).join(", "),
    messageFilter: connector.messageFilter ?? "",
    format: connector.format ?? "json",
    ...retryTexts(connector.retryPolicy),
    keepDays: String(Math.round(((connector.dataFailurePolicy?.storingDuration ?? 0) / DAY_S) * 100) / 100),
    tags: (connector.tags ?? []).join(", "),
  };
}

export function words(text: string): string[] {
  return text.split(/[,\n]+/).map((each) => each.trim()).filter(Boolean);
}

export function draftOf(form: ConnectorForm, fields: readonly FormField[]): Schemas["PreviewDraft"] {
  return {
    type: form.type,
    params: JSON.stringify(paramsOf(fields, form.values)),
    deviceTypes: words(form.deviceTypes),
    deviceIds: words(form.deviceIds),
    messageFilter: form.messageFilter.trim(),
    format: form.format,
  };
}

function retryTexts(policy: Connector["retryPolicy"]): Pick<ConnectorForm, "retryDelay" | "maxRetry"> {
  const delays = policy?.delays;
  if (!delays) return { retryDelay: policy?.retryDelay?.toString() ?? "", maxRetry: policy?.maxRetry?.toString() ?? "" };
  // One delay is the same as one retry, and none as no retry.
  return { retryDelay: delays.join(", "), maxRetry: delays.length > 1 ? "" : String(delays.length) };
}

function retryOf(form: ConnectorForm): Schemas["RetryPolicyInput"] | null {
  if (!form.retryDelay.trim() && !form.maxRetry.trim()) return null;
  const delays = words(form.retryDelay).map(Number);
  // With a number of retries as well, the service says what is wrong.
  if (delays.length > 1) return { delays, ...(form.maxRetry.trim() ? { maxRetry: Number(form.maxRetry) } : {}) };
  return { retryDelay: Number(form.retryDelay || 60), maxRetry: Number(form.maxRetry || 0) };
}

// All that the form has; of a new connector or for an update, which says the same of each field.
export function bodyOf(form: ConnectorForm, fields: readonly FormField[]) {
  const retry = retryOf(form);
  return {
    ...draftOf(form, fields),
    type: form.type,
    params: JSON.stringify(paramsOf(fields, form.values)),
    name: form.name.trim(),
    description: form.description.trim(),
    dataFailurePolicy: { storingDuration: Math.round(Number(form.keepDays || 0) * DAY_S) },
    retry,
    tags: words(form.tags),
  };
}

const LABELS: readonly (readonly [keyof Omit<ConnectorForm, "values">, string])[] = [
  ["name", t("Name")],
  ["description", t("Description")],
  ["type", t("Type")],
  ["deviceTypes", t("DeviceTypes")],
  ["deviceIds", t("Devices")],
  ["messageFilter", t("Filter")],
  ["format", t("Format")],
  ["retryDelay", t("SecondsBetweenAttempts")],
  ["maxRetry", t("Retries")],
  ["keepDays", t("DaysThatDeadLettersAreKept")],
  ["tags", t("Tags")],
];

export function differences(mine: ConnectorForm, theirs: ConnectorForm, fields: readonly FormField[]): VersionRow[] {
  return differing([
    ...LABELS.map(([name, label]) => ({ label, mine: mine[name], theirs: theirs[name] })),
    ...fields.map((field) => ({ label: field.label, mine: mine.values[field.path] ?? "", theirs: theirs.values[field.path] ?? "" })),
  ]);
}

// A report as a form: the texts of its fields, and the body of a request made of them.
import { ApiProblem } from "~/api/client";
import { paramsOf, valuesOf, type FormField, type FormValues } from "~/pages/connectors/schema-form";
import { differing, type VersionRow } from "~/ui/versions";
import type { Report } from "./queries";
import { t } from "~/messages/reports";

export type Content = Report["content"];

// What chooses the rows: some of it for each content, by `PARAMETERS`.
export interface ReportForm {
  readonly name: string;
  readonly content: Content;
  // "true" or empty.
  readonly subgroups: string;
  // Ids, separated by commas.
  readonly devices: string;
  readonly type: string;
  readonly tags: string;
  readonly kind: string;
  // Names of measurements, separated by commas.
  readonly columns: string;
  readonly measurement: string;
  readonly of: string;
  readonly combine: string;
  readonly percentile: string;
  readonly calendarSpan: string;
  readonly q: string;
  readonly seen: string;
  readonly batteryBelow: string;
  readonly state: string;
  readonly severity: string;
  readonly reason: string;
  // What the form has no field for, as JSON; it is kept as long as the content stays.
  readonly others: string;
  readonly every: Report["every"];
  readonly at: string;
  readonly timezone: string;
  readonly format: Report["format"];
  readonly to: "email" | "webhook";
  // Separated by commas.
  readonly addresses: string;
  // Those of a webhook.
  readonly values: FormValues;
}

type Field = Exclude<keyof ReportForm, "values" | "content" | "every" | "format" | "to">;

interface Parameter {
  // Its name on the wire.
  readonly name: string;
  readonly field: Field;
  readonly kind: "text" | "list" | "one" | "flag" | "number";
}

const SUBGROUPS: Parameter = { name: "subgroups", field: "subgroups", kind: "flag" };
const DEVICE: Parameter = { name: "deviceId", field: "devices", kind: "one" };
const COLUMNS: Parameter = { name: "values", field: "columns", kind: "text" };

export const PARAMETERS: Readonly<Record<Content, readonly Parameter[]>> = {
  records: [{ name: "kind", field: "kind", kind: "text" }, SUBGROUPS, DEVICE, COLUMNS],
  series: [
    { name: "measurement", field: "measurement", kind: "text" },
    { name: "of", field: "of", kind: "text" },
    { name: "combine", field: "combine", kind: "text" },
    { name: "percentile", field: "percentile", kind: "number" },
    { name: "calendarSpan", field: "calendarSpan", kind: "text" },
    SUBGROUPS,
    { name: "type", field: "type", kind: "text" },
    { name: "tags", field: "tags", kind: "list" },
    { name: "deviceId", field: "devices", kind: "list" },
  ],
  devices: [
    SUBGROUPS,
    { name: "q", field: "q", kind: "text" },
    { name: "type", field: "type", kind: "text" },
    { name: "tag", field: "tags", kind: "one" },
    { name: "seen", field: "seen", kind: "text" },
    { name: "batteryBelow", field: "batteryBelow", kind: "number" },
    COLUMNS,
  ],
  alarms: [
    { name: "state", field: "state", kind: "text" },
    { name: "severity", field: "severity", kind: "text" },
    { name: "reason", field: "reason", kind: "text" },
    SUBGROUPS,
    DEVICE,
  ],
};

export const LABELS: Readonly<Record<Exclude<keyof ReportForm, "values">, string>> = {
  name: "Name",
  content: t("Content"),
  subgroups: t("GroupsBelow"),
  devices: t("Devices"),
  type: "Device type",
  tags: t("Tags"),
  kind: "Kind",
  columns: t("Values"),
  measurement: t("Measurement"),
  of: t("Value"),
  combine: t("DevicesTogether"),
  percentile: t("Percentile"),
  calendarSpan: t("Rows"),
  q: t("Search"),
  seen: t("LastSeen"),
  batteryBelow: t("BatteryBelow"),
  state: t("State"),
  severity: t("Severity"),
  reason: t("Reason"),
  others: t("OtherParameters"),
  every: t("Every"),
  at: t("At"),
  timezone: t("TimeZone"),
  format: "Format",
  to: "Sent by",
  addresses: t("Addresses"),
};

const WEBHOOK_PARAMS: ReadonlySet<string> = new Set(["url", "headers", "bearer", "basic", "secret"]);

// Of a webhook of notifications, what one of reports has as well.
export function webhookFields(fields: readonly FormField[]): FormField[] {
  return fields.filter((each) => WEBHOOK_PARAMS.has(each.path.split(".")[0] ?? ""));
}

export function listOf(text: string): string[] {
  return text.split(",").flatMap((each) => each.trim() || []);
}

// Addresses are typed or pasted in any way that keeps them apart.
export function addressesOf(text: string): string[] {
  return text.split(/[,;\s]+/).filter(Boolean);
}

export function emptyForm(zone: string): ReportForm {
  const empty = Object.fromEntries(Object.keys(LABELS).map((name) => [name, ""])) as unknown as ReportForm;
  return { ...empty, content: "series", combine: "none", kind: "data", every: "day", at: "06:00", timezone: zone || "UTC", format: "xlsx", to: "email", values: {} };
}

function fieldText(value: unknown, kind: Parameter["kind"]): string {
  if (value === undefined || value === null) return "";
  if (kind === "flag") return value === true ? "true" : "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

export function formOf(report: Pick<Report, "name" | "content" | "parameters" | "every" | "at" | "timezone" | "format" | "to">, fields: readonly FormField[]): ReportForm {
  const { content, to } = report;
  const { at, every, timezone, format } = report;
  const rest: Record<string, unknown> = { ...report.parameters };
  const chosen: Partial<Record<Field, string>> = { combine: "", kind: content === "records" ? "data" : "" };
  for (const { name, field, kind } of PARAMETERS[content]) {
    if (name in rest) chosen[field] = fieldText(rest[name], kind);
    delete rest[name];
  }
  const isMail = to.type === "email";
  return {
    ...emptyForm(timezone),
    ...chosen,
    ...{ at, every, timezone, format, content },
    name: report.name ?? "",
    others: Object.keys(rest).length > 0 ? JSON.stringify(rest) : "",
    to: isMail ? "email" : "webhook",
    addresses: isMail && Array.isArray(to.params.to) ? to.params.to.join(", ") : "",
    values: isMail ? {} : valuesOf(fields, to.params),
  };
}

// What is no number goes along as it is, and the service says what is wrong with it.
function parameterOf(text: string, kind: Parameter["kind"]): unknown {
  if (kind === "flag") return true;
  if (kind === "list") return listOf(text);
  if (kind === "one") return listOf(text)[0];
  if (kind === "number" && Number.isFinite(Number(text))) return Number(text);
  return text;
}

export function parametersOf(form: ReportForm): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  for (const { name, field, kind } of PARAMETERS[form.content]) {
    if (name === "percentile" && form.combine !== "percentile") continue;
    if (form[field].trim()) parameters[name] = parameterOf(form[field].trim(), kind);
  }
  return { ...parameters, ...(form.others ? (JSON.parse(form.others) as Record<string, unknown>) : {}) };
}

export function bodyOf(form: ReportForm, fields: readonly FormField[]) {
  const { content, every, at, timezone, format, to } = form;
  const params: Record<string, unknown> = to === "email" ? { to: addressesOf(form.addresses) } : { ...paramsOf(fields, form.values) };
  return { name: form.name.trim(), content, parameters: parametersOf(form), every, at, timezone, format, to: { type: to, params } };
}

type ReportBody = ReturnType<typeof bodyOf>;

// What is not changed is not sent: of what was made already nothing is called back then that may well be sent.
export function changesOf(form: ReportForm, before: ReportForm, fields: readonly FormField[]): Partial<ReportBody> {
  const [next, was] = [bodyOf(form, fields), bodyOf(before, fields)];
  const names = (Object.keys(next) as (keyof ReportBody)[]).filter((name) => JSON.stringify(next[name]) !== JSON.stringify(was[name]));
  return Object.fromEntries(names.map((name) => [name, next[name]]));
}

export function differences(mine: ReportForm, theirs: ReportForm, fields: readonly FormField[]): VersionRow[] {
  return differing([
    ...(Object.keys(LABELS) as (keyof typeof LABELS)[]).map((name) => ({ label: LABELS[name], mine: mine[name], theirs: theirs[name] })),
    ...fields.map(({ path, label }) => ({ label, mine: mine.values[path] ?? "", theirs: theirs.values[path] ?? "" })),
  ]);
}

export function isComplete(form: ReportForm, fields: readonly FormField[]): string | undefined {
  if (form.content === "series" && !form.measurement.trim()) return t("ItNeedsMeasurement");
  if (form.combine === "percentile" && form.content === "series" && !form.percentile.trim()) return t("ItNeedsPercentile");
  if (!form.name.trim()) return t("ItNeedsName");
  if (!form.at) return t("ItNeedsTime");
  if (form.to === "email" && addressesOf(form.addresses).length === 0) return t("ItNeedsAddress");
  if (form.to === "webhook" && fields.some((each) => each.isRequired && !(form.values[each.path] ?? "").trim())) return t("destinationIsNotFilledInYet");
  return undefined;
}

// The fields of a webhook look for what is wrong with them in `params`, as those of a notification do.
export function problemOfWebhook(problem: ApiProblem | null): ApiProblem | null {
  if (!problem) return null;
  const { status, code, message: detail } = problem;
  return new ApiProblem({ status, code, detail, fields: problem.fields.map((each) => ({ ...each, field: each.field.replace(/^to\./, "") })) });
}

// What is wrong with parameters that the form has no field for.
export function otherErrors(problem: ApiProblem | null, content: Content): string[] {
  const shown = new Set(PARAMETERS[content].map((each) => `parameters.${each.name}`));
  const isOther = (field: string) => field === "parameters" || (field.startsWith("parameters.") && !shown.has(field.replace(/\[.*$/, "")));
  return (problem?.fields ?? []).filter((each) => isOther(each.field)).map((each) => `${each.field.replace(/^parameters\./, "")}: ${each.message}`);
}

// What is wrong with addresses, each by itself.
export function addressErrors(problem: ApiProblem | null, addresses: string): string | undefined {
  const typed = addressesOf(addresses);
  const found = (problem?.fields ?? []).flatMap(({ field, message }) => {
    const index = /^to\.params\.to\[(\d+)\]$/.exec(field)?.[1];
    if (index === undefined) return field.startsWith("to.params") ? [message] : [];
    const address = typed[Number(index)] ?? "";
    return [message.startsWith(address) ? message : `${address} ${message}`];
  });
  return found.length > 0 ? found.map((each) => each.replace(/\.?$/, ".")).join(" ") : undefined;
}

// A contact point as a form: the texts of its fields, and the body of a request made of them.
import type { Schemas } from "~/api/client";
import { parseParams } from "~/pages/connectors/params";
import { paramsOf, valuesOf, type FormField, type FormValues } from "~/pages/connectors/schema-form";
import { differing, type VersionRow } from "~/ui/versions";
import { t } from "~/messages/contacts";

export interface Shift {
  readonly contactPoint: string;
  // 1 to 7 for Monday to Sunday.
  readonly days: readonly number[];
  // Empty: midnight.
  readonly from: string;
  readonly to: string;
}

export interface ContactPointForm {
  readonly name: string;
  readonly description: string;
  // What only its type has.
  readonly values: FormValues;
  // Those of a rota. Shifts are JSON, so that versions of them can be compared.
  readonly timezone: string;
  readonly fallback: string;
  readonly shifts: string;
}

export const ALL_DAYS: readonly number[] = [1, 2, 3, 4, 5, 6, 7];
export const ROTA = "rota";
const ROTA_PARAMS: ReadonlySet<string> = new Set(["timezone", "fallback", "shifts"]);

export function newShift(contactPoint: string): Shift {
  return { contactPoint, days: [1, 2, 3, 4, 5], from: "08:00", to: "20:00" };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// A shift without days is on each of them.
export function parseShifts(given: unknown): Shift[] {
  if (!Array.isArray(given)) return [];
  return (given as Record<string, unknown>[]).map((each) => {
    const days = Array.isArray(each.days) ? each.days.filter((day) => typeof day === "number") : [];
    return { contactPoint: textOf(each.contactPoint), days: days.length > 0 ? days : ALL_DAYS, from: textOf(each.from), to: textOf(each.to) };
  });
}

export function shiftsOf(form: Pick<ContactPointForm, "shifts">): readonly Shift[] {
  return JSON.parse(form.shifts || "[]") as Shift[];
}

function shiftParams({ contactPoint, days, from, to }: Shift): Record<string, unknown> {
  return { contactPoint, ...(days.length < ALL_DAYS.length ? { days } : {}), ...(from ? { from } : {}), ...(to ? { to } : {}) };
}

export function ownFields(fields: readonly FormField[]): FormField[] {
  return fields.filter((each) => !ROTA_PARAMS.has(each.path));
}

export function emptyForm(zone: string): ContactPointForm {
  return { name: "", description: "", values: {}, timezone: zone || "UTC", fallback: "", shifts: "[]" };
}

export function formOf(contact: Pick<Schemas["ContactPoint"], "name" | "description" | "params">, fields: readonly FormField[]): ContactPointForm {
  const params = parseParams(contact.params ?? "");
  return {
    name: contact.name ?? "",
    description: contact.description ?? "",
    values: valuesOf(ownFields(fields), params),
    timezone: textOf(params.timezone) || "UTC",
    fallback: textOf(params.fallback),
    shifts: JSON.stringify(parseShifts(params.shifts)),
  };
}

export function bodyOf(form: ContactPointForm, type: string, fields: readonly FormField[]) {
  const params: Record<string, unknown> = { ...paramsOf(ownFields(fields), form.values) };
  if (type === ROTA) Object.assign(params, { timezone: form.timezone, fallback: form.fallback, shifts: shiftsOf(form).map(shiftParams) });
  return { name: form.name.trim(), description: form.description.trim(), params: JSON.stringify(params) };
}

const LABELS = { name: "Name", description: t("Description"), timezone: t("TimeZone"), fallback: t("WhileNobodyIsOnCall"), shifts: t("Shifts") } as const;

export function differences(mine: ContactPointForm, theirs: ContactPointForm, fields: readonly FormField[]): VersionRow[] {
  return differing([
    ...(Object.keys(LABELS) as (keyof typeof LABELS)[]).map((name) => ({ label: LABELS[name], mine: mine[name], theirs: theirs[name] })),
    ...ownFields(fields).map(({ path, label }) => ({ label, mine: mine.values[path] ?? "", theirs: theirs.values[path] ?? "" })),
  ]);
}

export function isComplete(form: ContactPointForm, type: string, fields: readonly FormField[]): string | undefined {
  if (!form.name.trim()) return t("ItNeedsName");
  if (ownFields(fields).some((each) => each.isRequired && !(form.values[each.path] ?? "").trim())) return t("destinationIsNotFilledInYet");
  if (type !== ROTA) return undefined;
  const shifts = shiftsOf(form);
  if (shifts.length === 0) return t("ItNeedsShift");
  if (shifts.some((each) => !each.contactPoint)) return t("shiftNeedsContactPoint");
  if (shifts.some((each) => each.days.length === 0)) return t("shiftNeedsDay");
  if (!form.fallback) return t("ItNeedsContactPointForWhen");
  return undefined;
}

// A configuration as fields: the values whose names are known from the types of devices, or that are set
// already. What is no single value stays JSON.
import { t } from "~/messages/ui";

export type JsonObject = Record<string, unknown>;
export type ValueKind = "number" | "flag" | "text";

export interface KnownValue {
  name: string;
  kind: ValueKind;
  // As the type has it by default.
  example: string;
  // The types that have it.
  types: readonly string[];
}

export interface FieldValue {
  kind: ValueKind;
  text: string;
}

export interface ConfigurationForm {
  values: Readonly<Record<string, FieldValue>>;
  // JSON, or empty.
  other: string;
}

export function parseObject(text: string | null | undefined): JsonObject | null {
  try {
    const found: unknown = JSON.parse(text ?? "");
    return found !== null && typeof found === "object" && !Array.isArray(found) ? (found as JsonObject) : null;
  } catch {
    return null;
  }
}

function kindOf(value: unknown): ValueKind | null {
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "flag";
  // An empty text would be an empty field, which is none.
  return typeof value === "string" && value.trim() !== "" ? "text" : null;
}

export function knownValues(types: readonly { name?: string | null; defaultConfiguration?: string | null }[]): KnownValue[] {
  const found = new Map<string, KnownValue>();
  for (const type of types)
    for (const [name, value] of Object.entries(parseObject(type.defaultConfiguration) ?? {})) {
      const kind = kindOf(value);
      if (kind === null) continue;
      const before = found.get(name);
      if (before === undefined) found.set(name, { name, kind, example: String(value), types: [type.name ?? ""] });
      else if (before.kind === kind) found.set(name, { ...before, types: [...before.types, type.name ?? ""] });
    }
  return [...found.values()].sort((one, other) => one.name.localeCompare(other.name));
}

export function formOf(configuration: JsonObject, known: readonly KnownValue[]): ConfigurationForm {
  const values: Record<string, FieldValue> = {};
  const other: JsonObject = {};
  for (const [name, value] of Object.entries(configuration)) {
    const kind = kindOf(value);
    const expected = known.find((each) => each.name === name)?.kind ?? kind;
    if (kind !== null && kind === expected) values[name] = { kind, text: String(value) };
    else other[name] = value;
  }
  return { values, other: Object.keys(other).length > 0 ? JSON.stringify(other, null, 2) : "" };
}

// Why a form cannot be saved, or null.
export function mistakeIn({ values, other }: ConfigurationForm): string | null {
  for (const [name, { kind, text }] of Object.entries(values))
    if (kind === "number" && text.trim() !== "" && !Number.isFinite(Number(text))) return t("nameIsNotNumber", { name: labelOf(name) });
  return other.trim() === "" || parseObject(other) ? null : t("OtherValuesAreNotJSONObject");
}

// A field that is empty sets nothing; one that is filled goes before the same name in the JSON.
export function configurationOf({ values, other }: ConfigurationForm): JsonObject {
  const found: JsonObject = { ...parseObject(other) };
  for (const [name, { kind, text }] of Object.entries(values)) {
    if (text.trim() === "") continue;
    if (kind === "number") found[name] = Number(text);
    else found[name] = kind === "flag" ? text === "true" : text;
  }
  return found;
}

const UNITS: Readonly<Record<string, string>> = { Celsius: "°C", Percent: "%", Volts: "V", Meters: "m", Seconds: "s" };

function splitName(name: string): { stem: string; unit: string | undefined } {
  const word = Object.keys(UNITS).find((each) => name.endsWith(each) && name.length > each.length);
  return { stem: word ? name.slice(0, -word.length) : name, unit: word && UNITS[word] };
}

// `reportEverySeconds` is "Report every": its unit stands at the field.
export function labelOf(name: string): string {
  const words = splitName(name).stem.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/_/g, " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function unitOf(name: string): string | undefined {
  return splitName(name).unit;
}

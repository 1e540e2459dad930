// Comparisons of current values: as the address and the API have them, and as people say them.
import type { NamedMeasurement } from "~/measurements/group-measurements";
import { measurementLabel } from "~/measurements/values";
import type { DevicesSearch } from "./search";
import { t } from "~/messages/devices";

export const OPERATIONS = ["below", "above", "is", "is-not", "older", "missing", "there"] as const;

export type ValueOperation = (typeof OPERATIONS)[number];

export const OPERATION_WORDS: Record<ValueOperation, string> = {
  below: t("isBelow"),
  above: t("isAbove"),
  is: t("is"),
  "is-not": t("isNot"),
  older: t("isOlderThan"),
  missing: t("isMissing"),
  there: t("isThere"),
};
export const AGES = [
  ["1h", t("hours", { count: 1 })],
  ["6h", t("hours", { count: 6 })],
  ["1d", t("days", { count: 1 })],
  ["7d", t("days", { count: 7 })],
  ["30d", t("days", { count: 30 })],
] as const;

const SIGNS: Partial<Record<ValueOperation, string>> = { below: "<", above: ">", is: "==", "is-not": "!=" };

// Which operations a value can have: words are not above others.
export function operationsOf(kind: NamedMeasurement["class"] | undefined): readonly ValueOperation[] {
  return OPERATIONS.filter((each) => (kind === "state" ? each !== "below" && each !== "above" : each !== "is-not" || kind === undefined));
}

export function needsValue(operation: ValueOperation): boolean {
  return SIGNS[operation] !== undefined;
}

// As they are typed, in the language of the reader or in English.
const TYPED: ReadonlyMap<string, string> = new Map([
  ["yes", "true"],
  [t("yes"), "true"],
  ["no", "false"],
  [t("no"), "false"],
]);

// Null as long as there is nothing to compare with.
export function comparisonOf(name: string, operation: ValueOperation, value: string, age: string): string | null {
  if (operation === "missing") return `${name}==null`;
  if (operation === "there") return `${name}!=null`;
  if (operation === "older") return `${name}@<now-${age}`;
  const given = value.trim();
  return given === "" ? null : `${name}${SIGNS[operation]}${TYPED.get(given.toLowerCase()) ?? given}`;
}

const WORDS: Readonly<Record<string, (values: { label: string; value: string }) => string>> = {
  "<": (values) => t("labelBelowValue", values),
  "<=": (values) => t("labelAtMostValue", values),
  ">": (values) => t("labelAboveValue", values),
  ">=": (values) => t("labelAtLeastValue", values),
  "==": (values) => t("labelIsValue", values),
  "!=": (values) => t("labelIsNotValue", values),
};

export function comparisonWords(comparison: string, known: ReadonlyMap<string, NamedMeasurement> | undefined): string {
  const found = /^([\w.-]+?)(@?)(<=|>=|==|!=|<|>)(.+)$/.exec(comparison);
  if (!found) return comparison;
  const [, name = "", isTime, sign = "", value = ""] = found;
  const item = known?.get(name);
  const label = item ? measurementLabel(item) : name;
  if (value === "null") return sign === "==" ? t("labelIsMissing", { label }) : t("labelIsThere", { label });
  if (isTime) {
    const age = AGES.find(([key]) => value === `now-${key}`);
    if (age && sign === "<") return t("labelIsOlderThanAge", { label, age: age[1] });
    return sign.startsWith("<") ? t("labelFromBeforeTime", { label, time: value }) : t("labelFromAfterTime", { label, time: value });
  }
  const shown = value === "true" ? t("yes") : value === "false" ? t("no") : value;
  const withUnit = item?.unit && !Number.isNaN(Number(value)) ? `${shown} ${item.unit}` : shown;
  return WORDS[sign]?.({ label, value: withUnit }) ?? comparison;
}

export function withoutComparison(search: DevicesSearch, comparison: string): Pick<DevicesSearch, "where"> {
  const rest = (search.where ?? []).filter((each) => each !== comparison);
  return { where: rest.length > 0 ? rest : undefined };
}

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
  is: "is",
  "is-not": t("isNot"),
  older: t("isOlderThan"),
  missing: t("isMissing"),
  there: t("isThere"),
};
export const AGES = [
  ["1h", "1 hour"],
  ["6h", "6 hours"],
  ["1d", "1 day"],
  ["7d", "7 days"],
  ["30d", "30 days"],
] as const;

const SIGNS: Partial<Record<ValueOperation, string>> = { below: "<", above: ">", is: "==", "is-not": "!=" };

// Which operations a value can have: words are not above others.
export function operationsOf(kind: NamedMeasurement["class"] | undefined): readonly ValueOperation[] {
  return OPERATIONS.filter((each) => (kind === "state" ? each !== "below" && each !== "above" : each !== "is-not" || kind === undefined));
}

export function needsValue(operation: ValueOperation): boolean {
  return SIGNS[operation] !== undefined;
}

// Null as long as there is nothing to compare with.
export function comparisonOf(name: string, operation: ValueOperation, value: string, age: string): string | null {
  if (operation === "missing") return `${name}==null`;
  if (operation === "there") return `${name}!=null`;
  if (operation === "older") return `${name}@<now-${age}`;
  const given = value.trim().replace(/^yes$/i, "true").replace(/^no$/i, "false");
  return given === "" ? null : `${name}${SIGNS[operation]}${given}`;
}

const WORDS: Readonly<Record<string, string>> = { "<": "below", "<=": t("atMost"), ">": "above", ">=": t("atLeast"), "==": "is", "!=": t("isNot") };

export function comparisonWords(comparison: string, known: ReadonlyMap<string, NamedMeasurement> | undefined): string {
  const found = /^([\w.-]+?)(@?)(<=|>=|==|!=|<|>)(.+)$/.exec(comparison);
  if (!found) return comparison;
  const [, name = "", isTime, sign = "", value = ""] = found;
  const item = known?.get(name);
  const label = item ? measurementLabel(item) : name;
  if (value === "null") return `${label} ${sign === "==" ? t("isMissing") : t("isThere")}`;
  if (isTime) {
    const age = AGES.find(([key]) => value === `now-${key}`);
    if (age && sign === "<") return t("labelIsOlderThanValue", { label, value: age[1] });
    return `${label} ${sign.startsWith("<") ? t("fromBefore") : t("fromAfter")} ${value}`;
  }
  const shown = value === "true" ? "yes" : value === "false" ? "no" : value;
  return `${label} ${WORDS[sign] ?? sign} ${shown}${item?.unit && !Number.isNaN(Number(value)) ? ` ${item.unit}` : ""}`;
}

export function withoutComparison(search: DevicesSearch, comparison: string): Pick<DevicesSearch, "where"> {
  const rest = (search.where ?? []).filter((each) => each !== comparison);
  return { where: rest.length > 0 ? rest : undefined };
}

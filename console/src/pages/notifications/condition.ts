// The condition of an alarm on a value: a limit as a sentence has it, or expressions.
import type { Params } from "~/pages/connectors/params";
import { secondsWords } from "~/seconds";
import { withUnit, type MeasurementWords } from "~/alarms/words";
import { t } from "~/messages/notifications";

export type Mode = "limit" | "expression";

export interface ConditionForm {
  readonly mode: Mode;
  readonly measurement: string;
  readonly direction: "above" | "below";
  readonly limit: string;
  // At which value it is fine again; empty for the limit itself.
  readonly again: string;
  // Seconds.
  readonly heldFor: string;
  readonly resolveFor: string;
  readonly staleAfter: string;
  readonly onStale: string;
  readonly forMessages: string;
  readonly condition: string;
  readonly resolve: string;
}

export const CONDITION_LABELS: Readonly<Record<keyof ConditionForm, string>> = {
  mode: t("WrittenAs"),
  measurement: t("Measurement"),
  direction: t("AboveOrBelow"),
  limit: t("Limit"),
  again: t("BackToNormalAt"),
  heldFor: t("ForAtLeast"),
  resolveFor: t("NormalForAtLeast"),
  staleAfter: t("valueHoldsFor"),
  onStale: t("WithoutValue"),
  forMessages: t("RecordsInRow"),
  condition: t("Condition"),
  resolve: t("BackToNormalIf"),
};

export const CONDITION_PARAMS = ["measurement", "above", "below", "hysteresis", "for", "forMessages", "resolveFor", "staleAfter", "onStale", "condition", "resolve"] as const;

export const EMPTY_CONDITION: ConditionForm = {
  mode: "limit",
  measurement: "",
  direction: "above",
  limit: "",
  again: "",
  heldFor: "",
  resolveFor: "",
  staleAfter: "",
  onStale: "keep",
  forMessages: "",
  condition: "",
  resolve: "",
};

// What is no number goes along as it is, and the service says so.
export function numberOrText(text: string): number | string {
  const value = text.trim().replace(/^[−–]/, "-");
  return value && Number.isFinite(Number(value)) ? Number(value) : text;
}

// 16 − 15.2 is 0.8, whatever a processor says.
function rounded(value: number): number {
  return Number(value.toPrecision(12));
}

export function conditionOf(params: Params): ConditionForm {
  const text = (name: string) => (params[name] === undefined || params[name] === null ? "" : String(params[name]));
  const direction = typeof params.below === "number" ? "below" : "above";
  const limit = params[direction];
  const hysteresis = typeof params.hysteresis === "number" ? params.hysteresis : 0;
  const again = typeof limit === "number" && hysteresis > 0 ? String(rounded(direction === "below" ? limit + hysteresis : limit - hysteresis)) : "";
  return {
    mode: params.condition ? "expression" : "limit",
    measurement: text("measurement"),
    direction,
    limit: text(direction),
    again,
    heldFor: text("for"),
    resolveFor: text("resolveFor"),
    staleAfter: text("staleAfter"),
    onStale: text("onStale") || "keep",
    forMessages: text("forMessages"),
    condition: text("condition"),
    resolve: text("resolve"),
  };
}

function hysteresisOf({ limit, again, direction }: ConditionForm): number | string | null {
  const [at, clear] = [numberOrText(limit), numberOrText(again)];
  if (!again.trim()) return null;
  if (typeof at !== "number" || typeof clear !== "number") return again;
  return rounded(direction === "below" ? clear - at : at - clear);
}

export function conditionParams(form: ConditionForm): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  const numbers = { for: form.heldFor, resolveFor: form.resolveFor, staleAfter: form.staleAfter, forMessages: form.forMessages };
  if (form.mode === "expression") {
    params.condition = form.condition;
    if (form.resolve.trim()) params.resolve = form.resolve;
  } else {
    params.measurement = form.measurement;
    params[form.direction] = numberOrText(form.limit);
    const hysteresis = hysteresisOf(form);
    if (hysteresis) params.hysteresis = hysteresis;
  }
  for (const [name, text] of Object.entries(numbers)) if (text.trim()) params[name] = numberOrText(text);
  if (form.onStale !== "keep") params.onStale = form.onStale;
  return params;
}

export function missingInCondition(form: ConditionForm): string | undefined {
  if (form.mode === "expression") return form.condition.trim() ? undefined : t("ItNeedsCondition");
  if (!form.measurement) return t("ItNeedsMeasurement");
  if (!form.limit.trim()) return t("ItNeedsLimit");
  const hysteresis = hysteresisOf(form);
  if (typeof hysteresis === "number" && hysteresis < 0) return t("ItCannotBeBackToNormal", { direction: form.direction });
  return undefined;
}

function celNumber(text: string): string {
  const value = numberOrText(text);
  if (typeof value !== "number") return "0.0";
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

// The sentence as an expression, to begin with.
export function expressionOf({ measurement, direction, limit, again }: ConditionForm): { condition: string; resolve: string } {
  const value = /^[A-Za-z_]\w*$/.test(measurement) ? `values.${measurement}` : t("valuesMeasurement", { measurement: JSON.stringify(measurement) });
  const [beyond, clear] = direction === "above" ? [">", "<="] : ["<", ">="];
  if (!measurement) return { condition: "", resolve: "" };
  return { condition: `${value} ${beyond} ${celNumber(limit)}`, resolve: again.trim() ? `${value} ${clear} ${celNumber(again)}` : "" };
}

// "moisture is below 15 % for 30 min".
export function conditionWords(params: Params, measurement?: MeasurementWords): string {
  if (typeof params.condition === "string") return params.condition;
  const { measurement: name, direction, limit, heldFor, forMessages } = conditionOf(params);
  const known = measurement ?? { name };
  const text = typeof params[direction] === "number" ? withUnit(params[direction], known) : limit;
  const held = heldFor ? ` ${t("forSecondsWords", { secondsWords: secondsWords(Number(heldFor)) })}` : "";
  return t("valueIsDirectionTextHeldValue2", { value: known.label || name, direction, text, held, value2: forMessages ? ` ${t("inForMessagesRecords", { forMessages })}` : "" });
}

// The limit somewhere else; where it is fine again moves along.
export function movedLimit(form: ConditionForm, limit: string): Pick<ConditionForm, "limit" | "again"> {
  const [before, after, again] = [numberOrText(form.limit), numberOrText(limit), numberOrText(form.again)];
  const moves = typeof before === "number" && typeof after === "number" && typeof again === "number";
  return { limit, again: moves ? String(rounded(again + after - before)) : form.again };
}

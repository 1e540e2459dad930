// What goes into the decoder workbench and what comes out of it.
import type { Schemas } from "~/api/client";
import { differencesOf, type Fields } from "~/ui/diff-data";
import { t } from "~/messages/types";

export type PreviewItem = Schemas["DecoderPreviewItem"];

export type PreviewMeasurement = Schemas["DecoderPreviewMeasurement"];

export interface GivenPayload {
  readonly payload: string;
  readonly fPort?: number;
}

// One payload a line: hex digits, spaces between bytes if you like, and a port after a colon.
export function parsePayloads(text: string): { payloads: GivenPayload[]; error: string | null } {
  const payloads: GivenPayload[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const [hex = "", port] = line.split(":");
    const payload = hex.replace(/\s|0x/g, "");
    if (!/^([0-9a-f]{2})+$/i.test(payload)) return { payloads: [], error: t("LineValueIsNotHexDigits", { value: index + 1 }) };
    if (port === undefined || !port.trim()) payloads.push({ payload });
    else if (/^\s*\d{1,3}\s*$/.test(port) && Number(port) <= 255) payloads.push({ payload, fPort: Number(port) });
    else return { payloads: [], error: t("portOfLineValueIsNot", { value: index + 1 }) };
  }
  return { payloads, error: null };
}

export type Outcome = "same" | "changed" | "failed" | "decoded";

export function outcomeOf(item: PreviewItem): Outcome {
  if (item.error) return "failed";
  if (!item.stored) return "decoded";
  return differencesOf(item.stored as Fields, item.values as Fields | null | undefined).length === 0 ? "same" : "changed";
}

const WORDS: Readonly<Record<Outcome, string>> = { same: t("asStored"), changed: t("wouldChange"), failed: "failed", decoded: "decoded" };

export function outcomeWords(outcome: Outcome): string {
  return WORDS[outcome];
}

function countPayloads(count: number): string {
  return `${count} ${t("payloads", { count })}`;
}

// In how many payloads there is a value of a measurement.
export function measurementWords({ payloads, invalid }: Pick<PreviewMeasurement, "payloads" | "invalid">): string {
  const given = payloads ? t("inPayloads", { payloads: countPayloads(payloads) }) : t("inNoPayload");
  return invalid ? t("givenInvalidInInvalid", { given, invalid: countPayloads(invalid) }) : given;
}

export function summaryOf(items: readonly PreviewItem[]): string {
  const counts = new Map<Outcome, number>();
  for (const item of items) counts.set(outcomeOf(item), (counts.get(outcomeOf(item)) ?? 0) + 1);
  const parts = (["changed", "same", "decoded", "failed"] as const).filter((each) => counts.has(each)).map((each) => `${counts.get(each)} ${WORDS[each]}`);
  return `${countPayloads(items.length)}${parts.length ? `: ${parts.join(", ")}` : ""}`;
}

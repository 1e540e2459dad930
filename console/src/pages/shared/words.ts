// Shared views in words.
import type { Schemas } from "~/api/client";

export type ShareLink = Schemas["ShareLink"];

export const CONTENT_LABELS: Readonly<Record<Schemas["SharedContent"], string>> = {
  chart: "Chart",
  device: "Device",
  list: "List of devices",
  map: "Map",
};

// `#lwv_…` of a link.
export function secretOf(fragment: string): string | null {
  return /^#?(lwv_[\w.-]+)$/.exec(fragment)?.[1] ?? null;
}

export const CLOSED_WORDS: Readonly<Record<Exclude<Schemas["ShareState"], "open">, string>> = {
  expired: "This link has expired.",
  forbidden: "Whoever shared this may not share it any more.",
  gone: "What was shared here was deleted or has moved.",
};

// One origin on each line, or between commas.
export function parseOrigins(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((each) => each.trim().replace(/\/$/, ""))
    .filter(Boolean);
}

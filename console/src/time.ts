// Ranges and times: a range is text in the address (`now-24h`, or an ISO date), a time is shown in
// the zone of the page. No function here asks for the zone by itself.

import { LOCALE } from "~/i18n";
import { t } from "~/messages/app";

export interface TimeRange {
  readonly from: string;
  readonly to: string;
}

export interface Span {
  readonly begin: number;
  readonly end: number;
}

export const DEFAULT_RANGE: TimeRange = { from: "now-24h", to: "now" };

export const RANGE_PRESETS: readonly { readonly label: string; readonly from: string }[] = [
  { label: t("Last15Minutes"), from: "now-15m" },
  { label: t("LastHour"), from: "now-1h" },
  { label: t("Last6Hours"), from: "now-6h" },
  { label: t("Last24Hours"), from: "now-24h" },
  { label: t("Last7Days"), from: "now-7d" },
  { label: t("Last30Days"), from: "now-30d" },
];

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

// Milliseconds since 1970, or null for text that is no moment.
export function parseMoment(text: string, now: number): number | null {
  const given = text.trim();
  if (given === "now") return now;
  const relative = /^now-(\d{1,6})([smhdw])$/.exec(given);
  if (relative) return now - Number(relative[1]) * (UNIT_MS[relative[2] ?? ""] ?? 0);
  if (!/^\d{4}-\d{2}-\d{2}/.test(given)) return null;
  const isDateOnly = given.length === 10;
  const hasZone = /(Z|[+-]\d{2}:?\d{2})$/.test(given);
  const parsed = Date.parse(isDateOnly ? `${given}T00:00:00Z` : hasZone ? given : `${given}Z`);
  return Number.isNaN(parsed) ? null : parsed;
}

export function isRelative(range: TimeRange): boolean {
  return range.from.startsWith("now") || range.to.startsWith("now");
}

// A range that cannot be read or is empty falls back to the default one.
export function spanOf(range: TimeRange, now: number): Span {
  const begin = parseMoment(range.from, now);
  const end = parseMoment(range.to, now);
  if (begin === null || end === null || begin >= end) return spanOf(DEFAULT_RANGE, now);
  return { begin, end };
}

export function rangeLabel(range: TimeRange, zone: string): string {
  if (range.to === "now") {
    const preset = RANGE_PRESETS.find((each) => each.from === range.from);
    if (preset) return preset.label;
    const relative = /^now-(\d+)([smhdw])$/.exec(range.from);
    if (relative) return t("LastValueValue2", { value: relative[1], value2: relative[2] });
  }
  const span = spanOf(range, Date.now());
  return `${formatTime(span.begin, zone, "minute")} – ${formatTime(span.end, zone, "minute")}`;
}

// The range one length earlier or later, in absolute terms.
export function shiftRange(range: TimeRange, now: number, steps: -1 | 1): TimeRange {
  const { begin, end } = spanOf(range, now);
  const length = (end - begin) * steps;
  return { from: new Date(begin + length).toISOString(), to: new Date(end + length).toISOString() };
}

const SPANS_S = [1, 10, 60, 300, 1_800, 3_600, 21_600, 86_400] as const;
const POINTS_MAX = 200;

// The smallest bucket, in seconds, that divides a span into at most 200 points.
export function bucketSeconds(span: Span): number {
  const seconds = (span.end - span.begin) / 1_000;
  return SPANS_S.find((each) => seconds / each <= POINTS_MAX) ?? SPANS_S[SPANS_S.length - 1] ?? 86_400;
}

export type Precision = "minute" | "second" | "millisecond" | "day" | "time" | "clock";

const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(zone: string, precision: Precision): Intl.DateTimeFormat {
  const key = `${zone} ${precision}`;
  const known = formats.get(key);
  if (known) return known;
  const date = { day: "numeric", month: "short", year: "numeric" } as const;
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const options: Intl.DateTimeFormatOptions = {
    ...(precision === "time" || precision === "clock" ? {} : date),
    ...(precision === "day" ? {} : clock),
    ...(precision === "minute" || precision === "day" || precision === "clock" ? {} : { second: "2-digit" }),
    ...(precision === "millisecond" || precision === "time" ? { fractionalSecondDigits: 3 as const } : {}),
    ...(zone ? { timeZone: zone } : {}),
  };
  const made = new Intl.DateTimeFormat(LOCALE, options);
  formats.set(key, made);
  return made;
}

// `day`: 16 Nov 2026; `minute`: with 17:31; `second`, `millisecond`: with 17:31:07.412;
// `clock`: 17:31 alone; `time`: 17:31:07.412 alone.
export function formatTime(moment: number, zone: string, precision: Precision = "second"): string {
  return formatFor(zone, precision).format(moment);
}

export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return name.length > 0;
  } catch {
    return false;
  }
}

export function zoneLabel(zone: string): string {
  return zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const AGO: readonly (readonly [number, string, string])[] = [
  [86_400_000, "day", "days"],
  [3_600_000, "h", "h"],
  [60_000, "min", "min"],
  [1_000, "s", "s"],
];

// "4 min ago", "in 3 h": only ever beside a full time.
export function ago(moment: number, now: number): string {
  const distance = Math.abs(now - moment);
  for (const [size, one, many] of AGO) {
    const count = Math.floor(distance / size);
    if (count >= 1) {
      const words = `${count} ${count === 1 ? one : many}`;
      return now >= moment ? t("wordsAgo", { words }) : t("inWords", { words });
    }
  }
  return "now";
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, "")} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

// Dates of the API: ISO text, or seconds since 1970 in older fields. Null when there is none.
export function momentOf(value: string | number | null | undefined): number | null {
  if (value === null || value === undefined || value === "") return null;
  if (typeof value === "number") return value < 1e11 ? value * 1_000 : value;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? null : parsed;
}

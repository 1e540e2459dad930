// What a chart is drawn from, without drawing it: stacks, round ticks, and the point under a time.
import { formatTime } from "~/time";

// `null` is a gap; `undefined` is no value of this series at a moment that others have one of.
export type Values = readonly (number | null | undefined)[];

// Sums from the first series up to each one. A moment without any value stays a gap; one that has
// some counts the missing ones as none.
export function stack(series: readonly Values[]): (number | null)[][] {
  const length = series[0]?.length ?? 0;
  const sums: (number | null)[][] = series.map(() => new Array<number | null>(length).fill(null));
  for (let at = 0; at < length; at++) {
    if (series.every((values) => values[at] === null || values[at] === undefined)) continue;
    let sum = 0;
    series.forEach((values, index) => {
      sum += values[at] ?? 0;
      (sums[index] as (number | null)[])[at] = sum;
    });
  }
  return sums;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map((each) => each * DAY),
];

export function timeStep(lengthMs: number, ticksMax: number): number {
  const step = TIME_STEPS.find((each) => lengthMs / each <= Math.max(1, ticksMax));
  return step ?? Math.ceil(lengthMs / Math.max(1, ticksMax) / DAY) * DAY;
}

const offsetFormats = new Map<string, Intl.DateTimeFormat>();

// Milliseconds that local time in a zone is ahead of UTC at a moment.
export function zoneOffset(moment: number, zone: string): number {
  let format = offsetFormats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
      ...(zone ? { timeZone: zone } : {}),
    });
    offsetFormats.set(zone, format);
  }
  const parts: Record<string, number> = {};
  for (const part of format.formatToParts(moment)) parts[part.type] = Number(part.value);
  const local = Date.UTC(
    parts.year ?? 0,
    (parts.month ?? 1) - 1,
    parts.day ?? 1,
    parts.hour ?? 0,
    parts.minute ?? 0,
    parts.second ?? 0,
  );
  return local - Math.floor(moment / SECOND) * SECOND;
}

// Moments that are round on a clock in the zone: a step of six hours is 00:00, 06:00, 12:00, 18:00
// there, also across a change of the offset.
export function timeTicks(begin: number, end: number, ticksMax: number, zone: string): number[] {
  const step = timeStep(end - begin, ticksMax);
  const ticks: number[] = [];
  let local = Math.ceil((begin + zoneOffset(begin, zone)) / step) * step;
  for (; ; local += step) {
    const guess = local - zoneOffset(local, zone);
    const moment = local - zoneOffset(guess, zone);
    if (moment > end) return ticks;
    const last = ticks[ticks.length - 1];
    if (moment >= begin && (last === undefined || moment > last)) ticks.push(moment);
  }
}

function isMidnight(moment: number, zone: string): boolean {
  return (moment + zoneOffset(moment, zone)) % DAY === 0;
}

// "17:30", with seconds where ticks are closer than a minute, and the day at midnight.
export function tickLabel(moment: number, stepMs: number, zone: string): string {
  if (stepMs >= DAY || isMidnight(moment, zone)) return formatTime(moment, zone, "day").replace(/ \d{4}$/, "");
  const clock = formatTime(moment, zone, "time").slice(0, 8);
  return stepMs < MINUTE ? clock : clock.slice(0, 5);
}

// A round step for at most so many lines, and as many whole steps as hold the largest value.
export function valueTicks(low: number, high: number, ticksMax: number, isWhole: boolean): number[] {
  if (low === 0 && high === 0) return [0, 1];
  // A value that never changes is drawn in the middle.
  if (!(high > low)) return valueTicks(low - Math.abs(low) / 10, low + Math.abs(low) / 10, 2, isWhole);
  const rough = (high - low) / Math.max(1, ticksMax);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * (1 - 1e-9)) ?? 10 * power;
  const used = isWhole ? Math.max(1, Math.round(step)) : step;
  const first = Math.floor(low / used + 1e-9);
  const last = Math.ceil(high / used - 1e-9);
  // Multiples of the step, not sums of it, so that no rounding error adds up.
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * used).toPrecision(12)));
}

// The index of the bucket that holds a moment, or of the nearest point where points have no width.
export function indexAt(times: readonly number[], moment: number, bucketMs: number | null): number | null {
  if (times.length === 0) return null;
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((times[middle] as number) <= moment) low = middle;
    else high = middle - 1;
  }
  const at = times[low] as number;
  if (bucketMs !== null) return moment >= at && moment < at + bucketMs ? low : null;
  const next = times[low + 1];
  return next !== undefined && next - moment < moment - at ? low + 1 : low;
}

// Lines of points are broken where more than so many steps are missing.
export function withGaps(times: readonly number[], series: readonly Values[], stepMs: number): [number[], (number | null)[][]] {
  const spread: number[] = [];
  const values: (number | null)[][] = series.map(() => []);
  times.forEach((time, at) => {
    const before = times[at - 1];
    if (before !== undefined && time - before > stepMs * 1.5) {
      spread.push(before + stepMs);
      for (const each of values) each.push(null);
    }
    spread.push(time);
    series.forEach((each, index) => values[index]?.push(each[at] ?? null));
  });
  return [spread, values];
}

// How far points usually are apart: never less than a span, and more where a device reports seldom.
// Points that are more than one and a half of it apart have a gap between them.
export function usualStep(times: readonly number[], spanMs: number): number {
  const distances = times.slice(1).map((each, index) => each - (times[index] ?? 0));
  const median = distances.sort((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0;
  return Math.max(spanMs, median * 1.4);
}

// Pieces of points without a gap in between.
export function splitAtGaps<Point extends { readonly at: number }>(points: readonly Point[], gapMs: number): Point[][] {
  const pieces: Point[][] = [];
  points.forEach((each, index) => {
    const before = points[index - 1];
    if (before !== undefined && each.at - before.at <= gapMs) pieces[pieces.length - 1]?.push(each);
    else pieces.push([each]);
  });
  return pieces;
}

// Series of their own moments, as columns of all moments: each is broken where it has a gap, and
// goes on where only others have a value.
export function joinSeries<Point extends { readonly at: number }>(
  series: readonly (readonly Point[])[],
  spanMs: number,
): { times: number[]; columns: (Point | null | undefined)[][] } {
  const pieces = series.map((points) => {
    const step = usualStep(points.map((each) => each.at), spanMs);
    return { step, pieces: splitAtGaps(points, step * 1.5) };
  });
  const columns = pieces.map(({ step, pieces }) => {
    const column = new Map<number, Point | null>();
    pieces.forEach((piece, index) => {
      for (const each of piece) column.set(each.at, each);
      const last = piece[piece.length - 1];
      if (last && index < pieces.length - 1) column.set(last.at + step, null);
    });
    return column;
  });
  const times = [...new Set(columns.flatMap((each) => [...each.keys()]))].sort((a, b) => a - b);
  return { times, columns: columns.map((column) => times.map((time) => column.get(time))) };
}

export type CalendarSpan = "hour" | "day" | "week" | "month";

// The begins of the hours, days, weeks (from Monday) or months of a zone that lie in a range, that
// of its begin included.
export function calendarTimes(begin: number, end: number, span: CalendarSpan, zone: string): number[] {
  const momentOf = (local: number) => local - zoneOffset(local - zoneOffset(local, zone), zone);
  const local = new Date(begin + zoneOffset(begin, zone));
  if (span === "hour") local.setUTCMinutes(0, 0, 0);
  else local.setUTCHours(0, 0, 0, 0);
  if (span === "week") local.setUTCDate(local.getUTCDate() - ((local.getUTCDay() + 6) % 7));
  if (span === "month") local.setUTCDate(1);
  const times: number[] = [];
  for (;;) {
    const moment = momentOf(local.getTime());
    if (moment >= end) return times;
    const last = times[times.length - 1];
    // Of an hour that comes twice a year, the second one too.
    if (span === "hour" && last !== undefined && moment - last > HOUR) times.push(last + HOUR);
    if (last === undefined || moment > last) times.push(moment);
    if (span === "hour") local.setUTCHours(local.getUTCHours() + 1);
    else if (span === "month") local.setUTCMonth(local.getUTCMonth() + 1);
    else local.setUTCDate(local.getUTCDate() + (span === "week" ? 7 : 1));
  }
}

const COLOURS = 8;
const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

// Eight colours, then the same ones dashed.
export function seriesStyle(index: number): { color: string; dash: readonly number[] } {
  return {
    color: `--series-${(index % COLOURS) + 1}`,
    dash: DASHES[Math.floor(index / COLOURS) % DASHES.length] as readonly number[],
  };
}

// Charts of measured values, before they are drawn: lines of values over time, or bars of calendar spans.
import { formatTime } from "~/time";
import { calendarTimes, joinSeries, seriesStyle, type CalendarSpan } from "~/ui/chart-data";
import type { SeriesProps } from "~/ui/series";
import { t } from "~/messages/measurements";

export interface ChartPoint {
  readonly at: number;
  readonly value: number;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  // Nothing had arrived for a while before it.
  readonly hasGap?: boolean | undefined;
  // How many devices it is of, where that is more than one.
  readonly devices?: number | undefined;
}

export interface ChartSource {
  readonly id: string;
  readonly name: string;
  readonly points: readonly ChartPoint[];
  // Which colour it has, so that it has the same in every chart; else that of its place.
  readonly style?: number | undefined;
}

export type Drawing = Pick<SeriesProps, "times" | "series" | "ends" | "look" | "title" | "isWhole" | "counts">;

export const NO_DRAWING: Drawing = { look: "lines", times: [], series: [] };
// More than a month.
const LONGEST_SPAN_MS = 40 * 86_400_000;

export const SPAN_WORDS: Record<CalendarSpan, string> = { hour: "each hour", day: "each day", week: t("eachWeek"), month: "each month" };

const TITLES: Record<CalendarSpan, (begin: number, zone: string) => string> = {
  hour: (begin, zone) => formatTime(begin, zone, "minute"),
  day: (begin, zone) => formatTime(begin, zone, "day"),
  week: (begin, zone) => t("weekFromBegin", { begin: formatTime(begin, zone, "day") }),
  month: (begin, zone) => formatTime(begin, zone, "day").replace(/^\d+ /, ""),
};

export function spanTitle(calendarSpan: CalendarSpan, zone: string): (begin: number) => string {
  return (begin) => TITLES[calendarSpan](begin, zone);
}

function countsOf(sources: readonly ChartSource[], times: readonly number[]): Drawing["counts"] {
  const points = sources[0]?.points ?? [];
  if (points.every((each) => each.devices === undefined)) return undefined;
  const counts = new Map(points.map((each) => [each.at, each.devices]));
  return { label: "devices", values: times.map((each) => counts.get(each)) };
}

// Of a single source the smallest and the largest value as well.
export function drawLines(sources: readonly ChartSource[], stepMs: number, title?: Drawing["title"]): Drawing {
  const { times, columns } = joinSeries(sources.map((each) => each.points), stepMs);
  const hasBand = sources.length === 1 && sources[0]?.points.some((each) => each.low !== each.high);
  const series = sources.map((source, index) => {
    const column = columns[index] ?? [];
    const pick = (value: (point: ChartPoint) => number) => column.map((each) => (each ? value(each) : each));
    const band = hasBand ? { low: pick((each) => each.low ?? each.value), high: pick((each) => each.high ?? each.value) } : {};
    return { id: source.id, label: source.name, ...seriesStyle(source.style ?? index), values: pick((each) => each.value), ...band };
  });
  return { look: "lines", times, series, title, counts: countsOf(sources, times) };
}

// A span without values has no bar, which differs from a bar of zero.
export function drawBars(sources: readonly ChartSource[], times: readonly number[], calendarSpan: CalendarSpan, zone: string): Drawing {
  const last = times[times.length - 1] ?? 0;
  const next = calendarTimes(last, last + LONGEST_SPAN_MS, calendarSpan, zone)[1] ?? last;
  const series = sources.map((source, index) => {
    const values = new Map(source.points.map((each) => [each.at, each.value]));
    return { id: source.id, label: source.name, ...seriesStyle(source.style ?? index), values: times.map((each) => values.get(each) ?? null) };
  });
  return { look: "bars", times, ends: [...times.slice(1), next], series, isWhole: false, title: spanTitle(calendarSpan, zone), counts: countsOf(sources, times) };
}

// How the bars of a range are divided: those that a chart can show, and by default a few dozen.
export function calendarSpans(spanMs: number): { usual: CalendarSpan; possible: readonly CalendarSpan[] } {
  const days = spanMs / 86_400_000;
  const usual = days <= 2 ? "hour" : days <= 62 ? "day" : "month";
  return { usual, possible: days <= 14 ? ["hour", "day", "week", "month"] : ["day", "week", "month"] };
}

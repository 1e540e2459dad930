// What Explore draws: numbers of a group's devices as one, or a series of each of some devices.
import { useCallback } from "react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useRange, useScope, useZone } from "~/frame/page-state";
import { askedRange, type AskedRange } from "~/measurements/chart-card";
import { calendarSpans, drawBars, drawLines, spanTitle, type ChartSource } from "~/measurements/drawing";
import { byName, mostTelling, type GroupMeasurement, type NamedMeasurement } from "~/measurements/group-measurements";
import { momentOf, spanOf, zoneLabel, type TimeRange } from "~/time";
import type { CalendarSpan } from "~/ui/chart-data";
import type { ExploreSearch } from "./search";

export interface ExploreDevice {
  readonly id: string;
  readonly name: string;
}

interface SeriesQuery {
  groupId: string;
  subgroups: boolean;
  measurement: string;
  deviceId?: string[];
  type?: string | undefined;
  of?: Schemas["SeriesAggregate"] | undefined;
  combine?: Schemas["SeriesCombination"] | undefined;
  calendarSpan?: CalendarSpan;
  timezone?: string;
  timeSpan?: number;
  beginDate: string;
  endDate: string;
}

interface Answered {
  readonly query: SeriesQuery;
  readonly asked: AskedRange;
  readonly answer: Schemas["GroupSeries"];
}

async function fetchSeries(query: SeriesQuery, signal: AbortSignal): Promise<Schemas["GroupSeries"]> {
  const answer = await read(api.GET("/group/series", { params: { query }, signal }));
  if (typeof answer !== "object" || Array.isArray(answer)) throw new Error("The service answered in another format.");
  return answer;
}

// What a counter or an amount adds is a bar; anything else is a line.
export function isAdded(item: NamedMeasurement, search: ExploreSearch): boolean {
  return search.of === undefined && (item.class === "counter" || item.class === "amount");
}

// What can be drawn, and what is.
export function chosenOf(search: ExploreSearch, all: readonly GroupMeasurement[]) {
  const items = byName(all.filter((each) => search.device || !search.type || each.type === search.type));
  const first = mostTelling(items);
  return { items, chosen: search.measurement ?? (first ? [first.name] : []) };
}

// The charts of this page, for a link.
export function sharedChart(search: ExploreSearch, all: readonly GroupMeasurement[], range: TimeRange, zone: string, withBelow: boolean): Schemas["SharedChart"] {
  const { items, chosen } = chosenOf(search, all);
  const measurements = chosen.filter((name) => items.some((each) => each.name === name));
  const span = spanOf(range, Date.now());
  const { usual, possible } = calendarSpans(span.end - span.begin);
  const areAdded = measurements.every((name) => items.some((each) => each.name === name && isAdded(each, search)));
  const wanted = search.per && possible.includes(search.per) ? search.per : areAdded ? usual : undefined;
  const which = search.device ? { deviceIds: search.device } : { type: search.type, combine: search.combine };
  const when = range.to === "now" ? { lastSeconds: Math.round((span.end - span.begin) / 1_000) } : { beginDate: new Date(span.begin).toISOString(), endDate: new Date(span.end).toISOString() };
  return { measurements, subgroups: withBelow || search.device !== undefined, ...which, of: search.of, ...when, ...(wanted ? { calendarSpan: wanted, timezone: zoneLabel(zone) } : {}) };
}

function sourcesOf(answer: Schemas["GroupSeries"], devices: readonly ExploreDevice[], groupName: string): ChartSource[] {
  const at = (each: { timestamp: string }) => momentOf(each.timestamp) ?? 0;
  if (devices.length === 0)
    return [{ id: "group", name: groupName, points: (answer.points ?? []).map((each) => ({ at: at(each), value: each.value, devices: each.devices })) }];
  // Those that have no such measurement are left out.
  return devices.flatMap(({ id, name }, style) => {
    const found = answer.items?.find((each) => each.deviceId === id);
    return found ? [{ id, name, style, points: found.points.map((each) => ({ at: at(each), value: each.value, hasGap: each.hasGap })) }] : [];
  });
}

export function useExplored(groupId: string, groupName: string, item: NamedMeasurement, devices: readonly ExploreDevice[], search: ExploreSearch, calendarSpan: CalendarSpan | null) {
  const zone = useZone();
  const { range } = useRange();
  const { withBelow } = useScope();
  const { type, of, combine } = search;
  // Devices that were chosen one by one are drawn wherever they are.
  const subgroups = withBelow || devices.length > 0;
  const { name } = item;
  const isBars = isAdded(item, search);
  const select = useCallback(
    ({ query, asked, answer }: Answered) => {
      const sources = sourcesOf(answer, devices, groupName);
      const title = calendarSpan ? spanTitle(calendarSpan, zone) : undefined;
      const drawing = isBars && calendarSpan ? drawBars(sources, asked.times, calendarSpan, zone) : drawLines(sources, (answer.timeSpan ?? 0) * 1_000, title);
      return { query, asked, sources, drawing, answer, completeUntil: answer.completeUntil };
    },
    [devices, groupName, isBars, calendarSpan, zone],
  );
  return useQuery({
    queryKey: ["group-series", groupId, name, devices.map((each) => each.id), { type, of, combine, subgroups }, range, calendarSpan, zone],
    queryFn: async ({ signal }): Promise<Answered> => {
      const asked = askedRange(range, calendarSpan, zone);
      const which = devices.length > 0 ? { deviceId: devices.map((each) => each.id), combine: "none" as const } : { type, combine };
      const query: SeriesQuery = {
        groupId,
        subgroups,
        measurement: name,
        ...which,
        of,
        ...(calendarSpan ? { calendarSpan, timezone: zoneLabel(zone) } : {}),
        beginDate: asked.beginDate,
        endDate: asked.endDate,
      };
      return { query, asked, answer: await fetchSeries(query, signal) };
    },
    select,
    refetchInterval: 60_000,
  });
}

// A longer span is none; what is older than thirty years is left out then.
const SECONDS_MAX = 1_000_000_000;

export interface Contribution extends ExploreDevice {
  readonly value: number;
}

// One number of each device for all of what a chart shows, the largest first.
export function useContributions(query: SeriesQuery | undefined) {
  return useQuery({
    queryKey: ["group-series", "contributions", query],
    queryFn: async ({ signal }) => {
      if (!query) return null;
      const { calendarSpan, timezone, ...rest } = query;
      const timeSpan = Math.min(SECONDS_MAX, Math.ceil((Date.parse(query.endDate) - Date.parse(query.beginDate)) / 1_000));
      const asked: SeriesQuery = { ...rest, timeSpan, combine: "none" };
      const { items = [] } = await fetchSeries(asked, signal);
      const contributions = items.flatMap(({ deviceId, deviceName, points }): Contribution[] => {
        const value = points[points.length - 1]?.value;
        return value === undefined ? [] : [{ id: deviceId, name: deviceName || deviceId, value }];
      });
      return { query: asked, contributions: contributions.sort((a, b) => b.value - a.value) };
    },
    enabled: query !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 55_000,
  });
}

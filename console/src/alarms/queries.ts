// Alarms of a group or of a device, and what is done about them.
import { infiniteQueryOptions, keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { useMay } from "~/api/may";
import { queryClient } from "~/api/queries";
import { byName, groupMeasurementsQuery } from "~/measurements/group-measurements";
import { spanOf, type TimeRange } from "~/time";
import type { Alarm, FindMeasurement, Severity } from "./words";

const PAGE_ITEMS = 200;
const REFRESH_MS = 5_000;
const BANDS_MAX = 200;

export interface AlarmFilter {
  readonly deviceId?: string | undefined;
  readonly severity?: Severity | undefined;
  readonly reason?: string | undefined;
  readonly subgroups: boolean;
}

// What is open now, or, with a range, all that was raised in it.
export function alarmsQuery(groupId: string, filter: AlarmFilter, range: TimeRange | null) {
  return infiniteQueryOptions({
    queryKey: ["alarms", groupId, filter, range],
    queryFn: ({ pageParam, signal }) => {
      const span = range && spanOf(range, Date.now());
      // A token belongs to one list: further pages begin where the first one did.
      const beginDate = pageParam?.beginDate ?? (span ? new Date(span.begin).toISOString() : undefined);
      const endDate = span && range?.to !== "now" ? new Date(span.end).toISOString() : undefined;
      const query = { groupId, ...filter, state: span ? ("all" as const) : ("open" as const), beginDate, endDate, limit: PAGE_ITEMS, nextToken: pageParam?.nextToken };
      return read(api.GET("/group/alarms", { params: { query }, signal })).then((page) => ({ ...page, beginDate }));
    },
    initialPageParam: undefined as { nextToken: string; beginDate: string | undefined } | undefined,
    getNextPageParam: (page) => (page.nextToken ? { nextToken: page.nextToken, beginDate: page.beginDate } : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) <= 1 ? REFRESH_MS : false),
  });
}

// The open alarms of a device.
export function deviceAlarmsQuery(groupId: string, deviceId: string) {
  return queryOptions({
    queryKey: ["alarms", groupId, "device", deviceId],
    queryFn: async ({ signal }) => (await read(api.GET("/group/alarms", { params: { query: { groupId, deviceId, limit: PAGE_ITEMS } }, signal }))).items,
    refetchInterval: REFRESH_MS,
  });
}

// Those that were open at some time of a range: one that was raised before it may reach into it.
export function alarmBandsQuery(groupId: string, deviceId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ["alarms", groupId, "bands", deviceId, range],
    queryFn: async ({ signal }) => {
      const { begin, end } = spanOf(range, Date.now());
      const query = { groupId, deviceId, state: "all" as const, endDate: new Date(end).toISOString(), limit: BANDS_MAX };
      const { items } = await read(api.GET("/group/alarms", { params: { query }, signal }));
      return items.filter((each) => !each.resolvedAt || Date.parse(each.resolvedAt) > begin);
    },
    refetchInterval: 60_000,
  });
}

// After something was done about alarms: lists, and what counts them.
export async function refreshAlarms(): Promise<void> {
  await Promise.all(["alarms", "overview"].map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}

export function acknowledge({ groupId, id }: Alarm, comment: string) {
  return read(api.POST("/alarm/acknowledge", { body: { groupId, alarmId: id, ...(comment.trim() ? { comment } : {}) } }));
}

// How measurements are written in a group, and whether values may be read there.
export function useMeasurementWords(groupId: string): { find: FindMeasurement; mayRead: boolean } {
  const mayRead = useMay(groupId, "GET /group/measurements");
  const query = useQuery({ ...groupMeasurementsQuery(groupId), enabled: mayRead });
  const known = new Map(byName(query.data ?? []).map((each) => [each.name, each]));
  return { find: (name) => known.get(name), mayRead };
}

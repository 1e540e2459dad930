// Queries about connectors that several screens share.
import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { api, read, readOne, type Schemas } from "~/api/client";
import { bucketSeconds, spanOf, type TimeRange } from "~/time";

export type Connector = Schemas["Connector"];

const REFRESH_MS = 15_000;
// While something is about to change.
const MOVING_MS = 3_000;
const PAGE = 200;
// More connectors than anybody reads; the list says so beyond.
export const CONNECTORS_MAX = 2_000;
const HOUR_MS = 3_600_000;
const MINUTES_READ_MAX = 10_080;

export function connectorsQuery(groupId: string, subgroups = false) {
  return queryOptions({
    queryKey: ["connectors", groupId, subgroups],
    queryFn: async ({ signal }) => {
      const found: Connector[] = [];
      let nextToken: string | undefined;
      do {
        const query = { groupId, subgroups, limit: PAGE, ...(nextToken ? { nextToken } : {}) };
        const page = await read(api.GET("/connector/connectors", { params: { query }, signal }));
        found.push(...page.test);
        nextToken = page.nextToken ?? undefined;
      } while (nextToken && found.length < CONNECTORS_MAX);
      return found;
    },
    refetchInterval: REFRESH_MS,
  });
}

export function connectorQuery(groupId: string, connectorId: string) {
  return queryOptions({
    queryKey: ["connector", groupId, connectorId],
    queryFn: ({ signal }) => readOne(api.GET("/connector", { params: { query: { groupId, connectorId } }, signal }), "connectorId"),
    refetchInterval: ({ state }) => (state.data?.dataFailurePolicy?.resending ? MOVING_MS : REFRESH_MS),
  });
}

export function healthQuery(groupId: string, connectorId: string) {
  return queryOptions({
    queryKey: ["connector-health", groupId, connectorId],
    queryFn: ({ signal }) => read(api.GET("/connector/health", { params: { query: { groupId, connectorId } }, signal })),
    refetchInterval: ({ state }) => (state.data && state.data.failures + state.data.waiting > 0 ? MOVING_MS : REFRESH_MS),
  });
}

// What failed in a range, by error.
export function failuresQuery(groupId: string, connectorId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ["connector-failures", groupId, connectorId, range],
    queryFn: ({ signal }) => {
      const { begin, end } = spanOf(range, Date.now());
      const query = { groupId, connectorId, beginDate: String(Math.floor(begin)), endDate: String(Math.ceil(end)) };
      return read(api.GET("/connector/failures", { params: { query }, signal }));
    },
    refetchInterval: REFRESH_MS,
  });
}

// The last 24 hours in whole hours, and all of them as one item, for percentiles over the day.
export function dayQuery(groupId: string, connectorId: string) {
  return queryOptions({
    queryKey: ["connector-day", groupId, connectorId],
    queryFn: async ({ signal }) => {
      const end = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
      const period = { beginDate: String(end - 24 * HOUR_MS), endDate: String(end), groupId, connectorId };
      const [hours, day] = await Promise.all([
        read(api.GET("/connector/metrics", { params: { query: { ...period, timeSpan: 3_600 } }, signal })),
        read(api.GET("/connector/metrics", { params: { query: { ...period, timeSpan: 86_400 } }, signal })),
      ]);
      return { hours: hours.items, day: day.items[0] ?? null };
    },
    refetchInterval: 60_000,
  });
}

// A minute is the shortest span that is stored.
export function chartSeconds(range: TimeRange, now: number): number {
  return Math.max(60, bucketSeconds(spanOf(range, now)));
}

// One item over a whole period. In minutes as long as it may be read in minutes: in hours, a period
// begins and ends with a whole hour, and would have what happened around it.
export function wholeSeconds(periodMs: number): number {
  const minutes = Math.ceil(periodMs / 60_000) + 1;
  if (minutes > MINUTES_READ_MAX) return Math.ceil(periodMs / HOUR_MS + 1) * 3_600;
  return (minutes % 60 === 0 ? minutes + 1 : minutes) * 60;
}

export function metricsQuery(groupId: string, connectorId: string, range: TimeRange) {
  return queryOptions({
    queryKey: ["connector-metrics", groupId, connectorId, range],
    queryFn: async ({ signal }) => {
      const { begin, end } = spanOf(range, Date.now());
      const query = { groupId, connectorId, beginDate: String(Math.floor(begin)), endDate: String(Math.ceil(end)) };
      const timeSpan = chartSeconds(range, Date.now());
      const whole = wholeSeconds(end - begin);
      const [spans, all] = await Promise.all([
        read(api.GET("/connector/metrics", { params: { query: { ...query, timeSpan } }, signal })),
        read(api.GET("/connector/metrics", { params: { query: { ...query, timeSpan: whole } }, signal })),
      ]);
      return { spans, all: all.items[0] ?? null };
    },
    refetchInterval: 30_000,
  });
}

export const connectorTypesQuery = queryOptions({
  queryKey: ["connector-types"],
  queryFn: async ({ signal }) => (await read(api.GET("/connector/connectorTypes", { params: { query: { limit: 100 } }, signal }))).items,
  staleTime: Infinity,
});

export function refreshConnector(client: QueryClient, changed: Connector): void {
  client.setQueryData(["connector", changed.groupId, changed.id], changed);
  // In the list of its group, and in those of groups above.
  client.setQueriesData({ queryKey: ["connectors"] }, (before: Connector[] | undefined) =>
    before?.map((each) => (each.id === changed.id ? changed : each)),
  );
  // A list that lacks what was created meanwhile is loaded when it is shown: new data made it look fresh.
  void client.invalidateQueries({ queryKey: ["connectors"], refetchType: "none" });
  void client.invalidateQueries({ queryKey: ["connector-health", changed.groupId, changed.id] });
}

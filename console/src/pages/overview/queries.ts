import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { bucketSeconds, type Span } from "~/time";

const iso = (moment: number) => new Date(moment).toISOString();

export interface Buckets extends Span {
  readonly seconds: number;
}

// Whole buckets, so that the bars of a range that moves on stay where they are.
export function bucketsOf(span: Span): Buckets {
  const seconds = bucketSeconds(span);
  return { begin: Math.floor(span.begin / (seconds * 1_000)) * seconds * 1_000, end: span.end, seconds };
}

export function groupMetricsQuery(groupId: string, { begin, end, seconds }: Buckets, subgroups = true) {
  return queryOptions({
    queryKey: ["group-metrics", groupId, begin, end, seconds, subgroups],
    queryFn: ({ signal }) =>
      read(
        api.GET("/group/metrics", {
          params: { query: { groupId, subgroups, beginDate: iso(begin), endDate: iso(end), timeSpan: seconds } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

// The counters of a period in one.
export function groupTotalsQuery(groupId: string, { begin, end }: Span, subgroups = true) {
  return groupMetricsQuery(groupId, { begin, end, seconds: Math.max(1, Math.ceil((end - begin) / 1_000)) }, subgroups);
}

export function lastChangesQuery(groupId: string, subgroups: boolean) {
  return queryOptions({
    queryKey: ["audit", groupId, "last", subgroups],
    queryFn: ({ signal }) => read(api.GET("/group/audit", { params: { query: { groupId, subgroups, limit: 6 } }, signal })),
    refetchInterval: 30_000,
  });
}

export function firstRecordQuery(groupId: string) {
  return queryOptions({
    queryKey: ["records", groupId, "first"],
    queryFn: ({ signal }) => read(api.GET("/group/records", { params: { query: { groupId, subgroups: true, limit: 1 } }, signal })),
  });
}

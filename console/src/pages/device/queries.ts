import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import type { Span, TimeRange } from "~/time";
import type { Kind } from "./search";

export type Device = Schemas["Device"];

export function deviceQuery(deviceId: string) {
  return queryOptions({
    queryKey: ["device", deviceId],
    queryFn: ({ signal }) => read(api.GET("/device", { params: { query: { deviceId } }, signal })),
    refetchInterval: 30_000,
  });
}

const PAGE_ITEMS = 100;
// A page of the service looks at 5,000 arrivals of the whole group; so many of them are one of ours.
const LOOKS_MAX = 4;

interface RecordPage {
  items: Schemas["Arrival"][];
  lookedAt: number;
  // The begin of the first page is that of the others: a token belongs to one list.
  after: string;
  nextToken: string | undefined;
}

type NextPage = Pick<RecordPage, "after" | "nextToken">;

// A range until now is the same one a minute later: what was loaded of it stays while it is refreshed.
export function deviceRecordsQuery(device: Device, kinds: readonly Kind[] | undefined, range: TimeRange, span: Span) {
  const isOpenEnded = range.to === "now";
  return infiniteQueryOptions({
    queryKey: ["device-records", device.deviceId, device.groupId, kinds, isOpenEnded ? range.from : span.begin, isOpenEnded ? "now" : span.end],
    queryFn: async ({ pageParam, signal }): Promise<RecordPage> => {
      const after = pageParam?.after ?? new Date(span.begin).toISOString();
      const found: RecordPage = { items: [], lookedAt: 0, after, nextToken: pageParam?.nextToken };
      for (let looks = 0; looks < LOOKS_MAX && found.items.length < PAGE_ITEMS / 2; looks += 1) {
        const query = {
          groupId: device.groupId,
          deviceId: device.deviceId,
          kinds: kinds ? [...kinds] : undefined,
          after,
          before: isOpenEnded ? undefined : new Date(span.end).toISOString(),
          limit: PAGE_ITEMS,
          nextToken: found.nextToken,
        };
        const page = await read(api.GET("/group/records", { params: { query }, signal }));
        found.items.push(...page.items);
        found.lookedAt += page.lookedAt;
        found.nextToken = page.nextToken ?? undefined;
        if (!found.nextToken) break;
      }
      return found;
    },
    initialPageParam: undefined as NextPage | undefined,
    getNextPageParam: ({ after, nextToken }) => (nextToken ? { after, nextToken } : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (isOpenEnded && (query.state.data?.pages.length ?? 0) <= 1 ? 10_000 : false),
  });
}

export function configurationQuery(deviceId: string) {
  return queryOptions({
    queryKey: ["device-configuration", deviceId],
    queryFn: ({ signal }) => read(api.GET("/device/configuration", { params: { query: { deviceId } }, signal })),
  });
}

const COUNTED_PAGES_MAX = 5;
const COUNTED_ITEMS = 1_000;

export interface RecordCount {
  count: number;
  isMore: boolean;
}

async function countKind(deviceId: string, kind: Kind, signal: AbortSignal): Promise<RecordCount> {
  let count = 0;
  let nextToken: string | undefined;
  for (let page = 0; page < COUNTED_PAGES_MAX; page += 1) {
    const answer = await read(api.GET(`/device/${kind}`, { params: { query: { deviceId, limit: COUNTED_ITEMS, nextToken } }, signal }));
    count += answer.items.length;
    nextToken = answer.nextToken ?? undefined;
    if (!nextToken) return { count, isMore: false };
  }
  return { count, isMore: true };
}

// Counted up to 5,000 of each kind: the service has no counter that deletions lower.
export function recordCountsQuery(deviceId: string) {
  return queryOptions({
    queryKey: ["device-record-counts", deviceId],
    queryFn: async ({ signal }) => {
      const kinds = ["data", "event", "geoloc", "telemetry"] as const;
      const counts = await Promise.all(kinds.map((kind) => countKind(deviceId, kind, signal)));
      return kinds.map((kind, index) => ({ kind, ...(counts[index] as RecordCount) }));
    },
    gcTime: 0,
    staleTime: 0,
  });
}

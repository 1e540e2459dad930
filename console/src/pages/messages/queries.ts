import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, read, readOne } from "~/api/client";
import { spanOf, type TimeRange } from "~/time";
import type { Kind, Status } from "./search";

export interface MessageFilter {
  readonly connectorId?: string | undefined;
  readonly status?: Status | undefined;
  readonly deviceId?: string | undefined;
  readonly kind?: Kind | undefined;
}

const PAGE = 200;
const REFRESH_MS = 10_000;

// Members that are not there are left out, not sent empty.
export function present<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never;
}

export function messagesQuery(groupId: string, filter: MessageFilter, range: TimeRange, subgroups = false) {
  return infiniteQueryOptions({
    queryKey: ["messages", groupId, filter, range, subgroups],
    queryFn: ({ signal, pageParam }) => {
      const { begin, end } = spanOf(range, Date.now());
      const period = { beginDate: String(Math.floor(begin)), endDate: String(Math.ceil(end)) };
      const query = present({ groupId, subgroups, ...filter, ...(pageParam?.period ?? period), limit: PAGE, nextToken: pageParam?.token });
      return read(api.GET("/connector/messages", { params: { query }, signal })).then((page) => ({
        ...page,
        period: pageParam?.period ?? period,
      }));
    },
    initialPageParam: undefined as { token: string; period: { beginDate: string; endDate: string } } | undefined,
    getNextPageParam: (page) => (page.nextToken ? { token: page.nextToken, period: page.period } : undefined),
    // Only while the first page is all: reloading a long list would take as many requests as it has pages.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : REFRESH_MS),
  });
}

// `ids` are those that its attempts name: with another attempt there may be another one.
export function exchangesQuery(groupId: string, connectorId: string, messageId: string, ids: string) {
  return queryOptions({
    queryKey: ["exchanges", messageId, ids],
    queryFn: ({ signal }) => read(api.GET("/connector/exchanges", { params: { query: { groupId, connectorId, messageId } }, signal })),
  });
}

export function messageQuery(id: string) {
  return queryOptions({
    queryKey: ["message", id],
    queryFn: ({ signal }) => readOne(api.GET("/connector/message", { params: { query: { id } }, signal }), "id"),
    refetchInterval: ({ state }) => (state.data?.state === "queued" || state.data?.state === "sending" ? 2_000 : 15_000),
  });
}

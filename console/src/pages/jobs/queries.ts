import { infiniteQueryOptions, keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { api, read } from "~/api/client";
import { mayCall, useRights } from "~/api/may";
import type { Outcome, State } from "./search";
import { isOpen } from "./words";

const PAGE = 100;
const OPEN_MS = 1_000;
const IDLE_MS = 10_000;

export function jobsQuery(groupId: string, state: State | undefined, subgroups: boolean) {
  return infiniteQueryOptions({
    queryKey: ["jobs", groupId, state, subgroups],
    queryFn: ({ pageParam, signal }) => read(api.GET("/jobs", { params: { query: { groupId, subgroups, state, limit: PAGE, nextToken: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.pages.some((page) => page.items.some(isOpen)) ? 2 * OPEN_MS : IDLE_MS),
  });
}

export function jobQuery(groupId: string, jobId: string) {
  return queryOptions({
    queryKey: ["job", groupId, jobId],
    queryFn: ({ signal }) => read(api.GET("/job", { params: { query: { groupId, jobId } }, signal })),
    refetchInterval: (query) => (query.state.data && isOpen(query.state.data) ? OPEN_MS : IDLE_MS),
  });
}

export function jobItemsQuery(groupId: string, jobId: string, outcome: Outcome | undefined, isRunning: boolean) {
  return infiniteQueryOptions({
    // Once more when it has ended.
    queryKey: ["job-items", groupId, jobId, outcome, isRunning],
    queryFn: ({ pageParam, signal }) =>
      read(api.GET("/job/items", { params: { query: { groupId, jobId, outcome, limit: PAGE, nextToken: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextToken ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: isRunning ? 2 * OPEN_MS : false,
  });
}

// Names of the people of a group, where they may be seen; else their ids.
export function usePeople(groupId: string): (id: string) => string {
  const may = mayCall(useRights(groupId), "GET /group/users");
  const people = useQuery({
    queryKey: ["people-names", groupId],
    queryFn: ({ signal }) => read(api.GET("/group/users", { params: { query: { groupId, limit: 1_000 } }, signal })),
    enabled: may,
    staleTime: 300_000,
  });
  const names = new Map(people.data?.items.map((each) => [each.id ?? "", each.name ?? each.email ?? each.id ?? ""]));
  return (id) => names.get(id) ?? id;
}

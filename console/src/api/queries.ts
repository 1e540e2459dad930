// Queries that more than one screen needs. A screen's own queries stand beside it.
import { QueryClient, queryOptions, type FetchQueryOptions, type QueryKey } from "@tanstack/react-query";
import { ApiProblem, api, read, readOne } from "./client";
import { t } from "~/messages/api";

const RETRIES_MAX = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    // A browser that believes to be offline may well reach a service on its own machine; and what was
    // pressed without a connection must not be sent later, when nobody expects it any more.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 10_000,
      refetchOnWindowFocus: false,
      // Refusals are final. A service that is unreachable is asked again by the query's own error view.
      retry: (failures, error) => !(error instanceof ApiProblem) && failures < RETRIES_MAX,
    },
  },
});

// What is stored now: a request that is under way may have been answered before it was.
export async function fetchNewest<Data, Key extends QueryKey>(options: FetchQueryOptions<Data, Error, Data, Key>): Promise<Data> {
  await queryClient.cancelQueries({ queryKey: options.queryKey, exact: true });
  return queryClient.fetchQuery({ ...options, staleTime: 0 });
}

export const settingsQuery = queryOptions({
  queryKey: ["console-settings"],
  queryFn: ({ signal }) => read(api.GET("/console/settings", { signal })),
  staleTime: Infinity,
});

// Null when nobody is signed in, which is an answer and no failure.
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async ({ signal }) => {
    const { data, response } = await api.GET("/session", { signal });
    if (response.status === 401) return null;
    if (!data) throw new ApiProblem({ status: response.status, code: "session", detail: t("sessionCouldNotBeRead") });
    return data;
  },
  staleTime: 60_000,
  // In another tab somebody may have signed out, or in as somebody else.
  refetchOnWindowFocus: "always",
});

export function groupQuery(groupId: string) {
  return queryOptions({
    queryKey: ["group", groupId],
    // The operation answers with a list of one.
    queryFn: async ({ signal }) => {
      const [group] = await readOne(api.GET("/group", { params: { query: { groupId } }, signal }), "groupId");
      if (!group) throw new ApiProblem({ status: 404, code: "not_found", detail: t("ThereIsNoSuchGroup") });
      return group;
    },
    staleTime: 30_000,
  });
}

// Groups directly below a group, or the topmost ones that the caller sees.
export function childGroupsQuery(parentId: string | null) {
  return queryOptions({
    queryKey: ["groups", "children", parentId],
    queryFn: ({ signal }) =>
      read(api.GET("/groups", { params: { query: parentId ? { parentId, limit: 500 } : { limit: 500 } }, signal })),
    staleTime: 30_000,
  });
}

const LEVELS_MAX = 16;

// The groups above one, the topmost first, as far as the caller sees them.
export function groupsAboveQuery(groupId: string) {
  return queryOptions({
    queryKey: ["groups", "above", groupId],
    queryFn: async () => {
      const above: string[] = [];
      let at: string | null | undefined = (await queryClient.ensureQueryData(groupQuery(groupId))).parent;
      while (at && above.length < LEVELS_MAX) {
        above.unshift(at);
        const parent: { parent?: string | null | undefined } | null = await queryClient.ensureQueryData(groupQuery(at)).catch(() => null);
        at = parent?.parent;
      }
      return above;
    },
    staleTime: 30_000,
  });
}

export function groupSearchQuery(q: string) {
  return queryOptions({
    queryKey: ["groups", "search", q],
    queryFn: ({ signal }) => read(api.GET("/groups", { params: { query: { q, limit: 20 } }, signal })),
    enabled: q.length > 0,
  });
}

export function overviewQuery(groupId: string, subgroups: boolean) {
  return queryOptions({
    queryKey: ["overview", groupId, subgroups],
    queryFn: ({ signal }) =>
      read(api.GET("/group/overview", { params: { query: { groupId, subgroups } }, signal })),
    refetchInterval: 15_000,
  });
}

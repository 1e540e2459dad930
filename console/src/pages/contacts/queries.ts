import { useMemo } from "react";
import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";
import { useMay } from "~/api/may";
import { nameOr } from "~/ui/name";

export type ContactPoint = Schemas["ContactPoint"];

const PAGE_ITEMS = 1_000;

// Those of the group, and those that groups above share with it.
export function contactPointsQuery(groupId: string) {
  return queryOptions({
    queryKey: ["contact-points", groupId],
    // A group has 100 at most, unless the operator allows more.
    queryFn: async ({ signal }) => (await read(api.GET("/group/contactPoints", { params: { query: { groupId, usable: true, limit: PAGE_ITEMS } }, signal }))).items,
    refetchInterval: 30_000,
  });
}

// Those of the groups below as well.
export function contactPointsBelowQuery(groupId: string) {
  return queryOptions({
    queryKey: ["contact-points", groupId, "below"],
    queryFn: async ({ signal }) => (await read(api.GET("/group/contactPoints", { params: { query: { groupId, subgroups: true, limit: PAGE_ITEMS } }, signal }))).items,
    refetchInterval: 30_000,
  });
}

export function contactPointQuery(groupId: string, contactPointId: string) {
  return queryOptions({
    queryKey: ["contact-point", groupId, contactPointId],
    queryFn: ({ signal }) => read(api.GET("/contactPoint", { params: { query: { groupId, contactPointId } }, signal })),
    refetchInterval: 15_000,
  });
}

export const contactPointTypesQuery = queryOptions({
  queryKey: ["contact-point-types"],
  queryFn: async ({ signal }) => (await read(api.GET("/contactPoint/contactPointTypes", { params: { query: { limit: PAGE_ITEMS } }, signal }))).items,
  staleTime: 300_000,
});

export function refreshContactPoint(client: QueryClient, changed: ContactPoint): void {
  client.setQueryData(contactPointQuery(changed.groupId, changed.id).queryKey, changed);
  // Groups below show those that are shared with them.
  void client.invalidateQueries({ queryKey: ["contact-points"] });
}

// What notifications of a group may use, and their names.
export function useContactPoints(groupId: string): { all: readonly ContactPoint[]; nameOf: (id: string) => string } {
  const mayList = useMay(groupId, "GET /group/contactPoints");
  const query = useQuery({ ...contactPointsQuery(groupId), enabled: mayList });
  return useMemo(() => {
    const all = query.data ?? [];
    return { all, nameOf: (id) => nameOr(all.find((each) => each.id === id)?.name, id) };
  }, [query.data]);
}

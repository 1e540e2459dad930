import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { api, read, type Schemas } from "~/api/client";

export type Notification = Schemas["Notification"];

const PAGE_ITEMS = 1_000;

export function notificationsQuery(groupId: string, subgroups = false) {
  return queryOptions({
    queryKey: ["notifications", groupId, subgroups],
    // A group has 200 at most, unless the operator allows more.
    queryFn: async ({ signal }) => (await read(api.GET("/notification/notifications", { params: { query: { groupId, subgroups, limit: PAGE_ITEMS } }, signal }))).items,
    refetchInterval: 30_000,
  });
}

export function notificationQuery(groupId: string, notificationId: string) {
  return queryOptions({
    queryKey: ["notification", groupId, notificationId],
    queryFn: ({ signal }) => read(api.GET("/notification", { params: { query: { groupId, notificationId } }, signal })),
    refetchInterval: 15_000,
  });
}

export const notificationTypesQuery = queryOptions({
  queryKey: ["notification-types"],
  queryFn: async ({ signal }) => (await read(api.GET("/notification/notificationTypes", { params: { query: { limit: PAGE_ITEMS } }, signal }))).items,
  staleTime: 300_000,
});

export function refreshNotification(client: QueryClient, changed: Notification): void {
  client.setQueryData(notificationQuery(changed.groupId, changed.id).queryKey, changed);
  // In the list of its group, and in those of groups above.
  client.setQueriesData({ queryKey: ["notifications"] }, (before: Notification[] | undefined) => before?.map((each) => (each.id === changed.id ? changed : each)));
  // A list that lacks what was created meanwhile is loaded when it is shown: new data made it look fresh.
  void client.invalidateQueries({ queryKey: ["notifications"], refetchType: "none" });
}

import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { type Notification, notificationsQuery, refreshNotification } from "./queries";

test("a list that lacks a new notification is still out of date after that one was changed", () => {
  const client = new QueryClient();
  const { queryKey } = notificationsQuery("harbour");
  client.setQueryData(queryKey, []);
  void client.invalidateQueries({ queryKey });
  refreshNotification(client, { id: "new", groupId: "harbour" } as Notification);
  expect(client.getQueryState(queryKey)?.isInvalidated).toBe(true);
});

import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { chartSeconds, type Connector, refreshConnector, wholeSeconds } from "./queries";

test.each([
  [15 * 60_000, 16 * 60],
  [59 * 60_000, 61 * 60],
  [24 * 3_600_000, 1_441 * 60],
  [30 * 24 * 3_600_000, 721 * 3_600],
])("one item over %i ms", (periodMs, seconds) => {
  expect(wholeSeconds(periodMs)).toBe(seconds);
  expect(seconds * 1_000).toBeGreaterThanOrEqual(periodMs);
});

test("a minute is the shortest span", () => {
  expect(chartSeconds({ from: "now-15m", to: "now" }, Date.now())).toBe(60);
});

test("a list that lacks a new connector is still out of date after that one was changed", () => {
  const client = new QueryClient();
  const queryKey = ["connectors", "harbour"];
  client.setQueryData(queryKey, []);
  void client.invalidateQueries({ queryKey });
  refreshConnector(client, { id: "new", groupId: "harbour" } as Connector);
  expect(client.getQueryState(queryKey)?.isInvalidated).toBe(true);
});

import { expect, test } from "vitest";
import { chartSeconds, wholeSeconds } from "./queries";

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

import { expect, test } from "vitest";
import { isLeft } from "./drafts";

test.each([
  [{ pathname: "/g/a/reports/new", search: {} }, { pathname: "/g/a/reports", search: {} }, true],
  [{ pathname: "/d/a", search: { tab: "configuration" } }, { pathname: "/d/a", search: { tab: "chart" } }, true],
  [{ pathname: "/g/a/notifications/new", search: { type: "email" } }, { pathname: "/g/a/notifications/new", search: { type: "push" } }, true],
  [{ pathname: "/g/a/devices/import", search: {} }, { pathname: "/g/a/devices/import", search: { type: "meter" } }, false],
  [{ pathname: "/g/a/settings", search: {} }, { pathname: "/g/a/settings", search: { from: "now-1h" } }, false],
])("a form is left with its page, its tab and its type, and stays where a range is chosen", (current, next, left) => {
  expect(isLeft(current, next)).toBe(left);
});

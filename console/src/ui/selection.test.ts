import { expect, test } from "vitest";
import { NOTHING, extendTo, isSelected, selectedCount, toggleKey } from "./selection";

const LOADED = ["a", "b", "c", "d"];

test("a row is selected and unselected, whatever page it was on", () => {
  const one = toggleKey(NOTHING, "x", LOADED);
  expect(isSelected(one, "x")).toBe(true);
  expect(selectedCount(toggleKey(one, "x", LOADED))).toBe(0);
});

test("a range goes from the last row to this one, in either direction", () => {
  const start = toggleKey(NOTHING, "c", LOADED);
  const range = extendTo(start, "c", "a", LOADED);
  expect(LOADED.filter((each) => isSelected(range, each))).toEqual(["a", "b", "c"]);
});

test("a range without a start selects one row", () => {
  expect(selectedCount(extendTo(NOTHING, null, "b", LOADED))).toBe(1);
});

test("taking one away from all that match leaves what is loaded", () => {
  const rest = toggleKey({ mode: "all", total: 1204 }, "b", LOADED);
  expect(selectedCount(rest)).toBe(3);
  expect(isSelected(rest, "b")).toBe(false);
});

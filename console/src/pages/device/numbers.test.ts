import { expect, test } from "vitest";
import { seriesOf, valueAt } from "./numbers";

test("what is no series of an address is none", () => {
  expect(seriesOf("celsius")).toBeNull();
  expect(seriesOf("data/data/celsius")).toEqual({ id: "data/data/celsius", kind: "data", path: "/data/celsius", label: "celsius" });
});

test.each([
  [{ a: { "b/c": [1, 2] } }, "/a/b~1c/1", 2],
  [{ a: null }, "/a", null],
  [{ a: null }, "/a/b", undefined],
  [null, "/a", undefined],
])("in %j at %s is %j", (object, pointer, value) => {
  expect(valueAt(object, pointer)).toBe(value);
});
